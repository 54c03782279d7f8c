//! Idioms that LLVM's SPIR-V back end (clang's) translates wrongly, and their correct translation.
//!
//! Workarounds that concern a single instruction are where it is imported, under a test of [`GENERATOR`]. Those here recognize
//! several instructions:
//!
//! | LLVM IR | output of the back end | error |
//! |---|---|---|
//! | `sitofp i1 %c` | `ConvertSToF (Select %c 1 0)` | true is -1 as a signed number of one bit |
//! | `alloca [4 x ptr]`, accessed by byte offsets | a variable of one pointer; `LifetimeStart` has the size | the other pointers are outside |
//! | `llvm.fshl`, `llvm.fshr` | a function `spirv.llvm_fshl_i32`: `a << n % 32 \| b >> 32 - n % 32` | a count of zero shifts `b` by its width |

use clift_kir::{Opcode, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{FunctionControl, Op, StorageClass};

use super::consts;
use super::lower::FuncCx;
use super::module::{FunctionDef, Module};
use super::words::{Inst, InstError};

/// The back end's tool number in the header of a module.
pub(crate) const GENERATOR: u32 = 43;

/// Whether LLVM's optimizer ran on a function. An unoptimized function is not inlined and begins by storing its parameters.
///
/// Unoptimized code can contain the idiom of [`signed_bit`] with its literal meaning: `(float)(a < b)` is `sitofp (zext i1 %c)`
/// there, for which the back end writes the same instructions. The optimizer makes that `uitofp`.
pub(crate) fn is_optimized(module: &Module, function: &FunctionDef) -> bool {
    let keeps_apart = |inst: &Inst| matches!(inst.operand(0), Ok(Operand::FunctionControl(control)) if control.contains(FunctionControl::DONT_INLINE));
    if !keeps_apart(&module.insts[function.inst]) {
        return true;
    }
    let Some(entry) = function.blocks.first() else { return true };
    let params: Vec<u32> = function.params.iter().filter_map(|&param| module.insts[param].result().ok()).collect();
    let is_stored = |param: u32| {
        module.insts[entry.insts.clone()].iter().any(|inst| {
            let to_variable = || {
                let target = inst.id(0).ok().and_then(|id| module.def(id));
                target.is_some_and(is_private_variable)
            };
            inst.op() == Op::Store && inst.id(1).is_ok_and(|value| value == param) && to_variable()
        })
    };
    !params.iter().copied().all(is_stored)
}

fn is_private_variable(inst: &Inst) -> bool {
    inst.op() == Op::Variable && matches!(inst.operand(0), Ok(Operand::StorageClass(StorageClass::Function)))
}

/// The Boolean operand if this `ConvertSToF` is the conversion of a signed one-bit number.
///
/// This is only known for optimized functions of our own front end. In other modules the back end also writes these instructions
/// for `convert_float` of an `int` of 0 or 1 (`repairs.rs` of the front end defines that function), and for `isless` of scalars.
pub(crate) fn signed_bit(cx: &FuncCx<'_>, convert: &Inst) -> Result<Option<u32>, InstError> {
    if cx.unit.module.generator != GENERATOR || !cx.unit.compiled_here || !cx.is_optimized {
        return Ok(None);
    }
    let Some(select) = cx.unit.module.def(convert.id(0)?).filter(|inst| inst.op() == Op::Select) else {
        return Ok(None);
    };
    let is_all = |id: u32, wanted: u64| match cx.unit.consts.get(id).map(|constant| &constant.value) {
        Some(consts::ConstValue::Lanes(data)) => (0..data.ty.lanes()).all(|lane| data.lane(lane) == wanted),
        Some(consts::ConstValue::Null) => wanted == 0,
        Some(_) | None => false,
    };
    let condition = select.id(0)?;
    let is_meant = cx.unit.module.def(condition).is_some_and(|inst| is_of_llvm(inst.op()));
    Ok((is_meant && is_all(select.id(1)?, 1) && is_all(select.id(2)?, 0)).then_some(condition))
}

/// Whether an instruction is the translation of an LLVM instruction with a Boolean result. Boolean results of OpenCL C's
/// functions (`isnan`, `any`, `sub_group_all`) are integers in LLVM IR, 1 for true. `isless` and similar functions are
/// comparisons here, never calls (`repairs.rs`).
fn is_of_llvm(op: Op) -> bool {
    matches!(
        op,
        Op::IEqual
            | Op::INotEqual
            | Op::UGreaterThan
            | Op::SGreaterThan
            | Op::UGreaterThanEqual
            | Op::SGreaterThanEqual
            | Op::ULessThan
            | Op::SLessThan
            | Op::ULessThanEqual
            | Op::SLessThanEqual
            | Op::FOrdEqual
            | Op::FUnordEqual
            | Op::FOrdNotEqual
            | Op::FUnordNotEqual
            | Op::FOrdLessThan
            | Op::FUnordLessThan
            | Op::FOrdGreaterThan
            | Op::FUnordGreaterThan
            | Op::FOrdLessThanEqual
            | Op::FUnordLessThanEqual
            | Op::FOrdGreaterThanEqual
            | Op::FUnordGreaterThanEqual
            | Op::LogicalAnd
            | Op::LogicalOr
            | Op::LogicalNot
            | Op::LogicalEqual
            | Op::LogicalNotEqual
            | Op::Select
            | Op::Phi
    )
}

/// The direction of a funnel shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Funnel {
    Left,
    Right,
}

/// The funnel shift that a function implements, if any.
pub(crate) fn funnel(module: &Module, function: u32) -> Option<Funnel> {
    if module.generator != GENERATOR {
        return None;
    }
    let name = &module.decorations.of(function).linkage.as_ref()?.name;
    match name.strip_prefix("spirv.llvm_fsh")?.split_once('_')?.0 {
        "l" => Some(Funnel::Left),
        "r" => Some(Funnel::Right),
        _ => None,
    }
}

/// The high half (left) or low half (right) of the concatenation of `a` and `b`, shifted by a count modulo the width.
pub(crate) fn shift(cx: &mut FuncCx<'_>, funnel: Funnel, args: &[Value]) -> Result<Value, InstError> {
    let &[a, b, count] = args else {
        return Err(InstError::malformed("the funnel shift does not have three arguments"));
    };
    let ty: Type = cx.b.ty(a);
    if !ty.is_int() || cx.b.ty(b) != ty || cx.b.ty(count) != ty {
        return Err(InstError::malformed("the funnel shift's arguments are not three integers of one type"));
    }
    // Shift counts are taken modulo the width, and the complement of a count is the width minus one minus the count.
    let one = cx.b.iconst(ty, 1);
    let rest = cx.b.int1(Opcode::Not, count);
    Ok(match funnel {
        Funnel::Left if a == b => cx.b.int2(Opcode::Rotl, a, count),
        Funnel::Right if a == b => {
            let back = cx.b.int1(Opcode::Ineg, count);
            cx.b.int2(Opcode::Rotl, a, back)
        }
        Funnel::Left => {
            let high = cx.b.int2(Opcode::Shl, a, count);
            let low = cx.b.int2(Opcode::Lshr, b, one);
            let low = cx.b.int2(Opcode::Lshr, low, rest);
            cx.b.int2(Opcode::Or, high, low)
        }
        Funnel::Right => {
            let high = cx.b.int2(Opcode::Shl, a, one);
            let high = cx.b.int2(Opcode::Shl, high, rest);
            let low = cx.b.int2(Opcode::Lshr, b, count);
            cx.b.int2(Opcode::Or, high, low)
        }
    })
}
