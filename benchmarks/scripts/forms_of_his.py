#!/usr/bin/env python3
"""Forms of His by the program against OpenMM's residues HIP, HID and HIE over rotamers of the side chain: ACE-HIS-NME in vacuum, rigid but for χ1 and χ2.

    PYTHONPATH=python .tools/prepare/bin/python3 benchmarks/scripts/forms_of_his.py ff14SB ff19SB charmm36m

By how much the energies of each form differ from OpenMM's between rotamers within 80 kJ/mol of the lowest by OpenMM, of a grid of 20° in χ1 and 30° in χ2: standard deviation,
lowest and highest less the mean (kJ/mol). The forms have charges of each form alone, bonded terms of each form, or Lennard-Jones parameters as well. OpenMM has the charges of the
entry, which keep the backbone of one form. The program is that of OCTITRATE, or target/release/octitrate.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
import openmm
from octitrate import entries
from octitrate.entries import Follow, entry, forms
from octitrate.model_compound import compound
from octitrate.peptide import peptide
from octitrate.residues import TitratableForceField
from openmm import app, unit

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = {"HSP": "HIP", "HSD": "HID", "HSE": "HIE"}
GONE = {"HSP": "", "HSD": "HE2", "HSE": "HD1"}
"""The hydrogen that a form has lost."""

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
library = ["his.toml"]
allow_mismatch = ["cutoff", "modifier", "water", "boundary", "parameters"]
[[titration.site]]
residue = "HIP 2"
initial = {weights}
"""
CORRECTION = (ROOT / "lambda/library/his.toml").read_text().partition("[correction]")[2]
"""The program wants one; the potential energy is without."""


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


class Reference:
    """OpenMM's residue of a form, with the charges of our entry: these keep those of one form on the backbone."""

    def __init__(self, ff: TitratableForceField, topology: Any, form: str, charges: dict[str, float]) -> None:
        gone = [atom for atom in topology.atoms() if atom.residue.name == "HIP" and atom.name == GONE[form]]
        self.kept = [atom.index for atom in topology.atoms() if atom not in gone]
        modeller = app.Modeller(topology, [openmm.Vec3(0, 0, 0)] * topology.getNumAtoms() * unit.nanometer)
        modeller.delete(gone)
        templates = ff.templates(modeller.topology)
        site = next(residue for residue in templates if residue.name == "HIP")
        templates[site] = ff.residues.plain(NAMES[form]).name
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


def compare(ff: TitratableForceField, follows: Follow, rotamers: list[tuple[float, float]], program: str, folder: pathlib.Path) -> dict[str, list[tuple[float, float]]]:
    """Energies (kJ/mol) of each form by the program and by OpenMM, at each pair of χ1 and χ2 (degrees)."""
    molecule = peptide(compound("HIS").residues)
    molecule = ff.add_hydrogens(molecule, ff.build_names(molecule.topology))
    topology, x = molecule.topology, np.array(molecule.positions.value_in_unit(unit.nanometer))
    system = ff.forcefield.createSystem(topology, nonbondedMethod=app.NoCutoff, residueTemplates=ff.templates(topology))
    (folder / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    usual = entries.FOLLOWS.get((ff.name, "his"), Follow.NOTHING)
    entries.FOLLOWS[ff.name, "his"] = follows
    try:
        (folder / "his.toml").write_text(entry(ff, "his").partition("[correction]")[0] + "[correction]" + CORRECTION)
    finally:
        entries.FOLLOWS[ff.name, "his"] = usual
    charges = forms(ff, "his").charges
    place = {atom.name: atom.index for atom in topology.atoms() if atom.residue.name == "HIP"}
    ring = [index for name, index in place.items() if name not in ("N", "H", "CA", "HA", "CB", "HB2", "HB3", "CG", "C", "O")]
    side = [place[name] for name in ("HB2", "HB3", "CG")] + ring
    references = {form: Reference(ff, topology, form, {name: values[k] for name, values in charges.items()}) for k, form in enumerate(NAMES)}
    found: dict[str, list[tuple[float, float]]] = {form: [] for form in NAMES}
    for rotamer in rotamers:
        y = x
        for angle, want, moved in zip((("N", "CA", "CB", "CG"), ("CA", "CB", "CG", "ND1")), rotamer, (side, ring), strict=True):
            atoms = [place[name] for name in angle]
            y = rotated(y, (atoms[1], atoms[2]), moved, want - dihedral(y, *atoms))
        (folder / "rotamer.gro").write_text(gro(topology, y))
        for k, form in enumerate(NAMES):
            (folder / "job.toml").write_text(JOB.format(weights=[float(one == k) for one in range(3)]))
            answer = subprocess.run([program, "energy", "job.toml", "--json"], cwd=folder, capture_output=True, text=True, check=False)
            if answer.returncode:
                sys.exit(answer.stderr)
            found[form].append((json.loads(answer.stdout)["energies"]["potential"]["value"], references[form].energy(y)))
    return found


def main() -> None:
    program = os.environ.get("OCTITRATE", str(ROOT / "target/release/octitrate"))
    rotamers = [(float(chi1), float(chi2)) for chi1 in range(0, 360, 20) for chi2 in range(0, 360, 30)]
    for name in sys.argv[1:]:
        ff = TitratableForceField(name)
        for follows in (Follow.NOTHING, Follow.BONDED, Follow.BONDED | Follow.LENNARD_JONES):
            with tempfile.TemporaryDirectory() as folder:
                found = compare(ff, follows, rotamers, program, pathlib.Path(folder))
            for form, energies in found.items():
                lowest = min(theirs for _, theirs in energies)
                apart = [ours - theirs for ours, theirs in energies if theirs < lowest + 80.0]
                mean = statistics.mean(apart)
                print(f"{name} {follows.name} {form}: {statistics.pstdev(apart):.2f} ({min(apart) - mean:+.2f} to {max(apart) - mean:+.2f}), {len(apart)} rotamers")


if __name__ == "__main__":
    main()
