//! The constant pool: constants after the code that instructions read. Equal constants are shared.

use rustc_hash::FxHashMap;

/// A constant of the pool, by its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PoolOffset(pub(super) u32);

/// The constants of a function.
#[derive(Debug, Default)]
pub(super) struct ConstantPool {
    bytes: Vec<u8>,
    known: FxHashMap<Vec<u8>, PoolOffset>,
}

/// The alignment of the pool, which is that of the largest constant.
pub(super) const ALIGN: usize = 64;

impl ConstantPool {
    /// Adds a constant, unless it exists, and returns its offset. Constants are aligned to their size.
    pub(super) fn add(&mut self, bytes: &[u8]) -> PoolOffset {
        if let Some(&constant) = self.known.get(bytes) {
            return constant;
        }
        let at = self.bytes.len().next_multiple_of(bytes.len().next_power_of_two().min(ALIGN));
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytes);
        let constant = PoolOffset(at as u32);
        self.known.insert(bytes.to_vec(), constant);
        constant
    }

    /// The bytes of all constants.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
