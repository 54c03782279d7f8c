//! Imports one function: its parameters, blocks and phis. The other instructions are in `ops/`.

use clift_kir::{Block, BlockCall, Function, Opcode, Space, Type, Value};
use rspirv::spirv::Op;
use rustc_hash::FxHashMap;

use super::cfg::Cfg;
use super::llvm_backend;
use super::lower::{FuncCx, Leaves, MemAccess, Phi, SharedState, Val, is_position};
use super::module::FunctionDef;
use super::ops;
use super::paired_angles;
use super::reflect::KernelDesc;
use super::types::{MAX_ALIGN, TypeInfo, TypeKind};
use super::unit::Unit;
use super::words::{Inst, InstError};
use crate::ImportError;

/// The role of a kir function.
pub(super) enum FunctionRole<'a> {
    /// A function that is called: its name, and the number of its copies after inlining.
    Callee(String, InlinedCopies),
    /// A kernel; its parameters are loaded from the argument block.
    Kernel(&'a KernelDesc),
}

/// The number of copies of a function that kernels contain once calls are inlined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InlinedCopies {
    /// At most one.
    One,
    /// Possibly several.
    Several,
}

/// Imports the body of a function.
pub(super) fn import(
    unit: &Unit,
    shared: &SharedState,
    function: &FunctionDef,
    role: &FunctionRole<'_>,
) -> Result<Function, ImportError> {
    let head = &unit.module.insts[function.inst];
    let name = match role {
        FunctionRole::Kernel(desc) => desc.name.clone(),
        FunctionRole::Callee(name, _) => name.clone(),
    };
    let signature = unit.signature(function).map_err(|error| error.at(head))?;
    let returns = match role {
        FunctionRole::Callee(..) => signature.returns,
        FunctionRole::Kernel(_) => Vec::new(),
    };
    let mut func = Function::new(name, &returns);
    let cfg = Cfg::new(&unit.module, function)?;
    let entry = func.append_block();
    let mut cx = FuncCx::new(unit, shared, &mut func, &cfg, entry);
    cx.is_optimized = llvm_backend::is_optimized(&unit.module, function);
    cx.paired = paired_angles::find(&unit.module, function);
    if let FunctionRole::Callee(_, copies) = role {
        cx.copies = *copies;
    }
    cx.set_loc(head);
    bind_parameters(&mut cx, function, role).map_err(|error| error.at(head))?;
    let edges = make_blocks(&mut cx, function, entry)?;
    cx.edges = edges;
    for number in cfg.order() {
        import_block(&mut cx, function, number)?;
    }
    Ok(func)
}

/// Makes a kernel that only calls the function of its entry point, for functions that are also called elsewhere.
pub(super) fn wrapper(
    unit: &Unit,
    shared: &SharedState,
    function: &FunctionDef,
    desc: &KernelDesc,
) -> Result<Function, ImportError> {
    let head = &unit.module.insts[function.inst];
    let mut func = Function::new(desc.name.clone(), &[]);
    let cfg = Cfg::single();
    let entry = func.append_block();
    let mut cx = FuncCx::new(unit, shared, &mut func, &cfg, entry);
    cx.set_loc(head);
    let mut body = || -> Result<(), InstError> {
        bind_parameters(&mut cx, function, &FunctionRole::Kernel(desc))?;
        let args = function.params.iter().map(|&p| unit.module.insts[p].result()).collect::<Result<Vec<_>, _>>()?;
        ops::control::call(&mut cx, function.id, &args)?;
        cx.b.ret(&[]);
        Ok(())
    };
    body().map_err(|error| error.at(head))?;
    Ok(func)
}

/// Defines the parameters' ids.
fn bind_parameters(cx: &mut FuncCx<'_>, function: &FunctionDef, role: &FunctionRole<'_>) -> Result<(), InstError> {
    let unit = cx.unit;
    let (ret, types) = unit.function_type(function)?;
    cx.return_type = (unit.types.get(ret)?.kind != TypeKind::Void).then_some(ret);
    let entry = cx.b.block();
    let param = |cx: &mut FuncCx<'_>, ty| cx.b.func.dfg.append_param(entry, ty);
    if matches!(role, FunctionRole::Callee(..)) && !cx.type_info(ret)?.is_flat() {
        cx.result_address = Some(param(cx, Type::ptr(Space::Private)));
    }
    for (index, &inst) in function.params.iter().enumerate() {
        let inst = &unit.module.insts[inst];
        let (id, ty) = (inst.result()?, inst.result_type()?);
        if ty != types[index] {
            return Err(InstError::malformed(format!(
                "the type of parameter {index} differs from the function type's"
            )));
        }
        let info = cx.type_info(ty)?;
        let val = match role {
            FunctionRole::Kernel(desc) if desc.is_child && index == 0 => captures(cx, info, desc)?,
            FunctionRole::Kernel(desc) => kernel_parameter(cx, id, info, desc.args[index].slot.offset)?,
            FunctionRole::Callee(..) if info.is_flat() => {
                let leaves: Leaves = info.leaves.iter().map(|leaf| param(cx, leaf.ty)).collect();
                match by_value(cx, id, info)? {
                    // The callee may modify the structure, so it gets a copy.
                    Some(pointee) => {
                        let access = MemAccess::aligned(pointee.align);
                        Val::one(cx.copy_to_slot(leaves[0], pointee, access)?)
                    }
                    None => Val::Leaves(leaves),
                }
            }
            FunctionRole::Callee(..) => Val::Memory(param(cx, Type::ptr(Space::Private))),
        };
        if let (Val::Leaves(leaves), Some(name)) = (&val, unit.module.names.get(&id))
            && let [leaf] = leaves[..]
        {
            cx.b.func.names.insert(leaf, name.clone());
        }
        cx.define(id, val);
    }
    Ok(())
}

/// The type of a structure that a pointer parameter passes by value (`ByVal`).
fn by_value<'a>(cx: &FuncCx<'a>, id: u32, info: &TypeInfo) -> Result<Option<&'a TypeInfo>, InstError> {
    let TypeKind::Pointer { class, pointee } = info.kind else { return Ok(None) };
    if !cx.unit.module.decorations.of(id).by_val {
        return Ok(None);
    }
    let Some(pointee) = pointee else {
        return Err(InstError::unsupported("a ByVal parameter that is an untyped pointer"));
    };
    let is_private = super::types::space(class)? == Space::Private;
    Ok(if is_private { Some(cx.type_info(pointee)?) } else { None })
}

/// Loads a kernel's parameter from the argument block.
fn kernel_parameter(cx: &mut FuncCx<'_>, id: u32, info: &TypeInfo, offset: u32) -> Result<Val, InstError> {
    if let TypeKind::Pointer { class, pointee: Some(pointee) } = info.kind
        && super::types::space(class)? == Space::Private
    {
        let pointee = cx.type_info(pointee)?;
        let from = cx.b.arg_addr(offset);
        return Ok(Val::one(cx.copy_to_slot(from, pointee, MemAccess::aligned(pointee.align))?));
    }
    if let Some(ty) = info.value {
        let value = cx.b.arg(offset, ty);
        if ty.is_ptr() && cx.unit.module.decorations.of(id).restrict {
            cx.b.func.noalias_args.push(offset);
        }
        return Ok(Val::one(value));
    }
    let from = cx.b.arg_addr(offset);
    if info.is_flat() {
        let access = MemAccess::aligned(info.align);
        let leaves = info.leaves.iter().map(|leaf| cx.load_leaf(leaf.ty, from, leaf.offset, access)).collect();
        return Ok(Val::Leaves(leaves));
    }
    Ok(Val::Memory(cx.copy_to_slot(from, info, MemAccess::aligned(info.align))?))
}

/// The address of a private copy of a child kernel's captures.
fn captures(cx: &mut FuncCx<'_>, info: &TypeInfo, desc: &KernelDesc) -> Result<Val, InstError> {
    let Some(ty) = info.value else { return Err(InstError::malformed("the parameter for captures is not a pointer")) };
    let bytes = u64::from(desc.args[0].slot.size);
    let slot = cx.slot(bytes, MAX_ALIGN)?;
    let from = cx.b.arg_addr(0);
    cx.copy(slot, from, bytes, MemAccess::aligned(MAX_ALIGN));
    let address = if cx.b.ty(slot) == ty { slot } else { cx.b.cast(Opcode::SpaceCast, slot, ty) };
    Ok(Val::one(address))
}

/// Ids of the values that phis take on an edge between two blocks.
pub(super) type Edges = FxHashMap<(usize, usize), Vec<u32>>;

/// Creates the kir blocks with their parameters, and collects the values that each edge passes.
fn make_blocks(cx: &mut FuncCx<'_>, function: &FunctionDef, entry: Block) -> Result<Edges, ImportError> {
    let unit = cx.unit;
    let cfg = cx.cfg;
    let mut edges = Edges::default();
    for number in cfg.order() {
        let block = if number == 0 { entry } else { cx.b.func.append_block() };
        cx.blocks[number] = Some(block);
        for index in function.blocks[number].insts.clone() {
            let inst = &unit.module.insts[index];
            if is_position(inst.op()) || may_precede_phis(unit, inst) {
                continue;
            }
            if inst.op() != Op::Phi {
                break;
            }
            make_phi(cx, inst, index, number, block, &mut edges).map_err(|error| error.at(inst))?;
        }
    }
    Ok(edges)
}

/// Whether an instruction is debug information or a hint for loops, which the SPIR-V-LLVM translator writes before phis.
fn may_precede_phis(unit: &Unit, inst: &Inst) -> bool {
    inst.op() == Op::LoopControlINTEL
        || (inst.op() == Op::ExtInst && unit.module.is_debug(inst).is_ok_and(|debug| debug))
}

fn make_phi(
    cx: &mut FuncCx<'_>,
    inst: &Inst,
    index: usize,
    number: usize,
    block: Block,
    edges: &mut Edges,
) -> Result<(), InstError> {
    let cfg = cx.cfg;
    let (id, info) = (inst.result()?, cx.type_info(inst.result_type()?)?);
    if number == 0 {
        return Err(InstError::malformed("the entry block has a phi"));
    }
    if !info.is_sized() {
        return Err(InstError::malformed("the phi's type has no values"));
    }
    let phis = cx.phis[number].len();
    if info.is_flat() {
        let params: Leaves = info.leaves.iter().map(|leaf| cx.b.func.dfg.append_param(block, leaf.ty)).collect();
        if let ([param], Some(name)) = (&params[..], cx.unit.module.names.get(&id)) {
            cx.b.func.names.insert(*param, name.clone());
        }
        cx.define_in(id, Val::Leaves(params), number);
        cx.phis[number].push(Phi { inst: index, staging: None });
    } else {
        let (slot, staging) = (cx.slot(info.size, info.align)?, cx.slot(info.size, info.align)?);
        cx.define_in(id, Val::Memory(slot), number);
        cx.phis[number].push(Phi { inst: index, staging: Some(staging) });
    }
    let pairs = inst.ids_from(0)?;
    if pairs.len() % 2 == 1 {
        return Err(InstError::malformed("the last value has no parent block"));
    }
    for pair in pairs.chunks_exact(2) {
        let (value, label) = (pair[0], pair[1]);
        let Some(&pred) = cfg.index.get(&label) else {
            return Err(InstError::malformed(format!("%{label} is not a block of this function")));
        };
        if !cfg.reaches(pred) {
            continue;
        }
        if !cfg.has_edge(pred, number) {
            return Err(InstError::malformed(format!("%{label} is not a predecessor of this block")));
        }
        let values = edges.entry((pred, number)).or_default();
        if values.get(phis) == Some(&value) {
            // The SPIR-V-LLVM translator writes a pair for each case of a switch that leads from there to here, as LLVM does.
            continue;
        }
        if values.len() != phis {
            return Err(InstError::malformed(format!("%{label} occurs twice, or not in every phi of this block")));
        }
        values.push(value);
    }
    for pred in cfg.preds(number) {
        if edges.get(&(pred, number)).map_or(0, Vec::len) != phis + 1 {
            return Err(InstError::malformed("the phi has no value for a predecessor of this block"));
        }
    }
    Ok(())
}

/// Imports a block's instructions.
fn import_block(cx: &mut FuncCx<'_>, function: &FunctionDef, number: usize) -> Result<(), ImportError> {
    let unit = cx.unit;
    let Some(block) = cx.blocks[number] else { unreachable!("broken invariant: reached blocks exist") };
    cx.b.switch_to(block);
    cx.block = number;
    for phi in cx.phis[number].clone() {
        let inst = &unit.module.insts[phi.inst];
        if let Some(staging) = phi.staging {
            let mut copy = || -> Result<(), InstError> {
                let info = cx.type_info(inst.result_type()?)?;
                if let Val::Memory(slot) = cx.val(inst.result()?)? {
                    cx.copy(slot, staging, info.size, MemAccess::aligned(info.align));
                }
                Ok(())
            };
            copy().map_err(|error| error.at(inst))?;
        }
    }
    let mut phis_over = false;
    for index in function.blocks[number].insts.clone() {
        let inst = &unit.module.insts[index];
        if is_position(inst.op()) {
            ops::misc::position(cx, inst).map_err(|error| error.at(inst))?;
            continue;
        }
        cx.set_loc(inst);
        if inst.op() == Op::Phi {
            if phis_over {
                return Err(InstError::malformed("a phi follows other instructions of its block").at(inst));
            }
            continue;
        }
        phis_over |= !may_precede_phis(unit, inst);
        ops::lower(cx, inst).map_err(|error| error.at(inst))?;
    }
    Ok(())
}

/// The kir target of an edge from the current block, with the arguments for its phis.
pub(super) fn edge(cx: &mut FuncCx<'_>, label: u32) -> Result<BlockCall, InstError> {
    let Some(&target) = cx.cfg.index.get(&label) else {
        return Err(InstError::malformed(format!("%{label} is not a block of this function")));
    };
    let Some(block) = cx.blocks[target] else { unreachable!("broken invariant: targets are reached") };
    let mut args: Vec<Value> = Vec::new();
    let values = cx.edges.get(&(cx.block, target)).cloned().unwrap_or_default();
    for (phi, &id) in cx.phis[target].clone().iter().zip(&values) {
        let ty = cx.unit.module.insts[phi.inst].result_type()?;
        if !cx.unit.types.same_shape(cx.type_of(id)?, ty)? {
            return Err(InstError::malformed(format!("%{id} does not have the type of the phi that takes it")));
        }
        let info = cx.type_info(ty)?;
        match (cx.val(id)?, phi.staging) {
            (val, Some(staging)) => cx.store(ty, staging, &val, MemAccess::aligned(info.align))?,
            (Val::Leaves(leaves), None) => args.extend(leaves),
            (Val::BuiltIn(_) | Val::Memory(_), None) => args.push(cx.value(id)?),
        }
    }
    Ok(BlockCall::new(block, &args))
}

/// The placeholder function for an unresolved import, in a check without linking.
pub(super) fn placeholder(name: &str, params: &[Type], returns: &[Type]) -> Function {
    let mut func = Function::new(name, returns);
    let entry = func.append_block();
    params.iter().for_each(|&ty| {
        func.dfg.append_param(entry, ty);
    });
    clift_kir::Builder::at_end(&mut func, entry).inst(Opcode::Unreachable, &[], clift_kir::Imm::None, &[]);
    func
}
