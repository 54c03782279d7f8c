//! Reports of checked kernels, as text and as JSON.

use std::fmt::{self, Write as _};

use clift_include::abi::WgContext;
use clift_include::check::{ArgName, CallSite, KernelChecks, Position, Site, SiteKind, SiteObject};

/// A work-item by its ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// `get_global_id`.
    pub global: [u64; 3],
    /// `get_group_id`.
    pub group: [u64; 3],
    /// `get_local_id`.
    pub local: [u64; 3],
}

impl Item {
    /// The work-item with a global linear id.
    pub(crate) fn of(ctx: &WgContext, linear: u64) -> Item {
        let [x, y, _] = ctx.global_size.map(|size| size.max(1));
        let from_zero = [linear % x, linear / x % y, linear / x / y];
        Item {
            global: core::array::from_fn(|d| ctx.global_offset[d] + from_zero[d]),
            group: core::array::from_fn(|d| from_zero[d] / ctx.local_size[d].max(1)),
            local: core::array::from_fn(|d| from_zero[d] % ctx.local_size[d].max(1)),
        }
    }
}

impl Item {
    /// The number of work-items of the group, and the work-item's index among them.
    pub(super) fn in_group(&self, ctx: &WgContext) -> (usize, usize) {
        let size: [u64; 3] = core::array::from_fn(|d| {
            let local = ctx.local_size[d].max(1);
            local.min(ctx.global_size[d].max(1).saturating_sub(self.group[d] * local))
        });
        let [x, y, z] = self.local;
        (size.iter().product::<u64>() as usize, (x + size[0] * (y + size[1] * z)) as usize)
    }

    /// The work-item of the same group with an index.
    pub(super) fn other_in_group(&self, ctx: &WgContext, index: usize) -> Item {
        let size: [u64; 3] = core::array::from_fn(|d| {
            let local = ctx.local_size[d].max(1);
            local.min(ctx.global_size[d].max(1).saturating_sub(self.group[d] * local)).max(1)
        });
        let index = index as u64;
        let local = [index % size[0], index / size[0] % size[1], index / size[0] / size[1]];
        let global = core::array::from_fn(|d| self.global[d] - self.local[d] + local[d]);
        Item { global, group: self.group, local }
    }
}

/// The other access of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherAccess {
    /// Its work-item.
    pub item: Option<Item>,
    /// Whether it writes.
    pub writes: bool,
    /// Where it is.
    pub position: Position,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// An access leaves its object, and has not been performed.
    OutOfBounds {
        /// Offset of the access in the object, as a signed number; its address if the object is unknown.
        place: u64,
        /// Bytes of the access.
        bytes: u64,
        /// Bytes of the object.
        size: u64,
    },
    /// A value is used that was read from memory which has not been written.
    Uninitialized {
        /// Offset of what was read in the object.
        place: u64,
        /// Bytes that were read; 0 if it is not known from where.
        bytes: u64,
        /// Bytes of the object.
        size: u64,
    },
    /// Two work-items of a group access the same memory, and no barrier orders the accesses.
    Race {
        /// Offset of the access in the object.
        place: u64,
        /// Bytes of the access.
        bytes: u64,
        /// Bytes of the object.
        size: u64,
        /// The other access.
        other: OtherAccess,
    },
    /// A work-item of the group, or of the sub-group, does not reach a barrier.
    Divergence {
        /// Whether the sub-group waits there, not the work-group.
        in_sub_group: bool,
        /// A work-item that does.
        here: Item,
        /// The barrier at which the work-item is instead, unless it has ended.
        elsewhere: Option<Position>,
    },
}

impl Problem {
    /// The word of `CLIFT_CHECK` that finds it.
    pub fn class(&self) -> &'static str {
        match self {
            Problem::OutOfBounds { .. } => "memory",
            Problem::Uninitialized { .. } => "uninit",
            Problem::Race { .. } => "race",
            Problem::Divergence { .. } => "barrier",
        }
    }
}

/// A bug of a kernel. Each instruction is reported once, for the first work-item found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What is wrong.
    pub problem: Problem,
    /// Name of the kernel.
    pub kernel: String,
    /// What the instruction does.
    pub kind: SiteKind,
    /// The object that it accesses.
    pub object: String,
    /// The work-item.
    pub item: Item,
    /// Where the instruction is.
    pub position: Position,
}

impl Report {
    pub(super) fn new(kernel: &KernelChecks, site: &Site, problem: Problem, item: Item) -> Report {
        let object = match &site.object {
            SiteObject::Argument(index) => {
                kernel.bounds.get(*index).map_or_else(String::new, |bounds| argument(&bounds.arg))
            }
            SiteObject::ByValue(arg, _) => argument(arg),
            SiteObject::Local(name, _) => format!("local variable `{name}`"),
            SiteObject::Program(name, _) => format!("program-scope variable `{name}`"),
            SiteObject::Private(Some(name), _) => format!("private variable `{name}`"),
            SiteObject::Private(None, _) => "a private variable".to_owned(),
            SiteObject::Unknown | SiteObject::None => String::new(),
        };
        let (kernel, kind) = (kernel.kernel.clone(), site.kind);
        Report { problem, kernel, kind, object, item, position: site.position.clone() }
    }

    /// The report as a JSON object.
    pub fn to_json(&self) -> String {
        let mut text = String::from("{");
        let mut field = |name: &str, value: &dyn fmt::Display| {
            let comma = if text.len() > 1 { "," } else { "" };
            let _ = write!(text, "{comma}\"{name}\":{value}");
        };
        field("class", &Quoted(self.problem.class()));
        field("kernel", &Quoted(&self.kernel));
        field("access", &Quoted(name(self.kind)));
        field("line", &self.position.line);
        field("column", &self.position.column);
        field("word", &self.position.word.saturating_sub(1));
        if !self.position.calls.is_empty() {
            field("calls", &Calls(&self.position.calls));
        }
        for (name, [x, y, z]) in
            [("global_id", self.item.global), ("group_id", self.item.group), ("local_id", self.item.local)]
        {
            field(name, &format_args!("[{x},{y},{z}]"));
        }
        match &self.problem {
            Problem::Race { other, .. } => {
                field("other_access", &Quoted(if other.writes { "write" } else { "read" }));
                field("other_line", &other.position.line);
                field("other_column", &other.position.column);
                if !other.position.calls.is_empty() {
                    field("other_calls", &Calls(&other.position.calls));
                }
                if let Some(Item { global: [x, y, z], .. }) = other.item {
                    field("other_global_id", &format_args!("[{x},{y},{z}]"));
                }
            }
            Problem::Divergence { here: Item { global: [x, y, z], .. }, elsewhere, .. } => {
                field("other_global_id", &format_args!("[{x},{y},{z}]"));
                if let Some(at) = elsewhere {
                    field("other_line", &at.line);
                    field("other_column", &at.column);
                    if !at.calls.is_empty() {
                        field("other_calls", &Calls(&at.calls));
                    }
                }
            }
            Problem::OutOfBounds { .. } | Problem::Uninitialized { .. } => {}
        }
        match &self.problem {
            Problem::Uninitialized { bytes: 0, .. } | Problem::Divergence { .. } => {}
            Problem::OutOfBounds { place, bytes, size }
            | Problem::Uninitialized { place, bytes, size }
            | Problem::Race { place, bytes, size, .. } => {
                field("bytes", bytes);
                if self.object.is_empty() {
                    field("address", place);
                } else {
                    field("object", &Quoted(&self.object));
                    field("offset", &place.cast_signed());
                    field("object_bytes", size);
                }
            }
        }
        field("text", &Quoted(&self.to_string()));
        text.push('}');
        text
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`", self.kernel)?;
        match (self.position.line, self.position.word) {
            (0, 0) => {}
            (0, word) => write!(f, ", word {} of the module", word - 1)?,
            (..) => write!(f, ", {}", Line(&self.position))?,
        }
        match &self.problem {
            Problem::Uninitialized { place, bytes, size } => {
                write!(f, ": use of a value that is not initialized")?;
                if *bytes > 0 {
                    let place = place.cast_signed();
                    write!(f, ": {bytes} bytes at offset {place} in {}, which has {size} bytes", self.object)?;
                }
            }
            Problem::Race { place, bytes, size, other } => {
                write!(f, ": {} of {bytes} bytes races with a ", name(self.kind))?;
                write!(f, "{} at {}", if other.writes { "write" } else { "read" }, Line(&other.position))?;
                if let Some(Item { global: [x, y, z], .. }) = other.item {
                    write!(f, " by work-item ({x}, {y}, {z})")?;
                }
                if !self.object.is_empty() {
                    let place = place.cast_signed();
                    write!(f, ": offset {place} in {}, which has {size} bytes", self.object)?;
                }
            }
            Problem::Divergence { in_sub_group, here: Item { global: [x, y, z], .. }, elsewhere } => {
                let group = if *in_sub_group { "sub-group" } else { "group" };
                write!(
                    f,
                    ": barrier reached by work-item ({x}, {y}, {z}), but not by another one of its {group}, which "
                )?;
                match elsewhere {
                    Some(position) => write!(f, "is at the barrier at {}", Line(position))?,
                    None => write!(f, "has ended")?,
                }
            }
            Problem::OutOfBounds { place, bytes, size } => {
                write!(f, ": {} of {bytes} bytes out of bounds: ", name(self.kind))?;
                if self.object.is_empty() {
                    write!(f, "no memory of the launch is at address {place:#x}")?;
                } else {
                    write!(f, "offset {} in {}, which has {size} bytes", place.cast_signed(), self.object)?;
                }
            }
        }
        let [a, b, c] =
            [self.item.global, self.item.local, self.item.group].map(|[x, y, z]| format!("({x}, {y}, {z})"));
        write!(f, "; work-item {a} (local {b}, group {c})")
    }
}

/// The line of a position, and the calls that lead to it.
struct Line<'a>(&'a Position);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column, calls, .. } = self.0;
        write!(f, "line {line}:{column}")?;
        for (index, CallSite { callee, line, column }) in calls.iter().enumerate() {
            let separator = if index == 0 { " (" } else { ", " };
            write!(f, "{separator}in `{callee}`, called at line {line}:{column}")?;
        }
        if calls.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

/// Calls as an array of JSON.
struct Calls<'a>(&'a [CallSite]);

impl fmt::Display for Calls<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        for (index, CallSite { callee, line, column }) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{{\"function\":{},\"line\":{line},\"column\":{column}}}", Quoted(callee))?;
        }
        f.write_char(']')
    }
}

fn name(kind: SiteKind) -> &'static str {
    match kind {
        SiteKind::Load => "load",
        SiteKind::Store => "store",
        SiteKind::Atomic => "atomic access",
        SiteKind::Barrier => "barrier",
    }
}

fn argument(arg: &ArgName) -> String {
    match &arg.name {
        Some(name) => format!("argument {} `{name}`", arg.index),
        None => format!("argument {}", arg.index),
    }
}

/// A string of JSON.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\u{:04x}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json() {
        let report = Report {
            problem: Problem::OutOfBounds { place: 4u64.wrapping_neg(), bytes: 4, size: 16 },
            kernel: "k\"".to_owned(),
            kind: SiteKind::Load,
            object: "argument 0 `a`".to_owned(),
            item: Item { global: [7, 0, 0], group: [1, 0, 0], local: [3, 0, 0] },
            position: Position { word: 100, line: 3, column: 9, calls: Vec::new() },
        };
        assert_eq!(
            report.to_string(),
            "kernel `k\"`, line 3:9: load of 4 bytes out of bounds: offset -4 in argument 0 `a`, which has 16 bytes; \
             work-item (7, 0, 0) (local (3, 0, 0), group (1, 0, 0))"
        );
        let json = report.to_json();
        assert!(
            json.starts_with("{\"class\":\"memory\",\"kernel\":\"k\\\"\",\"access\":\"load\",\"line\":3,"),
            "{json}"
        );
        assert!(json.contains("\"offset\":-4,\"object_bytes\":16"), "{json}");
        let call = |callee: &str, line| CallSite { callee: callee.to_owned(), line, column: 5 };
        let report =
            Report { position: Position { calls: vec![call("f", 12), call("g", 20)], ..report.position }, ..report };
        let text = report.to_string();
        assert!(
            text.starts_with("kernel `k\"`, line 3:9 (in `f`, called at line 12:5, in `g`, called at line 20:5): load"),
            "{text}"
        );
        let json = report.to_json();
        assert!(json.contains("\"calls\":[{\"function\":\"f\",\"line\":12,\"column\":5},{"), "{json}");
    }
}
