//! Collective operations: exchange of values between the work-items of a sub-group or work-group.
//!
//! Operations of a *sub-group* no longer exist when the work-group loops are made. A pack is a sub-group, so they have become
//! code on the lanes of a pack; for packs of one work-item, [`lower_for_single_lane`] replaces them. Operations of a *work-group*
//! stay. Each begins a region, like a barrier, and `loops.rs` combines the operands of the work-items while it goes from one to
//! the next.

use clift_kir::analysis::{Cfg, DomTree, LoopForest};
use clift_kir::dfg::ConstData;
use clift_kir::eval::identity;
use clift_kir::ops::{CollectiveOp, OpClass};
use clift_kir::{
    AtomicOp, Builder, Function, GroupInfo, Imm, Inst, InstData, KernelData, MemScope, Opcode, Space, Type,
};

use crate::passes::Replacements;
use crate::spmd::class::{Class, class, is_of_groups_along_x, is_of_sub_groups, is_size_of_sub_groups};

/// A collective operation of a work-group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collective {
    /// The instruction.
    pub(crate) inst: Inst,
    /// The operation that combines the operands.
    pub(crate) op: AtomicOp,
    /// Which operands a work-item's result combines.
    pub(crate) kind: CollectiveKind,
}

/// Which operands of a group's work-items a result combines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CollectiveKind {
    /// All.
    Reduction,
    /// Those up to the work-item's own.
    InclusiveScan,
    /// Those before the work-item's own.
    ExclusiveScan,
}

impl Collective {
    /// The collective operation of a work-group that an instruction is, if it is one.
    pub(crate) fn of(func: &Function, inst: Inst) -> Option<Collective> {
        let data = func.dfg.inst(inst);
        let OpClass::Collective(op) = data.op.class() else { return None };
        let kind = kind(op)?;
        let &Imm::Group(GroupInfo { scope: MemScope::WorkGroup, op, cluster: _ }) = &data.imm else { return None };
        Some(Collective { inst, op, kind })
    }

    /// The identity, with which combining begins.
    pub(crate) fn start(self, ty: Type) -> ConstData {
        ConstData::splat(ty, identity(self.op, ty.elem))
    }
}

/// What an instruction observes of sub-groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observed {
    Nothing,
    /// How many work-items they have.
    Size,
    /// Which work-items make up one.
    Members,
}

impl Observed {
    fn by(func: &Function, inst: Inst) -> Observed {
        match class(func.dfg.inst(inst).op) {
            Class::Query(query) if is_size_of_sub_groups(query) => Observed::Size,
            Class::Query(query) if is_of_sub_groups(query) => Observed::Members,
            Class::Collective if Collective::of(func, inst).is_none() => Observed::Members,
            Class::NamedBarrier => Observed::Members,
            Class::Query(_)
            | Class::Collective
            | Class::Constant
            | Class::Arg
            | Class::ArgAddr
            | Class::SlotAddr
            | Class::GlobalAddr
            | Class::InSpace
            | Class::Cheap
            | Class::Load
            | Class::Plain
            | Class::Barrier
            | Class::Yield
            | Class::Branch
            | Class::End
            | Class::Image => Observed::Nothing,
        }
    }
}

fn insts(func: &Function) -> impl Iterator<Item = Inst> {
    func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)).copied()
}

/// Whether a kernel can observe which work-items make up a sub-group.
pub(crate) fn observes_sub_groups(func: &Function) -> bool {
    insts(func).any(|inst| Observed::by(func, inst) != Observed::Nothing)
}

/// Whether the sub-groups of a kernel meet at barriers, and it observes nothing of them but how many work-items they have: it
/// exchanges values through local memory, in places that depend on that number.
pub(crate) fn adapts_to_sub_groups(func: &Function) -> bool {
    let of_sub_group =
        |inst| matches!(&func.dfg.inst(inst).imm, Imm::Barrier(info) if info.execution == MemScope::SubGroup);
    observes_sub_groups(func)
        && insts(func).all(|inst| Observed::by(func, inst) != Observed::Members)
        && insts(func).any(of_sub_group)
}

/// Number of work-items in a row that access a long enough run of memory.
const LONG_ROW_ITEMS: u32 = 128;

/// How many work-items rows of work-groups should have: groups may be coalesced along x until they do. 0 if the kernel, which has
/// `width` lanes, can observe which work-items of a row make up a work-group, or would not gain. Rows should be whole packs. If
/// the kernel has no loops, and accesses `runs` of memory, longer rows mean longer runs; memory that loops access repeatedly is
/// a reason for a program to choose small groups.
pub(crate) fn coalesced_row(func: &Function, kernel: &KernelData, width: u32, runs: bool) -> u32 {
    if width == 1 || !may_divide_rows(func, kernel) {
        return 0;
    }
    let cfg = Cfg::new(func);
    let loops = LoopForest::new(&cfg, &DomTree::new(&cfg));
    let has_loops = loops.iter().next().is_some() || loops.irreducible();
    if runs && !has_loops { LONG_ROW_ITEMS } else { width }
}

/// Whether rows may be divided into work-groups in any way: a kernel that requires no size cannot observe which work-items of a row
/// make up a group.
pub(crate) fn may_divide_rows(func: &Function, kernel: &KernelData) -> bool {
    kernel.required_local_size.is_none() && cannot_observe_rows(func)
}

fn cannot_observe_rows(func: &Function) -> bool {
    func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)).all(|&inst| {
        let data = func.dfg.inst(inst);
        let local = func.dfg.results(inst).iter().any(|&value| func.dfg.ty(value).elem.space() == Some(Space::Local));
        match class(data.op) {
            Class::Query(query) => !is_of_groups_along_x(query, &data.imm),
            Class::Collective | Class::NamedBarrier | Class::Yield | Class::Barrier => false,
            Class::Constant
            | Class::Arg
            | Class::ArgAddr
            | Class::SlotAddr
            | Class::GlobalAddr
            | Class::InSpace
            | Class::Cheap
            | Class::Load
            | Class::Plain
            | Class::Branch
            | Class::End
            | Class::Image => !local,
        }
    })
}

/// Which operands the result of an operation that combines values combines.
fn kind(op: CollectiveOp) -> Option<CollectiveKind> {
    match op {
        CollectiveOp::GroupReduce => Some(CollectiveKind::Reduction),
        CollectiveOp::GroupScan => Some(CollectiveKind::InclusiveScan),
        CollectiveOp::GroupScanExclusive => Some(CollectiveKind::ExclusiveScan),
        CollectiveOp::PackAny | CollectiveOp::GroupBallot | CollectiveOp::GroupShuffle => None,
    }
}

/// Replaces the operations of sub-groups for sub-groups of one work-item: the result is the work-item's own operand.
pub(crate) fn lower_for_single_lane(func: &mut Function) {
    let mut replacements = Replacements::default();
    let is_collective = |func: &Function, inst: Inst| matches!(func.dfg.inst(inst).op.class(), OpClass::Collective(_));
    for block in func.layout.blocks().to_vec() {
        if !func.layout.insts(block).iter().any(|&inst| is_collective(func, inst)) {
            continue;
        }
        for inst in func.layout.take_insts(block) {
            let data = func.dfg.inst(inst).clone();
            let combined = if let Imm::Group(info) = &data.imm { Some(info) } else { None };
            let OpClass::Collective(op) = data.op.class() else {
                func.layout.append_inst(block, inst);
                continue;
            };
            if combined.is_some_and(|info| info.scope != MemScope::SubGroup) {
                func.layout.append_inst(block, inst);
                continue;
            }
            let result = func.dfg.result(inst);
            match op {
                CollectiveOp::GroupReduce
                | CollectiveOp::GroupScan
                | CollectiveOp::GroupShuffle
                | CollectiveOp::PackAny => replacements.set(result, data.args[0]),
                CollectiveOp::GroupScanExclusive => {
                    if let Some(info) = combined {
                        let ty = func.dfg.ty(result);
                        let start = func.dfg.make_const(ConstData::splat(ty, identity(info.op, ty.elem)));
                        let data = InstData { op: Opcode::Const, args: Default::default(), imm: Imm::Const(start) };
                        func.dfg.replace_inst(inst, data);
                    }
                    func.layout.append_inst(block, inst);
                }
                CollectiveOp::GroupBallot => {
                    let mut b = Builder::at_end(func, block);
                    let bit = b.cast(Opcode::Zext, data.args[0], Type::I32);
                    let zero = b.iconst(Type::I32, 0);
                    let words = b.vec(&[bit, zero, zero, zero]);
                    replacements.set(result, words);
                }
            }
        }
    }
    replacements.apply(func);
}
