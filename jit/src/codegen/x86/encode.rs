//! Encoding of x86-64 instructions: rows of the instruction table to bytes.
//!
//! There are three formats: the legacy encoding for scalar integers, VEX for masks and scalar instructions of three operands, and
//! EVEX, or VEX without AVX-512, for vectors and scalar floats. Reference: Intel's Software Developer's Manual, volume 2.
//!
//! Deliberately not here: the list of instructions (`table.rs`), and the assignment of operands to fields (`code.rs`).

/// The encoding format of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstFormat {
    /// The legacy encoding: an opcode with an optional REX prefix.
    Legacy,
    /// A three-byte VEX prefix, with the value of its vector length bit.
    Vex(bool),
    /// A four-byte EVEX prefix, and the vector lengths that the instruction supports.
    Evex(Lengths),
    /// An EVEX prefix, or by [`InstRow::as_vex`] a VEX prefix with its W bit.
    Either(Lengths, VexWide),
    /// A VEX prefix of a vector instruction.
    VexVector(Lengths),
    /// As `VexVector`; the mask is a fourth register.
    VexBlend,
}

/// The W bit of the VEX form of an instruction that has an EVEX form, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VexWide {
    /// As in the EVEX form, or ignored.
    Same,
    /// Clear.
    Clear,
}

/// The vector lengths that an instruction supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lengths {
    /// All of them; also for scalar instructions, which ignore the length.
    All,
    /// 128 bits: one operand is a single lane.
    X,
    /// 128 and 256 bits.
    XY,
    /// 256 bits.
    Y,
    /// 256 and 512 bits: the instruction moves 128-bit parts.
    YZ,
    /// 512 bits.
    Z,
}

impl Lengths {
    /// Whether the instruction supports a size.
    pub(super) fn have(self, size: OperandSize) -> bool {
        match self {
            Lengths::All => true,
            Lengths::X => size.length() == 0,
            Lengths::XY => size.length() < 2,
            Lengths::Y => size.length() == 1,
            Lengths::YZ => size.length() > 0,
            Lengths::Z => size.length() == 2,
        }
    }
}

/// The mandatory prefix of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    None,
    P66,
    F3,
    F2,
}

/// The opcode map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Map {
    One,
    M0F,
    M0F38,
    M0F3A,
    /// Maps 5 and 6 of the EVEX prefix: arithmetic of halves.
    M5,
    M6,
}

/// A row of the instruction table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InstRow {
    /// The mnemonic in Intel's manual, in a variant that has these prefixes.
    pub(super) name: &'static str,
    pub(super) format: InstFormat,
    pub(super) prefix: Prefix,
    pub(super) map: Map,
    /// The W bit, which selects 64-bit operands. Legacy instructions derive it from their size.
    pub(super) wide: bool,
    pub(super) opcode: u8,
}

impl InstRow {
    /// Whether the register field extends the opcode, as in shifts of vectors by an immediate.
    pub(super) fn has_digit(self) -> bool {
        self.is_vector() && self.map == Map::M0F && matches!(self.opcode, 0x71..=0x73)
    }

    /// Whether it is a vector instruction with an EVEX prefix.
    pub(super) fn is_evex(self) -> bool {
        matches!(self.format, InstFormat::Evex(_) | InstFormat::Either(..))
    }

    /// Whether it is a vector instruction.
    pub(super) fn is_vector(self) -> bool {
        self.is_evex() || matches!(self.format, InstFormat::VexVector(_) | InstFormat::VexBlend)
    }

    /// The form with a VEX prefix of an instruction that has one.
    pub(super) fn as_vex(self) -> InstRow {
        match self.format {
            InstFormat::Either(lengths, wide) => {
                InstRow { format: InstFormat::VexVector(lengths), wide: self.wide && wide == VexWide::Same, ..self }
            }
            InstFormat::Legacy | InstFormat::Vex(_) | InstFormat::VexVector(_) | InstFormat::VexBlend => self,
            InstFormat::Evex(_) => unreachable!("broken invariant: {} needs AVX-512", self.name),
        }
    }
}

/// The operand size of an instruction: of a scalar in bytes, or of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OperandSize {
    S8,
    S16,
    S32,
    S64,
    /// 128 bits.
    X,
    /// 256 bits.
    Y,
    /// 512 bits.
    Z,
}

impl OperandSize {
    /// The size of a scalar of `bits` bits; at least 32 bits, as in registers.
    pub(super) fn scalar(bits: u32) -> OperandSize {
        if bits == 64 { OperandSize::S64 } else { OperandSize::S32 }
    }

    /// The size of a scalar of `bits` bits in memory.
    pub(super) fn memory(bits: u32) -> OperandSize {
        match bits {
            8 => OperandSize::S8,
            16 => OperandSize::S16,
            32 => OperandSize::S32,
            _ => OperandSize::S64,
        }
    }

    /// The smallest vector size for `bits` bits.
    pub(super) fn vector(bits: u32) -> OperandSize {
        match bits {
            0..=128 => OperandSize::X,
            129..=256 => OperandSize::Y,
            _ => OperandSize::Z,
        }
    }

    /// The vector length bits of an EVEX prefix.
    fn length(self) -> u8 {
        match self {
            OperandSize::S8 | OperandSize::S16 | OperandSize::S32 | OperandSize::S64 | OperandSize::X => 0,
            OperandSize::Y => 1,
            OperandSize::Z => 2,
        }
    }
}

/// A register or memory operand, with physical registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RmOperand {
    Register(u8),
    /// Base, index with the binary logarithm of its scale, displacement.
    Memory(u8, Option<(u8, u8)>, i32),
    /// An address in each lane of a vector register; or, with a base and the binary logarithm of a scale, an index in each lane.
    Lanes(u8, Option<(u8, u8)>),
    /// Relative to the instruction pointer: a constant or a jump table. The encoder returns a fixup for it.
    Code(u32),
}

/// An instruction with physical registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct InstEncoding {
    pub(super) row: InstRow,
    pub(super) size: OperandSize,
    /// The register, or the opcode extension.
    pub(super) reg: u8,
    /// The second register operand, if there is one.
    pub(super) second: Option<u8>,
    pub(super) rm: RmOperand,
    /// The mask of the lanes that are written.
    pub(super) mask: Option<u8>,
    /// Whether other lanes become zero instead of keeping their value.
    pub(super) zeroing: bool,
    /// Whether one lane in memory is broadcast to all lanes.
    pub(super) broadcast: bool,
    /// The immediate and its size in bytes.
    pub(super) immediate: Option<(i64, u8)>,
    /// Whether the access is atomic (`lock` prefix).
    pub(super) locked: bool,
}

/// A 32-bit displacement to be patched. It is relative to the end of its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixup {
    /// The offset of the displacement.
    pub(super) at: u32,
    /// Bytes of the instruction after the displacement.
    pub(super) trailing: u8,
    /// What it refers to.
    pub(super) target: u32,
}

/// The opcode of moves of 32-bit immediates to registers, whose number is part of it.
const SHORT_MOVE: u8 = 0xb8;

const BASE_POINTER: u8 = 5;
const STACK_POINTER: u8 = 4;

impl InstEncoding {
    /// An instruction with two register operands.
    pub(super) fn new(row: InstRow, size: OperandSize, reg: u8, rm: RmOperand) -> InstEncoding {
        InstEncoding {
            row,
            size,
            reg,
            second: None,
            rm,
            mask: None,
            zeroing: false,
            broadcast: false,
            immediate: None,
            locked: false,
        }
    }

    /// The extension bits of the register or memory operand: X for the index or a high vector register, and B for the base.
    fn extensions(&self) -> (bool, bool) {
        let evex = self.row.is_evex();
        match self.rm {
            RmOperand::Register(number) => (evex && number & 16 != 0, number & 8 != 0),
            RmOperand::Memory(base, index, _) => (index.is_some_and(|(index, _)| index & 8 != 0), base & 8 != 0),
            RmOperand::Lanes(index, base) => (index & 8 != 0, base.is_some_and(|(base, _)| base & 8 != 0)),
            RmOperand::Code(_) => (false, false),
        }
    }

    /// The opcode, and the immediate in the fewest bytes that a form of the instruction takes.
    fn shortest_immediate(&self) -> (u8, Option<(i64, u8)>) {
        let InstRow { format, map, opcode, .. } = self.row;
        let legacy = format == InstFormat::Legacy && map == Map::One;
        match (opcode, self.immediate) {
            // Their forms with a sign-extended byte.
            (0x81 | 0x69, Some((value, 4))) if legacy && i8::try_from(value).is_ok() => (opcode | 2, Some((value, 1))),
            (0xc7, immediate @ Some((_, 4)))
                if legacy && self.size == OperandSize::S32 && matches!(self.rm, RmOperand::Register(_)) =>
            {
                (SHORT_MOVE, immediate)
            }
            (opcode, immediate) => (opcode, immediate),
        }
    }

    /// Appends the bytes of the instruction. Returns the displacement to be patched, if there is one.
    pub(super) fn write(&self, code: &mut Vec<u8>) -> Option<Fixup> {
        self.write_prefixes(code);
        let (opcode, immediate) = self.shortest_immediate();
        if let (RmOperand::Register(number), Some((value, 4)), SHORT_MOVE) = (self.rm, immediate, opcode) {
            code.push(SHORT_MOVE | number & 7);
            code.extend((value as i32).to_le_bytes());
            return None;
        }
        code.push(opcode);
        // A fourth register takes the place of an immediate.
        let fourth = self.row.format == InstFormat::VexBlend;
        let fixup = self.write_operands(code, immediate.map_or(u8::from(fourth), |(_, bytes)| bytes));
        if fourth {
            code.push(self.mask.unwrap_or(0) << 4);
        }
        if let Some((value, bytes)) = immediate {
            code.extend(&value.to_le_bytes()[..usize::from(bytes)]);
        }
        fixup
    }

    /// Appends everything before the opcode.
    fn write_prefixes(&self, code: &mut Vec<u8>) {
        let row = self.row;
        let (x, b) = self.extensions();
        let inverted = |bit: bool, shift: u8| u8::from(!bit) << shift;
        let prefix = match row.prefix {
            Prefix::None => 0,
            Prefix::P66 => 1,
            Prefix::F3 => 2,
            Prefix::F2 => 3,
        };
        let map = match row.map {
            Map::One => 0,
            Map::M0F => 1,
            Map::M0F38 => 2,
            Map::M0F3A => 3,
            Map::M5 => 5,
            Map::M6 => 6,
        };
        let second = self.second.unwrap_or(0);
        match row.format {
            InstFormat::Legacy => {
                if self.locked {
                    code.push(0xf0);
                }
                if self.size == OperandSize::S16 {
                    code.push(0x66);
                }
                code.extend(match row.prefix {
                    Prefix::None => None,
                    Prefix::P66 => Some(0x66),
                    Prefix::F3 => Some(0xf3),
                    Prefix::F2 => Some(0xf2),
                });
                let wide = row.wide || self.size == OperandSize::S64;
                let bits = u8::from(wide) << 3 | (self.reg >> 3 & 1) << 2 | u8::from(x) << 1 | u8::from(b);
                // The low bytes of registers 4 to 7 need a REX prefix, also as the source of an extension.
                let extends_byte = row.map == Map::M0F && matches!(row.opcode, 0xb6 | 0xbe);
                if bits != 0 || self.size == OperandSize::S8 || extends_byte {
                    code.push(0x40 | bits);
                }
                match row.map {
                    Map::One => {}
                    Map::M0F => code.push(0x0f),
                    Map::M0F38 => code.extend([0x0f, 0x38]),
                    Map::M0F3A => code.extend([0x0f, 0x3a]),
                    Map::M5 | Map::M6 => unreachable!("broken invariant: {} without an EVEX prefix", row.name),
                }
            }
            InstFormat::Vex(_) | InstFormat::VexVector(_) | InstFormat::VexBlend => {
                let long = match row.format {
                    InstFormat::Vex(long) => long,
                    InstFormat::VexVector(_)
                    | InstFormat::VexBlend
                    | InstFormat::Legacy
                    | InstFormat::Evex(_)
                    | InstFormat::Either(..) => self.size.length() == 1,
                };
                let wide = row.wide || self.size == OperandSize::S64;
                let last = (!second & 15) << 3 | u8::from(long) << 2 | prefix;
                if wide || x || b || row.map != Map::M0F {
                    code.push(0xc4);
                    code.push(inverted(self.reg & 8 != 0, 7) | inverted(x, 6) | inverted(b, 5) | map);
                    code.push(u8::from(wide) << 7 | last);
                } else {
                    code.push(0xc5);
                    code.push(inverted(self.reg & 8 != 0, 7) | last);
                }
            }
            InstFormat::Evex(lengths) | InstFormat::Either(lengths, _) => {
                assert!(lengths.have(self.size), "broken invariant: {} of {:?}", row.name, self.size);
                code.push(0x62);
                code.push(
                    inverted(self.reg & 8 != 0, 7)
                        | inverted(x, 6)
                        | inverted(b, 5)
                        | inverted(self.reg & 16 != 0, 4)
                        | map,
                );
                let wide = row.wide || self.size == OperandSize::S64;
                code.push(u8::from(wide) << 7 | (!second & 15) << 3 | 4 | prefix);
                let mask = self.mask.unwrap_or(0);
                code.push(
                    u8::from(self.zeroing) << 7
                        | self.size.length() << 5
                        | u8::from(self.broadcast) << 4
                        | inverted(
                            second & 16 != 0 || matches!(self.rm, RmOperand::Lanes(index, _) if index & 16 != 0),
                            3,
                        )
                        | mask,
                );
            }
        }
    }

    /// Appends the register field, and the register or memory operand with its displacement, which `trailing` bytes follow.
    fn write_operands(&self, code: &mut Vec<u8>, trailing: u8) -> Option<Fixup> {
        let reg = (self.reg & 7) << 3;
        let mut fixup = None;
        match self.rm {
            RmOperand::Register(number) => code.push(0xc0 | reg | number & 7),
            RmOperand::Code(target) => {
                code.push(reg | BASE_POINTER);
                fixup = Some(Fixup { at: code.len() as u32, trailing, target });
                code.extend([0; 4]);
            }
            RmOperand::Lanes(index, None) => {
                code.push(reg | STACK_POINTER);
                code.push((index & 7) << 3 | BASE_POINTER);
                code.extend([0; 4]);
            }
            RmOperand::Lanes(index, Some((base, scale))) => {
                let form = if base & 7 == BASE_POINTER { 0x40 } else { 0 };
                code.push(form | reg | STACK_POINTER);
                code.push(scale << 6 | (index & 7) << 3 | base & 7);
                if form != 0 {
                    code.push(0);
                }
            }
            RmOperand::Memory(base, index, disp) => {
                // EVEX multiplies short displacements by a size that depends on the instruction; only zero is always right.
                let short = i8::try_from(disp).ok().filter(|&short| short == 0 || !self.row.is_evex());
                let form = match short {
                    Some(0) if base & 7 != BASE_POINTER => 0,
                    Some(_) => 0x40,
                    None => 0x80,
                };
                match index {
                    None if base & 7 != STACK_POINTER => code.push(form | reg | base & 7),
                    index => {
                        let (index, scale) = index.unwrap_or((STACK_POINTER, 0));
                        code.push(form | reg | STACK_POINTER);
                        code.push(scale << 6 | (index & 7) << 3 | base & 7);
                    }
                }
                match short {
                    Some(short) if form != 0 => code.extend(short.to_le_bytes()),
                    Some(_) => {}
                    None => code.extend(disp.to_le_bytes()),
                }
            }
        }
        fixup
    }
}
