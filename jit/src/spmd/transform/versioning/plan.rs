//! Which pieces of a kernel can have versions: planned without changing the kernel, because most blocks with assumptions begin
//! no piece.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use clift_kir::dfg::ValueDef;
use clift_kir::{Block, Inst, Value};
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Gains, pure_sources, synchronizes_group};
use crate::spmd::analysis::assumptions::Test;
use crate::spmd::transform::normalize::NormalForm;

/// The most instructions of a piece.
const MAX_PIECE: usize = 400;
/// The most tests before a piece.
const MAX_TESTS: usize = 16;
/// The most definitions of operands that are hoisted before a piece for one assumption.
const MAX_HOISTED: usize = 12;
/// The most instructions in later blocks that are looked at for a piece.
const MAX_LATER: usize = 200;

/// A piece that will be copied.
pub(super) struct PiecePlan {
    /// The block in which it begins. The piece is the rest of it and [`Self::blocks`].
    pub(super) at: Block,
    /// Instructions that move to that block. They are in [`Self::parts`].
    pub(super) hoisted: Vec<Inst>,
    /// The instructions of the first block.
    pub(super) parts: HeadParts,
    /// The other blocks, in reverse postorder.
    pub(super) blocks: Vec<Block>,
}

/// The instructions of the block in which a piece begins, by where they go.
#[derive(Default)]
pub(super) struct HeadParts {
    /// Instructions that stay before the test.
    pub(super) before: Vec<Inst>,
    /// Pure instructions that depend on assumptions. The tests and both versions need them.
    pub(super) shared: Vec<Inst>,
    /// All others.
    pub(super) after: Vec<Inst>,
    /// The instructions about which something is assumed.
    pub(super) assumed: Vec<Inst>,
}

/// Plans the pieces of a kernel.
pub(super) struct PiecePlans<'a> {
    normal: &'a NormalForm,
    gains: &'a Gains,
    /// The instructions about which something is assumed, by their blocks.
    assumed: Vec<(Block, Vec<Inst>)>,
    /// Blocks in which work-items of a group have to meet, and the headers of loops with such blocks.
    meeting: EntitySet<Block>,
    /// How many blocks and instructions have been looked at.
    #[cfg(test)]
    pub(super) visited: usize,
}

impl<'a> PiecePlans<'a> {
    pub(super) fn new(normal: &'a NormalForm, gains: &'a Gains) -> PiecePlans<'a> {
        let NormalForm { func, cfg, loops, .. } = normal;
        let is_assumed = |inst: &&Inst| gains.assumptions.contains_key(*inst);
        let assumed = |&block: &Block| (block, func.layout.insts(block).iter().filter(is_assumed).copied().collect());
        let mut meeting: EntitySet<Block> = EntitySet::new();
        for &block in cfg.rpo() {
            if func.layout.insts(block).iter().any(|&inst| synchronizes_group(func, inst)) {
                meeting.insert(block);
                let around = std::iter::successors(loops.innermost(block), |&id| loops.get(id).parent);
                meeting.extend(around.map(|id| loops.get(id).header));
            }
        }
        PiecePlans {
            normal,
            gains,
            assumed: gains.homes.iter().map(assumed).collect(),
            meeting,
            #[cfg(test)]
            visited: 0,
        }
    }

    /// The piece that begins in a block; `None` if there is none, or if it is too long.
    pub(super) fn of(&mut self, at: Block) -> Option<PiecePlan> {
        let mut useless: FxHashSet<Inst> = FxHashSet::default();
        loop {
            let plan = self.without(at, &useless)?;
            // What only helps behind the piece is not tested before it: the test would only fail more often.
            let inside: FxHashSet<Block> = plan.blocks.iter().copied().chain([at]).collect();
            let roots = self.gains.roots.iter().filter(|(block, _)| inside.contains(block)).map(|&(_, root)| root);
            let sources = pure_sources(&self.normal.func, &self.normal.cfg, roots);
            let before = useless.len();
            useless.extend(plan.parts.assumed.iter().filter(|inst| !sources.contains_key(inst)));
            if useless.len() == before {
                return Some(plan);
            }
        }
    }

    /// As [`Self::of`], without some assumptions.
    fn without(&mut self, at: Block, useless: &FxHashSet<Inst>) -> Option<PiecePlan> {
        let normal = self.normal;
        let mut split = Split::new(normal, self.gains, useless);
        let (&terminator, insts) = normal.func.layout.insts(at).split_last()?;
        insts.iter().for_each(|&inst| split.add(inst));
        let later = self.assumed.iter().filter(|(block, _)| *block != at && normal.dom.dominates(at, *block));
        let mut hoisted: FxHashMap<Inst, Block> = FxHashMap::default();
        for (block, inst) in
            later.flat_map(|(block, insts)| insts.iter().map(move |&inst| (block, inst))).take(MAX_LATER)
        {
            debug_assert!(normal.cfg.reaches(*block));
            #[cfg(test)]
            {
                self.visited += 1;
            }
            let mut moved = Vec::new();
            if !useless.contains(&inst) && movable(normal, at, inst, 0, (&hoisted, &mut moved)) {
                for inst in moved {
                    hoisted.extend(normal.func.layout.block_of(inst).map(|block| (inst, block)));
                    split.add(inst);
                }
            }
            // There are only more with what follows.
            if split.tests.len() > MAX_TESTS {
                return None;
            }
        }
        split.add(terminator);
        let parts = split.parts;
        if parts.assumed.is_empty() || split.tests.len() > MAX_TESTS {
            return None;
        }
        let blocks = self.blocks(at, &hoisted, parts.shared.len() + parts.after.len())?;
        Some(PiecePlan { at, hoisted: hoisted.into_keys().collect(), parts, blocks })
    }

    /// The blocks of the piece that begins in `at`, of whose instructions `head` belong to it; `None` if the piece gains
    /// nothing or is too long.
    fn blocks(&mut self, at: Block, hoisted: &FxHashMap<Inst, Block>, head: usize) -> Option<Vec<Block>> {
        let NormalForm { func, cfg, dom, loops, .. } = self.normal;
        let mut left: FxHashMap<Block, usize> = FxHashMap::default();
        for &block in hoisted.values() {
            *left.entry(block).or_default() += 1;
        }
        let size = |block: Block| match block == at {
            true => head,
            false => func.layout.insts(block).len() - left.get(&block).copied().unwrap_or_default(),
        };
        // Only the first block may have predecessors outside. Those of back edges are inside if all other predecessors of the
        // header are, and work-items do not meet in the loop.
        let mut inside: FxHashSet<Block> = FxHashSet::from_iter([at]);
        let mut found: Vec<Block> = Vec::new();
        let mut gaining: Vec<Block> = Vec::new();
        let mut gained = 0;
        let mut seen: FxHashSet<Block> = FxHashSet::default();
        let mut work: BinaryHeap<(Reverse<u32>, Block)> = BinaryHeap::from_iter([(Reverse(0), at)]);
        while let Some((_, block)) = work.pop() {
            #[cfg(test)]
            {
                self.visited += 1;
            }
            if block != at {
                let comes_back = |pred: Block| loops.headed_by(block).is_some_and(|id| loops.contains(id, pred));
                let enters = cfg.preds(block).iter().all(|&pred| inside.contains(&pred) || comes_back(pred));
                if !enters || self.meeting.contains(block) {
                    continue;
                }
                inside.insert(block);
                found.push(block);
            }
            if self.gains.blocks.contains(block) {
                gaining.push(block);
                gained += size(block);
                // All blocks that gain belong to the piece.
                if gained > MAX_PIECE {
                    return None;
                }
            }
            for &succ in cfg.succs(block) {
                let number = cfg.number(succ).unwrap_or_default();
                if succ != at && dom.dominates(at, succ) && seen.insert(succ) {
                    work.push((Reverse(number), succ));
                }
            }
        }
        // The piece ends after the last gain.
        if !gaining.iter().any(|&block| self.gains.paying.contains(block)) {
            return None;
        }
        let mut needed: FxHashSet<Block> = FxHashSet::default();
        let mut work = gaining;
        while let Some(block) = work.pop() {
            if needed.insert(block) && block != at {
                work.extend(cfg.preds(block));
            }
        }
        needed.insert(at);
        // A block that only jumps belongs to the piece if its predecessors do.
        for &block in &found {
            let leads_on = size(block) == 1 && cfg.succs(block).len() == 1;
            if leads_on && cfg.preds(block).iter().all(|pred| needed.contains(pred)) {
                needed.insert(block);
            }
        }
        found.retain(|block| needed.contains(block));
        let all: usize = head + found.iter().map(|&block| size(block)).sum::<usize>();
        (all <= MAX_PIECE).then_some(found)
    }
}

/// Sorts the instructions of the block in which a piece begins.
struct Split<'a> {
    normal: &'a NormalForm,
    gains: &'a Gains,
    /// Assumptions that are not made.
    useless: &'a FxHashSet<Inst>,
    parts: HeadParts,
    /// The tests before the piece.
    tests: FxHashSet<Test>,
    /// The results of [`HeadParts::after`] and [`HeadParts::shared`].
    after: FxHashSet<Value>,
    shared: FxHashSet<Value>,
    /// Whether instructions with effects still stay before the test.
    early: bool,
}

impl<'a> Split<'a> {
    fn new(normal: &'a NormalForm, gains: &'a Gains, useless: &'a FxHashSet<Inst>) -> Split<'a> {
        Split {
            normal,
            gains,
            useless,
            parts: HeadParts::default(),
            tests: FxHashSet::default(),
            after: FxHashSet::default(),
            shared: FxHashSet::default(),
            early: true,
        }
    }

    /// Adds the next instruction.
    fn add(&mut self, inst: Inst) {
        let func = &self.normal.func;
        let data = func.dfg.inst(inst);
        let (mut follows_test, mut depends) = (false, false);
        func.dfg.for_each_use(inst, |value| {
            follows_test |= self.after.contains(&value);
            depends |= self.shared.contains(&value);
        });
        let assumed = self.gains.assumptions.get(&inst).filter(|_| !self.useless.contains(&inst));
        let results = func.dfg.results(inst);
        if follows_test || data.op.is_terminator() || !data.op.is_pure() && (depends || !self.early) {
            self.early &= data.op.is_pure();
            self.after.extend(results);
            self.parts.after.push(inst);
        } else if assumed.is_some() || depends {
            self.shared.extend(results);
            self.parts.shared.push(inst);
            if let Some(tests) = assumed {
                self.parts.assumed.push(inst);
                self.tests.extend(tests);
            }
        } else {
            self.parts.before.push(inst);
        }
    }
}

/// Whether an instruction can be computed at the end of an earlier block, to which others are moved before. Collects the
/// instructions to move, operands first. `pending` users of it are to be moved as well.
fn movable(
    normal: &NormalForm,
    at: Block,
    inst: Inst,
    pending: usize,
    (hoisted, moved): (&FxHashMap<Inst, Block>, &mut Vec<Inst>),
) -> bool {
    let NormalForm { func, dom, .. } = normal;
    let is_there = |block: Block| dom.dominates(block, at);
    if moved.contains(&inst) || hoisted.contains_key(&inst) || func.layout.block_of(inst).is_none_or(is_there) {
        return true;
    }
    // All users on the path to this operand would move after it.
    if pending + moved.len() >= MAX_HOISTED {
        return false;
    }
    let data = func.dfg.inst(inst);
    let operand = |&arg: &Value| match func.dfg.def(arg) {
        ValueDef::Param(block, _) => is_there(block),
        ValueDef::Result(def, _) => movable(normal, at, def, pending + 1, (hoisted, moved)),
    };
    if !data.op.is_pure() || !data.args.iter().all(operand) || moved.len() >= MAX_HOISTED {
        return false;
    }
    moved.push(inst);
    true
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use clift_kir::text;

    use super::*;
    use crate::spmd::transform::normalize::{self, KnownOfPacks};

    /// How much is looked at for the pieces of a kernel with so many accesses whose indices are clamped, and barriers between.
    fn visited(accesses: usize) -> usize {
        let mut text = "function f0 \"k\" canonical {
b0:
    v1: ptr(global) = arg 0
    v2: i64 = global_id 0
    v3: i32 = itrunc v2
    v4: i32 = const 0
"
        .to_owned();
        for i in 1..=accesses {
            let [c, index, clamped, wide, address, value] = [0, 1, 2, 3, 4, 5].map(|at| format!("v{}", 10 * i + at));
            let _ = write!(
                text,
                "    {c}: i32 = const -{i}
    {index}: i32 = iadd v3, {c}
    {clamped}: i32 = smax {index}, v4
    {wide}: i64 = sext {clamped}
    {address}: ptr(global) = addr scale 4 v1, {wide}
    barrier {i} work_group work_group global
    {value}: i32 = load align 4 {address}
    store align 4 {address}, v4
"
            );
        }
        text += "    ret\n}\n";
        let mut func = text::parse_function(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        super::super::split_at_barriers(&mut func);
        let normal = normalize::run(&func).unwrap();
        let gains = Gains::new(&normal, (16, KnownOfPacks::Whole), |_| true, 0);
        assert!(gains.assumptions.len() >= accesses, "{}", gains.assumptions.len());
        let mut plans = PiecePlans::new(&normal, &gains);
        for &at in &gains.homes {
            plans.of(at);
        }
        plans.visited
    }

    #[test]
    fn grows_linearly_with_the_kernel() {
        let (some, more) = (visited(500), visited(2000));
        assert!(more <= 4 * some + some / 2, "{some} steps for 500 accesses, {more} for 2000");
    }
}
