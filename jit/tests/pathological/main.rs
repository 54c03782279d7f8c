//! Modules that are small and make work grow: deep chains, and nests in which everything is used twice, of types, constants,
//! expressions, blocks, calls and decorations. Each is built, or refused, in bounded time and on a small stack: a walk that
//! visits what is shared again and again does not end, one that descends by recursion overflows the stack (and ends the test's
//! process).
//!
//! `CLIFT_DEPTH=N` makes the chains N long.
#![allow(missing_docs, reason = "a test")]

mod shapes;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clift_jit::{ModuleInput, Options, compile};
use libtest_mimic::{Arguments, Failed, Trial};

/// What no module may take, in a debug build on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// Stack of the thread that builds. Builds run on threads of applications.
const STACK: usize = 1 << 20;

fn main() -> ExitCode {
    let trials = shapes::ALL.iter().map(|&(name, make)| Trial::test(name, move || check(make).map_err(Failed::from)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Builds a module, optimized and not.
fn check(make: fn(u32) -> Vec<u32>) -> Result<(), String> {
    let depth = std::env::var("CLIFT_DEPTH").ok().and_then(|depth| depth.parse().ok()).unwrap_or(shapes::DEPTH);
    let words = make(depth);
    let building = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let start = Instant::now();
        let input = ModuleInput::new(&words);
        let built = compile(&[input], &Options { arg_info: true, ..Options::default() });
        (start.elapsed(), built.err().map(|error| error.to_string()))
    });
    let (took, error) =
        building.map_err(|error| error.to_string())?.join().map_err(|_| "the build panicked".to_owned())?;
    let what = error.unwrap_or_else(|| "built".to_owned());
    eprintln!("{took:?}: {what}");
    if what.contains("malformed") {
        return Err(what);
    }
    if took > LIMIT { Err(format!("took {took:?}: {what}")) } else { Ok(()) }
}
