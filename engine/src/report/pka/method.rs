//! What was done, as a paragraph for a paper: only what the job and the runs say, with the works that it stands on in the order in which they are cited.

mod parameters;

use super::SAID;
use super::evidence::trimmed;
use crate::evaluation::background::{Background, CorrectionRecord, Preparation, sentence};
use crate::evaluation::job::Job;
use crate::evaluation::pka::{Evaluation, LARGEST_ERROR};
use crate::evaluation::runs::Run;
use crate::record::{Kind, Labels, SiteRecord};
use std::collections::{BTreeMap, BTreeSet};

/// A work that is cited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Work {
    /// Authors, journal, year, volume, page.
    pub words: &'static str,
    /// Its DOI.
    pub doi: &'static str,
}

const fn work(words: &'static str, doi: &'static str) -> Work {
    Work { words, doi }
}

const LAMBDA: Work = work(
    "S. Donnini, F. Tegeler, G. Groenhof, H. Grubmüller, J. Chem. Theory Comput. 2011, 7, 1962",
    "10.1021/ct200061r",
);
const NEUTRAL: Work = work(
    "S. Donnini, R. T. Ullmann, G. Groenhof, H. Grubmüller, J. Chem. Theory Comput. 2016, 12, 1040",
    "10.1021/acs.jctc.5b01160",
);
const HAMILTONIAN: Work =
    work("B. Kohnke, C. Kutzner, H. Grubmüller, J. Chem. Theory Comput. 2020, 16, 6938", "10.1021/acs.jctc.0c00744");
const RESCALING: Work =
    work("G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 2007, 126, 014101", "10.1063/1.2408420");
const MIDDLE: Work = work(
    "Z. Zhang, X. Liu, K. Yan, M. E. Tuckerman, J. Liu, J. Phys. Chem. A 2019, 123, 6056",
    "10.1021/acs.jpca.9b02771",
);
const CELL: Work = work("M. Bernetti, G. Bussi, J. Chem. Phys. 2020, 153, 114107", "10.1063/5.0020514");
const CELL_AXES: Work =
    work("V. Del Tatto, P. Raiteri, M. Bernetti, G. Bussi, Appl. Sci. 2022, 12, 1139", "10.3390/app12031139");
const EXCHANGE: Work = work("Y. Sugita, Y. Okamoto, Chem. Phys. Lett. 1999, 314, 141", "10.1016/S0009-2614(99)01123-9");
const EXCHANGE_PH: Work = work("Y. Meng, A. E. Roitberg, J. Chem. Theory Comput. 2010, 6, 1401", "10.1021/ct900676b");
const MBAR: Work = work("M. R. Shirts, J. D. Chodera, J. Chem. Phys. 2008, 129, 124105", "10.1063/1.2978177");
const EQUILIBRATION: Work = work("J. D. Chodera, J. Chem. Theory Comput. 2016, 12, 1799", "10.1021/acs.jctc.5b00784");
const MODELS: Work = work(
    "R. L. Thurlkill, G. R. Grimsley, J. M. Scholtz, C. N. Pace, Protein Sci. 2006, 15, 1214",
    "10.1110/ps.051840806",
);
const MODEL_ASP: Work = work("G. R. Grimsley, J. M. Scholtz, C. N. Pace, Protein Sci. 2009, 18, 247", "10.1002/pro.19");
const OPENMM: Work = work("P. Eastman et al., J. Phys. Chem. B 2024, 128, 109", "10.1021/acs.jpcb.3c06662");
const PROPKA: Work = work(
    "M. H. M. Olsson, C. R. Søndergaard, M. Rostkowski, J. H. Jensen, J. Chem. Theory Comput. 2011, 7, 525",
    "10.1021/ct100578z",
);
const CUFIX: [Work; 2] = [
    work("J. Yoo, A. Aksimentiev, J. Chem. Theory Comput. 2016, 12, 430", "10.1021/acs.jctc.5b00967"),
    work("J. Yoo, A. Aksimentiev, Phys. Chem. Chem. Phys. 2018, 20, 8432", "10.1039/C7CP08185E"),
];
const SCREENING: Work =
    work("I. V. Leontyev, A. A. Stuchebrukhov, arXiv 2015, 1505.04576", "10.48550/arXiv.1505.04576");
const PICTURES: Work = work("N. Rego, D. Koes, Bioinformatics 2015, 31, 1322", "10.1093/bioinformatics/btu829");

/// The paragraph and its references.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Method {
    /// Sentences; `[1]` are citations.
    pub text: String,
    /// Works by their numbers, from 1.
    pub works: Vec<Work>,
}

impl Method {
    /// ` [3]`, or ` [3, 4]`; nothing for no works.
    fn cite(&mut self, works: &[Work]) -> String {
        if works.is_empty() {
            return String::new();
        }
        let number = |work: &Work| {
            let known = self.works.iter().position(|known| known == work);
            let index = known.unwrap_or_else(|| {
                self.works.push(*work);
                self.works.len() - 1
            });
            (index + 1).to_string()
        };
        let numbers: Vec<String> = works.iter().map(number).collect();
        format!(" [{}]", numbers.join(", "))
    }

    fn add(&mut self, sentence: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text += sentence;
    }
}

/// What was done.
pub(super) fn method(evaluation: &Evaluation, background: &Background) -> Method {
    let mut method = Method::default();
    let version = match &background.log.programs[..] {
        [] => format!("octitrate {}", env!("CARGO_PKG_VERSION")),
        programs => programs.join(" and "),
    };
    let cited = method.cite(&[LAMBDA, NEUTRAL]);
    let count = evaluation.sites.len();
    let sites = if count == 1 { "one titratable site".to_string() } else { format!("{count} titratable sites") };
    method.add(&format!(
        "The pKa values of {sites} were computed by molecular dynamics at constant pH, in which the protonation of every site is a dynamic variable λ{cited}, with {version}."
    ));
    if let Some(preparation) = &background.preparation {
        prepared(&mut method, preparation);
    }
    together(&mut method, background);
    system(&mut method, evaluation, background);
    dynamics(&mut method, evaluation, background);
    sampling(&mut method, evaluation, background);
    method
}

/// That the runs are of several titrations, and in what these differ.
fn together(method: &mut Method, background: &Background) {
    let names = background.names();
    let [_, .., _] = &names[..] else { return };
    let (count, all) = (names.len(), names.join(", "));
    method.add(&match &background.differences[..] {
        [] => format!("The runs are those of {count} titrations ({all}) with the same settings and systems, and seeds of their own."),
        some => format!(
            "The runs are those of {count} titrations ({all}), which differ: {}. Where only one value is given below, it is that of all, or of {}.",
            sentence(some, &names, SAID),
            names[0]
        ),
    });
}

/// How the protein was prepared.
fn prepared(method: &mut Method, preparation: &Preparation) {
    let openmm = preparation.setting("openmm").map_or(String::new(), |version| format!(" {version}"));
    let by_openmm = method.cite(&[OPENMM]);
    let field = preparation.setting("force_field").map_or(String::new(), |name| {
        format!(" with the force field {name}{}", method.cite(parameters::of_force_field(name)))
    });
    let pairs = match preparation.setting("pair_corrections") {
        Some("cufix") => {
            let cited = method.cite(&CUFIX);
            format!(", the Lennard-Jones interactions of oppositely charged groups corrected by CUFIX{cited}")
        }
        Some(name) => format!(", with the pair corrections {name}"),
        None => String::new(),
    };
    let estimates = if preparation.record.contains("PROPKA") {
        format!("; first estimates of the pKa values are PROPKA's{}", method.cite(&[PROPKA]))
    } else {
        String::new()
    };
    let salt = preparation.settings.get("salt").and_then(toml::Value::as_float);
    let in_water = match (preparation.setting("box"), salt) {
        (Some(shape), Some(salt)) => {
            let shape = match shape {
                "dodecahedron" => "a rhombic dodecahedron",
                "octahedron" => "a truncated octahedron",
                "cubic" => "a cube",
                other => other,
            };
            let salt = if salt > 0.0 { format!(", with {salt} mol/l of NaCl") } else { String::new() };
            format!(", and put into {shape} of water{salt}")
        }
        _ => String::new(),
    };
    method.add(&format!(
        "The structure was prepared by octitrate prepare with OpenMM{openmm}{by_openmm}{field}{pairs}{in_water}{estimates}."
    ));
}

/// Force field, corrections and what keeps the box neutral.
fn system(method: &mut Method, evaluation: &Evaluation, background: &Background) {
    let records = || evaluation.runs.iter().flat_map(|run| &run.sites.sites);
    let waters: BTreeSet<&str> =
        records().filter_map(|site| Some(site.conditions.as_ref()?.water.as_str())).filter(|w| *w != "none").collect();
    let waters: Vec<&str> = waters.into_iter().collect();
    // A buffer has no pKa: its water is named above.
    let sites = || background.corrections.iter().filter(|one| one.pka.is_some());
    let fields: BTreeSet<&str> = sites().map(|one| one.force_field.as_str()).collect();
    let fields: Vec<&str> = fields.into_iter().collect();
    let facts = |name: &str, end: char| {
        let mut all: Vec<&str> = Vec::new();
        for titration in &background.titrations {
            let start = titration.log.fact(name).and_then(|fact| fact.split(end).next());
            all.extend(start.filter(|start| !all.contains(start)));
        }
        all
    };
    let (atoms, molecules) = (facts("atoms", ' '), facts("molecules", '\n'));
    let a_system = if atoms.len() == 1 { "a system" } else { "systems" };
    let molecules = match molecules[..] {
        [one] => format!(" ({one})"),
        _ => String::new(),
    };
    let atoms = (!atoms.is_empty()).then(|| format!("{a_system} of {} atoms{molecules}", atoms.join(" and ")));
    if !fields.is_empty() {
        let mut cited = |names: &[&str], works: fn(&str) -> &'static [Work]| -> String {
            let each = names.iter().map(|name| format!("{name}{}", method.cite(works(name))));
            each.collect::<Vec<_>>().join(" and ")
        };
        let of_fields = cited(&fields, parameters::of_force_field);
        let of_waters = cited(&waters, parameters::of_water);
        let water = if waters.is_empty() { String::new() } else { format!(" in {of_waters} water") };
        let what = atoms.map_or(String::new(), |atoms| format!(", in {atoms}"));
        method.add(&format!("Charges of the forms are those of {of_fields}{water}{what}."));
    }
    scaled_charges(method, &background.corrections);
    of_forms(records()).iter().for_each(|sentence| method.add(sentence));
    let sources = || background.corrections.iter().filter_map(|one| Some(&one.pka.as_ref()?.1));
    let known = [("Thurlkill", MODELS), ("Grimsley", MODEL_ASP)];
    let used: Vec<Work> = known
        .into_iter()
        .filter(|(name, _)| sources().any(|source| source.contains(name)))
        .map(|(_, work)| work)
        .collect();
    let measured = if used.is_empty() { String::new() } else { method.cite(&used) };
    let unfinished: BTreeSet<&str> =
        sites().filter(|one| one.status != "calibrated").map(|one| one.entry.as_str()).collect();
    let unfinished = if unfinished.is_empty() {
        String::new()
    } else {
        let names: Vec<&str> = unfinished.into_iter().collect();
        format!("; by the test of the program those of {} are preliminary", names.join(", "))
    };
    method.add(&format!(
        "The free energy that the force field gives to the loss of a proton was replaced by that of model compounds with known pKa{measured}, by corrections that were calibrated in simulations of these{unfinished}."
    ));
    if let Some(sentence) = offsets(&background.job, &evaluation.labels()) {
        method.add(&sentence);
    }
    if let Some(lowered) = background.value("titration", "ease_rotamers") {
        method.add(&format!(
            "Barriers between rotamers of side chains were lowered by {lowered} in all forms alike, by −B((1 + cos 3χ)/2)² about each bond between two saturated carbons."
        ));
    }
    if records().any(|site| site.kind == Kind::Buffer) {
        let cited = method.cite(&[NEUTRAL]);
        let which = match facts("charge buffer", ',')[..] {
            [one] => format!(", {one},"),
            _ => String::new(),
        };
        method.add(&format!("Molecules that share a coordinate of their own{which} take up the charge that the sites release, so that the box stays neutral{cited}."));
    }
}

/// Charges of ionised groups and ions that are not whole.
fn scaled_charges(method: &mut Method, corrections: &[CorrectionRecord]) {
    if let Some(scaled) = corrections.iter().find(|one| one.charge_scale < 1.0) {
        let cited = method.cite(&[SCREENING]);
        method.add(&format!(
            "Charges of ionised groups and of ions are {} of whole ones, for the electronic screening that fixed charges lack{cited}.",
            scaled.charge_scale
        ));
    }
}

/// What differs between the forms of sites besides charges, by entries of the library.
fn of_forms<'a>(sites: impl Iterator<Item = &'a SiteRecord>) -> Vec<String> {
    let mut entries: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for site in sites {
        site.follows.iter().for_each(|what| {
            entries.entry(what).or_default().insert(&site.entry);
        });
    }
    let sentence = |(what, entries): (&str, BTreeSet<&str>)| {
        let names: Vec<&str> = entries.into_iter().collect();
        format!("Forms of {} differ in {what}, too, which λ weighs linearly.", names.join(" and "))
    };
    entries.into_iter().map(sentence).collect()
}

/// Which sites have a free energy that their model compound has not.
fn offsets(job: &Job, labels: &Labels) -> Option<String> {
    let sites = job.sites_with("offset");
    let each: Vec<String> =
        sites.iter().map(|[residue, offset]| format!("{offset} at {}", labels.of(residue))).collect();
    (!each.is_empty()).then(|| {
        format!(
            "To the free energy of each proton lost was added what the force field has there and not in the model compound: {}.",
            each.join(", ")
        )
    })
}

/// Interactions, integrator and baths.
fn dynamics(method: &mut Method, evaluation: &Evaluation, background: &Background) {
    let value = |section: &str, key: &str| background.value(section, key);
    let of_first = |section: &str, key: &str| background.job.value(section, key);
    if let Some(boundary) = value("electrostatics", "boundary") {
        let order = value("electrostatics", "order").map_or(String::new(), |order| format!(" of order {order}"));
        let linear = if of_first("titration", "interpolation").as_deref() == Some("charge") {
            "charges are interpolated linearly in λ".to_string()
        } else {
            format!("the energy is interpolated linearly in λ{}", method.cite(&[HAMILTONIAN]))
        };
        let cutoff = value("van_der_waals", "cutoff")
            .map_or(String::new(), |cutoff| format!("; Lennard-Jones interactions end at {cutoff}"));
        let modifier = value("van_der_waals", "modifier").map_or(String::new(), |name| format!(" ({name})"));
        method.add(&format!(
            "Coulomb interactions were computed by a fast multipole method{order} with {boundary} boundaries, and {linear}{cutoff}{modifier}."
        ));
    }
    if let Some(step) = value("dynamics", "time_step") {
        let mass = value("dynamics", "hydrogen_mass").map_or(String::new(), |mass| format!(", hydrogens of {mass}"));
        let held = value("dynamics", "constraints")
            .filter(|held| held != "none")
            .map_or(String::new(), |held| format!(", constraints on {held}"));
        let mut words = format!("Leap-frog steps were {step} long{mass}{held}");
        words += &temperature(method, |key| value("thermostat", key), &background.job);
        if let Some(pressure) = value("barostat", "pressure") {
            let coupling = value("barostat", "coupling").filter(|coupling| coupling != "isotropic");
            let cited = method.cite(if coupling.is_some() { &[CELL, CELL_AXES] } else { &[CELL] });
            let coupling = coupling.map_or(String::new(), |coupling| format!("{coupling} "));
            let first = value("barostat", "start")
                .map_or(String::new(), |start| format!("after the first {start}, which had a constant volume, "));
            words += &format!("; {first}the pressure was {pressure} ({coupling}stochastic cell rescaling{cited})");
        }
        method.add(&(words + "."));
    } else {
        let kelvin: BTreeSet<String> =
            evaluation.runs.iter().map(|run| format!("{} K", run.sites.temperature)).collect();
        method.add(&format!("The temperature was {}.", kelvin.into_iter().collect::<Vec<_>>().join(" and ")));
    }
}

/// What kept the temperature, as the end of a sentence; nothing without a thermostat.
fn temperature(method: &mut Method, value: impl Fn(&str) -> Option<String>, job: &Job) -> String {
    let Some(temperature) = value("temperature") else { return String::new() };
    let how = if job.value("thermostat", "kind").as_deref() == Some("langevin") {
        let friction = value("friction").map_or(String::new(), |friction| format!(", friction {friction}"));
        format!("Langevin dynamics in the middle of the step{friction}{}", method.cite(&[MIDDLE]))
    } else {
        format!("stochastic velocity rescaling{}", method.cite(&[RESCALING]))
    };
    format!("; the temperature was {temperature} ({how})")
}

/// pH values, exchange, time, and how populations and errors follow.
fn sampling(method: &mut Method, evaluation: &Evaluation, background: &Background) {
    let time: f64 = evaluation.runs.iter().map(Run::length).sum();
    let time = trimmed(&if time < 1e4 { format!("{time:.1} ps") } else { format!("{:.1} ns", time / 1e3) });
    let ph: Vec<String> = evaluation.ph.iter().map(f64::to_string).collect();
    let runs = evaluation.runs.len();
    let value = |key: &str| background.value("titrate", key);
    let swaps = match value("exchange") {
        Some(every) => {
            format!(", which tried to swap between neighbours every {every}{}", method.cite(&[EXCHANGE, EXCHANGE_PH]))
        }
        None => String::new(),
    };
    let cited = method.cite(&[EQUILIBRATION]);
    let least = evaluation.left_out.iter().copied().fold(f64::INFINITY, f64::min);
    let start = if least > 0.0 && least.is_finite() { format!("first {least} ps") } else { "start".to_string() };
    let (runs, values) =
        (if runs == 1 { "one run".into() } else { format!("{runs} runs") }, if ph.len() == 1 { "" } else { "s" });
    method.add(&format!(
        "In all, {runs} at pH value{values} {}{swaps} gave {time}, without the {start} of each, of which more was left out where it differed from the rest{cited}.",
        ph.join(", ")
    ));
    let mut added: Vec<String> =
        evaluation.runs.iter().filter(|run| run.begun.is_some()).map(|run| run.ph.to_string()).collect();
    added.dedup();
    if !added.is_empty() {
        method.add(&format!(
            "Of these pH values {} {} added during the runs, where they tell more of the sites whose pKa was not known well; runs there began with the states of \
             others.",
            added.join(", "),
            if added.len() == 1 { "was" } else { "were" }
        ));
    }
    let (draws, threshold) = (evaluation.options.resampling.draws, evaluation.options.threshold);
    let how = if evaluation.overlap.is_empty() {
        "Populations of the forms were counted at each pH".to_string()
    } else {
        format!(
            "Populations of the pure forms at every pH follow from the frames of all pH values by MBAR{}",
            method.cite(&[MBAR])
        )
    };
    let pure = evaluation.sites.iter().filter(|site| site.pure).count();
    let taken = match (pure, evaluation.sites.len() - pure) {
        (0, _) => String::new(),
        (_, 0) => "; frames near a form were taken to it by ∂V/∂λ".to_string(),
        (pure, others) => {
            format!("; frames near a form were taken to it by ∂V/∂λ, of {pure} sites and not of the {others} others")
        }
    };
    method.add(&format!(
        "{how}{taken}; a form is occupied where its weight exceeds {threshold}. Standard errors are those of {draws} bootstrap draws over independent samples, or of the scatter of walkers, runs or \
         replicas as wholes where that is larger. A pKa is called \
         converged if its error is below {LARGEST_ERROR}, halves of the runs and replicas agree within their errors, and the site changed its protonation, its tautomer and its \
         rotamer at least ten times where that matters."
    ));
    let from_replicas = evaluation.sites.iter().filter(|site| site.diagnostics.from_replicas).count();
    if from_replicas > 0 {
        let all =
            if from_replicas == evaluation.sites.len() { String::new() } else { format!(" of {from_replicas} sites") };
        method.add(&format!(
            "Replicas began at several structures, and standard errors{all} are at least those of the mean of the replicas, with the factor of Student's t, whether these agree or \
             not; by how much halves of the runs differ is the mean over the replicas, with an error of the same kind."
        ));
    }
    if let Some(solution) = &evaluation.solution {
        method.add(&format!(
            "The size of the box makes pKa values too high by {}, by the Poisson-Boltzmann equation for a charged sphere in a cell beside the same sphere in unbounded salt water; pKa \
             values in solution are without it.",
            solution.range()
        ));
    }
    if background.solute.is_ok() {
        let cited = method.cite(&[PICTURES]);
        method.add(&format!("(The picture of the structure is drawn by 3Dmol.js{cited}.)"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_are_numbered_in_the_order_of_their_citations() {
        let mut method = Method::default();
        assert_eq!(method.cite(&[MBAR, CELL]), " [1, 2]");
        assert_eq!((method.cite(&[CELL]), method.cite(&[LAMBDA])), (" [2]".to_string(), " [3]".to_string()));
        assert_eq!(method.works, [MBAR, CELL, LAMBDA]);
        method.add("One.");
        method.add("Two.");
        assert_eq!(method.text, "One. Two.");
    }

    #[test]
    fn the_thermostat_is_named_with_its_work() {
        let of = |section: &str| {
            let mut method = Method::default();
            let job = Job::parse(format!("[thermostat]\n{section}"));
            (temperature(&mut method, |key| job.value("thermostat", key), &job), method.works)
        };
        let langevin = "Langevin dynamics in the middle of the step, friction 2 /ps [1]";
        let (text, works) = of("temperature = \"310 K\"\nkind = \"langevin\"\nfriction = \"2 /ps\"");
        assert_eq!((text, works), (format!("; the temperature was 310 K ({langevin})"), vec![MIDDLE]));
        // Resolved jobs of earlier versions name no kind.
        for kind in ["", "kind = \"v-rescale\""] {
            let (text, works) = of(&format!("temperature = \"300 K\"\n{kind}"));
            assert_eq!(text, "; the temperature was 300 K (stochastic velocity rescaling [1])");
            assert_eq!(works, [RESCALING]);
        }
    }

    #[test]
    fn what_forms_differ_in_is_named_once_for_each_entry() {
        let site = |entry: &str, follows: &[&str]| SiteRecord {
            entry: entry.into(),
            follows: follows.iter().map(ToString::to_string).collect(),
            ..SiteRecord::default()
        };
        let sites = [
            site("glu3", &["bonded terms"]),
            site("asp3", &["bonded terms"]),
            site("his", &[]),
            site("glu3", &["bonded terms"]),
        ];
        let words = "Forms of asp3 and glu3 differ in bonded terms, too, which λ weighs linearly.";
        assert_eq!(of_forms(sites.iter()), [words]);
        assert!(of_forms(sites[2..3].iter()).is_empty());
    }

    #[test]
    fn charges_that_are_scaled_are_named_with_their_work() {
        let record = |charge_scale| CorrectionRecord {
            entry: "glu3".into(),
            force_field: "charmm36m-ecc".into(),
            charge_scale,
            status: "calibrated",
            reason: None,
            pka: None,
            errors: None,
            made: None,
        };
        let of = |scales: &[f64]| {
            let mut method = Method::default();
            scaled_charges(&mut method, &scales.iter().map(|&scale| record(scale)).collect::<Vec<_>>());
            (method.text, method.works)
        };
        // The charge buffer, water, has whole charges.
        let (text, works) = of(&[1.0, 0.75, 0.75]);
        assert!(
            text.starts_with("Charges of ionised groups and of ions are 0.75 of whole ones") && text.ends_with(" [1]."),
            "{text}"
        );
        assert_eq!(works, [SCREENING]);
        assert_eq!(of(&[1.0]), (String::new(), Vec::new()));
    }

    #[test]
    fn offsets_of_sites_are_named() {
        let site = |rest: &str| format!("[[titration.site]]\nresidue = \"cterm ZLEU 129\"\n{rest}");
        assert_eq!(offsets(&Job::parse(site("")), &Labels::default()), None);
        let sentence = offsets(&Job::parse(site("offset = \"11.3 kJ/mol\"")), &Labels::default()).unwrap();
        assert!(sentence.ends_with("not in the model compound: 11.3 kJ/mol at C-term Leu 129."), "{sentence}");
    }

    #[test]
    fn corrected_pairs_are_named_with_their_works() {
        let of = |settings: &str, record: &str| {
            let mut method = Method::default();
            prepared(&mut method, &Preparation { record: record.into(), settings: settings.parse().unwrap() });
            (method.text, method.works)
        };
        let (text, works) = of("force_field = \"ff14SB\"\npair_corrections = \"cufix\"", "by PROPKA");
        assert_eq!(
            text,
            "The structure was prepared by octitrate prepare with OpenMM [1] with the force field ff14SB [2], the Lennard-Jones interactions of oppositely \
             charged groups corrected by CUFIX [3, 4]; first estimates of the pKa values are PROPKA's [5]."
        );
        assert_eq!(works, [OPENMM, parameters::of_force_field("ff14SB")[0], CUFIX[0], CUFIX[1], PROPKA]);
        // What is not said is not cited.
        let (text, works) = of("force_field = \"my own\"", "");
        assert!(text.ends_with("with OpenMM [1] with the force field my own.") && works == [OPENMM], "{text}");
        let (text, _) = of("box = \"dodecahedron\"\nsalt = 0.15", "");
        assert!(
            text.ends_with("[1], and put into a rhombic dodecahedron of water, with 0.15 mol/l of NaCl."),
            "{text}"
        );
        assert!(of("box = \"cubic\"\nsalt = 0.0", "").0.ends_with(", and put into a cube of water."));
    }
}
