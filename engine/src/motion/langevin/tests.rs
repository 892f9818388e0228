//! Langevin dynamics against exact averages: of oscillators, of rigid waters in a field, of a chain of fixed bonds.

use super::*;
use crate::motion::constraints::{Constraints, DEFAULT_TOLERANCE};
use crate::motion::leapfrog::{scale, start_velocities, temperature};
use crate::motion::thermostat::VRescale;
use crate::toy::{Droplet, mean_and_variance, slope, spc_forces};
use forcefield::topology::Constraint;

const RT: f64 = GAS_CONSTANT * 300.0;

/// Mean of independent averages and its standard error.
fn mean_and_error(averages: &[f64]) -> (f64, f64) {
    let (mean, variance) = mean_and_variance(averages);
    (mean, (variance / averages.len() as f64).sqrt())
}

/// A thermostat in a test: Langevin dynamics of 5/ps, or v-rescale of 0.1 ps.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Langevin,
    VRescale,
}

/// −⟨x F⟩/RT and m⟨v²⟩/RT along x, y and z of `n` atoms of 12 u in ½ k x² + ½ l (y² + z²) + ½ g x² (y² + z²), each with its error; k and l are those of
/// these ω dt, and g (y² + z²) is this part of k on average. Exact is 1.
fn oscillators(kind: Kind, n: usize, [stiff, soft, coupled]: [f64; 3], steps: u64) -> [[(f64, f64); 3]; 2] {
    let (dt, mass) = (0.004, 12.0);
    let [k, l] = [stiff, soft].map(|angle| mass * (angle / dt).powi(2));
    let g = coupled * k * l / (2.0 * RT);
    let masses = vec![mass; n];
    let constraints = Constraints::from_parts(&masses, &[], &[], DEFAULT_TOLERANCE).unwrap();
    let leap = LeapFrog { masses: &masses, constraints: &constraints, dt };
    let langevin = Langevin::new(300.0, 5.0).unwrap();
    let rescale = VRescale::new(300.0, 0.1, 3 * n).unwrap();
    let mut x = vec![Vector3::zeros(); n];
    let mut v = start_velocities(&x, &masses, &constraints, 600.0, false, 3).unwrap();
    let mut scratch = Scratch::default();
    let mut sums = vec![[[0.0; 3]; 2]; n];
    let left_out = steps / 4;
    for step in 0..steps {
        let force = |x: &Vector3<f64>| {
            let (across, along) = (k + g * (x.y * x.y + x.z * x.z), l + g * x.x * x.x);
            Vector3::new(-across * x.x, -along * x.y, -along * x.z)
        };
        let forces: Vec<_> = x.iter().map(force).collect();
        if step >= left_out {
            for (((sums, x), v), f) in sums.iter_mut().zip(&x).zip(&v).zip(&forces) {
                for axis in 0..3 {
                    sums[0][axis] -= x[axis] * f[axis];
                    sums[1][axis] += mass * v[axis] * v[axis];
                }
            }
        }
        match kind {
            Kind::Langevin => {
                langevin.step(&leap, &mut x, &mut v, &forces, [5, step], &mut scratch).unwrap();
            }
            Kind::VRescale => {
                let kinetic = kinetic_energy(&v, &masses);
                scale(&mut v, rescale.rescale(&mut 0.0, kinetic, dt, 5, step).unwrap());
                leap.step(&mut x, &mut v, &forces, &mut scratch.previous).unwrap();
            }
        }
    }
    let per = 1.0 / (RT * (steps - left_out) as f64);
    let average =
        |what: usize, axis: usize| mean_and_error(&sums.iter().map(|sums| per * sums[what][axis]).collect::<Vec<_>>());
    [0, 1].map(|what| [0, 1, 2].map(|axis| average(what, axis)))
}

/// ⟨x²⟩ = RT/k and ⟨v²⟩ = RT/m at any stable step.
#[test]
fn an_oscillator_has_the_exact_fluctuations() {
    let found = oscillators(Kind::Langevin, 400, [1.4, 1.4, 0.0], 6000);
    println!("ω dt = 1.4: k⟨x²⟩/RT and m⟨v²⟩/RT {found:.4?}");
    for (mean, error) in found.into_iter().flatten() {
        assert!(error < 0.01 && (mean - 1.0).abs() < 5.0 * error, "{mean} ± {error}");
    }
}

/// Where a stiff vibration exchanges energy with soft ones, leap-frog gives it 1/(1 − (ω dt/2)²) times as much as those: here ω dt is 1.2, or 1.26 with
/// what the coupling adds. v-rescale keeps the sum alone; Langevin dynamics keeps each.
#[test]
fn a_stiff_vibration_beside_soft_ones_has_its_part() {
    let [all, exact] = [Kind::VRescale, Kind::Langevin].map(|kind| oscillators(kind, 400, [1.2, 0.3, 0.1], 15_000)[0]);
    println!("v-rescale {all:.3?}, Langevin {exact:.3?}");
    // Soft: ω dt = 0.3. (1 − 0.15²)/(1 − 0.63²) = 1.62, where the coupling were weak; it is not, and takes x farther.
    let ratio = 2.0 * all[0].0 / (all[1].0 + all[2].0);
    assert!(ratio > 1.5, "{ratio}");
    for (mean, error) in exact {
        // Of what is not harmonic an error of second order in ω dt is left, below one part in a hundred.
        assert!((mean - 1.0).abs() < 5.0 * error + 0.01, "{mean} ± {error}");
    }
}

/// Where constraints act, what the bath does with them: nothing, as OpenMM after the kick, or on what the bath changes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Nothing,
    AfterKick,
    Changes,
}

/// A step of each variant.
fn step_of(
    held: Held,
    (langevin, leap): (&Langevin, &LeapFrog<'_>),
    (x, v): (&mut [Vector3<f64>], &mut [Vector3<f64>]),
    forces: &[Vector3<f64>],
    step: u64,
    scratch: &mut Scratch,
) -> StepEnergies {
    if held == Held::Changes {
        return langevin.step(leap, x, v, forces, [6, step], scratch).unwrap().0;
    }
    let LeapFrog { masses, constraints, dt } = *leap;
    let Scratch { previous, changes } = scratch;
    previous.clear();
    previous.extend_from_slice(x);
    let kinetic_before = kinetic_energy(v, masses);
    kick(v, forces, masses, dt);
    if held == Held::AfterKick {
        constraints.project(x, v).unwrap();
    }
    langevin.changes(v, masses, dt, [6, step], changes);
    drift(x, v, changes, dt);
    let constraint_virial = constraints.apply_with_velocities(previous, x, v, dt).unwrap();
    StepEnergies { kinetic_before, kinetic_after: kinetic_energy(v, masses), constraint_virial }
}

/// What averages of a system of independent molecules say, each with its error, beside what is exact.
#[derive(Debug)]
struct Found {
    /// Kinetic energy of half steps over that of the temperature.
    kinetic: (f64, f64),
    /// The average of a molecule over the exact one.
    configuration: (f64, f64),
}

type Forces<'a> = &'a dyn Fn(&[Vector3<f64>], &mut [Vector3<f64>]);

/// A system of molecules that do not see each other.
struct Molecules<'a> {
    masses: Vec<f64>,
    constraints: Constraints,
    x: Vec<Vector3<f64>>,
    atoms: usize,
    forces: Forces<'a>,
    /// What is averaged, and its exact average.
    observable: &'a dyn Fn(&[Vector3<f64>]) -> f64,
    exact: f64,
}

impl Molecules<'_> {
    fn run(&self, held: Held, dt: f64, friction: f64, steps: u64) -> Found {
        let Self { masses, constraints, atoms, .. } = self;
        let langevin = Langevin::new(300.0, friction).unwrap();
        let leap = LeapFrog { masses, constraints, dt };
        let mut x = self.x.clone();
        let mut v = start_velocities(&x, masses, constraints, 300.0, false, 3).unwrap();
        let mut f = vec![Vector3::zeros(); x.len()];
        let mut scratch = Scratch::default();
        let molecules = x.len() / atoms;
        let freedom = (3 * x.len() - constraints.count()) as f64;
        let left_out = steps / 10;
        let (mut sums, mut kinetic) = (vec![0.0; molecules], Vec::new());
        for step in 0..steps {
            (self.forces)(&x, &mut f);
            let energies = step_of(held, (&langevin, &leap), (&mut x, &mut v), &f, step, &mut scratch);
            if step < left_out {
                continue;
            }
            kinetic.push(energies.kinetic() / (0.5 * freedom * RT));
            let all = sums.iter_mut().zip(x.chunks_exact(*atoms));
            all.for_each(|(sum, molecule)| *sum += (self.observable)(molecule));
        }
        let per = 1.0 / (self.exact * (steps - left_out) as f64);
        // Blocks of ten times the time in which friction forgets.
        let block = ((10.0 / friction / dt) as usize).min(kinetic.len() / 20);
        let blocks: Vec<f64> =
            kinetic.chunks_exact(block).map(|part| part.iter().sum::<f64>() / block as f64).collect();
        Found {
            kinetic: mean_and_error(&blocks),
            configuration: mean_and_error(&sums.iter().map(|sum| per * sum).collect::<Vec<_>>()),
        }
    }
}

/// Rigid waters in a field F along z, which turns them with up to 160 rad/ps as librations in water: ⟨1 − cos θ⟩ = 1 + 1/z − coth z, z = μF/RT.
fn waters_in_a_field(held: Held, dt: f64, friction: f64, steps: u64) -> Found {
    let Droplet { x, masses, constraints } = Droplet::new(6);
    const ENERGY: f64 = 150.0;
    let axis = |molecule: &[Vector3<f64>]| 0.5 * (molecule[1] + molecule[2]) - molecule[0];
    // Turned into the field at first, so that librations are soon thermal.
    let height = axis(&x[..3]).norm();
    let push = ENERGY / height;
    let forces = |_: &[Vector3<f64>], f: &mut [Vector3<f64>]| {
        for molecule in f.chunks_exact_mut(3) {
            molecule[0] = Vector3::new(0.0, 0.0, -push);
            (molecule[1], molecule[2]) = (-0.5 * molecule[0], -0.5 * molecule[0]);
        }
    };
    let upright = |molecule: &[Vector3<f64>]| {
        let half = 0.5 * (molecule[1] - molecule[2]).norm();
        [[0.0, 0.0], [half, height], [-half, height]].map(|[a, b]| molecule[0] + Vector3::new(a, 0.0, b))
    };
    let z = ENERGY / RT;
    Molecules {
        x: x.chunks_exact(3).flat_map(upright).collect(),
        masses,
        constraints,
        atoms: 3,
        forces: &forces,
        observable: &|molecule| 1.0 - axis(molecule).z / height,
        exact: 1.0 + 1.0 / z - 1.0 / z.tanh(),
    }
    .run(held, dt, friction, steps)
}

/// Three atoms, two fixed bonds, V = K (1 + cos θ) of the angle between the bond vectors from the middle: its density in c = cos θ is
/// √(det Z) e^{−V/RT} with Z of the constraints, det Z ∝ (1/m₁ + 1/m₂)(1/m₃ + 1/m₂) − c²/m₂².
fn chains(held: Held, dt: f64, friction: f64, steps: u64) -> Found {
    const LENGTH: f64 = 0.12;
    const STRENGTH: f64 = 100.0;
    const MASSES: [f64; 3] = [3.0, 10.0, 3.0];
    let n = 300;
    let masses = MASSES.repeat(n);
    let place = |k: usize| Vector3::new(k as f64, 0.0, 0.0);
    let x = (0..n).flat_map(|k| [-LENGTH, 0.0, LENGTH].map(|z| place(k) + Vector3::new(0.0, 0.0, z))).collect();
    let bonds: Vec<_> = (0..n as u32)
        .flat_map(|k| [[3 * k, 3 * k + 1], [3 * k + 1, 3 * k + 2]])
        .map(|atoms| Constraint { atoms, length: LENGTH })
        .collect();
    let cosine = |m: &[Vector3<f64>]| (m[0] - m[1]).dot(&(m[2] - m[1])) / (LENGTH * LENGTH);
    let forces = |x: &[Vector3<f64>], f: &mut [Vector3<f64>]| {
        for (m, f) in x.chunks_exact(3).zip(f.chunks_exact_mut(3)) {
            // Along bonds there may be anything: constraints take it up.
            f[0] = -STRENGTH / (LENGTH * LENGTH) * (m[2] - m[1]);
            f[2] = -STRENGTH / (LENGTH * LENGTH) * (m[0] - m[1]);
            f[1] = -f[0] - f[2];
        }
    };
    let [end, middle] = [1.0 / MASSES[0], 1.0 / MASSES[1]];
    let (mut sum, mut norm) = (0.0, 0.0);
    for k in 0..200_000 {
        let c = -1.0 + (f64::from(k) + 0.5) * 1e-5;
        let weight = ((end + middle).powi(2) - (c * middle).powi(2)).sqrt() * (-STRENGTH * (1.0 + c) / RT).exp();
        sum += weight * (1.0 + c);
        norm += weight;
    }
    Molecules {
        masses,
        constraints: Constraints::from_parts(&MASSES.repeat(n), &bonds, &[], 1e-10).unwrap(),
        x,
        atoms: 3,
        forces: &forces,
        observable: &|m| 1.0 + cosine(m),
        exact: sum / norm,
    }
    .run(held, dt, friction, steps)
}

/// What decides where constraints act. Friction of 10/ps and steps of 4 fs are 0.04 of velocities per step.
///
/// Without any projection what the kick has along bonds is damped, but what turns it into the bonds of the next step is not: waters in the field librate at
/// 345 K, at any friction. Velocities projected after the kick, as in OpenMM, give exact positions and keep half of the noise along bonds until the next
/// step: ½ γ dt of ½ RT for each constraint. With what the bath changes projected both are exact.
#[test]
fn the_bath_must_not_act_along_fixed_bonds() {
    let (dt, friction, steps) = (0.004, 10.0, 4000);
    type System = fn(Held, f64, f64, u64) -> Found;
    // Constraints for each degree of freedom that they leave.
    let systems = [("waters", waters_in_a_field as System, 3.0 / 6.0), ("chains", chains, 2.0 / 7.0)];
    for (name, system, constraints) in systems {
        let run = |held| {
            let found = system(held, dt, friction, steps);
            println!("{name}, {held:?}: kinetic {:.4?}, configuration {:.4?}", found.kinetic, found.configuration);
            found
        };
        // Five standard errors, and half a percent for what is of second order in the angle that a bond turns by in a step (0.1 rad, squared and halved).
        let exact = |(mean, error): (f64, f64)| (mean - 1.0).abs() < 5.0 * error + 0.005;
        let changes = run(Held::Changes);
        assert!(exact(changes.kinetic) && exact(changes.configuration), "{name}: {changes:?}");
        let nothing = run(Held::Nothing);
        assert!(!exact(nothing.kinetic) && !exact(nothing.configuration), "{name}: {nothing:?}");
        let after_kick = run(Held::AfterKick);
        assert!(exact(after_kick.configuration), "{name}: {after_kick:?}");
        let noise = 0.5 * friction * dt * constraints;
        assert!(after_kick.kinetic.0 - changes.kinetic.0 > 0.5 * noise, "{name}: {after_kick:?}");
    }
}

/// 27 waters: the course of energies under Langevin dynamics.
struct Course {
    kinetic: Vec<f64>,
    total: Vec<f64>,
    conserved: Vec<f64>,
    x: Vec<Vector3<f64>>,
    v: Vec<Vector3<f64>>,
}

fn droplet(langevin: Option<Langevin>, dt: f64, steps: u64) -> Course {
    let Droplet { masses, constraints, mut x } = Droplet::new(3);
    let mut v = start_velocities(&x, &masses, &constraints, 300.0, false, 4).unwrap();
    let leap = LeapFrog { masses: &masses, constraints: &constraints, dt };
    let mut f = vec![Vector3::zeros(); x.len()];
    let mut scratch = Scratch::default();
    let mut done = 0.0;
    let mut course = Course { kinetic: vec![], total: vec![], conserved: vec![], x: vec![], v: vec![] };
    for step in 0..steps {
        let potential = spc_forces(&x, &mut f);
        let (mut y, mut u) = (x.clone(), v.clone());
        let ahead = leap.step(&mut y, &mut u, &f, &mut Vec::new()).unwrap();
        course.kinetic.push(ahead.kinetic());
        course.total.push(potential + ahead.kinetic());
        course.conserved.push(potential + ahead.kinetic() - done);
        if let Some(langevin) = &langevin {
            done += langevin.step(&leap, &mut x, &mut v, &f, [7, step], &mut scratch).unwrap().1;
        } else {
            leap.step(&mut x, &mut v, &f, &mut scratch.previous).unwrap();
        }
        assert!(constraints.largest_deviation(&x).unwrap().0 < 1e-12);
    }
    (course.x, course.v) = (x, v);
    course
}

/// Without friction nothing differs from leap-frog; with little the difference is as small as the noise, √γ.
#[test]
fn without_friction_it_is_leap_frog() {
    let free = droplet(None, 0.002, 50);
    let none = droplet(Some(Langevin::new(0.0, 1e-16).unwrap()), 0.002, 50);
    assert_eq!((&none.x, &none.v), (&free.x, &free.v));
    let distance = |friction| {
        let course = droplet(Some(Langevin::new(300.0, friction).unwrap()), 0.002, 50);
        course.x.iter().zip(&free.x).map(|(a, b)| (a - b).norm_squared()).sum::<f64>().sqrt()
    };
    let [more, less] = [1e-8, 1e-10].map(distance);
    assert!((more / less - 10.0).abs() < 0.01, "{more:e} {less:e}");
}

/// Kinetic energies of a droplet follow the Gamma distribution; without the work of the bath the energy walks, with it what is conserved stays.
#[test]
fn kinetic_energy_is_canonical_and_the_work_is_counted() {
    let (dt, friction) = (0.002, 5.0);
    let course = droplet(Some(Langevin::new(300.0, friction).unwrap()), dt, 20_000);
    let dof = 27.0 * 6.0;
    let (mean, variance) = mean_and_variance(&course.kinetic[1000..]);
    let drift = slope(&course.conserved[1000..]) / dt / 81.0;
    let [total, conserved] = [&course.total, &course.conserved].map(|e| mean_and_variance(&e[1000..]).1.sqrt());
    let [found, width] = [temperature(mean, 162) / 300.0, variance / (0.5 * dof * RT * RT)];
    println!("temperature {found:.4}, variance {width:.3} of the exact one, drift {drift:.1e} kJ/mol/ps/atom");
    println!("the energy varies by {total:.2} kJ/mol, what is conserved by {conserved:.2}");
    // 38 ps at 5/ps: kinetic energies forget within 1/2γ, but potential energy gives some of it back; 100 of them are independent at least.
    let independent = 100.0_f64;
    assert!((found - 1.0).abs() < 5.0 * (2.0 / dof / independent).sqrt(), "{found}");
    assert!((width - 1.0).abs() < 5.0 * ((2.0 + 12.0 / dof) / independent).sqrt(), "{width}");
    // Without the work both were the same. The drift is of second order in the step: a thousandth of what the bath turns over, γ RT per degree of
    // freedom, two of which an atom has.
    assert!(conserved < 0.3 * total && drift.abs() < 1e-3 * 2.0 * friction * RT, "{conserved} {total} {drift}");
}

#[test]
fn numbers_do_not_depend_on_threads() {
    let masses: Vec<f64> = (0..10_000).map(|k| if k % 10 == 0 { 0.0 } else { 1.0 + f64::from(k % 7) }).collect();
    let v: Vec<_> = (0..10_000).map(|k| Vector3::new(f64::from(k), 1.0, -0.5)).collect();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut changes = Vec::new();
        pool.install(|| Langevin::new(300.0, 1.0).unwrap().changes(&v, &masses, 0.002, [1, 2], &mut changes));
        changes
    };
    let one = with(1);
    assert_eq!(one, with(5));
    assert!(one.iter().step_by(10).all(|change| *change == Vector3::zeros()), "what has no mass keeps its velocity");
}

#[test]
fn impossible_input_is_refused() {
    for (temperature, friction) in [(-1.0, 1.0), (300.0, 0.0), (300.0, -1.0), (f64::NAN, 1.0), (300.0, f64::INFINITY)] {
        let error = Langevin::new(temperature, friction).unwrap_err();
        assert!(error.to_string().contains("the friction must be positive"), "{error}");
    }
}
