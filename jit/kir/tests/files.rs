//! Runs the file tests of `jit/tests/files/kir` whose commands this crate knows; the others are run by the crates that know them.
//!
//! `cargo test -p clift-kir --test files -- NAME` runs those whose path contains NAME. `CLIFT_BLESS=1` accepts what comes out.
#![allow(missing_docs, reason = "a test")]

use std::path::Path;
use std::process::ExitCode;

use clift_kir::testing::filetest::{FileTest, files};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/files/kir");
    let paths = files(&root).unwrap_or_else(|e| panic!("{e}"));
    let trials = paths.into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        Trial::test(name, move || {
            let file = FileTest::load(&path)?;
            for command in file.commands() {
                file.run(&command).unwrap_or(Ok(())).map_err(Failed::from)?;
            }
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
