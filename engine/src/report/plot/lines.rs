//! Measured points joined by lines, on linear or logarithmic axes.
//!
//! Logarithms are drawn on a linear axis of the exponents, with a tick for each power of ten, or every second or third where there are many.

use super::canvas::{Area, COLOURS, Drawn, FAINT, INK, SCALE, line, svg, text};
use crate::error::Error;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::DashedPathElement;
use plotters::prelude::*;

/// An axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis<'a> {
    /// Quantity and unit.
    pub name: &'a str,
    /// Whether equal lengths are equal factors, with ticks at powers of ten.
    pub logarithmic: bool,
}

/// Measured points that are joined by a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// Name in the legend; traces without one are not listed.
    pub name: String,
    /// Abscissas and ordinates.
    pub points: Vec<(f64, f64)>,
    /// Number of its colour: traces that belong together share one.
    pub colour: usize,
    /// Whether its line is dashed and its marks are open.
    pub dashed: bool,
}

/// Width (pixels) of the legend, right of the plot.
const LEGEND: u32 = 236;

/// Draws traces, the legend beside them; points that have no logarithm are left out.
///
/// # Errors
/// [`Error::Input`] if there is nothing to draw, or the numbers cannot be drawn.
pub fn lines(title: &str, traces: &[Trace], x: Axis, y: Axis) -> Result<String, Error> {
    let traces: Vec<Trace> = traces.iter().map(|trace| transformed(trace, x, y)).collect();
    let all = || traces.iter().flat_map(|trace| &trace.points);
    let (across, up) = (range(all().map(|p| p.0), x), range(all().map(|p| p.1), y));
    if [across, up].iter().any(|(low, high)| !(low.is_finite() && high.is_finite() && low < high)) {
        return Err(Error::input(format!("nothing to draw for {title}"), ""));
    }
    svg((700 + LEGEND, 480), |area| draw(area, title, &traces, [(x, across), (y, up)]))
}

/// The trace with logarithms along the axes that are logarithmic.
fn transformed(trace: &Trace, x: Axis, y: Axis) -> Trace {
    let along = |value: f64, axis: Axis| if axis.logarithmic { value.log10() } else { value };
    let points = trace.points.iter().map(|p| (along(p.0, x), along(p.1, y)));
    Trace { points: points.filter(|p| p.0.is_finite() && p.1.is_finite()).collect(), ..trace.clone() }
}

/// The values with a margin; linear axes start at zero.
fn range(values: impl Iterator<Item = f64>, axis: Axis) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    if axis.logarithmic {
        let margin = 0.04 * (high - low).max(1.0);
        return (low - margin, high + margin);
    }
    (low.min(0.0), 1.05 * high)
}

/// Values at which an axis has ticks.
fn ticks((low, high): (f64, f64), axis: Axis) -> Vec<f64> {
    let step = if axis.logarithmic {
        ((high - low) / 9.0).ceil().max(1.0)
    } else {
        let rough = (high - low) / 8.0;
        let power = 10f64.powf(rough.log10().floor());
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|f| f * power).find(|s| *s >= rough).unwrap_or(rough)
    };
    let first = (low / step).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|tick| *tick <= high + 1e-9 * step).collect()
}

fn label(value: f64, axis: Axis) -> String {
    if !axis.logarithmic {
        return format!("{}", (value * 1e9).round() / 1e9);
    }
    let superscript = |c: char| match c {
        '-' => '⁻',
        digit => "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit as usize - '0' as usize).unwrap_or(' '),
    };
    format!("10{}", format!("{value:.0}").chars().map(superscript).collect::<String>())
}

/// A range with its ticks.
struct Ticked((f64, f64), Vec<f64>);

impl Ranged for Ticked {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let (low, high) = self.0;
        let share = (value - low) / (high - low);
        (f64::from(limit.0) + share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.1.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.0.0..self.0.1
    }
}

fn draw(area: &Area, title: &str, traces: &[Trace], axes: [(Axis, (f64, f64)); 2]) -> Drawn {
    let [(x, across), (y, up)] = axes;
    let (plot, beside) = area.split_horizontally(700 * SCALE);
    let mut chart = ChartBuilder::on(&plot)
        .caption(title, text(18))
        .margin(14 * SCALE)
        .margin_right(24 * SCALE)
        .x_label_area_size(52 * SCALE)
        .y_label_area_size(72 * SCALE)
        .build_cartesian_2d(Ticked(across, ticks(across, x)), Ticked(up, ticks(up, y)))?;
    chart
        .configure_mesh()
        .set_all_tick_mark_size(5 * SCALE)
        .light_line_style(TRANSPARENT)
        .bold_line_style(line(FAINT.mix(0.6), 1))
        .axis_style(line(INK, 1))
        .x_label_formatter(&|value| label(*value, x))
        .y_label_formatter(&|value| label(*value, y))
        .x_desc(x.name)
        .y_desc(y.name)
        .axis_desc_style(text(17))
        .label_style(text(15))
        .draw()?;
    for trace in traces {
        let colour = COLOURS[trace.colour % COLOURS.len()];
        let (points, dashed, style) = (trace.points.iter().copied(), trace.dashed, line(colour, 2));
        if dashed {
            chart.draw_series(DashedLineSeries::new(points.clone(), 7 * SCALE, 5 * SCALE, style))?;
        } else {
            chart.draw_series(LineSeries::new(points.clone(), style))?;
        }
        // Open marks are white inside, so that lines do not shine through.
        let inside = if dashed { WHITE.filled() } else { colour.filled() };
        chart.draw_series(points.clone().map(|point| Circle::new(point, 3 * SCALE, inside)))?;
        chart.draw_series(points.map(|point| Circle::new(point, 3 * SCALE, line(colour, 1))))?;
    }
    legend(&beside, traces)
}

/// Line, mark and name of each trace, one below the other.
fn legend(area: &Area, traces: &[Trace]) -> Drawn {
    let pixels = |n: usize| (n * SCALE as usize) as i32;
    for (row, trace) in traces.iter().filter(|trace| !trace.name.is_empty()).enumerate() {
        let colour = COLOURS[trace.colour % COLOURS.len()];
        let (y, style) = (pixels(58 + 23 * row), line(colour, 2));
        let ends = [(0, y), (pixels(34), y)];
        if trace.dashed {
            area.draw(&DashedPathElement::new(ends, 7 * SCALE, 5 * SCALE, style))?;
        } else {
            area.draw(&PathElement::new(ends, style))?;
        }
        let inside = if trace.dashed { WHITE.filled() } else { colour.filled() };
        area.draw(&Circle::new((pixels(17), y), 3 * SCALE, inside))?;
        area.draw(&Circle::new((pixels(17), y), 3 * SCALE, line(colour, 1)))?;
        area.draw(&Text::new(trace.name.clone(), (pixels(42), y - pixels(8)), text(14)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: Axis = Axis { name: "N", logarithmic: true };
    const TIME: Axis = Axis { name: "time", logarithmic: false };

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks((-16.0, 0.0), N), [-16.0, -14.0, -12.0, -10.0, -8.0, -6.0, -4.0, -2.0, 0.0]);
        assert_eq!(ticks((3.0, 6.0), N), [3.0, 4.0, 5.0, 6.0]);
        assert_eq!(ticks((0.0, 31.5), TIME), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]);
        assert_eq!((label(-12.0, N), label(0.3, TIME)), ("10⁻¹²".into(), "0.3".into()));
    }

    #[test]
    fn points_without_a_logarithm_are_left_out() {
        let points = vec![(0.0, 1.0), (1e3, 2.0), (1e4, f64::NAN), (1e5, 3.0)];
        let trace = Trace { name: "direct".into(), points, colour: 7, dashed: true };
        let text = lines("times", std::slice::from_ref(&trace), N, TIME).unwrap();
        // Inside and rim of each, and of the mark in the legend.
        assert_eq!(text.matches("<circle").count(), 6);
        assert!(text.contains("direct") && text.contains("10⁵") && text.contains("times"));
        assert!(lines("nothing", &[], N, TIME).is_err());
    }
}
