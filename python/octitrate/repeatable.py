"""The same input gives the same numbers, to the last bit: OpenMM's CPU platform on one thread, and types of atoms in one order.

With more threads OpenMM sums forces in the order in which these come, and its property `DeterministicForces` does not cover every force: a minimisation ends
elsewhere each time. The setting holds for the whole program, since OpenMM asks for it once. Machines with other vector instructions may still round otherwise.
"""

from __future__ import annotations

import os
import random
from typing import Any

import openmm


def platform(seed: int | None = None) -> Any:
    """The platform. With a seed also Python's random numbers begin anew, by which OpenMM places hydrogens."""
    if seed is not None:
        random.seed(seed)
    os.environ["OPENMM_CPU_THREADS"] = "1"  # what its PME looks at
    found = openmm.Platform.getPlatformByName("CPU")
    found.setPropertyDefaultValue("Threads", "1")
    return found


PAIR_TABLES = "acoef(type1, type2)/r^12 - bcoef(type1, type2)/r^6"
"""How the energy of the Lennard-Jones force begins that OpenMM makes of CHARMM's force fields: coefficients in tables of pairs of types."""


def is_pair_table(force: Any) -> bool:
    """Whether a force of OpenMM is that one."""
    return isinstance(force, openmm.CustomNonbondedForce) and force.getEnergyFunction().startswith(PAIR_TABLES)


def order_types(system: Any) -> Any:
    """The system, its types of tables of pairs numbered as its atoms come: OpenMM numbers them as Python has its sets, which differs from run to run."""
    for force in filter(is_pair_table, system.getForces()):
        atoms = range(force.getNumParticles())
        types = [int(force.getParticleParameters(atom)[0]) for atom in atoms]
        order = list(dict.fromkeys(types))
        numbers = {old: new for new, old in enumerate(order)}
        for k in range(force.getNumTabulatedFunctions()):
            table = force.getTabulatedFunction(k)
            size, _, values = table.getFunctionParameters()
            table.setFunctionParameters(len(order), len(order), [values[a + size * b] for b in order for a in order])
        for atom in atoms:
            force.setParticleParameters(atom, [numbers[types[atom]]])
    return system
