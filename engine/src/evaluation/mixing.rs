//! How well a replica exchange mixed: acceptance between neighbours, and round trips of the walkers.
//!
//! Everything is counted from `exchange.csv`, which says who had which pH after each exchange.

use super::ladders::Ladders;
use crate::error::{Error, InputError, Result};
use std::path::Path;

/// Below this share of accepted swaps pH values are too far apart.
const RARE: f64 = 0.1;

/// Swaps between two neighbouring pH values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Swaps {
    /// The two pH values.
    pub ph: [f64; 2],
    /// Attempts.
    pub tried: usize,
    /// Attempts that ended in a swap.
    pub accepted: usize,
}

impl Swaps {
    /// Share of accepted swaps; `None` without an attempt.
    pub fn acceptance(&self) -> Option<f64> {
        (self.tried > 0).then(|| self.accepted as f64 / self.tried as f64)
    }
}

/// What an exchange did.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixing {
    /// pH values, rising.
    pub ph: Vec<f64>,
    /// Number of exchanges between all pH values: those before one was added are not among them.
    pub exchanges: usize,
    /// Whether the table has every exchange: each walker stands where it stood a line before, or has swapped with a neighbour whose turn it was. A table with some
    /// of the lines does not say what was tried.
    pub is_whole: bool,
    /// Swaps between each two neighbours, all ladders together; none was tried as far as a table that is not whole says.
    pub pairs: Vec<Swaps>,
    /// Round trips of each walker between the lowest and the highest pH that there were at the time, by a table that is not whole at least so many.
    pub round_trips: Vec<usize>,
    /// Share of exchanges that each walker spent at each pH: `[walker][pH]`.
    pub visits: Vec<Vec<f64>>,
}

/// Reads `exchange.csv`: walkers (from 0) at the slots, one row for the start and one for each exchange. A slot whose pH was added later has none before.
fn read(path: &Path, slots: usize) -> Result<Vec<Vec<Option<usize>>>> {
    let wrong = |message: String| -> Error { InputError::new(message, "").in_file(path).into() };
    let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, "read", e))?;
    // What follows the last end of a line is a line that is being written, or that a full disk has cut: half of walker 12 is a walker as well.
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let cell = |cell: &str| match cell {
        "" => Some(None),
        cell => cell.parse::<usize>().ok()?.checked_sub(1).filter(|&walker| walker < slots).map(Some),
    };
    let row = |(line, text): (usize, &str)| {
        let walkers: Option<Vec<Option<usize>>> = text.split(',').skip(1).map(cell).collect();
        walkers
            .filter(|row| row.len() == slots && row.iter().any(Option::is_some))
            .ok_or_else(|| wrong(format!("line {}: expected a time and {slots} walkers", line + 2)))
    };
    whole.lines().skip(1).enumerate().map(row).collect()
}

impl Mixing {
    /// Counts what is in an `exchange.csv`: swaps from where all slots had walkers, round trips and visits from the beginning.
    ///
    /// # Errors
    /// [`Error::File`] if the file is missing, [`Error::Input`] with the line that is damaged.
    pub fn read(path: &Path, ladders: &Ladders) -> Result<Self> {
        let slots = ladders.slots();
        let rows = read(path, slots)?;
        let first = rows.iter().rposition(|row| row.contains(&None)).map_or(0, |last| last + 1);
        let pair = |ends: &[f64]| Swaps { ph: [ends[0], ends[1]], tried: 0, accepted: 0 };
        let mut pairs: Vec<Swaps> = ladders.ph.windows(2).map(pair).collect();
        let mut is_whole = true;
        for (number, rows) in rows[first..].windows(2).enumerate() {
            let mut explained = rows[0].clone();
            for pair in ladders.pairs((first + number) as u64 + 1) {
                let [a, b] = pair.slots;
                let swaps = &mut pairs[ladders.rung(a)];
                swaps.tried += 1;
                if rows[0][a] == rows[1][b] {
                    swaps.accepted += 1;
                    explained.swap(a, b);
                }
            }
            is_whole &= explained == rows[1];
        }
        if !is_whole {
            pairs.iter_mut().for_each(|swaps| (swaps.tried, swaps.accepted) = (0, 0));
        }
        // Passages from one end to the other; a round trip is two.
        let (rungs, mut passages, mut end) = (ladders.ph.len(), vec![0; slots], vec![None; slots]);
        let mut visits = vec![vec![0.0; rungs]; slots];
        for row in &rows {
            let there = || row.iter().zip(0..).filter_map(|(walker, slot)| Some((ladders.rung(slot), (*walker)?)));
            let lowest = there().map(|(rung, _)| rung).min();
            let highest = there().map(|(rung, _)| rung).max();
            for (rung, walker) in there() {
                visits[walker][rung] += 1.0;
                if lowest != highest && (Some(rung) == lowest || Some(rung) == highest) {
                    let is_highest = Some(rung) == highest;
                    passages[walker] +=
                        usize::from(end[walker].replace(is_highest).is_some_and(|last| last != is_highest));
                }
            }
        }
        for visits in &mut visits {
            let all: f64 = visits.iter().sum();
            visits.iter_mut().filter(|_| all > 0.0).for_each(|share| *share /= all);
        }
        let round_trips = passages.into_iter().map(|count| count / 2).collect();
        let (ph, exchanges) = (ladders.ph.to_vec(), (rows.len() - first).saturating_sub(1));
        Ok(Mixing { ph, exchanges, is_whole, pairs, round_trips, visits })
    }

    /// Why the exchange may not have mixed well, one sentence each.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        for pair in &self.pairs {
            if let Some(share) = pair.acceptance().filter(|share| *share < RARE) {
                let ([low, high], percent) = (pair.ph, 100.0 * share);
                let what = format!("pH {low} and {high} swap in {percent:.0} % of the attempts");
                doubts.push(format!("{what}: put a pH between them"));
            }
        }
        if self.is_whole && self.round_trips.iter().all(|&trips| trips == 0) && self.exchanges > 0 {
            doubts.push("no walker went to both ends of the pH values and back: run longer".into());
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walkers 1 and 2 go to and fro between pH 4 and 5. Then pH 3 is added with walker 3, and walker 1 goes there.
    #[test]
    fn round_trips_before_a_ph_was_added_count() {
        let file = std::env::temp_dir().join(format!("octitrate-mixing-{}.csv", std::process::id()));
        std::fs::write(
            &file,
            "time,pH_3,pH_4,pH_5\n0,,1,2\n1,,2,1\n2,,2,1\n3,,1,2\n4,3,1,2\n5,1,3,2\n6,1,2,3\n7,1,2,3\n",
        )
        .unwrap();
        let ladders = Ladders { ph: &[3.0, 4.0, 5.0], replicas: 1 };
        let mixing = Mixing::read(&file, &ladders).unwrap();
        // Swaps from where all three are there. Walkers 1 and 2 have been to the other end and back by then; from pH 4 to the new end is no passage.
        assert_eq!((mixing.exchanges, &mixing.round_trips[..]), (3, &[1, 1, 0][..]));
        assert_eq!(mixing.pairs.iter().map(|pair| pair.tried).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(mixing.visits[0], [0.375, 0.375, 0.25]);
        // Half a line at the end is none.
        let lines = "time,pH_3,pH_4,pH_5\n0,3,1,2\n1,1,3,2\n";
        for half in ["", "2", "2,", "2,3,1", "2,3,1,", "2,3,1,2"] {
            std::fs::write(&file, lines.to_string() + half).unwrap();
            let mixing = Mixing::read(&file, &ladders).unwrap();
            assert_eq!((mixing.is_whole, mixing.exchanges, mixing.pairs[0].accepted), (true, 1, 1), "{half}");
        }
        std::fs::write(&file, "time,pH_3,pH_4,pH_5\n0,,1,2\n1,,,\n").unwrap();
        assert!(Mixing::read(&file, &ladders).is_err());
        std::fs::remove_file(file).unwrap();
    }
}
