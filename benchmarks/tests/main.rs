//! The program itself, on small systems.

use std::path::Path;
use std::process::{Command, Output};

fn benchmarks(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_octitrate-benchmarks")).args(arguments).output().unwrap()
}

/// The message of a refusal, exit status 2.
fn refusal(arguments: &[&str]) -> String {
    let output = benchmarks(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!message.contains("panicked"), "{message}");
    message
}

#[test]
fn every_command_has_an_example() {
    for command in ["m2l", "methods", "plots", "lists"] {
        let output = benchmarks(&[command, "--help"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("Example:"), "{command}: {text}");
        assert!(text.contains(&format!("octitrate-benchmarks {command}")), "{command}: {text}");
    }
}

#[test]
fn what_a_gpu_has_to_do_with_it_is_said() {
    // No machine has so many.
    let message = refusal(&["m2l", "--device", "cuda:99"]);
    assert!(message.contains("--device cuda:99: no ") && message.contains("--device cpu runs without"), "{message}");
    let message = refusal(&["m2l", "--device", "cpu"]);
    assert!(message.contains("m2l measures a GPU") && message.contains("--device cuda:0"), "{message}");
    let message = refusal(&["plots", "--output", "nowhere", "--device", "cuda:0"]);
    assert!(message.contains("plots measures the CPU") && !Path::new("nowhere").exists(), "{message}");
    for (option, wrong, valid) in [
        ("--scheme", "gemm,fast", "naive, dynamic, symmetric"),
        ("--orders", "20-1", "such as 1-20 or 4,8,12"),
        ("--depths", "x", "such as 1-20 or 4,8,12"),
        ("--precision", "f16", "f32"),
    ] {
        let message = refusal(&["m2l", option, wrong]);
        assert!(message.contains(valid), "{message}");
    }
}

#[test]
fn the_results_page_is_made_by_one_command() {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("results");
    let sizes = ["--largest", "1000", "--highest-order", "6", "--particles", "216"];
    let output = benchmarks(&[&["plots", "--output", path.to_str().unwrap()], &sizes[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    for name in [
        "accuracy-salt",
        "accuracy-random",
        "accuracy-droplet",
        "accuracy-separation",
        "time",
        "time-per-charge",
        "methods",
    ] {
        let text = read(&format!("{name}.svg"));
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>") && text.contains("<circle"), "{name}");
    }
    // The last column of the error table of random charges, in double precision: forces at orders 0 to 6.
    let table = read("accuracy-random.csv");
    let errors: Vec<f64> = (table.lines().filter(|line| line.starts_with("f64")))
        .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    // A factor of 0.53 for each order, within two.
    assert!(errors.len() == 7 && errors[6] < 0.05 * errors[0], "{errors:?}");
    assert_eq!(read("time.csv").lines().count(), 1 + 5);
    // Three methods at one size, the errors of the fast ones alike: same order, within a factor of ten.
    let table = read("methods.csv");
    let error = |method: &str| -> f64 {
        let line = table.lines().find(|line| line.starts_with(method)).unwrap_or_default();
        line.rsplit(',').next().unwrap_or_default().parse().unwrap()
    };
    let ratio = error("treecode") / error("fmm");
    assert!((0.1..10.0).contains(&ratio) && error("direct") < 1e-5, "{table}");
}
