#!/usr/bin/env python3
"""A short peptide between caps as a PDB file, such as the pentapeptides in which the pKa values of model compounds were measured (Ac-AAXAA-NH2).

    python3 validation/pentapeptide.py ALA ALA GLU ALA ALA > aaeaa.pdb        # with the Python package of octitrate, its extra `prepare`
    octitrate prepare aaeaa.pdb --force-field ff19SB --sites GLU --ph-range 3:5.5 --padding 1.0 -o FOLDER
"""

import sys

from octitrate.peptide import peptide
from openmm import unit


def main():
    molecule = peptide(["ACE", *sys.argv[1:], "NME"], phi=-75.0, psi=145.0)
    positions = molecule.positions.value_in_unit(unit.angstrom)
    heavy = [atom for atom in molecule.topology.atoms() if atom.element.symbol != "H"]
    for number, atom in enumerate(heavy, 1):
        record = "HETATM" if atom.residue.name in ("ACE", "NME") else "ATOM"
        x, y, z = positions[atom.index]
        print(f"{record:6s}{number:5d}  {atom.name:<3s} {atom.residue.name:3s} A{atom.residue.index + 1:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {atom.element.symbol:>2s}")
    print("END")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
