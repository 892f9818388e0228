#!/usr/bin/env python3
"""Speed of OpenMM with PME on a water box of benchmarks/scripts/water_box.py: milliseconds per step of 2 fs, and ns/day.

    python3 benchmarks/scripts/openmm_pme.py folder/equilibrated/final.gro [CUDA|CPU|Reference] [steps] [forces.csv ...]

Each forces.csv (`octitrate energy JOB --forces FILE` on the same structure) but the first is compared with the first, which should be exact;
so are OpenMM's own forces.

Defaults of OpenMM: cut-off 1.0 nm, error tolerance 5e-4, rigid water, mixed precision. Needs OpenMM (PyPI openmm, openmm-cuda-13).
"""

import sys
import time

import numpy
import openmm
from openmm import unit


def read(path):
    """Atoms x 3 (nm), box edges (nm)."""
    with open(path) as lines:
        next(lines)
        n = int(next(lines))
        rows = [next(lines) for _ in range(n)]
        width = rows[0].index(".", rows[0].index(".") + 1) - rows[0].index(".")
        x = numpy.array([[float(row[20 + width * k:20 + width * (k + 1)]) for k in range(3)] for row in rows])
        edges = [float(v) for v in next(lines).split()[:3]]
    return x, edges


def forces(path):
    """Atoms x 3 (kJ/mol/nm)."""
    return numpy.loadtxt(path, delimiter=",", skiprows=1)[:, 1:]


def main():
    x, edges = read(sys.argv[1])
    platform = sys.argv[2] if len(sys.argv) > 2 else "CUDA"
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 5000
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(*(edges * numpy.eye(3)))
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(openmm.NonbondedForce.PME)
    force.setCutoffDistance(1.0)
    force.setEwaldErrorTolerance(5e-4)
    force.setUseDispersionCorrection(False)
    for first in range(0, len(x), 3):
        for charge, epsilon, mass in [(-0.834, 0.636386, 16.0), (0.417, 0.0, 1.008), (0.417, 0.0, 1.008)]:
            system.addParticle(mass)
            force.addParticle(charge, 0.315061, epsilon)
        for i, j, length in [(0, 1, 0.09572), (0, 2, 0.09572), (1, 2, 0.15139)]:
            system.addConstraint(first + i, first + j, length)
            force.addException(first + i, first + j, 0.0, 1.0, 0.0)
    system.addForce(force)
    integrator = openmm.LangevinMiddleIntegrator(300, 1.0, 0.002)
    properties = {"Precision": "mixed"} if platform in ("CUDA", "OpenCL") else {}
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName(platform), properties)
    context.setPositions(x)
    files = sys.argv[4:]
    if files:
        exact = forces(files[0])
        ours = context.getState(getForces=True).getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
        for name, these in [("OpenMM", ours)] + [(name, forces(name)) for name in files[1:]]:
            error = ((these - exact) ** 2).sum() / (exact**2).sum()
            print(f"relative force error {error ** 0.5:.2e}  {name}")
    context.applyConstraints(1e-6)
    context.setVelocitiesToTemperature(300, 1)
    integrator.step(max(steps // 10, 100))
    context.getState(getEnergy=True)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        integrator.step(steps // 5)
        context.getState(getEnergy=True)
        times.append((time.perf_counter() - start) / (steps // 5))
    times.sort()
    print(f"OpenMM {openmm.version.short_version} {platform} PME: {len(x)} atoms, {times[2] * 1e3:.4f} ms/step"
          f" ({times[0] * 1e3:.4f} to {times[4] * 1e3:.4f}), {0.002 * 86.4 / times[2]:.1f} ns/day")


main()
