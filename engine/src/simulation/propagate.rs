//! What outputs, checkpoints and the run loop see of a simulation.

use super::{CHARGE_TOLERANCE, Simulation, at_step, constraint_error};
use crate::cell::Cell;
use crate::checkpoint::{Owner, State};
use crate::error::{Error, Result};
use crate::frame::{Frame, Quantity, Wanted};
use crate::integrator;
use crate::propagate::Propagate;
use crate::record::Description;
use crate::titration::Sites;
use forcefield::gromacs::{Structure, write_gro};
use forcefield::units::{BAR, DENSITY};
use nalgebra::Vector3;
use std::collections::BTreeMap;
use std::path::Path;

impl Simulation {
    /// The columns of `energy.csv` at the present step.
    fn columns(&mut self) -> Result<Vec<Quantity>> {
        self.pull()?;
        let energies = self.refresh()?;
        let motion = self.look_ahead().map_err(|e| at_step(e, self.now.step))?;
        let kinetic = motion.step.kinetic();
        let mut columns = energies.terms().to_vec();
        let mut add = |name, unit, value| columns.push(Quantity { name, unit, value });
        let mut potential = energies.potential();
        add("potential", "kJ/mol", potential);
        if let Some(sites) = &self.sites {
            let weights = sites.weights(&self.now.lambda);
            let bias = sites.bias(&weights, &mut vec![0.0; weights.len()]);
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
        let work = self.thermostat.map_or(0.0, |t| t.work())
            + self.barostat.map_or(0.0, |b| b.work())
            + self.sites.as_ref().map_or(0.0, Sites::work);
        add("kinetic", "kJ/mol", kinetic);
        add("total", "kJ/mol", total);
        add("conserved", "kJ/mol", total - work - self.now.lambda.heat);
        add("temperature", "K", integrator::temperature(kinetic, self.model.degrees_of_freedom));
        if self.sites.is_some() {
            add("λ temperature", "K", motion.lambda_temperature);
        }
        if let (Some(volume), Some(pressure)) = (self.volume(), self.pressure(&energies, &motion.step)) {
            add("pressure", "bar", pressure / BAR);
            add("volume", "nm³", volume);
            add("density", "kg/m³", self.model.masses.iter().sum::<f64>() / volume * DENSITY);
        }
        Ok(columns)
    }
}

impl Propagate for Simulation {
    fn describe(&self) -> Description {
        let topology = self.hamiltonian.topology();
        let on_device = self.on_device.as_ref().map(|on| on.coulomb.clone());
        let coulomb = on_device.unwrap_or_else(|| self.hamiltonian.describe_electrostatics());
        let (masses, now) = (&self.model.masses, &self.now);
        let mut facts = vec![
            (
                "atoms",
                format!(
                    "{} in {} molecules, {:.1} u",
                    masses.len(),
                    topology.molecules.len(),
                    masses.iter().sum::<f64>()
                ),
            ),
            (
                "degrees of freedom",
                format!("{} ({} constraints)", self.model.degrees_of_freedom, self.model.constraints.count()),
            ),
            ("Coulomb", coulomb),
            ("device", self.computed_by.clone()),
        ];
        if let Some(edges) = now.edges {
            facts.insert(1, ("box", format!("{:.4} × {:.4} × {:.4} nm", edges.x, edges.y, edges.z)));
        }
        let sites = self.sites.as_ref();
        let mut warnings = sites.map_or(Vec::new(), |sites| sites.warnings().to_vec());
        let charge = topology.net_charge();
        if sites.is_none() && now.edges.is_some() && charge.abs() > CHARGE_TOLERANCE {
            warnings.push(format!("the net charge of {charge:+.4} e is compensated by a uniform background"));
        }
        facts.extend(sites.and_then(Sites::facts).map(|words| ("charge buffer", words.to_string())));
        Description {
            facts: facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
            warnings,
            sites: sites.map_or(Vec::new(), Sites::records),
            ph: sites.and_then(Sites::ph),
            temperature: sites.map_or(0.0, Sites::temperature),
            smoothed: sites.is_some_and(Sites::is_smoothed),
            results: sites.map_or(Vec::new(), Sites::results),
        }
    }

    fn step(&self) -> u64 {
        self.now.step
    }

    fn pace(&self) -> u64 {
        if self.on_device.is_some() { super::device::PACE } else { 1 }
    }

    fn advance(&mut self, steps: u64) -> Result<()> {
        if self.advance_on_device(steps)? {
            return Ok(());
        }
        for step in self.now.step..self.now.step + steps {
            self.move_on().map_err(|e| at_step(e, step))?;
        }
        Ok(())
    }

    fn frame(&mut self, wanted: Wanted) -> Result<Frame<'_>> {
        let energies = if wanted.energies { self.columns()? } else { Vec::new() };
        if wanted.derivatives && self.energies.is_none() {
            if self.on_device.is_some() {
                self.derivatives_on_device()?;
            } else {
                self.refresh()?;
            }
        }
        if wanted.positions {
            self.pull()?
        } else {
            self.pull_lambda()?
        };
        self.wrapped.clear();
        if wanted.positions {
            self.wrapped.clone_from(&self.now.x);
            if let Some(cell) = self.now.edges.and_then(|edges| Cell::new(edges).ok()) {
                self.model.fragments.wrap(&cell, &mut self.wrapped);
            }
        }
        let now = &self.now;
        let columns = |flat: &[f64], derivatives| {
            self.sites.as_ref().map_or(Vec::new(), |sites| sites.columns(flat, derivatives))
        };
        Ok(Frame {
            step: now.step,
            time: now.step as f64 * self.model.dt,
            energies,
            lambda: columns(&self.present_weights(), false),
            dvdl: if wanted.derivatives { columns(&self.by_weight, true) } else { Vec::new() },
            positions: &self.wrapped,
            velocities: if wanted.positions { &now.v } else { &[] },
            walker: None,
            edges: now.edges,
        })
    }

    fn state(&mut self) -> Result<State> {
        self.pull()?;
        let mut extra = BTreeMap::new();
        let flat = |x: &[Vector3<f64>]| x.iter().flatten().copied().collect::<Vec<f64>>();
        extra.insert("list_positions".into(), flat(&self.lists.0));
        extra.insert("restraint_reference".into(), flat(self.hamiltonian.reference()));
        extra.insert("list_edges".into(), self.lists.1.map_or(Vec::new(), |edges| flat(&[edges])));
        extra.insert("thermostat_work".into(), vec![self.thermostat.map_or(0.0, |t| t.work())]);
        extra.insert("barostat".into(), self.barostat.map_or([0.0; 2], |b| b.state()).to_vec());
        extra.insert("lambda_heat".into(), vec![self.now.lambda.heat]);
        extra.insert("barriers".into(), self.sites.as_ref().map_or(Vec::new(), Sites::state));
        extra.extend(self.device_extras().into_iter().map(|(name, values)| (name.to_string(), values)));
        Ok(State {
            step: self.now.step,
            positions: self.now.x.clone(),
            velocities: self.now.v.clone(),
            edges: self.now.edges,
            lambda: self.now.lambda.coordinates.clone(),
            lambda_velocities: self.now.lambda.velocities.clone(),
            extra,
        })
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        let unusable = || Error::input("the checkpoint lacks a part of the state", "remove the folder to start again");
        let array = |name: &str| state.extra.get(name).ok_or_else(unusable);
        let number = |name: &str| array(name)?.first().copied().ok_or_else(unusable);
        let vectors = |name: &str| -> Result<Vec<Vector3<f64>>> {
            Ok(array(name)?.as_chunks::<3>().0.iter().map(|&a| Vector3::from(a)).collect())
        };
        let n = self.now.x.len();
        let lists = (vectors("list_positions")?, vectors("list_edges")?.first().copied());
        let lengths = [state.positions.len(), state.velocities.len()];
        let (sites, lambdas) = (self.now.lambda.coordinates.len(), [state.lambda.len(), state.lambda_velocities.len()]);
        let periodic = |edges: &Option<Vector3<f64>>| edges.is_some() == self.now.edges.is_some();
        let lists_fit = (lists.0.is_empty() || lists.0.len() == n) && periodic(&lists.1) && periodic(&state.edges);
        if lengths != [n; 2] || lambdas != [sites; 2] || !lists_fit {
            return Err(unusable());
        }
        let reference = vectors("restraint_reference")?;
        if reference.len() != self.hamiltonian.reference().len() {
            return Err(unusable());
        }
        if let Some(sites) = &mut self.sites
            && !sites.restore(array("barriers")?)?
        {
            return Err(unusable());
        }
        self.hamiltonian.set_reference(reference);
        if let Some(thermostat) = &mut self.thermostat {
            thermostat.restore_work(number("thermostat_work")?);
        }
        if let Some(barostat) = &mut self.barostat {
            barostat.restore(array("barostat")?.as_slice().try_into().map_err(|_| unusable())?);
        }
        self.now.lambda.heat = number("lambda_heat")?;
        self.now.lambda.coordinates.clone_from(&state.lambda);
        self.now.lambda.velocities.clone_from(&state.lambda_velocities);
        self.now.step = state.step;
        self.now.x.clone_from(&state.positions);
        self.now.v.clone_from(&state.velocities);
        self.now.edges = state.edges;
        if !lists.0.is_empty() && self.on_device.is_none() {
            self.hamiltonian.rebuild(&lists.0, lists.1)?;
        }
        self.lists = lists;
        self.restored(state);
        self.put_biases()
    }

    fn owner(&self) -> Owner {
        self.model.owner.clone()
    }

    fn prepare(&mut self, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        self.minimise(say)?;
        let model = &self.model;
        let start = self.now.x.clone();
        model
            .constraints
            .apply(&start, &mut self.now.x)
            .map_err(|e| constraint_error(&e, self.hamiltonian.topology()))?;
        self.touch();
        self.first_velocities()
    }

    fn write_structure(&mut self, path: &Path) -> Result<()> {
        self.pull()?;
        let now = &self.now;
        let topology = self.hamiltonian.topology();
        let mut x = now.x.clone();
        if let Some(cell) = now.edges.and_then(|edges| Cell::new(edges).ok()) {
            self.model.fragments.wrap(&cell, &mut x);
        }
        let structure = Structure::from_topology(topology, x, Some(now.v.clone()), now.edges);
        write_gro(path, &structure, 3).map_err(|e| Error::input(e.to_string(), ""))
    }
}
