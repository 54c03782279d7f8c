//! Composites: construction, extraction and insertion for vectors, structs and arrays.

use clift_kir::{Elem, IntCond, Opcode, Value};

use super::built_in::{ComponentIndex, component_of_loaded};
use super::classes::CompositeInst;
use crate::spirv::llvm_backend;
use crate::spirv::lower::{FuncCx, Leaves, MemAccess, Val};
use crate::spirv::types::TypeKind;
use crate::spirv::words::{Inst, InstError};

/// The component literal of a shuffle for an undefined component.
const UNDEFINED_LANE: u32 = u32::MAX;

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: CompositeInst) -> Result<(), InstError> {
    match op {
        CompositeInst::VectorExtractDynamic => {
            let id = inst.id(0)?;
            let vector = vector(cx, id)?;
            let lane = cx.scalar_int(inst.id(1)?)?;
            let value = match component_of_loaded(cx, id, ComponentIndex::Dynamic(lane))? {
                Some(value) => value,
                None => extract_dynamic(cx, vector, lane),
            };
            cx.set(inst, value)
        }
        CompositeInst::VectorInsertDynamic => {
            let (vector, element) = (vector(cx, inst.id(0)?)?, cx.value(inst.id(1)?)?);
            let lane = cx.scalar_int(inst.id(2)?)?;
            if cx.b.ty(element) != cx.b.ty(vector).lane() {
                return Err(InstError::malformed("the component does not have the vector's component type"));
            }
            let lane = cx.b.int_resize(lane, Elem::I32, false);
            let is_vector = cx.b.ty(vector).is_vector();
            let value = if is_vector { cx.b.insert_dyn(vector, element, lane) } else { element };
            cx.set(inst, value)
        }
        CompositeInst::VectorShuffle => shuffle(cx, inst),
        CompositeInst::CompositeConstruct => construct(cx, inst),
        CompositeInst::CompositeExtract => extract(cx, inst),
        CompositeInst::CompositeInsert => insert(cx, inst),
        // No pass computes with other operations than a program's across a value, unless fast-math flags allow it.
        CompositeInst::CopyObject
        | CompositeInst::CopyLogical
        | CompositeInst::ArithmeticFenceEXT
        | CompositeInst::FPGARegALTERA => {
            let (id, ty) = (inst.id(0)?, inst.result_type()?);
            if !cx.unit.types.same_shape(cx.type_of(id)?, ty)? {
                return Err(InstError::malformed("the operand does not have the result type"));
            }
            let val = cx.val(id)?;
            cx.set_val(inst, val)
        }
        CompositeInst::Undef => {
            let info = cx.type_info(inst.result_type()?)?;
            if !info.is_sized() {
                return Err(InstError::malformed("the result type has no values"));
            }
            let val = if info.is_flat() {
                Val::Leaves(info.leaves.iter().map(|leaf| cx.b.undef(leaf.ty)).collect())
            } else {
                Val::Memory(cx.slot(info.size, info.align)?)
            };
            cx.set_val(inst, val)
        }
    }
}

/// A value that must be a vector.
fn vector(cx: &mut FuncCx<'_>, id: u32) -> Result<Value, InstError> {
    let ty = cx.type_of(id)?;
    let value = cx.value(id)?;
    let is_vector = matches!(cx.type_info(ty)?.kind, TypeKind::Vector { .. });
    if is_vector { Ok(value) } else { Err(InstError::malformed("the operand is not a vector")) }
}

/// A component at a dynamic index. For a short vector that a `vec` op defines (such as the ids and sizes of work-items), a chain
/// of selections among its elements.
pub(super) fn extract_dynamic(cx: &mut FuncCx<'_>, vector: Value, lane: Value) -> Value {
    let components = match cx.def_op(vector) {
        Some((Opcode::Vec, data)) if data.args.len() <= 4 => Some(data.args.clone()),
        Some(_) | None => None,
    };
    match components {
        Some(components) => choose(cx, &components, components[0], lane),
        None if !cx.b.ty(vector).is_vector() => vector,
        None => {
            let lane = cx.b.int_resize(lane, Elem::I32, false);
            cx.b.extract_dyn(vector, lane)
        }
    }
}

/// The element at a dynamic index, or `otherwise` if the index is out of range.
pub(super) fn choose(cx: &mut FuncCx<'_>, elements: &[Value], otherwise: Value, number: Value) -> Value {
    let ty = cx.b.ty(number);
    let mut result = otherwise;
    for (index, &element) in elements.iter().enumerate() {
        if element == result {
            continue;
        }
        let this = cx.b.iconst(ty, index as i64);
        let hit = cx.b.icmp(IntCond::Eq, number, this);
        result = cx.b.select(hit, element, result);
    }
    result
}

fn shuffle(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let (a, b) = (vector(cx, inst.id(0)?)?, vector(cx, inst.id(1)?)?);
    let (first, second) = (cx.b.ty(a), cx.b.ty(b));
    let result = cx.kir_type(inst.result_type()?)?;
    let numbers = inst.literals_from(2)?;
    // A vector from which no component is taken may have another element type: clang writes such vectors for "undefined".
    let taken = numbers.iter().filter(|&&number| number != UNDEFINED_LANE);
    let wrong =
        taken.map(|&number| if number < first.lanes() { first } else { second }).any(|ty| ty.elem != result.elem);
    if wrong || ![first.elem, second.elem].contains(&result.elem) || numbers.len() != result.lanes() as usize {
        return Err(InstError::malformed(format!(
            "{} components of {first} and {second} do not make {result}",
            numbers.len()
        )));
    }
    let total = first.lanes() + second.lanes();
    if let Some(number) = numbers.iter().find(|&&n| n >= total && n != UNDEFINED_LANE) {
        return Err(InstError::malformed(format!(
            "component {number} is out of range for vectors of {total} components"
        )));
    }
    // An undefined component may have any value: the one at the same position keeps whole-vector moves recognizable.
    let lanes: Vec<u8> = numbers
        .iter()
        .enumerate()
        .map(|(place, &number)| match number {
            UNDEFINED_LANE if first.elem != result.elem => first.lanes() as u8,
            UNDEFINED_LANE if (place as u32) < first.lanes() => place as u8,
            UNDEFINED_LANE => 0,
            number => number as u8,
        })
        .collect();
    let value = if first == second && first.is_vector() && result.is_vector() {
        cx.b.shuffle(a, b, &lanes)
    } else {
        // Vectors of different lengths: extract the components one by one.
        let taken: Vec<Value> = lanes
            .iter()
            .map(|&lane| {
                let lane = u32::from(lane);
                if lane < first.lanes() { cx.extract(a, lane) } else { cx.extract(b, lane - first.lanes()) }
            })
            .collect();
        let from_first = lanes.iter().all(|&lane| u32::from(lane) < first.lanes());
        if from_first && first.is_vector() && result.is_vector() {
            cx.b.shuffle(a, a, &lanes)
        } else {
            cx.b.vec(&taken)
        }
    };
    cx.set(inst, value)
}

fn construct(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let ty = inst.result_type()?;
    let info = cx.type_info(ty)?;
    let parts = inst.ids_from(0)?;
    let Some(count) = info.kind.parts() else {
        return Err(InstError::malformed("the result type is not a composite"));
    };
    if let TypeKind::Vector { .. } = info.kind {
        let result = cx.kir_type(ty)?;
        let mut elements = Vec::new();
        for &part in &parts {
            let value = cx.value(part)?;
            let part_ty = cx.b.ty(value);
            if part_ty.elem != result.elem {
                return Err(InstError::malformed("a constituent does not have the component type"));
            }
            elements.extend((0..part_ty.lanes()).map(|lane| cx.extract(value, lane)));
        }
        if elements.len() != result.lanes() as usize {
            return Err(InstError::malformed(format!("{} components do not make {result}", elements.len())));
        }
        let value = cx.b.vec(&elements);
        return cx.set(inst, value);
    }
    if parts.len() as u64 != count {
        return Err(InstError::malformed(format!("{} constituents for a composite of {count} parts", parts.len())));
    }
    let slot = if info.is_flat() { None } else { Some(cx.slot(info.size, info.align)?) };
    let mut leaves = Leaves::new();
    for (index, &part) in parts.iter().enumerate() {
        let step = cx.unit.types.step(ty, index as u64)?;
        if !cx.unit.types.same_shape(cx.type_of(part)?, step.ty)? {
            return Err(InstError::malformed(format!("constituent {index} does not have the type of part {index}")));
        }
        let val = cx.val(part)?;
        match (slot, val) {
            (Some(slot), val) => {
                let address = cx.offset(slot, step.offset);
                let align = cx.type_info(step.ty)?.align.min(info.align);
                cx.store(step.ty, address, &val, MemAccess::aligned(align))?;
            }
            (None, Val::Leaves(inner)) => leaves.extend(inner),
            (None, Val::Memory(_) | Val::BuiltIn(_)) => leaves.push(cx.value(part)?),
        }
    }
    cx.set_val(inst, slot.map_or(Val::Leaves(leaves), Val::Memory))
}

/// A part of a composite at constant indices.
struct CompositePart {
    /// Type of the part; for a component of a vector, the type of the vector.
    ty: u32,
    /// Its first leaf.
    leaf: u64,
    /// Its offset in bytes.
    offset: u64,
    /// The component, if the part is a component of a vector.
    lane: Option<u32>,
}

fn part(cx: &FuncCx<'_>, ty: u32, indices: &[u32]) -> Result<CompositePart, InstError> {
    let mut part = CompositePart { ty, leaf: 0, offset: 0, lane: None };
    for &index in indices {
        if part.lane.is_some() {
            return Err(InstError::malformed("too many indices: a vector component has no parts"));
        }
        let step = cx.unit.types.step(part.ty, index.into())?;
        if matches!(cx.type_info(part.ty)?.kind, TypeKind::Vector { .. }) {
            part.lane = Some(index);
        } else {
            part.ty = step.ty;
            part.leaf += step.leaf;
            part.offset += step.offset;
        }
    }
    Ok(part)
}

fn extract(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let composite = inst.id(0)?;
    if let ([index], TypeKind::Vector { lanes, .. }) =
        (&inst.literals_from(1)?[..], &cx.type_info(cx.type_of(composite)?)?.kind)
        && index >= lanes
        && let Some(value) = component_of_loaded(cx, composite, ComponentIndex::Constant(*index))?
    {
        return cx.set(inst, value);
    }
    let part = part(cx, cx.type_of(composite)?, &inst.literals_from(1)?)?;
    let info = cx.type_info(part.ty)?;
    let val = match cx.val(composite)? {
        Val::Leaves(leaves) => {
            let first = part.leaf as usize;
            Val::Leaves(leaves[first..first + info.leaf_count as usize].into())
        }
        Val::Memory(address) => {
            let address = cx.offset(address, part.offset);
            if info.is_flat() {
                cx.load(part.ty, address, MemAccess::aligned(info.align.min(align_of(part.offset))))?
            } else {
                Val::Memory(address)
            }
        }
        Val::BuiltIn(_) => return Err(InstError::malformed("the operand is not a composite")),
    };
    match (part.lane, &val) {
        (Some(lane), Val::Leaves(leaves)) => {
            let value = cx.extract(leaves[0], lane);
            cx.set(inst, value)
        }
        (Some(_), Val::Memory(_) | Val::BuiltIn(_)) => unreachable!("broken invariant: vectors are values"),
        (None, _) => cx.set_val(inst, val),
    }
}

/// The largest power of two that divides an offset, bounded.
fn align_of(offset: u64) -> u32 {
    if offset == 0 { crate::spirv::types::MAX_ALIGN } else { 1 << offset.trailing_zeros().min(7) }
}

fn insert(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let (object, composite) = (inst.id(0)?, inst.id(1)?);
    let ty = cx.type_of(composite)?;
    if !cx.unit.types.same_shape(ty, inst.result_type()?)? {
        return Err(InstError::malformed("the composite does not have the result type"));
    }
    let part = part(cx, ty, &inst.literals_from(2)?)?;
    if let Some(lane) = part.lane {
        let mut element = cx.value(object)?;
        let component = cx.kir_type(part.ty)?.lane();
        let (from, to) = (cx.b.ty(element), component);
        if cx.unit.module.generator == llvm_backend::GENERATOR
            && from.is_int()
            && to.is_int()
            && from.elem.bits() > to.elem.bits()
        {
            // LLVM's back end inserts integers that it has widened.
            element = cx.b.int_resize(element, to.elem, false);
        }
        if cx.b.ty(element) != component {
            return Err(InstError::malformed("the object does not have the vector's component type"));
        }
        match cx.val(composite)? {
            Val::Leaves(mut leaves) => {
                let leaf = &mut leaves[part.leaf as usize];
                *leaf = cx.b.insert(*leaf, element, lane);
                return cx.set_val(inst, Val::Leaves(leaves));
            }
            val @ Val::Memory(_) => {
                let slot = fresh_copy(cx, ty, &val)?;
                let scalar = cx.b.ty(element);
                let offset = part.offset + u64::from(lane * scalar.elem.bytes());
                cx.store_leaf(slot, offset, element, MemAccess::aligned(scalar.elem.bytes()));
                return cx.set_val(inst, Val::Memory(slot));
            }
            Val::BuiltIn(_) => return Err(InstError::malformed("the operand is not a composite")),
        }
    }
    if !cx.unit.types.same_shape(cx.type_of(object)?, part.ty)? {
        return Err(InstError::malformed("the object does not have the type of the part that it replaces"));
    }
    let object = match cx.val(object)? {
        Val::BuiltIn(_) => Val::one(cx.value(object)?),
        val @ (Val::Leaves(_) | Val::Memory(_)) => val,
    };
    match (cx.val(composite)?, object) {
        (Val::Leaves(mut leaves), Val::Leaves(inner)) => {
            let first = part.leaf as usize;
            leaves[first..first + inner.len()].copy_from_slice(&inner);
            cx.set_val(inst, Val::Leaves(leaves))
        }
        (val @ Val::Memory(_), object) => {
            let slot = fresh_copy(cx, ty, &val)?;
            let address = cx.offset(slot, part.offset);
            let align = cx.type_info(part.ty)?.align.min(align_of(part.offset));
            cx.store(part.ty, address, &object, MemAccess::aligned(align))?;
            cx.set_val(inst, Val::Memory(slot))
        }
        (Val::Leaves(_) | Val::BuiltIn(_), _) => Err(InstError::malformed("the operand is not a composite")),
    }
}

/// A writable copy of a large value.
fn fresh_copy(cx: &mut FuncCx<'_>, ty: u32, val: &Val) -> Result<Value, InstError> {
    let info = cx.type_info(ty)?;
    let address = cx.in_memory(ty, val)?;
    cx.copy_to_slot(address, info, MemAccess::aligned(info.align))
}
