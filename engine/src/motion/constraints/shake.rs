//! SHAKE: fixed distances in groups of connected atoms, solved by iteration.
//!
//! Positions: for each bond in turn, both atoms move along the reference bond r by g r/m, −g r/m with
//! g = (d² − s²) / (2 s·r (1/m_i + 1/m_j)), s the moved bond, until |s² − d²| ≤ 2 tol d² for all bonds of the group.
//! Sweeps alternate forwards and backwards, which carries corrections along chains in either direction.
//! Velocities: impulses along the bonds with B M⁻¹ Bᵀ p = −B v (rows of B: bonds), solved by conjugate gradients.
//! Each group is independent of all others.
//!
//! Units: nm, ps, u. References: J.-P. Ryckaert, G. Ciccotti, H. J. C. Berendsen, J. Comput. Phys. 23, 327 (1977),
//! DOI 10.1016/0021-9991(77)90098-5; H. C. Andersen (RATTLE), ibid. 52, 24 (1983), DOI 10.1016/0021-9991(83)90014-1.

use nalgebra::Vector3;

/// Sweeps over a group before giving up.
pub const MAX_SWEEPS: usize = 2000;

/// One fixed distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedBond {
    /// The two atoms: indices into [`BondGroup::atoms`].
    pub ends: [u32; 2],
    /// Distance, nm.
    pub length: f64,
}

/// Atoms connected by fixed distances.
#[derive(Clone, Debug, PartialEq)]
pub struct BondGroup {
    /// Indices of the atoms in the system, increasing.
    pub atoms: Vec<u32>,
    /// 1/m of those atoms, 1/u.
    pub inverse_masses: Vec<f64>,
    /// Fixed distances.
    pub bonds: Vec<FixedBond>,
}

/// The bond that stands in the way: index into [`BondGroup::bonds`] and its length (nm) when the iteration stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stuck {
    /// Index of the bond.
    pub bond: usize,
    /// Length found, nm (not finite if a coordinate is not).
    pub length: f64,
}

impl BondGroup {
    /// Bring all distances of the group to their length; `x`, `reference`: positions of `atoms` (nm).
    ///
    /// Returns Σ g d²: the virial Σ r·F of the constraint forces times dt². The displacement is Σ g r/m.
    ///
    /// # Errors
    /// The bond that is farthest from its length, if they do not converge.
    pub fn shake(&self, reference: &[Vector3<f64>], x: &mut [Vector3<f64>], tolerance: f64) -> Result<f64, Stuck> {
        let mut virial = 0.0;
        let mut worst = Stuck { bond: 0, length: f64::NAN };
        for sweep in 0..MAX_SWEEPS {
            let mut converged = true;
            for step in 0..self.bonds.len() {
                let k = if sweep % 2 == 0 { step } else { self.bonds.len() - 1 - step };
                let [i, j] = self.bonds[k].ends.map(|end| end as usize);
                let wanted = self.bonds[k].length * self.bonds[k].length;
                let bond = x[i] - x[j];
                let miss = wanted - bond.norm_squared();
                if miss.abs() <= 2.0 * tolerance * wanted {
                    continue;
                }
                converged = false;
                worst = Stuck { bond: k, length: bond.norm() };
                let r = reference[i] - reference[j];
                let projection = bond.dot(&r);
                // A bond that turned by nearly 90° in one step cannot be restored along its old direction.
                if projection.is_nan() || projection < 1e-3 * wanted {
                    return Err(worst);
                }
                let (wi, wj) = (self.inverse_masses[i], self.inverse_masses[j]);
                let g = miss / (2.0 * projection * (wi + wj));
                x[i] += g * wi * r;
                x[j] -= g * wj * r;
                virial += g * r.norm_squared();
            }
            if converged {
                return Ok(virial);
            }
        }
        Err(worst)
    }

    /// Remove the relative velocities along all bonds of the group at positions `x`; `v`: velocities (nm/ps).
    ///
    /// Returns Σ r·(m Δv).
    ///
    /// # Errors
    /// The bond of largest remaining velocity, if the system is singular.
    pub fn project(&self, x: &[Vector3<f64>], v: &mut [Vector3<f64>]) -> Result<f64, Stuck> {
        let n = self.bonds.len();
        let ends = |k: usize| self.bonds[k].ends.map(|end| end as usize);
        let units: Vec<Vector3<f64>> = (0..n).map(|k| x[ends(k)[0]] - x[ends(k)[1]]).collect();
        let along = |a: &[Vector3<f64>], out: &mut [f64]| {
            for (k, out) in out.iter_mut().enumerate() {
                let [i, j] = ends(k);
                *out = (a[i] - a[j]).dot(&units[k]);
            }
        };
        let kick = |impulses: &[f64], a: &mut [Vector3<f64>]| {
            for (k, &impulse) in impulses.iter().enumerate() {
                let [i, j] = ends(k);
                a[i] += impulse * self.inverse_masses[i] * units[k];
                a[j] -= impulse * self.inverse_masses[j] * units[k];
            }
        };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();

        let mut residual = vec![0.0; n];
        along(v, &mut residual);
        residual.iter_mut().for_each(|r| *r = -*r);
        let mut direction = residual.clone();
        let mut impulse = vec![0.0; n];
        let mut product = vec![0.0; n];
        let mut moved = vec![Vector3::zeros(); self.atoms.len()];
        let start = dot(&residual, &residual);
        let mut square = start;
        let enough = 1e-28 * start;
        let mut rounds = 0;
        while square > enough {
            moved.fill(Vector3::zeros());
            kick(&direction, &mut moved);
            along(&moved, &mut product);
            let curvature = dot(&direction, &product);
            rounds += 1;
            if curvature.is_nan() || curvature <= 0.0 || rounds > 10 * n + 100 {
                break;
            }
            let step = square / curvature;
            for k in 0..n {
                impulse[k] += step * direction[k];
                residual[k] -= step * product[k];
            }
            let next = dot(&residual, &residual);
            for k in 0..n {
                direction[k] = residual[k] + next / square * direction[k];
            }
            square = next;
        }
        // Rounding may stop the iteration a little early; the outcome counts, not the way.
        if square.is_nan() || square > 1e-20 * start {
            let bond = (0..n).max_by(|&a, &b| residual[a].abs().total_cmp(&residual[b].abs()));
            let bond = bond.unwrap_or(0);
            return Err(Stuck { bond, length: units[bond].norm() });
        }
        kick(&impulse, v);
        Ok((0..n).map(|k| impulse[k] * units[k].norm_squared()).sum())
    }
}
