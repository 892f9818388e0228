"""Where atoms are built that the file does not have: the oxygens of a carboxyl end, and what a modified amino acid and the one that it was made from share."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from conftest import Write, hetero, notes, peptide_text, renamed  # noqa: E402
from octitrate.peptide import peptide  # noqa: E402
from octitrate.prepare import mutate, solvate  # noqa: E402
from octitrate.prepare.entry import Atom, Residue  # noqa: E402
from octitrate.prepare.options import Options  # noqa: E402
from octitrate.prepare.pipeline import prepare  # noqa: E402
from octitrate.prepare.report import Report  # noqa: E402
from openmm import unit  # noqa: E402

CHAIN = ("ALA", "GLU", "GLY", "LYS", "ASP", "HIS", "SER", "GLY")


@pytest.fixture(autouse=True)
def as_built(bare: None) -> None:
    """Without the minimisation, which hides some of what was built wrong."""


def places(options: Options, report: Report, number: int) -> dict[str, np.ndarray]:
    """Places of the heavy atoms of a residue in protein.pdb by their names, Å."""
    rows = [row for row in (prepare(options, report) / "protein.pdb").read_text().splitlines() if row.startswith("ATOM") and int(row[22:26]) == number]
    return {row[12:16].strip(): np.array([float(row[30 + 8 * k : 38 + 8 * k]) for k in range(3)]) for row in rows if row[76:78].strip() != "H"}


@pytest.mark.parametrize("absent", [("OXT",), ("O", "OXT")])
def test_the_oxygens_of_a_carboxyl_end_have_the_shape_of_one(absent: tuple[str, ...], structure: Write, report: Report) -> None:
    """PDBFixer puts OXT beyond O and lets it find its way: it came to lie on O where that was built as well, and 1.7 Å from CA elsewhere."""
    text = "".join(row for row in peptide_text(*CHAIN).splitlines(True) if int(row[22:26]) != 8 or row[12:16].strip() not in absent)
    last = places(structure(text), report, 8)
    assert np.linalg.norm(last["OXT"] - last["C"]) == pytest.approx(1.26, abs=0.02)
    for a, b in itertools.combinations(("CA", "O", "OXT"), 2):
        one, other = (last[name] - last["C"] for name in (a, b))
        angle = np.degrees(np.arccos(np.dot(one, other) / np.linalg.norm(one) / np.linalg.norm(other)))
        assert 110 < angle < 130, (a, b, angle)


def caps(options: Options, report: Report) -> list[np.ndarray]:
    """Places of the heavy atoms of each cap in protein.pdb, Å."""
    rows = [row for row in (prepare(options, report) / "protein.pdb").read_text().splitlines() if row.startswith(("ATOM", "HETATM")) and row[17:20] in ("ACE", "NME") and row[76:78].strip() != "H"]
    found = [list(group) for _, group in itertools.groupby(rows, key=lambda row: row[17:27])]
    return [np.array([[float(row[30 + 8 * k : 38 + 8 * k]) for k in range(3)] for row in group]) for group in found]


@pytest.mark.parametrize(("absent", "warns"), [((35,), True), ((34, 35), False)])
def test_caps_at_a_gap_keep_away_from_each_other(absent: tuple[int, ...], warns: bool, structure: Write, report: Report) -> None:
    """Acetyl was placed without a look at the cap before it: its methyl came to lie on that of the other, 0.2 Å apart in this protein."""
    rows = gzip.decompress((Path(__file__).parents[2] / "validation/1pgb.pdb.gz").read_bytes()).decode().splitlines(True)
    options = structure("".join(row for row in rows if row[:4] != "ATOM" or int(row[22:26]) not in absent))
    options.gaps = "cap"
    one, other = caps(options, report)
    apart = np.linalg.norm(one[:, None] - other, axis=2).min()
    assert apart > (1.1 if warns else 3.0)
    said = f"(ALA 34 of chain A and ASP 36 of chain A, {apart:.1f} Å apart): the minimisation moves them"
    assert (said in notes(report)) == warns and ("caps begin too near" in notes(report)) == warns


@pytest.mark.parametrize(("cap", "absent"), [("ACE", "CH3"), ("NME", "C")])
def test_caps_that_lack_atoms_are_built_anew(cap: str, absent: str, structure: Write, report: Report) -> None:
    lines = peptide_text("ACE", "ALA", "GLU", "GLY", "NME").splitlines(True)
    places = [len(one) for one in caps(structure("".join(row for row in lines if (row[17:20], row[12:16].strip()) != (cap, absent))), report)]
    assert places == [3, 2]
    assert f"lacks {absent}: the cap is built anew" in notes(report)


def test_a_modified_amino_acid_keeps_what_was_seen_of_the_one_it_was_made_from(structure: Write, report: Report) -> None:
    """Of a phosphoserine only the phosphate goes; OG was cut off, too, and built in one of its three places."""
    text = peptide_text(*CHAIN)
    place = next(tuple(float(row[30 + 8 * k : 38 + 8 * k]) for k in range(3)) for row in text.splitlines() if (int(row[22:26]), row[12:16].strip()) == (7, "OG"))
    # The place of OG is turned about CA and CB by moving it, so that no rule would find it.
    turned = (place[0] + 0.3, place[1] + 0.2, place[2])
    old, new = ("".join(f"{x:8.3f}" for x in where) for where in (place, turned))
    options = structure(renamed(text, 7, "SEP").replace(old, new) + hetero("SEP", "P", "P", (turned[0] + 1.6, turned[1], turned[2]), 7))
    options.mutate = ["SEP7SER"]
    found = places(options, report, 7)
    assert sorted(found) == ["C", "CA", "CB", "N", "O", "OG"]
    assert found["OG"] == pytest.approx(np.array(turned), abs=2e-3)


@pytest.mark.parametrize(("name", "new", "atoms"), [("PCA", "GLU", "C CA CB N"), ("KCX", "LYS", "C CA CB CD CG N"), ("KCX", "ARG", "C CA CB N")])
def test_atoms_with_other_bonds_or_of_another_amino_acid_do_not_stay(name: str, new: str, atoms: str, report: Report) -> None:
    """CD of pyroglutamic acid is bonded to N."""
    residue = Residue(name=name, chain="A", number=1, insertion="", atoms=[Atom(one, "", 1.0, (0.1 * k, 0.0, 0.0), one[0]) for k, one in enumerate("N CA C CB CG CD".split())])
    mutate.mutate([residue], Options(input=Path("x"), mutate=[f"{name}1{new}"]), report)
    assert " ".join(sorted(atom.name for atom in residue.atoms)) == atoms


def test_residues_that_a_minimisation_tears_apart_are_found() -> None:
    """Gln 159 of chain C of 3P3W, built onto other atoms, became a D amino acid with a CA 2.5 Å from its C, without a word."""
    topology, positions = (made := peptide(CHAIN)).topology, np.array(made.positions.value_in_unit(unit.nanometer))
    at = {(atom.residue.index, atom.name): atom.index for atom in topology.atoms()}
    assert solvate.torn(topology, positions, positions + 0.01) == []
    far, other = positions.copy(), positions.copy()
    far[at[1, "OE1"]] += (positions[at[1, "OE1"]] - positions[at[1, "CD"]])
    n, ca, c = (positions[at[3, name]] for name in ("N", "CA", "C"))
    normal = np.cross(n - ca, c - ca) / np.linalg.norm(np.cross(n - ca, c - ca))
    for (residue, name), k in at.items():
        if residue == 3 and name not in ("N", "H", "O"):  # mirrored in the plane of N, CA and C
            other[k] -= 2 * np.dot(positions[k] - ca, normal) * normal
    assert solvate.torn(topology, positions, far) == ["GLU 2 of chain A"]
    assert solvate.torn(topology, positions, other) == ["LYS 4 of chain A"]
    assert solvate.torn(topology, other, other) == []


def test_atoms_with_large_forces_are_named() -> None:
    """A note had the largest force of all and not where it is."""
    topology = peptide(CHAIN).topology
    forces = np.full(topology.getNumAtoms(), 5e3)
    assert solvate.strained(topology, forces) == []
    at = {(atom.residue.index, atom.name): atom.index for atom in topology.atoms()}
    forces[at[3, "NZ"]], forces[at[3, "CE"]], forces[at[1, "CD"]] = 2.6e5, 1e5, 4e4
    assert solvate.strained(topology, forces) == ["NZ of LYS 4 of chain A (2.6e+05 kJ/mol/nm)", "CD of GLU 2 of chain A (4e+04 kJ/mol/nm)"]
