//! Molecular dynamics in boxes without right angles: what does not depend on the box in which a crystal is described, what is the derivative of
//! what, and the same on the CPU and on a device. Against GROMACS: `gromacs.rs`.

use forcefield::cell::PeriodicBox;
use forcefield::gromacs::{read_gro, write_gro};
use forcefield::{Cell, units};
use kernels::device::Device;
use nalgebra::Vector3;
use octitrate::config::Config;
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::signals::Stop;
use octitrate::simulation::Simulation;
use octitrate::trajectory::{Frames, StoredFrame};
use octitrate::workflow::rerun::rerun;
use octitrate::workflow::run::{Outcome, run};
use std::path::{Path, PathBuf};

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn config(folder: &Path, stem: &Path, sections: &str) -> Config {
    let stem = stem.display();
    let text = format!("[system]\nstructure = \"{stem}.gro\"\ntopology = \"{stem}.top\"\n{sections}");
    Config::parse(&text, &folder.join("job.toml")).unwrap()
}

/// Salt water in a rhombic dodecahedron; the cut-off leaves its faces far enough apart for a device.
fn dodecahedron(folder: &Path, sections: &str) -> Config {
    let short = "[van_der_waals]\ncutoff = \"0.85 nm\"\n[neighbour_list]\nbuffer = \"0.1 nm\"\n";
    config(folder, &project("tests/reference/dodecahedron"), &format!("{short}{sections}"))
}

/// Copies of the system `stem` at `shifts` (nm) in the box with these edges (nm), as `name` in `folder`.
fn copies(folder: &Path, stem: &str, name: &str, shifts: &[Vector3<f64>], rows: [[f64; 3]; 3]) -> PathBuf {
    let target = folder.join(name);
    let mut structure = read_gro(&project(&format!("{stem}.gro"))).unwrap();
    let (x, names, numbers) = (structure.positions, structure.names, structure.residue_numbers);
    structure.positions = shifts.iter().flat_map(|shift| x.iter().map(move |x| x + shift)).collect();
    structure.names = shifts.iter().flat_map(|_| names.clone()).collect();
    structure.residue_numbers = shifts.iter().flat_map(|_| numbers.clone()).collect();
    structure.velocities = None;
    structure.cell = Cell::Periodic(PeriodicBox::triclinic(rows).unwrap());
    write_gro(&target.with_extension("gro"), &structure, 9).unwrap();
    let top = std::fs::read_to_string(project(&format!("{stem}.top"))).unwrap();
    let (rest, molecules) = top.split_once("[ molecules ]\n").unwrap();
    let text = format!("{rest}[ molecules ]\n{}", molecules.repeat(shifts.len()));
    std::fs::write(target.with_extension("top"), text).unwrap();
    target
}

/// Relative difference of forces, root mean square.
fn difference(a: &[Vector3<f64>], b: &[Vector3<f64>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let apart: f64 = a.iter().zip(b).map(|(a, b)| (a - b).norm_squared()).sum();
    (apart / b.iter().map(Vector3::norm_squared).sum::<f64>()).sqrt()
}

/// The dodecahedron's lattice is face-centred cubic, of which two copies fill a rectangular box of L × L × √2 L: each energy is twice that of
/// one copy, each force the same.
#[test]
fn two_dodecahedra_fill_a_box_with_right_angles() {
    let folder = temp_dir::TempDir::new().unwrap();
    let stem = "tests/reference/dodecahedron";
    // The file has its halves rounded to 1e-5 nm.
    let [a, _, c] = read_gro(&project(&format!("{stem}.gro"))).unwrap().cell.periodic().unwrap().rows();
    let (l, height) = (a[0], c[2]);
    let c = Vector3::new(0.5 * l, 0.5 * l, height);
    let slanted = [[l, 0.0, 0.0], [0.0, l, 0.0], c.into()];
    let right = [[l, 0.0, 0.0], [0.0, l, 0.0], [0.0, 0.0, 2.0 * height]];
    let stems = [
        copies(folder.path(), stem, "one", &[Vector3::zeros()], slanted),
        copies(folder.path(), stem, "two", &[Vector3::zeros(), c], right),
    ];
    // Boxes differ, and with them the error of the expansions. The mean C6 of the correction for dispersion does not count an atom with itself,
    // and so depends a little on how many there are.
    let sections = "[van_der_waals]\ncutoff = \"0.85 nm\"\ndispersion_correction = false\n[neighbour_list]\nbuffer = \"0.1 nm\"\n\
                    [electrostatics]\nprecision = \"double\"\norder = 28\ndepth = 0\n";
    let [mut one, mut two] = stems.map(|stem| Simulation::new(&config(folder.path(), &stem, sections)).unwrap());
    assert!(two.state().unwrap().cell.edges().is_some() && one.state().unwrap().cell.is_triclinic());
    let virials = [one.energies().unwrap().virial, two.energies().unwrap().virial];
    let (one, two) = (one.single_point().unwrap(), two.single_point().unwrap());
    for (a, b) in one.energies.iter().zip(&two.energies) {
        let (error, name) = ((2.0 * a.value - b.value).abs() / b.value.abs().max(1.0), &a.name);
        println!("{name}: {error:.1e}");
        let tolerance = if name.contains("Coulomb") || name.contains("potential") { 1e-9 } else { 1e-12 };
        assert!(error < tolerance, "{name}: {} and {}", 2.0 * a.value, b.value);
    }
    assert!((2.0 * virials[0] / virials[1] - 1.0).abs() < 1e-8, "{virials:?}");
    for copy in two.forces.chunks(one.forces.len()) {
        let error = difference(copy, &one.forces);
        println!("forces: {error:.1e}");
        assert!(error < 1e-7, "forces differ by {error:e}");
    }
}

/// Forms of other types and terms in a skewed box: on a device as on the CPU.
#[test]
fn other_types_and_terms_in_a_skewed_box_are_those_of_the_cpu() {
    let folder = temp_dir::TempDir::new().unwrap();
    let l = read_gro(&project("inputs/01-glu/glu.gro")).unwrap().cell.edges().unwrap().x;
    let shifts = [Vector3::zeros(), Vector3::new(l, 0.0, 0.0)];
    let rows = [[2.0 * l, 0.0, 0.0], [l, l, 0.0], [l, 0.0, l]];
    let stem = copies(folder.path(), "inputs/01-glu/glu", "varied", &shifts, rows);
    let library = project("tests/good/library/glu-varied.toml");
    let sections = format!(
        "[electrostatics]\nprecision = \"double\"\norder = 16\n[titration]\nph = 4.0\ntemperature = \"300 K\"\n\
         library = [\"{}\"]\n[[titration.site]]\nresidue = \"GLH\"\ninitial = [0.3, 0.5, 0.2]\n",
        library.display()
    );
    let config = config(folder.path(), &stem, &sections);
    let device = Device::of_tests().unwrap();
    let [(here, ours), (there, theirs)] = [None, Some(&device)].map(|device| {
        let mut simulation = Simulation::on(&config, device).unwrap();
        let energies = simulation.energies().unwrap();
        (simulation.single_point().unwrap(), energies)
    });
    let error = difference(&there.forces, &here.forces);
    println!("forces: {error:.1e}; ∂V/∂λ {:?} and {:?}", here.dvdl, there.dvdl);
    // Truncation at order 16 in boxes of another size.
    assert!(error < 1e-5, "forces differ by {error:e}");
    assert!(here.dvdl.len() == 6 && here.dvdl.iter().all(|v| v.abs() > 1.0), "{:?}", here.dvdl);
    for (a, b) in here.dvdl.iter().zip(&there.dvdl) {
        assert!((a - b).abs() < 5e-3, "{:?} {:?}", here.dvdl, there.dvdl);
    }
    // Terms without electrostatics agree to rounding and the quanta of energies.
    let terms = [&ours, &theirs].map(|e| [e.lennard_jones, e.lennard_jones_14, e.bonded.angles.energy]);
    for (a, b) in terms[0].iter().zip(&terms[1]) {
        assert!((a - b).abs() < 1e-9 * a.abs() + 1e-4, "{terms:?}");
    }
    assert!((ours.virial - theirs.virial).abs() < 1e-5 * ours.virial.abs() + 0.1, "{} {}", ours.virial, theirs.virial);
}

/// Glutamic acid in a cube, and the same crystal with two molecules in a skewed box: a = 2L x, b = L (x + y), c = L (x + z), the reduced box and
/// another one of its lattice. ∂V/∂λ of both sites is that of the one.
#[test]
fn a_titrating_crystal_is_the_same_in_every_box() {
    let folder = temp_dir::TempDir::new().unwrap();
    let l = read_gro(&project("inputs/01-glu/glu.gro")).unwrap().cell.edges().unwrap().x;
    let sections = "[van_der_waals]\ndispersion_correction = false\n\
                    [electrostatics]\nprecision = \"double\"\norder = 16\n[titration]\nph = 4.0\ntemperature = \"300 K\"\nallow_uncalibrated = true\n\
                    [[titration.site]]\nresidue = \"GLH\"\ninitial = 0.4\n";
    let cube = config(folder.path(), &project("inputs/01-glu/glu"), sections);
    let one = Simulation::new(&cube).unwrap().single_point().unwrap();
    let reduced = [[2.0 * l, 0.0, 0.0], [l, l, 0.0], [l, 0.0, l]];
    let skewed = [[2.0 * l, 0.0, 0.0], [-3.0 * l, l, 0.0], [2.0 * l, l, l]];
    let device = Device::of_tests().unwrap();
    for (name, rows, device) in
        [("reduced", reduced, None), ("skewed", skewed, None), ("device", reduced, Some(&device))]
    {
        let stem =
            copies(folder.path(), "inputs/01-glu/glu", name, &[Vector3::zeros(), Vector3::new(l, 0.0, 0.0)], rows);
        let mut simulation = Simulation::on(&config(folder.path(), &stem, sections), device).unwrap();
        let found = simulation.state().unwrap().cell.periodic().unwrap().rows();
        assert!((found[1][0] - l).abs() < 1e-8 && found[2][1].abs() < 1e-8, "{found:?}");
        let two = simulation.single_point().unwrap();
        for (a, b) in one.energies.iter().zip(&two.energies) {
            let (error, name) = ((2.0 * a.value - b.value).abs() / b.value.abs().max(1e4), &a.name);
            assert!(error < 1e-6, "{name}: {} and {}", 2.0 * a.value, b.value);
        }
        for copy in two.forces.chunks(one.forces.len()) {
            let error = difference(copy, &one.forces);
            println!("{name}: forces {error:.1e}");
            // Truncation of order 16 in other boxes, which differ between CPU and device too.
            assert!(error < 5e-6, "{name}: forces differ by {error:e}");
        }
        assert_eq!(two.dvdl.len(), 2);
        for slope in &two.dvdl {
            println!("{name}: ∂V/∂λ {slope} and {}", one.dvdl[0]);
            assert!((slope - one.dvdl[0]).abs() < 1e-2, "{name}: {slope} and {}", one.dvdl[0]);
        }
    }
}

/// Energies at the positions and in the box of `simulation`, both multiplied by `scale`.
fn scaled(simulation: &mut Simulation, start: &StoredFrame, scale: f64) -> f64 {
    let positions = start.positions.iter().map(|x| x * scale).collect();
    let frame = StoredFrame { positions, cell: start.cell.scaled(scale).unwrap(), ..StoredFrame::default() };
    simulation.place(&frame, Path::new("scaled")).unwrap();
    simulation.energies().unwrap().potential()
}

/// W = Σ r·F, of which the pressure is made, is −dV/d ln s of the whole energy when positions and box are multiplied by s: images of
/// Lennard-Jones, the FMM in its sheared boxes, the correction for dispersion.
#[test]
fn the_virial_is_the_derivative_by_the_size_of_the_box() {
    let folder = temp_dir::TempDir::new().unwrap();
    for name in ["dodecahedron", "octahedron"] {
        let sections = "[van_der_waals]\ncutoff = \"0.9 nm\"\nmodifier = \"force-switch\"\n[neighbour_list]\nbuffer = \"0.1 nm\"\n\
                        [electrostatics]\nprecision = \"double\"\norder = 8\n";
        let config = config(folder.path(), &project(&format!("tests/reference/{name}")), sections);
        let mut simulation = Simulation::new(&config).unwrap();
        let state = simulation.state().unwrap();
        let start = StoredFrame { positions: state.positions.clone(), cell: state.cell, ..StoredFrame::default() };
        let mut at = |scale: f64| scaled(&mut simulation, &start, scale);
        let h = 1e-4;
        let slope = (8.0 * (at(1.0 + h) - at(1.0 - h)) - (at(1.0 + 2.0 * h) - at(1.0 - 2.0 * h))) / (12.0 * h);
        at(1.0);
        let virial = simulation.energies().unwrap().virial;
        println!("{name}: {virial} and {}", -slope);
        // Rounding of an energy of 2e4 by 1e-13 over h; h⁴ times the fifth derivative is less. Found: 7e-12.
        assert!((virial + slope).abs() < 1e-9 * virial.abs(), "{name}: {virial} and {}", -slope);
        assert!((virial - simulation.energies().unwrap().coulomb).abs() > 1e3);
    }
}

#[test]
fn a_few_steps_on_a_device_are_those_of_the_cpu() {
    let folder = temp_dir::TempDir::new().unwrap();
    let device = Device::of_tests().unwrap();
    let sections =
        "[electrostatics]\nprecision = \"double\"\norder = 16\n[dynamics]\nsteps = 20\n[thermostat]\n[barostat]\n";
    let config = dodecahedron(folder.path(), sections);
    let run = |device: Option<&Device>| {
        let mut simulation = Simulation::on(&config, device).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        let forces = simulation.single_point().unwrap().forces;
        // What is written of a step on the way has its box, also where nobody asks for positions.
        simulation.advance(7).unwrap();
        let cell = simulation.frame(Wanted { energies: true, ..Wanted::default() }).unwrap().cell;
        assert_eq!(cell, simulation.state().unwrap().cell);
        assert!(cell.is_triclinic());
        simulation.advance(5).unwrap();
        let conserved = simulation.frame(Wanted::ALL).unwrap().energies;
        (simulation.state().unwrap(), conserved, forces)
    };
    let ((here, ours, before), (there, theirs, forces)) = (run(None), run(Some(&device)));
    let apart = difference(&forces, &before);
    println!("forces differ by {apart:.1e}");
    assert!(apart < 5e-6, "forces differ by {apart:e}");
    let apart = here.positions.iter().zip(&there.positions).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    // Forces differ by 1e-6 of 5000 kJ/mol/nm, at most some times that; ½ F t²/m of a hydrogen in 24 fs is 1e-6 nm.
    println!("positions differ by {apart:.1e} nm");
    assert!(apart < 5e-6, "positions differ by {apart:e} nm");
    let start = read_gro(&project("tests/reference/dodecahedron.gro")).unwrap().cell;
    let stretch = here.cell.stretch_since(&start).expect("the shape of the box has changed");
    assert!((stretch.x - 1.0).abs() > 1e-7, "the box has not changed");
    for (a, b) in here.cell.packed().into_iter().zip(there.cell.packed()) {
        assert!((a - b).abs() < 1e-7, "{:?} and {:?}", here.cell, there.cell);
    }
    for (a, b) in ours.iter().zip(&theirs) {
        // The pressure is a difference of large numbers: 1 bar of 1e4 in a small box.
        let tolerance = if a.unit == "bar" { 4.0 } else { 1e-5 * a.value.abs() + 1e-2 };
        assert!((a.value - b.value).abs() <= tolerance, "{}: {} and {}", a.name, a.value, b.value);
    }
}

#[test]
fn a_run_in_pieces_is_bit_for_bit_the_run_in_one() {
    let folder = temp_dir::TempDir::new().unwrap();
    let device = Device::of_tests().unwrap();
    let config =
        dodecahedron(folder.path(), "[electrostatics]\norder = 4\n[dynamics]\nsteps = 40\n[thermostat]\n[barostat]\n");
    for device in [None, Some(&device)] {
        let mut whole = Simulation::on(&config, device).unwrap();
        whole.prepare(&mut |_| Ok(())).unwrap();
        whole.advance(13).unwrap();
        let state = whole.state().unwrap();
        whole.advance(21).unwrap();
        let mut continued = Simulation::on(&config, device).unwrap();
        continued.restore(&state).unwrap();
        assert!(continued.state().unwrap() == state, "the restored state is not the saved one");
        continued.advance(21).unwrap();
        assert!(whole.state().unwrap() == continued.state().unwrap(), "the continued run differs");
        assert!(state.cell.is_triclinic() && state.cell != whole.state().unwrap().cell);
    }
}

/// Minimised, moved at constant pressure, written in every format, read again: box, energies and whole molecules are those of the run.
#[test]
fn what_a_run_writes_is_read_again() {
    let folder = temp_dir::TempDir::new().unwrap();
    let output = "folder = \"run\"\nenergy = \"40 fs\"\npositions = \"40 fs\"\nvelocities = \"40 fs\"\n\
                  full_precision = \"double\"\ntrajectory = \"40 fs\"\n";
    let sections = "[electrostatics]\norder = 12\nprecision = \"double\"\n[minimise]\nsteps = 20\n[dynamics]\nsteps = 100\n\
                    [thermostat]\n[barostat]\n";
    let config = dodecahedron(folder.path(), &format!("{sections}[output]\n{output}"));
    let mut simulation = Simulation::new(&config).unwrap();
    assert_eq!(run(&config, &mut simulation, &Stop::default(), true).unwrap(), Outcome::Finished);
    let cell = simulation.state().unwrap().cell;
    let energy = std::fs::read_to_string(config.result("energy.csv")).unwrap();
    let column = |table: &str, name: &str| -> Vec<f64> {
        let index = table.lines().next().unwrap().split(',').position(|head| head.starts_with(name)).unwrap();
        table.lines().skip(1).map(|line| line.split(',').nth(index).unwrap().parse().unwrap()).collect()
    };
    // Once the minimised structure has warmed up, the energy less the work of the baths stays: 3700 kJ/mol are kinetic.
    let conserved = column(&energy, "conserved");
    let span =
        conserved[1..].iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(*x), high.max(*x)]);
    assert!(span[1] - span[0] < 10.0, "{conserved:?}");
    let volumes = column(&energy, "volume");

    let frame = Frames::open(&config.result("trajectory.trr")).unwrap().find(None).unwrap();
    assert_eq!(frame.cell, cell, "double precision keeps the box to the last bit");
    let frame = Frames::open(&config.result("trajectory.xtc")).unwrap().find(None).unwrap();
    let last = read_gro(&config.result("final.gro")).unwrap();
    for found in [frame.cell, last.cell] {
        for (a, b) in found.packed().into_iter().zip(cell.packed()) {
            assert!((a - b).abs() < 6e-6, "{found:?} and {cell:?}");
        }
    }
    // Molecules are whole in the file, and their centres lie in the box.
    let periodic = cell.periodic().unwrap();
    for water in last.positions[..1488].chunks(3) {
        assert!(water[1..].iter().all(|h| (h - water[0]).norm() < 0.1));
        let inside = periodic.coordinates((water[0] + water[1] + water[2]) / 3.0);
        assert!(inside.iter().all(|x| (-1e-3..1.001).contains(x)), "{inside:?}");
    }

    for (file, tolerance) in [("trajectory.trr", 0.05), ("trajectory.xtc", 60.0)] {
        let mut simulation = Simulation::new(&config).unwrap();
        let result = rerun(&mut simulation, &config.result(file), None, &mut |_, _| ()).unwrap();
        assert_eq!(result.frames as usize, volumes.len());
        for (a, b) in column(&result.table, "volume").iter().zip(&volumes) {
            assert!((a - b).abs() < 1e-4, "{file}: volume {a} and {b}");
        }
        for (a, b) in column(&result.table, "potential").iter().zip(column(&energy, "potential")) {
            // Boxes of the expansions are made anew for each frame; positions of the XTC are rounded to 0.001 nm.
            assert!((a - b).abs() < tolerance, "{file}: potential {a} and {b}");
        }
    }
}

/// λ, buffers and their restraints in the skewed crystal, on the CPU and on a device.
#[test]
fn buffers_titrate_in_a_triclinic_box() {
    let folder = temp_dir::TempDir::new().unwrap();
    let device = Device::of_tests().unwrap();
    let l = read_gro(&project("inputs/01-glu/glu.gro")).unwrap().cell.edges().unwrap().x;
    let rows = [[2.0 * l, 0.0, 0.0], [l, l, 0.0], [l, 0.0, l]];
    let stem = copies(folder.path(), "inputs/01-glu/glu", "pair", &[Vector3::zeros(), Vector3::new(l, 0.0, 0.0)], rows);
    let library = project("tests/good/library/water-test.toml");
    let sections = format!(
        "[electrostatics]\nprecision = \"double\"\norder = 10\n[dynamics]\nsteps = 20\nconstraints = \"h-bonds\"\n\
         [thermostat]\n[barostat]\n[titration]\nph = 4.0\nallow_uncalibrated = true\nlibrary = [\"{}\"]\n\
         [[titration.site]]\nresidue = \"GLH\"\ninitial = 0.4\n[titration.buffer]\n",
        library.display()
    );
    let config = config(folder.path(), &stem, &sections);
    let run = |device: Option<&Device>| {
        let mut simulation = Simulation::on(&config, device).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        simulation.advance(6).unwrap();
        let charge = simulation.net_charge().unwrap();
        let frame = simulation.frame(Wanted::ALL).unwrap();
        (frame.lambda.clone(), frame.dvdl.clone(), charge, simulation.state().unwrap())
    };
    let (here, there) = (run(None), run(Some(&device)));
    println!("λ {:?} and {:?}; ∂V/∂λ {:?} and {:?}", here.0, there.0, here.1, there.1);
    assert_eq!((here.0.len(), here.0.len()), (there.0.len(), 3));
    assert!(here.2.abs() < 1e-9 && there.2.abs() < 1e-9, "net charges {:e} and {:e}", here.2, there.2);
    assert!(here.0.iter().zip(&there.0).all(|(a, b)| (a - b).abs() < 1e-5));
    // Truncation of order 10 in different boxes: 1e-4 of potentials of some 100 kJ/mol/e at a dozen charges.
    assert!(here.1.iter().zip(&there.1).all(|(a, b)| (a - b).abs() < 0.3 + 1e-3 * a.abs()));
    assert!((here.0[0] - 0.4).abs() > 1e-6);
    let held = here.3.restraint_references.iter().zip(&there.3.restraint_references);
    assert!(!here.3.restraint_references.is_empty() && held.into_iter().all(|(a, b)| (a - b).norm() < 1e-6));
}

#[test]
fn boxes_that_are_too_small_are_refused_by_name() {
    let folder = temp_dir::TempDir::new().unwrap();
    let stem = project("tests/reference/dodecahedron");
    let refused = |sections: &str, device: Option<&Device>| {
        Simulation::on(&config(folder.path(), &stem, sections), device).err().unwrap().to_string()
    };
    // Images are 2.771 nm apart, faces 1.959 nm.
    let message = refused("[van_der_waals]\ncutoff = \"1.3 nm\"\n", None);
    assert!(
        message.contains("images at a distance of 2.7710 nm") && message.contains("van_der_waals.cutoff"),
        "{message}"
    );
    let device = Device::of_tests().unwrap();
    let message = refused("[van_der_waals]\ncutoff = \"1.0 nm\"\n", Some(&device));
    assert!(message.contains("opposite faces") && message.contains("--device cpu has other limits"), "{message}");
    // A frame may have another box than the structure: one whose faces are too near, or the first one without right angles.
    let mut simulation = Simulation::on(&dodecahedron(folder.path(), ""), Some(&device)).unwrap();
    let state = simulation.state().unwrap();
    let place = |simulation: &mut Simulation, positions: &[Vector3<f64>], cell: Cell| {
        let frame = StoredFrame { positions: positions.to_vec(), cell, ..StoredFrame::default() };
        simulation.place(&frame, Path::new("frame.trr")).unwrap();
        simulation.energies().map(|_| ()).unwrap_err().to_string()
    };
    let message = place(&mut simulation, &state.positions, state.cell.scaled(0.96).unwrap());
    assert!(message.contains("opposite faces of the triclinic box are 1.8810 nm apart"), "{message}");
    let mut simulation =
        Simulation::on(&config(folder.path(), &project("inputs/03-water/water"), ""), Some(&device)).unwrap();
    let state = simulation.state().unwrap();
    let [a, b, c] = state.cell.periodic().unwrap().rows().map(Vector3::from);
    let skewed = Cell::Periodic(PeriodicBox::triclinic([a, b + a, c].map(<[f64; 3]>::from)).unwrap());
    let message = place(&mut simulation, &state.positions, skewed);
    assert!(message.contains("the box has no right angles, where the first one had"), "{message}");

    let simulation = Simulation::new(&config(folder.path(), &stem, "")).unwrap();
    let facts = simulation.describe().facts;
    let shape = &facts.iter().find(|(name, _)| name == "box").unwrap().1;
    assert!(shape.contains("angles 60.00°, 60.00°, 90.00°; images 2.771 nm apart, faces 1.959 nm"), "{shape}");
    let density: f64 =
        facts.iter().find(|(name, _)| name == "density").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    let mass: f64 = simulation.topology().masses().iter().sum();
    assert!((density - mass / (2.77101f64.powi(3) * 0.5f64.sqrt()) * units::DENSITY).abs() < 0.5, "{density}");
}
