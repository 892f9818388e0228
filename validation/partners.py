#!/usr/bin/env python3
"""What carboxyl groups have beside them with their proton and without it: shares of frames with an atom within 3.5 Å of an oxygen, and their χ1.

    python3 validation/partners.py FOLDER/system.gro FOLDER/titrate "AS3 101" "GL3 35" [--skip 200]

Frames are those of the trajectories of all pH values; a group has its proton where the weight of the form without it is below 0.25, none where it is above 0.75, and is
between its forms elsewhere. Nitrogen, oxygen and sulphur of the solute count, but for the group itself, and sodium, any of the ions, where it is in the trajectory
(`trajectory_atoms = "solute or ions"`); water is in no trajectory of a titration as it is prepared. Needs numpy and MDAnalysis.
"""

import argparse
import csv
import math
import pathlib

import MDAnalysis
import numpy
from MDAnalysis.lib.distances import calc_dihedrals
from MDAnalysis.lib.formats.libmdaxdr import XTCFile

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
    files = sorted(arguments.titration.glob("pH_*/replica_*/trajectory.xtc"))
    if not files:
        parser.error(f"{arguments.titration} has no pH_*/replica_*/trajectory.xtc")
    # The program writes the names of the atoms of a trajectory beside it.
    named = files[0].with_name("trajectory.gro")
    solute = MDAnalysis.Universe(str(named) if named.exists() else arguments.structure).atoms[: XTCFile(str(files[0])).n_atoms]
    partners = solute.select_atoms("name N* O* S*")
    labels = ["Na+" if atom.resname == "NA" else f"{atom.resname} {atom.resid} {atom.name}" for atom in partners]
    names = numpy.array(list(dict.fromkeys(labels)))
    kind = numpy.array([list(names).index(label) for label in labels])
    groups = {}
    for site in arguments.sites:
        residue, number = site.split()
        atoms = {atom.name: atom.index for atom in solute.select_atoms(f"resname {residue} and resid {number}")}
        others = ~numpy.isin(partners.indices, [index for name, index in atoms.items() if name != "N"])
        groups[site] = (atoms, others)
    found = {(site, state): [] for site in groups for state in (WITHOUT, BETWEEN, WITH)}
    for path in files:
        rows = list(csv.reader(path.with_name("lambda.csv").open()))
        columns = {site: next(k for k, name in enumerate(rows[0]) if name.startswith(f"lambda {site}:deprotonated")) for site in groups}
        weights = {round(float(row[0]), 1): row for row in rows[1:]}
        for frame in XTCFile(str(path)):
            row = weights.get(round(frame.time, 1))
            if row is None or frame.time < arguments.skip:
                continue
            x = frame.x * 10.0
            for site, (atoms, others) in groups.items():
                weight = float(row[columns[site]])
                state = WITH if weight < 0.25 else WITHOUT if weight > 0.75 else BETWEEN
                oxygens = x[[atoms[name] for name in OXYGENS if name in atoms]]
                distances = numpy.linalg.norm(x[partners.indices][:, None] - oxygens[None], axis=2).min(axis=1)
                chi = math.degrees(calc_dihedrals(*(x[atoms[name]] for name in ("N", "CA", "CB", "CG")))) % 360.0
                near = numpy.zeros(len(names), bool)
                near[kind[(distances < NEAR) & others]] = True
                found[site, state].append((chi, near))
    for (site, state), frames in found.items():
        if not frames:
            continue
        shares = numpy.mean([near for _, near in frames], axis=0)
        wells = [sum(120 * k <= chi < 120 * (k + 1) for chi, _ in frames) / len(frames) for k in range(3)]
        most = numpy.argsort(-shares)[:6]
        print(f"{site} {state}, {len(frames)} frames: χ1 60° {wells[0]:.2f}, 180° {wells[1]:.2f}, 300° {wells[2]:.2f}; " + ", ".join(f"{names[k]} {shares[k]:.2f}" for k in most if shares[k] > 0))


main()
