//! The space that atoms live in: open, or a periodic box of any shape.
//!
//! A box has the edge vectors a, b, c as the rows of a lower-triangular matrix, as GROMACS writes them,
//!
//! ```text
//! a = (aₓ, 0, 0)    b = (bₓ, b_y, 0)    c = (cₓ, c_y, c_z)        V = aₓ b_y c_z
//! ```
//!
//! A rectangular box is the special case without off-diagonal elements. The same lattice has many boxes; files get the reduced one,
//! |bₓ| ≤ aₓ/2, |cₓ| ≤ aₓ/2, |c_y| ≤ b_y/2 ([`PeriodicBox::reduced`]). The nearest image of a difference d is d + i a + j b + k c of the smallest
//! length: where the box is rectangular each axis is rounded by itself; else all layers k and rows j that can hold a nearer image than the
//! one found so far are searched, which is exact whatever the shape (U. Fincke, M. Pohst, Math. Comput. 44, 463 (1985), DOI 10.2307/2007966).
//!
//! Units: nm, nm³.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Numbers that are no periodic box.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CellError {
    /// A number is not finite, the diagonal is not positive, something stands above it, or the box is almost a plane.
    #[error(
        "box vectors {rows:?} nm: all numbers must be finite, the diagonal positive, the numbers above it zero, and a box without right \
         angles not a thousand times wider than high"
    )]
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
    /// How many edges away an image may be that [`Self::images_within`] lists.
    pub const MOST_EDGES: i8 = 125;

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
    /// [`CellError::Edges`] if a number is not finite, the diagonal not positive, something stands above it, or the box is almost a plane.
    pub fn triclinic(rows: [[f64; 3]; 3]) -> Result<Self, CellError> {
        let [[ax, ay, az], [_, by, bz], [_, _, cz]] = rows;
        let lower = [ay, az, bz].iter().all(|above| *above == 0.0);
        let good = lower && rows.iter().flatten().all(|x| x.is_finite()) && ax > 0.0 && by > 0.0 && cz > 0.0;
        let found = Self { rows };
        // Searches of images go through all layers within the length of an edge.
        let flat = || !found.is_rectangular() && found.heights().min() < 1e-3 * found.lengths().max();
        if good && !flat() { Ok(found) } else { Err(CellError::Edges { rows }) }
    }

    /// The box that files mean with these edge vectors (nm): the reduced one of the same lattice. Off-diagonal elements of less than 3e-5 of the
    /// diagonal (0.002°) are the rounding of files, and count as none. Elements up to 0.1 % longer than half an edge stay as they are, so that the
    /// halves of a dodecahedron, which files round, keep their sign.
    ///
    /// # Errors
    /// [`CellError::Edges`] if a number is not finite, the diagonal not positive, or something stands above it.
    pub fn reduced(rows: [[f64; 3]; 3]) -> Result<Self, CellError> {
        const ROUNDING: f64 = 3e-5;
        const HALF: f64 = 0.5005;
        let largest = (0..3).map(|axis| rows[axis][axis]).fold(0.0, f64::max);
        let mut box_ = rows;
        for (row, column) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            if box_[row][column].abs() <= ROUNDING * largest {
                box_[row][column] = 0.0;
            }
        }
        let Self { rows: mut box_ } = Self::triclinic(box_).map_err(|_| CellError::Edges { rows })?;
        for (row, by) in [(1, 0), (2, 1), (2, 0)] {
            let turns = box_[row][by] / box_[by][by];
            if turns.abs() > HALF {
                let edge = box_[by];
                (0..=by).for_each(|column| box_[row][column] -= turns.round() * edge[column]);
            }
        }
        Self::triclinic(box_)
    }

    /// From the numbers of [`Self::packed`].
    ///
    /// # Errors
    /// As [`Self::triclinic`].
    pub fn from_packed([ax, by, cz, bx, cx, cy]: [f64; 6]) -> Result<Self, CellError> {
        Self::triclinic([[ax, 0.0, 0.0], [bx, by, 0.0], [cx, cy, cz]])
    }

    /// The six numbers that need not be zero (nm), as devices keep them: aₓ, b_y, c_z, then bₓ, cₓ, c_y.
    pub fn packed(&self) -> [f64; 6] {
        let [[ax, ..], [bx, by, _], [cx, cy, cz]] = self.rows;
        [ax, by, cz, bx, cx, cy]
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

    /// i a + j b + k c (nm) of whole edges `[i, j, k]`.
    #[inline]
    pub fn vector(&self, [i, j, k]: [f64; 3]) -> Vector3<f64> {
        let [[ax, ..], [bx, by, _], [cx, cy, cz]] = self.rows;
        Vector3::new(i * ax + j * bx + k * cx, j * by + k * cy, k * cz)
    }

    /// Coordinates along a, b and c in units of these: the inverse of [`Self::vector`].
    pub fn coordinates(&self, x: Vector3<f64>) -> [f64; 3] {
        let [[ax, ..], [bx, by, _], [cx, cy, cz]] = self.rows;
        let k = x.z / cz;
        let j = (x.y - k * cy) / by;
        [(x.x - j * bx - k * cx) / ax, j, k]
    }

    /// Lengths of a, b and c, nm.
    pub fn lengths(&self) -> Vector3<f64> {
        Vector3::from(self.rows.map(|row| Vector3::from(row).norm()))
    }

    /// Distances of opposite faces (nm): those of b and c, c and a, a and b. Of a rectangular box they are the edges.
    pub fn heights(&self) -> Vector3<f64> {
        if self.is_rectangular() {
            return self.diagonal();
        }
        let [a, b, c] = self.rows.map(Vector3::from);
        Vector3::new(b.cross(&c).norm(), c.cross(&a).norm(), a.cross(&b).norm()).map(|face| self.volume() / face)
    }

    /// Distance of the nearest two images of anything: the length of the shortest vector of the lattice, nm.
    pub fn image_distance(&self) -> f64 {
        let [a, b, c] = self.rows.map(Vector3::from);
        let mut least = a.norm();
        for k in 0..=(least / c.z) as i64 {
            let layer = c * k as f64;
            let rows = ((least + layer.y.abs()) / b.y) as i64;
            for j in (-rows..=rows).filter(|j| (k, *j) != (0, 0)) {
                let mut image = layer + b * j as f64;
                image.x -= a.x * (image.x / a.x).round();
                least = least.min(image.norm());
            }
        }
        least
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

    /// All edges stretched by a factor for each of x, y and z.
    ///
    /// # Errors
    /// [`CellError::Edges`] if the result is no box.
    pub fn stretched(&self, factors: Vector3<f64>) -> Result<Self, CellError> {
        Self::triclinic(self.rows.map(|row| Vector3::from(row).component_mul(&factors).into()))
    }

    /// The nearest periodic image of the difference `d` (nm).
    #[inline]
    pub fn minimum_image(&self, d: Vector3<f64>) -> Vector3<f64> {
        if self.is_rectangular() {
            return d.zip_map(&self.diagonal(), |d, edge| d - edge * (d / edge).round());
        }
        let [a, b, c] = self.rows.map(Vector3::from);
        let mut best = self.rounded(d);
        let mut least = best.norm_squared();
        let start = best;
        let layers = (least.sqrt() / c.z + 0.5).floor() as i64;
        for k in -layers..=layers {
            let layer = start + c * k as f64;
            let left = least - layer.z * layer.z;
            if left <= 0.0 {
                continue;
            }
            let (middle, rows) = ((layer.y / b.y).round(), (left.sqrt() / b.y + 0.5).floor() as i64);
            for j in -rows..=rows {
                let mut image = layer + b * (j as f64 - middle);
                image.x -= a.x * (image.x / a.x).round();
                let squared = image.norm_squared();
                if squared < least {
                    (best, least) = (image, squared);
                }
            }
        }
        best
    }

    /// The image of position `x` (nm) in the box: its coordinates along a, b and c lie in [0, 1).
    #[inline]
    pub fn wrap(&self, x: Vector3<f64>) -> Vector3<f64> {
        if !self.is_rectangular() {
            let inside = x + self.shift_into(x);
            let coordinates = self.coordinates(inside);
            // A tiny negative coordinate rounds up to a whole edge, as below.
            let is_whole = |coordinate: &f64| *coordinate >= 1.0;
            if !coordinates.iter().any(is_whole) {
                return inside;
            }
            return self.vector(coordinates.map(|coordinate| if is_whole(&coordinate) { 0.0 } else { coordinate }));
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

    /// Whole edges `[i, j, k]` whose [`vector`](Self::vector) brings `x` (nm) into the brick 0 ≤ x < aₓ, 0 ≤ y < b_y, 0 ≤ z < c_z, which is as good
    /// a cell of the lattice as the box itself.
    pub fn turns_into_brick(&self, mut x: Vector3<f64>) -> [f64; 3] {
        let mut turns = [0.0; 3];
        for axis in (0..3).rev() {
            turns[axis] = -(x[axis] / self.rows[axis][axis]).floor();
            x += Vector3::from(self.rows[axis]) * turns[axis];
        }
        turns
    }

    /// All whole edges `[i, j, k]`, in ascending order, by which a brick ([`Self::turns_into_brick`]) may come nearer than `reach` (nm) to itself.
    ///
    /// # Panics
    /// If `reach` is negative, no number or so long that an image is more than [`Self::MOST_EDGES`] edges away.
    pub fn images_within(&self, reach: f64) -> Vec<[i8; 3]> {
        let diagonal = self.diagonal();
        let most = Self::MOST_EDGES;
        let whole = |edges: f64| {
            let counts = reach >= 0.0 && edges < f64::from(most);
            assert!(
                counts,
                "images within {reach} nm of a box {:?} nm: valid is a reach of 0 to {most} edges",
                self.rows
            );
            1 + edges as i8
        };
        let near = |turns: &[i8; 3]| {
            let shift = self.vector(turns.map(f64::from));
            (0..3).all(|axis| shift[axis].abs() < diagonal[axis] + reach)
        };
        // Layers slide against each other along b and a, rows along a.
        let [_, [bx, ..], [cx, cy, _]] = self.rows;
        let layers = whole(reach / diagonal.z);
        let rows = whole((reach + f64::from(layers) * cy.abs()) / diagonal.y);
        let along = whole((reach + f64::from(layers) * cx.abs() + f64::from(rows) * bx.abs()) / diagonal.x);
        let range = |n: i8| -n..=n;
        let all = range(along).flat_map(|i| range(rows).flat_map(move |j| range(layers).map(move |k| [i, j, k])));
        all.filter(near).collect()
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

    /// Edges (nm) of a rectangular box; none of open space or of a box without right angles.
    pub fn edges(&self) -> Option<Vector3<f64>> {
        self.periodic().filter(|periodic| periodic.is_rectangular()).map(PeriodicBox::diagonal)
    }

    /// The numbers of [`PeriodicBox::packed`]; zeros of open space.
    pub fn packed(&self) -> [f64; 6] {
        self.periodic().map_or([0.0; 6], PeriodicBox::packed)
    }

    /// From the numbers of [`Self::packed`]: six zeros are open space.
    ///
    /// # Errors
    /// [`CellError::Edges`] if other numbers are no box.
    pub fn from_packed(numbers: [f64; 6]) -> Result<Self, CellError> {
        if numbers == [0.0; 6] { Ok(Self::Open) } else { PeriodicBox::from_packed(numbers).map(Self::Periodic) }
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

    /// All edges stretched by a factor for each of x, y and z; open space stays open.
    ///
    /// # Errors
    /// [`CellError::Edges`] if the result is no box.
    pub fn stretched(&self, factors: Vector3<f64>) -> Result<Self, CellError> {
        match self {
            Self::Open => Ok(Self::Open),
            Self::Periodic(periodic) => periodic.stretched(factors).map(Self::Periodic),
        }
    }

    /// By how much space has been stretched along x, y and z since the cell was `then`; none if one of them is open and the other is not, or
    /// if the one is no stretched image of the other.
    pub fn stretch_since(&self, then: &Self) -> Option<Vector3<f64>> {
        const ROUNDING: f64 = 1e-9;
        let (then, now) = match (then, self) {
            (Self::Periodic(then), Self::Periodic(now)) => (then, now),
            (Self::Open, Self::Open) => return Some(Vector3::repeat(1.0)),
            _ => return None,
        };
        let stretch = now.diagonal().component_div(&then.diagonal());
        let follows = [(1, 0), (2, 0), (2, 1)].into_iter().all(|(row, axis)| {
            (now.rows[row][axis] - stretch[axis] * then.rows[row][axis]).abs() <= ROUNDING * now.rows[axis][axis]
        });
        follows.then_some(stretch)
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
mod tests;
