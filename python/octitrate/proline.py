"""The two hydrogens of an amino-terminal proline: which of them is H2 and which H3.

The nitrogen is in the ring, so that its hydrogens never change places, as the three of other amino ends do: one is on the side of the ring where C is (torsion C-CA-N-H
about 0), the other on the other side (about -120 degrees). H3, the one that the library takes away, is that on the side of C. The lone pair that is left there can take a
hydrogen bond of the amide behind. Model compounds and proteins must have it alike: what the loss costs in a force field depends on the side. The sides are told by the
order of the bonds around N and CA, which minimising a strained structure does not change, where it may turn a torsion by a hundred degrees.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

PAIRS = (("H2", "H3"), ("H1", "H2"), ("HN1", "HN2"))
"""Names of both hydrogens by the PDB, GROMACS and CHARMM; the second is the one that leaves."""

NAMES = ("PRO", "NPRO")


def end_of_proline(residue: Any) -> tuple[str, str] | None:
    """The names of both hydrogens of a residue (of OpenMM) that is an amino-terminal Pro; none for another."""
    atoms = {atom.name for atom in residue.atoms()}
    if residue.name not in NAMES and not (residue.name[:1] == "Z" and residue.name[1:] in NAMES):
        return None
    return next((pair for pair in PAIRS if {*pair, "N", "CA", "CB", "CD", "C"} <= atoms), None)


def exchanged(residue: Any, positions: Any) -> tuple[Any, Any] | None:
    """Both hydrogens of an amino-terminal Pro, where the one that leaves is not the one on the side of C; none where it is, and for another residue. `positions` of all
    atoms of the topology, in any unit."""
    pair = end_of_proline(residue)
    if pair is None:
        return None
    atoms = {atom.name: atom for atom in residue.atoms()}
    place = {name: np.array(positions[atom.index], dtype=float) for name, atom in atoms.items()}

    def side(before: str, at: str, behind: str, of: str) -> float:
        """Positive and negative on either side of the ring, whose atoms come one after the other."""
        normal = np.cross(place[at] - place[before], place[behind] - place[at])
        return float(normal @ (place[of] - place[at]))

    of_carbonyl = math.copysign(1.0, side("N", "CA", "CB", "C"))
    stays, leaves = (of_carbonyl * side("CD", "N", "CA", hydrogen) for hydrogen in pair)
    return (atoms[pair[0]], atoms[pair[1]]) if stays > leaves else None


def place_hydrogens(modeller: Any) -> None:
    """Exchanges the places of both hydrogens of every amino-terminal Pro of an `openmm.app.Modeller` whose H3 is not on the side of C."""
    from openmm import unit

    positions = list(modeller.positions.value_in_unit(unit.nanometer))
    for residue in modeller.topology.residues():
        if atoms := exchanged(residue, positions):
            a, b = (atom.index for atom in atoms)
            positions[a], positions[b] = positions[b], positions[a]
    modeller.positions = positions * unit.nanometer


def name_hydrogens(topology: Any, positions: Any) -> list[Any]:
    """Exchanges the names of both hydrogens of every amino-terminal Pro of an OpenMM topology where the one that leaves is not on the side of C; the residues that this
    was done at. Nothing else tells the two apart in a force field."""
    found = []
    for residue in topology.residues():
        if atoms := exchanged(residue, positions):
            a, b = atoms
            a.name, b.name = b.name, a.name
            found.append(residue)
    return found
