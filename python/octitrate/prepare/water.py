"""Water of a finished system, rigid whatever the format of its file.

The readers of OpenMM hold O-H, and H-H where a prmtop has it as a bond or where a psf or a .top has an angle in a residue whose name they know as that of water. A prmtop
that ParmEd writes of a system of OpenMM has O-H bonds and an H-O-H angle, which would stay flexible; so would water of a psf with an H-H bond, which they pass over,
and no angle. Here each molecule has three constraints in the end, as with `rigidWater` of OpenMM. Where an angle says it H-H is the third side of the triangle (nm)

    d(HH)² = d(OH)² + d(OH')² - 2 d(OH) d(OH') cos θ

and the harmonic terms within the molecule are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import openmm
from openmm import unit

from ..errors import Refused, named
from ..words import counted, listed
from .report import Report

Molecule = tuple[int, int, int]
"""Numbers of O, H and H."""

TERMS = ((openmm.HarmonicBondForce, "Bond", 2), (openmm.HarmonicAngleForce, "Angle", 3))
"""Forces between the atoms of a molecule of water, what their methods call a term, and how many atoms it has."""


def make_rigid(system: Any, topology: Any, bond: Callable[[int, int], float | None], file: Path, report: Report) -> None:
    """Gives each molecule of water its three constraints. `bond`: the length (nm) of a bond between two hydrogens that the reader passed over.

    Raises `Refused` where the file does not say the shape of a molecule.
    """
    found = _molecules(system, topology)
    held = _held(system, {atom for _, atoms in found for atom in atoms})
    loose = [(residue, atoms) for residue, atoms in found if not all(frozenset(pair) in held for pair in combinations(atoms, 2))]
    if not loose:
        return
    bonds, angles = _take_out(system, {atom: number for number, (_, atoms) in enumerate(loose) for atom in atoms})
    shapes = set()
    for residue, (o, h, other) in loose:
        first, second, ends = (frozenset(pair) for pair in ((o, h), (o, other), (h, other)))
        theta = angles.get((o, ends))
        between = held.get(ends) or (bond(h, other) if theta is None else None)
        try:
            a, b, between = _triangle(held.get(first) or bonds.get(first), held.get(second) or bonds.get(second), between, theta)
        except ValueError as missing:
            raise Refused(
                f"{file}: {named(residue)} is water {missing}: it cannot be made rigid, as octitrate holds water", "the program that made the file can write water with its bonds and its angle"
            ) from None
        for pair, length in ((first, a), (second, b), (ends, between)):
            if pair not in held:
                system.addConstraint(*sorted(pair), length)
        shapes.add(f"O-H {(a + b) / 2:.5f} and H-H {between:.5f} nm")
    many = f"{counted(len(loose), 'molecule')} of water that the file leaves flexible {'is' if len(loose) == 1 else 'are'}"
    report.note(f"{many} made rigid, with O-H, O-H and H-H constrained: {listed(sorted(shapes), 3)}")


def _triangle(a: float | None, b: float | None, between: float | None, theta: float | None) -> tuple[float, float, float]:
    """The sides (nm) of a molecule: both of O-H, and that of H-H or what the angle between them (radians) makes it. Raises `ValueError` for what is missing."""
    if a is None or b is None:
        raise ValueError("without lengths of both O-H bonds")
    if between is not None:
        return a, b, between
    if theta is None:
        raise ValueError("with neither an H-H bond nor a harmonic H-O-H angle")
    return a, b, math.sqrt(a * a + b * b - 2.0 * a * b * math.cos(theta))


def _molecules(system: Any, topology: Any) -> list[tuple[Any, Molecule]]:
    """Residues of one oxygen and two hydrogens, beside sites without mass, that no bond leaves."""
    bonded = {atom.residue.index for bond in topology.bonds() for atom in bond if bond[0].residue is not bond[1].residue}
    found = []
    for residue in topology.residues():
        atoms = [atom for atom in residue.atoms() if system.getParticleMass(atom.index)._value > 0.0]
        atoms.sort(key=lambda atom: -atom.element.atomic_number if atom.element is not None else 0)
        if residue.index not in bonded and [atom.element and atom.element.atomic_number for atom in atoms] == [8, 1, 1]:
            o, h, other = (atom.index for atom in atoms)
            found.append((residue, (o, h, other)))
    return found


def _held(system: Any, water: set[int]) -> dict[frozenset[int], float]:
    """Lengths (nm) of the constraints between atoms of water."""
    constraints = (system.getConstraintParameters(k) for k in range(system.getNumConstraints()))
    return {frozenset((a, b)): length.value_in_unit(unit.nanometer) for a, b, length in constraints if a in water and b in water}


def _take_out(system: Any, molecule: dict[int, int]) -> tuple[dict[frozenset[int], float], dict[tuple[int, frozenset[int]], float]]:
    """Lengths of bonds (nm) and angles (radians, by the atom in the middle and the two at the ends) within molecules, whose terms are left out of the system."""
    bonds: dict[frozenset[int], float] = {}
    angles: dict[tuple[int, frozenset[int]], float] = {}
    for number, force in reversed(list(enumerate(system.getForces()))):
        for kind, name, size in TERMS:
            if not isinstance(force, kind):
                continue
            rest = kind()
            rest.setName(force.getName())
            rest.setForceGroup(force.getForceGroup())
            rest.setUsesPeriodicBoundaryConditions(force.usesPeriodicBoundaryConditions())
            for k in range(getattr(force, f"getNum{name}s")()):
                term = getattr(force, f"get{name}Parameters")(k)
                within = {molecule.get(atom) for atom in term[:size]}
                if len(within) > 1 or None in within:
                    getattr(rest, f"add{name}")(*term)
                elif size == 2:
                    bonds[frozenset(term[:2])] = term[2].value_in_unit(unit.nanometer)
                else:
                    angles[term[1], frozenset((term[0], term[2]))] = term[3].value_in_unit(unit.radian)
            system.removeForce(number)
            system.addForce(rest)
    return bonds, angles
