//! The argument block.

use clift_include::abi::ARG_BLOCK_ALIGN;

/// An argument block: zeroed bytes aligned to [`ARG_BLOCK_ALIGN`].
#[derive(Debug)]
pub struct ArgBlock {
    /// The block, with additional bytes to align it.
    bytes: Box<[u8]>,
    start: usize,
    len: usize,
}

impl ArgBlock {
    /// A block of `len` zero bytes ([`Resources::arg_block_bytes`](clift_include::abi::Resources::arg_block_bytes)).
    pub fn new(len: usize) -> Self {
        let bytes = vec![0u8; len + ARG_BLOCK_ALIGN].into_boxed_slice();
        let start = bytes.as_ptr().align_offset(ARG_BLOCK_ALIGN);
        Self { bytes, start, len }
    }

    /// The block's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }

    /// The block's bytes, for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

impl Clone for ArgBlock {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.len);
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}
