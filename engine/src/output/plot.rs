//! Plots as SVG text: titration curve, λ against time, points with curves; lines on linear or logarithmic axes; many small charts; a matrix.

mod curves;
mod lines;
mod matrix;
mod panels;

pub use curves::curves;
pub use lines::{Axis, Trace, lines};
pub use matrix::matrix;
pub use panels::{Chart, Colours, panels};

use crate::error::Error;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Colours of the sites, in order; readable side by side also without colour vision (Okabe & Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
const INK: RGBColor = RGBColor(45, 52, 60);
const FAINT: RGBColor = RGBColor(205, 211, 218);
const FONT: &str = "Helvetica, Arial, sans-serif";

/// A value with the ends of its error bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Abscissa.
    pub x: f64,
    /// Ordinate.
    pub y: f64,
    /// Ends of its error bar.
    pub interval: [f64; 2],
}

/// Measured points and the curve through them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Measured values.
    pub points: Vec<Point>,
    /// Fitted line.
    pub line: Vec<(f64, f64)>,
    /// Abscissa to mark with a vertical line, such as the pKa.
    pub mark: Option<f64>,
}

/// plotters rounds to whole pixels: everything is drawn this many times larger, and shown at its own size.
const SCALE: u32 = 8;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws into a new SVG of this size (pixels).
fn svg(size: (u32, u32), draw: impl FnOnce(&Area) -> Drawn) -> Result<String, Error> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (size.0 * SCALE, size.1 * SCALE)).into_drawing_area();
        let drawn = area.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&area));
        drawn
            .and_then(|()| area.present().map_err(Into::into))
            .map_err(|e| Error::input(format!("the plot cannot be drawn: {e}"), ""))?;
    }
    let (width, height) = size;
    let drawn = format!("width=\"{}\" height=\"{}\"", width * SCALE, height * SCALE);
    Ok(text.replacen(&drawn, &format!("width=\"{width}\" height=\"{height}\""), 1))
}

/// A line of `width` pixels.
fn line(colour: impl Color, width: u32) -> ShapeStyle {
    colour.stroke_width(width * SCALE)
}

/// Text of `size` pixels.
fn text<'a>(size: u32) -> TextStyle<'a> {
    (FONT, size * SCALE).into_font().color(&INK)
}

/// Deprotonated fraction against pH from `low` to `high`, with error bars, Hill curves and the fitted pKa of each site.
///
/// # Errors
/// If the numbers cannot be drawn.
pub fn titration(curves: &[Curve], [low, high]: [f64; 2]) -> Result<String, Error> {
    let (x, y) = ((low - 0.4, high + 0.4), (-0.04, 1.04));
    svg((720, 460), |area| chart(area, curves, x, y, ["pH", "deprotonated fraction"], &COLOURS))
}

/// Axes, points with error bars, lines, marks and a legend.
fn chart(area: &Area, curves: &[Curve], x: (f64, f64), y: (f64, f64), names: [&str; 2], colours: &[RGBColor]) -> Drawn {
    // plotters searches for ticks without end on an axis that is not finite or goes nowhere.
    if [x, y].iter().any(|(low, high)| !(low.is_finite() && high.is_finite() && low < high)) {
        return Err(format!("the axes are {x:?} and {y:?}").into());
    }
    let mut chart = ChartBuilder::on(area)
        .margin(18 * SCALE)
        .x_label_area_size(52 * SCALE)
        .y_label_area_size(72 * SCALE)
        .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
    chart
        .configure_mesh()
        .set_all_tick_mark_size(5 * SCALE)
        .light_line_style(TRANSPARENT)
        .bold_line_style(line(FAINT.mix(0.6), 1))
        .axis_style(line(INK, 1))
        .x_labels(10)
        .y_labels(8)
        .x_desc(names[0])
        .y_desc(names[1])
        .axis_desc_style(text(18))
        .label_style(text(15))
        .draw()?;
    for (curve, colour) in curves.iter().zip(colours.iter().cycle()) {
        if let Some(mark) = curve.mark.filter(|mark| (x.0..x.1).contains(mark)) {
            chart.draw_series(DashedLineSeries::new(
                [(mark, y.0), (mark, y.1)],
                5 * SCALE,
                5 * SCALE,
                line(colour.mix(0.7), 1),
            ))?;
        }
        let drawn = chart.draw_series(LineSeries::new(curve.line.iter().copied(), line(*colour, 2)))?;
        if !curve.name.is_empty() {
            let swatch = *colour;
            drawn
                .label(curve.name.clone())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 22 * SCALE as i32, y)], line(swatch, 2)));
        }
        let half = 0.006 * (x.1 - x.0);
        for point in curve.points.iter().filter(|point| point.interval[0] < point.interval[1]) {
            let (low, high) = (point.interval[0].max(y.0), point.interval[1].min(y.1));
            let ends = [
                [(point.x, low), (point.x, high)],
                [(point.x - half, low), (point.x + half, low)],
                [(point.x - half, high), (point.x + half, high)],
            ];
            chart.draw_series(ends.into_iter().map(|end| PathElement::new(end, line(*colour, 1))))?;
        }
        chart.draw_series(
            curve.points.iter().map(|point| Circle::new((point.x, point.y), 5 * SCALE, colour.filled())),
        )?;
    }
    if curves.iter().any(|curve| !curve.name.is_empty()) {
        chart
            .configure_series_labels()
            .position(legend_place(curves))
            .margin(14 * SCALE)
            .legend_area_size(34 * SCALE)
            .background_style(WHITE.mix(0.85))
            .border_style(line(FAINT, 1))
            .label_font(text(15))
            .draw()?;
    }
    Ok(())
}

/// Where the curves leave room for the legend: where the first one is not, and between those that rise and fall.
fn legend_place(curves: &[Curve]) -> SeriesLabelPosition {
    let falls = |curve: &Curve| {
        let ends = curve.points.first().zip(curve.points.last());
        ends.is_some_and(|(first, last)| last.y < first.y)
    };
    match (curves.first().is_some_and(falls), curves.iter().all(falls)) {
        (true, true) => SeriesLabelPosition::UpperRight,
        (true, false) => SeriesLabelPosition::MiddleLeft,
        _ => SeriesLabelPosition::UpperLeft,
    }
}

/// One panel of [`lambda_series`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Panel {
    /// Title, `pH 4.00`.
    pub title: String,
    /// Times (ps) and λ, one series for each site or replica.
    pub series: Vec<(Vec<f64>, Vec<f64>)>,
}

/// λ against time, one panel for each pH.
///
/// # Errors
/// If the numbers cannot be drawn.
pub fn lambda_series(panels: &[Panel]) -> Result<String, Error> {
    const HEIGHT: u32 = 92;
    const AXIS: u32 = 44;
    let height = HEIGHT * panels.len() as u32 + AXIS;
    let times = panels.iter().flat_map(|panel| &panel.series).filter_map(|(time, _)| time.last());
    let end = times.copied().fold(1e-6, f64::max);
    svg((720, height), |area| {
        for (index, panel) in panels.iter().enumerate() {
            let last = index + 1 == panels.len();
            let top = HEIGHT * index as u32;
            let bottom = if last { height } else { top + HEIGHT };
            let strip = area.clone().shrink((0, top * SCALE), (720 * SCALE, (bottom - top) * SCALE));
            let mut chart = ChartBuilder::on(&strip)
                .margin_top(8 * SCALE)
                .margin_right(18 * SCALE)
                .x_label_area_size(if last { AXIS * SCALE } else { 0 })
                .y_label_area_size(110 * SCALE)
                .build_cartesian_2d(0.0..end, -0.2..1.2)?;
            let mut mesh = chart.configure_mesh();
            mesh.disable_x_mesh()
                .set_all_tick_mark_size(5 * SCALE)
                .light_line_style(TRANSPARENT)
                .bold_line_style(line(FAINT, 1))
                .axis_style(line(FAINT, 1))
                .label_style(text(13))
                .y_labels(4)
                .y_label_formatter(&|y: &f64| {
                    if (y - y.round()).abs() < 0.01 { format!("{y:.0}") } else { String::new() }
                })
                .axis_desc_style(text(15))
                .y_desc(panel.title.clone());
            if last {
                mesh.x_desc("time (ps)").x_labels(8);
            }
            mesh.draw()?;
            for ((time, lambda), colour) in panel.series.iter().zip(COLOURS.iter().cycle()) {
                chart.draw_series(LineSeries::new(thin(time, lambda, 600), line(colour.mix(0.85), 1)))?;
            }
        }
        Ok(())
    })
}

/// At most about `count` points that keep every extreme: the smallest and the largest of each interval in turn.
fn thin(time: &[f64], values: &[f64], count: usize) -> Vec<(f64, f64)> {
    let pairs: Vec<(f64, f64)> = time.iter().copied().zip(values.iter().copied()).collect();
    if pairs.len() <= count {
        return pairs;
    }
    let size = pairs.len().div_ceil(count / 2);
    let extremes = |chunk: &[(f64, f64)]| {
        let low = chunk.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let high = chunk.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let mut both: Vec<(f64, f64)> = low.into_iter().chain(high).collect();
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        both
    };
    pairs.chunks(size).flat_map(extremes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_extremes_and_order() {
        let time: Vec<f64> = (0..10_000).map(f64::from).collect();
        let mut values = vec![0.0; 10_000];
        values[5_001] = 1.0;
        values[7_777] = -1.0;
        let thinned = thin(&time, &values, 100);
        assert!(thinned.len() <= 102);
        assert!(thinned.contains(&(5_001.0, 1.0)) && thinned.contains(&(7_777.0, -1.0)));
        assert!(thinned.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    #[test]
    fn plots_hold_their_points() {
        let points: Vec<Point> =
            (2..7).map(|ph| Point { x: f64::from(ph), y: f64::from(ph) / 10.0, interval: [0.0, 1.0] }).collect();
        let curve = Curve { name: "GLU 2".into(), points, line: vec![(2.0, 0.0), (7.0, 1.0)], mark: Some(4.25) };
        let text = titration(std::slice::from_ref(&curve), [2.0, 6.0]).unwrap();
        assert_eq!(text.matches("<circle").count(), 5);
        assert!(
            text.contains("GLU 2") && text.contains("deprotonated fraction") && text.trim_end().ends_with("</svg>")
        );
        let nothing = Curve { name: "all frames mixed".into(), ..Curve::default() };
        assert!(titration(std::slice::from_ref(&nothing), [2.0, 6.0]).unwrap().contains("all frames mixed"));
        assert!(titration(&[], [4.0, 4.0]).is_ok());
        let panel = Panel { title: "pH 4".into(), series: vec![(vec![0.0, 1.0], vec![0.0, 1.0])] };
        assert!(lambda_series(&[panel.clone(), panel]).unwrap().contains("time (ps)"));
    }
}
