//! `cargo xtask dependencies`: fails if a manifest lists a dependency that no source file uses.
//!
//! A dependency counts as used if its name occurs as a path in a source file of the package. Dependencies that are needed for
//! another reason are listed in `package.metadata.cargo-machete.ignored`, so that `cargo machete` accepts them too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use toml::Table;

use crate::sh;

/// Arguments of `dependencies`.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// The part of cargo's metadata that is needed.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
    metadata: Option<PackageMetadata>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    rename: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct PackageMetadata {
    #[serde(rename = "cargo-machete")]
    machete: Option<Machete>,
}

#[derive(Deserialize)]
struct Machete {
    ignored: Vec<String>,
}

/// Checks the manifests of the workspace.
pub(crate) fn run(_: &Args) -> Result<()> {
    let output = sh::output(sh::cargo().args(["metadata", "--no-deps", "--offline", "--format-version", "1"]));
    let metadata: Metadata = serde_json::from_str(&output.context("cargo metadata failed")?)?;
    let directories: Vec<&Path> =
        metadata.packages.iter().filter_map(|package| package.manifest_path.parent()).collect();
    let mut listed = BTreeSet::new();
    let mut unused = Vec::new();
    for package in &metadata.packages {
        let directory = package.manifest_path.parent().context("a manifest is in a directory")?;
        let nested: Vec<&Path> = directories.iter().copied().filter(|other| *other != directory).collect();
        let mut texts = Vec::new();
        read_sources(directory, &nested, &mut texts)?;
        for target in package.targets.iter().filter(|target| !target.src_path.starts_with(directory)) {
            texts.push(fs::read_to_string(&target.src_path)?);
        }
        let ignored =
            package.metadata.iter().flat_map(|metadata| &metadata.machete).flat_map(|machete| &machete.ignored);
        let ignored: BTreeSet<&String> = ignored.collect();
        for dependency in &package.dependencies {
            listed.insert(dependency.name.clone());
            let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
            let identifier = name.replace('-', "_");
            if !ignored.contains(name) && !texts.iter().any(|text| uses(text, &identifier)) {
                unused.push(format!("{}: {name}", package.name));
            }
        }
    }
    let workspace: Table = fs::read_to_string(sh::root().join("Cargo.toml"))?.parse()?;
    let shared =
        workspace.get("workspace").and_then(|table| table.get("dependencies")).and_then(|table| table.as_table());
    for name in shared.context("the workspace has dependencies")?.keys().filter(|name| !listed.contains(*name)) {
        unused.push(format!("workspace: {name}"));
    }
    if !unused.is_empty() {
        bail!("unused dependencies:\n{}", unused.join("\n"));
    }
    Ok(())
}

/// Reads the Rust files below a directory, without those of other packages and of the build.
fn read_sources(directory: &Path, nested: &[&Path], texts: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            // Other directories may be called like the one of the build.
            if path != sh::root().join("target") && !nested.contains(&path.as_path()) {
                read_sources(&path, nested, texts)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.push(fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// Whether a text has a path that begins with `crate_name`, outside of line comments.
fn uses(text: &str, crate_name: &str) -> bool {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
        line.match_indices(crate_name).any(|(start, _)| {
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            let (before, after) = (&line[..start], &line[start + crate_name.len()..]);
            !before.ends_with(is_name) && ["::", ";", " as "].iter().any(|next| after.starts_with(next))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::uses;

    #[test]
    fn paths_are_uses() {
        assert!(
            uses("use half::f16;", "half")
                && uses("    let x = half::f16::ZERO;", "half")
                && uses("use half as h;", "half")
        );
        assert!(!uses("// half::f16", "half") && !uses("behalf::f16", "half") && !uses("let half = 1", "half"));
    }
}
