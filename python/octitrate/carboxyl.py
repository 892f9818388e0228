"""Hydrogens of carboxyl groups that have one on both oxygens: where they go, and which of the two has the charge.

OpenMM matches residues to templates by their bonds alone, so that the two oxygens of a carboxyl group may be exchanged; `order_by_name` puts them back.
Lengths in nm.
"""

from __future__ import annotations

import math
from typing import Any

GROUPS = (("CD", "OE1", "OE2", "HE1", "HE2"), ("CG", "OD1", "OD2", "HD1", "HD2"), ("C", "O", "OXT", "HO1", "HO2"))
"""Carbon, oxygens, hydrogens by their names in a topology; the hydrogen of the second oxygen has a charge."""

LENGTH = 0.096
ANGLE = math.radians(113.0)
"""O-H and C-O-H of a carboxyl group in AMBER; minimisation makes them those of the force field."""


class _Order:
    """A generator of forces that only looks at names, before the others: OpenMM lets it change what was matched."""

    def createForce(self, system: Any, data: Any, *more: Any) -> None:  # noqa: N802, OpenMM calls it so
        residues: dict[Any, dict[str, Any]] = {}
        for atom in data.atoms:
            if atom.name in NAMES and (atom.residue.name[0] == "Z" or atom.residue.name.endswith(("GL3", "AS3"))):
                residues.setdefault(atom.residue, {})[atom.name] = atom
        place = data.atomTemplateIndexes
        for group in residues.values():
            for _, first, second, uncharged, charged in GROUPS:
                # The template has the hydrogen with the charge behind the one without.
                if {first, second, uncharged, charged} <= group.keys() and place[group[charged]] < place[group[uncharged]]:
                    self._exchange(data, group[first], group[second])
                    self._exchange(data, group[uncharged], group[charged])

    def _exchange(self, data: Any, a: Any, b: Any) -> None:
        table: Any
        for table in (data.atomType, data.atomParameters, data.atomTemplateIndexes):
            table[a], table[b] = table[b], table[a]


NAMES = frozenset(name for group in GROUPS for name in group[1:])


def order_by_name(forcefield: Any) -> None:
    """Makes an OpenMM force field give the charge of a carboxyl's proton to the hydrogen whose name it has in the template."""
    forcefield._forces.insert(0, _Order())


def place_syn(modeller: Any) -> None:
    """Puts the hydrogens of every carboxyl group with two of them on the side of the other oxygen, in the plane of the group."""
    from openmm import Vec3, unit

    positions = [Vec3(*p) for p in modeller.positions.value_in_unit(unit.nanometer)]
    for residue in modeller.topology.residues():
        index = {atom.name: atom.index for atom in residue.atoms()}
        for carbon, *oxygens, h1, h2 in GROUPS:
            if {carbon, *oxygens, h1, h2} <= index.keys():
                c = positions[index[carbon]]
                for oxygen, other, hydrogen in ((oxygens[0], oxygens[1], h1), (oxygens[1], oxygens[0], h2)):
                    positions[index[hydrogen]] = _syn(c, positions[index[oxygen]], positions[index[other]])
    modeller.positions = positions * unit.nanometer


def _syn(c: Any, oxygen: Any, other: Any) -> Any:
    """Place of a hydrogen bonded to `oxygen` with the torsion H-O-C-O of 0."""
    along = (oxygen - c) * (1.0 / math.dist(oxygen, c))
    towards = other - c
    across = towards - along * _dot(towards, along)
    across = across * (1.0 / math.sqrt(_dot(across, across)))
    return oxygen + (along * -math.cos(ANGLE) + across * math.sin(ANGLE)) * LENGTH


def _dot(a: Any, b: Any) -> float:
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
