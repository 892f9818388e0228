"""Reads a structure from a file of either format, which its contents decide and not its name."""

from __future__ import annotations

import gzip
import re
import statistics
import zlib
from pathlib import Path

from ..errors import Refused
from ..words import counted
from . import names
from .entry import Entry, Residue, distance
from .read_cif import read_cif
from .read_pdb import read_pdb


_AMBER, _CHARMM = "x.prmtop x.rst7", "x.psf x.crd --parameters toppar.prm …"

FINISHED = {
    ".prmtop": _AMBER, ".parm7": _AMBER, ".rst7": _AMBER, ".inpcrd": _AMBER, ".psf": _CHARMM, ".crd": _CHARMM, ".top": "topol.top conf.gro",
}  # fmt: skip
"""Endings of files with systems of other programs, and how these are given."""


_CODE = re.compile(r"[1-9][a-z0-9]{3}(\.(pdb|ent|cif))?(\.gz)?", re.IGNORECASE)
"""Names of entries of the PDB, and of files with them."""


def molecule(lines: list[str]) -> str:
    """What a file of a small molecule holds, in words; empty for any other file."""
    if any(line.startswith("@<TRIPOS>") for line in lines):
        return "a mol2 file of a molecule"
    if len(lines) > 3 and lines[3].rstrip().endswith(("V2000", "V3000")):
        elements = elements_of_molfile(lines)
        hydrogens = f"{elements.count('H')} of them hydrogens" if "H" in elements else "none of them hydrogen"
        return f"a molfile (SDF) of a molecule of {counted(len(elements), 'atom')}, {hydrogens}"
    return ""


def _of_two_letters(entry: Entry) -> Residue | None:
    """The first residue whose fourth letter is one of its chain, if that is so of most molecules but water; HISA, LYSH and others of some programs are few."""
    others = [residue for residue in next(iter(entry.models.values())) if residue.name[:3] not in names.WATER]
    shifted = [residue for residue in others if len(residue.name) == 4 and names.known_as(residue.name[:3]) in names.SIDE_CHAINS]
    return shifted[0] if 2 * len(shifted) > len(others) else None


def elements_of_molfile(lines: list[str]) -> list[str]:
    """Elements of the atoms of a molfile (V2000: their number in columns 1 to 3 of the fourth line, each symbol in columns 32 to 34; V3000: lines
    `M  V30 NUMBER SYMBOL X Y Z …`)."""
    if len(lines) > 3 and "V3000" in lines[3]:
        rows = [line.split() for line in lines if line.startswith("M  V30")]
        return [row[3] for row in rows if len(row) > 7 and row[2].isdigit() and row[3].isalpha()]
    count = lines[3][:3].strip() if len(lines) > 3 else ""
    return [line[31:34].strip() for line in lines[4 : 4 + int(count)]] if count.isdigit() else []


def read(path: Path) -> Entry:
    """Reads a PDB or mmCIF file, also one compressed by gzip.

    Raises `Refused` for a file that is not there, is no text, holds no atoms, or has a line that cannot be read.
    """
    help = "give a file of the PDB or mmCIF format: octitrate prepare protein.pdb"
    try:
        data = path.read_bytes()
    except OSError as error:
        if not path.exists() and _CODE.fullmatch(path.name):
            help = f"octitrate fetches nothing; that entry of the PDB is https://files.rcsb.org/download/{path.name.split('.')[0].upper()}.cif"
        raise Refused(f"{path}: cannot be read: {error.strerror or error}", help) from None
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise Refused(f"{path}: cannot be decompressed: {error}", "get the file again from where it came") from None
    if b"\0" in data:
        raise Refused(f"{path}: is no text", help)
    text = data.decode("utf-8-sig", "replace")  # some editors put a mark before the first line
    lines = [line for line in text.splitlines() if line.strip()]
    if drawn := molecule(text.splitlines()):
        raise Refused(
            f"{path}: is {drawn}, and no protein",
            "octitrate prepare takes a PDB or mmCIF file; a site of a small molecule is made by octitrate site, from parameters of both its forms with all hydrogens",
        )
    if any(line.startswith(("data_", "_atom_site.")) for line in lines):
        entry = read_cif(text, str(path))
    else:
        entry = read_pdb(text, str(path))
    if not any(entry.models.values()):
        if not lines:
            raise Refused(f"{path}: is empty", help)
        if path.suffix.lower() == ".gro":
            raise Refused(f"{path}: is a .gro file, which does not say elements and chains", "octitrate prepare --from topol.top conf.gro takes a system of GROMACS as it is")
        if finished := FINISHED.get(path.suffix.lower()):
            raise Refused(f"{path}: is a file of a finished system, and no PDB or mmCIF file", f"octitrate prepare --from {finished} takes such a system as it is")
        start = lines[0][:60]
        raise Refused(f"{path}: holds no atoms (neither ATOM and HETATM records nor a table atom_site); it begins with {start!r}", help)
    bonds = [distance(n.position, ca.position) for residue in next(iter(entry.models.values())) if (n := residue.atom("N")) and (ca := residue.atom("CA"))]
    if bonds and statistics.median(bonds) < 0.05:
        raise Refused(
            f"{path}: N and CA of its residues are {10 * statistics.median(bonds):.2f} Å apart, a tenth of a bond: the coordinates are in nm, it seems",
            "a PDB or mmCIF file has them in Å: let the program that wrote it write them so",
        )
    if shifted := _of_two_letters(entry):
        raise Refused(
            f"{path}: {shifted.name} is {shifted.name[:3]} of a chain whose name has two letters ({shifted.name[3]}{shifted.chain}), it seems, in columns 21 and 22",
            "give every chain a name of one letter (column 22, with a blank in column 21), or write the file as mmCIF",
        )
    if below := next((r for residues in entry.models.values() for r in residues if any(atom.occupancy < 0 for atom in r.atoms)), None):
        raise Refused(
            f"{path}: {below} has an occupancy below zero, as in PQR files, which have charges in its place",
            "give the PDB or mmCIF file that it was made from; protons are placed anew anyway",
        )
    return entry
