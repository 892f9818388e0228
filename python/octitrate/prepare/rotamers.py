"""Heavy atoms that were not seen of residues whose backbone was: lengths, angles and hand of a template, and of all ways to turn a side chain one that has room.

A bond between tetrahedral atoms has one of three torsions, that to a planar one one of twelve. Each combination is scored against all other atoms by
Σ (r0/r)¹² − 2 (r0/r)⁶, where r0 is the distance at which two heavy atoms with their hydrogens touch; pairs three bonds apart count half. Side chains take turns to draw one by
its score beside the others as they are, at a temperature that falls to zero, then take the best one until none changes. At last they may turn by 15° about each bond. The
score knows no charges. Of hydrogen bonds it knows that two atoms which only give a hydrogen, or only take one, are no neighbours: contacts of that kind come out as rare as in
crystals. To draw the two sides of a hydrogen bond together was tried as well: fewer torsions are then those of the crystal, because water is a partner, too. What comes out is
free of clashes, and one shape of many. Positions in nm.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import polar

RADIUS = {"C": 0.19, "N": 0.165, "O": 0.15, "S": 0.19}
"""nm; half of r0 of two atoms of an element. Those of N and O let them form hydrogen bonds."""

ION = 0.13
"""nm; the same of an ion."""

NEAREST = 0.15
"""nm; atoms that are nearer count as if they were so far apart."""

REACH = 0.6
"""nm; atoms that are farther apart do not count."""

UNLIKE = 4.0
"""Score of two donors of hydrogen bonds, or two acceptors, within `polar.NEAR`. Of side chains of eight proteins that had no part in its choice (a third of them without side
chain, four times) 79.3 % get a first torsion within 40° of the crystal and 57.3 % the first two with it, 78.6 and 56.4 % without; contacts of two donors or two acceptors within
3.3 Å are 31 with it, 97 without, 26 in the crystals."""

FLAT = np.radians(115)
"""An atom with a wider angle between its bonds is planar."""

HOPELESS = 300.0
"""Side chains are not tried in ways that are so much worse than the best beside what was seen: three atoms that nearly lie on others."""

TEMPERATURES = np.linspace(10, 0.5, 20)
"""Of the turns in which side chains draw. A gauche torsion scores about 7. Without them atoms of 1XNB stay within 2.2 Å (python/tests/test_rotamers.py)."""

SWEEPS = 20
"""Turns at most in which they take the best one; most proteins need five."""

TURN = np.radians(15)


@dataclass
class Part:
    """A residue with the places of its atoms by their names, the names of those that it lacks, and of those that were placed where they have room."""

    name: str
    number: str
    insertion: str
    chain: str
    atoms: dict[str, np.ndarray]
    missing: list[str] = field(default_factory=list)
    guessed: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        return f"{self.name} {self.number}{self.insertion.strip()} of chain {self.chain}"


@dataclass(frozen=True)
class _Step:
    """How an atom is placed: at a distance from `parent`, with an angle to `before` and a torsion to `reference`, to which that of the bond `axis` is added if it turns."""

    atom: str
    parent: str
    before: str
    reference: str
    length: float
    angle: float
    torsion: float
    axis: int | None


class Template:
    """An amino acid of PDBFixer: the places of its heavy atoms, and its bonds."""

    def __init__(self, template: Any) -> None:
        self.at = {atom.name: np.array(place) for atom, place in zip(template.topology.atoms(), template.positions._value)}
        self.bonds: dict[str, list[str]] = {name: [] for name in self.at}
        for a, b in template.topology.bonds():
            self.bonds[a.name].append(b.name)
            self.bonds[b.name].append(a.name)

    def apart(self, atom: str, cut: Collection[str] = ()) -> dict[str, int]:
        """How many bonds lead from an atom to each other one, without the bond between the two of `cut`."""
        found, edge = {atom: 0}, [atom]
        for one in edge:
            for other in self.bonds[one]:
                if other not in found and {one, other} != set(cut):
                    found[other] = found[one] + 1
                    edge.append(other)
        return found

    def loose(self, atoms: Collection[str]) -> list[str]:
        """Those of atoms that no others of them join to the backbone, with CB."""
        joined = ["N", "CA", "C", "CB"]
        for one in joined:
            joined += [other for other in self.bonds.get(one, ()) if other in atoms and other not in joined]
        return [one for one in atoms if one in self.bonds and one not in joined]

    def steps(self, there: Collection[str], missing: Collection[str]) -> tuple[list[_Step], list[np.ndarray]]:
        """How missing atoms are placed, one after another, and the torsions of each bond that turns."""
        placed, left = list(there), list(missing)
        steps: list[_Step] = []
        torsions: list[np.ndarray] = []
        while left:
            atom = next(one for one in left if set(self.bonds[one]) & set(placed))
            parent, *_ = (one for one in self.bonds[atom] if one in placed)
            before, *beside = (one for one in self.bonds[parent] if one in placed)
            reference = beside[0] if beside else next(one for one in self.bonds[before] if one in placed and one != parent)
            turns = not beside and before not in self.apart(parent, (parent, before)) and (before, parent) != ("NE", "CZ")
            length, angle = float(np.linalg.norm(self.at[atom] - self.at[parent])), self._angle(before, parent, atom)
            torsion = 0.0 if turns else _torsion(*(self.at[one] for one in (reference, before, parent, atom)))
            steps.append(_Step(atom, parent, before, reference, length, angle, torsion, len(torsions) if turns else None))
            if turns:
                torsions.append(np.radians(np.arange(0, 360, 30) if angle > FLAT else [-60, 60, 180]))
            left.remove(atom)
            placed.append(atom)
        return steps, torsions

    def _angle(self, a: str, b: str, c: str) -> float:
        one, other = (self.at[end] - self.at[b] for end in (a, c))
        return float(np.arccos(np.dot(one, other) / np.linalg.norm(one) / np.linalg.norm(other)))


class _SideChain:
    """A residue whose missing atoms are being placed."""

    def __init__(self, part: Part, missing: list[str], template: Template) -> None:
        self.part, self.template = part, template
        self.steps, grids = template.steps(part.atoms, missing)
        self.radii = np.array([RADIUS[step.atom[0]] for step in self.steps])
        self.kinds = np.array([polar.kind(part.name, step.atom) or 0 for step in self.steps])
        self.torsions = _combined(grids)
        self.places = _placed(self.steps, self.part.atoms, self.torsions)
        self.alone = self._inside(self.places)
        self.best = 0

    @property
    def now(self) -> np.ndarray:
        """The places of the atoms as they are chosen."""
        return np.asarray(self.places[self.best])

    def _inside(self, places: np.ndarray) -> np.ndarray:
        """The score of every combination inside of the residue."""
        total = np.zeros(len(places))
        for k, step in enumerate(self.steps):
            apart = self.template.apart(step.atom)
            others = [(RADIUS[name[0]], place[None], apart.get(name, 2)) for name, place in self.part.atoms.items()]
            others += [(self.radii[j], places[:, j], apart[other.atom]) for j, other in enumerate(self.steps[:k])]
            for radius, place, bonds in others:
                if bonds > 2:
                    total += (0.5 if bonds == 3 else 1.0) * _contact(np.linalg.norm(places[:, k] - place, axis=1), self.radii[k] + radius)
        return total

    def beside(self, places: np.ndarray, others: np.ndarray, radii: np.ndarray, kinds: np.ndarray) -> np.ndarray:
        """The score of every combination beside other atoms. `kinds`: +1 of those that only give a hydrogen, −1 of those that only take one."""
        near = ((others > places.min(axis=(0, 1)) - REACH) & (others < places.max(axis=(0, 1)) + REACH)).all(axis=1)
        distances = np.sqrt(sum((places[:, :, None, axis] - others[near, axis]) ** 2 for axis in range(3)))
        score = np.where(distances < REACH, _contact(distances, self.radii[:, None] + radii[near]), 0.0)
        alike = np.outer(self.kinds, kinds[near]) > 0
        unlike = UNLIKE * np.clip((polar.FAR - distances[:, alike]) / (polar.FAR - polar.NEAR), 0.0, 1.0)
        return np.asarray(score.sum(axis=(1, 2)) + unlike.sum(axis=1))

    def only(self, chosen: np.ndarray) -> None:
        """Leaves out all other combinations."""
        self.torsions, self.places, self.alone, self.best = self.torsions[chosen], self.places[chosen], self.alone[chosen], 0

    def around(self) -> None:
        """Takes for combinations those about the chosen one."""
        self.torsions = self.torsions[self.best] + _combined([np.array([0, -TURN, TURN])] * self.torsions.shape[1])
        self.places = _placed(self.steps, self.part.atoms, self.torsions)
        self.alone, self.best = self._inside(self.places), 0


def complete(parts: Sequence[Part], templates: Mapping[str, Template], ions: Sequence[np.ndarray], wanted: Collection[str], seed: int) -> None:
    """Places those of the missing atoms of all parts that are `wanted`. N, CA, C and CB must be there. `ions`: places that are taken, too."""
    missing = {k: found for k, part in enumerate(parts) if (found := [name for name in part.missing if name in wanted])}
    owner = np.array([k for k, part in enumerate(parts) for _ in part.atoms] + [-1] * len(ions))
    seen = np.array([place for part in parts for place in part.atoms.values()] + list(ions)).reshape(-1, 3)
    radii = np.array([RADIUS[name[0]] for part in parts for name in part.atoms] + [ION] * len(ions))
    kinds = np.array([polar.kind(part.name, name) or 0 for part in parts for name in part.atoms] + [0] * len(ions))
    chains = {k: _SideChain(parts[k], names, templates[parts[k].name]) for k, names in missing.items()}

    def beside_seen(k: int) -> None:
        one = chains[k]
        one.alone += one.beside(one.places, seen[owner != k], radii[owner != k], kinds[owner != k])

    for k, one in chains.items():
        beside_seen(k)
        one.only(np.argsort(one.alone, kind="stable")[: np.count_nonzero(one.alone < one.alone.min() + HOPELESS)])
    _settle(list(chains.values()), TEMPERATURES, seed)
    for k, one in chains.items():
        one.around()
        beside_seen(k)
    _settle(list(chains.values()), (), seed)
    for one in chains.values():
        one.part.atoms |= {step.atom: place for step, place in zip(one.steps, one.now)}
        one.part.guessed |= {step.atom for step in one.steps}
        one.part.missing = [name for name in one.part.missing if name not in one.part.atoms]


def _settle(chains: list[_SideChain], temperatures: Iterable[float], seed: int) -> None:
    """Chooses combinations by their scores beside each other, one side chain after another: drawn at temperatures, then the best until none changes."""
    random = np.random.default_rng(seed)
    low, high = (np.array([end(one.places, axis=(0, 1)) for one in chains]) for end in (np.min, np.max))
    near = [[j for j in np.flatnonzero(((low < high[k] + REACH) & (high > low[k] - REACH)).all(axis=1)) if j != k] for k in range(len(chains))]
    for temperature in [*temperatures, *[0.0] * SWEEPS]:
        before = [one.best for one in chains]
        for k, one in enumerate(chains):
            score = one.alone
            if near[k]:
                beside = [chains[j] for j in near[k]]
                score = score + one.beside(one.places, *(np.concatenate(arrays) for arrays in zip(*((other.now, other.radii, other.kinds) for other in beside))))
            # With noise of this kind the least of all is drawn by Boltzmann's weights.
            one.best = int(np.argmin(score - temperature * random.gumbel(size=len(score))))
        if temperature == 0.0 and before == [one.best for one in chains]:
            break


def bridge(a: Part, b: Part, cysteine: Template) -> None:
    """Places the sulfurs of a disulfide that are missing: of all torsions those with which S–S (2.04 Å) and both C–S–S (104°, 3.05 Å from C to S) fit best."""
    ways = []
    for part in (a, b):
        steps, _ = cysteine.steps(part.atoms, [name for name in ("SG",) if name in part.missing])
        around = _placed(steps, part.atoms, np.radians(np.arange(0, 360, 5))[:, None]) if steps else part.atoms["SG"][None, None]
        ways.append(around[:, 0])
    one, other = ways
    bond = np.linalg.norm(one[:, None] - other, axis=2) - 0.204
    angles = [np.linalg.norm(places - part.atoms["CB"], axis=1) - 0.305 for places, part in ((one, b), (other, a))]
    best = np.unravel_index(np.argmin(bond**2 + angles[0][:, None] ** 2 + angles[1] ** 2), bond.shape)
    for part, places, k in zip((a, b), ways, best):
        part.atoms["SG"] = places[k]
        part.missing = [name for name in part.missing if name != "SG"]


def _placed(steps: Sequence[_Step], atoms: Mapping[str, np.ndarray], torsions: np.ndarray) -> np.ndarray:
    """The places of atoms for every combination of torsions (a row each): combinations × atoms × 3."""
    at = dict(atoms)
    for step in steps:
        a, b, c = at[step.reference], at[step.before], at[step.parent]
        torsion = torsions[:, step.axis] if step.axis is not None else np.full(len(torsions), step.torsion)
        along = _unit(c - b)
        normal = _unit(np.cross(b - a, along))
        across = np.cross(normal, along)
        aside = np.cos(torsion)[:, None] * across + np.sin(torsion)[:, None] * normal
        at[step.atom] = c + step.length * (np.sin(step.angle) * aside - np.cos(step.angle) * along)
    return np.stack([at[step.atom] for step in steps], axis=1)


def _combined(grids: list[np.ndarray]) -> np.ndarray:
    """Every combination of one value of each grid, a row each."""
    rows = list(itertools.product(*grids))
    return np.array(rows).reshape(len(rows), len(grids))


def _contact(distance: np.ndarray, touching: Any) -> np.ndarray:
    u = (touching / np.maximum(distance, NEAREST)) ** 6
    return np.asarray(u * u - 2 * u)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _torsion(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> float:
    along = _unit(c - b)
    normal = np.cross(b - a, along)
    return float(np.arctan2(np.dot(d - c, normal) / np.linalg.norm(normal), np.dot(d - c, np.cross(_unit(normal), along))))
