//! Measurements as a table in Markdown.

use std::fmt::Write;

use crate::{Curve, Measured};

/// Kernels with fewer instructions do not count for exponents: what every build takes is a large part of their time.
const FEWEST: f64 = 4000.0;

/// A row for each family: seconds at each size, and exponents.
pub(crate) fn table(curves: &[Curve]) -> String {
    let mut text = String::from(
        "| kernel | seconds for 1,000, 8,000, 64,000, 500,000 instructions | us per instruction | exponent | MB | exponent | first launch |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for curve in curves {
        let seconds: Vec<String> = curve.points.iter().map(|(_, measured)| rounded(measured.seconds)).collect();
        let mut seconds = seconds.join(", ");
        if let Some((instructions, reason)) = &curve.failure {
            let _ = write!(seconds, ", at {instructions:.0}: {reason}");
        }
        let Some((instructions, last)) = curve.points.last() else {
            let _ = writeln!(text, "| {} | {seconds} | | | | | |", curve.family.name);
            continue;
        };
        let _ = writeln!(
            text,
            "| `{}` | {seconds} | {:.1} | {} | {:.0} | {} | {} |",
            curve.family.name,
            last.seconds * 1e6 / instructions,
            exponent(curve, |measured| measured.seconds),
            last.megabytes,
            exponent(curve, |measured| measured.megabytes),
            last.launch.map_or_else(|| "-".to_owned(), |seconds| format!("{} s", rounded(seconds))),
        );
    }
    text
}

fn rounded(seconds: f64) -> String {
    if seconds < 0.995 { format!("{seconds:.2}") } else { format!("{seconds:.1}") }
}

/// The exponent of the growth: the slope of the line through the logarithms.
fn exponent(curve: &Curve, of: impl Fn(&Measured) -> f64) -> String {
    let points = curve.points.iter().filter(|(instructions, _)| *instructions >= FEWEST);
    let points: Vec<(f64, f64)> = points.map(|(x, measured)| (x.ln(), of(measured).max(0.001).ln())).collect();
    if points.len() < 2 {
        return "-".to_owned();
    }
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let (over, under) = points
        .iter()
        .fold((0.0, 0.0), |(over, under), point| (over + (point.0 - x) * (point.1 - y), under + (point.0 - x).powi(2)));
    format!("{:.2}", over / under)
}
