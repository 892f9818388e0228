//! Plots as SVG text: titration curves, λ against time, points with curves; lines on linear or logarithmic axes; many small charts; a matrix.

mod canvas;
mod chart;
mod curves;
mod lines;
mod matrix;
mod panels;
mod series;
mod titration;

pub use chart::{Curve, Point};
pub use curves::curves;
pub use lines::{Axis, Trace, lines};
pub use matrix::matrix;
pub use panels::{Chart, Colours, panels};
pub use series::{Panel, lambda_series};
pub use titration::titration;
