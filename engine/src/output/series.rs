//! A `lambda.csv` in memory, as a run wrote it or as somebody has left it.
//!
//! Whatever is not what a run writes is refused with its line: text, times that do not rise, λ far from its range. A line that is not complete
//! is one that a run is still writing, and is left out. Frames count alike in all averages, so that they must stand for equal times:
//! [`LambdaSeries::evenly`] takes them at equal intervals where `output.lambda` was changed on the way.
//!
//! Units: ps, kJ/mol.

use super::tables::WALKER;
use crate::error::{Error, InputError, Result};
use std::path::Path;

/// Weights that a run can write: walls hold λ close to 0…1, and half a unit beyond them there is none.
const RANGE: std::ops::RangeInclusive<f64> = -0.5..=1.5;
/// Largest ∂V/∂λ in size that dynamics survives, kJ/mol: the groups of the library have some hundreds, and frames are taken to pure forms by it.
const LARGEST_SLOPE: f64 = 1e6;
/// Relative difference below which two times between frames are the same: they are written with six decimals.
const SAME: f64 = 1e-4;

/// A `lambda.csv` in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LambdaSeries {
    /// Times (ps).
    pub time: Vec<f64>,
    /// Names of the columns: `SITE` for two forms, `SITE:FORM` for more.
    pub sites: Vec<String>,
    /// λ of each column at each time: `[column][time]`.
    pub lambda: Vec<Vec<f64>>,
    /// ∂V/∂λ of each column at each time (kJ/mol).
    pub dvdl: Vec<Vec<f64>>,
    /// Walker of a replica exchange at each time; empty otherwise.
    pub walker: Vec<u32>,
    /// Whether an incomplete line at the end was left out.
    pub cut: bool,
}

impl LambdaSeries {
    /// Reads a `lambda.csv`.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, [`Error::Input`] with the line that is not as this program writes it.
    pub fn read(path: &Path) -> Result<LambdaSeries> {
        let mut bytes = std::fs::read(path).map_err(|e| Error::file(path, "read", e))?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let cut = whole < bytes.len();
        bytes.truncate(whole);
        let wrong = |line: Option<u64>, what: String| -> Error {
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            InputError::new(format!("{line}{what}"), "valid is a lambda.csv as octitrate writes it")
                .in_file(path)
                .into()
        };
        let mut reader = csv::Reader::from_reader(&bytes[..]);
        let headers = reader.headers().map_err(|e| wrong(None, e.to_string()))?.clone();
        let first = if headers.get(1) == Some(WALKER) { 2 } else { 1 };
        let sites = headers.iter().skip(first).step_by(2).map(|name| name.strip_prefix("lambda ").map(str::to_string));
        let sites: Option<Vec<String>> = sites.collect();
        let Some(sites) = sites.filter(|sites| headers.len() == first + 2 * sites.len()) else {
            return Err(wrong(Some(1), "the header has other columns".into()));
        };
        let n = sites.len();
        let columns = vec![Vec::new(); n];
        let mut series = LambdaSeries { sites, lambda: columns.clone(), dvdl: columns, cut, ..LambdaSeries::default() };
        for record in reader.records() {
            let record = record.map_err(|e| {
                wrong(e.position().map(csv::Position::line), "the line has another number of columns".into())
            })?;
            let numbers: std::result::Result<Vec<f64>, _> = record.iter().map(str::parse).collect();
            let line = record.position().map(csv::Position::line);
            let numbers = numbers.map_err(|_| wrong(line, "found text where a number belongs".into()))?;
            series.add(&numbers, first).map_err(|what| wrong(line, what))?;
        }
        Ok(series)
    }

    /// Adds a line, whose λ start at column `first`; the error says what is wrong with it.
    fn add(&mut self, numbers: &[f64], first: usize) -> std::result::Result<(), String> {
        let time = numbers[0];
        if !time.is_finite() || self.time.last().is_some_and(|&before| time <= before) {
            let before = self.time.last().map_or(String::new(), |before| format!(" after {before} ps"));
            return Err(format!("the time is {time} ps{before}: times must rise, a line is doubled or out of order"));
        }
        self.time.push(time);
        if first == 2 {
            let walker = numbers[1];
            if walker.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&walker) {
                return Err(format!("the walker is {walker}, and should be a whole number"));
            }
            self.walker.push(walker as u32);
        }
        for (site, pair) in numbers[first..].chunks_exact(2).enumerate() {
            if !RANGE.contains(&pair[0]) {
                return Err(format!("λ of {} is {}, far outside of 0 to 1", self.sites[site], pair[0]));
            }
            if !pair[1].is_finite() || pair[1].abs() >= LARGEST_SLOPE {
                return Err(format!(
                    "∂V/∂λ of {} is {} kJ/mol, and should be below 1e6 in size",
                    self.sites[site], pair[1]
                ));
            }
            self.lambda[site].push(pair[0]);
            self.dvdl[site].push(pair[1]);
        }
        Ok(())
    }

    /// The frames up to a time (ps).
    #[must_use]
    pub fn until(&self, time: f64) -> LambdaSeries {
        self.only(|index| self.time[index] <= time + 1e-6)
    }

    /// The series without its frames up to and including `time` (ps).
    #[must_use]
    pub fn after(&self, time: f64) -> LambdaSeries {
        self.only(|index| self.time[index] > time + 1e-9)
    }

    /// The frames that are wanted.
    fn only(&self, wanted: impl Fn(usize) -> bool) -> LambdaSeries {
        let kept: Vec<usize> = (0..self.time.len()).filter(|&index| wanted(index)).collect();
        let of = |column: &Vec<f64>| kept.iter().map(|&index| column[index]).collect();
        LambdaSeries {
            time: of(&self.time),
            sites: self.sites.clone(),
            lambda: self.lambda.iter().map(of).collect(),
            dvdl: self.dvdl.iter().map(of).collect(),
            walker: kept.iter().filter_map(|&index| self.walker.get(index).copied()).collect(),
            cut: self.cut,
        }
    }

    /// The longest regular time between two frames (ps): one that occurs twice in a row. A single longer one is a gap. `None` with fewer than
    /// two frames.
    pub fn interval(&self) -> Option<f64> {
        let apart: Vec<f64> = self.time.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let regular = apart.windows(2).filter(|pair| same(pair[0], pair[1])).map(|pair| pair[0]);
        regular.reduce(f64::max).or_else(|| apart.iter().copied().reduce(f64::min))
    }

    /// Frames at intervals of `interval` (ps), and the number of intervals in which there is none. A series that has this interval throughout
    /// stays as it is.
    #[must_use]
    pub fn evenly(&self, interval: f64) -> (LambdaSeries, usize) {
        let Some(&first) = self.time.first() else { return (self.clone(), 0) };
        // Cells begin where the interval is first kept, so that its own frames stand at their beginnings.
        let regular = self.time.windows(2).find(|pair| same(pair[1] - pair[0], interval));
        let start = regular.map_or(first, |pair| pair[0]);
        let place = |index: usize| (self.time[index] - start) / interval + SAME;
        let cell = |index: usize| place(index).floor();
        // A cell of which only a part lies in the series would count too much.
        let whole = |index: usize| cell(index) > cell(0) || place(0) - cell(0) < 2.0 * SAME;
        let kept = |index: usize| whole(index) && (index == 0 || cell(index) != cell(index - 1));
        let even = self.only(kept);
        let cells: Vec<f64> = (0..self.time.len()).filter(|&index| kept(index)).map(cell).collect();
        let spanned = cells.first().zip(cells.last()).map_or(0.0, |(first, last)| last - first + 1.0);
        let missing = spanned as usize - cells.len();
        (even, missing)
    }
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * a.max(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "time (ps),lambda A,dV/dlambda A (kJ/mol)\n";

    fn read(text: &str) -> Result<LambdaSeries> {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("lambda.csv");
        std::fs::write(&path, text).unwrap();
        LambdaSeries::read(&path)
    }

    fn series(times: &[f64]) -> LambdaSeries {
        read(&(HEAD.to_string() + &times.iter().map(|t| format!("{t},0.5,1\n")).collect::<String>())).unwrap()
    }

    #[test]
    fn what_no_run_writes_is_refused_with_its_line() {
        for (lines, expected) in [
            ("0,0.1,2\n1,x,2\n", "line 3: found text"),
            ("0,0.1\n", "line 2: the line has another number"),
            ("0,0.1,2\n1,0.1,2\n1,0.1,2\n", "line 4: the time is 1 ps after 1 ps: times must rise"),
            ("0,0.1,2\n2,0.1,2\n1,0.1,2\n", "line 4: the time is 1 ps after 2 ps"),
            ("NaN,0.1,2\n", "line 2: the time is NaN"),
            ("0,7,2\n", "line 2: λ of A is 7, far outside of 0 to 1"),
            ("0,NaN,2\n", "line 2: λ of A is NaN"),
            ("0,0.1,2\n1,0.1,NaN\n", "line 3: ∂V/∂λ of A is NaN"),
            ("0,0.1,-inf\n", "line 2: ∂V/∂λ of A is -inf"),
            ("0,0.1,1e9\n", "line 2: ∂V/∂λ of A is 1000000000 kJ/mol, and should be below 1e6 in size"),
        ] {
            let message = read(&format!("{HEAD}{lines}")).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        assert!(read("a,b\n").unwrap_err().to_string().contains("line 1: the header"));
        let walkers =
            |walker: &str| read(&format!("time (ps),walker,lambda A,dV/dlambda A (kJ/mol)\n0,{walker},0.1,2\n"));
        assert_eq!(walkers("3").unwrap().walker, [3]);
        for walker in ["NaN", "1.5", "-1", "5000000000"] {
            let message = walkers(walker).unwrap_err().to_string();
            assert!(message.contains("line 2: the walker is "), "{message}");
        }
    }

    /// The run may be writing it: half of "-3.0456" is a number as well.
    #[test]
    fn an_incomplete_line_is_not_counted() {
        let found = read(&format!("{HEAD}0,0.1,2\n0.1,0.2,-3.0")).unwrap();
        assert_eq!((found.time, found.cut), (vec![0.0], true));
        assert!(!read(&format!("{HEAD}0,0.1,2\r\n")).unwrap().cut);
    }

    #[test]
    fn frames_stand_for_equal_times() {
        let steady = series(&[0.0, 0.1, 0.2, 0.3, 0.4]);
        assert_eq!((steady.interval(), steady.evenly(0.1)), (Some(0.1), (steady.clone(), 0)));
        // Changed from 0.1 to 0.5 ps on the way, and back.
        let changed = series(&[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 1.5, 2.0, 2.1, 2.2]);
        let interval = changed.interval().unwrap();
        assert!(same(interval, 0.5));
        let (even, missing) = changed.evenly(interval);
        assert_eq!((even.time, missing), (vec![0.0, 0.5, 1.0, 1.5, 2.0], 0));
        // A gap is none of its own intervals.
        let gap = series(&[0.0, 0.1, 0.2, 0.7, 0.8, 0.9]);
        assert!(same(gap.interval().unwrap(), 0.1));
        let (even, missing) = gap.evenly(0.1);
        assert_eq!((even.time.len(), missing), (6, 4));
        assert_eq!(series(&[1.0]).interval(), None);
        assert_eq!(series(&[1.0, 3.0]).interval(), Some(2.0));
    }
}
