//! The file of a trace.
//!
//! It is a JSON array with one event per line. Events are buffered, and the array is closed when the process exits; viewers also
//! take a file whose end is missing because the process was killed. The child of a fork begins a file of its own with its first
//! event.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parking_lot::Mutex;

use super::events::{EventWriter, Message, Sender};

/// Size at which the buffer is written.
const BUFFER_BYTES: usize = 64 << 10;

static FILE: OnceLock<TraceFile> = OnceLock::new();

/// The trace of one process.
pub(super) struct TraceFile {
    process: u32,
    path: PathBuf,
    state: Mutex<State>,
    /// The file of a child that this process became by a fork. Locks of the parent may be locked forever in the child.
    in_child: OnceLock<Box<TraceFile>>,
}

#[derive(Default)]
struct State {
    /// `None` before the first write, and after the end.
    file: Option<File>,
    buffer: Vec<u8>,
    writer: EventWriter,
    closed: bool,
}

impl TraceFile {
    /// The process's trace. A second call returns the same.
    pub(super) fn start(path: &Path) -> &'static TraceFile {
        FILE.get_or_init(|| {
            // Handlers are called in reverse order: workers, whose handler is registered later, have stopped before.
            clift_runtime::at_exit(close);
            TraceFile::new(path.to_owned())
        })
    }

    pub(super) fn new(path: PathBuf) -> Self {
        Self { process: std::process::id(), path, state: Mutex::default(), in_child: OnceLock::new() }
    }

    /// The trace of the current process.
    fn current(&self) -> &TraceFile {
        let mut file = self;
        let process = std::process::id();
        while file.process != process {
            file = file.in_child.get_or_init(|| {
                let mut path = self.path.clone().into_os_string();
                if !has_process_id(&self.path) {
                    path.push(format!(".{process}"));
                }
                Box::new(TraceFile::new(path.into()))
            });
        }
        file
    }

    /// Adds the events for a message.
    pub(super) fn add(&self, message: &Message, sender: &Sender) {
        let file = self.current();
        let mut state = file.state.lock();
        if state.closed {
            return;
        }
        let State { buffer, writer, .. } = &mut *state;
        writer.write(message, sender, buffer);
        if state.buffer.len() >= BUFFER_BYTES {
            state.write(&file.path);
        }
    }

    /// Writes the rest.
    pub(super) fn close(&self) {
        let file = self.current();
        let mut state = file.state.lock();
        if state.closed || (state.file.is_none() && state.buffer.is_empty()) {
            return;
        }
        // Every event is followed by a comma.
        state.buffer.extend_from_slice(b"{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":");
        state.buffer.extend_from_slice(format!("{},\"args\":{{\"sort_index\":0}}}}\n]\n", file.process).as_bytes());
        state.write(&file.path);
        state.closed = true;
    }
}

impl State {
    /// Writes the buffer. After an error, which is reported once, nothing more is recorded.
    fn write(&mut self, path: &Path) {
        let result = match &mut self.file {
            Some(file) => file.write_all(&self.buffer),
            none => File::create(expanded(path)).and_then(|mut file| {
                file.write_all(b"[\n")?;
                file.write_all(&self.buffer)?;
                *none = Some(file);
                Ok(())
            }),
        };
        self.buffer.clear();
        if let Err(error) = result {
            // The user has asked for this output.
            let _ = writeln!(std::io::stderr(), "clift: CLIFT_TRACE={}: {error}", path.display());
            self.closed = true;
        }
    }
}

/// Process exit.
extern "C" fn close() {
    if let Some(file) = FILE.get() {
        file.close();
    }
}

fn has_process_id(path: &Path) -> bool {
    path.as_os_str().as_bytes().windows(2).any(|two| two == b"%p")
}

/// The path with the process id in place of `%p`.
pub(super) fn expanded(path: &Path) -> PathBuf {
    let mut rest = path.as_os_str().as_bytes();
    let mut whole = OsString::new();
    while let Some(at) = rest.windows(2).position(|two| two == b"%p") {
        whole.push(OsStr::from_bytes(&rest[..at]));
        whole.push(std::process::id().to_string());
        rest = &rest[at + 2..];
    }
    whole.push(OsString::from_vec(rest.to_vec()));
    whole.into()
}
