"""Ions by their names in the PDB: what they are, and their charges."""

from __future__ import annotations

METALS = {
    "LI": 1, "MG": 2, "AL": 3, "CA": 2, "V": 3, "CR": 3, "MN": 2, "MN3": 3, "FE": 3, "FE2": 2, "CO": 2, "3CO": 3, "NI": 2, "3NI": 3, "CU": 2, "CU1": 1, "ZN": 2, "GA": 3,
    "RB": 1, "SR": 2, "Y1": 2, "YT3": 3, "MO": None, "PD": 2, "AG": 1, "CD": 2, "IN": 3, "CS": 1, "BA": 2, "LA": 3, "CE": 3, "EU": 2, "EU3": 3, "GD": None, "GD3": 3, "TB": 3,
    "YB": 3, "YB2": 2, "LU": 3, "W": 6, "PT": 2, "PT4": 4, "AU": 1, "AU3": 3, "HG": 2, "TL": 1, "PB": 2, "SM": 3, "HO": None, "HO3": 3, "U1": None,
}
"""Ions of metals that proteins bind, or that crystals are soaked in, and the charge (e) that the chemical component dictionary of the wwPDB gives each: iron is `FE` with three
charges and `FE2` with two. Atoms without a charge there have none here."""

SALT = {"NA": 1, "K": 1, "CL": -1, "BR": -1, "IOD": -1, "F": -1, "SOD": 1, "CLA": -1, "POT": 1}
"""Ions of a salt with their charges, `SOD`, `CLA` and `POT` by their names in CHARMM: the salt of the box takes their place."""

ELEMENTS = frozenset(
    "H D He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm "
    "Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Cf".split()
)
"""Symbols of the elements, deuterium among them."""


def element_of_ion(name: str) -> str:
    """The symbol of the element of an ion by its name in the PDB: `FE2` is Fe, `IOD` is I, `K` is K."""
    special = {"IOD": "I", "SOD": "Na", "CLA": "Cl", "POT": "K"}
    letters = "".join(c for c in name if c.isalpha())
    return special.get(name, letters.capitalize())
