//! Values with their errors in the rows of a table, above a common axis: a forest plot, one small drawing for each row.
//!
//! The table has the numbers: readers that do not see are not told of the drawings.

use super::drawing::{Anchor, Drawing, mark, text};
use super::path::number;
use super::scale::Scale;
use super::style::{Colour, MEASURED, Style};
use lambda::analysis::determined::Determined;
use svg::node::element::{Group, Path};

/// Width of a drawing, and heights of that of a row and of that of the axis (pixels).
const SIZE: [f64; 3] = [176.0, 24.0, 34.0];
/// Room at the sides (pixels).
const SIDE: f64 = 8.0;
/// Length of an arrow (pixels).
const ARROW: f64 = 22.0;

/// What a row shows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bar {
    /// Value, with bars of one and of two standard errors, or a bound, with an arrow.
    pub value: Option<Determined>,
    /// Whether its mark is full.
    pub sure: bool,
    /// Value to compare with: a stroke.
    pub reference: Option<f64>,
    /// Measured value with its error: an open star.
    pub measured: Option<(f64, f64)>,
}

/// The axis that rows share.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    scale: Scale,
}

impl Forest {
    /// An axis with room for these rows; `None` without a value.
    pub fn new(name: &str, rows: &[Bar]) -> Option<Self> {
        let values = rows.iter().flat_map(|row| {
            let ends = match row.value {
                Some(Determined::Value { value, error }) => [value - error.min(1.0), value + error.min(1.0)],
                Some(Determined::Between(low, high)) => [low, high],
                Some(Determined::AtLeast(end) | Determined::AtMost(end)) => [end; 2],
                _ => [f64::NAN; 2],
            };
            ends.into_iter().chain(row.reference).chain(row.measured.map(|(value, _)| value))
        });
        Some(Self { scale: Scale::around(name, values, 0.06)? }).filter(|forest| forest.scale.is_valid())
    }

    fn across(&self, value: f64) -> f64 {
        SIDE + self.scale.share(value).clamp(0.0, 1.0) * (SIZE[0] - 2.0 * SIDE)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        self.scale.labels(4)
    }

    /// The axis, for the head of the table.
    pub fn axis(&self) -> String {
        let mut drawing = Drawing::new([SIZE[0], SIZE[2]], "", "");
        let mut labels = Group::new().set("class", "tick").set("text-anchor", "middle");
        for (value, label) in self.ticks() {
            let place = [self.across(value), SIZE[2] - 4.0];
            labels = labels.add(text(&label, place, Anchor::Start, 11.0, f64::INFINITY));
        }
        drawing.add(text(&self.scale.name, [0.5 * SIZE[0], 13.0], Anchor::Middle, 12.0, SIZE[0]));
        drawing.add(labels);
        drawing.hidden()
    }

    /// The drawing of a row.
    pub fn row(&self, row: &Bar) -> String {
        let mut drawing = Drawing::new([SIZE[0], SIZE[1]], "", "");
        let thin = |class: &str, data: String| {
            Group::new().set("class", class).add(Path::new().set("class", "thin").set("d", data))
        };
        let mesh: String =
            self.ticks().iter().map(|(tick, _)| format!("M{} 0V{}", number(self.across(*tick)), SIZE[1])).collect();
        drawing.add(thin("mesh", mesh));
        let middle = 0.5 * SIZE[1];
        if let Some(reference) = row.reference {
            let data = format!("M{} 3V{}", number(self.across(reference)), SIZE[1] - 3.0);
            drawing.add(thin("axis", data).set("stroke-width", 2));
        }
        if let Some((value, error)) = row.measured {
            let [low, high] = [value - error, value + error].map(|end| number(self.across(end)));
            let style = Style { open: true, mark: MEASURED, ..Style::marked(1) };
            let signs = Group::new().set("class", "open").add(mark(style, [self.across(value), middle + 4.5], 3.6));
            let bar = Path::new().set("class", "thin").set("d", format!("M{low} {0}H{high}", middle + 4.5));
            drawing.add(Group::new().set("class", style.colour.class()).add(bar).add(signs));
        }
        let style = Style { colour: Colour::Number(0), open: !row.sure, ..Style::default() };
        let place = middle - if row.measured.is_some() { 3.5 } else { 0.0 };
        let mut group = Group::new().set("class", style.colour.class());
        let bar = |low: f64, high: f64| format!("M{} {place}H{}", number(self.across(low)), number(self.across(high)));
        let head = |end: f64, to: f64| {
            let (tip, back) = (number(end), number(end - 5.0 * to));
            format!("M{back} {}L{tip} {place}L{back} {}", place - 4.0, place + 4.0)
        };
        let arrow = |at: f64, to: f64| {
            // Inside the drawing, wherever the bound is.
            let [left, right] = [SIDE, SIZE[0] - SIDE - ARROW];
            let x = self
                .across(at)
                .clamp(if to < 0.0 { left + ARROW } else { left }, if to < 0.0 { right + ARROW } else { right });
            let end = x + ARROW * to;
            format!("M{} {place}H{}{}", number(x), number(end), head(end, to))
        };
        match row.value {
            Some(Determined::Value { value, error }) => {
                let wide = Path::new().set("class", "thin").set("d", bar(value - 2.0 * error, value + 2.0 * error));
                let one = Path::new()
                    .set("class", "line")
                    .set("style", "stroke-width:3")
                    .set("d", bar(value - error, value + error));
                let sign =
                    Group::new().set("class", style.filling()).add(mark(style, [self.across(value), place], 4.0));
                group = group.add(wide).add(one).add(sign);
                // A bar that goes on beyond the axis ends with a head.
                let (low, high) = (value - 2.0 * error, value + 2.0 * error);
                for (end, to, cut) in [(low, -1.0, low < self.scale.low), (high, 1.0, high > self.scale.high)] {
                    if cut {
                        group = group.add(Path::new().set("class", "line").set("d", head(self.across(end), to)));
                    }
                }
            }
            Some(Determined::Between(low, high)) => {
                group = group.add(Path::new().set("class", "line").set("d", bar(low, high)));
            }
            Some(Determined::AtLeast(end)) => {
                group = group.add(Path::new().set("class", "line").set("d", arrow(end.min(self.scale.high), 1.0)));
            }
            Some(Determined::AtMost(end)) => {
                group = group.add(Path::new().set("class", "line").set("d", arrow(end.max(self.scale.low), -1.0)));
            }
            _ => {}
        }
        drawing.add(group);
        drawing.hidden()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_share_an_axis_and_say_nothing_to_readers_that_do_not_see() {
        let sure = Bar {
            value: Some(Determined::Value { value: 4.0, error: 0.1 }),
            sure: true,
            reference: Some(4.25),
            measured: None,
        };
        let bound = Bar { value: Some(Determined::AtLeast(6.0)), measured: Some((4.4, 0.1)), ..Bar::default() };
        let forest = Forest::new("pKa", &[sure, bound]).unwrap();
        assert!(forest.axis().contains("pKa</text>") && forest.axis().contains(">5</text>"), "{}", forest.axis());
        let (first, second) = (forest.row(&sure), forest.row(&bound));
        assert!(first.contains("aria-hidden=\"true\"") && !first.contains("role=\"img\""));
        assert!(first.contains("class=\"full\"") && !first.contains("class=\"open\""));
        assert!(second.contains("class=\"open\"") && !second.contains("class=\"full\""));
        assert!(Forest::new("pKa", &[Bar::default()]).is_none());
    }

    /// An error of 1.7 looked like one of 1: its bar ended where the axis does.
    #[test]
    fn a_bar_that_is_longer_than_the_axis_has_heads() {
        let of = |error: f64| Bar { value: Some(Determined::Value { value: 5.1, error }), ..Bar::default() };
        let forest = Forest::new("pKa", &[of(1.7), of(0.1)]).unwrap();
        let lines = |error: f64| forest.row(&of(error)).matches("class=\"line\"").count();
        assert_eq!((lines(1.7), lines(0.1)), (3, 1));
    }
}
