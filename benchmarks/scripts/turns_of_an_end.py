"""How often the amino end of a model compound turns about ψ (N–CA–C–N) and χ1, protonated and neutral: dynamics in OpenMM without water, with generalised Born.

    .tools/prepare/bin/python3 benchmarks/scripts/turns_of_an_end.py FOLDER START.gro ... [--length 3]

FOLDER is that of `octitrate prepare --model-compound`, with `system.xml` and the entry `library/nterm.toml`, of a residue with a side chain; each START has its atoms. From
each, a trajectory of `--length` ns runs in either form: 4 fs, 300 K, friction 1/ps, barriers of χ1 lower by 8 kJ/mol as with `ease_rotamers`, radii of OBC II (Onufriev et
al. 2004, doi:10.1002/prot.20033). Rates are not those in water; which motion is slow, and in which form, is asked here.
"""

import argparse
import tomllib
from pathlib import Path

import numpy as np
import openmm as mm
from openmm import app

RADII = {"H": (0.12, 0.85), "C": (0.17, 0.72), "N": (0.155, 0.79), "O": (0.15, 0.85), "S": (0.18, 0.96)}
"""Radius (nm) and scale of generalised Born, by element."""
LOWERED = 8.0
"""By how much the barriers of χ1 are lower (kJ/mol)."""


def solute(system: mm.System, count: int) -> mm.System:
    """The first `count` atoms of a system, without cut-off."""
    alone = mm.System()
    for atom in range(count):
        alone.addParticle(system.getParticleMass(atom))
    for number in range(system.getNumConstraints()):
        one, two, length = system.getConstraintParameters(number)
        if max(one, two) < count:
            alone.addConstraint(one, two, length)
    for force in system.getForces():
        if isinstance(force, mm.HarmonicBondForce):
            new, atoms, get, add, number = mm.HarmonicBondForce(), 2, force.getBondParameters, "addBond", force.getNumBonds()
        elif isinstance(force, mm.HarmonicAngleForce):
            new, atoms, get, add, number = mm.HarmonicAngleForce(), 3, force.getAngleParameters, "addAngle", force.getNumAngles()
        elif isinstance(force, mm.PeriodicTorsionForce):
            new, atoms, get, add, number = mm.PeriodicTorsionForce(), 4, force.getTorsionParameters, "addTorsion", force.getNumTorsions()
        elif isinstance(force, mm.NonbondedForce):
            new, atoms, get, add, number = mm.NonbondedForce(), 2, force.getExceptionParameters, "addException", force.getNumExceptions()
            for atom in range(count):
                new.addParticle(*force.getParticleParameters(atom))
        else:
            continue
        for term in map(get, range(number)):
            if max(term[:atoms]) < count:
                getattr(new, add)(*term)
        alone.addForce(new)
    return alone


def charged(force: mm.NonbondedForce, atoms: dict[str, int], charges: dict[str, float]) -> None:
    """Gives atoms other charges (e), and 1-4 pairs with them."""
    for name, charge in charges.items():
        _, sigma, epsilon = force.getParticleParameters(atoms[name])
        force.setParticleParameters(atoms[name], charge, sigma, epsilon)
    charge = [force.getParticleParameters(atom)[0]._value for atom in range(force.getNumParticles())]
    for number in range(force.getNumExceptions()):
        one, two, product, sigma, epsilon = force.getExceptionParameters(number)
        if product._value != 0 or epsilon._value != 0:
            force.setExceptionParameters(number, one, two, charge[one] * charge[two] / 1.2, sigma, epsilon)


def dihedral(positions: np.ndarray, atoms: list[int]) -> float:
    """Degrees, 0 to 360."""
    a, b, c = (positions[j] - positions[i] for i, j in zip(atoms, atoms[1:]))
    return float(np.degrees(np.arctan2(np.linalg.norm(b) * a @ np.cross(b, c), np.cross(a, b) @ np.cross(b, c))) % 360)


def changes(angles: np.ndarray, cores: list[tuple[float, float]]) -> int:
    """How often an angle goes from one core, from and to in degrees, to another."""
    visited = [core for angle in angles for core, (low, high) in enumerate(cores) if low < angle < high]
    return sum(one != two for one, two in zip(visited, visited[1:]))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("starts", type=Path, nargs="+")
    arguments.add_argument("--length", type=float, default=3.0, help="ns of each trajectory")
    asked = arguments.parse_args()
    system = mm.XmlSerializer.deserialize((asked.folder / "system.xml").read_text())
    forms = tomllib.loads((asked.folder / "library/nterm.toml").read_text())["charges"]
    for start in asked.starts:
        gro = app.GromacsGroFile(str(start))
        count = next(atom for atom, name in enumerate(gro.residueNames) if name == "HOH")
        first = {gro.atomNames[atom]: atom for atom in range(count) if gro.residueNames[atom] == gro.residueNames[0]}
        behind = next(atom for atom in range(len(first), count) if gro.atomNames[atom] == "N")
        psi = [first["N"], first["CA"], first["C"], behind]
        chi = [first["N"], first["CA"], first["CB"], first.get("CG1", first.get("CG", -1))]
        for form, name in enumerate(["protonated", "neutral"]):
            alone = solute(system, count)
            force = next(force for force in alone.getForces() if isinstance(force, mm.NonbondedForce))
            if form:
                # CA takes what is left, as at every residue but that of the entry.
                before = sum(force.getParticleParameters(first[atom])[0]._value for atom in forms)
                others = {atom: values[1] for atom, values in forms.items() if atom != "CA"}
                charged(force, first, others | {"CA": before - 1.0 - sum(others.values())})
            born = mm.GBSAOBCForce()
            for atom in range(count):
                born.addParticle(force.getParticleParameters(atom)[0], *RADII[gro.atomNames[atom][0]])
            alone.addForce(born)
            torsions = next(force for force in alone.getForces() if isinstance(force, mm.PeriodicTorsionForce))
            torsions.addTorsion(*chi, 3, 0.0, -LOWERED / 2)
            torsions.addTorsion(*chi, 6, 0.0, -LOWERED / 8)
            integrator = mm.LangevinMiddleIntegrator(300.0, 1.0, 0.004)
            integrator.setRandomNumberSeed(1)
            context = mm.Context(alone, integrator, mm.Platform.getPlatformByName("CPU"), {"Threads": "1"})
            context.setPositions(gro.positions[:count])
            mm.LocalEnergyMinimizer.minimize(context)
            context.setVelocitiesToTemperature(300.0, 1)
            angles = []
            for _ in range(round(1000 * asked.length)):
                integrator.step(250)
                positions = context.getState(getPositions=True).getPositions(asNumpy=True)._value
                angles.append([dihedral(positions, psi), dihedral(positions, chi)])
            found = np.array(angles)
            alpha = np.mean((found[:, 0] > 230))
            print(
                f"{start} {name}: ψ in α (230° to 360°) {alpha:.0%} of the time, {changes(found[:, 0], [(100, 190), (270, 350)])} changes; "
                f"χ1 {changes(found[:, 1], [(30, 90), (150, 210), (270, 330)])} changes in {asked.length} ns",
                flush=True,
            )


if __name__ == "__main__":
    main()
