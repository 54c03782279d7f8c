//! What backends that make machine code have in common: functions one by one, those that few launches need when they are called.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use clift_include::abi::KernelEntry;
use clift_kir::Function;

use super::clif::place::{Placed, Placement};
use super::data::ProgramData;
use super::late::{self, Late};
use super::{Body, Executable, KernelCode, VectorCaps};
use crate::BuildError;
use crate::pipeline::panic_text;

/// A backend that makes machine code.
pub(super) trait Native: Send + Sync {
    /// What it can do.
    fn caps(&self) -> &VectorCaps;

    /// The one for the machine this runs on, of the same kind.
    ///
    /// # Errors
    /// [`BuildError::Internal`] when the machine is not supported.
    fn host(&self) -> Result<&'static dyn Native, BuildError>;

    /// An empty placement, which notes what is to be dumped.
    ///
    /// # Errors
    /// As [`Native::host`].
    fn placement(&self, dump: &[String]) -> Result<Placement, BuildError>;

    /// Compiles a legal function; gives its number in [`Placed::functions`].
    ///
    /// # Errors
    /// As [`super::Backend::compile`]; the message does not name the kernel.
    fn define(
        &self,
        place: &mut Placement,
        name: &str,
        func: &Function,
        data: &ProgramData,
    ) -> Result<usize, BuildError>;
}

/// A kernel's function for any work-group.
enum Entry {
    /// Compiled with the others, by number.
    Placed(usize),
    /// Compiled when it is called.
    Late(Arc<Late>),
}

/// Makes kernels executable, as [`super::Backend::compile`] has to.
pub(super) fn compile(
    backend: &dyn Native,
    kernels: Vec<KernelCode>,
    data: Arc<ProgramData>,
    dump: &[String],
) -> Result<Executable, BuildError> {
    let mut place = backend.placement(dump)?;
    let mut entries = Vec::new();
    let mut latecomers: Vec<Arc<Late>> = Vec::new();
    for KernelCode { name, general, packed } in kernels {
        let mut define = |name: &str, func: &Function| {
            guarded(|| backend.define(&mut place, name, func, &data)).map_err(|error| error.in_kernel(name))
        };
        let general = match general {
            Body::Legal(func) => Entry::Placed(define(&name, &func)?),
            Body::Late(rest) => Entry::Late(Arc::new(Late::new(backend.host()?, &name, *rest, data.clone()))),
            Body::Canonical(..) => unreachable!("broken invariant: kernel without code"),
        };
        let packed = packed.map(|func| define(&format!("{name} (whole packs)"), &func)).transpose()?;
        entries.push((general, packed));
    }
    let Placed { functions, log, memory } = place.finish(data)?;
    let entries = entries
        .into_iter()
        .map(|(general, packed)| {
            let packed = packed.map(|number| functions[number]);
            match general {
                Entry::Placed(number) => KernelEntry { run: functions[number], packed, data: std::ptr::null() },
                Entry::Late(late) => {
                    let data = Arc::as_ptr(&late).cast();
                    latecomers.push(late);
                    KernelEntry { run: late::enter, packed, data }
                }
            }
        })
        .collect();
    Ok(Executable { entries, log, memory: Arc::new((memory, latecomers)) })
}

/// Libraries panic where they have no rule for an instruction; that must not reach the host.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, BuildError>) -> Result<T, BuildError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(BuildError::Internal(format!("code generation: {}", panic_text(&*payload)))))
}
