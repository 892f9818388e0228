"""Numbers of residues: those of the file, with insertion codes, by which people ask for residues and messages name them, and those of the system, which has none."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from .names import CAPS, known_as
from .report import Report

NUMBER = r"(?P<number>-?[0-9]+)(?P<insertion>[A-Z]?)"
"""The number of a residue in an option: `35`, or `100A` with its insertion code."""


def in_file(number: int | str, insertion: str) -> tuple[int, str]:
    """The number of a residue in the file, or that of an option, as they compare: insertion codes in capitals, none as an empty text."""
    return int(number), insertion.strip().upper()


def number_anew(topology: Any, count: int, report: Report) -> None:
    """Numbers residues anew in chains with insertion codes, which no format of molecular dynamics has, with a table for the report. `count`: of the OpenMM chains that are
    the protein, which come first; several of them may be pieces of one chain."""
    protein = sorted(list(topology.chains())[:count], key=lambda chain: str(chain.id))
    for name, pieces in groupby(protein, key=lambda chain: str(chain.id)):
        residues = [residue for piece in pieces for residue in piece.residues()]
        if not any(residue.insertionCode.strip() for residue in residues):
            continue
        start = int(residues[0].id)
        rows = [["in the file", "here"]]
        for new, residue in enumerate(residues, start):
            called = known_as(residue.name)
            if called not in CAPS:
                rows.append([f"{called} {residue.id}{residue.insertionCode.strip()}", f"{called} {new}"])
            residue.id, residue.insertionCode = str(new), ""
        report.step(f"Numbers of chain {name}")
        report.warn(f"chain {name} has insertion codes: its residues are numbered anew from {start} in the system and the job; prepare.md has the table")
        report.table(rows)
