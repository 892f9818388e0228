"""The force fields that OpenMM brings, and plain views of their residues.

A force field is read by `openmm.app.ForceField` from the files of the OpenMM wheel; nothing of it is copied here. Two families differ in how they write
residues down:

- AMBER has one template for a residue inside of a chain (``ALA``) and one at either end (``NALA``, ``CALA``), and templates for residues with and
  without their proton (``GLH``, ``GLU``);
- CHARMM has one template for a residue and patches that change it (``NTER``, ``CTER``, ``GLUP``).

`View` is what both have in common: atoms with types and charges, bonds. Charges are in e.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from . import lennard_jones
from .as_gromacs import original_tip3p, round_amber99sb_ildn
from .errors import Refused
from .of_proteins import of_proteins
from .scaled_charges import scale
from .words import named_all


@dataclass(frozen=True)
class Family:
    """Where OpenMM has a force field and the waters that go with it."""

    files: tuple[str, ...]
    waters: dict[str, str]
    patched: bool = False
    """Whether residues are changed by patches (CHARMM)."""
    cutoffs: lennard_jones.Cutoffs = lennard_jones.DEFAULT
    """How Lennard-Jones interactions end."""
    charge_scale: float = 1.0
    """What charges of ionised groups are multiplied by (`octitrate.scaled_charges`)."""
    water_of: str = ""
    """Another force field whose waters are the same, and with them the corrections of its charge buffers."""


def _waters(folder: str, *names: str) -> dict[str, str]:
    return {name: f"{folder}{name}.xml" for name in names}


FORCE_FIELDS: dict[str, Family] = {
    "amber99sb-ildn": Family(("amber99sbildn.xml",), _waters("", "tip3p", "tip4pew", "spce")),
    "ff14SB": Family(("amber14/protein.ff14SB.xml",), _waters("amber14/", "tip3p", "opc", "opc3", "tip4pew", "spce", "tip3pfb", "tip4pfb")),
    "ff19SB": Family(("amber19/protein.ff19SB.xml",), _waters("amber19/", "opc", "tip3p", "opc3", "tip4pew", "spce", "tip3pfb", "tip4pfb")),
    "charmm36m": Family(
        ("charmm36_2024.xml",),
        {"tip3p": "charmm36_2024/water.xml"} | _waters("charmm36_2024/", "spce", "tip4pew", "tip4p2005", "tip5p"),
        patched=True,
        cutoffs=lennard_jones.CHARMM,
    ),
}
FORCE_FIELDS["charmm36m-ecc"] = replace(
    FORCE_FIELDS["charmm36m"], waters={"tip3p": FORCE_FIELDS["charmm36m"].waters["tip3p"]}, charge_scale=0.75, water_of="charmm36m"
)
"""Names of force fields, each with its files and its waters; the first water is the one it was made for."""

EXACT = 1e-9
"""Charges (e) that differ by less are equal: files have seven decimals at most."""

GEOMETRY = {"tip3p": "tip3p", "opc3": "spce", "spce": "spce", "tip3pfb": "tip3p", "tip5p": "tip5p"}
"""Water model -> the box of water with the same sites that `openmm.app.Modeller.addSolvent` has; four sites are those of ``tip4pew``."""


@dataclass
class Atom:
    """An atom of a residue: its type, its charge (e) and the symbol of its element."""

    type: str
    charge: float
    element: str


@dataclass
class View:
    """A residue of a force field. `bonds` are pairs of names, `external` the atoms that are bonded to other residues."""

    name: str
    atoms: dict[str, Atom]
    bonds: list[tuple[str, str]]
    external: list[str] = field(default_factory=list)

    def neighbours(self, atom: str) -> list[str]:
        """Names of the atoms bonded to one, within the residue."""
        return [b if a == atom else a for a, b in self.bonds if atom in (a, b)]

    def charge(self) -> float:
        """Sum of its charges, e."""
        return sum(atom.charge for atom in self.atoms.values())

    def hydrogens(self) -> list[tuple[str, str]]:
        """Its hydrogens, each with the atom that it is bonded to."""
        return [(name, self.neighbours(name)[0]) for name, atom in self.atoms.items() if atom.element == "H"]


def load(force_field: str, water: str) -> Any:
    """The `openmm.app.ForceField` of a force field with a water model and its ions. That of CHARMM has no residues but amino acids (`octitrate.of_proteins`).

    Raises `Refused` for a name that is not known, and for a water that does not go with the force field.
    """
    from openmm import app

    family = FORCE_FIELDS.get(force_field)
    if family is None:
        raise Refused(f"there is no force field {force_field!r}", f"the force fields are {', '.join(FORCE_FIELDS)}")
    if water not in family.waters:
        others = [name for name, other in FORCE_FIELDS.items() if water in other.waters]
        with_it = f"; --force-field {' or '.join(others)} has {water}" if others else ""
        raise Refused(f"{force_field} has no water model {water!r}", f"{named_all('its water model', family.waters)}{with_it}")
    beside = family.waters[water]
    forcefield = app.ForceField(*(of_proteins(file, beside) if family.patched else file for file in family.files), beside)
    if force_field == "amber99sb-ildn":
        round_amber99sb_ildn(forcefield)
    if water == "tip3p" and not family.patched:
        original_tip3p(forcefield)
    if family.charge_scale != 1.0:
        scale(forcefield, family.charge_scale)
    # That of CHARMM's impropers has 300 kB, and OpenMM would compile it for every system. The name is a private one: without it everything works, more slowly.
    scripts = getattr(forcefield, "_scripts", [])
    scripts[:] = [compile(script, family.files[0], "exec") for script in scripts]
    return forcefield


def generator(forcefield: Any, kind: str) -> Any:
    """The generator of a kind of force, such as ``HarmonicBondGenerator``; `None` if the force field has none."""
    return next((one for one in forcefield._forces if type(one).__name__ == kind), None)


def view(forcefield: Any, template: Any) -> View:
    """A template of an OpenMM force field; charges come from the template or, where it has none, from the types of its atoms."""
    by_type = generator(forcefield, "NonbondedGenerator").params.paramsForType
    names = [atom.name for atom in template.atoms]

    def charge(atom: Any) -> float:
        found = atom.parameters.get("charge")
        return float(by_type[atom.type]["charge"] if found is None else found)

    return View(
        template.name,
        {atom.name: Atom(atom.type, charge(atom), atom.element.symbol if atom.element else "") for atom in template.atoms},
        [(names[a], names[b]) for a, b in template.bonds],
        [names[a] for a in template.externalBonds],
    )


def patched(forcefield: Any, residue: str, *patches: str) -> Any:
    """The template of a residue after patches of a CHARMM force field, each the one that the residue allows among variants (``NTER`` is ``GLYP`` at Gly).

    Raises `Refused` where the residue does not allow a patch.
    """
    template = forcefield._templates[residue]
    allowed = sorted(name for name, _ in forcefield._templatePatches.get(residue, ()))
    for patch in patches:
        variants = {"NTER": ("NTER", "GLYP", "PROP"), "NNEU": ("NNEU", "NGNE")}.get(patch, (patch,))
        found = next((name for name in allowed if name.rsplit("_", 1)[0] in variants), None)
        if found is None:
            raise Refused(f"the force field has no patch {patch} for residue {residue}")
        (template,) = forcefield._patches[found].createPatchedTemplates([template])
    return template


def register(forcefield: Any, residue: View) -> None:
    """Adds a residue to an OpenMM force field, unless there is one of its name. Where charges belong to types, changed charges get types of their own."""
    from openmm.app import element

    if residue.name in forcefield._templates:
        return
    by_type = generator(forcefield, "NonbondedGenerator").params.paramsForType
    template = type(forcefield)._TemplateData(residue.name)
    for name, atom in residue.atoms.items():
        chosen, parameters = atom.type, {"charge": atom.charge}
        of_type = by_type[chosen].get("charge")
        if of_type is not None:
            parameters = {}
            if abs(of_type - atom.charge) > EXACT:
                chosen = f"{residue.name}-{name}"
                copy_type(forcefield, atom.type, chosen, forcefield._atomTypes[atom.type].atomClass)
                by_type[chosen]["charge"] = atom.charge
        symbol = element.get_by_symbol(atom.element) if atom.element else None
        template.addAtom(type(forcefield)._TemplateAtomData(name, chosen, symbol, parameters))
    for a, b in residue.bonds:
        template.addBondByName(a, b)
    for name in residue.external:
        template.addExternalBondByName(name)
    forcefield.registerResidueTemplate(template)


def copy_type(forcefield: Any, source: str, name: str, of_class: str) -> None:
    """Adds an atom type with the mass, charge and Lennard-Jones parameters of `source`. In the class of `source` it also has its bonded terms; in a class of
    its own it has none."""
    old = forcefield._atomTypes[source]
    forcefield.registerAtomType({"name": name, "class": of_class, "mass": old.mass, "element": old.element.symbol})
    for one in forcefield._forces:
        for parameters in (getattr(one, "params", None), getattr(one, "ljTypes", None)):
            if parameters is not None and source in parameters.paramsForType:
                parameters.paramsForType[name] = dict(parameters.paramsForType[source])
                parameters.extraParamsForType[name] = dict(parameters.extraParamsForType.get(source, {}))
        # Generators look their terms up by type: bondsForAtomType, anglesForAtom2Type, propersForAtomType, nbfixTypes1 and 2.
        for table in vars(one).values():
            by_type = isinstance(table, dict) and source in table
            if by_type and (of_class == old.atomClass or table in (getattr(one, "nbfixTypes1", None), getattr(one, "nbfixTypes2", None))):
                table[name] = type(table[source])(table[source])


def pdb_names(residue: View) -> dict[str, str]:
    """Name of every atom as PDB files have it, by its name in the force field: CHARMM counts the hydrogens of a CH2 from 1 and calls that of the amide HN."""
    names = {name: name for name in residue.atoms}
    for name, atom in residue.atoms.items():
        two = sorted(other for other in residue.neighbours(name) if residue.atoms[other].element == "H")
        if atom.element == "C" and len(two) == 2 and [other[-1] for other in two] == ["1", "2"]:
            names.update({other: other[:-1] + number for other, number in zip(two, "23", strict=True)})
    special = {"HN": "H", "HT1": "H1", "HT2": "H2", "HT3": "H3", "OT1": "O", "OT2": "OXT"}
    if "SG" in residue.atoms or "OG" in residue.atoms:
        special["HG1"] = "HG"
    if residue.name.startswith("PRO"):
        special |= {"HN1": "H2", "HN2": "H3"}
    if residue.name.startswith("ILE"):
        special |= {"CD": "CD1", "HD1": "HD11", "HD2": "HD12", "HD3": "HD13"}
    return {name: special.get(name, new) for name, new in names.items()}


def pdb_view(residue: View) -> View:
    """A residue with the names that PDB files have."""
    names = pdb_names(residue)
    return View(
        residue.name,
        {names[name]: atom for name, atom in residue.atoms.items()},
        [(names[a], names[b]) for a, b in residue.bonds],
        [names[name] for name in residue.external],
    )
