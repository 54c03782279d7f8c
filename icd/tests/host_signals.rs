//! The front end in a host that handles `SIGCHLD` itself. It is a separate test program because signal handling is per process.
#![allow(unsafe_code, reason = "changes how the process treats a signal")]

use std::sync::Arc;
use std::time::Duration;

use clift::frontend::clang::Clang;
use clift::frontend::{BuildOptions, FrontEnd, Job, Profile};

/// A handler that reaps every child, as some hosts have it.
extern "C" fn reap_everything(_: libc::c_int) {
    // SAFETY: waitpid is allowed in signal handlers and may be told to store no status.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
}

#[test]
fn sigchld_ignored_or_handled_elsewhere() {
    let clang = Clang::new(None, Duration::from_secs(60));
    if clang.identity().is_none() {
        eprintln!("skipped: no clang >= 20 installed");
        return;
    }
    let (options, profile) = (BuildOptions::default(), Arc::new(Profile::default()));
    let job = |source: &'static str| Job {
        source: source.as_bytes(),
        headers: &[],
        options: &options,
        profile: &profile,
        level: 2,
        whole: true,
    };
    for handler in [libc::SIG_IGN, reap_everything as *const () as libc::sighandler_t] {
        // SAFETY: both handlers are safe at any time.
        assert_ne!(unsafe { libc::signal(libc::SIGCHLD, handler) }, libc::SIG_ERR);
        for _ in 0..3 {
            let compiled = clang.compile(&job("kernel void k(global int *p) { *p = 1; }"), None).unwrap();
            assert!(!compiled.words.is_empty() && compiled.log.is_empty());
            let failure = clang.compile(&job("kernel void k(global int *p) { *p = }"), None).unwrap_err();
            assert!(failure.log.contains("expected expression"), "{}", failure.log);
        }
    }
}
