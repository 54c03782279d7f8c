//! Facts about the machine: its processor, caches, clock frequency and memory, from `/proc` and sysfs.
//!
//! Every fact has a fallback, so the driver also works in a sandbox without these files.

use std::fs;
use std::path::Path;

/// The machine's properties that the device reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The processor's name.
    pub model: String,
    /// The processor vendor's name.
    pub vendor: String,
    /// PCI vendor id of `vendor`.
    pub vendor_id: u32,
    /// Maximum clock frequency in MHz; 0 when unknown.
    pub clock_mhz: u32,
    /// Size of a cache line in bytes.
    pub cache_line_bytes: u32,
    /// Size of the largest cache that one core can use, in bytes.
    pub cache_bytes: u64,
    /// Size of the level-2 cache in bytes; 0 when unknown.
    pub level_2_bytes: u64,
    /// Memory that this process may use, in bytes.
    pub memory_bytes: u64,
}

impl Host {
    /// Queries the machine.
    pub fn probe() -> Self {
        let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
        let (vendor, vendor_id) = vendor(&cpuinfo);
        let (cache_line_bytes, cache_bytes, level_2_bytes) = caches(Path::new("/sys/devices/system/cpu/cpu0/cache"));
        Self {
            model: field(&cpuinfo, "model name").unwrap_or(std::env::consts::ARCH).to_owned(),
            vendor: vendor.to_owned(),
            vendor_id,
            clock_mhz: clock_mhz(&cpuinfo),
            cache_line_bytes,
            cache_bytes,
            level_2_bytes,
            memory_bytes: memory_bytes(),
        }
    }
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// The vendor's name and PCI id from `/proc/cpuinfo`: a string on x86, the implementer's number on AArch64.
fn vendor(cpuinfo: &str) -> (&str, u32) {
    const KNOWN: &[(&str, &str, u32)] = &[
        ("AuthenticAMD", "AuthenticAMD", 0x1022),
        ("GenuineIntel", "GenuineIntel", 0x8086),
        ("HygonGenuine", "HygonGenuine", 0x1d94),
        ("CentaurHauls", "CentaurHauls", 0x1106),
        ("0x41", "ARM", 0x13b5),
        ("0x42", "Broadcom", 0x14e4),
        ("0x4e", "NVIDIA", 0x10de),
        ("0x51", "Qualcomm", 0x17cb),
        ("0x61", "Apple", 0x106b),
        ("0xc0", "Ampere", 0x1def),
    ];
    let found = field(cpuinfo, "vendor_id").or_else(|| field(cpuinfo, "CPU implementer")).unwrap_or("unknown");
    KNOWN.iter().find(|(key, ..)| *key == found).map_or((found, 0), |&(_, name, id)| (name, id))
}

fn clock_mhz(cpuinfo: &str) -> u32 {
    let highest = read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
        .and_then(|khz| khz.trim().parse::<u32>().ok())
        .map(|khz| khz / 1000);
    highest
        .or_else(|| field(cpuinfo, "cpu MHz").and_then(|mhz| mhz.parse::<f64>().ok()).map(|mhz| mhz as u32))
        .unwrap_or(0)
}

/// Line size, size of the largest data or unified cache, and size of the level-2 cache, from a `cache` directory of sysfs.
fn caches(directory: &Path) -> (u32, u64, u64) {
    let mut line = 0;
    let mut largest = 0;
    let mut second = 0;
    for index in 0.. {
        let cache = directory.join(format!("index{index}"));
        let Some(kind) = read(cache.join("type")) else { break };
        if kind.trim() == "Instruction" {
            continue;
        }
        let size = read(cache.join("size")).and_then(|size| size_of_text(&size)).unwrap_or(0);
        largest = largest.max(size);
        if read(cache.join("level")).is_some_and(|level| level.trim() == "2") {
            second = size;
        }
        line = line.max(read(cache.join("coherency_line_size")).and_then(|size| size.trim().parse().ok()).unwrap_or(0));
    }
    (if line == 0 { 64 } else { line }, if largest == 0 { 1 << 20 } else { largest }, second)
}

/// A size in bytes in the notation of sysfs: `512K`, `32M`.
fn size_of_text(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Physical memory, or the cgroup's limit if that is lower.
fn memory_bytes() -> u64 {
    let total = read("/proc/meminfo").and_then(|text| {
        let kib = field(&text, "MemTotal")?.strip_suffix("kB")?.trim().parse::<u64>().ok()?;
        kib.checked_mul(1024)
    });
    let bound = read("/sys/fs/cgroup/memory.max")
        .or_else(|| read("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
        .and_then(|text| text.trim().parse::<u64>().ok());
    let total = total.unwrap_or(1 << 30);
    bound.map_or(total, |bound| bound.min(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_proc_and_sysfs_are_parsed() {
        let text = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9R14\n";
        assert_eq!(field(text, "model name"), Some("AMD EPYC 9R14"));
        assert_eq!(vendor(text), ("AuthenticAMD", 0x1022));
        assert_eq!(vendor("CPU implementer\t: 0x41\n"), ("ARM", 0x13b5));
        assert_eq!(vendor(""), ("unknown", 0));
        assert_eq!(size_of_text("512K\n"), Some(512 << 10));
        assert_eq!(size_of_text("32M"), Some(32 << 20));
        assert_eq!(size_of_text("1X"), None);
        assert_eq!(size_of_text(""), None);
    }

    #[test]
    fn a_machine_without_files_has_fallbacks() {
        assert_eq!(caches(Path::new("/nonexistent")), (64, 1 << 20, 0));
        let host = Host::probe();
        assert!(host.memory_bytes > 0 && !host.model.is_empty());
    }
}
