"""Mutations: `A123D`, `B:A123D`, `SEP65SER`. The side chain is cut behind CB and built anew as that of the other residue. A modified amino acid that becomes the one that
it was made from keeps the atoms that both have."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import Refused
from ..words import listed, named_all
from . import names
from .chains import BRIDGE, bonded
from .chirality import is_d
from .entry import Residue, distance
from .numbers import NUMBER, in_file
from .options import Options
from .report import Report

_TO = "|".join(sorted(names.SIDE_CHAINS)) + "|[" + "".join(names.LETTERS) + "]"
_FORM = re.compile(rf"(?P<old>[A-Z]|[A-Z0-9]{{3}}|[A-Z0-9]{{3}}[A-Z]){NUMBER}(?P<new>{_TO})")


AMIDE = 0.17
"""nm; a carbon that is bonded to nitrogen is nearer (0.133 in an amide, 0.147 elsewhere)."""

OTHERWISE_BONDED = ("PCA", "IAS")
"""Modified amino acids with other bonds between the atoms that have the names of the one that they were made from."""


@dataclass(frozen=True)
class Mutation:
    """Residue `old number insertion` of a chain, or of the only one, becomes `new`; names of three letters."""

    chain: str | None
    old: str
    number: int
    insertion: str
    new: str


def parse(text: str) -> Mutation:
    """Reads a mutation; capitals tell nothing but chains apart. Raises `Refused` with the form that is understood."""
    chain, _, rest = text.rpartition(":")
    match = _FORM.fullmatch(rest.upper())
    if not match:
        raise Refused(f"mutation {text!r} is not understood", "write A123D (one chain), B:A123D (chain B) or SEP65SER")
    old = names.LETTERS.get(match["old"], match["old"])
    return Mutation(chain or None, old, *in_file(match["number"], match["insertion"]), names.LETTERS.get(match["new"], match["new"]))


def mutate(residues: list[Residue], options: Options, report: Report) -> None:
    """Applies the mutations that are asked for; warns of cysteines whose partner in a disulfide is mutated."""
    parted: list[tuple[Residue, str]] = []
    done: dict[Residue, str] = {}
    for text in options.mutate:
        asked = parse(text)
        amino = [residue for residue in residues if residue.name in names.SIDE_CHAINS or residue.has("N", "CA", "C")]
        here = [residue for residue in amino if _is_at(residue, asked)]
        if not here:
            raise _absent(text, asked, residues, amino)
        if len(here) > 1:
            places = ", ".join(residue.chain or "(blank)" for residue in here)
            first = next((residue.chain for residue in here if residue.chain), "")
            raise Refused(f"mutation {text}: residue {asked.number}{asked.insertion} is in chains {places}", f"name one: {first}:{text}")
        residue = here[0]
        if residue in done:
            raise Refused(f"mutation {text}: {done[residue]} mutates the same residue", "leave one of the two out")
        if asked.old not in (residue.name, residue.original):
            raise _unlike(text, asked, residue, amino)
        report.note(f"{residue} becomes {asked.new}")
        if options.ends != "capped" and _is_blocked(residue, asked.new, amino):
            report.warn(
                f"the amino end of {residue} is an amide, which is neutral; as {asked.new} it is a free end, charged, which may titrate: "
                "--ends capped puts a neutral cap there, and on all other ends"
            )
        stays = _stays(residue, asked.new)
        if "SG" not in stays:
            parted += [(other, str(residue)) for other in amino if other is not residue and _are_bridged(residue, other)]
        residue.atoms = [atom for atom in residue.atoms if atom.name in stays]
        residue.name = asked.new
        done[residue] = text
    for other, partner in parted:
        if other.atom("SG") is not None:
            report.warn(f"{other} was bonded to {partner}, which is mutated: it is built as a free thiol")


def _stays(residue: Residue, new: str) -> tuple[str, ...]:
    """Names of the atoms that stay where they are seen."""
    backbone = (*names.BACKBONE, "OXT")
    # The CB of a D amino acid, which the name of the new one does not mean, is placed anew.
    if new == "GLY" or is_d({atom.name: atom.position for atom in residue.atoms}):
        return backbone
    is_its_own = names.MODIFIED.get(residue.name, ("", ""))[1] == new and residue.name not in OTHERWISE_BONDED
    return (*backbone, *(names.SIDE_CHAINS[new] if is_its_own else ("CB",)))


def _is_blocked(residue: Residue, new: str, amino: list[Residue]) -> bool:
    """Whether the nitrogen of a first residue is an amide by a group that the mutation takes away, as in pyroglutamic acid, formylmethionine and acetylserine."""
    nitrogen = residue.atom("N")
    if nitrogen is None or any(bonded(other, residue) for other in amino if other is not residue):
        return False
    ring = ("CA", "CD") if new == "PRO" else ("CA",)
    groups = [atom for atom in residue.atoms if atom.element == "C" and atom.name not in ring and distance(atom.position, nitrogen.position) < AMIDE]
    return residue.name in names.BLOCKED or bool(groups)


def _are_bridged(a: Residue, b: Residue) -> bool:
    one, other = a.atom("SG"), b.atom("SG")
    return one is not None and other is not None and distance(one.position, other.position) < BRIDGE


def _is_at(residue: Residue, asked: Mutation) -> bool:
    return in_file(residue.number, residue.insertion) == (asked.number, asked.insertion) and asked.chain in (None, residue.chain)


def _absent(text: str, asked: Mutation, residues: list[Residue], amino: list[Residue]) -> Refused:
    """What to say of a number at which no amino acid stands: what else does, and which amino acids are near it."""
    chains = list(dict.fromkeys(residue.chain for residue in amino))
    if asked.chain is not None and asked.chain not in chains:
        return Refused(f"mutation {text}: there is no protein chain {asked.chain}", named_all("the chain", (chain or "(blank)" for chain in chains)))
    what = f"mutation {text}: there is no amino acid {asked.number}{asked.insertion}" + (f" in chain {asked.chain}" if asked.chain else "")
    if others := [str(residue) for residue in residues if _is_at(residue, asked)]:
        what += f", but {listed(others, 2)}"
    return Refused(what, f"by the numbers of the file there are near it: {_nearest(asked, amino)}")


def _unlike(text: str, asked: Mutation, residue: Residue, amino: list[Residue]) -> Refused:
    """What to say where another amino acid stands: where those are that were meant, and how the one that is there is mutated."""
    letters = {name: letter for letter, name in names.LETTERS.items()}
    old, new = (letters.get(name, name) for name in (residue.name, asked.new))
    there = f"{residue.chain}:" * bool(residue.chain) + f"{old}{residue.number}{residue.insertion}{new}"
    near = _nearest(asked, [other for other in amino if asked.old in (other.name, other.original)])
    near = f"by the numbers of the file the nearest {asked.old} are {near}" if near else f"there is no {asked.old}" + (f" in chain {asked.chain}" if asked.chain else "")
    return Refused(f"mutation {text}: the residue there is {residue}", f"{near}; --mutate {there} takes the residue that is there")


def _nearest(asked: Mutation, amino: list[Residue]) -> str:
    """The four residues of the chain that was asked for, or of all, with the nearest numbers."""
    inside = [residue for residue in amino if asked.chain in (None, residue.chain)]
    return ", ".join(map(str, sorted(inside, key=lambda residue: abs(residue.number - asked.number))[:4]))
