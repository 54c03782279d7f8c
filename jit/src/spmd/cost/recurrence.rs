//! Finds loops that are recurrence-bound: more lanes in flight cost nothing there as long as the registers hold them.
//!
//! The next value of a loop variable is computed from the current one by a chain of operations, each with a latency. If that
//! chain takes longer than the execution units need for all of the loop's vector instructions, the units are idle part of the
//! time, and twice the lanes fill them. Sums of bytes from memory are not recurrence-bound; polynomials, random numbers and
//! searches are.
//!
//! A long chain without a loop is similar: a processor begins the next pack while it waits for this one, but only as many
//! instructions ahead as its schedulers hold.

use clift_kir::analysis::LoopId;
use clift_kir::{Block, Inst, Opcode, Value};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashSet;

use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Shape;
use crate::spmd::class::{Class, class};
use crate::spmd::transform::normalize::NormalForm;
use crate::spmd::vectorize::widen::how::{How, how};
use crate::target::costs::LATENCIES;
use crate::target::machine::Machine;

/// A loop is recurrence-bound if its longest chain exceeds this part of the time that the execution units need: other loops find
/// no gap between its iterations.
const BUSY: f64 = 0.6;

/// How many vector instructions wait in a processor's schedulers, and before them, for operands. (Zen 4: 2 times 32, and 64
/// before; Golden Cove: 97.)
const WINDOW: f64 = 128.0;

const PRODUCTS: [Opcode; 3] = [Opcode::Imul, Opcode::Umulh, Opcode::Smulh];
const DIVISIONS: [Opcode; 6] = [Opcode::Udiv, Opcode::Sdiv, Opcode::Urem, Opcode::Srem, Opcode::Fdiv, Opcode::Sqrt];

/// Whether an innermost loop is recurrence-bound in packs of so many lanes.
pub(crate) fn is_recurrence_bound(normal: &NormalForm, divergence: &Divergence, lanes: u32, machine: &Machine) -> bool {
    let loops = &normal.loops;
    let model = RecurrenceModel { normal, divergence, lanes, machine };
    let around: FxHashSet<LoopId> = loops.iter().filter_map(|(_, inner)| inner.parent).collect();
    loops.iter().any(|(id, _)| !around.contains(&id) && model.loop_is_recurrence_bound(id))
}

/// Whether an innermost loop, or a kernel without loops, is one long chain of operations in packs of so many lanes.
pub(crate) fn is_chain_bound(normal: &NormalForm, divergence: &Divergence, lanes: u32, machine: &Machine) -> bool {
    let NormalForm { func, cfg, loops, .. } = normal;
    let model = RecurrenceModel { normal, divergence, lanes, machine };
    let around: FxHashSet<LoopId> = loops.iter().filter_map(|(_, inner)| inner.parent).collect();
    let hot = |level: Option<LoopId>| {
        let at = cfg.rpo().iter().copied().filter(move |&block| loops.innermost(block) == level);
        at.filter(|&block| !func.layout.is_cold(block)).collect::<Vec<Block>>()
    };
    if loops.iter().next().is_none() {
        return model.is_chain(&hot(None));
    }
    loops.iter().any(|(id, _)| !around.contains(&id) && model.is_chain(&hot(Some(id))))
}

struct RecurrenceModel<'a> {
    normal: &'a NormalForm,
    divergence: &'a Divergence,
    lanes: u32,
    machine: &'a Machine,
}

impl RecurrenceModel<'_> {
    fn loop_is_recurrence_bound(&self, id: LoopId) -> bool {
        let NormalForm { func, loops, .. } = self.normal;
        let blocks = &loops.get(id).blocks;
        let insts = || blocks.iter().flat_map(|&block| func.layout.insts(block)).copied();
        // Packs go through such a loop one after the other; with more lanes there are fewer packs.
        if insts().any(|inst| class(func.dfg.inst(inst).op) == Class::Barrier) {
            return true;
        }
        let work: f64 = insts().map(|inst| self.registers_written(inst)).sum();
        let params = func.dfg.params(loops.get(id).header);
        let longest = (0..params.len())
            .filter(|&which| self.is_vector(params[which]))
            .map(|which| self.recurrence_latency(id, blocks, which));
        longest.max().is_some_and(|cycles| f64::from(cycles) > BUSY * work / self.machine.ports())
    }

    /// Whether the longest chain in some blocks, in the order of the code, takes longer than the execution units need for all of
    /// their instructions, though the processor executes parts of other packs or iterations meanwhile.
    fn is_chain(&self, blocks: &[Block]) -> bool {
        let func = &self.normal.func;
        let work: f64 =
            blocks.iter().flat_map(|&block| func.layout.insts(block)).map(|&inst| self.registers_written(inst)).sum();
        let mut cycles: SecondaryMap<Value, u32> = SecondaryMap::new();
        let mut longest = 0;
        for &block in blocks {
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                let before = data.args.iter().map(|&arg| cycles[arg]).max().unwrap_or(0);
                for &result in func.dfg.results(inst) {
                    if self.is_vector(result) {
                        cycles[result] = before + self.latency(inst);
                        longest = longest.max(cycles[result]);
                    }
                }
                for target in func.dfg.targets(inst) {
                    for (&param, &arg) in func.dfg.params(target.block).iter().zip(&target.args) {
                        cycles[param] = cycles[param].max(cycles[arg]);
                    }
                }
            }
        }
        let overlapped = (work / WINDOW).min(1.0);
        f64::from(longest) * overlapped > work / self.machine.ports()
    }

    fn is_vector(&self, value: Value) -> bool {
        self.divergence.shape(value) == Shape::Varying && !self.divergence.has_known_distances(value)
    }

    /// How many registers the results of an instruction fill.
    fn registers_written(&self, inst: Inst) -> f64 {
        let func = &self.normal.func;
        let results = func.dfg.results(inst).iter().filter(|&&value| self.is_vector(value));
        let registers = |&value: &Value| {
            let ty = func.dfg.ty(value);
            let bits = self.lanes * ty.elem.bits().max(8);
            f64::from(ty.lanes()) * (f64::from(bits) / f64::from(self.machine.register_bits)).max(1.0)
        };
        results.map(registers).sum()
    }

    /// The latency from a loop variable to its next value, in cycles.
    fn recurrence_latency(&self, id: LoopId, blocks: &[Block], which: usize) -> u32 {
        let NormalForm { func, loops, .. } = self.normal;
        let header = loops.get(id).header;
        let mut cycles: SecondaryMap<Value, Option<u32>> = SecondaryMap::new();
        cycles[func.dfg.params(header)[which]] = Some(0);
        let mut longest = 0;
        for &block in blocks {
            for &inst in func.layout.insts(block) {
                let data = func.dfg.inst(inst);
                if let Some(before) = data.args.iter().filter_map(|&arg| cycles[arg]).max() {
                    let after = before + self.latency(inst);
                    for &result in func.dfg.results(inst) {
                        cycles[result] = Some(after);
                    }
                }
                for target in func.dfg.targets(inst) {
                    if target.block == header {
                        longest = longest.max(cycles[target.args[which]].unwrap_or(0));
                    } else if loops.contains(id, target.block) {
                        for (&param, &arg) in func.dfg.params(target.block).iter().zip(&target.args) {
                            cycles[param] = cycles[param].max(cycles[arg]);
                        }
                    }
                }
            }
        }
        longest
    }

    fn latency(&self, inst: Inst) -> u32 {
        let func = &self.normal.func;
        let data = func.dfg.inst(inst);
        match how(data.op) {
            How::Leaf | How::Slot | How::Query | How::Bitcast | How::Branch | How::End => 0,
            How::Load if self.is_vector(data.args[0]) => LATENCIES.scattered,
            How::Load => LATENCIES.load,
            How::PerLane | How::Foreign => LATENCIES.scattered,
            How::Collective => LATENCIES.exchange,
            How::Store | How::Once | How::SingleLane => 0,
            How::Lanewise | How::Components => {
                let float = func.dfg.single_result(inst).is_some_and(|result| func.dfg.ty(result).elem.is_float());
                if DIVISIONS.contains(&data.op) {
                    LATENCIES.divide
                } else if PRODUCTS.contains(&data.op) {
                    LATENCIES.int_multiply
                } else if float && how(data.op) == How::Lanewise {
                    LATENCIES.float
                } else {
                    1
                }
            }
        }
    }
}
