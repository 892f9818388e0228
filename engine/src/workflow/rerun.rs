//! `rerun`: energies and ∂V/∂λ of the frames of a trajectory, as the job computes them. Nothing moves.
//!
//! Columns are those of `energy.csv` and `lambda.csv` as far as the frames tell them: kinetic energy, temperature and pressure need velocities (`.trr`);
//! what belongs to the motion of λ and to thermostats is not known. λ is that of the job, or that of a `lambda.csv` at the time of each frame.
//! A charge buffer is that of the start of the job, as in the run; references of position restraints scale with the box.

use crate::error::{InputError, Result};
use crate::frame::Quantity;
use crate::output::series::LambdaSeries;
use crate::output::tables::Clean;
use crate::propagate::Propagate;
use crate::simulation::Simulation;
use crate::trajectory::{Frames, StoredFrame, is_time};
use std::fmt::Write;
use std::path::Path;

/// Name of the table unless another is given.
pub const RERUN: &str = "rerun.csv";

/// A table of energies by frame, and what it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Rerun {
    /// The table as CSV, with a header.
    pub table: String,
    /// Its frames.
    pub frames: usize,
    /// Frames of the trajectory that have no positions and are left out.
    pub left_out: usize,
}

/// Computes all frames of `trajectory` that have positions, with the λ of the file `lambda` if there is one. `say` hears the number of frames done and of
/// all.
///
/// # Errors
/// [`crate::error::Error::Input`] if a file is damaged, the frames have other atoms than the system or no box that it could have, or `lambda` has no line
/// for a frame; [`crate::error::Error::Physics`] with the frame whose energies are not finite.
pub fn rerun(
    simulation: &mut Simulation,
    trajectory: &Path,
    lambda: Option<&Path>,
    say: &mut dyn FnMut(usize, usize),
) -> Result<Rerun> {
    let names = simulation.describe().lambdas();
    let lambda = lambda.map(|path| Lambdas::read(path, &names, simulation)).transpose()?;
    let mut frames = Frames::open(trajectory)?;
    let chosen: Vec<usize> = (0..).zip(frames.entries()).filter(|(_, entry)| entry.positions).map(|(k, _)| k).collect();
    let left_out = frames.entries().len() - chosen.len();
    let mut velocities = None;
    let mut table = String::new();
    for (done, &index) in chosen.iter().enumerate() {
        let frame = frames.read(index)?;
        // One table has one kind of line: the first frame says whether there are velocities.
        let moving = *velocities.get_or_insert(!frame.velocities.is_empty());
        if moving && frame.velocities.is_empty() {
            let message =
                format!("frame {} at {} ps has no velocities, as those before it have", index + 1, frame.time);
            let help = "write positions and velocities at the same interval, or take a trajectory of positions alone";
            return Err(InputError::new(message, help).in_file(trajectory).into());
        }
        let (energies, columns) = one(simulation, &frame, trajectory, lambda.as_ref(), moving)?;
        if table.is_empty() {
            header(&mut table, &energies, &names);
        }
        line(&mut table, frame.time, &energies, &columns);
        say(done + 1, chosen.len());
    }
    Ok(Rerun { table, frames: chosen.len(), left_out })
}

/// Energies of a frame, and λ and ∂V/∂λ of each column.
fn one(
    simulation: &mut Simulation,
    frame: &StoredFrame,
    path: &Path,
    lambda: Option<&Lambdas>,
    moving: bool,
) -> Result<(Vec<Quantity>, Vec<[f64; 2]>)> {
    simulation.place(frame, path)?;
    if let Some(lambda) = lambda {
        simulation.set_weights(&lambda.at(frame.time)?)?;
    }
    let (energies, lambda, dvdl) = simulation.observe_placed(moving).map_err(|e| e.at_step(frame.step))?;
    Ok((energies, lambda.into_iter().zip(dvdl).map(|(lambda, dvdl)| [lambda, dvdl]).collect()))
}

fn header(table: &mut String, energies: &[Quantity], names: &[String]) {
    table.push_str("time (ps)");
    for quantity in energies {
        let _ = write!(table, ",{}", quantity.title());
    }
    for name in names {
        let _ = write!(table, ",lambda {name},dV/dlambda {name} (kJ/mol)");
    }
    table.push('\n');
}

fn line(table: &mut String, time: f64, energies: &[Quantity], columns: &[[f64; 2]]) {
    let _ = write!(table, "{}", Clean(time));
    for quantity in energies {
        let _ = write!(table, ",{:.6}", quantity.value);
    }
    for [lambda, dvdl] in columns {
        let _ = write!(table, ",{lambda:.6},{dvdl:.4}");
    }
    table.push('\n');
}

/// λ of a run over time.
struct Lambdas<'a> {
    path: &'a Path,
    series: LambdaSeries,
    /// Forms of each site.
    forms: Vec<usize>,
}

impl<'a> Lambdas<'a> {
    fn read(path: &'a Path, names: &[String], simulation: &Simulation) -> Result<Self> {
        let series = LambdaSeries::read(path)?;
        if series.sites != names {
            let (found, needed) = (series.sites.join(", "), names.join(", "));
            let message = format!("the columns are {found}, the sites of the job {needed}");
            return Err(InputError::new(message, "name the lambda.csv of a run of this job").in_file(path).into());
        }
        let forms = simulation.describe().sites.iter().map(|site| site.forms.len()).collect();
        Ok(Self { path, series, forms })
    }

    /// Weights of all forms of all sites at a time (ps).
    fn at(&self, time: f64) -> Result<Vec<f64>> {
        let times = &self.series.time;
        let after = times.partition_point(|&t| t < time);
        let near = |index: usize| times.get(index).map(|&t| (index, (t - time).abs()));
        let before = after.checked_sub(1).and_then(near);
        let nearest = before.into_iter().chain(near(after)).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index);
        let Some(index) = nearest.filter(|&index| is_time(times[index], time)) else {
            let nearest =
                nearest.map_or("it has no lines".into(), |index| format!("the nearest line is at {} ps", times[index]));
            let help = "output.lambda of the run must divide the interval of the trajectory";
            let message = format!("there is no λ for the frame at {} ps; {nearest}", Clean(time));
            return Err(InputError::new(message, help).in_file(self.path).into());
        };
        let mut columns = self.series.lambda.iter().map(|column| column[index]);
        let mut weights = Vec::new();
        for &forms in &self.forms {
            match forms {
                2 => weights.extend(columns.next().into_iter().flat_map(|lambda| [1.0 - lambda, lambda])),
                more => weights.extend(columns.by_ref().take(more)),
            }
        }
        Ok(weights)
    }
}
