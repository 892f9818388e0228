//! Hamiltonian interpolation in a real system: V linear in λ, ∂V/∂λ and forces equal to finite differences and brute force.
//!
//! The test that decides: with λ_s = e_α (and every other site fractional) a plain FMM pass over the charges of form α gives
//! the energy that the sparse tree gives. Boxes and operators are the same, so that they agree to rounding, not only to
//! the truncation of the expansions.

use nalgebra::Vector3;
use octitrate::cell::{Cell, Fragments};
use octitrate::config::Config;
use octitrate::hamiltonian::{Energies, Hamiltonian};
use octitrate::system;
use octitrate::titration::Sites;
use std::path::{Path, PathBuf};

/// A system at fixed positions, with the same tree for every λ.
struct Point {
    hamiltonian: Hamiltonian,
    sites: Sites,
    x: Vec<Vector3<f64>>,
    edges: Option<Vector3<f64>>,
    forces: Vec<Vector3<f64>>,
    dvdl: Vec<f64>,
}

impl Point {
    fn new(system: &str, order: u32, precision: &str, titration: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(system);
        let path = path.display();
        let text = format!(
            "[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n\
             [electrostatics]\nprecision = \"{precision}\"\norder = {order}\n\
             [dynamics]\nsteps = 1\n[titration]\ntemperature = \"300 K\"\n{titration}"
        );
        let config = Config::parse(&text, Path::new("dvdl.toml")).unwrap();
        let (topology, structure) = system::read(&config).unwrap();
        let edges = system::edges(&config, &structure).unwrap();
        let mut x = structure.positions;
        Fragments::new(&topology).make_whole(&Cell::new(edges.unwrap()).unwrap(), &mut x).unwrap();
        let sites = Sites::new(&config, &topology).unwrap().unwrap();
        let mut hamiltonian = Hamiltonian::new(&config, topology, &x, edges, &sites.sites).unwrap();
        hamiltonian.rebuild(&x, edges).unwrap();
        let forces = vec![Vector3::zeros(); x.len()];
        Self { hamiltonian, sites, x, edges, forces, dvdl: Vec::new() }
    }

    fn at(&mut self, lambda: &[f64]) -> Energies {
        self.hamiltonian
            .evaluate(&self.x, self.edges, &self.sites.sites, lambda, &mut self.forces, &mut self.dvdl)
            .unwrap()
    }
}

const GLU: &str = "[[titration.site]]\nresidue = \"GLH 2\"\nfixed = 0.3\n";

/// V(λ) is a straight line; its slope is dV/dλ and does not vanish; its ends are plain passes (interpolation energy 0).
#[test]
fn energy_is_linear_in_lambda_and_its_slope_is_dvdl() {
    for order in [4, 10] {
        let mut point = Point::new("inputs/01-glu/glu", order, "double", GLU);
        let protonated = point.at(&[0.0]);
        let slope = point.dvdl[0];
        let deprotonated = point.at(&[1.0]);
        let scale = deprotonated.potential().abs();
        // Brute force: at λ = e_α the charges are those of one form and the energy is one plain pass.
        assert!(protonated.interpolation.abs() < 1e-10 * scale, "{}", protonated.interpolation);
        assert!(deprotonated.interpolation.abs() < 1e-10 * scale, "{}", deprotonated.interpolation);
        let difference = deprotonated.potential() - protonated.potential();
        println!("order {order}: dV/dλ {slope}, V(1) − V(0) {difference}");
        assert!(slope.abs() > 10.0, "a dV/dλ of {slope} is suspicious");
        for lambda in [0.0, 0.3, 0.77, 1.0, 1.1] {
            let energies = point.at(&[lambda]);
            let line = protonated.potential() + lambda * difference;
            let found = energies.potential();
            assert!((found - line).abs() < 1e-10 * scale, "λ = {lambda}: {found} {line}");
            assert!((point.dvdl[0] - difference).abs() < 1e-10 * scale, "λ = {lambda}: {} {difference}", point.dvdl[0]);
        }
    }
}

/// Charge interpolation: V is a parabola in λ, and its central difference over any h is dV/dλ.
#[test]
fn charge_interpolation_is_the_derivative_of_the_mixed_charges() {
    let mut point = Point::new("inputs/01-glu/glu", 8, "double", &format!("interpolation = \"charge\"\n{GLU}"));
    let energies = point.at(&[0.4]);
    let dvdl = point.dvdl[0];
    assert_eq!(energies.interpolation, 0.0);
    let [after, before] = [0.6, 0.2].map(|lambda| point.at(&[lambda]).potential());
    let numerical = (after - before) / 0.4;
    assert!((numerical - dvdl).abs() < 1e-10 * energies.potential().abs(), "{numerical} {dvdl}");
}

/// Single precision: rounding of the pair work enters ∂V/∂λ, 1e-4 of the energy that the site has with the water.
#[test]
fn single_precision_gives_the_same_dvdl() {
    let [double, single] = ["double", "single"].map(|precision| {
        let mut point = Point::new("inputs/01-glu/glu", 8, precision, GLU);
        point.at(&[0.6]);
        point.dvdl[0]
    });
    println!("dV/dλ in double {double}, in single {single}");
    assert!((double - single).abs() < 1e-4 * double.abs(), "{double} {single}");
}

/// Forces on the atoms of the site, on a water near it and on one far away are −∂V/∂x at fractional λ.
///
/// The boxes stay as they are, so that the energy is a smooth function. Forces are the gradient of the truncated energy
/// up to the truncation error itself (order 12: some 1e-5 of a force of 10³ kJ/mol/nm).
#[test]
fn forces_are_the_gradient_at_fractional_lambda() {
    let mut point = Point::new("inputs/01-glu/glu", 12, "double", GLU);
    let lambda = [0.37];
    point.at(&lambda);
    let analytic = point.forces.clone();
    let typical = (analytic.iter().map(|f| f.norm_squared()).sum::<f64>() / analytic.len() as f64).sqrt();
    let h = 1e-5;
    let site: Vec<usize> = point.sites.sites[0].atoms.iter().map(|&atom| atom as usize).collect();
    for atom in site.into_iter().chain([60, 61, 3000]) {
        for (axis, &force) in analytic[atom].iter().enumerate() {
            let start = point.x[atom][axis];
            let energies = [h, -h].map(|step| {
                point.x[atom][axis] = start + step;
                point.at(&lambda).potential()
            });
            point.x[atom][axis] = start;
            let numerical = -(energies[0] - energies[1]) / (2.0 * h);
            assert!((numerical - force).abs() < 2e-5 * typical, "atom {atom}, axis {axis}: {numerical} and {force}");
        }
    }
}
