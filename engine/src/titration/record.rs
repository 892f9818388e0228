//! The sites of a run for people and files: log, `sites.toml`, columns of `lambda.csv`.

use super::bias::Recipe;
use super::{Sites, adapts_from};
use crate::record::{FormRecord, Kind, Labels, PolynomialRecord, SiteRecord, UntitratedRecord, counted};
use crate::state::{BarrierState, SitesState};
use lambda::SiteValues;
use lambda::bias::ModelCorrection;
use lambda::coordinate::Coordinate;
use lambda::site::{SiteKind, Untitrated};

/// What may differ between forms besides charges.
const BONDED: &str = "bonded terms";
const LENNARD_JONES: &str = "Lennard-Jones";
/// Groups without a site that the log names.
const LISTED: usize = 12;

impl Sites {
    /// What the log says of the buffer, and of the groups that are not asked for.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let buffer = self.facts.iter().cloned();
        let others = (!self.all_are_wanted && !self.untitrated.is_empty()).then(|| {
            let could = self.untitrated.iter().filter(|one| one.reason.is_none()).count();
            let (count, labels) = (self.untitrated.len(), self.labels());
            let names = labels.list(self.untitrated.iter().take(LISTED).map(|one| &one.name));
            let more = if count > LISTED { format!(" and {} more", count - LISTED) } else { String::new() };
            let of_them = match (count, could) {
                (1, 0) => "as it is built it could not titrate".into(),
                (1, _) => "it could titrate as it is built".into(),
                (_, 0) => "none of them could titrate as they are built".into(),
                _ => format!("{could} of them could titrate as they are built"),
            };
            let groups = counted(count, "more group");
            ("left fixed", format!("{groups} that the library knows, {names}{more}; {of_them}"))
        });
        let corrections = self.corrections.iter().map(|one| ("correction V_MM", one.clone()));
        let labels = self.labels();
        let follows = [BONDED, LENNARD_JONES].into_iter().filter_map(|what| {
            let names = (0..self.sites.len()).filter(|&site| self.follows(site).contains(&what));
            let names = labels.list(names.map(|site| &self.sites[site].name));
            (!names.is_empty()).then(|| ("follows λ", format!("charges, and {what} of {names}")))
        });
        let eased = self.eased.iter().map(|words| ("rotamers", words.clone()));
        buffer.chain(corrections).chain(follows).chain(eased).chain(others).collect()
    }

    /// What people call the sites.
    fn labels(&self) -> Labels {
        let place = |site: usize| self.places.get(site).and_then(Option::as_ref);
        Labels::new(self.sites.iter().enumerate().map(|(index, site)| (site.name.as_str(), place(index))))
    }

    /// What differs between the forms of a site besides charges.
    fn follows(&self, site: usize) -> Vec<&'static str> {
        let variants = &self.variants[site];
        let bonded = variants.terms.iter().any(|terms| !terms.is_empty());
        [(bonded, BONDED), (!variants.types.is_empty(), LENNARD_JONES)]
            .into_iter()
            .filter(|(differs, _)| *differs)
            .map(|(_, what)| what)
            .collect()
    }

    /// Time (ps) from the start in which a run of this state holds λ.
    pub fn held(&self, state: &SitesState) -> f64 {
        // A product of short decimal numbers is one, too.
        (state.lambda.held as f64 * self.dynamics.settings().time_step * 1e9).round() / 1e9
    }

    /// What to know before trusting the results.
    pub fn warnings(&self) -> Vec<String> {
        let lacking: Vec<&str> = self.missing().filter(|one| !one.is_bonded).map(|one| one.name.as_str()).collect();
        let missing = (!lacking.is_empty()).then(|| {
            let groups = if lacking.len() == 1 {
                "group that the library knows does"
            } else {
                "groups that the library knows do"
            };
            format!(
                "{} {groups} not titrate: {} (octitrate check and the log say why)",
                lacking.len(),
                self.labels().list(&lacking)
            )
        });
        self.warnings.iter().cloned().chain(missing).collect()
    }

    /// Groups that the library knows and that do not titrate although every group is wanted.
    pub fn untitrated(&self) -> Vec<UntitratedRecord> {
        let record = |one: &Untitrated| {
            one.reason.as_ref().map(|reason| UntitratedRecord { name: one.name.clone(), reason: reason.clone() })
        };
        self.missing().filter_map(record).collect()
    }

    fn missing(&self) -> impl Iterator<Item = &Untitrated> {
        self.untitrated.iter().filter(|_| self.all_are_wanted)
    }

    /// Temperature of λ, K.
    pub fn temperature(&self) -> f64 {
        self.temperature
    }

    /// Whether V_pH has smoothed steps.
    pub fn is_smoothed(&self) -> bool {
        self.recipes.iter().any(Recipe::is_smoothed)
    }

    /// The sites as `sites.toml` has them, with their barriers of now.
    pub fn records(&self, state: &SitesState) -> Vec<SiteRecord> {
        let motion = self.dynamics.sites();
        let record = |(index, site): (usize, &lambda::Site)| SiteRecord {
            name: site.name.clone(),
            place: self.places.get(index).cloned().flatten(),
            entry: site.entry.clone(),
            kind: if site.kind == SiteKind::Titratable { Kind::Titratable } else { Kind::Buffer },
            coordinate: words(motion[index].coordinate).into(),
            pka: site.pka,
            barrier: self.height(index, state),
            molecules: if site.kind == SiteKind::Titratable {
                Vec::new()
            } else {
                site.residues.iter().map(|r| r + 1).collect()
            },
            free_energies: self
                .correction(index)
                .filter(|_| site.kind == SiteKind::Titratable)
                .map(ModelCorrection::free_energies),
            follows: self.follows(index).into_iter().map(String::from).collect(),
            forms: (0..site.forms.len())
                .map(|k| FormRecord {
                    name: site.forms[k].name.clone(),
                    protons_lost: site.forms[k].protons_lost,
                    charge: site.forms[k].nominal_charge,
                    pk: site.forms[k].pk,
                })
                .collect(),
            correction: self.correction(index).map(|correction| PolynomialRecord {
                degree: correction.basis().degree(),
                interior_degree: correction.basis().interior(),
                coefficients: correction.coefficients().to_vec(),
            }),
            conditions: Some(self.conditions[index].clone()),
        };
        self.sites.iter().enumerate().map(record).collect()
    }

    /// V_MM of a site, or of the buffer, of all its molecules.
    fn correction(&self, site: usize) -> Option<&ModelCorrection> {
        self.recipes.iter().find(|recipe| recipe.index == site)?.correction()
    }

    /// Height of the barrier of a titratable site that moves, kJ/mol.
    fn height(&self, site: usize, state: &SitesState) -> Option<f64> {
        let titrates = self.sites[site].kind == SiteKind::Titratable;
        let mut barriers = self.recipes.iter().zip(&state.barriers);
        barriers.find(|(recipe, _)| titrates && recipe.index == site).map(|(_, barrier)| barrier.height)
    }

    /// What the log says at the end: heights that adapted.
    pub fn results(&self, state: &SitesState) -> Vec<String> {
        let time = |steps: u64| steps as f64 * self.dynamics.settings().time_step;
        let labels = self.labels();
        let adapted = self.recipes.iter().zip(&state.barriers).filter(|(recipe, _)| recipe.frozen_after() > 0);
        adapted
            .map(|(recipe, BarrierState { height, .. })| {
                let name = labels.of(&self.sites[recipe.index].name);
                format!(
                    "barrier of {name}: {height:.2} kJ/mol, frozen after {:.1} ps",
                    time(adapts_from(state) + recipe.frozen_after())
                )
            })
            .collect()
    }

    /// λ as the columns of `lambda.csv`: one for two forms, each weight for more. Derivatives likewise, with dV/dλ = ∂V/∂λ_1 − ∂V/∂λ_0.
    pub fn columns(values: &SiteValues, derivatives: bool) -> Vec<f64> {
        let mut columns = Vec::with_capacity(values.len());
        for site in values.sites() {
            match site {
                [zero, one] => columns.push(if derivatives { one - zero } else { *one }),
                more => columns.extend_from_slice(more),
            }
        }
        columns
    }
}

fn words(coordinate: Coordinate) -> &'static str {
    match coordinate {
        Coordinate::Fixed => "fixed",
        Coordinate::Linear | Coordinate::LinearWeights => "linear",
        Coordinate::Circle | Coordinate::Sphere => "hypersphere",
        Coordinate::Nexp | Coordinate::NexpWeights => "nexp",
    }
}
