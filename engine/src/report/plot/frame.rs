//! The frame of a chart: mesh, ticks with their labels, names of the axes, and where a value lies inside.

use super::drawing::{Anchor, Drawing, text, text_width};
use super::path::{Pair, data, number, parts};
use super::scale::Scale;
use svg::node::element::{Group, Path};

/// Size of the labels at the ticks (pixels).
const TICK: f64 = 11.0;
/// Size of the names of the axes (pixels).
const NAME: f64 = 12.0;

/// The rectangle of a chart in a drawing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame<'a> {
    /// Left, upper, right and lower border (pixels).
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    /// Abscissa.
    pub x: &'a Scale,
    /// Ordinate.
    pub y: &'a Scale,
}

/// Which axes have their names written beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Both,
    Abscissa,
}

impl<'a> Frame<'a> {
    /// Draws a frame into a part of a drawing: left, upper, right and lower border with room for labels and names.
    pub fn draw(
        drawing: &mut Drawing,
        [left, top, right, bottom]: [f64; 4],
        [x, y]: [&'a Scale; 2],
        names: Names,
    ) -> Self {
        let beside = if names == Names::Both { NAME + 8.0 } else { 2.0 };
        // The number of ticks depends on the height, which the labels at the side do not change.
        let (lower, upper) = (bottom - TICK - NAME - 13.0, top + 4.0);
        let up = y.labels(((lower - upper) / 34.0).max(2.0) as usize);
        let widest = up.iter().map(|(_, label)| text_width(label, TICK)).fold(0.0, f64::max);
        let frame = Self { left: left + beside + widest + 8.0, top: upper, right: right - 10.0, bottom: lower, x, y };
        let widest = x.labels(4).iter().map(|(_, label)| text_width(label, TICK)).fold(0.0, f64::max);
        let across = x.labels(((frame.right - frame.left) / (widest + 26.0)).clamp(2.0, 10.0) as usize);
        frame.mesh(drawing, &across, &up);
        frame.names(drawing, left, bottom, names);
        frame
    }

    /// Lines and labels at the ticks, and the axes.
    fn mesh(&self, drawing: &mut Drawing, across: &[(f64, String)], up: &[(f64, String)]) {
        let Self { left, top, right, bottom, .. } = *self;
        let mut lines = String::new();
        let (mut below, mut beside) =
            (Group::new().set("text-anchor", "middle"), Group::new().set("text-anchor", "end"));
        for (value, label) in across {
            let x = self.across(*value);
            lines += &format!("M{} {}V{}", number(x), number(top), number(bottom));
            below = below.add(text(label, [x, bottom + TICK + 4.0], Anchor::Start, TICK, f64::INFINITY));
        }
        for (value, label) in up {
            let y = self.up(*value);
            lines += &format!("M{} {}H{}", number(left), number(y), number(right));
            beside = beside.add(text(label, [left - 6.0, y + 0.35 * TICK], Anchor::Start, TICK, f64::INFINITY));
        }
        let axes = format!("M{} {}V{}H{}", number(left), number(top), number(bottom), number(right));
        let thin = |class: &str, data: String| {
            Group::new().set("class", class).add(Path::new().set("class", "thin").set("d", data))
        };
        drawing.add(thin("mesh", lines));
        drawing.add(thin("axis", axes));
        drawing.add(Group::new().set("class", "tick").add(below).add(beside));
    }

    fn names(&self, drawing: &mut Drawing, left: f64, bottom: f64, names: Names) {
        let middle = [0.5 * (self.left + self.right), 0.5 * (self.top + self.bottom)];
        let room = self.right - self.left;
        drawing.add(text(&self.x.name, [middle[0], bottom - 5.0], Anchor::Middle, NAME, room));
        if names == Names::Both {
            let name = text(&self.y.name, [0.0, 0.0], Anchor::Middle, NAME, self.bottom - self.top);
            let place = format!("translate({} {}) rotate(-90)", number(left + NAME), number(middle[1]));
            drawing.add(name.set("transform", place));
        }
    }

    /// Pixel of an abscissa.
    pub fn across(&self, x: f64) -> f64 {
        self.left + self.x.share(x) * (self.right - self.left)
    }

    /// Pixel of an ordinate.
    pub fn up(&self, y: f64) -> f64 {
        self.bottom - self.y.share(y) * (self.bottom - self.top)
    }

    /// Path data of a line through these points, as far as it lies inside.
    pub fn line(&self, points: &[Pair]) -> String {
        let pixels = |part: Vec<Pair>| part.into_iter().map(|(x, y)| (self.across(x), self.up(y))).collect();
        data(&parts(points, [self.y.low, self.y.high]).into_iter().map(pixels).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_scales_are_the_borders() {
        let mut drawing = Drawing::new([300.0, 200.0], "", "");
        let (x, y) = (Scale::new("time (ps)", [0.0, 10.0]), Scale::new("pKa", [-1.0, 1.0]));
        let frame = Frame::draw(&mut drawing, [0.0, 0.0, 300.0, 200.0], [&x, &y], Names::Both);
        assert_eq!((frame.across(0.0), frame.up(-1.0)), (frame.left, frame.bottom));
        assert_eq!((frame.across(10.0), frame.up(1.0)), (frame.right, frame.top));
        assert!(frame.left > 20.0 && frame.bottom < 170.0);
        let svg = drawing.embedded("f");
        assert!(svg.contains("time (ps)") && svg.contains("pKa") && svg.contains("−1.0"), "{svg}");
    }
}
