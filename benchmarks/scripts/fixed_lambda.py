#!/usr/bin/env python3
"""Do runs at fixed λ drift? Averages over the first and the last third of every run, and how far held hydrogens are from syn.

    python3 benchmarks/scripts/fixed_lambda.py FOLDER [--skip PS]

FOLDER: that of a calibration with windows at the forms alone (inputs/make/calibrate.py --windows "0 1"), whose runs are lambda_*, start_*/lambda_*.
For each form: the mean of ∂V/∂λ and of the potential energy over all runs, last third minus first third, with the standard error over the runs
(kJ/mol). With trajectories and MDAnalysis: for each hydrogen on an oxygen of a carboxyl group the largest angle from syn, and for χ1 the number of changes.
"""

import argparse
import csv
import math
import pathlib


def thirds(rows, columns, skip):
    """Means over the first and last third of a table, for each column."""
    times = [float(row[next(iter(row))]) for row in rows]
    rows = [row for row, time in zip(rows, times) if time > skip]
    third = len(rows) // 3
    mean = lambda part, column: sum(float(row[column]) for row in part) / len(part)
    return {column: (mean(rows[:third], column), mean(rows[-third:], column)) for column in columns}


def summary(pairs):
    """Mean, and last minus first with its error over the runs."""
    n = len(pairs)
    mean = sum(a + b for a, b in pairs) / (2 * n)
    differences = [b - a for a, b in pairs]
    drift = sum(differences) / n
    spread = math.sqrt(sum((d - drift) ** 2 for d in differences) / (n - 1) / n)
    return mean, drift, spread


def torsions(run):
    """Largest angle of held hydrogens from syn, and changes of χ1, in a trajectory; None without one."""
    try:
        import MDAnalysis
    except ImportError:
        return None
    if not (run / "trajectory.xtc").exists():
        return None
    universe = MDAnalysis.Universe(str(run / "trajectory.gro"), str(run / "trajectory.xtc"))
    names = {atom.name: atom for atom in universe.atoms if atom.resname not in ("ACE", "NME")}
    held = [("OE2", "CD", "OE1", "HE1"), ("OE1", "CD", "OE2", "HE2"), ("OD2", "CG", "OD1", "HD1"), ("OD1", "CG", "OD2", "HD2"),
            ("OC2", "C", "OC1", "HO1"), ("OC1", "C", "OC2", "HO2")]
    group = lambda four: sum((names[name] for name in four[1:]), MDAnalysis.core.groups.AtomGroup([names[four[0]].ix], universe))
    dihedrals = [group(four).dihedral for four in held if all(name in names for name in four)]
    gamma = next((name for name in ("CG", "SG") if name in names), None)
    chi = group(("N", "CA", "CB", gamma)).dihedral if gamma else None
    farthest, changes, before = 0.0, 0, None
    for _ in universe.trajectory:
        farthest = max([farthest, *(abs((d.value() + 180) % 360 - 180) for d in dihedrals)])
        if chi is not None:
            well = int(chi.value() % 360 // 120)
            changes += before is not None and well != before
            before = well
    return farthest if dihedrals else None, changes if chi is not None else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--skip", type=float, default=0.0)
    arguments = parser.parse_args()
    forms = {}
    for run in sorted(arguments.folder.glob("**/lambda_*")):
        forms.setdefault(run.name, []).append(run)
    for form, runs in forms.items():
        tables = {}
        length = 0.0
        for run in runs:
            for name, wanted in (("lambda.csv", "dV/dlambda"), ("energy.csv", "potential")):
                with open(run / name) as file:
                    rows = list(csv.DictReader(file))
                columns = [c for c in rows[0] if c.startswith(wanted) and "buffer" not in c]
                length = max(length, float(rows[-1][next(iter(rows[-1]))]))
                for column, pair in thirds(rows, columns, arguments.skip).items():
                    tables.setdefault(column, []).append(pair)
        print(f"{form}: {len(runs)} runs of {length:.0f} ps")
        for column, pairs in tables.items():
            mean, drift, error = summary(pairs)
            print(f"    {column:<45} {mean:12.2f}   last − first third {drift:+8.2f} ± {error:.2f}  ({drift / error:+.1f})")
        found = [t for t in map(torsions, runs) if t is not None]
        if found:
            held = [t[0] for t in found if t[0] is not None]
            chi = [t[1] for t in found if t[1] is not None]
            print(f"    farthest hydrogen from syn {max(held):.0f} degrees" if held else "    no held hydrogens", "; changes of χ1", sum(chi) if chi else "–")


if __name__ == "__main__":
    main()
