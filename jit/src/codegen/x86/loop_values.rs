//! Live-range splitting at loops: vectors that an innermost loop uses get registers of their own there.
//!
//! When a value does not find a register for its whole live range, regalloc2 splits the range, and keeps the value in memory
//! after the last use of each part in the order of the code. In a loop that is before its end: the value is stored and loaded
//! again in each iteration, although the registers would hold all values of the loop. The time from the store to the load is
//! even longer than most loops' iterations.
//!
//! So where some part of a function needs more registers than there are, or has calls, and a loop does not, the vectors that
//! the loop uses are copied before it, and it uses the copies.

use regalloc2::{Block, Function, Operand, OperandKind, RegClass, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Level;
use super::code::{MachFunc, MachInst, ZMM};
use super::liveness::{Liveness, ValueSet};

/// Functions of more instructions are left alone: finding the values alive takes time.
const MAX_INSTS: usize = 16384;
/// Registers that the values of a loop leave free.
const SPARE: usize = 2;
/// The class whose live ranges are split. Scalars in memory take little more time than in registers, and copies some of it.
const CLASS: RegClass = ZMM;

/// Splits the live ranges of a function's vectors at its innermost loops.
pub(super) fn split_at_loops(code: &mut MachFunc, level: Level) {
    if code.num_insts() > MAX_INSTS {
        return;
    }
    let loops = innermost_loops(code);
    if loops.is_empty() {
        return;
    }
    let available = super::emit::environment(level).preferred_regs_by_class[CLASS as usize].into_iter().count();
    let Some(liveness) = Liveness::of(code) else { return };
    let mut everywhere = 0;
    for block in (0..code.num_blocks()).map(Block::new) {
        liveness.visit(code, block, |live| everywhere = live.count(CLASS).max(everywhere));
    }
    let mut clobbered = code.insts.iter().flat_map(|inst| inst.clobbers);
    if everywhere <= available && !clobbered.any(|register| register.class() == CLASS) {
        return;
    }
    let mut splits = Vec::new();
    for InnermostLoop { preheader, blocks } in loops {
        let insts = blocks.iter().flat_map(|&block| code.block_insns(block).iter());
        if insts.into_iter().any(|inst| code.inst_clobbers(inst).into_iter().next().is_some()) {
            continue;
        }
        let values = LoopValues::of(code, &blocks);
        let mut within = 0;
        for &block in &blocks {
            liveness.visit(code, block, |live| within = values.count(live).max(within));
        }
        if within + SPARE > available {
            continue;
        }
        let outer = values.used.difference(&values.defined).copied();
        let mut copied: Vec<VReg> = outer.filter(|value| value.class() == CLASS).collect();
        copied.sort_unstable_by_key(|value| value.vreg());
        if !copied.is_empty() {
            splits.push((preheader, blocks, copied));
        }
    }
    let mut moves: FxHashMap<Block, Vec<MachInst>> = FxHashMap::default();
    for (preheader, blocks, copied) in splits {
        let mut copies: FxHashMap<VReg, VReg> = FxHashMap::default();
        for value in copied {
            let copy = code.fresh(value.class());
            copies.insert(value, copy);
            moves.entry(preheader).or_default().push(MachInst::copy(copy, value, level));
        }
        for &block in &blocks {
            rename(code, block, &blocks, &copies);
        }
    }
    code.insert_at_ends(moves);
}

/// An innermost loop with one block from which it is entered.
struct InnermostLoop {
    preheader: Block,
    blocks: FxHashSet<Block>,
}

/// The innermost natural loops of a function.
fn innermost_loops(code: &MachFunc) -> Vec<InnermostLoop> {
    let mut bodies: FxHashMap<Block, FxHashSet<Block>> = FxHashMap::default();
    let mut headers = Vec::new();
    for at in 0..code.num_blocks() {
        let latch = Block::new(at);
        for &header in code.block_succs(latch) {
            if header.index() <= at
                && let Some(body) = natural_loop(code, header, latch)
            {
                headers.push(header);
                bodies.entry(header).or_default().extend(body);
            }
        }
    }
    headers.dedup();
    let header_set: FxHashSet<Block> = headers.iter().copied().collect();
    let mut loops = Vec::new();
    for header in headers {
        let Some(blocks) = bodies.remove(&header) else { continue };
        let is_innermost = !blocks.iter().any(|&block| block != header && header_set.contains(&block));
        let mut entering = code.block_preds(header).iter().copied().filter(|pred| !blocks.contains(pred));
        if is_innermost && let (Some(preheader), None) = (entering.next(), entering.next()) {
            loops.push(InnermostLoop { preheader, blocks });
        }
    }
    loops
}

/// The blocks from which a latch is reached without the header, and the header; `None` if the entry of the function is among
/// them.
fn natural_loop(code: &MachFunc, header: Block, latch: Block) -> Option<FxHashSet<Block>> {
    let mut blocks = FxHashSet::from_iter([header]);
    let mut work = vec![latch];
    while let Some(block) = work.pop() {
        if blocks.insert(block) {
            if block == code.entry_block() {
                return None;
            }
            work.extend(code.block_preds(block));
        }
    }
    Some(blocks)
}

/// The values of a loop.
struct LoopValues {
    used: FxHashSet<VReg>,
    defined: FxHashSet<VReg>,
}

impl LoopValues {
    fn of(code: &MachFunc, blocks: &FxHashSet<Block>) -> LoopValues {
        let mut values = LoopValues { used: FxHashSet::default(), defined: FxHashSet::default() };
        for &block in blocks {
            values.defined.extend(code.block_params(block));
            for inst in code.block_insns(block).iter() {
                for operand in code.inst_operands(inst) {
                    match operand.kind() {
                        OperandKind::Def => values.defined.insert(operand.vreg()),
                        OperandKind::Use => values.used.insert(operand.vreg()),
                    };
                }
            }
        }
        values
    }

    /// How many of some values are the loop's, and of the class that is split.
    fn count(&self, live: &ValueSet) -> usize {
        let own = |value: &VReg| self.used.contains(value) || self.defined.contains(value);
        live.values().iter().filter(|value| value.class() == CLASS && own(value)).count()
    }
}

/// Renames the values that a block of a loop uses.
fn rename(code: &mut MachFunc, block: Block, blocks: &FxHashSet<Block>, copies: &FxHashMap<VReg, VReg>) {
    let renamed = |value: VReg| copies.get(&value).copied().unwrap_or(value);
    for inst in code.block_insns(block).iter() {
        for operand in &mut code.insts[inst.index()].operands {
            if operand.kind() == OperandKind::Use {
                *operand = Operand::new(renamed(operand.vreg()), operand.constraint(), operand.kind(), operand.pos());
            }
        }
    }
    let laid = &mut code.blocks[block.index()];
    for (succ, args) in laid.succs.iter().zip(&mut laid.args) {
        if blocks.contains(succ) {
            args.iter_mut().for_each(|arg| *arg = renamed(*arg));
        }
    }
}
