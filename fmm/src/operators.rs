//! The operators of the fast multipole method, one file each.
//!
//! | | from → to | |
//! |---|---|---|
//! | P2M | charges → multipole expansion of their leaf | `p2m.rs` |
//! | M2M | children → parent | `m2m.rs` |
//! | M2L | multipole → local expansion of a distant box | `m2l/`: all images of the root grid at once, or pair by pair on refined levels |
//! | L2L | parent → children | `l2l.rs` |
//! | L2P | local expansion → potential and field | `l2p.rs` |
//! | P2P | charges → potential and field near by | `p2p.rs`, [`kernels::p2p`] |
//! | M2P | multipole expansion → potential and field far away (treecode only) | `m2p.rs` |
//!
//! Expansions are in real solid harmonics ([`harmonics`]).

pub(crate) mod expansion;
pub(crate) mod field_table;
pub mod gradient;
pub mod harmonics;
pub(crate) mod l2l;
pub(crate) mod l2p;
pub mod lattice;
pub mod m2l;
pub mod m2m;
pub(crate) mod m2p;
pub(crate) mod p2m;
pub(crate) mod p2p;
