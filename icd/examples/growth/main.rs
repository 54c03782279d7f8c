//! How time and memory of a build grow with the kernel: families of kernels that repeat one thing, at several sizes.
//!
//! ```text
//! cargo run --release -p clift-icd --example growth -- [FAMILY...] [--scale X] [--factor X] [--stages] [--width N]
//! cargo run --release -p clift-icd --example growth -- --table FILE.md --plot FILE.svg [FAMILY...]
//! ```
//!
//! For each size, a child process of this program builds the source (`clBuildProgram`) and launches the kernel for work-items
//! that do not fill whole packs, with limits on time and address space. The output is seconds of processor time, MB, and the
//! exponent of the growth between the last two sizes: 1 where twice the kernel takes twice the time. With `--table` or
//! `--plot`, each family is measured at kernels of about 1,000 to 500,000 instructions of SPIR-V. Nothing is asserted here;
//! `jit/src/spmd/tests/growth.rs` counts the instructions generated for kernels that grow.

#[path = "../../tests/api/cl.rs"]
#[allow(dead_code, unsafe_code, reason = "shared with the tests of the API; calls of C functions")]
mod cl;

mod child;
mod plot;
mod sources;
mod table;

use std::fmt::Write;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use clift::caps;
use clift::frontend::options::BuildCall;
use clift::frontend::{BuildOptions, Compiler, Job};
use sources::{FAMILIES, Family};

/// Measures how builds grow with kernels.
#[derive(Parser)]
struct Args {
    /// Families to measure, by prefixes of their names; default: all.
    families: Vec<String>,
    /// Multiplies the first size of each family.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Factor from one size to the next.
    #[arg(long, default_value_t = 2.0)]
    factor: f64,
    /// Number of sizes.
    #[arg(long, default_value_t = 3)]
    sizes: u32,
    /// Shows the time of each stage, at each size.
    #[arg(long)]
    stages: bool,
    /// Shows the source instead, at the first size.
    #[arg(long)]
    show: bool,
    /// Lanes per pack.
    #[arg(long)]
    width: Option<u32>,
    /// Measure the families (by default some) from small kernels to very large ones, and draw the times to this file (SVG).
    #[arg(long)]
    plot: Option<std::path::PathBuf>,
    /// As `--plot`; write a table of times and exponents to this file (Markdown).
    #[arg(long)]
    table: Option<std::path::PathBuf>,
    /// Instructions of the largest kernels for `--plot` and `--table`.
    #[arg(long, default_value_t = 500_000.0)]
    most: f64,
    /// Time limit of a build in seconds.
    #[arg(long, default_value_t = 180)]
    limit: u64,
    /// Keep the SPIR-V in this directory.
    #[arg(long)]
    keep: Option<std::path::PathBuf>,
    /// Build this source and report (used by child processes).
    #[arg(long, hide = true)]
    child: Option<String>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(path) = &args.child {
        return child::run(path);
    }
    if args.plot.is_some() || args.table.is_some() {
        return large(&args);
    }
    println!(
        "{:20} {:>6} {:>9} {:>8} {:>8} {:>8} {:>6} {:>6}",
        "family", "size", "words", "build s", "launch s", "MB", "time", "memory"
    );
    for family in FAMILIES {
        if !args.families.is_empty() && !args.families.iter().any(|name| family.name.starts_with(name.as_str())) {
            continue;
        }
        let mut before: Option<(f64, Measured)> = None;
        for step in 0..args.sizes {
            let size = (family.size as f64 * args.scale * args.factor.powi(step as i32)) as usize;
            let source = family.source(size);
            if args.show {
                println!("{source}");
                break;
            }
            if let Some(directory) = &args.keep {
                std::fs::write(directory.join(format!("{}-{size}.spv", family.name)), bytes_of(&front_end(&source)?))?;
            }
            match measure(&source, &args) {
                Ok(now) => {
                    let mut line = format!(
                        "{:20} {size:>6} {:>9} {:>8.2} {:>8.2} {:>8.0}",
                        family.name,
                        now.words,
                        now.seconds,
                        now.launch.unwrap_or_default(),
                        now.megabytes
                    );
                    if let Some((then, old)) = &before {
                        let exponent = |now: f64, old: f64| (now / old).ln() / (size as f64 / then).ln();
                        let _ = write!(
                            line,
                            " {:>6.2} {:>6.2}",
                            exponent(now.seconds, old.seconds),
                            exponent(now.megabytes, old.megabytes)
                        );
                    }
                    println!("{line}");
                    if args.stages {
                        println!("    {}", now.stages);
                    }
                    before = Some((size as f64, now));
                }
                Err(error) => {
                    println!("{:20} {size:>6} {error}", family.name);
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Families that `--plot` and `--table` measure if none is named.
const LARGE: [&str; 14] = [
    "straight",
    "loops",
    "uniform-loops",
    "nests",
    "nested-ifs",
    "ifs",
    "small-calls",
    "calls",
    "private-arrays",
    "switch",
    "barriers",
    "barriers-live",
    "stores",
    "kernels",
];

/// Instructions of the smallest kernel, and the factor from one to the next.
const FEWEST: f64 = 1000.0;
const FACTOR: f64 = 8.0;

/// Measures families from small kernels to very large ones.
fn large(args: &Args) -> Result<()> {
    let chosen = |name: &str| match args.families.as_slice() {
        [] => LARGE.contains(&name),
        names => names.iter().any(|other| name.starts_with(other.as_str())),
    };
    let mut curves: Vec<Curve> = Vec::new();
    for family in FAMILIES.iter().filter(|family| chosen(family.name)) {
        let mut curve = Curve { family, points: Vec::new(), failure: None };
        // How many instructions a repetition adds.
        let [one, two] = [family.size, 2 * family.size].map(|size| instructions(&family.source(size)));
        let each = (two? - one?) / family.size as f64;
        let mut wanted = FEWEST;
        while wanted < args.most * 1.5 {
            let size = (wanted.min(args.most) / each).ceil() as usize;
            let instructions = size as f64 * each;
            match measure(&family.source(size), args) {
                Ok(now) => {
                    println!(
                        "{:20} {instructions:>8.0} instructions {:>8.3} s {:>6.0} MB {:>6.2} us each, launch {:>6.3} s; {}",
                        family.name,
                        now.seconds,
                        now.megabytes,
                        now.seconds * 1e6 / instructions,
                        now.launch.unwrap_or_default(),
                        now.stages,
                    );
                    curve.points.push((instructions, now));
                }
                Err(error) => {
                    println!("{:20} {instructions:>8.0} instructions: {error}", family.name);
                    curve.failure = Some((instructions, error.to_string()));
                    break;
                }
            }
            wanted *= FACTOR;
        }
        curves.push(curve);
    }
    if let Some(file) = &args.table {
        std::fs::write(file, table::table(&curves))?;
    }
    args.plot.as_ref().map_or(Ok(()), |file| plot::draw(&curves, file))
}

/// A family's measurements.
struct Curve {
    family: &'static Family,
    /// Instructions of the kernel, and what it took.
    points: Vec<(f64, Measured)>,
    /// At how many instructions the build failed, and why.
    failure: Option<(f64, String)>,
}

/// The instructions of a source's SPIR-V.
fn instructions(source: &str) -> Result<f64> {
    let words = front_end(source)?;
    let (mut at, mut count) = (5, 0);
    while let Some(&word) = words.get(at) {
        at += (word >> 16).max(1) as usize;
        count += 1;
    }
    Ok(f64::from(count))
}

/// Compiles a source to SPIR-V.
fn front_end(source: &str) -> Result<Vec<u32>> {
    let options = BuildOptions::parse("", BuildCall::Compile).map_err(|reason| anyhow!(reason))?;
    let compiler = Compiler::get();
    let attempt = compiler.attempts(&options).next().context("no front end")?;
    let (source, profile, level) = (source.as_bytes(), caps::profile(), attempt.level);
    let job = Job { source, headers: &[], options: &options, profile, level, whole: true };
    Ok(compiler.compile(&job, attempt)?.words)
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Time and memory of a build.
struct Measured {
    /// Words of the SPIR-V.
    words: usize,
    /// Of the build.
    seconds: f64,
    /// Of the first launch, beyond what the second one takes; the kernel may not be made for launches.
    launch: Option<f64>,
    megabytes: f64,
    stages: String,
}

/// Builds in a child process.
fn measure(source: &str, args: &Args) -> Result<Measured> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), source)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--child").arg(file.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.env("CLIFT_TIMEOUT", "20");
    if let Some(width) = args.width {
        command.env("CLIFT_WIDTH", width.to_string());
    }
    let mut child = command.spawn()?;
    let limit = Instant::now() + Duration::from_secs(args.limit);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > limit {
            child.kill()?;
            child.wait()?;
            bail!("more than {} s", args.limit);
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut text = String::new();
    child.stdout.take().context("no output")?.read_to_string(&mut text)?;
    if !status.success() {
        bail!("{status}: {text}");
    }
    let mut parts = text.splitn(5, ' ');
    let mut next = || parts.next().with_context(|| text.clone());
    Ok(Measured {
        words: next()?.parse()?,
        seconds: next()?.parse()?,
        launch: next()?.parse().ok(),
        megabytes: next()?.parse()?,
        stages: next()?.trim().to_owned(),
    })
}
