"""A molecule in water, ready for `octitrate calibrate`: what `octitrate site --model FOLDER` writes.

Everything between the atoms of the molecule (bonds, angles, torsions, 1-4 pairs, charges, Lennard-Jones parameters, masses) is taken from the system that has its
parameters, the water and what is between the two from a force field of OpenMM with the combination rule of Lorentz and Berthelot. Bonds to hydrogen are fixed
at the length that they have at rest. The folder holds what a calibration needs:

    octitrate run equilibrate.toml         # minimises, then a barostat finds the volume
    octitrate calibrate calibrate.toml     # writes calibrate/NAME.toml, the entry with its correction
    octitrate titrate titrate.toml         # the pKa should come back

Lengths in nm, energies in kJ/mol, charges in e.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import Refused
from .force_fields import GEOMETRY, Atom, View, copy_type, generator, load, register
from .model_compound import EDGE, calibrate_job, equilibrate_job, titrate_job
from .words import counted

FAMILY = "ff14SB"
"""The force field of OpenMM whose files of water are taken: those of AMBER."""

ROOM = 1.2
"""Room (nm) between the molecule and the faces of its box, if that makes the box larger than `EDGE`."""

TERMS = ("HarmonicBondForce", "HarmonicAngleForce", "PeriodicTorsionForce", "RBTorsionForce", "NonbondedForce")
"""Forces that are taken over."""

WITHOUT_ENERGY = ("CMMotionRemover", "MonteCarloBarostat", "AndersenThermostat")
"""Forces that are left out: what they do is for a job to say."""


@dataclass(frozen=True)
class Source:
    """A residue that is a molecule by itself: the OpenMM residue, the system with its parameters, and the places (nm) of the atoms of the residue."""

    file: str
    residue: Any
    system: Any
    places: Any


def places(path: Path, structure: Path | None, residue: Any) -> Any:
    """Places (nm) of the atoms of a residue: from a structure of the same atoms, or from the .pdb beside an .xml.

    Raises `Refused` where there is none, or of other atoms.
    """
    import numpy as np
    from openmm import app, unit

    file = structure or path.with_suffix(".pdb")
    help = "--structure acid.pdb, .gro, .rst7 or .inpcrd has the places of the atoms"
    if not file.is_file():
        raise Refused(f"{path}: there are no places of its atoms" if structure is None else f"{file}: there is no such file", help)
    readers = {".pdb": app.PDBFile, ".gro": app.GromacsGroFile, ".rst7": app.AmberInpcrdFile, ".inpcrd": app.AmberInpcrdFile}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise Refused(f"{file}: a file {file.suffix or 'without an ending'} is not known here", help)
    try:
        found = np.array(reader(str(file)).positions.value_in_unit(unit.nanometer))
    except Exception as error:  # readers of OpenMM raise what they run into
        raise Refused(f"{file}: OpenMM cannot read it: {error}", "look at the file with the program that wrote it") from None
    count = residue.chain.topology.getNumAtoms()
    if len(found) != count:
        raise Refused(f"{file} has {counted(len(found), 'atom')} and {path} {count}: they do not belong together", help)
    return found[[atom.index for atom in residue.atoms()]]


def build(
    source: Source,
    name: str,
    entry: str,
    folder: str | Path,
    water: str = "tip3p",
    temperature: float = 300.0,
    more: Mapping[str, str] | None = None,
) -> Path:
    """Writes a folder with everything that the calibration of a molecule needs, and returns it. `name`: that of the entry, `entry`: its text; temperature in K;
    `more`: texts of other files of the folder by their names.

    Raises `Refused` for a folder that is there, a water that is not known, and a system with forces that are none of `TERMS`.
    """
    from openmm import XmlSerializer

    from .entries import buffer_entry
    from .prepare.folder import Folder
    from .prepare.structure import gro
    from .residues import TitratableForceField

    ff = TitratableForceField(FAMILY, water)
    place = Path(folder)
    model, system = solvated(source, water)
    charge = sum(_parameters(source.system, atom.index)[0] for atom in source.residue.atoms())
    with Folder(place) as out:
        out.write("system.gro", gro(f"{source.residue.name} in {water}", model))
        out.write("system.xml", XmlSerializer.serialize(system))
        out.write(f"library/{name}.toml", entry)
        for file, text in (more or {}).items():
            out.write(file, text)
        library = [f"library/{name}.toml"]
        if ff.own_water():
            out.write("library/water.toml", ff.calibrated.written("water", f"{water.upper()} (AMBER)", buffer_entry(ff)))
            library.append("library/water.toml")
        out.write("equilibrate.toml", equilibrate_job([], temperature))
        title = f"{Path(source.file).name} with {water} along λ of {source.residue.name}"
        molecules = 2 * round(abs(charge)) + 1 if abs(charge) > 1.5 else None
        site = f"{source.residue.name} 1"
        out.write("calibrate.toml", calibrate_job(title, [], library, site, None, temperature, molecules, water.upper()))
        out.write("titrate.toml", titrate_job(source.residue.name, [], library, site, None, temperature, molecules, tomllib.loads(entry)["pka"]))
    return place


def solvated(source: Source, water: str) -> tuple[Any, Any]:
    """The molecule in a box of water, as a model of `octitrate.prepare` and as an OpenMM system.

    Raises `Refused` for forces that are none of `TERMS`.
    """
    import numpy as np
    import openmm
    from openmm import app, unit

    from .prepare.build import Model

    _check(source)
    forcefield = load(FAMILY, water)
    old = [atom.index for atom in source.residue.atoms()]
    called = f"{source.residue.name}-site"
    topology = app.Topology()
    residue = topology.addResidue(source.residue.name, topology.addChain(), "1")
    atoms = [topology.addAtom(atom.name, atom.element, residue) for atom in source.residue.atoms()]
    bonds = [(old.index(a), old.index(b)) for a, b, _ in _joined(source)]
    for a, b in bonds:
        topology.addBond(atoms[a], atoms[b])
    _register(forcefield, called, source, [(atoms[a].name, atoms[b].name) for a, b in bonds])
    places = np.array(source.places) - np.mean(source.places, axis=0)
    edge = max(EDGE, float(2 * np.max(np.linalg.norm(places, axis=1))) + 2 * ROOM)
    modeller = app.Modeller(topology, (places + edge / 2) * unit.nanometer)
    templates = {next(iter(modeller.topology.residues())): called}
    geometry = GEOMETRY.get(water, "tip4pew")
    modeller.addSolvent(
        forcefield, model=geometry, boxSize=openmm.Vec3(edge, edge, edge) * unit.nanometer, neutralize=False, residueTemplates=templates
    )
    templates = {next(iter(modeller.topology.residues())): called}
    system = forcefield.createSystem(
        modeller.topology, nonbondedMethod=app.PME, constraints=app.HBonds, removeCMMotion=False, residueTemplates=templates
    )
    _take_over(source, old, system, atoms)
    return Model(modeller.topology, np.array(modeller.positions.value_in_unit(unit.nanometer))), system


def _check(source: Source) -> None:
    for force in source.system.getForces():
        kind = type(force).__name__
        if kind not in TERMS + WITHOUT_ENERGY:
            raise Refused(
                f"{source.file}: {kind} is not taken over into a box of water",
                "build the box with the program that made the parameters, and take it with octitrate prepare --from; the entry of -o serves there",
            )
        if kind == "NonbondedForce" and force.getNumParticleParameterOffsets() + force.getNumExceptionParameterOffsets() > 0:
            raise Refused(f"{source.file}: its charges depend on global parameters", "write the system without offsets")


def _parameters(system: Any, atom: int) -> tuple[float, float, float]:
    """Charge, sigma and epsilon of an atom."""
    charge, sigma, epsilon = _force(system, "NonbondedForce").getParticleParameters(atom)
    return charge._value, sigma._value, epsilon._value


def _force(system: Any, kind: str) -> Any:
    """The force of a kind; a new one if there is none."""
    import openmm

    found = next((one for one in system.getForces() if type(one).__name__ == kind), None)
    if found is None:
        found = system.getForce(system.addForce(getattr(openmm, kind)()))
    return found


def _joined(source: Source) -> Iterator[tuple[int, int, float]]:
    """Pairs of bonded atoms of the molecule by their places in the system, with the length of the bond: bonds, and constraints that are bonds."""
    members = {atom.index for atom in source.residue.atoms()}
    seen = set()
    for a, b, length, _ in _bonds(source.system):
        if {a, b} <= members and frozenset((a, b)) not in seen:
            seen.add(frozenset((a, b)))
            yield a, b, length


def _bonds(system: Any) -> Iterator[tuple[int, int, float, float]]:
    """All bonds of a system: atoms, length and force constant; constraints that are bonds have a constant of zero."""
    for force in system.getForces():
        if type(force).__name__ == "HarmonicBondForce":
            for k in range(force.getNumBonds()):
                a, b, length, constant = force.getBondParameters(k)
                yield a, b, length._value, constant._value
    for k in range(system.getNumConstraints()):
        a, b, length = system.getConstraintParameters(k)
        # A bond to hydrogen is shorter than 0.14 nm, the distance of two hydrogens is longer.
        if length._value < 0.14:
            yield a, b, length._value, 0.0


def _register(forcefield: Any, called: str, source: Source, bonds: list[tuple[str, str]]) -> None:
    """Adds the molecule to the force field, each atom with a type of its own that has no bonded terms."""
    types = generator(forcefield, "NonbondedGenerator").params.paramsForType
    atoms = {}
    for k, atom in enumerate(source.residue.atoms()):
        charge, sigma, epsilon = _parameters(source.system, atom.index)
        new = f"{called}-{k}"
        # Of the type that is copied nothing is kept but that it has no terms in a class of its own.
        copy_type(forcefield, next(iter(types)), new, new)
        types[new] |= {"sigma": sigma, "epsilon": epsilon}
        atoms[atom.name] = Atom(new, charge, atom.element.symbol if atom.element else "")
    register(forcefield, View(called, atoms, bonds))


def _take_over(source: Source, old: list[int], system: Any, atoms: list[Any]) -> None:
    """Gives the first atoms of a system the masses and all that is between them from the source."""
    place = {index: k for k, index in enumerate(old)}
    for index, k in place.items():
        system.setParticleMass(k, source.system.getParticleMass(index))
    hydrogens = {k for k, atom in enumerate(atoms) if atom.element is not None and atom.element.symbol == "H"}
    fixed = set()
    for a, b, length in _joined(source):
        pair = place[a], place[b]
        if hydrogens & set(pair):
            fixed.add(frozenset(pair))
            system.addConstraint(*pair, length)
    for force in source.system.getForces():
        if (kind := type(force).__name__) in ("HarmonicBondForce", "HarmonicAngleForce", "PeriodicTorsionForce", "RBTorsionForce"):
            _copy_terms(kind, force, place, fixed, _force(system, kind))
    _copy_pairs(_force(source.system, "NonbondedForce"), place, _force(system, "NonbondedForce"))


def _copy_terms(kind: str, force: Any, place: dict[int, int], fixed: set[frozenset[int]], target: Any) -> None:
    """Adds the terms between atoms of the molecule; bonds that are fixed are left out."""
    name, size = {"HarmonicBondForce": ("Bond", 2), "HarmonicAngleForce": ("Angle", 3)}.get(kind, ("Torsion", 4))
    for k in range(getattr(force, f"getNum{name}s")()):
        found = getattr(force, f"get{name}Parameters")(k)
        if all(atom in place for atom in found[:size]):
            members = [place[atom] for atom in found[:size]]
            if frozenset(members) not in fixed:
                getattr(target, f"add{name}")(*members, *found[size:])


def _copy_pairs(force: Any, place: dict[int, int], target: Any) -> None:
    """Gives pairs within the molecule the charges and Lennard-Jones parameters that they have in the source: excluded pairs, 1-4 pairs."""
    for k in range(force.getNumExceptions()):
        a, b, *parameters = force.getExceptionParameters(k)
        if a in place and b in place:
            target.addException(place[a], place[b], *parameters, True)
