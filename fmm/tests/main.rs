//! The FMM against exact sums, analytic values and itself: one binary, so that it is linked once.

#![forbid(unsafe_code)]

mod accuracy;
mod allocation;
mod barostat;
mod close;
mod common;
mod crowds;
#[cfg(feature = "cuda")]
mod device;
mod droplets;
mod fuzz;
mod images;
mod invariance;
mod lattices;
mod limits;
mod madelung;
mod members;
mod methods;
mod moving;
mod open;
mod orders;
mod periodic;
mod reference;
mod regularised;
mod targets;
mod treecode;
mod vectors;
