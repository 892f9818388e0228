//! `octitrate pka` on runs with known constants: two sites that feel each other, a histidine, a buffer.

use octitrate::evaluation::runs;
use octitrate::output::sites::SitesFile;
use octitrate::record::{FormRecord, Kind, SiteRecord};
use octitrate::workflow::pka::{self, Evaluation, Options};
use parquet::file::reader::{FileReader, SerializedFileReader};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// pK of each site while the other is protonated, and what the second proton costs more.
const COUPLED: [f64; 3] = [4.0, 4.4, 1.2];
/// Frames of a run.
const FRAMES: u32 = 10_000;
/// Chance of a new draw per frame.
const RATE: f64 = 0.1;

fn form(name: &str, protons_lost: u32, pk: f64) -> FormRecord {
    FormRecord { name: name.into(), protons_lost, charge: -f64::from(protons_lost), pk }
}

fn site(name: &str, forms: Vec<FormRecord>, pka: Option<f64>) -> SiteRecord {
    SiteRecord {
        name: name.into(),
        entry: "test".into(),
        coordinate: "linear".into(),
        pka,
        forms,
        ..SiteRecord::default()
    }
}

fn sites(ph: f64) -> SitesFile {
    let two =
        |name: &str, pka: f64| site(name, vec![form("protonated", 0, 0.0), form("deprotonated", 1, pka)], Some(pka));
    let histidine = site("HIS 5", vec![form("HSP", 0, 0.0), form("HSD", 1, 6.92), form("HSE", 1, 6.53)], Some(6.38));
    let buffer = SiteRecord { kind: Kind::Buffer, ..two("buffer", 0.0) };
    let fixed = SiteRecord { coordinate: "fixed".into(), ..two("ASP 9", 3.67) };
    SitesFile {
        ph: Some(ph),
        temperature: 300.0,
        sites: vec![two("ASP 3", 3.67), two("GLU 4", 4.25), histidine, fixed, buffer],
        ..SitesFile::default()
    }
}

/// Draws the next state of two coupled sites and a histidine.
fn next(ph: f64, state: &mut [usize; 3], random: &mut ChaCha8Rng) {
    for k in 0..2 {
        if random.random::<f64>() < RATE {
            let pk = COUPLED[k] + if state[1 - k] == 1 { COUPLED[2] } else { 0.0 };
            state[k] = usize::from(random.random::<f64>() < 1.0 / (1.0 + 10f64.powf(pk - ph)));
        }
    }
    if random.random::<f64>() < RATE {
        let weights = [1.0, 10f64.powf(ph - 6.92), 10f64.powf(ph - 6.53)];
        let drawn = random.random::<f64>() * weights.iter().sum::<f64>();
        state[2] = if drawn < weights[0] { 0 } else { usize::from(drawn >= weights[0] + weights[1]) + 1 };
    }
}

/// What runs at this pH would have written.
fn write_run(folder: &Path, ph: f64, walker: bool, random: &mut ChaCha8Rng) {
    std::fs::create_dir_all(folder).unwrap();
    let sites = sites(ph);
    std::fs::write(folder.join("sites.toml"), toml::to_string(&sites).unwrap()).unwrap();
    let mut text = String::from(if walker { "time (ps),walker" } else { "time (ps)" });
    for column in sites.sites.iter().flat_map(SiteRecord::columns) {
        write!(text, ",lambda {column},dV/dlambda {column} (kJ/mol)").unwrap();
    }
    text.push('\n');
    let mut state = [0; 3];
    for _ in 0..1000 {
        next(ph, &mut state, random);
    }
    for frame in 0..=FRAMES {
        next(ph, &mut state, random);
        write!(text, "{:.1}", f64::from(frame) * 0.5).unwrap();
        if walker {
            write!(text, ",{}", frame % 3).unwrap();
        }
        // Frames at the ends feel all of V_pH, as weights of frames want it; 3 % are mixed.
        let mut lambda = |exact: f64| {
            let away = if random.random::<f64>() < 0.03 { 0.25 + 0.25 * random.random::<f64>() } else { 0.001 };
            exact + (0.5 - exact).signum() * away
        };
        let (first, second) = (lambda(state[0] as f64), lambda(state[1] as f64));
        write!(text, ",{first:.6},1.5,{second:.6},-1.5").unwrap();
        let weights = [0, 1, 2].map(|form| lambda(f64::from(u8::from(state[2] == form))));
        for weight in weights {
            write!(text, ",{:.6},0.25", weight / weights.iter().sum::<f64>()).unwrap();
        }
        text.push_str(",0.300000,7,0.5,0\n");
    }
    std::fs::write(folder.join("lambda.csv"), text).unwrap();
}

/// A titration of seven pH values and two replicas, the first with walkers.
pub fn coupled(folder: &Path) {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for ph in [2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5] {
        for replica in 1..=2 {
            let run = folder.join(format!("pH_{ph:.2}/replica_{replica}"));
            write_run(&run, ph, replica == 1, &mut random);
        }
    }
    std::fs::write(folder.join("pH_2.50/replica_1/log.txt"), "warning: as the run said\nother\n").unwrap();
}

fn octitrate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_octitrate")).args(arguments).output().unwrap()
}

/// Every line of a table has as many cells as its head.
fn rectangular(name: &str, table: &str) {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    reader.records().for_each(|record| assert!(record.is_ok(), "{name}: {record:?}"));
}

fn near(found: lambda::analysis::hill::Determined, exact: f64) -> bool {
    let (value, error) = (found.value().unwrap(), found.error().unwrap());
    println!("{value:.3} ± {error:.3}, exact {exact:.3}");
    (value - exact).abs() < 3.5 * error && error < 0.15
}

fn check(evaluation: &Evaluation) {
    let names: Vec<&str> = evaluation.sites.iter().map(|site| site.record.name.as_str()).collect();
    assert_eq!((names, evaluation.ph.len()), (vec!["ASP 3", "GLU 4", "HIS 5"], 7));
    let histidine = &evaluation.sites[2].titration;
    let macroscopic = -(10f64.powf(-6.53) + 10f64.powf(-6.92)).log10();
    assert!(
        near(histidine.macroscopic[0].pka, macroscopic) && near(histidine.macroscopic[0].from_microscopic, macroscopic)
    );
    assert!(near(histidine.macroscopic[0].slope.unwrap(), 1.0));
    assert!(near(histidine.microscopic[0].pk, 6.92) && near(histidine.microscopic[1].pk, 6.53));
    assert_eq!(histidine.points[3].occupancy.frames(), u64::from(2 * FRAMES));
    // Everything strays for about 3 % of the frames, any of three weights.
    assert!((0.001..0.1).contains(&histidine.points[3].occupancy.mixed_fraction().unwrap()));

    let pairs: Vec<bool> = evaluation.pairs.iter().map(|result| result.pair.significant(pka::SIGNIFICANT)).collect();
    assert_eq!(pairs, [true, false, false]);
    let pair = &evaluation.pairs[0].pair;
    let [pk1, pk2, w] = COUPLED;
    assert!(near(pair.pka[0], pk1) && near(pair.pka[1], pk2) && near(pair.interaction, w));
    let b1 = 10f64.powf(-pk1) + 10f64.powf(-pk2);
    assert!(near(pair.macroscopic[0], -b1.log10()) && near(pair.macroscopic[1], b1.log10() + pk1 + pk2 + w));
    assert!(evaluation.warnings.contains(&"as the run said".to_string()), "{:?}", evaluation.warnings);
}

#[test]
fn a_titration_of_known_constants_returns_them() {
    let folder = temp_dir::TempDir::new().unwrap();
    coupled(folder.path());
    let runs = runs::find(&[folder.path().to_path_buf()]).unwrap();
    assert_eq!(runs.len(), 14);
    check(&pka::evaluate(&runs, &Options { parquet: false, ..Options::default() }).unwrap());
    assert!(!runs[0].join("lambda.parquet").exists());

    let output = octitrate(&["pka", folder.path().to_str().unwrap(), "--draws", "100"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    assert!(said.contains("Asp 3 and Glu 4: correlation −0.") && said.contains("HSP → HSD 6."), "{said}");
    assert!(said.contains("warning: as the run said") && said.contains("report.html"));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let lines = |name: &str| read(name).lines().count();
    assert_eq!((lines("pka.csv"), lines("micro.csv"), lines("pairs.csv")), (4, 5, 4));
    assert_eq!((lines("titration.csv"), lines("populations.csv"), lines("convergence.csv")), (22, 50, 61));
    for name in
        ["pka.csv", "micro.csv", "pairs.csv", "titration.csv", "populations.csv", "convergence.csv", "diagnostics.csv"]
    {
        rectangular(name, &read(name));
    }
    // Points of three sites at seven pH, and their marks in the legend: circles, squares and triangles.
    let count = |what: &str| read("titration.svg").matches(what).count();
    // Twice: weighted, and open ones for the plain count, which the legend does not repeat.
    assert_eq!((count("<circle"), count("z\"/>")), (2 * 7 + 1, 2 * (2 * 7 + 1)));
    for name in ["convergence.svg", "lambda.svg", "populations.svg", "correlation.svg"] {
        assert!(read(name).contains("</svg>"), "{name}");
    }
    let report = read("report.html");
    // Curves, populations, correlations, convergence, exchange, histograms; λ against time of sites with two forms, and with more.
    assert!(report.matches("<figure>").count() == 8 && report.contains("as the run said"));
    // It stands alone: nothing is fetched.
    assert!(!report.contains("src=") && !report.contains("<link") && !report.contains("@import"));

    // Tables of the runs: those of the CSV, with the frame at 0 ps.
    let open = |name: &str| SerializedFileReader::new(std::fs::File::open(runs[0].join(name)).unwrap()).unwrap();
    let columns = |reader: &SerializedFileReader<std::fs::File>| -> Vec<String> {
        reader.metadata().file_metadata().schema().get_fields().iter().map(|f| f.name().to_string()).collect()
    };
    let table = open("lambda.parquet");
    let header = std::fs::read_to_string(runs[0].join("lambda.csv")).unwrap().lines().next().unwrap().to_string();
    assert_eq!(columns(&table).join(","), header);
    assert_eq!(table.metadata().file_metadata().num_rows(), i64::from(FRAMES) + 1);
    // λ moves: there is no ∂V/∂λ of fixed states, but V_pH at every pH.
    assert!(!runs[0].join("dhdl.parquet").exists());
    let states = ["2.5", "3.5", "4.5", "5.5", "6.5", "7.5", "8.5", "time", "pH"];
    assert!(runs.iter().all(|run| run.join("u_nk.parquet").exists()));
    assert_eq!(columns(&open("u_nk.parquet")), states);
}

/// Runs of others, or of an archive, can be read only. That stands here as a folder where a file would be written, because the tests may run as one who may write all.
/// Protects readers of two titrations that are evaluated together: what is said of the first holds for the second only where both are the same.
#[test]
fn what_differs_between_titrations_is_told() {
    let folder = temp_dir::TempDir::new().unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut titration = |name: &str, step: &str, seed: u32| {
        let titration = folder.path().join(name);
        for ph in [3.5, 4.5] {
            write_run(&titration.join(format!("pH_{ph:.2}/replica_1")), ph, false, &mut random);
        }
        let job = format!("[dynamics]\ntime_step = \"{step}\"\nseed = {seed}\n[titrate]\nph = [3.5, 4.5]\n");
        std::fs::write(titration.join("resolved.toml"), job).unwrap();
        std::fs::write(titration.join("log.txt"), format!("atoms: {seed}00 in 20 molecules\n")).unwrap();
        titration
    };
    let [one, two, three] =
        [("one", "2 fs", 1), ("two", "4 fs", 2), ("three", "2 fs", 1)].map(|(a, b, c)| titration(a, b, c));
    std::fs::write(two.join("pH_3.50/replica_1/log.txt"), "warning: the box is small\n").unwrap();
    let evaluated = |other: &Path| {
        let out = folder.path().join("out");
        let folders = [&one, other, &out].map(|path| path.to_str().unwrap());
        let words = [
            "pka",
            folders[0],
            folders[1],
            "--output",
            folders[2],
            "--draws",
            "10",
            "--equilibration",
            "0 ps",
            "--no-parquet",
        ];
        let said = octitrate(&words);
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
        (String::from_utf8(said.stdout).unwrap(), read("report.html"), read("report.json"))
    };
    let (said, page, json) = evaluated(&two);
    let differ = "dynamics.time_step is 2 fs in one and 4 fs in two; atoms is 100 in 20 molecules in one and 200 in 20 molecules in two";
    assert!(said.contains(&format!("the titrations differ: {differ}\n")), "{said}");
    assert!(said.contains("warning: two: the box is small"), "{said}");
    assert!(page.contains("What differs between the titrations") && page.contains("<td>2 fs</td><td>4 fs</td>"));
    let method = page.split("id=\"paragraph\"").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(method.contains(&format!("2 titrations (one, two), which differ: {differ}.")), "{method}");
    assert!(method.contains("Leap-frog steps were 2 fs (one) and 4 fs (two) long"), "{method}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["differences"][0], serde_json::json!({"what": "dynamics.time_step", "values": ["2 fs", "4 fs"]}));

    let (said, page, _) = evaluated(&three);
    assert!(!said.contains("differ:") && page.contains("corrections of one, three are the same"), "{said}");
    assert!(
        page.contains("2 titrations (one, three) with the same settings")
            && page.contains("Leap-frog steps were 2 fs long")
    );
}

/// Two titrations whose jobs leave out 20 and 100 ps: in whatever order they are named, 100 ps of all runs are left out, and that is said.
#[test]
fn the_longest_equilibration_counts_for_titrations_that_are_evaluated_together() {
    let folder = temp_dir::TempDir::new().unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let [one, two] = [("one", 20), ("two", 100)].map(|(name, equilibration)| {
        let titration = folder.path().join(name);
        for ph in [3.5, 4.5] {
            write_run(&titration.join(format!("pH_{ph:.2}/replica_1")), ph, false, &mut random);
        }
        let job = format!("[titrate]\nph = [3.5, 4.5]\nequilibration = \"{equilibration} ps\"\n");
        std::fs::write(titration.join("resolved.toml"), job).unwrap();
        titration.display().to_string()
    });
    let out = folder.path().join("out").display().to_string();
    let evaluated = |folders: [&str; 2], more: &[&str]| {
        let words = ["pka", folders[0], folders[1], "--output", &out, "--draws", "10", "--no-parquet"];
        let said = octitrate(&[&words, more].concat());
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let table = std::fs::read_to_string(folder.path().join("out/titration.csv")).unwrap();
        let frames = table.lines().nth(1).unwrap().split(',').nth(9).unwrap().to_string();
        (String::from_utf8(said.stdout).unwrap(), frames)
    };
    let words = "the jobs leave out 20 to 100 ps at the start of their runs: 100 ps of every run are left out";
    for folders in [[&*one, &*two], [&*two, &*one]] {
        let (said, frames) = evaluated(folders, &[]);
        // Two runs of 5 ns of 0.5 ps.
        assert!(said.contains(words) && frames == "19600", "{frames}: {said}");
    }
    let (said, frames) = evaluated([&one, &two], &["--equilibration", "20 ps"]);
    assert!(!said.contains("the jobs leave out") && frames == "19920", "{frames}: {said}");
}

#[test]
fn runs_beside_which_nothing_can_be_written_are_evaluated() {
    let folder = temp_dir::TempDir::new().unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let runs = [4.0, 5.0].map(|ph| folder.path().join(format!("{ph}")));
    runs.iter().zip([4.0, 5.0]).for_each(|(run, ph)| write_run(run, ph, false, &mut random));
    std::fs::create_dir_all(runs[0].join("lambda.parquet/full")).unwrap();
    let results = folder.path().join("results");
    let output = octitrate(&[
        "pka",
        runs[0].to_str().unwrap(),
        runs[1].to_str().unwrap(),
        "--output",
        results.to_str().unwrap(),
    ]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        said.contains("lambda.parquet: cannot write: ") && said.contains(": the runs get no Parquet files"),
        "{said}"
    );
    assert!(results.join("pka.csv").exists());
}

#[test]
fn runs_may_be_named_one_by_one_and_go_elsewhere() {
    let folder = temp_dir::TempDir::new().unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let runs: Vec<PathBuf> = [("a", 4.0), ("b", 5.0), ("c", 6.5)]
        .iter()
        .map(|(name, ph)| {
            let run = folder.path().join(name);
            write_run(&run, *ph, false, &mut random);
            run
        })
        .collect();
    let results = folder.path().join("results");
    let mut arguments = vec!["pka", "--output", results.to_str().unwrap(), "--equilibration", "1 ns", "--no-parquet"];
    arguments.extend(runs.iter().map(|run| run.to_str().unwrap()));
    arguments.push(runs[0].to_str().unwrap());
    let output = octitrate(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(results.join("report.html").exists() && !runs[0].join("pka.csv").exists());
    let table = std::fs::read_to_string(results.join("titration.csv")).unwrap();
    // 5 ns of 0.5 ps, of which one is left out; the run named twice counts once.
    assert_eq!(table.lines().nth(1).unwrap().split(',').nth(9), Some("8000"));
    assert!(!runs[0].join("lambda.parquet").exists());
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let folder = temp_dir::TempDir::new().unwrap();
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let refused = |arguments: &[&str]| {
        let output = octitrate(&[&["pka", run.to_str().unwrap()], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(refused(&[]).contains("there is no lambda.csv"));
    let file = folder.path().join("titrate.toml");
    std::fs::write(&file, "").unwrap();
    for command in ["pka", "analyse"] {
        let said = String::from_utf8(octitrate(&[command, file.to_str().unwrap()]).stderr).unwrap();
        assert!(said.contains("titrate.toml is a file, and folders are evaluated"), "{command}: {said}");
    }
    let write = |sites: &SitesFile, header: &str, rows: &str| {
        std::fs::write(run.join("sites.toml"), toml::to_string(sites).unwrap()).unwrap();
        std::fs::write(run.join("lambda.csv"), format!("time (ps){header}\n{rows}")).unwrap();
    };
    let asp = SitesFile { sites: sites(4.0).sites[..1].to_vec(), ..sites(4.0) };
    let header = ",lambda ASP 3,dV/dlambda ASP 3 (kJ/mol)";
    write(&asp, ",lambda GLU 4,dV/dlambda GLU 4 (kJ/mol)", "0,0.1,2\n");
    assert!(refused(&[]).contains("the columns are GLU 4, those of the sites ASP 3"));
    write(&asp, header, "0,0.1,2\n1,NaN,2\n");
    assert!(refused(&[]).contains("line 3: λ of ASP 3 is NaN"));
    write(&asp, header, "0,0.1,2\n1,0.1,2\n");
    assert!(refused(&["--equilibration", "5 ps"]).contains("no frames after 5 ps"));
    assert!(refused(&["--threshold", "0.3"]).contains("0.5"));
    write(&SitesFile { ph: None, ..asp.clone() }, header, "0,0.1,2\n");
    assert!(refused(&[]).contains("the run has no pH"));
    let mut fixed = asp;
    fixed.sites[0].coordinate = "fixed".into();
    write(&fixed, header, "0,0.1,2\n1,0.1,2\n");
    assert!(refused(&[]).contains("none of the runs has a site that titrates"));
    std::fs::remove_file(run.join("sites.toml")).unwrap();
    assert!(refused(&[]).contains("sites.toml"));
}

/// A pH that was added a moment ago has nothing but equilibration: the others are evaluated without it, to the same bytes.
#[test]
fn a_run_without_frames_after_the_equilibration_is_left_out() {
    let folder = temp_dir::TempDir::new().unwrap();
    let titration = folder.path().join("titrate");
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for ph in [3.5, 4.5, 5.5] {
        write_run(&titration.join(format!("pH_{ph:.2}/replica_1")), ph, false, &mut random);
    }
    let evaluate = |output: &str| {
        let output = folder.path().join(output);
        let [titration, output_] = [&titration, &output].map(|path| path.to_str().unwrap());
        let answer = octitrate(&["pka", titration, "--equilibration", "20 ps", "--output", output_, "--no-parquet"]);
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        let shown = [answer.stdout, answer.stderr].concat();
        (String::from_utf8(shown).unwrap(), std::fs::read_to_string(output.join("pka.csv")).unwrap())
    };
    let (shown, alone) = evaluate("alone");
    assert!(!shown.contains("left out, its"), "{shown}");
    let added = titration.join("pH_7.00/replica_1");
    write_run(&added, 7.0, false, &mut random);
    let table = std::fs::read_to_string(added.join("lambda.csv")).unwrap();
    // 41 lines, the last at 20 ps.
    std::fs::write(added.join("lambda.csv"), table.lines().take(42).flat_map(|line| [line, "\n"]).collect::<String>())
        .unwrap();
    let (shown, with_added) = evaluate("with_added");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("warning: pH_7.00/replica_1: left out, its 20 ps are all equilibration"), "{shown}");
    assert_eq!(with_added, alone);
}

/// Files of some runs are lost: the others are evaluated as if those had never been, and the report says which are missing.
#[test]
fn runs_whose_files_are_lost_are_left_out_and_named() {
    let folder = temp_dir::TempDir::new().unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let titration = folder.path().join("titrate");
    let run = |ph: f64| titration.join(format!("pH_{ph:.2}/replica_1"));
    for ph in [3.5, 4.5, 5.5, 6.5] {
        write_run(&run(ph), ph, false, &mut random);
        std::fs::write(run(ph).join("final.gro"), "ended, t= 5000\n").unwrap();
    }
    std::fs::write(titration.join("resolved.toml"), "[titrate]\nph = [3.5, 4.5, 5.5, 6.5, 7.5]\n").unwrap();
    let evaluate = |output: &str| {
        let output = folder.path().join(output);
        let words = ["pka", titration.to_str().unwrap(), "--no-parquet", "--output", output.to_str().unwrap()];
        let answer = octitrate(&words);
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        let shown = String::from_utf8(answer.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        (shown, std::fs::read_to_string(output.join("pka.csv")).unwrap())
    };
    std::fs::remove_file(run(4.5).join("lambda.csv")).unwrap();
    std::fs::remove_file(run(6.5).join("sites.toml")).unwrap();
    let (shown, found) = evaluate("lost");
    for (ph, file) in [("4.50", "lambda.csv"), ("6.50", "sites.toml")] {
        let said = format!("pH_{ph}/replica_1 has lost {file} and is left out: put it back, and evaluate again");
        assert!(shown.contains(&said), "{shown}");
    }
    assert!(shown.contains("pH_7.50/replica_1 has no frames: evaluated are the other runs"), "{shown}");
    [4.5, 6.5].into_iter().for_each(|ph| std::fs::remove_dir_all(run(ph)).unwrap());
    let (shown, alone) = evaluate("alone");
    assert!(!shown.contains("has lost") && alone == found, "{shown}");
}

/// The folder that `octitrate prepare` wrote has the job, and its runs two levels further down than those of a titration.
#[test]
fn a_folder_of_prepare_is_that_of_its_titration() {
    let folder = temp_dir::TempDir::new().unwrap();
    let titration = folder.path().join("titrate");
    coupled(&titration);
    let words = ["pka", folder.path().to_str().unwrap(), "--draws", "20", "--no-parquet"];
    let output = octitrate(&words);
    assert!(!output.status.success(), "a folder without the job of a titration is searched two levels deep");
    std::fs::write(folder.path().join("titrate.toml"), "").unwrap();
    std::fs::write(titration.join("resolved.toml"), "[titrate]\nequilibration = \"0 ps\"\n").unwrap();
    let output = octitrate(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(titration.join("pka.csv").is_file() && !folder.path().join("pka.csv").exists());
}

/// Measured values in the columns of PKAD, beside a titration of two coupled acids and a histidine: differences, a bound, a site and values that are alone.
#[test]
fn computed_values_are_compared_with_measured_ones() {
    let folder = temp_dir::TempDir::new().unwrap();
    coupled(folder.path());
    let file = folder.path().join("measured.csv");
    let write = |rows: &str| {
        std::fs::write(&file, format!("PDB ID,Res Name,Chain,Res ID,Expt. pKa,Expt. Uncertainty\n{rows}")).unwrap();
    };
    let (path, table) = (folder.path().to_str().unwrap(), file.to_str().unwrap());
    let compare = |more: &[&str]| {
        octitrate(&[&["pka", path, "--draws", "20", "--no-parquet", "--compare", table], more].concat())
    };
    write("1ABC,GLU,A,4,4.0,0.1\n1ABC,HIS,A,5,<5.0,N/A\n1ABC,C-term,A,9,3.1,0.1\n9XYZ,ASP,A,3,9.0,0.1\n");
    let output = compare(&["--entry", "1abc"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    assert!(said.contains("bounds: 0 agree, 1 disagree, 0 open") && said.contains("not measured: Asp 3\n"));
    assert!(said.contains("measured, without a site: C-term 9 of chain A (3.10 ± 0.10)"));
    let json = std::fs::read_to_string(folder.path().join("comparison.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let glu = &json["sites"][0];
    let (computed, difference) = (glu["computed"]["value"].as_f64().unwrap(), glu["difference"].as_f64().unwrap());
    assert!((computed - 4.0 - difference).abs() < 1e-12 && glu["site"] == "GLU 4");
    let all = &json["statistics"][0];
    assert_eq!((all["of"].as_str(), all["values"].as_u64()), (Some("all"), Some(1)));
    assert!((all["computed"]["mae"].as_f64().unwrap() - difference.abs()).abs() < 1e-12);
    // The model compound of Glu has 4.25.
    assert!((all["null_model"]["rmse"].as_f64().unwrap() - 0.25).abs() < 1e-12);
    assert_eq!((json["sites"][1]["verdict"].as_str(), json["bounds"]["missed"].as_u64()), (Some("missed"), Some(1)));
    let csv = std::fs::read_to_string(folder.path().join("comparison.csv")).unwrap();
    assert_eq!(csv.lines().count(), 3);
    assert!(csv.lines().nth(1).unwrap().ends_with(",no") && !said.contains("outside the pH values"), "{csv}{said}");
    // Of the runs from pH 6.5 on, which leave the acid few of its protons.
    let basic = [6.5, 7.5, 8.5].map(|ph| folder.path().join(format!("pH_{ph:.2}")));
    let basic: Vec<String> =
        basic.iter().flat_map(|ph| [1, 2].map(|k| format!("{}/replica_{k}", ph.display()))).collect();
    let out = folder.path().join("basic");
    let options = ["--draws", "20", "--no-parquet", "--compare", table, "--entry", "1abc", "-o", out.to_str().unwrap()];
    let output = octitrate(&[&["pka"][..], &basic.iter().map(String::as_str).collect::<Vec<_>>(), &options].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("\nGlu 4 is in the averages, but its pKa lies outside the pH values\n"), "{said}");
    let csv = std::fs::read_to_string(out.join("comparison.csv")).unwrap();
    assert!(csv.lines().any(|line| line.starts_with("\"GLU 4\"") && line.ends_with(",yes")), "{csv}");

    // Two sites of two steps each are a pair: its macroscopic pKa values.
    write("1ABC,ASP,A,3,\"3.5,5.7\",0.1\n1ABC,GLU,A,4,\"3.9,5.8\",0.1\n");
    let said = String::from_utf8(compare(&[]).stdout).unwrap();
    let [pk1, pk2, w] = COUPLED;
    let b1 = 10f64.powf(-pk1) + 10f64.powf(-pk2);
    let exact = [-b1.log10(), b1.log10() + pk1 + pk2 + w];
    let json = std::fs::read_to_string(folder.path().join("comparison.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for (row, exact) in json["sites"].as_array().unwrap().iter().zip([exact, exact].concat()) {
        let (value, error) = (row["computed"]["value"].as_f64().unwrap(), row["computed"]["error"].as_f64().unwrap());
        assert!((value - exact).abs() < 3.5 * error && row["verdict"] == "step", "{row}");
    }
    assert!(said.contains("Asp 3, 2nd proton of it and Glu 4") && said.contains("left out of the averages"), "{said}");
    assert_eq!(json["statistics"].as_array().unwrap().len(), 0);

    // Values of another protein: no table without a line.
    write("1ABC,LYS,A,77,10.0,0.1\n");
    let said = String::from_utf8(compare(&[]).stdout).unwrap();
    assert!(said.contains("no measured value belongs to a site of these runs") && !said.contains("its difference"));

    // An evaluation without measured values leaves none of those before.
    assert!(octitrate(&["pka", path, "--draws", "20", "--no-parquet"]).status.success());
    assert!(!file.with_file_name("comparison.json").exists() && !file.with_file_name("comparison.csv").exists());

    let refused = |rows: &str| {
        write(rows);
        let output = compare(&[]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(refused("1ABC,GLU,A,4,4.x,0.1\n").contains("line 2: the pKa is \"4.x\""));
    assert!(refused("1ABC,GLU,A,4,4,0.1\n1ABC,GLU,B,4,5,0.1\n").contains("belong to GLU 4, those of lines 2 and 3"));
    assert!(refused("1ABC,GLU,A,4,4,0.1\n2ABC,GLU,A,4,5,0.1\n").contains("choose one with --entry"));
}

/// A box in which every pKa is 0.2 too high, whatever the charge: tables, page and comparison have both, and a table of other sites is refused.
#[test]
fn pka_values_in_solution_are_without_the_size_of_the_box() {
    let folder = temp_dir::TempDir::new().unwrap();
    coupled(folder.path());
    let [table, measured] = ["finite_box.csv", "measured.csv"].map(|name| folder.path().join(name));
    std::fs::write(&measured, "residue,number,pKa\nGLU,4,4.0\n").unwrap();
    let evaluated = |rows: &str| {
        std::fs::write(&table, format!("protons lost,charge of the protein,too high\n{rows}")).unwrap();
        let (path, table) = (folder.path().to_str().unwrap(), table.to_str().unwrap());
        let options = ["--draws", "20", "--no-parquet", "--finite-box", table, "--compare", measured.to_str().unwrap()];
        octitrate(&[&["pka", path][..], &options].concat())
    };
    let output = evaluated("0,5,0.2\n3,2,0.2\n");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("pKa  in solution") && said.contains("too high by 0.20 to 0.20"), "{said}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let pka = read("pka.csv");
    let cells = |line: &str| line.split(',').map(str::to_string).collect::<Vec<String>>();
    let heads = cells(pka.lines().next().unwrap());
    let at = |name: &str| heads.iter().position(|head| head == name).unwrap();
    for line in pka.lines().skip(1).map(cells) {
        let number = |column: usize| line[column].parse::<f64>().unwrap();
        assert!((number(at("pKa")) - number(at("pKa in solution")) - 0.2).abs() < 1.5e-4, "{line:?}");
        assert_eq!(number(at("pKa error")), number(at("pKa in solution") + 1));
    }
    let glu = cells(pka.lines().find(|line| line.starts_with("GLU 4")).unwrap());
    let compared = cells(read("comparison.csv").lines().nth(1).unwrap());
    assert_eq!(compared[2], glu[at("pKa in solution")]);
    let json: serde_json::Value = serde_json::from_str(&read("report.json")).unwrap();
    let step = &json["sites"][0]["steps"][0];
    let value = |key: &str| step[key]["value"].as_f64().unwrap();
    assert!((value("pKa") - value("pKa_in_solution") - 0.2).abs() < 1e-9, "{step}");
    let page = read("report.html");
    assert!(page.contains("<td data-column=\"in solution\"") && page.contains("pKa values in solution are without it"));
    // The job of a titration names the table, too; one that has not come along is missed in words.
    let job = format!("[titrate]\nequilibration = \"0 ps\"\nfinite_box = \"{}\"\n", table.display());
    std::fs::write(folder.path().join("resolved.toml"), job).unwrap();
    let of_the_job = || {
        let output = octitrate(&["pka", folder.path().to_str().unwrap(), "--draws", "20", "--no-parquet"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(of_the_job().contains("pKa  in solution"));
    std::fs::write(&table, "protons lost,too high\n0,0.2\n4,0.1\n").unwrap();
    let said = of_the_job();
    assert!(!said.contains("in solution") && said.contains("those of the runs lose 3 (use the table"), "{said}");
    std::fs::remove_file(&table).unwrap();
    let said = of_the_job();
    assert!(!said.contains("in solution") && said.contains("finite_box.csv: cannot read: "), "{said}");
    assert!(said.contains("pKa values are those of the box, and --finite-box takes another table"), "{said}");
    let pka = read("pka.csv");
    for (rows, message) in [
        ("0,5,0.2\n4,1,0.2\n", "is of a system whose sites lose 4 protons together, those of the runs lose 3"),
        ("0,5,0.2\n", "it has fewer than two rows"),
    ] {
        let output = evaluated(rows);
        let said = String::from_utf8(output.stderr).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.status.code() == Some(2) && said.contains(message), "{said}");
    }
    assert_eq!(read("pka.csv"), pka);
}
