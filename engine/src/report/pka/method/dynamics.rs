//! Interactions, integrator and baths, in sentences.

use super::Method;
use super::works::{CELL, CELL_AXES, HAMILTONIAN, MIDDLE, RESCALING};
use crate::evaluation::background::Background;
use crate::evaluation::job::Job;
use crate::evaluation::pka::Evaluation;
use std::collections::BTreeSet;

/// Interactions, integrator and baths.
pub(super) fn dynamics(method: &mut Method, evaluation: &Evaluation, background: &Background) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
