//! `octitrate fmm` and `octitrate bench`, through the program itself, on small systems.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn octitrate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_octitrate")).args(arguments).output().unwrap()
}

/// What the program prints as JSON, computed by the CPU.
fn answer(arguments: &[&str]) -> Value {
    let output = octitrate(&[arguments, &["--json", "--device", "cpu"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The message of a refusal, exit status 2.
fn refusal(arguments: &[&str]) -> String {
    let output = octitrate(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!message.contains("panicked"), "{message}");
    message
}

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fmm/tests/reference/dev_{name}.json"))
}

const CELLS: [&str; 6] = ["cubic_3d", "cubic_3d_charged", "rectangular_3d", "triclinic_3d", "slab_2d", "wire_1d"];

#[test]
fn a_tolerance_is_kept_in_every_cell() {
    for name in CELLS {
        let path = reference(name);
        for (of, key) in [("force", "forces"), ("energy", "energy")] {
            let arguments = ["fmm", path.to_str().unwrap(), "--tolerance", "1e-6", "--tolerance-of", of];
            let found = answer(&arguments);
            // The reference sums are good to 1e-10 and better, the errors of forces are those of all particles.
            let error = found["relative_errors"][key].as_f64().unwrap();
            assert!(error < 1e-6, "{name}, {of}: {error:e}");
            assert_eq!(found["tolerance"]["of"], of);
            let trials = found["trials"].as_array().unwrap();
            let same = |trial: &&Value| ["order", "depth", "root", "separation"].iter().all(|k| trial[k] == found[k]);
            assert!(trials.iter().any(|trial| same(&trial)), "{name}: the choice is none of the trials");
        }
    }
}

#[test]
fn trials_and_the_reason_of_the_choice_are_shown() {
    let output = octitrate(&["fmm", reference("cubic_3d").to_str().unwrap(), "--tolerance", "1e-4", "--device", "cpu"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["near boxes", "expected", "chosen: the cheapest of these", "relative error of forces"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn more_near_boxes_are_more_accurate() {
    let path = reference("cubic_3d");
    let error = |separation: &str| {
        let arguments = ["fmm", path.to_str().unwrap(), "--order", "8", "--root", "4,4,4", "--separation", separation];
        answer(&arguments)["relative_errors"]["forces"].as_f64().unwrap()
    };
    // 27 and 93 near boxes: the opening falls from 0.87 to 0.58, its eighth power by a factor of 25.
    let (touching, two_apart) = (error("1.12"), error("1.7"));
    assert!(two_apart < 0.1 * touching, "{touching:e} and {two_apart:e}");
}

#[test]
fn charges_without_results_are_compared_with_exact_sums() {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("plain.json");
    let positions: Vec<[f64; 3]> =
        (0..27).map(|i| [i / 9, i / 3 % 3, i % 3].map(|x| f64::from(x * x + i) * 0.1)).collect();
    let charges: Vec<f64> = (0..27).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let write = |charges: &[f64], more: Value| {
        let mut file = json!({ "positions": positions, "charges": charges });
        more.as_object().unwrap().iter().for_each(|(key, value)| file[key] = value.clone());
        std::fs::write(&path, file.to_string()).unwrap();
    };
    let path = path.to_str().unwrap();
    write(&charges, json!({}));
    let found = answer(&["fmm", path, "--order", "12", "--root", "4,4,4"]);
    assert_eq!(found["relative_errors"], json!({}));
    assert_eq!(found["sampled_errors"]["particles"], 27);
    let error = found["sampled_errors"]["forces"].as_f64().unwrap();
    assert!(error > 1e-12 && error < 1e-3, "{error:e}");
    // All pairs, for the energy.
    let exact: f64 = (0..27)
        .flat_map(|i| (0..i).map(move |j| (i, j)))
        .map(|(i, j)| {
            let square: f64 = (0..3).map(|a| (positions[i][a] - positions[j][a]).powi(2)).sum();
            charges[i] * charges[j] / square.sqrt()
        })
        .sum();
    let energy = found["energy"].as_f64().unwrap();
    assert!((energy / exact - 1.0).abs() < 1e-3, "{energy} and {exact}");
    // Without one of them.
    write(&charges, json!({ "excluded": [[0, 1]] }));
    let square: f64 = (0..3).map(|a| (positions[0][a] - positions[1][a]).powi(2)).sum();
    let without = answer(&["fmm", path, "--order", "20", "--depth", "0"])["energy"].as_f64().unwrap();
    assert!((without - (exact + 1.0 / square.sqrt())).abs() < 1e-9 * exact.abs(), "{without}");

    write(&charges[1..], json!({}));
    assert!(refusal(&["fmm", path]).contains("27 positions but 26 charges"));
    write(&charges, json!({ "periodic": "xy" }));
    assert!(refusal(&["fmm", path]).contains("the cell is missing"));
    write(&charges, json!({ "periodic": "y" }));
    assert!(refusal(&["fmm", path]).contains("periodic is \"y\""));
    let cell = [[5.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 5.0]];
    write(&charges, json!({ "periodic": "x", "cell": cell }));
    let message = refusal(&["fmm", path]);
    assert!(message.contains("must be neutral") && message.contains("add the charges that are missing"), "{message}");
}

/// A slip in a key would leave the cell out and compute another system, with errors as small as ever.
#[test]
fn a_slip_in_the_file_is_refused_and_the_boundary_is_shown() {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("charges.json");
    let cell = [[5.0, 0.0, 0.0], [0.0, 6.0, 0.0], [0.0, 0.5, 7.0]];
    let write = |more: Value| {
        let mut file = json!({ "positions": [[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]], "charges": [1.0, -1.0] });
        more.as_object().unwrap().iter().for_each(|(key, value)| file[key] = value.clone());
        std::fs::write(&path, file.to_string()).unwrap();
    };
    let path = path.to_str().unwrap();
    for (file, words) in [
        (json!({ "cell": cell, "perodic": "xyz" }), ["unknown field `perodic`", "`periodic`"]),
        (json!({ "box": cell, "periodic": "xyz" }), ["unknown field `box`", "`cell`"]),
        (json!({ "cell": cell }), ["there is a cell, but not in which directions", "\"none\""]),
        (json!({ "periodic": "xyz" }), ["the cell is missing", "three vectors"]),
        (json!({ "periodic": "" }), ["periodic is \"\"", "\"xyz\""]),
    ] {
        write(file);
        let message = refusal(&["fmm", path]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.iter().all(|word| message.contains(word)), "{words:?} not in {message}");
    }
    let shown = |more: Value| {
        write(more);
        let vectors = answer(&["fmm", path, "--order", "4"])["boundary"].clone();
        let output = octitrate(&["fmm", path, "--order", "4", "--device", "cpu"]);
        (vectors, String::from_utf8(output.stdout).unwrap())
    };
    let (found, text) = shown(json!({ "cell": cell, "periodic": "xyz", "description": "two charges" }));
    assert_eq!(found, json!({ "periodic": "xyz", "vectors": cell }));
    assert!(text.contains("boundary: periodic, cell (5 0 0), (0 6 0), (0 0.5 7)"), "{text}");
    let (found, text) = shown(json!({ "cell": cell, "periodic": "xy" }));
    assert_eq!(found, json!({ "periodic": "xy", "vectors": cell[..2] }));
    assert!(text.contains("boundary: a slab, images along (5 0 0), (0 6 0)"), "{text}");
    let (found, text) = shown(json!({}));
    assert_eq!(found, json!({ "periodic": "none", "vectors": [] }));
    assert!(text.contains("boundary: open, no images"), "{text}");
}

#[test]
fn what_cannot_be_done_comes_with_a_remedy() {
    let path = reference("cubic_3d");
    let path = path.to_str().unwrap();
    let message = refusal(&["fmm", path, "--tolerance", "1e-9", "--precision", "f32"]);
    assert!(message.contains("take --precision f64, or a larger --tolerance"), "{message}");
    for other in [["--order", "8"], ["--depth", "1"], ["--root", "2,2,2"], ["--separation", "1.2"]] {
        let message = refusal(&[&["fmm", path, "--tolerance", "1e-3"][..], &other].concat());
        assert!(message.contains("cannot be used with"), "{message}");
    }
    assert!(refusal(&["fmm", path, "--order", "61"]).contains("0..=60"));
    assert!(refusal(&["fmm", path, "--root", "3,3"]).contains("three whole numbers"));
    assert!(refusal(&["fmm", path, "--separation", "0.9"]).contains("from 1 to 4"));
    assert!(refusal(&["fmm", path, "--tolerance", "0"]).contains("a number above zero"));
    assert!(answer(&["fmm", path, "--order", "0", "--root", "4,4,4"])["energy"].is_f64());
    // A pair so close that single precision rounds much of its force away, which is none of the particles whose forces are compared with exact sums.
    let folder = temp_dir::TempDir::new().unwrap();
    let close = folder.path().join("close.json");
    let mut positions: Vec<[f64; 3]> =
        (0..512).map(|i| [i / 64, i / 8 % 8, i % 8].map(|x| f64::from(x) / 8.0)).collect();
    positions[305] = [positions[304][0], positions[304][1] + 1e-6, positions[304][2]];
    let charges: Vec<f64> = (0..512).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    std::fs::write(&close, json!({ "positions": positions, "charges": charges }).to_string()).unwrap();
    let message = refusal(&["fmm", close.to_str().unwrap(), "--tolerance", "1e-4", "--precision", "f32"]);
    assert!(message.contains("particles 304 and 305 are 1.0e-6 apart"), "{message}");
    assert!(message.contains("help: take --precision f64, or a larger --tolerance"), "{message}");
}

#[test]
fn what_a_gpu_has_to_do_with_it_is_said() {
    let path = reference("cubic_3d");
    let path = path.to_str().unwrap();
    // No machine has so many.
    for command in [&["fmm", path][..], &["bench", "fmm"]] {
        let message = refusal(&[command, &["--device", "cuda:99"]].concat());
        assert!(
            message.contains("--device cuda:99: no ") && message.contains("--device cpu runs without"),
            "{message}"
        );
    }
    assert!(refusal(&["fmm", path, "--root", "129,2,2"]).contains("128 on a GPU"));
    let message = refusal(&["fmm", path, "--root", "65,2,2", "--device", "cpu"]);
    assert!(message.contains("1 to 64 root boxes") && message.contains("a smaller --root"), "{message}");
}

#[test]
fn the_bench_counts_and_checks_in_every_boundary() {
    for boundary in ["open", "wire", "slab", "periodic", "triclinic"] {
        for system in ["random", "water", "droplets"] {
            let arguments = ["bench", "fmm", "--particles", "600", "--boundary", boundary, "--system", system];
            let found = answer(&[&arguments[..], &["--repeats", "2", "--order", "6"]].concat());
            let error = found["sampled_errors"]["forces"].as_f64().unwrap();
            // Order 6 in water: 0.1 · 0.53⁶ = 2e-3.
            assert!(error > 0.0 && error < 1e-2, "{boundary}, {system}: {error:e}");
            let stage = &found["stages"]["p2p"];
            assert!(stage["least"].as_f64().unwrap() <= stage["median"].as_f64().unwrap());
            assert_eq!(stage["flop"].as_f64(), found["work"]["particle_pairs"].as_f64().map(|n| 20.0 * n));
            let share = stage["fraction_of_peak"].as_f64().unwrap();
            assert!(share > 0.0 && share < 1.0, "{share}");
        }
    }
    let found = answer(&["bench", "fmm", "--particles", "600", "--tolerance", "1e-3", "--no-check", "--repeats", "1"]);
    assert!(found["order"].is_u64() && found["sampled_errors"].is_null());
}
