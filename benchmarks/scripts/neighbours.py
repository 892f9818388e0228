#!/usr/bin/env python3
"""What the neighbour of an end of a chain does to the free energy of losing a proton that is no chemistry: the numbers of octitrate/neighbours.py.

    .tools/prepare/bin/python3 benchmarks/scripts/neighbours.py cterm [--steps 60000] [--seeds 3]
    .tools/prepare/bin/python3 benchmarks/scripts/neighbours.py nterm

Pairs of atoms one and two bonds apart do not interact, and pairs three bonds apart only in part. Between an end that titrates and its neighbour that
takes away tens of kJ/mol, which depend on the charges of the neighbour, and a correction V_MM was calibrated with a cap (ACE, NME) in its place. Here the
free energy between the forms is computed with the cap, with Ala, and with Ala that has the backbone charges of each other residue (the rest on CB, so that
charges of side chains, which act in the protein by themselves, are not counted), in a generalised Born solvent (OBC model II: Onufriev, Bashford & Case
2004, doi:10.1002/prot.20033) with the dielectric constant of TIP3P, 95:

    offset(Y) = F(Ala) - F(cap) + F(Ala with charges of Y) - F(Ala);   Gly and Pro by themselves: F(Y) - F(cap)

F is the mean of the energy difference of the forms over dynamics of both, right to second order in what differs. Other charges are evaluated on the frames
of Ala.

Energies in kJ/mol, charges in e, lengths in nm.
"""

import argparse

import numpy as np
import openmm
from octitrate.model_compound import Compound, solvated
from octitrate.residues import TitratableForceField

RADII = {"H": 0.12, "C": 0.17, "N": 0.155, "O": 0.15, "S": 0.18}
"""Radii of Bondi for this model; hydrogen at nitrogen 0.13."""
SCALES = {"H": 0.85, "C": 0.72, "N": 0.79, "O": 0.85, "S": 0.96}
DIELECTRIC = 95.0
RT = 0.0083144626 * 300
CHANGES = {
    "cterm": {"C": 0.1532, "O": -0.2460, "OXT": -0.1638, "HO2": -0.4747, "CA": -0.2687},
    "nterm": {"N": -1.1014, "H1": 0.1403, "H2": 0.1403, "H3": -0.1997, "CA": 0.0205},
}
"""What the end loses with its proton, of the entries of ff14SB at Ala: the same differences at every residue."""
OTHERS = "ARG ASN ASP CYS GLN GLU HIE HIP ILE LEU LYS MET PHE SER THR TRP TYR VAL".split()


class Peptide:
    """A peptide without its water in the generalised Born solvent. `site`: which residue has the end."""

    def __init__(self, ff, residues, site, end):
        model, system = solvated(Compound(residues, site, end, end), ff)
        solute = [atom for residue in model.topology.residues() if residue.name != "HOH" for atom in residue.atoms()]
        n = len(solute)
        self.n, self.positions = n, model.positions[:n]
        self.names = [(atom.residue.index, atom.name) for atom in solute]
        self.system = openmm.System()
        for k in range(n):
            self.system.addParticle(system.getParticleMass(k))
        for k in range(system.getNumConstraints()):
            a, b, length = system.getConstraintParameters(k)
            if max(a, b) < n:
                self.system.addConstraint(a, b, length)
        sizes = {"HarmonicBondForce": ("Bond", 2), "HarmonicAngleForce": ("Angle", 3), "PeriodicTorsionForce": ("Torsion", 4)}
        self.pairs, self.solvent = openmm.NonbondedForce(), openmm.GBSAOBCForce()
        for force in system.getForces():
            kind = type(force).__name__
            if kind in sizes:
                name, size = sizes[kind]
                copy = type(force)()
                for k in range(getattr(force, f"getNum{name}s")()):
                    found = getattr(force, f"get{name}Parameters")(k)
                    if max(found[:size]) < n:
                        getattr(copy, f"add{name}")(*found)
                self.system.addForce(copy)
            elif kind == "NonbondedForce":
                for k in range(n):
                    self.pairs.addParticle(*force.getParticleParameters(k))
                for k in range(force.getNumExceptions()):
                    found = force.getExceptionParameters(k)
                    if max(found[:2]) < n:
                        self.pairs.addException(*found)
        self.charges = np.array([self.pairs.getParticleParameters(k)[0]._value for k in range(n)])
        self.exceptions = [self.pairs.getExceptionParameters(k) for k in range(self.pairs.getNumExceptions())]
        self.scaled = [0.0 if found[2]._value == 0 else 1 / 1.2 for found in self.exceptions]
        joined = {frozenset(self.system.getConstraintParameters(k)[:2]) for k in range(self.system.getNumConstraints())}
        for k, atom in enumerate(solute):
            symbol = atom.element.symbol
            at_nitrogen = symbol == "H" and any(solute[other].element.symbol == "N" for pair in joined if k in pair for other in pair - {k})
            self.solvent.addParticle(self.charges[k], 0.13 if at_nitrogen else RADII[symbol], SCALES[symbol])
        self.solvent.setSolventDielectric(DIELECTRIC)
        self.solvent.setSurfaceAreaEnergy(0.0)
        self.system.addForce(self.pairs)
        self.system.addForce(self.solvent)
        self.change = np.zeros(n)
        for name, value in CHANGES[end].items():
            self.change[self.names.index((site, name))] = value
        assert abs(self.change.sum() + 1) < 2e-3, self.names

    def set(self, context, charges):
        for k, charge in enumerate(charges):
            self.pairs.setParticleParameters(k, charge, *self.pairs.getParticleParameters(k)[1:])
            self.solvent.setParticleParameters(k, charge, *self.solvent.getParticleParameters(k)[1:])
        for k, (found, scale) in enumerate(zip(self.exceptions, self.scaled)):
            a, b = found[:2]
            self.pairs.setExceptionParameters(k, a, b, scale * charges[a] * charges[b], *found[3:])
        if context is not None:
            self.pairs.updateParametersInContext(context)
            self.solvent.updateParametersInContext(context)

    def free_energies(self, steps, seed, others=()):
        """F with its own charges, and what every set of other charges adds to it."""
        integrator = openmm.LangevinMiddleIntegrator(300, 5, 0.002)
        integrator.setRandomNumberSeed(seed)
        # A context knows the 1-4 pairs whose charges are not zero when it is made: all of them with the proton.
        self.set(None, self.charges)
        context = openmm.Context(self.system, integrator, openmm.Platform.getPlatformByName("CPU"), {"Threads": "1"})
        context.setPositions(self.positions)
        forms = [self.charges, self.charges + self.change]
        mean, shifts = [], []
        for form in (0, 1):
            self.set(context, forms[form])
            openmm.LocalEnergyMinimizer.minimize(context, 10, 200)
            context.setVelocitiesToTemperature(300, seed)
            integrator.step(3000)
            between, swaps = [], []
            for _ in range(steps // 500):
                integrator.step(500)
                energy = []
                for charges in [*forms, *(forms[form] + other for other in others)]:
                    self.set(context, charges)
                    energy.append(context.getState(getEnergy=True).getPotentialEnergy()._value)
                self.set(context, forms[form])
                between.append(energy[1] - energy[0])
                swaps.append(np.array(energy[2:]) - energy[form])
            mean.append(np.mean(between))
            swaps = np.array(swaps)
            shifts.append(swaps.mean(0) - swaps.var(0) / (2 * RT) if len(others) else np.zeros(0))
        return 0.5 * (mean[0] + mean[1]), shifts[1] - shifts[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("end", choices=sorted(CHANGES))
    parser.add_argument("--steps", type=int, default=60000, help="of 2 fs, of each form and seed")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    end, ff = arguments.end, TitratableForceField("ff14SB", "tip3p")
    carboxyl = end == "cterm"
    peptide = lambda *neighbour: Peptide(
        ff, ("ACE", *neighbour, "ALA") if carboxyl else ("ALA", *neighbour, "NME"), 1 + len(neighbour) if carboxyl else 0, end
    )
    cap, ala, gly, pro = peptide(), peptide("ALA"), peptide("GLY"), peptide("PRO")
    place = 1
    others = []
    for name in OTHERS:
        charges = {atom: one.charge for atom, one in ff.residues.plain(name).atoms.items() if atom in ("N", "H", "CA", "HA", "C", "O")}
        other = np.zeros(ala.n)
        for atom, charge in charges.items():
            k = ala.names.index((place, atom))
            other[k] = charge - ala.charges[k]
        other[ala.names.index((place, "CB"))] -= other.sum()
        others.append(other)
    found = []
    for seed in range(1, arguments.seeds + 1):
        zero, _ = cap.free_energies(arguments.steps, seed)
        of_ala, swaps = ala.free_energies(arguments.steps, seed, others)
        glycine, proline = (one.free_energies(arguments.steps, seed)[0] - zero for one in (gly, pro))
        found.append([of_ala - zero, glycine, proline, *(of_ala - zero + swaps)])
        print("seed", seed, " ".join(f"{name} {value:.1f}" for name, value in zip(["ALA", "GLY", "PRO", *OTHERS], found[-1])), flush=True)
    found = np.array(found)
    for name, values in zip(["ALA", "GLY", "PRO", *OTHERS], found.T):
        print(f"{name} {values.mean():6.2f} ± {values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0:.2f}")


if __name__ == "__main__":
    main()
