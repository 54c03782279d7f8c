//! Which functions get the quick register allocator.
//!
//! Cranelift's default allocator splits ranges until everything fits. Its time grows with the square of the values that live
//! through a long loop: a kernel of 500 pointers takes a minute. Where values are that many most are spilled anyway, so such
//! functions go to its single-pass allocator. Deliberately not here: how functions are compiled (`compile.rs`).

use cranelift_codegen::Context;
use cranelift_codegen::ir::{Value, ValueDef};
use rustc_hash::FxHashSet;

/// Fewest values alive through a loop that count as a crowd.
const CROWD: usize = 128;

/// The product of values alive through loops and instructions from which the default allocator takes seconds.
const COSTLY: usize = 1 << 20;

/// Whether a function has so many values alive through its loops that the default allocator would take too long.
pub(super) fn use_single_pass_regalloc(context: &mut Context) -> bool {
    let count = context.func.dfg.num_insts();
    if count < COSTLY / context.func.dfg.num_values().max(1) {
        return false;
    }
    context.compute_cfg();
    context.compute_domtree();
    context.compute_loop_analysis();
    let (func, loops) = (&context.func, &context.loop_analysis);
    let mut through: FxHashSet<Value> = FxHashSet::default();
    for block in func.layout.blocks() {
        let Some(user) = loops.innermost_loop(block) else { continue };
        for inst in func.layout.block_insts(block) {
            for value in func.dfg.inst_values(inst).map(|value| func.dfg.resolve_aliases(value)) {
                let (home, is_constant) = match func.dfg.value_def(value) {
                    // A constant is made again where it is needed.
                    ValueDef::Result(def, _) => (func.layout.inst_block(def), func.dfg.inst_args(def).is_empty()),
                    ValueDef::Param(block, _) => (Some(block), false),
                    ValueDef::Union(..) => unreachable!("broken invariant: unions are made by the optimizer"),
                };
                if !is_constant && home.is_some_and(|home| !loops.is_in_loop(home, user)) {
                    through.insert(value);
                }
            }
        }
    }
    through.len() >= CROWD && through.len().saturating_mul(count) >= COSTLY
}
