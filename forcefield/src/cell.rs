//! The space that atoms live in: open, or a periodic box of any shape.
//!
//! A box has the edge vectors a, b, c as the rows of a lower-triangular matrix, as GROMACS writes them,
//!
//! ```text
//! a = (aₓ, 0, 0)    b = (bₓ, b_y, 0)    c = (cₓ, c_y, c_z)        V = aₓ b_y c_z
//! ```
//!
//! A rectangular box is the special case without off-diagonal elements. The nearest image of a difference d is d − i a − j b − k c of the
//! smallest length. Where the box is rectangular each axis is rounded by itself; else rounding from c to a gives a start, and its 26
//! neighbours are tried, which is enough for boxes whose edges are reduced (each off-diagonal element at most half the diagonal one above it).
//!
//! Units: nm, nm³.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Numbers that are no periodic box.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CellError {
    /// A number is not finite, the diagonal is not positive, or something stands above it.
    #[error("box vectors {rows:?} nm: all numbers must be finite, and the diagonal positive")]
    Edges {
        /// The vectors found, nm.
        rows: [[f64; 3]; 3],
    },
}

/// Open space or a periodic box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// No boundary at all.
    #[default]
    Open,
    /// The same space follows again behind every face.
    Periodic(PeriodicBox),
}

/// A periodic box with one corner at the origin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeriodicBox {
    /// Edge vectors, nm; zero above the diagonal.
    rows: [[f64; 3]; 3],
}

impl PeriodicBox {
    /// From the lengths of the edges (nm) of a rectangular box.
    ///
    /// # Errors
    /// [`CellError::Edges`] if one is not positive and finite.
    pub fn rectangular(edges: Vector3<f64>) -> Result<Self, CellError> {
        let [x, y, z] = edges.into();
        Self::triclinic([[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]])
    }

    /// From edge vectors (nm), zero above the diagonal.
    ///
    /// # Errors
    /// [`CellError::Edges`] if a number is not finite, the diagonal not positive, or something stands above it.
    pub fn triclinic(rows: [[f64; 3]; 3]) -> Result<Self, CellError> {
        let [[ax, ay, az], [_, by, bz], [_, _, cz]] = rows;
        let lower = [ay, az, bz].iter().all(|above| *above == 0.0);
        let good = lower && rows.iter().flatten().all(|x| x.is_finite()) && ax > 0.0 && by > 0.0 && cz > 0.0;
        if good { Ok(Self { rows }) } else { Err(CellError::Edges { rows }) }
    }

    /// Edge vectors a, b, c (nm).
    pub fn rows(&self) -> [[f64; 3]; 3] {
        self.rows
    }

    /// The diagonal (nm): the edges of a rectangular box.
    pub fn diagonal(&self) -> Vector3<f64> {
        Vector3::new(self.rows[0][0], self.rows[1][1], self.rows[2][2])
    }

    /// Whether the edges are at right angles.
    pub fn is_rectangular(&self) -> bool {
        let [_, [bx, ..], [cx, cy, _]] = self.rows;
        [bx, cx, cy].iter().all(|off| *off == 0.0)
    }

    /// Volume, nm³.
    pub fn volume(&self) -> f64 {
        self.diagonal().product()
    }

    /// All edges multiplied by `factor`.
    ///
    /// # Errors
    /// [`CellError::Edges`] if the result is no box.
    pub fn scaled(&self, factor: f64) -> Result<Self, CellError> {
        Self::triclinic(self.rows.map(|row| row.map(|x| x * factor)))
    }

    /// The nearest periodic image of the difference `d` (nm).
    #[inline]
    pub fn minimum_image(&self, d: Vector3<f64>) -> Vector3<f64> {
        if self.is_rectangular() {
            return d.zip_map(&self.diagonal(), |d, edge| d - edge * (d / edge).round());
        }
        let start = self.rounded(d);
        let [a, b, c] = self.rows.map(Vector3::from);
        let steps = || [-1.0, 0.0, 1.0].into_iter();
        let images =
            steps().flat_map(|i| steps().flat_map(move |j| steps().map(move |k| start + a * i + b * j + c * k)));
        images.fold(start, |best, image| if image.norm_squared() < best.norm_squared() { image } else { best })
    }

    /// The image of position `x` (nm) in the box: its coordinates along a, b and c lie in [0, 1).
    #[inline]
    pub fn wrap(&self, x: Vector3<f64>) -> Vector3<f64> {
        if !self.is_rectangular() {
            return x + self.shift_into(x);
        }
        x.zip_map(&self.diagonal(), |x, edge| {
            let inside = x - edge * (x / edge).floor();
            // A tiny negative x rounds up to the edge itself.
            if inside >= edge { 0.0 } else { inside }
        })
    }

    /// The whole edges (nm) to add to `x` (nm) so that it lies in the box.
    pub fn shift_into(&self, x: Vector3<f64>) -> Vector3<f64> {
        if self.is_rectangular() {
            return x.zip_map(&self.diagonal(), |x, edge| -edge * (x / edge).floor());
        }
        let (mut rest, mut shift) = (x, Vector3::zeros());
        for axis in (0..3).rev() {
            let edge = Vector3::from(self.rows[axis]);
            let coordinate = rest[axis] / edge[axis];
            rest -= edge * coordinate;
            shift -= edge * coordinate.floor();
        }
        shift
    }

    /// `x` less its coordinates rounded to whole edges one after the other, from c to a.
    fn rounded(&self, mut x: Vector3<f64>) -> Vector3<f64> {
        for axis in (0..3).rev() {
            let row = self.rows[axis];
            x -= Vector3::from(row) * (x[axis] / row[axis]).round();
        }
        x
    }
}

impl Cell {
    /// A rectangular box with edges (nm).
    ///
    /// # Errors
    /// [`CellError::Edges`] if one is not positive and finite.
    pub fn rectangular(edges: Vector3<f64>) -> Result<Self, CellError> {
        PeriodicBox::rectangular(edges).map(Self::Periodic)
    }

    /// The box; none of open space.
    pub fn periodic(&self) -> Option<&PeriodicBox> {
        match self {
            Self::Open => None,
            Self::Periodic(periodic) => Some(periodic),
        }
    }

    /// Whether there is a box.
    pub fn is_periodic(&self) -> bool {
        self.periodic().is_some()
    }

    /// Edges (nm) of a rectangular box; none of open space.
    ///
    /// This is for algorithms that know rectangular boxes only. Whoever sets one up refuses a triclinic cell first
    /// ([`Cell::is_triclinic`]).
    pub fn edges(&self) -> Option<Vector3<f64>> {
        self.periodic().map(PeriodicBox::diagonal)
    }

    /// Whether there is a box without right angles.
    pub fn is_triclinic(&self) -> bool {
        self.periodic().is_some_and(|periodic| !periodic.is_rectangular())
    }

    /// Volume (nm³); none of open space.
    pub fn volume(&self) -> Option<f64> {
        self.periodic().map(PeriodicBox::volume)
    }

    /// All edges multiplied by `factor`; open space stays open.
    ///
    /// # Errors
    /// [`CellError::Edges`] if the result is no box.
    pub fn scaled(&self, factor: f64) -> Result<Self, CellError> {
        match self {
            Self::Open => Ok(Self::Open),
            Self::Periodic(periodic) => periodic.scaled(factor).map(Self::Periodic),
        }
    }

    /// By how much each axis has been stretched since the cell was `then`; none if one of them is open and the other is not.
    pub fn stretch_since(&self, then: &Self) -> Option<Vector3<f64>> {
        match (then.edges(), self.edges()) {
            (Some(then), Some(now)) => Some(now.component_div(&then)),
            (None, None) => Some(Vector3::repeat(1.0)),
            _ => None,
        }
    }

    /// The nearest periodic image of the difference `d` (nm); `d` itself in open space.
    #[inline]
    pub fn minimum_image(&self, d: Vector3<f64>) -> Vector3<f64> {
        match self {
            Self::Open => d,
            Self::Periodic(periodic) => periodic.minimum_image(d),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes() -> [PeriodicBox; 3] {
        [
            PeriodicBox::rectangular(Vector3::new(2.0, 3.0, 2.5)).unwrap(),
            // A rhombic dodecahedron and a truncated octahedron as GROMACS writes them.
            PeriodicBox::triclinic([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 2.0_f64.sqrt()]]).unwrap(),
            PeriodicBox::triclinic([[3.0, 0.0, 0.0], [1.0, 8f64.sqrt(), 0.0], [-1.0, 2f64.sqrt(), 6f64.sqrt()]])
                .unwrap(),
        ]
    }

    #[test]
    fn minimum_image_is_the_nearest_of_all_images() {
        for cell in boxes() {
            let rows = cell.rows().map(Vector3::from);
            for k in 0..200 {
                let d = Vector3::new(0.37, -0.53, 0.71) * k as f64 * 0.3 - Vector3::new(9.0, 7.0, 5.0);
                let image = cell.minimum_image(d);
                for n in 0..125 {
                    let [i, j, k] = [n % 5, n / 5 % 5, n / 25].map(|i| i as f64 - 2.0);
                    let other = image + rows[0] * i + rows[1] * j + rows[2] * k;
                    assert!(image.norm() <= other.norm() + 1e-12, "{cell:?} {d:?}");
                }
                for moved in [image - d, cell.wrap(d) - d, cell.shift_into(d)] {
                    let mut left = moved;
                    let turns = [2, 1, 0].map(|axis| {
                        let turn = left[axis] / rows[axis][axis];
                        left -= rows[axis] * turn;
                        turn
                    });
                    assert!(turns.iter().all(|turn| (turn - turn.round()).abs() < 1e-12), "whole edges: {turns:?}");
                }
            }
        }
    }

    #[test]
    fn wrapped_positions_lie_in_the_box() {
        let [rectangular, ..] = boxes();
        assert_eq!(rectangular.wrap(Vector3::new(-1e-30, 3.0, -2.5)), Vector3::zeros());
        for cell in boxes() {
            let inverse = nalgebra::Matrix3::from_fn(|i, j| cell.rows()[j][i]).try_inverse().unwrap();
            for k in 0..50 {
                let x = cell.wrap(Vector3::new(1.3, -0.7, 2.1) * k as f64);
                let inside = (inverse * x).iter().all(|s| (-1e-12..1.0 + 1e-12).contains(s));
                assert!(inside, "{cell:?} {x:?}");
            }
        }
    }

    #[test]
    fn volume_and_scaling() {
        for cell in boxes() {
            let twice = cell.scaled(2.0).unwrap();
            assert!((twice.volume() / cell.volume() - 8.0).abs() < 1e-12);
            assert!(matches!(cell.scaled(-1.0), Err(CellError::Edges { .. })));
        }
        assert!((boxes()[1].volume() / 8.0 - 0.5_f64.sqrt()).abs() < 1e-12, "a dodecahedron fills 71 % of its cube");
    }

    #[test]
    fn numbers_that_are_no_box_are_refused() {
        assert!(PeriodicBox::rectangular(Vector3::new(1.0, f64::NAN, 1.0)).is_err());
        assert!(PeriodicBox::rectangular(Vector3::new(1.0, 0.0, 1.0)).is_err());
        let above = [[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        assert_eq!(PeriodicBox::triclinic(above), Err(CellError::Edges { rows: above }));
    }

    #[test]
    fn open_space_has_no_images() {
        let d = Vector3::new(100.0, -3.0, 7.0);
        let open = Cell::Open;
        assert_eq!((open.minimum_image(d), open.volume(), open.scaled(2.0)), (d, None, Ok(Cell::Open)));
        assert!(!open.is_periodic() && !open.is_triclinic() && open.edges().is_none());
        assert!(Cell::Periodic(boxes()[1]).is_triclinic());
    }
}
