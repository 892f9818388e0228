//! Bonded terms, 1-4 pairs and position restraints on a device, all in one launch: twin of [`crate::bonded`],
//! [`crate::pairs`] and [`crate::restraints`].
//!
//! Coulomb of 1-4 pairs takes the charges from the device, where titration changes them, and adds its potential to an array
//! of its own (kJ/mol/e), so that λ feels it. Molecules must be whole.

use kernels::device::{Arg, Buffer, Device, DeviceError, Kernel, Source, Stream, args};
use nalgebra::Vector3;

use super::{DeviceTermError, EnergyTerm};
use crate::bonded::cmap::CmapSpline;
use crate::topology::Topology;
use crate::units::COULOMB;

/// Threads of a block.
const THREADS: usize = 128;

/// Kinds of terms, in the order of the kernel.
const KINDS: usize = 10;

/// Terms of one kind.
struct Kind {
    slot: EnergyTerm,
    /// One row per term.
    atoms: Vec<Vec<u32>>,
    parameters: Vec<Vec<f64>>,
}

impl Kind {
    fn new<const A: usize, const P: usize>(
        slot: EnergyTerm,
        terms: impl Iterator<Item = ([u32; A], [f64; P])>,
    ) -> Self {
        let (atoms, parameters) = terms.map(|(a, p)| (a.to_vec(), p.to_vec())).unzip();
        Self { slot, atoms, parameters }
    }
}

/// Everything that acts along chemical bonds, on a device.
pub struct DeviceBonded {
    blocks: u32,
    /// `Layout` of the kernel.
    layout: [i32; 64],
    indices: Buffer<u32>,
    parameters: Buffer<f64>,
    surfaces: Buffer<f64>,
    restrained: Vec<u32>,
    references: Buffer<f64>,
    status: Buffer<u32>,
    forces: Kernel,
    energy: Kernel,
}

impl DeviceBonded {
    /// All bonded terms, 1-4 pairs and position restraints of `top`; `reference` (nm): positions that restraints hold, of
    /// every atom, or none without restraints; `periodic`: restraints act on the nearest image.
    ///
    /// # Errors
    /// Too few reference positions; those of the device.
    pub fn new(
        device: &Device,
        top: &Topology,
        reference: &[Vector3<f64>],
        periodic: bool,
    ) -> Result<Self, DeviceTermError> {
        let restrained: Vec<u32> = top.position_restraints.iter().map(|r| r.atom).collect();
        let references = references(&restrained, reference)?;
        let (surfaces, places) = surfaces(top);
        let kinds = kinds(top, &places);
        let (mut indices, mut parameters) = (Vec::new(), Vec::new());
        let (mut layout, mut blocks) = ([0; 64], 0);
        for (k, kind) in kinds.iter().enumerate() {
            let count = kind.atoms.len();
            layout[k] = blocks;
            for (at, value) in [count, indices.len(), parameters.len(), kind.slot as usize].into_iter().enumerate() {
                layout[KINDS + 1 + at * KINDS + k] = value as i32;
            }
            indices.extend(columns(&kind.atoms));
            parameters.extend(columns(&kind.parameters));
            blocks += count.div_ceil(THREADS) as i32;
        }
        layout[KINDS] = blocks;
        let module = device.compile(&source(periodic))?;
        Ok(Self {
            blocks: blocks as u32,
            layout,
            indices: device.upload(&indices)?,
            parameters: device.upload(&parameters)?,
            surfaces: device.upload(&surfaces)?,
            restrained,
            references: device.upload(&references)?,
            status: device.zeros(1)?,
            forces: module.kernel("bonded")?,
            energy: module.kernel("bonded_energy")?,
        })
    }

    /// Adds forces (3N) at `x` (3N, nm) and charges `q` (N, e), the potential of 1-4 partners (kJ/mol/e, in the units of
    /// forces) to `potential` (N) and, if `with_energy`, energies and virial to the slots of `energies`. `cell`: edges, nm.
    ///
    /// # Errors
    /// Those of the device.
    #[allow(clippy::too_many_arguments)] // what the kernel reads and writes
    pub fn enqueue_forces(
        &self,
        stream: &Stream,
        x: &Buffer<f64>,
        q: &Buffer<f64>,
        cell: &Buffer<f64>,
        forces: &Buffer<i64>,
        potential: &Buffer<i64>,
        energies: &Buffer<i64>,
        with_energy: bool,
    ) -> Result<(), DeviceError> {
        let (indices, parameters, layout) = (&self.indices, &self.parameters, Arg::value(&self.layout));
        let (surfaces, references, status) = (&self.surfaces, &self.references, &self.status);
        let (blocks, threads) = (self.blocks, THREADS as u32);
        if with_energy {
            let args = args![
                x, q, indices, parameters, surfaces, references, cell, forces, potential, status, energies, layout
            ];
            stream.launch(&self.energy, blocks, threads, 0, args)
        } else {
            let args = args![x, q, indices, parameters, surfaces, references, cell, forces, potential, status, layout];
            stream.launch(&self.forces, blocks, threads, 0, args)
        }
    }

    /// Number of terms' blocks; without any, nothing is launched.
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Positions that restraints hold (nm), three numbers per restraint: a barostat scales them together with the cell.
    pub fn references(&self) -> &Buffer<f64> {
        &self.references
    }

    /// Atoms of [`DeviceBonded::references`].
    pub fn restrained(&self) -> &[u32] {
        &self.restrained
    }

    /// Puts the positions (nm, of every atom) that restraints hold.
    ///
    /// # Errors
    /// Too few of them; those of the device.
    pub fn set_reference(&self, stream: &Stream, reference: &[Vector3<f64>]) -> Result<(), DeviceTermError> {
        Ok(self.references.write(stream, &references(&self.restrained, reference)?)?)
    }

    /// Whether a force was ever beyond the range of fixed-point numbers: the run has failed. Waits for the stream.
    ///
    /// # Errors
    /// Those of the device.
    pub fn saturated(&self, stream: &Stream) -> Result<bool, DeviceError> {
        Ok(self.status.read(stream)? != [0])
    }
}

fn source(periodic: bool) -> Source {
    Source::new("bonded", include_str!("bonded.cu"))
        .header(include_str!("forces.cuh"))
        .header(include_str!("geometry.cuh"))
        .define("REAL", "double")
        .define("PERIODIC", i32::from(periodic))
        .define("COULOMB", format!("{COULOMB:e}"))
        .define("SLOT_VIRIAL", EnergyTerm::Virial as usize)
        .define("SLOT_COULOMB_14", EnergyTerm::Coulomb14 as usize)
}

/// Reference positions of the restrained atoms.
fn references(restrained: &[u32], reference: &[Vector3<f64>]) -> Result<Vec<f64>, DeviceTermError> {
    let of = |&atom: &u32| {
        let expected = atom as usize + 1;
        reference.get(atom as usize).ok_or(DeviceTermError::References { expected, found: reference.len() })
    };
    let rows: Vec<&Vector3<f64>> = restrained.iter().map(of).collect::<Result<_, _>>()?;
    Ok(rows.into_iter().flat_map(|r| [r.x, r.y, r.z]).collect())
}

/// Nodes of the surfaces of all correction maps, and where each begins.
fn surfaces(top: &Topology) -> (Vec<f64>, Vec<u32>) {
    let (mut nodes, mut places) = (Vec::new(), Vec::new());
    for grid in &top.cmap_grids {
        places.push(nodes.len() as u32);
        nodes.extend(CmapSpline::new(grid).nodes().iter().flatten());
    }
    (nodes, places)
}

/// All terms by kind; numbers of each term in the order of the kernel.
fn kinds(top: &Topology, surfaces: &[u32]) -> [Kind; KINDS] {
    use EnergyTerm as E;
    let periodic = |improper: bool| {
        let of_kind = top.propers.iter().filter(move |p| p.improper == improper);
        of_kind.map(|p| (p.atoms, [p.phi0, p.k, f64::from(p.multiplicity)]))
    };
    let maps = top.cmaps.iter().map(|c| {
        let ([a, b, c0, d, e], grid) = (c.atoms, c.grid as usize);
        ([a, b, c0, d, e, surfaces[grid], top.cmap_grids[grid].size as u32], [])
    });
    [
        Kind::new(E::Bonds, top.bonds.iter().map(|b| (b.atoms, [b.r0, b.k]))),
        Kind::new(E::Angles, top.angles.iter().map(|a| (a.atoms, [a.theta0, a.k]))),
        Kind::new(E::UreyBradley, top.urey_bradley.iter().map(|u| (u.atoms, [u.theta0, u.k, u.r13, u.k13]))),
        Kind::new(E::ProperDihedrals, periodic(false)),
        Kind::new(E::ImproperDihedrals, periodic(true)),
        Kind::new(E::ImproperDihedrals, top.harmonic_impropers.iter().map(|i| (i.atoms, [i.xi0, i.k]))),
        Kind::new(E::RyckaertBellemans, top.ryckaert_bellemans.iter().map(|r| (r.atoms, r.c))),
        Kind::new(E::Cmap, maps),
        Kind::new(E::LennardJones14, top.pairs.iter().map(|p| (p.atoms, [p.c6, p.c12, p.coulomb_scale]))),
        Kind::new(E::Restraints, top.position_restraints.iter().map(|r| ([r.atom], [r.k.x, r.k.y, r.k.z]))),
    ]
}

/// The columns of a list of rows, one after the other.
fn columns<T: Copy>(rows: &[Vec<T>]) -> impl Iterator<Item = T> + '_ {
    let width = rows.first().map_or(0, Vec::len);
    (0..width).flat_map(|m| rows.iter().map(move |row| row[m]))
}

#[cfg(test)]
mod tests;
