"""What modified amino acids were made from, by both formats; what is proposed in their place, and what becomes of their ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Write, hetero, notes, peptide_text, renamed, written

from octitrate.errors import Refused
from octitrate.prepare.mutate import mutate
from octitrate.prepare.pipeline import prepare
from octitrate.prepare.read import read
from octitrate.prepare.read_pdb import read_pdb
from octitrate.prepare.report import Report

CHAIN = ("ALA", "GLU", "GLY", "LYS", "SER", "HIS", "ALA", "GLY")
MODRES = "MODRES 1ABC QQQ A    5  GLU  N-METHYL GLUTAMATE\n"


def test_records_name_parents_that_are_amino_acids() -> None:
    glycan = "MODRES 1ABC ASN A  297  ASN  GLYCOSYLATION SITE\n"
    unlike = "MODRES 1ABC XXX A    7  GLU\nMODRES 1ABC XXX A    9  GLN\n"
    none = "MODRES 1ABC YYY A    8\nMODRES 1ABC 5MC A    8    C  5-METHYLCYTIDINE\n"
    assert read_pdb(MODRES + glycan + unlike + none + peptide_text("ALA"), "x").parents == {"QQQ": "GLU"}


ATOMS = """data_x
loop_
_atom_site.group_PDB
_atom_site.id
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_comp_id
_atom_site.label_asym_id
_atom_site.label_seq_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
HETATM 1 C CA QQQ A 1 0.0 0.0 0.0
#
"""


@pytest.mark.parametrize(
    ("tables", "parents"),
    [
        ("_pdbx_struct_mod_residue.label_comp_id QQQ\n_pdbx_struct_mod_residue.parent_comp_id GLU\n#\n", {"QQQ": "GLU"}),
        ("loop_\n_chem_comp.id\n_chem_comp.mon_nstd_parent_comp_id\nQQQ GLN\nCRO 'SER, TYR, GLY'\nALA ?\n#\n", {"QQQ": "GLN"}),
        ("_pdbx_struct_mod_residue.auth_comp_id QQQ\n_pdbx_struct_mod_residue.parent_comp_id GLU\n#\nloop_\n_chem_comp.id\n_chem_comp.mon_nstd_parent_comp_id\nQQQ GLN\nRRR SER\n#\n", {"QQQ": "GLU", "RRR": "SER"}),
        ("", {}),
    ],
)
def test_tables_of_mmcif_name_parents(tables: str, parents: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "x.cif").write_text(ATOMS + tables)
    assert read(tmp_path / "x.cif").parents == parents


@pytest.mark.parametrize(
    ("head", "message", "help"),
    [
        (MODRES, "QQQ 5 of chain A: an amino acid that the force field does not know, made from GLU", "--mutate A:QQQ5GLU builds GLU in its place"),
        ("", "QQQ 5 of chain A: an amino acid that the force field does not know", "--mutate A:QQQ5ALA builds ALA in its place, which is the smallest: the file does not say what QQQ was made from (MODRES)"),
    ],
)
def test_the_parent_that_the_file_names_is_proposed(head: str, message: str, help: str, structure: Write, report: Report) -> None:
    with pytest.raises(Refused) as caught:
        prepare(structure(head + renamed(peptide_text(*CHAIN), 5, "QQQ")), report)
    assert caught.value.message.endswith(message) and caught.value.help == help, str(caught.value)


def _on_nitrogen(text: str, name: str, atom: str) -> str:
    """The first residue under another name, with a carbon 1.35 Å from its N, away from CA."""
    text = renamed(text, 1, name)
    n, ca = (next([float(r[30:38]), float(r[38:46]), float(r[46:54])] for r in text.splitlines() if int(r[22:26]) == 1 and r[12:16].strip() == one) for one in ("N", "CA"))
    apart = [a - b for a, b in zip(n, ca, strict=True)]
    norm = sum(x * x for x in apart) ** 0.5
    x, y, z = (a + 1.35 * b / norm for a, b in zip(n, apart, strict=True))
    return hetero(name, atom, "C", (x, y, z), 1) + text


@pytest.mark.parametrize(
    ("name", "atom", "asked", "is_said"),
    [
        ("FME", "CN", {"mutate": ["FME1ALA"]}, True),
        ("QQQ", "CT1", {"mutate": ["QQQ1ALA"]}, True),
        ("FME", "CN", {"mutate": ["FME1ALA"], "ends": "capped"}, False),
        ("QQQ", "CD", {"mutate": ["QQQ1PRO"]}, False),
        ("SEP", "", {"mutate": ["SEP1ALA"]}, False),
        ("PCA", "", {"mutate": ["PCA1GLU"]}, True),
    ],
)
def test_an_amide_that_becomes_a_free_end_is_a_warning(name: str, atom: str, asked: dict[str, Any], is_said: bool, structure: Write, report: Report) -> None:
    text = peptide_text(*CHAIN)
    options = structure(_on_nitrogen(text, name, atom) if atom else renamed(text, 1, name))
    for key, value in asked.items():
        setattr(options, key, value)
    residues = read(options.input).models[1]
    mutate(residues, options, report)
    assert (f"the amino end of {name} 1 of chain A is an amide, which is neutral; as {residues[0].name} it is a free end" in notes(report)) == is_said, notes(report)


def test_an_amide_inside_a_chain_is_no_end(structure: Write, report: Report) -> None:
    options = structure(renamed(peptide_text(*CHAIN), 5, "PCA"))
    options.mutate = ["PCA5GLU"]
    mutate(read(options.input).models[1], options, report)
    assert "amino end" not in notes(report)


def test_disulfides_of_rosetta_are_cysteines(structure: Write, report: Report, bare: None) -> None:
    """CYD; one without a sulfur near it is a free thiol, which is said."""
    text = peptide_text("ALA", "CYS", "GLY")
    options = structure(renamed(text, 2, "CYD"))
    written(options, report)
    assert "1 CYD → CYS" in notes(report) and "CYS 2 of chain A is called CYD in the file" in notes(report), notes(report)
