//! `info`: what this program and this machine can do; what the library says of an entry.

use super::arguments::InfoArguments;
use lambda::SiteLibrary;
use lambda::library::{Calibration, Entry, Provenance};
use octitrate::backend::choice::Choice;
use octitrate::error::{Error, Result};
use std::collections::BTreeSet;
use std::f64::consts::LN_10;
use std::path::Path;
use std::process::ExitCode;

/// Prints version, machine, methods and the library of titratable residues; or one entry of it.
///
/// # Errors
/// [`Error::Input`] if a device or an entry that was asked for is not there.
pub fn info(arguments: &InfoArguments, device: Choice) -> Result<ExitCode> {
    let library = SiteLibrary::builtin().map_err(|e| Error::input(e.to_string(), ""))?;
    if let Some(name) = &arguments.entry {
        named(library, name)?.iter().try_for_each(entry)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    line!("octitrate {}", env!("CARGO_PKG_VERSION"));
    line!();
    line!("machine         {} {}, {cores} cores, {}", std::env::consts::OS, std::env::consts::ARCH, vectors());
    for (index, gpu) in octitrate::backend::choice::gpus().iter().enumerate() {
        line!("{:<15} {gpu}", if index == 0 { "GPU" } else { "" });
    }
    line!("{:<15} {}", "computed by", device.open()?);
    line!(
        "electrostatics  FMM, order 0 to {}, f32 or f64; open, or periodic in three dimensions (tin-foil)",
        fmm::MAX_ORDER
    );
    line!("dynamics        leap-frog, SETTLE, SHAKE; v-rescale, Langevin, C-rescale; steepest descent");
    line!("input           GROMACS .gro, .top and .itp, systems of OpenMM (.xml), trajectories .xtc and .trr");
    line!("output          CSV, Parquet, XTC, GRO, SVG, HTML");
    line!();
    line!("titratable residues");
    for entry in &library.entries {
        let pka = entry.pka.map_or_else(|| "buffer   ".into(), |pka| format!("pKa {pka:>5.2}"));
        let found = match entry.terminus {
            Some(_) => format!("\"{} ALA 1\" (V_MM for {})", entry.name, entry.known_at()),
            None => entry.residues.join(" "),
        };
        let (name, forms, status) = (&entry.name, entry.forms.len(), entry.correction.status());
        line!("  {name:<6} {pka}   {forms} forms, {}, {status}; {found}", entry.force_field);
    }
    Ok(ExitCode::SUCCESS)
}

/// The built-in entries of a name, or those of a file.
fn named(library: SiteLibrary, name: &str) -> Result<Vec<Entry>> {
    let known: Vec<String> = library.entries.iter().map(|entry| entry.name.clone()).collect();
    let found: Vec<Entry> = library.entries.into_iter().filter(|entry| entry.name == name).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    if Path::new(name).exists() {
        let read = SiteLibrary::from_path(Path::new(name)).map_err(|e| Error::input(e.to_string(), ""))?;
        return Ok(read.entries);
    }
    let help = format!("valid are {}, and files of the library", known.join(", "));
    Err(Error::input(format!("there is no entry and no file {name}"), help))
}

/// Prints what an entry says of itself and of its correction.
fn entry(entry: &Entry) -> Result<()> {
    let row = |name: &str, value: &str| -> Result<()> {
        line!("{name:<20} {value}");
        Ok(())
    };
    row("entry", &format!("{}, {}", entry.name, entry.force_field))?;
    row("source", &entry.source)?;
    if let (Some(pka), Some(source)) = (entry.pka, &entry.pka_source) {
        row("pKa", &format!("{pka:.2}, {source}"))?;
    }
    let compound = entry.model_compound.as_deref();
    compound.map_or(Ok(()), |compound| row("model compound", compound))?;
    let mut follows = vec!["charges".to_string()];
    let places = |residues: BTreeSet<&str>| match residues.is_empty() {
        true => String::new(),
        false => format!(" in {}", Vec::from_iter(residues).join(", ")),
    };
    if !entry.bonded.is_empty() {
        let residues = entry.bonded.iter().flat_map(|term| &term.residues).map(String::as_str).collect();
        follows.push(format!("{} bonded terms{}", entry.bonded.len(), places(residues)));
    }
    if !entry.lj_types.is_empty() {
        let atoms: Vec<&str> = entry.lj_types.iter().map(|one| one.atom.as_str()).collect();
        let residues = entry.lj_types.iter().flat_map(|one| &one.residues).map(String::as_str).collect();
        follows.push(format!("Lennard-Jones types of {}{}", atoms.join(", "), places(residues)));
    }
    row("follows λ", &follows.join("; "))?;
    row("correction V_MM", entry.correction.status())?;
    if let Some(calibration) = entry.correction.calibration() {
        made(entry, calibration)?;
    }
    elsewhere(entry)?;
    line!();
    Ok(())
}

/// Prints the corrections of an entry at other residues than that of its model compound, a line for each.
fn elsewhere(entry: &Entry) -> Result<()> {
    for one in &entry.elsewhere {
        let found = match one.correction.calibration() {
            None => String::new(),
            Some(calibration) => {
                let pk = forcefield::units::GAS_CONSTANT * calibration.provenance.temperature * LN_10;
                let last = entry.forms.len() - 1;
                let systematic = calibration.systematic_errors.as_ref().map_or(0.0, |errors| errors[last]);
                let error = calibration.free_energy_errors[last].hypot(systematic);
                let from = calibration.transfer.as_ref().map_or(String::new(), |one| format!(" from {}", one.from));
                format!(
                    "{from}, {}: {:.2} ± {error:.2} kJ/mol (± {:.2} pK units), {}",
                    entry.forms[last].name,
                    calibration.coefficients[last - 1],
                    error / pk,
                    calibration.provenance.date
                )
            }
        };
        let place = format!("correction at {}", one.residues.join(" "));
        line!("{place:<20} {}{found}", one.correction.status());
    }
    Ok(())
}

/// Prints how a correction was made, and how well it is known.
fn made(entry: &Entry, calibration: &Calibration) -> Result<()> {
    let row = |name: &str, value: &str| -> Result<()> {
        line!("{name:<20} {value}");
        Ok(())
    };
    if let Some(reason) = &calibration.reason {
        row("why preliminary", reason)?;
    }
    errors(entry, calibration)?;
    let Provenance { program, date, box_edges, atoms, buffers, electrostatics, lennard_jones, .. } =
        &calibration.provenance;
    row("calibrated", &format!("{date} by {program}"))?;
    if let Some(transfer) = &calibration.transfer {
        let shifts = transfer.shifts.iter().zip(&transfer.shift_errors).zip(&transfer.scatter).skip(1);
        let shifts: Vec<String> = shifts
            .map(|((shift, error), scatter)| format!("{shift:.2} ± {error:.2} kJ/mol (± {scatter:.2} for one residue)"))
            .collect();
        row("transferred", &format!("from {}, by {}", transfer.from, shifts.join(", ")))?;
        row("known in both", &transfer.residues.join(", "))?;
    }
    let [a, b, c] = box_edges;
    row("system", &format!("{atoms} atoms in {a} × {b} × {c} nm, {buffers} buffer molecules"))?;
    row("electrostatics", electrostatics)?;
    row("Lennard-Jones", lennard_jones)?;
    match &calibration.provenance.conditions {
        Some(conditions) => {
            let images = if conditions.images { "with" } else { "without" };
            let words = format!("{}, {images} the site's own images in the bracket", conditions.interpolation);
            row("interpolation", if entry.pka.is_some() { &words } else { &conditions.interpolation })?;
            row("temperature", &format!("{} K", conditions.temperature))?;
            row("water", &conditions.water)?;
            row("boundary", &format!("{}; charge taken up by: {}", conditions.boundary, conditions.compensation))?;
            let joint = conditions.attached.as_deref().unwrap_or("none");
            row("parameters", &format!("group {}, joint to the backbone {joint}", conditions.parameters))?;
            row("pairs", conditions.pairs.as_deref().unwrap_or("by the combination rule"))?;
        }
        None => {
            row("temperature", &format!("{} K", calibration.provenance.temperature))?;
            row("water", &calibration.provenance.water_model)?;
            let words = "not recorded: made before images were left out of the bracket; calibrate it again";
            row("interpolation", if entry.pka.is_some() { words } else { "charge" })?;
        }
    }
    Ok(())
}

/// Prints the error of the free energy of each form, in kJ/mol and in pK units.
fn errors(entry: &Entry, calibration: &Calibration) -> Result<()> {
    let temperature = calibration.provenance.temperature;
    let pk = forcefield::units::GAS_CONSTANT * temperature * LN_10;
    for (form, described) in entry.forms.iter().enumerate().skip(1) {
        let statistical = calibration.free_energy_errors[form];
        let systematic = match &calibration.systematic_errors {
            Some(errors) => format!("{:.2} kJ/mol systematic", errors[form]),
            None => "systematic error not known".into(),
        };
        line!(
            "{:<20} {}: {statistical:.2} kJ/mol statistical ({:.2} pK units), {systematic}",
            "error of",
            described.name,
            statistical / pk
        );
    }
    if let Some(covers) = &calibration.error_covers {
        line!("{:<20} {covers}", "errors cover");
    }
    Ok(())
}

/// The instructions that the near field uses here.
fn vectors() -> &'static str {
    match kernels::Isa::best() {
        kernels::Isa::Avx512 => "AVX-512",
        kernels::Isa::Avx2 => "AVX2",
        kernels::Isa::Neon => "NEON",
        kernels::Isa::Portable => "no vector instructions: portable kernels",
    }
}
