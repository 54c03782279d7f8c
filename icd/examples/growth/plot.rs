//! Times over sizes as a chart with logarithmic scales: a straight line as steep as the grey ones is linear growth.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::{
    BLACK, ChartBuilder, Circle, Color, IntoDrawingArea, IntoLogRange, Palette, Palette99, PathElement, SVGBackend,
    SeriesLabelPosition, WHITE,
};

use crate::Curve;

/// Width and height in pixels.
const SIZE: (u32, u32) = (900, 560);

/// Draws the curves.
pub(crate) fn draw(curves: &[Curve], file: &Path) -> Result<()> {
    let points = || curves.iter().flat_map(times);
    let (left, right) = points().fold((1000.0f64, 2000.0f64), |(low, high), (x, _)| (low.min(x), high.max(x)));
    let (bottom, top) = points().fold((0.01f64, 0.1f64), |(low, high), (_, y)| (low.min(y), high.max(y)));
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(14)
        .caption("Time of a build over the size of the kernel", ("sans-serif", 18))
        .x_label_area_size(42)
        .y_label_area_size(60)
        .build_cartesian_2d((left..right * 1.1).log_scale(), (bottom..top * 1.5).log_scale())
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc("SPIR-V instructions")
        .y_desc("seconds of processor time")
        .x_label_formatter(&|x| format!("{x}"))
        .y_label_formatter(&|y| format!("{y}"))
        .light_line_style(BLACK.mix(0.04))
        .draw()
        .map_err(failed)?;
    // Linear growth at several speeds.
    for per_instruction in [1e-6, 1e-5, 1e-4] {
        let line = vec![(left, left * per_instruction), (right, right * per_instruction)];
        chart.draw_series([PathElement::new(line, BLACK.mix(0.3))]).map_err(failed)?;
    }
    for (index, curve) in curves.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        chart
            .draw_series([PathElement::new(times(curve).collect::<Vec<_>>(), colour.stroke_width(2))])
            .map_err(failed)?
            .label(curve.family.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], colour.stroke_width(2)));
        chart.draw_series(times(curve).map(|point| Circle::new(point, 3, colour.filled()))).map_err(failed)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(failed)?;
    area.present().map_err(failed)
}

/// Instructions of the kernels, and seconds of their builds.
fn times(curve: &Curve) -> impl Iterator<Item = (f64, f64)> {
    curve.points.iter().map(|(instructions, measured)| (*instructions, measured.seconds))
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("the plot: {error}")
}
