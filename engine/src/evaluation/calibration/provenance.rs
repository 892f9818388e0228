//! Where the coefficients of a calibration come from: program, day, system, methods, lengths of the windows.

use super::inputs::Inputs;
use crate::checkpoint::{Checkpoint, Found};
use crate::config::{Modifier, Precision};
use crate::error::{InputError, Result};
use crate::output::files;
use crate::output::sites;
use crate::record::Kind;
use lambda::library::Provenance;

/// Says where coefficients come from whose fit to the windows has this χ² per degree of freedom.
///
/// # Errors
/// [`crate::error::Error::Input`] if the first window has no checkpoint.
pub fn provenance(inputs: &Inputs, reduced_chi_squared: f64) -> Result<Provenance> {
    let (config, folder) = (inputs.config, inputs.windows[0].folder);
    let Some(Found { checkpoint, .. }) = <Checkpoint>::load(folder)? else {
        return Err(InputError::new("the window has no checkpoint", "remove its folder").in_file(folder).into());
    };
    let records = sites::read(&folder.join(files::SITES))?.sites;
    let buffer = records.iter().find(|record| record.kind == Kind::Buffer);
    let buffers = buffer.map_or(0, |buffer| buffer.molecules.len());
    let start = inputs.equilibration();
    let length = config.length();
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
        date: today(),
        temperature: inputs.temperature(),
        box_edges: checkpoint.state.cell.edges().map_or([0.0; 3], Into::into),
        atoms: checkpoint.state.positions.len(),
        water_model: config.calibrate.as_ref().map(|calibrate| calibrate.water_model.clone()).unwrap_or_default(),
        buffers: buffers as u32,
        electrostatics: format!("FMM, {accuracy}, {precision}, {boundary}; net charge compensated by {by}"),
        lennard_jones: format!("cut-off {}, {modifier}", config.van_der_waals.cutoff),
        windows: inputs.windows.len(),
        time_per_window: (length - start) * 1e-3,
        equilibration_per_window: start * 1e-3,
        seed: config.dynamics.seed,
        reduced_chi_squared,
    })
}

/// Today's date in UTC, ISO 8601.
fn today() -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(seconds / 86_400)
}

/// The date `days` after 1970-01-01 in the Gregorian calendar, by eras of 400 years. Years start in March here, so that the leap day is
/// their last.
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(11_017), "2000-03-01");
        assert_eq!(date(19_782), "2024-02-29");
        assert_eq!(date(20_453), "2025-12-31");
        assert_eq!(date(20_454), "2026-01-01");
    }
}
