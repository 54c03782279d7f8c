//! `cargo xtask book`: renders the documents as HTML with mdbook, which it installs in the build directory if there is none.

use std::process::Command;

use anyhow::Result;

use crate::sh;

/// Arguments of `book`.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Renders `docs/` into `target/book`.
pub(crate) fn run(_: &Args) -> Result<()> {
    let mut mdbook = Command::new("mdbook");
    if !sh::on_path("mdbook") {
        let tools = sh::target_dir().join("tools");
        let program = tools.join("bin/mdbook");
        if !program.is_file() {
            sh::run(sh::cargo().args(["install", "--locked", "mdbook", "--root"]).arg(&tools))?;
        }
        mdbook = Command::new(program);
    }
    sh::run(mdbook.arg("build").arg(sh::root().join("docs")).arg("--dest-dir").arg(sh::target_dir().join("book")))
}
