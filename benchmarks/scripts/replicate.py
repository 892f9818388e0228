#!/usr/bin/env python3
"""Copies of the box of inputs/01-glu side by side: NX x NY x NZ glutamic acids in water, all of them titrating, and the same without sites.

    python3 benchmarks/scripts/replicate.py 3 3 3 folder        27 sites in 95 364 atoms; 7 7 6: 294 in 1 038 408

Writes folder/system.gro, system.top, sites.toml and plain.toml.
"""

import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "inputs" / "01-glu"

JOB = """[system]
structure = "system.gro"
topology = "system.top"

[dynamics]
steps = 1000
time_step = "2 fs"
constraints = "h-bonds"
velocities = "generate"

[thermostat]
temperature = "300 K"

[output]
folder = "{name}"
trajectory = "0 ps"
log = "0 ps"
"""

SITES = """
[titration]
ph = 4.25

[[titration.site]]
residue = "GLH"
"""


def main():
    nx, ny, nz = map(int, sys.argv[1:4])
    folder = pathlib.Path(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    lines = (SOURCE / "glu.gro").read_text().splitlines()
    n, rows, box = int(lines[1]), lines[2:-1], [float(v) for v in lines[-1].split()[:3]]
    width = rows[0].index(".", rows[0].index(".") + 1) - rows[0].index(".")
    split = [(row[:15], [float(row[20 + width * k:20 + width * (k + 1)]) for k in range(3)]) for row in rows]
    copies = [(i, j, k) for i in range(nx) for j in range(ny) for k in range(nz)]
    with open(folder / "system.gro", "w") as out:
        out.write(f"glutamic acids\n{n * len(copies)}\n")
        number = 0
        for copy in copies:
            for head, x in split:
                number += 1
                moved = "".join(f"{x[a] + copy[a] * box[a]:{width}.{width - 5}f}" for a in range(3))
                out.write(f"{head}{number % 100000:5d}{moved}\n")
        out.write(" ".join(f"{c * b:.5f}" for c, b in zip((nx, ny, nz), box)) + "\n")
    top = (SOURCE / "glu.top").read_text()
    head, molecules = top.split("[ molecules ]")
    entries = "\n".join(line for line in molecules.splitlines() if line.strip() and not line.strip().startswith(";"))
    (folder / "system.top").write_text(head + "[ molecules ]\n" + (entries + "\n") * len(copies))
    (folder / "plain.toml").write_text(JOB.format(name="plain"))
    (folder / "sites.toml").write_text(JOB.format(name="sites") + SITES)
    print(f"{len(copies)} sites, {n * len(copies)} atoms")


main()
