//! What the backends that make machine code share: compiling functions one by one, some of them lazily.
//!
//! Deliberately not here: instruction selection, and how code gets into executable memory (`code_memory.rs`).

use std::sync::Arc;

use clift_include::abi::KernelEntry;
use clift_kir::Function;

use super::code_memory::PlacedCode;
use super::data::ProgramData;
use super::lazy::{self, LazyKernel};
use super::{CompileError, CompiledKernels, KernelCode, KernelFunction};
use crate::BuildError;
use crate::guard::guarded;

/// A backend that makes machine code.
pub(super) trait NativeBackend: Send + Sync {
    /// A session, which compiles the functions of one program and logs what `dump` lists.
    fn session(&'static self, dump: &[String]) -> Box<dyn Session>;
}

/// The functions of one program until they are in executable memory.
pub(super) trait Session {
    /// Compiles a legal function and returns its index in [`PlacedCode::functions`].
    ///
    /// # Errors
    /// As [`super::Backend::compile`]; the message does not name the kernel.
    fn define(&mut self, name: &str, func: &Function, data: &ProgramData) -> Result<usize, BuildError>;

    /// Makes all functions executable.
    ///
    /// # Errors
    /// [`BuildError::Limit`] when there is no memory for them.
    fn finish(self: Box<Self>, data: Arc<ProgramData>) -> Result<PlacedCode, BuildError>;
}

/// Prefix of the message for a panic in a library. Libraries panic when they have no rule for an instruction.
pub(super) const PANIC: &str = "code generation";

/// The largest stack frame of a function in bytes: half of the stacks on which kernels run.
pub(super) const MAX_FRAME: u32 = 4 << 20;

/// The error of a function that needs a frame of so many bytes, more than `most`.
pub(super) fn frame_too_large(bytes: u64, most: u32) -> BuildError {
    BuildError::Limit(format!("its variables and spilled values need {bytes} bytes of stack, more than {most}"))
}

/// How a kernel's function for any work-group is entered.
enum GeneralEntry {
    /// Compiled with the program; the index of the function.
    Placed(usize),
    /// Compiled when it is first called.
    Lazy(Arc<LazyKernel>),
}

/// Implements [`super::Backend::compile`].
pub(super) fn compile(
    backend: &'static dyn NativeBackend,
    kernels: Vec<KernelCode>,
    data: Arc<ProgramData>,
    dump: &[String],
) -> Result<CompiledKernels, CompileError> {
    let mut session = backend.session(dump);
    let mut entries = Vec::new();
    let mut lazy_kernels: Vec<Arc<LazyKernel>> = Vec::new();
    for (number, KernelCode { name, general, packed }) in kernels.into_iter().enumerate() {
        let mut define = |name: &str, func: &Function| {
            guarded(PANIC, || session.define(name, func, &data))
                .map_err(|error| CompileError { kernel: Some(number), error: error.in_kernel(name) })
        };
        let general = match general {
            KernelFunction::Legal(func) => GeneralEntry::Placed(define(&name, &func)?),
            KernelFunction::Lazy(source) => {
                GeneralEntry::Lazy(Arc::new(LazyKernel::new(backend, &name, source, data.clone())))
            }
            KernelFunction::Canonical(..) => unreachable!("broken invariant: kernel without code"),
        };
        let packed = packed.map(|func| define(&format!("{name} (whole packs)"), &func)).transpose()?;
        entries.push((general, packed));
    }
    let PlacedCode { functions, log, memory } = session.finish(data)?;
    let entries = entries
        .into_iter()
        .map(|(general, packed)| {
            let packed = packed.map(|number| functions[number]);
            match general {
                GeneralEntry::Placed(number) => KernelEntry { run: functions[number], packed, data: std::ptr::null() },
                GeneralEntry::Lazy(lazy) => {
                    let data = Arc::as_ptr(&lazy).cast();
                    lazy_kernels.push(lazy);
                    KernelEntry { run: lazy::enter, packed, data }
                }
            }
        })
        .collect();
    Ok(CompiledKernels { entries, log, memory: Arc::new((memory, lazy_kernels)) })
}
