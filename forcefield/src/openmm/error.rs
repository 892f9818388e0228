//! What can be wrong with a system that OpenMM serialised, and where.

use std::path::PathBuf;

use thiserror::Error;

use crate::virtual_sites::VirtualSiteError;

/// A problem in a System XML: where, and what.
#[derive(Debug, Error)]
#[error("{}{}", place(file, *line), problem)]
pub struct SystemXmlError {
    /// File that holds the problem.
    pub file: PathBuf,
    /// Line in that file, from 1; 0 if the problem concerns the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub problem: Box<SystemXmlProblem>,
}

fn place(file: &std::path::Path, line: usize) -> String {
    match line {
        0 => format!("{}: ", file.display()),
        _ => format!("{}, line {line}: ", file.display()),
    }
}

/// What is wrong with a System XML.
#[derive(Debug, Error)]
pub enum SystemXmlProblem {
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Io(std::io::Error),
    /// The file is no text.
    #[error("the file is no text in UTF-8; a System XML is what openmm.XmlSerializer.serialize(system) writes")]
    Binary,
    /// The file is no XML.
    #[error("this is no XML: {0}; the file must be what openmm.XmlSerializer.serialize(system) writes")]
    Syntax(String),
    /// The file is another XML.
    #[error(
        "the XML holds a <{0}>, not a <System>: a force field or a state is no topology; write the system itself with \
         openmm.XmlSerializer.serialize(system)"
    )]
    NotASystem(String),
    /// A system of another number of particles than the structure has atoms.
    #[error("the system has {found} particles, but the structure has {wanted} atoms: they do not belong together")]
    AtomCount {
        /// Particles of the system.
        found: usize,
        /// Atoms of the structure.
        wanted: usize,
    },
    /// Something that is not there.
    #[error("{element} has no {what}")]
    Missing {
        /// The element.
        element: String,
        /// Attribute or child that it lacks.
        what: String,
    },
    /// A value that cannot be understood.
    #[error("{attribute} of {element} is '{found}'; valid is {valid}")]
    Value {
        /// The element.
        element: String,
        /// Its attribute.
        attribute: String,
        /// What it says.
        found: String,
        /// What would be valid.
        valid: String,
    },
    /// An atom repeated in one term.
    #[error("{element} names particle {atom} twice (counted from 0)")]
    RepeatedAtom {
        /// The element.
        element: String,
        /// The particle, from 0 as the file counts.
        atom: u32,
    },
    /// Another number of entries than there are particles.
    #[error("{force} has parameters for {found} particles, the system has {wanted}")]
    Particles {
        /// The force.
        force: String,
        /// Entries found.
        found: usize,
        /// Particles of the system.
        wanted: usize,
    },
    /// An atom without mass that is no virtual site, or of negative mass.
    #[error(
        "atom {atom} has a mass of {mass} u: atoms that OpenMM holds in place are not supported, masses must be positive; give it its mass, and hold it by \
         [position_restraints] of the job"
    )]
    Mass {
        /// Atom, from 1.
        atom: usize,
        /// Its mass, u.
        mass: f64,
    },
    /// A virtual site of an unknown kind.
    #[error(
        "atom {atom} is a virtual site of the kind {kind}, which is not supported; supported are TwoParticleAverageSite, \
         ThreeParticleAverageSite, OutOfPlaneSite and LocalCoordinatesSite"
    )]
    VirtualSite {
        /// Atom, from 1.
        atom: usize,
        /// Element that says how it is placed.
        kind: String,
    },
    /// A virtual site that cannot be placed.
    #[error(transparent)]
    Site(VirtualSiteError),
    /// A force that is not known.
    #[error("{force} is not supported; supported are {supported}; {remedy}")]
    Force {
        /// Its class, and its name where that is another.
        force: String,
        /// Those that are.
        supported: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A property of a force that is not supported.
    #[error("{force}: {what}")]
    Unsupported {
        /// The force.
        force: String,
        /// What is found, and what is valid.
        what: String,
    },
    /// An energy expression that is none of those that are computed.
    #[error("{force} has the energy \"{energy}\", which is not supported: {why}{}", valid(known))]
    Expression {
        /// The force.
        force: String,
        /// Its expression.
        energy: String,
        /// What is not understood.
        why: String,
        /// What would be; empty if the expression itself is not understood.
        known: &'static str,
    },
    /// Forces that leave out different pairs.
    #[error("{force} {what} the pair of particles {} and {} (counted from 0), unlike the NonbondedForce: valid are the same pairs in both", pair[0], pair[1])]
    Exclusions {
        /// The force.
        force: String,
        /// "excludes" or "does not exclude".
        what: &'static str,
        /// The pair.
        pair: [u32; 2],
    },
}

fn valid(known: &str) -> String {
    if known.is_empty() { String::new() } else { format!("; valid is {known}") }
}
