//! Constants that instructions read from memory, behind the code; each stands there once.

use rustc_hash::FxHashMap;

/// A constant of the pool: where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Constant(pub(super) u32);

/// The constants of a function.
#[derive(Debug, Default)]
pub(super) struct Pool {
    bytes: Vec<u8>,
    known: FxHashMap<Vec<u8>, Constant>,
}

/// What the pool's begin has to be aligned to: the largest constant.
pub(super) const ALIGN: usize = 64;

impl Pool {
    /// The place of a constant, which is aligned to its size.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Constant {
        if let Some(&constant) = self.known.get(bytes) {
            return constant;
        }
        let at = self.bytes.len().next_multiple_of(bytes.len().next_power_of_two().min(ALIGN));
        self.bytes.resize(at, 0);
        self.bytes.extend_from_slice(bytes);
        let constant = Constant(at as u32);
        self.known.insert(bytes.to_vec(), constant);
        constant
    }

    /// All constants.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
