"""The hand of amino acids where atoms are built: L at CA, and that of Thr and Ile at CB.

PDBFixer puts what is missing of a residue where there is room and minimises it without hydrogens and without a term for its hand: behind a CA that has no CB either hand comes
out, and either one of the two branches at the CB of Thr and Ile. So CB is placed here before, and branches that were built the wrong way round are turned after it.
Atoms that were seen stay where they are. A centre with the neighbours a, b, c has the right hand if (a × b) · c > 0: N, C, CB at CA, and CA, OG1 or CG1, CG2 at CB. Positions in nm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ..errors import named
from .entry import Residue
from .report import Report, listed

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


def missing_cb(residue: Residue) -> np.ndarray | None:
    """Where the CB of a residue belongs that has none; none for Gly, and where the backbone does not tell."""
    if residue.name == "GLY" or residue.atom("CB") is not None:
        return None
    found = [residue.atom(name) for name in ("N", "C", "CA")]
    n, c, ca = (None if atom is None else np.array(atom.position) for atom in found)
    return None if n is None or c is None or ca is None else third(n, c, ca)


def is_d(atoms: Mapping[str, Any]) -> bool:
    """Whether CB is on the side of a D amino acid. `atoms`: places by names; without a CB it is not."""
    return {"N", "CA", "C", "CB"} <= atoms.keys() and triple(*(np.array(atoms[name]) for name in ("N", "C", "CB", "CA"))) < 0


def is_turned(name: str, atoms: Mapping[str, Any]) -> bool:
    """Whether the branches at the CB of Thr or Ile are the wrong way round."""
    if name not in BRANCH or not {"CA", "CB", "CG2", BRANCH[name]} <= atoms.keys():
        return False
    return triple(*(np.array(atoms[one]) for one in ("CA", BRANCH[name], "CG2", "CB"))) < 0


def turn(name: str, atoms: dict[str, np.ndarray], seen: Collection[str]) -> None:
    """Turns branches at the CB of Thr or Ile that are the wrong way round, as far as they were not `seen`."""
    if not is_turned(name, atoms):
        return
    first, cb = BRANCH[name], atoms["CB"]
    built = [one for one in (first, "CG2", "CD1") if one in atoms and one not in seen]
    if first in built and "CG2" in built:
        # Each takes the place of the other, by a mirror through CB between them.
        normal = atoms[first] - atoms["CG2"]
        normal /= np.linalg.norm(normal)
        for one in built:
            atoms[one] = atoms[one] - 2 * np.dot(atoms[one] - cb, normal) * normal
    elif "CG2" in built:
        atoms["CG2"] = third(atoms["CA"], atoms[first], cb)
    elif first in built:
        step = third(atoms["CG2"], atoms["CA"], cb) - atoms[first]
        for one in built:
            atoms[one] = atoms[one] + step


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
