//! Results: tables, means, and JSON.
//!
//! The first driver is the *subject*, the others are its *peers*. A ratio is the peer's time divided by the subject's: how many
//! times faster the subject is. The time of a kernel is that of its best round, and a round's time is the median of its
//! repetitions. On a machine with other load, the processor time of a repetition can be used instead.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::drivers::Driver;
use crate::latency::LABELS;
use crate::suite::{Kind, Row};
use crate::throughput::{Outcome, Times};

/// Everything that was measured.
pub(crate) struct Report {
    /// Subject first.
    pub(crate) drivers: Vec<Driver>,
    /// By row of the suite, in its order.
    pub(crate) kernels: Vec<Measured>,
    /// Microseconds by measurement and driver, one of each round.
    latencies: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
    clock: Clock,
    rounds: usize,
    budget: u64,
}

/// One kernel's results.
pub(crate) struct Measured {
    /// The row.
    pub(crate) row: &'static Row,
    /// By driver, one of each round; a failure is the last one.
    outcomes: BTreeMap<String, Vec<Outcome>>,
    clock: Clock,
}

/// The quantity that tables and ratios compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Clock {
    /// Time from enqueue to finish.
    Wall,
    /// Processor time, all threads together.
    Processor,
}

impl Measured {
    fn times(&self, driver: &Driver) -> Option<&[Outcome]> {
        let outcomes = self.outcomes.get(&driver.name)?;
        outcomes.iter().all(|outcome| outcome.times().is_some()).then_some(outcomes)
    }

    /// The best round's value, unless the driver failed.
    fn best(&self, driver: &Driver, value: impl Fn(&Times) -> Option<f64>) -> Option<f64> {
        self.times(driver)?.iter().filter_map(|outcome| value(outcome.times()?)).min_by(f64::total_cmp)
    }

    /// The time of a repetition in milliseconds.
    pub(crate) fn time(&self, driver: &Driver) -> Option<f64> {
        self.best(driver, |times| match self.clock {
            Clock::Wall => Some(times.median),
            Clock::Processor => Some(times.processor),
        })
    }

    /// From source to the first result, minus the kernel's own time: milliseconds.
    fn build(&self, driver: &Driver) -> Option<f64> {
        self.best(driver, |times| Some((times.first - times.median).max(times.build)))
    }

    /// From SPIR-V to machine code: milliseconds.
    fn compile(&self, driver: &Driver) -> Option<f64> {
        self.best(driver, |times| times.from_spirv)
    }

    fn failure(&self, driver: &Driver) -> Option<&Outcome> {
        self.outcomes.get(&driver.name)?.iter().find(|outcome| outcome.times().is_none())
    }

    /// How many times faster than the peer the subject is.
    pub(crate) fn ratio(&self, subject: &Driver, peer: &Driver) -> Option<f64> {
        Some(self.time(peer)? / self.time(subject)?)
    }
}

impl Outcome {
    /// The times, if the kernel's results were right.
    pub(crate) fn times(&self) -> Option<&Times> {
        match self {
            Self::Right(times) => Some(times),
            Self::Wrong { .. }
            | Self::Build { .. }
            | Self::Error { .. }
            | Self::Crash { .. }
            | Self::Timeout { .. } => None,
        }
    }

    /// A short form for tables.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::Right(times) => number(times.median),
            Self::Wrong { .. } => "wrong".to_owned(),
            Self::Build { .. } => "no build".to_owned(),
            Self::Error { .. } => "error".to_owned(),
            Self::Crash { .. } => "crash".to_owned(),
            Self::Timeout { .. } => "timeout".to_owned(),
        }
    }

    /// A description of the failure.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Right(_) => "",
            Self::Wrong { message }
            | Self::Build { message }
            | Self::Error { message }
            | Self::Crash { message }
            | Self::Timeout { message } => message,
        }
    }
}

impl Report {
    /// Nothing measured yet.
    pub(crate) fn new(drivers: Vec<Driver>, rows: &[&'static Row], clock: Clock, rounds: usize, budget: u64) -> Self {
        let kernels = rows.iter().map(|row| Measured { row, outcomes: BTreeMap::new(), clock }).collect();
        Self { drivers, kernels, latencies: BTreeMap::new(), clock, rounds, budget }
    }

    /// Adds the outcome of the kernel with this index in one round.
    pub(crate) fn add(&mut self, index: usize, driver: &Driver, outcome: Outcome) {
        self.kernels[index].outcomes.entry(driver.name.clone()).or_default().push(outcome);
    }

    /// Whether a kernel failed in an earlier round.
    pub(crate) fn has_failed(&self, index: usize, driver: &Driver) -> bool {
        self.kernels[index].failure(driver).is_some()
    }

    /// Adds a round's latencies.
    pub(crate) fn add_latencies(&mut self, driver: &Driver, samples: BTreeMap<String, f64>) {
        for (what, value) in samples {
            self.latencies.entry(what).or_default().entry(driver.name.clone()).or_default().push(value);
        }
    }

    /// The driver that is compared with the others.
    pub(crate) fn subject(&self) -> &Driver {
        &self.drivers[0]
    }

    /// The others.
    pub(crate) fn peers(&self) -> &[Driver] {
        &self.drivers[1..]
    }

    /// How many kernels the subject failed.
    pub(crate) fn failures_of_subject(&self) -> usize {
        self.kernels.iter().filter(|kernel| kernel.failure(self.subject()).is_some()).count()
    }

    fn latency(&self, what: &str, driver: &Driver) -> Option<f64> {
        self.latencies.get(what)?.get(&driver.name).map(|values| median(values))
    }

    fn latency_ratio(&self, what: &str, peer: &Driver) -> Option<f64> {
        Some(self.latency(what, peer)? / self.latency(what, self.subject())?)
    }

    /// The kinds that were measured, in order.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<_> = self.kernels.iter().map(|kernel| kernel.row.kind).collect();
        kinds.extend(LABELS.iter().filter(|(what, ..)| self.latencies.contains_key(*what)).map(|(_, kind, _)| *kind));
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// The ratios to a peer of one kind, or of all kernels (latencies apart).
    fn ratios(&self, kind: Option<Kind>, peer: &Driver) -> Vec<f64> {
        let kernels = self.kernels.iter().filter(|kernel| kind.is_none_or(|kind| kernel.row.kind == kind));
        let latencies = LABELS.iter().filter(|(_, of, _)| kind == Some(*of));
        kernels
            .filter_map(|kernel| kernel.ratio(self.subject(), peer))
            .chain(latencies.filter_map(|(what, ..)| self.latency_ratio(what, peer)))
            .collect()
    }

    /// Geometric mean of the ratios to a peer, and of how many.
    pub(crate) fn mean(&self, kind: Option<Kind>, peer: &Driver) -> Option<(f64, usize)> {
        let ratios = self.ratios(kind, peer);
        let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
        (!ratios.is_empty()).then(|| ((logarithms / ratios.len() as f64).exp(), ratios.len()))
    }

    /// Prints the tables.
    pub(crate) fn print(&self) {
        for driver in &self.drivers {
            println!("{}: {}", driver.name, driver.library.display());
        }
        if !self.kernels.is_empty() {
            self.print_kernels();
        }
        if !self.latencies.is_empty() {
            self.print_latencies();
        }
        if !self.peers().is_empty() {
            self.print_means();
        }
        for kernel in &self.kernels {
            for driver in &self.drivers {
                if let Some(failure) = kernel.failure(driver) {
                    println!("{}, {}, {}: {}", kernel.row.name, driver.name, failure.short(), failure.message());
                }
            }
        }
    }

    fn print_kernels(&self) {
        let subject = self.subject();
        let times = match self.clock {
            Clock::Wall => "Times in milliseconds (best round's median)",
            Clock::Processor => "Processor times of all threads in milliseconds (best round's mean)",
        };
        println!(
            "\n{times}; x: times faster than the peer; first: from source to the first result, without the work; spirv: \
             from SPIR-V to machine code."
        );
        print!("{:15} {:10}", "kernel", "kind");
        self.drivers.iter().for_each(|driver| print!(" {:>9}", driver.name));
        self.peers().iter().for_each(|peer| print!(" {:>9}", format!("x {}", peer.name)));
        self.drivers.iter().for_each(|driver| print!(" {:>12}", format!("first {}", driver.name)));
        println!(" {:>8}", "spirv");
        for kernel in &self.kernels {
            print!("{:15} {:10}", kernel.row.name, kernel.row.kind.name());
            for driver in &self.drivers {
                let failure = || kernel.failure(driver).map_or("-".to_owned(), Outcome::short);
                print!(" {:>9}", kernel.time(driver).map_or_else(failure, number));
            }
            self.peers().iter().for_each(|peer| print!(" {:>9}", shown(kernel.ratio(subject, peer))));
            self.drivers.iter().for_each(|driver| print!(" {:>12}", shown(kernel.build(driver))));
            println!(" {:>8}", shown(kernel.compile(subject)));
        }
        let mut compiles: Vec<_> = self.kernels.iter().filter_map(|kernel| kernel.compile(subject)).collect();
        compiles.sort_by(f64::total_cmp);
        if let Some(largest) = compiles.last() {
            println!(
                "from SPIR-V to machine code: median {}, maximum {} ms",
                number(median(&compiles)),
                number(*largest)
            );
        }
    }

    fn print_latencies(&self) {
        print!("\n{:50}", "median, microseconds");
        self.drivers.iter().for_each(|driver| print!(" {:>11}", driver.name));
        self.peers().iter().for_each(|peer| print!(" {:>9}", format!("x {}", peer.name)));
        println!();
        for (what, _, label) in LABELS.iter().filter(|(what, ..)| self.latencies.contains_key(*what)) {
            print!("{label:50}");
            for driver in &self.drivers {
                print!(" {:>11}", self.latency(what, driver).map_or("-".to_owned(), |value| format!("{value:.1}")));
            }
            self.peers().iter().for_each(|peer| print!(" {:>9}", shown(self.latency_ratio(what, peer))));
            println!();
        }
    }

    fn print_means(&self) {
        println!("\nTimes faster than the peer, geometric mean (of how many that both did)");
        let line = |label: &str, kind: Option<Kind>| {
            print!("{label:15}");
            for peer in self.peers() {
                let mean = self.mean(kind, peer).map(|(mean, count)| format!("{} ({count})", number(mean)));
                print!(" {:>16}", mean.unwrap_or("-".to_owned()));
            }
            println!();
        };
        print!("{:15}", "kind");
        self.peers().iter().for_each(|peer| print!(" {:>16}", peer.name));
        println!();
        self.kinds().into_iter().for_each(|kind| line(kind.name(), Some(kind)));
        line("all kernels", None);
    }

    /// All results.
    pub(crate) fn json(&self) -> Value {
        let of_drivers = |value: &dyn Fn(&Driver) -> Value| -> Value {
            self.drivers.iter().map(|driver| (driver.name.clone(), value(driver))).collect()
        };
        let of_peers = |value: &dyn Fn(&Driver) -> Value| -> Value {
            self.peers().iter().map(|peer| (peer.name.clone(), value(peer))).collect()
        };
        let kernel = |kernel: &Measured| {
            json!({
                "name": kernel.row.name,
                "kind": kernel.row.kind,
                "about": kernel.row.about,
                "milliseconds": of_drivers(&|driver| json!(kernel.time(driver))),
                "ratio": of_peers(&|peer| json!(kernel.ratio(self.subject(), peer))),
                "first_result_milliseconds": of_drivers(&|driver| json!(kernel.build(driver))),
                "from_spirv_milliseconds": kernel.compile(self.subject()),
                "rounds": kernel.outcomes,
            })
        };
        let latency = |(what, kind, label): &(&str, Kind, &str)| {
            json!({
                "name": what,
                "kind": kind,
                "about": label,
                "microseconds": of_drivers(&|driver| json!(self.latency(what, driver))),
                "ratio": of_peers(&|peer| json!(self.latency_ratio(what, peer))),
                "rounds": self.latencies.get(*what),
            })
        };
        let means = |kind: Option<Kind>| of_peers(&|peer| json!(self.mean(kind, peer).map(|(mean, _)| mean)));
        json!({
            "processor": processor(),
            "threads": std::thread::available_parallelism().map_or(0, usize::from),
            "drivers": self.drivers,
            "settings": {
                "rounds": self.rounds,
                "budget_milliseconds": self.budget,
                "clock": format!("{:?}", self.clock).to_lowercase(),
            },
            "kernels": self.kernels.iter().map(kernel).collect::<Vec<_>>(),
            "latencies": LABELS.iter().filter(|(what, ..)| self.latencies.contains_key(*what)).map(latency).collect::<Vec<_>>(),
            "means": self.kinds().into_iter().map(|kind| (kind.name().to_owned(), means(Some(kind))))
                .chain([("all kernels".to_owned(), means(None))]).collect::<Value>(),
        })
    }
}

/// The processor's name.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("unknown".to_owned(), |(_, name)| name.to_owned())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// A number with about three digits.
pub(crate) fn number(value: f64) -> String {
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$}")
}

fn shown(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), number)
}
