"""Builds what was not seen: missing heavy atoms, the backbones of short loops if asked for (PDBFixer), caps, and ends of chains.

The result has all heavy atoms of the protein, one OpenMM chain for each segment, and bonds; hydrogens come later.
"""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import openmm
import pdbfixer
from openmm import app, unit

from ..errors import Refused, named
from ..ions import element_of_ion
from ..repeatable import platform
from ..words import counted, listed
from . import chirality, names, rotamers
from .chains import CUT, Segment
from .entry import Residue
from .molecules import Kept
from .report import Report
from .rotamers import Part

_ONE_ATOM = "HETATM    1  O   HOH A   1       0.000   0.000   0.000  1.00  0.00           O\nEND\n"

CLOSE = 0.22
"""nm; an oxygen of water nearer than this to another heavy atom is an alternate of something (hydrogen bonds are 0.26 and longer)."""

ON_TOP, TORN = 0.05, 0.25
"""nm; two atoms of a residue are never nearer than the first, and two that are bonded never farther apart than the second, in the worst of structures."""

CROWDED = 0.28
"""nm; caps at the two ends of a gap of two residues are never so near to each other, those of one residue always."""

TITRATING = frozenset(("ASP", "GLU", "HIS", "LYS", "ARG", "TYR", "CYS"))
"""Residues whose side chain may titrate."""

FAR = 0.6
"""nm; water of the crystal beyond two layers belongs to another copy."""


@dataclass
class Model:
    """An OpenMM topology with positions (nm, one row for each atom)."""

    topology: Any
    positions: np.ndarray
    guessed: frozenset[int] = frozenset()
    """Atoms that were not seen and have one place of many, by their indices."""

    def quantity(self) -> Any:
        """The positions as OpenMM takes them."""
        return [openmm.Vec3(*map(float, row)) for row in self.positions] * unit.nanometer


def build(found: list[Segment], pairs: list[tuple[Residue, Residue]], kept: Kept, seed: int, report: Report) -> Model:
    """The protein with all its heavy atoms, and after it the ions and the oxygens of water that are kept."""
    topology, positions, loops = _as_it_is(found)
    fixer = pdbfixer.PDBFixer(pdbfile=io.StringIO(_ONE_ATOM), platform=platform())
    if loops:
        fixer.topology, fixer.positions = topology, positions * unit.nanometer
        fixer.missingResidues, fixer.missingAtoms, fixer.missingTerminals = loops, {}, {}
        fixer.addMissingAtoms(seed=seed)
        topology, positions = fixer.topology, fixer.positions.value_in_unit(unit.nanometer)
    templates = {name: rotamers.Template(fixer.templates[name]) for name in names.SIDE_CHAINS}
    chains = _parts(topology, np.array([[*place] for place in positions]), found)
    _leave_out_loose(chains, templates, report)
    _say(chains, found, report)
    _complete_backbones(chains)
    where = {id(residue): k for k, segment in enumerate(found) for residue in segment.residues}
    by_place = {(k, part.number, part.insertion): part for k, chain in enumerate(chains) for part in chain}
    bridged = [[by_place[where[id(r)], str(r.number), r.insertion or " "] for r in pair] for pair in pairs]
    for one, other in bridged:
        rotamers.bridge(one, other, templates["CYS"])
    ions, waters = ([np.array(atom.position) for residue in residues for atom in residue.atoms] for residues in (kept.ions, kept.waters))
    rotamers.complete([part for chain in chains for part in chain], templates, ions, {"O"}, seed)
    _add_caps(chains, found, ions + waters, report)
    rotamers.complete([part for chain in chains for part in chain], templates, ions, {name for side in names.SIDE_CHAINS.values() for name in side}, seed)
    for chain in filter(_lacks_oxt, chains):
        last = chain[-1].atoms
        last["OXT"] = _between(last["C"], last["CA"], last["O"], 0.126)
    return _finished(chains, bridged, found, kept, report)


def _as_it_is(found: list[Segment]) -> tuple[Any, Any, dict[tuple[int, int], list[str]]]:
    """Topology and positions of what was seen, and the loops that are to be built, as PDBFixer counts them."""
    topology = app.Topology()
    positions: list[Any] = []
    loops: dict[tuple[int, int], list[str]] = {}
    for index, segment in enumerate(found):
        chain = topology.addChain(segment.chain)
        for where, called in segment.loops.items():
            loops[(index, where)] = [residue.name for residue in called]
        for residue in segment.residues:
            added = topology.addResidue(residue.name, chain, str(residue.number), residue.insertion or " ")
            for atom in residue.atoms:
                topology.addAtom(atom.name, app.Element.getBySymbol(_symbol(atom.name)), added)
                positions.append(openmm.Vec3(*atom.position))
    topology.createStandardBonds()
    _check_places(topology, np.array(positions))
    return topology, positions, loops


def _parts(topology: Any, positions: np.ndarray, found: list[Segment]) -> list[list[Part]]:
    """The residues of every segment with what is known of their atoms. Of loops that is the backbone: PDBFixer does not look at the hand of side chains."""
    chains = []
    for chain, segment in zip(topology.chains(), found):
        seen = {(str(residue.number), residue.insertion or " ") for residue in segment.residues}
        parts = []
        for residue, number in zip(chain.residues(), segment.numbers(), strict=True):
            atoms = {atom.name: positions[atom.index] for atom in residue.atoms() if number in seen or atom.name in names.BACKBONE}
            missing = [name for name in names.heavy_atoms(residue.name) or () if name not in atoms]
            parts.append(Part(residue.name, *number, segment.chain, atoms, missing, set() if number in seen else set(atoms)))
        chains.append(parts)
    return chains


def _check_places(topology: Any, positions: np.ndarray) -> None:
    """Refuses atoms that the file has at places where they cannot be, such as those that modelling programs write at 0 0 0."""
    way = "if they were not seen (0 0 0, occupancy 0), take them out of the file: they are built anew"
    for residue in topology.residues():
        for a, b in itertools.combinations(residue.atoms(), 2):
            if np.linalg.norm(positions[a.index] - positions[b.index]) < ON_TOP:
                raise Refused(f"{a.name} and {b.name} of {named(residue)} lie at one place", way)
    for a, b in topology.bonds():
        length = np.linalg.norm(positions[a.index] - positions[b.index])
        if a.residue is b.residue and length > TORN:
            raise Refused(f"{a.name} and {b.name} of {named(a.residue)} are {10 * length:.1f} Å apart, and a bond joins them", f"{way}; {CUT}")


def _leave_out_loose(chains: list[list[Part]], templates: dict[str, rotamers.Template], report: Report) -> None:
    """Leaves out atoms that were seen where others between them and the backbone were not: both are built anew. So is the other one of CG and CD of Pro, whose ring has two puckers."""
    left = []
    for part in (part for chain in chains for part in chain if part.missing and part.name in templates):
        ring = {"CG", "CD"} if part.name == "PRO" and {"CG", "CD"} & set(part.missing) else set()
        if loose := [name for name in part.atoms if name in ring] or templates[part.name].loose(part.atoms):
            left.append(f"{part} ({', '.join(loose)})")
            part.missing = [one for one in names.SIDE_CHAINS[part.name] if one in (*part.missing, *loose)]
            part.atoms = {one: place for one, place in part.atoms.items() if one not in loose}
    if left:
        report.note(f"atoms that hang on others that were not seen are built anew with them: {listed(left, 6)}")


def _complete_backbones(chains: list[list[Part]]) -> None:
    """Places what has one place: CB, and O where the next residue is there or OXT."""
    for chain in chains:
        for part, after in zip(chain, [*chain[1:], None]):
            if "CB" in part.missing:
                part.atoms["CB"] = chirality.third(part.atoms["N"], part.atoms["C"], part.atoms["CA"])
            beside = after.atoms["N"] if after is not None else part.atoms.get("OXT")
            if "O" in part.missing and beside is not None:
                part.atoms["O"] = _between(part.atoms["C"], part.atoms["CA"], beside, 0.123)
            part.missing = [name for name in part.missing if name not in part.atoms]


def _add_caps(chains: list[list[Part]], found: list[Segment], others: list[np.ndarray], report: Report) -> None:
    """Puts caps on ends: first those whose place the carboxyl group tells, so that the others keep away from them. `others`: places that are taken, too."""
    for chain, segment in zip(chains, found):
        if segment.capped_end:
            chain.append(Part("NME", str(int(chain[-1].number) + 1), "", segment.chain, _methylamide(chain[-1].atoms)))
    for chain, segment in zip(chains, found):
        if segment.capped_start:
            taken = [place for one in chains for part in one for place in part.atoms.values()] + others
            chain.insert(0, Part("ACE", str(int(chain[0].number) - 1), "", segment.chain, _acetyl(chain[0].atoms, taken)))
    narrow = []
    for before, after in itertools.pairwise(chains):
        ends = [list(chain[k].atoms.values()) for chain, k, cap in ((before, -1, "NME"), (after, 0, "ACE")) if chain[k].name == cap]
        if len(ends) == 2 and (apart := min(np.linalg.norm(a - b) for a in ends[0] for b in ends[1])) < CROWDED:
            narrow.append(f"{before[-2]} and {after[1]}, {10 * apart:.1f} Å")
    if narrow:
        report.warn(
            f"caps begin too near to each other, where a single residue was not seen ({listed(narrow, 6)} apart): the minimisation moves them and what is beside them by one or two Å; "
            "--gaps build builds the residue"
        )


def _lacks_oxt(chain: list[Part]) -> bool:
    """Whether a chain ends in a carboxyl group with one oxygen."""
    return chain[-1].name in names.SIDE_CHAINS and "OXT" not in chain[-1].atoms


def _order(name: str) -> dict[str, int]:
    """The place of each heavy atom in a residue of this name."""
    return {atom: i for i, atom in enumerate((*(names.heavy_atoms(name) or ()), "OXT"))}


def _symbol(name: str) -> str:
    """The element of a heavy atom of an amino acid: the first letter of its name."""
    return name[0]


def _say(chains: list[list[Part]], found: list[Segment], report: Report) -> None:
    loops = {(segment.chain, str(one.number), one.insertion or " ") for segment in found for called in segment.loops.values() for one in called}
    parts = [part for chain in chains for part in chain if part.missing and (part.chain, part.number, part.insertion) not in loops]
    built = [f"{part} ({', '.join(part.missing)})" for part in parts]
    if built:
        report.note(f"{counted(len(built), 'residue')} {'has' if len(built) == 1 else 'have'} atoms that were not seen, which are built: {listed(built, 4)}")
        if len(built) > 4:
            for line in built:
                report.note(line, screen=False)
    guessed = [str(part) for part in parts if part.name in TITRATING and set(part.missing) - {*names.BACKBONE, "CB"}]
    if guessed:
        report.warn(
            f"{counted(len(guessed), 'side chain')} that may titrate {'is' if len(guessed) == 1 else 'are'} not or not wholly in the file and built in one shape of many ({listed(guessed, 6)}): "
            "pKa values may depend on it; --starts 5 begins with other shapes"
        )
    ends = [str(chain[-1]) for chain, segment in zip(chains, found) if not segment.capped_end and _lacks_oxt(chain)]
    if ends:
        report.note(f"OXT is built at the end of {listed(ends)}")
    built_loops = [f"{counted(len(called), 'residue')} in chain {segment.chain}" for segment in found for called in segment.loops.values()]
    if loops:
        report.note(f"loops are built: {listed(built_loops)}")
    if not (built or ends or loops):
        report.note("no heavy atom of the protein is missing")


def _finished(chains: list[list[Part]], bridged: list[list[Part]], found: list[Segment], kept: Kept, report: Report) -> Model:
    """An OpenMM topology with positions: segments, disulfides, ions and water."""
    topology = app.Topology()
    positions: list[np.ndarray] = []
    guessed: set[int] = set()
    sulfurs: dict[int, Any] = {}
    for chain, segment in zip(chains, found):
        added = topology.addChain(segment.chain)
        for part in chain:
            residue = topology.addResidue(part.name, added, part.number, part.insertion)
            order = _order(part.name)
            for name, place in sorted(part.atoms.items(), key=lambda atom: order[atom[0]]):
                atom = topology.addAtom(name, app.Element.getBySymbol(_symbol(name)), residue)
                positions.append(place)
                if name in part.guessed:
                    guessed.add(atom.index)
                if (part.name, name) == ("CYS", "SG"):
                    sulfurs[id(part)] = atom
    topology.createStandardBonds()
    for pair in bridged:
        topology.addBond(*(sulfurs[id(part)] for part in pair))
    _others(topology, positions, kept, report)
    return Model(topology, np.array(positions), frozenset(guessed))


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


def _between(centre: np.ndarray, one: np.ndarray, other: np.ndarray, length: float) -> np.ndarray:
    """The third neighbour of a planar atom, at this distance (nm) and the same angle to the two others."""
    return np.asarray(centre - length * _direction(_direction(one - centre) + _direction(other - centre)))


def _methylamide(last: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """N-methylamide in the plane of the last carboxyl, trans: C–N 1.335 Å, N–C 1.449 Å, angles 121.9° (ff14SB, C–N–CT)."""
    ca, c, o = last["CA"], last["C"], last["O"]
    n = _between(c, ca, o, 0.1335)
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
