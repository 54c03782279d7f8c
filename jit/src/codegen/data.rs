//! Program-scope variables: memory for all global and constant variables of a module. It is initialized once and lives as long as
//! the program.
//!
//! With them go the functions that generated code calls: compiled before the kernels, they are at fixed addresses, too.
//!
//! Deliberately not here: `__local` variables, which are in the worker's arena.

#![allow(unsafe_code, reason = "raw allocation that generated code reads and writes")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use clift_kir::{Func, Global, Module, Space};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

use crate::BuildError;

/// A module's variables, and the functions that its kernels call.
#[derive(Clone, Debug)]
pub(crate) struct ProgramData {
    variables: Arc<Variables>,
    functions: FxHashMap<Func, PlacedFunction>,
}

/// A function that generated code calls.
#[derive(Clone, Debug)]
pub(crate) struct PlacedFunction {
    /// The address of its code.
    pub(crate) address: u64,
    /// The bytes of stack that it needs, with all that it calls.
    pub(crate) stack: u64,
    /// Keeps the code alive.
    pub(crate) _memory: Arc<dyn Any + Send + Sync>,
}

impl ProgramData {
    /// As [`Variables::new`]; no functions.
    ///
    /// # Errors
    /// As [`Variables::new`].
    pub(crate) fn new(module: &Module) -> Result<ProgramData, BuildError> {
        Ok(ProgramData { variables: Arc::new(Variables::new(module)?), functions: FxHashMap::default() })
    }

    /// The same variables and functions, and another function.
    pub(crate) fn with_function(&self, func: Func, placed: PlacedFunction) -> ProgramData {
        let mut data = self.clone();
        data.functions.insert(func, placed);
        data
    }

    fn placed(&self, func: Func) -> &PlacedFunction {
        self.functions.get(&func).unwrap_or_else(|| unreachable!("broken invariant: {func} has no code"))
    }

    /// The address of a function's code.
    pub(crate) fn function(&self, func: Func) -> u64 {
        self.placed(func).address
    }

    /// The bytes of stack that a call of a function takes.
    pub(crate) fn stack_of(&self, func: Func) -> u64 {
        self.placed(func).stack
    }

    /// Address of a global or constant variable.
    pub(crate) fn address(&self, global: Global) -> u64 {
        self.variables.addresses[global]
    }

    /// Addresses of all variables.
    pub(crate) fn range(&self) -> std::ops::Range<u64> {
        let start = self.variables.base.as_ptr() as u64;
        start..start + self.variables.layout.size() as u64
    }

    /// Bytes of variables in global memory.
    pub(crate) fn global_bytes(&self) -> u64 {
        self.variables.global_bytes
    }
}

/// The memory of a module's variables.
#[derive(Debug)]
struct Variables {
    base: NonNull<u8>,
    layout: Layout,
    addresses: SecondaryMap<Global, u64>,
    global_bytes: u64,
}

// SAFETY: the memory is owned by this value and never touched through it after construction; generated code accesses it
// under OpenCL's memory model.
unsafe impl Send for Variables {}
// SAFETY: as above.
unsafe impl Sync for Variables {}

impl Variables {
    /// Allocates and initializes the variables of a module.
    ///
    /// # Errors
    /// [`BuildError::Limit`] when their total size overflows or exceeds what the host may allocate.
    fn new(module: &Module) -> Result<Variables, BuildError> {
        let limit = || BuildError::Limit("the program-scope variables need too much memory".to_owned());
        let mut offsets: SecondaryMap<Global, Option<u64>> = SecondaryMap::new();
        let (mut size, mut align, mut global_bytes) = (0u64, 128u64, 0u64);
        for (global, data) in &module.globals {
            match data.space {
                Space::Global => global_bytes = global_bytes.checked_add(data.size).ok_or_else(limit)?,
                Space::Constant => {}
                Space::Local => continue,
                Space::Private | Space::Generic | Space::Host => {
                    unreachable!("broken invariant: variable in space {}", data.space.name())
                }
            }
            let data_align = u64::from(data.align.max(1));
            align = align.max(data_align);
            let offset = size.checked_next_multiple_of(data_align).ok_or_else(limit)?;
            offsets[global] = Some(offset);
            // An empty variable gets a byte, so that no two variables share an address.
            size = offset.checked_add(data.size.max(1)).ok_or_else(limit)?;
        }
        let size = usize::try_from(size.max(1)).map_err(|_| limit())?;
        let layout = Layout::from_size_align(size, align as usize).map_err(|_| limit())?;
        // SAFETY: the size is not zero.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(limit)?;
        let mut data = Variables { base, layout, addresses: SecondaryMap::new(), global_bytes };
        for (global, offset) in offsets.iter() {
            if let Some(offset) = offset {
                data.addresses[global] = base.as_ptr() as u64 + offset;
            }
        }
        data.initialize(module, &offsets);
        Ok(data)
    }

    fn initialize(&mut self, module: &Module, offsets: &SecondaryMap<Global, Option<u64>>) {
        // SAFETY: base and size are those of the allocation, and nothing else refers to it yet.
        let memory = unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.layout.size()) };
        for (global, data) in &module.globals {
            let Some(offset) = offsets[global] else { continue };
            let memory = &mut memory[offset as usize..][..data.size as usize];
            let bytes = data.init.bytes.len().min(memory.len());
            memory[..bytes].copy_from_slice(&data.init.bytes[..bytes]);
            for &(at, target, addend) in &data.init.addresses {
                let address = self.addresses[target].wrapping_add_signed(addend);
                if let Some(place) = memory.get_mut(at as usize..).and_then(|m| m.get_mut(..8)) {
                    place.copy_from_slice(&address.to_le_bytes());
                }
            }
        }
    }
}

impl Drop for Variables {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clift_kir::{GlobalData, GlobalInit};

    #[test]
    fn variables_are_initialized_and_linked() {
        let mut module = Module::default();
        let first = module.globals.push(GlobalData {
            name: "first".into(),
            space: Space::Constant,
            size: 4,
            align: 4,
            init: GlobalInit { bytes: vec![1, 2, 3], addresses: vec![] },
        });
        let second = module.globals.push(GlobalData {
            name: "second".into(),
            space: Space::Global,
            size: 24,
            align: 16,
            init: GlobalInit { bytes: vec![], addresses: vec![(8, first, 2)] },
        });
        let data = ProgramData::new(&module).unwrap();
        assert_eq!(data.global_bytes(), 24);
        assert_eq!(data.address(second) % 16, 0);
        // SAFETY: the variables have these sizes.
        unsafe {
            assert_eq!(*(data.address(first) as *const [u8; 4]), [1, 2, 3, 0]);
            let words = *(data.address(second) as *const [u64; 3]);
            assert_eq!(words, [0, data.address(first) + 2, 0]);
        }
    }

    #[test]
    fn huge_variables_are_rejected() {
        let mut module = Module::default();
        for _ in 0..2 {
            module.globals.push(GlobalData {
                name: String::new(),
                space: Space::Global,
                size: u64::MAX / 2 + 1,
                align: 8,
                init: GlobalInit::default(),
            });
        }
        assert!(matches!(ProgramData::new(&module), Err(BuildError::Limit(_))));
    }
}
