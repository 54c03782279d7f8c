//! The Cranelift backend: legal functions to machine code of the host (and, for tests, of other targets).
//!
//! One [`Translator`] per function walks the blocks in order; the ops are split by class into files, each with an exhaustive
//! match of its own ops: [`int`] (with [`shift`] and [`conditions`]), [`float`], [`convert`], [`lanes`], [`memory`] (with atomics), [`call`], [`control`]. [`caps`] says
//! what Cranelift's vector lowering covers. [`target`] builds instruction-set descriptions, [`place`] puts code into memory,
//! [`crowd`] and [`products`] choose how a function is compiled, [`source`] shows the code.
//! What is executed seldom becomes functions of its own where it can ([`outline`], called as [`exchange`] says), else it is kept
//! apart in its function ([`seldom`]); [`constants`] decides which constants are in registers and which in memory.
//!
//! Values: a scalar is a Cranelift scalar (truth values `i8` of 0 or 1, pointers `i64`); a vector is always a whole 128-bit
//! register, shorter ones use its first lanes and leave the rest unspecified; a mask is an integer vector of 0 and -1 whose lane
//! width is kept beside it.
//!
//! Deliberately not here: splitting of vectors and expansions that are not Cranelift's (see `legalize`).

mod call;
mod caps;
mod conditions;
mod constants;
mod control;
mod convert;
mod crowd;
mod exchange;
mod float;
mod int;
mod lanes;
mod memory;
mod outline;
pub(super) mod place;
mod products;
mod seldom;
mod shift;
mod source;
mod target;
mod translate;

#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use clift_kir::{Function, Module};

use super::data::ProgramData;
use super::native::{self, Native};
use super::{Backend, Executable, Input, KernelCode, VectorCaps};
use crate::BuildError;
use translate::{Translated, Translator};

/// The backend for the host.
pub(crate) struct ClifBackend {
    isas: target::Isas,
    caps: VectorCaps,
    features: target::Features,
}

impl ClifBackend {
    /// The backend for the machine this runs on, with all its features.
    ///
    /// # Errors
    /// [`BuildError::Internal`] when Cranelift does not support the machine.
    pub(crate) fn host() -> Result<&'static ClifBackend, BuildError> {
        static HOST: LazyLock<Result<ClifBackend, String>> =
            LazyLock::new(|| target::host().map(ClifBackend::for_target));
        HOST.as_ref().map_err(|reason| BuildError::Internal(format!("code generation: {reason}")))
    }

    fn for_target(isas: target::Isas) -> ClifBackend {
        let features = target::Features::of(&*isas.thorough);
        ClifBackend { caps: caps::of(features), features, isas }
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
        &self,
        _module: &Module,
        kernels: Vec<KernelCode>,
        data: Arc<ProgramData>,
        dump: &[String],
    ) -> Result<Executable, BuildError> {
        native::compile(self, kernels, data, dump)
    }
}

impl Native for ClifBackend {
    fn caps(&self) -> &VectorCaps {
        &self.caps
    }

    fn host(&self) -> Result<&'static dyn Native, BuildError> {
        Ok(ClifBackend::host()?)
    }

    fn placement(&self, dump: &[String]) -> Result<place::Placement, BuildError> {
        Ok(place::Placement::new(self.isas.clone(), dump))
    }

    fn define(
        &self,
        place: &mut place::Placement,
        name: &str,
        func: &Function,
        data: &ProgramData,
    ) -> Result<usize, BuildError> {
        let made = self.translate(func, data, place.lists());
        place.define(name, made)
    }
}
