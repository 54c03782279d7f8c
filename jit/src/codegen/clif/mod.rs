//! The Cranelift backend: legal functions to machine code of the host (and, for tests, of other targets).
//!
//! One [`Translator`] per function walks the blocks in order; the ops are split by class into files, each with an exhaustive
//! match of its own ops: [`int`] (with [`shift`] and [`conditions`]), [`float`], [`convert`], [`lanes`], [`memory`] (with atomics), [`call`], [`control`]. [`caps`] says
//! what Cranelift's vector lowering covers. [`target`] builds instruction-set descriptions, [`place`] puts code into memory
//! ([`late`] when it is first called), [`crowd`] and [`products`] choose how a function is compiled, [`listing`] shows the code.
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
mod late;
mod listing;
mod memory;
mod outline;
mod place;
mod products;
mod seldom;
mod shift;
mod target;
mod translate;

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use clift_include::abi::KernelEntry;
use clift_kir::{Function, Module};

use super::data::ProgramData;
use super::{Backend, Body, Executable, Input, KernelCode, VectorCaps};
use crate::BuildError;
use crate::pipeline::panic_text;
use late::Late;
use place::Placed;
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
        let dumps = |name: &str| dump.iter().any(|wanted| wanted == name);
        let mut place = place::Placement::new(self.isas.clone(), dumps("clif"), dumps("asm"));
        let mut entries = Vec::new();
        let mut latecomers: Vec<Arc<Late>> = Vec::new();
        for kernel in kernels {
            let KernelCode { name, general, packed } = kernel;
            let mut define = |name: &str, func: &Function| {
                guarded(|| place.define(name, self.translate(func, &data, dumps("asm"))))
                    .map_err(|error| error.in_kernel(name))
            };
            let general = match general {
                Body::Legal(func) => Entry::Placed(define(&name, &func)?),
                Body::Late(rest) => Entry::Late(Arc::new(Late::new(&name, *rest, data.clone()))),
                Body::None => unreachable!("broken invariant: kernel without code"),
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
}

/// A kernel's function for any work-group.
enum Entry {
    /// Compiled with the others, by number.
    Placed(usize),
    /// Compiled when it is called.
    Late(Arc<Late>),
}

/// Cranelift panics where it has no rule for an instruction; that must not reach the host.
fn guarded<T>(work: impl FnOnce() -> Result<T, BuildError>) -> Result<T, BuildError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(BuildError::Internal(format!("code generation: {}", panic_text(&*payload)))))
}
