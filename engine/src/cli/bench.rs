//! `bench …`.

use super::{Accuracy, PrecisionArgument};
use clap::{Args, Subcommand, ValueEnum};
use fmm::device::m2l::Scheme;
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
    /// Titratable sites: their sparse trees beside one whole pass.
    #[command(after_help = "\
Example:
  octitrate bench sites --sites 512 --forms 4 --atoms 12 --particles 1000000
  octitrate bench sites --sites 128 --forms 2 --device cuda:0")]
    Sites(BenchSites),
    /// Translations between boxes on a GPU, by several schemes: time, rate, error (a table; CSV, SVG).
    #[command(after_help = "\
Example:
  octitrate bench m2l --device cuda:0
  octitrate bench m2l --scheme naive,symmetric,gemm,tensor --orders 1-20 --depths 3-5 --precision f32,f64 --output results")]
    M2l(BenchM2l),
    /// Direct sum, treecode and FMM side by side, in open space: time against the number of charges (CSV, SVG).
    #[command(after_help = "\
Example:
  octitrate bench methods --output results --order 8 --largest 1000000")]
    Methods(BenchMethods),
    /// The measurements of the results page, fmm/RESULTS.md: tables (CSV) and plots (SVG).
    #[command(after_help = "\
Example:
  octitrate bench plots --output fmm/results --largest 1000000")]
    Plots(BenchPlots),
}

/// `bench md`.
#[derive(Debug, Args)]
pub struct BenchMd {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
    /// Steps that are timed, in five parts, after a tenth as many that are not.
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
    #[arg(long, value_enum, default_value_t = PrecisionArgument::F32)]
    pub precision: PrecisionArgument,
    /// Boundary conditions.
    #[arg(long, value_enum, default_value_t = BoundaryArgument::Open)]
    pub boundary: BoundaryArgument,
    /// Where the charges are.
    #[arg(long, value_enum, default_value_t = SystemArgument::Random)]
    pub system: SystemArgument,
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

/// `bench sites`.
#[derive(Debug, Args)]
pub struct BenchSites {
    /// Number of sites.
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sites: u32,
    /// Forms of each site: sets of charges.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub forms: u32,
    /// Atoms of each site.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub atoms: u32,
    /// Number of charges, about: a lattice of water molecules is filled.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(3..=1_000_000_000))]
    pub particles: u64,
    /// Multipole order.
    #[arg(long, value_name = "P", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=60))]
    pub order: u32,
    /// Repetitions that are timed, after one that is not.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `bench m2l`.
#[derive(Debug, Args)]
pub struct BenchM2l {
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
    pub precision: Vec<PrecisionArgument>,
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

/// `bench methods`.
#[derive(Debug, Args)]
pub struct BenchMethods {
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
    #[arg(long, value_enum, default_value_t = PrecisionArgument::F32)]
    pub precision: PrecisionArgument,
}

/// `bench plots`.
#[derive(Debug, Args)]
pub struct BenchPlots {
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

/// Boundary conditions on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BoundaryArgument {
    /// No images.
    Open,
    /// Images along one axis.
    Wire,
    /// Images along two axes.
    Slab,
    /// A cube with images along three axes.
    Periodic,
    /// The same with a rhombic dodecahedron.
    Triclinic,
}

/// Where charges are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SystemArgument {
    /// Anywhere, independent of each other.
    Random,
    /// Three-site water molecules on a jittered lattice, without their own pairs.
    Water,
    /// Droplets of 483 such molecules, far from each other.
    Droplets,
}
