//! Register pressure: how many vector registers the busiest loop of a kernel wants at once.
//!
//! More lanes in flight hide the latency of arithmetic, until what they hold no longer fits the registers and goes to memory and
//! back. The estimate counts, at each instruction of the innermost loops (of the whole kernel, where it has none), the values that
//! are alive and that the loop itself uses: what merely lives through a loop is put aside around it. A value that differs from lane
//! to lane takes as many registers as its lanes fill, one that they share takes one where an operation on packs needs it.

use clift_kir::analysis::{Liveness, LoopId};
use clift_kir::{Block, Elem, Opcode, Value};
use cranelift_entity::EntitySet;

use super::divergence::Divergence;
use super::machine::Machine;
use super::prepare::Prepared;
use super::shape::Shape;
use super::widen::how::{How, how};

/// Registers wanted at the busiest point, in packs of so many lanes.
pub(super) fn estimate(prepared: &Prepared, divergence: &Divergence, lanes: u32, machine: &Machine) -> u32 {
    let Prepared { func, cfg, loops, .. } = prepared;
    let liveness = Liveness::new(func, cfg);
    let deepest = cfg.rpo().iter().map(|&block| loops.depth(block)).max().unwrap_or(0);
    let model = Model { prepared, divergence, lanes, machine };
    let mut most = 0;
    for &block in cfg.rpo() {
        let level = loops.innermost(block);
        let innermost = level.is_some_and(|id| !loops.iter().any(|(_, inner)| inner.parent == Some(id)));
        if deepest > 0 && !innermost {
            continue;
        }
        most = most.max(model.busiest(block, level, &liveness));
    }
    most
}

struct Model<'a> {
    prepared: &'a Prepared,
    divergence: &'a Divergence,
    lanes: u32,
    machine: &'a Machine,
}

impl Model<'_> {
    /// The most that is alive at a point of a block.
    fn busiest(&self, block: Block, level: Option<LoopId>, liveness: &Liveness) -> u32 {
        let Prepared { func, cfg, .. } = self.prepared;
        let used = self.used_in(level);
        let counts = |value: Value| if used.contains(value) { self.registers(value) } else { 0 };
        let mut alive: EntitySet<Value> = EntitySet::new();
        let mut now = 0;
        for &succ in cfg.succs(block) {
            for value in liveness.live_in(succ).iter() {
                if alive.insert(value) {
                    now += counts(value);
                }
            }
        }
        let mut most = now;
        for &inst in func.layout.insts(block).iter().rev() {
            for &result in func.dfg.results(inst) {
                if alive.remove(result) {
                    now -= counts(result);
                }
            }
            func.dfg.for_each_use(inst, |value| {
                if alive.insert(value) {
                    now += counts(value);
                }
            });
            most = most.max(now);
        }
        most
    }

    /// Values that instructions of a loop use; of the whole kernel without one.
    fn used_in(&self, level: Option<LoopId>) -> EntitySet<Value> {
        let Prepared { func, cfg, loops, .. } = self.prepared;
        let mut used = EntitySet::new();
        for &block in cfg.rpo() {
            if level.is_some_and(|id| !loops.contains(id, block)) {
                continue;
            }
            for &inst in func.layout.insts(block) {
                func.dfg.for_each_use(inst, |value| {
                    used.insert(value);
                });
            }
        }
        used
    }

    fn registers(&self, value: Value) -> u32 {
        let func = &self.prepared.func;
        let ty = func.dfg.ty(value);
        if ty.is_ptr() {
            return 0;
        }
        if let Some(inst) = func.dfg.def_inst(value)
            && (func.dfg.inst(inst).op == Opcode::Const || how(func.dfg.inst(inst).op) == How::Leaf)
        {
            return 0;
        }
        match self.divergence.shape(value) {
            Shape::Varying if !self.divergence.is_near(value) => {
                let bits = if ty.elem == Elem::B1 { 32 } else { ty.elem.bits() };
                ty.lanes() * (self.lanes * bits).div_ceil(self.machine.register_bits)
            }
            // One that they share, in all lanes of a register; integers mostly end in addresses and conditions.
            Shape::Uniform(_) if ty.elem.is_float() => ty.lanes(),
            Shape::Uniform(_) | Shape::Affine { .. } | Shape::Varying => 0,
        }
    }
}
