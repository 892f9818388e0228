//! What a run and its sites are, in the words of files and people: log, `octitrate check`, `sites.toml`, reports.

mod labels;
mod words;

pub use labels::{Labels, OF_BOTH, usual_name};
pub use words::{are, counted};

use lambda::library::Conditions;
use lambda::site::ResiduePlace;
use serde::{Deserialize, Serialize};

/// What a simulation is, for the log, `octitrate check` and reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Description {
    /// Names and values in the order to be shown: `("atoms", "3512 in 1164 molecules")`, the tree, degrees of freedom, …
    pub facts: Vec<(String, String)>,
    /// What a person should know before trusting the results, one sentence each.
    pub warnings: Vec<String>,
    /// The titratable sites, in the order of λ.
    pub sites: Vec<SiteRecord>,
    /// Groups that the library knows and that do not titrate, where every group is wanted.
    pub untitrated: Vec<UntitratedRecord>,
    /// pH of the sites, if they have one.
    pub ph: Option<f64>,
    /// Temperature of the sites (K).
    pub temperature: f64,
    /// Time from the start in which λ is held (ps).
    pub held: f64,
    /// Whether V_pH of the sites has smoothed steps.
    pub smoothed: bool,
    /// Lines for the end of the log.
    pub results: Vec<String>,
}

impl Description {
    /// Names of the sites, `GLU 2`.
    pub fn site_names(&self) -> Vec<String> {
        self.sites.iter().map(|site| site.name.clone()).collect()
    }

    /// What people call the sites and the other groups.
    pub fn labels(&self) -> Labels {
        Labels::of_sites(&self.sites)
    }

    /// The sites that have a pKa.
    pub fn titrating(&self) -> impl Iterator<Item = &SiteRecord> {
        self.sites.iter().filter(|site| site.titrates())
    }

    /// Names of the columns of `lambda.csv`.
    pub fn lambdas(&self) -> Vec<String> {
        self.sites.iter().flat_map(SiteRecord::columns).collect()
    }
}

/// One titratable site, or the buffer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteRecord {
    /// Name, `GLU 2`.
    pub name: String,
    /// Chain and number in the entry that the system was made of, if the job says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<ResiduePlace>,
    /// Entry of the library.
    pub entry: String,
    /// `titratable` or `buffer`.
    pub kind: Kind,
    /// What moves: `fixed`, `linear`, `hypersphere`, `nexp`.
    pub coordinate: String,
    /// Macroscopic reference pKa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pka: Option<f64>,
    /// Height of the barrier at the end of the run (kJ/mol).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<f64>,
    /// Molecules of a buffer: numbers of their residues in the topology, counted from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub molecules: Vec<u32>,
    /// Free energies of the forms that V_MM takes away, the `offset` of the site among them (kJ/mol); absent without V_MM, for buffers, and in the files of
    /// versions that did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_energies: Option<Vec<f64>>,
    /// What follows λ besides charges: `bonded terms`, `Lennard-Jones`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<String>,
    /// Its forms.
    pub forms: Vec<FormRecord>,
    /// V_MM, of a buffer that of all its molecules; absent without V_MM and in the files of versions that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<PolynomialRecord>,
    /// What its free energy along λ depends on; absent in the files of versions that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
}

/// Minus V_MM: a polynomial on the simplex of weights ([`lambda::bias::simplex`]).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PolynomialRecord {
    /// Degree along the edges between two forms.
    pub degree: usize,
    /// Degree inside of three forms.
    pub interior_degree: usize,
    /// Coefficients (kJ/mol), the `offset` of the site among them.
    pub coefficients: Vec<f64>,
}

/// A group that the library knows and that does not titrate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntitratedRecord {
    /// Name, as that of a site.
    pub name: String,
    /// Why it does not titrate.
    pub reason: String,
}

/// Purpose of a site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It takes up and releases protons.
    #[default]
    Titratable,
    /// It takes up the charge of the others.
    Buffer,
}

/// One form of a site.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FormRecord {
    /// Name in the library.
    pub name: String,
    /// Number of protons lost relative to the first form.
    pub protons_lost: u32,
    /// Net charge of the whole site in this form (e).
    pub charge: f64,
    /// pK of all protons lost, added up; zero for the first form.
    pub pk: f64,
}

impl SiteRecord {
    /// Whether it has a pKa: it is neither a buffer nor fixed, and its forms differ in protonation.
    pub fn titrates(&self) -> bool {
        let differ = self.forms.iter().any(|form| form.protons_lost != self.forms[0].protons_lost);
        self.kind == Kind::Titratable && self.coordinate != "fixed" && differ
    }

    /// Whether the forms are those of another record, whatever pK they were given.
    pub fn has_the_forms_of(&self, other: &Self) -> bool {
        let form = |one: &FormRecord| (one.protons_lost, one.charge);
        self.forms.len() == other.forms.len()
            && self.forms.iter().zip(&other.forms).all(|(a, b)| a.name == b.name && form(a) == form(b))
    }

    /// Charge of a form in elementary charges as chemists count it, where charges are scaled, too: a proton has +1.
    pub fn formal_charge(&self, form: usize) -> f64 {
        let of_proton = self.forms.first().zip(self.forms.last()).map(|(first, last)| {
            (first.charge - last.charge) / (f64::from(last.protons_lost) - f64::from(first.protons_lost))
        });
        self.forms[form].charge / of_proton.filter(|scale| scale.is_finite() && *scale > 0.0).unwrap_or(1.0)
    }

    /// Names of its columns in `lambda.csv`.
    pub fn columns(&self) -> Vec<String> {
        if self.forms.len() == 2 {
            return vec![self.name.clone()];
        }
        self.forms.iter().map(|form| format!("{}:{}", self.name, form.name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proton_has_a_whole_charge_whatever_the_force_field_makes_of_it() {
        let site = |forms: [(u32, f64); 3]| SiteRecord {
            forms: forms
                .map(|(protons_lost, charge)| FormRecord { protons_lost, charge, ..FormRecord::default() })
                .to_vec(),
            ..SiteRecord::default()
        };
        let of = |forms| [0, 1, 2].map(|form| site(forms).formal_charge(form));
        assert_eq!(of([(0, 0.0), (0, 0.0), (1, -0.75)]), [0.0, 0.0, -1.0]);
        assert_eq!(of([(0, 0.75), (1, 0.0), (1, 0.0)]), [1.0, 0.0, 0.0]);
        assert_eq!(of([(0, 1.0), (1, 0.0), (2, -1.0)]), [1.0, 0.0, -1.0]);
        // Forms of one protonation say nothing of a scale.
        assert_eq!(of([(0, 0.5), (0, 0.5), (0, 0.5)]), [0.5; 3]);
    }
}
