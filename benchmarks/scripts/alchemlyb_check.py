#!/usr/bin/env python3
"""Reads the Parquet files of octitrate with alchemlyb and compares free energies with exact ones, for a synthetic titration and synthetic windows.

    pip install alchemlyb pyarrow
    python3 alchemlyb_check.py OCTITRATE [CALIBRATION]

OCTITRATE: the program. CALIBRATION: folder of a finished `octitrate calibrate` of a site of two forms, whose windows are integrated as well.

1. u_nk.parquet: λ of a group of pKa 4.6 (reference 4.25) is drawn at six pH values, the runs are written as octitrate writes them, evaluated by
   `octitrate pka`, and MBAR over the pH must give f(pH) = -ln(1 + 10^(pH - 4.6)) between all of them, within four of its own errors.
2. dhdl.parquet of the windows of a calibration: TI must give the difference of the free energies at λ = 0 and 1 that the trapezoidal rule gives from
   calibration.csv, which octitrate wrote.

Exits with a message if a number is wrong. Last run with alchemlyb 2.5.0, pandas 3.1.1, pymbar 4.0.3.
"""

import csv
import pathlib
import subprocess
import sys
import tempfile

import numpy
import pandas
from alchemlyb.estimators import MBAR, TI
from alchemlyb.parsing.parquet import extract_dHdl, extract_u_nk

REFERENCE, TRUE = 4.25, 4.6
PH = [3.0, 3.75, 4.5, 5.25, 6.0, 6.75]
FRAMES = 4000
TEMPERATURE = 300.0
SITES = """ph = {ph}
temperature = {temperature}

[[site]]
name = "GLU 2"
entry = "glu"
kind = "titratable"
coordinate = "linear"
pka = {pka}
barrier = 5.0

[[site.forms]]
name = "GLH"
protons_lost = 0
charge = 0.0
pk = 0.0

[[site.forms]]
name = "GLU"
protons_lost = 1
charge = -1.0
pk = {pka}
"""


def write_run(folder, ph, random):
    folder.mkdir(parents=True)
    (folder / "sites.toml").write_text(SITES.format(ph=ph, temperature=TEMPERATURE, pka=REFERENCE))
    deprotonated = random.random(FRAMES) < 1 / (1 + 10 ** (TRUE - ph))
    with open(folder / "lambda.csv", "w") as file:
        file.write("time (ps),lambda GLU 2,dV/dlambda GLU 2 (kJ/mol)\n")
        for frame, value in enumerate(deprotonated):
            file.write(f"{frame},{float(value):.6f},0.0000\n")


def check_titration(octitrate):
    random = numpy.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        runs = [folder / f"pH_{ph:.2f}" / "replica_1" for ph in PH]
        for run, ph in zip(runs, PH):
            write_run(run, ph, random)
        subprocess.run([octitrate, "pka", folder, "--draws", "50"], check=True, stdout=subprocess.DEVNULL)
        assert not (runs[0] / "dhdl.parquet").exists(), "λ moves: there must be no dhdl.parquet"
        u_nk = pandas.concat([extract_u_nk(run / "u_nk.parquet", T=TEMPERATURE) for run in runs])
    u_nk.attrs = {"temperature": TEMPERATURE, "energy_unit": "kT"}
    assert list(u_nk.columns) == PH and u_nk.index.names == ["time", "pH"], (u_nk.columns, u_nk.index.names)
    mbar = MBAR().fit(u_nk)
    exact = -numpy.log(1 + 10 ** (numpy.array(PH) - TRUE))
    for state in range(1, len(PH)):
        found, error = mbar.delta_f_.iloc[0, state], mbar.d_delta_f_.iloc[0, state]
        wanted = exact[state] - exact[0]
        print(f"pH {PH[0]} to {PH[state]}: MBAR {found:.4f} ± {error:.4f} kT, exact {wanted:.4f}")
        if abs(found - wanted) > 4 * error:
            sys.exit("MBAR over pH is wrong")


def check_windows(folder):
    dhdl = extract_dHdl(folder / "dhdl.parquet", T=TEMPERATURE)
    names = dhdl.index.names
    assert names[0] == "time" and names[1:] == [f"{name}-lambda" for name in dhdl.columns], names
    rt = 8.31446261815324e-3 * TEMPERATURE
    site = dhdl.columns[0]
    # The buffer does work of its own, which calibration.csv leaves out: the site alone.
    ti = TI().fit(dhdl[[site]].droplevel([name for name in names[2:]]))
    with open(folder / "calibration.csv") as file:
        rows = list(csv.DictReader(file))
    lambdas = numpy.array([float(row["lambda"]) for row in rows])
    slopes = numpy.array([float(row["dV/dlambda (kJ/mol)"]) for row in rows])
    order = numpy.argsort(lambdas)
    wanted = numpy.trapezoid(slopes[order], lambdas[order]) / rt
    found = ti.delta_f_.iloc[0, -1]
    print(f"windows from λ = {lambdas.min()} to {lambdas.max()}: TI {found:.4f} kT, trapezoidal rule {wanted:.4f} kT")
    # calibration.csv has four decimals or more.
    if abs(found - wanted) > 1e-3:
        sys.exit("TI of the windows is wrong")
    whole = TI().fit(dhdl).delta_f_.iloc[0, -1]
    print(f"together with the buffer: {whole:.4f} kT")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    check_titration(sys.argv[1])
    if len(sys.argv) == 3:
        check_windows(pathlib.Path(sys.argv[2]))
    print("all numbers are right")
