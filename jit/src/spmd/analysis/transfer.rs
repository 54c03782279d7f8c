//! Transfer functions: the form of a result from the forms of the operands.
//!
//! There is one function per class of op. A rule may rely only on facts that hold for every lane of the pack that exists, active
//! or not: data flow, ranges, assumptions. It must not rely on a branch that was taken, nor on a promise of the source that an
//! operation does not wrap, because that binds only the work-items that execute the operation.

use clift_kir::inst::{Imm, IntCond};
use clift_kir::{Function, Inst, InstData, Opcode, Type, Value};
use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::affine::{Affine, Offsets};
use super::assumptions::Assume;
use super::known_bits::LowBits;
use super::ranges::Ranges;
use super::shape::{Assumptions, Bound, Check, Excludes, Scope};

/// How a value depends on the lane: a refinement of [`Shape`](super::shape::Shape).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaneForm {
    /// The value is affine.
    Affine(Affine),
    /// The value is affine if the checks of some instructions succeed.
    AffineIf(Affine, Conditions),
    /// The lanes differ by constants.
    Offsets(Offsets),
    /// Nothing is known.
    Varying,
}

/// Instructions that need run-time checks to keep a value affine: extensions, minima and maxima. Sorted, without duplicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Conditions([PackedOption<Inst>; 4]);

impl Conditions {
    /// The instructions.
    pub(crate) fn iter(self) -> impl Iterator<Item = Inst> {
        self.0.into_iter().filter_map(PackedOption::expand)
    }

    fn is_empty(self) -> bool {
        self.0[0].is_none()
    }

    /// The instructions of both, unless there are too many.
    fn union(self, other: Conditions) -> Option<Conditions> {
        let mut all: SmallVec<[Inst; 8]> = self.iter().chain(other.iter()).collect();
        all.sort_unstable();
        all.dedup();
        Conditions::collect(all)
    }

    fn with(self, inst: Inst) -> Option<Conditions> {
        self.union(Conditions([Some(inst).into(), None.into(), None.into(), None.into()]))
    }

    fn collect(insts: impl IntoIterator<Item = Inst>) -> Option<Conditions> {
        let mut conditions = Conditions::default();
        for (i, inst) in insts.into_iter().enumerate() {
            *conditions.0.get_mut(i)? = Some(inst).into();
        }
        Some(conditions)
    }
}

impl LaneForm {
    /// A value that is the same for all work-items of the scope.
    pub(crate) fn uniform(scope: Scope) -> LaneForm {
        LaneForm::Affine(Affine::uniform(scope, LowBits::NONE))
    }

    fn new(affine: Affine, conditions: Conditions) -> LaneForm {
        match conditions.is_empty() {
            true => LaneForm::Affine(affine),
            // For a uniform value a check gains nothing.
            false if affine.is_uniform() => LaneForm::Varying,
            false => LaneForm::AffineIf(affine, conditions),
        }
    }

    /// The form of a value that is one or the other, if all work-items make the same choice.
    pub(crate) fn join(self, other: LaneForm) -> LaneForm {
        if self == other {
            return self;
        }
        let (Some((a, conditions)), Some((b, more))) = (self.split(), other.split()) else { return LaneForm::Varying };
        let joined = a.join(b).zip(conditions.union(more));
        joined.map_or(LaneForm::Varying, |(affine, conditions)| LaneForm::new(affine, conditions))
    }

    /// The form of a block parameter that gets this value as an argument: a check does not hold outside the block where it was
    /// made.
    pub(crate) fn as_block_argument(self) -> LaneForm {
        match self {
            LaneForm::Affine(_) | LaneForm::Varying => self,
            LaneForm::AffineIf(..) | LaneForm::Offsets(_) => LaneForm::Varying,
        }
    }

    pub(crate) fn affine(self) -> Option<Affine> {
        match self {
            LaneForm::Affine(affine) => Some(affine),
            LaneForm::AffineIf(..) | LaneForm::Offsets(_) | LaneForm::Varying => None,
        }
    }

    /// The offsets of the lanes from the first, if they are constant.
    pub(crate) fn offsets(self, width: u32) -> Option<Offsets> {
        match self {
            LaneForm::Affine(affine) => Offsets::of(affine, width),
            LaneForm::Offsets(offsets) => Some(offsets),
            LaneForm::AffineIf(..) | LaneForm::Varying => None,
        }
    }

    /// The form of a value with these offsets: affine if they have a common stride.
    pub(crate) fn from_offsets(offsets: Option<Offsets>, width: u32) -> LaneForm {
        match offsets.map(|offsets| offsets.affine(width).ok_or(offsets)) {
            Some(Ok(affine)) => LaneForm::Affine(affine),
            Some(Err(offsets)) => LaneForm::Offsets(offsets),
            None => LaneForm::Varying,
        }
    }

    /// The affine value and the instructions whose checks it needs.
    pub(crate) fn split(self) -> Option<(Affine, Conditions)> {
        match self {
            LaneForm::Affine(affine) => Some((affine, Conditions::default())),
            LaneForm::AffineIf(affine, conditions) => Some((affine, conditions)),
            LaneForm::Offsets(_) | LaneForm::Varying => None,
        }
    }
}

/// The transfer functions and the facts that they use.
pub(crate) struct TransferFunctions<'a> {
    pub(crate) func: &'a Function,
    pub(crate) assumptions: Assumptions,
    pub(crate) ranges: Ranges<'a>,
    /// What is assumed because run-time tests establish it.
    pub(crate) assume: Assume<'a>,
}

impl TransferFunctions<'_> {
    /// The form of the result of a pure op of uniformity class `Operands`.
    pub(crate) fn result(&mut self, inst: Inst, ty: Option<Type>, operands: &[LaneForm]) -> LaneForm {
        let mut scope = Some(Scope::Launch);
        for operand in operands {
            let shared = operand.affine().filter(|affine| affine.is_uniform());
            scope = scope.zip(shared).map(|(scope, affine)| scope.max(affine.scope));
        }
        // Strides are tracked for scalars only: a vector would need one for each component.
        let scalar = ty.filter(|ty| !ty.is_vector() && !ty.is_float());
        let form = scalar.map_or(LaneForm::Varying, |ty| {
            let form = self.scalar(inst, ty, operands);
            self.assumption(inst, form, operands).map_or(form, |(form, _)| form)
        });
        match (scope, form) {
            (Some(scope), LaneForm::Affine(affine)) => LaneForm::Affine(Affine { scope, ..affine }),
            (Some(scope), LaneForm::AffineIf(..) | LaneForm::Offsets(_) | LaneForm::Varying) => {
                LaneForm::uniform(scope)
            }
            (None, LaneForm::Affine(affine)) if !affine.is_uniform() && ty.is_some_and(Type::is_bool) => {
                LaneForm::Varying
            }
            (None, form) => form,
        }
    }

    /// The form of a scalar result without assumptions.
    pub(crate) fn scalar(&mut self, inst: Inst, ty: Type, operands: &[LaneForm]) -> LaneForm {
        let data = self.func.dfg.inst(inst);
        let bits = ty.elem.bits();
        let width = self.assumptions.width;
        let linear = |operands: &[LaneForm], bits: u32, f: &dyn Fn(Affine, Affine) -> Option<Affine>| {
            linear(operands, bits, width, f)
        };
        match data.op {
            Opcode::Iadd => linear(operands, bits, &|a, b| Some(a.plus(b))),
            Opcode::Isub => linear(operands, bits, &|a, b| Some(a.plus(b.times(u64::MAX)))),
            Opcode::Imul => linear(operands, bits, &|a, b| times(a, b, bits)),
            Opcode::Shl => match self.count(data, bits) {
                Some(count) => linear(&operands[..1], bits, &|a, _| Some(a.times(1 << count))),
                None => LaneForm::Varying,
            },
            Opcode::Ineg => linear(operands, bits, &|a, _| Some(a.times(u64::MAX))),
            // -x - 1
            Opcode::Not => {
                linear(operands, bits, &|a, _| Some(Affine { low_bits: a.low_bits.xor(u64::MAX), ..a.times(u64::MAX) }))
            }
            Opcode::Itrunc | Opcode::PtrToInt | Opcode::IntToPtr | Opcode::SpaceCast => {
                linear(operands, bits, &|a, _| Some(a))
            }
            Opcode::Addr => {
                if let Imm::Addr { scale, disp } = data.imm {
                    let disp = Affine::uniform(Scope::Launch, LowBits::exact(disp as u64));
                    if operands.len() == 1 {
                        linear(operands, bits, &|a, _| Some(a.plus(disp)))
                    } else {
                        linear(operands, bits, &|a, b| Some(a.plus(b.times(scale)).plus(disp)))
                    }
                } else {
                    LaneForm::Varying
                }
            }
            Opcode::Zext | Opcode::Sext => self.extension(inst, ty, operands[0]),
            Opcode::And | Opcode::Or | Opcode::Xor => self.bitwise(data, ty, operands),
            Opcode::Lshr | Opcode::Ashr => self.shift_right(data, ty, operands),
            Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem => self.divide(data, ty, operands),
            Opcode::Umin | Opcode::Umax | Opcode::Smin | Opcode::Smax => self.min_max(inst, operands),
            Opcode::Select => match operands {
                [LaneForm::Affine(cond), then, otherwise] if cond.is_uniform() => match then.join(*otherwise) {
                    LaneForm::Affine(affine) => {
                        LaneForm::Affine(Affine { scope: affine.scope.max(cond.scope), ..affine })
                    }
                    form @ (LaneForm::AffineIf(..) | LaneForm::Offsets(_) | LaneForm::Varying) => form,
                },
                _ => LaneForm::Varying,
            },
            Opcode::Icmp => self.compare(data, operands),
            Opcode::Const => match self.func.dfg.as_splat_bits(self.func.dfg.result(inst)) {
                Some(value) => LaneForm::Affine(Affine::uniform(Scope::Launch, LowBits::exact(value)).fit(bits)),
                None => LaneForm::Varying,
            },
            // Other ops are not affine in their operands, or a rule for them would gain nothing.
            Opcode::Umulh | Opcode::Smulh | Opcode::UaddSat | Opcode::SaddSat | Opcode::UsubSat | Opcode::SsubSat => {
                LaneForm::Varying
            }
            Opcode::Rotl | Opcode::Clz | Opcode::Ctz | Opcode::Popcnt | Opcode::Bitrev | Opcode::Iabs => {
                LaneForm::Varying
            }
            Opcode::Fadd | Opcode::Fsub | Opcode::Fmul | Opcode::Fdiv | Opcode::Fma | Opcode::Fneg | Opcode::Fabs => {
                LaneForm::Varying
            }
            Opcode::Fcopysign | Opcode::Fmin | Opcode::Fmax | Opcode::Sqrt | Opcode::Ceil | Opcode::Floor => {
                LaneForm::Varying
            }
            Opcode::Trunc | Opcode::Rint | Opcode::Fcmp | Opcode::FptoS | Opcode::FptoU | Opcode::StoFp => {
                LaneForm::Varying
            }
            Opcode::UtoFp | Opcode::FptoFp | Opcode::Bitcast | Opcode::InSpace | Opcode::Splat | Opcode::Extract => {
                LaneForm::Varying
            }
            Opcode::Insert
            | Opcode::ExtractDyn
            | Opcode::InsertDyn
            | Opcode::Lookup
            | Opcode::Shuffle
            | Opcode::Vec => LaneForm::Varying,
            Opcode::Any | Opcode::All | Opcode::MaskBits | Opcode::Reduce | Opcode::LibCall => LaneForm::Varying,
            Opcode::Undef | Opcode::Arg | Opcode::ArgAddr | Opcode::SlotAddr | Opcode::GlobalAddr => LaneForm::Varying,
            Opcode::Load | Opcode::Store | Opcode::MaskedLoad | Opcode::MaskedStore | Opcode::Gather => {
                LaneForm::Varying
            }
            Opcode::Scatter | Opcode::Memcpy | Opcode::Memset | Opcode::AtomicLoad | Opcode::AtomicStore => {
                LaneForm::Varying
            }
            Opcode::AtomicRmw | Opcode::AtomicCmpxchg | Opcode::Fence | Opcode::WorkDim | Opcode::GlobalSize => {
                LaneForm::Varying
            }
            Opcode::GlobalOffset | Opcode::NumGroups | Opcode::EnqueuedLocalSize | Opcode::LocalSize => {
                LaneForm::Varying
            }
            Opcode::GroupId | Opcode::GlobalId | Opcode::LocalId | Opcode::GlobalLinearId => LaneForm::Varying,
            Opcode::LocalLinearId | Opcode::SubGroupSize | Opcode::MaxSubGroupSize | Opcode::NumSubGroups => {
                LaneForm::Varying
            }
            Opcode::EnqueuedNumSubGroups | Opcode::SubGroupId | Opcode::SubGroupLocalId => LaneForm::Varying,
            Opcode::GroupReduce | Opcode::GroupScan | Opcode::GroupScanExclusive | Opcode::GroupBallot => {
                LaneForm::Varying
            }
            Opcode::GroupShuffle | Opcode::Barrier | Opcode::Call | Opcode::Printf | Opcode::Jump | Opcode::Branch => {
                LaneForm::Varying
            }
            Opcode::NamedBarrier | Opcode::Yield | Opcode::Deadlock => LaneForm::Varying,
            Opcode::PackAny
            | Opcode::Request
            | Opcode::Clock
            | Opcode::Check
            | Opcode::ImageRead
            | Opcode::ImageWrite => LaneForm::Varying,
            Opcode::Switch | Opcode::Ret | Opcode::Unreachable => LaneForm::Varying,
        }
    }

    /// The value of a uniform operand all of whose bits are known: a constant, or the size of a sub-group.
    fn known(&self, value: Value, form: LaneForm) -> Option<u64> {
        let bits = self.func.dfg.ty(value).elem.bits();
        self.func.dfg.as_splat_bits(value).or_else(|| {
            let affine = form.affine().filter(|affine| affine.is_uniform() && affine.low_bits.bits() >= bits)?;
            Some(affine.low_bits.narrowed(bits).value())
        })
    }

    /// The constant count of a shift.
    fn count(&self, data: &InstData, bits: u32) -> Option<u32> {
        Some((self.func.dfg.as_splat_bits(data.args[1])? % u64::from(bits)) as u32)
    }

    /// Whether the lanes of an affine value are in order as numbers: nothing wraps between the first and the last.
    pub(crate) fn does_not_wrap(&mut self, affine: Affine, value: Value, signed: bool) -> bool {
        let bits = self.func.dfg.ty(value).elem.bits();
        affine.is_uniform()
            || affine.stays_within(bits - u32::from(signed), self.assumptions.width)
            || self.ranges.of(value).excludes_wrapping(affine.stride, signed)
    }

    /// Whether the differences between lanes are the same for the numbers as for the bit patterns: no lane is across the
    /// wrap-around.
    fn keeps_offsets(&mut self, offsets: Offsets, value: Value, signed: bool) -> bool {
        let bits = self.func.dfg.ty(value).elem.bits();
        let range = self.ranges.of(value);
        let (low, high) = if signed {
            let (low, high) = range.as_signed();
            (i128::from(low), i128::from(high))
        } else {
            let (low, high) = range.unsigned();
            (i128::from(low), i128::from(high))
        };
        let (least, most) = offsets.reach();
        high - low + i128::from(most.max(-least)) < 1 << bits
    }

    /// As [`Self::does_not_wrap`], but also for lanes that do not exist because they are beyond the end of a row.
    fn no_lane_wraps(&mut self, affine: Affine, value: Value, signed: bool) -> bool {
        let bits = self.func.dfg.ty(value).elem.bits() - u32::from(signed);
        let width = self.assumptions.width;
        let (reach, range) = (affine.reach(width) as i128, self.ranges.of(value));
        let (low, high) = if signed {
            let (low, high) = range.as_signed();
            (i128::from(low) + (1 << bits), i128::from(high) + (1 << bits))
        } else {
            let (low, high) = range.unsigned();
            (i128::from(low), i128::from(high))
        };
        affine.stays_within(bits, width)
            || if affine.stride >= 0 { high + reach < 1 << (bits + u32::from(signed)) } else { low >= reach }
    }

    fn extension(&mut self, inst: Inst, ty: Type, operand: LaneForm) -> LaneForm {
        let data = self.func.dfg.inst(inst);
        let bits = self.func.dfg.ty(data.args[0]).elem.bits();
        if let LaneForm::Offsets(offsets) = operand {
            let straight = self.keeps_offsets(offsets, data.args[0], data.op == Opcode::Sext);
            return if straight { operand } else { LaneForm::Varying };
        }
        let Some((affine, conditions)) = operand.split() else { return LaneForm::Varying };
        if let Some(value) = self.known(data.args[0], operand) {
            let sign = 1 << (bits - 1);
            let value = if data.op == Opcode::Sext { (value ^ sign).wrapping_sub(sign) } else { value };
            let low_bits = LowBits::exact(value).narrowed(ty.elem.bits());
            return LaneForm::new(Affine { low_bits, ..affine }, conditions);
        }
        if self.does_not_wrap(affine, data.args[0], data.op == Opcode::Sext) {
            return LaneForm::new(affine, conditions);
        }
        let possible = affine.reach(self.assumptions.width) < 1 << (bits - 1);
        conditions
            .with(inst)
            .filter(|_| possible)
            .map_or(LaneForm::Varying, |conditions| LaneForm::new(affine, conditions))
    }

    fn min_max(&mut self, inst: Inst, operands: &[LaneForm]) -> LaneForm {
        let data = self.func.dfg.inst(inst);
        let (Some((a, if_a)), Some((b, if_b))) = (operands[0].split(), operands[1].split()) else {
            return LaneForm::Varying;
        };
        let Some(conditions) = if_a.union(if_b) else { return LaneForm::Varying };
        // If nothing wraps, the operand that is smaller in one lane is smaller in all lanes.
        let signed = [Opcode::Smin, Opcode::Smax].contains(&data.op);
        if let Some(affine) = a.join(b)
            && self.does_not_wrap(a, data.args[0], signed)
            && self.does_not_wrap(b, data.args[1], signed)
        {
            return LaneForm::new(affine, conditions);
        }
        // A clamp without effect.
        let (affine, bound) = if b.is_uniform() { (a, b) } else { (b, a) };
        let bits = self.func.dfg.ty(data.args[0]).elem.bits();
        let possible = bound.is_uniform() && affine.reach(self.assumptions.width) < 1 << (bits - 1);
        conditions
            .with(inst)
            .filter(|_| possible)
            .map_or(LaneForm::Varying, |conditions| LaneForm::new(affine, conditions))
    }

    /// The checks that an instruction needs for operands in these forms.
    pub(crate) fn checks(&mut self, inst: Inst, operands: &[LaneForm]) -> SmallVec<[Check; 2]> {
        let data = self.func.dfg.inst(inst);
        let affines: SmallVec<[Affine; 2]> = operands.iter().filter_map(|form| Some(form.split()?.0)).collect();
        let which = usize::from(affines.first().is_none_or(|affine| affine.is_uniform()));
        let (Some(&affine), Some(&value)) = (affines.get(which), data.args.get(which)) else { return SmallVec::new() };
        let mut checks = SmallVec::new();
        let extension = [Opcode::Zext, Opcode::Sext].contains(&data.op);
        let excludes = if extension { Excludes::ExtendedWraps } else { Excludes::Clamps };
        let signed = [Opcode::Sext, Opcode::Smin, Opcode::Smax].contains(&data.op);
        let (at_most, at_least) = if signed { (IntCond::Sle, IntCond::Sge) } else { (IntCond::Ule, IntCond::Uge) };
        let reach = affine.reach(self.assumptions.width) as u64;
        let rising = affine.stride >= 0;
        checks.extend(self.wrap_check(affine, value, signed).map(|check| Check { excludes, ..check }));
        if !extension && let Some(&bound) = data.args.get(1 - which) {
            let last = if rising { reach as i64 } else { -(reach as i64) };
            let bound = Bound::Shared(bound);
            // The lane that is nearest to the bound must be on the right side of it.
            checks.push(if [Opcode::Smin, Opcode::Umin].contains(&data.op) {
                Check { excludes, value, plus: last.max(0), cond: at_most, bound }
            } else {
                Check { excludes, value, plus: last.min(0), cond: at_least, bound }
            });
        }
        checks
    }

    /// The check that an affine value does not wrap within the pack, if one is needed.
    pub(crate) fn wrap_check(&mut self, affine: Affine, value: Value, signed: bool) -> Option<Check> {
        if self.no_lane_wraps(affine, value, signed) {
            return None;
        }
        let reach = affine.reach(self.assumptions.width) as u64;
        let mask = self.func.dfg.ty(value).elem.mask();
        let (lowest, highest) = if signed { (mask ^ mask >> 1, mask >> 1) } else { (0, mask) };
        let (at_most, at_least) = if signed { (IntCond::Sle, IntCond::Sge) } else { (IntCond::Ule, IntCond::Uge) };
        let (cond, bits) = if affine.stride >= 0 { (at_most, highest - reach) } else { (at_least, lowest + reach) };
        Some(Check { excludes: Excludes::ExtendedWraps, value, plus: 0, cond, bound: Bound::Bits(bits) })
    }

    /// `and`, `or`, `xor` of an affine value with a value whose bits are known where the lanes differ.
    fn bitwise(&mut self, data: &InstData, ty: Type, operands: &[LaneForm]) -> LaneForm {
        let (Some(a), Some(b)) = (operands[0].affine(), operands[1].affine()) else {
            return self.bitwise_per_lane(data.op, ty, operands);
        };
        let width = self.assumptions.width;
        let (affine, other, value) = if b.is_uniform() { (a, b, data.args[0]) } else { (b, a, data.args[1]) };
        if !other.is_uniform() {
            return self.bitwise_per_lane(data.op, ty, operands);
        }
        let known = other.low_bits.narrowed(ty.elem.bits());
        let is_known = known.bits() == ty.elem.bits();
        let low = if is_known {
            let bits = known.value();
            if data.op == Opcode::And {
                affine.low_bits.and(bits)
            } else if data.op == Opcode::Or {
                affine.low_bits.or(bits)
            } else {
                affine.low_bits.xor(bits)
            }
        } else {
            // Bits that are known in both operands.
            let both = affine.low_bits.bits().min(known.bits());
            let bits = apply(data.op, affine.low_bits.value(), known.value());
            LowBits::exact(bits).narrowed(both)
        };
        // What a mask clears beyond the width says nothing of an extended value.
        let low = low.narrowed(ty.elem.bits());
        if affine.is_uniform() {
            return LaneForm::Affine(Affine::uniform(Scope::Pack, low));
        }
        // A mask that keeps every bit that the value can have has no effect.
        if data.op == Opcode::And && is_known {
            let (_, high) = self.ranges.of(value).unsigned();
            if known.value().trailing_ones() >= 64 - high.leading_zeros() {
                return LaneForm::Affine(affine);
            }
        }
        // Below some bit the lanes count without a carry, and from that bit on they are equal.
        let Some(top) = (0..=known.bits()).find(|&bits| affine.stays_within(bits, width)) else {
            return self.bitwise_below_stride(data.op, affine, known, ty, low);
        };
        let below = if top >= 64 { u64::MAX } else { (1 << top) - 1 };
        let lane = |k: u32| {
            let bits = affine.low_bits.value().wrapping_add((affine.stride as u64).wrapping_mul(k.into()));
            (apply(data.op, bits, known.value()) & below) as i64
        };
        let stride = lane(1).wrapping_sub(lane(0));
        if (1..width).all(|k| lane(k).wrapping_sub(lane(k - 1)) == stride) {
            LaneForm::Affine(Affine { stride, low_bits: low, scope: Scope::Pack }.fit(ty.elem.bits()))
        } else {
            self.bitwise_per_lane(data.op, ty, operands)
        }
    }

    /// Bitwise ops whose operands agree in the upper bits in all lanes and have known lower bits.
    pub(crate) fn bitwise_per_lane(&self, op: Opcode, ty: Type, operands: &[LaneForm]) -> LaneForm {
        let width = self.assumptions.width;
        let &[a, b] = operands else { return LaneForm::Varying };
        let (Some(a), Some(b)) = (a.offsets(width), b.offsets(width)) else { return LaneForm::Varying };
        if width < 2 {
            return LaneForm::Varying;
        }
        let bits = ty.elem.bits();
        let most = a.low_bits.bits().min(b.low_bits.bits()).min(bits);
        let all = |top: u32| (0..width).all(|lane| a.lane(lane, top).is_some() && b.lane(lane, top).is_some());
        let Some(top) = (1..=most.min(MAX_BITS_PER_LANE)).find(|&top| all(top)) else { return LaneForm::Varying };
        let lane = |lane: u32| Some(apply(op, a.lane(lane, top)?, b.lane(lane, top)?));
        let first = lane(0).unwrap_or(0);
        let low = LowBits::exact(apply(op, a.low_bits.value(), b.low_bits.value())).narrowed(most);
        let by = |at: u32| Some(lane(at)? as i64 - first as i64);
        LaneForm::from_offsets(Offsets::new(low, bits, width, by), width)
    }

    /// Bitwise ops that change only bits below the lowest one of the stride: the change is the same in all lanes.
    fn bitwise_below_stride(&mut self, op: Opcode, affine: Affine, known: LowBits, ty: Type, low: LowBits) -> LaneForm {
        if known.bits() < ty.elem.bits() {
            return LaneForm::Varying;
        }
        let still = affine.stride.trailing_zeros();
        let (above, all) = (known.value() >> still, ty.elem.mask() >> still);
        if op == Opcode::And {
            match above {
                // Only bits that are the same in all lanes are kept.
                0 => LaneForm::Affine(Affine::uniform(Scope::Pack, low)),
                above if above == all => LaneForm::Affine(Affine { low_bits: low, ..affine }),
                _ => LaneForm::Varying,
            }
        } else if above == 0 {
            LaneForm::Affine(Affine { low_bits: low, ..affine })
        } else {
            LaneForm::Varying
        }
    }

    fn shift_right(&mut self, data: &InstData, ty: Type, operands: &[LaneForm]) -> LaneForm {
        let Some(count) = self.count(data, ty.elem.bits()) else { return LaneForm::Varying };
        let Some(affine) = operands[0].affine() else {
            return self.shift_right_per_lane(operands[0], count, ty.elem.bits());
        };
        // A sign bit that is shifted in is not a known bit.
        let low = affine.low_bits.narrowed(ty.elem.bits()).shifted_right(count);
        if affine.is_uniform() || affine.stays_within(count, self.assumptions.width) {
            return LaneForm::Affine(Affine::uniform(Scope::Pack, low));
        }
        let whole = affine.stride.trailing_zeros() >= count;
        if whole && self.does_not_wrap(affine, data.args[0], data.op == Opcode::Ashr) {
            LaneForm::Affine(Affine { stride: affine.stride >> count, low_bits: low, scope: Scope::Pack })
        } else {
            self.shift_right_per_lane(operands[0], count, ty.elem.bits())
        }
    }

    /// A right shift of a value whose upper bits agree in all lanes and whose lower bits are known.
    fn shift_right_per_lane(&self, operand: LaneForm, count: u32, bits: u32) -> LaneForm {
        let width = self.assumptions.width;
        let Some(a) = operand.offsets(width).filter(|_| width > 1) else { return LaneForm::Varying };
        let most = a.low_bits.bits().min(bits - 1).min(MAX_BITS_PER_LANE);
        let all = |top: u32| (0..width).all(|lane| a.lane(lane, top).is_some());
        let Some(top) = (count.max(1)..=most).find(|&top| all(top)) else { return LaneForm::Varying };
        let lane = |lane: u32| Some((a.lane(lane, top)? >> count) as i64);
        let first = lane(0).unwrap_or(0);
        let by = |at: u32| Some(lane(at)? - first);
        LaneForm::from_offsets(Offsets::new(a.low_bits.narrowed(bits).shifted_right(count), bits, width, by), width)
    }

    /// Division and remainder by known divisors.
    fn divide(&mut self, data: &InstData, ty: Type, operands: &[LaneForm]) -> LaneForm {
        let signed = [Opcode::Sdiv, Opcode::Srem].contains(&data.op);
        let quotient = [Opcode::Udiv, Opcode::Sdiv].contains(&data.op);
        let (Some(affine), Some(by)) = (operands[0].affine(), self.known(data.args[1], operands[1])) else {
            return LaneForm::Varying;
        };
        let sign = ty.elem.mask() ^ ty.elem.mask() >> 1;
        let Ok(step) = i64::try_from(by) else { return LaneForm::Varying };
        if by == 0 || signed && by & sign != 0 {
            return LaneForm::Varying;
        }
        // Division rounds toward zero; for dividends that are not negative this equals rounding toward minus infinity.
        if signed && self.ranges.of(data.args[0]).as_signed().0 < 0 {
            return LaneForm::Varying;
        }
        let power = by.is_power_of_two().then(|| by.trailing_zeros());
        let low = match power {
            Some(count) if quotient => affine.low_bits.narrowed(ty.elem.bits()).shifted_right(count),
            Some(_) => affine.low_bits.and(by - 1),
            None => LowBits::NONE,
        };
        if affine.is_uniform() {
            return LaneForm::Affine(Affine::uniform(Scope::Pack, low));
        }
        if let Some(count) = power
            && affine.stays_within(count, self.assumptions.width)
        {
            return LaneForm::Affine(if quotient {
                Affine::uniform(Scope::Pack, low)
            } else {
                Affine { low_bits: low, ..affine }
            });
        }
        if affine.stride % step == 0 && self.does_not_wrap(affine, data.args[0], signed) {
            let stride = if quotient { affine.stride / step } else { 0 };
            return LaneForm::Affine(Affine { stride, low_bits: low, scope: Scope::Pack });
        }
        LaneForm::Varying
    }

    /// Comparisons that have the same result in all lanes.
    fn compare(&mut self, data: &InstData, operands: &[LaneForm]) -> LaneForm {
        let (Some(a), Some(b), &Imm::IntCond(cond)) = (operands[0].affine(), operands[1].affine(), &data.imm) else {
            return LaneForm::Varying;
        };
        let shared = LaneForm::uniform(Scope::Pack);
        let signed = match cond {
            IntCond::Eq | IntCond::Ne => return if a.stride == b.stride { shared } else { LaneForm::Varying },
            IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => false,
            IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge => true,
        };
        if a.stride == b.stride {
            let straight = self.does_not_wrap(a, data.args[0], signed) && self.does_not_wrap(b, data.args[1], signed);
            return if straight { shared } else { LaneForm::Varying };
        }
        // An affine value that stays between two multiples of a power of two, compared with such a multiple.
        let (affine, bound, cond) = if b.is_uniform() { (a, b, cond) } else { (b, a, cond.swapped()) };
        if !bound.is_uniform() {
            return LaneForm::Varying;
        }
        let bits = self.func.dfg.ty(data.args[0]).elem.bits() - u32::from(signed);
        let from = match cond {
            IntCond::Ult | IntCond::Uge | IntCond::Slt | IntCond::Sge => bound.low_bits,
            // `x <= n` is `x < n + 1`. If `n` is the largest number, `n + 1` wraps, and `x <= n` holds in all lanes.
            IntCond::Ule | IntCond::Ugt | IntCond::Sle | IntCond::Sgt => bound.low_bits.plus(LowBits::exact(1)),
            IntCond::Eq | IntCond::Ne => return LaneForm::Varying,
        };
        let zeros = from.bits().min(from.value().trailing_zeros()).min(bits);
        if affine.stays_within(zeros, self.assumptions.width) { shared } else { LaneForm::Varying }
    }
}

/// The most known low bits for which lanes are evaluated one by one.
const MAX_BITS_PER_LANE: u32 = 16;

/// The result of an op that is linear in its operands, with the checks that the operands need.
fn linear(operands: &[LaneForm], bits: u32, width: u32, f: &dyn Fn(Affine, Affine) -> Option<Affine>) -> LaneForm {
    let zero = LaneForm::Affine(Affine::uniform(Scope::Launch, LowBits::exact(0)));
    if operands.iter().any(|form| matches!(form, LaneForm::Offsets(_))) {
        let second = operands.get(1).copied().unwrap_or(zero);
        let (Some(a), Some(b)) = (operands[0].offsets(width), second.offsets(width)) else { return LaneForm::Varying };
        // The step from the first lane to another one, as an affine value.
        let step = |of: Offsets, lane: u32| Affine { stride: of.by(lane), low_bits: of.low_bits, scope: Scope::Pack };
        let Some(first) = f(step(a, 0), step(b, 0)) else { return LaneForm::Varying };
        let by = |lane: u32| Some(f(step(a, lane), step(b, lane))?.stride);
        return LaneForm::from_offsets(Offsets::new(first.low_bits, bits, width, by), width);
    }
    let pair = operands[0].split().zip(operands.get(1).copied().unwrap_or(zero).split());
    let Some(((a, if_a), (b, if_b))) = pair else { return LaneForm::Varying };
    let affine = f(a, b).map(|affine| affine.fit(bits)).zip(if_a.union(if_b));
    affine.map_or(LaneForm::Varying, |(affine, conditions)| LaneForm::new(affine, conditions))
}

/// The product of an affine value and a constant, truncated to `bits` bits.
fn times(a: Affine, b: Affine, bits: u32) -> Option<Affine> {
    let low = a.low_bits.times(b.low_bits);
    if a.is_uniform() && b.is_uniform() {
        return Some(Affine::uniform(a.scope.max(b.scope), low));
    }
    let (affine, factor) = if b.is_uniform() { (a, b) } else { (b, a) };
    let known = factor.is_uniform() && factor.low_bits.bits() >= bits;
    known.then(|| Affine { low_bits: low, ..affine.times(factor.low_bits.value()) })
}

/// One of the three bitwise ops.
fn apply(op: Opcode, a: u64, b: u64) -> u64 {
    if op == Opcode::And {
        a & b
    } else if op == Opcode::Or {
        a | b
    } else {
        a ^ b
    }
}
