//! What `energy.csv` of a run says: averages with errors, fluctuations, drift, and from when on the run is in equilibrium.
//!
//! Errors are those of correlated series ([`lambda::analysis::blocks`]), drifts those of least squares
//! ([`lambda::analysis::equilibration`]). The drift of the conserved energy is also given for each atom, since it grows with their number.

use super::runs;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, InputError, Result};
use crate::output::energies::EnergySeries;
use crate::output::files;
use crate::record::counted;
use lambda::analysis::blocks::{self, BlockError, Mean, SeriesError};
use lambda::analysis::equilibration::{self, Slope};
use std::path::{Path, PathBuf};

/// Columns that are evaluated, where a run has them, in this order.
pub const QUANTITIES: [&str; 8] =
    ["temperature", "λ temperature", "pressure", "volume", "density", "potential", "total", "conserved"];
/// Those that say when a run is in equilibrium.
const SETTLING: [&str; 3] = ["temperature", "potential", "density"];
/// The energy that only errors of the integrator change.
const CONSERVED: &str = "conserved";
/// Independent samples below which an error is itself uncertain.
const FEW_SAMPLES: f64 = 20.0;
/// Lines without which nothing is said of a run among others.
const FEWEST: usize = 8;
/// Errors beyond which a drift is taken for one.
const SIGNIFICANT: f64 = 3.0;

/// One run.
#[derive(Debug, Clone)]
pub struct RunEnergies {
    /// Folder of the run.
    pub folder: PathBuf,
    /// Its number of atoms, if its checkpoint or its last structure is there.
    pub atoms: Option<usize>,
    /// The whole table.
    pub series: EnergySeries,
    /// Start that is left out (ps).
    pub equilibration: f64,
    /// Lines that are evaluated.
    pub lines: usize,
    /// The quantities.
    pub quantities: Vec<Quantity>,
    /// What a reader should know before trusting the numbers, one sentence each.
    pub warnings: Vec<String>,
}

/// A quantity of a run after equilibration.
#[derive(Debug, Clone)]
pub struct Quantity {
    /// Name.
    pub name: &'static str,
    /// Unit.
    pub unit: String,
    /// Average; its error is zero for a quantity that does not change.
    pub mean: Mean,
    /// Standard deviation of single lines.
    pub fluctuation: f64,
    /// Change per ps.
    pub drift: Slope,
    /// Error against the length of blocks.
    pub blocks: Vec<BlockError>,
}

impl Quantity {
    /// Whether the drift is larger than chance would make it.
    pub fn drifts(&self) -> bool {
        self.drift.value.abs() > SIGNIFICANT * self.drift.error && self.drift.error > 0.0
    }
}

impl RunEnergies {
    /// Evaluates the `energy.csv` in a folder without its first `equilibration` ps; unless given, without what comes before its equilibrium.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if the table is missing, [`crate::error::Error::Input`] if it is damaged or too short.
    pub fn read(folder: &Path, equilibration: Option<f64>) -> Result<Self> {
        Self::unless_short(folder, equilibration)?.map_err(Error::from)
    }

    /// The same, with the error of a table that is too short apart from others: its run may have just begun.
    fn unless_short(folder: &Path, equilibration: Option<f64>) -> Result<std::result::Result<Self, InputError>> {
        let path = folder.join(files::ENERGY);
        let series = EnergySeries::read(&path)?;
        let help = match equilibration {
            Some(_) => "run longer, make output.energy shorter, or leave less out",
            None => {
                "run longer, make output.energy shorter, or say with --equilibration how much is left out at the start"
            }
        };
        let wrong = |what: &str, error: SeriesError| -> Result<std::result::Result<Self, InputError>> {
            let said = InputError::new(format!("{what}{error}"), help).in_file(&path);
            if matches!(error, SeriesError::TooShort { .. }) { Ok(Err(said)) } else { Err(said.into()) }
        };
        let first = match equilibration {
            Some(time) => series.time.partition_point(|&t| t <= time + 1e-9),
            None => match settled(&series) {
                Ok(first) => first,
                Err(error) => return wrong("", error),
            },
        };
        let lines = series.time.len() - first;
        let mut quantities = Vec::new();
        for name in QUANTITIES {
            let Some(values) = series.column(name) else { continue };
            match quantity(name, series.unit(name), &series.time[first..], &values[first..]) {
                Ok(found) => quantities.push(found),
                Err(error) => return wrong(&format!("{name}: "), error),
            }
        }
        let left_out = if first == 0 { 0.0 } else { series.time.get(first).copied().unwrap_or_default() };
        let equilibration = equilibration.unwrap_or(left_out);
        let warnings = doubts(&quantities);
        Ok(Ok(Self {
            folder: folder.to_path_buf(),
            atoms: atoms(folder),
            series,
            equilibration,
            lines,
            quantities,
            warnings,
        }))
    }

    /// A quantity by name.
    pub fn quantity(&self, name: &str) -> Option<&Quantity> {
        self.quantities.iter().find(|quantity| quantity.name == name)
    }

    /// Drift of the conserved energy for each atom (kJ/mol/ps).
    pub fn drift_of_atom(&self) -> Option<Slope> {
        let (drift, atoms) = (self.quantity(CONSERVED)?.drift, self.atoms? as f64);
        Some(Slope { value: drift.value / atoms, error: drift.error / atoms })
    }
}

/// An average over several runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// Name of the quantity.
    pub name: &'static str,
    /// Unit.
    pub unit: String,
    /// Mean of the averages of the runs.
    pub value: f64,
    /// Standard error: the larger of what follows from the errors of the runs and from their spread.
    pub error: f64,
}

/// Averages over all runs of the quantities that all of them have; nothing for a single run.
pub fn together(runs: &[RunEnergies]) -> Vec<Together> {
    let n = runs.len() as f64;
    let one = |name: &&'static str| -> Option<Together> {
        let all: Vec<&Quantity> = runs.iter().map(|run| run.quantity(name)).collect::<Option<_>>()?;
        let values: Vec<f64> = all.iter().map(|quantity| quantity.mean.value).collect();
        let value = if is_constant(&values) { values[0] } else { values.iter().sum::<f64>() / n };
        let of_errors = all.iter().map(|quantity| quantity.mean.error.powi(2)).sum::<f64>().sqrt() / n;
        let spread = all.iter().map(|quantity| (quantity.mean.value - value).powi(2)).sum::<f64>();
        let error = of_errors.max((spread / (n * (n - 1.0))).sqrt());
        Some(Together { name, unit: all[0].unit.clone(), value, error })
    };
    if runs.len() > 1 { QUANTITIES.iter().filter_map(one).collect() } else { Vec::new() }
}

/// Reads all runs with an `energy.csv` in these folders and below, and a sentence about those that are too short, which are left out: one of many that has just begun must not keep
/// the others from being evaluated.
///
/// # Errors
/// As [`runs::holding`] and [`RunEnergies::read`]; [`Error::Input`] if all are too short.
pub fn read(folders: &[PathBuf], equilibration: Option<f64>) -> Result<(Vec<RunEnergies>, Option<String>)> {
    let (mut long, mut short) = (Vec::new(), Vec::new());
    for folder in runs::holding(files::ENERGY, folders)? {
        match RunEnergies::unless_short(&folder, equilibration)? {
            // A single line looks like quantities that are held.
            Ok(run) if run.lines >= FEWEST => long.push(run),
            Ok(run) => {
                let message = format!("{} evaluated: at least {FEWEST} are needed", counted(run.lines, "line"));
                short.push((folder, InputError::new(message, "run longer").in_file(&run.folder)));
            }
            Err(error) => short.push((folder, error)),
        }
    }
    let said = match &short[..] {
        [] => None,
        [(one, _)] => Some(format!("{} is left out: it has too few lines of {}", one.display(), files::ENERGY)),
        [(first, _), more @ ..] => {
            let (first, more) = (first.display(), more.len());
            Some(format!("{first} and {more} more are left out: they have too few lines of {}", files::ENERGY))
        }
    };
    match short.into_iter().next() {
        Some((_, error)) if long.is_empty() => Err(error.into()),
        _ => Ok((long, said)),
    }
}

/// From when on the quantities that settle have settled.
fn settled(series: &EnergySeries) -> std::result::Result<usize, SeriesError> {
    let mut latest = 0;
    for values in SETTLING.iter().filter_map(|name| series.column(name)).filter(|values| !is_constant(values)) {
        match equilibration::start(values) {
            Ok(start) => latest = latest.max(start),
            Err(SeriesError::Constant(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(latest)
}

/// Whether a quantity is held, such as the volume without a barostat. Sums of equal numbers have rounding errors, which are no fluctuations.
fn is_constant(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1]) && !values.is_empty()
}

fn quantity(
    name: &'static str,
    unit: &str,
    time: &[f64],
    values: &[f64],
) -> std::result::Result<Quantity, SeriesError> {
    if is_constant(values) {
        let mean = Mean { value: values[0], error: 0.0, inefficiency: 1.0, effective_samples: values.len() as f64 };
        let drift = Slope { value: 0.0, error: 0.0 };
        return Ok(Quantity { name, unit: unit.into(), mean, fluctuation: 0.0, drift, blocks: Vec::new() });
    }
    let blocks = blocks::block_errors(values)?;
    let mean = blocks::mean(values)?;
    let drift = equilibration::slope(time, values)?;
    let variance = values.iter().map(|x| (x - mean.value).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0);
    Ok(Quantity { name, unit: unit.into(), mean, fluctuation: variance.sqrt(), drift, blocks })
}

fn doubts(quantities: &[Quantity]) -> Vec<String> {
    let mut doubts = Vec::new();
    let settling = || quantities.iter().filter(|quantity| SETTLING.contains(&quantity.name));
    for quantity in settling().filter(|quantity| quantity.drifts()) {
        let Slope { value, error } = quantity.drift;
        doubts.push(format!("{} drifts by {value:.3} ± {error:.3} {} per ps", quantity.name, quantity.unit));
    }
    let few = settling().filter(|quantity| quantity.mean.error > 0.0 && quantity.mean.effective_samples < FEW_SAMPLES);
    let names: Vec<&str> = few.map(|quantity| quantity.name).collect();
    if !names.is_empty() {
        doubts.push(format!(
            "fewer than {FEW_SAMPLES} independent samples of {}: errors are uncertain by more than 15 %",
            names.join(", ")
        ));
    }
    doubts
}

/// Number of atoms of a run.
fn atoms(folder: &Path) -> Option<usize> {
    if let Ok(Some(found)) = <Checkpoint>::load(folder) {
        return Some(found.checkpoint.state.positions.len());
    }
    let text = std::fs::read_to_string(folder.join(files::FINAL)).ok()?;
    text.lines().nth(1)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// A table of known averages: white noise (±1) around 300 K that starts 50 K too low, a conserved energy with a slope, a constant volume.
    fn table(folder: &Path, lines: u32) {
        let mut text = String::from("time (ps),potential (kJ/mol),conserved (kJ/mol),temperature (K),volume (nm³)\n");
        let mut seed = 1_u64;
        let mut noise = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 40) as f64 / f64::from(1 << 24) * 12f64.sqrt() - 3f64.sqrt()
        };
        for line in 0..lines {
            let time = f64::from(line) * 0.5;
            let (potential, temperature) = (noise() - 1000.0, 300.0 + noise() - 50.0 * (-time / 5.0).exp());
            let conserved = -700.0 + 0.02 * time + 0.1 * noise();
            let _ = writeln!(text, "{time},{potential:.6},{conserved:.6},{temperature:.6},35.793769");
        }
        std::fs::write(folder.join(files::ENERGY), text).unwrap();
        std::fs::write(folder.join(files::FINAL), "title\n  2000\n").unwrap();
    }

    #[test]
    fn averages_drifts_and_equilibrium_are_found() {
        let folder = temp_dir::TempDir::new().unwrap();
        table(folder.path(), 4000);
        let run = RunEnergies::read(folder.path(), None).unwrap();
        // 50 e^{−t/5} is below the error of a mean of 4000 lines, 0.016, after 40 ps; at most a tenth of the run more.
        assert!((10.0..=250.0).contains(&run.equilibration), "{} ps", run.equilibration);
        let temperature = run.quantity("temperature").unwrap();
        let Mean { value, error, .. } = temperature.mean;
        assert!((value - 300.0).abs() < 4.0 * error && (0.012..0.03).contains(&error), "{value} ± {error}");
        assert!((temperature.fluctuation - 1.0).abs() < 0.1 && !temperature.drifts() && temperature.unit == "K");
        let drift = run.drift_of_atom().unwrap();
        assert!((drift.value - 1e-5).abs() < 4.0 * drift.error && drift.error < 1e-8, "{drift:?}");
        let volume = run.quantity("volume").unwrap();
        assert_eq!((volume.mean.value, volume.mean.error, volume.drift.value), (35.793769, 0.0, 0.0));
        assert!(run.quantity("pressure").is_none() && run.warnings.is_empty(), "{:?}", run.warnings);
    }

    /// Two runs that agree have an error smaller by √2; runs that disagree have that of their spread.
    #[test]
    fn runs_are_averaged_together() {
        let folder = temp_dir::TempDir::new().unwrap();
        table(folder.path(), 1000);
        let run = RunEnergies::read(folder.path(), Some(100.0)).unwrap();
        let mut shifted = run.clone();
        let (first, index) = (run.quantity("temperature").unwrap().mean, 0);
        assert_eq!(shifted.quantities[index].name, "temperature");
        let same = &together(&[run.clone(), run.clone()])[index];
        assert!((same.value - first.value).abs() < 1e-9 && (same.error - first.error / 2f64.sqrt()).abs() < 1e-12);
        shifted.quantities[index].mean.value += 4.0;
        let apart = &together(&[run.clone(), shifted])[index];
        assert!((apart.value - first.value - 2.0).abs() < 1e-9 && (apart.error - 2.0).abs() < 1e-9, "{apart:?}");
        // A volume that is held is exactly what it is.
        let held = together(&[run.clone(), run.clone(), run.clone()]);
        let volume = held.iter().find(|found| found.name == "volume").unwrap();
        assert_eq!((volume.value, volume.error), (35.793769, 0.0));
        assert!(together(&[run]).is_empty());
    }

    #[test]
    fn a_start_that_is_given_is_taken_and_too_little_is_refused() {
        let folder = temp_dir::TempDir::new().unwrap();
        table(folder.path(), 200);
        let run = RunEnergies::read(folder.path(), Some(60.0)).unwrap();
        // 120 lines up to 60 ps, and the one at 60 ps.
        assert_eq!((run.equilibration, run.lines), (60.0, 200 - 121));
        let all = RunEnergies::read(folder.path(), Some(-1.0)).unwrap();
        assert_eq!(all.lines, 200);
        // The start, 50 K too low, makes all lines one long correlation.
        let few = "fewer than 20 independent samples of temperature";
        assert!(all.warnings.iter().any(|warning| warning.starts_with(few)), "{:?}", all.warnings);
        let message = RunEnergies::read(folder.path(), Some(98.0)).unwrap_err().to_string();
        assert!(message.contains("a series of 3 frames: at least 8 are needed"), "{message}");
    }

    /// Of a titration that goes on: one run has no line yet, one has a few.
    #[test]
    fn runs_that_have_just_begun_are_left_out() {
        let folder = temp_dir::TempDir::new().unwrap();
        let runs = ["pH_4.00", "pH_5.00", "pH_6.00"].map(|name| folder.path().join(name));
        runs.iter().for_each(|run| std::fs::create_dir(run).unwrap());
        let [long, few, none] = &runs;
        table(few, 5);
        std::fs::write(none.join(files::ENERGY), "").unwrap();
        let all = [folder.path().to_path_buf()];
        let message = read(&all, None).unwrap_err().to_string();
        assert!(message.contains("pH_5.00/energy.csv: a series of 5 frames: at least 16 are needed"), "{message}");
        table(long, 1000);
        let (found, said) = read(&all, None).unwrap();
        assert!(found.len() == 1 && found[0].folder.ends_with("pH_4.00"));
        assert!(said.unwrap().ends_with("pH_5.00 and 1 more are left out: they have too few lines of energy.csv"));
        // The first line of a run is no average that is known exactly.
        table(few, 1);
        assert_eq!(read(&all, None).unwrap().0.len(), 1);
        std::fs::remove_file(few.join(files::ENERGY)).unwrap();
        assert!(
            read(&all, None).unwrap().1.unwrap().ends_with("pH_6.00 is left out: it has too few lines of energy.csv")
        );
        // Damage is none of that.
        std::fs::write(few.join(files::ENERGY), "time (ps),potential (kJ/mol)\n0,x\n").unwrap();
        assert!(read(&all, None).unwrap_err().to_string().contains("line 2: found \"x\""));
    }
}
