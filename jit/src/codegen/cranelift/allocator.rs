//! Selects the functions that get the single-pass register allocator.
//!
//! Cranelift's default allocator splits live ranges until everything fits. Its time grows with the square of the number of values
//! that are live through a long loop: a kernel with 500 pointers takes a minute. With so many values most are spilled anyway, so
//! such functions are compiled with Cranelift's single-pass allocator. It also goes through the parameters of other blocks for each
//! parameter: a kernel with 12,000 loops takes minutes.
//!
//! Deliberately not here: how functions are compiled (`compile.rs`).

use cranelift_codegen::Context;
use cranelift_codegen::ir::{Value, ValueDef};
use rustc_hash::FxHashSet;

use crate::codegen::native::COSTLY_PARAMS;

/// The least number of values live through a loop for which the single-pass allocator is considered.
const MIN_LIVE_VALUES: usize = 128;

/// The default allocator takes seconds if the number of values live through loops times the number of instructions is at least
/// this.
const MIN_COST: usize = 1 << 20;

/// Whether blocks have so many parameters, and edges so many arguments for them, that the default allocator takes seconds.
fn has_costly_params(context: &Context) -> bool {
    let func = &context.func;
    let (mut params, mut incoming) = (0_usize, 0_usize);
    for block in func.layout.blocks() {
        let count = func.dfg.num_block_params(block);
        params += count;
        incoming += count * context.cfg.pred_iter(block).count();
    }
    params.saturating_mul(incoming) >= COSTLY_PARAMS
}

/// Whether so many values are live through a function's loops, or its blocks have so many parameters, that the default allocator would
/// take too long.
pub(super) fn use_single_pass_regalloc(context: &mut Context) -> bool {
    let count = context.func.dfg.num_insts();
    if count < MIN_COST / context.func.dfg.num_values().max(1) {
        return false;
    }
    context.compute_cfg();
    if has_costly_params(context) {
        return true;
    }
    context.compute_domtree();
    context.compute_loop_analysis();
    let (func, loops) = (&context.func, &context.loop_analysis);
    let mut through: FxHashSet<Value> = FxHashSet::default();
    for block in func.layout.blocks() {
        let Some(user) = loops.innermost_loop(block) else { continue };
        for inst in func.layout.block_insts(block) {
            for value in func.dfg.inst_values(inst).map(|value| func.dfg.resolve_aliases(value)) {
                let (home, is_constant) = match func.dfg.value_def(value) {
                    // Constants are rematerialized where they are needed.
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
    through.len() >= MIN_LIVE_VALUES && through.len().saturating_mul(count) >= MIN_COST
}
