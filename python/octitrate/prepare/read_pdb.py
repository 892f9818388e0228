"""Reads a file of the PDB format, version 3 (https://www.wwpdb.org/documentation/file-format), and its older and looser relatives.

Columns are those of the format; residue names may take column 21 as well, as programs of molecular dynamics write them.
"""

from __future__ import annotations

import re

from ..errors import Refused
from . import parents
from .entry import Atom, Entry, Link, Missing, Place, Residue
from .fields import AGAIN, number_or_none, real, whole


_BRIDGE = re.compile(r".{15}(.).( *-?\d+)(.).{7}(.).( *-?\d+)(.?)")
"""Columns 16 to 22 and 30 to 36 of SSBOND: chain, number and insertion code of both cysteines."""

_LINK = re.compile(r".{12}(.{4}).(.{3}).(.)( *-?\d+)(.).{15}(.{4}).(.{3}).(.)( *-?\d+)(.?)")
"""Columns 13 to 27 and 43 to 57 of LINK: atom, residue, chain, number and insertion code of both ends."""

_SERIAL = re.compile(r"ATOM *\d{6,7} ")
"""A record whose serial number begins in column 5 or 6, as programs write it beyond 99999."""

_LOOSE = re.compile(r"\s*(ATOM|HETATM)\s", re.IGNORECASE)
"""How a record of an atom begins that is not in its columns, such as `atom` or one with tabs."""


def read_pdb(text: str, path: str) -> Entry:
    """Reads the text of a PDB file.

    Raises `Refused` with file and line for a record that cannot be read.
    """
    entry = Entry(path=path, kind="PDB", models={})
    model, is_over = 1, ""
    now: Residue | None = None
    by_place: dict[tuple[int, str, Place], Residue] = {}
    titles: list[str] = []
    remarks: dict[int, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        record = "ATOM" if _SERIAL.match(line) else line[:6].rstrip()
        if record in ("ATOM", "HETATM"):
            residue, atom = _atom(line, f"{path}:{number}")
            here = entry.models.setdefault(model, [])
            # Models without MODEL are told by ENDMDL, or by END where the first residue comes again behind it. Some programs write ligands and water behind ENDMDL.
            if here and is_over and (_same(here[0], residue) or is_over == "ENDMDL" and record == "ATOM"):
                model = max(entry.models) + 1
                here = entry.models.setdefault(model, [])
            is_over = ""
            if now is None or not _same(now, residue):
                # two names of one number may alternate, atom by atom
                earlier = by_place.get((model, residue.name, residue.key))
                now = earlier if earlier is not None and earlier.takes(atom) else residue
                if now is residue:
                    by_place[model, residue.name, residue.key] = residue
                    here.append(now)
            now.atoms.append(atom)
        elif record == "MODEL":
            model = whole(line[6:20], "the number of the model", f"{path}:{number}") if line[6:20].strip() else max(entry.models, default=0) + 1
            if model in entry.models:
                model = max(entry.models) + 1
            now, is_over = None, ""
        elif record in ("TER", "ENDMDL", "END"):
            if now is not None:
                now.ended = record == "TER"
            now, is_over = None, is_over if record == "TER" else record
        elif record == "TITLE":
            titles.append(line[10:80].strip())
        elif record == "PARENT":  # of the format of CASP, which programs that predict structures keep
            entry.is_predicted = True
        elif record == "REMARK" and line[7:10].strip().isdigit():
            remarks.setdefault(int(line[7:10]), []).append(line[11:].rstrip())
        elif record == "SEQRES":
            entry.sequences.setdefault(line[11:12].strip(), []).extend(line[19:70].split())
        elif record == "SSBOND" and (match := _BRIDGE.match(line)):
            ends = (match[1].strip(), int(match[2]), match[3].strip()), (match[4].strip(), int(match[5]), match[6].strip())
            entry.add(Link(ends, ("CYS", "CYS"), ("SG", "SG"), _is_across(line)))
        elif record == "LINK" and (match := _LINK.match(line)):
            one, other = ([part.strip() for part in match.groups()[start : start + 5]] for start in (0, 5))
            entry.add(Link(((one[2], int(one[3]), one[4]), (other[2], int(other[3]), other[4])), (one[1], other[1]), (one[0], other[0]), _is_across(line)))
        elif _LOOSE.match(line) and len(line.split()) >= 8:
            raise Refused(f"{path}:{number}: the record of an atom is not in the columns of the format: {line.strip()[:60]!r}", "write the file anew with a program that keeps them, names of records in capitals")
    entry.title = " ".join(titles).strip()
    entry.is_predicted |= "PREDICTION" in entry.title.upper()
    entry.missing = _missing(remarks.get(465, []))
    entry.units = _units(remarks.get(350, []))
    entry.parents = parents.of_records(text.splitlines())
    return entry


def _same(a: Residue, b: Residue) -> bool:
    return a.key == b.key and a.name == b.name


def _is_across(line: str) -> bool:
    """Whether the symmetry operators of the two ends of SSBOND or LINK (columns 60 to 65 and 67 to 72) are there and differ."""
    one, other = line[59:65].strip(), line[66:72].strip()
    return bool(one and other) and one != other


def _atom(line: str, place: str) -> tuple[Residue, Atom]:
    """The atom of a record, and an empty residue that it belongs to."""
    if len(line.rstrip()) < 54:
        raise Refused(f"{place}: the record of an atom ends before its coordinates: {line.rstrip()!r}", AGAIN)
    x, y, z = (real(line[a : a + 8], axis, place) / 10 for a, axis in ((30, "x"), (38, "y"), (46, "z")))
    occupancy = line[54:60].strip()
    is_long = line[26:27].isdigit()  # codes are letters: a digit there belongs to a number of five columns
    name = line[12:16].strip()
    residue = Residue(
        name=line[17:21].strip(),
        chain=line[21:22].strip(),
        number=_number(line[22 : 27 if is_long else 26].strip(), place),
        insertion="" if is_long else line[26:27].strip(),
        segment=line[72:76].strip(),
    )
    if line[20:21] != " " and line[17:18] == " ":
        raise Refused(f"{place}: the name of the residue is not in columns 18 to 21: {line.rstrip()!r}", AGAIN)
    if not name or not residue.name:
        raise Refused(f"{place}: the atom or its residue has no name: {line.rstrip()!r}", AGAIN)
    element = line[76:78].strip().upper()
    if not element.isalpha():
        element = guessed_element(line[12:16], residue.name)
    return residue, Atom(
        name=name,
        altloc=line[16:17].strip(),
        occupancy=real(occupancy, "the occupancy", place) if occupancy else 1.0,
        position=(x, y, z),
        element=element,
        b_factor=number_or_none(line[60:66]),
    )


def _number(text: str, place: str) -> int:
    """The number of a residue; beyond 9999 in hybrid-36, in which A000 to ZZZZ and then a000 to zzzz go on counting (https://cci.lbl.gov/hybrid_36), or in the hexadecimal
    numbers of VMD, 270f and so on, in small letters. Those of them that have no letter cannot be told from others: they are of water, whose numbers mean nothing."""
    if len(text) == 4 and text.isascii() and text.isalnum() and text[0].isalpha() and text in (text.upper(), text.lower()):
        return int(text, 36) - 10 * 36**3 + 10**4 + (26 * 36**3 if text[0].islower() else 0)
    if re.fullmatch("(?=.*[a-f])[1-9][0-9a-f]{3}", text):
        return int(text, 16)
    if set(text) == {"*"}:
        raise Refused(f"{place}: the number of the residue is {text!r}: it had more digits than there is room for", "leave out the water, or write the file as mmCIF")
    return whole(text, "the number of the residue", place)


def guessed_element(columns: str, residue: str) -> str:
    """The element of an atom whose file does not say it, from the four columns of its name: elements of two letters begin in the first."""
    letters = "".join(c for c in columns if c.isalpha()).upper()
    alone = columns.strip().upper() == residue.upper()
    if alone and len(letters) >= 2:
        return letters[:2]
    if columns[:1].isalpha() and columns[:2].strip().upper() in ("SE", "CL", "BR", "NA", "MG", "ZN", "FE", "MN", "CU", "CO", "NI", "CD"):
        return columns[:2].strip().upper() if not columns[:4].strip().isalpha() or len(columns.strip()) <= 2 else letters[:1]
    return letters[:1]


def _missing(lines: list[str]) -> list[Missing]:
    """Residues of REMARK 465: `[model] name chain number+insertion`, after the heading."""
    found = []
    row = re.compile(r"^\s*(?:\d+\s+)?([A-Z0-9]{1,3})\s+(\S)?\s+(-?\d+)([A-Za-z]?)\s*$")
    begun = False
    for line in lines:
        if "SSSEQI" in line:
            begun = True
        elif begun and (match := row.match(line)):
            absent = Missing(match[1], match[2] or "", int(match[3]), match[4])
            if absent not in found:  # there is a line for each model
                found.append(absent)
    return found


def _units(lines: list[str]) -> list[dict[str, int]]:
    """Chains of each biological unit of REMARK 350, and by how many operators (BIOMT1 to BIOMT3) each is placed."""
    units: list[dict[str, int]] = []
    placed: list[str] = []
    is_whole = False
    for line in lines:
        if line.startswith("BIOMOLECULE:"):
            units.append({})
            placed = []
        elif "CHAINS:" in line and units:
            placed = [] if is_whole else placed
            placed += line.split("CHAINS:")[1].replace(",", " ").split()
            for chain in placed:
                units[-1].setdefault(chain, 0)
        elif line.split()[:1] == ["BIOMT1"] and units:
            for chain in placed:
                units[-1][chain] += 1
        is_whole = line.split()[:1] in (["BIOMT1"], ["BIOMT2"], ["BIOMT3"])
    # A chain without operators stays where it is.
    return [{chain: max(count, 1) for chain, count in unit.items()} for unit in units if unit]
