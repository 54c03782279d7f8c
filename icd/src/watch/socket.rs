//! The socket: `$XDG_RUNTIME_DIR/clift/PID.sock`, in a directory that nobody else can enter.
//!
//! A connection gets one line of JSON and is closed; nothing is read from it. The socket is removed when the process exits. A
//! process that is killed leaves its socket behind, which `clift-info --watch` removes.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use clift_runtime::clock::now_ns;
use clift_runtime::pool;

use super::activity::Activity;

/// How long a client may take to accept its answer.
const CLIENT_TIME: Duration = Duration::from_secs(1);
/// The pause after a connection that could not be accepted, such as when there are no more file descriptors.
const PAUSE: Duration = Duration::from_millis(200);
const STACK_BYTES: usize = 256 << 10;

static OPENED: OnceLock<Opened> = OnceLock::new();

/// The process's socket.
struct Opened {
    path: PathBuf,
    activity: Activity,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("XDG_RUNTIME_DIR is not set to a directory")]
    NoDirectory,
    #[error("{0} must be a directory of this user that nobody else can enter (mode 0700)")]
    NotOurs(PathBuf),
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

/// Opens the socket and starts the thread that answers. A second call returns the same.
pub(super) fn open() -> Result<&'static Activity, OpenError> {
    if let Some(opened) = OPENED.get() {
        return Ok(&opened.activity);
    }
    let parent = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|parent| parent.is_absolute());
    let directory = directory_in(&parent.ok_or(OpenError::NoDirectory)?)?;
    let path = directory.join(format!("{}.sock", std::process::id()));
    let failed = |error| OpenError::Io(path.clone(), error);
    // A process of the same number that was killed may have left one.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&path).map_err(failed)?;
    let opened = OPENED.get_or_init(|| Opened { path: path.clone(), activity: Activity::new() });
    clift_runtime::at_exit(remove);
    let builder = thread::Builder::new().name("clift-answers".to_owned()).stack_size(STACK_BYTES);
    let started = clift_runtime::with_signals_blocked(|| builder.spawn(move || serve(&listener, &opened.activity)));
    if let Err(error) = started {
        remove();
        return Err(failed(error));
    }
    Ok(&opened.activity)
}

/// Our directory in another one; made if there is none. It must be ours, and closed to others.
fn directory_in(parent: &Path) -> Result<PathBuf, OpenError> {
    let directory = parent.join("clift");
    let failed = |error| OpenError::Io(directory.clone(), error);
    match DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    // A symbolic link is not ours.
    let found = fs::symlink_metadata(&directory).map_err(failed)?;
    let user = rustix::process::geteuid().as_raw();
    if !found.is_dir() || found.uid() != user || found.mode() & 0o777 != 0o700 {
        return Err(OpenError::NotOurs(directory));
    }
    Ok(directory)
}

/// Answers clients until the process ends.
fn serve(listener: &UnixListener, activity: &Activity) {
    loop {
        match listener.accept() {
            // A client may go away; that does not concern the process.
            Ok((client, _)) => drop(answer(client, activity)),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn answer(mut client: UnixStream, activity: &Activity) -> io::Result<()> {
    client.set_write_timeout(Some(CLIENT_TIME))?;
    let mut line = activity.describe(now_ns(), pool::worker_count()).to_string();
    line.push('\n');
    client.write_all(line.as_bytes())
}

/// Process exit.
extern "C" fn remove() {
    if let Some(opened) = OPENED.get()
        && opened.activity.is_of_this_process()
    {
        let _ = fs::remove_file(&opened.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn the_directory_is_closed_to_others() {
        let parent = tempfile::tempdir().expect("a directory");
        let directory = directory_in(parent.path()).expect("a new directory");
        assert_eq!(fs::metadata(&directory).expect("it exists").mode() & 0o777, 0o700);
        assert_eq!(directory_in(parent.path()).expect("the same"), directory);
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("its owner may");
        assert!(matches!(directory_in(parent.path()), Err(OpenError::NotOurs(_))));
    }

    #[test]
    fn a_symbolic_link_or_a_file_is_refused() {
        let parent = tempfile::tempdir().expect("a directory");
        let place = parent.path().join("clift");
        symlink(parent.path(), &place).expect("a link");
        assert!(matches!(directory_in(parent.path()), Err(OpenError::NotOurs(_))));
        fs::remove_file(&place).expect("the link");
        fs::write(&place, "").expect("a file");
        assert!(matches!(directory_in(parent.path()), Err(OpenError::NotOurs(_))));
        assert!(matches!(directory_in(&parent.path().join("nowhere")), Err(OpenError::Io(..))));
    }
}
