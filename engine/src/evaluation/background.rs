//! What stands behind the numbers of an evaluation, as far as the folders of its runs tell: the job, what the logs say, the corrections, how the
//! protein was prepared, how an exchange mixed, and the structure.
//!
//! Nothing here is needed for a pKa. Whatever is missing or cannot be read is absent, with the reason where a reader would ask for it.

mod corrections;
mod differences;
mod logs;
pub(crate) mod solute;

pub use corrections::CorrectionRecord;
pub use differences::{Difference, sentence};
pub use logs::LogFacts;
pub use solute::Solute;

use super::job::Job;
use super::ladders::Ladders;
use super::mixing::Mixing;
use super::pka::Evaluation;
use super::runs::names_of_titrations;
use super::until::Looks;
use crate::config::RESOLVED;
use crate::output::files;
use crate::record::Kind;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Name of the record that a preparation leaves beside the structure.
const PREPARED: &str = "prepare.md";
/// Name of the settings of a preparation.
const PREPARED_SETTINGS: &str = "prepare.toml";

/// What stands behind an evaluation.
#[derive(Debug, Clone)]
pub struct Background {
    /// Folder of the titration, or of the first run if there is none.
    pub folder: PathBuf,
    /// Its job; empty without `resolved.toml`.
    pub job: Job,
    /// What its log says; empty without `log.txt`.
    pub log: LogFacts,
    /// Corrections of the entries in use, and of the buffer, those of all titrations; none for an entry that is in no library any more.
    pub corrections: Vec<CorrectionRecord>,
    /// How the structure of the first titration was prepared; `None` unless `octitrate prepare` did it and its record is still there.
    pub preparation: Option<Preparation>,
    /// The titrations whose runs were evaluated, in the order in which these came; job and folder above are those of the first.
    pub titrations: Vec<TitrationRecord>,
    /// In what they differ.
    pub differences: Vec<Difference>,
    /// What `until` found on the way; `None` without it, and where runs of other titrations are evaluated together with these.
    pub looks: Option<Looks>,
    /// The solute of a run, or why it cannot be shown.
    pub solute: Result<Solute, String>,
}

/// One of the titrations that are evaluated together.
#[derive(Debug, Clone, Default)]
pub struct TitrationRecord {
    /// What tells its folder from those of the others; empty if there is no other.
    pub name: String,
    /// Its job with all defaults; empty without it.
    pub job: Job,
    /// What its log says.
    pub log: LogFacts,
    /// How its structure was prepared, if the record is still there.
    pub preparation: Option<Preparation>,
    /// Corrections of the entries that its sites have.
    pub corrections: Vec<CorrectionRecord>,
    /// How its exchange of pH values mixed; `None` without one.
    pub mixing: Option<Mixing>,
}

impl TitrationRecord {
    /// Its name before what is said of it, where there are several.
    pub fn prefix(&self) -> String {
        if self.name.is_empty() { String::new() } else { format!("{}: ", self.name) }
    }
}

/// The record of a preparation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preparation {
    /// Text of `prepare.md`.
    pub record: String,
    /// What `prepare.toml` says; empty without it.
    pub settings: toml::Table,
}

impl Preparation {
    /// That of the structure of a job.
    fn of(job: &Job) -> Option<Self> {
        job.path("system", "structure").and_then(|structure| Self::beside(&structure))
    }

    /// That of the folder in which a structure lies.
    fn beside(structure: &Path) -> Option<Self> {
        let folder = structure.parent()?;
        let record = std::fs::read_to_string(folder.join(PREPARED)).ok()?;
        let settings = std::fs::read_to_string(folder.join(PREPARED_SETTINGS)).ok();
        Some(Self { record, settings: settings.and_then(|text| text.parse().ok()).unwrap_or_default() })
    }

    /// A setting as text.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key)?.as_str()
    }
}

impl Background {
    /// Names of the titrations, where there are several.
    pub fn names(&self) -> Vec<&str> {
        self.titrations.iter().map(|titration| titration.name.as_str()).collect()
    }

    /// A value of the job as people read it; where titrations have different ones, each with the titrations that have it: `2 fs (one) and 4 fs (two)`.
    pub fn value(&self, section: &str, key: &str) -> Option<String> {
        let all = self.titrations.iter().map(|titration| titration.job.value(section, key));
        match &differences::grouped(all, self.names())[..] {
            [] => self.job.value(section, key),
            [(value, _)] => value.clone(),
            several => {
                let word = |(value, names): &(Option<String>, Vec<&str>)| {
                    format!("{} ({})", value.as_deref().unwrap_or("none"), names.join(", "))
                };
                Some(several.iter().map(word).collect::<Vec<_>>().join(" and "))
            }
        }
    }

    /// Looks into the folders of the runs of an evaluation.
    pub fn of(evaluation: &Evaluation) -> Self {
        let folder = evaluation.runs.first().map(|run| root(&run.folder)).unwrap_or_default();
        let job = Job::read(&folder.join(RESOLVED));
        let mut folders: Vec<PathBuf> = Vec::new();
        for run in &evaluation.runs {
            let folder = root(&run.folder);
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        if folders.len() > 1 {
            // Runs by themselves are no titrations.
            folders.retain(|folder| Job::read(&folder.join(RESOLVED)).has("titrate"));
        }
        let named = folders.iter().zip(names_of_titrations(&folders));
        let mine =
            |folder: &Path| evaluation.runs.iter().filter(|run| root(&run.folder) == *folder).collect::<Vec<_>>();
        let record = |(folder, name): (&PathBuf, String)| {
            let job = Job::read(&folder.join(RESOLVED));
            let (log, mixing) = (LogFacts::read(&folder.join(files::LOG)), mixing(folder));
            let (corrections, _) = corrections::of(mine(folder), &job);
            TitrationRecord { name, log, mixing, preparation: Preparation::of(&job), corrections, job }
        };
        let titrations: Vec<TitrationRecord> = named.map(record).collect();
        let of_sites = |folder: &PathBuf| -> BTreeSet<String> {
            let sites = mine(folder).into_iter().flat_map(|run| &run.sites.sites);
            sites.filter(|site| site.kind == Kind::Titratable).map(|site| site.name.clone()).collect()
        };
        let sites: Vec<BTreeSet<String>> = folders.iter().map(of_sites).collect();
        let differences = differences::of(&titrations, &sites, &evaluation.labels());
        let log = LogFacts::of_all(titrations.iter().map(|titration| titration.log.clone()));
        let (mut corrections, library) = corrections::of(&evaluation.runs, &job);
        for one in titrations.iter().flat_map(|titration| &titration.corrections) {
            if !corrections.contains(one) {
                corrections.push(one.clone());
            }
        }
        Self {
            titrations,
            differences,
            looks: looks(&folder, &job, evaluation.runs.iter().map(|run| run.folder.as_path())),
            solute: solute::find(evaluation, &job, &library),
            corrections,
            preparation: Preparation::of(&job),
            job,
            log,
            folder,
        }
    }
}

/// The folder of the titration that a run belongs to, at most two levels up; the run's own if there is none.
fn root(run: &Path) -> PathBuf {
    let above = run.ancestors().take(3).filter(|folder| !folder.as_os_str().is_empty());
    let titrates = |folder: &&Path| Job::read(&folder.join(RESOLVED)).has("titrate");
    let mut above = above;
    above.find(titrates).unwrap_or(run).to_path_buf()
}

/// The looks at the titration of a folder, whose job asks for the error that they were made for and to which all `runs` belong.
fn looks<'a>(folder: &Path, job: &Job, mut runs: impl Iterator<Item = &'a Path>) -> Option<Looks> {
    let asked: f64 = job.value("titrate", "until")?.parse().ok()?;
    let own = runs.all(|run| run.starts_with(folder));
    Looks::read(folder).filter(|looks| own && looks.target.error == asked)
}

/// How an exchange mixed, if there was one. Its table names the slots, and with them pH values and replicas.
fn mixing(folder: &Path) -> Option<Mixing> {
    let path = folder.join(files::EXCHANGE);
    let text = std::fs::read_to_string(&path).ok()?;
    let (mut ph, mut slots) = (Vec::new(), 0);
    for slot in text.lines().next()?.split(',').skip(1) {
        let value: f64 = slot.strip_prefix("pH_")?.split('/').next()?.parse().ok()?;
        slots += 1;
        if ph.last() != Some(&value) {
            ph.push(value);
        }
    }
    let ladders = Ladders { ph: &ph, replicas: slots / ph.len().max(1) };
    (ladders.slots() == slots && slots > 0).then(|| Mixing::read(&path, &ladders).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_titration_is_found_from_its_runs() {
        let place = temp_dir::TempDir::new().unwrap();
        let run = place.path().join("pH_4.00/replica_1");
        std::fs::create_dir_all(&run).unwrap();
        assert_eq!(root(&run), run);
        std::fs::write(place.path().join(RESOLVED), "[titrate]\nph = [4.0]\n").unwrap();
        std::fs::write(run.join(RESOLVED), "[titration]\nph = 4.0\n").unwrap();
        assert_eq!(root(&run), place.path());
    }

    #[test]
    fn the_table_of_an_exchange_names_its_ladders() {
        let place = temp_dir::TempDir::new().unwrap();
        assert!(mixing(place.path()).is_none());
        let head = "time (ps),pH_3.50/replica_1,pH_3.50/replica_2,pH_4.00/replica_1,pH_4.00/replica_2";
        std::fs::write(place.path().join(files::EXCHANGE), format!("{head}\n0,1,2,3,4\n1,3,2,1,4\n")).unwrap();
        let found = mixing(place.path()).unwrap();
        assert_eq!((found.ph, found.pairs[0].tried, found.pairs[0].accepted), (vec![3.5, 4.0], 2, 1));
        assert!(found.is_whole);
        // Walker 1 goes to the other ladder, as no swap brings it there: lines are missing, and nobody knows what was tried.
        std::fs::write(place.path().join(files::EXCHANGE), format!("{head}\n0,1,2,3,4\n5,2,1,3,4\n")).unwrap();
        let thinned = mixing(place.path()).unwrap();
        assert_eq!((thinned.is_whole, thinned.pairs[0].acceptance(), thinned.doubts().len()), (false, None, 0));
    }

    #[test]
    fn looks_are_those_of_the_job_and_its_runs() {
        let place = temp_dir::TempDir::new().unwrap();
        let run = place.path().join("pH_4.00/replica_1");
        let job = |until: &str| Job::parse(format!("[titrate]\nph = [4.0]\n{until}"));
        let found = |until: &str, runs: &[&Path]| looks(place.path(), &job(until), runs.iter().copied());
        assert!(found("until = 0.2", &[&run]).is_none());
        let check = r#"{"time": 100.0, "sites": [], "outside": [], "reasons": ["none"], "advice": []}"#;
        let target = r#"{"error": 0.2, "sites": [], "round_trips": 10}"#;
        let text = format!(r#"{{"target": {target}, "equilibration": 0.0, "runs": [], "checks": [{check}]}}"#);
        std::fs::write(place.path().join("until.json"), text).unwrap();
        assert_eq!(found("until = 0.2", &[&run]).unwrap().checks[0].time, 100.0);
        assert!(found("until = 0.1", &[&run]).is_none() && found("", &[&run]).is_none());
        assert!(found("until = 0.2", &[&run, Path::new("/elsewhere/pH_4.00/replica_1")]).is_none());
    }

    #[test]
    fn a_preparation_is_found_beside_its_structure() {
        let place = temp_dir::TempDir::new().unwrap();
        let structure = place.path().join("system.gro");
        assert!(Preparation::beside(&structure).is_none());
        std::fs::write(place.path().join(PREPARED), "# Preparation of a.pdb\n").unwrap();
        std::fs::write(place.path().join(PREPARED_SETTINGS), "force_field = \"ff14sb\"\n").unwrap();
        let found = Preparation::beside(&structure).unwrap();
        assert_eq!((found.setting("force_field"), found.setting("water")), (Some("ff14sb"), None));
    }
}
