//! How well a replica exchange mixed: acceptance between neighbours, and round trips of the walkers; `exchange.html`.
//!
//! Everything is counted from `exchange.csv`, which says who had which pH after each exchange.

use super::exchange::{JOURNAL, Ladders};
use crate::atomic::write_atomic;
use crate::error::{Error, InputError, Result};
use crate::output::report::Report;
use std::fmt::Write;
use std::path::Path;

/// The page.
pub const PAGE: &str = "exchange.html";
/// Below this share of accepted swaps pH values are too far apart.
const RARE: f64 = 0.1;

/// Swaps between two neighbouring pH values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The two pH values.
    pub ph: [f64; 2],
    /// Attempts.
    pub tried: usize,
    /// Swaps.
    pub accepted: usize,
}

impl Pair {
    /// Share of accepted swaps; `None` without an attempt.
    pub fn acceptance(&self) -> Option<f64> {
        (self.tried > 0).then(|| self.accepted as f64 / self.tried as f64)
    }
}

/// What an exchange did.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixing {
    /// Exchanges.
    pub exchanges: usize,
    /// Each pair of neighbours, all ladders together.
    pub pairs: Vec<Pair>,
    /// Round trips between the lowest and the highest pH of each walker.
    pub round_trips: Vec<usize>,
    /// Share of exchanges that each walker spent at each pH: `[walker][pH]`.
    pub visits: Vec<Vec<f64>>,
}

/// Reads `exchange.csv`: walkers (from 0) at the slots, one row for the start and one for each exchange.
fn read(path: &Path, slots: usize) -> Result<Vec<Vec<usize>>> {
    let wrong = |message: String| -> Error { InputError::new(message, "").in_file(path).into() };
    let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, "read", e))?;
    let row = |(line, text): (usize, &str)| {
        let walkers: Option<Vec<usize>> =
            text.split(',').skip(1).map(|cell| cell.parse::<usize>().ok()?.checked_sub(1)).collect();
        walkers
            .filter(|row| row.len() == slots && row.iter().all(|&walker| walker < slots))
            .ok_or_else(|| wrong(format!("line {}: expected a time and {slots} walkers", line + 2)))
    };
    text.lines().skip(1).enumerate().map(row).collect()
}

/// Counts what is in `exchange.csv`.
///
/// # Errors
/// If the file is missing or damaged.
pub fn mixing(ladders: &Ladders) -> Result<Mixing> {
    let rows = read(&ladders.config.result(JOURNAL), ladders.slots.len())?;
    let (replicas, rungs, slots) = (ladders.replicas(), ladders.ph.len(), ladders.slots.len());
    let pair = |ends: &[f64]| Pair { ph: [ends[0], ends[1]], tried: 0, accepted: 0 };
    let mut pairs: Vec<Pair> = ladders.ph.windows(2).map(pair).collect();
    for (number, rows) in rows.windows(2).enumerate() {
        for (_, [a, b]) in ladders.pairs(number as u64 + 1) {
            let pair = &mut pairs[a / replicas];
            pair.tried += 1;
            pair.accepted += usize::from(rows[0][a] == rows[1][b]);
        }
    }
    // Passages from one end to the other; a round trip is two.
    let (mut passages, mut end) = (vec![0; slots], vec![None; slots]);
    let mut visits = vec![vec![0.0; rungs]; slots];
    for row in &rows {
        for (slot, &walker) in row.iter().enumerate() {
            let rung = slot / replicas;
            visits[walker][rung] += 1.0 / rows.len() as f64;
            if rungs > 1 && (rung == 0 || rung + 1 == rungs) {
                passages[walker] += usize::from(end[walker].replace(rung).is_some_and(|last| last != rung));
            }
        }
    }
    let round_trips = passages.into_iter().map(|count| count / 2).collect();
    Ok(Mixing { exchanges: rows.len().saturating_sub(1), pairs, round_trips, visits })
}

impl Mixing {
    /// What gives reason to doubt.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        for pair in &self.pairs {
            if let Some(share) = pair.acceptance().filter(|share| *share < RARE) {
                let [low, high] = pair.ph;
                let percent = 100.0 * share;
                doubts
                    .push(format!("pH {low} and {high} swap in {percent:.0} % of the attempts: put a pH between them"));
            }
        }
        if self.round_trips.iter().all(|&trips| trips == 0) && self.exchanges > 0 {
            doubts.push("no walker went to both ends of the pH values and back: run longer".into());
        }
        doubts
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |pair: &Pair| {
            let share = pair.acceptance().map_or("–".into(), |share| format!("{:.1} %", 100.0 * share));
            vec![
                format!("{:.2} – {:.2}", pair.ph[0], pair.ph[1]),
                pair.tried.to_string(),
                pair.accepted.to_string(),
                share,
            ]
        };
        self.pairs.iter().map(row).collect()
    }

    /// Adds its tables to a report.
    pub fn section(&self, report: &mut Report, ph: &[f64]) {
        report.table("Swaps of neighbouring pH values", &["pH", "tried", "accepted", "share"], &self.rows());
        let names: Vec<String> = ph.iter().map(|ph| format!("pH {ph:.2}")).collect();
        let mut columns = vec!["walker", "round trips"];
        columns.extend(names.iter().map(String::as_str));
        let row = |(walker, (trips, visits)): (usize, (&usize, &Vec<f64>))| {
            let shares = visits.iter().map(|share| format!("{:.1} %", 100.0 * share));
            [(walker + 1).to_string(), trips.to_string()].into_iter().chain(shares).collect()
        };
        let rows: Vec<Vec<String>> = self.round_trips.iter().zip(&self.visits).enumerate().map(row).collect();
        report.table("Walkers: round trips, and share of the time at each pH", &columns, &rows);
    }

    fn table(&self) -> String {
        let mut text = format!("{:>15} {:>8} {:>10} {:>8}\n", "swaps between", "tried", "accepted", "share");
        for row in self.rows() {
            let _ = writeln!(text, "{:>15} {:>8} {:>10} {:>8}", row[0], row[1], row[2], row[3]);
        }
        let trips: Vec<String> = self.round_trips.iter().map(usize::to_string).collect();
        let _ = write!(text, "round trips of the walkers: {}", trips.join(", "));
        for doubt in self.doubts() {
            let _ = write!(text, "\nwarning: {doubt}");
        }
        text
    }
}

/// Writes the page; the table for the log.
///
/// # Errors
/// Those of the files.
pub fn write(ladders: &Ladders) -> Result<String> {
    let mixing = mixing(ladders)?;
    let interval = ladders.every as f64 * ladders.config.dynamics.time_step.get();
    let subtitle = format!("{} exchanges, one every {interval} ps", mixing.exchanges);
    let mut report = Report::new("pH replica exchange", &subtitle);
    report.warnings(&mixing.doubts());
    mixing.section(&mut report, ladders.ph);
    write_atomic(&ladders.config.result(PAGE), "write", report.html().as_bytes())?;
    Ok(mixing.table())
}
