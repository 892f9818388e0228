//! octitrate.

pub mod config;
pub mod error;
pub mod output;
pub mod checkpoint;
pub mod workflow;
