//! The x86 backend: compiles legal functions to x86-64 machine code with vectors of 512 bits and mask registers, or with vectors
//! of 256 bits, whose masks are vectors.
//!
//! | step | module | result |
//! |---|---|---|
//! | capabilities | `caps` | ops that the legalizer leaves unchanged |
//! | selection | `select` | instructions (`code`) over virtual registers; they are rows of the `table` |
//! | live ranges | `liveness`, `loop_values` | copies for loops whose values fit the registers |
//! | allocation | `allocator`, `redundant_moves` | physical registers, and moves between instructions |
//! | emission | `emit`, `encode` | bytes, followed by the constants (`pool`) |
//! | layout | `layout` | short jumps, and loops in few lines of the instruction cache |
//!
//! It requires AVX2 as in Haswell, or more ([`Level`]). The `cranelift` backend serves all other machines. Both put their code
//! into memory through Cranelift's JIT module.
//!
//! Deliberately not here: expansions that follow from the width of vectors alone (see `legalize`), and the choice of the number
//! of lanes (see `spmd`).

mod allocator;
mod caps;
mod code;
mod emit;
mod encode;
mod layout;
mod liveness;
mod loop_values;
mod oracle;
mod pool;
mod redundant_moves;
mod select;
mod table;

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use clift_kir::{Function, Module};

use super::code_map::Places;
use super::code_memory::{CodeMemory, PlacedCode};
use super::cranelift::CraneliftBackend;
use super::data::{PlacedFunction, ProgramData};
use super::listing::{self, ListingInput};
use super::native::{self, DefinedFunction, MAX_FRAME, NativeBackend, Session, frame_too_large};
use super::{AcceptedStage, Backend, CompiledKernels, KernelCode};
#[cfg(test)]
use crate::target::caps::DemotionLimits;
use crate::target::caps::VectorCaps;
use crate::target::processor::ScatteredAccesses;
use crate::{BackendChoice, BuildError};
use allocator::Allocator;

/// The x86 backend for the host.
pub(crate) struct X86Backend {
    /// Puts the code into executable memory.
    cranelift: &'static CraneliftBackend,
    level: Level,
    caps: VectorCaps,
    allocator: Allocator,
}

/// The vector extensions of a machine; each level has all of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// As in Haswell and Zen: AVX2 with fused multiply-adds and conversions of halves.
    Avx2,
    /// AVX-512 as in the servers of Skylake and Cascade Lake: F, VL, BW, DQ and CD.
    Skylake,
    /// As in Ice Lake and Zen 4: also byte permutations and population counts.
    IceLake,
    /// As in Sapphire Rapids: also arithmetic of halves.
    SapphireRapids,
}

impl Level {
    /// Bytes of a vector register.
    pub(crate) fn vector_bytes(self) -> u32 {
        match self {
            Level::Avx2 => 32,
            Level::Skylake | Level::IceLake | Level::SapphireRapids => 64,
        }
    }
}

/// The level of the host, if the backend supports it.
#[cfg(target_arch = "x86_64")]
fn level() -> Option<Level> {
    let common = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    let skylake = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512cd");
    let ice_lake = is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512bitalg")
        && is_x86_feature_detected!("avx512vpopcntdq");
    let sapphire_rapids = is_x86_feature_detected!("avx512fp16");
    common.then_some(match (skylake, ice_lake, sapphire_rapids) {
        (false, _, _) => Level::Avx2,
        (true, false, _) => Level::Skylake,
        (true, true, false) => Level::IceLake,
        (true, true, true) => Level::SapphireRapids,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn level() -> Option<Level> {
    None
}

impl X86Backend {
    /// The level of the backend that a choice selects, if it selects this backend and the host supports it.
    pub(crate) fn level(choice: BackendChoice) -> Option<Level> {
        let host = level()?;
        match choice {
            BackendChoice::Auto => Some(host),
            BackendChoice::Skylake => Some(host.min(Level::Skylake)),
            BackendChoice::Avx2 => Some(host.min(Level::Avx2)),
            BackendChoice::Cranelift | BackendChoice::Interp => None,
        }
    }

    /// The backend that a choice selects, if it selects this one and the host supports it.
    ///
    /// # Errors
    /// As [`CraneliftBackend::host`].
    pub(crate) fn chosen(choice: BackendChoice) -> Result<Option<&'static X86Backend>, BuildError> {
        Self::level(choice).map(Self::at).transpose()
    }

    /// The backend for a level, which the host must support.
    ///
    /// # Errors
    /// As [`CraneliftBackend::host`].
    fn at(level: Level) -> Result<&'static X86Backend, BuildError> {
        static LEVELS: [OnceLock<X86Backend>; 4] = [const { OnceLock::new() }; 4];
        let cranelift = CraneliftBackend::host()?;
        let caps = caps::caps(level, ScatteredAccesses::host());
        Ok(LEVELS[level as usize].get_or_init(|| X86Backend { cranelift, level, caps, allocator: Allocator::ByCost }))
    }
}

#[cfg(test)]
impl X86Backend {
    /// The backend, if the host supports it.
    ///
    /// # Errors
    /// As [`CraneliftBackend::host`].
    pub(crate) fn host() -> Result<Option<&'static X86Backend>, BuildError> {
        Self::chosen(BackendChoice::Auto)
    }

    /// The backends for the levels below the host's, which it supports, too.
    pub(crate) fn lower_levels() -> Result<Vec<&'static X86Backend>, BuildError> {
        let lower: &[Level] = match level() {
            None | Some(Level::Avx2) => &[],
            Some(Level::Skylake) => &[Level::Avx2],
            Some(Level::IceLake) => &[Level::Avx2, Level::Skylake],
            Some(Level::SapphireRapids) => &[Level::Avx2, Level::Skylake, Level::IceLake],
        };
        lower.iter().map(|&level| Self::at(level)).collect()
    }

    /// As [`Self::host`], with the single-pass register allocator for all functions and values in stack slots wherever
    /// possible, and for a processor whose gathers and scatters are slow.
    pub(crate) fn single_pass() -> Result<Option<&'static X86Backend>, BuildError> {
        static HOST: OnceLock<X86Backend> = OnceLock::new();
        let cranelift = CraneliftBackend::host()?;
        let scattered = ScatteredAccesses {
            gathers: false,
            scatters: false,
            masked_stores: !ScatteredAccesses::host().masked_stores,
        };
        let make = |level| {
            let caps = VectorCaps { demotion: DemotionLimits::ALWAYS, ..caps::caps(level, scattered) };
            HOST.get_or_init(|| X86Backend { cranelift, level, caps, allocator: Allocator::SinglePass })
        };
        Ok(level().map(make))
    }
}

impl Backend for X86Backend {
    fn name(&self) -> &'static str {
        match self.level {
            Level::Avx2 => "x86, as Haswell",
            Level::Skylake => "x86, as Skylake",
            Level::IceLake => "x86, as Ice Lake",
            Level::SapphireRapids => "x86",
        }
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

impl NativeBackend for X86Backend {
    fn session(&'static self, dump: &[String]) -> Box<dyn Session> {
        let lists_code = dump.iter().any(|wanted| wanted == "asm");
        let (level, allocator) = (self.level, self.allocator);
        Box::new(X86Session { level, allocator, memory: self.cranelift.code_memory(), lists_code, log: String::new() })
    }

    /// One lane is faster than packs whose values do not fit the second-level cache.
    fn largest_useful_frame(&self) -> u32 {
        1 << 20
    }
}

/// A session of this backend.
struct X86Session {
    level: Level,
    allocator: Allocator,
    memory: CodeMemory,
    lists_code: bool,
    log: String,
}

impl Session for X86Session {
    fn define(&mut self, name: &str, func: &Function, data: &ProgramData) -> Result<DefinedFunction, BuildError> {
        let select::Selected { code, pool, variables } = select::run(func, data, self.level);
        let output = allocator::allocate(&code, self.allocator, self.level)?;
        let frame = u64::from(variables) + 8 * output.num_spillslots as u64;
        if frame > MAX_FRAME.into() {
            return Err(frame_too_large(frame, MAX_FRAME));
        }
        let emitted = emit::emit(&code, &output, &pool, variables, self.level);
        let places: Places = emitted.marks.iter().map(|&(at, loc)| (at as u32, loc.into())).collect();
        if self.lists_code {
            let mut starts: Vec<u32> = emitted.starts.iter().map(|&start| start as u32).collect();
            starts.push(emitted.end as u32);
            let listed = ListingInput { bytes: &emitted.bytes, starts: &starts, places: &places, pool: &[], own: None };
            let _ = writeln!(self.log, "; asm {name}\n{}", listing::listing(listed));
        }
        let number = self.memory.define_entry(name, &emitted.bytes, pool::ALIGN as u64, places)?;
        Ok(DefinedFunction { number, frame: frame as u32 })
    }

    fn finish(self: Box<Self>, data: Arc<ProgramData>) -> Result<PlacedCode, BuildError> {
        self.memory.finish(data, Box::new(()), self.log)
    }
}
