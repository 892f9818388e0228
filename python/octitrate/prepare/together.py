"""Whether the two files of a finished system belong together: the same atoms in the same order, by their names and by the lengths of bonds.

OpenMM takes positions by their place in the file. With atoms in another order it makes a system without a word, whose energy is enormous at best.

Programs call one atom differently: hydrogens have other numbers (HB1 for HB2), and water, ions, caps and ends of chains have other names. Such names are taken where the
atoms of a residue are not the same names in another order. A bond is too long beyond 0.25 nm, and where its term has a length beyond 1.25 times that: the nearest image
counts, so that molecules which a periodic box has cut are whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openmm
from openmm import unit

from ..errors import Refused, named
from ..ions import METALS, SALT, element_of_ion
from ..words import counted, listed
from . import names
from .report import Report

Names = list[tuple[str, str]]
"""Residue and name of every atom."""

LONGEST = 0.25
"""nm; bonds are shorter, also between sulfur and a heavy metal, and an atom beside the right one is mostly farther away."""

STRETCHED = 1.25
"""Of the length of a bond whose term has a longer one."""

WHAT_TO_DO = "take both files from the same step of the same program, with the same atoms in the same order"


def check_names(topology: Any, ours: Names, theirs: Names, width: int, files: list[Path], report: Report) -> None:
    """Refuses coordinates (`theirs`) whose atoms have other names than those of the topology (`ours`), of which as many characters count as their file has room for (`width`).

    Names of residues that mean two amino acids, ions or water are as bad; of others it is said that they differ.
    """
    wrong: list[str] = []
    renamed: list[str] = []
    called: list[str] = []
    for residue in topology.residues():
        here = [atom.index for atom in residue.atoms()]
        if all(ours[k] == theirs[k] for k in here):
            continue
        pairs = [(_head(ours[k][1], width), _head(theirs[k][1], width)) for k in here]
        differ = [k for k, (a, b) in zip(here, pairs) if a != b]
        is_other_order = sorted(a for a, _ in pairs) == sorted(b for _, b in pairs)
        kinds = [{_kind(_head(one[k][0], width)) for one in (ours, theirs)} for k in here]
        for k, kind in zip(here, kinds):
            said = f"atom {k + 1} is {ours[k][1]} of {named(residue)} in {files[0].name} and {theirs[k][1]} of {theirs[k][0]} in {files[1].name}"
            is_one_kind = len(kind) == 1
            if not is_one_kind and all(_is_known(one) for one in kind):
                wrong.append(said)
            elif k not in differ:
                called += [] if is_one_kind else [f"{ours[k][0]} is {theirs[k][0]}"]
            elif is_other_order or not _alike(next(iter(kind)) if is_one_kind else "", *(_head(one[k][1], width) for one in (ours, theirs))):
                wrong.append(said)
            else:
                renamed.append(f"{ours[k][1]} of {named(residue)} is {theirs[k][1]}")
    if wrong:
        raise Refused(
            f"{files[1]}: the names of {counted(len(wrong), 'atom')} of {len(ours)} are not those of {files[0]}: {wrong[0]}{'' if len(wrong) == 1 else ', the first of them'}; "
            "positions go by the order of atoms, which is not the same in both files",
            WHAT_TO_DO,
        )
    if renamed:
        report.note(f"{counted(len(renamed), 'atom')} {'has another name' if len(renamed) == 1 else 'have other names'} in {files[1].name}, which mean the same ({renamed[0]}): those of {files[0].name} are taken")
    if called:
        report.warn(f"residues have other names in {files[1].name} ({listed(list(dict.fromkeys(called)), 6)}), and their atoms the same: those of {files[0].name} are taken")


def _head(name: str, width: int) -> str:
    return name.upper().replace("*", "'")[:width]


def _kind(residue: str) -> str:
    """The name in the PDB of an amino acid, water or an ion, whatever its form or its program calls it; any other name as it is."""
    if residue in names.WATER:
        return "HOH"
    if residue in SALT:
        return element_of_ion(residue).upper()
    return "NME" if residue in names.METHYLAMIDE else names.known_as(residue)


def _is_known(kind: str) -> bool:
    return kind in names.SIDE_CHAINS or kind in names.CAPS or kind in ("HOH", "I") or kind in SALT or kind in METALS


def _alike(kind: str, a: str, b: str) -> bool:
    """Whether two names are known to mean one atom of this kind of residue, whose names are not the same in both files."""
    stem, other = (name.strip("0123456789'") for name in (a, b))
    if kind in ("HOH", *names.CAPS):  # OW and OH2, HW1 and H1, MW and EPW; CH3 and CA
        return stem[:1] == other[:1] or not {stem[:1], other[:1]} & {"H", "O", "C", "N"}
    if kind in SALT or kind in METALS or kind == "I":
        return True
    if stem[:1] == other[:1] == "H":
        same = {"HN": "H", "HT": "H"}
        bare, without = ("".join(c for c in name if c.isalpha()) for name in (a, b))
        return same.get(bare, bare) == same.get(without, without)
    if kind not in names.SIDE_CHAINS:
        return False
    usual, whole = (names.ATOM_SAME.get(name, name) for name in (a, b))
    return usual == whole or (kind == "ILE" and {a, b} == {"CD", "CD1"})


def check_bonds(system: Any, topology: Any, places: np.ndarray, files: list[Path]) -> None:
    """Refuses positions (nm) in which atoms that are bonded or constrained are too far from each other, and names the two that are farthest."""
    lengths = dict(_lengths(system))
    pairs = sorted({(min(a.index, b.index), max(a.index, b.index)) for a, b in topology.bonds()} | {pair for pair, _ in _constraints(system)})
    if not pairs:
        return
    first, second = np.array(pairs).T
    apart = places[second] - places[first]
    vectors = [np.array(one.value_in_unit(unit.nanometer)) for one in system.getDefaultPeriodicBoxVectors()]
    for axis, vector in reversed(list(enumerate(vectors))):
        apart -= np.round(apart[:, axis] / vector[axis])[:, None] * vector
    found = np.linalg.norm(apart, axis=1)
    allowed = np.array([max(LONGEST, STRETCHED * lengths.get(pair, 0.0)) for pair in pairs])
    far = np.flatnonzero(found > allowed)
    if not len(far):
        return
    worst = max(far, key=lambda k: found[k])
    atoms = list(topology.atoms())
    a, b = (atoms[k] for k in pairs[worst])
    them = f"{a.name} and {b.name} of {named(a.residue)}" if a.residue is b.residue else f"{a.name} of {named(a.residue)} and {b.name} of {named(b.residue)}"
    raise Refused(
        f"{files[1]}: {counted(len(far), 'bond')} of {len(pairs)} in {files[0]} {'is' if len(far) == 1 else 'are'} longer than any bond: {them} (atoms {a.index + 1} and {b.index + 1}) are {found[worst]:.2f} nm apart, "
        f"and bonds are shorter than {allowed[worst]:.2f} nm; the atoms are in another order, or the positions or the box are of another system",
        WHAT_TO_DO,
    )


def _lengths(system: Any) -> Iterator[tuple[tuple[int, int], float]]:
    """Atoms of each bond or constraint, and its length (nm)."""
    for force in system.getForces():
        for k in range(force.getNumBonds() if isinstance(force, openmm.HarmonicBondForce) else 0):
            a, b, length, _ = force.getBondParameters(k)
            yield (min(a, b), max(a, b)), length.value_in_unit(unit.nanometer)
    yield from _constraints(system)


def _constraints(system: Any) -> Iterator[tuple[tuple[int, int], float]]:
    for k in range(system.getNumConstraints()):
        a, b, length = system.getConstraintParameters(k)
        yield (min(a, b), max(a, b)), length.value_in_unit(unit.nanometer)
