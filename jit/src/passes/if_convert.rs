//! If-conversion: a branch around a few cheap instructions becomes selects.
//!
//! ```text
//! branch c, a, b                       x = ...
//! a: x = ...                           y = ...
//!    jump join(x)            ->        z = select c, x, y
//! b: y = ...                           jump join(z)
//!    jump join(y)
//! ```
//!
//! No op traps, so whatever is pure may be executed where the branch would have skipped it. A pack executes both sides of a
//! divergent branch anyway, but without masks this way; otherwise a misprediction costs more than the skipped instructions.
//!
//! A store to private memory that the block before the branch has accessed at the same address becomes one of a select: what is
//! there stays where the condition does not hold. No other work-item sees private memory. So a swap of neighbours in a sort,
//! which is what this is for, is two selects: later passes see what is stored, and masked stores would not be forwarded to
//! loads.
//!
//! **Cost model.** The two sides may have [`MAX_SIDES`] instructions in all, of which products of 64-bit integers count as
//! several ([`PRODUCT_64`]), none of them a division, a root or a function, besides [`MAX_STORES`] stores, and [`MAX_SELECTS`]
//! values may depend on the branch. Cold sides, branches that are there to skip work (`pack_any`), and choices between
//! pointers, whose origin passes on memory want to see, stay.

use clift_kir::analysis::Cfg;
use clift_kir::dfg::ValueDef;
use clift_kir::{Block, BlockCall, Builder, Elem, Function, Imm, Inst, MemInfo, Opcode, Space, Type, Value};

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::{Changed, simplify_cfg};

/// The most instructions of both sides of a branch.
const MAX_SIDES: usize = 5;
/// How many instructions a product of 64-bit integers counts as: vectors of them take three to eight.
const PRODUCT_64: usize = 5;
/// The most stores of both sides of a branch.
const MAX_STORES: usize = 4;
/// The most values that depend on a branch.
const MAX_SELECTS: usize = 4;
/// How many nested branches are converted.
const MAX_ROUNDS: usize = 3;

/// Converts inner branches, then those around them.
pub(super) fn run(func: &mut Function) -> Changed {
    let mut changed = false;
    for _ in 0..MAX_ROUNDS {
        if !round(func) {
            break;
        }
        changed = true;
        simplify_cfg::run(func);
    }
    Changed(changed)
}

fn round(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let mut changed = false;
    for &block in cfg.rpo() {
        if let Some(branch) = convertible(func, &cfg, block) {
            convert(func, block, &branch);
            changed = true;
        }
    }
    changed
}

/// A branch whose sides meet again at once.
struct ShortBranch {
    condition: Value,
    /// The instructions of the sides: if true, if false.
    sides: [Vec<Inst>; 2],
    /// The ways into the block where the sides meet: if true, if false.
    joins: [BlockCall; 2],
}

fn convertible(func: &Function, cfg: &Cfg, block: Block) -> Option<ShortBranch> {
    let terminator = func.layout.terminator(block)?;
    let data = func.dfg.inst(terminator);
    let Imm::Branch(calls) = &data.imm else { return None };
    let condition = data.args[0];
    let skips_work = func.dfg.def_inst(condition).is_some_and(|inst| func.dfg.inst(inst).op == Opcode::PackAny);
    if skips_work {
        return None;
    }
    let sides = [side(func, cfg, block, &calls[0]), side(func, cfg, block, &calls[1])];
    let (joins, sides) = match sides {
        _ if calls[0].block == calls[1].block => (*calls.clone(), Default::default()),
        [Some((a, x)), Some((b, y))] if a.block == b.block => ([a, b], [x.to_vec(), y.to_vec()]),
        [Some((a, x)), _] if a.block == calls[1].block => ([a, calls[1].clone()], [x.to_vec(), Vec::new()]),
        [_, Some((b, y))] if b.block == calls[0].block => ([calls[0].clone(), b], [Vec::new(), y.to_vec()]),
        _ => return None,
    };
    let same_target = calls[0].block == calls[1].block;
    if joins[0].block == block || same_target && waits_for_loads(func, cfg, condition, &joins) {
        return None;
    }
    let insts = || sides.iter().flatten();
    let cost: usize = insts().map(|&inst| cost_of(func, inst)).sum();
    let stores = insts().filter(|&&inst| func.dfg.inst(inst).op == Opcode::Store).count();
    let differing = joins[0].args.iter().zip(&joins[1].args).filter(|(a, b)| a != b);
    let mut selects = 0;
    for (&a, _) in differing {
        if func.dfg.ty(a).is_ptr() {
            return None;
        }
        selects += 1;
    }
    let short = cost <= MAX_SIDES && stores <= MAX_STORES && selects <= MAX_SELECTS;
    short.then_some(ShortBranch { condition, sides, joins })
}

/// How many instructions of a side one counts as.
fn cost_of(func: &Function, inst: Inst) -> usize {
    let op = func.dfg.inst(inst).op;
    let is_product_64 = || op == Opcode::Imul && func.dfg.ty(func.dfg.result(inst)).elem == Elem::I64;
    if matches!(op, Opcode::Const | Opcode::Store) {
        0
    } else if is_product_64() {
        PRODUCT_64
    } else {
        1
    }
}

/// How many values are looked at to find what a condition depends on.
const MAX_LOOKED_AT: usize = 64;
/// How many ways into a block.
const MAX_WAYS: usize = 8;

/// Whether a branch decides which memory a later iteration loads to decide the same branch, as in the search for the least of
/// several records by its number. With a select, each iteration would wait for the loads of the one before; a branch is
/// predicted.
fn waits_for_loads(func: &Function, cfg: &Cfg, condition: Value, joins: &[BlockCall; 2]) -> bool {
    let join = joins[0].block;
    let depends = |param: Value| {
        let at = func.dfg.params(join).iter().position(|&other| other == param);
        at.is_some_and(|at| joins[0].args[at] != joins[1].args[at])
    };
    // Values, and whether the condition depends on them through a load.
    let mut work = vec![(condition, false)];
    let mut seen: FxHashSet<(Value, bool)> = work.iter().copied().collect();
    while let Some((value, loaded)) = work.pop() {
        if loaded && depends(value) {
            return true;
        }
        let mut sources: SmallVec<[Value; 4]> = SmallVec::new();
        let mut through_load = loaded;
        match func.dfg.def(value) {
            ValueDef::Result(inst, _) => {
                let data = func.dfg.inst(inst);
                through_load |= data.op == Opcode::Load;
                sources.extend(data.args.iter().copied());
            }
            // Too many ways to look at.
            ValueDef::Param(block, _) if cfg.preds(block).len() > MAX_WAYS => return true,
            ValueDef::Param(block, index) => {
                for &pred in cfg.preds(block) {
                    let Some(terminator) = func.layout.terminator(pred) else { continue };
                    if matches!(func.dfg.inst(terminator).imm, Imm::Switch(_)) {
                        return true;
                    }
                    let calls = func.dfg.targets(terminator).into_iter().filter(|call| call.block == block);
                    sources.extend(calls.map(|call| call.args[usize::from(index)]));
                }
            }
        }
        for source in sources {
            if seen.len() < MAX_LOOKED_AT && seen.insert((source, through_load)) {
                work.push((source, through_load));
            }
        }
    }
    false
}

/// One side of a branch, if it is cheap and ends with a jump: the jump with the arguments of the side's parameters, and the
/// instructions.
fn side<'f>(func: &'f Function, cfg: &Cfg, from: Block, call: &BlockCall) -> Option<(BlockCall, &'f [Inst])> {
    let block = call.block;
    let is_rare = func.layout.is_cold(block) && !func.layout.is_cold(from);
    if *cfg.preds(block) != [from] || block == from || !call.args.is_empty() || is_rare {
        return None;
    }
    let (&last, insts) = func.layout.insts(block).split_last()?;
    let Imm::Jump(join) = &func.dfg.inst(last).imm else { return None };
    let may_be_short = insts.len() <= 2 * MAX_SIDES + MAX_STORES && join.block != block;
    let cheap = |&inst: &Inst| {
        is_cheap(func.dfg.inst(inst).op)
            || private_access(func, inst).is_some_and(|access| {
                func.layout
                    .insts(from)
                    .iter()
                    .rev()
                    .take(LOOK_BACK)
                    .any(|&other| private_access(func, other) == Some(access))
            })
    };
    (may_be_short && insts.iter().all(cheap)).then(|| (join.clone(), insts))
}

/// How many instructions before a branch are searched for an access to the same address.
const LOOK_BACK: usize = 64;

/// The address and the type of a load from private memory or a store to it.
fn private_access(func: &Function, inst: Inst) -> Option<(Value, Type)> {
    let data = func.dfg.inst(inst);
    let Imm::Mem(MemInfo { volatile: false, .. }) = data.imm else { return None };
    let accessed = if data.op == Opcode::Load {
        func.dfg.single_result(inst)?
    } else if data.op == Opcode::Store {
        data.args[1]
    } else {
        return None;
    };
    let pointer = data.args[0];
    (func.dfg.ty(pointer).elem.space() == Some(Space::Private)).then(|| (pointer, func.dfg.ty(accessed)))
}

/// Whether an op takes a few cycles at most.
fn is_cheap(op: Opcode) -> bool {
    let is_slow = matches!(
        op,
        Opcode::Udiv
            | Opcode::Sdiv
            | Opcode::Urem
            | Opcode::Srem
            | Opcode::Fdiv
            | Opcode::Sqrt
            | Opcode::LibCall
            | Opcode::Reduce
            | Opcode::PackAny
    );
    op.is_pure() && !is_slow
}

fn convert(func: &mut Function, block: Block, branch: &ShortBranch) {
    let Some(terminator) = func.layout.terminator(block) else { return };
    let loc = func.locs[terminator];
    func.layout.remove_inst(terminator);
    for (side, insts) in branch.sides.iter().enumerate() {
        for &inst in insts {
            func.layout.remove_inst(inst);
            let data = func.dfg.inst(inst);
            if let (Opcode::Store, &Imm::Mem(mem)) = (data.op, &data.imm) {
                let (pointer, new) = (data.args[0], data.args[1]);
                let mut b = Builder::at_end(func, block);
                b.set_loc(loc);
                let old = b.load(b.ty(new), pointer, mem);
                let [then, otherwise] = if side == 0 { [new, old] } else { [old, new] };
                let stored = b.select(branch.condition, then, otherwise);
                b.store(pointer, stored, mem);
            } else {
                func.layout.append_inst(block, inst);
            }
        }
    }
    let mut b = Builder::at_end(func, block);
    b.set_loc(loc);
    let [then, otherwise] = &branch.joins;
    let args: Vec<Value> = then
        .args
        .iter()
        .zip(&otherwise.args)
        .map(|(&x, &y)| if x == y { x } else { b.select(branch.condition, x, y) })
        .collect();
    b.jump(then.block, &args);
}
