"""Model compounds: what is built for a name, and jobs that the program accepts."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import octitrate

openmm = pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from conftest import binary  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.model_compound import Asked, build, compound  # noqa: E402
from octitrate.prepare.command import main  # noqa: E402


@pytest.mark.parametrize(
    ("name", "residues", "entry", "folder"),
    [
        ("TYR", ("ACE", "TYR", "NME"), "tyr", "tyr"),
        ("glh", ("ACE", "GLU", "NME"), "glu3", "glu"),
        ("nterm LYS", ("LYS", "NME"), "nterm", "nterm-lys"),
        ("nterm PRO", ("PRO", "NME"), "nterm", "nterm-pro"),
        ("cterm LEU", ("ACE", "LEU"), "cterm", "cterm-leu"),
        ("nterm side ASP", ("ASP", "NME"), "asp3", "nterm-side-asp"),
        ("nterm side LYS", ("LYS", "NME"), "lys", "nterm-side-lys"),
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
    ],
)
def test_what_is_no_model_compound_is_refused(name: str, message: str) -> None:
    with pytest.raises(Refused, match=message):
        compound(name)


def test_the_help_names_model_compounds_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    words = " ".join(capsys.readouterr().out.split("--model-compound LIST")[2].split()).split(": folders that")[0]
    names = [name.strip("' ") for name in words.split(",") if "…" not in name and name.strip()]
    assert len(names) >= 5
    for name in names:
        compound(name)


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("TYR", "Tyr 2"), ("nterm LYS", "N-term Lys 1"), ("nterm PRO", "N-term Pro 1"), ("nterm side HIS", "His 1"), ("cterm side GLU", "Glu 2"), ("water", ""),
        # CB takes what is left where AMBER has no acid at an end, up to 0.155 e.
        ("nterm side ASP", "Asp 1"), ("nterm side GLU", "Glu 1"), ("cterm side ASP", "Asp 2"),
    ],
)  # fmt: skip
def test_the_program_takes_the_jobs(name: str, site: str, tmp_path: Path, bare: None) -> None:
    place = build(name, "ff14SB", "tip3p", tmp_path / "model")
    job = tomllib.loads((place / "calibrate.toml").read_text())
    assert job["titration"].get("library", []) == ([f"library/{compound(name).entry}.toml"] if site else [])
    assert job["titration"].get("ease_rotamers") == ("8 kJ/mol" if site else None)
    for file in ("equilibrate.toml", "calibrate.toml"):
        answer = subprocess.run([binary(), "check", file], cwd=place, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert tomllib.loads((place / file).read_text())["thermostat"] == {"kind": "langevin", "friction": "1 /ps", "temperature": "300 K"}
        # The equilibrated structure has the same atoms.
        (place / "equilibrate").mkdir(exist_ok=True)
        shutil.copy(place / "system.gro", place / "equilibrate/final.gro")
    assert "the job can be run" in answer.stdout
    assert f"titratable sites     {site + ', ' if site else ''}buffer" in answer.stdout


def test_a_folder_is_whole_or_absent(tmp_path: Path, bare: None) -> None:
    place = build("CYS", "ff19SB", "tip4pew", tmp_path / "model")
    assert {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()} == {
        *("system.gro", "system.xml", "equilibrate.toml", "calibrate.toml", "titrate.toml", "library/cys.toml", "prepare.toml")
    }
    assert Asked.read(place) == Asked("CYS", "ff19SB", "tip4pew", 300.0)
    assert tomllib.loads((place / "calibrate.toml").read_text())["titration"]["library"] == ["library/cys.toml", "../water/calibrate/water.toml"]
    assert tomllib.loads((place / "titrate.toml").read_text())["titration"]["library"] == ["calibrate/cys.toml", "../water/calibrate/water.toml"]
    with pytest.raises(Refused, match="a model compound was built here already"):
        build("CYS", "ff19SB", "tip4pew", place)
    with pytest.raises(Refused, match="no water model"):
        build("CYS", "ff19SB", "swm4ndp", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_buffer_that_comes_with_octitrate_serves(tmp_path: Path, bare: None) -> None:
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


def shorten(place: Path) -> None:
    """Makes the jobs of a model compound as short as they can be: each takes a second. What is calibrated so is preliminary, and its titration must allow that."""
    windows = {"duration": "0.08 ps", "equilibration": "0.02 ps", "starts": 1, "conformers": 1, "conformer_time": "0.04 ps"}
    output = {"lambda": "0.008 ps", "energy": "0.04 ps"}
    for file, changes in (
        ("equilibrate.toml", {"duration": "0.04 ps"}),
        ("calibrate.toml", {**windows, "round": "0.08 ps", "runs": 2, "max_rounds": 1, **output}),
    ):
        text = (place / file).read_text()
        for key, value in changes.items():
            text, count = re.subn(rf"^{key} = .*$", f"{key} = {value!r}", text, flags=re.MULTILINE)
            # The buffer has no conformations.
            assert count == 1 or key.startswith("conformer"), key
        (place / file).write_text(text.replace("[calibrate]", "[calibrate]\nwindows = [0.0, 0.5, 1.0]"))
    titrate = place / "titrate.toml"
    if titrate.exists():
        changes = {"duration": '"0.08 ps"', "equilibration": '"0.02 ps"', "lambda": '"0.008 ps"', "replicas": "1", "structures": '["calibrate/conformer_1/final.gro"]'}
        text = titrate.read_text()
        for key, value in changes.items():
            text, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
            assert count == 1, key
        titrate.write_text(text.replace("[titration]", '[titration]\nallow_uncalibrated = true\nrelax = "0 ps"'))


def test_the_commands_that_are_printed_calibrate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "of tyr"
    assert main(["prepare", "--model-compound", "TYR", "--force-field", "ff14SB", "-o", str(place)]) == 0
    head, *lines = capsys.readouterr().err.splitlines()
    assert head == f"{place} is ready:"
    shorten(place)
    commands = [shlex.split(line) for line in lines]
    assert [words[:2] for words in commands] == [["octitrate", "run"], ["octitrate", "calibrate"], ["octitrate", "titrate"]]
    for words in commands:
        answer = subprocess.run([binary(), *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
    assert tomllib.loads((place / "calibrate/tyr.toml").read_text())["correction"]["status"] == "preliminary"
    assert {run.parent.name for run in place.glob("titrate/pH_*/replica_1")} == {f"pH_{ph}" for ph in ("8.84", "9.34", "9.84", "10.34", "10.84")}
    assert main(["prepare", "--model-compound", "TYR", "--force-field", "ff14SB", "-o", str(place)]) == 2
    assert "a model compound was built here already" in capsys.readouterr().err


def test_a_water_without_a_buffer_is_calibrated_first(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, bare: None) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["prepare", "--force-field", "ff14SB", "--water", "spce", "--temperature", "310"]
    steps = ["  octitrate run {0}/equilibrate.toml", "  octitrate calibrate {0}/calibrate.toml", "  octitrate titrate {0}/titrate.toml"]
    of_water, of_tyr, of_cys = ([line.format(f"ff14SB-spce/{name}") for line in steps[: 2 if name == "water" else 3]] for name in ("water", "tyr", "cys"))
    assert main([*asked, "--model-compound", "TYR"]) == 0
    first = "  octitrate prepare --model-compound water --force-field ff14SB --water spce --temperature 310 -o ff14SB-spce/water"
    assert capsys.readouterr().err.splitlines() == ["ff14SB-spce/tyr is ready:", first, *of_water, *of_tyr]
    # Built together the buffer comes first, and its commands once.
    shutil.rmtree("ff14SB-spce/tyr")
    assert main([*asked, "--model-compound", "TYR,CYS,water"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said == ["ff14SB-spce/water is ready:", *of_water, "ff14SB-spce/tyr is ready:", *of_tyr, "ff14SB-spce/cys is ready:", *of_cys]
    # With a correction that is there nothing comes before.
    Path("ff14SB-spce/water/calibrate").mkdir()
    Path("ff14SB-spce/water/calibrate/water.toml").touch()
    shutil.rmtree("ff14SB-spce/cys")
    assert main([*asked, "--model-compound", "CYS"]) == 0
    assert capsys.readouterr().err.splitlines() == ["ff14SB-spce/cys is ready:", *of_cys]


def test_alchemlyb_integrates_the_windows_of_a_calibration(tmp_path: Path) -> None:
    estimator = pytest.importorskip("alchemlyb.estimators").TI
    from octitrate.results import Calibration

    place = build("TYR", "ff14SB", "tip3p", tmp_path / "tyr")
    shorten(place)
    for command, job in (("run", "equilibrate.toml"), ("calibrate", "calibrate.toml")):
        answer = subprocess.run([binary(), command, job], cwd=place, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
    found = Calibration(place / "calibrate").dhdl()
    assert found.attrs == {"temperature": 300.0, "energy_unit": "kT"}
    # Of a straight line the trapezoids of TI are exact: 10 - 30 λ of the site, 4 of the buffer, whose λ makes up for the charge of the site by a third for each molecule.
    found["TYR 2"] = 10.0 - 30.0 * found.index.get_level_values("TYR 2-lambda")
    found["buffer"] = 4.0
    buffer = found.index.get_level_values("buffer-lambda")
    assert [buffer.max(), buffer.min()] == pytest.approx([1 / 2, 1 / 6], abs=1e-6)
    # λ of the buffer has six decimals.
    assert estimator().fit(found).delta_f_.iloc[0, -1] == pytest.approx(10.0 - 15.0 - 4.0 / 3.0, abs=1e-5)
