//! The front ends: OpenCL C in, SPIR-V out.
//!
//! A [`FrontEnd`] turns one source with its headers into one SPIR-V module. There are two: [`clc`], Clift's own, in this process,
//! and [`clang`], a child process behind the disk cache. Programs call [`Compiler`], which has those that `CLIFT_FRONTEND`
//! selects. Options arrive here already parsed ([`options`]); a [`Profile`] of the device says which versions, extensions and
//! features programs may use.
//!
//! This module does not depend on OpenCL objects, and no lock is held while a compiler runs.

pub mod cache;
pub mod child;
pub mod clang;
pub mod clc;
pub mod headers;
pub mod options;
pub mod probe;
pub mod reflect;
pub mod repairs;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::config::{FrontEndChoice, config};
use cache::{DiskCache, Key};
pub use clift_clc::options::Profile;
pub use headers::Header;
pub use options::BuildOptions;
pub use reflect::{ArgReflection, KernelReflection};

/// The source's name in diagnostics and `__FILE__`.
pub const SOURCE_NAME: &str = "program.cl";

/// One way to compile a program: a front end, by its index, and its optimization level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    front_end: usize,
    /// See [`Job::level`].
    pub level: u8,
}

/// One source to compile.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The text.
    pub source: &'a [u8],
    /// Headers given as programs.
    pub headers: &'a [Header],
    /// How to compile it.
    pub options: &'a BuildOptions,
    /// What it may use.
    pub profile: &'a Arc<Profile>,
    /// The front end's optimization level.
    pub level: u8,
    /// Whether it is a complete program (`clBuildProgram`), of which only kernels are called from outside.
    pub whole: bool,
}

/// The result of a compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiled {
    /// The SPIR-V module.
    pub words: Vec<u32>,
    /// Warnings.
    pub log: String,
    /// What the source declares about its kernels, if the front end knows it without further work.
    pub kernels: Option<Vec<KernelReflection>>,
}

/// A failed compilation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{log}")]
pub struct Failure {
    /// Text for the build log; never empty.
    pub log: String,
}

impl Failure {
    /// A failure of the host, not of the source: `what` is what it could not do.
    fn host(what: &str, error: &std::io::Error) -> Self {
        Self { log: format!("clift: {what}: {error}\n") }
    }
}

/// A compiler from OpenCL C to SPIR-V.
pub trait FrontEnd: Send + Sync {
    /// The identity of the compiler; `None` when there is none.
    fn identity(&self) -> Option<String>;

    /// Optimization levels in the order they are tried. When the kernel compiler rejects the module of one level, the next level
    /// is tried.
    fn levels(&self, options: &BuildOptions) -> &'static [u8];

    /// A text of everything that the result depends on besides the texts of the job: the compiler, its arguments, the libraries
    /// that it links. `None` when there is no compiler.
    fn fingerprint(&self, job: &Job<'_>) -> Option<String>;

    /// Compiles. Intermediate results may be stored in `cache`.
    ///
    /// # Errors
    /// The source is invalid, or the compiler failed; the log says which.
    fn compile(&self, job: &Job<'_>, cache: Option<&DiskCache>) -> Result<Compiled, Failure>;

    /// Returns what the source declares about its kernels.
    ///
    /// # Errors
    /// As [`FrontEnd::compile`].
    fn describe(&self, job: &Job<'_>) -> Result<Vec<KernelReflection>, Failure>;
}

/// The front ends, those that can be cached behind the disk cache.
pub struct Compiler {
    front_ends: Vec<Box<dyn FrontEnd>>,
    cache: Option<DiskCache>,
}

impl Compiler {
    /// Combines front ends, best first, and a cache.
    pub fn new(front_ends: Vec<Box<dyn FrontEnd>>, cache: Option<DiskCache>) -> Self {
        Self { front_ends, cache }
    }

    /// The process's compiler, as the environment configures it.
    pub fn get() -> &'static Compiler {
        static COMPILER: OnceLock<Compiler> = OnceLock::new();
        COMPILER.get_or_init(|| {
            let config = config();
            let own = || -> Box<dyn FrontEnd> { Box::new(clc::Clc) };
            let clang = || -> Box<dyn FrontEnd> {
                Box::new(clang::Clang::new(config.clang.clone().map(PathBuf::into_os_string), config.clang_time))
            };
            let front_ends = match config.front_end {
                FrontEndChoice::Auto => vec![own(), clang()],
                FrontEndChoice::Clift => vec![own()],
                FrontEndChoice::Clang => vec![clang()],
            };
            Compiler::new(front_ends, DiskCache::at(config.cache_dir.as_deref(), config.cache_bytes))
        })
    }

    /// Whether a compiler was found.
    pub fn is_available(&self) -> bool {
        self.front_ends.iter().any(|front_end| front_end.identity().is_some())
    }

    /// Names and versions of the front ends there are, in the order they are asked.
    pub fn identities(&self) -> Vec<String> {
        self.front_ends.iter().filter_map(|front_end| front_end.identity()).collect()
    }

    /// The directory of the cache.
    pub fn cache_directory(&self) -> Option<&Path> {
        self.cache.as_ref().map(DiskCache::directory)
    }

    /// The ways to compile with these options, in the order they are tried.
    pub fn attempts(&self, options: &BuildOptions) -> impl Iterator<Item = Attempt> {
        self.front_ends
            .iter()
            .enumerate()
            .flat_map(|(front_end, one)| one.levels(options).iter().map(move |&level| Attempt { front_end, level }))
    }

    /// Whether another front end is asked when `attempt` fails because of the source.
    pub fn has_other(&self, attempt: Attempt) -> bool {
        self.front_ends.iter().skip(attempt.front_end + 1).any(|front_end| front_end.identity().is_some())
    }

    /// Name and version of the front end of an attempt.
    pub fn name(&self, attempt: Attempt) -> String {
        self.front_ends[attempt.front_end].identity().unwrap_or_default()
    }

    /// Compiles, or finds the result of an earlier compilation.
    ///
    /// # Errors
    /// See [`FrontEnd::compile`].
    pub fn compile(&self, job: &Job<'_>, attempt: Attempt) -> Result<Compiled, Failure> {
        let front_end = self.front_ends[attempt.front_end].as_ref();
        let entry = self.cache.as_ref().and_then(|cache| {
            let fingerprint = front_end.fingerprint(job)?;
            Some((cache, Key::of(job, &fingerprint)?))
        });
        if let Some((cache, key)) = &entry
            && let Some(compiled) = cache.get(key)
        {
            return Ok(compiled);
        }
        let result = front_end.compile(job, self.cache.as_ref()).map_err(Failure::not_empty);
        if let (Some((cache, key)), Ok(compiled)) = (&entry, &result) {
            cache.put(key, compiled);
        }
        result
    }

    /// See [`FrontEnd::describe`].
    ///
    /// # Errors
    /// See [`FrontEnd::describe`].
    pub fn describe(&self, job: &Job<'_>, attempt: Attempt) -> Result<Vec<KernelReflection>, Failure> {
        self.front_ends[attempt.front_end].describe(job).map_err(Failure::not_empty)
    }
}

impl Failure {
    /// A failed build's log is never empty.
    fn not_empty(mut self) -> Self {
        if self.log.trim().is_empty() {
            let _ = writeln!(self.log, "clift: the compiler failed without diagnostics");
        }
        self
    }
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.front_ends.iter().map(|front_end| front_end.identity()).collect();
        f.debug_struct("Compiler").field("front_ends", &names).field("cache", &self.cache).finish()
    }
}
