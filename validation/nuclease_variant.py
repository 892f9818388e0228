"""The variant of nuclease whose acids were measured, from the entry of the wild type: a PDB file in which `octitrate prepare --gaps build` builds what is not there.

    python3 validation/nuclease_variant.py > dphs.pdb
    octitrate prepare dphs.pdb --gaps build --mutate P111G --mutate H118L --mutate S122A -o FOLDER

Δ+PHS lacks residues 44 to 49 of 1STN and has Phe50, Asn51, Gly117, Leu124 and Ala128 in place of Gly, Val, Pro, His and Ser. Glu43, Phe50 and Asn51 are taken out,
to be built as a loop between Pro42 and Glu52. Residues behind the deletion have numbers that are lower by six: Glu52 is 46 here, Asp77 is 71. `measured.csv` has them
so under DPHS. This is a model: nothing is known here of what the deletion does to the rest of the structure.
"""

import gzip
from pathlib import Path

DELETED = ("THR", "LYS", "HIS", "PRO", "LYS", "LYS")
FIRST = 44
LOOP = [(43, "GLU"), (44, "PHE"), (45, "ASN")]


def main() -> None:
    with gzip.open(Path(__file__).with_name("1stn.pdb.gz"), "rt") as file:
        lines = file.read().splitlines()
    sequence = [name for line in lines if line.startswith("SEQRES") for name in line[19:].split()]
    behind = FIRST - 1 + len(DELETED)
    assert tuple(sequence[FIRST - 1 : behind]) == DELETED and sequence[behind : behind + 2] == ["GLY", "VAL"]
    sequence[FIRST - 1 : behind + 2] = [name for _, name in LOOP[1:]]
    unseen = [*enumerate(sequence[:5], 1), *LOOP, *enumerate(sequence[-8:], len(sequence) - 7)]
    print("REMARK 465   M RES C SSSEQI")
    for number, name in unseen:
        print(f"REMARK 465     {name} A {number:5d}")
    for line in lines:
        if not line.startswith(("ATOM", "TER", "HETATM", "END")):
            continue
        if line.startswith(("ATOM", "TER")):
            number = int(line[22:26])
            if LOOP[0][0] <= number <= behind + 2:
                continue
            if number > behind + 2:
                line = f"{line[:22]}{number - len(DELETED):4d}{line[26:]}"
        print(line)


main()
