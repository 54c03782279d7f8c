//! Listings of machine code for `CLIFT_DEBUG=asm`: instructions with their offsets, labels where blocks begin, the source
//! location where it changes, and the constants that instructions read.
//!
//! On architectures without a disassembler here, the listing is the text of the backend.

use std::fmt::Write;

use clift_kir::Loc;

/// A function's machine code and what the listing needs besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListingInput<'a> {
    /// Instructions, with jump tables and constants between and after them.
    pub(super) bytes: &'a [u8],
    /// Where blocks begin, and where jump tables and constants begin.
    pub(super) starts: &'a [u32],
    /// Source locations with the offsets where they begin, in ascending order.
    pub(super) places: &'a [(u32, SourcePlace)],
    /// Constants outside the code that instructions read.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "the backend's own text is shown"))]
    pub(super) pool: &'a [u128],
    /// The backend's own listing, for architectures without a disassembler here.
    #[cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "the bytes are read"))]
    pub(super) own: Option<&'a str>,
}

/// A source location: a line, or a word of the SPIR-V module if the code has no line information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourcePlace {
    Nowhere,
    Word(u32),
    Line(u32),
}

impl SourcePlace {
    /// The text for a message, if the location is known.
    pub(super) fn known(self) -> Option<String> {
        match self {
            SourcePlace::Nowhere => None,
            SourcePlace::Word(word) => Some(format!("word {word} of the SPIR-V module")),
            SourcePlace::Line(line) => Some(format!("line {line} of the source")),
        }
    }
}

impl From<Loc> for SourcePlace {
    fn from(loc: Loc) -> SourcePlace {
        match loc {
            Loc { line: 0, word: 0, .. } => SourcePlace::Nowhere,
            Loc { line: 0, word, .. } => SourcePlace::Word(word - 1),
            Loc { line, .. } => SourcePlace::Line(line),
        }
    }
}

/// The text for a source location in a listing.
#[cfg(target_arch = "x86_64")]
fn place(place: SourcePlace) -> String {
    match place {
        SourcePlace::Nowhere => "no place in the source".to_owned(),
        SourcePlace::Word(word) => format!("word {word} of the module"),
        SourcePlace::Line(line) => format!("line {line}"),
    }
}

/// The listing of a function.
pub(super) fn listing(code: ListingInput<'_>) -> String {
    let mut text = String::new();
    #[cfg(target_arch = "x86_64")]
    x86::write(&mut text, code);
    #[cfg(not(target_arch = "x86_64"))]
    if let Some(own) = code.own {
        let _ = writeln!(text, "{own}");
    }
    let _ = writeln!(text, "; {} bytes", code.bytes.len());
    text
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::collections::BTreeSet;

    use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, Instruction, Mnemonic, OpKind, Register};

    use super::{ListingInput, SourcePlace, Write, place};

    /// Writes the instructions of every block. Jump tables and constants lie between blocks and are skipped.
    pub(super) fn write(text: &mut String, code: ListingInput<'_>) {
        let ListingInput { bytes, pool, .. } = code;
        let decode = |from: u32| {
            let mut decoder = Decoder::with_ip(64, &bytes[from as usize..], u64::from(from), DecoderOptions::NONE);
            decoder.decode()
        };
        let mut starts: BTreeSet<u32> = code.starts.iter().copied().collect();
        starts.insert(0);
        let mut instructions: Vec<Instruction> = Vec::new();
        let mut targets = BTreeSet::new();
        for (&start, end) in starts.iter().zip(starts.iter().skip(1).copied().chain([bytes.len() as u32])) {
            let mut at = start;
            while at < end {
                let instruction = decode(at);
                instructions.push(instruction);
                at = instruction.next_ip() as u32;
                targets.extend(target(&instruction));
                if instruction.is_invalid() || matches!(instruction.mnemonic(), Mnemonic::Jmp | Mnemonic::Ret) {
                    break;
                }
            }
        }
        let source = |at: u64| {
            let known = code.places.partition_point(|&(from, _)| u64::from(from) <= at);
            code.places[..known].last().map_or(SourcePlace::Nowhere, |&(_, place)| place)
        };
        let mut formatter = GasFormatter::new();
        let mut last = None;
        let mut bases = PoolBases { slot: slot_of(&instructions, pool), known: Vec::new() };
        for instruction in &instructions {
            let at = instruction.ip();
            if targets.contains(&at) {
                bases.known.clear();
                let _ = writeln!(text, "L{at:x}:");
                last = None;
            }
            let loc = source(at);
            if last != Some(loc) {
                let _ = writeln!(text, "                ; {}", place(loc));
                last = Some(loc);
            }
            let mut line = String::new();
            formatter.format(instruction, &mut line);
            if let Some(target) = target(instruction) {
                let name = line.split_whitespace().next().unwrap_or_default().to_owned();
                line = format!("{name} L{target:x}");
            } else if instruction.is_ip_rel_memory_operand() {
                line += &constant(bytes, instruction.ip_rel_memory_address());
            } else if let Some(place) = bases.place(instruction) {
                let bits = pool.get(place).map(|bits| bits.to_le_bytes()).unwrap_or_default();
                line += &constant(&bits, 0);
            }
            bases.step(instruction);
            let _ = writeln!(text, "  {at:5x}  {line}");
        }
    }

    /// The stack offset where the address of the pool is stored.
    fn slot_of(instructions: &[Instruction], pool: &[u128]) -> Option<u64> {
        let address = pool.as_ptr().expose_provenance() as u64;
        let made = instructions.iter().position(|instruction| {
            instruction.op1_kind() == OpKind::Immediate64 && instruction.immediate64() == address && !pool.is_empty()
        })?;
        let register = instructions[made].op0_register();
        let mut after = instructions[made..].iter();
        let stored = after.find(|instruction| {
            let to_memory = instruction.op0_kind() == OpKind::Memory && instruction.memory_base() == Register::RSP;
            instruction.mnemonic() == Mnemonic::Mov && to_memory && instruction.op1_register() == register
        })?;
        Some(stored.memory_displacement64())
    }

    /// The registers that hold the address of the pool.
    struct PoolBases {
        slot: Option<u64>,
        known: Vec<Register>,
    }

    impl PoolBases {
        /// The index of the constant in the pool that an instruction reads.
        fn place(&self, instruction: &Instruction) -> Option<usize> {
            let reads = self.known.contains(&instruction.memory_base());
            reads.then(|| instruction.memory_displacement64() as usize / 16)
        }

        fn step(&mut self, instruction: &Instruction) {
            let written = instruction.op0_register();
            let half = |register: Register| register as u32 + Register::EAX as u32 - Register::RAX as u32;
            self.known.retain(|&known| known != written && half(known) != written as u32);
            let loads = instruction.mnemonic() == Mnemonic::Mov && instruction.memory_base() == Register::RSP;
            if loads
                && instruction.op1_kind() == OpKind::Memory
                && Some(instruction.memory_displacement64()) == self.slot
            {
                self.known.push(written);
            }
        }
    }

    /// The target of a jump within the function.
    fn target(instruction: &Instruction) -> Option<u64> {
        (instruction.op_count() == 1 && instruction.op0_kind() == OpKind::NearBranch64)
            .then(|| instruction.near_branch_target())
    }

    /// The words of a constant that follows the code.
    fn constant(bytes: &[u8], at: u64) -> String {
        let words: Vec<String> = bytes
            .iter()
            .skip(at as usize)
            .take(16)
            .copied()
            .collect::<Vec<u8>>()
            .chunks_exact(4)
            .map(|word| format!("{:08x}", u32::from_le_bytes([word[0], word[1], word[2], word[3]])))
            .collect();
        match words.as_slice() {
            [] => String::new(),
            [first, rest @ ..] if rest.iter().all(|word| word == first) => format!("  ; {first} in every word"),
            words => format!("  ; {}", words.join(" ")),
        }
    }
}
