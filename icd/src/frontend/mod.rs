//! OpenCL C in, SPIR-V out: the front ends.
//!
//! A [`FrontEnd`] turns one source with its headers into one SPIR-V module. There is one implementation, [`clang`], a child
//! process. [`Compiler`] is what programs call: a front end with the disk cache before it. Options arrive here already
//! taken apart ([`options`]); what may be used is told by a [`Profile`] of the device.
//!
//! Nothing here knows OpenCL objects, and nothing holds a lock while a compiler runs.

pub mod cache;
pub mod child;
pub mod clang;
pub mod headers;
pub mod options;
pub mod probe;
pub mod reflect;
pub mod repairs;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::config::config;
use cache::{DiskCache, Key};
pub use headers::Header;
pub use options::BuildOptions;
pub use reflect::{ArgReflection, KernelReflection};

/// What the device offers to programs in OpenCL C.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// `__OPENCL_VERSION__`: 300 for OpenCL 3.0.
    pub opencl_version: u32,
    /// Extensions (`cl_khr_...`), each also a macro.
    pub extensions: Vec<&'static str>,
    /// Optional features of OpenCL C 3.0 (`__opencl_c_...`).
    pub features: Vec<&'static str>,
    /// SPIR-V extensions that modules may use.
    pub spirv_extensions: Vec<&'static str>,
    /// Whether there are images (`__IMAGE_SUPPORT__`).
    pub images: bool,
}

/// One source to compile.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The text.
    pub source: &'a [u8],
    /// Headers that came as programs.
    pub headers: &'a [Header],
    /// How to compile it.
    pub options: &'a BuildOptions,
    /// What it may use.
    pub profile: &'a Profile,
    /// The first of [`LEVELS`] to try.
    pub level: u8,
    /// Whether it is a program of its own (`clBuildProgram`): then only kernels are called from outside.
    pub whole: bool,
}

/// Optimization levels in the order they are tried: a front end that fails at one tries the next, and so does a program
/// whose module the kernel compiler refuses.
pub const LEVELS: [u8; 3] = [2, 1, 0];

/// What a compilation gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiled {
    /// The SPIR-V module.
    pub words: Vec<u32>,
    /// Warnings.
    pub log: String,
}

/// Why there is no module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{log}")]
pub struct Failure {
    /// Text for the build log; never empty.
    pub log: String,
}

impl Failure {
    /// A failure of ours or of the machine: `what` could not be written or run.
    fn ours(what: &str, error: &std::io::Error) -> Self {
        Self { log: format!("clift: {what} could not be given to the compiler: {error}\n") }
    }
}

/// A compiler from OpenCL C to SPIR-V.
pub trait FrontEnd: Send + Sync {
    /// The compiler behind it; `None` when there is nothing to compile with.
    fn identity(&self) -> Option<String>;

    /// Everything besides the texts of a job that its result depends on: the compiler, how it is called, what it links.
    /// `None` when there is nothing to compile with.
    fn fingerprint(&self, job: &Job<'_>) -> Option<String>;

    /// Compiles. What is worth keeping on the way is kept in `cache`.
    ///
    /// # Errors
    /// The source is wrong, or the compiler is; the log says which.
    fn compile(&self, job: &Job<'_>, cache: Option<&DiskCache>) -> Result<Compiled, Failure>;

    /// Tells what the source declares about its kernels.
    ///
    /// # Errors
    /// As [`FrontEnd::compile`].
    fn describe(&self, job: &Job<'_>) -> Result<Vec<KernelReflection>, Failure>;
}

/// A front end with the disk cache before it.
pub struct Compiler {
    front_end: Box<dyn FrontEnd>,
    cache: Option<DiskCache>,
}

impl Compiler {
    /// Puts one together.
    pub fn new(front_end: Box<dyn FrontEnd>, cache: Option<DiskCache>) -> Self {
        Self { front_end, cache }
    }

    /// The process's own, as the environment configures it.
    pub fn get() -> &'static Compiler {
        static COMPILER: OnceLock<Compiler> = OnceLock::new();
        COMPILER.get_or_init(|| {
            let config = config();
            let clang = clang::Clang::new(config.clang.clone().map(PathBuf::into_os_string), config.clang_time);
            let cache = DiskCache::at(config.cache_dir.as_deref(), config.cache_bytes);
            Compiler::new(Box::new(clang), cache)
        })
    }

    /// Whether there is something to compile with.
    pub fn is_available(&self) -> bool {
        self.front_end.identity().is_some()
    }

    /// Compiles, or finds the result of an earlier time.
    ///
    /// # Errors
    /// See [`FrontEnd::compile`].
    pub fn compile(&self, job: &Job<'_>) -> Result<Compiled, Failure> {
        let entry = self.cache.as_ref().and_then(|cache| {
            let fingerprint = self.front_end.fingerprint(job)?;
            Some((cache, Key::of(job, &fingerprint)?))
        });
        if let Some((cache, key)) = &entry
            && let Some(compiled) = cache.get(key)
        {
            return Ok(compiled);
        }
        let result = self.front_end.compile(job, self.cache.as_ref()).map_err(Failure::not_empty);
        if let (Some((cache, key)), Ok(compiled)) = (&entry, &result) {
            cache.put(key, compiled);
        }
        result
    }

    /// See [`FrontEnd::describe`].
    ///
    /// # Errors
    /// See [`FrontEnd::describe`].
    pub fn describe(&self, job: &Job<'_>) -> Result<Vec<KernelReflection>, Failure> {
        self.front_end.describe(job).map_err(Failure::not_empty)
    }
}

impl Failure {
    /// A failed build's log is never empty.
    fn not_empty(mut self) -> Self {
        if self.log.trim().is_empty() {
            let _ = writeln!(self.log, "clift: the compiler failed without a word");
        }
        self
    }
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiler").field("front_end", &self.front_end.identity()).field("cache", &self.cache).finish()
    }
}
