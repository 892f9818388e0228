//! Reading a system that OpenMM serialised: `XmlSerializer.serialize(system)`.
//!
//! Such a file holds what any force field came to once it was applied to all atoms: masses, charges, Lennard-Jones parameters, bonded terms with
//! atom indices, constraints. It has no names: those of atoms and residues are taken from a structure of the same atoms in the same order.
//! Units are those of this crate (nm, u, e, kJ/mol, rad). What a run decides by other means (barostats, thermostats, removal of the motion of
//! the centre of mass, cut-offs) is left out and told in [`SystemXml::notes`]; anything else that acts on atoms and is not known is an error with its
//! line, so that nothing is left out silently.
//!
//! | force | becomes |
//! |---|---|
//! | HarmonicBondForce | bonds; Urey–Bradley terms where its atoms are the ends of an angle and no bond |
//! | HarmonicAngleForce | angles |
//! | PeriodicTorsionForce | dihedrals; impropers where its atoms are no chain of bonds |
//! | RBTorsionForce | Ryckaert–Bellemans dihedrals |
//! | CMAPTorsionForce | correction maps |
//! | NonbondedForce | charges, Lennard-Jones types, exclusions, 1-4 pairs |
//! | CustomNonbondedForce | Lennard-Jones by pairs of types (NBFIX) |
//! | CustomBondForce | Lennard-Jones of 1-4 pairs; harmonic distances |
//! | CustomTorsionForce | harmonic impropers |
//!
//! The 1-4 pairs of OpenMM have a product of charges; here they have a factor, since charges change with λ: [`SystemXml::unknown_factors`].
//! Format: openmm/serialization of OpenMM 8; energies: OpenMM User Guide 8, "Standard Forces" (doi:10.1021/acs.jpcb.3c06662).

mod bonded;
mod cmap;
mod custom;
mod element;
mod error;
mod expression;
mod molecules;
mod nonbonded;
mod rigid;
mod sites;

use std::path::Path;

pub use error::{SystemXmlError, SystemXmlProblem};

use crate::cell::{Cell, PeriodicBox};
use crate::structure::Structure;
use crate::topology::{Constraint, Topology};
use crate::virtual_sites::{self, VirtualSite};
use bonded::Terms;
use custom::{Coefficients, Custom};
use element::Element;
use nonbonded::Nonbonded;

/// Forces that are computed.
const SUPPORTED: &str = "HarmonicBondForce, HarmonicAngleForce, PeriodicTorsionForce, RBTorsionForce, CMAPTorsionForce, NonbondedForce, \
     and CustomNonbondedForce, CustomBondForce and CustomTorsionForce of some energies";
/// Forces of OpenMM that a job has keys for, and those keys.
const LEFT_OUT: [(&str, &str); 6] = [
    ("CMMotionRemover", "dynamics.remove_com_interval"),
    ("AndersenThermostat", "[thermostat]"),
    ("MonteCarloBarostat", "[barostat]"),
    ("MonteCarloAnisotropicBarostat", "[barostat]"),
    ("MonteCarloFlexibleBarostat", "[barostat]"),
    ("MonteCarloMembraneBarostat", "[barostat]"),
];

/// What a file says.
#[derive(Clone, Debug, Default)]
pub struct SystemXml {
    /// Atoms and interactions, with the names of the structure.
    pub topology: Topology,
    /// The box that a new context of OpenMM would have, if the system is periodic.
    pub cell: Cell,
    /// What was left out, and what the file suggests for things that a job decides, one sentence each.
    pub notes: Vec<String>,
    /// 1-4 pairs whose product of charges is zero because a charge is, so that their factor is not known: none of their atoms may titrate.
    pub unknown_factors: Vec<[u32; 2]>,
}

/// Reads a system whose atoms have the names of `structure`. Lennard-Jones types of the names `keep` are appended to the tables where they tell
/// their parameters, as `"LJ 0.3 0.5"` does (σ in nm, ε in kJ/mol; two more numbers where they are others in 1-4 pairs). Their pairs with all
/// others have the mean σ and the geometric mean ε; where tables of custom forces give more than a tenth of the pairs other values, none is
/// appended, because nobody knows those of a type that is not in them.
///
/// # Errors
/// [`SystemXmlError`] with file and line for anything that is wrong, unknown or unsupported.
pub fn read_system(path: &Path, structure: &Structure, keep: &[&str]) -> Result<SystemXml, SystemXmlError> {
    let whole = |problem| SystemXmlError { file: path.into(), line: 0, problem: Box::new(problem) };
    let bytes = std::fs::read(path).map_err(|e| whole(SystemXmlProblem::Io(e)))?;
    let text = String::from_utf8(bytes).map_err(|_| whole(SystemXmlProblem::Binary))?;
    parse_system(&text, path, structure, keep)
}

/// Reads a system from text; `path` only names it in errors.
///
/// # Errors
/// As [`read_system`].
pub fn parse_system(
    text: &str,
    path: &Path,
    structure: &Structure,
    keep: &[&str],
) -> Result<SystemXml, SystemXmlError> {
    let document = roxmltree::Document::parse(text).map_err(|e| SystemXmlError {
        file: path.into(),
        line: e.pos().row as usize,
        problem: Box::new(SystemXmlProblem::Syntax(e.to_string())),
    })?;
    let root = Element::new(document.root_element(), path);
    if root.name() != "System" {
        return Err(root.error(SystemXmlProblem::NotASystem(root.name().into())));
    }
    let (masses, virtual_sites) = particles(&root)?;
    let (found, wanted) = (masses.len(), structure.positions.len());
    if found != wanted {
        return Err(root.error(SystemXmlProblem::AtomCount { found, wanted }));
    }
    let mut read = Reader { terms: Terms::new(found), ..Reader::default() };
    for one in root.children("Constraints") {
        read.terms.constraints.push(Constraint { atoms: one.atoms(["p1", "p2"], found)?, length: one.positive("d")? });
    }
    for force in root.children("Forces") {
        read.force(&force, found)?;
    }
    let Some(nonbonded) = read.nonbonded.take() else {
        return Err(root.error(SystemXmlProblem::Missing { element: "Forces".into(), what: "NonbondedForce".into() }));
    };
    let mut notes = std::mem::take(&mut read.notes);
    read.terms.leave_out_constants(&virtual_sites, &mut notes);
    let mut links = read.terms.links();
    links.extend(virtual_sites.iter().flat_map(|one| one.parents.iter().map(|&parent| [one.site, parent])));
    let mut top = Topology { title: structure.title.clone(), virtual_sites, ..Topology::default() };
    molecules::name_atoms(&mut top, structure, &masses, &links);
    let bonds = read.terms.sort_into(&mut top);
    let unknown_factors =
        nonbonded.finish(&mut top, keep, &read.custom, read.pairs, &bonds).map_err(|problem| root.error(problem))?;
    rigid::recognise_waters(&mut top);
    virtual_sites::check(&top).map_err(|e| root.error(SystemXmlProblem::Site(e)))?;
    Ok(SystemXml { topology: top, cell: cell(&root)?, notes, unknown_factors })
}

/// What forces have brought so far.
#[derive(Default)]
struct Reader {
    terms: Terms,
    nonbonded: Option<Nonbonded>,
    /// Further Lennard-Jones interactions of particles, with the name of their force, and of pairs.
    custom: Vec<(String, Custom)>,
    pairs: Vec<([u32; 2], Coefficients)>,
    notes: Vec<String>,
}

impl Reader {
    fn force(&mut self, force: &Element<'_>, n_atoms: usize) -> Result<(), SystemXmlError> {
        let kind = force.text("type")?;
        match kind {
            "HarmonicBondForce" => self.terms.read_bonds(force),
            "HarmonicAngleForce" => self.terms.read_angles(force),
            "PeriodicTorsionForce" => self.terms.read_periodic(force),
            "RBTorsionForce" => self.terms.read_ryckaert_bellemans(force),
            "CustomNonbondedForce" => {
                self.custom.push((force.title(), custom::nonbonded(force, n_atoms, &mut self.notes)?));
                Ok(())
            }
            "CustomBondForce" => custom::bonds(&mut self.terms, &mut self.pairs, force),
            "CustomTorsionForce" => custom::torsions(&mut self.terms, force),
            "CMAPTorsionForce" => cmap::read(&mut self.terms, force),
            "NonbondedForce" if self.nonbonded.is_some() => Err(force.unsupported(
                "a second NonbondedForce: one has the charges and Lennard-Jones parameters of all particles",
            )),
            "NonbondedForce" => {
                self.nonbonded = Some(Nonbonded::read(force, n_atoms, &mut self.notes)?);
                Ok(())
            }
            _ => match LEFT_OUT.iter().find(|(name, _)| *name == kind) {
                Some((name, keys)) => {
                    self.notes.push(format!("{name} is left out: {keys} of the job decides"));
                    Ok(())
                }
                None => {
                    let (title, remedy) = (force.title(), remedy(kind));
                    Err(force.error(SystemXmlProblem::Force { force: title, supported: SUPPORTED, remedy }))
                }
            },
        }
    }
}

/// What to do about a force that is not computed.
fn remedy(kind: &str) -> &'static str {
    match kind {
        "CustomExternalForce" => "remove it from the system: [position_restraints] of the job hold atoms in place",
        "GBSAOBCForce" | "CustomGBForce" => "the solvent must be atoms: build the system in a box of water",
        _ if kind.starts_with("Amoeba") || ["DrudeForce", "HippoNonbondedForce"].contains(&kind) => {
            "supported are force fields of fixed charges"
        }
        _ => "if it is a bias or a restraint, remove it from the system and serialise that again",
    }
}

/// Masses of all particles, u, and those of them that are virtual sites.
fn particles(root: &Element<'_>) -> Result<(Vec<f64>, Vec<VirtualSite>), SystemXmlError> {
    let n_atoms = root.children("Particles").count();
    let (mut masses, mut sites) = (Vec::with_capacity(n_atoms), Vec::new());
    for particle in root.children("Particles") {
        let (mass, index) = (particle.real("mass")?, masses.len());
        match particle.elements().next() {
            Some(site) => sites.push(sites::read(&site, index as u32, n_atoms)?),
            None if mass <= 0.0 => return Err(particle.error(SystemXmlProblem::Mass { atom: index + 1, mass })),
            None => {}
        }
        masses.push(mass);
    }
    Ok((masses, sites))
}

/// The default box.
fn cell(root: &Element<'_>) -> Result<Cell, SystemXmlError> {
    let Some(vectors) = root.child("PeriodicBoxVectors") else { return Ok(Cell::Open) };
    let mut rows = [[0.0; 3]; 3];
    for (row, name) in rows.iter_mut().zip(["A", "B", "C"]) {
        let missing = || SystemXmlProblem::Missing { element: "PeriodicBoxVectors".into(), what: name.into() };
        let vector = vectors.child(name).ok_or_else(|| vectors.error(missing()))?;
        for (value, axis) in row.iter_mut().zip(["x", "y", "z"]) {
            *value = vector.real(axis)?;
        }
    }
    // OpenMM gives every system a box; one that no simulation could have is no reason to stop.
    Ok(PeriodicBox::reduced(rows).map_or(Cell::Open, Cell::Periodic))
}

#[cfg(test)]
mod tests;
