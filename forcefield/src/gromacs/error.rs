//! What can be wrong with a GROMACS topology, and where.
//!
//! Every error carries the file and line it was found at, what was found, and what would have been valid.

use std::path::PathBuf;

use thiserror::Error;

/// A problem in a topology: where, and what.
#[derive(Debug, Error)]
#[error("{}{}", place(file, *line), problem)]
pub struct TopologyError {
    /// File that holds the problem.
    pub file: PathBuf,
    /// Line in that file, from 1; 0 if the problem concerns the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub problem: Box<TopologyProblem>,
}

fn place(file: &std::path::Path, line: usize) -> String {
    match line {
        0 => format!("{}: ", file.display()),
        _ => format!("{}, line {line}: ", file.display()),
    }
}

/// What is wrong with a topology.
#[derive(Debug, Error)]
pub enum TopologyProblem {
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Io(#[from] std::io::Error),
    /// The file is no text.
    #[error("the file is binary; a topology is a text, such as gmx pdb2gmx writes")]
    Binary,
    /// No directory of the search path holds the included file.
    #[error(
        "include file \"{name}\" not found; looked in {searched}; name the folder that it is in, or is named from, in system.include of the job"
    )]
    IncludeNotFound {
        /// Name as given.
        name: String,
        /// Directories, in the order of the search.
        searched: String,
    },
    /// A file includes itself, directly or through others.
    #[error("\"{0}\" is included while it is being read: the files include each other in a circle")]
    IncludeCycle(String),
    /// Files that include each other too deep.
    #[error("\"{name}\" is included where {limit} files already include each other; valid are {limit} levels")]
    IncludeDepth {
        /// File that is one too many.
        name: String,
        /// Files that may be open at once.
        limit: usize,
    },
    /// A preprocessor line that cannot be understood.
    #[error(
        "preprocessor line '{found}' {reason}; supported are #include \"file\", #define NAME [value], #undef NAME, \
         #ifdef NAME, #ifndef NAME, #else and #endif"
    )]
    Preprocessor {
        /// The line.
        found: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// An #error line in force.
    #[error("the file refuses this combination of settings: {0}")]
    ErrorDirective(String),
    /// A macro whose value contains itself.
    #[error("macro '{0}' is defined by itself")]
    MacroCycle(String),
    /// Macros defined by macros too deep.
    #[error(
        "the macros of this line are defined by macros in more than {limit} levels, the next of which is '{name}'; valid are {limit} levels"
    )]
    MacroDepth {
        /// Macro that is one too many.
        name: String,
        /// Levels that are followed.
        limit: usize,
    },
    /// Data before the first section.
    #[error("'{0}' stands before the first section; a topology starts with a header such as [ defaults ]")]
    DataOutsideSection(String),
    /// A section header without closing bracket or name.
    #[error("'{0}' is not a section header; expected a name in brackets such as [ atoms ]")]
    BadHeader(String),
    /// A section this program does not know or cannot compute.
    #[error("section [ {section} ] is not supported; supported are {supported}")]
    UnsupportedSection {
        /// Its name.
        section: String,
        /// All names that are.
        supported: String,
    },
    /// A section in the wrong place.
    #[error("section [ {section} ] cannot stand here: {reason}")]
    MisplacedSection {
        /// Its name.
        section: &'static str,
        /// What must come first or last.
        reason: &'static str,
    },
    /// Interaction function that cannot be computed.
    #[error("[ {section} ] function type {found} is not supported; supported: {supported}")]
    UnsupportedFunction {
        /// Section.
        section: &'static str,
        /// Function type found.
        found: String,
        /// Function types with their names.
        supported: &'static str,
    },
    /// A setting with an unsupported value.
    #[error("{what} '{found}' is not supported; supported: {supported}")]
    UnsupportedValue {
        /// What it is.
        what: &'static str,
        /// Value found.
        found: String,
        /// Valid values.
        supported: &'static str,
    },
    /// A line with too few columns.
    #[error("[ {section} ] line has {found} columns; expected {expected}")]
    Columns {
        /// Section.
        section: &'static str,
        /// Number of columns found.
        found: usize,
        /// Columns expected.
        expected: &'static str,
    },
    /// Text where a number should be.
    #[error("[ {section} ] column {column}: expected {expected}, found '{found}'")]
    NotANumber {
        /// Section.
        section: &'static str,
        /// Column, from 1.
        column: usize,
        /// Kind of number.
        expected: &'static str,
        /// Text found.
        found: String,
    },
    /// Wrong number of parameters.
    #[error("[ {section} ] function type {function} has {found} parameters; expected {expected}")]
    ParameterCount {
        /// Section.
        section: &'static str,
        /// Function type.
        function: u8,
        /// Parameters found.
        found: usize,
        /// Parameters expected.
        expected: String,
    },
    /// Different parameters for a second (perturbed) state.
    #[error(
        "[ {section} ] gives a second state (B) that differs from the first; free-energy perturbation through the topology is not supported"
    )]
    PerturbedState {
        /// Section.
        section: &'static str,
    },
    /// A name used but not defined.
    #[error("{what} '{name}' is not defined{hint}")]
    Unknown {
        /// Kind of name.
        what: &'static str,
        /// Name.
        name: String,
        /// What is defined, if helpful.
        hint: String,
    },
    /// A name or parameter defined twice, differently.
    #[error("{what} is defined a second time with different values; first definition: {first}")]
    Redefined {
        /// The name or the section and types of the parameter.
        what: String,
        /// File and line of the first definition.
        first: String,
    },
    /// A second block of multi-term dihedral parameters.
    #[error(
        "dihedral type 9 for {types} has another block at {first}; terms of one dihedral must stand on consecutive lines, \
         with the atom types in the same order"
    )]
    SplitDihedral {
        /// Atom types.
        types: String,
        /// File and line of the first block.
        first: String,
    },
    /// Atoms out of order.
    #[error(
        "atom number {found} found where {expected} was expected; atoms of a molecule are numbered 1, 2, 3, … without gaps"
    )]
    AtomNumber {
        /// Number found.
        found: i64,
        /// Number expected.
        expected: usize,
    },
    /// Atom index that the molecule does not have.
    #[error("[ {section} ] refers to atom {found}, but molecule '{molecule}' has atoms 1 to {n_atoms}")]
    AtomIndex {
        /// Section.
        section: &'static str,
        /// Index found.
        found: i64,
        /// Molecule.
        molecule: String,
        /// Its number of atoms.
        n_atoms: usize,
    },
    /// The same atom twice in one interaction.
    #[error("[ {section} ] uses atom {atom} twice in one interaction")]
    RepeatedAtom {
        /// Section.
        section: &'static str,
        /// The atom.
        atom: i64,
    },
    /// No parameters on the line nor by type.
    #[error(
        "[ {section} ] function type {function}: no parameters on this line and none for atom types {types} of atoms {atoms}"
    )]
    NoParameters {
        /// Section.
        section: &'static str,
        /// Function type.
        function: u8,
        /// Atom types that were looked up.
        types: String,
        /// Atoms (name and number).
        atoms: String,
    },
    /// A particle that is neither an atom nor placed by a section of virtual sites.
    #[error(
        "atom {atom} has type '{atom_type}' of particle kind {kind}; supported are atoms (A) and virtual sites (V, D) that a section \
         [ virtual_sites1 ], [ virtual_sites2 ], [ virtual_sites3 ] or [ virtual_sitesn ] places, no shells"
    )]
    ParticleKind {
        /// Atom.
        atom: String,
        /// Its type.
        atom_type: String,
        /// Particle kind letter.
        kind: String,
    },
    /// A virtual site whose line names its parents and nothing more.
    #[error(
        "[ {section} ] line has no parameters: gmx pdb2gmx -vsite leaves them to gmx grompp, which takes them from bonds and angles; \
         build the topology without -vsite (dynamics.hydrogen_mass is there for long time steps), or write the parameters on the line: {expected}"
    )]
    NoSiteParameters {
        /// Section.
        section: &'static str,
        /// Columns expected.
        expected: &'static str,
    },
    /// Virtual sites that cannot be placed.
    #[error("molecule '{molecule}': {error}")]
    VirtualSite {
        /// Molecule.
        molecule: String,
        /// What is wrong.
        error: crate::virtual_sites::VirtualSiteError,
    },
    /// Mass that is not positive.
    #[error("atom {atom} has mass {mass} u; masses must be positive, but for virtual sites")]
    Mass {
        /// Atom.
        atom: String,
        /// Mass found.
        mass: f64,
    },
    /// A value out of its range.
    #[error("[ {section} ] {what} is {found}; it must be {expected}")]
    OutOfRange {
        /// Section.
        section: &'static str,
        /// Quantity.
        what: &'static str,
        /// Value found.
        found: String,
        /// Range.
        expected: &'static str,
    },
    /// Something every topology needs is missing.
    #[error("{0}")]
    Missing(&'static str),
    /// The topology is not that of the structure.
    #[error("[ molecules ] add up to {found} atoms, the structure has {wanted}")]
    AtomCount {
        /// Number of atoms.
        found: u128,
        /// Atoms of the structure.
        wanted: usize,
    },
    /// A macro that grows beyond all bounds.
    #[error("the macros of this line make more than {0} characters of it")]
    MacroLength(usize),
    /// More atoms than this program accepts.
    #[error("[ molecules ] add up to {found} atoms; at most {limit} are supported")]
    TooManyAtoms {
        /// Number of atoms.
        found: u128,
        /// Largest number accepted.
        limit: u128,
    },
}
