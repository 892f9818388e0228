"""Files of GROMACS that go through OpenMM: topologies, `.top`, and structures, `.gro`. Comments and titles may be in any encoding, as for GROMACS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openmm
from openmm import app, unit
from openmm.app.internal.unitcell import reducePeriodicBoxVectors

from ..errors import Refused
from .options import FORMS, IN_BOXES

SECTIONS = {
    "defaults", "atomtypes", "bondtypes", "angletypes", "dihedraltypes", "pairtypes", "nonbond_params", "cmaptypes", "constrainttypes", "implicit_genborn_params", "implicit_surface_params",
    "moleculetype", "atoms", "bonds", "angles", "dihedrals", "pairs", "exclusions", "cmap", "constraints", "settles", "virtual_sites2", "virtual_sites3", "dummies2", "dummies3",
    "system", "molecules",
}  # fmt: skip
"""Sections that OpenMM's reader takes, and those in files of force fields that have no energy by themselves. Of all others it says nothing."""

ITSELF = "octitrate reads a .top itself, too: a job names it and the .gro in its section [system]"


class Top(app.GromacsTopFile):  # type: ignore[misc]
    """A topology as OpenMM reads it, but for sections that its reader passes over with all the energy in them: they are refused, as is every line that it cannot read, by its place.

    OpenMM has no public way to look at lines while it reads them: what is used of it are its private names, and a version that reads otherwise is refused.
    """

    def __init__(self, file: str, **settings: Any) -> None:
        self._looked_at = False
        super().__init__(file, **settings)
        if not self._looked_at:
            raise Refused(f"OpenMM {openmm.version.version} reads topologies of GROMACS in a way that is not known here", f"take OpenMM 8.6, and please report it; {ITSELF}")

    def _processFile(self, file: str) -> None:  # noqa: N802, OpenMM calls it so
        self._looked_at, before = True, ""
        for number, line in enumerate(lines_of(Path(file)), 1):
            if line.rstrip().endswith("\\"):
                before += f" {line.rstrip()[:-1]}"
                continue
            try:
                self._processLine(f"{before} {line}", file)
            except Refused:
                raise
            except Exception as error:  # the reader raises what it runs into
                help = f"look at this line; {ITSELF}"
                if line.lstrip().startswith("#include"):
                    help = f"beside this file and in {self._includeDirs[1]} there is none: put the folder of the force field beside the topology, or set GMXDATA to the folder share/gromacs of your GROMACS"
                raise Refused(f"{file}: line {number}: OpenMM cannot read it: {' '.join(str(error).split())}", help) from None
            if self._currentCategory not in SECTIONS and self._currentCategory is not None:
                raise Refused(f"{file}: line {number}: section [ {self._currentCategory} ] is none that --from can take over: OpenMM leaves it out", f"build the topology without it; {ITSELF}")
            before = ""


def lines_of(path: Path) -> list[str]:
    """The lines of a file, whatever encoding its comments have."""
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def has_urey_bradley(top: Any) -> bool:
    """Whether a topology of GROMACS has angles of function 5 with a force constant between their ends."""
    types = [fields for fields in top._angleTypes.values() if fields[3] == "5"]
    own = [fields for one in top._moleculeTypes.values() for fields in one.angles if fields[3] == "5" and len(fields) > 4]
    return any(float(fields[7]) != 0.0 for fields in [*types, *own] if len(fields) > 7)


def names_of_gro(rows: list[str]) -> list[tuple[str, str]]:
    """Residue and name of every atom, of the lines of atoms of a `.gro` file: columns 6 to 10 and 11 to 15."""
    return [(row[5:10].strip(), row[10:15].strip()) for row in rows]


def gro(path: Path) -> tuple[np.ndarray, Any]:
    """Positions (nm, one row for each atom) and box vectors of a `.gro` file with any number of decimals, which the distance of two decimal points tells:
    `final.gro` of octitrate has six, and the reader of OpenMM takes three alone.

    Raises `Refused` for a file that ends early and for a line that cannot be read.
    """
    lines = lines_of(path)
    try:
        count = int(lines[1])
        atoms, edges = lines[2 : 2 + count], [float(word) for word in lines[2 + count].split()]
    except (IndexError, ValueError):
        raise Refused(f"{path}: is no .gro file: its second line is not the number of atoms, or it ends before the box", FORMS) from None
    if len(edges) not in (3, 9):
        raise Refused(f"{path}: line {3 + count} has {len(edges)} numbers, and a box has 3 or 9", FORMS)
    if not min(edges[:3]) > 0.0:
        raise Refused(f"{path}: has no box: its last line is {lines[2 + count].strip()!r}", IN_BOXES)
    rows = []
    for number, line in enumerate(atoms, 3):
        first = line.find(".", 20)
        width = line.find(".", first + 1) - first
        try:
            rows.append([float(line[20 + k * width : 20 + (k + 1) * width]) for k in range(3)])
        except ValueError:
            raise Refused(f"{path}: line {number} is no atom of a .gro file: {line.rstrip()!r}", FORMS) from None
    a, b, c, ab, ac, ba, bc, ca, cb = (*edges, *[0.0] * (9 - len(edges)))
    # Rounded to five decimals c may reach over half of a, as in a rhombic dodecahedron, which OpenMM refuses: the same lattice has vectors that do not.
    vectors = reducePeriodicBoxVectors((openmm.Vec3(a, ab, ac), openmm.Vec3(ba, b, bc), openmm.Vec3(ca, cb, c)) * unit.nanometer)
    return np.array(rows), vectors
