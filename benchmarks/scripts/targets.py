#!/usr/bin/env python3
"""Speed of the systems that octitrate is measured by, each beside OpenMM with PME where it can run it, one after the other on one GPU.

    octitrate prepare 2lzt.pdb --force-field amber99sb-ildn --box cubic --padding 1.1 --salt 0.1 \\
        --ph-range 0:14 --sites "GLU,ASP,HIS,LYS 13,LYS 33,LYS 96,LYS 97,LYS 116,ARG,TYR,cterm" -o FOLDER/lyz-cubic      # and --box dodecahedron -o FOLDER/lyz-dodecahedron
    python3 benchmarks/scripts/targets.py octitrate FOLDER --device cuda:0 [--rows water,dhfr,lysozyme,compound] [--large]

FOLDER/dhfr holds dhfr.gro and dhfr.top (OpenMM's 5dfr_solv-cube_equil.pdb with ff14SB and TIP3P); boxes of water are made here. A system is minimised
and runs for 16 ps at 300 K first. Order 8 with separation 1.12, which `octitrate prepare` writes; proteins with steps of 4 fs, hydrogens of 3 u and a barostat;
water at constant volume with steps of 2 fs. Milliseconds are medians of five parts of `octitrate bench md`, and of five of OpenMM's. Needs numpy; OpenMM (PyPI openmm,
openmm-cuda-13) where it is to be measured.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FMM = '[electrostatics]\norder = 8\nseparation = 1.12\n'
BATHS = '[thermostat]\nkind = "{kind}"\n{more}temperature = "300 K"\n\n[barostat]\npressure = "1 bar"\n'
HEAVY = 'time_step = "4 fs"\nhydrogen_mass = "3 u"\n'


def octitrate(arguments, *words):
    """Standard output of the program; where it fails what it says, and the end of this."""
    found = subprocess.run([arguments.octitrate, *map(str, words), "--device", arguments.device], capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {found.stderr}")
    return found.stdout


def bench(arguments, name, job, steps, copies=1):
    """One line of the table."""
    row = json.loads(octitrate(arguments, "bench", "md", job, "--steps", steps, "--replicas", copies, "--json"))
    row = row[0] if isinstance(row, list) else row
    print(f"| {name} | {copies} | {row['ms_per_step']:.4f} | {row['ns_per_day']:.0f} |", flush=True)


def equilibrated(arguments, folder, structure, topology, sections, steps=4000):
    """Minimises and runs 16 ps; the structure at the end."""
    end = folder / "equilibrated" / "final.gro"
    if not end.exists():
        job = folder / "equilibrate.toml"
        job.write_text(f'[system]\nstructure = "{structure}"\ntopology = "{topology}"\n\n[minimise]\nsteps = 500\n\n[dynamics]\nsteps = {steps}\n{sections}'
                       '\n[output]\nfolder = "equilibrated"\ntrajectory = "0 ps"\n')
        octitrate(arguments, "run", "--quiet", job)
    return end


def openmm_of(name, x, system, dt, steps):
    """OpenMM's line of the same system: CUDA, mixed precision, LangevinMiddle of 1/ps."""
    import openmm
    from openmm import unit

    integrator = openmm.LangevinMiddleIntegrator(300, 1.0, dt)
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName("CUDA"), {"Precision": "mixed"})
    context.setPositions(x)
    openmm.LocalEnergyMinimizer.minimize(context, 100, 100)
    context.setVelocitiesToTemperature(300, 1)
    integrator.step(1000)
    context.getState(getEnergy=True)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        integrator.step(steps // 5)
        context.getState(getEnergy=True)
        times.append((time.perf_counter() - start) / (steps // 5))
    median = statistics.median(times)
    print(f"| OpenMM: {name} | 1 | {1e3 * median:.4f} | {86.4 * dt / median:.0f} |", flush=True)


def water(arguments, folder):
    """Boxes of TIP3P."""
    for n, steps in [(25, 5000), (32, 4000)] + ([(69, 1000)] if arguments.large else []):
        place = folder / f"water-{n}"
        if not (place / "equilibrated" / "final.gro").exists():
            subprocess.run([sys.executable, HERE / "water_box.py", str(n), place], check=True, capture_output=True)
            octitrate(arguments, "run", "--quiet", place / "equilibrate.toml")
        bench(arguments, f"TIP3P, {3 * n**3} atoms, 2 fs", place / "run.toml", steps)
        if arguments.openmm and n < 69:
            said = subprocess.run([sys.executable, HERE / "openmm_pme.py", place / "equilibrated" / "final.gro", "CUDA", "2000"],
                                  capture_output=True, text=True)
            print(said.stdout.strip() or said.stderr[-300:], flush=True)


def dhfr(arguments, folder):
    """DHFR, alone and in copies."""
    place = folder / "dhfr"
    start = equilibrated(arguments, place, "dhfr.gro", "dhfr.top",
                         'time_step = "2 fs"\nconstraints = "h-bonds"\n\n' + BATHS.format(kind="v-rescale", more=""))
    for kind, more in [("v-rescale", ""), ("langevin", 'friction = "1 /ps"\n')]:
        job = place / f"{kind}.toml"
        job.write_text(f'[system]\nstructure = "{start.relative_to(place)}"\ntopology = "dhfr.top"\n\n{FMM}\n[dynamics]\nsteps = 100000\n{HEAVY}constraints = "h-bonds"\n\n'
                       + BATHS.format(kind=kind, more=more))
        bench(arguments, f"DHFR, 23 558 atoms, {kind}", job, 5000)
    bench(arguments, "DHFR, in all", place / "langevin.toml", 1000, 32)
    if arguments.openmm:
        from openmm import MonteCarloBarostat, app, unit

        gro = app.GromacsGroFile(str(start))
        top = app.GromacsTopFile(str(place / "dhfr.top"), periodicBoxVectors=gro.getPeriodicBoxVectors())
        system = top.createSystem(nonbondedMethod=app.PME, nonbondedCutoff=1 * unit.nanometer, constraints=app.HBonds, rigidWater=True,
                                  hydrogenMass=3 * unit.amu)
        system.addForce(MonteCarloBarostat(1 * unit.bar, 300 * unit.kelvin, 25))
        openmm_of("DHFR, 4 fs", gro.positions, system, 0.004, 5000)


def without_sections(text, *names):
    """A job without these sections, which are paragraphs."""
    paragraphs = [part for part in text.split("\n\n") if not re.match(r"\[\[?(" + "|".join(names) + r")\b", part.lstrip())]
    return "\n\n".join(paragraphs) + "\n"


def lysozyme(arguments, folder):
    """Lysozyme with every group titrating: alone, without titration, in copies, in both boxes."""
    for box in ["cubic", "dodecahedron"]:
        place = folder / f"lyz-{box}"
        prepared = without_sections((place / "titrate.toml").read_text(), "titrate", "output", "position_restraints", "minimise", "thermostat", "barostat")
        prepared = re.sub(r'duration = "[^"]*"[^\n]*', "steps = 100000", prepared)
        # A speed does not depend on V_MM, which some of the groups have not.
        known = "" if "allow_uncalibrated" in prepared else "allow_uncalibrated = true\n"
        prepared = prepared.replace("[titration]\n", "[titration]\nph = 7.0\n" + known, 1)
        plain = without_sections(prepared, "titration")
        start = equilibrated(arguments, place, "system.gro", "system.xml", 'time_step = "2 fs"\n\n' + BATHS.format(kind="v-rescale", more=""))
        for name, text, kind, more in [("titrating", prepared, "v-rescale", ""), ("titrating, Langevin", prepared, "langevin", 'friction = "1 /ps"\n'),
                                       ("without titration", plain, "v-rescale", "")]:
            job = place / f"{name.split()[0].strip(',')}-{kind}.toml"
            job.write_text(text.replace('"system.gro"', f'"{start.relative_to(place)}"') + "\n" + BATHS.format(kind=kind, more=more))
            bench(arguments, f"lysozyme, {box}, {name}", job, 4000)
        bench(arguments, f"lysozyme, {box}, titrating, in all", place / "titrating-langevin.toml", 1000, 18)
        if arguments.openmm:
            import openmm
            from openmm import app

            system = openmm.XmlSerializer.deserialize((place / "system.xml").read_text())
            pairs = [system.getConstraintParameters(index)[:2] for index in range(system.getNumConstraints())]
            mass = [system.getParticleMass(k)._value for k in range(system.getNumParticles())]
            # Water stays as it is: its hydrogens are those that a constraint joins to each other. Hydroxyl groups do not.
            of_water = {k for i, j in pairs if mass[i] < 1.5 and mass[j] < 1.5 for k in (i, j)}
            for i, j in pairs:
                light, heavy = (i, j) if mass[i] < mass[j] else (j, i)
                if mass[light] < 1.5 and light not in of_water:
                    system.setParticleMass(light, 3.0)
                    system.setParticleMass(heavy, system.getParticleMass(heavy)._value + mass[light] - 3.0)
            for force in system.getForces():
                if isinstance(force, openmm.NonbondedForce):
                    force.setNonbondedMethod(openmm.NonbondedForce.PME)
                    force.setCutoffDistance(1.0)
            system.addForce(openmm.MonteCarloBarostat(1, 300, 25))
            gro = app.GromacsGroFile(str(start))
            system.setDefaultPeriodicBoxVectors(*gro.getPeriodicBoxVectors())
            openmm_of(f"lysozyme, {box}, 4 fs, without titration", gro.positions, system, 0.004, 5000)


def compound(arguments, folder):
    """32 model compounds with their charge buffer."""
    place = folder / "compound"
    place.mkdir(parents=True, exist_ok=True)
    job = ((ROOT / "inputs/09-glu3/titrate.toml").read_text().replace('"glu3.', f'"{ROOT}/inputs/09-glu3/glu3.'))
    text = without_sections(job, "titrate", "output").replace("[titration]\n", "[titration]\nph = 4.25\n", 1)
    for dt in [2, 4]:
        heavy = f'time_step = "{dt} fs"' + ('\nhydrogen_mass = "3 u"' if dt == 4 else "")
        path = place / f"compound-{dt}.toml"
        path.write_text(FMM + "\n" + text.replace('time_step = "2 fs"', heavy))
        bench(arguments, f"model compound, 3 524 atoms, {dt} fs, in all", path, 2000, 32)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("octitrate")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", default="dhfr,lysozyme,compound,water")
    parser.add_argument("--large", action="store_true", help="the box of 985 527 atoms, too")
    parser.add_argument("--openmm", action="store_true", help="OpenMM beside it")
    arguments = parser.parse_args()
    print("| system | copies | ms a step | ns/day |\n|---|---|---|---|")
    for row in arguments.rows.split(","):
        {"water": water, "dhfr": dhfr, "lysozyme": lysozyme, "compound": compound}[row](arguments, arguments.folder.resolve())


if __name__ == "__main__":
    main()
