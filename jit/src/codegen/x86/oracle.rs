//! Emitted instructions against somebody else's decoder, in debug builds: each must exist, with as many operands as were
//! given and the registers that were meant. An encoder would write the bytes of an instruction that does not exist without
//! noticing; a processor would not run them.

use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind, Register};

use super::encode::{Format, Parts, Place};

/// Checks the bytes of one instruction.
///
/// # Panics
/// When they are not the instruction.
pub(super) fn check(parts: &Parts, bytes: &[u8]) {
    if let Err(error) = compare(parts, bytes) {
        unreachable!("broken invariant: {} {:?} as {bytes:02x?}: {error}", parts.row.name, parts.size);
    }
}

/// What is wrong with the bytes of one instruction.
pub(super) fn compare(parts: &Parts, bytes: &[u8]) -> Result<(), String> {
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
    match parts.place {
        Place::Register(number) => expect(!memory && has(number), "the last operand")?,
        Place::Memory(base, index, _) => {
            let scale = |(number, scale): (u8, u8)| (usize::from(number), 1 << scale);
            expect(memory && instruction.memory_base().number() == usize::from(base), "the base")?;
            let found = instruction.memory_index();
            let found = (found != Register::None).then(|| (found.number(), instruction.memory_index_scale()));
            expect(found == index.map(scale), "the index")?;
        }
        Place::Lanes(index, _) => {
            expect(memory && instruction.memory_index().number() == usize::from(index), "the vector of indices")?;
        }
        Place::Code(_) => expect(memory && instruction.is_ip_rel_memory_operand(), "the constant")?,
    }
    if let Some(second) = parts.second {
        expect(has(second), "the second operand")?;
    }
    if parts.row.is_evex() {
        let mask = (instruction.op_mask() != Register::None).then(|| instruction.op_mask().number() as u8);
        expect(mask == parts.mask, "the mask")?;
        expect(instruction.zeroing_masking() == parts.zeroing, "zeroing")?;
        expect(instruction.is_broadcast() == parts.broadcast, "broadcast")?;
    }
    if !matches!(parts.row.format, Format::Plain) {
        expect(operands(&instruction) == given(parts), "the number of operands")?;
    }
    Ok(())
}

fn operands(instruction: &Instruction) -> usize {
    instruction.op_count() as usize
}

/// The operands of an instruction that is not plain: its register or a digit, the second, the place, the immediate.
fn given(parts: &Parts) -> usize {
    let digit = usize::from(parts.row.has_digit());
    2 - digit + usize::from(parts.second.is_some()) + usize::from(parts.immediate.is_some())
}

fn expect(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("not {what} that was given")) }
}
