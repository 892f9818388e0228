//! Charges of the sites from their λ, and ∂V/∂λ from potentials: launches of `sites.cu`.

use forcefield::units::COULOMB;
use kernels::device::{Buffer, DeviceError, In, Launch, Out, Source, Stream, arguments};

use super::DeviceSites;

/// Threads of a block: of all kernels, whether a block is for one site or not.
const THREADS: u32 = 128;

arguments! {
    /// Arguments of `set_charges`.
    pub(super) struct ChargeArgs<'a> {
        starts: In<'a, u32>,
        values: In<'a, u32>,
        first_weight: In<'a, u32>,
        site_of: In<'a, u32>,
        atoms: In<'a, u32>,
        form_charges: In<'a, f64>,
        weights: In<'a, f64>,
        charges: Out<'a, f64>,
        n_atoms: i32,
    }

    /// Arguments of `bracket_sites`.
    pub(super) struct BracketArgs<'a> {
        starts: In<'a, u32>,
        values: In<'a, u32>,
        first_weight: In<'a, u32>,
        form_charges: In<'a, f64>,
        pair_starts: In<'a, u32>,
        /// Atoms of each pair in the numbering of the site, then in that of the system.
        pairs: In<'a, [u32; 4]>,
        scales: In<'a, f64>,
        weights: In<'a, f64>,
        x: In<'a, f64>,
        forces: Out<'a, i64>,
        energy: Out<'a, i64>,
        virial: Out<'a, i64>,
        bracket: Out<'a, f64>,
        coulomb: f64,
    }

    /// Arguments of `differentiate_sites`.
    pub(super) struct DifferentiateArgs<'a> {
        starts: In<'a, u32>,
        values: In<'a, u32>,
        first_weight: In<'a, u32>,
        atoms: In<'a, u32>,
        form_charges: In<'a, f64>,
        potential: In<'a, f64>,
        potential_14: In<'a, i64>,
        bracket: In<'a, f64>,
        /// ∂V/∂λ_α of other terms, fixed point, kJ/mol; perhaps none.
        others: In<'a, i64>,
        derivatives: Out<'a, f64>,
        coulomb: f64,
        /// Sites that Hamiltonian interpolation is for; charge interpolation is for the others.
        n_hamiltonian: i32,
    }
}

/// The electrostatics of the whole system, by atom, and what else depends on λ.
#[derive(Clone, Copy)]
pub struct Whole<'a> {
    /// φ of all effective charges, 1-4 pairs left out, e/nm.
    pub potential: &'a Buffer<f64>,
    /// φ of the 1-4 pairs, fixed point, kJ/mol/e.
    pub potential_14: &'a Buffer<i64>,
    /// ∂V/∂λ_α of terms that are no electrostatics (fixed point, kJ/mol), as the weights; none if there are no such terms.
    pub others: Option<&'a Buffer<i64>>,
}

/// What Hamiltonian interpolation corrects.
#[derive(Clone, Copy)]
pub struct Corrected<'a> {
    /// Forces, fixed point, kJ/mol/nm, 3 N.
    pub forces: &'a Buffer<i64>,
    /// Energies, fixed point, kJ/mol.
    pub energies: &'a Buffer<i64>,
    /// Which of them takes the energy, and which the trace of the virial (the same number).
    pub slots: [usize; 2],
}

impl DeviceSites {
    /// Effective charges of the sites' atoms, e; those of other atoms stay.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if there are fewer `charges` than atoms; what the driver says against the launch.
    pub fn enqueue_charges(&self, stream: &Stream, charges: &Buffer<f64>) -> Result<(), DeviceError> {
        let (t, n) = (&self.tables, self.tables.atoms.len());
        charges.holds(t.n_atoms)?;
        let arguments = ChargeArgs {
            starts: t.starts.arg(),
            values: t.values.arg(),
            first_weight: t.first_weights.arg(),
            site_of: t.site_of.arg(),
            atoms: t.atoms.arg(),
            form_charges: t.charges.arg(),
            weights: self.weights.arg(),
            charges: charges.arg(),
            n_atoms: n as i32,
        };
        stream.launch(&self.charges_kernel, Launch::for_each(n, THREADS), arguments)
    }

    /// What Hamiltonian interpolation adds to forces, energies and ∂V/∂λ, of all sites before the first buffer, from `positions` (nm, 3 N)
    /// and the present weights: the bracket of [`crate::interpolation`], twin of [`interpolate`](crate::interpolation::interpolate) but for the potentials. It goes before [`enqueue_derivatives`](Self::enqueue_derivatives).
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer is shorter than that; what the driver says against the launch.
    pub fn enqueue_interpolation(
        &self,
        stream: &Stream,
        positions: &Buffer<f64>,
        corrected: &Corrected<'_>,
    ) -> Result<(), DeviceError> {
        let t = &self.tables;
        positions.holds(3 * t.n_atoms)?;
        corrected.forces.holds(3 * t.n_atoms)?;
        corrected.energies.holds(corrected.slots[0].max(corrected.slots[1]) + 1)?;
        if t.interpolated == 0 {
            return Ok(());
        }
        let arguments = BracketArgs {
            starts: t.starts.arg(),
            values: t.values.arg(),
            first_weight: t.first_weights.arg(),
            form_charges: t.charges.arg(),
            pair_starts: t.pair_starts.arg(),
            pairs: t.pairs.arg(),
            scales: t.scales.arg(),
            weights: self.weights.arg(),
            x: positions.arg(),
            forces: corrected.forces.arg(),
            energy: Out::from_element(corrected.energies, corrected.slots[0]),
            virial: Out::from_element(corrected.energies, corrected.slots[1]),
            bracket: self.bracket.arg(),
            coulomb: COULOMB,
        };
        stream.launch(&self.bracket_kernel, Launch::new(t.interpolated as u32, THREADS), arguments)
    }

    /// ∂V/∂λ of the force field; with `hamiltonian` that of Hamiltonian interpolation, of all sites before the first buffer, and without it, and of the
    /// others, that of charge interpolation.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if potentials are fewer than atoms, or other terms fewer than weights; what the driver says against the launch.
    pub fn enqueue_derivatives(
        &self,
        stream: &Stream,
        whole: &Whole<'_>,
        hamiltonian: bool,
    ) -> Result<(), DeviceError> {
        let t = &self.tables;
        whole.potential.holds(t.n_atoms)?;
        whole.potential_14.holds(t.n_atoms)?;
        whole.others.map_or(Ok(()), |others| others.holds(self.weights.len()))?;
        let arguments = DifferentiateArgs {
            starts: t.starts.arg(),
            values: t.values.arg(),
            first_weight: t.first_weights.arg(),
            atoms: t.atoms.arg(),
            form_charges: t.charges.arg(),
            potential: whole.potential.arg(),
            potential_14: whole.potential_14.arg(),
            bracket: self.bracket.arg(),
            others: whole.others.into(),
            derivatives: self.derivatives.arg(),
            coulomb: COULOMB,
            n_hamiltonian: if hamiltonian { t.interpolated as i32 } else { 0 },
        };
        stream.launch(&self.derivatives_kernel, Launch::new(self.len() as u32, THREADS), arguments)
    }
}

/// Kernels of the charges and of ∂V/∂λ, for sites of at most so many forms.
pub(super) fn source(forms: usize) -> Source {
    Source::new("sites", include_str!("sites.cu"))
        .define("REAL", "double")
        .define("THREADS", THREADS)
        .define("FORMS", forms)
        .early_kernel::<ChargeArgs<'static>>("set_charges")
        .kernel::<BracketArgs<'static>>("bracket_sites")
        .early_kernel::<DifferentiateArgs<'static>>("differentiate_sites")
}
