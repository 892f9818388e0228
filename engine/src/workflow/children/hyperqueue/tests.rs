//! The script with small programs in the place of `hq` and octitrate, which write down how they were called.

use crate::backend::choice::Choice;
use crate::config::Jobs;
use crate::workflow::children::{Child, Queue, Scheduler, TaskArray};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder with a script, its jobs, and programs.
struct Place {
    folder: temp_dir::TempDir,
    script: PathBuf,
}

impl Place {
    /// Five runs; octitrate finishes those of a bundle and leaves with `status`.
    fn new(name: &str, device: &str, max_hours: Option<f64>, status: i32) -> Self {
        let folder = temp_dir::TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        let program = |name: &str, text: &str| {
            std::fs::write(at(name), format!("#!/bin/sh\necho \"{name} $*\" >>'{}'\n{text}", at("said").display()))
                .unwrap();
            std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        program("hq", "");
        program(
            "octitrate",
            &format!(
                "if [ \"$1\" != run ]; then exit 0; fi\nfor job in \"$@\"; do case \"$job\" in *run.toml) \
                 [ {status} = 0 ] && echo \"water, t= 0.20000\" >\"$(dirname \"$job\")/final.gro\";; esac; done\nexit {status}\n"
            ),
        );
        let names: Vec<String> = (1..=5).map(|number| format!("run {number}")).collect();
        let children: Vec<Child> = names.iter().map(|name| Child::of_tests(folder.path(), name)).collect();
        let children: Vec<&Child> = children.iter().collect();
        let executable = at("octitrate");
        let again = format!("{} {name} job --device {device}", executable.display());
        let within = format!("{} {name} job --device within", executable.display());
        let queue = Queue {
            scheduler: Scheduler::HyperQueue,
            executable: &executable,
            again: &again,
            within: &within,
            device: device.parse::<Choice>().unwrap(),
            threads: 8,
            jobs: Jobs::Auto,
            max_hours,
        };
        let staged = name == "calibrate";
        let array = TaskArray {
            children: &children,
            folder: folder.path(),
            name,
            length: 0.2,
            staged,
            atoms: 3500,
            queue: &queue,
        };
        let script = at("it's a script.sh");
        std::fs::write(&script, array.script().unwrap()).unwrap();
        let parsed = Command::new("sh").arg("-n").arg(&script).output().unwrap();
        assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
        Self { folder, script }
    }

    fn sh(&self, arguments: &[&str]) -> Output {
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.arg(&self.script).args(arguments).env("PATH", path).env_remove("HQ_TASK_ID");
        if let ["task", number] = arguments {
            command.env("HQ_TASK_ID", number);
        }
        command.output().unwrap()
    }

    /// What was called since the last time.
    fn said(&self) -> Vec<String> {
        let path = self.folder.path().join("said");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(&path, "").unwrap();
        let folder = self.folder.path().display().to_string();
        text.replace(&folder, "HERE").lines().map(String::from).collect()
    }
}

const SUBMITTED: &str =
    "--stdout=HERE/hq-%{TASK_ID}.out --stderr=HERE/hq-%{TASK_ID}.err -- sh HERE/it's a script.sh task";

#[test]
fn all_tasks_or_some_are_submitted_with_what_they_need() {
    let place = Place::new("titrate", "cuda:0-1", None, 0);
    assert!(place.sh(&[]).status.success() && place.sh(&["2"]).status.success());
    let with = |array: &str| {
        format!(
            "hq submit --name=titrate --array={array} --cpus=8 --resource gpus/nvidia=1 --time-request=10min \
             --crash-limit=1000 {SUBMITTED}"
        )
    };
    assert_eq!(place.said(), [with("1-2"), with("2")]);
    let place = Place::new("titrate", "auto", Some(0.05), 0);
    assert!(place.sh(&[]).status.success());
    let said = place.said();
    assert!(
        said[0].contains("--array=1-5 --cpus=8 --time-request=3min "),
        "no GPU, and no more than its time: {said:?}"
    );
}

#[test]
fn the_last_task_evaluates() {
    let place = Place::new("titrate", "cuda:0-1", Some(2.5), 0);
    let first = place.sh(&["task", "1"]);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let jobs = |numbers: &[u32]| numbers.iter().map(|n| format!(" HERE/run {n}/run.toml")).collect::<String>();
    let run = "octitrate run --quiet --device cuda:0 --threads 8 --max-hours 2.5";
    assert_eq!(place.said(), [format!("{run}{}", jobs(&[1, 3, 5]))]);
    // Those of the other task are as they were before they were to become longer.
    for number in [2, 4] {
        std::fs::write(place.folder.path().join(format!("run {number}/final.gro")), "water, t= 0.10000\n").unwrap();
    }
    assert!(place.sh(&["task", "1"]).status.success());
    assert_eq!(place.said(), [format!("{run}{}", jobs(&[1, 3, 5]))]);
    assert!(place.sh(&["task", "2"]).status.success());
    let evaluated = "octitrate titrate job --device within --quiet".to_string();
    assert_eq!(place.said(), [format!("{run}{}", jobs(&[2, 4])), evaluated]);
    assert!(!place.folder.path().join(".last").exists());
}

#[test]
fn a_task_whose_time_is_over_submits_itself_and_one_that_failed_does_not() {
    let over = Place::new("titrate", "cpu", Some(1.0), 4);
    assert!(over.sh(&["task", "3"]).status.success());
    let said = over.said();
    assert!(said[0].ends_with("--max-hours 1 HERE/run 3/run.toml"), "{said:?}");
    assert!(said[1].starts_with("hq submit --name=titrate --array=3 ") && said.len() == 2, "{said:?}");
    let failed = Place::new("titrate", "cpu", None, 3);
    assert_eq!(failed.sh(&["task", "3"]).status.code(), Some(3));
    assert_eq!(failed.said().len(), 1);
}

#[test]
fn the_last_task_of_a_stage_submits_the_next_one() {
    let place = Place::new("calibrate", "cuda:3", None, 0);
    let task = place.sh(&["task", "1"]);
    assert!(task.status.success(), "{}", String::from_utf8_lossy(&task.stderr));
    let said = place.said();
    // What stands for octitrate says nothing, so that the next script is empty: it is asked for, and started.
    assert_eq!(said[1..], ["octitrate calibrate job --device cuda:3 --hyperqueue"]);
    assert!(place.folder.path().join(".next.sh").exists());
}
