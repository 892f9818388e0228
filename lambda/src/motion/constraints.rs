//! Constraints on ξ: weights that sum to one, points on a sphere, and a total charge.
//!
//!   of one site      Σ λ_α = 1 (linear weights);   Σ x_α² = 1 (sphere)
//!   of all of them   Q(ξ) = Σ_s Σ_α λ_sα Q_sα = const
//!
//! Velocities lose their part along the gradients: first that of each site, then that along g = P ∇Q, with P the projection of the sites, so that
//! one multiplier v ← v − (g·v / g·m⁻¹g) m⁻¹ g is left. Positions are moved along the gradients at the beginning of the step (SHAKE): each site
//! back to its own constraint in closed form, and the multiplier of the charge by quasi-Newton iteration, exact at once where all is linear.
//! The charge is kept to 1e-13 e for each unit of charge that can move, far below the 1e-9 e that a neutral box needs.

use super::error::DynamicsError;
use super::sites::MovingSites;
use crate::coordinate::{Coordinate, LocalConstraint};

/// Deviation of the charge that ends the iteration, e for each e that sites and buffers carry.
pub(crate) const TOLERANCE: f64 = 1e-13;
/// Deviation that is still accepted when rounding stops the iteration.
pub(crate) const ACCEPTED: f64 = 1e-11;
/// Iterations before giving up; three or four suffice.
pub(crate) const MAX_ITERATIONS: usize = 30;
/// Deviation of the charge of a start that is mended, e for each e that sites and buffers carry; a larger one is an error. Nexp starts at a form
/// with 1e-5 of the others.
const START: f64 = 1e-3;

/// The constraints of all sites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constraints {
    /// Charge of all sites that is kept, e.
    pub(crate) total_charge: Option<f64>,
}

impl Constraints {
    /// Takes the part off the velocities that the constraints at `coordinates` do not allow.
    pub(super) fn project(&self, sites: &MovingSites, coordinates: &[f64], velocities: &mut [f64]) {
        for (site, at) in sites.with_coordinates() {
            project_site(site.coordinate, &coordinates[at.clone()], &mut velocities[at]);
        }
        if self.total_charge.is_none() {
            return;
        }
        let gradient = gradient(sites, coordinates);
        let along: f64 = gradient.iter().zip(velocities.iter()).map(|(g, v)| g * v).sum();
        let norm = norm(sites, &gradient);
        if norm > 0.0 {
            for ((v, mass), g) in sites.masses(velocities).zip(&gradient) {
                *v -= along / norm * g / mass;
            }
        }
    }

    /// Brings `moved` back to the constraints, along their gradients at `start`.
    ///
    /// # Errors
    /// [`DynamicsError::Charge`] if the total charge cannot be kept.
    pub(super) fn apply(
        &self,
        sites: &MovingSites,
        start: &[f64],
        moved: &mut [f64],
        step: u64,
    ) -> Result<(), DynamicsError> {
        settle_sites(sites, start, moved);
        let Some(wanted) = self.total_charge else {
            return Ok(());
        };
        let gradient = gradient(sites, start);
        let norm = norm(sites, &gradient);
        let scale = sites.charge_scale();
        let deviation = |moved: &[f64]| sites.charge(&sites.weights_at(moved)) - wanted;
        let mut found = deviation(moved);
        for _ in 0..MAX_ITERATIONS {
            if found.abs() <= TOLERANCE * scale || norm == 0.0 {
                break;
            }
            for ((xi, mass), g) in sites.masses(moved).zip(&gradient) {
                *xi -= found / norm * g / mass;
            }
            settle_sites(sites, start, moved);
            found = deviation(moved);
        }
        if found.abs() <= ACCEPTED * scale { Ok(()) } else { Err(DynamicsError::Charge { step, found }) }
    }

    /// Brings the coordinates of a start exactly to the constraints.
    ///
    /// # Errors
    /// [`DynamicsError::StartCharge`] if it has another charge.
    pub(super) fn settle_start(&self, sites: &MovingSites, coordinates: &mut [f64]) -> Result<(), DynamicsError> {
        let start = coordinates.to_vec();
        settle_sites(sites, &start, coordinates);
        let Some(expected) = self.total_charge else {
            return Ok(());
        };
        let found = sites.charge(&sites.weights_at(coordinates));
        let wrong = DynamicsError::StartCharge { found, expected };
        if (found - expected).abs() > START * sites.charge_scale() {
            return Err(wrong);
        }
        self.apply(sites, &start, coordinates, 0).map_err(|_| wrong)
    }
}

/// g·m⁻¹g.
fn norm(sites: &MovingSites, gradient: &[f64]) -> f64 {
    let mut gradient = gradient.to_vec();
    sites.masses(&mut gradient).map(|(g, mass)| *g * *g / mass).sum()
}

/// Z of [`super::metric`] by the gradient.
#[cfg(test)]
pub(super) fn square_of_gradient(sites: &MovingSites, coordinates: &[f64]) -> f64 {
    norm(sites, &gradient(sites, coordinates))
}

/// ∇Q along the directions that each site's own constraint leaves.
fn gradient(sites: &MovingSites, coordinates: &[f64]) -> Vec<f64> {
    let weights = sites.weights_at(coordinates);
    let mut gradient = vec![0.0; coordinates.len()];
    for ((site, at), weights) in sites.with_coordinates().zip(weights.sites()) {
        let xi = &coordinates[at.clone()];
        site.coordinate.derivative(xi, weights, &site.charges, &mut gradient[at.clone()]);
        project_site(site.coordinate, xi, &mut gradient[at]);
    }
    gradient
}

/// Takes the part along the gradient of a site's own constraint off a vector.
fn project_site(coordinate: Coordinate, xi: &[f64], vector: &mut [f64]) {
    match coordinate.constraint() {
        LocalConstraint::None => {}
        LocalConstraint::Sum => {
            let mean = vector.iter().sum::<f64>() / vector.len() as f64;
            vector.iter_mut().for_each(|v| *v -= mean);
        }
        LocalConstraint::Norm => {
            let along: f64 = vector.iter().zip(xi).map(|(v, x)| v * x).sum();
            let square: f64 = xi.iter().map(|x| x * x).sum();
            vector.iter_mut().zip(xi).for_each(|(v, x)| *v -= along / square * x);
        }
    }
}

/// Brings each site back to its own constraint, along the gradient at `start`.
fn settle_sites(sites: &MovingSites, start: &[f64], moved: &mut [f64]) {
    for (site, at) in sites.with_coordinates() {
        settle_site(site.coordinate, &start[at.clone()], &mut moved[at]);
    }
}

fn settle_site(coordinate: Coordinate, start: &[f64], moved: &mut [f64]) {
    match coordinate.constraint() {
        LocalConstraint::None => {}
        LocalConstraint::Sum => {
            let excess = (moved.iter().sum::<f64>() - 1.0) / moved.len() as f64;
            moved.iter_mut().for_each(|x| *x -= excess);
        }
        LocalConstraint::Norm => {
            // |x' + μ x|² = 1 with |x| = 1: μ = −b + √(b² − c), b = x'·x, c = |x'|² − 1; if the step was longer than the sphere, straight back.
            let square: f64 = start.iter().map(|x| x * x).sum();
            let b: f64 = moved.iter().zip(start).map(|(m, x)| m * x).sum::<f64>() / square;
            let c = (moved.iter().map(|m| m * m).sum::<f64>() - 1.0) / square;
            let root = b * b - c;
            let mu = if root > 0.0 && b > 0.0 { -c / (b + root.sqrt()) } else { 0.0 };
            moved.iter_mut().zip(start).for_each(|(m, x)| *m += mu * x);
            let length = moved.iter().map(|m| m * m).sum::<f64>().sqrt();
            moved.iter_mut().for_each(|m| *m /= length);
        }
    }
}
