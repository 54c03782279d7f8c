//! A module: functions, variables and kernels.

use cranelift_entity::PrimaryMap;

use crate::entities::{Func, Global};
use crate::function::Function;
use crate::types::Space;

/// A variable of a module. Its space says what it is: program-scope memory (global), read-only data (constant), or a
/// `__local` variable, of which each work-group has its own, uninitialized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalData {
    /// Name for readers; may be empty.
    pub name: String,
    /// Global, constant or local.
    pub space: Space,
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// Initial bytes.
    pub init: GlobalInit,
}

/// Initial content of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GlobalInit {
    /// The first bytes; the rest is zero.
    pub bytes: Vec<u8>,
    /// Addresses of other variables to store over the bytes: (offset, variable, addend).
    pub addresses: Vec<(u64, Global, i64)>,
}

/// A kernel of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelData {
    /// Its function; kernel functions take no parameters and return nothing.
    pub func: Func,
    /// Size of its argument block in bytes.
    pub arg_block_bytes: u32,
    /// `reqd_work_group_size`.
    pub required_local_size: Option<[u64; 3]>,
}

/// Functions, variables and kernels that are compiled together.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Functions; kernels among them.
    pub funcs: PrimaryMap<Func, Function>,
    /// Variables.
    pub globals: PrimaryMap<Global, GlobalData>,
    /// Kernels in the order of the entry points.
    pub kernels: Vec<KernelData>,
}

impl Module {
    /// The kernel of a name.
    pub fn kernel(&self, name: &str) -> Option<&KernelData> {
        self.kernels.iter().find(|k| self.funcs[k.func].name == name)
    }
}
