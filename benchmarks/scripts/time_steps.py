#!/usr/bin/env python3
"""How long a time step may be: a capped amino acid in vacuum by its length and the mass of hydrogens, with octitrate and with OpenMM.

    .tools/prepare/bin/python3 benchmarks/scripts/time_steps.py target/release/octitrate FOLDER [--residue PHE] [--masses 3 2 1.5]
        [--steps-of 4 4.4 4.6 4.8 4.9 5] [--thermostat [v-rescale|langevin]] [--friction 1] [--temperature 300] [--runs 3] [--steps 100000] [--openmm]

ff14SB, bonds to hydrogen fixed. Without --thermostat velocities are drawn at twice the temperature at a minimum, so that there is no bath, and the line
says the mean slope of the energy after the first tenth (kJ/mol/ps, with the error of the mean of the runs) and which runs failed, after how many ps. With
--thermostat it is v-rescale of 0.1 ps, or Langevin dynamics of --friction (1/ps), and the line says whether runs failed, and the mean temperature and energy of
bonds after the first tenth. --openmm: the same masses and steps with OpenMM's Reference platform, Verlet
and LangevinMiddle of 1/ps and 0.1/ps, from 10 ps with 2 fs. Needs OpenMM and PDBFixer (`make prepare-tools`).
"""

import argparse
import csv
import pathlib
import statistics
import subprocess
import sys

import numpy
import openmm
from openmm import app

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
from octitrate.peptide import peptide  # noqa: E402

JOB = """[system]
structure = "s.gro"
topology = "system.xml"
[electrostatics]
boundary = "open"
[van_der_waals]
cutoff = "5 nm"
modifier = "none"
dispersion_correction = false
[minimise]
[dynamics]
steps = {steps}
time_step = "{dt} fs"
hydrogen_mass = "{mass} u"
velocity_temperature = "{start} K"
seed = {seed}
{bath}[output]
folder = "{name}"
trajectory = "0 ps"
lambda = "0 ps"
energy = "{every} ps"
log = "{every} ps"
"""


def make(residue, folder):
    """The capped residue, its system as OpenMM has it, and its positions (nm)."""
    field = app.ForceField("amber14-all.xml")
    model = peptide(["ACE", residue, "NME"])
    model.addHydrogens(field)
    system = field.createSystem(model.topology, nonbondedMethod=app.NoCutoff, constraints=app.HBonds)
    for k in reversed(range(system.getNumForces())):
        if isinstance(system.getForce(k), openmm.CMMotionRemover):
            system.removeForce(k)
    (folder / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    x = numpy.array(model.positions.value_in_unit(openmm.unit.nanometer)) + 2.0
    atoms = list(model.topology.atoms())
    rows = [f"{a.residue.index + 1:5d}{a.residue.name:<5s}{a.name:>5s}{k + 1:5d}{p[0]:8.3f}{p[1]:8.3f}{p[2]:8.3f}" for k, (a, p) in enumerate(zip(atoms, x))]
    (folder / "s.gro").write_text("\n".join([residue, str(len(rows)), *rows, "4.0 4.0 4.0", ""]))
    return system, x


def ours(program, folder, dt, mass, seed, options):
    """Slope of the energy (kJ/mol/ps), the time (ps) at which the run failed, if it did, and mean temperature (K) and energy of bonds (kJ/mol)."""
    name = f"m{mass}_{dt}_{seed}"
    bath = f'[thermostat]\ntemperature = "{options.temperature} K"\nkind = "{options.thermostat}"\n' if options.thermostat else ""
    if options.thermostat == "langevin":
        bath += f'friction = "{options.friction} /ps"\n'
    start = options.temperature if options.thermostat else 2 * options.temperature
    every = round(dt, 6)
    text = JOB.format(steps=options.steps, dt=dt, mass=mass, seed=seed, name=name, bath=bath, start=start, every=every)
    (folder / f"{name}.toml").write_text(text)
    command = [program, "run", f"{name}.toml", "--threads", "1", "--device", "cpu", "--force"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    with open(folder / name / "energy.csv", newline="") as lines:
        heading, *rows = csv.reader(lines)
    column = next(k for k, text in enumerate(heading) if text.startswith("conserved"))
    first, last = rows[len(rows) // 10], rows[-1]
    time = float(last[0]) - float(first[0])
    slope = (float(last[column]) - float(first[column])) / time if time > 0 else float("nan")
    settled = rows[len(rows) // 10 :]
    means = [statistics.mean(float(row[next(k for k, text in enumerate(heading) if text.startswith(name))]) for row in settled) for name in ("temperature", "bonds")]
    return slope, float(last[0]) if done.returncode else None, means


def theirs(system, x, dt, mass, friction, seed, steps):
    """What OpenMM does: "holds" and the mean temperature, or when it failed."""
    heavy = openmm.XmlSerializer.deserialize(openmm.XmlSerializer.serialize(system))
    masses = [heavy.getParticleMass(k)._value for k in range(heavy.getNumParticles())]
    for k in range(heavy.getNumConstraints()):
        a, b, _ = heavy.getConstraintParameters(k)
        hydrogen, other = (a, b) if masses[a] < masses[b] else (b, a)
        masses[other] -= mass - masses[hydrogen]
        masses[hydrogen] = mass
    for k, m in enumerate(masses):
        heavy.setParticleMass(k, m)

    def context(integrator):
        integrator.setConstraintTolerance(1e-8)
        return openmm.Context(heavy, integrator, openmm.Platform.getPlatformByName("Reference"))

    def langevin(friction, dt):
        integrator = openmm.LangevinMiddleIntegrator(300, friction, dt)
        integrator.setRandomNumberSeed(seed)
        return integrator

    start = context(langevin(1.0, 0.002))
    start.setPositions(x)
    openmm.LocalEnergyMinimizer.minimize(start)
    start.setVelocitiesToTemperature(300, seed)
    start.getIntegrator().step(5000)
    state = start.getState(getPositions=True, getVelocities=True)
    run = context(langevin(friction, 1e-3 * dt) if friction else openmm.VerletIntegrator(1e-3 * dt))
    run.setPositions(state.getPositions())
    run.setVelocities(state.getVelocities())
    energies = []
    for part in range(steps // 500):
        try:
            run.getIntegrator().step(500)
            state = run.getState(getEnergy=True)
            kinetic = state.getKineticEnergy()._value
        except openmm.OpenMMException:
            kinetic = float("nan")
        if not kinetic < 1e4:
            return f"fails at {0.5 * (part + 1) * dt:.0f} ps"
        energies.append(kinetic + state.getPotentialEnergy()._value)
    slope = numpy.polyfit(numpy.arange(len(energies)) * 0.5 * dt, energies, 1)[0]
    return "holds" if friction else f"{slope:+.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--residue", default="PHE")
    parser.add_argument("--masses", type=float, nargs="+", default=[3, 2, 1.5])
    parser.add_argument("--steps-of", type=float, nargs="+", default=[4, 4.4, 4.6, 4.8, 4.9, 5])
    parser.add_argument("--temperature", type=float, default=300)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--thermostat", nargs="?", const="v-rescale", choices=["v-rescale", "langevin"])
    parser.add_argument("--friction", type=float, default=1)
    parser.add_argument("--openmm", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    program = str(pathlib.Path(options.program).resolve())
    system, x = make(options.residue, options.folder)
    for mass in options.masses:
        for dt in options.steps_of:
            runs = [ours(program, options.folder, dt, mass, seed, options) for seed in range(1, options.runs + 1)]
            slopes, failed = [slope for slope, _, _ in runs], [f"{time:.0f}" for _, time, _ in runs if time is not None]
            error = statistics.stdev(slopes) / len(slopes) ** 0.5 if len(slopes) > 1 else float("nan")
            line = f"{mass} u, {dt} fs: {statistics.mean(slopes):+.3f} ± {error:.3f} kJ/mol/ps, failed after {', '.join(failed) or '-'} ps"
            if options.thermostat:
                line += "; " + ", ".join(f"{kelvin:.1f} K, bonds {bonds:.1f} kJ/mol" for _, _, (kelvin, bonds) in runs)
            if options.openmm:
                found = [theirs(system, x, dt, mass, friction, seed, options.steps) for friction, seed in ((0, 1), (0, 2), (0.1, 3), (1.0, 1), (1.0, 2))]
                line += f"; OpenMM Verlet {found[0]}, {found[1]}, Langevin 0.1/ps {found[2]}, 1/ps {found[3]}, {found[4]}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
