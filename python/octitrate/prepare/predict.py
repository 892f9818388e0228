"""pKa values that PROPKA predicts from the structure (Olsson et al. 2011, doi:10.1021/ct100578z), to choose pH values by and to set results beside."""

from __future__ import annotations

import io
import logging
from typing import Any

from .build import Model
from .names import CAPS, CHAINS, SAME, SIDE_CHAINS
from .report import Report

_GROUPS = {"N+": "nterm", "C-": "cterm", "ASP": "side", "GLU": "side", "HIS": "side", "LYS": "side", "ARG": "side", "TYR": "side", "CYS": "side"}

NO_GROUP = 90.0
"""PROPKA writes 99.99 for what does not titrate."""


def predict(model: Model, report: Report) -> dict[tuple[int, str], float]:
    """The pKa of each group, by the index of its residue in the topology and `side`, `nterm` or `cterm`.

    Empty, with a warning, where PROPKA fails: nothing depends on its values but the choice of pH values.
    """
    import propka.run

    text, residues = _as_pdb(model)
    if not text:
        report.warn("there are more chains than PROPKA can tell apart: no pKa is predicted")
        return {}
    logging.getLogger("propka").setLevel(logging.CRITICAL)
    try:
        molecule = propka.run.single("structure.pdb", optargs=["-q"], stream=io.StringIO(text), write_pka=False)
        groups = molecule.conformations["AVR"].groups
    except Exception as error:  # whatever another program runs into is no reason to stop
        report.warn(f"PROPKA could not predict any pKa ({type(error).__name__}: {error})")
        return {}
    found = {}
    for group in groups:
        kind = _GROUPS.get(group.residue_type)
        residue = residues.get((group.atom.chain_id, group.atom.res_num))
        if kind and residue is not None and group.pka_value < NO_GROUP:
            found[(residue, kind)] = float(group.pka_value)
    return found


def _as_pdb(model: Model) -> tuple[str, dict[tuple[str, int], int]]:
    """The heavy atoms of the protein and ions as PDB text with a letter for each segment, and the residue behind each letter and number."""
    lines: list[str] = []
    residues: dict[tuple[str, int], int] = {}
    chains = [chain for chain in model.topology.chains() if any(r.name != "HOH" for r in chain.residues())]
    if len(chains) > len(CHAINS):
        return "", {}
    for letter, chain in zip(CHAINS, chains):
        here = [residue for residue in chain.residues() if residue.name != "HOH" and residue.name not in CAPS]
        fits = all(-999 <= int(residue.id) <= 9999 and not residue.insertionCode.strip() for residue in here)  # the columns of a PDB file
        for place, residue in enumerate(here, 1):
            number = int(residue.id) if fits else place
            residues[(letter, number)] = residue.index
            for atom in residue.atoms():
                lines.append(_line(len(lines) + 1, atom, letter, number, model.positions[atom.index]))
        lines.append("TER")
    return "\n".join([*lines, "END", ""]), residues


def _line(serial: int, atom: Any, chain: str, number: int, place: Any) -> str:
    name = SAME.get(atom.residue.name, atom.residue.name)
    record = "ATOM" if name in SIDE_CHAINS else "HETATM"
    symbol = atom.element.symbol
    called = f" {atom.name:<3}" if len(symbol) == 1 else f"{atom.name.upper():<4}"
    x, y, z = (10 * float(v) for v in place)
    return f"{record:<6}{serial % 100000:>5} {called} {name:>3} {chain}{number:>4}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {symbol:>2}"
