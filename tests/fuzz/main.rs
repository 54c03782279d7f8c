//! Runs random programs in OpenCL C in all configurations of this driver and on other drivers; the results must be the same.
//!
//! The parent compares. For each configuration, a child of this program builds and runs a batch of programs and writes the
//! results line by line, so that a crash or a hang affects only one program. [`generate`] creates the programs; seeds reproduce
//! them. Deliberately not there: inexact functions, filtered images, printf, and sub-groups on other drivers, which divide
//! work-items differently.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

mod child;
mod generate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Parser;
use clift_tests::driver::clift_library;
use clift_tests::ways::{self, WAYS, Way};

use crate::child::Outcome;

/// Compares random programs between configurations of the driver, and with other drivers.
#[derive(Parser)]
pub(crate) struct Args {
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Number of programs.
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// Stop after this many seconds.
    #[arg(long)]
    seconds: Option<u64>,
    /// The driver's library; default: the one built beside this program.
    #[arg(long)]
    clift: Option<PathBuf>,
    /// Other drivers to compare with: NAME=LIBRARY.
    #[arg(long)]
    peer: Vec<String>,
    /// Only these configurations, by name.
    #[arg(long, value_delimiter = ',')]
    ways: Vec<String>,
    /// Print the program of the first seed and exit.
    #[arg(long)]
    show: bool,
    /// Use this source instead of the first seed's, with the launches of that seed.
    #[arg(long)]
    source: Option<PathBuf>,
    /// Time limit of one program in one configuration, in seconds.
    #[arg(long, default_value_t = 60)]
    limit: u64,
    /// File for results (used by child processes).
    #[arg(long, hide = true)]
    result: Option<PathBuf>,
}

/// Programs per child.
const BATCH: u64 = 16;

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if args.show {
        let program = generate::program(args.first);
        println!("{}// {}", program.source, program.options);
        for launch in program.launches {
            println!("// {:?} {:?} n {}", launch.global, launch.local, launch.n);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(result) = &args.result {
        child::run(&args, result)?;
        return Ok(ExitCode::SUCCESS);
    }
    let ways = ways(&args)?;
    let scratch = tempfile::Builder::new().prefix("clift-fuzz-").tempdir()?;
    let (start, mut bad, mut through_clang, mut done) = (Instant::now(), 0, 0, 0);
    for first in (args.first..args.first + args.count).step_by(BATCH as usize) {
        if args.seconds.is_some_and(|seconds| start.elapsed().as_secs() >= seconds) {
            break;
        }
        let count = BATCH.min(args.first + args.count - first);
        let mut outcomes: Vec<BTreeMap<u64, Outcome>> = Vec::new();
        for way in &ways {
            outcomes.push(batch(&args, way, first, count, scratch.path())?);
        }
        for seed in first..first + count {
            match judge(seed, &ways, &outcomes) {
                Verdict::Equal => {}
                Verdict::ThroughClang => through_clang += 1,
                Verdict::Different => bad += 1,
            }
        }
        done += count;
        let _ = std::fs::remove_dir_all(scratch.path().join("cache"));
    }
    println!(
        "{done} programs, {bad} with differences, {through_clang} only through clang, {} ways, {:.0?}",
        ways.len(),
        start.elapsed()
    );
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn ways(args: &Args) -> Result<Vec<Way>> {
    let clift = args.clift.clone().unwrap_or_else(clift_library);
    let own = WAYS.iter().map(|(name, env)| Way::clift(name, &clift, env));
    let peers = args.peer.iter().map(|text| Way::peer(text));
    let wanted = |way: &Way| args.ways.is_empty() || args.ways.contains(&way.name) || !way.is_clift;
    let ways: Vec<Way> = own.chain(peers).filter(wanted).collect();
    ensure!(!ways.is_empty(), "no way is left");
    Ok(ways)
}

/// Runs a batch in one configuration, and starts another child after each one that died.
fn batch(args: &Args, way: &Way, first: u64, count: u64, scratch: &Path) -> Result<BTreeMap<u64, Outcome>> {
    let mut outcomes = BTreeMap::new();
    let result = scratch.join("result");
    let mut next = first;
    while next < first + count {
        std::fs::write(&result, "")?;
        let mut command = way.command(scratch)?;
        command
            .args(["--first", &next.to_string(), "--count", &(first + count - next).to_string()])
            .arg("--result")
            .arg(&result);
        if let Some(source) = &args.source {
            command.arg("--source").arg(source);
        }
        let mut child = command.spawn()?;
        // The limit applies to each program; the file shows how far the child is.
        let status = ways::wait(&mut child, &result, Duration::from_secs(args.limit))?;
        for line in std::fs::read_to_string(&result)?.lines() {
            let (seed, outcome) = serde_json::from_str::<(u64, Outcome)>(line)?;
            outcomes.insert(seed, outcome);
            next = seed + 1;
        }
        if next < first + count {
            let outcome = match status {
                None => Outcome::Timeout,
                Some(status) => Outcome::Crash(status.to_string()),
            };
            outcomes.insert(next, outcome);
            next += 1;
        }
    }
    Ok(outcomes)
}

/// How the outcomes of a program compare.
enum Verdict {
    Equal,
    /// Only one of clang's modules differs, while the other and all else agree. Such differences are printed but do not count:
    /// clang's SPIR-V back end is an oracle that has faults of its own.
    ThroughClang,
    Different,
}

/// Whether all configurations agree on a program; prints it if not.
fn judge(seed: u64, ways: &[Way], outcomes: &[BTreeMap<u64, Outcome>]) -> Verdict {
    let own = generate::program(seed).own;
    let mut groups: Vec<(&Outcome, Vec<&str>)> = Vec::new();
    for (way, outcomes) in ways.iter().zip(outcomes) {
        let Some(outcome) = outcomes.get(&seed) else { continue };
        // A peer may lack features that a program needs, and the interpreter may be too slow.
        let excused = match outcome {
            Outcome::Results(_) => own && !way.is_clift,
            Outcome::Timeout => !way.is_clift || way.name == "interp",
            Outcome::Build(_) | Outcome::Run(_) | Outcome::Crash(_) => !way.is_clift,
        };
        if excused {
            continue;
        }
        match groups.iter_mut().find(|(other, _)| *other == outcome) {
            Some((_, names)) => names.push(&way.name),
            None => groups.push((outcome, vec![&way.name])),
        }
    }
    let agree = |groups: &[&(&Outcome, Vec<&str>)]| {
        groups.len() <= 1 && groups.iter().all(|(outcome, _)| matches!(outcome, Outcome::Results(_)))
    };
    if agree(&groups.iter().collect::<Vec<_>>()) {
        return Verdict::Equal;
    }
    println!("seed {seed}:");
    for (outcome, names) in &groups {
        let text: String = format!("{outcome:?}").chars().take(300).collect();
        println!("    {}: {text}", names.join(" "));
    }
    let is_clang = |name: &&str| name.starts_with("clang");
    let others: Vec<_> = groups.iter().filter(|(_, names)| !names.iter().all(is_clang)).collect();
    // Another module of clang's agrees, and the results differ: a module that cannot be built counts.
    let one_agrees = others.iter().any(|(_, names)| names.iter().any(is_clang));
    let ran = groups.iter().all(|(outcome, _)| matches!(outcome, Outcome::Results(_)));
    if agree(&others) && one_agrees && ran { Verdict::ThroughClang } else { Verdict::Different }
}
