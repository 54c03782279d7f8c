//! The Cranelift backend: compiles legal functions to machine code for the host (and, in tests, for other targets).
//!
//! One [`Translator`] per function visits the blocks in order. The ops are split by class into files, each with an exhaustive
//! match over its own ops: [`int`] (with [`shift`] and [`conditions`]), [`float`], [`convert`], [`lanes`], [`memory`] (with
//! atomics), [`call`], [`control`]. [`caps`] states what Cranelift's vector lowering supports. [`isa`] builds target
//! descriptions. [`compile`] drives Cranelift; [`allocator`] and [`widening_multiply`] choose how a function is compiled.
//! [`source`] makes listings, and [`code_memory`](super::code_memory) puts code into executable memory.
//!
//! Cold code becomes separate functions where possible ([`cold::outline`], with the calling convention of [`cold::exchange`]).
//! Otherwise it is placed apart within its function ([`cold::placement`]). [`constants`] decides which constants are in registers
//! and which in memory.
//!
//! Values: a scalar is a Cranelift scalar (a Boolean is an `i8` of 0 or 1, a pointer an `i64`). A vector is always a whole
//! 128-bit register; shorter ones use its first lanes and leave the rest unspecified. A mask is an integer vector of 0 and -1,
//! and the width of its lanes is that of its Cranelift type.
//!
//! Deliberately not here: splitting of vectors, and expansions that do not depend on Cranelift (see `legalize`).

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
use super::data::{PlacedFunction, ProgramData};
use super::native::{self, NativeBackend, Session};
use super::{AcceptedStage, Backend, CompiledKernels, KernelCode};
use crate::BuildError;
use crate::target::caps::VectorCaps;
use translate::{Translated, Translator};

/// The backend for the host.
pub(crate) struct CraneliftBackend {
    isas: isa::Isas,
    caps: VectorCaps,
    features: isa::Features,
}

impl CraneliftBackend {
    /// The backend for the machine this runs on, with all its features.
    ///
    /// # Errors
    /// [`BuildError::Internal`] when Cranelift does not support the machine.
    pub(crate) fn host() -> Result<&'static CraneliftBackend, BuildError> {
        static HOST: LazyLock<Result<CraneliftBackend, String>> =
            LazyLock::new(|| isa::host().map(CraneliftBackend::for_target));
        HOST.as_ref().map_err(|reason| BuildError::Internal(format!("code generation: {reason}")))
    }

    fn for_target(isas: isa::Isas) -> CraneliftBackend {
        let features = isa::Features::of(&*isas.backtracking);
        CraneliftBackend { caps: caps::of(features), features, isas }
    }

    /// Empty memory for code of the target.
    pub(super) fn code_memory(&self) -> CodeMemory {
        CodeMemory::new(self.isas.backtracking.clone())
    }

    /// Translates one function into Cranelift's IR, with source locations if `locate` is set.
    fn translate(&self, func: &Function, data: &ProgramData, locate: bool) -> Translated {
        Translator::run(func, &*self.isas.backtracking, self.features, data, locate)
    }
}

impl Backend for CraneliftBackend {
    fn name(&self) -> &'static str {
        "cranelift"
    }

    fn accepted_stage(&self) -> AcceptedStage<'_> {
        AcceptedStage::Legal(&self.caps)
    }

    fn compile(
        &'static self,
        _module: &Module,
        kernels: Vec<KernelCode>,
        data: Arc<ProgramData>,
        dump: &[String],
    ) -> Result<CompiledKernels, BuildError> {
        native::compile(self, kernels, data, dump)
    }

    fn compile_called(
        &'static self,
        func: &Function,
        data: &Arc<ProgramData>,
        dump: &[String],
    ) -> Result<(PlacedFunction, String), BuildError> {
        native::compile_called(self, func, data, dump)
    }
}

impl NativeBackend for CraneliftBackend {
    fn session(&'static self, dump: &[String]) -> Box<dyn Session> {
        Box::new(compile::CraneliftSession::new(self, dump))
    }
}
