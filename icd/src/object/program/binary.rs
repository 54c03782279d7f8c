//! Program binaries: the values of `CL_PROGRAM_BINARIES` and the input of `clCreateProgramWithBinary`.
//!
//! A binary contains SPIR-V, never machine code. It works on every machine that Clift supports, loading it needs no front end,
//! and its modules are checked like others before they are compiled again, which takes a few milliseconds. The wrapper is
//! [`crate::envelope`].

use std::sync::Arc;

use clift_include::cl;
use serde::{Deserialize, Serialize};

use super::unit::Unit;
use crate::envelope::EnvelopeFormat;
use crate::frontend::options::BuildCall;
use crate::frontend::{BuildOptions, KernelReflection};

/// The format of a binary. The version counts changes of [`Stored`].
const FORMAT: EnvelopeFormat = EnvelopeFormat { magic: *b"CLIFTPRG", version: 1 };

/// How a program's units may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BinaryKind {
    /// As input of a link.
    CompiledObject,
    /// As several inputs of links.
    Library,
    /// To run kernels: the program is complete.
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

/// The contents of a binary.
#[derive(Clone, Debug)]
pub struct Contents {
    /// How it may be used.
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
    /// The kernels' declarations, for programs built with `-cl-kernel-arg-info`.
    kernels: Vec<KernelReflection>,
}

impl Contents {
    /// The encoded binary; empty when it cannot be encoded.
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

    /// Decodes a binary; `None` when the bytes are not a valid one.
    pub fn open(bytes: &[u8]) -> Option<Self> {
        let stored: Stored<'_> = FORMAT.open(bytes)?;
        let units = stored.units.into_iter().map(|unit| {
            let options = BuildOptions::parse(unit.options, BuildCall::Compile).ok()?;
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
