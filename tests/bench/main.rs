//! Latencies of this driver beside another one's, measured in one run.
//!
//! The parent process measures nothing: for each driver it starts children of this same program, in turns, so that both
//! see the same machine at nearly the same time. A child is one OpenCL application; which driver it sees, and empty caches,
//! are its environment. Children print one JSON object each; the parent prints a table and, on request, a JSON file.
#![allow(unsafe_code, reason = "OpenCL's host interface is a C interface")]

mod measure;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use clift_tests::driver::vendors_dir;

/// Measures latencies side by side.
#[derive(Parser)]
struct Args {
    /// The driver's library; the one built beside this program otherwise.
    #[arg(long)]
    clift: Option<PathBuf>,
    /// The library of the driver to compare with.
    #[arg(long, default_value = "libpocl.so.2")]
    peer: PathBuf,
    /// Measure the driver only.
    #[arg(long)]
    alone: bool,
    /// Rounds: the median over them is shown.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Write the medians to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Measure in this process: what the parent tells its children.
    #[arg(long, hide = true)]
    child: Option<measure::Kind>,
}

/// Results of one driver: measurements in microseconds by name.
type Samples = BTreeMap<String, Vec<f64>>;

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(kind) = args.child {
        let results = measure::run(kind)?;
        println!("{}", serde_json::to_string(&results)?);
        return Ok(());
    }
    let mut drivers = vec![("clift", args.clift.clone().unwrap_or_else(clift_tests::driver::clift_library))];
    if !args.alone {
        drivers.push(("peer", args.peer.clone()));
    }
    let scratch = std::env::temp_dir().join(format!("clift-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let outcome = measure_all(&args, &drivers, &scratch);
    std::fs::remove_dir_all(&scratch)?;
    let results = outcome?;
    print_table(&drivers, &results);
    if let Some(path) = &args.json {
        let medians: BTreeMap<_, BTreeMap<_, _>> = results
            .iter()
            .map(|(driver, samples)| (driver, samples.iter().map(|(name, values)| (name, median(values))).collect()))
            .collect();
        std::fs::write(path, serde_json::to_string_pretty(&medians)?)?;
    }
    Ok(())
}

/// All rounds, the drivers in turns within each.
fn measure_all(
    args: &Args,
    drivers: &[(&'static str, PathBuf)],
    scratch: &Path,
) -> Result<BTreeMap<&'static str, Samples>> {
    let mut results: BTreeMap<&str, Samples> = BTreeMap::new();
    for round in 0..args.rounds {
        for kind in measure::Kind::ALL {
            for (name, library) in drivers {
                let cache = scratch.join(format!("cache-{name}-{round}-{kind:?}"));
                std::fs::create_dir_all(&cache)?;
                let output = Command::new(std::env::current_exe()?)
                    .arg("--child")
                    .arg(kind.name())
                    .env("OCL_ICD_VENDORS", vendors_dir(library, scratch)?)
                    .env_remove("OCL_ICD_FILENAMES")
                    .env("CLIFT_CACHE_DIR", &cache)
                    .env("POCL_CACHE_DIR", &cache)
                    .output()?;
                if !output.status.success() {
                    bail!("{name}, {}: {}", kind.name(), String::from_utf8_lossy(&output.stderr));
                }
                let measured: BTreeMap<String, f64> =
                    serde_json::from_slice(&output.stdout).with_context(|| format!("{name}, {}", kind.name()))?;
                let samples = results.entry(name).or_default();
                for (what, value) in measured {
                    samples.entry(what).or_default().push(value);
                }
            }
        }
    }
    Ok(results)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn print_table(drivers: &[(&'static str, PathBuf)], results: &BTreeMap<&'static str, Samples>) {
    for (name, library) in drivers {
        println!("{name}: {}", library.display());
    }
    println!("{:44} {:>12} {:>12} {:>8}", "median, microseconds", "clift", "peer", "ratio");
    for (what, label) in measure::LABELS {
        let value = |driver| results.get(driver).and_then(|samples| samples.get(*what)).map(|values| median(values));
        let (clift, peer) = (value("clift"), value("peer"));
        let shown = |value: Option<f64>| value.map_or("n/a".to_owned(), |value| format!("{value:.1}"));
        let ratio = clift.zip(peer).map_or("n/a".to_owned(), |(clift, peer)| format!("{:.3}", clift / peer));
        println!("{label:44} {:>12} {:>12} {ratio:>8}", shown(clift), shown(peer));
    }
}
