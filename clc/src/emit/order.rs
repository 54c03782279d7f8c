//! The order of blocks: reachable ones only, each after the block that dominates it. Structured code has it from the start;
//! `goto`, and code after it, do not.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use super::Id;

/// Reorders the blocks of a function's body, which begins with the label of its first block.
pub(super) fn order(body: &[u32], edges: &[(Id, Id)]) -> Vec<u32> {
    let blocks = blocks(body);
    let index: FxHashMap<Id, usize> = blocks.iter().enumerate().map(|(at, block)| (block.0, at)).collect();
    let mut successors: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    for (from, to) in edges {
        if let (Some(from), Some(to)) = (index.get(from), index.get(to)) {
            successors[*from].push(*to);
        }
    }
    // Postorder, without recursion; the first successor last, so that it comes first in the end.
    let mut seen = vec![false; blocks.len()];
    let mut postorder = Vec::with_capacity(blocks.len());
    let mut stack = Vec::new();
    if !blocks.is_empty() {
        seen[0] = true;
        stack.push((0, successors[0].len()));
    }
    while let Some((block, left)) = stack.last_mut() {
        if *left == 0 {
            postorder.push(*block);
            stack.pop();
            continue;
        }
        *left -= 1;
        let next = successors[*block][*left];
        if !seen[next] {
            seen[next] = true;
            stack.push((next, successors[next].len()));
        }
    }
    let reached = |label: &Id| index.get(label).is_some_and(|at| seen[*at]);
    let mut words = Vec::with_capacity(body.len());
    for at in postorder.iter().rev() {
        for inst in instructions(&body[blocks[*at].1.clone()]) {
            if inst[0] & 0xffff == Op::Phi as u32 && inst.len() > 3 {
                let pairs: Vec<u32> =
                    inst[3..].chunks(2).filter(|pair| pair.get(1).is_some_and(reached)).flatten().copied().collect();
                words.push((3 + pairs.len() as u32) << 16 | Op::Phi as u32);
                words.extend_from_slice(&inst[1..3]);
                words.extend(pairs);
            } else {
                words.extend_from_slice(inst);
            }
        }
    }
    words
}

/// The decorations whose instructions are still there. Only instructions with a type are decorated.
pub(super) fn of_results(decorations: &[u32], body: &[u32]) -> Vec<u32> {
    let results: FxHashSet<Id> = instructions(body).filter_map(|inst| inst.get(2)).copied().collect();
    let is_there = |inst: &&[u32]| inst.get(1).is_some_and(|id| results.contains(id));
    instructions(decorations).filter(is_there).flatten().copied().collect()
}

/// The labels of the blocks and the ranges of their words.
fn blocks(body: &[u32]) -> Vec<(Id, std::ops::Range<usize>)> {
    let mut blocks: Vec<(Id, std::ops::Range<usize>)> = Vec::new();
    let mut at = 0;
    for inst in instructions(body) {
        if inst[0] & 0xffff == Op::Label as u32 && inst.len() == 2 {
            blocks.push((inst[1], at..at));
        }
        at += inst.len();
        if let Some((_, range)) = blocks.last_mut() {
            range.end = at;
        }
    }
    blocks
}

/// The instructions of words.
fn instructions(mut words: &[u32]) -> impl Iterator<Item = &[u32]> {
    std::iter::from_fn(move || {
        let count = (*words.first()? >> 16) as usize;
        let (inst, rest) = words.split_at_checked(count.max(1))?;
        words = rest;
        Some(inst)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_follows_its_dominator() {
        let label = |id: u32| [2 << 16 | Op::Label as u32, id];
        let jump = |id: u32| [2 << 16 | Op::Branch as u32, id];
        let nop = [1 << 16 | Op::Nop as u32];
        // 1 -> 3 -> 2; 4 is unreachable.
        let body = [&label(1)[..], &jump(3), &label(2), &nop, &label(4), &jump(2), &label(3), &jump(2)].concat();
        let found = order(&body, &[(1, 3), (4, 2), (3, 2)]);
        let wanted = [&label(1)[..], &jump(3), &label(3), &jump(2), &label(2), &nop].concat();
        assert_eq!(found, wanted);
    }

    #[test]
    fn decorations_go_with_their_instructions() {
        let decorate = |id: u32| [3 << 16 | Op::Decorate as u32, id, 4];
        let add = |id: u32| [5 << 16 | Op::IAdd as u32, 1, id, 2, 3];
        let kept = of_results(&[decorate(7), decorate(8)].concat(), &[add(9), add(8)].concat());
        assert_eq!(kept, decorate(8));
    }
}
