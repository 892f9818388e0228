"""Forms of His by the program, with charges, bonded terms and Lennard-Jones parameters of each, against OpenMM's residues over rotamers (`benchmarks/scripts/forms_of_his.py`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, binary, loaded

pytest.importorskip("openmm")

from octitrate.entries import FOLLOWS, Follow  # noqa: E402

ROTAMERS = [(chi1, chi2) for chi1 in (60.0, 180.0, 300.0) for chi2 in (90.0, 150.0, 240.0, 270.0)]


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("forms_of_his", ROOT / "benchmarks/scripts/forms_of_his.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("force_field", ["ff14SB", "ff19SB", "charmm36m"])
def test_forms_of_his_are_the_residues_of_the_force_field(force_field: str, script: Any, tmp_path: Path) -> None:
    # With CHARMM36m a correction for both is not calibrated yet.
    follows = FOLLOWS.get((force_field, "his"), Follow.BONDED | Follow.LENNARD_JONES)
    for form, energies in script.compare(loaded(force_field), follows, ROTAMERS, binary(), tmp_path).items():
        differences = [ours - theirs for ours, theirs in energies]
        # A hydrogen that has left keeps its Lennard-Jones interactions, which differ between these rotamers by up to 0.24 kJ/mol.
        assert max(differences) - min(differences) < (0.3 if script.GONE[form] else 1e-3), (form, differences)
