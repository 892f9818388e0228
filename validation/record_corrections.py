#!/usr/bin/env python3
"""Puts V_MM of the library into the sites.toml of thinned runs that were made before runs recorded it, so that `octitrate pka` takes their frames to the pure forms.

    tar xf validation/results/2lzt-charmm36m-forms/runs_1.tar.xz
    python3 validation/record_corrections.py runs_1
    octitrate pka runs_1 --finite-box validation/results/2lzt-charmm36m-forms/finite_box.csv --compare validation/measured.csv --entry 2LZT

Runs with CHARMM36m and the corrections that come with octitrate. Free energies of the forms are those that the run recorded, with the offset of a site; the buffer has the
correction of one molecule as often as it has molecules.
"""

import pathlib
import sys
import tomllib

CORRECTIONS = pathlib.Path(__file__).parent.parent / "python/octitrate/corrections/charmm36m-tip3p"


def polynomial(site):
    """Degrees and coefficients of a site, or of the buffer; none of a site without V_MM."""
    file = CORRECTIONS / f"{site['entry']}.toml"
    if not file.exists() or (site["kind"] == "titratable" and "free_energies" not in site):
        return None
    entry = tomllib.loads(file.read_text(encoding="utf-8"))
    residue = site["name"].split()[-2:][0]
    there = [one for one in entry.get("elsewhere", []) if residue in one["residues"]]
    correction = (there[0] if there else entry)["correction"]
    coefficients = [number * len(site.get("molecules", [0])) for number in correction["coefficients"]]
    if site["kind"] == "titratable":
        coefficients = [*site["free_energies"][1:], *coefficients[len(site["forms"]) - 1 :]]
    return correction["degree"], correction.get("interior_degree", 0), coefficients


def with_corrections(text):
    head, *tables = text.split("[[site]]\n")
    for table, site in zip(tables, tomllib.loads(text)["site"]):
        found = None if "correction" in site else polynomial(site)
        if found:
            lines = "[site.correction]\ndegree = {}\ninterior_degree = {}\ncoefficients = {}\n\n".format(*found)
            at = table.find("[site.conditions]")
            table = table[:at] + lines + table[at:] if at >= 0 else f"{table.rstrip()}\n\n{lines}"
        head += f"[[site]]\n{table}"
    return head


def main():
    for folder in sys.argv[1:]:
        for path in pathlib.Path(folder).glob("*/*/sites.toml"):
            text = with_corrections(path.read_text(encoding="utf-8"))
            tomllib.loads(text)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
