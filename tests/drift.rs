//! `octitrate drift`: the energy-drift regression of a job.

use std::path::Path;
use std::process::{Command, Output};

fn octitrate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_octitrate")).args(arguments).output().unwrap()
}

fn plain(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

/// Slope of a straight line by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let [x, y] = [points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n];
    let products: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    products / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
}

/// A capped Glu with λ moving at constant energy: the drift is the slope in the table, and the exit status says whether it is within a limit.
#[test]
fn a_job_is_run_at_constant_energy_and_its_drift_is_judged() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = temp_dir::TempDir::new().unwrap();
    let job = folder.path().join("job.toml");
    let text = std::fs::read_to_string(root.join("inputs/09-glu3/titrate.toml")).unwrap();
    let text = text.replace("\"glu3.", &format!("\"{}/inputs/09-glu3/glu3.", root.display()));
    std::fs::write(&job, text).unwrap();
    let drift = |more: &[&str]| {
        let job = job.to_str().unwrap();
        octitrate(&[&["drift", job, "--device", "cpu", "--duration", "0.6 ps", "--json", "--quiet"], more].concat())
    };
    let output = drift(&["--limit", "0.01"]);
    assert_eq!(output.status.code(), Some(0), "{}", plain(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = folder.path().join("job-drift");
    let table = std::fs::read_to_string(results.join("energy.csv")).unwrap();
    let names: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let column = names.iter().position(|name| *name == "conserved (kJ/mol)").unwrap();
    let points: Vec<(f64, f64)> = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect::<Vec<f64>>())
        .filter(|row| row[0] > 0.0)
        .map(|row| (row[0], row[column]))
        .collect();
    let (atoms, value) = (found["atoms"].as_f64().unwrap(), found["drift (kJ/mol/ps/atom)"].as_f64().unwrap());
    assert!(points.len() >= 29 && (value - slope(&points) / atoms).abs() < 1e-6 * value.abs(), "{found:#}");
    assert_eq!(found["verdict"], "within");
    // Nothing but the integrator acts, and λ moves: the job has a thermostat.
    let resolved = std::fs::read_to_string(results.join("resolved.toml")).unwrap();
    assert!(!resolved.contains("[thermostat]") && resolved.contains("[[titration.site]]"), "{resolved}");
    assert!(results.join("analysis.svg").exists());
    // 0.6 ps say nothing about a drift of 1e-12, and what has been run is not run again.
    let output = drift(&["--limit", "1e-12"]);
    assert_eq!(output.status.code(), Some(5), "{}", plain(&output.stderr));
    let output = octitrate(&["drift", job.to_str().unwrap(), "--duration", "0.01 ps"]);
    assert!(!output.status.success() && plain(&output.stderr).contains("5 steps are too few to see a drift"));
    // Said before anything runs.
    let output = octitrate(&["drift", job.to_str().unwrap(), "--duration", "0.6 ps", "--equilibration", "0.6 ps"]);
    let said = plain(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("--equilibration leaves out 0.6 ps, and the run has 0.6 ps"),
        "{said}"
    );
}
