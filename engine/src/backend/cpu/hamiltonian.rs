//! The potential energy of a system: force field, Coulomb, and the interpolation between the forms of titratable sites.
//!
//! ```text
//! V(x, λ) = V_bonded + V_LJ + V_LJ14 + V_disp + V_restraints + V_C(x, λ)
//! V_C     = V_eff[q] + Σ_s ( Σ_α λ_sα W_s[q^α] − W_s[q] )          q_i = Σ_α λ_sα q_i^α
//! ```
//!
//! The bracket (only with Hamiltonian interpolation) makes V linear in the weights of each site, but for its images; see
//! [`lambda::interpolation`]. Lennard-Jones and bonded terms that differ between forms are λ-weighted sums of those of the forms
//! ([`forcefield::variants`]). The bias of λ is not part of it ([`crate::titration`]).
//!
//! Virials are traces Σ r·F; the Coulomb energy is homogeneous of degree −1, so that its virial is itself. Virtual sites are where their parents
//! have them; their forces are spread last ([`forcefield::virtual_sites`]).
//! Units: nm, kJ/mol, kJ/mol/nm.

use super::coulomb::Coulomb;
use crate::backend::terms::{coulomb_error, modifier, split};
use crate::config::{Config, Interpolation};
use crate::energies::Energies;
use crate::error::{PhysicsError, Result};
use forcefield::bonded::{Bonded, BondedEnergies};
use forcefield::lennard_jones::{DispersionCorrection, LennardJones};
use forcefield::variants::{SiteVariants, Variants};
use forcefield::{Cell, TermEnergy, Topology, pairs, restraints, virtual_sites};
use lambda::interpolation::{OwnPair, derivatives_of_mixed_charges, interpolate, own_pairs, set_effective_charges};
use lambda::{Site, SiteValues};
use nalgebra::Vector3;
use std::sync::Arc;

/// Titratable sites, and what differs between the forms of each besides charges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forms<'a> {
    /// The sites.
    pub sites: &'a [Site],
    /// One for each site.
    pub variants: &'a [SiteVariants],
}

/// Where the potential energy is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Positions (nm), virtual sites placed.
    pub positions: &'a [Vector3<f64>],
    /// Open space or the box.
    pub cell: Cell,
    /// Positions (nm) that position restraints hold, one for each atom; empty without restraints.
    pub restraint_references: &'a [Vector3<f64>],
    /// What is left of restraints that fade, from 1 to 0.
    pub restraint_part: f64,
    /// Weights of all sites.
    pub weights: &'a SiteValues,
}

/// The potential energy as a function of positions and λ.
pub struct Hamiltonian {
    /// What is the same for all forms.
    topology: Arc<Topology>,
    bonded: Bonded,
    lennard_jones: LennardJones,
    /// What differs between forms besides charges; none if nothing does.
    variants: Option<Variants>,
    dispersion: Option<DispersionCorrection>,
    coulomb: Coulomb,
    interpolation: Interpolation,
    sites: Vec<Site>,
    /// Pairs inside each site.
    own_pairs: Vec<Vec<OwnPair>>,
    charges: Vec<f64>,
}

impl Hamiltonian {
    /// For `topology` in `cell` with titratable sites; `start` (nm): positions that the tree of the FMM is chosen for.
    ///
    /// # Errors
    /// A cut-off that does not fit the box, an order or depth that the FMM refuses; named by key.
    pub fn new(
        config: &Config,
        topology: &Arc<Topology>,
        start: &[Vector3<f64>],
        cell: Cell,
        Forms { sites, variants }: Forms<'_>,
    ) -> Result<Self> {
        let settings = &config.van_der_waals;
        let (cutoff, buffer) = (settings.cutoff.get(), config.neighbour_list.buffer_on_cpu());
        let modifier = modifier(settings);
        let refused = |key: &str, e: &dyn std::fmt::Display| config.error_at(key, e.to_string(), "");
        let dispersion = (settings.dispersion_correction && cell.is_periodic())
            .then(|| DispersionCorrection::new(topology, cutoff, modifier));
        let (topology, changed) = split(config, topology, sites, variants, buffer)?;
        let lennard_jones =
            LennardJones::new(&topology, cutoff, modifier, buffer).map_err(|e| refused("van_der_waals.cutoff", &e))?;
        let flat = config.barostat.as_ref().is_some_and(|barostat| !barostat.coupling.is_isotropic());
        let coulomb = Coulomb::new(&config.electrostatics, (&topology, sites), start, cell, flat)
            .map_err(|e| refused("electrostatics", &e))?;
        Ok(Self {
            bonded: Bonded::new(&topology),
            lennard_jones,
            variants: changed,
            dispersion,
            coulomb,
            interpolation: config.titration.as_ref().map_or(Interpolation::Hamiltonian, |t| t.interpolation),
            sites: sites.to_vec(),
            own_pairs: sites.iter().map(|site| own_pairs(site, &topology)).collect(),
            charges: topology.charges(),
            topology,
        })
    }

    /// Order and tree of the FMM in words.
    pub fn describe_coulomb(&self) -> &str {
        self.coulomb.describe()
    }

    /// Whether an atom has moved so far since the last [`Self::rebuild`] that lists may miss a pair, or boxes do not fit.
    pub fn is_stale(&self, x: &[Vector3<f64>], cell: Cell) -> bool {
        self.lennard_jones.is_stale(x, cell)
            || self.variants.as_ref().is_some_and(|variants| variants.is_stale(x, cell))
            || self.coulomb.is_stale(x, cell)
    }

    /// Builds neighbour lists and assigns atoms to boxes of the tree.
    ///
    /// # Errors
    /// Positions that are not finite, a box too small.
    pub fn rebuild(&mut self, x: &[Vector3<f64>], cell: Cell) -> Result<()> {
        self.lennard_jones.rebuild(x, cell).map_err(|e| PhysicsError::of("Lennard-Jones", &e))?;
        if let Some(variants) = &mut self.variants {
            variants.rebuild(x, cell).map_err(|e| PhysicsError::of("Lennard-Jones", &e))?;
        }
        self.coulomb.assign(x, cell).map_err(|e| coulomb_error(&e, &self.topology))
    }

    /// Energies, forces (kJ/mol/nm) and ∂V/∂λ_α (kJ/mol; without bias) at a point. Forces and derivatives are replaced.
    ///
    /// # Errors
    /// A term that is not finite, with the atom that has the largest force.
    pub fn evaluate(
        &mut self,
        point: Point<'_>,
        forces: &mut [Vector3<f64>],
        by_weight: &mut SiteValues,
    ) -> Result<Energies> {
        let Point { positions: x, cell, weights, .. } = point;
        forces.fill(Vector3::zeros());
        let mut energies = self.force_field(point, forces);
        for (site, own) in self.sites.iter().zip(weights.sites()) {
            set_effective_charges(site, own, &mut self.charges).map_err(|e| PhysicsError::of("λ", &e))?;
        }
        let coulomb = self.coulomb.evaluate(x, cell, &self.charges).map_err(|e| coulomb_error(&e, &self.topology))?;
        for ((force, field), charge) in forces.iter_mut().zip(self.coulomb.field()).zip(&self.charges) {
            *force += *charge * field;
        }
        (energies.coulomb, energies.coulomb_14) = (coulomb.fmm, coulomb.one_four);
        for (index, own) in by_weight.sites_mut().enumerate() {
            energies.interpolation += self.site(point, index, forces, own)?;
        }
        energies.virial += energies.coulomb + energies.coulomb_14 + energies.interpolation;
        if let Some(variants) = &self.variants {
            let more = variants.evaluate(x, cell, weights, forces, by_weight);
            energies.lennard_jones += more.lennard_jones.energy;
            energies.lennard_jones_14 += more.lennard_jones_14.energy;
            add(&mut energies.bonded, &more.bonded);
            energies.virial += (more.lennard_jones + more.lennard_jones_14 + more.bonded.total()).virial;
        }
        energies.virial += virtual_sites::spread(&self.topology.virtual_sites, x, forces);
        energies.check(forces, &self.topology)?;
        Ok(energies)
    }

    /// The virial along each axis, W_a = Σ r_a F_a = −dV/dε_a when all positions, references and edges are stretched by 1 + ε along it (kJ/mol), where
    /// [`Self::evaluate`] was just called, which gave these `forces`.
    ///
    /// It is Σ x_a F_a over the atoms and what that misses: pairs that meet across a face of the box, references, and the dispersion beyond the cut-off, which is
    /// isotropic.
    ///
    /// # Errors
    /// A tree of the FMM that is refined.
    pub fn virial(&mut self, point: Point<'_>, forces: &[Vector3<f64>]) -> Result<Vector3<f64>> {
        let Point { positions: x, cell, restraint_references, restraint_part, weights } = point;
        let coulomb = self.coulomb.virial_of_images(x, &self.charges).map_err(|e| coulomb_error(&e, &self.topology))?;
        let mut virial: Vector3<f64> = x.iter().zip(forces).map(|(x, f)| x.component_mul(f)).sum();
        virial += coulomb + self.lennard_jones.virial_of_images(x, cell);
        let held = &self.topology.position_restraints;
        virial += restraints::virial_of_references(held, restraint_part, x, restraint_references, cell);
        if let Some(variants) = &self.variants {
            virial += variants.virial_of_images(x, cell, weights);
        }
        if let (Some(dispersion), Some(volume)) = (&self.dispersion, cell.volume()) {
            virial += Vector3::repeat(dispersion.at_volume(volume).virial / 3.0);
        }
        Ok(virial)
    }

    /// Everything that does not depend on charges.
    fn force_field(&mut self, point: Point<'_>, forces: &mut [Vector3<f64>]) -> Energies {
        let Point { positions: x, cell, restraint_references, restraint_part, .. } = point;
        let bonded = self.bonded.evaluate(&self.topology, x, forces);
        let lennard_jones = self.lennard_jones.evaluate(x, cell, forces);
        let pairs = pairs::lennard_jones_14(&self.topology, x, forces);
        let dispersion = match (&self.dispersion, cell.volume()) {
            (Some(dispersion), Some(volume)) => dispersion.at_volume(volume),
            _ => TermEnergy::default(),
        };
        let held = &self.topology.position_restraints;
        let restraints = restraints::evaluate(held, restraint_part, x, restraint_references, cell, forces);
        Energies {
            bonded,
            lennard_jones: lennard_jones.energy,
            lennard_jones_14: pairs.energy,
            dispersion: dispersion.energy,
            restraints: restraints.energy,
            virial: (bonded.total() + lennard_jones + pairs + dispersion + restraints).virial,
            ..Energies::default()
        }
    }

    /// Interpolation energy of one site; its ∂V/∂λ_α are replaced, its force corrections added.
    fn site(
        &mut self,
        point: Point<'_>,
        index: usize,
        forces: &mut [Vector3<f64>],
        by_weight: &mut [f64],
    ) -> Result<f64> {
        let (site, phi) = (&self.sites[index], self.coulomb.potential());
        if self.interpolation == Interpolation::Charge || site.is_buffer() {
            by_weight.copy_from_slice(&derivatives_of_mixed_charges(site, phi));
            return Ok(0.0);
        }
        let (x, weights) = (point.positions, point.weights.site(index));
        let terms = interpolate(site, weights, &self.own_pairs[index], x, phi, forces)
            .map_err(|e| PhysicsError::of("λ", &e))?;
        by_weight.copy_from_slice(&terms.derivatives);
        Ok(terms.energy)
    }
}

/// Adds the terms that differ between forms; there are no correction maps among them.
fn add(sum: &mut BondedEnergies, more: &BondedEnergies) {
    sum.bonds += more.bonds;
    sum.angles += more.angles;
    sum.urey_bradley += more.urey_bradley;
    sum.proper_dihedrals += more.proper_dihedrals;
    sum.improper_dihedrals += more.improper_dihedrals;
    sum.ryckaert_bellemans += more.ryckaert_bellemans;
}
