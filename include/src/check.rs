//! What the compiler says about the code of a checked kernel, so that the runtime can judge its accesses and report the bad ones.
//! `docs/checking.md` describes checked kernels.

use std::collections::BTreeMap;

/// The checks in the code of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelChecks {
    /// Name of the kernel.
    pub kernel: String,
    /// The accesses that are checked. Generated code names them by their index.
    pub sites: Vec<Site>,
    /// The arguments whose bounds the launch puts into the argument block.
    pub bounds: Vec<ArgBounds>,
    /// If the code keeps shadow memory of local pointer arguments: the offset in the argument block where the launch puts the
    /// distance in bytes from local memory to its shadow, for which it provides room.
    pub local_shadow: Option<u32>,
    /// If the code omits checks of accesses that can only race if two arguments share memory: the offset in the argument block
    /// where the launch puts 1 if an argument that the kernel writes shares memory with another one, else 0.
    pub shared: Option<u32>,
    /// The shadow memory in which the code follows accesses for races; `None` if it calls the checker for each of them.
    pub races: Option<RaceShadows>,
}

/// The shadow memory in which the code of a kernel follows accesses for races. The compiler's `check/races` describes the
/// protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaceShadows {
    /// Offset in the argument block of what the launch puts there: four 64-bit numbers, in the order of [`RaceFact`].
    pub facts: u32,
    /// The number of barriers that order global memory and all others, if each work-item passes each of them once at most; 0 if
    /// none orders global memory.
    pub intervals: Option<u32>,
    /// The objects with shadow memory.
    pub objects: Vec<ShadowedObject>,
    /// The sites whose accesses are followed in shadow memory: their numbers in ascending order, with indices of `objects`.
    pub of_sites: BTreeMap<usize, usize>,
}

/// A number that a launch puts into the argument block of a kernel that has [`RaceShadows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceFact {
    /// 1 if global memory has shadow memory and no arguments share memory; 0 if the code has to call the checker for accesses
    /// to it.
    InShadows,
    /// The first stamp of the launch, never 0.
    FirstStamp,
    /// The number of intervals that have stamps.
    Intervals,
    /// 0, which the compiler does not know.
    Zero,
}

impl RaceFact {
    /// Number of facts.
    pub const COUNT: u32 = 4;

    /// The fact's offset in the argument block, from the first one.
    pub fn offset(self) -> u32 {
        8 * self as u32
    }
}

/// An object whose accesses are followed in shadow memory. Where it begins in a plane is a 64-bit number in the argument block:
/// an address, for local memory an offset from its start. It belongs to the argument's pointer, or to the first byte of a
/// variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowedObject {
    /// The object.
    pub object: SiteObject,
    /// Whether it is local memory.
    pub is_local: bool,
    /// Bytes of a plane for each byte of the object: 1, 2 or 4. A cell has 4 bytes.
    pub ratio: u32,
    /// Whether an access has one cell, whatever its size.
    pub one_cell: bool,
    /// By [`Plane`].
    pub planes: [ShadowPlane; 3],
}

/// What the cells of a plane of shadow memory say: the stamp of the last work-item that did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// Stores.
    Writes,
    /// Loads.
    Reads,
    /// Atomics that are not loads.
    Atomics,
}

impl Plane {
    /// All planes, in the order of [`ShadowedObject::planes`].
    pub const ALL: [Plane; 3] = [Plane::Writes, Plane::Reads, Plane::Atomics];
}

/// Offsets in the argument block for a plane of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShadowPlane {
    /// Where the plane begins, if there is one.
    pub cells: Option<u32>,
    /// Where the plane begins that has the sites of the accesses, if there are several.
    pub sites: Option<u32>,
    /// The only site, if there is one.
    pub only_site: usize,
}

/// The bounds of the object that a pointer argument points to. They are two 64-bit numbers at `offset` of the argument block: the
/// bytes of the object in front of the pointer, and all its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgBounds {
    /// The argument.
    pub arg: ArgName,
    /// Offset of the argument's value in the argument block.
    pub value: u32,
    /// Offset of the bounds in the argument block.
    pub offset: u32,
    /// Whether the object is local memory.
    pub is_local: bool,
    /// Whether the kernel writes the object.
    pub written: bool,
}

/// An argument as messages name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArgName {
    /// Its index.
    pub index: u32,
    /// Its name, if the module has names.
    pub name: Option<String>,
}

/// The site of a check that reports nothing.
pub const NO_SITE: u64 = u64::MAX;

/// An instruction that is checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// What is checked.
    pub check: CheckKind,
    /// What it does.
    pub kind: SiteKind,
    /// What it accesses.
    pub object: SiteObject,
    /// Where it is. An instruction of a function that is inlined is a site of its own for each chain of calls.
    pub position: Position,
}

/// Where an instruction is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// Word offset in the SPIR-V module plus one; 0 if unknown.
    pub word: u32,
    /// Source line; 0 if unknown.
    pub line: u32,
    /// Source column; 0 if unknown.
    pub column: u32,
    /// The calls through which it is reached, the innermost first.
    pub calls: Vec<CallSite>,
}

/// A call of a function that is inlined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallSite {
    /// The called function.
    pub callee: String,
    /// Source line of the call; 0 if unknown.
    pub line: u32,
    /// Source column of the call; 0 if unknown.
    pub column: u32,
}

/// What is checked at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckKind {
    /// An access must be inside of its object.
    Memory,
    /// An access to shadow memory must be inside of its object; it is not reported otherwise.
    Shadow,
    /// The code has found that a value is used that was read from memory which has not been written.
    Uninit,
    /// An access that races with those of other work-items of the group, unless a barrier is between them. The place is the
    /// address, and the size is packed ([`pack_access`]).
    Race,
    /// A barrier, before a work-item waits there. The place says which memory it orders ([`ORDERS_LOCAL`], [`ORDERS_GLOBAL`]).
    /// The size is 0 for a barrier of the work-group, else 1 plus the number of the sub-group. A named barrier is one of the
    /// sub-group.
    Barrier,
    /// The end of a work-item. The size is 1 plus the number of its sub-group if the kernel has barriers of sub-groups, else 0.
    End,
    /// An operation that orders the work-item's accesses in ways that are not followed: a fence, an atomic with a memory order.
    Order,
}

/// The barrier orders local memory.
pub const ORDERS_LOCAL: u64 = 1;
/// The barrier orders global memory.
pub const ORDERS_GLOBAL: u64 = 2;

/// The most bytes of an access that are checked for races.
pub const MOST_RACE_BYTES: u64 = 0xfff;
/// Where the digest of the value that is written begins in a packed access. It has 12 bits, and is 0 if it is not known.
pub const DIGEST_SHIFT: u32 = 12;
/// Where the offset in the object begins in a packed access.
pub const OFFSET_SHIFT: u32 = 24;
/// Bit of all packed accesses.
pub const PACKED: u64 = 1 << 63;
/// Bit of an access that is followed in shadow memory. Its place is the stamp of the work-item.
pub const IN_SHADOWS: u64 = 1 << 62;
/// Bit of an access in shadow memory that writes the value which is already there.
pub const SAME_VALUE: u64 = 1 << 61;
/// Bit of an access in shadow memory that other work-items of the pack execute at the same place.
pub const REPEATED: u64 = 1 << 60;
/// Number of bits of the offset.
pub const OFFSET_BITS: u32 = 36;

/// Packs an access of a site of kind [`CheckKind::Race`]: its offset in the object, its size, and a digest of the value that it
/// writes.
pub fn pack_access(offset: i64, bytes: u64, digest: u16) -> u64 {
    let digest = u64::from(digest & 0xfff) << DIGEST_SHIFT;
    let offset = offset.cast_unsigned() & ((1 << OFFSET_BITS) - 1);
    PACKED | (offset << OFFSET_SHIFT) | digest | bytes.min(MOST_RACE_BYTES)
}

/// The offset, the size and the digest of a packed access.
pub fn unpack_access(packed: u64) -> (i64, u64, u16) {
    let unused = 64 - OFFSET_SHIFT - OFFSET_BITS;
    let offset = (packed << unused).cast_signed() >> (OFFSET_SHIFT + unused);
    (offset, packed & MOST_RACE_BYTES, (packed >> DIGEST_SHIFT & 0xfff) as u16)
}

/// What a checked instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// Reads or writes memory atomically.
    Atomic,
    /// Waits for other work-items.
    Barrier,
}

/// The object that a checked instruction accesses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SiteObject {
    /// The object behind a pointer argument: an index of [`KernelChecks::bounds`].
    Argument(usize),
    /// An argument passed by value.
    ByValue(ArgName, u64),
    /// A `__local` variable and its size.
    Local(String, u64),
    /// A variable of the program and its size.
    Program(String, u64),
    /// A private variable, by its name if the module has names, and its size.
    Private(Option<String>, u64),
    /// Any memory of the launch: the pointer was read from memory or made from an integer. The place of an access is its address.
    Unknown,
    /// None.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_accesses() {
        for (offset, bytes, digest) in [(0, 4, 0), (-4, 1, 0xfff), (1 << 34, 0xfff, 1)] {
            assert_eq!(unpack_access(pack_access(offset, bytes, digest)), (offset, bytes, digest));
        }
    }
}
