//! How time and memory of a build grow with the kernel: families of kernels that repeat one thing, at three sizes.
//!
//! ```text
//! cargo run --release -p clift-icd --example growth -- [FAMILY...] [--scale X] [--factor X] [--stages] [--width N]
//! cargo run --release -p clift-icd --example growth -- --plot FILE.svg [FAMILY...]
//! ```
//!
//! For each size, a child process of this program compiles the kernel (from SPIR-V made before) with limits on time and address
//! space. The output is seconds of processor time, MB, and the exponent of the growth between the last two sizes: 1 where twice
//! the kernel takes twice the time. With `--plot`, each family is measured at kernels of about 1,000 to 500,000 instructions, and
//! the times are drawn over them, on logarithmic scales. Nothing is asserted here; `jit/src/spmd/tests/growth.rs` counts the instructions generated
//! for kernels that grow.

mod plot;
mod sources;

use parking_lot::Mutex;
use std::fmt::Write;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use clift::caps;
use clift::frontend::options::BuildCall;
use clift::frontend::{BuildOptions, Compiler, Job};
use clift_jit::{ModuleInput, Options};
use sources::FAMILIES;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt};

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
    /// Time limit of a build in seconds.
    #[arg(long, default_value_t = 60)]
    limit: u64,
    /// Keep the SPIR-V in this directory.
    #[arg(long)]
    keep: Option<std::path::PathBuf>,
    /// Compile this SPIR-V and report (used by child processes).
    #[arg(long, hide = true)]
    child: Option<String>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(path) = &args.child {
        return child(path, args.width);
    }
    if let Some(file) = &args.plot {
        return plot(file, &args);
    }
    println!(
        "{:20} {:>6} {:>9} {:>8} {:>8} {:>8} {:>6} {:>6}",
        "family", "size", "instrs", "clang s", "s", "MB", "time", "memory"
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
            let (words, clang) = match front_end(&source) {
                Ok(made) => made,
                Err(error) => {
                    println!("{:20} {size:>6} {error}", family.name);
                    break;
                }
            };
            if let Some(directory) = &args.keep {
                std::fs::write(directory.join(format!("{}-{size}.spv", family.name)), bytes_of(&words))?;
            }
            match measure(&words, &args) {
                Ok(now) => {
                    let mut line = format!(
                        "{:20} {size:>6} {:>9} {clang:>8.2} {:>8.2} {:>8.0}",
                        family.name,
                        words.len(),
                        now.seconds,
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
                    println!("{:20} {size:>6} {:>9} {clang:>8.2} {error}", family.name, words.len());
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Families that `--plot` measures if none is named: code in a line, and branches, loops, accesses and barriers of packs.
const PLOTTED: [&str; 6] = ["straight", "loops", "uniform-loops", "ifs", "stores", "barriers"];
/// Instructions of the smallest plotted kernel, how often they are doubled, and of the largest.
const FEWEST: f64 = 1000.0;
const DOUBLINGS: u32 = 9;
const MOST: f64 = 500_000.0;

/// Measures families at all sizes and draws the times.
fn plot(file: &std::path::Path, args: &Args) -> Result<()> {
    let chosen = |name: &str| match args.families.as_slice() {
        [] => PLOTTED.contains(&name),
        names => names.iter().any(|other| name.starts_with(other.as_str())),
    };
    let mut curves: Vec<plot::Curve> = Vec::new();
    for family in FAMILIES.iter().filter(|family| chosen(family.name)) {
        // How many instructions a repetition adds.
        let [one, two] = [family.size, 2 * family.size].map(|size| instructions(&family.source(size)));
        let each = (two? - one?) / family.size as f64;
        let mut points = Vec::new();
        for doubling in 0..=DOUBLINGS {
            let size = ((FEWEST * 2f64.powi(doubling as i32)).min(MOST) / each).ceil() as usize;
            let words = front_end(&family.source(size))?.0;
            match measure(&words, args) {
                Ok(now) => {
                    let instructions = size as f64 * each;
                    println!(
                        "{:20} {instructions:>8.0} instructions {:>8.3} s {:>6.0} MB {:>6.2} us each",
                        family.name,
                        now.seconds,
                        now.megabytes,
                        now.seconds * 1e6 / instructions
                    );
                    points.push((instructions, now.seconds));
                }
                Err(error) => {
                    println!("{:20} {size:>8} {error}", family.name);
                    break;
                }
            }
        }
        curves.push(plot::Curve { name: family.name, points });
    }
    plot::draw(&curves, file)
}

/// The instructions of a source's SPIR-V.
fn instructions(source: &str) -> Result<f64> {
    let words = front_end(source)?.0;
    let (mut at, mut count) = (5, 0);
    while let Some(&word) = words.get(at) {
        at += (word >> 16).max(1) as usize;
        count += 1;
    }
    Ok(f64::from(count))
}

/// Compiles a source to SPIR-V; also returns the time in seconds.
fn front_end(source: &str) -> Result<(Vec<u32>, f64)> {
    let options = BuildOptions::parse("", BuildCall::Compile).map_err(|reason| anyhow!(reason))?;
    let compiler = Compiler::get();
    let attempt = compiler.attempts(&options).next().context("no front end")?;
    let (source, profile, level) = (source.as_bytes(), caps::profile(), attempt.level);
    let job = Job { source, headers: &[], options: &options, profile, level, whole: true };
    let started = Instant::now();
    let compiled = compiler.compile(&job, attempt)?;
    Ok((compiled.words, started.elapsed().as_secs_f64()))
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Time and memory of a build.
struct Measured {
    seconds: f64,
    megabytes: f64,
    stages: String,
}

/// Builds in a child process.
fn measure(words: &[u32], args: &Args) -> Result<Measured> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), bytes_of(words))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--child").arg(file.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(width) = args.width {
        command.arg("--width").arg(width.to_string());
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
    let mut parts = text.splitn(3, ' ');
    let mut next = || parts.next().with_context(|| text.clone());
    Ok(Measured { seconds: next()?.parse()?, megabytes: next()?.parse()?, stages: next()?.trim().to_owned() })
}

/// Limit on a child's address space.
const MOST_MEMORY: u64 = 8 << 30;

/// Builds and reports: seconds, megabytes, stages.
fn child(path: &str, width: Option<u32>) -> Result<()> {
    let limit = rustix::process::Rlimit { current: Some(MOST_MEMORY), maximum: Some(MOST_MEMORY) };
    rustix::process::setrlimit(rustix::process::Resource::As, limit)?;
    let bytes = std::fs::read(path)?;
    let words: Vec<u32> = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Times))?;
    let before = peak_megabytes()?;
    let started = processor_seconds()?;
    let options = Options { width, ..Options::default() };
    let input = ModuleInput::new(&words);
    let program = clift_jit::compile(&[input], &options).map_err(|error| anyhow!("{error}"))?;
    let seconds = processor_seconds()? - started;
    let mut stages = String::new();
    for (stage, micros) in TIMES.lock().iter().filter(|&(_, micros)| *micros >= 1000) {
        let _ = write!(stages, "{stage} {} ms, ", micros / 1000);
    }
    let kernels: Vec<u32> = program.kernels.iter().map(|kernel| kernel.resources.width).take(3).collect();
    println!("{seconds} {} {stages}lanes {kernels:?}", peak_megabytes()? - before);
    // The time does not include freeing everything.
    std::process::exit(0)
}

/// Processor time of this process in seconds.
fn processor_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().context("no schedstat")?.parse()?;
    Ok(nanoseconds / 1e9)
}

/// Peak memory of this process.
fn peak_megabytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}

/// Microseconds by stage.
static TIMES: Mutex<Vec<(String, u64)>> = Mutex::new(Vec::new());

/// Collects the times that the compiler's stages report.
struct Times;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Times {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: LayerContext<'_, S>) -> bool {
        metadata.target() == "clift::time"
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: LayerContext<'_, S>) {
        let mut seen = Seen::default();
        event.record(&mut seen);
        let mut times = TIMES.lock();
        match times.iter_mut().find(|(stage, _)| *stage == seen.stage) {
            Some((_, micros)) => *micros += seen.micros,
            None => times.push((seen.stage, seen.micros)),
        }
    }
}

#[derive(Default)]
struct Seen {
    stage: String,
    micros: u64,
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "stage" {
            self.stage = format!("{value:?}").trim_matches('"').to_owned();
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "micros" {
            self.micros = value;
        }
    }
}
