//! OpenCL C to SPIR-V with clang's own SPIR-V back end, as a child process.
//!
//! The compiler proper (`clang -cc1`) is called directly, which saves the start-up time of the driver above it. The unchanged
//! source goes in through standard input, and the module comes out through standard output. Headers and the [`library`]s of
//! repairs have to be files; they are in a private directory for the duration of the call.
//!
//! Clang's optimizer runs on the whole program (-O2 without its vectorizers, because the kernel compiler vectorizes packs of
//! work-items later). Clang's SPIR-V back end cannot select everything that the optimizer produces, so a failure that is not the
//! source's fault is retried at -O1 and -O0. A run that checks only syntax and types decides whether it is the source's fault.
//!
//! One run takes 20 to 30 ms of processor time before it has done anything. Nevertheless, large programs and those that read
//! files take two runs. Between the halves of clang, functions that no kernel reaches are removed ([`mod@module`]), and the
//! second half can be found in the cache although the first reads files.

mod library;
mod module;

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use super::cache::{DiskCache, Key, is_self_contained};
use super::child::{self, End, Finished};
use super::headers::HeaderFiles;
use super::options::Std;
use super::probe::{self, Candidate};
use super::reflect::{self, KernelReflection};
use super::repairs::{self, Repair};
use super::{BuildOptions, Compiled, Failure, FrontEnd, Job, SOURCE_NAME};

/// Optimization levels in the order they are tried. When one half of clang fails at one level, or the kernel compiler rejects the
/// module, the next level is tried.
const LEVELS: [u8; 3] = [2, 1, 0];

/// First word of a SPIR-V module.
const MAGIC: u32 = 0x0723_0203;

/// Clang's name of its standard input.
const STANDARD_INPUT: &str = "<stdin>";

/// Name of the main file beside headers. A header of the same name is possible, but this file is written last, so it takes
/// precedence.
const MAIN_FILE: &str = ".clift-main.cl";

/// Name of the file with declarations of functions that clang does not declare.
const DECLARATIONS_FILE: &str = ".clift-declarations.h";

/// Lines of a crash report to keep in the build log.
const CRASH_LINES: usize = 12;

/// Source size in bytes from which two runs are faster than one.
const LARGE: usize = 32 << 10;

/// A front end that calls clang.
#[derive(Debug)]
pub struct Clang {
    /// `CLIFT_CLANG`.
    chosen: Option<OsString>,
    /// Limit on the processor time of one run.
    limit: Duration,
    /// The clangs found, best first; searched for once.
    candidates: OnceLock<Vec<Candidate>>,
}

/// The purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A SPIR-V module at this optimization level.
    Compile(u8),
    /// LLVM IR for [`Action::Back`] at this level.
    Front(u8),
    /// A SPIR-V module from LLVM IR.
    Back(u8),
    /// Diagnostics only.
    Check,
    /// LLVM IR with the metadata that describes kernels.
    Describe,
}

/// The result of an attempt to compile.
enum Attempt {
    Done(Compiled),
    Failed(Finished),
}

impl Clang {
    /// A front end that uses `chosen`, or the best clang available. The search happens later.
    pub fn new(chosen: Option<OsString>, limit: Duration) -> Self {
        Self { chosen, limit, candidates: OnceLock::new() }
    }

    fn candidates(&self) -> &[Candidate] {
        self.candidates.get_or_init(|| {
            let found = probe::candidates(self.chosen.as_deref());
            tracing::debug!(?found, "clang candidates");
            found
        })
    }

    /// Runs one candidate on the source, and a second time with additional declarations if clang misses some.
    fn run(
        &self,
        candidate: &Candidate,
        job: &Job<'_>,
        action: Action,
        libraries: &[&'static Repair],
        cache: Option<&DiskCache>,
    ) -> Result<Finished, Failure> {
        let run = |declared: &str| -> Result<Finished, Failure> {
            let host = |error: &std::io::Error| Failure::host("cannot write the program's files", error);
            let needs_files = !job.headers.is_empty() || !libraries.is_empty() || !declared.is_empty();
            let layout =
                needs_files.then(|| HeaderFiles::new(job.headers)).transpose().map_err(|error| host(&error))?;
            let mut args = arguments(job, action);
            let before_options = args.len() - job.options.front_end.len();
            if let Some(layout) = &layout {
                if !declared.is_empty() {
                    let path = layout.add(DECLARATIONS_FILE, declared.as_bytes()).map_err(|error| host(&error))?;
                    args.extend(["-include".to_owned(), path]);
                }
                args.extend(self.link_arguments(candidate, libraries, layout, cache)?);
            }
            let source = job.source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(job.source);
            let input = match &layout {
                Some(layout) if !job.headers.is_empty() => {
                    // Header programs take precedence over those of -I and of the working directory.
                    let path = layout.add(MAIN_FILE, source).map_err(|error| host(&error))?;
                    args.insert(before_options, format!("-I{}", layout.path().display()));
                    args.extend(["-iquote".to_owned(), ".".to_owned(), named_source(&path), path]);
                    b""
                }
                Some(_) | None => {
                    args.extend([named_source(STANDARD_INPUT), "-".to_owned()]);
                    source
                }
            };
            let mut finished = self.run_child(candidate, &args, input)?;
            finished.diagnostics = cleaned(&finished.diagnostics, layout.as_ref().map(HeaderFiles::path));
            tracing::debug!(?action, end = ?finished.end, clang = %candidate.path.display(), "compiler ran");
            Ok(finished)
        };
        let first = run("")?;
        let missing = match first.end {
            End::Exit(0) | End::Unknown => Vec::new(),
            End::Exit(_) | End::Signal(_) | End::TimedOut | End::TooMuchOutput => {
                repairs::undeclared(&first.diagnostics)
            }
        };
        if missing.is_empty() {
            return Ok(first);
        }
        let mut second = run(&repairs::declarations(&missing))?;
        let Some(diagnostics) = without_declarations(&second.diagnostics) else { return Ok(first) };
        // The program calls a function that clang does declare, with wrong arguments: clang's own notes are better.
        let still = repairs::undeclared(&diagnostics);
        if still == missing && first.diagnostics.contains(" error: no matching function ") {
            return Ok(first);
        }
        second.diagnostics = diagnostics;
        Ok(second)
    }

    /// Runs one candidate.
    fn run_child(&self, candidate: &Candidate, args: &[String], input: &[u8]) -> Result<Finished, Failure> {
        child::run(&candidate.path, args, input, self.limit)
            .map_err(|error| Failure::host(&format!("cannot run '{}'", candidate.path.display()), &error))
    }

    /// The arguments that link libraries, which are written as files into the layout.
    fn link_arguments(
        &self,
        candidate: &Candidate,
        libraries: &[&'static Repair],
        layout: &HeaderFiles,
        cache: Option<&DiskCache>,
    ) -> Result<Vec<String>, Failure> {
        let mut args = Vec::new();
        for row in libraries {
            let bitcode = self.library(candidate, row, cache)?;
            let path = layout
                .add(&format!(".clift-{}.bc", row.name), &bitcode)
                .map_err(|error| Failure::host("cannot write a library", &error))?;
            args.extend(["-mlink-builtin-bitcode".to_owned(), path]);
        }
        Ok(args)
    }

    /// Compiles with one candidate at one level.
    fn attempt(
        &self,
        candidate: &Candidate,
        job: &Job<'_>,
        level: u8,
        cache: Option<&DiskCache>,
    ) -> Result<Attempt, Failure> {
        if !is_split(job) {
            let finished = self.run(candidate, job, Action::Compile(level), &repairs::named(job), cache)?;
            return Ok(match module(&finished) {
                Some(words) => Attempt::Done(Compiled { words, log: finished.diagnostics, kernels: None }),
                None => Attempt::Failed(finished),
            });
        }
        let front = self.run(candidate, job, Action::Front(level), &[], cache)?;
        if !matches!(front.end, End::Exit(0) | End::Unknown) || front.output.is_empty() {
            return Ok(Attempt::Failed(front));
        }
        let edited = module::edit(&front.output, job.whole);
        let libraries = repairs::called(edited.imports.iter().map(String::as_str));
        let args = arguments(job, Action::Back(level));
        // The result of a job that is not self-contained cannot be cached by the job; that of its second half can.
        let cache_of_back = cache.filter(|_| !is_self_contained(job));
        let key = cache_of_back.map(|cache| {
            let (args, linked) = (args.join("\0"), repairs::fingerprint(&libraries));
            let what: [&[u8]; 4] = [b"back", candidate.identity.as_bytes(), args.as_bytes(), linked.as_bytes()];
            (cache, Key::of_parts(&[what.as_slice(), &[&edited.text]].concat()))
        });
        let stored = key.as_ref().and_then(|(cache, key)| cache.get::<Compiled>(key));
        let compiled = match stored {
            Some(compiled) => compiled,
            None => {
                let layout = (!libraries.is_empty())
                    .then(|| HeaderFiles::new(&[]))
                    .transpose()
                    .map_err(|error| Failure::host("cannot write a library", &error))?;
                let mut args = args;
                if let Some(layout) = &layout {
                    args.extend(self.link_arguments(candidate, &libraries, layout, cache)?);
                }
                args.push("-".to_owned());
                let mut back = self.run_child(candidate, &args, &edited.text)?;
                tracing::debug!(end = ?back.end, bytes = edited.text.len(), "second half ran");
                let Some(words) = module(&back) else {
                    back.diagnostics.insert_str(0, &front.diagnostics);
                    return Ok(Attempt::Failed(back));
                };
                let compiled = Compiled { words, log: back.diagnostics, kernels: None };
                if let Some((cache, key)) = &key {
                    cache.put(key, &compiled);
                }
                compiled
            }
        };
        Ok(Attempt::Done(Compiled { log: front.diagnostics + &compiled.log, ..compiled }))
    }

    /// Compiles with one candidate; `None` when it has no SPIR-V back end.
    fn compile_with(
        &self,
        candidate: &Candidate,
        job: &Job<'_>,
        cache: Option<&DiskCache>,
    ) -> Option<Result<Compiled, Failure>> {
        let levels = LEVELS.into_iter().filter(|level| *level <= highest_level(job));
        let mut notes = String::new();
        let mut last = String::new();
        for level in levels {
            let finished = match self.attempt(candidate, job, level, cache) {
                Ok(Attempt::Done(compiled)) => {
                    if !notes.is_empty() {
                        tracing::info!(target: "clift::build", notes);
                    }
                    return Some(Ok(compiled));
                }
                Ok(Attempt::Failed(finished)) => finished,
                Err(failure) => return Some(Err(failure)),
            };
            if lacks_back_end(&finished.diagnostics) {
                return None;
            }
            match finished.end {
                End::TimedOut => {
                    let limit = self.limit.as_secs();
                    let log = format!(
                        "{}clift: clang was stopped: it took more than {limit} s of processor time (CLIFT_CLANG_TIMEOUT), or \
                         more than ten times that in elapsed time\n",
                        finished.diagnostics
                    );
                    return Some(Err(Failure { log }));
                }
                // An ordinary failure may be the source's fault; a crash or a fatal error (70) of the back end is not.
                End::Exit(code) if code != FATAL_BACK_END && notes.is_empty() => {
                    match self.run(candidate, job, Action::Check, &[], cache) {
                        Ok(check) if check.end == End::Exit(0) => {}
                        Ok(_) => return Some(Err(Failure { log: finished.diagnostics })),
                        Err(failure) => return Some(Err(failure)),
                    }
                }
                End::Exit(_) | End::Signal(_) | End::TooMuchOutput | End::Unknown => {}
            }
            let reason = first_reason(&finished);
            notes.push_str(&format!("clift: clang's SPIR-V back end failed at -O{level}: {reason}\n"));
            last = shortened(&finished.diagnostics);
        }
        Some(Err(Failure { log: last + &notes }))
    }
}

impl FrontEnd for Clang {
    fn identity(&self) -> Option<String> {
        self.candidates().first().map(|candidate| candidate.identity.clone())
    }

    fn levels(&self, options: &BuildOptions) -> &'static [u8] {
        if options.opt_disable { &LEVELS[2..] } else { &LEVELS }
    }

    fn fingerprint(&self, job: &Job<'_>) -> Option<String> {
        let arguments = arguments(job, Action::Compile(highest_level(job))).join("\0");
        let halves = if is_split(job) { ["split", if job.whole { "whole" } else { "part" }] } else { ["", ""] };
        let linked = repairs::fingerprint(&repairs::named(job));
        Some(format!("{}\0{arguments}\0{}\0{linked}", self.identity()?, halves.concat()))
    }

    fn compile(&self, job: &Job<'_>, cache: Option<&DiskCache>) -> Result<Compiled, Failure> {
        self.candidates()
            .iter()
            .find_map(|candidate| self.compile_with(candidate, job, cache))
            .unwrap_or_else(|| Err(Failure { log: NO_CLANG.to_owned() }))
    }

    fn describe(&self, job: &Job<'_>) -> Result<Vec<KernelReflection>, Failure> {
        let mut log = NO_CLANG.to_owned();
        for candidate in self.candidates() {
            let finished = self.run(candidate, job, Action::Describe, &[], None)?;
            if matches!(finished.end, End::Exit(0) | End::Unknown) {
                let text = String::from_utf8_lossy(&finished.output);
                return Ok(reflect::kernels(&text));
            }
            log = finished.diagnostics;
        }
        Err(Failure { log })
    }
}

/// The optimization level to try first.
fn highest_level(job: &Job<'_>) -> u8 {
    if job.options.opt_disable { 0 } else { job.level }
}

/// Whether a job is compiled in two halves.
fn is_split(job: &Job<'_>) -> bool {
    !is_self_contained(job) || (job.whole && job.source.len() >= LARGE)
}

/// The argument that makes `__FILE__` in the main file its public name.
fn named_source(path: &str) -> String {
    format!("-fmacro-prefix-map={path}={SOURCE_NAME}")
}

/// Diagnostics with the file names that the application knows.
fn cleaned(diagnostics: &str, directory: Option<&Path>) -> String {
    // The private directory is of no interest to the application.
    let text = match directory {
        Some(directory) => {
            diagnostics.replace(&format!("{}/", directory.display()), "").replace(MAIN_FILE, SOURCE_NAME)
        }
        None => diagnostics.to_owned(),
    };
    text.split_inclusive('\n')
        .map(|line| match line.strip_prefix(STANDARD_INPUT) {
            Some(rest) => format!("{SOURCE_NAME}{rest}"),
            None if line.contains("ncluded from ") => line.replace(STANDARD_INPUT, SOURCE_NAME),
            None => line.to_owned(),
        })
        .collect()
}

/// Diagnostics without those located in the added declarations; `None` when one of those is an error.
fn without_declarations(diagnostics: &str) -> Option<String> {
    let mut text = String::new();
    let mut is_left_out = false;
    for line in diagnostics.split_inclusive('\n') {
        if line.starts_with(DECLARATIONS_FILE) {
            if line.contains(" error: ") {
                return None;
            }
            is_left_out = true;
        } else if !line.starts_with(' ') {
            is_left_out = false;
        }
        if !is_left_out {
            text.push_str(line);
        }
    }
    Some(text)
}

/// The build log when there is no usable clang.
pub const NO_CLANG: &str = "clift: CLIFT_FRONTEND=clang, but there is no clang >= 20 with a SPIR-V back end (on Debian, install \
                        clang-22; or set CLIFT_CLANG to the path of one)\n";

/// Exit status of `clang -cc1` after a fatal error of its back end.
const FATAL_BACK_END: i32 = 70;

/// The command line of one run, without files and the arguments that depend on them.
fn arguments(job: &Job<'_>, action: Action) -> Vec<String> {
    let language = if matches!(action, Action::Back(_)) { "ir" } else { "cl" };
    let mut args: Vec<String> = ["-cc1", "-triple", "spirv64", "-x", language].map(str::to_owned).into();
    let mut arg = |text: &str| args.push(text.to_owned());
    match action {
        Action::Compile(level) | Action::Back(level) => {
            arg(&format!("-O{level}"));
            arg("-emit-obj");
            arg("-disable-free");
            arg("-disable-llvm-verifier");
            // Its induction variables hide indices from the kernel compiler, and can lead to instructions of mixed widths.
            arg("-mllvm");
            arg("-disable-lsr");
            // One list, because only the last of several would count.
            let extensions: Vec<String> = job.profile.spirv_extensions.iter().map(|name| format!("+{name}")).collect();
            arg("-mllvm");
            arg(&format!("-spirv-ext={}", extensions.join(",")));
        }
        Action::Front(level) => {
            arg(&format!("-O{level}"));
            for text in ["-emit-llvm", "-disable-llvm-passes", "-disable-free", "-disable-llvm-verifier"] {
                arg(text);
            }
        }
        Action::Check => arg("-fsyntax-only"),
        Action::Describe => {
            for text in ["-O0", "-emit-llvm", "-disable-llvm-passes", "-cl-kernel-arg-info", "-w"] {
                arg(text);
            }
        }
    }
    arg("-o");
    arg("-");
    if matches!(action, Action::Back(_)) {
        return args;
    }
    for text in ["-ffp-contract=on", "-finclude-default-header", "-fdeclare-opencl-builtins"] {
        arg(text);
    }
    arg("-fgnuc-version=4.2.1");
    // As in all other drivers, an `inline` function also has an out-of-line definition.
    arg("-fgnu89-inline");
    // In OpenCL, strict aliasing is an option; programs access the same memory through pointers of several types.
    if !job.options.strict_aliasing {
        arg("-relaxed-aliasing");
    }
    // Built-in functions have dozens of overloads each.
    arg("-fshow-overloads=best");
    // Programs name warnings of other versions of clang.
    arg("-Wno-unknown-warning-option");
    // Errors that C compilers accepted for decades, and that existing programs contain. -Werror restores them.
    if !job.options.front_end.iter().any(|given| given == "-Werror") {
        arg("-Wno-error=incompatible-pointer-types");
        arg("-Wno-error=int-conversion");
    }
    match job.options.language() {
        // For clang, OpenCL C 3.1 is 3.0 plus the extensions, which the profile enables.
        Std::Cl31 => {
            for text in ["-cl-std=CL3.0", "-U__OPENCL_C_VERSION__", "-D__OPENCL_C_VERSION__=310"] {
                arg(text);
            }
        }
        Std::Cl30 => arg("-cl-std=CL3.0"),
        std @ (Std::Cl10 | Std::Cl11 | Std::Cl12 | Std::Cl20) => {
            arg(&format!("-cl-std={}", std.name()));
            // Extensions add to the sub-group functions in every language version. Clang's header declares the functions that
            // they extend only with `cl_khr_subgroups` or with the feature of OpenCL C 3.0.
            if job.profile.features.contains(&SUB_GROUPS) {
                arg(&format!("-D{SUB_GROUPS}=1"));
            }
        }
    }
    if job.profile.opencl_version >= 310 {
        arg("-DCL_VERSION_3_1=310");
    }
    arg(&format!("-cl-ext={}", extension_switches(job)));
    arg(&format!("-D__OPENCL_VERSION__={}", job.profile.opencl_version));
    if !job.profile.images {
        arg("-U__IMAGE_SUPPORT__");
    }
    for extension in &job.profile.extensions {
        arg(&format!("-D{extension}=1"));
    }
    let math = job.options.fast_math;
    for (set, text) in [
        (math.relaxed, "-cl-fast-relaxed-math"),
        (math.unsafe_math, "-cl-unsafe-math-optimizations"),
        (math.finite_only, "-cl-finite-math-only"),
        (math.no_signed_zeros, "-cl-no-signed-zeros"),
        (math.mad_enable, "-cl-mad-enable"),
    ] {
        if set {
            arg(text);
        }
    }
    for text in &job.options.front_end {
        arg(text);
    }
    args
}

/// The feature macro for sub-group functions.
const SUB_GROUPS: &str = "__opencl_c_subgroups";

/// Disables every extension and feature that the device does not report.
fn extension_switches(job: &Job<'_>) -> String {
    let mut text = "-all".to_owned();
    for name in job.profile.extensions.iter().chain(&job.profile.features) {
        text.push_str(",+");
        text.push_str(name);
    }
    text
}

/// The module that a run produced, if it is complete.
fn module(finished: &Finished) -> Option<Vec<u32>> {
    let good = match finished.end {
        End::Exit(code) => code == 0,
        // Another part of the host took the exit status: accept the output if no error was reported.
        End::Unknown => !finished.diagnostics.contains("error:"),
        End::Signal(_) | End::TimedOut | End::TooMuchOutput => false,
    };
    if !good || finished.output.is_empty() {
        return None;
    }
    let (words, rest) = finished.output.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    (rest.is_empty() && words.first() == Some(&MAGIC)).then_some(words)
}

/// Whether a clang was built without the SPIR-V back end.
fn lacks_back_end(diagnostics: &str) -> bool {
    diagnostics.contains("unable to create target") || diagnostics.contains("unknown target triple")
}

/// One line with the reason why a run failed.
fn first_reason(finished: &Finished) -> String {
    let told = finished
        .diagnostics
        .lines()
        .find(|line| line.contains("error") || line.contains("ERROR") || line.contains("Assertion"))
        .map(str::trim);
    match (told, finished.end) {
        (Some(line), _) => line.to_owned(),
        (None, End::Signal(signal)) => format!("it crashed (signal {signal})"),
        (None, End::Exit(code)) => format!("it ended with status {code}"),
        (None, End::TooMuchOutput) => "its output exceeds the size limit".to_owned(),
        (None, End::TimedOut | End::Unknown) => "it produced no valid module".to_owned(),
    }
}

/// Diagnostics without most of a crash report.
fn shortened(diagnostics: &str) -> String {
    let crash = diagnostics.lines().position(|line| line.contains("PLEASE submit a bug report"));
    let keep = crash.map_or(usize::MAX, |line| line + CRASH_LINES);
    diagnostics.lines().take(keep).flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
pub(crate) mod tests;
