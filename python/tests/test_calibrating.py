"""`octitrate calibrate --residue`: from a name to an entry in the library that `octitrate prepare` reads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import notes, peptide_text, Write
from test_calibrated import calibrated
from conftest import binary
from test_model_compound import shorten

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

import octitrate as package  # noqa: E402
from octitrate import user_library  # noqa: E402
from octitrate.calibrated import SHIPPED  # noqa: E402
from octitrate.calibrating import main, plan  # noqa: E402
from octitrate.entries import buffer_entry, entry  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.model_compound import Asked, build  # noqa: E402
from octitrate.prepare.pipeline import prepare  # noqa: E402
from octitrate.prepare.report import Report  # noqa: E402
from octitrate.residues import TitratableForceField  # noqa: E402


def octitrate(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OCTITRATE_PYTHON": sys.executable, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    return subprocess.run([binary(), *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _checkpoints(folder: Path) -> dict[Path, int]:
    """When the checkpoint of every run below a folder was written (ns)."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("checkpoint")}


def test_a_residue_gets_into_the_library_and_is_prepared_with_it(tmp_path: Path, library: Path, structure: Write) -> None:
    # The jobs as they are written take hours here: those of a folder that is there already are gone on with.
    shorten(build("CYS", "ff14SB", "tip3p", tmp_path / "ff14SB-tip3p/cys"))
    words = ("calibrate", "--residue", "CYS", "--force-field", "ff14SB", "--device", "cpu")
    answer = octitrate(*words, folder=tmp_path)
    assert answer.returncode == 0, answer.stderr
    file = library / "ff14SB-tip3p/cys.toml"
    assert f"in the library: {file} (octitrate prepare reads it by itself)\nwhether its pKa comes back: octitrate titrate " in answer.stderr
    correction = tomllib.loads(file.read_text())["correction"]
    assert correction["status"] == "preliminary"
    # The same command finds all of it done: no run goes on and writes a checkpoint.
    done = _checkpoints(tmp_path)
    again = octitrate(*words, folder=tmp_path)
    assert again.returncode == 0, again.stderr
    assert len(done) > 1 and _checkpoints(tmp_path) == done
    assert [path.name for path in file.parent.iterdir()] == ["cys.toml"]
    # Of a preparation nobody says a word about the library.
    options, report = structure(peptide_text("ACE", "CYS", "GLU", "NME")), Report(screen=None)
    options.force_field = "ff14SB"
    place = prepare(options, report)
    written = tomllib.loads((place / "library/cys.toml").read_text())
    assert written["correction"] == correction
    assert f"the correction V_MM of CYS 2 of chain A is your own: {file}" in notes(report)
    assert "glu3.toml" not in notes(report)
    assert f"is your own: {file}" in (place / "prepare.md").read_text()


def test_a_residue_whose_runs_fail_does_not_keep_the_others(tmp_path: Path, library: Path) -> None:
    for name in ("cys", "tyr"):
        shorten(build(name.upper(), "ff14SB", "tip3p", tmp_path / "ff14SB-tip3p" / name))
    cys = tmp_path / "ff14SB-tip3p/cys"
    job = cys / "equilibrate.toml"
    job.write_text(job.read_text().replace("[minimise]", ""))
    lines = (cys / "system.gro").read_text().splitlines()
    # An atom of water on top of another one: forces that are not finite.
    first, second = [i for i, line in enumerate(lines) if line[5:10].strip() == "HOH" and line[10:15].strip() == "O"][:2]
    lines[second] = lines[second][:20] + lines[first][20:]
    (cys / "system.gro").write_text("\n".join(lines) + "\n")
    answer = octitrate("calibrate", "--residue", "CYS,TYR", "--force-field", "ff14SB", "--device", "cpu", folder=tmp_path)
    assert answer.returncode == 3, answer.stderr
    assert "1 of 2 model compounds failed: ff14SB-tip3p/cys; the same command tries them again" in answer.stderr
    assert [path.name for path in (library / "ff14SB-tip3p").iterdir()] == ["tyr.toml"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["job.toml", "--residue", "TYR"], "cannot be used with"),
        (["--residue", "TYR", "--slurm"], "cannot be used with"),
        (["job.toml", "--force-field", "ff19SB"], "cannot be used with"),
        (["--force-field", "ff19SB"], "required"),
        ([], "required"),
        (["--residue", "HEM"], "there is no model compound 'HEM'"),
        (["--residue", ","], "--residue names no residue"),
        (["--residue", "TYR", "--force-field", "ff99"], "ff99"),
        (["--residue", "TYR", "--temperature", "27"], "--temperature 27: K are meant"),
    ],
)
def test_contradictions_are_refused(words: list[str], message: str, tmp_path: Path) -> None:
    answer = octitrate("calibrate", *words, folder=tmp_path)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_buffer_comes_first_and_is_built_unasked(tmp_path: Path, library: Path, bare: None) -> None:
    asked = Asked("", "ff14SB", "spce", 300.0)
    assert plan(["TYR", "nterm LYS"], asked, tmp_path / "m") == [tmp_path / "m/water", tmp_path / "m/tyr", tmp_path / "m/nterm-lys"]
    job = tomllib.loads((tmp_path / "m/tyr/calibrate.toml").read_text())
    assert job["titration"]["library"] == ["library/tyr.toml", "../water/calibrate/water.toml"]
    # With a buffer in the library none is built.
    ff = TitratableForceField("ff14SB", "spce")
    (library / "ff14SB-spce").mkdir()
    (library / "ff14SB-spce/water.toml").write_text(calibrated(buffer_entry(ff)))
    assert plan(["TYR"], asked, tmp_path / "n") == [tmp_path / "n/tyr"]
    assert tomllib.loads((tmp_path / "n/tyr/library/water.toml").read_text())["correction"]["coefficients"] == [1.25, -2.5e-7, 3.0]
    # TIP3P of AMBER has the one that is built in.
    assert plan(["TYR"], Asked("", "ff14SB", "tip3p", 300.0), tmp_path / "o") == [tmp_path / "o/tyr"]


def test_a_folder_of_something_else_is_refused(tmp_path: Path, bare: None) -> None:
    build("TYR", "ff14SB", "tip3p", tmp_path / "tyr")
    shutil.copytree(tmp_path / "tyr", tmp_path / "cys")
    with pytest.raises(Refused, match="was built for ff14SB and not ff19SB, 300.0 and not 310.0"):
        plan(["LYS", "TYR"], Asked("", "ff19SB", "tip3p", 310.0), tmp_path)
    with pytest.raises(Refused, match="was built for TYR and not CYS"):
        plan(["CYS"], Asked("", "ff14SB", "tip3p", 300.0), tmp_path)
    (tmp_path / "cys/prepare.toml").unlink()
    with pytest.raises(Refused, match="something that is no model compound"):
        plan(["CYS"], Asked("", "ff14SB", "tip3p", 300.0), tmp_path)
    # Nothing was built on the way to the refusal.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cys", "tyr"]


def test_entries_of_a_library(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ff = TitratableForceField("ff14SB")
    (tmp_path / "cterm.toml").write_text(calibrated(entry(ff, "cterm"), "SER"))
    folder = library / "ff14SB-tip3p"
    file = user_library.add(tmp_path / "cterm.toml", "cterm-ser", folder)
    assert file == folder / "cterm-ser.toml" and file.read_text() == (tmp_path / "cterm.toml").read_text()
    # What differs by its date alone is the same; what differs is kept.
    (tmp_path / "cterm.toml").write_text(file.read_text().replace("[elsewhere.correction.provenance]\n", '[elsewhere.correction.provenance]\ndate = "2026-01-01"\n'))
    user_library.add(tmp_path / "cterm.toml", "cterm-ser", folder)
    assert "date" not in file.read_text()
    (tmp_path / "cterm.toml").write_text(file.read_text().replace("1.25", "1.5"))
    user_library.add(tmp_path / "cterm.toml", "cterm-ser", folder)
    assert "1.5" in file.read_text() and "1.25" in (folder / "cterm-ser.toml.1").read_text()
    # Files of the command line come before it, what comes with octitrate behind it.
    (tmp_path / "cterm.toml").write_text(file.read_text().replace("1.5", "2.5"))
    own = TitratableForceField("ff14SB", library=[tmp_path / "cterm.toml"]).calibrated
    both = TitratableForceField("ff14SB").calibrated
    assert both.file("cterm", "ff14SB", "SER", False) == file
    assert own.file("cterm", "ff14SB", "SER", False) == tmp_path / "cterm.toml"
    assert "2.5" in own.written("cterm", "ff14SB", entry(ff, "cterm"))
    assert both.status("cterm", "ff14SB", "LEU", False) == "calibrated"
    assert both.file("cterm", "ff14SB", "LEU", False).parent.name == "ff14SB-tip3p" != library  # type: ignore[union-attr]
    # With pair corrections those made with them come first, and the others serve.
    (library / "ff14SB-cufix-tip3p").mkdir()
    (library / "ff14SB-cufix-tip3p/cterm-trp.toml").write_text(calibrated(entry(ff, "cterm"), "TRP"))
    cufix = TitratableForceField("ff14SB", pair_corrections="cufix").calibrated
    found = [[one.file("cterm", "ff14SB", residue, False) for residue in ("TRP", "SER")] for one in (cufix, both)]
    assert found == [[library / "ff14SB-cufix-tip3p/cterm-trp.toml", file], [SHIPPED / "ff14SB-tip3p/cterm.toml", file]]
    # Where there is none, nothing is calibrated for it.
    monkeypatch.setenv("OCTITRATE_LIBRARY", "")
    assert user_library.folders("ff14SB", "tip3p") == []
    assert main(["plan", "--residue", "CYS"]) == 2
    assert "OCTITRATE_LIBRARY is empty" in capsys.readouterr().err
    monkeypatch.delenv("OCTITRATE_LIBRARY")
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    assert user_library.root() == Path("/somewhere/octitrate/library")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/of")
    assert user_library.root() == Path("/home/of/.local/share/octitrate/library")
