//! Residues at which an end of a chain has other atoms.
//!
//! An end is the same group at all residues but one: the nitrogen of proline is in its ring, so that its end has two hydrogens in place of three, and a second carbon
//! beside it. Forms, pKa and the way in which charges are applied are those of the entry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CHARGE_TOLERANCE, Entry};

/// The atoms of an end of a chain at some residues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherAtoms {
    /// Names of these residues, without the letter of the end: `PRO` for `NPRO`.
    pub residues: Vec<String>,
    /// Other names of atoms there, as [`Entry::aliases`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<BTreeMap<String, String>>,
    /// Atom name → charge in each form, e.
    pub charges: BTreeMap<String, Vec<f64>>,
}

impl Entry {
    fn other_atoms_at(&self, residue: &str) -> Option<&OtherAtoms> {
        let residue = self.name_of(residue);
        self.other_atoms.iter().find(|one| one.residues.iter().any(|name| name == residue))
    }

    /// Atom name → charge (e) in each form, at a residue of this name in a topology.
    pub fn charges_at(&self, residue: &str) -> &BTreeMap<String, Vec<f64>> {
        self.other_atoms_at(residue).map_or(&self.charges, |one| &one.charges)
    }

    /// Other names of atoms at a residue of this name in a topology.
    pub fn aliases_at(&self, residue: &str) -> &[BTreeMap<String, String>] {
        self.other_atoms_at(residue).map_or(&self.aliases, |one| &one.aliases)
    }

    /// Whether other atoms are those of an end with every form, whose charges differ as those of the entry do.
    ///
    /// # Errors
    /// What is wrong, for people.
    pub(super) fn check_other_atoms(&self) -> Result<(), String> {
        let kept = self.backbone.is_empty() && self.torsions.is_empty();
        let follows = !(self.bonded.is_empty() && self.lj_types.is_empty());
        if !self.other_atoms.is_empty() && (self.terminus.is_none() || !kept || follows) {
            return Err("other_atoms: only an end of a chain without backbone, torsions, bonded and lj_types has other atoms at some residues".into());
        }
        let mut known = Vec::new();
        for one in &self.other_atoms {
            let names = one.residues.join(", ");
            if one.residues.is_empty() || one.residues.iter().any(|name| known.contains(&name)) {
                return Err(format!("other_atoms: residues [{names}]: none, or one that is there twice"));
            }
            known.extend(&one.residues);
            let n = self.forms.len();
            if let Some((atom, charges)) =
                one.charges.iter().find(|(_, q)| q.len() != n || q.iter().any(|q| !q.is_finite()))
            {
                return Err(format!("other_atoms of {names}: charges.{atom}: {charges:?}, expected {n} numbers"));
            }
            let named = one.aliases.iter().flat_map(BTreeMap::values).chain(&self.balanced_at);
            if let Some(atom) = named.into_iter().find(|atom| !one.charges.contains_key(*atom)) {
                return Err(format!("other_atoms of {names}: atom {atom} (aliases, balanced_at) has no charges"));
            }
            let sum = |k: usize| -> f64 { one.charges.values().map(|q| q[k]).sum() };
            for (k, form) in self.forms.iter().enumerate() {
                let (found, expected) = (sum(k) - sum(0), -self.charge_scale * f64::from(form.protons_lost));
                if (found - expected).abs() > CHARGE_TOLERANCE {
                    let name = &form.name;
                    return Err(format!(
                        "other_atoms of {names}: form {name}: charges change by {found:.6} e, expected {expected}"
                    ));
                }
            }
        }
        Ok(())
    }
}
