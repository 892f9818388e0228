//! Plots as SVG: charts of points and lines, one or many that share their axes and a legend; λ against time; a matrix; lines on logarithmic axes.
//!
//! Sizes are pixels as they are shown: no text is scaled. Each SVG has a title and a description, and colours for light and dark ground.

mod chart;
mod drawing;
mod figure;
mod forest;
mod frame;
mod key;
mod lines;
mod matrix;
mod path;
mod scale;
mod strips;
mod style;

pub use chart::{Chart, Curve, Point};
pub use figure::{FEW, Figure};
pub use forest::{Bar, Forest};
pub use key::Entry;
pub use lines::{Axis, Trace, lines};
pub use matrix::matrix;
pub use scale::Scale;
pub use strips::{Strip, Strips, strips};
pub use style::{Colour, MEASURED, Style, ramps, sheet};
