"""Bonded terms of residues, and those that a force field changes when a carboxyl group or a histidine loses a proton.

A force field has other torsions, angles and bonds for Glu and Asp with the proton than without it. Charges of a carboxyl group act on its own backbone and on
the atoms beside it, torsions make up for that, and both belong together: with the charges of the acid and the torsions of the anion a neutral Asp prefers χ1
of 60° to 180° by 7 kJ/mol too much (ff19SB, both torsions about CA-CB).

Lengths in nm, angles in degrees, energies in kJ/mol.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from .force_fields import FORCE_FIELDS, View, generator, load, patched, pdb_view, register, view
from .templates import BACKBONE, CARBOXYLS, Templates

Atoms = tuple[str, ...]
Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Terms:
    """The bonded terms of a residue that stands by itself, by the names of their atoms (PDB) in the direction that comes first, and its atoms.

    Numbers as GROMACS has them: length and force constant of a bond or a distance of Urey and Bradley (a pair that is not bonded), angle and force constant,
    and for each torsion phase, amplitude and multiplicity.
    """

    names: frozenset[str]
    bonded: frozenset[frozenset[str]]
    bonds: dict[Atoms, Numbers]
    angles: dict[Atoms, Numbers]
    torsions: dict[Atoms, list[Numbers]]
    impropers: dict[Atoms, list[Numbers]]

    def renamed(self, names: dict[str, str]) -> Terms:
        """The same with other names."""

        def atoms(of: Atoms) -> Atoms:
            return _ordered([names.get(name, name) for name in of])

        return Terms(
            frozenset(names.get(name, name) for name in self.names),
            frozenset(frozenset(names.get(name, name) for name in pair) for pair in self.bonded),
            {atoms(of): numbers for of, numbers in self.bonds.items()},
            {atoms(of): numbers for of, numbers in self.angles.items()},
            {atoms(of): numbers for of, numbers in self.torsions.items()},
            {tuple(sorted(names.get(name, name) for name in of)): numbers for of, numbers in self.impropers.items()},
        )


def _ordered(atoms: list[str]) -> Atoms:
    return min(tuple(atoms), tuple(reversed(atoms)))


def _round(*numbers: float) -> Numbers:
    """Ten digits: conversions of units leave the others."""
    return tuple(float(f"{number:.10g}") for number in numbers)


def terms(forcefield: Any, residue: View, called: str) -> Terms:
    """The bonded terms of a residue by itself, which the force field of OpenMM gets under the name `called`."""
    import openmm
    from openmm import app

    plain = pdb_view(residue)
    alone = View(called, plain.atoms, plain.bonds, [])
    register(forcefield, alone)
    topology = app.Topology()
    place = topology.addResidue(called, topology.addChain())
    atoms = {name: topology.addAtom(name, app.Element.getBySymbol(atom.element), place) for name, atom in alone.atoms.items()}
    for a, b in alone.bonds:
        topology.addBond(atoms[a], atoms[b])
    system = forcefield.createSystem(topology, residueTemplates={place: called}, constraints=None, rigidWater=False)
    names, bonded = list(atoms), frozenset(frozenset(bond) for bond in alone.bonds)
    found = Terms(frozenset(names), bonded, {}, {}, {}, {})
    for force in system.getForces():
        if isinstance(force, openmm.HarmonicBondForce):
            for k in range(force.getNumBonds()):
                a, b, length, constant = force.getBondParameters(k)
                found.bonds[_ordered([names[a], names[b]])] = _round(length._value, constant._value)
        elif isinstance(force, openmm.HarmonicAngleForce):
            for k in range(force.getNumAngles()):
                *indices, angle, constant = force.getAngleParameters(k)
                found.angles[_ordered([names[i] for i in indices])] = _round(math.degrees(angle._value), constant._value)
        elif isinstance(force, openmm.PeriodicTorsionForce):
            for k in range(force.getNumTorsions()):
                *indices, period, phase, amplitude = force.getTorsionParameters(k)
                of = [names[i] for i in indices]
                numbers = (*_round(math.degrees(phase._value), amplitude._value), float(period))
                if all(frozenset(pair) in bonded for pair in zip(of, of[1:])):
                    found.torsions.setdefault(_ordered(of), []).append(numbers)
                else:
                    found.impropers.setdefault(tuple(sorted(of)), []).append(numbers)
        elif isinstance(force, openmm.CustomTorsionForce):
            for k in range(force.getNumTorsions()):
                *indices, parameters = force.getTorsionParameters(k)
                found.impropers.setdefault(tuple(sorted(names[i] for i in indices)), []).append(_round(*parameters))
    return found


def lennard_jones(forcefield: Any, residue: View) -> dict[str, tuple[float, float]]:
    """σ (nm) and ε (kJ/mol) of the atoms of a residue."""
    special = generator(forcefield, "LennardJonesGenerator")
    wells = (special.ljTypes if special is not None else generator(forcefield, "NonbondedGenerator").params).paramsForType
    found = {}
    for name, atom in pdb_view(residue).atoms.items():
        sigma, epsilon = (float(wells[atom.type][key]) for key in ("sigma", "epsilon"))
        found[name] = (sigma if epsilon else 0.0, epsilon)
    return found


def wells(forcefield: Any, residue: View) -> dict[str, tuple[float, ...]]:
    """σ (nm) and ε (kJ/mol) of the atoms of a residue, and σ and ε in 1-4 pairs of those that have others there, as some of CHARMM."""
    special = generator(forcefield, "LennardJonesGenerator")
    found: dict[str, tuple[float, ...]] = dict(lennard_jones(forcefield, residue))
    for name, atom in pdb_view(residue).atoms.items() if special is not None else ():
        own, extra = special.ljTypes.paramsForType[atom.type], special.ljTypes.extraParamsForType[atom.type]
        if extra.keys() & {"sigma14", "epsilon14"}:
            found[name] += (float(extra.get("sigma14", own["sigma"])), float(extra.get("epsilon14", own["epsilon"])))
    return found


@dataclass(frozen=True)
class OfForms:
    """A bonded term in each form: its function in GROMACS, its atoms, its numbers; none where a form has no such term."""

    function: int
    atoms: Atoms
    numbers: tuple[Numbers, ...]


@cache
def _residues(force_field: str) -> Templates:
    """The residues of a force field as OpenMM has it: what is added to that of a system, such as pair corrections, has no say in bonded terms."""
    family = FORCE_FIELDS[force_field]
    return Templates(load(force_field, next(iter(family.waters))), family.patched)


_known: dict[tuple[str, str], tuple[OfForms, ...]] = {}


def of_forms(force_field: str, residue: str, residues: Templates | None = None) -> tuple[OfForms, ...]:
    """The terms that differ between the forms of a residue inside of a chain: of GL3 and AS3, proton on the second oxygen, on the first, on none; of HIP, both protons, that
    on ND1, that on NE2.

    `residues`: those of this force field where it is loaded already. Nothing is added to a CHARMM force field that has a say, and loading one takes OpenMM ten seconds;
    others are loaded again as they are.

    Terms of the backbone alone and of hydrogens that leave are left out: those of the hydrogens are the same whatever λ is (`octitrate.templates`). So are bonds to hydrogen,
    which are constraints, and impropers, which keep the group flat in every form: CHARMM's differ by 4 % of their force constant, AMBER's not at all.
    """
    if (force_field, residue) not in _known:
        _known[force_field, residue] = _of_forms(residues if residues is not None and residues.is_patched else _residues(force_field), residue)
    return _known[force_field, residue]


def _forms(residues: Templates, residue: str) -> list[Terms]:
    """The terms of each form by itself."""
    if residue == "HIP":
        return [terms(residues.forcefield, residues.plain(name), f"{name}-alone") for name in ("HIP", "HID", "HIE")]
    base, protonated, patch, _, _, first, second, *_ = CARBOXYLS[residue]
    acid = view(residues.forcefield, patched(residues.forcefield, base, patch)) if residues.is_patched else residues.plain(protonated)
    on_second = terms(residues.forcefield, acid, f"{base}-with-proton")
    without = terms(residues.forcefield, residues.plain(base), f"{base}-without-proton")
    return [on_second, on_second.renamed({first: second, second: first}), without]


def _of_forms(residues: Templates, residue: str) -> tuple[OfForms, ...]:
    forms = _forms(residues, residue)
    both = frozenset.intersection(*(form.names for form in forms))
    # A bond to hydrogen has a fixed length; a pair that is not bonded is a distance of Urey and Bradley.
    fixed = {pair for form in forms for pair in form.bonded if any(name.startswith("H") for name in pair)}

    def differ(of: Atoms, values: list[list[Numbers]]) -> bool:
        return set(of) <= both and frozenset(of) not in fixed and not set(of) <= set(BACKBONE) and any(sorted(one) != sorted(values[0]) for one in values)

    found = []
    for function, kind in ((1, "bonds"), (1, "angles"), (9, "torsions")):
        tables = [getattr(form, kind) for form in forms]
        for of in sorted({atoms for table in tables for atoms in table}):
            values = [table.get(of, []) for table in tables]
            rows = [sorted(one, key=lambda numbers: numbers[-1]) if isinstance(one, list) else [one] for one in values]
            if not differ(of, rows):
                continue
            # One line for each multiplicity; a bond and an angle have one.
            keys = sorted({numbers[-1] if kind == "torsions" else 0.0 for one in rows for numbers in one})
            for key in keys:
                line = [[numbers for numbers in one if kind != "torsions" or numbers[-1] == key] for one in rows]
                for place in range(max(map(len, line))):
                    found.append(OfForms(function, of, tuple(one[place] if place < len(one) else () for one in line)))
    return tuple(found)
