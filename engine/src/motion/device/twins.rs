//! Systems for tests, and the same motion on the CPU and on the emulated device.

use super::{Coupling, DeviceMotion, MotionState, VirialTerms};
use crate::motion::barostat::{self, BarostatSettings, CRescale};
use crate::motion::com;
use crate::motion::constraints::Constraints;
use crate::motion::langevin::{Langevin, Scratch};
use crate::motion::leapfrog::{LeapFrog, StepEnergies, kinetic_energy, pressure, scale, start_velocities};
use crate::motion::thermostat::VRescale;
use crate::random::{RandomStream, generator};
use fmm::device::BoxGeometry;
use forcefield::Cell;
use forcefield::topology::{Constraint, Settle};
use kernels::device::{Buffer, Device, Stream};
use nalgebra::{Rotation3, Vector3};
use rand_distr::{Distribution, StandardNormal};

pub const DT: f64 = 0.002;
pub const SEED: u64 = 21;
/// Tight: where rounding decides that one sweep more is made, positions differ by this times the length of a bond.
pub const TOLERANCE: f64 = 1e-13;

pub type Vectors = Vec<Vector3<f64>>;

pub fn normals(step: u64) -> impl FnMut() -> Vector3<f64> {
    let mut rng = generator(77, RandomStream::Velocities, step);
    move || Vector3::from_fn(|_, _| StandardNormal.sample(&mut rng))
}

#[derive(Clone, Default)]
pub struct System {
    pub x: Vectors,
    pub masses: Vec<f64>,
    pub bonds: Vec<Constraint>,
    pub settles: Vec<Settle>,
}

impl System {
    pub fn add(&mut self, mass: f64, at: Vector3<f64>) -> u32 {
        self.x.push(at);
        self.masses.push(mass);
        self.x.len() as u32 - 1
    }

    pub fn bond(&mut self, i: u32, j: u32) {
        let length = (self.x[i as usize] - self.x[j as usize]).norm();
        self.bonds.push(Constraint { atoms: [i, j], length });
    }

    /// Waters on a grid of 0.31 nm from `corner`; `gap`: an atom between hydrogens, so that atoms do not follow each other.
    pub fn add_waters(&mut self, n: usize, corner: Vector3<f64>, gap: bool) {
        let mut normal = normals(1);
        let (d_oh, d_hh) = (0.09572, 0.15139_f64);
        let height = (d_oh * d_oh - 0.25 * d_hh * d_hh).sqrt();
        for k in 0..n {
            let site = corner + 0.31 * Vector3::new(k % 8, k / 8 % 8, k / 64).map(|i| i as f64);
            let turn = Rotation3::new(2.0 * normal());
            let place = |a, b| site + turn * Vector3::new(a, b, 0.0);
            let oxygen = self.add(15.9994, place(0.0, 0.0));
            let first = self.add(1.008, place(0.5 * d_hh, height));
            if gap {
                self.add(23.0, place(0.0, -0.2));
            }
            let second = self.add(1.008, place(-0.5 * d_hh, height));
            self.settles.push(Settle { oxygen, hydrogens: [first, second], d_oh, d_hh });
        }
    }

    /// A heavy atom with `n` hydrogens; the heavy atom comes at place `rank` among them.
    pub fn add_star(&mut self, n: usize, rank: usize, at: Vector3<f64>) {
        let corners = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]].map(Vector3::from);
        let first = self.x.len() as u32;
        for k in 0..=n {
            let leaf = if k < rank { k } else { k.wrapping_sub(1) };
            if k == rank {
                self.add(14.0, at)
            } else {
                self.add(1.008, at + 0.06 * corners[leaf])
            };
        }
        let centre = first + rank as u32;
        for leaf in (first..=first + n as u32).filter(|&leaf| leaf != centre) {
            if leaf % 2 == 0 { self.bond(centre, leaf) } else { self.bond(leaf, centre) }
        }
    }

    /// A zigzag chain of `n` carbons with all bonds fixed, three hydrogens at its start.
    pub fn add_chain(&mut self, n: usize, at: Vector3<f64>) {
        let first = self.x.len() as u32;
        for k in 0..n {
            let place = Vector3::new(0.125 * k as f64, 0.087 * (k % 2) as f64, 0.01 * k as f64);
            let atom = self.add(12.011, at + place);
            if k > 0 {
                self.bond(atom - 1, atom);
            }
        }
        for turn in [0.3, 2.4, 4.5_f64] {
            let atom = self.add(1.008, at + Vector3::new(-0.036, 0.103 * turn.cos(), 0.103 * turn.sin()));
            self.bond(first, atom);
        }
    }

    /// Everything there is, in odd numbers.
    pub fn mixed() -> Self {
        let mut system = Self::default();
        for k in 0..5 {
            system.add(22.99, Vector3::new(0.4 * f64::from(k), 3.0, 0.0));
        }
        system.add_waters(3, Vector3::new(3.0, 0.0, 0.0), true);
        for (k, (n, rank)) in [(1, 0), (2, 1), (3, 0), (3, 3), (4, 2)].into_iter().enumerate() {
            system.add_star(n, rank, Vector3::new(0.4 * k as f64, 3.6, 0.0));
        }
        system.add_chain(45, Vector3::new(0.0, 4.0, 1.0));
        system.add_chain(7, Vector3::new(0.0, 4.5, 1.0));
        system.add_waters(150, Vector3::new(0.0, 0.0, 0.0), false);
        // Ends of interleaved pairs.
        let at = system.x.len() as u32;
        for k in 0..4 {
            system.add(14.0, Vector3::new(5.0 + 0.1 * f64::from(k / 2), f64::from(k % 2), 0.0));
        }
        system.bond(at, at + 2);
        system.bond(at + 3, at + 1);
        system
    }

    pub fn constraints(&self) -> Constraints {
        Constraints::from_parts(&self.masses, &self.bonds, &self.settles, TOLERANCE).unwrap()
    }
}

/// The motion of the CPU, in the order of the simulation.
pub struct Cpu {
    pub masses: Vec<f64>,
    pub constraints: Constraints,
    pub coupling: Coupling,
    pub state: MotionState,
}

impl Cpu {
    pub fn new(masses: &[f64], constraints: Constraints, x: &[Vector3<f64>], coupling: Coupling) -> Self {
        let v = start_velocities(x, masses, &constraints, 300.0, false, 5).unwrap();
        // Angles play no part in the motion, but all numbers of the box are scaled.
        let cell = Cell::from_packed([6.0, 5.5, 5.0, 1.5, -2.0, 1.0]).unwrap();
        let state = MotionState { x: x.to_vec(), v, cell, ..MotionState::default() };
        Self { masses: masses.to_vec(), constraints, coupling, state }
    }

    /// Lets the thermostat act and takes off the motion of the centre of mass, where either is due.
    pub fn begin_step(&mut self) {
        let Self { masses, coupling, state, .. } = self;
        let step = state.step;
        if let Some((thermostat, every)) = &coupling.thermostat
            && step.is_multiple_of(*every)
        {
            let kinetic = kinetic_energy(&state.v, masses);
            let (work, time) = (&mut state.bath.thermostat_work, *every as f64 * DT);
            scale(&mut state.v, thermostat.rescale(work, kinetic, time, SEED, step).unwrap());
        }
        if coupling.remove_com_interval > 0 && step.is_multiple_of(coupling.remove_com_interval) {
            com::remove_motion(masses, &mut state.v);
        }
    }

    pub fn step(&mut self, forces: &[Vector3<f64>], virial: f64) -> (StepEnergies, f64) {
        self.begin_step();
        let Self { masses, constraints, coupling, state } = self;
        let step = state.step;
        let leap = LeapFrog { masses, constraints, dt: DT };
        let (x, v) = (&mut state.x, &mut state.v);
        let energies = match &coupling.langevin {
            Some(langevin) => {
                let scratch = &mut Scratch::default();
                let (energies, work) = langevin.step(&leap, x, v, forces, [SEED, step], scratch).unwrap();
                state.bath.thermostat_work += work;
                energies
            }
            None => leap.step(x, v, forces, &mut Vec::new()).unwrap(),
        };
        let volume = state.cell.volume().unwrap();
        let now = pressure(energies.kinetic(), energies.constraint_virial + virial, volume);
        if let Some((barostat, every)) = &coupling.barostat {
            CRescale::observe(&mut state.bath.barostat, now);
            if step >= coupling.barostat_start && (step + 1).is_multiple_of(*every) {
                let (done, time) = (&mut state.bath.barostat, *every as f64 * DT);
                let factor = barostat.couple(done, now, volume, time, SEED, step).unwrap();
                barostat::stretch(
                    Vector3::repeat(factor),
                    &mut state.cell,
                    &mut state.x,
                    &mut state.v,
                    masses,
                    constraints,
                )
                .unwrap();
            }
        }
        state.step += 1;
        (energies, now)
    }
}

/// A geometry whose numbers are all one, so that each tells by which power of the lengths it is scaled.
const ONES: BoxGeometry = BoxGeometry {
    basis: [[1.0; 3]; 3],
    inverse: [[1.0; 3]; 3],
    periods: [[1.0; 3]; 3],
    corner: [1.0; 3],
    scale: 1.0,
    per_scale: 1.0,
    volume: 1.0,
};

/// A device motion with the buffers around it.
pub struct Gpu {
    pub motion: DeviceMotion,
    pub stream: Stream,
    pub forces: Buffer<i64>,
    pub energies: Buffer<i64>,
    pub geometry: Buffer<BoxGeometry>,
    pub reference: Buffer<f64>,
}

impl Gpu {
    pub fn new(cpu: &Cpu) -> Self {
        let device = Device::of_tests().unwrap();
        let stream = device.stream().unwrap();
        let virial = VirialTerms { slots: vec![(2, 1.0), (0, -2.0)], tail: 12.5 };
        let mut motion = DeviceMotion::new(&device, &cpu.masses, &cpu.constraints, DT, cpu.coupling, &virial).unwrap();
        motion.upload(&stream, &cpu.state).unwrap();
        motion.cover(&stream, cpu.state.step, 100).unwrap();
        Self {
            forces: device.zeros(3 * cpu.masses.len()).unwrap(),
            energies: device.zeros(3).unwrap(),
            geometry: device.upload(&[ONES]).unwrap(),
            reference: device.upload(&[2.0; 150]).unwrap(),
            motion,
            stream,
        }
    }

    /// Puts forces and a virial (of which the tail is a part).
    pub fn put(&self, forces: &[i64], virial: f64, volume: f64) {
        self.forces.write(&self.stream, forces).unwrap();
        let rest = virial - 12.5 / volume;
        let fixed = |energy: f64| (energy * 16_777_216.0).round() as i64;
        // In two parts: −2 · 3 and the rest.
        self.energies.write(&self.stream, &[fixed(3.0), i64::MIN, fixed(rest + 6.0)]).unwrap();
    }

    pub fn step(&self) {
        let (geometry, reference) = (Some(&self.geometry), Some(&self.reference));
        self.motion.enqueue_step(&self.stream, &self.forces, &self.energies, geometry, reference, true).unwrap();
    }

    pub fn state(&self) -> MotionState {
        self.motion.download(&self.stream).unwrap()
    }
}

pub fn fixed_point(forces: &[Vector3<f64>]) -> Vec<i64> {
    forces.iter().flatten().map(|f| (f * 4_294_967_296.0).round() as i64).collect()
}

/// What the fixed-point numbers say.
pub fn back(fixed: &[i64]) -> Vectors {
    fixed.as_chunks::<3>().0.iter().map(|f| Vector3::from(f.map(|f| f as f64 / 4_294_967_296.0))).collect()
}

pub fn difference(a: &[Vector3<f64>], b: &[Vector3<f64>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).amax()).fold(0.0, f64::max)
}

pub fn thermostat(masses: &[f64]) -> VRescale {
    VRescale::new(300.0, 0.1, 2 * masses.len()).unwrap()
}

/// A friction that takes a fiftieth of the velocities in a step: errors of its sign or size would be seen.
pub fn langevin() -> Langevin {
    Langevin::new(300.0, 10.0).unwrap()
}

pub fn barostat() -> CRescale {
    let settings = BarostatSettings { pressure: 40.0, temperature: 300.0, tau: 0.5, compressibility: 1e-3 };
    CRescale::new(settings).unwrap()
}

/// `steps` steps with random forces, all numbers compared in each.
pub fn compare(system: &System, coupling: Coupling, steps: u64) {
    let mut cpu = Cpu::new(&system.masses, system.constraints(), &system.x, coupling);
    let gpu = Gpu::new(&cpu);
    let mut size = 1.0;
    for step in 0..steps {
        let mut normal = normals(100 + step);
        let forces: Vectors = system.x.iter().map(|_| 600.0 * normal()).collect();
        let fixed = fixed_point(&forces);
        let virial = -5000.0 + 200.0 * normal().x;
        let volume = cpu.state.cell.volume().unwrap();
        gpu.put(&fixed, virial, volume);
        gpu.step();
        let (energies, pressure) = cpu.step(&back(&fixed), virial);
        let factor = (cpu.state.cell.volume().unwrap() / volume).cbrt();
        size *= factor;
        let (state, observed) = (gpu.state(), gpu.motion.observed(&gpu.stream).unwrap());
        assert_eq!(gpu.motion.check(&gpu.stream).unwrap().step, step + 1);
        // Rounding of coordinates of 5 nm (1e-15) in each step, which the motion multiplies: found up to 3e-12 nm after a hundred; divided by the
        // time step in velocities.
        let (dx, dv) = (difference(&state.x, &cpu.state.x), difference(&state.v, &cpu.state.v));
        assert!(dx < 1e-11 && dv < 1e-9, "step {step}: {dx:e} nm, {dv:e} nm/ps");
        let close = |a: f64, b: f64, unit: f64, name: &str| {
            assert!((a - b).abs() < 1e-11 * unit, "step {step}, {name}: {a} {b}");
        };
        let kinetic = energies.kinetic();
        close(observed.kinetic_before, energies.kinetic_before, kinetic, "kinetic energy before");
        close(observed.kinetic_after, energies.kinetic_after, kinetic, "kinetic energy after");
        close(observed.constraint_virial, energies.constraint_virial, 10.0 * kinetic, "constraint virial");
        // The virial was given in units of 2⁻²⁴.
        assert!((observed.virial - virial).abs() < 1e-6 && (observed.pressure - pressure).abs() < 1e-8);
        close(state.bath.thermostat_work, cpu.state.bath.thermostat_work, kinetic, "thermostat");
        assert!((state.bath.barostat.work - cpu.state.bath.barostat.work).abs() < 1e-6 * kinetic, "barostat");
        let edges = state.cell.packed().into_iter().zip(cpu.state.cell.packed());
        assert!(edges.into_iter().all(|(a, b)| (a - b).abs() < 1e-10 && b != 0.0));
        // Where the box differs by the rounding of the virial, take that of the CPU, so that errors do not add up.
        let geometry = gpu.geometry.read(&gpu.stream).unwrap();
        let [BoxGeometry { basis, inverse, periods, corner, scale, per_scale, volume }] = geometry[..] else {
            panic!("one geometry")
        };
        let rows = [basis, periods];
        let lengths = rows.as_flattened().as_flattened().iter().chain(&corner).chain([&scale]);
        let inverses = inverse.as_flattened().iter().chain([&per_scale]);
        let powers = lengths.map(|g| (g, 1)).chain(inverses.map(|g| (g, -1))).chain([(&volume, 3)]);
        for (g, power) in powers {
            assert!((g / size.powi(power) - 1.0).abs() < 1e-9, "geometry to the power {power}: {g}");
        }
        assert!(gpu.reference.read(&gpu.stream).unwrap().iter().all(|r| (r / size - 2.0).abs() < 1e-9));
        assert!(gpu.forces.read(&gpu.stream).unwrap().iter().all(|f| *f == 0));
    }
    if coupling.barostat.is_some() {
        assert!((size - 1.0).abs() > 1e-6, "the box has changed");
    }
}

pub fn all_couplings(masses: &[f64]) -> Coupling {
    Coupling { seed: SEED, remove_com_interval: 7, thermostat: Some((thermostat(masses), 10)), ..Coupling::default() }
}
