//! Runs a program's script with one driver, empty caches, and limits on time and memory for all its processes.
//!
//! The limit on memory applies to resident memory, not to address space, because many programs map far more than they use.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};

use super::checked;
use super::drivers::Target;
use super::install::Places;
use super::manifest::App;
use super::outcome::Outcome;
use crate::sh;

/// How often the processes are checked.
const POLL: Duration = Duration::from_millis(200);
/// How much of a script's last output is shown.
const LAST_WORDS: usize = 400;

/// How much longer programs with checked kernels may run.
const CHECKED: u32 = 30;

/// How programs are run.
pub(crate) struct Mode<'a> {
    /// The short form.
    pub(crate) quick: bool,
    /// With their output shown.
    pub(crate) verbose: bool,
    /// What kernels check, as in `CLIFT_CHECK`.
    pub(crate) checks: Option<&'a str>,
    /// After how many seconds by the clock it is stopped, which is not a failure.
    pub(crate) stop: Option<u64>,
}

/// Runs `app` on a driver.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn run(app: &App, target: &Target, &Mode { quick, verbose, checks, stop }: &Mode<'_>) -> Result<Outcome> {
    let places = Places::of(app);
    let scratch = places.root.join("run").join(target.driver.name());
    if scratch.exists() {
        std::fs::remove_dir_all(&scratch)?;
    }
    let (directory, cache) = (scratch.join("directory"), scratch.join("cache"));
    std::fs::create_dir_all(&directory)?;
    std::fs::create_dir_all(&cache)?;
    let (output, errors) = (scratch.join("output.txt"), scratch.join("errors.txt"));

    let script = script(app)?;
    let mut command = Command::new(interpreter(&script, &places));
    command.arg(&script).current_dir(&directory).process_group(0).stdin(Stdio::null());
    command.stdout(File::create(&output)?).stderr(File::create(&errors)?);
    environment(&mut command, app, &places, &cache)?;
    command.env("CLIFT_APP_DRIVER", target.driver.name());
    target.select(&mut command, &scratch)?;
    let builds = scratch.join("builds.txt");
    if let Some(layer) = layer() {
        command.env("OPENCL_LAYERS", layer).env("CLIFT_APP_BUILD_TIMES", &builds);
    }
    if quick {
        command.env("CLIFT_APP_QUICK", "1");
    }
    let findings = scratch.join("reports.jsonl");
    let mut patience = load();
    if let Some(checks) = checks {
        command.env("CLIFT_CHECK", checks).env("CLIFT_CHECK_OUTPUT", &findings);
        patience *= CHECKED;
    }
    command.env("CLIFT_APP_PATIENCE", patience.to_string());
    let limit = app.manifest.limit(quick) * patience;
    eprintln!("{} on {}: output is in {}", app.name, target.driver.title(), scratch.display());
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {}", script.display()))?;
    let end = wait(&mut child, limit, stop.map(Duration::from_secs), app.manifest.memory())?;
    let total = started.elapsed();

    let text = String::from_utf8_lossy(&std::fs::read(&output)?).into_owned();
    if verbose {
        print!("{text}");
    }
    let mut outcome = Outcome::read(&app.name, target.driver, quick, &text);
    outcome.stopped = matches!(end, End::Stopped);
    if let End::Failed(reason) = end {
        outcome.broke_off(format!("{reason}; {}", last_words(&errors)));
    } else if outcome.cases.is_empty() {
        outcome.broke_off(format!("no case was run; {}", last_words(&errors)));
    }
    if let Ok(builds) = std::fs::read_to_string(builds) {
        let seconds = builds.lines().filter_map(|line| line.parse::<f64>().ok()).sum();
        outcome.times.entry("build".to_owned()).or_insert(seconds);
    }
    outcome.times.insert("total".to_owned(), total.as_secs_f64());
    if checks.is_some() {
        checked::say(&findings)?;
    }
    Ok(outcome)
}

/// The compiled loader layer that measures builds; without OpenCL's headers builds are not measured.
fn layer() -> Option<PathBuf> {
    let (source, library) = (super::directory().join("build_time.c"), super::work().join("libbuild_time.so"));
    let age = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if age(&library) > age(&source) {
        return Some(library);
    }
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-DCL_TARGET_OPENCL_VERSION=300"]).arg(source).arg("-o").arg(&library);
    sh::run(&mut compiler).inspect_err(|error| eprintln!("note: builds are not measured: {error:#}")).ok()?;
    Some(library)
}

/// A program's script.
///
/// # Errors
/// When there is none.
pub(crate) fn script(app: &App) -> Result<PathBuf> {
    let scripts = ["run.py", "run.sh"].map(|name| app.directory.join(name));
    scripts.into_iter().find(|script| script.is_file()).with_context(|| format!("{} has no run.py or run.sh", app.name))
}

/// What runs a script: the program's Python if it has one.
fn interpreter(script: &Path, places: &Places) -> PathBuf {
    let python = places.venv.join("bin/python3");
    match script.extension().is_some_and(|extension| extension == "py") {
        true if python.is_file() => python,
        true => "/usr/bin/python3".into(),
        false => "bash".into(),
    }
}

/// The environment variables of scripts, except those for the driver.
fn environment(command: &mut Command, app: &App, places: &Places, cache: &Path) -> Result<()> {
    if places.venv.is_dir() {
        command.env("PATH", sh::path_before(&places.venv.join("bin"))?).env("VIRTUAL_ENV", &places.venv);
    }
    command
        .env("CLIFT_APP_SOURCES", &places.sources)
        .env("CLIFT_APP_NPM", &places.npm)
        // For files that a script builds once for all drivers.
        .env("CLIFT_APP_BUILD", places.root.join("build"))
        .env("CLIFT_APP_DIRECTORY", &app.directory)
        .env("PYTHONPATH", super::directory())
        .env("PYTHONUNBUFFERED", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYOPENCL_CTX", "0")
        .env("XDG_CACHE_HOME", cache)
        .env("CLIFT_CACHE_DIR", cache.join("clift"))
        .env("POCL_CACHE_DIR", cache.join("pocl"));
    Ok(())
}

/// How many programs each processor has to run: 1 on an idle machine. Time limits are for that.
fn load() -> u32 {
    const MOST: f64 = 16.0;
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running: f64 = text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (running / processors as f64).ceil().clamp(1.0, MOST) as u32
}

/// How a run ended.
enum End {
    /// By itself, successfully.
    Finished,
    /// When its user wanted.
    Stopped,
    /// It failed or exceeded a limit: the reason.
    Failed(String),
}

/// Waits for the script to end. Kills it when it is to `stop`, or when it or its children exceed a limit.
fn wait(child: &mut Child, limit: Duration, stop: Option<Duration>, memory: u64) -> Result<End> {
    let start = Instant::now();
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process number")?;
    let end = loop {
        if let Some(status) = child.try_wait()? {
            break if status.success() { End::Finished } else { End::Failed(status.to_string()) };
        }
        if stop.is_some_and(|stop| start.elapsed() >= stop) {
            break End::Stopped;
        }
        if start.elapsed() >= limit {
            break End::Failed(format!("still running after {} s", limit.as_secs()));
        }
        let used = resident(group);
        if used > memory {
            break End::Failed(format!("{} MiB of memory in use", used >> 20));
        }
        std::thread::sleep(POLL);
    };
    // This includes children of the script that outlive it.
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()?;
    Ok(end)
}

/// Resident memory of the processes of a group in bytes.
fn resident(group: Pid) -> u64 {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let mut pages = 0;
    for process in processes.flatten() {
        let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else { continue };
        // The command's name, in parentheses, may contain any character; after it come state, parent, group ...
        let Some((_, fields)) = stat.rsplit_once(')') else { continue };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        if fields.get(2).and_then(|field| field.parse::<i32>().ok()) == Some(group.as_raw_pid()) {
            pages += fields.get(21).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    pages * rustix::param::page_size() as u64
}

fn last_words(path: &Path) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&text[text.len().saturating_sub(LAST_WORDS)..]).trim().replace('\n', " | ")
}
