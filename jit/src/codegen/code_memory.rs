//! Executable memory. Machine code lives there as long as the program.
//!
//! Deliberately not here: how code is generated.

#![allow(unsafe_code, reason = "machine code is entered through a pointer and freed by hand")]

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use clift_include::abi::GroupRunFn;
use cranelift_codegen::CodegenError;
use cranelift_codegen::ir::Signature;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleError, ModuleReloc, default_libcall_names};
use parking_lot::Mutex;

use super::code_map::{Places, Registered};
use super::data::ProgramData;
use super::symbols::{self, CodeSymbol, Published};
use crate::BuildError;

/// Functions that are being put into executable memory.
pub(super) struct CodeMemory {
    module: OwnedModule,
    entries: Vec<FuncId>,
    functions: Vec<DefinedFunction>,
}

/// A function that has code.
struct DefinedFunction {
    id: FuncId,
    name: Box<str>,
    len: usize,
    has_frame: bool,
    places: Places,
}

impl CodeMemory {
    /// Empty memory for code of a target.
    pub(super) fn new(isa: OwnedTargetIsa) -> CodeMemory {
        let module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        CodeMemory { module: OwnedModule { module: Some(module) }, entries: Vec::new(), functions: Vec::new() }
    }

    fn module(&mut self) -> &mut JITModule {
        let Some(module) = &mut self.module.module else { unreachable!("broken invariant: code freed") };
        module
    }

    /// Declares a function, so that relocations can refer to it before its code exists.
    ///
    /// # Errors
    /// As [`describe`].
    pub(super) fn declare(&mut self, signature: &Signature) -> Result<FuncId, BuildError> {
        self.module().declare_anonymous_function(signature).map_err(describe)
    }

    /// Adds the code of a declared function, with its source locations.
    ///
    /// # Errors
    /// [`BuildError::Limit`] when there is no memory for it.
    pub(super) fn define(
        &mut self,
        id: FuncId,
        name: &str,
        code: &[u8],
        align: u64,
        relocs: &[ModuleReloc],
        places: Places,
    ) -> Result<(), BuildError> {
        let (name, len, has_frame) = (name.into(), code.len(), symbols::has_frame(code));
        self.functions.push(DefinedFunction { id, name, len, has_frame, places });
        self.module().define_function_bytes(id, align, code, relocs).map_err(describe)
    }

    /// Makes a function an entry and returns its index in [`PlacedCode::functions`].
    pub(super) fn add_entry(&mut self, id: FuncId) -> usize {
        self.entries.push(id);
        self.entries.len() - 1
    }

    /// Adds an entry whose code refers to no other function, and returns its index in [`PlacedCode::functions`].
    ///
    /// # Errors
    /// [`BuildError::Limit`] when there is no memory for it.
    pub(super) fn define_entry(
        &mut self,
        name: &str,
        code: &[u8],
        align: u64,
        places: Places,
    ) -> Result<usize, BuildError> {
        let signature = self.module().make_signature();
        let id = self.declare(&signature)?;
        self.define(id, name, code, align, &[], places)?;
        Ok(self.add_entry(id))
    }

    /// Makes all functions executable. The result keeps `data` and `constants` alive.
    ///
    /// # Errors
    /// [`BuildError::Limit`] when there is no memory for them.
    pub(super) fn finish(
        mut self,
        data: Arc<ProgramData>,
        constants: Box<dyn Any + Send + Sync>,
        log: String,
    ) -> Result<PlacedCode, BuildError> {
        self.module().finalize_definitions().map_err(describe)?;
        let entries = std::mem::take(&mut self.entries);
        let functions = std::mem::take(&mut self.functions);
        let module = self.module();
        let entry = |id: FuncId| {
            let code = module.get_finalized_function(id);
            // SAFETY: kernels are compiled with exactly this signature and calling convention. Functions that they call have
            // another signature, but only their addresses are used.
            unsafe { std::mem::transmute::<*const u8, GroupRunFn>(code) }
        };
        let entry_points = entries.into_iter().map(entry).collect();
        let mut known = Registered::default();
        let start = |id| module.get_finalized_function(id).addr();
        let published = symbols::publish(functions.iter().map(|function| {
            let DefinedFunction { id, name, len, has_frame, places } = function;
            // SAFETY: finished functions are readable, as long as their code, and stay while the module does.
            let code = unsafe { std::slice::from_raw_parts(module.get_finalized_function(*id), *len) };
            CodeSymbol { name, start: start(*id) as u64, len: *len as u64, code, has_frame: *has_frame, places }
        }));
        for DefinedFunction { id, len, places, .. } in functions {
            known.add(start(id), len, places);
        }
        let memory = ProgramMemory {
            _known: known,
            _published: published,
            _code: Mutex::new(self.module),
            _data: data,
            _constants: constants,
        };
        Ok(PlacedCode { functions: entry_points, log, memory })
    }
}

/// Functions in executable memory.
#[derive(Debug)]
pub(super) struct PlacedCode {
    /// The entries, in the order of their definitions.
    pub(super) functions: Vec<GroupRunFn>,
    /// The requested listings.
    pub(super) log: String,
    /// Keeps the functions and the program's variables alive.
    pub(super) memory: ProgramMemory,
}

/// Translates an error: a kernel may be too large, or there may be no memory for it; everything else is a bug of the compiler.
pub(super) fn describe(error: ModuleError) -> BuildError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "errors of another crate")]
    match error {
        ModuleError::Compilation(CodegenError::ImplLimitExceeded | CodegenError::CodeTooLarge) => {
            BuildError::Limit("too large for the code generator".to_owned())
        }
        ModuleError::Allocation { err } => BuildError::Limit(format!("no executable memory: {err}")),
        ModuleError::Compilation(CodegenError::Verifier(errors)) => internal(&errors),
        other => internal(&other),
    }
}

fn internal(reason: &dyn fmt::Display) -> BuildError {
    BuildError::Internal(format!("code generation: {reason}"))
}

/// Executable memory, freed on drop.
struct OwnedModule {
    module: Option<JITModule>,
}

impl Drop for OwnedModule {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the owner of a program keeps it alive while any of its code may run.
            unsafe { module.free_memory() };
        }
    }
}

/// What keeps a compiled program alive.
pub(super) struct ProgramMemory {
    // The first field: faults are no longer attributed to the code when it is freed.
    _known: Registered,
    // Likewise, debuggers no longer know the code.
    _published: Published,
    // The mutex is never locked. It only makes the module `Sync`.
    _code: Mutex<OwnedModule>,
    _data: Arc<ProgramData>,
    _constants: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for ProgramMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramMemory").finish_non_exhaustive()
    }
}
