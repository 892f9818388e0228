//! The units of work of a step on a GPU: rigid waters, stars of fixed bonds, other groups, free atoms; tables for `integrate.cu`.
//!
//! A star is an atom with up to four fixed bonds to atoms that have no other (XH, XH₂, XH₃ …): a thread solves it in registers. Stars of a block have
//! as many bonds each, so that its threads go the same way, and those of most bonds come first.
//! Any other group takes a warp: its bonds are sorted into levels, level(k) = 1 + max level of the bonds before k that share
//! an atom with it. Bonds of one level are independent; sweeps over levels give what sweeps over bonds in their order give.
//! Blocks of waters that follow each other in memory are marked, because the kernel loads them contiguously.

use crate::motion::constraints::shake::BondGroup;
use crate::motion::constraints::{Constraints, Group};
use kernels::device::{Buffer, Device, DeviceError, In, Out, arguments, structure};
use std::ops::Range;

/// Threads of a block.
pub const THREADS: usize = 128;

/// Most bonds of a star.
pub const LEAVES: usize = 4;

/// Most rounds of Newton's method for a star. Steps that make sense take up to seven at the tightest tolerance; what has not ended by then is
/// solved bond after bond.
pub const MAX_ROUNDS: usize = 16;

/// Units of one block: fewer than threads, so that they come to more multiprocessors. Where these have two units for double precision a block
/// takes as long as all its warps one after the other.
const WATERS_OF_BLOCK: usize = THREADS / 2;
const STARS_OF_BLOCK: usize = 32;
const GROUPS_OF_BLOCK: usize = 1;

/// Fewest waters in a row that are worth blocks of their own.
const ROW: usize = 32;

const WATERS: u32 = 0;
const STARS: u32 = 1;
const GROUPS: u32 = 2;
const FREE: u32 = 3;

/// Stands for the first atom of a block whose atoms do not follow each other.
const SCATTERED: u32 = u32::MAX;

structure! {
    /// One kind of rigid water.
    pub struct Triangle {
        /// Mass of the oxygen, u.
        pub mass_o: f64,
        /// Mass of a hydrogen, u.
        pub mass_h: f64,
        /// Distance of the oxygen from the centre of mass, nm.
        pub ra: f64,
        /// Distance of the middle of H–H from the centre of mass, nm.
        pub rb: f64,
        /// Half of H–H, nm.
        pub rc: f64,
        /// 1/mass of the oxygen, 1/u.
        pub per_o: f64,
        /// 1/mass of a hydrogen, 1/u.
        pub per_h: f64,
        /// 1/mass of the molecule, 1/u.
        pub per_mass: f64,
        /// Part of a hydrogen in the mass of the molecule.
        pub share: f64,
        /// 1/ra, 1/nm.
        pub per_ra: f64,
        /// 1/(2 rc), 1/nm.
        pub per_2rc: f64,
    }
}

arguments! {
    /// Tables of the units, parts of the arguments of `leap` and `rescale`; see [`Units`].
    pub(super) struct UnitTables<'a> {
        blocks: In<'a, [u32; 4]>,
        waters: In<'a, [u32; 4]>,
        kinds: In<'a, Triangle>,
        stars: In<'a, u32>,
        star_numbers: In<'a, f64>,
        groups: In<'a, [u32; 4]>,
        group_atoms: In<'a, u32>,
        level_starts: In<'a, u32>,
        ends: In<'a, u32>,
        wanted: In<'a, f64>,
        weights: In<'a, f64>,
        /// Positions of the atoms of groups, after and before the step, relative to the first of each group; with Langevin dynamics also what the
        /// bath changes, and three numbers for each bond.
        scratch: Out<'a, f64>,
        free_atoms: In<'a, u32>,
        n_blocks: i32,
        n_stars: i32,
        n_slots: i32,
        n_bonds: i32,
    }
}

impl Triangle {
    /// With reciprocals, so that no thread divides.
    fn new(mass_o: f64, mass_h: f64, [ra, rb, rc]: [f64; 3]) -> Self {
        let mass = mass_o + 2.0 * mass_h;
        let (per_o, per_h, per_mass, share) = (1.0 / mass_o, 1.0 / mass_h, 1.0 / mass, mass_h / mass);
        Self { mass_o, mass_h, ra, rb, rc, per_o, per_h, per_mass, share, per_ra: 1.0 / ra, per_2rc: 0.5 / rc }
    }
}

/// Lists of units, as the kernels read them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units {
    /// For each block of threads: the kind of its units, the first unit, their number, and the first atom if they are waters in a row, the
    /// number of bonds of each if they are stars.
    pub blocks: Vec<[u32; 4]>,
    /// The three atoms of each water, O first, and its kind.
    pub waters: Vec<[u32; 4]>,
    /// The kinds of water.
    pub kinds: Vec<Triangle>,
    /// `[row][star]`: the centre, the number of bonds, the other ends.
    pub stars: Vec<u32>,
    /// `[row][star]`: 1/m of the centre, 1/m of the other ends, squared lengths of the bonds.
    pub star_numbers: Vec<f64>,
    /// Number of stars.
    pub n_stars: usize,
    /// For each other group: its first slot, the number of slots, its first level, the number of levels.
    pub groups: Vec<[u32; 4]>,
    /// The atom of each slot.
    pub group_atoms: Vec<u32>,
    /// 1/m of each slot.
    pub weights: Vec<f64>,
    /// First bond of each level, and the number of bonds.
    pub level_starts: Vec<u32>,
    /// The two slots of each bond.
    pub ends: Vec<[u32; 2]>,
    /// The squared length of each bond, nm².
    pub wanted: Vec<f64>,
    /// Atoms without constraints.
    pub free: Vec<u32>,
}

impl Units {
    /// Units of atoms of `masses` (u); what has no mass, a virtual site, is in none. Slow units come first, so that the launch does not wait for
    /// them at its end.
    pub fn new(masses: &[f64], constraints: &Constraints) -> Self {
        let mut units = Self { level_starts: vec![0], ..Self::default() };
        let mut free: Vec<bool> = masses.iter().map(|&mass| mass > 0.0).collect();
        let mut stars: Vec<Star> = Vec::new();
        for group in constraints.all() {
            group.atoms().iter().for_each(|&atom| free[atom as usize] = false);
            match group {
                Group::Water { atoms: [o, h1, h2], kind } => units.waters.push([*o, *h1, *h2, *kind]),
                Group::Bonds(group) => match Star::new(group) {
                    Some(star) => stars.push(star),
                    None => units.add_group(group),
                },
            }
        }
        units.free = (0..masses.len() as u32).filter(|&atom| free[atom as usize]).collect();
        for kind in constraints.kinds() {
            units.kinds.push(Triangle::new(kind.mass_o, kind.mass_h, kind.radii()));
        }
        stars.sort_by_key(|star| std::cmp::Reverse(star.bonds()));
        units.n_stars = stars.len();
        for row in 0..2 + LEAVES {
            units.stars.extend(stars.iter().map(|star| star.atoms[row]));
        }
        for row in 0..1 + 2 * LEAVES {
            units.star_numbers.extend(stars.iter().map(|star| star.numbers[row]));
        }
        units.add_blocks(GROUPS, 0..units.groups.len(), GROUPS_OF_BLOCK, SCATTERED);
        let mut first = 0;
        for same in stars.chunk_by(|a, b| a.bonds() == b.bonds()) {
            units.add_blocks(STARS, first..first + same.len(), STARS_OF_BLOCK, same[0].bonds());
            first += same.len();
        }
        units.add_waters();
        units.add_blocks(FREE, 0..units.free.len(), THREADS, SCATTERED);
        units
    }

    fn add_blocks(&mut self, kind: u32, units: Range<usize>, size: usize, what: u32) {
        let end = units.end;
        let blocks = units.step_by(size).map(|first| [kind, first as u32, size.min(end - first) as u32, what]);
        self.blocks.extend(blocks);
    }

    /// Gives long rows of waters blocks of their own, then puts all other waters into blocks.
    fn add_waters(&mut self) {
        let follows = |a: &[u32; 4], b: &[u32; 4]| b[0] == a[0] + 3;
        let in_order = |w: &[u32; 4]| w[1] == w[0] + 1 && w[2] == w[0] + 2;
        let is_row = |row: &[[u32; 4]]| row.len() >= ROW && row.iter().all(in_order);
        let (rows, others): (Vec<_>, Vec<_>) = self.waters.chunk_by(follows).partition(|row| is_row(row));
        let mut waters: Vec<[u32; 4]> = Vec::with_capacity(self.waters.len());
        for row in rows {
            for block in row.chunks(WATERS_OF_BLOCK) {
                self.blocks.push([WATERS, waters.len() as u32, block.len() as u32, block[0][0]]);
                waters.extend_from_slice(block);
            }
        }
        let others = others.concat();
        for block in others.chunks(WATERS_OF_BLOCK) {
            self.blocks.push([WATERS, waters.len() as u32, block.len() as u32, SCATTERED]);
            waters.extend_from_slice(block);
        }
        self.waters = waters;
    }

    fn add_group(&mut self, group: &BondGroup) {
        let first = self.group_atoms.len() as u32;
        let mut level_of_atom = vec![0; group.atoms.len()];
        let mut bonds: Vec<(usize, usize)> = Vec::with_capacity(group.bonds.len());
        for (k, bond) in group.bonds.iter().enumerate() {
            let [i, j] = bond.ends.map(|end| end as usize);
            let level = level_of_atom[i].max(level_of_atom[j]);
            (level_of_atom[i], level_of_atom[j]) = (level + 1, level + 1);
            bonds.push((level, k));
        }
        bonds.sort_unstable();
        let first_level = self.level_starts.len() as u32 - 1;
        for level in bonds.chunk_by(|a, b| a.0 == b.0) {
            for &(_, k) in level {
                let bond = &group.bonds[k];
                self.ends.push(bond.ends.map(|end| first + end));
                self.wanted.push(bond.length * bond.length);
            }
            self.level_starts.push(self.ends.len() as u32);
        }
        let levels = self.level_starts.len() as u32 - 1 - first_level;
        self.groups.push([first, group.atoms.len() as u32, first_level, levels]);
        self.group_atoms.extend_from_slice(&group.atoms);
        self.weights.extend_from_slice(&group.inverse_masses);
    }
}

/// What the tables hold of one star.
struct Star {
    atoms: [u32; 2 + LEAVES],
    numbers: [f64; 1 + 2 * LEAVES],
}

impl Star {
    /// How many there are.
    fn bonds(&self) -> u32 {
        self.atoms[1]
    }

    /// The group as a star; `None` if it has another shape.
    fn new(group: &BondGroup) -> Option<Self> {
        let n = group.bonds.len();
        if n > LEAVES || group.atoms.len() != n + 1 {
            return None;
        }
        let at = |end: u32, bond: usize| group.bonds[bond].ends.contains(&end);
        let centre = group.bonds[0].ends.into_iter().find(|&end| (0..n).all(|bond| at(end, bond)))?;
        let weight = |end: u32| group.inverse_masses[end as usize];
        let mut star = Self { atoms: [0; 2 + LEAVES], numbers: [0.0; 1 + 2 * LEAVES] };
        star.atoms[..2].copy_from_slice(&[group.atoms[centre as usize], n as u32]);
        star.numbers[0] = weight(centre);
        for (k, bond) in group.bonds.iter().enumerate() {
            let leaf = if bond.ends[0] == centre { bond.ends[1] } else { bond.ends[0] };
            star.atoms[2 + k] = group.atoms[leaf as usize];
            star.numbers[1 + k] = weight(leaf);
            star.numbers[1 + LEAVES + k] = bond.length * bond.length;
        }
        Some(star)
    }
}

/// Buffers of [`Units`].
pub(super) struct UnitBuffers {
    pub n_blocks: u32,
    pub n_stars: i32,
    pub n_slots: i32,
    pub n_bonds: i32,
    pub blocks: Buffer<[u32; 4]>,
    pub waters: Buffer<[u32; 4]>,
    pub kinds: Buffer<Triangle>,
    pub stars: Buffer<u32>,
    pub star_numbers: Buffer<f64>,
    pub groups: Buffer<[u32; 4]>,
    pub group_atoms: Buffer<u32>,
    pub level_starts: Buffer<u32>,
    pub ends: Buffer<u32>,
    pub wanted: Buffer<f64>,
    pub weights: Buffer<f64>,
    pub scratch: Buffer<f64>,
    pub free: Buffer<u32>,
}

impl UnitBuffers {
    pub fn new(device: &Device, units: &Units, langevin: bool) -> Result<Self, DeviceError> {
        let (slots, bonds) = (units.group_atoms.len(), units.ends.len());
        Ok(Self {
            n_blocks: units.blocks.len() as u32,
            n_stars: units.n_stars as i32,
            n_slots: slots as i32,
            n_bonds: bonds as i32,
            blocks: device.upload(&units.blocks)?,
            waters: device.upload(&units.waters)?,
            kinds: device.upload(&units.kinds)?,
            stars: device.upload(&units.stars)?,
            star_numbers: device.upload(&units.star_numbers)?,
            groups: device.upload(&units.groups)?,
            group_atoms: device.upload(&units.group_atoms)?,
            level_starts: device.upload(&units.level_starts)?,
            ends: device.upload(units.ends.as_flattened())?,
            wanted: device.upload(&units.wanted)?,
            weights: device.upload(&units.weights)?,
            scratch: device.zeros(if langevin { 9 * slots + 3 * bonds } else { 6 * slots })?,
            free: device.upload(&units.free)?,
        })
    }

    /// As the kernels take them.
    pub fn tables(&self) -> UnitTables<'_> {
        UnitTables {
            blocks: self.blocks.arg(),
            waters: self.waters.arg(),
            kinds: self.kinds.arg(),
            stars: self.stars.arg(),
            star_numbers: self.star_numbers.arg(),
            groups: self.groups.arg(),
            group_atoms: self.group_atoms.arg(),
            level_starts: self.level_starts.arg(),
            ends: self.ends.arg(),
            wanted: self.wanted.arg(),
            weights: self.weights.arg(),
            scratch: self.scratch.arg(),
            free_atoms: self.free.arg(),
            n_blocks: self.n_blocks as i32,
            n_stars: self.n_stars,
            n_slots: self.n_slots,
            n_bonds: self.n_bonds,
        }
    }
}
