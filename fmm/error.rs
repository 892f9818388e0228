//! What can be wrong with a request to the FMM.

use thiserror::Error;

/// Errors of [`Fmm`](crate::Fmm). Particles are counted from 0.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FmmError {
    /// A cell edge is not a positive finite number.
    #[error("cell edges {edges:?}: each must be positive and finite")]
    Edges {
        /// The edges found.
        edges: [f64; 3],
    },
    /// The periods are not finite or not independent.
    #[error("periods {periods:?}: they must be finite, not zero and point in different directions")]
    Periods {
        /// The periods found.
        periods: Vec<[f64; 3]>,
    },
    /// The order is not supported.
    #[error("order {order}: must lie between 1 and {max}")]
    Order {
        /// The order found.
        order: usize,
        /// The highest supported.
        max: usize,
    },
    /// The tree is empty or too large.
    #[error("tree with root grid {root:?} refined {depth} times: each axis needs 1 to {max} leaf boxes")]
    Tree {
        /// Boxes of the root grid per axis.
        root: [usize; 3],
        /// Number of refinements.
        depth: usize,
        /// Most leaf boxes per axis.
        max: usize,
    },
    /// The boxes are too far from cubic for the expansions to converge.
    #[error(
        "boxes with edges {edges:?} are too elongated: twice the shortest edge must exceed the diagonal; choose a root grid nearer to the cell's shape"
    )]
    Elongated {
        /// Edges of a leaf box.
        edges: [f64; 3],
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
    /// A coordinate or charge is NaN or infinite.
    #[error("particle {particle}: {what} is not finite")]
    NotFinite {
        /// The particle.
        particle: usize,
        /// "position" or "charge".
        what: &'static str,
    },
    /// Two particles sit on the same point, without an exclusion between them.
    #[error("particle {particle}: its potential is infinite; another particle sits at the same position")]
    Coincident {
        /// The particle.
        particle: usize,
    },
    /// An excluded pair does not lie in neighbouring boxes.
    #[error("excluded pair {i}, {j} lies farther apart than two neighbouring boxes; choose fewer, larger leaf boxes")]
    ExclusionTooFar {
        /// First particle.
        i: usize,
        /// Second particle.
        j: usize,
    },
    /// A group names a particle that is not there.
    #[error("group {group}: particle {particle} does not exist")]
    Particle {
        /// The group.
        group: usize,
        /// The particle.
        particle: usize,
    },
    /// There is no such group.
    #[error("group {group} does not exist")]
    Group {
        /// The group.
        group: usize,
    },
    /// `evaluate` was called before `assign`.
    #[error("assign() must be called before evaluate()")]
    NotAssigned,
}
