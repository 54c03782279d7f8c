//! What the vectorizer did with a kernel, for the build log, where it is asked for, and for tests.

use std::fmt;

use clift_kir::{Loc, Opcode};

/// Counts and places of what costs, in the variant for full packs where there is one.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Lanes per pack.
    pub width: u32,
    /// Why the kernel has one lane per pack, if it has.
    pub scalar: Option<String>,
    /// Pieces between barriers.
    pub regions: usize,
    /// Pieces of the kernel that exist twice, for packs of which an assumption holds and for others. Counts are those of the former.
    pub versions: usize,
    /// Blocks that only some lanes execute.
    pub masked_blocks: Vec<Loc>,
    /// Accesses to neighbouring places unless a test at run time fails.
    pub tested: Vec<Loc>,
    /// Loads whose lanes read from anywhere.
    pub gathers: Vec<Loc>,
    /// Stores whose lanes write anywhere.
    pub scatters: Vec<Loc>,
    /// Operations executed lane by lane.
    pub per_lane: Vec<(Opcode, Loc)>,
}

impl Report {
    /// Whether what a pack accesses lies together, so that longer rows are longer runs of memory.
    pub fn accesses_runs(&self) -> bool {
        self.scalar.is_none() && self.gathers.is_empty() && self.scatters.is_empty() && self.per_lane.is_empty()
    }

    /// A kernel with one lane per pack.
    pub fn scalar(reason: impl Into<String>) -> Report {
        Report { width: 1, scalar: Some(reason.into()), ..Report::default() }
    }
}

/// Lines of places, each once.
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

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scalar {
            Some(reason) => write!(f, "1 lane per pack: {reason}")?,
            None => write!(f, "{} lanes per pack", self.width)?,
        }
        write!(f, ", {} regions", self.regions)?;
        if self.scalar.is_some() {
            return Ok(());
        }
        write!(f, ", {} pieces in versions", self.versions)?;
        for (what, locs) in [
            ("masked blocks", &self.masked_blocks),
            ("tested accesses", &self.tested),
            ("gathers", &self.gathers),
            ("scatters", &self.scatters),
        ] {
            write!(f, ", {} {what}{}", locs.len(), lines(locs.iter().copied()))?;
        }
        let per_lane = &self.per_lane;
        write!(f, ", {} operations lane by lane{}", per_lane.len(), lines(per_lane.iter().map(|(_, loc)| *loc)))
    }
}
