//! What lists and boxes cost in accuracy while they grow old: a trajectory on the CPU, and at each age what lists and boxes made at its start
//! give beside those made anew.
//!
//! The energy that changes when a list is made anew is what the motion under the old one has not conserved: its mean over N t is the drift
//! that lists of age t bring. Units: nm, ps, kJ/mol; drifts kJ/mol/ps per atom.

use crate::cli::Lists;
use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape, Workload};
use forcefield::lennard_jones::LennardJones;
use forcefield::units::COULOMB;
use forcefield::{Cell, Topology};
use kernels::device::Device;
use nalgebra::Vector3;
use octitrate::backend::fmm_settings::workload;
use octitrate::backend::terms::modifier;
use octitrate::charges::{forces, relative};
use octitrate::error::{Error, Result};
use octitrate::simulation::Simulation;
use octitrate::{Config, Propagate};

/// Mean and standard error.
fn mean(values: &[f64]) -> [f64; 2] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    [mean, (variance / n).sqrt()]
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::input(error.to_string(), "")
}

/// Electrostatics of all atoms as a GPU computes them, in double precision.
struct Electrostatics {
    fmm: Fmm<f64>,
    charges: Vec<f64>,
    exclusions: Exclusions,
    out: Potentials,
}

impl Electrostatics {
    fn new(topology: &Topology, cell: Cell, settings: Settings) -> Result<Self> {
        let Cell::Periodic(periodic) = cell else { return Err(failed("lists measures periodic boxes")) };
        let boundary = Boundary::Periodic { cell: periodic.rows() };
        Ok(Self {
            fmm: Fmm::new(boundary, settings).map_err(failed)?,
            charges: topology.charges(),
            exclusions: Exclusions::from_pairs(topology.n_atoms(), topology.exclusions.pairs()).map_err(failed)?,
            out: Potentials::default(),
        })
    }

    fn assign(&mut self, x: &[Vector3<f64>]) -> Result<()> {
        self.fmm.assign(bytemuck::cast_slice(x), &self.exclusions).map_err(failed)
    }

    /// Energy, kJ/mol.
    fn energy(&mut self, x: &[Vector3<f64>]) -> Result<f64> {
        Ok(COULOMB * self.fmm.evaluate(bytemuck::cast_slice(x), &self.charges, &mut self.out).map_err(failed)?)
    }

    fn forces(&self) -> Vec<f64> {
        forces(&self.charges, &self.out.field).collect()
    }
}

/// The tree that a GPU gets.
fn tree(order: usize, separation: f64, workload: &Workload) -> Result<Settings> {
    let device = Device::emulator().map_err(failed)?;
    let tree = TreeShape::finest_root_on::<f32>(&device, order, separation, workload);
    Ok(Settings { order, tree, separation })
}

/// Measures and prints.
///
/// # Errors
/// What the job, the FMM or the simulation refuse.
pub fn lists(arguments: &Lists) -> Result<()> {
    let config = Config::load(&arguments.job)?;
    let dt = config.dynamics.time_step.get();
    let steps = |time: f64| (time / dt).round().max(1.0) as u64;
    let mut simulation = Simulation::new(&config)?;
    simulation.prepare(&mut |_| Ok(()))?;
    simulation.advance(steps(arguments.equilibration))?;
    let state = simulation.state()?;
    let topology = simulation.topology().clone();
    let (n, cell) = (topology.n_atoms() as f64, state.cell);
    let workload = workload(&state.positions, cell);
    let mut ages: Vec<u64> = arguments.ages.iter().map(|age| steps(*age)).collect();
    ages.sort_unstable();
    ages.dedup();
    let reference = tree(18, 1.7, &workload)?;
    let mut reference = Electrostatics::new(&topology, cell, reference)?;
    let mut settings = Vec::new();
    for (order, separation) in [(8, 1.12), (10, 1.2), (12, 1.35)] {
        let chosen = tree(order, separation, &workload)?;
        let boxes = chosen.tree.leaves();
        let make = || Electrostatics::new(&topology, cell, chosen);
        settings.push((format!("order {order}, separation {separation}, {boxes:?} boxes"), make()?, make()?));
    }
    let van_der_waals = &config.van_der_waals;
    let list = |buffer: f64| {
        LennardJones::new(&topology, van_der_waals.cutoff.get(), modifier(van_der_waals), buffer).map_err(failed)
    };
    let mut short = arguments.buffers.iter().map(|b| Ok((*b, list(*b)?))).collect::<Result<Vec<_>>>()?;
    let mut exact = list(0.0)?;
    // [settings][age], [buffer][age]: one number for each start.
    let mut errors = vec![vec![[Vec::new(), Vec::new()]; ages.len()]; settings.len()];
    let mut jumps = vec![vec![Vec::new(); ages.len()]; settings.len()];
    let mut missed = vec![vec![Vec::new(); ages.len()]; short.len()];
    for start in 0..arguments.starts {
        let state = simulation.state()?;
        for (_, old, _) in &mut settings {
            old.assign(&state.positions)?;
        }
        for (_, list) in &mut short {
            list.rebuild(&state.positions, cell).map_err(failed)?;
        }
        let mut done = 0;
        for (a, age) in ages.iter().enumerate() {
            simulation.advance(age - done)?;
            done = *age;
            let x = simulation.state()?.positions;
            let judged = start < arguments.references;
            let exact_forces = if judged {
                reference.assign(&x)?;
                reference.energy(&x)?;
                reference.forces()
            } else {
                Vec::new()
            };
            for (s, (_, old, new)) in settings.iter_mut().enumerate() {
                new.assign(&x)?;
                let [before, after] = [old.energy(&x)?, new.energy(&x)?];
                jumps[s][a].push((after - before) / (n * *age as f64 * dt));
                if judged {
                    for (kind, of) in [&*old, &*new].into_iter().enumerate() {
                        let error = relative(of.forces().into_iter(), exact_forces.iter().copied());
                        errors[s][a][kind].push(error);
                    }
                }
            }
            let mut unused = vec![Vector3::zeros(); x.len()];
            exact.rebuild(&x, cell).map_err(failed)?;
            let whole = exact.evaluate(&x, cell, &mut unused).energy;
            for (b, (_, list)) in short.iter_mut().enumerate() {
                let energy = list.evaluate(&x, cell, &mut unused).energy;
                missed[b][a].push((whole - energy) / (n * *age as f64 * dt));
            }
        }
    }
    println!("{} atoms, {} starts; drift: kJ/mol/ps per atom", n, arguments.starts);
    for (s, (name, _, _)) in settings.iter().enumerate() {
        println!("{name}");
        println!("{:>10} {:>14} {:>14} {:>12} {:>12}", "age (fs)", "error, old", "error, new", "drift", "±");
        for (a, age) in ages.iter().enumerate() {
            let [[old, _], [new, _]] = [mean(&errors[s][a][0]), mean(&errors[s][a][1])];
            let [drift, error] = mean(&jumps[s][a]);
            println!("{:>10.0} {old:>14.2e} {new:>14.2e} {drift:>12.2e} {error:>12.1e}", 1e3 * *age as f64 * dt);
        }
    }
    for (b, (buffer, _)) in short.iter().enumerate() {
        println!("list of Lennard-Jones pairs, buffer {buffer} nm");
        println!("{:>10} {:>12} {:>12}", "age (fs)", "drift", "±");
        for (a, age) in ages.iter().enumerate() {
            let [drift, error] = mean(&missed[b][a]);
            println!("{:>10.0} {drift:>12.2e} {error:>12.1e}", 1e3 * *age as f64 * dt);
        }
    }
    Ok(())
}
