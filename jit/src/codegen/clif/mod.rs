//! The Cranelift backend: legal functions to machine code of the host (and, for tests, of other targets).
//!
//! One [`Translator`] per function walks the blocks in order; the ops are split by class into files, each with an exhaustive
//! match of its own ops: [`int`] (with [`shift`]), [`float`], [`convert`], [`lanes`], [`memory`] (with atomics), [`call`], [`control`]. [`caps`] says
//! what Cranelift's vector lowering covers. [`target`] builds instruction-set descriptions, [`place`] puts code into memory,
//! [`crowd`] chooses the register allocator, [`listing`] shows the code.
//!
//! Values: a scalar is a Cranelift scalar (truth values `i8` of 0 or 1, pointers `i64`); a vector is always a whole 128-bit
//! register, shorter ones use its first lanes and leave the rest unspecified; a mask is an integer vector of 0 and -1 whose lane
//! width is kept beside it.
//!
//! Deliberately not here: splitting of vectors and expansions that are not Cranelift's (see `legalize`).

mod call;
mod caps;
mod control;
mod convert;
mod crowd;
mod float;
mod int;
mod lanes;
mod listing;
mod memory;
mod place;
mod shift;
mod target;
mod translate;

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use clift_kir::{Function, Module};
use cranelift_codegen::ir;

use super::data::ProgramData;
use super::{Backend, Executable, Input, KernelCode, VectorCaps};
use crate::BuildError;
use crate::pipeline::panic_text;
use translate::Translator;

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
    fn translate(&self, func: &Function, data: &ProgramData, locate: bool) -> ir::Function {
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
        let dumps = |name: &str| dump.iter().any(|wanted| wanted == name);
        let mut place = place::Placement::new(self.isas.clone(), dumps("clif"), dumps("asm"));
        for kernel in &kernels {
            // Cranelift panics where it has no rule for an instruction; that must not reach the host.
            catch_unwind(AssertUnwindSafe(|| {
                let Some(general) = &kernel.general else { unreachable!("broken invariant: kernel that is not legal") };
                let packed = kernel.packed.as_ref().map(|packed| self.translate(packed, &data, dumps("asm")));
                place.define(&kernel.name, self.translate(general, &data, dumps("asm")), packed)
            }))
            .unwrap_or_else(|payload| Err(BuildError::Internal(format!("code generation: {}", panic_text(&*payload)))))
            .map_err(|error| error.in_kernel(&kernel.name))?;
        }
        place.finish(data)
    }
}
