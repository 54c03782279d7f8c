//! Prepares a kernel for work-groups that are taken as one row: packs consist of work-items with consecutive local linear ids,
//! and go beyond the ends of the rows along x.
//!
//! Sub-groups have to be like this, because all sub-groups of a work-group but the last one have the same size. Ids are
//! computed from the local linear id, which takes divisions and makes accesses scattered, so only launches have it whose rows
//! are not whole packs, and only kernels that can observe sub-groups.
//!
//! Deliberately not here: the loop over the row ([`Packing::one_row`](crate::spmd::workgroup::Packing::one_row)).

use clift_kir::ops::QueryOp;
use clift_kir::{Builder, Function, Opcode, Type, Value};

use crate::passes::Replacements;
use crate::spmd::class::{Class, class};

/// The kernel for work-groups that are one row.
pub(crate) fn run(kernel: &Function) -> Function {
    let mut func = kernel.clone();
    let Some(&entry) = func.layout.blocks().first() else { return func };
    let mut queries = Vec::new();
    for block in func.layout.blocks().to_vec() {
        for inst in func.layout.insts(block).to_vec() {
            let data = func.dfg.inst(inst);
            let Class::Query(query) = class(data.op) else { continue };
            if let Some(id) = ItemId::of(query, data.imm.dim()) {
                queries.push((block, inst, id));
            }
        }
    }
    if queries.is_empty() {
        return func;
    }
    let mut b = Builder::before(&mut func, entry, 0);
    let local = local_ids(&mut b);
    let values: Vec<Value> = queries.iter().map(|&(_, _, id)| id.compute(&mut b, local)).collect();
    let mut replacements = Replacements::default();
    for (&(block, inst, _), &value) in queries.iter().zip(&values) {
        debug_assert!(func.layout.insts(block).contains(&inst));
        replacements.set(func.dfg.result(inst), value);
        func.layout.remove_inst(inst);
    }
    replacements.apply(&mut func);
    func
}

/// An id that differs between work-items and is not counted along the one row.
#[derive(Clone, Copy)]
enum ItemId {
    Local(u8),
    Global(u8),
    GlobalLinear,
}

impl ItemId {
    fn of(query: QueryOp, dim: u8) -> Option<ItemId> {
        match query {
            QueryOp::LocalId => Some(ItemId::Local(dim)),
            QueryOp::GlobalId => Some(ItemId::Global(dim)),
            QueryOp::GlobalLinearId => Some(ItemId::GlobalLinear),
            QueryOp::WorkDim
            | QueryOp::GlobalSize
            | QueryOp::GlobalOffset
            | QueryOp::NumGroups
            | QueryOp::EnqueuedLocalSize
            | QueryOp::LocalSize
            | QueryOp::GroupId
            | QueryOp::LocalLinearId
            | QueryOp::SubGroupSize
            | QueryOp::MaxSubGroupSize
            | QueryOp::NumSubGroups
            | QueryOp::EnqueuedNumSubGroups
            | QueryOp::SubGroupId
            | QueryOp::SubGroupLocalId => None,
        }
    }

    /// The id's value, given the local ids.
    fn compute(self, b: &mut Builder<'_>, local: [Value; 3]) -> Value {
        match self {
            ItemId::Local(dim) => local[usize::from(dim)],
            ItemId::Global(dim) => {
                let position = without_offset(b, local, dim);
                let offset = b.query(Opcode::GlobalOffset, dim);
                b.int2(Opcode::Iadd, position, offset)
            }
            ItemId::GlobalLinear => {
                let [x, y, z] = [0, 1, 2].map(|dim| without_offset(b, local, dim));
                let [width, height] = [0, 1].map(|dim| b.query(Opcode::GlobalSize, dim));
                let plane = b.int2(Opcode::Imul, z, height);
                let row = b.int2(Opcode::Iadd, plane, y);
                let before = b.int2(Opcode::Imul, row, width);
                b.int2(Opcode::Iadd, before, x)
            }
        }
    }
}

/// The local ids, from the local linear id.
fn local_ids(b: &mut Builder<'_>) -> [Value; 3] {
    // Local linear ids and sizes fit 32 bits, in which divisions are cheaper.
    let linear = b.query_linear(Opcode::LocalLinearId);
    let linear = b.cast(Opcode::Itrunc, linear, Type::I32);
    let [width, height] = [0, 1].map(|dim| {
        let size = b.query(Opcode::LocalSize, dim);
        b.cast(Opcode::Itrunc, size, Type::I32)
    });
    let mut split = |value, by| {
        let (rest, quotient) = (b.int2(Opcode::Urem, value, by), b.int2(Opcode::Udiv, value, by));
        (b.cast(Opcode::Zext, rest, Type::I64), quotient)
    };
    let (x, row) = split(linear, width);
    let (y, plane) = split(row, height);
    let z = b.cast(Opcode::Zext, plane, Type::I64);
    [x, y, z]
}

/// A global id without the global offset.
fn without_offset(b: &mut Builder<'_>, local: [Value; 3], dim: u8) -> Value {
    let (group, size) = (b.query(Opcode::GroupId, dim), b.query(Opcode::EnqueuedLocalSize, dim));
    let origin = b.int2(Opcode::Imul, group, size);
    b.int2(Opcode::Iadd, origin, local[usize::from(dim)])
}
