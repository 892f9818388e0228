"""The hand of amino acids: L at CA, and that of Thr and Ile at CB.

A centre with the neighbours a, b, c has the right hand if (a × b) · c > 0: N, C, CB at CA, and CA, OG1 or CG1, CG2 at CB. Positions in nm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import named
from ..words import listed
from .report import Report

BOND = 0.153
"""nm, between two carbons."""

HALF = np.radians(54.75)
"""Half of the angle between two of four neighbours of a tetrahedron."""

BRANCH = {"THR": "OG1", "ILE": "CG1"}
"""Residues whose CB has a hand, and the branch beside CG2 that comes first."""


def triple(a: np.ndarray, b: np.ndarray, c: np.ndarray, centre: np.ndarray) -> float:
    """(a × b) · c of three neighbours about their centre, nm³: some 0.0025 of four single bonds."""
    return float(np.dot(np.cross(a - centre, b - centre), c - centre))


def third(a: np.ndarray, b: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """The place of a neighbour c of a tetrahedral centre for which (a × b) · c > 0."""
    u, v = ((one - centre) / np.linalg.norm(one - centre) for one in (a, b))
    between, across = -(u + v), np.cross(u, v)
    step = np.cos(HALF) * between / np.linalg.norm(between) + np.sin(HALF) * across / np.linalg.norm(across)
    return np.asarray(centre + BOND * step)


def is_d(atoms: Mapping[str, Any]) -> bool:
    """Whether CB is on the side of a D amino acid. `atoms`: places by names; without a CB it is not."""
    return {"N", "CA", "C", "CB"} <= atoms.keys() and triple(*(np.array(atoms[name]) for name in ("N", "C", "CB", "CA"))) < 0


def is_turned(name: str, atoms: Mapping[str, Any]) -> bool:
    """Whether the branches at the CB of Thr or Ile are the wrong way round."""
    if name not in BRANCH or not {"CA", "CB", "CG2", BRANCH[name]} <= atoms.keys():
        return False
    return triple(*(np.array(atoms[one]) for one in ("CA", BRANCH[name], "CG2", "CB"))) < 0


def check(topology: Any, positions: np.ndarray, report: Report, has_maps: bool = False) -> None:
    """Warns of residues of the other hand, which are those of the file: force fields have one set of parameters for both. `has_maps`: whether energies of the backbone's torsions
    (CMAP) are among them, which a D amino acid would need mirrored."""
    places = {residue: {atom.name: positions[atom.index] for atom in residue.atoms()} for residue in topology.residues()}
    # A last residue whose end titrates has a letter before its name.
    hands = ((is_d(atoms), is_turned(residue.name[-3:], atoms), residue) for residue, atoms in places.items())
    found = [f"{named(residue)} ({'D at CA' if d else 'at CB'})" for d, turned, residue in hands if d or turned]
    if found:
        maps = "; the maps of backbone torsions (CMAP) of this force field are those of L amino acids, and ff14SB has none" if has_maps and any("D at CA" in one for one in found) else ""
        report.warn(f"{listed(found, 4)} {'are' if len(found) > 1 else 'is'} of the other hand in the file and {'stay' if len(found) > 1 else 'stays'} so: look whether that is meant{maps}")
