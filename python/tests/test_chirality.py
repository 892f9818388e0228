"""The hand of amino acids: side chains that are built from nothing, branches of Thr and Ile, D amino acids that are mutated."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from conftest import Write, loaded, notes  # noqa: E402
from openmm import unit  # noqa: E402
from octitrate.peptide import peptide  # noqa: E402
from octitrate.prepare import chirality  # noqa: E402
from octitrate.prepare.pipeline import prepare  # noqa: E402
from octitrate.prepare.report import Report  # noqa: E402

PROTEINS = Path(__file__).parents[2] / "validation"


def text(name: str) -> str:
    return gzip.decompress((PROTEINS / name).read_bytes()).decode()


def residues(pdb: str) -> dict[tuple[str, int], dict[str, np.ndarray]]:
    """Places of the atoms of the first chain by residue, nm."""
    found: dict[tuple[str, int], dict[str, np.ndarray]] = {}
    for line in pdb.splitlines():
        if line.startswith("ATOM") and line[16] in " A":
            place = np.array([float(line[30 + 8 * k : 38 + 8 * k]) for k in range(3)]) / 10
            found.setdefault((line[17:20], int(line[22:26])), {})[line[12:16].strip()] = place
    return found


def wrong(pdb: str) -> list[tuple[str, int]]:
    """Residues of the other hand."""
    return [key for key, atoms in residues(pdb).items() if chirality.is_d(atoms) or chirality.is_turned(key[0], atoms)]


def test_crystals_have_the_hand_that_is_meant() -> None:
    for name in ("1pgb.pdb.gz", "1stn.pdb.gz", "2lzt.pdb.gz", "4pti.pdb.gz"):
        found = residues(text(name))
        assert len(found) > 50 and wrong(text(name)) == [], name
        # What is placed lies where the crystal has it; on the other side it would be 0.15 nm away and more.
        away = [np.linalg.norm(chirality.third(atoms["N"], atoms["C"], atoms["CA"]) - atoms["CB"]) for atoms in found.values() if "CB" in atoms]
        threes = [(atoms["CA"], atoms[chirality.BRANCH[key[0]]], atoms["CB"], atoms["CG2"]) for key, atoms in found.items() if key[0] in chirality.BRANCH]
        away += [np.linalg.norm(chirality.third(a, b, centre) - place) for a, b, centre, place in threes]
        assert np.mean(away) < 0.015 and max(away) < 0.06, (name, np.mean(away), max(away))


@pytest.mark.parametrize("mutations", [["G9A", "G14K", "G38D", "G41E", "A20T", "A24I", "A26T"], ["A34T", "A48I", "A23T", "G9V", "G41T", "G38I"]])
def test_mutated_residues_are_l(mutations: list[str], structure: Write, report: Report, bare: None) -> None:
    options = structure(text("1pgb.pdb.gz"))
    options.force_field, options.mutate = "ff14SB", mutations
    built = (prepare(options, report) / "protein.pdb").read_text()
    assert wrong(built) == [] and "of the other hand" not in notes(report)


def test_a_side_chain_that_was_not_seen_is_l_and_a_d_amino_acid_is_named(structure: Write, report: Report, bare: None) -> None:
    kept = []
    for line in text("1pgb.pdb.gz").splitlines(keepends=True):
        number = int(line[22:26]) if line.startswith("ATOM") else 0
        name = line[12:16].strip()
        if (number == 28 and name not in ("N", "CA", "C", "O")) or (number == 17 and name not in ("N", "CA", "C", "O", "CB")) or (number == 27 and name == "CB"):
            continue
        kept.append(line)
    lines = "".join(kept)
    # Ala 34 mirrored through its backbone, as a D amino acid; and Ala 20, which is then mutated.
    found = residues(lines)
    for number in (20, 34):
        atoms = found["ALA", number]
        normal = np.cross(atoms["N"] - atoms["CA"], atoms["C"] - atoms["CA"])
        normal /= np.linalg.norm(normal)
        old, new = atoms["CB"], atoms["CB"] - 2 * np.dot(atoms["CB"] - atoms["CA"], normal) * normal
        places = ["".join(f"{10 * value:8.3f}" for value in place) for place in (old, new)]
        assert places[0] in lines
        lines = lines.replace(places[0], places[1])
    options = structure(lines)
    options.force_field, options.mutate = "ff14SB", ["A20S"]
    built = (prepare(options, report) / "protein.pdb").read_text()
    assert wrong(built) == [("ALA", 34)]
    assert "ALA 34 of chain A (D at CA) is of the other hand in the file and stays so: look whether that is meant\n" in notes(report) + "\n"
    # The side chain of Lys 28 is a guess; the CB of Glu 27, which is not there either, is none.
    assert "1 side chain that may titrate is not or not wholly in the file and built in one shape of many (LYS 28 of chain A): pKa values may depend on it" in notes(report)


@pytest.mark.parametrize(("force_field", "has_maps"), [("ff14SB", False), ("amber99sb-ildn", False), ("ff19SB", True), ("charmm36m-ecc", True)])
def test_maps_of_backbone_torsions_are_those_of_l_amino_acids(force_field: str, has_maps: bool, report: Report) -> None:
    assert loaded(force_field).has_maps() == has_maps
    modeller = peptide(("ALA", "GLU", "ALA"))
    places = np.array(modeller.positions.value_in_unit(unit.nanometer)) * np.array([-1.0, 1.0, 1.0])
    chirality.check(modeller.topology, places, report, has_maps)
    assert ("(CMAP) of this force field are those of L amino acids" in notes(report)) == has_maps
