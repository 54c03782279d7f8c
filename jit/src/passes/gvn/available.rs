//! What memory is known to contain at a point of a function: the values that loads gave and stores wrote, until something else
//! may have been written there. Of a vector, what is known of its other elements remains where some of them are written
//! (`p[i].x = 0`), and a load may consist of elements that are known one by one.
//!
//! Knowledge goes from block to block: where paths meet, what all of them know remains; in a loop, what no iteration changes.

use clift_kir::analysis::{Cfg, DomTree, LoopForest};
use clift_kir::{Block, Function, Imm, Inst, MemInfo, Opcode, Type, Value};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use crate::passes::memory::{Escapes, LoopWrites, Place, Write};

/// The most places of memory that are remembered at once: each write is compared with all of them.
const MAX_KNOWN: usize = 128;

/// A place with a known content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// The address, except of an element.
    pointer: Option<Value>,
    ty: Type,
    content: Content,
    place: Place,
}

/// What is in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A value.
    Whole(Value),
    /// An element of a vector.
    Element(Value, u8),
}

impl Known {
    /// The content of an element of a type at a place, if this knows it.
    fn element(&self, place: &Place, elem: Type) -> Option<Content> {
        if self.ty.elem != elem.elem {
            return None;
        }
        let distance = u32::try_from(place.distance(&self.place)?).ok().filter(|&at| at < self.ty.bytes())?;
        match self.content {
            _ if !distance.is_multiple_of(elem.bytes()) => None,
            Content::Whole(value) if self.ty.is_vector() => {
                Some(Content::Element(value, (distance / elem.bytes()) as u8))
            }
            Content::Whole(_) | Content::Element(..) => Some(self.content),
        }
    }

    /// What it knows of the elements of a vector, one by one.
    fn elements(&self) -> impl Iterator<Item = Known> {
        let (place, lane) = (self.place, self.ty.lane());
        let vector = match self.content {
            Content::Whole(value) if self.ty.is_vector() => Some(value),
            Content::Whole(_) | Content::Element(..) => None,
        };
        let lanes = if vector.is_some() { self.ty.lanes() } else { 0 };
        (0..lanes).filter_map(move |at| {
            let place = place.part(at * lane.bytes(), lane.bytes())?;
            Some(Known { pointer: None, ty: lane, content: Content::Element(vector?, at as u8), place })
        })
    }
}

/// What is known at one point.
#[derive(Clone, Debug, Default)]
pub(super) struct Available(Vec<Known>);

impl Available {
    /// The value that a load would give, if known.
    pub(super) fn value(&self, func: &Function, inst: Inst, ty: Type) -> Option<Value> {
        let (pointer, _) = plain_load(func, inst)?;
        self.0.iter().rev().find_map(|known| match known.content {
            Content::Whole(value) if known.pointer == Some(pointer) && known.ty == ty => Some(value),
            Content::Whole(_) | Content::Element(..) => None,
        })
    }

    /// The elements that a load would give, if all are known; one for a scalar.
    pub(super) fn elements(&self, func: &Function, inst: Inst, ty: Type) -> Option<SmallVec<[Content; 4]>> {
        let (pointer, mem) = plain_load(func, inst).filter(|_| !ty.is_ptr() && !ty.is_bool())?;
        let (place, lane) = (Place::of_access(func, pointer, mem, ty), ty.lane());
        (0..ty.lanes())
            .map(|at| {
                let place = place.part(at * lane.bytes(), lane.bytes())?;
                self.0.iter().rev().find_map(|known| known.element(&place, lane))
            })
            .collect()
    }

    /// Records what an instruction reads or writes. Forgets the older half when there is too much.
    pub(super) fn note(&mut self, func: &Function, inst: Inst, escapes: &Escapes) {
        let data = func.dfg.inst(inst);
        if let Some(write) = Write::of(func, inst) {
            let unchanged = |known: &Known| !write.may_change(&known.place, escapes);
            let changed: SmallVec<[Known; 4]> = self.0.extract_if(.., |known| !unchanged(known)).collect();
            if data.op == Opcode::Store {
                self.0.extend(changed.iter().flat_map(Known::elements).filter(unchanged));
            }
        }
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
        let place = Place::of_access(func, pointer, mem, ty);
        self.0.push(Known { pointer: Some(pointer), ty, content: Content::Whole(value), place });
    }
}

/// The address of a load that is not volatile.
fn plain_load(func: &Function, inst: Inst) -> Option<(Value, &MemInfo)> {
    let data = func.dfg.inst(inst);
    let Imm::Mem(mem @ MemInfo { volatile: false, .. }) = &data.imm else { return None };
    (data.op == Opcode::Load).then(|| (data.args[0], mem))
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
