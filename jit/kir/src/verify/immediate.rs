//! Immediates: of the kind the op asks for, in range, naming what exists.

use super::{Checker, each_inst};
use crate::entities::Inst;
use crate::function::Function;
use crate::inst::{AtomicOp, BarrierInfo, BlockCall, GroupInfo, ImageDims, ImageFlags, Imm, IntCond, MemScope};
use crate::module::Module;
use crate::ops::Opcode;
use crate::types::{Space, Type};

/// Checks the immediate of every instruction.
pub(super) fn check(report: &mut Checker<'_>, module: &Module) {
    for (block, inst) in each_inst(report.func) {
        if let Err(message) = one(module, report.func, inst) {
            report.inst(block, inst, message);
        }
    }
}

fn one(module: &Module, func: &Function, inst: Inst) -> Result<(), String> {
    let data = func.dfg.inst(inst);
    let info = data.op.info();
    if !info.imm.matches(&data.imm) {
        return Err(format!("immediate is of kind {:?}", info.imm));
    }
    let arg = |i: usize| data.args.get(i).map(|&v| func.dfg.ty(v));
    let result = func.dfg.single_result(inst).map(|v| func.dfg.ty(v));
    match &data.imm {
        Imm::Const(id) => {
            let ty = func.dfg.constant(*id).ty;
            ensure(result == Some(ty), || format!("constant is of type {ty}"))
        }
        Imm::IntCond(cond) => {
            let signed = matches!(cond, IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge);
            ensure(!(signed && arg(0).is_some_and(Type::is_ptr)), || "pointers have no signed order".to_owned())
        }
        Imm::Lane(lane) => match arg(0) {
            Some(ty) => ensure(u32::from(*lane) < ty.lanes(), || format!("{ty} has no lane {lane}")),
            None => Ok(()), // typing's error
        },
        Imm::Lanes(lanes) => {
            let count = arg(0).map_or(0, Type::lanes) * 2;
            match lanes.iter().find(|&&lane| u32::from(lane) >= count) {
                Some(lane) => Err(format!("the operands have no lane {lane}")),
                None => Ok(()),
            }
        }
        Imm::Mem(mem) => {
            power_of_two(mem.align.into())?;
            ensure(
                !matches!(
                    data.op,
                    Opcode::Store | Opcode::MaskedStore | Opcode::Scatter | Opcode::Memset | Opcode::Memcpy
                ) || arg(0).and_then(|ty| ty.elem.space()) != Some(Space::Host),
                || "host memory is read-only".to_owned(),
            )
        }
        Imm::Atomic(info) => {
            if data.op == Opcode::AtomicRmw {
                let Some(ty) = arg(1) else { return Ok(()) };
                let fits = info.op == AtomicOp::Xchg || fits(info.op, ty);
                let product = matches!(info.op, AtomicOp::Mul | AtomicOp::Fmul);
                ensure(fits && !product, || format!("{:?} does not apply to {ty}", info.op))?;
            } else {
                ensure(info.op == AtomicOp::Xchg, || "only atomic_rmw has an operation".to_owned())?;
            }
            let host = arg(0).and_then(|ty| ty.elem.space()) == Some(Space::Host);
            ensure(!host, || "host memory is read-only".to_owned())
        }
        Imm::Reduce(operation) => {
            let combines = !matches!(operation, AtomicOp::Xchg | AtomicOp::Sub);
            ensure(combines, || format!("{operation:?} combines no lanes"))?;
            match arg(0) {
                Some(ty) => ensure(fits(*operation, ty), || format!("{operation:?} does not apply to {ty}")),
                None => Ok(()),
            }
        }
        Imm::Group(info) => group(data.op, info, arg(0)),
        Imm::Slot(slot) => {
            ensure(func.slots.is_valid(*slot), || format!("the function has no {slot}"))?;
            address(result, Space::Private)
        }
        Imm::Global(global) => match module.globals.get(*global) {
            Some(data) => address(result, data.space),
            None => Err(format!("the module has no {global}")),
        },
        Imm::Dim(dim) => ensure(*dim < 3, || format!("there is no dimension {dim}")),
        Imm::Offset(_) if data.op == Opcode::ArgAddr => address(result, Space::Host),
        Imm::Offset(_) => ensure(!result.is_some_and(Type::is_bool), || {
            "an argument has a memory form, which a Boolean does not have".to_owned()
        }),
        Imm::Space(space) => {
            let testable = matches!(space, Space::Private | Space::Local | Space::Global);
            ensure(testable, || format!("generic pointers do not lead into {} memory", space.name()))
        }
        Imm::Func(callee) => ensure(module.funcs.is_valid(*callee), || format!("the module has no {callee}")),
        Imm::Barrier(BarrierInfo { execution, .. }) if data.op == Opcode::NamedBarrier => {
            ensure(*execution == MemScope::SubGroup, || "sub-groups meet at a named barrier".to_owned())
        }
        Imm::Barrier(BarrierInfo { execution, .. }) => {
            let waits = matches!(execution, MemScope::WorkGroup | MemScope::SubGroup);
            ensure(waits, || "a barrier is of a work-group or a sub-group".to_owned())
        }
        Imm::Jump(call) => target(func, call),
        Imm::Branch(calls) => calls.iter().try_for_each(|call| target(func, call)),
        Imm::Switch(switch) => {
            let mask = arg(0).map_or(u64::MAX, |ty| ty.elem.mask());
            let mut values: Vec<u64> = switch.cases.iter().map(|(value, _)| *value).collect();
            values.sort_unstable();
            if let Some(pair) = values.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(format!("case {} occurs twice", pair[0]));
            }
            if let Some(&last) = values.last() {
                ensure(last <= mask, || format!("case {last} does not fit the selector"))?;
            }
            switch.cases.iter().map(|(_, call)| call).chain([&switch.default]).try_for_each(|call| target(func, call))
        }
        Imm::Wrap(flags) => ensure(!flags.is_empty(), || "no promises are no immediate".to_owned()),
        Imm::None | Imm::FloatCond(..) | Imm::Fp(_) | Imm::Convert(_) | Imm::Addr { .. } | Imm::Lib(_) => Ok(()),
        Imm::Image(info) => ensure(!info.has.contains(ImageFlags::LAYERS) || info.dims != ImageDims::Three, || {
            "no arrays of 3-D images".to_owned()
        }),
    }
}

/// A collective operation on values of a type.
fn group(op: Opcode, info: &GroupInfo, ty: Option<Type>) -> Result<(), String> {
    let GroupInfo { scope, op: operation, cluster } = *info;
    let meets = matches!(scope, MemScope::WorkGroup | MemScope::SubGroup);
    ensure(meets, || "a collective operation is of a work-group or a sub-group".to_owned())?;
    let clusters = op == Opcode::GroupReduce && scope == MemScope::SubGroup;
    ensure(cluster == 0 || clusters && cluster.is_power_of_two(), || format!("clusters of {cluster}"))?;
    let combines = !matches!(operation, AtomicOp::Xchg | AtomicOp::Sub);
    ensure(combines, || format!("{operation:?} combines no values"))?;
    let Some(ty) = ty else { return Ok(()) };
    let logical = matches!(operation, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
    let fits = if ty.is_bool() { logical } else { fits(operation, ty) };
    ensure(fits, || format!("{operation:?} does not apply to {ty}"))
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

/// An alignment.
pub(super) fn power_of_two(align: u64) -> Result<(), String> {
    ensure(align.is_power_of_two(), || format!("alignment {align} is not a power of two"))
}

fn address(result: Option<Type>, space: Space) -> Result<(), String> {
    let ty = Type::ptr(space);
    ensure(result == Some(ty), || format!("result is {ty}"))
}

/// Whether an operation combines values of this type.
fn fits(op: AtomicOp, ty: Type) -> bool {
    match op {
        AtomicOp::Xchg
        | AtomicOp::Add
        | AtomicOp::Sub
        | AtomicOp::Mul
        | AtomicOp::And
        | AtomicOp::Or
        | AtomicOp::Xor
        | AtomicOp::Smin
        | AtomicOp::Smax
        | AtomicOp::Umin
        | AtomicOp::Umax => ty.is_int(),
        AtomicOp::Fadd | AtomicOp::Fmul | AtomicOp::Fmin | AtomicOp::Fmax => ty.is_float(),
    }
}

/// A target gets the arguments its block's parameters ask for.
fn target(func: &Function, call: &BlockCall) -> Result<(), String> {
    let params = func.dfg.params(call.block);
    let types = |values: &[crate::entities::Value]| values.iter().map(|&v| func.dfg.ty(v)).collect::<Vec<_>>();
    let (wanted, given) = (types(params), types(&call.args));
    ensure(wanted == given, || format!("{} takes {wanted:?}, gets {given:?}", call.block))
}
