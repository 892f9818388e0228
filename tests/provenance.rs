//! Corrections V_MM and the jobs that use them: whoever uses one of other conditions is told so, by name.

use super::titration::library_with;
use lambda::library::Conditions;
use octitrate::config::Config;
use octitrate::error::Error;
use octitrate::system::System;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One titratable Glu in water with its own library, and these lines in `[titration]`.
fn job(folder: &Path, library: &Path, titration: &str) -> Config {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu/glu");
    let text = format!(
        "[system]\nstructure = \"{0}.gro\"\ntopology = \"{0}.top\"\n[dynamics]\nsteps = 10\n[thermostat]\ntemperature = \"300 K\"\n\
         [titration]\nph = 4.0\nlibrary = [\"{1}\"]\n{titration}\n[[titration.site]]\nresidue = \"GLH 2\"\n",
        root.display(),
        library.display()
    );
    Config::parse(&text, &folder.join("job.toml")).unwrap()
}

/// What `sites.toml` says of the first site.
fn conditions(config: &Config) -> Conditions {
    let (system, state) = System::new(config).unwrap();
    system.sites.unwrap().records(&state.sites)[0].conditions.clone().unwrap()
}

/// What a job with the water and the torsions of inputs/01-glu is told of a correction of these conditions.
fn refusal(folder: &Path, conditions: Conditions, titration: &str) -> Option<Error> {
    let library = library_with(folder, Some(conditions));
    System::new(&job(folder, &library, titration)).err()
}

#[test]
fn every_mismatch_is_refused_by_its_name_and_allowed_by_it() {
    let folder = temp_dir::TempDir::new().unwrap();
    let folder = folder.path();
    let own = conditions(&job(folder, &library_with(folder, None), ""));
    assert_eq!(
        (own.water.as_str(), own.boundary.as_str(), own.compensation.as_str()),
        ("TIP3P", "periodic", "background")
    );
    assert!(refusal(folder, own.clone(), "").is_none());

    type Change = fn(&mut Conditions);
    let changes: [(&str, Change); 9] = [
        ("interpolation", |c| c.interpolation = "charge".into()),
        ("images", |c| c.images = true),
        ("temperature", |c| c.temperature = 310.0),
        ("cutoff", |c| c.cutoff = 1.2),
        ("modifier", |c| c.modifier = "force-switch".into()),
        ("water", |c| c.water = "SPC/E".into()),
        ("boundary", |c| c.boundary = "open".into()),
        ("parameters", |c| c.parameters = "0000000000000000".into()),
        ("pairs", |c| c.pairs = Some("0000000000000000".into())),
    ];
    for (name, change) in changes {
        let mut other = own.clone();
        change(&mut other);
        let error = refusal(folder, other.clone(), "").unwrap_or_else(|| panic!("{name} is not refused"));
        let Error::Input(error) = error else { panic!("{name}: {error}") };
        let (message, help) = (error.message.clone(), error.help.clone());
        assert!(
            message.contains(&format!("conditions: {name}: ")) && message.contains("calibration of glu"),
            "{message}"
        );
        // What belongs to a group is allowed for its entry.
        let of_glu = if ["parameters", "pairs"].contains(&name) { " of glu" } else { "" };
        assert!(
            help.contains("octitrate calibrate") && help.contains(&format!("allow_mismatch = [\"{name}{of_glu}\"]")),
            "{help}"
        );
        // Another name does not allow it, its own does, with a warning.
        let wrong = if name == "water" { "images" } else { "water" };
        assert!(refusal(folder, other.clone(), &format!("allow_mismatch = [\"{wrong}\"]")).is_some(), "{name}");
        assert!(refusal(folder, other.clone(), &format!("allow_mismatch = [\"{name} of asp\"]")).is_some(), "{name}");
        let library = library_with(folder, Some(other));
        for allowed in [name.to_string(), format!("{name} of glu")] {
            let allowed = job(folder, &library, &format!("allow_mismatch = [\"{allowed}\"]"));
            let warnings = System::new(&allowed).unwrap().0.sites.unwrap().warnings();
            assert!(warnings.iter().any(|one| one.contains(&format!("other conditions: {name}: "))), "{warnings:?}");
        }
    }

    // All of them at once.
    let mut other = own;
    changes.iter().filter(|(name, _)| *name != "images").for_each(|(_, change)| change(&mut other));
    let Some(Error::Input(error)) = refusal(folder, other, "") else { panic!("nothing is refused") };
    for (name, _) in changes.iter().filter(|(name, _)| *name != "images") {
        assert!(error.message.contains(&format!("{name}: ")) && error.help.contains(&format!("\"{name}")), "{error:?}");
    }
}

/// A background where the correction had buffers is no reason to refuse a job, since no calibration in water has what the background changes; the reason is said. The
/// range of the charge and what it depends on are said to every job with a background, and to none with buffers.
#[test]
fn a_background_is_warned_of_with_what_it_depends_on() {
    let folder = temp_dir::TempDir::new().unwrap();
    let folder = folder.path();
    let own = conditions(&job(folder, &library_with(folder, None), ""));
    let warnings = |compensation: &str, titration: &str| {
        let library = library_with(folder, Some(Conditions { compensation: compensation.into(), ..own.clone() }));
        System::new(&job(folder, &library, titration)).unwrap().0.sites.unwrap().warnings()
    };
    let composition = |warnings: &[String]| warnings.iter().find(|one| one.contains("uniform background")).cloned();
    let same = warnings("background", "");
    let said = composition(&same).unwrap();
    // Neutral with the proton, -1 e without it.
    for part in ["between +0.00 and -1.00 e", "the size of the box and on what is in it", "compensation = \"buffers\""]
    {
        assert!(said.contains(part), "{said}");
    }
    assert!(!same.iter().any(|one| one.contains("other conditions")), "{same:?}");
    let other = warnings("buffers", "");
    let said = other.iter().find(|one| one.contains("other conditions: compensation: ")).unwrap();
    for part in ["background in this job, buffers in the calibration of glu", "another calibration does not mend it"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(composition(&other), composition(&same));
    let neutral = warnings("buffers", "compensation = \"buffers\"\nallow_uncalibrated = true");
    assert!(!neutral.iter().any(|one| one.contains("background") || one.contains("compensation: ")), "{neutral:?}");
}

/// A topology with another torsion in the side chain of Glu, or with SPC/E water, tells of itself.
#[test]
fn a_topology_with_another_torsion_or_water_is_refused() {
    let place = temp_dir::TempDir::new().unwrap();
    let folder = place.path();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu");
    let own = conditions(&job(folder, &library_with(folder, None), ""));
    let library = library_with(folder, Some(own));
    let top = std::fs::read_to_string(root.join("glu.top")).unwrap();
    let refused = |top: &str| {
        std::fs::write(folder.join("other.top"), top).unwrap();
        let mut config = job(folder, &library, "");
        config.system.topology = folder.join("other.top");
        match System::new(&config) {
            Err(Error::Input(error)) => error.message.clone(),
            Err(error) => panic!("{error}"),
            Ok(_) => String::new(),
        }
    };
    assert_eq!(refused(&top), "");
    // A term about a bond of the side chain: CB CG CD OE1. Those of the hydrogen are replaced by what the entry holds it with.
    let glu = {
        let (system, _) = System::new(&job(folder, &library, "")).unwrap();
        let name = |name: &str| {
            let atoms = system.topology.residues.iter().find(|residue| residue.name == "GLH").unwrap().atoms.clone();
            atoms.clone().find(|&atom| system.topology.atoms[atom as usize].name == name).unwrap() + 1
        };
        [name("CB"), name("CG"), name("CD"), name("OE1")]
    };
    let [i, j, k, l] = glu;
    let term = format!("[ dihedrals ]\n{i} {j} {k} {l} 9 0.0 0.5 3\n");
    let (before, after) = top.split_once("[ dihedrals ]").unwrap();
    let said = refused(&format!("{before}{term}\n[ dihedrals ]{after}"));
    let expected =
        ["parameters: dihedral CB CG CD OE1, 3-fold at 0° 0.5 kJ/mol in this job", "nothing in the calibration of glu"];
    assert!(expected.iter().all(|part| said.contains(part)), "{said}");
    // 1/1.2 in place of 0.8333 is a rounding, and so are more digits of an amplitude.
    let rounded = top.replacen(" 0.8333", " 0.83333333", 1);
    assert_ne!(rounded, top);
    assert_eq!(refused(&rounded), "");
    // Oxygen a bit larger than that of TIP3P.
    let water = top.replace("3.15061e-01", "3.20000e-01");
    assert_ne!(water, top);
    let said = refused(&water);
    assert!(said.contains("water: fingerprint ") && said.contains(", TIP3P in the calibration of glu"), "{said}");
}

#[test]
fn info_shows_the_conditions_and_what_errors_cover() {
    let folder = temp_dir::TempDir::new().unwrap();
    let own = conditions(&job(folder.path(), &library_with(folder.path(), None), ""));
    let library = library_with(folder.path(), Some(own.clone()));
    let text = std::fs::read_to_string(&library).unwrap();
    let line = "free_energy_errors = [0.0, 0.0]\n";
    assert!(text.contains(line));
    let more = format!("{line}systematic_errors = [0.0, 1.5]\nerror_covers = \"counting alone\"\n");
    std::fs::write(&library, text.replace(line, &more)).unwrap();
    let info = |name: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_octitrate")).args(["info", name]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr))
    };
    let (status, said) = info(library.to_str().unwrap());
    let parts = ["1.50 kJ/mol systematic", "counting alone", "without the site's own images", "TIP3P", &own.parameters];
    assert!(status == Some(0) && parts.iter().all(|part| said.contains(part)), "{said}");
    // Corrections at other residues, of which one was transferred.
    let (status, said) = info("python/octitrate/corrections/ff19SB-opc/nterm.toml");
    let parts = [
        "correction V_MM      transferred\n",
        "transferred          from ff14SB, TIP3P, by -10.92 ± 0.30 kJ/mol (± 0.54 for one residue)\n",
        "known in both        ARG, HIP, LYS, PHE, PRO, THR, TYR\n",
        "correction at LYS    calibrated, deprotonated: 452.11 ± 0.55 kJ/mol (± 0.10 pK units), 2026-11-26\n",
        "correction at GLY    transferred from ff14SB, TIP3P, deprotonated: 460.03 ± 0.67 kJ/mol (± 0.12 pK units), 2026-11-29\n",
    ];
    assert!(status == Some(0) && parts.iter().all(|part| said.contains(part)), "{said}");
    let (status, said) = info("glu");
    assert!(status == Some(0) && said.contains("statistical") && said.contains("error of"), "{said}");
    let (status, said) = info("nothing");
    assert!(status == Some(2) && said.contains("valid are glu, asp"), "{said}");
}
