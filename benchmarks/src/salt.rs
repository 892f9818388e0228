//! Rock salt, whose energy and potentials are known to all digits.
//!
//! m³ ions of charge ±1, periodic, nearest neighbours at distance 1: φ = ∓M and an energy of −M/2 for each ion, with the Madelung constant M
//! (Y. Sakamoto, J. Chem. Phys. 28, 164 (1958), doi:10.1063/1.1744060, with later digits). All forces are zero.

use fmm::{Boundary, Exclusions};
use octitrate::charges::System;

type Vector = [f64; 3];

/// The crystal with its exact results.
pub struct Salt {
    /// The ions.
    pub system: System,
    /// Energy of the cell.
    pub energy: f64,
    /// φ of each ion.
    pub potentials: Vec<f64>,
}

/// About `n` ions.
pub fn salt(n: usize) -> Salt {
    const MADELUNG: f64 = 1.747_564_594_633_182_2;
    let m = 2 * ((n as f64).cbrt() / 2.0).round().max(1.0) as usize;
    // The corner ion lies off the faces of boxes.
    let position = |i: usize| [i / (m * m) % m, i / m % m, i % m].map(|c| c as f64 + 0.31);
    let charge = |i: usize| if (i / (m * m) + i / m + i).is_multiple_of(2) { 1.0 } else { -1.0 };
    let (positions, charges): (Vec<Vector>, Vec<f64>) = (0..m.pow(3)).map(|i| (position(i), charge(i))).unzip();
    let potentials = charges.iter().map(|q| -MADELUNG * q).collect();
    let energy = -0.5 * MADELUNG * charges.len() as f64;
    let exclusions = Exclusions::none(charges.len());
    let boundary = Boundary::rectangular([m as f64; 3]);
    Salt { system: System { boundary, positions, charges, exclusions, minimum_leaf: 0.0 }, energy, potentials }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_salt_are_opposite() {
        let salt = salt(4000);
        assert_eq!(salt.system.len(), 4096);
        assert_eq!(salt.system.charges.iter().sum::<f64>(), 0.0);
        let (x, q) = (&salt.system.positions, &salt.system.charges);
        for (i, j) in (0..4096).flat_map(|i| (0..i).map(move |j| (i, j))).step_by(37) {
            let square: f64 = (0..3).map(|a| (x[i][a] - x[j][a]).powi(2)).sum();
            assert!(square > 0.9 && (square > 1.1 || q[i] == -q[j]));
        }
    }
}
