//! The `CLIFT_*` environment variables: one table, read once, at the application's first call.
//!
//! A value that is not understood is answered with a line on stderr and otherwise ignored: a typing error must not
//! take an application down. Besides that nothing is printed that was not asked for. `CLIFT_DEBUG=help` prints the table.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use clift_jit::BackendChoice;
use clift_runtime::pool;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// What the environment says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `CLIFT_DEBUG`.
    pub debug: Vec<&'static DebugFlag>,
    /// `CLIFT_BACKEND`.
    pub backend: BackendChoice,
    /// `CLIFT_WIDTH`.
    pub width: Option<u32>,
    /// `CLIFT_THREADS`.
    pub threads: Option<usize>,
    /// `CLIFT_CLANG`: `None` for the best one found, empty for none.
    pub clang: Option<PathBuf>,
    /// `CLIFT_CLANG_TIMEOUT`: the processor time that one run may take.
    pub clang_time: Duration,
    /// `CLIFT_CACHE_DIR`: `None` for the default place.
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
    /// Whether an empty value means something else than none at all.
    takes_empty: bool,
    /// Stores the value, or says what it should have been.
    set: fn(&mut Config, &OsString) -> Result<(), String>,
}

/// A word of `CLIFT_DEBUG`.
#[derive(Debug, PartialEq, Eq)]
pub struct DebugFlag {
    /// The word.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// What it makes the program print.
    pub effect: DebugEffect,
}

/// The effect of a [`DebugFlag`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DebugEffect {
    /// The table of variables.
    Help,
    /// Messages of a part of the driver from this level on.
    Trace(&'static str, LevelFilter),
    /// The compiler's state after the stage of this name, in the build log.
    Dump(&'static str),
    /// What the compiler tells under this name in the build log, and messages.
    TraceAndDump(&'static str, &'static str, LevelFilter),
}

/// The words of `CLIFT_DEBUG`.
pub const DEBUG_FLAGS: &[DebugFlag] = &[
    flag("help", "print this table", DebugEffect::Help),
    flag("api", "every call with its arguments and result", DebugEffect::Trace("clift::api", LevelFilter::TRACE)),
    flag("errors", "the calls that fail", DebugEffect::Trace("clift::api", LevelFilter::DEBUG)),
    flag("build", "program builds: steps, times, logs", DebugEffect::Trace("clift::build", LevelFilter::TRACE)),
    flag("queue", "commands: when they start and end", DebugEffect::Trace("clift_runtime", LevelFilter::TRACE)),
    flag(
        "vectorize",
        "lanes per pack, and what slows them; in the build log too",
        DebugEffect::TraceAndDump("vectorize", "clift::vectorize", LevelFilter::DEBUG),
    ),
    flag("time", "how long each stage of the compiler takes", DebugEffect::Trace("clift::time", LevelFilter::DEBUG)),
    flag("imported", "kernel IR as imported", DebugEffect::Dump("imported")),
    flag("canonical", "kernel IR after the canonical passes", DebugEffect::Dump("canonical")),
    flag("widened", "kernel IR with work-items as lanes", DebugEffect::Dump("widened")),
    flag("looped", "kernel IR with work-item loops", DebugEffect::Dump("looped")),
    flag("clean", "kernel IR with work-item loops, cleaned up", DebugEffect::Dump("clean")),
    flag("legal", "kernel IR as the backend gets it", DebugEffect::Dump("legal")),
    flag("clif", "Cranelift's IR (CLIF)", DebugEffect::Dump("clif")),
    flag("asm", "machine code", DebugEffect::Dump("asm")),
];

const fn flag(name: &'static str, doc: &'static str, effect: DebugEffect) -> DebugFlag {
    DebugFlag { name, doc, effect }
}

/// The table.
const VARIABLES: &[Variable] = &[
    Variable {
        name: "CLIFT_DEBUG",
        values: "comma list of the words below",
        default: "none",
        doc: "print to stderr what the driver does",
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
            if unknown.is_empty() { Ok(()) } else { Err(format!("unknown: {}", unknown.join(", "))) }
        },
    },
    Variable {
        name: "CLIFT_BACKEND",
        values: "auto | cranelift | interp",
        default: "auto",
        doc: "what runs kernels: `auto` is machine code with the longest vectors of the machine, `cranelift` machine code with vectors of 128 bits, `interp` an interpreter that reports undefined behaviour",
        takes_empty: false,
        set: |config, value| {
            config.backend = match text(value)? {
                "auto" => BackendChoice::Auto,
                "cranelift" | "clif" => BackendChoice::Cranelift,
                "interp" => BackendChoice::Interp,
                _ => return Err("none of auto, cranelift and interp".to_owned()),
            };
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_WIDTH",
        values: "1 | 2 | 4 | 8 | 16 | 32 | 64",
        default: "chosen per kernel",
        doc: "work-items per SIMD pack",
        takes_empty: false,
        set: |config, value| {
            config.width = Some(number(value, |n: &u32| n.is_power_of_two() && *n <= 64)?);
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_THREADS",
        values: "a number from 1 on",
        default: "the processors this process may use",
        doc: "worker threads",
        takes_empty: false,
        set: |config, value| {
            config.threads = Some(number(value, |n: &usize| (1..=4096).contains(n))?);
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_CLANG",
        values: "path of a program; empty for none",
        default: "the best clang found",
        doc: "compiler for OpenCL C",
        takes_empty: true,
        set: |config, value| {
            config.clang = Some(PathBuf::from(value));
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_CLANG_TIMEOUT",
        values: "seconds from 1 on",
        default: "120",
        doc: "processor time after which a run of that compiler is stopped",
        takes_empty: false,
        set: |config, value| {
            config.clang_time = Duration::from_secs(number(value, |n: &u64| (1..=86_400).contains(n))?);
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_CACHE_DIR",
        values: "path of a directory; empty for none",
        default: "$XDG_CACHE_HOME/clift or ~/.cache/clift",
        doc: "where results of the compiler for OpenCL C are kept",
        takes_empty: true,
        set: |config, value| {
            config.cache_dir = Some(PathBuf::from(value));
            Ok(())
        },
    },
    Variable {
        name: "CLIFT_CACHE_SIZE",
        values: "MiB",
        default: "256",
        doc: "size that the cache may have; 0 switches it off",
        takes_empty: false,
        set: |config, value| {
            config.cache_bytes = number(value, |n: &u64| *n < 1 << 40)? << 20;
            Ok(())
        },
    },
];

fn text(value: &OsString) -> Result<&str, String> {
    value.to_str().ok_or_else(|| "no UTF-8".to_owned())
}

fn number<T: std::str::FromStr>(value: &OsString, allowed: impl Fn(&T) -> bool) -> Result<T, String> {
    let number = text(value)?.trim().parse().map_err(|_| "no number".to_owned())?;
    if allowed(&number) { Ok(number) } else { Err("out of range".to_owned()) }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            debug: Vec::new(),
            backend: BackendChoice::default(),
            width: None,
            threads: None,
            clang: None,
            clang_time: Duration::from_secs(120),
            cache_dir: None,
            cache_bytes: 256 << 20,
        }
    }
}

impl Config {
    /// Reads the variables through `lookup`. Returns the warnings for values that were not understood.
    fn read(lookup: impl Fn(&str) -> Option<OsString>) -> (Self, Vec<String>) {
        let mut config = Self::default();
        let mut warnings = Vec::new();
        for variable in VARIABLES {
            let given = lookup(variable.name).filter(|value| variable.takes_empty || !value.is_empty());
            let Some(value) = given else { continue };
            if let Err(reason) = (variable.set)(&mut config, &value) {
                let (name, values) = (variable.name, variable.values);
                warnings.push(format!("{name}={}: {reason}; takes {values}", value.to_string_lossy()));
            }
        }
        (config, warnings)
    }

    /// Names of the compiler's stages to print.
    pub fn dumps(&self) -> Vec<String> {
        self.debug
            .iter()
            .filter_map(|flag| match flag.effect {
                DebugEffect::Dump(stage) | DebugEffect::TraceAndDump(stage, ..) => Some(stage.to_owned()),
                DebugEffect::Help | DebugEffect::Trace(..) => None,
            })
            .collect()
    }

    /// The messages that are printed of any part of the driver: none, unless somebody looks for faults.
    fn messages(&self) -> LevelFilter {
        let looks = !self.debug.is_empty() || self.backend == BackendChoice::Interp;
        if looks { LevelFilter::WARN } else { LevelFilter::OFF }
    }
}

/// The table as text.
fn help() -> String {
    let mut text = String::from("Clift reads these environment variables:\n");
    for Variable { name, values, default, doc, .. } in VARIABLES {
        let _ = writeln!(text, "  {name}={values}\n      {doc} (default: {default})");
    }
    text.push_str("Words of CLIFT_DEBUG:\n");
    for DebugFlag { name, doc, .. } in DEBUG_FLAGS {
        let _ = writeln!(text, "  {name:<10} {doc}");
    }
    text
}

/// What the environment says. Read at the first call.
pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let (config, warnings) = Config::read(|name| std::env::var_os(name));
        start_tracing(&config);
        for warning in warnings {
            // Whoever sets a variable of ours wants to know.
            let _ = writeln!(std::io::stderr(), "clift: {warning}");
        }
        if config.debug.iter().any(|flag| flag.effect == DebugEffect::Help) {
            // Debug output: when stderr is closed there is nobody to tell.
            let _ = std::io::stderr().write_all(help().as_bytes());
        }
        if pool::configure(pool::PoolOptions { threads: config.threads }).is_err() {
            tracing::warn!("CLIFT_THREADS comes too late: the workers are counted already");
        }
        config
    })
}

/// Makes the environment take effect; called by the first entry point of every application.
pub fn start() {
    let _ = config();
}

/// Sends messages to stderr as `CLIFT_DEBUG` asks.
fn start_tracing(config: &Config) {
    let mut targets = Targets::new().with_default(config.messages());
    for flag in &config.debug {
        if let DebugEffect::Trace(target, level) | DebugEffect::TraceAndDump(_, target, level) = flag.effect {
            targets = targets.with_target(target, level);
        }
    }
    // A mistake of ours ends in an error code. While the driver is worked on its panics are the tests' as well.
    if !cfg!(debug_assertions) {
        std::panic::set_hook(Box::new(|info| tracing::error!("{info}")));
    }
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).without_time().with_ansi(false);
    // Fails when a Rust application that links the driver as a library has its own subscriber: then that one is used.
    let _ = tracing_subscriber::registry().with(targets).with(layer).try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &'static str) -> (Config, Vec<String>) {
        Config::read(|asked| (asked == name).then(|| OsString::from(value)))
    }

    #[test]
    fn an_empty_environment_gives_the_defaults() {
        assert_eq!(Config::read(|_| None), (Config::default(), Vec::new()));
        let none = Config { clang: Some(PathBuf::new()), cache_dir: Some(PathBuf::new()), ..Config::default() };
        assert_eq!(Config::read(|_| Some(OsString::new())), (none, Vec::new()));
    }

    #[test]
    fn good_values_are_taken() {
        assert_eq!(read("CLIFT_BACKEND", "interp").0.backend, BackendChoice::Interp);
        assert_eq!(read("CLIFT_WIDTH", "16").0.width, Some(16));
        assert_eq!(read("CLIFT_THREADS", "3").0.threads, Some(3));
        assert_eq!(read("CLIFT_CACHE_SIZE", "0").0.cache_bytes, 0);
        assert_eq!(read("CLIFT_CLANG", "/opt/clang").0.clang, Some(PathBuf::from("/opt/clang")));
        let (config, warnings) = read("CLIFT_DEBUG", "api, legal,,asm");
        assert!(warnings.is_empty());
        assert_eq!(config.dumps(), ["legal", "asm"]);
    }

    #[test]
    fn bad_values_are_warned_of_and_ignored() {
        for (name, value) in
            [("CLIFT_BACKEND", "llvm"), ("CLIFT_WIDTH", "3"), ("CLIFT_THREADS", "0"), ("CLIFT_CACHE_SIZE", "big")]
        {
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
    fn nothing_is_printed_unless_asked_for() {
        assert_eq!(Config::default().messages(), LevelFilter::OFF);
        assert_eq!(read("CLIFT_WIDTH", "4").0.messages(), LevelFilter::OFF);
        assert_eq!(read("CLIFT_DEBUG", "time").0.messages(), LevelFilter::WARN);
        assert_eq!(read("CLIFT_BACKEND", "interp").0.messages(), LevelFilter::WARN);
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
