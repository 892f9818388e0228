"""Coarse-grained models, which have a bead for several atoms: nothing in them can lose a proton, and they are told so before their beads are taken for ions."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import Refused
from ..words import counted, listed
from . import names
from .entry import Entry, Residue

WAY_OUT = "build all atoms with a program for that first, or take another structure"


def beads(atoms: Iterable[str]) -> list[str]:
    """These names of particles of a system that is to have every proton, if none of them is called as a hydrogen is: of a model such as Martini's, whose beads are BB, SC1, W."""
    there = list(atoms)
    return [] if any(name.lstrip("0123456789").upper().startswith("H") for name in there) else there


def of_gro(lines: list[str]) -> list[str]:
    """The beads of a `.gro` file of a coarse-grained model: its names of atoms stand in columns 11 to 15."""
    return beads(line[10:15].strip() for line in lines[2:-1])


def refused(path: object, found: list[str]) -> Refused:
    """What is said of a file of beads."""
    kinds = listed(list(dict.fromkeys(found)), 4)
    return Refused(f"{path}: {counted(len(found), 'particle')} ({kinds}) and no hydrogen: a coarse-grained model, or one without its protons, and octitrate needs all atoms", WAY_OUT)


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
