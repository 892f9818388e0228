//! Sites of a real system: V multilinear in the weights, ∂V/∂λ_α and forces equal to brute force and finite differences.
//!
//! The test that decides takes three sites at fractional weights: a glutamic acid of three forms, an acetyl of two bonded to it (1-4 pairs
//! and exclusions inside each and between them), a site of three waters far apart. With Hamiltonian interpolation
//!
//! ```text
//! V(λ) = Σ_αβγ λ_α μ_β ν_γ V(α, β, γ),   ∂V/∂λ_α = Σ_βγ μ_β ν_γ V(α, β, γ),   F(λ) = Σ_αβγ λ_α μ_β ν_γ F(α, β, γ)
//! ```
//!
//! where V(α, β, γ) and F are plain passes over a topology that has the charges of these forms and knows nothing of sites. Boxes and
//! operators are the same, so that both sides agree to rounding, not only to the truncation of the expansions.

use forcefield::{Cell, Topology};
use lambda::SiteValues;
use lambda::site::SiteKind;
use nalgebra::Vector3;
use octitrate::backend::cpu::hamiltonian::{Forms, Hamiltonian, Point as At};
use octitrate::config::{Config, Interpolation};
use octitrate::energies::Energies;
use octitrate::fragments::Fragments;
use octitrate::system;
use octitrate::titration::Sites;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A system at fixed positions, with the same tree for every λ.
struct Point {
    config: Config,
    /// With the restraints of the buffer, but with its own charges.
    topology: Arc<Topology>,
    hamiltonian: Hamiltonian,
    sites: Sites,
    x: Vec<Vector3<f64>>,
    cell: Cell,
    /// What position restraints hold.
    references: Vec<Vector3<f64>>,
    forces: Vec<Vector3<f64>>,
    by_weight: SiteValues,
}

impl Point {
    fn new(electrostatics: &str, titration: &str) -> Self {
        Self::shifted(electrostatics, titration, Vector3::zeros())
    }

    /// All atoms moved, so that a boundary runs through whatever is there.
    fn shifted(electrostatics: &str, titration: &str, shift: Vector3<f64>) -> Self {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let (path, library) = (root.join("inputs/01-glu/glu"), root.join("tests/good/library"));
        let (path, library) = (path.display(), library.display());
        let text = format!(
            "[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n[electrostatics]\n{electrostatics}\n\
             [dynamics]\nsteps = 1\n[titration]\ntemperature = \"300 K\"\n{}",
            titration.replace("LIBRARY", &library.to_string())
        );
        let config = Config::parse(&text, Path::new("dvdl.toml")).unwrap();
        let system::Input { mut topology, structure, .. } = system::read(&config).unwrap();
        let cell = system::cell(&config, &structure).unwrap();
        let periodic = cell.periodic().unwrap();
        let mut x: Vec<_> = structure.positions.iter().map(|x| periodic.wrap(x + shift)).collect();
        Fragments::new(&topology).make_whole(periodic, &mut x).unwrap();
        let mut sites = Sites::new(&config, &mut topology, &x, cell).unwrap().unwrap();
        if config.titration.as_ref().is_some_and(|t| t.interpolation == Interpolation::Hamiltonian) {
            // Buffers interpolate charges; here their three molecules are a site like others, in three pieces.
            sites.sites.iter_mut().for_each(|site| site.kind = SiteKind::Titratable);
        }
        let (topology, forms) = (Arc::new(topology), Forms { sites: &sites.sites, variants: &sites.variants });
        let mut hamiltonian = Hamiltonian::new(&config, &topology, &x, cell, forms).unwrap();
        hamiltonian.rebuild(&x, cell).unwrap();
        let (forces, by_weight) = (vec![Vector3::zeros(); x.len()], sites.layout().zeros());
        Self { config, topology, hamiltonian, sites, references: x.clone(), x, cell, forces, by_weight }
    }

    fn at(&mut self, weights: &[f64]) -> Energies {
        let weights = &self.sites.layout().with_values(weights.to_vec()).unwrap();
        let (positions, restraint_references) = (&self.x, &self.references);
        let at = At { positions, cell: self.cell, restraint_references, weights };
        self.hamiltonian.evaluate(at, &mut self.forces, &mut self.by_weight).unwrap()
    }

    /// The same positions and boxes with the charges of one form of each site, and no sites.
    fn plain(&self, forms: &[usize]) -> (f64, Vec<Vector3<f64>>) {
        let mut topology = Topology::clone(&self.topology);
        for (site, &form) in self.sites.sites.iter().zip(forms) {
            for (&atom, q) in site.atoms.iter().zip(&site.forms[form].charges) {
                topology.atoms[atom as usize].charge = *q;
            }
        }
        let mut hamiltonian =
            Hamiltonian::new(&self.config, &Arc::new(topology), &self.x, self.cell, Forms::default()).unwrap();
        hamiltonian.rebuild(&self.x, self.cell).unwrap();
        let mut forces = vec![Vector3::zeros(); self.x.len()];
        let (positions, restraint_references) = (&self.x, &self.references);
        let at = At { positions, cell: self.cell, restraint_references, weights: &SiteValues::default() };
        let energies = hamiltonian.evaluate(at, &mut forces, &mut SiteValues::default()).unwrap();
        assert_eq!(energies.interpolation, 0.0);
        (energies.potential(), forces)
    }

    /// Every combination of forms, with what it is.
    fn vertices(&self) -> Vec<(Vec<usize>, f64, Vec<Vector3<f64>>)> {
        let mut combinations: Vec<Vec<usize>> = vec![Vec::new()];
        for site in &self.sites.sites {
            let longer =
                |c: &Vec<usize>| (0..site.forms.len()).map(|f| [c.clone(), vec![f]].concat()).collect::<Vec<_>>();
            combinations = combinations.iter().flat_map(longer).collect();
        }
        combinations
            .into_iter()
            .map(|forms| {
                let (energy, forces) = self.plain(&forms);
                (forms, energy, forces)
            })
            .collect()
    }

    fn typical_force(&self) -> f64 {
        (self.forces.iter().map(|f| f.norm_squared()).sum::<f64>() / self.forces.len() as f64).sqrt()
    }
}

const DOUBLE_8: &str = "precision = \"double\"\norder = 8";

/// One site of two forms.
const GLU: &str = "[[titration.site]]\nresidue = \"GLH 2\"\nfixed = 0.3\n";

/// Three sites; the third is the buffer, held so that its λ does not follow.
/// The entries of the tests do not say for which interpolation they are.
const ALLOWED: &str = "allow_mismatch = [\"interpolation\"]\n";

const THREE: &str = "library = [\"LIBRARY/glu-three.toml\", \"LIBRARY/acetyl.toml\", \"LIBRARY/water-test.toml\"]\n\
                     [[titration.site]]\nresidue = \"GLH 2\"\nfixed = [0.5, 0.3, 0.2]\n\
                     [[titration.site]]\nresidue = \"ACE 1\"\nfixed = 0.4\n\
                     [titration.buffer]\nmolecules = 3\nfixed = 0.3\n";

/// Weights of [`THREE`], one a little outside.
const WEIGHTS: [f64; 7] = [0.55, 0.52, -0.07, 0.63, 0.37, 0.72, 0.28];

/// Weight of a combination of forms, without the factors of site `but`.
fn product(starts: &[usize], forms: &[usize], but: Option<usize>) -> f64 {
    let factors = forms.iter().enumerate().filter(|(site, _)| Some(*site) != but);
    factors.map(|(site, form)| WEIGHTS[starts[site] + form]).product()
}

fn brute_force(electrostatics: &str, shift: Vector3<f64>) {
    let mut point = Point::shifted(electrostatics, THREE, shift);
    let starts = point.sites.layout().starts().to_vec();
    assert_eq!(starts, [0, 3, 5, 7]);
    let vertices = point.vertices();
    let energies = point.at(&WEIGHTS);
    let scale = energies.potential().abs();
    assert!(energies.interpolation.abs() > 1.0, "nothing is interpolated: {}", energies.interpolation);
    let expected: f64 = vertices.iter().map(|(forms, energy, _)| product(&starts, forms, None) * energy).sum();
    assert!((energies.potential() - expected).abs() < 1e-10 * scale, "{} {expected}", energies.potential());
    for site in 0..3 {
        let derivative = |form: usize| -> f64 {
            let its = vertices.iter().filter(|(forms, ..)| forms[site] == form);
            its.map(|(forms, energy, _)| product(&starts, forms, Some(site)) * energy).sum()
        };
        let ours = &point.by_weight[starts[site]..starts[site + 1]];
        for form in 1..ours.len() {
            let (ours, exact) = (ours[form] - ours[0], derivative(form) - derivative(0));
            println!("site {site}, form {form}: {ours} {exact}");
            assert!(exact.abs() > 1.0, "the test would not see a derivative of zero");
            assert!((ours - exact).abs() < 1e-10 * scale, "site {site}, form {form}: {ours} {exact}");
        }
    }
    let typical = point.typical_force();
    let worst = (0..point.x.len()).map(|i| {
        let exact: Vector3<f64> = vertices.iter().map(|(forms, _, f)| product(&starts, forms, None) * f[i]).sum();
        (point.forces[i] - exact).norm()
    });
    let worst = worst.fold(0.0, f64::max);
    assert!(worst < 1e-9 * typical, "forces differ by {worst} of {typical}");
}

#[test]
fn three_sites_are_brute_force() {
    // Low order: truncation errors of 1e-3 must cancel as well.
    brute_force("precision = \"double\"\norder = 4", Vector3::zeros());
    // Boxes of half the size, three levels.
    brute_force("precision = \"double\"\norder = 6\ndepth = 2", Vector3::zeros());
}

#[test]
fn sites_across_a_boundary_are_brute_force() {
    // CD of the glutamic acid comes to a corner of the box.
    let cd = Point::new(DOUBLE_8, THREE).x[16];
    brute_force(DOUBLE_8, -cd);
}

/// Forms that differ in types and bonded terms: linear in the weights as well, with the right slopes.
#[test]
fn other_types_and_terms_are_linear_in_the_weights() {
    let titration =
        "library = [\"LIBRARY/glu-varied.toml\"]\n[[titration.site]]\nresidue = \"GLH 2\"\nfixed = [0.5, 0.3, 0.2]\n";
    let mut point = Point::new(DOUBLE_8, titration);
    assert!(!point.sites.variants[0].is_empty());
    let vertices = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|w| point.at(&w));
    let weights = [0.45, 0.35, 0.2];
    let energies = point.at(&weights);
    let sum = |of: fn(&Energies) -> f64| vertices.iter().zip(weights).map(|(v, w)| w * of(v)).sum::<f64>();
    let scale = energies.potential().abs();
    for of in [Energies::potential, |e: &Energies| e.lennard_jones, |e: &Energies| e.bonded.angles.energy] {
        assert!((of(&energies) - sum(of)).abs() < 1e-10 * scale);
    }
    for form in 1..3 {
        let (lennard_jones, angles) = (
            vertices[form].lennard_jones - vertices[0].lennard_jones,
            vertices[form].bonded.angles.energy - vertices[0].bonded.angles.energy,
        );
        assert!(lennard_jones.abs() > 1e-3 && angles.abs() > 1e-3, "{lennard_jones} {angles}");
        let (ours, exact) =
            (point.by_weight[form] - point.by_weight[0], vertices[form].potential() - vertices[0].potential());
        assert!((ours - exact).abs() < 1e-10 * scale, "{ours} {exact}");
    }
}

/// Charge interpolation: V is a parabola along every edge, and its central difference over any h is the derivative.
#[test]
fn charge_interpolation_is_the_derivative_of_the_mixed_charges() {
    let mut point = Point::new(DOUBLE_8, &format!("interpolation = \"charge\"\n{ALLOWED}{THREE}"));
    let energies = point.at(&WEIGHTS);
    let by_weight = point.by_weight.clone();
    assert_eq!(energies.interpolation, 0.0);
    for (first, form) in [(0, 1), (0, 2), (3, 4), (5, 6)] {
        let [after, before] = [0.2, -0.2].map(|h| {
            let mut weights = WEIGHTS;
            weights[first] -= h;
            weights[form] += h;
            point.at(&weights).potential()
        });
        let (numerical, ours) = ((after - before) / 0.4, by_weight[form] - by_weight[first]);
        assert!(ours.abs() > 1.0, "weight {form}: a slope of {ours} is suspicious");
        assert!((numerical - ours).abs() < 1e-10 * energies.potential().abs(), "weight {form}: {numerical} {ours}");
    }
}

/// An atom without charge in the present form feels the potential all the same: its charge in another form counts.
#[test]
fn atoms_without_charge_in_one_form_count_in_another() {
    let mut point = Point::new(DOUBLE_8, GLU);
    let site = &point.sites.sites[0];
    assert!((0..site.atoms.len()).any(|k| site.forms[1].charges[k] == 0.0 && site.forms[0].charges[k] > 0.4));
    let slopes: Vec<f64> = [0.0, 0.4, 1.0]
        .map(|lambda| {
            point.at(&[1.0 - lambda, lambda]);
            point.by_weight[1] - point.by_weight[0]
        })
        .to_vec();
    assert!(slopes[0].abs() > 10.0, "a dV/dλ of {} is suspicious", slopes[0]);
    // Linear in λ: the slope is the same at the form where the proton has no charge.
    assert!(slopes.iter().all(|s| (s - slopes[0]).abs() < 1e-8 * slopes[0].abs()), "{slopes:?}");
}

/// New lists and boxes take the present charges: nothing is left of those at which they were made.
#[test]
fn charges_are_not_stale_after_new_lists() {
    let mut point = Point::new(DOUBLE_8, THREE);
    let expected = point.at(&WEIGHTS).potential();
    let by_weight = point.by_weight.clone();
    point.at(&[1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    point.hamiltonian.rebuild(&point.x, point.cell).unwrap();
    let again = point.at(&WEIGHTS).potential();
    assert_eq!((again, &point.by_weight), (expected, &by_weight));
}

/// Single precision: rounding of the pair work enters ∂V/∂λ, 1e-4 of the energy that the site has with the water.
#[test]
fn single_precision_gives_the_same_dvdl() {
    let [double, single] = ["double", "single"].map(|precision| {
        let mut point = Point::new(&format!("precision = \"{precision}\"\norder = 8"), THREE);
        point.at(&WEIGHTS);
        [(0, 1), (0, 2), (3, 4), (5, 6)].map(|(a, b)| point.by_weight[b] - point.by_weight[a])
    });
    for (double, single) in double.iter().zip(&single) {
        println!("dV/dλ in double {double}, in single {single}");
        assert!((double - single).abs() < 1e-4 * double.abs().max(100.0), "{double} {single}");
    }
}

/// Forces on the atoms of the sites, on a water near them and on one far away are −∂V/∂x at fractional λ, with both interpolations.
///
/// The boxes stay as they are, so that the energy is a smooth function. Forces are the gradient of the truncated energy
/// up to the truncation error itself (order 12: some 1e-5 of a force of 10³ kJ/mol/nm).
#[test]
fn forces_are_the_gradient_at_fractional_lambda() {
    for interpolation in ["hamiltonian", "charge"] {
        let titration = format!("interpolation = \"{interpolation}\"\n{ALLOWED}{THREE}");
        let mut point = Point::new("precision = \"double\"\norder = 12", &titration);
        point.at(&WEIGHTS);
        let analytic = point.forces.clone();
        let typical = point.typical_force();
        let h = 1e-5;
        let sites: Vec<usize> =
            point.sites.sites.iter().flat_map(|s| s.atoms.iter().step_by(3)).map(|&a| a as usize).collect();
        for atom in sites.into_iter().chain([60, 3000]) {
            for (axis, &force) in analytic[atom].iter().enumerate() {
                let start = point.x[atom][axis];
                let energies = [h, -h].map(|step| {
                    point.x[atom][axis] = start + step;
                    point.at(&WEIGHTS).potential()
                });
                point.x[atom][axis] = start;
                let numerical = -(energies[0] - energies[1]) / (2.0 * h);
                assert!(
                    (numerical - force).abs() < 2e-5 * typical,
                    "atom {atom}, axis {axis}: {numerical} and {force}"
                );
            }
        }
    }
}
