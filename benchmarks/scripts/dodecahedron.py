#!/usr/bin/env python3
"""The same salt water in a rhombic dodecahedron and in a cube: density at 300 K and 1 bar, and drift of the energy at constant volume.

    python3 dodecahedron.py OCTITRATE FOLDER [SEEDS]

OCTITRATE: the program. FOLDER: where the systems and runs go. SEEDS: how many runs of 400 ps each box gets (default 3). Needs GROMACS (`gmx`),
which makes the cube: 496 waters, 3 Na+ and 3 Cl- as in tests/reference/dodecahedron.gro, minimised, 20 ps NVT and 10 ps NPT with the settings
of inputs/make. The first 40 ps of each run are left out; errors are those of the mean of blocks of 30 ps, of all runs together. The drift is the
slope of `conserved` over 400 ps without baths from the last frame of the first run, with its error from eight blocks.
"""

import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKE = ROOT / "inputs/make"
JOB = """[system]
structure = "{structure}"
topology = "{topology}"
[neighbour_list]
buffer = "0.1 nm"
[dynamics]
duration = "400 ps"
seed = {seed}
velocities = "{velocities}"
{baths}
[output]
folder = "{folder}"
energy = "0.2 ps"
trajectory = "0 ps"
"""
BATHS = '[thermostat]\ntemperature = "300 K"\n[barostat]\npressure = "1 bar"'


def gmx(folder, *words, text=None):
    subprocess.run(["gmx", "-quiet", "-nobackup", *map(str, words)], cwd=folder, input=text, text=True, check=True, capture_output=True)


def make_cube(folder):
    """cube.gro and cube.top of the same content as the dodecahedron."""
    includes = [f'#include "amber99sb-ildn.ff/{name}.itp"' for name in ("forcefield", "tip3p", "ions")]
    (folder / "system.top").write_text("\n".join([*includes, "[ system ]", "salt water", "[ molecules ]"]) + "\n")
    gmx(folder, "solvate", "-cs", "spc216.gro", "-box", 2.52, 2.52, 2.52, "-maxsol", 502, "-p", "system.top", "-o", "start.gro")
    stage(folder, "em", "start.gro", "ions", run=False)
    gmx(folder, "genion", "-s", "ions.tpr", "-p", "system.top", "-o", "start.gro", "-np", 3, "-nn", 3, "-seed", 20220503, text="SOL\n")
    stage(folder, "em", "start.gro", "em")
    stage(folder, "nvt", "em.gro", "nvt")
    stage(folder, "npt", "nvt.gro", "cube", "-t", "nvt.cpt", steps=5000)
    top = (ROOT / "tests/reference/dodecahedron.top").read_text().split("[ molecules ]")[0]
    (folder / "cube.top").write_text(f"{top}[ molecules ]\nSOL 496\nNA 3\nCL 3\n")


def stage(folder, settings, structure, name, *more, run=True, steps=None):
    grompp = ("grompp", "-maxwarn", 1, "-f", MAKE / f"{settings}.mdp", "-c", structure, "-p", "system.top", "-o", f"{name}.tpr", "-po", "out.mdp")
    gmx(folder, *grompp, *more)
    if run:
        gmx(folder, "mdrun", "-nt", 1, "-deffnm", name, *(("-nsteps", steps) if steps else ()))


def run(program, folder, name, **settings):
    job = folder / f"{name}.toml"
    job.write_text(JOB.format(folder=name, **settings))
    subprocess.run([program, "run", job, "--device", "cpu", "--threads", "1", "--quiet"], check=True)
    lines = (folder / name / "energy.csv").read_text().splitlines()
    names = [word.split(" (")[0] for word in lines[0].split(",")]
    rows = [list(map(float, line.split(","))) for line in lines[1:]]
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def with_error(values):
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((x - mean) ** 2 for x in values) / (len(values) - 1) / len(values))


def slope(t, y):
    mean_t, mean_y = sum(t) / len(t), sum(y) / len(y)
    return sum((a - mean_t) * (b - mean_y) for a, b in zip(t, y)) / sum((a - mean_t) ** 2 for a in t)


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "cube.top").exists():
        make_cube(folder)
    systems = {"cube": folder / "cube", "dodecahedron": ROOT / "tests/reference/dodecahedron"}
    for box, stem in systems.items():
        files = {"structure": f"{stem}.gro", "topology": f"{stem}.top"}
        blocks = {name: [] for name in ("density", "potential", "temperature", "pressure", "volume")}
        for seed in range(7, 7 + seeds):
            table = run(program, folder, f"{box}-{seed}", seed=seed, velocities="generate", baths=BATHS, **files)
            for name, found in blocks.items():
                x = [value for time, value in zip(table["time"], table[name]) if time > 40]
                size = len(x) // 12
                found += [sum(x[k * size : (k + 1) * size]) / size for k in range(12)]
        for name, found in blocks.items():
            mean, error = with_error(found)
            print(f"{box} {name}: {mean:.4f} ± {error:.4f}")
        files["structure"] = f"{folder}/{box}-7/final.gro"
        table = run(program, folder, f"{box}-nve", seed=1, velocities="structure", baths="", **files)
        t, y = (table[name][10:] for name in ("time", "conserved"))
        size = len(t) // 8
        drift = [slope(t[k * size : (k + 1) * size], y[k * size : (k + 1) * size]) / 1494 for k in range(8)]
        print(f"{box} drift (kJ/mol/ps/atom): {slope(t, y) / 1494:.2e} ± {with_error(drift)[1]:.1e}")


if __name__ == "__main__":
    main()
