//! OpenCL C functions that a producer left as imports by their mangled names although instructions exist for them.
//!
//! Some versions of clang's SPIR-V back end emit `_Z10atomic_incPU3AS1Vi` as an imported function. The table of what is known is
//! here; anything else stays an unresolved symbol.

use clift_kir::{AtomicInfo, AtomicOp, MemOrder, MemScope, Value};

use super::lower::FuncCx;
use super::words::Fault;

/// A function known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltinImport {
    /// Read-modify-write with an operand.
    Rmw(AtomicOp),
    /// Read-modify-write with the operand 1.
    RmwOne(AtomicOp),
    /// Compare-exchange: pointer, expected, new.
    CompareExchange,
    /// Read-modify-write with an operand, sequentially consistent; order and scope may follow and can only ask for less.
    Ordered(AtomicOp),
}

/// The known function of a mangled name.
pub(crate) fn find(mangled: &str) -> Option<BuiltinImport> {
    let rest = mangled.strip_prefix("_Z")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = rest[..digits].parse().ok()?;
    let (name, parameters) = rest[digits..].split_at_checked(length)?;
    let operation = name.strip_prefix("atomic_").or_else(|| name.strip_prefix("atom_"))?;
    if let Some(kind) = operation.strip_prefix("fetch_") {
        // `P`, address space, `VU7_Atomic`, the type, the operand's type, perhaps order and scope.
        let ty = parameters.split_once("7_Atomic")?.1.chars().next()?;
        return Some(BuiltinImport::Ordered(match (kind.trim_end_matches("_explicit"), ty) {
            ("min", 'i' | 'l') => AtomicOp::Smin,
            ("max", 'i' | 'l') => AtomicOp::Smax,
            ("min", 'j' | 'm') => AtomicOp::Umin,
            ("max", 'j' | 'm') => AtomicOp::Umax,
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

/// Emits a call of a known function.
pub(super) fn expand(
    cx: &mut FuncCx<'_>,
    builtin: BuiltinImport,
    args: &[Value],
    result: clift_kir::Type,
) -> Result<Value, Fault> {
    let wrong = || Fault::malformed("arguments of a built-in function are of the wrong types");
    let Some(&pointer) = args.first() else { return Err(wrong()) };
    let operands = match builtin {
        BuiltinImport::Ordered(_) => args.get(1..2).ok_or_else(wrong)?,
        BuiltinImport::Rmw(_) | BuiltinImport::RmwOne(_) | BuiltinImport::CompareExchange => &args[1..],
    };
    if !cx.b.ty(pointer).is_ptr() || result.is_vector() || !operands.iter().all(|&arg| cx.b.ty(arg) == result) {
        return Err(wrong());
    }
    let info = |op| AtomicInfo { op, order: MemOrder::Relaxed, scope: MemScope::Device };
    match (builtin, args) {
        (BuiltinImport::Rmw(op), &[_, operand]) => Ok(cx.b.atomic_rmw(pointer, operand, info(op))),
        (BuiltinImport::RmwOne(op), [_]) if result.is_int() => {
            let one = cx.b.iconst(result, 1);
            Ok(cx.b.atomic_rmw(pointer, one, info(op)))
        }
        (BuiltinImport::CompareExchange, &[_, expected, new]) => {
            Ok(cx.b.atomic_cmpxchg(pointer, expected, new, info(AtomicOp::Xchg)))
        }
        (BuiltinImport::Ordered(op), _) => {
            let info = AtomicInfo { order: MemOrder::SeqCst, ..info(op) };
            Ok(cx.b.atomic_rmw(pointer, operands[0], info))
        }
        (BuiltinImport::Rmw(_) | BuiltinImport::RmwOne(_) | BuiltinImport::CompareExchange, _) => Err(wrong()),
    }
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
        assert_eq!(find("_Z16atomic_fetch_maxPU3AS4VU7_Atomicff"), None);
        assert_eq!(find("_Z3foov"), None);
        assert_eq!(find("_Z99x"), None);
        assert_eq!(find("main"), None);
    }
}
