#!/usr/bin/env python3
"""Copies of the box of inputs/09-glu3 side by side: N x N x N glutamic acids in water, all of them titrating, and the same without sites.

    python3 benchmarks/scripts/replicate.py 3 folder                   27 sites in 95 148 atoms
    python3 benchmarks/scripts/replicate.py 8 folder --edge 2.72       512 sites in 993 280 atoms: each in a smaller cube of its water
    octitrate run folder/equilibrate.toml --device cuda:0
    octitrate bench md folder/sites.toml --steps 4000 --device cuda:0  # and plain.toml

Writes folder/system.gro, system.top and the three jobs. Of a smaller cube waters at its faces that would overlap with those of the next one are left out; the
equilibration closes the gaps (8 ps at 1 bar after a minimisation, without titration). Needs numpy.
"""

import argparse
import itertools
import pathlib

import numpy

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "inputs" / "09-glu3"
# Two oxygens of water nearer than that (nm) overlap.
OVERLAP = 0.20

SYSTEM = '[system]\nstructure = "{structure}"\ntopology = "system.top"\n\n[electrostatics]\norder = 8\nseparation = 1.12\n\n'
DYNAMICS = '[dynamics]\nsteps = {steps}\ntime_step = "2 fs"\nconstraints = "h-bonds"\n{more}\n[thermostat]\ntemperature = "300 K"\n\n'
OUTPUT = '[output]\nfolder = "{folder}"\ntrajectory = "0 ps"\nlog = "0 ps"\n'
SITES = '[titration]\nph = 4.25\nbarrier = "2.5 kJ/mol"\n\n[[titration.site]]\nresidue = "GL3"\n\n[titration.buffer]\n\n'


def cut(rows, x, edge, new):
    """Rows of the solute, and of the waters within a cube of edge `new` around it, of a periodic box of `edge`; positions x (nm) from its corner."""
    solute = [k for k, row in enumerate(rows) if row[5:8] != "SOL"]
    centre = (x[solute].min(0) + x[solute].max(0)) / 2
    waters = numpy.arange(len(solute), len(rows), 3)
    for k in waters:
        x[k : k + 3] -= edge * numpy.round((x[k] - centre) / edge)
    waters = waters[(numpy.abs(x[waters] - centre) < new / 2).all(1)]
    d = x[waters][:, None] - x[waters][None]
    d -= new * numpy.round(d / new)
    gone = set()
    for i, j in zip(*numpy.nonzero(numpy.triu((d**2).sum(-1) < OVERLAP**2, 1))):
        if i not in gone:
            gone.add(j)
    kept = [k + a for m, k in enumerate(waters) if m not in gone for a in range(3)]
    order = solute + kept
    return order, len(solute), x[order] - centre + new / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("copies", type=int, help="along each axis")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--edge", type=float, help="of the cube around each, nm; that of the input unless given")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    lines = (SOURCE / "glu3.gro").read_text().splitlines()
    rows, edge = lines[2:-1], float(lines[-1].split()[0])
    x = numpy.array([[float(row[20 + 8 * c : 28 + 8 * c]) for c in range(3)] for row in rows])
    new, n = arguments.edge or edge, arguments.copies
    order, solute, y = cut(rows, x, edge, new)
    with open(arguments.folder / "system.gro", "w") as out:
        out.write(f"glutamic acids in water\n{len(order) * n**3}\n")
        numbers = itertools.count(1)
        for copy in itertools.product(range(n), repeat=3):
            for m, (k, place) in enumerate(zip(order, y + new * numpy.array(copy))):
                residue = rows[k][:5] if m < solute else f"{(4 + (m - solute) // 3) % 100000:5d}"
                out.write(f"{residue}{rows[k][5:15]}{next(numbers) % 100000:5d}" + "".join(f"{c:8.3f}" for c in place) + "\n")
        out.write(" ".join([f"{n * new:.5f}"] * 3) + "\n")
    head = (SOURCE / "glu3.top").read_text().split("[ molecules ]")[0]
    copies = f"Protein_chain_A 1\nSOL {(len(order) - solute) // 3}\n" * n**3
    (arguments.folder / "system.top").write_text(f"{head}[ molecules ]\n{copies}")
    equilibration = DYNAMICS.format(steps=4000, more='velocities = "generate"\n') + '[barostat]\npressure = "1 bar"\n\n[minimise]\nsteps = 200\n\n'
    start = SYSTEM.format(structure="system.gro") + equilibration + OUTPUT.format(folder="equilibrated")
    (arguments.folder / "equilibrate.toml").write_text(start)
    plain = SYSTEM.format(structure="equilibrated/final.gro") + DYNAMICS.format(steps=1000, more="")
    (arguments.folder / "plain.toml").write_text(plain + OUTPUT.format(folder="plain"))
    (arguments.folder / "sites.toml").write_text(plain + SITES + OUTPUT.format(folder="sites"))
    print(f"{n**3} sites, {len(order) * n**3} atoms")


if __name__ == "__main__":
    main()
