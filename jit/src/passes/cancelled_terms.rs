//! Cancels terms of sums that are added and subtracted again.
//!
//! ```text
//! k = id / 4096, j = (id - k * 4096) / 64, i = id - j * 64 - k * 4096
//! p[i + j * 64 + k * 4096]                   p[id]
//! x % 100 + 100 * (x / 100)                  x
//! ```
//!
//! Kernels over grids that are launched in one dimension take their id apart and put it together again. The index is then seen
//! to be contiguous. A sum is followed through additions, subtractions and products with constants; a remainder `x % n` is `x -
//! n * (x / n)` for a constant `n` (a variable one may be 0, of which quotient and remainder are 0). Integers wrap, so that all
//! of it is exact; what replaces the sum promises nothing about overflow.
//!
//! Left alone: sums of which more than [`MAX_LEFT`] terms remain.

use clift_kir::{Builder, Function, Inst, Opcode, Type, Value};
use smallvec::SmallVec;

use super::Changed;
use super::util::Replacements;

/// How many definitions deep a sum is looked at.
const MAX_DEPTH: u32 = 10;
/// The most terms that are looked at.
const MAX_TERMS: usize = 16;
/// The most instructions that are looked at.
const MAX_INSTS: usize = 24;
/// The most terms that remain.
const MAX_LEFT: usize = 2;

/// What a term is a multiple of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Atom {
    Value(Value),
    /// The quotient of a value and a constant, by this division.
    Quotient(Opcode, Value, u64),
}

/// A multiple of an atom.
#[derive(Clone, Copy, Debug)]
struct Term {
    atom: Atom,
    by: u64,
    /// The atom's value, if the code has it.
    value: Option<Value>,
}

/// The terms of a sum.
#[derive(Default)]
struct Sum {
    terms: SmallVec<[Term; MAX_TERMS]>,
    constant: u64,
    /// Instructions on the way to the terms.
    insts: usize,
}

/// Replaces all sums with terms that cancel.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        for inst in func.layout.take_insts(block) {
            func.dfg.map_uses(inst, |value| replacements.get(value));
            func.layout.append_inst(block, inst);
            let Some(sum) = shorter_sum(func, inst) else { continue };
            let result = func.dfg.result(inst);
            let mut b = Builder::at_end(func, block);
            b.set_loc(b.func.locs[inst]);
            let ty = b.ty(result);
            let made = emit(&mut b, ty, &sum);
            replacements.set(result, made);
        }
    }
    replacements.apply(func);
    Changed(replacements.any())
}

/// The terms of a sum, if some of them cancel and what remains is not longer.
fn shorter_sum(func: &Function, inst: Inst) -> Option<Sum> {
    let data = func.dfg.inst(inst);
    if !matches!(data.op, Opcode::Iadd | Opcode::Isub) {
        return None;
    }
    let result = func.dfg.result(inst);
    let ty = func.dfg.ty(result);
    if ty.is_vector() {
        return None;
    }
    let mut sum = Sum::default();
    sum.add(func, result, 1, MAX_DEPTH)?;
    let mask = ty.elem.mask();
    sum.constant &= mask;
    let all = sum.terms.len();
    sum.terms.retain(|term| term.by & mask != 0);
    let has_values = sum.terms.iter().all(|term| term.value.is_some());
    (sum.terms.len() < all && sum.terms.len() <= MAX_LEFT && has_values && sum.length(ty) < sum.insts).then_some(sum)
}

impl Sum {
    /// Adds a multiple of a value; `None` if that is too much.
    fn add(&mut self, func: &Function, value: Value, by: u64, depth: u32) -> Option<()> {
        if let Some(bits) = func.dfg.as_splat_bits(value) {
            self.constant = self.constant.wrapping_add(bits.wrapping_mul(by));
            return Some(());
        }
        let data = func.dfg.def_inst(value).filter(|_| depth > 0).map(|inst| func.dfg.inst(inst));
        let Some(data) = data else { return self.add_term(Atom::Value(value), by, Some(value)) };
        if self.insts > MAX_INSTS {
            return None;
        }
        let constant = |at: usize| data.args.get(at).and_then(|&arg| func.dfg.as_splat_bits(arg));
        let depth = depth - 1;
        let bits = u64::from(func.dfg.ty(value).elem.bits());
        match (data.op, data.args.as_slice()) {
            (op @ (Opcode::Iadd | Opcode::Isub), &[x, y]) => {
                self.insts += 1;
                self.add(func, x, by, depth)?;
                self.add(func, y, if op == Opcode::Isub { by.wrapping_neg() } else { by }, depth)
            }
            (Opcode::Ineg, &[x]) => {
                self.insts += 1;
                self.add(func, x, by.wrapping_neg(), depth)
            }
            (Opcode::Shl, &[x, _]) if let Some(count) = constant(1) => {
                self.insts += 1;
                self.add(func, x, by.wrapping_shl((count % bits) as u32), depth)
            }
            (Opcode::Imul, &[x, _]) if let Some(factor) = constant(1) => {
                self.insts += 1;
                self.add(func, x, by.wrapping_mul(factor), depth)
            }
            (op @ (Opcode::Urem | Opcode::Srem), &[x, _]) if let Some(n) = constant(1).filter(|&n| n != 0) => {
                self.insts += 1;
                let division = if op == Opcode::Urem { Opcode::Udiv } else { Opcode::Sdiv };
                self.add_quotient(func, (division, x, n), by.wrapping_mul(n).wrapping_neg(), None)?;
                self.add(func, x, by, depth)
            }
            (Opcode::And, &[x, _]) if let Some(mask) = constant(1).filter(|&mask| mask != 0 && is_low(mask)) => {
                self.insts += 1;
                let n = mask.wrapping_add(1);
                if n != 0 {
                    self.add_quotient(func, (Opcode::Udiv, x, n), by.wrapping_mul(n).wrapping_neg(), None)?;
                }
                self.add(func, x, by, depth)
            }
            (op @ (Opcode::Udiv | Opcode::Sdiv), &[x, _]) if let Some(n) = constant(1).filter(|&n| n != 0) => {
                self.add_quotient(func, (op, x, n), by, Some(value))
            }
            (Opcode::Lshr, &[x, _]) if let Some(count) = constant(1) => {
                self.add_quotient(func, (Opcode::Udiv, x, 1 << (count % bits)), by, Some(value))
            }
            // A multiple of 2^count of either shift is the same, as the bits that differ are shifted out.
            (Opcode::Ashr, &[x, _])
                if let Some(count) = constant(1).map(|count| count % bits)
                    && by & ((1 << count) - 1) == 0 =>
            {
                self.insts += 1;
                self.add_quotient(func, (Opcode::Udiv, x, 1 << count), by, None)
            }
            _ => self.add_term(Atom::Value(value), by, Some(value)),
        }
    }

    /// Adds a multiple of the quotient of a value and a constant. Quotients of quotients are by the product of both.
    fn add_quotient(
        &mut self,
        func: &Function,
        (op, mut x, mut n): (Opcode, Value, u64),
        by: u64,
        value: Option<Value>,
    ) -> Option<()> {
        let most = func.dfg.ty(x).elem.mask() >> 1;
        while let Some(inst) = func.dfg.def_inst(x) {
            let data = func.dfg.inst(inst);
            let bits = u64::from(func.dfg.ty(x).elem.bits());
            let constant = data.args.get(1).and_then(|&arg| func.dfg.as_splat_bits(arg));
            let inner = if data.op == op {
                constant
            } else {
                constant.filter(|_| data.op == Opcode::Lshr && op == Opcode::Udiv).map(|count| 1 << (count % bits))
            };
            let Some(inner) = inner else { break };
            let Some(product) = n.checked_mul(inner).filter(|&product| n <= most && inner <= most && product <= most)
            else {
                break;
            };
            (x, n) = (data.args[0], product);
        }
        self.add_term(Atom::Quotient(op, x, n), by, value)
    }

    fn add_term(&mut self, atom: Atom, by: u64, value: Option<Value>) -> Option<()> {
        if let Some(term) = self.terms.iter_mut().find(|term| term.atom == atom) {
            term.by = term.by.wrapping_add(by);
            term.value = term.value.or(value);
            return Some(());
        }
        if self.terms.len() == MAX_TERMS {
            return None;
        }
        self.terms.push(Term { atom, by, value });
        Some(())
    }

    /// The instructions of its terms.
    fn length(&self, ty: Type) -> usize {
        let factors = self.terms.iter().filter(|term| !is_unit(term.by, ty)).count();
        let parts = self.terms.len() + usize::from(self.constant != 0);
        parts.saturating_sub(1) + factors
    }
}

/// Whether a mask consists of the lowest bits.
fn is_low(mask: u64) -> bool {
    mask & mask.wrapping_add(1) == 0
}

/// Whether a factor is 1 or -1.
fn is_unit(by: u64, ty: Type) -> bool {
    let mask = ty.elem.mask();
    by & mask == 1 || by.wrapping_neg() & mask == 1
}

/// Appends the sum of terms whose values are there.
fn emit(b: &mut Builder<'_>, ty: Type, sum: &Sum) -> Value {
    let negative = |term: &Term| term.by.wrapping_neg() & ty.elem.mask() == 1;
    let mut made: Option<Value> = None;
    for term in sum.terms.iter().filter(|term| !negative(term)) {
        let Some(value) = term.value else { unreachable!("broken invariant: a term without its value") };
        let part = if is_unit(term.by, ty) {
            value
        } else {
            let factor = b.iconst(ty, term.by as i64);
            b.int2(Opcode::Imul, value, factor)
        };
        made = Some(made.map_or(part, |sum| b.int2(Opcode::Iadd, sum, part)));
    }
    if sum.constant != 0 || made.is_none() {
        let constant = b.iconst(ty, sum.constant as i64);
        made = Some(made.map_or(constant, |sum| b.int2(Opcode::Iadd, sum, constant)));
    }
    let Some(mut made) = made else { unreachable!("broken invariant: a sum without terms is a constant") };
    for term in sum.terms.iter().filter(|term| negative(term)) {
        let Some(value) = term.value else { unreachable!("broken invariant: a term without its value") };
        made = b.int2(Opcode::Isub, made, value);
    }
    made
}
