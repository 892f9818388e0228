//! How accurate the fast multipole method shall be: a tolerance, or an order with a tree.

use clap::{Args, ValueEnum};
use octitrate::config::Depth;

/// A tolerance, or order and tree.
#[derive(Debug, Clone, Default, Args)]
pub struct Accuracy {
    /// Choose order, tree and separation for this error, and check it: 1e-5.
    #[arg(long, value_name = "ERROR", value_parser = tolerance, conflicts_with_all = ["order", "depth", "root", "separation"])]
    pub tolerance: Option<f64>,
    /// Multipole order.
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(0..=60))]
    pub order: Option<u32>,
    /// Levels of the tree below its root grid, or auto.
    #[arg(long, value_name = "D|auto")]
    pub depth: Option<Depth>,
    /// Boxes of the root grid along each axis, instead of near-cubic ones; depth 0 unless given.
    #[arg(long, value_name = "A,B,C", value_parser = root)]
    pub root: Option<Root>,
    /// Boxes whose centres are less than this many box diameters apart interact directly: 1.12, those that touch; 1.7, up to
    /// two boxes apart.
    #[arg(long, value_name = "X", value_parser = separation)]
    pub separation: Option<f64>,
}

/// What a tolerance is an error of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ToleranceOf {
    /// The forces: relative, root mean square.
    Force,
    /// The energy: relative.
    Energy,
    /// Energy, in the units of the file: charge² / length.
    AbsoluteEnergy,
}

/// Boxes of the root grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root(pub [usize; 3]);

/// A number from `low` to `high`, or what is `valid`.
pub(super) fn number_between(text: &str, low: f64, high: f64, valid: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x| (low..=high).contains(x)).ok_or_else(|| format!("valid is {valid}"))
}

fn tolerance(text: &str) -> Result<f64, String> {
    number_between(text, f64::MIN_POSITIVE, f64::MAX, "a number above zero, such as 1e-5")
}

fn separation(text: &str) -> Result<f64, String> {
    number_between(text, 1.0, 4.0, "a number from 1 to 4; 1.12 means boxes that touch")
}

fn root(text: &str) -> Result<Root, String> {
    let numbers: Option<Vec<usize>> =
        text.split(',').map(|n| n.trim().parse().ok().filter(|n| (1..=128).contains(n))).collect();
    let three = numbers.and_then(|n| n.try_into().ok()).map(Root);
    three.ok_or_else(|| "valid are three whole numbers from 1 to 64 (128 on a GPU), such as 7,7,7".into())
}
