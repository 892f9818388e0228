//! What can be wrong with a request to the FMM, one variant for each thing that the caller can correct.

use thiserror::Error;

use crate::geometry::exclusions::ExclusionError;
use crate::geometry::grid::MAX_OPENING;
use crate::geometry::tree::MAX_ROOT;
use crate::solver::evaluation::MAX_STRAY;

/// Errors of [`Fmm`](crate::Fmm). Particles are counted from 0.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FmmError {
    /// The periods are not finite or not independent.
    #[error(
        "periods {periods:?}: they must be finite, not zero and point in different directions, and the product of their lengths within the range of numbers"
    )]
    Periods {
        /// The periods found.
        periods: Vec<[f64; 3]>,
    },
    /// The order is not supported.
    #[error("order {order}: the highest is {max}")]
    Order {
        /// The order found.
        order: usize,
        /// The highest supported.
        max: usize,
    },
    /// The tolerance is out of range.
    #[error("tolerance {tolerance:e}: must lie between {least:e} and {most:e}{}", if *.least > 1e-12 { " in single precision" } else { "" })]
    Tolerance {
        /// The tolerance found.
        tolerance: f64,
        /// The least for this precision.
        least: f64,
        /// The largest.
        most: f64,
    },
    /// Rounding of coordinates, relative to the edge of a leaf box, makes larger errors than the tolerance: boxes had to be large for a particle far away, or for another
    /// crowd.
    #[error(
        "{particles} particles crowd within {extent:.1e} of the edge of their leaf box, where rounding of coordinates in {} precision makes errors of some {error:.1e} of their forces, above the tolerance of {tolerance:e}: {}is there a particle that should not be so far away? Otherwise choose a tree with smaller boxes, or the direct sum",
        if *.single { "single" } else { "double" }, if *.single { "take double precision; " } else { "" }
    )]
    Rounding {
        /// Particles in the box.
        particles: usize,
        /// Edge of the cube around them, in edges of the box.
        extent: f64,
        /// Estimated relative error of their forces.
        error: f64,
        /// The tolerance asked for.
        tolerance: f64,
        /// Whether the solver works in f32.
        single: bool,
    },
    /// Rounding of coordinates makes errors of the forces of the closest pairs, and with them of all forces, that take more than 0.95 of the tolerance.
    #[error(
        "particles {i} and {j} are {distance:.1e} apart, so close that rounding of coordinates in {} precision makes an error of {error:.1e} of all forces, more than 0.95 of the tolerance of {tolerance:e}: {}",
        if *.single { "single" } else { "double" },
        if *.single { "take double precision, or exclude the pair if it does not interact" } else { "exclude the pair if it does not interact, or take the direct sum" }
    )]
    ClosePair {
        /// First particle of the pair that suffers most.
        i: usize,
        /// Second particle.
        j: usize,
        /// Their distance, in the units of the positions.
        distance: f64,
        /// Relative error of all forces that close pairs make, as the root of the mean square.
        error: f64,
        /// The tolerance asked for.
        tolerance: f64,
        /// Whether the solver works in f32.
        single: bool,
    },
    /// The tree is empty or too large.
    #[error(
        "tree with root grid {root:?} refined {depth} times: each axis needs 1 to {max_root} root boxes and at most {max} leaf boxes"
    )]
    Tree {
        /// Boxes of the root grid per axis.
        root: [usize; 3],
        /// Number of refinements.
        depth: usize,
        /// Most root boxes per axis.
        max_root: usize,
        /// Most leaf boxes per axis.
        max: usize,
    },
    /// The separation is out of range.
    #[error("separation {separation}: must lie between 1 and 4 box diameters")]
    Separation {
        /// The separation found.
        separation: f64,
    },
    /// The width of soft box faces is out of range.
    #[error("soft faces of width {width}: must lie above 0 and at most at half a box edge")]
    Width {
        /// The width found, in box edges.
        width: f64,
    },
    /// Soft box faces need boxes that stay where they are.
    #[error("soft faces need a cell that repeats in three directions; this one repeats in {periods}")]
    SoftFaces {
        /// Number of periods.
        periods: usize,
    },
    /// The boxes are too long or too thin, or their size is no number.
    #[error("{}", unfit(*.near, *.ratio))]
    Boxes {
        /// Boxes that may be near.
        near: f64,
        /// Longest edge of a box over its smallest height.
        ratio: f64,
    },
    /// Slabs and wires must be neutral.
    #[error("net charge {charge:e}: a cell that repeats in one or two directions must be neutral")]
    Charged {
        /// Sum of the charges.
        charge: f64,
    },
    /// The opening of a treecode is out of range.
    #[error("opening {opening}: must lie between 0.1 and 1.9 box diameters per distance")]
    Opening {
        /// The opening found.
        opening: f64,
    },
    /// The method knows no images.
    #[error("{method}: open boundary only, but there are {periods} periods; the fast multipole method takes them")]
    OpenOnly {
        /// Name of the method.
        method: &'static str,
        /// Number of periods wanted.
        periods: usize,
    },
    /// A boundary was replaced by one of another kind.
    #[error("the number of periods cannot change from {before} to {after}: make a new solver")]
    Kind {
        /// Periods of the solver.
        before: usize,
        /// Periods wanted.
        after: usize,
    },
    /// A particle lies so many cells away that its place in the cell is lost to rounding.
    #[error("particle {particle} lies more than 1e8 cells away: wrap the positions into the cell first")]
    TooFar {
        /// The particle.
        particle: usize,
    },
    /// A list has the wrong length.
    #[error("{what}: expected {expected} entries, found {found}")]
    Length {
        /// Which list.
        what: &'static str,
        /// Entries wanted.
        expected: usize,
        /// Entries found.
        found: usize,
    },
    /// A target that is not a particle.
    #[error("target {target} does not exist: there are {n} particles")]
    Target {
        /// As given.
        target: u32,
        /// Number of particles.
        n: usize,
    },
    /// A coordinate or charge is NaN or infinite.
    #[error("particle {particle}: {what} is not finite")]
    NotFinite {
        /// The particle.
        particle: usize,
        /// "position" or "charge".
        what: &'static str,
    },
    /// Two particles sit on the same point, without an exclusion between them. That is refused even if neither has a charge.
    #[error("{} at the same position: the potential there is infinite", match other { Some(other) => format!("particles {particle} and {other} sit"), None => format!("particle {particle} and another one sit") })]
    Coincident {
        /// The particle.
        particle: usize,
        /// The other one, if it is known.
        other: Option<usize>,
    },
    /// A result that is not finite although all positions and charges are.
    #[error(
        "particle {particle}: its potential or field is beyond the range of the numbers; other units may help, or double precision"
    )]
    Overflow {
        /// The particle.
        particle: usize,
    },
    /// A particle has left the box that it was assigned to.
    #[error("particle {particle} lies {} box edges outside of the box that it was assigned to, at most {most} are allowed: assign the particles again", if *.boxes < 1e4 { format!("{boxes:.2}") } else { format!("{boxes:.1e}") }, most = MAX_STRAY)]
    Strayed {
        /// The particle.
        particle: usize,
        /// How far from the nearest point of its box, in box edges along one axis.
        boxes: f64,
    },
    /// The cell has changed its shape too much for the near boxes that were chosen.
    #[error("the cell has changed its shape so much that expansions of boxes that are not near no longer converge (diameter over distance {opening:.2}, at most {most} is allowed): make a new solver", most = MAX_OPENING)]
    Strained {
        /// Diameter of a box over the distance of the nearest box that is not near.
        opening: f64,
    },
    /// What is wrong with one of several charge vectors.
    #[error("charge vector {vector}: {error}")]
    Vector {
        /// The vector, counted from 0.
        vector: usize,
        /// What is wrong with it.
        error: Box<FmmError>,
    },
    /// A charge of a particle that was to have none.
    #[error("particle {particle} has charge {charge:e}, but was left out as one without charge")]
    LeftOut {
        /// The particle.
        particle: usize,
        /// Its charge.
        charge: f64,
    },
    /// An excluded pair does not lie in near boxes.
    #[error("excluded pair {i}, {j} lies farther apart than two near boxes; choose fewer, larger leaf boxes")]
    ExclusionTooFar {
        /// First particle.
        i: usize,
        /// Second particle.
        j: usize,
    },
    /// `evaluate` was called before `assign`.
    #[error("assign() must be called before evaluate()")]
    NotAssigned,
    /// `virial` was called before `evaluate`.
    #[error("evaluate() must be called before virial()")]
    NotEvaluated,
    /// The diagonal of the virial of a refined tree.
    #[error("the tree is refined {depth} times: the virial along single axes is known for trees without refinement")]
    RefinedVirial {
        /// Number of refinements.
        depth: usize,
    },
    /// A tree with too many boxes for a device, where empty ones count too.
    #[error("{boxes} leaf boxes; on a GPU a tree has at most {max}, empty ones included")]
    DeviceBoxes {
        /// Number of leaf boxes.
        boxes: usize,
        /// Most there may be.
        max: usize,
    },
    /// More particles than indices on a device count.
    #[error("{particles} particles; at most {max} fit on one GPU")]
    DeviceParticles {
        /// Number of particles.
        particles: usize,
        /// Most that fit.
        max: usize,
    },
    /// A list of excluded pairs that is none.
    #[error(transparent)]
    Exclusions(#[from] ExclusionError),
    /// The device failed.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Device(#[from] kernels::device::DeviceError),
}

/// What [`FmmError::Boxes`] says of boxes `ratio` times as long as thin, of which `near` may be near each other.
fn unfit(near: f64, ratio: f64) -> String {
    if !near.is_finite() {
        return "boxes whose size or shape is beyond the range of the numbers: take other units of length".into();
    }
    format!(
        "boxes {ratio:.1e} times as long as thin, of which {near:.1e} may be near each other: \
         they may be some 40 times as long as wide, or 500 times as wide as thin. \
         Take a root grid of near-cubic boxes; it has at most {MAX_ROOT} boxes per axis, \
         so that a cell that is more than some 2500 times as long as wide, or 30000 times as wide as thin, \
         needs several copies of itself and its particles side by side"
    )
}

impl FmmError {
    /// The same for particles that have other numbers for the caller.
    pub(crate) fn renamed(self, of: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::TooFar { particle } => Self::TooFar { particle: of(particle) },
            Self::NotFinite { particle, what } => Self::NotFinite { particle: of(particle), what },
            Self::Coincident { particle, other } => Self::Coincident { particle: of(particle), other: other.map(of) },
            Self::Overflow { particle } => Self::Overflow { particle: of(particle) },
            Self::Strayed { particle, boxes } => Self::Strayed { particle: of(particle), boxes },
            Self::ExclusionTooFar { i, j } => Self::ExclusionTooFar { i: of(i), j: of(j) },
            Self::ClosePair { i, j, distance, error, tolerance, single } => {
                Self::ClosePair { i: of(i), j: of(j), distance, error, tolerance, single }
            }
            other => other,
        }
    }

    /// The same of one of several charge vectors, if it is wrong with the charges.
    pub(crate) fn of_vector(self, vector: usize) -> Self {
        match self {
            Self::Length { what: "charges", .. }
            | Self::NotFinite { what: "charge", .. }
            | Self::Charged { .. }
            | Self::ClosePair { .. }
            | Self::Overflow { .. } => Self::Vector { vector, error: Box::new(self) },
            other => other,
        }
    }
}
