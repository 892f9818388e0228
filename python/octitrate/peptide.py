"""Heavy atoms of a short peptide in an extended conformation, for model compounds and tests.

The backbone is placed from bond lengths, angles and torsions (phi, psi, omega = 180 degrees) with the values of Engh and Huber 1991,
doi:10.1107/S0108767391001071; side chains are added by PDBFixer. Lengths in nm, angles in degrees.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

from .errors import Refused

Point = tuple[float, float, float]

CN, NCA, CAC, CO = 0.1329, 0.1458, 0.1525, 0.1231
"""C-N, N-CA, CA-C and C=O."""
CACN, CNCA, NCAC, CACO, CACOXT = 116.2, 121.7, 111.2, 120.8, 117.0
"""Angles CA-C-N, C-N-CA, N-CA-C, CA-C-O, and CA-C-O at the end of a chain."""

SEED = 1
"""Of side chains that PDBFixer places, and of the hydrogens that follow: a molecule is the same each time it is built."""


def place(a: Point, b: Point, c: Point, length: float, angle: float, torsion: float) -> Point:
    """The point d at `length` from c with the angle b-c-d and the torsion a-b-c-d."""
    bc = _unit(_minus(c, b))
    normal = _unit(_cross(_minus(b, a), bc))
    across = _cross(normal, bc)
    theta, phi = math.radians(angle), math.radians(torsion)
    parts = (-math.cos(theta), math.sin(theta) * math.cos(phi), math.sin(theta) * math.sin(phi))
    x, y, z = (c[k] + length * (parts[0] * bc[k] + parts[1] * across[k] + parts[2] * normal[k]) for k in range(3))
    return x, y, z


def _minus(a: Point, b: Point) -> Point:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _cross(a: Point, b: Point) -> Point:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _unit(a: Point) -> Point:
    norm = math.hypot(*a)
    return a[0] / norm, a[1] / norm, a[2] / norm


def peptide(residues: Sequence[str], phi: float = -120.0, psi: float = 140.0) -> Any:
    """An `openmm.app.Modeller` with the heavy atoms of a chain such as ``["ACE", "GLU", "NME"]`` or ``["ALA", "NME"]``.

    ACE and NME are caps; without them the chain ends in N and in C with O and OXT. Names are those of the PDB (HIS, not HIP).

    Raises `Refused` for a residue that cannot be built.
    """
    from openmm import app
    from pdbfixer import PDBFixer

    from .repeatable import platform

    chain: list[tuple[int, str, Point]] = []
    walk: list[Point] = []

    def step(number: int, name: str, length: float, angle: float, torsion: float) -> None:
        point = (0.0, 0.0, 0.0)
        if len(walk) == 1:
            point = (length, 0.0, 0.0)
        elif len(walk) == 2:
            point = place((0.0, 1.0, 0.0), walk[0], walk[1], length, angle, 180.0)
        elif walk:
            point = place(walk[-3], walk[-2], walk[-1], length, angle, torsion)
        walk.append(point)
        chain.append((number, name, point))

    for number, residue in enumerate(residues):
        if residue != "ACE":
            step(number, "N", CN, CACN, psi)
            if residue == "NME":
                step(number, "C", NCA, CNCA, 180.0)
                continue
        step(number, "CH3" if residue == "ACE" else "CA", NCA, CNCA, 180.0)
        step(number, "C", CAC, NCAC, phi)
    for number, residue in enumerate(residues):
        if residue == "NME":
            continue
        at = {name: point for place_of, name, point in chain if place_of == number}
        before = at.get("N", (0.0, 0.3, 0.7))
        ca = at.get("CA", at.get("CH3", (0.0, 0.0, 0.0)))
        following = next((point for place_of, name, point in chain if place_of == number + 1 and name == "N"), None)
        if following is not None:
            chain.append((number, "O", place(following, ca, at["C"], CO, CACO, 180.0)))
        else:
            chain.append((number, "O", place(before, ca, at["C"], CO, CACO, psi + 180.0)))
            chain.append((number, "OXT", place(before, ca, at["C"], CO, CACOXT, psi)))
    lines: list[str] = []
    for number, name, point in sorted(chain, key=lambda one: one[0]):
        x, y, z = (10.0 * value for value in point)
        atom = f"ATOM  {len(lines) + 1:5d}  {name:<3s} {residues[number]:>3s} A{number + 1:4d}    {x:8.3f}{y:8.3f}{z:8.3f}"
        lines.append(f"{atom}  1.00  0.00           {name[0]}")
    fixer = PDBFixer(pdbfile=io.StringIO("\n".join([*lines, "END", ""])), platform=platform(SEED))
    unknown = [residue for residue in residues if residue not in fixer.templates and residue not in ("ACE", "NME")]
    if unknown:
        raise Refused(f"a peptide cannot be built with residue {unknown[0]}", f"residues are {', '.join(sorted(fixer.templates))}")
    fixer.missingResidues = {}
    fixer.findMissingAtoms()
    fixer.missingTerminals = {}
    fixer.addMissingAtoms(seed=SEED)
    return app.Modeller(fixer.topology, fixer.positions)
