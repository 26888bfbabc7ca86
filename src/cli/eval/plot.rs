//! The plot of a comparison: for each suite and kind of case a bar for each of the two versions, as SVG.

use std::path::Path;

use plotters::prelude::{
    ChartBuilder, IntoDrawingArea, Palette, Palette99, Rectangle, SVGBackend, WHITE,
};
use plotters::style::{Color, RGBAColor};

use super::compare::Comparison;
use super::report::float;

/// Width in pixels; the height grows with the rows.
const WIDTH: u32 = 960;
/// Pixels of one row, and of what is above and below all.
const ROW: u32 = 44;
const FRAME: u32 = 150;

/// Draws a comparison into a file.
pub(super) fn draw(comparison: &Comparison, path: &Path) -> Result<(), String> {
    let mut text = String::new();
    paint(comparison, &mut text).map_err(|why| format!("the plot cannot be drawn: {why}"))?;
    std::fs::write(path, text).map_err(|error| format!("`{}`: {error}", path.display()))
}

fn paint(comparison: &Comparison, text: &mut String) -> Result<(), String> {
    let mut rows: Vec<(String, f64, f64)> =
        vec![("all".to_owned(), comparison.sums.0.score, comparison.sums.1.score)];
    let parts = comparison.rows.iter().rev();
    rows.extend(parts.map(|(name, one, other)| (name.clone(), one.score, other.score)));
    let count = float(rows.len());
    let height = u32::try_from(rows.len()).unwrap_or(u32::MAX).saturating_mul(ROW);
    let root =
        SVGBackend::with_string(text, (WIDTH, height.saturating_add(FRAME))).into_drawing_area();
    root.fill(&WHITE).map_err(told)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Score by suite", ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(42)
        .y_label_area_size(230)
        .build_cartesian_2d(0.0..1.0, 0.0..count)
        .map_err(told)?;
    let name = |place: &f64| {
        // A label stands in the middle of its row; the mesh asks for those at whole numbers too.
        let row = rows.iter().enumerate().find(|(at, _)| (float(*at) + 0.5 - place).abs() < 0.01);
        row.map_or_else(String::new, |(_, (name, ..))| name.clone())
    };
    chart
        .configure_mesh()
        .x_desc("score")
        .x_label_formatter(&|one| format!("{one:.1}"))
        .y_labels(rows.len().saturating_mul(2).saturating_add(1))
        .y_label_formatter(&name)
        .disable_y_mesh()
        .draw()
        .map_err(told)?;
    let labels = [&comparison.labels.0, &comparison.labels.1];
    for (at, label) in labels.into_iter().enumerate() {
        let colour: RGBAColor = Palette99::pick(at).to_rgba();
        // The first version stands above the second.
        let (low, high) = if at == 0 { (0.52, 0.88) } else { (0.12, 0.48) };
        let bars = rows.iter().enumerate().map(|(row, (_, one, other))| {
            let (score, row) = (if at == 0 { *one } else { *other }, float(row));
            Rectangle::new([(0.0, row + low), (score, row + high)], colour.filled())
        });
        chart
            .draw_series(bars)
            .map_err(told)?
            .label(label)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], colour.filled()));
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
