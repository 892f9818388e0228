//! Hamiltonian interpolation: the algebra between charges and potentials of titratable sites.
//!
//! Atom i of site s has charge q_i^α in form α and the effective charge q_i = Σ_α λ_α q_i^α. With G_ij the pair interaction
//! (boundary conditions, exclusions and scaled 1-4 pairs included) the energy is linear in the weights of every site:
//!
//!   V = V_eff(q) + Σ_s ( Σ_α λ_α W(q^α) − W(q) ),          W(a) = ½ Σ_{i,j∈s} a_i a_j G_ij = ½ Σ_i a_i φ^a_i
//!   ∂V/∂λ_α = Σ_{i∈s} q_i^α (φ_i − φ^s_i) + W(q^α)
//!   F_i = q_i E_i + Σ_α λ_α q_i^α E_i^α − q_i E_i^s          (i in s; other atoms: q_i E_i)
//!
//! φ, E: potential and field of all effective charges (one ordinary pass); φ^α, E^α: those that the charges q^α of the
//! site make on its own atoms; φ^s = Σ_α λ_α φ^α, E^s = Σ_α λ_α E^α follow because G is linear in the charges. All of them
//! must be made with the same G, 1-4 pairs inside the site included. Kohnke et al. 2020, doi:10.1021/acs.jctc.0c00744.
//!
//! Units: potentials and fields are multiplied by `coulomb` on the way in: k_e for those of the dimensionless crate `fmm`
//! (e/nm, e/nm²), 1 for those in kJ/mol/e and kJ/mol/e/nm. Results are in kJ/mol and kJ/mol/nm.

use nalgebra::Vector3;
use thiserror::Error;

use crate::site::Site;

/// Arrays whose sizes do not fit the site or the system.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HamiltonianError {
    /// An array has the wrong length.
    #[error("site {site}: {what} has {found} entries, expected {expected}")]
    Length {
        /// Name of the site.
        site: String,
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length needed.
        expected: usize,
    },
    /// An atom index beyond the arrays of the whole system.
    #[error("site {site}: atom index {atom} in a system of {n_atoms} atoms")]
    AtomOutOfRange {
        /// Name of the site.
        site: String,
        /// 0-based index.
        atom: u32,
        /// Number of atoms.
        n_atoms: usize,
    },
}

/// What the charges of one form make on the site's own atoms; both slices are in the order of [`Site::atoms`].
#[derive(Clone, Copy, Debug)]
pub struct OwnForm<'a> {
    /// Potential φ^α_i.
    pub potential: &'a [f64],
    /// Field E^α_i = −∇φ^α at atom i.
    pub field: &'a [Vector3<f64>],
}

/// What one site adds to the energy and its derivatives of the ordinary pass.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteTerms {
    /// Σ_α λ_α W(q^α) − W(q), kJ/mol; to be added to V_eff.
    pub energy: f64,
    /// ∂V/∂λ_α, kJ/mol, one per form.
    pub derivatives: Vec<f64>,
}

/// Puts the effective charges Σ_α λ_α q_i^α of `site` into `charges` (e, one per atom of the system).
///
/// # Errors
/// [`HamiltonianError`] if `weights` is not one per form or an atom lies beyond `charges`.
pub fn set_effective_charges(site: &Site, weights: &[f64], charges: &mut [f64]) -> Result<(), HamiltonianError> {
    check_weights(site, weights)?;
    check_atoms(site, charges.len())?;
    for (k, &atom) in site.atoms.iter().enumerate() {
        charges[atom as usize] = effective_charge(site, weights, k);
    }
    Ok(())
}

/// Energy correction, ∂V/∂λ_α and force corrections of one site.
///
/// `potential`: φ_i of all atoms of the system, made by all effective charges. `own`: one entry per form. `forces`
/// (kJ/mol/nm, all atoms) must hold q_i E_i already or receive it later; the site's corrections are added.
/// Virial: the corrections are Coulomb forces, so their virial trace Σ r·F is `SiteTerms::energy`.
///
/// # Errors
/// [`HamiltonianError`] if an array has another length than the site or the system.
pub fn interpolate(
    site: &Site,
    weights: &[f64],
    coulomb: f64,
    potential: &[f64],
    own: &[OwnForm<'_>],
    forces: &mut [Vector3<f64>],
) -> Result<SiteTerms, HamiltonianError> {
    check_weights(site, weights)?;
    check_atoms(site, potential.len().min(forces.len()))?;
    check_own(site, own)?;
    let mut energy = 0.0;
    let mut derivatives = vec![0.0; site.forms.len()];
    for (k, &atom) in site.atoms.iter().enumerate() {
        let atom = atom as usize;
        let charge = effective_charge(site, weights, k);
        let mut own_potential = 0.0;
        let mut own_field = Vector3::zeros();
        for (form, &weight) in own.iter().zip(weights) {
            own_potential += weight * form.potential[k];
            own_field += weight * form.field[k];
        }
        let mut force = -charge * own_field;
        energy -= 0.5 * charge * own_potential;
        for (alpha, form) in site.forms.iter().enumerate() {
            let q = form.charges[k];
            let self_energy = 0.5 * q * own[alpha].potential[k];
            energy += weights[alpha] * self_energy;
            derivatives[alpha] += q * (potential[atom] - own_potential) + self_energy;
            force += weights[alpha] * q * own[alpha].field[k];
        }
        forces[atom] += coulomb * force;
    }
    derivatives.iter_mut().for_each(|d| *d *= coulomb);
    Ok(SiteTerms { energy: coulomb * energy, derivatives })
}

fn effective_charge(site: &Site, weights: &[f64], k: usize) -> f64 {
    site.forms.iter().zip(weights).map(|(form, weight)| weight * form.charges[k]).sum()
}

fn length(site: &Site, what: &'static str, found: usize, expected: usize) -> Result<(), HamiltonianError> {
    if found == expected {
        return Ok(());
    }
    Err(HamiltonianError::Length { site: site.name.clone(), what, found, expected })
}

fn check_weights(site: &Site, weights: &[f64]) -> Result<(), HamiltonianError> {
    length(site, "weights", weights.len(), site.forms.len())?;
    site.forms.iter().try_for_each(|form| length(site, "charges of a form", form.charges.len(), site.atoms.len()))
}

fn check_own(site: &Site, own: &[OwnForm<'_>]) -> Result<(), HamiltonianError> {
    length(site, "own potentials", own.len(), site.forms.len())?;
    own.iter().try_for_each(|form| {
        length(site, "own potential of a form", form.potential.len(), site.atoms.len())?;
        length(site, "own field of a form", form.field.len(), site.atoms.len())
    })
}

fn check_atoms(site: &Site, n_atoms: usize) -> Result<(), HamiltonianError> {
    match site.atoms.iter().find(|&&atom| atom as usize >= n_atoms) {
        Some(&atom) => Err(HamiltonianError::AtomOutOfRange { site: site.name.clone(), atom, n_atoms }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
