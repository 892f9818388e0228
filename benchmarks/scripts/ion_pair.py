"""What CUFIX costs a salt bridge: the free energy of a contact ion pair in water with the corrections, less that without them.

    .tools/prepare/bin/python3 benchmarks/scripts/ion_pair.py LYS [--minutes 15] [--seed 1]

Acetate (the side chain of Asp) beside methylammonium (of Lys) or methylguanidinium (of Arg), each cut off the rest of its residue, where a hydrogen stands; ff14SB, TIP3P, 300 K, 1 bar, 2.4 nm.
A flat wall keeps the pair in contact: N to the carbon of the carboxyl less than 0.42 nm, of guanidinium the two carbons less than 0.50 nm. Pairs of atoms that are farther
apart feel the corrections by less than 0.1 kJ/mol, so that the free energy between both potentials in contact, ΔG, is the change of the free energy of association: by Bennett's acceptance
ratio (1976, doi:10.1016/0021-9991(76)90078-4) from a run with each. An acid whose bridge is closed whenever it is charged has its pKa ΔG/(RT ln 10) higher by it, and one whose bridge is open has not changed.

Prints ΔG with its error (bootstrap over blocks of 5 ps), the same in pK units, the median of the shortest distance of N and O in both runs, and the length of the runs. Energies in kJ/mol, lengths in nm.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np
import openmm
from openmm import app, unit

from octitrate.force_fields import Atom, View, load, register, view
from octitrate.pair_corrections import CORRECTIONS
from octitrate.peptide import peptide
from octitrate.residues import TitratableForceField

EDGE, KT = 2.4, 0.00831446262 * 300
EVERY = 25
"""Steps of 4 fs between two samples."""
BLOCK = 50
"""Samples of a block: 5 ps, several times what rotations of the groups take."""

FEWEST = 5
"""Blocks of a run, however long they take: fewer have no error."""

CUT = {"ASP": ("CB", "CA"), "LYS": ("CE", "CD"), "ARG": ("CD", "CG")}
"""Where a side chain is cut: the last atom that stays, and the one whose place the hydrogen takes."""
KEPT = {
    "ASP": ("CB", "HB2", "HB3", "CG", "OD1", "OD2"),
    "LYS": ("CE", "HE2", "HE3", "NZ", "HZ1", "HZ2", "HZ3"),
    "ARG": ("CD", "HD2", "HD3", "NE", "HE", "CZ", "NH1", "HH11", "HH12", "NH2", "HH21", "HH22"),
}
CENTRE, NITROGENS, WALL = {"LYS": "NZ", "ARG": "CZ"}, {"LYS": ("NZ",), "ARG": ("NE", "NH1", "NH2")}, {"LYS": 0.42, "ARG": 0.50}


def molecule(forcefield: Any, residue: str) -> tuple[View, list[Any]]:
    """The side chain of a residue with a hydrogen where it is cut, like its neighbours; places of its atoms."""
    whole, (last, before) = view(forcefield, forcefield._templates[residue]), CUT[residue]
    atoms = {name: Atom(whole.atoms[name].type, whole.atoms[name].charge, whole.atoms[name].element) for name in KEPT[residue]}
    like = KEPT[residue][1]
    atoms["HC"] = Atom(atoms[like].type, atoms[like].charge, "H")
    total = sum(atom.charge for atom in atoms.values())
    atoms[last].charge += round(total) - total
    bonds = [bond for bond in whole.bonds if set(bond) <= set(KEPT[residue])] + [(last, "HC")]
    made = View(f"{residue}-cut", atoms, bonds)
    register(forcefield, made)
    ff = TitratableForceField("ff14SB")
    model = peptide(("ACE", residue, "NME"))
    model = ff.add_hydrogens(model, ff.build_names(model.topology))
    found = {atom.name: model.positions[atom.index].value_in_unit(unit.nanometer) for atom in model.topology.atoms() if atom.residue.index == 1}
    bond = found[before] - found[last]
    found["HC"] = found[last] + bond * (0.109 / unit.norm(bond))
    return made, [found[name] for name in atoms]


class Pair:
    """Both ions in water; `scale`: 0 without the corrections, 1 with them."""

    def __init__(self, base: str, scale: float, seed: int) -> None:
        forcefield = load("ff14SB", "tip3p")
        topology, places, templates = app.Topology(), [], {}
        for name in (base, "ASP"):
            one, found = molecule(forcefield, name)
            residue = topology.addResidue(name, topology.addChain(), "1")
            atoms = {atom: topology.addAtom(atom, app.Element.getBySymbol(data.element), residue) for atom, data in one.atoms.items()}
            for a, b in one.bonds:
                topology.addBond(atoms[a], atoms[b])
            centre = np.mean(found, axis=0)
            places += [openmm.Vec3(*(np.array(x) - centre + EDGE / 2 + (0.28 if name == "ASP" else -0.28))) for x in found]
            templates[residue] = one.name
        modeller = app.Modeller(topology, places * unit.nanometer)

        def named() -> dict[Any, str]:
            return {residue: f"{residue.name}-cut" for residue in modeller.topology.residues() if residue.name != "HOH"}

        modeller.addSolvent(forcefield, boxSize=openmm.Vec3(EDGE, EDGE, EDGE), neutralize=False, residueTemplates=named())
        system = forcefield.createSystem(
            modeller.topology, nonbondedMethod=app.PME, constraints=app.HBonds, hydrogenMass=3 * unit.amu, residueTemplates=named()
        )
        index = {(atom.residue.name, atom.name): atom.index for atom in modeller.topology.atoms() if atom.residue.name != "HOH"}
        self.pairs = [(index[base, n], index["ASP", o]) for n in NITROGENS[base] for o in ("OD1", "OD2")]
        correction = CORRECTIONS["cufix"].pairs[0]
        self.constants = (correction.sigma, correction.corrected, correction.epsilon)
        extra = openmm.CustomBondForce(f"{scale}*4*{correction.epsilon}*((s/r)^12-(s/r)^6-(t/r)^12+(t/r)^6);s={correction.corrected};t={correction.sigma}")
        wall = openmm.CustomBondForce(f"5000*max(0,r-{WALL[base]})^2")
        for pair in self.pairs:
            extra.addBond(*pair)
        wall.addBond(index[base, CENTRE[base]], index["ASP", "CG"])
        for force in (extra, wall):
            force.setUsesPeriodicBoundaryConditions(True)
            system.addForce(force)
        system.addForce(openmm.MonteCarloBarostat(1 * unit.bar, 300 * unit.kelvin, 50))
        integrator = openmm.LangevinMiddleIntegrator(300 * unit.kelvin, 1 / unit.picosecond, 4 * unit.femtoseconds)
        integrator.setRandomNumberSeed(seed)
        self.simulation = app.Simulation(modeller.topology, system, integrator, openmm.Platform.getPlatformByName("CPU"), {"Threads": "1"})
        self.simulation.context.setPositions(modeller.positions)
        self.simulation.minimizeEnergy(maxIterations=300)
        self.simulation.context.setVelocitiesToTemperature(300 * unit.kelvin, seed)
        self.simulation.step(5000)
        self.distances: list[list[float]] = []

    def sample(self) -> None:
        """Runs a block and notes the distances of N and O."""
        for _ in range(BLOCK):
            self.simulation.step(EVERY)
            state = self.simulation.context.getState(getPositions=True)
            places, edges = state.getPositions(asNumpy=True)._value, np.diag(state.getPeriodicBoxVectors(asNumpy=True)._value)
            apart = np.array([places[i] - places[j] for i, j in self.pairs])
            self.distances.append(list(np.linalg.norm(apart - edges * np.round(apart / edges), axis=1)))

    def work(self) -> Any:
        """What the corrections add to the energy of each sample, kJ/mol."""
        old, new, epsilon = self.constants
        r = np.array(self.distances)
        return sum(sign * 4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6) for sigma, sign in ((new, 1), (old, -1))).sum(axis=1)


def bennett(without: Any, having: Any) -> float:
    """ΔG from the work in samples of both potentials."""
    shift, low, high = KT * math.log(len(without) / len(having)), -50.0, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        less = np.sum(1 / (1 + np.exp((shift + without - middle) / KT))) < np.sum(1 / (1 + np.exp((middle - shift - having) / KT)))
        low, high = (middle, high) if less else (low, middle)
    return low


def error(without: Any, having: Any) -> float:
    """Standard deviation of ΔG over draws of blocks."""
    random, draws = np.random.default_rng(1), []
    for _ in range(200):
        draws.append(bennett(*(np.concatenate([np.split(one, len(one) // BLOCK)[k] for k in random.integers(0, len(one) // BLOCK, len(one) // BLOCK)]) for one in (without, having))))
    return float(np.std(draws))


def main() -> None:
    """Runs both potentials by turns and prints a line."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("base", choices=list(CENTRE))
    p.add_argument("--minutes", type=float, default=15.0)
    p.add_argument("--seed", type=int, default=1)
    chosen = p.parse_args()
    runs, end = [Pair(chosen.base, scale, chosen.seed) for scale in (0.0, 1.0)], time.time() + 60 * chosen.minutes
    while time.time() < end or len(runs[0].distances) < FEWEST * BLOCK:
        for run in runs:
            run.sample()
    work = [run.work() for run in runs]
    found, apart = bennett(*work), [np.median(np.min(run.distances, axis=1)) for run in runs]
    pk, spread = KT * math.log(10), error(*work)
    print(
        f"{chosen.base}: ΔG = {found:.2f} ± {spread:.2f} kJ/mol, {found / pk:.2f} ± {spread / pk:.2f} pK units; N to O {apart[0]:.3f} → {apart[1]:.3f} nm; "
        f"{len(work[0]) * EVERY * 0.004:.0f} ps each"
    )


if __name__ == "__main__":
    main()
