//! Ranges: intervals that contain an integer value.
//!
//! Ranges are computed on demand, a few definitions deep; an unknown value has the full range. Only data flow is considered,
//! never the branches that lead to a block: a range must hold for inactive lanes too, because the pack computes their values
//! along with the others.
//!
//! A range is an interval on the circle of numbers of the value's width, so it may contain zero anywhere. Sign and wrapping
//! matter only when an op interprets it.

use clift_kir::analysis::Cfg;
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Function, Inst, Opcode, Value};
use rustc_hash::FxHashMap;

use super::shape::Assumptions;
use crate::target::machine::MAX_LANES;

/// The numbers `first`, `first + 1`, ... `first + extent`, wrapping in the value's width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    first: u64,
    extent: u64,
    /// All bits of the width.
    mask: u64,
}

impl Range {
    fn full(mask: u64) -> Range {
        Range { first: 0, extent: mask, mask }
    }

    fn new(first: u64, extent: u64, mask: u64) -> Range {
        if extent >= mask { Range::full(mask) } else { Range { first: first & mask, extent, mask } }
    }

    /// The range between two unsigned numbers, the lower one first.
    fn between(low: u64, high: u64, mask: u64) -> Range {
        if low <= high && high <= mask { Range::new(low, high - low, mask) } else { Range::full(mask) }
    }

    /// The range between two signed numbers, the lower one first.
    fn signed(low: i64, high: i64, mask: u64) -> Range {
        Range::new(low as u64, high.wrapping_sub(low) as u64, mask)
    }

    fn last(self) -> u64 {
        self.first.wrapping_add(self.extent) & self.mask
    }

    /// The lowest and the highest number, unsigned.
    pub(crate) fn unsigned(self) -> (u64, u64) {
        if self.first <= self.last() { (self.first, self.last()) } else { (0, self.mask) }
    }

    /// The lowest and the highest number, signed.
    pub(crate) fn as_signed(self) -> (i64, i64) {
        let sign = self.mask ^ self.mask >> 1;
        let turned = Range { first: self.first ^ sign, ..self };
        let (low, high) = turned.unsigned();
        let extend = |bits: u64| ((bits ^ sign) | if bits & sign == 0 { !self.mask } else { 0 }) as i64;
        (extend(low), extend(high))
    }

    /// Whether two neighbouring lanes in the range whose values differ by `step` never have the wrap-around of the unsigned, or
    /// signed, numbers between them.
    pub(crate) fn excludes_wrapping(self, step: i64, signed: bool) -> bool {
        let sign = self.mask ^ self.mask >> 1;
        let first = if signed { self.first ^ sign } else { self.first };
        // The range does not wrap itself, and it is too short for a step across the wrap-around.
        first.checked_add(self.extent).is_some_and(|last| last <= self.mask)
            && u128::from(self.extent) + u128::from(step.unsigned_abs()) <= u128::from(self.mask)
    }

    /// The smaller of two ranges that contain both.
    fn union(self, other: Range) -> Range {
        // The range that begins where one of them begins and reaches to the end of the other.
        let from = |a: Range, b: Range| {
            let distance = b.first.wrapping_sub(a.first) & a.mask;
            let extent = distance.saturating_add(b.extent).max(a.extent);
            Range::new(a.first, extent, a.mask)
        };
        let (a, b) = (from(self, other), from(other, self));
        if a.extent <= b.extent { a } else { b }
    }

    fn plus(self, other: Range) -> Range {
        Range::new(self.first.wrapping_add(other.first), self.extent.saturating_add(other.extent), self.mask)
    }

    fn negated(self) -> Range {
        Range::new(self.last().wrapping_neg(), self.extent, self.mask)
    }

    fn times(self, other: Range) -> Range {
        if other.extent == 0 {
            let factor = other.first;
            return match self.extent.checked_mul(factor) {
                Some(extent) => Range::new(self.first.wrapping_mul(factor), extent, self.mask),
                None => Range::full(self.mask),
            };
        }
        let ((low, high), (low2, high2)) = (self.unsigned(), other.unsigned());
        match high.checked_mul(high2) {
            Some(high) => Range::between(low.wrapping_mul(low2), high, self.mask),
            None => Range::full(self.mask),
        }
    }

    fn constant(self) -> Option<u64> {
        (self.extent == 0).then_some(self.first)
    }
}

/// How many definitions deep a query looks.
const DEPTH: u32 = 12;

/// The ranges of a function's values, computed on demand.
pub(crate) struct Ranges<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    assumptions: Assumptions,
    known: FxHashMap<Value, Range>,
}

impl<'a> Ranges<'a> {
    pub(crate) fn new(func: &'a Function, cfg: &'a Cfg, assumptions: Assumptions) -> Ranges<'a> {
        Ranges { func, cfg, assumptions, known: FxHashMap::default() }
    }

    /// The range of a scalar integer over all work-items.
    pub(crate) fn of(&mut self, value: Value) -> Range {
        self.find(value, DEPTH)
    }

    fn find(&mut self, value: Value, depth: u32) -> Range {
        let ty = self.func.dfg.ty(value);
        let mask = ty.elem.mask();
        if ty.is_vector() || depth == 0 {
            return Range::full(mask);
        }
        if let Some(&range) = self.known.get(&value) {
            return range;
        }
        // A value in a cycle may be anything while it is being computed.
        self.known.insert(value, Range::full(mask));
        let range = match self.func.dfg.def(value) {
            ValueDef::Result(inst, 0) => self.result(inst, mask, depth - 1),
            ValueDef::Result(..) => Range::full(mask),
            ValueDef::Param(block, index) => self.param(block, usize::from(index), mask, depth - 1),
        };
        self.known.insert(value, range);
        range
    }

    /// The union over all incoming edges.
    fn param(&mut self, block: Block, index: usize, mask: u64, depth: u32) -> Range {
        let mut all: Option<Range> = None;
        for &pred in self.cfg.preds(block) {
            let Some(terminator) = self.func.layout.terminator(pred) else { return Range::full(mask) };
            for call in self.func.dfg.targets(terminator) {
                if call.block == block {
                    let range = self.find(call.args[index], depth);
                    all = Some(all.map_or(range, |all| all.union(range)));
                }
            }
            if all == Some(Range::full(mask)) {
                break;
            }
        }
        all.unwrap_or(Range::full(mask))
    }

    /// Whether an instruction subtracts the global offset from the global id.
    fn is_id_without_offset(&self, inst: Inst) -> bool {
        let query = |value: Value| {
            let data = self.func.dfg.inst(self.func.dfg.def_inst(value)?);
            Some((data.op, data.imm.dim()))
        };
        let args = &self.func.dfg.inst(inst).args;
        let (id, offset) = (query(args[0]), query(args[1]));
        matches!((id, offset), (Some((Opcode::GlobalId, a)), Some((Opcode::GlobalOffset, b))) if a == b)
    }

    fn result(&mut self, inst: Inst, mask: u64, depth: u32) -> Range {
        let data = self.func.dfg.inst(inst);
        if data.op == Opcode::Isub && self.is_id_without_offset(inst) {
            return self.below(self.assumptions.ids_below, mask);
        }
        let full = Range::full(mask);
        let mut arg = |i: usize| self.find(data.args[i], depth);
        match data.op {
            Opcode::Const => {
                self.func.dfg.as_splat_bits(self.func.dfg.result(inst)).map_or(full, |bits| Range::new(bits, 0, mask))
            }
            Opcode::Iadd => arg(0).plus(arg(1)),
            Opcode::Isub => arg(0).plus(arg(1).negated()),
            Opcode::Ineg => arg(0).negated(),
            Opcode::Imul => arg(0).times(arg(1)),
            Opcode::Shl => match arg(1).constant() {
                Some(count) => arg(0).times(Range::new(1 << (count % bits_of(mask)), 0, mask)),
                None => full,
            },
            Opcode::Lshr => {
                let (low, high) = arg(0).unsigned();
                match arg(1).constant().map(|count| count % bits_of(mask)) {
                    Some(count) => Range::between(low >> count, high >> count, mask),
                    None => Range::between(0, high, mask),
                }
            }
            Opcode::Ashr => {
                let (low, high) = arg(0).as_signed();
                match arg(1).constant() {
                    Some(count) => Range::signed(low >> (count % bits_of(mask)), high >> (count % bits_of(mask)), mask),
                    None => Range::signed(low.min(0), high.max(-1), mask),
                }
            }
            Opcode::Udiv => {
                let ((low, high), (least, most)) = (arg(0).unsigned(), arg(1).unsigned());
                // Division by zero gives 0.
                Range::between(if least == 0 { 0 } else { low / most }, high / least.max(1), mask)
            }
            Opcode::Urem => {
                let ((_, high), (_, most)) = (arg(0).unsigned(), arg(1).unsigned());
                Range::between(0, high.min(most.saturating_sub(1)), mask)
            }
            Opcode::Sdiv => match (arg(0).as_signed(), arg(1).as_signed()) {
                ((low, high), (least, most)) if low >= 0 && least > 0 => Range::signed(low / most, high / least, mask),
                _ => full,
            },
            Opcode::Srem => match (arg(0).as_signed(), arg(1).as_signed()) {
                ((low, high), (least, most)) if least > 0 => {
                    Range::signed(if low >= 0 { 0 } else { low.max(1 - most) }, high.clamp(0, most - 1), mask)
                }
                _ => full,
            },
            Opcode::And => {
                let ((_, a), (_, b)) = (arg(0).unsigned(), arg(1).unsigned());
                Range::between(0, a.min(b), mask)
            }
            Opcode::Or => {
                let ((a, high_a), (b, high_b)) = (arg(0).unsigned(), arg(1).unsigned());
                Range::between(a.max(b), all_below(high_a | high_b), mask)
            }
            Opcode::Xor => {
                let ((_, a), (_, b)) = (arg(0).unsigned(), arg(1).unsigned());
                Range::between(0, all_below(a | b), mask)
            }
            Opcode::Not => {
                let range = arg(0);
                Range::new(!range.last(), range.extent, mask)
            }
            Opcode::Umin | Opcode::Umax | Opcode::Smin | Opcode::Smax => min_max(data.op, arg(0), arg(1), mask),
            Opcode::Iabs => {
                let (low, high) = arg(0).as_signed();
                let most = low.unsigned_abs().max(high.unsigned_abs());
                Range::between(if low >= 0 { low as u64 } else { 0 }, most, mask)
            }
            Opcode::Clz | Opcode::Ctz | Opcode::Popcnt => Range::between(0, bits_of(mask), mask),
            Opcode::Select => {
                let (then, otherwise) = (self.find(data.args[1], depth), self.find(data.args[2], depth));
                then.union(otherwise)
            }
            Opcode::Zext => {
                let (low, high) = arg(0).unsigned();
                Range::between(low, high, mask)
            }
            Opcode::Sext => {
                let (low, high) = arg(0).as_signed();
                Range::signed(low, high, mask)
            }
            Opcode::Itrunc => {
                let wide = arg(0);
                Range::new(wide.first, wide.extent, mask)
            }
            Opcode::GlobalId | Opcode::GlobalSize | Opcode::GlobalOffset => {
                self.below(self.assumptions.ids_below, mask)
            }
            Opcode::GroupId | Opcode::NumGroups => self.below(self.assumptions.ids_below, mask),
            Opcode::LocalId | Opcode::LocalSize | Opcode::EnqueuedLocalSize | Opcode::LocalLinearId => {
                self.below(self.assumptions.local_below, mask)
            }
            Opcode::WorkDim => Range::between(1, 3, mask),
            Opcode::SubGroupLocalId => Range::between(0, u64::from(self.assumptions.width) - 1, mask),
            Opcode::SubGroupSize | Opcode::SubGroupId | Opcode::NumSubGroups => {
                self.below(self.assumptions.local_below, mask)
            }
            Opcode::MaxSubGroupSize => Range::between(1, u64::from(MAX_LANES), mask),
            Opcode::EnqueuedNumSubGroups => full,
            Opcode::Icmp | Opcode::Fcmp | Opcode::InSpace | Opcode::Any | Opcode::All | Opcode::MaskBits => full,
            Opcode::PackAny => full,
            Opcode::Undef | Opcode::Arg | Opcode::ArgAddr | Opcode::SlotAddr | Opcode::GlobalAddr | Opcode::Addr => {
                full
            }
            Opcode::Umulh | Opcode::Smulh | Opcode::UaddSat | Opcode::SaddSat | Opcode::UsubSat | Opcode::SsubSat => {
                full
            }
            Opcode::Rotl
            | Opcode::Bitrev
            | Opcode::Bitcast
            | Opcode::PtrToInt
            | Opcode::IntToPtr
            | Opcode::SpaceCast => full,
            Opcode::Fadd | Opcode::Fsub | Opcode::Fmul | Opcode::Fdiv | Opcode::Fma | Opcode::Fneg | Opcode::Fabs => {
                full
            }
            Opcode::Fcopysign | Opcode::Fmin | Opcode::Fmax | Opcode::Sqrt | Opcode::Ceil | Opcode::Floor => full,
            Opcode::Trunc | Opcode::Rint | Opcode::FptoS | Opcode::FptoU | Opcode::StoFp | Opcode::UtoFp => full,
            Opcode::FptoFp | Opcode::Splat | Opcode::Extract | Opcode::Insert | Opcode::ExtractDyn => full,
            Opcode::Lookup => full,
            Opcode::InsertDyn | Opcode::Shuffle | Opcode::Vec | Opcode::Reduce => full,
            Opcode::Load | Opcode::MaskedLoad | Opcode::Gather | Opcode::Store | Opcode::MaskedStore => full,
            Opcode::Scatter | Opcode::Memcpy | Opcode::Memset | Opcode::AtomicLoad | Opcode::AtomicStore => full,
            Opcode::AtomicRmw | Opcode::AtomicCmpxchg | Opcode::Fence | Opcode::GlobalLinearId => full,
            Opcode::GroupReduce | Opcode::GroupScan | Opcode::GroupScanExclusive | Opcode::GroupBallot => full,
            Opcode::GroupShuffle
            | Opcode::Barrier
            | Opcode::NamedBarrier
            | Opcode::Yield
            | Opcode::Deadlock
            | Opcode::Call
            | Opcode::LibCall => full,
            Opcode::Printf
            | Opcode::Request
            | Opcode::Clock
            | Opcode::Check
            | Opcode::ImageRead
            | Opcode::ImageWrite => full,
            Opcode::Jump | Opcode::Branch | Opcode::Switch | Opcode::Ret | Opcode::Unreachable => full,
        }
    }

    /// A number below a bound; the full range if there is no bound.
    fn below(&self, bound: Option<u64>, mask: u64) -> Range {
        bound.map_or(Range::full(mask), |bound| Range::between(0, bound.saturating_sub(1), mask))
    }
}

fn bits_of(mask: u64) -> u64 {
    mask.count_ones().into()
}

/// The largest number with as many bits as this one.
fn all_below(number: u64) -> u64 {
    u64::MAX.checked_shr(number.leading_zeros()).unwrap_or(0)
}

/// The range of a minimum or maximum.
fn min_max(op: Opcode, a: Range, b: Range, mask: u64) -> Range {
    let (unsigned, signed) = ((a.unsigned(), b.unsigned()), (a.as_signed(), b.as_signed()));
    if op == Opcode::Umin {
        Range::between(unsigned.0.0.min(unsigned.1.0), unsigned.0.1.min(unsigned.1.1), mask)
    } else if op == Opcode::Umax {
        Range::between(unsigned.0.0.max(unsigned.1.0), unsigned.0.1.max(unsigned.1.1), mask)
    } else if op == Opcode::Smin {
        Range::signed(signed.0.0.min(signed.1.0), signed.0.1.min(signed.1.1), mask)
    } else {
        Range::signed(signed.0.0.max(signed.1.0), signed.0.1.max(signed.1.1), mask)
    }
}
