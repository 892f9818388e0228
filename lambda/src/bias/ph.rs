//! The chemical potential of the protons as a potential of the weights.
//!
//!   G_α = RT ln10 (pK_α − d_α pH)                                          free energy of form α
//!   linear    V = Σ_α λ_α G_α
//!   smoothed  V = Σ_α (G_α − G_γ) / (1 + e^{−5r(λ_α − 2a)})                 γ: the form of lowest G, r = 13.5
//!
//! d_α: protons that form α has lost; pK_α: cumulative, so that forms α and β of a model compound are equally populated where G_α = G_β. For a site with two
//! forms V = λ RT ln10 (pKa − pH): deprotonated (λ = 1) is favoured where pH > pKa. In the smoothed form the wells stay where they are, since a
//! step lies beside the well that is favoured (Aho et al. 2022, doi:10.1021/acs.jctc.2c00516); a is the width of the wells.
//!
//! Units: kJ/mol, K.

use forcefield::units::GAS_CONSTANT;
use thiserror::Error;

use super::barrier::WALL_STEEPNESS;

/// Numbers that no potential can be made of.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("pH {ph}, pK {pk:?}, temperature {temperature} K: expected finite numbers and a temperature above 0 K")]
pub struct PhError {
    /// pH.
    pub ph: f64,
    /// pK_α.
    pub pk: Vec<f64>,
    /// Temperature, K.
    pub temperature: f64,
}

/// Acidity of one form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acidity {
    /// Cumulative pK_α.
    pub pk: f64,
    /// Protons lost d_α.
    pub protons_lost: u32,
}

/// V_pH of one site.
#[derive(Clone, Debug, PartialEq)]
pub struct PhPotential {
    forms: Vec<Acidity>,
    temperature: f64,
    /// 2a; absent for the linear potential.
    step: Option<f64>,
    /// G_α, kJ/mol; in the smoothed form relative to the lowest.
    free_energies: Vec<f64>,
}

impl PhPotential {
    /// V_pH linear in the weights, or with smoothed steps beside wells of width a if `smoothed` is a.
    ///
    /// # Errors
    /// [`PhError`] for numbers that are not finite or a temperature that is not positive.
    pub fn new(forms: Vec<Acidity>, ph: f64, temperature: f64, smoothed: Option<f64>) -> Result<Self, PhError> {
        let finite = forms.iter().all(|form| form.pk.is_finite()) && ph.is_finite() && temperature.is_finite();
        if !(finite && temperature > 0.0 && smoothed.is_none_or(f64::is_finite)) {
            return Err(PhError { ph, pk: forms.iter().map(|form| form.pk).collect(), temperature });
        }
        let mut v = Self { forms, temperature, step: smoothed.map(|a| 2.0 * a), free_energies: Vec::new() };
        v.set_ph(ph);
        Ok(v)
    }

    fn set_ph(&mut self, ph: f64) {
        self.free_energies = self.free_energies_at(ph);
    }

    /// The same potential at another pH.
    ///
    /// # Errors
    /// [`PhError`] for a pH that is not finite.
    pub fn at(&self, ph: f64) -> Result<Self, PhError> {
        if !ph.is_finite() {
            let pk = self.forms.iter().map(|form| form.pk).collect();
            return Err(PhError { ph, pk, temperature: self.temperature });
        }
        let mut other = self.clone();
        other.set_ph(ph);
        Ok(other)
    }

    fn free_energies_at(&self, ph: f64) -> Vec<f64> {
        let unit = GAS_CONSTANT * self.temperature * std::f64::consts::LN_10;
        let free_energy = |form: &Acidity| unit * (form.pk - f64::from(form.protons_lost) * ph);
        let mut all: Vec<f64> = self.forms.iter().map(free_energy).collect();
        if self.step.is_some() {
            let lowest = all.iter().copied().fold(f64::INFINITY, f64::min);
            all.iter_mut().for_each(|g| *g -= lowest);
        }
        all
    }

    /// G_α/RT at any pH; in the smoothed form relative to the lowest. V_pH/RT is the sum of each times [`Self::share`].
    pub fn reduced(&self, ph: f64) -> Vec<f64> {
        let rt = GAS_CONSTANT * self.temperature;
        self.free_energies_at(ph).into_iter().map(|g| g / rt).collect()
    }

    /// The part of G_α that acts at a weight λ_α: the weight itself, or the height of the smoothed step there.
    pub fn share(&self, weight: f64) -> f64 {
        self.share_and_slope(weight).0
    }

    fn share_and_slope(&self, weight: f64) -> (f64, f64) {
        self.step.map_or((weight, 1.0), |step| {
            let steepness = 5.0 * WALL_STEEPNESS;
            let s = 1.0 / (1.0 + (-steepness * (weight - step)).exp());
            (s, steepness * s * (1.0 - s))
        })
    }

    /// G_α (kJ/mol) and the position of the smoothed steps, if they are smoothed.
    pub fn parameters(&self) -> (&[f64], Option<f64>) {
        (&self.free_energies, self.step)
    }

    /// Energy at `weights`; its derivatives are added to `by_weight`.
    pub fn evaluate(&self, weights: &[f64], by_weight: &mut [f64]) -> f64 {
        let mut energy = 0.0;
        for ((g, weight), slope) in self.free_energies.iter().zip(weights).zip(by_weight) {
            let (value, derivative) = self.share_and_slope(*weight);
            energy += g * value;
            *slope += g * derivative;
        }
        energy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bias::{Barrier, assert_derivatives};

    fn acid(pka: f64) -> Vec<Acidity> {
        vec![Acidity { pk: 0.0, protons_lost: 0 }, Acidity { pk: pka, protons_lost: 1 }]
    }

    #[test]
    fn one_ph_unit_is_rt_ln10() {
        let v = PhPotential::new(acid(4.25), 5.25, 298.15, None).unwrap();
        // RT ln 10 = 5.7080 kJ/mol at 298.15 K.
        assert!((v.evaluate(&[0.0, 1.0], &mut [0.0; 2]) + 5.70804).abs() < 1e-4);
        assert_eq!(v.evaluate(&[1.0, 0.0], &mut [0.0; 2]), 0.0);
    }

    #[test]
    fn smoothed_steps_have_the_same_free_energies_and_leave_the_wells_alone() {
        let a = Barrier::solve(7.5).unwrap().a;
        let mut forms = acid(4.25);
        forms.push(Acidity { pk: 4.9, protons_lost: 1 });
        for ph in [2.25, 6.25] {
            let linear = PhPotential::new(forms.clone(), ph, 300.0, None).unwrap();
            let smooth = PhPotential::new(forms.clone(), ph, 300.0, Some(a)).unwrap();
            let vertex = |k: usize| (0..3).map(|i| f64::from(u8::from(i == k))).collect::<Vec<f64>>();
            for k in 1..3 {
                let difference =
                    |v: &PhPotential| v.evaluate(&vertex(k), &mut [0.0; 3]) - v.evaluate(&vertex(0), &mut [0.0; 3]);
                // e^{−67.5·2a} = 0.003 of up to 15 kJ/mol for each form.
                assert!((difference(&linear) - difference(&smooth)).abs() < 0.1, "{ph} {k}");
            }
            let uphill = if ph < 4.25 { 2 } else { 0 };
            let mut slopes = [0.0; 3];
            smooth.evaluate(&vertex(uphill), &mut slopes);
            assert!(slopes[uphill].abs() < 1e-9);
            assert_derivatives(3, |w, d| smooth.evaluate(w, d), 1e-4);
            assert_derivatives(3, |w, d| linear.evaluate(w, d), 1e-8);
        }
    }

    #[test]
    fn a_changed_ph_is_that_of_a_new_potential() {
        for smoothed in [None, Some(0.04)] {
            let mut v = PhPotential::new(acid(4.25), 3.0, 300.0, smoothed).unwrap();
            v.set_ph(7.0);
            assert_eq!(v, PhPotential::new(acid(4.25), 7.0, 300.0, smoothed).unwrap());
        }
    }

    #[test]
    fn the_energy_is_that_of_its_parts_at_any_ph() {
        let weights = [0.7, 0.35];
        for smoothed in [None, Some(0.04)] {
            let v = PhPotential::new(acid(4.25), 3.0, 300.0, smoothed).unwrap();
            let other = PhPotential::new(acid(4.25), 6.5, 300.0, smoothed).unwrap();
            let parts: f64 = v.reduced(6.5).iter().zip(weights).map(|(g, w)| g * v.share(w)).sum();
            // Twenty roundings of numbers below ten.
            assert!((parts * GAS_CONSTANT * 300.0 - other.evaluate(&weights, &mut [0.0; 2])).abs() < 1e-12);
        }
    }

    #[test]
    fn bad_numbers_are_refused() {
        for (pka, ph, t) in [(f64::NAN, 7.0, 300.0), (4.0, f64::INFINITY, 300.0), (4.0, 7.0, 0.0), (4.0, 7.0, -1.0)] {
            assert!(PhPotential::new(acid(pka), ph, t, None).is_err());
        }
    }
}
