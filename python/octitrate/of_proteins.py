"""A force field file of OpenMM without what proteins are not made of.

OpenMM's file of CHARMM36 has every lipid, sugar and nucleic acid: 17 MB, 635 residues and 100 000 types of atoms, which OpenMM takes seconds to register and looks through
for every system. Here a file is read as OpenMM reads it, and what no amino acid needs is left out before OpenMM sees it:

- residues other than amino acids, and patches that none of them allows;
- types of atoms that these have, and parameters that name a class of such types alone.

What stays is as it was and in the same order, so that a system of proteins, water and ions has the same terms to the last bit (`tests/test_of_proteins.py`). Its table of
Lennard-Jones pairs is smaller: OpenMM makes one type of those that are alike, unless any file has a term for pairs with one of them.
"""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

AMINO_ACIDS = frozenset(
    "ALA ARG ASN ASP CYM CYS GLN GLU GLY HSD HSE HSP ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split()  # noqa: SIM905
)
"""Residues of CHARMM that stay."""


def of_proteins(file: str, beside: str) -> io.BytesIO:
    """A force field file of CHARMM with its amino acids alone. `beside`: the file that is read with it, whose classes stay; both by the names that OpenMM takes."""
    return io.BytesIO(_written(file, beside))


@cache
def _written(file: str, beside: str) -> bytes:
    root, water = (ElementTree.parse(_place(one)).getroot() for one in (file, beside))
    types, residues, patches = (root.find(name) for name in ("AtomTypes", "Residues", "Patches"))
    assert types is not None and residues is not None and patches is not None
    _keep(residues, {one for one in residues if one.get("name") in AMINO_ACIDS})
    allowed = {patch.get("name", "").partition(":")[0] for residue in residues for patch in residue.findall("AllowPatch")}
    _keep(patches, {one for one in patches if one.get("name") in allowed or {to.get("name", "").rpartition(":")[2] for to in one.findall("ApplyToResidue")} & AMINO_ACIDS})
    used = {atom.get("type") for one in (*residues, *patches) for atom in one if atom.tag in ("Atom", "AddAtom", "ChangeAtom")}
    classes = {one.get("class") for one in types}
    _keep(types, {one for one in types if one.get("name") in used})
    left = classes - {one.get("class") for one in (*types, *water.iterfind("AtomTypes/Type"))}
    for force in root:
        if force not in (types, residues, patches):
            _keep(force, {term for term in force if left.isdisjoint(value for key, value in term.items() if key.startswith("class"))})
    return bytes(ElementTree.tostring(root))


def _place(file: str) -> Path:
    """Where OpenMM has a file."""
    import openmm.app

    return Path(openmm.app.__file__).parent / "data" / file


def _keep(parent: ElementTree.Element, kept: set[ElementTree.Element]) -> None:
    parent[:] = [child for child in parent if child in kept]
