//! The job file of octitrate, read and checked, and what can go wrong, in sentences.
//!
//! [`config::Config`] is a whole job. The crate `octitrate` shows its modules as its own: `octitrate::config`, `octitrate::error` and so on.
//! They are a crate so that what `serde` and `schemars` make of them, a quarter of the code of the engine, is compiled once, for the engine and for its tests.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | the job file |
//! | [`selection`] | the language in which atoms are named |
//! | [`fading`] | which part of restraints is left in a step |
//! | [`error`] | what can go wrong, in sentences |
//! | [`atomic`], [`text`] | files that are complete or absent; texts of people |

#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod atomic;
pub mod config;
pub mod error;
pub mod fading;
pub mod selection;
pub mod text;
