"""Charges of ionised groups that are scaled, for the electronic screening that force fields of fixed charges lack.

Charges of water and of neutral groups in such force fields were fitted in condensed matter and hold its electronic polarisation; those of ionised groups and ions are
whole, as in a vacuum. In a medium of the electronic permittivity ε_el two charges interact by q₁q₂/ε_el, that is as charges q/√ε_el, which is 0.75 q for the 1.78 of
water (Leontyev, Stuchebrukhov, arXiv:1505.04576 and PMC4106032). What the electrons of the medium give to a single charge they give to it in the water of the model
compound as well, so that it is in the correction V_MM.

All charges of an ionised group are multiplied, so that it keeps its shape; neutral forms keep theirs. `GROUPS` are the groups of CHARMM: charges of each sum to a whole
elementary charge. Lennard-Jones parameters and NBFIX are those of the whole charges.
"""

from __future__ import annotations

from typing import Any

from .errors import Refused

GROUPS = {
    "ASP": "CB HB1 HB2 CG OD1 OD2",
    "GLU": "CG HG1 HG2 CD OE1 OE2",
    "LYS": "CE HE1 HE2 NZ HZ1 HZ2 HZ3",
    "ARG": "CD HD1 HD2 NE HE CZ NH1 HH11 HH12 NH2 HH21 HH22",
    "HSP": "CB HB1 HB2 CG CD2 HD2 ND1 HD1 CE1 HE1 NE2 HE2",
}
"""Residues of CHARMM that have a charge, each with the atoms of its ionised group."""

PATCHES = ("NTER", "GLYP", "PROP", "CTER", "CYSD", "SERD")
"""Patches of CHARMM that make an ionised group of all atoms that they name."""


def scale(forcefield: Any, by: float) -> None:
    """Multiplies the charges of ionised groups and of ions of an `openmm.app.ForceField` of CHARMM. Raises `Refused` where this version of OpenMM has other groups."""
    for name, atoms in GROUPS.items():
        names = atoms.split()
        _scale([atom for atom in forcefield._templates[name].atoms if atom.name in names], by, name)
    for name, template in forcefield._templates.items():
        if len(template.atoms) == 1 and template.atoms[0].parameters.get("charge"):
            _scale(template.atoms, by, name)
    for name, patch in forcefield._patches.items():
        if name.rsplit("_", 1)[0] in PATCHES:
            _scale([atom for of_residue in (*patch.addedAtoms, *patch.changedAtoms) for atom in of_residue], by, name)


def _scale(atoms: list[Any], by: float, of: str) -> None:
    total = sum(float(atom.parameters["charge"]) for atom in atoms)
    if abs(total - round(total)) > 1e-6 or round(total) == 0:
        raise Refused(
            f"this version of OpenMM gives the ionised group of {of} a charge of {total:.3f} e, where it is a whole one",
            "take charmm36m, or the version of OpenMM that octitrate asks for; and please report it",
        )
    for atom in atoms:
        atom.parameters = {**atom.parameters, "charge": float(atom.parameters["charge"]) * by}
