//! The control-flow graph of a SPIR-V function: reachable blocks, the order in which they are imported, and dominance, which are
//! the kernel IR's analyses of that graph. Any graph is accepted, irreducible ones included; merge instructions are hints and
//! ignored.

use clift_kir::Block;
use clift_kir::analysis::{self, DomTree};
use cranelift_entity::EntityRef;
use rspirv::dr::Operand;
use rspirv::spirv::Op;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::module::{FunctionDef, Module};
use super::words::{Inst, InstError};

/// A function's graph. Blocks are numbered in the order of the function.
#[derive(Clone, Debug)]
pub(crate) struct Cfg {
    /// Block number by label.
    pub(crate) index: FxHashMap<u32, usize>,
    /// The number of blocks, with those that are not reachable.
    pub(crate) count: usize,
    graph: analysis::Cfg,
    dominators: DomTree,
}

/// The target labels of a terminator, in operand order.
pub(crate) fn targets(inst: &Inst) -> Result<Vec<u32>, InstError> {
    if inst.op() == Op::Branch {
        return Ok(vec![inst.id(0)?]);
    }
    if inst.op() == Op::BranchConditional {
        return Ok(vec![inst.id(1)?, inst.id(2)?]);
    }
    if inst.op() != Op::Switch {
        return Ok(Vec::new());
    }
    let mut labels = vec![inst.id(1)?];
    // Literal and label alternate after the default.
    for (index, operand) in inst.dr.operands.iter().enumerate().skip(2) {
        let is_literal = matches!(operand, Operand::LiteralBit32(_) | Operand::LiteralBit64(_));
        if let &Operand::IdRef(label) = operand
            && index % 2 == 1
        {
            labels.push(label);
        } else if !is_literal || index % 2 == 1 {
            return Err(InstError::malformed("a case is not a literal followed by a label"));
        }
    }
    if inst.len() % 2 == 1 {
        return Err(InstError::malformed("the last case has no label"));
    }
    Ok(labels)
}

impl Cfg {
    /// The graph of straight-line code: one block.
    pub(crate) fn single() -> Cfg {
        Self::of_graph(FxHashMap::default(), &[SmallVec::new()])
    }

    /// The graph of a function that has blocks.
    pub(crate) fn new(module: &Module, function: &FunctionDef) -> Result<Cfg, crate::ImportError> {
        let index: FxHashMap<u32, usize> = function.blocks.iter().enumerate().map(|(i, b)| (b.label, i)).collect();
        let mut succs: Vec<SmallVec<[Block; 2]>> = Vec::with_capacity(function.blocks.len());
        for block in &function.blocks {
            let Some(last) = block.insts.clone().next_back() else {
                unreachable!("broken invariant: a block has a terminator")
            };
            let inst = &module.insts[last];
            let mut list = SmallVec::new();
            for label in targets(inst).map_err(|error| error.at(inst))? {
                let Some(&target) = index.get(&label) else {
                    return Err(InstError::malformed(format!("%{label} is not a block of this function")).at(inst));
                };
                if target == 0 {
                    return Err(InstError::malformed("a branch targets the entry block").at(inst));
                }
                list.push(Block::new(target));
            }
            list.sort_unstable();
            list.dedup();
            succs.push(list);
        }
        Ok(Self::of_graph(index, &succs))
    }

    /// A graph by the successors of each block, from the first block on.
    fn of_graph(index: FxHashMap<u32, usize>, succs: &[SmallVec<[Block; 2]>]) -> Cfg {
        let graph = analysis::Cfg::of_graph(Some(Block::new(0)), succs.len(), |block| succs[block.index()].clone());
        let dominators = DomTree::new(&graph);
        Cfg { index, count: succs.len(), graph, dominators }
    }

    /// Reachable blocks in reverse postorder: a block comes after its dominators.
    pub(crate) fn order(&self) -> impl Iterator<Item = usize> {
        self.graph.rpo().iter().map(|block| block.index())
    }

    /// Whether a block is reachable.
    pub(crate) fn reaches(&self, block: usize) -> bool {
        self.graph.reaches(Block::new(block))
    }

    /// Reachable predecessors of a block, each once.
    pub(crate) fn preds(&self, block: usize) -> impl Iterator<Item = usize> {
        self.graph.preds(Block::new(block)).iter().map(|pred| pred.index())
    }

    /// Whether there is an edge from one block, which is reachable, to another one.
    pub(crate) fn has_edge(&self, from: usize, to: usize) -> bool {
        let number = |block: &Block| self.graph.number(*block);
        let preds = self.graph.preds(Block::new(to));
        preds.binary_search_by_key(&number(&Block::new(from)), number).is_ok()
    }

    /// Whether every path to `below` goes through `above`, or they are the same block.
    pub(crate) fn dominates(&self, above: usize, below: usize) -> bool {
        self.dominators.dominates(Block::new(above), Block::new(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dominators_of_a_graph_with_two_loop_entries() {
        // 0 -> 1, 2; 1 -> 2; 2 -> 1, 3 (irreducible); 4 -> 3 (not reachable)
        let succs: [&[usize]; 5] = [&[1, 2], &[2], &[1, 3], &[], &[3]];
        let succs = succs.map(|list| list.iter().map(|&succ| Block::new(succ)).collect());
        let cfg = Cfg::of_graph(FxHashMap::default(), &succs);
        assert_eq!(cfg.order().next(), Some(0));
        assert!(cfg.dominates(0, 3) && cfg.dominates(2, 3) && cfg.dominates(2, 2));
        assert!(!cfg.dominates(1, 2) && !cfg.dominates(2, 1) && !cfg.dominates(1, 3));
        assert!(cfg.has_edge(2, 1) && !cfg.has_edge(1, 3) && !cfg.reaches(4));
        assert_eq!(cfg.preds(3).collect::<Vec<_>>(), [2]);
    }
}
