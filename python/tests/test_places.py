"""Where residues of a system stand in the file that it was made of, what a job calls them, and cysteines whose partner is left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import Write, moved, notes, peptide_text, without, written
from openmm import app

from octitrate.prepare import chains, solvate
from octitrate.prepare.build import Model
from octitrate.prepare.entry import Atom, Entry, Residue
from octitrate.prepare.job import site_names
from octitrate.prepare.report import Report
from octitrate.prepare.structure import pdb as structure_text

CHAIN = ("ALA", "GLU", "GLY", "LYS", "ASP", "HIS", "SER", "GLY")


def _numbered(text: str, number: int, new: str) -> str:
    """The records with another number, of five columns, for one residue."""
    return "".join(line[:22] + new + line[27:] if int(line[22:26]) == number else line for line in text.splitlines(keepends=True))


def test_sites_are_told_by_the_chains_and_numbers_of_the_file(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chain H has an insertion code, so that it is numbered anew; chain L is two molecules, on both sides of a gap."""
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    heavy = moved(_numbered(peptide_text(*CHAIN), 5, "   4A"), "H", 0.0)
    options = structure(heavy + moved(without(peptide_text(*CHAIN), 4), "L", 60.0))
    options.gaps, options.sites = "cap", ["GLU", "ASP", "HIS"]
    _, job, _ = written(options, report)
    assert {site["residue"]: site["place"] for site in job["titration"]["site"]} == {
        "1:GL3 2": "H 2", "1:AS3 5": "H 4A", "1:HIP 6": "H 6",
        "2:GL3 2": "L 2", "3:AS3 5": "L 5", "3:HIP 6": "L 6",
    }  # fmt: skip


@pytest.mark.parametrize(("others", "expected"), [(0, ["GL3 5#1", "GL3 5#2"]), (1, ["1:GL3 5#1", "1:GL3 5#2", "2:GL3 5"])])
def test_residues_of_one_name_and_number_in_one_molecule_are_counted(others: int, expected: list[str]) -> None:
    """Two chains that a disulfide joins are one molecule, whose residues may have the same numbers."""
    topology = app.Topology()
    sulfurs, groups = [], []
    for chain in range(2 + others):
        here = topology.addChain("ABC"[chain])
        acid, cysteine = topology.addResidue("GL3", here, "5"), topology.addResidue("CYX", here, "6")
        carbon = topology.addAtom("C", app.element.carbon, acid)
        sulfurs.append(topology.addAtom("SG", app.element.sulfur, cysteine))
        topology.addBond(carbon, sulfurs[-1])
        groups.append(SimpleNamespace(residue=acid, group="side", entry="glu3"))
    topology.addBond(sulfurs[0], sulfurs[1])
    assert site_names(groups, topology) == expected


def _cysteine(chain: str, number: int, x: float) -> Residue:
    return Residue("CYS", chain, number, "", [Atom("SG", "", 1.0, (x, 0.0, 0.0), "S")])


@pytest.mark.parametrize(
    ("apart", "named", "warned"),
    [(0.205, False, True), (0.4, True, True), (0.4, False, False)],
    ids=["near", "named by the file", "a free thiol"],
)
def test_a_cysteine_whose_partner_is_left_out_is_warned_of(apart: float, named: bool, warned: bool, report: Report) -> None:
    here, other = _cysteine("A", 5, 0.0), _cysteine("B", 9, apart)
    entry = Entry("x.pdb", "PDB", {1: [here, other]}, bridges=[(("A", 5), ("B", 9))] if named else [])
    assert chains.bridges(entry, [here, other], [chains.Segment("A", [here])], report) == []
    assert ("CYS 5 of chain A is bonded to CYS 9 of chain B, which is left out: it is built as a free thiol" in notes(report)) == warned


def test_a_disulfide_of_chains_that_are_both_there_is_no_free_thiol(report: Report) -> None:
    here, other = _cysteine("A", 5, 0.0), _cysteine("B", 9, 0.205)
    both: Any = [chains.Segment("A", [here]), chains.Segment("B", [other])]
    assert chains.bridges(Entry("x.pdb", "PDB", {1: [here, other]}), [here, other], both, report) == [(here, other)]
    assert "free thiol" not in notes(report)


def test_chains_with_long_names_are_apart_in_the_pdb_file() -> None:
    """Names of mmCIF files may have several letters, of which a PDB file has room for one."""
    topology = app.Topology()
    for name in ("AA", "A", "AB", "AA"):
        topology.addAtom("CA", app.element.carbon, topology.addResidue("ALA", topology.addChain(name), "1"))
    rows = [row for row in structure_text(Model(topology, np.zeros((4, 3)))).splitlines() if row.startswith("ATOM")]
    assert [row[21] for row in rows] == ["B", "A", "C", "B"]
