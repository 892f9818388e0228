//! Settings for a tolerance ([`accuracy`]), and the fastest tree for an order by a cost model (`cost`).

pub mod accuracy;
pub(crate) mod cost;
