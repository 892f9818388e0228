//! What decides accuracy and cost: order, tree, separation.

use crate::FmmError;
use crate::geometry::tree::TreeShape;

/// Highest supported order.
pub const MAX_ORDER: usize = 60;

/// Accuracy and shape of the tree.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// Order p of the expansions: (p+1)² coefficients. Order 0, monopoles alone, is allowed.
    pub order: usize,
    /// Root grid and refinements.
    pub tree: TreeShape,
    /// Boxes that touch interact directly, and so do those whose centres are less than this many box diameters (longest diagonals) apart, from 1
    /// to 4. With cubes 1.12 means 27 near boxes (well-separated by one box, ws = 1), 1.2 means 33, 1.35 57, 1.5 81 and 1.7 93 (about ws = 2).
    pub separation: f64,
}

impl Settings {
    /// Near boxes are those that touch: with cubes 27, ws = 1.
    pub const TOUCHING: f64 = 1.12;

    /// Near boxes are those up to two boxes apart: with cubes 93, ws = 2 but for the corners.
    pub const TWO_APART: f64 = 1.7;

    /// `order` and `tree`, near boxes those that touch.
    #[must_use]
    pub fn new(order: usize, tree: TreeShape) -> Self {
        Self { order, tree, separation: Self::TOUCHING }
    }

    /// # Errors
    /// An order or a separation out of range; a tree that is empty, or whose root grid has more than `max_root` boxes per axis.
    pub(crate) fn check(&self, max_root: usize) -> Result<(), FmmError> {
        if self.order > MAX_ORDER {
            return Err(FmmError::Order { order: self.order, max: MAX_ORDER });
        }
        if !(1.0..=4.0).contains(&self.separation) {
            return Err(FmmError::Separation { separation: self.separation });
        }
        self.tree.check(max_root)
    }
}
