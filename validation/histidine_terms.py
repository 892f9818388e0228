#!/usr/bin/env python3
"""What the torsions of each form of His would change, from the frames of a titration whose forms all have those of the charged one.

    PYTHONPATH=python python3 validation/histidine_terms.py FOLDER/system.gro FOLDER/titrate "HIP 15" [--force-field charmm36m] [--skip 500]

For the frames in each form: where χ1 is, and by how much the torsions about CA–CB and CB–CG of the neutral forms lie above those of the charged one, −RT ln⟨exp(−ΔU/RT)⟩ in
kJ/mol. In the frames of a neutral form itself this is the free energy of its own torsions in the conformations that are there. A pKa changes by how much it
differs from that in water, which V_MM would take away: 5.74 kJ/mol are one pK unit. Needs numpy, MDAnalysis and the package octitrate[prepare].
"""

import argparse
import csv
import math
import pathlib

import MDAnalysis
import numpy
from MDAnalysis.lib.distances import calc_dihedrals
from MDAnalysis.lib.formats.libmdaxdr import XTCFile
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
    files = sorted(arguments.titration.glob("pH_*/replica_*/trajectory.xtc"))
    if not files:
        parser.error(f"{arguments.titration} has no pH_*/replica_*/trajectory.xtc")
    named = files[0].with_name("trajectory.gro")
    atoms = MDAnalysis.Universe(str(named) if named.exists() else arguments.structure).atoms
    torsions = [one for one in of_forms(arguments.force_field, "HIP") if len(one.atoms) == 4 and {"CA", "CB"} <= set(one.atoms)]
    for site in arguments.sites:
        residue, number = site.split()
        place = {atom.name: atom.index for atom in atoms.select_atoms(f"resname {residue} and resid {number}")}
        found = {}
        for path in files:
            rows = list(csv.reader(path.with_name("lambda.csv").open()))
            columns = [k for k, name in enumerate(rows[0]) if name.startswith(f"lambda {site}:")]
            weights = {round(float(row[0]), 1): [float(row[k]) for k in columns] for row in rows[1:]}
            forms = [rows[0][k].rsplit(":", 1)[1] for k in columns]
            for frame in XTCFile(str(path)):
                here = weights.get(round(frame.time, 1))
                if here is None or frame.time < arguments.skip or max(here) < PURE:
                    continue
                angles = [calc_dihedrals(*(frame.x[place[name]] for name in one.atoms)) for one in torsions]
                energies = [sum(energy(one.numbers[form], angle) for one, angle in zip(torsions, angles)) for form in range(len(forms))]
                chi = math.degrees(calc_dihedrals(*(frame.x[place[name]] for name in ("N", "CA", "CB", "CG")))) % 360.0
                found.setdefault(forms[here.index(max(here))], []).append((chi, energies))
        for form, frames in found.items():
            wells = ", ".join(f"{120 * k + 60}° {sum(120 * k <= chi < 120 * k + 120 for chi, _ in frames) / len(frames):.2f}" for k in range(3))
            free = [-RT * math.log(numpy.mean([math.exp(-(of[k] - of[0]) / RT) for _, of in frames])) for k in range(1, len(forms))]
            print(f"{site} {form}, {len(frames)} frames: χ1 {wells}; torsions of " + ", ".join(f"{name} {value:+.1f}" for name, value in zip(forms[1:], free)))


def energy(numbers, angle):
    """Of a torsion with these numbers (degrees, kJ/mol, multiplicity), none if a form has none."""
    return numbers[1] * (1 + math.cos(numbers[2] * angle - math.radians(numbers[0]))) if numbers else 0.0


main()
