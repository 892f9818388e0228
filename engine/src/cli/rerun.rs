//! `rerun`: energies and ∂V/∂λ of the frames of a trajectory.

use super::arguments::RerunArguments;
use super::job::{job, one_run, warn};
use octitrate::atomic::write_atomic;
use octitrate::backend::choice::Choice;
use octitrate::error::{Error, InputError, Result};
use octitrate::output::screen;
use octitrate::record::counted;
use octitrate::simulation::Simulation;
use octitrate::workflow::rerun::{RERUN, rerun as compute};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Computes every frame and writes the table.
///
/// # Errors
/// A job or a trajectory that is not valid, energies that are not finite, a table that cannot be written.
pub fn rerun(arguments: &RerunArguments, device: Choice) -> Result<ExitCode> {
    let config = job(&arguments.job, None)?;
    let path = arguments.output.clone().unwrap_or_else(|| config.result(RERUN));
    // A table of energies of a run looks the same: the name tells an earlier result of this command.
    if path.exists() && path.file_name().is_none_or(|name| name != RERUN) {
        let message = "there is another file of this name, which would be lost";
        return Err(InputError::new(message, "choose another file").in_file(&path).into());
    }
    // Frames know nothing of restraints that ended in the course of the run.
    let mut of_frames = one_run(&config)?;
    of_frames.position_restraints = None;
    let mut simulation = Simulation::chosen(&of_frames, &mut device.open()?, &mut warn)?;
    let pause = if std::io::stderr().is_terminal() { Duration::from_secs(2) } else { Duration::from_secs(30) };
    let mut shown = Instant::now();
    let mut say = |done: usize, all: usize| {
        if shown.elapsed() >= pause {
            screen::show(&format!("frame {done} of {all}\n"));
            shown = Instant::now();
        }
    };
    let result = compute(&mut simulation, &arguments.trajectory, arguments.lambda.as_deref(), &mut say)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of the results", e))?;
    }
    write_atomic(&path, "write the table", result.table.as_bytes())?;
    if result.left_out > 0 {
        line!("frames without positions, left out: {}", result.left_out);
    }
    line!("{}: {}", counted(result.frames, "frame"), path.display());
    Ok(ExitCode::SUCCESS)
}
