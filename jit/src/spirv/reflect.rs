//! Descriptions of kernels: their parameters with the places in the argument block, and their size attributes.
//!
//! Types and qualifiers come from the SPIR-V types and decorations. If the producer wrote `OpString`s of the form
//! `kernel_arg_type.<kernel>.<type>,<type>,` (and `kernel_arg_type_qual.`), these take precedence, as they are closer to the
//! source.

use clift_include::abi::ArgSlot;
use rspirv::dr::Operand;
use rspirv::spirv::{AccessQualifier as SpirvAccess, ExecutionMode, StorageClass};

use super::module::{EntryPoint, FunctionDef};
use super::types::{MAX_ALIGN, TypeKind};
use super::unit::Unit;
use super::words::InstError;
use crate::{AccessQualifier, AddressQualifier, ArgInfo, ArgKind, TypeQualifiers};

/// Maximum size of the argument block in bytes.
pub(super) const MAX_ARG_BLOCK: u64 = 64 << 10;
/// Alignment of a local pointer whose pointee type is unknown.
const UNKNOWN_ALIGN: u32 = MAX_ALIGN;

/// The description of a kernel for the application.
#[derive(Clone, Default, Debug)]
pub struct KernelDesc {
    /// Name of the entry point.
    pub name: String,
    /// Its parameters in order.
    pub args: Vec<ArgInfo>,
    /// Whether kernels enqueue it, not the application. The first parameter then points to a copy of the captures, which are the
    /// first argument.
    pub is_child: bool,
    /// `reqd_work_group_size`.
    pub required_local_size: Option<[u64; 3]>,
    /// `work_group_size_hint`.
    pub local_size_hint: Option<[u64; 3]>,
    /// `vec_type_hint`.
    pub vec_type_hint: Option<String>,
    /// Required number of sub-groups in a work-group (`SubgroupsPerWorkgroup`).
    pub required_sub_groups: Option<u64>,
    /// Required number of work-items in a sub-group (`SubgroupSize`): one of [`crate::SUB_GROUP_SIZES`].
    pub required_sub_group_size: Option<u32>,
}

/// The description of a kernel, and the size of its argument block.
pub(super) fn kernel(
    unit: &Unit,
    entry: &EntryPoint,
    function: &FunctionDef,
    arg_info: bool,
) -> Result<(KernelDesc, u32), InstError> {
    let (ret, params) = unit.function_type(function)?;
    if unit.types.get(ret)?.kind != TypeKind::Void {
        return Err(InstError::malformed("the kernel's result type is not void"));
    }
    let type_names = texts(unit, "kernel_arg_type", &entry.name, params.len());
    let qualifiers = texts(unit, "kernel_arg_type_qual", &entry.name, params.len());
    let mut args = Vec::with_capacity(params.len());
    let mut end = 0u64;
    for (index, (&ty, &inst)) in params.iter().zip(&function.params).enumerate() {
        let id = unit.module.insts[inst].result()?;
        let (mut info, size, align) = argument(unit, id, ty)?;
        let offset = end.next_multiple_of(align.clamp(1, MAX_ALIGN).into());
        end = offset + size;
        if end > MAX_ARG_BLOCK {
            return Err(InstError::unsupported(format!("arguments of more than {MAX_ARG_BLOCK} bytes")));
        }
        info.slot = ArgSlot { offset: offset as u32, size: size as u32 };
        if let Some(texts) = &qualifiers {
            let has = |word: &str| texts[index].split(' ').any(|w| w == word);
            info.qualifiers.is_const |= has("const");
            info.qualifiers.is_restrict |= has("restrict");
            info.qualifiers.is_volatile |= has("volatile");
            info.qualifiers.is_pipe |= has("pipe");
        }
        if arg_info {
            info.name = unit.module.names.get(&id).cloned();
            info.type_name = type_names.as_ref().map(|texts| texts[index].clone());
        }
        args.push(info);
    }
    let mut desc = KernelDesc { name: entry.name.clone(), args, ..KernelDesc::default() };
    modes(unit, function.id, &mut desc)?;
    Ok((desc, end.next_multiple_of(8) as u32))
}

/// One parameter: its description, and its size and alignment in the argument block.
pub(super) fn argument(unit: &Unit, id: u32, ty: u32) -> Result<(ArgInfo, u64, u32), InstError> {
    let info = unit.types.get(ty)?;
    let decorations = unit.module.decorations.of(id);
    let mut arg = ArgInfo {
        kind: ArgKind::Value,
        slot: ArgSlot { offset: 0, size: 0 },
        address: AddressQualifier::Private,
        access: AccessQualifier::None,
        qualifiers: TypeQualifiers::default(),
        written: false,
        max_bytes: match (decorations.max_byte_offset, decorations.max_byte_offset_id) {
            (Some(bytes), _) => Some(bytes.into()),
            (None, Some(id)) => Some(unit.consts.integer(id)?),
            (None, None) => None,
        },
        name: None,
        type_name: None,
    };
    let mut pointer = |kind, address| {
        arg.kind = kind;
        arg.address = address;
        arg.qualifiers = TypeQualifiers {
            is_const: decorations.constant || address == AddressQualifier::Constant,
            is_restrict: decorations.restrict,
            is_volatile: decorations.volatile,
            is_pipe: false,
        };
    };
    match &info.kind {
        &TypeKind::Pointer { class, pointee } => {
            let pointee = pointee.map(|pointee| unit.types.get(pointee)).transpose()?;
            #[expect(clippy::wildcard_enum_match_arm, reason = "kernels' parameters do not point to the others")]
            match class {
                StorageClass::CrossWorkgroup => pointer(ArgKind::GlobalPointer, AddressQualifier::Global),
                StorageClass::UniformConstant => pointer(ArgKind::ConstantPointer, AddressQualifier::Constant),
                StorageClass::Workgroup => {
                    let natural = pointee.map_or(1, |pointee| pointee.align);
                    let align = match decorations.alignment {
                        Some(align) => align.max(natural).min(MAX_ALIGN),
                        None if natural == 1 => UNKNOWN_ALIGN,
                        None => natural,
                    };
                    pointer(ArgKind::LocalPointer { align }, AddressQualifier::Local);
                }
                StorageClass::Function => {
                    let Some(pointee) = pointee.filter(|pointee| pointee.is_sized()) else {
                        return Err(InstError::malformed(
                            "a kernel parameter points to private memory of a type without a size",
                        ));
                    };
                    return Ok((arg, pointee.size, pointee.align));
                }
                other => {
                    return Err(InstError::malformed(format!("a kernel parameter points to storage class {other:?}")));
                }
            }
        }
        TypeKind::Image { access, shape } => {
            arg.kind = ArgKind::Image { dimensions: shape.dims.count(), arrayed: shape.arrayed };
            arg.address = AddressQualifier::Global;
            arg.access = access_qualifier(access.unwrap_or(SpirvAccess::ReadOnly));
        }
        TypeKind::Sampler => arg.kind = ArgKind::Sampler,
        TypeKind::Pipe { access } => {
            arg.kind = ArgKind::Pipe;
            arg.address = AddressQualifier::Global;
            arg.access = access_qualifier(*access);
            arg.qualifiers.is_pipe = true;
        }
        TypeKind::Queue => arg.kind = ArgKind::Queue,
        TypeKind::Int
        | TypeKind::Float
        | TypeKind::Vector { .. }
        | TypeKind::Array { .. }
        | TypeKind::Struct { .. } => {}
        TypeKind::Void
        | TypeKind::Bool
        | TypeKind::Function { .. }
        | TypeKind::Opaque
        | TypeKind::Event
        | TypeKind::SampledImage { .. }
        | TypeKind::PipeStorage
        | TypeKind::ReserveId
        | TypeKind::Handle
        | TypeKind::NamedBarrier => return Err(InstError::malformed("the type is not allowed for kernel parameters")),
    }
    Ok((arg, info.size, info.align))
}

fn access_qualifier(access: SpirvAccess) -> AccessQualifier {
    match access {
        SpirvAccess::ReadOnly => AccessQualifier::ReadOnly,
        SpirvAccess::WriteOnly => AccessQualifier::WriteOnly,
        SpirvAccess::ReadWrite => AccessQualifier::ReadWrite,
    }
}

/// The producer's strings about a kernel's parameters, if there is one for each parameter.
fn texts(unit: &Unit, what: &str, kernel: &str, count: usize) -> Option<Vec<String>> {
    let rest = unit.module.strings.iter().find_map(|text| {
        let rest = text.strip_prefix(what)?.strip_prefix('.')?;
        rest.strip_prefix(kernel)?.strip_prefix('.')
    })?;
    let rest = rest.strip_suffix(',').unwrap_or(rest);
    let list: Vec<String> = if count == 0 { Vec::new() } else { rest.split(',').map(str::to_owned).collect() };
    (list.len() == count).then_some(list)
}

/// A number that an execution mode gives as a literal or as the id of a constant.
fn number(unit: &Unit, operand: &Operand, missing: &str) -> Result<u64, InstError> {
    if let &Operand::LiteralBit32(number) = operand {
        return Ok(number.into());
    }
    let &Operand::IdRef(id) = operand else { return Err(InstError::malformed(missing)) };
    unit.consts.integer(id)
}

/// Reads the execution modes of a kernel.
pub(super) fn modes(unit: &Unit, function: u32, desc: &mut KernelDesc) -> Result<(), InstError> {
    for (mode, inst) in unit.module.modes_of(function) {
        let size = || -> Result<[u64; 3], InstError> {
            let mut size = [0; 3];
            for (dim, size) in size.iter_mut().enumerate() {
                *size = number(unit, inst.operand(dim + 2)?, "a size is missing")?;
            }
            Ok(size)
        };
        #[expect(clippy::wildcard_enum_match_arm, reason = "hints, and requirements that every kernel meets")]
        match mode {
            ExecutionMode::LocalSize | ExecutionMode::LocalSizeId => {
                let size = size()?;
                if size.contains(&0) {
                    return Err(InstError::malformed("the required work-group size is 0"));
                }
                desc.required_local_size = Some(size);
            }
            ExecutionMode::LocalSizeHint | ExecutionMode::LocalSizeHintId => desc.local_size_hint = Some(size()?),
            ExecutionMode::SubgroupsPerWorkgroup | ExecutionMode::SubgroupsPerWorkgroupId => {
                let count = number(unit, inst.operand(2)?, "the number of sub-groups is missing")?;
                if count == 0 {
                    return Err(InstError::malformed("the required number of sub-groups is 0"));
                }
                desc.required_sub_groups = Some(count);
            }
            ExecutionMode::SubgroupSize => {
                let size = inst.literal(2)?;
                if !crate::SUB_GROUP_SIZES.contains(&size) {
                    return Err(InstError::unsupported(format!("sub-groups of {size} work-items")));
                }
                desc.required_sub_group_size = Some(size);
            }
            ExecutionMode::VecTypeHint => desc.vec_type_hint = vec_type_hint(inst.literal(2)?),
            _ => {}
        }
    }
    Ok(())
}

/// OpenCL C's name of the type that a `VecTypeHint` encodes.
fn vec_type_hint(code: u32) -> Option<String> {
    let elem = ["char", "short", "int", "long", "half", "float", "double"].get(code as u16 as usize)?;
    Some(match code >> 16 {
        0 | 1 => (*elem).to_owned(),
        lanes => format!("{elem}{lanes}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_type_hints() {
        assert_eq!(vec_type_hint(4 << 16 | 5).as_deref(), Some("float4"));
        assert_eq!(vec_type_hint(2).as_deref(), Some("int"));
        assert_eq!(vec_type_hint(9), None);
    }
}
