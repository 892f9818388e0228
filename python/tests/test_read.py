"""Reading structures: columns, alternates, both formats, and files that are none."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Write, peptide_text

from octitrate.errors import Refused
from octitrate.prepare import choose
from octitrate.prepare.options import Options
from octitrate.prepare.read import read
from octitrate.prepare.read_pdb import guessed_element, read_pdb
from octitrate.prepare.report import Report

LINE = "ATOM     10  CG AGLU A  52A     11.111  22.222 -33.333  0.60 10.00           C\n"


def test_columns_are_those_of_the_format() -> None:
    residue = read_pdb(LINE, "x").models[1][0]
    assert (residue.name, residue.chain, residue.number, residue.insertion) == ("GLU", "A", 52, "A")
    atom = residue.atoms[0]
    assert (atom.name, atom.altloc, atom.occupancy, atom.element) == ("CG", "A", 0.6, "C")
    assert atom.position == pytest.approx((1.1111, 2.2222, -3.3333), abs=1e-12)  # Å to nm, rounding of doubles


@pytest.mark.parametrize(
    ("columns", "residue", "element"),
    [(" CA ", "GLU", "C"), ("CA  ", "CA", "CA"), ("ZN  ", "ZN", "ZN"), ("HE21", "GLN", "H"), (" SD ", "MET", "S"), ("SE  ", "MSE", "SE"), ("1HB ", "ALA", "H")],
)
def test_elements_are_told_from_names(columns: str, residue: str, element: str) -> None:
    assert guessed_element(columns, residue) == element


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINE.replace("22.222", "22.2x2"), r"x\.pdb:1: y of the atom is '22.2x2', which is no number"),
        (LINE.replace("22.222", "   nan"), "y of the atom is 'nan'"),
        (LINE.replace("  52A", "****A"), r"x\.pdb:1: the number of the residue is '\*\*\*\*': it had more digits than there is room for"),
        (LINE.replace("  52A", "A0b0A"), "the number of the residue is 'A0b0', which is no whole number"),
        (LINE[:45], "ends before its coordinates"),
        (LINE.replace("  52A", "  ??A"), "the number of the residue is '\\?\\?'"),
        ("", "is empty"),
        ("<html><body>404</body></html>", "holds no atoms .* begins with '<html>"),
        ("data_x\nloop_\n_cell.a\n1\n", "no table atom_site"),
        ("data_x\nloop_\n_atom_site.id\n_atom_site.Cartn_x\n1 2 3\n", "cannot be read|no number|no whole number"),
    ],
)
def test_files_that_cannot_be_read_are_refused_with_their_place(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.pdb"
    path.write_text(text)
    with pytest.raises(Refused, match=message):
        read(path)


@pytest.mark.parametrize("odd", ["atom     11" + LINE[11:], " ATOM   11" + LINE[11:], LINE.replace("ATOM     ", "ATOM\t")], ids=["small letters", "moved", "a tab"])
def test_records_of_atoms_that_are_not_in_their_columns_are_not_passed_over(odd: str) -> None:
    """Beside others that are, they were left out without a word, such as the end of a chain."""
    with pytest.raises(Refused, match=r"x\.pdb:2: the record of an atom is not in the columns of the format: "):
        read_pdb(LINE + odd, "x.pdb")


@pytest.mark.parametrize("start", ["ATOM 100000", "ATOM1000000"])
def test_atoms_beyond_99999_are_read(start: str) -> None:
    """Some programs begin longer serial numbers in column 6 or 5; those atoms were left out without a word."""
    atoms = read_pdb(LINE + start + LINE[11:].replace(" CG ", " CD "), "x").models[1][0].atoms
    assert [(atom.name, atom.position) for atom in atoms] == [("CG", atoms[0].position), ("CD", atoms[0].position)]


def test_structure_factors_are_told_from_a_model(tmp_path: Path) -> None:
    path = tmp_path / "1pgb-sf.cif"
    path.write_text("data_r1pgbsf\nloop_\n_refln.index_h\n_refln.F_meas_au\n1 2.0\n")
    with pytest.raises(Refused, match="has no table atom_site") as caught:
        read(path)
    assert "give the file of the model: structure factors" in caught.value.help


def test_a_gro_file_is_told_where_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "conf.gro"
    path.write_text("title\n    1\n    1ALA      N    1   0.100   0.200   0.300\n   4.0 4.0 4.0\n")
    with pytest.raises(Refused, match="is a .gro file") as caught:
        read(path)
    assert "--from" in caught.value.help


@pytest.mark.parametrize(
    ("name", "help"), [("x.PRMTOP", "--from x.prmtop x.rst7 "), ("x.rst7", "--from x.prmtop x.rst7 "), ("x.psf", "--from x.psf x.crd --parameters"), ("x.top", "--from topol.top conf.gro ")]
)
def test_files_of_finished_systems_are_told_where_they_go(name: str, help: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("%VERSION\n")
    with pytest.raises(Refused, match="is a file of a finished system, and no PDB or mmCIF file") as caught:
        read(path)
    assert help in caught.value.help


@pytest.mark.parametrize(("text", "number"), [(" -12", -12), ("9999", 9999), ("A000", 10000), ("A00Z", 10035), ("ZZZZ", 1223055), ("a000", 1223056), ("zzzz", 2436111)])
def test_numbers_of_residues_go_on_in_hybrid_36(text: str, number: int) -> None:
    assert read_pdb(LINE.replace("  52A", f"{text}A"), "x").models[1][0].number == number


@pytest.mark.parametrize(("text", "number"), [("270f", 9999), ("271a", 10010), ("9fff", 40959)])
def test_numbers_of_residues_go_on_in_hexadecimal_ones(text: str, number: int) -> None:
    """VMD writes those of water so; the whole file was refused."""
    assert read_pdb(LINE.replace("  52A", f"{text}A"), "x").models[1][0].number == number
    with pytest.raises(Refused, match="'271A', which is no whole number"):  # 271 with an insertion code in the wrong column
        read_pdb(LINE.replace("  52A", "271A "), "x")


@pytest.mark.parametrize(("name", "url"), [("2lzt", "2LZT"), ("2LZT.pdb", "2LZT"), ("https://files.rcsb.org/download/2lzt.pdb", "2LZT")])
def test_an_entry_that_is_not_there_is_told_where_it_is(name: str, url: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read: No such file") as caught:
        read(tmp_path / name)
    assert caught.value.help == f"octitrate fetches nothing; that entry of the PDB is https://files.rcsb.org/download/{url}.cif"


def test_what_is_no_text_or_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read: No such file"):
        read(tmp_path / "absent.pdb")
    binary = tmp_path / "x.pdb"
    binary.write_bytes(b"\x7fELF\0\0")
    with pytest.raises(Refused, match="is no text"):
        read(binary)


def test_mmcif_and_compressed_files_give_the_same_atoms(structure: Write, tmp_path: Path) -> None:
    from openmm import app

    options = structure(peptide_text("ALA", "GLU", "LYS"))
    first = read(options.input)
    pdb = app.PDBFile(str(options.input))
    out = io.StringIO()
    app.PDBxFile.writeFile(pdb.topology, pdb.positions, out, keepIds=True)
    (tmp_path / "named.pdb").write_text(out.getvalue())  # the contents decide, not the name
    (tmp_path / "x.pdb.gz").write_bytes(gzip.compress(options.input.read_bytes()))
    for other in (read(tmp_path / "named.pdb"), read(tmp_path / "x.pdb.gz")):
        assert [str(r) for r in other.models[1]] == [str(r) for r in first.models[1]]
        for a, b in zip(first.models[1], other.models[1]):
            assert [x.name for x in a.atoms] == [x.name for x in b.atoms]
            for x, y in zip(a.atoms, b.atoms):
                assert x.position == pytest.approx(y.position, abs=1e-4)  # three decimals of Å


@pytest.mark.parametrize("damaged", [lambda data: data[: len(data) // 2], lambda data: data[:40] + b"\xff" * 40 + data[80:]], ids=["cut off", "overwritten"])
def test_a_damaged_compressed_file_is_refused(damaged: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "x.pdb.gz"
    path.write_bytes(damaged(gzip.compress("".join(f"{LINE[:30]}{k:8.3f}{LINE[38:]}" for k in range(200)).encode())))
    with pytest.raises(Refused, match="cannot be decompressed"):
        read(path)


def test_what_was_not_seen_and_what_belongs_together_is_read() -> None:
    text = (
        "REMARK 465   M RES C SSSEQI\nREMARK 465     MET A     1\nREMARK 465     GLY A     2A\n"
        "REMARK 350 BIOMOLECULE: 1\nREMARK 350 APPLY THE FOLLOWING TO CHAINS: A, B\n"
        "SEQRES   1 A    3  MET GLY ALA\nSSBOND   1 CYS A    3    CYS B    7B                         1555   1555  2.03\n" + LINE
    )
    entry = read_pdb(text, "x")
    assert [(m.name, m.chain, m.number, m.insertion) for m in entry.missing] == [("MET", "A", 1, ""), ("GLY", "A", 2, "A")]
    assert entry.units == [{"A": 1, "B": 1}]
    assert entry.sequences == {"A": ["MET", "GLY", "ALA"]}
    assert entry.bridges == [(("A", 3, ""), ("B", 7, "B"))]


COLUMNS = (
    "group_PDB id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id label_entity_id label_seq_id pdbx_PDB_ins_code Cartn_x Cartn_y "
    "Cartn_z occupancy B_iso_or_equiv pdbx_formal_charge auth_seq_id auth_comp_id auth_asym_id auth_atom_id pdbx_PDB_model_num"
)
SITE = "ATOM {n} C CA . {name} A 1 {n} ? {n}.0 0.0 0.0 1.00 10.0 ? {n} {name} H CA 1\n"


def test_sequences_of_mmcif_files_of_other_programs_are_those_of_their_entities(tmp_path: Path) -> None:
    """gemmi, ChimeraX and others write entity_poly_seq, and not the tables by which the PDB says the same of chains."""
    path = tmp_path / "x.cif"
    path.write_text(
        "data_x\nloop_\n_entity_poly_seq.entity_id\n_entity_poly_seq.num\n_entity_poly_seq.mon_id\n1 1 MET\n1 2 GLY\n1 2 SER\n1 3 ALA\n"
        "loop_\n_pdbx_struct_assembly_gen.assembly_id\n_pdbx_struct_assembly_gen.asym_id_list\n1 A\n2 B\n"
        + "loop_\n"
        + "".join(f"_atom_site.{column}\n" for column in COLUMNS.split())
        + SITE.format(n=2, name="GLY")
        + SITE.format(n=3, name="ALA")
    )
    entry = read(path)
    assert entry.sequences == {"H": ["MET", "GLY", "ALA"]}
    assert entry.units == [{"H": 1}]


def test_copies_in_the_file_of_an_assembly_have_the_sequence_of_their_entity(tmp_path: Path, report: Report) -> None:
    """Programs that make the copies (A-2) may leave the table with the sequences of the entry as it was: ends of the copies whose residues before were not seen were charged, and
    those of the first chain capped."""
    path = tmp_path / "x-assembly1.cif"
    path.write_text(
        "data_x\nloop_\n_entity_poly_seq.entity_id\n_entity_poly_seq.num\n_entity_poly_seq.mon_id\n1 1 MET\n1 2 GLY\n1 3 ALA\n"
        "loop_\n_pdbx_poly_seq_scheme.asym_id\n_pdbx_poly_seq_scheme.mon_id\n_pdbx_poly_seq_scheme.pdb_strand_id\nA MET H\nA GLY H\nA ALA H\n"
        "loop_\n_pdbx_struct_assembly_gen.assembly_id\n_pdbx_struct_assembly_gen.oper_expression\n_pdbx_struct_assembly_gen.asym_id_list\n1 1,2 A\n"
        + "loop_\n"
        + "".join(f"_atom_site.{column}\n" for column in COLUMNS.split())
        + "".join(SITE.format(n=n, name=name) for n, name in ((2, "GLY"), (3, "ALA")))
        + "".join(SITE.format(n=n, name=name).replace(" A ", " A-2 ").replace(" H ", " H-2 ") for n, name in ((2, "GLY"), (3, "ALA")))
    )
    entry = read(path)
    assert entry.sequences == {"H": ["MET", "GLY", "ALA"], "H-2": ["MET", "GLY", "ALA"]}
    with pytest.raises(Refused, match=r"chains H, H-2 have the same sequence \(2 residues\), and the file does not say whether they belong together"):
        choose.chains(entry, entry.models[1], Options(input=path), report)


@pytest.mark.parametrize("order", [("SER", "SER", "THR", "THR"), ("SER", "THR", "SER", "THR")], ids=["one after another", "row by row"])
def test_two_residues_at_one_place_of_an_mmcif_file_are_two(order: tuple[str, ...], tmp_path: Path) -> None:
    """As in a PDB file, of which `prepare` takes the one of higher occupancy."""
    row = "ATOM {id} C {atom} {alt} {name} A 1 5 ? {id}.0 0.0 0.0 0.50 10.0 ? 5 {name} H {atom} 1\n"
    seen = {"SER": iter(("CA", "CB")), "THR": iter(("CA", "CB"))}
    rows = "".join(row.format(id=k, atom=next(seen[name]), alt={"SER": "A", "THR": "B"}[name], name=name) for k, name in enumerate(order, 1))
    path = tmp_path / "x.cif"
    path.write_text("data_x\nloop_\n" + "".join(f"_atom_site.{column}\n" for column in COLUMNS.split()) + rows)
    here = read(path).models[1]
    assert [(str(residue), [atom.name for atom in residue.atoms]) for residue in here] == [
        ("SER 5 of chain H", ["CA", "CB"]), ("THR 5 of chain H", ["CA", "CB"]),
    ]  # fmt: skip


def test_names_of_the_author_may_be_left_out_of_an_mmcif_file(tmp_path: Path) -> None:
    """But in the table of atoms they are there: a disulfide is found by the labels, and a residue that was not seen is left to the sequence."""
    path = tmp_path / "x.cif"
    bond = "id conn_type_id ptnr1_label_asym_id ptnr1_label_seq_id ptnr2_label_asym_id ptnr2_label_seq_id".split()  # noqa: SIM905
    absent = "id polymer_flag label_asym_id label_comp_id label_seq_id".split()  # noqa: SIM905
    rows = "".join(SITE.format(n=n, name="CYS").replace(f" {n} CYS H ", f" {n + 100} CYS H ") for n in (2, 3)).replace(" 1\n", " ?\n")
    path.write_text(
        "data_x\nloop_\n"
        + "".join(f"_struct_conn.{column}\n" for column in bond)
        + "d1 disulf A 2 A 3\nd2 disulf A 2 A 9\nloop_\n"
        + "".join(f"_pdbx_unobs_or_zero_occ_residues.{column}\n" for column in absent)
        + "1 Y A MET 1\nloop_\n"
        + "".join(f"_atom_site.{column}\n" for column in COLUMNS.split())
        + rows
    )
    entry = read(path)
    assert entry.bridges == [(("H", 102, ""), ("H", 103, ""))]
    assert entry.missing == [] and list(entry.models) == [1]


def test_a_residue_that_no_model_has_is_missing_once(tmp_path: Path) -> None:
    columns = "id PDB_model_num polymer_flag occupancy_flag auth_asym_id auth_comp_id auth_seq_id PDB_ins_code".split()  # noqa: SIM905
    path = tmp_path / "x.cif"
    path.write_text(
        "data_x\nloop_\n"
        + "".join(f"_pdbx_unobs_or_zero_occ_residues.{column}\n" for column in columns)
        + "1 1 Y 1 H MET 1 ?\n2 2 Y 1 H MET 1 ?\nloop_\n"
        + "".join(f"_atom_site.{column}\n" for column in COLUMNS.split())
        + SITE.format(n=2, name="GLY")
    )
    assert [(one.name, one.number) for one in read(path).missing] == [("MET", 1)]
    lines = "REMARK 465   M RES C SSSEQI\nREMARK 465   1 MET A     1\nREMARK 465   2 MET A     1\n"
    assert len(read_pdb(lines + LINE, "x").missing) == 1


def test_a_molecule_of_its_own_in_a_chain_of_an_mmcif_file_ends_the_one_before(tmp_path: Path) -> None:
    """As TER does in a PDB file: the author gives ligands the name of the chain beside them."""
    path = tmp_path / "x.cif"
    rows = [SITE.format(n=n, name="GLY") for n in (2, 3)] + [SITE.format(n=9, name="GLY").replace(" A 1 9 ", " B 2 . ")]
    path.write_text("data_x\nloop_\n" + "".join(f"_atom_site.{column}\n" for column in COLUMNS.split()) + "".join(rows))
    assert [residue.ended for residue in read(path).models[1]] == [False, True, False]


@pytest.mark.parametrize("line", ["SSBOND   1 CYS A    3    CYS", "SSBOND CYS 3 CYS 7", "SSBOND   1 CYS A    x    CYS B    7"])
def test_records_of_disulfides_that_cannot_be_read_are_passed_over(line: str) -> None:
    """The sulfurs say which cysteines are bonded; the records are only compared."""
    assert read_pdb(f"{line}\n{LINE}", "x").bridges == []


def test_a_disulfide_of_residues_with_insertion_codes_is_theirs(tmp_path: Path) -> None:
    """Two cysteines may differ by the code alone, and numbers of a tag are below zero."""
    bond = "SSBOND   1 CYS H  100A   CYS L   -5\n"
    assert read_pdb(bond + LINE, "x").bridges == [(("H", 100, "A"), ("L", -5, ""))]
    columns = "id conn_type_id ptnr1_auth_asym_id ptnr1_auth_seq_id pdbx_ptnr1_PDB_ins_code ptnr2_auth_asym_id ptnr2_auth_seq_id pdbx_ptnr2_PDB_ins_code".split()  # noqa: SIM905
    path = tmp_path / "x.cif"
    path.write_text(
        "data_x\nloop_\n"
        + "".join(f"_struct_conn.{column}\n" for column in columns)
        + "d1 disulf H 100 A L 5 ?\nloop_\n"
        + "".join(f"_atom_site.{column}\n" for column in COLUMNS.split())
        + SITE.format(n=2, name="GLY")
    )
    assert read(path).bridges == [(("H", 100, "A"), ("L", 5, ""))]


def test_bonds_that_are_no_disulfides_are_read(tmp_path: Path) -> None:
    """A thioether in both formats; a bond between sulfurs is a disulfide, whatever record has it, and is there once."""
    thioether = (("A", 19, ""), ("A", 52, "B")), ("CYS", "PHE"), ("SG", "CE2")
    entry = read_pdb(
        "SSBOND   1 CYS A    3    CYS B    7                          1555   1555  2.03\n"
        "LINK         SG  CYS A  19                 CE2 PHE A  52B    1555   1555  1.78\n"
        "LINK         SG  CYS B   7                 SG  CYS A   3     1555   1555  2.03\n" + LINE,
        "x",
    )
    assert [(link.ends, link.residues, link.atoms) for link in entry.links] == [thioether]
    assert entry.bridges == [(("A", 3, ""), ("B", 7, ""))]
    columns = [f"{what}ptnr{i}_{name}" for i in (1, 2) for what, name in (("", "auth_asym_id"), ("", "auth_comp_id"), ("", "auth_seq_id"), ("", "label_atom_id"), ("", "symmetry"), ("pdbx_", "PDB_ins_code"))]
    path = tmp_path / "x.cif"
    path.write_text(
        "data_x\nloop_\n_struct_conn.conn_type_id\n"
        + "".join(f"_struct_conn.{column}\n" for column in columns)
        + "covale A CYS 19 SG 1_555 ? A PHE 52 CE2 1_555 B\nmetalc A CYS 19 SG 1_555 ? A ZN 52 ZN 1_555 ?\n"
        + "disulf A CYS 3 SG 1_555 ? A CYS 3 SG 2_655 ?\nloop_\n"
        + "".join(f"_atom_site.{column}\n" for column in COLUMNS.split())
        + SITE.format(n=2, name="GLY")
    )
    between, copied = read(path).links
    assert (between.ends, between.residues, between.atoms, between.is_across) == (*thioether, False)
    assert (copied.ends, copied.atoms, copied.is_across) == ((("A", 3, ""), ("A", 3, "")), ("SG", "SG"), True)


def _atoms(*rows: tuple[str, int, str]) -> str:
    """Records of atoms: their names, numbers and alternates in a residue GLY of chain A."""
    return "".join(f"ATOM      1  {name:<3}{mark or ' '}GLY A{number:4d}      11.111  22.222 -33.333  1.00 10.00           {name[0]}\n" for name, number, mark in rows)


TWO = _atoms(("N", 1, ""), ("CA", 1, ""), ("N", 2, ""), ("CA", 2, ""))


@pytest.mark.parametrize(
    ("text", "models"),
    [
        (f"{TWO}ENDMDL\n{TWO}ENDMDL\nEND\n", [1, 2]),  # no MODEL
        (f"{TWO}END\n{TWO}END\n", [1, 2]),  # frames of a trajectory
        (f"MODEL        1\n{TWO}ENDMDL\nMODEL        2\n{TWO}ENDMDL\nEND\n", [1, 2]),
        (f"MODEL\n{TWO}ENDMDL\nMODEL\n{TWO}ENDMDL\n", [1, 2]),
        (f"MODEL        3\n{TWO}ENDMDL\n{TWO}", [3, 4]),
        (f"MODEL        1\n{TWO}ENDMDL\n{_atoms(('N', 3, ''), ('CA', 3, '')).replace('ATOM  ', 'HETATM')}END\n", [1]),  # ligands and water behind it
        (f"{TWO}END\n{TWO.replace(' A ', ' B ')}", [1]),  # two files, one behind the other
    ],
)
def test_models_end_with_endmdl_whatever_begins_them(text: str, models: list[int]) -> None:
    entry = read_pdb(text, "x")
    assert sorted(entry.models) == models
    assert all(len(residue.atoms) == 2 for residues in entry.models.values() for residue in residues)


def test_residues_in_pieces_are_whole_and_repeated_ones_are_two() -> None:
    """Some programs write alternates, or hydrogens, behind everything else."""
    pieces = _atoms(("N", 1, ""), ("CA", 1, "A"), ("N", 2, ""), ("CA", 2, ""), ("CA", 1, "B"), ("H", 2, ""))
    here = read_pdb(pieces, "x").models[1]
    assert [(residue.number, [atom.name for atom in residue.atoms]) for residue in here] == [(1, ["N", "CA", "CA"]), (2, ["N", "CA", "H"])]
    assert [residue.number for residue in read_pdb(TWO + TWO, "x").models[1]] == [1, 2, 1, 2]


def test_water_has_numbers_where_an_mmcif_file_has_only_labels(tmp_path: Path) -> None:
    """Without names and numbers of the author only polymers are numbered."""
    columns = "group_PDB id type_symbol label_atom_id label_comp_id label_asym_id label_seq_id Cartn_x Cartn_y Cartn_z".split()  # noqa: SIM905
    rows = ["ATOM 1 N N GLY A 1", "ATOM 2 C CA GLY A 1", "ATOM 3 N N GLY A 2", "HETATM 4 S S SO4 B .", "HETATM 5 O O1 SO4 B ."]
    rows += [f"HETATM 6 {atom[0]} {atom} HOH C ." for _ in range(3) for atom in ("O", "H1", "H2")] + ["HETATM 7 O O HOH C ?", "HETATM 8 O O HOH C ?"]
    path = tmp_path / "x.cif"
    path.write_text("data_x\nloop_\n" + "".join(f"_atom_site.{column}\n" for column in columns) + "".join(f"{row} {k}.0 0.0 0.0\n" for k, row in enumerate(rows)))
    found = [(str(residue), len(residue.atoms)) for residue in read(path).models[1]]
    assert found == [
        ("GLY 1 of chain A", 2), ("GLY 2 of chain A", 1), ("SO4 1 of chain B", 2),
        ("HOH 1 of chain C", 3), ("HOH 2 of chain C", 3), ("HOH 3 of chain C", 3), ("HOH 4 of chain C", 1), ("HOH 5 of chain C", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("columns", "number", "insertion"), [("12345", 12345, ""), ("   12", 12, ""), (" 100A", 100, "A"), (" 100 ", 100, "")])
def test_numbers_may_have_five_digits(columns: str, number: int, insertion: str) -> None:
    """Some programs write into the column of the insertion code, which is a letter: residue 10000 was 1000 with the code 0."""
    residue = read_pdb(LINE.replace("  52A", columns), "x").models[1][0]
    assert (residue.number, residue.insertion) == (number, insertion)
