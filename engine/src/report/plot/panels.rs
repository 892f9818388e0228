//! Many small charts beside and below each other.

use super::canvas::{COLOURS, SCALE, scale, svg, text};
use super::chart::{Axes, Curve, chart};
use crate::error::Error;
use plotters::prelude::*;

/// One of many charts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chart {
    /// Title, above the chart.
    pub title: String,
    /// Curves that it shows.
    pub curves: Vec<Curve>,
    /// Ends of the abscissa.
    pub x: (f64, f64),
    /// Ends of the ordinate.
    pub y: (f64, f64),
    /// Names of the axes.
    pub names: [&'static str; 2],
}

/// Colours of the curves of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// Colours that are easily told apart.
    Distinct,
    /// From blue to red in their order.
    Scale,
}

/// Size of a chart (pixels).
const SIZE: (u32, u32) = (360, 280);

/// Draws charts, two to a row.
///
/// # Errors
/// [`Error::Input`] if the numbers cannot be drawn.
pub fn panels(charts: &[Chart], colours: Colours) -> Result<String, Error> {
    let columns = charts.len().clamp(1, 2);
    let rows = charts.len().div_ceil(columns).max(1);
    let size = (SIZE.0 * columns.max(2) as u32, SIZE.1 * rows as u32);
    svg(size, |area| {
        let cells = area.split_evenly((rows, columns));
        for (one, cell) in charts.iter().zip(&cells) {
            let cell = cell.margin(8 * SCALE, 0, 0, 0).titled(&one.title, text(16))?;
            let shades: Vec<RGBColor> = match colours {
                Colours::Distinct => COLOURS.to_vec(),
                Colours::Scale => {
                    let last = one.curves.len().saturating_sub(1).max(1) as f64;
                    (0..one.curves.len().max(1)).map(|k| scale(k as f64 / last)).collect()
                }
            };
            chart(&cell, &one.curves, &Axes { x: one.x, y: one.y, names: one.names }, &shades)?;
        }
        // An empty page would look like a mistake.
        if charts.is_empty() {
            area.draw(&Text::new("nothing to show", (20 * SCALE as i32, 20 * SCALE as i32), text(15)))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chart_is_drawn() {
        let curve = Curve { line: vec![(0.0, 0.0), (1.0, 1.0)], ..Curve::default() };
        let one = |title: &str| Chart {
            title: title.into(),
            curves: vec![curve.clone(); 3],
            x: (0.0, 1.0),
            y: (0.0, 1.0),
            names: ["pH", "share"],
        };
        let text = panels(&["GLU 2", "HIS 5", "LYS 7"].map(one), Colours::Scale).unwrap();
        assert!(["GLU 2", "HIS 5", "LYS 7"].iter().all(|name| text.contains(name)));
        assert_eq!(text.matches(">share<").count() + text.matches("share\n").count(), 3);
        assert!(text.contains("height=\"560\"") && panels(&[], Colours::Distinct).is_ok());
        assert!(panels(&[Chart::default()], Colours::Distinct).is_err());
    }
}
