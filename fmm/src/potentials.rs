//! What every Coulomb method of this crate returns: potential and field at each particle.

/// Potential φ_i and field E_i = −∇φ_i at every particle, also where the charge is zero. k_e = 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Potentials {
    /// φ_i; charge / length.
    pub potential: Vec<f64>,
    /// E_i; charge / length². The force on particle i is q_i E_i.
    pub field: Vec<[f64; 3]>,
}

impl Potentials {
    /// Zero potential and field at `n` particles.
    #[must_use]
    pub fn zero(n: usize) -> Self {
        Self { potential: vec![0.0; n], field: vec![[0.0; 3]; n] }
    }

    /// ½ Σ q_i φ_i.
    ///
    /// # Panics
    /// If `charges` and potentials differ in number.
    #[must_use]
    pub fn energy(&self, charges: &[f64]) -> f64 {
        assert_eq!(charges.len(), self.potential.len(), "charges and potentials differ in number");
        // An empty sum is −0.
        0.5 * charges.iter().zip(&self.potential).map(|(q, phi)| q * phi).sum::<f64>() + 0.0
    }
}
