//! Checks emitted instructions with an independent decoder, in debug builds. Each must be a valid instruction with the intended
//! number of operands and the intended registers. Without this check, the encoder would silently write the bytes of an
//! instruction that does not exist.

use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register};

use super::encode::{InstEncoding, InstFormat, RmOperand};

/// Checks the bytes of one instruction.
///
/// # Panics
/// When the bytes do not encode the instruction.
pub(super) fn check(encoding: &InstEncoding, bytes: &[u8]) {
    if let Err(error) = compare(encoding, bytes) {
        unreachable!("broken invariant: {} {:?} as {bytes:02x?}: {error}", encoding.row.name, encoding.size);
    }
}

/// Compares the bytes of one instruction with what they should encode, and describes a difference.
pub(super) fn compare(encoding: &InstEncoding, bytes: &[u8]) -> Result<(), String> {
    let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    let instruction = decoder.decode();
    if instruction.is_invalid() || instruction.len() != bytes.len() {
        return Err(format!("no such instruction: {:?}", decoder.last_error()));
    }
    let registers: Vec<Register> = (0..instruction.op_count())
        .filter(|&i| instruction.op_kind(i) == OpKind::Register)
        .map(|i| instruction.op_register(i))
        .collect();
    let has = |number: u8| registers.iter().any(|register| register.full_register().number() == usize::from(number));
    let memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    match encoding.rm {
        RmOperand::Register(number) => expect(!memory && has(number), "the last operand")?,
        RmOperand::Memory(base, index, disp) => {
            let scale = |(number, scale): (u8, u8)| (usize::from(number), 1 << scale);
            expect(memory && instruction.memory_base().number() == usize::from(base), "the base")?;
            let found = instruction.memory_index();
            let found = (found != Register::None).then(|| (found.number(), instruction.memory_index_scale()));
            expect(found == index.map(scale), "the index")?;
            expect(instruction.memory_displacement64() as i64 == i64::from(disp), "the displacement")?;
        }
        RmOperand::Lanes(index, _) => {
            expect(memory && instruction.memory_index().number() == usize::from(index), "the vector of indices")?;
        }
        RmOperand::Code(_) => expect(memory && instruction.is_ip_rel_memory_operand(), "the constant")?,
    }
    if let Some(second) = encoding.second {
        expect(has(second), "the second operand")?;
    }
    if encoding.row.format == InstFormat::VexBlend {
        expect(encoding.mask.is_some_and(has), "the mask")?;
    }
    if encoding.row.is_evex() {
        let mask = (instruction.op_mask() != Register::None).then(|| instruction.op_mask().number() as u8);
        expect(mask == encoding.mask, "the mask")?;
        expect(instruction.zeroing_masking() == encoding.zeroing, "zeroing")?;
        expect(instruction.is_broadcast() == encoding.broadcast, "broadcast")?;
    }
    if !matches!(encoding.row.format, InstFormat::Legacy) {
        expect(operands(&instruction) == given(encoding), "the number of operands")?;
    }
    Ok(())
}

fn operands(instruction: &Instruction) -> usize {
    instruction.op_count() as usize
}

/// The operands of an instruction: the register or opcode extension, the second register, the register or memory operand, the
/// immediate. Not for legacy instructions.
fn given(encoding: &InstEncoding) -> usize {
    let digit = usize::from(encoding.row.has_digit());
    let blends = usize::from(encoding.row.format == InstFormat::VexBlend);
    2 - digit + usize::from(encoding.second.is_some()) + usize::from(encoding.immediate.is_some()) + blends
}

fn expect(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("not {what} that was given")) }
}
