"""The library of the user: corrections that `octitrate calibrate --residue` made, which `octitrate prepare` reads by itself.

It is a folder with a folder for each force field and water, and in that an entry for each model compound:

    ~/.local/share/octitrate/library/ff19SB-opc/tyr.toml

The environment variable OCTITRATE_LIBRARY names another place for the folder; if it is empty there is no such library. XDG_DATA_HOME stands for
``~/.local/share``, as it does for other programs.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from .errors import Refused

VARIABLE = "OCTITRATE_LIBRARY"


def root() -> Path | None:
    """The folder of the library, which need not be there; none if OCTITRATE_LIBRARY is empty, or the user has no home."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named).expanduser() if named else None
    data = os.environ.get("XDG_DATA_HOME", "")
    try:
        # A path that is not absolute is to be ignored, by the specification of XDG_DATA_HOME.
        base = Path(data) if Path(data).is_absolute() else Path.home() / ".local/share"
    except RuntimeError:
        return None
    return base / "octitrate/library"


def family(force_field: str, water: str, pair_corrections: str | None = None) -> str:
    """The name of the folder of a force field and water, with pair corrections: ``ff14SB-cufix-tip3p``."""
    return "-".join(filter(None, (force_field, pair_corrections, water)))


def folders(force_field: str, water: str, pair_corrections: str | None = None) -> list[Path]:
    """The folders of the library with corrections for this force field and water, the first of them before the others. With pair corrections those made without
    them come second: they serve for all model compounds that hold no such pair."""
    place = root()
    if place is None:
        return []
    names = dict.fromkeys((family(force_field, water, pair_corrections), family(force_field, water)))
    return [folder for name in names if (folder := place / name).is_dir()]


def add(entry: Path, name: str, folder: Path) -> Path:
    """Copies an entry into a folder of the library under a name, and returns the file. One of another content is kept beside it as ``NAME.toml.1``.

    Raises `Refused` where that cannot be written.
    """
    place = folder / f"{name}.toml"
    try:
        text = entry.read_text(encoding="utf-8")
        if place.exists():
            if _content(place.read_text(encoding="utf-8")) == _content(text):
                return place
            place.rename(next(p for i in range(1, 10_000) if not os.path.lexists(p := place.with_name(f"{place.name}.{i}"))))
        folder.mkdir(parents=True, exist_ok=True)
        number, written = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder)
        with os.fdopen(number, "w", encoding="utf-8") as out:
            out.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(written).chmod(0o666 & ~mask)
        Path(written).rename(place)
    except OSError as error:
        raise Refused(f"{place}: cannot be written: {error.strerror or error}", f"name another library: --library FOLDER, or {VARIABLE}") from None
    return place


def _content(text: str) -> dict[str, Any]:
    """An entry without the dates of its corrections: what is evaluated again gets a new one."""
    try:
        entry = tomllib.loads(text)
    except ValueError:
        return {}
    for correction in (entry.get("correction", {}), *(one.get("correction", {}) for one in entry.get("elsewhere", []))):
        correction.get("provenance", {}).pop("date", None)
    return entry
