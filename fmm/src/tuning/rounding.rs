//! What rounding of coordinates alone does to forces.
//!
//! A coordinate is kept relative to the centre of its leaf box, in units of the box: it is wrong by ε c of them, with c its size, at most 0.5, and ε = 6e-8 in single
//! and 1e-16 in double precision. Where particles are d apart, forces are wrong by 6 ε c / d if they lie at random places, as was found for 200 to 3 000 charges in a
//! corner of a box, and by a fifth of that if they keep their distance. That is 1e-6 in single precision where a box is full of them. It is much where boxes had to be
//! made large for something far away, and all particles crowd in one of them. Here d is what it would be if the particles of a box filled the cube around them evenly.

use kernels::Real;
use rayon::prelude::*;

use crate::FmmError;
use crate::geometry::assignment::Assignment;
use crate::geometry::boundary::dot;

/// Fewest particles of a box that are looked at: a few close ones may be a molecule whose pairs are all excluded.
const CROWD: usize = 8;

/// Relative error of the forces of particles at random places, over ε c / d.
const FACTOR: f64 = 6.0;

/// Whether rounding of the coordinates of an assignment leaves the forces of crowds as accurate as `tolerance` asks for.
///
/// # Errors
/// [`FmmError::Rounding`] where it does not.
pub fn check<T: Real>(to: &Assignment, positions: &[[f64; 3]], tolerance: f64) -> Result<(), FmmError> {
    let Crowd { particles, extent, error } = Crowd::worst::<T>(to, positions);
    // An error that is no number is that of particles on one point, which an evaluation names.
    if error > tolerance && error.is_finite() {
        return Err(FmmError::Rounding { particles, extent, error, tolerance, single: size_of::<T>() == 4 });
    }
    Ok(())
}

/// The box whose particles suffer most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crowd {
    /// Number of its particles.
    pub particles: usize,
    /// Edge of the cube around them, in edges of the box.
    pub extent: f64,
    /// Estimated relative error of the forces between them.
    pub error: f64,
}

impl Crowd {
    /// The worst of all leaf boxes.
    pub fn worst<T: Real>(to: &Assignment, positions: &[[f64; 3]]) -> Self {
        let (geometry, leaves, edges) = (&to.geometry, to.leaves(), to.geometry.inverse());
        let of_leaf = |leaf: usize| {
            let places = leaves.particles(leaf);
            if places.len() < CROWD {
                return Self::default();
            }
            let centre = geometry.centres(leaves.coordinates[leaf]).0;
            let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
            for k in places.clone() {
                let r = to.wrapped(k, positions);
                let from_centre = [0, 1, 2].map(|a| r[a] - centre[a]);
                for a in 0..3 {
                    let x = dot(edges[a], from_centre);
                    (low[a], high[a]) = (low[a].min(x), high[a].max(x));
                }
            }
            let extent = (0..3).map(|a| high[a] - low[a]).fold(0.0, f64::max);
            let farthest = low.into_iter().chain(high).fold(0.0, |c: f64, x| c.max(x.abs()));
            let apart = extent / (places.len() as f64).cbrt();
            // The spacing of numbers around 1 is twice the largest error of rounding to them.
            let error = FACTOR * 0.5 * T::epsilon().widen() * farthest / apart;
            Self { particles: places.len(), extent, error }
        };
        let worse = |a: Self, b: Self| if b.error > a.error { b } else { a };
        (0..leaves.len()).into_par_iter().map(of_leaf).reduce(Self::default, worse)
    }
}
