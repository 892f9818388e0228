//! Legends: line, mark and name of each curve, in rows as wide as there is room.

use super::drawing::{Anchor, Drawing, line, mark, text, text_width};
use super::style::Style;
use svg::node::element::Group;

/// Height of a row (pixels).
const ROW: f64 = 20.0;
/// Room for line and mark (pixels).
const SIGN: f64 = 30.0;
/// Size of the names (pixels).
const SIZE: f64 = 12.0;

/// One entry of a legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Colour, dashes and mark.
    pub style: Style,
    /// Whether a line is shown.
    pub line: bool,
    /// Whether a mark is shown.
    pub mark: bool,
}

impl Entry {
    /// Words alone.
    pub fn words(name: &str) -> Self {
        Self { name: name.into(), style: Style::default(), line: false, mark: false }
    }

    /// A line of a style.
    pub fn line(name: &str, style: Style) -> Self {
        Self { line: true, style, ..Self::words(name) }
    }

    /// A mark of a style.
    pub fn mark(name: &str, style: Style) -> Self {
        Self { mark: true, style, ..Self::words(name) }
    }

    fn sign(&self) -> f64 {
        if self.line || self.mark { SIGN } else { 0.0 }
    }
}

/// Draws a legend that is at most `width` pixels wide.
pub(super) fn legend(entries: &[Entry], width: f64) -> Drawing {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let mut drawing = Drawing::new([width, 0.0], "Legend", &names.join("; "));
    let (mut x, mut y) = (0.0, 0.5 * ROW);
    for entry in entries {
        let wide = entry.sign() + text_width(&entry.name, SIZE);
        if x > 0.0 && x + wide > width {
            (x, y) = (0.0, y + ROW);
        }
        let mut sign = Group::new().set("class", entry.style.colour.class());
        if entry.line {
            sign = sign.add(line(entry.style, format!("M{} {y}h24", x + 1.0)));
        }
        if entry.mark {
            sign =
                sign.add(Group::new().set("class", entry.style.filling()).add(mark(entry.style, [x + 13.0, y], 4.0)));
        }
        if entry.line || entry.mark {
            drawing.add(sign);
        }
        let (left, room) = (x + entry.sign(), width - x - entry.sign());
        drawing.add(text(&entry.name, [left, y + 0.35 * SIZE], Anchor::Start, SIZE, room));
        x += wide + 14.0;
    }
    drawing.height = y + 0.5 * ROW;
    drawing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_do_not_fit_go_below() {
        let entries: Vec<Entry> = (0..6).map(|k| Entry::line(&format!("pH {k}.00"), Style::dashed(k))).collect();
        assert_eq!(legend(&entries, 1000.0).height, ROW);
        let narrow = legend(&entries, 200.0);
        assert_eq!(narrow.height, 3.0 * ROW);
        let svg = narrow.embedded("f");
        assert!((0..6).all(|k| svg.contains(&format!("pH {k}.00"))) && svg.contains("role=\"img\""));
        // A name that is longer than a row is squeezed, not cut.
        assert!(legend(&[Entry::words(&"long ".repeat(20))], 100.0).embedded("f").contains("textLength=\"100\""));
    }
}
