//! What an evaluation of energies leaves behind: `analysis.csv`, `analysis.svg`, `blocks.svg`, the page `analysis.html`, and the table that ends the command; and the
//! section about the box in the report of a titration.

mod plots;

use super::page::Page;
use crate::atomic::write_atomic;
use crate::error::{Error, Result};
use crate::evaluation::energies::{Quantity, RunEnergies, Together, together};
use crate::output::energies::EnergySeries;
use crate::output::files;
use crate::output::tables::cell;
use crate::record::counted;
use lambda::analysis::equilibration::Slope;
use std::fmt::Write;
use std::path::Path;

/// Name of the page.
pub const PAGE: &str = "analysis.html";
/// Name of the table.
pub const TABLE: &str = "analysis.csv";
/// Names of the plots: the course of the energies, and block errors.
pub const PLOTS: [&str; 2] = ["analysis.svg", "blocks.svg"];

/// Names of all results.
pub const RESULTS: [&str; 4] = [PAGE, TABLE, PLOTS[0], PLOTS[1]];

/// Columns of the tables for people.
const COLUMNS: [&str; 7] = ["run", "quantity", "average", "±", "fluctuation", "drift", "samples"];

/// Writes table, plots and page into `folder`; `left_out` says which runs are not among `runs`. The short table for the end of the command.
///
/// # Errors
/// [`Error::File`] if a file cannot be written.
pub fn write(runs: &[RunEnergies], left_out: Option<&str>, folder: &Path) -> Result<String> {
    std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of the results", e))?;
    write_atomic(&folder.join(TABLE), "write", table(runs).as_bytes())?;
    let names: Vec<String> = runs.iter().map(|run| name(runs, run)).collect();
    let figures = [
        (PLOTS[0], "Course", COURSE, plots::courses(runs, &names)),
        (PLOTS[1], "Block errors", BLOCKS, plots::block_errors(runs, &names)),
    ];
    for (file, heading, caption, figure) in &figures {
        let path = folder.join(file);
        match figure {
            Some(figure) => write_atomic(&path, "write", figure.standalone(heading, caption).as_bytes())?,
            // One of an evaluation before would contradict this one.
            None if path.exists() => std::fs::remove_file(&path).map_err(|e| Error::file(&path, "remove", e))?,
            None => {}
        }
    }
    let frames: usize = runs.iter().map(|run| run.lines).sum();
    let subtitle = format!("{}, {} of energy.csv", counted(runs.len(), "run"), counted(frames, "line"));
    let mut page = Page::new("Energies, temperature, pressure, density", &subtitle);
    page.warnings(&warnings(runs, left_out));
    if runs.len() > 1 {
        page.table("Averages over all runs", &["quantity", "average", "±"], &rows_together(runs));
    }
    page.long_table("Averages", &COLUMNS, &rows(runs));
    let equilibration = |run: &RunEnergies| {
        vec![name(runs, run), format!("{} ps", run.equilibration), run.lines.to_string(), drift_of_atom(run)]
    };
    let heads = ["run", "left out", "lines evaluated", "drift of the conserved energy (kJ/mol/ps per atom)"];
    page.table("Equilibration and drift", &heads, &runs.iter().map(equilibration).collect::<Vec<_>>());
    for (_, heading, caption, figure) in &figures {
        match figure {
            Some(figure) => page.figure(heading, figure, caption),
            None => page.missing(heading, "There are too few lines to draw."),
        }
    }
    write_atomic(&folder.join(PAGE), "write", page.html().as_bytes())?;
    Ok(format!("{}report: {}", summary(runs, left_out), folder.join(PAGE).display()))
}

const COURSE: &str =
    "Means of neighbouring lines of energy.csv; the vertical line is the end of the equilibration of the first run.";
const BLOCKS: &str = "Standard error of the average from blocks of growing length; where it reaches a plateau, blocks are longer than the correlation. \
     The errors in the table follow from the correlation itself and should agree with the plateau.";

/// Shows volume and density of runs whose box changes, if there are any, in the report of a titration. Runs without `energy.csv` are left out, since
/// `output.energy` may be `"0 ps"`; what is wrong with a table is said on the page.
pub fn box_section<'a>(page: &mut Page, folders: impl Iterator<Item = &'a Path>) {
    let tables = folders.map(|folder| folder.join(files::ENERGY)).filter(|path| path.exists());
    let read: Result<Vec<EnergySeries>> = tables.map(|path| EnergySeries::read(&path)).collect();
    match read.map(|series| plots::of_box(&series)) {
        Ok(None) => {}
        Ok(Some(figure)) => {
            let caption = "Volume and density of every run, means of neighbouring lines of energy.csv, in the order of pH from blue to orange. \
                 A box that still shrinks or grows is not in equilibrium.";
            page.figure("Volume and density", &figure, caption);
        }
        Err(error) => page.warnings(&[format!("volume and density are not shown: {error}")]),
    }
}

/// Name of a run among these: its folder without what all have in common.
fn name(runs: &[RunEnergies], run: &RunEnergies) -> String {
    let parts = |run: &RunEnergies| -> Vec<String> {
        run.folder.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let first = parts(&runs[0]);
    let same = |length: &usize| runs.iter().all(|run| parts(run).get(..*length) == Some(&first[..*length]));
    let common = (0..first.len()).take_while(|length| same(&(length + 1))).count();
    let own = parts(run);
    let from = if runs.len() == 1 { own.len().saturating_sub(1) } else { common };
    own[from..].join("/")
}

/// Number with the digits that its error warrants, and the error with two of them.
fn with_error(value: f64, error: f64) -> [String; 2] {
    if !(error > 0.0 && error.is_finite()) {
        return [format!("{value:.6}"), "–".into()];
    }
    if error < 1e-6 {
        return [format!("{value:.2e}"), format!("{error:.0e}")].map(|text| text.replace('-', "−"));
    }
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 9.0) as usize;
    [format!("{value:.decimals$}"), format!("{error:.decimals$}")].map(|text| text.replace('-', "−"))
}

fn row(name: String, quantity: &Quantity) -> Vec<String> {
    let unit = &quantity.unit;
    let [value, error] = with_error(quantity.mean.value, quantity.mean.error);
    let drift = match quantity.drift {
        Slope { value, error } if error > 0.0 => format!("{} {unit}/ps", with_error(value, error).join(" ± ")),
        _ => "–".into(),
    };
    let samples = format!("{:.0}", quantity.mean.effective_samples);
    let title = format!("{} ({unit})", quantity.name);
    vec![
        name,
        title,
        value,
        error,
        with_error(quantity.fluctuation, 0.1 * quantity.fluctuation)[0].clone(),
        drift,
        samples,
    ]
}

fn rows(runs: &[RunEnergies]) -> Vec<Vec<String>> {
    let quantities = runs.iter().flat_map(|run| run.quantities.iter().map(move |quantity| (run, quantity)));
    quantities.map(|(run, quantity)| row(name(runs, run), quantity)).collect()
}

fn rows_together(runs: &[RunEnergies]) -> Vec<Vec<String>> {
    let row = |Together { name, unit, value, error }: Together| {
        let [value, error] = with_error(value, error);
        vec![format!("{name} ({unit})"), value, error]
    };
    together(runs).into_iter().map(row).collect()
}

fn drift_of_atom(run: &RunEnergies) -> String {
    run.drift_of_atom()
        .map_or("–".into(), |Slope { value, error }| format!("{value:.2e} ± {error:.0e}").replace('-', "−"))
}

fn warnings(runs: &[RunEnergies], left_out: Option<&str>) -> Vec<String> {
    let of_runs =
        runs.iter().flat_map(|run| run.warnings.iter().map(|warning| format!("{}: {warning}", name(runs, run))));
    of_runs.chain(left_out.map(String::from)).collect()
}

/// Content of [`TABLE`].
fn table(runs: &[RunEnergies]) -> String {
    let mut text = String::from(
        "run,quantity,unit,average,error,fluctuation,drift (per ps),drift error (per ps),independent samples,inefficiency,left out (ps),lines,atoms\n",
    );
    for run in runs {
        for quantity in &run.quantities {
            let (mean, drift) = (quantity.mean, quantity.drift);
            let atoms = run.atoms.map_or(String::new(), |atoms| atoms.to_string());
            let _ = writeln!(
                text,
                "{},{},{},{:.9e},{:.3e},{:.6e},{:.6e},{:.3e},{:.1},{:.2},{},{},{atoms}",
                cell(&name(runs, run)),
                quantity.name,
                quantity.unit,
                mean.value,
                mean.error,
                quantity.fluctuation,
                drift.value,
                drift.error,
                mean.effective_samples,
                mean.inefficiency,
                run.equilibration,
                run.lines,
            );
        }
    }
    text
}

/// The table on the screen.
fn summary(runs: &[RunEnergies], left_out: Option<&str>) -> String {
    let mut text = String::new();
    for run in runs {
        let _ = writeln!(
            text,
            "{}: {}, the first {} ps left out",
            name(runs, run),
            counted(run.lines, "line"),
            run.equilibration
        );
        let _ = writeln!(
            text,
            "{:<24} {:>16} {:>12} {:>14} {:>28} {:>9}",
            COLUMNS[1], COLUMNS[2], COLUMNS[3], COLUMNS[4], COLUMNS[5], COLUMNS[6]
        );
        for quantity in &run.quantities {
            let cells = row(String::new(), quantity);
            let _ = writeln!(
                text,
                "{:<24} {:>16} {:>12} {:>14} {:>28} {:>9}",
                cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]
            );
        }
        if run.drift_of_atom().is_some() {
            let _ = writeln!(text, "drift of the conserved energy: {} kJ/mol/ps per atom", drift_of_atom(run));
        }
        run.warnings.iter().for_each(|warning| text.push_str(&format!("warning: {warning}\n")));
        text.push('\n');
    }
    let all = rows_together(runs);
    if !all.is_empty() {
        let _ = writeln!(text, "all {} runs", runs.len());
        all.iter().for_each(|cells| text.push_str(&format!("{:<24} {:>16} {:>12}\n", cells[0], cells[1], cells[2])));
        text.push('\n');
    }
    left_out.iter().for_each(|warning| text.push_str(&format!("warning: {warning}\n")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::energies;
    use std::path::PathBuf;

    fn run(folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        let mut text = String::from("time (ps),temperature (K),conserved (kJ/mol),volume (nm³),density (kg/m³)\n");
        for line in 0..400 {
            let wave = (f64::from(line) * 2.1).sin();
            let _ =
                writeln!(text, "{line},{},{},{},{}", 300.0 + wave, -5e4 + 0.1 * wave, 30.0 + 0.1 * wave, 997.0 - wave);
        }
        std::fs::write(folder.join(files::ENERGY), text).unwrap();
    }

    #[test]
    fn table_plot_and_page_are_written() {
        let folder = temp_dir::TempDir::new().unwrap();
        let runs: Vec<PathBuf> =
            ["pH_4.00/replica_1", "pH_4.00/replica_2"].iter().map(|name| folder.path().join(name)).collect();
        runs.iter().for_each(|folder| run(folder));
        let (runs, _) = energies::read(&[folder.path().to_path_buf()], None).unwrap();
        let said = write(&runs, Some("one is left out"), folder.path()).unwrap();
        assert!(
            said.contains("replica_2: ")
                && said.contains("warning: one is left out\n")
                && said.contains("density (kg/m³)")
                && said.contains("report: "),
            "{said}"
        );
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let table = read(TABLE);
        assert!(table.lines().count() == 9 && table.contains("\nreplica_1,temperature,K,3.000"), "{table}");
        let page = read(PAGE);
        assert!(page.contains("<svg") && page.contains("Averages") && read(PLOTS[1]).trim_end().ends_with("</svg>"));
    }

    #[test]
    fn digits_follow_the_error() {
        assert_eq!(with_error(-1234.5678, 0.0123), ["−1234.568", "0.012"]);
        assert_eq!(with_error(997.21, 12.3), ["997", "12"]);
        assert_eq!(with_error(-3.14e-6, 2e-8), ["−3.14e−6", "2e−8"]);
        assert_eq!(with_error(27.5, 0.0), ["27.500000", "–"]);
    }

    /// A titration at constant pressure shows its box; without energy.csv there is nothing to show, and no mistake.
    #[test]
    fn the_box_of_a_titration_is_shown() {
        let folder = temp_dir::TempDir::new().unwrap();
        run(folder.path());
        let section = |folder: &Path| {
            let mut page = Page::new("t", "");
            box_section(&mut page, std::iter::once(folder));
            page.html()
        };
        let html = section(folder.path());
        assert!(html.contains("Volume and density") && html.contains("<svg"));
        assert!(!section(&folder.path().join("none")).contains("olume and density"));
        std::fs::write(folder.path().join(files::ENERGY), "time (ps),volume (nm³)\n0,x\n").unwrap();
        assert!(section(folder.path()).contains("volume and density are not shown"));
    }
}
