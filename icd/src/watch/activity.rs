//! What a process is doing: the commands that have not ended, and sums over those that have.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::trace::Message;

/// How many kernels have sums of their own. All others share one.
const MAX_KERNELS: usize = 256;
/// What the others are called.
const OTHERS: &str = "(others)";
/// How many running commands, and how many kernels, an answer contains.
const MAX_SHOWN: usize = 32;

/// What the process is doing.
pub(super) struct Activity {
    process: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The commands that have not ended; what is known of those that run.
    commands: FxHashMap<u64, Option<Running>>,
    /// Number of commands that have ended.
    ended: u64,
    kernels: BTreeMap<String, Sum>,
    /// Time that threads have spent in work-groups.
    busy_ns: u64,
    allocated_bytes: u64,
}

struct Running {
    name: String,
    queue: u64,
    since: u64,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    launches: u64,
    ns: u64,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self { process: std::process::id(), state: Mutex::default() }
    }

    /// Whether this is the process that has the socket, and not the child of a fork.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Takes note of a message that was sent at the time `now`.
    pub(super) fn learn(&self, message: Message, now: u64) {
        let mut state = self.state.lock();
        match message {
            Message::Submitted { id } => {
                state.commands.insert(id, None);
            }
            Message::Started { name, id, queue } => {
                state.commands.insert(id, Some(Running { name, queue, since: now }));
            }
            Message::Command { name, id, times: [_, _, start, end], size, .. } => {
                state.commands.remove(&id);
                state.ended += 1;
                // Only launches have a size.
                if !size.is_empty() {
                    let known = state.kernels.len() < MAX_KERNELS || state.kernels.contains_key(&name);
                    let sum = state.kernels.entry(if known { name } else { OTHERS.to_owned() }).or_default();
                    sum.launches += 1;
                    sum.ns += if start == 0 { 0 } else { end.saturating_sub(start) };
                }
            }
            Message::Slice { group, ns, .. } if group == "work-groups" => state.busy_ns += ns,
            Message::Counter { value, .. } => state.allocated_bytes = value,
            Message::Slice { .. } | Message::Waited { .. } | Message::Note { .. } => {}
        }
    }

    /// The answer to a client.
    pub(super) fn describe(&self, now: u64, workers: usize) -> Value {
        let state = self.state.lock();
        let mut running: Vec<&Running> = state.commands.values().flatten().collect();
        let (queued, started) = (state.commands.len() - running.len(), running.len());
        running.sort_by_key(|command| command.since);
        let running: Vec<Value> = running
            .iter()
            .take(MAX_SHOWN)
            .map(|Running { name, queue, since }| {
                json!({ "name": name, "queue": queue, "ns": now.saturating_sub(*since) })
            })
            .collect();
        let mut kernels: Vec<(&String, &Sum)> = state.kernels.iter().collect();
        kernels.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.ns));
        let kernels: Vec<Value> = kernels
            .iter()
            .take(MAX_SHOWN)
            .map(|(name, Sum { launches, ns })| json!({ "name": name, "launches": launches, "ns": ns }))
            .collect();
        json!({
            "process": self.process, "time_ns": now, "workers": workers, "busy_ns": state.busy_ns,
            "queued": queued, "started": started, "ended": state.ended, "allocated_bytes": state.allocated_bytes,
            "running": running, "kernels": kernels,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn launch(name: &str, id: u64, times: [u64; 4]) -> Message {
        let size = Map::from_iter([("items".to_owned(), json!(64))]);
        Message::Command { name: name.to_owned(), id, queue: 1, number: id, times, status: 0.into(), size }
    }

    #[test]
    fn commands_are_queued_then_run_then_count() {
        let activity = Activity::new();
        for id in 1..=3 {
            activity.learn(Message::Submitted { id }, 10 * id);
        }
        activity.learn(Message::Started { name: "a".to_owned(), id: 1, queue: 7 }, 50);
        let answer = activity.describe(80, 4);
        assert_eq!((&answer["queued"], &answer["started"], &answer["ended"]), (&json!(2), &json!(1), &json!(0)));
        assert_eq!(answer["running"], json!([{ "name": "a", "queue": 7, "ns": 30 }]));
        activity.learn(launch("a", 1, [10, 20, 50, 90]), 90);
        activity.learn(Message::Counter { name: "allocated bytes".to_owned(), value: 4096 }, 91);
        let answer = activity.describe(100, 4);
        assert_eq!(
            (&answer["started"], &answer["ended"], &answer["allocated_bytes"]),
            (&json!(0), &json!(1), &json!(4096))
        );
        assert_eq!(answer["kernels"], json!([{ "name": "a", "launches": 1, "ns": 40 }]));
    }

    #[test]
    fn the_list_of_kernels_is_bounded() {
        let activity = Activity::new();
        for id in 0..2 * MAX_KERNELS as u64 {
            activity.learn(launch(&format!("k{id}"), id, [1, 2, 3, 4]), 5);
        }
        assert_eq!(activity.state.lock().kernels.len(), MAX_KERNELS + 1);
        assert_eq!(activity.state.lock().kernels[OTHERS].launches, MAX_KERNELS as u64);
    }
}
