#!/usr/bin/env python3
"""What carboxyl groups, His, Tyr and Lys have beside them with their proton and without it: shares of frames with an atom within 3.5 Å of the oxygens or nitrogens that titrate, and their χ1.

    python3 validation/partners.py FOLDER/system.gro FOLDER/titrate "AS3 101" "GL3 35" [--skip 200] [--end 2000] [--replica 1]

Frames are those of the trajectories of all pH values, of one replica of each where `--replica` names it; a group has its proton where the weight of the form without it is below 0.25, none where it is above 0.75, and is
between its forms elsewhere. Nitrogen, oxygen and sulphur of the solute count, but for the group itself, and sodium, any of the ions, where it is in the trajectory
(`trajectory_atoms = "solute or ions"`). Water is counted where a trajectory has it, which none has of a titration as it is prepared: molecules beside each of these atoms.
Needs numpy and MDAnalysis.
"""

import argparse
import math
import pathlib

import numpy
from frames import atoms_of, frames, trajectories
from MDAnalysis.lib.distances import calc_dihedrals, distance_array

POLAR = ("OE1", "OE2", "OD1", "OD2", "ND1", "NE2", "OH", "NZ")
NEAR = 3.5
"""Å."""
WITH, BETWEEN, WITHOUT = "with its proton", "between its forms", "without its proton"


def deprotonated(site, line):
    """Weight of the forms of a site that have lost a proton; the neutral forms of His together."""
    for name, value in line.items():
        if name == f"lambda {site}" or name.startswith(f"lambda {site}:deprotonated"):
            return float(value)
        if name.startswith(f"lambda {site}:HSP"):
            return 1.0 - float(value)
    raise SystemExit(f"lambda.csv has no weights of {site}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("structure", help="of the job, .gro")
    parser.add_argument("titration", type=pathlib.Path)
    parser.add_argument("sites", nargs="+", help="as sites.toml names them")
    parser.add_argument("--skip", type=float, default=200.0, help="time (ps) that is left out")
    parser.add_argument("--end", type=float, default=math.inf, help="time (ps) after which no frame counts")
    parser.add_argument("--replica", type=int, help="the only replica that counts, of each pH value")
    arguments = parser.parse_args()
    files, solute = trajectories(arguments.titration, arguments.structure)
    files = [file for file in files if arguments.replica in (None, int(file.parts[-2].removeprefix("replica_")))]
    water = solute.select_atoms("resname HOH SOL and name O*")
    partners = solute.select_atoms("name N* O* S* and not resname HOH SOL CL")
    labels = ["Na+" if atom.resname == "NA" else f"{atom.resname} {atom.resid} {atom.name}" for atom in partners]
    names = numpy.array(list(dict.fromkeys(labels)))
    kind = numpy.array([list(names).index(label) for label in labels])
    groups = {}
    for site in arguments.sites:
        atoms = atoms_of(site, solute)
        others = ~numpy.isin(partners.indices, [index for name, index in atoms.items() if name != "N"])
        groups[site] = (atoms, others)
    found = {(site, state): [] for site in groups for state in (WITHOUT, BETWEEN, WITH)}
    for x, box, line in frames(files, arguments.skip, arguments.end):
        for site, (atoms, others) in groups.items():
            weight = deprotonated(site, line)
            state = WITH if weight < 0.25 else WITHOUT if weight > 0.75 else BETWEEN
            polar = x[[atoms[name] for name in POLAR if name in atoms]]
            distances = distance_array(x[partners.indices], polar, box=box).min(axis=1)
            wet = (distance_array(x[water.indices], polar, box=box) < NEAR).sum(axis=0) if len(water) else numpy.zeros(len(polar))
            chi = math.degrees(calc_dihedrals(*(x[atoms[name]] for name in ("N", "CA", "CB", "CG")))) % 360.0
            near = numpy.zeros(len(names), bool)
            near[kind[(distances < NEAR) & others]] = True
            found[site, state].append((chi, near, wet))
    for (site, state), seen in found.items():
        if not seen:
            continue
        shares = numpy.mean([near for _, near, _ in seen], axis=0)
        wells = [sum(120 * k <= chi < 120 * (k + 1) for chi, _, _ in seen) / len(seen) for k in range(3)]
        most = numpy.argsort(-shares)[:6]
        beside = zip([name for name in POLAR if name in groups[site][0]], numpy.mean([wet for _, _, wet in seen], axis=0))
        wet = "".join(f", {count:.1f} water at {name}" for name, count in beside) if len(water) else ""
        print(f"{site} {state}, {len(seen)} frames: χ1 60° {wells[0]:.2f}, 180° {wells[1]:.2f}, 300° {wells[2]:.2f}{wet}; " + ", ".join(f"{names[k]} {shares[k]:.2f}" for k in most if shares[k] > 0))


main()
