//! Which backend makes the code of a kernel.

use crate::codegen::cranelift::ClifBackend;
use crate::codegen::interp::InterpBackend;
use crate::codegen::x86::WideBackend;
use crate::codegen::{Backend, Input};
use crate::target::machine::Machine;
use crate::{BuildError, Options, options};

/// The backends of one build.
#[derive(Clone, Copy)]
pub(super) struct Backends {
    /// For packs of several lanes.
    pub(super) packs: &'static dyn Backend,
    /// For kernels for which the vectorizer chose one lane.
    pub(super) scalars: &'static dyn Backend,
}

impl Backends {
    /// Those that options ask for. Cranelift's scalar code is the better one.
    pub(super) fn choose(options: &Options) -> Result<Backends, BuildError> {
        let both = |backend| Backends { packs: backend, scalars: backend };
        Ok(match options.backend {
            options::Backend::Clif => both(ClifBackend::host()?),
            options::Backend::Interp => both(&InterpBackend),
            options::Backend::Auto => match WideBackend::host()? {
                Some(wide) => Backends { packs: wide, scalars: ClifBackend::host()? },
                None => both(ClifBackend::host()?),
            },
        })
    }

    /// What packs are made for.
    pub(super) fn machine(self) -> Machine {
        match self.packs.input() {
            Input::Legal(caps) => caps.machine(),
            Input::Canonical => Machine::COMMON,
        }
    }
}
