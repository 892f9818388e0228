//! Differences between the forms of one residue by names.
//!
//! ```toml
//! [lj_types]
//! HE2 = ["HO", "H1"]                       # type in each form; "LJ 0.1 0.2": σ (nm) and ε (kJ/mol), in systems of
//!                                          # OpenMM; two more numbers: those in 1-4 pairs
//! [[bonded]]
//! atoms = ["CD", "OE2", "HE2"]             # "-C" and "+N": of the residue before and after
//! function = 1                             # with two atoms 1; three 1, 5; four 1, 2, 3, 4, 9
//! parameters = [[113.0, 418.4], []]        # for each form, columns and units of a GROMACS topology; empty: no such term
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BondedTerm, SiteVariants, TypeVariant, VariantError};
use crate::topology::{Angle, Bond, HarmonicImproper, PeriodicDihedral, RyckaertBellemans, Topology, UreyBradley};

/// What differs between the forms of a residue besides charges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NamedVariants {
    /// Lennard-Jones type in each form, by atom.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lj_types: BTreeMap<String, Vec<String>>,
    /// Bonded terms that replace those of the topology on the same atoms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bonded: Vec<NamedTerm>,
}

/// A bonded term by names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedTerm {
    /// Atoms; "-" or "+" in front: of the residue before or after.
    pub atoms: Vec<String>,
    /// Function as in a GROMACS topology.
    pub function: u8,
    /// Parameters in each form as in a GROMACS topology (angles in degrees); empty where a form has no such term.
    pub parameters: Vec<Vec<f64>>,
}

impl NamedVariants {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.lj_types.is_empty() && self.bonded.is_empty()
    }

    /// Looks up the names in a residue of `top` (an index into its residues) for a site of `n_forms` forms.
    ///
    /// # Errors
    /// [`VariantError::Unknown`] for a name that the residue or the topology does not have, [`VariantError::Forms`] for a number of values
    /// that is not that of the forms, [`VariantError::Term`] for a function or parameters that no term has.
    pub fn resolve(&self, top: &Topology, residue: u32, n_forms: usize) -> Result<SiteVariants, VariantError> {
        let mut types = Vec::new();
        for (name, by_form) in &self.lj_types {
            let atom = atom(top, residue, name)?;
            count(&format!("Lennard-Jones types of {name}"), by_form.len(), n_forms)?;
            let own = top.atoms[atom as usize].type_index;
            let types_of = by_form.iter().map(|t| lj_type(top, residue, own, t)).collect::<Result<Vec<u32>, _>>()?;
            if types_of.iter().any(|&t| t != own) {
                types.push(TypeVariant { atom, types: types_of });
            }
        }
        types.sort_by_key(|t| t.atom);
        let mut terms = vec![Vec::new(); if self.bonded.is_empty() { 0 } else { n_forms }];
        for named in &self.bonded {
            let atoms = named.atoms.iter().map(|a| atom(top, residue, a)).collect::<Result<Vec<u32>, _>>()?;
            count(&format!("parameters of {}", named.label()), named.parameters.len(), n_forms)?;
            for (form, parameters) in named.parameters.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
                terms[form].push(named.term(&atoms, parameters)?);
            }
        }
        Ok(SiteVariants { types, terms, pair_scale: None })
    }
}

impl NamedTerm {
    fn label(&self) -> String {
        self.atoms.join(" – ")
    }

    fn term(&self, atoms: &[u32], parameters: &[f64]) -> Result<BondedTerm, VariantError> {
        let problem = |problem: String| VariantError::Term { atoms: self.label(), problem };
        if let Some(value) = parameters.iter().find(|p| !p.is_finite()) {
            return Err(problem(format!("{value} is not a finite number")));
        }
        let expect = |names: &str| {
            let (found, n) = (parameters.len(), names.split(", ").count());
            problem(format!("function {} takes {n} parameters ({names}), found {found}", self.function))
        };
        match (atoms, self.function) {
            (&[i, j], 1) => match *parameters {
                [r0, k] => Ok(BondedTerm::Bond(Bond { atoms: [i, j], r0, k })),
                _ => Err(expect("b0 nm, k kJ/mol/nm²")),
            },
            (&[i, j, k], 1) => match *parameters {
                [theta0, c] => Ok(BondedTerm::Angle(Angle { atoms: [i, j, k], theta0: theta0.to_radians(), k: c })),
                _ => Err(expect("θ0 degrees, k kJ/mol/rad²")),
            },
            (&[i, j, k], 5) => match *parameters {
                [theta0, c, r13, k13] => {
                    let theta0 = theta0.to_radians();
                    Ok(BondedTerm::UreyBradley(UreyBradley { atoms: [i, j, k], theta0, k: c, r13, k13 }))
                }
                _ => Err(expect("θ0 degrees, k kJ/mol/rad², r13 nm, k13 kJ/mol/nm²")),
            },
            (&[i, j, k, l], 1 | 4 | 9) => match *parameters {
                [phi0, c, n] if n.fract() == 0.0 && (0.0..=100.0).contains(&n) => {
                    Ok(BondedTerm::Periodic(PeriodicDihedral {
                        atoms: [i, j, k, l],
                        phi0: phi0.to_radians(),
                        k: c,
                        multiplicity: n as u32,
                        improper: self.function == 4,
                    }))
                }
                _ => Err(expect("φ0 degrees, k kJ/mol, multiplicity from 0 to 100")),
            },
            (&[i, j, k, l], 2) => match *parameters {
                [xi0, c] => {
                    let xi0 = xi0.to_radians();
                    Ok(BondedTerm::HarmonicImproper(HarmonicImproper { atoms: [i, j, k, l], xi0, k: c }))
                }
                _ => Err(expect("ξ0 degrees, k kJ/mol/rad²")),
            },
            (&[i, j, k, l], 3) => match parameters.try_into() {
                Ok(c) => Ok(BondedTerm::RyckaertBellemans(RyckaertBellemans { atoms: [i, j, k, l], c })),
                Err(_) => Err(expect("c0, c1, c2, c3, c4, c5 kJ/mol")),
            },
            _ => Err(problem(format!(
                "function {} of {} atoms; there are 1 of two atoms, 1 and 5 of three, 1, 2, 3, 4 and 9 of four",
                self.function,
                atoms.len()
            ))),
        }
    }
}

fn count(what: &str, found: usize, expected: usize) -> Result<(), VariantError> {
    if found == expected { Ok(()) } else { Err(VariantError::Forms { what: what.to_string(), found, expected }) }
}

/// The atom of that name in a residue or, with "-" or "+", beside it in the same molecule.
fn atom(top: &Topology, residue: u32, name: &str) -> Result<u32, VariantError> {
    let (shift, plain) = match name.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => name.strip_prefix('+').map_or((0, name), |rest| (1, rest)),
    };
    let home = top.residues.get(residue as usize);
    let place = residue.checked_add_signed(shift).and_then(|r| top.residues.get(r as usize));
    let place = place.filter(|r| home.is_some_and(|home| home.molecule == r.molecule));
    let found = place.and_then(|r| r.atoms.clone().find(|&a| top.atoms[a as usize].name == plain));
    found.ok_or_else(|| {
        let hint = place.map_or(String::new(), |r| {
            let names: Vec<&str> = r.atoms.clone().map(|a| top.atoms[a as usize].name.as_str()).collect();
            format!(", which has {}", names.join(", "))
        });
        VariantError::Unknown { what: "atom", name: name.to_string(), residue: label(top, residue), hint }
    })
}

fn lj_type(top: &Topology, residue: u32, own: u32, name: &str) -> Result<u32, VariantError> {
    let found = top.atom_types.iter().position(|t| t.name == name);
    found.map(|t| own_type(top, own, t as u32)).ok_or_else(|| {
        let names: Vec<&str> = top.atom_types.iter().map(|t| t.name.as_str()).collect();
        let hint = if name.starts_with("LJ ") {
            ": by parameters it has σ (nm) and ε (kJ/mol), or those and σ and ε in 1-4 pairs, none negative; and it is known in \
             systems of OpenMM alone, where nine tenths of the pairs of types have the mean σ and the geometric mean ε"
                .to_string()
        } else {
            format!(", which has {}", names.join(", "))
        };
        VariantError::Unknown { what: "Lennard-Jones type", name: name.to_string(), residue: label(top, residue), hint }
    })
}

/// The type `own` of an atom in place of `found`, if that is named by σ and ε and they are those of `own`: the topology may tell more of it, pairs with others for example.
fn own_type(top: &Topology, own: u32, found: u32) -> u32 {
    let same = top.lj.well(own).zip(top.lj.well(found)).is_some_and(|(one, other)| one.is_same(other));
    let is_named_so = top.atom_types[found as usize].name.starts_with("LJ ") && !top.wells_14.contains_key(&found);
    if same && is_named_so { own } else { found }
}

fn label(top: &Topology, residue: u32) -> String {
    top.residues.get(residue as usize).map_or(format!("{residue}"), |r| format!("{} {}", r.name, r.number))
}
