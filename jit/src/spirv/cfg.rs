//! The control-flow graph of a SPIR-V function: reachable blocks, the order in which they are imported, and dominance. Any graph
//! is accepted, irreducible ones included; merge instructions are hints and ignored.

use rspirv::dr::Operand;
use rspirv::spirv::Op;
use rustc_hash::FxHashMap;

use super::module::{FunctionDef, Module};
use super::words::{Inst, InstError};

/// A function's graph. Blocks are numbered in the order of the function.
#[derive(Clone, Debug)]
pub(crate) struct Cfg {
    /// Block number by label.
    pub(crate) index: FxHashMap<u32, usize>,
    /// Reachable blocks in reverse postorder: a block comes after its dominators.
    pub(crate) order: Vec<usize>,
    /// Whether a block is reachable.
    pub(crate) reached: Vec<bool>,
    /// Reachable predecessors of each block, without duplicates, in that order.
    pub(crate) preds: Vec<Vec<usize>>,
    positions: Vec<usize>,
    /// Interval of each block in a walk over the dominator tree.
    spans: Vec<(u32, u32)>,
}

/// The target labels of a terminator, in operand order.
pub(crate) fn targets(inst: &Inst) -> Result<Vec<u32>, InstError> {
    match inst.op() {
        Op::Branch => Ok(vec![inst.id(0)?]),
        Op::BranchConditional => Ok(vec![inst.id(1)?, inst.id(2)?]),
        Op::Switch => {
            let mut labels = vec![inst.id(1)?];
            // Literal and label alternate after the default.
            for (index, operand) in inst.dr.operands.iter().enumerate().skip(2) {
                match operand {
                    Operand::LiteralBit32(_) | Operand::LiteralBit64(_) if index % 2 == 0 => {}
                    Operand::IdRef(label) if index % 2 == 1 => labels.push(*label),
                    _ => return Err(InstError::malformed("a case is not a literal followed by a label")),
                }
            }
            if inst.len() % 2 == 1 {
                return Err(InstError::malformed("the last case has no label"));
            }
            Ok(labels)
        }
        _ => Ok(Vec::new()),
    }
}

impl Cfg {
    /// The graph of straight-line code: one block.
    pub(crate) fn single() -> Cfg {
        Cfg {
            index: FxHashMap::default(),
            order: vec![0],
            reached: vec![true],
            preds: vec![vec![]],
            positions: vec![0],
            spans: vec![(0, 1)],
        }
    }

    /// The graph of a function that has blocks.
    pub(crate) fn new(module: &Module, function: &FunctionDef) -> Result<Cfg, crate::ImportError> {
        let count = function.blocks.len();
        let index: FxHashMap<u32, usize> = function.blocks.iter().enumerate().map(|(i, b)| (b.label, i)).collect();
        let mut succs: Vec<Vec<usize>> = Vec::with_capacity(count);
        for block in &function.blocks {
            let Some(last) = block.insts.clone().next_back() else {
                unreachable!("broken invariant: a block has a terminator")
            };
            let inst = &module.insts[last];
            let mut list = Vec::new();
            for label in targets(inst).map_err(|error| error.at(inst))? {
                let Some(&target) = index.get(&label) else {
                    return Err(InstError::malformed(format!("%{label} is not a block of this function")).at(inst));
                };
                if target == 0 {
                    return Err(InstError::malformed("a branch targets the entry block").at(inst));
                }
                list.push(target);
            }
            list.sort_unstable();
            list.dedup();
            succs.push(list);
        }
        let order = reverse_postorder(&succs);
        let mut reached = vec![false; count];
        order.iter().for_each(|&block| reached[block] = true);
        let mut preds = vec![Vec::new(); count];
        for &block in &order {
            succs[block].iter().for_each(|&succ| preds[succ].push(block));
        }
        let positions = positions(&order, count);
        let spans = dominator_spans(&order, &positions, &preds);
        Ok(Cfg { index, order, reached, preds, positions, spans })
    }

    /// Position of a reachable block in the order.
    pub(crate) fn position(&self, block: usize) -> usize {
        self.positions[block]
    }

    /// Whether every path to `below` goes through `above`, or they are the same block.
    pub(crate) fn dominates(&self, above: usize, below: usize) -> bool {
        let (outer, inner) = (self.spans[above], self.spans[below]);
        outer.0 <= inner.0 && inner.1 <= outer.1
    }
}

fn reverse_postorder(succs: &[Vec<usize>]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; succs.len()];
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        match succs[*block].get(*next) {
            Some(&succ) => {
                *next += 1;
                if !seen[succ] {
                    seen[succ] = true;
                    stack.push((succ, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

fn positions(order: &[usize], count: usize) -> Vec<usize> {
    let mut positions = vec![usize::MAX; count];
    order.iter().enumerate().for_each(|(i, &block)| positions[block] = i);
    positions
}

/// Immediate dominators by the algorithm of Cooper, Harvey and Kennedy, then a numbering of the dominator tree.
fn dominator_spans(order: &[usize], position: &[usize], preds: &[Vec<usize>]) -> Vec<(u32, u32)> {
    // Immediate dominators as positions in the order.
    let mut idom = vec![usize::MAX; order.len()];
    idom[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for (i, &block) in order.iter().enumerate().skip(1) {
            let mut new = usize::MAX;
            for &pred in &preds[block] {
                let p = position[pred];
                if idom[p] == usize::MAX {
                    continue;
                }
                new = if new == usize::MAX { p } else { intersect(&idom, p, new) };
            }
            if idom[i] != new {
                idom[i] = new;
                changed = true;
            }
        }
    }
    let mut children = vec![Vec::new(); order.len()];
    (1..order.len()).for_each(|i| children[idom[i]].push(i));
    let mut spans = vec![(u32::MAX, 0); preds.len()];
    let mut clock = 0;
    let mut stack = vec![(0, 0)];
    spans[order[0]].0 = 0;
    while let Some((node, next)) = stack.last_mut() {
        match children[*node].get(*next) {
            Some(&child) => {
                *next += 1;
                clock += 1;
                spans[order[child]].0 = clock;
                stack.push((child, 0));
            }
            None => {
                clock += 1;
                spans[order[*node]].1 = clock;
                stack.pop();
            }
        }
    }
    spans
}

fn intersect(idom: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while a > b {
            a = idom[a];
        }
        while b > a {
            b = idom[b];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dominators_of_a_graph_with_two_loop_entries() {
        // 0 -> 1, 2; 1 -> 2; 2 -> 1, 3 (irreducible)
        let succs = vec![vec![1, 2], vec![2], vec![1, 3], vec![]];
        let order = reverse_postorder(&succs);
        assert_eq!(order[0], 0);
        let mut preds = vec![Vec::new(); 4];
        for (block, list) in succs.iter().enumerate() {
            list.iter().for_each(|&s: &usize| preds[s].push(block));
        }
        let positions = positions(&order, 4);
        let spans = dominator_spans(&order, &positions, &preds);
        let cfg = Cfg { index: FxHashMap::default(), order, reached: vec![true; 4], preds, positions, spans };
        assert!(cfg.dominates(0, 3) && cfg.dominates(2, 3) && cfg.dominates(2, 2));
        assert!(!cfg.dominates(1, 2) && !cfg.dominates(2, 1) && !cfg.dominates(1, 3));
    }
}
