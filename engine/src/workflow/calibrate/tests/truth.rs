//! Runs of a calibration drawn from a known free energy, and what may be wrong with them.

use super::super::*;
use crate::checkpoint::{Checkpoint, Identity};
use crate::record::{Description, FormRecord, Kind, SiteRecord};
use crate::state::State;
use forcefield::units::GAS_CONSTANT;
use lambda::bias::SimplexBasis;
use lambda::library::Entry;
use nalgebra::Vector3;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};
use std::collections::BTreeMap;
use std::fmt::Write;

const RT: f64 = GAS_CONSTANT * 300.0;

/// Free energy along λ of a site, or of one molecule of a buffer.
pub struct Truth {
    pub basis: SimplexBasis,
    pub coefficients: Vec<f64>,
    pub molecules: f64,
    /// Added to every ∂V/∂λ of the windows.
    pub wrong: f64,
    pub fault: Fault,
}

/// What is wrong with the runs.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Fault {
    #[default]
    None,
    /// ⟨∂V/∂λ⟩ of every window moves on by so much (kJ/mol) until its runs end.
    Drift(f64),
    /// The same of one window.
    OneDrifts(f64),
    /// The second start of every window is off by so much.
    Starts(f64),
    /// Every run of a window is off by a number of this standard deviation, because it keeps a conformation.
    Conformations(f64),
    /// A wave in λ of this size that no polynomial of the degree follows.
    Wave(f64),
    /// Free runs of so many rounds move to the last form while they last, by so much (kJ/mol).
    Moving(usize, f64),
    /// Free runs of so many rounds keep the last form off or draw it, each by a number of this standard deviation (kJ/mol), because each keeps a conformation.
    Kept(usize, f64),
}

impl Truth {
    fn free_energy(&self, coefficients: &[f64], weights: &[f64]) -> f64 {
        self.basis.values(weights).iter().zip(coefficients).map(|(b, c)| b * c * self.molecules).sum()
    }

    /// Weights and derivatives of the frames of a run.
    fn frames(&self, child: &Child, plan: &CalibrationPlan, count: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
        let mut rng = ChaCha8Rng::seed_from_u64(child.config.dynamics.seed);
        let n = self.basis.n_forms();
        let start_of = |window: usize| plan.runs(window).position(|run| run.config.folder() == child.config.folder());
        let held = (0..plan.windows.len()).find_map(|window| Some((window, start_of(window)?)));
        let gradient = |w: &[f64], shift: f64, rng: &mut ChaCha8Rng| -> Vec<f64> {
            let g = self.basis.gradients(w);
            let one = |form: usize| {
                let noise: f64 = StandardNormal.sample(rng);
                let exact: f64 = (0..self.coefficients.len()).map(|k| self.coefficients[k] * g[k * n + form]).sum();
                exact * self.molecules + 5.0 * noise + if form > 0 { shift } else { 0.0 }
            };
            (0..n).map(one).collect()
        };
        if let Some((index, start)) = held {
            let w = &plan.windows[index];
            let own: f64 = StandardNormal.sample(&mut rng);
            let shift = |frame: usize| match self.fault {
                Fault::Conformations(size) => size * own,
                Fault::Drift(size) => size * frame as f64 / count as f64,
                Fault::OneDrifts(size) if index == 3 => size * frame as f64 / count as f64,
                Fault::Starts(size) => size * start as f64,
                Fault::Wave(size) => size * (25.0 * w[n - 1]).sin(),
                _ => 0.0,
            };
            return (0..count).map(|k| (w.clone(), gradient(w, self.wrong + shift(k), &mut rng))).collect();
        }
        let titration = child.config.titration.as_ref().unwrap();
        if titration.sites.iter().any(|site| site.fixed.is_some()) {
            // It looks for conformations, and nobody reads what it says of λ.
            return Vec::new();
        }
        let text = std::fs::read_to_string(&titration.library[0]).unwrap();
        let entry = Entry::from_toml(&text, "round").unwrap();
        let bias = entry.own_correction(plan.target.elsewhere.as_deref()).unwrap().calibration().unwrap().clone();
        assert_eq!(bias.degree, self.basis.degree());
        let energy =
            |w: &[f64]| (self.free_energy(&self.coefficients, w) - self.free_energy(&bias.coefficients, w)) / RT;
        let round = child.config.folder().parent().unwrap().file_name().unwrap().to_str().unwrap();
        let round: usize = round.trim_start_matches("round_").parse().unwrap();
        let mut now = vec![1.0 / n as f64; n];
        let mut frames = Vec::new();
        let own: f64 = StandardNormal.sample(&mut rng);
        for frame in 0..8 * count {
            // In the second half of the run the last form has so much less, which as much too much in the first half takes back on the whole.
            let size = match self.fault {
                Fault::Moving(rounds, size) if round <= rounds => size,
                _ => 0.0,
            };
            let kept = match self.fault {
                Fault::Kept(rounds, size) if round <= rounds => size * own / RT,
                _ => 0.0,
            };
            let tilt = kept + size / RT * if frame < 4 * count { 1.0 } else { -1.0 };
            let energy = |w: &[f64]| energy(w) + tilt * w[n - 1];
            for _ in 0..3 {
                let noise: Vec<f64> = (0..n).map(|_| -> f64 { StandardNormal.sample(&mut rng) }).collect();
                let mean = noise.iter().sum::<f64>() / n as f64;
                let next: Vec<f64> = now.iter().zip(&noise).map(|(w, r)| w + 0.2 * (r - mean)).collect();
                let chance: f64 = StandardUniform.sample(&mut rng);
                if next.iter().all(|&w| w > -0.03) && chance.ln() < energy(&now) - energy(&next) {
                    now = next;
                }
            }
            frames.push((now.clone(), gradient(&now, 0.0, &mut rng)));
        }
        frames
    }

    /// Writes what a run would have written.
    pub fn run(&self, child: &Child, plan: &CalibrationPlan) {
        let (config, n) = (&child.config, self.basis.n_forms());
        let folder = config.folder();
        std::fs::create_dir_all(folder).unwrap();
        let forms = plan.target.entry.forms.iter();
        let forms = forms.map(|form| FormRecord { name: form.name.clone(), ..FormRecord::default() }).collect();
        let buffer = plan.target.site_name().is_none();
        let name = if buffer { "buffer" } else { "HIS 5" };
        let kind = if buffer { Kind::Buffer } else { Kind::Titratable };
        let molecules = if buffer { vec![1; self.molecules as usize] } else { Vec::new() };
        let record = SiteRecord { name: name.into(), kind, forms, molecules, ..SiteRecord::default() };
        let description = Description { sites: vec![record.clone()], temperature: 300.0, ..Description::default() };
        crate::output::sites::write(&config.result(files::SITES), &description).unwrap();
        let mut text = String::from("time (ps)");
        for column in record.columns() {
            let _ = write!(text, ",lambda {column},dV/dlambda {column} (kJ/mol)");
        }
        text.push('\n');
        for (frame, (w, g)) in self.frames(child, plan, 400).iter().enumerate() {
            let _ = write!(text, "{frame}");
            match n {
                2 => {
                    let _ = write!(text, ",{:.6},{:.4}", w[1], g[1] - g[0]);
                }
                _ => (0..n).for_each(|k| {
                    let _ = write!(text, ",{:.6},{:.4}", w[k], g[k]);
                }),
            }
            text.push('\n');
        }
        std::fs::write(config.result(files::LAMBDA), text).unwrap();
        std::fs::write(config.result(files::FINAL), "").unwrap();
        let identity = Identity::default();
        let state = State { step: config.steps(), positions: vec![Vector3::zeros()], ..State::default() };
        Checkpoint { state, identity, written: BTreeMap::new() }.save(folder).unwrap();
    }

    /// Runs everything; titles of the rounds.
    pub fn go(&self, plan: &CalibrationPlan) -> Vec<String> {
        plan.batch.children.iter().for_each(|child| self.run(child, plan));
        let mut titles = Vec::new();
        for number in 1..100 {
            let Some(stage) = plan.stage(number).unwrap() else { break };
            for child in &stage.children {
                assert!(!child.finished().unwrap());
                child.keep_start().unwrap();
                // What is planned must be a job that can be read.
                let text = child.config.to_toml().unwrap();
                Config::parse(&text, child.config.path()).unwrap();
                self.run(child, plan);
                assert!(child.finished().unwrap());
            }
            titles.push(stage.title);
        }
        titles
    }
}
