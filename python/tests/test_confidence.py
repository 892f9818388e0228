"""How sure a prediction of a structure is of itself: pLDDT in the column of the B-factor."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("openmm")
from conftest import Write, notes, peptide_text  # noqa: E402
from octitrate.prepare import choose, confidence  # noqa: E402
from octitrate.prepare.options import Options  # noqa: E402
from octitrate.prepare.pipeline import prepare  # noqa: E402
from octitrate.prepare.read import read  # noqa: E402
from octitrate.prepare.report import Report  # noqa: E402

TITLE = "TITLE     ALPHAFOLD MONOMER V2.0 PREDICTION FOR A PEPTIDE (P00000)\n"

SURE = [93.5, 91.0, 48.2, 31.0, 72.0, 49.9, 88.0]


def with_factors(text: str, factors: list[float], spread: float = 0.0) -> str:
    """The records with a B-factor for each residue; `spread`: by how much those of its atoms differ."""
    rows = text.splitlines()
    return "\n".join(f"{row[:60]}{factors[int(row[22:26]) - 1] + spread * (k % 7):6.2f}{row[66:]}" for k, row in enumerate(rows)) + "\n"


def said(path: Path) -> tuple[list[str], list[str]]:
    report = Report(screen=None)
    entry = read(path)
    confidence.note(entry, choose.model(entry, Options(input=path), report), report)
    return report.sections[-1].notes if report.sections else [], report.warnings()


def test_residues_that_a_prediction_is_not_sure_of_are_named(structure: Write, report: Report) -> None:
    text = with_factors(peptide_text("ALA", "GLU", "GLY", "SER", "ALA", "LYS", "GLY"), SURE)
    options = structure(TITLE + text)
    prepare(options, report)
    assert "a prediction, with a confidence (pLDDT) of 31 to 94, on average 68" in notes(report)
    (warning,) = (text for text in report.warnings() if "pLDDT" in text)
    assert warning.startswith("3 residues of the prediction have a confidence (pLDDT) below 50: 3 to 4 of chain A, 6 of chain A. Such parts are probably disordered")


@pytest.mark.parametrize("head", [TITLE, "MODEL     1\nPARENT N/A\n"], ids=["title", "casp"])
def test_a_file_says_that_it_is_a_prediction(head: str, tmp_path: Path) -> None:
    text = peptide_text("ALA", "GLU", "GLY")
    (tmp_path / "a.pdb").write_text(head + with_factors(text, [97.0, 51.0, 50.0]))
    assert said(tmp_path / "a.pdb") == (["the structure is a prediction, with a confidence (pLDDT) of 50 to 97, on average 66"], [])
    # From 0 to 1.
    (tmp_path / "b.pdb").write_text(head + with_factors(text, [0.97, 0.51, 0.49]))
    assert said(tmp_path / "b.pdb")[1][0].startswith("1 residue of the prediction has a confidence (pLDDT) below 50: 3 of chain A.")
    for column in ("      ", "******", "120.00", " -1.00"):
        (tmp_path / "c.pdb").write_text(head + re.sub("(?m)^(ATOM.{56}).{6}", rf"\g<1>{column}", text))
        assert said(tmp_path / "c.pdb") == (["the structure is a prediction, and the file does not say how sure it is (pLDDT)"], []), column


def test_mmcif_says_that_it_is_a_prediction(tmp_path: Path) -> None:
    atoms = "".join(f"ATOM {k} C CA ALA A {k} {3.8 * k} 0.0 0.0 {45.0 + 5 * k}\n" for k in (1, 2))
    columns = ("group_PDB", "id", "type_symbol", "label_atom_id", "label_comp_id", "label_asym_id", "label_seq_id", "Cartn_x", "Cartn_y", "Cartn_z", "B_iso_or_equiv")
    table = "loop_\n" + "".join(f"_atom_site.{name}\n" for name in columns) + atoms
    for metric in ("loop_\n_ma_qa_metric.id\n_ma_qa_metric.mode\n_ma_qa_metric.name\n1 global pLDDT\n2 local pLDDT\n", ""):
        (tmp_path / "a.cif").write_text(f"data_X\n{metric}{table}")
        assert read(tmp_path / "a.cif").is_predicted == bool(metric)
    (tmp_path / "a.cif").write_text(f"data_X\n_ma_model_list.model_id 1\n_ma_model_list.model_name best\n#\n{table}")
    assert said(tmp_path / "a.cif")[0] == ["the structure is a prediction, with a confidence (pLDDT) of 50 to 55, on average 52"]


def test_a_prediction_without_a_title_has_one_value_for_each_residue(tmp_path: Path) -> None:
    """What ColabFold writes; those of the atoms of a crystal differ, and a crystal has a title."""
    text = peptide_text(*["ALA", "SER"] * 11)
    factors = [30.0 + 2 * k for k in range(22)]
    path = tmp_path / "a.pdb"
    path.write_text(with_factors(text, factors))
    assert said(path)[1][0].startswith("10 residues of the prediction have a confidence (pLDDT) below 50: 1 to 10 of chain A.")
    for other in ("TITLE     A CRYSTAL\n" + with_factors(text, factors), with_factors(text, factors, 0.5), with_factors(text, [30.0] * 22), with_factors(text, [0.0] * 22)):
        path.write_text(other)
        assert said(path) == ([], [])
