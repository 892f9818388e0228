//! Tests of the library: shipped entries, refusals, and writing a calibration.

use super::*;

fn glu() -> &'static str {
    BUILTIN[0].1
}

pub(crate) fn calibration() -> Calibration {
    Calibration {
        dvdl: vec![-310.25, 512.5, -1.0e-3],
        errors: vec![0.5, 0.75, 1.0e-4],
        free_energy_error: 0.125,
        range: [-0.1, 1.1],
        provenance: Provenance {
            program: "octitrate 0.1.0".into(),
            date: "2026-01-31".into(),
            temperature: 300.0,
            box_edges: [3.5, 3.5, 3.5],
            atoms: 4000,
            water_model: "TIP3P".into(),
            electrostatics: "FMM order 8".into(),
            lennard_jones: "cut-off 1.0 nm".into(),
            windows: 13,
            time_per_window: 1.0,
            equilibration_per_window: 0.1,
            seed: 7,
            reduced_chi_squared: 1.1,
        },
    }
}

#[test]
fn builtin_entries_are_consistent() {
    let library = SiteLibrary::builtin().unwrap();
    let names: Vec<&str> = library.entries.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["glu", "asp"]);
    for entry in &library.entries {
        assert_eq!(entry.forms.iter().map(|f| f.net_charge).collect::<Vec<_>>(), [0, -1]);
        assert_eq!(entry.balanced_at, "CB");
        assert_eq!(entry.backbone.len(), 6);
    }
    assert_eq!(library.entries[0].charges.len(), 16);
    assert_eq!(library.entries[1].charges.len(), 13);
}

#[test]
fn wrong_entries_are_refused_with_a_reason() {
    let cases = [
        ("CB = [-0.0071, -0.0398]", "CB = [-0.0071, -0.0397]", "form deprotonated: charges sum to -0.999900 e"),
        ("N = [-0.4157, -0.4157]", "N = [-0.4157]", "charges.N"),
        ("net_charge = -1", "net_charge = 0", "form deprotonated: charges sum to -1.000000 e, net_charge is 0"),
        ("\"GLU\", \"GLH\", \"GLUH\"", "", "residues"),
        ("balanced_at = \"CB\"", "balanced_at = \"CX\"", "CX"),
        ("pka = 4.25", "pka = nan", "pka"),
        ("pka = 4.25", "pKa = 4.25", "unknown field `pKa`"),
        ("status = \"calibrated\"", "status = \"maybe\"", "maybe"),
    ];
    for (from, to, message) in cases {
        let error = Entry::from_toml(&glu().replace(from, to), "glu.toml").unwrap_err().to_string();
        assert!(error.contains(message) && error.starts_with("glu.toml"), "{to}: {error}");
    }
    let moved = glu().replace("N = [-0.4157, -0.4157]", "N = [-0.4157, -0.4156]").replace("-0.0398", "-0.0399");
    let error = Entry::from_toml(&moved, "glu.toml").unwrap_err().to_string();
    assert!(error.contains("backbone charges must be the same"), "{error}");
}

#[test]
fn a_calibration_is_written_and_read_back() {
    let written = entry_with_calibration(glu(), "glu.toml", &calibration()).unwrap();
    assert!(written.starts_with("# Glutamic acid"), "comments are kept");
    let entry = Entry::from_toml(&written, "glu.toml").unwrap();
    assert_eq!(entry.correction, Correction::Calibrated(Box::new(calibration())));
    // A second calibration replaces the first.
    let mut second = calibration();
    second.provenance.seed = 8;
    let again = entry_with_calibration(&written, "glu.toml", &second).unwrap();
    assert_eq!(Entry::from_toml(&again, "glu.toml").unwrap().correction, Correction::Calibrated(Box::new(second)));
    assert_eq!(again.lines().count(), written.lines().count());
}

#[test]
fn a_bad_calibration_is_not_written() {
    let mut short = calibration();
    short.errors.pop();
    assert!(entry_with_calibration(glu(), "glu.toml", &short).is_err());
    let mut narrow = calibration();
    narrow.range = [0.1, 1.1];
    assert!(entry_with_calibration(glu(), "glu.toml", &narrow).unwrap_err().to_string().contains("range"));
    let mut nan = calibration();
    nan.dvdl[1] = f64::NAN;
    assert!(entry_with_calibration(glu(), "glu.toml", &nan).is_err());
    let before = &glu()[..glu().find("[correction]").unwrap()];
    let table_after = before.to_string() + "[correction]\nstatus = \"uncalibrated\"\n[charges.X]\n";
    assert!(entry_with_calibration(&table_after, "glu.toml", &calibration()).is_err());
}

#[test]
fn a_folder_is_read_and_counts_before_the_builtin_entries() {
    let folder = std::env::temp_dir().join(format!("octitrate-library-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    assert!(matches!(SiteLibrary::from_path(&folder), Err(LibraryError::Empty(_))));
    let file = folder.join("mine.toml");
    std::fs::write(&file, glu().replace("pka = 4.25", "pka = 4.4")).unwrap();
    let mine = SiteLibrary::from_path(&folder).unwrap();
    assert_eq!(mine, SiteLibrary::from_path(&file).unwrap());
    assert!(matches!(SiteLibrary::from_path(&folder.join("none.toml")), Err(LibraryError::Io { .. })));
    let mut library = SiteLibrary::default();
    library.extend(mine);
    library.extend(SiteLibrary::builtin().unwrap());
    assert_eq!(library.entries.iter().map(|e| e.pka).collect::<Vec<_>>(), [4.4, 3.67]);
    std::fs::remove_dir_all(&folder).unwrap();
}
