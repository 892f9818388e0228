"""Biological units: how many copies of each chain they have, what is said where the box has others, and subunits that are models or chains without a header."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Write, moved, notes, peptide_text, without

from octitrate.errors import Refused
from octitrate.prepare import choose, units
from octitrate.prepare.entry import Entry
from octitrate.prepare.options import Options
from octitrate.prepare.pipeline import prepare
from octitrate.prepare.read import read
from octitrate.prepare.read_cif import operators
from octitrate.prepare.read_pdb import read_pdb
from octitrate.prepare.report import Report

LONG = (*("ALA", "GLU", "GLY", "LYS", "SER", "HIS", "VAL", "GLY", "ASP", "LEU"), *("SER", "ALA", "LYS", "GLU", "VAL", "ASP", "GLY", "HIS", "LEU", "THR"), *("VAL", "SER", "GLU", "ALA", "THR", "LYS", "LEU", "ASP", "HIS", "GLY"))


def _operators(count: int, first: int = 1) -> str:
    rows = ("  1.000000  0.000000  0.000000", "  0.000000  1.000000  0.000000", "  0.000000  0.000000  1.000000")
    return "".join(f"REMARK 350   BIOMT{k}{number:4d}{row}        0.00000\n" for number in range(first, first + count) for k, row in enumerate(rows, 1))


def _apply(number: int, *groups: tuple[str, int]) -> str:
    text = f"REMARK 350 BIOMOLECULE: {number}\nREMARK 350 AUTHOR DETERMINED BIOLOGICAL UNIT: DIMERIC\n"
    return text + "".join(f"REMARK 350 APPLY THE FOLLOWING TO CHAINS: {chains}\n{_operators(count)}" for chains, count in groups)


def test_operators_of_remark_350_are_counted() -> None:
    more = _apply(1, ("A", 1)).replace("CHAINS: A\n", "CHAINS: A,\nREMARK 350                    AND CHAINS: B\n") + _apply(2, ("C, D", 6), ("E", 1), ("C", 2))
    assert read_pdb(more, "x").units == [{"A": 1, "B": 1}, {"C": 8, "D": 6, "E": 1}]


@pytest.mark.parametrize(("expression", "count"), [("1", 1), ("1,2,3", 3), ("(1-60)", 60), ("(1,2)(3-5)", 6), ("P", 1), ("(X0)(1-10,21-25)", 15), ("(1-3),(5)", 3), ("", 1)])
def test_expressions_of_operators_are_counted(expression: str, count: int) -> None:
    assert operators(expression) == count


def test_operators_of_mmcif_files_are_counted(tmp_path: Path) -> None:
    """A chain is there once, whatever of it has labels of their own, and a unit may place it in several rows."""
    path = tmp_path / "x.cif"
    path.write_text(
        "data_x\nloop_\n_entity_poly_seq.entity_id\n_entity_poly_seq.num\n_entity_poly_seq.mon_id\n1 1 MET\n"
        "loop_\n_pdbx_struct_assembly_gen.assembly_id\n_pdbx_struct_assembly_gen.oper_expression\n_pdbx_struct_assembly_gen.asym_id_list\n1 1,2 A,B\n2 1 A\n2 '(1-3)' A,B\n"
        "loop_\n" + "".join(f"_atom_site.{name}\n" for name in "group_PDB id type_symbol label_atom_id label_comp_id label_asym_id label_entity_id label_seq_id Cartn_x Cartn_y Cartn_z auth_asym_id".split())  # noqa: SIM905
        + "ATOM 1 C CA MET A 1 1 0 0 0 H\nHETATM 2 O O HOH B 2 . 9 9 9 H\n"
    )
    assert read(path).units == [{"H": 2}, {"H": 4}]


COPIES = "the biological unit of the file has {} copies of chain{}, and one is prepared: groups between copies titrate as if in water; to prepare the whole unit give a file in which every"


@pytest.mark.parametrize(
    ("remarks", "there", "asked", "warning", "note"),
    [
        (_apply(1, ("A", 2)), "A", [], COPIES.format(2, " A"), ""),
        (_apply(1, ("A", 1)), "A", [], "", ""),
        (_apply(1, ("A", 2)) + _apply(2, ("A", 1)), "A", [], COPIES.format(2, " A"), ""),
        (_apply(1, ("A, B", 3)), "AB", [], COPIES.format(3, "s A, B"), ""),
        (_apply(1, ("A", 1)) + _apply(2, ("B", 1)), "AB", [], "the file has the chains in 2 biological units (A; B), which are put into one box: they may touch in the crystal alone; --chains A prepares", ""),
        (_apply(1, ("A", 1)) + _apply(2, ("B", 1)), "AB", ["all"], "", "in 2 biological units (A; B), which are put into one box"),
        (_apply(1, ("A", 1)) + _apply(2, ("B", 1)) + _apply(3, ("A, B", 1)), "AB", [], "", ""),
        (_apply(1, ("A", 1)) + _apply(2, ("B", 1)), "AB", ["B"], "", ""),
        (_apply(1, ("A, B", 1)), "AB", ["A"], "", "has chain B, too, which is left out: groups that touch it titrate as if in water"),
        (_apply(1, ("A", 2)), "AB", ["all"], "", ""),  # the file of the unit, which names the second copy itself
        ("", "AB", [], "", ""),
    ],
)
def test_what_the_unit_has_beside_the_box_is_said(remarks: str, there: str, asked: list[str], warning: str, note: str, report: Report) -> None:
    entry = read_pdb(remarks + "".join(moved(peptide_text("ALA", "GLU"), chain, 40.0 * k) for k, chain in enumerate(there)), "x.pdb")
    everything = entry.models[1]
    residues = [residue for residue in everything if not asked or asked == ["all"] or residue.chain in asked]
    units.note(entry, everything, residues, Options(input=Path("x.pdb"), chains=asked), report)
    warned = report.warnings()
    assert len(warned) == bool(warning) and warning in "".join(warned)
    assert note in notes(report) and (bool(note) or len(notes(report)) == len("".join(warned)))


def test_a_protein_of_two_copies_is_prepared_with_a_warning(structure: Write, report: Report, bare: None) -> None:
    folder = prepare(structure(_apply(1, ("A", 2)) + peptide_text("ALA", "GLU", "GLY")), report)
    assert COPIES.format(2, " A") in (folder / "prepare.md").read_text()


def _models(*texts: str) -> Entry:
    return read_pdb("".join(f"MODEL     {number:4d}\n{text}ENDMDL\n" for number, text in enumerate(texts, 1)), "x.pdb")


def test_models_beside_each_other_are_called_subunits(report: Report) -> None:
    """Files of whole units of the PDB format (.pdb1) have the copies as models, where conformers are expected."""
    text = peptide_text(*LONG)
    options = Options(input=Path("x.pdb"))
    with pytest.raises(Refused, match="2 models .1 to 2. at different places, as the subunits of one assembly") as caught:
        choose.model(_models(text, moved(text, "A", 20.0)), options, report)
    assert caught.value.help == "put the subunits into one model and give every chain a name of its own (column 22); --model 1 prepares the first of them alone"
    with pytest.raises(Refused, match="2 models .1 to 2., and one structure is prepared") as caught:
        choose.model(_models(text, moved(text, "A", 2.0)), options, report)
    assert caught.value.help == "choose one: --model 1"
    options.model = 2
    choose.model(_models(text, moved(text, "A", 20.0)), options, report)
    assert len(report.warnings()) == 1 and "model 2 is prepared without the others" in report.warnings()[0]
    choose.model(_models(text, moved(text, "A", 2.0)), options, report)
    assert len(report.warnings()) == 1


@pytest.mark.parametrize(("gone", "are_copies"), [((1,), True), ((1, 30), True), ((14, 15), True), (tuple(range(1, 15)), False)], ids=["first", "both ends", "a loop", "half"])
def test_chains_without_a_header_of_which_not_the_same_was_seen_are_copies(gone: tuple[int, ...], are_copies: bool, report: Report) -> None:
    text = peptide_text(*LONG)
    entry = read_pdb(text + moved(without(text, *gone), "B", 60.0), "x.pdb")
    if are_copies:
        with pytest.raises(Refused, match=rf"chains A, B have the same sequence, as far as it was seen \(30 residues, {30 - len(gone)} residues\), and the file does not say"):
            choose.chains(entry, entry.models[1], Options(input=Path("x.pdb")), report)
    else:
        choose.chains(entry, entry.models[1], Options(input=Path("x.pdb")), report)


def test_chains_whose_sequences_the_file_has_are_copies_by_these_alone(report: Report) -> None:
    """Two subunits that differ in a residue are no copies of each other where SEQRES says so."""
    text = peptide_text(*LONG)
    rows = [" ".join(chain[start : start + 13]) for chain in (LONG, LONG[1:]) for start in range(0, 30, 13)]
    head = "".join(f"SEQRES{k % 3 + 1:4d} {'AB'[k // 3]}   30  {row}\n" for k, row in enumerate(rows))
    entry = read_pdb(head + text + moved(without(text, 1), "B", 60.0), "x.pdb")
    choose.chains(entry, entry.models[1], Options(input=Path("x.pdb")), report)
