//! The wide x86-64 backend: legal functions to machine code with vectors of 512 bits and mask registers.
//!
//! | step | file | gives |
//! |---|---|---|
//! | capabilities | `caps` | what the legalizer leaves as it is |
//! | selection | `select` | instructions over virtual registers (`code`), rows of the `table` |
//! | allocation | `allocator` | registers, and moves between instructions |
//! | emission | `emit`, `encode` | bytes, with constants (`pool`) behind them |
//!
//! It is for machines with AVX-512 as Skylake's servers have it, or more ([`Level`]); `clif` serves all others. Code is placed by Cranelift's module like that of `clif`.
//!
//! Deliberately not here: what follows from the width of vectors alone (see `legalize`), and any choice of width (see `spmd`).

mod allocator;
mod caps;
mod code;
mod emit;
mod encode;
mod oracle;
mod pool;
mod select;
mod table;

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use clift_kir::{Function, Module};

use super::code_memory::{CodeMemory, Placed};
use super::cranelift::ClifBackend;
use super::data::ProgramData;
use super::listing::{self, Listed};
use super::native::{self, Native, Session};
use super::{Backend, Executable, Input, KernelCode};
use crate::BuildError;
use allocator::Allocator;

/// The backend for the host.
pub(crate) struct WideBackend {
    /// Places the code.
    clif: &'static ClifBackend,
    level: Level,
    allocator: Allocator,
}

/// How much of AVX-512 a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// As Skylake's and Cascade Lake's servers.
    Skylake,
    /// As Ice Lake and Zen 4: besides, bytes go to any lane, and bits are counted.
    IceLake,
}

/// The level of the machine this runs on, if it has one.
#[cfg(target_arch = "x86_64")]
fn level() -> Option<Level> {
    let least = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    let more = is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512bitalg")
        && is_x86_feature_detected!("avx512vpopcntdq");
    least.then_some(if more { Level::IceLake } else { Level::Skylake })
}

#[cfg(not(target_arch = "x86_64"))]
fn level() -> Option<Level> {
    None
}

/// Bytes of a vector of this backend, where the machine has the instructions.
pub(crate) fn vector_bytes() -> Option<u32> {
    level().map(|_| 64)
}

impl WideBackend {
    /// The backend, where the machine has the instructions.
    ///
    /// # Errors
    /// As [`ClifBackend::host`].
    pub(crate) fn host() -> Result<Option<&'static WideBackend>, BuildError> {
        match level() {
            Some(level) => Self::at(level).map(Some),
            None => Ok(None),
        }
    }

    /// The backend for machines of a level, which the host must have.
    ///
    /// # Errors
    /// As [`ClifBackend::host`].
    pub(crate) fn at(level: Level) -> Result<&'static WideBackend, BuildError> {
        static LEVELS: [OnceLock<WideBackend>; 2] = [OnceLock::new(), OnceLock::new()];
        let clif = ClifBackend::host()?;
        Ok(LEVELS[level as usize].get_or_init(|| WideBackend { clif, level, allocator: Allocator::ByCost }))
    }
}

#[cfg(test)]
impl WideBackend {
    /// As [`Self::host`], with the register allocator of large functions for all of them.
    pub(crate) fn single_pass() -> Result<Option<&'static WideBackend>, BuildError> {
        static HOST: OnceLock<WideBackend> = OnceLock::new();
        let clif = ClifBackend::host()?;
        let make = |level| HOST.get_or_init(|| WideBackend { clif, level, allocator: Allocator::SinglePass });
        Ok(level().map(make))
    }
}

/// Bytes of the stack that a function may use.
const MAX_FRAME: u32 = 1 << 20;

impl Backend for WideBackend {
    fn name(&self) -> &'static str {
        match self.level {
            Level::Skylake => "wide, as Skylake",
            Level::IceLake => "wide",
        }
    }

    fn input(&self) -> Input<'_> {
        Input::Legal(caps::caps(self.level))
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

impl Native for WideBackend {
    fn session(&'static self, dump: &[String]) -> Box<dyn Session> {
        let lists_code = dump.iter().any(|wanted| wanted == "asm");
        let (level, allocator) = (self.level, self.allocator);
        Box::new(Compiler { level, allocator, memory: self.clif.code_memory(), lists_code, log: String::new() })
    }
}

/// Compiles the functions of one program.
struct Compiler {
    level: Level,
    allocator: Allocator,
    memory: CodeMemory,
    lists_code: bool,
    log: String,
}

impl Session for Compiler {
    fn define(&mut self, name: &str, func: &Function, data: &ProgramData) -> Result<usize, BuildError> {
        let select::Selected { code, pool, variables } = select::run(func, data, self.level);
        let output = allocator::allocate(&code, self.allocator)?;
        if variables > MAX_FRAME || output.num_spillslots > (MAX_FRAME / 8) as usize {
            return Err(BuildError::Limit("its variables and values take too much of the stack".to_owned()));
        }
        let emitted = emit::emit(&code, &output, &pool, variables);
        if self.lists_code {
            let places: Vec<_> = emitted.marks.iter().map(|&(at, loc)| (at as u32, loc.into())).collect();
            let mut starts: Vec<u32> = emitted.starts.iter().map(|&start| start as u32).collect();
            starts.push(emitted.end as u32);
            let listed = Listed { bytes: &emitted.bytes, starts: &starts, places: &places, pool: &[], own: None };
            let _ = writeln!(self.log, "; asm {name}\n{}", listing::listing(listed));
        }
        self.memory.define_entry(&emitted.bytes, pool::ALIGN as u64)
    }

    fn finish(self: Box<Self>, data: Arc<ProgramData>) -> Result<Placed, BuildError> {
        self.memory.finish(data, Box::new(()), self.log)
    }
}
