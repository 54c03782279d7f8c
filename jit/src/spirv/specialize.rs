//! Specialization: folding `OpSpecConstantOp`.
//!
//! The wrapped instruction is imported into a scratch function like any other and simplified to a constant, so there is one
//! statement of what each instruction means.

use clift_kir::{Function, Imm, Opcode, Value};
use rspirv::spirv::Op;

use super::cfg::Cfg;
use super::consts::{self, Constant};
use super::lower::{FuncCx, Shared, Val};
use super::ops;
use super::unit::Unit;
use super::words::{Fault, Inst};
use crate::passes;

/// Whether an instruction may be applied to constants.
pub(crate) fn is_foldable(op: Op) -> bool {
    matches!(
        op,
        Op::SConvert
            | Op::UConvert
            | Op::FConvert
            | Op::SNegate
            | Op::Not
            | Op::IAdd
            | Op::ISub
            | Op::IMul
            | Op::UDiv
            | Op::SDiv
            | Op::UMod
            | Op::SRem
            | Op::SMod
            | Op::ShiftRightLogical
            | Op::ShiftRightArithmetic
            | Op::ShiftLeftLogical
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::BitwiseAnd
            | Op::VectorShuffle
            | Op::CompositeExtract
            | Op::CompositeInsert
            | Op::LogicalOr
            | Op::LogicalAnd
            | Op::LogicalNot
            | Op::LogicalEqual
            | Op::LogicalNotEqual
            | Op::Select
            | Op::IEqual
            | Op::INotEqual
            | Op::ULessThan
            | Op::SLessThan
            | Op::UGreaterThan
            | Op::SGreaterThan
            | Op::ULessThanEqual
            | Op::SLessThanEqual
            | Op::UGreaterThanEqual
            | Op::SGreaterThanEqual
            | Op::ConvertFToS
            | Op::ConvertSToF
            | Op::ConvertFToU
            | Op::ConvertUToF
            | Op::ConvertPtrToU
            | Op::ConvertUToPtr
            | Op::GenericCastToPtr
            | Op::PtrCastToGeneric
            | Op::Bitcast
            | Op::FNegate
            | Op::FAdd
            | Op::FSub
            | Op::FMul
            | Op::FDiv
            | Op::FRem
            | Op::FMod
            | Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::CopyLogical
    )
}

/// The constant that an `OpSpecConstantOp` is.
pub(crate) fn fold(unit: &Unit, shared: &Shared, inst: &Inst) -> Result<Constant, Fault> {
    let mut func = Function::new("", &[]);
    let entry = func.append_block();
    let cfg = Cfg::single();
    let mut cx = FuncCx::new(unit, shared, &mut func, &cfg, entry);
    ops::lower(&mut cx, inst)?;
    let Val::Leaves(leaves) = cx.val(inst.result()?)? else {
        return Err(Fault::unsupported("constants of this size"));
    };
    cx.b.ret(&leaves);
    passes::run(&mut func, &["simplify"], |_, _| ());
    let terminator = func.layout.terminator(entry).map(|ret| func.dfg.inst(ret).args.clone()).unwrap_or_default();
    let mut values = terminator.iter().map(|&value| constant(&func, value)).collect::<Result<Vec<_>, _>>()?;
    let ty = inst.result_type()?;
    let value = match (unit.types.get(ty)?.value, values.pop()) {
        (Some(_), Some(value)) => value,
        (_, last) => {
            values.extend(last);
            consts::Value::Flat(values)
        }
    };
    Ok(Constant { ty, value })
}

/// What a simplified value is, if it is constant.
fn constant(func: &Function, value: Value) -> Result<consts::Value, Fault> {
    let variable = || Fault::unsupported("an operation on addresses that is not constant");
    let data = func.dfg.def_inst(value).map(|inst| func.dfg.inst(inst)).ok_or_else(variable)?;
    let ty = func.dfg.ty(value);
    let operand = || data.args.first().ok_or_else(variable).and_then(|&arg| constant(func, arg));
    match (data.op, &data.imm) {
        (Opcode::Const, &Imm::Const(id)) => Ok(consts::Value::Lanes(func.dfg.constant(id).clone())),
        (Opcode::Undef, _) => Ok(consts::Value::Undef),
        (Opcode::GlobalAddr, &Imm::Global(global)) => Ok(consts::Value::Address { global, offset: 0, ty }),
        (Opcode::Addr, &Imm::Addr { scale, disp }) => {
            let index = match data.args.get(1) {
                Some(&index) => func.dfg.as_splat_bits(index).ok_or_else(variable)?,
                None => 0,
            };
            match operand()? {
                consts::Value::Address { global, offset, .. } => {
                    let offset = offset.wrapping_add(disp).wrapping_add(index.wrapping_mul(scale) as i64);
                    Ok(consts::Value::Address { global, offset, ty })
                }
                _ => Err(variable()),
            }
        }
        (Opcode::SpaceCast | Opcode::PtrToInt | Opcode::IntToPtr, _) => match operand()? {
            consts::Value::Address { global, offset, .. } if !ty.is_vector() => {
                Ok(consts::Value::Address { global, offset, ty })
            }
            _ => Err(variable()),
        },
        _ => Err(variable()),
    }
}
