//! Pipes: the layout of a pipe's memory, which the host creates and generated code operates on.
//!
//! A pipe is a [`PipeHeader`] followed by a ring of slots, one for each packet. The number of slots is the capacity rounded up
//! to a power of two. `jit/src/builtins/pipe/README.md` describes the protocol.

use core::mem::{offset_of, size_of};

/// Maximum size of a packet in bytes.
pub const MAX_PACKET_BYTES: u32 = 64 << 10;

/// Maximum capacity in packets. A reservation holds the number of its first slot in 31 bits.
pub const MAX_PACKETS: u32 = 1 << 31;

/// Maximum number of reservations that a work-item may hold. The driver has no such limit; programs need a number.
pub const MAX_RESERVATIONS: u32 = 1 << 16;

/// Maximum number of pipes among a kernel's arguments. The driver has no such limit, either.
pub const MAX_PIPE_ARGS: u32 = 64;

/// Bytes of the header. The slots follow it, aligned for every type.
pub const HEADER_BYTES: usize = size_of::<PipeHeader>();

/// The beginning of a pipe. Words that different threads write are in different cache lines.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct PipeHeader {
    /// Constants.
    pub shape: PipeShape,
    /// The end that writers use.
    pub write: PipeEnd,
    /// Exclusive upper bound of the packets that writers may have taken. Starts at the capacity; readers raise it.
    pub write_limit: PipeLimit,
    /// The end that readers use.
    pub read: PipeEnd,
    /// Exclusive upper bound of the packets that readers may have taken. Starts at 0; writers raise it.
    pub read_limit: PipeLimit,
}

/// What does not change.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct PipeShape {
    /// Maximum number of packets in the pipe.
    pub capacity: u64,
    /// Number of slots minus 1.
    pub mask: u64,
    /// Size of a packet and distance of slots in bytes.
    pub packet_bytes: u64,
}

/// The counters of one end, in packets since the pipe was created.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct PipeEnd {
    /// Packets that reservations have asked for, without those that were given back.
    pub taken: u64,
    /// Packets of successful reservations: the position of the next one.
    pub next: u64,
    /// Packets of committed reservations.
    pub committed: u64,
}

/// How far one end may go, in a cache line of its own because the other end writes it.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct PipeLimit(pub u64);

/// Number of slots for a capacity.
pub const fn slots(capacity: u32) -> u64 {
    (capacity as u64).next_power_of_two()
}

/// Bytes of a pipe's memory; `None` for a capacity above [`MAX_PACKETS`].
pub const fn bytes(packet_bytes: u32, capacity: u32) -> Option<u64> {
    if capacity > MAX_PACKETS {
        return None;
    }
    Some(HEADER_BYTES as u64 + slots(capacity) * packet_bytes as u64)
}

/// The header of an empty pipe.
pub fn empty(packet_bytes: u32, capacity: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let shape = offset_of!(PipeHeader, shape);
    let words = [
        (shape + offset_of!(PipeShape, capacity), capacity.into()),
        (shape + offset_of!(PipeShape, mask), slots(capacity) - 1),
        (shape + offset_of!(PipeShape, packet_bytes), packet_bytes.into()),
        (offset_of!(PipeHeader, write_limit), u64::from(capacity)),
    ];
    for (offset, word) in words {
        header[offset..offset + size_of::<u64>()].copy_from_slice(&word.to_le_bytes());
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_pipe() {
        assert_eq!(HEADER_BYTES % 128, 0);
        let header = empty(12, 5);
        let word = |offset: usize| u64::from_le_bytes(header[offset..offset + 8].try_into().expect("eight bytes"));
        assert_eq!([word(0), word(8), word(16)], [5, 7, 12]);
        assert_eq!(word(offset_of!(PipeHeader, write_limit)), 5);
        assert_eq!(word(offset_of!(PipeHeader, read_limit)), 0);
        assert_eq!(bytes(12, 5), Some(HEADER_BYTES as u64 + 8 * 12));
        assert_eq!(bytes(1, MAX_PACKETS + 1), None);
    }
}
