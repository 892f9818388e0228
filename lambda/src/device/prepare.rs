//! What follows from λ alone and moves λ later: launches of `prepare.cu`.

use kernels::device::{DeviceError, In, Launch, Out, Source, Stream, arguments, structure};

use super::DeviceSites;
use super::biases::{BiasRow, BiasTerms, TERMS};
use super::tables::{Shape, SiteRow};
use crate::bias::{barrier, entropy};

/// Threads of a block of the kernel with a site for each thread.
const THREADS: u32 = 32;

/// Threads for each site: a warp.
const WARP: u32 = 32;

structure! {
    /// Energies of the bias of one site, kJ/mol.
    pub struct BiasSums {
        /// Wells or parabolas between forms.
        pub barrier: f64,
        /// Walls.
        pub walls: f64,
        /// V_pH.
        pub ph: f64,
        /// V_MM.
        pub correction: f64,
        /// Correction of the measure.
        pub entropy: f64,
    }

    /// What follows from λ for one number of ξ.
    pub struct PreparedRow {
        /// J of dV/dξ = J (D − D̄).
        pub factor: f64,
        /// ∇Q, projected by the site, e.
        pub gradient: f64,
        /// Derivative of m Z by ξ, divided by m.
        pub bend: f64,
    }
}

arguments! {
    /// Arguments of `set_weights`.
    pub(super) struct WeightArgs<'a> {
        sites: In<'a, SiteRow>,
        xi: In<'a, f64>,
        weights: Out<'a, f64>,
        n_sites: i32,
    }

    /// Arguments of `prepare_sites`.
    pub(super) struct PrepareArgs<'a> {
        sites: In<'a, SiteRow>,
        /// Net charge of each form.
        charges: In<'a, f64>,
        biases: In<'a, BiasRow>,
        bias_terms: In<'a, BiasTerms>,
        coefficients: In<'a, f64>,
        acidity: In<'a, f64>,
        xi: In<'a, f64>,
        weights: In<'a, f64>,
        /// ∂V/∂λ of the bias, as the weights.
        bias: Out<'a, f64>,
        /// As ξ.
        prepared: Out<'a, PreparedRow>,
        /// Energies of each site.
        sums: Out<'a, BiasSums>,
        /// Z of each site.
        metric: Out<'a, f64>,
    }
}

impl DeviceSites {
    /// Weights at the coordinates that are on the device.
    pub(super) fn enqueue_weights(&self, stream: &Stream) -> Result<(), DeviceError> {
        let arguments = WeightArgs {
            sites: self.tables.motion.arg(),
            xi: self.coordinates.arg(),
            weights: self.weights.arg(),
            n_sites: self.len() as i32,
        };
        stream.launch(&self.weights_kernel, Launch::for_each(self.len(), THREADS), arguments)
    }

    /// The bias at the present λ, and all else that [`enqueue_advance`](Self::enqueue_advance) needs and that does not follow from forces.
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_prepare(&self, stream: &Stream) -> Result<(), DeviceError> {
        let (t, b) = (&self.tables, &self.biases);
        let arguments = PrepareArgs {
            sites: t.motion.arg(),
            charges: t.form_charges.arg(),
            biases: b.rows.arg(),
            bias_terms: b.terms.arg(),
            coefficients: b.coefficients.arg(),
            acidity: b.acidity.arg(),
            xi: self.coordinates.arg(),
            weights: self.weights.arg(),
            bias: self.bias.arg(),
            prepared: self.prepared.arg(),
            sums: self.bias_sums.arg(),
            metric: self.metric.arg(),
        };
        stream.launch(&self.prepare_kernel, Launch::new(self.len() as u32, WARP), arguments)
    }
}

/// Kernels of what follows from λ alone, for sites of some shape.
pub(super) fn source(shape: Shape) -> Source {
    let text = |v: f64| format!("{v:?}");
    let plain = Source::new("prepare", include_str!("prepare.cu"));
    let source = TERMS.iter().fold(plain, |source, (name, bit)| source.define(name, bit));
    shape
        .specialise(source)
        .define("THREADS", THREADS)
        .define("TIE", text(entropy::TIE))
        .define("REDUNDANT_POINTS", entropy::POINTS)
        .define("CENTRE_WIDTH", text(barrier::CENTRE_WIDTH))
        .define("WALL_HEIGHT", text(barrier::WALL_HEIGHT))
        .define("WALL_STEEPNESS", text(barrier::WALL_STEEPNESS))
        .define("WALL_OFFSET", text(barrier::WALL_OFFSET))
        .kernel::<WeightArgs<'static>>("set_weights")
        .kernel::<PrepareArgs<'static>>("prepare_sites")
}
