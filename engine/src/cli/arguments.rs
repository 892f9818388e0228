//! What can be written on the command line: commands, their arguments, and the help about them.

mod accuracy;
mod bench;
mod calibrate;

pub use accuracy::{Accuracy, ToleranceOf};
pub use bench::{Bench, BenchFmm, BenchMd};
pub use calibrate::CalibrateArguments;

use accuracy::number_between;
use clap::{Args, Parser, Subcommand};
use octitrate::backend::choice::Choice;
use octitrate::charges::Precision;
use std::ffi::OsString;
use std::path::PathBuf;

/// Constant-pH molecular dynamics with a built-in fast multipole method.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Example:
  octitrate titrate inputs/01-glu/titrate.toml    a curve, from one file
  octitrate help titrate                          more about one command

Exit status:
  0      done, or finished before
  1      `prepare --from` has written a folder whose job is refused
  2      the command line, the job or a file is wrong, or cannot be read or
         written
  3      the physics failed: a number that is not finite, constraints that do
         not converge
  4      stopped in time for --max-hours or the end of the Slurm job, with a
         checkpoint
  5      the drift of `drift` is not within its --limit, or not known to it
  128+N  stopped by signal N with a checkpoint: 129 HUP, 130 INT (Ctrl-C),
         138 USR1, 140 USR2, 143 TERM, 152 XCPU
After 4 and 128+N the same command continues."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Threads for the computation; all cores unless given.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// What computes: auto (the freest GPU, or the CPU if there is none), cpu, cuda:N; for many runs also cuda:0-7, cuda:0,2 or cuda:all.
    #[arg(long, global = true, value_name = "DEVICE", default_value = "auto")]
    pub device: Choice,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Prepare a protein: from a PDB or mmCIF file to a folder that `titrate` runs.
    #[command(
        disable_help_flag = true,
        after_help = "\
The Python package octitrate does this. `octitrate prepare --help` shows its arguments.

Example:
  octitrate prepare 2lzt.pdb
  octitrate titrate 2lzt-prepared/titrate.toml"
    )]
    Prepare(PythonArguments),

    /// Make a titratable site of any molecule, from its parameters with its proton and without it.
    #[command(
        disable_help_flag = true,
        after_help = "\
The Python package octitrate does this. `octitrate site --help` shows its arguments.

Example:
  octitrate site --protonated acid.xml --deprotonated base.xml --pka 4.76 --model acetic
  octitrate run acetic/equilibrate.toml
  octitrate calibrate acetic/calibrate.toml
  octitrate titrate acetic/titrate.toml"
    )]
    Site(PythonArguments),

    /// Run molecular dynamics, or continue it from its checkpoint.
    #[command(after_help = "\
Ctrl-C, and the signals TERM, HUP, USR1, USR2 and XCPU, write a checkpoint and leave; \
the same command continues exactly. Nothing of others is written over.

Example:
  octitrate run water.toml
  octitrate run water.toml --output /scratch/water --threads 2")]
    Run(RunArguments),

    /// Titrate: runs at many pH values, fractions, a Hill fit and a report.
    #[command(after_help = "\
The job needs a section [titrate]. Each pH and replica has a folder of its own; \
runs that are finished are not repeated, runs that were stopped continue. \
On the CPU every run is a process; on a GPU they run side by side in one.

Example:
  octitrate titrate glu.toml
  octitrate titrate glu.toml --device cuda:0 --jobs 32
  octitrate titrate glu.toml --slurm > glu.sbatch
The last one prints a Slurm array; call titrate again when its runs are done. \
Of runs that swap their pH it prints one job, which makes the table itself.")]
    Titrate(WorkflowArguments),

    /// Calibrate V_MM of a model compound: fixed-λ windows, a polynomial fit, a library entry.
    #[command(after_help = "\
The job needs a section [calibrate]. Windows that are finished are not repeated. \
With --residue the Python package builds the model compounds, the charge buffer \
first where the water has none; each is equilibrated and calibrated, and its entry \
goes to the library that `octitrate prepare` reads. What is done is not repeated: \
the same command continues.

Example:
  octitrate calibrate glu_model.toml
  octitrate calibrate --residue TYR --force-field ff19SB
  octitrate calibrate --residue \"CYS,nterm ARG\" --force-field ff14SB --device cuda:0")]
    Calibrate(CalibrateArguments),

    /// Evaluate runs: macroscopic and microscopic pKa values, interactions between sites, convergence, a report.
    #[command(after_help = "\
Each folder is that of a run, or of a titration with its runs in pH_*/replica_*. All runs are \
evaluated together, by site and pH. Tables, plots and report.html go to the first folder; each run \
gets lambda.parquet and, for MBAR over pH with alchemlyb, u_nk.parquet beside its lambda.csv.

Example:
  octitrate pka inputs/01-glu/titrate
  octitrate pka first second --output both --equilibration \"100 ps\"
  octitrate pka titrate --compare measured.csv --entry 1PGB
  octitrate pka titrate --finite-box finite_box.csv")]
    Pka(PkaArguments),

    /// Averages of the energies of runs with errors: temperature, pressure, density, volume, drift of the conserved energy.
    #[command(after_help = "\
Each folder is that of a run, or of a job of many runs. Averages of energy.csv have errors that take its \
correlation into account; plots show the errors of blocks, which must reach a plateau. What comes before \
equilibrium is left out: the start that leaves the largest number of independent samples of temperature, \
potential and density, in the first half of each run. The results are analysis.csv, analysis.svg, \
blocks.svg and analysis.html, in the first folder.

Example:
  octitrate analyse water
  octitrate analyse titrate/pH_4.00 --equilibration \"100 ps\" --output equilibrated")]
    #[command(visible_alias = "analyze")]
    Analyse(AnalyseArguments),

    /// How much the energy of a job drifts at constant energy: without thermostat and barostat, with λ moving.
    #[command(after_help = "\
The job is run without its thermostat and barostat, in a folder of its own (FOLDER-drift, or --output). \
The drift is the slope of the conserved energy for each atom, with an error from blocks; analysis.svg \
shows its course. With --limit the exit status is 5 if the drift is beyond it by more than two errors, \
or if the run is too short to know it to the limit.

Example:
  octitrate drift water.toml --duration \"50 ps\" --limit 1e-5
  octitrate drift glu.toml --device cuda:0 --json")]
    Drift(DriftArguments),

    /// Compute every energy term, the forces and ∂V/∂λ at the start of a job.
    #[command(after_help = "\
Example:
  octitrate energy glu.toml
  octitrate energy glu.toml --json --forces forces.csv")]
    Energy(EnergyArguments),

    /// Compute every energy term and ∂V/∂λ for the frames of a trajectory.
    #[command(after_help = "\
The trajectory (.trr, .xtc) must hold all atoms of the job. Frames with velocities (.trr) give kinetic \
energy, temperature and pressure, too. λ is that of the start of the job unless --lambda names the \
lambda.csv of a run, whose lines are found by the times of the frames. Nothing moves.

Example:
  octitrate rerun glu/resolved.toml --trajectory glu/trajectory.trr --lambda glu/lambda.csv
  octitrate rerun other_forcefield.toml --trajectory glu/trajectory.xtc -o other.csv")]
    Rerun(RerunArguments),

    /// Read a job with all its files and say what it is; nothing is run or written.
    #[command(after_help = "\
Example:
  octitrate check glu.toml
  octitrate check titrate.toml --hours")]
    Check(CheckArguments),

    /// Print the JSON schema of a job file: every key, its type, unit, default and meaning.
    #[command(after_help = "\
An editor with schemas for TOML completes and checks job files with it; the first line of a job names it. \
The reference of keys in the manual is made from it.

Example:
  octitrate schema > octitrate.schema.json
  sed -i '1i #:schema octitrate.schema.json' job.toml")]
    Schema(SchemaArguments),

    /// Say what this program can do, what this machine has for it, or all about an entry of the library.
    #[command(after_help = "\
With a name the correction V_MM of that entry is shown with its errors and the conditions under which \
it was calibrated.

Example:
  octitrate info
  octitrate info glu
  octitrate info calibrate/glu.toml")]
    Info(InfoArguments),

    /// Measure the speed of the program on this machine.
    #[command(subcommand)]
    Bench(Bench),

    /// Evaluate the charges of a file by the fast multipole method, and say how accurate the result is.
    #[command(after_help = "\
The file is a JSON object with positions ([[x, y, z], …]) and charges; where it repeats, periodic \
(\"xyz\", \"xy\": a slab, \"x\": a wire) and cell (three vectors). If it also holds the energy, the \
potentials or the forces (k_e = 1), the result is compared with them; else with exact sums at 100 \
of the particles.

Example:
  octitrate fmm fmm/tests/reference/dev_cubic_3d.json --tolerance 1e-5
  octitrate fmm fmm/tests/reference/dev_wire_1d.json --tolerance 1e-8 --tolerance-of energy
  octitrate fmm fmm/tests/reference/dev_cubic_3d.json --order 20 --root 2,2,2 --device cuda:0
  octitrate fmm fmm/tests/reference/dev_cubic_3d.json --order 30 --depth 2 --precision f64 --json")]
    Fmm(FmmArguments),
}

/// `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
    /// Folder that the results shall go to, instead of output.folder of the job.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Predict how long the job takes: as many copies as will run side by side are run for a short time.
    #[arg(long)]
    pub hours: bool,
}

/// `info`.
#[derive(Debug, Args)]
pub struct InfoArguments {
    /// An entry of the library by its name, such as glu, or the file of one.
    #[arg(value_name = "ENTRY")]
    pub entry: Option<String>,
}

/// `prepare` and `site`.
#[derive(Debug, Args)]
pub struct PythonArguments {
    /// What is asked for; --help shows everything.
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

/// `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The job; or several, which go one after the other. Runs of a titration or calibration (run.toml in their folders) go on side by side.
    #[arg(value_name = "JOB.toml", required = true)]
    pub jobs: Vec<PathBuf>,
    /// Folder of the results, instead of output.folder of the job.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Show no messages but errors.
    #[arg(short, long)]
    pub quiet: bool,
    /// Its folder and its time.
    #[command(flatten)]
    pub limits: Limits,
    /// Stop, with a checkpoint, when standard input ends.
    #[arg(long, hide = true)]
    pub leash: bool,
}

/// `titrate`, and `calibrate` of a job.
#[derive(Clone, Debug, Args)]
pub struct WorkflowArguments {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
    /// Folder of the results, instead of output.folder of the job.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// How the runs go on.
    #[command(flatten)]
    pub how: WorkflowOptions,
}

/// How the runs of `titrate` and `calibrate` go on.
#[derive(Clone, Copy, Debug, Args)]
pub struct WorkflowOptions {
    /// Runs at once, instead of `jobs` of the job: as many as cores, or 32 on each GPU.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub jobs: Option<u32>,
    /// Show no messages but errors.
    #[arg(short, long)]
    pub quiet: bool,
    /// Write the folders and print a Slurm array script instead of running; its time is --max-hours. Of runs that swap their pH it is the script of one job.
    #[arg(long)]
    pub slurm: bool,
    /// Write the folders and print a script that submits the runs to HyperQueue instead of running.
    #[arg(long, conflicts_with = "slurm")]
    pub hyperqueue: bool,
    /// Its folder and its time.
    #[command(flatten)]
    pub limits: Limits,
}

/// What commands that compute for long may do with their folder and their time.
#[derive(Clone, Copy, Debug, Args)]
pub struct Limits {
    /// Move what is in the folder of the results aside (FOLDER becomes FOLDER.1) and start anew.
    #[arg(long)]
    pub force: bool,
    /// Write a checkpoint and leave before this time is over, with exit status 4. In a Slurm job its end is known and need not be given.
    #[arg(long, value_name = "HOURS", value_parser = hours)]
    pub max_hours: Option<f64>,
}

/// `pka`.
#[derive(Debug, Args)]
pub struct PkaArguments {
    /// Folders of runs, of titrations, and those that `octitrate prepare` wrote.
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
    /// Folder of the results, instead of the first one.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Start of each run that is left out, such as "100 ps"; unless given, as long as the job of the titration says.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub equilibration: Option<f64>,
    /// Weight above which a form counts as occupied.
    #[arg(long, value_name = "WEIGHT", default_value = "0.8", value_parser = threshold)]
    pub threshold: f64,
    /// Number of draws of the bootstrap.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub draws: u32,
    /// Seed of the bootstrap.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Measured pKa values to compare with: residue, number, pKa; chain and error where they are given; the columns of PKAD are understood.
    #[arg(long, value_name = "FILE.csv")]
    pub compare: Option<PathBuf>,
    /// Rows of the measured values that count, by their column `PDB ID`.
    #[arg(long, value_name = "ID", requires = "compare")]
    pub entry: Option<String>,
    /// pKa values in solution, too: without what the size of the box does to those of a charged protein, by the table that `octitrate prepare` writes. They are compared. Unless given, the table that
    /// the job of the titration names.
    #[arg(long, value_name = "FINITE_BOX.csv")]
    pub finite_box: Option<PathBuf>,
    /// Write no Parquet files beside the tables of the runs.
    #[arg(long)]
    pub no_parquet: bool,
    /// Move what is in the way in the folder of the results aside.
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// `analyse`.
#[derive(Debug, Args)]
pub struct AnalyseArguments {
    /// Folders of runs, or of jobs of many runs.
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
    /// Folder of the results, instead of the first one.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Start of each run that is left out, such as "100 ps"; unless given, what comes before equilibrium.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub equilibration: Option<f64>,
}

/// `drift`.
#[derive(Debug, Args)]
pub struct DriftArguments {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
    /// Length of the run, instead of that of the job.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub duration: Option<f64>,
    /// Start of the run that is left out, such as "1 ps".
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0 ps")]
    pub equilibration: f64,
    /// Largest drift, kJ/mol/ps per atom.
    #[arg(long, value_name = "DRIFT", value_parser = limit)]
    pub limit: Option<f64>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Folder of the results.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Show no messages but errors.
    #[arg(short, long)]
    pub quiet: bool,
    /// Its folder and its time.
    #[command(flatten)]
    pub limits: Limits,
}

/// `energy`.
#[derive(Debug, Args)]
pub struct EnergyArguments {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Write the force on every atom (CSV: atom, x, y, z in kJ/mol/nm).
    #[arg(long, value_name = "FILE")]
    pub forces: Option<PathBuf>,
    /// Move a file of that name that is no such table aside.
    #[arg(long)]
    pub force: bool,
}

/// `schema`.
#[derive(Debug, Args)]
pub struct SchemaArguments {
    /// Print the chapter of the manual instead.
    #[arg(long)]
    pub markdown: bool,
}

/// `rerun`.
#[derive(Debug, Args)]
pub struct RerunArguments {
    /// The job.
    #[arg(value_name = "JOB.toml")]
    pub job: PathBuf,
    /// The frames, .trr or .xtc.
    #[arg(short, long, value_name = "FILE")]
    pub trajectory: PathBuf,
    /// A lambda.csv with the λ of the frames, instead of the λ that the job starts with.
    #[arg(short, long, value_name = "FILE")]
    pub lambda: Option<PathBuf>,
    /// The table, instead of rerun.csv in the folder of the results of the job.
    #[arg(short, long, value_name = "FILE.csv")]
    pub output: Option<PathBuf>,
}

/// `fmm`.
#[derive(Debug, Args)]
pub struct FmmArguments {
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
    #[arg(long, value_enum, default_value_t = Precision::F64)]
    pub precision: Precision,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

fn hours(text: &str) -> Result<f64, String> {
    number_between(text, 1e-4, 1e6, "a number of hours above zero, such as 23.5")
}

fn limit(text: &str) -> Result<f64, String> {
    number_between(text, 1e-12, 1e6, "a number above zero, such as 1e-5")
}

fn threshold(text: &str) -> Result<f64, String> {
    number_between(text, 0.5, 0.999_999, "a number from 0.5 to below 1, such as 0.8")
}

fn time(text: &str) -> Result<f64, String> {
    let time = octitrate::config::quantity::Time::parse(text)?.get();
    if time >= 0.0 { Ok(time) } else { Err("valid is a time that is not negative, such as \"100 ps\"".into()) }
}
