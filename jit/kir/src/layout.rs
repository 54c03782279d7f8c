//! Layout: the blocks of a function and their instructions, in order.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};

use crate::dfg::Renumbering;
use crate::entities::{Block, Inst};

/// The order of blocks and instructions. The first block is the entry.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    order: Vec<Block>,
    insts: SecondaryMap<Block, Vec<Inst>>,
    inst_block: SecondaryMap<Inst, PackedOption<Block>>,
    placed: SecondaryMap<Block, bool>,
    cold: SecondaryMap<Block, bool>,
}

impl Layout {
    /// Blocks in order.
    pub fn blocks(&self) -> &[Block] {
        &self.order
    }

    /// The entry block, if there is any block.
    pub fn entry(&self) -> Option<Block> {
        self.order.first().copied()
    }

    /// Whether the block is in the function.
    pub fn contains(&self, block: Block) -> bool {
        self.placed[block]
    }

    /// Whether the block is marked as cold: it is rarely executed, and nothing should be hoisted above it only for its sake. The
    /// blocks that it dominates are cold too ([`crate::analysis::Cold`]).
    pub fn is_cold(&self, block: Block) -> bool {
        self.cold[block]
    }

    /// Marks a block as cold.
    pub fn set_cold(&mut self, block: Block) {
        self.cold[block] = true;
    }

    /// Removes the mark of a cold block.
    pub fn clear_cold(&mut self, block: Block) {
        self.cold[block] = false;
    }

    /// Puts a block at the end.
    pub fn append_block(&mut self, block: Block) {
        debug_assert!(!self.placed[block]);
        self.placed[block] = true;
        self.order.push(block);
    }

    /// Puts a block right after another.
    pub fn insert_block_after(&mut self, block: Block, after: Block) {
        debug_assert!(!self.placed[block]);
        self.placed[block] = true;
        let at = self.order.iter().position(|&b| b == after).map_or(self.order.len(), |i| i + 1);
        self.order.insert(at, block);
    }

    /// Puts blocks right after another one, in their order.
    pub fn insert_blocks_after(&mut self, blocks: &[Block], after: Block) {
        for &block in blocks {
            debug_assert!(!self.placed[block]);
            self.placed[block] = true;
        }
        let at = self.order.iter().position(|&b| b == after).map_or(self.order.len(), |i| i + 1);
        self.order.splice(at..at, blocks.iter().copied());
    }

    /// Removes a block with all its instructions.
    pub fn remove_block(&mut self, block: Block) {
        self.placed[block] = false;
        self.order.retain(|&b| b != block);
        for inst in std::mem::take(&mut self.insts[block]) {
            self.inst_block[inst] = None.into();
        }
    }

    /// Replaces the order of blocks; the same blocks, or fewer (those left out are removed).
    pub fn set_order(&mut self, order: Vec<Block>) {
        let old = std::mem::take(&mut self.order);
        for &block in &old {
            self.placed[block] = false;
        }
        for &block in &order {
            self.placed[block] = true;
        }
        for block in old {
            if !self.placed[block] {
                for inst in std::mem::take(&mut self.insts[block]) {
                    self.inst_block[inst] = None.into();
                }
            }
        }
        self.order = order;
    }

    /// Instructions of a block in order.
    pub fn insts(&self, block: Block) -> &[Inst] {
        &self.insts[block]
    }

    /// The last instruction of a block: its terminator, once the block is complete.
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        self.insts[block].last().copied()
    }

    /// The block that contains an instruction.
    pub fn block_of(&self, inst: Inst) -> Option<Block> {
        self.inst_block[inst].expand()
    }

    /// Puts an instruction at the end of a block.
    pub fn append_inst(&mut self, block: Block, inst: Inst) {
        self.inst_block[inst] = Some(block).into();
        self.insts[block].push(inst);
    }

    /// Puts an instruction at a position of a block.
    pub fn insert_inst(&mut self, block: Block, index: usize, inst: Inst) {
        self.inst_block[inst] = Some(block).into();
        self.insts[block].insert(index, inst);
    }

    /// Puts instructions at a position of a block, in their order.
    pub fn insert_insts(&mut self, block: Block, index: usize, insts: &[Inst]) {
        for &inst in insts {
            self.inst_block[inst] = Some(block).into();
        }
        self.insts[block].splice(index..index, insts.iter().copied());
    }

    /// The position of an instruction in its block. Linear in the block's length.
    pub fn position(&self, inst: Inst) -> Option<(Block, usize)> {
        let block = self.block_of(inst)?;
        let index = self.insts[block].iter().position(|&i| i == inst)?;
        Some((block, index))
    }

    /// Removes instructions from all blocks. Linear in the function's length.
    pub fn remove_insts(&mut self, removed: &EntitySet<Inst>) {
        if removed.is_empty() {
            return;
        }
        for i in 0..self.order.len() {
            self.retain(self.order[i], |inst| !removed.contains(inst));
        }
    }

    /// Removes an instruction. Linear in the block's length; passes that remove many use [`Self::remove_insts`].
    pub fn remove_inst(&mut self, inst: Inst) {
        if let Some((block, index)) = self.position(inst) {
            self.insts[block].remove(index);
            self.inst_block[inst] = None.into();
        }
    }

    /// Keeps the instructions of a block for which `keep` holds.
    pub fn retain(&mut self, block: Block, mut keep: impl FnMut(Inst) -> bool) {
        let inst_block = &mut self.inst_block;
        self.insts[block].retain(|&inst| {
            let kept = keep(inst);
            if !kept {
                inst_block[inst] = None.into();
            }
            kept
        });
    }

    /// Removes all instructions of a block and returns them.
    pub fn take_insts(&mut self, block: Block) -> Vec<Inst> {
        let insts = std::mem::take(&mut self.insts[block]);
        for &inst in &insts {
            self.inst_block[inst] = None.into();
        }
        insts
    }

    /// Replaces the instructions of a block.
    pub fn set_insts(&mut self, block: Block, insts: Vec<Inst>) {
        for inst in std::mem::take(&mut self.insts[block]) {
            if self.inst_block[inst].expand() == Some(block) {
                self.inst_block[inst] = None.into();
            }
        }
        for &inst in &insts {
            self.inst_block[inst] = Some(block).into();
        }
        self.insts[block] = insts;
    }

    /// Replaces the terminator of `block` by the instructions of `next`, which has none afterwards. Linear in the length of
    /// `next`.
    pub fn merge(&mut self, block: Block, next: Block) {
        if let Some(terminator) = self.insts[block].pop() {
            self.inst_block[terminator] = None.into();
        }
        let moved = std::mem::take(&mut self.insts[next]);
        for &inst in &moved {
            self.inst_block[inst] = Some(block).into();
        }
        self.insts[block].extend(moved);
    }

    /// Moves the instructions of `block` from position `at` on to the end of `new`.
    pub fn split_off(&mut self, block: Block, at: usize, new: Block) {
        let tail = self.insts[block].split_off(at);
        for &inst in &tail {
            self.inst_block[inst] = Some(new).into();
        }
        self.insts[new].extend(tail);
    }

    /// Gives blocks and instructions their new numbers, and forgets those that have none.
    pub(crate) fn renumber(&mut self, numbers: &Renumbering) {
        let mut old = std::mem::take(self);
        for block in old.order {
            let new = numbers.block(block);
            self.append_block(new);
            self.cold[new] = old.cold[block];
            let insts = std::mem::take(&mut old.insts[block]);
            self.set_insts(new, insts.into_iter().map(|inst| numbers.inst(inst)).collect());
        }
    }
}
