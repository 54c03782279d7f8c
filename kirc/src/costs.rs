//! Measures the cost figures of the vectorizer's machine model, beside those of the table (`jit/src/target/costs.rs`).
//!
//! Each figure has a probe: a loop that repeats one piece of code, compiled by the whole compiler. The time of one piece is the
//! difference between two loops of different length, so that what else is in a loop does not count. Chains that depend on each
//! other give latencies, in cycles; several independent chains give throughputs, in vector instructions.
//!
//! A cycle is the time of an addition in a chain of scalar ones. So the figures do not depend on the clock rate, and hardly on
//! what else the machine does: each time is the shortest of many.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use clift_jit::Options;
use clift_jit::target::costs::{LATENCIES, THROUGHPUTS};
use clift_jit::testing::launch::{Launch, make};
use clift_kir::interp::{Geometry, Lanes};
use clift_kir::testing::run::{Arg, Fill, RunCase};
use clift_kir::{
    AtomicInfo, AtomicOp, Block, BlockCall, Builder, Elem, Func, Function, IntCond, KernelData, LibFn, MemInfo,
    MemOrder, MemScope, Module, Opcode, SlotData, Space, Stage, Type, Value, verify,
};

/// Lanes of a pack of 32-bit elements that fills one register of the longest kind.
const LANES: u32 = 16;
/// Iterations of a loop.
const ITERATIONS: u64 = 300;
/// Iterations of a loop whose branches must not be learned by heart.
const UNPREDICTABLE: u64 = 30_000;
/// Pieces of code in the two loops, for each chain.
const PIECES: [usize; 2] = [4, 12];
/// How long a loop is repeated.
const REPEAT: Duration = Duration::from_millis(30);
/// Elements of the input.
const INPUT: u64 = 4096;
/// The input's element that all work-items share.
const SHARED: i64 = INPUT as i64 / 2;

/// What a piece of code can use beside its chain's value.
struct Probe<'f> {
    b: Builder<'f>,
    /// The type of chains.
    ty: Type,
    input: Value,
    output: Value,
    /// The work-item's number in 32 bits.
    item: Value,
    /// A value of each work-item, and one that all share.
    own: Value,
    shared: Value,
}

/// A piece of code: the next value of a chain.
type Piece = fn(&mut Probe<'_>, Value) -> Value;

/// A measurement of a piece of code.
#[derive(Clone, Copy)]
struct Measurement {
    elem: Elem,
    lanes: u32,
    chains: usize,
    iterations: u64,
    piece: Piece,
}

/// A latency of packs.
const fn latency(elem: Elem, piece: Piece) -> Measurement {
    Measurement { elem, lanes: LANES, chains: 1, iterations: ITERATIONS, piece }
}

/// A throughput of packs, or of scalars.
const fn throughput(elem: Elem, lanes: u32, piece: Piece) -> Measurement {
    Measurement { elem, lanes, chains: 8, iterations: ITERATIONS, piece }
}

fn row(out: &mut impl Write, name: &str, table: f64, measured: f64) -> std::io::Result<()> {
    writeln!(out, "{name:40} {table:>8.1} {measured:>10.1}")
}

/// Measures all figures and prints them.
pub(crate) fn all(out: &mut impl Write) -> Result<()> {
    let seconds = |measurement: Measurement| measurement.seconds();
    let cycle = seconds(Measurement { lanes: 1, ..latency(Elem::I32, add_and_flip) })? / 2.0;
    let vector = seconds(throughput(Elem::I32, LANES, add_and_flip))? / 2.0;
    writeln!(
        out,
        "a cycle is {:.3} ns; {:.2} vector instructions of {LANES} words begin in one\n",
        cycle * 1e9,
        cycle / vector
    )?;
    let cycles = |measurement: Measurement| Ok::<f64, anyhow::Error>(seconds(measurement)? / cycle);

    writeln!(out, "{:40} {:>8} {:>10}", "latency, in cycles", "table", "measured")?;
    let float = LATENCIES.float.into();
    row(out, "float: addition", float, cycles(latency(Elem::F32, |p, x| p.b.float2(Opcode::Fadd, x, p.own)))?)?;
    row(out, "float: multiplication", float, cycles(latency(Elem::F32, |p, x| p.b.float2(Opcode::Fmul, x, p.own)))?)?;
    row(out, "float: fused multiply-add", float, cycles(latency(Elem::F32, |p, x| p.b.fma(x, p.own, p.shared)))?)?;
    let multiply = cycles(latency(Elem::I32, |p, x| p.b.int2(Opcode::Imul, x, p.own)))?;
    row(out, "int_multiply", LATENCIES.int_multiply.into(), multiply)?;
    let divide = LATENCIES.divide.into();
    row(out, "divide: division", divide, cycles(latency(Elem::F32, |p, x| p.b.float2(Opcode::Fdiv, x, p.own)))?)?;
    row(out, "divide: square root", divide, cycles(latency(Elem::F32, |p, x| p.b.float1(Opcode::Sqrt, x)))?)?;
    let first_lane = cycles(latency(Elem::I32, |p, x| {
        let first = from_first_lane(p, x);
        p.b.int2(Opcode::Iadd, first, p.item)
    }))?;
    let load = cycles(latency(Elem::I32, |p, x| {
        let first = from_first_lane(p, x);
        let index = p.b.int2(Opcode::Iadd, first, p.item);
        gathered(p, index)
    }))?;
    row(out, "load, its address from a lane", LATENCIES.load.into(), load - first_lane)?;
    row(out, "scattered", LATENCIES.scattered.into(), cycles(latency(Elem::I32, gathered))?)?;
    // Without the addition, which takes a cycle, exchanges would be combined.
    row(out, "exchange", LATENCIES.exchange.into(), cycles(latency(Elem::I32, from_neighbour))? - 1.0)?;

    writeln!(out, "\n{:40} {:>8} {:>10}", "throughput, in vector instructions", "table", "measured")?;
    let instructions = |measurement: Measurement| Ok::<f64, anyhow::Error>(seconds(measurement)? / vector);
    let own = instructions(throughput(Elem::I32, LANES, |p, x| divided(p, x, p.own)))?;
    let shared = instructions(throughput(Elem::I32, LANES, |p, x| divided(p, x, p.shared)))?;
    // Words are divided as doubles, in two registers.
    row(out, "divide", THROUGHPUTS.divide, instructions(throughput(Elem::I32, 1, |p, x| divided(p, x, p.own)))?)?;
    row(out, "convert_and_correct", THROUGHPUTS.convert_and_correct, shared / 2.0)?;
    row(out, "divide_estimate", THROUGHPUTS.divide_estimate, (own - shared) / 2.0)?;
    let long = instructions(throughput(Elem::I64, LANES, |p, x| divided(p, x, p.own)))?;
    row(out, "long_division", THROUGHPUTS.long_division, long / 2.0)?;
    let wide = instructions(throughput(Elem::I64, LANES, |p, x| p.b.int2(Opcode::Imul, x, p.own)))?;
    row(out, "wide_multiply", THROUGHPUTS.wide_multiply, wide / 2.0)?;
    let call = instructions(throughput(Elem::F32, 1, |p, x| p.b.lib_call(LibFn::Cbrt, &[x])))?;
    row(out, "call", THROUGHPUTS.call, call)?;
    row(out, "atomic", THROUGHPUTS.atomic, instructions(throughput(Elem::I32, 1, atomic_add))?)?;
    let gather = instructions(throughput(Elem::I32, LANES, gathered))?;
    row(out, "gathered: a lane", THROUGHPUTS.gathered, gather / f64::from(LANES))?;
    let scatter = instructions(throughput(Elem::I32, LANES, scattered))?;
    row(out, "scattered: stores, a lane", THROUGHPUTS.scattered, scatter / f64::from(LANES))?;
    let one = |piece| Measurement { lanes: 1, iterations: UNPREDICTABLE, ..latency(Elem::I32, piece) };
    let sure = instructions(one(|p, x| branch(p, x, p.shared, IntCond::Eq)))?;
    let unsure = instructions(one(|p, x| branch(p, x, p.shared, IntCond::Slt)))?;
    row(out, "unsure_branch", THROUGHPUTS.unsure_branch, unsure - sure)?;
    let without = instructions(latency(Elem::I32, next_random))?;
    let tested = instructions(latency(Elem::I32, |p, x| branch(p, x, p.own, IntCond::Eq)))?;
    row(out, "any_lane_test", THROUGHPUTS.any_lane_test, tested - without)?;
    let carried = instructions(latency(Elem::I32, through_memory))?;
    row(out, "carried_through_memory", THROUGHPUTS.carried_through_memory, carried)?;
    Ok(())
}

/// Two instructions that are not combined with those of the next piece.
fn add_and_flip(p: &mut Probe<'_>, x: Value) -> Value {
    let sum = p.b.int2(Opcode::Iadd, x, p.own);
    p.b.int2(Opcode::Xor, sum, p.own)
}

/// The value of the pack's first lane, for all lanes.
fn from_first_lane(p: &mut Probe<'_>, x: Value) -> Value {
    let first = p.b.iconst(Type::I32, 0);
    p.b.group_shuffle(x, first)
}

/// The value of the lane whose number differs in the last bit, and an addition.
fn from_neighbour(p: &mut Probe<'_>, x: Value) -> Value {
    let lane = p.b.query_linear(Opcode::SubGroupLocalId);
    let lane = p.b.int_resize(lane, Elem::I32, false);
    let one = p.b.iconst(Type::I32, 1);
    let neighbour = p.b.int2(Opcode::Xor, lane, one);
    let moved = p.b.group_shuffle(x, neighbour);
    p.b.int2(Opcode::Iadd, moved, p.own)
}

/// The input's element at an index.
fn gathered(p: &mut Probe<'_>, index: Value) -> Value {
    let at = element(p, p.input, index);
    p.b.load(p.ty, at, MemInfo::aligned(p.ty.elem.bytes()))
}

/// Stores to the output at an index.
fn scattered(p: &mut Probe<'_>, index: Value) -> Value {
    let at = element(p, p.output, index);
    p.b.store(at, index, MemInfo::aligned(p.ty.elem.bytes()));
    p.b.int2(Opcode::Xor, index, p.item)
}

fn element(p: &mut Probe<'_>, base: Value, index: Value) -> Value {
    let index = p.b.int_resize(index, Elem::I64, false);
    p.b.addr(base, Some(index), p.ty.elem.bytes().into(), 0)
}

/// A quotient, made large again.
fn divided(p: &mut Probe<'_>, x: Value, by: Value) -> Value {
    let quotient = p.b.int2(Opcode::Udiv, x, by);
    let large = p.b.iconst(p.ty, 0x7654_3210);
    p.b.int2(Opcode::Xor, quotient, large)
}

fn atomic_add(p: &mut Probe<'_>, x: Value) -> Value {
    let item = p.item;
    let at = element(p, p.output, item);
    let info = AtomicInfo { op: AtomicOp::Add, order: MemOrder::Relaxed, scope: MemScope::Device };
    p.b.atomic_rmw(at, x, info)
}

/// The next number of a linear congruential generator.
fn next_random(p: &mut Probe<'_>, x: Value) -> Value {
    let (factor, summand) = (p.b.iconst(p.ty, 1_664_525), p.b.iconst(p.ty, 1_013_904_223));
    let product = p.b.int2(Opcode::Imul, x, factor);
    p.b.int2(Opcode::Iadd, product, summand)
}

/// A branch on a comparison of a random number: for half of the numbers if it asks for less than a small one, for none if for the
/// same one.
fn branch(p: &mut Probe<'_>, x: Value, with: Value, cond: IntCond) -> Value {
    let next = next_random(p, x);
    let test = p.b.icmp(cond, next, with);
    let [then, join]: [Block; 2] = std::array::from_fn(|_| p.b.func.append_block());
    p.b.branch(test, BlockCall::new(then, &[]), BlockCall::new(join, &[]));
    p.b.switch_to(then);
    let item = p.item;
    let at = element(p, p.output, item);
    p.b.store(at, next, MemInfo { volatile: true, ..MemInfo::aligned(p.ty.elem.bytes()) });
    p.b.jump(join, &[]);
    p.b.switch_to(join);
    next
}

/// A volatile private variable that is read and written.
fn through_memory(p: &mut Probe<'_>, x: Value) -> Value {
    let slot = match p.b.func.slots.keys().next() {
        Some(slot) => slot,
        None => p.b.func.slots.push(SlotData { size: 4, align: 4 }),
    };
    let mem = MemInfo { volatile: true, ..MemInfo::aligned(4) };
    let at = p.b.slot_addr(slot);
    let old = p.b.load(p.ty, at, mem);
    let new = p.b.int2(Opcode::Iadd, old, x);
    p.b.store(at, new, mem);
    x
}

impl Measurement {
    /// The seconds of one piece.
    fn seconds(self) -> Result<f64> {
        let [short, long] = PIECES;
        let more = (long - short) * self.chains * self.iterations as usize;
        Ok((self.loop_seconds(long)? - self.loop_seconds(short)?) / more as f64)
    }

    /// The seconds of a loop with so many pieces in each chain.
    fn loop_seconds(self, pieces: usize) -> Result<f64> {
        let (elem, ty) = (self.elem, Type::scalar(self.elem));
        // Indices that lead through the input; numbers a little above one.
        let number = |i: u64| match elem {
            Elem::F32 => (1.0 + i as f32 * 1e-9).to_bits().into(),
            _ if i == SHARED as u64 => 3,
            _ => (5 * i + 3) % INPUT,
        };
        let numbers = (0..INPUT).map(number).collect();
        let items = u64::from(self.lanes);
        let args = vec![
            (0, Arg::Buffer { ty, count: INPUT as usize, fill: Fill::Repeat(numbers) }),
            (8, Arg::Buffer { ty, count: INPUT as usize, fill: Fill::Repeat(vec![0]) }),
            (16, Arg::Value(Lanes { ty: Type::I64, bits: vec![self.iterations] })),
        ];
        let case = RunCase::new("probe", Geometry::linear(items, items), args);
        let module = self.module(pieces);
        verify::module(&module).map_err(|error| anyhow!("{error}\n{module}"))?;
        let options = Options { width: Some(self.lanes), ..Options::default() };
        let program = make(module, &options).map_err(|reason| anyhow!(reason))?;
        let kernel = program.kernels.first().context("there is no kernel")?;
        ensure!(kernel.resources.width == self.lanes, "a probe does not have {} lanes", self.lanes);
        let mut launch = Launch::new(kernel, &case).map_err(|reason| anyhow!(reason))?;
        let (mut shortest, begun) = (Duration::MAX, Instant::now());
        while begun.elapsed() < REPEAT {
            let started = Instant::now();
            launch.run(1);
            shortest = shortest.min(started.elapsed());
        }
        Ok(shortest.as_secs_f64())
    }

    /// The kernel: a loop over the chains' values.
    fn module(self, pieces: usize) -> Module {
        let ty = Type::scalar(self.elem);
        let mut func = Function::new("probe", &[]);
        func.stage = Stage::Canonical;
        let [entry, header, exit] = std::array::from_fn(|_| func.append_block());
        let mut b = Builder::at_end(&mut func, entry);
        let [input, output] = [0, 8].map(|at| b.arg(at, Type::ptr(Space::Global)));
        let iterations = b.arg(16, Type::I64);
        let id = b.query(Opcode::GlobalId, 0);
        let item = b.int_resize(id, Elem::I32, false);
        let bytes = u64::from(ty.elem.bytes());
        let mem = MemInfo::aligned(ty.elem.bytes());
        let read = |b: &mut Builder<'_>, id: Option<Value>, at: i64| {
            let at = b.addr(input, id, bytes, at * bytes as i64);
            b.load(ty, at, mem)
        };
        let own = read(&mut b, Some(id), 0);
        let shared = read(&mut b, None, SHARED);
        let zero = b.iconst(Type::I64, 0);
        let mut values = vec![zero];
        values.extend((1..=self.chains as i64).map(|chain| read(&mut b, Some(id), chain * 64)));
        b.jump(header, &values);
        b.switch_to(header);
        let params: Vec<Value> = std::iter::once(Type::I64)
            .chain(std::iter::repeat_n(ty, self.chains))
            .map(|ty| b.func.dfg.append_param(header, ty))
            .collect();
        let mut probe = Probe { b, ty, input, output, item, own, shared };
        let mut values = params[1..].to_vec();
        for _ in 0..pieces {
            for value in &mut values {
                *value = (self.piece)(&mut probe, *value);
            }
        }
        let b = &mut probe.b;
        let one = b.iconst(Type::I64, 1);
        let next = b.int2(Opcode::Iadd, params[0], one);
        let again = b.icmp(IntCond::Ult, next, iterations);
        let passed: Vec<Value> = std::iter::once(next).chain(values.iter().copied()).collect();
        b.branch(again, BlockCall::new(header, &passed), BlockCall::new(exit, &[]));
        b.switch_to(exit);
        for (chain, value) in (1..).zip(values) {
            let at = b.addr(output, Some(id), bytes, chain * 64 * bytes as i64);
            b.store(at, value, mem);
        }
        b.ret(&[]);
        let mut module = Module::default();
        module.funcs.push(func);
        module.kernels.push(KernelData { func: Func::from_u32(0), arg_block_bytes: 24, required_local_size: None });
        module
    }
}
