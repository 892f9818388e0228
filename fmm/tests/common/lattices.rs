//! Ion lattices with their Madelung constants, water droplets, an aerosol of droplets.

use fmm::Exclusions;

use super::Random;

/// Rows are the images of x, y, z.
pub type Rotation = [[f64; 3]; 3];

pub const NO_ROTATION: Rotation = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The rotation of a unit quaternion in the direction of `q`.
pub fn rotation(q: [f64; 4]) -> Rotation {
    let length = q.iter().map(|q| q * q).sum::<f64>().sqrt();
    let [w, x, y, z] = q.map(|q| q / length);
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
        [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

/// r · `rotation`.
pub fn turn(rotation: &Rotation, r: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|a| (0..3).map(|i| r[i] * rotation[i][a]).sum())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    RockSalt,
    CaesiumChloride,
    ZincBlende,
}

impl Structure {
    pub const ALL: [Self; 3] = [Self::RockSalt, Self::CaesiumChloride, Self::ZincBlende];

    /// Energy of one pair of ions at nearest-neighbour distance 1, less its sign. Y. Sakamoto, J. Chem. Phys. 28 (1958) 164, with later digits.
    pub fn madelung(self) -> f64 {
        match self {
            Self::RockSalt => 1.747_564_594_633_182_2,
            Self::CaesiumChloride => 1.762_674_773_070_988_4,
            Self::ZincBlende => 1.638_055_053_388_789_4,
        }
    }

    /// Distance of nearest neighbours in units of the lattice constant.
    pub fn neighbour(self) -> f64 {
        match self {
            Self::RockSalt => 0.5,
            Self::CaesiumChloride => 0.75_f64.sqrt(),
            Self::ZincBlende => 0.1875_f64.sqrt(),
        }
    }

    /// Fractional coordinates and charges of one conventional cell: 8, 2 or 8 ions.
    fn basis(self) -> Vec<([f64; 3], f64)> {
        let centred = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
        let (cations, anions): (&[[f64; 3]], [f64; 3]) = match self {
            Self::RockSalt => (&centred, [0.5, 0.0, 0.0]),
            Self::CaesiumChloride => (&centred[..1], [0.5; 3]),
            Self::ZincBlende => (&centred, [0.25; 3]),
        };
        let anion = |x: &[f64; 3]| ([0, 1, 2].map(|a| x[a] + anions[a]), -1.0);
        cations.iter().map(|&x| (x, 1.0)).chain(cations.iter().map(anion)).collect()
    }
}

pub struct Crystal {
    pub cell: [[f64; 3]; 3],
    pub positions: Vec<[f64; 3]>,
    pub charges: Vec<f64>,
    /// Of the whole cell.
    pub energy: f64,
    /// |φ| at every ion; the field is 0. The potential has the sign opposite to the ion's charge.
    pub potential: f64,
}

/// n³ conventional cells (charges ±1), the whole crystal turned by `rotation`. The corner ion sits at `origin` of the
/// cell, in units of the lattice constant, so that ions need not lie on faces of boxes.
pub fn crystal(structure: Structure, n: usize, constant: f64, origin: [f64; 3], rotation: &Rotation) -> Crystal {
    let basis = structure.basis();
    let (mut positions, mut charges) = (Vec::new(), Vec::new());
    for corner in (0..n * n * n).map(|i| [i / (n * n), i / n % n, i % n]) {
        for (x, q) in &basis {
            let r = [0, 1, 2].map(|a| constant * (corner[a] as f64 + origin[a] + x[a]));
            positions.push(turn(rotation, r));
            charges.push(*q);
        }
    }
    let potential = structure.madelung() / (structure.neighbour() * constant);
    let energy = -0.5 * potential * charges.len() as f64;
    Crystal { cell: rotation.map(|row| row.map(|x| x * constant * n as f64)), positions, charges, energy, potential }
}

/// Point charges; the three atoms of a water molecule are consecutive and excluded from each other.
pub struct Water {
    pub positions: Vec<[f64; 3]>,
    pub charges: Vec<f64>,
    pub exclusions: Exclusions,
}

/// Atoms per nm³ of water.
const DENSITY: f64 = 100.0;

/// Radius of a droplet of `atoms` atoms at the density of water, nm.
pub fn droplet_radius(atoms: usize) -> f64 {
    (3.0 * atoms as f64 / (4.0 * std::f64::consts::PI * DENSITY)).cbrt()
}

/// About 50 000 charges: a droplet of `molecules` molecules around the origin, every 50th of them replaced by an ion, as many Na⁺ as Cl⁻.
/// Lengths in nm. Neutral to rounding.
pub fn salt_droplet(molecules: usize, seed: u64) -> Water {
    let mut random = Random(seed);
    let sites = sphere_of_sites(molecules, &mut random);
    let ions = molecules / 100 * 2;
    build(
        sites.into_iter().enumerate().map(|(i, x)| {
            let ion = (i % 50 == 25 && i / 50 < ions).then_some(if i / 50 % 2 == 0 { 1.0 } else { -1.0 });
            (x, ion)
        }),
        &mut random,
    )
}

/// 75 droplets of 482 or 483 molecules, 108 663 charges in all, at random places in a cube of edge 136 nm; they do not touch each other or
/// its faces.
pub fn aerosol(seed: u64) -> Water {
    const DROPLETS: usize = 75;
    const EDGE: f64 = 136.0;
    const MOLECULES: usize = 108_663 / 3;
    let mut random = Random(seed);
    let radius = droplet_radius(3 * MOLECULES / DROPLETS) + 0.5;
    let mut centres: Vec<[f64; 3]> = Vec::new();
    while centres.len() < DROPLETS {
        let centre = [0; 3].map(|_| radius + (EDGE - 2.0 * radius) * random.uniform());
        let apart = |c: &[f64; 3]| (0..3).map(|a| (c[a] - centre[a]).powi(2)).sum::<f64>() > (2.0 * radius).powi(2);
        if centres.iter().all(apart) {
            centres.push(centre);
        }
    }
    let mut sites = Vec::new();
    for (i, centre) in centres.iter().enumerate() {
        let molecules = MOLECULES / DROPLETS + usize::from(i < MOLECULES % DROPLETS);
        let droplet = sphere_of_sites(molecules, &mut random);
        sites.extend(droplet.into_iter().map(|x| ([0, 1, 2].map(|a| centre[a] + x[a]), None)));
    }
    build(sites.into_iter(), &mut random)
}

/// The `n` sites nearest to the origin of a cubic lattice with the density of water molecules, which lies and is turned at random; each
/// site moved by up to 0.02 nm along each axis.
fn sphere_of_sites(n: usize, random: &mut Random) -> Vec<[f64; 3]> {
    let spacing = (3.0 / DENSITY).cbrt();
    let turned = rotation([0; 4].map(|_| random.uniform() - 0.5));
    let origin = [0; 3].map(|_| random.uniform());
    let m = (droplet_radius(3 * n) / spacing) as i64 + 3;
    let mut sites = Vec::new();
    for x in -m..=m {
        for y in -m..=m {
            for z in -m..=m {
                let index = [x, y, z];
                let site = [0, 1, 2].map(|a| spacing * (index[a] as f64 + origin[a]) + 0.04 * (random.uniform() - 0.5));
                sites.push(turn(&turned, site));
            }
        }
    }
    let square = |x: &[f64; 3]| x.iter().map(|x| x * x).sum::<f64>();
    sites.sort_by(|a, b| square(a).total_cmp(&square(b)));
    sites.truncate(n);
    sites
}

/// TIP3P water (J. Chem. Phys. 79 (1983) 926) turned at random, or an ion of the charge given, at each site.
fn build(sites: impl Iterator<Item = ([f64; 3], Option<f64>)>, random: &mut Random) -> Water {
    const BOND: f64 = 0.09572;
    const HALF_ANGLE: f64 = 0.5 * 104.52 * std::f64::consts::PI / 180.0;
    let (sin, cos) = HALF_ANGLE.sin_cos();
    let hydrogens = [[BOND * sin, BOND * cos, 0.0], [-BOND * sin, BOND * cos, 0.0]];
    let (mut positions, mut charges, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for (site, ion) in sites {
        let first = positions.len() as u32;
        positions.push(site);
        if let Some(q) = ion {
            charges.push(q);
            continue;
        }
        let turned = rotation([0; 4].map(|_| random.uniform() - 0.5));
        let place = |h: [f64; 3]| turn(&turned, h);
        positions.extend(hydrogens.map(place).map(|h| [0, 1, 2].map(|a| site[a] + h[a])));
        charges.extend([-0.834, 0.417, 0.417]);
        pairs.extend([[first, first + 1], [first, first + 2], [first + 1, first + 2]]);
    }
    let exclusions = Exclusions::from_pairs(positions.len(), pairs).unwrap();
    Water { positions, charges, exclusions }
}
