"""Coarse-grained models, which have a bead for several atoms: nothing in them can lose a proton, and they are told so before their beads are taken for ions."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import Refused
from . import names
from .entry import Entry, Residue
from .report import counted, listed

WAY_OUT = "build all atoms with a program for that first, or take another structure"


def has_beads(atoms: Iterable[str]) -> bool:
    """Whether these names of atoms are of a model such as Martini's: the backbone of a residue is one bead, `BB`, and there are no N, CA and C."""
    there = set(atoms)
    return "BB" in there and not there >= {"N", "CA", "C"}


def of_gro(lines: list[str]) -> bool:
    """Whether a `.gro` file has a coarse-grained model: its names of atoms stand in columns 11 to 15."""
    return has_beads(line[10:15].strip() for line in lines[2:-1])


def refused(path: object) -> Refused:
    """What is said of a file of beads."""
    return Refused(f"{path}: a coarse-grained model: the backbone of its residues is a bead, BB, and octitrate needs all atoms", WAY_OUT)


def refuse(residues: list[Residue], entry: Entry, share: float) -> list[Residue]:
    """The amino acids whose backbone was not seen, without N, CA or C. Refuses a model in which these are more than a `share` of all, or all."""
    amino = [residue for residue in residues if residue.name in names.SIDE_CHAINS]
    bare = [residue for residue in amino if not residue.has("N", "CA", "C")]
    if bare and (len(bare) > share * len(amino) or len(bare) == len(amino)):
        have = "has" if len(bare) == 1 else "have"
        raise Refused(
            f"{entry.path}: a coarse-grained model: {len(bare)} of {counted(len(amino), 'residue')} {have} no backbone but {listed(sorted({a.name for r in bare for a in r.atoms}), 4)} "
            f"(first {bare[0]}), and octitrate needs all atoms",
            WAY_OUT,
        )
    return bare
