//! Import of SPIR-V: the interface that the pipeline leans on.

use crate::{ArgInfo, BuildError, ImportError, Input, ModuleSummary, Options};

/// What the application may know of a kernel.
#[derive(Clone, Debug)]
pub struct KernelDesc {
    /// Name of the entry point.
    pub name: String,
    /// Its parameters in order.
    pub args: Vec<ArgInfo>,
    /// `reqd_work_group_size`.
    pub required_local_size: Option<[u64; 3]>,
    /// `work_group_size_hint`.
    pub local_size_hint: Option<[u64; 3]>,
    /// `vec_type_hint`.
    pub vec_type_hint: Option<String>,
}

/// An imported program.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The kernels with everything they need, linked.
    pub module: clift_kir::Module,
    /// What the application may know of the kernels, in the order of `module.kernels`.
    pub kernels: Vec<KernelDesc>,
}

/// Reads header, instruction stream and declarations of a module.
///
/// # Errors
/// [`ImportError`] when the words are no SPIR-V module.
pub fn inspect(words: &[u32]) -> Result<ModuleSummary, ImportError> {
    let _ = words;
    Err(ImportError::malformed(0, "not built yet"))
}

/// Imports one module without linking.
///
/// # Errors
/// [`BuildError::Import`] says what is wrong with the module.
pub fn check(input: &Input<'_>, options: &Options) -> Result<ModuleSummary, BuildError> {
    let _ = options;
    Ok(inspect(input.words)?)
}

/// Links modules and imports all kernels.
///
/// # Errors
/// [`BuildError`] says what is wrong with which module.
pub fn import(inputs: &[Input<'_>], options: &Options) -> Result<Imported, BuildError> {
    let _ = (inputs, options);
    Err(BuildError::Import(ImportError::malformed(0, "not built yet")))
}
