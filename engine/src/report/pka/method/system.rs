//! Force field, corrections, and what else the forms of sites have and the system, in sentences.

use super::works::{MODEL_ASP, MODELS, NEUTRAL, SCREENING};
use super::{Method, Work, parameters};
use crate::evaluation::background::{Background, CorrectionRecord};
use crate::evaluation::job::Job;
use crate::evaluation::pka::Evaluation;
use crate::record::{Kind, Labels, SiteRecord};
use std::collections::{BTreeMap, BTreeSet};

/// Force field, corrections and what keeps the box neutral.
pub(super) fn system(method: &mut Method, evaluation: &Evaluation, background: &Background) {
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
            let each = names.iter().map(|name| format!("{}{}", parameters::written(name), method.cite(works(name))));
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
    let of_status = |status: &str| -> Option<String> {
        let names: BTreeSet<&str> = sites().filter(|one| one.status == status).map(|one| one.entry.as_str()).collect();
        (!names.is_empty()).then(|| Vec::from_iter(names).join(", "))
    };
    let mut unfinished = of_status("preliminary")
        .map_or(String::new(), |names| format!("; by the test of the program those of {names} are preliminary"));
    if let Some(names) = of_status("transferred") {
        unfinished += &format!(
            "; those of {names} were calibrated in another solvent and shifted by what other residues differ by in both"
        );
    }
    method.add(&format!(
        "The free energy that the force field gives to the loss of a proton was replaced by that of model compounds with known pKa{measured}, by corrections that were calibrated in simulations of these{unfinished}."
    ));
    if let Some(sentence) = offsets(&background.job, &evaluation.labels()) {
        method.add(&sentence);
    }
    if let Some(lowered) = background.value("titration", "ease_rotamers") {
        method.add(&format!(
            "Barriers between rotamers of side chains were lowered in all forms alike, by −B((1 + cos 3χ)/2)² with B = {lowered} about each bond between two saturated carbons."
        ));
    }
    if records().any(|site| site.kind == Kind::Buffer) {
        let cited = method.cite(&[NEUTRAL]);
        let which = match facts("charge buffer", ',')[..] {
            [one] => one,
            _ => "molecules",
        };
        method.add(&format!("The charge that the sites release is taken up by {which} that share a coordinate of their own, so that the box stays neutral{cited}."));
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
