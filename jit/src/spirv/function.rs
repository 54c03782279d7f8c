//! Importing one function: its parameters, blocks and phis; the instructions in between are `ops/`.

use clift_kir::{Block, BlockCall, Func, Function, Opcode, Space, Type, Value};
use rspirv::spirv::Op;
use rustc_hash::FxHashMap;

use super::alias;
use super::cfg::Cfg;
use super::llvm_backend;
use super::lower::{Access, FuncCx, Leaves, Phi, Shared, Val, is_position};
use super::module::FunctionDef;
use super::ops;
use super::reflect::KernelDesc;
use super::types::{TypeInfo, TypeKind};
use super::unit::{Callee, Unit};
use super::words::{Fault, Inst};
use crate::ImportError;

/// What a kir function is made of.
pub(super) enum Role<'a> {
    /// A function that others call, and its name.
    Callee(Callee, String, Copies),
    /// A kernel: parameters come from the argument block.
    Kernel(&'a KernelDesc),
}

/// How many copies of a function its kernels contain once calls are inlined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Copies {
    /// One at most.
    One,
    /// Possibly several.
    Several,
}

/// Imports a function's body.
pub(super) fn import(
    unit: &Unit,
    shared: &Shared,
    function: &FunctionDef,
    role: &Role<'_>,
) -> Result<Function, ImportError> {
    let head = &unit.module.insts[function.inst];
    let name = match role {
        Role::Kernel(desc) => desc.name.clone(),
        Role::Callee(_, name, _) => name.clone(),
    };
    let signature = unit.signature(function).map_err(|fault| fault.at(head))?;
    let returns = match role {
        Role::Callee(..) => signature.returns,
        Role::Kernel(_) => Vec::new(),
    };
    let mut func = Function::new(name, &returns);
    let cfg = Cfg::new(&unit.module, function)?;
    let entry = func.append_block();
    let mut cx = FuncCx::new(unit, shared, &mut func, &cfg, entry);
    cx.is_optimized = llvm_backend::is_optimized(&unit.module, function);
    if let Role::Callee(_, _, copies) = role {
        cx.copies = *copies;
    }
    cx.set_loc(head);
    bind_parameters(&mut cx, function, role).map_err(|fault| fault.at(head))?;
    let edges = make_blocks(&mut cx, function, entry)?;
    cx.edges = edges;
    for &number in &cfg.order {
        import_block(&mut cx, function, number)?;
    }
    let (seeds, calls) = (std::mem::take(&mut cx.alias_seeds), std::mem::take(&mut cx.only_calls));
    mark_aliases(shared, &mut func, &seeds, calls);
    Ok(func)
}

/// Marks accesses through `restrict` pointers, and tells functions called only here what they are passed.
fn mark_aliases(shared: &Shared, func: &mut Function, seeds: &alias::Seeds, calls: Vec<(Func, Vec<Value>)>) {
    let classes = alias::run(func, seeds);
    for (callee, args) in calls {
        let passed = args.iter().map(|&arg| classes.of(arg)).collect();
        shared.param_alias.borrow_mut().insert(callee, passed);
    }
}

/// A kernel that only calls the function of its entry point, which others call too.
pub(super) fn wrapper(
    unit: &Unit,
    shared: &Shared,
    function: &FunctionDef,
    desc: &KernelDesc,
) -> Result<Function, ImportError> {
    let head = &unit.module.insts[function.inst];
    let mut func = Function::new(desc.name.clone(), &[]);
    let cfg = Cfg::single();
    let entry = func.append_block();
    let mut cx = FuncCx::new(unit, shared, &mut func, &cfg, entry);
    cx.set_loc(head);
    let mut body = || -> Result<(), Fault> {
        bind_parameters(&mut cx, function, &Role::Kernel(desc))?;
        let args = function.params.iter().map(|&p| unit.module.insts[p].result()).collect::<Result<Vec<_>, _>>()?;
        ops::control::call(&mut cx, function.id, &args)?;
        cx.b.ret(&[]);
        Ok(())
    };
    body().map_err(|fault| fault.at(head))?;
    let (seeds, calls) = (std::mem::take(&mut cx.alias_seeds), std::mem::take(&mut cx.only_calls));
    mark_aliases(shared, &mut func, &seeds, calls);
    Ok(func)
}

/// Defines the parameters' ids.
fn bind_parameters(cx: &mut FuncCx<'_>, function: &FunctionDef, role: &Role<'_>) -> Result<(), Fault> {
    let unit = cx.unit;
    let (ret, types) = unit.function_type(function)?;
    cx.return_type = (unit.types.get(ret)?.kind != TypeKind::Void).then_some(ret);
    let entry = cx.b.block();
    let param = |cx: &mut FuncCx<'_>, ty| cx.b.func.dfg.append_param(entry, ty);
    if matches!(role, Role::Callee(..)) && !cx.type_info(ret)?.is_flat() {
        cx.result_address = Some(param(cx, Type::ptr(Space::Private)));
    }
    let mut classes = match role {
        Role::Callee(callee, ..) => cx.shared.param_alias.borrow().get(&callee.func).cloned().unwrap_or_default(),
        Role::Kernel(_) => Vec::new(),
    }
    .into_iter();
    for (index, &inst) in function.params.iter().enumerate() {
        let inst = &unit.module.insts[inst];
        let (id, ty) = (inst.result()?, inst.result_type()?);
        if ty != types[index] {
            return Err(Fault::malformed(format!("the type of parameter {index} differs from the function type's")));
        }
        let info = cx.type_info(ty)?;
        let val = match role {
            Role::Kernel(desc) => kernel_parameter(cx, id, info, desc.args[index].slot.offset)?,
            Role::Callee(..) if info.is_flat() => {
                let leaves: Leaves = info.leaves.iter().map(|leaf| param(cx, leaf.ty)).collect();
                for &leaf in &leaves {
                    if let Some(class) = classes.next().filter(|&class| class != 0) {
                        cx.alias_seeds.push((leaf, class));
                    }
                }
                match by_value(cx, id, info)? {
                    // The callee may change what the pointer leads to: it gets its own.
                    Some(pointee) => {
                        let access = Access::aligned(pointee.align);
                        Val::one(cx.copy_to_slot(leaves[0], pointee, access)?)
                    }
                    None => Val::Leaves(leaves),
                }
            }
            Role::Callee(..) => {
                classes.next();
                Val::Memory(param(cx, Type::ptr(Space::Private)))
            }
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

/// The type of a structure that is passed by value although its parameter is a pointer (`ByVal`).
fn by_value<'a>(cx: &FuncCx<'a>, id: u32, info: &TypeInfo) -> Result<Option<&'a TypeInfo>, Fault> {
    match info.kind {
        TypeKind::Pointer { class, pointee: Some(pointee) } if cx.unit.module.decorations.of(id).by_val => {
            let is_private = super::types::space(class)? == Space::Private;
            Ok(if is_private { Some(cx.type_info(pointee)?) } else { None })
        }
        TypeKind::Pointer { pointee: None, .. } if cx.unit.module.decorations.of(id).by_val => {
            Err(Fault::unsupported("a ByVal parameter that is an untyped pointer"))
        }
        _ => Ok(None),
    }
}

/// Reads a kernel's parameter from the argument block.
fn kernel_parameter(cx: &mut FuncCx<'_>, id: u32, info: &TypeInfo, offset: u32) -> Result<Val, Fault> {
    if let TypeKind::Pointer { class, pointee: Some(pointee) } = info.kind
        && super::types::space(class)? == Space::Private
    {
        let pointee = cx.type_info(pointee)?;
        let from = cx.b.arg_addr(offset);
        return Ok(Val::one(cx.copy_to_slot(from, pointee, Access::aligned(pointee.align))?));
    }
    if let Some(ty) = info.value {
        let value = cx.b.arg(offset, ty);
        if ty.is_ptr() && cx.unit.module.decorations.of(id).restrict {
            let class = cx.shared.fresh_alias();
            cx.alias_seeds.push((value, class));
        }
        return Ok(Val::one(value));
    }
    let from = cx.b.arg_addr(offset);
    if info.is_flat() {
        let access = Access::aligned(info.align);
        let leaves = info.leaves.iter().map(|leaf| cx.load_leaf(leaf.ty, from, leaf.offset, access)).collect();
        return Ok(Val::Leaves(leaves));
    }
    Ok(Val::Memory(cx.copy_to_slot(from, info, Access::aligned(info.align))?))
}

/// Ids of the values that phis take on an edge between two blocks.
pub(super) type Edges = FxHashMap<(usize, usize), Vec<u32>>;

/// Makes the kir blocks with their parameters, and collects what each edge passes.
fn make_blocks(cx: &mut FuncCx<'_>, function: &FunctionDef, entry: Block) -> Result<Edges, ImportError> {
    let unit = cx.unit;
    let cfg = cx.cfg;
    let mut edges = Edges::default();
    for &number in &cfg.order {
        let block = if number == 0 { entry } else { cx.b.func.append_block() };
        cx.blocks[number] = Some(block);
        for index in function.blocks[number].insts.clone() {
            let inst = &unit.module.insts[index];
            if is_position(inst.op()) || is_debug(unit, inst) {
                continue;
            }
            if inst.op() != Op::Phi {
                break;
            }
            make_phi(cx, inst, index, number, block, &mut edges).map_err(|fault| fault.at(inst))?;
        }
    }
    Ok(edges)
}

/// Whether an instruction only tells a debugger something: the SPIR-V-LLVM translator writes such in front of phis.
fn is_debug(unit: &Unit, inst: &Inst) -> bool {
    inst.op() == Op::ExtInst && unit.module.is_debug(inst).is_ok_and(|debug| debug)
}

fn make_phi(
    cx: &mut FuncCx<'_>,
    inst: &Inst,
    index: usize,
    number: usize,
    block: Block,
    edges: &mut Edges,
) -> Result<(), Fault> {
    let cfg = cx.cfg;
    let (id, info) = (inst.result()?, cx.type_info(inst.result_type()?)?);
    if number == 0 {
        return Err(Fault::malformed("the entry block has a phi"));
    }
    if !info.is_sized() {
        return Err(Fault::malformed("the phi's type has no values"));
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
        return Err(Fault::malformed("the last value has no parent block"));
    }
    for pair in pairs.chunks_exact(2) {
        let (value, label) = (pair[0], pair[1]);
        let Some(&pred) = cfg.index.get(&label) else {
            return Err(Fault::malformed(format!("%{label} is not a block of this function")));
        };
        if !cfg.reached[pred] {
            continue;
        }
        if cfg.preds[number].binary_search_by_key(&cfg.position(pred), |&p| cfg.position(p)).is_err() {
            return Err(Fault::malformed(format!("%{label} is not a predecessor of this block")));
        }
        let values = edges.entry((pred, number)).or_default();
        if values.len() != phis {
            return Err(Fault::malformed(format!("%{label} occurs twice, or not in every phi of this block")));
        }
        values.push(value);
    }
    for &pred in &cfg.preds[number] {
        if edges.get(&(pred, number)).map_or(0, Vec::len) != phis + 1 {
            return Err(Fault::malformed("the phi has no value for a predecessor of this block"));
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
            let mut copy = || -> Result<(), Fault> {
                let info = cx.type_info(inst.result_type()?)?;
                if let Val::Memory(slot) = cx.val(inst.result()?)? {
                    cx.copy(slot, staging, info.size, Access::aligned(info.align));
                }
                Ok(())
            };
            copy().map_err(|fault| fault.at(inst))?;
        }
    }
    let mut phis_over = false;
    for index in function.blocks[number].insts.clone() {
        let inst = &unit.module.insts[index];
        if is_position(inst.op()) {
            ops::misc::position(cx, inst).map_err(|fault| fault.at(inst))?;
            continue;
        }
        cx.set_loc(inst);
        if inst.op() == Op::Phi {
            if phis_over {
                return Err(Fault::malformed("a phi follows other instructions of its block").at(inst));
            }
            continue;
        }
        phis_over |= !is_debug(unit, inst);
        ops::lower(cx, inst).map_err(|fault| fault.at(inst))?;
    }
    Ok(())
}

/// The kir target of an edge from the current block: evaluates what the phis there take.
pub(super) fn edge(cx: &mut FuncCx<'_>, label: u32) -> Result<BlockCall, Fault> {
    let Some(&target) = cx.cfg.index.get(&label) else {
        return Err(Fault::malformed(format!("%{label} is not a block of this function")));
    };
    let Some(block) = cx.blocks[target] else { unreachable!("broken invariant: targets are reached") };
    let mut args: Vec<Value> = Vec::new();
    let values = cx.edges.get(&(cx.block, target)).cloned().unwrap_or_default();
    for (phi, &id) in cx.phis[target].clone().iter().zip(&values) {
        let ty = cx.unit.module.insts[phi.inst].result_type()?;
        if !cx.unit.types.same_shape(cx.type_of(id)?, ty)? {
            return Err(Fault::malformed(format!("%{id} does not have the type of the phi that takes it")));
        }
        let info = cx.type_info(ty)?;
        match (cx.val(id)?, phi.staging) {
            (val, Some(staging)) => cx.store(ty, staging, &val, Access::aligned(info.align))?,
            (Val::Leaves(leaves), None) => args.extend(leaves),
            (Val::Input(_) | Val::Memory(_), None) => args.push(cx.value(id)?),
        }
    }
    Ok(BlockCall::new(block, &args))
}

/// The function that stands for an import nothing resolves, in a check without linking.
pub(super) fn placeholder(name: &str, params: &[Type], returns: &[Type]) -> Function {
    let mut func = Function::new(name, returns);
    let entry = func.append_block();
    params.iter().for_each(|&ty| {
        func.dfg.append_param(entry, ty);
    });
    clift_kir::Builder::at_end(&mut func, entry).inst(Opcode::Unreachable, &[], clift_kir::Imm::None, &[]);
    func
}
