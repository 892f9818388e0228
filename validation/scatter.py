#!/usr/bin/env python3
"""Do independent runs of a protein scatter as their errors say? Weighted means and χ² of the pKa values in the box of several evaluations, one of each run.

    for run in runs_1 runs_2 runs_3; do octitrate pka $run -o pka_$run; done
    python3 validation/scatter.py pka_runs_1 pka_runs_2 pka_runs_3 [--without "nterm ARG 1"]

Groups that all runs determine count; `--without` leaves out those that are not the same in all, such as an end with an offset in some.
"""

import argparse
import csv
import pathlib


def values(folder):
    with open(folder / "pka.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["pKa"] and row["pKa error"]:
                yield row["site"], (float(row["pKa"]), float(row["pKa error"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path, help="folders of evaluations")
    parser.add_argument("--without", action="append", default=[], metavar="SITE")
    options = parser.parse_args()
    runs = [dict(values(folder)) for folder in options.folders]
    squares = []
    for site in runs[0]:
        if site in options.without or not all(site in run for run in runs):
            continue
        weights = [run[site][1] ** -2 for run in runs]
        mean = sum(weight * run[site][0] for weight, run in zip(weights, runs)) / sum(weights)
        squares.append(sum(weight * (run[site][0] - mean) ** 2 for weight, run in zip(weights, runs)) / (len(runs) - 1))
        print(f"{site:16}{mean:6.2f}  {' '.join(f'{run[site][0]:.2f}' for run in runs)}  χ² {squares[-1]:.1f}")
    print(f"{len(squares)} groups of {len(runs)} runs: χ² {sum(squares) / len(squares):.2f} for each degree of freedom")


if __name__ == "__main__":
    main()
