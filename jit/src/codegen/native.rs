//! What backends that make machine code have in common: functions one by one, those that few launches need when they are called.

use std::sync::Arc;

use clift_include::abi::KernelEntry;
use clift_kir::Function;

use super::code_memory::Placed;
use super::data::ProgramData;
use super::lazy::{self, LazyKernel};
use super::{Body, Executable, KernelCode};
use crate::BuildError;
use crate::guard::guarded;

/// A backend that makes machine code.
pub(super) trait Native: Send + Sync {
    /// A session that compiles the functions of one program and logs what `dump` names.
    fn session(&'static self, dump: &[String]) -> Box<dyn Session>;
}

/// Functions of one program on their way into executable memory.
pub(super) trait Session {
    /// Compiles a legal function; gives its index in [`Placed::functions`].
    ///
    /// # Errors
    /// As [`super::Backend::compile`]; the message does not name the kernel.
    fn define(&mut self, name: &str, func: &Function, data: &ProgramData) -> Result<usize, BuildError>;

    /// Makes all functions executable.
    ///
    /// # Errors
    /// When there is no memory for them.
    fn finish(self: Box<Self>, data: Arc<ProgramData>) -> Result<Placed, BuildError>;
}

/// What libraries panicked at: they do so where they have no rule for an instruction.
pub(super) const PANIC: &str = "code generation";

/// A kernel's function for any work-group.
enum Entry {
    /// Compiled with the others, by number.
    Placed(usize),
    /// Compiled when it is called.
    Lazy(Arc<LazyKernel>),
}

/// Makes kernels executable, as [`super::Backend::compile`] has to.
pub(super) fn compile(
    backend: &'static dyn Native,
    kernels: Vec<KernelCode>,
    data: Arc<ProgramData>,
    dump: &[String],
) -> Result<Executable, BuildError> {
    let mut session = backend.session(dump);
    let mut entries = Vec::new();
    let mut lazy_kernels: Vec<Arc<LazyKernel>> = Vec::new();
    for KernelCode { name, general, packed } in kernels {
        let mut define = |name: &str, func: &Function| {
            guarded(PANIC, || session.define(name, func, &data)).map_err(|error| error.in_kernel(name))
        };
        let general = match general {
            Body::Legal(func) => Entry::Placed(define(&name, &func)?),
            Body::Deferred(deferred) => Entry::Lazy(Arc::new(LazyKernel::new(backend, &name, deferred, data.clone()))),
            Body::Canonical(..) => unreachable!("broken invariant: kernel without code"),
        };
        let packed = packed.map(|func| define(&format!("{name} (whole packs)"), &func)).transpose()?;
        entries.push((general, packed));
    }
    let Placed { functions, log, memory } = session.finish(data)?;
    let entries = entries
        .into_iter()
        .map(|(general, packed)| {
            let packed = packed.map(|number| functions[number]);
            match general {
                Entry::Placed(number) => KernelEntry { run: functions[number], packed, data: std::ptr::null() },
                Entry::Lazy(lazy) => {
                    let data = Arc::as_ptr(&lazy).cast();
                    lazy_kernels.push(lazy);
                    KernelEntry { run: lazy::enter, packed, data }
                }
            }
        })
        .collect();
    Ok(Executable { entries, log, memory: Arc::new((memory, lazy_kernels)) })
}
