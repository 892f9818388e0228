//! The page `exchange.html` about the mixing of a replica exchange, and the table that its log ends with.

use super::page::Page;
use super::pka::REPORT;
use crate::atomic::write_atomic;
use crate::error::Result;
use crate::evaluation::mixing::{Mixing, Swaps};
use std::fmt::Write;
use std::path::Path;

/// Name of the page.
pub const PAGE: &str = "exchange.html";

/// Writes the page, which links the report of the titration, into `folder`; `interval` is the time between two exchanges (ps). The table for the log.
///
/// # Errors
/// [`crate::error::Error::File`] if the page cannot be written.
pub fn write(mixing: &Mixing, interval: f64, folder: &Path) -> Result<String> {
    let subtitle = format!("{} exchanges, one every {interval} ps", mixing.exchanges);
    let mut page = Page::new("pH replica exchange", &subtitle);
    page.link(REPORT, "pKa values of the titration");
    page.warnings(&mixing.doubts());
    page.table("Swaps of neighbouring pH values", &["pH", "tried", "accepted", "share"], &swaps(mixing));
    walkers(&mut page, mixing);
    write_atomic(&folder.join(PAGE), "write", page.html().as_bytes())?;
    Ok(table(mixing))
}

/// pH values, attempts, swaps and their share, for each two neighbours.
fn swaps(mixing: &Mixing) -> Vec<Vec<String>> {
    let row = |pair: &Swaps| {
        let share = pair.acceptance().map_or("–".into(), |share| format!("{:.1} %", 100.0 * share));
        let ph = format!("{:.2} – {:.2}", pair.ph[0], pair.ph[1]);
        vec![ph, pair.tried.to_string(), pair.accepted.to_string(), share]
    };
    mixing.pairs.iter().map(row).collect()
}

/// Adds the round trips of each walker, and how long it was at each pH.
fn walkers(page: &mut Page, mixing: &Mixing) {
    let names: Vec<String> = mixing.ph.iter().map(|ph| format!("pH {ph:.2}")).collect();
    let mut columns = vec!["walker", "round trips"];
    columns.extend(names.iter().map(String::as_str));
    let row = |(walker, (trips, visits)): (usize, (&usize, &Vec<f64>))| {
        let shares = visits.iter().map(|share| format!("{:.1} %", 100.0 * share));
        [(walker + 1).to_string(), trips.to_string()].into_iter().chain(shares).collect()
    };
    let rows: Vec<Vec<String>> = mixing.round_trips.iter().zip(&mixing.visits).enumerate().map(row).collect();
    page.table("Walkers: round trips, and share of the time at each pH", &columns, &rows);
}

fn table(mixing: &Mixing) -> String {
    let mut text = format!("{:>15} {:>8} {:>10} {:>8}\n", "swaps between", "tried", "accepted", "share");
    for row in swaps(mixing) {
        let _ = writeln!(text, "{:>15} {:>8} {:>10} {:>8}", row[0], row[1], row[2], row[3]);
    }
    let trips: Vec<String> = mixing.round_trips.iter().map(usize::to_string).collect();
    let _ = write!(text, "round trips of the walkers: {}", trips.join(", "));
    for doubt in mixing.doubts() {
        let _ = write!(text, "\nwarning: {doubt}");
    }
    text
}
