//! How many workers the machine, the affinity mask and the cgroups allow.
//!
//! The standard library computes a similar number, but rounds a quota down (here, 2.5 processors give 3 threads) and does not
//! say what limited the number.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sys;

/// What limits the number of processors that this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processors {
    /// Processors in the affinity mask.
    pub mask: usize,
    /// The CPU quota of the cgroups, rounded up.
    pub quota: Option<usize>,
}

/// What limits this process now.
pub fn processors() -> Processors {
    let counted = || std::thread::available_parallelism().map_or(1, usize::from);
    let mask = sys::affinity().map_or_else(counted, |numbers| numbers.len());
    Processors { mask, quota: quota(Path::new("/proc/self")) }
}

/// Number of processors this process may use: those in the affinity mask, limited by the CPU quota.
pub(super) fn usable() -> usize {
    let Processors { mask, quota } = processors();
    let usable = quota.map_or(mask, |quota| mask.min(quota)).max(1);
    tracing::debug!(mask, quota, usable, "processors");
    usable
}

/// The smallest CPU quota of the process's cgroups, as a number of threads.
fn quota(proc_self: &Path) -> Option<usize> {
    let groups = fs::read_to_string(proc_self.join("cgroup")).ok()?;
    let mounts = fs::read_to_string(proc_self.join("mountinfo")).ok()?;
    directories(&groups, &mounts).iter().filter_map(|(version, directory)| read_quota(*version, directory)).min()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The directories with applicable limits: the process's own group and its ancestors, in each hierarchy with CPU control.
fn directories(groups: &str, mounts: &str) -> Vec<(Version, PathBuf)> {
    let mut found = Vec::new();
    for line in groups.lines() {
        // hierarchy-ID:controller-list:path
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let version = if controllers.is_empty() {
            Version::Two
        } else if controllers.split(',').any(|name| name == "cpu") {
            Version::One
        } else {
            continue;
        };
        let Some((root, mount)) = mount_of(version, mounts) else { continue };
        // The path is relative to the hierarchy's root; the mount may show only a part of it.
        let inside = Path::new(path).strip_prefix(&root).unwrap_or(Path::new(""));
        let own = mount.join(inside.strip_prefix("/").unwrap_or(inside));
        found.extend(own.ancestors().take_while(|dir| dir.starts_with(&mount)).map(|dir| (version, dir.to_owned())));
    }
    found
}

/// Root and mount point of the hierarchy, from the lines of `mountinfo`.
fn mount_of(version: Version, mounts: &str) -> Option<(PathBuf, PathBuf)> {
    mounts.lines().find_map(|line| {
        // id parent major:minor root mount-point options [optional fields] - type source super-options
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (root, mount) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1).unwrap_or(""));
        let wanted = match version {
            Version::Two => kind == "cgroup2",
            Version::One => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
        };
        wanted.then(|| (PathBuf::from(root), PathBuf::from(mount)))
    })
}

fn read_quota(version: Version, directory: &Path) -> Option<usize> {
    let read = |name| fs::read_to_string(directory.join(name)).ok();
    match version {
        Version::Two => {
            let text = read("cpu.max")?;
            let (quota, period) = text.trim().split_once(' ')?;
            threads_for(quota, period)
        }
        Version::One => threads_for(read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?.trim()),
    }
}

/// A quota per period as a number of threads; `None` for "max", -1 and anything unreadable.
fn threads_for(quota: &str, period: &str) -> Option<usize> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    if period == 0 {
        return None;
    }
    usize::try_from(quota.div_ceil(period).max(1)).ok()
}

#[cfg(test)]
mod tests {
    use super::{Version, directories, threads_for};
    use std::path::PathBuf;

    #[test]
    fn quotas_round_up() {
        assert_eq!(threads_for("250000", "100000"), Some(3));
        assert_eq!(threads_for("100000", "100000"), Some(1));
        assert_eq!(threads_for("1000", "100000"), Some(1));
        assert_eq!(threads_for("max", "100000"), None);
        assert_eq!(threads_for("-1", "100000"), None);
        assert_eq!(threads_for("5", "0"), None);
    }

    #[test]
    fn unified_hierarchy() {
        let mounts = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = directories("0::/a/b\n", mounts);
        let expected = ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"];
        assert_eq!(found, expected.map(|dir| (Version::Two, PathBuf::from(dir))));
    }

    #[test]
    fn container_sees_part_of_a_hierarchy() {
        let mounts = "40 30 0:30 /docker/x /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n";
        let found = directories("4:cpu,cpuacct:/docker/x\n1:name=systemd:/docker/x\n", mounts);
        assert_eq!(found, [(Version::One, PathBuf::from("/sys/fs/cgroup/cpu,cpuacct"))]);
    }

    #[test]
    fn no_cpu_controller() {
        assert!(directories("4:memory:/x\n", "40 30 0:30 / /m rw - cgroup cgroup rw,memory\n").is_empty());
        assert!(directories("garbage", "garbage").is_empty());
    }
}
