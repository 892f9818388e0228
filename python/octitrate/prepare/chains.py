"""Chains as they are built: where they begin and end, where something is missing between, and which cysteines are bonded.

A *segment* is a piece of a chain whose residues follow each other by peptide bonds. Its ends are ends of the protein, which carry charges and titrate, or ends
of what was seen of it: those get caps (acetyl, N-methylamide), because nothing is charged there in the protein.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ..errors import Refused
from ..words import counted, listed
from . import coarse, names
from .entry import Entry, Link, Missing, Place, Residue, distance
from .options import Options
from .report import Report

PEPTIDE = 0.20
"""nm; a C–N bond is 0.133 long, and in the worst structures shorter than this."""

BRIDGE = 0.25
"""nm; an S–S bond is 0.205 long. Sulfurs that are not bonded stay 0.35 apart."""

ACROSS = 0.72
"""nm; the CA of two cysteines in a disulfide are 0.38 to 0.68 apart."""

SHORT = 0.12
"""nm; a disulfide of a bad model is longer (1.5 Å in 4ZHL): nearer than this sulfurs lie on each other."""

CUT = "if a periodic box has cut the molecule, make it whole with the program of the simulation"
"""What to do about a chain or a residue whose pieces lie on both sides of a box."""

BOND = 0.16
"""nm; atoms of two residues that are nearer are bonded or clash, but for those of a peptide bond (C–C 0.154)."""

SULFUR_BOND = 0.21
"""nm; the same where one of them is a sulfur: C–S is 0.18 long, and atoms that are not bonded to it stay 0.33 away."""

NAMED_BOND = 0.25
"""nm; a bond that the file names is believed up to this length."""

LONGEST_LOOP = 8
"""Residues that are built without having been seen: longer loops have too many shapes for one guess to be of use."""


@dataclass(eq=False)
class Segment:
    """Residues that are bonded one after another."""

    chain: str
    residues: list[Residue]
    capped_start: bool = False
    capped_end: bool = False
    loops: dict[int, list[Missing]] = field(default_factory=dict)
    """Residues to be built before the residue of this index."""

    def numbers(self) -> list[tuple[str, str]]:
        """Number and insertion code in the file of every residue, those to be built among them, as OpenMM has them."""
        everything = [one for k, residue in enumerate(self.residues) for one in (*self.loops.get(k, ()), residue)]
        return [(str(one.number), one.insertion or " ") for one in everything]


def segments(entry: Entry, protein: list[Residue], options: Options, report: Report) -> list[Segment]:
    """Divides the protein into segments; a gap is refused unless it is asked to be capped or built. `protein`: each chain in its order."""
    found: list[Segment] = []
    for chain in dict.fromkeys(residue.chain for residue in protein):
        found += _of_chain(entry, chain, [residue for residue in protein if residue.chain == chain], options, report)
    for segment in found:
        _whole_caps(segment, report)
    return found


def _whole_caps(segment: Segment, report: Report) -> None:
    """Takes caps that lack atoms for none, so that they are built anew."""
    for cap, place in (("ACE", 0), ("NME", -1)):
        residue = segment.residues[place]
        if residue.name == cap and not residue.has(*names.CAPS[cap]):
            report.note(f"{residue} lacks {', '.join(name for name in names.CAPS[cap] if not residue.has(name))}: the cap is built anew")
            del segment.residues[place]
            segment.capped_start |= cap == "ACE"
            segment.capped_end |= cap == "NME"


def check_atoms(protein: list[Residue], entry: Entry, report: Report) -> list[Residue]:
    """The protein without residues whose backbone was not seen, which count as missing. Refuses models without side chains, and atoms that their residue does not have."""
    amino = [residue for residue in protein if residue.name in names.SIDE_CHAINS]
    if not amino:
        raise Refused(f"{entry.path}: nothing of the protein is left", "drop less")
    bare = coarse.refuse(amino, entry, 0.5)
    for residue in bare:
        _count_as_missing(residue, entry, [one for one in protein if one.chain == residue.chain])
        absent = ", ".join(name for name in ("N", "CA", "C") if not residue.has(name))
        report.warn(f"{residue} has no {absent}, and a backbone cannot be built from the rest: it is left out and counts as a residue that was not seen")
    protein = [residue for residue in protein if residue not in bare]
    for residue in protein:
        known = (*(names.heavy_atoms(residue.name) or ()), "OXT")
        strange = [atom.name for atom in residue.atoms if atom.name not in known]
        if strange:
            way = "if it is modified, give it its own name; if the names are of another program, rename them as in the PDB"
            if set(strange) <= {"CAY", "CY", "OY"}:
                way = "they are the acetyl of CHARMM (ACE): give them a residue of their own before it, named ACE, in which CAY is CH3, CY is C and OY is O"
            elif set(strange) <= {"NT", "CAT"}:
                cap = "NME, in which NT is N and CAT is C" if "CAT" in strange else "NH2, in which NT is N"
                way = f"they are the amide of CHARMM at the end of a chain (CT2, CT3): give them a residue of their own behind it, named {cap}"
            other = residue.original.upper()
            called = f"{residue} ({other} in the file)" if other and other != residue.name else str(residue)
            raise Refused(f"{called} has atoms that {residue.name} does not have: {', '.join(strange)}", way)
    return protein


def _count_as_missing(residue: Residue, entry: Entry, chain: list[Residue]) -> None:
    """Puts a residue that is left out among those of its chain that were not seen, at its place. Where the file has no list of them, its sequence tells."""
    listed_here = [k for k, one in enumerate(entry.missing) if one.chain == residue.chain]
    if listed_here or not entry.sequences.get(residue.chain):
        place = _places(chain, [entry.missing[k] for k in listed_here])
        behind = [k for k in listed_here if place(entry.missing[k]) > place(residue)]
        entry.missing.insert(behind[0] if behind else len(entry.missing), Missing(residue.original or residue.name, residue.chain, residue.number, residue.insertion))


def _of_chain(entry: Entry, chain: str, residues: list[Residue], options: Options, report: Report) -> list[Segment]:
    now = Segment(chain, [residues[0]])
    found = [now]
    missing = _unseen(entry, chain, residues)
    for place, (before, after) in enumerate(zip(residues, residues[1:]), 1):
        if bonded(before, after):
            if before.atom("OXT") is not None:
                report.note(f"{before} has an OXT though {after} is bonded to it: OXT is left out")
                _leave_out_oxt(before)
            now.residues.append(after)
            continue
        if before.name == "NME" or after.name == "ACE":
            now = Segment(chain, [after])
            found.append(now)
            continue
        if before.ended and after.atom("OXT") is not None and not any(bonded(after, other) for other in residues[place + 1 : place + 2]):
            raise Refused(
                f"{after} is an amino acid by itself (it has OXT and is bonded to no other residue): a ligand, for which there is no force field yet",
                f"{_dropped(after)} leaves it out",
            )
        if before.atom("OXT") is not None and (before.ended or options.gaps == "cap"):
            capped = options.ends == "capped"
            what = "capped (NME, ACE), as asked" if capped else "charged ends"
            report.note(f"chain {chain or '(blank)'} has two chains: {before} is the last residue of one (it has OXT), {after} the first of the next: {what}")
            if capped:
                _leave_out_oxt(before)
            now.capped_end = capped
            now = Segment(chain, [after], capped_start=capped)
            found.append(now)
            continue
        between = _between(entry, residues, before, after, missing)
        what = _described(before, after, between)
        if options.gaps == "cap":
            report.note(f"{what}: capped on both sides (NME, ACE)")
            now.capped_end = True
            now = Segment(chain, [after], capped_start=True)
            found.append(now)
        elif options.gaps == "build":
            _can_build(what, between)
            report.warn(f"{what}: built without having been seen, one shape of many")
            now.loops[len(now.residues)] = between
            now.residues.append(after)
        else:
            way = "--gaps cap ends the chain on both sides with neutral caps"
            if before.ended:
                what += "; the file ends a chain between them (TER)"
            if before.ended or not between:
                cut = "" if between else f"{CUT}; "
                way = f"if these are two chains, give each a name of its own (column 22 of the file); {cut}if residues are missing, {way}"
            if 0 < len(between) <= LONGEST_LOOP and all(m.name in names.SIDE_CHAINS for m in between):
                way += f"; --gaps build builds {counted(len(between), 'residue')} in some shape"
            raise Refused(what, way)
    _ends(entry, chain, found, missing, options, report)
    for segment in found:
        if len(segment.residues) == 1 and not (segment.capped_start or segment.capped_end):
            raise Refused(
                f"{segment.residues[0]} is a chain by itself, which force fields have no parameters for",
                f"{_dropped(segment.residues[0])} leaves it out, as a ligand; if it is a chain, prepare the others alone (--chains), or put caps on its ends (--ends capped)",
            )
    return found


def _dropped(residue: Residue) -> str:
    """The option that leaves out one residue."""
    return f"--drop '{residue.chain}:{residue.name} {residue.number}{residue.insertion}'"


def _leave_out_oxt(residue: Residue) -> None:
    residue.atoms = [atom for atom in residue.atoms if atom.name != "OXT"]


def bonded(before: Residue, after: Residue) -> bool:
    """Whether a peptide bond leads from one residue to the next."""
    carbon, nitrogen = before.atom("C"), after.atom("N")
    return carbon is not None and nitrogen is not None and distance(carbon.position, nitrogen.position) < PEPTIDE


def _unseen(entry: Entry, chain: str, residues: list[Residue]) -> list[Missing]:
    """What the file lists of a chain without having seen it, with what it neither lists nor has, such as residues that were cut from it: the sequence tells, if its numbers
    fit all others. Empty where there is no list."""
    found = [m for m in entry.missing if m.chain == chain]
    numbered = _numbered(entry.sequences.get(chain, []), residues) if found else {}
    if any(m.insertion or numbered.get(m.number) != _in_sequence(m.name) for m in found):
        return found
    known = {m.number for m in found} | {residue.number for residue in residues}
    cut = [Missing(name, chain, number, "") for number, name in numbered.items() if number not in known and name not in ("NH2", *names.CAPS)]
    return sorted(found + cut, key=lambda m: m.number)


def _between(entry: Entry, residues: list[Residue], before: Residue, after: Residue, missing: list[Missing]) -> list[Missing]:
    """What the file says was there between two residues of a chain and was not seen. Without a list of it: residues of the numbers between, with the names that the
    sequence has for them."""
    place = _places(residues, missing)
    named = [m for m in missing if place(before) < place(m) < place(after)]
    if named or missing:
        return [replace(m, name=_in_sequence(m.name)) for m in named]
    sequence = _numbered(entry.sequences.get(before.chain, []), residues)
    return [Missing(sequence.get(number, ""), before.chain, number, "") for number in range(before.number + 1, after.number)]


def _places(residues: list[Residue], missing: list[Missing]) -> Callable[[Residue | Missing], tuple[int, int]]:
    """What orders the residues of a chain, those that were seen and those that were not: their numbers, and their insertion codes, which come behind the number without one
    (60, 60A, 60B) or fall before it (1B, 1A, 1, as in thrombin). They fall at a number where they do so in the file, or where a residue that was not seen would stand between
    two that are bonded."""

    def code(one: Residue | Missing) -> int:
        return int.from_bytes(one.insertion.encode(), "big")

    of_file: tuple[Sequence[Residue | Missing], ...] = (residues, missing)
    falling = {one.number for chain in of_file for one, other in zip(chain, chain[1:]) if one.number == other.number and code(other) < code(one)}
    joined = [(one, other) for one, other in zip(residues, residues[1:]) if bonded(one, other)]
    for m in missing:
        if any(one.number == m.number and (one.number, code(one)) < (m.number, code(m)) < (other.number, code(other)) for one, other in joined):
            falling.add(m.number)
    return lambda one: (one.number, -code(one) if one.number in falling else code(one))


def _numbered(sequence: list[str], residues: list[Residue]) -> dict[int, str]:
    """The residues of a sequence by their numbers in the file, if there is one way to count that fits everything that was seen; else none."""
    called = [_in_sequence(name) for name in sequence]
    seen = [(residue.number, _in_sequence(residue.original or residue.name)) for residue in residues if residue.name not in names.CAPS]
    if any(residue.insertion for residue in residues) or not seen:
        return {}
    ways = []
    for start in range(len(called)):
        numbered = dict(enumerate(called, seen[0][0] - start))
        if all(numbered.get(number) == name for number, name in seen):
            ways.append(numbered)
    return ways[0] if len(ways) == 1 else {}


def _in_sequence(name: str) -> str:
    """The name of a residue as sequences are compared: in capitals, without what it says of protons, Met for selenomethionine."""
    known = names.known_as(name.upper())
    return names.REPLACED[known][0] if known in names.REPLACED else known


def _described(before: Residue, after: Residue, between: list[Missing]) -> str:
    carbon, nitrogen = before.atom("C"), after.atom("N")
    apart = f"{10 * distance(carbon.position, nitrogen.position):.1f} Å apart" if carbon and nitrogen else "not bonded"
    where = f"chain {before.chain or '(blank)'} is broken between {before.name} {before.number}{before.insertion} and {after.name} {after.number}{after.insertion}"
    if not between:
        return f"{where}, which are {apart}"
    called = listed([f"{m.name} {m.number}{m.insertion}".strip() for m in between], 6)
    return f"{where}: {len(between)} {'residue is' if len(between) == 1 else 'residues are'} missing ({called})"


def _can_build(what: str, between: list[Missing]) -> None:
    strange = list(dict.fromkeys(m.name for m in between if m.name not in names.SIDE_CHAINS))
    if not between:
        why = "nothing is missing by the numbers, so there is nothing to build"
    elif "" in strange:
        why = "nothing says which residues they are"
    elif len(between) > LONGEST_LOOP:
        why = f"at most {LONGEST_LOOP} amino acids are built"
    elif strange:
        why = f"{listed(strange)}: not among the twenty amino acids, which alone are built"
    else:
        return
    raise Refused(f"{what}; {why}", "--gaps cap ends the chain on both sides, or build the loop with a program for that")


def _ends(entry: Entry, chain: str, found: list[Segment], missing: list[Missing], options: Options, report: Report) -> None:
    """Decides what the two ends of a chain are."""
    before, after = _unseen_ends(entry, chain, found, missing)
    for at_start, segment, count in ((True, found[0], before), (False, found[-1], after)):
        residue = segment.residues[0 if at_start else -1]
        end = "first" if at_start else "last"
        if residue.name in names.CAPS:
            continue
        capped = options.ends == "capped" or (options.ends == "auto" and count > 0)
        if not at_start and residue.atom("OXT") is not None and options.ends == "auto":
            capped = False
        if capped:
            why = f"{counted(count, 'residue')} {'before' if at_start else 'after'} it {'was' if count == 1 else 'were'} not seen" if count else "as asked"
            report.note(f"{residue} is the {end} residue there is, {why}: capped ({'ACE' if at_start else 'NME'})")
        else:
            report.note(f"{residue} is the {end} residue: a charged end" + (f", though {counted(count, 'residue')} {'was' if count == 1 else 'were'} not seen" if count else ""))
        if at_start:
            segment.capped_start = capped
        else:
            segment.capped_end = capped
            if capped:
                _leave_out_oxt(residue)


def _unseen_ends(entry: Entry, chain: str, found: list[Segment], missing: list[Missing]) -> tuple[int, int]:
    """How many residues the crystal had before the first and after the last that were seen."""
    first, last = found[0].residues[0], found[-1].residues[-1]
    if missing:
        place = _places([residue for segment in found for residue in segment.residues], missing)
        return sum(place(m) < place(first) for m in missing), sum(place(m) > place(last) for m in missing)
    sequence = [_in_sequence(name) for name in entry.sequences.get(chain, [])]
    # A cap that was seen and is not there any more was left out as asked.
    caps = {residue.name for model in entry.models.values() for residue in model if residue.chain == chain} & {"NH2", *names.CAPS}
    while sequence and sequence[0] in caps:
        del sequence[0]
    while sequence and sequence[-1] in caps:
        del sequence[-1]
    seen = [_in_sequence(residue.original or residue.name) for segment in found for residue in segment.residues]
    blocks = [b for b in difflib.SequenceMatcher(None, sequence, seen, autojunk=False).get_matching_blocks() if b.size]
    if not sequence or not blocks or 2 * sum(block.size for block in blocks) < len(seen):
        return (0, 0)
    start = max(0, blocks[0].a - blocks[0].b)
    end = max(0, (len(sequence) - blocks[-1].a) - (len(seen) - blocks[-1].b))
    return (start, end)


def bridges(entry: Entry, everything: list[Residue], found: list[Segment], report: Report) -> list[tuple[Residue, Residue]]:
    """Pairs of cysteines that are bonded: the sulfurs say so, and what the file says is compared. `everything`: the residues of the file, left out or not."""
    cysteines = [r for segment in found for r in segment.residues if r.name == "CYS" and r.atom("SG")]
    pairs: list[tuple[Residue, Residue]] = []
    taken: set[int] = set()
    by_distance = sorted(
        (distance(a.atom("SG").position, b.atom("SG").position), i, j)  # type: ignore[union-attr]
        for i, a in enumerate(cysteines)
        for j, b in enumerate(cysteines)
        if i < j
    )
    for length, i, j in by_distance:
        if length < BRIDGE and not {i, j} & taken:
            taken |= {i, j}
            pairs.append((cysteines[i], cysteines[j]))
            report.note(f"disulfide {cysteines[i]} – {cysteines[j]}, {10 * length:.2f} Å")
    by_key = {r.key: r for segment in found for r in segment.residues if r.name == "CYS"}
    for one, other in ((by_key[a], by_key[b]) for a, b in entry.bridges if {a, b} <= by_key.keys()):
        ends = [residue.atom("CA") for residue in (one, other)]
        if not (one.has("SG") and other.has("SG")) and all(ends) and distance(ends[0].position, ends[1].position) < ACROSS:  # type: ignore[union-attr]
            taken |= {k for k, residue in enumerate(cysteines) if residue in (one, other)}
            pairs.append((one, other))
            report.note(f"disulfide {one} – {other} of the file: sulfurs that were not seen are built")
    is_bonded = {frozenset((a.key, b.key)) for a, b in pairs}
    here = {r.key for r in cysteines}
    inside = {id(residue) for segment in found for residue in segment.residues}
    paired = {residue.key for pair in pairs for residue in pair}
    copied = _bonded_to_copies(entry, {key: residue for key, residue in by_key.items() if key not in paired}, report)
    taken |= {k for k, residue in enumerate(cysteines) if residue.key in copied}
    alone = _left_alone(entry, everything, cysteines, taken, inside, report)
    for index, residue in enumerate(cysteines):
        if index not in taken | alone and residue.original.upper() in names.IN_DISULFIDE:
            report.warn(f"{residue} is called {residue.original} in the file, that of a disulfide, and no sulfur is near enough: it is built as a free thiol")
    for a, b in entry.bridges:
        if {a, b} <= by_key.keys() and frozenset((a, b)) not in is_bonded and len({a, b} & here) != 1:
            report.warn(f"the file names a disulfide between {a[1]}{a[2]} of chain {a[0]} and {b[1]}{b[2]} of chain {b[0]}, which are too far apart: none is built")
    return pairs


def _bonded_to_copies(entry: Entry, free: dict[Place, Residue], report: Report) -> set[Place]:
    """Warns of cysteines whose partner in a disulfide is in a symmetry copy, which is not in the box; `free`: those that are in no other disulfide. Returns where they stand."""
    found: dict[Place, Place] = {}
    for link in entry.links:
        if link.is_across and link.atoms == ("SG", "SG"):
            found |= {end: partner for end, partner in (link.ends, link.ends[::-1]) if end in free}
    for end, partner in found.items():
        other = "the same residue" if partner == end else f"CYS {partner[1]}{partner[2]} of chain {partner[0] or '(blank)'}"
        report.warn(
            f"{free[end]} is bonded to {other} of a symmetry copy, which is not in the box: it is built as a free thiol, which it is not in the protein; "
            "a file that has the copy as a chain of its own keeps the disulfide"
        )
    return set(found)


def _left_alone(entry: Entry, everything: list[Residue], cysteines: list[Residue], taken: set[int], inside: set[int], report: Report) -> set[int]:
    """Warns of cysteines whose partner in a disulfide is left out with its chain, or has no sulfur in the file: they are built as free thiols, which they are not in the
    protein. `inside`: the residues that are prepared, by their identity. Returns the indices of the cysteines."""
    alone = set()
    kept = {id(residue) for residue in cysteines}
    others = [residue for residue in everything if residue.name == "CYS" and id(residue) not in kept]
    named = {frozenset(pair) for pair in entry.bridges}
    for index, residue in enumerate(cysteines):
        sulfur = residue.atom("SG")
        if index in taken or sulfur is None:
            continue
        for other in others:
            near = any(distance(sulfur.position, atom.position) < BRIDGE for atom in other.atoms if atom.name == "SG")
            if near or frozenset((residue.key, other.key)) in named:
                if id(other) in inside:
                    report.warn(f"the file names a disulfide between {residue} and {other}, whose sulfur is not in it and which is too far away: none is built, and both are free thiols")
                    alone.add(index)
                    break
                report.warn(
                    f"{residue} is bonded to {other}, which is left out: it is built as a free thiol, which it is not in the protein; "
                    f"--chains with chain {other.chain or '(blank)'}, too, keeps the disulfide"
                )
                alone.add(index)
                break
    return alone


def unlike_bonds(found: list[Segment], pairs: list[tuple[Residue, Residue]]) -> None:
    """Refuses bonds that no peptide has: rings of the backbone, side chains bonded to each other but by the disulfides `pairs`, and atoms on top of each other."""
    disulfides = {frozenset((id(a), id(b))) for a, b in pairs}
    cells: dict[tuple[int, int, int], list[tuple[Residue, str, tuple[float, float, float]]]] = {}
    size = max(BOND, SULFUR_BOND)
    order = _order(found)
    for segment in found:
        for residue in segment.residues:
            for atom in residue.atoms:
                home = tuple(int(x // size) for x in atom.position)
                for dx in (-1, 0, 1):
                    for dy in (-1, 0, 1):
                        for dz in (-1, 0, 1):
                            for other, name, position in cells.get((home[0] + dx, home[1] + dy, home[2] + dz), ()):
                                length = distance(atom.position, position)
                                reach = SULFUR_BOND if {name, atom.name} & {"SG", "SD"} else BOND
                                if other is residue or length >= reach or _peptide(order, other, name, residue, atom.name):
                                    continue
                                if name == atom.name == "SG" and length > SHORT and frozenset((id(other), id(residue))) in disulfides:
                                    continue
                                behind = [f"{one} of {of}" for one, of in ((name, other), (atom.name, residue)) if one not in ("N", "CA", "C")]
                                built = f": {' or '.join(behind)} may be taken out of the file with what hangs on it, and is built anew" if behind else ""
                                goes_on = {name, atom.name} == {"C", "N"} and other.chain != residue.chain
                                way = "if one chain goes on under another name, give both parts one name (column 22 of the file); " if goes_on else ""
                                raise Refused(
                                    f"{name} of {other} and {atom.name} of {residue} are {10 * length:.2f} Å apart: a bond that is not known, or a clash",
                                    f"{way}cyclic and cross-linked chains are not prepared; if it is a clash, repair the structure first{built}",
                                )
                cells.setdefault((home[0], home[1], home[2]), []).append((residue, atom.name, atom.position))


def named_bonds(entry: Entry, found: list[Segment], report: Report) -> None:
    """Refuses bonds between amino acids that the file names and no peptide has. `found`: the segments that are prepared. Those to amino acids that are mutated or left out
    are passed over, and so are peptide bonds, which distances tell, but for those of atoms that are too far apart, such as of a ring that the file does not close."""
    inside = {residue.key: residue for segment in found for residue in segment.residues}
    for link in entry.links:
        if link.is_across:
            _warn_of_copy(link, inside, report)
            continue
        if not set(link.ends) <= inside.keys():
            continue
        one, other = (inside[end] for end in link.ends)
        names_of_atoms = [names.ATOM_SAME.get(name.upper(), name.upper()) for name in link.atoms]
        if any(residue.name != _in_sequence(called) or name not in (names.heavy_atoms(residue.name) or ()) for residue, called, name in zip((one, other), link.residues, names_of_atoms)):
            continue
        a, b = one.atom(names_of_atoms[0]), other.atom(names_of_atoms[1])
        length = None if a is None or b is None else distance(a.position, b.position)
        if set(link.atoms) == {"C", "N"} and (length is None or length < NAMED_BOND):
            continue
        what = f"the file names a bond between {names_of_atoms[0]} of {one} and {names_of_atoms[1]} of {other}"
        if length is not None and length >= NAMED_BOND:
            report.warn(f"{what}, which are {10 * length:.1f} Å apart: none is built")
            continue
        where = "not both of which were seen" if length is None else f"which are {10 * length:.2f} Å apart"
        record = "LINK" if entry.kind == "PDB" else "struct_conn"
        raise Refused(f"{what}, {where}", f"cyclic and cross-linked chains are not prepared; if there is no such bond in the protein, take it out of the file ({record})")


def _warn_of_copy(link: Link, inside: dict[Place, Residue], report: Report) -> None:
    """Warns of a bond to an amino acid of a symmetry copy; disulfides have a warning of their own."""
    if link.atoms == ("SG", "SG") or any(_in_sequence(called) not in names.SIDE_CHAINS for called in link.residues):
        return
    for k, end in enumerate(link.ends):
        if end in inside and inside[end].name == _in_sequence(link.residues[k]):
            _, number, code = link.ends[1 - k]
            report.warn(
                f"{link.atoms[k]} of {inside[end]} is bonded to {link.atoms[1 - k]} of {_in_sequence(link.residues[1 - k])} {number}{code} of a symmetry copy, which is not in the box: "
                "it is built without this bond"
            )
            return


def _order(found: list[Segment]) -> dict[int, tuple[int, int]]:
    """Segment and place in it of every residue, by its identity."""
    return {id(residue): (k, i) for k, segment in enumerate(found) for i, residue in enumerate(segment.residues)}


def _peptide(order: dict[int, tuple[int, int]], a: Residue, name: str, b: Residue, other: str) -> bool:
    """Whether two atoms are those of a peptide bond."""
    (k, i), (m, j) = order[id(a)], order[id(b)]
    return k == m and ((j == i + 1 and (name, other) == ("C", "N")) or (i == j + 1 and (other, name) == ("C", "N")))
