"""Builds what was not seen: missing heavy atoms (PDBFixer), short loops if asked for, caps, and ends of chains.

The result has all heavy atoms of the protein, one OpenMM chain for each segment, and bonds; hydrogens come later.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import openmm
import pdbfixer
from openmm import app, unit

from ..errors import Refused, named
from ..ions import element_of_ion
from ..repeatable import platform
from . import chirality, names
from .chains import CUT, Segment
from .entry import Residue
from .molecules import Kept
from .report import Report, counted, listed

_ONE_ATOM = "HETATM    1  O   HOH A   1       0.000   0.000   0.000  1.00  0.00           O\nEND\n"

CLOSE = 0.22
"""nm; an oxygen of water nearer than this to another heavy atom is an alternate of something (hydrogen bonds are 0.26 and longer)."""

ON_TOP, TORN = 0.05, 0.25
"""nm; two atoms of a residue are never nearer than the first, and two that are bonded never farther apart than the second, in the worst of structures."""

TITRATING = frozenset(("ASP", "GLU", "HIS", "LYS", "ARG", "TYR", "CYS"))
"""Residues whose side chain may titrate."""

FAR = 0.6
"""nm; water of the crystal beyond two layers belongs to another copy."""


@dataclass
class Model:
    """An OpenMM topology with positions (nm, one row for each atom)."""

    topology: Any
    positions: np.ndarray

    def quantity(self) -> Any:
        """The positions as OpenMM takes them."""
        return [openmm.Vec3(*map(float, row)) for row in self.positions] * unit.nanometer


def build(found: list[Segment], pairs: list[tuple[Residue, Residue]], kept: Kept, seed: int, report: Report) -> Model:
    """The protein with all its heavy atoms, and after it the ions and the oxygens of water that are kept."""
    topology, positions, loops, placed = _as_it_is(found)
    fixer = pdbfixer.PDBFixer(pdbfile=io.StringIO(_ONE_ATOM), platform=platform())
    fixer.topology, fixer.positions = topology, positions * unit.nanometer
    seen = {_place(residue): {atom.name for atom in residue.atoms()} - ({"CB"} if residue in placed else set()) for residue in topology.residues()}
    fixer.sequences, fixer.modifiedResidues = [], []
    fixer.missingResidues = loops
    fixer.findMissingAtoms()
    ended = {id(residue) for residue, segment in _last(topology, found) if segment.capped_end}
    charged = [residue for residue in fixer.missingTerminals if id(residue) not in ended]
    fixer.missingTerminals = {}  # PDBFixer puts OXT near CA, or on an O that it builds, too: it is placed here
    _say(fixer, placed, charged, report)
    fixer.addMissingAtoms(seed=seed)
    return _finished(fixer, seen, {_place(residue) for residue in charged}, found, pairs, kept, report)


def _place(residue: Any) -> tuple[int, str, str]:
    """What a residue keeps when PDBFixer makes a new topology: its chain, number and insertion code."""
    return residue.chain.index, residue.id, residue.insertionCode


def _as_it_is(found: list[Segment]) -> tuple[Any, Any, dict[tuple[int, int], list[str]], set[Any]]:
    """Topology and positions of what was seen, the loops that are to be built, as PDBFixer counts them, and residues whose CB is placed, so that they are L."""
    topology = app.Topology()
    positions: list[Any] = []
    loops: dict[tuple[int, int], list[str]] = {}
    placed: set[Any] = set()
    for index, segment in enumerate(found):
        chain = topology.addChain(segment.chain)
        for where, called in segment.loops.items():
            loops[(index, where)] = [residue.name for residue in called]
        for residue in segment.residues:
            added = topology.addResidue(residue.name, chain, str(residue.number), residue.insertion or " ")
            for atom in residue.atoms:
                topology.addAtom(atom.name, app.Element.getBySymbol(_symbol(atom.name)), added)
                positions.append(openmm.Vec3(*atom.position))
            if (place := chirality.missing_cb(residue)) is not None:
                topology.addAtom("CB", app.element.carbon, added)
                positions.append(openmm.Vec3(*map(float, place)))
                placed.add(added)
    topology.createStandardBonds()
    _check_places(topology, np.array(positions), placed)
    return topology, positions, loops, placed


def _check_places(topology: Any, positions: np.ndarray, placed: set[Any]) -> None:
    """Refuses atoms that the file has at places where they cannot be, such as those that modelling programs write at 0 0 0. `placed`: residues whose CB is not of the file."""
    way = "if they were not seen (0 0 0, occupancy 0), take them out of the file: they are built anew"
    for residue in topology.residues():
        for a, b in combinations(residue.atoms(), 2):
            if np.linalg.norm(positions[a.index] - positions[b.index]) < ON_TOP:
                raise Refused(f"{a.name} and {b.name} of {named(residue)} lie at one place", way)
    for a, b in topology.bonds():
        length = np.linalg.norm(positions[a.index] - positions[b.index])
        if a.residue is b.residue and length > TORN and not (a.residue in placed and "CB" in (a.name, b.name)):
            raise Refused(f"{a.name} and {b.name} of {named(a.residue)} are {10 * length:.1f} Å apart, and a bond joins them", f"{way}; {CUT}")


def _order(name: str) -> dict[str, int]:
    """The place of each heavy atom in a residue of this name."""
    return {atom: i for i, atom in enumerate((*(names.heavy_atoms(name) or ()), "OXT"))}


def _symbol(name: str) -> str:
    """The element of a heavy atom of an amino acid: the first letter of its name."""
    return name[0]


def _last(topology: Any, found: list[Segment]) -> list[tuple[Any, Segment]]:
    return [(list(chain.residues())[-1], segment) for chain, segment in zip(topology.chains(), found)]


def _say(fixer: Any, placed: set[Any], charged: list[Any], report: Report) -> None:
    atoms = {residue: (["CB"] if residue in placed else []) + [atom.name for atom in fixer.missingAtoms.get(residue, [])] for residue in fixer.topology.residues()}
    built = [f"{named(residue)} ({', '.join(called)})" for residue, called in atoms.items() if called]
    if built:
        report.note(f"{counted(len(built), 'residue')} {'has' if len(built) == 1 else 'have'} atoms that were not seen, which are built: {listed(built, 4)}")
        if len(built) > 4:
            for line in built:
                report.note(line, screen=False)
    guessed = [named(residue) for residue, called in atoms.items() if residue.name in TITRATING and set(called) - {*names.BACKBONE, "CB", "OXT"}]
    if guessed:
        report.warn(
            f"{counted(len(guessed), 'side chain')} that may titrate {'is' if len(guessed) == 1 else 'are'} not or not wholly in the file and built in one shape of many ({listed(guessed, 6)}): "
            "pKa values may depend on it; --starts 5 begins with other shapes"
        )
    ends = [named(residue) for residue in charged]
    if ends:
        report.note(f"OXT is built at the end of {listed(ends)}")
    loops = [f"{counted(len(called), 'residue')} in chain {list(fixer.topology.chains())[chain].id}" for (chain, _), called in fixer.missingResidues.items()]
    if loops:
        report.note(f"loops are built: {listed(loops)}")
    if not (built or ends or loops):
        report.note("no heavy atom of the protein is missing")


def _finished(
    fixer: Any, seen: dict[tuple[int, str, str], set[str]], charged: set[tuple[int, str, str]], found: list[Segment], pairs: list[tuple[Residue, Residue]], kept: Kept, report: Report
) -> Model:
    """A new topology: segments with their caps, disulfides, ions and water. `seen`: the atoms of the file; `charged`: the last residues that get an OXT."""
    old = np.array([[p.x, p.y, p.z] for p in fixer.positions.value_in_unit(unit.nanometer)])
    for chain, segment in zip(fixer.topology.chains(), found):
        for residue, number in zip(chain.residues(), segment.numbers(), strict=True):
            residue.id, residue.insertionCode = number
    for residue in fixer.topology.residues():
        atoms = _places(residue, old)
        chirality.turn(residue.name, atoms, seen.get(_place(residue), set()))
        for atom in residue.atoms():
            old[atom.index] = atoms[atom.name]
    everything = list(old)
    everything += [np.array(atom.position) for residue in (*kept.ions, *kept.waters) for atom in residue.atoms]
    topology = app.Topology()
    positions: list[np.ndarray] = []
    sulfurs: dict[tuple[int, str, str], Any] = {}
    for chain, segment in zip(fixer.topology.chains(), found):
        added = topology.addChain(chain.id)
        residues = list(chain.residues())
        if segment.capped_start:
            cap = _acetyl(_places(residues[0], old), everything)
            _add(topology, added, "ACE", int(residues[0].id) - 1, names.CAPS["ACE"], cap, positions)
        for residue in residues:
            copy = topology.addResidue(residue.name, added, residue.id, residue.insertionCode)
            order = _order(residue.name)
            for atom in sorted(residue.atoms(), key=lambda atom: order[atom.name]):
                new = topology.addAtom(atom.name, atom.element, copy)
                positions.append(old[atom.index])
                if (residue.name, atom.name) == ("CYS", "SG"):
                    sulfurs[_place(residue)] = new
            if _place(residue) in charged:
                topology.addAtom("OXT", app.element.oxygen, copy)
                positions.append(_second_oxygen(_places(residue, old)))
        if segment.capped_end:
            cap = _methylamide(_places(residues[-1], old))
            _add(topology, added, "NME", int(residues[-1].id) + 1, names.CAPS["NME"], cap, positions)
    topology.createStandardBonds()
    where = {id(residue): k for k, segment in enumerate(found) for residue in segment.residues}
    for a, b in pairs:
        topology.addBond(*(sulfurs[where[id(r)], str(r.number), r.insertion or " "] for r in (a, b)))
    _others(topology, positions, kept, report)
    return Model(topology, np.array(positions))


def _places(residue: Any, positions: np.ndarray) -> dict[str, np.ndarray]:
    return {atom.name: positions[atom.index] for atom in residue.atoms()}


def _add(
    topology: Any, chain: Any, name: str, number: int, atoms: tuple[str, ...], places: dict[str, np.ndarray], positions: list[np.ndarray]
) -> None:
    residue = topology.addResidue(name, chain, str(number))
    for atom in atoms:
        topology.addAtom(atom, app.Element.getBySymbol(_symbol(atom)), residue)
        positions.append(places[atom])


def _others(topology: Any, positions: list[np.ndarray], kept: Kept, report: Report) -> None:
    """Ions, and those molecules of water that are not inside the protein or its new atoms."""
    protein = np.array(positions)
    if kept.ions:
        chain = topology.addChain("I")
        for ion in kept.ions:
            residue = topology.addResidue(ion.name, chain, str(ion.number))
            topology.addAtom(ion.atoms[0].name, app.Element.getBySymbol(element_of_ion(ion.name)), residue)
            positions.append(np.array(ion.atoms[0].position))
    oxygens: list[np.ndarray] = []
    close = far = 0
    chain = topology.addChain("W") if kept.waters else None
    for water in kept.waters:
        oxygen = water.atom("O")
        if oxygen is None:
            continue
        place = np.array(oxygen.position)
        nearest = np.linalg.norm(protein - place, axis=1).min()
        if nearest > FAR:
            far += 1
            continue
        if nearest < CLOSE or (oxygens and np.linalg.norm(np.array(oxygens) - place, axis=1).min() < CLOSE):
            close += 1
            continue
        residue = topology.addResidue("HOH", chain, str(water.number))
        topology.addAtom("O", app.element.oxygen, residue)
        oxygens.append(place)
    positions += oxygens
    if kept.waters:
        left = [f"{close} nearer than {10 * CLOSE:g} Å to other atoms"] if close else []
        left += [f"{far} farther than {10 * FAR:g} Å from the protein"] if far else []
        report.note(f"{counted(len(oxygens), 'molecule')} of water of the crystal {'is' if len(oxygens) == 1 else 'are'} kept" + (f"; left out: {', '.join(left)}" if left else ""))


def _direction(vector: np.ndarray) -> np.ndarray:
    unit_vector: np.ndarray = vector / np.linalg.norm(vector)
    return unit_vector


def _second_oxygen(last: dict[str, np.ndarray]) -> np.ndarray:
    """OXT in the plane of CA, C and O, at the same angle to both of its neighbours: C–O 1.26 Å."""
    ca, c, o = last["CA"], last["C"], last["O"]
    return np.asarray(c - 0.126 * _direction(_direction(ca - c) + _direction(o - c)))


def _methylamide(last: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """N-methylamide in the plane of the last carboxyl, trans: C–N 1.335 Å, N–C 1.449 Å, angles 121.9° (ff14SB, C–N–CT)."""
    ca, c, o = last["CA"], last["C"], last["O"]
    n = c + 0.1335 * _direction(-(_direction(ca - c) + _direction(o - c)))
    # trans: the methyl carbon lies on the side of O, in the plane
    back = _direction(c - n)
    aside = _direction((o - c) - np.dot(o - c, back) * back)
    angle = np.radians(121.9)
    return {"N": n, "C": n + 0.1449 * (np.cos(angle) * back + np.sin(angle) * aside)}


def _acetyl(first: dict[str, np.ndarray], others: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Acetyl at the first nitrogen, trans: of twelve torsions around N–CA that which is farthest from other atoms."""
    n, ca, c = first["N"], first["CA"], first["C"]
    rest = np.array([p for p in others if 1e-6 < np.linalg.norm(p - n) < 1.2 and np.linalg.norm(p - ca) > 1e-6])
    axis = _direction(ca - n)
    one = _direction((c - ca) - np.dot(c - ca, axis) * axis)
    two = np.cross(axis, one)
    angle = np.radians(121.9)
    best: dict[str, np.ndarray] = {}
    farthest = -1.0
    for torsion in np.radians(np.arange(0, 360, 30)):
        out = np.cos(torsion) * one + np.sin(torsion) * two
        carbon = n + 0.1335 * (np.cos(angle) * axis + np.sin(angle) * out)
        back = _direction(n - carbon)
        # in the plane of CA, N and C: the methyl carbon is trans to CA, the oxygen cis
        side = _direction((ca - n) - np.dot(ca - n, back) * back)
        methyl = carbon + 0.1522 * (np.cos(np.radians(116.6)) * back - np.sin(np.radians(116.6)) * side)
        oxygen = carbon + 0.1229 * (np.cos(np.radians(122.9)) * back + np.sin(np.radians(122.9)) * side)
        free = min((np.linalg.norm(rest - p, axis=1).min() for p in (methyl, oxygen)), default=1.0) if len(rest) else 1.0
        if free > farthest:
            farthest, best = free, {"C": carbon, "O": oxygen, "CH3": methyl}
    return best
