use std::path::Path;

use serde_json::{Map, Value, json};

use super::events::{EventWriter, Message, Sender};
use super::file::{TraceFile, expanded};

const SENDER: Sender = Sender { process: 7, thread: 70, now: 9000 };

fn command(id: u64, queue: u64, times: [u64; 4]) -> Message {
    Message::Command { name: format!("k{id}"), id, queue, number: id, times, status: 0.into(), size: Map::new() }
}

/// The events for messages, without those that give names.
fn events(messages: &[Message]) -> Vec<Value> {
    let (mut writer, mut out) = (EventWriter::default(), b"[".to_vec());
    for message in messages {
        writer.write(message, &SENDER, &mut out);
    }
    out.extend_from_slice(b"null]");
    let all: Vec<Value> = serde_json::from_slice(&out).expect("valid JSON");
    all.into_iter().filter(|event| event["ph"] != "M" && !event.is_null()).collect()
}

#[test]
fn slices_end_when_they_are_reported() {
    let args = Map::from_iter([("result".to_owned(), json!("CL_SUCCESS"))]);
    let slice = Message::Slice { name: "clFinish".to_owned(), group: "api".to_owned(), ns: 1500, args };
    let expected = json!({
        "ph": "X", "cat": "api", "name": "clFinish", "pid": 7, "tid": 70, "ts": 7.5, "dur": 1.5,
        "args": { "result": "CL_SUCCESS" },
    });
    assert_eq!(events(&[slice]), [expected]);
}

#[test]
fn commands_that_overlap_are_on_different_tracks() {
    let all = events(&[
        command(1, 1, [10, 20, 30, 100]),
        command(2, 1, [10, 20, 40, 110]),
        command(3, 1, [10, 20, 100, 120]),
        command(4, 2, [10, 20, 30, 100]),
    ]);
    let tracks: Vec<u64> = all.iter().filter(|event| event["ph"] == "X").filter_map(|e| e["tid"].as_u64()).collect();
    assert_eq!(tracks.len(), 4);
    assert!(tracks[0] != tracks[1] && tracks[0] == tracks[2] && !tracks[..3].contains(&tracks[3]), "{tracks:?}");
    let waits = all.iter().filter(|event| event["ph"] == "b").count();
    assert_eq!(waits, 8, "each command waited for others, and for a thread");
}

#[test]
fn arrows_lead_from_calls_and_from_other_commands() {
    let all = events(&[
        Message::Submitted { id: 1 },
        Message::Submitted { id: 2 },
        command(1, 1, [10, 20, 30, 100]),
        Message::Waited { before: 2, after: 1 },
        Message::Waited { before: 2, after: 0 },
        command(2, 1, [10, 110, 120, 130]),
    ]);
    let starts: Vec<_> = all.iter().filter(|e| e["ph"] == "s").map(|e| (e["tid"].as_u64(), e["ts"].as_f64())).collect();
    let slice = all.iter().find(|e| e["ph"] == "X" && e["name"] == "k1").expect("the first command");
    let call = (Some(70), Some(9.0));
    assert_eq!(starts, [call, call, (slice["tid"].as_u64(), Some(0.099)), call]);
    assert_eq!(all.iter().filter(|event| event["ph"] == "f").count(), starts.len());
}

#[test]
fn a_command_that_never_ran_takes_no_time() {
    let all = events(&[command(1, 1, [10, 0, 0, 50])]);
    let slice = all.iter().find(|event| event["ph"] == "X").expect("the command");
    assert_eq!((slice["ts"].as_f64(), slice["dur"].as_f64()), (Some(0.05), Some(0.001)));
}

#[test]
fn launches_have_a_size_and_notes_have_no_duration() {
    let size = Map::from_iter([("items".to_owned(), json!(64))]);
    let launch = Message::Command {
        name: "k".to_owned(),
        id: 1,
        queue: 1,
        number: 1,
        times: [1, 2, 3, 4],
        status: 0.into(),
        size,
    };
    let args = Map::from_iter([("lanes".to_owned(), json!(16))]);
    let note = Message::Note { name: "k".to_owned(), group: "kernel", args };
    let started = Message::Started { name: "k".to_owned(), id: 1, queue: 1 };
    let all = events(&[note, started, launch]);
    assert_eq!((&all[0]["ph"], &all[0]["cat"], &all[0]["args"]["lanes"]), (&json!("i"), &json!("kernel"), &json!(16)));
    let slice = all.iter().find(|event| event["ph"] == "X").expect("the command");
    assert_eq!(slice["args"]["items"], 64);
    assert_eq!(all.iter().filter(|event| event["ph"] == "i").count(), 1);
}

#[test]
fn files_are_closed_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("trace-%p.json");
    let file = TraceFile::new(path.clone());
    file.close();
    assert!(!expanded(&path).exists(), "nothing was recorded");
    let file = TraceFile::new(path.clone());
    file.add(&Message::Counter { name: "bytes".to_owned(), value: 3 }, &SENDER);
    file.close();
    file.add(&Message::Counter { name: "bytes".to_owned(), value: 4 }, &SENDER);
    file.close();
    let text = std::fs::read(expanded(&path)).expect("the file");
    let events: Vec<Value> = serde_json::from_slice(&text).expect("valid JSON");
    assert_eq!(events.iter().filter(|event| event["ph"] == "C").count(), 1);
    assert_eq!(expanded(Path::new("/a%p%pb")), Path::new(&format!("/a{0}{0}b", std::process::id())));
}
