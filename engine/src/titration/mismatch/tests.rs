//! Each kind of mismatch is found, and nothing else with it.

use super::*;
use lambda::site::SiteKind;

fn conditions() -> Conditions {
    Conditions {
        interpolation: "hamiltonian".into(),
        images: false,
        temperature: 300.0,
        cutoff: 1.0,
        modifier: "potential-shift".into(),
        switch_start: None,
        water: "TIP3P".into(),
        boundary: "periodic".into(),
        compensation: "buffers".into(),
        parameters: "0123456789abcdef".into(),
        attached: Some("fedcba9876543210".into()),
        pairs: None,
    }
}

fn provenance(conditions: Option<Conditions>) -> Provenance {
    Provenance {
        program: "octitrate 0.1.0".into(),
        date: "2026-01-31".into(),
        temperature: 300.0,
        box_edges: [3.3; 3],
        atoms: 3500,
        water_model: "tip3p".into(),
        buffers: 3,
        electrostatics: "FMM, order 10, f32, periodic; net charge compensated by buffers".into(),
        lennard_jones: "cut-off 1 nm, potential shift".into(),
        windows: 13,
        time_per_window: 1.0,
        equilibration_per_window: 0.1,
        seed: 1,
        reduced_chi_squared: 1.0,
        conditions,
    }
}

fn names(job: &Conditions, provenance: &Provenance, is_buffer: bool) -> Vec<&'static str> {
    let name = |one: Difference| match one.what {
        What::Refused(name) => name.name(),
        What::Warned(name) => name,
    };
    differences(job, provenance, &Likeness::Unknown, &site(is_buffer)).into_iter().map(name).collect()
}

/// A site of an entry "glu", or a buffer.
fn site(is_buffer: bool) -> Site {
    Site {
        name: "GLH 2".into(),
        entry: "glu".into(),
        force_field: "amber99sb-ildn".into(),
        residues: vec![0],
        atoms: Vec::new(),
        forms: Vec::new(),
        pka: None,
        correction: lambda::library::Correction::Uncalibrated,
        kind: if is_buffer { SiteKind::Buffer { molecules: 1 } } else { SiteKind::Titratable },
    }
}

/// Roundings are no difference, other numbers are one that is told by the worst of them.
#[test]
fn parameters_are_compared_by_their_numbers_where_they_are_known() {
    let other = Conditions { parameters: "0000000000000000".into(), ..conditions() };
    let recorded = provenance(Some(conditions()));
    let found = |likeness: &Likeness| differences(&other, &recorded, likeness, &site(false));
    let rounded = Likeness::Rounded { largest: 4e-4, term: "Lennard-Jones OW".into() };
    assert_eq!(found(&rounded), []);
    let said = ", the parameters of this job but for rounding: 4e-4 of Lennard-Jones OW at most";
    assert_eq!(roundings(&rounded).as_deref(), Some(said));
    assert_eq!(found(&Likeness::Unknown).len(), 1);
    let (term, ours) = ("dihedral CA CB CG CD, 1-fold at 180°".to_string(), Some("5.7 kJ/mol".to_string()));
    let different = lambda::site::Difference { count: 3, of: 96, term, ours, theirs: None };
    let [one] = &found(&Likeness::Different(Box::new(different)))[..] else { panic!() };
    assert_eq!(one.what, What::Refused(Mismatch::Parameters));
    assert_eq!(one.job, "dihedral CA CB CG CD, 1-fold at 180° 5.7 kJ/mol");
    assert_eq!(one.calibration, "nothing");
    assert_eq!(one.more, ", and 2 more of 96 terms (glu is for amber99sb-ildn)");
}

/// A change of the conditions.
type Change = fn(&mut Conditions);

/// Changes of a job that has the conditions of the calibration otherwise, each with its name.
fn changes() -> Vec<(&'static str, Change)> {
    vec![
        ("interpolation", |c| c.interpolation = "charge".into()),
        ("images", |c| c.images = true),
        ("temperature", |c| c.temperature = 302.1),
        ("cutoff", |c| c.cutoff = 1.001),
        ("modifier", |c| c.modifier = "none".into()),
        ("water", |c| c.water = "SPC/E".into()),
        ("boundary", |c| c.boundary = "open".into()),
        ("compensation", |c| c.compensation = "background".into()),
        ("parameters", |c| c.parameters = "0000000000000000".into()),
        ("parameters", |c| c.attached = Some("0000000000000000".into())),
        ("pairs", |c| c.pairs = Some("0000000000000000".into())),
    ]
}

#[test]
fn every_condition_is_compared() {
    let recorded = provenance(Some(conditions()));
    assert_eq!(names(&conditions(), &recorded, false), [""; 0]);
    for (name, change) in changes() {
        let mut job = conditions();
        change(&mut job);
        assert_eq!(names(&job, &recorded, false), [name]);
    }
    // Where a force switch starts is part of it.
    let switched = |start| Conditions { modifier: "force-switch".into(), switch_start: Some(start), ..conditions() };
    assert_eq!(names(&switched(0.8), &provenance(Some(switched(0.9))), false), ["modifier"]);
    // 298.15 K is near enough; an end of a chain has no joint to compare; a buffer is calibrated alone.
    let near = Conditions { temperature: 298.15, attached: None, ..conditions() };
    assert_eq!(names(&near, &recorded, false), [""; 0]);
    let alone = Conditions { compensation: "background".into(), ..conditions() };
    assert_eq!(names(&alone, &recorded, true), [""; 0]);
}

#[test]
fn what_an_old_entry_says_in_words_is_compared() {
    let old = provenance(None);
    assert_eq!(names(&conditions(), &old, true), [""; 0]);
    assert_eq!(names(&conditions(), &old, false), ["images"]);
    for (name, change) in changes() {
        let mut job = conditions();
        change(&mut job);
        let expected: &[&str] = match name {
            // Interpolated charges have no bracket, and images in it are what the entry was made with.
            "interpolation" => &["interpolation"],
            "images" => &[],
            "temperature" => &["temperature", "images"],
            "compensation" | "parameters" | "pairs" => &["images"],
            name => &["images", name],
        };
        assert_eq!(names(&job, &old, false), expected, "{name}");
    }
    let vague = Provenance { lennard_jones: "none".into(), water_model: "mine".into(), ..provenance(None) };
    let other = Conditions { cutoff: 2.0, modifier: "none".into(), water: "SPC".into(), ..conditions() };
    assert_eq!(names(&other, &vague, false), ["images"]);
}
