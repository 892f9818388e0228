//! Titration curves: deprotonated fraction against pH.

use super::canvas::{COLOURS, svg};
use super::chart::{Axes, Curve, chart};
use crate::error::Error;

/// Deprotonated fraction against pH from `low` to `high`, with error bars, Hill curves and the fitted pKa of each site.
///
/// # Errors
/// [`Error::Input`] if the numbers cannot be drawn.
pub fn titration(curves: &[Curve], [low, high]: [f64; 2]) -> Result<String, Error> {
    let axes = Axes { x: (low - 0.4, high + 0.4), y: (-0.04, 1.04), names: ["pH", "deprotonated fraction"] };
    svg((720, 460), |area| chart(area, curves, &axes, &COLOURS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plot::Point;

    #[test]
    fn points_names_and_axes_are_drawn() {
        let points: Vec<Point> =
            (2..7).map(|ph| Point { x: f64::from(ph), y: f64::from(ph) / 10.0, interval: [0.0, 1.0] }).collect();
        let curve = Curve { name: "GLU 2".into(), points, line: vec![(2.0, 0.0), (7.0, 1.0)], mark: Some(4.25) };
        let text = titration(std::slice::from_ref(&curve), [2.0, 6.0]).unwrap();
        assert_eq!(text.matches("<circle").count(), 5);
        assert!(
            text.contains("GLU 2") && text.contains("deprotonated fraction") && text.trim_end().ends_with("</svg>")
        );
        let nothing = Curve { name: "all frames mixed".into(), ..Curve::default() };
        assert!(titration(std::slice::from_ref(&nothing), [2.0, 6.0]).unwrap().contains("all frames mixed"));
        assert!(titration(&[], [4.0, 4.0]).is_ok());
    }
}
