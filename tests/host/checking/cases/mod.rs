//! The list of kernels with bugs. Each is correct unless `BUG` is defined; the line of the bug has the comment `// BUG`.

mod barrier;
mod memory;
mod race;
mod uninit;

/// A kernel, a launch, and the bug's report.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) source: &'static str,
    pub(super) args: &'static [Arg],
    pub(super) global: [usize; 2],
    pub(super) local: [usize; 2],
    /// The work-item that is reported.
    pub(super) item: [usize; 2],
    pub(super) class: &'static str,
    /// What the report says.
    pub(super) text: &'static str,
}

/// An argument.
pub(super) enum Arg {
    /// A buffer of so many `int`s: their indices.
    Ints(usize),
    /// A part in the middle of a buffer.
    SubBuffer(usize),
    /// NULL for the version with the bug.
    IntsOrNull(usize),
    /// Local memory of so many bytes.
    Local(usize),
    Int(i32),
    /// One less for the version with the bug.
    IntOrLess(i32),
    /// A structure of four `int`s.
    FourInts,
}

/// Any work-item: which one comes second depends on the order of the work-items.
pub(super) const ANY: usize = usize::MAX;

/// All cases.
pub(super) fn all() -> impl Iterator<Item = &'static Case> {
    [memory::CASES, uninit::CASES, race::CASES, barrier::CASES].into_iter().flatten()
}
