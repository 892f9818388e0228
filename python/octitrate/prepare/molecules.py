"""What is no amino acid: water, salt, additives of the crystal, metals, ligands, sugars, nucleic acids.

A force field for proteins knows water and ions. Everything else is left out on request, or refused: all of it in one message. Salt and what crystals are grown
from is left out unasked, because the salt of the box takes its place, and each is named.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..errors import Refused
from ..ions import ELEMENTS, METALS, SALT, element_of_ion
from ..words import counted, listed
from . import names
from .chains import PEPTIDE, bonded
from .entry import Residue, distance
from .numbers import NUMBER, in_file
from .options import Options
from .report import Report

BOND = 0.22
"""nm; atoms of a protein and of a molecule that are nearer are taken for bonded (C–S 0.18, C–Se 0.20)."""

MEMBRANE = "the box here is one of water: a protein in its membrane is built elsewhere and taken with --from"

COORDINATION = 0.28
"""nm; atoms that hold a metal are nearer (Fe–S 0.23, Ca–O 0.24, with its spread), also one inside a molecule, such as the iron of a haem."""

METALLIC = frozenset(element_of_ion(name).upper() for name in METALS)
"""Elements of metals."""

HELD = {"NA": 0.28, "K": 0.33, "CL": 0.34, "BR": 0.36, "I": 0.38, "F": 0.30}
"""nm, by the element; N, O and S that hold an ion of a salt are nearer (Na–O 0.24, K–O 0.28, Cl–N 0.32). One alone may lie beside any ion of the solution: two or more hold it."""


_FORM = re.compile(rf"((?P<chain>[^:]*):)?(?P<name>\S+)(\s+{NUMBER})?", re.IGNORECASE)


@dataclass(frozen=True)
class Wanted:
    """What an item of `--drop` or `--keep` means: molecules of a name, of one chain or of all, with one number or any."""

    text: str
    name: str
    chain: str | None
    number: tuple[int, str] | None

    @staticmethod
    def of(text: str) -> Wanted:
        """`SO4`, `SO4 203`, `A:SO4 203`, `A:SO4`; capitals tell chains apart, and nothing else. Raises `Refused` with the form that is understood."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise Refused(f"molecule {text!r} is not understood", "write ZN, 'ZN 203', 'A:ZN 203' or A:ZN, several with commas")
        number = None if match["number"] is None else in_file(match["number"], match["insertion"])
        return Wanted(text, match["name"].upper(), match["chain"] or None, number)

    def fits(self, residue: Residue) -> bool:
        """Whether it means this molecule."""
        is_named = self.name in (residue.name, residue.original.upper())
        return is_named and self.chain in (None, residue.chain) and self.number in (None, in_file(residue.number, residue.insertion))


@dataclass
class Kept:
    """Residues of the protein in their order, and what is kept beside it."""

    protein: list[Residue]
    ions: list[Residue]
    waters: list[Residue]


def sort_out(residues: list[Residue], options: Options, knows_ion: Callable[[str], bool], report: Report, parents: Mapping[str, str] = MappingProxyType({})) -> Kept:
    """Divides residues into protein, ions and water, and refuses what remains.

    `knows_ion` says whether the force field has parameters for an ion of this name, `parents` what modified amino acids were made from by the file.
    """
    drop, keep = ([Wanted.of(text) for text in texts] for texts in (options.drop, options.keep))
    if absent := [one for one in (*drop, *keep) if not any(map(one.fits, residues))]:
        raise _absent(absent, residues)
    dropped = {id(residue) for residue in residues if _is_among(residue, drop) and not _is_among(residue, keep)}
    protein = [residue for residue in residues if is_protein(residue) and id(residue) not in dropped]
    kept = Kept(protein=protein, ions=[], waters=[])
    left_out: dict[tuple[str, bool], list[Residue]] = defaultdict(list)
    problems: dict[str, list[Residue]] = defaultdict(list)
    for residue in residues:
        if id(residue) in dropped:
            left_out[residue.name, True].append(residue)
        elif is_protein(residue):
            continue
        elif residue.name == "HOH":
            kept.waters.append(residue)
        elif _is_among(residue, keep):
            if not knows_ion(residue.name) or len(residue.atoms) != 1:
                other = "" if options.force_field == "ff14SB" or len(residue.atoms) != 1 else ", or look whether --force-field ff14SB has it"
                raise Refused(
                    f"{residue}: {options.force_field} has no parameters for it, so that it cannot be kept" + ("" if len(residue.atoms) == 1 else "; only ions of one atom are"),
                    f"leave it out with --drop {residue.name}{other}",
                )
            kept.ions.append(residue)
        elif residue.name in names.ADDITIVES or _is_salt(residue):
            left_out[residue.name, False].append(residue)
        else:
            problems[residue.name].append(residue)
    if problems:
        raise _refusal(problems, protein, options, knows_ion, parents)
    for (name, asked), group in left_out.items():
        _say(name, group, protein, asked, report)
    _say_held([residue for group in left_out.values() for residue in group if _is_salt(residue)], protein, knows_ion, report)
    for ion in kept.ions:
        holders = _neighbours(ion, protein, COORDINATION)
        report.warn(
            f"{ion} is kept as a charged sphere of the force field, held by {listed(holders) or 'no residue'}: such models do not keep every coordination; "
            "its distances should be looked at. What titrates is built with all its protons, acids, histidines and cysteines that hold the ion like others"
        )
    return kept


def is_protein(residue: Residue) -> bool:
    """Whether a residue is an amino acid or a cap."""
    return residue.name in names.SIDE_CHAINS or residue.name in names.CAPS


def _is_salt(residue: Residue) -> bool:
    """Whether a residue is an ion of a salt: CLA is chloride for CHARMM, and chlorophyll in the PDB."""
    return residue.name in SALT and len(residue.atoms) == 1


def _is_among(residue: Residue, wanted: list[Wanted]) -> bool:
    return any(one.fits(residue) for one in wanted)


def _absent(absent: list[Wanted], residues: list[Residue]) -> Refused:
    """What to say of molecules that are not there: where those of the name are, or which names there are."""
    alike = [str(residue) for one in absent for residue in residues if replace(one, chain=None, number=None).fits(residue)]
    others = sorted({residue.name for residue in residues if residue.name not in names.SIDE_CHAINS})
    help = f"there are: {listed(alike)}" if alike else f"beside amino acids there are: {', '.join(others) or 'none'}"
    return Refused(f"nothing in the chosen chains is {'' if alike else 'named '}{', '.join(one.text for one in absent)}", help)


def _neighbours(residue: Residue, protein: list[Residue], reach: float) -> list[str]:
    """Residues of the protein that have an atom within reach of the molecule."""
    return [
        str(other)
        for other in protein
        if any(distance(a.position, b.position) < reach for a in residue.atoms for b in other.atoms)
    ]


def _bonded(residue: Residue, protein: list[Residue]) -> list[str]:
    """Residues of the protein that are bonded to a molecule, or hold a metal in it. Ions of a salt and marks of a membrane are bonded to nothing."""
    if residue.name == names.MARKS or _is_salt(residue):
        return []
    reach = [(atom, COORDINATION if residue.name in METALS or atom.element in METALLIC else BOND) for atom in residue.atoms]
    return [str(other) for other in protein if any(distance(a.position, b.position) < far for a, far in reach for b in other.atoms)]


def _say_held(salt: list[Residue], protein: list[Residue], knows_ion: Callable[[str], bool], report: Report) -> None:
    """Warns of ions of the salt that are left out though the protein held them at a place of their own."""
    held: list[str] = []
    known: list[Residue] = []
    for ion in salt:
        reach = HELD.get(element_of_ion(ion.name).upper(), 0.0)
        by = [other for other in protein for atom in other.atoms if atom.element in ("N", "O", "S") and distance(atom.position, ion.atoms[0].position) < reach]
        if len(by) > 1:
            held.append(f"{ion} by {listed(list(dict.fromkeys(map(str, by))))}")
            known += [ion] if knows_ion(ion.name) else []
    if held:
        way = f"; --keep '{known[0].chain + ':' if known[0].chain else ''}{known[0].name} {known[0].number}{known[0].insertion}' keeps {'it' if len(held) == 1 else 'the first'}" if known else ""
        report.warn(f"{counted(len(held), 'ion')} of the salt {'was' if len(held) == 1 else 'were'} held by the protein, which is prepared without {'it' if len(held) == 1 else 'them'}: {listed(held, 6)}{way}")


def _say(name: str, group: list[Residue], protein: list[Residue], asked: bool, report: Report) -> None:
    what = names.ADDITIVES.get(name) or ("an ion of the salt" if _is_salt(group[0]) else "")
    why = "as asked" if asked else "the salt of the box takes its place" if _is_salt(group[0]) else "it comes from the crystallisation"
    places = listed([residue.place for residue in group], 6)
    report.note(f"{name}{f' ({what})' if what else ''}, {counted(len(group), 'molecule')} ({places}): left out, {why}")
    bonded = dict.fromkeys(line for residue in group for line in _bonded(residue, protein))
    if bonded:
        report.warn(f"{name} was {'held by' if name in METALS else 'bonded to'} {listed(list(bonded))}, which {'is' if len(bonded) == 1 else 'are'} prepared without it")


def _refusal(
    problems: dict[str, list[Residue]], protein: list[Residue], options: Options, knows_ion: Callable[[str], bool], parents: Mapping[str, str]
) -> Refused:
    """One message for everything that is not known."""
    amino = [*protein, *(residue for group in problems.values() for residue in group if residue.has("N", "CA", "C"))]
    lines: list[str] = []
    spheres: list[str] = []
    helps: list[str] = []
    if nucleic := [name for name in problems if name in names.NUCLEOTIDES]:
        chains = dict.fromkeys(residue.chain for residue in protein)
        apart = all(chains) and not any(residue.chain in chains for name in nucleic for residue in problems[name])
        helps.append((f"--chains {','.join(chains)} takes the protein alone, " if apart else "") + f"--drop {','.join(nucleic)} leaves the nucleic acid out")
    for name, group in problems.items():
        first = group[0]
        places = listed([residue.place for residue in group], 4)
        if name in names.NUCLEOTIDES:
            lines.append(f"{name} {places}: {names.NUCLEOTIDES[name]}, which is not prepared")
        elif name in names.SUGARS:
            at = listed(sorted({line for residue in group for line in _bonded(residue, protein)}), 4)
            lines.append(f"{name} {places}: a sugar" + (f" of a glycan at {at}" if at else ""))
            helps.append(f"--drop {name} prepares the protein without it")
        elif name == "NH2":
            lines.append(f"NH2 {places}: the amide at the end of a chain")
            helps.append("--drop NH2 leaves the end as a carboxyl group, --drop NH2 --ends capped takes methylamide (NME) in its place and caps all ends")
        elif name == names.MARKS:
            lines.append(f"{name} {places}: marks of the faces of a membrane (OPM)")
            helps += [f"--drop {name} leaves them out", MEMBRANE]
        elif name not in METALS and len(first.atoms) == 1 and first.atoms[0].element.capitalize() not in ELEMENTS:
            lines.append(f"{name} {places}: a single particle of no element, such as a bead of a coarse-grained model")
            helps.append(f"--drop {name} leaves it out")
        elif name not in METALS and [atom.element for atom in first.atoms] == ["O"]:
            lines.append(f"{name} {places}: an oxygen by itself, such as water that is called otherwise")
            helps.append(f"--drop {name} leaves it out; if it is water, call it HOH")
        elif name in METALS or (len(first.atoms) == 1 and first.atoms[0].element not in ("C", "N")):
            held = listed(list(dict.fromkeys(line for one in group for line in _neighbours(one, protein, COORDINATION))), 12)
            known = knows_ion(name)
            (spheres if known else lines).append(f"{name} {places}: a metal or an ion" + (f", held by {held}" if held else ""))
            helps.append(f"--drop {name} leaves it out" + (f", --keep {name} takes the charged sphere of the force field" if known else ""))
        elif name in names.LIPIDS | names.LIPIDS_OF_PDB and not METALLIC & {atom.element for atom in first.atoms}:
            lines.append(f"{name} {places}: a lipid, a detergent or a part of one")
            helps += [f"--drop {name} leaves it out", MEMBRANE]
        elif (name in names.MODIFIED or first.has("N", "CA", "C")) and (inside := [one for one in group if _is_in_chain(one, amino)]):
            d = names.D_FORMS.get(name, "")
            of_file = "" if d else parents.get(name, "")
            unknown_one = "an amino acid that the force field does not know" + (f", made from {of_file}" if of_file else "")
            what, parent = names.MODIFIED.get(name, (f"D-{d}" if d else unknown_one, d or of_file))
            lines.append(f"{name} {places}: {what}")
            to = parent or "ALA"
            mutations = ",".join(f"{one.chain}:{name}{one.number}{one.insertion}{to}" for one in inside[:12])
            helps.append(f"--mutate {mutations} builds {'L-' if d else ''}{to} in its place" + (f"; called {d} in the file it stays D" if d else "") + ("" if parent else f", which is the smallest: the file does not say what {name} was made from (MODRES)"))
            if len(inside) < len(group):
                helps.append(f"--drop {name} leaves out those that are bonded to no other amino acid, too")
        elif joined := _joins(first, protein):
            lines.append(f"{name} {places}: a part of the chain that is no single amino acid, bonded to {listed(joined)}")
            helps.append(f"--drop {name} leaves it out, and --gaps cap ends the chain on both sides of it")
        else:
            near = listed(_bonded(first, protein), 3)
            bond = f", bonded to {near}" if near else ""
            metals = listed(sorted({atom.element for atom in first.atoms} & METALLIC), 3)
            holds = f" around {metals.capitalize()}" if metals else ""
            lines.append(f"{name} {places}: a ligand of {counted(len(first.atoms), 'heavy atom')}{holds}{bond}")
            helps.append(f"--drop {name} leaves it out")
    unknown = [f"{options.force_field} does not know {'; '.join(lines)}"] if lines else []
    known_ions = [f"{options.force_field} has a charged sphere, and no more, for {'; '.join(spheres)}"] if spheres else []
    return Refused("; ".join(unknown + known_ions), "; ".join(dict.fromkeys(helps)))


def _is_in_chain(residue: Residue, amino: list[Residue]) -> bool:
    """Whether it has the backbone of an amino acid and a peptide bond leads from it to another or to it from one: if not, it is a ligand that is made like an amino acid, such as
    adenosylmethionine, or has its names for other atoms."""
    alpha, carbon = residue.atom("CA"), residue.atom("C")
    is_backbone = alpha is None or carbon is None or distance(alpha.position, carbon.position) < PEPTIDE
    return is_backbone and any(bonded(residue, other) or bonded(other, residue) for other in amino if other is not residue)


def _joins(residue: Residue, protein: list[Residue]) -> list[str]:
    """The two residues that peptide bonds lead to it from and from it to, whatever its atoms are called, as those of the chromophore of a fluorescent protein; none if one is not there."""

    def near(mine: str, name: str) -> list[str]:
        places = [atom.position for atom in residue.atoms if atom.element == mine]
        ends = [(other, other.atom(name)) for other in protein]
        return [str(other) for other, atom in ends if atom is not None and any(distance(atom.position, place) < PEPTIDE for place in places)]

    before, after = near("N", "C"), near("C", "N")
    return [before[0], after[0]] if before and after else []
