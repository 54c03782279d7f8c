//! Specialization: folding `OpSpecConstantOp`.
//!
//! The wrapped instruction is imported into a scratch function like any other and simplified to a constant, so that the semantics
//! of each instruction are implemented once. A value that does not become constant depends on an address; it is computed by the
//! instruction itself wherever it is used (`lower.rs`).

use clift_kir::{Function, Imm, Opcode, Type, Value};
use rspirv::spirv::Op;

use super::cfg::Cfg;
use super::consts::{self, Constant};
use super::lower::{FuncCx, SharedState, Val};
use super::ops;
use super::unit::Unit;
use super::words::{Inst, InstError};
use crate::passes;

/// Whether `OpSpecConstantOp` may wrap an instruction.
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
            | Op::UntypedAccessChainKHR
            | Op::UntypedInBoundsAccessChainKHR
            | Op::UntypedPtrAccessChainKHR
            | Op::UntypedInBoundsPtrAccessChainKHR
            | Op::CopyLogical
    )
}

/// The constant that an `OpSpecConstantOp` defines.
pub(crate) fn fold(unit: &Unit, shared: &SharedState, inst: &Inst) -> Result<Constant, InstError> {
    let mut func = Function::new("", &[]);
    let entry = func.append_block();
    let cfg = Cfg::single();
    let mut cx = FuncCx::new(unit, shared, &mut func, &cfg, entry);
    ops::lower(&mut cx, inst)?;
    let (id, ty) = (inst.result()?, inst.result_type()?);
    let computed = Constant { ty, value: consts::ConstValue::Computed };
    let Val::Leaves(leaves) = cx.val(id)? else { return Ok(computed) };
    cx.b.ret(&leaves);
    passes::run(&mut func, &passes::Globals::new(), &["simplify"], &mut |_, _| ());
    let terminator = func.layout.terminator(entry).map(|ret| func.dfg.inst(ret).args.clone()).unwrap_or_default();
    let Some(mut values) = terminator.iter().map(|&value| constant(&func, value)).collect::<Option<Vec<_>>>() else {
        return Ok(computed);
    };
    let value = match (unit.types.get(ty)?.value, values.pop()) {
        (Some(_), Some(value)) => value,
        (_, last) => {
            values.extend(last);
            consts::ConstValue::Flat(values)
        }
    };
    Ok(Constant { ty, value })
}

/// A simplified value as a constant, if it is constant or the address of a variable plus a constant.
fn constant(func: &Function, value: Value) -> Option<consts::ConstValue> {
    let data = func.dfg.inst(func.dfg.def_inst(value)?);
    let ty = func.dfg.ty(value);
    match (data.op, &data.imm) {
        (Opcode::Const, &Imm::Const(id)) => Some(consts::ConstValue::Lanes(func.dfg.constant(id).clone())),
        (Opcode::Undef, _) => Some(consts::ConstValue::Undef),
        (Opcode::GlobalAddr, &Imm::Global(global)) => {
            Some(consts::ConstValue::Address { global, space: ty.elem.space()?, offset: 0, ty })
        }
        (Opcode::Addr, &Imm::Addr { scale, disp }) => {
            let index = match data.args.get(1) {
                Some(&index) => func.dfg.as_splat_bits(index)?,
                None => 0,
            };
            displaced(constant(func, data.args[0])?, disp.wrapping_add(index.wrapping_mul(scale) as i64), ty)
        }
        (Opcode::SpaceCast | Opcode::PtrToInt | Opcode::IntToPtr, _) => displaced(constant(func, data.args[0])?, 0, ty),
        // Only one operand can be an address, so the recursion does not branch.
        (Opcode::Iadd, _) => match (func.dfg.as_splat_bits(data.args[0]), func.dfg.as_splat_bits(data.args[1])) {
            (_, Some(bits)) => displaced(constant(func, data.args[0])?, bits as i64, ty),
            (Some(bits), None) => displaced(constant(func, data.args[1])?, bits as i64, ty),
            (None, None) => None,
        },
        (Opcode::Isub, _) => {
            let bits = func.dfg.as_splat_bits(data.args[1])?;
            displaced(constant(func, data.args[0])?, (bits as i64).wrapping_neg(), ty)
        }
        _ => None,
    }
}

/// A variable's address with an offset added and as another type.
fn displaced(value: consts::ConstValue, bytes: i64, ty: Type) -> Option<consts::ConstValue> {
    let consts::ConstValue::Address { global, space, offset, .. } = value else { return None };
    let offset = offset.wrapping_add(bytes);
    (!ty.is_vector()).then_some(consts::ConstValue::Address { global, space, offset, ty })
}
