//! Sites on the emulated device against the CPU code.

use super::*;
use crate::bias::{Barrier, ModelCorrection, PhPotential};
use crate::dynamics::LambdaSettings;
use crate::hamiltonian::{OwnForm, interpolate, set_effective_charges};
use crate::library::Correction;
use crate::site::Form;
use forcefield::pairs::coulomb_14_potential;
use kernels::device::compiles;
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
    };
    let forms = (0..forms).map(&mut form).collect();
    let correction = Correction::Uncalibrated;
    Site { name: name.into(), entry: "test".into(), residue: 0, atoms, forms, pka: 4.0, correction }
}

/// A residue, one in two pieces, one of more atoms than a warp has lanes.
fn sites() -> Vec<Site> {
    vec![
        site("A", (3..11).collect(), 2, 11),
        site("B", vec![1, 12, 40, 59], 2, 12),
        site("C", (14..38).chain(41..56).collect(), 2, 13),
    ]
}

fn pairs() -> Vec<Pair14> {
    let pair = |i, j, coulomb_scale| Pair14 { atoms: [i, j], c6: 0.0, c12: 0.0, coulomb_scale };
    vec![
        pair(3, 7, 0.8333),
        pair(10, 4, 0.8333),
        pair(10, 3, 1.0),
        pair(1, 12, 0.5),
        pair(12, 14, 0.5),
        pair(15, 50, 0.7),
        pair(0, 2, 1.0),
        pair(54, 14, 0.8333),
    ]
}

fn biases() -> Vec<Option<SiteBias>> {
    let barrier = Barrier::solve(5.0).unwrap();
    let correction = |c: &[f64], range| Some(ModelCorrection::new(c, range).unwrap());
    vec![
        Some(SiteBias {
            barrier,
            ph: Some(PhPotential::linear(4.25, 3.0, 300.0).unwrap()),
            correction: correction(&[10.0, -30.0, 5.0], [-0.1, 1.1]),
        }),
        None,
        Some(SiteBias {
            barrier: Barrier::solve(2.0).unwrap(),
            ph: Some(PhPotential::smoothed(4.25, 6.0, 300.0, &barrier).unwrap()),
            correction: correction(&[-2.0, 4.0, 0.5, 1.5, -3.0], [0.05, 0.8]),
        }),
    ]
}

fn dynamics(coupling_time: Option<f64>) -> LambdaDynamics {
    let settings = LambdaSettings { time_step: 0.002, mass: 5.0, temperature: 300.0, coupling_time, seed: 7 };
    LambdaDynamics::new(settings).unwrap()
}

fn on_device(coupling_time: Option<f64>, steps: usize) -> (DeviceSites, Stream, Device) {
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let sites = DeviceSites::new(&device, &sites(), &biases(), &pairs(), &dynamics(coupling_time), (N, steps)).unwrap();
    (sites, stream, device)
}

fn state(lambda: [f64; 3], coupling_time: Option<f64>) -> LambdaState {
    let mut state = dynamics(coupling_time).initial_state(&lambda).unwrap();
    state.hold(1);
    state
}

#[test]
fn charges_and_interpolation_as_on_the_cpu() {
    let (mut own, stream, device) = on_device(None, 1);
    let lambda = [0.3, -0.07, 0.81];
    own.upload(&stream, &state(lambda, None), 0).unwrap();
    let sites = sites();
    let mut number = random(3);
    let mut q: Vec<f64> = (0..N).map(|_| number()).collect();
    let charges = device.upload(&q).unwrap();
    own.enqueue_charges(&stream, &charges).unwrap();
    for (site, lambda) in sites.iter().zip(lambda) {
        set_effective_charges(site, &[1.0 - lambda, lambda], &mut q).unwrap();
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
    let total = own.value_starts()[3];
    let (own_phi, own_field): (Vec<f64>, Vec<[f64; 3]>) =
        (0..total).map(|_| (4.0 * number(), [9.0 * number(), 9.0 * number(), 9.0 * number()])).unzip();
    let flat: Vec<f64> = x.iter().flatten().copied().collect();
    let (positions, potential) = (device.upload(&flat).unwrap(), device.upload(&phi).unwrap());
    let potential_14 = device.upload(&phi_14).unwrap();
    let whole = Whole { positions: &positions, potential: &potential, potential_14: &potential_14 };
    let (p, f) = (device.upload(&own_phi).unwrap(), device.upload(own_field.as_flattened()).unwrap());
    let (forces, energies) = (device.zeros::<i64>(3 * N).unwrap(), device.zeros::<i64>(5).unwrap());
    let takes = Own { potential: &p, field: &f, forces: &forces, energies: &energies, slots: [1, 4] };
    own.enqueue_interpolate(&stream, &whole, Some(&takes)).unwrap();
    let (dvdl, by_form) = (own.dvdl().read(&stream).unwrap(), own.derivatives().read(&stream).unwrap());
    own.enqueue_interpolate(&stream, &whole, None).unwrap();
    let by_charge = own.dvdl().read(&stream).unwrap();

    let whole_phi: Vec<f64> = phi.iter().zip(&phi_14).map(|(p, f)| COULOMB * p + *f as f64 / FIXED).collect();
    let (mut expected_forces, mut energy) = (vec![Vector3::zeros(); N], 0.0);
    for (s, site) in sites.iter().enumerate() {
        let n = site.atoms.len();
        let local = |atom: u32| site.atoms.iter().position(|a| *a == atom).map(|k| k as u32);
        let inside: Vec<Pair14> = pairs()
            .iter()
            .filter_map(|p| Some(Pair14 { atoms: [local(p.atoms[0])?, local(p.atoms[1])?], ..*p }))
            .collect();
        assert!(!inside.is_empty());
        let places: Vec<Vector3<f64>> = site.atoms.iter().map(|a| x[*a as usize]).collect();
        let forms: Vec<(Vec<f64>, Vec<Vector3<f64>>)> = (0..2)
            .map(|form| {
                let first = own.value_starts()[s] + form * n;
                let mut phi = own_phi[first..][..n].to_vec();
                let mut field: Vec<Vector3<f64>> = own_field[first..][..n].iter().map(|e| (*e).into()).collect();
                coulomb_14_potential(&inside, &places, &site.forms[form].charges, &mut phi, &mut field);
                (phi.iter().map(|p| COULOMB * p).collect(), field.iter().map(|e| COULOMB * e).collect())
            })
            .collect();
        let refs: Vec<OwnForm<'_>> = forms.iter().map(|(potential, field)| OwnForm { potential, field }).collect();
        let weights = [1.0 - lambda[s], lambda[s]];
        let terms = interpolate(site, &weights, 1.0, &whole_phi, &refs, &mut expected_forces).unwrap();
        energy += terms.energy;
        let derivative = terms.derivatives[1] - terms.derivatives[0];
        assert!(derivative.abs() > 1.0, "the test would not see a derivative of zero");
        // Sums of some hundred terms of up to 1000 kJ/mol.
        assert!((dvdl[s] - derivative).abs() < 1e-10, "site {s}: {} {derivative}", dvdl[s]);
        for (ours, exact) in by_form[2 * s..].iter().zip(&terms.derivatives) {
            assert!((ours - exact).abs() < 1e-10);
        }
        let plain = |form: usize| -> f64 {
            site.atoms.iter().zip(&site.forms[form].charges).map(|(a, q)| q * whole_phi[*a as usize]).sum()
        };
        assert!((by_charge[s] - (plain(1) - plain(0))).abs() < 1e-10);
    }
    for (a, b) in forces.read(&stream).unwrap().iter().zip(expected_forces.iter().flatten()) {
        // Half a unit of the fixed point, and rounding of 1e4 kJ/mol/nm.
        assert!((*a as f64 / FIXED - b).abs() < 5e-10, "{} {b}", *a as f64 / FIXED);
    }
    let energies = energies.read(&stream).unwrap();
    assert!((energies[1] as f64 / ENERGY - energy).abs() < 3.0 * 0.5 / ENERGY + 1e-9 && energy.abs() > 1.0);
    assert_eq!((energies[4], energies[0]), (energies[1], 0));
}

/// Force field of the tests: dV/dλ of each site.
fn slopes(lambda: &[f64]) -> Vec<f64> {
    vec![8.0 * lambda[2] - 3.0, 50.0, 8.0 * lambda[0] + 5.0 * lambda[2]]
}

/// Many steps side by side; the device's own λ goes to the force field of both.
fn follow(coupling_time: Option<f64>, mut cpu: LambdaState, steps: u64) {
    let (mut own, stream, device) = on_device(coupling_time, 8);
    let (dynamics, biases) = (dynamics(coupling_time), biases());
    own.upload(&stream, &cpu, 100).unwrap();
    let counter = device.zeros::<i64>(1).unwrap();
    for step in 100..100 + steps {
        if (step - 100).is_multiple_of(8) {
            own.supply(&stream, step).unwrap();
        }
        let dvdl = slopes(&cpu.lambda);
        let bias: Vec<_> = biases
            .iter()
            .zip(&cpu.lambda)
            .map(|(b, l)| b.as_ref().map(|b| b.evaluate(*l)).unwrap_or_default())
            .collect();
        let whole: Vec<f64> = dvdl.iter().zip(&bias).map(|(d, b)| d + b.total().derivative).collect();
        let expected = dynamics.step(&mut cpu, &whole, step).unwrap();
        own.dvdl().write(&stream, &dvdl).unwrap();
        counter.write(&stream, &[step as i64]).unwrap();
        own.enqueue_advance(&stream, &counter).unwrap();
        own.check(&stream).unwrap();
        let (state, energies) = (own.download(&stream).unwrap(), own.energies(&stream).unwrap());
        // Rounding of single steps, 1e-15, which the wells let grow a little.
        let limit = 1e-14 * (1.0 + (step - 100) as f64);
        for (a, b) in state.lambda.iter().zip(&cpu.lambda).chain(state.velocity.iter().zip(&cpu.velocity)) {
            assert!((a - b).abs() < limit * b.abs().max(1.0), "step {step}: {a} {b}");
        }
        assert_eq!(state.motion, cpu.motion);
        let size = expected.kinetic.abs().max(1.0);
        assert!((energies.motion.kinetic - expected.kinetic).abs() < limit * size);
        assert!((energies.motion.temperature - expected.temperature).abs() < limit * expected.temperature.max(100.0));
        assert!((energies.motion.heat - cpu.heat).abs() < limit * size, "{} {}", energies.motion.heat, cpu.heat);
        let terms = |t: fn(&crate::bias::BiasTerms) -> crate::bias::Term| bias.iter().map(|b| t(b).energy).sum::<f64>();
        let exact = [terms(|b| b.barrier), terms(|b| b.walls), terms(|b| b.ph), terms(|b| b.correction)];
        for (a, b) in energies.bias.iter().zip(exact) {
            assert!((a - b).abs() < limit * b.abs().max(100.0), "{a} {b}");
        }
    }
}

#[test]
fn lambda_moves_as_on_the_cpu() {
    follow(Some(0.5), state([0.1, 0.7, 0.9], Some(0.5)), 60);
    follow(None, state([-0.05, 0.7, 1.04], None), 20);
    // From rest.
    let mut rest = state([0.2, 0.5, 0.5], Some(0.1));
    rest.velocity = vec![0.0; 3];
    follow(Some(0.1), rest, 10);
    follow(Some(0.5), LambdaState::fixed(vec![0.25, -0.1, 0.9]), 3);
}

#[test]
fn biases_have_the_derivatives_of_the_cpu_everywhere() {
    // Whatever λ does then: the derivative is that at the beginning of the step.
    let settings = LambdaSettings { time_step: 1.0, mass: 1.0, temperature: 300.0, coupling_time: None, seed: 7 };
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let dynamics = LambdaDynamics::new(settings).unwrap();
    let mut own = DeviceSites::new(&device, &sites(), &biases(), &[], &dynamics, (N, 1)).unwrap();
    let counter = device.zeros::<i64>(1).unwrap();
    for k in 0..60 {
        let lambda = -0.49 + 1.98 * f64::from(k) / 59.0;
        let state = LambdaState {
            lambda: vec![lambda; 3],
            velocity: vec![0.0; 3],
            heat: 0.0,
            motion: vec![Motion::Free, Motion::Fixed, Motion::Free],
        };
        own.upload(&stream, &state, 0).unwrap();
        own.dvdl().write(&stream, &[0.0; 3]).unwrap();
        own.enqueue_advance(&stream, &counter).unwrap();
        let total = own.total.read(&stream).unwrap();
        for (bias, ours) in biases().iter().zip(total) {
            let exact = bias.as_ref().map_or(0.0, |b| b.evaluate(lambda).total().derivative);
            assert!((ours - exact).abs() < 1e-13 * exact.abs().max(100.0), "λ = {lambda}: {ours} {exact}");
        }
    }
}

#[test]
fn failures_stop_the_motion_and_say_where() {
    let (mut own, stream, device) = on_device(Some(0.5), 4);
    let counter = device.upload(&[12_i64]).unwrap();
    let start = state([0.3, 0.5, 0.6], Some(0.5));
    type Case = ([f64; 3], i64, fn(&SitesError) -> bool);
    let cases: [Case; 3] = [
        (
            [0.0, 0.0, 1e9],
            12,
            |e| matches!(e, SitesError::Dynamics(DynamicsError::Escaped { site: 3, step: 12, lambda, .. }) if *lambda < -0.5),
        ),
        ([0.0, f64::NAN, 1e9], 12, |e| {
            matches!(e, SitesError::Dynamics(DynamicsError::NotFinite { site: 2, step: 12, .. }))
        }),
        ([0.0; 3], 16, |e| *e == SitesError::Noise { step: 16 }),
    ];
    for (dvdl, step, is_right) in cases {
        own.upload(&stream, &start, 12).unwrap();
        own.check(&stream).unwrap();
        counter.write(&stream, &[step]).unwrap();
        own.dvdl().write(&stream, &dvdl).unwrap();
        own.enqueue_advance(&stream, &counter).unwrap();
        own.dvdl().write(&stream, &[0.0; 3]).unwrap();
        counter.write(&stream, &[13]).unwrap();
        own.enqueue_advance(&stream, &counter).unwrap();
        let error = own.check(&stream).unwrap_err();
        assert!(is_right(&error), "{error}");
        assert_eq!(own.download(&stream).unwrap(), start);
    }
    let device = Device::of_tests().unwrap();
    let three = [site("X", vec![1, 2], 3, 4)];
    let make = |sites: &[Site], n| DeviceSites::new(&device, sites, &[None], &[], &dynamics(None), (n, 1)).err();
    assert_eq!(make(&three, 10), Some(SitesError::Forms { site: "X".into(), found: 3 }));
    assert_eq!(make(&sites()[..1], 10), Some(SitesError::Atoms { site: "A".into(), n_atoms: 10 }));
    assert!(matches!(make(&sites(), N), Some(SitesError::Length { found: 1, expected: 3, .. })));
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    for source in [sites_source(2), motion_source()] {
        ["sm_75", "sm_90"].into_iter().for_each(|architecture| compiles(&source, architecture).unwrap());
    }
}
