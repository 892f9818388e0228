#!/usr/bin/env python3
"""A short peptide between caps as a PDB file, such as the pentapeptides in which the pKa values of model compounds were measured (Ac-AAXAA-NH2).

    python3 validation/pentapeptide.py ALA ALA GLU ALA ALA > aaeaa.pdb        # with the Python package of octitrate, its extra `prepare`
    octitrate prepare aaeaa.pdb --force-field ff19SB --sites GLU --ph-range 3:5.5 --padding 1.0 -o FOLDER
"""

import sys

from octitrate.peptide import peptide
from openmm.app import PDBFile


def main():
    molecule = peptide(["ACE", *sys.argv[1:], "NME"], phi=-75.0, psi=145.0)
    PDBFile.writeFile(molecule.topology, molecule.positions, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
