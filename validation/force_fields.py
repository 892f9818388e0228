#!/usr/bin/env python3
"""CHARMM36m beside ff19SB with OPC and beside itself with charges of ionised groups times 0.75 (charmm36m-ecc), all with bonded terms of each form and evaluated by pure
forms, in solution, from the tables in results/: errors by protein, by kind of group, group by group, and shifts beside measured ones.

    python3 validation/force_fields.py

Tables of ff19SB are `pure.csv` (ff19SB.md, "ff19SB by pure forms"). Its first runs had first corrections: their Asp and Glu are shifted by −0.20 and −0.04. Lysozyme and
nuclease with ff19SB are means by time of runs that are not evaluated together. Glu56 of 1PGB has no run with ff19SB and such terms. Differences are computed less measured, in pK units.
"""

import csv
import math
import pathlib
import statistics

RESULTS = pathlib.Path(__file__).parent / "results"
KINDS = {"Glu": ("GL3", "ZGL"), "Asp": ("AS3",), "His": ("HIP",), "ends": ("nte", "cte")}
RUNS = {
    "ff19SB": {
        "1PGB": {"1pgb-ff19SB-opc-forms/pure": 1.0},
        "4PTI": {"4pti-ff19SB-opc-forms/pure": 1.0},
        "2LZT": {"2lzt-ff19SB-opc-forms/pure": 3.7, "2lzt-ff19SB-opc-forms-3/pure": 12.3},
        "1STN": {"1stn-ff19SB-opc-forms/pure": 3.8, "1stn-ff19SB-opc-forms-large/pure": 8.4},
    },
    "CHARMM36m": {
        "1PGB": {"1pgb-charmm36m-forms/comparison": 1.0},
        "4PTI": {"4pti-charmm36m-forms/comparison": 1.0},
        "2LZT": {"2lzt-charmm36m-forms/comparison": 1.0},
        "1STN": {"1stn-charmm36m-forms-2/comparison": 1.0},
    },
    "scaled": {entry: {f"{entry.lower()}-charmm36m-ecc/comparison": 1.0} for entry in ("1PGB", "4PTI", "2LZT", "1STN")},
}
"""Tables and their weights, ns at each pH."""
FIRST = {"1pgb-ff19SB-opc-forms": {"AS3": -0.20, "GL3": -0.04}, "2lzt-ff19SB-opc-forms": {"AS3": -0.20, "GL3": -0.04}}
SMALL = ("1PGB", "4PTI", "2LZT")
FACTORS = (0.75, 0.80, 0.85, 0.90, 1.0)
"""Of the charges of ionised groups."""


def lines(path):
    """Of a table and, where it is there, of `apart.csv` beside it: groups whose offset or correction is another in some of the runs."""
    for file in (RESULTS / f"{path}.csv", RESULTS / pathlib.Path(path).parent / "apart.csv"):
        if file.exists():
            with open(file, newline="", encoding="utf-8") as rows:
                yield from csv.DictReader(rows)


def differences(path):
    """Computed less measured values and measured shifts by site."""
    shift = FIRST.get(str(pathlib.Path(path).parent), {})
    return {
        row["site"]: (float(row["computed − measured"]) + shift.get(row["site"][:3], 0.0), -float(row["model compound − measured"]))
        for row in lines(path)
        if row["verdict"] == "difference"
    }


def mean(tables):
    """Means by weight; a site that one table lacks is that of the others."""
    found = [(weight, differences(path)) for path, weight in tables.items()]

    def of(site):
        weights, values = zip(*((weight, one[site][0]) for weight, one in found if site in one))
        return statistics.fmean(values, weights), found[-1][1][site][1]

    return {site: of(site) for site in found[-1][1]}


def averages(values):
    root = math.sqrt(statistics.fmean(value * value for value in values))
    return f"{statistics.fmean(map(abs, values)):.2f} / {root:.2f} / {max(map(abs, values)):.2f} (mean {statistics.fmean(values):+.2f}, {len(values)})"


def main():
    by = {name: {entry: mean(tables) for entry, tables in entries.items()} for name, entries in RUNS.items()}
    for force_field, found in by.items():
        parts = {**{entry: (entry,) for entry in found}, "small": SMALL, "all": tuple(found)}
        for label, entries in parts.items():
            print(f"{force_field:10}{label:6}{averages([value for entry in entries for value, _ in found[entry].values()])}")
        for kind, names in KINDS.items():
            for label, entries in (("small", SMALL), ("1STN", ("1STN",))):
                values = [value for entry in entries for site, (value, _) in found[entry].items() if site.startswith(names)]
                if values:
                    print(f"{force_field:10}{kind:5}{label:6}{averages(values)}")
        pairs = [one for entry in found.values() for one in entry.values()]
        measured, computed = [shift for _, shift in pairs], [shift + difference for difference, shift in pairs]
        slope = statistics.linear_regression(measured, computed).slope
        spread = [math.sqrt(statistics.fmean(shift * shift for shift in shifts)) for shifts in (computed, measured)]
        print(f"{force_field:10}shifts from the model compound: slope on measured ones {slope:.2f}, root mean square {spread[0]:.2f}, measured {spread[1]:.2f}")
    # Arithmetic, no titration: what would be left if each shift were a part of what it is, acids of nuclease those of the variant in which they were measured.
    variant = mean({"dphs-charmm36m-forms/comparison": 1.0})
    found = by["CHARMM36m"]
    groups = [one for entry in SMALL for one in found[entry].values()] + list(variant.values())
    groups += [one for site, one in found["1STN"].items() if site.startswith("HIP")]
    for part in (1.0, 0.75, 0.7, 0.65):
        print(f"CHARMM36m, acids of the variant, shifts times {part:.2f}: {averages([part * (shift + difference) - shift for difference, shift in groups])}")
    for name, one, other in (
        ("CHARMM36m than ff19SB", by["CHARMM36m"], by["ff19SB"]),
        ("scaled than CHARMM36m", by["scaled"], by["CHARMM36m"]),
        ("scaled than ff19SB", by["scaled"], by["ff19SB"]),
    ):
        pairs = [(one[entry][site][0], other[entry][site][0]) for entry in one for site in one[entry] if site in other[entry]]
        print(f"same groups, {name.replace('than', averages([a for a, _ in pairs]) + ';')} {averages([b for _, b in pairs])}")
        nearer = [abs(b) - abs(a) for a, b in pairs]
        error = statistics.stdev(nearer) / math.sqrt(len(nearer))
        without = [pair for pair in pairs if pair != max(pairs, key=lambda pair: abs(pair[0]))]
        print(f"  without the largest error: {averages([a for a, _ in without])}; {averages([b for _, b in without])}")
        right = [pair for pair in pairs if abs(pair[1]) <= 1.0]
        print(f"  those within 1 with the second: {averages([a for a, _ in right])}; {averages([b for _, b in right])}")
        print(f"{name}: nearer to experiment by {statistics.mean(nearer):.2f} ± {error:.2f} for a group, of {len(nearer)}")
    # Arithmetic again: pKa values on a straight line between whole and scaled charges, in the square of the factor, by which the energies of charges go.
    for factor in FACTORS:
        part = (factor**2 - FACTORS[0] ** 2) / (1 - FACTORS[0] ** 2)
        shown = []
        for entries in (SMALL, tuple(by["scaled"])):
            sites = [(by["scaled"][entry][site][0], by["CHARMM36m"][entry][site][0]) for entry in entries for site in by["scaled"][entry]]
            shown.append(averages([(1 - part) * scaled + part * whole for scaled, whole in sites]))
        print(f"charges times {factor:.2f}, by a line: {'; '.join(shown)}")


if __name__ == "__main__":
    main()
