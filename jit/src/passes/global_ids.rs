//! Global ids that a kernel computes from the ids of its group: `get_group_id(0) * get_enqueued_local_size(0) + get_local_id(0)`.
//!
//! Programs ported from CUDA have them, with `get_local_size`, which is the same where all work-groups have the same size
//! ([`assume_full_groups`]). As a query, the id says that the kernel does not depend on which work-items make up a group, and its
//! range is known.

use clift_kir::{Builder, Function, Imm, InstData, Opcode, Value};

use super::Changed;
use super::util::Replacements;

/// Takes the size of each work-group for the enqueued one.
pub(super) fn assume_full_groups(func: &mut Function) {
    for &inst in func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)) {
        let op = &mut func.dfg.inst_mut(inst).op;
        if *op == Opcode::LocalSize {
            *op = Opcode::EnqueuedLocalSize;
        }
    }
}

/// Replaces the sums by queries.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        if !func.layout.insts(block).iter().any(|&inst| computed_id(func, func.dfg.inst(inst)).is_some()) {
            continue;
        }
        for inst in func.layout.take_insts(block) {
            let Some(dim) = computed_id(func, func.dfg.inst(inst)) else {
                func.layout.append_inst(block, inst);
                continue;
            };
            let (result, loc) = (func.dfg.result(inst), func.locs[inst]);
            let elem = func.dfg.ty(result).elem;
            let mut b = Builder::at_end(func, block);
            b.set_loc(loc);
            let (id, offset) = (b.query(Opcode::GlobalId, dim), b.query(Opcode::GlobalOffset, dim));
            let from_offset = b.int2(Opcode::Isub, id, offset);
            let value = b.int_resize(from_offset, elem, false);
            replacements.set(result, value);
        }
    }
    replacements.apply(func);
    Changed(replacements.any())
}

/// The dimension whose global id, without the offset, an instruction computes.
fn computed_id(func: &Function, data: &InstData) -> Option<u8> {
    let (Opcode::Iadd, &[a, b]) = (data.op, data.args.as_slice()) else { return None };
    let product_and_id = |product: Value, id: Value| {
        let (Opcode::LocalId, dim) = query(func, id)? else { return None };
        let product = func.dfg.inst(func.dfg.def_inst(product)?);
        let (Opcode::Imul, &[x, y]) = (product.op, product.args.as_slice()) else { return None };
        let of_groups = |group: Value, size: Value| {
            query(func, group) == Some((Opcode::GroupId, dim))
                && query(func, size) == Some((Opcode::EnqueuedLocalSize, dim))
        };
        (of_groups(x, y) || of_groups(y, x)).then_some(dim)
    };
    product_and_id(a, b).or_else(|| product_and_id(b, a))
}

/// The query, and its dimension, of which a value is the result, or the low bits of it.
fn query(func: &Function, value: Value) -> Option<(Opcode, u8)> {
    let data = func.dfg.inst(func.dfg.def_inst(value)?);
    let data = if data.op == Opcode::Itrunc { func.dfg.inst(func.dfg.def_inst(data.args[0])?) } else { data };
    if let Imm::Dim(dim) = data.imm { Some((data.op, dim)) } else { None }
}
