"""Entries that were calibrated before: what `octitrate calibrate` wrote for model compounds, put together for a job.

Every calibration writes an entry of its own, with its correction V_MM as `[correction]` or, at the end of a chain, as `[[elsewhere]]` for one
residue. A job reads one entry of a name and force field, so that those of one name are merged here: charges and forms must be the same in all of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .errors import Refused

SAME = ("terminus", "pka", "balanced_at", "backbone", "forms", "charges", "lj_types", "bonded", "torsions")
"""Keys that entries of one name and force field must share; names of residues at ends of chains may have been fewer."""


LATER = ("other_atoms",)
"""Keys that entries may lack which were made before there were any, and share where both have them: no correction of those is for a residue that needs them."""


TRANSFERRED = "transferred"
"""Status of a correction that was taken from one solvent to another (`octitrate.transfer`)."""

SHIPPED = Path(__file__).parent / "corrections"
"""The folder with the corrections that come with octitrate, beside those that are built into the program."""


class Calibrated:
    """Entries with corrections in files and folders; folders are searched with everything below them. `behind`: folders whose corrections serve where all
    before have none of that name and place, one after the other.

    Raises `Refused` for a path that is not there, a file that is no TOML, and entries of one name whose forms differ.
    """

    def __init__(self, paths: Iterable[str | Path] = (), behind: Iterable[Path] = ()) -> None:
        self._entries: dict[tuple[str, str], dict[str, Any]] = {}
        self._files: dict[tuple[str, str], dict[str, Path]] = {}
        """Where corrections are from: of an entry by residue, that of the model compound by an empty name."""
        for path in map(Path, paths):
            if not path.exists():
                raise Refused(f"{path}: there is no such file or folder", "name entries that octitrate calibrate wrote, or a folder with them")
            for file in sorted(path.rglob("*.toml")) if path.is_dir() else [path]:
                self._add(file, strict=not path.is_dir())
        for folder in behind:
            next_ones = Calibrated([folder])
            for key, entry in next_ones._entries.items():
                self._complete(key, entry, next_ones._files[key])

    def _complete(self, key: tuple[str, str], behind: dict[str, Any], files: dict[str, Path]) -> None:
        """Puts corrections of an entry that comes behind where that of before has none."""
        own = self._entries.setdefault(key, behind)
        known = self._files.setdefault(key, dict(files))
        if own is behind or _different(own, behind):
            return
        if not has_correction(own["correction"]):
            own["correction"] = behind["correction"]
        places = {residue for one in own.get("elsewhere", []) for residue in one["residues"]}
        others = [one for one in behind.get("elsewhere", []) if not places & set(one["residues"])]
        if others:
            own["elsewhere"] = [*own.get("elsewhere", []), *others]
        for place in files.keys() - known.keys():
            known[place] = files[place]

    def __contains__(self, key: tuple[str, str]) -> bool:
        """Whether there is an entry of this name and force field."""
        return key in self._entries

    def _add(self, file: Path, strict: bool) -> None:
        try:
            entry = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise Refused(f"{file}: {error}", "name entries that octitrate calibrate wrote") from None
        if not {"name", "force_field", "forms", "correction"} <= entry.keys():
            if strict:
                raise Refused(f"{file} is no entry of a library", "octitrate calibrate writes them, such as calibrate/tyr.toml")
            return
        # Rounds of a calibration have entries that are not finished: the entry lies beside resolved.toml.
        if file.parent.name.startswith("round_"):
            return
        key = (entry["name"], entry["force_field"])
        known = self._entries.setdefault(key, entry)
        files = self._files.setdefault(key, {})
        for place in _places(entry):
            files.setdefault(place, file)
        if known is entry:
            return
        if different := _different(known, entry):
            raise Refused(f"{file}: {different[0]} of the entry {entry['name']} differs from that of another file", "leave one of them out")
        known.update({key: entry[key] for key in LATER if key in entry})
        # Folders of model compounds have copies of the entry of the charge buffer.
        if has_correction(entry["correction"]) and entry["correction"] != known["correction"]:
            if has_correction(known["correction"]):
                raise Refused(f"{file}: the entry {entry['name']} has a correction in another file, too", "leave one of them out")
            known["correction"] = entry["correction"]
        places = {residue for one in known.get("elsewhere", []) for residue in one["residues"]}
        for one in (one for one in entry.get("elsewhere", []) if one not in known.get("elsewhere", [])):
            if twice := places & set(one["residues"]):
                raise Refused(f"{file}: the entry {entry['name']} has a correction at {min(twice)} in another file, too", "leave one of them out")
            known.setdefault("elsewhere", []).append(one)

    def correction(self, name: str, force_field: str, residue: str | None, model: bool) -> dict[str, Any]:
        """The correction that is known at a residue of this name; `residue` is none inside of chains, `model`: the residue is that of the model compound.
        Empty where there is none."""
        entry: dict[str, Any] = self._entries.get((name, force_field), {})
        for one in entry.get("elsewhere", []):
            if residue in one["residues"] and has_correction(one["correction"]):
                return dict(one["correction"])
        return dict(entry["correction"]) if entry and (residue is None or model) else {}

    def status(self, name: str, force_field: str, residue: str | None, model: bool) -> str:
        """Status of that correction, `calibrated`, `transferred`, `preliminary` or `uncalibrated`."""
        return status(self.correction(name, force_field, residue, model))

    def temperature(self, name: str, force_field: str, residue: str | None, model: bool) -> float:
        """The temperature (K) at which it was calibrated; 300 where it does not say."""
        return float(self.correction(name, force_field, residue, model).get("provenance", {}).get("temperature", 300.0))

    def has_pairs(self, name: str, force_field: str, residue: str | None, model: bool) -> bool:
        """Whether Lennard-Jones pairs beside the combination rule, such as those of CUFIX, were in the model compound of that correction."""
        return "pairs" in self.correction(name, force_field, residue, model).get("provenance", {}).get("conditions", {})

    def file(self, name: str, force_field: str, residue: str | None, model: bool) -> Path | None:
        """The file with the correction that `status` tells of; none where there is none."""
        files = self._files.get((name, force_field), {})
        return files.get(residue or "") or (files.get("") if model else None)

    def _calibrate_again(self, name: str, force_field: str) -> str:
        files = sorted({str(file) for file in self._files.get((name, force_field), {}).values()})
        return f"calibrate it again, and take {', '.join(files)} away" if files else "calibrate it again"

    def written(self, name: str, force_field: str, text: str) -> str:
        """An entry as TOML with the corrections that are known; the text without corrections where none are.

        Raises `Refused` where charges or forms are not those of the text.
        """
        entry = self._entries.get((name, force_field))
        if entry is None:
            return text
        plain = tomllib.loads(text)
        if different := _different(plain, entry):
            raise Refused(f"{different[0]} of the calibrated entry {name} ({force_field}) is not what the force field has now", self._calibrate_again(name, force_field))
        head = text[: text.index("[correction]")]
        head = head[: head.rindex("#")] if head.rstrip().endswith("this table.") else head
        lines = [head.rstrip(), ""]
        for one in entry.get("elsewhere", []):
            lines += ["[[elsewhere]]", f"residues = {_value(one['residues'])}", "", *toml_table("elsewhere.correction", one["correction"])]
        return "\n".join([*lines, *toml_table("correction", entry["correction"])])


def _different(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Keys that differ between two entries of one name and force field."""
    return [key for key in SAME if one.get(key) != other.get(key)] + [key for key in LATER if key in one and key in other and one[key] != other[key]]


def _places(entry: dict[str, Any]) -> list[str]:
    """Where an entry has corrections: at residues, and at an empty name in the model compound."""
    found = [residue for one in entry.get("elsewhere", []) if has_correction(one["correction"]) for residue in one["residues"]]
    return found + ([""] if has_correction(entry["correction"]) else [])


def shipped(force_field: str, water: str) -> list[Path]:
    """The folder with the corrections that come with octitrate for this pair, beside those that are built into the program; none if there are none."""
    folder = SHIPPED / f"{force_field}-{water}"
    return [folder] if folder.is_dir() else []


def status(correction: dict[str, Any]) -> str:
    """Status of a correction; it is uncalibrated if nothing is said."""
    return str(correction.get("status", "uncalibrated"))


def has_correction(correction: dict[str, Any]) -> bool:
    """Whether there is a correction, be it transferred or preliminary."""
    return status(correction) != "uncalibrated"


def toml_table(name: str, table: dict[str, Any]) -> list[str]:
    """A table of TOML with its subtables behind it."""
    lines = [f"[{name}]", *(f"{key} = {_value(value)}" for key, value in table.items() if not isinstance(value, dict)), ""]
    for key, value in table.items():
        if isinstance(value, dict):
            lines += toml_table(f"{name}.{key}", value)
    return lines


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, list):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    # repr of a float reads back as the same number.
    return repr(value)
