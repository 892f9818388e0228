//! Periods, completed to a three-dimensional cell by long orthogonal ones, and the reciprocal cell.

use nalgebra::{Matrix3, Vector3};

use crate::geometry::boundary::{cross, dot, norm};

/// Cell and reciprocal cell. The axes that repeat come first.
pub struct Cell {
    /// How many axes repeat.
    pub repeats: usize,
    /// Columns: the periods, then what closes the open axes in the sum over waves.
    pub direct: Matrix3<f64>,
    /// Rows: b_i with b_i · a_j = δ_ij (no 2π).
    pub dual: Matrix3<f64>,
    /// Volume of this cell.
    pub volume: f64,
    /// Volume of the part of it that holds the charges.
    pub filled: f64,
}

impl Cell {
    /// `periods`: one to three independent ones.
    pub fn new(periods: &[[f64; 3]], positions: &[Vector3<f64>], tolerance: f64) -> Self {
        let repeats = periods.len();
        let mut columns = complete(periods);
        let longest = periods.iter().map(|&p| norm(p)).fold(0.0, f64::max);
        let mut empty = 1.0;
        for column in &mut columns[repeats..] {
            let along = |x: &Vector3<f64>| dot((*x).into(), *column);
            let (low, high) = positions
                .iter()
                .map(along)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
            let extent = (high - low).max(0.0);
            // A wave k along the periods falls off as e^{−k|z|}; |k| ≥ 2π / longest period, since k·a_i/2π is a whole
            // number and not zero for all i. The images added are H − extent away.
            let edge = extent - tolerance.ln() * longest / (2.0 * std::f64::consts::PI);
            // For the choice of α a thin layer is taken to be half a period thick.
            empty *= extent.max(0.5 * longest).min(edge) / edge;
            *column = column.map(|x| x * edge);
        }
        let [a, b, c] = columns;
        let volume = dot(a, cross(b, c));
        let dual = [cross(b, c), cross(c, a), cross(a, b)].map(|v| Vector3::from(v.map(|x| x / volume)).transpose());
        Self {
            repeats,
            direct: Matrix3::from_columns(&columns.map(Vector3::from)),
            dual: Matrix3::from_rows(&dual),
            volume: volume.abs(),
            filled: volume.abs() * empty,
        }
    }

    /// d less the sum of periods that brings its fractional coordinates along them into [−½, ½].
    pub fn reduce(&self, d: Vector3<f64>) -> Vector3<f64> {
        let mut whole = (self.dual * d).map(f64::round);
        whole.iter_mut().skip(self.repeats).for_each(|w| *w = 0.0);
        d - self.direct * whole
    }

    /// A bound on the part along the periods of what `reduce` returns.
    pub fn reach(&self) -> f64 {
        0.5 * self.direct.column_iter().take(self.repeats).map(|a| a.norm()).sum::<f64>()
    }

    /// All sums of periods up to `radius` long, the shortest first. |n_i| = |b_i · x| ≤ |b_i| |x| bounds the indices.
    pub fn vectors_within(&self, radius: f64) -> Vec<Vector3<f64>> {
        let bound = |i: usize| (self.dual.row(i).norm() * radius).floor() as i64;
        let [x, y, z] = [0, 1, 2].map(|i| if i < self.repeats { bound(i) } else { 0 });
        let triples = (-x..=x).flat_map(|i| (-y..=y).flat_map(move |j| (-z..=z).map(move |k| [i, j, k])));
        let vectors = triples.map(|n| self.direct * Vector3::from(n.map(|n| n as f64)));
        let mut vectors: Vec<_> = vectors.filter(|x| x.norm() <= radius).collect();
        vectors.sort_by(|a, b| a.norm_squared().total_cmp(&b.norm_squared()));
        vectors
    }
}

/// The periods, completed to three vectors by unit vectors orthogonal to them and each other.
fn complete(periods: &[[f64; 3]]) -> [[f64; 3]; 3] {
    let unit = |v: [f64; 3]| v.map(|x| x / norm(v));
    match *periods {
        [a, b, c, ..] => [a, b, c],
        [a, b] => [a, b, unit(cross(a, b))],
        [a] => {
            // Any direction not along a: the axis along which a is shortest.
            let shortest = (0..3).fold(0, |best, i| if a[i].abs() < a[best].abs() { i } else { best });
            let mut axis = [0.0; 3];
            axis[shortest] = 1.0;
            let b = unit(cross(a, axis));
            [a, b, unit(cross(a, b))]
        }
        [] => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    }
}
