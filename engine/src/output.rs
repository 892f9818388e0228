//! Files that a run writes while it goes on, and reads back: tables, trajectory, log, `sites.toml`, `begun.toml`; Parquet from finished tables.

pub mod begun;
pub mod calendar;
pub mod energies;
pub mod files;
pub(crate) mod parquet;
pub mod progress;
pub mod screen;
pub mod series;
pub mod sites;
pub(crate) mod tables;
pub(crate) mod trajectory;
pub(crate) mod trr;
