"""Entries made for a force field: the shipped ones come out again, forms have whole charges, and the program reads what is written."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from conftest import ROOT, binary, loaded  # noqa: E402
from octitrate.entries import BUILT_IN, BUILT_IN_STATUS, KINDS, buffer_entry, entries_for, entry, forms  # noqa: E402
from octitrate.force_fields import FORCE_FIELDS  # noqa: E402
from octitrate.peptide import peptide  # noqa: E402

LIBRARY = ROOT / "lambda/library"
WHOLE = [name for name, family in FORCE_FIELDS.items() if family.charge_scale == 1.0]
"""Those with scaled charges have tests of their own."""
WATERS = [(name, water) for name in WHOLE for water in FORCE_FIELDS[name].waters]


@cache
def shipped(name: str) -> dict[str, Any]:
    return tomllib.loads((LIBRARY / f"{name}.toml").read_text())


def by_shipped_names(name: str, charges: dict[str, Any]) -> dict[str, Any]:
    """The charges under the names of the shipped entry: it counts the hydrogens of a CH2 from 1."""
    aliases = {old: new for table in shipped(name).get("aliases", []) for old, new in table.items()}
    return {aliases.get(atom, atom) if atom not in shipped(name)["charges"] or aliases.get(atom, "")[:1] == "H" else atom: q for atom, q in charges.items()}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("force_field", ["amber99sb-ildn", "ff14SB", "ff19SB"])
def test_the_forms_are_those_of_the_library(force_field: str, name: str) -> None:
    """All three have the charges of Cornell et al. 1995; CA of nterm and cterm are sums of rounded numbers."""
    made = by_shipped_names(name, forms(loaded(force_field), name).charges)
    expected = shipped(name)["charges"]
    assert made.keys() == expected.keys()
    for atom, charges in expected.items():
        # The library has five decimals.
        assert made[atom] == pytest.approx(charges, abs=1.1e-5), atom


@pytest.mark.parametrize(
    ("force_field", "name", "retyped", "resized"),
    [
        ("ff14SB", "glu3", "CD OE1 OE2", "OE2"), ("ff19SB", "asp3", "CG OD1 OD2", "OD2"), ("ff14SB", "his", "ND1 NE2 CD2", ""),
        ("ff14SB", "lys", "CB CG CD CE", ""), ("ff14SB", "tyr", "", ""), ("ff14SB", "nterm", "", ""), ("ff14SB", "cterm", "", ""),
        ("charmm36m", "glu3", "CD OE1 OE2", "OE2"), ("charmm36m", "cys", "CB SG", "CB SG"), ("charmm36m", "cterm", "C O OXT", "OXT"),
        ("charmm36m", "nterm", "N H1 H2", ""), ("charmm36m", "tyr", "", ""), ("charmm36m", "his", "CB HD2 NE2 ND1 HE1", "HD2 HE1"),
    ],
)  # fmt: skip
def test_what_the_force_field_changes_besides_charges_is_said(force_field: str, name: str, retyped: str, resized: str) -> None:
    ff = loaded(force_field)
    found = forms(ff, name)
    assert (set(found.retyped), set(found.resized)) == (set(retyped.split()), set(resized.split()))
    text = entry(ff, name)
    # Bonded terms of Glu, Asp and, with AMBER, His are those of each form.
    follows = name in ("glu3", "asp3") or (name == "his" and force_field != "charmm36m")
    assert ("\nbonded = [" in text, "Bonded terms inside of chains are those of each form" in text) == (follows, follows)
    assert ("other types of" in text) == bool(retyped and not follows)
    assert ("other Lennard-Jones parameters of" in text) == bool(resized)


def test_the_built_in_force_field_has_no_terms_of_forms() -> None:
    """As the entries that are built into the program."""
    assert "bonded = [" not in entry(loaded("amber99sb-ildn"), "asp3")


@pytest.mark.parametrize("force_field", WHOLE)
def test_every_form_has_a_whole_charge(force_field: str) -> None:
    for name, kind in KINDS.items():
        found = forms(loaded(force_field), name)
        sums = [sum(charges[k] for charges in found.charges.values()) for k in range(len(kind.forms))]
        whole = [(kind.charge - lost if not kind.terminus else sums[0] - lost) for _, lost, _ in kind.forms]
        assert sums == pytest.approx(whole, abs=1e-9), name
        for atom in found.backbone:
            assert len(set(found.charges[atom])) == 1


def test_the_charges_of_charmm_are_those_of_its_residues() -> None:
    """Figures of top_all36_prot.rtf (Huang et al. 2017, doi:10.1038/nmeth.4067), which octitrate's entries must hold whole."""
    ff = loaded("charmm36m")
    glu = forms(ff, "glu3").charges
    assert glu["CD"] == [0.75, 0.75, 0.62]
    assert glu["OE1"] == [-0.55, -0.61, -0.76]
    assert glu["HE2"] == [0.44, 0.0, 0.0]
    assert glu["CG"] == [-0.21, -0.21, -0.28]
    his = forms(ff, "his").charges
    assert (his["ND1"], his["NE2"]) == ([-0.51, -0.36, -0.7], [-0.51, -0.7, -0.36])
    assert forms(ff, "lys").charges["NZ"] == [-0.3, -0.96]
    assert forms(ff, "cys").charges["SG"] == [-0.23, -0.8]
    assert forms(ff, "nterm").charges["N"] == [-0.3, -0.96]
    end = forms(ff, "cterm").charges
    assert (end["C"], end["OC2"]) == ([0.72, 0.72, 0.34], [-0.61, -0.55, -0.67])


@pytest.mark.parametrize("force_field", WHOLE)
def test_the_program_reads_the_entries(force_field: str, tmp_path: Path) -> None:
    for name in KINDS:
        file = tmp_path / f"{name}.toml"
        file.write_text(entry(loaded(force_field), name))
        answer = subprocess.run([binary(), "info", str(file)], capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
        assert f"{KINDS[name].pka:.2f}" in answer.stdout


@pytest.mark.slow_with_charmm
@pytest.mark.parametrize(("force_field", "water"), WATERS)
def test_the_program_reads_the_buffers(force_field: str, water: str, tmp_path: Path) -> None:
    file = tmp_path / "water.toml"
    text = buffer_entry(loaded(force_field, water))
    file.write_text(text)
    answer = subprocess.run([binary(), "info", str(file)], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    charges = tomllib.loads(text)["charges"]
    assert {"O", "H1", "H2"} <= charges.keys()
    # OPC, TIP4P and TIP5P have no charge on the oxygen.
    assert (charges["O"] == [0.0, 0.0]) == (water in ("opc", "tip4pew", "tip4pfb", "tip4p2005", "tip5p"))


def test_a_system_gets_the_entries_of_its_groups() -> None:
    ff = loaded("ff19SB", "opc")
    modeller = peptide(["ACE", "TYR", "GLU", "NME"])
    modeller = ff.add_hydrogens(modeller, ff.build_names(modeller.topology))
    assert set(entries_for(ff, modeller.topology)) == {"tyr.toml", "glu3.toml", "water.toml"}
    modeller = peptide(["ALA", "ALA"])
    modeller = ff.add_hydrogens(modeller, ff.build_names(modeller.topology))
    assert set(ff.entries(modeller.topology)) == {"nterm.toml", "cterm.toml", "water.toml"}
    built_in = loaded(*BUILT_IN)
    assert built_in.entries(modeller.topology) == {}


def test_what_is_said_of_the_built_in_library_is_so() -> None:
    names = {"GL3": "GLU"}
    expected = {}
    for name, kind in KINDS.items():
        expected[(name, "ALA" if kind.terminus else "")] = shipped(name)["correction"]["status"]
        for one in shipped(name).get("elsewhere", []):
            for residue in one["residues"]:
                plain = residue[1:] if residue[0] in "NZ" and len(residue) == 4 else residue
                expected[(name, names.get(plain, plain))] = one["correction"]["status"]
    assert expected == BUILT_IN_STATUS
    for name, kind in KINDS.items():
        assert shipped(name)["pka"] == kind.pka
        assert [(form["name"], form["protons_lost"], form["pk"]) for form in shipped(name)["forms"]] == [tuple(form) for form in kind.forms]


def test_groups() -> None:
    ff = loaded(*BUILT_IN)
    topology = peptide(["GLY", "GLU", "CYS", "HIS", "LEU"]).topology
    found = [(group.group, group.entry, group.pka, group.status) for group in ff.groups(topology)]
    assert found == [
        ("nterm", "nterm", 8.0, "calibrated"),
        ("side", "glu3", 4.25, "calibrated"),
        ("side", "cys", 8.55, "calibrated"),
        ("side", "his", 6.54, "calibrated"),
        ("cterm", "cterm", 3.67, "calibrated"),
    ]
    other = loaded("charmm36m").groups(peptide(["TRP", "CYS", "TRP"]).topology)
    assert [(group.group, group.corrected) for group in other] == [("nterm", False), ("side", True), ("cterm", False)]
    # The side chain of a first residue has charges that nothing was calibrated with.
    assert [(group.group, group.corrected) for group in ff.groups(peptide(["GLU", "ALA"]).topology)][:2] == [("nterm", False), ("side", False)]
