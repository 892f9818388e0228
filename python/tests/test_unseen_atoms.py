"""Files as programs and depositors write them: numbers below zero, atoms that were not seen."""

from __future__ import annotations

import subprocess

import pytest
from conftest import Write, binary, peptide_text, written

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from octitrate.errors import Refused  # noqa: E402
from octitrate.prepare.pipeline import prepare  # noqa: E402
from octitrate.prepare.report import Report  # noqa: E402


def test_residues_may_have_numbers_below_zero(structure: Write, report: Report, bare: None) -> None:
    """Tags for expression have them. The job named TYR -1 where system.gro had 99999, and was refused."""
    text = "".join(line[:22] + f"{int(line[22:26]) - 3:4d}" + line[26:] for line in peptide_text("GLY", "GLU", "LYS", "GLY").splitlines(keepends=True))
    folder, job, rows = written(structure(text), report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["nterm GLY -2", "GL3 -1", "LYS 0", "cterm ZGLY 1"]
    assert {number for number, name, _ in rows if name == "GL3"} == {-1}
    answer = subprocess.run([binary(), "check", str(folder / "titrate.toml"), "--device", "cpu"], capture_output=True, text=True, check=False)
    assert answer.returncode == 0 and "GL3 -1" in answer.stdout, answer.stdout + answer.stderr


def test_atoms_at_one_place_are_refused(structure: Write, report: Report) -> None:
    """Modelling programs write atoms that they do not know at one place, mostly 0 0 0."""
    lines = peptide_text("GLY", "GLU", "LYS", "GLY").splitlines(keepends=True)
    nowhere = [line[:30] + "   9.000   9.000   9.000" + line[54:] if line[12:16].strip() in ("CE", "NZ") else line for line in lines if line[76:78].strip() != "H"]
    with pytest.raises(Refused, match="CE and NZ of LYS 3 of chain A lie at one place"):
        prepare(structure("".join(nowhere)), report)
    cb, cg = (next(line[30:54] for line in lines if line[12:16].strip() == name and line[17:20] == "GLU") for name in ("CB", "CG"))
    with pytest.raises(Refused, match="CB and CG of GLU 2 of chain A lie at one place"):
        options = structure("".join(line.replace(cg, cb) for line in lines))
        prepare(options, report)
