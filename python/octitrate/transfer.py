"""Corrections of ends of chains that are taken from one solvent to another: `python -m octitrate.transfer SOURCE TARGET`.

Two force fields can have the same solute and different waters: at the ends of chains all parameters of ff14SB and ff19SB are the same, because the CMAP of ff19SB needs
a residue on either side; only the Lennard-Jones parameters of the sulfur of Cys and Met differ, by 0.9 % of the radius. What the free energy F(λ) of an end differs by in two waters depends on the group that loses the proton, and, as the residues show that were
calibrated in both, not on the residue. So the correction of another residue is

    F_target(λ) = F_source(λ) + mean over residues known in both of [F_target(λ) − F_source(λ)]

coefficient by coefficient, each residue with the weight 1/σ², where σ² is the sum of the squared errors of its two free energies. The statistical error has the error
of the mean besides, and the systematic error the standard deviation of the residues, which is an upper bound of what is really different between them.
"""

from __future__ import annotations

import argparse
import math
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .calibrated import TRANSFERRED, status, toml_table
from .errors import Refused

FEWEST = 4
"""Residues that must be known in both solvents."""
LARGEST_CHI_SQUARED = 2.0
"""Of the shifts of these residues about their mean, for each degree of freedom; above it residues differ by more than their errors."""

COVERS = (
    "free_energy_errors: statistics of windows and free runs, and of the shift between the solvents; systematic_errors: those of the calibration in the other "
    "solvent and the scatter of the shift among residues; neither covers motions slower than all runs"
)

Correction = dict[str, Any]


@dataclass(frozen=True)
class Terms:
    """Coefficients of F(λ) by their kind, as `lambda::library::Calibration` orders them: linear ones, those of each pair of forms, those of three."""

    linear: list[float]
    pairs: list[list[float]]
    interior: list[float]

    @classmethod
    def of(cls, numbers: list[float], degree: int, forms: int) -> Terms:
        """The coefficients of a polynomial of this degree along the edges, or their errors."""
        each, linear = degree - 1, forms - 1
        count = forms * (forms - 1) // 2
        pairs = [numbers[linear + pair * each : linear + (pair + 1) * each] for pair in range(count)]
        return cls(numbers[:linear], pairs, numbers[linear + count * each :])

    def numbers(self, degree: int, interior: int) -> list[float]:
        """All in a row, with zeros for the terms that a higher degree has, and for those of three forms that a longer list has."""
        padded = [value for pair in self.pairs for value in pair + [0.0] * (degree - 1 - len(pair))]
        return [*self.linear, *padded, *self.interior, *[0.0] * (interior - len(self.interior))]


@dataclass(frozen=True)
class Shift:
    """What a solvent adds to the coefficients of F(λ), kJ/mol, with standard errors, and to the free energy of each form by residues."""

    degree: int
    interior_degree: int
    coefficients: list[float]
    errors: list[float]
    free_energies: list[float]
    free_energy_errors: list[float]
    scatter: list[float]
    chi_squared: float
    residues: list[str]


def corrections(entry: dict[str, Any]) -> dict[str, Correction]:
    """Corrections of the entry of an end by residue; that of the model compound is alanine's."""
    found = {residue: one["correction"] for one in entry.get("elsewhere", []) for residue in one["residues"]}
    return {"ALA": entry["correction"], **found}


def _lengths(known: Iterable[Correction]) -> tuple[int, int, int]:
    """Highest degree, highest degree inside, and most terms of three forms."""
    known = list(known)
    return (
        max(one["degree"] for one in known),
        max(one.get("interior_degree", 0) for one in known),
        max(len(_terms(one, "coefficients").interior) for one in known),
    )


def _terms(correction: Correction, key: str) -> Terms:
    return Terms.of(correction[key], correction["degree"], len(correction["free_energy_errors"]))


def _is_whole(correction: Correction) -> bool:
    """Whether it is calibrated, with both parts of its error and the conditions of its runs, which old versions did not record."""
    return status(correction) == "calibrated" and "systematic_errors" in correction and "conditions" in correction["provenance"]


def _whole_error(correction: Correction, form: int) -> float:
    return math.hypot(correction["free_energy_errors"][form], correction["systematic_errors"][form])


def shift(source: dict[str, Any], target: dict[str, Any]) -> Shift:
    """By how much F(λ) of the residues differs that are calibrated in both entries.

    Raises `Refused` where they are fewer than `FEWEST`, differ by more than their errors, or were calibrated under conditions that differ in more than the water.
    """
    here, there = corrections(source), corrections(target)
    residues = sorted(name for name in here.keys() & there.keys() if _is_whole(here[name]) and _is_whole(there[name]))
    if len(residues) < FEWEST:
        raise Refused(f"only {len(residues)} residues of {source['name']} are calibrated in both solvents", f"calibrate {FEWEST} in each")
    for name in residues:
        if different := [key for key in _differing(here[name], there[name]) if key != "water"]:
            raise Refused(f"{source['name']} at {name} was calibrated with another {different[0]} in both solvents", "calibrate it again")
    degree, interior_degree, interior = _lengths(one[name] for one in (here, there) for name in residues)
    last = len(source["forms"]) - 1
    variances = [_whole_error(here[name], last) ** 2 + _whole_error(there[name], last) ** 2 for name in residues]
    weights = [1 / variance for variance in variances]
    whole = sum(weights)

    def mean(values: Sequence[float]) -> float:
        return sum(weight * value for weight, value in zip(weights, values, strict=True)) / whole

    def of(name: str, key: str, entry: dict[str, Correction]) -> list[float]:
        return _terms(entry[name], key).numbers(degree, interior)

    differences = [[b - a for a, b in zip(of(name, "coefficients", here), of(name, "coefficients", there), strict=True)] for name in residues]
    squares = [[a * a + b * b for a, b in zip(of(name, "errors", here), of(name, "errors", there), strict=True)] for name in residues]
    coefficients = [mean(column) for column in zip(*differences, strict=True)]
    errors = [
        math.sqrt(sum(weight * weight * square for weight, square in zip(weights, column, strict=True))) / whole for column in zip(*squares, strict=True)
    ]
    free = [[0.0, *one[:last]] for one in differences]
    free_energies = [mean(column) for column in zip(*free, strict=True)]
    scatter = [
        math.sqrt(sum((value - sum(column) / len(column)) ** 2 for value in column) / (len(column) - 1)) for column in zip(*free, strict=True)
    ]
    chi = sum(weight * (one[last] - free_energies[last]) ** 2 for weight, one in zip(weights, free, strict=True)) / (len(residues) - 1)
    if chi > LARGEST_CHI_SQUARED:
        raise Refused(f"what the solvents change at {source['name']} depends on the residue: χ² is {chi:.1f} for each degree of freedom", "calibrate each residue")
    free_energy_errors = [0.0] * last + [whole**-0.5]
    return Shift(degree, interior_degree, coefficients, errors, free_energies, free_energy_errors, scatter, chi, residues)


def _conditions(correction: Correction) -> dict[str, Any]:
    return dict(correction["provenance"]["conditions"])


def _differing(one: Correction, other: Correction) -> list[str]:
    """Conditions that differ between two corrections."""
    ours, theirs = _conditions(one), _conditions(other)
    return sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))


def transferred(source: Correction, by: Shift, source_name: str, water: str) -> Correction:
    """The correction of a residue in the other solvent. `source_name`: force field and water of `source`, for people; `water`: that of the target in conditions."""
    degree, interior_degree = max(source["degree"], by.degree), max(source.get("interior_degree", 0), by.interior_degree)

    def both(key: str, added: list[float]) -> list[tuple[float, float]]:
        terms = _terms(source, key), Terms.of(added, by.degree, len(by.free_energies))
        interior = max(len(one.interior) for one in terms)
        return list(zip(*(one.numbers(degree, interior) for one in terms), strict=True))

    # Rounded, because a mean leaves last digits that would make a difference between the two oxygens of a carboxyl group.
    made: Correction = {"status": TRANSFERRED, "degree": degree}
    if interior_degree:
        made["interior_degree"] = interior_degree
    made |= {
        "coefficients": [round(a + b, 9) for a, b in both("coefficients", by.coefficients)],
        "errors": [round(math.hypot(a, b), 6) for a, b in both("errors", by.errors)],
        "free_energy_errors": [round(math.hypot(a, b), 6) for a, b in zip(source["free_energy_errors"], by.free_energy_errors, strict=True)],
        "systematic_errors": [round(math.hypot(a, b), 6) for a, b in zip(source["systematic_errors"], by.scatter, strict=True)],
        "error_covers": COVERS,
        "range": source["range"],
        "provenance": {**source["provenance"], "conditions": {**_conditions(source), "water": water}},
        "transfer": {
            "from": source_name,
            "shifts": [round(value, 6) for value in by.free_energies],
            "shift_errors": [round(value, 6) for value in by.free_energy_errors],
            "scatter": [round(value, 6) for value in by.scatter],
            "residues": by.residues,
        },
    }
    return made


def filled(text: str, source: dict[str, Any]) -> str:
    """The entry of an end as TOML with corrections for all residues that `source` has calibrated and it has not; those of an earlier transfer are made again.

    Raises `Refused` where both entries are not of one solute, and as `shift` does.
    """
    target = tomllib.loads(text)
    for key in ("name", "terminus", "forms", "charges", "other_atoms", "torsions", "bonded", "lj_types", "pka"):
        if source.get(key) != target.get(key):
            raise Refused(f"{key} of {source['name']} differs between {source['force_field']} and {target['force_field']}", "calibrate each residue")
    by = shift(source, target)
    own = {name: one for name, one in corrections(target).items() if status(one) not in ("uncalibrated", TRANSFERRED)}
    water = _conditions(own[by.residues[0]])["water"]
    for name, one in corrections(source).items():
        if name not in own and _is_whole(one):
            called = f"{source['force_field']}, {_conditions(one)['water']}"
            own[name] = transferred(one, by, called, water)
    places = ["[[elsewhere]]", "[correction]"]
    head = text[: min(text.index(place) for place in places if place in text)].rstrip()
    head = head.removesuffix("# Not calibrated yet: `octitrate calibrate` writes this table.").rstrip()
    lines = [head, ""]
    for name in sorted(own.keys() - {"ALA"}):
        lines += ["[[elsewhere]]", f'residues = ["{name}"]', "", *toml_table("elsewhere.correction", own[name])]
    lines += toml_table("correction", own.get("ALA", {"status": "uncalibrated"}))
    return "\n".join(lines).rstrip() + "\n"


FOLDERS = "name two folders that have the entries nterm.toml and cterm.toml"

KEYS = ("degree", "coefficients", "errors", "free_energy_errors", "range", "provenance")
"""Of every correction that has been made."""


def _text(file: Path) -> str:
    """The text of an entry. Raises `Refused` for a file that cannot be read, is no TOML or no entry of the library."""
    try:
        text = file.read_text(encoding="utf-8")
        entry = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise Refused(f"{file} cannot be read: {error}", FOLDERS) from None
    if absent := next(_absent(entry), None):
        raise Refused(f"{file} is no entry of an end of chains: it has no {absent}", FOLDERS)
    return text


def _absent(entry: dict[str, Any]) -> Iterator[str]:
    """What an entry lacks."""
    yield from (key for key in ("name", "force_field", "forms", "correction") if key not in entry)
    places = entry.get("elsewhere", [])
    if not isinstance(places, list) or not all(isinstance(one, dict) and {"residues", "correction"} <= one.keys() for one in places):
        yield "residues or correction in [[elsewhere]]"
        return
    for where, one in (("correction", entry.get("correction")), *(("elsewhere.correction", one["correction"]) for one in places)):
        if not isinstance(one, dict):
            yield f"table [{where}]"
        elif status(one) != "uncalibrated":
            yield from (f"{key} in [{where}]" for key in KEYS if key not in one)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fills the entries of ends in one folder from those of another."""
    parser = argparse.ArgumentParser(prog="python -m octitrate.transfer", description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, help="folder with nterm.toml and cterm.toml of one solvent")
    parser.add_argument("target", type=Path, help="folder with those of the other, which are written anew")
    options = parser.parse_args(arguments)
    made = {}
    # Nothing is written where one of them is refused.
    for name in ("nterm.toml", "cterm.toml"):
        source = tomllib.loads(_text(options.source / name))
        made[options.target / name] = source, filled(_text(options.target / name), source)
    for file, (source, text) in made.items():
        file.write_text(text, encoding="utf-8")
        by = shift(source, tomllib.loads(text))
        last = len(by.free_energies) - 1
        print(
            f"{file}: {by.free_energies[last]:.2f} ± {by.free_energy_errors[last]:.2f} kJ/mol, scatter {by.scatter[last]:.2f}, "
            f"χ² {by.chi_squared:.2f} for each degree of freedom, from {', '.join(by.residues)}"
        )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refused as error:
        sys.exit(f"error: {error}")
