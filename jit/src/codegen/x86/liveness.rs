//! Which values are alive at the begin of each block, before register allocation.

use std::collections::BinaryHeap;

use regalloc2::{Block, Function, OperandKind, RegClass, VReg};

use super::code::MachFunc;

/// Steps per instruction that finding the values alive may take.
const PATIENCE: usize = 512;

/// The values alive at the begin of each block: few of all that there are.
#[derive(Debug)]
pub(super) struct Liveness {
    live_in: Vec<Vec<VReg>>,
}

impl Liveness {
    /// `None` when finding the values takes long, as it does with very many that are alive through very many blocks.
    pub(super) fn of(code: &MachFunc) -> Option<Liveness> {
        let blocks = code.num_blocks();
        let mut liveness = Liveness { live_in: vec![Vec::new(); blocks] };
        let mut queued = vec![true; blocks];
        // The last blocks come first: what is alive at the end of a block should be known when the block is visited.
        let mut work: BinaryHeap<usize> = (0..blocks).collect();
        let mut spent = 0usize;
        while let Some(at) = work.pop() {
            queued[at] = false;
            let block = Block::new(at);
            let live = liveness.visit(code, block, |_| spent += 1);
            spent += live.words.len();
            if spent > PATIENCE * code.num_insts() {
                return None;
            }
            // The sets only grow.
            if live.len() != liveness.live_in[at].len() {
                liveness.live_in[at] = live.values();
                for pred in code.block_preds(block) {
                    if !std::mem::replace(&mut queued[pred.index()], true) {
                        work.push(pred.index());
                    }
                }
            }
        }
        Some(liveness)
    }

    /// Calls a function with the values alive after each instruction of a block, the last one first. Returns those alive at its
    /// begin.
    pub(super) fn visit(&self, code: &MachFunc, block: Block, mut after: impl FnMut(&ValueSet)) -> ValueSet {
        let mut live = ValueSet::default();
        let insts = code.block_insns(block);
        let succs = code.block_succs(block);
        for succ in succs {
            self.live_in[succ.index()].iter().for_each(|&value| live.insert(value));
        }
        if let Some(inst) = insts.iter().last() {
            for succ in 0..succs.len() {
                code.branch_blockparams(block, inst, succ).iter().for_each(|&value| live.insert(value));
            }
        }
        for inst in insts.iter().rev() {
            after(&live);
            for operand in code.inst_operands(inst) {
                if operand.kind() == OperandKind::Def {
                    live.remove(operand.vreg());
                }
            }
            for operand in code.inst_operands(inst) {
                if operand.kind() == OperandKind::Use {
                    live.insert(operand.vreg());
                }
            }
        }
        code.block_params(block).iter().for_each(|&value| live.remove(value));
        live
    }
}

/// A set of virtual registers that knows how many of each class it has.
#[derive(Debug, Default)]
pub(super) struct ValueSet {
    /// By class.
    words: Vec<[u64; 3]>,
    counts: [usize; 3],
}

impl ValueSet {
    pub(super) fn len(&self) -> usize {
        self.counts.iter().sum()
    }

    /// How many of a class it has.
    pub(super) fn count(&self, class: RegClass) -> usize {
        self.counts[class as usize]
    }

    fn insert(&mut self, value: VReg) {
        let (word, bit, class) = (value.vreg() / 64, 1 << (value.vreg() % 64), value.class() as usize);
        if word >= self.words.len() {
            self.words.resize(word + 1, [0; 3]);
        }
        self.counts[class] += usize::from(self.words[word][class] & bit == 0);
        self.words[word][class] |= bit;
    }

    fn remove(&mut self, value: VReg) {
        let (word, bit, class) = (value.vreg() / 64, 1 << (value.vreg() % 64), value.class() as usize);
        if let Some(word) = self.words.get_mut(word) {
            self.counts[class] -= usize::from(word[class] & bit != 0);
            word[class] &= !bit;
        }
    }

    pub(super) fn values(&self) -> Vec<VReg> {
        const CLASSES: [RegClass; 3] = [RegClass::Int, RegClass::Float, RegClass::Vector];
        let mut values = Vec::with_capacity(self.len());
        for (at, words) in self.words.iter().enumerate() {
            for class in CLASSES {
                let mut rest = words[class as usize];
                while rest != 0 {
                    values.push(VReg::new(at * 64 + rest.trailing_zeros() as usize, class));
                    rest &= rest - 1;
                }
            }
        }
        values
    }
}
