//! From the code of a pack to that of a work-group: regions between barriers, and loops over packs around them.

pub(crate) mod called;
pub(crate) mod collectives;
pub(crate) mod context;
pub(crate) mod env;
pub(crate) mod loops;
pub(crate) mod named_barriers;
pub(crate) mod private;
pub(crate) mod regions;
mod stable_loads;

use clift_kir::inst::AtomicOp;
use clift_kir::{AtomicInfo, MemOrder, MemScope};

/// How work-items form packs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packing {
    /// Lanes per pack, a power of two.
    pub(crate) lanes: u32,
    /// Whether every row of a work-group consists of whole packs.
    pub(crate) whole: bool,
    /// Whether every group has one work-item, and packs are made of neighbouring groups: the run of groups takes the place of a
    /// group.
    pub(crate) groups: bool,
    /// Whether the work-items of a group form one row, in the order of their local linear ids.
    pub(crate) one_row: bool,
    /// Rows of work-items whose packs are executed together.
    pub(crate) rows: u32,
}

impl Packing {
    /// One work-item per pack; `groups` as in [`Packing::groups`].
    pub(crate) fn one(groups: bool) -> Packing {
        Packing { lanes: 1, whole: true, groups, one_row: false, rows: 1 }
    }
}

/// The fence for a barrier's memory scope. A barrier of the kernel IR has no memory order, so the strongest is used.
pub(crate) fn fence(scope: MemScope) -> AtomicInfo {
    AtomicInfo { op: AtomicOp::Xchg, order: MemOrder::SeqCst, scope }
}
