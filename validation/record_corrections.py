#!/usr/bin/env python3
"""Puts V_MM of the library into the sites.toml of thinned runs that were made before runs recorded it, so that `octitrate pka` takes their frames to the pure forms.

    tar xf validation/results/2lzt-charmm36m-forms/runs_1.tar.xz
    python3 validation/record_corrections.py runs_1
    octitrate pka runs_1 --finite-box validation/results/2lzt-charmm36m-forms/finite_box.csv --compare validation/measured.csv --entry 2LZT

The corrections are those of CHARMM36m that come with octitrate, or of another folder, which must be those that the runs were made with:

    git archive fabb221 python/octitrate/corrections/ff19SB-opc | tar x -C /tmp
    python3 validation/record_corrections.py --corrections /tmp/python/octitrate/corrections/ff19SB-opc runs_1

Free energies of the forms are those that the run recorded, with the offset of a site; where they are not those of the folder, as at ends with an offset, the script says so. The buffer has the correction of one molecule as often as it has molecules.
"""

import argparse
import pathlib
import tomllib

CORRECTIONS = pathlib.Path(__file__).parent.parent / "python/octitrate/corrections/charmm36m-tip3p"


def polynomial(site, corrections=CORRECTIONS, differences=None):
    """Degrees and coefficients of a site, or of the buffer; none of a site without V_MM. `differences` gets what the free energies of the run have more than the folder."""
    file = corrections / f"{site['entry']}.toml"
    if not file.exists() or (site["kind"] == "titratable" and "free_energies" not in site):
        return None
    entry = tomllib.loads(file.read_text(encoding="utf-8"))
    residue = site["name"].split()[-2:][0]
    there = [one for one in entry.get("elsewhere", []) if residue in one["residues"]]
    correction = (there[0] if there else entry)["correction"]
    coefficients = [number * len(site.get("molecules", [0])) for number in correction["coefficients"]]
    if site["kind"] == "titratable":
        free_energies, others = site["free_energies"][1:], coefficients[len(site["forms"]) - 1 :]
        if differences is not None:
            differences[site["name"]] = [own - known for own, known in zip(free_energies, coefficients)]
        coefficients = [*free_energies, *others]
    return correction["degree"], correction.get("interior_degree", 0), coefficients


def with_corrections(text, corrections, differences):
    head, *tables = text.split("[[site]]\n")
    for table, site in zip(tables, tomllib.loads(text)["site"]):
        found = None if "correction" in site else polynomial(site, corrections, differences)
        if found:
            lines = "[site.correction]\ndegree = {}\ninterior_degree = {}\ncoefficients = {}\n\n".format(*found)
            at = table.find("[site.conditions]")
            table = table[:at] + lines + table[at:] if at >= 0 else f"{table.rstrip()}\n\n{lines}"
        head += f"[[site]]\n{table}"
    return head


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corrections", type=pathlib.Path, default=CORRECTIONS, help="folder of the library entries that the runs had")
    parser.add_argument("folders", nargs="+", type=pathlib.Path, help="folders of runs")
    options = parser.parse_args()
    differences = {}
    for folder in options.folders:
        for path in folder.glob("*/*/sites.toml"):
            text = with_corrections(path.read_text(encoding="utf-8"), options.corrections, differences)
            tomllib.loads(text)
            path.write_text(text, encoding="utf-8")
    for name, numbers in differences.items():
        if max(map(abs, numbers)) > 1e-6:
            print(f"{name}: free energies of the run differ from those of the folder by {', '.join(f'{number:.3f}' for number in numbers)} kJ/mol")


if __name__ == "__main__":
    main()
