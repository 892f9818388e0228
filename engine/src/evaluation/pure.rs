//! Frames taken to the pure forms of a site by ∂V/∂λ.
//!
//! With Hamiltonian interpolation V is linear in the weights of a site, so that what it takes to bring a frame at λ to the form α, everything else as it is, is known from
//! that frame alone:
//!
//!   ΔV = Σ_β (δ_αβ − λ_β) ∂V/∂λ_β − F(e_α) + F(λ) + the same of the charge buffer,     V_MM = −F
//!
//! The buffer takes up the charge that the site loses on the way: its λ changes by −Σ_β (δ_αβ − λ_β) q_β over the charge that it takes up from one end to the other, a
//! hundredth or two, over which its V is taken to be linear. So is that of a site's own periodic images, which is quadratic in its charge: 0.1 kJ/mol for a charge of
//! 0.05 e in a box of 7 nm. Frames that are far from the form are too few for their means of exponentials: those with λ_α above
//! [`NEAR`] count, which swing about the form.

use super::runs::Run;
use crate::record::{Kind, SiteRecord};
use forcefield::units::GAS_CONSTANT;
use lambda::analysis::occupancy::State;
use lambda::bias::ModelCorrection;
use lambda::bias::simplex::SimplexBasis;

/// Weight above which a frame is near enough to a form. What it takes to bring frames there scatters by 1.1 RT from here and by 2.1 RT from 0.8 (medians of the
/// standard deviations of 1PGB, 2LZT and 1STN with CHARMM36m), and a mean of exponentials of 2 RT needs some hundred times as many frames.
pub(super) const NEAR: f64 = 0.9;

/// What takes up the charge of the sites in a run whose buffer follows them ([`lambda::library::Conditions::compensation`]).
const FOLLOWS: &str = "buffers";

/// What it takes in units of RT to bring each frame to its form, infinite for those that do not count; `None` if the run does not tell.
pub(super) fn perturbations(run: &Run, site: &SiteRecord, weights: &[Vec<f64>], states: &[State]) -> Option<Vec<f64>> {
    let conditions = site.conditions.as_ref()?;
    let linear = conditions.interpolation == "hamiltonian" && !conditions.images;
    if !linear || site.follows.iter().any(|what| what == "Lennard-Jones") {
        return None;
    }
    let (own, slopes) = (taken_away(site)?, run.slopes(&site.name)?);
    // One that is held, or moves freely, takes up nothing.
    let follows = conditions.compensation == FOLLOWS;
    let buffer = match run.sites.sites.iter().find(|one| follows && one.kind == Kind::Buffer) {
        Some(buffer) => Some(Buffer::new(run, buffer)?),
        None => None,
    };
    let rt = GAS_CONSTANT * run.sites.temperature;
    let perturbation = |(frame, state): (usize, &State)| {
        let Some(form) = state.map(usize::from).filter(|&form| weights[form][frame] > NEAR) else {
            return f64::INFINITY;
        };
        let here: Vec<f64> = weights.iter().map(|one| one[frame]).collect();
        let mut there = vec![0.0; here.len()];
        there[form] = 1.0;
        let way = |k: usize| there[k] - here[k];
        let potential: f64 = (0..here.len()).map(|k| way(k) * slopes[k][frame]).sum();
        let lost: f64 = (0..here.len()).map(|k| way(k) * site.forms[k].charge).sum();
        let buffer = buffer.as_ref().map_or(0.0, |buffer| buffer.takes_up(lost, frame));
        (potential + energy(&own, &there) - energy(&own, &here) + buffer) / rt
    };
    Some(states.iter().enumerate().map(perturbation).collect())
}

/// V_MM of a site as its run recorded it.
fn taken_away(site: &SiteRecord) -> Option<ModelCorrection> {
    let record = site.correction.as_ref()?;
    let basis = SimplexBasis::new(site.forms.len(), record.degree).with_interior(record.interior_degree);
    ModelCorrection::new(basis, &record.coefficients).ok()
}

fn energy(correction: &ModelCorrection, weights: &[f64]) -> f64 {
    correction.evaluate(weights, &mut vec![0.0; weights.len()])
}

/// The charge buffer of a run.
struct Buffer {
    correction: Option<ModelCorrection>,
    lambda: Vec<f64>,
    slopes: Vec<f64>,
    /// Charge from one end to the other, e.
    charge: f64,
}

impl Buffer {
    fn new(run: &Run, record: &SiteRecord) -> Option<Self> {
        let (mut lambda, mut slopes) = (run.weights(&record.name)?, run.slopes(&record.name)?);
        let charge = record.forms.last()?.charge - record.forms.first()?.charge;
        (record.forms.len() == 2 && charge != 0.0).then_some(())?;
        Some(Self { correction: taken_away(record), lambda: lambda.pop()?, slopes: slopes.pop()?, charge })
    }

    /// What it takes that the buffer gives this charge (e) away in a frame, kJ/mol.
    fn takes_up(&self, charge: f64, frame: usize) -> f64 {
        let (here, way) = (self.lambda[frame], -charge / self.charge);
        let bias = self.correction.as_ref().map_or(0.0, |correction| {
            energy(correction, &[1.0 - here - way, here + way]) - energy(correction, &[1.0 - here, here])
        });
        way * self.slopes[frame] + bias
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::series::LambdaSeries;
    use crate::output::sites::SitesFile;
    use crate::record::{FormRecord, PolynomialRecord};
    use lambda::analysis::occupancy::{OCCUPIED, states};
    use lambda::library::Conditions;
    use std::path::PathBuf;

    /// A site of three forms and a buffer that takes up what it loses, in frames at these weights of the site; ∂V/∂λ are 40, −100 and 7 kJ/mol of the forms, of
    /// the buffer 50.
    fn run(frames: &[[f64; 3]]) -> Run {
        let form = |charge| FormRecord { charge, ..FormRecord::default() };
        let site = SiteRecord {
            name: "HIS 5".into(),
            coordinate: "linear".into(),
            forms: vec![form(1.0), form(0.0), form(0.0)],
            conditions: Some(Conditions {
                interpolation: "hamiltonian".into(),
                compensation: "buffers".into(),
                ..Conditions::default()
            }),
            correction: Some(PolynomialRecord {
                degree: 2,
                interior_degree: 0,
                coefficients: vec![-60.0, 20.0, 30.0, 0.0, 5.0],
            }),
            ..SiteRecord::default()
        };
        let buffer = SiteRecord {
            name: "buffer".into(),
            kind: Kind::Buffer,
            coordinate: "linear".into(),
            forms: vec![form(-2.0), form(2.0)],
            correction: Some(PolynomialRecord { degree: 2, interior_degree: 0, coefficients: vec![12.0, 8.0] }),
            ..SiteRecord::default()
        };
        let column = |form: usize| frames.iter().map(|weights| weights[form]).collect::<Vec<f64>>();
        let all = |value: f64| vec![value; frames.len()];
        let series = LambdaSeries {
            time: (0..frames.len()).map(|frame| frame as f64).collect(),
            lambda: vec![column(0), column(1), column(2), all(0.4)],
            dvdl: vec![all(40.0), all(-100.0), all(7.0), all(50.0)],
            ..LambdaSeries::default()
        };
        let sites = SitesFile { temperature: 300.0, sites: vec![site, buffer], ..SitesFile::default() };
        Run { folder: PathBuf::new(), ph: 6.0, sites, series, ..Run::default() }
    }

    fn found(run: &Run) -> Option<Vec<f64>> {
        let weights = run.weights("HIS 5").unwrap();
        let slices: Vec<&[f64]> = weights.iter().map(Vec::as_slice).collect();
        perturbations(run, &run.sites.sites[0], &weights, &states(&slices, OCCUPIED).unwrap())
    }

    #[test]
    fn frames_near_a_form_are_taken_to_it_with_site_and_buffer() {
        let found = found(&run(&[[0.95, 0.08, -0.03], [0.03, 0.97, 0.0], [0.85, 0.15, 0.0], [0.0, 0.0, 1.0]])).unwrap();
        // F of the site: −60 λ₁ + 20 λ₂ + 30 λ₀λ₁ + 5 λ₁λ₂; of the buffer, by its second form: 12 λ + 8 λ(1 − λ).
        let site = |w: [f64; 3]| -60.0 * w[1] + 20.0 * w[2] + 30.0 * w[0] * w[1] + 5.0 * w[1] * w[2];
        let buffer = |w: f64| 12.0 * w + 8.0 * w * (1.0 - w);
        let rt = GAS_CONSTANT * 300.0;
        // The charge grows by 0.05 e, which 4 e of the buffer take up with λ lower by a fourth of that.
        let first = 0.05 * 40.0 - 0.08 * -100.0 + 0.03 * 7.0 + site([0.95, 0.08, -0.03]) - site([1.0, 0.0, 0.0])
            + -0.0125 * 50.0
            - buffer(0.4 - 0.0125)
            + buffer(0.4);
        assert!((found[0] - first / rt).abs() < 1e-12, "{} {}", found[0], first / rt);
        let second = -0.03 * 40.0 + 0.03 * -100.0 + site([0.03, 0.97, 0.0]) - site([0.0, 1.0, 0.0]) + 0.0075 * 50.0
            - buffer(0.4 + 0.0075)
            + buffer(0.4);
        assert!((found[1] - second / rt).abs() < 1e-12, "{} {}", found[1], second / rt);
        // Above the threshold and too far from the form; at a form.
        assert_eq!(found[2..], [f64::INFINITY, 0.0]);
    }

    /// A buffer with `fixed` or `neutral = false` stays where it is while a site goes to its form: what the site loses is all that it takes.
    #[test]
    fn a_buffer_that_does_not_follow_takes_up_nothing() {
        let mut run = run(&[[0.95, 0.08, -0.03]]);
        run.sites.sites[0].conditions.as_mut().unwrap().compensation = "background".into();
        let with = found(&run);
        run.sites.sites.pop();
        run.series.lambda.pop();
        run.series.dvdl.pop();
        assert!(with.is_some());
        assert_eq!(with, found(&run));
    }

    #[test]
    fn runs_that_do_not_tell_are_left_as_they_are() {
        let told = run(&[[1.0, 0.0, 0.0]]);
        assert!(found(&told).is_some());
        type Change = fn(&mut Run);
        let changes: [Change; 6] = [
            |run| run.sites.sites[0].correction = None,
            |run| run.sites.sites[0].conditions = None,
            |run| run.sites.sites[0].conditions.as_mut().unwrap().interpolation = "charge".into(),
            |run| run.sites.sites[0].conditions.as_mut().unwrap().images = true,
            |run| run.sites.sites[0].follows = vec!["bonded terms".into(), "Lennard-Jones".into()],
            |run| run.sites.sites[1].forms.truncate(1),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut other = told.clone();
            change(&mut other);
            assert_eq!(found(&other), None, "{index}");
        }
    }
}
