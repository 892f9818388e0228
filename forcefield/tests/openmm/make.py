"""Systems that OpenMM serialises, with energies and forces of its Reference platform.

python make.py 2lzt.pdb FOLDER [NAME ...]      (OpenMM 8.6.1 from PyPI, numpy)

Residues 13 to 19 of lysozyme (PDB 2LZT), protonated wherever they titrate, with the waters that lie next to them, a little minimised. NAME is
ff14sb, ff14sb-cufix, ff14sb-opc, ff19sb or charmm36; all of them if none is given. ff14sb-cufix has its acids charged and the pair corrections of the Python package
octitrate, and its Lys pulled to its Asp, until N and O are in contact. Writes NAME.xml, NAME.gro and NAME.json: energies by force (kJ/mol) and
forces (kJ/mol/nm) at the positions of the .gro file, in open space without a cut-off, and in the periodic box with Lennard-Jones truncated at
0.9 nm and an Ewald sum.
"""

import json
import sys

import numpy as np
import openmm as mm
import openmm.app as app
import openmm.unit as unit

CUTOFF = 0.9
FIELDS = {
    "ff14sb": (("amber14-all.xml", "amber14/tip3p.xml"), "tip3p", 40),
    "ff14sb-cufix": (("amber14-all.xml", "amber14/tip3p.xml"), "tip3p", 40),
    "ff19sb": (("amber19-all.xml", "amber19/tip3p.xml"), "tip3p", 40),
    "ff14sb-opc": (("amber14-all.xml", "amber14/opc.xml"), "tip4pew", 30),
    "charmm36": (("charmm36_2024.xml", "charmm36_2024/water.xml"), "tip3p", 40),
}


def positions(array):
    return [mm.Vec3(*row) for row in array] * unit.nanometer


def nanometres(quantity):
    return np.array(quantity.value_in_unit(unit.nanometer))


def segment(path, first, last):
    """Residues first to last of the first chain; the last gets its second oxygen, the mirror image of the first at the axis CA-C."""
    pdb = app.PDBFile(path)
    chain = list(pdb.topology.chains())[0]
    x, xyz = nanometres(pdb.positions), []
    top = app.Topology()
    new = top.addChain("A")
    kept = [r for r in chain.residues() if first <= int(r.id) <= last]
    for residue in kept:
        one = top.addResidue(residue.name, new, residue.id)
        for atom in residue.atoms():
            top.addAtom(atom.name, atom.element, one)
            xyz.append(x[atom.index])
        if residue is kept[-1]:
            at = {a.name: x[a.index] for a in residue.atoms()}
            bond, axis = at["O"] - at["C"], at["CA"] - at["C"]
            axis = axis / np.linalg.norm(axis)
            top.addAtom("OXT", app.element.oxygen, one)
            xyz.append(at["C"] + 2 * np.dot(bond, axis) * axis - bond)
    top.createStandardBonds()
    return app.Modeller(top, positions(xyz))


def copy(system):
    return mm.XmlSerializer.deserialize(mm.XmlSerializer.serialize(system))


def evaluate(system, x, box=None):
    """(name, energy, forces) of each force."""
    system = copy(system)
    for index, force in enumerate(system.getForces()):
        force.setForceGroup(index)
    if box is not None:
        system.setDefaultPeriodicBoxVectors(*np.diag([box] * 3))
    context = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(positions(x))
    found = []
    for index, force in enumerate(system.getForces()):
        state = context.getState(energy=True, forces=True, groups={index})
        energy = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
        forces = state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
        found.append((force.getName(), energy, np.array(forces)))
    return found


def with_method(system, periodic):
    system = copy(system)
    for force in system.getForces():
        if isinstance(force, mm.NonbondedForce):
            force.setNonbondedMethod(mm.NonbondedForce.Ewald if periodic else mm.NonbondedForce.NoCutoff)
            force.setEwaldErrorTolerance(1e-10)
            force.setUseDispersionCorrection(False)
        elif isinstance(force, mm.CustomNonbondedForce):
            custom = mm.CustomNonbondedForce
            force.setNonbondedMethod(custom.CutoffPeriodic if periodic else custom.NoCutoff)
            force.setUseLongRangeCorrection(False)
        else:
            continue
        force.setCutoffDistance(CUTOFF)
        force.setUseSwitchingFunction(False)
    return system


def without_charges(system):
    system = copy(system)
    for force in system.getForces():
        if isinstance(force, mm.NonbondedForce):
            for i in range(force.getNumParticles()):
                force.setParticleParameters(i, 0, *force.getParticleParameters(i)[1:])
            for i in range(force.getNumExceptions()):
                p, r, _, sigma, epsilon = force.getExceptionParameters(i)
                force.setExceptionParameters(i, p, r, 0, sigma, epsilon)
    return system


def nonbonded(system, x, box):
    """Lennard-Jones and Coulomb energies, and the forces of everything."""
    system = with_method(system, box is not None)
    whole, uncharged = evaluate(system, x, box), evaluate(without_charges(system), x, box)
    pick = lambda found, name: sum(energy for n, energy, _ in found if n == name)
    neutral = pick(uncharged, "NonbondedForce")
    return {
        "lennard_jones": neutral + pick(whole, "LennardJones") + pick(whole, "CUFIX"),
        "coulomb": pick(whole, "NonbondedForce") - neutral,
        "forces": [[float(f"{v:.9g}") for v in row] for row in sum(forces for *_, forces in whole)],
    }


def gro(path, title, top, x, edge):
    with open(path, "w") as out:
        out.write(f"{title}\n{top.getNumAtoms():5}\n")
        for atom, row in zip(top.atoms(), x):
            r = atom.residue
            place = "".join(f"{v:12.7f}" for v in row)
            out.write(f"{int(r.id) % 100000:5}{r.name:<5.5}{atom.name:>5.5}{(atom.index + 1) % 100000:5}{place}\n")
        out.write(f"{edge:12.7f}" * 3 + "\n")


def together(system, model):
    """A context of its own, minimised with a spring that pulls NZ of Lys to an oxygen of Asp."""
    system = copy(system)
    index = {f"{a.residue.name} {a.name}": a.index for a in model.topology.atoms()}
    spring = mm.CustomBondForce("2000*(r-0.28)^2")
    spring.addBond(index["LYS NZ"], index["ASP OD1"])
    system.addForce(spring)
    context = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName("CPU"))
    context.setPositions(model.positions)
    mm.LocalEnergyMinimizer.minimize(context, 10.0, 1000)
    return context


def build(name, pdb, folder, edge=2.6):
    files, water, n_waters = FIELDS[name]
    field = app.ForceField(*files)
    model = segment(pdb, 13, 19)
    acids = {"ASP": "ASH", "GLU": "GLH", "HIS": "HIP"}
    if name == "ff14sb-cufix":
        from octitrate.pair_corrections import CORRECTIONS, PairCorrections

        field._forces.append(PairCorrections(CORRECTIONS["cufix"]))
        acids = {"HIS": "HIP"}
    model.addHydrogens(field, variants=[acids.get(r.name) for r in model.topology.residues()])
    x = nanometres(model.positions)
    model = app.Modeller(model.topology, positions(x + edge / 2 - (x.max(0) + x.min(0)) / 2))
    model.addSolvent(field, model=water, boxSize=mm.Vec3(edge, edge, edge) * unit.nanometer, neutralize=False)
    x = nanometres(model.positions)
    solute = np.array([x[a.index] for a in model.topology.atoms() if a.residue.name != "HOH"])
    distance = lambda r: np.min(np.linalg.norm(solute - x[next(r.atoms()).index], axis=1))
    waters = sorted((r for r in model.topology.residues() if r.name == "HOH"), key=distance)
    model.delete(waters[n_waters:])
    system = field.createSystem(
        model.topology, nonbondedMethod=app.PME, nonbondedCutoff=CUTOFF * unit.nanometer, constraints=app.HBonds
    )
    context = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName("CPU"))
    context.setPositions(model.positions)
    if name == "ff14sb-cufix":
        context = together(system, model)
    mm.LocalEnergyMinimizer.minimize(context, 10.0, 100)
    context.computeVirtualSites()
    x = np.round(nanometres(context.getState(positions=True).getPositions(asNumpy=True)), 7)
    with open(f"{folder}/{name}.xml", "w") as out:
        out.write(mm.XmlSerializer.serialize(system).replace("\t", ""))
    gro(f"{folder}/{name}.gro", f"{name}: residues 13 to 19 of 2LZT", model.topology, x, edge)
    left_out = ("NonbondedForce", "LennardJones", "CUFIX", "CMMotionRemover")
    terms = {}
    for force, energy, _ in evaluate(with_method(system, False), x):
        if force not in left_out:
            terms[force] = terms.get(force, 0.0) + energy
    found = {
        "provenance": {"openmm": mm.__version__, "platform": "Reference", "script": "forcefield/tests/openmm/make.py"},
        "terms": terms,
        "open": nonbonded(system, x, None),
        "periodic": {"cutoff": CUTOFF, **nonbonded(system, x, edge)},
    }
    with open(f"{folder}/{name}.json", "w") as out:
        json.dump(found, out, separators=(",", ":"))


if __name__ == "__main__":
    for name in sys.argv[3:] or FIELDS:
        build(name, sys.argv[1], sys.argv[2])
