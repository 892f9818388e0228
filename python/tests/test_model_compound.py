"""Model compounds: what is built for a name, and jobs that the program accepts."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import octitrate

openmm = pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from octitrate.errors import Refused  # noqa: E402
from octitrate.model_compound import build, compound  # noqa: E402

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "residues", "entry", "folder"),
    [
        ("TYR", ("ACE", "TYR", "NME"), "tyr", "tyr"),
        ("glh", ("ACE", "GLU", "NME"), "glu3", "glu"),
        ("nterm LYS", ("LYS", "NME"), "nterm", "nterm-lys"),
        ("cterm LEU", ("ACE", "LEU"), "cterm", "cterm-leu"),
        ("nterm side ASP", ("ASP", "NME"), "asp3", "nterm-side-asp"),
        ("cterm side GLU", ("ACE", "GLU"), "glu3", "cterm-side-glu"),
        ("water", (), "water", "water"),
    ],
)
def test_names(name: str, residues: tuple[str, ...], entry: str, folder: str) -> None:
    found = compound(name)
    assert (found.residues, found.entry, found.folder) == (residues, entry, folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("HEM", "there is no model compound 'HEM'"),
        ("ALA", "the side chain of ALA does not titrate"),
        ("middle ALA", "there is no model compound 'middle ALA'"),
        ("cterm side SER", "the side chain of SER does not titrate"),
        ("nterm side LYS", "the side chain of LYS as the first residue of a chain has the name LYS in topologies"),
        ("nterm PRO", "the amino end of PRO has two hydrogens"),
    ],
)
def test_what_is_no_model_compound_is_refused(name: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        compound(name)


def binary() -> str:
    found = os.environ.get("OCTITRATE_BINARY") or shutil.which("octitrate") or str(ROOT / "target/release/octitrate")
    if not Path(found).is_file():
        pytest.skip("no binary octitrate: build it, or name it in OCTITRATE_BINARY")
    return found


@pytest.mark.parametrize(("name", "site"), [("TYR", "TYR 2"), ("nterm LYS", "nterm LYS 1"), ("cterm side GLU", "ZGL3 2"), ("water", "")])
def test_the_program_takes_the_jobs(name: str, site: str, tmp_path: Path) -> None:
    place = build(name, "ff14SB", "tip3p", tmp_path / "model")
    job = tomllib.loads((place / "calibrate.toml").read_text())
    assert job["titration"].get("library", []) == ([f"library/{compound(name).entry}.toml"] if site else [])
    assert job["titration"].get("ease_rotamers") == ("8 kJ/mol" if site else None)
    # The equilibrated structure has the same atoms.
    (place / "equilibrate").mkdir()
    shutil.copy(place / "system.gro", place / "equilibrate/final.gro")
    for file in ("equilibrate.toml", "calibrate.toml"):
        answer = subprocess.run([binary(), "check", file], cwd=place, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "the job can be run" in answer.stdout
    assert f"titratable sites     {site + ', ' if site else ''}buffer" in answer.stdout


def test_a_folder_is_whole_or_absent(tmp_path: Path) -> None:
    place = build("CYS", "ff19SB", "tip4pew", tmp_path / "model")
    assert {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()} == {
        *("system.gro", "system.xml", "equilibrate.toml", "calibrate.toml", "library/cys.toml")
    }
    assert tomllib.loads((place / "calibrate.toml").read_text())["titration"]["library"] == ["library/cys.toml", "../water/calibrate/water.toml"]
    with pytest.raises(Refused, match="exists"):
        build("CYS", "ff19SB", "tip4pew", place)
    with pytest.raises(Refused, match="no water model"):
        build("CYS", "ff19SB", "swm4ndp", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_buffer_that_comes_with_octitrate_serves(tmp_path: Path) -> None:
    place = build("CYS", "ff19SB", "opc", tmp_path / "model")
    assert tomllib.loads((place / "calibrate.toml").read_text())["titration"]["library"] == ["library/cys.toml", "library/water.toml"]
    shipped = Path(octitrate.__file__).parent / "corrections/ff19SB-opc/water.toml"
    assert tomllib.loads((place / "library/water.toml").read_text()) == tomllib.loads(shipped.read_text())
    (place / "equilibrate").mkdir()
    shutil.copy(place / "system.gro", place / "equilibrate/final.gro")
    answer = subprocess.run([binary(), "check", "calibrate.toml"], cwd=place, capture_output=True, text=True, check=False)
    assert answer.returncode == 0 and "the job can be run" in answer.stdout, answer.stdout + answer.stderr
    # The buffer itself is calibrated from nothing.
    place = build("water", "ff19SB", "opc", tmp_path / "water")
    assert tomllib.loads((place / "library/water.toml").read_text())["correction"] == {"status": "uncalibrated"}
