//! What a launch has printed.
//!
//! Each of a launch's threads appends to a part of its own, so that threads do not wait for each other. If there are more
//! threads than parts, some share one, behind its lock. A work-item's calls are in one part, in their order, because one thread
//! executes its work-group.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

use super::BUFFER_BYTES;
use crate::launch::PrintfSink;
use crate::sync::plain::Mutex;

/// Maximum number of parts.
const MAX_PARTS: usize = 64;

/// A part takes place in the buffer in pieces of this size, so that threads rarely meet at the count of what is left.
const PIECE_BYTES: usize = 4 << 10;

/// The output of a launch.
#[derive(Debug, Default)]
pub(crate) struct PrintfOutput {
    /// Bytes that all parts have taken.
    taken: AtomicUsize,
    parts: OnceLock<Box<[CachePadded<Mutex<Part>>]>>,
}

/// The output of some threads.
#[derive(Debug, Default)]
struct Part {
    text: Vec<u8>,
    /// Bytes of the buffer that it has taken.
    taken: usize,
}

impl PrintfOutput {
    /// Appends the text of one call, which `format` appends to what it is given. Nothing is appended if it cannot, or if the
    /// buffer is full; the result says whether it has been. `threads` is the largest number of threads on the launch.
    pub(crate) fn append(&self, threads: usize, format: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        let parts = self.parts.get_or_init(|| (0..parts_for(threads)).map(|_| CachePadded::default()).collect());
        // Their number is a power of two.
        let mut part = parts[thread_number() & (parts.len() - 1)].lock();
        let start = part.text.len();
        let appended = format(&mut part.text) && (part.text.len() <= part.taken || self.take(&mut part, parts.len()));
        if !appended {
            part.text.truncate(start);
        }
        appended
    }

    /// Takes place for all of a part's text.
    #[cold]
    fn take(&self, part: &mut Part, parts: usize) -> bool {
        // Whatever the other parts have taken and not used, the whole buffer can be filled.
        let size = BUFFER_BYTES + (parts - 1) * PIECE_BYTES;
        let missing = part.text.len() - part.taken;
        let more = |taken: usize| [missing.max(PIECE_BYTES), missing].into_iter().find(|more| taken + more <= size);
        let with = |taken: usize| more(taken).map(|more| taken + more);
        let Ok(before) = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with) else { return false };
        part.taken += more(before).unwrap_or(0);
        true
    }

    /// Writes the output to the sink, or to standard output. Afterwards it is empty.
    pub(crate) fn write(&self, sink: Option<&PrintfSink>) {
        let Some(parts) = self.parts.get() else { return };
        let mut texts: Vec<Vec<u8>> = parts.iter().map(|part| core::mem::take(&mut *part.lock()).text).collect();
        self.taken.store(0, Ordering::Relaxed);
        texts.retain(|text| !text.is_empty());
        match sink {
            _ if texts.is_empty() => {}
            Some(sink) => {
                if catch_unwind(AssertUnwindSafe(|| sink(&texts.concat()))).is_err() {
                    tracing::error!("a printf callback panicked");
                }
            }
            None => crate::sys::write_stdout(&texts),
        }
    }
}

/// The number of parts: threads whose numbers are consecutive have different ones.
fn parts_for(threads: usize) -> usize {
    if threads <= 1 { 1 } else { (2 * threads).next_power_of_two().min(MAX_PARTS) }
}

/// The calling thread's number among those that have printed.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b"a line of this text\n";

    /// What is written when `threads` threads append until the buffer is full.
    fn filled(output: &PrintfOutput, threads: usize) -> Vec<u8> {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let append = |text: &mut Vec<u8>| {
                        text.extend_from_slice(LINE);
                        true
                    };
                    while output.append(threads, append) {}
                });
            }
        });
        let written = std::sync::Arc::new(Mutex::new(Vec::new()));
        let sink = written.clone();
        let sink: PrintfSink = std::sync::Arc::new(move |text: &[u8]| sink.lock().extend_from_slice(text));
        output.write(Some(&sink));
        core::mem::take(&mut *written.lock())
    }

    #[test]
    fn the_whole_buffer_can_be_filled_again_and_again() {
        for threads in [1, 2, 5] {
            let output = PrintfOutput::default();
            for _ in 0..2 {
                let text = filled(&output, threads);
                let size = BUFFER_BYTES + (parts_for(threads) - 1) * PIECE_BYTES;
                assert!(text.len() > BUFFER_BYTES - LINE.len() && text.len() <= size, "{}", text.len());
                assert!(text.chunks(LINE.len()).all(|line| line == LINE));
            }
        }
    }

    #[test]
    fn what_cannot_be_printed_leaves_nothing() {
        let output = PrintfOutput::default();
        let longer = |text: &mut Vec<u8>| {
            text.resize(text.len() + BUFFER_BYTES + 1, b'?');
            true
        };
        assert!(!output.append(1, longer));
        let failing = |text: &mut Vec<u8>| {
            text.push(b'?');
            false
        };
        assert!(!output.append(1, failing));
        let text = filled(&output, 1);
        assert!(!text.contains(&b'?') && text.len() > BUFFER_BYTES - LINE.len());
    }
}
