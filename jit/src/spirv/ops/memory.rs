//! Memory: variables, accesses, addresses.

use clift_kir::{Elem, Imm, Opcode, Space, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{MemoryAccess, Op, StorageClass};

use super::built_in;
use super::classes::MemoryInst;
use crate::spirv::llvm_backend;
use crate::spirv::lower::{BuiltInPointer, FuncCx, MemAccess, Val};
use crate::spirv::types::{MAX_ALIGN, MAX_VARIABLE_ALIGN, TypeKind};
use crate::spirv::unit::declared;
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: MemoryInst) -> Result<(), InstError> {
    match op {
        MemoryInst::Variable | MemoryInst::UntypedVariableKHR => variable(cx, inst),
        MemoryInst::Load => load(cx, inst),
        MemoryInst::Store => store(cx, inst),
        MemoryInst::CopyMemory => {
            let (to, from) = (inst.id(0)?, inst.id(1)?);
            // One of the two pointers may be untyped.
            let ty = match cx.unit.types.any_pointer(cx.type_of(to)?)? {
                (_, Some(pointee)) => pointee,
                (_, None) => cx.pointee(from)?,
            };
            if !cx.unit.types.same_shape(cx.pointee_or(from, ty)?, ty)? {
                return Err(InstError::malformed("the pointers point to different types"));
            }
            let access = access_of_both(cx, inst, 2, Some(ty))?;
            let target = cx.pointer(to)?;
            if let Val::BuiltIn(input) = cx.val(from)? {
                let value = built_in::read(cx, BuiltInPointer { ty, ..input })?;
                return cx.store(ty, target, &value, access);
            }
            let info = cx.type_info(ty)?;
            if !info.is_sized() {
                return Err(InstError::malformed("the type that the pointers point to has no values"));
            }
            let source = cx.pointer(from)?;
            cx.copy(target, source, info.size, access);
            Ok(())
        }
        MemoryInst::CopyMemorySized => {
            let from = match cx.val(inst.id(1)?)? {
                Val::BuiltIn(input) => built_in::copy(cx, input)?,
                Val::Leaves(_) | Val::Memory(_) => cx.pointer(inst.id(1)?)?,
            };
            let (to, count) = (cx.pointer(inst.id(0)?)?, cx.scalar_int(inst.id(2)?)?);
            let (_, ty) = cx.unit.types.any_pointer(cx.type_of(inst.id(0)?)?)?;
            let stated = inst.len() > 3;
            let access = access_of_both(cx, inst, 3, ty)?;
            // Clang's back end states the alignment of the target as if it held for the source as well.
            let for_both = stated && cx.unit.module.generator != llvm_backend::GENERATOR;
            let align = if for_both { access.align } else { 1 };
            let count = cx.b.int_resize(count, Elem::I64, false);
            let mem = clift_kir::MemInfo { volatile: access.volatile, ..clift_kir::MemInfo::aligned(align) };
            cx.b.memcpy(to, from, count, mem);
            Ok(())
        }
        MemoryInst::AccessChain
        | MemoryInst::InBoundsAccessChain
        | MemoryInst::UntypedAccessChainKHR
        | MemoryInst::UntypedInBoundsAccessChainKHR => access_chain(cx, inst, false),
        MemoryInst::PtrAccessChain
        | MemoryInst::InBoundsPtrAccessChain
        | MemoryInst::UntypedPtrAccessChainKHR
        | MemoryInst::UntypedInBoundsPtrAccessChainKHR => access_chain(cx, inst, true),
        // Prefetches have no effect on results and are dropped.
        MemoryInst::UntypedPrefetchKHR => Ok(()),
        MemoryInst::GenericPtrMemSemantics => {
            let pointer = cx.pointer(inst.id(0)?)?;
            let local = cx.b.in_space(pointer, Space::Local);
            let global = cx.b.in_space(pointer, Space::Global);
            let ty = cx.kir_type(inst.result_type()?)?;
            if ty != Type::I32 {
                return Err(InstError::malformed("the result type is not a 32-bit integer"));
            }
            // There is no bit for private memory.
            let (none, workgroup, whole) = (cx.b.iconst(ty, 0), cx.b.iconst(ty, 0x100), cx.b.iconst(ty, 0x200));
            let value = cx.b.select(global, whole, none);
            let value = cx.b.select(local, workgroup, value);
            cx.set(inst, value)
        }
        MemoryInst::PtrEqual | MemoryInst::PtrNotEqual => {
            let (a, b) = pointers(cx, inst)?;
            let cond = if op == MemoryInst::PtrEqual { clift_kir::IntCond::Eq } else { clift_kir::IntCond::Ne };
            let value = cx.b.icmp(cond, a, b);
            cx.set(inst, value)
        }
        MemoryInst::PtrDiff => {
            let (a, b) = pointers(cx, inst)?;
            let size = cx.type_info(cx.pointee(inst.id(0)?)?)?.size.max(1);
            let to = cx.kir_type(inst.result_type()?)?;
            if !to.is_int() || to.is_vector() {
                return Err(InstError::malformed("the result type is not a scalar integer"));
            }
            let bytes = cx.b.int2(Opcode::Isub, a, b);
            let size = cx.b.iconst(Type::I64, size as i64);
            let elements = cx.b.int2(Opcode::Sdiv, bytes, size);
            let value = cx.b.int_resize(elements, to.elem, true);
            cx.set(inst, value)
        }
        MemoryInst::SizeOf => {
            let size = cx.type_info(cx.pointee(inst.id(0)?)?)?.size;
            let to = cx.kir_type(inst.result_type()?)?;
            if !to.is_int() || to.is_vector() {
                return Err(InstError::malformed("the result type is not a scalar integer"));
            }
            let value = cx.b.iconst(to, size as i64);
            cx.set(inst, value)
        }
        MemoryInst::LifetimeStart => lifetime_start(cx, inst),
        // Nothing is gained by knowing where lifetimes end.
        MemoryInst::LifetimeStop => Ok(()),
    }
}

/// The contents of a variable are undefined from here on. What concerns a part of a variable is ignored; a variable that is too
/// small gets the size that is stated ([`llvm_backend`]).
fn lifetime_start(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let (pointer, size) = (cx.pointer(inst.id(0)?)?, u64::from(inst.literal(1)?));
    let Some(def) = cx.b.func.dfg.def_inst(pointer) else { return Ok(()) };
    let Imm::Slot(slot) = cx.b.func.dfg.inst(def).imm else { return Ok(()) };
    if cx.unit.module.generator == llvm_backend::GENERATOR && size > cx.b.func.slots[slot].size {
        cx.enlarge(slot, size)?;
    }
    if size == 0 || size == cx.b.func.slots[slot].size {
        cx.b.lifetime_start(slot, pointer);
    }
    Ok(())
}

/// Two pointers as integers.
fn pointers(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(Value, Value), InstError> {
    let (a, b) = (cx.pointer(inst.id(0)?)?, cx.pointer(inst.id(1)?)?);
    if cx.b.ty(a) != cx.b.ty(b) || cx.b.ty(a).is_vector() {
        return Err(InstError::malformed("the pointers have different types"));
    }
    Ok((cx.b.cast(Opcode::PtrToInt, a, Type::I64), cx.b.cast(Opcode::PtrToInt, b, Type::I64)))
}

/// The alignment that decorations state for an id.
fn decorated_align(cx: &FuncCx<'_>, id: u32) -> Result<u32, InstError> {
    let decorations = cx.unit.module.decorations.of(id);
    let by_id = match decorations.alignment_id {
        Some(id) => cx.unit.consts.integer(id)?,
        None => 1,
    };
    let align = u64::from(decorations.alignment.unwrap_or(1)).max(by_id);
    if !align.is_power_of_two() {
        return Err(InstError::malformed(format!("alignment {align} is not a power of two")));
    }
    Ok(align.min(MAX_VARIABLE_ALIGN.into()) as u32)
}

fn variable(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let (class, pointee, initializer) = declared(inst, &cx.unit.types)?;
    if class != StorageClass::Function {
        return Err(InstError::malformed(format!(
            "a variable in a function has storage class {class:?} instead of Function"
        )));
    }
    let info = cx.type_info(pointee)?;
    if !info.is_sized() {
        return Err(InstError::malformed("the variable's type has no size"));
    }
    let align = info.align.max(decorated_align(cx, inst.result()?)?);
    let slot = cx.slot(info.size, align)?;
    if let Some(initializer) = initializer {
        cx.unit.types.check_initializer(cx.type_of(initializer)?, pointee)?;
        let val = cx.val(initializer)?;
        cx.store(pointee, slot, &val, MemAccess::aligned(info.align))?;
    }
    cx.set(inst, slot)
}

/// The properties of an access from its memory operands, and the number of these operands. Without a stated alignment the
/// alignment of the type is used.
fn access(cx: &FuncCx<'_>, inst: &Inst, operand: usize, ty: Option<u32>) -> Result<(MemAccess, usize), InstError> {
    let align = ty.map_or(Ok(1), |ty| cx.type_info(ty).map(|info| info.align))?;
    let mut access = MemAccess::aligned(align);
    let Some(operands) = inst.dr.operands.get(operand) else { return Ok((access, 0)) };
    let Operand::MemoryAccess(mask) = *operands else {
        return Err(InstError::malformed("the memory operands mask is missing"));
    };
    access.volatile = mask.contains(MemoryAccess::VOLATILE);
    let mut used = 1;
    if mask.contains(MemoryAccess::ALIGNED) {
        let align = inst.literal(operand + used)?;
        if !align.is_power_of_two() {
            return Err(InstError::malformed(format!("alignment {align} is not a power of two")));
        }
        access.align = align.min(MAX_ALIGN);
        used += 1;
    }
    Ok((access, used))
}

/// The memory operands of a copy. If there are two, the first are about the target and the second about the source: what holds
/// for both is returned.
fn access_of_both(cx: &FuncCx<'_>, inst: &Inst, operand: usize, ty: Option<u32>) -> Result<MemAccess, InstError> {
    let (target, used) = access(cx, inst, operand, ty)?;
    if used == 0 || inst.dr.operands.len() <= operand + used {
        return Ok(target);
    }
    let (source, _) = access(cx, inst, operand + used, ty)?;
    Ok(MemAccess { align: target.align.min(source.align), volatile: target.volatile || source.volatile })
}

fn load(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let (ty, id) = (inst.result_type()?, inst.id(0)?);
    // The SPIR-V-LLVM translator of LLVM 17 stores events in variables of pointer type.
    if !cx.unit.types.same_layout(cx.pointee_or(id, ty)?, ty)? {
        return Err(InstError::malformed("the result does not have the type that the pointer points to"));
    }
    if let Val::BuiltIn(input) = cx.val(id)? {
        let value = built_in::read(cx, BuiltInPointer { ty, ..input })?;
        return cx.set_val(inst, value);
    }
    if let Some(sampler) = literal_sampler(cx, id)? {
        let val = cx.val(sampler)?;
        return cx.set_val(inst, val);
    }
    let (mut access, _) = access(cx, inst, 1, Some(ty))?;
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

/// The initializer of a variable that holds a sampler. Loads of it are replaced by the constant, so that the sampler is known at
/// compile time.
fn literal_sampler(cx: &FuncCx<'_>, id: u32) -> Result<Option<u32>, InstError> {
    match cx.unit.module.def(id) {
        Some(variable) if matches!(variable.op(), Op::Variable | Op::UntypedVariableKHR) => {
            let (_, ty, initializer) = declared(variable, &cx.unit.types)?;
            let is_sampler = cx.type_info(ty)?.kind == TypeKind::Sampler;
            Ok(initializer.filter(|_| is_sampler))
        }
        Some(_) | None => Ok(None),
    }
}

fn store(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let (pointer, object) = (inst.id(0)?, inst.id(1)?);
    let ty = cx.type_of(object)?;
    if !cx.unit.types.same_layout(ty, cx.pointee_or(pointer, ty)?)? {
        return Err(InstError::malformed("the object does not have the type that the pointer points to"));
    }
    if let Val::BuiltIn(_) = cx.val(pointer)? {
        return Err(InstError::malformed("a built-in variable is read-only"));
    }
    let (mut access, _) = access(cx, inst, 2, Some(ty))?;
    access.volatile |= cx.unit.module.decorations.of(pointer).volatile;
    let address = cx.pointer(pointer)?;
    let val = cx.val(object)?;
    cx.store(ty, address, &val, access)
}

/// `AccessChain` and `PtrAccessChain`; the first index of the latter steps over whole objects.
fn access_chain(cx: &mut FuncCx<'_>, inst: &Inst, over_objects: bool) -> Result<(), InstError> {
    // The first operand of an untyped access chain is the type that the base is taken to point to.
    let untyped = matches!(
        inst.op(),
        Op::UntypedAccessChainKHR
            | Op::UntypedInBoundsAccessChainKHR
            | Op::UntypedPtrAccessChainKHR
            | Op::UntypedInBoundsPtrAccessChainKHR
    );
    let place = usize::from(untyped);
    let base = inst.id(place)?;
    let indices = inst.ids_from(place + 1)?;
    let (_, pointee) = cx.unit.types.any_pointer(inst.result_type()?)?;
    let mut ty = if untyped { inst.id(0)? } else { cx.pointee(base)? };
    if let Val::BuiltIn(input) = cx.val(base)?
        && let Some(input) =
            built_in::step(cx, BuiltInPointer { ty, ..input }, &indices, over_objects, is_byte_offset(cx, inst))?
    {
        if !cx.unit.types.same_shape(input.ty, pointee.unwrap_or(input.ty))? {
            return Err(InstError::malformed("the result does not point to the type that the indices select"));
        }
        cx.define(inst.result()?, Val::BuiltIn(input));
        return Ok(());
    }
    let mut address = AddressBuilder { base: cx.pointer(base)?, index: None, disp: 0 };
    if is_byte_offset(cx, inst) {
        let &bytes = indices.last().ok_or_else(|| InstError::malformed("the element index is missing"))?;
        address.step(cx, bytes, 1)?;
        let value = address.finish(cx);
        return cx.set(inst, value);
    }
    let mut indices = indices.into_iter();
    if over_objects {
        let index = indices.next().ok_or_else(|| InstError::malformed("the element index is missing"))?;
        let size = cx.type_info(ty)?.size;
        address.step(cx, index, size)?;
    }
    for index in indices {
        let kind = &cx.type_info(ty)?.kind;
        if let TypeKind::Struct { .. } = kind {
            let member = cx.unit.consts.integer(index);
            let member = member.map_err(|_| InstError::malformed("the index of a struct member is not a constant"))?;
            let step = cx.unit.types.step(ty, member)?;
            address.disp = address.disp.wrapping_add(step.offset as i64);
            ty = step.ty;
        } else if let Some((elem, _)) = kind.elements() {
            let size = cx.type_info(elem)?.size;
            address.step(cx, index, size)?;
            ty = elem;
        } else {
            return Err(InstError::malformed("too many indices: the type that they select has no parts"));
        }
    }
    // In constants, the SPIR-V-LLVM translator of LLVM 17 to 19 declares all addresses as pointers to bytes.
    let relabeled = inst.spec_op && cx.unit.module.generator == TRANSLATOR;
    if !relabeled && !cx.unit.types.same_shape(ty, pointee.unwrap_or(ty))? && cx.type_info(ty)?.is_sized() {
        return Err(InstError::malformed("the result does not point to the type that the indices select"));
    }
    let value = address.finish(cx);
    cx.set(inst, value)
}

/// Tool number of the SPIR-V-LLVM translator.
pub(crate) const TRANSLATOR: u32 = 6;

/// Whether an access chain in a constant adds bytes to a variable's address, whatever the variable's type is. LLVM's back end
/// writes `InBoundsPtrAccessChain %variable %zero %bytes`, the SPIR-V-LLVM translator of LLVM 22 `UntypedPtrAccessChainKHR
/// %type %variable %bytes`, and that of LLVM 19 `PtrAccessChain %variable %bytes` with a result that points to bytes.
fn is_byte_offset(cx: &FuncCx<'_>, inst: &Inst) -> bool {
    let generator = cx.unit.module.generator;
    if !inst.spec_op {
        return false;
    }
    if matches!(inst.op(), Op::UntypedPtrAccessChainKHR | Op::UntypedInBoundsPtrAccessChainKHR) {
        return generator == TRANSLATOR && inst.len() == 3;
    }
    if !matches!(inst.op(), Op::PtrAccessChain | Op::InBoundsPtrAccessChain) {
        return false;
    }
    if generator == llvm_backend::GENERATOR {
        return inst.len() == 3;
    }
    let pointee = |ty: Result<u32, InstError>| Some(cx.unit.types.pointer(ty.ok()?).ok()?.1);
    let base = inst.id(0).and_then(|base| cx.type_of(base));
    let (from, to) = (pointee(base), pointee(inst.result_type()));
    let to_bytes = to.is_some_and(|to| cx.unit.types.value(to).is_ok_and(|ty| ty == Type::scalar(Elem::I8)));
    generator == TRANSLATOR && inst.len() == 2 && to_bytes && from != to
}

/// An address under construction: `base + index * scale + disp`.
struct AddressBuilder {
    base: Value,
    index: Option<(Value, u64)>,
    disp: i64,
}

impl AddressBuilder {
    /// Adds an index (signed, of any width) times a size.
    fn step(&mut self, cx: &mut FuncCx<'_>, index: u32, size: u64) -> Result<(), InstError> {
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
