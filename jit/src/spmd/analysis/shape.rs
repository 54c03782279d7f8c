//! Shapes: how a value differs between the work-items that compute it.
//!
//! This is the lattice of the divergence analysis. `Uniform` has the scope over which it holds, `Affine` is a uniform base plus a
//! constant stride from one work-item to the next along x, `Varying` can be anything.

use clift_kir::inst::IntCond;
use clift_kir::{Type, Value};
use smallvec::SmallVec;

/// The scope of uniformity. Each scope is contained in the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// All work-items of a launch.
    Launch,
    /// The work-items of a work-group.
    Group,
    /// The work-items of a pack (sub-group).
    Pack,
}

/// What is assumed about packs and launches. Code made from an analysis may run only where its assumptions hold. The default
/// assumes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assumptions {
    /// Lanes of a pack, a power of two. A pack's lanes are neighbours along x, and its first lane's `local_id 0` is a multiple of
    /// the width. Lanes beyond the end of the group's row are never active.
    pub width: u32,
    /// The first lane's `global_id 0` is a multiple of the width, and so are `local_size 0`, `enqueued_local_size 0` and
    /// `global_offset 0`.
    pub packs_aligned: bool,
    /// An exclusive upper bound of every global id (with its offset), global size and global offset, in each dimension.
    pub ids_below: Option<u64>,
    /// An exclusive upper bound of every local size, local id and local linear id.
    pub local_below: Option<u64>,
}

impl Assumptions {
    /// Packs of `width` lanes, with no other assumption.
    pub fn lanes(width: u32) -> Assumptions {
        Assumptions { width, packs_aligned: false, ids_below: None, local_below: None }
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
        /// The stride, never 0.
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
}

/// The conditions under which a varying value is affine. A narrow index that is extended is affine as long as it does not wrap
/// within the pack; a clamped one as long as no lane is out of bounds. A few comparisons of the first lane's values decide this
/// at run time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conditional {
    /// The stride where all checks succeed, never 0.
    pub stride: i64,
    /// A power of two that divides the value of the pack's first lane where all checks succeed.
    pub align: u32,
    /// The checks, in the order of the code; all must succeed.
    pub checks: SmallVec<[Check; 2]>,
}

/// A comparison `icmp cond` of the first lane's `value` plus a constant with a bound. The sum wraps in the value's type; it does
/// not if the checks before this one succeed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Check {
    /// What the check excludes.
    pub excludes: Excludes,
    /// A value that is affine, perhaps only if the checks before this one succeed. It is available wherever the checked value is.
    pub value: Value,
    /// The constant to add.
    pub plus: i64,
    /// The comparison.
    pub cond: IntCond,
    /// The right side.
    pub bound: Bound,
}

impl Check {
    /// Whether the check is needed before an access through the checked value, whose type is `ty`. A signed 32-bit index that
    /// wraps between two lanes needs no check: one lane would access memory 2^31 elements before the pointer and the other as far
    /// behind it. No object extends that far to both sides, so the access is out of bounds in either case and the lanes need not
    /// be told apart. An unsigned index wraps to 0, which is a valid index, and narrower indices wrap within an object.
    pub(crate) fn matters(&self, ty: Type) -> bool {
        let signed = match self.cond {
            IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge => true,
            IntCond::Eq | IntCond::Ne | IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => false,
        };
        self.excludes == Excludes::Clamps || !signed || ty != Type::I32
    }
}

/// What a [`Check`] excludes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Excludes {
    /// That a value wraps within the pack before it is extended.
    ExtendedWraps,
    /// That a minimum or maximum yields its bound for some lane, or that wrapping hides this.
    Clamps,
}

/// The right side of a [`Check`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bound {
    /// A constant: bits of the value's type.
    Bits(u64),
    /// A uniform value.
    Shared(Value),
}
