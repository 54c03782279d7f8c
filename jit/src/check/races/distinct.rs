//! Objects in which each work-item of a group accesses bytes of its own, because of how the offsets depend on its ids.
//!
//! An offset is taken apart into a sum of products of constants, ids, and values that are the same for all work-items of a
//! group during a launch. If all accesses of an object have the same products and differ only in their constants, work-items
//! access different bytes provided that the factors of their ids are large enough, which the launch's sizes and arguments
//! decide. The kernel computes that once.
//!
//! Arithmetic on ids of 32 bits is taken not to wrap: where it does, races are missed. Bytes and half-words are not followed:
//! they wrap.

use clift_kir::clone::Cloner;
use clift_kir::ops::Uniformity;
use clift_kir::{Builder, Effects, Function, Imm, Inst, IntCond, Opcode, Type, Value};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

use super::super::provenance::Place;

/// How deep computations of offsets are followed.
const MAX_DEPTH: u32 = 16;
/// The most copies of instructions for one test.
const MAX_FIXED_COPIES: usize = 64;

/// The fewest bits of arithmetic on ids that is taken not to wrap.
const LEAST_BITS: u32 = 32;

/// The most products of a sum.
const MAX_TERMS: usize = 12;

/// A factor that is the same for all work-items of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Factor {
    /// The global id of the group's first work-item in a dimension.
    FirstId(u8),
    Value(Value),
}

/// A product: the local id in a dimension, if there is one, and factors.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Product {
    dim: Option<u8>,
    factors: SmallVec<[Factor; 2]>,
}

/// A sum of products with constants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    terms: BTreeMap<Product, i64>,
    constant: i64,
}

impl Sum {
    fn constant(constant: i64) -> Sum {
        Sum { constant, ..Sum::default() }
    }

    fn of(product: Product) -> Sum {
        Sum { terms: BTreeMap::from([(product, 1)]), constant: 0 }
    }

    fn add(mut self, other: &Sum, factor: i64) -> Option<Sum> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (product, &count) in &other.terms {
            let term = self.terms.entry(product.clone()).or_insert(0);
            *term = term.checked_add(count.checked_mul(factor)?)?;
        }
        self.terms.retain(|_, count| *count != 0);
        (self.terms.len() <= MAX_TERMS).then_some(self)
    }

    fn times(&self, other: &Sum) -> Option<Sum> {
        let mut made = Sum::constant(self.constant.checked_mul(other.constant)?);
        let scaled = [(self, other.constant), (other, self.constant)];
        for (sum, constant) in scaled {
            let terms = Sum { terms: sum.terms.clone(), constant: 0 };
            made = made.add(&terms, constant)?;
        }
        for (a, &count_a) in &self.terms {
            for (b, &count_b) in &other.terms {
                if a.dim.is_some() && b.dim.is_some() {
                    return None;
                }
                let mut factors: SmallVec<[Factor; 2]> = a.factors.iter().chain(&b.factors).copied().collect();
                factors.sort_unstable();
                let product = Sum::of(Product { dim: a.dim.or(b.dim), factors });
                made = made.add(&product, count_a.checked_mul(count_b)?)?;
            }
        }
        Some(made)
    }
}

/// The offsets of an object's accesses: their products, and the bytes from the first to the last that a work-item accesses.
#[derive(Clone, Debug)]
pub(super) struct Form {
    sum: Sum,
    span: (i64, i64),
}

impl Form {
    /// The form of an access of so many bytes.
    pub(super) fn of(func: &Function, place: &Place, bytes: u64) -> Option<Form> {
        let mut sum = Sum::constant(place.displacement()?);
        for &(index, scale) in place.terms() {
            let index = sum_of(func, index, 0)?;
            sum = sum.add(&index, i64::try_from(scale).ok()?)?;
        }
        let start = std::mem::take(&mut sum.constant);
        Some(Form { sum, span: (start, start.checked_add(i64::try_from(bytes).ok()?)?) })
    }

    /// The form of two sets of accesses, if they have the same products.
    pub(super) fn join(mut self, other: &Form) -> Option<Form> {
        self.span = (self.span.0.min(other.span.0), self.span.1.max(other.span.1));
        (self.sum == other.sum).then_some(self)
    }

    /// Emits whether no two work-items of a group access the same byte. The block is the kernel's first.
    pub(super) fn are_distinct(&self, b: &mut Builder<'_>) -> Option<Value> {
        let span = self.span.1.checked_sub(self.span.0)?;
        let mut copies = FixedCopies { cloner: Cloner::within(), made: 0 };
        let mut factors: [Option<Value>; 3] = [None; 3];
        for (product, &count) in &self.sum.terms {
            let Some(dim) = product.dim else { continue };
            let mut factor = b.iconst(Type::I64, count);
            for &each in &product.factors {
                let value = match each {
                    Factor::FirstId(_) => return None,
                    Factor::Value(value) => fixed_copy(b, value, &mut copies, 0)?,
                };
                let value = b.int_resize(value, clift_kir::Elem::I64, true);
                factor = b.int2(Opcode::Imul, factor, value);
            }
            let sum = &mut factors[dim as usize];
            *sum = Some(match *sum {
                Some(sum) => b.int2(Opcode::Iadd, sum, factor),
                None => factor,
            });
        }
        let sizes = [0, 1, 2].map(|dim| b.query(Opcode::EnqueuedLocalSize, dim));
        let by_rows = fits(b, &[0, 1, 2], factors, sizes, span);
        if factors[1].is_none() && factors[2].is_none() {
            return Some(by_rows);
        }
        let by_columns = fits(b, &[1, 0, 2], factors, sizes, span);
        Some(b.int2(Opcode::Or, by_rows, by_columns))
    }
}

/// Emits whether each dimension steps over all that those before it reach.
fn fits(b: &mut Builder<'_>, order: &[usize], factors: [Option<Value>; 3], sizes: [Value; 3], span: i64) -> Value {
    let [zero, one] = [0, 1].map(|number| b.iconst(Type::I64, number));
    let mut reach = b.iconst(Type::I64, span);
    let mut all = b.iconst(Type::B1, 1);
    for &dim in order {
        let single = b.icmp(IntCond::Eq, sizes[dim], one);
        let Some(factor) = factors[dim] else {
            all = b.int2(Opcode::And, all, single);
            continue;
        };
        let negative = b.icmp(IntCond::Slt, factor, zero);
        let opposite = b.int2(Opcode::Isub, zero, factor);
        let step = b.select(negative, opposite, factor);
        let steps_over = b.icmp(IntCond::Uge, step, reach);
        let fits = b.int2(Opcode::Or, single, steps_over);
        all = b.int2(Opcode::And, all, fits);
        let steps = b.int2(Opcode::Isub, sizes[dim], one);
        let more = b.int2(Opcode::Imul, steps, step);
        reach = b.int2(Opcode::Iadd, reach, more);
    }
    all
}

/// A value as a sum.
fn sum_of(func: &Function, value: Value, depth: u32) -> Option<Sum> {
    if let Some(bits) = func.dfg.as_splat_bits(value) {
        let unused = 64 - func.dfg.ty(value).elem.bits();
        return Some(Sum::constant((bits << unused).cast_signed() >> unused));
    }
    let data = func.dfg.inst(func.dfg.def_inst(value)?);
    let arg = |number: usize| sum_of(func, data.args[number], depth + 1);
    let known = if depth >= MAX_DEPTH || func.dfg.ty(value).elem.bits() < LEAST_BITS {
        None
    } else {
        match (data.op, &data.imm) {
            (Opcode::LocalId, Imm::Dim(dim)) => Some(Sum::of(Product { dim: Some(*dim), factors: smallvec![] })),
            (Opcode::GlobalId, Imm::Dim(dim)) => {
                let id = Sum::of(Product { dim: Some(*dim), factors: smallvec![] });
                id.add(&Sum::of(Product { dim: None, factors: smallvec![Factor::FirstId(*dim)] }), 1)
            }
            (Opcode::Iadd, _) => arg(0)?.add(&arg(1)?, 1),
            (Opcode::Isub, _) => arg(0)?.add(&arg(1)?, -1),
            (Opcode::Imul, _) => arg(0)?.times(&arg(1)?),
            (Opcode::Shl, _) => {
                let shift = func.dfg.as_splat_bits(data.args[1]).filter(|&bits| bits < 32)?;
                arg(0)?.times(&Sum::constant(1 << shift))
            }
            (Opcode::Sext | Opcode::Zext | Opcode::Itrunc, _) if !func.dfg.ty(data.args[0]).is_bool() => arg(0),
            _ => None,
        }
    };
    known.or_else(|| {
        is_fixed(func, value, 0).then(|| Sum::of(Product { dim: None, factors: smallvec![Factor::Value(value)] }))
    })
}

/// Whether a value is the same for all work-items of a group wherever it is computed.
fn is_fixed(func: &Function, value: Value, depth: u32) -> bool {
    if func.dfg.as_const(value).is_some() {
        return true;
    }
    let Some(inst) = func.dfg.def_inst(value) else { return false };
    depth < MAX_DEPTH
        && is_fixed_op(func, inst)
        && func.dfg.inst(inst).args.iter().all(|&arg| is_fixed(func, arg, depth + 1))
}

/// Whether an op gives the same for all work-items of a group if its operands are the same.
fn is_fixed_op(func: &Function, inst: Inst) -> bool {
    let data = func.dfg.inst(inst);
    let info = data.op.info();
    let differs = matches!(
        info.uniformity,
        Uniformity::Pack
            | Uniformity::Scope
            | Uniformity::Choice
            | Uniformity::Vote
            | Uniformity::Varying
            | Uniformity::Memory
    );
    info.effects == Effects::Pure && !differs && data.op != Opcode::Undef
}

/// Copies of computations of values that [`is_fixed`] accepts.
struct FixedCopies {
    cloner: Cloner<'static>,
    /// How many instructions have been copied.
    made: usize,
}

/// Emits a copy of the computation of a value that [`is_fixed`] accepts. `None` if there would be too many.
fn fixed_copy(b: &mut Builder<'_>, value: Value, copies: &mut FixedCopies, depth: u32) -> Option<Value> {
    if let Some(copy) = copies.cloner.value(value) {
        return Some(copy);
    }
    let inst = b.func.dfg.def_inst(value)?;
    if depth > MAX_DEPTH || copies.made > MAX_FIXED_COPIES {
        return None;
    }
    for arg in b.func.dfg.inst(inst).args.clone() {
        fixed_copy(b, arg, copies, depth + 1)?;
    }
    let block = b.block();
    copies.cloner.append(b.func, block, inst);
    copies.made += 1;
    b.switch_to(block);
    copies.cloner.value(value)
}
