//! What was done, as a paragraph for a paper: only what the job and the runs say, with the works that it stands on in the order in which they are cited.

mod dynamics;
mod parameters;
mod sampling;
mod system;
mod works;

use super::SAID;
use crate::evaluation::background::{Background, Preparation, sentence};
use crate::evaluation::pka::Evaluation;
pub(super) use works::Work;
use works::{CUFIX, LAMBDA, NEUTRAL, OPENMM, PROPKA};

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

/// Names as a sentence lists them.
fn listed(names: &[String]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => names.concat(),
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
    system::system(&mut method, evaluation, background);
    dynamics::dynamics(&mut method, evaluation, background);
    sampling::sampling(&mut method, evaluation, background);
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
        format!(" with the force field {}{}", parameters::written(name), method.cite(parameters::of_force_field(name)))
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

#[cfg(test)]
mod tests {
    use super::works::{CELL, MBAR};
    use super::*;

    #[test]
    fn works_are_numbered_in_the_order_of_their_citations() {
        let mut method = Method::default();
        assert_eq!(method.cite(&[MBAR, CELL]), " [1, 2]");
        assert_eq!((method.cite(&[CELL]), method.cite(&[LAMBDA])), (" [2]".to_string(), " [3]".to_string()));
        assert_eq!(method.works, [MBAR, CELL, LAMBDA]);
        assert_eq!(
            [1, 2, 3].map(|n| listed(&["4", "4.5", "5"].map(String::from)[..n])),
            ["4", "4 and 4.5", "4, 4.5 and 5"]
        );
        method.add("One.");
        method.add("Two.");
        assert_eq!(method.text, "One. Two.");
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
