"""Decisions about a structure that can be prepared: what becomes of it, and what is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Write, hetero, moved, notes, peptide_text, renamed, residues, without, written

from octitrate.prepare import solvate
from octitrate.prepare.report import Report

CHAIN = ("ALA", "GLU", "GLY", "LYS", "ASP", "HIS", "SER", "GLY")

Change = Callable[[str], str]
LINES = str.splitlines


def _first_altloc(text: str) -> str:
    """SER 7 with its OG at two places, B the likelier one."""
    out = []
    for line in LINES(text, keepends=True):
        if int(line[22:26]) == 7 and line[12:16].strip() == "OG":
            out.append(line[:16] + "A" + line[17:54] + "  0.30" + line[60:])
            line = line[:16] + "B" + line[17:30] + f"{float(line[30:38]) + 0.5:8.3f}" + line[38:54] + "  0.70" + line[60:]
        out.append(line)
    return "".join(out)


def _mixture(text: str) -> str:
    """SER 7 in three molecules of ten of the crystal, ALA in the others."""
    rows = [row for row in LINES(text, keepends=True) if int(row[22:26]) == 7]
    both = [row[:16] + "A" + row[17:54] + "  0.30" + row[60:] for row in rows]
    both += [row[:16] + "BALA" + row[20:54] + "  0.70" + row[60:] for row in rows if row[12:16].strip() != "OG"]
    return text.replace("".join(rows), "".join(both))


def _shared(text: str) -> str:
    """SER 7 in three molecules of ten and ALA in the others, which have N in common."""
    rows = [row for row in LINES(text, keepends=True) if int(row[22:26]) == 7 and row[12:16].strip() != "N"]
    both = [row[:16] + "A" + row[17:54] + "  0.30" + row[60:] for row in rows]
    both += [row[:16] + "BALA" + row[20:54] + "  0.70" + row[60:] for row in rows if row[12:16].strip() != "OG"]
    return text.replace("".join(rows), "".join(both))


def _two_ways(text: str) -> str:
    """The peptide bond of HIS 6 and SER 7 at two places, 1 Å apart: the second is the likelier one of HIS, the first that of SER and of both together."""
    out = []
    for row in LINES(text, keepends=True):
        number, name = int(row[22:26]), row[12:16].strip()
        if (number, name) in ((6, "C"), (6, "O"), (7, "N"), (7, "CA")):
            one, other = ("  0.45", "  0.55") if number == 6 else ("  0.60", "  0.40")
            out.append(row[:16] + "A" + row[17:54] + one + row[60:])
            row = row[:16] + "B" + row[17:38] + f"{float(row[38:46]) + 1.0:8.3f}" + row[46:54] + other + row[60:]
        out.append(row)
    return "".join(out)


def _repeated(text: str, away: float, occupancies: tuple[str, str]) -> str:
    """SER 7 with its OG twice and no marks, the second so far (Å) from the first."""
    row = next(row for row in LINES(text, keepends=True) if int(row[22:26]) == 7 and row[12:16].strip() == "OG")
    one, other = (row[:54] + f"{occupancy:>6}" + row[60:] for occupancy in occupancies)
    return text.replace(row, one + other[:30] + f"{float(row[30:38]) + away:8.3f}" + other[38:])


def _capped(text: str) -> str:
    """The last residue is a cap as GROMACS calls it, NAC with N and CH3."""
    kept = [row for row in LINES(renamed(text, 8, "NAC"), keepends=True) if int(row[22:26]) != 8 or row[12:16].strip() in ("N", "CA")]
    return "".join(kept).replace(" CA  NAC", " CH3 NAC")


def _amide(text: str) -> str:
    """As an entry whose sequence has the amide at the end of the chain, in the place of OXT."""
    rows = [row if row[12:16].strip() != "OXT" else f"HETATM{row[6:12]} N   NH2 A   9 {row[27:76]} N\n" for row in LINES(text, True)]
    return SEQUENCE.replace(f" {len(CHAIN)} ", f" {len(CHAIN) + 1} ").replace("\n", " NH2\n") + "".join(rows)


def _incomplete(text: str) -> str:
    """LYS 4 with two ways for its side chain, 3 Å apart, of which the likelier one ends at CD."""
    out = []
    for line in LINES(text, keepends=True):
        if int(line[22:26]) == 4 and line[12:16].strip() in ("CG", "CD", "CE", "NZ"):
            if line[12:16].strip() in ("CG", "CD"):
                out.append(line[:16] + "A" + line[17:54] + "  0.60" + line[60:])
            line = line[:16] + "B" + line[17:38] + f"{float(line[38:46]) + 3.0:8.3f}" + line[46:54] + "  0.40" + line[60:]
        out.append(line)
    return "".join(out)


def _selenium(text: str) -> str:
    """SER 7 is selenomethionine in six molecules of ten of the crystal and methionine in the others, both without what is behind CB."""
    rows = [row for row in LINES(text, keepends=True) if int(row[22:26]) == 7]
    stay = [row for row in rows if row[12:16].strip() in ("N", "CA", "C", "O", "CB")]
    both = [row[:16] + "AMSE" + row[20:54] + "  0.60" + row[60:] for row in stay] + [row[:16] + "BMET" + row[20:54] + "  0.40" + row[60:] for row in stay]
    return text.replace("".join(rows), "".join(both))


def _oxt_inside(text: str) -> str:
    """LYS 4 has an OXT, as where a chain was joined of pieces."""
    last = next(row for row in LINES(text, keepends=True) if (int(row[22:26]), row[12:16].strip()) == (4, "O"))
    return text.replace(last, last + last.replace(" O  ", " OXT").replace(last[30:38], f"{float(last[30:38]) + 1.5:8.3f}"))


def _elements_of_names(text: str) -> str:
    """Hydrogens whose elements are the first two letters of their names: SER 7 with mercury, helium on HIS 6."""
    row = next(row for row in LINES(text, keepends=True) if (int(row[22:26]), row[12:16].strip()) == (7, "OG"))
    place = row[:30] + f"{float(row[30:38]) + 0.7:8.3f}" + row[38:76]
    return text.replace(row, row + place.replace(" OG ", " HG ") + "HG\n" + place.replace(" OG ", "1HB ") + "HB\n")


def _segment(text: str, name: str) -> str:
    """The records with a segment in columns 73 to 76."""
    return "".join(f"{row[:72]:<72}{name:<4}{row[76:]}" for row in LINES(text, True))


def _zinc(text: str) -> str:
    x, y, z = next((float(r[30:38]), float(r[38:46]), float(r[46:54])) for r in LINES(text) if (int(r[22:26]), r[12:16].strip()) == (6, "NE2"))
    return text + hetero("ZN2", "ZN", "ZN", (x + 2.0, y, z))


def _thiolate(text: str) -> str:
    """A haem in little, whose iron is 2.3 Å from the sulfur of a cysteine in the place of SER 7, as in a cytochrome P450: no other atom of it is near."""
    text = renamed(text, 7, "CYS").replace(" OG  CYS", " SG  CYS")
    text = "".join(r[:76] + " S" + r[78:] if r[12:16] == " SG " else r for r in LINES(text, True))
    x, y, z = next((float(r[30:38]), float(r[38:46]), float(r[46:54])) for r in LINES(text) if r[12:16] == " SG ")
    return text + hetero("HEM", "FE", "FE", (x, y, z + 2.3)) + "".join(hetero("HEM", name, "N", (x + a, y + b, z + 2.5)) for name, a, b in (("NA", 2, 0), ("NB", 0, 2), ("NC", -2, 0), ("ND", 0, -2)))


def _held(text: str) -> str:
    """Sodium between both oxygens of GLU 2, and another far away."""
    ends = [tuple(float(r[k : k + 8]) for k in (30, 38, 46)) for r in LINES(text) if int(r[22:26]) == 2 and r[12:16].strip() in ("CD", "OE1", "OE2")]
    carbon, *oxygens = ends
    middle = [sum(o[k] for o in oxygens) / 2 for k in range(3)]
    away = [m - c for m, c in zip(middle, carbon, strict=True)]
    norm = sum(a * a for a in away) ** 0.5
    x, y, z = (m + 2.1 * a / norm for m, a in zip(middle, away, strict=True))
    return text + hetero("NA", "NA", "NA", (x, y, z)) + hetero("NA", "NA", "NA", (60, 60, 60), 201)


def _four_zincs(text: str) -> str:
    return _zinc(text) + "".join(hetero("ZN", "ZN", "ZN", (x, 15, 15), number, chain) for x, number, chain in ((0, 201, "A"), (8, 202, "A"), (16, 201, "a")))


SEQUENCE = f"SEQRES   1 A    {len(CHAIN)}  {' '.join(CHAIN)}\n"

CASES: dict[str, tuple[Change, dict[str, Any], str]] = {
    "selenomethionine": (
        lambda t: renamed(t, 7, "MSE").replace(" OG  MSE", "SE   MSE"),
        {},
        "selenomethionine becomes methionine: MSE 7 of chain A",
    ),
    "alternates": (_first_altloc, {}, r"SER 7 of chain A: B of A \(0.30\), B \(0.70\)"),
    "two residues in one place": (_mixture, {}, r"chain A \(8 residues\)\n7 of chain A is SER, ALA in the crystal: ALA is taken"),
    "two residues in one place, the other one asked for": (_mixture, {"altloc": "A"}, r"chain A \(8 residues\)\n7 of chain A is SER, ALA in the crystal: SER is taken"),
    "two residues in one place with atoms in common": (_shared, {}, r"chain A \(8 residues\)\n7 of chain A is SER, ALA in the crystal: ALA is taken(.|\n)*no heavy atom of the protein is missing"),
    "an atom twice at its place": (lambda t: _repeated(t, 0.0, ("1.00", "1.00")), {}, "1 residue has atoms more than once at the same place, which are taken once: SER 7 of chain A"),
    "alternates without marks": (
        lambda t: _repeated(t, 0.5, ("0.30", "0.70")),
        {},
        r"1 residue has atoms at several places without marks, whose occupancies are those of alternates: SER 7 of chain A\n(.|\n)*SER 7 of chain A: B of A \(0.30\), B \(0.70\)",
    ),
    "a last residue with N alone": (
        lambda t: "".join(r for r in LINES(t, True) if int(r[22:26]) != 8 or r[12:16].strip() == "N"),
        {},
        r"SER 7 of chain A is the last residue there is, 1 residue after it was not seen: capped \(NME\)\n(.|\n)*GLY 8 of chain A has no CA, C, .* it is left out and counts as a residue that was not seen",
    ),
    "alternates of a peptide bond": (_two_ways, {}, r"HIS 6 of chain A: A of A \(0.45\), B \(0.55\)\nSER 7 of chain A: A of A \(0.60\), B \(0.40\)"),
    "alternates of others": (lambda t: t + moved(_first_altloc(t), "B", 40.0), {"chains": ["A"]}, r"\(8 residues\)\nALA 1 of chain A is the first"),
    "missing atoms": (lambda t: "".join(r for r in LINES(t, True) if r[12:16].strip() not in ("OG", "NZ", "CE")), {}, r"LYS 4 of chain A \(CE, NZ\)"),
    "missing atoms of the likelier alternate": (_incomplete, {}, r"LYS 4 of chain A: A of A \(0.60\), B \(0.40\); CE, NZ, which it lacks, are too far from it in others\n(.*\n)*.*LYS 4 of chain A \(CE, NZ\)"),
    "selenomethionine and methionine": (_selenium, {}, "7 of chain A is MSE, MET in the crystal: MSE is taken"),
    "OXT inside a chain": (_oxt_inside, {}, "LYS 4 of chain A has an OXT though ASP 5 of chain A is bonded to it: OXT is left out"),
    "elements of names": (_elements_of_names, {}, "no heavy atom of the protein is missing"),
    "metal of CHARMM dropped": (_zinc, {"drop": ["ZN2"]}, r"ZN, 1 molecule \(200 of chain A\): left out, as asked\n(.*\n)*ZN was held by HIS 6 of chain A, which is prepared without it"),
    "iron of a haem on sulfur": (_thiolate, {"drop": ["HEM"]}, "HEM was bonded to CYS 7 of chain A, which is prepared without it"),
    "sodium that is held": (_held, {}, r"NA \(an ion of the salt\), 2 molecules .*: left out(.*\n)*1 ion of the salt was held by the protein, which is prepared without it: NA 200 of chain A by GLU 2 of chain A; --keep 'A:NA 200' keeps it"),
    "sodium kept": (_held, {"keep": ["A:NA 200"]}, "NA 200 of chain A is kept as a charged sphere of the force field, held by GLU 2 of chain A"),
    "metal kept": (_zinc, {"keep": ["ZN"], "force_field": "ff19SB"}, r"ZN 200 of chain A is kept .*held by HIS 6 of chain A: .*built with all its protons, acids, histidines and cysteines that hold"),
    "metals by numbers": (_four_zincs, {"drop": ["A:zn 201", "ZN 202"], "keep": ["ZN2 200", "a:ZN"], "force_field": "ff19SB"}, r"ZN, 2 molecules \(201 of chain A, 202 of chain A\): left out, as asked\nZN 200 of chain A is kept .*\nZN 201 of chain a is kept "),
    "a metal and water of another chain": (
        lambda t: _zinc(t).replace("ZN2 A", "ZN2 B") + moved(_zinc(t), "B", 40.0) + hetero("HOH", "O", "O", (-3.5, 0.0, 0.0), 301, "B") + hetero("HOH", "O", "O", (36.5, 0.0, 0.0), 302, "B"),
        {"chains": ["A"], "drop": ["ZN2"]},
        r"bonded to both: ZN 200 of chain B, 1 molecule of water\n(.*\n)*ZN, 1 molecule \(200 of chain B\): left out, as asked\nZN was held by HIS 6 of chain A(.*\n)*1 molecule of water of the crystal is kept",
    ),
    "all metals but one": (_four_zincs, {"drop": ["ZN"], "keep": ["A:ZN 200"], "force_field": "ff19SB"}, r"ZN, 3 molecules \(201 of chain A, 202 of chain A, 201 of chain a\): left out, as asked\nZN 200 of chain A is kept "),
    "a molecule of water": (
        lambda t: t + hetero("HOH", "O", "O", (-3.5, 0.0, 0.0), 301) + hetero("HOH", "O", "O", (-3.5, 3.5, 0.0), 302),
        {"drop": ["HOH 302"]},
        r"HOH, 1 molecule \(302 of chain A\): left out, as asked\n(.*\n)*1 molecule of water of the crystal is kept",
    ),
    "one molecule of water": (lambda t: t + hetero("HOH", "O", "O", (-3.5, 0.0, 0.0)), {}, "1 molecule of water of the crystal is kept"),
    "water of Desmond": (lambda t: t + hetero("T3P", "O", "O", (-3.5, 0.0, 0.0)), {}, "1 molecule of water of the crystal is kept"),
    "water of a model with an extra point, and at two places": (
        lambda t: t + hetero("OPC", "O", "O", (-3.5, 0.0, 0.0)) + hetero("OPC", "EPW", "", (-3.4, 0.0, 0.0)) + "".join(hetero("WAT", "O", "O", (-3.5, 3.5, z), 201).replace(" O    WAT", f" O   {m}WAT") for z, m in ((0.0, "A"), (1.0, "B"))),
        {},
        "2 molecules of water of the crystal are kept",
    ),
    "no occupancies": (lambda t: t.replace("  1.00  0.00", "  0.00  0.00"), {}, "the file has no occupancies: all of them are 0"),
    "ends of the sequence": (
        lambda t: SEQUENCE.replace("ALA GLU GLY", "MET ALA GLU GLY") + "".join(r[:12] + r[12:20].lower() + r[20:] for r in LINES(t, True)),
        {},
        r"ALA 1 of chain A is the first residue there is, 1 residue before it was not seen: capped \(ACE\)",
    ),
    "chain without a name": (lambda t: "".join(r[:21] + " " + r[22:] for r in LINES(t, True)), {}, "the chain without a name is called A in options, messages, the system and the job"),
    "chain without a name chosen": (lambda t: moved(t, " ", 0.0) + moved(t, "A", 40.0), {"chains": [""]}, r"chain B, as asked, of B \(8 residues, without a name in the file\), A \(8 residues\)"),
    "chain without a name chosen by its letter": (lambda t: moved(t, " ", 0.0) + moved(t, "A", 40.0), {"chains": ["B"], "mutate": ["B:S7S"], "sites": ["B:GLU", "ASP", "HIS", "cterm"]}, "chain B, as asked, of B"),
    "segments of CHARMM": (
        lambda t: _segment(moved(t, " ", 0.0), "PROA") + _segment(moved(t, " ", 40.0), "PROB"),
        {"chains": ["PROB"]},
        r"chains without a name are called by their segments \(columns 73 to 76\): PROA, PROB\n(.*\n)*GLY 8 of chain PROB is the last residue",
    ),
    "segments of one name": (lambda t: _segment(t, "PROA") + _segment(moved(t, "A", 40.0), "PROB"), {"chains": ["PROA"]}, "chains called A are called by their segments"),
    "code of an old entry": (lambda t: _segment(moved(t, " ", 0.0), "1ABC"), {}, r"chain A \(8 residues, without a name in the file\)"),
    "pieces in another order": (
        lambda t: without(t, 1, 2, 3) + "TER\n" + without(t, 4, 5, 6, 7, 8),
        {},
        "chain A has pieces in another order than that of its peptide bonds, and is taken in that: 1 to 8\nALA 1 of chain A is the first residue: a charged end\nGLY 8 of chain A is the last",
    ),
    "a chain that comes back": (
        lambda t: without(t, 1, 2, 3) + moved(t, "B", 30.0) + without(t, 4, 5, 6, 7, 8),
        {"chains": ["A"]},
        "and is taken in that: 1 to 8\nALA 1 of chain A is the first residue: a charged end",
    ),
    "pieces in another order with a gap": (
        lambda t: without(t, 1, 2, 3) + without(t, 3, 4, 5, 6, 7, 8),
        {"gaps": "cap"},
        r"in another order than that of their numbers, and is taken in that: 1 to 2, 4 to 8\nchain A is broken between GLU 2 and LYS 4: 1 residue is missing \(3\): capped on both sides",
    ),
    "loop of the sequence built": (lambda t: SEQUENCE + without(t, 4), {"gaps": "build"}, r"1 residue is missing \(LYS 4\): built without having been seen"),
    "gap with caps": (lambda t: without(t, 4), {"gaps": "cap"}, r"between GLY 3 and ASP 5: 1 residue is missing \(4\): capped on both sides"),
    "two chains of one name and the same numbers": (lambda t: t + moved(t, "A", 30.0), {"chains": ["all"]}, "chain A ends and its numbers come again: what follows is a chain of its own, B begins with ALA 1\n(.*\n)*GLY 8 of chain B is the last residue"),
    "three chains without names and with the same numbers": (
        lambda t: moved(t, " ", 0.0) + moved(t.replace(" OXT ", " OT2 "), " ", 30.0) + moved(t, " ", 60.0) + hetero("HOH", "O", "O", (-3.5, 0.0, 0.0), chain=" "),
        {"chains": ["A", "B"]},
        "is called A in options.*\nchain A ends and its numbers come again: what follows is a chain of its own, B begins with ALA 1, C begins with ALA 1\n(.*\n)*GLY 8 of chain B is the last residue(.*\n)*1 molecule of water of the crystal is kept",
    ),
    "two chains of one name": (
        lambda t: t + "TER\n" + "".join(line[:22] + f"{int(line[22:26]) + 8:4d}" + line[26:] for line in moved(t, "A", 30.0).splitlines(keepends=True)),
        {},
        r"chain A has two chains: GLY 8 of chain A is the last residue of one \(it has OXT\), ALA 9 of chain A the first of the next: charged ends",
    ),
    "two chains of one name whose numbers fall": (
        lambda t: "".join(line[:22] + f"{int(line[22:26]) + 8:4d}" + line[26:] for line in moved(t, "A", 30.0).splitlines(keepends=True)) + "TER\n" + t,
        {},
        r"GLY 16 of chain A is the last residue of one \(it has OXT\), ALA 1 of chain A the first of the next: charged ends",
    ),
    "cap of GROMACS": (_capped, {}, "no heavy atom of the protein is missing"),
    "amide dropped": (_amide, {"drop": ["NH2"]}, r"NH2, 1 molecule \(9 of chain A\): left out, as asked\n(.*\n)*GLY 8 of chain A is the last residue: a charged end\n"),
    "amide that was not seen": (
        lambda t: "".join(row for row in LINES(_amide(t), True) if row[17:20] != "NH2" or row.startswith("SEQRES")),
        {},
        r"GLY 8 of chain A is the last residue there is, 1 residue after it was not seen: capped \(NME\)",
    ),
    "cap dropped": (
        lambda t: SEQUENCE.replace(CHAIN[-1] + "\n", "NME\n") + _capped(t),
        {"drop": ["NME"]},
        "SER 7 of chain A is the last residue: a charged end\n",
    ),
    "ligand dropped": (lambda t: t + hetero("XYZ", "C1", "C", (60, 60, 60)), {"drop": ["XYZ"]}, r"XYZ, 1 molecule \(200 of chain A\): left out, as asked"),
    "ligand of a docking program dropped": (lambda t: t + "".join(hetero("LIG", e, e, (60.0 + 1.4 * k, 60, 60), 1, "B") for k, e in enumerate("CCCO")), {"drop": ["LIG"]}, r"LIG, 1 molecule \(1 of chain B\): left out, as asked"),
    "additive": (lambda t: t + hetero("SO4", "S", "S", (60, 60, 60)), {}, r"SO4 \(sulfate\), 1 molecule .* it comes from the crystallisation"),
    "one of two chains": (lambda t: t + moved(t, "B", 40.0), {"chains": ["B"]}, "chain B, as asked, of A"),
    "mutation": (lambda t: t, {"mutate": ["A:K4E"]}, "LYS 4 of chain A becomes GLU"),
    "mutation of residue 104": (lambda t: "".join(line[:22] + f"{int(line[22:26]) + 100:4d}" + line[26:] if line.startswith("ATOM") else line for line in t.splitlines(keepends=True)), {"mutate": ["K104E"]}, "LYS 104 of chain A becomes GLU"),
    "mutation to glycine": (lambda t: t, {"mutate": ["SER7GLY"]}, "SER 7 of chain A becomes GLY"),
    "modified residue replaced": (lambda t: renamed(t, 7, "SEP"), {"mutate": ["SEP7SER"]}, "SEP 7 of chain A becomes SER"),
    "hydrogens": (lambda t: t + t.splitlines()[0][:12] + " H1 " + t.splitlines()[0][16:76] + " H\n", {}, "1 hydrogen of the file is left out"),
    "model": (lambda t: f"MODEL        1\n{t}ENDMDL\nMODEL        2\n{t}ENDMDL\n", {"model": 2}, "model 2 of 2"),
    "loop built": (
        lambda t: "REMARK 465   M RES C SSSEQI\nREMARK 465     LYS A     4\n" + without(t, 4),
        {"gaps": "build"},
        r"1 residue is missing \(LYS 4\): built without having been seen",
    ),
    "loop with selenomethionine built": (
        lambda t: "REMARK 465   M RES C SSSEQI\nREMARK 465     MSE A     4\n" + without(t, 4),
        {"gaps": "build"},
        r"1 residue is missing \(MET 4\): built without having been seen",
    ),
    "names of programs": (lambda t: renamed(renamed(t, 2, "GLH"), 6, "HIE"), {}, "names of other programs for what the PDB calls otherwise: 1 GLH → GLU, 1 HIE → HIS"),
    "ends of GROMACS": (lambda t: t.replace(" OXT GLY A   8", " OC2 GLY A   8").replace(" O   GLY A   8", " OC1 GLY A   8"), {}, "no heavy atom of the protein is missing"),
    "names in small letters": (lambda t: "".join(r[:12] + r[12:20].lower() + r[20:] for r in LINES(t, True)), {}, "no heavy atom of the protein is missing"),
    "ions of one number": (
        lambda t: t + hetero("SOD", "SOD", "NA", (0, 15, 15)) + hetero("SOD", "SOD", "NA", (9, 15, 15), 201) + hetero("SOD", "SOD", "NA", (18, 15, 15)),
        {},
        r"SOD \(an ion of the salt\), 3 molecules \(200 of chain A, 201 of chain A, 200 of chain A\): left out, the salt",
    ),
    "ions of AMBER": (lambda t: t + hetero("Na+", "Na+", "", (60, 60, 60)), {}, r"NA \(an ion of the salt\), 1 molecule \(200 of chain A\): left out, the salt"),
    "DNA that is not asked for": (
        lambda t: t + hetero("DA", "P", "P", (3, 3, 3), 1, "B"),
        {"chains": ["A"]},
        r"chain B is DNA \(1 residue\) and was not asked for: left out",
    ),
    "mark before the first line": (lambda t: "\ufeff" + t, {}, "no heavy atom of the protein is missing"),
    "kinds that a protein lacks": (lambda t: t, {"sites": ["GLU", "ASP", "HIS", "cterm", "TYR", "cys"]}, "the protein has no TYR and no cys\n4 of "),
    "capped ends": (lambda t: t, {"ends": "capped"}, r"GLY 8 of chain A is the last residue there is, as asked: capped \(NME\)"),
}
BUILT = {
    "iron of a haem on sulfur": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "CYS", "ZGLY"],
    "selenomethionine and methionine": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "MET", "ZGLY"],
    "selenomethionine": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "MET", "ZGLY"],
    "gap with caps": ["ALA", "GL3", "GLY", "NME", "ACE", "AS3", "HIP", "SER", "ZGLY"],
    "pieces in another order with a gap": ["ALA", "GL3", "NME", "ACE", "LYS", "AS3", "HIP", "SER", "ZGLY"],
    "two residues in one place": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "ALA", "ZGLY"],
    "two residues in one place with atoms in common": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "ALA", "ZGLY"],
    "a last residue with N alone": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "NME"],
    "two chains of one name": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "ZGLY"] * 2,
    "two chains of one name whose numbers fall": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "ZGLY"] * 2,
    "amide that was not seen": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "GLY", "NME"],
    "cap dropped": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER"],
    "cap of GROMACS": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "NME"],
    "loop with selenomethionine built": ["ALA", "GL3", "GLY", "MET", "AS3", "HIP", "SER", "ZGLY"],
    "metal kept": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "ZGLY", "ZN"],
    "metals by numbers": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "ZGLY", "ZN", "ZN"],
    "all metals but one": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "ZGLY", "ZN"],
    "ends of the sequence": ["ACE", "ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "ZGLY"],
    "mutation": ["ALA", "GL3", "GLY", "GL3", "AS3", "HIP", "SER", "ZGLY"],
    "mutation of residue 104": ["ALA", "GL3", "GLY", "GL3", "AS3", "HIP", "SER", "ZGLY"],
    "mutation to glycine": ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "GLY", "ZGLY"],
    "capped ends": ["ACE", "ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "GLY", "NME"],
}


@pytest.mark.parametrize("case", CASES)
def test_decisions_are_made_and_said(case: str, structure: Write, report: Report, bare: None) -> None:
    change, asked, note = CASES[case]
    options = structure(change(peptide_text(*CHAIN)))
    for key, value in asked.items():
        setattr(options, key, value)
    _, _, atoms = written(options, report)
    assert residues(atoms) == BUILT.get(case, ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "ZGLY"])
    assert re.search(note, notes(report)), notes(report)
    assert "what the size of the box does to pKa values is not estimated without salt" in notes(report)


@pytest.mark.parametrize(("charges", "mass", "note"), [([18.0, 9.0], 16_800.0, r"0\.19 too high at the lowest pH \(\+18\.0 e\) and 0\.1\d too high at the highest"), ([2.0, -12.0], 14_300.0, r"0\.1\d too low at the highest pH \(-12\.0 e\)")])
def test_what_the_box_does_to_a_charged_protein_is_said(charges: list[float], mass: float, note: str, report: Report) -> None:
    solvate.note_size(charges, mass, 8_205, 0.15, report)
    assert re.search(note, notes(report)), notes(report)


def test_marks_of_a_membrane_are_bonded_to_nothing(structure: Write, report: Report, bare: None) -> None:
    """OPM writes a grid of them, an N and an O of one number, through the protein."""
    text = peptide_text(*CHAIN)
    x, y, z = (float(LINES(text)[0][30 + 8 * k : 38 + 8 * k]) for k in range(3))
    options = structure(text + hetero("DUM", "N", "N", (x + 1.5, y, z)) + hetero("DUM", "O", "O", (x + 1.5, y, z + 30.0)))
    options.drop = ["DUM"]
    written(options, report)
    assert "DUM, 1 molecule (200 of chain A): left out, as asked" in notes(report) and "was bonded to" not in notes(report)
