//! The Cranelift backend: legal functions to machine code of the host (and, for tests, of other targets).
//!
//! One [`Translator`] per function walks the blocks in order; the ops are split by class into files, each with an exhaustive
//! match of its own ops: [`int`] (with [`shift`] and [`conditions`]), [`float`], [`convert`], [`lanes`], [`memory`] (with atomics), [`call`], [`control`]. [`caps`] says
//! what Cranelift's vector lowering covers. [`isa`] builds instruction-set descriptions, [`code_memory`](super::code_memory) puts code into memory,
//! [`allocator`] and [`widening_multiply`] choose how a function is compiled, [`source`] shows the code.
//! What is executed seldom becomes functions of its own where it can ([`cold::outline`], called as [`cold::exchange`] says), else it is kept
//! apart in its function ([`cold::placement`]); [`constants`] decides which constants are in registers and which in memory.
//!
//! Values: a scalar is a Cranelift scalar (truth values `i8` of 0 or 1, pointers `i64`); a vector is always a whole 128-bit
//! register, shorter ones use its first lanes and leave the rest unspecified; a mask is an integer vector of 0 and -1 whose lane
//! width is kept beside it.
//!
//! Deliberately not here: splitting of vectors and expansions that are not Cranelift's (see `legalize`).

mod allocator;
mod call;
mod caps;
mod cold;
mod compile;
mod conditions;
mod constants;
mod control;
mod convert;
mod float;
mod int;
mod isa;
mod lanes;
mod memory;
mod shift;
mod source;
mod translate;
mod widening_multiply;

#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use clift_kir::{Function, Module};

use super::code_memory::CodeMemory;
use super::data::ProgramData;
use super::native::{self, Native, Session};
use super::{Backend, Executable, Input, KernelCode, VectorCaps};
use crate::BuildError;
use translate::{Translated, Translator};

/// The backend for the host.
pub(crate) struct ClifBackend {
    isas: isa::Isas,
    caps: VectorCaps,
    features: isa::Features,
}

impl ClifBackend {
    /// The backend for the machine this runs on, with all its features.
    ///
    /// # Errors
    /// [`BuildError::Internal`] when Cranelift does not support the machine.
    pub(crate) fn host() -> Result<&'static ClifBackend, BuildError> {
        static HOST: LazyLock<Result<ClifBackend, String>> = LazyLock::new(|| isa::host().map(ClifBackend::for_target));
        HOST.as_ref().map_err(|reason| BuildError::Internal(format!("code generation: {reason}")))
    }

    fn for_target(isas: isa::Isas) -> ClifBackend {
        let features = isa::Features::of(&*isas.thorough);
        ClifBackend { caps: caps::of(features), features, isas }
    }

    /// Empty memory for code of the target.
    pub(super) fn code_memory(&self) -> CodeMemory {
        CodeMemory::new(self.isas.thorough.clone())
    }

    /// One function in Cranelift's form, with places in the source if wanted.
    fn translate(&self, func: &Function, data: &ProgramData, locate: bool) -> Translated {
        Translator::run(func, &*self.isas.thorough, self.features, data, locate)
    }
}

impl Backend for ClifBackend {
    fn name(&self) -> &'static str {
        "clif"
    }

    fn input(&self) -> Input<'_> {
        Input::Legal(&self.caps)
    }

    fn compile(
        &'static self,
        _module: &Module,
        kernels: Vec<KernelCode>,
        data: Arc<ProgramData>,
        dump: &[String],
    ) -> Result<Executable, BuildError> {
        native::compile(self, kernels, data, dump)
    }
}

impl Native for ClifBackend {
    fn session(&'static self, dump: &[String]) -> Box<dyn Session> {
        Box::new(compile::Compiler::new(self, dump))
    }
}
