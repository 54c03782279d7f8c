//! OpenCL C to SPIR-V by clang's own SPIR-V back end, as a child process.
//!
//! The compiler proper (`clang -cc1`) is called directly: the driver above it would start up a second time for nothing.
//! The source goes in through standard input, the module comes out through standard output; with headers, everything
//! lies in a private directory for the length of the call.
//!
//! Clang's optimizer does what it does well on the whole program (-O2 without its vectorizers: packs of work-items are
//! vectorized later, by us). Its SPIR-V back end cannot select everything that the optimizer makes of a program, so a
//! failure that is no fault of the source is tried again at -O1 and -O0; whose fault it is tells a check of syntax and
//! types alone.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use super::child::{self, End, Finished};
use super::headers::Layout;
use super::options::Std;
use super::probe::{self, Candidate};
use super::reflect::{self, KernelReflection};
use super::{Compiled, Failure, FrontEnd, Job, LEVELS, workarounds};

/// First word of a SPIR-V module.
const MAGIC: u32 = 0x0723_0203;

/// What the source is called in diagnostics and `__FILE__`.
const SOURCE_NAME: &str = "program.cl";

/// Lines of a crash report that are worth keeping in a build log.
const CRASH_LINES: usize = 12;

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
    /// Diagnostics only.
    Check,
    /// LLVM IR with the metadata that describes kernels.
    Describe,
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

    /// Runs one candidate.
    fn run(&self, candidate: &Candidate, job: &Job<'_>, action: Action) -> Result<Finished, Failure> {
        let mut source = format!("{}#line 1 \"{SOURCE_NAME}\"\n", workarounds::prelude(job)).into_bytes();
        source.extend_from_slice(job.source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(job.source));
        let layout = match job.headers {
            [] => None,
            headers => Some(Layout::new(headers).map_err(|error| Failure::ours("the headers", &error))?),
        };
        let args = arguments(job, action, layout.as_ref().map(Layout::path));
        let input: &[u8] = if let Some(layout) = &layout {
            let path = layout.path().join(MAIN_FILE);
            std::fs::write(path, &source).map_err(|error| Failure::ours("the source", &error))?;
            b""
        } else {
            &source
        };
        let mut finished = child::run(&candidate.path, &args, input, self.limit)
            .map_err(|error| Failure::ours(&format!("'{}'", candidate.path.display()), &error))?;
        if let Some(layout) = &layout {
            // Where the headers lay for a moment is nobody's business.
            finished.diagnostics = finished.diagnostics.replace(&format!("{}/", layout.path().display()), "");
        }
        tracing::debug!(?action, end = ?finished.end, clang = %candidate.path.display(), "compiler ran");
        Ok(finished)
    }

    /// Compiles with one candidate; `None` when it has no SPIR-V back end.
    fn compile_with(&self, candidate: &Candidate, job: &Job<'_>) -> Option<Result<Compiled, Failure>> {
        let levels = LEVELS.into_iter().filter(|level| *level <= highest_level(job));
        let mut notes = String::new();
        let mut last = String::new();
        for level in levels {
            let finished = match self.run(candidate, job, Action::Compile(level)) {
                Ok(finished) => finished,
                Err(failure) => return Some(Err(failure)),
            };
            if lacks_back_end(&finished.diagnostics) {
                return None;
            }
            if let Some(words) = module(&finished) {
                return Some(Ok(Compiled { words, log: finished.diagnostics + &notes }));
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
                    match self.run(candidate, job, Action::Check) {
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
        let arguments = arguments(job, Action::Compile(highest_level(job)), None).join("\0");
        Some(format!("{}\0{arguments}\0{}", self.identity()?, workarounds::prelude(job)))
    }

    fn compile(&self, job: &Job<'_>) -> Result<Compiled, Failure> {
        self.candidates()
            .iter()
            .find_map(|candidate| self.compile_with(candidate, job))
            .unwrap_or_else(|| Err(Failure { log: NO_CLANG.to_owned() }))
    }

    fn describe(&self, job: &Job<'_>) -> Result<Vec<KernelReflection>, Failure> {
        let mut log = NO_CLANG.to_owned();
        for candidate in self.candidates() {
            let finished = self.run(candidate, job, Action::Describe)?;
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

/// What a build says when there is nothing to build with.
pub const NO_CLANG: &str = "clift: no clang >= 20 with a SPIR-V back end was found (Debian: install clang-22; \
                        CLIFT_CLANG names another place); OpenCL C cannot be compiled, SPIR-V can\n";

/// Name of the main file beside headers. A header cannot have it: include names with a NUL-free path component such as
/// this are possible, but this one is written last and only by us.
const MAIN_FILE: &str = ".clift-main.cl";

/// Exit status of `clang -cc1` when its back end gave up.
const FATAL_BACK_END: i32 = 70;

/// The command line of one run.
fn arguments(job: &Job<'_>, action: Action, directory: Option<&Path>) -> Vec<String> {
    let mut args: Vec<String> = ["-cc1", "-triple", "spirv64", "-x", "cl"].map(str::to_owned).into();
    let mut arg = |text: &str| args.push(text.to_owned());
    match action {
        Action::Compile(level) => {
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
        Action::Check => arg("-fsyntax-only"),
        Action::Describe => {
            for text in ["-O0", "-emit-llvm", "-disable-llvm-passes", "-cl-kernel-arg-info", "-w"] {
                arg(text);
            }
        }
    }
    arg("-o");
    arg("-");
    for text in ["-ffp-contract=on", "-finclude-default-header", "-fdeclare-opencl-builtins"] {
        arg(text);
    }
    arg("-fgnuc-version=4.2.1");
    // As with every other driver, an `inline` function is also there where it is not inlined.
    arg("-fgnu89-inline");
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
        std @ (Std::Cl10 | Std::Cl11 | Std::Cl12 | Std::Cl20 | Std::Cl30) => arg(&format!("-cl-std={}", std.name())),
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
    if let Some(directory) = directory {
        // Headers given as programs are found before those of -I, and before those of the working directory.
        arg(&format!("-I{}", directory.display()));
        arg("-iquote");
        arg(".");
    }
    for text in &job.options.front_end {
        arg(text);
    }
    match directory {
        Some(directory) => arg(&directory.join(MAIN_FILE).display().to_string()),
        None => arg("-"),
    }
    args
}

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
