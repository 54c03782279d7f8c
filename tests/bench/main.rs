//! Compares this driver with others in one run: a suite of kernels, and the latencies of building and launching.
//!
//! The parent process measures nothing. For each kernel and driver it starts a child of this program, alternating between the
//! drivers, so that all of them see the same machine at nearly the same time. A child is one OpenCL application; its environment
//! selects the driver and empty caches. Hangs and crashes of a child are results, too.
//!
//! [`suite`] is the table of kernels, and [`work`] describes a kernel's inputs and outputs. Children measure [`throughput`],
//! [`latency`] and [`queues`]; [`functions`] is a table of built-in functions to be measured. [`children`] starts the children,
//! [`drivers`] finds the drivers, and [`levels`] makes one for each optimization level of the front end; [`report`] and
//! [`plot`] show the results.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

mod children;
mod drivers;
mod functions;
mod latency;
mod levels;
mod plot;
mod queues;
mod report;
mod suite;
mod throughput;
mod work;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use clap::Parser;
use opencl3::device::Device;

use crate::children::{Failure, Nursery};
use crate::drivers::Driver;
use crate::functions::FUNCTIONS;
use crate::report::{Clock, Report};
use crate::suite::{ROWS, Row};
use crate::throughput::{Input, Outcome, Task};

/// Measures kernels and latencies side by side.
#[derive(Parser)]
struct Args {
    /// The driver's library; default: the one built beside this program.
    #[arg(long)]
    clift: Option<PathBuf>,
    /// Drivers, separated by commas: clift, pocl, intel (from CLIFT_BENCH_INTEL, its library or directory), NAME=LIBRARY;
    /// cranelift, clang and one-lane are clift with that backend, that front end, and packs of one lane.
    /// The first one is compared with the others. Default: all that are installed.
    #[arg(long)]
    drivers: Option<String>,
    /// Names of kernels or kinds, separated by commas; `--list` shows them.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Measure results per second of the mathematical built-in functions instead, in float and double; `--only` names functions.
    #[arg(long)]
    functions: bool,
    /// Give the kernels to this driver as SPIR-V that clang made at these optimization levels, and compare the first
    /// level with the others, instead of drivers. Needs `--compiler`.
    #[arg(long, value_delimiter = ',', num_args = 0..=1, default_missing_value = "0,2", require_equals = true)]
    levels: Vec<u8>,
    /// The offline compiler, for `--levels`.
    #[arg(long)]
    compiler: Option<PathBuf>,
    /// Show the kernels and exit.
    #[arg(long)]
    list: bool,
    /// Number of rounds: in each, every driver runs every kernel once. Tables show the best round.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How long a kernel is repeated in a round, in milliseconds; the round's time is the median.
    #[arg(long, default_value_t = 250)]
    budget: u64,
    /// One short round.
    #[arg(long)]
    quick: bool,
    /// Only check the results, with few repetitions; fails if this driver fails a kernel.
    #[arg(long)]
    check: bool,
    /// The time that tables and ratios compare. Processor time hardly depends on other load of the machine.
    #[arg(long, value_enum, default_value_t = Clock::Wall)]
    clock: Clock,
    /// Time limit of a child, in seconds.
    #[arg(long, default_value_t = 30)]
    limit: u64,
    /// Write all results to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Draw the ratios to this file (SVG).
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Measure one kernel in this process (used by child processes).
    #[arg(long, hide = true)]
    kernel: Option<String>,
    /// Measure one function in this process (used by child processes).
    #[arg(long, hide = true)]
    function: Option<String>,
    /// A SPIR-V module of the kernel, instead of its source.
    #[arg(long, hide = true)]
    module: Option<PathBuf>,
    /// Measure latencies in this process (used by child processes).
    #[arg(long, hide = true)]
    latency: Option<latency::Part>,
    /// Compare with the reference.
    #[arg(long, hide = true)]
    verify: bool,
    /// Also measure the time to build from the program's binary.
    #[arg(long, hide = true)]
    binary: bool,
    /// File for a child's result.
    #[arg(long, hide = true)]
    result: Option<PathBuf>,
}

fn main() -> Result<()> {
    let mut args = Args::parse();
    if let Some(path) = &args.result {
        return child(&args, path);
    }
    if args.list {
        for row in ROWS {
            println!("{:15} {:10} {}", row.name, row.kind.name(), row.about);
        }
        return Ok(());
    }
    if args.quick || args.check {
        args.rounds = 1;
        args.budget = if args.check { 0 } else { 100 };
    }
    ensure!(args.rounds > 0, "no rounds, no results");
    if args.functions {
        return measure_functions(&args);
    }
    let (rows, mut parts) = chosen(&args)?;
    let scratch = tempfile::Builder::new().prefix("clift-bench-").tempdir()?;
    let drivers = if args.levels.is_empty() {
        drivers::choose(args.drivers.as_deref(), args.clift.as_deref())?
    } else {
        parts.clear();
        let library = args.clift.clone().unwrap_or_else(clift_tests::driver::clift_library);
        let compiler = args.compiler.as_ref().ok_or_else(|| anyhow!("--levels needs --compiler"))?;
        levels::drivers(&library, compiler, &args.levels, &rows, scratch.path())?
    };
    ensure!(!drivers.is_empty(), "no drivers");
    let report = measure(&args, drivers, &rows, &parts)?;
    report.print();
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_string_pretty(&report.json())?)?;
        println!("everything: {}", path.display());
    }
    if let Some(path) = &args.plot {
        plot::draw(&report, path)?;
        println!("ratios: {}", path.display());
    }
    let failed = report.failures_of_subject();
    ensure!(!args.check || failed == 0, "{failed} kernels failed");
    Ok(())
}

/// The table of functions.
fn measure_functions(args: &Args) -> Result<()> {
    let known = |word: &&String| !FUNCTIONS.iter().any(|function| function.name() == word.as_str());
    if let Some(word) = args.only.iter().find(known) {
        bail!("no function is called {word}");
    }
    let chosen = |name: &str| args.only.is_empty() || args.only.iter().any(|word| word == name);
    let functions: Vec<_> = FUNCTIONS.iter().filter(|function| chosen(function.name())).collect();
    let drivers = drivers::choose(args.drivers.as_deref(), args.clift.as_deref())?;
    ensure!(!drivers.is_empty(), "no drivers");
    let effort = (args.rounds, args.budget, Duration::from_secs(args.limit));
    let rates = functions::measure(drivers, &functions, effort, args.clock)?;
    rates.print();
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_string_pretty(&rates.json())?)?;
    }
    Ok(())
}

/// The work of a child: one measurement, stored in a file.
fn child(args: &Args, result: &std::path::Path) -> Result<()> {
    if let Some(part) = args.latency {
        return children::deliver(result, &latency::run(part)?);
    }
    let device = first_device()?;
    if let Some(name) = &args.function {
        let function =
            FUNCTIONS.iter().find(|function| function.name() == name).ok_or_else(|| anyhow!("no such function"))?;
        return children::deliver(result, &functions::run(function, Duration::from_millis(args.budget), &device));
    }
    let row = args.kernel.as_ref().and_then(|name| ROWS.iter().find(|row| row.name == name));
    let row = row.ok_or_else(|| anyhow!("no such kernel"))?;
    let task = Task { budget: Duration::from_millis(args.budget), verify: args.verify, binary: args.binary };
    let module = args.module.as_ref().map(std::fs::read).transpose()?;
    let input = module.as_deref().map_or(Input::Source(row.source), Input::Module);
    children::deliver(result, &throughput::measure(input, (row.work)(), &task, &device))
}

/// The device of the driver selected by the environment.
fn first_device() -> Result<Device> {
    let platforms = opencl3::platform::get_platforms().map_err(|error| anyhow!("clGetPlatformIDs: {error}"))?;
    let platform = platforms.first().ok_or_else(|| anyhow!("no platform"))?;
    let devices = platform.get_devices(opencl3::device::CL_DEVICE_TYPE_ALL);
    let devices = devices.map_err(|error| anyhow!("clGetDeviceIDs: {error}"))?;
    Ok(Device::new(*devices.first().ok_or_else(|| anyhow!("no device"))?))
}

/// The rows and latency measurements that `--only` names, or all.
fn chosen(args: &Args) -> Result<(Vec<&'static Row>, Vec<latency::Part>)> {
    let wants = |names: [&str; 2]| args.only.is_empty() || args.only.iter().any(|word| names.contains(&word.as_str()));
    let rows: Vec<_> = ROWS.iter().filter(|row| wants([row.name, row.kind.name()])).collect();
    let parts = latency::Part::ALL.into_iter().filter(|part| wants([part.name(), part.kind().name()])).collect();
    let known = |word: &String| {
        ROWS.iter().any(|row| [row.name, row.kind.name()].contains(&word.as_str()))
            || latency::Part::ALL.iter().any(|part| [part.name(), part.kind().name()].contains(&word.as_str()))
    };
    if let Some(word) = args.only.iter().find(|word| !known(word)) {
        bail!("no kernel and no kind is called {word}: --list shows them");
    }
    Ok((rows, if args.check { Vec::new() } else { parts }))
}

/// All rounds, alternating between the drivers for each kernel.
fn measure(args: &Args, drivers: Vec<Driver>, rows: &[&'static Row], parts: &[latency::Part]) -> Result<Report> {
    let nursery = Nursery::new()?;
    let limit = Duration::from_secs(args.limit);
    let mut report = Report::new(drivers.clone(), rows, args.clock, args.rounds, args.budget);
    for round in 0..args.rounds {
        for part in parts {
            for driver in in_turn(&drivers, round) {
                let outcome = nursery.run(driver, &["--latency".to_owned(), part.name().to_owned()], limit)?;
                match outcome {
                    Ok(samples) => report.add_latencies(driver, samples),
                    Err(failure) => eprintln!("{}, {}: {}", driver.name, part.name(), Outcome::from(failure).message()),
                }
            }
        }
        for (index, row) in rows.iter().enumerate() {
            eprint!("round {} of {}: {:15}", round + 1, args.rounds, row.name);
            let mut shown = BTreeMap::new();
            for driver in in_turn(&drivers, round) {
                // A failed kernel is not run again, because it may take its whole time limit.
                if report.has_failed(index, driver) {
                    continue;
                }
                let mut words = vec!["--kernel".to_owned(), row.name.to_owned()];
                words.extend(["--budget".to_owned(), args.budget.to_string()]);
                if round == 0 {
                    words.push("--verify".to_owned());
                }
                if let Some(module) = driver.module(row.name) {
                    words.extend(["--module".to_owned(), module.display().to_string()]);
                }
                if driver.is_clift() {
                    words.push("--binary".to_owned());
                }
                let outcome = nursery.run(driver, &words, limit)?.unwrap_or_else(Outcome::from);
                shown.insert(driver.name.clone(), outcome.short());
                report.add(index, driver, outcome);
            }
            let words: Vec<_> = drivers
                .iter()
                .filter_map(|driver| Some(format!("{} {}", driver.name, shown.get(&driver.name)?)))
                .collect();
            eprintln!(" {}", words.join(", "));
        }
    }
    Ok(report)
}

/// The drivers, with a different one first in each round.
fn in_turn(drivers: &[Driver], round: usize) -> impl Iterator<Item = &Driver> {
    drivers.iter().cycle().skip(round % drivers.len()).take(drivers.len())
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Crash(message) => Self::Crash { message },
            Failure::Timeout(limit) => Self::Timeout { message: format!("ended after {} s", limit.as_secs()) },
        }
    }
}
