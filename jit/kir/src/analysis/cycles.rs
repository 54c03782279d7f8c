//! Cycles of any graph, reducible or not.

use cranelift_entity::SecondaryMap;

use super::Cfg;
use crate::entities::Block;

/// Numbers the strongly connected components that contain a cycle, from 1; 0 elsewhere.
pub fn cyclic_components(cfg: &Cfg) -> SecondaryMap<Block, u32> {
    let mut component: SecondaryMap<Block, u32> = SecondaryMap::new();
    let mut done: SecondaryMap<Block, bool> = SecondaryMap::new();
    let mut next = 0;
    // Kosaraju's algorithm: the reverse postorder already exists; walk the reversed graph from each block that has no component
    // yet.
    for &root in cfg.rpo() {
        if done[root] {
            continue;
        }
        let mut members = Vec::new();
        let mut stack = vec![root];
        done[root] = true;
        while let Some(block) = stack.pop() {
            members.push(block);
            for &pred in cfg.preds(block) {
                if !done[pred] {
                    done[pred] = true;
                    stack.push(pred);
                }
            }
        }
        if members.len() > 1 || cfg.succs(root).contains(&root) {
            next += 1;
            for block in members {
                component[block] = next;
            }
        }
    }
    component
}
