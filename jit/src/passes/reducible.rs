//! Gives every cycle one entry: what the vectorizer needs of kernels that must have packs.
//!
//! A cycle with several entries gets a *dispatch* block, which becomes the header of a natural loop. All edges to the entries lead
//! to it and say which entry is meant:
//!
//! ```text
//! e:  branch c, a, b                        e:   branch c, e1, e2
//! a:  ...; jump b                           e1:  jump d(true)       e2:  jump d(false)
//! b:  ...; branch x, a, end                 d(to):  branch to, a, b
//!                                           a:   ...; jump d(false)
//!                                           b:   ...; branch x, e3, end
//!                                           e3:  jump d(true)
//! ```
//!
//! Parameters of the entries become parameters of the dispatch, undefined on the way to another entry. Values of the cycle that
//! no longer dominate their uses get parameters, too. Cycles within cycles follow one after another.
//!
//! What the function computes does not change, but each way round a cycle takes two jumps more. So this is not one of the canonical passes:
//! code for one lane is better without it.

use clift_kir::analysis::{Cfg, DomTree, Frontiers, cyclic_components};
use clift_kir::dfg::ValueDef;
use clift_kir::ssa::{SsaBuilder, Var, remove_trivial_params};
use clift_kir::{Block, BlockCall, Builder, Function, Inst, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Changed;

/// Makes all cycles of a function natural loops.
pub(crate) fn run(func: &mut Function) -> Changed {
    let mut changed = false;
    loop {
        let cfg = Cfg::new(func);
        let cycles = with_several_entries(&cfg);
        if cycles.is_empty() {
            break;
        }
        changed = true;
        for entries in &cycles {
            add_dispatch(func, &cfg, entries);
        }
    }
    if changed {
        repair(func);
    }
    Changed(changed)
}

/// The outermost cycles with several entries: the entries of each. No two have a block in common.
fn with_several_entries(cfg: &Cfg) -> Vec<Vec<Block>> {
    let mut found = Vec::new();
    // Parts of the graph in which cycles are looked for. The parts within a natural loop lack the edges back to its header.
    let mut parts = vec![cfg.clone()];
    while let Some(part) = parts.pop() {
        let components = cyclic_components(&part);
        let mut members: FxHashMap<u32, Vec<Block>> = FxHashMap::default();
        let mut order = Vec::new();
        for &block in part.rpo().iter().filter(|&&block| components[block] > 0) {
            let number = components[block];
            let list = members.entry(number).or_default();
            if list.is_empty() {
                order.push(number);
            }
            list.push(block);
        }
        for number in order {
            let blocks = &members[&number];
            let inside = |block: Block| part.reaches(block) && components[block] == number;
            let entries: Vec<Block> =
                blocks.iter().copied().filter(|&block| cfg.preds(block).iter().any(|&pred| !inside(pred))).collect();
            match *entries {
                [header] => {
                    let onward = |block: Block| {
                        let succs = part.succs(block).iter().copied();
                        succs.filter(|&succ| succ != header && inside(succ)).collect()
                    };
                    parts.push(Cfg::of_graph(Some(header), blocks.len(), onward));
                }
                _ => found.push(entries),
            }
        }
    }
    found
}

/// Leads all edges to the entries of a cycle through a new block.
fn add_dispatch(func: &mut Function, cfg: &Cfg, entries: &[Block]) {
    let dispatch = func.append_block();
    // Two entries: a branch, which vectorized code takes more easily.
    let selector_type = if entries.len() == 2 { Type::B1 } else { Type::I32 };
    let code = |number: usize| if entries.len() == 2 { i64::from(number == 0) } else { number as i64 };
    let selector = func.dfg.append_param(dispatch, selector_type);
    let types: Vec<Vec<Type>> =
        entries.iter().map(|&entry| func.dfg.params(entry).iter().map(|&param| func.dfg.ty(param)).collect()).collect();
    let calls: Vec<BlockCall> = entries
        .iter()
        .zip(&types)
        .map(|(&entry, types)| {
            let params: Vec<Value> = types.iter().map(|&ty| func.dfg.append_param(dispatch, ty)).collect();
            BlockCall::new(entry, &params)
        })
        .collect();
    let preds: FxHashSet<Block> = entries.iter().flat_map(|&entry| cfg.preds(entry)).copied().collect();
    // In the order of the graph: what is made must not depend on hashes.
    for &pred in cfg.rpo().iter().filter(|&block| preds.contains(block)) {
        let Some(terminator) = func.layout.terminator(pred) else { continue };
        let calls: Vec<BlockCall> = func.dfg.targets(terminator).into_iter().cloned().collect();
        for (target, call) in calls.into_iter().enumerate() {
            if let Some(number) = entries.iter().position(|&entry| entry == call.block) {
                let edge = add_edge(func, terminator, dispatch, |at| {
                    let mut args = vec![at.iconst(selector_type, code(number))];
                    for (entry, types) in types.iter().enumerate() {
                        match entry == number {
                            true => args.extend(call.args.iter().copied()),
                            false => args.extend(types.iter().map(|&ty| at.undef(ty))),
                        }
                    }
                    args
                });
                *func.dfg.targets_mut(terminator)[target] = BlockCall::new(edge, &[]);
            }
        }
    }
    let mut at = Builder::at_end(func, dispatch);
    match <[BlockCall; 2]>::try_from(calls) {
        Ok([first, second]) => at.branch(selector, first, second),
        Err(mut calls) => {
            let Some(default) = calls.pop() else { unreachable!("broken invariant: a cycle without entries") };
            let cases = calls.into_iter().enumerate().map(|(number, call)| (number as u64, call)).collect();
            at.switch(selector, cases, default)
        }
    };
}

/// A new block after a terminator's, with a jump to the dispatch.
fn add_edge(
    func: &mut Function,
    terminator: Inst,
    dispatch: Block,
    args: impl FnOnce(&mut Builder<'_>) -> Vec<Value>,
) -> Block {
    let edge = func.dfg.make_block();
    match func.layout.block_of(terminator) {
        Some(block) => func.layout.insert_block_after(edge, block),
        None => func.layout.append_block(edge),
    }
    let mut at = Builder::at_end(func, edge);
    let args = args(&mut at);
    let jump = at.jump(dispatch, &args);
    func.locs[jump] = func.locs[terminator];
    edge
}

/// Gives uses that their values do not dominate any more the values that reach them.
fn repair(func: &mut Function) {
    let cfg = Cfg::new(func);
    let dom = DomTree::new(&cfg);
    let graph = Frontiers::new(&cfg);
    let mut ssa = SsaBuilder::new();
    let mut vars: FxHashMap<Value, Var> = FxHashMap::default();
    for &block in cfg.rpo() {
        for inst in func.layout.insts(block).to_vec() {
            let mut used: Vec<(Value, Block)> = Vec::new();
            func.dfg.for_each_use(inst, |value| {
                let def = match func.dfg.def(value) {
                    ValueDef::Param(def, _) => Some(def),
                    ValueDef::Result(def, _) => func.layout.block_of(def),
                };
                used.extend(def.filter(|&def| !dom.dominates(def, block)).map(|def| (value, def)));
            });
            for (value, def) in used {
                let var = *vars.entry(value).or_insert_with(|| {
                    let var = ssa.declare(func.dfg.ty(value));
                    ssa.define(var, def, value);
                    var
                });
                let reaching = ssa.value_at_start(func, &graph, var, block);
                func.dfg.map_uses(inst, |old| if old == value { reaching } else { old });
            }
        }
    }
    remove_trivial_params(func);
}

#[cfg(test)]
mod tests {
    use clift_kir::Function;
    use clift_kir::analysis::{Cfg, DomTree, LoopForest};
    use clift_kir::text::parse_module;
    use clift_kir::verify;

    use super::{Changed, run};

    /// Makes the cycles of a function natural loops; gives their number and that of its blocks.
    fn loops(body: &str) -> (usize, usize) {
        let text = format!("function \"f\" canonical {{\n{body}\n}}\n");
        let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let id = module.funcs.keys().next().unwrap();
        let mut func: Function = module.funcs[id].clone();
        assert_eq!(run(&mut func), Changed(true));
        assert_eq!(run(&mut func), Changed(false));
        let cfg = Cfg::new(&func);
        let forest = LoopForest::new(&cfg, &DomTree::new(&cfg));
        assert!(!forest.irreducible());
        module.funcs[id] = func;
        verify::module(&module).unwrap_or_else(|errors| panic!("{errors}\n{module}"));
        (forest.iter().count(), cfg.rpo().len())
    }

    #[test]
    fn entries_with_parameters() {
        // Three edges to the two entries get a block each; `v5` needs a parameter, because `b2` is reached without it.
        let two = "b0:\n v0: b1 = undef\n v1: i32 = const 1\n branch v0, b1(v1), b2\n\
                   b1(v2: i32):\n v5: i32 = ineg v2\n branch v0, b2, b3(v5)\n\
                   b2:\n v6: i32 = const 7\n branch v0, b1(v6), b3(v6)\n\
                   b3(v7: i32):\n ret";
        assert_eq!(loops(two), (1, 4 + 1 + 4));
        let three = "b0:\n v0: b1 = undef\n v1: i32 = undef\n switch v1, [0: b1, 1: b2], b3\n\
                     b1:\n v2: i32 = ineg v1\n jump b2\nb2:\n v3: i32 = ineg v1\n jump b3\n\
                     b3:\n v4: i32 = ineg v1\n branch v0, b1, b4\nb4:\n v5: i32 = ineg v4\n ret";
        assert_eq!(loops(three), (1, 5 + 1 + 6));
    }

    #[test]
    fn values_of_one_way_round() {
        // `v2` is used in `b2` by a way through `b1` only; the other way has left for `b3` before.
        let text = "b0:\n v0: b1 = undef\n v1: i32 = const 1\n branch v0, b1, b2\n\
                    b1:\n v2: i32 = ineg v1\n jump b4\n\
                    b2:\n branch v0, b1, b3\nb4:\n v3: i32 = iadd v2, v2\n branch v0, b2, b3\nb3:\n ret";
        assert_eq!(loops(text).0, 1);
    }

    #[test]
    fn cycles_within_cycles() {
        // A natural loop around a cycle with two entries, one of whose blocks begins another such cycle.
        let text = "b0:\n v0: b1 = undef\n jump b1\n\
                    b1:\n branch v0, b2, b3\nb2:\n branch v0, b3, b6\nb3:\n branch v0, b4, b5\n\
                    b4:\n branch v0, b5, b2\nb5:\n branch v0, b4, b6\nb6:\n branch v0, b1, b7\nb7:\n ret";
        assert_eq!(loops(text).0, 3);
    }
}
