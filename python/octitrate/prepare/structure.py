"""Writes structures: `.gro` with six decimals (nm), which octitrate reads, and PDB with chains, to look at."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from openmm import app, unit

from ..errors import Refused, named
from .build import Model
from .names import CHAINS, known_as


def gro(title: str, model: Model) -> str:
    """The `.gro` file of a model: every atom with its residue, the box as its last line."""
    atoms = list(model.topology.atoms())
    lines = [title.replace("\n", " ")[:120], f"{len(atoms):5d}"]
    for index, (atom, (x, y, z)) in enumerate(zip(atoms, model.positions), 1):
        residue = atom.residue
        if len(residue.name) > 5 or len(atom.name) > 5:
            raise Refused(f"{atom.name} of {named(residue)}: a name of more than five letters does not fit a .gro file", "rename it")
        try:
            number = int(residue.id)
        except ValueError:
            number = residue.index + 1
        number = number if number < 0 else number % 100000  # a tag for expression begins below zero
        lines.append(f"{number:5d}{residue.name:<5}{atom.name:>5}{index % 100000:5d}{x:11.6f}{y:11.6f}{z:11.6f}")
    lines.append(" ".join(f"{v:.6f}" for v in box(model)))
    return "\n".join(lines) + "\n"


def box(model: Model) -> list[float]:
    """The box as `.gro` files have it, nine numbers (nm), or three if it has right angles; zeros for open space."""
    vectors = model.topology.getPeriodicBoxVectors()
    if vectors is None:
        return [0.0, 0.0, 0.0]
    a, b, c = np.array(vectors.value_in_unit(unit.nanometer))
    edges = [a[0], b[1], c[2]]
    rest = [a[1], a[2], b[0], b[2], c[0], c[1]]
    return [float(v) for v in edges + (rest if any(abs(v) > 1e-9 for v in rest) else [])]


def _solute(topology: Any) -> list[Any]:
    """The chains with anything but water and salt."""
    return [chain for chain in topology.chains() if any(residue.name not in ("HOH", "NA", "CL") for residue in chain.residues())]


def letters(topology: Any) -> dict[str, str]:
    """What each chain is called in a PDB file, by its name."""
    names = list(dict.fromkeys(chain.id for chain in _solute(topology)))
    free = (letter for letter in CHAINS if letter not in names)
    return {name: name if len(name) == 1 else next(free, "A") for name in names}


def pdb(model: Model) -> str:
    """The protein and what was kept with it as PDB, without the water around it; residues have their names of the PDB. Chains whose names are longer than the
    one letter that there is room for have letters that no other has, while there are some."""
    part = app.Topology()
    rows = []
    copies: dict[Any, Any] = {}
    called = letters(model.topology)
    for chain in _solute(model.topology):
        new = part.addChain(called[chain.id])
        for residue in chain.residues():
            added = part.addResidue(known_as(residue.name), new, residue.id)  # columns have room for the names of the PDB
            for atom in residue.atoms():
                copies[atom] = part.addAtom(atom.name, atom.element, added)
                rows.append(10 * model.positions[atom.index])
    out = io.StringIO()
    app.PDBFile.writeFile(part, np.array(rows) * unit.angstrom, out, keepIds=True)
    return out.getvalue()
