"""What chains are called: by the file, or, where it has no name for one, by its segments in files of CHARMM or by a letter that no other chain has.

Options, messages, the system and the job have the same names. Ligands and water beside amino acids without a chain are of the chain that these become.
"""

from __future__ import annotations

import itertools

from . import names
from .entry import Entry, Place, Residue
from ..words import listed
from .report import Report

SECOND_OXYGEN = ("OXT", "OT2", "OC2")
"""What programs call the second oxygen at the end of a chain."""


def name_chains(entry: Entry, residues: list[Residue], report: Report) -> None:
    """Gives chains with amino acids that have no name one, and those names of their own that share one and have segments of CHARMM (columns 73 to 76). `residues`: those of
    the chosen model, whose names in the file may be those of any program."""
    for chain in dict.fromkeys(residue.chain for residue in residues):
        here = [residue for residue in residues if residue.chain == chain]
        if segments := _segments(here, {residue.chain for residue in residues}):
            for residue in here:
                residue.chain = residue.segment or residue.chain
            report.note(f"{f'chains called {chain}' if chain else 'chains without a name'} are called by their segments (columns 73 to 76): {listed(segments)}")
    if any(residue.chain == "" and _is_amino(residue) for residue in residues):
        _name_nameless(entry, residues, report)
    for chain in dict.fromkeys(residue.chain for residue in residues):
        _part(chain, residues, report)


def _part(chain: str, residues: list[Residue], report: Report) -> None:
    """Gives a chain a name of its own whose numbers come again behind an end (TER, or a second oxygen of a carboxyl group), as in files of programs that know no chains."""
    now, behind = chain, False
    numbers: set[Place] = set()
    found: list[str] = []
    for residue in (residue for residue in residues if residue.chain == chain and _is_amino(residue)):
        if behind and residue.key in numbers:
            now, numbers = _letter(residues), set()
            found.append(f"{now} begins with {residue.name} {residue.number}{residue.insertion}")
        numbers.add(residue.key)
        behind = residue.ended or any(residue.has(name) for name in SECOND_OXYGEN)
        residue.chain = now
    if found:
        report.note(f"chain {chain} ends and its numbers come again: what follows is a chain of its own, {listed(found, 6)}")


def _letter(residues: list[Residue]) -> str:
    """A name of a chain that no other has: a letter, or two where all letters are taken."""
    taken = {residue.chain for residue in residues}
    two = (a + b for a in names.CHAINS for b in names.CHAINS)
    return next(name for name in itertools.chain(names.CHAINS, two) if name not in taken)


def _name_nameless(entry: Entry, residues: list[Residue], report: Report) -> None:
    letter = _letter(residues)
    for residue in residues:
        residue.chain = residue.chain or letter
    if "" in entry.sequences:
        entry.sequences[letter] = entry.sequences.pop("")
    for absent in entry.missing:
        absent.chain = absent.chain or letter
    entry.bridges = [((a[0] or letter, *a[1:]), (b[0] or letter, *b[1:])) for a, b in entry.bridges]
    for link in entry.links:
        one, other = link.ends
        link.ends = (one[0] or letter, *one[1:]), (other[0] or letter, *other[1:])
    entry.nameless = letter
    report.note(f"the chain without a name is called {letter} in options, messages, the system and the job")


def _segments(residues: list[Residue], chains: set[str]) -> list[str]:
    """The segments of the amino acids of a chain, if they are what tells several chains apart; none where they say nothing: a single one may be the code of an old
    entry of the PDB, and several are pieces of one chain whose residues have numbers of their own."""
    amino = [residue for residue in residues if _is_amino(residue)]
    found = list(dict.fromkeys(residue.segment for residue in amino))
    if len(found) < 2 or "" in found or set(found) & (chains - {residues[0].chain}):
        return []
    repeats = len({residue.key for residue in amino}) < len({(residue.key, residue.segment) for residue in amino})
    return found if residues[0].chain == "" or repeats else []


def _is_amino(residue: Residue) -> bool:
    return names.known_as(residue.name.upper()) in names.SIDE_CHAINS or residue.has("N", "CA", "C")
