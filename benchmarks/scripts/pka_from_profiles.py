#!/usr/bin/env python3
"""pKa of a site with two forms from all frames of a titration with linear V_pH and no barrier, not only from those near the forms.

    python3 benchmarks/scripts/pka_from_profiles.py FOLDER... [--equilibration 20] [--buffers 3] [--metric]

p(λ) ∝ w(λ) exp(−F(λ)/RT + λ ln10 (pH − pKa of the model compound)), F a polynomial of degree 3, by maximum likelihood over all runs between λ = 0.02 and 0.98;
pKa = pKa of the model compound + [F(1) − F(0)]/(RT ln10). w: what is left of the measure of the coordinate (entropy.rs), and with --metric √Z (runs made before
lambda/src/motion/metric.rs took it back). The error is from runs drawn anew at each pH. Needs numpy and scipy.
"""

import argparse
import pathlib
import tomllib

import numpy as np
from scipy.optimize import minimize

EDGES = np.linspace(0.02, 0.98, 49)
X = 0.5 * (EDGES[1:] + EDGES[:-1])
LEVEL, STEEPNESS = 0.01, 5.5


def measure(coordinate, buffers, metric):
    """ln w, and dλ/dξ."""
    out, slope = np.zeros_like(X), np.ones_like(X)
    if coordinate == "hypersphere":
        slope = 2.0 * np.sqrt(X * (1.0 - X))
    if coordinate == "nexp":
        sine = np.log(X / (1.0 - X)) / (2.0 * STEEPNESS)
        slope = 2.0 * STEEPNESS * np.sqrt(1.0 - sine**2) * X * (1.0 - X)
        out += 0.5 * np.log((X**2 + LEVEL**2) * ((1.0 - X) ** 2 + LEVEL**2)) - np.log(X * (1.0 - X))
    return out + (0.5 * np.log(buffers**2 + slope**2) if metric else 0.0)


def difference(runs, ln_w, reference):
    """[F(1) − F(0)]/RT."""
    powers = np.array([X, X**2, X**3])

    def likelihood(c):
        total = 0.0
        for ph, counts in runs:
            exponent = ln_w - c @ powers + np.log(10.0) * (ph - reference) * X
            total += (counts * (exponent - np.log(np.exp(exponent).sum()))).sum()
        return -total / 1e3

    return minimize(likelihood, np.zeros(3)).x.sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--equilibration", type=float, default=20.0, help="ps")
    parser.add_argument("--buffers", type=float, default=3.0, help="molecules")
    parser.add_argument("--metric", action="store_true")
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    for folder in arguments.folders:
        runs = []
        for path in sorted(folder.glob("pH_*/**/lambda.csv")):
            record = tomllib.loads((path.parent / "sites.toml").read_text())
            frames = np.genfromtxt(path, delimiter=",", skip_header=1)
            counts = np.histogram(frames[frames[:, 0] > arguments.equilibration, 1], EDGES)[0]
            runs.append((record["ph"], counts.astype(float)))
        if not runs or len(record["site"][0]["forms"]) != 2:
            parser.error(f"{folder}: no runs in pH_*, or the first site has more than two forms")
        site = record["site"][0]
        ln_w = measure(site["coordinate"], arguments.buffers, arguments.metric)
        found = difference(runs, ln_w, site["pka"])
        draws = []
        for _ in range(60):
            drawn = []
            for ph in sorted({ph for ph, _ in runs}):
                mine = [run for run in runs if run[0] == ph]
                drawn += [mine[k] for k in rng.integers(0, len(mine), len(mine))]
            draws.append(difference(drawn, ln_w, site["pka"]))
        pka, error = site["pka"] + found / np.log(10.0), np.std(draws) / np.log(10.0)
        print(f"{folder}: {site['name']}, {site['coordinate']}: pKa {pka:.2f} ± {error:.2f} (model compound {site['pka']})", flush=True)


if __name__ == "__main__":
    main()
