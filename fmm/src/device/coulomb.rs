//! The device as one more Coulomb method for particles on the host.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, Stream};

use super::DeviceFmm;
use crate::FmmError;
use crate::checks::{at_one_point, check_charge, check_length, check_particles, not_finite};
use crate::coulomb::Coulomb;
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::members::Members;
use crate::potentials::Potentials;
use crate::solver::settings::Settings;
use crate::solver::timings::{StageTimings, stopwatch};

/// [`DeviceFmm`] with positions and results on the host: every evaluation copies them. Two particles on one point are found when they are assigned, and are an error
/// of every evaluation until the next assignment. Pairs so close that rounding of their coordinates makes errors are looked for by [`tune_on`](super::tune_on) alone, at the
/// positions that it is given.
pub struct DeviceCoulomb<T: Real + Pod> {
    device: Device,
    streams: [Stream; 2],
    boundary: Boundary,
    settings: Settings,
    state: Option<State<T>>,
    timings: StageTimings,
}

struct State<T: Real + Pod> {
    fmm: DeviceFmm<T>,
    exclusions: Exclusions,
    /// Two particles on one point: known to other methods at their evaluation only.
    coincident: Option<FmmError>,
    x: Buffer<f64>,
    q: Buffer<f64>,
}

impl<T: Real + Pod> DeviceCoulomb<T> {
    /// On `device`.
    ///
    /// # Errors
    /// As [`DeviceFmm::new`]; where an axis does not repeat, what depends on the shape of the boxes is told by the first assignment.
    #[inline(never)]
    pub fn new(device: &Device, boundary: Boundary, settings: Settings) -> Result<Self, FmmError> {
        // Settings are refused here, not at the first assignment. Whether near boxes of this shape can be, a grid of no particles tells, which needs periods.
        super::check_settings(&boundary, &settings)?;
        if boundary.periods().len() == 3 {
            let nobody = (&Exclusions::none(0), &Members::all(0));
            DeviceFmm::<T>::near_only(device, boundary, settings, &[], nobody)?;
        }
        let streams = [device.stream()?, device.stream()?];
        Ok(Self { device: device.clone(), streams, boundary, settings, state: None, timings: StageTimings::default() })
    }

    /// What is on the device, after an assignment.
    pub fn on_device(&self) -> Option<&DeviceFmm<T>> {
        self.state.as_ref().map(|s| &s.fmm)
    }

    /// Change the periods as [`DeviceFmm::set_boundary`] does, keeping the assignment.
    ///
    /// # Errors
    /// As there.
    #[inline(never)]
    pub fn set_boundary(&mut self, boundary: Boundary) -> Result<(), FmmError> {
        self.boundary.check_next(&boundary)?;
        if let Some(state) = &mut self.state {
            state.fmm.set_boundary(&self.streams[0], boundary)?;
        }
        self.boundary = boundary;
        Ok(())
    }
}

impl<T: Real + Pod> Coulomb for DeviceCoulomb<T> {
    fn name(&self) -> &'static str {
        "fmm on a device"
    }

    #[inline(never)]
    fn assign(&mut self, positions: &[[f64; 3]], exclusions: &Exclusions) -> Result<(), FmmError> {
        let before = self.state.take();
        check_particles(positions, exclusions)?;
        // Boxes of an endless cell stay where they are.
        let keep = |s: &State<T>| self.boundary.periods().len() == 3 && s.exclusions == *exclusions;
        let mut state = match before.filter(keep) {
            Some(state) => state,
            None => State {
                fmm: DeviceFmm::new(&self.device, self.boundary, self.settings, positions, exclusions)?,
                exclusions: exclusions.clone(),
                coincident: None,
                x: self.device.zeros(3 * positions.len())?,
                q: self.device.zeros(positions.len())?,
            },
        };
        let stream = &self.streams[0];
        state.x.write(stream, positions.as_flattened())?;
        state.fmm.enqueue_assign(stream, &state.x)?;
        state.coincident = match state.fmm.check(stream) {
            Err(FmmError::Coincident { particle, .. }) => {
                let others = (0..positions.len()).filter(|i| *i != particle);
                at_one_point(&self.boundary, positions, particle, others)
            }
            other => other.map(|()| None)?,
        };
        self.state = Some(state);
        Ok(())
    }

    #[inline(never)]
    fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError> {
        let Some(State { fmm, coincident, x, q, .. }) = &self.state else { return Err(FmmError::NotAssigned) };
        check_length("positions", fmm.n_particles(), positions.len())?;
        check_length("charges", fmm.n_particles(), charges.len())?;
        check_charge(&self.boundary, charges)?;
        let [near, far] = &self.streams;
        let mut times = StageTimings::default();
        let mut lap = stopwatch();
        x.write(near, positions.as_flattened())?;
        q.write(near, charges)?;
        lap(&mut times.sort);
        fmm.enqueue_evaluate(near, far, x, q)?;
        near.synchronize()?;
        lap(&mut times.p2p);
        out.potential.resize(positions.len(), 0.0);
        out.field.resize(positions.len(), [0.0; 3]);
        fmm.potential().read_into(near, &mut out.potential)?;
        fmm.field().read_into(near, out.field.as_flattened_mut())?;
        lap(&mut times.gather);
        self.timings = times;
        let energy = out.energy(charges);
        let finite = out.potential.iter().chain(out.field.as_flattened()).all(|v| v.is_finite());
        if !finite || !energy.is_finite() {
            return Err(not_finite(&self.boundary, positions, charges, out));
        }
        coincident.clone().map_or(Ok(energy), Err)
    }

    fn timings(&self) -> &StageTimings {
        &self.timings
    }
}
