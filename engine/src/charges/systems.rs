//! Systems to measure with, the same on every machine: random charges, water, droplets.
//!
//! Random charges fill a cell of volume 1. Lengths of water are nm: TIP3P molecules (W. L. Jorgensen et al., J. Chem. Phys. 79, 926 (1983),
//! doi:10.1063/1.445869) turned at random on a jittered lattice of 33.3 per nm³, with their own pairs excluded.

use super::System;
use crate::error::{Error, Result};
use clap::ValueEnum;
use fmm::{Boundary, Exclusions};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::f64::consts::{PI, SQRT_2, TAU};

type Vector = [f64; 3];

/// Water molecules per nm³.
const DENSITY: f64 = 100.0 / 3.0;

/// Molecules in a droplet.
const DROPLET: usize = 483;

/// Volume (nm³) for each atom of droplets in vacuum: 108 663 in a cube of 136 nm, the aerosol of the FMM literature on λ-dynamics.
const VACUUM: f64 = 136.0 * 136.0 * 136.0 / 108_663.0;

/// Longest distance (nm) between atoms of one molecule, H–H, and some more.
const MOLECULE: f64 = 0.16;

/// Where charges have images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Images {
    /// No images.
    Open,
    /// Images along one axis.
    Wire,
    /// Images along two axes.
    Slab,
    /// A cube with images along three axes.
    Periodic,
    /// The same with a rhombic dodecahedron.
    Triclinic,
}

/// Where charges are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Anywhere, independent of each other.
    Random,
    /// Three-site water molecules on a jittered lattice, without their own pairs.
    Water,
    /// Droplets of 483 such molecules, far from each other.
    Droplets,
}

/// A cell of this volume: a rhombic dodecahedron or a cube.
fn cell(boundary: Images, volume: f64) -> [Vector; 3] {
    let edge = volume.cbrt();
    if boundary == Images::Triclinic {
        // Rhombic dodecahedron: volume d³/√2.
        let d = edge * SQRT_2.cbrt();
        return [[d, 0.0, 0.0], [0.0, d, 0.0], [0.5 * d, 0.5 * d, 0.5 * SQRT_2 * d]];
    }
    [[edge, 0.0, 0.0], [0.0, edge, 0.0], [0.0, 0.0, edge]]
}

fn repeated(boundary: Images, cell: [Vector; 3]) -> Boundary {
    match boundary {
        Images::Open => Boundary::Open,
        Images::Wire => Boundary::Wire { period: cell[0] },
        Images::Slab => Boundary::Slab { periods: [cell[0], cell[1]] },
        Images::Periodic | Images::Triclinic => Boundary::Periodic { cell },
    }
}

/// u · cell.
fn place(cell: &[Vector; 3], u: Vector) -> Vector {
    [0, 1, 2].map(|x| (0..3).map(|a| u[a] * cell[a][x]).sum())
}

fn sum(a: Vector, b: Vector) -> Vector {
    [0, 1, 2].map(|x| a[x] + b[x])
}

/// About `n` charges.
///
/// # Errors
/// More particles than can be counted.
pub fn make(system: Kind, boundary: Images, n: usize) -> Result<System> {
    match system {
        Kind::Random => Ok(random(boundary, n)),
        Kind::Water => water(boundary, n),
        Kind::Droplets => droplets(boundary, n),
    }
}

/// `n` charges from −1 to 1 anywhere in a cell of volume 1, neutral: the mean is taken off.
fn random(boundary: Images, n: usize) -> System {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let cell = cell(boundary, 1.0);
    let positions = (0..n).map(|_| place(&cell, std::array::from_fn(|_| random.random::<f64>()))).collect();
    let mut charges: Vec<f64> = (0..n).map(|_| random.random_range(-1.0..1.0)).collect();
    let mean = charges.iter().sum::<f64>() / n as f64;
    charges.iter_mut().for_each(|q| *q -= mean);
    let exclusions = Exclusions::none(n);
    System { boundary: repeated(boundary, cell), positions, charges, exclusions, minimum_leaf: 0.0 }
}

/// Molecules per axis of the lattice nearest to `n` atoms.
fn molecules_per_axis(n: usize) -> usize {
    ((n as f64 / 3.0).cbrt().round() as usize).max(1)
}

/// Water all over the cell.
fn water(boundary: Images, n: usize) -> Result<System> {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let m = molecules_per_axis(n);
    let cell = cell(boundary, m.pow(3) as f64 / DENSITY);
    let site = |i: usize| [i / (m * m), i / m % m, i % m].map(|c| (c as f64 + 0.5) / m as f64);
    let sites: Vec<Vector> = (0..m.pow(3)).map(|i| place(&cell, site(i))).collect();
    molecules(repeated(boundary, cell), sites, &mut random)
}

/// Droplets of water at random places in a cell that is nearly empty; they do not touch.
fn droplets(boundary: Images, n: usize) -> Result<System> {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let total = (n / 3).max(1);
    let count = total.div_ceil(DROPLET);
    let cell = cell(boundary, 3.0 * total as f64 * VACUUM);
    // Radius with half a nanometre around it.
    let radius = (3.0 * DROPLET as f64 / (4.0 * PI * DENSITY)).cbrt() + 0.5;
    let heights = Boundary::Periodic { cell }.heights();
    let room = heights.iter().copied().fold(f64::INFINITY, f64::min);
    let margin = (radius / room).min(0.5);
    let ball = ball(DROPLET);
    let mut centres: Vec<Vector> = Vec::new();
    let mut sites = Vec::with_capacity(total);
    for droplet in 0..count {
        let centre = loop {
            let at = place(&cell, std::array::from_fn(|_| margin + (1.0 - 2.0 * margin) * random.random::<f64>()));
            let apart = |c: &Vector| (0..3).map(|x| (c[x] - at[x]).powi(2)).sum::<f64>() > 4.0 * radius * radius;
            if centres.iter().all(apart) {
                break at;
            }
        };
        centres.push(centre);
        let molecules = total / count + usize::from(droplet < total % count);
        sites.extend(ball[..molecules].iter().map(|site| sum(centre, *site)));
    }
    molecules(repeated(boundary, cell), sites, &mut random)
}

/// One droplet of about `n` atoms in vacuum.
///
/// # Errors
/// More particles than can be counted.
pub fn droplet(n: usize) -> Result<System> {
    molecules(Boundary::Open, ball((n / 3).max(1)), &mut ChaCha8Rng::seed_from_u64(5))
}

/// The `n` sites of a cubic lattice of the density of water that are nearest to a point.
fn ball(n: usize) -> Vec<Vector> {
    let spacing = DENSITY.cbrt().recip();
    let m = (n as f64).cbrt().ceil() as i32;
    let line = -m..=m;
    let point = |i: i32, shift: f64| spacing * (f64::from(i) + shift);
    let plane = |x: i32| line.clone().flat_map(move |y| (-m..=m).map(move |z| [x, y, z]));
    let mut sites: Vec<Vector> =
        line.clone().flat_map(plane).map(|[x, y, z]| [point(x, 0.13), point(y, 0.29), point(z, 0.41)]).collect();
    let square = |x: &Vector| x.iter().map(|x| x * x).sum::<f64>();
    sites.sort_by(|a, b| square(a).total_cmp(&square(b)));
    sites.truncate(n);
    sites
}

/// A water molecule, turned at random, at each site moved by up to 0.03 nm along each axis.
fn molecules(boundary: Boundary, sites: Vec<Vector>, random: &mut ChaCha8Rng) -> Result<System> {
    const BOND: f64 = 0.09572;
    const HALF_ANGLE: f64 = 0.5 * 104.52 * PI / 180.0;
    let n = 3 * sites.len();
    let (mut positions, mut charges) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for site in sites {
        let oxygen = site.map(|x| x + random.random_range(-0.03..0.03));
        positions.push(oxygen);
        let (z, phi): (f64, f64) = (random.random_range(-1.0..1.0), random.random_range(0.0..TAU));
        let s = (1.0 - z * z).sqrt();
        let axis = [s * phi.cos(), s * phi.sin(), z];
        // Orthogonal to the axis of the molecule, then turned about it.
        let (u, v) = ([z * phi.cos(), z * phi.sin(), -s], [-phi.sin(), phi.cos(), 0.0]);
        let turn: f64 = random.random_range(0.0..TAU);
        for side in [1.0, -1.0] {
            let across = [0, 1, 2].map(|x| side * (turn.cos() * u[x] + turn.sin() * v[x]));
            let bond = [0, 1, 2].map(|x| BOND * (HALF_ANGLE.cos() * axis[x] + HALF_ANGLE.sin() * across[x]));
            positions.push(sum(oxygen, bond));
        }
        charges.extend([-0.834, 0.417, 0.417]);
    }
    let first = (0..n as u32).step_by(3);
    let exclusions = Exclusions::from_pairs(n, first.flat_map(|i| [[i, i + 1], [i, i + 2], [i + 1, i + 2]]))
        .map_err(|e| Error::input(e.to_string(), "take fewer particles"))?;
    Ok(System { boundary, positions, charges, exclusions, minimum_leaf: MOLECULE })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDARIES: [Images; 5] = [Images::Open, Images::Wire, Images::Slab, Images::Periodic, Images::Triclinic];

    #[test]
    fn systems_are_neutral_and_have_the_density_they_should() {
        for boundary in BOUNDARIES {
            for kind in [Kind::Random, Kind::Water, Kind::Droplets] {
                let system = make(kind, boundary, 3000).unwrap();
                assert!(system.charges.iter().sum::<f64>().abs() < 1e-9, "{kind:?} {boundary:?}");
                assert_eq!((system.len(), system.charges.len()), (3000, 3000), "{kind:?}");
                let density = system.boundary.volume().map(|volume| system.len() as f64 / volume);
                let expected = match kind {
                    Kind::Random => 3000.0,
                    Kind::Water => 100.0,
                    Kind::Droplets => 1.0 / VACUUM,
                };
                assert!(density.is_none_or(|density| (density / expected - 1.0).abs() < 1e-9), "{kind:?} {boundary:?}");
            }
        }
    }

    #[test]
    fn molecules_have_their_geometry_and_keep_apart() {
        let system = make(Kind::Water, Images::Triclinic, 3000).unwrap();
        let distance = |i: usize, j: usize| {
            let (a, b) = (system.positions[i], system.positions[j]);
            (0..3).map(|x| (a[x] - b[x]).powi(2)).sum::<f64>().sqrt()
        };
        for i in (0..3000).step_by(3) {
            assert!((distance(i, i + 1) - 0.09572).abs() < 1e-12 && (distance(i, i + 2) - 0.09572).abs() < 1e-12);
            assert!((distance(i + 1, i + 2) - 0.15139).abs() < 1e-5);
            assert!((0..i).all(|j| distance(i, j) > 0.03), "{i}");
        }
    }
}
