//! What memory is known to contain at a point of a function: the values that loads gave and stores wrote, until something else may
//! have been written there.
//!
//! Knowledge goes from block to block: where paths meet, what all of them know remains; in a loop, what no iteration changes.

use clift_kir::analysis::{Cfg, DomTree, LoopForest};
use clift_kir::{Block, Function, Imm, Inst, MemInfo, Opcode, Type, Value};
use cranelift_entity::SecondaryMap;

use crate::passes::memory::{Escapes, LoopWrites, Place, Write};

/// The most places of memory that are remembered at once: each write is compared with all of them.
const MAX_KNOWN: usize = 128;

/// A place with a known content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    pointer: Value,
    ty: Type,
    value: Value,
    place: Place,
}

/// What is known at one point.
#[derive(Clone, Debug, Default)]
pub(super) struct Available(Vec<Known>);

impl Available {
    /// The value that a load would give, if known.
    pub(super) fn value(&self, func: &Function, inst: Inst, ty: Type) -> Option<Value> {
        let data = func.dfg.inst(inst);
        if data.op != Opcode::Load || !matches!(data.imm, Imm::Mem(MemInfo { volatile: false, .. })) {
            return None;
        }
        let pointer = data.args[0];
        self.0.iter().rev().find(|known| known.pointer == pointer && known.ty == ty).map(|known| known.value)
    }

    /// Records what an instruction reads or writes. Forgets the older half when there is too much.
    pub(super) fn note(&mut self, func: &Function, inst: Inst, escapes: &Escapes) {
        if let Some(write) = Write::of(func, inst) {
            self.0.retain(|known| !write.may_change(&known.place, escapes));
        }
        let data = func.dfg.inst(inst);
        let Imm::Mem(mem @ MemInfo { volatile: false, .. }) = &data.imm else { return };
        let value = if data.op == Opcode::Load {
            func.dfg.result(inst)
        } else if data.op == Opcode::Store {
            data.args[1]
        } else {
            return;
        };
        if self.0.len() > MAX_KNOWN {
            self.0.drain(..MAX_KNOWN / 2);
        }
        let (pointer, ty) = (data.args[0], func.dfg.ty(value));
        self.0.push(Known { pointer, ty, value, place: Place::of_access(func, pointer, mem, ty) });
    }
}

/// What is known at the ends of the blocks visited so far, in reverse postorder.
pub(super) struct AtEnds<'a> {
    cfg: &'a Cfg,
    dom: &'a DomTree,
    loops: &'a LoopForest,
    writes: LoopWrites,
    /// With the number of later blocks that will ask for it.
    ends: SecondaryMap<Block, Option<(Available, usize)>>,
}

impl<'a> AtEnds<'a> {
    /// Nothing visited yet.
    pub(super) fn new(func: &Function, cfg: &'a Cfg, dom: &'a DomTree, loops: &'a LoopForest) -> AtEnds<'a> {
        AtEnds { cfg, dom, loops, writes: LoopWrites::new(func, loops), ends: SecondaryMap::new() }
    }

    /// What is known at the start of a block.
    pub(super) fn at_start(&mut self, block: Block, escapes: &Escapes) -> Available {
        let mut meet: Option<Available> = None;
        let mut is_header = false;
        for &pred in self.cfg.preds(block) {
            if self.dom.dominates(block, pred) {
                is_header = true;
                continue;
            }
            let Some(known) = self.take(pred) else { return Available::default() };
            meet = Some(match meet {
                None => known,
                Some(mut meet) => {
                    meet.0.retain(|entry| known.0.contains(entry));
                    meet
                }
            });
        }
        let mut available = meet.unwrap_or_default();
        if is_header {
            match self.loops.innermost(block) {
                Some(id) => available.0.retain(|known| !self.writes.may_change(id, &known.place, escapes)),
                None => available.0.clear(),
            }
        }
        available
    }

    /// Records what is known at the end of a block.
    pub(super) fn set(&mut self, block: Block, available: Available) {
        let asking = self.cfg.succs(block).iter().filter(|&&succ| !self.dom.dominates(succ, block)).count();
        self.ends[block] = (asking > 0).then_some((available, asking));
    }

    /// What is known at the end of a block, for one of the blocks that ask; `None` if it has not been visited.
    fn take(&mut self, block: Block) -> Option<Available> {
        let (known, asking) = self.ends[block].as_mut()?;
        *asking -= 1;
        if *asking > 0 {
            return Some(known.clone());
        }
        self.ends[block].take().map(|(known, _)| known)
    }
}
