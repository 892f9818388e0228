"""Which heavy atoms of a protein give a hydrogen to a hydrogen bond, and which take one.

Water and hydroxyl groups do both, and so does His by its tautomer and its proton. Groups that may lose a proton count as they are at pH 7.
"""

from __future__ import annotations

DONORS = {"LYS": {"NZ"}, "ARG": {"NE", "NH1", "NH2"}, "TRP": {"NE1"}, "ASN": {"ND2"}, "GLN": {"NE2"}}
ACCEPTORS = {"ASP": {"OD1", "OD2"}, "GLU": {"OE1", "OE2"}, "ASN": {"OD1"}, "GLN": {"OE1"}}
BOTH = {"SER": {"OG"}, "THR": {"OG1"}, "TYR": {"OH"}, "HIS": {"ND1", "NE2"}}
"""By residue, besides the backbone: atoms that only give a hydrogen, only take one, and do both."""

FAR, NEAR = 0.35, 0.30
"""A partner beyond the first distance (nm) does not count, one within the second counts whole."""


def kind(residue: str, atom: str) -> int | None:
    """+1 for an atom that can only give a hydrogen, −1 for one that can only take it, 0 for one that can do both; none for all others."""
    if (atom == "N" and residue != "PRO") or atom in DONORS.get(residue, ()):
        return 1
    if (residue == "HOH" and atom == "O") or atom in BOTH.get(residue, ()):
        return 0
    if atom in ("O", "OXT") or atom in ACCEPTORS.get(residue, ()):
        return -1
    return None
