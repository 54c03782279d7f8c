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

/// What is taken for granted about packs and launches: the code made from an analysis may run only where it holds. The default
/// promises nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assumptions {
    /// Lanes of a pack, a power of two. A pack's lanes are neighbours along x, and its first lane's `local_id 0` is a multiple of
    /// the width. Lanes beyond the end of the group's row are never active.
    pub width: u32,
    /// The first lane's `global_id 0` is a multiple of the width, and so are `local_size 0`, `enqueued_local_size 0` and
    /// `global_offset 0`.
    pub packs_aligned: bool,
    /// What every global id (with its offset), global size and global offset is less than, in each dimension.
    pub ids_below: Option<u64>,
}

impl Assumptions {
    /// Packs of `width` lanes about which nothing else is known.
    pub fn lanes(width: u32) -> Assumptions {
        Assumptions { width, packs_aligned: false, ids_below: None }
    }
}

impl Default for Assumptions {
    fn default() -> Assumptions {
        Assumptions::lanes(1)
    }
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
        /// A power of two that divides the value of the pack's first lane.
        align: u32,
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
            (Shape::Affine { stride, align: a }, Shape::Affine { stride: other, align: b }) if stride == other => {
                Shape::Affine { stride, align: a.min(b) }
            }
            (Shape::Uniform(_) | Shape::Affine { .. } | Shape::Varying, _) => Shape::Varying,
        }
    }

    /// Step along x (0 for uniform values), alignment, and the scope of what is left without a step.
    fn line(self, align: u32) -> Option<Line> {
        match self {
            Shape::Uniform(scope) => Some(Line { stride: 0, align, scope }),
            Shape::Affine { stride, align } => Some(Line { stride, align, scope: Scope::Pack }),
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
        let part = |i: usize| operands.get(i)?.line(constant(i).map_or(1, alignment));
        let scaled = |a: Option<Line>, factor: Option<u64>| match (a, factor) {
            (Some(a), Some(factor)) => a.times(factor).shape(),
            _ => Shape::Varying,
        };
        let sum = |factor: u64| match (part(0), part(1)) {
            (Some(a), Some(b)) => a.plus(b.times(factor)).shape(),
            _ => Shape::Varying,
        };
        // Only ops that keep a step are named: what is not here varies, which is always right.
        if data.op == Opcode::Iadd {
            sum(1)
        } else if data.op == Opcode::Isub {
            sum(u64::MAX)
        } else if data.op == Opcode::Ineg {
            scaled(part(0), Some(u64::MAX))
        } else if data.op == Opcode::Imul {
            if constant(1).is_some() { scaled(part(0), constant(1)) } else { scaled(part(1), constant(0)) }
        } else if data.op == Opcode::Shl {
            let bits = ty.map_or(64, |ty| u64::from(ty.elem.bits()));
            scaled(part(0), constant(1).map(|count| 1 << (count % bits)))
        } else if [Opcode::Itrunc, Opcode::PtrToInt, Opcode::IntToPtr, Opcode::SpaceCast].contains(&data.op) {
            operands[0]
        } else if let (Opcode::Addr, &Imm::Addr { scale, disp }) = (data.op, &data.imm) {
            match operands.len() {
                1 => part(0).map_or(Shape::Varying, |base| base.moved(disp).shape()),
                _ => match (part(0), part(1)) {
                    (Some(base), Some(index)) => base.plus(index.times(scale)).moved(disp).shape(),
                    _ => Shape::Varying,
                },
            }
        } else {
            Shape::Varying
        }
    }
}

/// A value as a straight line over the lanes of a pack.
#[derive(Clone, Copy)]
struct Line {
    stride: i64,
    /// Divides the first lane's value.
    align: u32,
    /// Of a line without a step.
    scope: Scope,
}

impl Line {
    fn shape(self) -> Shape {
        match self.stride {
            0 => Shape::Uniform(self.scope),
            stride => Shape::Affine { stride, align: self.align },
        }
    }

    fn plus(self, other: Line) -> Line {
        Line {
            stride: self.stride.wrapping_add(other.stride),
            align: self.align.min(other.align),
            scope: self.scope.max(other.scope),
        }
    }

    fn times(self, factor: u64) -> Line {
        let align = self.align.checked_mul(alignment(factor)).unwrap_or(MAX_ALIGN);
        Line { stride: self.stride.wrapping_mul(factor as i64), align, ..self }
    }

    fn moved(self, by: i64) -> Line {
        Line { align: self.align.min(alignment(by as u64)), ..self }
    }
}

/// The largest alignment that is told apart.
pub(super) const MAX_ALIGN: u32 = 1 << 31;

/// The largest power of two that divides a number.
pub(super) fn alignment(bits: u64) -> u32 {
    1 << bits.trailing_zeros().min(31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_go_up() {
        let launch = Shape::Uniform(Scope::Launch);
        let group = Shape::Uniform(Scope::Group);
        assert_eq!(launch.join(group), group);
        let by_4 = |align| Shape::Affine { stride: 4, align };
        assert_eq!(by_4(8).join(by_4(2)), by_4(2));
        assert_eq!(by_4(8).join(launch), Shape::Varying);
        assert!(launch.is_uniform(Scope::Group) && !Shape::Uniform(Scope::Pack).is_uniform(Scope::Group));
    }
}
