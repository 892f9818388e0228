"""charmm36m-ecc: charges of ionised groups and ions times 0.75, all else CHARMM36m."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("openmm")

import openmm  # noqa: E402
from conftest import Write, binary, loaded, notes, peptide_text, written  # noqa: E402
from octitrate import scaled_charges  # noqa: E402
from octitrate.entries import KINDS, entry  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.finite_box import BJERRUM, alone, in_box, radius, too_high  # noqa: E402
from octitrate.prepare import solvate  # noqa: E402
from octitrate.prepare.report import Report  # noqa: E402

CHARGED = {"ASP": -1, "GLU": -1, "LYS": 1, "ARG": 1, "HIP": 1}


def test_ionised_groups_are_scaled_and_nothing_else() -> None:
    whole, scaled = loaded("charmm36m"), loaded("charmm36m-ecc")
    for residue in ("ALA", "SER", "TYR", "CYS", "HID", "HIE", "TRP", "PRO", "GLY", *CHARGED):
        one, other = whole.residues.plain(residue), scaled.residues.plain(residue)
        assert other.charge() == pytest.approx(0.75 * CHARGED.get(residue, 0), abs=1e-6), residue
        assert {name: atom.type for name, atom in one.atoms.items()} == {name: atom.type for name, atom in other.atoms.items()}
        changed = {name for name, atom in one.atoms.items() if atom.charge != other.atoms[name].charge}
        assert changed == set(scaled_charges.GROUPS.get("HSP" if residue == "HIP" else residue, "").split()), residue
        assert all(other.atoms[name].charge == pytest.approx(0.75 * one.atoms[name].charge) for name in changed)
    # Ends: charged ones are scaled, an acid with its proton is that of CHARMM36m.
    for residue, first, last, acid, expected in (("ALA", True, False, False, 0.75), ("GLY", False, True, False, -0.75), ("PRO", True, False, False, 0.75)):
        assert scaled.residues.view(residue, first, last, acid).charge() == pytest.approx(expected, abs=1e-6)
    for residue, place in (("GL3", {}), ("AS3", {}), ("ALA", {"last": True, "acid": True})):
        one, other = whole.residues.view(residue, **place), scaled.residues.view(residue, **place)
        assert {name: atom.charge for name, atom in one.atoms.items()} == pytest.approx({name: atom.charge for name, atom in other.atoms.items()}), residue
    ions = {name: scaled.forcefield._templates[name].atoms[0].parameters["charge"] for name in ("SOD", "CLA", "MG")}
    assert ions == {"SOD": 0.75, "CLA": -0.75, "MG": 1.5}


@pytest.mark.parametrize("name", KINDS)
def test_entries_have_whole_net_charges_and_their_scale(name: str) -> None:
    found, whole = (tomllib.loads(entry(loaded(force_field), name)) for force_field in ("charmm36m-ecc", "charmm36m"))
    assert found["charge_scale"] == 0.75 and "charge_scale" not in whole
    assert [form["net_charge"] for form in found["forms"]] == [form["net_charge"] for form in whole["forms"]]
    sums = [sum(of_atom[form] for of_atom in found["charges"].values()) for form in range(len(found["forms"]))]
    expected = [0.75 * (form["net_charge"] - found["forms"][0]["net_charge"]) for form in found["forms"]]
    assert [one - sums[0] for one in sums] == pytest.approx(expected, abs=1e-6)
    if "terminus" not in found:
        assert sums[0] == pytest.approx(0.75 * found["forms"][0]["net_charge"], abs=1e-6)
    # Neutral forms are those of CHARMM36m but for what balances them.
    for form, of in enumerate(found["forms"]):
        if of["net_charge"] == 0 and name not in ("nterm", "cterm"):
            atoms = [atom for atom in found["charges"] if atom not in (*whole["backbone"], whole["balanced_at"])]
            assert [found["charges"][atom][form] for atom in atoms] == pytest.approx([whole["charges"][atom][form] for atom in atoms], abs=1e-6)


def test_the_program_reads_the_entries(tmp_path: Path) -> None:
    for name in KINDS:
        file = tmp_path / f"{name}.toml"
        file.write_text(entry(loaded("charmm36m-ecc"), name))
        answer = subprocess.run([binary(), "info", str(file)], capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr


def test_a_box_has_scaled_ions_as_many_as_with_whole_charges(structure: Write, report: Report, bare: None) -> None:
    options = structure(peptide_text("GLY", "GLU", "LYS", "LYS", "ALA", "GLY"))
    options.force_field, options.ends, options.sites, options.ph_range = "charmm36m-ecc", "capped", ["GLU"], (1.0, 8.0)
    folder, job, atoms = written(options, report)
    names = [residue for _, residue, _ in atoms]
    # The peptide has +2 to +1 elementary charges of chemistry; the half goes up.
    assert (names.count("NA"), names.count("CL")) == (0, 2)
    system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
    assert solvate.charge(system) == pytest.approx(0.75 * (2 - 2), abs=1e-6)
    assert "charges of ionised groups and ions are 0.75 of whole ones" in notes(report)
    taken = re.search(r"least to take up: (\S+) to (\S+) e", notes(report)).groups()  # type: ignore[union-attr]
    assert [float(number) for number in taken] == [0.0, 0.7]
    made = tomllib.loads((folder / "library" / "glu3.toml").read_text())
    assert (made["force_field"], made["charge_scale"], made["correction"]["status"]) == ("charmm36m-ecc", 0.75, "calibrated")
    assert [one["residue"] for one in job["titration"]["site"]] == ["GL3 2"]


def test_its_charge_buffer_is_that_of_the_water_and_its_sites_have_no_correction_of_whole_charges() -> None:
    ff = loaded("charmm36m-ecc")
    assert ff.buffer_status() == "calibrated" and ff.buffer_file() == loaded("charmm36m").buffer_file()
    status = {name: ff.calibrated.status(name, "charmm36m-ecc", None, False) for name in KINDS}
    assert {name: one for name, one in status.items() if name not in ("nterm", "cterm")} == {
        "glu3": "calibrated", "asp3": "calibrated", "his": "calibrated", "lys": "calibrated", "arg": "calibrated", "tyr": "calibrated", "cys": "calibrated"
    }  # fmt: skip
    def ends(name: str) -> list[str]:
        return [residue for one in ff.calibrated._entries[name, "charmm36m-ecc"]["elsewhere"] for residue in one["residues"]]

    # That of Ala is the entry's own.
    residues = set("ALA ARG AS3 ASN CYS GL3 GLN GLY HIP ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split())  # noqa: SIM905
    assert set(ends("nterm")) == set(ends("cterm")) == residues - {"ALA"}
    sides = {"glu3": "GL3", "asp3": "AS3", "his": "HIP", "lys": "LYS", "arg": "ARG", "tyr": "TYR", "cys": "CYS"}
    assert {name: ends(name) for name in sides} == {name: [f"N{residue}", f"Z{residue}"] for name, residue in sides.items()}
    assert [ff.calibrated.status(end, "charmm36m-ecc", "ALA", True) for end in ("nterm", "cterm")] == ["calibrated", "calibrated"]
    assert {end: [one for one in ends(end) if ff.calibrated.status(end, "charmm36m-ecc", one, False) != "calibrated"] for end in ("nterm", "cterm")} == {
        "nterm": [], "cterm": []
    }  # fmt: skip


def test_a_version_of_the_force_field_with_other_groups_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(scaled_charges.GROUPS, "LYS", "CE NZ")
    with pytest.raises(Refused, match="gives the ionised group of LYS a charge of -0.090 e, where it is a whole one"):
        scaled_charges.scale(loaded("charmm36m").forcefield, 1.0)  # what is loaded is for all tests and stays as it is


def test_what_the_size_of_the_box_does_is_that_of_weaker_charges() -> None:
    # Unit charges of scaled size are unit charges in a medium in which they act over a shorter distance.
    size, bjerrum = radius(14_000.0), 0.75**2 * BJERRUM
    found = too_high(12.0, 14_000.0, 8_500, 0.15, 0.75)
    assert found == pytest.approx(alone(12.0, size, 0.15, bjerrum) - in_box(12.0, size, 8_500, 0.15, bjerrum))
    assert 0.3 * too_high(12.0, 14_000.0, 8_500, 0.15) < found < 0.9 * too_high(12.0, 14_000.0, 8_500, 0.15)
