//! What a work-item computes and accesses, estimated from its code: for traces, which compare kernels with what the machine can
//! do. Nothing here affects code, and nothing is counted unless there is a trace.
//!
//! A loop with a constant trip count is counted so often. If a loop ends when its counter reaches a kernel argument, each
//! launch knows its trip count. What is in other loops is counted for one iteration of each, and separately. Where control flow
//! joins again, one of two paths is taken; cold blocks are not executed.

use std::ops::AddAssign;

use clift_kir::analysis::{Cfg, Cold, DomTree, LoopForest, LoopId};
use clift_kir::ops::{FloatOp, MemoryOp, OpClass};
use clift_kir::{Block, Elem, Function, Imm, Inst, Opcode, Space, Type, Value};
use cranelift_entity::SecondaryMap;

use crate::passes::{loop_form, trip_count};

/// Loops of more iterations count as loops whose trip count is unknown.
const MAX_ITERATIONS: u64 = 4096;

/// Operations and accesses of one work-item.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Arithmetic operations on floating-point numbers; a fused multiply-add is two.
    pub float_operations: f64,
    /// Arithmetic operations on integers, those that compute addresses included.
    pub int_operations: f64,
    /// Bytes read and written in global and constant memory.
    pub bytes: f64,
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.float_operations += other.float_operations;
        self.int_operations += other.int_operations;
        self.bytes += other.bytes;
    }
}

impl Work {
    fn times(self, factor: f64) -> Work {
        Work {
            float_operations: self.float_operations * factor,
            int_operations: self.int_operations * factor,
            bytes: self.bytes * factor,
        }
    }
}

/// The estimate for a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkEstimate {
    /// In no loop, and in loops with a constant trip count.
    known: Work,
    /// In loops whose trip counts depend on arguments: one iteration, and how often there is one.
    by_argument: Vec<(Work, Vec<TripsByArgument>)>,
    /// In loops whose trip count is unknown: one iteration of each.
    in_loops: Work,
    has_unknown_loops: bool,
}

/// The trip count of a loop from or to an argument: the distance between the argument and a constant, in steps.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TripsByArgument {
    /// Place of the argument in the argument block, and its size in bytes.
    place: (usize, usize),
    other: i64,
    step: i64,
}

impl TripsByArgument {
    fn times(self, args: &[u8]) -> Option<f64> {
        let (offset, size) = self.place;
        let bytes = args.get(offset..offset.checked_add(size)?)?;
        let value = match *bytes {
            [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
            _ => i64::from_le_bytes(bytes.try_into().ok()?),
        };
        Some(value.abs_diff(self.other) as f64 / self.step.unsigned_abs().max(1) as f64)
    }
}

impl WorkEstimate {
    /// What each work-item of a launch with this argument block does, on average; and whether it does more than that, because
    /// trip counts of some loops are unknown.
    pub fn of_launch(&self, args: &[u8]) -> (Work, bool) {
        let (mut work, mut is_bound) = (self.known, self.has_unknown_loops);
        work += self.in_loops;
        for (iteration, loops) in &self.by_argument {
            let times = loops.iter().map(|trips| trips.times(args)).product::<Option<f64>>();
            is_bound |= times.is_none();
            work += iteration.times(times.unwrap_or(1.0));
        }
        (work, is_bound)
    }
}

/// What is known of a loop's trip count.
enum Trips {
    Constant(f64),
    Argument(TripsByArgument),
    Unknown,
}

/// Estimates the work of a function that is *canonical*.
pub(crate) fn estimate(func: &Function) -> WorkEstimate {
    let mut func = func.clone();
    let (cfg, dom, loops) = loop_form::run(&mut func).unwrap_or_else(|| loop_form::analyze(&func));
    let trips: Vec<(LoopId, Trips)> =
        loops.iter().map(|(id, _)| (id, trips_of(&func, (&cfg, &dom, &loops), id))).collect();
    let shares = Shares::new(&func, &cfg, &dom, &loops);
    let has_unknown_loops = loops.irreducible() || trips.iter().any(|(_, trips)| matches!(trips, Trips::Unknown));
    let mut estimate = WorkEstimate { has_unknown_loops, ..WorkEstimate::default() };
    for &block in cfg.rpo() {
        let mut work = Work::default();
        for &inst in func.layout.insts(block) {
            work += of_inst(&func, inst);
        }
        let (mut times, mut arguments, mut unknown) = (shares.of[block], Vec::new(), loops.irreducible());
        for (_, trips) in trips.iter().filter(|(id, _)| loops.contains(*id, block)) {
            match trips {
                Trips::Constant(constant) => times *= constant,
                Trips::Argument(argument) => arguments.push(*argument),
                Trips::Unknown => unknown = true,
            }
        }
        let work = work.times(times);
        let same = |(_, loops): &&mut (Work, Vec<TripsByArgument>)| *loops == arguments;
        if unknown {
            estimate.in_loops += work;
        } else if arguments.is_empty() {
            estimate.known += work;
        } else if let Some((sum, _)) = estimate.by_argument.iter_mut().find(same) {
            *sum += work;
        } else {
            estimate.by_argument.push((work, arguments));
        }
    }
    estimate
}

fn trips_of(func: &Function, (cfg, dom, loops): (&Cfg, &DomTree, &LoopForest), id: LoopId) -> Trips {
    if let Some(count) = trip_count::of_loop(func, (cfg, dom, loops), id, MAX_ITERATIONS) {
        return Trips::Constant(count.times as f64);
    }
    let exits =
        loops.get(id).blocks.iter().filter(|&&block| cfg.succs(block).iter().any(|&to| !loops.contains(id, to)));
    exits
        .filter_map(|&block| trips_to_argument(func, cfg, loops, id, block))
        .next()
        .map_or(Trips::Unknown, Trips::Argument)
}

/// The trip count of a loop that a block leaves when a counter reaches a value, if that or the counter's first value is an
/// argument.
fn trips_to_argument(
    func: &Function,
    cfg: &Cfg,
    loops: &LoopForest,
    id: LoopId,
    exit: Block,
) -> Option<TripsByArgument> {
    let data = loops.get(id);
    let &[latch] = data.latches.as_slice() else { return None };
    let branch = func.dfg.inst(func.layout.terminator(exit)?);
    let compare = func.dfg.inst(func.dfg.def_inst(*branch.args.first()?)?);
    if branch.op != Opcode::Branch || compare.op != Opcode::Icmp {
        return None;
    }
    let &[left, right] = compare.args.as_slice() else { return None };
    let starts = loop_form::args_of_edge(func, loop_form::preheader(cfg, data)?, data.header)?;
    let nexts = loop_form::args_of_edge(func, latch, data.header)?;
    let params = func.dfg.params(data.header);
    [(left, right), (right, left)].into_iter().find_map(|(counter, end)| {
        // The counter itself, or its next value.
        let counter = sum(func, counter).map_or(counter, |(counter, _)| counter);
        let number = params.iter().position(|&param| param == widened(func, counter))?;
        let (same, step) = sum(func, *nexts.get(number)?)?;
        if widened(func, same) != params[number] {
            return None;
        }
        let start = *starts.get(number)?;
        let constant = |value| func.dfg.as_splat_signed(widened(func, value));
        let (place, other) = match (argument(func, end), argument(func, start)) {
            (Some(place), _) => (place, constant(start)?),
            (None, Some(place)) => (place, constant(end)?),
            (None, None) => return None,
        };
        Some(TripsByArgument { place, other, step })
    })
}

/// The value that a wider one was made of.
fn widened(func: &Function, mut value: Value) -> Value {
    while let Some(inst) = func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst))
        && matches!(inst.op, Opcode::Sext | Opcode::Zext)
    {
        value = inst.args[0];
    }
    value
}

/// A value plus a constant.
fn sum(func: &Function, value: Value) -> Option<(Value, i64)> {
    let inst = func.dfg.inst(func.dfg.def_inst(widened(func, value))?);
    let &[left, right] = inst.args.as_slice() else { return None };
    if inst.op == Opcode::Iadd {
        let constant = |value| func.dfg.as_splat_signed(value);
        return constant(right).map(|step| (left, step)).or_else(|| constant(left).map(|step| (right, step)));
    }
    if inst.op == Opcode::Isub { Some((left, func.dfg.as_splat_signed(right)?.checked_neg()?)) } else { None }
}

/// The place and size of an integer argument in the argument block.
fn argument(func: &Function, value: Value) -> Option<(usize, usize)> {
    let value = widened(func, value);
    let inst = func.dfg.inst(func.dfg.def_inst(value)?);
    let ty = func.dfg.ty(value);
    let Imm::Offset(offset) = inst.imm else { return None };
    let is_number = inst.op == Opcode::Arg && matches!(ty.elem, Elem::I32 | Elem::I64) && ty.lanes() == 1;
    is_number.then(|| (offset as usize, ty.bytes() as usize))
}

/// How often each block is executed if each loop has one iteration.
struct Shares {
    of: SecondaryMap<Block, f64>,
}

impl Shares {
    fn new(func: &Function, cfg: &Cfg, dom: &DomTree, loops: &LoopForest) -> Shares {
        let cold = Cold::new(func, cfg);
        let mut of: SecondaryMap<Block, f64> = SecondaryMap::new();
        for &block in cfg.rpo() {
            let forward = cfg.preds(block).iter().filter(|&&pred| !dom.dominates(block, pred));
            let sum: f64 = forward.map(|&pred| of[pred] * edge(cfg, loops, &cold, pred, block)).sum();
            let first = Some(block) == func.layout.entry();
            of[block] = if cold.contains(block) {
                0.0
            } else if first {
                1.0
            } else {
                sum.min(1.0)
            };
        }
        Shares { of }
    }
}

/// The probability that a block is left for another one. Each loop is entered, and left after one iteration. A branch around some
/// code executes the code.
fn edge(cfg: &Cfg, loops: &LoopForest, cold: &Cold, from: Block, to: Block) -> f64 {
    let succs = cfg.succs(from);
    let inside = |block| loops.innermost(from).is_none_or(|id| loops.contains(id, block));
    let others = || succs.iter().copied().filter(|&other| other != to);
    if succs.len() < 2
        || others().any(|other| inside(other) != inside(to))
        || others().all(|other| cold.contains(other))
    {
        return 1.0;
    }
    let joins = |block: Block| cfg.preds(block).len() > 1;
    match (joins(to), others().any(joins)) {
        (true, false) => 0.0,
        (false, true) => 1.0,
        (true, true) | (false, false) => 1.0 / succs.len() as f64,
    }
}

fn of_inst(func: &Function, inst: Inst) -> Work {
    let data = func.dfg.inst(inst);
    let result = func.dfg.results(inst).first().map(|&value| func.dfg.ty(value));
    let lanes = f64::from(result.map_or(1, Type::lanes));
    let floats = |each: f64| Work { float_operations: each * lanes, ..Work::default() };
    // The memory that the first operand points to.
    let access = |ty: Option<Type>, times: f64| {
        let elem = data.args.first().map(|&pointer| func.dfg.ty(pointer).elem);
        let is_counted = match elem {
            Some(Elem::Ptr(space)) => match space {
                Space::Global | Space::Constant | Space::Generic => true,
                Space::Private | Space::Local | Space::Host => false,
            },
            Some(_) | None => false,
        };
        let bytes = if is_counted { ty.map_or(0.0, |ty| f64::from(ty.bytes()) * times) } else { 0.0 };
        Work { bytes, ..Work::default() }
    };
    let operand = |number: usize| data.args.get(number).map(|&value| func.dfg.ty(value));
    match data.op.class() {
        OpClass::Float(op) => match op {
            FloatOp::Fma => floats(2.0),
            FloatOp::Fneg | FloatOp::Fabs | FloatOp::Fcopysign => floats(0.0),
            FloatOp::Fadd
            | FloatOp::Fsub
            | FloatOp::Fmul
            | FloatOp::Fdiv
            | FloatOp::Fmin
            | FloatOp::Fmax
            | FloatOp::Sqrt
            | FloatOp::Ceil
            | FloatOp::Floor
            | FloatOp::Trunc
            | FloatOp::Rint
            | FloatOp::Fcmp => floats(1.0),
        },
        OpClass::Int(_) => Work { int_operations: lanes, ..Work::default() },
        OpClass::Memory(op) => match op {
            MemoryOp::Load | MemoryOp::AtomicLoad => access(result, 1.0),
            MemoryOp::Store | MemoryOp::AtomicStore => access(operand(1), 1.0),
            MemoryOp::AtomicRmw | MemoryOp::AtomicCmpxchg => access(result, 2.0),
            MemoryOp::Memcpy | MemoryOp::Memset => {
                let bytes = data.args.get(2).and_then(|&size| func.dfg.as_splat_bits(size)).unwrap_or(0);
                access(Some(Type::scalar(Elem::I8)), bytes as f64)
            }
            // They are in packs only.
            MemoryOp::MaskedLoad | MemoryOp::Gather => access(result, 1.0),
            MemoryOp::MaskedStore | MemoryOp::Scatter => access(operand(1), 1.0),
            MemoryOp::Fence => Work::default(),
        },
        OpClass::Call(_)
        | OpClass::Leaf(_)
        | OpClass::Query(_)
        | OpClass::Convert(_)
        | OpClass::Address(_)
        | OpClass::Lane(_)
        | OpClass::Collective(_)
        | OpClass::Sync(_)
        | OpClass::Image(_)
        | OpClass::Terminator(_) => Work::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate_of(text: &str) -> WorkEstimate {
        let module = clift_kir::text::parse_module(text).expect("valid kernel IR");
        let kernel = module.kernels.first().expect("a kernel");
        estimate(&module.funcs[kernel.func])
    }

    const FOUR_TIMES: &str = "
function f0 \"four\" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: i64 = global_id 0
    v2: i32 = const 0
    v3: i32 = const 1
    v4: i32 = const 4
    v5: ptr(global) = addr scale 4 v0, v1
    v6: f32 = load align 4 v5
    jump b1(v2, v6)
b1(v7: i32, v8: f32):
    v9: f32 = fma v8, v8, v6
    v10: i32 = iadd v7, v3
    v11: b1 = icmp slt v10, BOUND
    branch v11, b1(v10, v9), b2
b2:
    store align 4 v5, v9
    ret
}
kernel f0 args 16
";

    const ITERATION: Work = Work { float_operations: 2.0, int_operations: 2.0, bytes: 0.0 };
    const OUTSIDE: Work = Work { float_operations: 0.0, int_operations: 0.0, bytes: 8.0 };

    #[test]
    fn loops_with_a_known_trip_count_are_counted_so_often() {
        let estimate = estimate_of(&FOUR_TIMES.replace("BOUND", "v4"));
        let known = Work { float_operations: 8.0, int_operations: 8.0, bytes: 8.0 };
        assert_eq!(estimate, WorkEstimate { known, ..WorkEstimate::default() });
        assert_eq!(estimate.of_launch(&[]), (known, false));
    }

    #[test]
    fn launches_know_the_trip_counts_of_loops_to_an_argument() {
        let text = FOUR_TIMES.replace("v4: i32 = const 4", "v4: i32 = arg 8").replace("BOUND", "v4");
        let estimate = estimate_of(&text);
        let trips = TripsByArgument { place: (8, 4), other: 0, step: 1 };
        let by_argument = vec![(ITERATION, vec![trips])];
        assert_eq!(estimate, WorkEstimate { known: OUTSIDE, by_argument, ..WorkEstimate::default() });
        let mut args = [0; 12];
        args[8] = 100;
        assert_eq!(estimate.of_launch(&args).0, Work { float_operations: 200.0, int_operations: 200.0, bytes: 8.0 });
        assert!(estimate.of_launch(&args[..10]).1, "the argument is missing");
    }

    #[test]
    fn one_iteration_of_other_loops_is_counted() {
        // The bound is loaded.
        let text = FOUR_TIMES.replace("v4: i32 = const 4", "v4: i32 = load align 4 v0").replace("BOUND", "v4");
        let estimate = estimate_of(&text);
        assert_eq!((estimate.in_loops, estimate.has_unknown_loops), (ITERATION, true));
        assert_eq!(estimate.of_launch(&[]), (Work { bytes: 12.0, ..ITERATION }, true));
    }

    #[test]
    fn a_branch_around_code_executes_it_and_one_of_two_paths_is_taken() {
        const BRANCHES: &str = "
function f0 \"branches\" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: b1 = arg 8
    v2: f32 = const 1.0
    branch v1, b1, b2
b1:
    store align 4 v0, v2
    jump b2
b2:
    branch v1, b3, b4
b3:
    store align 4 v0, v2
    jump b5
b4:
    jump b5
b5:
    ret
}
kernel f0 args 16
";
        let estimate = estimate_of(BRANCHES);
        assert_eq!(estimate.known, Work { bytes: 6.0, ..Work::default() });
        assert!(!estimate.has_unknown_loops);
    }
}
