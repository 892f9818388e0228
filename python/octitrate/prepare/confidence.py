"""How sure a program that predicted a structure is of each residue: pLDDT, from 0 to 100, which AlphaFold and others write in the column of the B-factor, some of them from
0 to 1."""

from __future__ import annotations

from collections.abc import Iterable

from .entry import Entry, Residue
from .names import SIDE_CHAINS
from ..words import counted
from .report import Report

LOW = 50.0
"""pLDDT that AlphaFold's database calls very low below; it tells disorder well (Wilson, Choy, Karttunen 2022, doi:10.3390/ijms23094591)."""

ALIKE = 20
"""Residues at least by which a file without a title is known as a prediction: the atoms of each have one B-factor, and residues differ."""


def note(entry: Entry, protein: list[Residue], report: Report) -> None:
    """Says of a predicted structure how sure the prediction is, and warns of residues that are probably disordered. `protein`: its residues in their order."""
    if not entry.is_predicted and (entry.title or not _one_for_each_residue(protein)):
        return
    found = {residue: value for residue in protein if residue.name in SIDE_CHAINS and (value := _of(residue)) is not None}
    if not found or not 0 <= min(found.values()) < max(found.values()) <= 100:
        if entry.is_predicted:
            report.note("the structure is a prediction, and the file does not say how sure it is (pLDDT)")
        return
    scale = 100.0 if max(found.values()) <= 1 else 1.0
    sure = {residue: scale * value for residue, value in found.items()}
    report.note(f"the structure is a prediction, with a confidence (pLDDT) of {min(sure.values()):.0f} to {max(sure.values()):.0f}, on average {sum(sure.values()) / len(sure):.0f}")
    low = [sure.get(residue, LOW) < LOW for residue in protein]
    if any(low):
        report.warn(
            f"{counted(sum(low), 'residue')} of the prediction {'has' if sum(low) == 1 else 'have'} a confidence (pLDDT) below {LOW:.0f}: {', '.join(_ranges(protein, low))}. "
            "Such parts are probably disordered, and their shape is none that the protein has: cut them from the file if they are long, because they make the box large"
        )


def _one_for_each_residue(protein: list[Residue]) -> bool:
    """Whether all atoms of each residue have the same B-factor, as in predictions, and not of a crystal."""
    each = [{atom.b_factor for atom in residue.atoms} for residue in protein if residue.name in SIDE_CHAINS and len(residue.atoms) > 3]
    return len(each) >= ALIKE and all(len(values) == 1 for values in each)


def _of(residue: Residue) -> float | None:
    atom = residue.atom("CA")
    return None if atom is None else atom.b_factor


def _ranges(protein: list[Residue], chosen: Iterable[bool]) -> list[str]:
    """Residues that are chosen as ranges of neighbours, `1 to 23 of chain A`."""
    runs: list[list[Residue]] = []
    before = False
    for residue, is_chosen in zip(protein, chosen, strict=True):
        if is_chosen and before and runs[-1][-1].chain == residue.chain:
            runs[-1].append(residue)
        elif is_chosen:
            runs.append([residue])
        before = is_chosen
    return [run[0].place if len(run) == 1 else f"{run[0].number}{run[0].insertion} to {run[-1].place}" for run in runs]
