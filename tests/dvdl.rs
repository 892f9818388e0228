//! Sites of a real system: the energy is that of plain passes over effective charges and a sum over the pairs inside each site, ∂V/∂λ_α and
//! forces are its derivatives.
//!
//! Three sites at fractional weights: a glutamic acid of three forms, an acetyl of two bonded to it (1-4 pairs and exclusions inside each and
//! between them), and the buffer, whose charges are interpolated. What decides:
//!
//! - at the ends of a site, the others fractional, the energy is that of a plain pass that knows nothing of this site;
//! - central differences of V over any step are ∂V/∂λ_α, because V is a parabola along every edge;
//! - in open space V is a straight line along every edge, and ∂V/∂λ_α and forces are mixtures of those of the pure forms;
//! - in a periodic box its curvature is that of the images alone.
//!
//! A plain pass takes a topology that has the charges in question and no sites. Boxes and operators are the same, so that both sides agree
//! to rounding, not only to the truncation of the expansions; in open space the order makes truncation as small.

use forcefield::topology::Pair14;
use forcefield::units::COULOMB;
use forcefield::{Cell, Topology};
use lambda::SiteValues;
use nalgebra::Vector3;
use octitrate::backend::cpu::hamiltonian::{Forms, Hamiltonian, Point as At};
use octitrate::backend::fmm_settings::charged;
use octitrate::config::Config;
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
        Self::of("inputs/01-glu/glu", electrostatics, titration, shift)
    }

    /// The system of two files of this stem.
    fn of(stem: &str, electrostatics: &str, titration: &str, shift: Vector3<f64>) -> Self {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let (path, library) = (root.join(stem), root.join("tests/good/library"));
        let (path, library) = (path.display(), library.display());
        let text = format!(
            "[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n[electrostatics]\n{electrostatics}\n\
             [dynamics]\nsteps = 1\n[titration]\ntemperature = \"300 K\"\n{}",
            titration.replace("LIBRARY", &library.to_string())
        );
        let config = Config::parse(&text, Path::new("dvdl.toml")).unwrap();
        let system::Input { mut topology, structure, .. } = system::read(&config).unwrap();
        let cell = system::cell(&config, &structure).unwrap();
        let mut x: Vec<_> = structure.positions.iter().map(|x| x + shift).collect();
        if let Some(periodic) = cell.periodic() {
            x.iter_mut().for_each(|x| *x = periodic.wrap(*x));
            Fragments::new(&topology).make_whole(periodic, &mut x).unwrap();
        }
        let sites = Sites::new(&config, &mut topology, &x, cell).unwrap().unwrap();
        let (topology, forms) = (Arc::new(topology), Forms { sites: &sites.sites, variants: &sites.variants });
        let mut hamiltonian = Hamiltonian::new(&config, &topology, &x, cell, forms).unwrap();
        hamiltonian.rebuild(&x, cell).unwrap();
        let (forces, by_weight) = (vec![Vector3::zeros(); x.len()], sites.layout().zeros());
        Self { config, topology, hamiltonian, sites, references: x.clone(), x, cell, forces, by_weight }
    }

    fn at(&mut self, weights: &[f64]) -> Energies {
        let weights = &self.sites.layout().with_values(weights.to_vec()).unwrap();
        let (positions, restraint_references) = (&self.x, &self.references);
        let at = At { positions, cell: self.cell, restraint_references, restraint_part: 1.0, weights };
        self.hamiltonian.evaluate(at, &mut self.forces, &mut self.by_weight).unwrap()
    }

    /// The same positions and boxes with these charges, and no sites.
    fn plain(&self, charges: &[f64]) -> (Energies, Vec<Vector3<f64>>) {
        let mut topology = Topology::clone(&self.topology);
        topology.atoms.iter_mut().zip(charges).for_each(|(atom, q)| atom.charge = *q);
        let mut hamiltonian =
            Hamiltonian::new(&self.config, &Arc::new(topology), &self.x, self.cell, Forms::default()).unwrap();
        hamiltonian.rebuild(&self.x, self.cell).unwrap();
        let mut forces = vec![Vector3::zeros(); self.x.len()];
        let (positions, restraint_references) = (&self.x, &self.references);
        let weights = &SiteValues::default();
        let at = At { positions, cell: self.cell, restraint_references, restraint_part: 1.0, weights };
        let energies = hamiltonian.evaluate(at, &mut forces, &mut SiteValues::default()).unwrap();
        assert_eq!(energies.interpolation, 0.0);
        (energies, forces)
    }

    /// Charges of all atoms at these weights.
    fn charges(&self, weights: &[f64]) -> Vec<f64> {
        let mut charges = self.topology.charges();
        for (site, first) in self.sites.sites.iter().zip(self.sites.layout().starts()) {
            for (k, &atom) in site.atoms.iter().enumerate() {
                let forms = site.forms.iter().zip(&weights[*first..]);
                charges[atom as usize] = forms.map(|(form, weight)| weight * form.charges[k]).sum();
            }
        }
        charges
    }

    /// Σ_i<j a_i a_j s_ij / r_ij over the atoms of one site, excluded pairs left out and 1-4 pairs scaled, kJ/mol.
    fn among(&self, site: usize, a: &[f64]) -> f64 {
        let atoms = &self.sites.sites[site].atoms;
        let mut sum = 0.0;
        for (i, &first) in atoms.iter().enumerate() {
            for (j, &second) in atoms.iter().enumerate().skip(i + 1) {
                let of_pair = |pair: &&Pair14| pair.atoms == [first, second] || pair.atoms == [second, first];
                let direct = f64::from(u8::from(!self.topology.exclusions.contains(first, second)));
                let scaled: f64 = self.topology.pairs.iter().filter(of_pair).map(|pair| pair.coulomb_scale).sum();
                let r = (self.x[first as usize] - self.x[second as usize]).norm();
                sum += COULOMB * (direct + scaled) * a[i] * a[j] / r;
            }
        }
        sum
    }

    /// Σ_α λ_α W(q^α) − W(q) of one site.
    fn bracket(&self, site: usize, weights: &[f64]) -> f64 {
        let (first, forms) = (self.sites.layout().starts()[site], &self.sites.sites[site].forms);
        let own = &weights[first..first + forms.len()];
        let mean: Vec<f64> = (0..forms[0].charges.len())
            .map(|k| forms.iter().zip(own).map(|(form, weight)| weight * form.charges[k]).sum())
            .collect();
        let of_forms: f64 = forms.iter().zip(own).map(|(form, w)| w * self.among(site, &form.charges)).sum();
        of_forms - self.among(site, &mean)
    }

    /// Sites with Hamiltonian interpolation.
    fn interpolated(&self) -> Vec<usize> {
        (0..self.sites.sites.len()).filter(|site| !self.sites.sites[*site].is_buffer()).collect()
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

/// The same, of water of four sites at another temperature and in another box.
const ALLOWED_FOUR: &str = "allow_mismatch = [\"interpolation\", \"images\", \"temperature\", \"cutoff\", \"modifier\", \"water\", \"boundary\", \"parameters\"]\n";

const THREE: &str = "library = [\"LIBRARY/glu-three.toml\", \"LIBRARY/acetyl.toml\", \"LIBRARY/water-test.toml\"]\n\
                     [[titration.site]]\nresidue = \"GLH 2\"\nfixed = [0.5, 0.3, 0.2]\n\
                     [[titration.site]]\nresidue = \"ACE 1\"\nfixed = 0.4\n\
                     [titration.buffer]\nmolecules = 3\nfixed = 0.3\n";

/// Weights of [`THREE`], one a little outside.
const WEIGHTS: [f64; 7] = [0.55, 0.52, -0.07, 0.63, 0.37, 0.72, 0.28];

/// [`WEIGHTS`] with one site in one form.
fn at_end(starts: &[usize], site: usize, form: usize) -> Vec<f64> {
    let mut weights = WEIGHTS.to_vec();
    weights[starts[site]..starts[site + 1]].fill(0.0);
    weights[starts[site] + form] = 1.0;
    weights
}

fn plain_passes_and_pairs(electrostatics: &str, shift: Vector3<f64>) {
    let mut point = Point::shifted(electrostatics, THREE, shift);
    let starts = point.sites.layout().starts().to_vec();
    assert_eq!((starts.as_slice(), point.interpolated().as_slice()), (&[0, 3, 5, 7][..], &[0, 1][..]));
    let mut largest: f64 = 0.0;
    for site in 0..3 {
        for form in 0..starts[site + 1] - starts[site] {
            let weights = at_end(&starts, site, form);
            let energies = point.at(&weights);
            let (plain, _) = point.plain(&point.charges(&weights));
            // Nothing is left of the bracket of the site at its end.
            let others = point.interpolated().into_iter().filter(|other| *other != site);
            let brackets: f64 = others.map(|other| point.bracket(other, &weights)).sum();
            largest = largest.max(brackets.abs());
            let expected = plain.potential() + brackets;
            assert!(
                (energies.potential() - expected).abs() < 1e-10 * expected.abs(),
                "site {site} in form {form}: {} {expected}",
                energies.potential()
            );
        }
    }
    assert!(largest > 1.0, "nothing is interpolated: {largest}");
    // All sites in one form: forces are those of the plain pass.
    let pure = [0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0];
    point.at(&pure);
    let (_, forces) = point.plain(&point.charges(&pure));
    let worst = point.forces.iter().zip(&forces).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(worst < 1e-9 * point.typical_force(), "forces differ by {worst} of {}", point.typical_force());
}

#[test]
fn ends_of_each_site_are_plain_passes() {
    // Low order: both sides have the same error of truncation.
    plain_passes_and_pairs("precision = \"double\"\norder = 4", Vector3::zeros());
    // Boxes of half the size, three levels.
    plain_passes_and_pairs("precision = \"double\"\norder = 6\ndepth = 2", Vector3::zeros());
}

#[test]
fn sites_may_lie_across_a_boundary() {
    // CD of the glutamic acid comes to a corner of the box.
    let cd = Point::new(DOUBLE_8, THREE).x[16];
    plain_passes_and_pairs(DOUBLE_8, -cd);
}

/// V is a parabola along every edge, and its central difference over any step is the derivative, with both interpolations.
#[test]
fn derivatives_are_central_differences() {
    for interpolation in ["hamiltonian", "charge"] {
        let mut point = Point::new(DOUBLE_8, &format!("interpolation = \"{interpolation}\"\n{ALLOWED}{THREE}"));
        let energies = point.at(&WEIGHTS);
        let by_weight = point.by_weight.clone();
        assert_eq!(energies.interpolation == 0.0, interpolation == "charge");
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
}

/// In open space V is linear in the weights of every site: energies, ∂V/∂λ_α and forces are mixtures of those of the pure forms.
#[test]
fn open_space_has_straight_lines() {
    // Truncation at this order is below rounding; the boxes are so small that a site fills several.
    let electrostatics = "precision = \"double\"\norder = 30\ndepth = 3\nboundary = \"open\"";
    let two = THREE.split("[titration.buffer]").next().unwrap();
    let mut point = Point::new(electrostatics, two);
    let (starts, weights) = (point.sites.layout().starts().to_vec(), &WEIGHTS[..5]);
    assert_eq!(starts, [0, 3, 5]);
    let energies = point.at(weights);
    let (scale, by_weight, forces) = (energies.potential().abs(), point.by_weight.clone(), point.forces.clone());
    let typical = point.typical_force();
    assert!(energies.interpolation.abs() > 1.0, "nothing is interpolated");
    for site in 0..2 {
        let forms = starts[site + 1] - starts[site];
        let ends: Vec<(f64, Vec<Vector3<f64>>)> = (0..forms)
            .map(|form| {
                let energy = point.at(&at_end(&[0, 3, 5, 7], site, form)[..5]).potential();
                (energy, point.forces.clone())
            })
            .collect();
        let own = &weights[starts[site]..starts[site + 1]];
        let mixed: f64 = ends.iter().zip(own).map(|((energy, _), weight)| weight * energy).sum();
        assert!((mixed - energies.potential()).abs() < 1e-10 * scale, "site {site}: {mixed} {}", energies.potential());
        for form in 1..forms {
            let ours = by_weight[starts[site] + form] - by_weight[starts[site]];
            let exact = ends[form].0 - ends[0].0;
            assert!(exact.abs() > 1.0, "the test would not see a derivative of zero");
            assert!((ours - exact).abs() < 1e-10 * scale, "site {site}, form {form}: {ours} {exact}");
        }
        let worst = (0..forces.len()).map(|i| {
            let mixed: Vector3<f64> = ends.iter().zip(own).map(|((_, forces), weight)| *weight * forces[i]).sum();
            (mixed - forces[i]).norm()
        });
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 1e-9 * typical, "forces differ by {worst} of {typical}");
    }
}

/// In a periodic box V(0) − 2 V(½) + V(1) along an edge is half of the energy that the change of the charges has with its own images. For a
/// unit of charge that is nearly −½ k_e 2.837/L, that of a point charge in a cube of edge L with its background.
#[test]
fn the_curvature_is_that_of_the_images() {
    // A pass over the change alone has a dozen charges, for which other boxes would be chosen.
    let mut point = Point::new(&format!("{DOUBLE_8}\ndepth = 2"), THREE);
    let starts = point.sites.layout().starts().to_vec();
    let edge = point.cell.edges().unwrap().x;
    for site in point.interpolated() {
        for form in 1..starts[site + 1] - starts[site] {
            let mut along = |lambda: f64| {
                let mut weights = at_end(&starts, site, form);
                (weights[starts[site]], weights[starts[site] + form]) = (1.0 - lambda, lambda);
                point.at(&weights).potential()
            };
            let found = along(0.0) - 2.0 * along(0.5) + along(1.0);
            let one = &point.sites.sites[site];
            let change: Vec<f64> =
                one.forms[form].charges.iter().zip(&one.forms[0].charges).map(|(b, a)| b - a).collect();
            let mut charges = vec![0.0; point.x.len()];
            one.atoms.iter().zip(&change).for_each(|(&atom, q)| charges[atom as usize] = *q);
            let (plain, _) = point.plain(&charges);
            let images = plain.coulomb + plain.coulomb_14 - point.among(site, &change);
            // Rounding of energies of 5e4 kJ/mol.
            assert!((found - 0.5 * images).abs() < 1e-7, "site {site}, form {form}: {found} {}", 0.5 * images);
            let total: f64 = change.iter().sum();
            if total.abs() > 0.9 {
                let point_charge = -0.5 * COULOMB * 2.837_297 * total * total / edge;
                // The extent d of the change adds (2π/3) k_e d²/L³ and more: a few percent.
                assert!((images / point_charge - 1.0).abs() < 0.1, "{images} {point_charge}");
            }
        }
    }
}

/// Forms that differ in types and bonded terms: bonded terms are linear in the weights, Lennard-Jones is not, and the slopes of both are central differences.
#[test]
fn slopes_by_weights_hold_other_types_and_terms() {
    let titration =
        "library = [\"LIBRARY/glu-varied.toml\"]\n[[titration.site]]\nresidue = \"GLH 2\"\nfixed = [0.5, 0.3, 0.2]\n";
    let mut point = Point::new(DOUBLE_8, titration);
    assert!(!point.sites.variants[0].is_empty());
    let vertices = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|w| point.at(&w));
    let weights = [0.45, 0.35, 0.2];
    let energies = point.at(&weights);
    let sum = |of: fn(&Energies) -> f64| vertices.iter().zip(weights).map(|(v, w)| w * of(v)).sum::<f64>();
    let scale = energies.potential().abs();
    let by_weight = point.by_weight.clone();
    assert!((energies.bonded.angles.energy - sum(|e| e.bonded.angles.energy)).abs() < 1e-10 * scale);
    assert!((energies.lennard_jones - sum(|e| e.lennard_jones)).abs() > 1e-6 * scale);
    for form in 1..3 {
        let (lennard_jones, angles) = (
            vertices[form].lennard_jones - vertices[0].lennard_jones,
            vertices[form].bonded.angles.energy - vertices[0].bonded.angles.energy,
        );
        assert!(lennard_jones.abs() > 1e-3 && angles.abs() > 1e-3, "{lennard_jones} {angles}");
        let mut slope = |h: f64| {
            let [after, before] = [h, -h].map(|h| {
                let mut moved = weights;
                moved[0] -= h;
                moved[form] += h;
                point.at(&moved).potential()
            });
            (after - before) / (2.0 * h)
        };
        // Of two steps, so that no error of second order is left.
        let (ours, exact) = (by_weight[form] - by_weight[0], (4.0 * slope(0.002) - slope(0.004)) / 3.0);
        assert!((ours - exact).abs() < 1e-9 * scale, "{ours} {exact}");
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
    // Linear in λ but for the images, whose curvature is −59 kJ/mol in this box: the slope at the form without the proton's charge is
    // that at the other, plus twice that.
    let expected = |lambda: f64| slopes[0] + lambda * (slopes[2] - slopes[0]);
    assert!(
        (slopes[2] - slopes[0]).abs() < 150.0 && (slopes[1] - expected(0.4)).abs() < 1e-8 * slopes[0].abs(),
        "{slopes:?}"
    );
}

/// The oxygen of water of four sites has no charge in the topology and is left out of the FMM, but where it belongs to a charge buffer whose forms
/// have charges there: ∂V/∂λ is then the central difference.
#[test]
fn uncharged_atoms_are_left_out_unless_a_site_has_them() {
    let settings = "precision = \"double\"\norder = 8\n[van_der_waals]\ncutoff = \"0.9 nm\"\n[neighbour_list]\nbuffer = \"0.1 nm\"";
    let titration = format!(
        "ph = 4.0\nallow_uncalibrated = true\nlibrary = [\"LIBRARY/../../../lambda/library/glu.toml\", \"LIBRARY/water-four-test.toml\"]\n\
         {ALLOWED_FOUR}[[titration.site]]\nresidue = \"GLH 2\"\nfixed = 0.3\n\
         [titration.buffer]\nmolecules = 3\ndistance = \"0.3 nm\"\nfixed = 0.3\n"
    );
    let mut point = Point::of("tests/reference/tip4pew", settings, &titration, Vector3::zeros());
    let buffer = point.sites.sites.iter().find(|site| site.is_buffer()).unwrap();
    let uncharged = |atom: &u32| point.topology.atoms[*atom as usize].charge == 0.0;
    assert_eq!((buffer.atoms.len(), buffer.atoms.iter().filter(|atom| uncharged(atom)).count()), (12, 3));
    let others = point.topology.settles.len() - 3;
    let charged = charged(&point.topology, &point.sites.sites);
    assert_eq!(charged.len(), point.topology.n_atoms() - others);
    let said = point.hamiltonian.describe_coulomb();
    assert!(said.ends_with(&format!("; {others} atoms without charge are left out")), "{said}");
    let energies = point.at(&[0.7, 0.3, 0.6, 0.4]);
    let ours = point.by_weight[3] - point.by_weight[2];
    let [after, before] = [0.2, -0.2].map(|h| point.at(&[0.7, 0.3, 0.6 - h, 0.4 + h]).potential());
    let numerical = (after - before) / 0.4;
    assert!(ours.abs() > 1.0, "a slope of {ours} is suspicious");
    assert!((numerical - ours).abs() < 1e-10 * energies.potential().abs(), "{numerical} {ours}");
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
