//! Compares machine code with the interpreter on random programs over all ops and types.
//!
//! A program reads values of many types from an input, computes new values in straight-line code, branches and loops, and writes
//! all values to an output. If an op has several permitted results (the bits of a NaN, the sign of a zero), its result is
//! normalized before it is used.

use clift_include::abi::WgContext;
use clift_kir::interp::{
    InterpOptions as RunOptions, Interpreter, Lanes, Memory, NoObserver, PreparedModule, SimMemory, SimOptions,
    load_globals,
};
use clift_kir::verify::LOOPED_PARAMS;
use clift_kir::{
    AtomicInfo, AtomicOp, BlockCall, Convert, Elem, FloatCond, FpFlags, Function, Imm, IntCond, MemInfo, MemOrder,
    MemScope, Module, Opcode, Rounding, Space, Type, Value,
};

use super::{KernelBuilder, compile, compile_elsewhere, context};
use crate::spmd::tests::seeds;

const ELEMS: [Elem; 8] = [Elem::B1, Elem::I8, Elem::I16, Elem::I32, Elem::I64, Elem::F16, Elem::F32, Elem::F64];
const LANES: [u32; 10] = [1, 1, 2, 3, 4, 4, 8, 16, 5, 32];
const IN_BYTES: u64 = 4096;
const OUT_BYTES: u64 = 1 << 16;
/// The offset in the output for atomics and scattered stores.
const SHARED: u64 = OUT_BYTES - 1024;

struct ProgramGenerator {
    kernel: KernelBuilder,
    random: fastrand::Rng,
    pool: Vec<Value>,
    input: Value,
    output: Value,
    next_in: u64,
    next_out: u64,
    /// Whether the current code must not access memory.
    computes: bool,
}

impl ProgramGenerator {
    fn below(&mut self, n: u64) -> u64 {
        (self.random.u64(..) >> 20) % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn ty(&self, value: Value) -> Type {
        self.kernel.func.dfg.ty(value)
    }

    fn any_type(&mut self) -> Type {
        let (elem, lanes) = (self.pick(&ELEMS), self.pick(&LANES));
        Type::vector(elem, lanes)
    }

    /// A value of a type: an existing one, or one from the input.
    fn value(&mut self, ty: Type) -> Value {
        let fitting: Vec<Value> = self.pool.iter().copied().filter(|&v| self.ty(v) == ty).collect();
        if !fitting.is_empty() && self.below(8) != 0 {
            // Prefer recent values.
            let recent = &fitting[fitting.len().saturating_sub(4)..];
            return self.pick(recent);
        }
        let value = self.load(ty);
        self.pool.push(value);
        value
    }

    fn load(&mut self, ty: Type) -> Value {
        let memory = if ty.is_bool() { ty.with_elem(Elem::I8) } else { ty };
        if self.next_in + u64::from(memory.bytes()) > IN_BYTES {
            self.next_in = self.below(64);
        }
        let (at, input) = (self.next_in, self.input);
        self.next_in += u64::from(memory.bytes());
        let constant = self.below(6) == 0 || self.computes;
        let lanes: Vec<u64> = (0..ty.lanes()).map(|_| self.random.u64(..)).collect();
        let mut b = self.kernel.at();
        if constant {
            let value = b.constant(clift_kir::dfg::ConstData::new(ty, &lanes));
            return self.plain(value);
        }
        let address = b.addr(input, None, 1, at as i64);
        let value = b.load(memory, address, MemInfo::aligned(1));
        if ty.is_bool() {
            let zero = b.iconst(memory, 0);
            b.icmp(IntCond::Sgt, value, zero)
        } else {
            self.plain(value)
        }
    }

    /// The value with NaN and negative zero replaced.
    fn plain(&mut self, value: Value) -> Value {
        let ty = self.ty(value);
        if !ty.is_float() {
            return value;
        }
        let mut b = self.kernel.at();
        let zero = b.iconst(ty.as_int(), 0);
        let zero = b.cast(Opcode::Bitcast, zero, ty);
        let is_nan = b.fcmp(FloatCond::Une, value, value);
        let number = b.select(is_nan, zero, value);
        b.float2(Opcode::Fadd, number, zero)
    }

    fn keep(&mut self, value: Value) {
        let value = self.plain(value);
        self.pool.push(value);
    }

    fn lane_number(&mut self, bound: u32) -> Value {
        let number = self.value(Type::I32);
        let mut b = self.kernel.at();
        let bound = b.iconst(Type::I32, i64::from(bound));
        b.int2(Opcode::Urem, number, bound)
    }

    fn step(&mut self) {
        let ty = self.any_type();
        let int = if ty.is_int() { ty } else { ty.as_int() };
        let float = if ty.is_float() { ty } else { ty.with_elem(self.pick(&[Elem::F16, Elem::F32, Elem::F64])) };
        // The cases from 22 on access memory or may need stack slots.
        match self.below(if self.computes { 22 } else { 32 }) {
            0..=3 => {
                let op = self.pick(&[
                    Opcode::Iadd,
                    Opcode::Isub,
                    Opcode::Imul,
                    Opcode::Umulh,
                    Opcode::Smulh,
                    Opcode::Udiv,
                    Opcode::Sdiv,
                    Opcode::Urem,
                    Opcode::Srem,
                    Opcode::UaddSat,
                    Opcode::SaddSat,
                    Opcode::UsubSat,
                    Opcode::SsubSat,
                    Opcode::Umin,
                    Opcode::Umax,
                    Opcode::Smin,
                    Opcode::Smax,
                    Opcode::Shl,
                    Opcode::Lshr,
                    Opcode::Ashr,
                    Opcode::Rotl,
                ]);
                let a = self.value(int);
                let b = if self.below(3) == 0 {
                    let scalar = self.value(int.lane());
                    self.kernel.at().splat(scalar, int.lanes())
                } else {
                    self.value(int)
                };
                let value = self.kernel.at().int2(op, a, b);
                self.keep(value);
            }
            4 => {
                let op = self.pick(&[
                    Opcode::Ineg,
                    Opcode::Iabs,
                    Opcode::Not,
                    Opcode::Clz,
                    Opcode::Ctz,
                    Opcode::Popcnt,
                    Opcode::Bitrev,
                ]);
                let a = self.value(int);
                let value = self.kernel.at().int1(op, a);
                self.keep(value);
            }
            5 | 6 => {
                let ty = if ty.is_bool() { ty } else { int };
                let op = self.pick(&[Opcode::And, Opcode::Or, Opcode::Xor]);
                let (a, b) = (self.value(ty), self.value(ty));
                let value = self.kernel.at().int2(op, a, b);
                self.keep(value);
                if ty.is_bool() {
                    let value = self.kernel.at().int1(Opcode::Not, value);
                    self.keep(value);
                }
            }
            7 | 8 => {
                let cond = self.pick(&IntCond::ALL).0;
                let ty = if ty.is_bool() { ty } else { int };
                let (a, b) = (self.value(ty), self.value(ty));
                let value = self.kernel.at().icmp(cond, a, b);
                self.keep(value);
            }
            9 => {
                let cond = self.pick(&FloatCond::ALL).0;
                let (a, b) = (self.value(float), self.value(float));
                let value = self.kernel.at().fcmp(cond, a, b);
                self.keep(value);
            }
            10 | 11 => {
                let op = self.pick(&[
                    Opcode::Fadd,
                    Opcode::Fsub,
                    Opcode::Fmul,
                    Opcode::Fdiv,
                    Opcode::Fmin,
                    Opcode::Fmax,
                    Opcode::Fcopysign,
                ]);
                let (a, b) = (self.value(float), self.value(float));
                let value = self.kernel.at().float2(op, a, b);
                self.keep(value);
            }
            12 => {
                let op = self.pick(&[
                    Opcode::Fneg,
                    Opcode::Fabs,
                    Opcode::Sqrt,
                    Opcode::Ceil,
                    Opcode::Floor,
                    Opcode::Trunc,
                    Opcode::Rint,
                ]);
                let a = self.value(float);
                let value = self.kernel.at().float1(op, a);
                self.keep(value);
                let (b, c) = (self.value(float), self.value(float));
                let value = self.kernel.at().fma(a, b, c);
                self.keep(value);
            }
            13 | 14 => {
                let elem = self.pick(&[Elem::I8, Elem::I16, Elem::I32, Elem::I64]);
                let signed = self.below(2) == 0;
                let ty = if ty.is_float() { int } else { ty };
                let a = self.value(ty);
                let value = if ty.is_bool() {
                    let op = if signed { Opcode::Sext } else { Opcode::Zext };
                    self.kernel.at().cast(op, a, ty.with_elem(elem))
                } else {
                    self.kernel.at().int_resize(a, elem, signed)
                };
                self.keep(value);
            }
            15 | 16 => {
                let rounding = self.pick(&Rounding::ALL).0;
                let how = Convert { rounding, saturate: true };
                let target = self.pick(&ELEMS[1..]);
                let from = if self.below(2) == 0 { int } else { float };
                let op = match (from.is_int(), target.is_int()) {
                    (true, false) => self.pick(&[Opcode::StoFp, Opcode::UtoFp]),
                    (false, true) => self.pick(&[Opcode::FptoS, Opcode::FptoU]),
                    (false, false) if target != from.elem => Opcode::FptoFp,
                    _ => return,
                };
                let a = self.value(from);
                let value = self.kernel.at().convert(op, a, from.with_elem(target), how);
                self.keep(value);
            }
            17 => {
                let to = self.pick(&ELEMS[1..]);
                let ty = if ty.is_bool() { int } else { ty };
                let lanes = ty.bits() / to.bits();
                if ty.bits() % to.bits() == 0 && (1..=64).contains(&lanes) {
                    let a = self.value(ty);
                    let value = self.kernel.at().cast(Opcode::Bitcast, a, Type::vector(to, lanes));
                    self.keep(value);
                }
            }
            18 | 19 => {
                let cond = if self.below(3) == 0 { Type::B1 } else { ty.as_mask() };
                let (cond, a, b) = (self.value(cond), self.value(ty), self.value(ty));
                let value = self.kernel.at().select(cond, a, b);
                self.keep(value);
            }
            20 => {
                let a = self.value(ty.lane());
                let value = self.kernel.at().splat(a, ty.lanes());
                self.keep(value);
            }
            21 if ty.is_vector() => {
                let lane = self.below(u64::from(ty.lanes())) as u32;
                let (a, element) = (self.value(ty), self.value(ty.lane()));
                let value = self.kernel.at().extract(a, lane);
                self.keep(value);
                let value = self.kernel.at().insert(a, element, lane);
                self.keep(value);
            }
            22 if ty.is_vector() => {
                let lane = self.lane_number(ty.lanes());
                let (a, element) = (self.value(ty), self.value(ty.lane()));
                let value = self.kernel.at().extract_dyn(a, lane);
                self.keep(value);
                let lane = self.value(Type::I32);
                let bounded = self.lane_number(ty.lanes() + 1);
                let lane = self.pick(&[lane, bounded]);
                let value = self.kernel.at().insert_dyn(a, element, lane);
                self.keep(value);
            }
            23 | 24 if ty.is_vector() => {
                let count = self.pick(&LANES);
                let numbers: Vec<u8> = (0..count).map(|_| self.below(2 * u64::from(ty.lanes())) as u8).collect();
                let first = self.below(u64::from(ty.lanes())) as u8;
                let straight: Vec<u8> = (0..count).map(|i| (first + i as u8) % (2 * ty.lanes() as u8)).collect();
                let numbers = if self.below(3) == 0 { straight } else { numbers };
                let (a, b) = (self.value(ty), self.value(ty));
                let value = self.kernel.at().shuffle(a, b, &numbers);
                self.keep(value);
            }
            25 if ty.is_vector() => {
                let lanes: Vec<Value> = (0..ty.lanes()).map(|_| self.value(ty.lane())).collect();
                let value = self.kernel.at().vec(&lanes);
                self.keep(value);
            }
            26 => {
                let mask = self.value(ty.as_mask());
                if ty.is_vector() {
                    let value = self.kernel.at().any(mask);
                    self.keep(value);
                    let value = self.kernel.at().all(mask);
                    self.keep(value);
                }
            }
            27 if ty.is_vector() => {
                let (ty, op) = if self.below(2) == 0 {
                    let ops = [
                        AtomicOp::Add,
                        AtomicOp::And,
                        AtomicOp::Or,
                        AtomicOp::Xor,
                        AtomicOp::Smin,
                        AtomicOp::Smax,
                        AtomicOp::Umin,
                        AtomicOp::Umax,
                    ];
                    (int, self.pick(&ops))
                } else {
                    (float, self.pick(&[AtomicOp::Fadd, AtomicOp::Fmin, AtomicOp::Fmax]))
                };
                let a = self.value(ty);
                let value = self.kernel.at().reduce(op, a);
                self.keep(value);
            }
            28 => self.masked_access(if ty.is_bool() { int } else { ty }),
            29 => self.gather_scatter(if ty.is_bool() { int } else { ty }),
            30 => self.atomic(),
            _ => self.store(),
        }
    }

    fn place(&mut self, bytes: u64) -> Value {
        if self.next_out + bytes > SHARED {
            self.next_out = 0;
        }
        let (at, output) = (self.next_out, self.output);
        self.next_out += bytes;
        self.kernel.at().addr(output, None, 1, at as i64)
    }

    fn store(&mut self) {
        let ty = self.any_type();
        let value = self.value(ty);
        self.store_value(value);
    }

    fn store_value(&mut self, value: Value) {
        let ty = self.ty(value);
        let (value, ty) = if ty.is_bool() {
            let bytes = ty.with_elem(Elem::I8);
            (self.kernel.at().cast(Opcode::Zext, value, bytes), bytes)
        } else {
            (value, ty)
        };
        let address = self.place(u64::from(ty.bytes()));
        self.kernel.at().store(address, value, MemInfo::aligned(1));
    }

    fn masked_access(&mut self, ty: Type) {
        let (mask, other) = (self.value(ty.as_mask()), self.value(ty));
        let input = self.input;
        let at = self.below(IN_BYTES - u64::from(ty.bytes()));
        let mem = MemInfo::aligned(1);
        let mut b = self.kernel.at();
        let address = b.addr(input, None, 1, at as i64);
        let value = b.value(Opcode::MaskedLoad, &[address, mask, other], Imm::Mem(mem), ty);
        self.keep(value);
        let address = self.place(u64::from(ty.bytes()));
        let mask = self.value(ty.as_mask());
        self.kernel.at().inst(Opcode::MaskedStore, &[address, value, mask], Imm::Mem(mem), &[]);
    }

    fn gather_scatter(&mut self, ty: Type) {
        let index = self.value(ty.with_elem(Elem::I64));
        let (mask, other) = (self.value(ty.as_mask()), self.value(ty));
        let (input, output) = (self.input, self.output);
        let mem = MemInfo::aligned(1);
        let mut b = self.kernel.at();
        let low = b.iconst(ty.with_elem(Elem::I64), 127);
        let index = b.int2(Opcode::And, index, low);
        let from = b.addr(input, Some(index), 8, 16);
        let to = b.addr(output, Some(index), 8, SHARED as i64);
        let value = b.value(Opcode::Gather, &[from, mask, other], Imm::Mem(mem), ty);
        self.keep(value);
        let value = self.value(ty);
        self.kernel.at().inst(Opcode::Scatter, &[to, value, mask], Imm::Mem(mem), &[]);
    }

    fn atomic(&mut self) {
        let elem = self.pick(&[Elem::I8, Elem::I16, Elem::I32, Elem::I64, Elem::F32, Elem::F64]);
        let ty = Type::scalar(elem);
        let op = if elem.is_int() {
            self.pick(&[
                AtomicOp::Xchg,
                AtomicOp::Add,
                AtomicOp::Sub,
                AtomicOp::And,
                AtomicOp::Or,
                AtomicOp::Xor,
                AtomicOp::Smin,
                AtomicOp::Smax,
                AtomicOp::Umin,
                AtomicOp::Umax,
            ])
        } else {
            self.pick(&[AtomicOp::Xchg, AtomicOp::Fadd, AtomicOp::Fmin, AtomicOp::Fmax])
        };
        let info = AtomicInfo { op, order: MemOrder::SeqCst, scope: MemScope::Device };
        let plain = AtomicInfo { op: AtomicOp::Xchg, ..info };
        let at = SHARED + 8 * self.below(128);
        let (value, expected) = (self.value(ty), self.value(ty));
        let output = self.output;
        let kind = self.below(4);
        let mut b = self.kernel.at();
        let address = b.addr(output, None, 1, at as i64);
        // Normalize the number in memory first.
        b.atomic_store(address, expected, plain);
        let old = match kind {
            0 => b.atomic_load(ty, address, plain),
            1 => b.atomic_cmpxchg(address, expected, value, plain),
            2 => b.atomic_cmpxchg(address, value, expected, plain),
            _ => b.atomic_rmw(address, value, info),
        };
        b.fence(plain);
        let now = b.load(ty, address, MemInfo::aligned(ty.bytes()));
        // A minimum or maximum may leave either zero, or any NaN.
        let zero = b.iconst(ty, 0);
        b.store(address, zero, MemInfo::aligned(ty.bytes()));
        self.keep(old);
        self.keep(now);
    }

    /// Values of some types change on one of two paths. The second path may be a cold one that only computes.
    fn diamond(&mut self, depth: u32) {
        let cond = self.value(Type::B1);
        let types: Vec<Type> = (0..3).map(|_| self.any_type()).collect();
        let (one, two, join) =
            (self.kernel.func.append_block(), self.kernel.func.append_block(), self.kernel.func.append_block());
        self.kernel.at().branch(cond, BlockCall::new(one, &[]), BlockCall::new(two, &[]));
        let known = self.pool.len();
        let cold = self.below(3) == 0;
        for way in [one, two] {
            self.kernel.block = way;
            let outer = self.computes;
            if cold && way == two {
                self.kernel.func.layout.set_cold(two);
                self.computes = true;
            }
            self.sequence(4, depth + 1);
            let values: Vec<Value> = types.iter().map(|&ty| self.value(ty)).collect();
            self.kernel.at().jump(join, &values);
            self.pool.truncate(known);
            self.computes = outer;
        }
        self.kernel.block = join;
        for ty in types {
            let value = self.kernel.func.dfg.append_param(join, ty);
            self.pool.push(value);
        }
    }

    /// A loop of a few iterations that carries values of some types and is left through a switch.
    fn rounds(&mut self, depth: u32) {
        let types: Vec<Type> = (0..3).map(|_| self.any_type()).collect();
        let count = 1 + self.below(4);
        let (head, out) = (self.kernel.func.append_block(), self.kernel.func.append_block());
        let index = self.kernel.func.dfg.append_param(head, Type::I64);
        let carried: Vec<Value> = types.iter().map(|&ty| self.kernel.func.dfg.append_param(head, ty)).collect();
        let mut start = vec![self.kernel.at().iconst(Type::I64, 0)];
        start.extend(types.iter().map(|&ty| self.value(ty)));
        self.kernel.at().jump(head, &start);
        let known = self.pool.len();
        self.kernel.block = head;
        self.pool.extend(carried);
        self.sequence(5, depth + 1);
        let mut next: Vec<Value> = types.iter().map(|&ty| self.value(ty)).collect();
        let mut b = self.kernel.at();
        let one = b.iconst(Type::I64, 1);
        let index = b.int2(Opcode::Iadd, index, one);
        let leave = BlockCall::new(out, &next);
        next.insert(0, index);
        let again = BlockCall::new(head, &next);
        // Sparse and dense cases; all except those beyond the count branch back.
        let mut cases: Vec<(u64, BlockCall)> = (1..count).map(|i| (i, again.clone())).collect();
        cases.extend([(1 << 40, leave.clone()), (77, leave.clone()), (u64::MAX, again)]);
        b.switch(index, cases, leave);
        self.pool.truncate(known);
        self.kernel.block = out;
        for ty in types {
            let value = self.kernel.func.dfg.append_param(out, ty);
            self.pool.push(value);
        }
    }

    fn sequence(&mut self, steps: u64, depth: u32) {
        for _ in 0..steps {
            match self.below(12) {
                0 if depth < 2 => self.diamond(depth),
                1 if depth < 2 => self.rounds(depth),
                _ => self.step(),
            }
        }
    }
}

fn program(seed: u64) -> Function {
    let mut kernel = KernelBuilder::new("random");
    let (input, output) = (kernel.pointer(0), kernel.pointer(1));
    let random = fastrand::Rng::with_seed(seed);
    let mut generator =
        ProgramGenerator { kernel, random, pool: Vec::new(), input, output, next_in: 0, next_out: 0, computes: false };
    let steps = 5 + generator.below(25);
    generator.sequence(steps, 0);
    for value in generator.pool.clone() {
        generator.store_value(value);
    }
    generator.kernel.finish()
}

/// The output of the interpreter.
fn interpret(func: &Function, input: &[u8]) -> Vec<u8> {
    let mut module = Module::default();
    let id = module.funcs.push(func.clone());
    let prepared = PreparedModule::new(&module);
    let mut memory = SimMemory::new(SimOptions { uninitialized: false, races: false, ..SimOptions::default() });
    let globals = load_globals(&module, &mut memory).unwrap();
    let mut place = |space: Space, bytes: &[u8]| {
        let address = memory.allocate(space, bytes.len() as u64, 128).unwrap();
        memory.initialize(address, bytes).unwrap();
        address
    };
    let input = place(Space::Global, input);
    let output = place(Space::Global, &vec![0; OUT_BYTES as usize]);
    let args = place(Space::Host, &[input.to_le_bytes(), output.to_le_bytes()].concat());
    let context = place(Space::Host, &vec![0; size_of::<WgContext>()]);
    let params: Vec<Lanes> =
        [context, args, 0, 1].into_iter().zip(LOOPED_PARAMS).map(|(bits, ty)| Lanes { ty, bits: vec![bits] }).collect();
    let options = RunOptions::default();
    let (outcome, _) = Interpreter::new(&module, &prepared)
        .run_function(id, &params, &globals, &options, &mut memory, &mut NoObserver)
        .unwrap();
    assert!(outcome.is_clean(), "{:?}\n{func}", outcome.faults);
    memory.bytes(output).unwrap().to_vec()
}

fn check(seed: u64) {
    let func = program(seed);
    let mut random = fastrand::Rng::with_seed(seed | 1 << 40);
    // Small numbers, ones and zeros among random bytes.
    let input: Vec<u8> = (0..IN_BYTES)
        .map(|_| {
            let word = random.u64(..);
            [word as u8, 0, 1, 0xff, word as u8 & 7, word as u8, word as u8, 0x3c][(word >> 32) as usize & 7]
        })
        .collect();
    if seed.is_multiple_of(8) {
        compile_elsewhere(&func);
    }
    agree(&format!("seed {seed}"), &func, &input);
}

/// Compares the backends with the interpreter.
fn agree(what: &str, func: &Function, input: &[u8]) {
    let wanted = interpret(func, input);
    for compiled in compile(func) {
        let mut output = vec![0u8; OUT_BYTES as usize];
        compiled.call(&[input.as_ptr() as u64, output.as_mut_ptr() as u64], 0, 1);
        let first = output.iter().zip(&wanted).position(|(a, b)| a != b);
        assert!(
            first.is_none(),
            "{}, {what}: output differs at {first:?}
{func}",
            compiled.backend
        );
    }
}

#[test]
fn random_programs() {
    for seed in seeds(60) {
        check(seed);
    }
}

/// Tables of jumps for selectors of all widths, also where the sign bit of the selector changes.
#[test]
fn dense_switches() {
    for elem in [Elem::I8, Elem::I16, Elem::I32, Elem::I64] {
        for first in [0, 3, elem.mask() / 2 - 2, elem.mask() / 2 + 70, elem.mask() - 9] {
            let mut kernel = KernelBuilder::new("switch");
            let output = kernel.pointer(1);
            let ty = Type::scalar(elem);
            kernel.repeat(20, |kernel, index| {
                let join = kernel.func.append_block();
                let chosen = kernel.func.dfg.append_param(join, Type::I32);
                let mut b = kernel.at();
                let number = b.int_resize(index, elem, false);
                let least = b.iconst(ty, first.wrapping_sub(5) as i64);
                let selector = b.int2(Opcode::Iadd, number, least);
                let mut call = |number| BlockCall::new(join, &[b.iconst(Type::I32, number)]);
                // One number is missing.
                let cases = (0..8).filter(|&case| case != 5).map(|case| (first + case, call(100 + case as i64)));
                let (cases, default) = (cases.collect(), call(7));
                b.switch(selector, cases, default);
                kernel.block = join;
                let mut b = kernel.at();
                let address = b.addr(output, Some(index), 4, 0);
                b.store(address, chosen, MemInfo::aligned(4));
            });
            agree(&format!("switch of {elem} from {first}"), &kernel.finish(), &[0; IN_BYTES as usize]);
        }
    }
}

/// Estimates of halves, which no expansion of a built-in function asks for, are divisions and roots.
#[test]
fn estimates_of_halves() {
    for lanes in [1, 4, 32] {
        let mut kernel = KernelBuilder::new("halves");
        let output = kernel.pointer(1);
        let ty = Type::vector(Elem::F16, lanes);
        let mut b = kernel.at();
        let (six, four) = (b.fconst(ty, 6.0), b.fconst(ty, 4.0));
        let flags = Imm::Fp(FpFlags::ESTIMATE);
        let quotient = b.value(Opcode::Fdiv, &[six, four], flags.clone(), ty);
        let root = b.value(Opcode::Sqrt, &[four], flags, ty);
        let sum = b.float2(Opcode::Fadd, quotient, root);
        b.store(output, sum, MemInfo::aligned(1));
        agree(&format!("{lanes} halves"), &kernel.finish(), &[0; IN_BYTES as usize]);
    }
}

#[test]
fn shift_counts_equal_in_some_lanes() {
    for op in [Opcode::Shl, Opcode::Lshr, Opcode::Ashr, Opcode::Rotl] {
        for elem in [Elem::I8, Elem::I16, Elem::I32, Elem::I64] {
            for lanes in [3, 4, 5, 8, 16, 32] {
                for varying in [0, 1, lanes / 2] {
                    let mut kernel = KernelBuilder::new("counts");
                    let (input, output) = (kernel.pointer(0), kernel.pointer(1));
                    let ty = Type::vector(elem, lanes);
                    let mut b = kernel.at();
                    let value = b.load(ty, input, MemInfo::aligned(1));
                    let counts: Vec<Value> =
                        (0..lanes).map(|i| b.iconst(ty.lane(), i64::from(i.min(varying)) + 3)).collect();
                    let counts = b.vec(&counts);
                    let shifted = b.int2(op, value, counts);
                    b.store(output, shifted, MemInfo::aligned(1));
                    // Counts known only at run time.
                    let loaded = b.load(ty.lane(), input, MemInfo::aligned(1));
                    let counts: Vec<Value> = (0..lanes)
                        .map(|i| if i < varying { b.iconst(ty.lane(), i64::from(i)) } else { loaded })
                        .collect();
                    let counts = b.vec(&counts);
                    let shifted = b.int2(op, value, counts);
                    let second = b.addr(output, None, 1, i64::from(ty.bytes()));
                    b.store(second, shifted, MemInfo::aligned(1));
                    // The last part may have unused lanes.
                    let shifted = b.int2(op, value, value);
                    let third = b.addr(output, None, 1, 2 * i64::from(ty.bytes()));
                    b.store(third, shifted, MemInfo::aligned(1));
                    let func = kernel.finish();
                    compile_elsewhere(&func);
                    let input: Vec<u8> = (0..IN_BYTES).map(|i| (i * 37 + 5) as u8).collect();
                    agree(&format!("{} {ty}, {varying} lanes vary", op.info().name), &func, &input);
                }
            }
        }
    }
}

#[test]
fn generic_pointer_spaces() {
    let mut kernel = KernelBuilder::new("spaces");
    let (pointers, out) = (kernel.pointer(0), kernel.pointer(1));
    let ty = Type::vector(Elem::Ptr(Space::Generic), 3);
    let mut b = kernel.at();
    let values = b.load(ty, pointers, MemInfo::aligned(8));
    for (i, space) in [Space::Local, Space::Private, Space::Global].into_iter().enumerate() {
        let is_in = b.in_space(values, space);
        let bytes = b.cast(Opcode::Zext, is_in, Type::vector(Elem::I8, 3));
        let address = b.addr(out, None, 1, 3 * i as i64);
        b.store(address, bytes, MemInfo::aligned(1));
    }
    let func = kernel.finish();
    let (mut local, mut scratch, global) = ([0u8; 8], [0u8; 8], [0u8; 8]);
    let pointers = [&raw const local[7] as u64, &raw const scratch[0] as u64, &raw const global[3] as u64];
    let context = context(&mut local, &mut scratch, std::ptr::null());
    for compiled in compile(&func) {
        let mut out = [9u8; 9];
        compiled.call_in(&context, &[pointers.as_ptr() as u64, out.as_mut_ptr() as u64], 0, 1);
        assert_eq!(out, [1, 0, 0, 0, 1, 0, 0, 0, 1], "{}", compiled.backend);
    }
}

#[test]
fn block_copies_and_fills() {
    for count in [0u64, 1, 3, 7, 8, 15, 16, 31, 63, 100, 127, 128, 129, 1000] {
        for constant in [true, false] {
            let mut kernel = KernelBuilder::new("bytes");
            let (from, to, fill) = (kernel.pointer(0), kernel.pointer(1), kernel.pointer(2));
            let bytes = if constant { kernel.at().iconst(Type::I64, count as i64) } else { kernel.word(3, Type::I64) };
            let mut b = kernel.at();
            b.memcpy(to, from, bytes, MemInfo::aligned(1));
            let byte = b.iconst(Type::I8, 0xab);
            b.memset(fill, byte, bytes, MemInfo::aligned(1));
            let func = kernel.finish();
            let source: Vec<u8> = (0..1100).map(|i| (i % 251) as u8 + 1).collect();
            for compiled in compile(&func) {
                let (mut copy, mut filled) = (vec![0u8; 1100], vec![0u8; 1100]);
                let args =
                    [source.as_ptr() as u64 + 1, copy.as_mut_ptr() as u64 + 3, filled.as_mut_ptr() as u64 + 5, count];
                compiled.call(&args, 0, 1);
                let n = count as usize;
                assert_eq!(copy[3..3 + n], source[1..1 + n]);
                assert!(copy[..3].iter().chain(&copy[3 + n..]).all(|&b| b == 0));
                assert!(filled[5..5 + n].iter().all(|&b| b == 0xab));
                assert!(filled[..5].iter().chain(&filled[5 + n..]).all(|&b| b == 0));
            }
        }
    }
}
