//! What measurements of [`DeviceFmm`] need besides results.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{DeviceError, Launch, Stream};

use super::far::{FarField, Step};
use super::{DeviceFmm, Far, THREADS};

impl<T: Real + Pod> DeviceFmm<T> {
    /// One step of the far field. Nothing in a refined tree, which has others.
    ///
    /// # Errors
    /// What the device says against the launch.
    pub fn enqueue_far_step(&self, stream: &Stream, step: Step) -> Result<(), DeviceError> {
        let Some(far) = self.root_field() else { return Ok(()) };
        far.enqueue_step(step, stream, &self.sorted, self.starts(), &self.far_out)
    }

    /// How many threads run each kernel of an evaluation that waits for the one before it: coordinates, the far field, sums. Those of a refined tree's
    /// far field are not among them.
    pub fn chain(&self) -> Vec<Launch> {
        let far = self.root_field().into_iter().flat_map(|far| Step::ALL.map(|step| far.launch(step)));
        let particles = || std::iter::once(Launch::for_each(self.n, THREADS));
        particles().chain(far).chain(particles()).collect()
    }

    /// The far field of a tree without refinement.
    pub fn root_field(&self) -> Option<&FarField<T>> {
        match &self.far {
            Some(Far::Root(far)) => Some(far),
            _ => None,
        }
    }

    /// Ordered pairs of particles in near boxes, images apart, after an assignment: those of a particle with itself left out, excluded ones
    /// not. Waits for the stream.
    ///
    /// # Errors
    /// A lost device.
    pub fn near_pairs(&self, stream: &Stream) -> Result<u64, DeviceError> {
        let starts = self.starts().read(stream)?;
        let near = self.boxes.near_starts.read(stream)?;
        let entries = self.boxes.near_entries.read(stream)?;
        let particles = |leaf: usize| u64::from(starts[leaf + 1] - starts[leaf]);
        let of_leaf = |leaf: usize| {
            let sources = &entries[2 * near[leaf] as usize..2 * near[leaf + 1] as usize];
            particles(leaf) * sources.chunks_exact(2).map(|entry| particles(entry[0] as usize)).sum::<u64>()
        };
        Ok((0..self.n_leaves()).map(of_leaf).sum::<u64>() - self.n as u64)
    }
}
