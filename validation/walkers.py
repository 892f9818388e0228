#!/usr/bin/env python3
"""What holds walkers of a replica exchange where they are: how long their number of protons remembers, how far they get, and which sites do it.

    tar xf validation/results/1stn-charmm36m-ecc/runs_1.tar.xz
    python3 validation/walkers.py runs_1 [--skip 200]

The number of protons of a walker, less the mean at its pH, is followed along the walker. Printed are its autocorrelation beside how far walkers are from where they were
(root mean square, in pH values), and of each site: the variance of its own residual, what of it is left after some time, and its share in what the means of whole walkers differ by (shares add up
to 1). Times beyond half of the runs are left out. Needs numpy.
"""

import argparse
import csv
import pathlib

import numpy

# Forms that have the proton that is titrated, by their names.
PROTONATED = ("protonated", "HSP")
LAGS = (10, 20, 50, 100, 200, 400, 800, 1500)


def read(folder, skip):
    """For each pH value, rising: times, walkers, and protons of each site; and the names of the sites."""
    runs, names = {}, []
    for table in sorted(folder.glob("pH_*/replica_*/lambda.csv"), key=lambda path: float(path.parts[-3][3:])):
        rows = list(csv.reader(table.open()))
        forms = [(c, *name.removeprefix("lambda ").rsplit(":", 1)) for c, name in enumerate(rows[0]) if name.startswith("lambda ") and ":" in name]
        names = list(dict.fromkeys(site for _, site, _ in forms))
        values = numpy.array(rows[1:], float)
        values = values[values[:, 0] >= skip]
        protons = [values[:, [c for c, site, form in forms if site == name and form.startswith(PROTONATED)]].sum(1) for name in names]
        frames = (values[:, 0], values[:, 1].astype(int), numpy.array(protons).T)
        replicas = runs.setdefault(table.parts[-3], ([], [], []))
        for part, of_run in zip(replicas, frames):
            part.append(of_run)
    return [tuple(map(numpy.concatenate, replicas)) for replicas in runs.values()], names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--skip", type=float, default=200.0, help="ps that are left out")
    arguments = parser.parse_args()
    runs, names = read(arguments.folder, arguments.skip)
    means = [protons.mean(0) for _, _, protons in runs]
    print("mean number of protons at each pH value:", " ".join(f"{mean.sum():.2f}" for mean in means))
    time, walker = (numpy.concatenate([run[k] for run in runs]) for k in (0, 1))
    slot = numpy.concatenate([numpy.full(len(run[0]), k) for k, run in enumerate(runs)])
    residual = numpy.concatenate([protons - mean for (_, _, protons), mean in zip(runs, means)])
    interval = numpy.diff(numpy.unique(time)).min()
    pieces = []
    for one in numpy.unique(walker):
        at = numpy.flatnonzero(walker == one)
        at = at[numpy.argsort(time[at])]
        pieces.append((residual[at], slot[at]))
    frames = sum(len(r) for r, _ in pieces)
    total = sum((r.sum(1) ** 2).sum() for r, _ in pieces) / frames
    own = sum((r**2).sum(0) for r, _ in pieces) / frames

    def lagged(lag, of):
        pairs = [(r[:-lag], r[lag:], s[:-lag], s[lag:]) for r, s in pieces if len(r) > lag]
        return sum(of(*pair) for pair in pairs) / sum(len(pair[0]) for pair in pairs)

    print(f"variance of the number of protons at one pH: {total:.2f}\n\n| after (ps) | its autocorrelation | pH values away |\n|---|---|---|")
    longest = max(len(r) for r, _ in pieces)
    for lag in (round(t / interval) for t in LAGS if t < longest * interval / 2):
        memory = lagged(lag, lambda a, b, s, t: (a.sum(1) * b.sum(1)).sum()) / total
        away = lagged(lag, lambda a, b, s, t: ((s - t) ** 2).sum()) ** 0.5
        print(f"| {lag * interval:.0f} | {memory:.2f} | {away:.2f} |")
    whole = numpy.array([r.mean(0) for r, _ in pieces])
    print(f"\nroot mean square of the means of walkers: {(whole.sum(1) ** 2).mean() ** 0.5:.2f} protons")
    share = (whole * whole.sum(1, keepdims=True)).sum(0) / (whole.sum(1) ** 2).sum()
    shown = [t for t in (100, 400, 1500) if t < longest * interval / 2]
    left = [lagged(round(t / interval), lambda a, b, s, t: (a * b).sum(0)) / numpy.where(own > 0, own, 1) for t in shown]
    print("\n| site | variance | left after " + " | ".join(f"{t} ps" for t in shown) + " | share |\n|---|---" + "|---" * len(shown) + "|---|")
    for s in numpy.argsort(-left[-1] * own):
        if own[s] > 0.01:
            print(f"| {names[s]} | {own[s]:.3f} | " + " | ".join(f"{part[s]:.2f}" for part in left) + f" | {share[s]:+.2f} |")


if __name__ == "__main__":
    main()
