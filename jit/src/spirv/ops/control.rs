//! Control flow and calls.

use clift_kir::{BlockCall, Type, Value};
use rspirv::dr::Operand;
use rustc_hash::{FxHashMap, FxHashSet};

use super::classes::ControlInst;
use super::logic::private_copy;
use crate::spirv::builtin_imports;
use crate::spirv::function::edge;
use crate::spirv::llvm_backend;
use crate::spirv::lower::{FuncCx, MemAccess, Val};
use crate::spirv::types::TypeKind;
use crate::spirv::words::{Inst, InstError};

/// Imports an instruction of this class.
pub(super) fn lower(cx: &mut FuncCx<'_>, inst: &Inst, op: ControlInst) -> Result<(), InstError> {
    match op {
        // Hints, which the importer does not need.
        ControlInst::LoopMerge | ControlInst::SelectionMerge | ControlInst::LoopControlINTEL => {}
        ControlInst::Branch => {
            let target = edge(cx, inst.id(0)?)?;
            cx.b.jump(target.block, &target.args);
        }
        ControlInst::BranchConditional => {
            let cond = cx.value(inst.id(0)?)?;
            if cx.b.ty(cond) != Type::B1 {
                return Err(InstError::malformed("the condition is not a Boolean"));
            }
            let (then, otherwise) = (edge(cx, inst.id(1)?)?, edge(cx, inst.id(2)?)?);
            cx.b.branch(cond, then, otherwise);
        }
        ControlInst::Switch => switch(cx, inst)?,
        ControlInst::Return => {
            if cx.return_type.is_some() {
                return Err(InstError::malformed("the function must return a value"));
            }
            cx.b.ret(&[]);
        }
        ControlInst::ReturnValue => {
            let Some(ty) = cx.return_type else {
                return Err(InstError::malformed("the function's result type is void"));
            };
            let id = inst.id(0)?;
            if !cx.unit.types.same_shape(cx.type_of(id)?, ty)? {
                return Err(InstError::malformed("the value does not have the function's result type"));
            }
            match (cx.val(id)?, cx.result_address) {
                (val, Some(address)) => {
                    let align = cx.type_info(ty)?.align;
                    cx.store(ty, address, &val, MemAccess::aligned(align))?;
                    cx.b.ret(&[]);
                }
                (Val::Leaves(leaves), None) => {
                    cx.b.ret(&leaves);
                }
                (Val::Memory(_) | Val::BuiltIn(_), None) => {
                    let value = cx.value(id)?;
                    cx.b.ret(&[value]);
                }
            }
        }
        ControlInst::Unreachable | ControlInst::Kill | ControlInst::TerminateInvocation => {
            cx.b.unreachable();
        }
        ControlInst::FunctionCall => {
            let args = inst.ids_from(1)?;
            let function = inst.id(0)?;
            let ty = inst.result_type()?;
            let val = call(cx, function, &args)?;
            if matches!(cx.type_info(ty)?.kind, TypeKind::Void) {
                if matches!(&val, Val::Leaves(leaves) if leaves.is_empty()) {
                    return Ok(());
                }
                return Err(InstError::malformed("the result type is void, but the function returns a value"));
            }
            cx.set_val(inst, val)?;
        }
    }
    Ok(())
}

fn switch(cx: &mut FuncCx<'_>, inst: &Inst) -> Result<(), InstError> {
    let selector = cx.scalar_int(inst.id(0)?)?;
    let elem = cx.b.ty(selector).elem;
    let mut made: FxHashMap<u32, BlockCall> = FxHashMap::default();
    let mut target = |cx: &mut FuncCx<'_>, label: u32| -> Result<BlockCall, InstError> {
        if let Some(call) = made.get(&label) {
            return Ok(call.clone());
        }
        let call = edge(cx, label)?;
        made.insert(label, call.clone());
        Ok(call)
    };
    let default = target(cx, inst.id(1)?)?;
    let mut seen = FxHashSet::default();
    let mut cases = Vec::new();
    for pair in inst.dr.operands[2..].chunks_exact(2) {
        let value = match (&pair[0], elem.bits()) {
            (&Operand::LiteralBit64(value), 64) => value,
            (&Operand::LiteralBit32(value), 8 | 16 | 32) => u64::from(value) & elem.mask(),
            _ => return Err(InstError::malformed("a case literal does not have the width of the selector")),
        };
        let Operand::IdRef(label) = pair[1] else {
            return Err(InstError::malformed("a case is not a literal followed by a label"));
        };
        if !seen.insert(value) {
            return Err(InstError::malformed(format!("case {value} occurs twice")));
        }
        cases.push((value, target(cx, label)?));
    }
    cx.b.switch(selector, cases, default);
    Ok(())
}

/// Emits a call; returns its result.
pub(in crate::spirv) fn call(cx: &mut FuncCx<'_>, id: u32, args: &[u32]) -> Result<Val, InstError> {
    let unit = cx.unit;
    let Some(function) = unit.module.function(id) else {
        return Err(InstError::malformed(format!("{} is not a function", unit.module.describe(id))));
    };
    let (ret, params) = unit.function_type(function)?;
    if args.len() != params.len() {
        return Err(InstError::malformed(format!(
            "{} arguments for a function of {} parameters",
            args.len(),
            params.len()
        )));
    }
    let result = cx.type_info(ret)?;
    let mut values: Vec<Value> = Vec::new();
    let mut returned = None;
    if !result.is_flat() {
        let slot = cx.slot(result.size, result.align)?;
        values.push(slot);
        returned = Some(slot);
    }
    for (index, (&arg, &ty)) in args.iter().zip(params).enumerate() {
        if !unit.types.same_shape(cx.type_of(arg)?, ty)? {
            return Err(InstError::malformed(format!("argument {index} does not have the parameter's type")));
        }
        match cx.val(arg)? {
            Val::Leaves(leaves) => values.extend(leaves),
            val @ Val::Memory(_) => values.push(private_copy(cx, ty, &val)?),
            Val::BuiltIn(_) => values.push(cx.value(arg)?),
        }
    }
    if let Some(funnel) = llvm_backend::funnel(&unit.module, id) {
        return Ok(Val::one(llvm_backend::shift(cx, funnel, &values)?));
    }
    let Some(callee) = unit.callees.get(&id) else {
        let name = unit.module.decorations.of(id).linkage.as_ref().map_or("", |linkage| &linkage.name);
        let Some(builtin) = builtin_imports::find(name) else {
            return Err(InstError::malformed(format!("{} has no body", unit.module.describe(id))));
        };
        return builtin_imports::expand(cx, builtin, args, &values, result.value);
    };
    let returns: Vec<Type> =
        if returned.is_some() { Vec::new() } else { result.leaves.iter().map(|leaf| leaf.ty).collect() };
    let call = cx.b.call(callee.func, &values, &returns);
    Ok(match returned {
        Some(slot) => Val::Memory(slot),
        None => Val::Leaves(cx.b.func.dfg.results(call).iter().copied().collect()),
    })
}
