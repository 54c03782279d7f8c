//! Which functions multiply 64-bit lanes that were 32 bits wide a moment ago, and only such.
//!
//! Instruction selection has one instruction for the product of widened lanes, and prefers a general one that takes three times as
//! long where the host has AVX-512. Functions without a general product are therefore compiled as if it had not.

use cranelift_codegen::ir::{Function, InstructionData, Opcode, Value, types};

/// Whether a function has products of widened lanes and no others of 64 bits.
pub(super) fn only_of_widened(func: &Function) -> bool {
    let widening = |value: Value| {
        let inst = func.dfg.value_def(func.dfg.resolve_aliases(value)).inst()?;
        let op = func.dfg.insts[inst].opcode();
        [Opcode::UwidenLow, Opcode::UwidenHigh, Opcode::SwidenLow, Opcode::SwidenHigh].contains(&op).then_some(op)
    };
    let mut any = false;
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            let InstructionData::Binary { opcode: Opcode::Imul, args: [a, b] } = func.dfg.insts[inst] else { continue };
            if func.dfg.value_type(a) != types::I64X2 {
                continue;
            }
            if widening(a).is_none() || widening(a) != widening(b) {
                return false;
            }
            any = true;
        }
    }
    any
}
