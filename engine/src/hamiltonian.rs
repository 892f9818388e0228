//! The potential energy of a system: force field, Coulomb, and the interpolation between the forms of titratable sites.
//!
//! ```text
//! V(x, λ) = V_bonded + V_LJ + V_LJ14 + V_disp + V_restraints + V_C(x, λ)
//! V_C     = V_eff[q] + Σ_s ( Σ_α λ_sα W_s[q^α] − W_s[q] )          q_i = Σ_α λ_sα q_i^α
//! ```
//!
//! The bracket (only with Hamiltonian interpolation) makes V linear in the weights of each site; see
//! [`lambda::hamiltonian`]. Lennard-Jones and bonded terms that differ between forms are λ-weighted sums of those of the forms
//! ([`forcefield::variants`]). The bias of λ is not part of it ([`crate::titration`]).
//!
//! Virials are traces Σ r·F; the Coulomb energy is homogeneous of degree −1, so that its virial is itself.
//! Units: nm, kJ/mol, kJ/mol/nm.

use crate::config::{self, Config, Interpolation};
use crate::electrostatics::Electrostatics;
use crate::error::{Error, PhysicsError, Result};
use crate::frame::Quantity;
use fmm::FmmError;
use forcefield::bonded::{Bonded, BondedEnergies};
use forcefield::lennard_jones::{DispersionCorrection, LennardJones, Modifier};
use forcefield::variants::{SiteVariants, Variants};
use forcefield::{TermEnergy, Topology, pairs, restraints};
use lambda::Site;
use lambda::hamiltonian::{OwnForm, interpolate, set_effective_charges};
use nalgebra::Vector3;

/// Every term of the potential energy (kJ/mol).
#[derive(Clone, Copy, Debug, Default)]
pub struct Energies {
    /// Bonds, angles, dihedrals, correction maps.
    pub bonded: BondedEnergies,
    /// Lennard-Jones within the cut-off.
    pub lennard_jones: f64,
    /// Lennard-Jones of 1-4 pairs.
    pub lennard_jones_14: f64,
    /// Dispersion beyond the cut-off.
    pub dispersion: f64,
    /// Coulomb of the effective charges, images included, 1-4 pairs excluded.
    pub coulomb: f64,
    /// Coulomb of 1-4 pairs.
    pub coulomb_14: f64,
    /// What V linear in the weights adds: `Σ_s ( Σ_α λ_sα W_s[q^α] − W_s[q] )`.
    pub interpolation: f64,
    /// Position restraints.
    pub restraints: f64,
    /// Trace of the virial Σ r·F of all terms.
    pub virial: f64,
}

impl Energies {
    /// The terms with the names they have in files.
    pub fn terms(&self) -> [Quantity; 14] {
        let b = &self.bonded;
        [
            ("bonds", b.bonds.energy),
            ("angles", b.angles.energy),
            ("Urey-Bradley", b.urey_bradley.energy),
            ("proper dihedrals", b.proper_dihedrals.energy),
            ("improper dihedrals", b.improper_dihedrals.energy),
            ("Ryckaert-Bellemans", b.ryckaert_bellemans.energy),
            ("CMAP", b.cmap.energy),
            ("Lennard-Jones", self.lennard_jones),
            ("Lennard-Jones 1-4", self.lennard_jones_14),
            ("dispersion correction", self.dispersion),
            ("Coulomb", self.coulomb),
            ("Coulomb 1-4", self.coulomb_14),
            ("interpolation", self.interpolation),
            ("position restraints", self.restraints),
        ]
        .map(|(name, value)| Quantity { name, unit: "kJ/mol", value })
    }

    /// Their sum.
    pub fn potential(&self) -> f64 {
        self.terms().iter().map(|term| term.value).sum()
    }
}

/// The potential energy as a function of positions and λ.
pub struct Hamiltonian {
    topology: Topology,
    bonded: Bonded,
    lennard_jones: LennardJones,
    /// What differs between forms besides charges.
    variants: Variants,
    dispersion: Option<DispersionCorrection>,
    electrostatics: Electrostatics,
    interpolation: Interpolation,
    charges: Vec<f64>,
    /// Where position restraints pull to.
    reference: Vec<Vector3<f64>>,
}

impl Hamiltonian {
    /// For `topology` in a box of `edges` (nm; `None`: open) with titratable sites and what differs between their forms besides charges; `start` (nm): the positions that
    /// position restraints hold.
    ///
    /// # Errors
    /// A cut-off that does not fit the box, an order or depth that the FMM refuses; named by key.
    pub fn new(
        config: &Config,
        mut topology: Topology,
        start: &[Vector3<f64>],
        edges: Option<Vector3<f64>>,
        (sites, variants): (&[Site], &[SiteVariants]),
    ) -> Result<Self> {
        let settings = &config.van_der_waals;
        let (cutoff, buffer) = (settings.cutoff.get(), config.neighbour_list.buffer.get());
        let modifier = modifier(settings);
        let refused = |key: &str, e: &dyn std::fmt::Display| config.error_at(key, e.to_string(), "");
        let dispersion = (settings.dispersion_correction && edges.is_some())
            .then(|| DispersionCorrection::new(&topology, cutoff, modifier));
        let forms: Vec<usize> = sites.iter().map(|site| site.forms.len()).collect();
        let variants = Variants::new(&mut topology, variants, &forms, cutoff, modifier, buffer)
            .map_err(|e| refused("titration.site", &e))?;
        let lennard_jones =
            LennardJones::new(&topology, cutoff, modifier, buffer).map_err(|e| refused("van_der_waals.cutoff", &e))?;
        let atoms: Vec<Vec<u32>> = sites.iter().map(|site| site.atoms.clone()).collect();
        let electrostatics = Electrostatics::new(&config.electrostatics, &topology, start, edges, &atoms)
            .map_err(|e| refused("electrostatics", &e))?;
        let interpolation = config.titration.as_ref().map_or(Interpolation::Hamiltonian, |t| t.interpolation);
        let charges = topology.charges();
        let reference = if topology.position_restraints.is_empty() { Vec::new() } else { start.to_vec() };
        let bonded = Bonded::new(&topology);
        Ok(Self {
            topology,
            bonded,
            lennard_jones,
            variants,
            dispersion,
            electrostatics,
            interpolation,
            charges,
            reference,
        })
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Order and tree of the FMM in words.
    pub fn describe_electrostatics(&self) -> String {
        self.electrostatics.describe().to_string()
    }

    /// Lets the reference of position restraints (nm) follow a box whose lengths are scaled by `factor`.
    pub fn scale_reference(&mut self, factor: f64) {
        self.reference.iter_mut().for_each(|x| *x *= factor);
    }

    /// Positions (nm) that position restraints hold; empty without restraints.
    pub fn reference(&self) -> &[Vector3<f64>] {
        &self.reference
    }

    /// Puts the positions (nm) that restraints of these atoms hold.
    pub fn move_references(&mut self, references: &[(u32, Vector3<f64>)]) {
        for (atom, x) in references {
            self.reference[*atom as usize] = *x;
        }
    }

    /// Puts the positions (nm) that position restraints hold.
    pub fn set_reference(&mut self, reference: Vec<Vector3<f64>>) {
        self.reference = reference;
    }

    /// Whether an atom has moved so far since the last [`Self::rebuild`] that lists may miss a pair, or boxes do not fit.
    pub fn is_stale(&self, x: &[Vector3<f64>], edges: Option<Vector3<f64>>) -> bool {
        self.lennard_jones.is_stale(x, edges)
            || self.variants.is_stale(x, edges)
            || self.electrostatics.is_stale(x, edges)
    }

    /// Builds neighbour lists and assigns atoms to boxes of the tree.
    ///
    /// # Errors
    /// Positions that are not finite, a box too small.
    pub fn rebuild(&mut self, x: &[Vector3<f64>], edges: Option<Vector3<f64>>) -> Result<()> {
        self.lennard_jones.rebuild(x, edges).map_err(|e| physics("Lennard-Jones", &e))?;
        self.variants.rebuild(x, edges).map_err(|e| physics("Lennard-Jones", &e))?;
        self.electrostatics.assign(x, edges).map_err(|e| coulomb(&e, &self.topology))
    }

    /// Energies, forces (kJ/mol/nm) and ∂V/∂λ_α (kJ/mol; without bias) at `x` (nm) and `weights`; weights and derivatives of all sites are
    /// one list, forms of a site one after the other.
    ///
    /// # Errors
    /// A term that is not finite, with the atom that has the largest force.
    pub fn evaluate(
        &mut self,
        x: &[Vector3<f64>],
        edges: Option<Vector3<f64>>,
        sites: &[Site],
        weights: &[f64],
        forces: &mut [Vector3<f64>],
        by_weight: &mut Vec<f64>,
    ) -> Result<Energies> {
        forces.fill(Vector3::zeros());
        let mut energies = self.force_field(x, edges, forces)?;
        let mut first = 0;
        for site in sites {
            let own = &weights[first..first + site.forms.len()];
            set_effective_charges(site, own, &mut self.charges).map_err(|e| physics("λ", &e))?;
            first += site.forms.len();
        }
        let coulomb = self.electrostatics.evaluate(x, edges, &self.charges).map_err(|e| coulomb(&e, &self.topology))?;
        for ((force, field), charge) in forces.iter_mut().zip(self.electrostatics.field()).zip(&self.charges) {
            *force += *charge * field;
        }
        (energies.coulomb, energies.coulomb_14) = (coulomb.fmm, coulomb.one_four);
        by_weight.clear();
        for (index, site) in sites.iter().enumerate() {
            let first = by_weight.len();
            let own = &weights[first..first + site.forms.len()];
            energies.interpolation += self.site(x, index, site, own, forces, by_weight)?;
        }
        energies.virial += energies.coulomb + energies.coulomb_14 + energies.interpolation;
        if !self.variants.is_empty() {
            let more = self.variants.evaluate(x, edges, weights, forces, by_weight);
            energies.lennard_jones += more.lennard_jones.energy;
            energies.lennard_jones_14 += more.lennard_jones_14.energy;
            add(&mut energies.bonded, &more.bonded);
            energies.virial += (more.lennard_jones + more.lennard_jones_14 + more.bonded.total()).virial;
        }
        self.check(&energies, forces)?;
        Ok(energies)
    }

    /// Everything that does not depend on charges.
    fn force_field(
        &mut self,
        x: &[Vector3<f64>],
        edges: Option<Vector3<f64>>,
        forces: &mut [Vector3<f64>],
    ) -> Result<Energies> {
        let bonded = self.bonded.evaluate(&self.topology, x, forces);
        let lennard_jones = self.lennard_jones.evaluate(x, edges, forces);
        let pairs = pairs::lennard_jones_14(&self.topology, x, forces);
        let dispersion = match (&self.dispersion, edges) {
            (Some(dispersion), Some(edges)) => dispersion.at_volume(edges.product()),
            _ => TermEnergy::default(),
        };
        let restraints = restraints::evaluate(&self.topology.position_restraints, x, &self.reference, edges, forces);
        Ok(Energies {
            bonded,
            lennard_jones: lennard_jones.energy,
            lennard_jones_14: pairs.energy,
            dispersion: dispersion.energy,
            restraints: restraints.energy,
            virial: (bonded.total() + lennard_jones + pairs + dispersion + restraints).virial,
            ..Energies::default()
        })
    }

    /// Interpolation energy of one site; its ∂V/∂λ_α are appended, its force corrections added.
    fn site(
        &mut self,
        x: &[Vector3<f64>],
        index: usize,
        site: &Site,
        weights: &[f64],
        forces: &mut [Vector3<f64>],
        by_weight: &mut Vec<f64>,
    ) -> Result<f64> {
        if self.interpolation == Interpolation::Charge || site.is_buffer() {
            let phi = self.electrostatics.potential();
            let derivative = |form: &lambda::site::Form| -> f64 {
                site.atoms.iter().zip(&form.charges).map(|(&atom, q)| q * phi[atom as usize]).sum()
            };
            by_weight.extend(site.forms.iter().map(derivative));
            return Ok(0.0);
        }
        let charges: Vec<Vec<f64>> = site.forms.iter().map(|form| form.charges.clone()).collect();
        self.electrostatics.evaluate_site(x, index, &charges).map_err(|e| coulomb(&e, &self.topology))?;
        let own = self.electrostatics.own();
        let forms: Vec<OwnForm<'_>> =
            own.iter().map(|form| OwnForm { potential: &form.potential, field: &form.field }).collect();
        let terms = interpolate(site, weights, 1.0, self.electrostatics.potential(), &forms, forces)
            .map_err(|e| physics("λ", &e))?;
        by_weight.extend(terms.derivatives);
        Ok(terms.energy)
    }

    /// Whether forms of a site, counted from 0, differ in more than charges.
    pub fn varies(&self, site: usize) -> bool {
        self.variants.changes(site)
    }

    /// Refuses energies or forces that are not finite and names the term and the atom.
    pub(crate) fn check(&self, energies: &Energies, forces: &[Vector3<f64>]) -> Result<()> {
        let term = energies.terms().into_iter().find(|term| !term.value.is_finite());
        let atom = forces.iter().position(|force| !force.iter().all(|f| f.is_finite()));
        if term.is_none() && atom.is_none() {
            return Ok(());
        }
        Err(PhysicsError {
            message: "the energy or a force is not a finite number".into(),
            term: term.map_or("forces", |term| term.name).into(),
            atom: atom.map(|atom| self.topology.label(atom as u32)),
            help: "atoms that overlap: minimise first, or use a shorter time step".into(),
            ..PhysicsError::default()
        }
        .into())
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

/// What is done at the cut-off.
pub(crate) fn modifier(settings: &config::VanDerWaals) -> Modifier {
    match settings.modifier {
        config::Modifier::None => Modifier::None,
        config::Modifier::PotentialShift => Modifier::PotentialShift,
        config::Modifier::ForceSwitch => {
            let start = settings.switch_start.map_or(settings.cutoff.get() - 0.2, |start| start.get());
            Modifier::ForceSwitch { r_switch: start }
        }
    }
}

/// What the FMM refused, with the atom behind its particle number.
pub(crate) fn coulomb(error: &FmmError, topology: &Topology) -> Error {
    let (message, particle) = match error {
        FmmError::NotFinite { particle, what } => (format!("the {what} of an atom is not finite"), Some(*particle)),
        FmmError::Coincident { particle } => ("another atom sits at the same position".into(), Some(*particle)),
        other => (other.to_string(), None),
    };
    PhysicsError {
        message,
        term: "Coulomb".into(),
        atom: particle.map(|particle| topology.label(particle as u32)),
        help: "atoms that overlap: minimise first, or use a shorter time step".into(),
        ..PhysicsError::default()
    }
    .into()
}

fn physics(term: &str, error: &dyn std::fmt::Display) -> Error {
    PhysicsError { message: error.to_string(), term: term.into(), ..PhysicsError::default() }.into()
}
