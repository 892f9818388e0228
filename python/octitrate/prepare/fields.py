"""Numbers in the fields of a structure file, whatever its format."""

from __future__ import annotations

import math

from ..errors import Refused

AGAIN = "get the file again from where it came, or correct the line"


def real(text: str, what: str, place: str) -> float:
    """A finite number; `what` and `place` say in a refusal what it is and where it stands."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Refused(f"{place}: {what} of the atom is {text.strip()!r}, which is no number", AGAIN)
    return value


def number_or_none(text: str) -> float | None:
    """A finite number, or None for anything else: of what nothing depends on."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def whole(text: str, what: str, place: str) -> int:
    """A whole number, as `real`."""
    try:
        return int(text)
    except ValueError:
        raise Refused(f"{place}: {what} is {text.strip()!r}, which is no whole number", AGAIN) from None
