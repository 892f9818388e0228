"""Heavy-atom coordinates of a capped peptide ACE-X1-...-Xn-NME as PDB, for `gmx pdb2gmx -ignh`.

With --n-terminus X1 has no cap in front of it, with --c-terminus there is a second oxygen (OC1, OC2) in place of NME.

PeptideBuilder (PyPI) places one glycine more at either end of the sequence; what these two glycines share
with the caps becomes the caps: CA, C, O of the first are CH3, C, O of ACE; N, CA of the last are N, CH3 of NME.

    pip install PeptideBuilder==1.1.0 numpy
    python3 peptide.py --name E=GLH --phi -120 --psi 140 E > glu.pdb

Names given with --name replace the residue name of that one-letter code (GLH, ASH: protonated Glu, Asp).
Coordinates in Å, angles in degrees.
"""
import argparse

import PeptideBuilder
from Bio.Data.IUPACData import protein_letters_1to3
from PeptideBuilder import Geometry

CAP = {"CA": "CH3"}


def build(sequence, phi, psi):
    """PeptideBuilder structure of G + sequence + G with equal (phi, psi) everywhere."""
    structure = None
    for code in "G" + sequence + "G":
        geometry = Geometry.geometry(code)
        geometry.phi, geometry.psi_im1, geometry.omega = phi, psi, 180.0
        if structure is None:
            structure = PeptideBuilder.initialize_res(geometry)
        else:
            PeptideBuilder.add_residue(structure, geometry)
    return list(structure.get_residues())


def capped_atoms(residues, names, n_terminus, c_terminus):
    """(residue name, residue number, atom name, position) with the outer glycines turned into caps or ends."""
    last = len(residues) - 1
    for number, residue in enumerate(residues):
        kept = {0: () if n_terminus else ("CA", "C", "O"), last: ("N", "CA")}.get(number)
        resname = {0: "ACE", last: "NME"}.get(number, names.get(residue.resname, residue.resname))
        ends = c_terminus and number == last - 1
        for atom in residue:
            if kept is None:
                yield resname, number + 1, "OC1" if ends and atom.name == "O" else atom.name, atom.coord
            elif c_terminus and number == last and atom.name == "N":
                yield name, number, "OC2", atom.coord
            elif atom.name in kept and not (c_terminus and number == last):
                yield resname, number + 1, CAP.get(atom.name, atom.name), atom.coord
        name = resname


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sequence", help="one-letter codes between the caps")
    parser.add_argument("--phi", type=float, default=-120.0)
    parser.add_argument("--psi", type=float, default=140.0)
    parser.add_argument("--name", action="append", default=[], metavar="CODE=RES", help="e.g. E=GLH")
    parser.add_argument("--n-terminus", action="store_true", help="no cap in front")
    parser.add_argument("--c-terminus", action="store_true", help="a carboxyl group at the end")
    options = parser.parse_args()
    names = {protein_letters_1to3[code].upper(): resname for code, resname in (item.split("=") for item in options.name)}
    atoms = capped_atoms(build(options.sequence, options.phi, options.psi), names, options.n_terminus, options.c_terminus)
    for serial, (resname, number, name, (x, y, z)) in enumerate(atoms, start=1):
        print(f"ATOM  {serial:5d}  {name:<3s} {resname:<4s}A{number:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           {name[0]}")
    print("END")


if __name__ == "__main__":
    main()
