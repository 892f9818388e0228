"""Acetic acid and imidazolium with and without their proton, as systems of OpenMM with a PDB file beside: what `octitrate site` takes.

    .tools/prepare/bin/python3 inputs/make/molecules.py

Parameters are those of ff14SB's own side chains, from the files of the OpenMM wheel: acetic acid is ASH and ASP, imidazolium HIP and HIE, cut off the rest of the
residue. Where the bond is cut a hydrogen stands:

- acetic acid ends at CB, which gets a third hydrogen, equal to its two others;
- imidazolium ends at CG, which gets a hydrogen with the charge and type of HD2. ff14SB has no bond and no angles for a hydrogen there: they are those of
  HD2 at CD2, and so is the improper torsion that keeps it in the plane;
- the atom that was cut (CB, CG) takes what is left, so that the charge is whole.

Nothing was fitted to these molecules. Places are the minimum of the energy in vacuum (nm). Charges in e, energies in kJ/mol.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import openmm
from openmm import app, unit

from octitrate.force_fields import Atom, View, load, register, view

INPUTS = Path(__file__).parents[1]

# names in the residue -> names in the molecule; the hydrogen at the cut has that of no atom
ACETIC = {"CB": "CH3", "HB2": "H1", "HB3": "H2", "CG": "C", "OD1": "O", "OD2": "OH", "HD2": "HO"}
IMIDAZOLE = {"CG": "C4", "ND1": "N3", "HD1": "HN3", "CE1": "C2", "HE1": "H2", "NE2": "N1", "HE2": "HN1", "CD2": "C5", "HD2": "H5"}
CUT = {"ASH": ("CH3", "H3", "H1"), "ASP": ("CH3", "H3", "H1"), "HIP": ("C4", "H4", "H5"), "HIE": ("C4", "H4", "H5")}
"""The atom where the residue was cut, the hydrogen that it gets, and the one that this is equal to."""


def molecule(forcefield: Any, residue: str, names: dict[str, str], called: str) -> View:
    """The side chain of a residue with a hydrogen where it is cut off."""
    whole = view(forcefield, forcefield._templates[residue])
    atoms = {new: Atom(whole.atoms[old].type, whole.atoms[old].charge, whole.atoms[old].element) for old, new in names.items() if old in whole.atoms}
    bonds = [(names[a], names[b]) for a, b in whole.bonds if a in names and b in names]
    cut, hydrogen, like = CUT[residue]
    atoms[hydrogen] = Atom(atoms[like].type, atoms[like].charge, "H")
    charge = sum(atom.charge for atom in atoms.values())
    atoms[cut].charge = round(atoms[cut].charge + round(charge) - charge, 6)
    return View(called, atoms, [*bonds, (cut, hydrogen)])


def system(forcefield: Any, one: View) -> tuple[Any, Any]:
    """Topology and system of a molecule, with the terms that the force field lacks at the cut."""
    register(forcefield, one)
    topology = app.Topology()
    residue = topology.addResidue(one.name.split("-")[0], topology.addChain("A"), "1")
    atoms = {name: topology.addAtom(name, app.Element.getBySymbol(atom.element), residue) for name, atom in one.atoms.items()}
    for a, b in one.bonds:
        topology.addBond(atoms[a], atoms[b])
    made = forcefield.createSystem(topology, residueTemplates={residue: one.name}, removeCMMotion=False)
    if "C5" in atoms:
        like({name: atom.index for name, atom in atoms.items()}, made)
    forces = {type(force).__name__: force for force in made.getForces()}
    ends = {name: [b if a == name else a for a, b in one.bonds if name in (a, b)] for name in atoms}
    assert forces["HarmonicBondForce"].getNumBonds() == len(one.bonds)
    assert forces["HarmonicAngleForce"].getNumAngles() == sum(math.comb(len(around), 2) for around in ends.values())
    return topology, made


def like(at: dict[str, int], made: Any) -> None:
    """Gives H4 at C4 the terms that H5 has at C5: the ring turned over."""
    turned = {"C5": "C4", "H5": "H4", "N1": "N3", "C4": "C5"}
    back = {at[old]: at[new] for old, new in turned.items()}
    for force in made.getForces():
        kind, size = {"HarmonicBondForce": ("Bond", 2), "HarmonicAngleForce": ("Angle", 3)}.get(type(force).__name__, ("", 0))
        for k in range(getattr(force, f"getNum{kind}s")()) if kind else ():
            found = getattr(force, f"get{kind}Parameters")(k)
            if at["H5"] in found[:size]:
                getattr(force, f"add{kind}")(*(back[atom] for atom in found[:size]), *found[size:])
        if isinstance(force, openmm.PeriodicTorsionForce):
            for k in range(force.getNumTorsions()):
                *four, n, phase, constant = force.getTorsionParameters(k)
                # an improper torsion: C5 with all of its neighbours
                if set(four) == {at["C5"], at["C4"], at["N1"], at["H5"]}:
                    force.addTorsion(*(back[atom] for atom in four), n, phase, constant)


def start(one: View) -> list[Any]:
    """Rough places: a carboxyl group in a plane, or a ring; hydrogens on the outside."""
    if "OH" in one.atoms:
        flat = {"C": (0, 0, 0), "CH3": (-0.15, 0, 0), "O": (0.06, 0.1, 0), "OH": (0.06, -0.12, 0), "HO": (0.15, -0.1, 0)}
        flat |= {"H1": (-0.19, 0.1, 0), "H2": (-0.19, -0.05, 0.09), "H3": (-0.19, -0.05, -0.09)}
        return [openmm.Vec3(*flat[name]) for name in one.atoms]
    ring = ["N1", "C2", "N3", "C4", "C5"]
    corner = {name: (math.cos(0.4 * math.pi * k), math.sin(0.4 * math.pi * k)) for k, name in enumerate(ring)}
    radius = {name: 0.115 for name in ring} | {name: 0.22 for name in one.atoms if name not in ring}
    place = {name: corner[name if name in ring else next(b if a == name else a for a, b in one.bonds if name in (a, b))] for name in one.atoms}
    return [openmm.Vec3(radius[name] * place[name][0], radius[name] * place[name][1], 0.0) for name in one.atoms]


def main() -> None:
    """Writes the files of both molecules."""
    forcefield = load("ff14SB", "tip3p")
    for folder, stem, residue, names, called in (
        ("14-acetic-acid", "acid", "ASH", ACETIC, "HAC-acid"),
        ("14-acetic-acid", "base", "ASP", ACETIC, "HAC-base"),
        ("15-imidazole", "acid", "HIP", IMIDAZOLE, "IMH-acid"),
        ("15-imidazole", "base", "HIE", IMIDAZOLE, "IMH-base"),
    ):
        one = molecule(forcefield, residue, names, called)
        topology, made = system(forcefield, one)
        context = openmm.Context(made, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
        context.setPositions(start(one) * unit.nanometer)
        openmm.LocalEnergyMinimizer.minimize(context, 0.01)
        places = context.getState(getPositions=True).getPositions()
        place = INPUTS / folder
        place.mkdir(exist_ok=True)
        (place / f"{stem}.xml").write_text(openmm.XmlSerializer.serialize(made))
        with (place / f"{stem}.pdb").open("w") as out:
            app.PDBFile.writeFile(topology, places, out, keepIds=True)


if __name__ == "__main__":
    main()
