//! Under which conditions a correction V_MM was made: everything that changes the free energy of the model compound, so that a job can tell whether
//! the correction is its own.

use serde::{Deserialize, Serialize};

/// What the free energy F of a site along λ depends on, of a calibration or of a job.
///
/// What moves λ (linear, hypersphere, Nexp; mass, barrier) is not among it: F(λ) is an average over all other degrees of freedom at fixed
/// weights, and is the same function of the weights whatever moves them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// "hamiltonian": the energy is linear in the weights; "charge": the charges are.
    pub interpolation: String,
    /// Whether the bracket of Hamiltonian interpolation holds what a site does to its own periodic images. It does not: the images are left to
    /// the whole system, where the solvent screens them. False for charge interpolation, which has no bracket.
    pub images: bool,
    /// Temperature of λ, K.
    pub temperature: f64,
    /// Cut-off of Lennard-Jones interactions, nm.
    pub cutoff: f64,
    /// What happens at the cut-off: "none", "potential-shift", "force-switch".
    pub modifier: String,
    /// Where a force switch starts, nm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_start: Option<f64>,
    /// Solvent as the parameters of the topology tell it: "TIP3P", "SPC/E", …, "fingerprint …", "none".
    pub water: String,
    /// "periodic" or "open".
    pub boundary: String,
    /// What takes up the charge that the sites release: "buffers", "background", "none" (open boundaries).
    pub compensation: String,
    /// Fingerprint of the force field's parameters of the group besides charges ([`crate::site::parameters()`]).
    pub parameters: String,
    /// Fingerprint of the terms that join the group to its backbone; absent at the ends of chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<String>,
    /// Fingerprint of Lennard-Jones interactions of the group that its force field has beside the combination rule, such as CUFIX, with atoms of its own residue and
    /// of the solvent ([`crate::site::pair_terms()`]); absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<String>,
}
