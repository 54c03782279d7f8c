//! OpenCL C to SPIR-V by clang's own SPIR-V back end, as a child process.
//!
//! The compiler proper (`clang -cc1`) is called directly: the driver above it would start up a second time for nothing.
//! The source goes in through standard input as it is, the module comes out through standard output. What has to be a file (headers,
//! [`library`]s of repairs) lies in a private directory for the length of the call.
//!
//! Clang's optimizer does what it does well on the whole program (-O2 without its vectorizers: packs of work-items are
//! vectorized later, by us). Its SPIR-V back end cannot select everything that the optimizer makes of a program, so a
//! failure that is no fault of the source is tried again at -O1 and -O0; whose fault it is tells a check of syntax and
//! types alone.
//!
//! One run costs 20 to 30 ms of a processor before it has done anything. Large programs, and those that read files, take two
//! nevertheless: between the halves of clang, what no kernel reaches is taken out of the program ([`mod@module`]), and files need not be
//! read to know whether anything has changed.

mod library;
mod module;

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use super::cache::{DiskCache, Key, reads_files};
use super::child::{self, End, Finished};
use super::headers::Layout;
use super::options::Std;
use super::probe::{self, Candidate};
use super::reflect::{self, KernelReflection};
use super::repairs::{self, Row};
use super::{Compiled, Failure, FrontEnd, Job, LEVELS};

/// First word of a SPIR-V module.
const MAGIC: u32 = 0x0723_0203;

/// What the source is called in diagnostics and `__FILE__`.
const SOURCE_NAME: &str = "program.cl";

/// What clang calls its standard input.
const STANDARD_INPUT: &str = "<stdin>";

/// Name of the main file beside headers. A header cannot have it: include names with a NUL-free path component such as
/// this are possible, but this one is written last and only by us.
const MAIN_FILE: &str = ".clift-main.cl";

/// Name of the file with declarations of what clang does not declare.
const DECLARATIONS_FILE: &str = ".clift-declarations.h";

/// Lines of a crash report that are worth keeping in a build log.
const CRASH_LINES: usize = 12;

/// Bytes of source from which on a second run pays.
const LARGE: usize = 32 << 10;

/// The front end that calls clang.
#[derive(Debug)]
pub struct Clang {
    /// `CLIFT_CLANG`.
    chosen: Option<OsString>,
    /// How long one run may take.
    limit: Duration,
    /// The programs found, best first; looked for once.
    candidates: OnceLock<Vec<Candidate>>,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A SPIR-V module at this optimization level.
    Compile(u8),
    /// LLVM IR for [`Action::Back`] at this level.
    Front(u8),
    /// A SPIR-V module of LLVM IR.
    Back(u8),
    /// Diagnostics only.
    Check,
    /// LLVM IR with the metadata that describes kernels.
    Describe,
}

/// What trying to compile came to.
enum Attempt {
    Done(Compiled),
    Failed(Finished),
}

impl Clang {
    /// A front end that uses `chosen`, or the best clang there is. Nothing is looked for yet.
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

    /// Runs one candidate on the source; once more with declarations of what it turns out to lack.
    fn run(
        &self,
        candidate: &Candidate,
        job: &Job<'_>,
        action: Action,
        libraries: &[&'static Row],
        cache: Option<&DiskCache>,
    ) -> Result<Finished, Failure> {
        let run = |declared: &str| -> Result<Finished, Failure> {
            let ours = |error: &std::io::Error| Failure::ours("the files of a program", error);
            let needs_files = !job.headers.is_empty() || !libraries.is_empty() || !declared.is_empty();
            let layout = needs_files.then(|| Layout::new(job.headers)).transpose().map_err(|error| ours(&error))?;
            let mut args = arguments(job, action);
            let before_options = args.len() - job.options.front_end.len();
            if let Some(layout) = &layout {
                if !declared.is_empty() {
                    let path = layout.add(DECLARATIONS_FILE, declared.as_bytes()).map_err(|error| ours(&error))?;
                    args.extend(["-include".to_owned(), path]);
                }
                args.extend(self.link_arguments(candidate, libraries, layout, cache)?);
            }
            let source = job.source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(job.source);
            let input = match &layout {
                Some(layout) if !job.headers.is_empty() => {
                    // Headers given as programs are found before those of -I, and before those of the working directory.
                    let path = layout.add(MAIN_FILE, source).map_err(|error| ours(&error))?;
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
            finished.diagnostics = cleaned(&finished.diagnostics, layout.as_ref().map(Layout::path));
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
        // A function that clang does declare, called wrongly: its own notes tell more.
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
            .map_err(|error| Failure::ours(&format!("'{}'", candidate.path.display()), &error))
    }

    /// The arguments that link libraries, which become files of the layout.
    fn link_arguments(
        &self,
        candidate: &Candidate,
        libraries: &[&'static Row],
        layout: &Layout,
        cache: Option<&DiskCache>,
    ) -> Result<Vec<String>, Failure> {
        let mut args = Vec::new();
        for row in libraries {
            let bitcode = self.library(candidate, row, cache)?;
            let path = layout
                .add(&format!(".clift-{}.bc", row.name), &bitcode)
                .map_err(|error| Failure::ours("a library", &error))?;
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
                Some(words) => Attempt::Done(Compiled { words, log: finished.diagnostics }),
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
        // The result of a job that reads files cannot be found by the job; of its second half it can.
        let cache_of_back = cache.filter(|_| reads_files(job));
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
                    .then(|| Layout::new(&[]))
                    .transpose()
                    .map_err(|error| Failure::ours("a library", &error))?;
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
                let compiled = Compiled { words, log: back.diagnostics };
                if let Some((cache, key)) = &key {
                    cache.put(key, &compiled);
                }
                compiled
            }
        };
        Ok(Attempt::Done(Compiled { words: compiled.words, log: front.diagnostics + &compiled.log }))
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
                        "{}clift: the compiler was stopped after {limit} seconds of processor time, or ten times as long in all\n",
                        finished.diagnostics
                    );
                    return Some(Err(Failure { log }));
                }
                // An ordinary exit may be the source's fault; a crash or a fatal error (70) of the back end is not.
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

/// The optimization level to begin with.
fn highest_level(job: &Job<'_>) -> u8 {
    if job.options.opt_disable { 0 } else { job.level }
}

/// Whether a job is compiled in two halves.
fn is_split(job: &Job<'_>) -> bool {
    reads_files(job) || (job.whole && job.source.len() >= LARGE)
}

/// The argument by which the main file's `__FILE__` is its name.
fn named_source(path: &str) -> String {
    format!("-fmacro-prefix-map={path}={SOURCE_NAME}")
}

/// Diagnostics with the names that files have for the application.
fn cleaned(diagnostics: &str, directory: Option<&Path>) -> String {
    // Where files lay for a moment is nobody's business.
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

/// Diagnostics without those that point to our declarations; `None` when one of those is an error.
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

/// What a build says when there is nothing to build with.
pub const NO_CLANG: &str = "clift: no clang >= 20 with a SPIR-V back end was found (Debian: install clang-22; \
                        CLIFT_CLANG names another place); OpenCL C cannot be compiled, SPIR-V can\n";

/// Exit status of `clang -cc1` when its back end gave up.
const FATAL_BACK_END: i32 = 70;

/// The command line of one run, without its files and what comes of them.
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
            // Its induction variables hide indices from the vectorizer, and can end in instructions of mixed widths.
            arg("-mllvm");
            arg("-disable-lsr");
            // One list: of several the last would count.
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
    // As with every other driver, an `inline` function is also there where it is not inlined.
    arg("-fgnu89-inline");
    // Strict aliasing is what OpenCL 1.0 has an option for; programs reach one memory by pointers of several types.
    if !job.options.strict_aliasing {
        arg("-relaxed-aliasing");
    }
    // Built-in functions have dozens of overloads.
    arg("-fshow-overloads=best");
    // Programs name warnings of other versions of clang.
    arg("-Wno-unknown-warning-option");
    // Faults that C compilers let pass for decades; programs in the field have them. -Werror brings them back.
    if !job.options.front_end.iter().any(|given| given == "-Werror") {
        arg("-Wno-error=incompatible-pointer-types");
        arg("-Wno-error=int-conversion");
    }
    match job.options.language() {
        // To clang, OpenCL C 3.1 is 3.0 with what extensions add, which the profile switches on.
        Std::Cl31 => {
            for text in ["-cl-std=CL3.0", "-U__OPENCL_C_VERSION__", "-D__OPENCL_C_VERSION__=310"] {
                arg(text);
            }
        }
        Std::Cl30 => arg("-cl-std=CL3.0"),
        std @ (Std::Cl10 | Std::Cl11 | Std::Cl12 | Std::Cl20) => {
            arg(&format!("-cl-std={}", std.name()));
            // Extensions add to the sub-group functions in every version. Clang's header has those they add to only with
            // `cl_khr_subgroups`, which promises more than they do, or with the feature of 3.0.
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

/// The feature that stands for sub-group functions.
const SUB_GROUPS: &str = "__opencl_c_subgroups";

/// Switches every extension and feature off that the device does not report.
fn extension_switches(job: &Job<'_>) -> String {
    let mut text = "-all".to_owned();
    for name in job.profile.extensions.iter().chain(&job.profile.features) {
        text.push_str(",+");
        text.push_str(name);
    }
    text
}

/// The module that a run gave, if it gave a whole one.
fn module(finished: &Finished) -> Option<Vec<u32>> {
    let good = match finished.end {
        End::Exit(code) => code == 0,
        // Somebody else collected the status: no error was reported and the output looks right.
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

/// Whether a clang was built without the back end.
fn lacks_back_end(diagnostics: &str) -> bool {
    diagnostics.contains("unable to create target") || diagnostics.contains("unknown target triple")
}

/// One line that says why a run failed.
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
        (None, End::TooMuchOutput) => "its output has no end".to_owned(),
        (None, End::TimedOut | End::Unknown) => "it gave no module".to_owned(),
    }
}

/// Diagnostics without the bulk of a crash report.
fn shortened(diagnostics: &str) -> String {
    let crash = diagnostics.lines().position(|line| line.contains("PLEASE submit a bug report"));
    let keep = crash.map_or(usize::MAX, |line| line + CRASH_LINES);
    diagnostics.lines().take(keep).flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
pub(crate) mod tests;
