#!/usr/bin/env python3
"""What the Lennard-Jones parameters of each form of His would change with CHARMM36m, from the frames of a titration whose forms all have those of the charged one.

    PYTHONPATH=python python3 validation/histidine_wells.py FOLDER/system.gro FOLDER/system.xml FOLDER/titrate "HIP 121" [--skip 200]

In frames of the neutral forms: by how much HD2 and HE1 with their own parameters lie above those with the parameters of the charged form, with atoms of the trajectory within 1 nm
(mean, and the free energy −RT ln⟨exp(−ΔU/RT)⟩, kJ/mol). The free energy is a lower bound while frames do not have room for the larger HD2. Where trajectories have the solute alone,
as `titrate.sh` writes them, water is left out. Needs numpy, MDAnalysis, openmm and the package octitrate[prepare].
"""

import argparse
import math
import pathlib

import numpy
import openmm
from frames import atoms_of, frames, trajectories
from octitrate.bonded import lennard_jones
from octitrate.residues import TitratableForceField

RT = 0.00831446 * 300.0
PURE = 0.75
"""Weight from which on a frame is in a form."""
FORMS = {"HSD": "HID", "HSE": "HIE"}
NEAR = {"HD2": {"CD2", "CG", "NE2", "HE2", "CB", "ND1", "CE1"}, "HE1": {"CE1", "ND1", "NE2", "HD1", "HE2", "CG", "CD2"}}
"""Atoms that are one to three bonds away: the ring is stiff."""


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
    ff = TitratableForceField("charmm36m")
    own = {form: lennard_jones(ff.forcefield, ff.residues.plain(name)) for form, name in {"HSP": "HIP", **FORMS}.items()}
    files, atoms = trajectories(arguments.titration, arguments.structure)
    sigmas, epsilons = (values[: len(atoms)] for values in wells(arguments.system))
    for site in arguments.sites:
        place, found = atoms_of(site, atoms), {}
        others = {name: numpy.array([one not in {place[name], *(place[near] for near in NEAR[name])} for one in range(len(atoms))]) for name in NEAR}
        for x, line in frames(files, arguments.skip):
            for form in FORMS:
                if float(line[f"lambda {site}:{form}"]) < PURE:
                    continue
                change = 0.0
                for name, allowed in others.items():
                    r = numpy.linalg.norm(x - x[place[name]], axis=1) / 10.0
                    near = allowed & (r < 1.0)
                    change += energy(r[near], own[form][name], sigmas[near], epsilons[near]) - energy(r[near], own["HSP"][name], sigmas[near], epsilons[near])
                found.setdefault(form, []).append(change)
        for form, changes in found.items():
            free = -RT * math.log(numpy.mean(numpy.exp(-numpy.array(changes) / RT)))
            print(f"{site} {form}, {len(changes)} frames: mean {numpy.mean(changes):+.1f}, free energy {free:+.1f}")


main()
