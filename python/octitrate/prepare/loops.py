"""Loops that were built without having been seen, brought into a shape that a protein could have.

PDBFixer places the atoms of a loop without regard to their peptide bonds and their chirality, and minimisation leaves what is cis or D as it is. Here the loop and two
residues on either side of it move in the vacuum, everything else stays in its place: with torsions that make peptide bonds trans and α carbons L, at first without other atoms,
which then push, more and more, so that what lies on others parts and is not locked; then with the force field, a tenth of a picosecond at 600 K and one at 300 K, and downhill.
Charges act at half of what they are, so that in the vacuum they do not fold the loop onto the protein, and hydrogens without a size keep away from oxygens.

A loop that comes out with a cis peptide bond, a D amino acid, atoms on others or a bond that goes through a ring begins anew: it moves before others push, so that it takes
another shape and may pass through what is there. Loops that came out well stay where they are meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import openmm
from openmm import app, unit

from ..errors import Refused, named
from ..repeatable import platform
from ..words import listed
from . import names
from .names import known_as
from .build import Model
from .chains import Segment
from .report import Report

TRANS = 300.0
"""Amplitude (kJ/mol) of the onefold torsion that makes a peptide bond trans: half its height. With less than twice the 84 kJ/mol by which force fields hold a peptide bond
flat cis is still a minimum, in which bonds at the ends of a narrow gap stay."""
LEFT = 4000.0
"""Force constant (kJ/mol/rad²) that makes an α carbon L: turning one inside out costs some hundred kJ/mol."""
CUTOFF = 0.8
"""nm; what acts beyond it does not matter here."""
AROUND = 1.2
"""nm; residues that are farther from all that may move are left out: `CUTOFF` and the way that loops go."""
CHARGES = 0.5
"""Factor of all charges: a permittivity of 4."""
TIME, STEP = 0.1, 0.001
"""ps at each of the two temperatures, and of a step. With 0.5 ps, and pushes at 600 K as well, residues 32 and 33 of 1PGB end 8 Å from
where the crystal has them, with this 1.3 Å."""
APART = 0.27
"""nm; where atoms that moved are nearer to water of the crystal than this, the water goes."""
WRONG = math.radians(40)
"""A peptide bond is farther from trans than this only if it is cis or strained."""
TOUCHING = 0.24
"""nm; heavy atoms of residues that are not neighbours are farther apart, also where a hydrogen bond joins them (0.25)."""
FLANK = 2
"""Residues on either side of a loop that move with it at first."""
TRIES, WIDER = 12, 4
"""How often a loop is tried before it is refused, and after how many tries one residue more on either side moves."""
RINGS = {
    "HIS": (("CG", "ND1", "CE1", "NE2", "CD2"),),
    "PHE": (("CG", "CD1", "CE1", "CZ", "CE2", "CD2"),),
    "PRO": (("N", "CA", "CB", "CG", "CD"),),
    "TRP": (("CG", "CD1", "NE1", "CE2", "CD2"), ("CD2", "CE2", "CZ2", "CH2", "CZ3", "CE3")),
    "TYR": (("CG", "CD1", "CE1", "CZ", "CE2", "CD2"),),
}
FREE = 0.1
"""ps in which a loop that begins anew feels no other atoms, at 600 K."""
PUSHES = (1e3, 1e4, 1e5)
"""kJ/mol/nm²; how strongly atoms push each other away before they have their Lennard-Jones energy, one after another."""
RADII = {"H": 0.09}
"""nm; within the sum of two radii atoms push, 0.16 of all but hydrogen: that leaves room for hydrogen bonds."""


def unseen(model: Model, found: list[Segment]) -> list[int]:
    """Indices of the residues that were built for the loops of segments; caps are none of them."""
    seen = {(segment.chain, str(residue.number), residue.insertion or " ") for segment in found for residue in segment.residues}
    protein = [residue for residue in model.topology.residues() if residue.name in names.SIDE_CHAINS]
    return [residue.index for residue in protein if (residue.chain.id, residue.id, residue.insertionCode) not in seen]


def settle(model: Model, ff: Any, built: list[int], seed: int, report: Report) -> Model:
    """A model whose loops, the residues of the indices `built`, have trans peptide bonds and L amino acids and lie on nothing. Hydrogens must be there.

    Raises `Refused` where a loop does not get there in `TRIES` tries.
    """
    if not built:
        return model
    modeller, kept = _around(model, built)
    alone = list(modeller.topology.residues())
    # Indices among the residues that are kept.
    built = [kept.index(k) for k in built]
    loops = _apart(built, len(alone))
    moving = sorted(set().union(*loops))
    system = _system(ff, modeller.topology, _atoms(alone, moving))
    start = np.array(modeller.positions.value_in_unit(unit.nanometer))
    left = _left(alone, start)
    bonds, centres = _wanted(alone, set(built), moving, left, start)
    for force in (_trans(bonds), _chiral(centres, left), _pushing(modeller.topology, _atoms(alone, moving))):
        system.addForce(force)
    places, moved, again = start.copy(), set[int](), set(built)
    for tried in range(TRIES):
        now = {k for k in moving if again & set(range(k - FLANK - tried // WIDER, k + FLANK + tried // WIDER + 1))}
        moved |= now
        _hold_others(system, alone, now)
        places[sorted(_atoms(alone, now))] = start[sorted(_atoms(alone, now))]
        # A seed and those after it, in the range of seeds.
        found = _moved(system, places, (seed + tried - 1) % (2**31 - 1) + 1, tried > 0)
        if found is None:
            wrong = [(k, "lie on other atoms") for k in sorted(again)]
        else:
            places = found
            wrong = _wrong(bonds, {alone[k]: atoms for k, atoms in centres.items()}, left, places) + _crossed(alone, built, places)
        if not wrong:
            break
        again = set(built) & {k for loop in loops if loop & {k for k, _ in wrong} for k in loop}
    else:
        raise Refused(
            f"the loops that were built {listed(list(dict.fromkeys(what for _, what in wrong)), 4)}, after {TRIES} tries",
            "build them with a program for that, take another --seed, or end the chain there (--gaps cap)",
        )
    everything = list(model.topology.residues())
    positions = np.array(model.positions)
    positions[[atom.index for k in kept for atom in everything[k].atoms()]] = places
    settled = _without_waters(Model(model.topology, positions), _atoms(everything, [kept[k] for k in moved]))
    begun = f" at try {tried + 1}" if tried else ""
    report.note(f"the loop of {listed([named(alone[k]) for k in built], 8)} was settled in the vacuum{begun}: its peptide bonds are trans, its amino acids L; no more is known of its shape")
    return settled


def _around(model: Model, built: list[int]) -> tuple[Any, list[int]]:
    """A modeller of the protein around loops, and the indices of its residues: what is farther away costs time alone."""
    residues = list(model.topology.residues())
    most = FLANK + (TRIES - 1) // WIDER
    near = model.positions[sorted(_atoms(residues, {j for k in built for j in range(max(k - most, 0), min(k + most + 1, len(residues)))}))]
    low, high = near.min(axis=0) - AROUND, near.max(axis=0) + AROUND
    kept = []
    for residue in residues:
        # Ions and water come after the protein and are left out.
        atoms = model.positions[sorted(_atoms(residues, [residue.index]))]
        if residue.name != "HOH" and len(atoms) > 1:
            inside = atoms[((atoms > low) & (atoms < high)).all(axis=1)]
            if len(inside) and np.linalg.norm(inside[:, None] - near, axis=2).min() < AROUND:
                kept.append(residue.index)
    modeller = app.Modeller(model.topology, model.quantity())
    modeller.delete([residue for residue in residues if residue.index not in set(kept)])
    return modeller, kept


def _apart(built: list[int], count: int) -> list[set[int]]:
    """The residues that may move, those that were built among them: a set for each loop, one for loops that share some."""
    found: list[set[int]] = []
    most = FLANK + (TRIES - 1) // WIDER
    for place in built:
        near = set(range(max(place - most, 0), min(place + most + 1, count)))
        if found and found[-1] & near:
            found[-1] |= near
        else:
            found.append(near)
    return found


def _atoms(residues: list[Any], chosen: Iterable[int]) -> set[int]:
    """The indices of the atoms of some residues."""
    return {atom.index for k in chosen for atom in residues[k].atoms()}


def _hold_others(system: Any, residues: list[Any], moving: set[int]) -> None:
    """Lets residues move and no others: atoms without a mass stay where they are."""
    for residue in residues:
        for atom in residue.atoms():
            system.setParticleMass(atom.index, atom.element.mass if residue.index in moving else 0.0)


def _trans(bonds: list[tuple[Any, Any]]) -> Any:
    """A force that makes peptide bonds trans."""
    force = openmm.CustomTorsionForce("k * (1 + cos(theta))")
    force.addGlobalParameter("k", TRANS)
    for pair in bonds:
        force.addTorsion(*_omega(*pair), [])
    return force


def _chiral(centres: dict[int, tuple[Any, ...]], left: float) -> Any:
    """A force that makes α carbons L."""
    force = openmm.CustomTorsionForce("0.5 * c * (min(d, 6.283185307 - d))^2; d = abs(theta - left)")
    force.addGlobalParameter("c", LEFT)
    force.addGlobalParameter("left", left)
    for atoms in centres.values():
        force.addTorsion(*atoms, [])
    return force


def _pushing(topology: Any, moving: set[int]) -> Any:
    """A force that parts atoms which lie on each other, from nothing to as strong as it has to be: with the Lennard-Jones energy they fly apart or stay locked."""
    push = openmm.CustomNonbondedForce("push * max(0, radius1 + radius2 - r)^2")
    push.addGlobalParameter("push", 0.0)
    push.addPerParticleParameter("radius")
    for atom in topology.atoms():
        push.addParticle([RADII.get(atom.element.symbol, 0.16)])
    push.createExclusionsFromBonds([(a.index, b.index) for a, b in topology.bonds()], 3)
    push.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffNonPeriodic)
    push.setCutoffDistance(0.4)
    push.addInteractionGroup(moving, set(range(topology.getNumAtoms())))
    return push


def _moved(system: Any, places: np.ndarray, seed: int, anew: bool) -> np.ndarray | None:
    """The places (nm) after bonds, hands and peptide bonds are as they should be, atoms that lie on each other have parted, and dynamics at 600 and at 300 K. `anew`: whether
    atoms move for a while before they part. None where they do not part."""
    for force in system.getForces():
        is_push = isinstance(force, openmm.CustomNonbondedForce) and force.getNumGlobalParameters() == 1
        force.setForceGroup(2 if is_push else int(isinstance(force, openmm.NonbondedForce | openmm.CustomNonbondedForce)))
    integrator = openmm.LangevinMiddleIntegrator(600.0, 10.0, STEP)
    integrator.setRandomNumberSeed(seed)
    context = openmm.Context(system, integrator, platform())
    context.setPositions(places)
    try:
        # By themselves: what lies on them would turn them over.
        integrator.setIntegrationForceGroups({0})
        openmm.LocalEnergyMinimizer.minimize(context, 10.0, 500)
        if anew:
            context.setVelocitiesToTemperature(600.0, seed)
            integrator.step(round(FREE / STEP))
        integrator.setIntegrationForceGroups({0, 2})
        for push in PUSHES:
            context.setParameter("push", push)
            openmm.LocalEnergyMinimizer.minimize(context, 10.0, 200)
        integrator.setIntegrationForceGroups({0, 1})
        openmm.LocalEnergyMinimizer.minimize(context, 10.0, 500)
        for temperature in (600.0, 300.0):
            integrator.setTemperature(temperature)
            context.setVelocitiesToTemperature(temperature, seed)
            integrator.step(round(TIME / STEP))
        openmm.LocalEnergyMinimizer.minimize(context, 10.0, 500)
    except openmm.OpenMMException:
        return None
    return np.array(context.getState(getPositions=True).getPositions(asNumpy=True).value_in_unit(unit.nanometer))


def _wanted(residues: list[Any], built: set[int], moving: list[int], left: float, places: np.ndarray) -> tuple[list[tuple[Any, Any]], dict[int, tuple[Any, ...]]]:
    """Peptide bonds that shall be trans, and α carbons that shall be L by the index of their residue: those of the loop, and those beside it that are so. What was seen cis, such as before a proline,
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
            centres[k] = atoms
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
    """The force field with smaller charges."""
    cutoff = {"nonbondedMethod": app.CutoffNonPeriodic, "nonbondedCutoff": CUTOFF}
    system = ff.forcefield.createSystem(topology, **cutoff, constraints=None, rigidWater=False, ignoreExternalBonds=True, residueTemplates=ff.templates(topology))
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


def _wrong(bonds: list[tuple[Any, Any]], centres: dict[Any, tuple[Any, ...]], left: float, places: np.ndarray) -> list[tuple[int, str]]:
    """What is not as it was wanted: the index of a residue, and words."""
    cis = [(b.index, f"have a peptide bond that is not trans ({named(a)} – {named(b)})") for a, b in bonds if not _is_trans((a, b), places)]
    return cis + [(residue.index, f"have a D amino acid ({named(residue)})") for residue, atoms in centres.items() if _torsion(places, atoms) * left < 0]


def _crossed(residues: list[Any], built: list[int], places: np.ndarray) -> list[tuple[int, str]]:
    """Where residues that were built lie on others, or go through a ring: the index of a residue, and words."""
    return _touching(residues, built, places) + _through_rings(residues, set(built), places)


def _touching(residues: list[Any], built: list[int], places: np.ndarray) -> list[tuple[int, str]]:
    heavy = [atom for residue in residues for atom in residue.atoms() if atom.element.symbol != "H"]
    at = places[[atom.index for atom in heavy]]
    found = []
    for k in built:
        beside = {k} | {j for j in (k - 1, k + 1) if 0 <= j < len(residues) and residues[j].chain is residues[k].chain}
        for atom in residues[k].atoms():
            near = [heavy[j] for j in np.flatnonzero(np.linalg.norm(at - places[atom.index], axis=1) < TOUCHING) if heavy[j].residue.index not in beside]
            # The sulfurs of a disulfide are bonded.
            if atom.element.symbol != "H" and (near := [other for other in near if {atom.name, other.name} != {"SG"}]):
                found.append((k, f"lie on other atoms ({named(residues[k])} on {named(near[0].residue)})"))
    return found


def _through_rings(residues: list[Any], built: set[int], places: np.ndarray) -> list[tuple[int, str]]:
    pairs = [(a, b) for a, b in residues[0].chain.topology.bonds() if "H" not in (a.element.symbol, b.element.symbol)]
    start, end = (places[[pair[side].index for pair in pairs]] for side in (0, 1))
    found = []
    for residue in residues:
        for ring_names in RINGS.get(known_as(residue.name), ()):
            ring = places[[atom.index for atom in residue.atoms() if atom.name in ring_names]]
            centre = ring.mean(axis=0)
            radius = np.linalg.norm(ring - centre, axis=1).mean()
            for k in np.flatnonzero(np.linalg.norm(start - centre, axis=1) < 0.3):
                a, b = (atom.residue for atom in pairs[k])
                ours = [one.index for one in (a, b, residue) if one.index in built]
                if ours and residue is not a and residue is not b:
                    # Only the plane is wanted, so that the order of the atoms does not matter.
                    normal = np.linalg.svd(ring - centre)[2][2]
                    above, below = np.dot(start[k] - centre, normal), np.dot(end[k] - centre, normal)
                    if above * below < 0 and np.linalg.norm(start[k] + (end[k] - start[k]) * above / (above - below) - centre) < radius:
                        found.append((ours[0], f"have a bond that goes through a ring (that of {named(residue)})"))
    return found
