//! Boundary conditions: in how many directions a system repeats, and along which vectors.
//!
//! Three periods make a cell with all its images, in conducting surroundings (tin-foil). Two make a slab and one a wire, open across; their
//! energy is infinite unless they are neutral. Vectors may have any direction and any angles between them, and the caller's unit of length.

use crate::FmmError;

/// Directions in which the system repeats, in the caller's unit of length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Boundary {
    /// No images: the particles are alone in open space.
    Open,
    /// Images along one vector of any direction; neutral charges only. The sum is taken symmetrically, without the constant that a
    /// net charge would make infinite.
    Wire {
        /// Translation to the next image.
        period: [f64; 3],
    },
    /// Images in a plane of any orientation, open along its normal; neutral charges only.
    Slab {
        /// Translations to the next images, not parallel.
        periods: [[f64; 3]; 2],
    },
    /// Images of any cell in all three directions, with conducting surroundings (tin-foil); a net charge is neutralised by a uniform
    /// background.
    Periodic {
        /// Vectors of the cell, one in each row.
        cell: [[f64; 3]; 3],
    },
}

impl Boundary {
    /// A periodic rectangular cell with its edges along x, y, z.
    #[must_use]
    pub const fn rectangular(edges: [f64; 3]) -> Self {
        Self::Periodic { cell: [[edges[0], 0.0, 0.0], [0.0, edges[1], 0.0], [0.0, 0.0, edges[2]]] }
    }

    /// The translations to the next images.
    #[must_use]
    pub fn periods(&self) -> &[[f64; 3]] {
        match self {
            Self::Open => &[],
            Self::Wire { period } => std::slice::from_ref(period),
            Self::Slab { periods } => periods,
            Self::Periodic { cell } => cell,
        }
    }

    /// Whether each axis of the grid repeats: the periods come first.
    #[must_use]
    pub fn periodic(&self) -> [bool; 3] {
        [0, 1, 2].map(|a| a < self.periods().len())
    }

    /// Volume of the cell, if it repeats in three directions.
    #[must_use]
    pub fn volume(&self) -> Option<f64> {
        let Self::Periodic { cell: [a, b, c] } = self else { return None };
        Some(dot(*a, cross(*b, *c)).abs())
    }

    /// Distances between neighbouring planes of images: of each period the part that is orthogonal to the periods after it, so that the last one
    /// counts with its length. No two images are nearer than the smallest of these.
    #[must_use]
    pub fn heights(&self) -> Vec<f64> {
        match *self {
            Self::Open => vec![],
            Self::Wire { period } => vec![norm(period)],
            Self::Slab { periods: [a, b] } => vec![norm(cross(a, b)) / norm(b), norm(b)],
            Self::Periodic { cell: [a, b, c] } => {
                let face = norm(cross(b, c));
                vec![dot(a, cross(b, c)).abs() / face, face / norm(c), norm(c)]
            }
        }
    }

    /// Length of the shortest image of `d`, or of one nearly as short in a very oblique cell.
    pub(crate) fn nearest(&self, mut d: [f64; 3]) -> f64 {
        let less = |d: [f64; 3], p: &[f64; 3], times: f64| [0, 1, 2].map(|x| d[x] - times * p[x]);
        for _ in 0..3 {
            for p in self.periods() {
                d = less(d, p, (dot(d, *p) / dot(*p, *p)).round());
            }
        }
        let mut images = vec![d];
        for p in self.periods() {
            images = images.iter().flat_map(|d| [-1.0, 0.0, 1.0].map(|times| less(*d, p, times))).collect();
        }
        images.into_iter().map(norm).fold(f64::INFINITY, f64::min)
    }

    /// # Errors
    /// Periods that are not finite or not independent.
    pub fn check(&self) -> Result<(), FmmError> {
        let periods = self.periods();
        // The volume, area or length that the periods span is compared with the product of their lengths.
        let lengths: f64 = periods.iter().map(|p| norm(*p)).product();
        let spanned = match periods {
            [] => return Ok(()),
            [p] => norm(*p),
            [p, q] => norm(cross(*p, *q)),
            [p, q, r, ..] => dot(*p, cross(*q, *r)).abs(),
        };
        if lengths.is_finite() && lengths > 0.0 && spanned > 1e-6 * lengths {
            return Ok(());
        }
        Err(FmmError::Periods { periods: periods.to_vec() })
    }

    /// The same where `unit` is the unit of length.
    pub(crate) fn in_units_of(&self, unit: f64) -> Self {
        let scaled = |period: [f64; 3]| period.map(|x| x / unit);
        match *self {
            Self::Open => Self::Open,
            Self::Wire { period } => Self::Wire { period: scaled(period) },
            Self::Slab { periods } => Self::Slab { periods: periods.map(scaled) },
            Self::Periodic { cell } => Self::Periodic { cell: cell.map(scaled) },
        }
    }

    /// Whether a solver that was made for this boundary can go on with `next`.
    ///
    /// # Errors
    /// Periods that are not finite or not independent; another number of them ([`FmmError::Kind`]).
    pub(crate) fn check_next(&self, next: &Self) -> Result<(), FmmError> {
        next.check()?;
        let [before, after] = [self, next].map(|boundary| boundary.periods().len());
        if before == after { Ok(()) } else { Err(FmmError::Kind { before, after }) }
    }
}

/// A power of two near the largest of these lengths, whatever their signs; those that are no numbers are left out. Numbers in units of it are exact, and
/// products of several stay within the range of f64.
pub(crate) fn unit_of(lengths: impl Iterator<Item = f64>) -> f64 {
    let largest = lengths.map(f64::abs).filter(|x| x.is_finite()).fold(0.0, f64::max);
    // Smaller or larger ones would have no reciprocal.
    if largest > 0.0 { largest.log2().round().clamp(-1000.0, 1000.0).exp2() } else { 1.0 }
}

pub(crate) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(crate) fn norm(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}
