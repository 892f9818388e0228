"""Frames of the trajectories of a titration, each with the weights of its sites in lambda.csv: for partners.py and histidine_terms.py. Needs MDAnalysis."""

import csv
import math
import sys

import MDAnalysis
from MDAnalysis.lib.formats.libmdaxdr import XTCFile
from MDAnalysis.lib.mdamath import triclinic_box


def trajectories(titration, structure):
    """The trajectories of a titration, and their atoms: the program writes names beside a trajectory of some atoms, else they are those of the structure of the job."""
    files = sorted(titration.glob("pH_*/replica_*/trajectory.xtc"))
    if not files:
        sys.exit(f"{titration} has no pH_*/replica_*/trajectory.xtc")
    named = files[0].with_name("trajectory.gro")
    return files, MDAnalysis.Universe(str(named) if named.exists() else structure).atoms[: XTCFile(str(files[0])).n_atoms]


def atoms_of(site, atoms):
    """Indices of the atoms of a site, `GL3 35`, by their names."""
    residue, number = site.split()
    return {atom.name: atom.index for atom in atoms.select_atoms(f"resname {residue} and resid {number}")}


def frames(files, skip, end=math.inf):
    """Positions and box (Å, degrees) of each frame from `skip` to `end` (ps) that has a line in lambda.csv, and that line by the names of its columns."""
    for path in files:
        head, *rows = csv.reader(path.with_name("lambda.csv").open())
        lines = {round(float(row[0]), 1): row for row in rows}
        for frame in XTCFile(str(path)):
            line = lines.get(round(frame.time, 1))
            if line is not None and skip <= frame.time <= end:
                yield frame.x * 10.0, triclinic_box(*frame.box * 10.0), dict(zip(head, line))
