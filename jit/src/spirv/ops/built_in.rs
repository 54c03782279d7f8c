//! Built-in variables: queries of work-items in the guise of variables.
//!
//! A pointer to one stays what it is, variable and place ([`Input`]), through casts and steps, so that a read of it is the query.
//! Only where its address is used for something else does a copy in private memory stand for the variable.

use clift_kir::{Elem, Opcode, Space, Type, Value};
use rspirv::spirv::{BuiltIn, Op, StorageClass};

use super::ballot::mask;
use super::composite::choose;
use crate::spirv::lower::{Access, FuncCx, Input, Part, Val};
use crate::spirv::types::{self, TypeKind};
use crate::spirv::unit::Variable;
use crate::spirv::words::Fault;

/// The number of a component.
#[derive(Clone, Copy)]
pub(super) enum Number {
    /// A constant.
    Constant(u32),
    /// Known only when the kernel runs.
    Dynamic(Value),
}

/// The part of a built-in variable that the indices of an access chain lead to; `None` when it takes an address to say.
/// `over_objects`: the first index steps over whole objects; `by_bytes`: the second is a number of bytes.
pub(super) fn step(
    cx: &mut FuncCx<'_>,
    mut input: Input,
    indices: &[u32],
    over_objects: bool,
    by_bytes: bool,
) -> Result<Option<Input>, Fault> {
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
        let (elem, count) = match &cx.type_info(input.ty)?.kind {
            _ if by_bytes => {
                // What is there the result's type says.
                let Some(at) = number.ok().and_then(|number| further(input.at, number, 1)) else { return Ok(None) };
                input.at = at;
                continue;
            }
            TypeKind::Struct { .. } => {
                let Ok(number) = number else { return Ok(None) };
                let step = cx.unit.types.step(input.ty, number)?;
                let Some(at) = further(input.at, 1, step.offset) else { return Ok(None) };
                (input.at, input.ty) = (at, step.ty);
                continue;
            }
            &TypeKind::Vector { elem, lanes } => (elem, lanes.into()),
            &TypeKind::Array { elem, len } => (elem, len),
            _ => return Ok(None),
        };
        let at = match number {
            Ok(number) if number >= count && count > 0 => {
                return Err(Fault::malformed(format!("index {number} is out of range for {count} elements")));
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

/// A place some objects further.
fn further(at: Part, number: u64, size: u64) -> Option<Part> {
    match at {
        Part::Bytes(bytes) => Some(Part::Bytes(bytes.wrapping_add(number.wrapping_mul(size)))),
        Part::Component(_) => (number == 0 || size == 0).then_some(at),
    }
}

/// The component of a dynamic number, when a pointer to elements of the variable is stepped by it from the start.
fn numbered(cx: &FuncCx<'_>, input: Input, stepped: u32, number: Value) -> Result<Option<Part>, Fault> {
    let TypeKind::Vector { elem, .. } = cx.type_info(input.whole)?.kind else { return Ok(None) };
    let fits = cx.kir_type(elem)? == cx.type_info(stepped)?.value.unwrap_or(Type::B1);
    Ok((fits && matches!(input.at, Part::Bytes(0))).then_some(Part::Component(number)))
}

/// A component of a built-in variable that has been read as a whole, where the number may be beyond its last: the SPIR-V-LLVM
/// translator writes `get_global_size(n)` so, whatever `n` is.
pub(super) fn component_of_loaded(cx: &mut FuncCx<'_>, vector: u32, lane: Number) -> Result<Option<Value>, Fault> {
    let Some(load) = cx.unit.module.def(vector).filter(|inst| inst.op() == Op::Load) else { return Ok(None) };
    let Some(&Variable::Input { built_in, ty }) = cx.unit.variables.get(&load.id(0)?) else { return Ok(None) };
    let (Ok(Query::Dims(op, beyond)), &TypeKind::Vector { elem, .. }) = (query(built_in), &cx.type_info(ty)?.kind)
    else {
        return Ok(None);
    };
    let elem = cx.kir_type(elem)?;
    if !elem.is_int() {
        return Ok(None);
    }
    Ok(Some(component(cx, op, beyond, elem, lane)))
}

/// The queries behind a built-in variable: one per dimension, or one.
enum Query {
    /// Of a dimension; what `OpenCL C` gives beyond the third.
    Dims(Opcode, i64),
    /// Of none.
    Linear(Opcode),
}

fn query(built_in: BuiltIn) -> Result<Query, Fault> {
    Ok(match built_in {
        BuiltIn::GlobalInvocationId => Query::Dims(Opcode::GlobalId, 0),
        BuiltIn::LocalInvocationId => Query::Dims(Opcode::LocalId, 0),
        BuiltIn::WorkgroupId => Query::Dims(Opcode::GroupId, 0),
        BuiltIn::GlobalOffset => Query::Dims(Opcode::GlobalOffset, 0),
        BuiltIn::GlobalSize => Query::Dims(Opcode::GlobalSize, 1),
        BuiltIn::WorkgroupSize => Query::Dims(Opcode::LocalSize, 1),
        BuiltIn::EnqueuedWorkgroupSize => Query::Dims(Opcode::EnqueuedLocalSize, 1),
        BuiltIn::NumWorkgroups => Query::Dims(Opcode::NumGroups, 1),
        BuiltIn::WorkDim => Query::Linear(Opcode::WorkDim),
        BuiltIn::GlobalLinearId => Query::Linear(Opcode::GlobalLinearId),
        BuiltIn::LocalInvocationIndex => Query::Linear(Opcode::LocalLinearId),
        BuiltIn::SubgroupSize => Query::Linear(Opcode::SubGroupSize),
        BuiltIn::SubgroupMaxSize => Query::Linear(Opcode::MaxSubGroupSize),
        BuiltIn::NumSubgroups => Query::Linear(Opcode::NumSubGroups),
        BuiltIn::NumEnqueuedSubgroups => Query::Linear(Opcode::EnqueuedNumSubGroups),
        BuiltIn::SubgroupId => Query::Linear(Opcode::SubGroupId),
        BuiltIn::SubgroupLocalInvocationId => Query::Linear(Opcode::SubGroupLocalId),
        other => return Err(Fault::unsupported(format!("built-in variable {other:?}"))),
    })
}

/// A dimension of a query, of any number.
fn component(cx: &mut FuncCx<'_>, op: Opcode, beyond: i64, ty: Type, number: Number) -> Value {
    match number {
        Number::Constant(dim) if dim < 3 => dimension(cx, op, dim, ty),
        Number::Constant(_) => cx.b.iconst(ty, beyond),
        Number::Dynamic(number) => {
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

/// Reads what a pointer to a built-in variable points to.
pub(super) fn read(cx: &mut FuncCx<'_>, input: Input) -> Result<Val, Fault> {
    let (info, whole) = (cx.type_info(input.ty)?, cx.type_info(input.whole)?);
    if let (Part::Bytes(0), true) = (input.at, cx.unit.types.same_shape(input.ty, input.whole)?) {
        return Ok(Val::one(read_whole(cx, input)?));
    }
    let elem = match whole.kind {
        TypeKind::Vector { elem, .. } => Some(cx.kir_type(elem)?),
        _ => None,
    };
    if let (Some(elem), Some(ty)) = (elem, info.value)
        && elem == ty
        && let Ok(Query::Dims(op, beyond)) = query(input.built_in)
    {
        let number = match input.at {
            Part::Bytes(bytes) if bytes % info.size == 0 => u32::try_from(bytes / info.size).ok().map(Number::Constant),
            Part::Bytes(_) => None,
            Part::Component(number) => Some(Number::Dynamic(number)),
        };
        if let Some(number) = number.filter(|_| ty.is_int()) {
            return Ok(Val::one(component(cx, op, beyond, ty, number)));
        }
    }
    if let Part::Bytes(bytes) = input.at
        && bytes.checked_add(info.size).is_none_or(|end| end > whole.size)
    {
        return Err(Fault::malformed(format!(
            "a read of {} bytes at offset {bytes} exceeds the built-in variable's {} bytes",
            info.size, whole.size
        )));
    }
    let address = copy(cx, input)?;
    cx.load(input.ty, address, Access::aligned(1))
}

/// Reads a built-in variable.
fn read_whole(cx: &mut FuncCx<'_>, input: Input) -> Result<Value, Fault> {
    let ty = cx.kir_type(input.whole)?;
    let wrong = || Fault::malformed(format!("built-in variable {:?} cannot have type {ty}", input.built_in));
    if !ty.is_int() {
        return Err(wrong());
    }
    if let Some(mask) = mask(cx, input.built_in) {
        return if cx.b.ty(mask) == ty { Ok(mask) } else { Err(wrong()) };
    }
    match query(input.built_in)? {
        Query::Linear(op) if !ty.is_vector() => {
            let value = cx.b.query_linear(op);
            Ok(cx.b.int_resize(value, ty.elem, false))
        }
        Query::Dims(op, _) if ty.lanes() == 3 => {
            let parts: Vec<Value> = (0..3).map(|dim| dimension(cx, op, dim, ty.lane())).collect();
            Ok(cx.b.vec(&parts))
        }
        Query::Dims(..) | Query::Linear(_) => Err(wrong()),
    }
}

/// The address of private memory that holds what a pointer to a built-in variable points to.
pub(super) fn copy(cx: &mut FuncCx<'_>, input: Input) -> Result<Value, Fault> {
    let value = read_whole(cx, input)?;
    let info = cx.type_info(input.whole)?;
    let slot = cx.slot(info.size, info.align)?;
    cx.store_leaf(slot, 0, value, Access::aligned(info.align));
    Ok(match input.at {
        Part::Bytes(bytes) => cx.offset(slot, bytes),
        Part::Component(number) => {
            let size = cx.b.ty(value).elem.bytes();
            let number = cx.b.int_resize(number, Elem::I64, true);
            cx.b.addr(slot, Some(number), size.into(), 0)
        }
    })
}

/// The address of a copy of a built-in variable, as a pointer of a storage class: for uses that are no plain reads.
pub(in crate::spirv) fn address(cx: &mut FuncCx<'_>, input: Input, class: StorageClass) -> Result<Value, Fault> {
    match types::space(class)? {
        Space::Private => copy(cx, input),
        Space::Generic => {
            let address = copy(cx, input)?;
            Ok(cx.b.cast(Opcode::SpaceCast, address, Type::ptr(Space::Generic)))
        }
        Space::Global | Space::Constant | Space::Local | Space::Host => {
            let built_in = input.built_in;
            Err(Fault::unsupported(format!(
                "built-in variable {built_in:?} in storage class {class:?} whose address is used other than for reads"
            )))
        }
    }
}
