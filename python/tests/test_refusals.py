"""Inputs that cannot be prepared: one message with the residue and the chain, what to do, and nothing written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Write, hetero, moved, peptide_text, renamed, without

from octitrate.errors import Refused
from octitrate.prepare.chains import Segment, named_bonds, unlike_bonds
from octitrate.prepare.entry import Atom, Entry, Link, Residue
from octitrate.prepare.folder import Folder
from octitrate.prepare.options import Options
from octitrate.prepare.pipeline import prepare
from octitrate.prepare.report import Report

CHAIN = ("ALA", "GLU", "GLY", "LYS", "SER", "HIS", "ALA", "GLY")
FAR = (60.0, 60.0, 60.0)


def _c_alpha(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if line[12:16].strip() == "CA")


def _beads(text: str) -> str:
    """As Martini has it: a bead for the backbone and one for the side chain, and beads of a solvent, whose name is that of tungsten or of nothing."""
    rows = [row for row in text.splitlines(keepends=True) if row[12:16].strip() in ("CA", "CB")]
    beads = [f"{row[:12]} {'BB ' if row[12:16].strip() == 'CA' else 'SC1'}{row[16:76]}  {row[78:]}" for row in rows]
    return "".join(beads) + hetero("W", "W", "", FAR) + hetero("SOLV", "SOLV", "", FAR, 201).replace("SOLV A", "SOLVA")


def _atom(text: str, number: int, name: str) -> tuple[float, float, float]:
    line = next(row for row in text.splitlines() if int(row[22:26]) == number and row[12:16].strip() == name)
    return float(line[30:38]), float(line[38:46]), float(line[46:54])


def _link(text: str, *, away: float = 0.0, name: str = "HIS") -> str:
    """A bond from the ring of HIS 6 to a carbon of LYS 4 that the file names; they are where the peptide has them, or `away` (Å)."""
    record = f"LINK         CE1 {name} A   6                 CE  LYS A   4     1555   1555  1.53\n"
    x, y, z = _atom(text, 4, "CE")
    return record + "".join(
        row[:30] + f"{x + away:8.3f}{y:8.3f}{z:8.3f}" + row[54:] if int(row[22:26]) == 6 and row[12:16].strip() == "CE1" else row for row in text.splitlines(keepends=True)
    )


def _models(text: str) -> str:
    return f"MODEL        1\n{text}ENDMDL\nMODEL        2\n{text}ENDMDL\n"


def _glycan(text: str) -> str:
    x, y, z = _atom(text, 5, "OG")
    return text + hetero("NAG", "C1", "C", (x + 1.0, y + 1.0, z), 300)


def _haem(text: str) -> str:
    """A haem in little: iron on HIS 6, held by four nitrogens."""
    x, y, z = _atom(text, 6, "NE2")
    iron = (x + 2.0, y, z)
    around = [("NA", 0.0, 2.0), ("NB", 2.0, 0.0), ("NC", 0.0, -2.0), ("ND", 2.0, 2.0)]
    atoms = [hetero("HEM", "FE", "FE", iron, 154), *(hetero("HEM", name, "N", (x + 2.0, y + a, z + b), 154) for name, a, b in around)]
    return text + "".join(atoms)


def _two_metals(text: str) -> str:
    """Zinc on HIS 6, and on SER 5."""
    places = [_atom(text, 6, "NE2"), _atom(text, 5, "OG")]
    return text + "".join(hetero("ZN", "ZN", "ZN", (x + 2.0, y, z), 200 + k) for k, (x, y, z) in enumerate(places))


MOLFILE = """acetic acid
  drawn

  4  3  0  0  0  0            999 V2000
   -1.5370   -0.0030    0.0000 C   0  0
   -0.0180    0.0200    0.0000 C   0  0
    0.6720    1.0260    0.0000 O   0  0
    0.5680   -1.1920    0.0000 O   0  0
  1  2  1  0
  2  3  2  0
  2  4  1  0
M  END
"""


def _charmm_acetyl(text: str) -> str:
    """The first residue with the cap of CHARMM's patch ACE, whose atoms are of the same residue."""
    first = text.splitlines(keepends=True)[0]
    return "".join(first[:12] + f" {name:<3}" + first[16:30] + f"{float(first[30:38]) - k:8.3f}" + first[38:] for k, name in enumerate(("CY", "OY", "CAY"), 1)) + text


def _charmm_amide(text: str, *atoms: str) -> str:
    last = text.splitlines(keepends=True)[-1]
    return text + "".join(last[:12] + f" {name:<3}" + last[16:30] + f"{float(last[30:38]) + k:8.3f}" + last[38:] for k, name in enumerate(atoms, 1))


def _carbons(name: str, count: int) -> str:
    """A molecule of carbons, far from everything."""
    return "".join(hetero(name, f"C{k}", "C", (60.0 + 1.5 * k, 60.0, 60.0), 300) for k in range(1, count + 1))


def _nowhere(text: str, *atoms: str) -> str:
    """Atoms of LYS 4 at a place that modelling programs give those that they do not know."""
    return "".join(
        line[:30] + "  30.000   0.000   0.000" + line[54:] if int(line[22:26]) == 4 and line[12:16].strip() in atoms else line for line in text.splitlines(keepends=True)
    )


CASES: dict[str, tuple[Callable[[str], str], str, str]] = {
    "chlorophyll, which CHARMM calls chloride": (
        lambda t: t + hetero("CLA", "MG", "MG", FAR) + hetero("CLA", "NA", "N", (62.0, 60, 60)), r"CLA 200 of chain A: a ligand of 2 heavy atoms around Mg", "--drop CLA",
    ),
    "ligand": (lambda t: t + hetero("XYZ", "C1", "C", FAR) + hetero("XYZ", "C2", "C", (61.5, 60, 60)), r"XYZ 200 of chain A: a ligand of 2 heavy atoms", "--drop XYZ"),
    "haem": (_haem, "HEM 154 of chain A: a ligand of 5 heavy atoms around Fe, bonded to HIS 6 of chain A", "--drop HEM"),
    "molecule without hydrogens": (lambda t: MOLFILE, r"is a molfile \(SDF\) of a molecule of 4 atoms, none of them hydrogen, and no protein", "octitrate site"),
    "mol2": (lambda t: "@<TRIPOS>MOLECULE\nacid\n", "is a mol2 file of a molecule, and no protein", "octitrate site"),
    "broken off in a line": (lambda t: t[: len(t) - 50], r"protein\.pdb:\d+: the record ATOM ends before its coordinates|ends before its coordinates", "."),
    "DNA alone": (lambda t: "".join(hetero("DA", "P", "P", (6.0 * k, 0, 0), k, "C") for k in range(1, 4)), "there is no protein: 3 DNA", "amino acids"),
    "metal": (lambda t: t + hetero("ZN", "ZN", "ZN", FAR), "ZN 200 of chain A: a metal", "--drop ZN"),
    "water that is called otherwise": (lambda t: t + hetero("XYW", "O", "O", FAR), "XYW 200 of chain A: an oxygen by itself, such as water that is called otherwise\n", "^--drop XYW leaves it out; if it is water, call it HOH$"),
    "two metals": (_two_metals, "ZN 200 of chain A, 201 of chain A: a metal or an ion, held by HIS 6 of chain A, SER 5 of chain A\n", "--drop ZN"),
    "glycan": (_glycan, "NAG 300 of chain A: a sugar of a glycan at SER 5 of chain A", "--drop NAG"),
    "DNA": (lambda t: t + hetero("DA", "P", "P", FAR, 1, "B"), "DA 1 of chain B: DNA", "^--chains A takes the protein alone, --drop DA leaves the nucleic acid out$"),
    "amide": (lambda t: t + hetero("NH2", "N", "N", FAR), "NH2 200 of chain A: the amide at the end of a chain", "--drop NH2 --ends capped"),
    "one carbon": (lambda t: t + hetero("XYZ", "C1", "C", FAR), "XYZ 200 of chain A: a ligand of 1 heavy atom\n", "--drop XYZ"),
    "amide of AMBER": (lambda t: t + hetero("NHE", "N", "N", FAR), "NH2 200 of chain A: the amide at the end of a chain", "--drop NH2 leaves"),
    "buffer of the name of an amide": (lambda t: t + hetero("NHE", "N", "N", FAR) + hetero("NHE", "C1", "C", (61.5, 60, 60)), "NHE 200 of chain A: a ligand of 2 heavy atoms", "--drop NHE"),
    "acetyl of CHARMM": (_charmm_acetyl, "ALA 1 of chain A has atoms that ALA does not have: CY, OY, CAY", "residue of their own before it, named ACE, in which CAY is CH3"),
    "amides of CHARMM": (lambda t: _charmm_amide(t, "NT", "CAT"), "GLY 8 of chain A has atoms that GLY does not have: NT, CAT", "behind it, named NME, in which NT is N and CAT is C$"),
    "amide of CHARMM": (lambda t: _charmm_amide(t, "NT"), "GLY 8 of chain A has atoms that GLY does not have: NT\n", "behind it, named NH2, in which NT is N$"),
    "lipid": (lambda t: t + _carbons("PCW", 30), "PCW 300 of chain A: a lipid, a detergent or a part of one", "--drop PCW leaves it out; the box here is one of water: .* taken with --from"),
    "membrane of OPM": (lambda t: t + hetero("DUM", "O", "O", FAR) + hetero("DUM", "N", "N", (60.0, 60.0, 30.0), 201), r"DUM 200 of chain A, 201 of chain A: marks of the faces of a membrane \(OPM\)", "--drop DUM leaves them out"),
    "a ligand whose atoms have one name": (lambda t: t + "".join(hetero("LIG", e, e, (60.0 + 1.4 * k, 60, 60), 1, "B") for k, e in enumerate("CCCO")), "LIG 1 of chain B: a ligand of 4 heavy atoms", "^--drop LIG leaves it out$"),
    "a modified amino acid with an atom twice": (lambda t: renamed("".join(r + (f"{r[:30]}{float(r[30:38]) + 0.7:8.3f}{r[38:]}" if r[12:16] == " CB " and int(r[22:26]) == 5 else "") for r in t.splitlines(True)), 5, "QQQ"), "atom CB of QQQ 5 of chain A is there twice", "alternate"),
    "a ligand that is called as water": (
        lambda t: t + "".join(hetero("OPC", n, n[0], (60.0 + x, 60, 60)) for n, x in (("P1", 0.0), ("N1", 1.6), ("C1", 3.0), ("O1", 4.4))), "OPC 200 of chain A: a ligand of 4 heavy atoms", "^--drop OPC leaves it out$",
    ),
    "DNA of AMBER": (lambda t: t + moved(_carbons("DA5", 3).replace("C1 ", "C1'"), "B", 0.0), "DA 300 of chain B: DNA", "--chains A takes the protein alone, --drop DA"),
    "RNA of CHARMM": (lambda t: t + moved(_carbons("URA", 3).replace("C1 ", "C1'").replace("C2 ", "O2'"), "B", 0.0), "U 300 of chain B: RNA", "--drop U "),
    "sugar of CHARMM": (lambda t: t + "".join(r[:17] + "BGLC" + r[21:] for r in _carbons("BGL", 3).splitlines(True)), "BGLC 300 of chain A: a sugar", "--drop BGLC"),
    "D amino acid": (lambda t: renamed(t, 5, "DAS"), "DAS 5 of chain A: D-ASP", "^--mutate A:DAS5ASP builds L-ASP in its place; called ASP in the file it stays D$"),
    "several of one kind": (lambda t: renamed(renamed(t, 5, "SEP"), 2, "SEP"), "SEP 2 of chain A, 5 of chain A: phosphoserine", "^--mutate A:SEP2SER,A:SEP5SER builds SER in its place$"),
    "selenomethionine with an oxygen": (lambda t: renamed(t, 5, "MSE"), r"MET 5 of chain A \(MSE in the file\) has atoms that MET does not have: OG", "own name"),
    "records in words": (lambda t: "\n".join(" ".join(row.split()) for row in t.splitlines()), ":1: the record of an atom is not in the columns of the format: 'ATOM 1 N ALA A 1", "write the file anew"),
    "Asn or Asp": (lambda t: renamed(t, 5, "ASX"), "ASX 5 of chain A: Asn or Asp, which the experiment did not tell apart", "--mutate A:ASX5ASN"),
    "an atom that was not seen": (lambda t: _nowhere(t, "NZ"), r"CE and NZ of LYS 4 of chain A are \d\d\.\d Å apart, and a bond joins them", "take them out of the file: they are built anew; if a periodic box has cut the molecule"),
    "two atoms that were not seen": (lambda t: _nowhere(t, "CE", "NZ"), "CE and NZ of LYS 4 of chain A lie at one place", "take them out of the file"),
    "modified": (lambda t: renamed(t, 5, "SEP"), "SEP 5 of chain A: phosphoserine", "--mutate A:SEP5SER"),
    "unknown amino acid": (lambda t: renamed(t, 5, "QQQ"), "QQQ 5 of chain A: an amino acid that the force field does not know", "--mutate A:QQQ5ALA"),
    "C-alpha": (_c_alpha, r"8 of 8 residues have no backbone but CA \(first ALA 1 of chain A\)", "build all atoms"),
    "beads": (lambda t: _beads(t), r"protein\.pdb: a coarse-grained model: 8 of 8 residues have no backbone but BB, SC1 \(first ALA 1 of chain A\), and octitrate needs all atoms", "build all atoms"),
    "beads of water beside atoms": (lambda t: t + hetero("SOLV", "SOLV", "", FAR).replace("SOLV A", "SOLVA"), "SOLV 200 of chain A: a single particle of no element, such as a bead of a coarse-grained model\n", "--drop SOLV"),
    "gap": (lambda t: without(t, 4, 5), r"broken between GLY 3 and HIS 6: 2 residues are missing \(4, 5\)", "^--gaps cap ends the chain on both sides with neutral caps$"),
    "amino acid as a ligand": (
        lambda t: t + "TER\n" + "".join(row[:22] + " 301" + row[26:] for row in moved(t, "A", 40.0).splitlines(True) if int(row[22:26]) == 8),
        "GLY 301 of chain A is an amino acid by itself .* a ligand",
        "^--drop 'A:GLY 301' leaves it out$",
    ),
    "last residue behind a gap": (lambda t: without(t, 6, 7), "broken between SER 5 and GLY 8: 2 residues are missing", "--gaps cap ends the chain"),
    "two chains without names": (
        lambda t: "".join(row for row in t.splitlines(True) if row[12:16].strip() != "OXT") + "TER\n" + "".join(row[:22] + f"{int(row[22:26]) + 8:4d}" + row[26:] for row in moved(t, "A", 40.0).splitlines(True)),
        r"broken between GLY 8 and ALA 9, which are .* apart; the file ends a chain between them \(TER\)",
        "^if these are two chains, give each a name of its own .* if residues are missing, --gaps cap",
    ),
    "two chains without names and ends": (
        lambda t: "".join(r for r in t.splitlines(True) if r[12:16].strip() != "OXT") + "".join(r[:22] + f"{int(r[22:26]) + 8:4d}" + r[26:] for r in moved(t, "A", 40.0).splitlines(True)),
        r"broken between GLY 8 and ALA 9, which are \S+ Å apart\n",
        "^if these are two chains, give each a name .*; if a periodic box has cut the molecule, make it whole .*; if residues are missing, --gaps cap",
    ),
    "coordinates in nm": (
        lambda t: "".join(r[:30] + "".join(f"{float(r[a : a + 8]) / 10:8.3f}" for a in (30, 38, 46)) + r[54:] for r in t.splitlines(True)),
        r"protein\.pdb: N and CA of its residues are 0\.1\d Å apart, a tenth of a bond: the coordinates are in nm, it seems", "has them in Å",
    ),
    "charges of a PQR file": (lambda t: t.replace("  1.00  0.00", " -0.40 1.824", 1), "ALA 1 of chain A has an occupancy below zero, as in PQR files", "made from"),
    "a residue by itself": (lambda t: t + moved("".join(t.splitlines(True)[:5]), "B", 40.0), "ALA 1 of chain B is a chain by itself", r"^--drop 'B:ALA 1' leaves it out, as a ligand; if it is a chain, .*--chains\), or put caps on its ends \(--ends capped\)"),
    "one residue": (lambda t: without(t, *range(1, 8)), "GLY 8 of chain A is a chain by itself", "--ends capped"),
    "models": (_models, r"there are 2 models \(1 to 2\)", "--model 1"),
    "chains far from each other": (lambda t: t + moved(without(t, 8), "B", 800.0), r"the box would have \d+ million atoms: the protein is 8\d nm long", "--chains takes some of them"),
    "copies": (lambda t: t + moved(t, "B", 40.0), "chains A, B have the same sequence", "--chains A.*--chains all"),
    "copies, one without a name": (
        lambda t: moved(t, " ", 0.0) + moved(t, "A", 40.0),
        "chains B, A have the same sequence",
        "^prepare one unit with --chains B, or prepare everything with --chains all$",
    ),
    "out of order behind the end of a chain": (
        lambda t: without(t, 1, 2, 3, 4) + "TER\n" + without(t, 4, 5, 6, 7, 8),
        r"chain A is out of order: ALA 1 comes behind GLY 8, and no peptide bond joins them; the file ends a chain between them \(TER\)",
        "^if these are two chains, give each a name .*; if they are pieces of one, put those with the lower numbers first$",
    ),
    "pieces whose numbers overlap": (
        lambda t: "".join(row for row in t.splitlines(True) if int(row[22:26]) > 5) + "".join(row[:22] + f"{n + 6 if n == 3 else n:4d}" + row[26:] for row in moved(t, "A", 40.0).splitlines(True) if (n := int(row[22:26])) < 4),
        r"chain A is out of order: ALA 1 comes behind GLY 8, .*; the numbers of its pieces overlap \(6 to 8, 1 to 9\)",
        "column 22",
    ),
    "one name for two chains": (lambda t: (whole := "".join(r for r in t.splitlines(keepends=True) if r[12:16].strip() != "OXT")) + moved(whole, "A", 40.0), "ALA 1 of chain A is there twice", "name of its own"),
    "repeated atom": (lambda t: t + (last := t.splitlines()[-1])[:30] + f"{float(last[30:38]) + 0.7:8.3f}" + last[38:] + "\n", "of GLY 8 of chain A is there twice", "alternate"),
    "a ligand that is made like an amino acid": (
        lambda t: t + "".join(hetero("SAH", name, name[0], (FAR[0] + x, FAR[1], FAR[2])) for name, x in (("N", 0.0), ("CA", 1.4), ("C", 2.9))),
        "does not know SAH 200 of chain A: a ligand of 3 heavy atoms\n",
        "^--drop SAH leaves it out$",
    ),
    "a chromophore": (
        lambda t: renamed(t, 3, "CRO").replace(" N   CRO", " N1  CRO").replace(" CA  CRO", " CA1 CRO").replace(" C   CRO", " C3  CRO"),
        "does not know CRO 3 of chain A: a part of the chain that is no single amino acid, bonded to GLU 2 of chain A, LYS 4 of chain A\n",
        "^--drop CRO leaves it out, and --gaps cap ends the chain on both sides of it$",
    ),
    "a part of the chain with names of an amino acid": (
        lambda t: "".join(row[:30] + "  30.000" + row[38:] if int(row[22:26]) == 3 and row[12:16].strip() == "CA" else row for row in renamed(t, 3, "22W").splitlines(True)),
        "22W 3 of chain A: a part of the chain that is no single amino acid",
        "--drop 22W",
    ),
    "no protein": (lambda t: hetero("DA", "P", "P", FAR), "there is no protein: 1 DNA", "amino acids"),
    "a cross-link that the file names": (
        lambda t: _link(t, away=2.2),
        "the file names a bond between CE1 of HIS 6 of chain A and CE of LYS 4 of chain A, which are 2.20 Å apart\n",
        r"^cyclic and cross-linked chains are not prepared; if there is no such bond in the protein, take it out of the file \(LINK\)$",
    ),
    "a cross-link that was not seen": (
        lambda t: "".join(row for row in _link(t).splitlines(True) if row[:4] == "LINK" or (int(row[22:26]), row[12:16].strip()) != (4, "CE")),
        "the file names a bond between CE1 of HIS 6 of chain A and CE of LYS 4 of chain A, not both of which were seen\n",
        "take it out of the file",
    ),
    "names of chains of two letters": (
        lambda t: "".join(f"{row[:20]}B{row[21:]}" for row in t.splitlines(True)) + "".join(hetero("HOH", "O", "O", FAR, n).replace("HOH A", "HOHBA") for n in range(300, 330)),
        r"protein\.pdb: ALAB is ALA of a chain whose name has two letters \(BA\), it seems, in columns 21 and 22\n",
        "^give every chain a name of one letter ",
    ),
    "a chain that goes on under another name": (
        lambda t: "".join(row[:21] + "B" + row[22:] if int(row[22:26]) > 3 else row for row in t.splitlines(True)),
        r"C of GLY 3 of chain A and N of LYS 4 of chain B are 1\.3\d Å apart",
        "^if one chain goes on under another name, give both parts one name ",
    ),
    "strange atom": (lambda t: t.replace(" OG ", " QG "), "SER 5 of chain A has atoms that SER does not have: QG", "own name"),
    "no backbone": (
        lambda t: "".join(r for r in t.splitlines(keepends=True) if (int(r[22:26]), r[12:16].strip()) != (4, "C")),
        r"chain A is broken between GLY 3 and SER 5: 1 residue is missing \(LYS 4\)",
        "--gaps build builds 1 residue",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_gives_one_message_and_writes_nothing(case: str, structure: Write, report: Report) -> None:
    change, message, help = CASES[case]
    options = structure(change(peptide_text(*CHAIN)))
    before = sorted(options.input.parent.iterdir())
    with pytest.raises(Refused, match=message) as caught:
        prepare(options, report)
    assert re.search(help, caught.value.help), caught.value.help
    assert sorted(options.input.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("force_field", "message", "help"),
    [
        ("amber99sb-ildn", "^amber99sb-ildn does not know CA 200 of chain A: a metal or an ion$", "^--drop CA leaves it out$"),
        ("ff19SB", "^ff19SB has a charged sphere, and no more, for CA 200 of chain A: a metal or an ion$", "^--drop CA leaves it out, --keep CA takes the charged sphere"),
    ],
)
def test_an_ion_that_the_force_field_has_is_not_called_unknown(force_field: str, message: str, help: str, structure: Write, report: Report) -> None:
    options = structure(peptide_text("GLY", "GLU", "GLY") + hetero("CA", "CA", "CA", FAR))
    options.force_field = force_field
    with pytest.raises(Refused) as caught:
        prepare(options, report)
    assert re.search(message, caught.value.message) and re.search(help, caught.value.help), str(caught.value)


@pytest.mark.parametrize(("name", "element", "known"), [("FE", "FE", True), ("FE2", "FE", True), ("CU1", "CU", True), ("MN", "MN", True), ("MN3", "MN", False), ("3CO", "CO", False)])
def test_an_ion_of_an_element_with_several_charges_is_known_by_its_own(name: str, element: str, known: bool, structure: Write, report: Report) -> None:
    """ff19SB has iron with two charges and with three, and manganese with two alone."""
    options = structure(peptide_text("GLY", "GLU", "GLY") + hetero(name, element, element, FAR))
    options.force_field = "ff19SB"
    with pytest.raises(Refused) as caught:
        prepare(options, report)
    assert (f"--keep {name} takes the charged sphere" in caught.value.help) == known, str(caught.value)
    assert f"--drop {name} leaves it out" in caught.value.help


LOOP = ("ALA", "GLU", "GLY", *["SER", "GLY"] * 10, "LYS", "HIS", "GLY")


@pytest.mark.parametrize(
    ("gaps", "message", "help"),
    [
        ("refuse", r"chain A is broken between GLY 3 and LYS 24: 20 residues are missing \(SER 4, GLY 5, .*\)", "^--gaps cap ends the chain on both sides with neutral caps$"),
        ("build", r"between GLY 3 and LYS 24: 20 residues are missing .*; at most 8 amino acids are built", "--gaps cap .* or build the loop with a program for that"),
    ],
)
def test_a_loop_of_twenty_residues_is_neither_built_nor_passed_over(gaps: str, message: str, help: str, structure: Write, report: Report) -> None:
    missing = "".join(f"REMARK 465     {name} A {number:5d}\n" for number, name in enumerate(LOOP, 1) if 4 <= number <= 23)
    options = structure("REMARK 465   M RES C SSSEQI\n" + missing + without(peptide_text(*LOOP), *range(4, 24)))
    options.gaps = gaps
    with pytest.raises(Refused, match=message) as caught:
        prepare(options, report)
    assert re.search(help, caught.value.help), caught.value.help
    assert [path.name for path in options.input.parent.iterdir()] == ["protein.pdb"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mutate": ["E2?"]}, "is not understood"),
        ({"drop": ["HEM"]}, "nothing in the chosen chains is named HEM"),
        ({"keep": ["A:GLU 3"]}, r"nothing in the chosen chains is A:GLU 3\n  help: there are: GLU 2 of chain A"),
        ({"drop": ["HEM 154 155"]}, "molecule 'HEM 154 155' is not understood\n  help: write ZN, 'ZN 203', 'A:ZN 203' or A:ZN, several with commas"),
        ({"chains": ["Q"]}, "there is no protein chain Q"),
        ({"chains": ["Q", ""]}, "there is no protein chain Q, no chain without a name"),
        ({"model": 7}, "there is no model 7\n  help: choose one of 1$"),
        ({"mutate": ["E2D", "A:E2A"]}, "mutation A:E2A: E2D mutates the same residue"),
        ({"sites": ["E6"]}, "nothing that titrates is E6\n  help: HIS 6 of chain A stands there; by the numbers of the file there are near E6: GLU 2 of chain A"),
        ({"sites": ["SER 5"]}, "help: SER 5 of chain A stands there, whose side chain does not titrate; there are: "),
        ({"sites": ["GLU-2"]}, r"nothing that titrates is GLU-2\n  help: by the numbers of the file there are near GLU-2: GLU 2 of chain A"),
        ({"sites": ["GLU:2"]}, "nothing that titrates is GLU:2"),
        ({"sites": ["GLU 2;HIS 6"]}, "help: write GLU, 'GLU 35', 'GLU 100A', 'A:GLU 35', nterm, cterm or all, several with commas; there are: "),
        ({"altloc": "Z"}, "--altloc Z: no atom has such an alternate place"),
        ({"force_field": "ff03"}, "ff03"),
        ({"sites": ["ASP"]}, "nothing that titrates is ASP"),
        ({"sites": ["GLU", "GLN"]}, "nothing that titrates is GLN"),
        ({"sites": ["GLU", "ASP 9"]}, "nothing that titrates is ASP 9"),
        ({"sites": ["GLU", "Q:HIS"]}, "nothing that titrates is Q:HIS"),
        ({"force_field": "ff19SB", "water": "tip4pew"}, "no group of this protein between pH 1 and 13 has a correction V_MM with ff19SB and this water: amino end ALA 1"),
    ],
)
def test_options_that_name_nothing_are_refused(change: dict[str, object], message: str, structure: Write, report: Report) -> None:
    options = structure(peptide_text(*CHAIN))
    for key, value in change.items():
        setattr(options, key, value)
    with pytest.raises(Refused, match=message):
        prepare(options, report)
    assert not options.output.exists()  # type: ignore[union-attr]


def test_a_loop_with_a_residue_that_is_not_known_is_not_built(structure: Write, report: Report) -> None:
    options = structure("REMARK 465   M RES C SSSEQI\nREMARK 465     SEP A     4\n" + without(peptide_text(*CHAIN), 4))
    options.gaps = "build"
    with pytest.raises(Refused, match=r"1 residue is missing \(SEP 4\); SEP: not among the twenty amino acids, which alone are built"):
        prepare(options, report)


@pytest.mark.parametrize(
    ("asked", "message", "help"),
    [
        ("A9Q", "^mutation A9Q: there is no amino acid 9$", "^by the numbers of the file there are near it: GLY 8 of chain A, ALA 7 of chain A, HIS 6 of chain A, SER 5 of chain A$"),
        ("A:A9Q", "^mutation A:A9Q: there is no amino acid 9 in chain A$", "GLY 8 of chain A"),
        ("D200N", "^mutation D200N: there is no amino acid 200, but ZN 200 of chain A$", "GLY 8 of chain A"),
        ("Q:A9Q", "^mutation Q:A9Q: there is no protein chain Q$", "^the chain is A$"),
        ("A2Q", "^mutation A2Q: the residue there is GLU 2 of chain A$", "^by the numbers of the file the nearest ALA are ALA 1 of chain A, ALA 7 of chain A; --mutate A:E2Q takes"),
        ("E2Q", r"^mutation E2Q: residue 2 is in chains A, B$", "^name one: A:E2Q$"),
        ("A:w2q", "^mutation A:w2q: the residue there is GLU 2 of chain A$", "^there is no TRP in chain A; --mutate A:E2Q takes the residue that is there$"),
    ],
)
def test_a_mutation_of_what_is_not_there_says_what_is(asked: str, message: str, help: str, structure: Write, report: Report) -> None:
    two = moved(peptide_text(*CHAIN), " ", 0.0) + moved(peptide_text(*CHAIN), "B", 40.0)
    options = structure(two if asked == "E2Q" else peptide_text(*CHAIN) + hetero("ZN", "ZN", "ZN", FAR))
    options.mutate, options.chains = [asked], ["all"]
    with pytest.raises(Refused, match="mutation") as caught:
        prepare(options, report)
    assert re.search(message, caught.value.message) and re.search(help, caught.value.help), str(caught.value)


def test_a_file_that_cannot_be_written_is_no_traceback(tmp_path: Path) -> None:
    """As on a full disk; nothing is left of the folder."""
    with pytest.raises(Refused, match=r"new: x+ cannot be written: File name too long") as refused, Folder(tmp_path / "new") as out:
        out.write("system.gro", "")
        out.write("x" * 300, "")
    assert refused.value.help == "make room, or choose another folder (-o FOLDER)"
    assert not list(tmp_path.iterdir())


def test_a_folder_of_others_is_not_touched(structure: Write, report: Report) -> None:
    options: Options = structure(peptide_text(*CHAIN))
    assert options.output is not None
    options.output.mkdir()
    (options.output / "thesis.tex").write_text("mine")
    with pytest.raises(Refused, match="was not written by a preparation"):
        prepare(options, report)
    assert [p.name for p in options.output.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(("apart", "is_disulfide", "message"), [(0.151, True, None), (0.151, False, "1.51 Å apart: a bond that is not known, or a clash"), (0.1, True, "1.00 Å apart")])
def test_a_short_disulfide_is_no_bond_that_is_not_known(apart: float, is_disulfide: bool, message: str | None) -> None:
    """4ZHL has one of 1.51 Å, shorter than what other atoms that are no neighbours may come."""
    pair = [Residue(name="CYS", chain="A", number=number, insertion="", atoms=[Atom("SG", "", 1.0, (x, 0.0, 0.0), "S")]) for number, x in ((3, 0.0), (9, apart))]
    chain, pairs = [Segment("A", pair)], [(pair[0], pair[1])] if is_disulfide else []
    if message is None:
        unlike_bonds(chain, pairs)
        return
    with pytest.raises(Refused, match=message) as caught:
        unlike_bonds(chain, pairs)
    assert caught.value.help.endswith("SG of CYS 3 of chain A or SG of CYS 9 of chain A may be taken out of the file with what hangs on it, and is built anew")


@pytest.mark.parametrize(("name", "atom", "apart", "is_bond"), [("CYS", "SG", 0.178, True), ("MET", "SD", 0.184, True), ("CYS", "SG", 0.26, False), ("SER", "OG", 0.178, False)])
def test_a_carbon_on_a_sulfur_is_a_bond(name: str, atom: str, apart: float, is_bond: bool) -> None:
    """C–S is 0.175 to 0.185 nm long, where no other two atoms of a protein are bonded; thioethers passed for free thiols."""
    sulfur = Residue(name=name, chain="A", number=3, insertion="", atoms=[Atom(atom, "", 1.0, (0.0, 0.0, 0.0), atom[0])])
    ring = Residue(name="PHE", chain="A", number=9, insertion="", atoms=[Atom("CE2", "", 1.0, (apart, 0.0, 0.0), "C")])
    chain = [Segment("A", [sulfur, ring])]
    if is_bond:
        with pytest.raises(Refused, match=f"{atom} of {name} 3 of chain A and CE2 of PHE 9 of chain A are 1.[78]. Å apart"):
            unlike_bonds(chain, [])
    else:
        unlike_bonds(chain, [])


@pytest.mark.parametrize(
    ("link", "warning"),
    [
        (Link((("A", 3, ""), ("A", 9, "")), ("LYS", "ASP"), ("NZ", "CG")), "names a bond between NZ of LYS 3 of chain A and CG of ASP 9 of chain A, which are 7.0 Å apart: none is built"),
        (Link((("A", 3, ""), ("A", 9, "")), ("ARG", "ASP"), ("NZ", "CG")), ""),  # it was mutated
        (Link((("A", 3, ""), ("B", 9, "")), ("LYS", "ASP"), ("NZ", "CG")), ""),
        (Link((("A", 3, ""), ("A", 9, "")), ("LYS", "ASP"), ("C", "N")), ""),
    ],
    ids=["far apart", "of another residue", "to what is left out", "of a peptide"],
)
def test_bonds_that_are_named_and_not_there_are_passed_over(link: Link, warning: str, report: Report) -> None:
    pair = [Residue(name=name, chain="A", number=number, insertion="", atoms=[Atom(atom, "", 1.0, (0.0, 0.0, x), atom[0])]) for name, number, atom, x in (("LYS", 3, "NZ", 0.0), ("ASP", 9, "CG", 0.7))]
    named_bonds(Entry("x.pdb", "PDB", {}, links=[link]), [Segment("A", pair)], report)
    said = report.warnings()
    assert len(said) == bool(warning) and warning in "".join(said)


@pytest.mark.parametrize(("apart", "warned"), [(0.133, False), (0.7, True)])
def test_a_ring_that_the_file_names_and_does_not_close_is_warned_of(apart: float, warned: bool, report: Report) -> None:
    """A cyclic peptide got charged ends without a word."""
    pair = [Residue(name="ALA", chain="A", number=number, insertion="", atoms=[Atom(atom, "", 1.0, (0.0, 0.0, x), atom)]) for number, atom, x in ((1, "N", 0.0), (9, "C", apart))]
    link = Link((("A", 1, ""), ("A", 9, "")), ("ALA", "ALA"), ("N", "C"))
    named_bonds(Entry("x.pdb", "PDB", {}, links=[link]), [Segment("A", pair)], report)
    assert report.warnings() == ["the file names a bond between N of ALA 1 of chain A and C of ALA 9 of chain A, which are 7.0 Å apart: none is built"] * warned
