//! The command line.

use crate::m2l::Scheme;
use clap::{Args, Parser, Subcommand};
use octitrate::backend::choice::Choice;
use octitrate::charges::Precision;
use std::path::PathBuf;

/// Methods for Coulomb interactions side by side: errors, times, plots.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// What is measured.
    #[command(subcommand)]
    pub command: Command,
    /// Threads for the computation; all cores unless given.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// What computes: auto (the first GPU, or the CPU if there is none), cpu, or cuda:N.
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto")]
    pub device: Choice,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Translations between boxes on a GPU, by several schemes: time, rate, error (a table; CSV, SVG).
    #[command(after_help = "\
Example:
  octitrate-benchmarks m2l --device cuda:0
  octitrate-benchmarks m2l --scheme naive,symmetric,gemm,tensor --orders 1-20 --depths 3-5 --precision f32,f64 --output results")]
    M2l(M2l),
    /// Direct sum, treecode and FMM side by side, in open space: time against the number of charges (CSV, SVG).
    #[command(after_help = "\
Example:
  octitrate-benchmarks methods --output results --order 8 --largest 1000000")]
    Methods(Methods),
    /// The measurements of the results page, benchmarks/RESULTS.md: tables (CSV) and plots (SVG).
    #[command(after_help = "\
Example:
  octitrate-benchmarks plots --output benchmarks/results --largest 1000000")]
    Plots(Plots),
    /// Neighbour lists and boxes of the FMM while they grow old in a run on the CPU: force errors, and the drift of the energy they bring.
    #[command(after_help = "\
Example:
  octitrate-benchmarks lists inputs/13-hirustasin/run.toml --ages 0.02,0.04,0.08 --starts 20")]
    Lists(Lists),
}

/// `m2l`.
#[derive(Debug, Args)]
pub struct M2l {
    /// Schemes: naive, dynamic (or grouped), symmetric (after B. Kohnke et al.), basic, siblings, clusters, slices (after T. Takahashi et al.),
    /// gemm, tensor (ours).
    #[arg(long, value_name = "SCHEME,…", value_delimiter = ',', value_parser = scheme,
        default_value = "naive,dynamic,symmetric,basic,siblings,clusters,slices,gemm,tensor")]
    pub scheme: Vec<SchemeArgument>,
    /// Multipole orders: 8, 1-20 or 4,8,12.
    #[arg(long, value_name = "P", value_parser = numbers, default_value = "1-20")]
    pub orders: Numbers,
    /// Levels, of 2^D boxes per axis.
    #[arg(long, value_name = "D", value_parser = numbers, default_value = "3-5")]
    pub depths: Numbers,
    /// Arithmetic of the expansions.
    #[arg(long, value_enum, value_name = "PRECISION,…", value_delimiter = ',', default_value = "f32")]
    pub precision: Vec<Precision>,
    /// Repetitions that are timed.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: u32,
    /// A scheme that took longer than this (s) is left out at higher orders of a level.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.05)]
    pub limit: f64,
    /// Folder of a table and a plot for each level and precision.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A scheme on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemeArgument(pub Scheme);

fn scheme(text: &str) -> Result<SchemeArgument, String> {
    let name = if text == "grouped" { "dynamic" } else { text };
    let valid = || format!("valid are {}", Scheme::ALL.map(Scheme::name).join(", "));
    Scheme::from_name(name).map(SchemeArgument).ok_or_else(valid)
}

/// Whole numbers, in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers(pub Vec<usize>);

fn numbers(text: &str) -> Result<Numbers, String> {
    let one = |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n <= 100);
    let found = match text.split_once('-') {
        Some((first, last)) => one(first).zip(one(last)).map(|(first, last)| (first..=last).collect::<Vec<_>>()),
        None => text.split(',').map(one).collect(),
    };
    let found = found.filter(|numbers| !numbers.is_empty());
    found.map(Numbers).ok_or_else(|| "valid is a whole number, or several, such as 1-20 or 4,8,12".into())
}

/// `methods`.
#[derive(Debug, Args)]
pub struct Methods {
    /// Folder of the table and the plot.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Largest number of charges; the direct sum is measured up to 100 000 and extrapolated from there.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    pub largest: u64,
    /// Order of the expansions of treecode and FMM.
    #[arg(long, value_name = "P", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub order: u32,
    /// Arithmetic of the pair work.
    #[arg(long, value_enum, default_value_t = Precision::F32)]
    pub precision: Precision,
}

/// `plots`.
#[derive(Debug, Args)]
pub struct Plots {
    /// Folder of the tables and plots.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Largest number of charges of the times; needs about 1 GB for each million.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    pub largest: u64,
    /// Highest multipole order of the errors.
    #[arg(long, value_name = "P", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=60))]
    pub highest_order: u32,
    /// Charges of the systems whose errors are measured, about.
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u64).range(8..=100_000))]
    pub particles: u64,
}

/// `lists`.
#[derive(Debug, Args)]
pub struct Lists {
    /// The job; a periodic box without a barostat.
    #[arg(value_name = "JOB")]
    pub job: PathBuf,
    /// Ages of lists and boxes, ps.
    #[arg(long, value_name = "PS,…", value_delimiter = ',', default_value = "0.01,0.02,0.04,0.08,0.16")]
    pub ages: Vec<f64>,
    /// Buffers of the list of Lennard-Jones pairs, nm.
    #[arg(long, value_name = "NM,…", value_delimiter = ',', default_value = "0,0.05,0.1,0.15")]
    pub buffers: Vec<f64>,
    /// How often lists are made.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub starts: u32,
    /// For how many of them forces are compared with order 18.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub references: u32,
    /// Time before the first, ps.
    #[arg(long, value_name = "PS", default_value_t = 1.0)]
    pub equilibration: f64,
}
