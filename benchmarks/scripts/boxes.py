#!/usr/bin/env python3
"""The same salt water in a triclinic box and in a cube: density at 300 K and 1 bar, and drift of the energy at constant volume.

    python3 boxes.py OCTITRATE FOLDER BOX [SEEDS]

OCTITRATE: the program. FOLDER: where the systems and runs go. BOX: `dodecahedron` (496 waters, 3 Na+ and 3 Cl-) or `octahedron` (550, 3 and 3), from
tests/reference. SEEDS: how many runs of 400 ps each box gets (default 3). The cube has the same molecules, turned at random on a grid, and is minimised.
The first 40 ps of each run are left out; errors are those of the mean of blocks of 30 ps, of all runs together. The drift is the slope of `conserved` over
400 ps without baths from the last frame of the first run, with its error from eight blocks.
"""

import itertools
import math
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOB = """[system]
structure = "{structure}"
topology = "{topology}"
[neighbour_list]
buffer = "0.1 nm"
{minimise}
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
SPACING = 0.285
"""Of the grid of molecules in the cube, nm: a little wider than that of water."""
TIP3P = (0.09572, math.radians(104.52))
"""Length of O-H (nm) and angle H-O-H."""


def cube(box):
    """The molecules of a structure on a grid, in their order, as a .gro file."""
    lines = box.read_text().splitlines()[2:-1]
    molecules = [list(atoms) for _, atoms in itertools.groupby(lines, key=lambda line: line[:10])]
    draw = random.Random(5)
    edge = math.ceil(len(molecules) ** (1 / 3))
    places = list(itertools.product(range(edge), repeat=3))
    draw.shuffle(places)
    length, angle = TIP3P
    shapes = {1: [(0.0, 0.0, 0.0)], 3: [(0.0, 0.0, 0.0), (length, 0.0, 0.0), (length * math.cos(angle), length * math.sin(angle), 0.0)]}
    text = []
    for place, atoms in zip(places, molecules, strict=False):
        turn = rotation([draw.gauss(0.0, 1.0) for _ in range(4)])
        for line, at in zip(atoms, shapes[len(atoms)], strict=True):
            x = [(place[i] + 0.5) * SPACING + sum(turn[i][k] * at[k] for k in range(3)) for i in range(3)]
            text.append(line[:20] + "".join(f"{one:8.3f}" for one in x))
    return "\n".join(["salt water on a grid", f"{len(text):5d}", *text, f"{edge * SPACING:10.5f}" * 3, ""])


def rotation(quaternion):
    norm = math.hypot(*quaternion)
    w, x, y, z = (one / norm for one in quaternion)
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]


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
    name, seeds = sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 3
    folder.mkdir(parents=True, exist_ok=True)
    reference = ROOT / f"tests/reference/{name}.gro"
    (folder / "cube.gro").write_text(cube(reference))
    atoms = int(reference.read_text().splitlines()[1])
    for box, structure in {"cube": folder / "cube.gro", name: reference}.items():
        settings = {"structure": structure, "topology": reference.with_suffix(".top"), "minimise": "[minimise]" if box == "cube" else ""}
        blocks = {quantity: [] for quantity in ("density", "potential", "temperature", "pressure", "volume")}
        for seed in range(7, 7 + seeds):
            table = run(program, folder, f"{box}-{seed}", seed=seed, velocities="generate", baths=BATHS, **settings)
            for quantity, found in blocks.items():
                x = [value for time, value in zip(table["time"], table[quantity]) if time > 40]
                size = len(x) // 12
                found += [sum(x[k * size : (k + 1) * size]) / size for k in range(12)]
        for quantity, found in blocks.items():
            mean, error = with_error(found)
            print(f"{box} {quantity}: {mean:.4f} ± {error:.4f}")
        settings |= {"structure": f"{folder}/{box}-7/final.gro", "minimise": ""}
        table = run(program, folder, f"{box}-nve", seed=1, velocities="structure", baths="", **settings)
        t, y = (table[quantity][10:] for quantity in ("time", "conserved"))
        size = len(t) // 8
        drift = [slope(t[k * size : (k + 1) * size], y[k * size : (k + 1) * size]) / atoms for k in range(8)]
        print(f"{box} drift (kJ/mol/ps/atom): {slope(t, y) / atoms:.2e} ± {with_error(drift)[1]:.1e}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main()
