//! Superwords: generated kernels in which each work-item computes some neighbouring elements alike, or nearly so, in some order
//! of their accesses; straight or in a loop. The code of one work-item with vectors gives what the kernel gives.

use clift_kir::interp::Geometry;
use clift_kir::testing::samples::Rng;
use clift_kir::{
    Block, BlockCall, Builder, Func, Function, IntCond, KernelData, MemInfo, Module, Opcode, Space, Stage, Type, Value,
    verify,
};

use rustc_hash::FxHashSet;

use super::harness::{Launch, compare};
use super::{Growth, scalar};
use crate::passes::Globals;
use crate::spmd::transform::one_lane;

/// Work-items.
const ITEMS: u64 = 3;
/// Bytes of a work-item in each array.
const OWN: u64 = 512;
/// The most elements that are computed alike.
const MOST: usize = 17;

/// An expression over elements of the arrays.
#[derive(Clone, Debug)]
enum Expr {
    /// An element of an array: by how much its number grows with the element's own one, and its distance.
    Element(usize, i64, i64),
    Constant(i64),
    /// A value that all elements share.
    Shared(usize),
    Unary(Opcode, Box<Expr>),
    Binary(Opcode, Box<Expr>, Box<Expr>),
    /// The smaller one, by a comparison and a selection.
    Least(Box<Expr>, Box<Expr>),
    /// In a wider type and back.
    Widened(Box<Expr>),
}

const INT_OPS: [Opcode; 9] = [
    Opcode::Iadd,
    Opcode::Isub,
    Opcode::Imul,
    Opcode::And,
    Opcode::Or,
    Opcode::Xor,
    Opcode::Shl,
    Opcode::Lshr,
    Opcode::Umin,
];
const FLOAT_OPS: [Opcode; 4] = [Opcode::Fadd, Opcode::Fsub, Opcode::Fmul, Opcode::Fdiv];

fn expression(rng: &mut Rng, ty: Type, depth: usize) -> Expr {
    let inner = |rng: &mut Rng| Box::new(expression(rng, ty, depth - 1));
    match if depth == 0 { 0 } else { rng.below(6) } {
        1 => Expr::Unary(if ty.is_float() { Opcode::Fneg } else { Opcode::Not }, inner(rng)),
        2 | 3 => {
            let op = if ty.is_float() { rng.pick(&FLOAT_OPS) } else { rng.pick(&INT_OPS) };
            Expr::Binary(op, inner(rng), inner(rng))
        }
        4 => Expr::Least(inner(rng), inner(rng)),
        5 if ty.is_int() && ty.bits() < 64 => Expr::Widened(inner(rng)),
        _ => match rng.below(6) {
            0 => Expr::Constant(rng.below(7) as i64),
            1 => Expr::Shared(rng.below(2)),
            _ => Expr::Element(rng.below(2), rng.pick(&[1, 1, 1, 2]), rng.below(4) as i64 - 1),
        },
    }
}

/// A kernel being made.
struct Kernel<'a> {
    b: Builder<'a>,
    ty: Type,
    /// Where the elements of the work-item begin in each array, and the alias class.
    arrays: [(Value, u32); 2],
    shared: [Value; 2],
    /// The loop's counter.
    counter: Option<Value>,
}

impl Kernel<'_> {
    fn address(&mut self, array: usize, number: i64) -> Value {
        let bytes = i64::from(self.ty.bytes());
        self.b.addr(self.arrays[array].0, self.counter, bytes as u64, 16 + number * bytes)
    }

    fn mem(&self, array: usize) -> MemInfo {
        MemInfo { alias: self.arrays[array].1, ..MemInfo::aligned(self.ty.bytes()) }
    }

    fn value(&mut self, expr: &Expr, number: i64) -> Value {
        match expr {
            &Expr::Element(array, times, distance) => {
                let at = self.address(array, times * number + distance);
                self.b.load(self.ty, at, self.mem(array))
            }
            &Expr::Constant(constant) if self.ty.is_float() => self.b.fconst(self.ty, constant as f64),
            &Expr::Constant(constant) => self.b.iconst(self.ty, constant),
            &Expr::Shared(which) => self.shared[which],
            Expr::Unary(op, a) => {
                let a = self.value(a, number);
                if self.ty.is_float() { self.b.float1(*op, a) } else { self.b.int1(*op, a) }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a, number), self.value(b, number));
                if self.ty.is_float() { self.b.float2(*op, a, b) } else { self.b.int2(*op, a, b) }
            }
            Expr::Least(a, b) => {
                let (a, b) = (self.value(a, number), self.value(b, number));
                let less = if self.ty.is_float() {
                    self.b.fcmp(clift_kir::FloatCond::Olt, a, b)
                } else {
                    self.b.icmp(IntCond::Ult, a, b)
                };
                self.b.select(less, a, b)
            }
            Expr::Widened(a) => {
                let a = self.value(a, number);
                let wide = self.b.cast(Opcode::Zext, a, Type::I64);
                let three = self.b.iconst(Type::I64, 3);
                let sum = self.b.int2(Opcode::Iadd, wide, three);
                let half = self.b.iconst(Type::I64, 1);
                let halved = self.b.int2(Opcode::Lshr, sum, half);
                self.b.cast(Opcode::Itrunc, halved, self.ty)
            }
        }
    }
}

/// Some elements that are computed alike.
fn statements(kernel: &mut Kernel<'_>, rng: &mut Rng) {
    let usual = expression(rng, kernel.ty, 3);
    let count = 2 + rng.below(MOST - 1);
    let mut order: Vec<i64> = (0..count as i64).collect();
    if rng.below(4) == 0 {
        order.reverse();
    }
    if rng.below(6) == 0 {
        let (a, b) = (rng.below(count), rng.below(count));
        order.swap(a, b);
    }
    // Values first, or each value with its store.
    let at_end = rng.below(2) == 0;
    // Even and odd elements may be computed in different ways.
    let odd = (rng.below(3) == 0).then(|| expression(rng, kernel.ty, 3));
    let to = rng.below(2);
    let mut stores = Vec::new();
    for number in order {
        let unlike = rng.below(40) == 0;
        let other = expression(rng, kernel.ty, 2);
        let value = kernel.value(if unlike { &other } else { &usual }, number);
        match &odd {
            None => stores.push((number, value)),
            Some(odd) => {
                let odd = kernel.value(odd, number);
                stores.extend([(2 * number, value), (2 * number + 1, odd)]);
            }
        }
        if !at_end {
            store(kernel, to, &mut stores);
        }
        if rng.below(60) == 0 {
            // An access among the others.
            let array = rng.below(2);
            let at = kernel.address(array, rng.below(MOST) as i64);
            let mem = MemInfo { volatile: rng.below(2) == 0, ..kernel.mem(array) };
            kernel.b.store(at, kernel.shared[0], mem);
        }
        if rng.below(60) == 0 {
            kernel.shared[1] = value;
        }
    }
    store(kernel, to, &mut stores);
}

fn store(kernel: &mut Kernel<'_>, to: usize, values: &mut Vec<(i64, Value)>) {
    for (number, value) in values.drain(..) {
        let at = kernel.address(to, number);
        let mem = kernel.mem(to);
        kernel.b.store(at, value, mem);
    }
}

fn generate(seed: u64) -> Module {
    let mut rng = Rng::new(seed);
    let ty = rng.pick(&[Type::I8, Type::I16, Type::I32, Type::I64, Type::F32]);
    let mut func = Function::new("k", &[]);
    func.stage = Stage::Canonical;
    let entry = func.append_block();
    let mut b = Builder::at_end(&mut func, entry);
    let id = b.query(Opcode::GlobalId, 0);
    let first = b.arg(0, Type::ptr(Space::Global));
    // The second array is another one, or the first.
    let same = rng.below(3) == 0;
    let second = if same { first } else { b.arg(8, Type::ptr(Space::Global)) };
    let shift = if same { rng.below(3) as i64 * i64::from(ty.bytes()) } else { 0 };
    let classes = if same || rng.below(3) == 0 { [0, 0] } else { [1, 2] };
    let first = b.addr(first, Some(id), OWN, 0);
    let second = b.addr(second, Some(id), OWN, shift);
    let mem = MemInfo::aligned(ty.bytes());
    let shared = [first, second].map(|array| b.load(ty, array, mem));
    let arrays = [(first, classes[0]), (second, classes[1])];
    if rng.below(2) == 0 {
        let mut kernel = Kernel { b, ty, arrays, shared, counter: None };
        for _ in 0..1 + rng.below(3) {
            statements(&mut kernel, &mut rng);
        }
        kernel.b.ret(&[]);
    } else {
        let count = b.arg(24, Type::I64);
        let zero = b.iconst(Type::I64, 0);
        row_loop(Kernel { b, ty, arrays, shared, counter: None }, &mut rng, (zero, count));
    }
    let mut module = Module::default();
    module.funcs.push(func);
    module.kernels.push(KernelData { func: Func::from_u32(0), arg_block_bytes: 32, required_local_size: None });
    verify::module(&module).unwrap_or_else(|e| panic!("{e}\n{module}"));
    module
}

/// The ops of reductions, and one that is none.
const REDUCTIONS: [Opcode; 11] = [
    Opcode::Iadd,
    Opcode::Isub,
    Opcode::Imul,
    Opcode::And,
    Opcode::Or,
    Opcode::Xor,
    Opcode::Smin,
    Opcode::Smax,
    Opcode::Umin,
    Opcode::Umax,
    Opcode::UaddSat,
];

/// A loop over elements, which stores some or combines some.
fn row_loop(mut kernel: Kernel<'_>, rng: &mut Rng, (zero, count): (Value, Value)) {
    let [body, exit]: [Block; 2] = [kernel.b.func.append_block(), kernel.b.func.append_block()];
    let combined = if kernel.ty.is_int() { rng.below(3) } else { 0 };
    let starts: Vec<Value> = (0..combined).map(|number| kernel.shared[number]).collect();
    let none = kernel.b.icmp(IntCond::Eq, zero, count);
    let into: Vec<Value> = [zero].into_iter().chain(starts.iter().copied()).collect();
    kernel.b.branch(none, BlockCall::new(exit, &starts), BlockCall::new(body, &into));
    let counter = kernel.b.func.dfg.append_param(body, Type::I64);
    let ty = kernel.ty;
    let mut running: Vec<Value> = (0..combined).map(|_| kernel.b.func.dfg.append_param(body, ty)).collect();
    kernel.b.switch_to(body);
    kernel.counter = Some(counter);
    for value in &mut running {
        *value = combine(&mut kernel, rng, *value);
    }
    for _ in 0..usize::from(combined == 0) + rng.below(2) {
        let value = expression(rng, kernel.ty, 3);
        let mut value = kernel.value(&value, 0);
        if let Some(&seen) = running.first().filter(|_| rng.below(4) == 0) {
            value = kernel.b.int2(Opcode::Xor, value, seen);
        }
        store(&mut kernel, rng.below(2), &mut vec![(rng.below(2) as i64, value)]);
    }
    let one = kernel.b.iconst(Type::I64, 1);
    let next = kernel.b.int2(Opcode::Iadd, counter, one);
    let ended = kernel.b.icmp(IntCond::Eq, next, count);
    let around: Vec<Value> = [next].into_iter().chain(running.iter().copied()).collect();
    kernel.b.branch(ended, BlockCall::new(exit, &running), BlockCall::new(body, &around));
    let results: Vec<(i64, Value)> =
        (0..combined).map(|number| (number as i64, kernel.b.func.dfg.append_param(exit, ty))).collect();
    kernel.b.switch_to(exit);
    kernel.counter = None;
    store(&mut kernel, 0, &mut results.clone());
    kernel.b.ret(&[]);
}

/// A running value combined with what an iteration computes, perhaps under a condition.
fn combine(kernel: &mut Kernel<'_>, rng: &mut Rng, before: Value) -> Value {
    let value = expression(rng, kernel.ty, 2);
    let value = kernel.value(&value, 0);
    let op = rng.pick(&REDUCTIONS);
    let exchanged = op != Opcode::Isub && rng.below(2) == 0;
    let [x, y] = if exchanged { [value, before] } else { [before, value] };
    let after = kernel.b.int2(op, x, y);
    if rng.below(2) == 0 {
        return after;
    }
    let test = expression(rng, kernel.ty, 1);
    let test = kernel.value(&test, 0);
    let condition = kernel.b.icmp(rng.pick(&[IntCond::Ult, IntCond::Sgt, IntCond::Ne]), test, kernel.shared[1]);
    let [then, otherwise] = if rng.below(2) == 0 { [after, before] } else { [before, after] };
    kernel.b.select(condition, then, otherwise)
}

fn launch(rng: &mut Rng, ty_bytes: u32) -> Launch {
    let geometry = Geometry::linear(ITEMS, ITEMS);
    let mut buffer =
        || (0..ITEMS * OWN + 64).map(|_| if ty_bytes == 4 { rng.below(64) } else { rng.below(250) } as u8).collect();
    let buffers = vec![buffer(), buffer()];
    let count = rng.below(24) as u64;
    Launch { geometry, buffers, local_bytes: 0, rest: count.to_le_bytes().to_vec() }
}

#[test]
fn generated_elements() {
    let mut vectors = 0u64;
    let count = 1500;
    for seed in super::seeds(count) {
        let module = generate(seed);
        let func = &module.funcs[module.kernels[0].func];
        vectors += u64::from(one_lane::run(func, &Globals::new(), &FxHashSet::default()).is_some());
        let mut rng = Rng::new(seed);
        let launches: Vec<Launch> = (0..2).map(|_| launch(&mut rng, 1 << (seed % 4))).collect();
        compare(&format!("seed {seed}"), &module, &scalar(), Growth::default(), &launches);
    }
    assert!(vectors > count / 4, "only {vectors} of {count} kernels have vectors");
}
