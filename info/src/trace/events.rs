//! Reads the events of a trace.
//!
//! The file is an array of JSON objects, one per line. That of a process that was killed ends anywhere, also inside an event.
//! Events that cannot be read are counted and skipped, and [`Trace::problems`] says so.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The number of the first track of a queue. The driver's threads have smaller numbers.
const FIRST_QUEUE_TRACK: u64 = 1 << 24;

/// The events of a process, sorted by kind. Times are in microseconds since the first event.
#[derive(Debug, Default)]
pub struct Trace {
    /// The name of the process.
    pub process: String,
    /// Names of tracks: threads and queues.
    pub tracks: BTreeMap<u64, String>,
    /// What takes time: calls, stages of builds, commands, work-groups.
    pub slices: Vec<Slice>,
    /// What is known of the device: `device`, `driver`, `threads`, `backend`.
    pub facts: BTreeMap<String, String>,
    /// What the compiler says about kernels, in the order of the builds.
    pub notes: Vec<Note>,
    /// Arrows between tracks.
    pub arrows: Vec<Arrow>,
    /// Values of `allocated bytes`, with their times.
    pub allocated: Vec<(f64, f64)>,
    /// The time from the first to the last event.
    pub span: f64,
    /// What is wrong with the file, as sentences.
    pub problems: Vec<String>,
}

/// What a slice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// A call of an OpenCL function.
    Call,
    /// A stage of a build.
    Build,
    /// A command, on a track of its queue.
    Command,
    /// Work-groups, on the track of a thread.
    WorkGroups,
}

/// Something that took time.
#[derive(Clone, Debug)]
pub struct Slice {
    /// What.
    pub name: String,
    /// What kind of thing.
    pub group: Group,
    /// The track.
    pub track: u64,
    /// When it began.
    pub start: f64,
    /// How long it took.
    pub duration: f64,
    /// What else is known of it.
    pub args: Map<String, Value>,
}

impl Slice {
    /// The end.
    pub fn end(&self) -> f64 {
        self.start + self.duration
    }

    /// A number among the arguments.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.args.get(name).and_then(Value::as_f64)
    }

    /// A text among the arguments.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.args.get(name).and_then(Value::as_str)
    }

    /// Whether it is a launch of a kernel. Only these have a size; older traces do not record it, but other commands have names
    /// that no kernel has.
    pub fn is_launch(&self) -> bool {
        const OTHERS: [&str; 4] = ["task", "marker", "barrier", "launch"];
        let other = self.name.starts_with("CL_COMMAND_") || OTHERS.contains(&self.name.as_str());
        self.group == Group::Command && (self.args.contains_key("items") || !other)
    }
}

/// What the compiler says about a kernel.
#[derive(Clone, Debug)]
pub struct Note {
    /// The kernel.
    pub kernel: String,
    /// Whether it is a remark of the vectorizer's report; otherwise it describes the kernel.
    pub is_remark: bool,
    /// What it says.
    pub args: Map<String, Value>,
}

/// An arrow: from a call, a command or the setting of an event to the command that could begin then.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrow {
    /// Track and time of its origin.
    pub from: (u64, f64),
    /// Track and time of its end.
    pub to: (u64, f64),
}

/// An event as the file has it.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    ph: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    pid: u64,
    #[serde(default)]
    tid: u64,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    args: Map<String, Value>,
}

impl Trace {
    /// Whether a track is that of a queue.
    pub fn is_queue(track: u64) -> bool {
        track >= FIRST_QUEUE_TRACK
    }

    /// Reads a file. Fails if it contains no events of a trace.
    pub fn read(text: &[u8]) -> Result<Trace> {
        ensure!(!text.iter().all(u8::is_ascii_whitespace), "the file is empty: the process has recorded nothing");
        let mut trace = Trace::default();
        let mut arrows: BTreeMap<u64, (u64, f64)> = BTreeMap::new();
        let (mut place, mut events, mut broken, mut last_is_broken) = (0, 0, 0, false);
        while let Some(start) = next_object(text, place) {
            let mut values = serde_json::Deserializer::from_slice(&text[start..]).into_iter::<Event<'_>>();
            if let Some(Ok(event)) = values.next() {
                place = start + values.byte_offset();
                events += 1;
                last_is_broken = false;
                trace.add(event, &mut arrows);
            } else {
                broken += 1;
                last_is_broken = true;
                // Events are on lines of their own.
                place = text[start..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |line| start + line);
            }
        }
        ensure!(events > 0, "the file is not a trace of CLIFT_TRACE: it contains no events");
        ensure!(!trace.tracks.is_empty() || !trace.slices.is_empty(), "the file is not a trace of CLIFT_TRACE");
        if !text.trim_ascii_end().ends_with(b"]") {
            let what = "The end of the trace is missing: the process was killed, has crashed, or has not ended. Its last events are \
                        not shown.";
            trace.problems.push(what.to_owned());
            broken -= usize::from(last_is_broken);
        }
        if broken > 0 {
            trace.problems.push(format!("Events that cannot be read, and are not shown: {broken}."));
        }
        trace.begin_at_zero();
        Ok(trace)
    }

    fn add(&mut self, event: Event<'_>, arrows: &mut BTreeMap<u64, (u64, f64)>) {
        let Event { ph, cat, name, pid, tid: track, ts: start, dur: duration, id, args } = event;
        let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match (&*ph, &*cat) {
            ("M", _) => match name.as_str() {
                "process_name" => self.process = text("name"),
                // The first thread has the number of the process.
                "thread_name" if track == pid => drop(self.tracks.insert(track, "main thread".to_owned())),
                "thread_name" => drop(self.tracks.insert(track, text("name"))),
                _ => {}
            },
            ("X", cat) => {
                let group = match cat {
                    "api" => Group::Call,
                    "build" => Group::Build,
                    "command" => Group::Command,
                    "work-groups" => Group::WorkGroups,
                    _ => return,
                };
                if start.is_finite() && duration.is_finite() && duration >= 0.0 {
                    self.slices.push(Slice { name, group, track, start, duration, args });
                }
            }
            ("C", _) if name == "allocated bytes" => {
                self.allocated.extend(args.get("value").and_then(Value::as_f64).map(|value| (start, value)));
            }
            ("i", "fact") => drop(self.facts.insert(name, text("text"))),
            ("i", "kernel") => self.notes.push(Note { kernel: name, is_remark: false, args }),
            ("i", "remark") => self.notes.push(Note { kernel: name, is_remark: true, args }),
            ("s", "flow") => drop(id.as_u64().map(|id| arrows.insert(id, (track, start)))),
            ("f", "flow") => {
                if let Some(from) = id.as_u64().and_then(|id| arrows.remove(&id)) {
                    self.arrows.push(Arrow { from, to: (track, start) });
                }
            }
            _ => {}
        }
    }

    /// Makes the first slice begin at 0.
    fn begin_at_zero(&mut self) {
        let begin = self.slices.iter().map(|slice| slice.start).fold(f64::INFINITY, f64::min);
        let begin = if begin.is_finite() { begin } else { 0.0 };
        for slice in &mut self.slices {
            slice.start -= begin;
            for name in ["queued_ns", "submit_ns", "start_ns", "end_ns"] {
                // A time of 0 is one that there is not.
                if let Some(time) = slice.number(name).filter(|time| *time != 0.0) {
                    slice.args.insert(name.to_owned(), (time - begin * 1000.0).into());
                }
            }
        }
        for Arrow { from, to } in &mut self.arrows {
            from.1 -= begin;
            to.1 -= begin;
        }
        for (time, _) in &mut self.allocated {
            *time = (*time - begin).max(0.0);
        }
        self.slices.sort_by(|a, b| a.start.total_cmp(&b.start).then(b.duration.total_cmp(&a.duration)));
        self.span = self.slices.iter().map(Slice::end).fold(0.0, f64::max);
    }
}

/// Where the next object begins.
fn next_object(text: &[u8], place: usize) -> Option<usize> {
    text.get(place..)?.iter().position(|&byte| byte == b'{').map(|found| place + found)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A trace of two launches of `scale` and one of `sum`, as the driver writes it.
    pub(crate) const SMALL: &str = include_str!("../../tests/small.json");

    #[test]
    fn all_kinds_of_events_are_read() {
        let trace = Trace::read(SMALL.as_bytes()).expect("a trace");
        assert_eq!(trace.process, "app");
        assert_eq!(trace.facts["device"], "A <processor> & more");
        assert_eq!((trace.slices.len(), trace.notes.len(), trace.arrows.len()), (8, 3, 1));
        assert_eq!(trace.span, 400.0, "from the first slice to the end of the last one");
        assert_eq!(trace.arrows[0].from, (70, 112.0));
        assert_eq!(trace.slices.iter().filter(|slice| slice.is_launch()).count(), 3);
        assert!(trace.problems.is_empty(), "{:?}", trace.problems);
    }

    #[test]
    fn a_trace_that_was_cut_off_anywhere_is_read_as_far_as_it_goes() {
        let first = SMALL.find("\"X\"").expect("a slice");
        for length in first + 200..SMALL.len() - 2 {
            let trace = Trace::read(&SMALL.as_bytes()[..length]).unwrap_or_else(|error| panic!("{length}: {error}"));
            assert_eq!(trace.problems.len(), 1, "{length}: {:?}", trace.problems);
        }
    }

    #[test]
    fn broken_lines_are_counted() {
        let text = SMALL.replace("\"dur\":5.0", "\"dur\":\"x\"");
        let trace = Trace::read(text.as_bytes()).expect("a trace");
        assert_eq!((trace.slices.len(), trace.problems.len()), (7, 1));
        assert!(trace.problems[0].ends_with("shown: 1."), "{:?}", trace.problems);
    }

    #[test]
    fn other_files_are_refused() {
        for text in ["", " \n", "hello", "[]", "{\"a\": 1}", "\u{0}\u{1}{{{{", "[1, 2]", "{\"ph\":\"Z\"}"] {
            assert!(Trace::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
