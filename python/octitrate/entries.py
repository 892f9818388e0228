"""Entries of octitrate's library for any force field: the charges of every form of every group that titrates, from the force field's own residues.

An entry is a TOML file, as `lambda/library/*.toml` (manual: "The library of residues"). Forms are made by these rules:

- form 0 is the residue that `octitrate.templates` builds, with every proton;
- the other forms take the side chain of the force field's residue without the proton (AMBER: GLU, ASP, HID, HIE, LYN, CYM; CHARMM: GLU, ASP, HSD, HSE
  and the patches
  LSN, CYSD, RN2, NNEU). The backbone keeps the charges of form 0, because a reference energy would depend on the neighbouring residues otherwise;
- a hydrogen that leaves has no charge, and one named atom (CB; at ends of chains CA) takes what is left, so that every form has a whole charge;
- bonded terms inside of chains (`octitrate.bonded`) and Lennard-Jones parameters are those that the force field has for each form, where `FOLLOWS` says so;
- all others are those of the residue as it is built, in every form: what that costs in free energy is part of the correction, because the model compound is
  treated alike. Entries name what the force field would change.

AMBER has no tyrosinate, neutral arginine, neutral amino end or acid at carboxyl ends, CHARMM no tyrosinate: they are made by analogy, as the entries say.

Charges are in e. An entry has no correction V_MM: `octitrate calibrate` makes it, once for every force field and water.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Flag, auto
from typing import TYPE_CHECKING, Any

from .bonded import OfForms, lennard_jones, of_forms, wells
from .force_fields import View, patched, pdb_view, view
from .proline import end_of_proline
from .templates import BACKBONE, CARBOXYLS

if TYPE_CHECKING:
    from .residues import TitratableForceField

THURLKILL = "Thurlkill et al. 2006, doi:10.1110/ps.051840806"
GRIMSLEY = f"Grimsley, Scholtz, Pace 2009, doi:10.1002/pro.19 (3.67 in {THURLKILL}, which this one corrects)"

TYR_MINUS = {
    "HB2": -0.0105, "HB3": -0.0105, "CG": -0.2119, "CD1": 0.0876, "HD1": -0.0379, "CE1": -0.2639, "HE1": -0.0336, "CZ": 0.4544, "OH": -0.2561,
    "CE2": -0.2639, "HE2": -0.0336, "CD2": 0.0876, "HD2": -0.0379,
}  # fmt: skip
"""What losing the proton changes of Tyr: AMBER's constant pH residue minus TYR (ParmEd 4.3, parmed/amber/titratable_residues.py)."""

ARG_ZERO = {"CD": -0.15, "NE": 0.08, "HE": -0.09, "CZ": -0.09, "NH1": 0.015, "NH2": 0.015, "HH11": -0.12, "HH21": -0.10, "HH22": -0.10}
"""What losing the proton HH12 changes of Arg: ARGN - ARG of OPLS-AA (GROMACS 2022.5, oplsaa.ff/aminoacids.rtp)."""

NEUTRAL_END = {"N": -0.96, "H1": 0.34, "H2": 0.34}
"""Charges of a neutral amino end: NH2 (NNEU) of CHARMM (MacKerell et al. 1998, doi:10.1021/jp973084f)."""


NEUTRAL_PROLINE = {"N": -0.86, "H2": 0.36}
"""Charges of the neutral amino end of Pro, which no force field here has: those of pyrrolidine, the ring with this nitrogen alone, in the general force field of CHARMM
(PRLD of CGenFF, Vanommeslaeghe et al. 2010, doi:10.1002/jcc.21367; the number of top_all36_cgenff.rtf). Its CH2 beside the nitrogen has 0.28 e, as has CA with HA of NNEU."""

PROLINE_END = ("N", "H2", "H3", "CD", "CA")
"""Atoms of the amino end of Pro. H3, the one on the side of C (`octitrate.proline`), is the proton that leaves."""


@dataclass(frozen=True)
class Kind:
    """One entry: what does not depend on the force field. `forms`: name, protons lost, cumulative pK."""

    name: str
    title: str
    residues: tuple[str, ...]
    model: str
    pka: float
    forms: tuple[tuple[str, int, float], ...]
    charge: int
    """Charge of form 0."""
    source: str = THURLKILL
    terminus: str = ""


def _two(pk: float) -> tuple[tuple[str, int, float], ...]:
    return ("protonated", 0, 0.0), ("deprotonated", 1, pk)


def _three(second: str, first: str, pk: float) -> tuple[tuple[str, int, float], ...]:
    return (f"protonated-{second}", 0, 0.0), (f"protonated-{first}", 0, 0.0), ("deprotonated", 1, pk)


TANOKURA = f"{THURLKILL}; difference of the microscopic pKa: Tanokura 1983, doi:10.1016/0167-4838(83)90276-5"

KINDS = {
    kind.name: kind
    for kind in (
        Kind("glu3", "Glutamic acid", ("GL3", "NGL3", "ZGL3"), "ACE-GLU-NME", 4.25, _three("OE2", "OE1", 3.949), 0),
        Kind("asp3", "Aspartic acid", ("AS3", "NAS3", "ZAS3"), "ACE-ASP-NME", 3.90, _three("OD2", "OD1", 3.599), 0, GRIMSLEY),
        Kind("his", "Histidine", ("HIP", "NHIP", "ZHIP"), "ACE-HIS-NME", 6.54, (("HSP", 0, 0.0), ("HSD", 1, 7.08), ("HSE", 1, 6.69)), 1, TANOKURA),
        Kind("lys", "Lysine", ("LYS", "NLYS", "ZLYS"), "ACE-LYS-NME", 10.40, _two(10.40), 1),
        Kind("arg", "Arginine", ("ARG", "NARG", "ZARG"), "ACE-ARG-NME", 13.80, _two(13.80), 1, "Fitch et al. 2015, doi:10.1002/pro.2647"),
        Kind("tyr", "Tyrosine", ("TYR", "NTYR", "ZTYR"), "ACE-TYR-NME", 9.84, _two(9.84), 0),
        Kind("cys", "Cysteine", ("CYS", "NCYS", "ZCYS"), "ACE-CYS-NME", 8.55, _two(8.55), 0),
        Kind("nterm", "Amino end of a chain", (), "NH3-ALA-NME", 8.00, _two(8.00), 1, terminus="n"),
        Kind("cterm", "Carboxyl end of a chain", (), "ACE-ALA-COOH", 3.67, _three("OC2", "OC1", 3.369), 0, terminus="c"),
    )
}
"""Entries by their names, which are those of the built-in library."""


class Follow(Flag):
    """What follows λ besides charges."""

    NOTHING = 0
    BONDED = auto()
    LENNARD_JONES = auto()


FOLLOWS = {(force_field, name): Follow.BONDED for force_field in ("ff14SB", "ff19SB", "charmm36m", "charmm36m-ecc") for name in ("glu3", "asp3")} | {
    (force_field, "his"): Follow.BONDED for force_field in ("ff14SB", "ff19SB")
}
"""By force field and entry. Corrections that come with octitrate were calibrated so; the library that is built in has no such terms.

His with CHARMM36m needs both or neither: torsions of its neutral forms belong to an HD2 that is larger by 0.1 nm, and make pKa values of proteins worse without it. With
both they are no better than with neither, and a step takes a quarter longer (validation/charmm36m.md, "CHARMM36m with all terms of each form").
"""

BUILT_IN = ("amber99sb-ildn", "tip3p")
"""Force field and water of the corrections that come with octitrate."""

BUILT_IN_STATUS = {
    ("glu3", ""): "calibrated", ("asp3", ""): "calibrated", ("his", ""): "calibrated", ("lys", ""): "calibrated", ("arg", ""): "calibrated",
    ("tyr", ""): "calibrated", ("cys", ""): "calibrated", ("glu3", "GLU"): "calibrated",
    ("nterm", "ALA"): "calibrated", ("nterm", "GLY"): "calibrated", ("nterm", "MET"): "calibrated",
    ("cterm", "ALA"): "calibrated", ("cterm", "GLY"): "calibrated", ("cterm", "LEU"): "calibrated", ("cterm", "GLU"): "calibrated",
}  # fmt: skip
"""Status of these corrections, by entry and place: inside of chains, or a residue at an end of a chain that the correction is known for, of the group of the
end and of the side chain of a last residue that ends in an acid."""


@dataclass
class Forms:
    """Charges of every form by atom, in the order of `Kind.forms`; where the numbers are from; what takes what is left."""

    charges: dict[str, list[float]]
    origin: str
    balanced_at: str
    backbone: tuple[str, ...]
    base: str
    """Whose Lennard-Jones types and bonded terms all forms have, in words."""
    retyped: tuple[str, ...] = ()
    """Atoms that have other types, and with them other bonded terms, in other forms of the force field."""
    resized: tuple[str, ...] = ()
    """Those of them that have other Lennard-Jones parameters there."""
    bonded: tuple[OfForms, ...] = ()
    """Bonded terms that differ between the forms, inside of chains."""
    wells: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)
    """σ (nm) and ε (kJ/mol), and where they are others there σ and ε in 1-4 pairs, in every form, of atoms that have others in some."""
    proline: dict[str, list[float]] = field(default_factory=dict)
    """Of an amino end: charges of every form by atom at Pro."""

    def differences(self) -> str:
        """What the force field would change besides charges, the terms in `bonded` and `wells`, in words; empty if it changes nothing."""
        sizes = f"other Lennard-Jones parameters of {', '.join(self.resized)}" if self.resized and not self.wells else ""
        if self.bonded:
            return sizes
        types = f"other types of {', '.join(self.retyped)}" if self.retyped else ""
        return ", and ".join(filter(None, (types, sizes)))

    @property
    def kept(self) -> str:
        """What Lennard-Jones types and bonded terms are, in a sentence."""
        differences = self.differences()
        change = f"; the force field has {differences} in other forms." if differences else "."
        if self.wells:
            return "Bonded terms and Lennard-Jones parameters inside of chains are those of each form, below."
        if self.bonded:
            return f"Bonded terms inside of chains are those of each form, below. Lennard-Jones types are those of the {self.base} in all forms{change}"
        return f"Lennard-Jones types and bonded terms are those of the {self.base} in all forms{change}"


def forms(ff: TitratableForceField, name: str) -> Forms:
    """The forms of an entry in a force field; the charges of each sum to a whole number (of an end of a chain: differ by one)."""
    kind = KINDS[name]
    if kind.terminus:
        return _end(ff, kind)
    residue = kind.residues[0]
    built = pdb_view(ff.residues.view(residue))
    others, origin = _without_proton(ff, residue, built)
    charges = {atom: [one.charge, *(form.get(atom, 0.0) for form in others)] for atom, one in built.atoms.items()}
    for atom in BACKBONE:
        charges[atom] = [charges[atom][0]] * len(kind.forms)
    _balance(charges, "CB", [ff.charge_scale * (kind.charge - lost) for _, lost, _ in kind.forms])
    base = "deprotonated residue" if residue in CARBOXYLS else f"residue {built.name}"
    follows, other_forms = FOLLOWS.get((ff.name, name), Follow.NOTHING), _other_forms(ff, residue)
    bonded = of_forms(ff.name, residue, ff.residues) if Follow.BONDED in follows else ()
    retyped, resized = _changes(ff, built, other_forms, [*BACKBONE, *CARBOXYLS.get(residue, ())[-2:]])
    of_each = _wells(ff, residue, [built, *other_forms]) if Follow.LENNARD_JONES in follows else {}
    return Forms(charges, origin, "CB", BACKBONE, base, retyped, resized, bonded, of_each)


def _balance(charges: dict[str, list[float]], at: str, net: list[float]) -> None:
    """Rounds to seven decimals and gives one atom what each form lacks of its net charge."""
    for atom, values in charges.items():
        charges[atom] = [round(value, 7) + 0.0 for value in values]
    for form, target in enumerate(net):
        rest = sum(values[form] for atom, values in charges.items() if atom != at)
        charges[at][form] = round(target - rest, 7) + 0.0


def _without_proton(ff: TitratableForceField, residue: str, built: View) -> tuple[list[dict[str, float]], str]:
    """Charges of the forms after form 0 by PDB names, without hydrogens that have left, and where they are from."""
    if residue in CARBOXYLS:
        base, *_, first, second, new, old = CARBOXYLS[residue]
        exchanged = {name: atom.charge for name, atom in built.atoms.items()}
        exchanged[first], exchanged[second] = exchanged[second], exchanged[first]
        exchanged[new], exchanged[old] = exchanged[old], exchanged[new]
        both = f"{base} with the patch {CARBOXYLS[residue][2]} and {base}" if ff.residues.is_patched else f"{CARBOXYLS[residue][1]} and {base}"
        return [exchanged, _charges(ff.residues.plain(base))], f"residues {both}"
    if residue == "HIP":
        names = ("HSP, HSD and HSE") if ff.residues.is_patched else "HIP, HID and HIE"
        return [_charges(ff.residues.plain("HID")), _charges(ff.residues.plain("HIE"))], f"residues {names}"
    if residue == "TYR" or (residue == "ARG" and not ff.residues.is_patched):
        change, origin = (
            (TYR_MINUS, "deprotonated by analogy: AMBER's constant pH residue minus TYR (ParmEd 4.3)")
            if residue == "TYR"
            else (ARG_ZERO, "deprotonated by analogy to ARGN - ARG of OPLS-AA (GROMACS 2022.5)")
        )
        gone = {"TYR": "HH", "ARG": "HH12"}[residue]
        charges = {n: a.charge + ff.charge_scale * change.get(n, 0.0) for n, a in built.atoms.items() if n != gone}
        return [charges], f"residue {residue}; {origin}"
    if ff.residues.is_patched:
        patch = {"LYS": "LSN", "CYS": "CYSD", "ARG": "RN2"}[residue]
        return [_charges(view(ff.forcefield, patched(ff.forcefield, residue, patch)))], f"residue {residue} and its patch {patch}"
    other = {"LYS": "LYN", "CYS": "CYM"}[residue]
    found = _charges(ff.residues.plain(other))
    if residue == "LYS":
        # LYN has HZ2 and HZ3: HZ3 of LYS is the one that leaves.
        found = {"HZ1": found["HZ2"], **{name: charge for name, charge in found.items() if name != "HZ3"}}
    return [found], f"residues {residue} and {other}"


def _charges(residue: View) -> dict[str, float]:
    return {name: atom.charge for name, atom in pdb_view(residue).atoms.items()}


def _other_forms(ff: TitratableForceField, residue: str) -> list[View]:
    """The forms that the force field has of a residue besides the one whose types are built."""
    if residue in CARBOXYLS:
        base, protonated, patch, *_ = CARBOXYLS[residue]
        return [view(ff.forcefield, patched(ff.forcefield, base, patch)) if ff.residues.is_patched else ff.residues.plain(protonated)]
    if residue == "HIP":
        return [ff.residues.plain(name) for name in ("HID", "HIE")]
    if ff.residues.is_patched and residue in ("LYS", "CYS", "ARG"):
        return [view(ff.forcefield, patched(ff.forcefield, residue, {"LYS": "LSN", "CYS": "CYSD", "ARG": "RN2"}[residue]))]
    return [ff.residues.plain({"LYS": "LYN", "CYS": "CYM"}[residue])] if residue in ("LYS", "CYS") else []


def _changes(ff: TitratableForceField, built: View, others: list[View], but: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Atoms `but` some whose class, and with it bonded terms, the force field changes between its forms, and those whose Lennard-Jones parameters change."""
    of_forms = [pdb_view(one).atoms for one in others]
    pairs = [(name, atom.type, other[name].type) for name, atom in built.atoms.items() if name not in but for other in of_forms if name in other]

    def of_class(one: str) -> str:
        return str(ff.forcefield._atomTypes[one].atomClass)

    wells = lennard_jones(ff.forcefield, built)
    others_wells = [lennard_jones(ff.forcefield, one) for one in others]
    resized = [name for name in wells if name not in but for other in others_wells if name in other and other[name] != wells[name]]
    return (
        tuple(dict.fromkeys(name for name, one, other in pairs if of_class(one) != of_class(other))),
        tuple(dict.fromkeys(resized)),
    )


def _wells(ff: TitratableForceField, residue: str, views: list[View]) -> dict[str, list[tuple[float, ...]]]:
    """Wells in every form, of atoms beside the backbone that all forms have and that have others in some. `views`: the residue as it is built and its other forms."""
    tables = [wells(ff.forcefield, one) for one in views]
    if residue in CARBOXYLS:
        # Built as the anion; the force field has the proton on the second oxygen alone.
        first, second = CARBOXYLS[residue][5:7]
        anion, acid = tables
        tables = [acid, {**acid, first: acid[second], second: acid[first]}, anion]
    names = [name for name in tables[0] if name not in BACKBONE and all(name in table for table in tables)]
    return {name: [table[name] for table in tables] for name in names if len({table[name] for table in tables}) > 1}


def _end(ff: TitratableForceField, kind: Kind) -> Forms:
    if kind.terminus == "c":
        built = pdb_view(ff.residues.view("ALA", last=True, acid=True))
        without = pdb_view(ff.residues.plain("ALA", last=True))
        names = {"CA": "CA", "C": "C", "OC1": "O", "OC2": "OXT", "HO1": "HO1", "HO2": "HO2"}
        protonated = {of: built.atoms[name].charge for of, name in names.items()}
        exchanged = {"OC1": "OC2", "OC2": "OC1", "HO1": "HO2", "HO2": "HO1"}
        charged = {of: without.atoms[name].charge if name in without.atoms else 0.0 for of, name in names.items()}
        charges = {of: [q, protonated[exchanged.get(of, of)], charged[of]] for of, q in protonated.items()}
        origin = f"carboxyl end of ALA; protonated: {ff.residues.end_charges()[1]}"
    else:
        built = pdb_view(ff.residues.view("ALA", first=True))
        neutral = NEUTRAL_END
        origin = "amino end of ALA; deprotonated by analogy to NH2 (NNEU) of CHARMM"
        if ff.residues.is_patched:
            found = pdb_view(view(ff.forcefield, patched(ff.forcefield, "ALA", "NNEU")))
            neutral, origin = {name: found.atoms[name].charge for name in NEUTRAL_END}, "patches NTER and NNEU"
        charges = {name: [built.atoms[name].charge, neutral.get(name, 0.0)] for name in ("N", "H1", "H2", "H3", "CA")}
    start = sum(values[0] for values in charges.values())
    _balance(charges, "CA", [start - ff.charge_scale * lost for _, lost, _ in kind.forms])
    proline = _proline(ff) if kind.terminus == "n" else {}
    others = [view(ff.forcefield, patched(ff.forcefield, "ALA", "CNEU" if kind.terminus == "c" else "NNEU"))] if ff.residues.is_patched else []
    return Forms(charges, origin, "CA", (), "residue as it is built,", *_changes(ff, built, others, ["HO1", "HO2"]), proline=proline)


def _proline(ff: TitratableForceField) -> dict[str, list[float]]:
    """Charges (e) of the amino end of Pro by atom, protonated and without H3: N and H2 are those of pyrrolidine, and both carbons at N take what is left in equal parts."""
    built = pdb_view(ff.residues.view("PRO", first=True))
    charges = {name: [built.atoms[name].charge, NEUTRAL_PROLINE.get(name, 0.0)] for name in PROLINE_END}
    left = sum(values[0] for values in charges.values()) - ff.charge_scale - sum(NEUTRAL_PROLINE.values())
    # CA takes half of this, and the rounding.
    charges["CD"][1] = round(charges["CD"][0] + (left - charges["CD"][0] - charges["CA"][0]) / 2, 7)
    _balance(charges, "CA", [sum(values[0] for values in charges.values()) - ff.charge_scale * lost for lost in (0, 1)])
    return charges


def entry(ff: TitratableForceField, name: str) -> str:
    """An entry as TOML, without a correction."""
    kind, found = KINDS[name], forms(ff, name)
    import openmm

    origin = f"OpenMM {openmm.__version__}, {ff.files()[0]}: {found.origin}"
    if ff.charge_scale != 1.0:
        origin += f"; charges of ionised groups times {ff.charge_scale:g}"
    head = [
        f"# {kind.title} as a titratable site with {len(kind.forms)} forms, {ff.name}. Written by octitrate's Python package.",
        "#",
        f"# Charges (e): {origin}. {'N H CA HA C O keep the charges of the first form, and ' if found.backbone else ''}{found.balanced_at} takes what is left.",
        f"# {found.kept}",
        "",
        f'name = "{name}"',
        f'terminus = "{kind.terminus}"' if kind.terminus else f"residues = {_texts(kind.residues)}",
    ]
    if kind.terminus == "c":
        head.append('aliases = [{ O = "OC1", OXT = "OC2" }]')
    head += [
        'build = "octitrate prepare builds it so"',
        f'force_field = "{ff.name}"',
        f'source = "{origin}"',
        *([f"charge_scale = {ff.charge_scale:g}"] if ff.charge_scale != 1.0 else []),
        f'model_compound = "{kind.model}"',
        f"pka = {kind.pka:.2f}",
        f'pka_source = "{kind.source}"',
    ]
    if found.backbone:
        head.append(f"backbone = {_texts(found.backbone)}")
    head += [f'balanced_at = "{found.balanced_at}"', *_bonded(kind, found), *_types(kind, found), ""]
    for form, lost, pk in kind.forms:
        head += ["[[forms]]", f'name = "{form}"', f"protons_lost = {lost}", f"net_charge = {kind.charge - lost}", f"pk = {pk}", ""]
    head += [f"# atom = [{', '.join(form for form, *_ in kind.forms)}]", "[charges]"]
    head += [f"{atom} = [{', '.join(_number(value) for value in values)}]" for atom, values in found.charges.items()]
    return "\n".join([*head, "", *_other_atoms(found), *_torsions(kind), *UNCALIBRATED])


UNCALIBRATED = ["# Not calibrated yet: `octitrate calibrate` writes this table.", "[correction]", 'status = "uncalibrated"', ""]


def _bonded(kind: Kind, found: Forms) -> list[str]:
    """Bonded terms of each form, one in a line."""
    if not found.bonded:
        return []
    lines = ["", "# Bonded terms of each form, by the functions and units of GROMACS (nm, degrees, kJ/mol). Ends of chains keep those of the residue as it is built.", "bonded = ["]
    for term in found.bonded:
        numbers = ", ".join("[" + ", ".join(f"{value:.10g}" if value % 1 else f"{value:.1f}" for value in form) + "]" for form in term.numbers)
        lines.append(f"    {{ atoms = {_texts(term.atoms)}, function = {term.function}, parameters = [{numbers}], residues = {_texts(kind.residues[:1])} }},")
    return [*lines, "]"]


def _types(kind: Kind, found: Forms) -> list[str]:
    """Lennard-Jones types of each form, one atom in a line."""
    if not found.wells:
        return []
    lines = ["", "# Lennard-Jones types of each form: σ (nm) and ε (kJ/mol), and those in 1-4 pairs where they are others. Ends of chains keep those of the residue as it is built."]
    lines.append("lj_types = [")
    for atom, values in found.wells.items():
        names = tuple(" ".join(["LJ", *(f"{number:.10g}" for number in well)]) for well in values)
        lines.append(f'    {{ atom = "{atom}", types = {_texts(names)}, residues = {_texts(kind.residues[:1])} }},')
    return [*lines, "]"]


def _other_atoms(found: Forms) -> list[str]:
    """The atoms that an amino end has at Pro, whose nitrogen is in its ring."""
    if not found.proline:
        return []
    lines = [
        "# Proline has two hydrogens there. Deprotonated by analogy: N and H2 are those of pyrrolidine (PRLD of CGenFF, doi:10.1002/jcc.21367), and CA and CD, which",
        "# N is bonded to, take what is left in equal parts. H3, which leaves, is the hydrogen on the side of C.",
        "[[other_atoms]]",
        'residues = ["PRO"]',
        'aliases = [{ H1 = "H2", H2 = "H3" }, { HN1 = "H2", HN2 = "H3" }]',
        "",
        "[other_atoms.charges]",
    ]
    lines += [f"{atom} = [{', '.join(_number(value) for value in values)}]" for atom, values in found.proline.items()]
    return [*lines, ""]


def _torsions(kind: Kind) -> list[str]:
    """Hydrogens of carboxyls held on the side of the other oxygen."""
    if kind.name not in ("glu3", "asp3", "cterm"):
        return []
    group = {"glu3": ("CD", "OE1", "OE2", "HE1", "HE2"), "asp3": ("CG", "OD1", "OD2", "HD1", "HD2"), "cterm": ("C", "OC1", "OC2", "HO1", "HO2")}
    carbon, first, second, new, old = group[kind.name]
    lines = ["# Held whatever λ is: each hydrogen on the side of the other oxygen (syn). Without its charge a hydrogen feels its torsion alone."]
    for oxygen, other, hydrogen in ((second, first, old), (first, second, new)):
        lines += ["[[torsions]]", f"atoms = {_texts((other, carbon, oxygen, hydrogen))}"]
        lines += ["phase = 180.0", "force_constant = 80.0", "multiplicity = 1", ""]
    return lines


def _texts(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _number(value: float) -> str:
    text = f"{value:.7f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def buffer_name(ff: TitratableForceField) -> str:
    """The force field that the buffer's entry names: the water model, whose files differ between the families."""
    return f"{ff.water.upper()} ({'CHARMM' if ff.residues.is_patched else 'AMBER'})"


def buffer_entry(ff: TitratableForceField) -> str:
    """The entry of the water model as a charge buffer: half an elementary charge more or less, in equal parts on every site that has a charge."""
    water = view(ff.forcefield, next(one for one in ff.forcefield._templates.values() if _is_water(one)))
    # Sites without mass have the names of the template, which Modeller.addExtraParticles gives them.
    atoms = {"O" if atom.element == "O" else name: atom.charge for name, atom in water.atoms.items()}
    charged = [name for name, charge in atoms.items() if charge != 0.0]
    lines = [
        f"# Water, {buffer_name(ff)}, as a buffer that keeps the box neutral: many molecules share one lambda.",
        "#",
        "# Charges (e): half an elementary charge more or less than the water model, in equal parts on the sites that have a charge,",
        "# so that with equal weights of both forms the molecule is the model exactly.",
        "",
        'name = "water"',
        'kind = "buffer"',
        'residues = ["HOH", "SOL", "WAT", "TIP3"]',
        f"aliases = [{', '.join(_names_of_water(list(atoms)))}]",
        f'force_field = "{buffer_name(ff)}"',
        f'source = "OpenMM, {ff.files()[1]}"',
        "",
        *["[[forms]]", 'name = "+1/2"', "protons_lost = 0", "net_charge = 0.5", ""],
        *["[[forms]]", 'name = "-1/2"', "protons_lost = 1", "net_charge = -0.5", ""],
        "# atom = [+1/2, -1/2]",
        "[charges]",
    ]
    # In twelfth decimals; the first site takes the rounding.
    half = {name: [round(q + sign * 0.5 / len(charged), 12) if name in charged else 0.0 for sign in (1, -1)] for name, q in atoms.items()}
    for form, target in enumerate((0.5, -0.5)):
        half[charged[0]][form] = round(target - sum(values[form] for name, values in half.items() if name != charged[0]), 12)
    lines += [f"{name} = [{values[0]:.12g}, {values[1]:.12g}]" for name, values in half.items()]
    return "\n".join([*lines, "", *UNCALIBRATED])


def _names_of_water(atoms: list[str]) -> list[str]:
    """Names that GROMACS, CHARMM and AMBER give to atoms of water, as tables of TOML: those of hydrogens and sites by the names that OpenMM has."""
    oxygen, *others = atoms
    sites = others[2:]
    of_gromacs, of_amber = (["MW"], ["EPW"]) if len(sites) == 1 else ([f"LP{k + 1}" for k in range(len(sites))], [f"EP{k + 1}" for k in range(len(sites))])
    families = [["OW", "HW1", "HW2", *of_gromacs], ["OH2", *others], [oxygen, *others[:2], *of_amber]]
    tables = ({alias: name for alias, name in zip(names, atoms) if alias != name} for names in families)
    return ["{ " + ", ".join(f"{alias} = {_texts((name,))[1:-1]}" for alias, name in table.items()) + " }" for table in tables if table]


def _is_water(template: Any) -> bool:
    elements = sorted(atom.element.symbol for atom in template.atoms if atom.element is not None)
    return elements == ["H", "H", "O"]


def needed(topology: Any) -> list[str]:
    """Names of the entries that the groups of a topology with hydrogens need."""
    found: set[str] = set()
    for residue in topology.residues():
        atoms = {atom.name for atom in residue.atoms()}
        found |= {kind.name for kind in KINDS.values() if residue.name in kind.residues}
        found |= {"cterm"} if {"HO1", "HO2", "OXT"} <= atoms else set()
        found |= {"nterm"} if {"H1", "H2", "H3", "CA"} <= atoms or end_of_proline(residue) else set()
    return [name for name in KINDS if name in found]


def entries_for(ff: TitratableForceField, topology: Any) -> dict[str, str]:
    """Name of the file -> TOML, of every entry that a topology needs; none where the built-in library is for this force field and water."""
    names = needed(topology)
    if (ff.name, ff.water) == BUILT_IN:
        # Corrections of the user's own come before those that are built in.
        names = [name for name in names if (name, ff.name) in ff.calibrated]
    found = {f"{name}.toml": ff.calibrated.written(name, ff.name, entry(ff, name)) for name in names}
    # The correction of a buffer belongs to its water alone: that of TIP3P without Lennard-Jones on the hydrogens is built in.
    if found and ff.own_water():
        found["water.toml"] = ff.calibrated.written("water", buffer_name(ff), buffer_entry(ff))
    return found
