//! Wall-clock time of each stage of an evaluation.

use std::time::Instant;

/// Seconds spent in each stage of the last evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StageTimings {
    /// Sorted local coordinates.
    pub sort: f64,
    /// Charges to multipoles.
    pub p2m: f64,
    /// Multipoles to parents.
    pub m2m: f64,
    /// M2L on refined levels.
    pub m2l: f64,
    /// M2L on the root grid with all images, as a convolution.
    pub lattice: f64,
    /// Local expansions to children.
    pub l2l: f64,
    /// Local expansions to potentials and fields.
    pub l2p: f64,
    /// Multipole expansions to potentials and fields: treecode only.
    #[serde(default)]
    pub m2p: f64,
    /// Near field.
    pub p2p: f64,
    /// Sum of near and far field, trace term, order of the caller.
    pub gather: f64,
}

impl StageTimings {
    /// Sum of all stages.
    pub fn total(&self) -> f64 {
        let far = self.p2m + self.m2m + self.m2l + self.lattice + self.l2l + self.l2p + self.m2p;
        self.sort + far + self.p2p + self.gather
    }
}

/// Adds the time since its last call to a number of seconds.
pub fn stopwatch() -> impl FnMut(&mut f64) {
    let mut clock = Instant::now();
    move |seconds| {
        let now = Instant::now();
        *seconds += (now - clock).as_secs_f64();
        clock = now;
    }
}
