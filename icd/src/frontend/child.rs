//! Runs a compiler as a child process: the source goes in through an anonymous file, the result and the diagnostics come out
//! through pipes. Time, memory and output size are limited. The limit on time is on processor time, so that a build does not
//! fail because the machine is busy or the child was stopped for a while. The operating system enforces it even after the host
//! has exited.
//!
//! The host is a foreign process, so this module makes no assumptions about it. `SIGCHLD` may be ignored, or a handler may reap
//! every child; then the exit status is unknown and the output decides. The host may leak descriptors into the child; those
//! created here are close-on-exec. No pipe is written to, so no `SIGPIPE` can be raised. The child inherits the host's
//! environment and its working directory, to which relative `-I` directories refer.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal};

/// Limit on a child's standard output in bytes: far above the size of any real module.
const MAX_OUTPUT: usize = 256 << 20;
/// Limit on the diagnostics kept, in bytes; the remainder is read and discarded.
const MAX_DIAGNOSTICS: usize = 4 << 20;

/// Limit on a child's memory in bytes of addresses.
const MAX_MEMORY: u64 = 16 << 30;

/// Limit on a child's elapsed time, as a multiple of its processor time: it may block forever.
const ELAPSED_TIME_FACTOR: u32 = 10;
/// Processor time in seconds between a child's `SIGXCPU` and its `SIGKILL`.
const GRACE: u64 = 2;

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited with this status.
    Exit(i32),
    /// A signal killed it.
    Signal(i32),
    /// It exceeded its time limit and was killed.
    TimedOut,
    /// It exceeded the limit on its output and was killed.
    TooMuchOutput,
    /// Another part of the host reaped it.
    Unknown,
}

/// The result of a run.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error, with invalid UTF-8 replaced.
    pub diagnostics: String,
}

/// Runs `program` with `args` and `input` as standard input, for at most `limit` of processor time (rounded up to whole
/// seconds).
///
/// # Errors
/// When the child could not be started or its pipes could not be read.
pub fn run(program: &Path, args: &[String], input: &[u8], limit: Duration) -> io::Result<Finished> {
    let deadline = Instant::now() + limit * ELAPSED_TIME_FACTOR;
    let mut child = Command::new(program)
        .args(args)
        // A tool preloaded into the host (a tracer, a sanitizer) is not meant for the compiler.
        .env_remove("LD_PRELOAD")
        // Otherwise a crashing LLVM starts another process to print its stack.
        .env("LLVM_DISABLE_SYMBOLIZATION", "1")
        .env("LC_ALL", "C")
        .stdin(anonymous_file(input)?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    limit_resources(&child, limit);
    let result = drain(&mut child, deadline);
    match &result {
        Ok((None, ..)) => {}
        Ok((Some(_), ..)) | Err(_) => kill(&mut child),
    }
    let status = wait(&mut child, deadline);
    let (verdict, output, diagnostics) = result?;
    let end = verdict.unwrap_or(status);
    Ok(Finished { end, output, diagnostics: String::from_utf8_lossy(&diagnostics).into_owned() })
}

/// Limits the child's processor time and memory.
fn limit_resources(child: &Child, limit: Duration) {
    let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
    let time = Rlimit { current: Some(seconds), maximum: Some(seconds + GRACE) };
    let memory = Rlimit { current: Some(MAX_MEMORY), maximum: Some(MAX_MEMORY) };
    // Without a valid process ID the limits would apply to this process.
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    for (resource, limits) in [(Resource::Cpu, time), (Resource::As, memory)] {
        // A lower limit that the host has set stays.
        let lowest = |ours: Option<u64>, theirs: Option<u64>| ours.into_iter().chain(theirs).min();
        let limited = rustix::process::prlimit(Some(pid), resource, limits).and_then(|before| {
            let (current, maximum) = (lowest(limits.current, before.current), lowest(limits.maximum, before.maximum));
            rustix::process::prlimit(Some(pid), resource, Rlimit { current, maximum })
        });
        if let Err(error) = limited {
            tracing::debug!(%error, ?resource, "the compiler could not be limited");
        }
    }
}

/// An unnamed file that holds `content`, positioned at its start.
fn anonymous_file(content: &[u8]) -> io::Result<File> {
    let mut file = match rustix::fs::memfd_create("clift-source", MemfdFlags::CLOEXEC) {
        Ok(fd) => File::from(fd),
        Err(_) => tempfile::tempfile()?,
    };
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

/// Reads both pipes to their ends. The first value is the reason to kill the child, if there is one.
fn drain(child: &mut Child, deadline: Instant) -> io::Result<(Option<End>, Vec<u8>, Vec<u8>)> {
    let mut out = child.stdout.take();
    let mut err = child.stderr.take();
    let (mut output, mut diagnostics) = (Vec::new(), Vec::new());
    let mut buffer = vec![0_u8; 64 << 10];
    while out.is_some() || err.is_some() {
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            return Ok((Some(End::TimedOut), output, diagnostics));
        };
        let (out_ready, err_ready) = {
            let mut fds = Vec::with_capacity(2);
            fds.extend(out.as_ref().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
            fds.extend(err.as_ref().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            match rustix::event::poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
            (out.is_some() && ready.next() == Some(true), err.is_some() && ready.next() == Some(true))
        };
        if out_ready && !read_some(&mut out, &mut buffer, &mut output, usize::MAX)? {
            out = None;
        }
        if err_ready && !read_some(&mut err, &mut buffer, &mut diagnostics, MAX_DIAGNOSTICS)? {
            err = None;
        }
        if output.len() > MAX_OUTPUT {
            return Ok((Some(End::TooMuchOutput), output, diagnostics));
        }
    }
    Ok((None, output, diagnostics))
}

/// Reads the available bytes; false at the end of the pipe. Bytes beyond `keep` are discarded.
fn read_some<R: Read>(pipe: &mut Option<R>, buffer: &mut [u8], sink: &mut Vec<u8>, keep: usize) -> io::Result<bool> {
    let Some(pipe) = pipe else { return Ok(false) };
    match pipe.read(buffer) {
        Ok(0) => Ok(false),
        Ok(count) => {
            let room = keep.saturating_sub(sink.len()).min(count);
            sink.extend_from_slice(&buffer[..room]);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error) => Err(error),
    }
}

/// Kills the child, which may have exited already.
fn kill(child: &mut Child) {
    if let Err(error) = child.kill() {
        tracing::debug!(%error, "the compiler could not be killed");
    }
}

/// Reaps the child. Its pipes are closed, so it is about to exit, unless it closed them on purpose.
fn wait(child: &mut Child, deadline: Instant) -> End {
    let mut pause = Duration::from_micros(20);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return end_of(status),
            Ok(None) if Instant::now() >= deadline => {
                kill(child);
                return match child.wait() {
                    Ok(_) => End::TimedOut,
                    Err(_) => End::Unknown,
                };
            }
            Ok(None) => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
            Err(_) => return End::Unknown,
        }
    }
}

/// The meaning of a wait status.
fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exit(code),
        (None, Some(signal)) if signal == Signal::XCPU.as_raw() => End::TimedOut,
        (None, Some(signal)) => End::Signal(signal),
        (None, None) => End::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{End, MAX_DIAGNOSTICS, run};
    use std::path::Path;
    use std::time::{Duration, Instant};

    fn shell(script: &str, input: &[u8], limit: Duration) -> super::Finished {
        run(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()], input, limit).unwrap()
    }

    #[test]
    fn input_output_and_diagnostics_are_transferred() {
        let finished = shell("cat; echo bad >&2; exit 3", b"hello", Duration::from_secs(10));
        assert_eq!(finished.end, End::Exit(3));
        assert_eq!(finished.output, b"hello");
        assert_eq!(finished.diagnostics, "bad\n");
    }

    #[test]
    fn a_large_input_and_output_do_not_deadlock() {
        let input = vec![b'x'; 3 << 20];
        let finished = shell("tee /dev/stderr", &input, Duration::from_secs(20));
        assert_eq!(finished.end, End::Exit(0));
        assert_eq!(finished.output.len(), input.len());
        assert_eq!(finished.diagnostics.len(), input.len().min(MAX_DIAGNOSTICS));
    }

    #[test]
    fn an_unread_input_raises_no_signal() {
        let finished = shell("exec 0<&-; exit 0", &vec![b'x'; 1 << 20], Duration::from_secs(10));
        assert_eq!(finished.end, End::Exit(0));
    }

    #[test]
    fn a_hanging_child_is_killed() {
        let start = Instant::now();
        let finished = shell("echo partial; exec sleep 60", b"", Duration::from_millis(200));
        assert_eq!(finished.end, End::TimedOut);
        assert_eq!(finished.output, b"partial\n");
        assert!(start.elapsed() < Duration::from_secs(20));
        // The kernel stops a child that keeps the processor busy.
        let finished = shell("echo partial; while :; do :; done", b"", Duration::from_secs(1));
        assert_eq!(finished.end, End::TimedOut);
        assert_eq!(finished.output, b"partial\n");
        // A child that closes its pipes first is killed too.
        let finished = shell("exec 1>&- 2>&-; exec sleep 60", b"", Duration::from_millis(200));
        assert_eq!(finished.end, End::TimedOut);
    }

    #[test]
    fn a_crash_is_a_signal() {
        assert_eq!(shell("kill -SEGV $$", b"", Duration::from_secs(10)).end, End::Signal(11));
    }

    /// No signal is blocked, no descriptor of ours is open, and the memory is limited.
    #[test]
    fn children_inherit_nothing_of_ours() {
        let mine = std::fs::File::open("/proc/self/status").unwrap();
        // The limits are set when the child has started.
        let script = "until [ \"$(ulimit -v)\" != unlimited ]; do sleep 0.01; done
            grep SigBlk /proc/self/status; ls -l /proc/self/fd; ulimit -v";
        let finished = shell(script, b"", Duration::from_secs(10));
        let text = String::from_utf8(finished.output).unwrap();
        assert!(text.contains("SigBlk:\t0000000000000000"), "{text}");
        assert!(!text.contains("/status"), "{text}");
        assert!(text.lines().last().unwrap().parse::<u64>().is_ok_and(|kib| kib <= super::MAX_MEMORY >> 10), "{text}");
        drop(mine);
    }

    #[test]
    fn a_missing_program_is_an_error() {
        assert!(run(Path::new("/no/such/program"), &[], b"", Duration::from_secs(1)).is_err());
    }
}
