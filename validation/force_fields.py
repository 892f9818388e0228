#!/usr/bin/env python3
"""CHARMM36m beside ff19SB with OPC, both with bonded terms of each form, from the tables in results/: errors in the box by kind of group, and group by group.

    python3 validation/force_fields.py

The first runs of ff19SB had first corrections: their Asp and Glu are shifted by −0.20 and −0.04 (README.md, "Bonded terms of each form"). Lysozyme with ff19SB is the
mean of three runs, nuclease that of two; nuclease with CHARMM36m that of its first run, of which there are tables alone, and of five others, by their time. Glu56 of 1PGB has no run with ff19SB and such terms and is left out. Differences are computed less measured, in pK units.
"""

import csv
import math
import pathlib
import statistics

RESULTS = pathlib.Path(__file__).parent / "results"
KINDS = {"Glu": ("GL3", "ZGL"), "Asp": ("AS3",), "His": ("HIP",), "ends": ("nte", "cte")}
RUNS = {
    "ff19SB": {
        "1pgb": ["1pgb-ff19SB-opc-forms"],
        "4pti": ["4pti-ff19SB-opc-forms"],
        "2lzt": ["2lzt-ff19SB-opc-forms", "2lzt-ff19SB-opc-forms-2", "2lzt-ff19SB-opc-forms-3"],
        "1stn": ["1stn-ff19SB-opc-forms", "1stn-ff19SB-opc-forms-large"],
    },
    "CHARMM36m": {
        "1pgb": ["1pgb-charmm36m-forms"],
        "4pti": ["4pti-charmm36m-forms"],
        "2lzt": ["2lzt-charmm36m-forms"],
        "1stn": ["1stn-charmm36m-forms", "1stn-charmm36m-forms-2"],
    },
}
LENGTHS = {"1stn-charmm36m-forms": 4.2, "1stn-charmm36m-forms-2": 9.7}
"""Weights of runs that are not alike, ns at each pH."""
FIRST = {"1pgb-ff19SB-opc-forms": {"AS3": -0.20, "GL3": -0.04}, "2lzt-ff19SB-opc-forms": {"AS3": -0.20, "GL3": -0.04}}


def rows(run, table, apart):
    """Head and lines of a table; and those of `apart`, of groups whose offset or correction is another in some of the runs, where there are such."""
    with open(RESULTS / run / f"{table}.csv", newline="", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    if (RESULTS / run / f"{apart}.csv").exists():
        with open(RESULTS / run / f"{apart}.csv", newline="", encoding="utf-8") as file:
            lines += list(csv.reader(file))[1:]
    return head, lines


def differences(run):
    """By site, in the box: the computed value of `comparison.csv` is in solution where `pka.csv` has such a value, and that of the box is then the pKa of the latter."""
    head, lines = rows(run, "pka", "apart_pka")
    solution = head.index("pKa in solution") if "pKa in solution" in head else None
    in_box = {line[0]: line[head.index("pKa")] for line in lines if solution is not None and line[solution]}
    head, lines = rows(run, "comparison", "apart")
    computed, measured, verdict = (head.index(name) for name in ("computed", "measured", "verdict"))
    shift = FIRST.get(run, {})
    return {
        line[0]: float(in_box.get(line[0], line[computed])) - float(line[measured]) + shift.get(line[0][:3], 0.0)
        for line in lines
        if line[verdict] == "difference"
    }


def mean(runs):
    found = [(LENGTHS.get(run, 1.0), differences(run)) for run in runs]

    def of(site):
        weights, values = zip(*((length, run[site]) for length, run in found if site in run))
        return statistics.fmean(values, weights)

    return {site: of(site) for site in found[-1][1]}


def main():
    by = {name: {entry: mean(runs) for entry, runs in entries.items()} for name, entries in RUNS.items()}
    for kind, names in KINDS.items():
        for place, entries in (("1PGB, 4PTI, 2LZT", ("1pgb", "4pti", "2lzt")), ("1STN", ("1stn",))):
            words = []
            for force_field, found in by.items():
                values = [value for entry in entries for site, value in found[entry].items() if site.startswith(names)]
                if values:
                    words.append(f"{force_field} {statistics.mean(map(abs, values)):.2f} (mean {statistics.mean(values):+.2f}, {len(values)})")
            if words:
                print(f"{kind:5}{place:18}" + ", ".join(words))
    one, other = by.values()
    nearer = [abs(one[entry][site]) - abs(other[entry][site]) for entry in one for site in one[entry] if site in other[entry]]
    error = statistics.stdev(nearer) / math.sqrt(len(nearer))
    print(f"CHARMM36m is nearer to experiment by {statistics.mean(nearer):.2f} ± {error:.2f} for a group, of {len(nearer)}")


if __name__ == "__main__":
    main()
