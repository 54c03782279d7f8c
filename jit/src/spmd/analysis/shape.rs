//! Shapes: how a value differs between the work-items that compute it.
//!
//! The lattice of the divergence analysis. `Uniform` grows with the scope over which it still holds, `Affine` is a uniform
//! base plus a known step from one work-item to the next along x, `Varying` promises nothing.

use clift_kir::inst::IntCond;
use clift_kir::{Type, Value};
use smallvec::SmallVec;

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
    /// What every local size, local id and local linear id is less than.
    pub local_below: Option<u64>,
}

impl Assumptions {
    /// Packs of `width` lanes about which nothing else is known.
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
}

/// What makes a varying value affine after all: an index in few bits that is extended to many is a straight line as long as it
/// does not wrap within the pack, one that is clamped as long as no lane is out of bounds. A few comparisons of what the first
/// lane has tell at run time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conditional {
    /// The value's step where all checks hold, never 0.
    pub stride: i64,
    /// A power of two that divides the value of the pack's first lane, where all checks hold.
    pub align: u32,
    /// The checks, in the order of the code; all have to hold.
    pub checks: SmallVec<[Check; 2]>,
}

/// A comparison: `icmp cond` of the first lane's `value` plus a constant, and a bound. The sum wraps in the value's type, and does
/// not where the checks before this one hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    /// What it excludes.
    pub excludes: Excludes,
    /// Affine itself, or affine where the checks before this one hold; computed wherever the checked value is.
    pub value: Value,
    /// What to add.
    pub plus: i64,
    /// How to compare.
    pub cond: IntCond,
    /// What to compare with.
    pub bound: Bound,
}

impl Check {
    /// Whether it is needed before an access. Where a signed index of 32 bits wraps between two lanes, one of them would access
    /// memory 2^31 elements before the pointer, the other as far behind it: no object reaches that far to both sides, so an
    /// access by either is out of bounds, and none needs to be told from the others at run time. An unsigned index wraps to 0,
    /// which is a good one, and few bits wrap within an object. `ty` is the value's.
    pub(crate) fn matters(&self, ty: Type) -> bool {
        let signed = match self.cond {
            IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge => true,
            IntCond::Eq | IntCond::Ne | IntCond::Ult | IntCond::Ule | IntCond::Ugt | IntCond::Uge => false,
        };
        self.excludes == Excludes::Clamps || !signed || ty != Type::I32
    }
}

/// What a [`Check`] excludes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Excludes {
    /// That a value wraps within the pack before it is extended.
    ExtendedWraps,
    /// That a minimum or maximum takes its bound for some lane, or wrapping hides that.
    Clamps,
}

/// The right side of a [`Check`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// A constant: bits of the value's type.
    Bits(u64),
    /// A value that the lanes share.
    Shared(Value),
}
