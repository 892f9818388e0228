//! Interactions, integrator and baths, in sentences.

use super::Method;
use super::works::{CELL, CELL_AXES, HAMILTONIAN, MIDDLE, MULTIPOLES, RESCALING, SETTLE, SHAKE};
use crate::evaluation::background::Background;
use crate::evaluation::job::Job;
use crate::evaluation::pka::Evaluation;
use std::collections::BTreeSet;

/// Interactions, integrator and baths.
pub(super) fn dynamics(method: &mut Method, evaluation: &Evaluation, background: &Background) {
    let value = |section: &str, key: &str| background.value(section, key);
    let of_first = |section: &str, key: &str| background.job.value(section, key);
    if let Some(boundary) = value("electrostatics", "boundary") {
        let multipoles = method.cite(&[MULTIPOLES]);
        let order = value("electrostatics", "order").map_or(String::new(), |order| format!(" of order {order}"));
        let linear = if of_first("titration", "interpolation").as_deref() == Some("charge") {
            "charges are interpolated linearly in λ".to_string()
        } else {
            format!("the energy is interpolated linearly in λ{}", method.cite(&[HAMILTONIAN]))
        };
        let lennard_jones = lennard_jones(|key| value("van_der_waals", key));
        method.add(&format!(
            "Coulomb interactions were computed by a fast multipole method{multipoles}{order} with {boundary} boundaries, and {linear}{lennard_jones}."
        ));
    }
    if let Some(step) = value("dynamics", "time_step") {
        let mass = value("dynamics", "hydrogen_mass")
            .map_or(String::new(), |mass| format!("; hydrogens had a mass of {mass}"));
        let held = constraints(method, value("dynamics", "constraints"));
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
        if let Some(sentence) = of_lambda(|key| value("titration", key)) {
            method.add(&sentence);
        }
    } else {
        let kelvin: BTreeSet<String> =
            evaluation.runs.iter().map(|run| format!("{} K", run.sites.temperature)).collect();
        method.add(&format!("The temperature was {}.", kelvin.into_iter().collect::<Vec<_>>().join(" and ")));
    }
}

/// Where Lennard-Jones interactions end, as the end of a sentence.
fn lennard_jones(value: impl Fn(&str) -> Option<String>) -> String {
    let Some(cutoff) = value("cutoff") else { return String::new() };
    let end = match (value("modifier").as_deref(), value("switch_start")) {
        (Some("none"), _) => ", where the potential is cut off".to_string(),
        (Some("potential-shift"), _) => ", where the potential is shifted to zero".to_string(),
        (Some("force-switch"), Some(start)) => format!(", to which forces are switched off from {start} on"),
        (Some(other), _) => format!(" ({other})"),
        (None, _) => String::new(),
    };
    let correction = match value("dispersion_correction").as_deref() {
        Some("true") => ", with a correction for the dispersion beyond",
        _ => "",
    };
    format!("; Lennard-Jones interactions end at {cutoff}{end}{correction}")
}

/// What has a fixed length, as a part of a sentence; nothing where that is only what the topology says.
fn constraints(method: &mut Method, held: Option<String>) -> String {
    let held = match held.as_deref() {
        None | Some("none") => return String::new(),
        Some("h-bonds") => "bonds of hydrogens".to_string(),
        Some("all-bonds") => "all bonds".to_string(),
        Some(other) => other.to_string(),
    };
    format!(
        "; {held} were held at their lengths by SHAKE, and water was rigid by SETTLE{}",
        method.cite(&[SHAKE, SETTLE])
    )
}

/// How λ moves, in a sentence; none for jobs that do not say it.
fn of_lambda(value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (mass, time) = (value("mass")?.replace("nm^2", "nm²"), value("coupling_time")?);
    let barrier =
        value("barrier").map_or(String::new(), |barrier| format!("; the barrier between forms was {barrier}"));
    Some(format!(
        "Coordinates of λ had a mass of {mass} and a Langevin thermostat with a coupling time of {time}{barrier}."
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reviewer needs to do it again. The words of the job file, `h-bonds` and `potential-shift`, stood in the paragraph.
    #[test]
    fn interactions_constraints_and_the_motion_of_lambda_are_said_in_words() {
        let of = |text: &str| {
            let job = Job::parse(format!("[a]\n{text}"));
            move |key: &str| job.value("a", key)
        };
        let shifted = of("cutoff = \"1 nm\"\nmodifier = \"potential-shift\"\ndispersion_correction = true");
        assert_eq!(
            lennard_jones(shifted),
            "; Lennard-Jones interactions end at 1 nm, where the potential is shifted to zero, with a correction for the dispersion beyond"
        );
        let switched = of("cutoff = \"1.2 nm\"\nmodifier = \"force-switch\"\nswitch_start = \"1 nm\"");
        assert_eq!(
            lennard_jones(switched),
            "; Lennard-Jones interactions end at 1.2 nm, to which forces are switched off from 1 nm on"
        );
        let mut method = Method::default();
        let held = constraints(&mut method, Some("h-bonds".into()));
        assert_eq!(
            held,
            "; bonds of hydrogens were held at their lengths by SHAKE, and water was rigid by SETTLE [1, 2]"
        );
        assert_eq!(method.works, [SHAKE, SETTLE]);
        assert_eq!(constraints(&mut method, Some("none".into())), "");
        let moved = of("mass = \"5 u nm^2\"\ncoupling_time = \"2 ps\"\nbarrier = \"2.5 kJ/mol\"");
        assert_eq!(
            of_lambda(moved).unwrap(),
            "Coordinates of λ had a mass of 5 u nm² and a Langevin thermostat with a coupling time of 2 ps; the barrier between forms was 2.5 kJ/mol."
        );
        assert_eq!(of_lambda(of("")), None);
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
}
