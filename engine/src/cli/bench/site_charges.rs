//! What `bench sites` measures: water with sites, and charges of their forms.
//!
//! Water at its density in a periodic cube. A site is a compact cluster of whole molecules of the lattice, cut to the number of atoms asked
//! for; sites are spread evenly. Each form is a set of random charges on the atoms of its site.

use crate::cli::arguments::BenchSites;
use octitrate::charges::System;
use octitrate::charges::systems;
use octitrate::charges::systems::{Images, Kind};
use octitrate::error::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Atoms of each site, one list for each.
pub type Sites = Vec<Vec<u32>>;

/// Charges of each form of each site.
pub type Forms = Vec<Vec<Vec<f64>>>;

/// Seconds, median and least, of each part.
pub struct Times {
    /// Tree and lists.
    pub assign: [f64; 2],
    /// Tree and lists with those of the sites.
    pub assign_with_sites: [f64; 2],
    /// One pass over all charges.
    pub evaluate: [f64; 2],
    /// All forms of all sites.
    pub sites: [f64; 2],
}

/// The water, its sites, and charges of their forms.
///
/// # Errors
/// [`Error::Input`] if the sites have more atoms than there are.
pub fn system_of(arguments: &BenchSites) -> Result<(System, Sites, Forms)> {
    let system = systems::make(Kind::Water, Images::Periodic, arguments.particles as usize)?;
    let per_axis = systems::molecules_per_axis(arguments.particles as usize);
    let (count, atoms) = (arguments.sites as usize, arguments.atoms as usize);
    let groups = clusters(per_axis, count, atoms)?;
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut charges = |n: usize| (0..n).map(|_| random.random_range(-1.0..1.0)).collect::<Vec<f64>>();
    let forms = (0..count).map(|_| (0..arguments.forms).map(|_| charges(atoms)).collect()).collect();
    Ok((system, groups, forms))
}

/// `count` clusters of `atoms` atoms in a lattice of `m` molecules per axis: blocks of molecules, evenly spread.
fn clusters(m: usize, count: usize, atoms: usize) -> Result<Sites> {
    let molecules = atoms.div_ceil(3);
    let edge = (1..).find(|e: &usize| e.pow(3) >= molecules).unwrap_or(1);
    let blocks = (m / edge).pow(3);
    if count > blocks {
        let help = format!("take more --particles, or at most {blocks} --sites");
        return Err(Error::input(format!("{count} sites of {atoms} atoms do not fit into the lattice of water"), help));
    }
    let across = m / edge;
    let cluster = |site: usize| {
        let block = site * blocks / count;
        let corner = [block / (across * across), block / across % across, block % across].map(|c| c * edge);
        let molecule = |i: usize| {
            let [x, y, z] = [i / (edge * edge), i / edge % edge, i % edge];
            ((corner[0] + x) * m + corner[1] + y) * m + corner[2] + z
        };
        (0..molecules).map(molecule).flat_map(|i| 3 * i as u32..3 * i as u32 + 3).take(atoms).collect()
    };
    Ok((0..count).map(cluster).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_compact_and_share_no_atom() {
        let sites = clusters(10, 27, 12).unwrap();
        let mut all: Vec<u32> = sites.iter().flatten().copied().collect();
        assert_eq!(all.len(), 27 * 12);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 27 * 12);
        assert!(all.iter().all(|i| *i < 3000));
        // Four molecules of a block of eight.
        assert_eq!(sites[0], [0, 1, 2, 3, 4, 5, 30, 31, 32, 33, 34, 35]);
        assert!(clusters(10, 126, 12).is_err());
    }
}
