//! What frames that feel V_pH say about pure forms, at any pH: weights of frames.
//!
//! Frames of form α are those with λ_α above a threshold. In the middle of a well V_pH is not what it is at the form, so that plain counts
//! give titration curves that are too flat. With the weight
//!
//!   w_n = e^{v(λ_n; pH) − g_α(pH)},     g_α = ln10 (pK_α − d_α pH),     v = V_pH/RT = Σ_α g_α φ(λ_α)
//!
//! frames of each form lose V_pH, and the form gets its chemical potential instead, whole: P_α ∝ e^{−g_α} ∫_α e^{−F₀/RT} for any V_pH, linear
//! (φ = λ_α) or smoothed (φ: a step), and any coordinate. That is a titration curve of slope one for a site alone. For a smoothed step g_α and not
//! v(e_α) is meant, which lacks up to 1 % of it. Only the sites that are asked for lose their V_pH; that of the others is part of the system.
//!
//! The integral is over the part of λ that counts for the form, where F₀ in a protein is not what it is at the form. Where V is known along λ
//! ([`SiteFrames::taken_to_forms`]) each frame counts for the form itself,
//!
//!   w_n = e^{v(λ_n; pH) − g_α(pH) − (V(e_α) − V(λ_n) + V_MM(e_α) − V_MM(λ_n))/RT}
//!
//! so that ∫_α e^{−F₀/RT} becomes e^{−F₀(e_α)/RT} times the size of that part, the same for each form: the result no longer depends on where the line is drawn.
//!
//! Runs that differ in their pH alone are one ensemble ([`super::mbar`]) with u_k(n) = Σ_s v_s(λ_n; pH_k) over all sites s. Every frame then counts
//! at every pH,
//!
//!   P_α(pH) ∝ Σ_{n in α} w_n e^{−u(n; pH)} / D_n
//!
//! For a site alone this is the most likely titration curve of slope one. Without this (other temperatures, other barriers) a frame counts at its own pH.
//!
//! Cost: N K exponentials for K pH values and N frames of a site or a pair.

use nalgebra::DMatrix;

use super::mbar::{self, Mbar, MbarError, Sampled};
use super::occupancy::State;
use crate::bias::PhPotential;

/// One site in the frames of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteFrames {
    /// V_pH.
    potential: PhPotential,
    /// φ of every form, `[form][frame]`.
    shares: Vec<Vec<f64>>,
    /// Form of each frame.
    states: Vec<State>,
    /// Perturbation energy that brings each frame to its form, in units of RT; infinite where it does not count. Empty: none.
    perturbations: Vec<f64>,
}

impl SiteFrames {
    /// A site with this V_pH, `weights[form][frame]` and the forms that frames belong to.
    pub fn new(potential: PhPotential, weights: &[Vec<f64>], states: Vec<State>) -> Self {
        let shares = weights.iter().map(|form| form.iter().map(|&w| potential.share(w)).collect()).collect();
        Self { potential, shares, states, perturbations: Vec::new() }
    }

    /// The same where V is known along λ: `perturbations` are (V(e_α) − V(λ_n) + V_MM(e_α) − V_MM(λ_n))/RT for the form α of each frame, all other sites as they are,
    /// and infinite for frames that are too far from it to count.
    #[must_use]
    pub fn taken_to_forms(self, perturbations: Vec<f64>) -> Self {
        debug_assert_eq!(perturbations.len(), self.states.len());
        Self { perturbations, ..self }
    }

    /// The exponent of the weight of a frame of `form`.
    fn exponent(&self, g: &[f64], frame: usize, form: usize) -> f64 {
        self.energy(g, frame) - g[form] - self.perturbations.get(frame).copied().unwrap_or(0.0)
    }

    /// Form of each frame.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// v(λ_n) for these g.
    fn energy(&self, g: &[f64], frame: usize) -> f64 {
        g.iter().zip(&self.shares).map(|(g, shares)| g * shares[frame]).sum()
    }
}

/// The frames of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFrames {
    /// pH.
    pub ph: f64,
    /// Number of frames.
    pub frames: usize,
    /// Every site that V_pH acts on, in the order of the ensemble; none where the run does not have it.
    pub sites: Vec<Option<SiteFrames>>,
}

/// All runs of a titration.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    ph: Vec<f64>,
    runs: Vec<RunFrames>,
    mbar: Option<Mbar>,
}

/// Weights of the frames of one run in answer to a question about a site, or several.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameWeights<'a> {
    /// w of each frame at the pH of its run, 0 for mixed ones.
    pub alone: Vec<f64>,
    /// w e^{f − u}/D of each frame at every pH, `[frame · count + pH]`; empty without MBAR.
    pub everywhere: Vec<f64>,
    /// p of each frame, `[frame · count + pH]`; empty without MBAR.
    pub chances: &'a [f64],
}

/// Weights of the frames of several runs: everything that populations follow from.
#[derive(Clone, Debug, PartialEq)]
pub struct Question<'a> {
    /// pH values.
    pub ph: &'a [f64],
    /// The runs.
    pub runs: Vec<FrameWeights<'a>>,
    /// How f answers to a gradient ([`Mbar::response`]); none without MBAR.
    pub response: Option<&'a DMatrix<f64>>,
}

impl Question<'_> {
    /// The same question to some of the runs (indices), each at its own pH alone.
    pub fn part(&self, runs: &[usize]) -> Question<'_> {
        let alone =
            |&run: &usize| FrameWeights { alone: self.runs[run].alone.clone(), everywhere: Vec::new(), chances: &[] };
        Question { ph: self.ph, runs: runs.iter().map(alone).collect(), response: None }
    }
}

impl Ensemble {
    /// Runs of the same sites that differ in the pH alone.
    ///
    /// # Errors
    /// [`MbarError`] where the equations of MBAR have no solution.
    pub fn connected(runs: Vec<RunFrames>) -> Result<Self, MbarError> {
        let mut ensemble = Self::separate(runs);
        let (ph, runs) = (&ensemble.ph, &ensemble.runs);
        let sampled = runs.iter().map(|run| {
            let energies = run.energies(ph);
            Sampled { state: ph.iter().position(|ph| *ph == run.ph).unwrap_or(0), energies }
        });
        ensemble.mbar = Some(mbar::solve(sampled.collect(), ph.len())?);
        Ok(ensemble)
    }

    /// Runs that have nothing to say about each other's pH.
    pub fn separate(runs: Vec<RunFrames>) -> Self {
        let mut ph: Vec<f64> = runs.iter().map(|run| run.ph).collect();
        ph.sort_by(f64::total_cmp);
        ph.dedup();
        Self { ph, runs, mbar: None }
    }

    /// pH values of the runs, rising.
    pub fn ph(&self) -> &[f64] {
        &self.ph
    }

    /// The runs.
    pub fn runs(&self) -> &[RunFrames] {
        &self.runs
    }

    /// The equations of MBAR, solved; none for separate runs.
    pub fn mbar(&self) -> Option<&Mbar> {
        self.mbar.as_ref()
    }

    /// Asks for the pure forms of `sites` (indices) in these runs. Frames in which one of the sites is mixed, or which do not have it, have no weight.
    pub fn ask(&self, sites: &[usize], runs: &[usize]) -> Question<'_> {
        Question {
            ph: &self.ph,
            runs: runs.iter().map(|&run| self.weights(sites, run)).collect(),
            response: self.mbar.as_ref().map(|mbar| &mbar.response),
        }
    }

    fn weights(&self, sites: &[usize], index: usize) -> FrameWeights<'_> {
        let (run, mbar) = (&self.runs[index], self.mbar.as_ref());
        let asked: Option<Vec<&SiteFrames>> = sites.iter().map(|&site| run.sites[site].as_ref()).collect();
        let targets = if mbar.is_some() { &self.ph[..] } else { &[] };
        let mut found = FrameWeights {
            alone: vec![0.0; run.frames],
            everywhere: vec![0.0; run.frames * targets.len()],
            chances: mbar.map_or(&[], |mbar| &mbar.chances[index]),
        };
        let Some(asked) = asked else { return found };
        let tables = |ph: &f64| asked.iter().map(|site| site.potential.reduced(*ph)).collect::<Vec<_>>();
        let (here, there) = (tables(&run.ph), targets.iter().map(tables).collect::<Vec<_>>());
        let mut forms = vec![0; asked.len()];
        for frame in 0..run.frames {
            let mut pure = true;
            for (form, site) in forms.iter_mut().zip(&asked) {
                *form = usize::from(site.states[frame].unwrap_or(0));
                pure &= site.states[frame].is_some();
            }
            if !pure {
                continue;
            }
            let weight = |tables: &[Vec<f64>]| -> f64 {
                let each = asked.iter().zip(&forms).zip(tables);
                each.map(|((site, &form), g)| site.exponent(g, frame, form)).sum::<f64>().exp()
            };
            found.alone[frame] = weight(&here);
            let Some(mbar) = mbar else { continue };
            let row = &mut found.everywhere[frame * targets.len()..][..targets.len()];
            let chances = &found.chances[frame * targets.len()..];
            for (target, x) in row.iter_mut().enumerate() {
                // A frame that never occurs at a pH does not count there.
                if chances[target] > 0.0 {
                    *x = chances[target] / mbar.frames[target] * weight(&there[target]);
                }
            }
        }
        found
    }

    /// Populations of the pure forms of every site at any pH, `[site][form]`; none without MBAR, and where no form was seen.
    pub fn populations(&self, ph: f64) -> Vec<Option<Vec<f64>>> {
        let sites = self.runs.first().map_or(0, |run| run.sites.len());
        let away = |k: &usize| (self.ph[*k] - ph).abs();
        let near = (0..self.ph.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
        let (Some(mbar), Some(near)) = (&self.mbar, near) else { return vec![None; sites] };
        let mut sums: Vec<Vec<f64>> = vec![Vec::new(); sites];
        for (run, chances) in self.runs.iter().zip(&mbar.chances) {
            let g = |ph: f64| -> Vec<Vec<f64>> {
                let of = |site: &Option<SiteFrames>| site.as_ref().map_or_else(Vec::new, |s| s.potential.reduced(ph));
                run.sites.iter().map(of).collect()
            };
            let (here, there) = (g(self.ph[near]), g(ph));
            let change: Vec<Vec<f64>> =
                here.iter().zip(&there).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a - b).collect()).collect();
            for frame in 0..run.frames {
                let chance = chances[frame * self.ph.len() + near];
                if chance <= 0.0 {
                    continue;
                }
                // u(n; nearest) − u(n; pH) of all sites; then the V_pH of one of them is taken away, and its g put in place.
                let all = run.sites.iter().zip(&change);
                let shift: f64 = all.filter_map(|(site, g)| Some(site.as_ref()?.energy(g, frame))).sum();
                for ((site, g), sums) in run.sites.iter().zip(&there).zip(&mut sums) {
                    let Some(site) = site else { continue };
                    sums.resize(g.len(), 0.0);
                    if let Some(form) = site.states[frame].map(usize::from) {
                        sums[form] += chance * (shift + site.exponent(g, frame, form)).exp();
                    }
                }
            }
        }
        let share = |sums: Vec<f64>| {
            let sum: f64 = sums.iter().sum();
            (sum > 0.0 && sum.is_finite()).then(|| sums.iter().map(|p| p / sum).collect())
        };
        sums.into_iter().map(share).collect()
    }
}

impl RunFrames {
    /// u at every pH, `[frame · count + pH]`.
    fn energies(&self, ph: &[f64]) -> Vec<f64> {
        let mut energies = vec![0.0; self.frames * ph.len()];
        for site in self.sites.iter().flatten() {
            let tables: Vec<Vec<f64>> = ph.iter().map(|&ph| site.potential.reduced(ph)).collect();
            for (frame, row) in energies.chunks_exact_mut(ph.len().max(1)).enumerate() {
                row.iter_mut().zip(&tables).for_each(|(u, g)| *u += site.energy(g, frame));
            }
        }
        energies
    }
}

#[cfg(test)]
mod tests;
