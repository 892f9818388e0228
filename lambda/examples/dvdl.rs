//! ∂V/∂λ of one site from charges to forces on λ, with a plain Coulomb sum in place of an electrostatics solver.
//!
//! A carboxylic acid of three atoms beside an ion: V is evaluated at a few λ with Hamiltonian interpolation, and ∂V/∂λ is compared with the
//! difference of V. Then λ moves for 10 ps under this force and V_pH.
//!
//!     cargo run --release --package octitrate-lambda --example dvdl

use forcefield::units::COULOMB;
use forcefield::{ExcludedPairs, Topology};
use lambda::bias::{Acidity, Barrier, PhPotential, Separation, SiteBias};
use lambda::coordinate::{Coordinate, MASS};
use lambda::interpolation::{interpolate, own_pairs, set_effective_charges};
use lambda::library::Correction;
use lambda::motion::{LambdaDynamics, LambdaSettings, SiteMotion};
use lambda::site::{Form, Site, SiteKind};
use nalgebra::Vector3;

/// Two oxygens and a proton of the site, then the ion (nm).
const POSITIONS: [[f64; 3]; 4] = [[0.0, 0.0, 0.0], [0.22, 0.0, 0.0], [0.27, 0.08, 0.0], [0.1, -0.4, 0.1]];

fn carboxyl() -> Site {
    let form = |name: &str, charges: [f64; 3], protons_lost: u32| Form {
        name: name.into(),
        charges: charges.to_vec(),
        protons_lost,
        pk: 4.25 * f64::from(protons_lost),
        nominal_charge: -f64::from(protons_lost),
    };
    Site {
        name: "acid".into(),
        entry: "acid".into(),
        force_field: "none".into(),
        residues: vec![0],
        atoms: vec![0, 1, 2],
        forms: vec![form("protonated", [-0.2, -0.2, 0.4], 0), form("deprotonated", [-0.5, -0.5, 0.0], 1)],
        pka: Some(4.25),
        correction: Correction::Uncalibrated,
        kind: SiteKind::Titratable,
    }
}

/// Potential (kJ/mol/e) that the charges make at each atom.
fn coulomb(x: &[Vector3<f64>], charges: &[f64]) -> Vec<f64> {
    let one = |i: usize, j: usize| if i == j { 0.0 } else { COULOMB * charges[j] / (x[i] - x[j]).norm() };
    (0..x.len()).map(|i| (0..x.len()).map(|j| one(i, j)).sum()).collect()
}

/// V (kJ/mol) and ∂V/∂λ_α (kJ/mol) of each form.
fn energy(site: &Site, weights: &[f64]) -> Result<(f64, Vec<f64>), Box<dyn std::error::Error>> {
    let (x, mut charges) = (POSITIONS.map(Vector3::from), [0.0, 0.0, 0.0, 1.0]);
    set_effective_charges(site, weights, &mut charges)?;
    let potential = coulomb(&x, &charges);
    // No pair is excluded.
    let topology = Topology { exclusions: ExcludedPairs::from_pairs(x.len(), []), ..Topology::default() };
    let mut forces = vec![Vector3::zeros(); x.len()];
    let terms = interpolate(site, weights, &own_pairs(site, &topology), &x, &potential, &mut forces)?;
    let whole: f64 = potential.iter().zip(charges).map(|(phi, q)| 0.5 * phi * q).sum();
    Ok((whole + terms.energy, terms.derivatives))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let site = carboxyl();
    println!("   λ     V, kJ/mol   ∂V/∂λ, kJ/mol   difference of V");
    for lambda in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let at = |l: f64| energy(&site, &[1.0 - l, l]);
        let (v, slopes) = at(lambda)?;
        let difference = (at(lambda + 0.1)?.0 - at(lambda - 0.1)?.0) / 0.2;
        println!("{lambda:5.2} {v:13.4} {:15.6} {difference:17.6}", slopes[1] - slopes[0]);
    }

    // Without V_MM, which would take off what the acid is worth alone, λ goes where charges and V_pH pull it.
    let acid = site.forms.iter().map(|form| Acidity { pk: form.pk, protons_lost: form.protons_lost }).collect();
    let bias = SiteBias {
        separation: Separation::Wells(Barrier::solve(5.0)?),
        ph: Some(PhPotential::new(acid, 4.25, 300.0, None)?),
        correction: None,
        entropy: None,
    };
    let settings = LambdaSettings { time_step: 0.002, temperature: 300.0, coupling_time: Some(0.5), seed: 1 };
    let charges = vec![0.0, -1.0];
    let motion = SiteMotion { coordinate: Coordinate::Linear, n_forms: 2, mass: MASS, charges };
    let dynamics = LambdaDynamics::new(settings, vec![motion], None)?;
    let mut state = dynamics.initial_state(&[0.5, 0.5])?;
    for step in 0..5000 {
        let weights = dynamics.weights(&state);
        let mut by_weight = weights.layout().zeros();
        by_weight.site_mut(0).copy_from_slice(&energy(&site, weights.site(0))?.1);
        bias.evaluate(weights.site(0), by_weight.site_mut(0));
        dynamics.step(&mut state, &by_weight, step)?;
    }
    println!("after 10 ps: λ = {:.3}", dynamics.weights(&state).site(0)[1]);
    Ok(())
}
