//! Langevin dynamics of the emulated device against that of the CPU.

use super::*;
use crate::motion::device::twins::langevin;
use crate::motion::langevin::Langevin;
use crate::motion::leapfrog::kinetic_energy;
use crate::random::RandomStream;
use crate::random::philox::{philox, three_normals};
use crate::toy::mean_and_variance;
use forcefield::units::GAS_CONSTANT;
use kernels::device::{Launch, Out, Source, arguments};

arguments! {
    /// Arguments of `draw`.
    struct DrawArgs<'a> {
        words: Out<'a, u32>,
        normals: Out<'a, f64>,
        seed: u64,
        step: u64,
        stream: u32,
        first: u32,
    }
}

fn numbers() -> Source {
    let text = "KERNEL void draw(const __grid_constant__ DrawArgs a) {\n\
                    const unsigned i = threadIdx.x, index = a.first + i;\n\
                    const uint4 words = philox(make_uint4(index, a.stream, (unsigned)a.step, (unsigned)(a.step >> 32)),\n\
                                               make_uint2((unsigned)a.seed, (unsigned)(a.seed >> 32)));\n\
                    a.words[4 * i] = words.x, a.words[4 * i + 1] = words.y, a.words[4 * i + 2] = words.z, a.words[4 * i + 3] = words.w;\n\
                    three_normals(a.seed, a.stream, a.step, index, a.normals + 3 * i);\n\
                }\n";
    Source::new("numbers", text)
        .define("REAL", "double")
        .header(include_str!("../../../random/philox.cuh"))
        .kernel::<DrawArgs<'static>>("draw")
}

/// Integers are the same; normal numbers to what libraries differ by in logarithms and sines, a few roundings of numbers below 7.
#[test]
fn random_numbers_are_those_of_the_cpu() {
    const N: u32 = 256;
    let device = Device::of_tests().unwrap();
    let (kernel, stream) =
        (device.compile(&numbers()).unwrap().kernel::<DrawArgs>("draw").unwrap(), device.stream().unwrap());
    let (words, normals) = (device.zeros::<u32>(4 * N as usize).unwrap(), device.zeros::<f64>(3 * N as usize).unwrap());
    let of_atoms = RandomStream::Langevin;
    // Every word of counter and key is large in one of them.
    for (seed, step, first) in [(1, 5, 0), (0x1234_5678_9abc_def0, (1 << 40) | 77, u32::MAX - N), (u64::MAX, 0, 9)] {
        let (words_out, normals_out) = (words.arg(), normals.arg());
        let arguments = DrawArgs { words: words_out, normals: normals_out, seed, step, stream: of_atoms as u32, first };
        stream.launch(&kernel, Launch::new(1, N), arguments).unwrap();
        let (words, normals) = (words.read(&stream).unwrap(), normals.read(&stream).unwrap());
        for (i, (words, normals)) in words.as_chunks::<4>().0.iter().zip(normals.as_chunks::<3>().0).enumerate() {
            let index = first + i as u32;
            let counter = [index, of_atoms as u32, step as u32, (step >> 32) as u32];
            assert_eq!(*words, philox(counter, [seed as u32, (seed >> 32) as u32]));
            let expected = three_normals(seed, of_atoms, step, index);
            let apart = normals.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 2e-14, "{index}: {normals:?} {expected:?}");
        }
    }
    ["sm_75", "sm_90"].into_iter().for_each(|architecture| compiles(&numbers(), architecture).unwrap());
}

fn bathed() -> Coupling {
    Coupling { seed: SEED, langevin: Some(langevin()), ..Coupling::default() }
}

/// Waters in rows and scattered, stars of one to four bonds, chains, free atoms: positions, velocities, energies, the work of the bath.
#[test]
fn a_hundred_steps_of_everything_with_friction_and_noise() {
    let system = System::mixed();
    compare(&system, bathed(), 100);
    // At constant pressure, and with all that may act beside it.
    let coupling = Coupling { langevin: Some(langevin()), ..all_couplings(&system.masses) };
    compare(&system, Coupling { barostat: Some((barostat(), 3)), ..coupling }, 100);
}

#[test]
fn langevin_dynamics_repeats_bit_for_bit_also_from_a_graph_and_from_a_saved_state() {
    let system = System::mixed();
    repeat(&system, Coupling { barostat: Some((barostat(), 2)), ..bathed() });
}

/// A look ahead sees the step that leap-frog would make; a bath without temperature and friction is leap-frog, to the last bit.
#[test]
fn a_look_ahead_has_no_bath() {
    let Droplet { masses, constraints, x } = Droplet::new(2);
    let none = Coupling { langevin: Some(Langevin::new(0.0, 1e-16).unwrap()), ..bathed() };
    let [mut forces, mut f] = [0, 1].map(|_| vec![Vector3::zeros(); x.len()]);
    spc_forces(&x, &mut f);
    let cpus = [Coupling::default(), none, bathed()].map(|c| Cpu::new(&masses, constraints.clone(), &x, c));
    let [free, still, bathed] = cpus.each_ref().map(Gpu::new);
    let put = |gpu: &Gpu, f: &[Vector3<f64>]| gpu.put(&fixed_point(f), -100.0, 1.0);
    for gpu in [&free, &still, &bathed] {
        put(gpu, &f);
        gpu.motion.enqueue_look_ahead(&gpu.stream, &gpu.forces, &gpu.energies).unwrap();
    }
    let looked = [&free, &still, &bathed].map(|gpu| gpu.motion.looked(&gpu.stream).unwrap());
    assert!(looked[0] == looked[1] && looked[0] == looked[2], "{looked:?}");
    assert_eq!(bathed.state(), MotionState { prepared: bathed.state().prepared, ..cpus[2].state.clone() });
    bathed.step();
    let observed = bathed.motion.observed(&bathed.stream).unwrap();
    assert!((observed.kinetic_after - looked[2].kinetic_after).abs() > 1e-3, "the step itself has one");
    for _ in 0..20 {
        spc_forces(&free.state().x, &mut forces);
        for gpu in [&free, &still] {
            put(gpu, &forces);
            gpu.step();
        }
    }
    let (free, still) = (free.state(), still.state());
    // Of the work, −2 γ dt K, 10⁻¹⁵ kJ/mol are left.
    assert!(still.bath.thermostat_work.abs() < 1e-14, "{:?}", still.bath);
    assert_eq!(free, MotionState { bath: free.bath, ..still });
}

/// What has no mass stays where it is, whatever its place among the atoms; numbers of the others are those of their atoms.
#[test]
fn virtual_sites_have_no_bath() {
    let mut system = System::default();
    system.add_waters(2, Vector3::zeros(), false);
    let site = system.add(0.0, Vector3::new(0.0, 0.0, 1.0)) as usize;
    system.add(23.0, Vector3::new(1.0, 0.0, 1.0));
    let mut cpu = Cpu::new(&system.masses, system.constraints(), &system.x, bathed());
    let gpu = Gpu::new(&cpu);
    for _ in 0..10 {
        gpu.step();
        cpu.step(&vec![Vector3::zeros(); system.x.len()], 0.0);
    }
    let state = gpu.state();
    assert!(difference(&state.x, &cpu.state.x) < 1e-12 && difference(&state.v, &cpu.state.v) < 1e-11);
    assert!(state.x[site] == system.x[site] && state.v[site] == Vector3::zeros());
    assert!((state.x[site + 1] - system.x[site + 1]).norm() > 1e-3);
}

/// Kinetic energies of each kind of unit, from rest: mean and variance of the Gamma distribution of its degrees of freedom. No forces but those of
/// constraints, so that nothing but the bath can bring them there.
#[test]
fn every_kind_of_atom_has_the_temperature() {
    let mut system = System::default();
    let mut kinds: Vec<(&str, std::ops::Range<usize>, usize)> = Vec::new();
    let mut add = |name, system: &mut System, add: &dyn Fn(&mut System)| {
        let (first, bonds) = (system.x.len(), system.bonds.len() + 3 * system.settles.len());
        add(system);
        let fixed = system.bonds.len() + 3 * system.settles.len() - bonds;
        kinds.push((name, first..system.x.len(), 3 * (system.x.len() - first) - fixed));
    };
    let at = |k: usize, z: f64| Vector3::new(0.6 * k as f64, 0.0, z);
    add("waters in a row", &mut system, &|system| system.add_waters(40, Vector3::zeros(), false));
    let scattered = |system: &mut System| {
        for k in 0..20 {
            system.add_waters(1, at(k, 5.0), false);
            let last = system.settles.len() - 1;
            let [first, second] = system.settles[last].hydrogens;
            system.settles[last].hydrogens = [second, first];
        }
    };
    add("waters, hydrogens the other way round", &mut system, &scattered);
    add("light and heavy atoms", &mut system, &|system| {
        for k in 0..40 {
            system.add(if k % 2 == 0 { 1.008 } else { 35.45 }, at(k, 6.0));
        }
    });
    add("stars", &mut system, &|system| (0..24).for_each(|k| system.add_star(1 + k % 4, k % 2, at(k, 7.0))));
    add("chains", &mut system, &|system| (0..4).for_each(|k| system.add_chain(2 + 4 * k, at(4 * k, 8.0))));
    // Kinetic energies forget within 1/2γ, 1.25 steps; so much noise that what is left of it along bonds would be seen.
    let coupling = Coupling { langevin: Some(Langevin::new(300.0, 200.0).unwrap()), ..bathed() };
    let mut cpu = Cpu::new(&system.masses, system.constraints(), &system.x, coupling);
    cpu.state.v.fill(Vector3::zeros());
    let mut gpu = Gpu::new(&cpu);
    gpu.motion.upload(&gpu.stream, &cpu.state).unwrap();
    gpu.motion.cover(&gpu.stream, 0, 1000).unwrap();
    let zero = vec![0; 3 * system.x.len()];
    gpu.put(&zero, 0.0, 1.0);
    let mut found = vec![Vec::new(); kinds.len()];
    for step in 0..900 {
        gpu.step();
        if step >= 30 && step % 3 == 0 {
            let v = gpu.state().v;
            for ((_, atoms, _), found) in kinds.iter().zip(&mut found) {
                found.push(kinetic_energy(&v[atoms.clone()], &system.masses[atoms.clone()]));
            }
        }
    }
    gpu.motion.check(&gpu.stream).unwrap();
    const RT: f64 = GAS_CONSTANT * 300.0;
    for ((name, _, freedom), found) in kinds.iter().zip(&found) {
        let (mean, variance) = mean_and_variance(found);
        let freedom = *freedom as f64;
        let (mean, variance) = (mean / (0.5 * freedom * RT), variance / (0.5 * freedom * RT * RT));
        println!(
            "{name}: {freedom} degrees of freedom, temperature {mean:.3}, variance {variance:.3} of the exact ones"
        );
        // e^{−2.4} of one sample is left in the next: as many as tanh(1.2) of them are independent. Five standard errors.
        let independent = found.len() as f64 * 1.2_f64.tanh();
        assert!((mean - 1.0).abs() < 5.0 * (2.0 / freedom / independent).sqrt(), "{name}: {mean}");
        assert!((variance - 1.0).abs() < 5.0 * ((2.0 + 12.0 / freedom) / independent).sqrt(), "{name}: {variance}");
    }
}

/// What is not a number is told as what it first meets; the motion stops.
#[test]
fn a_bath_that_cannot_act_stops_the_motion() {
    let system = System::mixed();
    let fail = |atom: usize| {
        let mut cpu = Cpu::new(&system.masses, system.constraints(), &system.x, bathed());
        cpu.state.v[atom].y = f64::NAN;
        let gpu = Gpu::new(&cpu);
        gpu.put(&vec![0; 3 * system.x.len()], 0.0, 165.0);
        gpu.step();
        gpu.motion.check(&gpu.stream).unwrap_err()
    };
    let oxygen = system.settles[40].oxygen;
    assert_eq!(fail(oxygen as usize), MotionError::Settle { step: 0, atom: oxygen });
    assert_eq!(fail(3), MotionError::NotFinite { step: 0, atom: 3 });
    // Of a star, and of the first chain, whose first atom is 36 and whose first bond leads to the next.
    assert!(matches!(fail(19), MotionError::Shake { step: 0, .. }));
    let units = Units::new(&system.masses, &system.constraints());
    let first = units.group_atoms[0];
    assert_eq!(fail(first as usize + 5), MotionError::Velocity { step: 0, atoms: [first, first + 1] });
    let text = MotionError::Velocity { step: 7, atoms: [0, 3] }.to_string();
    assert!(text.contains("step 7") && text.contains("between atoms 1 and 4"), "{text}");
}
