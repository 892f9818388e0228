//! The page of a titration in a browser: `report.html` of runs with known constants and a structure, opened without network by a headless Chromium. Without
//! one on the path, or named by OCTITRATE_TEST_BROWSER, the test says that it is skipped.

use super::pka::coupled;
use octitrate::evaluation::runs;
use octitrate::workflow::pka::{self, Beside, Measured, Options};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Residues of a strand: number and name as the runs have it.
const STRAND: [(i32, &str); 7] = [(1, "ALA"), (2, "ALA"), (3, "ASP"), (4, "GLU"), (5, "HIS"), (6, "ALA"), (7, "ALA")];

/// A strand of seven residues with backbone and CB, 0.36 nm apart, and a molecule of water (nm).
fn structure() -> String {
    let atoms = [("N", 0.0, 0.0), ("CA", 0.12, 0.08), ("C", 0.25, 0.0), ("O", 0.26, -0.12), ("CB", 0.12, 0.23)];
    let (mut text, mut serial) = (String::new(), 0);
    let mut line = |number: i32, residue: &str, atom: &str, place: [f64; 3]| {
        serial += 1;
        let [x, y, z] = place;
        writeln!(text, "{number:>5}{residue:<5}{atom:>5}{serial:>5}{x:>8.3}{y:>8.3}{z:>8.3}").unwrap();
    };
    for (number, residue) in STRAND {
        for (atom, x, y) in atoms {
            line(number, residue, atom, [1.0 + 0.36 * f64::from(number) + x, 2.0 + y, 2.0]);
        }
    }
    for (atom, x) in [("OW", 0.5), ("HW1", 0.6), ("HW2", 0.4)] {
        line(8, "SOL", atom, [x, 0.5, 0.5]);
    }
    format!("a strand\n{serial}\n{text}   6.0 6.0 6.0\n")
}

/// The page of a titration with its structure and a measured value, in a folder.
fn page(folder: &Path) -> PathBuf {
    coupled(folder);
    std::fs::write(folder.join("pH_5.50/replica_1/final.gro"), structure()).unwrap();
    let found = runs::find(&[folder.to_path_buf()]).unwrap();
    let evaluation = pka::evaluate(&found, &Options { parquet: false, ..Options::default() }).unwrap();
    let measured = [Measured { site: "GLU 4".into(), value: Some(4.4), error: Some(0.1), text: "4.40 ± 0.10".into() }];
    pka::write(&evaluation, folder, Beside { measured: &measured, ..Beside::default() }).unwrap();
    folder.join("report.html")
}

#[test]
fn the_structure_and_its_viewer_are_in_the_page() {
    let folder = temp_dir::TempDir::new().unwrap();
    let report = std::fs::read_to_string(page(folder.path())).unwrap();
    assert!(
        report.contains("BSD-3-Clause") && report.contains("3Dmol.js 2.5.5") && report.len() < 5_000_000,
        "{}",
        report.len()
    );
    let solute = report.split("id=\"solute\">").nth(1).unwrap().split("</script>").next().unwrap();
    let pdb: String = serde_json::from_str(solute).unwrap();
    assert_eq!(pdb.lines().count(), 5 * STRAND.len());
    assert!(pdb.contains("ASP A   3") && !pdb.contains("SOL"));
    assert!(
        report.contains("<a href=\"#structure\" data-site=\"1\">Glu 4</a>")
            && report.contains("the last frame of pH_5.50/replica_1")
    );
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("report.json")).unwrap()).unwrap();
    assert_eq!((json["sites"][1]["label"].as_str(), json["runs"].as_array().unwrap().len()), (Some("Glu 4"), 14));
}

/// What a reader does, as a script at the end of the page: the slider goes to a pH, a site is chosen; then what the page shows is noted on it. A reader with a
/// keyboard gets to everything that does something and sees where she is; the view turns, and leaves keys alone that mean nothing to it. Last the page is put
/// on paper: the rules for print are laid over it, and whatever has a colour then, is cut off or stays folded is noted.
const READER: &str = concat!("<script>\n", include_str!("report/reader.js"), "</script></body>");

/// The page in a frame as wide as a phone, narrower than a window of the browser may be.
const PHONE: &str = r#"<html><body><iframe src="read.html" width="390" height="800" style="border: 0"></iframe>
<script>window.addEventListener("message", (event) => document.body.setAttribute("data-phone", event.data));</script></body></html>"#;

/// A Chromium on this machine.
fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("OCTITRATE_TEST_BROWSER").map(PathBuf::from);
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let found = std::env::split_paths(&paths)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file());
    named.or(found)
}

/// The page as the browser has it at the end.
fn opened(browser: &Path, page: &Path, folder: &Path, width: u32, more: &[&str]) -> String {
    let output = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ])
        .args(["--virtual-time-budget=20000", "--timeout=60000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join(format!("browser-{width}-{}", more.len())).display()))
        .arg(format!("--window-size={width},900"))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Protects readers without network, with a phone, with a keyboard, and with a browser that cannot draw in three dimensions.
#[test]
fn a_browser_without_network_shows_the_page() {
    let Some(browser) = browser() else {
        // Not by a macro, whose words are shown of tests that fail alone.
        let words = "\nskipped: a_browser_without_network_shows_the_page: there is no Chromium on the path; OCTITRATE_TEST_BROWSER may name one\n";
        std::io::stderr().write_all(words.as_bytes()).unwrap();
        return;
    };
    let folder = temp_dir::TempDir::new().unwrap();
    let report = std::fs::read_to_string(page(folder.path())).unwrap();
    let read = folder.path().join("read.html");
    std::fs::write(&read, report.replace("</body>", READER)).unwrap();
    std::fs::write(folder.path().join("phone.html"), PHONE).unwrap();
    let software = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
    for (width, more, alive) in [(1280, &software[..], true), (500, &["--disable-3d-apis"][..], false)] {
        let shown = opened(&browser, &read, folder.path(), width, more);
        let noted = |key: &str| {
            let from =
                shown.split(&format!("data-{key}=\"")).nth(1).unwrap_or_else(|| panic!("{key} in {}", shown.len()));
            from.split('"').next().unwrap().to_string()
        };
        // Asp and Glu have their protons below their pKa and lose them above; so does His.
        let share =
            |text: &str, site: usize| text.split(',').nth(site).unwrap().trim_end_matches(" %").parse::<u32>().unwrap();
        let (low, high) = (noted("low"), noted("high"));
        assert!((0..3).all(|site| share(&low, site) > 85 && share(&high, site) < 15), "{low} | {high}");
        assert_eq!((noted("chosen").as_str(), noted("said").as_str()), ("Glu 4", "pH 8.5"));
        assert_eq!((noted("fetched").as_str(), noted("errors").as_str()), ("0", ""));
        assert_eq!(noted("wide"), "0", "the page scrolls sideways at {width} pixels");
        assert_eq!(noted("scale"), "0 true", "drawings of rows beside their scale, and whether it is seen");
        let keyboard = noted("keyboard");
        let (count, lost) = keyboard.split_once(' ').unwrap();
        assert!(count.parse::<u32>().unwrap() > 10 && lost.is_empty(), "out of reach, or without a mark: {keyboard}");
        let keys = if alive { "true true true true false false" } else { "false false false false false false" };
        assert_eq!(noted("keys"), keys);
        assert_eq!(
            (noted("paper").as_str(), noted("picture") == "true"),
            ("1  /  / ", alive),
            "coloured / cut off / folded on paper"
        );
        // With WebGL there is a canvas; without it a sentence, and everything else.
        assert_eq!(shown.contains("data-viewer=\"alive\""), alive);
        assert_eq!(shown.contains("<canvas"), alive);
        let sentence = shown.split("id=\"no-viewer\"").nth(1).unwrap().split('>').next().unwrap();
        assert_eq!(sentence.contains("hidden"), alive, "{sentence}");
    }
    let phone = opened(&browser, &folder.path().join("phone.html"), folder.path(), 800, &software);
    assert!(
        phone.contains("data-phone=\"390 0 0 true\""),
        "the page scrolls sideways on a phone, or drawings have no scale: {phone}"
    );
}
