//! Inputs: SPIR-V modules and kernel IR, told apart by the names of files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clift_jit::spirv::{self, Imported};
use clift_jit::testing::launch::make;
use clift_jit::{ModuleInput, Options, Program};
use clift_kir::{Module, text, verify};

/// What can be compiled.
pub(crate) enum Source {
    /// The words of a SPIR-V module.
    Words(Vec<u32>),
    /// Kernel IR.
    Module(Module),
}

impl Source {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Source> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("spv") => Ok(Source::Words(words(path)?)),
            Some("kir") => {
                let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
                let module = text::parse_module(&text).map_err(|error| anyhow!("{}: {error}", path.display()))?;
                verify::module(&module).map_err(|errors| anyhow!("{}: not well-formed: {errors}", path.display()))?;
                Ok(Source::Module(module))
            }
            _ => bail!("{}: neither SPIR-V (.spv) nor kernel IR (.kir)", path.display()),
        }
    }

    /// Compiles it.
    pub(crate) fn compile(&self, options: &Options) -> Result<Program> {
        match self {
            Source::Words(words) => Ok(clift_jit::compile(&[ModuleInput::new(words)], options)?),
            Source::Module(module) => make(module.clone(), options).map_err(|reason| anyhow!(reason)),
        }
    }
}

/// Imports the modules of a program and verifies what came of them.
pub(crate) fn import(paths: &[PathBuf]) -> Result<Imported> {
    let modules = paths.iter().map(|path| words(path)).collect::<Result<Vec<_>>>()?;
    let inputs: Vec<_> = modules.iter().map(|words| ModuleInput::new(words)).collect();
    let imported = spirv::import(&inputs, &Options { arg_info: true, ..Options::default() })?;
    verify::module(&imported.module).map_err(|errors| anyhow!("not well-formed: {errors}"))?;
    Ok(imported)
}

/// The words of a module.
pub(crate) fn words(path: &Path) -> Result<Vec<u32>> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        bail!("{}: not a whole number of words", path.display());
    }
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}
