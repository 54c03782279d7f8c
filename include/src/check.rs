//! What the compiler says about the code of a checked kernel, so that the runtime can judge its accesses and report the bad ones.
//! `docs/checking.md` describes checked kernels.

/// The checks in the code of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelChecks {
    /// Name of the kernel.
    pub kernel: String,
    /// The accesses that are checked. Generated code names them by their index.
    pub sites: Vec<Site>,
    /// The arguments whose bounds the launch puts into the argument block.
    pub bounds: Vec<ArgBounds>,
    /// If the code keeps shadow memory of local pointer arguments: the offset in the argument block where the launch puts the distance
    /// in bytes from local memory to its shadow, for which it provides room.
    pub local_shadow: Option<u32>,
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
}

/// An argument as messages name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArgName {
    /// Its index.
    pub index: u32,
    /// Its name, if the module has names.
    pub name: Option<String>,
}

/// An instruction that is checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// What is checked.
    pub check: CheckKind,
    /// What it does.
    pub kind: SiteKind,
    /// What it accesses.
    pub object: SiteObject,
    /// Word offset in the SPIR-V module plus one; 0 if unknown.
    pub word: u32,
    /// Source line; 0 if unknown.
    pub line: u32,
    /// Source column; 0 if unknown.
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
