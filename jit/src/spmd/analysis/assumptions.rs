//! Assumptions about a pack that need not hold, but that a few scalar operations on the first lane's values can test.
//!
//! Most packs lie in the interior of an image or array: no lane is clamped, no index wraps or passes a multiple of a row's
//! length, comparisons with a border have the same result in all lanes, and masks of the form 2^n - 1 keep or clear all bits in
//! which the lanes differ. Under such an assumption a value is affine or uniform that otherwise is neither.
//! [`crate::spmd::transform::versioning`] decides which assumptions to make where, and emits the code that tests them.

use clift_kir::inst::Imm;
use clift_kir::{Builder, Inst, IntCond, Opcode, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::affine::{Affine, Offsets};
use super::known_bits::LowBits;
use super::shape::{Bound, Check, Excludes, Scope};
use super::transfer::{LaneForm, TransferFunctions};

/// The assumptions of an analysis.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Assume<'a> {
    /// Nothing.
    Nothing,
    /// What can be tested about these instructions.
    These(&'a Assumed),
}

/// Instructions about which something is assumed, and which alternative: 0 is the usual one. Only the bits that a mask keeps,
/// clears or flips have several others ([`MAX_ALTERNATIVES`]).
pub(crate) type Assumed = FxHashMap<Inst, u8>;

/// How many alternatives there are besides the usual one.
pub(crate) const MAX_ALTERNATIVES: u8 = 4;

/// The alternative in which comparisons may differ between the lanes of a pack, because it touches a border; all else is as
/// usual.
pub(crate) const BORDERS: u8 = MAX_ALTERNATIVES + 1;

/// The alternative in which selects, minima and maxima give their uniform operand in all lanes; all else is as usual.
pub(crate) const BOUNDS: u8 = MAX_ALTERNATIVES + 2;

impl Assume<'_> {
    /// Which alternative is assumed about an instruction, if any.
    pub(crate) fn of(self, inst: Inst) -> Option<u8> {
        match self {
            Assume::Nothing => None,
            Assume::These(insts) => insts.get(&inst).copied(),
        }
    }
}

/// Tests that must all succeed.
pub(crate) type Tests = SmallVec<[Test; 3]>;

/// A condition on the first lane's values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Test {
    /// A comparison.
    Check(Check),
    /// The comparison of a value with a uniform bound has the same result in all lanes: the bound is not among their values, of
    /// which the last lane's is larger by `reach` than the first one's.
    SameComparison { cond: IntCond, value: Value, reach: i64, bound: Value },
    /// A condition, the same in all lanes, is true or false.
    Is { condition: Value, is: bool },
    /// No lane's `a` equals its `b`. The difference `a - b` of the last lane is larger by `reach` than that of the first.
    NeverEqual { a: Value, b: Value, reach: i64 },
    /// The lowest `bits` bits of the value equal `are`.
    Bits { value: Value, bits: u32, are: u64 },
    /// The mask keeps the lowest bits of a value, and no lane wraps around: of those bits, the last lane's are larger by `reach`
    /// than the first lane's.
    WithinMask { value: Value, mask: Value, reach: i64 },
    /// All lanes have the same quotient: the remainder of the last lane, whose dividend is larger by `reach`, is still below the
    /// divisor, which is positive.
    SameQuotient { dividend: Value, divisor: Value, reach: i64, signed: bool },
}

impl Test {
    /// Emits code that computes whether the test succeeds; `first` gives the first lane's value.
    pub(crate) fn emit(self, b: &mut Builder<'_>, mut first: impl FnMut(&mut Builder<'_>, Value) -> Value) -> Value {
        match self {
            Test::Check(check) => {
                let value = first(b, check.value);
                let ty = b.ty(value);
                let value = plus(b, value, check.plus);
                let bound = match check.bound {
                    Bound::Bits(bits) => b.iconst(ty, bits as i64),
                    Bound::Shared(bound) => first(b, bound),
                };
                b.icmp(check.cond, value, bound)
            }
            Test::SameComparison { cond, value, reach, bound } => {
                // The results differ if the bound is among the lanes' values, which do not wrap: above the least one, or equal
                // to it if `<=` and `>` tell the two apart.
                let (value, bound) = (first(b, value), first(b, bound));
                let excludes_least = match cond {
                    IntCond::Slt | IntCond::Sge | IntCond::Ult | IntCond::Uge => -1,
                    IntCond::Sle | IntCond::Sgt | IntCond::Ule | IntCond::Ugt => 0,
                    IntCond::Eq | IntCond::Ne => unreachable!("broken invariant: equality has a test of its own"),
                };
                let bound = plus(b, bound, excludes_least - reach.min(0));
                let distance = b.int2(Opcode::Isub, bound, value);
                let ty = b.ty(value);
                let reach = b.iconst(ty, reach.abs());
                b.icmp(IntCond::Uge, distance, reach)
            }
            Test::Is { condition, is } => {
                let condition = first(b, condition);
                if is { condition } else { b.int1(Opcode::Not, condition) }
            }
            Test::NeverEqual { a, b: other, reach } => {
                // The differences of all lanes lie between the first and the last one: zero is among them if it is at most
                // `reach` away.
                let (a, other) = (first(b, a), first(b, other));
                let difference = b.int2(Opcode::Isub, a, other);
                let above = plus(b, difference, reach.max(0));
                let ty = b.ty(a);
                let reach = b.iconst(ty, reach.abs());
                b.icmp(IntCond::Ugt, above, reach)
            }
            Test::Bits { value, bits, are } => {
                let value = first(b, value);
                let ty = b.ty(value);
                let mask = b.iconst(ty, ((1u64 << bits) - 1) as i64);
                let low = b.int2(Opcode::And, value, mask);
                let are = b.iconst(ty, are as i64);
                b.icmp(IntCond::Eq, low, are)
            }
            Test::WithinMask { value, mask, reach } => {
                let (value, mask) = (first(b, value), first(b, mask));
                let ty = b.ty(mask);
                let (zero, one, reach) = (b.iconst(ty, 0), b.iconst(ty, 1), b.iconst(ty, reach));
                let above = b.int2(Opcode::Iadd, mask, one);
                let holes = b.int2(Opcode::And, mask, above);
                let keeps_lowest = b.icmp(IntCond::Eq, holes, zero);
                let low = b.int2(Opcode::And, value, mask);
                let room = b.int2(Opcode::Isub, mask, low);
                let fits = b.icmp(IntCond::Uge, room, reach);
                b.int2(Opcode::And, keeps_lowest, fits)
            }
            Test::SameQuotient { dividend, divisor, reach, signed } => {
                let (dividend, divisor) = (first(b, dividend), first(b, divisor));
                let (op, above) = if signed { (Opcode::Srem, IntCond::Sgt) } else { (Opcode::Urem, IntCond::Ugt) };
                let rest = b.int2(op, dividend, divisor);
                let left = b.int2(Opcode::Isub, divisor, rest);
                let ty = b.ty(divisor);
                let reach = b.iconst(ty, reach);
                let (large, fits) = (b.icmp(above, divisor, reach), b.icmp(above, left, reach));
                b.int2(Opcode::And, large, fits)
            }
        }
    }
}

fn plus(b: &mut Builder<'_>, value: Value, more: i64) -> Value {
    if more == 0 {
        return value;
    }
    let ty = b.ty(value);
    let more = b.iconst(ty, more);
    b.int2(Opcode::Iadd, value, more)
}

impl TransferFunctions<'_> {
    /// The form of a result under an assumption, and the tests for it, if an assumption may be made and helps. `plain` is the
    /// form without it.
    pub(crate) fn assumption(
        &mut self,
        inst: Inst,
        plain: LaneForm,
        operands: &[LaneForm],
    ) -> Option<(LaneForm, Tests)> {
        let which = self.assume.of(inst)?;
        let data = self.func.dfg.inst(inst);
        if let (&[LaneForm::Offsets(offsets)], LaneForm::Varying) = (operands, plain)
            && [Opcode::Zext, Opcode::Sext].contains(&data.op)
        {
            return self.assumed_extension(data.op, offsets, data.args[0]);
        }
        if matches!(plain, LaneForm::Affine(_) | LaneForm::Offsets(_)) {
            return None;
        }
        let affines = operands.iter().map(|form| form.affine()).collect::<Option<SmallVec<[Affine; 3]>>>()?;
        if affines.iter().all(|affine| affine.is_uniform()) {
            return None;
        }
        let is_clamp = [Opcode::Umin, Opcode::Umax, Opcode::Smin, Opcode::Smax].contains(&data.op);
        if let (Opcode::Select, &[cond, then, otherwise]) = (data.op, &affines[..]) {
            let form = self.assumed_select(inst, [cond, then, otherwise], which);
            return form.map(|(affine, tests)| (LaneForm::Affine(affine), tests));
        }
        if let (true, BOUNDS, LaneForm::AffineIf(..), &[a, b]) = (is_clamp, which, plain, &affines[..]) {
            return self.assumed_bound(inst, [a, b]).map(|(affine, tests)| (LaneForm::Affine(affine), tests));
        }
        if let LaneForm::AffineIf(affine, _) = plain {
            return Some((
                LaneForm::Affine(affine),
                self.checks(inst, operands).into_iter().map(Test::Check).collect(),
            ));
        }
        let &[a, b] = &affines[..] else { return None };
        let ty = self.func.dfg.ty(data.args[0]);
        let args = [data.args[0], data.args[1]];
        if data.op == Opcode::Icmp {
            if which == BORDERS {
                return None;
            }
            self.assumed_comparison(inst, ty, [a, b], args).map(|(affine, tests)| (LaneForm::Affine(affine), tests))
        } else if [Opcode::And, Opcode::Or, Opcode::Xor].contains(&data.op) {
            self.assumed_bits(data.op, ty, [a, b], args, if which > MAX_ALTERNATIVES { 0 } else { which })
        } else if [Opcode::Udiv, Opcode::Urem, Opcode::Sdiv, Opcode::Srem].contains(&data.op) {
            self.assumed_quotient(data.op, ty, [a, b], args).map(|(affine, tests)| (LaneForm::Affine(affine), tests))
        } else {
            None
        }
    }

    /// How much larger the last lane's value is than the first one's, if that is less than half the range of the type.
    pub(crate) fn step_to_last(&self, affine: Affine, ty: Type) -> Option<i64> {
        let reach = affine.reach(self.assumptions.width);
        let fits = reach < 1 << (ty.elem.bits() - 1);
        fits.then(|| affine.stride.wrapping_mul(i64::from(self.assumptions.width.max(1) - 1)))
    }

    /// A comparison that has the same result in all lanes.
    fn assumed_comparison(
        &mut self,
        inst: Inst,
        ty: Type,
        [a, b]: [Affine; 2],
        args: [Value; 2],
    ) -> Option<(Affine, Tests)> {
        let &Imm::IntCond(cond) = &self.func.dfg.inst(inst).imm else { return None };
        if !ty.is_int() {
            return None;
        }
        let shared = Affine::uniform(Scope::Pack, LowBits::NONE);
        let signed = match cond {
            IntCond::Eq | IntCond::Ne => {
                let apart = a.plus(b.times(u64::MAX)).fit(ty.elem.bits());
                let reach = self.step_to_last(apart, ty)?;
                return Some((shared, smallvec![Test::NeverEqual { a: args[0], b: args[1], reach }]));
            }
            IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => false,
            IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge => true,
        };
        let mut tests = Tests::new();
        for (affine, value) in [(a, args[0]), (b, args[1])] {
            self.step_to_last(affine, ty)?;
            if !affine.is_uniform() {
                tests.extend(self.wrap_check(affine, value, signed).map(Test::Check));
            }
        }
        if a.stride != b.stride {
            let (affine, value, bound, cond) =
                if b.is_uniform() { (a, args[0], args[1], cond) } else { (b, args[1], args[0], cond.swapped()) };
            if !a.is_uniform() && !b.is_uniform() {
                return None;
            }
            tests.push(Test::SameComparison { cond, value, reach: self.step_to_last(affine, ty)?, bound });
        }
        Some((shared, tests))
    }

    /// An extension that no lane wraps before: lanes at constant offsets.
    fn assumed_extension(&mut self, op: Opcode, offsets: Offsets, value: Value) -> Option<(LaneForm, Tests)> {
        let (least, most) = offsets.reach();
        let mask = self.func.dfg.ty(value).elem.mask();
        let signed = op == Opcode::Sext;
        let (lowest, highest) = if signed { (mask ^ mask >> 1, mask >> 1) } else { (0, mask) };
        let (at_most, at_least) = if signed { (IntCond::Sle, IntCond::Sge) } else { (IntCond::Ule, IntCond::Uge) };
        let check = |cond, bits: u64| {
            let bound = Bound::Bits(bits & mask);
            Test::Check(Check { excludes: Excludes::ExtendedWraps, value, plus: 0, cond, bound })
        };
        let mut tests = Tests::new();
        if most > 0 {
            tests.push(check(at_most, highest.wrapping_sub(most as u64)));
        }
        if least < 0 {
            tests.push(check(at_least, lowest.wrapping_sub(least as u64)));
        }
        Some((LaneForm::Offsets(offsets), tests))
    }

    /// Bits that a mask keeps, clears or flips: usually the same in all lanes.
    fn assumed_bits(
        &mut self,
        op: Opcode,
        ty: Type,
        [a, b]: [Affine; 2],
        args: [Value; 2],
        which: u8,
    ) -> Option<(LaneForm, Tests)> {
        let (affine, mask) = if b.is_uniform() { (a, args[1]) } else { (b, args[0]) };
        if !ty.is_int() || !a.is_uniform() && !b.is_uniform() {
            return None;
        }
        // Below some bit the lanes count without a carry, and from that bit on they are equal.
        let known = affine.low_bits.bits().min(ty.elem.bits() - 1);
        let Some(bits) = (1..=known).find(|&bits| affine.stays_within(bits, self.assumptions.width)) else {
            // `(i + 1) & (n - 1)` wraps around, in few packs.
            let reach = self.step_to_last(affine, ty).filter(|&reach| op == Opcode::And && which == 0 && reach > 0)?;
            // Most packs would wrap around a small constant mask.
            let most_wrap = |bits: u64| bits & bits.wrapping_add(1) != 0 || bits < 8 * reach.unsigned_abs();
            if self.func.dfg.as_splat_bits(mask).is_some_and(most_wrap) {
                return None;
            }
            let value = if mask == args[1] { args[0] } else { args[1] };
            let form = LaneForm::Affine(Affine::strided(affine.stride, LowBits::NONE));
            return Some((form, smallvec![Test::WithinMask { value, mask, reach }]));
        };
        // `i & -n` and `i & ~(n - 1)` clear low bits, `i & (n - 1)` keeps them.
        let clears = self.func.dfg.def_inst(mask).is_some_and(|def| {
            let data = self.func.dfg.inst(def);
            let zero = |value: Value| self.func.dfg.as_splat_bits(value) == Some(0);
            [Opcode::Ineg, Opcode::Not].contains(&data.op) || data.op == Opcode::Isub && zero(data.args[0])
        });
        let all = (1 << bits) - 1;
        if which > 0 {
            // A power of two that is smaller than the pack: the bits below it are kept, or the bit itself is flipped.
            let power = 1u64 << bits.checked_sub(which.into())?;
            let are = if op == Opcode::Xor {
                power
            } else if op == Opcode::And && clears {
                all & !(power - 1)
            } else if op == Opcode::And {
                power - 1
            } else {
                return None;
            };
            let mask_form = LaneForm::Affine(Affine::uniform(Scope::Pack, LowBits::exact(are).narrowed(bits)));
            return match self.bitwise_per_lane(op, ty, &[LaneForm::Affine(affine), mask_form]) {
                LaneForm::Varying | LaneForm::AffineIf(..) => None,
                form @ (LaneForm::Affine(_) | LaneForm::Offsets(_)) => {
                    Some((form, smallvec![Test::Bits { value: mask, bits, are }]))
                }
            };
        }
        let low = affine.low_bits.narrowed(bits);
        let are = if op == Opcode::And && !clears { all } else { 0 };
        let affine = if op == Opcode::And && clears {
            Affine::uniform(Scope::Pack, LowBits::exact(0).narrowed(bits))
        } else {
            Affine { low_bits: low, ..affine }
        };
        Some((LaneForm::Affine(affine), smallvec![Test::Bits { value: mask, bits, are }]))
    }

    /// Lanes that lie between two neighbouring multiples of a uniform divisor.
    fn assumed_quotient(
        &mut self,
        op: Opcode,
        ty: Type,
        [a, b]: [Affine; 2],
        args: [Value; 2],
    ) -> Option<(Affine, Tests)> {
        let [dividend, divisor] = args;
        let reach = self.step_to_last(a, ty)?;
        if !b.is_uniform() || reach <= 0 {
            return None;
        }
        // Most packs would cross a multiple of a small divisor.
        if self.func.dfg.as_splat_bits(divisor).is_some_and(|by| by < 8 * reach.unsigned_abs()) {
            return None;
        }
        let signed = [Opcode::Sdiv, Opcode::Srem].contains(&op);
        let mut tests: Tests = self.wrap_check(a, dividend, signed).map(Test::Check).into_iter().collect();
        if signed && self.ranges.of(dividend).as_signed().0 < 0 {
            let bound = Bound::Bits(0);
            let excludes = Excludes::Clamps;
            tests.push(Test::Check(Check { excludes, value: dividend, plus: 0, cond: IntCond::Sge, bound }));
        }
        tests.push(Test::SameQuotient { dividend, divisor, reach, signed });
        let quotient = [Opcode::Udiv, Opcode::Sdiv].contains(&op);
        Some((
            if quotient {
                Affine::uniform(Scope::Pack, LowBits::NONE)
            } else {
                Affine::strided(a.stride, LowBits::NONE)
            },
            tests,
        ))
    }
}
