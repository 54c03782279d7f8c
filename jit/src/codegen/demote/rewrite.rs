//! Stack slots for demoted webs, and the loads and stores that keep their values there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use clift_kir::dfg::ValueDef;
use clift_kir::{Block, BlockCall, Builder, Function, Inst, MemInfo, Opcode, Slot, SlotData, Type, Value};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

use super::webs::{Point, WebId, Webs, is_undef};

/// For how many instructions a value that was loaded or computed stays in a register for further uses.
const REUSE: usize = 16;

/// Moves the values of webs into stack slots.
pub(super) fn run(func: &mut Function, webs: &Webs, demoted: &[WebId]) {
    let slots = assign_slots(func, webs, demoted);
    let dropped = dropped_params(func, webs, &slots);
    let mut rewriter = Rewriter { webs, slots, dropped, recent: FxHashMap::default(), at: 0 };
    for block in func.layout.blocks().to_vec() {
        rewriter.block(func, block);
    }
    for block in func.layout.blocks().to_vec() {
        func.dfg.retain_params(block, |param| !rewriter.dropped[param]);
    }
}

/// Where a web is kept.
#[derive(Clone, Copy, Debug)]
struct Home {
    slot: Slot,
    /// Whether only the operand of the splat that defines its values is kept.
    is_splat: bool,
}

/// Gives each web a slot. Webs of the same size share slots if the code between their first and last points is apart.
fn assign_slots(func: &mut Function, webs: &Webs, demoted: &[WebId]) -> FxHashMap<WebId, Home> {
    let splats = splats(func, webs);
    let mut order: Vec<(Point, Point, WebId)> = demoted
        .iter()
        .map(|&id| {
            let (start, end) = webs.get(id).hull();
            (start, end, id)
        })
        .collect();
    order.sort_unstable();
    // By bytes: the slots, by the point from which they are free.
    let mut pools: FxHashMap<u32, BinaryHeap<Reverse<(Point, Slot)>>> = FxHashMap::default();
    let mut homes = FxHashMap::default();
    for (start, end, id) in order {
        let ty = webs.get(id).ty;
        let is_splat = ty.is_vector() && splats.get(&id) == Some(&true);
        let bytes = if is_splat { ty.elem.bytes() } else { ty.bytes() }.next_power_of_two();
        let pool = pools.entry(bytes).or_default();
        let free = match pool.peek() {
            Some(&Reverse((from, slot))) if from <= start => {
                pool.pop();
                Some(slot)
            }
            _ => None,
        };
        let slot = free.unwrap_or_else(|| func.slots.push(SlotData { size: bytes.into(), align: bytes.clamp(1, 64) }));
        pool.push(Reverse((end, slot)));
        homes.insert(id, Home { slot, is_splat });
    }
    homes
}

/// For each web whether all its values are splats.
fn splats(func: &Function, webs: &Webs) -> FxHashMap<WebId, bool> {
    let mut splats = FxHashMap::default();
    for &block in func.layout.blocks() {
        for &param in func.dfg.params(block) {
            if let Some(web) = webs.of(param) {
                splats.insert(web, false);
            }
        }
        for &inst in func.layout.insts(block) {
            let is_splat = func.dfg.inst(inst).op == Opcode::Splat;
            for &result in func.dfg.results(inst) {
                if let Some(web) = webs.of(result) {
                    *splats.entry(web).or_insert(true) &= is_splat;
                }
            }
        }
    }
    splats
}

/// The parameters that need no register: each of their edges leaves the value in the slot.
fn dropped_params(func: &Function, webs: &Webs, slots: &FxHashMap<WebId, Home>) -> SecondaryMap<Value, bool> {
    let mut dropped: SecondaryMap<Value, bool> = SecondaryMap::new();
    for &block in func.layout.blocks().iter().skip(1) {
        for &param in func.dfg.params(block) {
            dropped[param] = webs.of(param).is_some_and(|web| slots.contains_key(&web));
        }
    }
    for &block in func.layout.blocks() {
        let Some(last) = func.layout.terminator(block) else { continue };
        let targets = func.dfg.targets(last);
        if let [_] = targets[..] {
            // What is not there yet is stored before the jump.
            continue;
        }
        for target in targets {
            for (&arg, &param) in target.args.iter().zip(func.dfg.params(target.block)) {
                dropped[param] &= is_undef(func, arg) || webs.of(arg) == webs.of(param);
            }
        }
    }
    dropped
}

struct Rewriter<'a> {
    webs: &'a Webs,
    slots: FxHashMap<WebId, Home>,
    /// The parameters that are removed.
    dropped: SecondaryMap<Value, bool>,
    /// Demoted values that are in registers, with the instruction of the block that loaded or computed them.
    recent: FxHashMap<Value, (Value, usize)>,
    /// The number of instructions of the current block so far.
    at: usize,
}

impl Rewriter<'_> {
    fn home(&self, value: Value) -> Option<Home> {
        self.slots.get(&self.webs.of(value)?).copied()
    }

    fn block(&mut self, func: &mut Function, block: Block) {
        self.recent.clear();
        self.at = 0;
        let insts = func.layout.take_insts(block);
        for param in func.dfg.params(block).to_vec() {
            if self.home(param).is_some() && !self.dropped[param] {
                self.define(&mut Builder::at_end(func, block), param);
            }
        }
        let last = insts.len().saturating_sub(1);
        for (at, inst) in insts.into_iter().enumerate() {
            self.at += 1;
            let mut b = Builder::at_end(func, block);
            b.set_loc(b.func.locs[inst]);
            let mut args = b.func.dfg.inst(inst).args.clone();
            args.iter_mut().for_each(|arg| *arg = self.used(&mut b, *arg));
            b.func.dfg.inst_mut(inst).args = args;
            if at == last {
                self.pass(&mut b, inst);
            }
            b.func.layout.append_inst(block, inst);
            for result in b.func.dfg.results(inst).to_vec() {
                if self.home(result).is_some() {
                    self.define(&mut b, result);
                }
            }
        }
    }

    /// A value in a register: itself, or what was loaded from its slot.
    fn used(&mut self, b: &mut Builder<'_>, value: Value) -> Value {
        let Some(home) = self.home(value) else { return value };
        if let Some(&(register, since)) = self.recent.get(&value)
            && self.at - since <= REUSE
        {
            return register;
        }
        let ty = b.ty(value);
        let kept = if home.is_splat { Type::scalar(ty.elem) } else { ty };
        let address = b.slot_addr(home.slot);
        let loaded = b.load(kept, address, MemInfo::aligned(kept.bytes().next_power_of_two()));
        let register = if home.is_splat { b.splat(loaded, ty.lanes()) } else { loaded };
        self.recent.insert(value, (register, self.at));
        register
    }

    /// Stores a value that has just been defined.
    fn define(&mut self, b: &mut Builder<'_>, value: Value) {
        let Some(home) = self.home(value) else { return };
        let stored = match b.func.dfg.def(value) {
            ValueDef::Result(inst, _) if home.is_splat => b.func.dfg.inst(inst).args[0],
            ValueDef::Result(..) | ValueDef::Param(..) => value,
        };
        self.store(b, home, stored);
        self.recent.insert(value, (value, self.at));
    }

    fn store(&mut self, b: &mut Builder<'_>, home: Home, value: Value) {
        let address = b.slot_addr(home.slot);
        let align = b.ty(value).bytes().next_power_of_two();
        b.store(address, value, MemInfo::aligned(align));
    }

    /// Rewrites the arguments of a terminator, before it: those of removed parameters are stored unless they are where they
    /// have to be. All are loaded before any is stored, since a parameter may get the slot of another one's argument.
    fn pass(&mut self, b: &mut Builder<'_>, last: Inst) {
        let targets: Vec<BlockCall> = b.func.dfg.targets(last).into_iter().cloned().collect();
        let mut stores = Vec::new();
        let mut kept: Vec<Vec<Value>> = Vec::with_capacity(targets.len());
        for target in &targets {
            let params = b.func.dfg.params(target.block).to_vec();
            let mut left = Vec::new();
            for (&arg, &param) in target.args.iter().zip(&params) {
                if !self.dropped[param] {
                    left.push(self.used(b, arg));
                } else if self.webs.of(arg) != self.webs.of(param)
                    && !is_undef(b.func, arg)
                    && let Some(home) = self.home(param)
                {
                    stores.push((home, self.used(b, arg)));
                }
            }
            kept.push(left);
        }
        for (home, value) in stores {
            self.store(b, home, value);
        }
        for (target, args) in b.func.dfg.targets_mut(last).into_iter().zip(kept) {
            target.args = args.into_iter().collect();
        }
    }
}
