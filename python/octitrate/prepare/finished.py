"""A finished system of AMBER, CHARMM or GROMACS through the same door: OpenMM reads it, and what it made of it is written for octitrate.

Nothing is built or renamed: what can titrate must hold all its protons already, and what octitrate finds in it is said by `octitrate check`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openmm
from openmm import app, unit

from .. import __version__
from ..errors import Refused
from ..repeatable import platform
from . import structure
from .build import Model
from .folder import MARKER, Folder, digest
from .job import ROTAMERS, electrostatics, thermostat
from .report import Report

FORMS = "--from x.prmtop x.rst7, --from x.top x.gro, or --from x.psf x.crd --parameters toppar.prm … --box-size 7 7 7"


@dataclass
class Loaded:
    """What OpenMM read: a topology with a box, a way to make the system, positions."""

    topology: Any
    source: Any
    positions: Any
    settings: dict[str, Any]
    parameters: tuple[Any, ...] = ()


def take(args: argparse.Namespace, report: Report) -> Path:
    """Writes the folder of a finished system. Raises `Refused` for files that cannot be read or do not belong together."""
    files: list[Path] = args.finished
    if args.structure is not None:
        raise Refused(f"{args.structure}: a structure cannot be prepared together with --from", "give one of them")
    if args.pair_corrections is not None:
        raise Refused(
            f"--pair-corrections {args.pair_corrections}: a finished system keeps the parameters that it has",
            "leave the option out; in a .top file of GROMACS [ nonbond_params ] holds terms of pairs",
        )
    if len(files) != 2:
        raise Refused(f"--from takes two files, here are {len(files)}", FORMS)
    for path in [*files, *(args.parameters or [])]:
        if not path.is_file():
            raise Refused(f"{path}: there is no such file", FORMS)
    place = args.output or Path(f"{files[0].stem}-prepared")
    folder = Folder(place, args.force)
    report.step("Input")
    loaded = load(files, args)
    vectors = loaded.topology.getPeriodicBoxVectors()
    if vectors is None:
        raise Refused(f"{files[1]}: has no box", "octitrate takes finished systems in periodic boxes: --box-size gives the edges")
    report.note(f"{files[0]} and {files[1]}: {loaded.topology.getNumAtoms()} atoms, {loaded.topology.getNumResidues()} residues")
    report.step("System")
    try:
        system = loaded.source.createSystem(
            *loaded.parameters, nonbondedMethod=app.PME, constraints=app.HBonds, rigidWater=True, removeCMMotion=False, **loaded.settings
        )
    except Exception as error:  # readers of OpenMM raise what they run into
        raise Refused(f"{files[0]}: OpenMM cannot make a system of it: {error}", "look at the file with the program that wrote it") from None
    places = np.array(loaded.positions.value_in_unit(unit.nanometer))
    if len(places) != system.getNumParticles():
        raise Refused(f"{files[1]} has {len(places)} atoms and {files[0]} {system.getNumParticles()}: they do not belong together", FORMS)
    model = Model(loaded.topology, places)
    energy = _energy(system, model)
    if not np.isfinite(energy):
        raise Refused(f"{files[1]}: the energy of these positions is not finite", "minimise the system with the program that made it")
    report.note(f"energy {energy:.0f} kJ/mol by OpenMM")
    job = _job(files, args)
    with folder:
        folder.write("system.xml", openmm.XmlSerializer.serialize(system))
        folder.write("system.gro", structure.gro(f"{files[1].name}, taken over by octitrate {__version__}", model))
        folder.write("titrate.toml", job)
        lines = ["# A finished system was taken over in this folder.", f'program = "octitrate {__version__}"', f'openmm = "{openmm.version.version}"']
        lines += [f'[[from]]\nfile = "{path}"\nsha256 = "{digest(path)}"' for path in files]
        folder.write(MARKER, "\n".join(lines) + "\n")
        opening = f"Taken over by octitrate {__version__} and OpenMM {openmm.version.version}; `octitrate check {place}/titrate.toml` says what titrates."
        folder.write("prepare.md", report.markdown(f"{files[0].name} and {files[1].name}", opening))
    return place


def load(files: list[Path], args: argparse.Namespace) -> Loaded:
    """Reads the files by their kind, which the name of the first says."""
    kind = files[0].suffix.lower()
    try:
        if kind in (".prmtop", ".parm7"):
            return _amber(files)
        if kind == ".top":
            return _gromacs(files)
        if kind == ".psf":
            return _charmm(files, args)
    except Refused:
        raise
    except Exception as error:  # readers of OpenMM raise what they run into
        raise Refused(f"{files[0]} and {files[1]}: OpenMM cannot read them: {error}", "look at the files with the program that wrote them") from None
    raise Refused(f"{files[0]}: nothing is known about files {kind or 'without an ending'}", FORMS)


def _amber(files: list[Path]) -> Loaded:
    coordinates = app.AmberInpcrdFile(str(files[1]))
    vectors = coordinates.boxVectors
    prmtop = app.AmberPrmtopFile(str(files[0]), periodicBoxVectors=vectors) if vectors is not None else app.AmberPrmtopFile(str(files[0]))
    return Loaded(prmtop.topology, prmtop, coordinates.positions, {"nonbondedCutoff": 1.0 * unit.nanometer})


def _gromacs(files: list[Path]) -> Loaded:
    places, vectors = gro(files[1])
    top = app.GromacsTopFile(str(files[0]), periodicBoxVectors=vectors)
    rows = files[1].read_text().splitlines()[2:]
    for residue in top.topology.residues():  # the reader counts residues from 1; the structure has their numbers
        first = next(residue.atoms()).index
        residue.id = rows[first][:5].strip() if first < len(rows) - 1 else residue.id
    return Loaded(top.topology, top, places * unit.nanometer, {"nonbondedCutoff": 1.0 * unit.nanometer})


def gro(path: Path) -> tuple[np.ndarray, Any]:
    """Positions (nm, one row for each atom) and box vectors of a `.gro` file with any number of decimals, which the distance of two decimal points tells:
    `final.gro` of octitrate has six, and the reader of OpenMM takes three alone.

    Raises `Refused` for a file that ends early and for a line that cannot be read.
    """
    lines = path.read_text().splitlines()
    try:
        count = int(lines[1])
        atoms, edges = lines[2 : 2 + count], [float(word) for word in lines[2 + count].split()]
    except (IndexError, ValueError):
        raise Refused(f"{path}: is no .gro file: its second line is not the number of atoms, or it ends before the box", FORMS) from None
    if len(edges) not in (3, 9):
        raise Refused(f"{path}: line {3 + count} has {len(edges)} numbers, and a box has 3 or 9", FORMS)
    rows = []
    for number, line in enumerate(atoms, 3):
        first = line.find(".", 20)
        width = line.find(".", first + 1) - first
        try:
            rows.append([float(line[20 + k * width : 20 + (k + 1) * width]) for k in range(3)])
        except ValueError:
            raise Refused(f"{path}: line {number} is no atom of a .gro file: {line.rstrip()!r}", FORMS) from None
    a, b, c, ab, ac, ba, bc, ca, cb = (*edges, *[0.0] * (9 - len(edges)))
    return np.array(rows), (openmm.Vec3(a, ab, ac), openmm.Vec3(ba, b, bc), openmm.Vec3(ca, cb, c)) * unit.nanometer


def _charmm(files: list[Path], args: argparse.Namespace) -> Loaded:
    if not args.parameters:
        raise Refused(f"{files[0]}: a psf file has no parameters", "--parameters par_all36m_prot.prm toppar_water_ions.str …")
    psf = app.CharmmPsfFile(str(files[0]))
    reader = app.PDBFile if files[1].suffix.lower() == ".pdb" else app.CharmmCrdFile
    coordinates = reader(str(files[1]))
    edges = args.box_size
    if edges is None and reader is app.PDBFile and coordinates.topology.getUnitCellDimensions() is not None:
        edges = coordinates.topology.getUnitCellDimensions().value_in_unit(unit.nanometer)
    if edges is None:
        raise Refused(f"{files[1]}: has no box", "--box-size 7 7 7 gives its edges in nm")
    psf.setBox(*(edge * unit.nanometer for edge in edges))
    parameters = app.CharmmParameterSet(*map(str, args.parameters))
    settings = {"nonbondedCutoff": 1.2 * unit.nanometer, "switchDistance": 1.0 * unit.nanometer}
    return Loaded(psf.topology, psf, coordinates.positions, settings, (parameters,))


def _energy(system: Any, model: Model) -> float:
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform())
    context.setPositions(model.quantity())
    context.computeVirtualSites()
    return float(context.getState(getEnergy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole))


def _job(files: list[Path], args: argparse.Namespace) -> str:
    low, high = args.ph_range or (1.0, 13.0)
    bath, duration = "\n".join([*thermostat(args.temperature or 300.0), "", *electrostatics()]), args.duration or "1 ns"
    return f"""# Titration of {files[0].name}, written by octitrate prepare: every group that the library knows and that has its protons titrates.

[system]
structure = "system.gro"
topology = "system.xml"

[dynamics]
duration = "{duration}"
time_step = "4 fs"
hydrogen_mass = "3 u"

{bath}

[barostat]
pressure = "1 bar"

[titration]
# allow_uncalibrated = true # where octitrate check names a correction that is preliminary: octitrate info NAME says why
barrier = "10 kJ/mol"
{ROTAMERS}

[titration.buffer]

[titrate]
ph = {{ min = {low:g}, max = {high:g}, step = 1.0 }}
exchange = "1 ps"

[output]
lambda = "0.1 ps"
trajectory = "100 ps"
"""
