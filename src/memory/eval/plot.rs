//! The plot: recall over the number of hits, for all questions and without each layer, as SVG.

use std::path::Path;

use plotters::prelude::{
    ChartBuilder, IntoDrawingArea, LineSeries, Palette, Palette99, PathElement, SVGBackend, WHITE,
};
use plotters::style::Color;

use super::{Error, Line, PLACES, Report};

/// Width and height in pixels.
const SIZE: (u32, u32) = (960, 600);

/// Draws a report into a file.
pub(super) fn draw(report: &Report, path: &Path) -> Result<(), Error> {
    let mut text = String::new();
    paint(report, &mut text).map_err(Error::Plot)?;
    std::fs::write(path, text).map_err(|cause| Error::File { path: path.to_owned(), cause })
}

fn paint(report: &Report, text: &mut String) -> Result<(), String> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(told)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Recall by number of hits", ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(42)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..50.0, 0.0..1.0)
        .map_err(told)?;
    chart
        .configure_mesh()
        .x_desc("hits")
        .y_desc("recall")
        .x_label_formatter(&|one| format!("{one:.0}"))
        .y_label_formatter(&|one| format!("{one:.1}"))
        .draw()
        .map_err(told)?;
    let all = report.top_k.iter().map(|(top, recall)| (float(*top), *recall)).collect();
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = vec![("all layers".to_owned(), all)];
    let points = |line: &Line| -> Vec<(f64, f64)> {
        PLACES.iter().zip(line.recall).map(|(place, recall)| (float(*place), recall)).collect()
    };
    curves.extend(
        report
            .without
            .iter()
            .map(|(sense, line)| (format!("without {}", sense.as_str()), points(line))),
    );
    curves.extend(
        report.languages.iter().map(|(name, line)| (format!("language {name}"), points(line))),
    );
    for (at, (name, points)) in curves.into_iter().enumerate() {
        let colour = Palette99::pick(at).to_rgba();
        let width = if at == 0 { 3 } else { 1 };
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(width)))
            .map_err(told)?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE)
        .label_font(("sans-serif", 14))
        .draw()
        .map_err(told)?;
    root.present().map_err(told)
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
