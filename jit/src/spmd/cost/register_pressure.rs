//! Register pressure: how many vector registers the busiest loop of a kernel needs at once.
//!
//! More lanes in flight hide the latency of arithmetic until their values no longer fit the registers and are spilled. The
//! estimate counts, at each instruction of the innermost loops (of the whole kernel if it has none), the live values that the
//! loop itself uses: a value that is only live through a loop is spilled around it. A varying value takes as many registers as
//! its lanes fill. A uniform value takes one if a vector operation needs it.

use clift_kir::analysis::{Cfg, Liveness, LoopId};
use clift_kir::{Block, Elem, Function, Opcode, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Shape;
use crate::spmd::transform::normalize::NormalForm;
use crate::spmd::vectorize::widen::how::{How, how};
use crate::target::machine::Machine;

/// Registers needed at the busiest point, in packs of so many lanes.
pub(crate) fn estimate(normal: &NormalForm, divergence: &Divergence, lanes: u32, machine: &Machine) -> u32 {
    estimate_of(&PressureModel { normal, divergence, lanes, machine, counts_uniform: true })
}

/// As [`estimate`], without uniform values: those that are spilled are operands in memory.
pub(crate) fn estimate_varying(normal: &NormalForm, divergence: &Divergence, lanes: u32, machine: &Machine) -> u32 {
    estimate_of(&PressureModel { normal, divergence, lanes, machine, counts_uniform: false })
}

fn estimate_of(model: &PressureModel) -> u32 {
    let NormalForm { func, cfg, loops, .. } = model.normal;
    let liveness = Liveness::of(func, cfg, |value| model.registers(value) > 0, |_| true);
    let parents: FxHashSet<LoopId> = loops.iter().filter_map(|(_, data)| data.parent).collect();
    let any = loops.iter().next().is_some();
    // Blocks by innermost loop, or all blocks if there is no loop.
    let mut bodies: FxHashMap<Option<LoopId>, Vec<Block>> = FxHashMap::default();
    for &block in cfg.rpo() {
        let level = loops.innermost(block);
        if !any || level.is_some_and(|id| !parents.contains(&id)) {
            bodies.entry(level).or_default().push(block);
        }
    }
    bodies.values().map(|blocks| model.max_pressure_of(blocks, &liveness)).max().unwrap_or(0)
}

/// The most registers at any instruction of a block, if each value takes `registers` from its definition to its last use; uses
/// that `needs_register` does not accept take none.
pub(super) fn most_in_block(
    func: &Function,
    cfg: &Cfg,
    liveness: &Liveness,
    block: Block,
    registers: impl Fn(Value) -> u32,
    needs_register: impl Fn(Value) -> bool,
) -> u32 {
    let mut alive: FxHashSet<Value> = FxHashSet::default();
    let mut now = 0;
    for &value in cfg.succs(block).iter().flat_map(|&succ| liveness.live_in(succ)) {
        if alive.insert(value) {
            now += registers(value);
        }
    }
    let mut most = now;
    for &inst in func.layout.insts(block).iter().rev() {
        for &result in func.dfg.results(inst) {
            if alive.remove(&result) {
                now -= registers(result);
            }
        }
        func.dfg.for_each_use(inst, |value| {
            if needs_register(value) && alive.insert(value) {
                now += registers(value);
            }
        });
        most = most.max(now);
    }
    most
}

struct PressureModel<'a> {
    normal: &'a NormalForm,
    divergence: &'a Divergence,
    lanes: u32,
    machine: &'a Machine,
    counts_uniform: bool,
}

impl PressureModel<'_> {
    /// The highest pressure in some blocks, from the values that they use.
    fn max_pressure_of(&self, blocks: &[Block], liveness: &Liveness) -> u32 {
        let func = &self.normal.func;
        let mut used: FxHashSet<Value> = FxHashSet::default();
        for &inst in blocks.iter().flat_map(|&block| func.layout.insts(block)) {
            func.dfg.for_each_use(inst, |value| {
                used.insert(value);
            });
        }
        let counts = |value: Value| if used.contains(&value) { self.registers(value) } else { 0 };
        let most = |&block: &Block| most_in_block(func, &self.normal.cfg, liveness, block, counts, |_| true);
        blocks.iter().map(most).max().unwrap_or(0)
    }

    fn registers(&self, value: Value) -> u32 {
        let func = &self.normal.func;
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
            Shape::Varying if !self.divergence.has_known_distances(value) => {
                let bits = if ty.elem == Elem::B1 { 32 } else { ty.elem.bits() };
                ty.lanes() * (self.lanes * bits).div_ceil(self.machine.register_bits)
            }
            // A uniform value is broadcast to a register. Integers mostly end in addresses and conditions, which are scalar.
            Shape::Uniform(_) if self.counts_uniform && ty.elem.is_float() => ty.lanes(),
            Shape::Uniform(_) | Shape::Affine { .. } | Shape::Varying => 0,
        }
    }
}
