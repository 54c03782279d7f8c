//! The installed files: the stripped library and programs, the registration, the manual pages, the documents; and debug symbols.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Build, remove};
use crate::sh;

/// The installed programs. Each has a manual page in `packaging/`.
pub(super) const PROGRAMS: [&str; 2] = ["clift-info", "clift-report"];

/// Makes the trees of a build from a library and the programs beside it.
pub(super) fn make(build: &Build, library: &Path) -> Result<()> {
    remove(&build.output)?;
    binary(build, library, "usr/lib/clift/libclift.so", 0o644)?;
    let packaging = sh::root().join("packaging");
    let mut compressed = vec!["usr/share/doc/clift/changelog".to_owned()];
    for program in PROGRAMS {
        binary(build, &library.with_file_name(program), &format!("usr/bin/{program}"), 0o755)?;
        let page = format!("usr/share/man/man1/{program}.1");
        text(build, &page, &fs::read_to_string(packaging.join(format!("{program}.1")))?)?;
        compressed.push(page);
    }
    text(build, "etc/OpenCL/vendors/clift.icd", "/usr/lib/clift/libclift.so\n")?;
    text(build, "usr/share/doc/clift/copyright", &fs::read_to_string(packaging.join("copyright"))?)?;
    text(build, "usr/share/doc/clift/changelog", &changelog(build)?)?;
    for compressed in compressed {
        sh::run(Command::new("gzip").args(["-9", "-n", "-f"]).arg(build.root.join(compressed)))?;
    }
    // Directories are readable by all, whatever the umask.
    let trees = [&build.root, &build.symbols];
    sh::run(Command::new("find").args(trees).args(["-type", "d", "-exec", "chmod", "755", "{}", "+"]))
}

/// A program or library: stripped, with its symbols in the other tree, where debuggers look for them by its build id.
fn binary(build: &Build, built: &Path, place: &str, mode: u32) -> Result<()> {
    let (target, symbols) = (build.root.join(place), build.symbols.join("symbols"));
    create_parent(&target)?;
    create_parent(&symbols)?;
    fs::copy(built, &target).with_context(|| format!("cannot pack {}", built.display()))?;
    sh::run(
        Command::new("objcopy").args(["--only-keep-debug", "--compress-debug-sections"]).args([&target, &symbols]),
    )?;
    sh::run(Command::new("strip").args(["--strip-unneeded", "--remove-section=.comment"]).arg(&target))?;
    fs::set_permissions(&target, fs::Permissions::from_mode(mode))?;
    let id = build_id(&target)?;
    let place = build.symbols.join(format!("usr/lib/debug/.build-id/{}/{}.debug", &id[..2], &id[2..]));
    create_parent(&place)?;
    fs::rename(symbols, &place)?;
    fs::set_permissions(&place, fs::Permissions::from_mode(0o644))?;
    Ok(())
}

/// The build id in a program's notes.
fn build_id(program: &Path) -> Result<String> {
    let notes = sh::output(Command::new("readelf").arg("-n").arg(program)).context("readelf failed")?;
    let id = notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: "));
    Ok(id.with_context(|| format!("{} has no build id", program.display()))?.to_owned())
}

fn text(build: &Build, place: &str, content: &str) -> Result<()> {
    let target = build.root.join(place);
    create_parent(&target)?;
    fs::write(&target, content)?;
    fs::set_permissions(&target, fs::Permissions::from_mode(0o644))?;
    Ok(())
}

fn create_parent(path: &Path) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
    Ok(())
}

/// The changelog in Debian's format: the list of the version's section of `CHANGELOG.md`.
fn changelog(build: &Build) -> Result<String> {
    let text = fs::read_to_string(sh::root().join("CHANGELOG.md"))?;
    let version = build.version;
    let section = text.split("\n## ").find(|section| section.starts_with(version));
    let section = section.with_context(|| format!("CHANGELOG.md has no section {version}"))?;
    let (_, list) = section.split_once('\n').unwrap_or_default();
    let items: String = format!("\n{list}").split("\n- ").skip(1).map(changelog_item).collect();
    let date = sh::output(Command::new("date").args(["-u", "-R", "-d", &format!("@{}", build.epoch)]));
    let date = date.context("date failed")?;
    Ok(format!("clift ({version}) unstable; urgency=medium\n\n{items}\n -- {}  {date}", super::deb::MAINTAINER))
}

/// An item of the list, in lines of at most 80 characters.
fn changelog_item(item: &str) -> String {
    let (mut text, mut line) = (String::new(), String::from("  *"));
    for word in item.split_whitespace() {
        if line.len() + 1 + word.len() > 80 {
            text += &line;
            text.push('\n');
            line = "   ".to_owned();
        }
        line.push(' ');
        line += word;
    }
    text + &line + "\n"
}
