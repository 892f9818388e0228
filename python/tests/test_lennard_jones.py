"""How Lennard-Jones interactions end, in the system of OpenMM and in the job."""

from __future__ import annotations

import tomllib

import pytest

pytest.importorskip("openmm")

import openmm  # noqa: E402
from conftest import loaded  # noqa: E402
from octitrate.peptide import peptide  # noqa: E402
from octitrate.residues import TitratableForceField  # noqa: E402


@pytest.mark.parametrize(
    ("force_field", "ends"),
    [
        ("ff14SB", {}),
        ("charmm36m", {"cutoff": "1.2 nm", "modifier": "force-switch", "switch_start": "1 nm", "dispersion_correction": False}),
    ],
)
def test_jobs_and_systems_end_lennard_jones_as_their_force_field_does(force_field: str, ends: dict[str, object]) -> None:
    ff: TitratableForceField = loaded(force_field)
    assert tomllib.loads("\n".join(ff.van_der_waals())).get("van_der_waals", {}) == ends
    modeller = peptide(["ACE", "ALA", "NME"])
    modeller = ff.add_hydrogens(modeller, ff.build_names(modeller.topology))
    modeller.topology.setUnitCellDimensions(openmm.Vec3(4, 4, 4))
    system = ff.cutoffs.system(ff.forcefield, modeller.topology, residueTemplates=ff.templates(modeller.topology))
    plain = [force for force in system.getForces() if isinstance(force, openmm.NonbondedForce)]
    pairs = [force for force in system.getForces() if isinstance(force, openmm.CustomNonbondedForce)]
    # CHARMM's pairs beside the combination rule are in a force of their own.
    assert (len(plain), len(pairs)) == (1, 1 if ends else 0)
    corrected = not ends
    assert [force.getUseDispersionCorrection() for force in plain] == [corrected]
    assert all(force.getUseLongRangeCorrection() == corrected for force in pairs)
    for force in plain + pairs:
        assert force.getCutoffDistance()._value == (1.2 if ends else 1.0)
        assert force.getUseSwitchingFunction() == bool(ends)
