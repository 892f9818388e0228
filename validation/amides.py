#!/usr/bin/env python3
"""Hydrogen bonds that backbone amides give to carboxyl groups, beside the errors of their pKa values: are anions that amides hold too stable?

    python3 validation/amides.py 1vii-charmm36m-ecc=FOLDER 1w4h-charmm36m-ecc=FOLDER [...] [--skip 300]

Each argument is a folder of results/ and the folder of its job, with system.gro and titrate/, whose trajectories are read. For each acid with a measured pKa a line has the mean number of pairs of an
oxygen of the group and a nitrogen of the backbone, or an oxygen of a hydroxyl, within 3.5 Å, in frames without its proton (weight of the deprotonated form above 0.75) and with it (below 0.25); the nitrogen of
its own residue is named apart. Then comes its error, computed less measured, in solution. The last lines have the correlation of error and amides of the anion over all acids, the slope of a straight line with its
standard error, and means; the same for the amides of other residues, by themselves and beside a constant for Asp. Needs numpy and MDAnalysis.
"""

import argparse
import csv
import pathlib

import numpy
from frames import atoms_of, frames, trajectories
from MDAnalysis.lib.distances import distance_array

RESULTS = pathlib.Path(__file__).parent / "results"
OXYGENS = ("OE1", "OE2", "OD1", "OD2")
NEAR = 3.5
"""Å."""


def contacts(folder, groups, skip):
    """Mean numbers of amides, its own amide and hydroxyls, [3], beside each group without its proton and with it, and how many frames there are of each."""
    files, solute = trajectories(folder / "titrate", folder / "system.gro")
    donors = [solute.select_atoms(f"name {names}").indices for names in ("N", "OG OG1 OH")]
    atoms = {group: atoms_of(group, solute) for group in groups}
    seen = {(group, state): [] for group in groups for state in ("without", "with")}
    for x, box, weights in frames(files, skip):
        for group in groups:
            weight = sum(float(value) for name, value in weights.items() if name.startswith(f"lambda {group}:deprotonated"))
            state = "without" if weight > 0.75 else "with" if weight < 0.25 else None
            if state:
                oxygens = x[[atoms[group][name] for name in OXYGENS if name in atoms[group]]]
                amides, own, hydroxyls = ((distance_array(x[near], oxygens, box=box) < NEAR).sum() for near in (donors[0], [atoms[group]["N"]], donors[1]))
                seen[group, state].append([amides, own, hydroxyls])
    return {key: (numpy.mean(found, axis=0) if found else numpy.full(3, numpy.nan), len(found)) for key, found in seen.items()}


def line(columns, errors):
    """Coefficients of the least squares of errors by columns, [n, k], and their standard errors."""
    best, (rest,), *_ = numpy.linalg.lstsq(columns, errors, rcond=None)
    variance = rest / (len(errors) - columns.shape[1])
    return best, numpy.sqrt(variance * numpy.diag(numpy.linalg.inv(columns.T @ columns)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="+", metavar="RESULTS=FOLDER")
    parser.add_argument("--skip", type=float, default=300.0, help="time (ps) that is left out (default: 300)")
    arguments = parser.parse_args()
    amides, own, is_asp, errors = [], [], [], []
    for results, folder in (job.split("=", 1) for job in arguments.jobs):
        with open(RESULTS / results / "comparison.csv", newline="", encoding="utf-8") as table:
            rows = [row for row in csv.DictReader(table) if row["verdict"] == "difference" and row["site"][:3] in ("AS3", "GL3")]
        found = contacts(pathlib.Path(folder), [row["site"] for row in rows], arguments.skip)
        for row in rows:
            (without, n), (with_proton, m) = found[row["site"], "without"], found[row["site"], "with"]
            error = float(row["computed − measured"])
            numbers = ", ".join(f"{name} {a:.2f} {b:.2f}" for name, a, b in zip(("amides", "its own", "hydroxyls"), without, with_proton))
            print(f"{results.split('-')[0]} {row['site']:8} {numbers} ({n}, {m} frames), error {error:+.2f}")
            amides.append(without[0])
            own.append(without[1])
            is_asp.append(row["site"].startswith("AS3"))
            errors.append(error)
    amides, own, errors = numpy.array(amides), numpy.array(own), numpy.array(errors)
    one, is_asp = numpy.ones(len(errors)), numpy.array(is_asp, float)
    for label, number in (("each amide", amides), ("each amide of another residue", amides - own)):
        (start, slope), (_, error) = line(numpy.stack([one, number], axis=1), errors)
        print(f"{len(errors)} acids: correlation {numpy.corrcoef(number, errors)[0, 1]:+.2f}, error {start:+.2f} {slope:+.2f} ± {error:.2f} for {label}")
    (start, slope, asp), (_, error, of_asp) = line(numpy.stack([one, amides - own, is_asp], axis=1), errors)
    print(f"both: error {start:+.2f} {slope:+.2f} ± {error:.2f} for each amide of another residue, {asp:+.2f} ± {of_asp:.2f} for Asp")
    for label, chosen in (("fewer than one amide", amides < 0.95), ("one or more", amides >= 0.95)):
        print(f"{label}: {chosen.sum()} acids, mean error {errors[chosen].mean():+.2f} ± {errors[chosen].std(ddof=1) / chosen.sum() ** 0.5:.2f}")


main()
