//! What outputs and people see of a simulation: the columns of `energy.csv`, and its description.

use super::Simulation;
use crate::energies::Energies;
use crate::error::Result;
use crate::frame::Quantity;
use crate::motion::leapfrog::{self, LeapFrog, StepEnergies};
use crate::record::Description;
use crate::state::State;
use crate::system::System;
use crate::titration::Sites;
use forcefield::topology::CHARGE_TOLERANCE;
use forcefield::units::{BAR, DENSITY};
use forcefield::{Cell, Topology};

/// Kinetic energies and constraint forces of one step, with what follows from them.
struct Motion {
    step: StepEnergies,
    lambda_kinetic: f64,
    lambda_temperature: f64,
    /// What the constraint on the charge is corrected by, kJ/mol.
    lambda_metric: f64,
}

impl Simulation {
    /// The columns of `energy.csv` at the present step.
    pub(super) fn energy_columns(&mut self) -> Result<Vec<Quantity>> {
        self.store()?;
        let energies = self.energies()?;
        let motion = self.look_ahead().map_err(|e| e.at_step(self.state.step))?;
        let (system, state) = (&self.system, &self.state);
        let kinetic = motion.step.kinetic();
        let mut columns = energies.terms().to_vec();
        let mut add = |name, unit, value| columns.push(Quantity { name, unit, value });
        let mut potential = energies.potential();
        add("potential", "kJ/mol", potential);
        if system.sites.is_some() {
            let bias = self.biases.energies(&system.weights(state));
            for (name, value) in [
                ("barrier", bias.barrier),
                ("walls", bias.walls),
                ("pH", bias.ph),
                ("correction", bias.correction),
                ("entropy", bias.entropy + motion.lambda_metric),
            ] {
                add(name, "kJ/mol", value);
                potential += value;
            }
            add("λ kinetic", "kJ/mol", motion.lambda_kinetic);
        }
        let total = potential + kinetic + motion.lambda_kinetic;
        let work = state.bath.thermostat_work + state.bath.barostat.work + state.sites.barrier_work;
        add("kinetic", "kJ/mol", kinetic);
        add("total", "kJ/mol", total);
        add("conserved", "kJ/mol", total - work - state.sites.lambda.heat);
        add("temperature", "K", leapfrog::temperature(kinetic, system.degrees_of_freedom));
        if system.sites.is_some() {
            add("λ temperature", "K", motion.lambda_temperature);
        }
        if let Some(volume) = state.cell.volume() {
            add("pressure", "bar", pressure(&energies, &motion.step, volume) / BAR);
            add("volume", "nm³", volume);
            add("density", "kg/m³", system.masses.iter().sum::<f64>() / volume * DENSITY);
        }
        Ok(columns)
    }

    /// Kinetic energies and constraint forces at the present step: a step is made on a copy.
    fn look_ahead(&self) -> Result<Motion> {
        let (system, state, evaluation) = (&self.system, &self.state, self.backend.evaluation());
        let leap = LeapFrog { masses: &system.masses, constraints: &system.constraints, dt: system.plan.dt };
        let (mut positions, mut velocities) = (state.positions.clone(), state.velocities.clone());
        let step = leap
            .step(&mut positions, &mut velocities, &evaluation.forces, &mut Vec::new())
            .map_err(|e| e.of(&system.topology))?;
        let mut motion = Motion { step, lambda_kinetic: 0.0, lambda_temperature: 0.0, lambda_metric: 0.0 };
        if let Some(sites) = &system.sites {
            let ahead = sites.look_ahead(&self.biases, &state.sites.lambda, &evaluation.by_weight, state.step)?;
            (motion.lambda_kinetic, motion.lambda_temperature) = (ahead.kinetic, ahead.temperature);
            motion.lambda_metric = ahead.metric;
        }
        Ok(motion)
    }
}

/// Pressure (kJ/mol/nm³) in `volume` (nm³).
fn pressure(energies: &Energies, step: &StepEnergies, volume: f64) -> f64 {
    leapfrog::pressure(step.kinetic(), energies.virial + step.constraint_virial, volume)
}

/// Most types of molecules that are listed.
const LISTED: usize = 12;

/// Molecules of each type, in the order in which types first occur: "1 Protein_chain_A, 6 NA, 11324 SOL".
fn molecules(topology: &Topology) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for molecule in &topology.molecules {
        // Mostly the one before; types are few.
        match counts.iter_mut().rev().find(|(name, _)| *name == molecule.name) {
            Some((_, count)) => *count += 1,
            None => counts.push((&molecule.name, 1)),
        }
    }
    let more = counts.len().saturating_sub(LISTED);
    let listed: Vec<String> = counts.iter().take(LISTED).map(|(name, count)| format!("{count} {name}")).collect();
    listed.join(", ") + &if more > 0 { format!(" and {more} more types") } else { String::new() }
}

/// What a simulation is, for the log, `octitrate check` and reports.
pub(super) fn describe(system: &System, state: &State, coulomb: &str, computed_by: &str) -> Description {
    let (topology, masses) = (&system.topology, &system.masses);
    let mass = masses.iter().sum::<f64>();
    let mut facts = vec![
        ("atoms", format!("{} in {} molecules, {mass:.1} u", masses.len(), topology.molecules.len())),
        ("molecules", molecules(topology)),
        ("net charge", format!("{:+.4} e", topology.net_charge())),
    ];
    if let Cell::Periodic(periodic) = &state.cell {
        let edges = periodic.diagonal();
        facts.push(("box", format!("{:.4} × {:.4} × {:.4} nm", edges.x, edges.y, edges.z)));
        facts.push(("density", format!("{:.1} kg/m³", mass / periodic.volume() * DENSITY)));
    }
    let constraints = system.constraints.count();
    facts.extend([
        ("degrees of freedom", format!("{} ({constraints} constraints)", system.degrees_of_freedom)),
        ("Coulomb", coulomb.to_string()),
        ("device", computed_by.to_string()),
    ]);
    let sites = system.sites.as_ref();
    let mut warnings = system.warnings.clone();
    warnings.extend(sites.into_iter().flat_map(Sites::warnings));
    let charge = topology.net_charge();
    if sites.is_none() && state.cell.is_periodic() && charge.abs() > CHARGE_TOLERANCE {
        warnings.push(format!("the net charge of {charge:+.4} e is compensated by a uniform background"));
    }
    facts.extend(sites.map(Sites::facts).unwrap_or_default());
    Description {
        facts: facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
        warnings,
        sites: sites.map_or(Vec::new(), |sites| sites.records(&state.sites)),
        untitrated: sites.map_or(Vec::new(), Sites::untitrated),
        ph: state.sites.ph,
        temperature: sites.map_or(0.0, Sites::temperature),
        smoothed: sites.is_some_and(Sites::is_smoothed),
        results: sites.map_or(Vec::new(), |sites| sites.results(&state.sites)),
    }
}
