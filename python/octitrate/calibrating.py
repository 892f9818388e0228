"""`octitrate calibrate --residue`: which model compounds are built, in which folders, and what becomes of the entries.

The binary asks this module before it equilibrates and calibrates, and afterwards:

    plan --residue TYR --force-field ff19SB      # builds what is not there; the folders, one a line, in the order in which they are calibrated
    add ff19SB-opc/tyr                           # puts the entry of a calibrated folder into the library of the user

A folder that is there is gone on with if it was built for the same; so that the same command continues.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from . import user_library
from .errors import Refused
from .model_compound import BUFFER, Asked, build, compound
from .prepare.options import Options
from .screen import say

BAD_INPUT = 2
"""The exit status of octitrate for an input that is refused."""


def plan(names: Sequence[str], asked: Asked, folder: Path | None = None) -> list[Path]:
    """Builds the model compounds that are not there yet, and returns their folders in the order in which they are calibrated: the charge buffer first, also where
    it is not asked for and the water has none that is calibrated. `asked`: what they are built for, whatever its name; `folder`: where theirs are, by default
    ``FORCE_FIELD-WATER``.

    Raises `Refused` for a folder that holds something else.
    """
    above = folder or Path(user_library.family(asked.force_field, asked.water, asked.pair_corrections))
    wanted = {compound(name).folder: name for name in names}
    # All are looked at before any is built.
    for place, name in wanted.items():
        _same(above / place, replace(asked, name=name))
    found = [_built(above / place, replace(asked, name=name)) for place, name in wanted.items()]
    if "water" not in wanted and any(waits(place) for place in found):
        found.append(_built(above / "water", replace(asked, name="water")))
    return sorted(found, key=lambda place: place.name != "water")


def residues(listed: str) -> list[str]:
    """The names of model compounds in a list by commas. Raises `Refused` for none and for a name that stands for none."""
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if not names:
        raise Refused("--residue names no residue", 'write TYR, "nterm LYS", "cterm LEU", "cterm side GLU" or water')
    for name in names:
        compound(name)
    return names


def waits(place: Path) -> bool:
    """Whether a model compound is calibrated with the charge buffer of the folder beside it."""
    job = tomllib.loads((place / "calibrate.toml").read_text(encoding="utf-8"))
    return BUFFER in job.get("titration", {}).get("library", [])


def _same(place: Path, asked: Asked) -> bool:
    """Whether a folder was built for this; not if it is not there. Raises `Refused` if it was built for something else."""
    if not place.exists():
        return False
    there = Asked.read(place)
    if there is None:
        raise Refused(f"{place}: there is something that is no model compound of this program", "choose another folder (-o FOLDER), or move it aside")
    differs = [key for key in ("force_field", "water", "temperature", "pair_corrections") if getattr(there, key) != getattr(asked, key)]
    if compound(there.name) != compound(asked.name):
        differs.insert(0, "name")
    if differs:
        what = ", ".join(f"{getattr(there, key)} and not {getattr(asked, key)}" for key in differs)
        raise Refused(f"{place}: the model compound there was built for {what}", "choose another folder (-o FOLDER), or move it aside")
    return True


def _built(place: Path, asked: Asked) -> Path:
    if not _same(place, asked):
        say(f"building {place}")
        build(asked.name, asked.force_field, asked.water, place, asked.temperature, asked.pair_corrections)
    return place


def add(place: Path, library: Path | None = None) -> str:
    """Puts the entry that was calibrated in a folder into the library of the user, or another one; says in a line where it is.

    Raises `Refused` for a folder that is not calibrated, and where there is no library.
    """
    asked, root = Asked.read(place), library or user_library.root()
    if asked is None:
        raise Refused(f"{place}: is no model compound of this program", "octitrate calibrate --residue builds them")
    what = compound(asked.name)
    entry = place / "calibrate" / f"{what.entry}.toml"
    if not entry.is_file():
        raise Refused(f"{place}: there is no {entry.relative_to(place)}", f"octitrate calibrate {place}/calibrate.toml writes it")
    if root is None:
        raise Refused(f"{user_library.VARIABLE} is empty: there is no library that could have {entry}", "name one: --library FOLDER")
    file = user_library.add(entry, what.folder, root / user_library.family(asked.force_field, asked.water, asked.pair_corrections))
    own = user_library.root()
    read = "octitrate prepare reads it by itself" if own is not None and own.absolute() == root.absolute() else f"octitrate prepare --library {file.parent} reads it"
    titrate = f"\nwhether its pKa comes back: octitrate titrate {shlex.quote(f'{place}/titrate.toml')}" if (place / "titrate.toml").is_file() else ""
    return f"in the library: {file} ({read}){titrate}"


def parser() -> argparse.ArgumentParser:
    """The arguments that the binary gives."""
    p = argparse.ArgumentParser(prog="octitrate calibrate --residue")
    commands = p.add_subparsers(dest="command", required=True)
    first = commands.add_parser("plan")
    first.add_argument("--residue", required=True)
    for name in ("--force-field", "--water", "--pair-corrections", "--temperature"):
        first.add_argument(name)
    first.add_argument("--output", type=Path)
    first.add_argument("--library", type=Path)
    second = commands.add_parser("add")
    second.add_argument("place", type=Path)
    second.add_argument("--library", type=Path)
    return p


def asked_for(args: argparse.Namespace) -> Asked:
    """What model compounds are built for. Raises `Refused` for what makes no sense."""
    from .residues import TitratableForceField

    try:
        temperature = float(args.temperature or Options.temperature)
    except ValueError:
        temperature = 0.0
    if not 250 <= temperature <= 400:
        raise Refused(f"--temperature {args.temperature}: K are meant, 250 to 400", "300 is usual")
    # Last: a force field takes a second to be read.
    ff = TitratableForceField(args.force_field or Options.force_field, args.water, pair_corrections=args.pair_corrections)
    return Asked("", ff.name, ff.water, temperature, args.pair_corrections)


def main(arguments: Sequence[str] | None = None) -> int:
    """What the binary asks for; the exit status."""
    args = parser().parse_args(arguments)
    try:
        if args.command == "add":
            print(add(args.place, args.library))
        else:
            if (args.library or user_library.root()) is None:
                raise Refused(f"{user_library.VARIABLE} is empty: there is no library for the entries", "name one: --library FOLDER")
            names = residues(args.residue)
            print("\n".join(map(str, plan(names, asked_for(args), args.output))))
    except Refused as refused:
        say(f"error: {refused}")
        return BAD_INPUT
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in ("openmm", "pdbfixer", "numpy"):
            missing = f'octitrate calibrate --residue needs {error.name}, which is not installed: `make prepare-tools`, or pip install "./python[prepare]", in the sources of octitrate'
            say(f"error: {missing}")
            return BAD_INPUT
        raise
    except KeyboardInterrupt:
        say("error: stopped; what was built is whole, and the same command continues")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
