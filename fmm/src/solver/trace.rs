//! The part of the interaction of a periodic cell that is not harmonic, so that no expansion holds it.
//!
//!   φ_i += (2π/3V)(Q y_i² − 2 y_i·D + T),  Q = Σ q, D = Σ q z, T = Σ q z²
//!
//! with V the volume of the cell, and y, z relative to the centres of the root boxes of both particles. This is the k = 0 term of the Ewald sum:
//! it equals the dipole correction of a neutral cell and the background of a charged one (tin-foil boundary conditions).

/// Trace term: (2π/3V)(Q y² − 2 y·D + T).
#[derive(Clone, Copy, Debug, Default)]
pub struct Trace {
    prefactor: f64,
    charge: f64,
    dipole: [f64; 3],
    second: f64,
}

impl Trace {
    /// Without charges yet, in a cell of this volume. Without a volume, in an open boundary, the term is zero.
    pub fn new(volume: Option<f64>) -> Self {
        Self { prefactor: volume.map_or(0.0, |v| 2.0 * std::f64::consts::PI / (3.0 * v)), ..Self::default() }
    }

    /// Add a charge at `y` from the centre of its root box.
    pub fn add(&mut self, q: f64, y: [f64; 3]) {
        self.charge += q;
        for (d, y) in self.dipole.iter_mut().zip(y) {
            *d += q * y;
            self.second += q * y * y;
        }
    }

    /// The sum of two sets of charges.
    pub fn joined(self, other: &Self) -> Self {
        Self {
            prefactor: self.prefactor,
            charge: self.charge + other.charge,
            dipole: [0, 1, 2].map(|a| self.dipole[a] + other.dipole[a]),
            second: self.second + other.second,
        }
    }

    /// Its energy, ½ Σ q φ.
    pub fn energy(&self) -> f64 {
        let dipole2: f64 = self.dipole.iter().map(|d| d * d).sum();
        self.prefactor * (self.charge * self.second - dipole2)
    }

    /// Potential and field at `y`.
    pub fn at(&self, y: [f64; 3]) -> (f64, [f64; 3]) {
        let (mut phi, mut field) = (self.second, [0.0; 3]);
        for a in 0..3 {
            phi += y[a] * (self.charge * y[a] - 2.0 * self.dipole[a]);
            field[a] = -2.0 * self.prefactor * (self.charge * y[a] - self.dipole[a]);
        }
        (self.prefactor * phi, field)
    }
}
