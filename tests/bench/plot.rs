//! The ratios as a chart: a bar per kernel and peer on a logarithmic scale, to the right if the subject is faster, and the
//! geometric means below them.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::{
    BLACK, ChartBuilder, Color, IntoDrawingArea, IntoLogRange, Palette, Palette99, PathElement, Rectangle, SVGBackend,
    SeriesLabelPosition, Text, TextStyle, WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::{Report, number};

/// Pixels per bar.
const BAR: u32 = 9;
/// Pixels for names, and for the other margins.
const NAMES: u32 = 190;
const MARGIN: u32 = 60;

/// Draws the ratios of `report`.
pub(crate) fn draw(report: &Report, path: &Path) -> Result<()> {
    let (subject, peers) = (report.subject(), report.peers());
    // From top to bottom: the kernels, then means.
    let mut lines: Vec<(String, Vec<Option<f64>>)> = report
        .kernels
        .iter()
        .map(|kernel| {
            let label = format!("{} ({})", kernel.row.name, kernel.row.kind.name());
            (label, peers.iter().map(|peer| kernel.ratio(subject, peer)).collect())
        })
        .collect();
    let mut mean = |label: String, kind| {
        let ratios = peers.iter().map(|peer| Some(report.mean(kind, peer)?.0));
        lines.push((label, ratios.collect()));
    };
    report.kinds().into_iter().for_each(|kind| mean(format!("mean: {}", kind.name()), Some(kind)));
    mean("mean: all kernels".to_owned(), None);
    let ratios = || lines.iter().flat_map(|(_, ratios)| ratios.iter().flatten().copied());
    let low = ratios().fold(0.5, f64::min) / 1.6;
    let high = ratios().fold(2.0, f64::max) * 1.6;

    let line_height = BAR * (peers.len().max(1) as u32 + 1);
    let size = (900, lines.len() as u32 * line_height + 2 * MARGIN);
    let area = SVGBackend::new(path, size).into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .caption(format!("How many times faster {} is", subject.name), ("sans-serif", 18))
        .x_label_area_size(32)
        .y_label_area_size(NAMES)
        .build_cartesian_2d((low..high).log_scale(), 0.0..lines.len() as f64)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_label_formatter(&|x| format!("{x}"))
        .light_line_style(BLACK.mix(0.05))
        .draw()
        .map_err(failed)?;

    let small = TextStyle::from(("sans-serif", 11));
    let right = Pos::new(HPos::Right, VPos::Center);
    let left = Pos::new(HPos::Left, VPos::Center);
    for (index, peer) in peers.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        let thickness = 0.8 / peers.len() as f64;
        let bars = lines.iter().enumerate().filter_map(|(line, (_, ratios))| {
            let top = (lines.len() - line) as f64 - 0.1 - thickness * index as f64;
            Some((ratios[index]?, top))
        });
        let bars: Vec<_> = bars.collect();
        let rectangle = |&(ratio, top): &(f64, f64)| {
            Rectangle::new([(ratio.min(1.0), top), (ratio.max(1.0), top - thickness)], colour.filled())
        };
        chart
            .draw_series(bars.iter().map(rectangle))
            .map_err(failed)?
            .label(&peer.name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 12, y + 4)], colour.filled()));
        let value = |&(ratio, top): &(f64, f64)| {
            let (x, anchor) = if ratio < 1.0 { (ratio * 0.97, right) } else { (ratio * 1.03, left) };
            Text::new(number(ratio), (x, top - thickness / 2.0), small.clone().pos(anchor))
        };
        chart.draw_series(bars.iter().map(value)).map_err(failed)?;
    }
    let line = PathElement::new([(1.0, 0.0), (1.0, lines.len() as f64)], BLACK);
    chart.draw_series([line]).map_err(failed)?;
    let name = |(line, (label, _)): (usize, &(String, Vec<Option<f64>>))| {
        let middle = (lines.len() - line) as f64 - 0.5;
        Text::new(label.clone(), (low, middle), small.clone().pos(right))
    };
    chart.draw_series(lines.iter().enumerate().map(name)).map_err(failed)?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(failed)?;
    area.present().map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("the plot: {error}")
}
