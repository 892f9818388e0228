"""The residues of a chain in the order of the chain, where its file has pieces of it in another one.

Peptide bonds say which piece follows which. Pieces that no bond joins are put in the order of their numbers, unless the file ends a chain between them: then nothing tells
whether they are one chain or two.
"""

from __future__ import annotations

from ..errors import Refused
from .chains import bonded
from .entry import Residue
from .names import CAPS
from .report import Report

NAMES = "if these are two chains, give each a name of its own (column 22 of the file); if they are pieces of one, put those with the lower numbers first"


def in_order(protein: list[Residue], report: Report) -> list[Residue]:
    """The residues of the protein chain by chain, and of each so that peptide bonds lead from one to the next as far as there are any.

    Raises `Refused` where pieces are out of order and nothing says in which they belong.
    """
    chains = dict.fromkeys(residue.chain for residue in protein)
    return [one for chain in chains for one in _of_chain([residue for residue in protein if residue.chain == chain], report)]


def _of_chain(residues: list[Residue], report: Report) -> list[Residue]:
    pieces = _pieces(residues)
    joined = _joined(pieces)
    if joined != pieces:
        report.note(f"chain {residues[0].chain} has pieces in another order than that of its peptide bonds, and is taken in that: {_spans(joined)}")
    backwards = [(before, after) for before, after in zip(joined, joined[1:]) if _is_backwards(before, after)]
    if not backwards:
        return [residue for piece in joined for residue in piece]
    before, after = backwards[0]
    what = f"chain {residues[0].chain} is out of order: {_called(after[0])} comes behind {_called(before[-1])}, and no peptide bond joins them"
    if before[-1].ended:
        raise Refused(f"{what}; the file ends a chain between them (TER)", NAMES)
    ordered = sorted(joined, key=lambda piece: _numbers(piece)[0])
    if any(_numbers(one)[1] >= _numbers(other)[0] for one, other in zip(ordered, ordered[1:])):
        raise Refused(f"{what}; the numbers of its pieces overlap ({_spans(joined)})", NAMES)
    report.note(f"chain {residues[0].chain} has pieces in another order than that of their numbers, and is taken in that: {_spans(ordered)}")
    return [residue for piece in ordered for residue in piece]


def _pieces(residues: list[Residue]) -> list[list[Residue]]:
    """The residues in pieces whose peptide bonds lead from one to the next."""
    found = [[residues[0]]]
    for before, after in zip(residues, residues[1:]):
        if bonded(before, after):
            found[-1].append(after)
        else:
            found.append([after])
    return found


def _joined(pieces: list[list[Residue]]) -> list[list[Residue]]:
    """Pieces that a bond joins in one, at the place of the first of them; rings stay as they are in the file."""
    behind: dict[int, int] = {}
    for i, piece in enumerate(pieces):
        following = [j for j, other in enumerate(pieces) if j != i and bonded(piece[-1], other[0])]
        if len(following) == 1 and following[0] not in behind.values():
            behind[i] = following[0]
    found: dict[int, list[Residue]] = {}
    for start in [i for i in range(len(pieces)) if i not in behind.values()]:
        chain = [start]
        while chain[-1] in behind:
            chain.append(behind[chain[-1]])
        found[min(chain)] = [residue for i in chain for residue in pieces[i]]
    if sum(map(len, found.values())) < sum(map(len, pieces)):
        return pieces
    return [found[place] for place in sorted(found)]


def _is_backwards(before: list[Residue], after: list[Residue]) -> bool:
    """Whether numbers fall between two pieces that are not whole chains with ends of their own, or a chain and an amino acid that is a ligand."""
    last, first = before[-1], after[0]
    if last.name == "NME" or first.name == "ACE":
        return False
    has_end = after[-1].atom("OXT") is not None or after[-1].name in CAPS
    are_apart = last.ended and has_end and (last.atom("OXT") is not None or len(after) == 1)
    return first.number < last.number and not are_apart


def _numbers(piece: list[Residue]) -> tuple[int, int]:
    """The lowest and the highest number of a piece."""
    found = [residue.number for residue in piece]
    return min(found), max(found)


def _spans(pieces: list[list[Residue]]) -> str:
    return ", ".join(f"{piece[0].number}{piece[0].insertion} to {piece[-1].number}{piece[-1].insertion}" for piece in pieces)


def _called(residue: Residue) -> str:
    return f"{residue.name} {residue.number}{residue.insertion}"
