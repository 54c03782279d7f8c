//! Instructions at which work-items meet: barriers, and exchanges of values.

use crate::inst::{BarrierInfo, Imm, InstData, MemScope};
use crate::ops::{CollectiveOp, OpClass, SyncOp};

/// How work-items meet at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// At a barrier of the work-group or of a sub-group.
    Barrier(BarrierInfo),
    /// At a named barrier, where sub-groups wait for one another.
    NamedBarrier(BarrierInfo),
    /// In an exchange of values of all work-items of the group, or of those of the sub-group that execute it together.
    Exchange(MemScope),
}

impl InstData {
    /// How work-items meet at the instruction, if they do.
    pub fn meeting(&self) -> Option<Meeting> {
        let barrier = || if let Imm::Barrier(info) = self.imm { Some(info) } else { None };
        match self.op.class() {
            OpClass::Sync(SyncOp::Barrier) => barrier().map(Meeting::Barrier),
            OpClass::Sync(SyncOp::NamedBarrier) => barrier().map(Meeting::NamedBarrier),
            OpClass::Collective(
                CollectiveOp::GroupReduce | CollectiveOp::GroupScan | CollectiveOp::GroupScanExclusive,
            ) => {
                if let Imm::Group(info) = &self.imm {
                    Some(Meeting::Exchange(info.scope))
                } else {
                    None
                }
            }
            OpClass::Collective(CollectiveOp::GroupBallot | CollectiveOp::GroupShuffle) => {
                Some(Meeting::Exchange(MemScope::SubGroup))
            }
            // Nobody waits: a lane may take its own value for that of all.
            OpClass::Collective(CollectiveOp::PackAny) | OpClass::Sync(SyncOp::Yield | SyncOp::Deadlock) => None,
            OpClass::Leaf(_)
            | OpClass::Int(_)
            | OpClass::Float(_)
            | OpClass::Convert(_)
            | OpClass::Lane(_)
            | OpClass::Address(_)
            | OpClass::Memory(_)
            | OpClass::Image(_)
            | OpClass::Query(_)
            | OpClass::Call(_)
            | OpClass::Terminator(_) => None,
        }
    }
}
