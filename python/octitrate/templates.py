"""Residues that hold every proton, made from those of a force field.

A force field has a residue with its proton and one without it. A titratable residue has all protons of all forms at once: GL3 is Glu with a hydrogen on *both*
oxygens, and so is the carboxyl end of a chain. They are made by these rules, which are those of the library of AMBER99SB-ILDN:

- atom types and bonded terms are those of the form that proteins have most of the time: the deprotonated one of carboxyls;
- charges are those of the form with the proton on the second oxygen (OE2, OD2, OXT); the other hydrogen has none. At the ends of chains, where AMBER has no
  protonated form, they are those of the deprotonated end plus the difference of the forms inside of a chain, and CB takes what is left; the carboxyl
  end itself gets the
  difference of Asp's carboxyl group, and CA takes what is left;
- a hydrogen has bond, angle, mass and Lennard-Jones parameters that the force field has for the acid, in an atom type and class of its own, and one
  torsion that holds it on the side of the other oxygen (syn), 2 x 80 kJ/mol high: without its charge it feels nothing else.

Units: nm, kJ/mol, rad, e.
"""

from __future__ import annotations

import math
from typing import Any

from .errors import Refused
from .force_fields import Atom, View, copy_type, generator, patched, register, view

CARBOXYLS = {"GL3": ("GLU", "GLH", "GLUP", "CG", "CD", "OE1", "OE2", "HE1", "HE2"), "AS3": ("ASP", "ASH", "ASPP", "CB", "CG", "OD1", "OD2", "HD1", "HD2")}
"""Titratable carboxyls: residue, protonated residue of AMBER, patch of CHARMM; atom before the carbon, carbon, oxygens, hydrogens."""

SYN = 80.0
"""Amplitude (kJ/mol) of the onefold torsion that holds a hydrogen syn: half its height."""

BACKBONE = ("N", "H", "CA", "HA", "C", "O")


class Templates:
    """Makes templates in an OpenMM force field as they are asked for. `patched`: CHARMM, whose residues are changed by patches."""

    def __init__(self, forcefield: Any, is_patched: bool) -> None:
        self.forcefield = forcefield
        self.is_patched = is_patched
        self._charged: dict[tuple[str, ...], View] = {}
        self._made: set[str] = set()

    def has(self, residue: str) -> bool:
        """Whether the force field knows a residue by this name, as it stands inside of a chain."""
        return self._known(residue) in self.forcefield._templates

    def _known(self, residue: str) -> str:
        charmm = {"HIP": "HSP", "HID": "HSD", "HIE": "HSE", "CYX": "CYS"}
        return charmm.get(residue, residue) if self.is_patched else residue

    def name(self, residue: str, first: bool = False, last: bool = False, acid: bool = False) -> str:
        """Name of the template for a residue (GL3, AS3, HIP, ALA, ...), made if the force field has none.

        `first`, `last`: it is the first or last residue of a chain; `acid`: its carboxyl end has a hydrogen on both oxygens.

        Raises `Refused` for a residue that the force field does not know there.
        """
        return self.view(residue, first, last, acid).name

    def view(self, residue: str, first: bool = False, last: bool = False, acid: bool = False) -> View:
        """The same as `name`, with atoms and charges."""
        key = (residue, *(word for word, on in (("first", first), ("last", last), ("acid", acid)) if on))
        if key not in self._charged:
            self._charged[key] = self._make(residue, first, last, acid)
            register(self.forcefield, self._charged[key])
        return self._charged[key]

    def plain(self, residue: str, first: bool = False, last: bool = False) -> View:
        """A residue as the force field has it. Raises `Refused` if it has none."""
        if residue in ("ACE", "NME") and self.is_patched:
            return self._cap(residue)
        name = self._known(residue)
        if name not in self.forcefield._templates:
            raise Refused(f"the force field has no residue {residue}")
        if self.is_patched:
            ends = (["NTER"] if first else []) + (["CTER"] if last else [])
            found = view(self.forcefield, patched(self.forcefield, name, *ends))
            return self._bridge(found) if residue == "CYX" else found
        if first and last:
            raise Refused(f"the force field has no residue {residue} that is a chain by itself")
        name = ("N" if first else "C" if last else "") + name
        if name not in self.forcefield._templates:
            raise Refused(f"the force field has no residue {residue} at the {'first' if first else 'last'} place of a chain")
        return view(self.forcefield, self.forcefield._templates[name])

    def _make(self, residue: str, first: bool, last: bool, acid: bool) -> View:
        base = CARBOXYLS[residue][0] if residue in CARBOXYLS else residue
        made = self.plain(base, first, last)
        if residue in CARBOXYLS:
            made = self._carboxyl(residue, made, first or last)
        return self._acid(made) if acid else made

    def _carboxyl(self, residue: str, made: View, is_end: bool) -> View:
        """GLU or ASP, at whatever place of a chain, with a hydrogen on both oxygens."""
        base, protonated, patch, before, carbon, *group = CARBOXYLS[residue]
        without = self.plain(base)
        proton = view(self.forcefield, patched(self.forcefield, base, patch)) if self.is_patched else self.plain(protonated)
        made = View(self._new_name(made, residue), dict(made.atoms), list(made.bonds), list(made.external))
        if is_end and not self.is_patched:
            added = {
                name: atom.charge - (without.atoms[name].charge if name in without.atoms else 0.0)
                for name, atom in proton.atoms.items()
                if name not in (*BACKBONE, "CB")
            }
            added["CB"] = 1.0 - sum(added.values())
            charges = {name: atom.charge + added.get(name, 0.0) for name, atom in made.atoms.items()}
        else:
            change = {name: atom.charge - without.atoms[name].charge for name, atom in proton.atoms.items() if name in without.atoms}
            charges = {name: atom.charge + change.get(name, 0.0) for name, atom in made.atoms.items()}
        for name, charge in charges.items():
            made.atoms[name] = Atom(made.atoms[name].type, round(charge, 7), made.atoms[name].element)
        self._hold(made, proton, before, carbon, group, proton.atoms[group[3]].charge)
        return made

    def _acid(self, made: View) -> View:
        """The last residue of a chain with a hydrogen on both oxygens."""
        names = list(made.atoms)
        first, second = ("OT1", "OT2") if "OT1" in names else ("O", "OXT")
        added, _ = self.end_charges()
        made = View(self._new_name(made, "acid"), dict(made.atoms), list(made.bonds), list(made.external))
        for name, of in (("C", "C"), (first, "O"), (second, "OXT"), ("CA", "CA")):
            old = made.atoms[name]
            made.atoms[name] = Atom(old.type, round(old.charge + added[of], 7), old.element)
        acid = CARBOXYLS["AS3"]
        of_acid = view(self.forcefield, patched(self.forcefield, acid[0], acid[2])) if self.is_patched else self.plain(acid[1])
        self._hold(made, of_acid, "CA", "C", [first, second, "HO1", "HO2"], added["HO2"])
        return made

    def end_charges(self) -> tuple[dict[str, float], str]:
        """What a proton adds to the charges of a carboxyl end, and how that is known."""
        if self.is_patched:
            without, proton = (view(self.forcefield, patched(self.forcefield, "ALA", patch)) for patch in ("CTER", "CNEU"))
            same = (("C", "C"), ("O", "OT1"), ("OXT", "OT2"), ("CA", "CA"))
            added = {of: proton.atoms[name].charge - without.atoms[name].charge for of, name in same}
            return {**added, "HO2": proton.atoms["HT2B"].charge}, "patches CTER and CNEU"
        without, proton = self.plain("ASP"), self.plain("ASH")
        pairs = (("C", "CG"), ("O", "OD1"), ("OXT", "OD2"))
        added = {of: proton.atoms[name].charge - without.atoms[name].charge for of, name in pairs}
        added["HO2"] = proton.atoms["HD2"].charge
        added["CA"] = 1.0 - sum(added.values())
        return added, "by analogy to ASH - ASP"

    def _new_name(self, made: View, change: str) -> str:
        """CHARMM's impropers are found by the name of the residue, which comes before the first hyphen."""
        return f"{made.name}-{change}"

    def _hold(self, made: View, acid: View, before: str, carbon: str, group: list[str], charge: float) -> None:
        """Adds two hydrogens to a carboxyl group, the second with a charge, and their bonded terms to the force field."""
        first, second, new, old = group
        source, oxygen, parent = self._acidic(acid)
        hydrogen = f"octitrate-{acid.atoms[source].type}"
        if hydrogen not in self.forcefield._atomTypes:
            copy_type(self.forcefield, acid.atoms[source].type, hydrogen, hydrogen)
        made.atoms[new] = Atom(hydrogen, 0.0, "H")
        made.atoms[old] = Atom(hydrogen, round(charge, 7), "H")
        made.bonds += [(first, new), (second, old)]
        # Where charges belong to types an atom has a type of its own in the end: terms are made for classes.
        classes = {name: self.forcefield._atomTypes[made.atoms[name].type].atomClass for name in (first, second, carbon, before)}
        length, bond, theta, bend = self._bonded(acid, source, oxygen, parent)
        bonds, angles, torsions = (generator(self.forcefield, f"{kind}Generator") for kind in ("HarmonicBond", "HarmonicAngle", "PeriodicTorsion"))
        for one, other in ((first, second), (second, first)):
            known = f"{hydrogen} {classes[one]} {classes[carbon]} {classes[other]} {classes[before]}"
            if known in self._made:
                continue
            self._made.add(known)
            bonds.registerBond({"class1": hydrogen, "class2": classes[one], "length": length, "k": bond})
            angles.registerAngle({"class1": hydrogen, "class2": classes[one], "class3": classes[carbon], "angle": theta, "k": bend})
            for end, force in ((other, SYN), (before, 0.0)):
                torsion = {"class1": hydrogen, "class2": classes[one], "class3": classes[carbon], "class4": classes[end]}
                torsions.registerProperTorsion({**torsion, "periodicity1": 1, "phase1": math.pi, "k1": force})

    def _acidic(self, acid: View) -> tuple[str, str, str]:
        """The acidic hydrogen of a residue, its oxygen and the carbon."""
        hydrogen = next(name for name in ("HE2", "HD2") if name in acid.atoms and acid.atoms[acid.neighbours(name)[0]].element == "O")
        oxygen = acid.neighbours(hydrogen)[0]
        return hydrogen, oxygen, next(name for name in acid.neighbours(oxygen) if name != hydrogen)

    def _bonded(self, acid: View, hydrogen: str, oxygen: str, carbon: str) -> tuple[float, float, float, float]:
        """Length (nm), force constant (kJ/mol/nm^2), angle (rad), force constant (kJ/mol/rad^2) of the hydroxyl group of an acid."""
        h, o, c = (acid.atoms[name].type for name in (hydrogen, oxygen, carbon))
        bonds, angles = generator(self.forcefield, "HarmonicBondGenerator"), generator(self.forcefield, "HarmonicAngleGenerator")
        b = next(i for i in bonds.bondsForAtomType[h] if o in bonds.types1[i] or o in bonds.types2[i])
        a = next(
            i for i in angles.anglesForAtom2Type[o] if (h in angles.types1[i] and c in angles.types3[i]) or (c in angles.types1[i] and h in angles.types3[i])
        )
        return bonds.length[b], bonds.k[b], angles.angle[a], angles.k[a]

    def _bridge(self, made: View) -> View:
        """CYS of CHARMM in a disulphide bridge, as the patch DISU leaves it."""
        changes = {atom.name: atom for atom in self.forcefield._patches["DISU"].changedAtoms[0]}
        atoms = {name: atom for name, atom in made.atoms.items() if name != "HG1"}
        for name, change in changes.items():
            atoms[name] = Atom(change.type, float(change.parameters["charge"]), atoms[name].element)
        bonds = [bond for bond in made.bonds if "HG1" not in bond]
        return View(f"{made.name}-DISU", atoms, bonds, [*made.external, "SG"])

    def _cap(self, residue: str) -> View:
        """ACE or NME of CHARMM as a residue of its own, which the force field has as a patch of its neighbour.

        Its impropers are those of glycine: atoms that carry the names of a backbone get them.
        """
        patch, names, ends = {
            "ACE": ("ACE_1", {"CAY": "CA", "CY": "C", "OY": "O"}, "C"),
            "NME": ("CT3_1", {"NT": "N", "HNT": "HN", "CAT": "CA"}, "N"),
        }[residue]
        data = self.forcefield._patches[patch]
        atoms = {names.get(atom.name, atom.name): Atom(atom.type, float(atom.parameters["charge"]), atom.element.symbol) for atom in data.addedAtoms[0]}
        pairs = ((names.get(a.name, a.name), names.get(b.name, b.name)) for a, b in data.addedBonds)
        bonds = [(a, b) for a, b in pairs if a in atoms and b in atoms]
        return View(f"GLY-{residue}cap", atoms, bonds, [ends])
