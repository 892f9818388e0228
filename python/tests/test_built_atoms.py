"""Where atoms are built that the file does not have: the oxygens of a carboxyl end, and what a modified amino acid and the one that it was made from share."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from conftest import Write, peptide_text  # noqa: E402
from octitrate.prepare import solvate  # noqa: E402
from octitrate.prepare.options import Options  # noqa: E402
from octitrate.prepare.pipeline import prepare  # noqa: E402
from octitrate.prepare.report import Report  # noqa: E402

CHAIN = ("ALA", "GLU", "GLY", "LYS", "ASP", "HIS", "SER", "GLY")


@pytest.fixture(autouse=True)
def as_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the minimisation, which hides some of what was built wrong."""
    monkeypatch.setattr(solvate, "relax", lambda *_: None)


def places(options: Options, report: Report, number: int) -> dict[str, np.ndarray]:
    """Places of the heavy atoms of a residue in protein.pdb by their names, Å."""
    rows = [row for row in (prepare(options, report) / "protein.pdb").read_text().splitlines() if row.startswith("ATOM") and int(row[22:26]) == number]
    return {row[12:16].strip(): np.array([float(row[30 + 8 * k : 38 + 8 * k]) for k in range(3)]) for row in rows if row[76:78].strip() != "H"}


@pytest.mark.parametrize("absent", [("OXT",), ("O", "OXT")])
def test_the_oxygens_of_a_carboxyl_end_have_the_shape_of_one(absent: tuple[str, ...], structure: Write, report: Report) -> None:
    """PDBFixer puts OXT beyond O and lets it find its way: it came to lie on O where that was built as well, and 1.7 Å from CA elsewhere."""
    text = "".join(row for row in peptide_text(*CHAIN).splitlines(True) if int(row[22:26]) != 8 or row[12:16].strip() not in absent)
    last = places(structure(text), report, 8)
    assert np.linalg.norm(last["OXT"] - last["C"]) == pytest.approx(1.26, abs=0.02)
    for a, b in itertools.combinations(("CA", "O", "OXT"), 2):
        one, other = (last[name] - last["C"] for name in (a, b))
        angle = np.degrees(np.arccos(np.dot(one, other) / np.linalg.norm(one) / np.linalg.norm(other)))
        assert 110 < angle < 130, (a, b, angle)
