//! Time of the motion of rigid waters on a GPU: leap-frog with SETTLE, thermostat, barostat; without forces.
//!
//! cargo bench -p octitrate-benchmarks --bench motion -- [GPU, or "emulator"] [atoms, separated by commas]
//! Microseconds per step from graphs of 100 steps: a whole step at constant volume (forces cleared, moves since the last lists
//! watched), the same at constant pressure (barostat every 10 steps), and each kernel by itself. Bandwidth: what a step must
//! read and write (positions, velocities, forces, positions of the lists), over its time.

use forcefield::topology::{Constraint, Settle};
use kernels::device::{Device, DeviceError, Stream};
use nalgebra::Vector3;
use octitrate::motion::barostat::{BarostatSettings, CRescale};
use octitrate::motion::constraints::{Constraints, DEFAULT_TOLERANCE};
use octitrate::motion::device::{Coupling, DeviceMotion, ListLimits, MotionState, VirialTerms};
use octitrate::motion::leapfrog::start_velocities;
use octitrate::motion::thermostat::VRescale;
use std::error::Error;

const DT: f64 = 0.002;
const STEPS: u64 = 100;
/// Of a step: positions, velocities read and written, forces read and cleared, positions of the lists; indices of waters.
const BYTES_PER_ATOM: f64 = 24.0 * 7.0 + 16.0 / 3.0;

/// Waters of TIP3P on a grid, with one CH₃ for every 100 waters if wanted.
fn system(atoms: usize, with_stars: bool) -> Result<(Vec<f64>, Constraints, MotionState), Box<dyn Error>> {
    let (mut x, mut masses, mut settles, mut bonds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let side = (atoms as f64 / 3.0).cbrt().ceil() as usize;
    for k in 0..atoms / 3 {
        let site = 0.31 * Vector3::new((k % side) as f64, (k / side % side) as f64, (k / side / side) as f64);
        let first = x.len() as u32;
        if with_stars && k % 100 == 0 {
            masses.extend([12.011, 1.008, 1.008, 1.008]);
            for [a, b, c] in [[0.0, 0.0, 0.0], [0.09, 0.06, 0.0], [-0.09, 0.06, 0.0], [0.0, 0.06, 0.09]] {
                x.push(site + Vector3::new(a, b, c));
            }
            bonds.extend((1..4).map(|leaf| Constraint { atoms: [first, first + leaf], length: 0.108_166_538 }));
        } else {
            masses.extend([15.9994, 1.008, 1.008]);
            for [a, b] in [[0.0, 0.0], [0.075_695, 0.058_588_23], [-0.075_695, 0.058_588_23]] {
                x.push(site + Vector3::new(a, b, 0.0));
            }
            settles.push(Settle { oxygen: first, hydrogens: [first + 1, first + 2], d_oh: 0.095_72, d_hh: 0.151_39 });
        }
    }
    let constraints = Constraints::from_parts(&masses, &bonds, &settles, DEFAULT_TOLERANCE)?;
    let reference = x.clone();
    constraints.apply(&reference, &mut x)?;
    let v = start_velocities(&x, &masses, &constraints, 300.0, true, 1)?;
    let cell = forcefield::Cell::rectangular(Vector3::repeat(0.31 * side as f64))?;
    Ok((masses, constraints, MotionState { x, v, cell, ..MotionState::default() }))
}

/// Microseconds of one of `STEPS` repetitions of `enqueue`, the best of some graphs.
fn time(
    stream: &Stream,
    mut before: impl FnMut(u64) -> Result<(), DeviceError>,
    enqueue: impl Fn() -> Result<(), DeviceError>,
) -> Result<f64, DeviceError> {
    let graph = stream.capture(|| (0..STEPS).try_for_each(|_| enqueue()))?;
    let mut best = f64::INFINITY;
    for run in 0..8 {
        before(run * STEPS)?;
        best = best.min(stream.time(|| graph.launch(stream))?);
    }
    Ok(best * 1e6 / STEPS as f64)
}

fn measure(device: &Device, atoms: usize, with_stars: bool) -> Result<(), Box<dyn Error>> {
    let stream = device.stream()?;
    let (masses, constraints, state) = system(atoms, with_stars)?;
    let n = masses.len();
    let settings = BarostatSettings { pressure: 0.06, temperature: 300.0, tau: 2.0, compressibility: 7.5e-4 };
    let limits = ListLimits { farthest: vec![0.2; n], least_scale: 0.99 };
    let thermostat = Some((VRescale::new(300.0, 0.1, 2 * n)?, 10));
    let constant_volume = Coupling { seed: 1, remove_com_interval: 100, thermostat, ..Coupling::default() };
    let constant_pressure = Coupling { barostat: Some((CRescale::new(settings)?, 10)), ..constant_volume };
    let (forces, energies) = (device.zeros::<i64>(3 * n)?, device.zeros::<i64>(4)?);
    let geometry = device.zeros::<fmm::device::BoxGeometry>(1)?;
    let virial = VirialTerms { slots: vec![(0, 1.0), (1, 1.0)], tail: 0.0 };
    let mut micros = Vec::new();
    for coupling in [constant_volume, constant_pressure] {
        let mut motion = DeviceMotion::new(device, &masses, &constraints, DT, coupling, &virial)?;
        motion.watch_lists(device, &stream, &limits)?;
        motion.upload(&stream, &state)?;
        motion.cover(&stream, 0, 1000)?;
        let motion = &motion;
        let nothing = |_| Ok(());
        let step = || motion.enqueue_step(&stream, &forces, &energies, Some(&geometry), None, true);
        micros.push(time(&stream, nothing, step)?);
        motion.check(&stream)?;
        if coupling.barostat.is_none() {
            micros.push(time(&stream, nothing, || motion.enqueue_advance(&stream, &forces, true))?);
            micros.push(time(&stream, nothing, || motion.enqueue_finish(&stream, &energies, Some(&geometry)))?);
        } else {
            micros.push(time(&stream, nothing, || motion.enqueue_rescale(&stream, None))?);
        }
        motion.check(&stream)?;
    }
    let [whole, leap, finish, pressed, rescale] = micros[..] else { return Ok(()) };
    let bandwidth = BYTES_PER_ATOM * n as f64 / (leap * 1e-6) * 1e-9;
    let kind = if with_stars { "with CH3" } else { "water" };
    println!("{n:>9} {kind:>9} {whole:>9.2} {pressed:>9.2} {leap:>9.2} {finish:>9.2} {rescale:>9.2} {bandwidth:>9.0}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let device = match given.first().map(String::as_str) {
        Some("emulator") => Device::of_tests()?,
        Some(ordinal) => Device::cuda(ordinal.parse()?)?,
        None => Device::cuda(0)?,
    };
    let sizes = given.get(1).map_or("46875,98304,985527", String::as_str);
    println!("{}: µs per step", device.name());
    println!("    atoms    system   NVT step  NPT step      leap    finish   rescale      GB/s");
    for atoms in sizes.split(',') {
        for with_stars in [false, true] {
            measure(&device, atoms.parse()?, with_stars)?;
        }
    }
    Ok(())
}
