#!/usr/bin/env python3
"""Do runs at fixed λ drift? Averages over the first and the last third of every run, and where every hydrogen is that loses its charge.

    python3 benchmarks/scripts/fixed_lambda.py FOLDER [--skip PS]

FOLDER: that of a calibration with windows at the forms alone (inputs/make/calibrate.py --windows "0 1"), whose runs are lambda_*, start_*/lambda_*.
For each form: the mean of ∂V/∂λ and of the potential energy over all runs, last third minus first third, with the standard error over the runs
(kJ/mol). With trajectories and MDAnalysis, for each torsion of TORSIONS that the residue has, and for χ1 and χ2:

- the share of the time in each of its wells in the first and in the last third, and how many standard errors (over the runs) they are apart;
- how often it changed its well, within 60 degrees (of three wells 40) of the centre of one;
- runs that ended in another well than they began and had not come back in the last two thirds: what has left for good;
- the largest angle from the centre of the nearest well; of hydrogens that are held, from the only well that they may have.

Wells that are equal by symmetry (the three hydrogens of an amine) have equal shares in the long run, whatever the charges are.
"""

import argparse
import csv
import math
import pathlib

THREE, PLANE, SIDES, SYN, ONE = (3, 60.0), (2, 0.0), (2, 90.0), (2, 0.0), (1, 0.0)
"""Number of wells, and the centre of the first."""

TORSIONS = [
    # name, atoms, wells; a name may stand for the next residue as "+N" and for the one before as "-C"
    ("held hydrogen", "OE2 CD OE1 HE1", SYN), ("held hydrogen", "OE1 CD OE2 HE2", SYN), ("held hydrogen", "OD2 CG OD1 HD1", SYN),
    ("held hydrogen", "OD1 CG OD2 HD2", SYN), ("held hydrogen", "OC2 C OC1 HO1", SYN), ("held hydrogen", "OC1 C OC2 HO2", SYN),
    ("hydroxyl of Tyr", "CE1 CZ OH HH", PLANE),
    ("thiol of Cys", "CA CB SG HG", THREE),
    ("amine of Lys", "CD CE NZ HZ1", THREE), ("amine of Lys", "CD CE NZ HZ2", THREE), ("amine of Lys", "CD CE NZ HZ3", THREE),
    ("amino end", "C CA N H1", THREE), ("amino end", "C CA N H2", THREE), ("amino end", "C CA N H3", THREE),
    ("guanidinium of Arg", "NE CZ NH1 HH11", PLANE), ("guanidinium of Arg", "NE CZ NH1 HH12", PLANE), ("guanidinium of Arg", "NE CZ NH2 HH21", PLANE),
    ("guanidinium of Arg", "NE CZ NH2 HH22", PLANE), ("guanidinium of Arg", "CD NE CZ NH1", PLANE),
    ("plane of His", "CB CG ND1 HD1", ONE), ("plane of His", "CB CG CD2 NE2", (1, 180.0)), ("plane of His", "CG CD2 NE2 HE2", (1, 180.0)),
    ("end torsion", "-C N CA C", SIDES), ("end torsion", "N CA C +N", (2, -45.0)),
    ("χ1", "N CA CB CG", THREE), ("χ1", "N CA CB SG", THREE), ("χ2", "CA CB CG CD", THREE), ("χ2", "CA CB CG ND1", SIDES),
]
CAPS = ("ACE", "NME")
CORE = {1: 180.0, 2: 60.0, 3: 40.0}
"""A torsion is in a well within so many degrees of its centre."""


def thirds(rows, columns, skip):
    """Means over the first and last third of a table, for each column."""
    times = [float(row[next(iter(row))]) for row in rows]
    rows = [row for row, time in zip(rows, times) if time > skip]
    third = max(len(rows) // 3, 1)
    mean = lambda part, column: sum(float(row[column]) for row in part) / len(part)
    return {column: (mean(rows[:third], column), mean(rows[-third:], column)) for column in columns if rows}


def summary(pairs):
    """Mean, and last minus first with its error over the runs; no error from a single run."""
    n = len(pairs)
    mean = sum(a + b for a, b in pairs) / (2 * n)
    differences = [b - a for a, b in pairs]
    drift = sum(differences) / n
    spread = math.sqrt(sum((d - drift) ** 2 for d in differences) / (n - 1) / n) if n > 1 else math.nan
    return mean, drift, spread


def places(names, residues):
    """The torsions that the residue between the caps has, by name, with the indices of their atoms; `names`, `residues`: of every atom."""
    own = {name: k for k, (name, residue) in enumerate(zip(names, residues)) if residue not in CAPS}
    first, last = min(own.values()), max(own.values())
    before = {name: k for k, name in enumerate(names) if k < first}
    behind = {name: k for k, name in enumerate(names) if k > last}
    found = []
    for label, atoms, wells in TORSIONS:
        atoms = atoms.split()
        # φ belongs to a carboxyl end, ψ to an amino end: elsewhere caps are on both sides.
        if ("-C" in atoms and behind) or ("+N" in atoms and before):
            continue
        at = [before.get(name[1:]) if name[0] == "-" else behind.get(name[1:]) if name[0] == "+" else own.get(name) for name in atoms]
        if None not in at:
            found.append((label, " ".join(atoms), at, wells))
    return found


def dihedral(a, b, c, d):
    """Torsion in degrees, from -180 to 180."""
    minus = lambda u, v: [x - y for x, y in zip(u, v)]
    dot = lambda u, v: sum(x * y for x, y in zip(u, v))
    cross = lambda u, v: (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    p, q, r = minus(b, a), minus(c, b), minus(d, c)
    m, n = cross(p, q), cross(q, r)
    return math.degrees(math.atan2(math.sqrt(dot(q, q)) * dot(p, n), dot(m, n)))


def torsions(run, skip):
    """Angles of each torsion along a trajectory, by name and atoms with their wells; None without a trajectory."""
    try:
        import MDAnalysis
    except ImportError:
        return None
    if not (run / "trajectory.xtc").exists():
        return None
    universe = MDAnalysis.Universe(str(run / "trajectory.gro"), str(run / "trajectory.xtc"))
    found = places([atom.name for atom in universe.atoms], [atom.resname for atom in universe.atoms])
    angles = {(label, atoms): (wells, []) for label, atoms, _, wells in found}
    for frame in universe.trajectory:
        if frame.time > skip:
            x = frame.positions.tolist()
            for label, atoms, at, _ in found:
                angles[label, atoms][1].append(dihedral(*(x[k] for k in at)))
    return angles


def along(angles, wells):
    """Wells in which the angles are, None between two; and the angle of each from the centre of the nearest."""
    number, start = wells
    width = 360.0 / number
    found = []
    for angle in angles:
        place = ((angle - start + width / 2) % 360.0) / width
        off = abs(place % 1 - 0.5) * width
        found.append((int(place) % number if off <= CORE[number] else None, off))
    return found


def described(label, atoms, wells, runs):
    """What one torsion does in all runs of a form, as a line; `runs`: the angles of each."""
    number, start = wells
    series = [along(angles, wells) for angles in runs]
    parts = [[[well for well, _ in part if well is not None] for part in (one[: len(one) // 3], one[-(len(one) // 3):])] for one in series]
    shares, changes, gone, worst = [], 0, 0, 0.0
    for well in range(number):
        pairs = [[part.count(well) / max(len(part), 1) for part in both] for both in parts]
        mean, drift, error = summary(pairs)
        apart = drift / error if error else 0.0
        worst = max(worst, abs(apart), key=lambda value: -1.0 if math.isnan(value) else value)
        shares.append(f"{mean - drift / 2:.2f} → {mean + drift / 2:.2f}")
    for one in series:
        known = [well for well, _ in one if well is not None]
        changes += sum(a != b for a, b in zip(known, known[1:]))
        gone += bool(known) and known[0] not in known[len(known) // 3:]
    # What is held may be in its first well alone.
    off = max(off for one in series for _, off in one)
    if label == "held hydrogen":
        off = max(abs((angle - start + 180.0) % 360.0 - 180.0) for angles in runs for angle in angles)
    return (f"    {label + ': ' + atoms:<38} wells {', '.join(shares)} ({worst:.1f} σ at most); {changes} changes; "
            f"{gone} of {len(runs)} runs left for good; {off:.0f}° from the centre at most")


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
            apart = drift / error if error else 0.0
            print(f"    {column:<45} {mean:12.2f}   last − first third {drift:+8.2f} ± {error:.2f}  ({apart:+.1f})")
        all_runs = [angles for angles in (torsions(run, arguments.skip) for run in runs) if angles]
        for (label, atoms), (wells, _) in (all_runs[0] if all_runs else {}).items():
            print(described(label, atoms, wells, [angles[label, atoms][1] for angles in all_runs]))


if __name__ == "__main__":
    main()
