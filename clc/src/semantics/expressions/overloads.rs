//! Overload resolution as clang does it for C: the best of several functions for given arguments.

use super::assign::Relation;
use super::convert::space_contains;
use crate::semantics::Checker;
use crate::tree::Expr;
use crate::types::{QualTy, Scalar, Ty, TypeKind};

/// How good a conversion is: less is better.
type Grade = u8;

/// The same type.
const EXACT: Grade = 0;
/// A pointer whose pointee gets qualifiers.
const QUALIFIERS: Grade = 1;
/// A pointer that becomes generic.
const SPACE: Grade = 2;
/// A promotion.
const PROMOTION: Grade = 4;
/// A conversion of scalars or of a null pointer.
const CONVERSION: Grade = 5;
/// A pointer to `void *`.
const VOID: Grade = 6;
/// A scalar to a vector.
const SPLAT: Grade = 7;
/// A pointer to `bool`.
const BOOL: Grade = 8;
/// An ill-formed conversion, of which a diagnostic tells.
const ILL_FORMED: Grade = 10;

/// The result of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The best candidate, by its index.
    Best(usize),
    /// None is better than all others: these are the best.
    Ambiguous(Vec<usize>),
    /// None can be called.
    None,
}

/// The parameters of a candidate, and whether it takes more.
pub(super) type Candidate<'a> = (&'a [QualTy], bool);

impl Checker<'_, '_> {
    /// Chooses a candidate.
    pub(super) fn choose_overload<'a>(
        &self,
        candidates: impl Iterator<Item = Candidate<'a>>,
        arguments: &[Expr],
    ) -> Choice {
        let mut viable: Vec<(usize, Vec<Grade>)> = Vec::new();
        for (index, (parameters, is_variadic)) in candidates.enumerate() {
            if arguments.len() < parameters.len() || arguments.len() > parameters.len() && !is_variadic {
                continue;
            }
            let mut grades = Vec::with_capacity(arguments.len());
            for (argument, parameter) in arguments.iter().zip(parameters) {
                match self.grade(argument, parameter.ty) {
                    Some(grade) => grades.push(grade),
                    None => break,
                }
            }
            if grades.len() != parameters.len() {
                continue;
            }
            if grades.iter().all(|grade| *grade == EXACT) {
                return Choice::Best(index);
            }
            viable.push((index, grades));
        }
        // The best one must beat each other one; one pass finds the only candidate for that.
        let Some((first, rest)) = viable.split_first() else { return Choice::None };
        let mut best = first;
        for one in rest {
            if !is_better(&best.1, &one.1) {
                best = one;
            }
        }
        let beats_all = viable.iter().all(|one| one.0 == best.0 || is_better(&best.1, &one.1));
        if beats_all {
            return Choice::Best(best.0);
        }
        let unbeaten = viable.iter().filter(|one| !viable.iter().any(|other| is_better(&other.1, &one.1)));
        Choice::Ambiguous(unbeaten.map(|one| one.0).collect())
    }

    /// How good the conversion of an argument is; `None` if there is none.
    fn grade(&self, argument: &Expr, to: Ty) -> Option<Grade> {
        let from = argument.ty;
        if from == to || self.is_error(from) || self.is_error(to) {
            return Some(EXACT);
        }
        match (self.kind(from), self.kind(to)) {
            (TypeKind::Vector(..), _) => None,
            (TypeKind::Scalar(_) | TypeKind::Enum(_), TypeKind::Vector(..)) => Some(SPLAT),
            (TypeKind::Scalar(_) | TypeKind::Enum(_), TypeKind::Scalar(target)) => {
                let scalar = self.scalar_of(from)?;
                let promoted = if scalar == Scalar::Float { Scalar::Double } else { self.promoted(scalar) };
                Some(if promoted == *target { PROMOTION } else { CONVERSION })
            }
            (TypeKind::Pointer(a), TypeKind::Pointer(b)) => self.grade_pointers(argument, *a, *b, to),
            (TypeKind::Pointer(_) | TypeKind::BlockPointer(_), TypeKind::Scalar(Scalar::Bool)) => Some(BOOL),
            _ => match self.relation(argument, to) {
                Relation::Compatible => Some(CONVERSION),
                Relation::DiscardsQualifiers
                | Relation::PointerSign
                | Relation::Pointers
                | Relation::AddressSpace
                | Relation::NestedAddressSpace
                | Relation::NestedQualifiers
                | Relation::IntegerToPointer
                | Relation::PointerToInteger
                | Relation::Blocks
                | Relation::Incompatible => None,
            },
        }
    }

    /// How far a candidate that cannot be called is from arguments: the nearest ones are shown first.
    pub(super) fn distance(&self, parameters: &[QualTy], arguments: &[Expr]) -> u32 {
        let element = |ty: Ty| {
            let ty = self.pointee(ty).map_or(ty, |to| to.ty);
            self.lanes(ty).map(|(scalar, _)| scalar)
        };
        let pairs = arguments.iter().zip(parameters);
        let costs = pairs.map(|(argument, parameter)| match self.grade(argument, parameter.ty) {
            Some(grade) => u32::from(grade),
            None if element(argument.ty).is_some() && element(argument.ty) == element(parameter.ty) => {
                u32::from(ILL_FORMED) + u32::from(self.lanes(argument.ty) != self.lanes(parameter.ty))
            }
            None => 2 * u32::from(ILL_FORMED),
        });
        costs.sum()
    }

    fn grade_pointers(&self, argument: &Expr, from: QualTy, to: QualTy, target: Ty) -> Option<Grade> {
        if self.is_null(argument) {
            return Some(CONVERSION);
        }
        if !space_contains(to.quals.space, from.quals.space) {
            return None;
        }
        match self.relation(argument, target) {
            Relation::Compatible => {}
            Relation::DiscardsQualifiers | Relation::PointerSign | Relation::Pointers | Relation::NestedQualifiers => {
                return Some(if from.quals.space == to.quals.space { ILL_FORMED } else { ILL_FORMED + SPACE });
            }
            Relation::AddressSpace
            | Relation::NestedAddressSpace
            | Relation::IntegerToPointer
            | Relation::PointerToInteger
            | Relation::Blocks
            | Relation::Incompatible => return None,
        }
        let mut grade = EXACT;
        if (from.quals.is_const, from.quals.is_volatile) != (to.quals.is_const, to.quals.is_volatile) {
            grade += QUALIFIERS;
        }
        if from.quals.space != to.quals.space {
            grade += SPACE;
        }
        let is_void = |ty: Ty| *self.kind(ty) == TypeKind::Void;
        // From `void *` to others is C only.
        Some(match (is_void(from.ty), is_void(to.ty)) {
            (true, false) | (false, true) => VOID,
            (true, true) | (false, false) => grade,
        })
    }
}

/// Whether a candidate is better than another: nowhere worse, and somewhere better. One that needs an ill-formed conversion where
/// the other does not is worse whatever else.
fn is_better(a: &[Grade], b: &[Grade]) -> bool {
    let mut has_better = false;
    for (x, y) in a.iter().zip(b) {
        if (*x >= ILL_FORMED) != (*y >= ILL_FORMED) {
            if *x >= ILL_FORMED {
                return false;
            }
            has_better = true;
        }
    }
    if has_better {
        return true;
    }
    a.iter().zip(b).all(|(x, y)| x <= y) && a.iter().zip(b).any(|(x, y)| x < y)
}
