//! Program binaries: what `CL_PROGRAM_BINARIES` gives and `clCreateProgramWithBinary` takes.
//!
//! A binary holds SPIR-V, never machine code: it works on every machine that Clift runs on, needs no front end to be
//! loaded, and is checked like any module before it is compiled again, in a few milliseconds. The wrapper around it is
//! [`crate::envelope`].

use std::sync::Arc;

use clift_include::cl;
use serde::{Deserialize, Serialize};

use super::unit::Unit;
use crate::envelope::Format;
use crate::frontend::options::Stage;
use crate::frontend::{BuildOptions, KernelReflection};

/// Layout of a binary. The version counts changes of [`Stored`].
const FORMAT: Format = Format { magic: *b"CLIFTPRG", version: 1 };

/// What a program's units can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BinaryKind {
    /// Input for a link.
    CompiledObject,
    /// Several inputs for links.
    Library,
    /// Complete: kernels can be run.
    Executable,
}

impl BinaryKind {
    /// `CL_PROGRAM_BINARY_TYPE`.
    pub fn binary_type(self) -> cl::cl_program_binary_type {
        match self {
            BinaryKind::CompiledObject => cl::CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
            BinaryKind::Library => cl::CL_PROGRAM_BINARY_TYPE_LIBRARY,
            BinaryKind::Executable => cl::CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
        }
    }
}

/// What a binary says.
#[derive(Clone, Debug)]
pub struct Contents {
    /// What it can be used for.
    pub kind: BinaryKind,
    /// The options of the build, compilation or link that made it.
    pub options: String,
    /// Its modules.
    pub units: Vec<Arc<Unit>>,
}

/// The stored form of [`Contents`].
#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    kind: BinaryKind,
    options: &'a str,
    #[serde(borrow)]
    units: Vec<StoredUnit<'a>>,
}

/// The stored form of a unit.
#[derive(Serialize, Deserialize)]
struct StoredUnit<'a> {
    options: &'a str,
    from_source: bool,
    words: Vec<u32>,
    spec_constants: Vec<(u32, Vec<u8>)>,
    /// For programs built with `-cl-kernel-arg-info`.
    kernels: Vec<KernelReflection>,
}

impl Contents {
    /// The bytes; empty when they cannot be made.
    pub fn seal(&self) -> Vec<u8> {
        let units = self.units.iter().map(|unit| StoredUnit {
            options: unit.options_text(),
            from_source: unit.is_from_source(),
            words: unit.words().to_vec(),
            spec_constants: unit.spec_constants().to_vec(),
            kernels: if unit.has_arg_info() { unit.kernels().to_vec() } else { Vec::new() },
        });
        let stored = Stored { kind: self.kind, options: &self.options, units: units.collect() };
        FORMAT.seal(&stored).unwrap_or_default()
    }

    /// Reads a binary; `None` when the bytes are none.
    pub fn open(bytes: &[u8]) -> Option<Self> {
        let stored: Stored<'_> = FORMAT.open(bytes)?;
        let units = stored.units.into_iter().map(|unit| {
            let options = BuildOptions::parse(unit.options, Stage::Compile).ok()?;
            clift_jit::inspect(&unit.words).ok()?;
            let text = unit.options.to_owned();
            Some(Arc::new(Unit::from_binary(
                unit.words,
                unit.spec_constants,
                text,
                options,
                unit.from_source,
                unit.kernels,
            )))
        });
        let units: Vec<Arc<Unit>> = units.collect::<Option<_>>()?;
        Some(Self { kind: stored.kind, options: stored.options.to_owned(), units })
    }
}
