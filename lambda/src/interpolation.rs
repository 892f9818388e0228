//! Hamiltonian interpolation: the algebra between charges and potentials of titratable sites.
//!
//! Atom i of site s has charge q_i^α in form α and the effective charge q_i = Σ_α λ_α q_i^α. The energy is that of the effective charges, in
//! which the atoms of one site also act on each other as the forms do, and not as their mean does:
//!
//!   V = V_eff(q) + Σ_s ( Σ_α λ_α W(q^α) − W(q) ),          W(a) = k_e Σ_{i<j∈s} a_i a_j s_ij / r_ij
//!   ∂V/∂λ_α = Σ_{i∈s} q_i^α φ_i + k_e Σ_{i<j∈s} (q_i^α q_j^α − q_i^α q_j − q_j^α q_i) s_ij / r_ij
//!   F_i = q_i E_i + k_e Σ_j (Σ_α λ_α q_i^α q_j^α − q_i q_j) s_ij (r_i − r_j) / r_ij³          (i in s; other atoms: q_i E_i)
//!
//! φ, E: potential and field of all effective charges with all their images (one ordinary pass). s_ij: 1, 0 for an excluded pair, the
//! factor of a 1-4 pair. The bracket vanishes at every pure form, so that end states are exact; Kohnke et al. 2025, doi:10.1021/acs.jctc.4c01319.
//!
//! W holds neither images nor background. They act on the site through V_eff, where the solvent screens them; in W they would not be
//! screened, and add −½ k_e 2.837 ΔQ² λ(1−λ)/L to a site that changes its charge by ΔQ in a cube of edge L: a barrier that depends on the
//! box, and with it a correction V_MM that is right in the box of its calibration alone. Without them W is a property of the molecule.
//!
//! A site has some dozen atoms, so that its pairs are summed one by one; a sparse tree would pay from about a thousand atoms on. Its
//! atoms belong to one molecule, which is kept whole: distances are plain differences of positions.
//!
//! Units: nm, e, kJ/mol; φ in kJ/mol/e.

use forcefield::Topology;
use forcefield::units::COULOMB;
use nalgebra::Vector3;
use thiserror::Error;

use crate::site::Site;

/// Arrays whose sizes do not fit the site or the system.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InterpolationError {
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

/// Two atoms of a site that act on each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnPair {
    /// The atoms, as places in [`Site::atoms`].
    pub atoms: [u32; 2],
    /// Factor s_ij of their Coulomb interaction.
    pub scale: f64,
}

/// The pairs inside `site` that interact: those that are not excluded, and 1-4 pairs with their factor. A buffer has none: its charges are
/// interpolated, and it may have hundreds of atoms.
pub fn own_pairs(site: &Site, topology: &Topology) -> Vec<OwnPair> {
    if site.is_buffer() {
        return Vec::new();
    }
    let n = site.atoms.len();
    let mut scales = vec![0.0; n * n];
    for i in 0..n {
        for j in i + 1..n {
            if !topology.exclusions.contains(site.atoms[i], site.atoms[j]) {
                scales[i * n + j] = 1.0;
            }
        }
    }
    let place = |atom: u32| site.atoms.binary_search(&atom).ok();
    for pair in &topology.pairs {
        if let [Some(i), Some(j)] = pair.atoms.map(place) {
            scales[i.min(j) * n + i.max(j)] += pair.coulomb_scale;
        }
    }
    let pair = |(at, &scale): (usize, &f64)| OwnPair { atoms: [(at / n) as u32, (at % n) as u32], scale };
    scales.iter().enumerate().filter(|(_, scale)| **scale != 0.0).map(pair).collect()
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
/// [`InterpolationError`] if `weights` is not one per form or an atom lies beyond `charges`.
pub fn set_effective_charges(site: &Site, weights: &[f64], charges: &mut [f64]) -> Result<(), InterpolationError> {
    check_weights(site, weights)?;
    check_atoms(site, charges.len())?;
    for (k, &atom) in site.atoms.iter().enumerate() {
        charges[atom as usize] = effective_charge(site, weights, k);
    }
    Ok(())
}

/// Energy correction, ∂V/∂λ_α and force corrections of one site.
///
/// `pairs`: [`own_pairs`]. `positions` (nm) and `potential` φ_i (kJ/mol/e), made by all effective charges: of all atoms of the system. `forces`
/// (kJ/mol/nm, all atoms) must hold q_i E_i already or receive it later; the site's corrections are added.
/// Virial: the corrections are Coulomb forces, so their virial trace Σ r·F is `SiteTerms::energy`.
///
/// # Errors
/// [`InterpolationError`] if an array has another length than the site or the system.
pub fn interpolate(
    site: &Site,
    weights: &[f64],
    pairs: &[OwnPair],
    positions: &[Vector3<f64>],
    potential: &[f64],
    forces: &mut [Vector3<f64>],
) -> Result<SiteTerms, InterpolationError> {
    check_weights(site, weights)?;
    check_atoms(site, potential.len().min(forces.len()).min(positions.len()))?;
    let mut energy = 0.0;
    let mut derivatives: Vec<f64> = derivatives_of_mixed_charges(site, potential);
    for OwnPair { atoms, scale } in pairs {
        let [i, j] = atoms.map(|k| k as usize);
        let [a, b] = [site.atoms[i] as usize, site.atoms[j] as usize];
        let d = positions[a] - positions[b];
        let inverse = 1.0 / d.norm();
        let unit = COULOMB * scale * inverse;
        let [q_i, q_j] = [i, j].map(|k| effective_charge(site, weights, k));
        let mut excess = -q_i * q_j;
        for ((form, weight), slope) in site.forms.iter().zip(weights).zip(&mut derivatives) {
            let [own_i, own_j] = [form.charges[i], form.charges[j]];
            excess += weight * own_i * own_j;
            *slope += unit * (own_i * own_j - own_i * q_j - own_j * q_i);
        }
        energy += unit * excess;
        let force = unit * excess * inverse * inverse * d;
        forces[a] += force;
        forces[b] -= force;
    }
    Ok(SiteTerms { energy, derivatives })
}

/// ∂V_eff/∂λ_α = Σ_i q_i^α φ_i (kJ/mol), which is all of ∂V/∂λ_α with charge interpolation.
pub fn derivatives_of_mixed_charges(site: &Site, potential: &[f64]) -> Vec<f64> {
    let one = |form: &crate::site::Form| -> f64 {
        site.atoms.iter().zip(&form.charges).map(|(&atom, q)| q * potential[atom as usize]).sum()
    };
    site.forms.iter().map(one).collect()
}

fn effective_charge(site: &Site, weights: &[f64], k: usize) -> f64 {
    site.forms.iter().zip(weights).map(|(form, weight)| weight * form.charges[k]).sum()
}

fn length(site: &Site, what: &'static str, found: usize, expected: usize) -> Result<(), InterpolationError> {
    if found == expected {
        return Ok(());
    }
    Err(InterpolationError::Length { site: site.name.clone(), what, found, expected })
}

fn check_weights(site: &Site, weights: &[f64]) -> Result<(), InterpolationError> {
    length(site, "weights", weights.len(), site.forms.len())?;
    site.forms.iter().try_for_each(|form| length(site, "charges of a form", form.charges.len(), site.atoms.len()))
}

fn check_atoms(site: &Site, n_atoms: usize) -> Result<(), InterpolationError> {
    match site.atoms.iter().find(|&&atom| atom as usize >= n_atoms) {
        Some(&atom) => Err(InterpolationError::AtomOutOfRange { site: site.name.clone(), atom, n_atoms }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
