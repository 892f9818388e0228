"""Loops that were built without having been seen, brought into a shape that a protein could have.

PDBFixer places the atoms of a loop without regard to their peptide bonds and their chirality, and minimisation leaves what is cis or D as it is. Here the loop and two
residues on either side of it move in the vacuum, everything else stays in its place: at 600 K with torsions that make peptide bonds trans and α carbons L, then at 300 K, then
downhill. Charges act at half of what they are, so that in the vacuum they do not fold the loop onto the protein, and hydrogens without a size keep away from oxygens.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import openmm
from openmm import app, unit

from ..errors import Refused, named
from ..repeatable import platform
from . import names
from .build import Model
from .chains import Segment
from .report import Report, listed

TRANS = 100.0
"""Amplitude (kJ/mol) of the onefold torsion that makes a peptide bond trans: half its height."""
LEFT = 4000.0
"""Force constant (kJ/mol/rad²) that makes an α carbon L: turning one inside out costs some hundred kJ/mol."""
CUTOFF = 0.8
"""nm; what acts beyond it does not matter here."""
CHARGES = 0.5
"""Factor of all charges: a permittivity of 4."""
TIME = 3.0
"""ps at each of the two temperatures, in steps of 1 fs at most."""
TOLERANCE = 1e-3
"""nm; error of a step, by which it is chosen."""
APART = 0.27
"""nm; where atoms that moved are nearer to water of the crystal than this, the water goes."""
WRONG = math.radians(40)
"""A peptide bond is farther from trans than this only if it is cis or strained."""


def unseen(model: Model, found: list[Segment]) -> list[int]:
    """Indices of the residues that were built for the loops of segments; caps are none of them."""
    seen = {(segment.chain, str(residue.number), residue.insertion or " ") for segment in found for residue in segment.residues}
    protein = [residue for residue in model.topology.residues() if residue.name in names.SIDE_CHAINS]
    return [residue.index for residue in protein if (residue.chain.id, residue.id, residue.insertionCode) not in seen]


def settle(model: Model, ff: Any, built: list[int], seed: int, report: Report) -> Model:
    """A model whose loops, the residues of the indices `built`, have trans peptide bonds and L amino acids. Hydrogens must be there.

    Raises `Refused` where a loop does not get there.
    """
    if not built:
        return model
    # Ions and water come after the protein.
    others = [residue for residue in model.topology.residues() if residue.name == "HOH" or len(list(residue.atoms())) == 1]
    modeller = app.Modeller(model.topology, model.quantity())
    modeller.delete(others)
    alone = list(modeller.topology.residues())
    moving = sorted({k for place in built for k in range(max(place - 2, 0), min(place + 3, len(alone)))})
    system = _system(ff, modeller.topology, {atom.index for k in moving for atom in alone[k].atoms()})
    places = np.array(modeller.positions.value_in_unit(unit.nanometer))
    left = _left(alone, places)
    bonds, centres = _wanted(alone, set(built), moving, left, places)
    trans = openmm.CustomTorsionForce("k * (1 + cos(theta))")
    trans.addGlobalParameter("k", TRANS)
    for pair in bonds:
        trans.addTorsion(*_omega(*pair), [])
    chiral = openmm.CustomTorsionForce("0.5 * c * (min(d, 6.283185307 - d))^2; d = abs(theta - left)")
    chiral.addGlobalParameter("c", LEFT)
    chiral.addGlobalParameter("left", left)
    for atoms in centres.values():
        chiral.addTorsion(*atoms, [])
    for force in (trans, chiral):
        system.addForce(force)
    places = _moved(system, places, seed)
    _check(bonds, centres, left, places)
    positions = np.array(model.positions)
    positions[: len(places)] = places
    settled = _without_waters(Model(model.topology, positions), {atom.index for k in moving for atom in alone[k].atoms()})
    report.note(f"the loop of {listed([named(alone[k]) for k in built], 8)} was settled in the vacuum: its peptide bonds are trans, its amino acids L; no more is known of its shape")
    return settled


def _moved(system: Any, places: np.ndarray, seed: int) -> np.ndarray:
    """The places (nm) after a minimisation, dynamics at 600 and at 300 K and another minimisation. Steps are as short as forces ask for: a side chain of the loop may begin
    where others are, and the minimisation does not part all of them."""
    for force in system.getForces():
        force.setForceGroup(int(isinstance(force, openmm.NonbondedForce | openmm.CustomNonbondedForce)))
    integrator = openmm.VariableLangevinIntegrator(600.0, 10.0, TOLERANCE)
    integrator.setMaximumStepSize(0.001)
    integrator.setRandomNumberSeed(seed)
    context = openmm.Context(system, integrator, platform())
    context.setPositions(places)
    try:
        # Bonds, hands and peptide bonds come first, by themselves: what lies on them would turn them over.
        integrator.setIntegrationForceGroups({0})
        openmm.LocalEnergyMinimizer.minimize(context, 10.0, 500)
        integrator.setIntegrationForceGroups({0, 1})
        openmm.LocalEnergyMinimizer.minimize(context, 10.0, 500)
        for number, temperature in enumerate((600.0, 300.0), 1):
            integrator.setTemperature(temperature)
            context.setVelocitiesToTemperature(temperature, seed)
            integrator.stepTo(TIME * number)
        openmm.LocalEnergyMinimizer.minimize(context, 10.0, 500)
    except openmm.OpenMMException as error:
        raise Refused(f"the loops that were built lie on other atoms ({error})", "build them with a program for that, or take another --seed") from None
    return np.array(context.getState(getPositions=True).getPositions(asNumpy=True).value_in_unit(unit.nanometer))


def _wanted(residues: list[Any], built: set[int], moving: list[int], left: float, places: np.ndarray) -> tuple[list[tuple[Any, Any]], dict[str, tuple[Any, ...]]]:
    """Peptide bonds that shall be trans and α carbons that shall be L: those of the loop, and those beside it that are so. What was seen cis, such as before a proline,
    stays as it was."""
    bonds = []
    for k in sorted({k for place in moving for k in (place - 1, place)}):
        if 0 <= k < len(residues) - 1 and residues[k].chain is residues[k + 1].chain:
            pair = residues[k], residues[k + 1]
            if {k, k + 1} & built or _is_trans(pair, places):
                bonds.append(pair)
    centres = {}
    for k in moving:
        atoms = _centre(residues[k])
        if atoms is not None and (k in built or _torsion(places, atoms) * left > 0):
            centres[named(residues[k])] = atoms
    return bonds, centres


def _is_trans(pair: tuple[Any, Any], places: np.ndarray) -> bool:
    return math.pi - abs(_torsion(places, _omega(*pair))) <= WRONG


def _without_waters(model: Model, moved: set[int]) -> Model:
    """Without the molecules of water that are in the way of atoms that moved."""
    heavy = np.array([model.positions[atom.index] for atom in model.topology.atoms() if atom.index in moved and atom.element.symbol != "H"])
    oxygens = [(residue, next(atom.index for atom in residue.atoms() if atom.element.symbol == "O")) for residue in model.topology.residues() if residue.name == "HOH"]
    inside = [residue for residue, oxygen in oxygens if np.linalg.norm(heavy - model.positions[oxygen], axis=1).min() < APART]
    modeller = app.Modeller(model.topology, model.quantity())
    modeller.delete(inside)
    return Model(modeller.topology, np.array(modeller.positions.value_in_unit(unit.nanometer)))


def _system(ff: Any, topology: Any, moving: set[int]) -> Any:
    """The force field with smaller charges; atoms that do not move have no mass."""
    cutoff = {"nonbondedMethod": app.CutoffNonPeriodic, "nonbondedCutoff": CUTOFF}
    system = ff.forcefield.createSystem(topology, **cutoff, constraints=None, rigidWater=False, residueTemplates=ff.templates(topology))
    for force in system.getForces():
        if isinstance(force, openmm.NonbondedForce):
            for k in range(force.getNumParticles()):
                charge, sigma, epsilon = force.getParticleParameters(k)
                force.setParticleParameters(k, CHARGES * charge, sigma, epsilon)
            for k in range(force.getNumExceptions()):
                a, b, product, sigma, epsilon = force.getExceptionParameters(k)
                force.setExceptionParameters(k, a, b, CHARGES**2 * product, sigma, epsilon)
        elif isinstance(force, openmm.CustomNonbondedForce):
            # Pairs of atoms that do not move are nine of ten, and a table is looked up for each.
            still = set(range(system.getNumParticles())) - moving
            force.addInteractionGroup(moving, moving)
            force.addInteractionGroup(moving, still)
    for atom in range(system.getNumParticles()):
        if atom not in moving:
            system.setParticleMass(atom, 0.0)
    return system


def _named(residue: Any, *wanted: str) -> list[int | None]:
    found = {atom.name: atom.index for atom in residue.atoms()}
    return [found.get(name) for name in wanted]


def _omega(a: Any, b: Any) -> tuple[Any, ...]:
    """The atoms of the torsion about the peptide bond of two residues."""
    if b.name == "NME":
        return (*_named(a, "CA", "C"), *_named(b, "N", "C"))
    return (*_named(a, "CH3" if a.name == "ACE" else "CA", "C"), *_named(b, "N", "CA"))


def _centre(residue: Any) -> tuple[Any, ...] | None:
    """The atoms whose improper torsion tells L from D; none of glycine and caps."""
    atoms = tuple(_named(residue, "N", "C", "CB", "CA"))
    return atoms if None not in atoms else None


def _torsion(places: np.ndarray, atoms: tuple[Any, ...]) -> float:
    a, b, c, d = places[list(atoms)]
    one, two = np.cross(b - a, c - b), np.cross(c - b, d - c)
    axis = (c - b) / np.linalg.norm(c - b)
    return math.atan2(float(np.dot(np.cross(one, two), axis)), float(np.dot(one, two)))


def _left(residues: list[Any], places: np.ndarray) -> float:
    """The improper torsion of an L amino acid, rad: the median of the protein, nearly all of which was seen."""
    return float(np.median([_torsion(places, atoms) for atoms in map(_centre, residues) if atoms is not None]))


def _check(bonds: list[tuple[Any, Any]], centres: dict[str, tuple[Any, ...]], left: float, places: np.ndarray) -> None:
    cis = [f"{named(a)} – {named(b)}" for a, b in bonds if not _is_trans((a, b), places)]
    right = [name for name, atoms in centres.items() if _torsion(places, atoms) * left < 0]
    if cis or right:
        what = [f"peptide bonds that are not trans ({listed(cis)})"] * bool(cis) + [f"D amino acids ({listed(right)})"] * bool(right)
        raise Refused(f"the loops that were built have {' and '.join(what)}", "build them with a program for that, or take another --seed")
