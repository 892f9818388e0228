//! Measured points with error bars and the curves through them, on axes that fit.

use super::canvas::{COLOURS, svg};
use super::chart::{Axes, Curve, chart};
use crate::error::Error;

/// Draws curves; `names` are those of the axes.
///
/// # Errors
/// [`Error::Input`] if the numbers cannot be drawn.
pub fn curves(curves: &[Curve], names: [&str; 2]) -> Result<String, Error> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let line = || curves.iter().flat_map(|curve| &curve.line);
    let (left, right) = range(points().map(|point| point.x).chain(line().map(|p| p.0)));
    let (low, high) = range(points().flat_map(|p| p.interval).chain(line().map(|p| p.1)));
    let margin = 0.05 * (high - low).max(1e-6);
    let axes = Axes { x: (left - 0.05, right + 0.05), y: (low - margin, high + margin), names };
    svg((720, 460), |area| chart(area, curves, &axes, &COLOURS))
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plot::Point;

    #[test]
    fn points_and_names_are_drawn() {
        let point = |x: f64| Point { x, y: x * x, interval: [x * x - 0.1, x * x + 0.1] };
        let curve = Curve {
            name: "HSP → HSD".into(),
            points: [0.0, 0.5, 1.0].map(point).to_vec(),
            line: vec![(-0.1, 0.0), (1.1, 1.2)],
            mark: None,
        };
        let text = curves(&[curve.clone(), Curve { name: "HSP → HSE".into(), ..curve }], ["λ", "energy"]).unwrap();
        assert_eq!(text.matches("<circle").count(), 6);
        assert!(text.contains("HSP → HSE") && text.contains("energy"));
        assert!(curves(&[Curve::default()], ["λ", "energy"]).is_err());
    }
}
