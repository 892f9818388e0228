//! Runs without their start: what the job leaves out, and more where the beginning of a run differs from the rest.
//!
//! The weights of every site that titrates and the potential energy are looked at; the latest of their starts counts, which lies in the first half of
//! the run ([`lambda::analysis::equilibration`]). A form that changes seldom has too few events to tell a beginning from the rest.

use crate::error::Result;
use crate::evaluation::runs::Run;
use crate::output::energies::EnergySeries;
use crate::output::files;
use crate::record::Labels;
use lambda::analysis::equilibration;

/// Column of `energy.csv` that is looked at.
const ENERGY: &str = "potential";
/// Least variance of a weight that is looked at: p (1 − p) of a form with p = 0.02.
const LEAST: f64 = 0.02;
/// A start later than this share of a run says that it went on settling.
const LATE: f64 = 0.45;

/// The run without its start, and how much of it was left out (ps).
///
/// # Errors
/// [`crate::error::Error::Input`] if nothing is left after `at_least` ps.
pub(super) fn run(run: Run, at_least: f64) -> Result<(Run, f64)> {
    let at_least = run.cut(at_least);
    let start = run.start();
    let mut run = run.after(at_least)?;
    let labels = Labels::of_sites(run.titrating());
    let names: Vec<String> = run.titrating().map(|site| site.name.clone()).collect();
    let (first, last) = (run.series.time[0], run.series.time[run.series.time.len() - 1]);
    let mut latest: Option<(f64, String)> = None;
    let mut consider = |time: f64, what: &str| {
        if latest.as_ref().is_none_or(|(known, _)| time > *known) {
            latest = Some((time, what.to_string()));
        }
    };
    for name in names {
        for weights in run.weights(&name).unwrap_or_default().iter().skip(1).filter(|weights| variance(weights) > LEAST)
        {
            match equilibration::cut_of_form(weights) {
                0 => {}
                start => consider(run.series.time[start - 1], &labels.of(&name)),
            }
        }
    }
    if let Ok(energies) = EnergySeries::read(&run.folder.join(files::ENERGY)) {
        let known = energies.time.partition_point(|&time| run.knows(time));
        let from = energies.time[..known].iter().position(|time| *time > at_least).unwrap_or(known);
        if let Some(values) = energies.column(ENERGY) {
            match equilibration::cut(&values[from..known]) {
                0 => {}
                start => consider(energies.time[from + start - 1], "the potential energy"),
            }
        }
    }
    let Some((time, what)) = latest.filter(|(time, _)| *time < last) else { return Ok((run, at_least - start)) };
    if time - first > LATE * (last - first) {
        let name = run.short_name();
        run.warnings.push(format!(
            "{name}: {what} settles only in the middle of the run, if at all; the first {} ps are left out: run longer",
            time - start
        ));
    }
    Ok((run.after(time)?, time - start))
}

fn variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::series::LambdaSeries;
    use std::fmt::Write;

    /// The energy rises by 50 after 80 of 400 ps. A look at 100 ps sees 20 ps of that, and leaves out the first half at most, as it did when there were no more.
    #[test]
    fn a_look_sees_no_energies_of_later() {
        let folder = temp_dir::TempDir::new().unwrap();
        let mut text = String::from("time (ps),potential (kJ/mol)\n");
        for time in 1..=400 {
            let noise = f64::from(time * 7919 % 101) / 101.0;
            let _ = writeln!(text, "{time},{}", noise + if time > 80 { 50.0 } else { 0.0 });
        }
        std::fs::write(folder.path().join(files::ENERGY), text).unwrap();
        let left_out = |end: u32, upto: Option<f64>| {
            let series = LambdaSeries { time: (1..=end).map(f64::from).collect(), ..LambdaSeries::default() };
            let all = Run { folder: folder.path().to_path_buf(), series, upto, ..Run::default() };
            run(all, 0.0).unwrap().1
        };
        assert_eq!(left_out(400, None), 80.0);
        assert!(left_out(100, Some(100.0)) <= 50.0, "{}", left_out(100, Some(100.0)));
    }

    /// The energies end, as on a full disk, before what the job leaves out does: they say nothing of the rest.
    #[test]
    fn energies_of_what_is_left_out_anyway_say_nothing() {
        let folder = temp_dir::TempDir::new().unwrap();
        let line = |time: u32| format!("{time},{}\n", if time > 30 { 50 + time % 3 } else { time % 3 });
        let text: String = (1..=100).map(line).collect();
        std::fs::write(folder.path().join(files::ENERGY), format!("time (ps),potential (kJ/mol)\n{text}")).unwrap();
        let series = LambdaSeries { time: (1..=400).map(f64::from).collect(), ..LambdaSeries::default() };
        let all = Run { folder: folder.path().to_path_buf(), series, ..Run::default() };
        let (rest, left_out) = run(all, 100.0).unwrap();
        assert_eq!((rest.series.time[0], left_out), (101.0, 100.0));
    }
}
