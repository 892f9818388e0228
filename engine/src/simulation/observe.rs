//! What outputs and people see of a simulation: the columns of `energy.csv`, and its description.

use super::Simulation;
use crate::backend::{Backend, Moment};
use crate::config::{self, Config, Modifier};
use crate::energies::Energies;
use crate::error::Result;
use crate::frame::Quantity;
use crate::motion::leapfrog::{self, LeapFrog, StepEnergies};
use crate::record::{Description, counted};
use crate::state::State;
use crate::system::{System, start_temperature};
use crate::titration::{Biases, Sites};
use forcefield::cell::PeriodicBox;
use forcefield::topology::CHARGE_TOLERANCE;
use forcefield::units::{BAR, DENSITY};
use forcefield::{Cell, Topology};
use nalgebra::Vector3;

/// What is known of the motion at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Everything: a run.
    All,
    /// Velocities of the atoms: a frame of a trajectory.
    Atoms,
    /// Positions alone.
    Positions,
}

impl Simulation {
    /// The columns of `energy.csv` at the present step, as far as they follow from what is known.
    pub(super) fn energy_columns(&mut self, known: Known) -> Result<Vec<Quantity>> {
        if known == Known::All && self.backend.notes() {
            return self.noted_columns();
        }
        self.store()?;
        let energies = self.energies()?;
        let step = self.state.step;
        let motion =
            if known == Known::Positions { None } else { Some(self.look_ahead().map_err(|e| e.at_step(step))?) };
        let state = &self.state;
        let moment = Moment {
            step,
            energies,
            motion,
            cell: state.cell,
            bath: state.bath,
            lambda: state.sites.lambda.clone(),
            by_weight: self.backend.evaluation().by_weight.clone(),
        };
        self.columns(&moment, &self.biases, self.work_of_changes(), known).map_err(|e| e.at_step(step))
    }

    /// The columns of `energy.csv` at a moment, with the biases of then and the work that changes of barriers had done.
    pub(super) fn columns(
        &self,
        moment: &Moment,
        biases: &Biases,
        barrier_work: f64,
        known: Known,
    ) -> Result<Vec<Quantity>> {
        let (system, energies) = (&self.system, &moment.energies);
        let mut columns = energies.terms().to_vec();
        let mut add = |name, unit, value| columns.push(Quantity { name, unit, value });
        let mut potential = energies.potential();
        add("potential", "kJ/mol", potential);
        let mut lambda = None;
        if let Some(sites) = &system.sites {
            let ahead = sites.look_ahead(biases, &moment.lambda, &moment.by_weight, moment.step)?;
            let bias = biases.energies(&sites.weights(&moment.lambda));
            for (name, value) in [
                ("barrier", bias.barrier),
                ("walls", bias.walls),
                ("pH", bias.ph),
                ("correction", bias.correction),
                ("entropy", bias.entropy + ahead.metric),
            ] {
                add(name, "kJ/mol", value);
                potential += value;
            }
            if known == Known::All {
                add("λ kinetic", "kJ/mol", ahead.kinetic);
            }
            lambda = Some(ahead);
        }
        if let Some(step) = &moment.motion {
            let kinetic = step.kinetic();
            add("kinetic", "kJ/mol", kinetic);
            if known == Known::All {
                let total = potential + kinetic + lambda.map_or(0.0, |lambda| lambda.kinetic);
                let work = moment.bath.thermostat_work + moment.bath.barostat.work + barrier_work;
                add("total", "kJ/mol", total);
                add("conserved", "kJ/mol", total - work - moment.lambda.heat);
            }
            add("temperature", "K", leapfrog::temperature(kinetic, system.degrees_of_freedom));
        }
        if let Some(lambda) = lambda.filter(|_| known == Known::All) {
            add("λ temperature", "K", lambda.temperature);
        }
        if let Some(volume) = moment.cell.volume() {
            if let Some(step) = &moment.motion {
                add("pressure", "bar", pressure(energies, step, volume) / BAR);
            }
            add("volume", "nm³", volume);
            let apart = |barostat: &config::Barostat| !barostat.coupling.is_isotropic();
            if let Some(edges) = moment.cell.edges().filter(|_| system.config.barostat.as_ref().is_some_and(apart)) {
                for (name, edge) in ["box x", "box y", "box z"].into_iter().zip(edges.iter()) {
                    add(name, "nm", *edge);
                }
            }
            add("density", "kg/m³", system.masses.iter().sum::<f64>() / volume * DENSITY);
        }
        Ok(columns)
    }

    /// Kinetic energies and constraint forces of the atoms at the present step: a step is made on a copy.
    fn look_ahead(&self) -> Result<StepEnergies> {
        let (system, state, evaluation) = (&self.system, &self.state, self.backend.evaluation());
        let leap = LeapFrog { masses: &system.masses, constraints: &system.constraints, dt: system.plan.dt };
        let (mut positions, mut velocities) = (state.positions.clone(), state.velocities.clone());
        leap.step(&mut positions, &mut velocities, &evaluation.forces, &mut Vec::new())
            .map_err(|e| e.of(&system.topology))
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

/// Edges, and what else there is to say of a box without right angles.
fn shape(periodic: &PeriodicBox) -> String {
    let edges = periodic.lengths();
    let text = format!("{:.4} × {:.4} × {:.4} nm", edges.x, edges.y, edges.z);
    if periodic.is_rectangular() {
        return text;
    }
    let [a, b, c] = periodic.rows().map(Vector3::from);
    let [alpha, beta, gamma] = [(b, c), (c, a), (a, b)].map(|(u, v)| u.angle(&v).to_degrees());
    format!(
        "{text}, angles {alpha:.2}°, {beta:.2}°, {gamma:.2}°; images {:.3} nm apart, faces {:.3} nm",
        periodic.image_distance(),
        periodic.heights().min()
    )
}

/// Where Lennard-Jones interactions end.
fn lennard_jones(config: &Config) -> String {
    let settings = &config.van_der_waals;
    let modifier = match settings.modifier {
        Modifier::None => "the potential is cut off there".to_string(),
        Modifier::PotentialShift => "the potential is shifted to zero there".to_string(),
        Modifier::ForceSwitch => format!("the force is switched off from {} on", settings.start_of_switch()),
    };
    let correction = if settings.dispersion_correction { "with" } else { "without" };
    format!("cut-off {}, {modifier}, {correction} a correction for the dispersion beyond it", settings.cutoff)
}

/// What keeps the temperature of the atoms.
fn thermostat(config: &Config) -> String {
    match &config.thermostat {
        None => "none, the energy is conserved".into(),
        Some(bath) if bath.is_langevin() => {
            format!("Langevin, {}, friction {}; the centre of mass moves, too", bath.temperature, bath.friction())
        }
        Some(bath) => format!("v-rescale, {}, coupling time {}", bath.temperature, bath.coupling_time()),
    }
}

/// What keeps the pressure.
fn barostat(config: &Config) -> String {
    let Some(barostat) = &config.barostat else { return "none, the volume is constant".into() };
    let pressures: Vec<String> = barostat.pressure.given().iter().map(ToString::to_string).collect();
    let tension = barostat.surface_tension.map_or(String::new(), |tension| format!(", surface tension {tension}"));
    let start =
        barostat.start.map_or(String::new(), |start| format!(", from {start} on; before, the volume is constant"));
    format!(
        "C-rescale, {}, {}{tension}, coupling time {}{start}",
        barostat.coupling.name(),
        pressures.join(" and "),
        barostat.coupling_time
    )
}

/// Where the velocities come from that the run begins with.
fn first_velocities(system: &System) -> String {
    match (&system.start_velocities, start_temperature(&system.config)) {
        (Some(_), _) => "those of the structure".into(),
        (None, Some(temperature)) => format!("drawn at {temperature} K with seed {}", system.config.dynamics.seed),
        (None, None) => "none, the run begins at rest".into(),
    }
}

/// What a simulation is, for the log, `octitrate check` and reports.
pub(super) fn describe(system: &System, state: &State, backend: &dyn Backend, computed_by: &str) -> Description {
    let (topology, masses) = (&system.topology, &system.masses);
    let mass = masses.iter().sum::<f64>();
    let mut facts = vec![
        ("atoms", format!("{} in {}, {mass:.1} u", masses.len(), counted(topology.molecules.len(), "molecule"))),
        ("molecules", molecules(topology)),
        // Adding zero takes the sign of what is rounded to zero.
        ("net charge", format!("{:+.4} e", (topology.net_charge() * 1e4).round() / 1e4 + 0.0)),
    ];
    facts.extend(system.notes.iter().map(|note| ("topology", note.clone())));
    if !topology.virtual_sites.is_empty() {
        facts.push(("virtual sites", format!("{} of the atoms", topology.virtual_sites.len())));
    }
    if let Cell::Periodic(periodic) = &state.cell {
        facts.push(("box", shape(periodic)));
        facts.push(("density", format!("{:.1} kg/m³", mass / periodic.volume() * DENSITY)));
    }
    let constraints = system.constraints.count();
    facts.extend([
        ("degrees of freedom", format!("{} ({})", system.degrees_of_freedom, counted(constraints, "constraint"))),
        ("first velocities", first_velocities(system)),
        ("Coulomb", backend.describe_coulomb().to_string()),
        ("device", computed_by.to_string()),
    ]);
    facts.push(("Lennard-Jones", lennard_jones(&system.config)));
    facts.push(("thermostat", thermostat(&system.config)));
    if state.cell.is_periodic() {
        facts.push(("barostat", barostat(&system.config)));
    }
    if let Some(vibration) = &system.vibration {
        facts.push(("fastest vibration", vibration.describe(system.plan.dt)));
    }
    if let Some(restraints) = &system.config.position_restraints {
        let count = topology.position_restraints.iter().filter(|restraint| restraint.fades).count();
        let (k, atoms) = (restraints.force_constant, &restraints.atoms);
        facts.push(("position restraints", format!("{} at {k}: {atoms}", counted(count, "atom"))));
    }
    if let Some(lists) = backend.describe_lists() {
        facts.push(("neighbour lists", lists.to_string()));
    }
    if let Some(atoms) = &system.trajectory_atoms {
        facts.push(("trajectory", format!("{} of the atoms: {}", atoms.len(), system.config.output.trajectory_atoms)));
    }
    let sites = system.sites.as_ref();
    let mut warnings = system.warnings.clone();
    warnings.extend(sites.into_iter().flat_map(Sites::warnings));
    if system.start_velocities.is_none() && start_temperature(&system.config).is_none() && system.config.steps() > 0 {
        warnings.push(
            "the structure has no velocities and no temperature is given, so that the run begins at rest: dynamics.velocity_temperature draws them".into(),
        );
    }
    let charge = topology.net_charge();
    if sites.is_none() && state.cell.is_periodic() && charge.abs() > CHARGE_TOLERANCE {
        warnings.push(format!("the net charge of {charge:+.4} e is compensated by a uniform background"));
    }
    facts.extend(sites.map(Sites::facts).unwrap_or_default());
    let held = sites.map_or(0.0, |sites| sites.held(&state.sites));
    if held > 0.0 {
        facts.push(("λ held", format!("for the first {held} ps")));
    }
    Description {
        facts: facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
        warnings,
        sites: sites.map_or(Vec::new(), |sites| sites.records(&state.sites)),
        untitrated: sites.map_or(Vec::new(), Sites::untitrated),
        ph: state.sites.ph,
        temperature: sites.map_or(0.0, Sites::temperature),
        held,
        smoothed: sites.is_some_and(Sites::is_smoothed),
        results: sites.map_or(Vec::new(), |sites| sites.results(&state.sites)),
    }
}
