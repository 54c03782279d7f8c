//! Loads of OpenCL vectors of which only the elements are used become loads of the elements.
//!
//! Work-items that share a body `float4` of a simulation, or a record of a table, multiply its elements with vectors of their
//! own. An element that is loaded alone can be broadcast to the lanes by the load itself, and even by the instruction that uses
//! it; from a register it takes two shuffles. Where scalars use it, a load takes no longer than a shuffle.
//!
//! Volatile loads stay, and so do those that something uses as a whole.

use clift_kir::analysis::UseCounts;
use clift_kir::{Builder, Function, Imm, Inst, MemInfo, Opcode, Type, Value};
use rustc_hash::FxHashMap;

use super::Changed;
use super::memory::plain_access;
use super::util::Replacements;

/// The most elements of a load that are loaded alone.
const MAX_ELEMENTS: usize = 8;

/// Splits all loads of which only elements are used.
pub(super) fn run(func: &mut Function) -> Changed {
    let vectors = vectors(func);
    if vectors.is_empty() {
        return Changed(false);
    }
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        if !func.layout.insts(block).iter().any(|inst| vectors.contains_key(inst)) {
            continue;
        }
        for inst in func.layout.take_insts(block) {
            func.layout.append_inst(block, inst);
            let Some(elements) = vectors.get(&inst) else { continue };
            let mut b = Builder::at_end(func, block);
            b.set_loc(b.func.locs[inst]);
            for (lane, extracted) in by_lane(elements) {
                let element = load_element(&mut b, inst, lane);
                for &value in extracted {
                    replacements.set(value, element);
                }
            }
        }
    }
    replacements.apply(func);
    Changed(replacements.any())
}

/// The values of each lane that is used.
fn by_lane(elements: &[Vec<Value>]) -> impl Iterator<Item = (usize, &[Value])> {
    elements.iter().enumerate().map(|(lane, values)| (lane, values.as_slice())).filter(|(_, values)| !values.is_empty())
}

/// The loads of vectors of which only elements are used, and the values that these are extracted to, by lane.
fn vectors(func: &Function) -> FxHashMap<Inst, Vec<Vec<Value>>> {
    let mut found: FxHashMap<Inst, Vec<Vec<Value>>> = FxHashMap::default();
    let insts = || func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)).copied();
    for inst in insts().filter(|&inst| func.dfg.inst(inst).op == Opcode::Load) {
        if let Some((_, ty, _)) = plain_access(func, inst)
            && ty.is_vector()
            && ty.elem.bits() >= 8
        {
            found.insert(inst, vec![Vec::new(); ty.lanes() as usize]);
        }
    }
    if found.is_empty() {
        return found;
    }
    for inst in insts() {
        let data = func.dfg.inst(inst);
        if let (Opcode::Extract, &Imm::Lane(lane)) = (data.op, &data.imm)
            && let Some(lanes) = func.dfg.def_inst(data.args[0]).and_then(|load| found.get_mut(&load))
        {
            lanes[usize::from(lane)].push(func.dfg.result(inst));
        }
    }
    let uses = UseCounts::new(func);
    found.retain(|&load, lanes| {
        let extracts: usize = lanes.iter().map(Vec::len).sum();
        let elements = lanes.iter().filter(|values| !values.is_empty()).count();
        (1..=MAX_ELEMENTS).contains(&elements) && uses.get(func.dfg.result(load)) as usize == extracts
    });
    found
}

/// Loads one element of a vector that `inst` loads.
fn load_element(b: &mut Builder<'_>, inst: Inst, lane: usize) -> Value {
    let Some((pointer, ty, mem)) = plain_access(b.func, inst) else {
        unreachable!("broken invariant: {inst} is not a plain load")
    };
    let offset = lane as u64 * u64::from(ty.elem.bits() / 8);
    let parts = b.func.dfg.def_inst(pointer).map(|def| b.func.dfg.inst(def).clone());
    let address = match parts {
        Some(data) if let Imm::Addr { scale, disp } = data.imm => {
            b.addr(data.args[0], data.args.get(1).copied(), scale, disp.wrapping_add(offset as i64))
        }
        Some(_) | None => b.addr(pointer, None, 1, offset as i64),
    };
    let within = if offset == 0 { mem.align } else { mem.align.min(1 << offset.trailing_zeros()) };
    b.load(Type::scalar(ty.elem), address, MemInfo { align: within, ..mem })
}
