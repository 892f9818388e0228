//! One chart: measured points with error bars, lines, and marks at an abscissa, in a frame.

use super::drawing::{Anchor, Drawing, line, mark, text};
use super::frame::{Frame, Names};
use super::key::Entry;
use super::path::{Pair, number};
use super::scale::Scale;
use super::style::Style;
use svg::node::element::{Group, Path};

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

/// Measured points and the line that goes with them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Name in the legend; curves without one are not listed.
    pub name: String,
    /// Measured values.
    pub points: Vec<Point>,
    /// Fitted line; an ordinate that is not finite interrupts it.
    pub line: Vec<Pair>,
    /// Abscissa to mark with a vertical line, such as the pKa.
    pub mark: Option<f64>,
    /// Colour, dashes and marks.
    pub style: Style,
}

impl Curve {
    /// Whether anything of it is a number.
    pub fn is_empty(&self) -> bool {
        !(self.points.iter().any(|point| point.y.is_finite()) || self.line.iter().any(|point| point.1.is_finite()))
    }

    /// Its entry in a legend.
    pub fn entry(&self) -> Entry {
        Entry { name: self.name.clone(), style: self.style, line: !self.line.is_empty(), mark: !self.points.is_empty() }
    }
}

/// One chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Title; nothing for a chart that stands alone under its heading.
    pub title: String,
    /// A line below the title.
    pub note: String,
    /// Curves that it shows.
    pub curves: Vec<Curve>,
    /// Abscissa.
    pub x: Scale,
    /// Ordinate.
    pub y: Scale,
}

/// Radius of marks in a small chart, whose error bars have no strokes at their ends (pixels).
const SMALL: f64 = 2.3;

/// Size of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// Alone on a wide page.
    Wide,
    /// Alone on a phone.
    Narrow,
    /// One of a few, three beside each other on a wide page, one on a phone.
    Medium,
    /// One of many, six beside each other on a wide page, two on a phone.
    Small,
}

impl Size {
    /// Width and height (pixels).
    fn pixels(self) -> [f64; 2] {
        match self {
            Size::Wide => [684.0, 420.0],
            Size::Narrow => [336.0, 290.0],
            Size::Medium => [336.0, 240.0],
            Size::Small => [162.0, 158.0],
        }
    }
}

impl Chart {
    /// Whether nothing of it is a number, or its axes go nowhere.
    pub fn is_empty(&self) -> bool {
        self.curves.iter().all(Curve::is_empty) || !self.x.is_valid() || !self.y.is_valid()
    }

    /// Draws the chart; `kind` is what it shows, for those who do not see it.
    pub(super) fn drawing(&self, size: Size, kind: &str) -> Drawing {
        let [width, height] = size.pixels();
        let title = if self.title.is_empty() { kind.to_string() } else { format!("{kind}: {}", self.title) };
        let mut drawing = Drawing::new([width, height], &title, &self.description());
        let mut top = 2.0;
        for (words, class, points) in [(&self.title, "title", 13.0), (&self.note, "note", 12.0)] {
            if !words.is_empty() {
                top += points + 3.0;
                drawing.add(text(words, [2.0, top - 3.0], Anchor::Start, points, width - 6.0).set("class", class));
            }
        }
        let names = if size == Size::Small { Names::Abscissa } else { Names::Both };
        let top = if top > 2.0 { top + 5.0 } else { top };
        let frame = Frame::draw(&mut drawing, [0.0, top, width, height], [&self.x, &self.y], names);
        let radius = if size == Size::Small { SMALL } else { 4.0 };
        for one in &self.curves {
            drawing.add(drawn(one, &frame, radius));
        }
        drawing
    }

    /// What the chart shows, in words.
    fn description(&self) -> String {
        let (x, y) = (&self.x.name, &self.y.name);
        let points: usize = self.curves.iter().map(|curve| curve.points.len()).sum();
        let lines = self.curves.iter().filter(|curve| !curve.line.is_empty()).count();
        let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let shown = match (points, lines) {
            (0, lines) => count(lines, "line"),
            (points, 0) => count(points, "point"),
            (points, lines) => format!("{} and {}", count(points, "point"), count(lines, "line")),
        };
        let names: Vec<&str> = self.curves.iter().map(|c| c.name.as_str()).filter(|name| !name.is_empty()).collect();
        let names = if names.is_empty() { String::new() } else { format!(" {}.", names.join("; ")) };
        let note = if self.note.is_empty() { String::new() } else { format!(" {}.", self.note) };
        format!("{y} against {x}: {shown}.{names}{note}")
    }
}

/// Mark, line, error bars and points of a curve, one above the other. Open marks are smaller: they stand beside full ones.
fn drawn(curve: &Curve, frame: &Frame, radius: f64) -> Group {
    let radius = if curve.style.open { 0.8 * radius } else { radius };
    let mut group = Group::new().set("class", curve.style.colour.class());
    if let Some(mark) = curve.mark.filter(|mark| (frame.x.low..frame.x.high).contains(mark)) {
        let data = format!("M{} {}V{}", number(frame.across(mark)), number(frame.top), number(frame.bottom));
        let dashes = if curve.style.dash == 0 { "4 4" } else { curve.style.dashes() };
        group = group.add(Path::new().set("class", "thin").set("stroke-dasharray", dashes).set("d", data));
    }
    let data = frame.line(&curve.line);
    if !data.is_empty() {
        group = group.add(line(curve.style, data));
    }
    let inside = |point: &&Point| (frame.y.low..=frame.y.high).contains(&point.y) && point.x.is_finite();
    let mut bars = String::new();
    for point in curve.points.iter().filter(inside).filter(|point| point.interval[0] < point.interval[1]) {
        let (x, half) = (frame.across(point.x), 0.8 * radius);
        let [low, high] = point.interval.map(|end| number(frame.up(end.clamp(frame.y.low, frame.y.high))));
        bars += &format!("M{} {low}V{high}", number(x));
        if radius > SMALL {
            let (left, wide) = (number(x - half), number(2.0 * half));
            bars += &format!("M{left} {low}h{wide}M{left} {high}h{wide}");
        }
    }
    if !bars.is_empty() {
        group = group.add(Path::new().set("class", "thin").set("d", bars));
    }
    let marks =
        curve.points.iter().filter(inside).fold(Group::new().set("class", curve.style.filling()), |marks, point| {
            marks.add(mark(curve.style, [frame.across(point.x), frame.up(point.y)], radius))
        });
    if curve.points.is_empty() { group } else { group.add(marks) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(curves: Vec<Curve>) -> Chart {
        let (x, y) = (Scale::new("pH", [2.0, 7.0]), Scale::new("share", [0.0, 1.0]));
        Chart { title: "GLU 2".into(), note: "pKa 4.25".into(), curves, x, y }
    }

    #[test]
    fn points_lines_and_bars_are_drawn_inside() {
        let points =
            (2..9).map(|ph| Point { x: f64::from(ph), y: f64::from(ph) / 7.0, interval: [-1.0, 2.0] }).collect();
        let curve = Curve { points, line: vec![(2.0, 0.0), (7.0, 1.0)], mark: Some(4.25), ..Curve::default() };
        let drawing = chart(vec![curve]).drawing(Size::Medium, "Titration curve");
        let svg = drawing.embedded("f");
        // Of seven points one is above the frame.
        assert_eq!(svg.matches("<circle").count(), 6);
        assert_eq!(drawing.title, "Titration curve: GLU 2");
        assert!(drawing.description.starts_with("share against pH: 7 points and 1 line."));
        assert!(svg.contains("pKa 4.25") && svg.contains("stroke-dasharray=\"4 4\""));
    }

    #[test]
    fn a_chart_without_numbers_is_empty() {
        let nothing = Point { x: 1.0, y: f64::NAN, interval: [0.0; 2] };
        let curve = Curve { points: vec![nothing], line: vec![(0.0, f64::NAN)], ..Curve::default() };
        assert!(chart(vec![curve.clone()]).is_empty() && chart(Vec::new()).is_empty());
        let full = Curve { line: vec![(0.0, 1.0)], ..curve };
        assert!(!chart(vec![full.clone()]).is_empty());
        assert!(Chart { x: Scale::new("pH", [4.0, 4.0]), ..chart(vec![full]) }.is_empty());
    }
}
