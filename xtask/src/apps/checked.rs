//! What the checked kernels of a run reported: one line for each kernel and class of fault, with the first report.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// The fields of a report that are shown (`docs/checking.md`).
#[derive(Deserialize)]
struct Report {
    class: String,
    kernel: String,
    text: String,
}

/// Shows the reports in the file that `CLIFT_CHECK_OUTPUT` named. Without reports, there is no file.
///
/// # Errors
/// When the file is not one of reports.
pub(crate) fn say(path: &Path) -> Result<()> {
    let text = if path.exists() { std::fs::read_to_string(path)? } else { String::new() };
    let mut places: BTreeMap<(String, String), (usize, String)> = BTreeMap::new();
    for line in text.lines() {
        let report: Report = serde_json::from_str(line).with_context(|| format!("a report: {line}"))?;
        places.entry((report.class, report.kernel)).or_insert((0, report.text)).0 += 1;
    }
    for ((class, _), (count, text)) in &places {
        println!("    {class}: {count} reports such as: {text}");
    }
    if places.is_empty() {
        println!("    nothing was reported");
    }
    Ok(())
}
