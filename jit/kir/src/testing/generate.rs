//! Random kernels with defined behaviour: what every pass and backend must agree on with the interpreter.
//!
//! A kernel computes with ops of all classes (from [`super::samples`]), branches, loops a few times, keeps values in a private
//! array, exchanges some through local memory behind barriers, and folds all it has into one number per work-item. It never
//! leaves its memory, races, or lets anything depend on what an op leaves open: signs of NaNs and of zeros that `fmin` may
//! choose, conversions out of range, undefined values.

use super::run::{Arg, Fill, RunCase};
use super::samples::{ELEMS, LANES, Rng, Sample, samples};
use crate::builder::Builder;
use crate::dfg::ConstData;
use crate::entities::{Block, Global, Slot, Value};
use crate::function::{Function, SlotData, Stage};
use crate::inst::{
    AtomicInfo, AtomicOp, BarrierInfo, BlockCall, FloatCond, Imm, IntCond, MemInfo, MemOrder, MemScope, SpaceSet,
};
use crate::interp::{Geometry, Lanes};
use crate::module::{GlobalData, GlobalInit, KernelData, Module};
use crate::ops::{OPS, Opcode};
use crate::types::{Elem, Space, Type};

/// What a generated kernel may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Statements, roughly.
    pub size: usize,
    /// Branches, loops, switches.
    pub control: bool,
    /// Barriers with an exchange through local memory.
    pub barriers: bool,
    /// Private variables.
    pub slots: bool,
}

impl Shape {
    /// Everything, in this size.
    pub fn all(size: usize) -> Shape {
        Shape { size, control: true, barriers: true, slots: true }
    }
}

/// Words in the input buffer; a power of two.
const INPUT: usize = 64;
/// Bytes of the private array; a power of two.
const ARRAY: u64 = 64;
/// Most work-items of a group.
const MAX_LOCAL: u64 = 16;

/// A random kernel `k`, and a launch of it. Buffer 8 of the launch holds the results; what they must be is for the interpreter to
/// say.
pub fn kernel(seed: u64, shape: Shape) -> (Module, RunCase) {
    let mut rng = Rng::new(seed);
    let local = [1, 3, 4, 8, MAX_LOCAL][rng.below(5)];
    let global = local * (1 + rng.below(3) as u64) + rng.below(local as usize) as u64;
    let args = vec![
        (0, Arg::Buffer { ty: Type::I32, count: INPUT, fill: fill(&mut rng, INPUT) }),
        (8, Arg::Buffer { ty: Type::I64, count: global as usize, fill: Fill::Repeat(vec![0]) }),
        (16, Arg::Value(Lanes { ty: Type::I32, bits: vec![rng.lane(Elem::I32)] })),
        (20, Arg::Value(Lanes { ty: Type::F32, bits: vec![rng.lane(Elem::F32)] })),
        (32, Arg::Buffer { ty: Type::I32, count: 4, fill: Fill::Repeat(vec![0]) }),
    ];
    let case = RunCase::new(
        "k",
        Geometry { global_offset: [rng.below(100) as u64, 0, 0], ..Geometry::linear(global, local) },
        args,
    );
    let mut func = Function::new("k", &[]);
    func.stage = Stage::Canonical;
    let array = func.slots.push(SlotData { size: ARRAY, align: 16 });
    let entry = func.append_block();
    let mut generator = Generator {
        b: Builder::at_end(&mut func, entry),
        rng,
        pool: Vec::new(),
        array,
        left: shape.size,
        shape,
        closed: closed(),
    };
    generator.body();
    let mut module = Module::default();
    let init = GlobalInit::default();
    let size = MAX_LOCAL * 8;
    module.globals.push(GlobalData { name: "tile".to_owned(), space: Space::Local, size, align: 8, init });
    let func = module.funcs.push(func);
    module.kernels.push(KernelData { func, arg_block_bytes: 40, required_local_size: None });
    (module, case)
}

fn fill(rng: &mut Rng, count: usize) -> Fill {
    Fill::Repeat((0..count).map(|_| rng.lane(Elem::I32)).collect())
}

/// Samples whose results depend on nothing that executors may choose.
fn closed() -> Vec<Sample> {
    let chooses = |sample: &Sample| {
        let float = sample.args.iter().chain(&sample.results).any(|t| t.is_float());
        sample.ignores_zero_sign()
            || (float && matches!(sample.op, Opcode::Bitcast | Opcode::Fcopysign | Opcode::Const))
    };
    OPS.iter().flat_map(|info| samples(info.op)).filter(|s| s.is_closed() && !chooses(s)).collect()
}

struct Generator<'f> {
    b: Builder<'f>,
    rng: Rng,
    /// Values that dominate the cursor.
    pool: Vec<Value>,
    array: Slot,
    left: usize,
    shape: Shape,
    closed: Vec<Sample>,
}

impl Generator<'_> {
    fn body(&mut self) {
        let id = self.b.query(Opcode::GlobalId, 0);
        let local = self.b.query(Opcode::LocalId, 0);
        let word = self.b.arg(16, Type::I32);
        let number = self.b.arg(20, Type::F32);
        self.pool.extend([id, local, word, number]);
        let array = self.b.slot_addr(self.array);
        let (zero, size) = (self.b.iconst(Type::I8, 0), self.b.iconst(Type::I64, ARRAY as i64));
        self.b.memset(array, zero, size, MemInfo::aligned(16));
        while self.left > 0 {
            self.statements(6, 2);
            if self.shape.barriers && self.rng.below(3) == 0 {
                self.exchange();
            }
        }
        let all = self.pool.clone();
        let mut sum = self.b.iconst(Type::I64, 0);
        for value in all {
            sum = self.fold(sum, value);
        }
        let output = self.b.arg(8, Type::ptr(Space::Global));
        // Ids start at the offset; results do not.
        let index = self.b.query_linear(Opcode::GlobalLinearId);
        let at = self.b.addr(output, Some(index), 8, 0);
        self.b.store(at, sum, MemInfo::aligned(8));
        self.b.ret(&[]);
    }

    fn statements(&mut self, count: usize, depth: u32) {
        for _ in 0..count {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            match self.rng.below(12) {
                0 if self.shape.control && depth > 0 => self.branch(depth),
                1 if self.shape.control && depth > 0 => self.repeat(depth),
                2 if self.shape.control && depth > 0 => self.switch(depth),
                3 => self.load(),
                4 if self.shape.slots => self.private_write(),
                5 if self.shape.slots => self.private_read(),
                6 => self.count(),
                _ => self.op(),
            }
        }
    }

    /// A value of a type: one there is, or a constant.
    fn value(&mut self, ty: Type) -> Value {
        let there: Vec<Value> = self.pool.iter().copied().filter(|&v| self.b.ty(v) == ty).collect();
        if there.is_empty() || self.rng.below(4) == 0 {
            let lanes: Vec<u64> = (0..ty.lanes()).map(|_| self.rng.lane(ty.elem)).collect();
            return self.b.constant(ConstData::new(ty, &lanes));
        }
        self.rng.pick(&there)
    }

    fn some_type(&mut self) -> Type {
        let elem = ELEMS.into_iter().filter(|e| !e.is_ptr()).nth(self.rng.below(8)).unwrap_or(Elem::I32);
        Type::vector(elem, self.rng.pick(&LANES))
    }

    fn op(&mut self) {
        // Prefer ops on values there are: draw a few, take the one that needs the fewest new constants.
        let mut best: Option<(usize, usize)> = None;
        for _ in 0..8 {
            let at = self.rng.below(self.closed.len());
            let types: Vec<Type> = self.pool.iter().map(|&v| self.b.ty(v)).collect();
            let missing = self.closed[at].args.iter().filter(|t| !types.contains(t)).count();
            if best.is_none_or(|(least, _)| missing < least) {
                best = Some((missing, at));
            }
        }
        let Some((_, at)) = best else { return };
        let sample = self.closed[at].clone();
        let args: Vec<Value> = sample.args.iter().map(|&ty| self.value(ty)).collect();
        let results = sample.build(&mut self.b, &args, &mut self.rng);
        self.pool.extend(results);
    }

    /// A number below a power of two, as i64.
    fn index(&mut self, below: u64) -> Value {
        let number = self.value(Type::I64);
        let mask = self.b.iconst(Type::I64, below as i64 - 1);
        self.b.int2(Opcode::And, number, mask)
    }

    fn load(&mut self) {
        let base = self.b.arg(0, Type::ptr(Space::Global));
        let ty = [Type::I32, Type::I32.with_lanes(4), Type::F32.with_lanes(2), Type::I8][self.rng.below(4)];
        let index = self.index(INPUT as u64 / 4);
        let at = self.b.addr(base, Some(index), 16, 0);
        let value = self.b.load(ty, at, MemInfo::aligned(ty.elem.bytes()));
        self.pool.push(value);
    }

    fn array_at(&mut self, ty: Type) -> Value {
        let base = self.b.slot_addr(self.array);
        // Units of 16 bytes; the last is never the start of 32.
        let units = if ty.bytes() > 16 { 2 } else { 4 };
        let index = self.index(units);
        let at = self.b.addr(base, Some(index), 16, 0);
        if self.rng.below(2) == 0 { self.b.cast(Opcode::SpaceCast, at, Type::ptr(Space::Generic)) } else { at }
    }

    fn private_write(&mut self) {
        let ty = self.some_type();
        // NaNs and zeros of either sign would show their bits when read as integers.
        if ty.is_bool() || ty.is_float() {
            return;
        }
        let value = self.value(ty);
        let at = self.array_at(ty);
        let mem = MemInfo { volatile: self.rng.below(8) == 0, ..MemInfo::aligned(ty.elem.bytes()) };
        if ty.is_vector() && self.rng.below(3) == 0 {
            let mask = self.value(ty.as_mask());
            self.b.inst(Opcode::MaskedStore, &[at, value, mask], Imm::Mem(mem), &[]);
        } else {
            self.b.store(at, value, mem);
        }
    }

    fn private_read(&mut self) {
        let ty = self.some_type();
        if ty.is_bool() {
            return;
        }
        let at = self.array_at(ty);
        let mem = MemInfo::aligned(ty.elem.bytes());
        let value = if ty.is_vector() && self.rng.below(3) == 0 {
            let (mask, other) = (self.value(ty.as_mask()), self.value(ty));
            self.b.value(Opcode::MaskedLoad, &[at, mask, other], Imm::Mem(mem), ty)
        } else {
            self.b.load(ty, at, mem)
        };
        self.pool.push(value);
    }

    /// Counts in a buffer that all work-items share; nobody looks before the end.
    fn count(&mut self) {
        let base = self.b.arg(32, Type::ptr(Space::Global));
        let index = self.index(4);
        let at = self.b.addr(base, Some(index), 4, 0);
        let value = self.value(Type::I32);
        let info = AtomicInfo { op: AtomicOp::Add, order: MemOrder::Relaxed, scope: MemScope::Device };
        self.b.atomic_rmw(at, value, info);
    }

    /// Two ways, and values from both.
    fn branch(&mut self, depth: u32) {
        let cond = self.value(Type::B1);
        let blocks = [0, 1, 2].map(|_| self.b.func.append_block());
        let [then, otherwise, join] = blocks;
        self.b.branch(cond, BlockCall::new(then, &[]), BlockCall::new(otherwise, &[]));
        self.ways(&[then, otherwise], join, depth);
    }

    fn switch(&mut self, depth: u32) {
        let number = self.value(Type::I32);
        let mask = self.b.iconst(Type::I32, 3);
        let selector = self.b.int2(Opcode::And, number, mask);
        let ways: Vec<_> = (0..3).map(|_| self.b.func.append_block()).collect();
        let join = self.b.func.append_block();
        let call = |i: usize| BlockCall::new(ways[i], &[]);
        self.b.switch(selector, vec![(0, call(0)), (2, call(1)), (3, call(1))], call(2));
        self.ways(&ways, join, depth);
    }

    fn ways(&mut self, ways: &[Block], join: Block, depth: u32) {
        let types = [self.some_type(), self.some_type()];
        let params: Vec<Value> = types.iter().map(|&ty| self.b.func.dfg.append_param(join, ty)).collect();
        let before = self.pool.len();
        for &way in ways {
            self.b.switch_to(way);
            self.statements(3, depth - 1);
            let args = types.map(|ty| self.value(ty));
            self.b.jump(join, &args);
            self.pool.truncate(before);
        }
        self.b.switch_to(join);
        self.pool.extend(params);
    }

    /// A loop of a few rounds that carries two values.
    fn repeat(&mut self, depth: u32) {
        let types = [self.some_type(), self.some_type()];
        let number = self.value(Type::I32);
        let (mask, zero, one) = (self.b.iconst(Type::I32, 3), self.b.iconst(Type::I32, 0), self.b.iconst(Type::I32, 1));
        let rounds = self.b.int2(Opcode::And, number, mask);
        let first = types.map(|ty| self.value(ty));
        let [head, body, exit] = [0, 1, 2].map(|_| self.b.func.append_block());
        let counter = self.b.func.dfg.append_param(head, Type::I32);
        let carried = types.map(|ty| self.b.func.dfg.append_param(head, ty));
        self.b.jump(head, &[rounds, first[0], first[1]]);
        self.b.switch_to(head);
        let more = self.b.icmp(IntCond::Ne, counter, zero);
        self.b.branch(more, BlockCall::new(body, &[]), BlockCall::new(exit, &[]));
        let before = self.pool.len();
        self.pool.extend(carried);
        self.pool.push(counter);
        self.b.switch_to(body);
        self.statements(3, depth - 1);
        let next = types.map(|ty| self.value(ty));
        let counter = self.b.int2(Opcode::Isub, counter, one);
        self.b.jump(head, &[counter, next[0], next[1]]);
        self.pool.truncate(before);
        self.b.switch_to(exit);
        self.pool.extend(carried);
    }

    /// Every work-item reads what another one wrote.
    fn exchange(&mut self) {
        let tile = self.b.global_addr(Global::from_u32(0), Space::Local);
        let mut mine = self.value(Type::I64);
        for value in self.pool.clone().into_iter().rev().take(2) {
            mine = self.fold(mine, value);
        }
        let id = self.b.query(Opcode::LocalId, 0);
        let at = self.b.addr(tile, Some(id), 8, 0);
        self.barrier();
        self.b.store(at, mine, MemInfo::aligned(8));
        self.barrier();
        let (size, step) = (self.b.query(Opcode::LocalSize, 0), self.value(Type::I64));
        // Any work-item's number: of the group's size, whatever the step.
        let step = self.b.int2(Opcode::Urem, step, size);
        let sum = self.b.int2(Opcode::Iadd, id, step);
        let other = self.b.int2(Opcode::Urem, sum, size);
        let at = self.b.addr(tile, Some(other), 8, 0);
        let theirs = self.b.load(Type::I64, at, MemInfo::aligned(8));
        self.pool.push(theirs);
    }

    fn barrier(&mut self) {
        let id = self.b.func.fresh_barrier();
        let (execution, memory) = (MemScope::WorkGroup, MemScope::WorkGroup);
        self.b.barrier(BarrierInfo { id, execution, memory, spaces: SpaceSet::LOCAL });
    }

    /// Mixes a value of any type into a number. NaNs count as one value, zeros too.
    fn fold(&mut self, sum: Value, value: Value) -> Value {
        let mut value = value;
        let ty = self.b.ty(value);
        if ty.is_float() {
            let (zero, marker) = (self.b.fconst(ty, 0.0), self.b.fconst(ty, 77.0));
            let number = self.b.float2(Opcode::Fadd, value, zero);
            let ordered = self.b.fcmp(FloatCond::Ord, number, number);
            let number = self.b.select(ordered, number, marker);
            value = self.b.cast(Opcode::Bitcast, number, ty.as_int());
        }
        let ty = self.b.ty(value);
        if ty.elem != Elem::I64 {
            value = self.b.cast(Opcode::Zext, value, ty.with_elem(Elem::I64));
        }
        if ty.is_vector() {
            let factors: Vec<u64> = (0..u64::from(ty.lanes())).map(|lane| lane * 2 + 3).collect();
            let factors = self.b.constant(ConstData::new(ty.with_elem(Elem::I64), &factors));
            value = self.b.int2(Opcode::Imul, value, factors);
            value = self.b.reduce(AtomicOp::Add, value);
        }
        let factor = self.b.iconst(Type::I64, 0x1_0000_01b3);
        let sum = self.b.int2(Opcode::Imul, sum, factor);
        self.b.int2(Opcode::Xor, sum, value)
    }
}

/// The interpreter's results for a launch, made what the launch expects.
///
/// # Errors
/// When the kernel cannot be run, or does something undefined: the generator's fault.
pub fn expect_interpreted(module: &Module, case: &mut RunCase) -> Result<(), String> {
    let results = super::run::interpret(module, case)?;
    let Some((_, first)) = results.first() else { return Ok(()) };
    for (offset, bytes) in &first.buffers {
        if let Some((ty, _)) = case.buffer(*offset) {
            let size = ty.elem.bytes() as usize;
            let lane = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            case.expected.push((*offset, Fill::Repeat(bytes.chunks_exact(size).map(lane).collect()), 0));
        }
    }
    results.iter().try_for_each(|(how, result)| case.check(result).map_err(|e| format!("{how}: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{parse_module, same_module};
    use crate::verify;

    #[test]
    fn generated_kernels_are_sound() {
        arbtest::arbtest(|u| {
            let seed: u64 = u.arbitrary()?;
            let shape = Shape {
                size: u.int_in_range(1..=60)?,
                control: u.arbitrary()?,
                barriers: u.arbitrary()?,
                slots: u.arbitrary()?,
            };
            let (module, mut case) = kernel(seed, shape);
            verify::module(&module).unwrap_or_else(|e| panic!("{e}\n{module}"));
            let text = module.to_string();
            let again = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            same_module(&module, &again).unwrap_or_else(|e| panic!("{e}\n{text}"));
            // In several orders of work-items, all with the same results and none with a fault.
            expect_interpreted(&again, &mut case).unwrap_or_else(|e| panic!("{e}\n{module}"));
            Ok(())
        })
        .budget_ms(1500);
    }
}
