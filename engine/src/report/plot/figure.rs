//! A figure: a drawing for wide and one for narrow pages, or panels that flow; with one legend for all of it.
//!
//! Nothing is scaled to fit: on a page panels stand in a grid with as many columns as there is room for, and of a chart that stands alone the
//! page shows the drawing that fits. As a file a figure is one SVG, with panels in fixed columns.

use super::chart::{Chart, Size};
use super::drawing::Drawing;
use super::key::{Entry, legend};
use std::fmt::Write;

/// Distance between panels (pixels).
const GAP: f64 = 12.0;
/// Width of a legend on a wide page, and of one that stands beside a drawing or on a phone (pixels).
const LEGENDS: [f64; 2] = [1032.0, 336.0];
/// More panels than this are small.
pub const FEW: usize = 12;

/// A figure, which holds something.
#[derive(Debug, Clone)]
pub struct Figure {
    key: Vec<Entry>,
    layout: Layout,
}

#[derive(Debug, Clone)]
enum Layout {
    /// The same for wide and for narrow pages.
    Alone { wide: Box<Drawing>, narrow: Box<Drawing> },
    /// One beside and below the other.
    Panels { panels: Vec<Drawing>, small: bool },
}

impl Figure {
    /// Charts of the same kind, those that hold nothing left out; `None` if all do. `kind` is what one of them is.
    pub fn charts(kind: &str, charts: &[Chart], key: Vec<Entry>) -> Option<Self> {
        let full: Vec<&Chart> = charts.iter().filter(|chart| !chart.is_empty()).collect();
        let small = full.len() > FEW;
        let layout = match full[..] {
            [] => return None,
            [one] => {
                let [wide, narrow] = [Size::Wide, Size::Narrow].map(|size| Box::new(one.drawing(size, kind)));
                Layout::Alone { wide, narrow }
            }
            _ => {
                let size = if small { Size::Small } else { Size::Medium };
                Layout::Panels { panels: full.iter().map(|chart| chart.drawing(size, kind)).collect(), small }
            }
        };
        let names = full.first().filter(|_| small).map(|chart| Entry::words(&format!("upwards: {}", chart.y.name)));
        Some(Self { key: key.into_iter().chain(names).collect(), layout })
    }

    /// One chart with a legend of its curves; `None` if it holds nothing.
    pub fn chart(kind: &str, chart: &Chart) -> Option<Self> {
        let named = chart.curves.iter().filter(|curve| !curve.name.is_empty() && !curve.is_empty());
        Self::charts(kind, std::slice::from_ref(chart), named.map(|curve| curve.entry()).collect())
    }

    /// A drawing for wide pages and the same for narrow ones.
    pub(super) fn alone(wide: Drawing, narrow: Drawing, key: Vec<Entry>) -> Self {
        Self { key, layout: Layout::Alone { wide: Box::new(wide), narrow: Box::new(narrow) } }
    }

    /// Panels of medium width.
    pub(super) fn panels(panels: Vec<Drawing>, key: Vec<Entry>) -> Self {
        Self { key, layout: Layout::Panels { panels, small: false } }
    }

    /// The drawings: one, or the panels.
    fn drawings(&self) -> &[Drawing] {
        match &self.layout {
            Layout::Alone { wide, .. } => std::slice::from_ref(wide),
            Layout::Panels { panels, .. } => panels,
        }
    }

    /// The figure as an SVG file; `title` says what it is.
    pub fn standalone(&self, title: &str, description: &str) -> String {
        let drawings = self.drawings();
        let columns = match &self.layout {
            Layout::Alone { .. } => 1,
            Layout::Panels { small: true, .. } => 6,
            Layout::Panels { .. } => drawings.len().min(3),
        };
        let [mut width, mut row] = [drawings[0].width, drawings[0].height];
        width = (width + GAP) * columns as f64 - GAP;
        let legend = legend(&self.key, width);
        let top = if self.key.is_empty() { GAP } else { GAP + legend.height + 8.0 };
        let mut places = Vec::new();
        let mut y = top;
        for line in drawings.chunks(columns) {
            row = line.iter().map(|drawing| drawing.height).fold(0.0, f64::max);
            places.extend((0..line.len()).map(|k| [GAP + k as f64 * (drawings[0].width + GAP), y]));
            y += row + GAP;
        }
        let mut whole = Drawing::new([width + 2.0 * GAP, y.max(top + row)], title, description);
        whole.put(&legend, [GAP, GAP]);
        drawings.iter().zip(places).for_each(|(drawing, place)| whole.put(drawing, place));
        whole.standalone()
    }

    /// The figure as a part of a page; `id` is of this figure alone.
    pub fn html(&self, id: &str) -> String {
        let mut html = String::new();
        let key = |width: f64, id: &str| match self.key.is_empty() {
            true => String::new(),
            false => legend(&self.key, width).embedded(&format!("{id}-key")),
        };
        match &self.layout {
            Layout::Alone { wide, narrow } => {
                let drawings = [("wide", wide), ("narrow", narrow)];
                let drawn = drawings.map(|(class, drawing)| {
                    format!("<div class=\"{class}\">{}</div>", drawing.embedded(&format!("{id}-{class}")))
                });
                let _ = write!(html, "<div class=\"alone\">{}{}</div>", drawn.concat(), key(LEGENDS[1], id));
            }
            Layout::Panels { panels, small } => {
                for (class, width) in ["wide", "narrow"].into_iter().zip(LEGENDS) {
                    let key = key(width, &format!("{id}-{class}"));
                    html += &format!("<div class=\"{class}\">{key}</div>");
                }
                let class = if *small { "panels small" } else { "panels" };
                let panels = panels.iter().enumerate().map(|(k, panel)| panel.embedded(&format!("{id}-{k}")));
                let _ = write!(html, "<div class=\"{class}\">{}</div>", panels.collect::<String>());
            }
        }
        html
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Curve, Scale, Style};
    use super::*;

    fn chart(title: &str, height: f64) -> Chart {
        let curve = Curve { name: "round 1".into(), line: vec![(0.0, height), (1.0, height)], ..Curve::default() };
        let (x, y) = (Scale::new("λ", [0.0, 1.0]), Scale::new("energy (kJ/mol)", [0.0, 1.0]));
        Chart { title: title.into(), note: String::new(), curves: vec![curve], x, y }
    }

    fn figure(count: usize) -> Figure {
        let charts: Vec<Chart> = (0..count).map(|k| chart(&format!("site {k}"), 0.5)).collect();
        Figure::charts("Energy", &charts, vec![Entry::line("from the windows", Style::default())]).unwrap()
    }

    /// Protects readers from frames without content.
    #[test]
    fn panels_that_hold_nothing_are_left_out() {
        let found =
            Figure::charts("Energy", &[chart("a", 0.5), chart("b", f64::NAN), chart("c", 0.5)], Vec::new()).unwrap();
        let html = found.html("f1");
        assert_eq!(html.matches("<svg").count(), 2);
        assert!(html.contains("Energy: a") && !html.contains("Energy: b") && html.contains("Energy: c"));
        assert!(Figure::charts("Energy", &[chart("b", f64::NAN)], Vec::new()).is_none());
    }

    /// Protects phones: a chart alone has a drawing of its own for them, panels flow, and no number stands for two elements.
    #[test]
    fn every_figure_has_a_narrow_layout() {
        let one = Figure::chart("Energy", &chart("", 0.5)).unwrap().html("f1");
        assert!(one.contains("class=\"wide\"") && one.contains("class=\"narrow\"") && one.contains("width=\"336\""));
        assert!(one.contains("round 1</text>"));
        assert!(
            figure(12).html("f").contains("class=\"panels\"")
                && figure(13).html("f").contains("class=\"panels small\"")
        );
        for html in [one, figure(5).html("f2")] {
            let mut ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
            let count = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), count);
            assert_eq!(html.matches("role=\"img\"").count(), html.matches("<svg").count());
        }
    }

    #[test]
    fn as_a_file_a_figure_is_one_svg_with_one_legend() {
        for count in [1, 2, 5, 30] {
            let svg = figure(count).standalone("Energies", "All of them");
            assert_eq!((svg.matches("<svg").count(), svg.matches("from the windows<").count()), (1, 1));
            assert!(svg.contains("site 0") && svg.contains("Energies</title>") && svg.trim_end().ends_with("</svg>"));
        }
        // The axis upwards has no room for its name beside small panels.
        assert_eq!(figure(30).html("f").matches("upwards: energy (kJ/mol)</text>").count(), 2);
    }
}
