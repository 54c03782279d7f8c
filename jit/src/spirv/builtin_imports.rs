//! OpenCL C functions that producers leave as imports with mangled names although there are instructions for them.
//!
//! Some versions of clang's SPIR-V back end emit `_Z10atomic_incPU3AS1Vi` as an imported function, some versions of the
//! SPIR-V-LLVM translator `_Z20dot_4x8packed_ss_intjj`, and compilers of other languages (Julia's) queries of work-items and
//! barriers. The table of known functions is here; other imports stay unresolved.

use clift_kir::{
    AtomicInfo, AtomicOp, BarrierInfo, Convert, MemOrder, MemScope, Opcode, Rounding, Space, SpaceSet, Type, Value,
};
use rspirv::spirv::BuiltIn;

use super::lower::{FuncCx, Leaves, Val};
use super::ops::{arith, built_in, image};
use super::words::InstError;

/// A function known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltinImport {
    /// Read-modify-write with an operand.
    Rmw(AtomicOp),
    /// Read-modify-write with the operand 1.
    RmwOne(AtomicOp),
    /// Compare-exchange: pointer, expected, new.
    CompareExchange,
    /// Read-modify-write with an operand, sequentially consistent. Order and scope operands may follow and are ignored: they
    /// can only weaken it.
    Ordered(AtomicOp),
    /// Memory fences: `mem_fence`, `read_mem_fence`, `write_mem_fence`.
    Fence,
    /// A barrier of the work-items in this scope, with flags for the address spaces it orders.
    Barrier(MemScope),
    /// A query of a work-item, such as `get_group_id`: the variable that SPIR-V has for it.
    Query(BuiltIn),
    /// A generic pointer converted to this address space, null if it points to another one.
    ToSpace(Space),
    /// `get_fence`: the flags of the address space that a generic pointer points to.
    GetFence,
    /// `get_image_channel_order` and `get_image_channel_data_type`.
    ImageFormat(image::FormatPart),
    /// Reads and writes of half colours, and those of a level of a mipmapped image, for which our front end uses these names.
    Image(image::ImageFunction),
    /// `dot_4x8packed` and `dot_acc_sat_4x8packed`: which of the two words have signed bytes, and whether an accumulator follows.
    PackedDot { signed: [bool; 2], accumulate: bool },
    /// `convert_half`, `convert_float`, `convert_double` and their vectors, from signed or unsigned integers or from floats.
    ToFloat { signed: bool, rounding: Rounding },
}

/// The known function with a mangled name.
pub(crate) fn find(mangled: &str) -> Option<BuiltinImport> {
    match mangled {
        "_Z9mem_fencej" | "_Z14read_mem_fencej" | "_Z15write_mem_fencej" => return Some(BuiltinImport::Fence),
        "_Z17sub_group_barrierj" | "_Z17sub_group_barrierj12memory_scope" => {
            return Some(BuiltinImport::Barrier(MemScope::SubGroup));
        }
        "_Z7barrierj" | "_Z18work_group_barrierj" | "_Z18work_group_barrierj12memory_scope" => {
            return Some(BuiltinImport::Barrier(MemScope::WorkGroup));
        }
        "__to_global" => return Some(BuiltinImport::ToSpace(Space::Global)),
        "__to_local" => return Some(BuiltinImport::ToSpace(Space::Local)),
        "__to_private" => return Some(BuiltinImport::ToSpace(Space::Private)),
        "_Z9get_fencePU3AS4v" | "_Z9get_fencePU3AS4Kv" => return Some(BuiltinImport::GetFence),
        _ => {}
    }
    let rest = mangled.strip_prefix("_Z")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = rest[..digits].parse().ok()?;
    let (name, parameters) = rest[digits..].split_at_checked(length)?;
    match name {
        "get_image_channel_order" => return Some(BuiltinImport::ImageFormat(image::FormatPart::Order)),
        "get_image_channel_data_type" => return Some(BuiltinImport::ImageFormat(image::FormatPart::DataType)),
        "read_imageh" | "clift_read_imagef" | "clift_read_imagei" | "clift_read_imageui" | "clift_read_imageh" => {
            return Some(BuiltinImport::Image(image::ImageFunction::Read));
        }
        "write_imageh" | "clift_write_imagef" | "clift_write_imagei" | "clift_write_imageui" | "clift_write_imageh" => {
            return Some(BuiltinImport::Image(image::ImageFunction::Write));
        }
        _ => {}
    }
    if let (Some(built_in), "j" | "v") = (built_in::of_function(name), parameters) {
        return Some(BuiltinImport::Query(built_in));
    }
    if let Some(target) = name.strip_prefix("convert_") {
        return conversion(target, parameters);
    }
    if let Some(signs) = name.strip_prefix("dot_4x8packed_") {
        return packed_dot(signs, false);
    }
    if let Some(signs) = name.strip_prefix("dot_acc_sat_4x8packed_") {
        return packed_dot(signs, true);
    }
    let operation = name.strip_prefix("atomic_").or_else(|| name.strip_prefix("atom_"))?;
    if let Some(kind) = operation.strip_prefix("fetch_") {
        // `P`, address space, `VU7_Atomic`, the type, the operand's type, perhaps order and scope.
        let ty = match parameters.split_once("7_Atomic")?.1 {
            half if half.starts_with("Dh") => 'h',
            other => other.chars().next()?,
        };
        return Some(BuiltinImport::Ordered(match (kind.trim_end_matches("_explicit"), ty) {
            ("min", 'i' | 'l') => AtomicOp::Smin,
            ("max", 'i' | 'l') => AtomicOp::Smax,
            ("min", 'j' | 'm') => AtomicOp::Umin,
            ("max", 'j' | 'm') => AtomicOp::Umax,
            ("min", 'h' | 'f' | 'd') => AtomicOp::Fmin,
            ("max", 'h' | 'f' | 'd') => AtomicOp::Fmax,
            _ => return None,
        }));
    }
    // The old functions without order and scope: `P`, address space, `V`, then the type.
    let signed = parameters.ends_with(['i', 'l']) || parameters.ends_with("i_") || parameters.ends_with("l_");
    let minimum = if signed { AtomicOp::Smin } else { AtomicOp::Umin };
    let maximum = if signed { AtomicOp::Smax } else { AtomicOp::Umax };
    Some(match operation {
        "add" => BuiltinImport::Rmw(AtomicOp::Add),
        "sub" => BuiltinImport::Rmw(AtomicOp::Sub),
        "xchg" => BuiltinImport::Rmw(AtomicOp::Xchg),
        "and" => BuiltinImport::Rmw(AtomicOp::And),
        "or" => BuiltinImport::Rmw(AtomicOp::Or),
        "xor" => BuiltinImport::Rmw(AtomicOp::Xor),
        "min" => BuiltinImport::Rmw(minimum),
        "max" => BuiltinImport::Rmw(maximum),
        "inc" => BuiltinImport::RmwOne(AtomicOp::Add),
        "dec" => BuiltinImport::RmwOne(AtomicOp::Sub),
        "cmpxchg" => BuiltinImport::CompareExchange,
        _ => return None,
    })
}

/// The dot product with a name's last part.
fn packed_dot(signs: &str, accumulate: bool) -> Option<BuiltinImport> {
    let signed = match signs {
        "uu_uint" => [false, false],
        "ss_int" => [true, true],
        "su_int" => [true, false],
        "us_int" => [false, true],
        _ => return None,
    };
    Some(BuiltinImport::PackedDot { signed, accumulate })
}

/// The conversion to floats with this name after `convert_`, and the mangled type of its argument.
fn conversion(target: &str, parameter: &str) -> Option<BuiltinImport> {
    let mode = ["half", "float", "double"].iter().find_map(|name| target.strip_prefix(name))?;
    let rounding = match mode.trim_start_matches(|c: char| c.is_ascii_digit()) {
        "" | "_rte" => Rounding::NearestEven,
        "_rtz" => Rounding::TowardZero,
        "_rtp" => Rounding::Up,
        "_rtn" => Rounding::Down,
        _ => return None,
    };
    // Vectors are `Dv4_i`.
    let elem =
        parameter.strip_prefix("Dv").and_then(|vector| vector.split_once('_')).map_or(parameter, |(_, elem)| elem);
    let signed = match elem {
        "c" | "s" | "i" | "l" => true,
        "h" | "t" | "j" | "m" | "Dh" | "f" | "d" => false,
        _ => return None,
    };
    Some(BuiltinImport::ToFloat { signed, rounding })
}

/// `CLK_LOCAL_MEM_FENCE` and `CLK_GLOBAL_MEM_FENCE`.
const FENCE_FLAGS: [(Space, i64); 2] = [(Space::Local, 1), (Space::Global, 2)];

/// The values of OpenCL C's `memory_scope`.
const MEMORY_SCOPES: [(u64, MemScope); 5] = [
    (0, MemScope::WorkItem),
    (1, MemScope::WorkGroup),
    (2, MemScope::Device),
    (3, MemScope::AllDevices),
    (4, MemScope::SubGroup),
];

/// `CLK_IMAGE_MEM_FENCE`.
const IMAGE_FENCE: u64 = 4;

/// Emits a known function. `ids` are its arguments and `args` their values; `result` is its result type, `None` for void.
pub(super) fn expand(
    cx: &mut FuncCx<'_>,
    builtin: BuiltinImport,
    ids: &[u32],
    args: &[Value],
    result: Option<Type>,
) -> Result<Val, InstError> {
    if let BuiltinImport::Image(access) = builtin {
        return image::access(cx, access, ids, result);
    }
    if builtin == BuiltinImport::Fence {
        cx.b.fence(AtomicInfo { op: AtomicOp::Xchg, order: MemOrder::AcqRel, scope: MemScope::Device });
        return Ok(Val::Leaves(Leaves::new()));
    }
    if let (BuiltinImport::Query(built_in), Some(ty)) = (builtin, result) {
        return Ok(Val::one(built_in::call(cx, built_in, args, ty)?.ok_or_else(wrong)?));
    }
    if let BuiltinImport::Barrier(execution) = builtin {
        return barrier(cx, execution, args);
    }
    let (Some(&pointer), Some(result)) = (args.first(), result) else { return Err(wrong()) };
    if let BuiltinImport::PackedDot { signed, accumulate } = builtin {
        return Ok(Val::one(dot(cx, signed, accumulate, args, result)?));
    }
    if let BuiltinImport::ImageFormat(part) = builtin {
        let is_image = cx.b.ty(pointer) == Type::ptr(Space::Host) && result == Type::I32;
        return if is_image { Ok(Val::one(image::format_part(cx, pointer, part))) } else { Err(wrong()) };
    }
    if let BuiltinImport::ToFloat { signed, rounding } = builtin {
        return Ok(Val::one(to_float(cx, signed, rounding, pointer, result)?));
    }
    let operands = &args[1..];
    let is_generic = cx.b.ty(pointer) == Type::ptr(Space::Generic);
    if !cx.b.ty(pointer).is_ptr() || cx.b.ty(pointer).is_vector() || result.is_vector() || result.is_bool() {
        return Err(wrong());
    }
    let all_results = |cx: &FuncCx<'_>, count: usize| {
        operands.get(..count).is_some_and(|used| used.iter().all(|&arg| cx.b.ty(arg) == result))
    };
    let info = |op, order| AtomicInfo { op, order, scope: MemScope::Device };
    let value = match builtin {
        BuiltinImport::Rmw(op) if all_results(cx, 1) && (result.is_int() || op == AtomicOp::Xchg) => {
            cx.b.atomic_rmw(pointer, operands[0], info(op, MemOrder::Relaxed))
        }
        BuiltinImport::Ordered(op)
            if all_results(cx, 1)
                && !result.is_ptr()
                && result.is_float() == matches!(op, AtomicOp::Fmin | AtomicOp::Fmax) =>
        {
            cx.b.atomic_rmw(pointer, operands[0], info(op, MemOrder::SeqCst))
        }
        BuiltinImport::RmwOne(op) if result.is_int() => {
            let one = cx.b.iconst(result, 1);
            cx.b.atomic_rmw(pointer, one, info(op, MemOrder::Relaxed))
        }
        BuiltinImport::CompareExchange if all_results(cx, 2) => {
            let info = info(AtomicOp::Xchg, MemOrder::Relaxed);
            cx.b.atomic_cmpxchg(pointer, operands[0], operands[1], info)
        }
        BuiltinImport::ToSpace(space) if is_generic && result == Type::ptr(space) => {
            let inside = cx.b.in_space(pointer, space);
            let cast = cx.b.cast(Opcode::SpaceCast, pointer, result);
            let null = cx.b.iconst(result, 0);
            cx.b.select(inside, cast, null)
        }
        BuiltinImport::GetFence if is_generic && result.is_int() => {
            let mut flags = cx.b.iconst(result, 0);
            for (space, flag) in FENCE_FLAGS {
                let inside = cx.b.in_space(pointer, space);
                let flag = cx.b.iconst(result, flag);
                flags = cx.b.select(inside, flag, flags);
            }
            flags
        }
        BuiltinImport::Rmw(_)
        | BuiltinImport::Ordered(_)
        | BuiltinImport::RmwOne(_)
        | BuiltinImport::CompareExchange
        | BuiltinImport::Fence
        | BuiltinImport::Barrier(_)
        | BuiltinImport::Query(_)
        | BuiltinImport::ToSpace(_)
        | BuiltinImport::ImageFormat(_)
        | BuiltinImport::Image(_)
        | BuiltinImport::ToFloat { .. }
        | BuiltinImport::PackedDot { .. }
        | BuiltinImport::GetFence => return Err(wrong()),
    };
    Ok(Val::one(value))
}

fn wrong() -> InstError {
    InstError::malformed("the arguments of a built-in function have the wrong types")
}

/// Emits a barrier, whose arguments are flags and perhaps a scope.
fn barrier(cx: &mut FuncCx<'_>, execution: MemScope, args: &[Value]) -> Result<Val, InstError> {
    let constant = |arg: &Value| {
        let bits = cx.b.func.dfg.as_splat_bits(*arg);
        bits.ok_or_else(|| InstError::unsupported("a barrier with flags or a scope that is not constant"))
    };
    let flags = args.first().map_or(Err(wrong()), constant)?;
    let memory = match args.get(1).map(constant).transpose()? {
        None => execution,
        Some(number) => MEMORY_SCOPES.iter().find(|(n, _)| *n == number).map(|(_, scope)| *scope).ok_or_else(wrong)?,
    };
    let mut spaces = SpaceSet::empty();
    for (space, set) in [(Space::Local, SpaceSet::LOCAL), (Space::Global, SpaceSet::GLOBAL)] {
        let flag = FENCE_FLAGS.iter().find(|(named, _)| *named == space).map_or(0, |(_, flag)| *flag as u64);
        spaces.set(set, flags & flag != 0);
    }
    spaces.set(SpaceSet::IMAGE, flags & IMAGE_FENCE != 0);
    let id = cx.b.func.fresh_barrier();
    cx.b.barrier(BarrierInfo { id, execution, memory, spaces });
    Ok(Val::Leaves(Leaves::new()))
}

/// Emits a dot product of bytes packed into words, of which `signed` says whether they are signed.
fn dot(
    cx: &mut FuncCx<'_>,
    signed: [bool; 2],
    accumulate: bool,
    args: &[Value],
    result: Type,
) -> Result<Value, InstError> {
    let (&[a, b, ref rest @ ..], Type::I32) = (args, result) else { return Err(wrong()) };
    if rest.len() != usize::from(accumulate) || args.iter().any(|&arg| cx.b.ty(arg) != Type::I32) {
        return Err(wrong());
    }
    let (mut a, mut b) = ((a, signed[0]), (b, signed[1]));
    if signed == [false, true] {
        std::mem::swap(&mut a, &mut b);
    }
    arith::dot(cx, a, b, rest.first().copied(), result)
}

/// Emits a conversion of numbers, which are signed or unsigned if they are integers, to floats.
fn to_float(
    cx: &mut FuncCx<'_>,
    signed: bool,
    rounding: Rounding,
    value: Value,
    result: Type,
) -> Result<Value, InstError> {
    let from = cx.b.ty(value);
    if !result.is_float() || from.lanes() != result.lanes() || !(from.is_float() || from.is_int()) {
        return Err(wrong());
    }
    if from == result {
        return Ok(value);
    }
    let op = match (from.is_float(), signed) {
        (true, _) => Opcode::FptoFp,
        (false, true) => Opcode::StoFp,
        (false, false) => Opcode::UtoFp,
    };
    Ok(cx.b.convert(op, value, result, Convert { rounding, saturate: false }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(find("_Z10atomic_incPU3AS1Vi"), Some(BuiltinImport::RmwOne(AtomicOp::Add)));
        assert_eq!(find("_Z10atomic_minPU3AS3Vjj"), Some(BuiltinImport::Rmw(AtomicOp::Umin)));
        assert_eq!(find("_Z8atom_maxPU3AS1Vll"), Some(BuiltinImport::Rmw(AtomicOp::Smax)));
        assert_eq!(
            find("_Z25atomic_fetch_min_explicitPU3AS4VU7_Atomicii12memory_order12memory_scope"),
            Some(BuiltinImport::Ordered(AtomicOp::Smin))
        );
        assert_eq!(find("_Z16atomic_fetch_maxPU3AS4VU7_Atomicmm"), Some(BuiltinImport::Ordered(AtomicOp::Umax)));
        assert_eq!(find("_Z16atomic_fetch_maxPU3AS4VU7_Atomicff"), Some(BuiltinImport::Ordered(AtomicOp::Fmax)));
        assert_eq!(
            find("_Z25atomic_fetch_min_explicitPU3AS3VU7_Atomicdd12memory_order"),
            Some(BuiltinImport::Ordered(AtomicOp::Fmin))
        );
        assert_eq!(
            find("_Z25atomic_fetch_max_explicitPU3AS1VU7_AtomicDhDh12memory_order12memory_scope"),
            Some(BuiltinImport::Ordered(AtomicOp::Fmax))
        );
        assert_eq!(find("_Z16atomic_fetch_addPU3AS4VU7_Atomicff"), None);
        assert_eq!(find("_Z9mem_fencej"), Some(BuiltinImport::Fence));
        assert_eq!(find("_Z17sub_group_barrierj"), Some(BuiltinImport::Barrier(MemScope::SubGroup)));
        assert_eq!(find("_Z7barrierj"), Some(BuiltinImport::Barrier(MemScope::WorkGroup)));
        assert_eq!(find("_Z12get_group_idj"), Some(BuiltinImport::Query(BuiltIn::WorkgroupId)));
        assert_eq!(find("_Z12get_work_dimv"), Some(BuiltinImport::Query(BuiltIn::WorkDim)));
        assert_eq!(find("_Z12get_group_idi"), None);
        assert_eq!(find("__to_local"), Some(BuiltinImport::ToSpace(Space::Local)));
        let order = BuiltinImport::ImageFormat(image::FormatPart::Order);
        assert_eq!(find("_Z23get_image_channel_order14ocl_image2d_ro"), Some(order));
        let read = BuiltinImport::Image(image::ImageFunction::Read);
        assert_eq!(find("_Z17clift_read_imagef14ocl_image2d_ro11ocl_samplerDv2_ff"), Some(read));
        assert_eq!(find("_Z11read_imageh14ocl_image2d_roDv2_i"), Some(read));
        let conversion = |signed, rounding| Some(BuiltinImport::ToFloat { signed, rounding });
        assert_eq!(find("_Z12convert_halfi"), conversion(true, Rounding::NearestEven));
        assert_eq!(find("_Z18convert_half16_rtpDv16_m"), conversion(false, Rounding::Up));
        assert_eq!(find("_Z19convert_double4_rtzDv4_Dh"), conversion(false, Rounding::TowardZero));
        assert_eq!(find("_Z15convert_int_sati"), None);
        let dot = |signed, accumulate| Some(BuiltinImport::PackedDot { signed, accumulate });
        assert_eq!(find("_Z20dot_4x8packed_us_intjj"), dot([false, true], false));
        assert_eq!(find("_Z29dot_acc_sat_4x8packed_uu_uintjjj"), dot([false, false], true));
        assert_eq!(find("_Z3foov"), None);
        assert_eq!(find("_Z99x"), None);
        assert_eq!(find("main"), None);
    }
}
