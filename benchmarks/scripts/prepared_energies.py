"""Energies by term and forces of prepared proteins: octitrate beside the Reference platform of OpenMM.

    .tools/prepare/bin/python3 benchmarks/scripts/prepared_energies.py target/release/octitrate 1pgb.pdb 2ovo.pdb … [--force-fields ff14SB,ff14SB+cufix,ff19SB,charmm36m]

Every structure is prepared with every group protonated, in a cubic box (OpenMM has Ewald sums in no other), by each force field with the water that it was made
for, and with pair corrections where they are named. Both programs get the same system.xml and system.gro: Lennard-Jones truncated at 0.9 nm without a correction, Ewald sum (error 1e-9) and FMM
(tolerance 1e-8, double precision) for Coulomb. Prints a line of Markdown for each: differences of energies over the energy, the largest difference of a force over
the root of the mean square of all forces. Energies in kJ/mol, forces in kJ/mol/nm.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openmm
from openmm import unit

CUTOFF = 0.9
EWALD = 1e-9

JOB = f"""[system]
structure = "system.gro"
topology = "system.xml"

[electrostatics]
precision = "double"
tolerance = 1e-8

[van_der_waals]
cutoff = "{CUTOFF} nm"
modifier = "none"
dispersion_correction = false
"""

TERMS = {
    # an angle with a Urey-Bradley distance is one term to octitrate, and an angle and a bond to OpenMM
    "bonds and angles": (("bonds", "angles", "Urey-Bradley"), ("HarmonicBondForce", "HarmonicAngleForce", "CustomBondForce")),
    "dihedrals": (("proper dihedrals", "improper dihedrals", "Ryckaert-Bellemans"), ("PeriodicTorsionForce", "CustomTorsionForce", "RBTorsionForce")),
    "CMAP": (("CMAP",), ("CMAPTorsionForce",)),
    "Lennard-Jones": (("Lennard-Jones", "Lennard-Jones 1-4"), ("Lennard-Jones",)),
    "Coulomb": (("Coulomb", "Coulomb 1-4"), ("Coulomb",)),
}
"""Terms, each with the names that octitrate and OpenMM have for its parts."""


@dataclass(frozen=True)
class Comparison:
    """`energies`: octitrate's and OpenMM's by term; `force`: largest difference of a force over the root of the mean square of all forces."""

    atoms: int
    energies: dict[str, tuple[float, float]]
    force: float

    def apart(self, term: str) -> float:
        """Relative difference of an energy."""
        ours, theirs = self.energies[term]
        return abs(ours - theirs) / max(abs(theirs), 1.0)


def prepare(structure: Path, force_field: str, folder: Path, padding: float = 0.5) -> Path:
    """Prepares a protein with every group protonated in a cubic box; returns the folder. `force_field`: `ff14SB`, or with pair corrections `ff14SB+cufix`."""
    from octitrate.prepare.options import Options
    from octitrate.prepare.pipeline import prepare as prepared
    from octitrate.prepare.report import Report

    options = Options(input=structure, output=folder, box="cubic", padding=padding, sites=["all"])
    options.force_field, _, pairs = force_field.partition("+")
    options.pair_corrections = pairs or None
    return prepared(options, Report(screen=None))


def octitrate(binary: str, folder: Path) -> tuple[dict[str, float], Any]:
    """Energies by name and forces."""
    (folder / "energy.toml").write_text(JOB)
    command = [binary, "energy", "energy.toml", "--device", "cpu", "--json", "--forces", "forces.csv", "--force"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    with (folder / "forces.csv").open() as file:
        rows = list(csv.reader(line for line in file if not line.startswith("#")))
    # the three last columns
    forces = np.array([[float(value) for value in row[-3:]] for row in rows if row and row[-1].lstrip("-")[:1].isdigit()])
    return named(json.loads(answer.stdout)), forces


def named(answer: Any) -> dict[str, float]:
    """Energies by name in what `octitrate energy --json` prints."""
    return {name: float(one["value"]) for name, one in answer["energies"].items()}


def reference(folder: Path) -> tuple[dict[str, float], Any]:
    """Energies by kind of force, Lennard-Jones and Coulomb apart, and all forces, by the Reference platform."""
    text = (folder / "system.xml").read_text()
    places, box = gro(folder / "system.gro")
    whole, forces = evaluate(method(openmm.XmlSerializer.deserialize(text), True), places, box)
    neutral, _ = evaluate(method(openmm.XmlSerializer.deserialize(text), False), places, box)
    # with CHARMM the NonbondedForce has charges alone, and pairs of all other kinds a CustomNonbondedForce; pair corrections are one beside it
    pairs = neutral.pop("NonbondedForce")
    whole["Coulomb"] = whole.pop("NonbondedForce") - pairs
    # OpenMM calls the 1-4 pairs of CHARMM a CustomBondForce
    whole["Lennard-Jones"] = pairs + whole.pop("CustomNonbondedForce", 0.0) + whole.pop("LennardJones14", 0.0)
    return whole, forces


def method(system: Any, charged: bool) -> Any:
    """A system with the cut-off of this comparison; without charges plain, because the sum is not needed."""
    for force in system.getForces():
        if isinstance(force, openmm.NonbondedForce):
            force.setNonbondedMethod(openmm.NonbondedForce.Ewald if charged else openmm.NonbondedForce.CutoffPeriodic)
            force.setEwaldErrorTolerance(EWALD)
            force.setUseDispersionCorrection(False)
            if not charged:
                for k in range(force.getNumParticles()):
                    force.setParticleParameters(k, 0.0, *force.getParticleParameters(k)[1:])
                for k in range(force.getNumExceptions()):
                    a, b, _, sigma, epsilon = force.getExceptionParameters(k)
                    force.setExceptionParameters(k, a, b, 0.0, sigma, epsilon)
        elif isinstance(force, openmm.CustomNonbondedForce):
            force.setUseLongRangeCorrection(False)
        else:
            continue
        force.setCutoffDistance(CUTOFF)
        force.setUseSwitchingFunction(False)
    return system


def evaluate(system: Any, places: Any, box: Any) -> tuple[dict[str, float], Any]:
    """Energies by the names of forces, and the sum of their forces."""
    for k, force in enumerate(system.getForces()):
        force.setForceGroup(k)
    system.setDefaultPeriodicBoxVectors(*np.diag(box))
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(places * unit.nanometer)
    context.computeVirtualSites()  # the file has six decimals
    energies: dict[str, float] = {}
    total = np.zeros_like(places)
    for k, force in enumerate(system.getForces()):
        state = context.getState(getEnergy=True, getForces=True, groups={k})
        name = force.getName() if force.getName() == "LennardJones14" else type(force).__name__
        energies[name] = energies.get(name, 0.0) + state.getPotentialEnergy()._value
        total += state.getForces(asNumpy=True)._value
    return energies, total


def gro(path: Path) -> tuple[Any, Any]:
    """Places and the edges of the box of a `.gro` file that `octitrate prepare` wrote."""
    lines = path.read_text().splitlines()
    places = np.array([[float(row[20 + 11 * k : 31 + 11 * k]) for k in range(3)] for row in lines[2:-1]])
    return places, np.array([float(value) for value in lines[-1].split()[:3]])


def compare(binary: str, folder: Path) -> Comparison:
    """Both programs on a folder that was prepared."""
    ours, our_forces = octitrate(binary, folder)
    theirs, their_forces = reference(folder)
    energies = {term: (sum(ours.get(name, 0.0) for name in a), sum(theirs.get(name, 0.0) for name in b)) for term, (a, b) in TERMS.items()}
    system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
    # OpenMM has forces on virtual sites too, which it has handed to their parents
    real = np.array([system.getParticleMass(k)._value > 0.0 for k in range(system.getNumParticles())])
    apart = np.linalg.norm((our_forces - their_forces)[real], axis=1)
    typical = np.sqrt(np.mean(np.sum(their_forces[real] ** 2, axis=1)))
    return Comparison(len(real), energies, float(apart.max() / typical))


def main() -> None:
    """Prints the table."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("structures", nargs="+", type=Path)
    p.add_argument("--force-fields", default="ff14SB,ff19SB,charmm36m")
    chosen = p.parse_args()
    print("| | atoms | " + " | ".join(TERMS) + " | forces |", flush=True)
    print("|---" * (len(TERMS) + 3) + "|", flush=True)
    for force_field in chosen.force_fields.split(","):
        for structure in chosen.structures:
            with tempfile.TemporaryDirectory() as folder:
                found = compare(str(Path(chosen.binary).resolve()), prepare(structure, force_field, Path(folder) / "prepared"))
            cells = ["–" if found.energies[term] == (0.0, 0.0) else f"{found.apart(term):.0e}" for term in TERMS]
            print(f"| {force_field}, {structure.stem} | {found.atoms} | {' | '.join(cells)} | {found.force:.0e} |", flush=True)


if __name__ == "__main__":
    main()
