//! Finds functions whose 64-bit vector multiplications are all widening: their operands are extended 32-bit lanes.
//!
//! x86 has an instruction for widening multiplications. With AVX-512, instruction selection prefers the full 64-bit
//! multiplication, which takes three times as long. The widening instruction is matched only if both factors are the lower halves
//! of vectors, or both the upper halves; a constant factor is made to match the other one. Functions without a full
//! multiplication are therefore compiled as if the instruction for it did not exist.

use clift_kir::Inst;
use cranelift_codegen::ir::{Function, InstBuilder, InstructionData, Opcode, Value, types};

use super::translate::Translator;

/// Whether a function has widening multiplications and no other 64-bit vector multiplications.
pub(super) fn has_only_widening_multiplies(func: &Function) -> bool {
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

impl Translator<'_> {
    /// The factors of a multiplication. A factor that is the same constant in all lanes is widened from the upper half of a
    /// vector if the other factor is.
    pub(super) fn widened_alike(&mut self, product: Inst, factors: [Value; 2]) -> [Value; 2] {
        use clift_kir::Opcode::{Sext, Zext};
        let legal = self.legal;
        let args = &legal.dfg.inst(product).args;
        let &[Some(a), Some(b)] = &[0, 1].map(|factor| legal.dfg.def_inst(args[factor])) else { return factors };
        let op = legal.dfg.inst(a).op;
        if op != legal.dfg.inst(b).op || !(op == Zext || op == Sext) {
            return factors;
        }
        for (upper, other) in [(a, 1), (b, 0)] {
            let constant = legal.dfg.inst([a, b][other]).args[0];
            let half = legal.dfg.ty(constant);
            let Some(bits) = legal.dfg.as_splat_bits(constant).filter(|_| half.is_vector()) else { continue };
            if half.elem == clift_kir::Elem::I32 && self.upper_half_of(upper, half).is_some() {
                let whole = self.int(types::I32X4, bits as i64);
                let widened =
                    if op == Sext { self.pos.ins().swiden_high(whole) } else { self.pos.ins().uwiden_high(whole) };
                return if other == 1 { [factors[0], widened] } else { [widened, factors[1]] };
            }
        }
        factors
    }
}
