//! Shapes: how a value differs between the work-items that compute it.
//!
//! The lattice of the divergence analysis. `Uniform` grows with the scope over which it still holds, `Affine` is a uniform
//! base plus a known step from one work-item to the next along x, `Varying` promises nothing.

use clift_kir::inst::Imm;
use clift_kir::{InstData, Opcode, Type};

/// How far uniformity reaches: each scope is contained in the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// All work-items of a launch.
    Launch,
    /// The work-items of a work-group.
    Group,
    /// The work-items of a pack (sub-group).
    Pack,
}

/// How a value differs between work-items.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// The same for all work-items of the scope.
    Uniform(Scope),
    /// Grows by `stride` (wrapping in the value's width) from a work-item to the next along x, within a pack.
    Affine {
        /// The step, never 0.
        stride: i64,
    },
    /// Nothing is known.
    Varying,
}

impl Shape {
    /// Whether all work-items of the scope have the same value.
    pub fn is_uniform(self, scope: Scope) -> bool {
        matches!(self, Shape::Uniform(over) if over <= scope)
    }

    /// The shape of a value that is one or the other, the choice being the same for all work-items.
    pub fn join(self, other: Shape) -> Shape {
        match (self, other) {
            (Shape::Uniform(a), Shape::Uniform(b)) => Shape::Uniform(a.max(b)),
            (Shape::Affine { stride: a }, Shape::Affine { stride: b }) if a == b => self,
            (Shape::Uniform(_) | Shape::Affine { .. } | Shape::Varying, _) => Shape::Varying,
        }
    }

    fn affine(stride: i64, scope: Scope) -> Shape {
        if stride == 0 { Shape::Uniform(scope) } else { Shape::Affine { stride } }
    }

    /// Step along x: 0 for uniform values; with the scope of what it is added to.
    fn parts(self) -> Option<(i64, Scope)> {
        match self {
            Shape::Uniform(scope) => Some((0, scope)),
            Shape::Affine { stride } => Some((stride, Scope::Pack)),
            Shape::Varying => None,
        }
    }

    /// The shape of the result of a lane-wise op of uniformity class `Operands`. `constant` gives the bits of an operand that
    /// is a constant.
    pub(super) fn of_operands(
        data: &InstData,
        ty: Option<Type>,
        operands: &[Shape],
        constant: impl Fn(usize) -> Option<u64>,
    ) -> Shape {
        let all = operands.iter().copied().reduce(|a, b| match (a, b) {
            (Shape::Uniform(_), Shape::Uniform(_)) => a.join(b),
            (Shape::Uniform(_) | Shape::Affine { .. } | Shape::Varying, _) => Shape::Varying,
        });
        let Some(all) = all else { return Shape::Uniform(Scope::Launch) };
        if let Shape::Uniform(_) = all {
            return all;
        }
        // Steps are tracked for scalars only: a vector's lanes would need one each.
        if ty.is_none_or(Type::is_vector) {
            return Shape::Varying;
        }
        let linear = |a: (i64, Scope), b: (i64, Scope), factor: i64| {
            Shape::affine(a.0.wrapping_add(b.0.wrapping_mul(factor)), a.1.max(b.1))
        };
        let scaled = |a: Option<(i64, Scope)>, factor: Option<u64>| match (a, factor) {
            (Some((stride, scope)), Some(factor)) => Shape::affine(stride.wrapping_mul(factor as i64), scope),
            _ => Shape::Varying,
        };
        let part = |i: usize| operands.get(i).copied().and_then(Shape::parts);
        let sum = |factor: i64| match (part(0), part(1)) {
            (Some(a), Some(b)) => linear(a, b, factor),
            _ => Shape::Varying,
        };
        // Only ops that keep a step are named: what is not here varies, which is always right.
        if data.op == Opcode::Iadd {
            sum(1)
        } else if data.op == Opcode::Isub {
            sum(-1)
        } else if data.op == Opcode::Ineg {
            scaled(part(0), Some(u64::MAX))
        } else if data.op == Opcode::Imul {
            if constant(1).is_some() { scaled(part(0), constant(1)) } else { scaled(part(1), constant(0)) }
        } else if data.op == Opcode::Shl {
            let bits = ty.map_or(64, |ty| u64::from(ty.elem.bits()));
            scaled(part(0), constant(1).map(|count| 1 << (count % bits)))
        } else if [Opcode::Itrunc, Opcode::PtrToInt, Opcode::IntToPtr, Opcode::SpaceCast].contains(&data.op) {
            operands[0]
        } else if let (Opcode::Addr, &Imm::Addr { scale, .. }) = (data.op, &data.imm) {
            match operands.len() {
                1 => operands[0],
                _ => sum(scale as i64),
            }
        } else {
            Shape::Varying
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_go_up() {
        let launch = Shape::Uniform(Scope::Launch);
        let group = Shape::Uniform(Scope::Group);
        assert_eq!(launch.join(group), group);
        assert_eq!(Shape::Affine { stride: 4 }.join(Shape::Affine { stride: 4 }), Shape::Affine { stride: 4 });
        assert_eq!(Shape::Affine { stride: 4 }.join(launch), Shape::Varying);
        assert!(launch.is_uniform(Scope::Group) && !Shape::Uniform(Scope::Pack).is_uniform(Scope::Group));
    }
}
