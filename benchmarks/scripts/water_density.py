#!/usr/bin/env python3
"""Density of OPC and TIP4P-Ew water at constant pressure, by octitrate (FMM, C-rescale) and by OpenMM (PME, Monte Carlo barostat).

    python3 benchmarks/scripts/water_density.py build FOLDER [--edge 4.5]
    python3 benchmarks/scripts/water_density.py run FOLDER --octitrate target/release/octitrate [--device cuda:0] [--length "400 ps"]

`build` writes a box of each water, as `octitrate prepare` writes its systems, packed; it needs OpenMM and the Python package of octitrate. `run` needs the packed
files of FOLDER, OpenMM, numpy and the program. Both programs get the same file with the same cut-off of Lennard-Jones interactions (1 nm) and the same correction for
dispersion beyond it, rigid molecules, a Langevin thermostat with a friction of 1/ps, and first 200 ps that are left out. octitrate has the FMM of the jobs of
`octitrate prepare` (order 8, separation 1.12), OpenMM a PME whose error tolerance is 1e-5. Errors are standard errors of ten blocks. FOLDER/density.csv keeps a line
for each run, and a run that has its line is not done again.
"""

import argparse
import csv
import gzip
import pathlib
import subprocess
import sys
import time

import numpy

WATERS = {"opc": "ff19SB", "tip4pew": "ff19SB"}
"""Water models, each with a force field of octitrate that goes with it; no atom of that is in the box."""

TEMPERATURE = 300.0  # K
PRESSURE = 1.0  # bar
FRICTION = 1.0  # 1/ps
SAMPLE = 0.5  # ps between two volumes
BLOCKS = 10
TOLERANCE = 1e-5  # of OpenMM's PME
DENSITY = 1.66053906660  # kg/m³ of 1 u/nm³

JOB = """[system]
structure = "system.gro"
topology = "system.xml"

[van_der_waals]
cutoff = "1 nm"
modifier = "potential-shift"
dispersion_correction = true

[minimise]

[dynamics]
duration = "{duration:g} ps"
time_step = "{step:g} fs"
seed = {seed}

[thermostat]
kind = "langevin"
friction = "{friction:g} /ps"
temperature = "{temperature:g} K"

[electrostatics]
order = {order}
separation = {separation:g}

[barostat]
pressure = "{pressure:g} bar"

[output]
energy = "{sample:g} ps"
folder = "{folder}"
"""


def build(place, edge):
    """Writes system.xml.gz and system.gro.gz of every water."""
    import openmm
    from octitrate.prepare import solvate, structure
    from octitrate.prepare.build import Model
    from octitrate.prepare.options import Options
    from octitrate.prepare.report import Report
    from octitrate.residues import TitratableForceField
    from openmm import app, unit

    for water, family in WATERS.items():
        ff = TitratableForceField(family, water)
        modeller = app.Modeller(app.Topology(), [] * unit.nanometer)
        modeller.addSolvent(ff.forcefield, model=ff.water_model, boxSize=openmm.Vec3(edge, edge, edge) * unit.nanometer, neutralize=False)
        options = Options(input=pathlib.Path(water), force_field=family, water=water)
        model = Model(modeller.topology, numpy.array(modeller.positions.value_in_unit(unit.nanometer)))
        solvated = solvate.parametrise(model, ff, options, Report())
        solvate.relax(solvated, Report())
        folder = place / water
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("system.xml", openmm.XmlSerializer.serialize(solvated.system)), ("system.gro", structure.gro(f"{water} water", solvated.model))):
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{folder}: {modeller.topology.getNumResidues()} molecules, {modeller.topology.getNumAtoms()} particles")


def unpack(folder):
    """The files of a water as they are read."""
    for name in ("system.xml", "system.gro"):
        if not (folder / name).exists():
            (folder / name).write_bytes(gzip.decompress((folder / f"{name}.gz").read_bytes()))


def mass(folder):
    """Mass of everything in a box (u)."""
    import openmm

    system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
    return sum(system.getParticleMass(k)._value for k in range(system.getNumParticles()))


def with_octitrate(folder, length, options):
    """Volumes (nm³) of a run of octitrate, and the device as it says it."""
    name = f"octitrate-{options.order}-{options.step:g}fs-{length:g}ps-{options.seed}"
    text = JOB.format(
        duration=options.equilibration + length, step=options.step, seed=options.seed, friction=FRICTION, temperature=TEMPERATURE, order=options.order,
        separation=options.separation, pressure=PRESSURE, sample=SAMPLE, folder=name,
    )  # fmt: skip
    job = folder / f"{name}.toml"
    job.write_text(text)
    device = ["--device", options.device] if options.device else []
    subprocess.run([options.octitrate, "run", "--quiet", str(job), *device], check=True)
    with open(folder / name / "energy.csv", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    times, volumes = (numpy.array([float(row[key]) for row in rows]) for key in ("time (ps)", "volume (nm³)"))
    return volumes[times > options.equilibration + 1e-6], f"octitrate order {options.order} {options.device or 'CPU'}"


def with_openmm(folder, length, options):
    """Volumes (nm³) of a run of OpenMM, and its platform."""
    import openmm
    from openmm import unit

    system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
    force = next(one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
    assert force.getNonbondedMethod() == openmm.NonbondedForce.PME and force.getUseDispersionCorrection() and not force.getUseSwitchingFunction()
    assert abs(force.getCutoffDistance()._value - 1.0) < 1e-9
    force.setEwaldErrorTolerance(TOLERANCE)
    barostat = openmm.MonteCarloBarostat(PRESSURE * unit.bar, TEMPERATURE * unit.kelvin, 25)
    barostat.setRandomNumberSeed(options.seed)
    system.addForce(barostat)
    integrator = openmm.LangevinMiddleIntegrator(TEMPERATURE * unit.kelvin, FRICTION / unit.picosecond, options.step * unit.femtosecond)
    integrator.setRandomNumberSeed(options.seed)
    integrator.setConstraintTolerance(1e-6)
    there = [openmm.Platform.getPlatform(k).getName() for k in range(openmm.Platform.getNumPlatforms())]
    platform = next(name for name in ("CUDA", "OpenCL", "CPU") if name in there)
    properties = {} if platform == "CPU" else {"Precision": "mixed"}
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName(platform), properties)
    context.setPositions(positions(folder / "system.gro"))
    context.computeVirtualSites()
    context.applyConstraints(1e-6)
    context.setVelocitiesToTemperature(TEMPERATURE * unit.kelvin, options.seed)
    every = round(1000 * SAMPLE / options.step)
    integrator.step(round(1000 * options.equilibration / options.step))
    volumes = []
    for _ in range(round(length / SAMPLE)):
        integrator.step(every)
        volumes.append(context.getState().getPeriodicBoxVolume()._value)
    return numpy.array(volumes), f"OpenMM {openmm.version.short_version} PME {platform}"


def positions(path):
    """Positions (nm) of a .gro file, of any number of decimals."""
    rows = path.read_text().splitlines()[2:-1]
    width = rows[0].index(".", rows[0].index(".") + 1) - rows[0].index(".")
    return numpy.array([[float(row[20 + width * k : 20 + width * (k + 1)]) for k in range(3)] for row in rows])


def blocks(values):
    """Mean and standard error by blocks."""
    means = numpy.array([part.mean() for part in numpy.array_split(values, BLOCKS)])
    return means.mean(), means.std(ddof=1) / BLOCKS**0.5


def picoseconds(text):
    """A length as octitrate has it, in ps."""
    number, unit = text.split()
    return float(number) * {"ps": 1.0, "ns": 1000.0}[unit]


def run(place, options):
    """Runs what has no line yet, and prints all lines."""
    table = place / "density.csv"
    head = ["water", "program", "time step (fs)", "length (ps)", "seed", "density (kg/m3)", "standard error", "standard deviation", "seconds"]
    rows = list(csv.reader(table.open()))[1:] if table.exists() else []
    length = options.length
    for water in options.waters.split(","):
        folder = place / water
        unpack(folder)
        for program in options.programs.split(","):
            known = [f"{options.step:g}", f"{length:g}", str(options.seed)]
            wanted = f"octitrate order {options.order}" if program == "octitrate" else "OpenMM"
            if any(row[0] == water and row[1].startswith(f"{wanted} ") and row[2:5] == known for row in rows):
                continue
            began = time.perf_counter()
            volumes, called = (with_octitrate if program == "octitrate" else with_openmm)(folder, length, options)
            densities = DENSITY * mass(folder) / volumes
            mean, error = blocks(densities)
            rows.append([water, called, *known, f"{mean:.2f}", f"{error:.2f}", f"{densities.std():.2f}", f"{time.perf_counter() - began:.0f}"])
            with table.open("w", newline="") as out:
                csv.writer(out).writerows([head, *rows])
            print(*rows[-1], flush=True)
    print()
    for row in rows:
        print(f"{row[0]:<8} {row[1]:<32} {row[5]:>8} ± {row[6]} kg/m³ ({row[3]} ps, {row[2]} fs, seed {row[4]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("do", choices=["build", "run"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--edge", type=float, default=4.5, help="of the box that is built (nm)")
    parser.add_argument("--octitrate", default="octitrate", help="the program")
    parser.add_argument("--device", help="as octitrate takes it; OpenMM takes CUDA if it has it")
    parser.add_argument("--length", type=picoseconds, default="400 ps", help="beyond the equilibration")
    parser.add_argument("--equilibration", type=picoseconds, default="200 ps", help="what is left out")
    parser.add_argument("--step", type=float, default=2.0, help="time step (fs)")
    parser.add_argument("--order", type=int, default=8)
    parser.add_argument("--separation", type=float, default=1.12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--waters", default=",".join(WATERS))
    parser.add_argument("--programs", default="octitrate,openmm")
    options = parser.parse_args()
    if options.do == "build":
        build(options.folder, options.edge)
        return
    run(options.folder, options)


if __name__ == "__main__":
    sys.exit(main())
