"""Side chains of Asn, Gln and His the other way round, where hydrogen bonds say so.

X-rays do not tell N from O in an amide, nor N from C in the ring of His: an entry of the PDB has one of two ways to build them, and one of them may be wrong.
A dynamics of nanoseconds does not turn those that are held, and what is near feels a dipole of the wrong sign. Partners that can only give a hydrogen
(backbone N, Lys, Arg, Trp, the N of other amides) or only take one (backbone O, carboxyl groups, the O of other amides) tell: a side chain is turned where its
partners like the other way better by `CLEAR`. Water and hydroxyl groups take and give: they tell N from C, and nothing of an amide. Groups that may lose a proton count as
they are at pH 7. Side chains that were built are not turned, and atoms that were built tell nothing of others: they are a guess (`rotamers`), which knows itself what gives and
what takes a hydrogen. Of 352 side chains that were taken out of crystals and built anew three would have been turned, one to what the crystal has and one away from it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..errors import named
from ..ions import METALS
from .build import Model
from .polar import FAR, NEAR, kind
from .report import Report

SWAPPED = {"ASN": (("OD1", "ND2"),), "GLN": (("OE1", "NE2"),), "HIS": (("ND1", "CD2"), ("CE1", "NE2"))}
"""Atoms that change places."""

CLEAR = 0.8
"""By how many hydrogen bonds the other way must be better."""

BOUND = 0.28
"""A side chain so near to a metal (nm) stays as it is."""


def flip(model: Model, report: Report) -> Model:
    """Turns side chains, says which, and returns the model with their atoms in the other places."""
    positions = np.array(model.positions, dtype=float)
    atoms = list(model.topology.atoms())
    able = [residue for residue in model.topology.residues() if turns(residue, model.guessed)]
    metals = np.array([positions[atom.index] for atom in atoms if atom.residue.name in METALS]).reshape(-1, 3)
    polar = [atom for atom in atoms if kind(atom.residue.name, atom.name) is not None and atom.index not in model.guessed]
    turned: list[Any] = []
    while able:
        gains = [gain(residue, polar, positions, metals) for residue in able]
        best = int(np.argmax(gains))
        if gains[best] < CLEAR:
            break
        residue = able.pop(best)
        turn(residue, positions)
        turned.append((residue, gains[best]))
    if turned:
        report.step("Side chains")
    for residue, better in sorted(turned, key=lambda one: one[0].index):
        report.note(f"the side chain of {named(residue)} is turned by 180°: its hydrogen bonds are better by {better:.1f}")
    return Model(model.topology, positions, model.guessed)


def turns(residue: Any, guessed: Collection[int] = ()) -> bool:
    """Whether a residue has all atoms that would change places, and all of them were seen."""
    names = {atom.name for atom in residue.atoms() if atom.index not in guessed}
    return residue.name in SWAPPED and all(name in names for pair in SWAPPED[residue.name] for name in pair)


def turn(residue: Any, positions: np.ndarray) -> None:
    """Changes the places of the atoms."""
    index = {atom.name: atom.index for atom in residue.atoms()}
    for one, other in SWAPPED[residue.name]:
        positions[[index[one], index[other]]] = positions[[index[other], index[one]]]


def gain(residue: Any, polar: list[Any], positions: np.ndarray, metals: np.ndarray) -> float:
    """By how many hydrogen bonds the side chain would be better off the other way; never, if a metal holds it."""
    mine = [atom for atom in residue.atoms() if any(atom.name in pair for pair in SWAPPED[residue.name])]
    places = positions[[atom.index for atom in mine]]
    if len(metals) and np.linalg.norm(places[:, None] - metals[None], axis=2).min() < BOUND:
        return -np.inf
    others = [atom for atom in polar if atom.residue is not residue]
    distances = np.linalg.norm(places[:, None] - positions[[atom.index for atom in others]][None], axis=2)
    counts = np.clip((FAR - distances) / (FAR - NEAR), 0.0, 1.0)
    kinds = np.array([kind(atom.residue.name, atom.name) for atom in others])
    # An O likes those that give (+1), the N of an amide those that take (−1): in the place of the other each would like what that one does not.
    likes = np.array([1.0 if atom.name[0] == "O" else -1.0 for atom in mine])
    if residue.name != "HIS":
        return float(-(likes @ counts @ kinds))
    # An N of His likes all of them, by its tautomer and its proton, and a C none.
    is_carbon = np.array([atom.name[0] == "C" for atom in mine])
    return float(counts[is_carbon].sum() - counts[~is_carbon].sum())
