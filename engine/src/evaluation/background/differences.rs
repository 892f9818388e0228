//! What differs between titrations that are evaluated together: settings of their jobs, facts of their systems, preparation, corrections and sites.
//!
//! Files count as one if they have the same bytes, and by their names where one of them is not there any more. Of what each titration has for itself nothing is said:
//! seeds, output, how many runs at once, how long it goes on.

use super::{Preparation, TitrationRecord};
use crate::record::Labels;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a titration does not have.
const NOTHING: &str = "–";
/// Beginnings of keys that every titration has for itself; corrections of a library are compared one by one.
const OWN: [&str; 5] = ["output.", "dynamics.seed", "titrate.jobs", "titrate.until", "titration.library"];
/// The key of a site that only says where `until` looks first.
const GUESS: &str = " start_pka";

/// One thing in which titrations differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The key of the job, `van_der_waals.cutoff`, or the fact, `atoms`.
    pub what: String,
    /// What each titration has, in their order.
    pub values: Vec<String>,
}

/// Everything in which `titrations` differ, each with the names of its sites.
pub(super) fn of(titrations: &[TitrationRecord], sites: &[BTreeSet<String>], labels: &Labels) -> Vec<Difference> {
    if titrations.len() < 2 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut compare = |all: Vec<BTreeMap<String, String>>, prefix: &str| {
        let keys: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
        for key in keys {
            let values: Vec<Option<&String>> = all.iter().map(|one| one.get(key)).collect();
            if !alike(&values) {
                let words = |value: Option<&String>| value.map_or(NOTHING.to_string(), String::clone);
                let values = values.into_iter().map(words).collect();
                found.push(Difference { what: format!("{prefix}{key}"), values });
            }
        }
    };
    let is_own = |key: &String| OWN.iter().any(|own| key.starts_with(own)) || key.ends_with(GUESS);
    let settings = |titration: &TitrationRecord| {
        titration.job.settings().into_iter().filter(|(key, _)| !is_own(key)).collect::<BTreeMap<_, _>>()
    };
    compare(titrations.iter().map(settings).collect(), "");
    compare(titrations.iter().map(|titration| titration.log.facts.iter().cloned().collect()).collect(), "");
    let prepared = |preparation: &Preparation| {
        let text = |value: &toml::Value| value.as_str().map_or(value.to_string(), String::from);
        preparation.settings.iter().map(|(key, value)| (key.clone(), text(value))).collect()
    };
    let prepared = |titration: &TitrationRecord| titration.preparation.as_ref().map(prepared).unwrap_or_default();
    compare(titrations.iter().map(prepared).collect(), "preparation: ");
    // An entry that a titration has no site of says nothing of its correction.
    let entries: BTreeSet<(&str, &str)> = titrations
        .iter()
        .flat_map(|one| &one.corrections)
        .map(|one| (one.entry.as_str(), one.force_field.as_str()))
        .collect();
    for (entry, force_field) in entries {
        let of = |titration: &TitrationRecord| {
            let mut mine = titration
                .corrections
                .iter()
                .filter(|one| (one.entry.as_str(), one.force_field.as_str()) == (entry, force_field));
            mine.next().map(|one| match &one.made {
                Some(made) => format!("{}, {made}", one.status),
                None => one.status.to_string(),
            })
        };
        let values: Vec<Option<String>> = titrations.iter().map(of).collect();
        let known: BTreeSet<&String> = values.iter().flatten().collect();
        if known.len() > 1 {
            let values = values.into_iter().map(|value| value.unwrap_or(NOTHING.into())).collect();
            found.push(Difference { what: format!("correction of {entry}"), values });
        }
    }
    let everywhere = |name: &&String| sites.iter().all(|others| others.contains(*name));
    if sites.windows(2).any(|pair| pair[0] != pair[1]) {
        let own = |mine: &BTreeSet<String>| labels.list(mine.iter().filter(|name| !everywhere(name)));
        let values = sites.iter().map(own).map(|own| if own.is_empty() { NOTHING.into() } else { own }).collect();
        found.push(Difference { what: "sites that not all have".into(), values });
    }
    found
}

/// Whether all have the same; files do if their bytes are the same.
fn alike(values: &[Option<&String>]) -> bool {
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        return true;
    }
    let Some(texts) = values.iter().copied().collect::<Option<Vec<&String>>>() else { return false };
    let lists: Vec<Vec<&Path>> = texts.iter().map(|text| text.split(", ").map(Path::new).collect()).collect();
    let [first, others @ ..] = &lists[..] else { return true };
    let same = |(a, b): (&&Path, &&Path)| {
        if !a.is_absolute() || !b.is_absolute() {
            return a == b;
        }
        match (std::fs::read(a), std::fs::read(b)) {
            (Ok(a), Ok(b)) => a == b,
            _ => a.file_name() == b.file_name(),
        }
    };
    others.iter().all(|other| other.len() == first.len() && first.iter().zip(other).all(same))
}

/// Each value once, in the order in which they come, with the names of those that have it.
pub(super) fn grouped<'a, V: PartialEq>(
    values: impl IntoIterator<Item = V>,
    names: impl IntoIterator<Item = &'a str>,
) -> Vec<(V, Vec<&'a str>)> {
    let mut found: Vec<(V, Vec<&str>)> = Vec::new();
    for (value, name) in values.into_iter().zip(names) {
        match found.iter_mut().find(|(known, _)| *known == value) {
            Some((_, known)) => known.push(name),
            None => found.push((value, vec![name])),
        }
    }
    found
}

/// So many of the differences in words, of titrations with these names: `van_der_waals.cutoff is 1.2 nm in a and 1 nm in b, c`.
pub fn sentence(differences: &[Difference], names: &[&str], most: usize) -> String {
    let one = |difference: &Difference| {
        let word = |value: &str| if value == NOTHING { "not there".to_string() } else { value.to_string() };
        let each = grouped(&difference.values, names.iter().copied()).into_iter();
        let each: Vec<String> = each.map(|(value, names)| format!("{} in {}", word(value), names.join(", "))).collect();
        format!("{} is {}", difference.what, each.join(" and "))
    };
    let mut parts: Vec<String> = differences.iter().take(most).map(one).collect();
    if differences.len() > most {
        parts.push(format!("{} more", differences.len() - most));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::{CorrectionRecord, LogFacts};
    use super::*;
    use crate::evaluation::job::Job;

    fn titration(name: &str, job: &str, atoms: &str) -> TitrationRecord {
        let log = LogFacts { facts: vec![("atoms".into(), atoms.into())], ..LogFacts::default() };
        TitrationRecord { name: name.into(), job: Job::parse(job.into()), log, ..TitrationRecord::default() }
    }

    #[test]
    fn what_differs_is_named_and_what_each_has_for_itself_is_not() {
        let place = temp_dir::TempDir::new().unwrap();
        let file = |name: &str, text: &str| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let job = |structure: &str, cutoff: &str, seed: u32, rest: &str| {
            format!(
                "[system]\nstructure = \"{structure}\"\n[van_der_waals]\ncutoff = \"{cutoff}\"\n[dynamics]\nseed = {seed}\n[output]\nfolder = \"/{seed}\"\n{rest}"
            )
        };
        let (a, copy, other) = (file("a/s.gro", "1"), file("b/s.gro", "1"), file("c/s.gro", "2"));
        let sites = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>();
        let both = [sites(&["GL3 3"]), sites(&["GL3 3"])];
        let of = |one: TitrationRecord, two: TitrationRecord, sites: &[BTreeSet<String>; 2]| {
            of(&[one, two], sites, &Labels::default())
        };
        let first = || titration("a", &job(&a, "1.2 nm", 1, ""), "10");
        // How long each goes on, and where it looks first, is its own.
        let rest =
            "[titrate]\nuntil = 0.2\nuntil_from = \"1 ns\"\n[[titration.site]]\nresidue = \"GL3 3\"\nstart_pka = 4.1\n";
        assert_eq!(of(first(), titration("b", &job(&a, "1.2 nm", 2, rest), "10"), &both), []);
        assert_eq!(of(first(), titration("b", &job(&copy, "1.2 nm", 2, ""), "10"), &both), []);
        // One that is gone counts by its name.
        assert_eq!(of(first(), titration("b", &job("/gone/s.gro", "1.2 nm", 2, ""), "10"), &both), []);
        let site = "[[titration.site]]\nresidue = \"GL3 3\"\noffset = \"2 kJ/mol\"\n";
        let found = of(
            first(),
            titration("b", &job(&other, "1 nm", 2, site), "12"),
            &[sites(&["GL3 3"]), sites(&["GL3 3", "AS3 5"])],
        );
        let words: Vec<(&str, Vec<&str>)> =
            found.iter().map(|one| (one.what.as_str(), one.values.iter().map(String::as_str).collect())).collect();
        assert_eq!(
            words,
            [
                ("system.structure", vec![a.as_str(), other.as_str()]),
                ("titration.site GL3 3 offset", vec!["–", "2 kJ/mol"]),
                ("van_der_waals.cutoff", vec!["1.2 nm", "1 nm"]),
                ("atoms", vec!["10", "12"]),
                ("sites that not all have", vec!["–", "Asp 5"]),
            ]
        );
        assert_eq!(
            sentence(&found[1..2], &["a", "b"], 2),
            "titration.site GL3 3 offset is not there in a and 2 kJ/mol in b"
        );
        assert_eq!(
            sentence(&found[2..], &["a", "b"], 2),
            "van_der_waals.cutoff is 1.2 nm in a and 1 nm in b; atoms is 10 in a and 12 in b; 1 more"
        );
        let three = Difference { what: "atoms".into(), values: ["10", "12", "10"].map(String::from).to_vec() };
        assert_eq!(sentence(&[three], &["a", "b", "c"], 2), "atoms is 10 in a, c and 12 in b");
    }

    #[test]
    fn corrections_are_compared_where_both_have_one() {
        let with = |status: &[&'static str]| {
            let correction = |(k, status): (usize, &&'static str)| CorrectionRecord {
                entry: format!("entry {k}"),
                force_field: "f".into(),
                charge_scale: 1.0,
                status,
                reason: None,
                pka: None,
                errors: None,
                made: None,
            };
            TitrationRecord {
                corrections: status.iter().enumerate().map(correction).collect(),
                ..TitrationRecord::default()
            }
        };
        let found = |a: &[&'static str], b: &[&'static str]| {
            of(&[with(a), with(b)], &[BTreeSet::new(), BTreeSet::new()], &Labels::default())
        };
        assert_eq!(found(&["calibrated"], &["calibrated", "preliminary"]), []);
        let [difference] = &found(&["calibrated"], &["preliminary"])[..] else { panic!() };
        assert_eq!(difference.what, "correction of entry 0");
        assert_eq!(difference.values, ["calibrated", "preliminary"]);
    }
}
