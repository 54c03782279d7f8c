//! What selection does in another way without AVX-512: masks are vectors, whose lanes have all bits set or none, and there are no
//! operands that are broadcast, no instructions that permute lanes of two registers, no truncations of lanes, and no unsigned
//! comparisons.
//!
//! - `masks` has logic of masks, and their conversion to lanes of another width.
//! - `int` has operations on lanes of integers that AVX-512 has and AVX2 lacks.
//! - `convert` has conversions.
//! - `lanes` has selection and movement between lanes.

mod convert;
mod int;
mod lanes;
mod masks;

pub(in crate::codegen::x86) use int::{native as native_int, varying_shift};

use clift_kir::Type;
use regalloc2::{RegClass, VReg};
use rustc_hash::FxHashMap;

use super::{ExtraOperands, RegMem, Selector, class};
use crate::codegen::x86::Level;
use crate::codegen::x86::code::{MASK, ZMM};
use crate::codegen::x86::encode::{InstRow, OperandSize};

/// What is known of the registers of masks.
#[derive(Debug, Default)]
pub(super) struct Masks {
    /// Bytes of a lane.
    bytes: FxHashMap<VReg, u32>,
    /// The register that has the complement, if this one was computed from it.
    complements: FxHashMap<VReg, VReg>,
    /// Masks with lanes of another width, by machine block.
    converted: FxHashMap<(usize, VReg, u32), VReg>,
}

impl Masks {
    /// Forgets what is in the registers of another block.
    pub(super) fn enter_block(&mut self) {
        self.converted.clear();
    }

    /// Records that a register has a mask with lanes of so many bytes.
    pub(super) fn define(&mut self, register: VReg, bytes: u32) {
        self.bytes.insert(register, bytes);
    }

    fn lane_bytes(&self, register: VReg) -> u32 {
        self.bytes.get(&register).copied().unwrap_or_else(|| unreachable!("broken invariant: {register} is not a mask"))
    }
}

/// Bytes of the lanes of a mask in the form that crosses between blocks.
pub(super) fn param_bytes(lanes: u32) -> u32 {
    if lanes <= 8 { 4 } else { 32 / lanes }
}

/// A mask, or its complement.
#[derive(Clone, Copy, Debug)]
struct SignedMask {
    register: VReg,
    is_complement: bool,
}

impl Selector<'_> {
    /// Whether masks are vectors.
    pub(super) fn masks_are_vectors(&self) -> bool {
        self.level == Level::Avx2
    }

    /// The class of the register of a value.
    pub(super) fn register_class(&self, ty: Type) -> RegClass {
        match class(ty) {
            class if class == MASK && self.masks_are_vectors() => ZMM,
            class => class,
        }
    }

    /// An instruction of two vectors, of which the result overwrites none, and a vector as a mask.
    fn blend_by(&mut self, row: InstRow, size: OperandSize, mask: VReg, a: VReg, b: VReg) -> VReg {
        let more = ExtraOperands { second: Some(b), mask: Some(mask), ..ExtraOperands::default() };
        self.make(ZMM, row, size, RegMem::Register(a), more)
    }
}
