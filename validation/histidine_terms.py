#!/usr/bin/env python3
"""What the torsions of each form of His would change, from the frames of a titration whose forms all have those of the charged one.

    PYTHONPATH=python python3 validation/histidine_terms.py FOLDER/system.gro FOLDER/titrate "HIP 15" [--force-field charmm36m] [--skip 500]

For the frames in each form: where χ1 is, and by how much the torsions about CA–CB and CB–CG of the neutral forms lie above those of the charged one, −RT ln⟨exp(−ΔU/RT)⟩ in
kJ/mol. In the frames of a neutral form itself this is the free energy of its own torsions in the conformations that are there. A pKa changes by how much it
differs from that in water, which V_MM would take away: 5.74 kJ/mol are one pK unit. Needs numpy, MDAnalysis and the package octitrate[prepare].
"""

import argparse
import math
import pathlib

import numpy
from frames import atoms_of, frames, trajectories
from MDAnalysis.lib.distances import calc_dihedrals
from octitrate.bonded import of_forms

RT = 0.00831446 * 300.0
PURE = 0.75
"""Weight from which on a frame is in a form."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("structure", help="of the job, .gro")
    parser.add_argument("titration", type=pathlib.Path)
    parser.add_argument("sites", nargs="+", help="as sites.toml names them")
    parser.add_argument("--force-field", default="charmm36m")
    parser.add_argument("--skip", type=float, default=500.0, help="time (ps) that is left out")
    arguments = parser.parse_args()
    files, atoms = trajectories(arguments.titration, arguments.structure)
    torsions = [one for one in of_forms(arguments.force_field, "HIP") if len(one.atoms) == 4 and {"CA", "CB"} <= set(one.atoms)]
    for site in arguments.sites:
        place, found = atoms_of(site, atoms), {}
        for x, _, line in frames(files, arguments.skip):
            weights = {name.rsplit(":", 1)[1]: float(value) for name, value in line.items() if name.startswith(f"lambda {site}:")}
            form = max(weights, key=weights.get)
            if weights[form] < PURE:
                continue
            angles = [calc_dihedrals(*(x[place[name]] for name in one.atoms)) for one in torsions]
            energies = [sum(energy(one.numbers[k], angle) for one, angle in zip(torsions, angles)) for k in range(len(weights))]
            chi = math.degrees(calc_dihedrals(*(x[place[name]] for name in ("N", "CA", "CB", "CG")))) % 360.0
            found.setdefault(form, []).append((chi, energies))
        neutral = list(weights)[1:]
        for form, seen in found.items():
            wells = ", ".join(f"{120 * k + 60}° {sum(120 * k <= chi < 120 * k + 120 for chi, _ in seen) / len(seen):.2f}" for k in range(3))
            free = [-RT * math.log(numpy.mean([math.exp(-(of[k] - of[0]) / RT) for _, of in seen])) for k in range(1, 1 + len(neutral))]
            print(f"{site} {form}, {len(seen)} frames: χ1 {wells}; torsions of " + ", ".join(f"{name} {value:+.1f}" for name, value in zip(neutral, free)))


def energy(numbers, angle):
    """Of a torsion with these numbers (degrees, kJ/mol, multiplicity), none if a form has none."""
    return numbers[1] * (1 + math.cos(numbers[2] * angle - math.radians(numbers[0]))) if numbers else 0.0


main()
