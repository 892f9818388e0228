#!/usr/bin/env python3
"""What other entries of Glu and Asp would do to pKa values, by perturbation: from `octitrate rerun` of each run with its own entries and with the others.

    for run in FOLDER/pH_*/replica_*; do      # with trajectories of all atoms
        octitrate rerun $run/resolved.toml --trajectory $run/trajectory.xtc --lambda $run/lambda.csv -o $run/own.csv
        octitrate rerun $run/other.toml    --trajectory $run/trajectory.xtc --lambda $run/lambda.csv -o $run/other.csv
    done
    python3 validation/perturbed.py FOLDER --water GL3=3.46 --water AS3=3.35 [--skip 200]

`other.toml` is `resolved.toml` with other files in titration.library, and allow_mismatch = ["parameters"]. In frames in which a group has its proton (weight of one of these forms above 0.9)
Δ is what the others add to ∂V/∂λ of this form, less what they add to that of the form without the proton; −RT ln⟨exp(−Δ/RT)⟩ is by how much they make the proton dearer
(kJ/mol). --water: what that is in the model compound, from the same evaluation of its runs without this option; the correction V_MM has it. The error is that of means over runs.
"""

import argparse
import csv
import math
import pathlib
import statistics

RT = 0.008_314_462_618 * 300


def table(path):
    rows = list(csv.reader(path.open()))
    return rows[0], [[float(cell) for cell in row] for row in rows[1:]]


def differences(run, skip):
    """Δ of each frame in which a group has its proton, by groups."""
    (head, own), (other_head, other) = table(run / "own.csv"), table(run / "other.csv")
    assert head == other_head and len(own) == len(other), run
    forms = {}
    for column, name in enumerate(head):
        if name.startswith("lambda ") and name[7:10] in ("GL3", "AS3"):
            forms.setdefault(name[7:].rsplit(":", 1)[0], []).append(column)
    found = {}
    for group, (*protonated, without) in forms.items():
        for before, after in zip(own, other):
            for column in protonated:
                if before[0] >= skip and before[column] > 0.9:
                    added = [after[k + 1] - before[k + 1] for k in (column, without)]
                    found.setdefault(group, []).append(added[0] - added[1])
    return found


def free_energy(deltas):
    least = min(deltas)
    return least - RT * math.log(statistics.mean(math.exp(-(delta - least) / RT) for delta in deltas))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--water", action="append", default=[], metavar="RESIDUE=ENERGY")
    parser.add_argument("--skip", type=float, default=0.0, help="start of each run that is left out, ps")
    arguments = parser.parse_args()
    water = {name: float(value) for name, value in (one.split("=") for one in arguments.water)}
    groups = {}
    for path in sorted(arguments.folder.rglob("own.csv")):
        for group, deltas in differences(path.parent, arguments.skip).items():
            groups.setdefault(group, []).append(deltas)
    for group, runs in groups.items():
        deltas = [delta for run in runs for delta in run]
        means = [statistics.mean(run) for run in runs if len(run) > 3]
        error = f"{statistics.stdev(means) / math.sqrt(len(means)):.2f}" if len(means) > 1 else "unknown"
        energy = free_energy(deltas)
        line = f"{group}: {len(deltas)} frames with the proton, {energy:.2f} ± {error} kJ/mol"
        if group[:3] in water:
            line += f", pKa {-(energy - water[group[:3]]) / (RT * math.log(10)):+.2f}"
        print(line)


main()
