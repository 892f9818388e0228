"""What the neighbour of an end of a chain does to its free energy that is no chemistry: the `offset` of a site.

Pairs of atoms one and two bonds apart do not interact, and pairs three bonds apart only in part. What is taken away between an end that titrates and the
residue beside it depends on the charges of that residue's backbone: AMBER's force fields have one set for neutral residues, one for those of positive and
one for those of negative charge, and Pro has its own. Corrections V_MM were calibrated beside a cap (ACE, NME), whose charges are those of neutral
residues. In CHARMM's force fields all residues but Pro have the same backbone. Energies in kJ/mol for the proton that is lost, from `benchmarks/scripts/neighbours.py` (its
page of numbers: "Neighbours of ends"); three of amino ends from runs in explicit water (`benchmarks/scripts/neighbour_windows.py`, and calibrations beside the neighbour).
"""

from __future__ import annotations

from typing import Any

AMBER = {
    "cterm": {
        "ALA": 4.9, "ARG": 16.2, "ASN": 4.6, "ASP": -2.0, "CYS": 4.7, "GLN": 4.5, "GLU": -2.0, "GLY": 4.4, "HIE": 3.9, "HIP": 17.4, "ILE": 3.9,
        "LEU": 4.0, "LYS": 16.4, "MET": 4.3, "PHE": 4.5, "PRO": 2.8, "SER": 4.3, "THR": 4.1, "TRP": 4.2, "TYR": 4.5, "VAL": 3.6,
    },
    "nterm": {"ARG": 4.4, "ASP": -3.6, "GLU": -3.6, "HIP": 3.2, "LYS": 4.2, "PRO": 10.8},
}  # fmt: skip
"""By end and neighbour, with the charges of ff14SB, which are those of ff19SB and AMBER99SB-ILDN, against the cap. At an amino end Ala has 0.0 ± 0.6 and Pro 10.8 ± 0.5,
by windows in explicit water; charged residues are against Ala by a generalised Born solvent, by which other neighbours have 0.1 to 1.1 and are left out."""

CHARMM = {"nterm": {"PRO": 2.8}}
"""The same of charmm36m: at the amino end of Arg by calibrations beside Pro and beside the cap, 310.4 ± 0.5 and 307.6 ± 0.4; beside Val the end of Lys has 1.1 ± 0.6 more than
beside the cap, which is left out."""

SCALED = {"nterm": {"PRO": 0.75 * 2.8}}
"""The same of charmm36m-ecc, an estimate: what is taken away is linear in the charge that leaves with the proton, 0.75 of it, and the neighbour keeps its charges."""

ALIASES = {"HID": "HIE", "CYX": "CYS", "CYM": "CYS", "LYN": "ALA", "GLH": "GLN", "ASH": "ASN", "GL3": "GLN", "AS3": "ASN"}
"""Residues that have about the backbone charges of another: acids built with their protons that of their amides, whose charges are those of neutral residues."""

OFFSETS = {"ff14SB": AMBER, "ff19SB": AMBER, "amber99sb-ildn": AMBER, "charmm36m": CHARMM, "charmm36m-ecc": SCALED}
"""By force field; AMBER's have the same charges."""


def offset(force_field: str, end: str, residue: Any) -> tuple[float, Any] | None:
    """The offset (kJ/mol) of an end (`nterm`, `cterm`) of a chain at an OpenMM residue, and the neighbour that it comes from; none if there is none to speak
    of, or it is not known for the force field."""
    known = OFFSETS.get(force_field, {}).get(end)
    beside = neighbour(residue, end) if known else None
    if known is None or beside is None:
        return None
    # Names of four letters are those of residues at the other end of the chain.
    name = beside.name[1:] if len(beside.name) == 4 and beside.name[0] in "NZ" else beside.name
    value = known.get(ALIASES.get(name, name))
    return None if value is None else (value, beside)


def neighbour(residue: Any, end: str) -> Any:
    """The residue before a carboxyl end or after an amino end, by the peptide bond; none for a residue alone."""
    ours, theirs = ("N", "C") if end == "cterm" else ("C", "N")
    for a, b in residue.chain.topology.bonds():
        for one, other in ((a, b), (b, a)):
            if one.residue is residue and other.residue is not residue and one.name == ours and other.name == theirs:
                return other.residue
    return None
