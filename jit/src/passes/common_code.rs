//! Code hoisting and sinking: what the sides of a branch have in common is executed once. What both sides compute is computed
//! before the branch; what all ways into a block end with is done in that block.
//!
//! ```text
//! branch c, a, b                         n = k + 1
//! a: n = k + 1                           branch c, a, b
//!    x = m[k]                            a: x = m[k]
//!    store p, x                   ->        jump join(x)
//!    jump join(n)                        b: jump join(y)
//! b: o = k + 1                           join(z): store p, z
//!    store p, y
//!    jump join(o)
//! ```
//!
//! The sides then often have nothing left, or become selects. A pack executes both sides of a divergent branch, and so would do
//! the same work twice, with masks. A counter that both sides increment is the same in all lanes again.
//!
//! - **Hoisted**: pure ops, and loads that no access of their side may change, from the first [`MAX_BEFORE`] instructions of both
//!   sides: a value that is needed at the end of a long one would occupy a register all the way.
//! - **Sunk**: stores to the same address, also where only some of the ways end with one, as in `if (a) *p = x; else if (b) *p
//!   = y;`, and pure ops whose operands differ in at most one place. Not addresses: their origin tells passes on memory which
//!   accesses are apart.

use clift_kir::analysis::{Cfg, UseCounts};
use clift_kir::{Block, Effects, Function, Imm, Inst, InstData, MemInfo, Opcode, Type, Value};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

use super::Changed;
use super::gvn::{intersect_wrap_flags, normalized};
use super::loop_form;
use super::util::Replacements;

/// From how far behind the branch code is hoisted, in instructions.
const MAX_BEFORE: usize = 32;

/// The most ways into a block of which some are merged.
const MAX_WAYS: usize = 64;

/// Hoists, then sinks.
pub(super) fn run(func: &mut Function) -> Changed {
    let cfg = Cfg::new(func);
    let hoisted = hoist(func, &cfg);
    let merged = merge_ends(func, &cfg);
    let cfg = if merged { Cfg::new(func) } else { cfg };
    let sunk = sink(func, &cfg);
    Changed(hoisted || merged || sunk)
}

/// Hoists out of inner branches first, whose code then is that of a side of the branch around them.
fn hoist(func: &mut Function, cfg: &Cfg) -> bool {
    let mut replacements = Replacements::default();
    let mut removed = EntitySet::new();
    for &block in cfg.rpo().iter().rev() {
        if let Some(sides) = sides(func, cfg, block) {
            hoist_common(func, block, sides, &mut replacements, &mut removed);
        }
    }
    replacements.apply(func);
    func.layout.remove_insts(&removed);
    replacements.any()
}

/// The two blocks that only a block's branch leads to.
fn sides(func: &Function, cfg: &Cfg, block: Block) -> Option<[Block; 2]> {
    let Imm::Branch(calls) = &func.dfg.inst(func.layout.terminator(block)?).imm else { return None };
    let sides = [calls[0].block, calls[1].block];
    let is_side = |&side: &Block| *cfg.preds(side) == [block] && side != block;
    (sides[0] != sides[1] && sides.iter().all(is_side)).then_some(sides)
}

/// What a computation gives, as in global value numbering.
type Key = (InstData, Type);

/// The key of an instruction that may be executed before its block, as long as nothing before it in the block has effects.
fn hoistable(func: &Function, inst: Inst, replacements: &Replacements, has_effects: &mut bool) -> Option<Key> {
    let data = func.dfg.inst(inst);
    let may_move = match data.op.info().effects {
        Effects::Pure => true,
        Effects::Read => {
            let is_plain = matches!(&data.imm, Imm::Mem(MemInfo { volatile: false, .. })) && data.op == Opcode::Load;
            is_plain && !*has_effects
        }
        Effects::Write | Effects::ReadWrite | Effects::Convergent => {
            *has_effects = true;
            false
        }
        Effects::Terminator => false,
    };
    let result = func.dfg.single_result(inst).filter(|_| may_move)?;
    let mut data = data.clone();
    for arg in &mut data.args {
        *arg = replacements.get(*arg);
    }
    Some((normalized(&data), func.dfg.ty(result)))
}

/// The first instructions of a block, constants not counted.
fn first_insts(func: &Function, block: Block, removed: &EntitySet<Inst>) -> Vec<Inst> {
    let mut left = MAX_BEFORE;
    let mut first = Vec::new();
    for &inst in func.layout.insts(block) {
        let counts = func.dfg.inst(inst).op != Opcode::Const;
        if removed.contains(inst) {
            continue;
        }
        if counts && left == 0 {
            break;
        }
        left -= usize::from(counts);
        first.push(inst);
    }
    first
}

fn hoist_common(
    func: &mut Function,
    block: Block,
    [one, other]: [Block; 2],
    replacements: &mut Replacements,
    removed: &mut EntitySet<Inst>,
) {
    let mut found: FxHashMap<Key, Inst> = FxHashMap::default();
    let mut has_effects = false;
    for inst in first_insts(func, one, removed) {
        if let Some(key) = hoistable(func, inst, replacements, &mut has_effects) {
            found.entry(key).or_insert(inst);
        }
    }
    has_effects = false;
    let (mut hoisted, mut is_hoisted) = (Vec::new(), EntitySet::new());
    for inst in first_insts(func, other, removed) {
        // Operands that are equal come from before the branch, or have been hoisted.
        let Some(key) = hoistable(func, inst, replacements, &mut has_effects) else { continue };
        let Some(&same) = found.get(&key) else { continue };
        if is_hoisted.insert(same) {
            hoisted.push(same);
        }
        let (kept, result) = (func.dfg.result(same), func.dfg.result(inst));
        let flags = func.dfg.inst(inst).imm.wrap();
        intersect_wrap_flags(&mut func.dfg, kept, flags);
        replacements.set(result, kept);
        removed.insert(inst);
    }
    if !hoisted.is_empty() {
        func.layout.retain(one, |inst| !is_hoisted.contains(inst));
        let end = func.layout.insts(block).len() - 1;
        func.layout.insert_insts(block, end, &hoisted);
    }
}

/// Sinks into blocks in reverse postorder, so that what has been sunk may be sunk again.
fn sink(func: &mut Function, cfg: &Cfg) -> bool {
    let uses = UseCounts::new(func);
    let mut replacements = Replacements::default();
    let mut removed = EntitySet::new();
    for &join in cfg.rpo() {
        let ways = cfg.preds(join);
        if ways.len() < 2 || !ways.iter().all(|&way| is_way(func, cfg, way, join)) {
            continue;
        }
        // The last one first.
        let mut sunk = Vec::new();
        while let Some(store) = sink_store(func, ways, join, &mut removed) {
            sunk.push(store);
        }
        let mut at = 0;
        while at < func.dfg.params(join).len() {
            // An operand that depends on the way is a new parameter, the last one.
            match sink_op(func, &uses, ways, join, at, &mut removed) {
                Some((param, inst)) => {
                    replacements.set(param, func.dfg.result(inst));
                    sunk.push(inst);
                }
                None => at += 1,
            }
        }
        sunk.reverse();
        func.layout.insert_insts(join, 0, &sunk);
    }
    replacements.apply(func);
    func.layout.remove_insts(&removed);
    !removed.is_empty()
}

/// Whether a block jumps forward to another one.
fn is_way(func: &Function, cfg: &Cfg, way: Block, join: Block) -> bool {
    let jumps = func.layout.terminator(way).is_some_and(|end| func.dfg.inst(end).op == Opcode::Jump);
    jumps && cfg.number(way) < cfg.number(join)
}

/// Lets those ways into a block that end with stores to one address, where others do not, meet in a block of their own.
fn merge_ends(func: &mut Function, cfg: &Cfg) -> bool {
    let removed = EntitySet::new();
    let mut merged = false;
    for &join in cfg.rpo() {
        let ways = cfg.preds(join);
        if !(3..=MAX_WAYS).contains(&ways.len()) {
            continue;
        }
        let mut groups: Vec<((Value, MemInfo, Type), Vec<Block>)> = Vec::new();
        for &way in ways.iter().filter(|&&way| is_way(func, cfg, way, join)) {
            let Some((_, pointer, value, mem)) = last_store(func, way, &removed) else { continue };
            let key = (pointer, mem, func.dfg.ty(value));
            match groups.iter_mut().find(|(other, _)| *other == key) {
                Some((_, group)) => group.push(way),
                None => groups.push((key, vec![way])),
            }
        }
        for (_, group) in groups.into_iter().filter(|(_, group)| (2..ways.len()).contains(&group.len())) {
            let Some(&last) = group.last() else { continue };
            let meeting = loop_form::merge_edges(func, &group, join);
            func.layout.insert_block_after(meeting, last);
            if group.iter().all(|&way| func.layout.is_cold(way)) {
                func.layout.set_cold(meeting);
            }
            merged = true;
        }
    }
    merged
}

/// The last instruction of a block with an effect, if it is a plain store: the store, its address, its value, and its access.
fn last_store(func: &Function, block: Block, removed: &EntitySet<Inst>) -> Option<(Inst, Value, Value, MemInfo)> {
    let (_, insts) = func.layout.insts(block).split_last()?;
    let has_effect = |&inst: &Inst| !func.dfg.inst(inst).op.is_pure() && !removed.contains(inst);
    let last = insts.iter().rev().copied().find(has_effect)?;
    let data = func.dfg.inst(last);
    match (data.op, &data.imm) {
        (Opcode::Store, &Imm::Mem(mem @ MemInfo { volatile: false, .. })) => {
            Some((last, data.args[0], data.args[1], mem))
        }
        _ => None,
    }
}

/// Sinks the stores at the ends of all ways into a block, if they are to the same address. Returns the store, which has no place
/// yet.
fn sink_store(func: &mut Function, ways: &[Block], join: Block, removed: &mut EntitySet<Inst>) -> Option<Inst> {
    let stores: Vec<_> = ways.iter().map(|&way| last_store(func, way, removed)).collect::<Option<_>>()?;
    let (first, pointer, value, mem) = stores[0];
    let ty = func.dfg.ty(value);
    if !stores.iter().all(|&(_, at, value, how)| at == pointer && how == mem && func.dfg.ty(value) == ty) {
        return None;
    }
    let values: Vec<Value> = stores.iter().map(|&(_, _, value, _)| value).collect();
    let value = joined(func, ways, join, &values);
    removed.extend(stores.iter().map(|&(inst, ..)| inst));
    let store = func.dfg.make_inst(
        InstData { op: Opcode::Store, args: [pointer, value].into_iter().collect(), imm: Imm::Mem(mem) },
        &[],
    );
    func.locs[store] = func.locs[first];
    Some(store)
}

/// What a block gets on all ways: the value itself if it is the same on all, else a parameter.
fn joined(func: &mut Function, ways: &[Block], join: Block, values: &[Value]) -> Value {
    if values.iter().all(|&value| value == values[0]) {
        return values[0];
    }
    let ty = func.dfg.ty(values[0]);
    for (&way, &value) in ways.iter().zip(values) {
        if let Some(end) = func.layout.terminator(way) {
            func.dfg.targets_mut(end)[0].args.push(value);
        }
    }
    func.dfg.append_param(join, ty)
}

/// Sinks the ops that compute a block's parameter on all ways, if nothing else uses their results, and at most one of their
/// operands depends on the way. Returns the parameter, and the op that replaces it, which has no place yet.
fn sink_op(
    func: &mut Function,
    uses: &UseCounts,
    ways: &[Block],
    join: Block,
    index: usize,
    removed: &mut EntitySet<Inst>,
) -> Option<(Value, Inst)> {
    let param = func.dfg.params(join)[index];
    let ty = func.dfg.ty(param);
    let mut insts = Vec::with_capacity(ways.len());
    for &way in ways {
        let end = func.layout.terminator(way)?;
        let value = *func.dfg.targets(end)[0].args.get(index)?;
        let inst = func.dfg.def_inst(value)?;
        if func.layout.block_of(inst) != Some(way) || removed.contains(inst) || uses.get(value) != 1 {
            return None;
        }
        insts.push(inst);
    }
    let mut data = func.dfg.inst(insts[0]).clone();
    func.dfg.single_result(insts[0]).filter(|_| data.op.is_pure() && !data.args.is_empty())?;
    let is_same = |&inst: &Inst| {
        let other = func.dfg.inst(inst);
        let types = || other.args.iter().zip(&data.args).all(|(&a, &b)| func.dfg.ty(a) == func.dfg.ty(b));
        other.op == data.op && other.imm == data.imm && other.args.len() == data.args.len() && types()
    };
    let is_pointer = |value: &Value| func.dfg.ty(*value).is_ptr();
    if is_pointer(&param) || data.args.iter().any(is_pointer) || !insts.iter().all(is_same) {
        return None;
    }
    let differs = |&at: &usize| insts.iter().any(|&inst| func.dfg.inst(inst).args[at] != data.args[at]);
    let mut differing = (0..data.args.len()).filter(differs);
    let (differing, more) = (differing.next(), differing.next());
    if more.is_some() {
        return None;
    }
    let loc = func.locs[insts[0]];
    if let Some(at) = differing {
        let operands: Vec<Value> = insts.iter().map(|&inst| func.dfg.inst(inst).args[at]).collect();
        data.args[at] = joined(func, ways, join, &operands);
    }
    for (&way, &inst) in ways.iter().zip(&insts) {
        let end = func.layout.terminator(way)?;
        func.dfg.targets_mut(end)[0].args.remove(index);
        removed.insert(inst);
    }
    func.dfg.remove_param(join, index);
    let made = func.dfg.make_inst(data, &[ty]);
    func.locs[made] = loc;
    Some((param, made))
}
