//! What the interpreter needs of memory, and the faults that memory can see.

use crate::types::Space;

use super::InterpError;

/// Who accesses memory: what a race detector needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Linear id of the work-group in the launch.
    pub group: u64,
    /// Linear id of the work-item in the group.
    pub item: u32,
    /// Barriers passed by the group that order local memory.
    pub local_epoch: u32,
    /// Barriers passed by the group that order global memory.
    pub global_epoch: u32,
    /// Whether the access is atomic.
    pub atomic: bool,
}

/// Memory as the interpreter sees it: 64-bit addresses, bytes in little-endian order.
///
/// When an access returns a fault, it has been carried out as far as possible: what cannot be read is zero, what cannot be
/// written is dropped. The interpreter reports the fault and goes on.
pub trait Memory {
    /// New memory of undefined content: a work-item's variable (private), a work-group's (local), a program's (global,
    /// constant), or the argument block (host).
    ///
    /// # Errors
    /// When there is no more.
    fn allocate(&mut self, space: Space, size: u64, align: u32) -> Result<u64, InterpError>;

    /// Ends the life of an allocation.
    fn release(&mut self, address: u64);

    /// Writes initial content, read-only memory included.
    ///
    /// # Errors
    /// When the bytes do not lie in one allocation.
    fn initialize(&mut self, address: u64, bytes: &[u8]) -> Result<(), InterpError>;

    /// Reads bytes.
    ///
    /// # Errors
    /// The fault found.
    fn read(&mut self, access: &Access, address: u64, bytes: &mut [u8]) -> Result<(), Fault>;

    /// Writes bytes.
    ///
    /// # Errors
    /// The fault found.
    fn write(&mut self, access: &Access, address: u64, bytes: &[u8]) -> Result<(), Fault>;

    /// Reads `size` (1, 2, 4 or 8) bytes into `old`, lets `new` say what to store (`None`: nothing), stores it; all in one
    /// atomic step. `new` may be called more than once. Sequentially consistent.
    ///
    /// # Errors
    /// The fault found.
    fn update(
        &mut self,
        access: &Access,
        address: u64,
        size: u32,
        old: &mut u64,
        new: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<(), Fault>;

    /// Orders memory accesses of different work-items, where that means anything.
    fn fence(&mut self) {}

    /// Whether a generic pointer leads into private, local or global memory.
    fn is_in(&self, space: Space, address: u64) -> bool;
}

/// An allocation near an address, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// Its space.
    pub space: Space,
    /// Its address.
    pub base: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// What a program did that has no defined meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An access outside of any allocation.
    OutOfBounds {
        /// Where.
        address: u64,
        /// Bytes accessed.
        size: u64,
        /// Whether it was written.
        write: bool,
        /// The closest allocation below (or the one the access leaves).
        near: Option<Near>,
    },
    /// A write to read-only memory.
    ReadOnly {
        /// Where.
        address: u64,
    },
    /// A read of bytes never written.
    Uninitialized {
        /// The first such byte.
        address: u64,
    },
    /// An address that is not aligned as the instruction says (or an atomic needs).
    Misaligned {
        /// Where.
        address: u64,
        /// The alignment wanted.
        align: u64,
    },
    /// Two work-items access the same byte, one of them writing, with nothing that orders them.
    Race {
        /// The byte.
        address: u64,
        /// Whether this access writes.
        write: bool,
        /// Whether the other one wrote.
        other_write: bool,
        /// The other work-item: linear group, linear work-item; `None` when there are several.
        other: Option<(u64, u32)>,
    },
    /// Work-items of the group (or sub-group) wait at different barriers.
    DivergentBarrier {
        /// How many wait at this one.
        waiting: u32,
        /// How many wait at any.
        expected: u32,
    },
    /// The sub-groups of the group wait for one another at barriers: none can go on.
    Deadlock,
    /// `unreachable` was reached.
    Unreachable,
    /// Calls nested too deeply.
    CallDepth,
    /// An access to an image; a kernel is interpreted for formats and samplers that are known.
    Image,
}

/// The class of a [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "one per variant of Fault, described there")]
pub enum FaultKind {
    OutOfBounds,
    ReadOnly,
    Uninitialized,
    Misaligned,
    Race,
    DivergentBarrier,
    Deadlock,
    Unreachable,
    CallDepth,
    Image,
}

impl FaultKind {
    /// All classes with the names that tests use.
    pub const ALL: [(FaultKind, &'static str); 10] = [
        (FaultKind::OutOfBounds, "out-of-bounds"),
        (FaultKind::ReadOnly, "read-only"),
        (FaultKind::Uninitialized, "uninitialized"),
        (FaultKind::Misaligned, "misaligned"),
        (FaultKind::Race, "race"),
        (FaultKind::DivergentBarrier, "divergent-barrier"),
        (FaultKind::Deadlock, "deadlock"),
        (FaultKind::Unreachable, "unreachable"),
        (FaultKind::CallDepth, "call-depth"),
        (FaultKind::Image, "image"),
    ];
}

impl Fault {
    /// Its class.
    pub fn kind(&self) -> FaultKind {
        match self {
            Fault::OutOfBounds { .. } => FaultKind::OutOfBounds,
            Fault::ReadOnly { .. } => FaultKind::ReadOnly,
            Fault::Uninitialized { .. } => FaultKind::Uninitialized,
            Fault::Misaligned { .. } => FaultKind::Misaligned,
            Fault::Race { .. } => FaultKind::Race,
            Fault::DivergentBarrier { .. } => FaultKind::DivergentBarrier,
            Fault::Deadlock => FaultKind::Deadlock,
            Fault::Unreachable => FaultKind::Unreachable,
            Fault::CallDepth => FaultKind::CallDepth,
            Fault::Image => FaultKind::Image,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = |write: bool| if write { "write" } else { "read" };
        match self {
            Fault::OutOfBounds { address, size, write, near } => {
                write!(f, "out-of-bounds {} of {size} bytes at {address:#x}", verb(*write))?;
                if let Some(near) = near {
                    let offset = address.wrapping_sub(near.base);
                    write!(f, ", offset {offset} of {} bytes of {} memory", near.size, near.space.name())?;
                }
                Ok(())
            }
            Fault::ReadOnly { address } => write!(f, "write to read-only memory at {address:#x}"),
            Fault::Uninitialized { address } => write!(f, "read of uninitialized memory at {address:#x}"),
            Fault::Misaligned { address, align } => write!(f, "address {address:#x} is not aligned to {align} bytes"),
            Fault::Race { address, write, other_write, other } => {
                write!(f, "race at {address:#x}: {} here, {} by ", verb(*write), verb(*other_write))?;
                match other {
                    Some((group, item)) => write!(f, "work-item {item} of group {group}"),
                    None => f.write_str("several work-items"),
                }
            }
            Fault::DivergentBarrier { waiting, expected } => {
                write!(f, "divergent barrier: {waiting} of {expected} work-items wait here")
            }
            Fault::Deadlock => f.write_str(
                "deadlock: the sub-groups of the work-group wait for one another at barriers, and none can go on",
            ),
            Fault::Unreachable => f.write_str("`unreachable` was reached"),
            Fault::CallDepth => f.write_str("calls are nested too deeply"),
            Fault::Image => f.write_str("an access to an image of unknown format"),
        }
    }
}
