//! Memory: variables, accesses, addresses.

use clift_kir::{Elem, Opcode, Space, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, MemoryAccess, Op, StorageClass};

use super::super::lower::{Access, Component, FuncCx, Input, Val};
use super::super::types::{MAX_ALIGN, TypeKind};
use super::super::unit::Variable;
use super::super::words::{Fault, Inst};
use super::ballot::mask;
use super::composite::choose;

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), Fault> {
    match inst.op() {
        Op::Variable => variable(cx, inst),
        Op::Load => load(cx, inst),
        Op::Store => store(cx, inst),
        Op::CopyMemory => {
            let (to, from) = (inst.id(0)?, inst.id(1)?);
            let ty = cx.pointee(to)?;
            if !cx.unit.types.same_shape(cx.pointee(from)?, ty)? {
                return Err(Fault::malformed("the pointers are to different types"));
            }
            let (access, _) = access(cx, inst, 2, ty)?;
            let target = cx.pointer(to)?;
            if let Val::Input(input) = cx.val(from)? {
                let value = read_input(cx, input)?;
                return cx.store(ty, target, &Val::one(value), access);
            }
            let info = cx.type_info(ty)?;
            if !info.is_sized() {
                return Err(Fault::malformed("the type pointed to has no values"));
            }
            let source = cx.pointer(from)?;
            cx.copy(target, source, info.size, access);
            Ok(())
        }
        Op::CopyMemorySized => {
            let (to, from, count) = (cx.pointer(inst.id(0)?)?, cx.pointer(inst.id(1)?)?, cx.scalar_int(inst.id(2)?)?);
            let ty = cx.pointee(inst.id(0)?)?;
            let stated = inst.len() > 3;
            let (access, _) = access(cx, inst, 3, ty)?;
            // Clang's back end states what holds for the target as if it held for the source as well.
            let for_both = stated && cx.unit.module.generator != LLVM_BACKEND;
            let align = if for_both { access.align } else { 1 };
            let count = cx.b.int_resize(count, Elem::I64, false);
            let mem = clift_kir::MemInfo { volatile: access.volatile, ..clift_kir::MemInfo::aligned(align) };
            cx.b.memcpy(to, from, count, mem);
            Ok(())
        }
        Op::AccessChain | Op::InBoundsAccessChain => access_chain(cx, inst, false),
        Op::PtrAccessChain | Op::InBoundsPtrAccessChain => access_chain(cx, inst, true),
        Op::GenericPtrMemSemantics => {
            let pointer = cx.pointer(inst.id(0)?)?;
            let local = cx.b.in_space(pointer, Space::Local);
            let ty = cx.kir_type(inst.result_type()?)?;
            if ty != Type::I32 {
                return Err(Fault::malformed("the result is no 32-bit integer"));
            }
            let (workgroup, global) = (cx.b.iconst(ty, 0x100), cx.b.iconst(ty, 0x200));
            let value = cx.b.select(local, workgroup, global);
            cx.set(inst, value)
        }
        Op::PtrEqual | Op::PtrNotEqual => {
            let (a, b) = pointers(cx, inst)?;
            let cond = if inst.op() == Op::PtrEqual { clift_kir::IntCond::Eq } else { clift_kir::IntCond::Ne };
            let value = cx.b.icmp(cond, a, b);
            cx.set(inst, value)
        }
        Op::PtrDiff => {
            let (a, b) = pointers(cx, inst)?;
            let size = cx.type_info(cx.pointee(inst.id(0)?)?)?.size.max(1);
            let to = cx.kir_type(inst.result_type()?)?;
            if !to.is_int() || to.is_vector() {
                return Err(Fault::malformed("the result is no integer"));
            }
            let bytes = cx.b.int2(Opcode::Isub, a, b);
            let size = cx.b.iconst(Type::I64, size as i64);
            let elements = cx.b.int2(Opcode::Sdiv, bytes, size);
            let value = cx.b.int_resize(elements, to.elem, true);
            cx.set(inst, value)
        }
        Op::SizeOf => {
            let size = cx.type_info(cx.pointee(inst.id(0)?)?)?.size;
            let to = cx.kir_type(inst.result_type()?)?;
            if !to.is_int() || to.is_vector() {
                return Err(Fault::malformed("the result is no integer"));
            }
            let value = cx.b.iconst(to, size as i64);
            cx.set(inst, value)
        }
        // A variable lives as long as its function runs.
        Op::LifetimeStart | Op::LifetimeStop => Ok(()),
        _ => unreachable!("broken invariant: {} is no memory instruction", inst.name()),
    }
}

/// Two pointers as integers.
fn pointers(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(Value, Value), Fault> {
    let (a, b) = (cx.pointer(inst.id(0)?)?, cx.pointer(inst.id(1)?)?);
    if cx.b.ty(a) != cx.b.ty(b) || cx.b.ty(a).is_vector() {
        return Err(Fault::malformed("the pointers are of different types"));
    }
    Ok((cx.b.cast(Opcode::PtrToInt, a, Type::I64), cx.b.cast(Opcode::PtrToInt, b, Type::I64)))
}

/// Alignment that a decoration states for an id.
fn decorated_align(cx: &FuncCx<'_>, id: u32) -> Result<u32, Fault> {
    let decorations = cx.unit.module.decorations.of(id);
    let by_id = match decorations.alignment_id {
        Some(id) => cx.unit.consts.integer(id)?,
        None => 1,
    };
    let align = u64::from(decorations.alignment.unwrap_or(1)).max(by_id);
    if !align.is_power_of_two() {
        return Err(Fault::malformed(format!("alignment {align} is not a power of two")));
    }
    Ok(align.min(MAX_ALIGN.into()) as u32)
}

fn variable(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), Fault> {
    let (class, pointee) = cx.unit.types.pointer(inst.result_type()?)?;
    let declared = inst.operand(0)?;
    if !matches!(declared, Operand::StorageClass(declared) if *declared == class) {
        return Err(Fault::malformed("the storage class is not that of the pointer"));
    }
    if class != StorageClass::Function {
        return Err(Fault::malformed(format!("a variable of a function in {class:?}")));
    }
    let info = cx.type_info(pointee)?;
    if !info.is_sized() {
        return Err(Fault::malformed("a variable of a type without size"));
    }
    let align = info.align.max(decorated_align(cx, inst.result()?)?);
    let slot = cx.slot(info.size, align)?;
    if inst.len() > 1 {
        let initializer = inst.id(1)?;
        cx.unit.types.check_initializer(cx.type_of(initializer)?, pointee)?;
        let val = cx.val(initializer)?;
        cx.store(pointee, slot, &val, Access::aligned(info.align))?;
    }
    cx.set(inst, slot)
}

/// Facts about an access from its memory operands, and how many operands they are. Without a stated alignment the type's
/// counts.
fn access(cx: &FuncCx<'_>, inst: &Inst, operand: usize, ty: u32) -> Result<(Access, usize), Fault> {
    let mut access = Access::aligned(cx.type_info(ty)?.align);
    let Some(operands) = inst.dr.operands.get(operand) else { return Ok((access, 0)) };
    let Operand::MemoryAccess(mask) = *operands else {
        return Err(Fault::malformed("the memory operands are missing"));
    };
    access.volatile = mask.contains(MemoryAccess::VOLATILE);
    let mut used = 1;
    if mask.contains(MemoryAccess::ALIGNED) {
        let align = inst.literal(operand + used)?;
        if !align.is_power_of_two() {
            return Err(Fault::malformed(format!("alignment {align} is not a power of two")));
        }
        access.align = align.min(MAX_ALIGN);
        used += 1;
    }
    Ok((access, used))
}

fn load(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), Fault> {
    let (ty, id) = (inst.result_type()?, inst.id(0)?);
    let pointee = cx.pointee(id)?;
    if !cx.unit.types.same_shape(pointee, ty)? {
        return Err(Fault::malformed("the result is not of the type pointed to"));
    }
    if let Val::Input(input) = cx.val(id)? {
        let value = read_input(cx, input)?;
        return cx.set(inst, value);
    }
    if let Some(sampler) = literal_sampler(cx, id)? {
        let val = cx.val(sampler)?;
        return cx.set_val(inst, val);
    }
    let (mut access, _) = access(cx, inst, 1, ty)?;
    access.volatile |= cx.unit.module.decorations.of(id).volatile;
    let pointer = cx.pointer(id)?;
    let val = cx.load(ty, pointer, access)?;
    if let (Val::Leaves(leaves), Some(name)) = (&val, cx.unit.module.names.get(&inst.result()?))
        && let [leaf] = leaves[..]
    {
        cx.b.func.names.insert(leaf, name.clone());
    }
    cx.set_val(inst, val)
}

/// The constant in a variable that holds a sampler: images are accessed by samplers known when the kernel is compiled.
fn literal_sampler(cx: &FuncCx<'_>, id: u32) -> Result<Option<u32>, Fault> {
    match cx.unit.module.def(id) {
        Some(variable) if variable.op() == Op::Variable && variable.len() > 1 => {
            let is_sampler = cx.type_info(cx.pointee(id)?)?.kind == TypeKind::Sampler;
            Ok(if is_sampler { Some(variable.id(1)?) } else { None })
        }
        Some(_) | None => Ok(None),
    }
}

fn store(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), Fault> {
    let (pointer, object) = (inst.id(0)?, inst.id(1)?);
    let ty = cx.pointee(pointer)?;
    if !cx.unit.types.same_shape(cx.type_of(object)?, ty)? {
        return Err(Fault::malformed("the object is not of the type pointed to"));
    }
    if let Val::Input(_) = cx.val(pointer)? {
        return Err(Fault::malformed("an Input variable is read-only"));
    }
    let (mut access, _) = access(cx, inst, 2, ty)?;
    access.volatile |= cx.unit.module.decorations.of(pointer).volatile;
    let address = cx.pointer(pointer)?;
    let val = cx.val(object)?;
    cx.store(ty, address, &val, access)
}

/// `AccessChain` and `PtrAccessChain`: the latter's first index steps over whole objects.
fn access_chain(cx: &mut FuncCx<'_>, inst: &Inst, over_objects: bool) -> Result<(), Fault> {
    let base = inst.id(0)?;
    let mut indices = inst.ids_from(1)?.into_iter();
    let (_, pointee) = cx.unit.types.pointer(inst.result_type()?)?;
    let mut ty = cx.pointee(base)?;
    if let Val::Input(input) = cx.val(base)?
        && let Some(input) = component(cx, input, indices.as_slice(), over_objects)?
    {
        if !cx.unit.types.same_shape(input.ty, pointee)? {
            return Err(Fault::malformed("the result points to another type than the indices lead to"));
        }
        cx.define(inst.result()?, Val::Input(input));
        return Ok(());
    }
    let mut address = Address { base: cx.pointer(base)?, index: None, disp: 0 };
    if inst.spec_op && over_objects && cx.unit.module.generator == LLVM_BACKEND && indices.len() == 2 {
        let value = byte_offset(cx, address, indices.as_slice()[1])?;
        return cx.set(inst, value);
    }
    if over_objects {
        let index = indices.next().ok_or_else(|| Fault::malformed("the element index is missing"))?;
        let size = cx.type_info(ty)?.size;
        address.step(cx, index, size)?;
    }
    for index in indices {
        match &cx.type_info(ty)?.kind {
            TypeKind::Struct { .. } => {
                let member = cx.unit.consts.integer(index);
                let member = member.map_err(|_| Fault::malformed("a struct is indexed by constants only"))?;
                let step = cx.unit.types.step(ty, member)?;
                address.disp = address.disp.wrapping_add(step.offset as i64);
                ty = step.ty;
            }
            &TypeKind::Array { elem, .. } | &TypeKind::Vector { elem, .. } => {
                let size = cx.type_info(elem)?.size;
                address.step(cx, index, size)?;
                ty = elem;
            }
            _ => return Err(Fault::malformed("an index into something that has no parts")),
        }
    }
    if !cx.unit.types.same_shape(ty, pointee)? && cx.type_info(ty)?.is_sized() {
        return Err(Fault::malformed("the result points to another type than the indices lead to"));
    }
    let value = address.finish(cx);
    cx.set(inst, value)
}

/// Tool number of LLVM's SPIR-V back end.
pub(super) const LLVM_BACKEND: u32 = 43;

/// LLVM's back end writes a variable's address plus constant bytes as `InBoundsPtrAccessChain %variable %zero %bytes`, whatever
/// the variable's type is.
fn byte_offset(cx: &mut FuncCx<'_>, mut address: Address, bytes: u32) -> Result<Value, Fault> {
    address.step(cx, bytes, 1)?;
    Ok(address.finish(cx))
}

/// An address under construction: `base + index * scale + disp`.
struct Address {
    base: Value,
    index: Option<(Value, u64)>,
    disp: i64,
}

impl Address {
    /// Adds an index (signed, of any width) times a size.
    fn step(&mut self, cx: &mut FuncCx<'_>, index: u32, size: u64) -> Result<(), Fault> {
        if let Ok(number) = cx.unit.consts.signed_integer(index) {
            self.disp = self.disp.wrapping_add(number.wrapping_mul(size as i64));
            return Ok(());
        }
        let index = cx.scalar_int(index)?;
        let index = cx.b.int_resize(index, Elem::I64, true);
        if let Some((before, scale)) = self.index.replace((index, size)) {
            self.base = cx.b.addr(self.base, Some(before), scale, 0);
        }
        Ok(())
    }

    fn finish(&self, cx: &mut FuncCx<'_>) -> Value {
        match self.index {
            Some((index, scale)) => cx.b.addr(self.base, Some(index), scale, self.disp),
            None if self.disp == 0 => self.base,
            None => cx.b.addr(self.base, None, 1, self.disp),
        }
    }
}

// -- built-in variables --

/// The component of a built-in variable that indices lead to; `None` when they lead elsewhere.
fn component(cx: &mut FuncCx<'_>, input: Input, indices: &[u32], over_objects: bool) -> Result<Option<Input>, Fault> {
    let rest = if over_objects {
        match indices.split_first() {
            Some((first, rest)) if cx.unit.consts.integer(*first).is_ok_and(|n| n == 0) => rest,
            _ => return Ok(None),
        }
    } else {
        indices
    };
    match (rest, &cx.type_info(input.ty)?.kind) {
        ([], _) => Ok(Some(input)),
        ([index], &TypeKind::Vector { elem, lanes }) if input.lane.is_none() => {
            let lane = match cx.unit.consts.integer(*index) {
                Ok(lane) if lane < u64::from(lanes) => Component::Constant(lane as u32),
                Ok(lane) => return Err(Fault::malformed(format!("component {lane} of {lanes}"))),
                Err(_) => Component::Dynamic(cx.scalar_int(*index)?),
            };
            Ok(Some(Input { ty: elem, lane: Some(lane), ..input }))
        }
        _ => Ok(None),
    }
}

/// A component of a built-in variable that has been read as a whole, where the number may be beyond its last: the SPIR-V-LLVM
/// translator writes `get_global_size(n)` so, whatever `n` is.
pub(super) fn component_of_loaded(cx: &mut FuncCx<'_>, vector: u32, lane: Component) -> Result<Option<Value>, Fault> {
    let Some(load) = cx.unit.module.def(vector).filter(|inst| inst.op() == Op::Load) else { return Ok(None) };
    let Some(&Variable::Input { built_in, ty }) = cx.unit.variables.get(&load.id(0)?) else { return Ok(None) };
    let Ok(Query::Dims(..)) = query(built_in) else { return Ok(None) };
    let TypeKind::Vector { elem, .. } = cx.type_info(ty)?.kind else { return Ok(None) };
    read_input(cx, Input { built_in, ty: elem, lane: Some(lane) }).map(Some)
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

/// Reads a built-in variable or a component of one.
fn read_input(cx: &mut FuncCx<'_>, input: Input) -> Result<Value, Fault> {
    let ty = cx.kir_type(input.ty)?;
    let wrong = || Fault::malformed(format!("built-in variable {:?} as {ty}", input.built_in));
    if !ty.is_int() {
        return Err(wrong());
    }
    let one = |cx: &mut FuncCx<'_>, op: Opcode, dim: u32| {
        let value = cx.b.query(op, dim as u8);
        cx.b.int_resize(value, ty.elem, false)
    };
    if let Some(mask) = mask(cx, input.built_in) {
        let value = match input.lane {
            None => mask,
            Some(Component::Constant(lane)) => cx.b.extract(mask, lane),
            Some(Component::Dynamic(number)) => {
                let number = cx.b.int_resize(number, Elem::I32, false);
                cx.b.extract_dyn(mask, number)
            }
        };
        return if cx.b.ty(value) == ty { Ok(value) } else { Err(wrong()) };
    }
    match (query(input.built_in)?, input.lane) {
        (Query::Linear(op), None) if !ty.is_vector() => {
            let value = cx.b.query_linear(op);
            Ok(cx.b.int_resize(value, ty.elem, false))
        }
        (Query::Dims(op, _), None) if ty.lanes() == 3 => {
            let parts: Vec<Value> = (0..3).map(|dim| one(cx, op, dim)).collect();
            Ok(cx.b.vec(&parts))
        }
        (Query::Dims(op, _), Some(Component::Constant(dim))) if dim < 3 => Ok(one(cx, op, dim)),
        (Query::Dims(_, beyond), Some(Component::Constant(_))) => Ok(cx.b.iconst(ty, beyond)),
        (Query::Dims(op, beyond), Some(Component::Dynamic(number))) => {
            let parts: Vec<Value> = (0..3).map(|dim| one(cx, op, dim)).collect();
            let beyond = cx.b.iconst(ty, beyond);
            Ok(choose(cx, &parts, beyond, number))
        }
        (Query::Dims(..) | Query::Linear(_), _) => Err(wrong()),
    }
}

/// The address of private memory that holds a built-in variable's value: for uses of its address that are no plain reads.
pub(in super::super) fn input_in_memory(cx: &mut FuncCx<'_>, input: Input) -> Result<Value, Fault> {
    let value = read_input(cx, input)?;
    let info = cx.type_info(input.ty)?;
    let slot = cx.slot(info.size, info.align)?;
    cx.store_leaf(slot, 0, value, Access::aligned(info.align));
    Ok(slot)
}
