//! The report in words: one line for each remark, with its source lines and what to change.

use std::fmt;

use clift_kir::Opcode;
use clift_kir::ops::{CallOp, MemoryOp, OpClass};

use super::{Access, Cause, LoopOutcome, Obstacle, VectorizationReport};

/// A sentence about some lines.
#[derive(Clone, Debug)]
pub struct Remark {
    /// What it is about, in a word or two.
    pub kind: &'static str,
    /// The source lines, ascending; none if they are unknown.
    pub lines: Vec<u32>,
    /// The sentence.
    pub text: String,
}

impl fmt::Display for VectorizationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scalar {
            Some(reason) => write!(f, "1 lane per pack: {reason}")?,
            None => write!(f, "{} lanes per pack", self.width)?,
        }
        if self.groups {
            write!(f, " (each a work-group of one work-item)")?;
        }
        if let Some(rows) = self.rows {
            write!(f, ", {rows} rows of a work-group together")?;
        }
        for Remark { lines, text, .. } in self.remarks() {
            write!(f, "\n  {}{text}", at(&lines))?;
        }
        Ok(())
    }
}

impl VectorizationReport {
    /// The remarks in the order of their lines. What is said of several lines is one remark.
    pub fn remarks(&self) -> Vec<Remark> {
        let accesses = [(Kind::Gather, &self.gathers), (Kind::Scatter, &self.scatters), (Kind::Tested, &self.tested)];
        let accesses = accesses.into_iter().flat_map(|(kind, list)| list.iter().map(move |access| (kind, access)));
        let all = accesses
            .map(|(kind, access)| (kind.name(), vec![access.loc.line], access_text(kind, access)))
            .chain(self.per_lane.iter().map(|(op, loc)| ("lane by lane", vec![loc.line], per_lane_text(*op))))
            .chain(self.single_lane.iter().map(|loc| ("one lane", vec![loc.line], SINGLE_LANE.to_owned())))
            .chain(self.masked_blocks.iter().map(|lines| ("mask", lines.clone(), MASKED.to_owned())))
            .chain(self.loops.iter().map(|&(loc, outcome)| ("loop", vec![loc.line], loop_text(outcome))))
            .chain(self.barriers.iter().map(|loc| ("barrier", vec![loc.line], self.barrier_text())))
            .chain((self.private_bytes > 0).then(|| ("private variables", Vec::new(), self.private_text())));
        let mut remarks: Vec<Remark> = Vec::new();
        for (kind, lines, text) in all {
            match remarks.iter_mut().find(|remark| remark.text == text) {
                Some(remark) => remark.lines.extend(lines),
                None => remarks.push(Remark { kind, lines, text }),
            }
        }
        for remark in &mut remarks {
            remark.lines.retain(|&line| line != 0);
            remark.lines.sort_unstable();
            remark.lines.dedup();
        }
        remarks.sort_by_key(|remark| remark.lines.first().copied().unwrap_or(u32::MAX));
        remarks
    }

    fn barrier_text(&self) -> String {
        format!(
            "barrier: the kernel is {} loops over the work-group, and values needed after a barrier are stored and loaded again; \
             use as few as possible",
            self.regions
        )
    }

    fn private_text(&self) -> String {
        let names = match &self.private_variables[..] {
            [] => String::new(),
            names => format!(" ({})", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
        };
        format!(
            "private variables: {} bytes of each work-item are in memory{names}; arrays stay in registers if all their indices \
             are constants once loops are unrolled",
            self.private_bytes
        )
    }
}

const MASKED: &str = "mask: only some work-items execute this, so a pack executes it if any of its lanes does; keep it short, or \
                      let neighbouring work-items agree";

const SINGLE_LANE: &str = "one lane: only one work-item of a pack executes this, so it is scalar code";

fn loop_text(outcome: LoopOutcome) -> String {
    let reason = match outcome {
        LoopOutcome::Vectorized(iterations) => return format!("loop: {iterations} iterations execute together"),
        LoopOutcome::Scalar(Obstacle::TripCount) => {
            "the number of iterations is not known before; count to a limit that the loop does not change, and leave it only there"
        }
        LoopOutcome::Scalar(Obstacle::CarriedValue) => {
            "each needs a value of the one before; sums of floats can be split with -cl-unsafe-math-optimizations"
        }
        LoopOutcome::Scalar(Obstacle::Memory) => {
            "one may write what another accesses; read from one argument and write to another"
        }
        LoopOutcome::Scalar(Obstacle::Cost) => "together they are estimated to be slower",
    };
    format!("loop: iterations execute one by one: {reason}")
}

/// What is wrong with an access.
#[derive(Clone, Copy)]
enum Kind {
    Gather,
    Scatter,
    Tested,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Gather => "gather",
            Kind::Scatter => "scatter",
            Kind::Tested => "tested",
        }
    }
}

fn access_text(kind: Kind, access: &Access) -> String {
    let object = match (&access.object.name, access.private) {
        (Some(name), false) => format!("`{name}`"),
        (Some(name), true) => format!("the private variable `{name}`"),
        (None, false) => "memory".to_owned(),
        (None, true) => "a private variable".to_owned(),
    };
    let what = match kind {
        Kind::Gather => format!("gather from {object}"),
        Kind::Scatter => format!("scatter to {object}"),
        Kind::Tested => {
            return format!(
                "tested: a pack accesses {object} as a row if a test finds the addresses to be neighbours, lane by lane \
                 otherwise; indices of type size_t without clamps need no test"
            );
        }
    };
    let why = match (&access.cause, access.private) {
        (Cause::Stride(bytes), false) => format!(
            "neighbouring work-items are {} bytes apart; let them access neighbouring elements, with get_global_id(0) as the last \
             index, or as a structure of arrays",
            bytes.unsigned_abs()
        ),
        (Cause::Stride(_) | Cause::Computed, true) => {
            "its index differs between work-items; an index that they share needs no memory".to_owned()
        }
        (Cause::Loaded { from, loc }, private) => {
            let from = from.name.as_ref().map_or_else(|| "memory".to_owned(), |name| format!("`{name}`"));
            let line = if loc.line == 0 { String::new() } else { format!(" in line {}", loc.line) };
            let hint = if private {
                "an index that they share needs no memory"
            } else {
                "it costs about as much as an access for each lane"
            };
            format!("the index is read from {from}{line}, so it differs between work-items; {hint}")
        }
        (Cause::Computed, false) => {
            "the compiler does not see that neighbouring work-items access neighbouring elements; use get_global_id(0) plus \
             what the work-items share as the index"
                .to_owned()
        }
    };
    format!("{what}: {why}")
}

fn per_lane_text(op: Opcode) -> String {
    let (what, hint) = match op.class() {
        OpClass::Memory(op) => match op {
            MemoryOp::AtomicLoad | MemoryOp::AtomicStore | MemoryOp::AtomicRmw | MemoryOp::AtomicCmpxchg => (
                "atomic operation",
                "combine the values of the work-group first, in local memory or with work_group_reduce_add",
            ),
            MemoryOp::Memcpy | MemoryOp::Memset => {
                ("copy of a structure or array", "copy only the elements that are needed")
            }
            MemoryOp::Load
            | MemoryOp::Store
            | MemoryOp::Fence
            | MemoryOp::MaskedLoad
            | MemoryOp::MaskedStore
            | MemoryOp::Gather
            | MemoryOp::Scatter => ("access", "access neighbouring elements"),
        },
        OpClass::Call(op) => match op {
            CallOp::Printf => ("printf", "print from few work-items"),
            CallOp::Request => ("request to the runtime", "enqueue from few work-items"),
            CallOp::Clock => ("reading of the clock", "read it in one work-item"),
            CallOp::LibCall => {
                ("call of a library function", "use the native_ or half_ function if its precision suffices")
            }
            CallOp::Check => ("check of an access", "CLIFT_CHECK asks for it"),
            CallOp::Call => ("call of a function", "make the function smaller"),
        },
        OpClass::Collective(_) => ("shuffle", "use the same lane number, or one known when the kernel is built"),
        OpClass::Leaf(_)
        | OpClass::Query(_)
        | OpClass::Int(_)
        | OpClass::Float(_)
        | OpClass::Convert(_)
        | OpClass::Address(_)
        | OpClass::Lane(_)
        | OpClass::Sync(_)
        | OpClass::Image(_)
        | OpClass::Terminator(_) => ("operation", "use another one"),
    };
    format!("lane by lane: {what} (`{}`); {hint}", op.info().name)
}

/// The beginning of a remark about some lines.
fn at(lines: &[u32]) -> String {
    match lines {
        [] => String::new(),
        [line] => format!("line {line}: "),
        lines => format!("lines {}: ", ranges(lines)),
    }
}

/// Ascending numbers, with runs of neighbours as ranges: `3, 5-7`.
pub fn ranges(lines: &[u32]) -> String {
    let runs = lines.chunk_by(|a, b| b - a == 1).flat_map(|run| match run {
        [first, .., last] if run.len() > 2 => vec![format!("{first}-{last}")],
        run => run.iter().map(u32::to_string).collect(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use clift_kir::Loc;

    use super::super::Object;
    use super::*;

    fn loc(line: u32) -> Loc {
        Loc { line, ..Loc::default() }
    }

    fn named(name: Option<&str>) -> Object {
        Object { name: name.map(str::to_owned), global: None }
    }

    fn gather(line: u32, object: Option<&str>, cause: Cause) -> Access {
        Access { loc: loc(line), object: named(object), private: false, cause }
    }

    #[test]
    fn a_kernel_without_costly_code_has_one_line() {
        let report = VectorizationReport { width: 16, regions: 1, ..VectorizationReport::default() };
        assert_eq!(report.to_string(), "16 lanes per pack");
        assert_eq!(VectorizationReport::scalar("it is small").to_string(), "1 lane per pack: it is small");
    }

    #[test]
    fn remarks_are_in_the_order_of_lines_and_say_why() {
        let from_b = Cause::Loaded { from: named(Some("b")), loc: loc(2) };
        let report = VectorizationReport {
            width: 8,
            regions: 2,
            gathers: vec![
                gather(9, Some("a"), from_b.clone()),
                gather(3, Some("a"), from_b),
                gather(4, None, Cause::Stride(-400)),
            ],
            masked_blocks: vec![vec![7, 0, 6], vec![8]],
            barriers: vec![loc(5)],
            per_lane: vec![(Opcode::AtomicRmw, loc(0))],
            private_bytes: 64,
            private_variables: vec!["t".to_owned()],
            ..VectorizationReport::default()
        };
        let text = report.to_string();
        let lines: Vec<&str> = text.lines().collect();
        let starts = [
            "8 lanes per pack",
            "  lines 3, 9: gather from `a`: the index is read from `b` in line 2",
            "  line 4: gather from memory: neighbouring work-items are 400 bytes apart",
            "  line 5: barrier: the kernel is 2 loops",
            "  lines 6-8: mask: ",
            "  lane by lane: atomic operation (`atomic_rmw`)",
            "  private variables: 64 bytes of each work-item are in memory (`t`)",
        ];
        assert_eq!(lines.len(), starts.len(), "{text}");
        for (line, start) in lines.iter().zip(starts) {
            assert!(line.starts_with(start), "{line}\n{start}");
        }
    }

    #[test]
    fn neighbouring_lines_are_ranges() {
        assert_eq!(ranges(&[1, 2, 4, 6, 7, 8, 10]), "1, 2, 4, 6-8, 10");
    }
}
