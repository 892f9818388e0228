"""Coulomb energy of a structure whose titratable residue carries its deprotonated charges: net charge −1, uniform background.

    python3 deprotonated.py ../01-glu/glu ../../lambda/library/glu.toml ../../tests/reference/glu-deprotonated.json

The charges are those of the second form in octitrate's library, so this is what λ = 1 must give. GROMACS (PME, double) adds
the energy of the background, −k_e π Q²/(2 V β²); so does ewald.py. Both are stored, and the charges. Needs numpy and gmx_d.
"""
import json
import sys
import tempfile
import tomllib
from pathlib import Path

import reference


def recharged(path, residues, charges, target):
    """Copy of the topology to `target` with the charges of the residues of these names replaced."""
    section, lines = None, []
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] == "[":
            section = words[1]
        elif words and section == "atoms" and words[3] in residues:
            words[6] = str(charges[words[4]])
        lines.append(" ".join(words))
    target.write_text("\n".join(lines) + "\n")


def main():
    stem, library, target = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), Path(sys.argv[3])
    gro = stem.with_suffix(".gro")
    entry = tomllib.loads(library.read_text())
    form = {atom: forms[1] for atom, forms in entry["charges"].items()}
    _, x, edges = reference.read_gro(gro)
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "deprotonated.top"
        recharged(stem.with_suffix(".top"), entry["residues"], form, top)
        charges, excluded, _ = reference.read_charges(top)
        energies, _ = reference.single_point(gro, reference.bare(top, folder, True), reference.PME)
    exact, _ = reference.exact_coulomb(x, charges, edges, excluded, 5.8)
    again, _ = reference.exact_coulomb(x, charges, edges, excluded, 6.4)
    pme = energies["Coulomb (SR)"] + energies["Coul. recip."]
    result = {
        "description": "Coulomb energy (kJ/mol, tin-foil, background included, without 1-4 pairs) with the deprotonated charges of one residue",
        "structure": gro.name,
        "topology": stem.with_suffix(".top").name,
        "charges": form,
        "net_charge": float(round(charges.sum(), 12)) + 0.0,
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
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
