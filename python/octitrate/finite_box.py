"""What the size of a box does to the pKa values of a charged protein: the Poisson-Boltzmann equation in a spherical cell, in pK units.

A protein with a positive charge holds its protons less firmly, because its surface has a positive potential. In an experiment the zero of that potential is far
away in salt water. In a simulation the protein has its own charge once more in counter-ions within a few nanometres, and the proton that a group loses or
takes is exchanged with the molecules of the charge buffer, which are anywhere in the water: there the zero is the mean of the potential in the water of the
box. Both make the potential that acts smaller, and pKa values come out too high (too low around a negative protein).

A sphere with its charge on the surface, which ions keep away from, stands for the protein. It is a model of the mean; peptides of +6.5 e in boxes of 2 800 and
9 500 molecules of water, without salt, differ by 0.33 ± 0.08 where it has 0.24 to 0.30 (`validation/methods.md`).

Lengths in nm, charges in e, potentials in k_B T / e, concentrations in mol/l.
"""

from __future__ import annotations

import math

import numpy as np

BJERRUM = 0.714
"""nm, in water of 298 K with a permittivity of 78.5."""
PER_MOLAR = 0.6022
"""Particles in a nm³ of 1 mol/l."""
WATER = 0.0299
"""Volume of a water molecule, nm³."""
ION = 0.2
"""Closest distance of ions to the surface, nm."""
PROTEIN = 0.73 / 602.2
"""Volume of a protein, nm³ for each u: its partial specific volume, 0.73 cm³/g."""

POINTS = 200
"""Of the grid in the radius, denser near the protein: potentials of proteins of up to 18 e are within 0.0001 pK of those on twice as many."""
STEP = 1.0
"""The potential changes by less than this in a step of Newton's method."""


def radius(mass: float) -> float:
    """Of a sphere with the volume of a protein of this mass (u), nm."""
    return float((3 * PROTEIN * mass / (4 * math.pi)) ** (1 / 3))


def alone(charge: float, radius: float, salt: float, bjerrum: float = BJERRUM) -> float:
    """By how much the charge of a protein lowers pKa values at its surface, alone in salt water, pK units."""
    kappa = math.sqrt(8 * math.pi * bjerrum * salt * PER_MOLAR)
    grid = _grid(radius + ION, radius + ION + 12 / kappa)
    potential, _ = _solve(grid, charge, math.log(salt * PER_MOLAR), None, bjerrum)
    return _surface(charge, radius, potential, bjerrum) / math.log(10)


def in_box(charge: float, radius: float, waters: int, salt: float, bjerrum: float = BJERRUM) -> float:
    """The same in a box with this many molecules of water and pairs of ions for the concentration `salt` (above 0), beside the ions or buffers that make it neutral,
    from the mean of the potential in the water."""
    outer = (radius**3 + waters * WATER * 3 / (4 * math.pi)) ** (1 / 3)
    grid = _grid(radius + ION, outer)
    volume = 4 / 3 * math.pi * (outer**3 - (radius + ION) ** 3)
    pairs = salt * PER_MOLAR * volume
    # Of a protein with a negative charge everything is the mirror image.
    potential, shells = _solve(grid, abs(charge), math.log(pairs / volume), pairs, bjerrum)
    mean = float((potential * shells).sum() / shells.sum())
    return math.copysign(_surface(abs(charge), radius, potential, bjerrum) - mean, charge) / math.log(10)


def too_high(charge: float, mass: float, waters: int, salt: float, scale: float = 1.0) -> float:
    """By how much pKa values of a protein of this mass (u) and charge come out too high in a box, beside the same salt without walls; pK units. Where all charges of ions and
    ionised groups are scaled they interact as if the Bjerrum length were smaller by the square of the scale."""
    if charge == 0.0 or salt <= 0.0:
        return 0.0
    size, bjerrum = radius(mass), scale**2 * BJERRUM
    return alone(charge, size, salt, bjerrum) - in_box(charge, size, waters, salt, bjerrum)


ROWS = 9
"""Of a table at most: what the box does changes slowly with the charge, so that lines between them are within 0.003 of what lies there."""


def table(built: float, protons: int, mass: float, waters: int, salt: float, scale: float = 1.0) -> str:
    """`finite_box.csv`: by how much pKa values come out too high (`too_high`) while the protein loses its protons. `built` (e): its charge with all of them; `protons`: of
    all groups that titrate. `titrate.finite_box` and `octitrate pka --finite-box` take it off."""
    lines = [
        "# By how much pKa values come out too high in this box, in pK units, after that many protons of all groups that titrate are lost: an estimate by the Poisson-Boltzmann",
        f"# equation for a sphere of {mass:.0f} u in a cell with {waters} molecules of water and {salt:g} mol/l of salt. The titration has pKa values with it and without it.",
        "protons lost,charge of the protein,too high",
    ]
    for lost in sorted({round(float(lost)) for lost in np.linspace(0, protons, ROWS)}):
        charge = built - lost
        lines.append(f"{lost},{charge:.2f},{too_high(charge, mass, waters, salt, scale):.4f}")
    return "\n".join(lines) + "\n"


def _surface(charge: float, radius: float, potential: np.ndarray, bjerrum: float) -> float:
    """At the surface of the sphere, from that where ions begin: there is nothing but its charge in between."""
    return float(potential[0] + charge * bjerrum * (1 / radius - 1 / (radius + ION)))


def _grid(near: float, outer: float) -> np.ndarray:
    """Radii of the centres of shells: their distances from the protein grow like a square."""
    edges = near + (outer - near) * np.linspace(0, 1, POINTS + 1) ** 2
    return np.array(edges)


def _solve(edges: np.ndarray, charge: float, log_density: float, cations: float | None, bjerrum: float) -> tuple[np.ndarray, np.ndarray]:
    """The potential in shells with these edges around a charge, and their volumes.

    Densities of ions are c exp(-φ) and c exp(φ); log c is given or, where the number of cations is, an unknown beside the potentials. Finite volumes: the flux
    through each edge is that of the potentials beside it, the innermost is that of the protein, the outermost none. Newton's method.
    """
    centres, shells = (edges[1:] + edges[:-1]) / 2, 4 / 3 * math.pi * np.diff(edges**3)
    through = 4 * math.pi * edges[1:-1] ** 2 / np.diff(centres)
    potential = np.zeros(len(shells))
    for _ in range(400):
        plus, minus = shells * np.exp(log_density - potential), shells * np.exp(log_density + potential)
        rest = 4 * math.pi * bjerrum * (plus - minus)
        rest[0] += 4 * math.pi * bjerrum * charge
        flux = through * np.diff(potential)
        rest[:-1] += flux
        rest[1:] -= flux
        diagonal = -4 * math.pi * bjerrum * (plus + minus)
        diagonal[:-1] -= through
        diagonal[1:] -= through
        change, growth = _tridiagonal(diagonal, through, -rest), 0.0
        if cations is not None:
            # The last row and column, of the number of cations: by elimination.
            by_density = _tridiagonal(diagonal, through, 4 * math.pi * bjerrum * (plus - minus))
            growth = float((cations - plus.sum() + plus @ change) / (plus.sum() + plus @ by_density))
            change = change - growth * by_density
        shorter = min(1.0, STEP / max(np.abs(change).max(), abs(growth)))
        potential, log_density = potential + shorter * change, log_density + shorter * growth
        if shorter * max(np.abs(change).max(), abs(growth)) < 1e-9:
            return potential, shells
    raise ArithmeticError(f"no potential was found around {charge:g} e")


def _tridiagonal(diagonal: np.ndarray, beside: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solves equations whose symmetric matrix has this diagonal and these numbers beside it, by elimination from the first (Thomas's algorithm)."""
    pivots, found, off = diagonal.tolist(), right.tolist(), beside.tolist()
    for k, one in enumerate(off):
        factor = one / pivots[k]
        pivots[k + 1] -= factor * one
        found[k + 1] -= factor * found[k]
    found[-1] /= pivots[-1]
    for k in range(len(off) - 1, -1, -1):
        found[k] = (found[k] - off[k] * found[k + 1]) / pivots[k]
    return np.array(found)
