"""The chapters of the manual about the Python package say what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("openmm")

from conftest import loaded  # noqa: E402
import octitrate.results  # noqa: E402
from octitrate.entries import KINDS, forms  # noqa: E402
from octitrate.force_fields import FORCE_FIELDS  # noqa: E402
from octitrate.model_compound import compound  # noqa: E402

CHAPTERS = Path(__file__).parents[2] / "docs/src"
FORCE_FIELD, PYTHON = ((CHAPTERS / name).read_text() for name in ("force-fields.md", "python.md"))


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_code_compiles_and_its_imports_exist() -> None:
    found = [*blocks(FORCE_FIELD), *blocks(PYTHON)]
    assert len(found) == 7
    for block in found:
        compile(block, "chapter", "exec")
        for line in block.splitlines():
            if line.startswith("from octitrate"):
                exec(line, {})


def test_methods_exist() -> None:
    table = [line.split("|")[1] for line in PYTHON.splitlines() if line.startswith("| `")]
    assert len(table) == 9
    kinds = {"titration": "Titration", "run": "Run", "Calibration(folder)": "Calibration"}
    for row in table:
        kind = next(name for start, name in kinds.items() if row.strip().startswith(f"`{start}."))
        for name in re.findall(r"`(?:[a-zA-Z()]+\.)?([a-z_]+)(?:\([^`]*\))?`", row):
            assert hasattr(getattr(octitrate.results, kind), name), (kind, name)


def test_force_fields_and_waters() -> None:
    rows = {row.split("`")[1]: re.findall(r"`([a-z0-9-]+)`", row.split("|")[2]) for row in FORCE_FIELD.splitlines() if re.match(r"\| `(amber|ff|charmm)", row)}
    assert {name: list(family.waters) for name, family in FORCE_FIELDS.items()} == rows


def test_charges_of_the_table() -> None:
    rows = [row.split("|")[1:-1] for row in FORCE_FIELD.splitlines() if row.split("`")[1:2] and row.split("`")[1] in KINDS and row.startswith("| `")]
    assert [row[0].split("`")[1] for row in rows] == list(KINDS)
    for row in rows:
        name, net, *columns = row[0].split("`")[1], *row[1:]
        kind = KINDS[name]
        assert numbers(net) == [kind.charge - lost for _, lost, _ in kind.forms]
        for force_field, column in zip(("ff14SB", "charmm36m"), columns, strict=True):
            found = forms(loaded(force_field), name)
            # The table has four or five decimals.
            assert numbers(column) == pytest.approx(found.charges[found.balanced_at], abs=5e-6), (name, force_field)


def numbers(text: str) -> list[float]:
    return [float(number) for number in text.replace("−", "-").split(",")]


def test_model_compounds() -> None:
    rows = [row for row in FORCE_FIELD.splitlines() if re.match(r"\| `(TYR|nterm|cterm|water)", row) and "(Ala)" not in row]
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert len([compound(name) for name in names if name not in KINDS]) == 6
