//! Generated functions through every prefix of the pass lists: the verifier accepts each, the interpreter sees no difference.

mod guards;
mod simplify;

use arbitrary::{Result, Unstructured};
use clift_jit::passes::{self, CLEAN, MINIMAL};
use clift_kir::interp::{InterpOptions, Interpreter, Lanes, NoObserver, PreparedModule, SimMemory, load_globals};
use clift_kir::{
    AtomicInfo, AtomicOp, Block, BlockCall, Builder, Elem, Func, Function, IntCond, KernelData, MemInfo, MemOrder,
    MemScope, Module, Opcode, Slot, SlotData, Space, Type, Value, WrapFlags, verify,
};

/// Bytes of each variable of a generated function.
const SLOT_BYTES: u64 = 32;

/// A generator of functions that use memory, loops and branches but never do anything undefined.
struct Generator<'g, 'u, 'f> {
    u: &'g mut Unstructured<'u>,
    b: Builder<'f>,
    slots: Vec<Slot>,
    /// Usable `i32` values; those of a block's start are usable in all blocks it dominates.
    pool: Vec<Value>,
    budget: u32,
    helper: Option<Func>,
}

/// How a loop of [`Generator::sweep`] computes addresses.
#[derive(Clone, Copy)]
struct Way {
    slot: Slot,
    ty: Type,
    flags: WrapFlags,
    extends: Opcode,
    /// Whether the distance from the counter is added after the extension.
    adds_later: bool,
}

const BINARY: [Opcode; 20] = [
    Opcode::Iadd,
    Opcode::Isub,
    Opcode::Imul,
    Opcode::Udiv,
    Opcode::Sdiv,
    Opcode::Urem,
    Opcode::Srem,
    Opcode::And,
    Opcode::Or,
    Opcode::Xor,
    Opcode::Shl,
    Opcode::Lshr,
    Opcode::Ashr,
    Opcode::Umin,
    Opcode::Smax,
    Opcode::SaddSat,
    Opcode::UsubSat,
    Opcode::Rotl,
    Opcode::Umulh,
    Opcode::Smulh,
];

const CONDITIONS: [IntCond; 10] = [
    IntCond::Eq,
    IntCond::Ne,
    IntCond::Ult,
    IntCond::Ule,
    IntCond::Ugt,
    IntCond::Uge,
    IntCond::Slt,
    IntCond::Sle,
    IntCond::Sgt,
    IntCond::Sge,
];

impl Generator<'_, '_, '_> {
    fn value(&mut self) -> Result<Value> {
        if self.u.ratio(1, 4)? {
            let bits = *self.u.choose(&[0i64, 1, 2, 3, -1, 4, 8, 31, 0x7fff_ffff, 12345])?;
            return Ok(self.b.iconst(Type::I32, bits));
        }
        Ok(*self.u.choose(&self.pool)?)
    }

    fn slot_type(&mut self) -> Result<Type> {
        let types = [
            Type::I8,
            Type::I16,
            Type::I32,
            Type::I64,
            Type::F32,
            Type::vector(Elem::I32, 2),
            Type::vector(Elem::I8, 4),
            Type::vector(Elem::F32, 4),
            Type::vector(Elem::I16, 3),
        ];
        Ok(*self.u.choose(&types)?)
    }

    fn place(&mut self, bytes: u32) -> Result<Value> {
        let slot = *self.u.choose(&self.slots)?;
        let offset = self.u.int_in_range(0..=(SLOT_BYTES - u64::from(bytes)))?;
        let offset = if self.u.ratio(3, 4)? { offset & !3 } else { offset };
        let base = self.b.slot_addr(slot);
        Ok(match self.u.int_in_range(0..=4)? {
            0 => self.b.addr(base, None, 1, offset as i64),
            3 | 4 => {
                // An index that may be a loop's counter.
                let v = self.value()?;
                let mask = self.b.iconst(Type::I32, 7);
                let index = self.b.int2(Opcode::And, v, mask);
                let index = self.b.cast(Opcode::Zext, index, Type::I64);
                let scale = (SLOT_BYTES - u64::from(bytes)) / 7;
                self.b.addr(base, Some(index), scale.min(4), 0)
            }
            1 => {
                let index = self.b.iconst(Type::I64, offset as i64);
                self.b.addr(base, Some(index), 1, 0)
            }
            _ => {
                // An index nobody can know: the slot must stay in memory.
                let v = self.value()?;
                let zero = self.b.iconst(Type::I32, 0);
                let index = self.b.int2(Opcode::And, v, zero);
                if self.u.ratio(1, 3)? {
                    return self.promised(base, index, offset as i64);
                }
                let index = self.b.cast(Opcode::Zext, index, Type::I64);
                if self.u.ratio(1, 4)? {
                    self.b.addr(base, Some(index), 4, offset as i64)
                } else {
                    self.b.addr(base, None, 1, offset as i64)
                }
            }
        })
    }

    /// An address computed in 32 bits with promises that they are enough; `zero` is a value that is zero.
    fn promised(&mut self, base: Value, zero: Value, offset: i64) -> Result<Value> {
        let (scale, signed) = (self.u.int_in_range(1..=3)?, self.u.arbitrary()?);
        let scale = self.b.iconst(Type::I32, scale);
        let flags = *self.u.choose(&[WrapFlags::all(), WrapFlags::NO_SIGNED, WrapFlags::NO_UNSIGNED])?;
        let op = *self.u.choose(&[Opcode::Imul, Opcode::Shl])?;
        let index = self.b.int2_wrap(op, zero, scale, flags);
        let part = self.u.int_in_range(0..=offset)?;
        let index = [part, offset - part].into_iter().fold(index, |index, part| {
            let part = self.b.iconst(Type::I32, part);
            self.b.int2_wrap(Opcode::Iadd, index, part, flags)
        });
        let index = self.b.cast(if signed { Opcode::Sext } else { Opcode::Zext }, index, Type::I64);
        Ok(self.b.addr(base, Some(index), 1, 0))
    }

    /// A value of any memory type made of an `i32`.
    fn shaped(&mut self, ty: Type) -> Result<Value> {
        let v = self.value()?;
        let word = self.b.cast(Opcode::Zext, v, Type::I64);
        Ok(match ty.bytes() {
            8 if ty.is_vector() => self.b.cast(Opcode::Bitcast, word, ty),
            8 => word,
            4 if ty == Type::I32 => v,
            4 => self.b.cast(Opcode::Bitcast, v, ty),
            2 => self.b.cast(Opcode::Itrunc, v, ty),
            1 => self.b.cast(Opcode::Itrunc, v, ty),
            _ => {
                let elements: Vec<Value> = (0..ty.lanes())
                    .map(|lane| {
                        let lane = self.b.iconst(Type::I32, i64::from(lane));
                        let v = self.b.int2(Opcode::Iadd, v, lane);
                        if ty.elem == Elem::I16 {
                            self.b.cast(Opcode::Itrunc, v, Type::I16)
                        } else {
                            self.b.cast(Opcode::Bitcast, v, ty.lane())
                        }
                    })
                    .collect();
                self.b.vec(&elements)
            }
        })
    }

    /// An `i32` made of a value of any memory type.
    fn folded(&mut self, v: Value) -> Value {
        let ty = self.b.ty(v);
        let lane = self.b.extract(v, ty.lanes() - 1);
        let int = ty.elem.as_int();
        let lane = if int == ty.elem { lane } else { self.b.cast(Opcode::Bitcast, lane, Type::scalar(int)) };
        self.b.int_resize(lane, Elem::I32, false)
    }

    /// A value of 64 bits, mostly of narrower ones.
    fn wide(&mut self) -> Result<Value> {
        let mut v = self.value()?;
        for _ in 0..self.u.int_in_range(1..=3)? {
            let op = *self.u.choose(&[Opcode::Zext, Opcode::Sext])?;
            if self.b.ty(v) == Type::I32 {
                v = self.b.cast(op, v, Type::I64);
            }
            let mut other = self.value()?;
            other = self.b.cast(op, other, Type::I64);
            if self.u.ratio(1, 3)? {
                let bits = *self.u.choose(&[0xffi64, 0xffff_ffff, 3, 40, -1, 0x1_0000])?;
                other = self.b.iconst(Type::I64, bits);
            }
            v = self.b.int2(*self.u.choose(&BINARY)?, v, other);
        }
        Ok(v)
    }

    fn statement(&mut self, depth: u32) -> Result<()> {
        self.budget = self.budget.saturating_sub(1);
        match self.u.int_in_range(0..=21)? {
            0..=2 => {
                let (op, x, y) = (*self.u.choose(&BINARY)?, self.value()?, self.value()?);
                let v = self.b.int2(op, x, y);
                self.pool.push(v);
            }
            3 | 4 => {
                let ty = self.slot_type()?;
                let (v, place) = (self.shaped(ty)?, self.place(ty.bytes())?);
                self.b.store(place, v, MemInfo::aligned(1));
            }
            5 | 6 => {
                let ty = self.slot_type()?;
                let place = self.place(ty.bytes())?;
                let v = self.b.load(ty, place, MemInfo::aligned(1));
                let v = self.folded(v);
                self.pool.push(v);
            }
            7 => {
                let bytes = *self.u.choose(&[1u32, 4, 8, 12, 16])?;
                let count = self.b.iconst(Type::I64, i64::from(bytes));
                if self.u.arbitrary()? {
                    // Source and target in different variables: copies must not overlap.
                    let (to, from) = (self.slots[0], self.slots[1]);
                    let (to, from) = (self.b.slot_addr(to), self.b.slot_addr(from));
                    let to = self.b.addr(to, None, 1, 4);
                    self.b.memcpy(to, from, count, MemInfo::aligned(1));
                } else {
                    let place = self.place(bytes)?;
                    let v = self.value()?;
                    let byte = self.b.cast(Opcode::Itrunc, v, Type::I8);
                    self.b.memset(place, byte, count, MemInfo::aligned(1));
                }
            }
            14 => {
                // An atomic through a generic pointer into a variable, which then escapes.
                let slot = *self.u.choose(&self.slots)?;
                let base = self.b.slot_addr(slot);
                let base = self.b.cast(Opcode::SpaceCast, base, Type::scalar(Elem::Ptr(Space::Generic)));
                let offset = self.u.int_in_range(0..=SLOT_BYTES as i64 / 4 - 1)? * 4;
                let (place, v) = (self.b.addr(base, None, 1, offset), self.value()?);
                let info = AtomicInfo { op: AtomicOp::Xor, order: MemOrder::Relaxed, scope: MemScope::Device };
                let v = self.b.atomic_rmw(place, v, info);
                self.pool.push(v);
            }
            8 => {
                let (x, y) = (self.value()?, self.value()?);
                let cond = *self.u.choose(&[IntCond::Eq, IntCond::Ult, IntCond::Sgt, IntCond::Ne])?;
                let cond = self.b.icmp(cond, x, y);
                let cond = if self.u.arbitrary()? { self.b.int1(Opcode::Not, cond) } else { cond };
                let v = self.b.select(cond, x, y);
                self.pool.push(v);
            }
            17 => {
                let v = self.extended_comparison()?;
                self.pool.push(v);
            }
            18 => self.conditional_stores()?,
            19 if depth > 0 => self.nest(depth)?,
            20 if depth > 0 => self.search()?,
            21 if depth > 0 => self.guarded(depth)?,
            9 if depth > 0 => self.branch(depth)?,
            10 if depth > 0 => self.repeat(depth)?,
            13 if depth > 0 => self.machine(depth)?,
            15 | 16 if depth > 0 => self.sweep(depth)?,
            12 => {
                let v = self.wide()?;
                let v = self.b.cast(Opcode::Itrunc, v, Type::I32);
                self.pool.push(v);
            }
            11 => {
                if let Some(helper) = self.helper {
                    let args = [self.value()?, self.value()?];
                    let call = self.b.call(helper, &args, &[Type::I32]);
                    let v = self.b.func.dfg.result(call);
                    self.pool.push(v);
                }
            }
            _ => (),
        }
        Ok(())
    }

    /// A choice by the comparison of a narrow value, which is extended, with another one or with a constant.
    fn extended_comparison(&mut self) -> Result<Value> {
        let narrow = *self.u.choose(&[Type::I8, Type::I16])?;
        let op = *self.u.choose(&[Opcode::Zext, Opcode::Sext])?;
        let (x, y) = (self.value()?, self.value()?);
        let mut extended = |v| {
            let v = self.b.cast(Opcode::Itrunc, v, narrow);
            self.b.cast(op, v, Type::I32)
        };
        let (a, b) = (extended(x), extended(y));
        let b = if self.u.arbitrary()? { b } else { self.value()? };
        let cond = self.b.icmp(*self.u.choose(&CONDITIONS)?, a, b);
        Ok(self.b.select(cond, x, y))
    }

    /// One or two stores under a condition, where loads or a store have been before, as in a swap of neighbours.
    fn conditional_stores(&mut self) -> Result<()> {
        let ty = self.slot_type()?;
        let places = [self.place(ty.bytes())?, self.place(ty.bytes())?];
        let mut held = Vec::new();
        for place in places {
            if self.u.ratio(1, 5)? {
                let v = self.shaped(ty)?;
                self.b.store(place, v, MemInfo::aligned(1));
            }
            held.push(self.b.load(ty, place, MemInfo::aligned(1)));
        }
        let x = self.folded(held[0]);
        let y = self.folded(held[1]);
        let cond = self.b.icmp(*self.u.choose(&CONDITIONS)?, x, y);
        let [then, otherwise, join] = [(); 3].map(|()| self.b.func.append_block());
        let mut targets = [BlockCall::new(then, &[]), BlockCall::new(otherwise, &[])];
        if self.u.arbitrary()? {
            targets.reverse();
        }
        let [a, b] = targets;
        self.b.branch(cond, a, b);
        self.b.switch_to(then);
        self.b.store(places[0], held[1], MemInfo::aligned(1));
        if self.u.arbitrary()? {
            let kept = if self.u.arbitrary()? { held[0] } else { self.b.load(ty, places[0], MemInfo::aligned(1)) };
            self.b.store(places[1], kept, MemInfo::aligned(1));
        }
        self.b.jump(join, &[]);
        self.b.switch_to(otherwise);
        if self.u.ratio(1, 3)? {
            let place = *self.u.choose(&places)?;
            self.b.store(place, held[0], MemInfo::aligned(1));
        }
        self.b.jump(join, &[]);
        self.b.switch_to(join);
        Ok(())
    }

    fn body(&mut self, depth: u32) -> Result<()> {
        let known = self.pool.len();
        for _ in 0..self.u.int_in_range(1..=6)? {
            if self.budget > 0 {
                self.statement(depth)?;
            }
        }
        self.pool.truncate(known);
        Ok(())
    }

    fn branch(&mut self, depth: u32) -> Result<()> {
        let (x, y) = (self.value()?, self.value()?);
        let targets: Vec<Block> = (0..3).map(|_| self.b.func.append_block()).collect();
        let join = self.b.func.append_block();
        let result = self.b.func.dfg.append_param(join, Type::I32);
        let wide = self.b.func.dfg.append_param(join, Type::I64);
        let before = self.wide()?;
        if self.u.arbitrary()? {
            let cond = self.b.icmp(IntCond::Slt, x, y);
            self.b.branch(cond, BlockCall::new(targets[0], &[]), BlockCall::new(targets[1], &[]));
            self.b.switch_to(targets[2]);
            self.b.unreachable();
        } else {
            let cases = vec![
                (0, BlockCall::new(targets[0], &[])),
                (7, BlockCall::new(targets[1], &[])),
                (9, BlockCall::new(join, &[x, before])),
            ];
            self.b.switch(x, cases, BlockCall::new(targets[2], &[]));
            self.b.switch_to(targets[2]);
            self.body(depth - 1)?;
            let after = self.wide()?;
            self.b.jump(join, &[y, after]);
        }
        for &target in &targets[..2] {
            self.b.switch_to(target);
            self.body(depth - 1)?;
            let v = self.value()?;
            self.b.jump(join, &[v, before]);
        }
        self.b.switch_to(join);
        self.pool.push(result);
        let to = *self.u.choose(&[Type::I8, Type::I32])?;
        let kept = self.b.cast(Opcode::Itrunc, wide, to);
        let kept = if to == Type::I32 { kept } else { self.b.cast(Opcode::Zext, kept, Type::I32) };
        self.pool.push(kept);
        Ok(())
    }

    /// A loop around a switch of many cases, some of which go back at once, others by way of a block of their own.
    fn machine(&mut self, depth: u32) -> Result<()> {
        let steps = self.u.int_in_range(1..=9)?;
        let start = [self.b.iconst(Type::I32, 0), self.value()?, self.value()?];
        let [head, fetch, latch, exit] = std::array::from_fn(|_| self.b.func.append_block());
        let [i, state, carried] = std::array::from_fn(|_| self.b.func.dfg.append_param(head, Type::I32));
        let [last_state, last] = std::array::from_fn(|_| self.b.func.dfg.append_param(latch, Type::I32));
        self.b.jump(head, &start);
        self.b.switch_to(head);
        let (limit, one) = (self.b.iconst(Type::I32, steps), self.b.iconst(Type::I32, 1));
        let more = self.b.icmp(IntCond::Slt, i, limit);
        self.b.branch(more, BlockCall::new(fetch, &[]), BlockCall::new(exit, &[]));
        self.b.switch_to(fetch);
        let known = self.pool.len();
        self.pool.extend([i, state, carried]);
        let common = self.value()?;
        let common = self.b.int2(*self.u.choose(&BINARY)?, common, state);
        let next = self.b.int2(Opcode::Iadd, i, one);
        let mask = self.b.iconst(Type::I32, 7);
        let selector = self.b.int2(Opcode::And, state, mask);
        self.pool.extend([common, next]);
        let cases: Vec<Block> = (0..6).map(|_| self.b.func.append_block()).collect();
        let mut calls: Vec<_> = (0..).zip(&cases[1..]).map(|(n, &case)| (n, BlockCall::new(case, &[]))).collect();
        calls.push((6, BlockCall::new(latch, &[next, common])));
        self.b.switch(selector, calls, BlockCall::new(cases[0], &[]));
        let inner = self.pool.len();
        for case in cases {
            self.b.switch_to(case);
            self.body(depth - 1)?;
            let (state, v) = (self.value()?, self.value()?);
            if self.u.ratio(1, 3)? {
                self.b.jump(head, &[next, state, v]);
            } else {
                self.b.jump(latch, &[state, v]);
            }
            self.pool.truncate(inner);
        }
        self.b.switch_to(latch);
        let sum = self.b.int2(Opcode::Iadd, last, common);
        self.b.jump(head, &[next, last_state, sum]);
        self.b.switch_to(exit);
        self.pool.truncate(known);
        self.pool.extend([state, carried]);
        Ok(())
    }

    /// The way in which the addresses of a loop are computed.
    fn way(&mut self) -> Result<Way> {
        Ok(Way {
            slot: *self.u.choose(&self.slots)?,
            ty: *self.u.choose(&[Type::I32, Type::I32, Type::I16])?,
            flags: *self.u.choose(&[WrapFlags::NO_SIGNED, WrapFlags::empty()])?,
            extends: *self.u.choose(&[Opcode::Sext, Opcode::Zext])?,
            adds_later: self.u.arbitrary()?,
        })
    }

    /// Element `i + away` of a variable, where `i` is a counter from 2 to 5.
    fn near(&mut self, way: Way, i: Value) -> Result<Value> {
        let Way { slot, ty, flags, extends, adds_later } = way;
        let away = self.u.int_in_range(-1..=1)? + self.u.int_in_range(0..=1)?;
        let base = self.b.slot_addr(slot);
        let scale = u64::from(ty.bytes());
        if adds_later {
            let index = self.b.cast(extends, i, Type::I64);
            return Ok(self.b.addr(base, Some(index), scale, away * scale as i64));
        }
        let by = self.b.iconst(Type::I32, away);
        let index = self.b.int2_wrap(Opcode::Iadd, i, by, flags);
        let index = self.b.cast(extends, index, Type::I64);
        Ok(self.b.addr(base, Some(index), scale, 0))
    }

    /// An innermost loop whose iterations load and store elements near its counter, so that they see what others have stored.
    fn sweep(&mut self, depth: u32) -> Result<()> {
        let [head, exit] = std::array::from_fn(|_| self.b.func.append_block());
        let i = self.b.func.dfg.append_param(head, Type::I32);
        let carried = self.b.func.dfg.append_param(head, Type::I32);
        let result = self.b.func.dfg.append_param(exit, Type::I32);
        let (v, mask, start) = (self.value()?, self.b.iconst(Type::I32, 3), self.value()?);
        let times = self.b.int2(Opcode::And, v, mask);
        let rises = self.u.arbitrary()?;
        let first = self.b.iconst(Type::I32, if rises { 2 } else { 5 });
        let last = self.b.int2(if rises { Opcode::Iadd } else { Opcode::Isub }, first, times);
        self.b.jump(head, &[first, start]);
        self.b.switch_to(head);
        let known = self.pool.len();
        self.pool.extend([i, carried]);
        let usual = self.way()?;
        for _ in 0..self.u.int_in_range(2..=4)? {
            let way = if self.u.ratio(1, 6)? { self.way()? } else { usual };
            let (ty, place) = (way.ty, self.near(way, i)?);
            match self.u.int_in_range(0..=5)? {
                0..=2 => {
                    let v = self.b.load(ty, place, MemInfo::aligned(1));
                    let v = self.folded(v);
                    self.pool.push(v);
                }
                3 | 4 => {
                    let v = self.shaped(ty)?;
                    self.b.store(place, v, MemInfo::aligned(1));
                }
                _ => {
                    // Only in some iterations.
                    let (v, bit) = (self.shaped(ty)?, self.b.iconst(Type::I32, 1));
                    let [some, join] = std::array::from_fn(|_| self.b.func.append_block());
                    let odd = self.b.int2(Opcode::And, i, bit);
                    let odd = self.b.icmp(IntCond::Eq, odd, bit);
                    let to =
                        if self.u.ratio(1, 4)? { BlockCall::new(exit, &[carried]) } else { BlockCall::new(join, &[]) };
                    self.b.branch(odd, BlockCall::new(some, &[]), to);
                    self.b.switch_to(some);
                    self.b.store(place, v, MemInfo::aligned(1));
                    if depth > 1 && self.u.ratio(1, 4)? {
                        self.body(1)?;
                    }
                    self.b.jump(join, &[]);
                    self.b.switch_to(join);
                }
            }
        }
        let v = self.value()?;
        let sum = self.b.int2(Opcode::Xor, carried, v);
        let flags = *self.u.choose(&[WrapFlags::NO_SIGNED, WrapFlags::empty()])?;
        let one = self.b.iconst(Type::I32, if rises { 1 } else { -1 });
        let next = self.b.int2_wrap(Opcode::Iadd, i, one, flags);
        let is_last = self.b.icmp(IntCond::Eq, i, last);
        self.b.branch(is_last, BlockCall::new(exit, &[sum]), BlockCall::new(head, &[next, sum]));
        self.pool.truncate(known);
        self.b.switch_to(exit);
        self.pool.push(result);
        Ok(())
    }

    /// Two loops that one edge leaves together, to where the end of the outer one leads as well. What they carry is used there
    /// without a parameter: the headers dominate it.
    fn nest(&mut self, depth: u32) -> Result<()> {
        let [outer, inner, body, latch, between, exit] = std::array::from_fn(|_| self.b.func.append_block());
        let [j, outer_sum] = std::array::from_fn(|_| self.b.func.dfg.append_param(outer, Type::I32));
        let [i, sum] = std::array::from_fn(|_| self.b.func.dfg.append_param(inner, Type::I32));
        let [zero, one, three] = [0, 1, 3].map(|number| self.b.iconst(Type::I32, number));
        let start = self.value()?;
        self.b.jump(outer, &[zero, start]);
        self.b.switch_to(outer);
        let known = self.pool.len();
        self.pool.extend([j, outer_sum]);
        let (start, v) = (self.value()?, self.value()?);
        let limit = self.b.int2(Opcode::And, v, three);
        self.b.jump(inner, &[zero, start]);
        self.b.switch_to(inner);
        self.pool.extend([i, sum]);
        let more = self.b.icmp(IntCond::Slt, i, limit);
        self.b.branch(more, BlockCall::new(body, &[]), BlockCall::new(between, &[]));
        self.b.switch_to(body);
        self.body(depth - 1)?;
        let v = self.value()?;
        let next_sum = self.b.int2(*self.u.choose(&BINARY)?, sum, v);
        let (cond, v) = (*self.u.choose(&CONDITIONS)?, self.value()?);
        let found = self.b.icmp(cond, next_sum, v);
        self.b.branch(found, BlockCall::new(exit, &[]), BlockCall::new(latch, &[]));
        self.b.switch_to(latch);
        let next = self.b.int2(Opcode::Iadd, i, one);
        self.b.jump(inner, &[next, next_sum]);
        self.b.switch_to(between);
        self.body(depth - 1)?;
        let v = self.value()?;
        let next = self.b.int2(Opcode::Iadd, j, one);
        let more = self.b.icmp(IntCond::Slt, next, three);
        self.b.branch(more, BlockCall::new(outer, &[next, v]), BlockCall::new(exit, &[]));
        self.b.switch_to(exit);
        self.pool.truncate(known);
        self.pool.extend([j, outer_sum, i, sum]);
        Ok(())
    }

    /// A search for the best element of a variable, whose index it keeps: each iteration loads an element, and the best one
    /// again.
    fn search(&mut self) -> Result<()> {
        let slot = *self.u.choose(&self.slots)?;
        let ty = *self.u.choose(&[Type::I32, Type::I16])?;
        let count = (SLOT_BYTES / u64::from(ty.bytes())) as i64;
        let [head, join, better, exit] = std::array::from_fn(|_| self.b.func.append_block());
        let [i, best] = std::array::from_fn(|_| self.b.func.dfg.append_param(head, Type::I32));
        let next = self.b.func.dfg.append_param(join, Type::I32);
        let base = self.b.slot_addr(slot);
        let (v, mask) = (self.value()?, self.b.iconst(Type::I32, count - 1));
        let start = if self.u.arbitrary()? { self.b.int2(Opcode::And, v, mask) } else { self.b.iconst(Type::I32, 0) };
        let [zero, one] = [0, 1].map(|number| self.b.iconst(Type::I32, number));
        let last = self.u.int_in_range(1..=count)?;
        let last = self.b.iconst(Type::I32, last);
        self.b.jump(head, &[zero, start]);
        self.b.switch_to(head);
        let mut load = |index: Value| {
            let index = self.b.cast(Opcode::Sext, index, Type::I64);
            let place = self.b.addr(base, Some(index), ty.bytes().into(), 0);
            (place, self.b.load(ty, place, MemInfo::aligned(1)))
        };
        let ((_, found), (place, known)) = (load(i), load(best));
        let known_pool = self.pool.len();
        let known = self.folded(known);
        let found = self.folded(found);
        let cond = self.b.icmp(*self.u.choose(&CONDITIONS)?, found, known);
        if self.u.ratio(1, 2)? {
            let chosen = self.b.select(cond, i, best);
            self.b.jump(join, &[chosen]);
            self.b.switch_to(better);
            self.b.unreachable();
        } else {
            self.b.branch(cond, BlockCall::new(better, &[]), BlockCall::new(join, &[best]));
            self.b.switch_to(better);
            // Sometimes the memory changes, so that the best element has to be loaded again.
            if self.u.ratio(1, 4)? {
                let v = self.shaped(ty)?;
                self.b.store(place, v, MemInfo::aligned(1));
            }
            self.b.jump(join, &[i]);
        }
        self.b.switch_to(join);
        let counted = self.b.int2(Opcode::Iadd, i, one);
        let more = self.b.icmp(IntCond::Slt, counted, last);
        self.b.branch(more, BlockCall::new(head, &[counted, next]), BlockCall::new(exit, &[]));
        self.b.switch_to(exit);
        self.pool.truncate(known_pool);
        self.pool.push(next);
        Ok(())
    }

    /// A loop that counts up to a few, by a constant or not, and may be left early; it tests at the top or at the bottom.
    fn repeat(&mut self, depth: u32) -> Result<()> {
        let count = self.u.int_in_range(0..=4)?;
        let at_bottom = self.u.ratio(1, 3)?;
        let [head, body, latch, exit] = std::array::from_fn(|_| self.b.func.append_block());
        let [i, sum] = std::array::from_fn(|_| self.b.func.dfg.append_param(head, Type::I32));
        let result = self.b.func.dfg.append_param(exit, Type::I32);
        let (zero, start) = (self.b.iconst(Type::I32, 0), self.value()?);
        let limit = if self.u.ratio(1, 3)? {
            let (v, mask) = (self.value()?, self.b.iconst(Type::I32, 3));
            self.b.int2(Opcode::And, v, mask)
        } else {
            self.b.iconst(Type::I32, count)
        };
        self.b.jump(head, &[zero, start]);
        self.b.switch_to(head);
        if at_bottom {
            self.b.jump(body, &[]);
        } else {
            let more = self.b.icmp(IntCond::Slt, i, limit);
            self.b.branch(more, BlockCall::new(body, &[]), BlockCall::new(exit, &[sum]));
        }
        self.b.switch_to(body);
        let known = self.pool.len();
        self.pool.extend([i, sum]);
        self.body(depth - 1)?;
        let v = self.value()?;
        let next_sum = self.b.int2(Opcode::Xor, sum, v);
        if self.u.ratio(1, 3)? {
            let bit = self.b.iconst(Type::I32, 5);
            let some = self.b.int2(Opcode::And, next_sum, bit);
            let found = self.b.icmp(IntCond::Eq, some, bit);
            self.b.branch(found, BlockCall::new(exit, &[v]), BlockCall::new(latch, &[]));
        } else {
            self.b.jump(latch, &[]);
        }
        self.pool.truncate(known);
        self.b.switch_to(latch);
        let one = self.b.iconst(Type::I32, 1);
        let next = self.b.int2(Opcode::Iadd, i, one);
        if at_bottom {
            let more = self.b.icmp(IntCond::Slt, next, limit);
            self.b.branch(more, BlockCall::new(head, &[next, next_sum]), BlockCall::new(exit, &[next_sum]));
        } else {
            self.b.jump(head, &[next, next_sum]);
        }
        self.b.switch_to(exit);
        self.pool.push(result);
        Ok(())
    }
}

/// A function of `statements`, which returns a number made of all that they have computed and stored.
fn generate(
    u: &mut Unstructured<'_>,
    name: &str,
    helper: Option<Func>,
    statements: impl FnOnce(&mut Generator<'_, '_, '_>) -> Result<()>,
) -> Result<Function> {
    let mut func = Function::new(name, &[Type::I32]);
    let slots: Vec<Slot> = (0..3).map(|_| func.slots.push(SlotData { size: SLOT_BYTES, align: 16 })).collect();
    let entry = func.append_block();
    let pool = vec![func.dfg.append_param(entry, Type::I32), func.dfg.append_param(entry, Type::I32)];
    let b = Builder::at_end(&mut func, entry);
    let mut g = Generator { u, b, slots, pool, budget: 40, helper };
    for i in 0..3 {
        let (base, byte) = (g.b.slot_addr(g.slots[i]), g.b.iconst(Type::I8, 7 * i as i64 + 1));
        let count = g.b.iconst(Type::I64, SLOT_BYTES as i64);
        g.b.memset(base, byte, count, MemInfo::aligned(16));
    }
    statements(&mut g)?;
    let mut pool = std::mem::take(&mut g.pool).into_iter();
    let mut sum = pool.next().expect("parameters");
    for v in pool {
        sum = g.b.int2(Opcode::Xor, sum, v);
        let three = g.b.iconst(Type::I32, 3);
        sum = g.b.int2(Opcode::Rotl, sum, three);
    }
    for slot in g.slots.clone() {
        for at in 0..8 {
            let base = g.b.slot_addr(slot);
            let place = g.b.addr(base, None, 1, at * 4);
            let v = g.b.load(Type::I32, place, MemInfo::aligned(4));
            sum = g.b.int2(Opcode::Iadd, sum, v);
        }
    }
    g.b.ret(&[sum]);
    Ok(func)
}

fn check(module: &Module, what: &str) {
    if let Err(errors) = verify::module(module) {
        panic!("{what}: {errors}\n{module}");
    }
}

/// What the function gives on a few arguments.
fn results(module: &Module, func: Func) -> Vec<u64> {
    let samples: [[u64; 2]; 4] = [[0, 0], [1, 0xffff_ffff], [7, 9], [0x8000_0000, 12345]];
    samples.iter().map(|args| call(module, func, args)).collect()
}

/// What the function gives for certain arguments.
fn call(module: &Module, func: Func, args: &[u64]) -> u64 {
    let prepared = PreparedModule::new(module);
    let mut memory = SimMemory::default();
    let globals = load_globals(module, &mut memory).unwrap();
    let entry = module.funcs[func].layout.entry().unwrap();
    let types = module.funcs[func].dfg.params(entry).iter().map(|&param| module.funcs[func].dfg.ty(param));
    let args: Vec<Lanes> = types.zip(args).map(|(ty, &bits)| Lanes { ty, bits: vec![bits] }).collect();
    let run = Interpreter::new(module, &prepared);
    let (outcome, returned) =
        run.run_function(func, &args, &globals, &InterpOptions::default(), &mut memory, &mut NoObserver).unwrap();
    assert!(outcome.is_clean(), "{:?}\n{module}", outcome.faults);
    returned[0].bits[0]
}

fn body(u: &mut Unstructured<'_>) -> Result<()> {
    let mut module = Module::default();
    let helper = generate(u, "helper", None, |g| (0..12).try_for_each(|_| g.statement(1)))?;
    let helper = module.funcs.push(helper);
    let func = generate(u, "f", Some(helper), |g| (0..12).try_for_each(|_| g.statement(3)))?;
    let func = module.funcs.push(func);
    check(&module, "generated");
    let expected = results(&module, func);
    // The inliner looks for kernels only: for this test the function is one.
    module.kernels.push(KernelData { func, arg_block_bytes: 0, required_local_size: None });
    let mut inlined = module.clone();
    passes::inline(&mut inlined).unwrap();
    inlined.kernels.clear();
    inlined.funcs[helper] = Function::new("helper", &[]);
    for names in [passes::canonical(), CLEAN.to_vec(), MINIMAL.to_vec()] {
        compare(&inlined, func, &names, &expected);
    }
    Ok(())
}

/// Compares the results after each of the passes.
fn compare(module: &Module, func: Func, names: &[&str], expected: &[u64]) {
    let mut now = module.clone();
    for (i, name) in names.iter().enumerate() {
        let before = now.clone();
        passes::run(&mut now.funcs[func], &now.globals, &[name], &mut |_, _| ());
        check_one(&now, func, &before, name);
        let got = results(&now, func);
        assert_eq!(got, expected, "after {i}: {name}\nbefore:\n{}\nafter:\n{}", before.funcs[func], now.funcs[func]);
    }
}

/// Loops whose iterations see what others have stored.
fn recurrences(u: &mut Unstructured<'_>) -> Result<()> {
    let mut module = Module::default();
    let func = generate(u, "f", None, |g| (0..3).try_for_each(|_| g.sweep(1)))?;
    let func = module.funcs.push(func);
    check(&module, "generated");
    let expected = results(&module, func);
    compare(&module, func, &["gvn", "licm", "chosen_loads", "loop_loads"], &expected);
    Ok(())
}

fn check_one(module: &Module, func: Func, before: &Module, name: &str) {
    if let Err(errors) = verify::function(module, &module.funcs[func]) {
        panic!("after {name}: {errors}\nbefore:\n{}\nafter:\n{}", before.funcs[func], module.funcs[func]);
    }
}

#[test]
fn loops_pass_on_what_they_have_stored() {
    arbtest::arbtest(recurrences).budget_ms(3000).size_max(1024);
}

#[test]
fn passes_keep_the_meaning_of_generated_functions() {
    arbtest::arbtest(body).budget_ms(3000).size_max(4096);
}
