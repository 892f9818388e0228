"""Small structures to prepare: peptides from `octitrate.peptide`, written as PDB text without hydrogens."""

from __future__ import annotations

import importlib.util
import io
import itertools
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from octitrate.force_fields import FORCE_FIELDS
from octitrate.prepare.options import Options
from octitrate.prepare.report import Report
from octitrate.residues import TitratableForceField


ROOT = Path(__file__).resolve().parents[2]


def binary() -> str:
    """The program: that of OCTITRATE_BINARY, of the path, or of the sources."""
    found = os.environ.get("OCTITRATE_BINARY") or shutil.which("octitrate") or str(ROOT / "target/release/octitrate")
    if not Path(found).is_file():
        pytest.skip("no binary octitrate: build it, or name it in OCTITRATE_BINARY")
    return found


def script(path: str) -> Any:
    """A script of the sources as a module."""
    file = ROOT / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def loaded(name: str, water: str | None = None) -> TitratableForceField:
    """A force field with a water, its first one by default, loaded once for all files that a worker runs."""
    return _loaded(name, water or next(iter(FORCE_FIELDS[name].waters)))


@cache
def _loaded(name: str, water: str) -> TitratableForceField:
    return TitratableForceField(name, water)


@cache
def peptide_text(*residues: str) -> str:
    """The ATOM records of a peptide, chain A, numbered from 1."""
    from openmm import app

    from octitrate.peptide import peptide

    modeller = peptide(residues)
    out = io.StringIO()
    app.PDBFile.writeFile(modeller.topology, modeller.positions, out, keepIds=False)
    return "\n".join(line[:66] + line[66:].rstrip() for line in out.getvalue().splitlines() if line.startswith(("ATOM", "HETATM"))) + "\n"


def renamed(text: str, number: int, name: str) -> str:
    """The records with another name for one residue."""
    return "".join(
        line[:17] + f"{name:>3}" + line[20:] if int(line[22:26]) == number else line for line in text.splitlines(keepends=True)
    )


def without(text: str, *numbers: int) -> str:
    """The records without some residues."""
    return "".join(line for line in text.splitlines(keepends=True) if int(line[22:26]) not in numbers)


def moved(text: str, chain: str, x: float) -> str:
    """The records as another chain, shifted along x (Å)."""
    return "".join(
        line[:21] + chain + line[22:30] + f"{float(line[30:38]) + x:8.3f}" + line[38:] for line in text.splitlines(keepends=True)
    )


def hetero(name: str, atom: str, element: str, place: tuple[float, float, float], number: int = 200, chain: str = "A") -> str:
    """A HETATM record."""
    x, y, z = place
    return f"HETATM 9000 {atom:<4} {name:>3} {chain}{number:>4}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {element:>2}\n"


Write = Callable[[str], Options]


@pytest.fixture(autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of the user's that is empty, whatever the one of this machine holds."""
    place = tmp_path_factory.mktemp("library")
    monkeypatch.setenv("OCTITRATE_LIBRARY", str(place))
    return place


@pytest.fixture
def structure(tmp_path: Path) -> Write:
    """Writes a text as a structure; the options that prepare it in the smallest box that a cut-off of 1 nm allows most of these peptides, because water takes most of the time, with the
    force field whose corrections serve most ends of chains."""

    def write(text: str, name: str = "protein.pdb") -> Options:
        path = tmp_path / name
        path.write_text(text)
        return Options(input=path, output=tmp_path / "prepared", force_field="amber99sb-ildn", padding=0.2, salt=0.0)

    return write


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A box with at most 64 molecules of water, on a lattice, and no minimisation, for what depends on neither: to fill the box and to minimise take most of the time of a preparation."""
    import numpy as np
    from openmm import Vec3, app, unit

    from octitrate.prepare import solvate

    def few(modeller: Any, forcefield: Any, *, boxVectors: Any = None, boxSize: Any = None, **_: Any) -> None:  # noqa: N803, OpenMM calls them so
        vectors = np.diag(boxSize.value_in_unit(unit.nanometer)) if boxVectors is None else np.array([[*one] for one in boxVectors.value_in_unit(unit.nanometer)])
        solute = np.array([[*place] for place in modeller.positions.value_in_unit(unit.nanometer)]).reshape(-1, 3)
        water, places = app.Topology(), []
        chain = water.addChain()
        for steps in itertools.product(range(4), repeat=3):
            oxygen = np.array(steps) / 4 @ vectors
            if (np.linalg.norm(solute - oxygen, axis=1) > 0.25).all():
                residue = water.addResidue("HOH", chain)
                atoms = [water.addAtom(name, app.Element.getBySymbol(name[0]), residue) for name in ("O", "H1", "H2")]
                for hydrogen in atoms[1:]:
                    water.addBond(atoms[0], hydrogen)
                places += [Vec3(*map(float, oxygen + arm)) for arm in ((0, 0, 0), (0.09572, 0, 0), (-0.0239987, 0.092663, 0))]
        box = app.Modeller(water, places * unit.nanometer)
        box.addExtraParticles(forcefield)
        modeller.topology.setPeriodicBoxVectors([Vec3(*map(float, one)) for one in vectors] * unit.nanometer)
        modeller.add(box.topology, box.positions)

    monkeypatch.setattr(app.Modeller, "addSolvent", few)
    monkeypatch.setattr(solvate, "relax", lambda *_: None)


@pytest.fixture
def report() -> Iterator[Report]:
    """A report that shows nothing."""
    yield Report(screen=None)


def written(options: Options, report: Report) -> tuple[Path, dict[str, Any], list[tuple[int, str, str]]]:
    """Prepares; the folder, the job, and number, residue and atom of every line of system.gro."""
    from octitrate.prepare.pipeline import prepare

    folder = prepare(options, report)
    job = tomllib.loads((folder / "titrate.toml").read_text())
    rows = (folder / "system.gro").read_text().splitlines()
    return folder, job, [(int(row[:5]), row[5:10].strip(), row[10:15].strip()) for row in rows[2:-1]]


def job_comment(folder: Path) -> str:
    """What the job says about corrections that are missing or preliminary."""
    lines = (folder / "titrate.toml").read_text().splitlines()
    return next((line for line in lines if line.startswith(("# No correction", "# Preliminary"))), "")


def residues(atoms: list[tuple[int, str, str]]) -> list[str]:
    """Names of the residues of the solute in their order."""
    found = dict.fromkeys((number, name) for number, name, _ in atoms if name not in ("HOH", "NA", "CL"))
    return [name for _, name in found]


def notes(report: Report) -> str:
    """Everything that a report says."""
    return "\n".join(line for section in report.sections for line in [*section.notes, *section.warnings])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is slow for CHARMM alone is slow there."""
    for item in items:
        if item.get_closest_marker("slow_with_charmm") and "charmm36m" in item.nodeid:
            item.add_marker(pytest.mark.slow)
