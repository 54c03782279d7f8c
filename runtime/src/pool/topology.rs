//! The machine's processors as *compute units*, and the resources that neighbouring ones share.
//!
//! Unit `i` of the device is a worker; a bound worker runs on the unit's processor. Processors are ordered so that those that
//! share a NUMA node or a cache are adjacent, so a sub-device is a range of units. The information comes from sysfs, where every
//! file may be missing; then nothing is assumed to be shared.
//!
//! Not here: binding (in `worker`), and the number of units ([`super::worker_count`]).

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::worker_count;
use crate::sys;

/// A resource that processors may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// A NUMA node.
    Numa,
    /// A level-4 cache.
    L4,
    /// A level-3 cache.
    L3,
    /// A level-2 cache.
    L2,
    /// A level-1 cache.
    L1,
}

impl Domain {
    /// All domains, the largest first.
    pub const ALL: [Domain; 5] = [Domain::Numa, Domain::L4, Domain::L3, Domain::L2, Domain::L1];

    /// Index in [`Domain::ALL`].
    fn index(self) -> usize {
        match self {
            Domain::Numa => 0,
            Domain::L4 => 1,
            Domain::L3 => 2,
            Domain::L2 => 3,
            Domain::L1 => 4,
        }
    }
}

/// A processor, and the domains it belongs to; `None` where there is no such domain. The order is by domain, the largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Processor {
    domains: [Option<usize>; 5],
    number: usize,
}

/// The processors of the affinity mask in order.
fn processors() -> &'static [Processor] {
    static ALL: OnceLock<Vec<Processor>> = OnceLock::new();
    ALL.get_or_init(|| {
        let root = Path::new("/sys/devices/system");
        let numbers = sys::affinity().unwrap_or_else(|| vec![0]);
        let mut all: Vec<Processor> =
            numbers.iter().map(|&number| Processor { domains: domains_of(root, number), number }).collect();
        all.sort_unstable();
        all
    })
}

/// The domains of a processor, from sysfs. A cache is identified by its lowest processor.
fn domains_of(root: &Path, number: usize) -> [Option<usize>; 5] {
    let cpu = root.join(format!("cpu/cpu{number}"));
    let read = |path: &Path| fs::read_to_string(path).ok();
    let mut domains = [None; 5];
    // The directory contains a link to the node.
    domains[0] = fs::read_dir(&cpu).ok().and_then(|entries| {
        entries.flatten().find_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
    });
    for index in 0.. {
        let cache = cpu.join(format!("cache/index{index}"));
        let Some(level) = read(&cache.join("level")).and_then(|text| text.trim().parse::<usize>().ok()) else { break };
        let Some(place) = 5usize.checked_sub(level).filter(|place| (1..5).contains(place)) else { continue };
        domains[place] = read(&cache.join("shared_cpu_list")).and_then(|list| lowest(&list));
    }
    domains
}

/// The first number of a list such as `0-3,8`.
fn lowest(list: &str) -> Option<usize> {
    list.trim().split([',', '-']).next()?.parse().ok()
}

/// The processor in `all` of unit number `unit` of `units`.
fn processor_in(all: &[Processor], units: usize, unit: usize) -> Option<Processor> {
    // With more units than processors, adjacent units share one.
    let place = if units > all.len() { unit * all.len() / units } else { unit };
    all.get(place).copied()
}

/// The number of the processor that a unit's worker is bound to.
pub(super) fn processor_of(unit: usize) -> Option<usize> {
    Some(processor_in(processors(), worker_count(), unit)?.number)
}

/// Splits the `count` units from `first` on by a domain: a list of ranges (first unit, number of units). There is one range if
/// they all share the resource, or if nothing is known about the domain.
pub fn split(first: usize, count: usize, domain: Domain) -> Vec<(usize, usize)> {
    split_in(processors(), worker_count(), (first, count), domain)
}

fn split_in(all: &[Processor], units: usize, (first, count): (usize, usize), domain: Domain) -> Vec<(usize, usize)> {
    let of = |unit| processor_in(all, units, unit).and_then(|processor| processor.domains[domain.index()]);
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for unit in first..first + count {
        match ranges.last_mut() {
            Some((start, length)) if of(*start) == of(unit) => *length += 1,
            Some(_) | None => ranges.push((unit, 1)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes with two pairs of processors each.
    fn machine() -> Vec<Processor> {
        let of = |number: usize| Processor {
            domains: [Some(number / 4), None, Some(number / 4 * 4), Some(number / 2 * 2), Some(number)],
            number,
        };
        (0..8).map(of).collect()
    }

    #[test]
    fn ranges_by_domain() {
        let all = machine();
        let split = |units, range, domain| split_in(&all, units, range, domain);
        assert_eq!(split(8, (0, 8), Domain::Numa), [(0, 4), (4, 4)]);
        assert_eq!(split(8, (0, 8), Domain::L4), [(0, 8)]);
        assert_eq!(split(8, (2, 4), Domain::L3), [(2, 2), (4, 2)]);
        assert_eq!(split(8, (0, 4), Domain::L2), [(0, 2), (2, 2)]);
        assert_eq!(split(8, (0, 2), Domain::L1), [(0, 1), (1, 1)]);
        // Fewer units than processors, and more.
        assert_eq!(split(3, (0, 3), Domain::L2), [(0, 2), (2, 1)]);
        assert_eq!(split(16, (0, 16), Domain::Numa), [(0, 8), (8, 8)]);
    }

    #[test]
    fn lists_of_sysfs() {
        assert_eq!(lowest("0-3,8\n"), Some(0));
        assert_eq!(lowest("12\n"), Some(12));
        assert_eq!(lowest(""), None);
        assert_eq!(domains_of(Path::new("/nonexistent"), 0), [None; 5]);
    }

    #[test]
    fn this_machine_has_a_processor_for_each_unit() {
        for unit in 0..worker_count() {
            assert!(processor_of(unit).is_some());
        }
    }
}
