//! The roofline: how fast kernels compute, over how much they compute per byte, and what the machine allows (Williams, Waterman
//! and Patterson, *Roofline*).

use maud::{Markup, html};

use super::{colour, tables};
use crate::peaks::Peaks;
use crate::trace::summary::{Kernel, Summary};
use crate::units::{digits, metric};

/// Size of the drawing, and of its margins.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 350.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 44.0;
/// How many kernels have their names beside their points.
const NAMED: usize = 12;
/// Heights of texts.
const LINE: f64 = 14.0;

/// A kernel in the chart.
struct Point<'a> {
    kernel: &'a Kernel,
    intensity: f64,
    operations: f64,
    /// Whether it computes more, but nobody knows how much.
    is_bound: bool,
}

/// Logarithmic axes.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
}

impl Axes {
    fn x(&self, value: f64) -> f64 {
        LEFT + (value.log2() - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (value.log10() - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - TOP - BOTTOM)
    }

    fn around(points: &[Point<'_>], peaks: Option<Peaks>) -> Axes {
        let ridge = peaks.map(|peaks| peaks.operations / peaks.bandwidth);
        let xs = || points.iter().map(|point| point.intensity).chain(ridge).map(f64::log2);
        let ys =
            || points.iter().map(|point| point.operations).chain(peaks.map(|peaks| peaks.operations)).map(f64::log10);
        let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
        Axes {
            x: ((least(&mut xs()) - 1.0).floor(), (most(&mut xs()) + 2.0).ceil()),
            y: ((least(&mut ys()) - 0.3).floor(), (most(&mut ys()) + 0.15).ceil()),
        }
    }
}

/// The chart and what it leaves out.
pub(super) fn section(summary: &Summary, peaks: Option<Peaks>) -> Markup {
    let points: Vec<Point<'_>> = summary.kernels.iter().filter_map(point).collect();
    let missing: Vec<(&Kernel, &str)> = summary
        .kernels
        .iter()
        .filter(|kernel| kernel.launches() > 0)
        .filter_map(|kernel| Some((kernel, why_missing(kernel)?)))
        .collect();
    html! {
        section id="roofline" {
            h2 { "Roofline" }
            @if points.is_empty() {
                p.note { "No kernel can be shown: the trace has no counts of operations and bytes, or no kernel has both." }
            } @else {
                @if let Some(Peaks { operations, bandwidth }) = peaks {
                    p.note {
                        "This machine: " b { (metric(operations)) "FLOP/s" } " of 32-bit multiply-adds, " b { (metric(bandwidth)) "B/s" }
                        " of memory (triad). Above the sloping roof a kernel's data come from caches; below the roofs something else \
                         limits it."
                    }
                } @else {
                    p.note { "Without " code { "--peaks" } " the roofs are unknown: only kernels are shown." }
                }
                div.wide { (chart(summary, &points, peaks)) }
                p.note {
                    "Counts of operations and bytes are estimates, see the table. A triangle is a lower bound: the kernel has loops \
                     whose trip count is unknown, of which one iteration is counted."
                }
            }
            @if !missing.is_empty() && !points.is_empty() {
                p.note {
                    "Not shown: "
                    @for (place, (kernel, why)) in missing.iter().enumerate() {
                        @if place > 0 { ", " }
                        (tables::swatch(summary, &kernel.name)) " (" (why) ")"
                    }
                    "."
                }
            }
        }
    }
}

fn point(kernel: &Kernel) -> Option<Point<'_>> {
    let (work, rates) = (kernel.work?, kernel.rates()?);
    let intensity = work.intensity().filter(|intensity| *intensity > 0.0)?;
    (rates.floats > 0.0).then_some(Point { kernel, intensity, operations: rates.floats, is_bound: kernel.is_bound })
}

fn why_missing(kernel: &Kernel) -> Option<&'static str> {
    if point(kernel).is_some() {
        return None;
    }
    let Some(work) = kernel.work else { return Some("not counted") };
    Some(if work.floats <= 0.0 { "no floating-point operations" } else { "no global memory" })
}

/// What the machine allows at this intensity.
fn roof(peaks: Peaks, intensity: f64) -> f64 {
    peaks.operations.min(peaks.bandwidth * intensity)
}

fn chart(summary: &Summary, points: &[Point<'_>], peaks: Option<Peaks>) -> Markup {
    let axes = Axes::around(points, peaks);
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let columns = (axes.x.0 as i32..=axes.x.1 as i32).map(|power| f64::from(power).exp2());
    let rows = (axes.y.0 as i32..=axes.y.1 as i32).map(|power| 10f64.powi(power));
    let mut taken: Vec<[f64; 3]> = Vec::new();
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label="Operations per second over operations per byte" {
            @for value in columns {
                @let x = place(axes.x(value));
                line.grid x1=(x) x2=(x) y1=(TOP) y2=(bottom) {}
                text x=(x) y=(bottom + 16.0) text-anchor="middle" { (power_of_two(value)) }
            }
            @for value in rows {
                @let y = axes.y(value);
                line.grid x1=(LEFT) x2=(right) y1=(place(y)) y2=(place(y)) {}
                text x=(LEFT - 6.0) y=(place(y + 4.0)) text-anchor="end" { (metric(value).replace(".00", "").replace(".0", "")) }
            }
            text.title x=((LEFT + right) / 2.0) y=(HEIGHT - 8.0) text-anchor="middle" { "operations per byte" }
            text.title transform=(format!("translate(12 {}) rotate(-90)", (TOP + bottom) / 2.0)) text-anchor="middle" { "FLOP/s" }
            @if let Some(peaks) = peaks {
                (roofs(&axes, peaks))
            }
            // Small ones are on top.
            @for point in points {
                (mark(summary, &axes, point, peaks))
            }
            @for point in points.iter().take(NAMED) {
                @let (x, y, anchor) = label(&axes, point, &mut taken);
                text.name x=(place(x)) y=(place(y)) text-anchor=(anchor) { (shortened(&point.kernel.name)) }
            }
        }
    }
}

fn roofs(axes: &Axes, peaks: Peaks) -> Markup {
    let floor = 10f64.powf(axes.y.0);
    let ridge = peaks.operations / peaks.bandwidth;
    // Where the slope meets the left border or the bottom.
    let first = axes.x.0.exp2().max(floor / peaks.bandwidth);
    let points =
        [first, ridge, axes.x.1.exp2()].map(|x| format!("{},{}", place(axes.x(x)), place(axes.y(roof(peaks, x)))));
    let middle = (axes.x(first).midpoint(axes.x(ridge)), axes.y(roof(peaks, first)).midpoint(axes.y(peaks.operations)));
    let slope = (axes.y(peaks.operations) - axes.y(roof(peaks, first))) / (axes.x(ridge) - axes.x(first)).max(1.0);
    let turn = slope.atan().to_degrees();
    html! {
        polyline.roof points=(points.join(" ")) {}
        text.peak x=(place(axes.x(axes.x.1.exp2()) - 4.0)) y=(place(axes.y(peaks.operations) - 6.0)) text-anchor="end" {
            (metric(peaks.operations)) "FLOP/s"
        }
        text.peak transform=(format!("translate({} {}) rotate({turn:.1})", place(middle.0 - 5.0), place(middle.1 - 5.0))) text-anchor="middle" {
            (metric(peaks.bandwidth)) "B/s"
        }
    }
}

/// The radius of a kernel's point: its area is its share.
fn radius(kernel: &Kernel) -> f64 {
    4.0 + 9.0 * kernel.share.sqrt()
}

fn mark(summary: &Summary, axes: &Axes, point: &Point<'_>, peaks: Option<Peaks>) -> Markup {
    let Point { kernel, intensity, operations, is_bound } = point;
    let (x, y, r) = (axes.x(*intensity), axes.y(*operations), radius(kernel));
    let of_roof =
        peaks.map(|peaks| format!(", {} % of the roof", digits(100.0 * operations / roof(peaks, *intensity))));
    let title = format!(
        "{}: {}{}FLOP/s, {} operations per byte{}, {:.1} % of the time",
        kernel.name,
        if *is_bound { "at least " } else { "" },
        metric(*operations),
        digits(*intensity),
        of_roof.unwrap_or_default(),
        kernel.share * 100.0
    );
    let class = format!("mark k{}", colour(summary, &kernel.name));
    html! {
        @if *is_bound {
            polygon class=(class) points=(format!(
                "{},{} {},{} {},{}",
                place(x), place(y - 1.2 * r), place(x - r), place(y + 0.7 * r), place(x + r), place(y + 0.7 * r)
            )) { title { (title) } }
        } @else {
            circle class=(class) cx=(place(x)) cy=(place(y)) r=(place(r)) { title { (title) } }
        }
    }
}

/// A place for the name of a kernel's point: beside it, but not over another name.
fn label(axes: &Axes, point: &Point<'_>, taken: &mut Vec<[f64; 3]>) -> (f64, f64, &'static str) {
    let (x, y, r) = (axes.x(point.intensity), axes.y(point.operations), radius(point.kernel));
    let length = shortened(&point.kernel.name).chars().count() as f64 * 7.0;
    let (start, anchor) =
        if x + r + length + 8.0 > WIDTH - RIGHT { (x - r - 4.0 - length, "end") } else { (x + r + 4.0, "start") };
    let is_free = |y: f64, taken: &[[f64; 3]]| {
        (TOP + LINE..HEIGHT - BOTTOM).contains(&y)
            && taken.iter().all(|[from, to, at]| (at - y).abs() >= LINE || start >= *to || start + length <= *from)
    };
    let tries = [0.0, -1.0, 1.0, -2.0, 2.0, -3.0, 3.0, -4.0, 4.0].map(|line| y + 4.0 + line * LINE);
    let y = tries.into_iter().find(|y| is_free(*y, taken)).unwrap_or(y + 4.0);
    taken.push([start, start + length, y]);
    (if anchor == "end" { start + length } else { start }, y, anchor)
}

/// A name that fits.
fn shortened(name: &str) -> String {
    if name.chars().count() <= 24 { name.to_owned() } else { name.chars().take(23).chain(['…']).collect() }
}

fn place(number: f64) -> String {
    format!("{number:.1}")
}

fn power_of_two(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("1/{:.0}", 1.0 / value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roof_is_the_lower_of_both() {
        let peaks = Peaks { operations: 100.0, bandwidth: 10.0 };
        assert_eq!([roof(peaks, 1.0), roof(peaks, 10.0), roof(peaks, 40.0)], [10.0, 100.0, 100.0]);
    }

    #[test]
    fn names_are_not_over_each_other() {
        let kernel = Kernel { name: "kernel".to_owned(), ..Kernel::default() };
        let point = || Point { kernel: &kernel, intensity: 1.0, operations: 1e9, is_bound: false };
        let axes = Axes { x: (-4.0, 6.0), y: (7.0, 11.0) };
        let mut taken = Vec::new();
        let places: Vec<f64> = (0..5).map(|_| label(&axes, &point(), &mut taken).1).collect();
        for (number, y) in places.iter().enumerate() {
            assert!(places[..number].iter().all(|other| (other - y).abs() >= LINE), "{places:?}");
        }
        assert_eq!([power_of_two(0.125), power_of_two(4.0)], ["1/8", "4"]);
    }
}
