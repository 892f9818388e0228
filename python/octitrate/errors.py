"""What the package says when it cannot do what was asked.

One exception for every refusal: what was found, with the residue and the chain, and what can be done about it. Everything else that is raised is an error of
the program itself.
"""

from __future__ import annotations

from typing import Any

from .prepare.names import known_as


class Refused(Exception):
    """An input that cannot be prepared.

    `message` names what was found and where; `help` says what to do about it. `str()` gives both, as the terminal shows them.
    """

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        return f"{self.message}\n  help: {self.help}" if self.help else self.message


def named(residue: Any) -> str:
    """A residue of an OpenMM topology as messages name it, by its name in the PDB however it is built: ``GLU 35 of chain A`` of GL3 and of ZGL3."""
    number = f"{residue.id}{residue.insertionCode.strip()}"
    return f"{known_as(residue.name)} {number} of chain {residue.chain.id.strip() or '(blank)'}"
