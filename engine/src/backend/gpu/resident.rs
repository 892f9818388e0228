//! A system that lives on a GPU, which makes one step after the other without the host.
//!
//! The parts are those of the CPU: the FMM (`fmm::device`), Lennard-Jones and bonded terms (`forcefield::device`), sites and their λ
//! (`lambda::device`), the motion of the atoms ([`DeviceMotion`]). A step is recorded into a graph:
//!
//! ```text
//! boxes of the FMM ─┬─ near field ─┐
//!                   └─ far field ──┤           ┌─ ∂V/∂λ → λ → q(λ)
//! Lennard-Jones, bonded terms ─────┼─ forces ──┴─ v, x, constraints, thermostat, barostat
//! bracket of the sites ────────────┘
//! ```
//!
//! Virtual sites, where there are any, give their forces to their parents before x and v change, and are placed again afterwards.
//!
//! Lists and boxes are made anew every so many steps each, counted from step 0 ([`super::schedule`]), so that a continued run makes the same ones. The
//! device watches how far atoms go in between. If one goes farther than thermal motion can take it, the device stops there by itself, before
//! any force is computed with lists that do not serve; the host, which sees it later, makes lists from the positions of that step and lets the
//! motion go on. So the lists of every step follow from the trajectory alone, whoever looks at it and wherever it is stopped.

use super::coulomb::CoulombEnergy;
use super::long_range::LongRange;
use super::moments::Moments;
use super::planned::Planned;
use super::schedule::Schedule;
use super::setup::{Lists, ResidentError, ResidentState, Setup, Streams};
use crate::config::Interpolation;
use crate::fading::Fading;
use crate::motion::device::{Crowd, DeviceMotion, MotionState};
use crate::state::ListState;
use fmm::device::BoxGeometry;
use forcefield::Cell;
use forcefield::device::{
    DeviceBonded, DeviceLennardJones, DeviceVariants, DeviceVirtualSites, ENERGY_SLOTS, EnergyTerm, Sums,
};
use kernels::device::{Buffer, Device, DeviceError, Graph, Stream};
use lambda::device::{Corrected, DeviceSites, Whole};
use nalgebra::Vector3;
use parts::Parts;

mod fetch;
mod lines;
mod made;
mod parts;
mod profile;
mod run;
mod steps;
mod waits;

use made::Made;
use steps::Recorded;
pub use waits::Wait;

/// Most steps that random numbers for λ are handed over for at a time.
const NOISE_STEPS: usize = 4096;

/// Recorded sequences of work.
struct Graphs {
    /// Makes a new list of pairs, a new assignment to boxes, both side by side.
    pairs: Graph,
    boxes: Graph,
    both: Graph,
    /// Make steps: one, or those until the next list or assignment.
    steps: Recorded,
    /// Evaluates forces and ∂V/∂λ, first without energies, then with all of them.
    evaluate: [Graph; 2],
}

/// The system on its device.
pub struct Resident {
    streams: Streams,
    long_range: Box<dyn LongRange>,
    lennard_jones: DeviceLennardJones,
    bonded: DeviceBonded,
    fading: Fading,
    /// The part of restraints that fade which the device has.
    part: f64,
    /// What differs between the forms of the sites besides charges; none if nothing does.
    variants: Option<DeviceVariants>,
    motion: DeviceMotion,
    virtual_sites: Option<DeviceVirtualSites>,
    sites: Option<DeviceSites>,
    interpolation: Interpolation,
    /// First step that has no random numbers for λ.
    noise_end: u64,
    coulomb: CoulombEnergy,
    moments: Moments,
    charges: Buffer<f64>,
    forces: Buffer<i64>,
    potential_14: Buffer<i64>,
    energies: Buffer<i64>,
    /// What the present list of pairs and the present boxes were made from.
    pairs_made_at: Made,
    boxes_made_at: Made,
    schedule: Schedule,
    planned: Planned,
    graphs: Option<Graphs>,
    /// The step that the device has been told to go to.
    step: u64,
    /// Whether the device is known to have come there.
    arrived: bool,
    /// Step at which the last list or assignment was made, if the device has made one since the state came here.
    listed_at: Option<u64>,
    /// Where the motion has waited for lists, until someone asks.
    waits: Vec<Wait>,
}

impl Resident {
    /// Takes memory and compiles kernels; nothing is computed yet.
    ///
    /// # Errors
    /// Settings that make no sense; out of memory.
    pub fn new(device: &Device, setup: &Setup) -> Result<Self, ResidentError> {
        let n = setup.masses.len();
        let Parts { long_range, lennard_jones, bonded, variants, mut motion, virtual_sites, sites } =
            Parts::new(device, setup)?;
        // A chain of short kernels beside the near field, which has blocks enough to hold it up.
        let main = if setup.alone { device.urgent_stream()? } else { device.stream()? };
        let stream = || if setup.alone { device.stream() } else { Ok(main.clone()) };
        motion.watch_lists(device, &main, &setup.schedule.limits)?;
        Ok(Self {
            streams: Streams {
                main: main.clone(),
                near: stream()?,
                short: stream()?,
                sites: stream()?,
                forms: stream()?,
                behind: stream()?,
            },
            long_range,
            lennard_jones,
            bonded,
            fading: setup.fading,
            part: 1.0,
            variants,
            moments: Moments::new(device, sites.as_ref())?,
            motion,
            virtual_sites,
            sites,
            interpolation: setup.interpolation,
            noise_end: 0,
            coulomb: CoulombEnergy::new(device)?,
            charges: device.upload(&setup.topology.charges())?,
            forces: device.zeros(3 * n)?,
            potential_14: device.zeros(n)?,
            energies: device.zeros(ENERGY_SLOTS)?,
            pairs_made_at: Made::new(device, n)?,
            boxes_made_at: Made::new(device, n)?,
            schedule: setup.schedule.clone(),
            planned: Planned { cell: setup.cell, reach: setup.lennard_jones.cutoff + setup.lennard_jones.buffer },
            graphs: None,
            step: 0,
            arrived: true,
            listed_at: None,
            waits: Vec::new(),
        })
    }

    /// Number of steps that lists serve.
    pub fn interval(&self) -> u64 {
        self.schedule.lists
    }

    /// Whether lists and boxes are both made anew at a step.
    pub fn makes_lists(&self, step: u64) -> bool {
        [self.schedule.lists, self.schedule.boxes].into_iter().all(|every| step.is_multiple_of(every))
    }

    /// Whether `lists` are made of the boxes that this device has, in a cell that has become `cell` since. The number of boxes depends on the
    /// device, and a kernel that reads boxes of another number computes nonsense.
    ///
    /// # Errors
    /// A cell that is too small; a lost device.
    pub fn has_boxes_of(&mut self, lists: &Lists, cell: Cell) -> Result<bool, ResidentError> {
        let Ok([theirs]) = bytemuck::try_cast_slice::<f64, BoxGeometry>(&lists.geometry) else { return Ok(false) };
        let fits = !lists.pairs.positions.is_empty() && !lists.boxes.positions.is_empty();
        let Some(stretch) = cell.stretch_since(&lists.boxes.cell).filter(|_| fits) else { return Ok(false) };
        let main = &self.streams.main;
        self.long_range.set_cell(main, lists.boxes.cell)?;
        let Some(geometry) = self.long_range.geometry() else { return Ok(false) };
        let ours = geometry.read(main)?[0];
        // Edges of boxes differ by a whole number of boxes in the cell or, by the rounding of barostats, hardly at all.
        let same = |ours: f64, theirs: f64, stretch: f64| (ours * stretch - theirs).abs() <= 1e-6 * ours.abs();
        let pairs = ours.basis.as_flattened().iter().zip(theirs.basis.as_flattened()).enumerate();
        Ok(pairs.into_iter().all(|(k, (&ours, &theirs))| same(ours, theirs, stretch[k % 3])))
    }

    /// Puts the state on the device, with the lists of a run that is continued, or else with lists made from the state itself; and the positions
    /// (nm) that restraints hold, unless there are none given.
    ///
    /// # Errors
    /// Positions that are not finite, a box that is too small, a lost device.
    pub fn upload(
        &mut self,
        state: &ResidentState,
        references: &[Vector3<f64>],
        lists: Option<&Lists>,
    ) -> Result<(), ResidentError> {
        let main = &self.streams.main;
        let atoms = &state.atoms;
        // What was wrong with the state before says nothing of this one.
        self.bonded.forget_saturation(main)?;
        if let Some(variants) = &self.variants {
            variants.forget_saturation(main)?;
        }
        let now = ListState { positions: atoms.x.clone(), cell: atoms.cell };
        let (pairs, boxes) = lists.map_or((&now, &now), |lists| (&lists.pairs, &lists.boxes));
        if boxes.cell.is_periodic() {
            self.long_range.set_cell(main, boxes.cell)?;
        }
        if !references.is_empty() {
            self.bonded.set_reference(main, references)?;
        }
        let at = |made: &ListState| MotionState { x: made.positions.clone(), cell: made.cell, ..atoms.clone() };
        self.motion.upload(main, &at(pairs))?;
        self.lennard_jones.rebuild(main, self.motion.x(), self.motion.edges())?;
        self.enqueue_changing_places(main)?;
        self.pairs_made_at.enqueue(main, self.motion.x(), self.motion.edges())?;
        self.motion.upload(main, &at(boxes))?;
        self.enqueue_boxes()?;
        self.long_range.check(main)?;
        if let Some(lists) = lists {
            self.motion.upload(main, atoms)?;
            let scale = atoms.cell.stretch_since(&pairs.cell).unwrap_or(Vector3::repeat(1.0));
            self.motion.restore_lists(main, &pairs.positions, scale)?;
            if self.long_range.shape().is_some() {
                self.long_range.set_cell(main, atoms.cell)?;
            }
            if let Some(geometry) = self.long_range.geometry() {
                let found = bytemuck::try_cast_slice::<f64, BoxGeometry>(&lists.geometry);
                let expected = size_of::<BoxGeometry>() / size_of::<f64>();
                let wrong = |_| DeviceError::Length { expected, found: lists.geometry.len() };
                geometry.write(main, found.map_err(wrong)?)?;
            }
        }
        if let Some(sites) = &mut self.sites {
            sites.upload(main, &state.lambda, atoms.step)?;
            sites.enqueue_charges(main, &self.charges)?;
            self.noise_end = atoms.step + sites.supplied_steps() as u64;
        }
        self.step = atoms.step;
        // Those of a state that goes on were made before; at a multiple of the interval they are made anew.
        self.listed_at = None;
        self.arrived = true;
        self.graphs = None;
        Ok(())
    }

    /// Evaluates the energies at the present state, by slot; forces stay for [`Self::forces`], ∂V/∂λ for [`Self::by_weight`].
    ///
    /// # Errors
    /// A lost device; whatever was wrong with the steps before.
    pub fn evaluate(&mut self) -> Result<Vec<i64>, ResidentError> {
        self.launch_evaluation(true)?;
        self.check()?;
        Ok(self.energies.read(&self.streams.main)?)
    }

    /// Evaluates ∂V/∂λ_α of the force field (kJ/mol) at the present state by the kernels of a step.
    ///
    /// # Errors
    /// A lost device.
    pub fn derivatives(&mut self) -> Result<Vec<f64>, ResidentError> {
        self.launch_evaluation(self.has_energies(self.step))?;
        self.by_weight()
    }

    fn launch_evaluation(&mut self, energies: bool) -> Result<(), ResidentError> {
        self.arrive()?;
        self.fade()?;
        let graphs = self.recorded()?;
        let graphs = self.complete_lists(graphs)?;
        self.streams.main.zero(&self.forces)?;
        graphs.evaluate[usize::from(energies)].launch(&self.streams.main)?;
        self.graphs = Some(graphs);
        Ok(())
    }

    fn recorded(&mut self) -> Result<Graphs, ResidentError> {
        self.graphs.take().map_or_else(|| self.record(), Ok)
    }

    fn record(&self) -> Result<Graphs, ResidentError> {
        let main = &self.streams.main;
        Ok(Graphs {
            pairs: main.capture(|| self.enqueue_pairs(main))?,
            boxes: main.capture(|| self.enqueue_boxes())?,
            both: main.capture(|| self.enqueue_both())?,
            steps: Recorded::default(),
            evaluate: [
                main.capture(|| self.enqueue_evaluation(false))?,
                main.capture(|| self.enqueue_evaluation(true))?,
            ],
        })
    }

    /// Makes a new list of pairs from the present positions.
    fn enqueue_pairs(&self, stream: &Stream) -> Result<(), ResidentError> {
        let (x, edges) = (self.motion.x(), self.motion.edges());
        self.lennard_jones.enqueue_rebuild(stream, x, edges)?;
        self.enqueue_changing_places(stream)?;
        self.motion.enqueue_mark_lists(stream, Some(self.crowd()))?;
        self.pairs_made_at.enqueue(stream, x, edges)
    }

    /// How many neighbours the list has, and room for how many.
    fn crowd(&self) -> Crowd<'_> {
        let (neighbours, room) = self.lennard_jones.neighbours_and_capacity();
        Crowd { neighbours, room }
    }

    /// Looks where the atoms that change with λ are in a new list.
    fn enqueue_changing_places(&self, stream: &Stream) -> Result<(), ResidentError> {
        let place = |variants: &DeviceVariants| Ok(variants.enqueue_rebuild(stream, &self.lennard_jones)?);
        self.variants.as_ref().map_or(Ok(()), place)
    }

    /// Assigns the atoms to boxes by their present positions.
    fn enqueue_boxes(&self) -> Result<(), ResidentError> {
        let (main, x) = (&self.streams.main, self.motion.x());
        self.boxes_made_at.enqueue(main, x, self.motion.edges())?;
        self.long_range.enqueue_assign(main, x)
    }

    /// Both, side by side.
    fn enqueue_both(&self) -> Result<(), ResidentError> {
        let Streams { main, short, .. } = &self.streams;
        short.wait_for(main)?;
        self.enqueue_pairs(short)?;
        self.enqueue_boxes()?;
        Ok(main.wait_for(short)?)
    }

    /// Adds all forces at the present positions, with charges at the present λ, to what is there. What follows them on the main stream waits for `behind`,
    /// too, if there is one. All streams meet at one kernel, that before the last: the others of the chain follow each other and may start early.
    fn enqueue_forces(&self, with_energy: bool, behind: Option<&Stream>) -> Result<(), ResidentError> {
        let streams = &self.streams;
        let (x, edges) = (self.motion.x(), self.motion.edges());
        if with_energy {
            streams.main.zero(&self.energies)?;
        }
        let corrected = self.sites.as_ref().zip(self.corrected());
        if let Some((sites, corrected)) = &corrected {
            streams.sites.wait_for(&streams.main)?;
            sites.enqueue_interpolation(&streams.sites, x, corrected)?;
        }
        // Lennard-Jones of other types reads what the ordinary one makes.
        let forms = self.variants.as_ref().filter(|variants| !variants.follow_lennard_jones()).map(|_| &streams.forms);
        if let Some(forms) = forms {
            forms.wait_for(&streams.main)?;
            self.enqueue_variants(forms, with_energy)?;
        }
        streams.short.wait_for(&streams.main)?;
        let sums = self.sums(with_energy);
        self.lennard_jones.enqueue_forces(&streams.short, x, edges, sums)?;
        if !self.bonded.is_empty() {
            if self.sites.is_some() {
                streams.short.zero(&self.potential_14)?;
            }
            self.bonded.enqueue_forces(&streams.short, x, &self.charges, edges, &self.potential_14, sums)?;
        }
        if forms.is_none() {
            self.enqueue_variants(&streams.short, with_energy)?;
        }
        self.long_range.enqueue_fields(streams, x, &self.charges)?;
        let bracket = corrected.is_some().then_some(&streams.sites);
        for beside in [Some(&streams.near), Some(&streams.short), bracket, forms, behind].into_iter().flatten() {
            streams.main.wait_for(beside)?;
        }
        self.long_range.enqueue_forces(&streams.main, &self.charges, &self.forces)?;
        let potential = self.long_range.potential();
        if with_energy {
            self.coulomb.enqueue(&streams.main, &self.charges, potential, &self.energies)?;
        }
        if let Some(sites) = &self.virtual_sites {
            sites.enqueue_spread(&streams.main, x, sums)?;
        }
        Ok(())
    }

    /// Makes ∂V/∂λ from the potentials of [`Self::enqueue_forces`].
    fn enqueue_derivatives(&self, stream: &Stream, sites: &DeviceSites) -> Result<(), ResidentError> {
        let whole = Whole {
            potential: self.long_range.potential(),
            potential_14: &self.potential_14,
            others: self.variants.as_ref().map(DeviceVariants::by_weight),
        };
        Ok(sites.enqueue_derivatives(stream, &whole, self.interpolation == Interpolation::Hamiltonian)?)
    }

    fn enqueue_evaluation(&self, with_energy: bool) -> Result<(), ResidentError> {
        self.enqueue_forces(with_energy, None)?;
        self.sites.as_ref().map_or(Ok(()), |sites| self.enqueue_derivatives(&self.streams.main, sites))
    }

    /// Forces and ∂V/∂λ of what differs between forms besides charges; those of Lennard-Jones come before on the same stream.
    fn enqueue_variants(&self, stream: &Stream, with_energy: bool) -> Result<(), ResidentError> {
        let (Some(variants), Some(sites)) = (&self.variants, &self.sites) else { return Ok(()) };
        let (x, edges) = (self.motion.x(), self.motion.edges());
        stream.zero(variants.by_weight())?;
        Ok(variants.enqueue_forces(stream, &self.lennard_jones, x, edges, sites.weights(), self.sums(with_energy))?)
    }

    /// What short-range terms add to.
    fn sums(&self, with_energy: bool) -> Sums<'_> {
        Sums { forces: &self.forces, energies: &self.energies, with_energy }
    }

    /// What Hamiltonian interpolation corrects; none with charge interpolation.
    fn corrected(&self) -> Option<Corrected<'_>> {
        let slots = [EnergyTerm::Interpolation as usize, EnergyTerm::Virial as usize];
        let corrected = Corrected { forces: &self.forces, energies: &self.energies, slots };
        (self.interpolation == Interpolation::Hamiltonian).then_some(corrected)
    }
}
