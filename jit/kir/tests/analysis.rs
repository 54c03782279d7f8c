//! Analyses and SSA construction on hand-built graphs.

use clift_kir::analysis::{Cfg, DomTree, Frontiers, Liveness, LoopForest, written_args};
use clift_kir::ssa::{SsaBuilder, remove_trivial_params};
use clift_kir::text::parse_function;
use clift_kir::{Block, BlockCall, Builder, Function, Type};

/// Blocks 0.. with the given successors (0: return, 1: jump, 2: branch on `undef`).
fn graph(edges: &[&[usize]]) -> (Function, Vec<Block>) {
    let mut func = Function::new("f", &[]);
    let blocks: Vec<Block> = edges.iter().map(|_| func.append_block()).collect();
    for (i, succs) in edges.iter().enumerate() {
        let mut b = Builder::at_end(&mut func, blocks[i]);
        match **succs {
            [] => drop(b.ret(&[])),
            [one] => drop(b.jump(blocks[one], &[])),
            [one, two] => {
                let cond = b.undef(Type::B1);
                b.branch(cond, BlockCall::new(blocks[one], &[]), BlockCall::new(blocks[two], &[]));
            }
            _ => unreachable!(),
        }
    }
    (func, blocks)
}

#[test]
fn dominators_of_a_diamond_in_a_loop() {
    // 0 -> 1; 1 -> 2 | 6; 2 -> 3 | 4; 3,4 -> 5; 5 -> 1; 6 ends
    let (func, b) = graph(&[&[1], &[2, 6], &[3, 4], &[5], &[5], &[1], &[]]);
    let cfg = Cfg::new(&func);
    let dom = DomTree::new(&cfg);
    assert_eq!(dom.parent(b[5]), Some(b[2]));
    assert_eq!(dom.parent(b[6]), Some(b[1]));
    assert!(dom.dominates(b[1], b[5]) && !dom.dominates(b[3], b[5]) && dom.dominates(b[5], b[5]));
    let post = DomTree::post(&cfg);
    assert_eq!(post.parent(b[2]), Some(b[5]));
    assert_eq!(post.parent(b[5]), Some(b[1]));
    assert_eq!(post.parent(b[1]), Some(b[6]));
    assert_eq!(post.parent(b[6]), None);
    let loops = LoopForest::new(&cfg, &dom);
    let (id, l) = loops.iter().next().unwrap();
    assert_eq!((l.header, l.latches.as_slice(), l.blocks.len()), (b[1], &[b[5]][..], 5));
    assert!(loops.contains(id, b[4]) && !loops.contains(id, b[6]) && !loops.irreducible());
}

#[test]
fn endless_loops_have_post_dominators() {
    let (func, b) = graph(&[&[1], &[2], &[1]]);
    let post = DomTree::post(&Cfg::new(&func));
    assert_eq!(post.parent(b[0]), Some(b[1]));
    assert!(post.parent(b[2]).is_none() || post.parent(b[1]).is_none());
}

#[test]
fn irreducible_graphs_are_told() {
    let (func, _) = graph(&[&[1, 2], &[2], &[1]]);
    let cfg = Cfg::new(&func);
    assert!(LoopForest::new(&cfg, &DomTree::new(&cfg)).irreducible());
}

#[test]
fn nested_loops_know_their_parents() {
    // 0 -> 1; 1 -> 2; 2 -> 2 | 3; 3 -> 1 | 4
    let (func, b) = graph(&[&[1], &[2], &[2, 3], &[1, 4], &[]]);
    let cfg = Cfg::new(&func);
    let loops = LoopForest::new(&cfg, &DomTree::new(&cfg));
    assert_eq!((loops.depth(b[2]), loops.depth(b[3]), loops.depth(b[4])), (2, 1, 0));
}

#[test]
fn a_variable_set_in_both_arms_becomes_a_parameter() {
    let (mut func, b) = graph(&[&[1, 2], &[3], &[3], &[4, 3], &[]]);
    let cfg = Cfg::new(&func);
    let one = Builder::before(&mut func, b[1], 0).iconst(Type::I32, 1);
    let two = Builder::before(&mut func, b[2], 0).iconst(Type::I32, 2);
    let mut ssa = SsaBuilder::new();
    let (x, y) = (ssa.declare(Type::I32), ssa.declare(Type::I32));
    ssa.define(x, b[1], one);
    ssa.define(x, b[2], two);
    ssa.define(y, b[1], one);
    ssa.define(y, b[2], one);
    let graph = Frontiers::new(&cfg);
    let at_end = ssa.value_at_end(&mut func, &graph, x, b[4]);
    let same = ssa.value_at_end(&mut func, &graph, y, b[4]);
    assert_eq!(func.dfg.params(b[3]), &[at_end, same]);
    Builder::before(&mut func, b[4], 0).int2(clift_kir::Opcode::Iadd, at_end, same);
    assert!(remove_trivial_params(&mut func));
    assert_eq!(func.dfg.params(b[3]), &[at_end]);
    let add = func.layout.insts(b[4])[0];
    assert_eq!(func.dfg.inst(add).args.as_slice(), &[at_end, one]);
    let liveness = Liveness::new(&func, &Cfg::new(&func));
    assert!(liveness.live_in(b[4]).contains(&at_end) && !liveness.live_in(b[3]).contains(&at_end));
}

#[test]
fn arguments_written_through_are_found_across_choices_and_loops() {
    // Written: 8 by a choice, 16 in a loop, 24 atomically. Not: 0, which is only read; 32, whose value is stored; 40, which
    // is read atomically; 48, which the choice is made by.
    let text = "function f0 \"k\" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: ptr(global) = arg 16
    v3: ptr(global) = arg 24
    v4: ptr(global) = arg 32
    v5: ptr(global) = arg 40
    v6: b1 = arg 48
    v7: i64 = global_id 0
    v8: i32 = load align 4 v0
    v9: ptr(global) = addr scale 4 v1, v7
    v10: ptr(global) = select v6, v9, v2
    store align 8 v10, v4
    v11: i32 = atomic_load relaxed device v5
    jump b1(v3)
b1(v12: ptr(global)):
    v13: ptr(global) = addr disp 4 v12
    v14: i32 = atomic_rmw add relaxed device v12, v8
    branch v6, b1(v13), b2
b2:
    ret
}";
    let func = parse_function(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(written_args(&func), [8, 16, 24]);
}
