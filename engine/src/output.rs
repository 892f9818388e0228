//! Results of a run: the files that frames go to, plots, reports.

pub mod files;
pub mod parquet;
pub mod plot;
pub mod progress;
pub mod report;
pub mod sites;
pub mod tables;
pub mod trajectory;
