//! Measured points joined by lines, on linear or logarithmic axes.

use super::drawing::{Anchor, Drawing, line, mark, text};
use super::frame::{Frame, Names};
use super::key::{Entry, legend};
use super::scale::Scale;
use super::style::Style;
use crate::error::Error;
use crate::record::counted;
use svg::node::element::Group;

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

/// Width and height of the plot (pixels).
const SIZE: [f64; 2] = [700.0, 480.0];
/// Width (pixels) of the legend, right of the plot.
const LEGEND: f64 = 236.0;

/// Draws traces, the legend beside them; points that have no logarithm are left out. An SVG file.
///
/// # Errors
/// [`Error::Input`] if there is nothing to draw.
pub fn lines(title: &str, traces: &[Trace], x: Axis, y: Axis) -> Result<String, Error> {
    let traces: Vec<Trace> = traces.iter().map(|trace| transformed(trace, x, y)).collect();
    let all = || traces.iter().flat_map(|trace| &trace.points);
    let (across, up) = (scale(all().map(|p| p.0), x), scale(all().map(|p| p.1), y));
    if !(across.is_valid() && up.is_valid()) {
        return Err(Error::input(format!("nothing to draw for {title}"), ""));
    }
    let description = format!("{} against {}: {}.", y.name, x.name, counted(traces.len(), "line"));
    let mut drawing = Drawing::new([SIZE[0] + LEGEND, SIZE[1]], title, &description);
    drawing.add(text(title, [0.5 * SIZE[0], 20.0], Anchor::Middle, 16.0, SIZE[0]).set("class", "title"));
    let frame = Frame::draw(&mut drawing, [4.0, 30.0, SIZE[0] - 8.0, SIZE[1] - 4.0], [&across, &up], Names::Both);
    for trace in &traces {
        drawing.add(drawn(trace, &frame));
    }
    let named = traces.iter().filter(|trace| !trace.name.is_empty());
    let key: Vec<Drawing> = named.map(|trace| legend(&[entry(trace)], LEGEND - 8.0)).collect();
    for (row, key) in key.iter().enumerate() {
        drawing.put(key, [SIZE[0], 40.0 + 22.0 * row as f64]);
    }
    Ok(drawing.standalone())
}

/// The trace with logarithms along the axes that are logarithmic.
fn transformed(trace: &Trace, x: Axis, y: Axis) -> Trace {
    let along = |value: f64, axis: Axis| if axis.logarithmic { value.log10() } else { value };
    let points = trace.points.iter().map(|p| (along(p.0, x), along(p.1, y)));
    Trace { points: points.filter(|p| p.0.is_finite() && p.1.is_finite()).collect(), ..trace.clone() }
}

/// The values with a margin; linear axes start at zero.
fn scale(values: impl Iterator<Item = f64>, axis: Axis) -> Scale {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    if axis.logarithmic {
        let margin = 0.04 * (high - low).max(1.0);
        return Scale::logarithmic(axis.name, [low - margin, high + margin]);
    }
    Scale::new(axis.name, [low.min(0.0), 1.05 * high])
}

fn style(trace: &Trace) -> Style {
    Style { dash: usize::from(trace.dashed), mark: 0, open: trace.dashed, ..Style::marked(trace.colour) }
}

fn entry(trace: &Trace) -> Entry {
    Entry { name: trace.name.clone(), style: style(trace), line: true, mark: true }
}

fn drawn(trace: &Trace, frame: &Frame) -> Group {
    let style = style(trace);
    let line = line(style, frame.line(&trace.points));
    let marks = trace.points.iter().fold(Group::new().set("class", style.filling()), |marks, &(x, y)| {
        marks.add(mark(style, [frame.across(x), frame.up(y)], 3.0))
    });
    Group::new().set("class", style.colour.class()).add(line).add(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: Axis = Axis { name: "N", logarithmic: true };
    const TIME: Axis = Axis { name: "time", logarithmic: false };

    #[test]
    fn points_without_a_logarithm_are_left_out() {
        let points = vec![(0.0, 1.0), (1e3, 2.0), (1e4, f64::NAN), (1e5, 3.0)];
        let trace = Trace { name: "direct".into(), points, colour: 7, dashed: true };
        let text = lines("times", std::slice::from_ref(&trace), N, TIME).unwrap();
        // Two points, and the mark in the legend, which is open as they are.
        assert_eq!((text.matches("<circle").count(), text.matches("class=\"open\"").count()), (3, 2));
        assert!(text.contains("direct") && text.contains("10⁵") && text.contains("times") && text.starts_with("<svg"));
        assert!(lines("nothing", &[], N, TIME).is_err());
    }
}
