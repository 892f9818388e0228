//! The command line.

pub mod bench;

pub use bench::{
    Bench, BenchFmm, BenchM2l, BenchMd, BenchMethods, BenchPlots, BenchSites, BoundaryArgument, SchemeArgument,
    SystemArgument,
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use octitrate::device::Choice;
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
    /// What computes: auto (the first GPU, or the CPU if there is none), cpu, or cuda:N.
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto")]
    pub device: Choice,
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
On the CPU every run is a process; on a GPU they run side by side in one.

Example:
  octitrate titrate glu.toml
  octitrate titrate glu.toml --device cuda:0 --jobs 32
  octitrate titrate glu.toml --slurm > glu.sbatch
The last one prints a Slurm array; call titrate again when its runs are done.")]
    Titrate(Workflow),

    /// Calibrate V_MM of a model compound: fixed-λ windows, a polynomial fit, a library entry.
    #[command(after_help = "\
The job needs a section [calibrate]. Windows that are finished are not repeated.

Example:
  octitrate calibrate glu_model.toml")]
    Calibrate(Workflow),

    /// pKa values from runs: microscopic and macroscopic, interactions between sites, convergence, a report.
    #[command(after_help = "\
Each folder is that of a run, or of a titration with its runs in pH_*/replica_*. All runs are
evaluated together, by site and pH. Tables, plots and report.html go to the first folder; each run
gets lambda.parquet and dhdl.parquet beside its lambda.csv.

Example:
  octitrate pka inputs/01-glu/titrate
  octitrate pka first second --output both --equilibration \"100 ps\"")]
    Pka(Pka),

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

    /// Compute the charges of a file by the fast multipole method, and say how accurate the result is.
    #[command(after_help = "\
The file is a JSON object with positions ([[x, y, z], …]) and charges; where it repeats, periodic
(\"xyz\", \"xy\": a slab, \"x\": a wire) and cell (three vectors). If it also holds the energy, the
potentials or the forces (k_e = 1), the result is compared with them; else with exact sums at 100
of the particles.

Example:
  octitrate fmm tests/reference/dev_cubic_3d.json --tolerance 1e-5
  octitrate fmm tests/reference/dev_wire_1d.json --tolerance 1e-8 --tolerance-of energy
  octitrate fmm tests/reference/dev_cubic_3d.json --order 20 --root 2,2,2 --device cuda:0
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
    /// Runs at once, instead of `jobs` of the job: as many as cores, or 32 on a GPU.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub jobs: Option<u32>,
    /// Write the folders and print a Slurm array script instead of running.
    #[arg(long)]
    pub slurm: bool,
}

/// `pka`.
#[derive(Debug, Args)]
pub struct Pka {
    /// Runs and titrations.
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
    /// Folder of the results, instead of the first one.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Start of each run that is left out, such as "100 ps"; that of the titration unless given.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub equilibration: Option<f64>,
    /// Weight above which a form is occupied.
    #[arg(long, value_name = "WEIGHT", default_value = "0.8", value_parser = threshold)]
    pub threshold: f64,
    /// Draws of the bootstrap.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub draws: u32,
    /// Seed of the bootstrap.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// No Parquet files beside the tables of the runs.
    #[arg(long)]
    pub no_parquet: bool,
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

/// `fmm`.
#[derive(Debug, Args)]
pub struct Fmm {
    /// Charges, and perhaps energy, potentials and forces to compare with.
    #[arg(value_name = "FILE.json")]
    pub file: PathBuf,
    /// How accurate.
    #[command(flatten)]
    pub accuracy: Accuracy,
    /// What --tolerance is an error of.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = ToleranceOf::Force, requires = "tolerance")]
    pub tolerance_of: ToleranceOf,
    /// Arithmetic of the pair work.
    #[arg(long, value_enum, default_value_t = PrecisionArgument::F64)]
    pub precision: PrecisionArgument,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A tolerance, or order and tree.
#[derive(Debug, Clone, Default, Args)]
pub struct Accuracy {
    /// Choose order, tree and separation for this error, and check it: 1e-5.
    #[arg(long, value_name = "ERROR", value_parser = tolerance, conflicts_with_all = ["order", "depth", "root", "separation"])]
    pub tolerance: Option<f64>,
    /// Multipole order.
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(0..=60))]
    pub order: Option<u32>,
    /// Levels of the tree below its root grid, or auto.
    #[arg(long, value_name = "D|auto", value_parser = depth)]
    pub depth: Option<DepthArgument>,
    /// Boxes of the root grid along each axis, instead of near-cubic ones; depth 0 unless given.
    #[arg(long, value_name = "A,B,C", value_parser = root)]
    pub root: Option<Root>,
    /// Boxes whose centres are less than this many box diameters apart interact directly: 1.12, those that touch; 1.7, up to
    /// two boxes apart.
    #[arg(long, value_name = "X", value_parser = separation)]
    pub separation: Option<f64>,
}

/// What a tolerance is an error of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ToleranceOf {
    /// Forces, relative, root mean square.
    Force,
    /// Energy, relative.
    Energy,
    /// Energy, in the units of the file: charge² / length.
    AbsoluteEnergy,
}

/// Boxes of the root grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root(pub [usize; 3]);

fn number_between(text: &str, low: f64, high: f64, valid: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x| (low..=high).contains(x)).ok_or_else(|| format!("valid is {valid}"))
}

fn tolerance(text: &str) -> Result<f64, String> {
    number_between(text, f64::MIN_POSITIVE, f64::MAX, "a number above zero, such as 1e-5")
}

fn threshold(text: &str) -> Result<f64, String> {
    number_between(text, 0.5, 0.999_999, "a number from 0.5 to below 1, such as 0.8")
}

fn time(text: &str) -> Result<f64, String> {
    let time = octitrate::config::quantity::Time::parse(text)?.get();
    if time >= 0.0 { Ok(time) } else { Err("valid is a time that is not negative, such as \"100 ps\"".into()) }
}

fn separation(text: &str) -> Result<f64, String> {
    number_between(text, 1.0, 4.0, "a number from 1 to 4; 1.12 means boxes that touch")
}

fn root(text: &str) -> Result<Root, String> {
    let numbers: Option<Vec<usize>> =
        text.split(',').map(|n| n.trim().parse().ok().filter(|n| (1..=128).contains(n))).collect();
    let three = numbers.and_then(|n| n.try_into().ok()).map(Root);
    three.ok_or_else(|| "valid are three whole numbers from 1 to 64 (128 on a GPU), such as 7,7,7".into())
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
