//! pKa values in solution, from those in a box: without what the size of the box does to them.
//!
//! Around a charged protein the box makes pKa values come out too high or too low (`python/octitrate/finite_box.py` says why and by how much). `octitrate prepare`
//! writes a table of it, `finite_box.csv`: too high by how much, after how many protons are lost. The mean number that is lost at each pH comes from the runs. What acts on
//! a group is the mean potential of the protein, so that a pKa in the box is one in solution after the shift at the pH of that pKa is taken off.

use super::pka::Evaluation;
use super::runs::Run;
use crate::error::{Error, InputError, Result};
use crate::record::SiteRecord;
use lambda::analysis::determined::Determined;
use std::path::{Path, PathBuf};

/// Columns of the table that are needed.
const COLUMNS: [&str; 2] = ["protons lost", "too high"];
/// What a table looks like.
const VALID: &str = "valid is the finite_box.csv that octitrate prepare writes";

/// The table: by how much pKa values of a protein come out too high in its box.
#[derive(Debug, Clone, PartialEq)]
pub struct FiniteBox {
    file: PathBuf,
    /// Protons lost of all sites together, rising from 0, and pK units.
    rows: Vec<[f64; 2]>,
}

impl FiniteBox {
    /// Reads the table.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, [`Error::Input`] if it is not understood.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::file(path, "read", e))?;
        let rows = parse(&bytes).map_err(|message| InputError::new(message, VALID).in_file(path))?;
        Ok(Self { file: path.to_path_buf(), rows })
    }

    /// Whether it says the same as another one.
    pub fn is_like(&self, other: &Self) -> bool {
        self.rows == other.rows
    }

    /// Protons that all sites together can lose.
    fn protons(&self) -> f64 {
        self.rows[self.rows.len() - 1][0]
    }
}

fn parse(bytes: &[u8]) -> std::result::Result<Vec<[f64; 2]>, String> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(bytes);
    let heads = reader.headers().map_err(|e| format!("it is no table: {e}"))?;
    let column = |name: &str| heads.iter().position(|head| head == name);
    let [Some(lost), Some(too_high)] = COLUMNS.map(column) else {
        return Err(format!("it has no columns {:?} and {:?}", COLUMNS[0], COLUMNS[1]));
    };
    let mut rows: Vec<[f64; 2]> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| format!("it is no table: {e}"))?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells = [lost, too_high].map(|column| record.get(column).unwrap_or_default());
        let [Ok(lost), Ok(shift)] = cells.map(str::parse::<f64>) else {
            return Err(format!("line {line}: {:?} and {:?} stand in place of two numbers", cells[0], cells[1]));
        };
        let rises = rows.last().map_or(lost == 0.0, |before| lost > before[0]);
        if !rises || !lost.is_finite() || !shift.is_finite() {
            return Err(format!(
                "line {line}: protons lost must begin with 0 and rise, and here are {lost} and {shift}"
            ));
        }
        rows.push([lost, shift]);
    }
    if rows.len() < 2 { Err("it has fewer than two rows".into()) } else { Ok(rows) }
}

/// From pKa values in the box to those in solution.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// The table.
    pub file: PathBuf,
    /// pH, rising, and by how much pKa values are too high there.
    shifts: Vec<[f64; 2]>,
}

impl Solution {
    /// Of the sites of an evaluation. Those that it leaves out, because runs differ in their corrections, are charges of the protein all the same: the protons that they
    /// lose are counted in the frames.
    ///
    /// # Errors
    /// [`Error::Input`] if the sites together can lose another number of protons than the table says: it is of another system then.
    pub fn new(table: &FiniteBox, evaluation: &Evaluation) -> Result<Self> {
        let most = |site: &super::pka::SiteResult| {
            let steps = &site.titration.macroscopic;
            steps.last().map_or(0.0, |last| f64::from(last.to - steps[0].from))
        };
        let left_out = left_out(evaluation);
        let all = evaluation.sites.iter().map(most).chain(left_out.iter().map(|site| f64::from(protons(site))));
        let protons: f64 = all.sum();
        if protons != table.protons() {
            let message = format!(
                "{} is of a system whose sites lose {} protons together, those of the runs lose {protons}",
                table.file.display(),
                table.protons()
            );
            return Err(Error::input(
                message,
                "use the table of the folder that octitrate prepare made for these runs",
            ));
        }
        let curves: Vec<Vec<[f64; 2]>> = evaluation
            .sites
            .iter()
            .map(|site| {
                let point =
                    |point: &lambda::analysis::titration::PhPoint| Some([point.ph, point.deprotonated? * most(site)]);
                site.titration.points.iter().filter_map(point).collect()
            })
            .chain(left_out.iter().map(|site| counted(site, evaluation)))
            .collect();
        let lost = |ph: f64| curves.iter().map(|curve| interpolated(curve, ph)).sum::<f64>();
        let shifts = evaluation.ph.iter().map(|&ph| [ph, interpolated(&table.rows, lost(ph))]).collect();
        Ok(Self { file: table.file.clone(), shifts })
    }

    /// A pKa in solution, from that in the box.
    pub fn of(&self, pka: Determined) -> Determined {
        let moved = |pka: f64| pka - interpolated(&self.shifts, pka);
        match pka {
            Determined::Value { value, error } => Determined::Value { value: moved(value), error },
            Determined::Between(low, high) => Determined::Between(moved(low), moved(high)),
            Determined::AtLeast(low) => Determined::AtLeast(moved(low)),
            Determined::AtMost(high) => Determined::AtMost(moved(high)),
            Determined::Unknown => Determined::Unknown,
        }
    }

    /// `0.07 to 0.21`, or `less than 0.01`: what is taken off, between the pH values.
    pub fn range(&self) -> String {
        let all = || self.shifts.iter().map(|[_, shift]| *shift);
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        if low.abs().max(high.abs()) < 0.005 {
            return "less than 0.01".into();
        }
        format!("{low:.2} to {high:.2}").replace('-', "−")
    }
}

/// Sites that titrate in the runs and are left out of the evaluation.
fn left_out(evaluation: &Evaluation) -> Vec<&SiteRecord> {
    let mut found: Vec<&SiteRecord> = Vec::new();
    for site in evaluation.runs.iter().flat_map(Run::titrating) {
        let known = evaluation.sites.iter().map(|one| &one.record).chain(found.iter().copied());
        if known.into_iter().all(|known| known.name != site.name) {
            found.push(site);
        }
    }
    found
}

/// The fewest protons that a form of a site has lost.
fn fewest(site: &SiteRecord) -> u32 {
    site.forms.iter().map(|form| form.protons_lost).min().unwrap_or(0)
}

/// Protons that a site can lose.
fn protons(site: &SiteRecord) -> u32 {
    site.forms.iter().map(|form| form.protons_lost).max().unwrap_or(0) - fewest(site)
}

/// pH, and the mean number of protons that a site has lost in the frames of the runs there.
fn counted(site: &SiteRecord, evaluation: &Evaluation) -> Vec<[f64; 2]> {
    let at = |ph: f64| {
        let having = evaluation.runs.iter().filter(|run| run.ph == ph).filter_map(|run| run.weights(&site.name));
        let (mut frames, mut lost) = (0, 0.0);
        for weights in having {
            frames += weights[0].len();
            for (form, weights) in site.forms.iter().zip(&weights) {
                lost += f64::from(form.protons_lost - fewest(site)) * weights.iter().sum::<f64>();
            }
        }
        (frames > 0).then(|| [ph, lost / frames as f64])
    };
    evaluation.ph.iter().filter_map(|&ph| at(ph)).collect()
}

/// y at x, between points with rising x; beyond them that of the last, 0 without any.
fn interpolated(points: &[[f64; 2]], x: f64) -> f64 {
    let behind = points.partition_point(|point| point[0] < x);
    match (behind.checked_sub(1).map(|k| points[k]), points.get(behind)) {
        (Some([x0, y0]), Some(&[x1, y1])) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (Some([_, y]), None) | (None, Some(&[_, y])) => y,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"# of a test\nprotons lost,charge of the protein,too high\n0,8,0.20\n2,6,0.16\n4,4,0.08\n";

    /// Between the pH values 2, 4 and 6 with 0, 1 and 3 protons lost the shifts are 0.20, 0.18 and 0.12: a pKa of 3 is too high by 0.19.
    #[test]
    fn a_pka_in_the_box_becomes_one_in_solution_by_the_shift_at_its_ph() {
        let rows = parse(TABLE).unwrap();
        let lost = [[2.0, 0.0], [4.0, 1.0], [6.0, 3.0]];
        let shifts = lost.map(|[ph, lost]| [ph, interpolated(&rows, lost)]).to_vec();
        let solution = Solution { file: PathBuf::new(), shifts };
        let value = |value| Determined::Value { value, error: 0.3 };
        for (pka, expected) in [(3.0, 2.81), (4.0, 3.82), (5.0, 4.85), (1.0, 0.8), (8.0, 7.88)] {
            let found = solution.of(value(pka));
            assert!(
                (found.value().unwrap() - expected).abs() < 1e-12 && found.error() == Some(0.3),
                "{pka}: {found:?}"
            );
        }
        assert_eq!(solution.of(Determined::AtMost(2.0)), Determined::AtMost(1.8));
        assert_eq!(solution.range(), "0.12 to 0.20");
        let neutral = Solution { file: PathBuf::new(), shifts: vec![[2.0, -0.001], [6.0, 0.004]] };
        assert_eq!(neutral.range(), "less than 0.01");
    }

    #[test]
    fn tables_that_cannot_be_understood_are_refused() {
        let refused = |text: &str| parse(text.as_bytes()).unwrap_err();
        assert!(refused("a,b\n1,2\n").contains("no columns"));
        assert!(refused("protons lost,too high\n0,0.1\n").contains("fewer than two rows"));
        let words = refused("# of a test\nprotons lost,too high\n0,0.1\n3,x\n");
        assert!(words.contains("line 4: \"3\" and \"x\" stand in place of two numbers"), "{words}");
        for rows in ["1,0.1\n2,0.2\n", "0,0.1\n2,0.2\n2,0.3\n", "0,nan\n1,0.2\n"] {
            assert!(
                refused(&format!("protons lost,too high\n{rows}")).contains("must begin with 0 and rise"),
                "{rows}"
            );
        }
    }
}
