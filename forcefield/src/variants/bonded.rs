//! Bonded terms that depend on the form: V = Σ_α λ_α V_α, ∂V/∂λ_α = V_α.
//!
//! The terms of every form are kept as a small topology in the numbering of the atoms they touch.

use nalgebra::Vector3;

use super::{BondedTerm, SiteVariants, VariantError};
use crate::TermEnergy;
use crate::bonded::{Bonded, BondedEnergies};
use crate::topology::Topology;

/// Kind of a term as far as replacing goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bond,
    Angle,
    UreyBradley,
    Proper,
    Improper,
    HarmonicImproper,
    RyckaertBellemans,
}

impl BondedTerm {
    fn kind(&self) -> Kind {
        match self {
            Self::Bond(_) => Kind::Bond,
            Self::Angle(_) => Kind::Angle,
            Self::UreyBradley(_) => Kind::UreyBradley,
            Self::Periodic(t) if t.improper => Kind::Improper,
            Self::Periodic(_) => Kind::Proper,
            Self::HarmonicImproper(_) => Kind::HarmonicImproper,
            Self::RyckaertBellemans(_) => Kind::RyckaertBellemans,
        }
    }

    /// Whether a term of the topology is taken out for this one: of the same kind, on the same atoms.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        self.kind() == other.kind() && same(self.atoms(), other.atoms())
    }

    /// Its atoms.
    pub fn atoms(&self) -> &[u32] {
        match self {
            Self::Bond(t) => &t.atoms,
            Self::Angle(t) => &t.atoms,
            Self::UreyBradley(t) => &t.atoms,
            Self::Periodic(t) => &t.atoms,
            Self::HarmonicImproper(t) => &t.atoms,
            Self::RyckaertBellemans(t) => &t.atoms,
        }
    }

    fn atoms_mut(&mut self) -> &mut [u32] {
        match self {
            Self::Bond(t) => &mut t.atoms,
            Self::Angle(t) => &mut t.atoms,
            Self::UreyBradley(t) => &mut t.atoms,
            Self::Periodic(t) => &mut t.atoms,
            Self::HarmonicImproper(t) => &mut t.atoms,
            Self::RyckaertBellemans(t) => &mut t.atoms,
        }
    }

    fn push_to(self, top: &mut Topology) {
        match self {
            Self::Bond(t) => top.bonds.push(t),
            Self::Angle(t) => top.angles.push(t),
            Self::UreyBradley(t) => top.urey_bradley.push(t),
            Self::Periodic(t) => top.propers.push(t),
            Self::HarmonicImproper(t) => top.harmonic_impropers.push(t),
            Self::RyckaertBellemans(t) => top.ryckaert_bellemans.push(t),
        }
    }
}

/// Terms of one site.
#[derive(Clone, Debug)]
pub(crate) struct SiteTerms {
    pub site: usize,
    /// Atoms that the terms touch, ascending.
    pub atoms: Vec<u32>,
    /// Terms of each form on those atoms.
    pub forms: Vec<Topology>,
}

impl SiteTerms {
    /// Energies are added to `sum`; weights and `dv` are those of this site.
    pub fn evaluate(
        &self,
        x: &[Vector3<f64>],
        weights: &[f64],
        f: &mut [Vector3<f64>],
        dv: &mut [f64],
        sum: &mut BondedEnergies,
    ) {
        let near: Vec<Vector3<f64>> = self.atoms.iter().map(|&a| x[a as usize]).collect();
        let mut forces = vec![Vector3::zeros(); near.len()];
        for ((terms, &weight), dv) in self.forms.iter().zip(weights).zip(dv) {
            forces.fill(Vector3::zeros());
            let v = Bonded::default().evaluate(terms, &near, &mut forces);
            *dv += v.total().energy;
            for (&a, force) in self.atoms.iter().zip(&forces) {
                f[a as usize] += force * weight;
            }
            let add = |to: &mut TermEnergy, v: TermEnergy| {
                *to += TermEnergy { energy: weight * v.energy, virial: weight * v.virial };
            };
            add(&mut sum.bonds, v.bonds);
            add(&mut sum.angles, v.angles);
            add(&mut sum.urey_bradley, v.urey_bradley);
            add(&mut sum.proper_dihedrals, v.proper_dihedrals);
            add(&mut sum.improper_dihedrals, v.improper_dihedrals);
            add(&mut sum.ryckaert_bellemans, v.ryckaert_bellemans);
        }
    }
}

/// Terms of all sites, checked.
pub(super) fn collect(top: &Topology, sites: &[SiteVariants], forms: &[usize]) -> Result<Vec<SiteTerms>, VariantError> {
    let mut all = Vec::new();
    for (site, (variants, &n_forms)) in sites.iter().zip(forms).enumerate() {
        if variants.terms.iter().all(Vec::is_empty) {
            continue;
        }
        if variants.terms.len() != n_forms {
            let what = format!("bonded terms of site {}", site + 1);
            return Err(VariantError::Forms { what, found: variants.terms.len(), expected: n_forms });
        }
        variants.terms.iter().flatten().try_for_each(|term| check(top, site, term))?;
        let mut atoms: Vec<u32> = variants.terms.iter().flatten().flat_map(|t| t.atoms().iter().copied()).collect();
        atoms.sort_unstable();
        atoms.dedup();
        let forms = variants.terms.iter().map(|terms| {
            let mut local = Topology::default();
            for term in terms.iter().filter(|t| !is_fixed(top, t)) {
                let mut term = *term;
                let number = |a: &u32| atoms.partition_point(|b| b < a) as u32;
                term.atoms_mut().iter_mut().for_each(|a| *a = number(a));
                term.push_to(&mut local);
            }
            local
        });
        let forms = forms.collect();
        all.push(SiteTerms { site, atoms, forms });
    }
    Ok(all)
}

fn check(top: &Topology, site: usize, term: &BondedTerm) -> Result<(), VariantError> {
    let atoms = term.atoms();
    let repeated = (0..atoms.len()).any(|k| atoms[..k].contains(&atoms[k]));
    if repeated || atoms.iter().any(|&a| a as usize >= top.n_atoms()) {
        return Err(VariantError::Atoms { site: site + 1, atoms: atoms.to_vec() });
    }
    match term {
        // Files carry lengths with six or more decimals.
        BondedTerm::Bond(bond) if fixed_length(top, bond.atoms).is_some_and(|r| (r - bond.r0).abs() > 1e-7) => {
            Err(VariantError::Constrained { atoms: labels(top, &bond.atoms) })
        }
        _ => Ok(()),
    }
}

/// Whether the term is a bond held at its length, which has no energy.
fn is_fixed(top: &Topology, term: &BondedTerm) -> bool {
    matches!(term, BondedTerm::Bond(bond) if fixed_length(top, bond.atoms).is_some())
}

fn fixed_length(top: &Topology, atoms: [u32; 2]) -> Option<f64> {
    top.constraints.iter().find(|c| same(&c.atoms, &atoms)).map(|c| c.length)
}

/// The atoms in either direction.
pub(super) fn same(a: &[u32], b: &[u32]) -> bool {
    a == b || a.iter().eq(b.iter().rev())
}

/// Names of atoms for a message.
pub(super) fn labels(top: &Topology, atoms: &[u32]) -> String {
    atoms.iter().map(|&a| top.label(a)).collect::<Vec<_>>().join(" – ")
}

/// Removes the terms of the topology that those of the sites replace.
pub(super) fn take_out(top: &mut Topology, sites: &[SiteVariants]) {
    let terms: Vec<&BondedTerm> = sites.iter().flat_map(|s| s.terms.iter().flatten()).collect();
    if terms.is_empty() {
        return;
    }
    let keep = |kind: Kind, atoms: &[u32]| !terms.iter().any(|t| t.kind() == kind && same(t.atoms(), atoms));
    top.bonds.retain(|t| keep(Kind::Bond, &t.atoms));
    top.angles.retain(|t| keep(Kind::Angle, &t.atoms));
    top.urey_bradley.retain(|t| keep(Kind::UreyBradley, &t.atoms));
    top.propers.retain(|t| keep(if t.improper { Kind::Improper } else { Kind::Proper }, &t.atoms));
    top.harmonic_impropers.retain(|t| keep(Kind::HarmonicImproper, &t.atoms));
    top.ryckaert_bellemans.retain(|t| keep(Kind::RyckaertBellemans, &t.atoms));
}
