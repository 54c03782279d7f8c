//! Loads at clamped indices: lanes that choose between neighbouring elements and one that all share.
//!
//! Neighbours in a tile are clamped at its border (`max(x - 1, 0)`, `x == n - 1 ? 0 : x + 1`). Where a row of a work-group is one
//! pack long, each pack touches the border, so that no version ([`super::versioning`]) without a clamped lane is ever executed. A
//! gather is not needed even so: the operands of the select, minimum or maximum are contiguous and uniform. The load becomes one
//! load for each of them, behind branches that the lanes take by what they choose:
//!
//! ```text
//!                                                 c = i >= n; branch c, A, B
//!       v = load a[max(i, n)]             ->   A: v1 = load a[i]; jump J(v1)
//!                                              B: v2 = load a[n]; jump J(v2)
//!                                              J(v):
//! ```
//!
//! [Widening](crate::spmd::vectorize::widen) makes a masked load of the first and a scalar load of the second.
//!
//! Deliberately not here: stores, which would have to stay in the order of the lanes, and loads of elements for which the machine
//! has no masked access.

use clift_kir::clone::Cloner;
use clift_kir::{Block, BlockCall, Builder, Function, Inst, IntCond, Opcode, Space, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::normalize::{self, KnownOfPacks, NormalForm};
use crate::passes::memory::plain_access;
use crate::spmd::analysis::divergence::Divergence;
use crate::spmd::analysis::shape::Shape;
use crate::target::machine::Machine;

/// The most loads of a kernel that are rewritten.
const MAX_LOADS: usize = 32;
/// The most instructions between the choice and the address.
const MAX_PATH: usize = 8;
/// The most values that the lanes of one load choose between.
const MAX_LEAVES: usize = 3;

/// Rewrites the loads of a kernel that need not scatter in packs of so many lanes of which so much is known; `None` if there is
/// none.
pub(crate) fn run(normal: &NormalForm, (lanes, known): (u32, KnownOfPacks), machine: &Machine) -> Option<NormalForm> {
    let divergence = normal.divergence_in(lanes, known);
    let mut loads = clamped_loads(normal, &divergence, machine);
    // The shapes of the new addresses are known once they are there. Those that scatter stay as they are.
    while !loads.is_empty() {
        let (made, arms) = split(normal, &loads)?;
        let divergence = made.divergence_in(lanes, known);
        let scattered: FxHashSet<Inst> =
            arms.iter().filter(|(_, arm)| scatters(&made.func, &divergence, *arm)).map(|&(load, _)| load).collect();
        if scattered.is_empty() {
            return Some(made);
        }
        loads.retain(|load| !scattered.contains(&load.inst));
    }
    None
}

/// A load whose address depends on a choice.
struct ClampedLoad {
    inst: Inst,
    /// What the lanes choose, and the instructions from there to the address, in the order of their execution.
    chosen: Value,
    path: SmallVec<[Inst; MAX_PATH]>,
    choice: Choice,
}

/// What the lanes choose between.
enum Choice {
    /// A uniform or affine value.
    Leaf(Value),
    /// One or the other.
    Either(Condition, Box<[Choice; 2]>),
}

/// When the first of two values is chosen.
#[derive(Clone, Copy)]
enum Condition {
    Is(Value),
    /// A comparison of the two operands of a minimum or maximum.
    Compares(IntCond, Value, Value),
}

/// The loads that scatter because of choices between values that do not. Those stay that most packs load as a row: in slow
/// copies of versions, and where widening tests minima and maxima, but in local memory, whose tiles are mostly borders.
fn clamped_loads(normal: &NormalForm, divergence: &Divergence, machine: &Machine) -> Vec<ClampedLoad> {
    let func = &normal.func;
    let warm = normal.cfg.rpo().iter().filter(|&&block| !func.layout.is_cold(block));
    let insts = warm.flat_map(|&block| func.layout.insts(block));
    let load = |&inst: &Inst| {
        let (pointer, ty, _) = plain_access(func, inst).filter(|_| func.dfg.inst(inst).op == Opcode::Load)?;
        let tested =
            divergence.conditional(pointer).is_some() && func.dfg.ty(pointer).elem.space() != Some(Space::Local);
        (!tested && machine.masks_stores(ty.elem.bits()) && scatters(func, divergence, inst))
            .then(|| clamped_load(func, divergence, inst, pointer))?
    };
    insts.filter_map(load).take(MAX_LOADS).collect()
}

/// Whether lanes access memory at unrelated places.
fn scatters(func: &Function, divergence: &Divergence, load: Inst) -> bool {
    let pointer = func.dfg.inst(load).args[0];
    varies(func, divergence, pointer) && divergence.offsets(pointer).is_none()
}

/// Whether the distances between the lanes' values of an index or address are not known.
fn varies(func: &Function, divergence: &Divergence, value: Value) -> bool {
    divergence.shape(value) == Shape::Varying
        && divergence
            .conditional(value)
            .is_none_or(|affine| affine.checks.iter().any(|check| check.matters(func.dfg.ty(check.value))))
}

/// The choice that a varying address depends on, through arithmetic with uniform and affine values.
fn clamped_load(func: &Function, divergence: &Divergence, inst: Inst, pointer: Value) -> Option<ClampedLoad> {
    let mut path: SmallVec<[Inst; MAX_PATH]> = SmallVec::new();
    let mut value = pointer;
    loop {
        let def = func.dfg.def_inst(value)?;
        let data = func.dfg.inst(def);
        if [Opcode::Select, Opcode::Smin, Opcode::Smax, Opcode::Umin, Opcode::Umax].contains(&data.op) {
            let mut leaves = 0;
            let choice = choice(func, divergence, value, &mut leaves)?;
            path.reverse();
            return Some(ClampedLoad { inst, chosen: value, path, choice });
        }
        let linear = [
            Opcode::Addr,
            Opcode::Iadd,
            Opcode::Isub,
            Opcode::Imul,
            Opcode::Shl,
            Opcode::Sext,
            Opcode::Zext,
            Opcode::Itrunc,
        ];
        if !linear.contains(&data.op) || path.len() == MAX_PATH {
            return None;
        }
        path.push(def);
        let mut varying = data.args.iter().copied().filter(|&arg| varies(func, divergence, arg));
        value = varying.next()?;
        if varying.next().is_some() {
            return None;
        }
    }
}

/// A value as a choice between values that do not vary.
fn choice(func: &Function, divergence: &Divergence, value: Value, leaves: &mut usize) -> Option<Choice> {
    if !varies(func, divergence, value) {
        *leaves += 1;
        return (*leaves <= MAX_LEAVES).then_some(Choice::Leaf(value));
    }
    let data = func.dfg.inst(func.dfg.def_inst(value)?);
    if data.op == Opcode::Select {
        let &[condition, a, b] = &data.args[..] else { return None };
        let mut arm = |value| choice(func, divergence, value, leaves);
        return Some(Choice::Either(Condition::Is(condition), Box::new([arm(a)?, arm(b)?])));
    }
    let cond = [
        (Opcode::Smin, IntCond::Sle),
        (Opcode::Smax, IntCond::Sge),
        (Opcode::Umin, IntCond::Ule),
        (Opcode::Umax, IntCond::Uge),
    ]
    .into_iter()
    .find_map(|(op, cond)| (op == data.op).then_some(cond))?;
    let &[a, b] = &data.args[..] else { return None };
    let mut arm = |value| choice(func, divergence, value, leaves);
    Some(Choice::Either(Condition::Compares(cond, a, b), Box::new([arm(a)?, arm(b)?])))
}

/// The kernel with these loads split, and the new loads beside those that they are for.
fn split(normal: &NormalForm, loads: &[ClampedLoad]) -> Option<(NormalForm, Vec<(Inst, Inst)>)> {
    let mut func = normal.func.clone();
    let mut arms = Vec::new();
    let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
    for load in loads {
        let (block, at) = func.layout.position(load.inst)?;
        let old = func.dfg.result(load.inst);
        let rest = func.append_block();
        func.layout.split_off(block, at, rest);
        func.layout.remove_inst(load.inst);
        let joined = func.dfg.append_param(rest, func.dfg.ty(old));
        load_chosen(&mut func, block, &load.choice, (load, rest), &mut arms);
        replaced.insert(old, joined);
    }
    let insts: Vec<Inst> = func.layout.blocks().iter().flat_map(|&block| func.layout.insts(block)).copied().collect();
    for inst in insts {
        func.dfg.map_uses(inst, |value| replaced.get(&value).copied().unwrap_or(value));
    }
    let mut made = normalize::run_owned(func)?.with_regions(normal.single_lane.clone());
    made.pieces = normal.pieces;
    made.assumed.clone_from(&normal.assumed);
    made.copies.clone_from(&normal.copies);
    made.several.clone_from(&normal.several);
    Some((made, arms))
}

/// Ends a block with the loads of what is chosen.
fn load_chosen(
    func: &mut Function,
    block: Block,
    choice: &Choice,
    (load, rest): (&ClampedLoad, Block),
    arms: &mut Vec<(Inst, Inst)>,
) {
    match choice {
        Choice::Leaf(value) => {
            let mut cloner = Cloner::within();
            cloner.set_value(load.chosen, *value);
            for &inst in &load.path {
                cloner.append(func, block, inst);
            }
            let arm = cloner.append(func, block, load.inst);
            let loaded = func.dfg.result(arm);
            arms.push((load.inst, arm));
            Builder::at_end(func, block).jump(rest, &[loaded]);
        }
        Choice::Either(condition, choices) => {
            let targets = [func.append_block(), func.append_block()];
            let mut b = Builder::at_end(func, block);
            let condition = match *condition {
                Condition::Is(value) => value,
                Condition::Compares(cond, x, y) => b.icmp(cond, x, y),
            };
            let [then, otherwise] = targets.map(|target| BlockCall::new(target, &[]));
            b.branch(condition, then, otherwise);
            for (target, choice) in targets.into_iter().zip(choices.iter()) {
                load_chosen(func, target, choice, (load, rest), arms);
            }
        }
    }
}
