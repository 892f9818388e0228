"""Corrections of ends of chains that are taken from one solvent to another."""

from __future__ import annotations

import copy
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

import octitrate
from octitrate.calibrated import status, toml_table
from octitrate.errors import Refused
from octitrate.residues import AMINO_ACIDS
from octitrate.transfer import Terms, corrections, filled, main, shift, transferred

SHIPPED = Path(octitrate.__file__).parent / "corrections"
SOURCE, TARGET = SHIPPED / "ff14SB-tip3p", SHIPPED / "ff19SB-opc"
ENDS = ("nterm", "cterm")


def read(folder: Path, end: str) -> dict[str, Any]:
    return tomllib.loads((folder / f"{end}.toml").read_text())


@pytest.mark.parametrize("end", ENDS)
def test_what_comes_with_octitrate_is_what_the_module_writes(end: str) -> None:
    text = (TARGET / f"{end}.toml").read_text()
    assert filled(text, read(SOURCE, end)) == text
    known = corrections(tomllib.loads(text))
    assert len(known) == 20 and {status(one) for one in known.values()} == {"calibrated", "transferred"}


@pytest.mark.parametrize("end", ENDS)
def test_a_residue_that_was_calibrated_is_predicted_by_the_others(end: str) -> None:
    """The residues that are known in both solvents, each by the shift of the others: within twice the error that is stated, and with a root mean square of 0.1 of a unit."""
    source, target = read(SOURCE, end), read(TARGET, end)
    form, unit = len(source["forms"]) - 1, 8.314462618e-3 * 300 * math.log(10)
    deviations = []
    for name in shift(source, target).residues:
        others = copy.deepcopy(target)
        others["elsewhere"] = [one for one in others["elsewhere"] if one["residues"] != [name]]
        if name == "ALA":
            others["correction"] = {"status": "uncalibrated"}
        by = shift(source, others)
        assert name not in by.residues
        made, known = transferred(corrections(source)[name], by, "", "OPC"), corrections(target)[name]
        error = math.hypot(*(one[key][form] for one in (made, known) for key in ("free_energy_errors", "systematic_errors")))
        deviations.append(made["coefficients"][form - 1] - known["coefficients"][form - 1])
        assert abs(deviations[-1]) < 2 * error, name
    assert math.sqrt(sum(one * one for one in deviations) / len(deviations)) < 0.11 * unit


@pytest.mark.parametrize("end", ENDS)
def test_the_manual_has_these_shifts(end: str) -> None:
    """The table of `corrections.md`, "What is transferred"."""
    page = (Path(__file__).parents[2] / "docs/src/corrections.md").read_text(encoding="utf-8")
    source, target = read(SOURCE, end), read(TARGET, end)
    by, form = shift(source, target), len(source["forms"]) - 1

    def number(value: float) -> str:
        return f"{value:.2f}".replace("-", "−")

    cells = [("mean", by.free_energies[form], by.free_energy_errors[form])]
    for name in by.residues:
        here, there = corrections(source)[name], corrections(target)[name]
        error = math.hypot(*(one[key][form] for one in (here, there) for key in ("free_energy_errors", "systematic_errors")))
        called = {"GL3": "Glu", "HIP": "His"}.get(name, name.capitalize())
        cells.append((called, there["coefficients"][form - 1] - here["coefficients"][form - 1], error))
    for called, value, error in cells:
        assert f"| {called} | {number(value)} ± {number(error)} |" in page, called
    assert number(by.scatter[form]) in page.partition("| standard deviation |")[2].partition("\n")[0]
    assert number(by.chi_squared) in page.partition("| χ² for each degree of freedom |")[2].partition("\n")[0]


@pytest.mark.parametrize("name", [f"{end} {residue}" for end in ENDS for residue in AMINO_ACIDS])
def test_ends_have_the_same_parameters_in_both_force_fields(name: str) -> None:
    """Every term of the two systems of OpenMM, without water, but for the Lennard-Jones parameters of sulfur; that is why what differs is the solvent."""
    pytest.importorskip("openmm")
    pytest.importorskip("pdbfixer")
    from conftest import loaded
    from octitrate.model_compound import compound
    from octitrate.peptide import peptide

    def terms(force_field: str, water: str) -> dict[str, list[str]]:
        import openmm

        ff = loaded(force_field, water)
        modeller = peptide(compound(name).residues)
        modeller = ff.add_hydrogens(modeller, ff.build_names(modeller.topology))
        system = ff.forcefield.createSystem(modeller.topology, residueTemplates=ff.templates(modeller.topology))
        found = {}
        for force in system.getForces():
            if isinstance(force, openmm.CMAPTorsionForce):
                assert force.getNumTorsions() == 0
            elif isinstance(force, openmm.NonbondedForce):
                # Cys and Met: its radius differs by 0.9 %, that of the hydrogen of Cys by 1.9 %.
                sulfur = {atom.index for atom in modeller.topology.atoms() if atom.name in ("SG", "SD", "HG") and atom.residue.name[-3:] in ("CYS", "MET")}
                numbers = (force.getParticleParameters(i) for i in range(force.getNumParticles()))
                found["particles"] = [str(one[:1] if i in sulfur else one) for i, one in enumerate(numbers)]
                every = (force.getExceptionParameters(i) for i in range(force.getNumExceptions()))
                found["exceptions"] = sorted(str(one[:3] if sulfur & set(one[:2]) else one) for one in every)
            elif isinstance(force, openmm.PeriodicTorsionForce):
                every = (force.getTorsionParameters(i) for i in range(force.getNumTorsions()))
                found["torsions"] = sorted(str(one) for one in every if one[-1]._value != 0)
            elif isinstance(force, openmm.HarmonicAngleForce):
                found["angles"] = sorted(str(force.getAngleParameters(i)) for i in range(force.getNumAngles()))
            elif isinstance(force, openmm.HarmonicBondForce):
                found["bonds"] = sorted(str(force.getBondParameters(i)) for i in range(force.getNumBonds()))
        return found

    ours, theirs = terms("ff14SB", "tip3p"), terms("ff19SB", "opc")
    assert set(ours) == {"particles", "exceptions", "torsions", "angles", "bonds"}
    assert ours == theirs


def polynomial(free_energy: float, error: float, water: str, degree: int = 3) -> dict[str, Any]:
    """A correction of two forms."""
    return {
        "status": "calibrated",
        "degree": degree,
        "coefficients": [free_energy] + [10.0] * (degree - 1),
        "errors": [error] * degree,
        "free_energy_errors": [0.0, error],
        "systematic_errors": [0.0, 0.0],
        "error_covers": "",
        "range": [-0.1, 1.1],
        "provenance": {"conditions": {"water": water, "temperature": 300.0}},
    }


def entry(water: str, free_energies: dict[str, float], error: float = 0.4) -> dict[str, Any]:
    elsewhere = [{"residues": [name], "correction": polynomial(value, error, water)} for name, value in free_energies.items()]
    return {"name": "nterm", "force_field": water, "forms": [0, 1], "charges": {}, "elsewhere": elsewhere, "correction": {"status": "uncalibrated"}}


FREE = {"ARG": 100.0, "GLY": 150.0, "LYS": 200.0, "THR": 300.0, "VAL": 250.0}


def test_the_shift_is_the_mean_and_its_error_that_of_the_mean() -> None:
    there = {"ARG": 90.5, "GLY": 139.5, "LYS": 190.5, "THR": 289.5}
    by = shift(entry("a", FREE), entry("b", there))
    assert by.residues == ["ARG", "GLY", "LYS", "THR"]
    assert by.free_energies == pytest.approx([0.0, -10.0])
    assert by.free_energy_errors == pytest.approx([0.0, 0.4 * math.sqrt(2) / 2])
    assert by.scatter == pytest.approx([0.0, math.sqrt(1 / 3)])
    assert by.coefficients == pytest.approx([-10.0, 0.0, 0.0])
    made = transferred(polynomial(250.0, 0.3, "a", 5), by, "a, water", "b")
    assert made["degree"] == 5 and made["coefficients"] == pytest.approx([240.0, 10.0, 10.0, 10.0, 10.0])
    assert made["free_energy_errors"][1] == pytest.approx(math.hypot(0.3, 0.4 / math.sqrt(2)), abs=1e-6)
    assert made["systematic_errors"][1] == pytest.approx(math.sqrt(1 / 3), abs=1e-6)
    assert made["provenance"]["conditions"] == {"water": "b", "temperature": 300.0}


def test_terms_of_a_higher_degree_stay_in_their_place() -> None:
    """Three forms: two linear terms, those of three pairs, and those of all three."""
    terms = Terms.of([1, 2, 11, 12, 21, 22, 31, 32, 7], degree=3, forms=3)
    assert (terms.linear, terms.pairs, terms.interior) == ([1, 2], [[11, 12], [21, 22], [31, 32]], [7])
    assert terms.numbers(4, 3) == [1, 2, 11, 12, 0, 21, 22, 0, 31, 32, 0, 7, 0, 0]


def test_what_cannot_be_transferred_is_refused() -> None:
    there = {name: value - 10 for name, value in FREE.items() if name != "VAL"}
    with pytest.raises(Refused, match="only 3 residues of nterm are calibrated in both"):
        shift(entry("a", FREE), entry("b", dict(list(there.items())[:3])))
    with pytest.raises(Refused, match="depends on the residue: χ² is"):
        shift(entry("a", FREE), entry("b", {**there, "THR": 295.0}))
    other = entry("b", there)
    other["elsewhere"][0]["correction"]["provenance"]["conditions"]["temperature"] = 310.0
    with pytest.raises(Refused, match="nterm at ARG was calibrated with another temperature"):
        shift(entry("a", FREE), other)
    # Calibrated by a version that did not estimate systematic errors, or did not record conditions.
    for missing in ("systematic_errors", "conditions"):
        old = entry("b", there)
        correction = old["elsewhere"][0]["correction"]
        del (correction if missing in correction else correction["provenance"])[missing]
        with pytest.raises(Refused, match="only 3 residues of nterm are calibrated in both"):
            shift(entry("a", FREE), old)
    text = "\n".join(toml_table("correction", {"status": "uncalibrated"}))
    with pytest.raises(Refused, match="charges of nterm differs between a and b"):
        filled('name = "nterm"\nforce_field = "b"\nforms = [0, 1]\n\n' + text, entry("a", FREE))


def test_folders_without_entries_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"nterm.toml cannot be read: .*\n  help: name two folders"):
        main([str(SOURCE), str(tmp_path)])
    text = (SHIPPED / "ff19SB-opc/nterm.toml").read_text().replace('status = "transferred"', 'status = "uncalibrated"')
    (tmp_path / "nterm.toml").write_text(text)
    (tmp_path / "cterm.toml").write_text("no table")
    with pytest.raises(Refused, match="cterm.toml cannot be read"):
        main([str(SOURCE), str(tmp_path)])
    assert (tmp_path / "nterm.toml").read_text() == text


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ('title = "x"\n', "name"),
        ('name = "nterm"\nforce_field = "ff14SB"\nforms = []\n', "correction"),
        ('name = "nterm"\nforce_field = "ff14SB"\nforms = []\ncorrection = 3\n', r"table \[correction\]"),
        ('name = "nterm"\nforce_field = "ff14SB"\nforms = []\n[correction]\nstatus = "calibrated"\ndegree = 3\n', r"coefficients in \[correction\]"),
        ('name = "nterm"\nforce_field = "ff14SB"\nforms = []\n[correction]\n[[elsewhere]]\nresidues = ["GLY"]\n', r"residues or correction in \[\[elsewhere\]\]"),
    ],
)
def test_files_that_are_no_entries_are_refused(text: str, lacks: str, tmp_path: Path) -> None:
    for end in ENDS:
        (tmp_path / f"{end}.toml").write_text(text)
    for folders in ([str(tmp_path), str(TARGET)], [str(SOURCE), str(tmp_path)]):
        with pytest.raises(Refused, match=f"nterm.toml is no entry of an end of chains: it has no {lacks}"):
            main(folders)
    assert (tmp_path / "nterm.toml").read_text() == text


def test_the_command_fills_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for end in ENDS:
        text = (TARGET / f"{end}.toml").read_text()
        target = tomllib.loads(text)
        blocks = [one for one in target["elsewhere"] if status(one["correction"]) == "calibrated"]
        lines = [text[: text.index("[[elsewhere]]")].rstrip(), ""]
        for one in blocks:
            lines += ["[[elsewhere]]", f'residues = ["{one["residues"][0]}"]', "", *toml_table("elsewhere.correction", one["correction"])]
        own = target["correction"] if status(target["correction"]) == "calibrated" else {"status": "uncalibrated"}
        (tmp_path / f"{end}.toml").write_text("\n".join([*lines, *toml_table("correction", own)]))
        assert len(corrections(tomllib.loads((tmp_path / f"{end}.toml").read_text()))) < 10
    assert main([str(SOURCE), str(tmp_path)]) == 0
    assert "from ALA, ASN, GL3, LEU, THR" in capsys.readouterr().out
    for end in ENDS:
        assert (tmp_path / f"{end}.toml").read_text() == (TARGET / f"{end}.toml").read_text()
