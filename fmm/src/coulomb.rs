//! One interface for the methods of this crate, so that they can be compared.

use crate::FmmError;
use crate::geometry::exclusions::Exclusions;
use crate::potentials::Potentials;
use crate::solver::timings::StageTimings;

/// A method for the potential φ_i = Σ_j q_j / r_ij and the field E_i = −∇φ_i at every particle, k_e = 1.
///
/// ```
/// use fmm::{Boundary, Coulomb, Direct, Exclusions, Fmm, Potentials, Settings, TreeShape, Treecode, TreecodeSettings};
///
/// let positions: Vec<[f64; 3]> = (0..64).map(|i| [i % 4, i / 4 % 4, i / 16].map(f64::from)).collect();
/// let charges = vec![1.0; 64];
/// let tree = TreeShape { root: [1; 3], depth: 2 };
/// let mut methods: Vec<Box<dyn Coulomb>> = vec![
///     Box::new(Direct::<f64>::new(Boundary::Open)?),
///     Box::new(Treecode::<f64>::new(Boundary::Open, TreecodeSettings::new(12, tree))?),
///     Box::new(Fmm::<f64>::new(Boundary::Open, Settings::new(12, tree))?),
/// ];
/// let mut energies = Vec::new();
/// for method in &mut methods {
///     method.assign(&positions, &Exclusions::none(64))?;
///     energies.push(method.evaluate(&positions, &charges, &mut Potentials::default())?);
/// }
/// assert!(energies.iter().all(|e| (e / energies[0] - 1.0).abs() < 1e-6));
/// # Ok::<(), fmm::FmmError>(())
/// ```
pub trait Coulomb: Send {
    /// Name in tables: "fmm", "treecode", "direct".
    fn name(&self) -> &'static str;

    /// Sorts the particles and finds the pairs to skip. Both hold until the next call, while particles move a little.
    ///
    /// # Errors
    /// A position that is not finite, exclusions for another number of particles, an excluded pair too far apart for the tree. Nothing is assigned then.
    fn assign(&mut self, positions: &[[f64; 3]], exclusions: &Exclusions) -> Result<(), FmmError>;

    /// Potential and field of all particles at every particle; returns the energy ½ Σ q φ.
    ///
    /// # Errors
    /// No assignment, lists of another length, positions or charges that are not finite, two particles on one point.
    fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError>;

    /// Seconds spent in each stage of the last [`evaluate`](Self::evaluate).
    fn timings(&self) -> &StageTimings;
}
