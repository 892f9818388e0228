#!/usr/bin/env python3
"""What a force field changes besides charges when a group loses its proton: Lennard-Jones parameters and bonded terms of atoms that both forms have.

    .tools/prepare/bin/python3 benchmarks/scripts/form_terms.py ff14SB ff19SB charmm36m

For each residue with forms of its own in the force field: atoms with other Lennard-Jones parameters (σ in nm, ε in kJ/mol), and the numbers of bonds, angles, torsions, impropers and
distances of Urey and Bradley that differ, with the largest change of a length (nm), of an angle (degrees) and of an amplitude (kJ/mol). Terms of the backbone alone and of the hydrogen that leaves are left out. Each
residue stands by itself, without terms to its neighbours. It needs the Python package of octitrate.
"""

import sys

from octitrate.bonded import lennard_jones, terms
from octitrate.force_fields import patched, view
from octitrate.residues import TitratableForceField
from octitrate.templates import BACKBONE

KINDS = {"bond": "nm", "angle": "°", "torsion": "kJ/mol", "improper": "kJ/mol", "Urey-Bradley": "nm"}


def numbers(ff, residue, called):
    """The number of every term of a residue that is compared, by its kind and the names of its atoms (of torsions also by the multiplicity), and these names."""
    own = terms(ff.forcefield, residue, called)
    found = {}
    for atoms, (length, _) in own.bonds.items():
        found["bond" if frozenset(atoms) in own.bonded else "Urey-Bradley", atoms, 0] = [length]
    for atoms, (angle, _) in own.angles.items():
        found["angle", atoms, 0] = [angle]
    for atoms, values in own.torsions.items():
        for phase, amplitude, period in values:
            found.setdefault(("torsion", atoms, period), [0.0])[0] += amplitude if phase == 0.0 else -amplitude
    for atoms, values in own.impropers.items():
        # AMBER: phase, amplitude and multiplicity; CHARMM: force constant and angle.
        found["improper", atoms, 0] = [sum(one[1] if len(one) == 3 else one[0] for one in values)]
    return found | {("Lennard-Jones", (name,), 0): list(well) for name, well in lennard_jones(ff.forcefield, residue).items()}, own.names


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
            (one, names), (other, more) = (numbers(ff, form, f"{label}-{k}") for k, form in enumerate(forms))
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
