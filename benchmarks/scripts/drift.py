#!/usr/bin/env python3
"""Drift of the conserved energy in an energy.csv: slope per atom with its error from eight blocks.

    python3 benchmarks/scripts/drift.py energy.csv atoms
"""

import csv
import sys

import numpy


def main():
    with open(sys.argv[1]) as lines:
        rows = list(csv.DictReader(lines))
    t = numpy.array([float(row["time (ps)"]) for row in rows])
    e = numpy.array([float(row["conserved (kJ/mol)"]) for row in rows])
    atoms = int(sys.argv[2])
    slope = numpy.polyfit(t, e, 1)[0]
    blocks = numpy.array_split(numpy.arange(len(t)), 8)
    means = numpy.array([[t[b].mean(), e[b].mean()] for b in blocks])
    fit, covariance = numpy.polyfit(means[:, 0], means[:, 1], 1, cov=True)
    rms = numpy.std(e - numpy.polyval(numpy.polyfit(t, e, 1), t))
    print(f"{t[-1] - t[0]:.0f} ps, drift {slope / atoms:.2e} +- {covariance[0, 0] ** 0.5 / atoms:.1e} kJ/mol/ps/atom, rms {rms:.2f} kJ/mol")


main()
