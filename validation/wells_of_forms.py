#!/usr/bin/env python3
"""What the Lennard-Jones parameters of each form would change with CHARMM36m, from the frames of a titration whose forms have those of one form: of Glu, Asp and His.

    PYTHONPATH=python python3 validation/wells_of_forms.py FOLDER/system.gro FOLDER/system.xml FOLDER/titrate "HIP 121" "GL3 57" [--skip 200]

In frames of a form with other parameters than those it has been given (neutral His: HD2 and HE1; protonated Glu and Asp: the oxygen with the proton): by how much its own lie above
them, with atoms of the trajectory within 1 nm (mean, and the free energy −RT ln⟨exp(−ΔU/RT)⟩, kJ/mol). The free energy is a lower bound while frames do not have room for a larger
atom. Where trajectories have the solute alone, as `titrate.sh` writes them, water is left out. Needs numpy, MDAnalysis, openmm and the package octitrate[prepare].
"""

import argparse
import math
import pathlib

import numpy
import openmm
from frames import atoms_of, frames, trajectories
from octitrate.bonded import lennard_jones
from octitrate.force_fields import patched, view
from octitrate.residues import TitratableForceField

RT = 0.00831446 * 300.0
PURE = 0.75
"""Weight from which on a frame is in a form."""
RING = {"HD2": {"CD2", "CG", "NE2", "HE2", "CB", "ND1", "CE1"}, "HE1": {"CE1", "ND1", "NE2", "HD1", "HE2", "CG", "CD2"}}
GROUPS = {
    "GL3": {"OE1", "OE2", "CD", "CG", "CB", "HE1", "HE2", "HG2", "HG3"},
    "AS3": {"OD1", "OD2", "CG", "CB", "CA", "HD1", "HD2", "HB2", "HB3"},
}
"""Atoms that are up to three bonds away, whose distance the form does not change much."""


def changes(ff):
    """By residue and form: atoms with σ (nm) and ε (kJ/mol) that the form was given and its own, and the atoms near by that do not count."""
    his = {name: lennard_jones(ff.forcefield, ff.residues.plain(name)) for name in ("HIP", "HID", "HIE")}
    found = {"HIP": {form: [(atom, his["HIP"][atom], his[name][atom], RING[atom]) for atom in RING] for form, name in (("HSD", "HID"), ("HSE", "HIE"))}}
    for residue, base, patch, oxygens in (("GL3", "GLU", "GLUP", ("OE1", "OE2")), ("AS3", "ASP", "ASPP", ("OD1", "OD2"))):
        anion, acid = (lennard_jones(ff.forcefield, one) for one in (ff.residues.plain(base), view(ff.forcefield, patched(ff.forcefield, base, patch))))
        found[residue] = {f"protonated-{oxygen}": [(oxygen, anion[oxygen], acid[oxygens[1]], GROUPS[residue])] for oxygen in oxygens}
    return found


def wells(path):
    """σ (nm) and ε (kJ/mol) of every atom of a system, from its table of pairs of types."""
    system = openmm.XmlSerializer.deserialize(path.read_text())
    force = next(one for one in system.getForces() if isinstance(one, openmm.CustomNonbondedForce))
    tables = []
    for name in ("acoef", "bcoef"):
        index = next(k for k in range(force.getNumTabulatedFunctions()) if force.getTabulatedFunctionName(k) == name)
        n, _, values = force.getTabulatedFunction(index).getFunctionParameters()
        tables.append(numpy.diag(numpy.array(values).reshape(n, n)))
    c12, c6 = (tables[0], tables[1])
    kinds = numpy.array([int(force.getParticleParameters(k)[0]) for k in range(force.getNumParticles())])
    return (c12 / c6)[kinds] ** (1 / 6), (c6 * c6 / (4 * c12))[kinds]


def energy(r, well, sigmas, epsilons):
    """Of an atom with others at distances r (nm)."""
    sigma, epsilon = 0.5 * (well[0] + sigmas), numpy.sqrt(well[1] * epsilons)
    return float((4.0 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6)).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("structure", help="of the job, .gro")
    parser.add_argument("system", type=pathlib.Path, help="of the job, .xml")
    parser.add_argument("titration", type=pathlib.Path)
    parser.add_argument("sites", nargs="+", help="as sites.toml names them")
    parser.add_argument("--skip", type=float, default=200.0, help="time (ps) that is left out")
    arguments = parser.parse_args()
    of_forms = changes(TitratableForceField("charmm36m"))
    files, atoms = trajectories(arguments.titration, arguments.structure)
    sigmas, epsilons = (values[: len(atoms)] for values in wells(arguments.system))
    for site in arguments.sites:
        place, found = atoms_of(site, atoms), {}
        for x, _, line in frames(files, arguments.skip):
            for form, changed in of_forms[site.split()[0]].items():
                if float(line[f"lambda {site}:{form}"]) < PURE:
                    continue
                change = 0.0
                for name, given, own, excluded in changed:
                    r = numpy.linalg.norm(x - x[place[name]], axis=1) / 10.0
                    near = r < 1.0
                    near[[place[name], *(place[one] for one in excluded)]] = False
                    change += energy(r[near], own, sigmas[near], epsilons[near]) - energy(r[near], given, sigmas[near], epsilons[near])
                found.setdefault("protonated" if form.startswith("protonated") else form, []).append(change)
        for form, changed in found.items():
            free = -RT * math.log(numpy.mean(numpy.exp(-numpy.array(changed) / RT)))
            print(f"{site} {form}, {len(changed)} frames: mean {numpy.mean(changed):+.1f}, free energy {free:+.1f}")


main()
