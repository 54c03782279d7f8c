//! `clift-info --watch`: what running processes do that have `CLIFT_WATCH=1`.
//!
//! Each has a socket in `$XDG_RUNTIME_DIR/clift`, which answers a connection with one line of JSON. A socket whose process is
//! gone is removed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::units::{count, duration, size};

/// The time between two tables.
const PERIOD: Duration = Duration::from_secs(1);
/// The time over which a single table measures how busy workers are.
const SHORT_PERIOD: Duration = Duration::from_millis(200);
/// How long a process may take to answer.
const ANSWER_TIME: Duration = Duration::from_millis(500);
/// The longest answer.
const MAX_BYTES: u64 = 1 << 20;
/// How many running commands and kernels of a process are shown.
const SHOWN: usize = 6;

/// What a process says. What is missing is taken as none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Answer {
    process: u32,
    time_ns: u64,
    workers: u64,
    busy_ns: u64,
    queued: u64,
    started: u64,
    ended: u64,
    allocated_bytes: u64,
    running: Vec<Running>,
    kernels: Vec<Kernel>,
}

/// A command that runs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Running {
    name: String,
    queue: u64,
    ns: u64,
}

/// Launches of a kernel that have ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Kernel {
    name: String,
    launches: u64,
    ns: u64,
}

/// Shows a table once a second, or a single one.
pub fn run(once: bool) -> Result<()> {
    let parent =
        std::env::var_os("XDG_RUNTIME_DIR").context("XDG_RUNTIME_DIR is not set: it names the directory of sockets")?;
    let directory = PathBuf::from(parent).join("clift");
    if once {
        return Ok(io::stdout().write_all(table_of(&directory)?.as_bytes())?);
    }
    let mut before = ask_all(&directory)?;
    let mut period = SHORT_PERIOD;
    write!(io::stdout(), "\x1b[2J")?;
    loop {
        thread::sleep(period);
        let now = ask_all(&directory)?;
        let table = table(&before, &now);
        let mut out = io::stdout().lock();
        // From the upper left corner on; each line is cleared to its end, and what is below the table, too.
        write!(out, "\x1b[H{}\x1b[J", table.replace('\n', "\x1b[K\n"))?;
        out.flush()?;
        before = now;
        period = PERIOD;
    }
}

/// What the processes do whose sockets are in a directory.
pub fn table_of(directory: &Path) -> Result<String> {
    let before = ask_all(directory)?;
    thread::sleep(SHORT_PERIOD);
    Ok(table(&before, &ask_all(directory)?))
}

/// The answers of all processes.
fn ask_all(directory: &Path) -> Result<BTreeMap<u32, Answer>> {
    let found = match fs::symlink_metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        found => found.with_context(|| directory.display().to_string())?,
    };
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o777 == 0o700;
    ensure!(is_ours, "{} is not a directory of this user that nobody else can enter", directory.display());
    let mut answers = BTreeMap::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sock")
            && let Some(answer) = ask(&path)
        {
            answers.insert(answer.process, answer);
        }
    }
    Ok(answers)
}

/// The answer on a socket; `None` if there is none.
fn ask(path: &Path) -> Option<Answer> {
    let socket = match UnixStream::connect(path) {
        Ok(socket) => socket,
        Err(error) => {
            if error.kind() == io::ErrorKind::ConnectionRefused {
                // Its process is gone.
                let _ = fs::remove_file(path);
            }
            return None;
        }
    };
    socket.set_read_timeout(Some(ANSWER_TIME)).ok()?;
    let mut text = Vec::new();
    socket.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// What the processes do, and how busy their workers were since the answers before.
fn table(before: &BTreeMap<u32, Answer>, now: &BTreeMap<u32, Answer>) -> String {
    if now.is_empty() {
        return "no process with CLIFT_WATCH=1\n".to_owned();
    }
    let mut text = String::new();
    let mut line = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    line(format!(
        "{:>9}  {:<16} {:>7} {:>6} {:>8} {:>8} {:>10} {:>12}",
        "PROCESS", "NAME", "WORKERS", "BUSY", "QUEUED", "RUNNING", "ENDED", "MEMORY"
    ));
    for answer in now.values() {
        let busy = before.get(&answer.process).and_then(|before| busy(before, answer));
        let busy = busy.map_or_else(|| "-".to_owned(), |busy| format!("{:.0}%", busy * 100.0));
        line(format!(
            "{:>9}  {:<16} {:>7} {busy:>6} {:>8} {:>8} {:>10} {:>12}",
            answer.process,
            plain(&name(answer.process), 16),
            answer.workers,
            answer.queued,
            answer.started,
            count(answer.ended),
            size(answer.allocated_bytes)
        ));
        for Running { name, queue, ns } in answer.running.iter().take(SHOWN) {
            line(format!("{:>11}running {:<32} queue {queue}, for {}", "", plain(name, 32), duration(*ns as f64)));
        }
        for Kernel { name, launches, ns } in answer.kernels.iter().take(SHOWN) {
            line(format!(
                "{:>11}kernel  {:<32} {} launches in {}",
                "",
                plain(name, 32),
                count(*launches),
                duration(*ns as f64)
            ));
        }
    }
    text
}

/// The share of the workers' time that was spent in work-groups.
fn busy(before: &Answer, now: &Answer) -> Option<f64> {
    let time = now.time_ns.checked_sub(before.time_ns).filter(|time| *time > 0)?;
    let possible = time.checked_mul(now.workers.max(1))?;
    // Work-groups count when they end.
    Some((now.busy_ns.saturating_sub(before.busy_ns) as f64 / possible as f64).min(1.0))
}

fn name(process: u32) -> String {
    fs::read_to_string(format!("/proc/{process}/comm"))
        .map_or_else(|_| "?".to_owned(), |name| name.trim_end().to_owned())
}

/// A text of at most so many characters, without control characters, which a terminal would obey.
fn plain(text: &str, length: usize) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    let mut short: String = text.chars().map(plain).take(length).collect();
    if text.chars().count() > length {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;

    use super::*;

    const ANSWER: &str = r#"{"process":4294967295,"time_ns":2000,"workers":4,"busy_ns":3000,"queued":5,"started":1,"ended":1200,
        "allocated_bytes":8192,"running":[{"name":"\u001b[31mred","queue":3,"ns":1500}],
        "kernels":[{"name":"blur","launches":12,"ns":34000}]}"#;

    #[test]
    fn a_table_shows_what_processes_say_but_no_control_characters() {
        let now: Answer = serde_json::from_str(ANSWER).expect("an answer");
        let before = Answer { time_ns: 1000, busy_ns: 1000, ..now.clone() };
        let [before, now] = [before, now].map(|answer| BTreeMap::from([(answer.process, answer)]));
        let text = table(&before, &now);
        for part in ["4294967295", "50%", "8 KiB", "?[31mred", "queue 3, for 1.50 µs", "blur", "12 launches in 34.0 µs"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains('\u{1b}'));
        assert!(table(&BTreeMap::new(), &BTreeMap::new()).contains("no process"));
    }

    #[test]
    fn processes_are_asked_and_sockets_of_dead_ones_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).expect("its owner may");
        let dead = directory.path().join("1.sock");
        drop(UnixListener::bind(&dead).expect("a socket"));
        let listener = UnixListener::bind(directory.path().join("2.sock")).expect("a socket");
        let answering = thread::spawn(move || {
            let (mut client, _) = listener.accept().expect("a client");
            client.write_all(ANSWER.as_bytes()).expect("it reads");
        });
        let answers = ask_all(directory.path()).expect("a directory");
        answering.join().expect("no panic");
        assert_eq!(answers.len(), 1);
        assert!(!dead.exists());
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("its owner may");
        assert!(ask_all(directory.path()).is_err());
        assert!(ask_all(&directory.path().join("nowhere")).expect("none yet").is_empty());
    }
}
