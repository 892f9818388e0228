use super::*;
use crate::evaluation::pka::{self, Options};
use crate::record::{Description, FormRecord, UntitratedRecord};
use std::fmt::Write;

/// A run at pH 4 with frames at these times, in a folder with the plan of 100 steps of 10 fs.
fn run(folder: &Path, name: &str, times: &[f64], lambda: impl Fn(usize) -> f64) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(&path).unwrap();
    let form =
        |name: &str, lost| FormRecord { name: name.into(), protons_lost: lost, charge: 0.0, pk: 4.0 * f64::from(lost) };
    let site = SiteRecord {
        name: "GLU 2".into(),
        coordinate: "linear".into(),
        forms: vec![form("protonated", 0), form("deprotonated", 1)],
        ..SiteRecord::default()
    };
    let description = Description { sites: vec![site], ph: Some(4.0), temperature: 300.0, ..Description::default() };
    sites::write(&path.join(files::SITES), &description).unwrap();
    let mut text = String::from("time (ps),lambda GLU 2,dV/dlambda GLU 2 (kJ/mol)\n");
    for (index, time) in times.iter().enumerate() {
        writeln!(text, "{time},{},0", lambda(index)).unwrap();
    }
    std::fs::write(path.join(files::LAMBDA), text).unwrap();
    let plan = "[dynamics]\nsteps = 100\ntime_step = \"10 fs\"\n[output]\nlambda = \"0.1 ps\"\n";
    std::fs::write(path.join(RESOLVED), plan).unwrap();
    path
}

fn times(from: usize, to: usize, interval: f64) -> Vec<f64> {
    (from..=to).map(|k| (k as f64 * interval * 1e6).round() / 1e6).collect()
}

#[test]
fn a_table_shorter_than_its_run_is_refused_and_a_run_on_its_way_is_told() {
    let folder = temp_dir::TempDir::new().unwrap();
    let whole = run(folder.path(), "pH_4.00/replica_1", &times(0, 10, 0.1), |_| 0.0);
    assert!(Run::read(&whole).unwrap().warnings.is_empty());
    let short = run(folder.path(), "pH_4.00/replica_2", &times(0, 7, 0.1), |_| 0.0);
    let warnings = Run::read(&short).unwrap().warnings;
    assert_eq!(warnings, ["pH_4.00/replica_2: not finished: 0.7 of 1 ps"]);
    std::fs::write(short.join(files::FINAL), "").unwrap();
    let message = Run::read(&short).unwrap_err().to_string();
    assert!(message.contains("the table ends at 0.7 ps, and its run was finished at 1 ps"), "{message}");
    // A run that was finished at 0.5 ps and is made longer.
    std::fs::write(short.join(files::FINAL), "two waters, t= 0.5\n").unwrap();
    assert_eq!(Run::read(&short).unwrap().warnings, warnings);
    std::fs::write(short.join(files::FINAL), "two waters, t= 0.9\n").unwrap();
    let message = Run::read(&short).unwrap_err().to_string();
    assert!(message.contains("the table ends at 0.7 ps, and its run was finished at 0.9 ps"), "{message}");
    // A run that has not made a step is none of those that are evaluated, but for one that was finished.
    let next = run(folder.path(), "pH_5.00/replica_1", &[], |_| 0.0);
    let all = [folder.path().to_path_buf()];
    assert_eq!(find(&all).unwrap().len(), 3);
    std::fs::write(next.join(files::LAMBDA), "").unwrap();
    assert_eq!(find(&all).unwrap().len(), 2);
    assert!(find(std::slice::from_ref(&next)).unwrap_err().to_string().contains("no run has made a step yet"));
    // One that was finished has lost it.
    std::fs::write(next.join(files::FINAL), "").unwrap();
    assert_eq!(find(&all).unwrap().len(), 2);
    assert_eq!(find(std::slice::from_ref(&next)).unwrap().len(), 1);
    let mut text = std::fs::read_to_string(whole.join(files::LAMBDA)).unwrap();
    text.push_str("1.1,0.");
    std::fs::write(whole.join(files::LAMBDA), text).unwrap();
    assert!(Run::read(&whole).unwrap().warnings[0].contains("an incomplete line at the end of lambda.csv is left out"));
}

/// A table that was emptied on the way and gone on with says so; one of a run that was added begins when that began.
#[test]
fn a_table_that_begins_late_is_told_of() {
    let folder = temp_dir::TempDir::new().unwrap();
    let late = run(folder.path(), "pH_4.00/replica_1", &times(5, 10, 0.1), |_| 0.0);
    let warnings = Run::read(&late).unwrap().warnings;
    let lost = "lambda.csv begins at 0.5 ps: the lines before are lost, and do not count";
    assert_eq!(warnings, [format!("pH_4.00/replica_1: {lost}")]);
    let (from, why) = ("pH_5.00/replica_1".into(), String::new());
    Begun { time: 0.4, from, why, walker: None, from_walker: None }.write(&late).unwrap();
    assert!(Run::read(&late).unwrap().warnings.is_empty());
}

/// A run below the folder of a titration that has lost a file without which it cannot be read is left out and named; named itself it is refused.
#[test]
fn a_run_that_has_lost_a_file_is_left_out_and_named() {
    let folder = temp_dir::TempDir::new().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    let [whole, table, emptied, sites] =
        ["pH_4.00/replica_1", "pH_4.00/replica_2", "pH_4.00/replica_3", "pH_4.00/replica_4"]
            .map(|name| run(&root, name, &times(0, 10, 0.1), |_| 0.0));
    let all = [root.clone()];
    assert_eq!((find(&all).unwrap().len(), lost(&all)), (4, vec![]));
    std::fs::remove_file(table.join(files::LAMBDA)).unwrap();
    std::fs::write(table.join(files::ENERGY), "time (ps)\n").unwrap();
    std::fs::write(emptied.join(files::LAMBDA), "").unwrap();
    std::fs::write(emptied.join(files::FINAL), "").unwrap();
    std::fs::remove_file(sites.join(files::SITES)).unwrap();
    assert_eq!(find(&all).unwrap(), [whole]);
    let expected = [(&table, files::LAMBDA), (&emptied, files::LAMBDA), (&sites, files::SITES)];
    assert_eq!(lost(&all), expected.map(|(run, file)| (run.clone(), file)));
    assert!(without_frames(&all).is_empty());
    let refused = |run: &Path, what: &str| {
        let error = Run::read(run).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        let Error::Input(error) = error else { panic!("{error}") };
        let other = format!("octitrate pka {} evaluates the other runs without it", root.display());
        assert!(error.help.ends_with(&other), "{}", error.help);
    };
    refused(&table, "replica_2/lambda.csv: the file is missing");
    refused(&emptied, "replica_3/lambda.csv: the file is empty");
    refused(&sites, "replica_4/sites.toml: the file is missing");
    std::fs::write(emptied.join(files::LAMBDA), "time (ps),lambda GLU 2,dV/dlambda GLU 2 (kJ/mol)\n0,x,0\n").unwrap();
    refused(&emptied, "line 2: found text where a number belongs");
}

/// Ten frames protonated in the first ps, then two deprotonated in two ps: two thirds of the time, not one sixth of the frames.
#[test]
fn frames_count_by_their_time_when_the_interval_was_changed() {
    let folder = temp_dir::TempDir::new().unwrap();
    let changing: Vec<f64> = times(0, 10, 0.1).into_iter().chain([2.0, 3.0, 4.0]).collect();
    let path = run(folder.path(), "changing", &changing, |index| f64::from(u8::from(index > 10)));
    let steady = run(folder.path(), "steady", &times(0, 40, 0.1), |index| f64::from(u8::from(index > 10)));
    let runs = |paths: &[&PathBuf]| paths.iter().map(|path| Run::read(path).unwrap()).collect::<Vec<_>>();
    let options = Options { parquet: false, ..Options::default() };
    let found = pka::evaluate(runs(&[&path, &steady]), &options).unwrap();
    // Frames at 1, 2, 3 and 4 ps of both runs; that at 0 is the start.
    assert_eq!(found.runs[0].series.time, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(found.runs[1].series.time.len(), 4);
    let point = &found.sites[0].titration.points[0];
    assert_eq!(point.occupancy.forms, [2, 6]);
    let taken = "frames are taken every 1 ps, so that all count by their time:";
    let why = ["changing: {} some lines are nearer to each other", "steady: {} lines are 0.1 ps apart"]
        .map(|why| why.replace("{}", taken));
    assert!(
        [0, 1].iter().all(|&run| found.warnings.iter().any(|warning| warning.contains(&why[run]))),
        "{:?}",
        found.warnings
    );
    // A gap is told and not made up for.
    let gap: Vec<f64> = times(0, 4, 0.1).into_iter().chain(times(8, 10, 0.1)).collect();
    let gap = run(folder.path(), "gap", &gap, |_| 0.0);
    let found = pka::evaluate(runs(&[&gap]), &options).unwrap();
    assert!(found.warnings.iter().any(|warning| warning.contains("3 frames are missing")), "{:?}", found.warnings);
    assert_eq!(found.runs[0].series.time.len(), 7);
}

/// What the job of a titration says holds for its runs, too, and runs that it should have and that have no frames are named.
#[test]
fn the_job_of_a_titration_is_that_of_its_runs() {
    let folder = temp_dir::TempDir::new().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    for name in ["pH_4.00/replica_1", "pH_4.00/replica_2", "pH_4.50/replica_1"] {
        run(&root, name, &times(0, 10, 0.1), |_| 0.0);
    }
    let job = "[titrate]\nph = [4.0, 4.5, 5.125]\nreplicas = 2\nequilibration = \"200 ps\"\nfinite_box = \"box.csv\"\n";
    std::fs::write(root.join(RESOLVED), job).unwrap();
    for place in ["", "pH_4.00", "pH_4.00/replica_2"] {
        assert_eq!(equilibration(&root.join(place)), Some(200.0), "{place}");
        assert_eq!(finite_box(&root.join(place)), Some(PathBuf::from("box.csv")), "{place}");
    }
    std::fs::write(root.join("pH_4.00/replica_1").join(files::LAMBDA), "").unwrap();
    let missing = ["pH_4.00/replica_1", "pH_4.50/replica_2", "pH_5.125/replica_1", "pH_5.125/replica_2"];
    assert_eq!(without_frames(std::slice::from_ref(&root)), missing.map(|name| root.join(name)));
    assert!(without_frames(&[root.join("pH_4.00/replica_2")]).is_empty());
    // Those that the job does not have any more, as far as they have frames.
    assert_eq!(others(&root, &[root.join("pH_4.00/replica_2")]), ["pH_4.50/replica_1"]);
}

#[test]
fn a_run_in_the_folder_of_another_ph_is_refused() {
    let folder = temp_dir::TempDir::new().unwrap();
    let read = |name: &str| Run::read(&run(folder.path(), name, &times(0, 10, 0.1), |_| 0.0));
    for name in ["pH_4.00/replica_1", "pH_4.00", "pH_5.00/mine", "acid/replica_1"] {
        assert!(read(name).is_ok(), "{name}");
    }
    let message = read("pH_5.00/replica_1").unwrap_err().to_string();
    assert!(message.contains("the run has pH 4, and lies in a folder of pH 5"), "{message}");
}

/// The same of a folder that says no pH.
#[test]
fn a_run_of_another_ph_than_its_job_is_refused() {
    let folder = temp_dir::TempDir::new().unwrap();
    let run = run(folder.path(), "acid", &times(0, 10, 0.1), |_| 0.0);
    let read = |ph: &str| {
        std::fs::write(run.join("resolved.toml"), format!("[titration]\nph = {ph}\n")).unwrap();
        Run::read(&run)
    };
    assert!(read("4.0").is_ok());
    let message = read("5.5").unwrap_err().to_string();
    assert!(message.contains("the run has pH 4, and its job, resolved.toml, pH 5.5"), "{message}");
}

/// Without what says how it began, a run that a look has added would be one whose first lines are lost, and less of its start would be left out.
#[test]
fn a_run_that_has_lost_how_it_began_is_left_out_and_named() {
    let folder = temp_dir::TempDir::new().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    let first = run(&root, "pH_5.00/replica_1", &times(0, 10, 0.1), |_| 0.0);
    let added = run(&root, "pH_4.00/replica_1", &times(5, 10, 0.1), |_| 0.0);
    let all = [root.clone()];
    let looks = |ph: f64, time: f64, withdrawn: &str| {
        let text = format!("{{\"added\": [{{\"ph\": {ph:?}, \"time\": {time:?}{withdrawn}}}], \"checks\": []}}");
        std::fs::write(root.join("until.json"), text).unwrap();
        lost(&all)
    };
    // Another pH, one at which no run began, and a run that began earlier than at the look.
    assert_eq!(
        [looks(6.0, 0.4, ""), looks(4.0, 0.4, ", \"withdrawn\": \"no memory\""), looks(4.0, 0.7, "")],
        [(); 3].map(|()| vec![])
    );
    assert_eq!(looks(4.0, 0.4, ""), [(added.clone(), "begun.toml")]);
    assert_eq!(find(&all).unwrap(), [first]);
    let refused = Run::read(&added).unwrap_err().to_string();
    assert!(refused.contains("pH_4.00/replica_1/begun.toml: the file is missing"), "{refused}");
    let (from, why) = ("pH_5.00/replica_1".into(), String::new());
    Begun { time: 0.4, from, why, walker: None, from_walker: None }.write(&added).unwrap();
    assert_eq!((find(&all).unwrap().len(), lost(&all)), (2, vec![]));
}

/// Sites and what does not titrate, by their usual names: another protonation is no other group.
#[test]
fn the_groups_of_a_run_are_those_of_its_system() {
    let folder = temp_dir::TempDir::new().unwrap();
    let mut found = Run::read(&run(folder.path(), "pH_4.00/replica_1", &times(0, 10, 0.1), |_| 0.0)).unwrap();
    found.sites.sites[0].name = "nterm GL3 2".into();
    let untitrated = |name: &str| UntitratedRecord { name: name.into(), reason: "not asked for".into() };
    found.sites.untitrated = vec![untitrated("ZAS3 15A"), untitrated("LYS 7")];
    let expected = [" ASP 15A", " LYS 7", "nterm GLU 2"].map(String::from);
    assert_eq!(found.groups(), BTreeSet::from(expected));
}

/// Ends of runs have one name, and are told apart by their folders; other structures by their names, wherever they lie.
#[test]
fn structures_to_begin_with_are_told_apart() {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = run(folder.path(), "pH_4.00/replica_1", &times(0, 10, 0.1), |_| 0.0);
    let resolved = path.join(RESOLVED);
    let text = std::fs::read_to_string(&resolved).unwrap();
    let named = |structure: &str| {
        std::fs::write(&resolved, format!("{text}\n[system]\nstructure = \"{structure}\"\n")).unwrap();
        Run::read(&path).unwrap().structure
    };
    let ends =
        ["/a/start_2/final.gro", "/a/start_3/final.gro", "final.gro", "/a/system.gro", "/b/system.gro"].map(named);
    let expected = ["start_2/final.gro", "start_3/final.gro", "final.gro", "system.gro", "system.gro"];
    assert_eq!(ends, expected.map(|name| Some(name.to_string())));
}
