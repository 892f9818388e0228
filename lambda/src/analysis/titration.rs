//! The pKa values of a site, with errors, from its states at several pH values.
//!
//! Every series is counted and its independent samples are estimated ([`super::counted`]); populations are those of the pure forms, at each pH from its
//! own frames and from the frames of all pH values by MBAR ([`super::reweighting`]). Macroscopic: forms of equal protonation are one class; two
//! classes have a Hill curve ([`super::hill`]), more a binding polynomial ([`super::equilibrium`]). Microscopic: every form on its own, and the share
//! of each tautomer.
//!
//! What the data determine is decided by the weighted populations of each pH alone, since MBAR knows a number even where nothing was seen. Values
//! are those of a fit to the populations of MBAR at the pH values there are. Errors are those of a block bootstrap
//! ([`super::bootstrap`]; blocks of five times the statistical inefficiency), and where transitions are few or pH values not connected at least those of
//! the likelihood of the weighted samples (for the pKa that of slope one, because MBAR knows how a curve goes on).
//!
//! Convergence: the macroscopic pKa from weighted populations of the first and of the last part of every series; for two classes that of slope one,
//! which little data determine.

use thiserror::Error;

use super::counted::{Counted, Inefficiency, Resampling, SeriesSummary, StateSeries, samples_of_parts, value_or_nan};
use super::determined::Determined;
use super::equilibrium::{self, Equilibrium, Populations};
use super::hill::{self, HillFit, TitrationPoint};
use super::occupancy::{Occupancy, State, classes};
use super::reweighting::Question;

/// States of one run at one pH, frames at equal intervals that are the same for all series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TitrationSeries<'a> {
    /// pH.
    pub ph: f64,
    /// Form of each frame.
    pub states: &'a [State],
}

/// Why a titration cannot be evaluated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TitrationError {
    /// There are no runs.
    #[error("no series of states")]
    Empty,
    /// A pH is not a finite number.
    #[error("series {index} (counted from 0) has pH {ph}")]
    Ph {
        /// Index of the series.
        index: usize,
        /// Its pH.
        ph: f64,
    },
    /// The site never loses a proton.
    #[error("all forms of the site have lost the same number of protons: it has no pKa")]
    OneClass,
}

/// A site at one pH, all runs together.
#[derive(Clone, Debug, PartialEq)]
pub struct PhPoint {
    /// pH.
    pub ph: f64,
    /// Counts.
    pub occupancy: Occupancy,
    /// Independent samples of the form.
    pub samples: f64,
    /// Population of each pure form, by MBAR where the pH values are connected; `None` if it is not known, all frames being mixed.
    pub populations: Option<Vec<f64>>,
    /// The same from the frames of this pH alone.
    pub weighted: Option<Vec<f64>>,
    /// Interval of one standard error of each population (Wilson 1927, doi:10.1080/01621459.1927.10502953), inside 0…1 also
    /// where that is 0 or 1; from the samples at this pH alone, `None` without any.
    pub intervals: Option<Vec<[f64; 2]>>,
    /// Protons lost beyond the most protonated form, of those there are to lose: the deprotonated fraction of two forms.
    pub deprotonated: Option<f64>,
    /// The same from the weighted frames of this pH alone.
    pub deprotonated_weighted: Option<f64>,
    /// The same from a plain count of these frames.
    pub deprotonated_counted: Option<f64>,
    /// Its interval; for several protons from the spread of their number.
    pub interval: Option<[f64; 2]>,
}

/// Loss of protons, whatever form they come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Macroscopic {
    /// Protons lost before.
    pub from: u32,
    /// Protons lost after.
    pub to: u32,
    /// pKa.
    pub pka: Determined,
    /// Hill slope, for two classes.
    pub slope: Option<Determined>,
    /// pKa of the slope that a site alone has, one for each proton lost ([`Self::alone`]); the same as `pka` for more than two classes.
    pub pka_slope_one: Determined,
    /// The same from the microscopic constants.
    pub from_microscopic: Determined,
    /// pKa and, for two classes, Hill slope from a plain count of the frames.
    pub counted: [Determined; 2],
}

impl Macroscopic {
    /// The Hill slope of a site that feels no other one: one, and as many as are lost where protons are lost together.
    pub fn alone(&self) -> f64 {
        f64::from(self.to - self.from)
    }
}

/// Loss of protons by one form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Microscopic {
    /// Form before.
    pub from: usize,
    /// Form after.
    pub to: usize,
    /// pK.
    pub pk: Determined,
}

/// A titration, evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Titration {
    /// The series in the order given, counted by form.
    pub series: Vec<SeriesSummary>,
    /// Frames per independent sample of the protonation of each series, whatever the form.
    pub inefficiencies: Vec<Inefficiency>,
    /// By ascending pH.
    pub points: Vec<PhPoint>,
    /// Steps of deprotonation.
    pub macroscopic: Vec<Macroscopic>,
    /// Every pair of forms one step apart; for two forms the same as the macroscopic one of slope one.
    pub microscopic: Vec<Microscopic>,
    /// Share of each form among those of the same protonation.
    pub shares: Vec<Determined>,
    /// The binding polynomial of the forms, if it could be fitted.
    pub equilibrium: Option<Equilibrium>,
    /// The Hill curve, for two classes.
    pub hill: Option<HillFit>,
}

/// Classes of equal protonation: protons lost by each class, ascending, and the class of each form.
pub fn protonation(protons: &[u32]) -> (Vec<u32>, Vec<u8>) {
    let mut lost = protons.to_vec();
    lost.sort_unstable();
    lost.dedup();
    let class = protons.iter().map(|d| lost.binary_search(d).unwrap_or(0) as u8).collect();
    (lost, class)
}

/// Evaluates the titration of a site whose forms have lost `protons`; `question` is what the same runs say about this site, and without it frames count
/// as they are.
///
/// # Errors
/// [`TitrationError`] without series, for a pH that is not finite, or forms of one protonation only. Data that determine
/// nothing are no error: the results say so.
pub fn evaluate(
    protons: &[u32],
    series: &[TitrationSeries<'_>],
    question: Option<&Question<'_>>,
    resampling: Resampling,
) -> Result<Titration, TitrationError> {
    let (lost, class) = check(protons, series)?;
    let by_form: Vec<StateSeries<'_>> = series.iter().map(|s| StateSeries { ph: s.ph, states: s.states }).collect();
    let forms = Counted::new(&by_form, protons.len(), question);
    let weighted = equilibrium::fit(forms.weighted(), protons);
    let equilibrium = equilibrium::fit(&forms.populations(), protons);
    let pairs: Vec<(usize, usize)> = (0..protons.len())
        .flat_map(|from| (0..protons.len()).map(move |to| (from, to)))
        .filter(|&(from, to)| class[to] == class[from] + 1)
        .collect();
    // Microscopic constants, then shares, then macroscopic constants from them.
    let numbers = |fitted: Option<&Equilibrium>| -> Vec<Determined> {
        let Some(fitted) = fitted else {
            return vec![Determined::Unknown; pairs.len() + protons.len() + lost.len() - 1];
        };
        let microscopic = pairs.iter().map(|&(from, to)| fitted.microscopic(from, to));
        let shares = (0..protons.len()).map(|form| fitted.share(form));
        microscopic.chain(shares).chain(lost.windows(2).map(|d| fitted.macroscopic(d[0], d[1]))).collect()
    };
    let draws = forms.draws(resampling, |points| {
        numbers(equilibrium::fit(points, protons).as_ref()).into_iter().map(value_or_nan).collect()
    });
    let both = numbers(weighted.as_ref()).into_iter().zip(numbers(equilibrium.as_ref()));
    let number = |(k, (weighted, mbar))| forms.number(weighted, mbar, draws.get(k));
    let found: Vec<Determined> = both.enumerate().map(number).collect();
    let (microscopic, rest) = found.split_at(pairs.len());
    let (shares, from_microscopic) = rest.split_at(protons.len());
    let states: Vec<Vec<State>> = series.iter().map(|s| classes(s.states, &class)).collect();
    let by_class: Vec<StateSeries<'_>> =
        series.iter().zip(&states).map(|(s, states)| StateSeries { ph: s.ph, states }).collect();
    let counted = Counted::new(&by_class, lost.len(), question);
    let (mut macroscopic, hill) = macroscopic(&lost, &counted, from_microscopic, resampling);
    let plain = samples_of_parts(&by_class, &counted.inefficiencies(), None, lost.len(), |frames| 0..frames);
    let fitted = (lost.len() == 2).then(|| curve(&plain, [lost[0], lost[1]])).flatten();
    for (step, slope_one) in macroscopic.iter_mut().zip(steps(&plain, &lost)) {
        step.counted = fitted.as_ref().map_or([slope_one, Determined::Unknown], |fit| [fit.pka, fit.slope]);
    }
    Ok(Titration {
        points: points(&forms, protons, &lost),
        series: forms.series,
        inefficiencies: counted.inefficiencies(),
        macroscopic,
        microscopic: pairs.iter().zip(microscopic).map(|(&(from, to), &pk)| Microscopic { from, to, pk }).collect(),
        shares: shares.to_vec(),
        equilibrium,
        hill,
    })
}

fn check(protons: &[u32], series: &[TitrationSeries<'_>]) -> Result<(Vec<u32>, Vec<u8>), TitrationError> {
    if let Some(index) = series.iter().position(|s| !s.ph.is_finite()) {
        return Err(TitrationError::Ph { index, ph: series[index].ph });
    }
    let (lost, class) = protonation(protons);
    match (series.is_empty(), lost.len()) {
        (true, _) => Err(TitrationError::Empty),
        (_, 0 | 1) => Err(TitrationError::OneClass),
        _ => Ok((lost, class)),
    }
}

fn macroscopic(
    lost: &[u32],
    counted: &Counted,
    from_microscopic: &[Determined],
    resampling: Resampling,
) -> (Vec<Macroscopic>, Option<HillFit>) {
    let populations = counted.populations();
    if lost.len() == 2 {
        let numbers = |fit: &HillFit| [fit.pka, fit.slope, fit.pka_slope_one];
        let unknown = [Determined::Unknown; 3];
        let fitted = |points: &[Populations]| curve(points, [lost[0], lost[1]]);
        let draws = counted
            .draws(resampling, |points| fitted(points).map_or(unknown, |fit| numbers(&fit)).map(value_or_nan).to_vec());
        let fit = fitted(&populations);
        let mut weighted = fitted(counted.weighted()).as_ref().map_or(unknown, numbers);
        let mbar = fit.as_ref().map_or(unknown, numbers);
        if let (Determined::Value { value, .. }, Some(error)) = (weighted[0], weighted[2].error())
            && counted.is_connected()
        {
            weighted[0] = Determined::Value { value, error };
        }
        let [pka, slope, pka_slope_one] = std::array::from_fn(|k| counted.number(weighted[k], mbar[k], draws.get(k)));
        let hill = fit.map(|fit| HillFit { pka, slope, pka_slope_one, ..fit });
        let from_microscopic = from_microscopic.first().copied().unwrap_or(Determined::Unknown);
        let (from, to) = (lost[0], lost[1]);
        let counted = [Determined::Unknown; 2];
        let step = Macroscopic { from, to, pka, slope: Some(slope), pka_slope_one, from_microscopic, counted };
        return (vec![step], hill);
    }
    let numbers = |points: &[Populations]| steps(points, lost);
    let draws = counted.draws(resampling, |points| numbers(points).into_iter().map(value_or_nan).collect());
    let step = |(k, (weighted, mbar)): (usize, (Determined, Determined))| {
        let pka = counted.number(weighted, mbar, draws.get(k));
        let from_microscopic = from_microscopic.get(k).copied().unwrap_or(Determined::Unknown);
        let (from, to) = (lost[k], lost[k + 1]);
        let counted = [Determined::Unknown; 2];
        Macroscopic { from, to, pka, slope: None, pka_slope_one: pka, from_microscopic, counted }
    };
    let both = numbers(counted.weighted()).into_iter().zip(numbers(&populations));
    (both.enumerate().map(step).collect(), None)
}

/// Macroscopic pKa values of slope one from samples of the classes.
fn steps(points: &[Populations], lost: &[u32]) -> Vec<Determined> {
    if lost.len() == 2 {
        return vec![curve(points, [lost[0], lost[1]]).map_or(Determined::Unknown, |fit| fit.pka_slope_one)];
    }
    let fitted = equilibrium::fit(points, lost);
    let sampled = |p: &&Populations| p.samples.iter().sum::<f64>() > 0.0;
    let ends = || points.iter().filter(sampled);
    let (first, last) = (ends().map(|p| p.ph).reduce(f64::min), ends().map(|p| p.ph).reduce(f64::max));
    let seen = |class: usize, ph: Option<f64>| {
        points.iter().any(|p| ph.is_none_or(|ph| p.ph == ph) && p.samples.get(class).is_some_and(|n| *n > 0.0))
    };
    // Of the two classes alone one was never seen.
    let bound = |k: usize| {
        let pair = |p: &Populations| Populations { ph: p.ph, samples: p.samples[k..k + 2].to_vec() };
        let pairs: Vec<Populations> = points.iter().map(pair).collect();
        curve(&pairs, [lost[k], lost[k + 1]]).map_or(Determined::Unknown, |fit| fit.pka)
    };
    let step = |k: usize| match (&fitted, seen(k, None), seen(k + 1, None), first, last) {
        (Some(fitted), true, true, ..) => fitted.macroscopic(lost[k], lost[k + 1]),
        (_, true, false, _, Some(last)) if seen(k, Some(last)) => bound(k),
        (_, false, true, Some(first), _) if seen(k + 1, Some(first)) => bound(k),
        _ => Determined::Unknown,
    };
    (0..lost.len() - 1).map(step).collect()
}

/// The Hill curve of two classes, by how many protons each has lost. With d protons lost together a site alone has 1/(1 + 10^{d (pKa − pH)}), pKa the mean of each proton, so
/// that d pH takes the place of the pH: what is fitted for n = 1 there has the slope d.
fn curve(points: &[Populations], [from, to]: [u32; 2]) -> Option<HillFit> {
    let d = f64::from(to - from);
    let states = two_states(points).into_iter().map(|point| TitrationPoint { ph: d * point.ph, ..point });
    let fit = hill::fit(&states.collect::<Vec<_>>()).ok()?;
    let per_proton = |found: Determined| match found {
        Determined::Value { value, error } => Determined::Value { value: value / d, error: error / d },
        Determined::Between(low, high) => Determined::Between(low / d, high / d),
        Determined::AtLeast(low) => Determined::AtLeast(low / d),
        Determined::AtMost(high) => Determined::AtMost(high / d),
        Determined::Unknown => Determined::Unknown,
    };
    let slope = match fit.slope {
        Determined::Value { value, error } => Determined::Value { value: d * value, error: d * error },
        other => other,
    };
    Some(HillFit { pka: per_proton(fit.pka), slope, pka_slope_one: per_proton(fit.pka_slope_one), ..fit })
}

fn two_states(points: &[Populations]) -> Vec<TitrationPoint> {
    let point = |p: &Populations| {
        let (protonated, deprotonated) = (p.samples[0], p.samples[1]);
        let samples = protonated + deprotonated;
        TitrationPoint { ph: p.ph, deprotonated: if samples > 0.0 { deprotonated / samples } else { 0.0 }, samples }
    };
    points.iter().map(point).collect()
}

/// All series of each pH together: counts and independent samples add up.
fn points(counted: &Counted, protons: &[u32], lost: &[u32]) -> Vec<PhPoint> {
    let series = &counted.series;
    let range = f64::from(lost[lost.len() - 1] - lost[0]);
    let gone = |form: usize| f64::from(protons[form] - lost[0]) / range;
    let moment = |populations: &Option<Vec<f64>>, power: i32| {
        let of = |p: &Vec<f64>| p.iter().enumerate().map(|(form, p)| p * gone(form).powi(power)).sum::<f64>();
        populations.as_ref().map(of).map(|s| s.clamp(0.0, 1.0))
    };
    let share = |samples: &[f64]| {
        let worth: f64 = samples.iter().sum();
        (worth > 0.0).then(|| samples.iter().map(|n| n / worth).collect::<Vec<f64>>())
    };
    let point = |(here, populations): (&Populations, Option<Vec<f64>>)| {
        let (ph, mut occupancy) = (here.ph, Occupancy::default());
        let at = || series.iter().filter(|s| s.ph == ph);
        at().for_each(|s| occupancy.add(&s.occupancy));
        let samples: f64 = at().map(|s| s.samples).sum();
        let (worth, weighted) = (here.samples.iter().sum::<f64>(), share(&here.samples));
        // Samples of this pH alone say how well it knows its populations.
        let known = populations.as_ref().filter(|_| worth > 0.0);
        let intervals = known.map(|p| p.iter().map(|&p| wilson(p, worth)).collect());
        let counts: Vec<f64> = occupancy.forms.iter().map(|&n| n as f64).collect();
        let deprotonated = moment(&populations, 1);
        let interval = deprotonated.zip(moment(&populations, 2)).filter(|_| worth > 0.0).map(|(mean, square)| {
            if lost.len() == 2 {
                return wilson(mean, worth);
            }
            let error = ((square - mean * mean).max(0.0) / worth).sqrt();
            [(mean - error).max(0.0), (mean + error).min(1.0)]
        });
        PhPoint {
            ph,
            samples,
            deprotonated,
            deprotonated_weighted: moment(&weighted, 1),
            deprotonated_counted: moment(&share(&counts), 1),
            occupancy,
            populations,
            weighted,
            intervals,
            interval,
        }
    };
    counted.weighted().iter().zip(counted.shares()).map(point).collect()
}

/// Interval of one standard error for a fraction `s` of `n` samples.
fn wilson(s: f64, n: f64) -> [f64; 2] {
    let centre = (s + 0.5 / n) / (1.0 + 1.0 / n);
    let half = (s * (1.0 - s) / n + 0.25 / (n * n)).sqrt() / (1.0 + 1.0 / n);
    [(centre - half).max(0.0), (centre + half).min(1.0)]
}

/// Macroscopic pKa values from parts of the series.
#[derive(Clone, Debug, PartialEq)]
pub struct Convergence {
    /// Shares of every series that were used.
    pub shares: Vec<f64>,
    /// From the beginning: `[step of deprotonation][share]`.
    pub forward: Vec<Vec<Determined>>,
    /// From the end.
    pub reverse: Vec<Vec<Determined>>,
}

impl Convergence {
    /// pKa of a step from the first and the last half of every series; `None` of an odd number of parts.
    pub fn halves(&self, step: usize) -> Option<[Determined; 2]> {
        let half = self.shares.iter().position(|share| (share - 0.5).abs() < 1e-9)?;
        Some([self.forward.get(step)?[half], self.reverse.get(step)?[half]])
    }
}

/// pKa from 1/n, 2/n … of every series, from the beginning and from the end, with the [`Titration::inefficiencies`] of the whole.
///
/// # Errors
/// As [`evaluate`].
pub fn convergence(
    protons: &[u32],
    series: &[TitrationSeries<'_>],
    question: Option<&Question<'_>>,
    inefficiencies: &[Inefficiency],
    parts: u32,
) -> Result<Convergence, TitrationError> {
    let (lost, class) = check(protons, series)?;
    let states: Vec<Vec<State>> = series.iter().map(|s| classes(s.states, &class)).collect();
    let list: Vec<StateSeries<'_>> =
        series.iter().zip(&states).map(|(s, states)| StateSeries { ph: s.ph, states }).collect();
    let part = |share: f64, reverse: bool| -> Vec<Determined> {
        let range = |frames: usize| {
            let length = ((share * frames as f64).round() as usize).min(frames);
            if reverse { frames - length..frames } else { 0..length }
        };
        steps(&samples_of_parts(&list, inefficiencies, question, lost.len(), range), &lost)
    };
    let shares: Vec<f64> = (1..=parts).map(|k| f64::from(k) / f64::from(parts)).collect();
    let from = |reverse: bool| -> Vec<Vec<Determined>> {
        let found: Vec<Vec<Determined>> = shares.iter().map(|&share| part(share, reverse)).collect();
        (0..lost.len() - 1).map(|step| found.iter().map(|all| all[step]).collect()).collect()
    };
    Ok(Convergence { forward: from(false), reverse: from(true), shares })
}

#[cfg(test)]
mod tests;
