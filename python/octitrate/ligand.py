"""An entry of the library for any molecule that loses a proton, from its parameters with the proton and without it.

    octitrate site --protonated acid.prmtop --deprotonated base.prmtop --pka 4.76 -o library/acd.toml
    octitrate site --protonated acid.xml --deprotonated base.xml --pka 4.76 --model acetic

The second form also builds the molecule in water, with the jobs of its calibration (`octitrate.molecule_in_water`); `octitrate site --help` lists all arguments.

Parameters come from whatever made them, each form by itself or within a larger system: AMBER (`.prmtop`, `.parm7`), GROMACS (`.top`), or a system
that OpenMM serialised (`.xml`) with a `.pdb` of the same name beside it, which has the names of the atoms. Files without parameters (`.sdf`, `.mol`, `.mol2`)
get those of GAFF2 with AM1-BCC charges, where AmberTools is there (`octitrate.small_molecule`). Atoms of the two forms are matched by
elements and bonds, whatever their order and names; names of the entry are those of the protonated form, which is what a job must hold.
Lennard-Jones parameters and bonded terms are those of the protonated form in both forms.

Charges are in e, lengths in nm, energies in kJ/mol. The entry has no correction V_MM: `octitrate calibrate` makes it with the molecule in water.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .entries import UNCALIBRATED
from .errors import Refused
from .prepare.folder import Folder
from .screen import Parser, say
from .small_molecule import FORMATS, Parameters, checked, parametrise
from .words import counted, named_all

ROUNDING = 5e-3
"""Largest deviation (e) of the charge of a form from a whole number: files have four to six decimals for each atom."""

DONORS = ("N", "O", "S")


@dataclass(frozen=True)
class Atom:
    """An atom of a molecule: name, symbol of its element, charge (e), sigma (nm) and epsilon (kJ/mol)."""

    name: str
    element: str
    charge: float
    sigma: float
    epsilon: float


@dataclass(frozen=True)
class Molecule:
    """A molecule as its parameters have it; `bonds` by place in `atoms`. `file` names it in messages."""

    file: str
    name: str
    atoms: tuple[Atom, ...]
    bonds: tuple[frozenset[int], ...]

    def neighbours(self, atom: int) -> list[int]:
        """Atoms bonded to one."""
        return sorted(other for bond in self.bonds if atom in bond for other in bond - {atom})

    def charge(self) -> float:
        """Its charge, e."""
        return sum(atom.charge for atom in self.atoms)


PARAMETERS = "take .prmtop, .parm7, .top, .xml with a .pdb of the same name, or the molecule itself as .sdf, .mol or .mol2"


def read(file: str | Path, residue: str | None = None) -> Molecule:
    """Reads a molecule: the residue of this name, or the only one of the file.

    Raises `Refused` for a file of another kind or without such a residue, and for a molecule whose bonds or charges are not there.
    """
    return molecule(Path(file), *load(Path(file), residue))


def load(path: Path, residue: str | None = None) -> tuple[Any, Any]:
    """The residue of this name, or the only one of the file, as OpenMM has it, and the system with its parameters.

    Raises `Refused` as `read`.
    """
    import openmm
    from openmm import app

    kind = path.suffix.lower()
    if not path.is_file():
        raise Refused(f"{path}: there is no such file", "name the parameters of the molecule")
    try:
        if kind in (".prmtop", ".parm7", ".top"):
            loaded: Any = app.GromacsTopFile(str(path)) if kind == ".top" else app.AmberPrmtopFile(str(path))
            topology, system = loaded.topology, loaded.createSystem(nonbondedMethod=app.NoCutoff)
        elif kind == ".xml":
            pdb = path.with_suffix(".pdb")
            if not pdb.is_file():
                raise Refused(f"{path}: there is no {pdb.name} beside it", "it has the names and elements of the atoms")
            topology, system = app.PDBFile(str(pdb)).topology, openmm.XmlSerializer.deserialize(path.read_text())
        else:
            raise Refused(f"{path}: a file {kind or 'without an ending'} is not known here", PARAMETERS)
    except Refused:
        raise
    except Exception as error:  # readers of OpenMM raise what they run into
        raise Refused(f"{path}: OpenMM cannot read it: {error}", "look at the file with the program that wrote it") from None
    if not isinstance(system, openmm.System):
        raise Refused(f"{path}: is no system of OpenMM", "write it by openmm.XmlSerializer.serialize(system)")
    if topology.getNumAtoms() != system.getNumParticles():
        raise Refused(f"{path} has {system.getNumParticles()} particles, its names are for {topology.getNumAtoms()}", "both must be of one system")
    if not any(isinstance(one, openmm.NonbondedForce) for one in system.getForces()):
        raise Refused(f"{path} has no charges (no NonbondedForce)", "give the parameters of the whole molecule")
    found = [one for one in topology.residues() if residue is None or one.name == residue]
    if len(found) != 1 and residue is None:
        raise Refused(f"{path} has {counted(len(found), 'residue')}", f"name one of them: {', '.join(sorted({one.name for one in found})[:8])}")
    if not found:
        raise Refused(f"{path} has no residue {residue}", named_all("its residue", sorted({one.name for one in topology.residues()})[:8]))
    return found[0], system


def molecule(path: Path, residue: Any, system: Any) -> Molecule:
    """A residue with its parameters. Raises `Refused` for one that is bonded to others."""
    import openmm
    from openmm import unit

    force = next(one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
    members = {atom.index: place for place, atom in enumerate(residue.atoms())}
    atoms = []
    for atom in residue.atoms():
        charge, sigma, epsilon = force.getParticleParameters(atom.index)
        parameters = sigma.value_in_unit(unit.nanometer), epsilon.value_in_unit(unit.kilojoule_per_mole)
        atoms.append(Atom(atom.name, atom.element.symbol if atom.element else "", charge.value_in_unit(unit.elementary_charge), *parameters))
    joined = {frozenset(pair) for pair in _bonded(system)}
    if outside := [bond for bond in joined if len(bond & members.keys()) == 1]:
        other = next(atom for atom in residue.chain.topology.atoms() if atom.index in outside[0] and atom.index not in members)
        raise Refused(f"{path}: {residue.name} is bonded to {other.residue.name} {other.residue.id}", "a site is a molecule by itself")
    inside = (frozenset(members[atom] for atom in bond) for bond in joined if bond <= members.keys())
    return Molecule(str(path), residue.name, tuple(atoms), tuple(sorted(inside, key=sorted)))


def _bonded(system: Any) -> Iterator[tuple[int, int]]:
    """Pairs of atoms that are bonded: bonds, and constraints that are no longer than a bond."""
    import openmm

    for force in system.getForces():
        if isinstance(force, openmm.HarmonicBondForce):
            for k in range(force.getNumBonds()):
                a, b, *_ = force.getBondParameters(k)
                yield a, b
    for k in range(system.getNumConstraints()):
        a, b, length = system.getConstraintParameters(k)
        # A bond to hydrogen is shorter than 0.14 nm, the distance of two hydrogens is longer.
        if length._value < 0.14:
            yield a, b


@dataclass(frozen=True)
class Match:
    """The hydrogen of the protonated form that leaves, the atom that it leaves, and the place in the deprotonated form of every other atom."""

    hydrogen: int
    parent: int
    places: dict[int, int]


def match(protonated: Molecule, deprotonated: Molecule) -> Match:
    """Matches the atoms of two forms. Where several ways fit, atoms of equal names and of nearer charges go together.

    Raises `Refused` if the forms are not one proton apart, or no way fits.
    """
    if len(protonated.atoms) != len(deprotonated.atoms) + 1:
        raise Refused(
            f"{protonated.file} has {counted(len(protonated.atoms), 'atom')} and {deprotonated.file} has {len(deprotonated.atoms)}",
            "the protonated form has one atom more, a hydrogen",
        )
    candidates = [
        (place, neighbours[0])
        for place, atom in enumerate(protonated.atoms)
        if atom.element == "H" and len(neighbours := protonated.neighbours(place)) == 1 and protonated.atoms[neighbours[0]].element in DONORS
    ]
    names = {atom.name for atom in deprotonated.atoms}
    for hydrogen, parent in sorted(candidates, key=lambda one: protonated.atoms[one[0]].name in names):
        places = _isomorphism(protonated, deprotonated, hydrogen)
        if places is not None:
            return Match(hydrogen, parent, places)
    raise Refused(
        f"{deprotonated.file} is not {protonated.file} without a hydrogen at N, O or S: elements or bonds differ", "both must be forms of one molecule"
    )


def _isomorphism(protonated: Molecule, deprotonated: Molecule, gone: int) -> dict[int, int] | None:
    """Places in the deprotonated form by those in the protonated one, without an atom; none if the bonds do not fit."""
    first = {a: [b for b in protonated.neighbours(a) if b != gone] for a in range(len(protonated.atoms)) if a != gone}
    second = {a: deprotonated.neighbours(a) for a in range(len(deprotonated.atoms))}
    ours, theirs = _colours(protonated, first), _colours(deprotonated, second)
    if sorted(ours.values()) != sorted(theirs.values()):
        return None

    def distance(a: int, b: int) -> tuple[bool, float]:
        one, other = protonated.atoms[a], deprotonated.atoms[b]
        return one.name != other.name, abs(one.charge - other.charge)

    # Neighbours of what has its place come next, so that a wrong choice is seen at once.
    order: list[int] = []
    for start in sorted(first, key=lambda a: list(ours.values()).count(ours[a])):
        waiting = [start]
        while waiting:
            if (atom := waiting.pop(0)) not in order:
                order.append(atom)
                waiting += first[atom]
    found: dict[int, int] = {}

    def extend(depth: int) -> bool:
        if depth == len(order):
            return True
        atom = order[depth]
        for other in sorted((b for b in second if theirs[b] == ours[atom] and b not in found.values()), key=lambda b: distance(atom, b)):
            if all(found[n] in second[other] for n in first[atom] if n in found):
                found[atom] = other
                if extend(depth + 1):
                    return True
                del found[atom]
        return False

    return found if extend(0) else None


def _colours(molecule: Molecule, neighbours: dict[int, list[int]]) -> dict[int, str]:
    """A colour for every atom that its element and, round after round, the colours around it give."""
    colours = {atom: molecule.atoms[atom].element for atom in neighbours}
    for _ in range(6):
        colours = {atom: f"{colours[atom]}({','.join(sorted(colours[n] for n in around))})" for atom, around in neighbours.items()}
        short = {text: f"{text.split('(')[0]}{number}" for number, text in enumerate(sorted(set(colours.values())))}
        colours = {atom: short[text] for atom, text in colours.items()}
    return colours


def entry(
    protonated: Molecule, deprotonated: Molecule, pka: float, name: str | None = None, source: str = "given by the user", parameters: str = ""
) -> str:
    """The entry of a molecule as TOML, without a correction. `source`: where the pKa is from; `parameters`: what made those that the files do not have.

    Raises `Refused` for charges that are not whole or not one elementary charge apart, and for names of atoms that repeat.
    """
    found = match(protonated, deprotonated)
    names = [atom.name for atom in protonated.atoms]
    if repeated := sorted(one for one in set(names) if names.count(one) > 1):
        raise Refused(f"{protonated.file}: two atoms have the name {repeated[0]}", "give every atom a name of its own")
    net = [round(one.charge()) for one in (protonated, deprotonated)]
    for one, whole in zip((protonated, deprotonated), net, strict=True):
        if abs(one.charge() - whole) > ROUNDING:
            raise Refused(f"{one.file}: the charges of {one.name} sum to {one.charge():.4f} e", "a form has a whole charge")
    if net[0] - net[1] != 1:
        raise Refused(f"the forms have charges {net[0]} and {net[1]} e", "losing a proton takes one elementary charge")
    charges = {
        atom.name: [round(atom.charge, 7) + 0.0, round(deprotonated.atoms[found.places[k]].charge, 7) + 0.0 if k in found.places else 0.0]
        for k, atom in enumerate(protonated.atoms)
    }
    parent = protonated.atoms[found.parent].name
    for form in (0, 1):
        rest = sum(values[form] for atom, values in charges.items() if atom != parent)
        charges[parent][form] = round(net[form] - rest, 7) + 0.0
    changed = [atom.name for k, atom in enumerate(protonated.atoms) if k in found.places and _differs(atom, deprotonated.atoms[found.places[k]])]
    kept = f"; without the proton it would change those of {', '.join(changed)}" if changed else ""
    called = name or protonated.name.lower()
    value = f"{pka:.2f}" if round(pka, 2) == pka else repr(pka)
    files = [Path(one.file).name for one in (protonated, deprotonated)]
    made = f" by {parameters}" if parameters else ""
    lines = [
        f"# {protonated.name}, which loses {protonated.atoms[found.hydrogen].name} from {parent}. Written by octitrate's Python package.",
        "#",
        f"# Charges (e): {files[0]} and {files[1]}{made}; {parent} takes what rounding leaves.",
        f"# Lennard-Jones parameters and bonded terms are those of the protonated form in both forms{kept}.",
        "",
        f'name = "{called}"',
        f'residues = ["{protonated.name}"]',
        f'build = "with its proton {protonated.atoms[found.hydrogen].name}"',
        f'force_field = "{files[0]}{made}"',
        f'source = "{files[0]} and {files[1]}{made}"',
        f'model_compound = "{protonated.name}"',
        f"pka = {value}",
        f"pka_source = {json.dumps(source, ensure_ascii=False)}",
        f'balanced_at = "{parent}"',
        "",
        *["[[forms]]", 'name = "protonated"', "protons_lost = 0", f"net_charge = {net[0]}", "pk = 0.0", ""],
        *["[[forms]]", 'name = "deprotonated"', "protons_lost = 1", f"net_charge = {net[1]}", f"pk = {value}", ""],
        "# atom = [protonated, deprotonated]",
        "[charges]",
        *(f"{_key(atom)} = [{values[0]!r}, {values[1]!r}]" for atom, values in charges.items()),
        "",
    ]
    return "\n".join([*lines, *_syn(protonated, found), *UNCALIBRATED])


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else '"' + name.replace('"', '\\"') + '"'


def _differs(a: Atom, b: Atom) -> bool:
    return abs(a.epsilon - b.epsilon) > 1e-6 or (a.epsilon != 0.0 and abs(a.sigma - b.sigma) > 1e-7)


def _syn(molecule: Molecule, found: Match) -> list[str]:
    """The torsion that holds the hydrogen of a carboxyl group on the side of the other oxygen; nothing for other groups."""
    if molecule.atoms[found.parent].element != "O":
        return []
    (carbon,) = (n for n in molecule.neighbours(found.parent) if n != found.hydrogen)
    others = [n for n in molecule.neighbours(carbon) if n != found.parent and molecule.atoms[n].element == "O" and len(molecule.neighbours(n)) == 1]
    if molecule.atoms[carbon].element != "C" or len(others) != 1:
        return []
    atoms = ", ".join(f'"{molecule.atoms[k].name}"' for k in (others[0], carbon, found.parent, found.hydrogen))
    lines = ["# Held whatever λ is: the hydrogen on the side of the other oxygen (syn). Without its charge it feels its torsion alone.", "[[torsions]]"]
    return [*lines, f"atoms = [{atoms}]", "phase = 180.0", "force_constant = 80.0", "multiplicity = 1", ""]


def parser() -> argparse.ArgumentParser:
    """All arguments with their help."""
    p = Parser(
        prog="octitrate site",
        description="Makes a titratable site of a molecule that loses a proton, from its parameters with the proton and without it: an entry of the library, and "
        "with --model the molecule in water for octitrate calibrate.",
        epilog="example:\n"
        "  octitrate site --protonated acid.sdf --deprotonated base.sdf --pka 4.76 --model acetic\n"
        "  octitrate run acetic/equilibrate.toml\n"
        "  octitrate calibrate acetic/calibrate.toml\n"
        "  octitrate titrate acetic/titrate.toml",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("--protonated", required=True, type=Path, metavar="FILE", help="parameters with the proton: .prmtop, .parm7, .top, or .xml beside a .pdb; or the molecule as .sdf, .mol or .mol2, which gets those of GAFF2 (with --model)")
    p.add_argument("--deprotonated", required=True, type=Path, metavar="FILE", help="parameters without it")
    p.add_argument("--pka", required=True, type=float, help="pKa of the molecule in water")
    p.add_argument("--residue", metavar="NAME", help="name of the residue in the file with the proton, where it is not the only one; of a drawn molecule (default: LIG)")
    p.add_argument("--residue-deprotonated", metavar="NAME", help="the same in the file without it")
    p.add_argument("--charge", type=int, metavar="E", help="charge of the molecule with the proton, for a .mol2 file that does not tell it")
    p.add_argument("--name", help="name of the entry (default: that of the residue)")
    p.add_argument("--source", default="given by the user", help="where the pKa is from")
    p.add_argument("-o", "--output", type=Path, metavar="FILE", help="file for the entry (default: standard output, or library/NAME.toml of the model)")
    model = p.add_argument_group("the molecule in water, to calibrate")
    model.add_argument("--model", type=Path, metavar="FOLDER", help="folder to write: system, entry, equilibrate.toml, calibrate.toml")
    model.add_argument("--structure", type=Path, metavar="FILE", help="places of the atoms of the protonated form: .pdb, .gro, .rst7 (default: the .pdb beside an .xml)")
    model.add_argument("--water", default="tip3p", metavar="NAME", help="tip3p (default), opc, …: those that ff14SB takes")
    model.add_argument("--temperature", type=float, default=300.0, metavar="K", help="temperature (default: 300)")
    return p


def make(chosen: argparse.Namespace) -> None:
    """Writes what the arguments ask for. Raises `Refused`."""
    if chosen.name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", chosen.name):
        raise Refused(f"--name {chosen.name}: files are named so", "letters, digits, - and _")
    if not -20 <= chosen.pka <= 40:
        raise Refused(f"--pka {chosen.pka:g}: no acid has it", "-20 to 40")
    if not 250 <= chosen.temperature <= 400:
        raise Refused(f"--temperature {chosen.temperature:g}: K are meant, 250 to 400", "300 is usual")
    if chosen.output is not None and chosen.output.exists():
        raise Refused(f"{chosen.output}: there is a file already", "choose another name (-o)")
    drawn = [path for path in (chosen.protonated, chosen.deprotonated) if path.suffix.lower() in FORMATS]
    if not drawn:
        if chosen.charge is not None:
            raise Refused("--charge is for molecules without parameters", "leave it out: the parameters have charges")
        return _make(chosen, chosen.protonated, chosen.deprotonated)
    if len(drawn) == 1:
        raise Refused(f"{drawn[0]}: has no parameters, and the other form has", "give both forms as parameters, or both without")
    if chosen.model is None:
        raise Refused(f"{drawn[0]}: has no parameters, and those that are made for it need a place", "--model FOLDER gets them, beside the entry and the box")
    for path in drawn:
        if not path.is_file():
            raise Refused(f"{path}: there is no such file", "name the molecule")
    Folder(chosen.model)  # a place that is taken is refused before the charges are made
    charges = [checked(path, None if chosen.charge is None else chosen.charge - lost)[1] for lost, path in enumerate(drawn)]
    if charges[0] - charges[1] != 1:
        raise Refused(f"the forms have charges {charges[0]} ({drawn[0]}) and {charges[1]} e ({drawn[1]})", "losing a proton takes one elementary charge: mark formal charges")
    with TemporaryDirectory(prefix="octitrate-site-") as place:
        made = []
        for name, path, charge in zip(("protonated", "deprotonated"), drawn, charges, strict=True):
            (folder := Path(place) / name).mkdir()
            made.append(parametrise(path, charge, chosen.residue or "LIG", folder))
        _make(chosen, made[0].prmtop, made[1].prmtop, made)
    return None


def _make(chosen: argparse.Namespace, protonated: Path, deprotonated: Path, made: Sequence[Parameters] = ()) -> None:
    """Writes the entry and the model from parameters; `made`: those that were made for files which have none."""
    residue, system = load(protonated, None if made else chosen.residue)
    acid, base = molecule(protonated, residue, system), read(deprotonated, None if made else chosen.residue_deprotonated)
    if made:  # messages and the entry name what was given
        acid, base = replace(acid, file=str(chosen.protonated)), replace(base, file=str(chosen.deprotonated))
    text = entry(acid, base, chosen.pka, chosen.name, chosen.source, "GAFF2 and AM1-BCC" if made else "")
    if chosen.model is not None:
        from .molecule_in_water import Source, build, places

        structure = chosen.structure or (made[0].coordinates if made else None)
        source = Source(str(chosen.protonated), residue, system, places(protonated, structure, residue))
        more = {f"parameters/{name}{file.suffix}": file.read_text() for name, one in zip(("protonated", "deprotonated"), made) for file in one.files()}
        build(source, chosen.name or acid.name.lower(), text, chosen.model, chosen.water, chosen.temperature, more)
        say(f"{chosen.model} is ready:\n  octitrate run {chosen.model}/equilibrate.toml\n  octitrate calibrate {chosen.model}/calibrate.toml\n  octitrate titrate {chosen.model}/titrate.toml")
    if chosen.output is not None:
        chosen.output.parent.mkdir(parents=True, exist_ok=True)
        chosen.output.write_text(text, encoding="utf-8")
    elif chosen.model is None:
        print(text, end="")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    try:
        make(parser().parse_args(arguments))
    except Refused as refused:
        say(f"error: {refused}")
        return 2
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in ("openmm", "pdbfixer", "numpy"):
            missing = f'octitrate site needs {error.name}, which is not installed: `make prepare-tools`, or pip install "./python[prepare]", in the sources of octitrate'
            say(f"error: {missing}")
            return 2
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
