"""Writes the job of the titration, `titrate.toml`, and those of other structures that it may begin with."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from ..errors import named
from ..neighbours import offset
from ..words import listed
from .options import Options
from .sites import Choice

START = (-10.0, 30.0)
"""Values of `start_pka` that octitrate takes."""


@dataclass(frozen=True)
class Titration:
    """What jobs are about. `ff`: the `octitrate.residues.TitratableForceField`."""

    choices: list[Choice]
    ph: list[float]
    libraries: list[str]
    ff: Any
    topology: Any
    options: Options


def job(what: Titration, finite_box: bool) -> str:
    """The text of the job. `finite_box`: whether there is a table of what the size of the box does."""
    options = what.options
    start = settling(options.duration)
    starts = [f"start_{number}" for number in range(2, options.starts + 1)]
    first = f", which runs {', '.join(f'{name}.toml' for name in starts)} first" if starts else ""
    structures = json.dumps(["system.gro", *(f"{name}/final.gro" for name in starts)])
    return "\n".join([
        f"# Titration of {options.input.name}, written by octitrate prepare; prepare.md says what was decided on the way.",
        f"# octitrate titrate titrate.toml{first}",
        "",
        *system(what),
        "[minimise]",
        "",
        *position_restraints(start),
        "[dynamics]",
        f"duration = {json.dumps(options.duration)} # of each run" + (", at most" if options.until is not None else ""),
        'time_step = "4 fs"',
        'hydrogen_mass = "3 u"',
        *(['velocities = "generate" # those of structures that were at 500 K are of that temperature'] if starts else []),
        "",
        *thermostat(options.temperature),
        "",
        *electrostatics(),
        "",
        "[barostat]",
        'pressure = "1 bar"',
        *([] if start is None else [f'start = "{picoseconds(start)}" # the volume is constant until velocities are thermal']),
        "",
        "[titration]",
        *sites(what),
        "",
        "[titration.buffer]",
        "",
        "[titrate]",
        f"ph = {json.dumps(what.ph)}",
        'exchange = "1 ps"',
        *until(options.until),
        *([f"replicas = {options.starts}", f"structures = {structures} # with which the replicas of each pH begin"] if starts else []),
        *(['finite_box = "finite_box.csv" # what the size of the box does to pKa values, which are given with it and without it'] if finite_box else []),
        "",
        "[output]",
        f'lambda = "{between_lines(options.duration)}"',
        'trajectory = "100 ps"',
        "",
    ])


def until(error: float | None) -> list[str]:
    """The line with the error at which runs may end."""
    return [] if error is None else [f"until = {error:g} # the runs end when every pKa is known to this by all that could tell that it is not"]


HEATED = "500 ps"
"""Time in which side chains turn at 500 K, as in the titrations of validation/ that began so."""


def heated(what: Titration, number: int) -> str:
    """The text of the job that makes another structure to begin with: side chains and ends that titrate at 500 K while the rest of the backbone is held, λ in the forms of the
    middle of the pH values."""
    return "\n".join([
        "# Another structure for titrate.toml to begin with: side chains and ends that titrate at 500 K while the rest of the backbone is held, and λ with it.",
        f"# octitrate titrate titrate.toml runs it; octitrate run start_{number}.toml does by itself.",
        "",
        *system(what),
        "[minimise]",
        "",
        "[position_restraints]",
        f"atoms = {json.dumps(held(what))}",
        f'duration = "{HEATED}"',
        'fade = "0 ps"',
        "",
        "[dynamics]",
        f'duration = "{HEATED}"',
        'time_step = "2.5 fs"',
        'hydrogen_mass = "3 u"',
        f"seed = {number}",
        "",
        *thermostat(500.0),
        "",
        *electrostatics(),
        "",
        "[titration]",
        f"ph = {what.ph[len(what.ph) // 2]:g}",
        f'relax = "{HEATED}" # λ is held in the forms of this pH',
        'allow_mismatch = ["temperature"] # no pKa comes from it',
        *sites(what),
        "",
        "[titration.buffer]",
        "",
        "[output]",
        'trajectory = "0 ps"',
        "",
    ])


def held(what: Titration) -> str:
    """The atoms that stay where they are while side chains turn: the backbone, but for residues with an end that titrates, whose φ or ψ the end depends on."""
    titrating = [choice.group for choice in what.choices if choice.titrates]
    ends = []
    for group, name in zip(titrating, site_names(titrating, what.topology)):
        if group.group in ("nterm", "cterm"):
            # `nterm LYS 1`, or `2:nterm LYS 1` where chains are numbered alike; of `nterm LYS 1#2` the first goes with the second
            molecule = name.partition(":")[0] if ":" in name else ""
            ends.append((f"molecule {molecule} and " if molecule else "") + f"resname {group.residue.name} and resid {group.residue.id}")
    return "backbone" + "".join(f" and not ({end})" for end in dict.fromkeys(ends))


def system(what: Titration) -> list[str]:
    """The sections with the system and what the force field asks for."""
    force_field = f" # {what.ff.called()}" if what.ff.pairs is not None else ""
    return ["[system]", 'structure = "system.gro"', 'topology = "system.xml"' + force_field, "", *what.ff.van_der_waals()]


def sites(what: Titration) -> list[str]:
    """The rest of the section of the titration, and that of each site."""
    titrating = [choice for choice in what.choices if choice.titrates]
    lines = [f"library = {json.dumps(what.libraries)}"] if what.libraries else []
    lines += allowances([(choice.label, choice.group.status) for choice in titrating] + [("the charge buffer", what.ff.buffer_status())])
    lines += [BARRIER, ROTAMERS]
    names = site_names([choice.group for choice in titrating], what.topology)
    beside = offsets(titrating, what.ff, what.topology)
    for choice, name, found in zip(titrating, names, beside):
        lines += ["", "[[titration.site]]", f"residue = {json.dumps(name)} # {choice.label}; pKa of the model compound {choice.group.pka:.2f}"]
        lines.append(f"place = {json.dumps(choice.place)}")
        if choice.predicted is not None:
            lines.append(f"start_pka = {min(max(choice.predicted, START[0]), START[1]):.2f} # PROPKA: the form that the site starts with at each pH")
        if found is not None:
            lines.append(f'offset = "{found[0]:g} kJ/mol" # beside {named(found[1])}: what its charges do to the free energy and exclusions hide')
    return lines


def offsets(choices: list[Choice], ff: Any, topology: Any) -> list[tuple[float, Any] | None]:
    """The offset (kJ/mol) of each group and the neighbour that it comes from; none for most."""
    residues = list(topology.residues())
    return [offset(ff.name, choice.group.group, residues[choice.group.residue.index]) for choice in choices]


def thermostat(temperature: float) -> list[str]:
    """The section with what keeps the temperature (K): friction takes up what the fastest vibrations gain in steps of 4 fs, v-rescale cannot."""
    return ["[thermostat]", 'kind = "langevin"', 'friction = "1 /ps"', f'temperature = "{temperature:g} K"']


def electrostatics() -> list[str]:
    """The section with the accuracy of the FMM: forces within 3e-4, half the error of OpenMM's PME at its default, and ∂V/∂λ between forms within 0.03 kJ/mol, a
    sixth faster than octitrate's own default. The energy drifts some 60 times as much as with that; a Langevin bath of 1/ps takes it up within 0.03 K (the page
    of benchmarks, "Order 8 in production")."""
    return [
        "[electrostatics] # relative errors of forces 3e-4; without these two keys 5e-5, and 15 % slower: for v-rescale, and for octitrate drift",
        "order = 8",
        "separation = 1.12",
    ]


BARRIER = 'barrier = "5 kJ/mol" # between the forms of a group; with a higher one it changes its form less often and is less often between two'
"""Groups change their protonation two to three times as often as with 10 kJ/mol, and walkers of an exchange make more round trips (benchmarks, "Barriers between forms")."""

ROTAMERS = 'ease_rotamers = "8 kJ/mol" # barriers between rotamers of side chains are lower by this, in all forms alike'
"""Side chains turn two to four times as often with it (validation, "Rotamers"), and titrations wait for nothing longer."""


def allowances(statuses: list[tuple[str, str]]) -> list[str]:
    """The lines about corrections that are not calibrated, of groups and the buffer by their labels; none where all of them are."""
    unknown, doubtful = ([label for label, status in statuses if status == wanted] for wanted in ("uncalibrated", "preliminary"))
    lines = []
    if unknown:
        lines.append(f"# No correction V_MM is known for {listed(unknown, 6)}: octitrate refuses to titrate until `library` has it.")
    if doubtful:
        lines += [f"# Preliminary by the program's own tests (octitrate info NAME says why): {listed(doubtful, 6)}.", "allow_uncalibrated = true"]
    return lines


PICOSECONDS = {"fs": 1e-3, "ps": 1.0, "ns": 1e3, "us": 1e6, "ms": 1e9}
"""Units of time in a job."""

LONGEST = 20.0
"""Time (ps) in which water settles around a protein, several times over."""

HUNDRED_STEPS = 0.4
"""Time (ps) of a hundred steps of 4 fs: restraints change at multiples of them."""


def length(duration: str) -> float | None:
    """A `duration` in ps; none for what is no time, of which octitrate says what is wrong with it."""
    found = re.fullmatch(r"\s*((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(fs|ps|ns|us|ms)\s*", duration)
    return None if found is None else float(found[1]) * PICOSECONDS[found[2]]


def settling(duration: str) -> float | None:
    """The length (ps) of each of the three parts with which a run of this `duration` begins: heavy atoms of the solute held at constant volume, then at
    constant pressure, then let go slowly. A fiftieth of the run, `LONGEST` at most; none where that is less than a hundred steps."""
    time = length(duration)
    if time is None:
        return None
    hundreds = math.floor(min(LONGEST, time / 50) / HUNDRED_STEPS + 1e-9)
    return None if hundreds < 1 else hundreds * HUNDRED_STEPS


def between_lines(duration: str) -> str:
    """The time between two lines of λ in a run of this `duration`: each tenth of a picosecond while these are ten thousand at most, then each picosecond."""
    time = length(duration)
    return "0.1 ps" if time is None or time <= 1000 else "1 ps"


def picoseconds(time: float) -> str:
    """A time as a job has it."""
    return f"{time:.10g} ps"


def position_restraints(start: float | None) -> list[str]:
    """The lines of the section that holds heavy atoms of the solute, with parts of this length (`settling`); none without them."""
    if start is None:
        return []
    return [
        "[position_restraints] # heavy atoms of the solute stay where they are while water settles, and are let go slowly; λ is held meanwhile",
        f'duration = "{picoseconds(2 * start)}"',
        f'fade = "{picoseconds(start)}"',
        "",
    ]


def site_names(groups: list[Any], topology: Any) -> list[str]:
    """The names by which a job asks for groups: `GL3 35`, `nterm LYS 1`. Where several residues have one name and number, the number of the molecule is before,
    `2:GL3 35`, and where one molecule has several of them, as chains that a disulfide joins, the number of the residue among them is behind, `GL3 35#2`."""
    number = molecules(topology)
    alike: dict[tuple[str, str], list[int]] = {}
    for residue in topology.residues():
        alike.setdefault((residue.name, residue.id), []).append(residue.index)
    found = []
    for group in groups:
        residue = group.residue
        called = f"{residue.name} {residue.id}" if group.group == "side" else f"{group.entry} {residue.name} {residue.id}"
        everywhere = alike[residue.name, residue.id]
        here = [index for index in everywhere if number[index] == number[residue.index]]
        if len(here) > 1:
            called += f"#{here.index(residue.index) + 1}"
        found.append(f"{number[residue.index]}:{called}" if len(here) < len(everywhere) else called)
    return found


def molecules(topology: Any) -> dict[int, int]:
    """The number of the molecule, from 1, that every residue belongs to: what bonds join, in the order of the atoms."""
    parent = list(range(topology.getNumResidues()))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for bond in topology.bonds():
        a, b = root(bond[0].residue.index), root(bond[1].residue.index)
        parent[max(a, b)] = min(a, b)
    order: dict[int, int] = {}
    return {i: order.setdefault(root(i), len(order) + 1) for i in range(len(parent))}
