//! Settings for a wanted accuracy: an estimate, a trial, a comparison with exact sums at some of the particles, and the next trial.
//!
//! The truncation of boxes whose centres are t apart, in units of their diameter D, falls with the order as a power of θ = D / t. Averaged
//! over where particles are, with the nearest of the far boxes deciding, forces were found to follow
//!
//!   ε = C ρ^p,   ρ = 0.72 θ − 0.09
//!
//! within a factor of two from order 4 to 28 for θ from 0.58 (93 near boxes) to 0.87 (27): C = 0.08 for water, taken as 0.1, 0.01 for uncorrelated charges
//! (disordered systems of 6 000 charges in a periodic cube, f64, 343 boxes). [`tune`] measures C for the system at hand.

use std::ops::RangeInclusive;

use kernels::Real;

use crate::FmmError;
use crate::coulomb::Coulomb;
use crate::geometry::assignment::{Assignment, Geometry};
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::{BoxGrid, NearSet, box_vectors};
use crate::geometry::tree::TreeShape;
use crate::potentials::Potentials;
use crate::reference::ewald::{self, EwaldError};
use crate::solver::Fmm;
use crate::solver::settings::{MAX_ORDER, Settings};
use crate::tuning::close_pairs::{self, Evaluated};
use crate::tuning::cost::Workload;

/// C of water, which is the largest of all systems that were looked at.
const WATER: f64 = 0.1;

/// Separations that are tried: 27, 33, 57, 81 and 93 near boxes in a cubic grid.
const SEPARATIONS: [f64; 5] = [Settings::TOUCHING, 1.2, 1.35, 1.5, Settings::TWO_APART];

/// An error that is measured at some of the particles only must stay below this fraction of the tolerance.
pub const MEASURED_FRACTION: f64 = 0.7;

/// An error that is only estimated must stay below this fraction of the tolerance. The estimate is good within a factor of two, from order 4 on; with half of the
/// tolerance and order 4 some systems of water had 1.05 of what was asked for.
const ESTIMATED_FRACTION: f64 = 0.4;

/// Lowest order that an estimate alone may choose.
const LOWEST_ORDER: usize = 5;

/// Particles whose exact forces are computed.
const SAMPLES: usize = 200;

/// Trials before giving up.
const TRIALS: usize = 8;

/// What is to be accurate, and how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Relative error of the forces q E, as the root of the mean square over all particles.
    Force(f64),
    /// Relative error of the energy; the absolute one where that is zero.
    Energy(f64),
    /// Error of the energy in the caller's units, charge² / length.
    AbsoluteEnergy(f64),
}

impl Tolerance {
    /// The largest error allowed.
    #[must_use]
    pub fn value(&self) -> f64 {
        let (Self::Force(value) | Self::Energy(value) | Self::AbsoluteEnergy(value)) = *self;
        value
    }
}

/// Why no settings were found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TuneError {
    /// The tolerance is not a positive number.
    #[error("tolerance {value:e}: it must be positive and finite")]
    Tolerance {
        /// The tolerance as it was given.
        value: f64,
    },
    /// None of the settings that were tried is accurate enough.
    #[error("the smallest error reached is {reached:.1e}, {wanted:.1e} is wanted; {}", if *.single { "single precision ends near 1e-6 of the forces: take double precision" } else { "rounding in double precision sets the limit" })]
    OutOfReach {
        /// The best error of all trials.
        reached: f64,
        /// What was asked for.
        wanted: f64,
        /// Whether the solver works in f32.
        single: bool,
    },
    /// The FMM refused.
    #[error(transparent)]
    Fmm(#[from] FmmError),
    /// The exact sum refused.
    #[error(transparent)]
    Exact(#[from] EwaldError),
}

/// One evaluation on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The settings that were tried.
    pub settings: Settings,
    /// The error that was expected.
    pub expected: f64,
    /// The error that was found.
    pub found: f64,
    /// Estimated seconds of an evaluation, on one core or on the device.
    pub cost: f64,
}

/// Settings that keep a tolerance for one system.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The cheapest of those that are accurate enough.
    pub settings: Settings,
    /// Its measured error: at `samples` particles, or of the energy.
    pub error: f64,
    /// Number of particles with exact forces.
    pub samples: usize,
    /// Everything that was tried, in this order.
    pub trials: Vec<Trial>,
}

/// Tolerances that [`estimate`] takes. The estimate holds up to the largest; rounding of the precision sets the least: the forces of single precision end between
/// 4e-7 and 5e-6.
#[must_use]
pub fn tolerances<T: Real>() -> RangeInclusive<f64> {
    if size_of::<T>() == 4 { 1e-5..=0.1 } else { 1e-12..=0.1 }
}

/// Settings for a relative force error, as the root of the mean square over all particles, of at most `tolerance` in water: the cheapest, by the cost model, that
/// are expected to keep 0.4 of it, because the estimate is good within a factor of two. Other disordered systems do the same or better; crystals, whose forces nearly
/// cancel, do not. See [`tune`] for settings that are checked.
///
/// # Errors
/// [`FmmError::Tolerance`] if the tolerance is none of [`tolerances`].
#[inline(never)]
pub fn estimate<T: Real>(tolerance: f64, workload: &Workload) -> Result<Settings, FmmError> {
    let allowed = tolerances::<T>();
    if !allowed.contains(&tolerance) {
        return Err(FmmError::Tolerance { tolerance, least: *allowed.start(), most: *allowed.end() });
    }
    let trees: Trees = &|order, separation| TreeShape::with_cost::<T>(order, separation, workload);
    let found = cheapest(ESTIMATED_FRACTION * tolerance / WATER, workload, trees);
    // The least tolerance needs order 57 of boxes of any shape: the highest order is never too low.
    let found = found.map_or(Settings::new(MAX_ORDER, TreeShape::near_cubic(workload.edges, 0)), |found| found.0);
    Ok(Settings { order: found.order.max(LOWEST_ORDER), ..found })
}

/// Relative force error expected of `settings` in water, an estimate within a factor of two from order 4 on and above the rounding of the
/// precision; other disordered systems do the same or better, crystals do not.
#[must_use]
pub fn expected(settings: &Settings, workload: &Workload) -> f64 {
    WATER * rate(&settings.tree, settings.separation, workload).powi(settings.order as i32)
}

/// The tree for an order and a separation, and the estimated seconds of an evaluation.
pub(crate) type Trees<'a> = &'a dyn Fn(usize, f64) -> (TreeShape, f64);

/// Cheapest settings with ρ^p ≤ `decay`, with ρ^p and cost.
fn cheapest(decay: f64, workload: &Workload, trees: Trees) -> Option<(Settings, f64, f64)> {
    let mut best: Option<(Settings, f64, f64)> = None;
    for separation in SEPARATIONS {
        // The shape of the boxes, and with it ρ, depends on the tree, which depends on the order: twice is enough.
        let mut order = 8;
        for _ in 0..2 {
            let (tree, _) = trees(order, separation);
            order = (decay.ln() / rate(&tree, separation, workload).ln()).ceil().clamp(1.0, 1e3) as usize;
            if order > MAX_ORDER {
                break;
            }
        }
        if order > MAX_ORDER {
            continue;
        }
        let (tree, cost) = trees(order, separation);
        let reached = rate(&tree, separation, workload).powi(order as i32);
        if best.as_ref().is_none_or(|b| cost < b.2) {
            best = Some((Settings { order, tree, separation }, reached, cost));
        }
    }
    best
}

/// ρ for the boxes of a tree.
fn rate(tree: &TreeShape, separation: f64, workload: &Workload) -> f64 {
    let open_edge = (0..3).map(|a| workload.edges[a] / tree.root[a] as f64).fold(0.0, f64::max);
    let (basis, _) = box_vectors(&workload.boundary, tree.root, open_edge);
    0.72 * NearSet::checked(&basis, separation).map_or(1.0, |near| near.opening(&basis)) - 0.09
}

/// The cheapest settings, by the cost model, that keep `tolerance` for these particles, checked: forces against the direct or the Ewald sum
/// at up to 200 particles, energies against an FMM in double precision that is ten orders higher.
///
/// # Errors
/// A tolerance that is not positive, or out of reach of the precision `T`; [`FmmError::ClosePair`] where rounding of the coordinates of close pairs makes larger errors of
/// the forces ([`Fmm::check_close_pairs`] looks for them again where particles have moved); what [`Fmm`] and [`ewald`] refuse.
#[inline(never)]
pub fn tune<T: Real>(
    boundary: &Boundary,
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
    minimum_leaf: f64,
    tolerance: Tolerance,
) -> Result<Tuned, TuneError> {
    boundary.check()?;
    let workload = Workload::in_own_unit(boundary, positions, minimum_leaf);
    let system = System { boundary, positions, charges, exclusions };
    let method = Method {
        single: size_of::<T>() == 4,
        trees: &|order, separation| TreeShape::with_cost::<T>(order, separation, &workload),
        evaluate: &|settings| system.evaluate(&mut Fmm::<T>::new(*boundary, settings)?),
        reference: &|settings| system.reference(settings),
        check: &|settings, out, tolerance| system.check_close_pairs::<T>(settings, out, tolerance),
    };
    tune_by(&method, &workload, &system, tolerance)
}

/// The method whose settings are looked for.
pub(crate) struct Method<'a> {
    /// Whether it works in f32.
    pub single: bool,
    /// The tree for an order and a separation, and what an evaluation costs.
    pub trees: Trees<'a>,
    /// Energy, potentials and fields with these settings.
    pub evaluate: &'a dyn Fn(Settings) -> Result<(f64, Potentials), FmmError>,
    /// An energy that is more accurate than any that is tried.
    pub reference: &'a dyn Fn(Settings) -> Result<f64, FmmError>,
    /// Whether close pairs leave the forces of an evaluation with these settings as accurate as is wanted.
    pub check: &'a dyn Fn(Settings, &Potentials, f64) -> Result<(), FmmError>,
}

/// The cheapest settings of a method that keep a tolerance.
pub(crate) fn tune_by(
    method: &Method,
    workload: &Workload,
    system: &System,
    tolerance: Tolerance,
) -> Result<Tuned, TuneError> {
    let &System { boundary, positions, charges, exclusions } = system;
    let wanted = tolerance.value();
    if !(wanted > 0.0 && wanted.is_finite()) {
        return Err(TuneError::Tolerance { value: wanted });
    }
    let step = positions.len().div_ceil(SAMPLES).max(1);
    let targets: Vec<u32> = (0..positions.len() as u32).step_by(step).collect();
    let exact = match tolerance {
        Tolerance::Force(_) => {
            let accuracy = (1e-3 * wanted).clamp(1e-16, 1e-6);
            Some(ewald::at(boundary, positions, charges, exclusions, &targets, accuracy)?)
        }
        _ => None,
    };
    let mut tuned = Tuned {
        settings: Settings::new(0, TreeShape::near_cubic(workload.edges, 0)),
        error: f64::INFINITY,
        samples: targets.len(),
        trials: Vec::new(),
    };
    let (mut best_cost, mut reached) = (f64::INFINITY, f64::INFINITY);
    let (mut constant, mut evaluated) = (WATER, Potentials::default());
    for _ in 0..TRIALS {
        let Some((settings, decay, cost)) = cheapest(MEASURED_FRACTION * wanted / constant, workload, method.trees)
        else {
            break;
        };
        if tuned.trials.iter().any(|t: &Trial| t.settings == settings) {
            break;
        }
        let (energy, out) = (method.evaluate)(settings)?;
        let found = match (tolerance, &exact) {
            (Tolerance::Force(_), Some(exact)) => force_error(&out, exact, charges, &targets),
            _ => {
                let reference = (method.reference)(settings)?;
                let relative = matches!(tolerance, Tolerance::Energy(_)) && reference != 0.0;
                (energy - reference).abs() / if relative { reference.abs() } else { 1.0 }
            }
        };
        tuned.trials.push(Trial { settings, expected: constant * decay, found, cost });
        reached = found.min(reached);
        // The one tree that has room for the pairs of a workload has no cost: then the lowest order is the cheapest.
        let cheaper = cost < best_cost || (cost == best_cost && settings.order < tuned.settings.order);
        if found <= MEASURED_FRACTION * wanted && (cheaper || tuned.error.is_infinite()) {
            (tuned.settings, tuned.error, best_cost, evaluated) = (settings, found, cost, out);
        }
        // Energies may agree by chance. They are believed to be no better than a hundredth of the estimate for the forces of uncorrelated charges (C = 0.01).
        constant = (found / decay).max(1e-3 * WATER);
    }
    if tuned.error.is_infinite() {
        return Err(TuneError::OutOfReach { reached, wanted, single: method.single });
    }
    if let Tolerance::Force(wanted) = tolerance {
        // The particles whose forces were compared are a few of them and need not be those that are close.
        (method.check)(tuned.settings, &evaluated, wanted)?;
    }
    Ok(tuned)
}

/// The system that settings are looked for.
pub(crate) struct System<'a> {
    pub boundary: &'a Boundary,
    pub positions: &'a [[f64; 3]],
    pub charges: &'a [f64],
    pub exclusions: &'a Exclusions,
}

impl System<'_> {
    /// Energy, potentials and fields by a solver.
    pub fn evaluate(&self, fmm: &mut dyn Coulomb) -> Result<(f64, Potentials), FmmError> {
        fmm.assign(self.positions, self.exclusions)?;
        let mut out = Potentials::default();
        let energy = fmm.evaluate(self.positions, self.charges, &mut out)?;
        Ok((energy, out))
    }

    /// Whether rounding of the coordinates of close pairs in precision `T` leaves the forces of `out`, evaluated with these settings on any machine, as accurate as
    /// `tolerance` asks for.
    pub fn check_close_pairs<T: Real>(
        &self,
        settings: Settings,
        out: &Potentials,
        tolerance: f64,
    ) -> Result<(), FmmError> {
        let &Self { boundary, positions, charges, exclusions } = self;
        let geometry = Geometry::new(boundary, settings.tree, positions);
        let near = NearSet::checked(&geometry.unit_basis(), settings.separation)?;
        let to = Assignment::new(geometry, &near, positions, exclusions)?;
        let grid = BoxGrid { topology: geometry.root(), basis: geometry.unit_basis(), near };
        let evaluated = Evaluated { positions, charges, fields: &out.field, exclusions };
        close_pairs::check::<T>(boundary, (&to, &grid), evaluated, tolerance)
    }

    /// The energy by expansions of ten more orders, and more near boxes.
    pub fn reference(&self, settings: Settings) -> Result<f64, FmmError> {
        let order = (settings.order + 10).min(MAX_ORDER);
        let separation = (1.2 * settings.separation).min(Settings::TWO_APART);
        let mut fmm = Fmm::<f64>::new(*self.boundary, Settings { order, separation, ..settings })?;
        Ok(self.evaluate(&mut fmm)?.0)
    }
}

/// Relative root mean square error of q E at the targets; the absolute one where all exact forces are zero.
fn force_error(out: &Potentials, exact: &Potentials, charges: &[f64], targets: &[u32]) -> f64 {
    let (mut difference, mut size) = (0.0, 0.0);
    for (target, exact) in targets.iter().zip(&exact.field) {
        let i = *target as usize;
        for (a, b) in out.field[i].iter().zip(exact) {
            difference += (charges[i] * (a - b)).powi(2);
            size += (charges[i] * b).powi(2);
        }
    }
    if size > 0.0 { (difference / size).sqrt() } else { difference.sqrt() }
}
