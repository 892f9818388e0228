"""What of a file is prepared: one model, one place for each atom, the names of the force fields, the chains that belong together.

Nothing is built here. Every choice is noted; what cannot be chosen without the user is refused with what can be asked for.
"""

from __future__ import annotations

import difflib
import math
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from ..errors import Refused
from ..ions import ELEMENTS, METALS, SALT
from ..words import counted, listed
from . import names
from .entry import Atom, Entry, Residue, distance
from .options import Options
from .report import Report


HYDROGEN = ("H", "D")
"""Elements that are placed anew."""

BONDED = 0.21
"""nm; heavy atoms of an amino acid that are bonded are nearer (C–S 0.18), those two bonds apart farther (0.23)."""


NEAR = 0.5
"""nm; molecules nearer to a chain are prepared with it."""

BONDED_TO_METAL = 0.28
"""nm; atoms that hold a metal are nearer."""

COPIES = 0.95
"""The part of the shorter of two chains that is in the other one if they are copies."""

ON_EACH_OTHER = 0.3
"""nm; CA atoms of two molecules that are beside each other are farther apart than 0.35, those of one in two conformations mostly nearer than this."""

ONE_MIDDLE = 0.5
"""nm; the middles of two helices that touch are 0.8 to 1.0 apart."""

SAME_PLACE = 0.0005
"""nm; atoms of one name that are nearer are one atom that the file has twice: half of its last digit."""


def model(entry: Entry, options: Options, report: Report) -> list[Residue]:
    """The residues of the model that is asked for, or of the only one."""
    models = sorted(entry.models)
    if options.model is None and len(models) > 1:
        what = f"{entry.path}: there are {len(models)} models ({models[0]} to {models[-1]})"
        if _are_apart(entry):
            raise Refused(
                f"{what} at different places, as the subunits of one assembly have them, and one structure is prepared",
                f"put the subunits into one model and give every chain a name of its own (column 22); --model {models[0]} prepares the first of them alone",
            )
        raise Refused(f"{what}, and one structure is prepared", f"choose one: --model {models[0]}")
    chosen = models[0] if options.model is None else options.model
    if chosen not in entry.models:
        raise Refused(f"{entry.path}: there is no model {chosen}", f"choose one of {f'{models[0]} to {models[-1]}' if len(models) > 2 and models == list(range(models[0], models[-1] + 1)) else ', '.join(map(str, models))}")
    if len(models) > 1:
        report.note(f"model {chosen} of {len(models)}")
        if _are_apart(entry):
            report.warn(
                f"the {len(models)} models are at different places, as the subunits of one assembly have them: model {chosen} is prepared without the others, and groups that "
                "touch them titrate as if in water; to prepare them together put them into one model in which every chain has a name of its own"
            )
    return entry.models[chosen]


def _are_apart(entry: Entry) -> bool:
    """Whether the first two models lie beside each other: subunits, of which hardly a CA is on one of the other. Conformers lie on each other, and those of a chain without
    a fold have one middle at least."""
    one, other = (
        np.array([atom.position for residue in entry.models[number] if (atom := residue.atom("CA")) and residue.has("N", "C")]) for number in sorted(entry.models)[:2]
    )
    if not len(one) or not len(other) or np.linalg.norm(one.mean(axis=0) - other.mean(axis=0)) < ONE_MIDDLE:
        return False
    some = other[:: max(1, len(other) // 500)]
    nearest = np.array([np.linalg.norm(one - place, axis=1).min() for place in some])
    return bool(np.mean(nearest < ON_EACH_OTHER) < 0.05)


def standard_names(residues: list[Residue], report: Report) -> None:
    """Gives residues and atoms the names of the wwPDB, in capitals; selenomethionine becomes methionine."""
    renamed: dict[str, int] = defaultdict(int)
    replaced = []
    for residue in residues:
        residue.original = residue.name
        residue.name = residue.name.upper()
        heavy = sorted(atom.element for atom in residue.atoms if atom.element not in HYDROGEN)
        if residue.name in names.REPLACED:
            replaced.append(str(residue))
            residue.name, atoms = names.REPLACED[residue.name]
            for atom in residue.atoms:
                atom.name = atoms.get(atom.name, atom.name)
                atom.element = "S" if atom.name in atoms.values() else atom.element
        elif residue.name in names.METHYLAMIDE and heavy == ["C", "N"]:
            residue.name = "NME"
            for atom in residue.atoms:
                atom.name = atom.element if atom.element in ("C", "N") else atom.name
        elif residue.name == "NHE" and heavy == ["N"]:
            residue.name = "NH2"  # AMBER's name; with more atoms it is a buffer of the PDB
        elif (known := names.known_as(residue.name)) != residue.name:
            if known in names.SIDE_CHAINS:
                renamed[f"{residue.name} → {known}"] += 1
            residue.name = known
        elif residue.has("C1'") or residue.has("C1*"):
            residue.name = names.nucleotide(residue.name, residue.has("O2'") or residue.has("O2*"))
        elif residue.name in names.WATER and _is_water(residue):
            residue.name = "HOH"
            for atom in residue.atoms:
                atom.name = "O" if atom.element == "O" else atom.name
        if residue.name in names.SIDE_CHAINS:
            for atom in residue.atoms:
                usual = names.ATOM_SAME.get(atom.name.upper(), atom.name.upper())
                atom.name = "CD1" if (residue.name, usual) == ("ILE", "CD") else usual
    if replaced:
        report.note(f"selenomethionine becomes methionine: {listed(replaced)}")
    if renamed:
        report.note("names of other programs for what the PDB calls otherwise: " + listed([f"{count} {what}" for what, count in renamed.items()]))


def _is_water(residue: Residue) -> bool:
    """Whether its heavy atoms are an oxygen, at one place or several: ligands may be called as a model of water is. Extra points of such models are of no element."""
    heavy = {(atom.name, atom.element) for atom in residue.atoms if atom.element not in HYDROGEN and atom.element.capitalize() in ELEMENTS}
    return [element for _, element in heavy] == ["O"]


def no_hydrogens(residues: list[Residue], report: Report) -> list[Residue]:
    """Leaves out hydrogens and deuterium: they are placed anew, where every group carries all its protons. `residues` have their standard names."""
    count = 0
    for residue in residues:
        before = len(residue.atoms)
        residue.atoms = [atom for atom in residue.atoms if not _is_hydrogen(residue, atom)]
        count += before - len(residue.atoms)
    if count:
        report.note(f"{counted(count, 'hydrogen')} of the file {'is' if count == 1 else 'are'} left out and placed anew")
    return [residue for residue in residues if residue.atoms]


def _is_hydrogen(residue: Residue, atom: Atom) -> bool:
    """By its name in an amino acid, no heavy atom of which begins with H or D: some programs write the first two letters of the name as the element, HG or HE."""
    if residue.name in names.SIDE_CHAINS:
        return atom.name.lstrip("0123456789'\"")[:1] in HYDROGEN
    return atom.element in HYDROGEN


def one_place(residues: list[Residue], options: Options, report: Report) -> list[Residue]:
    """One place for every atom, and one name for every residue: of alternates those of higher occupancy, the same for all atoms of a residue."""
    there = _marks(residues)
    residues = _one_name(residues, options.altloc, report)
    _mark_repeats(residues, report)
    there |= _marks(residues)
    if options.altloc is not None and options.altloc not in there:
        raise Refused(f"--altloc {options.altloc}: no atom has such an alternate place", f"there are: {', '.join(sorted(there)) or 'none'}")
    chosen = []
    for residue, together in [(residue, run) for run in _runs(residues) for residue in run]:
        mean = _means([residue])
        if not mean:
            continue
        marks = list(mean)
        # Marks that all residues of a run have come first, so that its backbone goes one way.
        common = _means(together, set.intersection(*(set(_means([one])) for one in together)))
        best = max(marks, key=lambda mark: (mark == options.altloc, mark in common, common.get(mark, mean[mark])))
        kept: dict[str, Atom] = {}
        for atom in residue.atoms:
            other = kept.get(atom.name)
            if other is None or _rank(atom, best) > _rank(other, best):
                kept[atom.name] = atom
        residue.atoms, loose = _joined(list(kept.values()), best) if residue.name in names.SIDE_CHAINS else (list(kept.values()), [])
        if len(marks) > 1 and residue.name != "HOH":
            chosen.append(f"{residue}: {best} of " + ", ".join(f"{mark} ({mean[mark]:.2f})" for mark in marks) + (f"; {', '.join(loose)}, which it lacks, are too far from it in others" if loose else ""))
    if chosen:
        prefers = "the highest occupancy is taken (--altloc prefers another)" if options.altloc is None else f"{options.altloc} is taken where there is one"
        report.note(f"{counted(len(chosen), 'residue')} with alternate places: that of {prefers}")
        for line in chosen:
            report.note(line, screen=False)
    empty = [str(residue) for residue in residues if residue.name != "HOH" and any(atom.occupancy == 0 for atom in residue.atoms)]
    if all(atom.occupancy == 0 for residue in residues for atom in residue.atoms):
        report.note("the file has no occupancies: all of them are 0")
    elif empty:
        report.note(f"atoms that the file places without having seen them (occupancy 0) are taken as they are: {listed(empty)}")
    return residues


def _marks(residues: list[Residue]) -> set[str]:
    """The marks of alternates that atoms have."""
    return {atom.altloc for residue in residues for atom in residue.atoms} - {""}


def _runs(residues: list[Residue]) -> list[list[Residue]]:
    """The residues in runs whose peptide bonds have alternate places on both sides, so that these belong together; most runs are one residue."""
    found: list[list[Residue]] = []
    for residue in residues:
        before, nitrogen = (found[-1][-1] if found else None), {atom.altloc for atom in residue.atoms if atom.name == "N"}
        carbon = {atom.altloc for atom in before.atoms if atom.name == "C"} if before is not None and before.chain == residue.chain and not before.ended else set()
        if (carbon & nitrogen) - {""}:
            found[-1].append(residue)
        else:
            found.append([residue])
    return found


def _means(residues: list[Residue], marks: set[str] | None = None) -> dict[str, float]:
    """The mean occupancy of each mark of alternates in residues, or of these `marks` of them."""
    by_mark: dict[str, list[float]] = defaultdict(list)
    for residue in residues:
        for atom in residue.atoms:
            if atom.altloc and (marks is None or atom.altloc in marks):
                by_mark[atom.altloc].append(atom.occupancy)
    return {mark: sum(by_mark[mark]) / len(by_mark[mark]) for mark in sorted(by_mark)}


def _joined(atoms: list[Atom], best: str) -> tuple[list[Atom], list[str]]:
    """Atoms of the chosen alternate, and those of others that bonds join to them; the names of the rest, which would tear the residue apart and are built anew."""
    near = [atom for atom in atoms if atom.altloc in ("", best)]
    rest = [atom for atom in atoms if atom.altloc not in ("", best)]
    while joined := [atom for atom in rest if any(distance(atom.position, other.position) < BONDED for other in near)]:
        near += joined
        rest = [atom for atom in rest if not any(atom is one for one in joined)]
    return [atom for atom in atoms if any(atom is one for one in near)], [atom.name for atom in rest]


def _rank(atom: Atom, best: str) -> tuple[bool, bool, float]:
    return (atom.altloc == best, atom.altloc == "", atom.occupancy)


def _mark_repeats(residues: list[Residue], report: Report) -> None:
    """Where atoms of a residue come again without marks of alternates: those at one place are one, and those whose occupancies make up a whole are alternates, which get marks.

    Raises `Refused` for others. Ligands may have atoms of one name, as docking programs write them: what is prepared has none of their atoms.
    """
    once, marked = [], []
    for residue in residues:
        if any(atom.altloc for atom in residue.atoms) or not _is_prepared(residue):
            continue
        by_name: dict[str, list[Atom]] = defaultdict(list)
        for atom in residue.atoms:
            if not any(distance(atom.position, other.position) < SAME_PLACE for other in by_name[atom.name]):
                by_name[atom.name].append(atom)
        if sum(map(len, by_name.values())) < len(residue.atoms):
            residue.atoms = [atom for same in by_name.values() for atom in same]
            once.append(str(residue))
        for name, same in by_name.items():
            is_whole = all(0 < atom.occupancy < 1 for atom in same) and sum(atom.occupancy for atom in same) < 1.01
            if len(same) > 1 and not is_whole:
                raise Refused(
                    f"atom {name} of {residue} is there twice, and nothing says that these are alternate places",
                    "leave one of them out of the file, or mark them as alternates in column 17",
                )
        if any(len(same) > 1 for same in by_name.values()):
            marked.append(str(residue))
            for same in by_name.values():
                for atom, mark in zip(same, names.CHAINS if len(same) > 1 else [""]):
                    atom.altloc = mark
    if once:
        report.note(f"{counted(len(once), 'residue')} {'has' if len(once) == 1 else 'have'} atoms more than once at the same place, which are taken once: {listed(once, 6)}")
    if marked:
        report.note(f"{counted(len(marked), 'residue')} {'has' if len(marked) == 1 else 'have'} atoms at several places without marks, whose occupancies are those of alternates: {listed(marked, 6)}")


def _is_prepared(residue: Residue) -> bool:
    """Whether atoms of a residue may be taken: those of amino acids, also modified ones, which can be mutated, and of caps, water and ions."""
    if residue.name in names.SIDE_CHAINS or residue.name in names.CAPS or residue.name in METALS or residue.name in SALT or residue.name in ("HOH", *names.MODIFIED, *names.D_FORMS):
        return True
    n, alpha, carbon = (residue.atom(name) for name in ("N", "CA", "C"))
    return n is not None and alpha is not None and carbon is not None and distance(n.position, alpha.position) < BONDED and distance(alpha.position, carbon.position) < BONDED


def _one_name(residues: list[Residue], altloc: str | None, report: Report) -> list[Residue]:
    """Of residues that share a number (a mixture in the crystal) the one with the alternates that are asked for, or of higher occupancy; a number that comes again elsewhere is refused."""
    by_place: dict[tuple[str, int, str, bool], list[Residue]] = defaultdict(list)
    for residue in residues:
        by_place[(residue.chain, residue.number, residue.insertion, residue.name == "HOH")].append(residue)
    dropped = set()
    for (_, _, _, water), same in by_place.items():
        if len(same) == 1 or water:
            continue
        shared = _shared(same)
        if shared is None:
            others = [residue for residue in same if residue.name not in names.SIDE_CHAINS]
            if others and (len({residue.name for residue in same}) == len(same) or len(others) == len(same)):
                continue  # ligands and ions may have the number of a residue, and of each other, in loosely written files
            raise Refused(
                f"{same[0]} is there twice ({listed([residue.name for residue in same])}): two chains or two copies have the same name",
                "give every chain a name of its own (column 22), or leave the copy out of the file",
            )
        best = max(same, key=lambda residue: (altloc is not None and altloc in _marks([residue]), _occupancy(residue)))
        dropped |= {id(residue) for residue in same if residue is not best}
        known = (*(names.heavy_atoms(best.name) or ()), "OXT")
        best.atoms = [atom for atom in shared if atom.name in known and not best.has(atom.name)] + best.atoms
        report.note(f"{same[0].place} is {listed([residue.original for residue in same])} in the crystal: {best.original} is taken")
    return [residue for residue in residues if id(residue) not in dropped]


def _shared(same: list[Residue]) -> list[Atom] | None:
    """The atoms that residues of one number have in common, which have no mark, such as N of Pro and Ser in one place; none where these are no mixture, because a residue has
    no marks, or an atom without one is there twice."""
    plain = [atom for residue in same for atom in residue.atoms if not atom.altloc]
    is_mixture = len({residue.name for residue in same}) == len(same) and all(any(atom.altloc for atom in residue.atoms) for residue in same)
    return plain if (is_mixture or not plain) and len({atom.name for atom in plain}) == len(plain) else None


def _occupancy(residue: Residue) -> float:
    """The mean occupancy of the atoms that are its own among residues that share a place."""
    own = [atom.occupancy for atom in residue.atoms if atom.altloc]
    return sum(own) / len(own)


def chains(entry: Entry, residues: list[Residue], options: Options, report: Report) -> list[Residue]:
    """The residues of the chains that are prepared, with the small molecules that lie at them."""
    proteins: dict[str, list[str]] = defaultdict(list)
    shared: set[tuple[str, int, str]] = set()
    for residue in residues:
        if residue.name in names.SIDE_CHAINS and residue.has("CA"):
            place = (residue.chain, residue.number, residue.insertion)
            if any(atom.altloc for atom in residue.atoms):  # two residues may share a place in the crystal
                if place in shared:
                    continue
                shared.add(place)
            proteins[residue.chain].append(residue.name)
    if not proteins:
        raise Refused(f"{entry.path}: there is no protein: {_contents(residues)}", "give a structure with amino acids")
    wanted = _wanted(entry, proteins, options, report)
    places = _places(residue for residue in residues if residue.chain in wanted)
    others = [residue for residue in residues if residue.chain not in wanted and residue.chain not in proteins]
    if options.chains and options.chains != ["all"]:
        nucleic = [residue for residue in others if residue.name in names.NUCLEOTIDES]
        others = [residue for residue in others if residue.name not in names.NUCLEOTIDES]
        for chain in dict.fromkeys(residue.chain for residue in nucleic):
            here = [residue for residue in nucleic if residue.chain == chain]
            report.note(f"chain {chain or '(blank)'} is {names.NUCLEOTIDES[here[0].name]} ({counted(len(here), 'residue')}) and was not asked for: left out")
    near = {id(residue) for residue in others if len(wanted) == len(proteins) or _nearest(residue, places) < NEAR}
    held = _held(residues, wanted, proteins.keys() - wanted, report)
    return [residue for residue in residues if residue.chain in wanted or id(residue) in near | held]


def _held(residues: list[Residue], wanted: set[str], unwanted: set[str], report: Report) -> set[int]:
    """Molecules that the file gives to protein chains which are not prepared, and that lie at those which are: nearer to these, or bonded to both."""
    amino = [residue for residue in residues if residue.name in names.SIDE_CHAINS]
    ours, theirs = (_places(residue for residue in amino if residue.chain in chains) for chains in (wanted, unwanted))
    held = []
    for residue in residues:
        if residue.chain in unwanted and residue.name not in names.SIDE_CHAINS and residue.name not in names.NUCLEOTIDES:
            here, there = _nearest(residue, ours), _nearest(residue, theirs)
            if here < NEAR and (here < there or here < (BONDED_TO_METAL if residue.name in METALS else BONDED)):
                held.append(residue)
    if held:
        water = sum(residue.name == "HOH" for residue in held)
        what = [str(residue) for residue in held if residue.name != "HOH"] + ([f"{counted(water, 'molecule')} of water"] if water else [])
        report.note(f"taken, because nearer to what is prepared than to the chains that the file gives them to, or bonded to both: {listed(what)}")
    return {id(residue) for residue in held}


def _wanted(entry: Entry, proteins: dict[str, list[str]], options: Options, report: Report) -> set[str]:
    """Names of the chains that are asked for, or that the file says belong together."""
    nameless = {entry.nameless: ", without a name in the file"}
    there = ", ".join(f"{chain} ({counted(len(found), 'residue')}{nameless.get(chain, '')})" for chain, found in proteins.items())
    if options.chains and options.chains != ["all"]:
        asked = [chain or entry.nameless for chain in options.chains]
        unknown = [f"chain {chain}" if chain else "chain without a name" for chain in asked if chain not in proteins]
        if unknown:
            raise Refused(f"{entry.path}: there is no protein {', no '.join(unknown)}", f"the chains are {there}")
        report.note(f"{'chain' if len(asked) == 1 else 'chains'} {', '.join(asked)}, as asked, of {there}")
        return set(asked)
    copies = [group for group in _copies(entry, proteins) if len(group) > 1]
    if copies and not options.chains:
        group = copies[0]
        together = any(set(group) <= set(unit) for unit in entry.units)
        if not together:
            why = "the file does not say whether they belong together"
            if set(group) <= set().union(*entry.units):
                why = "the file has them in " + str(len(entry.units)) + " biological units: " + "; ".join(", ".join(unit) for unit in entry.units)
            first = next((unit for unit in entry.units if group[0] in unit), [group[0]])
            first = [chain for chain in first if chain in proteins]
            seen = list(dict.fromkeys(counted(len(proteins[chain]), "residue") for chain in group))
            same = f"the same sequence ({seen[0]})" if len(seen) == 1 else f"the same sequence, as far as it was seen ({', '.join(seen)})"
            raise Refused(
                f"{entry.path}: chains {', '.join(group)} have {same}, and {why}",
                f"prepare one unit with --chains {','.join(first)}, or prepare everything with --chains all",
            )
    report.note(f"{'chain' if len(proteins) == 1 else 'chains'} {there}")
    return set(proteins)


def _copies(entry: Entry, proteins: dict[str, list[str]]) -> list[list[str]]:
    """Chains with the same sequence, group by group; where the file does not say what was in the crystal, those of which the same was seen but for a few residues."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for chain, found in proteins.items():
        whole = tuple(entry.sequences.get(chain) or found)
        seen = [] if whole in groups or entry.sequences.get(chain) else [other for other, group in groups.items() if not entry.sequences.get(group[0])]
        groups.setdefault(next((other for other in seen if _is_alike(whole, other)), whole), []).append(chain)
    return list(groups.values())


def _places(residues: Iterable[Residue]) -> np.ndarray:
    """Positions of all atoms (nm), one row for each."""
    return np.array([atom.position for residue in residues for atom in residue.atoms]).reshape(-1, 3)


def _nearest(residue: Residue, places: np.ndarray) -> float:
    """The distance (nm) of a residue from the nearest of these places; infinite if there are none."""
    return min((float(np.linalg.norm(places - atom.position, axis=1).min(initial=np.inf)) for atom in residue.atoms), default=math.inf)


def _is_alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two chains are copies of which not the same residues were seen, such as other ones at an end; of a few residues nothing can be said."""
    short = min(len(one), len(other))
    if short < 20 or max(len(one), len(other)) > 1.5 * short:
        return False
    same = sum(block.size for block in difflib.SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())
    return same >= COPIES * short


def _contents(residues: list[Residue]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for residue in residues:
        counts[names.NUCLEOTIDES.get(residue.name, residue.name)] += 1
    return listed([f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1])])
