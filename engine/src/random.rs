//! Random numbers that are a pure function of (seed, stream, step, index).
//!
//! Every use of chance has a [`RandomStream`]; a generator is made anew for each step (and index), so that a checkpoint needs
//! only the seed and the step, and nothing depends on the number of threads or on the order of calls.
//! Generator: ChaCha with 8 rounds; its 256-bit key is seed ‖ stream ‖ step ‖ index (64 bits each), so different keys
//! give independent sequences. Reference: J.-P. Aumasson, "Too much crypto" (2019), IACR ePrint 2019/1492.
//!
//! Start velocities: each Cartesian component is normal with variance RT/m (Maxwell–Boltzmann), nm/ps.

use forcefield::units::GAS_CONSTANT;
use nalgebra::Vector3;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

pub(crate) mod philox;

/// What random numbers are used for; λ coordinates have streams of their own in the crate `lambda`, with values from
/// 0x6c61_0001. Values are part of the file format of checkpoints: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum RandomStream {
    /// Start velocities of atoms.
    Velocities = 1,
    /// v-rescale thermostat of atoms.
    Thermostat = 2,
    /// C-rescale barostat.
    Barostat = 3,
    /// Swaps of pH between walkers.
    Exchange = 4,
    /// Langevin thermostat of atoms, whose numbers are those of [`philox`].
    Langevin = 5,
}

/// Generator of one stream at one step.
pub fn generator(seed: u64, stream: RandomStream, step: u64) -> ChaCha8Rng {
    indexed_generator(seed, stream, step, 0)
}

/// Generator of one stream at one step for one item (atom, site, replica …).
pub fn indexed_generator(seed: u64, stream: RandomStream, step: u64, index: u64) -> ChaCha8Rng {
    let mut key = [0u8; 32];
    for (bytes, word) in key.chunks_exact_mut(8).zip([seed, stream as u64, step, index]) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    ChaCha8Rng::from_seed(key)
}

/// Velocities (nm/ps) drawn from the Maxwell–Boltzmann distribution at `temperature` (K) for atoms of `masses` (u).
///
/// What has no mass stands still. Neither constraints nor the centre of mass are taken care of; see [`crate::motion::leapfrog::start_velocities`].
pub fn maxwell_velocities(masses: &[f64], temperature: f64, seed: u64) -> Vec<Vector3<f64>> {
    masses
        .par_iter()
        .enumerate()
        .map(|(atom, &mass)| {
            let mut rng = indexed_generator(seed, RandomStream::Velocities, 0, atom as u64);
            let width = if mass > 0.0 { (GAS_CONSTANT * temperature / mass).sqrt() } else { 0.0 };
            Vector3::from_fn(|_, _| {
                let unit: f64 = StandardNormal.sample(&mut rng);
                width * unit
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::Rng;

    #[test]
    fn generators_differ_in_every_part_of_the_key() {
        let first = |seed, stream, step, index| indexed_generator(seed, stream, step, index).next_u64();
        let reference = first(1, RandomStream::Thermostat, 5, 0);
        assert_eq!(reference, first(1, RandomStream::Thermostat, 5, 0));
        assert_ne!(reference, first(2, RandomStream::Thermostat, 5, 0));
        assert_ne!(reference, first(1, RandomStream::Barostat, 5, 0));
        assert_ne!(reference, first(1, RandomStream::Thermostat, 6, 0));
        assert_ne!(reference, first(1, RandomStream::Thermostat, 5, 1));
    }

    /// Values written down once: a change of the generator would silently break the continuation of old checkpoints.
    #[test]
    fn sequence_is_part_of_the_checkpoint_format() {
        let mut rng = generator(2026, RandomStream::Thermostat, 123);
        assert_eq!([rng.next_u64(), rng.next_u64()], EXPECTED);
    }
    const EXPECTED: [u64; 2] = [17_143_340_917_998_198_361, 16_134_409_626_711_004_867];

    #[test]
    fn velocities_do_not_depend_on_the_number_of_threads() {
        let masses = vec![16.0; 1000];
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| maxwell_velocities(&masses, 300.0, 7))
        };
        assert_eq!(with(1), with(5));
    }

    #[test]
    fn velocities_are_normal_with_variance_rt_over_m() {
        let (mass, temperature) = (15.9994, 310.0);
        let velocities = maxwell_velocities(&vec![mass; 200_000], temperature, 3);
        let variance = GAS_CONSTANT * temperature / mass;
        let n = 3.0 * velocities.len() as f64;
        let moment = |k: i32| velocities.iter().flat_map(|v| v.iter()).map(|x| x.powi(k)).sum::<f64>() / n;
        // Five standard errors of the first, second and fourth moment of a normal distribution.
        assert!(moment(1).abs() < 5.0 * (variance / n).sqrt());
        assert!((moment(2) / variance - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
        assert!((moment(4) / (3.0 * variance * variance) - 1.0).abs() < 5.0 * (96.0 / 9.0 / n).sqrt());
    }
}
