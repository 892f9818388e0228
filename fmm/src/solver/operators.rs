//! The operators of one solver: those of one order, for boxes of one shape.

use kernels::Real;

use crate::geometry::assignment::Geometry;
use crate::geometry::grid::{BoxGrid, NearSet};
use crate::operators::expansion::ExpansionTable;
use crate::operators::harmonics::count;
use crate::operators::l2l::L2l;
use crate::operators::m2l::convolution::Convolution;
use crate::operators::m2l::refined::RefinedM2l;
use crate::operators::m2m::M2m;
use crate::solver::settings::Settings;
use crate::workspace::LANES;

/// Operators of one order and box shape.
pub struct Operators<T: Real> {
    /// Coefficients per box, padded.
    pub stride: usize,
    /// Root grid; boxes of every level have its shape.
    pub grid: BoxGrid,
    /// Constants of P2M and L2P.
    pub table: ExpansionTable<T>,
    /// M2L on the root grid, with all images.
    pub root: Convolution<T>,
    /// Children to parents.
    pub m2m: M2m<T>,
    /// Parents to children.
    pub l2l: L2l<T>,
    /// M2L on refined levels.
    pub m2l: RefinedM2l<T>,
}

impl<T: Real> Operators<T> {
    /// Operators for the boxes of `geometry`.
    pub fn new(settings: Settings, geometry: &Geometry, near: NearSet) -> Self {
        let Settings { order, tree, .. } = settings;
        let stride = count(order).next_multiple_of(LANES);
        let basis = geometry.unit_basis();
        let grid = BoxGrid { topology: geometry.root(), basis, near };
        Self {
            stride,
            table: ExpansionTable::new(order),
            root: Convolution::new(&grid, order, stride),
            m2m: M2m::new(&grid, order, stride, tree.depth),
            l2l: L2l::new(&grid, order, stride, tree.depth),
            m2l: RefinedM2l::new(&grid, order, stride, tree.depth),
            grid,
        }
    }
}
