//! Settings for a tolerance ([`accuracy`]), the fastest tree for an order by a cost model (`cost`) that knows how unevenly particles lie (`density`), and what rounding of coordinates does to crowds (`rounding`) and to close
//! pairs (`close_pairs`).

pub mod accuracy;
pub(crate) mod close_pairs;
pub(crate) mod cost;
pub(crate) mod density;
pub(crate) mod rounding;
