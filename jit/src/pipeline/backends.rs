//! The backends of a build.

use crate::codegen::cranelift::CraneliftBackend;
use crate::codegen::interp::InterpBackend;
use crate::codegen::x86::X86Backend;
use crate::codegen::{AcceptedStage, Backend};
use crate::target::machine::Machine;
use crate::{BuildError, Options, options};

/// The backends of one build.
#[derive(Clone, Copy)]
pub(super) struct Backends {
    /// Compiles kernels with several lanes per pack.
    pub(super) packs: &'static dyn Backend,
    /// Compiles kernels for which the vectorizer chose one lane, unless they compute long vectors.
    pub(super) scalars: &'static dyn Backend,
}

impl Backends {
    /// Selects the backends by the options. Cranelift's scalar code is better than that of the x86 backend for most kernels;
    /// launches that repeat try the other one.
    pub(super) fn choose(options: &Options) -> Result<Backends, BuildError> {
        let both = |backend| Backends { packs: backend, scalars: backend };
        Ok(match options.backend {
            options::BackendChoice::Cranelift => both(CraneliftBackend::host()?),
            options::BackendChoice::Interp => both(&InterpBackend),
            options::BackendChoice::Auto | options::BackendChoice::Skylake | options::BackendChoice::Avx2 => {
                match X86Backend::chosen(options.backend)? {
                    Some(x86) => Backends { packs: x86, scalars: CraneliftBackend::host()? },
                    None => both(CraneliftBackend::host()?),
                }
            }
        })
    }

    /// The machine that the vectorizer makes packs for.
    pub(super) fn machine(self) -> Machine {
        match self.packs.accepted_stage() {
            AcceptedStage::Legal(caps) => caps.machine(),
            AcceptedStage::Canonical => Machine::COMMON,
        }
    }
}
