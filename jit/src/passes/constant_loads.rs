//! Loads from constant variables at constant offsets become constants. Tables that are indexed by the counter of an unrolled loop
//! then decide indices, shifts and factors when the kernel is compiled.
//!
//! Left alone: loads of addresses of other variables, which only the program's memory determines, and loads that reach beyond the
//! variable.

use clift_kir::dfg::ConstData;
use clift_kir::{Builder, Elem, Function, Global, GlobalData, Imm, MemInfo, Opcode, Space, Type, Value};

use super::util::{Replacements, base_and_offset};
use super::{Changed, Globals};

/// Replaces loads of known values.
pub(super) fn run(func: &mut Function, globals: &Globals) -> Changed {
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        let known = |func: &Function, inst| {
            let data = func.dfg.inst(inst);
            let (Opcode::Load, Imm::Mem(MemInfo { volatile: false, .. })) = (data.op, &data.imm) else { return None };
            let (global, offset) = place(func, data.args[0])?;
            content(globals.get(global)?, offset, func.dfg.ty(func.dfg.result(inst)))
        };
        if !func.layout.insts(block).iter().any(|&inst| known(func, inst).is_some()) {
            continue;
        }
        for inst in func.layout.take_insts(block) {
            let Some(content) = known(func, inst) else {
                func.layout.append_inst(block, inst);
                continue;
            };
            let (result, loc) = (func.dfg.result(inst), func.locs[inst]);
            let mut b = Builder::at_end(func, block);
            b.set_loc(loc);
            let value = b.constant(content);
            replacements.set(result, value);
        }
    }
    replacements.apply(func);
    Changed(replacements.any())
}

/// The constant variable into which a pointer points, and the offset there, if that is constant.
fn place(func: &Function, pointer: Value) -> Option<(Global, u64)> {
    let (base, offset) = base_and_offset(func, pointer)?;
    if let Imm::Global(global) = func.dfg.inst(base).imm { Some((global, offset)) } else { None }
}

/// What a load from a constant variable reads.
pub(super) fn content(global: &GlobalData, offset: u64, ty: Type) -> Option<ConstData> {
    let end = offset.checked_add(u64::from(ty.bytes()))?;
    let has_address =
        global.init.addresses.iter().any(|&(at, ..)| at < end && offset < at.saturating_add(ADDRESS_BYTES));
    if global.space != Space::Constant || end > global.size || has_address {
        return None;
    }
    match ty.elem {
        Elem::B1 | Elem::Ptr(_) => return None,
        Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::F16 | Elem::F32 | Elem::F64 => (),
    }
    let byte = |at: u64| usize::try_from(at).ok().and_then(|at| global.init.bytes.get(at)).copied().unwrap_or(0);
    let bytes = u64::from(ty.elem.bytes());
    let lane = |lane: u64| (0..bytes).map(|i| u64::from(byte(offset + lane * bytes + i)) << (8 * i)).sum();
    let lanes: Vec<u64> = (0..u64::from(ty.lanes())).map(lane).collect();
    Some(ConstData::new(ty, &lanes))
}

const ADDRESS_BYTES: u64 = 8;
