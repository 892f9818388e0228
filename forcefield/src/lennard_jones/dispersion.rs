//! Correction for the dispersion that the cut-off leaves out, energy and pressure.
//!
//! The medium is uniform (g = 1) with number density ρ = N/V and the average ⟨c6⟩ over all pairs that are not excluded:
//!
//! E = ½ N ⟨c6⟩ (ρ I_E + C),  I_E = −4π/(3 r_c³) − ∫₀^{r_c} 4π r² Δ(r) dr,
//! W = ½ N ⟨c6⟩ ρ I_W,  I_W = −8π/r_c³ + ∫₀^{r_c} 4π r³ Δ'(r) dr,
//!
//! where Δ = 1/r⁶ minus the modified power ([`Modifier`]) and C its constant inside r₁, which an atom does not owe to
//! itself. Repulsion is not corrected. As GROMACS with DispCorr = EnerPres; pressure correction W/(3V).
//! Units: nm, kJ/mol. Reference: Shirts et al. 2007, DOI 10.1021/jp0735987; GROMACS reference manual 2022, "Long-range Van der Waals interactions".

use std::f64::consts::PI;

use super::modifier::Modifier;
use crate::energy::TermEnergy;
use crate::topology::Topology;

/// The correction of one system for one cut-off, ready for any volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DispersionCorrection {
    energy_times_volume: f64,
    constant: f64,
    virial_times_volume: f64,
}

impl DispersionCorrection {
    /// The correction of `top` for a Lennard-Jones term with this cut-off (nm) and modifier.
    ///
    /// ```
    /// use forcefield::lennard_jones::{DispersionCorrection, Modifier};
    /// use forcefield::topology::{Atom, AtomType, LennardJonesTable, Topology};
    /// use forcefield::ExcludedPairs;
    /// let atom = Atom { name: "AR".into(), type_index: 0, residue: 0, molecule: 0, charge: 0.0, mass: 39.948 };
    /// let top = Topology {
    ///     atoms: vec![atom; 1000],
    ///     atom_types: vec![AtomType { name: "AR".into(), atomic_number: Some(18) }],
    ///     lj: LennardJonesTable { n_types: 1, c6: vec![6.0e-3], c12: vec![9.0e-6] },
    ///     exclusions: ExcludedPairs::from_pairs(1000, []),
    ///     ..Default::default()
    /// };
    /// let v = DispersionCorrection::new(&top, 1.0, Modifier::None).at_volume(50.0);
    /// let tail = -2.0 / 3.0 * std::f64::consts::PI * 1000.0 * (1000.0 / 50.0) * 6.0e-3;
    /// assert!((v.energy / tail - 1.0).abs() < 1e-12);           // −(2/3) π N ρ c6 / r_c³
    /// assert!((v.virial / (6.0 * tail) - 1.0).abs() < 1e-12);
    /// ```
    pub fn new(top: &Topology, cutoff: f64, modifier: Modifier) -> Self {
        let m = modifier.at_cutoff(cutoff);
        let n = top.atoms.len() as f64;
        let half = 0.5 * n * average_c6(top);
        let width = cutoff - m.r_switch;
        // ∫ (r₁ + x)^k x^m dx over the switch, by the binomial expansion.
        let moment = |k: i32, power: i32| -> f64 {
            let binomial = if k == 2 { &[1.0, 2.0, 1.0][..] } else { &[1.0, 3.0, 3.0, 1.0][..] };
            (0..=k)
                .map(|i| {
                    let e = i + power + 1;
                    binomial[i as usize] * m.r_switch.powi(k - i) * width.powi(e) / f64::from(e)
                })
                .sum()
        };
        let rc3 = cutoff.powi(3);
        let inside = m.six.shift * rc3 / 3.0 + m.six.a / 3.0 * moment(2, 3) + m.six.b / 4.0 * moment(2, 4);
        let slope = m.six.a * moment(3, 2) + m.six.b * moment(3, 3);
        Self {
            energy_times_volume: half * n * (-4.0 * PI / (3.0 * rc3) - 4.0 * PI * inside),
            constant: half * m.six.shift,
            virial_times_volume: half * n * (-8.0 * PI / rc3 + 4.0 * PI * slope),
        }
    }

    /// a, b, c of the energy a/V + b and the virial trace c/V (kJ/mol, V in nm³).
    pub(crate) fn coefficients(&self) -> [f64; 3] {
        [self.energy_times_volume, self.constant, self.virial_times_volume]
    }

    /// Energy and virial trace (kJ/mol) in a box of `volume` nm³.
    pub fn at_volume(&self, volume: f64) -> TermEnergy {
        TermEnergy {
            energy: self.energy_times_volume / volume + self.constant,
            virial: self.virial_times_volume / volume,
        }
    }
}

/// The correction once; keep a [`DispersionCorrection`] where the volume changes.
pub fn dispersion_correction(top: &Topology, cutoff: f64, modifier: Modifier, volume: f64) -> TermEnergy {
    DispersionCorrection::new(top, cutoff, modifier).at_volume(volume)
}

/// ⟨c6⟩ over all pairs of atoms that are not excluded, kJ/mol nm⁶; 0 where there are none.
fn average_c6(top: &Topology) -> f64 {
    let mut count = vec![0.0; top.lj.n_types];
    for atom in &top.atoms {
        count[atom.type_index as usize] += 1.0;
    }
    let (mut sum, mut pairs) = (0.0, 0.0);
    for (i, &n_i) in count.iter().enumerate() {
        for (j, &n_j) in count.iter().enumerate().skip(i) {
            let n = if i == j { n_i * (n_i - 1.0) / 2.0 } else { n_i * n_j };
            sum += n * top.lj.get(i as u32, j as u32).0;
            pairs += n;
        }
    }
    for pair in top.exclusions.pairs() {
        let [i, j] = pair.map(|a| top.atoms[a as usize].type_index);
        sum -= top.lj.get(i, j).0;
        pairs -= 1.0;
    }
    if pairs > 0.0 { sum / pairs } else { 0.0 }
}
