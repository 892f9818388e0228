"""What the biological unit of the file has beside what is prepared.

The unit says which chains, and how many copies of each, are one molecule in solution; the file has one copy of each chain, and symmetry operators make the others (REMARK 350 of
the PDB format, pdbx_struct_assembly_gen of mmCIF). Groups between copies that are not in the box titrate as if they were in water.
"""

from __future__ import annotations

from ..words import listed
from . import names
from .entry import Entry, Residue
from .options import Options
from .report import Report

Unit = dict[str, int]
"""How many copies of each chain there are."""


def note(entry: Entry, everything: list[Residue], residues: list[Residue], options: Options, report: Report) -> None:
    """Warns where the biological unit of the chosen chains has more copies of them than the box, and where they are of several units. `everything`: the residues of the file,
    `residues`: those of the chosen chains."""
    inside, proteins = _chains(residues), _chains(everything)
    units = [{chain: count for chain, count in unit.items() if chain in proteins} for unit in entry.units]
    if any(all(chain not in unit for unit in units) for chain in inside):
        return  # copies have names of their own: a file of a whole unit
    mine = _of(inside, units)
    for unit in mine:
        _note_copies(unit, inside, report)
        if left := [chain for chain in unit if chain not in inside]:
            report.note(f"the biological unit of the file has {_named(left)}, too, which {'is' if len(left) == 1 else 'are'} left out: groups that touch {_it(left)} titrate as if in water")
    if len(mine) > 1:
        there = "; ".join(", ".join(chain for chain in unit if chain in inside) for unit in mine)
        text = f"the file has the chains in {len(mine)} biological units ({there}), which are put into one box: they may touch in the crystal alone"
        if options.chains:
            report.note(text)
        else:
            report.warn(f"{text}; --chains {','.join(chain for chain in mine[0] if chain in inside)} prepares one of them")


def _of(inside: list[str], units: list[Unit]) -> list[Unit]:
    """The unit of the chains, which is the first that has all of them; if there is none, the first one of each chain."""
    for unit in units:
        if inside and set(inside) <= unit.keys():
            return [unit]
    found: list[Unit] = []
    for chain in inside:
        first = next((unit for unit in units if chain in unit), None)
        if first is not None and first not in found:
            found.append(first)
    return found


def _note_copies(unit: Unit, inside: list[str], report: Report) -> None:
    """Warns of chains of which the unit has several copies."""
    for count in sorted({unit[chain] for chain in unit if chain in inside} - {1}):
        here = [chain for chain in unit if chain in inside and unit[chain] == count]
        report.warn(
            f"the biological unit of the file has {count} copies of {_named(here)}, and one is prepared: groups between copies titrate as if in water; to prepare the whole unit give a "
            "file in which every copy is a chain of its own (of entries of the PDB that is CODE-assembly1.cif) with --chains all"
        )


def _chains(residues: list[Residue]) -> list[str]:
    """The chains with amino acids."""
    return list(dict.fromkeys(residue.chain for residue in residues if residue.name in names.SIDE_CHAINS))


def _named(chains: list[str]) -> str:
    return f"chain{'' if len(chains) == 1 else 's'} {listed(chains)}"


def _it(chains: list[str]) -> str:
    return "it" if len(chains) == 1 else "them"
