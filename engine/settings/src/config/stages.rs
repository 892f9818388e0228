//! What a run does one after the other, in words: minimised, restrained, at constant volume, at constant pressure, λ held, λ moving, evaluated.

use super::Config;
use super::quantity::Time;
use super::titration::barrier::frozen;

impl Config {
    /// The stages of a run with their times, a line each; none where a run has one stage alone, and of a calibration, whose runs differ.
    pub fn stages(&self) -> Vec<String> {
        if self.calibrate.is_some() {
            return Vec::new();
        }
        let step = self.dynamics.time_step;
        let restraints = self.position_restraints.as_ref();
        let of_steps = |steps: u64| rounded(steps as f64 * step.get());
        let whole = restraints.map_or(0.0, |restraints| of_steps(restraints.fading(step).held()));
        let end = restraints.map_or(0.0, |restraints| restraints.end(step).get());
        let constant = self.barostat.as_ref().map_or(0, |barostat| barostat.start_steps(step));
        let constant = of_steps(constant);
        let held = self.titration.as_ref().and_then(|titration| titration.relax).map_or(0.0, |relax| relax.get());
        let frozen = self.titration.as_ref().map_or(0.0, |titration| frozen(held, titration.adapting(step), step));
        let left_out = self.titrate.as_ref().map_or(0.0, |titrate| titrate.equilibration());
        let length = rounded(self.length());

        let mut stages = Vec::new();
        if let Some(minimise) = &self.minimise {
            let restrained = if restraints.is_some() { ", atoms restrained" } else { "" };
            let (steps, force) = (minimise.steps, minimise.force_tolerance);
            stages.push(format!("minimised: up to {steps} steps, or until no force is above {force}{restrained}"));
        }
        let mut marks = vec![whole, end, constant, held, frozen, left_out, length];
        marks.retain(|&mark| mark > 0.0 && mark <= length);
        marks.sort_by(f64::total_cmp);
        marks.dedup();
        let mut from = 0.0;
        for to in marks {
            let mut facts: Vec<String> = Vec::new();
            match restraints {
                Some(restraints) if from < whole => facts.push(format!("restrained at {}", restraints.force_constant)),
                Some(_) if from < end => facts.push("the restraints fade".into()),
                _ => (),
            }
            if constant > 0.0 {
                facts.push(if from < constant { "constant volume" } else { "constant pressure" }.into());
            }
            if self.titration.is_some() {
                facts.push(if from < held { "λ is held" } else { "λ moves" }.into());
                if (held..frozen).contains(&from) {
                    facts.push("barriers adapt".into());
                }
            }
            if self.titrate.is_some() {
                facts.push(if from < left_out { "left out of the evaluation" } else { "evaluated" }.into());
            }
            if facts.is_empty() {
                facts.push(if restraints.is_some() { "without restraints" } else { "all atoms move" }.into());
            }
            stages.push(format!("{} to {}: {}", Time::new(from), Time::new(to), facts.join(", ")));
            from = to;
        }
        if stages.len() > 1 { stages } else { Vec::new() }
    }
}

/// Without what binary fractions add to decimal ones.
fn rounded(time: f64) -> f64 {
    (time * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn stages(sections: &str) -> Vec<String> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../inputs/01-glu/glu");
        let path = path.display();
        let text = format!("[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n{sections}");
        Config::parse(&text, Path::new("stages.toml")).unwrap().stages()
    }

    #[test]
    fn stages_of_a_titration_follow_each_other() {
        let found = stages(
            "[minimise]\n[dynamics]\nduration = \"1 ns\"\n[thermostat]\n[position_restraints]\n[titration]\n[titrate]\nph = [4.0, 5.0]\n",
        );
        let expected = [
            "minimised: up to 500 steps, or until no force is above 1000 kJ/mol/nm, atoms restrained",
            "0 ps to 20 ps: restrained at 1000 kJ/mol/nm^2, λ is held, left out of the evaluation",
            "20 ps to 40 ps: the restraints fade, λ is held, left out of the evaluation",
            "40 ps to 50 ps: λ is held, left out of the evaluation",
            "50 ps to 100 ps: λ moves, left out of the evaluation",
            "100 ps to 1 ns: λ moves, evaluated",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_volume_is_constant_first() {
        let found = stages(
            "[minimise]\n[dynamics]\nduration = \"1 ns\"\n[thermostat]\n[barostat]\nstart = \"20 ps\"\n\
             [position_restraints]\nduration = \"40 ps\"\n[titration]\n[titrate]\nph = [4.0, 5.0]\n",
        );
        let expected = [
            "minimised: up to 500 steps, or until no force is above 1000 kJ/mol/nm, atoms restrained",
            "0 ps to 20 ps: restrained at 1000 kJ/mol/nm^2, constant volume, λ is held, left out of the evaluation",
            "20 ps to 40 ps: restrained at 1000 kJ/mol/nm^2, constant pressure, λ is held, left out of the evaluation",
            "40 ps to 60 ps: the restraints fade, constant pressure, λ is held, left out of the evaluation",
            "60 ps to 120 ps: constant pressure, λ moves, left out of the evaluation",
            "120 ps to 1 ns: constant pressure, λ moves, evaluated",
        ];
        assert_eq!(found, expected);
        let plain = "[dynamics]\nduration = \"1 ns\"\n[thermostat]\n[barostat]\n";
        assert_eq!(
            stages(&format!("{plain}start = \"30 ps\"\n")),
            ["0 ps to 30 ps: constant volume", "30 ps to 1 ns: constant pressure"]
        );
        assert!(stages(&format!("{plain}start = \"0 ps\"\n")).is_empty(), "none is the same as no time");
    }

    /// Unless the job says otherwise λ is held for as long as barriers adapt then, and all of that is left out; of what it says the rest is for λ to be held.
    #[test]
    fn what_barriers_adapt_in_is_left_out() {
        let of = |titration: &str, equilibration: &str| {
            stages(&format!(
                "[dynamics]\nduration = \"1 ns\"\n[thermostat]\n[titration]\n{titration}\n[titrate]\nph = [4.0, 5.0]\n{equilibration}\n"
            ))
        };
        let adapting = "barrier = { rate = \"20 /ns\", during = \"99.9 ps\" }";
        let long = [
            "0 ps to 100 ps: λ is held, left out of the evaluation",
            "100 ps to 200 ps: λ moves, barriers adapt, left out of the evaluation",
            "200 ps to 1 ns: λ moves, evaluated",
        ];
        assert_eq!(of(adapting, ""), long);
        // A site may have its own.
        let own = format!("[[titration.site]]\nresidue = \"GLH 2\"\n{adapting}");
        assert_eq!(of(&own, ""), long);
        let short = of(adapting, "equilibration = \"120.1 ps\"");
        assert_eq!(short[0], "0 ps to 20 ps: λ is held, left out of the evaluation");
        assert_eq!(short[1], "20 ps to 120 ps: λ moves, barriers adapt, left out of the evaluation");
        assert_eq!(short[2], "120 ps to 120.1 ps: λ moves, left out of the evaluation");
        // The first look is at a multiple of a hundred steps.
        let odd = of(&format!("{adapting}\nrelax = \"0.25 ps\""), "");
        assert_eq!(odd[1], "0.25 ps to 100.4 ps: λ moves, barriers adapt, left out of the evaluation");
        assert_eq!(odd[2], "100.4 ps to 1 ns: λ moves, evaluated");
        let plain = of("", "");
        assert_eq!(plain[1], "50 ps to 100 ps: λ moves, left out of the evaluation");
    }

    #[test]
    fn a_run_of_one_stage_has_none() {
        assert!(stages("[dynamics]\nduration = \"1 ns\"\n").is_empty());
        let restrained = stages(
            "[dynamics]\nduration = \"30 ps\"\n[position_restraints]\nduration = \"9.9 ps\"\nfade = \"0 ps\"\nforce_constant = \"500 kJ/mol/nm^2\"\n",
        );
        let minimised = stages("[minimise]\n[dynamics]\nduration = \"2 ns\"\n");
        assert_eq!(minimised[1..], ["0 ps to 2 ns: all atoms move"]);
        // To the next multiple of a hundred steps.
        assert_eq!(restrained, ["0 ps to 10 ps: restrained at 500 kJ/mol/nm^2", "10 ps to 30 ps: without restraints"]);
    }
}
