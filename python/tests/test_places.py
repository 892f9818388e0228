"""Where residues of a system stand in the file that it was made of, what a job calls them, and cysteines whose partner is left out."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import Write, moved, notes, peptide_text, without, written
from openmm import app, unit

from octitrate.errors import Refused
from octitrate.peptide import peptide
from octitrate.prepare import called, chains, mutate, predict
from octitrate.prepare.build import Model
from octitrate.prepare.entry import Atom, Entry, Missing, Residue
from octitrate.prepare.job import site_names
from octitrate.prepare.options import Options
from octitrate.prepare.read import read
from octitrate.prepare.read_pdb import read_pdb
from octitrate.prepare.report import Report
from octitrate.prepare.structure import pdb as structure_text

CHAIN = ("ALA", "GLU", "GLY", "LYS", "ASP", "HIS", "SER", "GLY")


def _numbered(text: str, number: int, new: str) -> str:
    """The records with another number, of five columns, for one residue."""
    return "".join(line[:22] + new + line[27:] if int(line[22:26]) == number else line for line in text.splitlines(keepends=True))


def test_sites_are_told_by_the_chains_and_numbers_of_the_file(structure: Write, report: Report, bare: None) -> None:
    """Chain H has an insertion code, so that it is numbered anew; chain L is two molecules, on both sides of a gap."""
    heavy = moved(_numbered(peptide_text(*CHAIN), 5, "   4A"), "H", 0.0)
    options = structure(heavy + moved(without(peptide_text(*CHAIN), 4), "L", 30.0))
    options.gaps, options.sites = "cap", ["GLU", "ASP", "HIS"]
    _, job, _ = written(options, report)
    assert {site["residue"]: site["place"] for site in job["titration"]["site"]} == {
        "1:GL3 2": "H 2", "1:AS3 5": "H 4A", "1:HIP 6": "H 6",
        "2:GL3 2": "L 2", "3:AS3 5": "L 5", "3:HIP 6": "L 6",
    }  # fmt: skip


def test_residues_are_called_by_their_names_in_the_file(structure: Write, report: Report, bare: None) -> None:
    """Those of the system, AS3 and ZGL3, are for the job. In a mirror every amino acid is named, as one of the other hand."""
    mirrored = "".join(f"{line[:30]}{-float(line[30:38]):8.3f}{line[38:]}" for line in peptide_text("ALA", "HIS", "ASP", "GLU").splitlines(True))
    options = structure(mirrored)
    options.sites = ["all"]
    folder, job, _ = written(options, report)
    assert {"HIP 2", "AS3 3", "ZGL3 4"} < {site["residue"] for site in job["titration"]["site"]}
    assert "HIS 2 of chain A (D at CA), ASP 3 of chain A (D at CA), GLU 4 of chain A (D at CA) are of the other hand" in notes(report)
    assert "carboxyl end GLU 4 of chain A stands beside ASP 3 of chain A" in notes(report)
    comments = [line.split("#")[1] for line in (folder / "titrate.toml").read_text().splitlines() if "#" in line]
    assert any("beside ASP 3 of chain A: what its charges do" in comment for comment in comments)
    for text in (notes(report), "\n".join(comments)):
        assert not re.search(r"\b[NZ]?(GL3|AS3|HIP|HIE|ZGLU|ZALA|glu3|asp3)\b", text), text


def test_a_chain_without_a_name_gets_one_that_no_other_has(structure: Write, report: Report, bare: None) -> None:
    """Both were A, and places of two sites were the same."""
    options = structure(moved(peptide_text(*CHAIN), " ", 0.0) + "TER\n" + moved(peptide_text(*CHAIN), "A", 30.0))
    options.chains, options.sites = ["all"], ["GLU"]
    _, job, _ = written(options, report)
    assert [site["place"] for site in job["titration"]["site"]] == ["B 2", "A 2"]
    assert "the chain without a name is called B in options, messages, the system and the job" in notes(report)


def test_more_chains_than_letters_have_names_of_two(tmp_path: Path, report: Report) -> None:
    """As GROMACS writes 64 copies of a chain."""
    path = tmp_path / "many.pdb"
    path.write_text((moved(peptide_text("ALA", "GLY"), " ", 0.0) + "TER\n") * 64)
    entry = read(path)
    residues = entry.models[1]
    called.name_chains(entry, residues, report)
    found = list(dict.fromkeys(residue.chain for residue in residues))
    assert (len(found), found[0], found[61:]) == (64, "A", ["9", "AA", "AB"])


def test_what_chains_with_long_names_are_called_in_the_pdb_file_is_said(structure: Write, report: Report, bare: None) -> None:
    """Sites are asked for by the names of the file, and protein.pdb has other ones."""
    pieces = [(segment, moved(peptide_text("ALA", "GLU", "GLY"), " ", x)) for segment, x in (("PROA", 0.0), ("PROB", 20.0))]
    options = structure("".join(f"{row[:66]:<72}{segment}\n" for segment, text in pieces for row in text.splitlines()))
    options.chains = ["all"]
    folder, _, _ = written(options, report)
    assert "a PDB file has room for one letter: in protein.pdb PROA is A, PROB is B" in notes(report)
    assert {row[21] for row in (folder / "protein.pdb").read_text().splitlines() if row.startswith(("ATOM", "HETATM"))} == {"A", "B"}
    assert "in protein.pdb PROA is A, PROB is B" in (folder / "prepare.md").read_text()


CODED = ("ALA", "GLU", "GLU", "GLU", "HIS", "GLY")
IN_FILE = ("   1 ", "   2 ", "   2A", "   3 ", "   4 ", "   5 ")


def _coded() -> str:
    """A chain with Glu 2, 2A and 3, which have the numbers 2, 3 and 4 where it is numbered anew."""
    lines = peptide_text(*CODED).splitlines(keepends=True)
    return "".join(line[:22] + IN_FILE[int(line[22:26]) - 1] + line[27:] for line in lines)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("GLU 2A", {"GL3 3": "A 2A"}), ("A:glu2a", {"GL3 3": "A 2A"}), ("E2A", {"GL3 3": "A 2A"}), ("A:h4", {"HIP 5": "A 4"}), ("GLU 3", {"GL3 4": "A 3"}), ("2", {"GL3 2": "A 2"}), ("4", {"HIP 5": "A 4"})],
)
def test_sites_are_asked_for_by_the_numbers_of_the_file(
    asked: str, expected: dict[str, str], structure: Write, report: Report, bare: None
) -> None:
    """`--sites 'GLU 3'` took Glu 2A, which is the third residue."""
    options = structure(_coded())
    options.sites = [asked]
    folder, job, atoms = written(options, report)
    assert {site["residue"]: site["place"] for site in job["titration"]["site"]} == expected
    # The system has numbers without codes, and each site stands there by its own.
    ((name, place),) = expected.items()
    assert (int(name.split()[1]), name.split()[0]) in {(number, residue) for number, residue, _ in atoms}
    (label,) = [line.partition(" # ")[2] for line in (folder / "titrate.toml").read_text().splitlines() if line.startswith("residue = ")]
    assert label.startswith(f"{'HIS' if name[:2] == 'HI' else 'GLU'} {place[2:]} of chain A")
    text = (folder / "prepare.md").read_text()
    assert "| GLU 2A | GLU 3 |" in text and "| GLU 3 | GLU 4 |" in text and "| carboxyl end GLY 5 of chain A |" in text


def test_mutations_and_sites_take_the_same_numbers(structure: Write, report: Report, bare: None) -> None:
    options = structure(_coded())
    options.mutate, options.sites = ["E2AD"], ["ASP 2A", "GLU 2"]
    _, job, _ = written(options, report)
    assert {site["residue"]: site["place"] for site in job["titration"]["site"]} == {"GL3 2": "A 2", "AS3 3": "A 2A"}


def test_a_number_that_the_file_lacks_is_answered_with_those_near(structure: Write, report: Report) -> None:
    options = structure(_coded())
    options.sites = ["HIS 5"]
    with pytest.raises(Refused, match="nothing that titrates is HIS 5") as refused:
        written(options, report)
    assert refused.value.help == "GLY 5 of chain A stands there, whose side chain does not titrate; by the numbers of the file there are near HIS 5: HIS 4 of chain A"
    options.sites = ["GLU 4", "A:GLU 1A"]
    with pytest.raises(Refused, match="nothing that titrates is GLU 4, A:GLU 1A") as refused:
        written(options, report)
    assert "near GLU 4: GLU 3 of chain A, GLU 2 of chain A, GLU 2A of chain A; by" in refused.value.help
    assert refused.value.help.endswith("near A:GLU 1A: GLU 2 of chain A, GLU 2A of chain A, GLU 3 of chain A")


def test_every_chain_with_insertion_codes_has_its_table(structure: Write, report: Report, bare: None) -> None:
    options = structure(moved(_coded(), "H", 0.0) + moved(_coded().replace("   2A", "   2B"), "L", 30.0))
    options.chains, options.sites = ["all"], ["GLU 2A", "L:GLU 2B"]
    folder, job, _ = written(options, report)
    assert {site["residue"]: site["place"] for site in job["titration"]["site"]} == {"1:GL3 3": "H 2A", "2:GL3 3": "L 2B"}
    text = (folder / "prepare.md").read_text()
    assert "| GLU 2A | GLU 3 |" in text and "| GLU 2B | GLU 3 |" in text


def test_propka_tells_residues_with_insertion_codes_apart(report: Report) -> None:
    modeller = peptide(CODED)
    model = Model(modeller.topology, np.array(modeller.positions.value_in_unit(unit.nanometer)))
    plain = predict.predict(model, report)
    for residue, number in zip(model.topology.residues(), IN_FILE):
        residue.id, residue.insertionCode = number[:4].strip(), number[4]
    assert {(k, "side") for k in (1, 2, 3, 4)} <= plain.keys()
    assert predict.predict(model, report) == plain


def test_residues_that_are_built_have_the_numbers_of_the_file(structure: Write, report: Report, bare: None) -> None:
    """Those that PDBFixer counts have no codes, so that they had numbers of others and were taken for such that were seen."""
    lines = [line for line in _coded().splitlines(keepends=True) if line[22:27] not in ("   2A", "   3 ")]
    missing = "REMARK 465   M RES C SSSEQI\n" + "".join(f"REMARK 465     GLU A  {number}\n" for number in ("   2A", "   3 "))
    options = structure(missing + "".join(lines))
    options.gaps, options.sites = "build", ["GLU 2A", "GLU 3"]
    _, job, _ = written(options, report)
    assert {site["residue"]: site["place"] for site in job["titration"]["site"]} == {"GL3 3": "A 2A", "GL3 4": "A 3"}
    assert "the loop of GLU 2A of chain A, GLU 3 of chain A was settled" in notes(report)


@pytest.mark.parametrize(("others", "expected"), [(0, ["GL3 5#1", "GL3 5#2"]), (1, ["1:GL3 5#1", "1:GL3 5#2", "2:GL3 5"])])
def test_residues_of_one_name_and_number_in_one_molecule_are_counted(others: int, expected: list[str]) -> None:
    """Two chains that a disulfide joins are one molecule, whose residues may have the same numbers."""
    topology = app.Topology()
    sulfurs, groups = [], []
    for chain in range(2 + others):
        here = topology.addChain("ABC"[chain])
        acid, cysteine = topology.addResidue("GL3", here, "5"), topology.addResidue("CYX", here, "6")
        carbon = topology.addAtom("C", app.element.carbon, acid)
        sulfurs.append(topology.addAtom("SG", app.element.sulfur, cysteine))
        topology.addBond(carbon, sulfurs[-1])
        groups.append(SimpleNamespace(residue=acid, group="side", entry="glu3"))
    topology.addBond(sulfurs[0], sulfurs[1])
    assert site_names(groups, topology) == expected


def _cysteine(chain: str, number: int, x: float) -> Residue:
    return Residue("CYS", chain, number, "", [Atom("SG", "", 1.0, (x, 0.0, 0.0), "S")])


@pytest.mark.parametrize(
    ("apart", "named", "warned"),
    [(0.205, False, True), (0.4, True, True), (0.4, False, False)],
    ids=["near", "named by the file", "a free thiol"],
)
def test_a_cysteine_whose_partner_is_left_out_is_warned_of(apart: float, named: bool, warned: bool, report: Report) -> None:
    here, other = _cysteine("A", 5, 0.0), _cysteine("B", 9, apart)
    entry = Entry("x.pdb", "PDB", {1: [here, other]}, bridges=[(("A", 5, ""), ("B", 9, ""))] if named else [])
    assert chains.bridges(entry, [here, other], [chains.Segment("A", [here])], report) == []
    assert ("CYS 5 of chain A is bonded to CYS 9 of chain B, which is left out: it is built as a free thiol" in notes(report)) == warned


def test_a_disulfide_whose_other_sulfur_is_far_and_not_in_the_file_is_warned_of(report: Report) -> None:
    here, other = _cysteine("A", 5, 0.0), _cysteine("A", 9, 0.4)
    other.atoms = []
    entry = Entry("x.pdb", "PDB", {1: [here, other]}, bridges=[(("A", 5, ""), ("A", 9, ""))])
    assert chains.bridges(entry, [here, other], [chains.Segment("A", [here, other])], report) == []
    assert notes(report) == "the file names a disulfide between CYS 5 of chain A and CYS 9 of chain A, whose sulfur is not in it and which is too far away: none is built, and both are free thiols"


def test_a_disulfide_of_chains_that_are_both_there_is_no_free_thiol(report: Report) -> None:
    here, other = _cysteine("A", 5, 0.0), _cysteine("B", 9, 0.205)
    both: Any = [chains.Segment("A", [here]), chains.Segment("B", [other])]
    assert chains.bridges(Entry("x.pdb", "PDB", {1: [here, other]}), [here, other], both, report) == [(here, other)]
    assert "free thiol" not in notes(report)


@pytest.mark.parametrize("is_seen", [True, False], ids=["with its sulfur", "without"])
@pytest.mark.parametrize(("partner", "operators", "said"), [("A    5", "1555   2655", "the same residue"), ("A    5", "              ", "the same residue"), ("B    9", "1555   2655", "CYS 9 of chain B")])
def test_a_disulfide_to_a_symmetry_copy_is_warned_of_and_not_built(partner: str, operators: str, said: str, is_seen: bool, report: Report) -> None:
    """The partner is not in the box; a residue whose sulfur was not seen was bonded to itself."""
    residue = _cysteine("A", 5, 0.0)
    residue.original = "CYX"
    residue.atoms = [*(residue.atoms if is_seen else []), Atom("CA", "", 1.0, (0.0, 0.2, 0.0), "C")]
    entry = read_pdb(f"SSBOND   1 CYS A    5    CYS {partner}                          {operators}  2.04\n", "x.pdb")
    assert chains.bridges(entry, [residue], [chains.Segment("A", [residue])], report) == []
    assert notes(report) == (
        f"CYS 5 of chain A is bonded to {said} of a symmetry copy, which is not in the box: it is built as a free thiol, which it is not in the protein; "
        "a file that has the copy as a chain of its own keeps the disulfide"
    )


def test_a_disulfide_of_one_copy_that_is_not_the_first_is_built(report: Report) -> None:
    both = [_cysteine("A", 5, 0.0), _cysteine("A", 9, 0.205)]
    entry = read_pdb("SSBOND   1 CYS A    5    CYS A    9                          2555   2555  2.04\n", "x.pdb")
    assert chains.bridges(entry, both, [chains.Segment("A", both)], report) == [(both[0], both[1])]
    assert report.warnings() == []


def test_a_bond_of_another_kind_to_a_symmetry_copy_is_warned_of(report: Report) -> None:
    lysine = Residue("LYS", "A", 5, "", [Atom("NZ", "", 1.0, (0.0, 0.0, 0.0), "N")])
    entry = read_pdb("LINK         NZ  LYS A   5                 CG  ASP A   9     1555   3555  1.34\n", "x.pdb")
    chains.named_bonds(entry, [chains.Segment("A", [lysine])], report)
    assert notes(report) == "NZ of LYS 5 of chain A is bonded to CG of ASP 9 of a symmetry copy, which is not in the box: it is built without this bond"


@pytest.mark.parametrize(("apart", "called", "warned"), [(0.4, "CYX", True), (0.4, "CYM", False), (0.205, "CYX", False)])
def test_a_cysteine_of_a_disulfide_without_a_partner_is_warned_of(apart: float, called: str, warned: bool, report: Report) -> None:
    both = [_cysteine("A", 5, 0.0), _cysteine("A", 9, apart)]
    both[0].original = called
    chains.bridges(Entry("x.pdb", "PDB", {1: both}), both, [chains.Segment("A", both)], report)
    assert ("CYS 5 of chain A is called CYX in the file, that of a disulfide, and no sulfur is near enough: it is built as a free thiol" in notes(report)) == warned


@pytest.mark.parametrize(("asked", "warned"), [(["C5A"], True), (["C5A", "C9S"], False), (["C12A"], False)])
def test_a_cysteine_whose_partner_is_mutated_is_warned_of(asked: list[str], warned: bool, report: Report) -> None:
    options = Options(input=Path("x.pdb"), mutate=asked)
    mutate.mutate([_cysteine("A", 5, 0.0), _cysteine("A", 9, 0.205), _cysteine("A", 12, 0.6)], options, report)
    assert ("CYS 9 of chain A was bonded to CYS 5 of chain A, which is mutated: it is built as a free thiol" in notes(report)) == warned
    assert ("free thiol" in notes(report)) == warned


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        ("ALA GLU GLY LYS SER", ["LYS"]),
        ("MET SER ALA GLU GLY LYS SER GLY", ["LYS"]),
        ("ALA GLU GLY LYS HIS SER", [""]),  # the numbers do not fit
        ("ALA GLU GLY LYS SER ALA GLU GLY ASP SER", [""]),  # they fit in two ways
        ("", [""]),
    ],
)
def test_residues_of_a_gap_are_those_of_the_sequence_if_its_numbers_fit(sequence: str, expected: list[str]) -> None:
    seen = [Residue(name, "A", number, "") for number, name in ((11, "ALA"), (12, "GLU"), (13, "GLY"), (15, "SER"))]
    entry = Entry("x.pdb", "PDB", {1: seen}, sequences={"A": sequence.split()})
    between = chains._between(entry, seen, seen[2], seen[3], [])
    assert [(one.name, one.number) for one in between] == [(name, 14) for name in expected]


@pytest.mark.parametrize(
    ("sequence", "listed", "expected"),
    [
        ("MET ALA GLU GLY LYS SER HIS", ["MET 10"], ["MET 10", "LYS 14", "HIS 16"]),
        ("MET ALA GLU GLY LYS SER HIS", [], []),  # ends and gaps of a file without a list have ways of their own
        ("MET ALA GLU GLY LYS SER NH2", ["MET 10"], ["MET 10", "LYS 14"]),
        ("MET ALA GLU GLY LYS ASP HIS", ["MET 10"], ["MET 10"]),  # the sequence does not fit what was seen
        ("MET ALA GLU GLY LYS SER HIS", ["MET 9"], ["MET 9"]),  # nor what the list says
    ],
)
def test_residues_that_were_cut_from_a_file_with_a_list_are_told_by_its_sequence(sequence: str, listed: list[str], expected: list[str]) -> None:
    """An end that was cut by hand was charged where the file lists residues of the other end, and a gap had no residues to build."""
    seen = [Residue(name, "A", number, "") for number, name in ((11, "ALA"), (12, "GLU"), (13, "GLY"), (15, "SER"))]
    absent = [Missing(name, "A", int(number), "") for name, number in map(str.split, listed)]
    entry = Entry("x.pdb", "PDB", {1: seen}, sequences={"A": sequence.split()}, missing=absent)
    assert [f"{one.name} {one.number}" for one in chains._unseen(entry, "A", seen)] == expected


def test_an_end_that_was_cut_is_capped_whatever_the_file_lists_of_the_other(report: Report) -> None:
    text = f"REMARK 465   M RES C SSSEQI\nREMARK 465     MET A     0\nSEQRES   1 A    {len(CHAIN) + 1}  MET {' '.join(CHAIN)}\n" + without(peptide_text(*CHAIN), len(CHAIN))
    entry = read_pdb(text, "x.pdb")
    segment = chains.segments(entry, entry.models[1], Options(input=Path("x.pdb")), report)[0]
    assert (segment.capped_start, segment.capped_end) == (True, True)


def test_chains_with_long_names_are_apart_in_the_pdb_file() -> None:
    """Names of mmCIF files may have several letters, of which a PDB file has room for one."""
    topology = app.Topology()
    for name in ("AA", "A", "AB", "AA"):
        topology.addAtom("CA", app.element.carbon, topology.addResidue("ALA", topology.addChain(name), "1"))
    rows = [row for row in structure_text(Model(topology, np.zeros((4, 3)))).splitlines() if row.startswith("ATOM")]
    assert [row[21] for row in rows] == ["B", "A", "C", "B"]


def _with_codes(codes: list[str], missing: list[str]) -> Entry:
    """A peptide whose residues have these numbers with codes, and residues that were not seen."""
    rows = peptide_text(*CHAIN).splitlines()
    text = "".join(f"{row[:22]}{code[:-1]:>4}{code[-1]}{row[27:]}\n" for row in rows for code in [codes[int(row[22:26]) - 1]] if code)
    return read_pdb("REMARK 465   M RES C SSSEQI\n" + "".join(f"REMARK 465     SER A {one[:-1]:>5}{one[-1]}\n" for one in missing) + text, "x.pdb")


LAST = ["4 ", "5 ", "6 ", "7 "]


@pytest.mark.parametrize(
    ("codes", "missing", "capped"),
    [
        (["1C", "1B", "1A", "1 ", *LAST], ["1E", "1D"], (True, False)),  # thrombin
        (["1A", "1B", "1C", "2 ", *LAST], ["1 "], (True, False)),
        (["1 ", "1A", "2 ", "3 ", *LAST], ["1B", "1A"], (True, False)),
        (["1 ", "2 ", "2A", "3 ", *LAST], ["1B"], (True, False)),  # it cannot be between two that are bonded
        (["0 ", "1 ", "2 ", "3 ", *LAST[:-1], "7A"], ["7B"], (False, True)),
        (["0 ", "1 ", "2 ", "3 ", *LAST[:-1], "7B"], ["7A", "7 "], (False, True)),
        (["0 ", "1 ", "2 ", "3 ", *LAST], ["7A"], (False, True)),
    ],
    ids=["falling", "rising", "falling where they were not seen", "falling by the bonds", "rising at the end", "falling at the end", "one behind the last"],
)
def test_residues_that_were_not_seen_are_at_their_end_whichever_way_the_codes_run(codes: list[str], missing: list[str], capped: tuple[bool, bool], report: Report) -> None:
    """The codes of thrombin fall to the number without one, so that what stood before the first residue was taken for a part of the chain, and the end was charged."""
    entry = _with_codes(codes, missing)
    for residue in entry.models[1]:
        residue.atoms = [atom for atom in residue.atoms if atom.name != "OXT"]
    segment = chains.segments(entry, entry.models[1], Options(input=Path("x.pdb")), report)[0]
    assert (segment.capped_start, segment.capped_end) == capped


@pytest.mark.parametrize("codes", [["60C", "60B", "60A", "60 "], ["60 ", "60A", "60B", "60C"]], ids=["falling", "rising"])
def test_a_gap_between_insertion_codes_has_the_residues_between_them(codes: list[str], report: Report) -> None:
    first, *between, last = codes
    entry = _with_codes(["59 ", first, "", "", last, "61 ", "62 ", "63 "], between)
    with pytest.raises(Refused, match=rf"between GLU {first.strip()} and ASP {last.strip()}: 2 residues are missing \(SER {between[0].strip()}, SER {between[1].strip()}\)"):
        chains.segments(entry, entry.models[1], Options(input=Path("x.pdb")), report)


def test_a_residue_without_a_backbone_is_missing_where_falling_codes_put_it(report: Report) -> None:
    entry = _with_codes(["1B", "1A", "1 ", "2 ", "4 ", "5 ", "6 ", "7 "], ["1D", "1C", "3 "])
    residue = entry.models[1][0]
    residue.atoms = [atom for atom in residue.atoms if atom.name != "CA"]
    chains.check_atoms(entry.models[1], entry, report)
    assert [f"{one.number}{one.insertion}" for one in entry.missing] == ["1D", "1C", "1B", "3"]
