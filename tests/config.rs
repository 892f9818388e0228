//! Jobs that are refused, and jobs that are not, through the program itself.
//!
//! Every `bad/*.toml` starts with comments that say what the program must answer: `# error:` the sentence, `# at:` line and
//! column, `# help:` what is valid. `# command:` is the command, `check` unless given; `# status:` the exit status, 2 unless
//! given. Every `good/*.toml` must be accepted, and its resolved form must be accepted and resolve to itself.

use octitrate::config::Config;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn octitrate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_octitrate")).args(arguments).output().unwrap()
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(!files.is_empty());
    files
}

/// The message without the frame that miette draws: one line, single blanks.
fn plain(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.replace(['│', '×', '╭', '╰', '─'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is wrong with the answer to a bad job; nothing if it is as its comments say.
fn complaint(path: &Path) -> Option<String> {
    // One of them is in another encoding.
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let say = |key: &str| -> Vec<&str> {
        text.lines().filter_map(|line| line.strip_prefix("# ")?.strip_prefix(key)).map(str::trim).collect()
    };
    let (errors, command, status) = (say("error:"), say("command:"), say("status:"));
    if errors.is_empty() {
        return Some("it has no `# error:` comment".into());
    }
    let folder = temp_dir::TempDir::new().unwrap();
    let mut arguments = vec![command.first().copied().unwrap_or("check"), path.to_str().unwrap()];
    if arguments[0] == "run" {
        arguments.extend(["--output", folder.path().to_str().unwrap()]);
    }
    let output = octitrate(&arguments);
    let message = plain(&output.stderr);
    let wanted = status.first().map_or(2, |status| status.parse().unwrap());
    if output.status.code() != Some(wanted) {
        return Some(format!("exit status {:?} instead of {wanted}: {message}", output.status.code()));
    }
    if message.contains("panicked") {
        return Some(message);
    }
    let places = say("at:").into_iter().map(|place| format!("{}:{place}]", path.file_name().unwrap().display()));
    let helps = say("help:").into_iter().map(|help| format!("help: {help}"));
    let missing =
        errors.into_iter().map(str::to_string).chain(places).chain(helps).find(|part| !message.contains(part));
    missing.map(|part| format!("\n  expected {part}\n  found    {message}"))
}

#[test]
fn bad_jobs_are_refused_with_their_message() {
    let complaints: Vec<String> = files("bad")
        .iter()
        .filter_map(|path| Some(format!("{}: {}", path.file_name()?.display(), complaint(path)?)))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn good_jobs_are_accepted_and_resolve_to_themselves() {
    let folder = temp_dir::TempDir::new().unwrap();
    for path in files("good") {
        // Beside some of them lies a folder of their name, with their files.
        let results = folder.path().join("results");
        let output = octitrate(&["check", path.to_str().unwrap(), "--output", results.to_str().unwrap()]);
        assert!(output.status.success(), "{}: {}", path.display(), plain(&output.stderr));
        let config = Config::load(&path).unwrap();
        let resolved = folder.path().join("resolved.toml");
        config.save(&resolved).unwrap();
        let again = Config::load(&resolved).unwrap();
        assert_eq!(config, again, "{}", path.display());
        assert_eq!(config.to_toml().unwrap(), again.to_toml().unwrap());
    }
}

/// What `run` would refuse at its start, `check` refuses, and it leaves the folder as it is.
#[test]
fn check_looks_at_the_folder_of_the_results() {
    let folder = temp_dir::TempDir::new().unwrap();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files");
    let (job, out) = (folder.path().join("job.toml"), folder.path().join("job"));
    let write = |seed: u32, more: &str| {
        let text = format!(
            "[system]\nstructure = \"{0}/water.gro\"\ntopology = \"{0}/water.top\"\n[electrostatics]\norder = 4\n\
             [neighbour_list]\nbuffer = \"0.1 nm\"\n[dynamics]\nsteps = 4\nseed = {seed}\n{more}",
            files.display()
        );
        std::fs::write(&job, text).unwrap();
    };
    let check = || octitrate(&["check", job.to_str().unwrap()]);
    let said = || {
        let output = check();
        (output.status.code().unwrap(), format!("{} {}", plain(&output.stdout), plain(&output.stderr)))
    };
    write(3, "[thermostat]\ntemperature = \"300 K\"\n");
    let (status, text) = said();
    assert!(status == 0 && text.contains("first velocities drawn at 300 K with seed 3"), "{text}");
    // Times are in the unit of their size, as in the stages of a run.
    assert!(text.contains("length 8 fs, time step 2 fs"), "{text}");
    assert!(!out.exists());
    // Files of others.
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("notes.txt"), "mine").unwrap();
    let (status, text) = said();
    assert!(status == 2 && text.contains("the folder holds files that are not of this job: notes.txt"), "{text}");
    std::fs::remove_file(out.join("notes.txt")).unwrap();
    // This run, and another one.
    assert!(octitrate(&["run", job.to_str().unwrap(), "--quiet"]).status.success());
    let (status, text) = said();
    assert!(status == 0 && text.contains("which holds this run up to step 4"), "{text}");
    write(5, "[thermostat]\ntemperature = \"300 K\"\n");
    let (status, text) = said();
    assert!(
        status == 2 && text.contains("the checkpoint belongs to another run: dynamics.seed was 3 and is now 5"),
        "{text}"
    );
    // Elsewhere there is nothing.
    let elsewhere = folder.path().join("elsewhere");
    let output = octitrate(&["check", job.to_str().unwrap(), "--output", elsewhere.to_str().unwrap()]);
    assert!(output.status.success() && !elsewhere.exists(), "{}", plain(&output.stderr));
    // Nobody makes a folder in a file, whoever asks.
    let output = octitrate(&["check", job.to_str().unwrap(), "--output", job.join("results").to_str().unwrap()]);
    let text = plain(&output.stderr);
    assert!(output.status.code() == Some(2) && text.contains("a part of the path is a file"), "{text}");
}

/// Without velocities and without a temperature a run begins at rest: the first job of many to look at the drift of the energy.
#[test]
fn a_start_at_rest_is_said() {
    let folder = temp_dir::TempDir::new().unwrap();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files");
    let said = |more: &str| {
        let job = format!(
            "[system]\nstructure = \"{0}/water.gro\"\ntopology = \"{0}/water.top\"\n[electrostatics]\norder = 4\n\
             [neighbour_list]\nbuffer = \"0.1 nm\"\n[dynamics]\nsteps = 4\n{more}",
            files.display()
        );
        std::fs::write(folder.path().join("job.toml"), job).unwrap();
        let output = octitrate(&["check", folder.path().join("job.toml").to_str().unwrap()]);
        assert!(output.status.success(), "{}", plain(&output.stderr));
        plain(&output.stdout)
    };
    let rest = said("");
    assert!(rest.contains("first velocities none, the run begins at rest"), "{rest}");
    assert!(rest.contains("warning: the structure has no velocities and no temperature is given"), "{rest}");
    let drawn = said("velocity_temperature = \"300 K\"\nseed = 7\n");
    assert!(
        drawn.contains("first velocities drawn at 300 K with seed 7") && !drawn.contains("warning: the structure"),
        "{drawn}"
    );
}

#[test]
fn a_missing_job_is_named() {
    let output = octitrate(&["run", "no_such_job.toml"]);
    let message = plain(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(message, "no_such_job.toml: cannot read the job file: no such file or folder");
}

#[test]
fn every_command_has_help_with_an_example() {
    let benches = ["fmm", "md"].map(|what| vec!["bench", what]);
    let others = ["run", "titrate", "calibrate", "energy", "check", "info", "fmm"].map(|what| vec![what]);
    for command in others.into_iter().chain(benches) {
        let output = octitrate(&[&command[..], &["--help"]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("Example:"), "{command:?}: {text}");
    }
}

#[test]
fn exit_statuses_are_in_the_help() {
    let text = String::from_utf8(octitrate(&["--help"]).stdout).unwrap();
    for line in [
        "0      done",
        "2      the command line",
        "3      the physics failed",
        "4      stopped in time",
        "128+N  stopped by signal N",
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
}

/// What `check` says of a job with these lines in `[system]` and `[titration]`.
fn checked(system: &str, titration: &str) -> String {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("job.toml");
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/peptide");
    let text = format!(
        "[system]\nstructure = \"{0}.gro\"\ntopology = \"{0}.top\"\n{system}\n[electrostatics]\norder = 4\n[dynamics]\nduration = \"1 ps\"\n\
         [thermostat]\ntemperature = \"300 K\"\n[output]\nlambda = \"0.1 ps\"\n{titration}\n",
        reference.display()
    );
    std::fs::write(&path, text).unwrap();
    let output = octitrate(&["check", path.to_str().unwrap(), "--device", "cpu"]);
    assert!(output.status.success(), "{}", plain(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `-D` was taken as a part of the name, and a name that nothing asks for passed in silence.
#[test]
fn a_define_without_effect_is_told() {
    let text = checked("define = [\"-DPOSRES\"]", "");
    assert!(text.contains("warning: system.define: nothing in the topology asks for POSRES ("), "{text}");
}

/// A topology as pdb2gmx builds it has groups that cannot titrate.
#[test]
fn groups_that_do_not_titrate_are_listed() {
    let text = checked("", "[titration]\nph = 7.0\nallow_uncalibrated = true");
    assert!(text.contains("does not titrate     His 7: it has no atom HD1"), "{text}");
    assert!(text.contains("warning: 2 groups that the library knows do not titrate: Glu 3, His 7"), "{text}");
    // Where sites are named, the others are counted.
    let text = checked("", "[titration]\nph = 7.0\nallow_uncalibrated = true\n[[titration.site]]\nresidue = \"LYS 4\"");
    let expected = "left fixed           4 more groups that the library knows, Glu 3, His 7, Cys 8, Arg 9; 2 of them could titrate as they are built";
    assert!(text.contains(expected) && !text.contains("does not titrate"), "{text}");
}

/// V_MM of an end belongs to one residue: where it is not known the end stays as it is built, and asking for it is refused.
#[test]
fn ends_of_chains_titrate_where_their_correction_is_known() {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs");
    let check = |job: &Path| octitrate(&["check", job.to_str().unwrap(), "--device", "cpu"]);
    let hirustasin = inputs.join("13-hirustasin");
    let output = check(&hirustasin.join("run.toml"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", plain(&output.stderr));
    assert!(text.contains("does not titrate     N-term Thr 5: V_MM of nterm is known for ALA, GLY,"), "{text}");
    // The model compound is alanine.
    let output = check(&inputs.join("12-cterm/titrate.toml"));
    assert!(output.status.success() && !String::from_utf8(output.stdout).unwrap().contains("does not titrate"));
    let folder = temp_dir::TempDir::new().unwrap();
    let named = folder.path().join("named.toml");
    let text = std::fs::read_to_string(hirustasin.join("run.toml")).unwrap();
    let text = text.replace("\"hirustasin.", &format!("\"{}/hirustasin.", hirustasin.display()));
    std::fs::write(&named, format!("{text}\n[[titration.site]]\nresidue = \"nterm THR 5\"\n")).unwrap();
    let output = check(&named);
    let text = plain(&output.stderr);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("nterm THR 5: V_MM of nterm is known for ALA, GLY,"), "{text}");
    assert!(
        text.contains(
            "where the force field has other charges; it stays as it is built, with its proton at every pH (the pKa of its model compound is 8), unless it is calibrated"
        ),
        "{text}"
    );
}

/// `prefix` under a limit on the size of files, so that writing fails as on a full disk.
fn limited(blocks: u32, arguments: &[&str]) -> Output {
    // SIGXFSZ is ignored, so that the write itself fails, with EFBIG.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_octitrate")]).args(arguments).output().unwrap()
}

/// The disk fills up during a run: one message, exit status 2, and what is left is the state of the last good checkpoint,
/// from which the run continues.
#[test]
fn a_full_disk_ends_a_run_without_damage() {
    let folder = temp_dir::TempDir::new().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let job = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good/water.toml");
    let job = job.to_str().unwrap();
    let whole = folder.path().join("whole");
    assert!(octitrate(&["run", job, "--quiet", "--output", whole.to_str().unwrap()]).status.success());
    // A block is 512 bytes: the tables of the run outgrow four of them, its checkpoint does not.
    let failed = limited(4, &["run", job, "--quiet", "--output", out]);
    let message = plain(&failed.stderr);
    assert_eq!(failed.status.code(), Some(2), "{message}");
    // The trajectory is written by chemfiles, in its own words.
    let known = ["the file would exceed the size limit", "File too large", "is it full?"];
    assert!(known.iter().any(|text| message.contains(text)) && !message.contains("panicked"), "{message}");
    assert!(!Path::new(out).join("final.gro").exists());
    let continued = octitrate(&["run", job, "--quiet", "--output", out]);
    assert!(continued.status.success(), "{}", plain(&continued.stderr));
    for name in ["energy.csv", "trajectory.xtc", "final.gro"] {
        let read = |folder: &Path| std::fs::read(folder.join(name)).unwrap();
        assert!(read(Path::new(out)) == read(&whole), "{name} differs after the disk was full");
    }
}
