//! Where the coefficients of a calibration come from: program, day, system, methods, lengths of the windows.

use super::inputs::Inputs;
use super::{Estimate, Run};
use crate::checkpoint::{Checkpoint, Found};
use crate::config::{Modifier, Precision};
use crate::error::{InputError, Result};
use crate::invocation;
use crate::output::files;
use crate::output::sites;
use crate::record::Kind;
use lambda::library::Provenance;

/// Says where the coefficients of an estimate come from.
///
/// # Errors
/// [`crate::error::Error::Input`] if the first window has no checkpoint.
pub fn provenance(inputs: &Inputs, found: &Estimate) -> Result<Provenance> {
    let (config, folder) = (inputs.config, inputs.windows[0].folders[0]);
    let Some(Found { checkpoint, .. }) = <Checkpoint>::load(folder)? else {
        return Err(InputError::new("the window has no checkpoint", "remove its folder").in_file(folder).into());
    };
    let records = sites::read(&folder.join(files::SITES))?.sites;
    let buffer = records.iter().find(|record| record.kind == Kind::Buffer);
    let buffers = buffer.map_or(0, |buffer| buffer.molecules.len());
    // Of the site, or of the buffer: written by the run itself, which knows its topology.
    let conditions = inputs.record(folder)?.conditions;
    // All runs of a window together, on average over windows.
    let per_window = |of: fn(&Run) -> f64| {
        let runs = found.windows.iter().flat_map(|window| &window.runs);
        runs.map(of).sum::<f64>() / found.windows.len() as f64
    };
    let runs = per_window(|_| 1.0);
    let precision = if config.electrostatics.precision == Precision::Single { "f32" } else { "f64" };
    let modifier = match config.van_der_waals.modifier {
        Modifier::None => "plain",
        Modifier::PotentialShift => "potential shift",
        Modifier::ForceSwitch => "force switch",
    };
    let by = if buffers > 0 && inputs.site.is_some() { "buffers" } else { "the background" };
    let boundary = format!("{:?}", config.electrostatics.boundary).to_lowercase();
    let accuracy = config.electrostatics.accuracy();
    Ok(Provenance {
        program: format!("octitrate {}", env!("CARGO_PKG_VERSION")),
        date: invocation::today(),
        temperature: inputs.temperature(),
        box_edges: checkpoint.state.cell.periodic().map_or([0.0; 3], |periodic| periodic.lengths().into()),
        atoms: checkpoint.state.positions.len(),
        water_model: config.calibrate.as_ref().map(|calibrate| calibrate.water_model.clone()).unwrap_or_default(),
        buffers: buffers as u32,
        electrostatics: format!("FMM, {accuracy}, {precision}, {boundary}; net charge compensated by {by}"),
        lennard_jones: format!("cut-off {}, {modifier}", config.van_der_waals.cutoff),
        windows: inputs.windows.len(),
        time_per_window: nanoseconds(per_window(|run| run.time)),
        equilibration_per_window: nanoseconds(runs * inputs.equilibration() + per_window(|run| run.settling)),
        seed: config.dynamics.seed,
        reduced_chi_squared: found.fit.reduced_chi_squared(),
        conditions,
    })
}

/// Nanoseconds of a time in picoseconds, to whole femtoseconds: sums of steps have more digits than they know.
fn nanoseconds(time: f64) -> f64 {
    (time * 1e3).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_no_more_digits_than_they_know() {
        assert_eq!(nanoseconds(1_011.950_000_000_085_6), 1.01195);
        assert_eq!(nanoseconds(188.050_000_000_002_4), 0.18805);
    }
}
