//! Inlining: calls are replaced by copies of the functions' bodies.
//!
//! OpenCL forbids recursion (the importer rejects it), so this terminates. A body is copied with its calls, which are then
//! replaced in the copy. The work is proportional to the size of the result, however deeply calls are nested.

use clift_kir::clone::Cloner;
use clift_kir::{
    Block, BlockCall, Builder, Func, Function, Imm, InlinedCall, Inst, InstData, Loc, Module, Opcode, Slot, Value,
};
use rustc_hash::FxHashMap;

use super::CallPolicy;
use crate::program::BuildError;

/// The functions that a function calls, once for each call.
pub(super) fn called(func: &Function) -> impl Iterator<Item = Func> + '_ {
    let insts = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block));
    insts.filter_map(|&inst| if let Imm::Func(callee) = func.dfg.inst(inst).imm { Some(callee) } else { None })
}

/// Replaces the calls in a function of all functions except those to `keep`, also the calls in what is copied.
pub(super) fn into(
    module: &mut Module,
    id: Func,
    keep: &dyn Fn(Func) -> bool,
    policy: &CallPolicy<'_>,
) -> Result<(), BuildError> {
    let CallPolicy { most_insts, keeps_positions, .. } = *policy;
    if called(&module.funcs[id]).all(keep) {
        return Ok(());
    }
    let placeholder = Function::new("", &[]);
    let mut func = std::mem::replace(&mut module.funcs[id], placeholder);
    let mut order = Vec::new();
    let mut results: FxHashMap<Value, Value> = FxHashMap::default();
    // Blocks still to be processed, the next one last, with the instructions that belong in them.
    let mut pending: Vec<(Block, std::vec::IntoIter<Inst>)> = Vec::new();
    for block in func.layout.blocks().to_vec().into_iter().rev() {
        let insts = func.layout.take_insts(block);
        pending.push((block, insts.into_iter()));
    }
    while let Some((at, mut insts)) = pending.pop() {
        if order.last() != Some(&at) {
            order.push(at);
        }
        while let Some(inst) = insts.next() {
            let callee = if let Imm::Func(callee) = func.dfg.inst(inst).imm
                && !keep(callee)
            {
                callee
            } else {
                func.layout.append_inst(at, inst);
                continue;
            };
            let body = &module.funcs[callee];
            if func.dfg.inst_count() + body.dfg.inst_count() > most_insts {
                let name = func.name.clone();
                module.funcs[id] = func;
                return Err(BuildError::Limit(format!(
                    "`{name}` has more than {most_insts} instructions after inlining, the most that this machine builds in its memory and in minutes"
                )));
            }
            let next = func.dfg.make_block();
            for &result in func.dfg.results(inst).to_vec().iter() {
                let param = func.dfg.append_param(next, func.dfg.ty(result));
                results.insert(result, param);
            }
            let args = func.dfg.inst(inst).args.clone();
            let first = func.inlined_calls.len();
            let loc = func.locs[inst];
            if keeps_positions {
                add_calls(&mut func, body, loc);
            }
            let copies = copy_body(&mut func, body, next, keeps_positions.then_some(first));
            let Some(&(entry, _)) = copies.first() else {
                unreachable!("broken invariant: function `{}` has no body", body.name)
            };
            let jump = func.dfg.make_inst(jump_to(entry, args.to_vec()), &[]);
            func.locs[jump] = loc;
            func.layout.append_inst(at, jump);
            pending.push((next, insts));
            pending.extend(copies.into_iter().rev().map(|(block, insts)| (block, insts.into_iter())));
            break;
        }
    }
    func.layout.set_order(order);
    for block in func.layout.blocks().to_vec() {
        for i in 0..func.layout.insts(block).len() {
            let inst = func.layout.insts(block)[i];
            func.dfg.map_uses(inst, |v| results.get(&v).copied().unwrap_or(v));
        }
    }
    module.funcs[id] = func;
    Ok(())
}

fn jump_to(block: Block, args: Vec<Value>) -> InstData {
    InstData { op: Opcode::Jump, args: Default::default(), imm: Imm::Jump(BlockCall::new(block, &args)) }
}

/// Adds a call of `body` at a position to the inlined calls, and then those that the body contains.
fn add_calls(func: &mut Function, body: &Function, at: Loc) {
    let first = func.inlined_calls.len();
    func.inlined_calls.push(InlinedCall { callee: body.name.clone(), loc: at });
    let inner = body.inlined_calls.iter();
    func.inlined_calls.extend(inner.map(|call| InlinedCall { loc: in_call(call.loc, first), ..call.clone() }));
}

/// A position in a body whose call is at an index of the inlined calls.
fn in_call(loc: Loc, first: usize) -> Loc {
    Loc { call: first as u32 + 1 + loc.call, ..loc }
}

/// Copies a callee's blocks; returns become jumps to `next`. Returns the copies with the instructions that belong in them. The
/// entry comes first; its parameters are those of the callee. `first` is the index of the call if it is kept.
fn copy_body(func: &mut Function, body: &Function, next: Block, first: Option<usize>) -> Vec<(Block, Vec<Inst>)> {
    let mut cloner = Cloner::of(body).with_new_barriers();
    let mut slots: Vec<Slot> = Vec::new();
    for (slot, &data) in &body.slots {
        let copy = func.slots.push(data);
        slots.push(copy);
        cloner.set_slot(slot, copy);
    }
    let mut made = Vec::new();
    for &block in body.layout.blocks() {
        let copy = cloner.copy_block(func, block);
        made.push((copy, Vec::with_capacity(body.layout.insts(block).len())));
    }
    if let Some((entry, insts)) = made.first_mut() {
        *insts = lifetime_starts(func, *entry, &slots);
    }
    let mut returns = Vec::new();
    for (&block, (_, insts)) in body.layout.blocks().iter().zip(&mut made) {
        for &inst in body.layout.insts(block) {
            let copy = cloner.copy(func, inst);
            if let Some(first) = first {
                func.locs[copy] = in_call(body.locs[inst], first);
            }
            insts.push(copy);
            if body.dfg.inst(inst).op == Opcode::Ret {
                returns.push(copy);
            }
        }
    }
    cloner.finish(func);
    for inst in returns {
        let values = func.dfg.inst(inst).args.to_vec();
        func.dfg.replace_inst(inst, jump_to(next, values));
    }
    for (&value, name) in &body.names {
        if let Some(copy) = cloner.value(value) {
            func.names.insert(copy, name.clone());
        }
    }
    made
}

/// Instructions at the beginning of a copied body: with each call its variables begin to live.
fn lifetime_starts(func: &mut Function, entry: Block, slots: &[Slot]) -> Vec<Inst> {
    let mut b = Builder::at_end(func, entry);
    for &slot in slots {
        let address = b.slot_addr(slot);
        b.lifetime_start(slot, address);
    }
    func.layout.take_insts(entry)
}

/// A copy of a function without what its layout does not contain.
pub(super) fn compacted(func: &Function) -> Function {
    let mut new = Function::new(func.name.clone(), &func.returns);
    (new.stage, new.next_barrier) = (func.stage, func.next_barrier);
    new.noalias_args.clone_from(&func.noalias_args);
    new.inlined_calls.clone_from(&func.inlined_calls);
    let mut cloner = Cloner::of(func);
    for &block in func.layout.blocks() {
        let copy = cloner.copy_block(&mut new, block);
        new.layout.append_block(copy);
    }
    for (index, &block) in func.layout.blocks().iter().enumerate() {
        let to = new.layout.blocks()[index];
        for &inst in func.layout.insts(block) {
            cloner.append(&mut new, to, inst);
        }
    }
    cloner.finish(&mut new);
    for (&value, name) in &func.names {
        if let Some(copy) = cloner.value(value) {
            new.names.insert(copy, name.clone());
        }
    }
    new
}
