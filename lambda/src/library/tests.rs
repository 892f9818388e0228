//! Tests of the library: shipped entries, refusals, and writing a calibration.

use super::*;

fn glu() -> &'static str {
    BUILTIN[0].1
}

pub(crate) fn calibration() -> Calibration {
    Calibration {
        reason: None,
        degree: 3,
        interior_degree: 0,
        coefficients: vec![-310.25, 512.5, -1.0e-3],
        errors: vec![0.5, 0.75, 1.0e-4],
        free_energy_errors: vec![0.0, 0.125],
        systematic_errors: None,
        error_covers: None,
        flatness: Some(0.5),
        range: [-0.1, 1.1],
        provenance: Provenance {
            program: "octitrate 0.1.0".into(),
            date: "2026-01-31".into(),
            temperature: 300.0,
            box_edges: [3.5, 3.5, 3.5],
            atoms: 4000,
            water_model: "TIP3P".into(),
            buffers: 3,
            electrostatics: "FMM order 8".into(),
            lennard_jones: "cut-off 1.0 nm".into(),
            windows: 13,
            time_per_window: 1.0,
            equilibration_per_window: 0.1,
            seed: 7,
            reduced_chi_squared: 1.1,
            conditions: None,
        },
        transfer: None,
    }
}

fn calibrated(calibration: Calibration) -> Correction {
    Correction::Calibrated(Box::new(calibration))
}

fn builtin(name: &str) -> Entry {
    SiteLibrary::builtin().unwrap().entries.into_iter().find(|entry| entry.name == name).unwrap()
}

#[test]
fn builtin_entries_are_consistent() {
    let library = SiteLibrary::builtin().unwrap();
    let expected = [
        ("glu", 4.25, &[0.0, -1.0][..]),
        ("asp", 3.90, &[0.0, -1.0]),
        ("his", 6.54, &[1.0, 0.0, 0.0]),
        ("lys", 10.4, &[1.0, 0.0]),
        ("arg", 13.8, &[1.0, 0.0]),
        ("tyr", 9.84, &[0.0, -1.0]),
        ("cys", 8.55, &[0.0, -1.0]),
        ("glu3", 4.25, &[0.0, 0.0, -1.0]),
        ("asp3", 3.90, &[0.0, 0.0, -1.0]),
        ("nterm", 8.0, &[1.0, 0.0]),
        ("cterm", 3.67, &[0.0, 0.0, -1.0]),
    ];
    for (entry, (name, pka, charges)) in library.entries.iter().zip(expected) {
        assert_eq!((entry.name.as_str(), entry.pka), (name, Some(pka)));
        assert_eq!(entry.forms.iter().map(|f| f.net_charge).collect::<Vec<_>>(), charges, "{name}");
        if entry.terminus.is_none() {
            // Form 0 is the residue of the force field; N H CA HA C O are the same in every form.
            assert_eq!(entry.backbone, ["N", "H", "CA", "HA", "C", "O"], "{name}");
            assert_eq!(entry.balanced_at.as_deref(), Some("CB"));
        }
        // Each lost proton leaves one hydrogen without charge.
        for (k, form) in entry.forms.iter().enumerate() {
            let empty = |k: usize| entry.charges.values().filter(|q| q[k] == 0.0).count() as u32;
            assert_eq!(empty(k), empty(0) + form.protons_lost, "{name} {}", form.name);
        }
    }
    for entry in &library.entries[expected.len()..] {
        assert_eq!((entry.kind, entry.pka, entry.macroscopic_pka().is_some()), (EntryKind::Buffer, None, true));
    }
    assert_eq!(library.entries.len(), expected.len() + 2);
}

#[test]
fn equal_weights_of_the_water_buffer_are_tip3p() {
    let charges = builtin("water").charges;
    for (atom, tip3p) in [("OW", -0.834), ("HW1", 0.417), ("HW2", 0.417)] {
        assert!((0.5 * (charges[atom][0] + charges[atom][1]) - tip3p).abs() < 1e-15);
    }
}

#[test]
fn macroscopic_pka_follows_from_the_forms() {
    // His: 10^-6.69 + 10^-7.08. Two equal protonated forms: half of either.
    assert!((builtin("his").macroscopic_pka().unwrap() - 6.54158).abs() < 1e-5);
    // Of two protons: each of its own, and both together half of their sum.
    let pk = |from, to| macroscopic_pk([(0, 0.0), (1, 4.0), (2, 10.0)].into_iter(), from, to);
    for (from, to, expected) in [(0, 1, 4.0), (1, 2, 6.0), (0, 2, 5.0), (2, 1, 6.0)] {
        assert!((pk(from, to).unwrap() - expected).abs() < 1e-12, "{from} to {to}");
    }
    assert_eq!((pk(0, 3), pk(1, 1)), (None, None));
    let glu3 = builtin("glu3");
    assert!((glu3.forms[2].pk - (4.25 - 2_f64.log10())).abs() < 1e-4 && glu3.forms[1].protons_lost == 0);
}

#[test]
fn wrong_atoms_of_an_end_elsewhere_are_refused_with_a_reason() {
    let (end, side) = (builtin("nterm").text, builtin("glu").text);
    assert_eq!(builtin("nterm").charges_at("NPRO"), builtin("nterm").charges_at("PRO"));
    assert_ne!(builtin("nterm").charges_at("PRO"), builtin("nterm").charges_at("ALA"));
    let table = "[[other_atoms]]\nresidues = [\"GLH\"]\ncharges = { CB = [0.0, -1.0] }\n\n[correction]";
    let cases = [
        (
            &end,
            "CD = [-0.0120, -0.0510]",
            "CD = [-0.0120, -0.0610]",
            "other_atoms of PRO: form deprotonated: charges change by -1.01",
        ),
        (
            &end,
            "CD = [-0.0120, -0.0510]",
            "CD = [-0.0120]",
            "other_atoms of PRO: charges.CD: [-0.012], expected 2 numbers",
        ),
        (
            &end,
            "CA = [0.1000, 0.0610]",
            "CX = [0.1000, 0.0610]",
            "other_atoms of PRO: atom CA (aliases, balanced_at) has no charges",
        ),
        (
            &end,
            "{ H1 = \"H2\", H2 = \"H3\" }",
            "{ H1 = \"H2\", H2 = \"HX\" }",
            "other_atoms of PRO: atom HX (aliases, balanced_at) has no charges",
        ),
        (&end, "residues = [\"PRO\"]", "residues = [\"PRO\", \"P:O\"]", "is no name"),
        (&end, "residues = [\"PRO\"]", "residues = []", "other_atoms: residues []: none, or one that is there twice"),
        (&side, "[correction]", table, "other_atoms: only an end of a chain without backbone"),
    ];
    for (text, from, to, message) in cases {
        assert!(text.contains(from), "{from}");
        let error = Entry::from_toml(&text.replacen(from, to, 1), "end.toml").unwrap_err().to_string();
        assert!(error.starts_with("end.toml: ") && error.contains(message), "{to}: {error}");
    }
    // A calibration leaves them where they are.
    let written = entry_with_calibration(&end, "end.toml", Some("PRO"), &Correction::Uncalibrated).unwrap();
    assert_eq!(Entry::from_toml(&written, "end.toml").unwrap().other_atoms, builtin("nterm").other_atoms);
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
        ("name = \"glu\"", "name = \"glu acid\"", "\"glu acid\" is no name"),
        ("name = \"deprotonated\"", "name = \"minus,one\"", "\"minus,one\" is no name"),
        ("HB3 = \"HB2\"", "HB3 = \"HX\"", "aliases: atom HX has no charges"),
        ("pka = 4.25", "pka = 4.35", "the pk of the forms give 4.250"),
        ("pka = 4.25", "pKa = 4.25", "unknown field `pKa`"),
        ("[correction]\nstatus = ", "[correction]\nstatus = \"maybe\" # ", "maybe"),
        ("\"OE2\", \"HE2\"]", "\"OE2\", \"HX\"]", "torsion OE1 CD OE2 HX: atom HX has no charges"),
        ("force_constant = 80.0", "force_constant = -80.0", "a force_constant above 0"),
        ("multiplicity = 1", "multiplicity = 9", "a multiplicity from 1 to 6"),
        ("\ndegree = ", "\ndegree = 1", "finite numbers of each for 2 forms and degree 1"),
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
fn charges_may_be_scaled_where_the_entry_says_so() {
    let scaled = |scale: &str, balanced: &str| {
        let text = glu().replace("model_compound", &format!("charge_scale = {scale}\nmodel_compound"));
        Entry::from_toml(&text.replace("CB = [-0.0071, -0.0398]", &format!("CB = [-0.0071, {balanced}]")), "glu.toml")
    };
    // CB takes what the anion lacks of its charge.
    let entry = scaled("0.75", "0.2102").unwrap();
    assert_eq!((entry.charge_scale, entry.forms[1].net_charge), (0.75, -1.0));
    assert_eq!(Entry::from_toml(glu(), "glu.toml").unwrap().charge_scale, 1.0);
    for (scale, balanced, message) in [
        ("0.75", "-0.0398", "form deprotonated: charges sum to -1.000000 e, net_charge is -1 times 0.75"),
        ("0.8", "0.2102", "form deprotonated: charges sum to -0.750000 e, net_charge is -1 times 0.8"),
        ("0.0", "0.2102", "charge_scale = 0: valid is a number above 0, 1 at most"),
        ("1.5", "0.2102", "charge_scale = 1.5: valid"),
        ("nan", "0.2102", "charge_scale = NaN: valid"),
    ] {
        let error = scaled(scale, balanced).unwrap_err().to_string();
        assert!(error.contains(message), "{scale}: {error}");
    }
}

#[test]
fn a_calibration_is_written_and_read_back() {
    let written = entry_with_calibration(glu(), "glu.toml", None, &calibrated(calibration())).unwrap();
    assert!(written.starts_with("# Glutamic acid"), "comments are kept");
    let not_yet =
        glu().replace("[correction]", "# Not calibrated yet: `octitrate calibrate` writes this table.\n[correction]");
    assert_ne!(not_yet, glu());
    assert_eq!(entry_with_calibration(&not_yet, "glu.toml", None, &calibrated(calibration())).unwrap(), written);
    let entry = Entry::from_toml(&written, "glu.toml").unwrap();
    assert_eq!(entry.correction, calibrated(calibration()));
    // A second calibration replaces the first.
    let mut second = calibration();
    second.provenance.seed = 8;
    let again = entry_with_calibration(&written, "glu.toml", None, &calibrated(second.clone())).unwrap();
    assert_eq!(Entry::from_toml(&again, "glu.toml").unwrap().correction, calibrated(second));
    assert_eq!(again.lines().count(), written.lines().count());
}

#[test]
fn a_correction_that_was_transferred_is_read_with_where_from() {
    let transfer = Transfer {
        from: "ff14SB, TIP3P".into(),
        shifts: vec![0.0, -10.9],
        shift_errors: vec![0.0, 0.3],
        scatter: vec![0.0, 0.5],
        residues: vec!["ARG".into(), "LYS".into()],
    };
    let with = |transfer: Transfer| {
        let taken = Calibration { transfer: Some(transfer), ..calibration() };
        entry_with_calibration(glu(), "glu.toml", None, &Correction::Transferred(Box::new(taken)))
    };
    let written = with(transfer.clone()).unwrap();
    assert!(written.contains("status = \"transferred\"") && written.contains("[correction.transfer]"), "{written}");
    let read = Entry::from_toml(&written, "glu.toml").unwrap().correction;
    assert_eq!(read.status(), "transferred");
    assert_eq!(read.calibration().unwrap().transfer, Some(transfer.clone()));
    let short = Transfer { shifts: vec![-10.9], ..transfer.clone() };
    let said = with(short).unwrap_err().to_string();
    assert!(said.contains("correction.transfer.shifts: expected 2 numbers, one for each form"), "{said}");
    let said = with(Transfer { scatter: vec![0.0, -0.5], ..transfer }).unwrap_err().to_string();
    assert!(said.contains("correction.transfer.scatter: expected 2 numbers ≥ 0, one for each form"), "{said}");
}

#[test]
fn a_bad_calibration_is_not_written() {
    let mut short = calibration();
    short.errors.pop();
    assert!(entry_with_calibration(glu(), "glu.toml", None, &calibrated(short)).is_err());
    let mut narrow = calibration();
    narrow.range = [0.1, 1.1];
    assert!(
        entry_with_calibration(glu(), "glu.toml", None, &calibrated(narrow)).unwrap_err().to_string().contains("range")
    );
    let mut inside = calibration();
    inside.interior_degree = 3;
    let refused = entry_with_calibration(glu(), "glu.toml", None, &calibrated(inside)).unwrap_err().to_string();
    assert!(refused.contains("correction.interior_degree: 3, expected 0 to 2"), "{refused}");
    let mut nan = calibration();
    nan.coefficients[1] = f64::NAN;
    assert!(entry_with_calibration(glu(), "glu.toml", None, &calibrated(nan)).is_err());
    let before = &glu()[..glu().find("[correction]").unwrap()];
    let table_after = before.to_string() + "[correction]\nstatus = \"uncalibrated\"\n[charges.X]\n";
    assert!(entry_with_calibration(&table_after, "glu.toml", None, &calibrated(calibration())).is_err());
}

#[test]
fn a_folder_is_read_and_counts_before_the_builtin_entries() {
    let folder = std::env::temp_dir().join(format!("octitrate-library-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    assert!(matches!(SiteLibrary::from_path(&folder), Err(LibraryError::Empty(_))));
    let file = folder.join("mine.toml");
    std::fs::write(&file, glu().replace("pka = 4.25", "pka = 4.4").replace("pk = 4.25", "pk = 4.4")).unwrap();
    let mine = SiteLibrary::from_path(&folder).unwrap();
    assert_eq!(mine, SiteLibrary::from_path(&file).unwrap());
    assert!(matches!(SiteLibrary::from_path(&folder.join("none.toml")), Err(LibraryError::Io { .. })));
    let mut library = SiteLibrary::default();
    library.extend(mine);
    library.extend(SiteLibrary::builtin().unwrap());
    assert_eq!(library.entries[..2].iter().map(|e| e.pka).collect::<Vec<_>>(), [Some(4.4), Some(3.9)]);
    assert_eq!(library.entries.len(), BUILTIN.len());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A correction at the end of a chain is that of its residue alone, and calibrating one leaves the others as they were.
#[test]
fn corrections_at_the_ends_of_chains_belong_to_residues() {
    let (cterm, glu3) = (builtin("cterm"), builtin("glu3"));
    let at = |entry: &Entry, residue: &str, is_end| entry.correction_at(residue, is_end).cloned();
    assert_eq!(at(&cterm, "ZALA", true), Some(cterm.correction.clone()));
    assert_eq!(at(&cterm, "CALA", true), Some(cterm.correction.clone()));
    assert_eq!(at(&cterm, "ZGLY", true), Some(cterm.elsewhere[0].correction.clone()));
    assert_ne!(at(&cterm, "ZGLY", true), at(&cterm, "ZLEU", true));
    assert_eq!((at(&cterm, "ZPHE", true), at(&glu3, "NGL3", true)), (None, None));
    // Other residues whose names end so: D-alanine is another compound.
    assert_eq!((at(&cterm, "DALA", true), at(&cterm, "GLY", true)), (None, at(&cterm, "ZGLY", true)));
    assert_eq!(at(&glu3, "GL3", false), Some(glu3.correction.clone()));
    assert!(at(&glu3, "ZGL3", true).is_some_and(|found| found != glu3.correction));
    assert_eq!((cterm.known_at().as_str(), glu3.known_at().as_str()), ("ALA, GLY, LEU, GL3", "inside of chains, ZGL3"));
    // The free energies differ by far more than the pKa values of such ends do: 13 to 30 kJ/mol are 2.3 to 5.2 pK units.
    let free = |residue: &str| at(&cterm, residue, true).unwrap().calibration().unwrap().coefficients[1];
    assert!((free("ZALA") - free("ZGLY")).abs() > 10.0 && (free("ZALA") - free("ZLEU")).abs() > 10.0);

    let new = cterm.correction.clone();
    let text = entry_with_calibration(&cterm.text, "cterm.toml", Some("ZPHE"), &new).unwrap();
    let read = Entry::from_toml(&text, "cterm.toml").unwrap();
    assert_eq!(at(&read, "ZPHE", true), Some(new.clone()));
    assert_eq!((&read.elsewhere[..3], &read.correction), (&cterm.elsewhere[..], &cterm.correction));
    assert!(text.starts_with(cterm.text.split("[[elsewhere]]").next().unwrap()));
    // Once more: replaced, not added.
    let text = entry_with_calibration(&text, "cterm.toml", Some("ZGLY"), &new).unwrap();
    let read = Entry::from_toml(&text, "cterm.toml").unwrap();
    assert_eq!((read.elsewhere.len(), at(&read, "ZGLY", true)), (4, Some(new)));
}
