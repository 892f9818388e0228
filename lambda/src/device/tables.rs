//! What the kernels read of sites and never changes.

use forcefield::Topology;
use kernels::device::{Buffer, Device, Source, structure};

use super::SitesError;
use crate::coordinate::{Coordinate, NEXP_STEEPNESS};
use crate::interpolation::{OwnPair, own_pairs};
use crate::motion::LambdaDynamics;
use crate::site::Site;

structure! {
    /// A site as its motion sees it.
    pub struct SiteRow {
        /// Coordinate: its number in [`Coordinate`].
        pub kind: u32,
        /// Number of forms.
        pub forms: u32,
        /// First number of ξ.
        pub first_coordinate: u32,
        /// First weight.
        pub first_weight: u32,
        /// First random number of a step.
        pub first_number: u32,
        /// Numbers of ξ.
        pub coordinates: u32,
        /// Mass, u nm².
        pub mass: f64,
        /// 1/mass.
        pub per_mass: f64,
        /// 1/(numbers of ξ).
        pub per_coordinate: f64,
        /// √((1 − κ) RT/m): spread of what the thermostat adds to velocities, 1/ps.
        pub spread: f64,
    }
}

/// All coordinates by the names that kernels have for them.
const COORDINATES: [(&str, Coordinate); 7] = [
    ("FIXED", Coordinate::Fixed),
    ("LINEAR", Coordinate::Linear),
    ("LINEAR_WEIGHTS", Coordinate::LinearWeights),
    ("CIRCLE", Coordinate::Circle),
    ("SPHERE", Coordinate::Sphere),
    ("NEXP", Coordinate::Nexp),
    ("NEXP_WEIGHTS", Coordinate::NexpWeights),
];

/// What kernels are specialised for.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Forms of the site that has most.
    pub forms: usize,
    /// Coordinates that any site has, by bits.
    pub kinds: u32,
}

impl Shape {
    /// Every coordinate.
    #[cfg(test)]
    pub fn any(forms: usize) -> Self {
        Self::with(forms, &COORDINATES.map(|(_, coordinate)| coordinate))
    }

    /// Only these coordinates.
    #[cfg(test)]
    pub fn with(forms: usize, coordinates: &[Coordinate]) -> Self {
        Self { forms, kinds: coordinates.iter().fold(0, |kinds, one| kinds | 1 << *one as u32) }
    }

    /// A source for this shape.
    pub fn specialise(self, source: Source) -> Source {
        let named = |source: Source, &(name, coordinate): &(&str, Coordinate)| source.define(name, coordinate as u32);
        COORDINATES
            .iter()
            .fold(source, named)
            .header(include_str!("coordinate.cuh"))
            .define("REAL", "double")
            .define("FORMS", self.forms)
            .define("KINDS", self.kinds)
            .define("NEXP_STEEPNESS", format!("{NEXP_STEEPNESS:?}"))
    }
}

/// Tables on a device.
pub struct Tables {
    /// Atoms of the system.
    pub n_atoms: usize,
    /// Most forms, coordinates.
    pub shape: Shape,
    /// Sites before the first buffer: those that Hamiltonian interpolation is for.
    pub interpolated: usize,
    /// First atom of each site, and the end.
    pub starts: Buffer<u32>,
    /// First charge of each site in the list of the charges of all forms.
    pub values: Buffer<u32>,
    /// First weight of each site, and the end.
    pub first_weights: Buffer<u32>,
    /// Site of each atom.
    pub site_of: Buffer<u32>,
    /// The atoms in the system.
    pub atoms: Buffer<u32>,
    /// Charges of the forms.
    pub charges: Buffer<f64>,
    /// First pair of each site, and the end.
    pub pair_starts: Buffer<u32>,
    /// Atoms of each pair, in the numbering of the site, then in that of the system.
    pub pairs: Buffer<[u32; 4]>,
    /// Factors of the pairs.
    pub scales: Buffer<f64>,
    /// A row for each site.
    pub motion: Buffer<SiteRow>,
    /// Net charge of each form, as the weights.
    pub form_charges: Buffer<f64>,
    /// Random numbers of a step.
    pub width: usize,
}

impl Tables {
    /// Checks the sites and uploads them.
    ///
    /// # Errors
    /// [`SitesError`].
    pub fn new(
        device: &Device,
        sites: &[Site],
        topology: &Topology,
        dynamics: &LambdaDynamics,
        n_atoms: usize,
    ) -> Result<Self, SitesError> {
        super::length("sites that move", dynamics.sites().len(), sites.len())?;
        sites.iter().zip(dynamics.sites()).try_for_each(|(site, motion)| check(site, motion.n_forms, n_atoms))?;
        let (mut starts, mut value_starts) = (vec![0_u32], vec![0]);
        let mut site_of = Vec::new();
        for (s, site) in sites.iter().enumerate() {
            let first = starts[s];
            site_of.extend(std::iter::repeat_n(s as u32, site.atoms.len()));
            starts.push(first + site.atoms.len() as u32);
            value_starts.push(value_starts[s] + site.forms.len() * site.atoms.len());
        }
        let mut pair_starts = vec![0_u32];
        let mut own: Vec<OwnPair> = Vec::new();
        let mut pairs = Vec::new();
        for site in sites {
            let mine = own_pairs(site, topology);
            pairs.extend(mine.iter().map(|pair| {
                let [i, j] = pair.atoms;
                [i, j, site.atoms[i as usize], site.atoms[j as usize]]
            }));
            own.extend(mine);
            pair_starts.push(own.len() as u32);
        }
        let (motion, width) = motion_table(dynamics);
        let of_sites = dynamics.sites();
        let charges: Vec<f64> = sites.iter().flat_map(|s| &s.forms).flat_map(|f| &f.charges).copied().collect();
        let number = |v: &[usize]| -> Vec<u32> { v.iter().map(|n| *n as u32).collect() };
        Ok(Self {
            n_atoms,
            interpolated: sites.iter().position(Site::is_buffer).unwrap_or(sites.len()),
            shape: Shape {
                forms: sites.iter().map(|s| s.forms.len()).max().unwrap_or(2),
                kinds: motion.iter().fold(0, |kinds, row| kinds | 1 << row.kind),
            },
            starts: device.upload(&starts)?,
            values: device.upload(&number(&value_starts))?,
            first_weights: device.upload(&number(dynamics.weight_starts()))?,
            site_of: device.upload(&site_of)?,
            atoms: device.upload(&sites.iter().flat_map(|s| &s.atoms).copied().collect::<Vec<_>>())?,
            charges: device.upload(&charges)?,
            pair_starts: device.upload(&pair_starts)?,
            pairs: device.upload(&pairs)?,
            scales: device.upload(&own.iter().map(|pair| pair.scale).collect::<Vec<_>>())?,
            motion: device.upload(&motion)?,
            form_charges: device.upload(&of_sites.iter().flat_map(|s| &s.charges).copied().collect::<Vec<_>>())?,
            width,
        })
    }
}

fn check(site: &Site, expected: usize, n_atoms: usize) -> Result<(), SitesError> {
    let found = site.forms.len();
    if found != expected || found < 2 {
        return Err(SitesError::Forms { site: site.name.clone(), found, expected });
    }
    let fits = site.forms.iter().all(|f| f.charges.len() == site.atoms.len());
    if fits && site.atoms.iter().all(|atom| (*atom as usize) < n_atoms) {
        Ok(())
    } else {
        Err(SitesError::Atoms { site: site.name.clone(), n_atoms })
    }
}

/// Rows of the sites, and the number of random numbers of a step.
fn motion_table(dynamics: &LambdaDynamics) -> (Vec<SiteRow>, usize) {
    let (mut table, mut width) = (Vec::new(), 0);
    for (s, site) in dynamics.sites().iter().enumerate() {
        let coordinates = site.coordinate.dimension(site.n_forms);
        table.push(SiteRow {
            kind: site.coordinate as u32,
            forms: site.n_forms as u32,
            first_coordinate: dynamics.coordinate_starts()[s] as u32,
            first_weight: dynamics.weight_starts()[s] as u32,
            first_number: width as u32,
            coordinates: coordinates as u32,
            mass: site.mass,
            per_mass: 1.0 / site.mass,
            per_coordinate: 1.0 / coordinates as f64,
            spread: super::motion::spread(dynamics, site.mass),
        });
        width += if site.coordinate == Coordinate::Fixed { 0 } else { coordinates };
    }
    (table, if dynamics.settings().coupling_time.is_some() { width } else { 0 })
}
