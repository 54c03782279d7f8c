//! Countable loops: those whose trip count an expression before the loop gives, and their induction variables.

use clift_include::abi::PACKED_ID_BOUND;
use clift_kir::analysis::LoopId;
use clift_kir::{Block, Builder, Elem, Function, Imm, IntCond, Opcode, Type, Value, WrapFlags};
use cranelift_entity::EntitySet;

use crate::passes::Replacements;
use crate::passes::loop_form::{analyze, args_of_edge, preheader};
use crate::spmd::transform::normalize::NormalForm;

/// The largest step of an induction variable.
const MAX_STEP: i64 = 1 << 20;

/// The most by which the first counter and the limit may differ: the numbers of iterations are global ids of whole packs.
const MAX_DISTANCE: i64 = PACKED_ID_BOUND as i64 - 2;

/// A loop that is left only at the end of an iteration, when its counter reaches a limit.
pub(super) struct CountableLoop {
    pub(super) id: LoopId,
    pub(super) preheader: Block,
    pub(super) header: Block,
    pub(super) latch: Block,
    /// The block whose branch leaves the loop, the last one of each iteration but for the latch.
    pub(super) exiting: Block,
    /// Where the loop is left to.
    pub(super) exit: Block,
    pub(super) inductions: Vec<Induction>,
    /// All of its blocks.
    pub(super) blocks: EntitySet<Block>,
    limit: Limit,
}

/// A parameter of the header that grows by a constant in each iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Induction {
    pub(super) param: Value,
    /// What it is in the first iteration.
    pub(super) start: Value,
    /// What it is in the next iteration.
    pub(super) next: Value,
    /// By how much it grows; of a pointer in bytes.
    pub(super) step: i64,
    /// What growing promises.
    pub(super) flags: WrapFlags,
}

/// When a loop is left.
struct Limit {
    /// The counter.
    counter: Induction,
    /// Whether the counter of the next iteration is compared, not that of this one.
    is_next: bool,
    /// How the counter is extended before it is compared.
    extension: Option<Opcode>,
    /// The loop goes on while this holds.
    cond: IntCond,
    limit: Value,
}

impl CountableLoop {
    pub(super) fn of(normal: &NormalForm, id: LoopId) -> Option<CountableLoop> {
        let NormalForm { func, cfg, loops, .. } = normal;
        let data = loops.get(id);
        let &[latch] = data.latches.as_slice() else { return None };
        let header = data.header;
        let preheader = preheader(cfg, data)?;
        let &[exiting] = cfg.preds(latch) else { return None };
        let leaves = |block: Block| cfg.succs(block).iter().any(|&succ| !loops.contains(id, succ));
        let ends = |block: Block| cfg.succs(block).is_empty();
        let only = data.blocks.iter().all(|&block| block == exiting || !leaves(block) && !ends(block));
        let is_inner = loops.innermost(exiting) != Some(id);
        if !only || is_inner || latch == header || func.layout.insts(latch).len() != 1 {
            return None;
        }
        let branch = func.dfg.inst(func.layout.terminator(exiting)?);
        let Imm::Branch(calls) = &branch.imm else { return None };
        let stays = calls.iter().position(|call| call.block == latch)?;
        let exit = calls[1 - stays].block;
        if exit == latch || loops.contains(id, exit) || cfg.preds(exit).len() != 1 {
            return None;
        }
        let params = func.dfg.params(header);
        let [first, next] = [args_of_edge(func, preheader, header)?, args_of_edge(func, latch, header)?];
        let of_param = |i: usize| Induction::of(func, params[i], first[i], next[i]);
        let inductions: Vec<Induction> = (0..params.len()).filter_map(of_param).collect();
        let limit = Limit::of(normal, id, branch.args[0], stays == 0, &inductions)?;
        let mut blocks = EntitySet::new();
        blocks.extend(data.blocks.iter().copied());
        Some(CountableLoop { id, preheader, header, latch, exiting, exit, inductions, blocks, limit })
    }

    /// Whether a value is defined in the loop.
    pub(super) fn defines(&self, func: &Function, value: Value) -> bool {
        func.def_block(value).is_some_and(|home| self.blocks.contains(home))
    }

    /// What the latch passes to a parameter of the header.
    pub(super) fn next_of(&self, func: &Function, param: Value) -> Option<Value> {
        let index = func.dfg.params(self.header).iter().position(|&other| other == param)?;
        args_of_edge(func, self.latch, self.header)?.get(index).copied()
    }

    /// The induction variable that a parameter of the header is.
    pub(super) fn induction(&self, param: Value) -> Option<Induction> {
        self.inductions.iter().copied().find(|induction| induction.param == param)
    }

    /// What growing by one iteration promises, also because of the test in [`Self::trip_count`].
    pub(super) fn flags(&self, induction: Induction) -> WrapFlags {
        if induction.param == self.limit.counter.param { induction.flags | self.limit.flags() } else { induction.flags }
    }

    /// The trip count, if it is constant.
    pub(super) fn constant_trip_count(&self, func: &Function) -> Option<i64> {
        let Limit { counter, ref cond, limit, .. } = self.limit;
        let (start, limit) = (func.dfg.as_splat_signed(counter.start)?, func.dfg.as_splat_signed(limit)?);
        let distance = if counter.step > 0 { limit.checked_sub(start) } else { start.checked_sub(limit) };
        let or_equal = matches!(cond, IntCond::Sle | IntCond::Sge | IntCond::Ule);
        let passed = i64::from(or_equal) + i64::from(!self.limit.is_next);
        distance.filter(|&distance| distance > 0).map(|distance| {
            let step = counter.step.abs();
            (if or_equal { distance / step } else { (distance + step - 1) / step }) + passed
        })
    }

    /// Whether the first counter or the limit is an element of an array, as where rows of sparse matrices begin and end.
    pub(super) fn is_bounded_by_element(&self, func: &Function) -> bool {
        let definition = |value: Value| func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst));
        let is_element = |value: Value| {
            let extended = definition(value).filter(|data| matches!(data.op, Opcode::Sext | Opcode::Zext));
            let loaded = definition(extended.map_or(value, |data| data.args[0])).filter(|data| data.op == Opcode::Load);
            let address = loaded.and_then(|data| definition(data.args[0]));
            address.is_some_and(|data| data.op == Opcode::Addr && data.args.len() > 1)
        };
        is_element(self.limit.counter.start) || is_element(self.limit.limit)
    }

    /// Emits the trip count, and a Boolean that says whether it is right.
    pub(super) fn trip_count(&self, b: &mut Builder<'_>) -> (Value, Value) {
        self.limit.trip_count(b)
    }
}

/// Lets loops in normal form extend a counter in each iteration in place of passing on its extension. Whether there are any.
pub(super) fn extend_counters(func: &mut Function) -> bool {
    let (cfg, _, loops) = analyze(func);
    let mut found: Vec<(Block, Value, Opcode, Value)> = Vec::new();
    for (_, data) in loops.iter() {
        let header = data.header;
        let (&[latch], Some(preheader)) = (data.latches.as_slice(), preheader(&cfg, data)) else { continue };
        let args = [preheader, latch].map(|from| args_of_edge(func, from, header).unwrap_or_default());
        let params = func.dfg.params(header);
        let counters: Vec<Induction> =
            (0..params.len()).filter_map(|i| Induction::of(func, params[i], args[0][i], args[1][i])).collect();
        for (i, &param) in params.iter().enumerate() {
            let extended = extension(func, &counters, func.dfg.ty(param), args[0][i], args[1][i]);
            found.extend(extended.map(|(op, counter)| (header, param, op, counter)));
        }
    }
    let mut replacements = Replacements::default();
    for &(header, param, op, counter) in &found {
        let ty = func.dfg.ty(param);
        let extended = Builder::before(func, header, 0).cast(op, counter, ty);
        replacements.set(param, extended);
    }
    replacements.apply(func);
    !found.is_empty()
}

/// The counter whose extension a parameter always is, and how it is extended, from what the parameter is first and next.
fn extension(func: &Function, counters: &[Induction], ty: Type, start: Value, next: Value) -> Option<(Opcode, Value)> {
    let extended = |value: Value| {
        let data = func.dfg.inst(func.dfg.def_inst(value)?);
        matches!(data.op, Opcode::Sext | Opcode::Zext).then(|| (data.op, data.args[0]))
    };
    let (op, from) = extended(next)?;
    let counter = counters.iter().find(|counter| counter.next == from)?;
    let begins = if let Opcode::Sext = op {
        func.dfg.as_splat_signed(counter.start)
    } else {
        func.dfg.as_splat_bits(counter.start).map(|bits| bits as i64)
    };
    let starts =
        extended(start) == Some((op, counter.start)) || begins.is_some() && begins == func.dfg.as_splat_signed(start);
    (starts && !ty.is_vector()).then_some((op, counter.param))
}

impl Induction {
    fn of(func: &Function, param: Value, start: Value, next: Value) -> Option<Induction> {
        let ty = func.dfg.ty(param);
        let inst = func.dfg.def_inst(next)?;
        let data = func.dfg.inst(inst);
        let constant = |value: Value| func.dfg.as_splat_signed(value);
        let step = match (data.op, data.args.as_slice(), &data.imm) {
            (Opcode::Iadd, &[from, by], _) if from == param => constant(by)?,
            (Opcode::Isub, &[from, by], _) if from == param => constant(by)?.checked_neg()?,
            (Opcode::Addr, &[from], &Imm::Addr { disp, .. }) if from == param => disp,
            _ => return None,
        };
        let suits = ty.is_ptr() || ty.elem.is_int();
        let fits = step != 0 && (-MAX_STEP..=MAX_STEP).contains(&step);
        (suits && !ty.is_vector() && fits).then_some(Induction { param, start, next, step, flags: data.imm.wrap() })
    }

    /// What the variable is in the iteration with some number, which is an `i64` below 2^31 (and the variable at least as often
    /// in the range that `flags` promise).
    pub(super) fn at(&self, b: &mut Builder<'_>, start: Value, number: Value, flags: WrapFlags) -> Value {
        let ty = b.ty(start);
        if ty.is_ptr() {
            return b.addr(start, Some(number), self.step as u64, 0);
        }
        let number = if ty == Type::I64 { number } else { b.cast(Opcode::Itrunc, number, ty) };
        // The product may wrap where the sum with a negative start does not.
        let starts_above = b.func.dfg.as_splat_signed(start).is_some_and(|start| start >= 0);
        let (distance, op) = match self.step {
            1 => (number, Opcode::Iadd),
            -1 => (number, Opcode::Isub),
            step => {
                let by = b.iconst(ty, step);
                let flags = if starts_above && step > 0 { flags } else { WrapFlags::empty() };
                (b.int2_wrap(Opcode::Imul, number, by, flags), Opcode::Iadd)
            }
        };
        if op == Opcode::Iadd && b.func.dfg.as_splat_signed(start) == Some(0) {
            return distance;
        }
        // A sum with a negative distance wraps as an unsigned number, and a difference does not.
        let flags = if self.step < -1 { flags & WrapFlags::NO_SIGNED } else { flags };
        b.int2_wrap(op, start, distance, flags)
    }
}

impl Limit {
    fn of(normal: &NormalForm, id: LoopId, condition: Value, holds: bool, inductions: &[Induction]) -> Option<Limit> {
        let func = &normal.func;
        let data = func.dfg.inst(func.dfg.def_inst(condition)?);
        let (Opcode::Icmp, &Imm::IntCond(cond), &[a, b]) = (data.op, &data.imm, data.args.as_slice()) else {
            return None;
        };
        let cond = if holds { cond } else { cond.inverse() };
        let outside = |value: Value| func.def_block(value).is_none_or(|home| !normal.loops.contains(id, home));
        let (compared, limit, cond) = if outside(b) { (a, b, cond) } else { (b, a, cond.swapped()) };
        if !outside(limit) {
            return None;
        }
        let (compared, extension) = match func.dfg.def_inst(compared).map(|inst| func.dfg.inst(inst)) {
            Some(data) if matches!(data.op, Opcode::Sext | Opcode::Zext) => (data.args[0], Some(data.op)),
            Some(_) | None => (compared, None),
        };
        let of_value = |found: &&Induction| found.param == compared || found.next == compared;
        let counter = *inductions.iter().find(of_value)?;
        let is_next = counter.next == compared;
        let found = Limit { counter, is_next, extension, cond, limit };
        found.is_supported(func).then_some(found)
    }

    /// Whether the counter reaches the limit as the comparison says, in one direction.
    fn is_supported(&self, func: &Function) -> bool {
        let ty = func.dfg.ty(self.counter.param);
        // C computes with bytes and shorts as `int`: how they are extended says nothing of how they wrap.
        let is_short = ty == Type::I8 || ty == Type::I16;
        if ty != Type::I32 && ty != Type::I64 && !(is_short && self.extension.is_none()) {
            return false;
        }
        let promised = self.counter.flags;
        let extends_exactly = match self.extension {
            None => true,
            Some(Opcode::Sext) => promised.contains(WrapFlags::NO_SIGNED),
            Some(_) => promised.contains(WrapFlags::NO_UNSIGNED),
        };
        let is_one = self.counter.step.abs() == 1;
        let up = self.counter.step > 0;
        extends_exactly
            && match self.cond {
                IntCond::Ne => is_one && (self.extension.is_none() || up),
                IntCond::Slt | IntCond::Sle => up && (is_one || promised.contains(WrapFlags::NO_SIGNED)),
                IntCond::Sgt | IntCond::Sge => !up && (is_one || promised.contains(WrapFlags::NO_SIGNED)),
                IntCond::Ult | IntCond::Ule => up && (is_one || promised.contains(WrapFlags::NO_UNSIGNED)),
                IntCond::Eq | IntCond::Ugt | IntCond::Uge => false,
            }
    }

    /// Whether the comparison is of unsigned numbers. One that is not ordered is what the flags say.
    fn is_unsigned(&self) -> bool {
        match self.cond {
            IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => true,
            IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge => false,
            IntCond::Eq | IntCond::Ne => !self.counter.flags.contains(WrapFlags::NO_SIGNED),
        }
    }

    /// What the counter's growth promises where the trip count is right.
    fn flags(&self) -> WrapFlags {
        match self.extension {
            Some(_) => WrapFlags::empty(),
            None if self.is_unsigned() => WrapFlags::NO_UNSIGNED,
            None => WrapFlags::NO_SIGNED,
        }
    }

    /// As [`CountableLoop::trip_count`]: with the distance d from the first counter to the limit, the iterations after the
    /// first one are those that the comparison lets begin.
    fn trip_count(&self, b: &mut Builder<'_>) -> (Value, Value) {
        let up = self.counter.step > 0;
        let step = self.counter.step.abs();
        let start = match self.extension {
            Some(op) => b.cast(op, self.counter.start, Type::I64),
            None => self.counter.start,
        };
        let ty = b.ty(start);
        let (low, high) = if up { (start, self.limit) } else { (self.limit, start) };
        let cond = if self.is_unsigned() { IntCond::Ult } else { IntCond::Slt };
        let reaches = b.icmp(cond, low, high);
        let distance = b.int2(Opcode::Isub, high, low);
        let distance = if ty.elem == Elem::I64 { distance } else { b.cast(Opcode::Zext, distance, Type::I64) };
        let most = b.iconst(Type::I64, MAX_DISTANCE);
        let is_short = b.icmp(IntCond::Ult, distance, most);
        let mut is_right = b.int2(Opcode::And, reaches, is_short);
        let or_equal = matches!(self.cond, IntCond::Sle | IntCond::Sge | IntCond::Ule);
        if or_equal {
            // A counter beyond the last number wraps, and the loop never ends.
            let bits = ty.elem.bits();
            let last = match (self.is_unsigned(), up) {
                (true, _) => -1,
                (false, true) => i64::MAX >> (64 - bits),
                (false, false) => i64::MIN >> (64 - bits),
            };
            let last = b.iconst(ty, last);
            let ends = b.icmp(IntCond::Ne, self.limit, last);
            is_right = b.int2(Opcode::And, is_right, ends);
        }
        // How often the counter can be passed on until it is at the limit, rounded up; one more where it may be equal.
        let rounding = if or_equal { 0 } else { step - 1 };
        let rounded = if rounding == 0 {
            distance
        } else {
            let more = b.iconst(Type::I64, rounding);
            b.int2(Opcode::Iadd, distance, more)
        };
        let times = if step == 1 {
            rounded
        } else {
            let by = b.iconst(Type::I64, step);
            b.int2(Opcode::Udiv, rounded, by)
        };
        // Where this iteration's counter is compared, the loop goes on once more.
        let more = i64::from(or_equal) + i64::from(!self.is_next);
        let count = if more == 0 {
            times
        } else {
            let more = b.iconst(Type::I64, more);
            b.int2(Opcode::Iadd, times, more)
        };
        (count, is_right)
    }
}
