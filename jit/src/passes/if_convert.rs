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
//! **Cost model.** The two sides may have [`MAX_SIDES`] instructions in all, none of them a division, a root or a function, and
//! [`MAX_SELECTS`] values may depend on the branch. Cold blocks, branches that are there to skip work (`pack_any`), and choices
//! between pointers, whose origin passes on memory want to see, stay.

use clift_kir::analysis::Cfg;
use clift_kir::{Block, BlockCall, Builder, Function, Imm, Inst, Opcode, Value};

use super::{Changed, simplify_cfg};

/// The most instructions of both sides of a branch.
const MAX_SIDES: usize = 5;
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
    /// The instructions of the sides.
    sides: Vec<Inst>,
    /// The ways into the block where the sides meet: if true, if false.
    joins: [BlockCall; 2],
}

fn convertible(func: &Function, cfg: &Cfg, block: Block) -> Option<ShortBranch> {
    let terminator = func.layout.terminator(block)?;
    let data = func.dfg.inst(terminator);
    let Imm::Branch(calls) = &data.imm else { return None };
    let condition = data.args[0];
    let skips_work = func.dfg.def_inst(condition).is_some_and(|inst| func.dfg.inst(inst).op == Opcode::PackAny);
    if calls[0].block == calls[1].block || skips_work {
        return None;
    }
    let sides = [side(func, cfg, block, &calls[0]), side(func, cfg, block, &calls[1])];
    let (joins, insts) = match sides {
        [Some((a, x)), Some((b, y))] if a.block == b.block => ([a, b], [x, y].concat()),
        [Some((a, x)), _] if a.block == calls[1].block => ([a, calls[1].clone()], x.to_vec()),
        [_, Some((b, y))] if b.block == calls[0].block => ([calls[0].clone(), b], y.to_vec()),
        _ => return None,
    };
    if joins[0].block == block {
        return None;
    }
    let cost = insts.iter().filter(|&&inst| func.dfg.inst(inst).op != Opcode::Const).count();
    let differing = joins[0].args.iter().zip(&joins[1].args).filter(|(a, b)| a != b);
    let mut selects = 0;
    for (&a, _) in differing {
        if func.dfg.ty(a).is_ptr() {
            return None;
        }
        selects += 1;
    }
    (cost <= MAX_SIDES && selects <= MAX_SELECTS).then_some(ShortBranch { condition, sides: insts, joins })
}

/// One side of a branch, if it is cheap and ends with a jump: the jump with the arguments of the side's parameters, and the
/// instructions.
fn side<'f>(func: &'f Function, cfg: &Cfg, from: Block, call: &BlockCall) -> Option<(BlockCall, &'f [Inst])> {
    let block = call.block;
    if *cfg.preds(block) != [from] || block == from || !call.args.is_empty() || func.layout.is_cold(block) {
        return None;
    }
    let (&last, insts) = func.layout.insts(block).split_last()?;
    let Imm::Jump(join) = &func.dfg.inst(last).imm else { return None };
    let cheap = insts.iter().all(|&inst| is_cheap(func.dfg.inst(inst).op));
    (cheap && insts.len() <= 2 * MAX_SIDES && join.block != block).then(|| (join.clone(), insts))
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
    for &inst in &branch.sides {
        func.layout.remove_inst(inst);
        func.layout.append_inst(block, inst);
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
