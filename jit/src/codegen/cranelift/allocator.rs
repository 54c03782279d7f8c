//! Selects the functions that get the single-pass register allocator.
//!
//! Cranelift's default allocator splits live ranges until everything fits. Its time grows with the square of the number of values
//! that are live through a long loop: a kernel with 500 pointers takes a minute. With so many values most are spilled anyway, so
//! such functions are compiled with Cranelift's single-pass allocator. It also goes through the parameters of other blocks for
//! each parameter: a kernel with 12,000 loops takes minutes. And where more values are alive than there are registers, it
//! splits them at each of their uses: 30,000 instructions of masked accesses, whose masks are used hundreds of times, take four
//! seconds.
//!
//! Deliberately not here: how functions are compiled (`compile.rs`).

use cranelift_codegen::Context;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Function, Value, ValueDef};
use rustc_hash::FxHashSet;

use crate::codegen::native::COSTLY_PARAMS;

/// The least number of values live through a loop for which the single-pass allocator is considered.
const MIN_LIVE_VALUES: usize = 128;

/// The default allocator takes seconds if the number of values live through loops times the number of instructions is at least
/// this.
const MIN_COST: usize = 1 << 20;

/// The default allocator takes seconds if the sum of the values' lengths, each times the value's uses, is at least this: some
/// 100 ns each (Emerald Rapids).
const COSTLY_SPLITS: usize = 1 << 24;

/// Fewest values alive at an average instruction for which splits count: all registers, of both kinds.
const CROWDED: usize = 32;

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

/// Whether so many values with many uses are alive at once that the default allocator splits them at each use: each split looks
/// at everything that is alive from there to the last use.
fn has_costly_splits(func: &Function) -> bool {
    #[derive(Clone, Copy, Default)]
    struct Range {
        start: usize,
        end: usize,
        uses: usize,
    }
    // The code is taken as one sequence.
    let mut ranges: SecondaryMap<Value, Range> = SecondaryMap::with_capacity(func.dfg.num_values());
    let mut position = 1;
    for block in func.layout.blocks() {
        for &param in func.dfg.block_params(block) {
            ranges[param] = Range { start: position, end: position, uses: 0 };
        }
        for inst in func.layout.block_insts(block) {
            position += 1;
            for value in func.dfg.inst_values(inst).map(|value| func.dfg.resolve_aliases(value)) {
                let range = &mut ranges[value];
                (range.end, range.uses) = (position, range.uses + 1);
            }
            // Constants are rematerialized where they are needed.
            if !func.dfg.inst_args(inst).is_empty() {
                for &result in func.dfg.inst_results(inst) {
                    ranges[result] = Range { start: position, end: position, uses: 0 };
                }
            }
        }
    }
    let (mut area, mut cost) = (0_usize, 0_usize);
    for range in ranges.values().filter(|range| range.start > 0) {
        let length = range.end - range.start;
        area += length;
        cost = cost.saturating_add(length.saturating_mul(range.uses));
    }
    cost >= COSTLY_SPLITS && area / position >= CROWDED
}

/// Whether so many values are live through a function's loops, or its blocks have so many parameters, that the default
/// allocator would take too long.
pub(super) fn use_single_pass_regalloc(context: &mut Context) -> bool {
    let count = context.func.dfg.num_insts();
    if count < MIN_COST / context.func.dfg.num_values().max(1) {
        return false;
    }
    context.compute_cfg();
    if has_costly_params(context) || has_costly_splits(&context.func) {
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

#[cfg(test)]
mod tests {
    use cranelift_codegen::cursor::{Cursor, FuncCursor};
    use cranelift_codegen::ir::{InstBuilder, types};

    use super::*;

    /// Whether a function without loops that uses its parameters in turn gets the single-pass allocator.
    fn is_single_pass(params: usize, insts: usize) -> bool {
        let mut context = Context::new();
        let block = context.func.dfg.make_block();
        let params: Vec<Value> =
            (0..params).map(|_| context.func.dfg.append_block_param(block, types::I32X4)).collect();
        let mut pos = FuncCursor::new(&mut context.func);
        pos.insert_block(block);
        let mut sum = params[0];
        for &param in params.iter().cycle().take(insts) {
            sum = pos.ins().iadd(sum, param);
        }
        pos.ins().return_(&[]);
        use_single_pass_regalloc(&mut context)
    }

    #[test]
    fn values_with_many_uses_are_costly_if_registers_are_short() {
        assert!(is_single_pass(40, 20_000));
        assert!(!is_single_pass(40, 200));
        assert!(!is_single_pass(12, 20_000));
    }
}
