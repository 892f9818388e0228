//! The page `exchange.html` about the mixing of a replica exchange, and the table that its log ends with.

use super::page::{Page, REPORT};
use crate::atomic::write_atomic;
use crate::error::Result;
use crate::evaluation::mixing::{Mixing, Swaps};
use std::fmt::Write;
use std::path::Path;

/// Name of the page.
pub const PAGE: &str = "exchange.html";

/// What is said of a table of which lines are missing.
const NOT_WHOLE: &str =
    "exchange.csv has not every exchange: shares of swaps are not known, and walkers made at least so many round trips";

/// Writes the page, which links the report of the titration, into `folder`; `interval` is the time between two exchanges (ps). The table for the log.
///
/// # Errors
/// [`crate::error::Error::File`] if the page cannot be written.
pub fn write(mixing: &Mixing, interval: f64, folder: &Path) -> Result<String> {
    let subtitle = match mixing.is_whole {
        true => format!("{} exchanges, one every {interval} ps", mixing.exchanges),
        false => NOT_WHOLE.into(),
    };
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
        let count = |count: usize| if mixing.is_whole { count.to_string() } else { "–".into() };
        vec![ph, count(pair.tried), count(pair.accepted), share]
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
    if !mixing.is_whole {
        let _ = writeln!(text, "{NOT_WHOLE}");
    }
    let trips: Vec<String> = mixing.round_trips.iter().map(usize::to_string).collect();
    let _ = write!(text, "round trips of the walkers: {}", trips.join(", "));
    for doubt in mixing.doubts() {
        let _ = write!(text, "\nwarning: {doubt}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_missing_lines_has_no_shares_of_swaps() {
        let mixing = |is_whole: bool| Mixing {
            ph: vec![4.0, 5.0],
            exchanges: 7,
            is_whole,
            pairs: vec![Swaps { ph: [4.0, 5.0], tried: if is_whole { 4 } else { 0 }, accepted: 0 }],
            round_trips: vec![1, 0],
            visits: vec![vec![0.5; 2]; 2],
        };
        let (whole, thinned) = (table(&mixing(true)), table(&mixing(false)));
        assert!(whole.contains("4          0") && !whole.contains("not every exchange"), "{whole}");
        assert!(thinned.contains("–          –        –") && thinned.contains("not every exchange"), "{thinned}");
    }
}
