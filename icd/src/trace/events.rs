//! Trace events: JSON objects, one per line.
//!
//! Threads are tracks with slices for calls, stages of builds and work-groups. A queue has tracks of its own, as many as commands
//! run in it at the same time; the numbers of these tracks are larger than those of threads. Arrows (*flows*) lead from the call
//! that submits a command to the command, and from the commands (or the setting of a user event) that it waited for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Write;

use rustix::thread::gettid;
use serde_json::{Map, Value, json};

/// The number of the first track of the first queue. Threads have smaller numbers.
const FIRST_QUEUE_TRACK: u64 = 1 << 24;

/// Tracks of a queue. Further commands at the same time share the last one.
const QUEUE_TRACKS: usize = 64;

/// Number of ended commands whose places are kept for arrows that begin at them. The arrows of a command follow its end at once.
const KEPT_PLACES: usize = 256;

/// What happened.
#[derive(Debug)]
pub(crate) enum Message {
    /// A thread has done something that took `ns` nanoseconds.
    Slice { name: String, group: String, ns: u64, args: Map<String, Value> },
    /// A thread has submitted a command.
    Submitted { id: u64 },
    /// A command has been started.
    Started { name: String, id: u64, queue: u64 },
    /// A command has ended. The times are those of being queued, submitted, started and ended. `size` is that of a launch.
    Command { name: String, id: u64, queue: u64, number: u64, times: [u64; 4], status: Value, size: Map<String, Value> },
    /// A command could not begin until another one had ended (or a user event, 0).
    Waited { before: u64, after: u64 },
    /// A number has changed.
    Counter { name: String, value: u64 },
    /// Something that is not about a time: about the device (`fact`), a compiled kernel (`kernel`), or a remark of the
    /// vectorizer's report on a kernel (`remark`).
    Note { name: String, group: &'static str, args: Map<String, Value> },
}

/// The thread that has sent a message, and when.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) process: u32,
    pub(super) thread: u64,
    pub(super) now: u64,
}

impl Sender {
    /// The calling thread.
    pub(super) fn current(now: u64) -> Self {
        let thread = gettid().as_raw_nonzero().get().unsigned_abs().into();
        Self { process: std::process::id(), thread, now }
    }
}

/// A point on a track, where an arrow begins.
#[derive(Clone, Copy, Debug)]
struct Place {
    track: u64,
    time: u64,
}

/// Turns messages into events.
#[derive(Default)]
pub(super) struct EventWriter {
    /// The threads whose names are known.
    named: HashSet<u64>,
    /// When the last command on each track of a queue ended.
    tracks: HashMap<u64, Vec<u64>>,
    /// Where the arrows to commands that have not ended begin.
    arrows: HashMap<u64, Vec<Place>>,
    /// Where the latest commands ended.
    ended: VecDeque<(u64, Place)>,
    /// Number of arrows so far.
    flows: u64,
}

impl EventWriter {
    /// Appends the events for a message.
    pub(super) fn write(&mut self, message: &Message, sender: &Sender, out: &mut Vec<u8>) {
        let &Sender { process, thread, now } = sender;
        let mut events = Events { process, out };
        if self.named.is_empty() {
            events.name("process_name", 0, &process_name());
        }
        if self.named.insert(thread) {
            let name = std::thread::current().name().map_or_else(|| format!("thread {thread}"), str::to_owned);
            events.name("thread_name", thread, &name);
        }
        match message {
            Message::Slice { name, group, ns, args } => {
                events.slice((name, group), thread, (now.saturating_sub(*ns), now), Value::Object(args.clone()));
            }
            Message::Counter { name, value } => {
                events.add(json!({ "ph": "C", "name": name, "tid": 0, "ts": micros(now), "args": { "value": value } }));
            }
            Message::Note { name, group, args } => {
                let args = Value::Object(args.clone());
                let ts = micros(now);
                events.add(
                    json!({ "ph": "i", "s": "t", "cat": group, "name": name, "tid": thread, "ts": ts, "args": args }),
                );
            }
            // The event of the command's end has the times of its beginning.
            Message::Started { .. } => {}
            Message::Submitted { id } => {
                self.arrows.entry(*id).or_default().push(Place { track: thread, time: now });
            }
            Message::Waited { before, after } => {
                let ended = self.ended.iter().rev().find(|(id, _)| *after != 0 && id == after).map(|(_, place)| *place);
                let place = ended.unwrap_or(Place { track: thread, time: now });
                self.arrows.entry(*before).or_default().push(place);
            }
            Message::Command { name, id, queue, number, times, status, size } => {
                let [queued, submit, start, end] = *times;
                // A command that did not run, because another one failed, has no start.
                let start = if start == 0 { end } else { start };
                let submit = if submit == 0 { start } else { submit };
                let track = self.track(*queue, start, end, &mut events);
                let waits = [("waits for other commands", queued, submit), ("waits for a thread", submit, start)];
                for (what, from, to) in waits.into_iter().filter(|(_, from, to)| from < to) {
                    let id = format!("{id:#x}");
                    for (phase, time) in [("b", from), ("e", to)] {
                        let (name, ts) = (format!("{name} {what}"), micros(time));
                        events.add(json!({
                            "ph": phase, "cat": "waits", "name": name, "id": id, "tid": track, "ts": ts,
                        }));
                    }
                }
                let mut args = json!({
                    "queue": queue, "number": number, "status": status,
                    "queued_ns": queued, "submit_ns": submit, "start_ns": start, "end_ns": end,
                });
                for (name, value) in size {
                    args[name] = value.clone();
                }
                // Arrows can only end at slices that take time.
                events.slice((name, "command"), track, (start, end.max(start + 1)), args);
                for from in self.arrows.remove(id).unwrap_or_default() {
                    self.flows += 1;
                    let flow = self.flows;
                    let arrow = |phase: &str, place: Place| {
                        let (tid, ts) = (place.track, micros(place.time));
                        json!({ "ph": phase, "cat": "flow", "name": "dependency", "id": flow, "tid": tid, "ts": ts, "bp": "e" })
                    };
                    events.add(arrow("s", from));
                    events.add(arrow("f", Place { track, time: start }));
                }
                self.ended.push_back((*id, Place { track, time: start.max(end.saturating_sub(1)) }));
                if self.ended.len() > KEPT_PLACES {
                    self.ended.pop_front();
                }
            }
        }
    }

    /// The track for a command of a queue.
    fn track(&mut self, queue: u64, start: u64, end: u64, events: &mut Events<'_>) -> u64 {
        let tracks = self.tracks.entry(queue).or_default();
        let free = tracks.iter().position(|last| *last <= start);
        let place = free.unwrap_or(tracks.len()).min(QUEUE_TRACKS - 1);
        let track = FIRST_QUEUE_TRACK + queue * QUEUE_TRACKS as u64 + place as u64;
        if place == tracks.len() {
            tracks.push(0);
            events.name("thread_name", track, &format!("queue {queue}"));
        }
        tracks[place] = end.max(start + 1);
        track
    }
}

/// Writes events of a process.
struct Events<'a> {
    process: u32,
    out: &'a mut Vec<u8>,
}

impl Events<'_> {
    fn add(&mut self, mut event: Value) {
        event["pid"] = self.process.into();
        // Writing to a vector cannot fail.
        let _ = serde_json::to_writer(&mut *self.out, &event);
        let _ = self.out.write_all(b",\n");
    }

    fn slice(&mut self, (name, group): (&str, &str), track: u64, (start, end): (u64, u64), args: Value) {
        let (ts, dur) = (micros(start), micros(end.saturating_sub(start)));
        self.add(json!({ "ph": "X", "cat": group, "name": name, "tid": track, "ts": ts, "dur": dur, "args": args }));
    }

    /// The name of the process or of a track.
    fn name(&mut self, what: &str, track: u64, name: &str) {
        self.add(json!({ "ph": "M", "name": what, "tid": track, "args": { "name": name } }));
    }
}

fn process_name() -> String {
    std::fs::read_to_string("/proc/self/comm").map_or_else(|_| "process".to_owned(), |name| name.trim_end().to_owned())
}

/// Times of trace events are in microseconds.
fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
