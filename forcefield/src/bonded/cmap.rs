//! Correction map: V(φ, ψ) by bicubic interpolation on a periodic grid of two consecutive dihedral angles.
//!
//! The surface is the periodic tensor-product cubic spline through the n × n energies, twice continuously differentiable:
//! slopes m along a grid line solve m_{i−1} + 4 m_i + m_{i+1} = 3 (y_{i+1} − y_{i−1}) cyclically, whose inverse is
//! (z^d + z^{n−d}) / (2√3 (1 − zⁿ)) with z = √3 − 2. Between grid points: cubic Hermite polynomials in both directions.
//! (GROMACS 2022.5 takes the slopes from natural splines over two periods; the difference is of order |z|^{n/2} ≈ 1e-7.)
//! Zero virial. Units: kJ/mol, rad. Reference: MacKerell, Feig & Brooks 2004, DOI 10.1002/jcc.20065.

use std::f64::consts::PI;

use nalgebra::Vector3;

use super::dihedral::DihedralAngle;
use crate::energy::TermEnergy;
use crate::topology::{Cmap, CmapGrid};

/// The spline surface of one [`CmapGrid`].
#[derive(Clone, Debug, PartialEq)]
pub struct CmapSpline {
    size: usize,
    /// \[V, ∂V/∂u, ∂V/∂v, ∂²V/∂u∂v\] at each grid point, u and v counted in grid steps.
    nodes: Vec<[f64; 4]>,
}

impl CmapSpline {
    /// Slopes of the periodic spline through all grid energies.
    pub fn new(grid: &CmapGrid) -> Self {
        let n = grid.size;
        let slope = slope_weights(n);
        let along = |values: &[f64], stride: usize, start: usize, point: usize| -> f64 {
            let y = |k: usize| values[start + stride * (k % n)];
            (0..n).map(|k| slope[(n + point - k) % n] * 3.0 * (y(k + 1) - y(k + n - 1))).sum()
        };
        let points = || (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let v = &grid.values;
        let v_u: Vec<f64> = points().map(|(i, j)| along(v, n, j, i)).collect();
        let v_v: Vec<f64> = points().map(|(i, j)| along(v, 1, i * n, j)).collect();
        let v_uv: Vec<f64> = points().map(|(i, j)| along(&v_u, 1, i * n, j)).collect();
        let nodes = (0..n * n).map(|k| [v[k], v_u[k], v_v[k], v_uv[k]]).collect();
        Self { size: n, nodes }
    }

    /// \[V, ∂V/∂u, ∂V/∂v, ∂²V/∂u∂v\] at each grid point, u and v counted in grid steps.
    pub(crate) fn nodes(&self) -> &[[f64; 4]] {
        &self.nodes
    }

    /// V (kJ/mol), ∂V/∂φ and ∂V/∂ψ (kJ/mol/rad) at angles in radians.
    ///
    /// ```
    /// use forcefield::{bonded::cmap::CmapSpline, topology::CmapGrid};
    /// // V = cos φ sin ψ on a 24 × 24 grid: the spline is off by about h⁴/384.
    /// let angle = |i: usize| (i as f64 * 15.0 - 180.0).to_radians();
    /// let values = (0..576).map(|k| angle(k / 24).cos() * angle(k % 24).sin()).collect();
    /// let spline = CmapSpline::new(&CmapGrid { size: 24, values });
    /// let (v, by_phi, by_psi) = spline.value(0.3, -1.2);
    /// assert!((v - 0.3f64.cos() * (-1.2f64).sin()).abs() < 5e-5);
    /// assert!((by_phi + 0.3f64.sin() * (-1.2f64).sin()).abs() < 5e-4);
    /// assert!((by_psi - 0.3f64.cos() * 1.2f64.cos()).abs() < 5e-4);
    /// ```
    pub fn value(&self, phi: f64, psi: f64) -> (f64, f64, f64) {
        let n = self.size;
        let steps_per_radian = n as f64 / (2.0 * PI);
        let (i, t) = split((phi + PI) * steps_per_radian, n);
        let (j, s) = split((psi + PI) * steps_per_radian, n);
        // Along ψ first: value and ∂/∂u on the two grid lines beside φ, each with its derivative by v.
        let [(lower, lower_v), (upper, upper_v)] = [i, (i + 1) % n].map(|row| {
            let (a, b) = (self.nodes[row * n + j], self.nodes[row * n + (j + 1) % n]);
            let (value, value_v) = hermite([a[0], b[0]], [a[2], b[2]], s);
            let (slope, slope_v) = hermite([a[1], b[1]], [a[3], b[3]], s);
            ([value, slope], [value_v, slope_v])
        });
        let (energy, by_u) = hermite([lower[0], upper[0]], [lower[1], upper[1]], t);
        let (by_v, _) = hermite([lower_v[0], upper_v[0]], [lower_v[1], upper_v[1]], t);
        (energy, by_u * steps_per_radian, by_v * steps_per_radian)
    }
}

/// Energy of one correction map; forces are added to `f` (kJ/mol/nm). `spline` belongs to the grid `cmap.grid`.
#[inline]
pub fn evaluate(cmap: &Cmap, spline: &CmapSpline, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> TermEnergy {
    let [a, b, c, d, e] = cmap.atoms;
    let (first, second) = ([a, b, c, d], [b, c, d, e]);
    let (phi, psi) = (DihedralAngle::new(first, x), DihedralAngle::new(second, x));
    let (energy, by_phi, by_psi) = spline.value(phi.phi, psi.phi);
    phi.add_forces(by_phi, first, f);
    psi.add_forces(by_psi, second, f);
    TermEnergy { energy, virial: 0.0 }
}

/// First row of the inverse of the cyclic matrix (1, 4, 1) of size `n`.
fn slope_weights(n: usize) -> Vec<f64> {
    let z = 3f64.sqrt() - 2.0;
    let scale = 1.0 / (2.0 * 3f64.sqrt() * (1.0 - z.powi(n as i32)));
    (0..n as i32).map(|d| (z.powi(d) + z.powi(n as i32 - d)) * scale).collect()
}

/// Grid index below `position` (cyclic) and the fraction of a step beyond it.
fn split(position: f64, n: usize) -> (usize, f64) {
    let below = position.floor();
    ((below as i64).rem_euclid(n as i64) as usize, position - below)
}

/// Cubic through values `y` with slopes `m` at 0 and 1: value and derivative at `t`.
fn hermite(y: [f64; 2], m: [f64; 2], t: f64) -> (f64, f64) {
    let rise = y[1] - y[0];
    let (c2, c3) = (3.0 * rise - 2.0 * m[0] - m[1], m[0] + m[1] - 2.0 * rise);
    (y[0] + t * (m[0] + t * (c2 + t * c3)), m[0] + t * (2.0 * c2 + t * 3.0 * c3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bonded::finite_difference::check_forces_and_virial;

    fn rough_surface() -> CmapSpline {
        let values = (0..24 * 24).map(|k| ((k * k * 7 + k * 13) % 101) as f64 * 0.1).collect();
        CmapSpline::new(&CmapGrid { size: 24, values })
    }

    #[test]
    fn goes_through_the_grid_energies_and_is_periodic() {
        let spline = rough_surface();
        for (i, j) in [(0, 0), (3, 23), (23, 11)] {
            let (phi, psi) = (-PI + i as f64 * PI / 12.0, -PI + j as f64 * PI / 12.0);
            let expected = spline.nodes[i * 24 + j][0];
            assert!((spline.value(phi, psi).0 - expected).abs() < 1e-11);
            assert!((spline.value(phi + 2.0 * PI, psi - 2.0 * PI).0 - expected).abs() < 1e-11);
        }
    }

    #[test]
    fn slopes_are_continuous_across_grid_lines() {
        let (spline, line, h) = (rough_surface(), PI / 12.0 * 5.0 - PI, 1e-9);
        let (_, a, b) = spline.value(line - h, 0.4);
        let (_, c, d) = spline.value(line + h, 0.4);
        // Second derivatives reach 1e3 here: 2 h × 1e3.
        assert!((a - c).abs() < 1e-5 && (b - d).abs() < 1e-5, "{a} {c} {b} {d}");
    }

    #[test]
    fn forces_and_virial_are_derivatives() {
        let cmap = Cmap { atoms: [0, 1, 2, 3, 4], grid: 0 };
        let spline = rough_surface();
        let x = [[0.1, 0.02, -0.05], [0.0, 0.0, 0.0], [0.01, 0.0, 0.15], [0.08, 0.1, 0.2], [0.2, 0.07, 0.22]]
            .map(Vector3::from);
        check_forces_and_virial(&x, |x, f| evaluate(&cmap, &spline, x, f));
    }
}
