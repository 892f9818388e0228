//! Arguments of `bench`.

use super::accuracy::Accuracy;
use clap::{Args, Subcommand};
use octitrate::charges::Precision;
use octitrate::charges::systems::{Images, Kind};
use std::path::PathBuf;

/// What is measured.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// The fast multipole method alone: time and rate of every stage, and its error.
    #[command(after_help = "\
Example:
  octitrate bench fmm --particles 50000 --order 8 --precision f32 --boundary open --json
  octitrate bench fmm --system water --boundary periodic --tolerance 5e-4
  octitrate bench fmm --particles 10000000 --boundary periodic --device cuda:0")]
    Fmm(BenchFmm),
    /// Whole steps of molecular dynamics of a job: milliseconds per step, ns/day. Nothing is written.
    #[command(after_help = "\
Example:
  octitrate bench md water.toml --steps 5000 --device cuda:0
  octitrate bench md glu.toml --replicas 16 --device cuda:0
  octitrate bench md glu.toml --profile --device cuda:0")]
    Md(BenchMd),
}

/// `bench md`.
#[derive(Debug, Args)]
pub struct BenchMd {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
    /// Steps that are timed, in five parts, each of whole hundreds on a GPU, after a tenth as many that are not.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(5..=1_000_000_000))]
    pub steps: u64,
    /// Copies of the system that run side by side in one process.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub replicas: u32,
    /// Microseconds of each part of a step on a GPU, each alone, instead of whole steps.
    #[arg(long, conflicts_with_all = ["steps", "replicas"])]
    pub profile: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `bench fmm`.
#[derive(Debug, Args)]
pub struct BenchFmm {
    /// Number of charges; lattices of molecules are filled to the nearest whole one.
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub particles: u64,
    /// How accurate; order 8 unless given.
    #[command(flatten)]
    pub accuracy: Accuracy,
    /// Arithmetic of the pair work.
    #[arg(long, value_enum, default_value_t = Precision::F32)]
    pub precision: Precision,
    /// Boundary conditions.
    #[arg(long, value_enum, default_value_t = Images::Open)]
    pub boundary: Images,
    /// Where the charges are.
    #[arg(long, value_enum, default_value_t = Kind::Random)]
    pub system: Kind,
    /// Evaluations that are timed, after one that is not.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: u32,
    /// Leave out the comparison with exact sums at 100 of the particles.
    #[arg(long)]
    pub no_check: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
