//! Integers and addresses as sums of products with constants, in an iteration of a loop and in the one after it.
//!
//! Two addresses with equal forms are equal. The form of the next iteration has what the latch passes in place of the
//! parameters of the header, so that `a[i - 1]` in the next iteration is seen to be `a[i]` in this one. Sums wrap in the width
//! of their type. Under an extension they are kept as they are unless the source promises that they do not wrap.

use clift_kir::analysis::{LoopForest, LoopId};
use clift_kir::dfg::ValueDef;
use clift_kir::inst::WrapFlags;
use clift_kir::{Block, Function, Imm, Opcode, Value};

use super::loop_form;

/// How many definitions deep a value is looked at.
const MAX_DEPTH: u32 = 12;

/// The most terms of a form.
const MAX_TERMS: usize = 8;

/// What a term is a multiple of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Atom {
    Value(Value),
    /// The extension of a sum that may wrap.
    Extended {
        is_signed: bool,
        bits: u32,
        sum: Box<Linear>,
    },
}

/// A sum of multiples of atoms and a constant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Linear {
    /// Sorted, without duplicates and zeros.
    terms: Vec<(Atom, i64)>,
    constant: i64,
}

impl Linear {
    fn constant(constant: i64) -> Linear {
        Linear { terms: Vec::new(), constant }
    }

    fn atom(atom: Atom) -> Linear {
        Linear { terms: vec![(atom, 1)], constant: 0 }
    }

    /// The form plus a multiple of another one; `None` if it has too many terms.
    fn plus(mut self, other: Linear, factor: i64) -> Option<Linear> {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        for (atom, by) in other.terms {
            let by = by.wrapping_mul(factor);
            match self.terms.binary_search_by(|(old, _)| old.cmp(&atom)) {
                Ok(at) => self.terms[at].1 = self.terms[at].1.wrapping_add(by),
                Err(at) => self.terms.insert(at, (atom, by)),
            }
        }
        self.terms.retain(|&(_, by)| by != 0);
        (self.terms.len() <= MAX_TERMS).then_some(self)
    }

    fn times(self, factor: i64) -> Option<Linear> {
        Linear::default().plus(self, factor)
    }

    /// By how much the form is more than another one, if that is a constant where extended sums do not wrap. Where one does, the
    /// difference is another one by 2^32 at least.
    pub(crate) fn apart_from(&self, other: &Linear) -> Option<i64> {
        let difference = self.clone().unextended()?.plus(other.clone().unextended()?, -1)?;
        difference.terms.is_empty().then_some(difference.constant)
    }

    /// Two integers of at most 32 bits and a factor: the forms differ by the factor, or a multiple of it, if the integers
    /// differ. `None` if something else decides by how much they differ.
    pub(super) fn scaled_difference(&self, other: &Linear) -> Option<(Value, Value, u64)> {
        let difference = self.clone().plus(other.clone(), -1)?;
        let [
            (Atom::Extended { is_signed, bits, sum }, by),
            (Atom::Extended { is_signed: s, bits: b, sum: less }, minus),
        ] = difference.terms.as_slice()
        else {
            return None;
        };
        let alike = difference.constant == 0 && (is_signed, bits) == (s, b) && *by == minus.wrapping_neg();
        if !alike || *bits > 32 || by.unsigned_abs() > u64::from(u32::MAX) {
            return None;
        }
        let inner = sum.as_ref().clone().plus(less.as_ref().clone(), -1)?.fit(*bits);
        match inner.terms.as_slice() {
            &[(Atom::Value(x), 1), (Atom::Value(y), -1)] | &[(Atom::Value(x), -1), (Atom::Value(y), 1)] => {
                (inner.constant == 0).then_some((x, y, by.unsigned_abs()))
            }
            _ => None,
        }
    }

    /// With the sums under extensions from 32 bits as terms of this one.
    fn unextended(self) -> Option<Linear> {
        let mut whole = Linear::constant(self.constant);
        for (atom, by) in self.terms {
            let term = match atom {
                Atom::Value(_) => Linear::atom(atom),
                Atom::Extended { bits: 32, sum, .. } => sum.unextended()?,
                Atom::Extended { .. } => return None,
            };
            whole = whole.plus(term, by)?;
        }
        Some(whole)
    }

    /// The same number modulo 2 to the power of `bits`.
    fn fit(mut self, bits: u32) -> Linear {
        let unused = 64 - bits.clamp(1, 64);
        let fit = |number: i64| number << unused >> unused;
        self.constant = fit(self.constant);
        for (_, by) in &mut self.terms {
            *by = fit(*by);
        }
        self.terms.retain(|&(_, by)| by != 0);
        self
    }
}

/// Which iteration a form is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Iteration {
    This,
    /// The one after, in terms of values of this one.
    Next,
    /// The one after if the latch passes a value to a parameter of the header.
    NextWith {
        param: Value,
        value: Value,
    },
    /// This one with one value in place of another.
    ThisWith {
        of: Value,
        value: Value,
    },
}

/// The forms of values in a loop with one latch.
pub(crate) struct LinearForms<'a> {
    pub(crate) func: &'a Function,
    pub(crate) loops: &'a LoopForest,
    pub(crate) id: LoopId,
    pub(crate) latch: Block,
}

impl LinearForms<'_> {
    /// The form of a scalar in an iteration. `None` if it is not known in the next one, or too long.
    pub(crate) fn of(&self, value: Value, iteration: Iteration) -> Option<Linear> {
        self.within(value, iteration, MAX_DEPTH)
    }

    /// Whether a value is defined in the loop.
    pub(super) fn is_inside(&self, value: Value) -> bool {
        let home = self.func.def_block(value);
        home.is_some_and(|home| self.loops.contains(self.id, home))
    }

    /// What a parameter of the header is in another iteration.
    fn in_iteration(&self, value: Value, iteration: Iteration) -> Option<Value> {
        match iteration {
            Iteration::This => None,
            Iteration::ThisWith { of, value: other } => (of == value).then_some(other),
            Iteration::NextWith { param, value: passed } if param == value => Some(passed),
            Iteration::Next | Iteration::NextWith { .. } => self.next_of(value),
        }
    }

    /// What the latch passes to a parameter of the header.
    pub(super) fn next_of(&self, value: Value) -> Option<Value> {
        self.passed(value, self.latch)
    }

    /// What a block passes to a parameter of the header.
    pub(super) fn passed(&self, value: Value, from: Block) -> Option<Value> {
        let ValueDef::Param(block, index) = self.func.dfg.def(value) else { return None };
        let header = self.loops.get(self.id).header;
        let args = loop_form::args_of_edge(self.func, from, header).filter(|_| block == header)?;
        args.get(usize::from(index)).copied()
    }

    fn within(&self, value: Value, iteration: Iteration, depth: u32) -> Option<Linear> {
        let bits = self.func.dfg.ty(value).elem.bits();
        if let Some(constant) = self.constant(value, true) {
            return Some(Linear::constant(constant));
        }
        if let Some(next) = self.in_iteration(value, iteration) {
            return self.within(next, Iteration::This, depth.checked_sub(1)?);
        }
        self.sum(value, iteration, depth).unwrap_or_else(|| self.opaque(value, iteration)).map(|form| form.fit(bits))
    }

    /// A value that is not looked into.
    fn opaque(&self, value: Value, iteration: Iteration) -> Option<Linear> {
        let is_known = match iteration {
            Iteration::This | Iteration::ThisWith { .. } => true,
            Iteration::Next | Iteration::NextWith { .. } => !self.is_inside(value),
        };
        is_known.then(|| Linear::atom(Atom::Value(value)))
    }

    /// The form of the result of an op that is linear in its operands; `None` for other values.
    fn sum(&self, value: Value, iteration: Iteration, depth: u32) -> Option<Option<Linear>> {
        let depth = depth.checked_sub(1)?;
        let data = self.func.dfg.inst(self.func.dfg.def_inst(value)?);
        let of = |value: Value| self.within(value, iteration, depth);
        let form = match (data.op, data.args.as_slice()) {
            (Opcode::Iadd, &[a, b]) => of(a).zip(of(b)).and_then(|(a, b)| a.plus(b, 1)),
            (Opcode::Isub, &[a, b]) => of(a).zip(of(b)).and_then(|(a, b)| a.plus(b, -1)),
            (Opcode::Ineg, &[a]) => of(a).and_then(|a| a.times(-1)),
            (Opcode::Imul, &[a, b]) => {
                let factor = self.constant(b, true)?;
                of(a).and_then(|a| a.times(factor))
            }
            (Opcode::Shl, &[a, b]) => {
                let count = self.shift_count(value, b)?;
                of(a).and_then(|a| a.times(1 << count))
            }
            (Opcode::Addr, &[base, ref index @ ..]) => {
                let &Imm::Addr { scale, disp } = &data.imm else { return None };
                let base = of(base).and_then(|base| base.plus(Linear::constant(disp), 1));
                match index {
                    [] => base,
                    &[index, ..] => base.zip(of(index)).and_then(|(base, index)| base.plus(index, scale as i64)),
                }
            }
            (Opcode::Sext, &[a]) => self.extended(a, true, iteration, depth),
            (Opcode::Zext, &[a]) => self.extended(a, false, iteration, depth),
            _ => return None,
        };
        Some(form)
    }

    /// The form of the extension of a value.
    fn extended(&self, value: Value, is_signed: bool, iteration: Iteration, depth: u32) -> Option<Linear> {
        if let Some(constant) = self.constant(value, is_signed) {
            return Some(Linear::constant(constant));
        }
        let depth = depth.checked_sub(1)?;
        if let Some(next) = self.in_iteration(value, iteration) {
            return self.extended(next, is_signed, Iteration::This, depth);
        }
        let bits = self.func.dfg.ty(value).elem.bits();
        let promised = if is_signed { WrapFlags::NO_SIGNED } else { WrapFlags::NO_UNSIGNED };
        if let Some(inst) = self.func.dfg.def_inst(value) {
            let data = self.func.dfg.inst(inst);
            let of = |value: Value| self.extended(value, is_signed, iteration, depth);
            match (data.op, data.args.as_slice()) {
                (Opcode::Iadd, &[a, b]) if data.imm.wrap().contains(promised) => return of(a)?.plus(of(b)?, 1),
                (Opcode::Isub, &[a, b]) if data.imm.wrap().contains(promised) => return of(a)?.plus(of(b)?, -1),
                (Opcode::Imul, &[a, b]) if data.imm.wrap().contains(promised) => {
                    if let Some(factor) = self.constant(b, is_signed) {
                        return of(a)?.times(factor);
                    }
                }
                (Opcode::Shl, &[a, b]) if data.imm.wrap().contains(promised) => {
                    if let Some(count) = self.shift_count(value, b) {
                        return of(a)?.times(1 << count);
                    }
                }
                (Opcode::Sext, &[a]) if is_signed => return of(a),
                (Opcode::Zext, &[a]) => return self.extended(a, false, iteration, depth),
                _ => {}
            }
        }
        let sum = Box::new(self.within(value, iteration, depth)?);
        Some(Linear::atom(Atom::Extended { is_signed, bits, sum }))
    }

    /// A constant as a number.
    fn constant(&self, value: Value, is_signed: bool) -> Option<i64> {
        let bits = self.func.dfg.as_splat_bits(value)?;
        let unused = 64 - self.func.dfg.ty(value).elem.bits();
        Some(if is_signed { (bits << unused) as i64 >> unused } else { bits as i64 })
    }

    /// The constant count of a shift of `value`, less than its width.
    fn shift_count(&self, value: Value, count: Value) -> Option<u32> {
        let count = u32::try_from(self.func.dfg.as_splat_bits(count)?).ok()?;
        (count < self.func.dfg.ty(value).elem.bits().min(63)).then_some(count)
    }
}
