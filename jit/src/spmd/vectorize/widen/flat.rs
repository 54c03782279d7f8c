//! Which OpenCL vectors are worth keeping in memory order: those that go from loads through lane-wise ops to stores only. Where
//! components are taken apart, one pack per component is better.

use clift_kir::analysis::Users;
use clift_kir::{Block, Function, Inst, Opcode, Value};
use cranelift_entity::EntitySet;

use super::how::{How, how};
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::{Scope, Shape};

/// The results of vector loads and of lane-wise ops whose operands and users all suit memory order.
pub(crate) fn lanewise_throughout(func: &Function, blocks: &[Block], divergence: &Divergence) -> EntitySet<Value> {
    let mut found = EntitySet::new();
    let mut loads = false;
    for &inst in blocks.iter().flat_map(|&block| func.layout.insts(block)) {
        let Some(result) = func.dfg.single_result(inst) else { continue };
        let how = how(func.dfg.inst(inst).op);
        let suits = matches!(how, How::Load | How::Lanewise) && func.dfg.ty(result).is_vector();
        if suits && divergence.shape(result) == Shape::Varying {
            found.insert(result);
            loads |= how == How::Load;
        }
    }
    if !loads {
        return EntitySet::new();
    }
    let users = Users::new(func, blocks);
    let mut removed: Vec<Value> =
        found.iter().filter(|&value| !suits(func, divergence, &users, &found, value)).collect();
    while let Some(value) = removed.pop() {
        if !found.remove(value) {
            continue;
        }
        // What it is made of has an unsuitable user, and what is made of it an unsuitable operand.
        let made_of = func.dfg.def_inst(value).into_iter().flat_map(|inst| func.dfg.inst(inst).args.iter().copied());
        let makes = users.of(value).iter().filter_map(|&user| func.dfg.single_result(user));
        removed.extend(made_of.chain(makes).filter(|&other| found.contains(other)));
    }
    found
}

fn suits(func: &Function, divergence: &Divergence, users: &Users, found: &EntitySet<Value>, value: Value) -> bool {
    let lanes = func.dfg.ty(value).lanes();
    let is_same = |other: Value| func.dfg.ty(other).lanes() == lanes;
    let is_splat = |arg: Value| {
        let def = func.dfg.def_inst(arg);
        def.is_some_and(|def| func.dfg.inst(def).op == Opcode::Splat)
    };
    let operand = |&arg: &Value| {
        is_same(arg) && (found.contains(arg) || divergence.shape(arg).is_uniform(Scope::Pack) || is_splat(arg))
    };
    let user = |&user: &Inst| {
        let data = func.dfg.inst(user);
        match how(data.op) {
            How::Store => data.args[0] != value,
            How::Lanewise => {
                func.dfg.single_result(user).is_some_and(|result| found.contains(result) && is_same(result))
            }
            How::Leaf
            | How::Slot
            | How::Query
            | How::Components
            | How::Bitcast
            | How::Load
            | How::PerLane
            | How::Collective
            | How::Once
            | How::SingleLane
            | How::Branch
            | How::End
            | How::Foreign => false,
        }
    };
    let Some(def) = func.dfg.def_inst(value) else { return false };
    let data = func.dfg.inst(def);
    (how(data.op) == How::Load || data.args.iter().all(operand))
        && users.arguments(value).is_empty()
        && users.of(value).iter().all(user)
}
