//! Built-in variables: work-item queries that SPIR-V models as variables.
//!
//! A pointer to a built-in variable is tracked as variable and place ([`BuiltInPointer`]) through casts and access chains, so
//! that a load becomes the query. Only if its address is used otherwise, a copy in private memory replaces the variable.

use clift_kir::{Elem, Opcode, Space, Type, Value};
use rspirv::spirv::{BuiltIn, Op, StorageClass};

use super::ballot::mask;
use super::composite::choose;
use crate::spirv::lower::{BuiltInPlace, BuiltInPointer, FuncCx, MemAccess, Val};
use crate::spirv::types::{self, TypeKind};
use crate::spirv::unit::ModuleVariable;
use crate::spirv::words::InstError;

/// The index of a component.
#[derive(Clone, Copy)]
pub(super) enum ComponentIndex {
    /// A constant.
    Constant(u32),
    /// A dynamic value.
    Dynamic(Value),
}

/// The part of a built-in variable that the indices of an access chain select; `None` if that requires an address.
/// `over_objects`: the first index steps over whole objects; `by_bytes`: the second is an offset in bytes.
pub(super) fn step(
    cx: &mut FuncCx<'_>,
    mut input: BuiltInPointer,
    indices: &[u32],
    over_objects: bool,
    by_bytes: bool,
) -> Result<Option<BuiltInPointer>, InstError> {
    let mut indices = indices.iter();
    if over_objects && by_bytes && indices.len() == 1 {
        // The only index is the number of bytes.
    } else if over_objects && let Some(&index) = indices.next() {
        let size = cx.type_info(input.ty)?.size;
        match cx.unit.consts.integer(index) {
            Ok(number) => {
                let Some(at) = further(input.at, number, size) else { return Ok(None) };
                input.at = at;
            }
            Err(_) => {
                let number = cx.scalar_int(index)?;
                let Some(at) = numbered(cx, input, input.ty, number)? else { return Ok(None) };
                input.at = at;
            }
        }
    }
    for &index in indices {
        let number = cx.unit.consts.integer(index);
        let kind = &cx.type_info(input.ty)?.kind;
        if by_bytes {
            // The result type determines the type of the part.
            let Some(at) = number.ok().and_then(|number| further(input.at, number, 1)) else { return Ok(None) };
            input.at = at;
            continue;
        }
        if let TypeKind::Struct { .. } = kind {
            let Ok(number) = number else { return Ok(None) };
            let step = cx.unit.types.step(input.ty, number)?;
            let Some(at) = further(input.at, 1, step.offset) else { return Ok(None) };
            (input.at, input.ty) = (at, step.ty);
            continue;
        }
        let Some((elem, count)) = kind.elements() else { return Ok(None) };
        let at = match number {
            Ok(number) if number >= count && count > 0 => {
                return Err(InstError::malformed(format!("index {number} is out of range for {count} elements")));
            }
            Ok(number) => further(input.at, number, cx.type_info(elem)?.size),
            Err(_) => {
                let number = cx.scalar_int(index)?;
                numbered(cx, input, elem, number)?
            }
        };
        let Some(at) = at else { return Ok(None) };
        (input.at, input.ty) = (at, elem);
    }
    Ok(Some(input))
}

/// A place with a number of objects of a size added.
fn further(at: BuiltInPlace, number: u64, size: u64) -> Option<BuiltInPlace> {
    match at {
        BuiltInPlace::Bytes(bytes) => Some(BuiltInPlace::Bytes(bytes.wrapping_add(number.wrapping_mul(size)))),
        BuiltInPlace::Component(_) => (number == 0 || size == 0).then_some(at),
    }
}

/// The component at a dynamic index, if the index steps over elements from the start of the variable.
fn numbered(
    cx: &FuncCx<'_>,
    input: BuiltInPointer,
    stepped: u32,
    number: Value,
) -> Result<Option<BuiltInPlace>, InstError> {
    let TypeKind::Vector { elem, .. } = cx.type_info(input.whole)?.kind else { return Ok(None) };
    let fits = cx.kir_type(elem)? == cx.type_info(stepped)?.value.unwrap_or(Type::B1);
    Ok((fits && matches!(input.at, BuiltInPlace::Bytes(0))).then_some(BuiltInPlace::Component(number)))
}

/// A component of a built-in variable that was loaded as a whole. The index may be out of range: the SPIR-V-LLVM translator
/// writes `get_global_size(n)` this way for any `n`.
pub(super) fn component_of_loaded(
    cx: &mut FuncCx<'_>,
    vector: u32,
    lane: ComponentIndex,
) -> Result<Option<Value>, InstError> {
    let Some(load) = cx.unit.module.def(vector).filter(|inst| inst.op() == Op::Load) else { return Ok(None) };
    let Some(&ModuleVariable::BuiltIn { built_in, ty }) = cx.unit.variables.get(&load.id(0)?) else { return Ok(None) };
    let (Ok(BuiltInQuery::Dims(op, beyond)), &TypeKind::Vector { elem, .. }) =
        (query(built_in), &cx.type_info(ty)?.kind)
    else {
        return Ok(None);
    };
    let elem = cx.kir_type(elem)?;
    if !elem.is_int() {
        return Ok(None);
    }
    Ok(Some(component(cx, op, beyond, elem, lane)))
}

/// The queries of a built-in variable: one per dimension, or a single one.
enum BuiltInQuery {
    /// A query per dimension, and the value that OpenCL C defines for dimensions beyond the third.
    Dims(Opcode, i64),
    /// A query without dimension.
    Linear(Opcode),
}

fn query(built_in: BuiltIn) -> Result<BuiltInQuery, InstError> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other variables are refused")]
    Ok(match built_in {
        BuiltIn::GlobalInvocationId => BuiltInQuery::Dims(Opcode::GlobalId, 0),
        BuiltIn::LocalInvocationId => BuiltInQuery::Dims(Opcode::LocalId, 0),
        BuiltIn::WorkgroupId => BuiltInQuery::Dims(Opcode::GroupId, 0),
        BuiltIn::GlobalOffset => BuiltInQuery::Dims(Opcode::GlobalOffset, 0),
        BuiltIn::GlobalSize => BuiltInQuery::Dims(Opcode::GlobalSize, 1),
        BuiltIn::WorkgroupSize => BuiltInQuery::Dims(Opcode::LocalSize, 1),
        BuiltIn::EnqueuedWorkgroupSize => BuiltInQuery::Dims(Opcode::EnqueuedLocalSize, 1),
        BuiltIn::NumWorkgroups => BuiltInQuery::Dims(Opcode::NumGroups, 1),
        BuiltIn::WorkDim => BuiltInQuery::Linear(Opcode::WorkDim),
        BuiltIn::GlobalLinearId => BuiltInQuery::Linear(Opcode::GlobalLinearId),
        BuiltIn::LocalInvocationIndex => BuiltInQuery::Linear(Opcode::LocalLinearId),
        BuiltIn::SubgroupSize => BuiltInQuery::Linear(Opcode::SubGroupSize),
        BuiltIn::SubgroupMaxSize => BuiltInQuery::Linear(Opcode::MaxSubGroupSize),
        BuiltIn::NumSubgroups => BuiltInQuery::Linear(Opcode::NumSubGroups),
        BuiltIn::NumEnqueuedSubgroups => BuiltInQuery::Linear(Opcode::EnqueuedNumSubGroups),
        BuiltIn::SubgroupId => BuiltInQuery::Linear(Opcode::SubGroupId),
        BuiltIn::SubgroupLocalInvocationId => BuiltInQuery::Linear(Opcode::SubGroupLocalId),
        other => return Err(InstError::unsupported(format!("built-in variable {other:?}"))),
    })
}

/// The variable that a function of OpenCL C reads.
pub(in crate::spirv) fn of_function(name: &str) -> Option<BuiltIn> {
    Some(match name {
        "get_global_id" => BuiltIn::GlobalInvocationId,
        "get_local_id" => BuiltIn::LocalInvocationId,
        "get_group_id" => BuiltIn::WorkgroupId,
        "get_global_offset" => BuiltIn::GlobalOffset,
        "get_global_size" => BuiltIn::GlobalSize,
        "get_local_size" => BuiltIn::WorkgroupSize,
        "get_enqueued_local_size" => BuiltIn::EnqueuedWorkgroupSize,
        "get_num_groups" => BuiltIn::NumWorkgroups,
        "get_work_dim" => BuiltIn::WorkDim,
        "get_global_linear_id" => BuiltIn::GlobalLinearId,
        "get_local_linear_id" => BuiltIn::LocalInvocationIndex,
        "get_sub_group_size" => BuiltIn::SubgroupSize,
        "get_max_sub_group_size" => BuiltIn::SubgroupMaxSize,
        "get_num_sub_groups" => BuiltIn::NumSubgroups,
        "get_enqueued_num_sub_groups" => BuiltIn::NumEnqueuedSubgroups,
        "get_sub_group_id" => BuiltIn::SubgroupId,
        "get_sub_group_local_id" => BuiltIn::SubgroupLocalInvocationId,
        _ => return None,
    })
}

/// What such a function returns; `None` if its arguments or its type are wrong.
pub(in crate::spirv) fn call(
    cx: &mut FuncCx<'_>,
    built_in: BuiltIn,
    args: &[Value],
    ty: Type,
) -> Result<Option<Value>, InstError> {
    if !ty.is_int() || ty.is_vector() {
        return Ok(None);
    }
    Ok(match (query(built_in)?, args) {
        (BuiltInQuery::Dims(op, beyond), &[number]) if cx.b.ty(number) == Type::I32 => {
            let constant = cx.b.func.dfg.as_splat_bits(number);
            let number = constant.map_or(ComponentIndex::Dynamic(number), |dim| ComponentIndex::Constant(dim as u32));
            Some(component(cx, op, beyond, ty, number))
        }
        (BuiltInQuery::Linear(op), &[]) => {
            let value = cx.b.query_linear(op);
            Some(cx.b.int_resize(value, ty.elem, false))
        }
        (BuiltInQuery::Dims(..) | BuiltInQuery::Linear(_), _) => None,
    })
}

/// The query for a dimension, which may be out of range.
fn component(cx: &mut FuncCx<'_>, op: Opcode, beyond: i64, ty: Type, number: ComponentIndex) -> Value {
    match number {
        ComponentIndex::Constant(dim) if dim < 3 => dimension(cx, op, dim, ty),
        ComponentIndex::Constant(_) => cx.b.iconst(ty, beyond),
        ComponentIndex::Dynamic(number) => {
            let parts: Vec<Value> = (0..3).map(|dim| dimension(cx, op, dim, ty)).collect();
            let beyond = cx.b.iconst(ty, beyond);
            choose(cx, &parts, beyond, number)
        }
    }
}

fn dimension(cx: &mut FuncCx<'_>, op: Opcode, dim: u32, ty: Type) -> Value {
    let value = cx.b.query(op, dim as u8);
    cx.b.int_resize(value, ty.elem, false)
}

/// Loads from a pointer to a built-in variable.
pub(super) fn read(cx: &mut FuncCx<'_>, input: BuiltInPointer) -> Result<Val, InstError> {
    let (info, whole) = (cx.type_info(input.ty)?, cx.type_info(input.whole)?);
    if let (BuiltInPlace::Bytes(0), true) = (input.at, cx.unit.types.same_shape(input.ty, input.whole)?) {
        return Ok(Val::one(read_whole(cx, input)?));
    }
    let elem = if let TypeKind::Vector { elem, .. } = whole.kind { Some(cx.kir_type(elem)?) } else { None };
    if let (Some(elem), Some(ty)) = (elem, info.value)
        && elem == ty
        && let Ok(BuiltInQuery::Dims(op, beyond)) = query(input.built_in)
    {
        let number = match input.at {
            BuiltInPlace::Bytes(bytes) if bytes % info.size == 0 => {
                u32::try_from(bytes / info.size).ok().map(ComponentIndex::Constant)
            }
            BuiltInPlace::Bytes(_) => None,
            BuiltInPlace::Component(number) => Some(ComponentIndex::Dynamic(number)),
        };
        if let Some(number) = number.filter(|_| ty.is_int()) {
            return Ok(Val::one(component(cx, op, beyond, ty, number)));
        }
    }
    if let BuiltInPlace::Bytes(bytes) = input.at
        && bytes.checked_add(info.size).is_none_or(|end| end > whole.size)
    {
        return Err(InstError::malformed(format!(
            "a read of {} bytes at offset {bytes} exceeds the built-in variable's {} bytes",
            info.size, whole.size
        )));
    }
    let address = copy(cx, input)?;
    cx.load(input.ty, address, MemAccess::aligned(1))
}

/// Loads a whole built-in variable.
fn read_whole(cx: &mut FuncCx<'_>, input: BuiltInPointer) -> Result<Value, InstError> {
    let ty = cx.kir_type(input.whole)?;
    let wrong = || InstError::malformed(format!("built-in variable {:?} cannot have type {ty}", input.built_in));
    if !ty.is_int() {
        return Err(wrong());
    }
    if let Some(mask) = mask(cx, input.built_in) {
        return if cx.b.ty(mask) == ty { Ok(mask) } else { Err(wrong()) };
    }
    match query(input.built_in)? {
        BuiltInQuery::Linear(op) if !ty.is_vector() => {
            let value = cx.b.query_linear(op);
            Ok(cx.b.int_resize(value, ty.elem, false))
        }
        BuiltInQuery::Dims(op, _) if ty.lanes() == 3 => {
            let parts: Vec<Value> = (0..3).map(|dim| dimension(cx, op, dim, ty.lane())).collect();
            Ok(cx.b.vec(&parts))
        }
        BuiltInQuery::Dims(..) | BuiltInQuery::Linear(_) => Err(wrong()),
    }
}

/// The address in a private copy of the built-in variable that a pointer points to.
pub(super) fn copy(cx: &mut FuncCx<'_>, input: BuiltInPointer) -> Result<Value, InstError> {
    let value = read_whole(cx, input)?;
    let info = cx.type_info(input.whole)?;
    let slot = cx.slot(info.size, info.align)?;
    cx.store_leaf(slot, 0, value, MemAccess::aligned(info.align));
    Ok(match input.at {
        BuiltInPlace::Bytes(bytes) => cx.offset(slot, bytes),
        BuiltInPlace::Component(number) => {
            let size = cx.b.ty(value).elem.bytes();
            let number = cx.b.int_resize(number, Elem::I64, true);
            cx.b.addr(slot, Some(number), size.into(), 0)
        }
    })
}

/// The address in a copy of a built-in variable, as a pointer of a storage class: for uses other than plain loads.
pub(in crate::spirv) fn address(
    cx: &mut FuncCx<'_>,
    input: BuiltInPointer,
    class: StorageClass,
) -> Result<Value, InstError> {
    match types::space(class)? {
        Space::Private => copy(cx, input),
        Space::Generic => {
            let address = copy(cx, input)?;
            Ok(cx.b.cast(Opcode::SpaceCast, address, Type::ptr(Space::Generic)))
        }
        Space::Global | Space::Constant | Space::Local | Space::Host => {
            let built_in = input.built_in;
            Err(InstError::unsupported(format!(
                "built-in variable {built_in:?} in storage class {class:?} whose address is used other than for reads"
            )))
        }
    }
}
