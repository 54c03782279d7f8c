//! Reads of what a launch has fixed become constants: sizes, and integers among the arguments.
//!
//! Left alone: floating-point arguments. Known ones gain little, and results must not depend on which code of a kernel a launch
//! gets.

use clift_kir::dfg::ConstData;
use clift_kir::{Builder, Function};

use super::Changed;
use super::util::Replacements;
use crate::specialize::LaunchConstants;

/// Replaces the reads.
pub(crate) fn run(func: &mut Function, constants: &LaunchConstants) -> Changed {
    let mut replacements = Replacements::default();
    for block in func.layout.blocks().to_vec() {
        for inst in func.layout.take_insts(block) {
            let Some((ty, components)) = constants.result_of(func, inst) else {
                func.layout.append_inst(block, inst);
                continue;
            };
            let (result, loc) = (func.dfg.result(inst), func.locs[inst]);
            let mut b = Builder::at_end(func, block);
            b.set_loc(loc);
            let constant = b.constant(ConstData::new(ty, &components));
            replacements.set(result, constant);
        }
    }
    replacements.apply(func);
    Changed(replacements.any())
}
