//! `cargo xtask book`: renders the documents as HTML with mdbook, which it builds in the target directory if there is none.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::sh;

/// The version of mdbook that is built. One that is installed may be another.
const VERSION: &str = "0.5.4";

/// Arguments of `book`.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Renders `docs/` into `target/book/docs`. Files of the source tree that pages link to are copied to the same places beside it.
pub(crate) fn run(_: &Args) -> Result<()> {
    let program = if sh::on_path("mdbook") { PathBuf::from("mdbook") } else { built()? };
    let book = sh::target_dir().join("book");
    if book.exists() {
        fs::remove_dir_all(&book).context("cannot remove the old book")?;
    }
    let pages = book.join("docs");
    sh::run(Command::new(program).arg("build").arg(sh::root().join("docs")).arg("--dest-dir").arg(&pages))?;
    let broken = broken_links(&book, &pages)?;
    ensure!(broken.is_empty(), "links of the book that lead nowhere:\n{}", broken.join("\n"));
    println!("{}", pages.join("index.html").display());
    Ok(())
}

/// Builds mdbook, without its search and its server, unless that was done before. Rendering takes a second in any profile.
fn built() -> Result<PathBuf> {
    let tools = sh::target_dir().join("tools");
    let program = tools.join("bin/mdbook");
    if !program.is_file() {
        let mut install = sh::cargo();
        install.args(["install", "--quiet", "--locked", "--debug", "--no-default-features"]);
        install.arg(format!("mdbook@{VERSION}")).arg("--root").arg(&tools);
        // In a directory of its own, so that other builds need not wait.
        sh::run(install.arg("--target-dir").arg(tools.join("build")))?;
        fs::remove_dir_all(tools.join("build")).context("cannot remove the build directory of mdbook")?;
    }
    Ok(program)
}

/// The links between files that lead nowhere, with their pages. What they lead to in the source tree is copied.
fn broken_links(book: &Path, directory: &Path) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            broken.extend(broken_links(book, &path)?);
            continue;
        }
        // The page to print has the links of all pages, from another place.
        if path.extension().is_none_or(|extension| extension != "html") || path.ends_with("print.html") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let targets = text.split("href=\"").skip(1).filter_map(|rest| rest.split(['"', '#']).next());
        for target in targets.filter(|target| !target.is_empty() && !target.contains("://")) {
            let file = without_parents(&directory.join(target));
            let source = file.strip_prefix(book).map(|place| sh::root().join(place));
            if file.exists() {
                continue;
            }
            match source {
                Ok(source) if source.is_file() => {
                    fs::create_dir_all(file.parent().context("a file is in a directory")?)?;
                    fs::copy(source, file)?;
                }
                _ => broken.push(format!("{}: {target}", path.display())),
            }
        }
    }
    Ok(broken)
}

/// A path without `..`, which must not lead out of it.
fn without_parents(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, component| {
        match component {
            Component::ParentDir => drop(path.pop()),
            component => path.push(component),
        }
        path
    })
}
