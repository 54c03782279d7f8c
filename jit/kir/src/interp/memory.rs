//! The interpreter's interface to memory, and the faults of programs.

use crate::types::Space;

use super::InterpError;

/// The origin of a memory access, for race detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accessor {
    /// Linear id of the work-group in the launch.
    pub group: u64,
    /// Linear id of the work-item in the group.
    pub item: u32,
    /// Number of barriers that order local memory which the group has passed.
    pub local_epoch: u32,
    /// Number of barriers that order global memory which the group has passed.
    pub global_epoch: u32,
    /// Whether the access is atomic.
    pub atomic: bool,
}

/// Memory of the interpreter: 64-bit addresses, bytes in little-endian order.
///
/// An access that returns a fault has been executed as far as possible: bytes that cannot be read are zero, and those that
/// cannot be written are dropped. The interpreter reports the fault and continues.
pub trait Memory {
    /// Allocates memory with undefined content: a variable of a work-item (private), a work-group (local) or a program (global,
    /// constant), or the argument block (host).
    ///
    /// # Errors
    /// If memory is exhausted.
    fn allocate(&mut self, space: Space, size: u64, align: u32) -> Result<u64, InterpError>;

    /// Frees an allocation.
    fn release(&mut self, address: u64);

    /// Writes initial content, also to read-only memory.
    ///
    /// # Errors
    /// If the bytes are not inside one allocation.
    fn initialize(&mut self, address: u64, bytes: &[u8]) -> Result<(), InterpError>;

    /// Reads bytes.
    ///
    /// # Errors
    /// The fault found.
    fn read(&mut self, access: &Accessor, address: u64, bytes: &mut [u8]) -> Result<(), Fault>;

    /// Writes bytes.
    ///
    /// # Errors
    /// The fault found.
    fn write(&mut self, access: &Accessor, address: u64, bytes: &[u8]) -> Result<(), Fault>;

    /// Atomically reads `size` (1, 2, 4 or 8) bytes into `old` and stores the value that `new` computes from it, if any.
    /// Sequentially consistent. `new` may be called more than once.
    ///
    /// # Errors
    /// The fault found.
    fn update(
        &mut self,
        access: &Accessor,
        address: u64,
        size: u32,
        old: &mut u64,
        new: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<(), Fault>;

    /// Orders memory accesses of different work-items, if the implementation needs it.
    fn fence(&mut self) {}

    /// Whether a generic pointer points to private, local or global memory.
    fn is_in(&self, space: Space, address: u64) -> bool;
}

/// An allocation near an address, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearbyAllocation {
    /// Its address space.
    pub space: Space,
    /// Its address.
    pub base: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// Undefined behaviour of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An access outside of any allocation.
    OutOfBounds {
        /// The address.
        address: u64,
        /// Number of bytes accessed.
        size: u64,
        /// Whether the access is a write.
        write: bool,
        /// The allocation that the access leaves, or else the closest one below.
        near: Option<NearbyAllocation>,
    },
    /// A write to read-only memory.
    ReadOnly {
        /// The address.
        address: u64,
    },
    /// A read of bytes that have not been written.
    Uninitialized {
        /// The first such byte.
        address: u64,
    },
    /// An address that is not aligned as the instruction states, or as an atomic requires.
    Misaligned {
        /// The address.
        address: u64,
        /// The required alignment.
        align: u64,
    },
    /// Unordered accesses of two work-items to the same byte, at least one of which is a write.
    Race {
        /// The byte.
        address: u64,
        /// Whether this access writes.
        write: bool,
        /// Whether the other one wrote.
        other_write: bool,
        /// The other work-item: linear group id, linear work-item id; `None` if there are several.
        other: Option<(u64, u32)>,
    },
    /// Work-items of the group (or sub-group) wait at different barriers.
    DivergentBarrier {
        /// Number of work-items that wait at this barrier.
        waiting: u32,
        /// Number of work-items that wait at any barrier.
        expected: u32,
    },
    /// A deadlock of the group's sub-groups at barriers.
    Deadlock,
    /// `unreachable` was executed.
    Unreachable,
    /// Calls nested too deeply.
    CallDepth,
    /// An access to an image whose format is not known.
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
            Fault::Deadlock => {
                f.write_str("deadlock: all sub-groups of the work-group wait at barriers, and none can continue")
            }
            Fault::Unreachable => f.write_str("`unreachable` was executed"),
            Fault::CallDepth => f.write_str("calls are nested too deeply"),
            Fault::Image => f.write_str("an access to an image of unknown format"),
        }
    }
}
