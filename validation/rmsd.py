#!/usr/bin/env python3
"""How far a protein has gone from the structure that was prepared: root mean square distances of Cα after superposition (Å), of each pH value, in the last part of a titration.

    python3 validation/rmsd.py FOLDER/system.gro FOLDER/titrate [--residues 7-41,54-140] [--last 1000] [--windows 4000]

`--residues` names those that are superposed and measured, all of them without it; `--last` is the time at the end of the runs that counts, in ps. `--windows` adds means over each
so many ps, with the number of residues in helices (DSSP, of the residues whose names MDAnalysis knows as protein). Needs numpy and MDAnalysis.
"""

import argparse
import pathlib

import MDAnalysis
import numpy
from frames import trajectories
from MDAnalysis.analysis.dssp import DSSP
from MDAnalysis.analysis.rms import rmsd
from MDAnalysis.lib.formats.libmdaxdr import XTCFile


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("structure", help="of the job, .gro")
    parser.add_argument("titration", type=pathlib.Path)
    parser.add_argument("--residues", default="", help="ranges of residue numbers")
    parser.add_argument("--last", type=float, default=1000.0, metavar="PS")
    parser.add_argument("--windows", type=float, metavar="PS")
    options = parser.parse_args()
    files, atoms = trajectories(options.titration, options.structure)
    ranges = [[int(number) for number in part.split("-")] for part in options.residues.split(",") if part]
    counts = [atom.index for atom in atoms if atom.name == "CA" and (not ranges or any(low <= atom.resid <= high for low, high in ranges))]
    reference = MDAnalysis.Universe(options.structure).atoms.positions[counts]
    means = []
    for path in files:
        frames = [(frame.time, frame.x[counts] * 10.0) for frame in XTCFile(str(path))]
        end = max(time for time, _ in frames)
        distances = [rmsd(x, reference, superposition=True) for time, x in frames if time > end - options.last]
        means.append(numpy.mean(distances))
        print(f"{path.parts[-3]} {path.parts[-2]:<10} {means[-1]:.2f}, largest {max(distances):.2f}, {len(distances)} frames to {end:.0f} ps")
        if options.windows:
            windows(frames, reference, options.windows, helices(path))
    print(f"{len(counts)} Cα: {min(means):.2f} to {max(means):.2f}, mean {numpy.mean(means):.2f}")


def helices(path):
    """Residues in helices in each frame of a trajectory that has its names beside it."""
    return (DSSP(MDAnalysis.Universe(str(path.with_name("trajectory.gro")), str(path))).run().results.dssp == "H").sum(axis=1)


def windows(frames, reference, length, helical):
    """Means over each `length` ps."""
    times = numpy.array([time for time, _ in frames])
    distances = numpy.array([rmsd(x, reference, superposition=True) for _, x in frames])
    for start in numpy.arange(0.0, times.max(), length):
        inside = (times >= start) & (times < start + length)
        print(f"    {start:.0f} to {min(start + length, times.max()):.0f} ps: {distances[inside].mean():.2f}, {helical[inside].mean():.1f} residues in helices")


if __name__ == "__main__":
    main()
