//! Energy of one term together with its share of the virial.
//!
//! The virial trace is W = Σ_i r_i · F_i = −3V dE/dV under uniform scaling of all coordinates (and of the box), kJ/mol.
//! The pressure is P = (2 E_kin + W) / (3V).

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Energy and virial trace of one term of the force field, both in kJ/mol.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TermEnergy {
    /// Energy, kJ/mol.
    pub energy: f64,
    /// Virial trace Σ r·F, kJ/mol. Positive where the term pushes the system apart.
    pub virial: f64,
}

impl Add for TermEnergy {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { energy: self.energy + other.energy, virial: self.virial + other.virial }
    }
}

impl AddAssign for TermEnergy {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for TermEnergy {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::default(), Add::add)
    }
}
