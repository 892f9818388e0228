"""A whole protein, prepared by each force field: energies by term and forces of octitrate beside the Reference platform of OpenMM.

`benchmarks/scripts/prepared_energies.py` compares, and says how; its table is in `benchmarks/README.md`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, binary, script

pytest.importorskip("openmm")


@pytest.mark.slow
@pytest.mark.parametrize("force_field", ["ff14SB", "ff14SB+cufix", "ff19SB", "charmm36m"])
def test_hirustasin_has_the_energies_and_forces_of_openmm(force_field: str, tmp_path: Path) -> None:
    energies = script("benchmarks/scripts/prepared_energies.py")
    folder = energies.prepare(ROOT / "inputs/make/hirustasin.pdb", force_field, tmp_path / "prepared")
    found = energies.compare(binary(), folder)
    assert found.atoms > 5000
    assert ('name="CUFIX"' in (folder / "system.xml").read_text()) == force_field.endswith("+cufix")
    for term in energies.TERMS:
        # Coulomb: the Ewald sum of OpenMM has an error of 1e-9 of its forces, the expansions one of 1e-8. All else is the same sum in another order.
        assert found.apart(term) < (1e-6 if term == "Coulomb" else 1e-9), (term, found.energies[term])
        assert (found.energies[term][1] != 0.0) == (term != "CMAP" or not force_field.startswith("ff14SB")), term
    assert found.force < 1e-5
