"""Systems that OpenMM makes of topologies of GROMACS: python make.py     (OpenMM 8.6.1 from PyPI, beside this file)

The topologies are those of inputs/09-glu3, 11-nterm and 12-cterm with two waters. Bonds to hydrogen are constraints in all but the first.
NAME.gro has the names that OpenMM gives, and no positions.
"""

import os

import openmm as mm
import openmm.app as app

here = os.path.dirname(os.path.abspath(__file__))
for name, constraints in (("glu3", None), ("nterm", app.HBonds), ("cterm", app.HBonds)):
    top = app.GromacsTopFile(f"{here}/{name}.top", includeDir="/usr/share/gromacs/top")
    system = top.createSystem(nonbondedMethod=app.NoCutoff, constraints=constraints, rigidWater=True)
    with open(f"{here}/{name}.xml", "w") as out:
        out.write(mm.XmlSerializer.serialize(system).replace("\t", ""))
    with open(f"{here}/{name}.gro", "w") as out:
        out.write(f"{name}\n{system.getNumParticles()}\n")
        for atom in top.topology.atoms():
            r = atom.residue
            out.write(f"{int(r.id):5}{r.name:<5.5}{atom.name:>5.5}{atom.index + 1:5}" + "   0.000" * 3 + "\n")
        out.write("0 0 0\n")
