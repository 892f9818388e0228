//! C-rescale along single axes: the edges of the box change one by one, or those along x and y together and that along z apart.
//!
//! Every set of n axes that change together has a size Y, the product of their edges: the area A = L_x L_y and the height L_z, or each edge by itself. The distribution
//! that is sampled has all sizes for coordinates, as the isotropic one has the volume, with a surface tension γ of the x-y plane:
//!
//! ```text
//! p(Y₁, Y₂, …) dY₁ dY₂ … ∝ ∫ exp(−(E + P₀V − γA)/RT) dx dp
//! ```
//!
//! If n edges become longer by the factor e^{ε/n}, with the molecules at the same fractions, E changes by −V P ε, P the mean of the diagonal of the pressure tensor over the
//! set; dY = Y dε adds RT to the force on ε. The diffusion coefficient D = n β RT/3τV, whose derivative −D cancels just that, makes the volume answer
//! as fast as the isotropic barostat does:
//!
//! ```text
//! dε = −(nβ/3τ) (P₀ − P) dt + √(2n β RT/3τV) dW                  P₀ of x and y together is P₀ − γ/L_z
//! d√Y = −(nβ √Y/6τ) [P₀ − P − RT/2V] dt + √(n β RT/6τ · Y/V) dW        the same by Itô's rule
//! ```
//!
//! The second form is integrated: for n = 3, Y = V it is that of the isotropic barostat. All sets are changed at once with the volume from before. β of a set is its own; where it is
//! zero the edges stay. P is that of molecules, whose centres are scaled (see the module above): with V_g and X_g the velocity and the centre of a group held together by
//! constraints, or of a free atom, and W_a the virial Σ r_a F_a of all forces but those of constraints,
//!
//! ```text
//! V P_a = Σ_g M_g V_ga² + W_a − Σ_g Σ_{i∈g} (x_ia − X_ga) F_ia
//! ```
//!
//! The trace has the same mean without the last sum and with the kinetic energy and the constraint forces inside of groups, but single axes have not at one time: a body that
//! turns has a virial along x whose mean alone is zero. The work −∫ Σ_a P_a V d ln L_a is summed by the trapezoidal rule, as that of the volume.
//!
//! Reference: V. Del Tatto, P. Raiteri, M. Bernetti, G. Bussi, Appl. Sci. 12, 1139 (2022), DOI 10.3390/app12031139 (fully flexible boxes and the semi-isotropic
//! case). Units as above.

use forcefield::units::GAS_CONSTANT;
use nalgebra::Vector3;
use rand_distr::{Distribution, StandardNormal};

use super::{BarostatError, LARGEST_CHANGE};
use crate::motion::com;
use crate::motion::constraints::Constraints;
use crate::random::{RandomStream, generator};
use crate::state::BarostatState;

/// Settings of [`AxesRescale`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxesSettings {
    /// Temperature of the thermostat, K.
    pub temperature: f64,
    /// Coupling time τ, ps.
    pub tau: f64,
    /// Whether x and y change together, or each axis by itself.
    pub plane: bool,
    /// Pressure P₀ along each axis, kJ/mol/nm³; of a plane x and y are alike.
    pub pressure: [f64; 3],
    /// Compressibility β of each axis, nm³ mol/kJ; zero for edges that stay, of a plane x and y are alike.
    pub compressibility: [f64; 3],
    /// Surface tension γ of the plane, all interfaces together, kJ/mol/nm²; zero without a plane.
    pub surface_tension: f64,
}

/// C-rescale along single axes. What it has done so far is in [`BarostatState`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxesRescale {
    settings: AxesSettings,
}

impl AxesRescale {
    /// Barostat with these settings.
    ///
    /// # Errors
    /// Numbers that are not finite, a temperature or a time that is not positive, a negative compressibility, or only zeros.
    pub fn new(settings: AxesSettings) -> Result<Self, BarostatError> {
        let AxesSettings { temperature, tau, pressure, compressibility, surface_tension, .. } = settings;
        let refused = |name, value, valid| Err(BarostatError::Setting { name, value, valid });
        if let Some(&value) = pressure.iter().find(|p| !p.is_finite()) {
            return refused("pressure", value, "finite");
        }
        if !surface_tension.is_finite() {
            return refused("surface tension", surface_tension, "finite");
        }
        for (name, value) in [("temperature (K)", temperature), ("coupling time (ps)", tau)] {
            if !(value.is_finite() && value > 0.0) {
                return refused(name, value, "positive and finite");
            }
        }
        if let Some(&value) = compressibility.iter().find(|b| !(b.is_finite() && **b >= 0.0)) {
            return refused("compressibility", value, "finite and not negative");
        }
        if compressibility == [0.0; 3] {
            return refused("compressibility of all axes", 0.0, "positive for one axis at least");
        }
        Ok(Self { settings })
    }

    /// Tell the diagonal of the pressure tensor (kJ/mol/nm³) in a box of these edges (nm). It completes the work of a scaling before that step; call it in the step
    /// after each [`Self::couple`], before the work is read.
    pub fn observe(state: &mut BarostatState, pressure: Vector3<f64>, edges: Vector3<f64>) {
        state.work -= half_work(pressure, edges, state.pending_edges);
        state.pending_edges = [0.0; 3];
    }

    /// Factors of the edges (nm), at this diagonal of the pressure tensor (kJ/mol/nm³); `dt` (ps): time since the last call. The random numbers depend on `seed` and
    /// `step` only. Apply them with [`stretch`](super::stretch).
    ///
    /// # Errors
    /// [`BarostatError::TooFast`] if a factor is far from one.
    pub fn couple(
        &self,
        state: &mut BarostatState,
        pressure: Vector3<f64>,
        edges: Vector3<f64>,
        dt: f64,
        (seed, step): (u64, u64),
    ) -> Result<Vector3<f64>, BarostatError> {
        let AxesSettings { temperature, tau, plane, surface_tension, .. } = self.settings;
        let (rt, volume) = (GAS_CONSTANT * temperature, edges.product());
        let mut random = generator(seed, RandomStream::Barostat, step);
        let mut factors = Vector3::repeat(1.0);
        let sets: &[&[usize]] = if plane { &[&[0, 1], &[2]] } else { &[&[0], &[1], &[2]] };
        for axes in sets {
            let normal: f64 = StandardNormal.sample(&mut random);
            let (first, n) = (axes[0], axes.len() as f64);
            if self.settings.compressibility[first] == 0.0 {
                continue;
            }
            let found = axes.iter().map(|&a| pressure[a]).sum::<f64>() / n;
            let tension = if axes.len() == 2 { surface_tension / edges.z } else { 0.0 };
            let wanted = self.settings.pressure[first] - tension;
            let rate = n * self.settings.compressibility[first] * dt / (6.0 * tau);
            let ratio = 1.0 - rate * (wanted - found - 0.5 * rt / volume) + (rt * rate / volume).sqrt() * normal;
            let factor = ratio.max(0.0).powf(2.0 / n);
            if factor.is_nan() || (factor - 1.0).abs() > LARGEST_CHANGE {
                return Err(BarostatError::TooFast { factor, pressure: found });
            }
            axes.iter().for_each(|&a| factors[a] = factor);
        }
        state.pending_edges = edges.component_mul(&factors.add_scalar(-1.0)).into();
        state.work -= half_work(pressure, edges, state.pending_edges);
        Ok(factors)
    }

    /// The settings.
    pub fn settings(&self) -> &AxesSettings {
        &self.settings
    }
}

/// ½ Σ P_a V/L_a ΔL_a.
fn half_work(pressure: Vector3<f64>, edges: Vector3<f64>, change: [f64; 3]) -> f64 {
    0.5 * edges.product() * pressure.component_div(&edges).dot(&Vector3::from(change))
}

/// Σ_g M_g V_ga² of groups held together by constraints and of free atoms (kJ/mol).
pub fn translation(v: &[Vector3<f64>], masses: &[f64], constraints: &Constraints) -> Vector3<f64> {
    let square = |mass: f64, v: Vector3<f64>| mass * v.component_mul(&v);
    let mut sum = Vector3::zeros();
    let mut free = vec![true; v.len()];
    for group in constraints.groups() {
        let (weights, vectors) = of_group(group, masses, v);
        sum += square(weights.iter().sum(), com::mass_average(&weights, &vectors));
        group.iter().for_each(|&atom| free[atom as usize] = false);
    }
    let alone =
        |((v, mass), free): ((&Vector3<f64>, &f64), bool)| if free { square(*mass, *v) } else { Vector3::zeros() };
    sum + v.iter().zip(masses).zip(free).map(alone).sum::<Vector3<f64>>()
}

/// Σ_g Σ_{i∈g} (x_ia − X_ga) F_ia of groups held together by constraints (kJ/mol).
pub fn inner_virial(
    x: &[Vector3<f64>],
    forces: &[Vector3<f64>],
    masses: &[f64],
    constraints: &Constraints,
) -> Vector3<f64> {
    let of = |group: &[u32]| -> Vector3<f64> {
        let (weights, vectors) = of_group(group, masses, x);
        let centre = com::mass_average(&weights, &vectors);
        group.iter().zip(vectors).map(|(&atom, x)| (x - centre).component_mul(&forces[atom as usize])).sum()
    };
    constraints.groups().map(of).sum()
}

fn of_group(group: &[u32], masses: &[f64], vectors: &[Vector3<f64>]) -> (Vec<f64>, Vec<Vector3<f64>>) {
    group.iter().map(|&atom| (masses[atom as usize], vectors[atom as usize])).unzip()
}

#[cfg(test)]
mod tests;
