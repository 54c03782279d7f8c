//! The `CLIFT_*` environment variables: one table, read once, at the application's first call.
//!
//! A privileged process (`AT_SECURE`: one with the set-user-ID bit, for example) reads none of them.
//!
//! An invalid value causes a line on stderr and is otherwise ignored, because a typing error must not terminate an
//! application. Nothing else is printed unless a variable requests it. `CLIFT_DEBUG=help` prints the table.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use clift_jit::{BackendChoice, Checks, SymbolReaders};
use clift_runtime::{fault, pool};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::messages::MessageLayer;
use crate::{trace, watch};

/// Which front ends there are (`CLIFT_FRONTEND`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrontEndChoice {
    /// Clift's own, then clang if there is one and the first cannot compile a program.
    #[default]
    Auto,
    /// Clift's own.
    Clift,
    /// Clang.
    Clang,
}

/// Which launches get code in which their sizes and integers are constants, or with other numbers of lanes (`CLIFT_SPECIALIZE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpecializeChoice {
    /// Those that repeat, if it is faster.
    #[default]
    Auto,
    /// All.
    Always,
    /// None.
    Never,
}

/// The values of the environment variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `CLIFT_DEBUG`.
    pub debug: Vec<&'static DebugFlag>,
    /// `CLIFT_BACKEND`.
    pub backend: BackendChoice,
    /// `CLIFT_CHECK`.
    pub checks: Checks,
    /// `CLIFT_CHECK_OUTPUT`.
    pub check_output: Option<PathBuf>,
    /// `CLIFT_TRACE`.
    pub trace: Option<PathBuf>,
    /// `CLIFT_WATCH`.
    pub watch: bool,
    /// `CLIFT_SYMBOLS`.
    pub symbols: SymbolReaders,
    /// `CLIFT_WIDTH`.
    pub width: Option<u32>,
    /// `CLIFT_ROWS`.
    pub rows: Option<u32>,
    /// `CLIFT_LOOP_WIDTH`.
    pub loop_lanes: Option<u32>,
    /// `CLIFT_INLINE`.
    pub inline_limit: Option<usize>,
    /// `CLIFT_SPECIALIZE`.
    pub specialize: SpecializeChoice,
    /// `CLIFT_THREADS`.
    pub threads: Option<usize>,
    /// `CLIFT_FRONTEND`.
    pub front_end: FrontEndChoice,
    /// `CLIFT_CLANG`: `None` for the newest one found, empty for none.
    pub clang: Option<PathBuf>,
    /// `CLIFT_CLANG_TIMEOUT`: limit on the processor time of one run.
    pub clang_time: Duration,
    /// `CLIFT_TIMEOUT`: how long a kernel may run.
    pub time_limit: Option<Duration>,
    /// `CLIFT_CACHE_DIR`: `None` for the default directory.
    pub cache_dir: Option<PathBuf>,
    /// `CLIFT_CACHE_SIZE` in bytes; 0 for no cache.
    pub cache_bytes: u64,
}

/// A row of the table.
struct Variable {
    name: &'static str,
    values: &'static str,
    default: &'static str,
    doc: &'static str,
    /// Whether an empty value differs from an unset variable.
    takes_empty: bool,
    /// Stores the value, or returns what is wrong with it.
    set: fn(&mut Config, &OsString) -> Result<(), String>,
}

/// A word of `CLIFT_DEBUG`.
#[derive(Debug, PartialEq, Eq)]
pub struct DebugFlag {
    /// The word.
    pub name: &'static str,
    /// Its description in the help text.
    pub doc: &'static str,
    /// What it prints.
    pub effect: DebugEffect,
}

/// The effect of a [`DebugFlag`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DebugEffect {
    /// The table of variables.
    Help,
    /// Messages of one part of the driver from this level on.
    Trace(&'static str, LevelFilter),
    /// The compiler's state after the stage of this name, in the build log.
    Dump(&'static str),
    /// The compiler's remarks of this name in the build log, and messages.
    TraceAndDump(&'static str, &'static str, LevelFilter),
}

/// The words of `CLIFT_DEBUG`.
pub const DEBUG_FLAGS: &[DebugFlag] = &[
    flag("help", "this table", DebugEffect::Help),
    flag("api", "every call with its arguments and its result", DebugEffect::Trace("clift::api", LevelFilter::TRACE)),
    flag("errors", "calls that return an error", DebugEffect::Trace("clift::api", LevelFilter::DEBUG)),
    flag("build", "program builds: steps, times, build logs", DebugEffect::Trace("clift::build", LevelFilter::TRACE)),
    flag("queue", "when each command starts and ends", DebugEffect::Trace("clift_runtime", LevelFilter::TRACE)),
    flag(
        "vectorize",
        "lanes of each kernel, and what slows the vector code; also in the build log",
        DebugEffect::TraceAndDump("vectorize", "clift::vectorize", LevelFilter::DEBUG),
    ),
    flag("time", "the time that each compiler stage takes", DebugEffect::Trace("clift::time", LevelFilter::DEBUG)),
    flag("imported", "kernel IR after import, in the build log", DebugEffect::Dump("imported")),
    flag("canonical", "kernel IR after the canonicalization passes, in the build log", DebugEffect::Dump("canonical")),
    flag("widened", "kernel IR after vectorization, in the build log", DebugEffect::Dump("widened")),
    flag("looped", "kernel IR with work-group loops, in the build log", DebugEffect::Dump("looped")),
    flag("clean", "kernel IR with work-group loops after cleanup, in the build log", DebugEffect::Dump("clean")),
    flag("legal", "kernel IR after legalization, in the build log", DebugEffect::Dump("legal")),
    flag("demoted", "kernel IR with values in stack slots, in the build log", DebugEffect::Dump("demoted")),
    flag("clif", "Cranelift's IR (CLIF), in the build log", DebugEffect::Dump("clif")),
    flag("asm", "machine code, in the build log", DebugEffect::Dump("asm")),
];

const fn flag(name: &'static str, doc: &'static str, effect: DebugEffect) -> DebugFlag {
    DebugFlag { name, doc, effect }
}

/// The table.
const VARIABLES: &[Variable] = &[
    Variable {
        name: "CLIFT_DEBUG",
        values: "comma-separated list of words",
        default: "none",
        doc: "what the driver prints to stderr",
        takes_empty: false,
        set: |config, value| {
            let text = text(value)?;
            let mut unknown = Vec::new();
            for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
                match DEBUG_FLAGS.iter().find(|flag| flag.name == word) {
                    Some(flag) => config.debug.push(flag),
                    None => unknown.push(word),
                }
            }
            if unknown.is_empty() {
                Ok(())
            } else {
                Err(format!("unknown: {} (CLIFT_DEBUG=help lists the words)", unknown.join(", ")))
            }
        },
    },
    Variable {
        name: "CLIFT_BACKEND",
        values: "auto | skylake | avx2 | cranelift | interp",
        default: "auto",
        doc: "how kernels run: `auto` (machine code with the widest vectors of the processor), `skylake` and `avx2` (machine \
              code for at most those vector extensions, of 512 and 256 bits), `cranelift` (machine code with 128-bit vectors), \
              or `interp` (an interpreter that reports undefined behaviour)",
        takes_empty: false,
        set: |config, value| {
            let value = match text(value)? {
                // An earlier name.
                "clif" => "cranelift",
                value => value,
            };
            let Some((_, choice)) = BackendChoice::NAMES.iter().find(|(name, _)| *name == value) else {
                let names: Vec<&str> = BackendChoice::NAMES.iter().map(|(name, _)| *name).collect();
                return Err(format!("none of {}", names.join(", ")));
            };
            config.backend = *choice;
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_CHECK",
        values: "comma-separated list of: memory, uninit, race, barrier",
        default: "none",
        doc: "what kernels check while they run; bugs are reported on stderr and to the context's callback. `memory`: accesses \
              outside of the object that the pointer belongs to, which are not performed; `uninit`: uses of local and private \
              memory that has not been written; `race`: accesses of several work-items of a group to the same memory that no \
              barrier orders, and what `memory` reports; `barrier`: barriers that not all work-items reach together",
        takes_empty: false,
        set: |config, value| {
            let mut checks = Checks::default();
            for word in text(value)?.split(',').map(str::trim).filter(|word| !word.is_empty()) {
                match word {
                    "memory" => checks.memory = true,
                    "uninit" => checks.uninit = true,
                    "race" => checks.race = true,
                    "barrier" => checks.barrier = true,
                    _ => return Err(format!("unknown: {word}")),
                }
            }
            config.checks = checks;
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_CHECK_OUTPUT",
        values: "path of a file",
        default: "none",
        doc: "where the reports of CLIFT_CHECK are appended, each as a line of JSON",
        takes_empty: false,
        set: |config, value| {
            config.check_output = Some(PathBuf::from(value));
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_TRACE",
        values: "path of a file; %p stands for the process id",
        default: "none",
        doc: "a file that shows calls, builds, commands and work-groups on a time line (Perfetto and chrome://tracing open it)",
        takes_empty: false,
        set: |config, value| {
            config.trace = Some(PathBuf::from(value));
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_WATCH",
        values: "0 | 1",
        default: "0",
        doc: "whether `clift-info --watch` of the same user shows what the process is doing. With 1, the process has a socket in \
              $XDG_RUNTIME_DIR/clift, and a thread that answers there",
        takes_empty: false,
        set: |config, value| {
            config.watch = match text(value)? {
                "0" => false,
                "1" => true,
                _ => return Err("neither 0 nor 1".to_owned()),
            };
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_SYMBOLS",
        values: "comma-separated list of: perf, jitdump, gdb",
        default: "none",
        doc: "who is told the names of compiled kernels: `perf` (by /tmp/perf-PID.map), `jitdump` (perf inject, by /tmp/jit-PID.dump; also the code and the lines), `gdb` (also the lines; LLDB, too)",
        takes_empty: false,
        set: |config, value| {
            let mut symbols = SymbolReaders::default();
            for word in text(value)?.split(',').map(str::trim).filter(|word| !word.is_empty()) {
                match word {
                    "perf" => symbols.perf = true,
                    "jitdump" => symbols.jitdump = true,
                    "gdb" => symbols.gdb = true,
                    _ => return Err(format!("unknown: {word}")),
                }
            }
            config.symbols = symbols;
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_WIDTH",
        values: "1 | 2 | 4 | 8 | 16 | 32 | 64",
        default: "chosen per kernel",
        doc: "lanes: work-items that execute together in vector registers",
        takes_empty: false,
        set: |config, value| {
            config.width = Some(number(value, |n: &u32| n.is_power_of_two() && *n <= 64)?);
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_ROWS",
        values: "1 | 2 | 4 | 8",
        default: "chosen per kernel",
        doc: "rows of a work-group that execute together, where a kernel has two dimensions",
        takes_empty: false,
        set: |config, value| {
            config.rows = Some(number(value, |n: &u32| n.is_power_of_two() && *n <= 8)?);
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_LOOP_WIDTH",
        values: "1 | 2 | 4 | 8 | 16 | 32 | 64",
        default: "chosen per loop",
        doc: "iterations of a loop that execute together in vector registers, in kernels with one lane",
        takes_empty: false,
        set: |config, value| {
            config.loop_lanes = Some(number(value, |n: &u32| n.is_power_of_two() && *n <= 64)?);
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_INLINE",
        values: "a number of instructions",
        default: "40000",
        doc: "the largest kernel into which all functions are inlined; larger ones call what they need several times, and have one \
              lane. With 0, kernels call every function for which that is possible",
        takes_empty: false,
        set: |config, value| {
            config.inline_limit = Some(number(value, |_| true)?);
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_SPECIALIZE",
        values: "auto | always | never",
        default: "auto",
        doc: "code in which the sizes and integer arguments of a launch are constants: for launches that repeat, compiled in the \
              background and used if it proves faster, as is code with other numbers of lanes (`auto`), for all launches, which \
              wait for it (`always`), or for none",
        takes_empty: false,
        set: |config, value| {
            config.specialize = match text(value)? {
                "auto" => SpecializeChoice::Auto,
                "always" => SpecializeChoice::Always,
                "never" => SpecializeChoice::Never,
                _ => return Err("none of auto, always and never".to_owned()),
            };
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_THREADS",
        values: "a number from 1 to 4096",
        default: "the number of processors that this process may use",
        doc: "number of worker threads",
        takes_empty: false,
        set: |config, value| {
            config.threads = Some(number(value, |n: &usize| (1..=pool::MAX_WORKERS).contains(n))?);
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_FRONTEND",
        values: "auto | clift | clang",
        default: "auto",
        doc: "what compiles OpenCL C: `clift` (Clift's own front end), `clang` (a child process), or `auto` (clang for what the \
              first cannot compile, if there is one)",
        takes_empty: false,
        set: |config, value| {
            config.front_end = match text(value)? {
                "auto" => FrontEndChoice::Auto,
                "clift" => FrontEndChoice::Clift,
                "clang" => FrontEndChoice::Clang,
                _ => return Err("none of auto, clift and clang".to_owned()),
            };
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_CLANG",
        values: "path of a program; empty for none",
        default: "the newest clang found",
        doc: "the clang to use, where CLIFT_FRONTEND asks for one",
        takes_empty: true,
        set: |config, value| {
            config.clang = Some(PathBuf::from(value));
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_CLANG_TIMEOUT",
        values: "seconds, from 1 to 86400",
        default: "120",
        doc: "limit on the processor time of one run of clang",
        takes_empty: false,
        set: |config, value| {
            config.clang_time = Duration::from_secs(number(value, |n: &u64| (1..=86_400).contains(n))?);
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_TIMEOUT",
        values: "seconds, above 0 and up to 1000000",
        default: "none",
        doc: "how long a kernel may run before its command fails",
        takes_empty: false,
        set: |config, value| {
            let seconds = number(value, |n: &f64| *n > 0.0 && *n <= 1e6)?;
            config.time_limit = Some(Duration::from_secs_f64(seconds));
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_CACHE_DIR",
        values: "path of a directory; empty for none",
        default: "$XDG_CACHE_HOME/clift or ~/.cache/clift",
        doc: "directory of the cache of what clang compiled",
        takes_empty: true,
        set: |config, value| {
            config.cache_dir = Some(PathBuf::from(value));
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_CACHE_SIZE",
        values: "size in MiB",
        default: "256",
        doc: "maximum size of that cache; 0 disables it",
        takes_empty: false,
        set: |config, value| {
            config.cache_bytes = number(value, |n: &u64| *n < 1 << 40)? << 20;
            Ok(())
        },
    },
];

fn text(value: &OsString) -> Result<&str, String> {
    value.to_str().ok_or_else(|| "not valid UTF-8".to_owned())
}

fn number<T: std::str::FromStr>(value: &OsString, allowed: impl Fn(&T) -> bool) -> Result<T, String> {
    let number = text(value)?.trim().parse().map_err(|_| "not a number".to_owned())?;
    if allowed(&number) { Ok(number) } else { Err("out of range".to_owned()) }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            debug: Vec::new(),
            backend: BackendChoice::default(),
            checks: Checks::default(),
            check_output: None,
            trace: None,
            watch: false,
            symbols: SymbolReaders::default(),
            width: None,
            rows: None,
            loop_lanes: None,
            inline_limit: None,
            specialize: SpecializeChoice::Auto,
            threads: None,
            front_end: FrontEndChoice::default(),
            clang: None,
            clang_time: Duration::from_secs(120),
            time_limit: None,
            cache_dir: None,
            cache_bytes: 256 << 20,
        }
    }
}

impl Config {
    /// Reads the variables through `lookup`. Returns the warnings about invalid values.
    fn read(lookup: impl Fn(&str) -> Option<OsString>) -> (Self, Vec<String>) {
        let mut config = Self::default();
        let mut warnings = Vec::new();
        for variable in VARIABLES {
            let given = lookup(variable.name).filter(|value| variable.takes_empty || !value.is_empty());
            let Some(value) = given else { continue };
            if let Err(reason) = (variable.set)(&mut config, &value) {
                let (name, values) = (variable.name, variable.values);
                warnings.push(format!("{name}={}: {reason}; expected: {values}", value.to_string_lossy()));
            }
        }
        (config, warnings)
    }

    /// Names of the compiler stages to print.
    pub fn dumps(&self) -> Vec<String> {
        self.debug
            .iter()
            .filter_map(|flag| match flag.effect {
                DebugEffect::Dump(stage) | DebugEffect::TraceAndDump(stage, ..) => Some(stage.to_owned()),
                DebugEffect::Help | DebugEffect::Trace(..) => None,
            })
            .collect()
    }

    /// The level of messages from all parts of the driver: none, unless a variable for debugging is set.
    fn default_level(&self) -> LevelFilter {
        let debugging = !self.debug.is_empty() || self.backend == BackendChoice::Interp;
        if debugging { LevelFilter::WARN } else { LevelFilter::OFF }
    }
}

/// The table as text.
fn help() -> String {
    let mut text = String::from("Clift reads these environment variables:\n");
    for Variable { name, values, default, doc, .. } in VARIABLES {
        let _ = writeln!(text, "  {name}={values}\n      {doc} (default: {default})");
    }
    text.push_str("Words for CLIFT_DEBUG:\n");
    for DebugFlag { name, doc, .. } in DEBUG_FLAGS {
        let _ = writeln!(text, "  {name:<10} {doc}");
    }
    text
}

/// The values of the environment variables, read at the first call.
pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let trusted = !clift_runtime::is_privileged();
        let (config, warnings) = Config::read(|name| if trusted { std::env::var_os(name) } else { None });
        start_tracing(&config);
        for warning in warnings {
            let _ = writeln!(std::io::stderr(), "clift: ignored {warning}");
        }
        if config.debug.iter().any(|flag| flag.effect == DebugEffect::Help) {
            // This is debug output: an error, such as a closed stderr, is ignored.
            let _ = std::io::stderr().write_all(help().as_bytes());
        }
        fault::set_code_lookup(fault::CodeLookup { contains: clift_jit::is_code, place: clift_jit::place_of_code });
        if config.symbols != SymbolReaders::default() {
            clift_jit::publish_symbols(config.symbols);
        }
        if let Some(limit) = config.time_limit {
            fault::set_time_limit(limit);
        }
        if pool::configure(pool::PoolOptions { threads: config.threads }).is_err() {
            tracing::warn!("CLIFT_THREADS was ignored: the number of worker threads is already fixed");
        }
        config
    })
}

/// Reads the environment; called by the first entry point that an application calls.
pub fn start() {
    let _ = config();
}

/// Sends messages to stderr as `CLIFT_DEBUG` specifies.
fn start_tracing(config: &Config) {
    let mut targets = Targets::new().with_default(config.default_level());
    for flag in &config.debug {
        if let DebugEffect::Trace(target, level) | DebugEffect::TraceAndDump(_, target, level) = flag.effect {
            targets = targets.with_target(target, level);
        }
    }
    // A panic becomes an error code and a message. Builds with debug assertions keep the default hook for tests.
    if !cfg!(debug_assertions) {
        std::panic::set_hook(Box::new(|info| tracing::error!("{info}")));
    }
    // Fails when a Rust application that links the driver as a library has its own subscriber, which is then used.
    let _ = if config.trace.is_none() && !config.watch {
        tracing_subscriber::registry().with(targets).with(MessageLayer).try_init()
    } else {
        let mut layers = vec![MessageLayer.with_filter(targets).boxed()];
        if let Some(path) = &config.trace {
            layers.push(trace::start(path).with_filter(Targets::new().with_targets(trace::TARGETS)).boxed());
        }
        if let Some(watched) = config.watch.then(watch::start).flatten() {
            layers.push(watched.with_filter(Targets::new().with_targets(watch::TARGETS)).boxed());
        }
        tracing_subscriber::registry().with(layers).try_init()
    };
}

/// The tables as lists, for the reference: variables, and words of `CLIFT_DEBUG`.
#[cfg(test)]
pub(crate) fn reference() -> (Vec<String>, Vec<String>) {
    let variables = VARIABLES.iter().map(|Variable { name, values, default, doc, .. }| {
        format!("- `{name}`: {doc}. Values: {values}. Default: {default}.")
    });
    let words = DEBUG_FLAGS.iter().map(|DebugFlag { name, doc, .. }| format!("- `{name}`: {doc}"));
    (variables.collect(), words.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &'static str) -> (Config, Vec<String>) {
        Config::read(|requested| (requested == name).then(|| OsString::from(value)))
    }

    #[test]
    fn an_empty_environment_gives_the_defaults() {
        assert_eq!(Config::read(|_| None), (Config::default(), Vec::new()));
        let none = Config { clang: Some(PathBuf::new()), cache_dir: Some(PathBuf::new()), ..Config::default() };
        assert_eq!(Config::read(|_| Some(OsString::new())), (none, Vec::new()));
    }

    #[test]
    fn valid_values_are_used() {
        assert_eq!(read("CLIFT_BACKEND", "interp").0.backend, BackendChoice::Interp);
        assert_eq!(read("CLIFT_WIDTH", "16").0.width, Some(16));
        assert!(read("CLIFT_CHECK", "memory,").0.checks.memory);
        assert!(read("CLIFT_SYMBOLS", "gdb").0.symbols.gdb);
        assert!(read("CLIFT_WATCH", "1").0.watch && !read("CLIFT_WATCH", "0").0.watch);
        assert!(read("CLIFT_SYMBOLS", "perf,jitdump").0.symbols.jitdump);
        assert_eq!(read("CLIFT_THREADS", "3").0.threads, Some(3));
        // The pool uses every number that the variable's description permits.
        assert_eq!(read("CLIFT_THREADS", "4096").0.threads, Some(pool::MAX_WORKERS));
        assert_eq!(read("CLIFT_CACHE_SIZE", "0").0.cache_bytes, 0);
        assert_eq!(read("CLIFT_TIMEOUT", "0.5").0.time_limit, Some(Duration::from_millis(500)));
        assert_eq!(read("CLIFT_CLANG", "/opt/clang").0.clang, Some(PathBuf::from("/opt/clang")));
        let (config, warnings) = read("CLIFT_DEBUG", "api, legal,,asm");
        assert!(warnings.is_empty());
        assert_eq!(config.dumps(), ["legal", "asm"]);
    }

    #[test]
    fn invalid_values_cause_a_warning_and_are_ignored() {
        for (name, value) in [
            ("CLIFT_BACKEND", "llvm"),
            ("CLIFT_WIDTH", "3"),
            ("CLIFT_WATCH", "yes"),
            ("CLIFT_CHECK", "memory,pressure"),
            ("CLIFT_SYMBOLS", "perf,vtune"),
            ("CLIFT_THREADS", "0"),
            ("CLIFT_CACHE_SIZE", "big"),
            ("CLIFT_TIMEOUT", "0"),
            ("CLIFT_TIMEOUT", "NaN"),
        ] {
            let (config, warnings) = read(name, value);
            assert_eq!(config, Config::default());
            assert_eq!(warnings.len(), 1, "{name}");
            assert!(warnings[0].contains(name) && warnings[0].contains(value));
        }
        let (config, warnings) = read("CLIFT_DEBUG", "api,nonsense,more");
        assert_eq!(config.debug.len(), 1);
        assert!(warnings[0].contains("unknown: nonsense, more"), "{}", warnings[0]);
    }

    #[test]
    fn nothing_is_printed_by_default() {
        assert_eq!(Config::default().default_level(), LevelFilter::OFF);
        assert_eq!(read("CLIFT_WIDTH", "4").0.default_level(), LevelFilter::OFF);
        assert_eq!(read("CLIFT_DEBUG", "time").0.default_level(), LevelFilter::WARN);
        assert_eq!(read("CLIFT_BACKEND", "interp").0.default_level(), LevelFilter::WARN);
        assert_eq!(read("CLIFT_DEBUG", "vectorize").0.dumps(), ["vectorize"]);
    }

    #[test]
    fn help_names_everything() {
        let text = help();
        for variable in VARIABLES {
            assert!(text.contains(variable.name) && text.contains(variable.doc));
        }
        for flag in DEBUG_FLAGS {
            assert!(text.contains(flag.name));
        }
    }
}
