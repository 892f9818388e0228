"""A force field whose file was read without what proteins are not made of, beside the whole one."""

from __future__ import annotations

from typing import Any

import numpy as np
import openmm
import pytest
from openmm import app, unit

from octitrate import force_fields
from octitrate.peptide import peptide
from octitrate.repeatable import is_pair_table, platform
from octitrate.residues import TitratableForceField

CHAINS = (
    tuple("ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split()),  # noqa: SIM905
    ("PRO", "ASP", "GLY", "LYS", "CYS", "GLU"),
    ("GLY", "HIS", "CYS", "ALA"),
    ("ACE", "HIS", "GLU", "TYR", "NME"),
)


def without_numbers_of_types(system: Any) -> tuple[str, np.ndarray]:
    """A system with the coefficients of every pair of atoms beside it and not in it: how many types OpenMM makes of equal ones depends on what else it has read."""
    (force,) = filter(is_pair_table, system.getForces())
    types = [int(force.getParticleParameters(atom)[0]) for atom in range(force.getNumParticles())]
    tables = []
    for k in range(force.getNumTabulatedFunctions()):
        size, _, values = force.getTabulatedFunction(k).getFunctionParameters()
        tables.append(np.array(values).reshape(size, size)[np.ix_(types, types)])
        force.getTabulatedFunction(k).setFunctionParameters(1, 1, [0.0])
    for atom in range(force.getNumParticles()):
        force.setParticleParameters(atom, [0.0])
    return openmm.XmlSerializer.serialize(system), np.array(tables)


def systems(ff: TitratableForceField) -> list[tuple[str, np.ndarray]]:
    """Chains with every amino acid, caps, a bridge and ions in water: with every proton, and as they are at pH 7."""
    found = []
    for keep in (set(), {(number, group) for number in range(50) for group in ("side", "nterm", "cterm")}):
        whole = app.Modeller(app.Topology(), [] * unit.nanometer)
        for number, chain in enumerate(CHAINS):
            one = peptide(chain)
            whole.add(one.topology, [place + openmm.Vec3(0, 3 * number, 0) * unit.nanometer for place in one.positions])
        sulphurs = [atom for atom in whole.topology.atoms() if atom.name == "SG"]
        whole.topology.addBond(*sulphurs[-2:])
        ions = app.Topology()
        for name in ("NA", "CL", "CA", "ZN", "HOH"):
            residue = ions.addResidue(name, ions.addChain())
            ions.addAtom("O" if name == "HOH" else name, app.element.oxygen if name == "HOH" else app.element.get_by_symbol(name.capitalize()), residue)
        whole.add(ions, [openmm.Vec3(3 * number, -3, 0) for number in range(5)] * unit.nanometer)
        platform(1)
        ff.add_hydrogens(whole, ff.build_names(whole.topology, keep))
        system = ff.forcefield.createSystem(whole.topology, residueTemplates=ff.templates(whole.topology), constraints=app.HBonds)
        found.append(without_numbers_of_types(system))
    return found


def test_a_system_is_that_of_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = systems(TitratableForceField("charmm36m"))
    monkeypatch.setattr(force_fields, "of_proteins", lambda file, _: file)
    theirs = TitratableForceField("charmm36m")
    assert theirs.residues.has("POPC") and not TitratableForceField("ff14SB").residues.has("POPC")
    for (one, pairs), (other, others) in zip(ours, systems(theirs), strict=True):
        assert one == other and (pairs == others).all() and pairs.any()
