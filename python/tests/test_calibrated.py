"""Entries that were calibrated, in files and folders, put together for a job."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import octitrate

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from conftest import loaded  # noqa: E402
from octitrate.calibrated import Calibrated, has_correction  # noqa: E402
from octitrate.entries import buffer_entry, buffer_name, entry  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.peptide import peptide  # noqa: E402
from octitrate.residues import TitratableForceField  # noqa: E402

MODEL = """[correction]
status = "calibrated"
degree = 3
coefficients = [1.25, -2.5e-7, 3.0]
flat = true

[correction.provenance]
program = "octitrate \\"x\\""

[correction.provenance.conditions]
cutoff = 1.0
"""


def calibrated(text: str, residue: str | None = None) -> str:
    """An entry with a correction, of the model compound or at one residue."""
    head = text[: text.index("[correction]")]
    if residue is None:
        return head + MODEL
    return f'{head}[[elsewhere]]\nresidues = ["{residue}"]\n{MODEL.replace("[correction", "[elsewhere.correction")}\n[correction]\nstatus = "uncalibrated"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ff = TitratableForceField("ff14SB")
    files = {
        "tyr/calibrate/tyr.toml": calibrated(entry(ff, "tyr")),
        "tyr/calibrate/round_1/tyr.toml": entry(ff, "tyr"),
        "tyr/calibrate/resolved.toml": "[system]\n",
        "cterm-leu/calibrate/cterm.toml": calibrated(entry(ff, "cterm"), "LEU"),
        "cterm-gly/calibrate/cterm.toml": calibrated(entry(ff, "cterm"), "GLY"),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_corrections_get_into_the_entries_of_a_job(folder: Path) -> None:
    ff = TitratableForceField("ff14SB", "tip3p", [folder])
    modeller = peptide(["ACE", "TYR", "ARG", "LEU"])
    modeller = ff.add_hydrogens(modeller, ff.build_names(modeller.topology))
    found = {name: tomllib.loads(text) for name, text in ff.entries(modeller.topology).items()}
    assert set(found) == {"tyr.toml", "arg.toml", "cterm.toml"}
    expected = tomllib.loads(MODEL)["correction"]
    assert found["tyr.toml"]["correction"] == expected
    places = {one["residues"][0]: one["correction"] for one in found["cterm.toml"]["elsewhere"]}
    # Those that come with octitrate serve where one's own have none: Arg, and at Ala, the model compound, and at other residues.
    arg, shipped = (tomllib.loads((Path(octitrate.__file__).parent / f"corrections/ff14SB-tip3p/{name}.toml").read_text()) for name in ("arg", "cterm"))
    assert found["arg.toml"]["correction"] == arg["correction"]
    of_others = {one["residues"][0]: one["correction"] for one in shipped["elsewhere"]}
    assert {"GLY", "LEU", "GL3"} <= of_others.keys() and expected not in of_others.values()
    assert found["cterm.toml"]["correction"] == shipped["correction"] and places == of_others | {"GLY": expected, "LEU": expected}


def test_groups_know_their_corrections(folder: Path) -> None:
    ff = TitratableForceField("ff14SB", "tip3p", [folder])
    corrected = [(group.entry, group.corrected) for group in ff.groups(peptide(["TYR", "TYR", "CYS", "LEU"]).topology)]
    # A first residue has other charges: what is known inside of chains is not known there.
    assert corrected == [("nterm", True), ("tyr", False), ("tyr", True), ("cys", True), ("cterm", True)]
    assert [group.corrected for group in ff.groups(peptide(["ACE", "ALA"]).topology)] == [True]
    # Another force field has none of them.
    other = TitratableForceField("ff19SB", "tip3p", [folder])
    assert not any(group.corrected for group in other.groups(peptide(["ACE", "TYR", "NME"]).topology))


def test_what_does_not_fit_together_is_refused(folder: Path, tmp_path: Path) -> None:
    file = folder / "tyr/calibrate/tyr.toml"
    twice = folder / "more.toml"
    twice.write_text(file.read_text().replace("1.25", "1.5"))
    with pytest.raises(Refused, match="has a correction in another file, too"):
        Calibrated([folder])
    twice.write_text((folder / "cterm-gly/calibrate/cterm.toml").read_text().replace("1.25", "1.5"))
    with pytest.raises(Refused, match="has a correction at GLY in another file, too"):
        Calibrated([folder])
    twice.write_text(file.read_text().replace("-0.0858", "-0.0859"))
    with pytest.raises(Refused, match="charges of the entry tyr differs from that of another file"):
        Calibrated([folder])
    twice.unlink()
    file.write_text(file.read_text().replace("-0.0858", "-0.0859"))
    ff = TitratableForceField("ff14SB", "tip3p", [folder])
    modeller = peptide(["ACE", "TYR", "NME"])
    modeller = ff.add_hydrogens(modeller, ff.build_names(modeller.topology))
    with pytest.raises(Refused, match="is not what the force field has now"):
        ff.entries(modeller.topology)
    with pytest.raises(Refused, match="is no entry of a library"):
        Calibrated([folder / "tyr/calibrate/resolved.toml"])
    with pytest.raises(Refused, match="there is no such file or folder"):
        Calibrated([tmp_path / "none"])


def test_corrections_that_come_with_octitrate_are_those_of_the_force_field() -> None:
    folders = sorted(path for path in (Path(octitrate.__file__).parent / "corrections").iterdir() if path.is_dir())
    assert folders
    for folder in folders:
        force_field, _, water = folder.name.rpartition("-")
        ff = loaded(force_field, water)
        for file in sorted(folder.glob("*.toml")):
            # Refused if charges, forms or torsions are others than the force field gives now.
            is_buffer = file.stem == "water"
            name, text = (buffer_name(ff), buffer_entry(ff)) if is_buffer else (force_field, entry(ff, file.stem))
            found = tomllib.loads(ff.calibrated.written(file.stem, name, text))
            assert found["correction"] == tomllib.loads(file.read_text())["correction"]
            known = [one for one in (found["correction"], *(place["correction"] for place in found.get("elsewhere", []))) if has_correction(one)]
            assert known
            for one in known:
                conditions = one["provenance"]["conditions"]
                # CHARMM's TIP3P, with Lennard-Jones on the hydrogens, has a name of its own in conditions.
                called = "charmm tip3p" if force_field.startswith("charmm36m") else water
                assert (conditions["water"].lower(), conditions["interpolation"]) == (called, "charge" if is_buffer else "hamiltonian")
                assert one["status"] in ("calibrated", "transferred", "preliminary")


def test_corrections_at_ends_are_found_by_the_residue() -> None:
    """Entries of ends name residues without a letter, `LEU` and `GL3` of ZLEU and ZGL3; those of side chains have it."""
    ff = TitratableForceField("ff14SB", "tip3p")

    def statuses(*residues: str) -> list[tuple[str, str]]:
        return [(group.entry, group.status) for group in ff.groups(peptide(list(residues)).topology)]

    assert statuses("LYS", "ALA", "LEU") == [("nterm", "calibrated"), ("lys", "uncalibrated"), ("cterm", "calibrated")]
    assert statuses("TRP", "ALA", "GLU") == [("nterm", "calibrated"), ("glu3", "calibrated"), ("cterm", "calibrated")]
    assert statuses("ACE", "ALA", "ASP") == [("asp3", "uncalibrated"), ("cterm", "calibrated")]
    assert statuses("ACE", "ALA", "ALA") == [("cterm", "calibrated")]
    assert statuses("MET", "NME") == [("nterm", "calibrated")]


def test_ones_own_correction_at_an_end_leaves_those_that_come_with_octitrate(tmp_path: Path) -> None:
    """The entry that a calibration of the side chain of a last Glu writes has no correction inside of chains."""
    shipped = Path(octitrate.__file__).parent / "corrections/ff14SB-tip3p/glu3.toml"
    of_shipped = tomllib.loads(shipped.read_text())
    text = entry(TitratableForceField("ff14SB", "tip3p"), "glu3")
    own = tmp_path / "glu3.toml"
    own.write_text(calibrated(text, "ASP"))
    found = tomllib.loads(TitratableForceField("ff14SB", "tip3p", [own]).calibrated.written("glu3", "ff14SB", text))
    assert found["correction"] == of_shipped["correction"]
    assert [one["residues"] for one in found["elsewhere"]] == [["ASP"], ["ZGL3"]]


def test_copies_of_one_file_are_one_correction(folder: Path) -> None:
    """Folders of model compounds have copies of the entry of the charge buffer."""
    for name in ("tyr/calibrate/tyr.toml", "cterm-gly/calibrate/cterm.toml"):
        (folder / f"copy_of_{Path(name).name}").write_text((folder / name).read_text())
    known = Calibrated([folder])
    assert [known.status(name, "ff14SB", residue, False) for name, residue in (("tyr", None), ("cterm", "GLY"))] == ["calibrated"] * 2


def test_ones_own_corrections_come_first(tmp_path: Path) -> None:
    ff = TitratableForceField("ff14SB")
    own = tmp_path / "lys.toml"
    own.write_text(calibrated(entry(ff, "lys")))
    text = TitratableForceField("ff14SB", "tip3p", [own]).calibrated.written("lys", "ff14SB", entry(ff, "lys"))
    assert tomllib.loads(text)["correction"] == tomllib.loads(MODEL)["correction"]
