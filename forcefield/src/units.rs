//! Units and physical constants.
//!
//! One system everywhere: nm, ps, u (unified atomic mass), e (elementary charge), kJ/mol, K. It is consistent:
//! 1 u nm²/ps² = 1 kJ/mol, so that no conversion factor appears in the equations of motion.
//! Pressure is kJ/mol/nm³ inside; [`BAR`] converts it for people.
//!
//! Values follow from the CODATA 2018 set (exact e, N_A, k_B; measured ε₀), DOI 10.1103/RevModPhys.93.025010.

/// Coulomb constant k_e = N_A e² / (4π ε₀) in kJ mol⁻¹ nm e⁻²: V = k_e q₁ q₂ / r.
pub const COULOMB: f64 = 138.935_457_644_381_98;

/// Molar gas constant R = N_A k_B in kJ mol⁻¹ K⁻¹.
pub const GAS_CONSTANT: f64 = 8.314_462_618_153_24e-3;

/// One bar in kJ mol⁻¹ nm⁻³: p\[bar\] = p\[kJ/mol/nm³\] / BAR.
pub const BAR: f64 = 0.060_221_407_6;

/// One u/nm³ in kg/m³: ρ\[kg/m³\] = ρ\[u/nm³\] · DENSITY.
pub const DENSITY: f64 = 1.660_539_066_60;

#[cfg(test)]
mod tests {
    use super::*;

    const AVOGADRO: f64 = 6.022_140_76e23;
    const CHARGE: f64 = 1.602_176_634e-19;
    const BOLTZMANN: f64 = 1.380_649e-23;
    const VACUUM_PERMITTIVITY: f64 = 8.854_187_812_8e-12;

    #[test]
    fn constants_follow_from_codata() {
        let coulomb = AVOGADRO * CHARGE * CHARGE / (4.0 * std::f64::consts::PI * VACUUM_PERMITTIVITY);
        // J m → kJ nm; ε₀ is known to 1.5e-10.
        assert!((coulomb * 1e-3 * 1e9 / COULOMB - 1.0).abs() < 1e-9);
        assert!((AVOGADRO * BOLTZMANN * 1e-3 / GAS_CONSTANT - 1.0).abs() < 1e-14);
        assert!((1e5 * 1e-27 * AVOGADRO * 1e-3 / BAR - 1.0).abs() < 1e-12);
        assert!((1e-3 / AVOGADRO * 1e27 / DENSITY - 1.0).abs() < 1e-9);
    }
}
