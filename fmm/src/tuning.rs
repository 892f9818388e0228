//! Settings for a tolerance ([`accuracy`]), the fastest tree for an order by a cost model (`cost`) that knows how unevenly particles lie (`density`), and what rounding of coordinates does (`rounding`).

pub mod accuracy;
pub(crate) mod cost;
pub(crate) mod density;
pub(crate) mod rounding;
