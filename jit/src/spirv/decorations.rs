//! The decorations of ids, with decoration groups resolved.
//!
//! Only decorations that affect kernels are kept; all others are valid and ignored, as are all decorations of members.

use clift_kir::WrapFlags;
use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, Decoration, FPFastMathMode, FPRoundingMode, FunctionParameterAttribute, LinkageType};
use rustc_hash::FxHashMap;

use super::families::AnnotationInst;
use super::words::{Inst, InstError};

/// A symbol that a module exports or imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Linkage {
    /// Its name.
    pub(crate) name: String,
    /// Whether it is an export or an import.
    pub(crate) kind: LinkageType,
}

/// The decorations of one id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decorations {
    /// `SpecId`.
    pub(crate) spec_id: Option<u32>,
    /// `BuiltIn`.
    pub(crate) built_in: Option<BuiltIn>,
    /// `CPacked`: a struct without padding.
    pub(crate) packed: bool,
    /// `Alignment`.
    pub(crate) alignment: Option<u32>,
    /// `AlignmentId`.
    pub(crate) alignment_id: Option<u32>,
    /// `MaxByteOffset`.
    pub(crate) max_byte_offset: Option<u32>,
    /// `MaxByteOffsetId`.
    pub(crate) max_byte_offset_id: Option<u32>,
    /// `SaturatedConversion`.
    pub(crate) saturate: bool,
    /// `FPRoundingMode`.
    pub(crate) rounding: Option<FPRoundingMode>,
    /// `FPFastMathMode`.
    pub(crate) fast_math: Option<FPFastMathMode>,
    /// `NoContraction`.
    pub(crate) no_contraction: bool,
    /// `NoSignedWrap`, `NoUnsignedWrap`.
    pub(crate) wrap: WrapFlags,
    /// `LinkageAttributes`.
    pub(crate) linkage: Option<Linkage>,
    /// `Restrict`, or the parameter attribute `NoAlias`.
    pub(crate) restrict: bool,
    /// `Volatile`.
    pub(crate) volatile: bool,
    /// `Constant`. The parameter attribute `NoWrite` does not count as `const` in the source, because optimizers infer it.
    pub(crate) constant: bool,
    /// Parameter attribute `ByVal`.
    pub(crate) by_val: bool,
    /// Parameter attribute `Sret`.
    pub(crate) sret: bool,
}

impl Decorations {
    fn add(&mut self, operands: &[Operand]) -> Result<(), InstError> {
        let Some(Operand::Decoration(decoration)) = operands.first() else {
            return Err(InstError::malformed("a decoration is missing"));
        };
        let missing = || InstError::malformed(format!("{decoration:?} lacks its operand"));
        match (decoration, operands.get(1)) {
            (Decoration::SpecId, Some(&Operand::LiteralBit32(id))) => self.spec_id = Some(id),
            (Decoration::BuiltIn, Some(&Operand::BuiltIn(built_in))) => self.built_in = Some(built_in),
            (Decoration::Alignment, Some(&Operand::LiteralBit32(bytes))) => {
                // LLVM's back end writes 128 as a sign-extended byte.
                let bytes = if bytes == -128i32 as u32 { 128 } else { bytes };
                if !bytes.is_power_of_two() {
                    return Err(InstError::malformed(format!("alignment {bytes} is not a power of two")));
                }
                self.alignment = Some(bytes);
            }
            (Decoration::AlignmentId, Some(&Operand::IdRef(id))) => self.alignment_id = Some(id),
            (Decoration::MaxByteOffset, Some(&Operand::LiteralBit32(bytes))) => self.max_byte_offset = Some(bytes),
            (Decoration::MaxByteOffsetId, Some(&Operand::IdRef(id))) => self.max_byte_offset_id = Some(id),
            (Decoration::FPRoundingMode, Some(&Operand::FPRoundingMode(mode))) => self.rounding = Some(mode),
            (Decoration::FPFastMathMode, Some(&Operand::FPFastMathMode(mode))) => self.fast_math = Some(mode),
            (Decoration::LinkageAttributes, Some(Operand::LiteralString(name))) => {
                let Some(&Operand::LinkageType(kind)) = operands.get(2) else { return Err(missing()) };
                self.linkage = Some(Linkage { name: name.clone(), kind });
            }
            (Decoration::FuncParamAttr, Some(&Operand::FunctionParameterAttribute(attribute))) => match attribute {
                FunctionParameterAttribute::ByVal => self.by_val = true,
                FunctionParameterAttribute::Sret => self.sret = true,
                FunctionParameterAttribute::NoAlias => self.restrict = true,
                FunctionParameterAttribute::Zext
                | FunctionParameterAttribute::Sext
                | FunctionParameterAttribute::NoCapture
                | FunctionParameterAttribute::NoWrite
                | FunctionParameterAttribute::NoReadWrite
                | FunctionParameterAttribute::RuntimeAlignedALTERA => {}
            },
            (
                Decoration::SpecId
                | Decoration::BuiltIn
                | Decoration::Alignment
                | Decoration::AlignmentId
                | Decoration::FPRoundingMode
                | Decoration::FPFastMathMode
                | Decoration::LinkageAttributes
                | Decoration::FuncParamAttr,
                _,
            ) => return Err(missing()),
            (Decoration::CPacked, _) => self.packed = true,
            (Decoration::SaturatedConversion, _) => self.saturate = true,
            (Decoration::NoContraction, _) => self.no_contraction = true,
            (Decoration::Restrict | Decoration::RestrictPointer, _) => self.restrict = true,
            (Decoration::NoSignedWrap, _) => self.wrap |= WrapFlags::NO_SIGNED,
            (Decoration::NoUnsignedWrap, _) => self.wrap |= WrapFlags::NO_UNSIGNED,
            (Decoration::Volatile, _) => self.volatile = true,
            (Decoration::Constant, _) => self.constant = true,
            // The other decorations do not affect execution.
            _ => {}
        }
        Ok(())
    }
}

/// Whether a decoration replaces an earlier one.
fn same_kind(earlier: &[Operand], later: &[Operand]) -> bool {
    let attribute = matches!(later.first(), Some(Operand::Decoration(Decoration::FuncParamAttr)));
    earlier.first() == later.first() && (!attribute || earlier.get(1) == later.get(1))
}

/// All decorations of a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecorationTable {
    by_id: FxHashMap<u32, Decorations>,
    /// Decorations by target, in case the target is a decoration group.
    raw: FxHashMap<u32, Vec<Vec<Operand>>>,
    none: Decorations,
}

impl DecorationTable {
    /// Adds an annotation instruction.
    pub(crate) fn add(&mut self, inst: &Inst) -> Result<(), InstError> {
        let Some(op) = AnnotationInst::of(inst.op()) else {
            unreachable!("broken invariant: {} is not an annotation", inst.name())
        };
        match op {
            AnnotationInst::Decorate | AnnotationInst::DecorateId | AnnotationInst::DecorateString => {
                let target = inst.id(0)?;
                let operands = &inst.dr.operands[1..];
                self.by_id.entry(target).or_default().add(operands)?;
                // Only the last decoration of a kind counts. Keeping all would be quadratic: a group may be as large as the
                // module and have as many targets.
                let raw = self.raw.entry(target).or_default();
                raw.retain(|earlier| !same_kind(earlier, operands));
                raw.push(operands.to_vec());
            }
            AnnotationInst::GroupDecorate => {
                let group = inst.id(0)?;
                let decorations = self.raw.get(&group).cloned().unwrap_or_default();
                for target in inst.ids_from(1)? {
                    let entry = self.by_id.entry(target).or_default();
                    for operands in &decorations {
                        entry.add(operands)?;
                    }
                }
            }
            AnnotationInst::DecorationGroup
            | AnnotationInst::GroupMemberDecorate
            | AnnotationInst::MemberDecorate
            | AnnotationInst::MemberDecorateString => {}
        }
        Ok(())
    }

    /// The decorations of an id.
    pub(crate) fn of(&self, id: u32) -> &Decorations {
        self.by_id.get(&id).unwrap_or(&self.none)
    }

    /// All decorations by id, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Decorations)> {
        self.by_id.iter().map(|(&id, decorations)| (id, decorations))
    }
}
