"""Coulomb energy of a structure whose titratable residue carries its deprotonated charges: net charge −1, uniform background.

    python3 deprotonated.py ../01-glu/glu GLH ../../tests/reference/glu-deprotonated.json       (needs numpy and gmx_d)

Charges: those of GLU or ASP of AMBER99SB-ILDN, the hydrogen that is left over is 0. GROMACS (PME, double) adds the energy of the
background, −k_e π Q²/(2 V β²); so does ewald.py. Both are stored; all charges of the residue are in the file.
"""
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import reference

BACKBONE = {"N": -0.5163, "H": 0.2936, "C": 0.5366, "O": -0.5819}
CHARGES = {
    "GLH": BACKBONE
    | {"CA": 0.0397, "HA": 0.1105, "CB": 0.0560, "HB1": -0.0173, "HB2": -0.0173, "CG": 0.0136, "HG1": -0.0425, "HG2": -0.0425}
    | {"CD": 0.8054, "OE1": -0.8188, "OE2": -0.8188, "HE2": 0.0},
    "ASH": BACKBONE
    | {"CA": 0.0381, "HA": 0.0880, "CB": -0.0303, "HB1": -0.0122, "HB2": -0.0122}
    | {"CG": 0.7994, "OD1": -0.8014, "OD2": -0.8014, "HD2": 0.0},
}


def recharged(path, residue, target):
    """Copy of the topology to `target` with the charges of `residue` replaced."""
    section, lines = None, []
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] == "[":
            section = words[1]
        elif words and section == "atoms" and words[3] == residue:
            words[6] = str(CHARGES[residue][words[4]])
        lines.append(" ".join(words))
    target.write_text("\n".join(lines) + "\n")


def main():
    stem, residue, target = Path(sys.argv[1]).resolve(), sys.argv[2], Path(sys.argv[3])
    gro = stem.with_suffix(".gro")
    _, x, edges = reference.read_gro(gro)
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "deprotonated.top"
        recharged(stem.with_suffix(".top"), residue, top)
        charges, excluded, _ = reference.read_charges(top)
        energies, _ = reference.single_point(gro, reference.bare(top, folder, True), reference.PME)
    exact, _ = reference.exact_coulomb(x, charges, edges, excluded, 5.8)
    again, _ = reference.exact_coulomb(x, charges, edges, excluded, 6.4)
    pme = energies["Coulomb (SR)"] + energies["Coul. recip."]
    result = {
        "description": "Coulomb energy (kJ/mol, tin-foil, background included, without 1-4 pairs) with the deprotonated charges of one residue",
        "structure": gro.name,
        "topology": stem.with_suffix(".top").name,
        "residue": residue,
        "charges": CHARGES[residue],
        "net_charge": float(round(charges.sum(), 12)),
        "provenance": {"command": "inputs/make/deprotonated.py", "program": reference.version(), "pme": reference.PME},
        "coulomb": {
            "ewald": exact * reference.K_E,
            "relative_change_with_beta": abs(again - exact) / abs(exact),
            "gromacs": pme,
            "gromacs_relative_difference": abs(pme / reference.K_E - exact) / abs(exact),
        },
        "coulomb_14": energies["Coulomb-14"],
    }
    target.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["coulomb"], indent=1), np.sum(charges))


if __name__ == "__main__":
    main()
