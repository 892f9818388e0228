//! What a resident system gives back, and what it takes between steps: state and lists, forces, ∂V/∂λ_α, biases.

use super::{Lists, Resident, ResidentError, ResidentState};
use crate::backend::gpu::planned::Planned;
use crate::motion::device::MotionState;
use forcefield::Cell;
use lambda::bias::SiteBias;
use lambda::motion::LambdaState;
use nalgebra::Vector3;

impl Resident {
    /// What the system is planned for.
    pub fn planned(&self) -> Planned {
        self.planned
    }

    /// The box about whose shape operators of the FMM are known, where they follow shapes.
    pub fn shape(&self) -> Option<Cell> {
        self.long_range.shape()
    }

    /// Makes the shape of `cell` that one, if they follow shapes.
    ///
    /// # Errors
    /// A lost device.
    pub fn set_shape(&mut self, cell: Cell) -> Result<(), ResidentError> {
        match self.shape() {
            Some(shape) if shape != cell => self.long_range.set_shape(&self.streams.main, cell),
            _ => Ok(()),
        }
    }

    /// Whether the system can be in `cell`, which may be another one than at first.
    ///
    /// # Errors
    /// A cell that is too small, or has other angles than the kernels are made for.
    pub fn check_cell(&self, cell: Cell) -> Result<(), ResidentError> {
        Ok(self.lennard_jones.check_cell(cell)?)
    }

    /// The state and its lists. Lists that are due at the present step are made first: an evaluation for whoever looks would have made them, and a
    /// checkpoint must not tell whether somebody has looked.
    ///
    /// # Errors
    /// A lost device; whatever was wrong with the steps before.
    pub fn download(&mut self) -> Result<(ResidentState, Lists), ResidentError> {
        self.arrive()?;
        self.check()?;
        let graphs = self.recorded()?;
        self.graphs = Some(self.complete_lists(graphs)?);
        let lambda = self.lambda()?.unwrap_or_default();
        let main = &self.streams.main;
        let atoms = self.motion.download(main)?;
        let geometry = self.long_range.geometry();
        let lists = Lists {
            pairs: self.pairs_made_at.read(main)?,
            boxes: self.boxes_made_at.read(main)?,
            geometry: geometry.map_or(Ok(Vec::new()), |g| g.read(main).map(|g| bytemuck::cast_slice(&g).to_vec()))?,
        };
        Ok((ResidentState { atoms, lambda }, lists))
    }

    /// Atoms as they are where the motion could not go on, whatever was wrong with it: nothing is checked, and nothing can go on from here.
    ///
    /// # Errors
    /// A lost device.
    pub fn state_as_it_is(&self) -> Result<MotionState, ResidentError> {
        Ok(self.motion.download(&self.streams.main)?)
    }

    /// Coordinates of the sites, their velocities and heat.
    ///
    /// # Errors
    /// A lost device.
    pub fn lambda(&mut self) -> Result<Option<LambdaState>, ResidentError> {
        self.arrive()?;
        let main = &self.streams.main;
        Ok(self.sites.as_ref().map(|sites| sites.download(main)).transpose()?)
    }

    /// ∂V/∂λ_α of the force field (kJ/mol) of every form of every site, of the last [`Self::evaluate`].
    ///
    /// # Errors
    /// A lost device.
    pub fn by_weight(&self) -> Result<Vec<f64>, ResidentError> {
        self.sites.as_ref().map_or(Ok(Vec::new()), |sites| Ok(sites.derivatives().read(&self.streams.main)?))
    }

    /// Puts other biases on the device: another pH, other barriers.
    ///
    /// # Errors
    /// A lost device.
    pub fn set_biases(&mut self, biases: &[Option<SiteBias>]) -> Result<(), ResidentError> {
        // The steps before were made, and are made again if they have waited, with the old ones.
        self.arrive()?;
        let main = &self.streams.main;
        Ok(self.sites.as_mut().map_or(Ok(()), |sites| sites.set_biases(main, biases))?)
    }

    /// Positions that restraints hold (nm), with the atoms they belong to.
    ///
    /// # Errors
    /// A lost device.
    pub fn references(&mut self) -> Result<Vec<(u32, Vector3<f64>)>, ResidentError> {
        self.arrive()?;
        let numbers = self.bonded.references().read(&self.streams.main)?;
        let positions = numbers.as_chunks::<3>().0.iter().map(|&x| Vector3::from(x));
        Ok(self.bonded.restrained().iter().copied().zip(positions).collect())
    }

    /// Forces (kJ/mol/nm) of the last [`Self::evaluate`], which are then forgotten.
    ///
    /// # Errors
    /// A lost device.
    pub fn forces(&self) -> Result<Vec<Vector3<f64>>, ResidentError> {
        let fixed = self.forces.read(&self.streams.main)?;
        let real = |f: &[i64; 3]| Vector3::from(f.map(|f| f as f64 / forcefield::device::FORCE_ONE));
        Ok(fixed.as_chunks::<3>().0.iter().map(real).collect())
    }
}
