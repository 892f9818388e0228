#!/usr/bin/env python3
"""Are groups wrong because they are buried? The heavy atoms within 1 nm of each titrating group in the crystal, and by how much it is too seldom charged.

    .tools/prepare/bin/python3 validation/burial.py

Glu, Asp and His inside of chains of the four proteins with CHARMM36m and bonded terms of each form, with whole charges and with those of ionised groups scaled
(charmm36m-ecc), pure forms, in solution, from the tables in results/; nuclease as the wild type, whose crystal 1STN is. A carboxyl is too seldom charged where its pKa is
too high, a His where it is too low. Then Lys and Tyr of three proteins with scaled charges, by computed less measured pKa.
"""

import csv
import gzip
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
TABLES = {"1pgb": "1pgb-charmm36m-forms", "4pti": "4pti-charmm36m-forms", "2lzt": "2lzt-charmm36m-forms", "1stn": "1stn-charmm36m-forms-2"}
SCALED = {entry: f"{entry}-charmm36m-ecc" for entry in TABLES}
ALKALINE = {entry: f"{entry}-charmm36m-ecc-alkaline" for entry in ("4pti", "2lzt", "1pgb")}
ENDS = {"GL3": ("OE1", "OE2"), "AS3": ("OD1", "OD2"), "HIP": ("ND1", "NE2"), "LYS": ("NZ",), "NLYS": ("NZ",), "TYR": ("OH",)}
"""Atoms in the middle of which a group is."""
WITHIN = 10.0
"""Å."""


def heavy_atoms(entry):
    """Names, residue numbers and places (Å) of the protein in the first model of a file of the PDB."""
    found = []
    with gzip.open(HERE / f"{entry}.pdb.gz", "rt") as file:
        for line in file:
            if line.startswith("ENDMDL"):
                break
            if line.startswith("ATOM") and line[16] in " A" and line[76:78].strip() != "H":
                found.append((line[12:16].strip(), int(line[22:26]), [float(line[k : k + 8]) for k in (30, 38, 46)]))
    names, numbers, places = zip(*found)
    return names, np.array(numbers), np.array(places)


def differences(folder):
    """Site and computed less measured value; His of lysozyme stands in `apart.csv`."""
    for file in (f"{folder}/comparison.csv", f"{folder}/apart.csv"):
        if (HERE / "results" / file).exists():
            with open(HERE / "results" / file, newline="", encoding="utf-8") as rows:
                for row in csv.DictReader(rows):
                    if row["verdict"] == "difference":
                        yield row["site"].split(), float(row["computed − measured"])


def too_seldom_charged(folder):
    """By how much each group is, by its residue and number."""
    for (residue, *number), difference in differences(folder):
        if residue in ENDS:
            yield (residue, int(number[0])), -difference if residue == "HIP" else difference


def surroundings(crystal, residue, number):
    """Heavy atoms of other residues within reach of a group."""
    names, numbers, places = crystal
    own = numbers == number
    middle = np.mean([place for place, name, mine in zip(places, names, own) if mine and name in ENDS[residue]], axis=0)
    return int(((np.linalg.norm(places - middle, axis=1) < WITHIN) & ~own).sum())


def lysines_and_tyrosines():
    """Whether those that are buried are worse."""
    found = {"Lys": [], "Tyr": []}
    for entry, folder in ALKALINE.items():
        crystal = heavy_atoms(entry)
        for (residue, *number), difference in differences(folder):
            if residue in ("LYS", "NLYS", "TYR"):
                count = surroundings(crystal, residue, int(number[0]))
                found["Tyr" if residue == "TYR" else "Lys"].append((count, f"{entry} {residue} {number[0]}", difference))
    print("heavy atoms within 1 nm, computed less measured pKa")
    for name, rows in found.items():
        rows.sort(reverse=True)
        for count, site, error in rows:
            print(f"{site:13}{count:4}{error:+7.2f}")
        counts, _, errors = zip(*rows)
        print(f"{name}, {len(rows)} groups: correlation {np.corrcoef(counts, errors)[0, 1]:.2f}")


def main():
    rows = []
    for entry, folder in TABLES.items():
        crystal = heavy_atoms(entry)
        scaled = dict(too_seldom_charged(SCALED[entry]))
        for (residue, number), error in too_seldom_charged(folder):
            count = surroundings(crystal, residue, number)
            rows.append((count, f"{entry} {residue} {number}", error, scaled[residue, number]))
    rows.sort(reverse=True)
    print("heavy atoms within 1 nm, too seldom charged by (pK units): whole charges, scaled")
    for count, site, *errors in rows:
        print(f"{site:13}{count:4}{errors[0]:+7.2f}{errors[1]:+7.2f}")
    counts = [row[0] for row in rows]
    for name, errors in (("whole", np.array([row[2] for row in rows])), ("scaled", np.array([row[3] for row in rows]))):
        mean = f"mean of the six with most {errors[:6].mean():+.2f}, of the others {errors[6:].mean():+.2f}"
        print(f"{name} charges, {len(rows)} groups: correlation {np.corrcoef(counts, errors)[0, 1]:.2f}; {mean}")
    lysines_and_tyrosines()


if __name__ == "__main__":
    main()
