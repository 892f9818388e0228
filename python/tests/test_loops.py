"""Loops that were not seen: trans peptide bonds and L amino acids, in a gap that is stretched and in one that is narrow."""

from __future__ import annotations

import gzip
import math
import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openmm")

import openmm  # noqa: E402
from conftest import ROOT, Write, loaded, notes, peptide_text, without  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.peptide import peptide  # noqa: E402
from octitrate.prepare import loops, solvate  # noqa: E402
from octitrate.prepare.pipeline import prepare  # noqa: E402
from octitrate.prepare.report import Report  # noqa: E402

CHAIN = ("ALA", "GLU", "GLY", "LYS", "ASP", "HIS", "SER", "GLY")


def torsion(a: Any, b: Any, c: Any, d: Any) -> float:
    one, two = np.cross(b - a, c - b), np.cross(c - b, d - c)
    return math.degrees(math.atan2(float(np.dot(np.cross(one, two), (c - b) / np.linalg.norm(c - b))), float(np.dot(one, two))))


def backbone(text: str) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for line in text.splitlines():
        if line.startswith("ATOM") and line[12:16].strip() in ("N", "CA", "C", "CB"):
            found.setdefault(int(line[22:26]), {})[line[12:16].strip()] = np.array([float(line[30 + 8 * k : 38 + 8 * k]) for k in range(3)])
    return found


def gap(numbers: range) -> str:
    """The peptide without some residues, as an entry that lists them among those that were not seen."""
    text = peptide_text(*CHAIN)
    for number in numbers:
        text = without(text, number)
    return "REMARK 465   M RES C SSSEQI\n" + "".join(f"REMARK 465     {CHAIN[number - 1]} A {number:5d}\n" for number in numbers) + text


@pytest.mark.parametrize("numbers", [range(4, 5), range(3, 6)])
def test_peptide_bonds_are_trans_and_amino_acids_l(numbers: range, structure: Write, report: Report, bare: None) -> None:
    options = structure(gap(numbers))
    options.gaps = "build"
    atoms = backbone((prepare(options, report) / "protein.pdb").read_text())
    assert sorted(atoms)[:8] == list(range(1, 9))
    for number in range(1, 8):
        a, b = atoms[number], atoms[number + 1]
        assert abs(torsion(a["CA"], a["C"], b["N"], b["CA"])) > 140.0, number
        # A bond of 0.133 nm, and nothing torn: in Å.
        assert 1.2 < np.linalg.norm(a["C"] - b["N"]) < 1.5, number
    left = [torsion(one["N"], one["C"], one["CB"], one["CA"]) for one in atoms.values() if "CB" in one]
    # The first two residues were seen; D amino acids have the other sign.
    assert len(left) >= 5 and all(-40.0 < value < -10.0 for value in left), left
    names = ", ".join(f"{CHAIN[number - 1]} {number} of chain A" for number in numbers)
    assert re.search(f"the loop of {names} was settled in the vacuum: its peptide bonds are trans", notes(report)), notes(report)


def settled(numbers: Any, structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Protein G with these residues built and settled."""
    found: list[Any] = []

    def looked_at(model: Any, *_: Any) -> Any:
        found.append(model)
        raise Refused("as far as that")

    monkeypatch.setattr(solvate, "solvate", looked_at)
    text = gzip.decompress((ROOT / "validation/1pgb.pdb.gz").read_bytes()).decode()
    options = structure("".join(line for line in text.splitlines(True) if not (line.startswith("ATOM") and int(line[22:26]) in numbers)))
    options.gaps, options.crystal_water = "build", "drop"
    with pytest.raises(Refused, match="as far as that"):
        prepare(options, report)
    return found[0]


def nearest(model: Any, numbers: Any) -> float:
    """The distance (nm) of the residues to those that are not their neighbours."""
    parts = [[a.index for a in model.topology.atoms() if a.element.symbol != "H" and test(int(a.residue.id))] for test in (lambda n: n in numbers, lambda n: all(abs(n - k) > 1 for k in numbers))]
    return float(np.linalg.norm(model.positions[parts[0]][:, None] - model.positions[parts[1]], axis=2).min())


def test_a_loop_inside_of_a_protein_is_parted_from_what_is_there(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without residue 17: with steps of 1 fs atoms got places that are no numbers, because the side chain begins in the neighbouring strand."""
    assert nearest(settled([17], structure, report, monkeypatch), [17]) > 0.24


def test_the_ends_of_a_narrow_gap_do_not_become_cis(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two residues in the helix: with a third of what now makes a peptide bond trans cis was a minimum of its own, and both ends stayed in it."""
    model = settled([31, 32], structure, report, monkeypatch)
    at = {(int(atom.residue.id), atom.name): model.positions[atom.index] for atom in model.topology.atoms()}
    for k in range(28, 35):
        assert abs(torsion(at[k, "CA"], at[k, "C"], at[k + 1, "N"], at[k + 1, "CA"])) > 140.0, k
    # At once: a second try would hide it.
    assert not any("at try" in note for section in report.sections for note in section.notes)
    assert nearest(model, [31, 32]) > 0.24


def test_a_loop_that_comes_out_wrong_begins_anew_and_others_stay(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[tuple[Any, Any]] = []
    right = loops._wrong

    def wrong(bonds: Any, centres: Any, left: float, places: Any) -> Any:
        residues = {residue.id: residue for residue in next(iter(centres)).chain.residues()}
        tries.append(tuple(places[[atom.index for atom in residues[number].atoms()]] for number in ("10", "37")))
        return [(residues["10"].index, "are not as they were wanted")] if len(tries) == 1 else right(bonds, centres, left, places)

    monkeypatch.setattr(loops, "_wrong", wrong)
    model = settled([10, 37], structure, report, monkeypatch)
    assert len(tries) == 2
    (lys, asn), (other_lys, other_asn) = tries
    assert np.array_equal(asn, other_asn) and np.abs(lys - other_lys).max() > 0.05
    assert "LYS 10 of chain A, ASN 37 of chain A was settled in the vacuum at try 2" in notes(report)
    assert nearest(model, [10]) > 0.24


def test_a_bond_that_goes_through_a_ring_is_found() -> None:
    modeller = peptide(("PHE", *CHAIN[:6], "ALA"))
    residues = list(modeller.topology.residues())
    places = np.array(modeller.positions.value_in_unit(openmm.unit.nanometer))
    ring = places[[atom.index for atom in residues[0].atoms() if atom.name in ("CG", "CD1", "CD2", "CE1", "CE2", "CZ")]]
    ca, cb = (next(atom.index for atom in residues[7].atoms() if atom.name == name) for name in ("CA", "CB"))
    assert loops._crossed(residues, [7], places) == []
    normal = np.cross(ring[1] - ring[0], ring[2] - ring[0])
    for end, side in ((ca, -0.0765), (cb, 0.0765)):
        places[end] = ring.mean(axis=0) + side * normal / np.linalg.norm(normal)
    for built in ([7], [0]):
        assert any(k == built[0] and what == "have a bond that goes through a ring (that of PHE 1 of chain A)" for k, what in loops._crossed(residues, built, places)), built
    assert ("lie on other atoms (ALA 8 of chain A on PHE 1 of chain A)") in [what for _, what in loops._crossed(residues, [7], places)]


def test_a_peptide_bond_beside_the_loop_that_was_seen_cis_stays_so(structure: Write, report: Report, bare: None) -> None:
    """As before many a proline: everything behind the bond of residues 1 and 2 is turned about it by half a turn."""
    lines = gap(range(4, 5)).splitlines(keepends=True)
    place = {(int(line[22:26]), line[12:16].strip()): np.array([float(line[30 + 8 * k : 38 + 8 * k]) for k in range(3)]) for line in lines if line.startswith("ATOM")}
    origin = place[1, "C"]
    axis = (place[2, "N"] - origin) / np.linalg.norm(place[2, "N"] - origin)

    def turned(line: str) -> str:
        if not line.startswith("ATOM") or int(line[22:26]) == 1:
            return line
        arm = place[int(line[22:26]), line[12:16].strip()] - origin
        new = origin + 2 * np.dot(arm, axis) * axis - arm
        return line[:30] + "".join(f"{x:8.3f}" for x in new) + line[54:]

    options = structure("".join(map(turned, lines)))
    options.gaps = "build"
    atoms = backbone((prepare(options, report) / "protein.pdb").read_text())
    assert abs(torsion(atoms[1]["CA"], atoms[1]["C"], atoms[2]["N"], atoms[2]["CA"])) < 40.0
    assert all(abs(torsion(atoms[k]["CA"], atoms[k]["C"], atoms[k + 1]["N"], atoms[k + 1]["CA"])) > 140.0 for k in range(2, 8))


def test_a_loop_that_stays_cis_is_refused(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch, bare: None) -> None:
    monkeypatch.setattr(loops, "WRONG", -1.0)  # nothing is as trans as that
    monkeypatch.setattr(loops, "TRIES", 2)
    options = structure(gap(range(4, 5)))
    options.gaps = "build"
    with pytest.raises(Refused, match=r"the loops that were built have a peptide bond that is not trans \(.*LYS 4.*, after 2 tries"):
        prepare(options, report)


def test_loops_of_two_chains_are_both_held_where_their_residues_have_the_same_names_and_numbers() -> None:
    modeller = peptide(CHAIN)
    modeller.add(modeller.topology, modeller.positions)
    for chain, name in zip(modeller.topology.chains(), "AB", strict=True):
        chain.id = name
    residues = list(modeller.topology.residues())
    places = np.array(modeller.positions.value_in_unit(openmm.unit.nanometer))
    built = [3, 3 + len(CHAIN)]  # Lys 4 of both chains
    _, centres = loops._wanted(residues, set(built), built, loops._left(residues, places), places)
    assert len(centres) == 2


def test_atoms_that_move_feel_all_others_with_charmm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of the table of types are computed where one atom moves: its force is that of all pairs, and that of two atoms that stay is none."""
    ff = loaded("charmm36m")
    modeller = peptide(CHAIN)
    modeller = ff.add_hydrogens(modeller, ff.build_names(modeller.topology))
    moving = {atom.index for residue in list(modeller.topology.residues())[3:5] for atom in residue.atoms()}

    def forces() -> Any:
        system = loops._system(ff, modeller.topology, moving)
        for force in system.getForces():
            force.setForceGroup(int(isinstance(force, openmm.CustomNonbondedForce)))
        context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
        context.setPositions(modeller.positions)
        return context.getState(getForces=True, groups={1}).getForces(asNumpy=True)._value

    found = forces()
    monkeypatch.setattr(openmm.CustomNonbondedForce, "addInteractionGroup", lambda *_: None)
    whole = forces()
    some = sorted(moving)
    assert np.abs(whole[some]).max() > 1.0
    assert found[some] == pytest.approx(whole[some], rel=1e-9, abs=1e-9)
    assert np.abs(found - whole).max() > 1.0
