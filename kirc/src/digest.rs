//! Digests of machine code, to see whether two compilers make the same.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use regex::Regex;

use crate::How;
use crate::input::Source;

/// Prints a line for each function of each file: digest, bytes of code, file, function. A file that cannot be compiled has one
/// line, with the reason.
pub(crate) fn all(out: &mut impl Write, files: &[PathBuf], how: &How) -> Result<ExitCode> {
    // Where code and data of this process lie: 47 bits, the highest of which are set.
    let address = Regex::new(r"(?i)\$0x[57][0-9a-f]{11}\b")?;
    for file in files {
        match functions(file, how) {
            Ok(functions) => {
                for (name, listing) in functions {
                    let text = address.replace_all(&listing, "ADDRESS");
                    let bytes = listing.lines().rev().find_map(|line| line.strip_prefix("; ")).unwrap_or_default();
                    writeln!(
                        out,
                        "{} {bytes} {} {name}",
                        &blake3::hash(text.as_bytes()).to_hex()[..16],
                        file.display()
                    )?;
                }
            }
            Err(reason) => writeln!(out, "error {}: {reason:#}", file.display())?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Names and listings of a file's functions.
fn functions(file: &Path, how: &How) -> Result<Vec<(String, String)>> {
    let log = Source::read(file)?.compile(&how.options(vec!["asm".to_owned()]))?.log;
    let mut functions: Vec<(String, String)> = Vec::new();
    for line in log.lines() {
        match line.strip_prefix("; asm ") {
            Some(name) => functions.push((name.to_owned(), String::new())),
            None => {
                if let Some((_, listing)) = functions.last_mut() {
                    listing.push_str(line);
                    listing.push('\n');
                }
            }
        }
    }
    Ok(functions)
}
