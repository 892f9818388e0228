"""Model compounds in water, from which `octitrate calibrate` gets the correction V_MM of an entry for any force field.

A correction is the free energy of the *force field* between the forms of a residue between caps, in water, beside a charge buffer. One folder holds
all that its calibration
needs: `system.gro`, `system.xml`, the entries of `library/`, and its jobs,

    octitrate run equilibrate.toml         # minimises, then a barostat finds the volume
    octitrate calibrate calibrate.toml     # writes calibrate/ENTRY.toml, the entry with its correction
    octitrate titrate titrate.toml         # the pKa should come back

=====================  ==================  =========================================================
name                   molecule            what is calibrated
=====================  ==================  =========================================================
``TYR``                ACE-TYR-NME         the side chain inside of a chain
``nterm LYS``          NH3-LYS-NME         the amino end at this residue
``cterm LEU``          ACE-LEU-COOH        the carboxyl end at this residue
``nterm side GLU``     NH3-GLU-NME         the side chain of a first residue, its amino end protonated
``cterm side GLU``     ACE-GLU-COOH        the side chain of a last residue, its end protonated
``water``              water alone         the charge buffer: first of all, for a water that has none
=====================  ==================  =========================================================
"""

from __future__ import annotations

import json
import shlex
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import __version__
from .entries import KINDS, buffer_entry, buffer_name, entry
from .errors import Refused
from .peptide import peptide
from .prepare.folder import MARKER, Folder
from .prepare.job import thermostat
from .repeatable import order_types
from .residues import AMINO_ACIDS, ENTRIES, PROTONATED, VARIANTS, TitratableForceField
from .user_library import family

BUFFER = "../water/calibrate/water.toml"
"""The entry of a charge buffer that is calibrated beside the model compound, as its job names it."""

EDGE = 3.3
"""Edge of the cubic box, nm: the buffers find places at least 1.2 nm from the solute and each other."""


@dataclass(frozen=True)
class Compound:
    """What is built: residues of the peptide, which of them titrates and with which entry."""

    residues: tuple[str, ...]
    site: int
    entry: str
    folder: str
    """Name of its folder among others: ``tyr``, ``cterm-leu``."""


def compound(name: str) -> Compound:
    """The molecule that a name stands for (see the table above). Raises `Refused` for a name that stands for none."""
    *words, residue = name.split()
    base = VARIANTS.get(residue.upper(), residue.upper())
    if not words and residue.lower() == "water":
        return Compound((), 0, "water", "water")
    if base not in AMINO_ACIDS:
        raise Refused(f"there is no model compound {name!r}", f"residues are {', '.join(AMINO_ACIDS)}; or water")
    side = ENTRIES.get(PROTONATED.get(base, base))
    if side is None and (not words or words[-1] == "side"):
        raise Refused(f"the side chain of {base} does not titrate", f"those that do are {', '.join(sorted(VARIANTS.get(one, one) for one in ENTRIES))}")
    end = words[0] if words else ""
    if end not in ("", "nterm", "cterm") or words[1:] not in ([], ["side"]):
        raise Refused(f"there is no model compound {name!r}", 'write "TYR", "nterm LYS", "cterm LEU", "cterm side GLU" or "water"')
    chosen = end if words == [end] else str(side)
    folder = "-".join([*(word.lower() for word in words), base.lower()])
    if end == "nterm":
        return Compound((base, "NME"), 0, chosen, folder)
    return Compound(("ACE", base) if end == "cterm" else ("ACE", base, "NME"), 1, chosen, folder)


@dataclass(frozen=True)
class Asked:
    """What a folder was built for, as its file `prepare.toml` has it: the name of the model compound, force field, water, temperature (K), pair corrections."""

    name: str
    force_field: str
    water: str
    temperature: float
    pair_corrections: str | None = None

    def text(self) -> str:
        """The file."""
        lines = ["# A model compound was built in this folder with these settings.", f'program = "octitrate {__version__}"']
        lines += [f"model_compound = {json.dumps(self.name)}", f"force_field = {json.dumps(self.force_field)}", f"water = {json.dumps(self.water)}"]
        lines += [f"temperature = {self.temperature!r}"] + ([f"pair_corrections = {json.dumps(self.pair_corrections)}"] if self.pair_corrections else [])
        return "\n".join(lines) + "\n"

    @staticmethod
    def read(place: Path) -> Asked | None:
        """What a folder was built for; none for a folder that holds no model compound, or one of an earlier version."""
        try:
            found = tomllib.loads((place / MARKER).read_text(encoding="utf-8"))
            return Asked(found["model_compound"], found["force_field"], found["water"], float(found["temperature"]), found.get("pair_corrections"))
        except (OSError, ValueError, KeyError):
            return None

    def command(self, folder: Path) -> str:
        """The command that builds it in a folder."""
        words = ["octitrate", "prepare", "--model-compound", self.name, "--force-field", self.force_field, "--water", self.water]
        words += ["--temperature", f"{self.temperature:g}", *(["--pair-corrections", self.pair_corrections] if self.pair_corrections else []), "-o", str(folder)]
        return shlex.join(words)


def build(
    name: str,
    force_field: str = "ff14SB",
    water: str | None = None,
    folder: str | Path | None = None,
    temperature: float = 300.0,
    pair_corrections: str | None = None,
    force: bool = False,
) -> Path:
    """Writes a folder with everything that the calibration of a model compound needs, and returns it.

    `name` as in the table above, `folder` by default ``FORCE_FIELD-WATER/NAME`` (``FORCE_FIELD-PAIR_CORRECTIONS-WATER/NAME``), temperature in K;
    `pair_corrections` as those of `TitratableForceField`, which change the ends of chains alone that `octitrate.pair_corrections.in_model_compound` names. A folder that
    is there is refused, or with `force` moved aside.

    Raises `Refused`.
    """
    what = compound(name)
    ff = TitratableForceField(force_field, water, pair_corrections=pair_corrections)
    place = Path(folder) if folder is not None else Path(family(ff.name, ff.water, pair_corrections)) / what.folder
    with Folder(place, force) as out:
        model, system = solvated(what, ff)
        from openmm import XmlSerializer

        from .prepare.structure import gro

        out.write("system.gro", gro(f"Model compound {'-'.join(what.residues) or 'water'}, {ff.called()}, {ff.water}", model))
        out.write("system.xml", XmlSerializer.serialize(system))
        library = []
        if what.entry != "water":
            out.write(f"library/{what.entry}.toml", entry(ff, what.entry))
            library.append(f"library/{what.entry}.toml")
        if ff.own_water():
            # A correction that comes with octitrate serves every other entry: all of them must have been made with one buffer.
            known = what.entry != "water" and ff.buffer_status() != "uncalibrated"
            if known:
                out.write("library/water.toml", ff.calibrated.written("water", buffer_name(ff), buffer_entry(ff)))
            elif what.entry == "water":
                out.write("library/water.toml", buffer_entry(ff))
            library.append("library/water.toml" if known or what.entry == "water" else BUFFER)
        site = next((residue for residue in model.topology.residues() if residue.index == what.site), None) if what.residues else None
        out.write("equilibrate.toml", equilibrate_job(ff.van_der_waals(), temperature))
        title = f"{ff.called()} in {ff.water} along λ of {'-'.join(what.residues) if what.residues else 'the charge buffer'}"
        called = f"{site.name} {site.id}" if site is not None else None
        end = what.entry if site is not None and KINDS[what.entry].terminus else None
        out.write(MARKER, Asked(name, ff.name, ff.water, temperature, pair_corrections).text())
        molecules = _molecules(what, system)
        out.write("calibrate.toml", calibrate_job(title, ff.van_der_waals(), library, called, end, temperature, molecules, ff.water.upper()))
        if called is not None:
            out.write("titrate.toml", titrate_job("-".join(what.residues), ff.van_der_waals(), library, called, end, temperature, molecules, KINDS[what.entry].pka))
    return place


def commands(place: Path) -> list[str]:
    """The commands that calibrate and titrate the model compound of a folder of `build`, in their order. Where its water has no charge buffer that is calibrated they begin
    with those of the buffer, in the folder ``water`` beside it, and with the one that builds that if it is not there.
    """
    asked = Asked.read(place)
    library = tomllib.loads((place / "calibrate.toml").read_text(encoding="utf-8"))["titration"].get("library", [])
    found = []
    if asked is not None and BUFFER in library and not (place / BUFFER).exists():
        # not `place / "../water"`: the paths are shown
        water = place.absolute().parent / "water" if place.name in ("", "..") else place.parent / "water"
        if not (water / "calibrate.toml").exists():
            found.append(replace(asked, name="water").command(water))
        found += own_commands(water)
    return found + own_commands(place)


def own_commands(place: Path) -> list[str]:
    """The commands of a folder by itself. The charge buffer is not titrated."""
    jobs = {"run": "equilibrate.toml", "calibrate": "calibrate.toml"} | ({"titrate": "titrate.toml"} if (place / "titrate.toml").exists() else {})
    return [shlex.join(["octitrate", command, str(place / job)]) for command, job in jobs.items()]


def solvated(what: Compound, ff: TitratableForceField) -> tuple[Any, Any]:
    """The molecule in a box of water, as a model of `octitrate.prepare` and as an OpenMM system."""
    import numpy as np
    import openmm
    from openmm import app, unit

    from .prepare.build import Model

    if what.residues:
        modeller = peptide(what.residues)
        modeller = ff.add_hydrogens(modeller, ff.build_names(modeller.topology))
    else:
        modeller = app.Modeller(app.Topology(), [] * unit.nanometer)
    modeller.addSolvent(
        ff.forcefield,
        model=ff.water_model,
        boxSize=openmm.Vec3(EDGE, EDGE, EDGE) * unit.nanometer,
        neutralize=False,
        residueTemplates=ff.templates(modeller.topology),
    )
    system = ff.cutoffs.system(ff.forcefield, modeller.topology, residueTemplates=ff.templates(modeller.topology))
    return Model(modeller.topology, np.array(modeller.positions.value_in_unit(unit.nanometer))), order_types(system)


def equilibrate_job(van_der_waals: list[str], temperature: float) -> str:
    """The job that minimises and finds the volume. `van_der_waals`: the lines of that section, where the force field needs it; temperature in K."""
    lines = [
        "# Minimises and finds the volume, before calibrate.toml.",
        "# octitrate run equilibrate.toml",
        "",
        *_system("system.gro", van_der_waals),
        "[minimise]",
        "",
        "[dynamics]",
        'duration = "100 ps"',
        "",
        *thermostat(temperature),
        "",
        "[barostat]",
        'pressure = "1 bar"',
        "",
    ]
    return "\n".join(lines)


def _system(structure: str, van_der_waals: list[str]) -> list[str]:
    return ["[system]", f'structure = "{structure}"', 'topology = "system.xml"', "", *van_der_waals]


def _molecules(what: Compound, system: Any) -> int | None:
    """Molecules of the buffer, where octitrate's own choice of 3 does not do: each takes up to half an elementary charge, and the molecule may have two."""
    import openmm

    if not what.residues:
        return 3
    force = next(one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
    charge = sum(force.getParticleParameters(k)[0]._value for k in range(force.getNumParticles()))
    return 2 * round(abs(charge)) + 1 if abs(charge) > 1.5 else None


def calibrate_job(
    title: str,
    van_der_waals: list[str],
    library: list[str],
    site: str | None,
    entry: str | None,
    temperature: float,
    molecules: int | None,
    water: str,
) -> str:
    """The job of the calibration.

    `title`: force field, water and molecule; `site`: the residue with its number, none for the buffer; `entry`: the entry of the site, where the residue alone
    does not tell; temperature in K; `molecules` of the buffer, if not octitrate's own choice; `water`: the name of the water model.
    """
    lines = [
        f"# Free energy of {title}: runs at fixed λ, a polynomial, free runs until they are flat and it is known.",
        "# octitrate run equilibrate.toml, then octitrate calibrate calibrate.toml",
        "",
        *_system("equilibrate/final.gro", van_der_waals),
        *_dynamics('"400 ps" # of one window', temperature),
        *_titration(library, site, entry, molecules, []),
    ]
    # Side chains and ends of chains keep a conformation for longer than a window: each window begins in four of sixteen.
    long = ["starts = 4", f"conformers = {CONFORMERS}", 'conformer_time = "1 ns"', 'round = "600 ps"']
    starts = long if site is not None else ['site = "buffer"', "starts = 2", 'round = "300 ps"']
    lines += ["[calibrate]", 'equilibration = "40 ps"', *starts, "runs = 32", "max_rounds = 3", f'water_model = "{water}"', "", *OUTPUT]
    return "\n".join(lines)


def titrate_job(
    title: str,
    van_der_waals: list[str],
    library: list[str],
    site: str,
    entry: str | None,
    temperature: float,
    molecules: int | None,
    pka: float,
) -> str:
    """The job of a titration with the correction that the calibration has made: `pka` should come back. It begins at conformations of the calibration.

    The first of `library` is the entry that was calibrated, the others as those of `calibrate_job`.
    """
    # Those of the calibration are made at the forms in turn.
    structures = [f"calibrate/conformer_{number}/final.gro" for number in range(1, REPLICAS + 1)]
    lines = [
        f"# Titration of {title} with its new correction: the pKa that comes back should be {pka:.2f}.",
        "# octitrate titrate titrate.toml, after octitrate calibrate calibrate.toml",
        "",
        *_system("equilibrate/final.gro", van_der_waals),
        *_dynamics('"1 ns" # of each run', temperature),
        *_titration([f"calibrate/{Path(library[0]).name}", *library[1:]], site, entry, molecules, ['barrier = "5 kJ/mol"']),
        "[titrate]",
        f"ph = {[round(pka + step, 2) for step in (-1.0, -0.5, 0.0, 0.5, 1.0)]}",
        f"replicas = {REPLICAS}",
        f"structures = {json.dumps(structures)}",
        'equilibration = "100 ps"',
        "",
        *OUTPUT,
    ]
    return "\n".join(lines)


CONFORMERS = 16
"""Runs of a calibration that look for conformations."""

REPLICAS = 8
"""Runs of a titration at each pH, which begin at as many of these conformations."""

OUTPUT = ["[output]", 'lambda = "0.4 ps"', 'trajectory = "0 ps"', 'energy = "10 ps"', ""]


def _dynamics(duration: str, temperature: float) -> list[str]:
    return ["[dynamics]", f"duration = {duration}", 'time_step = "4 fs"', 'hydrogen_mass = "3 u"', "", *thermostat(temperature), ""]


def _titration(library: list[str], site: str | None, entry: str | None, molecules: int | None, more: list[str]) -> list[str]:
    lines = ["[titration]", f"library = {json.dumps(library)}" if library else ""]
    if site is not None:
        # χ1 of His turns three times in ten nanoseconds by itself, and its pKa depends on it.
        lines += ['ease_rotamers = "8 kJ/mol"', *more, "", "[[titration.site]]", f'residue = "{site}"', *([f'entry = "{entry}"'] if entry else [])]
    return [*lines, "", "[titration.buffer]", *([f"molecules = {molecules}"] if molecules else []), ""]
