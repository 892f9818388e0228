#!/usr/bin/env python3
"""What a neighbour does to the free energy of an end of a chain, in explicit water: windows at fixed λ of a peptide with it and of one with the cap.

    .tools/prepare/bin/python3 benchmarks/scripts/neighbour_windows.py make FOLDER nterm ALA PRO      # ALA-NME, ALA-PRO-NME: jobs
    for job in FOLDER/*/equilibrate.toml FOLDER/*/window_*.toml; do octitrate run $job; done
    .tools/prepare/bin/python3 benchmarks/scripts/neighbour_windows.py read FOLDER                    # free energies and their difference, kJ/mol

The end is at the first residue named; the second is its neighbour (for `cterm` ACE-ALA and ACE-NEIGHBOUR-ALA). Boxes have edges of 2.6 nm, with ff14SB in TIP3P
and the entry of the end that comes with octitrate; the correction is not used, as λ is fixed. The mean of ∂V/∂λ of each window, without its first 30 ps, has the
error of blocks of 100 ps; a polynomial of degree 2 through the differences of the windows is integrated.

Energies in kJ/mol.
"""

import argparse
import csv
import pathlib

import numpy as np

WINDOWS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
LEFT_OUT, BLOCK = 30.0, 100.0  # ps
DEGREE = 2


def job(structure, extra, duration, seed, entry, residue, weights, folder):
    return f"""[system]
structure = "{structure}"
topology = "system.xml"

{extra}[dynamics]
duration = "{duration}"
time_step = "4 fs"
hydrogen_mass = "3 u"
seed = {seed}

[thermostat]
temperature = "300 K"

[titration]
allow_uncalibrated = true
library = ["library/{entry}.toml"]

[[titration.site]]
residue = "{residue}"
entry = "{entry}"
fixed = {weights}

[titration.buffer]
distance = "0.8 nm"

[output]
folder = "{folder}"
lambda = "0.1 ps"
trajectory = "0 ps"
energy = "10 ps"
"""


def make(folder, end, residue, neighbour, duration):
    import octitrate.model_compound as model_compound
    from octitrate.entries import entry
    from octitrate.prepare.structure import gro
    from octitrate.residues import TitratableForceField
    from openmm import XmlSerializer

    model_compound.EDGE = 2.6
    ff = TitratableForceField("ff14SB", "tip3p")
    peptides = {"cap": (residue, "NME"), "neighbour": (residue, neighbour, "NME")}
    if end == "cterm":
        peptides = {"cap": ("ACE", residue), "neighbour": ("ACE", neighbour, residue)}
    for name, residues in peptides.items():
        site = 0 if end == "nterm" else len(residues) - 1
        model, system = model_compound.solvated(model_compound.Compound(residues, site, end, end), ff)
        place = folder / name
        (place / "library").mkdir(parents=True)
        (place / "system.gro").write_text(gro("-".join(residues), model))
        (place / "system.xml").write_text(XmlSerializer.serialize(system))
        (place / "library" / f"{end}.toml").write_text(entry(ff, end))
        called = list(model.topology.residues())[site]
        weights = (lambda x: f"[{1 - x:g}, 0.0, {x:g}]") if end == "cterm" else str
        rest = (end, f"{called.name} {called.id}")
        start = '[minimise]\n\n[barostat]\npressure = "1 bar"\n\n'
        (place / "equilibrate.toml").write_text(job("system.gro", start, "60 ps", 1, *rest, weights(0.5), "equilibrate"))
        for number, x in enumerate(WINDOWS):
            text = job("equilibrate/final.gro", "", duration, number + 2, *rest, weights(x), f"window_{x:g}")
            (place / f"window_{x:g}.toml").write_text(text)


def mean(table):
    """Mean of ∂V/∂λ of the form without its proton less that of the form with it, and the error of blocks."""
    rows = list(csv.reader(open(table)))
    columns = [k for k, name in enumerate(rows[0]) if name.startswith("dV") and "buffer" not in name]
    numbers = np.array([[float(row[k]) for k in [0, *columns]] for row in rows[1:]])
    numbers = numbers[numbers[:, 0] > LEFT_OUT]
    slope = numbers[:, 1] if len(columns) == 1 else numbers[:, 3] - numbers[:, 1]
    blocks = max(6, int((numbers[-1, 0] - LEFT_OUT) / BLOCK))
    parts = slope[: len(slope) // blocks * blocks].reshape(blocks, -1).mean(1)
    return slope.mean(), parts.std(ddof=1) / blocks**0.5


def read(folder):
    cap, other = (np.array([mean(folder / name / f"window_{x:g}" / "lambda.csv") for x in WINDOWS]) for name in ("cap", "neighbour"))
    found, errors = other[:, 0] - cap[:, 0], np.hypot(cap[:, 1], other[:, 1])
    for x, value, error in zip(WINDOWS, found, errors):
        print(f"λ {x:4g}   {value:7.2f} ± {error:.2f}")
    weighted = np.vander(WINDOWS, DEGREE + 1, increasing=True) / errors[:, None]
    covariance = np.linalg.inv(weighted.T @ weighted)
    coefficients = covariance @ weighted.T @ (found / errors)
    integral = 1 / np.arange(1, DEGREE + 2)
    misfit = ((found / errors - weighted @ coefficients) ** 2).sum() / (len(WINDOWS) - DEGREE - 1)
    print(f"neighbour less cap {integral @ coefficients:.2f} ± {(integral @ covariance @ integral) ** 0.5:.2f} kJ/mol, χ² {misfit:.1f} per degree of freedom")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("folder", type=pathlib.Path)
    making.add_argument("end", choices=("nterm", "cterm"))
    making.add_argument("residue", help="the residue with the end, by three letters")
    making.add_argument("neighbour", help="its neighbour")
    making.add_argument("--duration", default="1800 ps", help="of each window (default: 1800 ps)")
    reading = commands.add_parser("read")
    reading.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.command == "make":
        make(arguments.folder, arguments.end, arguments.residue, arguments.neighbour, arguments.duration)
    else:
        read(arguments.folder)


if __name__ == "__main__":
    main()
