//! Sizes and alignments.

/// Size and alignment in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Size, a multiple of the alignment.
    pub size: u64,
    /// Alignment, a power of two.
    pub align: u32,
}

impl Default for Layout {
    fn default() -> Self {
        Self { size: 0, align: 1 }
    }
}
