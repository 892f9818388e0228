#!/usr/bin/env python3
"""Twelve model compounds for one box, as a PDB file: five of Glu, four of Asp and three of His between caps, on the corners of an icosahedron.

    python3 validation/compounds.py compounds.pdb        # with the Python package of octitrate, its extra `prepare`
    octitrate prepare compounds.pdb --chains all --force-field ff19SB --sites GLU,ASP,HIS --ph-range 2:8 --padding 1.0 -o FOLDER

Their pKa values are known, while box, ions, charge buffer, exchange and settings are those of a protein: what is wrong here is the program or a correction,
and what is wrong in proteins alone is neither.
"""

import itertools
import pathlib
import sys

import numpy
from octitrate.peptide import peptide
from openmm import unit

KINDS = ["GLU"] * 5 + ["ASP"] * 4 + ["HIS"] * 3
RADIUS = 2.0  # nm; neighbours are 2.1 nm apart
SEED = 1  # of who stands where


def corners():
    """Corners of an icosahedron (nm)."""
    golden = (1 + 5**0.5) / 2
    first = [(0.0, one, golden * other) for one, other in itertools.product((1, -1), repeat=2)]
    points = numpy.array([numpy.roll(point, -turn) for turn in range(3) for point in first])
    return points * RADIUS / numpy.linalg.norm(points[0])


def main():
    places = corners()[numpy.random.default_rng(SEED).permutation(len(KINDS))]
    lines = []
    for chain, kind, place in zip("ABCDEFGHIJKL", KINDS, places, strict=True):
        molecule = peptide(["ACE", kind, "NME"])
        x = numpy.array(molecule.positions.value_in_unit(unit.nanometer))
        x = 10 * (x - x.mean(axis=0) + place)
        for atom in molecule.topology.atoms():
            if atom.element.symbol == "H":
                continue
            record = "ATOM  " if atom.residue.name == kind else "HETATM"
            a, b, c = x[atom.index]
            lines.append(
                f"{record}{len(lines) + 1:5d}  {atom.name:<3s} {atom.residue.name:3s} {chain}{atom.residue.index + 1:4d}    {a:8.3f}{b:8.3f}{c:8.3f}  1.00  0.00          {atom.element.symbol:>2s}"
            )
        lines.append(f"TER   {len(lines) + 1:5d}      NME {chain}   3")
    pathlib.Path(sys.argv[1]).write_text("\n".join([*lines, "END", ""]), encoding="ascii")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
