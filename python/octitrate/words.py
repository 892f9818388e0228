"""How messages say numbers and lists."""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, thing: str) -> str:
    """A number of things: `1 residue`, `3 residues`."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def named_all(thing: str, items: Iterable[str]) -> str:
    """Things by their names, however many: `its site is GLU 35`, `its sites are GLU 35, ASP 52`, after `its site`."""
    names = list(items)
    return f"{thing}{' is' if len(names) == 1 else 's are'} {', '.join(names)}"


def listed(items: list[str], most: int = 12) -> str:
    """Items in one line, the first of them if they are many."""
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
