//! Whole idioms that LLVM's SPIR-V back end (clang's) translates wrongly, and what is meant by them.
//!
//! Repairs that concern one instruction alone stand where it is imported, under a test of [`GENERATOR`]; here are those that have to
//! recognize more than that:
//!
//! | LLVM IR | what the back end writes | what is wrong |
//! |---|---|---|
//! | `sitofp i1 %c` | `ConvertSToF (Select %c 1 0)` | true is -1 as a signed number of one bit |
//! | `llvm.fshl`, `llvm.fshr` | a function `spirv.llvm_fshl_i32`: `a << n % 32 \| b >> 32 - n % 32` | a count of zero shifts `b` by its width |

use clift_kir::{Opcode, Type, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{FunctionControl, Op, StorageClass};

use super::consts;
use super::lower::FuncCx;
use super::module::{FunctionDef, Module};
use super::words::{Fault, Inst};

/// Its number in a module's header.
pub(crate) const GENERATOR: u32 = 43;

/// Whether LLVM's optimizer has seen a function: one compiled without is never inlined and begins by storing its parameters.
///
/// It matters where unoptimized code means what it says: `(float)(a < b)` is `sitofp (zext i1 %c)` there, and the back end
/// writes the same for that. Optimized, that is `uitofp`.
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

/// The Boolean whose conversion from a signed number of one bit this `ConvertSToF` is.
///
/// Known of optimized functions of our own front end alone: elsewhere the back end writes `convert_float` of an `int` of 0 or 1 so,
/// too (`repairs.rs` of the front end defines that function), and `isless` of scalars.
pub(crate) fn signed_bit(cx: &FuncCx<'_>, convert: &Inst) -> Result<Option<u32>, Fault> {
    if cx.unit.module.generator != GENERATOR || !cx.unit.compiled_here || !cx.is_optimized {
        return Ok(None);
    }
    let Some(select) = cx.unit.module.def(convert.id(0)?).filter(|inst| inst.op() == Op::Select) else {
        return Ok(None);
    };
    let is_all = |id: u32, wanted: u64| match cx.unit.consts.get(id).map(|constant| &constant.value) {
        Some(consts::Value::Lanes(data)) => (0..data.ty.lanes()).all(|lane| data.lane(lane) == wanted),
        Some(consts::Value::Null) => wanted == 0,
        Some(_) | None => false,
    };
    let condition = select.id(0)?;
    let is_meant = cx.unit.module.def(condition).is_some_and(|inst| is_of_llvm(inst.op()));
    Ok((is_meant && is_all(select.id(1)?, 1) && is_all(select.id(2)?, 0)).then_some(condition))
}

/// Whether a Boolean comes of an instruction of LLVM. Those that OpenCL C's functions give (`isnan`, `any`, `sub_group_all`) are
/// numbers to LLVM, which are 1 where they are true; `isless` and its like are comparisons here, but never calls (`repairs.rs`).
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

/// Which funnel shift a function is.
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

/// The high (left) or low (right) half of `a` over `b`, shifted by a count modulo the width.
pub(crate) fn shift(cx: &mut FuncCx<'_>, funnel: Funnel, args: &[Value]) -> Result<Value, Fault> {
    let &[a, b, count] = args else { return Err(Fault::malformed("the funnel shift does not have three arguments")) };
    let ty: Type = cx.b.ty(a);
    if !ty.is_int() || cx.b.ty(b) != ty || cx.b.ty(count) != ty {
        return Err(Fault::malformed("the funnel shift's arguments are not three integers of one type"));
    }
    // Shifts count modulo the width, and the complement of a count is what remains to the width, less one.
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
