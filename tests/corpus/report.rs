//! What is printed: faults as they are found, then sums.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Args;
use crate::parent::{Class, Findings, Times};
use crate::source::first_error;

/// How many of the first errors of builds are printed.
const MOST_ERRORS: usize = 40;
/// Launches of less than this many nanoseconds on this driver are not compared.
const LEAST_TIME: u64 = 4_000;

/// Sums over all sources.
#[derive(Default)]
pub(crate) struct Summary {
    files: usize,
    built: usize,
    kernels: usize,
    run: usize,
    launches: usize,
    reported: usize,
    classes: BTreeMap<Class, usize>,
    errors: BTreeMap<String, usize>,
    /// Sums of the logarithms of ratios to the fastest other driver.
    ratios: (f64, usize),
}

impl Summary {
    /// Adds a source's findings and prints its faults.
    pub(crate) fn add(&mut self, args: &Args, file: &Path, found: &Findings) {
        self.files += 1;
        self.kernels += found.kernels;
        self.run += found.run;
        self.launches += found.launches;
        self.reported += found.reported;
        let file = file.display();
        match &found.not_built {
            None => self.built += 1,
            Some(log) => {
                let error = first_error(log);
                if !found.built_by.is_empty() {
                    println!("built only by {}: {file}: {error}", found.built_by.join(", "));
                }
                *self.errors.entry(error).or_default() += 1;
            }
        }
        for fault in &found.faults {
            *self.classes.entry(fault.class).or_default() += 1;
            println!("{:?}: {file}: {}", fault.class, fault.text);
        }
        for (way, seconds) in &found.builds {
            if way == "auto" && *seconds > args.slow_build {
                println!("slow build: {file}: {seconds:.1} s");
            }
        }
        for Times { place, ways: times } in &found.times {
            let of = |name: &str| times.iter().find(|(way, _)| way == name).map(|(_, time)| *time);
            let Some(own) = of("auto") else { continue };
            let peers = args.peer.iter().filter_map(|peer| of(peer.split_once('=').map_or(peer, |(name, _)| name)));
            let Some(best) = peers.min() else { continue };
            let ratio = own as f64 / best.max(1) as f64;
            self.ratios.0 += ratio.ln();
            self.ratios.1 += 1;
            if own > LEAST_TIME && ratio > args.slower {
                let all: Vec<String> =
                    times.iter().map(|(way, time)| format!("{way} {:.1}", *time as f64 / 1e3)).collect();
                println!("slow: {ratio:.2}: {file}: {}: {} us", place, all.join(", "));
            }
        }
    }

    /// Prints the sums.
    pub(crate) fn print(&self) {
        println!(
            "{} sources, {} built; {} kernels, {} run in {} launches; {} launches with undefined behaviour",
            self.files, self.built, self.kernels, self.run, self.launches, self.reported
        );
        for (class, count) in &self.classes {
            println!("{class:?}: {count}");
        }
        if self.ratios.1 > 0 {
            let mean = (self.ratios.0 / self.ratios.1 as f64).exp();
            println!(
                "{} launches measured; time relative to the fastest other driver {mean:.2} (geometric mean)",
                self.ratios.1
            );
        }
        let mut errors: Vec<_> = self.errors.iter().collect();
        errors.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (error, count) in errors.into_iter().take(MOST_ERRORS) {
            println!("{count} not built: {error}");
        }
    }

    /// Whether nothing was found that is certainly a fault of this driver.
    pub(crate) fn is_good(&self) -> bool {
        [Class::Crash, Class::Hang, Class::Refused, Class::Different]
            .iter()
            .all(|class| !self.classes.contains_key(class))
    }
}
