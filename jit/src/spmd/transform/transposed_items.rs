//! Transposed launches: rewrites a kernel so that dimension x of its launches and another one are exchanged. Lanes are then
//! work-items that are neighbours along the other one.
//!
//! A program whose first dimension numbers rows of a matrix, `a[get_global_id(0) * n + get_global_id(1)]`, accesses memory with a
//! large stride along x and contiguously along y. If it numbers the planes of a volume, with the index
//! `(get_global_id(0) * n + get_global_id(1)) * n + get_global_id(2)`, neighbours along z access neighbouring elements.
//! Work-items may be executed in any order, so the runtime exchanges the two dimensions of the launch, and each query asks for
//! the other one.
//!
//! Not for kernels that can observe an order of the work-items of a group: those with sub-groups, linear ids or collective
//! operations.
//!
//! Deliberately not here: when a kernel gains ([`gains_from_transposition`](crate::spmd::gains_from_transposition)), and which
//! launches are transposed ([`crate::specialize`]).

use clift_include::exchange::Exchange;
use clift_kir::ops::QueryOp;
use clift_kir::{Function, Imm, KernelData};

use crate::spmd::class::{Class, class};

/// Exchanges x and another dimension in a kernel that uses it, if it cannot observe an order of work-items.
pub(crate) fn run(func: &Function, exchange: Exchange) -> Option<Function> {
    if !is_possible(func, exchange) {
        return None;
    }
    let mut transposed = func.clone();
    for &block in func.layout.blocks() {
        for &inst in func.layout.insts(block) {
            let data = func.dfg.inst(inst);
            if let (Class::Query(_), Imm::Dim(dim)) = (class(data.op), &data.imm) {
                let imm = Imm::Dim(exchange.of(*dim));
                transposed.dfg.replace_inst(inst, clift_kir::InstData { imm, ..data.clone() });
            }
        }
    }
    Some(transposed)
}

/// Whether a kernel uses a dimension and cannot observe an order of work-items.
pub(crate) fn is_possible(func: &Function, exchange: Exchange) -> bool {
    let mut uses_other = false;
    for &inst in func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)) {
        let data = func.dfg.inst(inst);
        match class(data.op) {
            Class::Query(query) if depends_on_order(query) => return false,
            Class::Query(_) => uses_other |= data.imm == Imm::Dim(exchange.dimension()),
            Class::Collective | Class::NamedBarrier | Class::Yield | Class::Image => return false,
            Class::Constant
            | Class::Arg
            | Class::ArgAddr
            | Class::SlotAddr
            | Class::GlobalAddr
            | Class::InSpace
            | Class::Cheap
            | Class::Load
            | Class::Plain
            | Class::Barrier
            | Class::Branch
            | Class::End => {}
        }
    }
    uses_other
}

/// What a kernel demands of its transposed launches.
pub(crate) fn kernel(kernel: &KernelData, exchange: Exchange) -> KernelData {
    KernelData { required_local_size: kernel.required_local_size.map(|sizes| exchange.apply(sizes)), ..kernel.clone() }
}

/// Whether a query's answer depends on the order of work-items or dimensions.
pub(crate) fn depends_on_order(query: QueryOp) -> bool {
    match query {
        QueryOp::GlobalLinearId
        | QueryOp::LocalLinearId
        | QueryOp::SubGroupSize
        | QueryOp::MaxSubGroupSize
        | QueryOp::NumSubGroups
        | QueryOp::EnqueuedNumSubGroups
        | QueryOp::SubGroupId
        | QueryOp::SubGroupLocalId => true,
        QueryOp::WorkDim
        | QueryOp::GlobalSize
        | QueryOp::GlobalOffset
        | QueryOp::GlobalId
        | QueryOp::NumGroups
        | QueryOp::EnqueuedLocalSize
        | QueryOp::LocalSize
        | QueryOp::GroupId
        | QueryOp::LocalId => false,
    }
}
