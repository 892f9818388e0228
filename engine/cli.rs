//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Constant-pH molecular dynamics with a built-in fast multipole method.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Example:
  octitrate titrate inputs/01-glu/titrate.toml      a titration curve, from one file
  octitrate help titrate                    more about one command"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Threads for the computation; all cores unless given.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run molecular dynamics, or continue it from its checkpoint.
    #[command(after_help = "\
Ctrl-C or SIGTERM writes a checkpoint and leaves; the same command continues exactly.

Example:
  octitrate run water.toml
  octitrate run water.toml --output /scratch/water --threads 2")]
    Run(Run),

    /// Titrate: runs at many pH values, fractions, a Hill fit and a report.
    #[command(after_help = "\
The job needs a section [titrate]. Each pH and replica has a folder of its own;
runs that are finished are not repeated, runs that were stopped continue.

Example:
  octitrate titrate glu.toml
  octitrate titrate glu.toml --slurm > glu.sbatch
The last one prints a Slurm array; call titrate again when its runs are done.")]
    Titrate(Workflow),

    /// Calibrate V_MM of a model compound: fixed-λ windows, a polynomial fit, a library entry.
    #[command(after_help = "\
The job needs a section [calibrate]. Windows that are finished are not repeated.

Example:
  octitrate calibrate glu_model.toml")]
    Calibrate(Workflow),

    /// Single point: every energy term apart, forces, ∂V/∂λ.
    #[command(after_help = "\
Example:
  octitrate energy glu.toml
  octitrate energy glu.toml --json --forces forces.csv")]
    Energy(Energy),

    /// Read a job with all its files, say what it is, and compute nothing.
    #[command(after_help = "\
Example:
  octitrate check glu.toml")]
    Check(Job),

    /// Say what this program and this machine can do.
    #[command(after_help = "\
Example:
  octitrate info")]
    Info,

    /// Measure speed.
    #[command(subcommand)]
    Bench(Bench),

    /// Compute the charges of a reference file and print the relative errors.
    #[command(after_help = "\
Example:
  octitrate fmm tests/reference/dev_cubic_3d.json --order 30 --depth 2 --precision f64 --json")]
    Fmm(Fmm),
}

/// A job file.
#[derive(Debug, Args)]
pub struct Job {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
}

/// `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
    /// Folder of the results, instead of output.folder of the job.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// No messages but errors.
    #[arg(short, long)]
    pub quiet: bool,
    /// Stop, with a checkpoint, when standard input ends.
    #[arg(long, hide = true)]
    pub leash: bool,
}

/// `titrate` and `calibrate`.
#[derive(Debug, Args)]
pub struct Workflow {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
    /// Folder of the results, instead of output.folder of the job.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Runs at once, instead of `jobs` of the job.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub jobs: Option<u32>,
    /// Write the folders and print a Slurm array script instead of running.
    #[arg(long)]
    pub slurm: bool,
}

/// `energy`.
#[derive(Debug, Args)]
pub struct Energy {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Write the force on every atom (CSV: atom, x, y, z in kJ/mol/nm).
    #[arg(long, value_name = "FILE")]
    pub forces: Option<PathBuf>,
}

/// `bench …`.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// The fast multipole method alone: random charges in a unit cube.
    #[command(after_help = "\
Example:
  octitrate bench fmm --particles 50000 --order 8 --depth auto --precision f32 --boundary open --json")]
    Fmm(BenchFmm),
}

/// `bench fmm`.
#[derive(Debug, Args)]
pub struct BenchFmm {
    /// Number of charges.
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub particles: u64,
    /// Multipole order.
    #[arg(long, value_name = "P", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub order: u32,
    /// Depth of the tree, or auto.
    #[arg(long, value_name = "D|auto", default_value = "auto", value_parser = depth)]
    pub depth: DepthArgument,
    /// Arithmetic of the pair work.
    #[arg(long, value_enum, default_value_t = PrecisionArgument::F32)]
    pub precision: PrecisionArgument,
    /// Boundary conditions.
    #[arg(long, value_enum, default_value_t = BoundaryArgument::Open)]
    pub boundary: BoundaryArgument,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `fmm`.
#[derive(Debug, Args)]
pub struct Fmm {
    /// Charges, and energy, potentials and forces to compare with.
    #[arg(value_name = "FILE.json")]
    pub file: PathBuf,
    /// Multipole order.
    #[arg(long, value_name = "P", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub order: u32,
    /// Depth of the tree, or auto.
    #[arg(long, value_name = "D|auto", default_value = "auto", value_parser = depth)]
    pub depth: DepthArgument,
    /// Arithmetic of the pair work.
    #[arg(long, value_enum, default_value_t = PrecisionArgument::F64)]
    pub precision: PrecisionArgument,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Depth on the command line.
pub type DepthArgument = octitrate::config::Depth;

fn depth(text: &str) -> Result<DepthArgument, String> {
    match text {
        "auto" => Ok(DepthArgument::Auto),
        _ => text
            .parse()
            .ok()
            .filter(|levels| *levels <= 8)
            .map(DepthArgument::Levels)
            .ok_or_else(|| "valid is a whole number from 0 to 8, or auto".into()),
    }
}

/// Arithmetic on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrecisionArgument {
    /// Single.
    F32,
    /// Double.
    F64,
}

/// Boundary conditions on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BoundaryArgument {
    /// No images.
    Open,
    /// Three periodic axes.
    Periodic,
}
