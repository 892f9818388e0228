"""Mutations: `A123D`, `B:A123D`, `SEP65SER`. The side chain is cut behind CB and built anew as that of the other residue."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import Refused
from . import names
from .chirality import is_d
from .entry import Residue
from .numbers import NUMBER, in_file
from .options import Options
from .report import Report

_TO = "|".join(sorted(names.SIDE_CHAINS)) + "|[" + "".join(names.LETTERS) + "]"
_FORM = re.compile(rf"^(?:(?P<chain>[^:]+):)?(?P<old>[A-Z]|[A-Z0-9]{{3}}){NUMBER}(?P<new>{_TO})$")


@dataclass(frozen=True)
class Mutation:
    """Residue `old number insertion` of a chain, or of the only one, becomes `new`; names of three letters."""

    chain: str | None
    old: str
    number: int
    insertion: str
    new: str


def parse(text: str) -> Mutation:
    """Reads a mutation. Raises `Refused` with the form that is understood."""
    match = _FORM.match(text)
    if not match:
        raise Refused(f"mutation {text!r} is not understood", "write A123D (one chain), B:A123D (chain B) or SEP65SER")
    old = names.LETTERS.get(match["old"], match["old"])
    return Mutation(match["chain"], old, *in_file(match["number"], match["insertion"]), names.LETTERS.get(match["new"], match["new"]))


def mutate(residues: list[Residue], options: Options, report: Report) -> None:
    """Applies the mutations that are asked for."""
    for text in options.mutate:
        asked = parse(text)
        here = [
            residue
            for residue in residues
            if in_file(residue.number, residue.insertion) == (asked.number, asked.insertion)
            and asked.chain in (None, residue.chain)
            and (residue.name in names.SIDE_CHAINS or residue.has("N", "CA", "C"))
        ]
        if not here:
            raise Refused(f"mutation {text}: there is no amino acid {asked.number}{asked.insertion}" + (f" in chain {asked.chain}" if asked.chain else ""))
        if len(here) > 1:
            raise Refused(f"mutation {text}: residue {asked.number} is in chains {', '.join(r.chain for r in here)}", f"name one: {here[0].chain}:{text}")
        residue = here[0]
        if asked.old not in (residue.name, residue.original):
            raise Refused(f"mutation {text}: the residue there is {residue}", f"write the name that is there, or another number")
        report.note(f"{residue} becomes {asked.new}")
        stays = names.BACKBONE + ("OXT",) + (() if asked.new == "GLY" else ("CB",))
        # That of a D amino acid, which the name of the new one does not mean, is placed anew.
        if is_d({atom.name: atom.position for atom in residue.atoms}):
            stays = tuple(name for name in stays if name != "CB")
        residue.atoms = [atom for atom in residue.atoms if atom.name in stays]
        residue.name = asked.new
