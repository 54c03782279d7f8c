//! Code placement: compiled functions in executable memory that lives as long as the program.

#![allow(unsafe_code, reason = "machine code is entered through a pointer and freed by hand")]

use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use clift_include::abi::GroupRunFn;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir;
use cranelift_codegen::{CodegenError, Context};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleError, ModuleReloc, default_libcall_names};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};

use super::constants::Pool;
use super::crowd::is_crowded;
use super::exchange;
use super::products::only_of_widened;
use super::source::listing;
use super::target::Isas;
use super::translate::Translated;
use crate::BuildError;
use crate::codegen::data::ProgramData;

/// Functions on their way into executable memory.
pub(in crate::codegen) struct Placement {
    module: Code,
    isas: Isas,
    functions: Vec<FuncId>,
    /// Bodies that functions share: those of one hash, and what they are called.
    bodies: FxHashMap<u64, Vec<(ir::function::FunctionStencil, FuncId)>>,
    /// Constants that functions read.
    pools: Vec<Pool>,
    context: Context,
    dump_clif: bool,
    dump_code: bool,
    log: String,
}

impl Placement {
    /// An empty placement for the host, which notes Cranelift's form and the machine code where asked to.
    pub(super) fn new(isas: Isas, dump: &[String]) -> Placement {
        let dumps = |name: &str| dump.iter().any(|wanted| wanted == name);
        let module = JITModule::new(JITBuilder::with_isa(isas.thorough.clone(), default_libcall_names()));
        Placement {
            module: Code { module: Some(module) },
            isas,
            functions: Vec::new(),
            bodies: FxHashMap::default(),
            pools: Vec::new(),
            context: Context::new(),
            dump_clif: dumps("clif"),
            dump_code: dumps("asm"),
            log: String::new(),
        }
    }

    /// Compiles a function and what bodies it has; gives its number in [`Placed::functions`].
    ///
    /// # Errors
    /// As [`crate::codegen::Backend::compile`]; the message does not name the kernel.
    pub(super) fn define(&mut self, name: &str, made: Translated) -> Result<usize, BuildError> {
        let Translated { mut func, bodies, pool } = made;
        for (number, body) in (0..).zip(bodies) {
            let id = self.body(body)?;
            exchange::name_body(&mut func, number, id.as_u32());
        }
        let id = self.compile(name, func, &pool)?;
        self.pools.push(pool);
        self.functions.push(id);
        Ok(self.functions.len() - 1)
    }

    /// A body: an equal one that there is already, else a new one.
    fn body(&mut self, body: ir::Function) -> Result<FuncId, BuildError> {
        let mut hasher = FxHasher::default();
        body.stencil.hash(&mut hasher);
        let hash = hasher.finish();
        let known = self.bodies.get(&hash).and_then(|known| known.iter().find(|(known, _)| *known == body.stencil));
        if let Some(&(_, id)) = known {
            return Ok(id);
        }
        let stencil = body.stencil.clone();
        let id = self.compile("what is executed seldom", body, &[])?;
        self.bodies.entry(hash).or_default().push((stencil, id));
        Ok(id)
    }

    fn compile(&mut self, name: &str, func: ir::Function, pool: &[u128]) -> Result<FuncId, BuildError> {
        let Some(module) = &mut self.module.module else { unreachable!("broken invariant: code freed") };
        self.context.func = func;
        // Only where nobody reads the code itself.
        self.context.set_disasm(self.dump_code && cfg!(not(target_arch = "x86_64")));
        if self.dump_clif {
            let _ = writeln!(self.log, "; clif {name}\n{}", self.context.func);
        }
        let id = module.declare_anonymous_function(&self.context.func.signature).map_err(describe)?;
        let isa = if is_crowded(&mut self.context) {
            &self.isas.quick
        } else if only_of_widened(&self.context.func) {
            &self.isas.widening
        } else {
            &self.isas.thorough
        };
        let compiled = self.context.compile(&**isa, &mut ControlPlane::default()).map(|_| ());
        let compiled = compiled.map_err(|error| describe(ModuleError::Compilation(error.inner)));
        let defined = compiled.and_then(|()| {
            let Some(code) = self.context.compiled_code() else { unreachable!("broken invariant: no code") };
            let relocs = code.buffer.relocs().iter();
            let relocs: Vec<_> =
                relocs.map(|reloc| ModuleReloc::from_mach_reloc(reloc, &self.context.func, id)).collect();
            let align = u64::from(code.buffer.alignment);
            module.define_function_bytes(id, align, code.code_buffer(), &relocs).map_err(describe)
        });
        if let Some(code) = self.context.compiled_code().filter(|_| self.dump_code) {
            let _ = writeln!(self.log, "; asm {name}\n{}", listing(code, pool));
        }
        self.context.clear();
        defined.map(|()| id)
    }

    /// Takes a function whose machine code is complete; gives its number in [`Placed::functions`].
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(in crate::codegen) fn define_code(&mut self, code: &[u8], align: u64) -> Result<usize, BuildError> {
        let Some(module) = &mut self.module.module else { unreachable!("broken invariant: code freed") };
        let id = module.declare_anonymous_function(&module.make_signature()).map_err(describe)?;
        module.define_function_bytes(id, align, code, &[]).map_err(describe)?;
        self.functions.push(id);
        Ok(self.functions.len() - 1)
    }

    /// Whether machine code is to be noted.
    pub(in crate::codegen) fn lists(&self) -> bool {
        self.dump_code
    }

    /// Notes what was asked for.
    pub(in crate::codegen) fn note(&mut self, text: &str) {
        self.log += text;
    }

    /// Makes all functions executable.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(in crate::codegen) fn finish(mut self, data: Arc<ProgramData>) -> Result<Placed, BuildError> {
        let Some(module) = &mut self.module.module else { unreachable!("broken invariant: code freed") };
        module.finalize_definitions().map_err(describe)?;
        let entry = |&id: &FuncId| {
            let code = module.get_finalized_function(id);
            // SAFETY: the function was compiled with exactly this signature and calling convention.
            unsafe { std::mem::transmute::<*const u8, GroupRunFn>(code) }
        };
        let functions = self.functions.iter().map(entry).collect();
        let memory = Memory { _code: Mutex::new(self.module), _data: data, _constants: self.pools };
        Ok(Placed { functions, log: self.log, memory })
    }
}

/// Functions in executable memory.
#[derive(Debug)]
pub(in crate::codegen) struct Placed {
    /// In the order of their definitions.
    pub(in crate::codegen) functions: Vec<GroupRunFn>,
    /// What was to be noted.
    pub(in crate::codegen) log: String,
    /// Keeps them and the program's variables alive.
    pub(in crate::codegen) memory: Memory,
}

/// Whose fault an error is: a kernel may be too large, all else is ours.
fn describe(error: ModuleError) -> BuildError {
    match error {
        ModuleError::Compilation(CodegenError::ImplLimitExceeded | CodegenError::CodeTooLarge) => {
            BuildError::Limit("too large to compile".to_owned())
        }
        ModuleError::Allocation { err } => BuildError::Limit(format!("no memory for code: {err}")),
        ModuleError::Compilation(CodegenError::Verifier(errors)) => internal(&errors),
        other => internal(&other),
    }
}

fn internal(reason: &dyn fmt::Display) -> BuildError {
    BuildError::Internal(format!("code generation: {reason}"))
}

/// Executable memory, freed on drop.
struct Code {
    module: Option<JITModule>,
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the owner of a program keeps it while any of its code may run.
            unsafe { module.free_memory() };
        }
    }
}

/// What a compiled program keeps alive.
pub(in crate::codegen) struct Memory {
    // Never locked: the lock only makes the module shareable.
    _code: Mutex<Code>,
    _data: Arc<ProgramData>,
    _constants: Vec<Pool>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}
