"""A force field whose residues can titrate.

`TitratableForceField` loads a force field with a water model from OpenMM and adds the residues that it lacks (`octitrate.templates`): with them a protein is
built with every proton, which is what octitrate needs, because λ moves charges and not atoms.

Names that residues get in the output are those of octitrate's library:

=====================  =======================================================================================
GL3, AS3               Glu and Asp with a hydrogen on both oxygens (HE1 HE2, HD1 HD2)
HIP, LYS, ARG, TYR     protonated
CYS, CYX               with its hydrogen; in a disulphide bridge
NGL3, NLYS, NHIP, ...  the first residue of a chain, if its side chain titrates; all others keep their name there (hydrogens H1 H2 H3, of Pro H2 H3)
ZALA, ZGL3, ZHIP, ...  the last residue of a chain, with a hydrogen on both oxygens of its end (HO1 on O, HO2 on OXT)
=====================  =======================================================================================

Atoms have the names of the PDB. Residues that must not titrate are built as they are at pH 7: GLU, ASP, HIE, and a charged carboxyl end.

    ff = TitratableForceField("ff14SB", "tip3p")
    names = ff.build_names(modeller.topology)            # no hydrogens yet, chains complete
    modeller = ff.add_hydrogens(modeller, names)
    system = ff.forcefield.createSystem(modeller.topology, residueTemplates=ff.templates(modeller.topology), ...)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import user_library
from .calibrated import Calibrated, shipped
from .carboxyl import place_syn, order_by_name
from .errors import Refused, named
from .force_fields import FORCE_FIELDS, GEOMETRY, load, pdb_view, view
from .lennard_jones import Cutoffs, DEFAULT
from .ions import METALS, SALT, element_of_ion
from .pair_corrections import PairCorrections, chosen, in_model_compound
from .proline import place_hydrogens
from .repeatable import platform
from .templates import CARBOXYLS, Templates

AMINO_ACIDS = tuple("ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL".split())  # noqa: SIM905
"""Residues that can be built, by their names in the PDB."""

VARIANTS = {
    "ASH": "ASP", "GLH": "GLU", "LYN": "LYS", "CYX": "CYS", "CYM": "CYS", "HID": "HIS", "HIE": "HIS", "HIP": "HIS", "HSD": "HIS", "HSE": "HIS",
    "HSP": "HIS", "GL3": "GLU", "AS3": "ASP",
}  # fmt: skip
"""Names of forms that a file may have, and the residues they are."""

PROTONATED = {"GLU": "GL3", "ASP": "AS3", "HIS": "HIP"}
"""Residues that get another name when they hold every proton."""

USUAL = {"HIS": "HIE"}
"""Residues that get another name at pH 7."""

PKA = {"GL3": 4.25, "AS3": 3.90, "HIP": 6.54, "LYS": 10.40, "ARG": 13.80, "TYR": 9.84, "CYS": 8.55, "nterm": 8.00, "cterm": 3.67}
"""pKa of model compounds: Thurlkill et al. 2006, doi:10.1110/ps.051840806; Asp: corrected by Grimsley et al. 2009, doi:10.1002/pro.19; Arg: Fitch et al. 2015, doi:10.1002/pro.2647."""

ENTRIES = {"GL3": "glu3", "AS3": "asp3", "HIP": "his", "LYS": "lys", "ARG": "arg", "TYR": "tyr", "CYS": "cys"}
"""Entry of the library for the side chain of a residue."""


@dataclass(frozen=True)
class Group:
    """A group that could titrate."""

    residue: Any
    """The residue of the OpenMM topology."""
    group: str
    """"side", "nterm" or "cterm"."""
    entry: str
    """Name of its entry in the library."""
    pka: float
    """pKa of its model compound."""
    status: str
    """Status of its correction V_MM with this force field and water: `calibrated`, `transferred` from another solvent, `preliminary` (by octitrate's own tests) or `uncalibrated`."""
    file: Path | None = None
    """The file that its correction is from; none for one that is built into the program."""
    temperature: float = 300.0
    """The temperature (K) at which its correction was calibrated."""
    bridged: bool = False
    """Whether its residue is a cysteine in a disulfide, at whose ends nothing can be calibrated: a model compound has one cysteine."""

    @property
    def corrected(self) -> bool:
        """Whether its correction is known, be it transferred or preliminary."""
        return self.status != "uncalibrated"


class TitratableForceField:
    """A force field of OpenMM with the residues of `octitrate.templates`.

    `force_field` and `water` are names of `octitrate.force_fields.FORCE_FIELDS`; water by default is the model that the force field was made for.
    `library`: entries with corrections that `octitrate calibrate` wrote, or folders with them; behind them serves the library of the user
    (`octitrate.user_library`), and behind that what comes with octitrate. `pair_corrections`: a name of
    `octitrate.pair_corrections.CORRECTIONS`, whose force every system gets. Raises `Refused` for what does not go together.
    """

    def __init__(self, force_field: str, water: str | None = None, library: Iterable[str | Path] = (), pair_corrections: str | None = None) -> None:
        family = FORCE_FIELDS.get(force_field)
        self.name = force_field
        self.water = water or (next(iter(family.waters)) if family else "")
        # A force field that has the waters of another has its charge buffers, too.
        names = [name for name in (self.name, family.water_of if family else "") if name]
        folders = [folder for name in names for folder in (*user_library.folders(name, self.water, pair_corrections), *shipped(name, self.water))]
        self.calibrated = Calibrated(library, folders)
        # What does not go together is said before anything is loaded; names that are not known `load` refuses.
        are_known = family is not None and self.water in family.waters
        corrections = chosen(pair_corrections, self.name, self.water) if pair_corrections is not None and are_known else None
        self.forcefield: Any = load(force_field, self.water)
        self.pairs = PairCorrections(corrections) if corrections is not None else None
        if self.pairs is not None:
            self.forcefield._forces.append(self.pairs)
        self.residues = Templates(self.forcefield, bool(family and family.patched))
        self.water_model: str = GEOMETRY.get(self.water, "tip4pew")
        """The name that `openmm.app.Modeller.addSolvent` takes for a box of water with the same sites."""
        self._ions: dict[str, str | None] = {}
        order_by_name(self.forcefield)

    @property
    def charge_scale(self) -> float:
        """What charges of ionised groups are multiplied by, 1 but for force fields with scaled charges."""
        return FORCE_FIELDS[self.name].charge_scale

    def called(self) -> str:
        """The force field in words, with its pair corrections: `ff14SB with CUFIX`."""
        return self.name if self.pairs is None else f"{self.name} with {self.pairs.corrections.title}"

    def files(self) -> tuple[str, str]:
        """The files of OpenMM with the force field and with its water."""
        family = FORCE_FIELDS[self.name]
        return family.files[0], family.waters[self.water]

    def has_maps(self) -> bool:
        """Whether the force field has maps of backbone torsions (CMAP)."""
        from openmm import app

        return any(isinstance(force, app.forcefield.CMAPTorsionGenerator) for force in self.forcefield.getGenerators())

    def own_water(self) -> bool:
        """Whether the water model needs a buffer of its own: that of AMBER's TIP3P is built in."""
        return self.water != "tip3p" or self.residues.is_patched

    @property
    def cutoffs(self) -> Cutoffs:
        """How the Lennard-Jones interactions of the force field end."""
        return FORCE_FIELDS[self.name].cutoffs

    def van_der_waals(self) -> list[str]:
        """The lines of `[van_der_waals]` that a job with this force field needs; none where octitrate's defaults are meant."""
        return [] if self.cutoffs == DEFAULT else self.cutoffs.lines()

    def build_names(self, topology: Any, keep: Collection[tuple[int, str]] = ()) -> list[str | None]:
        """The name of every residue in the output; `None` for what is no amino acid and stays as it is.

        `topology` (of OpenMM) has no hydrogens, complete chains with OXT, and the bonds of disulphide bridges. `keep`: groups that must not titrate, each the
        index of a residue with "side", "nterm" or "cterm".

        Raises `Refused` for a chain of one residue, for an end without its second oxygen, and for a side chain of Cys bonded to something else than
        another one.
        """
        bonded, kept = _bonded(topology), frozenset(keep)
        return [self._build_name(residue, bonded, kept) for residue in topology.residues()]

    def _build_name(self, residue: Any, bonded: dict[Any, list[Any]], keep: Collection[tuple[int, str]]) -> str | None:
        base: str = VARIANTS.get(residue.name, residue.name)
        if base not in AMINO_ACIDS:
            return None
        atoms = {atom.name: atom for atom in residue.atoms()}
        if missing := [name for name in ("N", "CA", "C", "O") if name not in atoms]:
            raise Refused(f"{named(residue)} has no atom {missing[0]}", "add the missing atoms first, for instance with PDBFixer")

        def others(name: str) -> list[Any]:
            return [other for other in bonded[atoms[name]] if other.residue is not residue]

        first, last = not others("N"), not others("C")
        if first and last:
            raise Refused(
                f"{named(residue)} is a chain by itself, which force fields have no parameters for", "take it out of the file, or prepare the other chains alone (--chains)"
            )
        if last and "OXT" not in atoms:
            raise Refused(f"the chain ends at {named(residue)}, which has no atom OXT", "add it, or a cap NME")
        if base == "CYS" and "SG" in atoms:
            base = self._sulphur(residue, others("SG"))
        titrates = (residue.index, "side") not in keep
        base = (PROTONATED if titrates else USUAL).get(base, base)
        if last and (residue.index, "cterm") not in keep:
            return "Z" + base
        return "N" + base if first and titrates and base in ENTRIES else base

    def _sulphur(self, residue: Any, others: list[Any]) -> str:
        if not others:
            return "CYS"
        if len(others) == 1 and others[0].name == "SG" and VARIANTS.get(others[0].residue.name, others[0].residue.name) == "CYS":
            return "CYX"
        raise Refused(
            f"the sulphur of {named(residue)} is bonded to {others[0].name} of {named(others[0].residue)}",
            "the force field has no parameters for that: leave the other molecule out (--drop)",
        )

    def groups(self, topology: Any) -> list[Group]:
        """Every group that could titrate, in the order of the topology: side chains, amino ends and carboxyl ends, by the names of PDB files."""
        found: list[Group] = []
        bonded = _bonded(topology)
        for residue in topology.residues():
            base = VARIANTS.get(residue.name, residue.name)
            atoms = {atom.name: atom for atom in residue.atoms()}
            if base not in AMINO_ACIDS or not {"N", "CA", "C"} <= atoms.keys():
                continue
            first, last = (not any(other.residue is not residue for other in bonded[atoms[name]]) for name in ("N", "C"))
            bridge = "SG" in atoms and any(other.residue is not residue for other in bonded[atoms["SG"]])
            if base == "CYS" and bridge:
                base = "CYX"  # another residue, with other charges, than the one of which corrections of ends may be known
            name = PROTONATED.get(base, base)
            if first:
                found.append(self._group(residue, "nterm", "nterm", base, first, last))
            if name in ENTRIES and not bridge:
                found.append(self._group(residue, "side", ENTRIES[name], base, first, last))
            if last:
                found.append(self._group(residue, "cterm", "cterm", base, first, last))
        return found

    def _group(self, residue: Any, group: str, entry: str, base: str, first: bool, last: bool) -> Group:
        name = PROTONATED.get(base, base)
        status, file, temperature = self._known(group, entry, base, first, last)
        return Group(residue, group, entry, PKA[entry if group != "side" else name], status, file, temperature, base == "CYX")

    def _known(self, group: str, entry: str, base: str, first: bool, last: bool) -> tuple[str, Path | None, float]:
        """Status of the correction, its file and its temperature (K): that of the user's own, else of the one that comes with octitrate or is built in."""
        from .entries import BUILT_IN, BUILT_IN_STATUS

        name, is_end = PROTONATED.get(base, base), group != "side" or first or last
        # Corrections of an end are known by the residue; those of a side chain at an end by its name there.
        called = name if group != "side" else f"Z{name}" if last else f"N{name}"
        place = (entry, self.name, called if is_end else None, group != "side" and base == "ALA")
        known = self.calibrated.status(*place)
        # One that was made without the pair corrections is none where its model compound holds such a pair.
        if self.pairs is not None and in_model_compound(base, first, last) and not self.calibrated.has_pairs(*place):
            return "uncalibrated", None, 300.0
        if known != "uncalibrated" or (self.name, self.water) != BUILT_IN:
            return known, self.calibrated.file(*place), self.calibrated.temperature(*place)
        where = "" if not is_end else base if group != "side" or not first else None
        return (BUILT_IN_STATUS.get((entry, where), "uncalibrated") if where is not None else "uncalibrated"), None, 300.0

    def buffer_status(self) -> str:
        """Status of the correction of the charge buffer, which belongs to the water: that of AMBER's TIP3P is built in."""
        from .entries import buffer_name

        return self.calibrated.status("water", buffer_name(self), None, False) if self.own_water() else "calibrated"

    def buffer_file(self) -> Path | None:
        """The file with the correction of the charge buffer; none for the one that is built into the program."""
        from .entries import buffer_name

        return self.calibrated.file("water", buffer_name(self), None, False) if self.own_water() else None

    def buffer_temperature(self) -> float:
        """The temperature (K) at which the correction of the charge buffer was calibrated."""
        from .entries import buffer_name

        return self.calibrated.temperature("water", buffer_name(self), None, False)

    def add_hydrogens(self, modeller: Any, names: list[str | None]) -> Any:
        """Renames the residues of an `openmm.app.Modeller` without hydrogens and adds all hydrogens; those of carboxyls point to the other oxygen (syn), and H3 of an
        amino-terminal Pro is on the side of C.

        Returns the modeller, which is changed. Residues named `None` get the hydrogens that OpenMM knows for them, water for instance.
        """
        variants: list[Any] = []
        for residue, name in zip(list(modeller.topology.residues()), names, strict=True):
            variants.append(None)
            if name is not None:
                residue.name = name
                atoms = {atom.name for atom in residue.atoms()}
                first = not any(bond[0].residue is not bond[1].residue and _is_peptide_n(bond, residue) for bond in residue.bonds())
                variants[-1] = [pair for pair in self.hydrogens(name, first) if pair[1] in atoms]
        modeller.addHydrogens(variants=variants, platform=platform())
        place_syn(modeller)
        place_hydrogens(modeller)
        return modeller

    def hydrogens(self, name: str, first: bool = False) -> list[tuple[str, str]]:
        """The hydrogens of a residue by its name in the output, each with its parent, as PDB files name them. `first`: it is the first of a chain."""
        base, last, acid, n_end = self._parts(name)
        found = list(pdb_view(self.residues.view(base, False, False, False)).hydrogens())
        if first or n_end:
            found = [pair for pair in found if pair[1] != "N"]
            found = [(h, "N") for h in (("H2", "H3") if base == "PRO" else ("H1", "H2", "H3"))] + found
        return found + ([("HO1", "O"), ("HO2", "OXT")] if acid else [])

    def _parts(self, name: str) -> tuple[str, bool, bool, bool]:
        """Residue inside of a chain, whether it is the last, whether with an acid, whether its name says that it is the first."""
        if name[:1] == "Z" and self._is_amino(name[1:]):
            return name[1:], True, True, False
        if name[:1] == "N" and name[1:] in ENTRIES:
            return name[1:], False, False, True
        return name, False, False, False

    def _is_amino(self, name: str) -> bool:
        return name in AMINO_ACIDS or name in CARBOXYLS or name in VARIANTS

    def templates(self, topology: Any) -> dict[Any, str]:
        """The template of every amino acid, cap and ion of a topology with hydrogens, for `createSystem(residueTemplates=...)`."""
        found = {}
        for residue in topology.residues():
            base, last, acid, n_end = self._parts(residue.name)
            if base in ("ACE", "NME"):
                found[residue] = self.residues.name(base)
            elif self._is_amino(base):
                atoms = {atom.name for atom in residue.atoms()}
                found[residue] = self.residues.name(base, n_end or "H3" in atoms, last or "OXT" in atoms, acid)
            elif (ion := self.ion(residue.name)) is not None:
                found[residue] = ion
        return found

    def ion(self, name: str) -> str | None:
        """The template of an ion by its name in the PDB, if there is one of its element and with its charge, which OpenMM does not look at: it matches elements and bonds."""
        if name not in self._ions:
            self._ions[name] = self._of_ion(name)
        return self._ions[name]

    def _of_ion(self, name: str) -> str | None:
        element, charge = element_of_ion(name), (METALS | SALT).get(name)
        if charge is None:
            return None
        alone = [one for one in self.forcefield._templates.values() if len(one.atoms) == 1 and one.atoms[0].element is not None and one.atoms[0].element.symbol == element]
        fits = [one.name for one in alone if abs(sum(atom.charge for atom in view(self.forcefield, one).atoms.values()) - charge * self.charge_scale) < 1e-6]
        return min(fits, default=None)

    def pka(self, name: str) -> list[tuple[str, float]]:
        """Groups that titrate in a residue of this name, with the pKa of their model compounds; the amino end is not told by the name."""
        base, _, acid, _ = self._parts(name)
        groups = [("side chain", PKA[base])] if base in PKA else []
        return groups + ([("cterm", PKA["cterm"])] if acid else [])

    def entries(self, topology: Any) -> dict[str, str]:
        """The entries of the library that a job with this topology needs: name of the file -> TOML. None where the built-in library is for this force field."""
        from .entries import entries_for

        return entries_for(self, topology)


def _bonded(topology: Any) -> dict[Any, list[Any]]:
    """The atoms bonded to every atom."""
    bonded: dict[Any, list[Any]] = {atom: [] for atom in topology.atoms()}
    for bond in topology.bonds():
        bonded[bond[0]].append(bond[1])
        bonded[bond[1]].append(bond[0])
    return bonded


def _is_peptide_n(bond: Any, residue: Any) -> bool:
    """Whether a bond joins the N of a residue to the residue before."""
    return any(atom.residue is residue and atom.name == "N" for atom in (bond[0], bond[1]))
