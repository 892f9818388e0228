//! `drift`: how well a job conserves its energy when nothing but its integrator can change it.
//!
//! The job is run at constant energy: without thermostats of atoms and λ, without a barostat, λ moving if it has sites. What then changes the
//! conserved energy is the time step, the cut of lists, and the precision of forces. The slope of a straight line through it, for each atom,
//! has an error from blocks ([`lambda::analysis::equilibration`]).

use crate::config::Config;
use crate::config::quantity::Time;
use crate::error::{Error, Result};
use crate::evaluation::energies::RunEnergies;
use crate::record::{are, counted};
use lambda::analysis::equilibration::Slope;
use serde_json::json;

/// Steps between two lines of the energy, at least.
const EVERY: u64 = 10;
/// Lines of a long run.
const LINES: u64 = 2000;
/// Errors by which a drift that is within a limit may exceed it.
const ERRORS: f64 = 2.0;

/// The job at constant energy, `length` ps long if given.
///
/// # Errors
/// [`Error::Input`] for a job too short to see a drift.
pub fn at_constant_energy(config: &Config, length: Option<f64>) -> Result<Config> {
    let mut job = config.clone();
    let dt = job.dynamics.time_step.get();
    if let Some(length) = length {
        job.dynamics.steps = Some((length / dt).round() as u64);
    }
    let steps = job.steps();
    if steps < EVERY * 10 {
        let help = "give --duration, such as \"20 ps\"";
        return Err(config.error_at(
            "dynamics",
            format!("{} {} too few to see a drift", counted(steps, "step"), are(steps as usize)),
            help,
        ));
    }
    let temperature = job.thermostat.as_ref().map(|thermostat| thermostat.temperature);
    job.dynamics.velocity_temperature = job.dynamics.velocity_temperature.or(temperature);
    if let Some(titration) = &mut job.titration {
        titration.temperature = titration.temperature.or(temperature);
        // λ that is held at the start does nothing for the energy.
        titration.relax = None;
    }
    (job.thermostat, job.barostat, job.position_restraints) = (None, None, None);
    job.output.energy = Time::new(EVERY.max(steps / LINES) as f64 * dt);
    for never in [&mut job.output.trajectory, &mut job.output.lambda, &mut job.output.positions] {
        *never = Time::new(0.0);
    }
    for never in [&mut job.output.velocities, &mut job.output.forces] {
        *never = Time::new(0.0);
    }
    Ok(job)
}

/// What a drift is beside its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is within the limit.
    Within,
    /// It is beyond the limit by more than two errors.
    Beyond,
    /// Its error is larger than the limit: the run was too short.
    Unknown,
}

impl Verdict {
    /// Of a drift (kJ/mol/ps per atom) beside a `limit`.
    pub fn of(drift: Slope, limit: f64) -> Self {
        match drift {
            Slope { value, error } if value.abs() > limit + ERRORS * error => Self::Beyond,
            Slope { error, .. } if error > limit => Self::Unknown,
            _ => Self::Within,
        }
    }
}

/// The drift that a finished run shows.
#[derive(Clone, Debug)]
pub struct Drift {
    /// For each atom, kJ/mol/ps.
    pub of_atom: Slope,
    /// Number of atoms.
    pub atoms: usize,
    /// Time that was evaluated, ps.
    pub time: f64,
    /// Time step, ps.
    pub time_step: f64,
    /// Root mean square of the conserved energy around its line, kJ/mol.
    pub fluctuation: f64,
    /// Mean temperature, K.
    pub temperature: f64,
    /// The verdict, with a limit.
    pub verdict: Option<(f64, Verdict)>,
}

impl Drift {
    /// Of the energies of a run of this job.
    ///
    /// # Errors
    /// [`Error::Input`] if they lack what it takes.
    pub fn new(config: &Config, run: &RunEnergies, limit: Option<f64>) -> Result<Self> {
        let lacking = || Error::input("energy.csv of the run has no conserved energy or no temperature", "");
        let (of_atom, atoms) = run.drift_of_atom().zip(run.atoms).ok_or_else(lacking)?;
        let conserved = run.quantity("conserved").ok_or_else(lacking)?;
        let temperature = run.quantity("temperature").ok_or_else(lacking)?.mean.value;
        let time = run.series.time.last().copied().unwrap_or_default() - run.equilibration;
        // Of the whole variance, that of the line is slope² T² / 12.
        let of_line = (conserved.drift.value * time).powi(2) / 12.0;
        let fluctuation = (conserved.fluctuation.powi(2) - of_line).max(0.0).sqrt();
        let verdict = limit.map(|limit| (limit, Verdict::of(of_atom, limit)));
        let time_step = config.dynamics.time_step.get();
        Ok(Self { of_atom, atoms, time, time_step, fluctuation, temperature, verdict })
    }

    /// In words, a line each.
    pub fn text(&self) -> String {
        let Slope { value, error } = self.of_atom;
        let mut text = format!(
            "drift of the conserved energy: {value:.2e} ± {error:.1e} kJ/mol/ps per atom ({} atoms, {} ps, steps of {} fs)\n\
             around its line it scatters by {:.3} kJ/mol; mean temperature {:.1} K\n",
            self.atoms,
            self.time,
            1000.0 * self.time_step,
            self.fluctuation,
            self.temperature
        );
        if let Some((limit, verdict)) = self.verdict {
            text += &match verdict {
                Verdict::Within => format!("within the limit of {limit:.1e}\n"),
                Verdict::Beyond => format!("beyond the limit of {limit:.1e} by more than two errors\n"),
                Verdict::Unknown => {
                    format!("not known to the limit of {limit:.1e}, which is below its error: run longer\n")
                }
            };
        }
        text
    }

    /// As JSON.
    pub fn json(&self) -> serde_json::Value {
        let verdict = self.verdict.map(|(_, verdict)| match verdict {
            Verdict::Within => "within",
            Verdict::Beyond => "beyond",
            Verdict::Unknown => "unknown",
        });
        json!({
            "drift (kJ/mol/ps/atom)": self.of_atom.value,
            "error (kJ/mol/ps/atom)": self.of_atom.error,
            "atoms": self.atoms,
            "time (ps)": self.time,
            "time step (ps)": self.time_step,
            "fluctuation (kJ/mol)": self.fluctuation,
            "temperature (K)": self.temperature,
            "limit (kJ/mol/ps/atom)": self.verdict.map(|(limit, _)| limit),
            "verdict": verdict,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_kept_exceeded_or_not_known() {
        let of = |value, error| Verdict::of(Slope { value, error }, 1e-5);
        assert_eq!([of(9e-6, 1e-6), of(-1.1e-5, 1e-6)], [Verdict::Within; 2]);
        assert_eq!([of(1.3e-5, 1e-6), of(-1e-3, 2e-5)], [Verdict::Beyond; 2]);
        assert_eq!(of(1e-6, 2e-5), Verdict::Unknown);
    }
}
