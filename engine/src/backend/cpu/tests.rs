//! The virial along each axis against differences of the energy, of molecules that are scaled by their centres as the barostat does it.

use super::*;
use crate::config::Config;
use crate::system::System;
use std::path::{Path, PathBuf};

const SMOOTH: &str = "[van_der_waals]\ncutoff = \"0.9 nm\"\nmodifier = \"force-switch\"\n[neighbour_list]\nbuffer = \"0.1 nm\"\n\
                      [thermostat]\n[barostat]\ncoupling = \"anisotropic\"\n[dynamics]\nsteps = 2000\n\
                      [position_restraints]\nduration = \"0.02 ps\"\nfade = \"0 ps\"\n";

fn system(stem: &str, sections: &str) -> (Arc<System>, State) {
    let stem = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(stem);
    let stem = stem.display();
    let text = format!("[system]\nstructure = \"{stem}.gro\"\ntopology = \"{stem}.top\"\n{SMOOTH}{sections}");
    let (system, mut state) = System::new(&Config::parse(&text, Path::new("axes.toml")).unwrap()).unwrap();
    // Atoms that are restrained are not where their references are.
    state.positions.iter_mut().enumerate().for_each(|(i, x)| x.z += 0.01 * ((i / 3) as f64).sin());
    virtual_sites::place(&system.topology.virtual_sites, &mut state.positions);
    (Arc::new(system), state)
}

/// Every term: bonded, 1-4 pairs, Lennard-Jones and its dispersion correction, restraints, virtual sites that are no linear function of their parents (TIP5P), rigid
/// waters, bonds to hydrogen; forms that differ in Lennard-Jones types and bonded terms, with the bracket. Expansions of low order: their truncation belongs to the energy.
#[test]
fn the_virial_along_an_axis_is_the_derivative_by_its_length() {
    let library = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/good/library/glu-varied.toml");
    let varied = format!(
        "[titration]\nph = 4.0\nlibrary = [\"{}\"]\n[[titration.site]]\nresidue = \"GLH 2\"\ninitial = [0.3, 0.5, 0.2]\n",
        library.display()
    );
    for (stem, sections) in [("tests/reference/tip5p", ""), ("tests/good/glu/glu", &*varied)] {
        let fmm = "[electrostatics]\nprecision = \"double\"\norder = 6\n";
        let (system, state) = system(stem, &format!("{fmm}{sections}"));
        let mut cpu = Cpu::new(&system, &state, Biases::default()).unwrap();
        let mut potential = |axis: usize, h: f64| {
            let mut stretched = state.clone();
            let mut factors = Vector3::repeat(1.0);
            factors[axis] += h;
            let State { cell, positions, velocities, restraint_references, .. } = &mut stretched;
            barostat::stretch(factors, cell, positions, velocities, &system.masses, &system.constraints).unwrap();
            restraint_references.iter_mut().for_each(|x| x.component_mul_assign(&factors));
            virtual_sites::place(&system.topology.virtual_sites, positions);
            cpu.evaluated = false;
            let energies = cpu.evaluate(&mut stretched).unwrap();
            (energies, cpu.virial_of_molecules(&stretched).unwrap())
        };
        let (energies, virial) = potential(0, 0.0);
        assert!(energies.restraints > 0.05 && energies.dispersion < 0.0);
        for axis in 0..3 {
            // The energy of the dispersion is no function of the cut-off alone, and its virial is that of pairs: it is compared by itself.
            let mut at = |h: f64| {
                let energies = potential(axis, h).0;
                energies.potential() - energies.dispersion
            };
            let h = 1e-5;
            let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            let volume = state.cell.volume().unwrap();
            let dispersion = cpu_dispersion(&system).at_volume(volume).virial / 3.0;
            let found = virial[axis] - dispersion;
            println!("{stem}, axis {axis}: {found} {}", -slope);
            // Energies of 1e4 kJ/mol that are exact to 1e-13, over h; lattice sums of the stretched boxes are good to 1e-5 of the highest degrees.
            assert!((found + slope).abs() < 2e-3, "{stem}, axis {axis}: {found} {}", -slope);
        }
    }
}

fn cpu_dispersion(system: &System) -> forcefield::lennard_jones::DispersionCorrection {
    let settings = &system.config.van_der_waals;
    let modifier = crate::backend::terms::modifier(settings);
    forcefield::lennard_jones::DispersionCorrection::new(&system.topology, settings.cutoff.get(), modifier)
}

/// GROMACS 2022.5 in double precision, of `tests/good/glu/glu.gro`: −2 · (Vir-XX, Vir-YY, Vir-ZZ) of step 0 of a run without constraints and without `[ settles ]`, which hold no
/// force then; force switch from 0.8 to 0.9 nm, no dispersion correction, PME of order 12 with rcoulomb 1.1 nm, ewald-rtol 1e-12, spacing 0.045 nm. Another PME
/// (1.0 nm, 1e-11, 0.035 nm) differs by 2e-4 kJ/mol.
#[test]
fn the_virial_along_the_axes_is_that_of_gromacs() {
    let gromacs = Vector3::new(14194.26812, 16087.79680, 13379.28764);
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let stem = root.join("tests/good/glu/glu").display().to_string();
    let text = format!(
        "[system]\nstructure = \"{stem}.gro\"\ntopology = \"{stem}.top\"\n[electrostatics]\nprecision = \"double\"\norder = 16\ndepth = 0\n\
         [van_der_waals]\ncutoff = \"0.9 nm\"\nmodifier = \"force-switch\"\nswitch_start = \"0.8 nm\"\ndispersion_correction = false\n\
         [neighbour_list]\nbuffer = \"0.1 nm\"\n[dynamics]\nconstraints = \"none\"\n"
    );
    let (system, mut state) = System::new(&Config::parse(&text, Path::new("axes.toml")).unwrap()).unwrap();
    let mut cpu = Cpu::new(&Arc::new(system), &state, Biases::default()).unwrap();
    let energy = cpu.evaluate(&mut state).unwrap().potential();
    let weights = cpu.system.weights(&state);
    let virial = cpu.hamiltonian.virial(cpu.point(&state, &weights), &cpu.evaluation.forces).unwrap();
    println!("potential {energy}, of GROMACS -15262.80831; virial {virial:?}, of GROMACS {gromacs:?}");
    // Truncation of order 16 in boxes of 0.57 nm: 1e-6 of the forces.
    assert!((virial - gromacs).norm() < 0.05, "{virial:?}");
}

/// The sum of the three is the virial that the isotropic barostat takes, in single precision too, where sums of single terms would show.
#[test]
fn the_sum_over_the_axes_is_the_trace() {
    for precision in ["single", "double"] {
        let sections = format!("[electrostatics]\nprecision = \"{precision}\"\n");
        let (system, mut state) = system("tests/good/glu/glu", &sections);
        let mut cpu = Cpu::new(&system, &state, Biases::default()).unwrap();
        let energies = cpu.evaluate(&mut state).unwrap();
        let weights = system.weights(&state);
        let virial = cpu.hamiltonian.virial(cpu.point(&state, &weights), &cpu.evaluation.forces).unwrap();
        let apart = virial.sum() - energies.virial;
        println!("{precision}: {virial:?}, sum less trace {apart:.2e}");
        assert!(apart.abs() < 1e-8 * energies.virial.abs(), "{apart}");
    }
}
