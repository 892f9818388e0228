"""A capped glutamic acid in water whose model has virtual sites, and its single point by OpenMM (Reference platform, f64).

    python3 virtual_sites.py opc|tip4pew|tip5p     (needs openmm, numpy; GMX names GROMACS, default gmx)

-> ../../tests/reference/NAME.{gro,top,json}. Steps: pdb2gmx of glu.pdb (AMBER99SB-ILDN), solvate, minimise, 10 ps NVT; the topology is cut down
by flatten.py. Energies: bonded terms by kind; Lennard-Jones with a plain cut-off and all charges zero; Coulomb, 1-4 pairs included, from an
Ewald sum with Lennard-Jones off. Forces are those that OpenMM has spread to the atoms. Stored: every atom of the solute, and all atoms of every
tenth water. The virial is −3V dE/dV, with all atoms and the box scaled and the virtual sites placed again (Richardson, two steps).
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import openmm as mm
from openmm import app, unit

HERE = Path(__file__).resolve().parent
GMX = os.environ.get("GMX", "gmx")
CUTOFF = 0.9
EDGE = 2.1
# DOI 10.1021/jz501780a, with the numbers of AMBER's frcmod.opc: Rmin/2 = 1.777167268 Å, ε = 0.2128008130 kcal/mol.
OPC_TYPES = """
[ atomtypes ]
OW_opc 8 16.00 0.0 A 0.316655208 0.8903586
HW_opc 1 1.008 0.0 A 0.0 0.0
"""
OPC = """
[ moleculetype ]
SOL 2
[ atoms ]
1 OW_opc 1 SOL OW 1 0.0 16.00000
2 HW_opc 1 SOL HW1 1 0.679142 1.00800
3 HW_opc 1 SOL HW2 1 0.679142 1.00800
4 MW 1 SOL MW 1 -1.358284 0.00000
[ settles ]
1 1 0.08724331 0.13712051
[ virtual_sites3 ]
4 1 2 3 1 0.147722363 0.147722363
[ exclusions ]
1 2 3 4
2 1 3 4
3 1 2 4
4 1 2 3
"""
MODELS = {"opc": ("tip4p", "OPC"), "tip4pew": ("tip4p", "TIP4P-Ew"), "tip5p": ("tip5p", "TIP5P")}
MDP = "cutoff-scheme = Verlet\nnstlist = 10\nrvdw = 0.9\nrcoulomb = 0.9\ncoulombtype = PME\nconstraints = h-bonds\n"


def gmx(folder, *words, text=None):
    """Run GROMACS in `folder`; its output appears only when it fails."""
    done = subprocess.run([GMX, "-quiet", "-nobackup", *words], cwd=folder, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")


def build(name, folder):
    """final.gro and flat.top."""
    box, title = MODELS[name]
    gmx(folder, "pdb2gmx", "-f", str(HERE / "glu.pdb"), "-ff", "amber99sb-ildn", "-water", "none", "-ignh", "-o", "glu.gro", "-p", "dry.top")
    gmx(folder, "editconf", "-f", "glu.gro", "-box", *[str(EDGE)] * 3, "-c", "-o", "boxed.gro")
    gmx(folder, "solvate", "-cp", "boxed.gro", "-cs", f"{box}.gro", "-o", "start.gro")
    text = (folder / "dry.top").read_text()
    head, rest = text.split("[ moleculetype ]", 1)
    water = OPC if name == "opc" else f'\n#include "amber99sb-ildn.ff/{name}.itp"\n'
    rest = rest.replace("[ system ]", water + "\n[ system ]")
    names = [line[5:10].strip() for line in (folder / "start.gro").read_text().splitlines()[2:-1]]
    waters = names.count("SOL") // (5 if box == "tip5p" else 4)
    types = OPC_TYPES if name == "opc" else ""
    (folder / "system.top").write_text(f"{head}{types}[ moleculetype ]{rest}\nSOL {waters}\n")
    (folder / "em.mdp").write_text(MDP + "integrator = steep\nnsteps = 300\nemtol = 100\n")
    nvt = "integrator = md\ndt = 0.002\nnsteps = 5000\ntcoupl = v-rescale\ntc-grps = System\ntau-t = 0.2\nref-t = 300\ngen-vel = yes\ngen-seed = 1\n"
    (folder / "nvt.mdp").write_text(MDP + nvt)
    gmx(folder, "grompp", "-f", "em.mdp", "-c", "start.gro", "-p", "system.top", "-o", "em.tpr", "-pp", "expanded.top", "-maxwarn", "1")
    gmx(folder, "mdrun", "-nt", "1", "-deffnm", "em")
    gmx(folder, "grompp", "-f", "nvt.mdp", "-c", "em.gro", "-p", "system.top", "-o", "nvt.tpr", "-maxwarn", "1")
    gmx(folder, "mdrun", "-nt", "1", "-deffnm", "nvt")
    flat = subprocess.run(
        [sys.executable, str(HERE / "flatten.py"), "expanded.top", f"ACE-GLH-NME in {title}, AMBER99SB-ILDN"],
        cwd=folder, capture_output=True, text=True, check=True,
    )
    (folder / "flat.top").write_text(flat.stdout)
    lines = (folder / "nvt.gro").read_text().splitlines()
    (folder / "final.gro").write_text("\n".join([*(line[:44] for line in lines[:-1]), lines[-1]]) + "\n")
    return folder / "final.gro", folder / "flat.top"


def prepare(gro, top):
    """OpenMM system with a group for each kind of force, positions (nm), edges (nm)."""
    lines = gro.read_text().splitlines()
    x = np.array([[float(line[20 + 8 * k : 28 + 8 * k]) for k in range(3)] for line in lines[2:-1]])
    edges = np.array([float(word) for word in lines[-1].split()])
    topology = app.GromacsTopFile(str(top), periodicBoxVectors=[mm.Vec3(*row) for row in np.diag(edges)] * unit.nanometer)
    system = topology.createSystem(nonbondedMethod=app.Ewald, nonbondedCutoff=CUTOFF, rigidWater=True, removeCMMotion=False)
    for force in system.getForces():
        if isinstance(force, mm.NonbondedForce):
            force.setUseDispersionCorrection(False)
            # Reference sums all waves that this asks for.
            force.setEwaldErrorTolerance(1e-12)
    return system, x, edges


def evaluate(system, x, edges, only=None, what=lambda force: None):
    """Energy (kJ/mol) and forces (kJ/mol/nm) of one kind of force or all, after `what` has changed a copy of each."""
    copy = mm.XmlSerializer.deserialize(mm.XmlSerializer.serialize(system))
    copy.setDefaultPeriodicBoxVectors(*[mm.Vec3(*row) for row in np.diag(edges)])
    for force in copy.getForces():
        what(force)
        force.setForceGroup(0 if only is None or force.getName() == only else 1)
    context = mm.Context(copy, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(x)
    context.computeVirtualSites()
    state = context.getState(getEnergy=True, getForces=True, groups={0})
    return (
        state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole),
        np.array(state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)),
    )


def without(charge, epsilon):
    """Takes charges or Lennard-Jones out of a NonbondedForce."""
    def change(force):
        if not isinstance(force, mm.NonbondedForce):
            return
        for i in range(force.getNumParticles()):
            q, s, e = force.getParticleParameters(i)
            force.setParticleParameters(i, q * charge, s, e * epsilon)
        for i in range(force.getNumExceptions()):
            a, b, q, s, e = force.getExceptionParameters(i)
            force.setExceptionParameters(i, a, b, q * charge, s, e * epsilon)
        if not charge:
            force.setNonbondedMethod(mm.NonbondedForce.CutoffPeriodic)
            force.setReactionFieldDielectric(1.0)
    return change


def virial(system, x, edges):
    """−dE/ds of lengths s."""
    def slope(h):
        return (evaluate(system, x * (1 + h), edges * (1 + h))[0] - evaluate(system, x * (1 - h), edges * (1 - h))[0]) / (2 * h)
    h = 1e-5
    return -(4 * slope(h / 2) - slope(h)) / 3


def main():
    name = sys.argv[1]
    target = HERE / f"../../tests/reference/{name}"
    with tempfile.TemporaryDirectory() as folder:
        gro, top = build(name, Path(folder))
        target.with_suffix(".gro").write_text(gro.read_text())
        target.with_suffix(".top").write_text(top.read_text())
    system, x, edges = prepare(target.with_suffix(".gro"), target.with_suffix(".top"))
    terms = {}
    for force in system.getForces():
        kind = force.getName()
        if kind == "NonbondedForce":
            terms["LennardJones"] = evaluate(system, x, edges, kind, without(0, 1))[0]
            terms["Coulomb"], coulomb = evaluate(system, x, edges, kind, without(1, 0))
        else:
            terms[kind] = evaluate(system, x, edges, kind)[0]
    total, forces = evaluate(system, x, edges)
    sites = [i for i in range(system.getNumParticles()) if system.isVirtualSite(i)]
    solute = sites[0] - 3
    per_water = 3 + sum(site < solute + 5 for site in sites)
    stored = [i for i in range(system.getNumParticles()) if i < solute or (i - solute) // per_water % 10 == 0]
    stored = [i for i in stored if i not in sites]
    result = {
        "provenance": f"inputs/make/virtual_sites.py with OpenMM {mm.version.full_version}, platform Reference",
        "cutoff": CUTOFF,
        "energies": terms | {"total": total},
        # Lennard-Jones jumps where a pair crosses the cut-off, so that only Coulomb and bonded terms have a derivative by the volume.
        "virial_without_lennard_jones": virial(lennard_jones_off(system), x, edges),
        "atoms": stored,
        "forces": [[round(v, 9) for v in forces[i]] for i in stored],
        "coulomb_forces": [[round(v, 9) for v in coulomb[i]] for i in stored],
    }
    target.with_suffix(".json").write_text(re.sub(r"\n +(?=-?[0-9\]])", " ", json.dumps(result, indent=1)) + "\n")


def lennard_jones_off(system):
    """A copy without Lennard-Jones."""
    copy = mm.XmlSerializer.deserialize(mm.XmlSerializer.serialize(system))
    for force in copy.getForces():
        without(1, 0)(force)
    return copy


if __name__ == "__main__":
    main()
