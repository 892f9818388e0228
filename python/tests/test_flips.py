"""Side chains of Asn, Gln and His that stand the other way round in an entry."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from openmm import app, unit

from octitrate.prepare import flips
from octitrate.prepare.build import Model
from octitrate.prepare.report import Report

VALIDATION = Path(__file__).parents[2] / "validation"


def entry(name: str) -> Model:
    with gzip.open(VALIDATION / f"{name}.pdb.gz", "rt") as file:
        pdb = app.PDBFile(io.StringIO(file.read()))
    return Model(pdb.topology, np.array(pdb.positions.value_in_unit(unit.nanometer)))


def said(model: Model) -> tuple[Model, list[str]]:
    report = Report(screen=None)
    turned = flips.flip(model, report)
    return turned, [line.split(" is turned")[0].removeprefix("the side chain of ") for line in report.markdown("", "").replace("- ", "").splitlines() if "is turned" in line]


@pytest.mark.parametrize(("name", "expected"), [("1pgb", []), ("2lzt", []), ("4pti", ["GLN 31 of chain A"]), ("1stn", ["GLN 131 of chain A"])])
def test_proteins(name: str, expected: list[str]) -> None:
    """Those of 4PTI and 1STN PDB2PQR turns as well."""
    model = entry(name)
    turned, words = said(model)
    assert words == expected
    # Once is enough, and atoms change places and do not move.
    assert said(turned)[1] == []
    assert sorted(map(tuple, turned.positions)) == sorted(map(tuple, model.positions))


@pytest.mark.parametrize(("residue", "held"), [("ASN", False), ("HIS", False), ("HIS", True)])
def test_what_was_turned_is_turned_back(residue: str, held: bool) -> None:
    """A side chain with one partner, built the wrong way round: N of a backbone at the N of an amide, or at a C of a ring; a metal holds it."""
    topology = app.Topology()
    chain = topology.addChain("A")
    side = topology.addResidue(residue, chain)
    atoms = {"ASN": {"CB": (0, 0), "CG": (0.15, 0), "OD1": (0.21, 0.11), "ND2": (0.22, -0.11)}}.get(
        residue, {"CB": (0, 0), "CG": (0.15, 0), "ND1": (0.23, 0.11), "CD2": (0.23, -0.11), "CE1": (0.36, 0.07), "NE2": (0.36, -0.07)}
    )
    places = []
    for name, (x, y) in atoms.items():
        topology.addAtom(name, app.Element.getBySymbol(name[0]), side)
        places.append((x, y, 0.0))
    partner = topology.addResidue("ALA", topology.addChain("B"))
    topology.addAtom("N", app.element.nitrogen, partner)
    place = np.array(atoms["ND2" if residue == "ASN" else "CD2"])
    places.append((*(place + [0.0, -0.28]), 0.0))
    if held:
        zinc = topology.addResidue("ZN", topology.addChain("C"))
        topology.addAtom("ZN", app.element.zinc, zinc)
        places.append((*(np.array(atoms["ND1"]) + [0.0, 0.21]), 0.0))
    model = Model(topology, np.array(places))
    turned, words = said(model)
    assert words == ([] if held else [f"{residue} 1 of chain A"])
    one, other = ("OD1", "ND2") if residue == "ASN" else ("ND1", "CD2")
    index = {atom.name: atom.index for atom in side.atoms()}
    expected = model.positions[index[one if held else other]]
    assert np.array_equal(turned.positions[index[one]], expected)
    assert np.array_equal(model.positions, np.array(places))
    # What was built is neither turned nor a reason to turn others.
    for built in (index[other], len(atoms)):
        assert said(Model(topology, np.array(places), frozenset([built])))[1] == []
