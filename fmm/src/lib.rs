//! Fast multipole method for the Coulomb potential: linear cost, any periodicity and cell shape.
//!
//! φ_i = Σ_j q_j / r_ij and E_i = −∇φ_i for every particle, k_e = 1: charge per length and per length squared, in the caller's units.
//! A [`Boundary`] repeats in none, one, two or three directions, along vectors of any direction. A cell, with three, has all its images in
//! conducting surroundings (tin-foil), and a uniform background neutralises a net charge. Wires and slabs, with one or two, must be neutral. An
//! excluded pair skips its nearest image only; all other images interact.
//!
//! ```
//! use fmm::{Boundary, Fmm, Potentials};
//!
//! // Rock salt: eight ions in a cube of edge 2, nearest neighbours at distance 1.
//! let positions: Vec<[f64; 3]> = (0..8).map(|i| [i & 1, i >> 1 & 1, i >> 2].map(|c| c as f64 + 0.4)).collect();
//! let charges: Vec<f64> = (0..8_u32).map(|i| if i.count_ones() % 2 == 0 { 1.0 } else { -1.0 }).collect();
//!
//! let mut fmm = Fmm::builder().boundary(Boundary::rectangular([2.0; 3])).tolerance(1e-9).build_for(&positions)?;
//! let mut out = Potentials::default();
//! let energy = fmm.evaluate(&positions, &charges, &mut out)?;
//! assert!((-energy / 4.0 - 1.747_564_594_633).abs() < 1e-9); // the Madelung constant
//! # Ok::<(), fmm::FmmError>(())
//! ```
//!
//! # Use
//! [`Fmm::builder`] makes a solver for a tolerance. [`Fmm::new`] is the way of those who choose order, tree and separation themselves
//! ([`Settings`]): it makes the operators. [`Fmm::assign`] sorts particles into boxes, [`Fmm::assign_with_targets`] also points without charge. [`Fmm::evaluate`] may then be called many times while
//! particles move a little and the cell scales ([`Fmm::set_boundary`]). [`Fmm::evaluate_vectors`] takes several charge vectors at once, each for less than an evaluation. All results are f64; the parameter `T` of [`Fmm`] is the precision of the inner loops.
//! Wrong input to a solver or to a sum is an error that names what is wrong, never a panic. `fmm::device`, with the feature `cuda`, which is on by default, is the
//! method on a GPU.
//!
//! Loops run on the pool of rayon that calls. Solvers, results and errors may go from thread to thread:
//!
//! ```
//! fn anywhere<T: Send + Sync + 'static>() {}
//! anywhere::<(fmm::Fmm<f64>, fmm::Potentials, fmm::FmmError)>();
//! ```
//!
//! # Method
//! Particles are sorted into the leaf boxes of a root grid refined `depth` times ([`TreeShape`]); refined levels hold occupied boxes only. Near
//! boxes interact directly (`kernels::p2p`), all others by expansions in real solid harmonics ([`harmonics`]). On the root grid M2L is one
//! cyclic convolution over all boxes and images, done in Fourier space: the lattice sums ([`lattice`]) give one operator per wave vector. Trees
//! of up to some 20 boxes per axis therefore need no refinement; [`TreeShape::auto`] chooses. Refined levels turn expansions so that M2L goes
//! along z ([`operators::m2l::rotation`]) from medium orders on; low orders use matrix products. Boxes of a triclinic cell are made nearly rectangular by shearing the grid.
//!
//! # Accuracy
//! [`accuracy::tune`] finds settings for a tolerance and checks them against exact sums; [`accuracy::estimate`] guesses them. The relative L2
//! error of the forces at order 8 is 4e-4 in disordered water and 5e-5 for uncorrelated charges, and each order more halves it. More near boxes
//! ([`Settings::separation`]) gain more: 81 instead of 27 make errors 30 times smaller at order 8. [`direct`] and [`ewald`] are the references it is tested
//! against. [`regularised`] makes the energy smooth where particles change boxes.

#![forbid(unsafe_code)]

mod builder;
mod checks;
mod coulomb;
#[cfg(feature = "cuda")]
pub mod device;
mod error;
mod geometry;
mod members;
pub mod operators;
pub mod potentials;
#[doc(hidden)]
pub mod precisions;
mod reference;
mod solver;
mod tuning;
mod workspace;

pub use builder::FmmBuilder;
pub use coulomb::Coulomb;
pub use error::FmmError;
pub use geometry::boundary::Boundary;
pub use geometry::exclusions::{self, Exclusions};
pub use geometry::tree::TreeShape;
pub use kernels::Real;
pub use members::{FmmOfMembers, Members};
pub use operators::{harmonics, lattice};
pub use potentials::Potentials;
pub use reference::direct::{self, Direct};
pub use reference::ewald;
pub use reference::treecode::{Treecode, TreecodeSettings};
pub use solver::Fmm;
pub use solver::operation_count::{StageFlops, Work};
pub use solver::regularised;
pub use solver::settings::{MAX_ORDER, Settings};
pub use solver::timings::StageTimings;
pub use tuning::accuracy;
pub use tuning::cost::Workload;
pub use tuning::density::Density;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
