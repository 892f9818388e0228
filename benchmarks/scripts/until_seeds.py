#!/usr/bin/env python3
"""Whether the pKa values of titrations that differ in their seed alone scatter as their errors say, with `titrate.until` on molecules in water.

    python3 benchmarks/scripts/until_seeds.py target/release/octitrate FOLDER [--seeds 5] [--until 0.3]

Capped glutamic acid in 381 molecules of water (tests/good/glu, made for tests: its buffers are 1.1 nm from it) at three pH values, 4 fs, at most 1 ns at
each. One after the other; those that are there already go on, or are only evaluated again. Prints a line for each, and the weighted mean with chi2 by
degree of freedom: all, and those that have converged.
"""

import argparse
import csv
import pathlib
import subprocess

JOB = """[system]
structure = "{system}/glu.gro"
topology = "{system}/glu.top"

[dynamics]
duration = "1 ns"
time_step = "4 fs"
hydrogen_mass = "3 u"
seed = {seed}

[thermostat]
temperature = "300 K"

[titration]
barrier = "0 kJ/mol"

[[titration.site]]
residue = "GLH 2"

[titration.buffer]

[titrate]
ph = [3.25, 4.25, 5.25]
equilibration = "5 ps"
until = {until}
until_from = "40 ps"

[output]
folder = "seed{seed}"
lambda = "0.02 ps"
trajectory = "100 ps"
"""


def summary(name, values):
    """Prints the weighted mean of (value, error) and chi2 about it."""
    if len(values) < 2:
        return
    weights = [error**-2 for _, error in values]
    mean = sum(w * value for w, (value, _) in zip(weights, values)) / sum(weights)
    chi2 = sum(w * (value - mean) ** 2 for w, (value, _) in zip(weights, values)) / (len(values) - 1)
    print(f"{name}: {len(values)}, mean {mean:.3f} ± {sum(weights) ** -0.5:.3f}, chi2 by degree of freedom {chi2:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--until", type=float, default=0.3)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    system = pathlib.Path(__file__).resolve().parents[2] / "tests/good/glu"
    every, converged = [], []
    for seed in range(1, arguments.seeds + 1):
        job = folder / f"seed{seed}.toml"
        job.write_text(JOB.format(system=system, seed=seed, until=arguments.until))
        subprocess.run([arguments.program.resolve(), "titrate", job], check=True, capture_output=True)
        with open(folder / f"seed{seed}" / "pka.csv", newline="") as table:
            row = next(csv.DictReader(table))
        value = (float(row["pKa"]), float(row["pKa error"]))
        every.append(value)
        if row["converged"] == "yes":
            converged.append(value)
        print(f"seed {seed}: {value[0]:.2f} ± {value[1]:.2f}, {row['transitions']} transitions, converged: {row['converged']} {row['reasons']}", flush=True)
    summary("all", every)
    summary("converged", converged)


if __name__ == "__main__":
    main()
