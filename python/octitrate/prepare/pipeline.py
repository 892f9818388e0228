"""From a structure to a folder that `octitrate titrate` runs: the steps in their order."""

from __future__ import annotations

import dataclasses
import json
import math
import platform
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import openmm
from openmm import app, unit

from .. import __version__, repeatable
from ..calibrated import SHIPPED
from ..entries import KINDS, forms
from ..errors import named
from ..force_fields import FORCE_FIELDS
from ..residues import TitratableForceField
from ..words import counted, listed
from . import build, called, chains, chirality, choose, coarse, confidence, flips, loops, molecules, mutate, numbers, order, predict, sites, solvate, structure, units
from .folder import MARKER, Folder, digest
from .job import Titration, heated, job, length, offsets
from .options import Options
from .read import read
from .report import Report


def prepare(options: Options, report: Report) -> Path:
    """Prepares a protein; returns the folder.

    Raises `Refused` with one message for an input that cannot be prepared; nothing is written then.
    """
    repeatable.platform(options.seed)
    place = options.output or Path(f"{options.input.name.removesuffix('.gz').rsplit('.', 1)[0]}-prepared")
    folder = Folder(place, options.force)
    ff = TitratableForceField(options.force_field, options.water, options.library, options.pair_corrections)
    report.step("Input")
    entry = read(options.input)
    report.note(f"{options.input} ({entry.kind})" + (f": {entry.title}" if entry.title else ""))
    residues = choose.model(entry, options, report)
    called.name_chains(entry, residues, report)
    choose.standard_names(residues, report)
    residues = choose.no_hydrogens(residues, report)
    coarse.refuse(residues, entry, 1.0)
    report.step("Chains")
    everything = residues
    residues = choose.chains(entry, residues, options, report)
    units.note(entry, everything, residues, options, report)
    report.step("Alternates")
    residues = choose.one_place(residues, options, report)
    mutate.mutate(residues, options, report)
    report.step("Other molecules")
    kept = molecules.sort_out(residues, options, lambda name: ff.ion(name) is not None, report, entry.parents)
    if options.crystal_water == "drop" and kept.waters:
        report.note(f"{counted(len(kept.waters), 'molecule')} of water of the crystal {'is' if len(kept.waters) == 1 else 'are'} left out, as asked")
        kept.waters = []
    report.step("Ends and gaps")
    kept.protein = chains.check_atoms(kept.protein, entry, report)
    kept.protein = order.in_order(kept.protein, report)
    confidence.note(entry, kept.protein, report)
    found = chains.segments(entry, kept.protein, options, report)
    pairs = chains.bridges(entry, everything, found, report)
    chains.named_bonds(entry, found, report)
    chains.unlike_bonds(found, pairs)
    report.step("Missing atoms")
    model = build.build(found, pairs, kept, options.seed, report)
    unseen = loops.unseen(model, found)
    if options.flips == "auto":
        model = flips.flip(model, report)
    report.step("Sites")
    model, choices = protonate(model, ff, options, report)
    model = loops.settle(model, ff, unseen, options.seed, report)
    chirality.check(model.topology, model.positions, report, ff.has_maps())
    sites.buffer(ff, choices, options, report)
    sites.from_files(choices, ff.buffer_file(), SHIPPED, report)
    ph = sites.values(choices, options)
    report.note(f"pH {', '.join(f'{value:g}' for value in ph)}")
    sites.held(choices, ph, options, report)
    report.step("Water and salt")
    titrating = [choice for choice in choices if choice.titrates]
    model, effects = solvate.solvate(model, ff, options, [sites.lost(choices, value) for value in (ph[0], ph[-1])], len(titrating), report)
    report.step("Force field")
    solvated = solvate.parametrise(model, ff, options, report)
    solvate.relax(solvated, report)
    note_types(titrating, ff, report)
    for choice, beside in zip(titrating, offsets(titrating, ff, solvated.model.topology)):
        if beside is not None:
            report.note(f"{choice.label} stands beside {named(beside[1])}, whose charges its correction does not know: {beside[0]:+.1f} kJ/mol in the job (offset)")
    numbers.number_anew(solvated.model.topology, len(found), report)
    in_topology(choices, solvated.model.topology)
    if others := [f"{name} is {letter}" for name, letter in structure.letters(solvated.model.topology).items() if name != letter]:
        report.step("Names of chains")
        report.note(f"a PDB file has room for one letter: in protein.pdb {listed(others)}")
    report.step("Cost")
    report.note(cost(len(model.positions), len(ph) * options.starts, options.duration, FORCE_FIELDS[options.force_field].cutoffs.cutoff, until=options.until is not None))
    entries = ff.entries(solvated.model.topology)
    with folder:
        folder.write("system.xml", openmm.XmlSerializer.serialize(solvated.system))
        folder.write("system.gro", structure.gro(f"{options.input.name}, prepared by octitrate {__version__}", solvated.model))
        if effects is not None:
            folder.write("finite_box.csv", effects)
        folder.write("protein.pdb", structure.pdb(solvated.model))
        for name, text in entries.items():
            folder.write(f"library/{name}", text)
        libraries = [f"library/{name}" for name in entries]
        what = Titration(choices, ph, libraries, ff, solvated.model.topology, options)
        folder.write("titrate.toml", job(what, effects is not None))
        for number in range(2, options.starts + 1):
            folder.write(f"start_{number}.toml", heated(what, number))
        folder.write(MARKER, marker(options))
        opening = (
            f"`{options.input}` with {ff.called()} and {ff.water}, made by octitrate {__version__} and OpenMM {openmm.version.version}. "
            + ("octitrate refuses the job until what stands first below is done. Then run" if report.obstacles else "Run")
            + f" it with `octitrate titrate {shlex.quote(f'{place}/titrate.toml')}`"
            + (f", which first makes the structures of {', '.join(f'start_{number}.toml' for number in range(2, options.starts + 1))}." if options.starts > 1 else ".")
        )
        folder.write("prepare.md", report.markdown(f"Preparation of {options.input.name}", opening))
    if folder.aside is not None:
        report.note(f"{place} of before is {folder.aside} now")
    return place


def protonate(model: build.Model, ff: TitratableForceField, options: Options, report: Report) -> tuple[build.Model, list[sites.Choice]]:
    """Adds hydrogens: all of them to the groups that titrate, those of pH 7 to others."""
    predicted = predict.predict(model, report)
    groups = ff.groups(model.topology)
    choices = sites.choose(groups, predicted, options, report)
    keep = {(choice.group.residue.index, choice.group.group) for choice in choices if not choice.titrates}
    names = ff.build_names(model.topology, keep=keep)
    modeller = ff.add_hydrogens(app.Modeller(model.topology, model.quantity()), names)
    report.table(sites.table(choices))
    places = np.array(modeller.positions.value_in_unit(unit.nanometer))
    in_topology(choices, modeller.topology)
    return build.Model(modeller.topology, places), choices


def in_topology(choices: list[sites.Choice], topology: Any) -> None:
    """Gives groups their residues in another topology of the same protein. The names of choices stay those of the file."""
    residues = list(topology.residues())
    for choice in choices:
        choice.group = dataclasses.replace(choice.group, residue=residues[choice.group.residue.index])


def note_types(titrating: list[sites.Choice], ff: TitratableForceField, report: Report) -> None:
    """Notes what the force field changes with a proton: what follows λ, and what does not."""
    found = {KINDS[entry].title.lower(): forms(ff, entry) for entry in dict.fromkeys(choice.group.entry for choice in titrating)}
    if bonded := [name for name, one in found.items() if one.bonded]:
        report.note(f"λ changes charges and, inside of chains, bonded terms of {', '.join(bonded)}, which are those that the force field has for each form")
    if wells := [name for name, one in found.items() if one.wells]:
        report.note(f"λ changes Lennard-Jones parameters of {', '.join(wells)}, which are those that the force field has for each form")
    if differences := [f"{name} ({one.differences()})" for name, one in found.items() if one.differences()]:
        report.note(
            "λ does not change Lennard-Jones types and bonded terms of other groups: they stay those of one form, in proteins and in the model compounds of V_MM. In other forms "
            f"the force field has others: {'; '.join(differences)}"
        )


def cost(atoms: int, runs: int, duration: str, cutoff: float, *, until: bool = False) -> str:
    """A guess of the speed: a power of the number of atoms through two measured points, titrating side by side on one H200 at 4 fs. With a cut-off of 1.0 nm nine
    walkers of 27 480 atoms that swap their pH make 6 838 ns/day in all, 32 runs of 3 524 atoms 26 614 (benchmarks/gpu.md); that is 5 % too high for eight walkers of
    14 513 atoms, 3 % too low for nine of 17 719. With 1.2 nm and Lennard-Jones on the hydrogens of water (CHARMM) ten of 28 478 atoms make 3 996 and eight of 15 034
    6 717; 2 % too low for nine of 18 324, 1 % too high for 18 of 28 133, and a tenth too low for 40 of 17 603 (validation/README.md, "HP36 and BBL")."""
    (few, fast), (many, slow) = ((15034, 6717), (28478, 3996)) if cutoff > 1.0 else ((3524, 26614), (27480, 6838))
    power = math.log(fast / slow) / math.log(many / few)
    guess = slow * (many / atoms) ** power
    time = length(duration)
    minutes = 0.0 if time is None else 1440 * runs * time / 1000 / guess
    takes = "" if time is None else f", {counted(max(1, round(minutes)), 'minute')}" if minutes < 100 else f", {minutes / 60:.0f} hours"
    return (
        f"{atoms} atoms, {runs} runs of {duration}{' at most' if until else ''}; a guess from two systems that were measured: {round(guess, -2 if guess < 10000 else -3):.0f} ns/day of all runs "
        f"together on one H200{takes}; some thousandths of that speed on two CPU cores"
    )


def marker(options: Options) -> str:
    """What was asked for, as TOML."""
    lines = ["# A protein was prepared in this folder with these settings.", f'program = "octitrate {__version__}"']
    lines.append(f'openmm = "{openmm.version.version}"')
    lines.append(f'python = "{platform.python_version()}"')
    lines.append(f'sha256 = "{digest(options.input)}"')
    for key, value in vars(options).items():
        if value is None or key in ("output", "force"):
            continue
        plain = [str(one) for one in value] if isinstance(value, list) else str(value) if isinstance(value, Path) else value
        lines.append(f"{key} = {json.dumps(plain)}")
    return "\n".join(lines) + "\n"
