"""Forms by the program, with charges, bonded terms and Lennard-Jones parameters of each, against OpenMM's residues over rotamers (`benchmarks/scripts/forms_of_residues.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import binary, loaded, script

pytest.importorskip("openmm")

from octitrate.entries import Follow  # noqa: E402

# Every well of every torsion, with others beside it each time: the program starts once for each of them and each form.
ROTAMERS = {
    "his": [(60.0, 90.0), (60.0, 240.0), (180.0, 150.0), (180.0, 270.0), (300.0, 90.0), (300.0, 150.0)],
    "asp3": [(60.0, 0.0), (60.0, 90.0), (180.0, 40.0), (180.0, 180.0), (300.0, 0.0), (300.0, 90.0)],
    "glu3": [(60.0, 60.0, 30.0), (60.0, 180.0, 180.0), (180.0, 60.0, 180.0), (180.0, 180.0, 30.0), (180.0, 300.0, 180.0), (300.0, 180.0, 180.0), (300.0, 300.0, 30.0)],
}


@pytest.mark.parametrize("name", ROTAMERS)
@pytest.mark.parametrize("force_field", ["ff14SB", "ff19SB", "charmm36m"])
def test_forms_are_the_residues_of_the_force_field(force_field: str, name: str, tmp_path: Path) -> None:
    forms = script("benchmarks/scripts/forms_of_residues.py")
    found = forms.compare(loaded(force_field), name, Follow.BONDED | Follow.LENNARD_JONES, ROTAMERS[name], binary(), tmp_path)
    for form, energies in found.items():
        differences = [ours - theirs for ours, theirs in energies]
        # A hydrogen without charge keeps its Lennard-Jones interactions, if it has any: they differ between these rotamers by up to 0.6 kJ/mol.
        assert max(differences) - min(differences) < (0.7 if forms.RESIDUES[name].forms[form][1] else 1e-3), (form, differences)
