#!/usr/bin/env python3
"""Forms of Glu, Asp and His by the program against OpenMM's residues over rotamers of the side chain: ACE-X-NME in vacuum, rigid but for torsions of the side chain.

    PYTHONPATH=python .tools/prepare/bin/python3 benchmarks/scripts/forms_of_residues.py ff14SB ff19SB charmm36m

By how much the energies of each form differ from OpenMM's between rotamers within 80 kJ/mol of the lowest by OpenMM, of a grid of 20° in χ1 and 30° in χ2 (Glu: 60°, 180° and 300° in
χ1 and χ2, 30° in χ3): standard deviation, lowest and highest less the mean (kJ/mol). The forms have charges of each form alone, bonded terms of each form, or Lennard-Jones parameters
as well. OpenMM has the charges of the entry, which keep the backbone of one form. The program is that of OCTITRATE, or target/release/octitrate.
"""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import openmm
from octitrate import entries
from octitrate.entries import Follow, entry, forms
from octitrate.force_fields import patched, register, view
from octitrate.model_compound import compound
from octitrate.peptide import peptide
from octitrate.residues import TitratableForceField
from openmm import app, unit

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Residue:
    """A residue that titrates. `forms`: OpenMM's residue of each form, and the hydrogens that it lacks; `torsions`: χ1, χ2 and so on, with the atoms that do not turn with them."""

    compound: str
    built: str
    forms: dict[str, tuple[str, tuple[str, ...]]]
    torsions: tuple[tuple[str, ...], ...]


RESIDUES = {
    "his": Residue("HIS", "HIP", {"HSP": ("HIP", ()), "HSD": ("HID", ("HE2",)), "HSE": ("HIE", ("HD1",))}, (("N", "CA", "CB", "CG"), ("CA", "CB", "CG", "ND1"))),
    "asp3": Residue(
        "ASP", "AS3", {"protonated-OD2": ("ASH", ("HD1",)), "protonated-OD1": ("ASH", ("HD2",)), "deprotonated": ("ASP", ("HD1", "HD2"))},
        (("N", "CA", "CB", "CG"), ("CA", "CB", "CG", "OD1")),
    ),
    "glu3": Residue(
        "GLU", "GL3", {"protonated-OE2": ("GLH", ("HE1",)), "protonated-OE1": ("GLH", ("HE2",)), "deprotonated": ("GLU", ("HE1", "HE2"))},
        (("N", "CA", "CB", "CG"), ("CA", "CB", "CG", "CD"), ("CB", "CG", "CD", "OE1")),
    ),
}  # fmt: skip

JOB = """[system]
structure = "rotamer.gro"
topology = "system.xml"
[electrostatics]
boundary = "open"
[van_der_waals]
cutoff = "4 nm"
[dynamics]
duration = "1 ps"
[thermostat]
temperature = "300 K"
[titration]
ph = 7.0
library = ["entry.toml"]
allow_mismatch = ["cutoff", "modifier", "water", "boundary", "parameters"]
[[titration.site]]
residue = "{site} 2"
initial = {weights}
"""


def correction(name: str) -> str:
    """The program wants one; the potential energy is without."""
    return "[correction]" + (ROOT / f"lambda/library/{name}.toml").read_text().partition("[correction]")[2]


def rotated(x: Any, axis: tuple[int, int], moved: list[int], angle: float) -> Any:
    """Positions with `moved` turned by an angle (degrees) about the bond `axis`."""
    origin, along = x[axis[0]], (x[axis[1]] - x[axis[0]]) / np.linalg.norm(x[axis[1]] - x[axis[0]])
    turn, r, y = np.radians(angle), x[moved] - origin, x.copy()
    y[moved] = origin + r * np.cos(turn) + np.cross(along, r) * np.sin(turn) + np.outer(r @ along, along) * (1 - np.cos(turn))
    return y


def dihedral(x: Any, a: int, b: int, c: int, d: int) -> float:
    along = (x[c] - x[b]) / np.linalg.norm(x[c] - x[b])
    v, w = (one - (one @ along) * along for one in (x[a] - x[b], x[d] - x[c]))
    return float(np.degrees(np.arctan2(np.cross(along, v) @ w, v @ w)))


def template(ff: TitratableForceField, name: str) -> str:
    """The name of the force field's residue inside of a chain; an acid of CHARMM is a patched one."""
    if not ff.residues.is_patched or name not in ("GLH", "ASH"):
        return ff.residues.plain(name).name
    base, patch = {"GLH": ("GLU", "GLUP"), "ASH": ("ASP", "ASPP")}[name]
    acid = replace(view(ff.forcefield, patched(ff.forcefield, base, patch)), name=f"{base}-{patch}-whole")
    register(ff.forcefield, acid)
    return acid.name


class Reference:
    """OpenMM's residue of a form, with the charges of our entry: these keep those of one form on the backbone."""

    def __init__(self, ff: TitratableForceField, topology: Any, residue: Residue, form: str, charges: dict[str, float]) -> None:
        name, lost = residue.forms[form]
        gone = [atom for atom in topology.atoms() if atom.residue.name == residue.built and atom.name in lost]
        self.kept = [atom.index for atom in topology.atoms() if atom not in gone]
        modeller = app.Modeller(topology, [openmm.Vec3(0, 0, 0)] * topology.getNumAtoms() * unit.nanometer)
        modeller.delete(gone)
        templates = ff.templates(modeller.topology)
        site = next(one for one in templates if one.name == residue.built)
        templates[site] = template(ff, name)
        system = ff.forcefield.createSystem(modeller.topology, nonbondedMethod=app.NoCutoff, residueTemplates=templates)
        force = next(one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
        before = [force.getParticleParameters(k)[0]._value for k in range(force.getNumParticles())]
        after = list(before)
        for atom in site.atoms():
            after[atom.index] = charges[atom.name]
            force.setParticleParameters(atom.index, after[atom.index], *force.getParticleParameters(atom.index)[1:])
        for k in range(force.getNumExceptions()):
            i, j, product, *well = force.getExceptionParameters(k)
            if product._value != 0.0:
                force.setExceptionParameters(k, i, j, product * (after[i] * after[j] / (before[i] * before[j])), *well)
        self.context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))

    def energy(self, x: Any) -> float:
        """kJ/mol."""
        self.context.setPositions(x[self.kept])
        return float(self.context.getState(getEnergy=True).getPotentialEnergy()._value)


def gro(topology: Any, x: Any) -> str:
    lines = [
        f"{atom.residue.index + 1:5d}{atom.residue.name:<5}{atom.name:>5}{atom.index + 1:5d}" + "".join(f"{value:14.9f}" for value in x[atom.index])
        for atom in topology.atoms()
    ]
    return "\n".join(["", f"{len(lines)}", *lines, "9.0 9.0 9.0", ""])


def beyond(topology: Any, residue: Residue, torsion: tuple[str, ...]) -> list[int]:
    """Indices of the atoms that turn with a torsion of the side chain."""
    neighbours: dict[str, set[str]] = {}
    for one, other in topology.bonds():
        if one.residue.name == other.residue.name == residue.built:
            neighbours.setdefault(one.name, set()).add(other.name)
            neighbours.setdefault(other.name, set()).add(one.name)
    found, new = {torsion[1], torsion[2]}, [torsion[2]]
    while new:
        more = neighbours[new.pop()] - found
        found |= more
        new += more
    return [atom.index for atom in topology.atoms() if atom.residue.name == residue.built and atom.name in found - {torsion[1], torsion[2]}]


def compare(
    ff: TitratableForceField, name: str, follows: Follow, rotamers: list[tuple[float, ...]], program: str, folder: pathlib.Path
) -> dict[str, list[tuple[float, float]]]:
    """Energies (kJ/mol) of each form of an entry by the program and by OpenMM, at each set of torsions of the side chain (degrees)."""
    residue = RESIDUES[name]
    molecule = peptide(compound(residue.compound).residues)
    molecule = ff.add_hydrogens(molecule, ff.build_names(molecule.topology))
    topology, x = molecule.topology, np.array(molecule.positions.value_in_unit(unit.nanometer))
    system = ff.forcefield.createSystem(topology, nonbondedMethod=app.NoCutoff, residueTemplates=ff.templates(topology))
    (folder / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    usual = entries.FOLLOWS.get((ff.name, name), Follow.NOTHING)
    entries.FOLLOWS[ff.name, name] = follows
    try:
        (folder / "entry.toml").write_text(entry(ff, name).partition("[correction]")[0] + correction(name))
    finally:
        entries.FOLLOWS[ff.name, name] = usual
    charges = forms(ff, name).charges
    place = {atom.name: atom.index for atom in topology.atoms() if atom.residue.name == residue.built}
    moved = [beyond(topology, residue, torsion) for torsion in residue.torsions]
    references = {form: Reference(ff, topology, residue, form, {atom: values[k] for atom, values in charges.items()}) for k, form in enumerate(residue.forms)}
    found: dict[str, list[tuple[float, float]]] = {form: [] for form in residue.forms}
    for rotamer in rotamers:
        y = x
        for torsion, want, turned in zip(residue.torsions, rotamer, moved, strict=True):
            atoms = [place[atom] for atom in torsion]
            y = rotated(y, (atoms[1], atoms[2]), turned, want - dihedral(y, *atoms))
        (folder / "rotamer.gro").write_text(gro(topology, y))
        for k, form in enumerate(residue.forms):
            (folder / "job.toml").write_text(JOB.format(site=residue.built, weights=[float(one == k) for one in range(3)]))
            answer = subprocess.run([program, "energy", "job.toml", "--json"], cwd=folder, capture_output=True, text=True, check=False)
            if answer.returncode:
                sys.exit(answer.stderr)
            found[form].append((json.loads(answer.stdout)["energies"]["potential"]["value"], references[form].energy(y)))
    return found


def main() -> None:
    program = os.environ.get("OCTITRATE", str(ROOT / "target/release/octitrate"))
    wells, thirty = (60, 180, 300), range(0, 360, 30)
    for name in sys.argv[1:]:
        ff = TitratableForceField(name)
        for residue in RESIDUES:
            grids = (wells, wells, thirty) if residue == "glu3" else (range(0, 360, 20), thirty)
            rotamers = [tuple(map(float, one)) for one in itertools.product(*grids)]
            for follows in (Follow.NOTHING, Follow.BONDED, Follow.BONDED | Follow.LENNARD_JONES):
                with tempfile.TemporaryDirectory() as folder:
                    found = compare(ff, residue, follows, rotamers, program, pathlib.Path(folder))
                for form, energies in found.items():
                    lowest = min(theirs for _, theirs in energies)
                    apart = [ours - theirs for ours, theirs in energies if theirs < lowest + 80.0]
                    mean = statistics.mean(apart)
                    print(f"{name} {follows.name} {form}: {statistics.pstdev(apart):.2f} ({min(apart) - mean:+.2f} to {max(apart) - mean:+.2f}), {len(apart)} rotamers")


if __name__ == "__main__":
    main()
