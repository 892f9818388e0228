//! One run of a job that is made of many: its job, its folder, its seed, and how far it is.

use crate::atomic::write_atomic;
use crate::checkpoint::{Checkpoint, Found, Identity, Stored};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::output::begun::Begun;
use crate::output::files;
use crate::workflow::folder::JOB;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What a parent wants to know of the state of a run.
#[derive(Debug, Serialize, Deserialize)]
struct Steps {
    step: u64,
}

impl Stored for Steps {
    fn toggle_differences(&mut self) {}
}

/// One run of a job that is made of many.
#[derive(Debug, Clone)]
pub struct Child {
    /// Name in messages, `pH 4.00, replica 2`.
    pub name: String,
    /// Its job; `config.folder()` is its own folder.
    pub config: Config,
    /// The last structure of another run, if it begins there: at a copy in its own folder, which the job names, because the other run may become longer.
    pub begins_at: Option<PathBuf>,
}

impl Child {
    /// A run that begins at the structure that its job names.
    pub fn new(name: String, config: Config) -> Self {
        Self { name, config, begins_at: None }
    }

    /// The same run, which begins where another one ends.
    #[must_use]
    pub fn beginning_at(mut self, end: PathBuf) -> Self {
        self.config.system.begin_at(self.config.result(files::START));
        Self { begins_at: Some(end), ..self }
    }

    /// Copies the structure at which it begins, unless it has it.
    ///
    /// # Errors
    /// [`Error::File`] if that cannot be read or written.
    pub fn keep_start(&self) -> Result<()> {
        let Some(end) = self.begins_at.as_ref().filter(|_| !self.config.system.structure.exists()) else {
            return Ok(());
        };
        let folder = self.config.folder();
        std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of a run", e))?;
        let structure = std::fs::read(end).map_err(|e| Error::file(end, "read", e))?;
        write_atomic(&self.config.system.structure, "write", &structure)
    }

    /// Whether all its steps are done and its results are complete.
    ///
    /// # Errors
    /// [`Error::Input`] if it has checkpoints and none of them is good.
    pub fn finished(&self) -> Result<bool> {
        let folder = self.config.folder();
        let found = Checkpoint::<Steps>::load(folder)?;
        let done = found.is_some_and(|found| found.checkpoint.state.step >= self.config.steps());
        Ok(done && files::is_finished(folder, self.config.length()))
    }

    /// Refuses what its folder holds unless that is of this run. `of_job` is the identity of the first run of the job, from which this one
    /// differs in its settings; `finds_corrections`: the corrections of the sites are what the job finds, and differ from run to run;
    /// `another_start`: it begins at another structure than the first run, which has its own water molecules in a charge buffer.
    ///
    /// # Errors
    /// [`Error::Input`] that names the difference.
    pub fn check(&self, of_job: &Identity, finds_corrections: bool, another_start: bool) -> Result<()> {
        let folder = self.config.folder();
        let Some(Found { mut checkpoint, .. }) = Checkpoint::<Steps>::load(folder)? else { return Ok(()) };
        let mut ours = Identity { settings: self.config.trajectory_settings()?, ..of_job.clone() };
        if finds_corrections {
            checkpoint.identity = checkpoint.identity.without_corrections();
            ours = ours.without_corrections();
        }
        if another_start {
            ours = ours.started_as(&checkpoint.identity);
        }
        checkpoint.check_identity(&ours, folder)
    }

    /// Makes its folder and writes its job file there; the path of that file.
    pub(super) fn write(&self) -> Result<PathBuf> {
        let folder = self.config.folder();
        std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of a run", e))?;
        let job = folder.join(JOB);
        self.config.save(&job)?;
        Ok(job)
    }

    /// Time simulated so far (ps), from the last whole line of its `lambda.csv`; without one that at which it began.
    pub(super) fn time(&self) -> f64 {
        let begun = || Begun::read(self.config.folder()).ok().flatten().map(|begun| begun.time);
        last_time(&self.config.result(files::LAMBDA)).or_else(begun).unwrap_or(0.0)
    }
}

/// Bytes that a line of `lambda.csv` does not have: some 20 for each form of each site, of which large assemblies have hundreds.
const LONGEST: u64 = 1 << 17;

/// First column of the last whole line of a table.
fn last_time(path: &Path) -> Option<f64> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(LONGEST))).ok()?;
    let mut tail = String::new();
    file.read_to_string(&mut tail).ok()?;
    let (whole, _) = tail.rsplit_once('\n')?;
    whole.lines().last()?.split(',').next()?.parse().ok()
}

/// A seed for run `index`, far from those of other runs and other jobs (SplitMix64; Steele 2014, 10.1145/2660193.2660195).
pub fn seed(base: u64, index: u64) -> u64 {
    let mut z = base
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // TOML has signed integers; 32 bits are enough to keep streams apart and short enough to read.
    (z ^ (z >> 31)) >> 32
}

#[cfg(test)]
impl Child {
    /// A run that is never computed.
    pub(super) fn of_tests(folder: &Path, name: &str) -> Self {
        let job = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files/job.toml");
        let text = "[system]\nstructure = \"water.gro\"\ntopology = \"water.top\"";
        let mut config = Config::parse(text, &job).unwrap();
        config.output.folder = folder.join(name);
        Child::new(name.into(), config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ() {
        let mut seeds: Vec<u64> = (0..20).flat_map(|base| (0..50).map(move |index| seed(base, index))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1000);
    }

    #[test]
    fn time_of_a_growing_table_is_that_of_its_last_whole_line() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("lambda.csv");
        assert_eq!(last_time(&path), None);
        std::fs::write(&path, "time (ps),lambda A\n").unwrap();
        assert_eq!(last_time(&path), None);
        std::fs::write(&path, "time (ps),lambda A\n0.5,0.1\n1.5,0.2\n2.").unwrap();
        assert_eq!(last_time(&path), Some(1.5));
        // A hundred sites of three forms.
        let line = |time: &str| format!("{time}{}\n", ",0.333333,-1234.5678".repeat(300));
        std::fs::write(&path, format!("time (ps)\n{}{}", line("2"), line("2.5"))).unwrap();
        assert_eq!(last_time(&path), Some(2.5));
    }
}
