//! Sites on the emulated device against the CPU code.

use super::tables::Shape;
use super::*;
use crate::bias::{Acidity, Barrier, Entropy, ModelCorrection, PhPotential, Separation, SimplexBasis};
use crate::coordinate::Coordinate;
use crate::interpolation::{interpolate, own_pairs, set_effective_charges};
use crate::library::Correction;
use crate::motion::{LambdaSettings, SiteMotion};
use crate::site::{Form, SiteKind};
use forcefield::ExcludedPairs;
use forcefield::topology::Pair14;
use forcefield::units::COULOMB;
use kernels::device::{check_layouts, compiles};
use nalgebra::Vector3;

const N: usize = 60;
const FIXED: f64 = 4_294_967_296.0;
const ENERGY: f64 = 16_777_216.0;

/// Numbers in −1 … 1.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

fn site(name: &str, atoms: Vec<u32>, forms: usize, seed: u64) -> Site {
    let mut number = random(seed);
    // An atom without charge in one form only.
    let mut form = |f: usize| Form {
        name: "form".into(),
        charges: (0..atoms.len()).map(|k| if k % 4 == f { 0.0 } else { number() }).collect(),
        protons_lost: f as u32,
        pk: 0.0,
        nominal_charge: 0.0,
    };
    let forms = (0..forms).map(&mut form).collect();
    let correction = Correction::Uncalibrated;
    let (pka, kind, residues) = (Some(4.0), SiteKind::Titratable, vec![0]);
    let (name, entry, force_field) = (name.into(), "test".into(), "none".into());
    Site { name, entry, force_field, residues, atoms, forms, pka, correction, kind }
}

/// Coordinate and net charges of each site; the last is a buffer.
const MOTIONS: [(Coordinate, &[f64]); 8] = [
    (Coordinate::Linear, &[0.0, -1.0]),
    (Coordinate::Fixed, &[1.0, 0.0, 0.0]),
    (Coordinate::LinearWeights, &[1.0, 0.0, 0.0]),
    (Coordinate::Circle, &[0.0, -1.0]),
    (Coordinate::Sphere, &[0.0, 0.0, -1.0]),
    (Coordinate::Nexp, &[1.0, 0.0]),
    (Coordinate::NexpWeights, &[0.0, -1.0, -1.0, -2.0]),
    (Coordinate::Linear, &[-3.5, 3.5]),
];
/// Weights of all of them.
const START: [f64; 21] =
    [0.7, 0.3, 0.2, 0.3, 0.5, 0.05, 0.95, 0.0, 0.9, 0.1, 0.3, 0.25, 0.45, 0.2, 0.8, 0.1, 0.2, 0.3, 0.4, 0.45, 0.55];

/// A residue, one in two pieces, one of more atoms than a warp has lanes, and others.
fn sites() -> Vec<Site> {
    let atoms: [Vec<u32>; 8] = [
        (3..11).collect(),
        vec![1, 12, 40, 59],
        (14..38).chain(41..52).collect(),
        vec![0],
        vec![2, 13],
        vec![11],
        vec![38, 39],
        (52..57).collect(),
    ];
    let forms = MOTIONS.map(|m| m.1.len());
    atoms.into_iter().zip(forms).enumerate().map(|(s, (atoms, n))| site("S", atoms, n, 11 + s as u64)).collect()
}

/// Exclusions and 1-4 pairs; a 1-4 pair is excluded otherwise, but for one.
fn topology() -> Topology {
    topology_of(N)
}

/// The same in a system of more atoms.
fn topology_of(n: usize) -> Topology {
    let pair = |i, j, coulomb_scale| Pair14 { atoms: [i, j], c6: 0.0, c12: 0.0, coulomb_scale };
    let pairs = vec![
        pair(3, 7, 0.8333),
        pair(10, 4, 0.8333),
        pair(10, 3, 1.0),
        pair(1, 12, 0.5),
        pair(12, 14, 0.5),
        pair(15, 50, 0.7),
        pair(0, 2, 1.0),
        pair(54, 14, 0.8333),
        pair(13, 2, 0.4),
        pair(52, 56, 0.5),
        pair(39, 38, 0.3),
    ];
    let excluded = pairs.iter().skip(1).map(|p| p.atoms).chain([[4, 5], [5, 6], [2, 13], [30, 16]]);
    Topology { exclusions: ExcludedPairs::from_pairs(n, excluded), pairs, ..Topology::default() }
}

/// Every kind of every term; `shift`: others of the same shape.
fn biases(shift: f64) -> Vec<Option<SiteBias>> {
    let barrier = Barrier::solve(5.0 + shift).unwrap();
    let acid = |n: usize, smoothed: bool| {
        let form = |k: usize| Acidity { pk: 4.25 * k as f64, protons_lost: u32::from(k > 0) };
        let smoothed = smoothed.then_some(barrier.a);
        Some(PhPotential::new((0..n).map(form).collect(), 3.0 + shift, 300.0, smoothed).unwrap())
    };
    let polynomial = |n: usize, degree: usize| {
        let mut number = random(5);
        let basis = SimplexBasis::new(n, degree).with_interior(2);
        let coefficients: Vec<f64> = (0..basis.len()).map(|_| 20.0 * number()).collect();
        Some(ModelCorrection::new(basis, &coefficients).unwrap())
    };
    let (wells, parabola) = (Separation::Wells(barrier), Separation::Parabola(4.0 + shift));
    let bias = |s: usize, separation, ph, correction| {
        Some(SiteBias { separation, ph, correction, entropy: Entropy::new(MOTIONS[s].0, 300.0) })
    };
    vec![
        bias(0, wells, acid(2, true), polynomial(2, 4)),
        None,
        bias(2, wells, acid(3, false), polynomial(3, 5)),
        bias(3, parabola, acid(2, false), polynomial(2, 1)),
        bias(4, parabola, acid(3, false), polynomial(3, 2)),
        bias(5, parabola, None, polynomial(2, 3)),
        bias(6, parabola, acid(4, true), polynomial(4, 3)),
        bias(7, wells, None, None),
    ]
}

fn dynamics(coupling_time: Option<f64>, charged: bool) -> LambdaDynamics {
    copies(1, coupling_time, charged)
}

fn repeated<T: Clone>(list: &[T], n: usize) -> Vec<T> {
    std::iter::repeat_n(list, n).flatten().cloned().collect()
}

/// All sites so many times.
fn copies(n: usize, coupling_time: Option<f64>, charged: bool) -> LambdaDynamics {
    let settings = LambdaSettings { time_step: 0.002, temperature: 300.0, coupling_time, seed: 7 };
    let motion = |(s, (coordinate, charges)): (usize, (Coordinate, &[f64]))| SiteMotion {
        coordinate,
        n_forms: charges.len(),
        mass: 5.0 + s as f64,
        charges: charges.to_vec(),
    };
    let motions: Vec<SiteMotion> = repeated(&MOTIONS.into_iter().enumerate().map(motion).collect::<Vec<_>>(), n);
    let free = LambdaDynamics::new(settings, motions.clone(), None).unwrap();
    let charge = charged.then(|| free.charge(&START.repeat(n)));
    LambdaDynamics::new(settings, motions, charge).unwrap()
}

fn on_device(dynamics: &LambdaDynamics, steps: usize) -> (DeviceSites, Stream, Device) {
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let n = dynamics.sites().len() / MOTIONS.len();
    let copy = |k: u32| {
        let moved = move |mut site: Site| {
            site.atoms.iter_mut().for_each(|atom| *atom += k * N as u32);
            site
        };
        sites().into_iter().map(moved)
    };
    let all: Vec<Site> = (0..n as u32).flat_map(copy).collect();
    let topology = topology_of(n * N);
    let sites =
        DeviceSites::new(&device, &all, &repeated(&biases(0.0), n), &topology, dynamics, (n * N, steps)).unwrap();
    (sites, stream, device)
}

#[test]
fn charges_and_interpolation_as_on_the_cpu() {
    let dynamics = dynamics(None, false);
    let (mut own, stream, device) = on_device(&dynamics, 1);
    let start = dynamics.initial_state(&START).unwrap();
    let weights = dynamics.weights(&start);
    own.upload(&stream, &start, 0).unwrap();
    for (a, b) in own.weights().read(&stream).unwrap().iter().zip(&weights) {
        assert!((a - b).abs() < 1e-15);
    }
    let first = own.weight_starts().to_vec();
    let sites = sites();
    let mut number = random(3);
    let mut q: Vec<f64> = (0..N).map(|_| number()).collect();
    let charges = device.upload(&q).unwrap();
    own.enqueue_charges(&stream, &charges).unwrap();
    for (s, site) in sites.iter().enumerate() {
        set_effective_charges(site, &weights[first[s]..first[s + 1]], &mut q).unwrap();
    }
    for (a, b) in charges.read(&stream).unwrap().iter().zip(&q) {
        assert!((a - b).abs() < 1e-15);
    }

    let x: Vec<Vector3<f64>> = (0..N)
        .map(|i| {
            Vector3::new(number(), number(), number()) * 0.05
                + Vector3::from([i % 4, i / 4 % 4, i / 16].map(|c| 0.3 * c as f64))
        })
        .collect();
    let phi: Vec<f64> = (0..N).map(|_| 5.0 * number()).collect();
    let phi_14: Vec<i64> = (0..N).map(|_| (300.0 * FIXED * number()) as i64).collect();
    let flat: Vec<f64> = x.iter().flatten().copied().collect();
    let (positions, potential) = (device.upload(&flat).unwrap(), device.upload(&phi).unwrap());
    let potential_14 = device.upload(&phi_14).unwrap();
    let whole = Whole { potential: &potential, potential_14: &potential_14, others: None };
    let (forces, energies) = (device.zeros::<i64>(3 * N).unwrap(), device.zeros::<i64>(5).unwrap());
    let corrected = Corrected { forces: &forces, energies: &energies, slots: [1, 4] };
    // Kernels would read and write what does not belong to them.
    let short = |n: usize| Err(DeviceError::Length { expected: n, found: n - 1 });
    let (reals, sums) = (|n| device.zeros::<f64>(n).unwrap(), |n| device.zeros::<i64>(n).unwrap());
    assert_eq!(own.enqueue_charges(&stream, &reals(N - 1)), short(N));
    assert_eq!(own.enqueue_interpolation(&stream, &reals(3 * N - 1), &corrected), short(3 * N));
    let few = sums(3 * N - 1);
    assert_eq!(own.enqueue_interpolation(&stream, &positions, &Corrected { forces: &few, ..corrected }), short(3 * N));
    let few = sums(4);
    assert_eq!(own.enqueue_interpolation(&stream, &positions, &Corrected { energies: &few, ..corrected }), short(5));
    let few = reals(N - 1);
    assert_eq!(own.enqueue_derivatives(&stream, &Whole { potential: &few, ..whole }, true), short(N));
    let few = sums(N - 1);
    assert_eq!(own.enqueue_derivatives(&stream, &Whole { potential_14: &few, ..whole }, true), short(N));
    let few = sums(weights.len() - 1);
    assert_eq!(own.enqueue_derivatives(&stream, &Whole { others: Some(&few), ..whole }, true), short(weights.len()));
    own.enqueue_interpolation(&stream, &positions, &corrected).unwrap();
    own.enqueue_derivatives(&stream, &whole, true).unwrap();
    let by_form = own.derivatives().read(&stream).unwrap();
    own.enqueue_derivatives(&stream, &whole, false).unwrap();
    let by_charge = own.derivatives().read(&stream).unwrap();
    // What other terms have summed up is added.
    let others: Vec<i64> = (0..weights.len()).map(|k| (FIXED * (k as f64 - 2.5)) as i64).collect();
    let others = device.upload(&others).unwrap();
    own.enqueue_derivatives(&stream, &Whole { others: Some(&others), ..whole }, false).unwrap();
    let with_others = own.derivatives().read(&stream).unwrap();
    for (k, (a, b)) in with_others.iter().zip(&by_charge).enumerate() {
        assert!((a - b - (k as f64 - 2.5)).abs() < 1e-10, "{a} {b}");
    }

    let whole_phi: Vec<f64> = phi.iter().zip(&phi_14).map(|(p, f)| COULOMB * p + *f as f64 / FIXED).collect();
    let (mut expected_forces, mut energy) = (vec![Vector3::zeros(); N], 0.0);
    for (s, site) in sites.iter().enumerate() {
        let n = site.atoms.len();
        let inside = own_pairs(site, &topology());
        assert!(s == 3 || s == 5 || !inside.is_empty());
        let mine = first[s]..first[s + 1];
        let terms = interpolate(site, &weights[mine.clone()], &inside, &x, &whole_phi, &mut expected_forces).unwrap();
        energy += terms.energy;
        for (form, k) in mine.enumerate() {
            let derivative = terms.derivatives[form];
            assert!(derivative.abs() > 0.1 || n < 3, "the test would not see a derivative of zero");
            // Sums of some hundred terms of up to 1000 kJ/mol.
            assert!((by_form[k] - derivative).abs() < 1e-10, "site {s}: {} {derivative}", by_form[k]);
            let charges = site.atoms.iter().zip(&site.forms[form].charges);
            let plain: f64 = charges.map(|(a, q)| q * whole_phi[*a as usize]).sum();
            assert!((by_charge[k] - plain).abs() < 1e-10);
        }
    }
    for (a, b) in forces.read(&stream).unwrap().iter().zip(expected_forces.iter().flatten()) {
        // Half a unit of the fixed point for each of up to 34 pairs of an atom, and rounding of 1e4 kJ/mol/nm.
        assert!((*a as f64 / FIXED - b).abs() < 34.0 * 0.5 / FIXED + 1e-10, "{} {b}", *a as f64 / FIXED);
    }
    let energies = energies.read(&stream).unwrap();
    assert!((energies[1] as f64 / ENERGY - energy).abs() < 3.0 * 0.5 / ENERGY + 1e-9 && energy.abs() > 1.0);
    assert_eq!((energies[4], energies[0]), (energies[1], 0));
}

/// Force field of the tests: ∂V/∂λ of each weight.
fn slopes(weights: &[f64]) -> Vec<f64> {
    let n = weights.len();
    (0..n).map(|k| 8.0 * weights[(k + 5) % n] - 3.0 * weights[(k + 2) % n] + (k % 5) as f64).collect()
}

/// Many steps side by side; the device's own weights go to the force field of both.
fn follow(dynamics: &LambdaDynamics, mut cpu: LambdaState, steps: u64) {
    let (mut own, stream, device) = on_device(dynamics, 8);
    assert_eq!(own.supplied_steps(), 8);
    own.upload(&stream, &cpu, 100).unwrap();
    let counter = device.zeros::<i64>(1).unwrap();
    let first = dynamics.weight_starts();
    for step in 100..100 + steps {
        // Every other table is drawn ahead, after one that nobody asks for.
        match (step - 100) % 16 {
            0 | 8 => own.supply(&stream, step).unwrap(),
            2 => own.draw_ahead(step + 1),
            4 => own.draw_ahead(step + 4),
            _ => {}
        }
        // Another pH and other barriers half way.
        let biases =
            repeated(&biases(if step < 100 + steps / 2 { 0.0 } else { 2.0 }), dynamics.sites().len() / MOTIONS.len());
        own.set_biases(&stream, &biases).unwrap();
        let weights = dynamics.weights(&cpu);
        let (by_weight, mut whole) = (slopes(&weights), slopes(&weights));
        let mut bias = BiasEnergies::default();
        for (s, b) in biases.iter().enumerate() {
            let mine = first[s]..first[s + 1];
            bias +=
                b.as_ref().map_or(BiasEnergies::default(), |b| b.evaluate(&weights[mine.clone()], &mut whole[mine]));
        }
        let expected = dynamics.step(&mut cpu, &whole, step).unwrap();
        own.derivatives().write(&stream, &by_weight).unwrap();
        // While the step is negative nothing moves.
        let before = own.download(&stream).unwrap();
        counter.write(&stream, &[-1]).unwrap();
        own.enqueue_prepare(&stream).unwrap();
        own.enqueue_advance(&stream, &counter).unwrap();
        own.check(&stream).unwrap();
        assert_eq!(own.download(&stream).unwrap(), before, "step {step}");
        counter.write(&stream, &[step as i64]).unwrap();
        own.enqueue_prepare(&stream).unwrap();
        own.enqueue_advance(&stream, &counter).unwrap();
        own.check(&stream).unwrap();
        let (state, energies) = (own.download(&stream).unwrap(), own.energies(&stream).unwrap());
        // Rounding of single steps, 1e-15, which the wells let grow a little; the sphere and the charge are met to rounding, which divided
        // by Δt is 1e-12 of a velocity.
        let limit = 2e-14 * (1.0 + (step - 100) as f64);
        for (k, (a, b)) in state.coordinates.iter().zip(&cpu.coordinates).enumerate() {
            assert!((a - b).abs() < limit * b.abs().max(1.0), "step {step}, ξ {k}: {a} {b}");
        }
        for (k, (a, b)) in state.velocities.iter().zip(&cpu.velocities).enumerate() {
            assert!((a - b).abs() < 100.0 * limit * b.abs().max(1.0), "step {step}, v {k}: {a} {b}");
        }
        let weights = own.weights().read(&stream).unwrap();
        for (a, b) in weights.iter().zip(dynamics.weights(&state)) {
            assert!((a - b).abs() < 1e-14, "weights and coordinates");
        }
        if let Some(charge) = dynamics.total_charge() {
            let found = dynamics.charge(&weights);
            assert!(
                (found - charge).abs() < 2e-12 * (dynamics.sites().len() / MOTIONS.len()) as f64,
                "step {step}: {found} e, not {charge} e"
            );
        }
        for (s, n) in [(1, 3), (2, 3), (4, 3), (6, 4)] {
            let sum: f64 = weights[first[s]..][..n].iter().sum();
            assert!((sum - 1.0).abs() < 1e-14, "site {s}: Σ λ = {sum}");
        }
        let size = 100.0 * expected.kinetic.abs().max(1.0);
        assert!((energies.motion.kinetic - expected.kinetic).abs() < limit * size);
        assert!((energies.motion.temperature - expected.temperature).abs() < limit * 1000.0 * size);
        assert!((energies.motion.metric - expected.metric).abs() < limit * 100.0, "½ RT ln Z");
        assert!((energies.motion.heat - cpu.heat).abs() < limit * size, "{} {}", energies.motion.heat, cpu.heat);
        let terms = |e: &BiasEnergies| [e.barrier, e.walls, e.ph, e.correction, e.entropy];
        for (a, b) in terms(&energies.bias).iter().zip(terms(&bias)) {
            assert!((a - b).abs() < limit * b.abs().max(1000.0), "{a} {b}");
        }
    }
}

#[test]
fn lambda_moves_as_on_the_cpu() {
    for (coupling_time, charged, steps) in
        [(Some(0.5), false, 60), (Some(0.1), true, 200), (None, true, 20), (None, false, 20)]
    {
        let dynamics = dynamics(coupling_time, charged);
        follow(&dynamics, dynamics.initial_state(&START).unwrap(), steps);
    }
}

/// More sites than a warp has lanes, and more than the block has threads.
#[test]
fn many_lambda_move_as_on_the_cpu() {
    for (n, steps) in [(7, 40), (35, 12)] {
        let dynamics = copies(n, Some(0.1), true);
        follow(&dynamics, dynamics.initial_state(&START.repeat(n)).unwrap(), steps);
    }
}

/// Steps start at 100: λ is held in the first eleven of them on both, with and without everything that acts on it.
#[test]
fn lambda_is_held_as_on_the_cpu() {
    for (coupling_time, charged) in [(Some(0.1), true), (None, false)] {
        let dynamics = dynamics(coupling_time, charged);
        let start = LambdaState { held: 111, ..dynamics.initial_state(&START).unwrap() };
        follow(&dynamics, start.clone(), 30);
        let (mut own, stream, device) = on_device(&dynamics, 12);
        own.upload(&stream, &start, 100).unwrap();
        let counter = device.zeros::<i64>(1).unwrap();
        for step in 100..112 {
            own.derivatives().write(&stream, &slopes(&dynamics.weights(&start))).unwrap();
            counter.write(&stream, &[step]).unwrap();
            own.enqueue_prepare(&stream).unwrap();
            own.enqueue_advance(&stream, &counter).unwrap();
            own.check(&stream).unwrap();
            assert_eq!(own.download(&stream).unwrap() == start, step < 111, "step {step}");
        }
    }
}

#[test]
fn biases_have_the_derivatives_of_the_cpu_everywhere() {
    // Whatever λ does then: the derivative is that at the beginning of the step.
    let dynamics = dynamics(None, false);
    let (mut own, stream, device) = on_device(&dynamics, 1);
    let counter = device.zeros::<i64>(1).unwrap();
    let (n, first) = (dynamics.n_weights(), dynamics.weight_starts());
    let mut number = random(21);
    for k in 0..60 {
        let mut start = dynamics.initial_state(&START).unwrap();
        start.coordinates.iter_mut().for_each(|xi| *xi = 0.5 + 0.99 * number());
        start.velocities.fill(0.0);
        own.upload(&stream, &start, 0).unwrap();
        own.derivatives().write(&stream, &vec![0.0; n]).unwrap();
        own.enqueue_prepare(&stream).unwrap();
        own.enqueue_advance(&stream, &counter).unwrap();
        let (total, weights) = (own.bias.read(&stream).unwrap(), dynamics.weights(&start));
        let mut exact = vec![0.0; n];
        for (s, bias) in biases(0.0).iter().enumerate().filter_map(|(s, b)| Some((s, b.as_ref()?))) {
            bias.evaluate(&weights[first[s]..first[s + 1]], &mut exact[first[s]..first[s + 1]]);
        }
        for (a, (ours, exact)) in total.iter().zip(&exact).enumerate() {
            assert!((ours - exact).abs() < 1e-12 * exact.abs().max(100.0), "{k}, {a}: {ours} {exact}");
        }
    }
}

#[test]
fn failures_stop_the_motion_and_say_where() {
    let dynamics = dynamics(Some(0.5), true);
    let (mut own, stream, device) = on_device(&dynamics, 4);
    let counter = device.upload(&[12_i64]).unwrap();
    let start = dynamics.initial_state(&START).unwrap();
    let n = dynamics.n_weights();
    let with = |k: usize, value: f64| (0..n).map(|i| if i == k { value } else { 0.0 }).collect::<Vec<f64>>();
    type Case = (Vec<f64>, i64, fn(&SitesError) -> bool);
    let cases: [Case; 4] = [
        (
            with(6, -3e6),
            12,
            |e| matches!(e, SitesError::Dynamics(DynamicsError::Escaped { site: 3, step: 12, lambda }) if *lambda < -0.5),
        ),
        (
            with(9, f64::NAN),
            12,
            |e| matches!(e, SitesError::Dynamics(DynamicsError::NotFinite { site: 4, step: 12, value }) if value.is_nan()),
        ),
        (with(19, 1e14), 12, |e| matches!(e, SitesError::Dynamics(DynamicsError::Charge { step: 12, .. }))),
        (with(0, 0.0), 16, |e| *e == SitesError::Noise { step: 16 }),
    ];
    for (by_weight, step, is_right) in cases {
        own.upload(&stream, &start, 12).unwrap();
        own.check(&stream).unwrap();
        let before = own.weights().read(&stream).unwrap();
        counter.write(&stream, &[step]).unwrap();
        own.derivatives().write(&stream, &by_weight).unwrap();
        own.enqueue_prepare(&stream).unwrap();
        own.enqueue_advance(&stream, &counter).unwrap();
        own.derivatives().write(&stream, &vec![0.0; n]).unwrap();
        counter.write(&stream, &[13]).unwrap();
        own.enqueue_prepare(&stream).unwrap();
        own.enqueue_advance(&stream, &counter).unwrap();
        let error = own.check(&stream).unwrap_err();
        assert!(is_right(&error), "{error}");
        assert_eq!(own.download(&stream).unwrap(), start);
        assert_eq!(own.weights().read(&stream).unwrap(), before);
    }
}

#[test]
fn a_continued_run_repeats_bit_for_bit() {
    let dynamics = dynamics(Some(0.2), true);
    let run = |from: &LambdaState, steps: std::ops::Range<u64>| {
        let (mut own, stream, device) = on_device(&dynamics, 32);
        own.upload(&stream, from, steps.start).unwrap();
        let counter = device.zeros::<i64>(1).unwrap();
        for step in steps {
            let weights = own.weights().read(&stream).unwrap();
            own.derivatives().write(&stream, &slopes(&weights)).unwrap();
            counter.write(&stream, &[step as i64]).unwrap();
            own.enqueue_prepare(&stream).unwrap();
            own.enqueue_advance(&stream, &counter).unwrap();
        }
        own.check(&stream).unwrap();
        (own.download(&stream).unwrap(), own.weights().read(&stream).unwrap())
    };
    let start = dynamics.initial_state(&START).unwrap();
    let whole = run(&start, 5..35);
    assert_ne!(whole.0, start);
    assert_eq!(whole, run(&run(&start, 5..18).0, 18..35));
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let dynamics = dynamics(Some(0.5), false);
    let make = |sites: &[Site], biases: &[Option<SiteBias>], n, steps| {
        DeviceSites::new(&device, sites, biases, &topology(), &dynamics, (n, steps))
    };
    let mut other = sites();
    other[1].forms.pop();
    let error = make(&other, &biases(0.0), N, 1).err();
    assert_eq!(error, Some(SitesError::Forms { site: "S".into(), found: 2, expected: 3 }));
    assert_eq!(make(&sites(), &biases(0.0), 10, 1).err(), Some(SitesError::Atoms { site: "S".into(), n_atoms: 10 }));
    assert!(matches!(make(&sites(), &[None], N, 1).err(), Some(SitesError::Length { found: 1, expected: 8, .. })));
    assert!(matches!(make(&sites()[..1], &[None], N, 1).err(), Some(SitesError::Length { found: 8, expected: 1, .. })));
    // 14 random numbers for each step.
    let mut own = make(&sites(), &biases(0.0), N, usize::MAX).unwrap();
    assert_eq!(own.supplied_steps(), MOST_NUMBERS / 14);
    assert!(own.upload(&stream, &LambdaState::default(), 0).is_err());
    let mut more = biases(0.0);
    more[4] = more[2].clone();
    assert!(matches!(own.set_biases(&stream, &more), Err(SitesError::Length { what: "coefficients of V_MM", .. })));
    let mut fewer = biases(0.0);
    (fewer[2], fewer[0]) = (fewer[4].clone(), None);
    own.set_biases(&stream, &fewer).unwrap();
}

#[test]
fn layouts_are_those_of_the_device() {
    let device = Device::of_tests().unwrap();
    for source in [sites::source(3), prepare::source(Shape::any(3)), motion::source(8, Shape::any(3))] {
        check_layouts(&device, &source).unwrap();
    }
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    let linear = Shape::with(3, &[Coordinate::Fixed, Coordinate::Linear, Coordinate::LinearWeights]);
    let motions = [(30, linear), (30, Shape::any(2)), (600, Shape::any(5))].map(|(n, shape)| motion::source(n, shape));
    let others = [sites::source(2), sites::source(5), prepare::source(linear), prepare::source(Shape::any(5))];
    for source in motions.into_iter().chain(others) {
        ["sm_75", "sm_90"].into_iter().for_each(|architecture| compiles(&source, architecture).unwrap());
    }
}

/// What steps leave is what was there before they were made, also when newer rows have taken the place of older ones.
#[test]
fn steps_leave_their_coordinates_and_derivatives() {
    let dynamics = dynamics(Some(0.1), true);
    let (mut own, stream, device) = on_device(&dynamics, 512);
    own.upload(&stream, &dynamics.initial_state(&START).unwrap(), 0).unwrap();
    let counter = device.zeros::<i64>(1).unwrap();
    let mut seen = Vec::new();
    let go = |own: &DeviceSites, seen: &mut Vec<KeptStep>, steps: std::ops::Range<u64>| {
        for step in steps {
            let coordinates = own.coordinates().read(&stream).unwrap();
            let derivatives = slopes(&own.weights().read(&stream).unwrap());
            own.derivatives().write(&stream, &derivatives).unwrap();
            counter.write(&stream, &[step as i64]).unwrap();
            own.enqueue_prepare(&stream).unwrap();
            own.enqueue_advance(&stream, &counter).unwrap();
            seen.push(KeptStep { step, coordinates, derivatives });
        }
    };
    // Nothing is kept before it is asked for.
    go(&own, &mut seen, 0..4);
    assert!(own.kept(&stream, 1, 4, 1).unwrap().is_empty());
    own.keep(&stream, 1).unwrap();
    go(&own, &mut seen, 4..300);
    own.check(&stream).unwrap();
    let kept = own.kept(&stream, 300 - KEPT_ROWS, 300, 1).unwrap();
    assert!(kept == seen[300 - KEPT_ROWS as usize..]);
    assert!(kept[0].coordinates != kept[1].coordinates && kept[0].derivatives != kept[1].derivatives);
    // Steps that have not been made are left out.
    assert_eq!(own.kept(&stream, 298, 310, 1).unwrap(), seen[298..]);
    own.keep(&stream, 3).unwrap();
    go(&own, &mut seen, 300..310);
    let steps: Vec<u64> = own.kept(&stream, 300, 310, 3).unwrap().iter().map(|row| row.step).collect();
    assert_eq!(steps, [300, 303, 306, 309]);
}
