//! Computed pKa values against measured ones, and against the null model: that every group has the pKa of its model compound.
//!
//! A site and a measured value belong together if residue (whatever the name of its form is), number, insertion letter and chain are the same. `place` of a site in the job
//! says which these are. Without it they are those of its name: `2:GLU 5` is of chain B, the second molecule, and a name without a molecule is of any chain.
//!
//! Differences are computed minus measured. Bounds, on either side, have none: they agree or not, as far as one can say. Two sites with two
//! measured steps each titrate together: the steps are compared with the macroscopic pKa values of the pair and are left out of the averages, too, since
//! the null model has none.

mod matching;
mod statistics;

pub use statistics::{Averages, Largest, Statistics};

use super::measured::{Constant, Measured};
use super::pka::{Evaluation, SiteResult};
use crate::error::Result;
use crate::record::OF_BOTH;
use lambda::analysis::determined::Determined;
use std::path::{Path, PathBuf};

/// Computed values and the measured ones that belong to them.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// File of the measured values.
    pub file: PathBuf,
    /// Entry by which its rows were chosen, if one was.
    pub entry: Option<String>,
    /// One for each value of each site that was measured, in the order of the sites.
    pub rows: Vec<Compared>,
    /// Averages of what has a difference: of all, and of some.
    pub statistics: Vec<Statistics>,
    /// Sites, and steps of sites, without a measured value.
    pub unmeasured: Vec<String>,
    /// Measured values without a site: group, and what was measured.
    pub without_site: Vec<(String, String)>,
}

/// A computed value and a measured one.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Name of the site, or of its step.
    pub site: String,
    /// The group as the table has it.
    pub group: String,
    /// Whether it is an acid, a histidine or an end.
    pub is_usual: bool,
    /// Computed pKa; in solution, if that was asked for.
    pub computed: Determined,
    /// Whether the computed value lies outside the pH values of the runs, from where it was extrapolated.
    pub is_extrapolated: bool,
    /// Whether the runs of the site have converged.
    pub is_converged: bool,
    /// Measured pKa, a value or a bound.
    pub measured: Constant,
    /// pKa of the model compound.
    pub model: Option<f64>,
    /// What the two say of each other.
    pub verdict: Verdict,
}

/// What a computed and a measured pKa say of each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// Two values: computed minus measured.
    Difference(f64),
    /// A step of two sites that titrate together: computed minus measured, left out of averages.
    Step(f64),
    /// One of them is a bound, and both hold.
    Met,
    /// One of them is a bound, and both cannot hold.
    Missed,
    /// One cannot say.
    Open,
}

impl Comparison {
    /// Puts the measured values of a file beside those of an evaluation.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if two measured values belong to one site.
    pub fn new(evaluation: &Evaluation, measured: &[Measured], file: &Path) -> Result<Self> {
        let of_site = matching::of_sites(evaluation, measured).map_err(|error| (*error).in_file(file))?;
        let mut rows = Vec::new();
        let mut unmeasured = Vec::new();
        for (index, site) in evaluation.sites.iter().enumerate() {
            match of_site[index] {
                None => unmeasured.push(site.record.name.clone()),
                Some(value) => {
                    let partner = partner(evaluation, index, &of_site);
                    let (compared, left) = compare(evaluation, site, value, partner);
                    rows.extend(compared);
                    unmeasured.extend(left);
                }
            }
        }
        let used = |one: &Measured| of_site.iter().flatten().any(|used| std::ptr::eq(*used, one));
        let lonely = measured.iter().filter(|one| !used(one));
        let without_site = lonely.map(|one| (one.place.to_string(), one.constant.to_string())).collect();
        let statistics = statistics::of(&rows);
        Ok(Self { file: file.to_path_buf(), entry: None, rows, statistics, unmeasured, without_site })
    }

    /// How many bounds are met, missed, and open.
    pub fn bounds(&self) -> [usize; 3] {
        [Verdict::Met, Verdict::Missed, Verdict::Open]
            .map(|wanted| self.rows.iter().filter(|row| row.verdict == wanted).count())
    }
}

/// Whether two groups titrate in two steps of both together.
fn is_coupled(value: &Measured) -> bool {
    matches!(&value.constant, Constant::Steps(steps) if steps.len() == 2)
}

/// The site that titrates together with this one: of those that were measured in two steps, too, the one it feels most. With the macroscopic pKa
/// values of both.
fn partner<'a>(
    evaluation: &'a Evaluation,
    index: usize,
    of_site: &[Option<&Measured>],
) -> Option<(&'a SiteResult, [Determined; 2])> {
    let coupled = |site: usize| of_site[site].is_some_and(is_coupled);
    let pairs =
        evaluation.pairs.iter().filter(|pair| pair.sites.contains(&index) && pair.sites.iter().all(|&s| coupled(s)));
    let felt = |correlation: Determined| correlation.value().map_or(0.0, f64::abs);
    let most = pairs.max_by(|a, b| felt(a.pair.correlation).total_cmp(&felt(b.pair.correlation)))?;
    let other = most.sites[usize::from(most.sites[0] == index)];
    Some((&evaluation.sites[other], most.pair.macroscopic))
}

/// The rows of a site, and what of it was not measured.
fn compare(
    evaluation: &Evaluation,
    site: &SiteResult,
    value: &Measured,
    partner: Option<(&SiteResult, [Determined; 2])>,
) -> (Vec<Compared>, Vec<String>) {
    let (steps, ph) = (&site.titration.macroscopic, &evaluation.ph);
    let is_converged = site.diagnostics.reasons.is_empty();
    let row = |site: String, in_box: Determined, measured: Constant, model: Option<f64>| {
        let computed = evaluation.in_solution(in_box).unwrap_or(in_box);
        Compared {
            site,
            group: value.place.to_string(),
            is_usual: value.place.group.is_usual(),
            verdict: verdict(computed, &measured),
            is_extrapolated: in_box.value().is_some_and(|pka| !(ph[0]..=ph[ph.len() - 1]).contains(&pka)),
            computed,
            is_converged,
            measured,
            model,
        }
    };
    let computed = |step: usize| site.fit(step).pka;
    let model = |step: usize| site.reference(steps[step].from, steps[step].to);
    let single = |&(value, error): &(f64, Option<f64>)| Constant::Value { value, error };
    match (&value.constant, partner) {
        // A group with several protons: step by step.
        (Constant::Steps(several), _) if steps.len() > 1 => {
            let rows = several.iter().take(steps.len()).enumerate();
            let rows = rows.map(|(k, one)| row(site.step_name(k), computed(k), single(one), model(k))).collect();
            (rows, (several.len()..steps.len()).map(|k| site.step_name(k)).collect())
        }
        (Constant::Steps(several), Some((other, macroscopic))) => {
            let name = |k: usize| format!("{}, {}{OF_BOTH}{}", site.record.name, ["1st", "2nd"][k], other.record.name);
            let rows = several.iter().zip(macroscopic).enumerate().map(|(k, (one, computed))| {
                let mut row = row(name(k), computed, single(one), None);
                row.verdict = match row.verdict {
                    Verdict::Difference(difference) => Verdict::Step(difference),
                    other => other,
                };
                row
            });
            (rows.collect(), Vec::new())
        }
        (one, _) => {
            let rows = vec![row(site.step_name(0), computed(0), one.clone(), model(0))];
            (rows, (1..steps.len()).map(|k| site.step_name(k)).collect())
        }
    }
}

/// What two pKa values say of each other.
fn verdict(computed: Determined, measured: &Constant) -> Verdict {
    if let (Some(computed), Constant::Value { value, .. }) = (computed.value(), measured) {
        return Verdict::Difference(computed - value);
    }
    let everything = [f64::NEG_INFINITY, f64::INFINITY];
    let computed = match computed {
        // Nearer to a bound than its error a value says nothing about it.
        Determined::Value { value, error } => [value - error, value + error],
        Determined::Between(low, high) => [low, high],
        Determined::AtLeast(low) => [low, f64::INFINITY],
        Determined::AtMost(high) => [f64::NEG_INFINITY, high],
        Determined::Unknown => everything,
    };
    let measured = match *measured {
        Constant::Value { value, .. } => [value; 2],
        Constant::Below(high) => [f64::NEG_INFINITY, high],
        Constant::Above(low) => [low, f64::INFINITY],
        Constant::Steps(_) => everything,
    };
    let within = |inner: [f64; 2], outer: [f64; 2]| outer[0] <= inner[0] && inner[1] <= outer[1];
    if computed[1] < measured[0] || measured[1] < computed[0] {
        Verdict::Missed
    } else if measured == everything || computed == everything {
        Verdict::Open
    } else if within(computed, measured) || (measured[0] == measured[1] && within(measured, computed)) {
        Verdict::Met
    } else {
        Verdict::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_met_missed_or_open() {
        let value = |value| Determined::Value { value, error: 0.1 };
        let four = Constant::Value { value: 4.0, error: None };
        assert_eq!(verdict(value(4.5), &four), Verdict::Difference(0.5));
        assert_eq!(verdict(Determined::AtLeast(3.0), &four), Verdict::Met);
        assert_eq!(verdict(Determined::AtLeast(5.0), &four), Verdict::Missed);
        assert_eq!(verdict(Determined::Between(3.0, 5.0), &four), Verdict::Met);
        assert_eq!(verdict(Determined::Unknown, &four), Verdict::Open);
        let (below, above) = (Constant::Below(2.2), Constant::Above(11.0));
        assert_eq!([verdict(value(2.0), &below), verdict(value(2.4), &below)], [Verdict::Met, Verdict::Missed]);
        assert_eq!([verdict(value(2.15), &below), verdict(value(2.25), &below)], [Verdict::Open; 2]);
        assert_eq!([verdict(value(11.2), &above), verdict(value(9.0), &above)], [Verdict::Met, Verdict::Missed]);
        assert_eq!(verdict(Determined::AtMost(1.0), &below), Verdict::Met);
        // At most 3 says neither that it lies below 2.2 nor that it does not.
        assert_eq!(verdict(Determined::AtMost(3.0), &below), Verdict::Open);
        assert_eq!(verdict(Determined::AtMost(3.0), &above), Verdict::Missed);
        assert_eq!(verdict(Determined::AtLeast(1.0), &below), Verdict::Open);
        assert_eq!(verdict(value(4.0), &Constant::Steps(vec![(2.0, None), (6.0, None)])), Verdict::Open);
    }
}
