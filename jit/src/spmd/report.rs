//! The report of what the vectorizer did with a kernel: for `CLIFT_DEBUG=vectorize`, the build log and tests.

use std::fmt;

use clift_kir::{Loc, Opcode};

/// Counts and source locations of costly code. They are those of the variant for whole packs, if there is one.
#[derive(Clone, Debug, Default)]
pub struct VectorizationReport {
    /// Lanes per pack.
    pub width: u32,
    /// Why the kernel has one lane per pack; `None` if it has several.
    pub scalar: Option<String>,
    /// Regions: pieces of the kernel between barriers.
    pub regions: usize,
    /// Pieces of the kernel that have a fast and a slow version. The other counts are those of the fast versions.
    pub versions: usize,
    /// Blocks that only some lanes execute.
    pub masked_blocks: Vec<Loc>,
    /// Accesses that are contiguous or gathered, as a run-time test decides.
    pub tested: Vec<Loc>,
    /// Loads with an address per lane.
    pub gathers: Vec<Loc>,
    /// Stores with an address per lane.
    pub scatters: Vec<Loc>,
    /// Operations executed lane by lane.
    pub per_lane: Vec<(Opcode, Loc)>,
}

impl VectorizationReport {
    /// Whether the accesses of a pack are contiguous, so that longer rows mean longer runs of memory.
    pub fn accesses_runs(&self) -> bool {
        self.scalar.is_none() && self.gathers.is_empty() && self.scatters.is_empty() && self.per_lane.is_empty()
    }

    /// The report for a kernel with one lane per pack.
    pub fn scalar(reason: impl Into<String>) -> VectorizationReport {
        VectorizationReport { width: 1, scalar: Some(reason.into()), ..VectorizationReport::default() }
    }
}

/// The source lines of some locations, without duplicates.
fn lines(locs: impl Iterator<Item = Loc>) -> String {
    let mut lines: Vec<u32> = locs.map(|loc| loc.line).filter(|&line| line != 0).collect();
    lines.sort_unstable();
    lines.dedup();
    if lines.is_empty() {
        return String::new();
    }
    let list: Vec<String> = lines.iter().map(ToString::to_string).collect();
    format!(" (line {})", list.join(", "))
}

impl fmt::Display for VectorizationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scalar {
            Some(reason) => write!(f, "1 lane per pack: {reason}")?,
            None => write!(f, "{} lanes per pack", self.width)?,
        }
        write!(f, ", {} regions", self.regions)?;
        if self.scalar.is_some() {
            return Ok(());
        }
        write!(f, ", {} versioned pieces", self.versions)?;
        for (what, locs) in [
            ("masked blocks", &self.masked_blocks),
            ("accesses with a run-time test", &self.tested),
            ("gathers", &self.gathers),
            ("scatters", &self.scatters),
        ] {
            write!(f, ", {} {what}{}", locs.len(), lines(locs.iter().copied()))?;
        }
        let per_lane = &self.per_lane;
        write!(
            f,
            ", {} operations executed lane by lane{}",
            per_lane.len(),
            lines(per_lane.iter().map(|(_, loc)| *loc))
        )
    }
}
