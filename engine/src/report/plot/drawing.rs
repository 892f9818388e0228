//! A drawing of fixed size in pixels, and the SVG it becomes: with a title and a description for those who do not see it.

use super::path::number;
use super::style::{MEASURED, Style, sheet};
use std::f64::consts::PI;
use svg::node::element as svg_element;
use svg_element::{Circle, Description, Group, Path, Rectangle, SVG, Text, Title};

/// A drawing.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// Width (pixels).
    pub width: f64,
    /// Height (pixels).
    pub height: f64,
    /// What it is, in a few words.
    pub title: String,
    /// What it shows, in a sentence or two.
    pub description: String,
    body: Group,
}

/// Where a text has its anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
}

/// Width of a text (pixels), a little more than it usually is.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    0.58 * size * text.chars().count() as f64
}

impl Drawing {
    /// An empty drawing.
    pub(super) fn new([width, height]: [f64; 2], title: &str, description: &str) -> Self {
        Self { width, height, title: title.into(), description: description.into(), body: Group::new() }
    }

    /// Adds an element.
    pub(super) fn add(&mut self, element: impl Into<Box<dyn svg::Node>>) {
        svg::Node::append(&mut self.body, element);
    }

    /// Adds another drawing with its upper left corner at a place.
    pub(super) fn put(&mut self, drawing: &Drawing, [x, y]: [f64; 2]) {
        let place = format!("translate({} {})", number(x), number(y));
        self.add(drawing.body.clone().set("transform", place));
    }

    /// The SVG as a file, with its style sheet and a ground.
    pub(super) fn standalone(&self) -> String {
        let paper = Rectangle::new().set("class", "paper").set("width", "100%").set("height", "100%");
        let style = svg_element::Style::new(sheet());
        self.svg("plot", |svg| svg.add(style).add(paper))
    }

    /// The SVG as a part of a page that has the style sheet; `id` is of this drawing alone.
    pub(super) fn embedded(&self, id: &str) -> String {
        self.svg(id, |svg| svg)
    }

    /// The SVG as a part of a page that says the same in words.
    pub(super) fn hidden(&self) -> String {
        let (width, height) = (self.width.ceil(), self.height.ceil());
        let svg = SVG::new().set("class", "plot").set("aria-hidden", "true").set("width", width).set("height", height);
        composed(&svg.set("viewBox", format!("0 0 {width} {height}")).add(self.body.clone()))
    }

    fn svg(&self, id: &str, ground: impl FnOnce(SVG) -> SVG) -> String {
        let (title, description) = (format!("{id}-t"), format!("{id}-d"));
        let (width, height) = (self.width.ceil(), self.height.ceil());
        let svg = SVG::new()
            .set("class", "plot")
            .set("role", "img")
            .set("aria-labelledby", format!("{title} {description}"))
            .set("width", width)
            .set("height", height)
            .set("viewBox", format!("0 0 {width} {height}"))
            .add(Title::new(self.title.as_str()).set("id", title))
            .add(Description::new().set("id", description).add(svg::node::Text::new(self.description.as_str())));
        composed(&ground(svg).add(self.body.clone()))
    }
}

/// The text of an SVG. The composer gives texts lines of their own; their ends would be read as spaces.
fn composed(svg: &SVG) -> String {
    svg.to_string().replace(">\n", ">").replace("\n<", "<")
}

/// A text at a place; one that may be longer than `room` (pixels) is squeezed into it.
pub(super) fn text(words: &str, [x, y]: [f64; 2], anchor: Anchor, size: f64, room: f64) -> Text {
    let text = Text::new(words).set("x", number(x)).set("y", number(y));
    let text = match anchor {
        Anchor::Start => text,
        Anchor::Middle => text.set("text-anchor", "middle"),
    };
    if text_width(words, size) <= room {
        return text;
    }
    text.set("textLength", number(room)).set("lengthAdjust", "spacingAndGlyphs")
}

/// A mark of a style at a place, with colour and filling of the group it lies in.
pub(super) fn mark(style: Style, [x, y]: [f64; 2], radius: f64) -> Box<dyn svg::Node> {
    let n = number;
    let polygon = |corners: &[[f64; 2]]| {
        let corners: Vec<String> =
            corners.iter().map(|[dx, dy]| format!("{} {}", n(x + radius * dx), n(y + radius * dy))).collect();
        Box::new(Path::new().set("d", format!("M{}z", corners.join("L"))))
    };
    if style.mark == MEASURED {
        let tip = |k: usize| {
            let (far, (sine, cosine)) = ([1.6, 0.65][k % 2], (k as f64 * PI / 5.0).sin_cos());
            [far * sine, -far * cosine]
        };
        return polygon(&std::array::from_fn::<_, 10, _>(tip));
    }
    match style.mark % 6 {
        0 => Box::new(Circle::new().set("cx", n(x)).set("cy", n(y)).set("r", n(radius))),
        1 => polygon(&[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]),
        2 => polygon(&[[0.0, -1.2], [1.1, 0.8], [-1.1, 0.8]]),
        3 => polygon(&[[0.0, -1.3], [1.3, 0.0], [0.0, 1.3], [-1.3, 0.0]]),
        4 => polygon(&[[0.0, 1.2], [1.1, -0.8], [-1.1, -0.8]]),
        _ => {
            let arms = [[-1.2, -0.4], [-0.4, -0.4], [-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4]];
            let back = arms.map(|[dx, dy]| [-dx, -dy]);
            polygon(&[arms, back].concat())
        }
    }
}

/// A line of a style from path data, in the colour of the group it lies in.
pub(super) fn line(style: Style, data: String) -> Path {
    let path = Path::new().set("class", "line").set("d", data);
    if style.dashes().is_empty() { path } else { path.set("stroke-dasharray", style.dashes()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_svg_says_what_it_is() {
        let mut drawing = Drawing::new([100.0, 50.0], "Curves of A & B", "x < y");
        drawing.add(text("a name that is much too long", [0.0, 10.0], Anchor::Start, 12.0, 80.0));
        for svg in [drawing.standalone(), drawing.embedded("f1")] {
            assert!(svg.starts_with("<svg") && svg.contains("role=\"img\"") && svg.contains("textLength=\"80\""));
            assert!(svg.contains("Curves of A &amp; B</title>") && svg.contains("x &lt; y</desc>"), "{svg}");
        }
        assert!(drawing.embedded("f1").contains("aria-labelledby=\"f1-t f1-d\""));
        assert!(!drawing.embedded("f1").contains("<style") && drawing.standalone().contains("prefers-color-scheme"));
    }

    #[test]
    fn marks_of_curves_and_of_measured_values_differ() {
        let of = |k: usize| mark(Style::marked(k), [0.0, 0.0], 4.0).to_string();
        let mut drawn: Vec<String> = (0..6).chain([MEASURED]).map(of).collect();
        drawn.sort();
        drawn.dedup();
        assert_eq!(drawn.len(), 7);
    }
}
