//! Bonded terms, 1-4 pairs and position restraints on a device, all in one launch: twin of [`crate::bonded`],
//! [`crate::pairs`] and [`crate::restraints`].
//!
//! Coulomb of 1-4 pairs takes the charges from the device, where titration changes them, and adds its potential to an array
//! of its own (kJ/mol/e), so that λ feels it. Molecules must be whole. The same kernel, compiled anew, weighs the terms that the forms of
//! titratable sites do not share ([`super::DeviceVariants`]).

use bytemuck::Zeroable;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments, structure};
use nalgebra::Vector3;

use super::{DeviceTermError, EnergyTerm, Sums};
use crate::bonded::cmap::CmapSpline;
use crate::cell::Cell;
use crate::topology::{Cmap, PositionRestraint, Topology};
use crate::units::COULOMB;

/// Threads of a block: few, so that a protein's terms come to many multiprocessors.
const THREADS: usize = 64;

/// Number of kinds of terms.
pub(super) const KINDS: usize = TermKind::ALL.len();

/// A kind of terms, each with an expression of its own.
#[derive(Clone, Copy)]
enum TermKind {
    Bond,
    Angle,
    UreyBradley,
    Proper,
    Improper,
    HarmonicImproper,
    RyckaertBellemans,
    Cmap,
    Pair14,
    Restraint,
}

impl TermKind {
    /// All kinds by the names that the kernel has for them; the number of each is its place.
    const ALL: [(&str, Self); 10] = [
        ("BOND", Self::Bond),
        ("ANGLE", Self::Angle),
        ("UREY_BRADLEY", Self::UreyBradley),
        ("PROPER", Self::Proper),
        ("IMPROPER", Self::Improper),
        ("HARMONIC_IMPROPER", Self::HarmonicImproper),
        ("RYCKAERT_BELLEMANS", Self::RyckaertBellemans),
        ("CMAP", Self::Cmap),
        ("PAIR_14", Self::Pair14),
        ("RESTRAINT", Self::Restraint),
    ];
}

structure! {
    /// Where the terms of each kind are.
    struct TermLayout {
        /// First block of each kind, and the number of blocks.
        first_block: [i32; KINDS + 1],
        /// Number of terms.
        count: [i32; KINDS],
        /// First of the atoms.
        atoms: [i32; KINDS],
        /// First of the parameters.
        parameters: [i32; KINDS],
        /// Slot of the energy.
        slot: [i32; KINDS],
    }
}

arguments! {
    /// Arguments of `bonded` and `bonded_energy`.
    struct BondedArgs<'a> {
        x: In<'a, f64>,
        q: In<'a, f64>,
        indices: In<'a, i32>,
        parameters: In<'a, f64>,
        surfaces: In<'a, f64>,
        references: In<'a, f64>,
        /// Force constants of restraints along x, of all of them, then y, then z.
        stiffness: In<'a, f64>,
        edges: In<'a, f64>,
        forces: Out<'a, i64>,
        potential: Out<'a, i64>,
        energies: Out<'a, i64>,
        /// 1 once a force was beyond the range of fixed-point numbers.
        status: Out<'a, u32>,
        /// Weights of all forms; only of terms that are weighted, as the next.
        weights: In<'a, f64>,
        /// ∂V/∂λ_α, in the units of forces per nm.
        by_weight: Out<'a, i64>,
        layout: TermLayout,
    }
}

/// Terms of one kind.
pub(super) struct Kind {
    slot: EnergyTerm,
    /// One row per term; the numbers of two weights stand before the atoms of terms that are weighted.
    pub atoms: Vec<Vec<u32>>,
    pub parameters: Vec<Vec<f64>>,
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
    /// Atoms of the system.
    n_atoms: usize,
    layout: TermLayout,
    indices: Buffer<i32>,
    parameters: Buffer<f64>,
    surfaces: Buffer<f64>,
    restraints: Vec<PositionRestraint>,
    restrained: Vec<u32>,
    references: Buffer<f64>,
    stiffness: Buffer<f64>,
    status: Buffer<u32>,
    forces: Kernel<BondedArgs<'static>>,
    energy: Kernel<BondedArgs<'static>>,
}

impl DeviceBonded {
    /// All bonded terms, 1-4 pairs and position restraints of `top`; `reference` (nm): positions that restraints hold, of
    /// every atom, or none without restraints; `cell`: restraints act on the nearest image if it is periodic, and its angles stay. Restraints that
    /// fade are whole until [`Self::set_part`].
    ///
    /// # Errors
    /// Too few reference positions; those of the device.
    pub fn new(
        device: &Device,
        top: &Topology,
        reference: &[Vector3<f64>],
        cell: Cell,
    ) -> Result<Self, DeviceTermError> {
        let restrained: Vec<u32> = top.position_restraints.iter().map(|r| r.atom).collect();
        let references = references(&restrained, reference)?;
        let (surfaces, places) = surfaces(top);
        Ok(Self {
            n_atoms: top.n_atoms(),
            restrained,
            references: device.upload(&references)?,
            stiffness: device.upload(&stiffness(&top.position_restraints, 1.0))?,
            restraints: top.position_restraints.clone(),
            ..Self::of_kinds(device, &kinds(top, &places), &surfaces, &source(cell, false))?
        })
    }

    /// Terms whose rows name two weights.
    ///
    /// # Errors
    /// Those of the device.
    pub(super) fn weighted(device: &Device, kinds: &[Kind; KINDS]) -> Result<Self, DeviceError> {
        Self::of_kinds(device, kinds, &[], &source(Cell::Open, true))
    }

    fn of_kinds(
        device: &Device,
        kinds: &[Kind; KINDS],
        surfaces: &[f64],
        source: &Source,
    ) -> Result<Self, DeviceError> {
        let (mut indices, mut parameters) = (Vec::new(), Vec::new());
        let mut layout = TermLayout::zeroed();
        for (k, kind) in kinds.iter().enumerate() {
            let count = kind.atoms.len();
            layout.first_block[k + 1] = layout.first_block[k] + count.div_ceil(THREADS) as i32;
            layout.count[k] = count as i32;
            layout.atoms[k] = indices.len() as i32;
            layout.parameters[k] = parameters.len() as i32;
            layout.slot[k] = kind.slot as i32;
            indices.extend(columns(&kind.atoms).map(|index| index as i32));
            parameters.extend(columns(&kind.parameters));
        }
        let module = device.compile(source)?;
        Ok(Self {
            n_atoms: 0,
            layout,
            indices: device.upload(&indices)?,
            parameters: device.upload(&parameters)?,
            surfaces: device.upload(surfaces)?,
            restraints: Vec::new(),
            restrained: Vec::new(),
            references: device.upload(&[])?,
            stiffness: device.upload(&[])?,
            status: device.zeros(1)?,
            forces: module.kernel("bonded")?,
            energy: module.kernel("bonded_energy")?,
        })
    }

    /// Adds to `sums` at `x` (3N, nm) and charges `q` (N, e), and the potential of 1-4 partners (kJ/mol/e, in the units of forces) to `potential` (N).
    /// `cell`: edges, nm ([`Cell::packed`]).
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is shorter than that; what the driver says against the launch.
    pub fn enqueue_forces(
        &self,
        stream: &Stream,
        x: &Buffer<f64>,
        q: &Buffer<f64>,
        cell: &Buffer<f64>,
        potential: &Buffer<i64>,
        sums: Sums<'_>,
    ) -> Result<(), DeviceError> {
        x.holds(3 * self.n_atoms)?;
        q.holds(self.n_atoms)?;
        cell.holds(6)?;
        potential.holds(self.n_atoms)?;
        sums.hold(self.n_atoms)?;
        let Sums { forces, energies, with_energy } = sums;
        let arguments = BondedArgs {
            x: x.arg(),
            q: q.arg(),
            indices: self.indices.arg(),
            parameters: self.parameters.arg(),
            surfaces: self.surfaces.arg(),
            references: self.references.arg(),
            stiffness: self.stiffness.arg(),
            edges: cell.arg(),
            forces: forces.arg(),
            potential: potential.arg(),
            energies: energies.arg(),
            status: self.status.arg(),
            weights: In::none(),
            by_weight: Out::none(),
            layout: self.layout,
        };
        self.launch(stream, arguments, with_energy)
    }

    /// The same of [`Self::weighted`] terms at the `weights` of all forms; adds ∂V/∂λ_α to `by_weight`.
    pub(super) fn enqueue_weighted(
        &self,
        stream: &Stream,
        x: &Buffer<f64>,
        weights: &Buffer<f64>,
        by_weight: &Buffer<i64>,
        sums: Sums<'_>,
    ) -> Result<(), DeviceError> {
        let Sums { forces, energies, with_energy } = sums;
        let arguments = BondedArgs {
            x: x.arg(),
            q: In::none(),
            indices: self.indices.arg(),
            parameters: self.parameters.arg(),
            surfaces: self.surfaces.arg(),
            references: self.references.arg(),
            stiffness: self.stiffness.arg(),
            edges: In::none(),
            forces: forces.arg(),
            potential: Out::none(),
            energies: energies.arg(),
            status: self.status.arg(),
            weights: weights.arg(),
            by_weight: by_weight.arg(),
            layout: self.layout,
        };
        self.launch(stream, arguments, with_energy)
    }

    fn launch(&self, stream: &Stream, arguments: BondedArgs<'_>, with_energy: bool) -> Result<(), DeviceError> {
        let kernel = if with_energy { &self.energy } else { &self.forces };
        stream.launch(kernel, Launch::new(self.blocks(), THREADS as u32), arguments)
    }

    /// Blocks of the launch.
    fn blocks(&self) -> u32 {
        self.layout.first_block[KINDS] as u32
    }

    /// Whether there are no terms at all; nothing is launched then.
    pub fn is_empty(&self) -> bool {
        self.blocks() == 0
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

    /// Puts what is left of the force constants of restraints that fade, from 1 to 0, once the stream has come to it.
    ///
    /// # Errors
    /// Those of the device.
    pub fn set_part(&self, stream: &Stream, part: f64) -> Result<(), DeviceError> {
        if self.restraints.iter().any(|restraint| restraint.fades) {
            self.stiffness.write(stream, &stiffness(&self.restraints, part))?;
        }
        Ok(())
    }

    /// From now on [`Self::saturated`] tells of what comes.
    ///
    /// # Errors
    /// Those of the device.
    pub fn forget_saturation(&self, stream: &Stream) -> Result<(), DeviceError> {
        stream.zero(&self.status)
    }

    /// Whether a force was beyond the range of fixed-point numbers since [`Self::forget_saturation`]: the run has failed. Waits for the stream.
    ///
    /// # Errors
    /// A lost device.
    pub fn saturated(&self, stream: &Stream) -> Result<bool, DeviceError> {
        Ok(self.status.read(stream)? != [0])
    }
}

pub(super) fn source(cell: Cell, weighted: bool) -> Source {
    let plain = Source::new("bonded", include_str!("bonded.cu"));
    let numbered = TermKind::ALL.iter().enumerate();
    numbered
        .fold(plain, |source, (number, (name, _))| source.define(name, number))
        .define("KINDS", KINDS)
        .header(include_str!("forces.cuh"))
        .header(include_str!("geometry.cuh"))
        .define("REAL", "double")
        .define("PERIODIC", i32::from(cell.is_periodic()))
        .define("TRICLINIC", i32::from(cell.is_triclinic()))
        .define("MIXED", i32::from(weighted))
        .define("COULOMB", format!("{COULOMB:e}"))
        .define("SLOT_VIRIAL", EnergyTerm::Virial as usize)
        .define("SLOT_IMAGES", EnergyTerm::ImagesX as usize)
        .define("SLOT_COULOMB_14", EnergyTerm::Coulomb14 as usize)
        .kernel::<BondedArgs<'static>>("bonded")
        .kernel::<BondedArgs<'static>>("bonded_energy")
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

/// Force constants of the restraints in the order of the kernel, while `part` of those that fade is left.
fn stiffness(restraints: &[PositionRestraint], part: f64) -> Vec<f64> {
    (0..3).flat_map(|d| restraints.iter().map(move |restraint| restraint.stiffness(part)[d])).collect()
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
pub(super) fn kinds(top: &Topology, surfaces: &[u32]) -> [Kind; KINDS] {
    use EnergyTerm as E;
    let periodic = |improper: bool| {
        let of_kind = top.propers.iter().filter(move |p| p.improper == improper);
        of_kind.map(|p| (p.atoms, [p.phi0, p.k, f64::from(p.multiplicity)]))
    };
    let map = |c: &Cmap| {
        let ([a, b, c0, d, e], grid) = (c.atoms, c.grid as usize);
        ([a, b, c0, d, e, surfaces[grid], top.cmap_grids[grid].size as u32], [])
    };
    TermKind::ALL.map(|(_, kind)| match kind {
        TermKind::Bond => Kind::new(E::Bonds, top.bonds.iter().chain(&top.distances).map(|b| (b.atoms, [b.r0, b.k]))),
        TermKind::Angle => Kind::new(E::Angles, top.angles.iter().map(|a| (a.atoms, [a.theta0, a.k]))),
        TermKind::UreyBradley => {
            Kind::new(E::UreyBradley, top.urey_bradley.iter().map(|u| (u.atoms, [u.theta0, u.k, u.r13, u.k13])))
        }
        TermKind::Proper => Kind::new(E::ProperDihedrals, periodic(false)),
        TermKind::Improper => Kind::new(E::ImproperDihedrals, periodic(true)),
        TermKind::HarmonicImproper => {
            Kind::new(E::ImproperDihedrals, top.harmonic_impropers.iter().map(|i| (i.atoms, [i.xi0, i.k])))
        }
        TermKind::RyckaertBellemans => {
            Kind::new(E::RyckaertBellemans, top.ryckaert_bellemans.iter().map(|r| (r.atoms, r.c)))
        }
        TermKind::Cmap => Kind::new(E::Cmap, top.cmaps.iter().map(map)),
        TermKind::Pair14 => {
            Kind::new(E::LennardJones14, top.pairs.iter().map(|p| (p.atoms, [p.c6, p.c12, p.coulomb_scale])))
        }
        TermKind::Restraint => Kind::new(E::Restraints, top.position_restraints.iter().map(|r| ([r.atom], []))),
    })
}

/// The columns of a list of rows, one after the other.
fn columns<T: Copy>(rows: &[Vec<T>]) -> impl Iterator<Item = T> + '_ {
    let width = rows.first().map_or(0, Vec::len);
    (0..width).flat_map(|m| rows.iter().map(move |row| row[m]))
}

#[cfg(test)]
mod tests;
