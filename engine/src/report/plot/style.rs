//! Colours, dashes and marks that all plots share, and the style sheet that goes with them.
//!
//! Colours are classes, so that one drawing is right on light and on dark ground: text takes the colour of its SVG, lines and marks that of the
//! group they lie in. The six colours of curves can be told apart without colour vision (after Okabe & Ito, darker on light ground and
//! lighter on dark ground for a contrast of 3 to 1). A scale goes from blue over purple to orange and grows lighter all the way, so that its
//! order is seen without colour vision, too.

use std::fmt::Write;

/// Number of colours of curves.
const COLOURS: usize = 6;
/// Colours of curves on light and on dark ground.
const CURVES: [[&str; COLOURS]; 2] = [
    ["#0072b2", "#c94f00", "#00805c", "#b3558c", "#96700a", "#5b6670"],
    ["#56b4e9", "#ff8a4c", "#2fc79a", "#e59cc6", "#f0c14b", "#aab4bf"],
];
/// Steps of the scale.
const STEPS: usize = 11;
/// Colours at equal distances along the scale on light and on dark ground.
const SCALES: [[[f64; 3]; 4]; 2] = [
    [[16.0, 12.0, 130.0], [120.0, 20.0, 165.0], [200.0, 60.0, 115.0], [218.0, 105.0, 15.0]],
    [[118.0, 112.0, 250.0], [196.0, 98.0, 218.0], [248.0, 128.0, 128.0], [255.0, 200.0, 85.0]],
];
/// Ground, text, axes and lines of the mesh on light and on dark ground.
const GROUNDS: [[&str; 4]; 2] =
    [["#ffffff", "#2d343c", "#7c8792", "#dfe4e9"], ["#1a1f25", "#dce1e6", "#8a949e", "#343b43"]];

/// Colour of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Colour {
    /// One of the colours that are easily told apart, again from the first after the last.
    Number(usize),
    /// A place on the scale between 0 (blue) and 1 (orange).
    Share(f64),
    /// That of the text.
    Text,
}

impl Colour {
    /// The class that has it.
    pub(super) fn class(self) -> String {
        match self {
            Self::Number(number) => format!("c{}", number % COLOURS),
            Self::Share(share) => format!("s{}", (share.clamp(0.0, 1.0) * (STEPS - 1) as f64).round()),
            Self::Text => "ink".into(),
        }
    }
}

/// Dashes of a line, in pixels.
const DASHES: [&str; 4] = ["", "7 4", "2 4", "9 3 2 3"];

/// The form of the mark of a measured value, which no curve has: a star.
pub const MEASURED: usize = usize::MAX;

/// How a curve looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    /// Colour of line and marks.
    pub colour: Colour,
    /// Number of the dashes of its line; 0 is not dashed.
    pub dash: usize,
    /// Number of the form of its marks; 0 is a circle, [`MEASURED`] a star.
    pub mark: usize,
    /// Whether its marks are open.
    pub open: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self::marked(0)
    }
}

impl Style {
    /// The style of curve `number` whose points have marks: colours and marks differ.
    pub fn marked(number: usize) -> Self {
        Self { colour: Colour::Number(number), dash: 0, mark: number, open: false }
    }

    /// The style of line `number` of a few: colours and dashes differ.
    pub fn dashed(number: usize) -> Self {
        Self { colour: Colour::Number(number), dash: number, mark: 0, open: false }
    }

    /// The class of the filling of its marks.
    pub(super) fn filling(self) -> &'static str {
        if self.open { "open" } else { "full" }
    }

    /// Value of `stroke-dasharray`, nothing for a line that is not dashed.
    pub(super) fn dashes(self) -> &'static str {
        DASHES[self.dash % DASHES.len()]
    }
}

/// The colour of step `step` of a scale.
fn step(step: usize, scale: [[f64; 3]; 4]) -> String {
    let place = 3.0 * step as f64 / (STEPS - 1) as f64;
    let first = (place as usize).min(2);
    let mix =
        |k: usize| (scale[first][k] + (place - first as f64) * (scale[first + 1][k] - scale[first][k])).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

/// The colours of the scale on light and on dark ground, from 0 to 1.
pub fn ramps() -> [Vec<String>; 2] {
    SCALES.map(|scale| (0..STEPS).map(|number| step(number, scale)).collect())
}

/// Rules that differ between light (0) and dark (1) ground.
fn colours(ground: usize) -> String {
    let [paper, ink, axis, mesh] = GROUNDS[ground];
    let mut css = format!(
        ".plot{{color:{ink}}}.plot .paper,.plot .open{{fill:{paper}}}.plot .axis{{color:{axis}}}.plot .mesh{{color:{mesh}}}"
    );
    for (number, colour) in CURVES[ground].iter().enumerate() {
        let _ = write!(css, ".plot .c{number}{{color:{colour}}}");
    }
    for number in 0..STEPS {
        let _ = write!(css, ".plot .s{number}{{color:{}}}", step(number, SCALES[ground]));
    }
    css
}

/// The style sheet: part of every SVG that stands alone, once in a page.
pub fn sheet() -> String {
    format!(
        ".plot{{font:12px system-ui,-apple-system,\"Segoe UI\",Helvetica,Arial,sans-serif;font-variant-numeric:tabular-nums}}\
         .plot text{{fill:currentColor}}.plot .title{{font-size:13px;font-weight:600}}.plot .tick{{font-size:11px}}\
         .plot .line{{fill:none;stroke:currentColor;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}}\
         .plot .thin{{fill:none;stroke:currentColor;stroke-width:1}}.plot .full{{fill:currentColor}}\
         .plot .open{{stroke:currentColor;stroke-width:1.4}}\n{}\n@media (prefers-color-scheme:dark){{{}}}\n",
        colours(0),
        colours(1)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Luminance after the Web Content Accessibility Guidelines.
    fn luminance(colour: &str) -> f64 {
        let part = |k: usize| {
            let c = f64::from(u8::from_str_radix(&colour[2 * k + 1..2 * k + 3], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2)
    }

    #[test]
    fn the_scale_grows_lighter_all_the_way() {
        assert_eq!([0, 10].map(|k| step(k, SCALES[0])), ["#100c82", "#da690f"]);
        for scale in SCALES {
            let light: Vec<f64> = (0..STEPS).map(|k| luminance(&step(k, scale))).collect();
            assert!(light.windows(2).all(|pair| pair[0] < pair[1]), "{light:?}");
        }
        assert_eq!([-1.0, 0.5, 1.0].map(|share| Colour::Share(share).class()), ["s0", "s5", "s10"]);
    }

    /// Protects readability on both grounds: 3 to 1 for lines, 4.5 to 1 for text.
    #[test]
    fn every_colour_stands_out_from_its_ground() {
        for ground in 0..2 {
            let contrast = |colour: &str| {
                let [a, b] = [colour, GROUNDS[ground][0]].map(|colour| luminance(colour) + 0.05);
                (a / b).max(b / a)
            };
            assert!(contrast(GROUNDS[ground][1]) > 4.5);
            let scale = (0..STEPS).map(|k| step(k, SCALES[ground]));
            for colour in CURVES[ground].map(String::from).into_iter().chain(scale) {
                assert!(contrast(&colour) > 3.0, "{colour} on ground {ground}: {}", contrast(&colour));
            }
        }
    }

    #[test]
    fn few_curves_differ_by_more_than_their_colour() {
        let classes: Vec<String> = (0..6).map(|k| Style::marked(k).colour.class()).collect();
        assert_eq!(classes, ["c0", "c1", "c2", "c3", "c4", "c5"]);
        assert_ne!(Style::dashed(0).dashes(), Style::dashed(1).dashes());
        assert_ne!(Style::marked(0).mark, Style::marked(1).mark);
        assert!(sheet().contains("@media (prefers-color-scheme:dark)"));
    }
}
