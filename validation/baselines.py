#!/usr/bin/env python3
"""PROPKA on the entries as they were deposited, and the null model, against measured values: over the groups of a folder of results of each protein, and over those that have converged there.

    .tools/prepare/bin/python3 validation/baselines.py charmm36m-ecc       # all 45 groups

Mean absolute, root mean square and largest error in pK units. `octitrate prepare` runs PROPKA for what it has made of an entry, whose values are others (`start_pka`).
Needs propka, which `make prepare-tools` fetches.
"""

import argparse
import gzip
import pathlib
import tempfile

import propka.run
from force_fields import averages, lines

HERE = pathlib.Path(__file__).parent
NAMES = {"GL3": "GLU", "ZGL3": "GLU", "AS3": "ASP", "HIP": "HIS", "nterm": "N+", "cterm": "C-"}


def predicted(entry):
    """pKa of the groups of an entry by PROPKA's names and residue numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{entry}.pdb"
        path.write_bytes(gzip.decompress((HERE / f"{entry}.pdb.gz").read_bytes()))
        molecule = propka.run.single(str(path), optargs=["--quiet"], write_pka=False)
    return {(group.residue_type, group.atom.res_num): group.pka_value for group in molecule.conformations["AVR"].get_titratable_groups()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="what names of folders in results/ end with: charmm36m-forms")
    results = parser.parse_args().results
    found, converged = {}, []
    for entry in ("1pgb", "4pti", "2lzt", "1stn"):
        pka = predicted(entry)
        found[entry] = []
        for row in lines(f"{entry}-{results}/comparison"):
            if row["verdict"] == "difference":
                kind, *_, number = row["site"].split()
                found[entry].append((pka[NAMES[kind], int(number)] - float(row["measured"]), float(row["model compound − measured"])))
                if row["converged"] == "yes":
                    converged.append((*found[entry][-1], float(row["computed − measured"])))
    parts = {**{entry: [entry] for entry in found}, "small": ["1pgb", "4pti", "2lzt"], "all": list(found)}
    for label, entries in parts.items():
        by_propka, null = zip(*(pair for entry in entries for pair in found[entry]))
        print(f"{label:6}PROPKA {averages(by_propka)}; null model {averages(null)}")
    if converged:
        by_propka, null, computed = zip(*converged)
        print(f"those that have converged {averages(computed)}; PROPKA {averages(by_propka)}; null model {averages(null)}")


if __name__ == "__main__":
    main()
