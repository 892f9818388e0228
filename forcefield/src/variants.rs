//! Forms of titratable sites that differ in Lennard-Jones types and in bonded terms.
//!
//! Site s has forms α of weights λ_sα, Σ_α λ_sα = 1; atom i of it has the type t_i^α in form α. With R(t, u) the roots c6^(1/6) and c12^(1/12) of two types:
//!
//!   pair with an atom of no site       roots Σ_α λ_sα R(t_i^α, t_j)
//!   pair inside a site                 roots Σ_α λ_sα R(t_i^α, t_j^α)
//!   pair of two sites                  roots Σ_αβ λ_sα λ_uβ R(t_i^α, t_j^β)
//!   1-4 pairs                          the same with c6 and c12 in place of their roots
//!   bonded terms of site s             Σ_α λ_sα V_sα
//!
//! Where forms have the same ε the mean of the roots is the mean σ. Energies are not mixed: weights go a little below zero, and less than nothing of a larger
//! atom is an attraction without bound, since σ enters by its twelfth power. HD2 of His has σ of 0.16 and 0.26 nm in its forms with CHARMM36m: with a weight of
//! −0.02 of the larger one the proton of a carboxyl falls into it. 1-4 pairs and bonded terms cannot come so near, and stay linear. At the vertices, where
//! one form has the weight 1, all is the force field of that form. Atoms that change type and bonded terms that change are taken
//! out of the [`Topology`] given to the ordinary terms and treated here, with the same cut-off, exclusions and nearest image; the 1-4 pairs of
//! such atoms leave their Coulomb part there. Masses and distances held fixed are those of the topology. A
//! [`DispersionCorrection`](crate::lennard_jones::DispersionCorrection) made before stays that of the topology's own types (form 0).
//!
//! Units: nm, kJ/mol, rad.

pub(crate) mod bonded;
mod named;
pub(crate) mod pairs;
#[cfg(test)]
pub(crate) mod tests;

use nalgebra::Vector3;
use thiserror::Error;

use crate::TermEnergy;
use crate::bonded::BondedEnergies;
use crate::cell::Cell;
use crate::fnv::Fnv1a;
use crate::lennard_jones::{LennardJonesError, Modifier, check_settings};
use crate::topology::{Angle, Bond, HarmonicImproper, PeriodicDihedral, RyckaertBellemans, Topology, UreyBradley};

pub use named::{NamedTerm, NamedVariants};

/// An atom whose Lennard-Jones type depends on the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeVariant {
    /// The atom.
    pub atom: u32,
    /// Its type in each form: index into [`Topology::atom_types`].
    pub types: Vec<u32>,
}

/// A bonded term that a form has, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BondedTerm {
    /// Harmonic bond.
    Bond(Bond),
    /// Harmonic angle.
    Angle(Angle),
    /// Urey–Bradley angle.
    UreyBradley(UreyBradley),
    /// Periodic dihedral, proper or improper.
    Periodic(PeriodicDihedral),
    /// Harmonic improper.
    HarmonicImproper(HarmonicImproper),
    /// Ryckaert–Bellemans dihedral.
    RyckaertBellemans(RyckaertBellemans),
}

/// How the forms of one site differ beyond their charges; by default they do not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteVariants {
    /// Atoms that change their type.
    pub types: Vec<TypeVariant>,
    /// Terms of each form; empty where no term changes. A term here replaces all terms of the topology of the same kind on the same atoms.
    pub terms: Vec<Vec<BondedTerm>>,
    /// Lennard-Jones of 1-4 pairs over that of other pairs (fudgeLJ), where the topology does not tell.
    pub pair_scale: Option<f64>,
}

impl SiteVariants {
    /// Whether the forms differ in nothing but charges.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty() && self.terms.iter().all(Vec::is_empty)
    }

    /// FNV-1a hash of all that changes, by which a checkpoint recognises it.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv1a::default();
        for TypeVariant { atom, types } in &self.types {
            hash.index(*atom);
            hash.entry(types, &[]);
        }
        for terms in &self.terms {
            let mut form = Topology::default();
            for term in terms {
                match *term {
                    BondedTerm::Bond(term) => form.bonds.push(term),
                    BondedTerm::Angle(term) => form.angles.push(term),
                    BondedTerm::UreyBradley(term) => form.urey_bradley.push(term),
                    BondedTerm::Periodic(term) => form.propers.push(term),
                    BondedTerm::HarmonicImproper(term) => form.harmonic_impropers.push(term),
                    BondedTerm::RyckaertBellemans(term) => form.ryckaert_bellemans.push(term),
                }
            }
            form.fingerprint().iter().for_each(|section| hash.bytes(&section.hash.to_le_bytes()));
        }
        hash.numbers(&self.pair_scale);
        hash.value()
    }

    /// Gives those of `terms`, which the topology has for all forms alike, to each form where terms of this site replace all others on their atoms.
    /// Weights sum to 1, so that the energy is that of the term.
    pub fn share(&mut self, terms: &[PeriodicDihedral]) {
        for term in terms.iter().map(|&term| BondedTerm::Periodic(term)) {
            if self.terms.iter().flatten().any(|own| own.replaces(&term)) {
                self.terms.iter_mut().for_each(|form| form.push(term));
            }
        }
    }

    /// Adds what changes in another residue of the same site.
    pub fn extend(&mut self, other: Self) {
        self.types.extend(other.types);
        self.terms.resize(self.terms.len().max(other.terms.len()), Vec::new());
        self.terms.iter_mut().zip(other.terms).for_each(|(mine, more)| mine.extend(more));
        self.pair_scale = self.pair_scale.or(other.pair_scale);
    }
}

/// Why the forms of a site cannot differ as they were said to.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum VariantError {
    /// An atom that does not exist, or repeated in one term.
    #[error(
        "a form of site {site} has a term on atoms {atoms:?} (counted from 0): they must be different atoms of the topology"
    )]
    Atoms {
        /// Site, from 1.
        site: usize,
        /// Its atoms.
        atoms: Vec<u32>,
    },
    /// A type that does not exist.
    #[error("site {site} has an atom of Lennard-Jones type {found}; there are {types}")]
    Type {
        /// Site, from 1.
        site: usize,
        /// The type.
        found: u32,
        /// Types of the topology.
        types: usize,
    },
    /// There is not one value for each form.
    #[error("{what}: given for {found} forms, the site has {expected}")]
    Forms {
        /// The quantity.
        what: String,
        /// Number of values given.
        found: usize,
        /// Number of forms of the site.
        expected: usize,
    },
    /// A type whose roots are not real.
    #[error("{atom} has the Lennard-Jones type {name} in a form, of which some c6 or c12 is negative")]
    Negative {
        /// The atom.
        atom: String,
        /// The type.
        name: String,
    },
    /// An atom that changes in two ways.
    #[error("the Lennard-Jones type of {0} is given twice")]
    Repeated(String),
    /// A bond that changes but is held fixed.
    #[error("the bond {atoms} has another length in another form, but its length is held fixed (constraints)")]
    Constrained {
        /// Its atoms.
        atoms: String,
    },
    /// The factor of 1-4 pairs cannot be found.
    #[error(
        "the 1-4 pair {atoms} changes its types, and its parameters in the other form are not known: 1-4 pairs of \
         this topology are not one constant times the Lennard-Jones of other pairs, and the atom that changes has \
         other parameters in all of its 1-4 pairs than elsewhere"
    )]
    PairScale {
        /// Its atoms.
        atoms: String,
    },
    /// A name that means nothing.
    #[error("{what} {name} of residue {residue} is not in the topology{hint}")]
    Unknown {
        /// Atom or type.
        what: &'static str,
        /// The name.
        name: String,
        /// Residue.
        residue: String,
        /// Names that would be valid, as the end of the sentence.
        hint: String,
    },
    /// A function or parameters that no bonded term has.
    #[error("bonded term {atoms}: {problem}")]
    Term {
        /// Names of its atoms.
        atoms: String,
        /// What is wrong and what is valid.
        problem: String,
    },
    /// The cut-off, the list or the box does not allow a Lennard-Jones term.
    #[error(transparent)]
    LennardJones(#[from] LennardJonesError),
}

/// The topology with every atom that changes type as the one of its types that attracts its own kind most: for estimates over all atoms that
/// should rather be too large. Types and atoms that do not exist are passed over.
pub fn strongest(top: &Topology, sites: &[SiteVariants]) -> Topology {
    let mut strongest = top.clone();
    let c6 = |t: &&u32| top.lj.get(**t, **t).0;
    for TypeVariant { atom, types } in sites.iter().flat_map(|site| &site.types) {
        let known = types.iter().filter(|t| (**t as usize) < top.lj.n_types);
        let most = known.max_by(|a, b| c6(a).total_cmp(&c6(b)));
        if let (Some(atom), Some(&most)) = (strongest.atoms.get_mut(*atom as usize), most) {
            atom.type_index = most;
        }
    }
    strongest
}

/// λ-weighted energies of what changes between forms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VariantEnergies {
    /// Lennard-Jones within the cut-off of the atoms that change type.
    pub lennard_jones: TermEnergy,
    /// Lennard-Jones of the 1-4 pairs of these atoms.
    pub lennard_jones_14: TermEnergy,
    /// Bonded terms that change.
    pub bonded: BondedEnergies,
}

/// The interactions that change between the forms of all sites.
#[derive(Clone, Debug)]
pub struct Variants {
    pub(crate) weight_starts: Vec<usize>,
    changes: Vec<bool>,
    pub(crate) pairs: pairs::Pairs,
    pub(crate) terms: Vec<bonded::SiteTerms>,
}

impl Variants {
    /// Takes what changes out of `top`: `sites` has one entry for each site, of `forms` forms; cut-off and `buffer` (nm) are those of the
    /// ordinary Lennard-Jones term.
    ///
    /// # Errors
    /// [`VariantError`] if atoms, types or numbers of values do not fit the topology and the forms; the topology is then unchanged.
    pub fn new(
        top: &mut Topology,
        sites: &[SiteVariants],
        forms: &[usize],
        cutoff: f64,
        modifier: Modifier,
        buffer: f64,
    ) -> Result<Self, VariantError> {
        check_settings(top, cutoff, modifier, buffer)?;
        if sites.len() != forms.len() {
            let what = "differences of forms".to_string();
            return Err(VariantError::Forms { what, found: sites.len(), expected: forms.len() });
        }
        let mut weight_starts = vec![0];
        for n in forms {
            weight_starts.push(weight_starts[weight_starts.len() - 1] + n);
        }
        let terms = bonded::collect(top, sites, forms)?;
        let pairs = pairs::Pairs::new(top, sites, &weight_starts, pairs::Range { cutoff, modifier, buffer })?;
        bonded::take_out(top, sites);
        pairs.take_out(top);
        Ok(Self { weight_starts, changes: sites.iter().map(|s| !s.is_empty()).collect(), pairs, terms })
    }

    /// Whether no site has forms that differ in more than charges.
    pub fn is_empty(&self) -> bool {
        self.changes.iter().all(|c| !c)
    }

    /// Whether the forms of a site, counted from 0, differ in more than charges.
    pub fn changes(&self, site: usize) -> bool {
        self.changes.get(site).is_some_and(|c| *c)
    }

    /// Whether this atom changes its Lennard-Jones type.
    pub fn changes_type(&self, atom: u32) -> bool {
        self.pairs.numbers.get(atom as usize).is_some_and(|&number| number != pairs::CONSTANT)
    }

    /// Makes the list of neighbours for positions `x` (nm); to be called whenever the list of the ordinary Lennard-Jones term is made.
    ///
    /// # Errors
    /// [`LennardJonesError::BoxTooSmall`], [`LennardJonesError::ImagesTooNear`] or [`LennardJonesError::NotFinite`], if any atom changes type.
    pub fn rebuild(&mut self, x: &[Vector3<f64>], cell: Cell) -> Result<(), LennardJonesError> {
        self.pairs.rebuild(x, cell)
    }

    /// Whether an atom that changes type has moved by more than half the buffer that is left; all other atoms are watched by the ordinary
    /// term, whose list is made at the same time.
    pub fn is_stale(&self, x: &[Vector3<f64>], cell: Cell) -> bool {
        self.pairs.is_stale(x, cell)
    }

    /// The virial of [`Self::evaluate`] along each axis, W_a = Σ r_a F_a over all pairs, less Σ x_a F_a over the atoms at `x` (kJ/mol): what that sum
    /// misses where pairs meet across a face of the box.
    pub fn virial_of_images(&self, x: &[Vector3<f64>], cell: Cell, weights: &[f64]) -> Vector3<f64> {
        self.pairs.virial_of_images(x, cell, weights)
    }

    /// Energies at `x` for the weights of all forms of all sites, one site after the other; adds forces (kJ/mol/nm) to `f` and ∂V/∂λ_α
    /// (kJ/mol) to `dv`, which is as long as `weights`.
    pub fn evaluate(
        &self,
        x: &[Vector3<f64>],
        cell: Cell,
        weights: &[f64],
        f: &mut [Vector3<f64>],
        dv: &mut [f64],
    ) -> VariantEnergies {
        let mut sum = VariantEnergies {
            lennard_jones: self.pairs.near(x, cell, weights, f, dv),
            lennard_jones_14: self.pairs.bonded_14(x, weights, f, dv),
            bonded: BondedEnergies::default(),
        };
        for site in &self.terms {
            let range = self.weight_starts[site.site]..self.weight_starts[site.site + 1];
            site.evaluate(x, &weights[range.clone()], f, &mut dv[range], &mut sum.bonded);
        }
        sum
    }
}
