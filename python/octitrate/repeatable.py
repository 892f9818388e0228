"""OpenMM's CPU platform on one thread: the same input gives the same numbers, to the last bit and on any number of cores.

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
