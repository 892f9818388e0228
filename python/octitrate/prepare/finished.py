"""A finished system of AMBER, CHARMM or GROMACS through the same door: OpenMM reads it, and what it made of it is written for octitrate.

Nothing is built or renamed: what can titrate must hold all its protons already, and what octitrate finds in it is said by `octitrate check`. Water is made rigid
(`water.py`).

No such file holds how its force field is to be cut off; that was in the input of the program that made it (.mdp, mdin, an input of CHARMM). What a family of
force fields was made with is written into the job, and said:

======================================  ====================================================================================
a psf, a .top with Urey–Bradley angles  CHARMM: forces switched off between 1.0 and 1.2 nm
all others                              1.0 nm, the potential shifted to zero there, dispersion beyond it corrected for
======================================  ====================================================================================

`--force-field` says what a system was made with, where octitrate has that: the job then has its cut-offs, and the folder the corrections V_MM for its groups. Its water is told by
its charges (`water_model.py`). Whether the parameters are those of the corrections, `octitrate check` says by their fingerprints.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openmm
from openmm import app, unit
from openmm.app.internal.unitcell import computeLengthsAndAngles

from .. import __version__
from ..entries import BUILT_IN
from ..errors import Refused, named
from ..force_fields import FORCE_FIELDS
from ..lennard_jones import CHARMM, Cutoffs, DEFAULT
from ..proline import name_hydrogens
from ..repeatable import platform
from ..residues import TitratableForceField
from ..words import counted, listed
from . import coarse, structure, together
from .build import Model
from .folder import MARKER, Folder, digest
from .gromacs import Top, gro, has_urey_bradley, lines_of, names_of_gro
from .job import BARRIER, ROTAMERS, between_lines, electrostatics, picoseconds, position_restraints, settling, thermostat, until
from .names import LIPIDS
from .options import FORMS, Options
from .report import Report
from .water import make_rigid
from .water_model import Water, advice, recognised


CARBOXYLS = {"ASH": "asp", "ASP": "asp", "GLH": "glu", "GLU": "glu"}
"""Residues that may have one hydrogen at their carboxyl group, and the entries for it. OpenMM and what is written from its systems call them ASP and GLU with it, too."""

HIGH = 1000.0
"""kJ/mol of each atom; water has about -14, and a peptide as tleap builds it, without a minimisation, some hundreds."""


@dataclass
class Loaded:
    """What OpenMM read: a topology with a box, a way to make the system, positions."""

    topology: Any
    source: Any
    positions: Any
    cutoffs: Cutoffs
    why: str
    """Why these cut-offs."""
    parameters: tuple[Any, ...] = ()
    names: tuple[together.Names, together.Names, int] | None = None
    """Residues and atoms of both files as they call them, and how many characters of a name the coordinates have room for; none for those without names."""
    bond: Callable[[int, int], float | None] = lambda _a, _b: None
    """The length (nm) of a bond between two hydrogens of water that the file may have and its reader passes over."""


def take(args: argparse.Namespace, report: Report) -> tuple[Path, str]:
    """Writes the folder of a finished system; with it what brings corrections of its force field, if it was not said. Raises `Refused` for files that cannot be read or do not belong together."""
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
        with path.open("rb") as bytes_:
            if bytes_.read(2) == b"\x1f\x8b":
                raise Refused(f"{path}: is compressed, and --from takes files as their programs write them", f"gunzip -k {shlex.quote(str(path))}")
    if files[0].suffix.lower() != ".psf" and (given := [f"--{name.replace('_', '-')}" for name in ("parameters", "box_size") if getattr(args, name)]):
        raise Refused(f"{listed(given)}: of no effect with {files[0].name}", "leave it out: only a psf is without parameters, and its coordinates without a box")
    place = args.output or Path(f"{files[0].stem}-prepared")
    folder = Folder(place, args.force)
    known = _force_field(args)
    report.step("Input")
    if files[1].suffix.lower() == ".gro" and (beads := coarse.of_gro(lines_of(files[1]))):
        raise coarse.refused(files[1], beads)
    loaded = load(files, args)
    if beads := coarse.beads(atom.name for atom in loaded.topology.atoms()):
        raise coarse.refused(files[0], beads)
    if (there := len(loaded.positions)) != (wanted := loaded.topology.getNumAtoms()):
        raise Refused(f"{files[1]} has {counted(there, 'atom')} and {files[0]} {wanted}: they do not belong together", together.WHAT_TO_DO)
    if loaded.names is not None:
        together.check_names(loaded.topology, *loaded.names, files, report)
    if known is not None:
        loaded.cutoffs, loaded.why = known.cutoffs, f"{known.called()} is made for it"
    vectors = loaded.topology.getPeriodicBoxVectors()
    if vectors is None:
        raise Refused(f"{files[1]}: has no box", "octitrate takes finished systems in periodic boxes: let tleap (setBox x vdw) or cpptraj write it with its box")
    report.note(f"{files[0]} and {files[1]}: {counted(loaded.topology.getNumAtoms(), 'atom')}, {counted(loaded.topology.getNumResidues(), 'residue')}")
    report.step("System")
    try:
        system = loaded.cutoffs.system(loaded.source, *loaded.parameters, rigidWater=True)
    except Exception as error:  # readers of OpenMM raise what they run into
        raise Refused(f"{files[0]}: OpenMM cannot make a system of it: {error}", "look at the file with the program that wrote it") from None
    _whole_pi(system)
    _flat_torsions(system)
    has_places(system, loaded.topology, files[0])
    water = recognised(system, loaded.topology)
    if water is not None:
        report.note(f"the water is {water.words()}")
    if known is not None and water is not None:
        known = _in_water(known, water, args, files[0])
    make_rigid(system, loaded.topology, loaded.bond, files[0], report)
    places = np.array(loaded.positions.value_in_unit(unit.nanometer))
    together.check_bonds(system, loaded.topology, places, files)
    for residue in name_hydrogens(loaded.topology, places):
        report.note(f"the hydrogens at N of {named(residue)} are named the other way round: the one that leaves with the proton is that on the side of C, as in its correction")
    model = Model(loaded.topology, places)
    energy = _energy(system, model, files[0])
    if not np.isfinite(energy):
        raise Refused(f"{files[1]}: the energy of these positions is not finite", "minimise the system with the program that made it")
    report.note(f"energy {round(energy)} kJ/mol by OpenMM")
    if energy > HIGH * len(places):
        report.warn(
            f"the energy of these positions is {round(energy)} kJ/mol, {energy / len(places):.0f} of each atom: atoms overlap, which the minimisation of the job may not mend; "
            "minimise the system with the program that made it, or look whether both files belong together"
        )
    report.note(f"{loaded.cutoffs.words()}: {loaded.why}; it is for you to change in titrate.toml if the system was made with something else")
    start = settling(args.duration or Options.duration) if _has_solute(loaded.topology) else None
    if start is not None:
        report.note(
            f"the job minimises, holds heavy atoms of the solute where they are for {picoseconds(2 * start)} (the first half of it at constant volume) and lets them "
            f"go within {picoseconds(start)}, as it does with proteins that are built here"
        )
    if lipids := sorted({residue.name for residue in loaded.topology.residues()} & LIPIDS):
        report.warn(
            f"there are lipids ({listed(lipids)}): the barostat of the job scales x and y together and z apart, which is right for a bilayer in the x-y plane; take coupling out "
            "for micelles, or the section [barostat] for a box whose size is known"
            if has_right_angles(loaded.topology)
            else f"there are lipids ({listed(lipids)}): the barostat of the job scales all edges alike, which is right for micelles and wrong for a bilayer; take the section "
            "[barostat] out, or a box with right angles, whose axes can be scaled apart"
        )
    if known is None and water is not None and water.key != "tip3p":
        report.warn(f"the water is {water.words()}, and the corrections that are built in are for TIP3P with AMBER99SB-ILDN: {advice(water)}")
    is_bilayer = bool(lipids) and has_right_angles(loaded.topology)
    entries = {} if known is None else known.entries(loaded.topology)
    if known is not None:
        none = "those that are built into the program" if (known.name, known.water) == BUILT_IN else "none, because the system has none of the residues that they are for"
        which = listed(sorted(Path(name).stem for name in entries), 12) if entries else none
        report.note(f"corrections V_MM for {known.called()} and {known.water}: {which}")
        if acids := _without_correction(loaded.topology, known, entries):
            report.warn(
                f"{listed(acids)}: {known.called()} has no correction for Asp and Glu with one hydrogen, and that of AMBER99SB-ILDN, which has the same charges, is refused for its torsions; "
                f"`octitrate prepare` of a PDB file with --force-field {known.name} builds them with a hydrogen on each oxygen, for which there are corrections"
            )
    job = _job(files, args, loaded.cutoffs.lines(loaded.why), start, [f"library/{name}" for name in entries], is_bilayer=is_bilayer)
    with folder:
        for name, text in entries.items():
            folder.write(f"library/{name}", text)
        folder.write("system.xml", openmm.XmlSerializer.serialize(system))
        folder.write("system.gro", structure.gro(f"{files[1].name}, taken over by octitrate {__version__}", model))
        folder.write("titrate.toml", job)
        lines = ["# A finished system was taken over in this folder.", f'program = "octitrate {__version__}"', f'openmm = "{openmm.version.version}"']
        lines += [f'[[from]]\nfile = "{path}"\nsha256 = "{digest(path)}"' for path in files]
        folder.write(MARKER, "\n".join(lines) + "\n")
        opening = f"Taken over by octitrate {__version__} and OpenMM {openmm.version.version}; `octitrate check {shlex.quote(f'{place}/titrate.toml')}` says what titrates."
        folder.write("prepare.md", report.markdown(f"{files[0].name} and {files[1].name}", opening))
    return place, advice(water) if known is None and water is not None and water.key == "tip3p" else ""


def _without_correction(topology: Any, known: TitratableForceField, entries: dict[str, str]) -> list[str]:
    """Asp and Glu with one hydrogen in a force field that has no entries for them: those that are built in are for AMBER99SB-ILDN."""
    if known.name == BUILT_IN[0]:
        return []
    lacking = {name for name, entry in CARBOXYLS.items() if not any(Path(file).stem == entry for file in entries)}
    return [f"{residue.name} {residue.id}" for residue in topology.residues() if residue.name in lacking and _hydrogens(residue) == 1]


def _hydrogens(residue: Any) -> int:
    """Number of hydrogens at the carboxyl group of the side chain of Asp or Glu."""
    return sum(atom.name in ("HD1", "HD2", "HE1", "HE2") for atom in residue.atoms())


def has_places(system: Any, topology: Any, file: Path) -> None:
    """Refuses atoms without mass that OpenMM made no virtual sites of: their place would be that of the file for ever."""
    for atom in topology.atoms():
        if system.getParticleMass(atom.index)._value == 0.0 and not system.isVirtualSite(atom.index):
            raise Refused(
                f"{file}: atom {atom.name} of {named(atom.residue)} has no mass, and the file does not say where it is beside the others: for OpenMM it is held in place",
                "in a prmtop an extra point of water is bonded to its oxygen, as tleap writes it, and in a .top it stands in a section such as [ virtual_sites3 ]: "
                "let the program that made the system write it anew",
            )


def _in_water(known: TitratableForceField, water: Water, args: argparse.Namespace, file: Path) -> TitratableForceField:
    """The force field with the water of the system, where no other one is asked for.

    Raises `Refused` for a system in another water than `--water`, and for one that the force field does not go with.
    """
    if water.key is None or water.key == known.water:
        return known
    if args.water is not None:
        raise Refused(f"{file}: the water is {water.words()}, and --water says {args.water}", f"leave --water out: the water is told by its charges{_with(water)}")
    if water.key not in FORCE_FIELDS[known.name].waters:
        raise Refused(
            f"{file}: the water is {water.words()}, and octitrate has no corrections for {known.name} in it",
            f"{known.name} goes with {', '.join(FORCE_FIELDS[known.name].waters)}; leave --force-field out to take the system over without corrections{_with(water)}",
        )
    return TitratableForceField(known.name, water.key, args.library or [])


def _with(water: Water) -> str:
    """The force fields that go with a water, as the end of a sentence."""
    fields = water.force_fields()
    return f"; {water.title} goes with --force-field {' or '.join(fields)}" if fields else ""


def _force_field(args: argparse.Namespace) -> TitratableForceField | None:
    """The force field that the system was made with, if that is said. Raises `Refused` for one that is not known, and for its water alone."""
    if args.force_field is None:
        if given := [f"--{name}" for name in ("water", "library") if getattr(args, name)]:
            raise Refused(f"{listed(given)}: with --from only beside --force-field", "--force-field ff14SB says what the system was made with, and which corrections it gets")
        return None
    return TitratableForceField(args.force_field, args.water, args.library or [])


def _whole_pi(system: Any) -> None:
    """Gives impropers all decimals of π: OpenMM's reader of psf files writes seven of them into their energy, so that one around π is not harmonic at its ends."""
    for force in system.getForces():
        if isinstance(force, openmm.CustomTorsionForce):
            force.setEnergyFunction(re.sub(r"\bpi\s*=\s*3\.14159\d*", f"pi={math.pi!r}", force.getEnergyFunction()))


def _flat_torsions(system: Any) -> None:
    """Gives torsions of no energy a multiplicity of 1 where they have 0, which OpenMM refuses: ParmEd writes such terms of `X C CT X 9 0.0 0.0 0` in GROMACS's files of AMBER."""
    for force in system.getForces():
        for k in range(force.getNumTorsions() if isinstance(force, openmm.PeriodicTorsionForce) else 0):
            *atoms, multiplicity, phase, amplitude = force.getTorsionParameters(k)
            if multiplicity == 0 and amplitude._value == 0.0:
                force.setTorsionParameters(k, *atoms, 1, phase, amplitude)


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
        why = f"there is no {error.args[0]}" if isinstance(error, KeyError) else error
        raise Refused(f"{files[0]} and {files[1]}: OpenMM cannot read them: {why}", "look at the files with the program that wrote them") from None
    if kind == ".xml":
        raise Refused(f"{files[0]}: a system of OpenMM is not taken over, because octitrate reads it itself", 'a job names it with a .gro file of its atoms: [system] topology = "system.xml"')
    raise Refused(f"{files[0]}: nothing is known about files {kind or 'without an ending'}", FORMS)


def _amber(files: list[Path]) -> Loaded:
    coordinates = app.AmberInpcrdFile(str(files[1]))
    vectors = coordinates.boxVectors
    prmtop = app.AmberPrmtopFile(str(files[0]), periodicBoxVectors=vectors) if vectors is not None else app.AmberPrmtopFile(str(files[0]))
    # The reader takes HIP, HID and HIE for HIS: forms of a residue, which corrections go by, and names that trajectories are read with.
    for residue in prmtop.topology.residues():
        for atom in residue.atoms():
            residue.name, atom.name = prmtop._prmtop.getResidueLabel(atom.index).strip(), prmtop._prmtop.getAtomName(atom.index).strip()
    return Loaded(prmtop.topology, prmtop, coordinates.positions, DEFAULT, "a prmtop does not say how; AMBER itself truncates, at 0.8 to 1.0 nm")


def _gromacs(files: list[Path]) -> Loaded:
    places, vectors = gro(files[1])
    top = Top(str(files[0]), periodicBoxVectors=vectors)
    rows = lines_of(files[1])[2:]
    for residue in top.topology.residues():  # the reader counts residues from 1; the structure has their numbers
        first = next(residue.atoms()).index
        residue.id = rows[first][:5].strip() if first < len(rows) - 1 else residue.id
    called = [(fields[3], fields[4]) for name, count in top._molecules for _ in range(count) for fields in top._moleculeTypes[name].atoms]
    _name_residues(top.topology, [residue for residue, _ in called])
    cutoffs, why = DEFAULT, "a .top does not say how, the .mdp of its runs does; 1.0 nm is GROMACS's default"
    if has_urey_bradley(top):
        cutoffs, why = CHARMM, "the angles of the .top have Urey–Bradley terms, as CHARMM's have"
    return Loaded(top.topology, top, places * unit.nanometer, cutoffs, why, names=(called, names_of_gro(rows[: len(places)]), 5))


BOTH_PROTONS = {"HSP": "HIP", "HISH": "HIP"}
"""What histidine with both protons is called by CHARMM and by GROMACS's OPLS-AA, and by corrections."""


def _name_residues(topology: Any, names: list[str]) -> None:
    """Calls residues as their file does, by a name for each atom: OpenMM's reader calls all forms of a residue alike, and HIP, HID and HIE come out as HIS. Histidine with
    both protons is called HIP, under which its corrections for ff14SB, ff19SB and CHARMM36m are found. Water keeps the name by which OpenMM knows it."""
    for residue in topology.residues():
        name = names[next(residue.atoms()).index]
        if residue.name != "HOH":
            residue.name = BOTH_PROTONS.get(name, name)


def _psf_names(path: Path) -> together.Names:
    """Residues and atoms of a psf, one line for each atom: number, segment, number of the residue, its name, name of the atom, …"""
    lines = path.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if "!NATOM" in line)
    count = int(lines[start].split()[0])
    return [(words[3], words[4]) for words in map(str.split, lines[start + 1 : start + 1 + count])]


def _pdb_names(path: Path, count: int) -> together.Names:
    """Residues and atoms of the first model of a PDB file as it calls them, which OpenMM's reader does not. Raises `Refused` where it has other records than the `count` that were read."""
    model = re.split(r"^ENDMDL", path.read_text(encoding="utf-8", errors="replace"), maxsplit=1, flags=re.MULTILINE)[0]
    found = [(line[17:21].strip(), line[12:16].strip()) for line in model.splitlines() if line[:6] in ("ATOM  ", "HETATM")]
    if len(found) != count:
        raise Refused(f"{path}: has {counted(len(found), 'record')} of atoms, of which OpenMM takes {count}: some are alternate places, or there twice", "write each atom once, in the order of the psf")
    return found


def _charmm(files: list[Path], args: argparse.Namespace) -> Loaded:
    if not args.parameters:
        raise Refused(f"{files[0]}: a psf file has no parameters", "--parameters par_all36m_prot.prm toppar_water_ions.str …")
    psf = app.CharmmPsfFile(str(files[0]))
    reader = app.PDBFile if files[1].suffix.lower() == ".pdb" else app.CharmmCrdFile
    coordinates = reader(str(files[1]))
    vectors = coordinates.topology.getPeriodicBoxVectors() if reader is app.PDBFile else None
    if args.box_size is None and vectors is None:
        raise Refused(f"{files[1]}: has no box", "--box-size 7 7 7 gives its edges in nm")
    box = args.box_size or computeLengthsAndAngles(vectors)
    psf.setBox(*(edge * unit.nanometer for edge in box[:3]), *(angle * unit.radian for angle in box[3:]))
    parameters = app.CharmmParameterSet(*map(str, args.parameters))

    def bond(a: int, b: int) -> float | None:
        first, second = sorted(psf.atom_list[atom].type.name for atom in (a, b))
        found = parameters.bond_types.get((first, second))
        return None if found is None else found.req / 10

    topology = psf.topology  # made anew whenever the box changes
    called = _psf_names(files[0])
    _name_residues(topology, [residue for residue, _ in called])
    if reader is app.PDBFile:
        theirs, width = _pdb_names(files[1], len(coordinates.positions)), 4
    else:
        theirs = list(zip(coordinates.resname, coordinates.attype, strict=True))
        width = max(4, *(len(name) for pair in theirs for name in pair))  # eight where the file is in the extended format
    return Loaded(topology, psf, coordinates.positions, CHARMM, "a psf is of CHARMM, whose force fields were made so", (parameters,), (called, theirs, width), bond)


def _has_solute(topology: Any) -> bool:
    """Whether anything is there but water and ions: a residue with two heavy atoms, which can be held."""
    return any(sum(atom.element is not None and atom.element.symbol != "H" for atom in residue.atoms()) > 1 for residue in topology.residues())


def _energy(system: Any, model: Model, file: Path) -> float:
    try:
        context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform())
    except openmm.OpenMMException as error:
        raise Refused(f"{file}: OpenMM cannot compute the energy of the system: {error}", "look at the file with the program that wrote it") from None
    context.setPositions(model.quantity())
    context.computeVirtualSites()
    return float(context.getState(getEnergy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole))


def has_right_angles(topology: app.Topology) -> bool:
    """Whether the edges of the box are along the axes."""
    vectors = topology.getPeriodicBoxVectors()
    return vectors is not None and all(abs(vectors[row][axis]._value) < 1e-6 for row, axis in ((1, 0), (2, 0), (2, 1)))


def _values(low: float, high: float) -> str:
    """The pH values of the job, a unit apart; the highest is in them."""
    if abs(high - low - round(high - low)) < 1e-6:
        return f"{{ min = {low:g}, max = {high:g}, step = 1.0 }}"
    return str([round(low + k, 3) for k in range(math.floor(high - low) + 1)] + [round(high, 3)])


def _job(files: list[Path], args: argparse.Namespace, van_der_waals: list[str], start: float | None, libraries: list[str], *, is_bilayer: bool) -> str:
    low, high = args.ph_range or (1.0, 13.0)
    bath, duration = "\n".join([*thermostat(args.temperature or Options.temperature), "", *electrostatics()]), args.duration or Options.duration
    begin = "\n".join([*van_der_waals, "[minimise]", "", *position_restraints(start)])
    held = "" if start is None else f'\nstart = "{picoseconds(start)}" # the volume is constant until velocities are thermal'
    ends = "".join(f"\n{line}" for line in until(args.until))
    library = f"library = {json.dumps(libraries)}\n" if libraries else ""
    coupling = '\ncoupling = "semi-isotropic" # x and y together, z apart: for a bilayer in the x-y plane\ninterval = 50' if is_bilayer else ""
    return f"""# Titration of {files[0].name}, written by octitrate prepare: every group that the library knows and that has its protons titrates.

[system]
structure = "system.gro"
topology = "system.xml"

{begin}
[dynamics]
duration = "{duration}"
time_step = "4 fs"
hydrogen_mass = "3 u"

{bath}

[barostat]
pressure = "1 bar"{held}{coupling}

[titration]
{library}# allow_uncalibrated = true # where octitrate check names a correction that is preliminary: octitrate info NAME says why
# allow_mismatch = ["parameters of glu"] # where octitrate check names parameters that differ, and you know that it does not matter
{BARRIER}
{ROTAMERS}

[titration.buffer]

[titrate]
ph = {_values(low, high)}
exchange = "1 ps"{ends}

[output]
lambda = "{between_lines(duration)}"
trajectory = "100 ps"
"""
