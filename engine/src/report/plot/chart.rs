//! One chart: axes, measured points with error bars, lines, marks and a legend.

use super::canvas::{Area, Drawn, FAINT, INK, SCALE, line, text};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

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

/// Range and name of both axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axes<'a> {
    /// Ends of the abscissa.
    pub x: (f64, f64),
    /// Ends of the ordinate.
    pub y: (f64, f64),
    /// Names of abscissa and ordinate.
    pub names: [&'a str; 2],
}

type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Draws a chart into an area; `colours` are those of the curves, again from the first where there are more curves.
pub(super) fn chart(area: &Area, curves: &[Curve], axes: &Axes, colours: &[RGBColor]) -> Drawn {
    let Axes { x, y, names } = *axes;
    // plotters searches for ticks without end on an axis that is not finite or goes nowhere.
    if [x, y].iter().any(|(low, high)| !(low.is_finite() && high.is_finite() && low < high)) {
        return Err(format!("the axes are {x:?} and {y:?}").into());
    }
    let mut plane = ChartBuilder::on(area)
        .margin(18 * SCALE)
        .x_label_area_size(52 * SCALE)
        .y_label_area_size(72 * SCALE)
        .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
    plane
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
    for (one, colour) in curves.iter().zip(colours.iter().cycle()) {
        curve(&mut plane, one, axes, *colour)?;
    }
    if curves.iter().any(|curve| !curve.name.is_empty()) {
        legend(&mut plane, curves)?;
    }
    Ok(())
}

/// Draws mark, line, error bars and points of a curve, one above the other.
fn curve(plane: &mut Plane, curve: &Curve, axes: &Axes, colour: RGBColor) -> Drawn {
    let Axes { x, y, .. } = *axes;
    if let Some(mark) = curve.mark.filter(|mark| (x.0..x.1).contains(mark)) {
        let (ends, dash) = ([(mark, y.0), (mark, y.1)], 5 * SCALE);
        plane.draw_series(DashedLineSeries::new(ends, dash, dash, line(colour.mix(0.7), 1)))?;
    }
    let drawn = plane.draw_series(LineSeries::new(curve.line.iter().copied(), line(colour, 2)))?;
    if !curve.name.is_empty() {
        let swatch = move |(x, y)| PathElement::new([(x, y), (x + 22 * SCALE as i32, y)], line(colour, 2));
        drawn.label(curve.name.clone()).legend(swatch);
    }
    let half = 0.006 * (x.1 - x.0);
    for point in curve.points.iter().filter(|point| point.interval[0] < point.interval[1]) {
        let (low, high) = (point.interval[0].max(y.0), point.interval[1].min(y.1));
        let ends = [
            [(point.x, low), (point.x, high)],
            [(point.x - half, low), (point.x + half, low)],
            [(point.x - half, high), (point.x + half, high)],
        ];
        plane.draw_series(ends.into_iter().map(|end| PathElement::new(end, line(colour, 1))))?;
    }
    let circle = |point: &Point| Circle::new((point.x, point.y), 5 * SCALE, colour.filled());
    plane.draw_series(curve.points.iter().map(circle))?;
    Ok(())
}

/// Lists the names of the curves where these leave room.
fn legend<'a, 'b: 'a>(plane: &mut Plane<'a, 'b>, curves: &[Curve]) -> Drawn {
    plane
        .configure_series_labels()
        .position(legend_place(curves))
        .margin(14 * SCALE)
        .legend_area_size(34 * SCALE)
        .background_style(WHITE.mix(0.85))
        .border_style(line(FAINT, 1))
        .label_font(text(15))
        .draw()?;
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
