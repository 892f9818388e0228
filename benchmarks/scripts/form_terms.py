#!/usr/bin/env python3
"""What a force field changes besides charges when a group loses its proton: Lennard-Jones parameters and bonded terms of atoms that both forms have.

    .tools/prepare/bin/python3 benchmarks/scripts/form_terms.py ff14SB ff19SB charmm36m

For each residue with forms of its own in the force field: atoms with other Lennard-Jones parameters (σ in nm, ε in kJ/mol), and the numbers of bonds, angles, torsions, impropers and
distances of Urey and Bradley that differ, with the largest change of a length (nm), of an angle (degrees) and of an amplitude (kJ/mol). Terms of the backbone alone and of the hydrogen that leaves are left out. Each
residue stands by itself, without terms to its neighbours. It needs the Python package of octitrate.
"""

import math
import sys

import openmm
from octitrate.force_fields import View, generator, patched, pdb_view, register, view
from octitrate.residues import TitratableForceField
from octitrate.templates import BACKBONE
from openmm import app

KINDS = {"bond": "nm", "angle": "°", "torsion": "kJ/mol", "improper": "kJ/mol", "Urey-Bradley": "nm"}


def terms(ff, residue, called):
    """Numbers of every term of a residue by its kind and the names of its atoms, and these names."""
    plain = pdb_view(residue)
    alone = View(called, plain.atoms, plain.bonds, [])
    register(ff.forcefield, alone)
    topology = app.Topology()
    place = topology.addResidue(called, topology.addChain())
    atoms = {name: topology.addAtom(name, app.Element.getBySymbol(atom.element), place) for name, atom in alone.atoms.items()}
    for a, b in alone.bonds:
        topology.addBond(atoms[a], atoms[b])
    system = ff.forcefield.createSystem(topology, residueTemplates={place: called}, constraints=None, rigidWater=False)
    names, bonded, found = list(atoms), {frozenset(bond) for bond in alone.bonds}, {}

    def add(kind, indices, more, value):
        forward = tuple(names[k] for k in indices)
        ordered = tuple(sorted(forward)) if kind == "improper" else min(forward, forward[::-1])
        found.setdefault((kind, ordered, more), [0.0])[0] += value

    for force in system.getForces():
        if isinstance(force, openmm.HarmonicBondForce):
            for k in range(force.getNumBonds()):
                a, b, length, _ = force.getBondParameters(k)
                add("bond" if frozenset((names[a], names[b])) in bonded else "Urey-Bradley", (a, b), 0, length._value)
        elif isinstance(force, openmm.HarmonicAngleForce):
            for k in range(force.getNumAngles()):
                *indices, angle, _ = force.getAngleParameters(k)
                add("angle", indices, 0, math.degrees(angle._value))
        elif isinstance(force, openmm.PeriodicTorsionForce):
            for k in range(force.getNumTorsions()):
                *indices, period, phase, amplitude = force.getTorsionParameters(k)
                proper = all(frozenset((names[a], names[b])) in bonded for a, b in zip(indices, indices[1:]))
                add("torsion" if proper else "improper", indices, period, math.cos(phase._value) * amplitude._value)
        elif isinstance(force, openmm.CustomTorsionForce):
            for k in range(force.getNumTorsions()):
                *indices, parameters = force.getTorsionParameters(k)
                add("improper", indices, 0, parameters[0])
    special = generator(ff.forcefield, "LennardJonesGenerator")
    wells = (special.ljTypes if special is not None else generator(ff.forcefield, "NonbondedGenerator").params).paramsForType
    for name, atom in alone.atoms.items():
        sigma, epsilon = (float(wells[atom.type][key]) for key in ("sigma", "epsilon"))
        found[("Lennard-Jones", (name,), 0)] = [sigma if epsilon else 0.0, epsilon]
    return found, set(names)


def residues(ff):
    """Label, form with the proton, form without it."""
    plain = ff.residues.plain
    if not ff.residues.is_patched:
        pairs = {"Glu": ("GLH", "GLU"), "Asp": ("ASH", "ASP"), "His to HID": ("HIP", "HID"), "His to HIE": ("HIP", "HIE"), "Lys": ("LYS", "LYN"), "Cys": ("CYS", "CYM")}
        return {label: tuple(map(plain, pair)) for label, pair in pairs.items()}

    def with_patch(residue, patch):
        return view(ff.forcefield, patched(ff.forcefield, residue, patch))

    return {
        "Glu": (with_patch("GLU", "GLUP"), plain("GLU")), "Asp": (with_patch("ASP", "ASPP"), plain("ASP")), "His to HSD": (plain("HIP"), plain("HID")),
        "His to HSE": (plain("HIP"), plain("HIE")), "Lys": (plain("LYS"), with_patch("LYS", "LSN")), "Arg": (plain("ARG"), with_patch("ARG", "RN2")),
        "Cys": (plain("CYS"), with_patch("CYS", "CYSD")), "amino end": (with_patch("ALA", "NTER"), with_patch("ALA", "NNEU")),
        "carboxyl end": (with_patch("ALA", "CNEU"), with_patch("ALA", "CTER")),
    }  # fmt: skip


def main():
    for name in sys.argv[1:]:
        ff = TitratableForceField(name)
        print(name)
        for label, forms in residues(ff).items():
            (one, names), (other, more) = (terms(ff, form, f"{label}-{k}") for k, form in enumerate(forms))
            both, changed = names & more, {}
            backbone = () if label.endswith("end") else BACKBONE
            for key in sorted(one.keys() | other.keys(), key=str):
                kind, atoms, _ = key
                if not set(atoms) <= both or set(atoms) <= set(backbone):
                    continue
                a, b = one.get(key), other.get(key)
                zero = [0.0] * len(a or b)
                if any(abs(x - y) > 1e-5 for x, y in zip(a or zero, b or zero)):
                    changed.setdefault(kind, []).append((atoms, a or zero, b or zero, a is not None and b is not None))
            wells = [f"{atoms[0]} {a[0]:.4f} {a[1]:.3f} -> {b[0]:.4f} {b[1]:.3f}" for atoms, a, b, _ in changed.get("Lennard-Jones", [])]
            bonded = []
            for kind, unit in KINDS.items():
                if found := changed.get(kind):
                    # a length that one form alone has is no change of it
                    sizes = [abs(a[0] - b[0]) for _, a, b, in_both in found if in_both or unit == "kJ/mol"]
                    bonded.append(f"{len(found)} {kind} (up to {max(sizes, default=0.0):.3g} {unit})")
            print(f"  {label:<13} Lennard-Jones: {'; '.join(wells) or 'none'}. Bonded: {', '.join(bonded) or 'none'}")


if __name__ == "__main__":
    main()
