//! Atoms named by a text: `protein`, `resname GLU ASP and name CA`, `not (water or ions)`.
//!
//! ```text
//! selection  := all-of { "or" all-of }
//! all-of     := one { "and" one }
//! one        := "not" one | "(" selection ")" | word | key value { value }
//! ```
//!
//! | word | atoms |
//! |---|---|
//! | `all` | every atom |
//! | `protein` | residues with atoms N, CA and C, and the caps ACE, NME, NMA, NAC, NH2, FOR |
//! | `backbone` | N, CA, C and O of these residues |
//! | `water` | rigid waters, and residues named SOL, WAT, HOH, H2O, SPC, TIP3, TIP3P, TIP4, TIP4P, TIP5, OPC |
//! | `ions` | molecules of one atom |
//! | `solute` | what is neither water nor an ion |
//! | `hydrogen` | atoms whose names start with H |
//! | `site` | atoms of titratable sites that differ between forms |
//! | `buffer` | atoms of the charge buffer |
//!
//! | key | values |
//! |---|---|
//! | `resname` | names of residues |
//! | `resid` | numbers of residues as the topology has them, or ranges `10-20`; waters all have the number in their molecule type |
//! | `name` | names of atoms |
//! | `molecule` | names of molecule types, or numbers of molecules counted from 1, or ranges of them |
//! | `group` | names of groups of a GROMACS index file |
//!
//! Names may hold `*` (any characters) and `?` (one character), and may stand in quotes. A topology knows molecules, not chains: a
//! chain of a protein is a molecule type of its own, such as `Protein_chain_A`. What a text selects of a
//! system is found where the system is known, in the engine.

mod parse;

pub use parse::Expression;

use thiserror::Error;

/// A text that selects no atoms.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SelectionError {
    /// Something else was expected at a place of the text.
    #[error("at character {} of \"{text}\": found {found}", character(text, *at))]
    Syntax {
        /// The whole text.
        text: String,
        /// Byte at which it goes wrong.
        at: usize,
        /// What stands there.
        found: String,
        /// What is valid there.
        valid: String,
    },
    /// A group that the index file does not have.
    #[error("the group \"{group}\" is unknown")]
    Group {
        /// Its name.
        group: String,
        /// What is valid.
        valid: String,
    },
    /// No atom is selected.
    #[error("\"{text}\" selects no atom of this system")]
    Empty {
        /// The whole text.
        text: String,
        /// Names that would select something.
        valid: String,
    },
}

/// The number, from 1, of the character at byte `at`.
fn character(text: &str, at: usize) -> usize {
    text[..at].chars().count() + 1
}

impl SelectionError {
    /// What would be valid.
    pub fn valid(&self) -> &str {
        match self {
            Self::Syntax { valid, .. } | Self::Group { valid, .. } | Self::Empty { valid, .. } => valid,
        }
    }
}

/// Words that select atoms by themselves.
const WORDS: [(&str, Word); 9] = [
    ("all", Word::All),
    ("protein", Word::Protein),
    ("backbone", Word::Backbone),
    ("water", Word::Water),
    ("ions", Word::Ions),
    ("solute", Word::Solute),
    ("hydrogen", Word::Hydrogen),
    ("site", Word::Site),
    ("buffer", Word::Buffer),
];

/// Keys that are followed by values.
const KEYS: [(&str, Key); 5] = [
    ("resname", Key::ResidueName),
    ("resid", Key::ResidueNumber),
    ("name", Key::Name),
    ("molecule", Key::Molecule),
    ("group", Key::Group),
];

/// A word that selects atoms by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// `all`
    All,
    /// `protein`
    Protein,
    /// `backbone`
    Backbone,
    /// `water`
    Water,
    /// `ions`
    Ions,
    /// `solute`
    Solute,
    /// `hydrogen`
    Hydrogen,
    /// `site`
    Site,
    /// `buffer`
    Buffer,
}

/// A key that is followed by values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// `resname`
    ResidueName,
    /// `resid`
    ResidueNumber,
    /// `name`
    Name,
    /// `molecule`
    Molecule,
    /// `group`
    Group,
}

/// A part of a selection, down to words and keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Atoms of the first or the second.
    Or(Box<Node>, Box<Node>),
    /// Atoms of both.
    And(Box<Node>, Box<Node>),
    /// All other atoms.
    Not(Box<Node>),
    /// The atoms of a word.
    Word(Word),
    /// Atoms for which the key has one of the values.
    Key(Key, Vec<Value>),
}

/// A value of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A name, perhaps with `*` and `?`.
    Name(String),
    /// A range of numbers; both ends belong to it.
    Numbers(std::ops::RangeInclusive<i64>),
}
