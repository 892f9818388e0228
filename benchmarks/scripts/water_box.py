#!/usr/bin/env python3
"""Box of n^3 rigid TIP3P molecules, 33.3 per nm^3, turned at random on a jittered lattice: GRO, TOP and a job for octitrate.

    python3 benchmarks/scripts/water_box.py 25 folder        46 875 atoms; 32: 98 304; 69: 985 527

The job minimises, then runs 300 K dynamics; `octitrate run folder/equilibrate.toml` leaves folder/equilibrated/final.gro,
which `folder/run.toml` and benchmarks/scripts/openmm_pme.py start from. Needs numpy.
"""

import pathlib
import sys

import numpy

TOP = """[ defaults ]
1 2 yes 0.5 0.8333

[ atomtypes ]
HW 1 1.008 0.0000 A 0.00000e+00 0.00000e+00
OW 8 16.00 0.0000 A 3.15061e-01 6.36386e-01

[ moleculetype ]
SOL 2

[ atoms ]
1 OW 1 SOL OW 1 -0.834 16.00000
2 HW 1 SOL HW1 1 0.417 1.00800
3 HW 1 SOL HW2 1 0.417 1.00800

[ settles ]
1 1 0.09572 0.15139

[ exclusions ]
1 2 3
2 1 3
3 1 2

[ system ]
TIP3P water

[ molecules ]
SOL {}
"""

JOB = """[system]
structure = "{structure}"
topology = "water.top"
{minimise}
[dynamics]
steps = {steps}
time_step = "{dt} fs"
velocities = "{velocities}"

[electrostatics]
order = {order}
separation = {separation}

[thermostat]
temperature = "300 K"
coupling_time = "{tau} ps"

[output]
folder = "{folder}"
energy = "{energy} ps"
trajectory = "0 ps"
log = "0 ps"
"""


def main():
    n, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    order = sys.argv[3] if len(sys.argv) > 3 else "8"
    separation = sys.argv[4] if len(sys.argv) > 4 else "1.12"
    folder.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(1)
    spacing = (3.0 / 100.0) ** (1.0 / 3.0)
    grid = numpy.stack(numpy.meshgrid(*[numpy.arange(n)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    oxygen = (grid + 0.5 + random.uniform(-0.05, 0.05, grid.shape)) * spacing
    quaternion = random.normal(size=(len(grid), 4))
    quaternion /= numpy.linalg.norm(quaternion, axis=1)[:, None]
    w, x, y, z = quaternion.T
    e1 = numpy.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=1)
    e2 = numpy.stack([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)], axis=1)
    half = 0.15139 / 2
    height = numpy.sqrt(0.09572**2 - half**2)
    atoms = numpy.stack([oxygen, oxygen + height * e1 + half * e2, oxygen + height * e1 - half * e2], axis=1)
    with open(folder / "water.gro", "w") as out:
        out.write(f"TIP3P water\n{3 * len(atoms)}\n")
        names = ["OW", "HW1", "HW2"]
        lines = []
        for molecule, sites in enumerate(atoms):
            for k in range(3):
                a, b, c = sites[k]
                number = (3 * molecule + k + 1) % 100000
                lines.append(f"{(molecule + 1) % 100000:5d}{'SOL':<5}{names[k]:>5}{number:5d}{a:10.5f}{b:10.5f}{c:10.5f}\n")
        out.writelines(lines)
        out.write(" ".join([f"{n * spacing:.5f}"] * 3) + "\n")
    (folder / "water.top").write_text(TOP.format(len(atoms)))
    common = {"order": order, "separation": separation}
    minimise = '\n[minimise]\nsteps = 100\nforce_tolerance = "1000 kJ/mol/nm"\n'
    (folder / "equilibrate.toml").write_text(JOB.format(
        structure="water.gro", minimise=minimise, steps=4000, dt=1, velocities="generate", tau=0.05, folder="equilibrated", energy=0.5, **common))
    (folder / "run.toml").write_text(JOB.format(
        structure="equilibrated/final.gro", minimise="", steps=5000, dt=2, velocities="auto", tau=0.1, folder="run", energy=1, **common))


main()
