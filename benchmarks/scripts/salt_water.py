#!/usr/bin/env python3
"""6 740 atoms: 2 220 rigid SPC/E molecules with 40 Na+ and 40 Cl- (Joung and Cheatham 2008 for SPC/E), as GRO, TOP and jobs for octitrate.

    python3 benchmarks/scripts/salt_water.py folder [order separation precision steps]

`octitrate run folder/equilibrate.toml`, then `octitrate run folder/nve.toml`: constant energy, whose slope is the drift. Needs numpy.
"""

import pathlib
import sys

import numpy

TOP = """[ defaults ]
1 2 yes 0.5 0.8333

[ atomtypes ]
HW 1 1.008 0.0000 A 0.0 0.0
OW 8 15.9994 0.0000 A 0.31657195 0.650194
NA 11 22.9898 0.0000 A 0.21595385 1.47545
CL 17 35.453 0.0000 A 0.48304528 0.0534924

[ moleculetype ]
SOL 2

[ atoms ]
1 OW 1 SOL OW 1 -0.8476 15.9994
2 HW 1 SOL HW1 1 0.4238 1.008
3 HW 1 SOL HW2 1 0.4238 1.008

[ settles ]
1 1 0.1 0.16330

[ exclusions ]
1 2 3
2 1 3
3 1 2

[ moleculetype ]
NA 1
[ atoms ]
1 NA 1 NA NA 1 1.0 22.9898

[ moleculetype ]
CL 1
[ atoms ]
1 CL 1 CL CL 1 -1.0 35.453

[ system ]
salt water

[ molecules ]
SOL 2220
NA 40
CL 40
"""

JOB = """[system]
structure = "{structure}"
topology = "salt.top"
{more}
[dynamics]
steps = {steps}
time_step = "{dt} fs"
velocities = "{velocities}"

[electrostatics]
order = {order}
separation = {separation}
precision = "{precision}"

[output]
folder = "{folder}"
energy = "{energy} ps"
trajectory = "0 ps"
log = "0 ps"
"""


def main():
    folder = pathlib.Path(sys.argv[1])
    order, separation, precision, steps = (sys.argv[2:6] + ["10", "1.2", "single", "50000"][len(sys.argv) - 2:])[:4]
    folder.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(2)
    edge = 4.09
    cells = numpy.array([14, 13, 13])
    grid = numpy.stack(numpy.meshgrid(*[numpy.arange(c) for c in cells], indexing="ij"), axis=-1).reshape(-1, 3)
    sites = (random.permutation(grid)[:2300] + 0.5 + random.uniform(-0.03, 0.03, (2300, 3))) * edge / cells
    half, height = 0.16330 / 2, (0.01 - (0.16330 / 2) ** 2) ** 0.5
    rows = []
    for k, site in enumerate(sites):
        if k < 2220:
            basis = numpy.linalg.qr(random.normal(size=(3, 3)))[0]
            atoms = [("OW", site), ("HW1", site + height * basis[0] + half * basis[1]), ("HW2", site + height * basis[0] - half * basis[1])]
            name = "SOL"
        else:
            name = "NA" if k < 2260 else "CL"
            atoms = [(name, site)]
        for atom, x in atoms:
            rows.append(f"{k + 1:5d}{name:<5}{atom:>5}{len(rows) + 1:5d}{x[0]:10.5f}{x[1]:10.5f}{x[2]:10.5f}\n")
    text = f"salt water\n{len(rows)}\n" + "".join(rows) + " ".join([f"{edge:.5f}"] * 3) + "\n"
    (folder / "salt.gro").write_text(text)
    (folder / "salt.top").write_text(TOP)
    common = {"order": order, "separation": separation, "precision": precision}
    heat = '\n[minimise]\nsteps = 500\nforce_tolerance = "1000 kJ/mol/nm"\n\n[thermostat]\ntemperature = "300 K"\ncoupling_time = "0.1 ps"\n'
    (folder / "equilibrate.toml").write_text(JOB.format(
        structure="salt.gro", more=heat, steps=20000, dt=1, velocities="generate", folder="equilibrated", energy=1, **common))
    (folder / "nve.toml").write_text(JOB.format(
        structure="equilibrated/final.gro", more="", steps=steps, dt=2, velocities="auto", folder=f"nve_{order}_{separation}_{precision}",
        energy=0.1, **common))


main()
