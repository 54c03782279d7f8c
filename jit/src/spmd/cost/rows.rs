//! How many rows of a work-group are executed together ([`unroll_and_jam`](crate::spmd::transform::unroll_and_jam)).
//!
//! The model counts instructions of a pack, weighted by loops. More rows are better as long as values of all of them fit the
//! registers, and enough of the instructions serve several rows.

use clift_kir::analysis::{Cfg, DomTree, Liveness, LoopForest, UseCounts};
use clift_kir::ops::{MemoryOp, OpClass, SyncOp};
use clift_kir::{Block, Elem, Function, Inst, Opcode, Type, Value};

use super::register_pressure::most_in_block;
use crate::target::costs::THROUGHPUTS;
use crate::target::machine::Machine;

/// Numbers of rows that are tried, in this order.
pub(crate) const ROWS: [u32; 2] = [2, 4];
/// The most instructions of the code of a pack.
pub(crate) const MAX_INSTS: usize = 600;
/// The most bytes of a pack's private variables: those of several rows are all in the cache.
pub(crate) const MAX_PRIVATE_BYTES: u64 = 8 << 10;
/// The part of the costs that remains, at most, for several rows to be worth their code.
pub(crate) const GAIN: f64 = 0.87;
/// The part of the costs that remains, at most, for more rows to be tried.
pub(crate) const PROMISING: f64 = 0.95;
/// How often a loop is assumed to be executed, and to which depth.
const ITERATIONS: f64 = 8.0;
const MAX_DEPTH: u32 = 4;
/// A scalar instruction compared with one on a full register: most processors begin twice as many or more of them in a cycle.
const SCALAR: f64 = 0.4;
/// A load or store: there are as many ports for them as for arithmetic, and operands in memory take none of the others.
const ACCESS: f64 = 1.0;
/// A barrier: the loops over packs around what follows, and what they load again. Chosen: a stencil in tiles of 16 by 16
/// elements of local memory takes 0.8 times as long in four rows, although these share few loads. Kernels with scattered
/// accesses wait for these: transposing in tiles takes 1.2 times as long.
const BARRIER: f64 = 8.0;
/// Registers that values leave free.
const SPARE: u32 = 2;

/// Kernels without loops and barriers that load fewer values share few of them.
const LEAST_LOADS: usize = 16;

/// Whether rows may share much of what a pack loads: in a loop, in local memory, or by many loads.
pub(crate) fn is_promising(func: &Function) -> bool {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(&cfg);
    let loops = LoopForest::new(&cfg, &dom);
    let (mut loads, mut barriers) = (0, 0);
    for &block in cfg.rpo().iter().filter(|&&block| !func.layout.is_cold(block)) {
        for &inst in func.layout.insts(block) {
            let class = func.dfg.inst(inst).op.class();
            if matches!(class, OpClass::Memory(MemoryOp::Load | MemoryOp::MaskedLoad)) {
                loads += if loops.depth(block) > 0 { LEAST_LOADS } else { 1 };
            }
            barriers += usize::from(class == OpClass::Sync(SyncOp::Barrier));
        }
    }
    barriers > 0 || loads >= LEAST_LOADS
}

/// What the code of a pack takes, in instructions on full registers, and whether its values fit the registers.
pub(crate) struct PackCost {
    pub(crate) throughput: f64,
    pub(crate) fits: bool,
}

/// The costs of the code of a pack.
pub(crate) fn of(func: &Function, machine: &Machine) -> PackCost {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(&cfg);
    let loops = LoopForest::new(&cfg, &dom);
    let mut insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    let scatters = insts.any(|&inst| matches!(func.dfg.inst(inst).op, Opcode::Gather | Opcode::Scatter));
    let model = Model { func, machine, uses: UseCounts::new(func), barrier: if scatters { 0.0 } else { BARRIER } };
    let depth = |block: Block| loops.depth(block).min(MAX_DEPTH);
    let warm = || cfg.rpo().iter().copied().filter(|&block| !func.layout.is_cold(block));
    let mut throughput = 0.0;
    for block in warm() {
        let own: f64 = func.layout.insts(block).iter().map(|&inst| model.inst(inst)).sum();
        throughput += own * ITERATIONS.powi(depth(block) as i32);
    }
    let deepest = warm().map(depth).max().unwrap_or(0);
    let hot: Vec<Block> = warm().filter(|&block| depth(block) == deepest).collect();
    let liveness = Liveness::of(func, &cfg, |value| model.registers(value) > 0, |_| true);
    let most = hot.iter().map(|&block| model.pressure(&cfg, &liveness, block)).max().unwrap_or(0);
    PackCost { throughput, fits: most + SPARE <= machine.registers }
}

struct Model<'a> {
    func: &'a Function,
    machine: &'a Machine,
    uses: UseCounts,
    /// What a barrier takes.
    barrier: f64,
}

impl Model<'_> {
    /// Registers that a type fills.
    fn parts(&self, ty: Type) -> u32 {
        let bits = if ty.elem == Elem::B1 { 8 } else { ty.elem.bits() };
        (ty.lanes() * bits).div_ceil(self.machine.register_bits.max(1))
    }

    /// Vector registers that a value takes.
    fn registers(&self, value: Value) -> u32 {
        let ty = self.func.dfg.ty(value);
        let is_const =
            || self.func.dfg.def_inst(value).is_some_and(|inst| self.func.dfg.inst(inst).op == Opcode::Const);
        let vector = ty.is_vector() && ty.elem != Elem::B1;
        if (vector || ty.elem.is_float()) && !is_const() { self.parts(ty) } else { 0 }
    }

    /// What an instruction takes.
    fn inst(&self, inst: Inst) -> f64 {
        let data = self.func.dfg.inst(inst);
        if data.op == Opcode::Barrier {
            return self.barrier;
        }
        let ty = match (self.func.dfg.single_result(inst), data.args.get(1)) {
            (Some(result), _) => self.func.dfg.ty(result),
            (None, Some(&stored)) => self.func.dfg.ty(stored),
            (None, None) => return SCALAR,
        };
        let own = if ty.is_vector() || ty.elem.is_float() { f64::from(self.parts(ty)) } else { SCALAR };
        let lanes = f64::from(ty.lanes());
        match data.op.class() {
            OpClass::Leaf(_) | OpClass::Query(_) => 0.0,
            // A broadcast is an operand in memory.
            OpClass::Lane(_) if data.op == Opcode::Splat => 0.0,
            OpClass::Memory(MemoryOp::Gather | MemoryOp::Scatter) => THROUGHPUTS.scattered * lanes,
            OpClass::Memory(MemoryOp::AtomicRmw | MemoryOp::AtomicCmpxchg | MemoryOp::AtomicStore) => {
                THROUGHPUTS.atomic
            }
            OpClass::Memory(_) => ACCESS * own.max(1.0),
            OpClass::Call(_) => THROUGHPUTS.call,
            OpClass::Float(_) if matches!(data.op, Opcode::Fdiv | Opcode::Sqrt) => THROUGHPUTS.divide_estimate * own,
            OpClass::Int(_) if matches!(data.op, Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem) => {
                THROUGHPUTS.divide * own
            }
            OpClass::Address(_) => SCALAR / 2.0,
            OpClass::Int(_)
            | OpClass::Float(_)
            | OpClass::Convert(_)
            | OpClass::Lane(_)
            | OpClass::Sync(_)
            | OpClass::Collective(_)
            | OpClass::Image(_)
            | OpClass::Terminator(_) => own,
        }
    }

    /// The most registers that a block needs at once.
    fn pressure(&self, cfg: &Cfg, liveness: &Liveness, block: Block) -> u32 {
        let needs_register = |value| !self.is_operand_in_memory(value);
        most_in_block(self.func, cfg, liveness, block, |value| self.registers(value), needs_register)
    }

    /// Whether a value is loaded for one use only, which reads the memory itself.
    fn is_operand_in_memory(&self, value: Value) -> bool {
        let func = self.func;
        let op = |value: Value| func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst));
        let splat = op(value).filter(|data| data.op == Opcode::Splat).map(|data| data.args[0]);
        let loaded = splat.unwrap_or(value);
        self.uses.get(value) == 1 && op(loaded).is_some_and(|data| data.op == Opcode::Load)
    }
}
