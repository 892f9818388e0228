"""Reads an mmCIF file with the reader of OpenMM: names and numbers are the author's (`auth_*`), as in PDB files."""

from __future__ import annotations

import io
import re
from typing import Any

from ..errors import Refused
from . import parents
from .entry import Atom, Entry, Link, Missing, Place, Residue
from .fields import AGAIN, number_or_none, real, whole
from .read_pdb import guessed_element


def read_cif(text: str, path: str) -> Entry:
    """Reads the text of an mmCIF file.

    Raises `Refused` that names the table and the row for what cannot be read.
    """
    from openmm.app.internal.pdbx.reader.PdbxReader import PdbxReader

    blocks: list[Any] = []
    try:
        PdbxReader(io.StringIO(text)).read(blocks)
    except Exception as error:  # the reader raises whatever its tokenizer runs into
        raise Refused(f"{path}: cannot be read as mmCIF: {error}", AGAIN) from None
    sites = next((table for table in (block.getObj("atom_site") for block in blocks) if table is not None), None)
    if sites is None:
        raise Refused(f"{path}: has no table atom_site, so no atoms", "give the file of the model: structure factors (-sf.cif), restraints and small molecules are other files of this format")
    block = next(block for block in blocks if block.getObj("atom_site") is not None)
    entry = Entry(path=path, kind="mmCIF", models={})
    polymers = _polymers(block)
    numbers, asyms = _residues(sites, entry)
    entry.title = next((row.get("title", "") for row in _table(block, "struct")), "")
    entry.is_predicted = any(_table(block, name) for name in ("ma_qa_metric", "ma_model_list"))
    for row in _table(block, "pdbx_poly_seq_scheme"):
        entry.sequences.setdefault(row.get("pdb_strand_id", ""), []).append(row.get("mon_id", ""))
    # A table of the PDB, which other programs leave out, and which may lack the copies of an assembly.
    entry.sequences = {chain: polymers[entity] for chain, entity in asyms.values() if entity in polymers} | entry.sequences
    for row in _table(block, "pdbx_unobs_or_zero_occ_residues"):
        # names and numbers of the author may be left out, and no atom tells them here
        if row.get("polymer_flag") == "Y" and row.get("occupancy_flag", "1") == "1" and row.get("auth_asym_id") and row.get("auth_seq_id"):
            number = whole(row["auth_seq_id"], "the number of a missing residue", path)
            absent = Missing(_first(row, "auth_comp_id", "label_comp_id"), row["auth_asym_id"], number, row.get("PDB_ins_code", ""))
            if absent not in entry.missing:  # there is a row for each model
                entry.missing.append(absent)
    entry.units = _units(block, {asym: chain for asym, (chain, entity) in asyms.items() if entity in polymers})
    entry.parents = parents.of_tables(_table(block, "pdbx_struct_mod_residue"), _table(block, "chem_comp"))
    for row in _table(block, "struct_conn"):
        kind = row.get("conn_type_id", "").lower()
        one, other = (_end(row, f"ptnr{i}", numbers, path) for i in (1, 2)) if kind in ("disulf", "covale") else (None, None)
        if one is not None and other is not None:
            residues = [_first(row, f"ptnr{i}_auth_comp_id", f"ptnr{i}_label_comp_id") for i in (1, 2)]
            atoms = ["SG" if kind == "disulf" else row.get(f"ptnr{i}_label_atom_id", "") for i in (1, 2)]
            operators = {row.get(f"ptnr{i}_symmetry", "") for i in (1, 2)} - {""}
            entry.add(Link((one, other), (residues[0], residues[1]), (atoms[0], atoms[1]), len(operators) > 1))
    return entry


def _residues(sites: Any, entry: Entry) -> tuple[dict[tuple[str, str], Place], dict[str, tuple[str, str]]]:
    """Reads the residues of every model. Returns where those stand that the labels name (label_asym_id and label_seq_id), and by label_asym_id what the author calls a
    chain, with its entity."""
    numbers: dict[tuple[str, str], Place] = {}
    asyms: dict[str, tuple[str, str]] = {}
    now: Residue | None = None
    by_place: dict[tuple[Any, ...], Residue] = {}
    last: tuple[Any, ...] = ()
    counts: dict[tuple[int, str], int] = {}
    for index, row in enumerate(_rows(sites), 1):
        place = f"{entry.path}: row {index} of atom_site"
        model = whole(row.get("pdbx_PDB_model_num") or "1", "the number of the model", place)
        atom = _atom(row, place)
        name = _first(row, "auth_comp_id", "label_comp_id")
        chain = _first(row, "auth_asym_id", "label_asym_id")
        insertion = row.get("pdbx_PDB_ins_code", "")
        asym = row.get("label_asym_id", chain)
        if called := _first(row, "auth_seq_id", "label_seq_id"):
            number = whole(called, "the number of the residue", place)
        elif now is not None and (now.name, last[:2], last[-1]) == (name, (model, chain), asym) and now.takes(atom):
            number = now.number
        else:
            # without the author's numbers only polymers have some: molecules of water are counted
            number = counts.get((model, chain), 0) + 1
        counts[model, chain] = max(counts.get((model, chain), number), number)
        key = (model, chain, number, insertion, asym)
        if key != last and now is not None and last[0] == model:
            now.ended = now.ended or last[-1] != asym  # another molecule, whatever the author calls its chain
        # several residues may share a place, row by row or one after another, and one may be in pieces
        earlier = by_place.get((*key, name))
        if earlier is not None and (key == last or earlier.takes(atom)):
            now = earlier
        else:
            now = by_place[*key, name] = Residue(name=name, chain=chain, number=number, insertion=insertion)
            entry.models.setdefault(model, []).append(now)
        last = key
        now.atoms.append(atom)
        numbers.setdefault((row.get("label_asym_id", ""), row.get("label_seq_id", "")), (chain, number, insertion))
        asyms.setdefault(row.get("label_asym_id", ""), (chain, row.get("label_entity_id", "")))
    return numbers, asyms


def _atom(row: dict[str, str], place: str) -> Atom:
    name = _first(row, "auth_atom_id", "label_atom_id").strip('"')
    x, y, z = (real(row.get(f"Cartn_{axis}", "?"), axis, place) / 10 for axis in "xyz")
    residue = _first(row, "auth_comp_id", "label_comp_id")
    return Atom(
        name=name,
        altloc=row.get("label_alt_id", ""),
        occupancy=real(row.get("occupancy") or "1", "the occupancy", place),
        position=(x, y, z),
        element=(row.get("type_symbol", "") or guessed_element(f"{name:>4}", residue)).upper(),
        b_factor=number_or_none(row.get("B_iso_or_equiv", "")),
    )


def _end(row: dict[str, str], partner: str, numbers: dict[tuple[str, str], Place], path: str) -> Place | None:
    """Where one end of a bond stands, by the author's names or those that the atoms have for the labels; none if neither says them."""
    chain, number = (row.get(f"{partner}_auth_{what}_id", "") for what in ("asym", "seq"))
    if chain and number:
        return chain, whole(number, "the number of a residue in struct_conn", path), row.get(f"pdbx_{partner}_PDB_ins_code", "")
    return numbers.get((row.get(f"{partner}_label_asym_id", ""), row.get(f"{partner}_label_seq_id", "")))


def _polymers(block: Any) -> dict[str, list[str]]:
    """The sequence of each polymer by its entity: of residues that share a place the first."""
    found: dict[str, dict[str, str]] = {}
    for row in _table(block, "entity_poly_seq"):
        found.setdefault(row.get("entity_id", ""), {}).setdefault(row.get("num", ""), row.get("mon_id", ""))
    return {entity: list(residues.values()) for entity, residues in found.items()}


def _units(block: Any, chains: dict[str, str]) -> list[dict[str, int]]:
    """Chains of each biological unit, by the author's names, and how many copies of each it has; `chains`: what the author calls those that the atoms have."""
    authors = chains | {row.get("asym_id", ""): row.get("pdb_strand_id", "") for row in _table(block, "pdbx_poly_seq_scheme")}
    units: dict[str, dict[str, int]] = {}
    for row in _table(block, "pdbx_struct_assembly_gen"):
        unit = units.setdefault(row.get("assembly_id", ""), {})
        for chain in dict.fromkeys(authors.get(label.strip()) for label in row.get("asym_id_list", "").split(",")):
            if chain:
                unit[chain] = unit.get(chain, 0) + operators(row.get("oper_expression", ""))
    return [unit for unit in units.values() if unit]


def operators(expression: str) -> int:
    """How many symmetry operators an expression means: 3 are `1,2,4` and `(1-3)`, 6 are `(1,2)(3-5)`, whose parts are multiplied."""
    count = 1
    for part in re.findall(r"[^()\s]+", expression):
        spans = [re.fullmatch(r"(\d+)-(\d+)", item) for item in part.split(",") if item]
        count *= max(1, sum(1 if span is None else int(span[2]) - int(span[1]) + 1 for span in spans))
    return count


def _table(block: Any, name: str) -> list[dict[str, str]]:
    table = block.getObj(name)
    return [] if table is None else _rows(table)


def _rows(table: Any) -> list[dict[str, str]]:
    names = table.getAttributeList()
    return [{name: "" if value in (".", "?") else value for name, value in zip(names, row)} for row in table.getRowList()]


def _first(row: dict[str, str], *names: str) -> str:
    return next((row[name] for name in names if row.get(name)), "")
