//! Dominators and post-dominators (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm").

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::Cfg;
use crate::entities::Block;

/// A dominator tree, or a post-dominator tree whose root is a virtual exit.
#[derive(Clone, Debug)]
pub struct DomTree {
    parent: SecondaryMap<Block, PackedOption<Block>>,
    in_tree: SecondaryMap<Block, bool>,
    /// Preorder interval of each block in the tree, for constant-time queries.
    span: SecondaryMap<Block, (u32, u32)>,
    preorder: Vec<Block>,
}

impl DomTree {
    /// Dominators: which blocks every path from the entry to a block passes.
    pub fn new(cfg: &Cfg) -> DomTree {
        Self::build(cfg.rpo(), |b| cfg.preds(b), |i| i == 0)
    }

    /// Post-dominators: which blocks every path from a block to the end passes. Blocks that end the function, and one block
    /// of each endless loop, hang under the virtual exit; [`Self::parent`] is `None` for them.
    pub fn post(cfg: &Cfg) -> DomTree {
        let (order, roots) = reverse_order(cfg);
        Self::build(&order, |b| cfg.succs(b), |i| roots[i])
    }

    /// `order` is a reverse postorder of the graph whose edges into a block come from `sources`; `is_root` says which
    /// positions hang under the (virtual) root.
    fn build<'c>(order: &[Block], sources: impl Fn(Block) -> &'c [Block], is_root: impl Fn(usize) -> bool) -> DomTree {
        const ROOT: usize = 0; // virtual root; block i of the order is node i + 1
        let mut number: SecondaryMap<Block, usize> = SecondaryMap::new();
        for (i, &block) in order.iter().enumerate() {
            number[block] = i + 1;
        }
        let mut idom: Vec<Option<usize>> = vec![None; order.len() + 1];
        idom[ROOT] = Some(ROOT);
        let mut changed = true;
        while changed {
            changed = false;
            for (i, &block) in order.iter().enumerate() {
                let mut new = is_root(i).then_some(ROOT);
                for &source in sources(block) {
                    let node = number[source];
                    if node == 0 || idom[node].is_none() {
                        continue;
                    }
                    new = Some(match new {
                        None => node,
                        Some(other) => intersect(&idom, node, other),
                    });
                }
                if new.is_some() && idom[i + 1] != new {
                    idom[i + 1] = new;
                    changed = true;
                }
            }
        }
        let mut parent: SecondaryMap<Block, PackedOption<Block>> = SecondaryMap::new();
        let mut in_tree: SecondaryMap<Block, bool> = SecondaryMap::new();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); order.len() + 1];
        for (i, &block) in order.iter().enumerate() {
            let up = idom[i + 1].unwrap_or(ROOT);
            in_tree[block] = true;
            parent[block] = if up == ROOT { None.into() } else { Some(order[up - 1]).into() };
            children[up].push(i + 1);
        }
        let mut span: SecondaryMap<Block, (u32, u32)> = SecondaryMap::new();
        let mut preorder = Vec::with_capacity(order.len());
        let mut stack: Vec<(usize, usize)> = vec![(ROOT, 0)];
        while let Some((node, next)) = stack.last_mut() {
            if let Some(&child) = children[*node].get(*next) {
                *next += 1;
                span[order[child - 1]].0 = preorder.len() as u32;
                preorder.push(order[child - 1]);
                stack.push((child, 0));
            } else {
                if *node != ROOT {
                    span[order[*node - 1]].1 = preorder.len() as u32;
                }
                stack.pop();
            }
        }
        DomTree { parent, in_tree, span, preorder }
    }

    /// The immediate (post-)dominator.
    pub fn parent(&self, block: Block) -> Option<Block> {
        self.parent[block].expand()
    }

    /// Whether `a` (post-)dominates `b`; a block does so itself. False for blocks outside the tree.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        if !self.in_tree[a] || !self.in_tree[b] {
            return false;
        }
        let ((start, end), (at, _)) = (self.span[a], self.span[b]);
        start <= at && at < end
    }

    /// The block's interval in preorder: its own number, and the first one behind all that it (post-)dominates. Empty for blocks
    /// outside the tree.
    pub fn span(&self, block: Block) -> (u32, u32) {
        self.span[block]
    }

    /// Blocks in preorder: each after its parent.
    pub fn preorder(&self) -> &[Block] {
        &self.preorder
    }

    /// The nearest block that (post-)dominates both, if there is one.
    pub fn common(&self, a: Block, b: Block) -> Option<Block> {
        let mut up = Some(a);
        while let Some(block) = up {
            if self.dominates(block, b) {
                return Some(block);
            }
            up = self.parent(block);
        }
        None
    }
}

fn intersect(idom: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while a > b {
            a = idom[a].unwrap_or(0);
        }
        while b > a {
            b = idom[b].unwrap_or(0);
        }
    }
    a
}

/// A reverse postorder of the reversed graph, and which of its positions hang under the virtual exit.
fn reverse_order(cfg: &Cfg) -> (Vec<Block>, Vec<bool>) {
    let mut seen: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut is_root: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut postorder = Vec::with_capacity(cfg.rpo().len());
    let exits = cfg.rpo().iter().copied().filter(|&b| cfg.succs(b).is_empty());
    // After the real exits, the last unseen block of the order stands in for the exit of an endless loop.
    for root in exits.chain(cfg.rpo().iter().rev().copied()) {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        is_root[root] = true;
        let mut stack = vec![(root, 0)];
        while let Some((block, next)) = stack.last_mut() {
            if let Some(&pred) = cfg.preds(*block).get(*next) {
                *next += 1;
                if !seen[pred] {
                    seen[pred] = true;
                    stack.push((pred, 0));
                }
            } else {
                postorder.push(*block);
                stack.pop();
            }
        }
    }
    postorder.reverse();
    let roots = postorder.iter().map(|&b| is_root[b]).collect();
    (postorder, roots)
}
