#!/usr/bin/env python3
"""What carboxyl groups have beside them with their proton and without it: shares of frames with an atom within 3.5 Å of an oxygen, and their χ1.

    python3 validation/partners.py FOLDER/system.gro FOLDER/titrate "AS3 101" "GL3 35" [--skip 200]

Frames are those of the trajectories of all pH values; a group has its proton where the weight of the form without it is below 0.25, none where it is above 0.75, and is
between its forms elsewhere. Nitrogen, oxygen and sulphur of the solute count, but for the group itself, and sodium, any of the ions, where it is in the trajectory
(`trajectory_atoms = "solute or ions"`); water is in no trajectory of a titration as it is prepared. Needs numpy and MDAnalysis.
"""

import argparse
import math
import pathlib

import numpy
from frames import atoms_of, frames, trajectories
from MDAnalysis.lib.distances import calc_dihedrals

OXYGENS = ("OE1", "OE2", "OD1", "OD2")
NEAR = 3.5
"""Å."""
WITH, BETWEEN, WITHOUT = "with its proton", "between its forms", "without its proton"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("structure", help="of the job, .gro")
    parser.add_argument("titration", type=pathlib.Path)
    parser.add_argument("sites", nargs="+", help="as sites.toml names them")
    parser.add_argument("--skip", type=float, default=200.0, help="time (ps) that is left out")
    arguments = parser.parse_args()
    files, solute = trajectories(arguments.titration, arguments.structure)
    partners = solute.select_atoms("name N* O* S*")
    labels = ["Na+" if atom.resname == "NA" else f"{atom.resname} {atom.resid} {atom.name}" for atom in partners]
    names = numpy.array(list(dict.fromkeys(labels)))
    kind = numpy.array([list(names).index(label) for label in labels])
    groups = {}
    for site in arguments.sites:
        atoms = atoms_of(site, solute)
        others = ~numpy.isin(partners.indices, [index for name, index in atoms.items() if name != "N"])
        groups[site] = (atoms, others)
    found = {(site, state): [] for site in groups for state in (WITHOUT, BETWEEN, WITH)}
    for x, line in frames(files, arguments.skip):
        for site, (atoms, others) in groups.items():
            weight = next(float(value) for name, value in line.items() if name.startswith(f"lambda {site}:deprotonated"))
            state = WITH if weight < 0.25 else WITHOUT if weight > 0.75 else BETWEEN
            oxygens = x[[atoms[name] for name in OXYGENS if name in atoms]]
            distances = numpy.linalg.norm(x[partners.indices][:, None] - oxygens[None], axis=2).min(axis=1)
            chi = math.degrees(calc_dihedrals(*(x[atoms[name]] for name in ("N", "CA", "CB", "CG")))) % 360.0
            near = numpy.zeros(len(names), bool)
            near[kind[(distances < NEAR) & others]] = True
            found[site, state].append((chi, near))
    for (site, state), seen in found.items():
        if not seen:
            continue
        shares = numpy.mean([near for _, near in seen], axis=0)
        wells = [sum(120 * k <= chi < 120 * (k + 1) for chi, _ in seen) / len(seen) for k in range(3)]
        most = numpy.argsort(-shares)[:6]
        print(f"{site} {state}, {len(seen)} frames: χ1 60° {wells[0]:.2f}, 180° {wells[1]:.2f}, 300° {wells[2]:.2f}; " + ", ".join(f"{names[k]} {shares[k]:.2f}" for k in most if shares[k] > 0))


main()
