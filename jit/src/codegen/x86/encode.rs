//! Instruction formats of x86-64: rows of the instruction table as bytes.
//!
//! Three formats serve everything: the original one for scalar integers, VEX for masks and scalar instructions of three operands,
//! EVEX for vectors and scalar floats. Displacements are always of 32 bits. Source: Intel's Software Developer's Manual, volume 2.
//!
//! Deliberately not here: which instructions there are (`table.rs`), and where operands are (`code.rs`).

/// How an instruction is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Opcode with an optional prefix for the upper registers.
    Plain,
    /// With a three-byte prefix, and whether its bit of the vector length is set.
    Vex(bool),
    /// With a four-byte prefix, and the vector lengths that the instruction exists at.
    Evex(Lengths),
}

/// Vector lengths of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lengths {
    /// All of them; or a scalar's, which ignores it.
    All,
    /// 128 bits: the operand is one lane.
    X,
    /// 256 and 512 bits: the operand is moved between parts of 128 bits.
    YZ,
    /// 512 bits.
    Z,
}

impl Lengths {
    /// Whether an instruction of a size exists.
    pub(super) fn have(self, size: Size) -> bool {
        match self {
            Lengths::All => true,
            Lengths::X => size.length() == 0,
            Lengths::YZ => size.length() > 0,
            Lengths::Z => size.length() == 2,
        }
    }
}

/// The prefix that is part of the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    None,
    P66,
    F3,
    F2,
}

/// The table that an opcode is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Map {
    One,
    M0F,
    M0F38,
    M0F3A,
}

/// A row of the instruction table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The manual's name of it, of a form that it has with the prefixes here.
    pub(super) name: &'static str,
    pub(super) format: Format,
    pub(super) prefix: Prefix,
    pub(super) map: Map,
    /// Whether the bit for 64 bits is set; plain instructions take it from their size.
    pub(super) wide: bool,
    pub(super) opcode: u8,
}

impl Row {
    /// Whether a digit of the opcode takes the place of the first register: shifts of vectors by an immediate.
    pub(super) fn has_digit(self) -> bool {
        matches!((self.format, self.map, self.opcode), (Format::Evex(_), Map::M0F, 0x71..=0x73))
    }

    /// Whether it is a vector instruction.
    pub(super) fn is_evex(self) -> bool {
        matches!(self.format, Format::Evex(_))
    }
}

/// Size of an instruction's operands: of a register of a scalar in bytes, or of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Size {
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

impl Size {
    /// The scalar of so many bits, in a register of 32 bits at least.
    pub(super) fn scalar(bits: u32) -> Size {
        if bits == 64 { Size::S64 } else { Size::S32 }
    }

    /// The scalar in memory of so many bits.
    pub(super) fn memory(bits: u32) -> Size {
        match bits {
            8 => Size::S8,
            16 => Size::S16,
            32 => Size::S32,
            _ => Size::S64,
        }
    }

    /// The smallest vector of so many bits.
    pub(super) fn vector(bits: u32) -> Size {
        match bits {
            0..=128 => Size::X,
            129..=256 => Size::Y,
            _ => Size::Z,
        }
    }

    /// The bits of a vector length.
    fn length(self) -> u8 {
        match self {
            Size::S8 | Size::S16 | Size::S32 | Size::S64 | Size::X => 0,
            Size::Y => 1,
            Size::Z => 2,
        }
    }
}

/// An operand in memory or a register, by the numbers of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Register(u8),
    /// Base, index with the logarithm of its scale, displacement.
    Memory(u8, Option<(u8, u8)>, i32),
    /// An address in each lane of a vector register; with a base for all lanes, an index in each, and the logarithm of its scale.
    Lanes(u8, Option<(u8, u8)>),
    /// A place in the code, which is noted.
    Code(u32),
}

/// What an instruction is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) row: Row,
    pub(super) size: Size,
    /// The register, or the digit that belongs to the opcode.
    pub(super) reg: u8,
    /// The second register, if there is one.
    pub(super) second: Option<u8>,
    pub(super) place: Place,
    /// Mask of the lanes that are written; others keep what they hold.
    pub(super) mask: Option<u8>,
    /// Lanes that are not written become zero.
    pub(super) zeroing: bool,
    /// One lane of memory stands for all.
    pub(super) broadcast: bool,
    /// Immediate and its size in bytes.
    pub(super) immediate: Option<(i64, u8)>,
    /// Together with all other threads.
    pub(super) locked: bool,
}

/// A displacement that leads from its end, plus some bytes, to a place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixup {
    /// Where it stands.
    pub(super) at: u32,
    /// Bytes of the instruction behind it.
    pub(super) behind: u8,
    /// What it leads to.
    pub(super) target: u32,
}

const BASE_POINTER: u8 = 5;
const STACK_POINTER: u8 = 4;

impl Parts {
    /// An instruction of two registers without more.
    pub(super) fn new(row: Row, size: Size, reg: u8, place: Place) -> Parts {
        Parts {
            row,
            size,
            reg,
            second: None,
            place,
            mask: None,
            zeroing: false,
            broadcast: false,
            immediate: None,
            locked: false,
        }
    }

    /// The third and the second bit above the low three of the operand in memory or a register: of index and base.
    fn extensions(&self) -> (bool, bool) {
        let vector = self.row.is_evex();
        match self.place {
            Place::Register(number) => (vector && number & 16 != 0, number & 8 != 0),
            Place::Memory(base, index, _) => (index.is_some_and(|(index, _)| index & 8 != 0), base & 8 != 0),
            Place::Lanes(index, base) => (index & 8 != 0, base.is_some_and(|(base, _)| base & 8 != 0)),
            Place::Code(_) => (false, false),
        }
    }

    /// Writes the instruction; gives the displacement to mend, if it has one.
    pub(super) fn write(&self, code: &mut Vec<u8>) -> Option<Fixup> {
        let row = self.row;
        let (x, b) = self.extensions();
        let inverted = |bit: bool, place: u8| u8::from(!bit) << place;
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
        };
        let second = self.second.unwrap_or(0);
        match row.format {
            Format::Plain => {
                if self.locked {
                    code.push(0xf0);
                }
                if self.size == Size::S16 {
                    code.push(0x66);
                }
                code.extend(match row.prefix {
                    Prefix::None => None,
                    Prefix::P66 => Some(0x66),
                    Prefix::F3 => Some(0xf3),
                    Prefix::F2 => Some(0xf2),
                });
                let wide = row.wide || self.size == Size::S64;
                let bits = u8::from(wide) << 3 | (self.reg >> 3 & 1) << 2 | u8::from(x) << 1 | u8::from(b);
                // Bytes of registers 4 to 7 are reached with the prefix alone: as operands, and as what is extended.
                let extends_byte = row.map == Map::M0F && matches!(row.opcode, 0xb6 | 0xbe);
                if bits != 0 || self.size == Size::S8 || extends_byte {
                    code.push(0x40 | bits);
                }
                match row.map {
                    Map::One => {}
                    Map::M0F => code.push(0x0f),
                    Map::M0F38 => code.extend([0x0f, 0x38]),
                    Map::M0F3A => code.extend([0x0f, 0x3a]),
                }
            }
            Format::Vex(long) => {
                let wide = row.wide || self.size == Size::S64;
                code.push(0xc4);
                code.push(inverted(self.reg & 8 != 0, 7) | inverted(x, 6) | inverted(b, 5) | map);
                code.push(u8::from(wide) << 7 | (!second & 15) << 3 | u8::from(long) << 2 | prefix);
            }
            Format::Evex(lengths) => {
                assert!(lengths.have(self.size), "broken invariant: {} of {:?}", row.name, self.size);
                code.push(0x62);
                code.push(
                    inverted(self.reg & 8 != 0, 7)
                        | inverted(x, 6)
                        | inverted(b, 5)
                        | inverted(self.reg & 16 != 0, 4)
                        | map,
                );
                let wide = row.wide || self.size == Size::S64;
                code.push(u8::from(wide) << 7 | (!second & 15) << 3 | 4 | prefix);
                let mask = self.mask.unwrap_or(0);
                code.push(
                    u8::from(self.zeroing) << 7
                        | self.size.length() << 5
                        | u8::from(self.broadcast) << 4
                        | inverted(
                            second & 16 != 0 || matches!(self.place, Place::Lanes(index, _) if index & 16 != 0),
                            3,
                        )
                        | mask,
                );
            }
        }
        code.push(row.opcode);
        let reg = (self.reg & 7) << 3;
        let mut fixup = None;
        match self.place {
            Place::Register(number) => code.push(0xc0 | reg | number & 7),
            Place::Code(target) => {
                code.push(reg | BASE_POINTER);
                let behind = self.immediate.map_or(0, |(_, bytes)| bytes);
                fixup = Some(Fixup { at: code.len() as u32, behind, target });
                code.extend([0; 4]);
            }
            Place::Lanes(index, None) => {
                code.push(reg | STACK_POINTER);
                code.push((index & 7) << 3 | BASE_POINTER);
                code.extend([0; 4]);
            }
            Place::Lanes(index, Some((base, scale))) => {
                let form = if base & 7 == BASE_POINTER { 0x40 } else { 0 };
                code.push(form | reg | STACK_POINTER);
                code.push(scale << 6 | (index & 7) << 3 | base & 7);
                if form != 0 {
                    code.push(0);
                }
            }
            Place::Memory(base, index, disp) => {
                let form = if disp != 0 || base & 7 == BASE_POINTER { 0x80 } else { 0 };
                match index {
                    None if base & 7 != STACK_POINTER => code.push(form | reg | base & 7),
                    index => {
                        let (index, scale) = index.unwrap_or((STACK_POINTER, 0));
                        code.push(form | reg | STACK_POINTER);
                        code.push(scale << 6 | (index & 7) << 3 | base & 7);
                    }
                }
                if form != 0 {
                    code.extend(disp.to_le_bytes());
                }
            }
        }
        if let Some((value, bytes)) = self.immediate {
            code.extend(&value.to_le_bytes()[..usize::from(bytes)]);
        }
        fixup
    }
}
