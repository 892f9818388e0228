"""A structure as its file has it, before anything is decided: atoms with all their alternates, chains, models, and what the file says beyond coordinates.

Positions are in nm. Residues keep the order of the file. Nothing is dropped here but what the formats themselves repeat (ANISOU, SIGATM).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Position = tuple[float, float, float]

Place = tuple[str, int, str]
"""Where a residue stands in the file: chain, number and insertion code."""


@dataclass(slots=True)
class Atom:
    """One place of one atom."""

    name: str
    altloc: str
    occupancy: float
    position: Position
    element: str
    b_factor: float | None = None
    """Å², or what programs that predict structures write in its place: how sure they are. None where there is no number."""


@dataclass(slots=True, eq=False)
class Residue:
    """A residue, or a molecule that is none: `name number insertion` in a chain."""

    name: str
    chain: str
    number: int
    insertion: str
    atoms: list[Atom] = field(default_factory=list)
    original: str = ""
    """Its name in the file, where it has been renamed."""
    ended: bool = False
    """Whether the file ends a chain behind it (TER, or another label_asym_id of an mmCIF file)."""
    segment: str = ""
    """Its segment in files of CHARMM (columns 73 to 76), where several chains may have no name."""

    def __str__(self) -> str:
        return f"{self.name} {self.place}"

    @property
    def key(self) -> Place:
        """Where it stands, to look it up."""
        return self.chain, self.number, self.insertion

    @property
    def place(self) -> str:
        """Number and chain, as messages name them."""
        return f"{self.number}{self.insertion} of chain {self.chain or '(blank)'}"

    def takes(self, atom: Atom) -> bool:
        """Whether it has no such atom yet: residues may be in pieces, with hydrogens or alternates at the end of a file."""
        return all((atom.name, atom.altloc) != (other.name, other.altloc) for other in self.atoms)

    def atom(self, name: str) -> Atom | None:
        """The atom of this name, if there is one."""
        return next((atom for atom in self.atoms if atom.name == name), None)

    def has(self, *names: str) -> bool:
        """Whether all of these atoms are there."""
        return set(names) <= {atom.name for atom in self.atoms}


@dataclass(slots=True)
class Missing:
    """A residue that the file names and has no coordinates for."""

    name: str
    chain: str
    number: int
    insertion: str


@dataclass(slots=True)
class Link:
    """A bond that the file names beside those of amino acids (LINK, struct_conn)."""

    ends: tuple[Place, Place]
    residues: tuple[str, str]
    """What the file calls the residues at its ends."""
    atoms: tuple[str, str]
    is_across: bool = False
    """Whether its ends are in different symmetry copies, so that the file does not have one of them."""


@dataclass(slots=True)
class Entry:
    """The contents of a file."""

    path: str
    kind: str
    """`PDB` or `mmCIF`."""
    models: dict[int, list[Residue]]
    """Residues of each model, in the order of the file."""
    title: str = ""
    is_predicted: bool = False
    """Whether the file says that a program predicted it, as AlphaFold and ESMFold do."""
    nameless: str = ""
    """What the chain is called that has no name in the file, if there is one."""
    sequences: dict[str, list[str]] = field(default_factory=dict)
    """What was in the crystal, chain by chain (SEQRES)."""
    missing: list[Missing] = field(default_factory=list)
    """What was not seen in it (REMARK 465)."""
    units: list[dict[str, int]] = field(default_factory=list)
    """Chains of each biological unit (REMARK 350), and how many copies of each it has."""
    bridges: list[tuple[Place, Place]] = field(default_factory=list)
    """Disulfides that the file names (SSBOND): where both cysteines stand."""
    parents: dict[str, str] = field(default_factory=dict)
    """What modified amino acids were made from, by their names (MODRES)."""
    links: list[Link] = field(default_factory=list)
    """Other bonds that it names, and disulfides between symmetry copies."""

    def add(self, link: Link) -> None:
        """Takes a bond; one between two sulfurs of cysteine is a disulfide. A residue is bonded to itself only as a symmetry copy."""
        link.is_across |= link.ends[0] == link.ends[1]
        if link.atoms == ("SG", "SG") and not link.is_across:
            if all(set(link.ends) != set(ends) for ends in self.bridges):
                self.bridges.append(link.ends)
        else:
            self.links.append(link)


def distance(a: Position, b: Position) -> float:
    """The distance of two places (nm)."""
    return math.dist(a, b)
