//! What commands do to memory: when each may execute, which of them race, and the bytes that are left.
//!
//! All memory that commands access is in *roots*: a buffer or image with memory of its own, an SVM allocation, the host memory
//! that commands read and write, a variable of a program. A byte is unknown (`None`) where its value is not defined: nothing
//! has been written, commands without an order between them conflict, or a mapped region was accessed.
//!
//! Nothing is executed here while commands are pending. [`Timeline::replay`] executes all at once when they have ended: in the
//! order of their enqueuing, which agrees with every order that the specification permits, except for those that race.

use std::collections::HashMap;
use std::rc::Rc;

use super::cl::*;
use super::world::Handle;

/// A byte of memory, if it is known.
pub(crate) type Byte = Option<u8>;

/// A part of a root: rows and slices of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) root: u64,
    /// Offset of its first byte in the root.
    pub(crate) start: usize,
    /// Distance between rows in bytes.
    pub(crate) row: usize,
    /// Distance between slices in bytes.
    pub(crate) slice: usize,
    /// Bytes in a row, rows in a slice, slices.
    pub(crate) extent: [usize; 3],
}

impl Region {
    /// Contiguous bytes.
    pub(crate) fn linear(root: u64, start: usize, size: usize) -> Self {
        Self { root, start, row: size, slice: size, extent: [size, 1, 1] }
    }

    /// Its number of bytes.
    pub(crate) fn size(&self) -> usize {
        self.extent.iter().product()
    }

    /// The offset of the byte behind its last one.
    pub(crate) fn end(&self) -> usize {
        let [bytes, rows, slices] = self.extent;
        self.start + bytes + (rows.max(1) - 1) * self.row + (slices.max(1) - 1) * self.slice
    }

    /// Whether its bytes may be those of another one; the gaps between rows count.
    pub(crate) fn touches(&self, other: &Region) -> bool {
        let both = self.size() != 0 && other.size() != 0;
        both && self.root == other.root && self.start < other.end() && other.start < self.end()
    }

    /// The offsets of its rows.
    fn rows(&self) -> impl Iterator<Item = usize> + use<> {
        let (start, row, slice, [_, rows, slices]) = (self.start, self.row, self.slice, self.extent);
        (0..slices).flat_map(move |z| (0..rows).map(move |y| start + z * slice + y * row))
    }

    /// Its bytes, row by row.
    pub(crate) fn of<T: Copy>(&self, bytes: &[T]) -> Vec<T> {
        self.rows().flat_map(|at| bytes[at..at + self.extent[0]].iter().copied()).collect()
    }

    /// Replaces its bytes.
    fn set(&self, bytes: &mut [Byte], new: &[Byte]) {
        for (at, row) in self.rows().zip(new.chunks(self.extent[0].max(1))) {
            bytes[at..at + row.len()].copy_from_slice(row);
        }
    }
}

/// What a command makes of the bytes it reads: those it writes, one list per region.
type Function = Rc<dyn Fn(&[Vec<Byte>]) -> Vec<Vec<Byte>>>;

/// The application begins or ends to use a region.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Map {
        mapping: u64,
        region: Region,
        flags: cl_map_flags,
    },
    /// With the bytes that the application has written.
    Unmap {
        mapping: u64,
        written: Option<Vec<u8>>,
    },
}

/// What a command does if it executes.
#[derive(Clone, Default)]
pub(crate) struct Effect {
    pub(crate) reads: Vec<Region>,
    pub(crate) writes: Vec<Region>,
    pub(crate) function: Option<Function>,
    pub(crate) step: Option<Step>,
    /// The root of an SVM allocation that is freed.
    pub(crate) frees: Vec<u64>,
}

impl Effect {
    /// Copies bytes between regions of the same size.
    pub(crate) fn copy(from: Region, to: Region) -> Self {
        Self::of(vec![from], vec![to], |read| read.to_vec())
    }

    /// Repeats a pattern.
    pub(crate) fn fill(pattern: Vec<u8>, to: Region) -> Self {
        let size = to.size();
        let bytes: Vec<Byte> = pattern.iter().cycle().take(size).map(|byte| Some(*byte)).collect();
        Self::of(Vec::new(), vec![to], move |_| vec![bytes.clone()])
    }

    /// A function of bytes.
    pub(crate) fn of(
        reads: Vec<Region>,
        writes: Vec<Region>,
        function: impl Fn(&[Vec<Byte>]) -> Vec<Vec<Byte>> + 'static,
    ) -> Self {
        Self { reads, writes, function: Some(Rc::new(function)), ..Self::default() }
    }

    fn is_nothing(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty() && self.step.is_none() && self.frees.is_empty()
    }

    /// The regions that it accesses.
    pub(crate) fn regions(&self) -> impl Iterator<Item = &Region> {
        self.reads.iter().chain(&self.writes)
    }
}

/// A command, or a user event.
pub(crate) struct Command {
    pub(crate) is_user: bool,
    /// The handle of a user event that has not been set; it may be released.
    pub(crate) unset: Option<Handle>,
    /// The status with which it ends, once that is decided.
    pub(crate) end: Option<cl_int>,
    /// What it waits for, and fails with.
    pub(crate) waits: Vec<usize>,
    /// What it begins after, however that ends.
    pub(crate) follows: Vec<usize>,
    pub(crate) effect: Effect,
}

/// All commands of a sequence, and the bytes of memory.
#[derive(Default)]
pub(crate) struct Timeline {
    pub(crate) commands: Vec<Command>,
    /// The first command that has not been replayed.
    first: usize,
    roots: HashMap<u64, Vec<Byte>>,
    mapped: Vec<Mapped>,
}

/// A mapped region.
struct Mapped {
    mapping: u64,
    region: Region,
    writes: bool,
    /// Whether a command has accessed the region in a way that is not defined.
    disturbed: bool,
}

impl Timeline {
    /// Adds memory.
    pub(crate) fn add_root(&mut self, root: u64, bytes: Vec<Byte>) {
        self.roots.insert(root, bytes);
    }

    /// The bytes of a region, as commands that have been replayed left them.
    pub(crate) fn bytes(&self, region: &Region) -> Vec<Byte> {
        region.of(&self.roots[&region.root])
    }

    /// Replaces the bytes of a region, while nothing executes.
    pub(crate) fn set_bytes(&mut self, region: &Region, bytes: &[Byte]) {
        region.set(self.roots.get_mut(&region.root).expect("a root"), bytes);
    }

    /// Whether a mapping includes a byte of the region.
    pub(crate) fn is_mapped(&self, region: &Region) -> bool {
        self.mapped.iter().any(|mapped| mapped.region.touches(region))
    }

    /// Adds a command.
    pub(crate) fn push(&mut self, waits: Vec<usize>, follows: Vec<usize>, effect: Effect) -> usize {
        self.commands.push(Command { is_user: false, unset: None, end: None, waits, follows, effect });
        self.commands.len() - 1
    }

    /// Adds a user event.
    pub(crate) fn push_user_event(&mut self, event: Handle) -> usize {
        let command = self.push(Vec::new(), Vec::new(), Effect::default());
        (self.commands[command].is_user, self.commands[command].unset) = (true, Some(event));
        command
    }

    /// Whether a command that has not been replayed accesses this memory.
    pub(crate) fn is_used(&self, root: u64) -> bool {
        let uses = |command: &Command| command.effect.regions().any(|region| region.root == root);
        self.commands[self.first..].iter().any(uses)
    }

    /// Whether a command may not have ended.
    pub(crate) fn is_pending(&self, command: usize) -> bool {
        command >= self.first
    }

    /// Number of commands that have not been replayed.
    pub(crate) fn pending(&self) -> usize {
        self.commands.len() - self.first
    }

    /// How a command ends; `None` if an unset user event decides.
    pub(crate) fn end(&mut self, index: usize) -> Option<cl_int> {
        for at in self.first..self.commands.len() {
            let command = &self.commands[at];
            if command.end.is_none() && command.unset.is_none() {
                let ends: Option<Vec<cl_int>> = command.waits.iter().map(|wait| self.commands[*wait].end).collect();
                let failed = |ends: Vec<cl_int>| ends.iter().any(|end| *end < 0);
                let end = |failed| if failed { CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST } else { CL_COMPLETE };
                self.commands[at].end = ends.map(failed).map(end);
            }
        }
        self.commands[index].end
    }

    /// Executes all commands since the last time, which have ended. Returns the roots of freed memory.
    pub(crate) fn replay(&mut self) -> Vec<u64> {
        let first = self.first;
        if first == self.commands.len() {
            return Vec::new();
        }
        assert!(self.end(self.commands.len() - 1).is_some(), "all user events are set");
        let raced = self.races();
        let mut freed = Vec::new();
        for at in first..self.commands.len() {
            if self.commands[at].end == Some(CL_COMPLETE) {
                let effect = std::mem::take(&mut self.commands[at].effect);
                self.execute(&effect, raced[at - first]);
                freed.extend(effect.frees);
            }
        }
        self.first = self.commands.len();
        freed
    }

    /// For each command, whether another one that may execute at the same time decides what it reads or writes.
    fn races(&self) -> Vec<bool> {
        let new = &self.commands[self.first..];
        let executes = |command: &Command| command.end == Some(CL_COMPLETE);
        // What has ended before each command begins, as far as that is certain.
        let mut before: Vec<Vec<bool>> = Vec::with_capacity(new.len());
        for (at, command) in new.iter().enumerate() {
            let mut ended = vec![false; at];
            let waits: &[usize] = if executes(command) { &command.waits } else { &[] };
            for other in command.follows.iter().chain(waits).filter_map(|index| index.checked_sub(self.first)) {
                for (ended, earlier) in ended.iter_mut().zip(&before[other]) {
                    *ended |= earlier;
                }
                ended[other] = true;
            }
            before.push(ended);
        }
        let mut raced = vec![false; new.len()];
        let touch = |some: &[Region], others: &[Region]| {
            some.iter().any(|region| others.iter().any(|other| other.touches(region)))
        };
        for (at, command) in new.iter().enumerate().filter(|(_, command)| executes(command)) {
            if command.effect.is_nothing() {
                continue;
            }
            for (earlier, other) in new[..at].iter().enumerate().filter(|(_, other)| executes(other)) {
                if before[at][earlier] || other.effect.is_nothing() {
                    continue;
                }
                let (a, b) = (&command.effect, &other.effect);
                let both_write = touch(&a.writes, &b.writes);
                raced[at] |= both_write || touch(&a.reads, &b.writes);
                raced[earlier] |= both_write || touch(&b.reads, &a.writes);
            }
        }
        raced
    }

    fn execute(&mut self, effect: &Effect, raced: bool) {
        match &effect.step {
            Some(Step::Map { mapping, region, flags }) => {
                let writes = flags & CL_MAP_READ == 0 || flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) != 0;
                if flags & CL_MAP_WRITE_INVALIDATE_REGION != 0 {
                    self.set_bytes(region, &vec![None; region.size()]);
                }
                self.mapped.push(Mapped { mapping: *mapping, region: region.clone(), writes, disturbed: raced });
                return;
            }
            Some(Step::Unmap { mapping, written }) => {
                if let Some(at) = self.mapped.iter().position(|mapped| mapped.mapping == *mapping) {
                    let Mapped { region, disturbed, .. } = self.mapped.swap_remove(at);
                    let bytes = match written {
                        Some(bytes) if !disturbed && !raced => bytes.iter().map(|byte| Some(*byte)).collect(),
                        None if !disturbed && !raced => return,
                        _ => vec![None; region.size()],
                    };
                    self.set_bytes(&region, &bytes);
                }
                return;
            }
            None => {}
        }
        let Some(function) = &effect.function else {
            return;
        };
        let mut undefined = raced;
        for mapped in &mut self.mapped {
            let written = effect.writes.iter().any(|region| region.touches(&mapped.region));
            let read = mapped.writes && effect.reads.iter().any(|region| region.touches(&mapped.region));
            mapped.disturbed |= written;
            undefined |= written || read;
        }
        if undefined {
            for region in &effect.writes {
                self.set_bytes(region, &vec![None; region.size()]);
            }
            return;
        }
        let read: Vec<Vec<Byte>> = effect.reads.iter().map(|region| self.bytes(region)).collect();
        for (region, bytes) in effect.writes.iter().zip(function(&read)) {
            self.set_bytes(region, &bytes);
        }
    }
}
