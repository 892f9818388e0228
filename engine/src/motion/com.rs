//! Centre of mass: position, velocity, and removal of its motion.
//!
//! V = Σ m v / Σ m; removing V from every velocity is a projection orthogonal in the metric of the masses, hence it
//! neither disturbs constraints nor the canonical distribution of the remaining degrees of freedom.
//!
//! Units: nm, nm/ps, u. Sums run in fixed order: results do not depend on threads.

use nalgebra::Vector3;

/// Σ m a / Σ m for any vectors a (positions or velocities) of atoms with masses (u); zero for no mass.
pub fn mass_average(masses: &[f64], vectors: &[Vector3<f64>]) -> Vector3<f64> {
    let mut sum = Vector3::zeros();
    let mut total = 0.0;
    for (&mass, a) in masses.iter().zip(vectors) {
        sum += mass * a;
        total += mass;
    }
    if total > 0.0 { sum / total } else { sum }
}

/// Subtract the velocity of the centre of mass from all velocities (nm/ps) and return it. What has no mass keeps its velocity of zero.
pub fn remove_motion(masses: &[f64], velocities: &mut [Vector3<f64>]) -> Vector3<f64> {
    let drift = mass_average(masses, velocities);
    for (v, &mass) in velocities.iter_mut().zip(masses) {
        if mass > 0.0 {
            *v -= drift;
        }
    }
    drift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn motion_is_removed_and_relative_velocities_stay() {
        let masses = [1.0, 16.0, 12.0];
        let start = [[0.1, 0.2, 0.3], [-0.4, 0.0, 0.9], [1.0, 2.0, -3.0]].map(Vector3::from);
        let mut v = start;
        let removed = remove_motion(&masses, &mut v);
        let expected = (start[0] + 16.0 * start[1] + 12.0 * start[2]) / 29.0;
        assert!((removed - expected).norm() < 1e-15);
        assert!(mass_average(&masses, &v).norm() < 1e-15);
        assert!(((v[2] - v[0]) - (start[2] - start[0])).norm() < 1e-15);
        assert_eq!(mass_average(&[], &[]), Vector3::zeros());
    }
}
