//! Extended instructions, hints, the clock, source positions.

use clift_kir::{Elem, Imm, Opcode, Type};
use rspirv::dr::Operand;
use rspirv::grammar::{OPENCL_STD_100_INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use rspirv::spirv::{NonsemanticShaderDebuginfo100Op as DebugOp, Op};

use super::classes::MiscInst;
use super::group::scope;
use crate::builtins::{self, ClOp};
use crate::spirv::caps::ExtSet;
use crate::spirv::lower::{FuncCx, Val};
use crate::spirv::types::TypeKind;
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: MiscInst) -> Result<(), InstError> {
    match op {
        MiscInst::ExtInst | MiscInst::ExtInstWithForwardRefsKHR => ext_inst(cx, inst),
        MiscInst::AssumeTrueKHR => cx.value(inst.id(0)?).map(|_| ()),
        MiscInst::ExpectKHR => {
            let value = cx.value(inst.id(0)?)?;
            cx.value(inst.id(1)?)?;
            cx.set(inst, value)
        }
        MiscInst::ReadClockKHR => {
            // The clock is the same for all scopes, so the scope need not be constant.
            scope(cx, inst.id(0)?)?;
            let time = cx.b.value(Opcode::Clock, &[], Imm::None, Type::I64);
            let ty = cx.kir_type(inst.result_type()?)?;
            if ty == Type::I64 {
                return cx.set(inst, time);
            }
            if ty != Type::vector(Elem::I32, 2) {
                return Err(InstError::malformed(format!("the clock cannot be read as {ty}")));
            }
            let halves = cx.b.cast(Opcode::Bitcast, time, ty);
            cx.set(inst, halves)
        }
    }
}

/// `OpLine` and `OpNoLine`.
pub(in crate::spirv) fn position(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    if inst.op() == Op::Line {
        cx.set_line(inst.literal(1)?, inst.literal(2)?);
    } else {
        cx.set_line(0, 0);
    }
    Ok(())
}

/// Sets the source line of a `DebugLine` or `DebugNoLine`.
fn debug_line(cx: &mut FuncCx<'_>, inst: &Inst) {
    let number = |operand: usize| {
        let value = inst.id(operand).and_then(|id| cx.unit.consts.integer(id));
        value.map_or(0, |value| u32::try_from(value).unwrap_or(0))
    };
    match inst.literal(1).ok().and_then(DebugOp::from_u32) {
        Some(DebugOp::DebugLine) => {
            let (line, column) = (number(3), number(5));
            cx.set_line(line, column);
        }
        Some(DebugOp::DebugNoLine) => cx.set_line(0, 0),
        _ => {}
    }
}

fn ext_inst(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    match cx.unit.module.ext_sets.get(&inst.id(0)?) {
        Some(ExtSet::OpenCl) => {}
        Some(ExtSet::Ignored) => return Ok(()),
        Some(ExtSet::DebugInfo) => {
            debug_line(cx, inst);
            return Ok(());
        }
        None => return Err(InstError::malformed("the extended instruction set is not imported")),
    }
    let number = inst.literal(1)?;
    let op = ClOp::from_u32(number)
        .ok_or_else(|| InstError::malformed(format!("OpenCL.std has no instruction {number}")))?;
    let Some(class) = OPENCL_STD_100_INSTRUCTION_TABLE.lookup_opcode(number) else {
        return Err(InstError::malformed(format!("OpenCL.std has no instruction {number}")));
    };
    // The parser reads all operands as ids; the set's grammar says which are literals.
    let mut args = Vec::new();
    let mut kinds = class.operands.iter();
    let mut kind = kinds.next();
    for operand in &inst.dr.operands[2..] {
        let Some(expected) = kind else {
            return Err(InstError::malformed(format!("too many operands for {}", class.opname)));
        };
        let &Operand::IdRef(word) = operand else {
            return Err(InstError::malformed("an operand has an unknown kind"));
        };
        let is_literal = matches!(expected.kind, OperandKind::LiteralInteger | OperandKind::FPRoundingMode);
        args.push(if is_literal {
            builtins::Operand::Literal(word)
        } else {
            builtins::Operand::Value(cx.value(word)?)
        });
        if expected.quantifier != OperandQuantifier::ZeroOrMore {
            kind = kinds.next();
        }
    }
    if kind.is_some_and(|kind| kind.quantifier == OperandQuantifier::One) {
        return Err(InstError::malformed(format!("too few operands for {}", class.opname)));
    }
    let ty = inst.result_type()?;
    let info = cx.type_info(ty)?;
    let void = matches!(info.kind, TypeKind::Void);
    let result = if void { None } else { Some(cx.kir_type(ty)?) };
    cx.set_fp(inst);
    let is_paired = inst.result().is_ok_and(|id| cx.paired.contains(&id));
    let expand = if is_paired { builtins::expand_paired } else { builtins::expand };
    let value = expand(&mut cx.b, op, &args, result)
        .map_err(|reason| InstError::unsupported(format!("{}: {reason}", class.opname)))?;
    match (value, void) {
        (Some(value), false) => cx.set(inst, value),
        (None, true) => {
            cx.define(inst.result()?, Val::Leaves(Default::default()));
            Ok(())
        }
        (None, false) => {
            Err(InstError::malformed(format!("{} has no result, but the result type is not void", class.opname)))
        }
        (Some(_), true) => Ok(()),
    }
}
