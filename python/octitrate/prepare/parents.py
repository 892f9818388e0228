"""What modified amino acids were made from, as the file says: records MODRES of the PDB format, tables pdbx_struct_mod_residue and chem_comp of mmCIF.

A parent is taken where it is one of the twenty amino acids and no other record names another one; chromophores were made from three.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import names


def of_records(lines: Iterable[str]) -> dict[str, str]:
    """Parents by the names of the modified residues, of MODRES: name in columns 13 to 15, that of the parent in 25 to 27."""
    return _agreed((line[12:15], line[24:27]) for line in lines if line.startswith("MODRES"))


def of_tables(modified: list[dict[str, str]], components: list[dict[str, str]]) -> dict[str, str]:
    """Parents by the names of the modified residues, of the rows of pdbx_struct_mod_residue, and of chem_comp where these have none."""
    rows = [(row.get("auth_comp_id") or row.get("label_comp_id", ""), row.get("parent_comp_id", "")) for row in modified]
    return _agreed((row.get("id", ""), row.get("mon_nstd_parent_comp_id", "")) for row in components) | _agreed(rows)


def _agreed(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for name, parent in pairs:
        found.setdefault(name.strip().upper(), set()).add(parent.strip().upper())
    single = {name: next(iter(parents)) for name, parents in found.items() if len(parents) == 1}
    return {name: parent for name, parent in single.items() if parent in names.SIDE_CHAINS and name != parent}
