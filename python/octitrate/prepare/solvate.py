"""Water, salt, and the system of the force field; a first look at its energy and forces."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import openmm
from openmm import app, unit

from ..errors import Refused, named
from ..finite_box import table, too_high
from ..ions import element_of_ion
from ..pair_corrections import IONS
from ..repeatable import is_pair_table, order_types, platform
from ..words import listed
from .build import Model
from .chirality import is_d
from .molecules import Wanted
from .options import Options
from .report import Report

SHAPES = {
    "cubic": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "dodecahedron": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5, 0.5**0.5)),
    "octahedron": ((1.0, 0.0, 0.0), (1 / 3, 8**0.5 / 3, 0.0), (-1 / 3, 2**0.5 / 3, 6**0.5 / 3)),
}
"""Vectors of boxes whose nearest images are one unit apart, lower-triangular and reduced."""

LIST_BUFFER = 0.25
"""nm; opposite faces of the box must be farther apart than twice the cut-off and the buffer of the lists."""

ION_SPACING = 0.5
"""nm between two ions as they are placed."""

WATER_MOLAR = 55.4
"""Molecules of water in a litre of it, mol."""

ATOMS_PER_NM3 = 100.0
"""Of water with three sites, and of proteins."""

MOST = 5e6
"""Atoms of a box: a hundred times those of the proteins whose speed was measured (benchmarks/gpu.md)."""

LONG = 0.22
"""nm; no bond between C, N and O is so long in a structure that can be repaired by a minimisation."""

STIFF = 3e5
"""kJ/mol/nm²; a spring in place of a fixed length, as stiff as a bond to hydrogen."""
LARGE = 3e4
"""kJ/mol/nm; a bond between heavy atoms that is 0.1 nm too long or too short pulls like that (3e5 kJ/mol/nm²). Preparations in validation/results have 3e3 to 2.6e4 after the
minimisation."""
STEPS = 25
"""Steps of the minimisation: enough to part atoms that lie on each other. A titration minimises for itself."""


@dataclass
class Solvated:
    """A system that can run."""

    model: Model
    system: Any


def solvate(model: Model, ff: Any, options: Options, lost: list[float], protons: int, report: Report) -> tuple[Model, str | None]:
    """Puts the protein into a box of water with ions, which give the concentration of salt and decide how much charge the buffers have to take. With it comes the text
    of `finite_box.csv`, what the size of the box does to pKa values; none without salt, where that is not known.

    `protons`: of all groups that titrate; `lost`: the numbers of them that are gone at the lowest and the highest pH of the titration, as they are estimated. While pH goes from one to the other,
    the protein goes from one charge to the other, and buffers take up what ions do not: least if the box is neutral in the middle of the two.
    """
    modeller = app.Modeller(model.topology, model.quantity())
    cutoff = ff.cutoffs.cutoff
    solute = [atom.index for atom in model.topology.atoms() if atom.residue.name != "HOH"]
    modeller.addExtraParticles(ff.forcefield, residueTemplates=ff.templates(modeller.topology))  # sites without mass of the water of the crystal
    templates = ff.templates(modeller.topology)
    # In charges that are scaled it is that of chemistry times the scale, as that of ions is.
    built = charge(ff.forcefield.createSystem(modeller.topology, residueTemplates=templates)) / ff.charge_scale
    before = modeller.topology.getNumResidues()
    box = box_vectors(model.positions[solute], options, cutoff)
    check_size(box, model.positions[solute])
    modeller.addSolvent(
        ff.forcefield,
        model=ff.water_model,
        boxVectors=box * unit.nanometer,
        neutralize=False,
        residueTemplates=templates,
    )
    excess = -middle(built, lost)
    add_ions(modeller, list(modeller.topology.residues())[before:], excess, options.salt, options.seed)
    places = np.array(modeller.positions.value_in_unit(unit.nanometer))
    count = {"HOH": 0}
    for residue in modeller.topology.residues():
        if residue.name in ("HOH", "NA", "CL"):
            count[residue.name] = count.get(residue.name, 0) + 1
    report.note(
        f"{options.box} box, the protein at least {2 * options.padding:g} nm from its images: "
        + ", ".join(f"{number} {name}" for name, number in count.items())
        + f"; {len(places)} atoms"
    )
    note_charges(built, lost, excess, report, ff.charge_scale)
    if options.salt > 0:
        mass = sum(atom.element.mass.value_in_unit(unit.dalton) for atom in model.topology.atoms() if atom.residue.name != "HOH")
        note_size([built - gone for gone in lost], mass, count["HOH"], options.salt, report, ff.charge_scale)
        effects = table(built, protons, mass, count["HOH"], options.salt, ff.charge_scale)
    else:
        effects = None
        report.note("what the size of the box does to pKa values is not estimated without salt: those of a charged protein come out too high, or too low if its charge is negative")
    return Model(modeller.topology, places), effects


def middle(built: float, lost: list[float]) -> int:
    """The charge (e) in the middle of those that the protein has while `lost` protons are gone, to whole e. `built`: with all of them."""
    return round(built) - math.ceil((min(lost) + max(lost)) / 2 - 0.5)


def note_charges(built: float, lost: list[float], excess: int, report: Report, scale: float = 1.0) -> None:
    """Notes what the protein, ions and charge buffers have to do with each other. `scale`: of the charges of ionised groups and ions."""
    low, high = (built - gone for gone in (max(lost), min(lost)))
    report.note(
        f"charge of the protein as it is built, every group that titrates protonated: {round(built):+d} e; by the estimated pKa values {high:+.1f} e at the lowest "
        f"pH and {low:+.1f} e at the highest. {abs(excess) or 'No'} {'Na+' if excess > 0 else 'Cl-' if excess else 'ions'} beside the salt, so that the box is neutral in "
        f"the middle of these and charge buffers, molecules of water that octitrate chooses, have the least to take up: {-scale * (high + excess):+.1f} to {-scale * (low + excess):+.1f} e"
    )


NOTABLE = 0.1
"""pK units that a user would want to know of."""


def note_size(charges: list[float], mass: float, waters: int, salt: float, report: Report, scale: float = 1.0) -> None:
    """Notes what the size of the box does to pKa values. `charges` (e): of the protein at the lowest and the highest pH; `mass` (u): of the protein."""
    errors = [too_high(charge, mass, waters, salt, scale) for charge in charges]
    if max(map(abs, errors)) < NOTABLE:
        report.note(f"the size of the box changes pKa values by less than {NOTABLE:g}, by an estimate (Poisson-Boltzmann, a sphere of the protein's volume in a cell)")
        return
    words = [f"{abs(error):.2f} too {'high' if error > 0 else 'low'} at the {place} pH ({charge:+.1f} e)" for error, charge, place in zip(errors, charges, ("lowest", "highest"))]
    report.note(
        f"the size of the box: compared with a test tube of the same salt, pKa values come out {' and '.join(words)}, by an estimate (Poisson-Boltzmann, a sphere of the "
        "protein's volume in a cell). The titration gives pKa values with this shift and without it (finite_box.csv); --padding makes the box larger"
    )


def add_ions(modeller: Any, waters: list[Any], excess: int, salt: float, seed: int) -> None:
    """Replaces some of these `waters` by Na+ and Cl-: as many of one kind as make the charge `excess` (e), and pairs of both for the concentration `salt` (mol/l).

    Which ones is chosen at random, the same for the same seed; no two, nor an image of one, are within `ION_SPACING`.
    """
    pairs = math.floor(max(len(waters) - abs(excess), 0) * salt / WATER_MOLAR + 0.5)
    positive, wanted = pairs + max(excess, 0), 2 * pairs + abs(excess)
    vectors = np.array(modeller.topology.getPeriodicBoxVectors().value_in_unit(unit.nanometer))
    places = np.array(modeller.positions.value_in_unit(unit.nanometer))
    oxygens = [next(places[atom.index] for atom in water.atoms() if atom.element == app.element.oxygen) for water in waters]
    order = list(range(len(waters)))
    random.Random(seed).shuffle(order)
    chosen: list[int] = []
    for candidate in order:
        if len(chosen) == wanted:
            break
        apart = (np.array([oxygens[k] for k in chosen]).reshape(-1, 3) - oxygens[candidate]) @ np.linalg.inv(vectors)
        apart = (apart - np.round(apart)) @ vectors
        if (np.linalg.norm(apart, axis=1) > ION_SPACING).all():
            chosen.append(candidate)
    if len(chosen) < wanted:
        raise Refused(
            f"the box has no room for {wanted} ions {ION_SPACING:g} nm apart: {pairs} pairs are {salt:g} mol/l of salt, {abs(excess)} more take up the charge of the protein",
            "take less salt (--salt) or a larger box (--padding)",
        )
    modeller.delete([waters[k] for k in chosen])
    ions, last = app.Topology(), modeller.topology.getNumResidues()
    chain = ions.addChain()
    for number, _ in enumerate(chosen):
        element = app.element.sodium if number < positive else app.element.chlorine
        ions.addAtom(element.symbol, element, ions.addResidue(element.symbol.upper(), chain, str(last + number + 1)))
    if chosen:
        modeller.add(ions, [openmm.Vec3(*map(float, oxygens[k])) for k in chosen] * unit.nanometer)


def check_size(box: Any, solute: np.ndarray) -> None:
    """Refuses a box (vectors in nm) with more than `MOST` atoms, before it is filled: that takes hours, and no machine titrates it."""
    atoms = ATOMS_PER_NM3 * math.prod(box[k][k] for k in range(3))
    if atoms > MOST:
        raise Refused(
            f"the box would have {atoms / 1e6:.0f} million atoms: the protein is {2 * enclosing_radius(solute):.0f} nm long, from end to end",
            f"look whether chains or atoms lie far from the others; --chains takes some of them, and --padding gives less room. {MOST / 1e6:.0f} million atoms are the most",
        )


def box_vectors(positions: np.ndarray, options: Options, cutoff: float = 1.0) -> Any:
    """The vectors of the box (nm): the smallest sphere around the solute, however it turns, stays twice the padding away from its images."""
    shape = SHAPES[options.box]
    faces = min(shape[i][i] for i in range(3))
    width = max(2 * (enclosing_radius(positions) + options.padding), 2 * (cutoff + LIST_BUFFER) / faces)
    return [openmm.Vec3(*(width * x for x in vector)) for vector in shape]


def enclosing_radius(positions: np.ndarray) -> float:
    """The radius of the smallest sphere around points, within a percent (Bădoiu and Clarkson 2003, doi:10.5555/644108.644240)."""
    centre = positions.mean(axis=0)
    for step in range(1, 1001):
        farthest = positions[np.argmax(((positions - centre) ** 2).sum(axis=1))]
        centre = centre + (farthest - centre) / (step + 1)
    return float(np.sqrt(((positions - centre) ** 2).sum(axis=1).max()))


def parametrise(model: Model, ff: Any, options: Options, report: Report) -> Solvated:
    """The OpenMM system: bonds to hydrogen fixed, water rigid. Cut-offs and PME in it are OpenMM's; octitrate has settings of its own."""
    system = _system(model, ff, options)
    net = round(charge(system), 3) + 0.0
    report.note(f"{options.force_field} with {ff.water}; charge of the box as it is built {net:+.3f} e" + (", which charge buffers take up" if net else ""))
    if ff.charge_scale != 1.0:
        report.note(f"charges of ionised groups and ions are {ff.charge_scale:g} of whole ones, for the electronic screening that fixed charges lack; those of other molecules are not")
    if ff.pairs is not None:
        note_pairs(ff.pairs, options, report)
    return Solvated(model, system)


def note_pairs(pairs: Any, options: Options, report: Report) -> None:
    """Says which pairs are corrected in the system that was made last, and why corrections V_MM serve as they are. `pairs`: an
    `octitrate.pair_corrections.PairCorrections`."""
    title = pairs.corrections.title
    if not pairs.applied:
        report.warn(f"{title} was asked for and corrects nothing: the system has no pair of its kinds")
    else:
        every = "; ".join(f"{one.correction} ({one.atoms[0]} × {one.atoms[1]} atoms)" for one in pairs.applied)
        report.note(f"pair corrections of {title} ({pairs.corrections.source}), σ of a pair with ε as it was: {every}. They act in every form of a group")
        report.note(
            "corrections V_MM are those of the force field without them: model compounds in water with a charge buffer have no such pair, but for acids at amino ends "
            "and bases at carboxyl ends, which are named if they titrate"
        )
    if pairs.left:
        report.note(f"left out of {title}, because {options.force_field} has other numbers for the pair than it was made for: {'; '.join(map(str, pairs.left))}")
    if others := [one.name for one in map(Wanted.of, options.keep) if element_of_ion(one.name) not in IONS]:
        report.warn(f"{title} as it is here has no term for {listed(others)}: such ions keep what the force field has, and may hold acids too firmly")


def _system(model: Model, ff: Any, options: Options) -> Any:
    try:
        return order_types(
            ff.cutoffs.system(ff.forcefield, model.topology, rigidWater=True, residueTemplates=ff.templates(model.topology))
        )
    except ValueError as error:
        raise Refused(f"{options.force_field} does not fit what was built: {error}", "this is an error of the program: please report it with the input") from None


def charge(system: Any, atoms: Iterable[int] | None = None) -> float:
    """The charge of a system, or of some of its atoms (e)."""
    force = next(f for f in system.getForces() if isinstance(f, openmm.NonbondedForce))
    chosen = range(force.getNumParticles()) if atoms is None else atoms
    return float(sum(force.getParticleParameters(i)[0].value_in_unit(unit.elementary_charge) for i in chosen))


OVERLAP = "the system has no finite energy: atoms lie on each other"
CLASHES = "look at the structure for clashes, also between its chains"


def relax(solvated: Solvated, report: Report) -> None:
    """Some steps of minimisation on the CPU; refuses a system without a finite energy.

    The steps are done with bonds that may stretch, because a minimisation that holds lengths takes many times as long; the lengths are set afterwards.
    """
    model = solvated.model
    loose = _context(stretchable(without_pair_tables(openmm.XmlSerializer.clone(solvated.system))), model)
    try:
        openmm.LocalEnergyMinimizer.minimize(loose, tolerance=100, maxIterations=STEPS)
    except openmm.OpenMMException as error:
        raise Refused(f"{OVERLAP} ({error})", CLASHES) from None
    rigid = _context(solvated.system, model)
    rigid.setPositions(loose.getState(getPositions=True).getPositions())
    rigid.applyConstraints(1e-6)
    energy, forces = _look(rigid)
    if not np.isfinite(energy):
        raise Refused(OVERLAP, CLASHES)
    before = model.positions
    model.positions = np.array(rigid.getState(getPositions=True).getPositions(asNumpy=True).value_in_unit(unit.nanometer))
    if broken := torn(model.topology, before, model.positions):
        raise Refused(
            f"the minimisation tears {listed(broken, 6)} apart or turns the hand of it: atoms there lie on others",
            f"{CLASHES}; another --seed builds what is missing elsewhere",
        )
    report.note(f"{STEPS} steps of minimisation: energy {energy:.0f} kJ/mol, largest force {forces.max():.2g} kJ/mol/nm after it")
    if strong := strained(model.topology, forces):
        report.warn(
            f"forces after {STEPS} steps of minimisation are still large on {listed(strong, 4)}: the titration minimises further; if atoms lie on others there, repair the structure"
        )


def strained(topology: Any, forces: np.ndarray) -> list[str]:
    """Residues with a force (kJ/mol/nm) above `LARGE`, each with the atom that has its largest, the largest first."""
    atoms = list(topology.atoms())
    found: dict[Any, str] = {}
    for k in np.argsort(-forces, kind="stable"):
        if forces[k] <= LARGE:
            break
        found.setdefault(atoms[k].residue, f"{atoms[k].name} of {named(atoms[k].residue)} ({forces[k]:.2g} kJ/mol/nm)")
    return list(found.values())


def torn(topology: Any, before: np.ndarray, after: np.ndarray) -> list[str]:
    """Residues with a bond between heavy atoms that is longer than `LONG` after the minimisation, or whose CA has the other hand than before."""
    found = {a.residue for a, b in topology.bonds() if not {a.element.symbol, b.element.symbol} & {"H", "S"} and np.linalg.norm(after[a.index] - after[b.index]) > LONG}
    for residue in topology.residues():
        if residue.name not in ("HOH", "NA", "CL"):
            atoms = {atom.name: atom.index for atom in residue.atoms()}
            was, now = (is_d({name: places[k] for name, k in atoms.items()}) for places in (before, after))
            if was != now:
                found.add(residue)
    return [named(residue) for residue in sorted(found, key=lambda residue: residue.index)]


def stretchable(system: Any) -> Any:
    """The system with a stiff spring in place of each length that is fixed. To make it of the force field once more takes longer than the minimisation (CHARMM)."""
    springs = openmm.HarmonicBondForce()
    for place in reversed(range(system.getNumConstraints())):
        springs.addBond(*system.getConstraintParameters(place), STIFF)
        system.removeConstraint(place)
    system.addForce(springs)
    return system


def without_pair_tables(system: Any) -> Any:
    """The system with the Lennard-Jones parameters of its types in place of a table of pairs of types (CHARMM), which OpenMM evaluates far more slowly
    on a CPU. Pairs that the table has by themselves (NBFIX) get what the combination rule gives: near enough to part atoms, and nothing else is made of this system.
    """
    plain = next(force for force in system.getForces() if isinstance(force, openmm.NonbondedForce))
    for place in reversed(range(system.getNumForces())):
        force = system.getForce(place)
        if not is_pair_table(force):
            continue
        tables = {force.getTabulatedFunctionName(k): force.getTabulatedFunction(k).getFunctionParameters() for k in range(force.getNumTabulatedFunctions())}
        types, _, repulsion = tables["acoef"]
        attraction = tables["bcoef"][2]
        for atom in range(force.getNumParticles()):
            own = int(force.getParticleParameters(atom)[0]) * (types + 1)
            a, b = repulsion[own], attraction[own]
            sigma, epsilon = ((a / b) ** (1 / 6), b * b / (4 * a)) if a else (1.0, 0.0)
            plain.setParticleParameters(atom, plain.getParticleParameters(atom)[0], sigma, epsilon)
        system.removeForce(place)
    return system


def _context(system: Any, model: Model) -> Any:
    """PME gives a box with a charge a uniform background, which has no forces; the buffers of a titration take up the charge later."""
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform())
    context.setPositions(model.quantity())
    return context


def _look(context: Any) -> tuple[float, np.ndarray]:
    """Energy (kJ/mol) and the size of the force on each atom (kJ/mol/nm)."""
    state = context.getState(getEnergy=True, getForces=True)
    forces = np.array(state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer))
    return state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole), np.linalg.norm(forces, axis=1)
