"""What a box of finite size and its salt take from the shift of pKa values by the net charge of a protein: Poisson-Boltzmann, in pK units.

    python3 validation/cell.py --charge 18 --radius 1.7 --waters 8205 --salt 0.15 --experiment 0.1

A sphere with its charge on the surface, which ions (radius 0.2 nm) keep away from, stands for the protein. In the experiment it is alone in salt water. In a
simulation it has a spherical cell of the volume of its box, in which the ions make it neutral, and the proton that a group loses or takes is exchanged with
molecules of the charge buffer, which are anywhere in the water: the zero of the potential is its mean in the water of the cell. Needs numpy and scipy.
"""

import argparse

import numpy as np
from scipy.integrate import solve_bvp

BJERRUM = 0.714
"""nm, in water of 298 K with a permittivity of 78.5."""
PER_MOLAR = 0.6022
"""Particles in a nm³ of 1 mol/l."""
WATER = 0.0299
"""Volume of a water molecule, nm³."""
ION = 0.2
"""Closest distance of ions to the surface, nm."""


def debye_hueckel(charge: float, near: float, r: np.ndarray, kappa: float) -> np.ndarray:
    """Potential (k_B T / e) of the linear equation at distances `r` from the centre: where the solver begins."""
    return charge * BJERRUM / r / (1 + kappa * near) * np.exp(-kappa * (r - near))


def alone(charge: float, radius: float, salt: float) -> float:
    """Potential at the surface in infinite salt water, k_B T / e."""
    near, density = radius + ION, salt * PER_MOLAR
    kappa = np.sqrt(8 * np.pi * BJERRUM * density)
    r = np.linspace(near, near + 12 / kappa, 2000)
    start = debye_hueckel(charge, near, r, kappa)
    found = solve_bvp(
        lambda r, y: np.vstack([y[1], 8 * np.pi * BJERRUM * density * np.sinh(y[0]) - 2 * y[1] / r]),
        lambda inner, outer: np.array([inner[1] + charge * BJERRUM / near**2, outer[0]]),
        r,
        np.vstack([start, np.gradient(start, r)]),
        tol=1e-6,
        max_nodes=100_000,
    )
    assert found.success, found.message
    return float(found.y[0][0] + charge * BJERRUM * (1 / radius - 1 / near))


def in_cell(charge: float, radius: float, outer: float, salt: float) -> tuple[float, float]:
    """Potential at the surface less that at the border of the cell, and less its mean in the water, k_B T / e.

    Numbers of ions are given, not their chemical potentials: the salt in all of the water, and the counterions. Their densities at the border, where the
    potential is 0, are unknowns beside it.
    """
    near = radius + ION
    volume = 4 / 3 * np.pi * (outer**3 - near**3)
    cations = salt * PER_MOLAR * volume
    anions = cations + charge

    def derivative(r: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        plus, minus = np.exp(p[0] - y[0]), np.exp(p[1] + y[0])
        shell = 4 * np.pi * r**2
        return np.vstack([y[1], -4 * np.pi * BJERRUM * (plus - minus) - 2 * y[1] / r, shell * plus, shell * minus])

    def border(a: np.ndarray, b: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.array([a[1] + charge * BJERRUM / near**2, a[2], a[3], b[0], b[2] - cations, b[3] - anions])

    r = np.linspace(near, outer, 400)
    start = debye_hueckel(charge, near, r, np.sqrt(4 * np.pi * BJERRUM * (cations + anions) / volume))
    inside = (r - near) / (outer - near)
    guess = np.vstack([start, np.gradient(start, r), cations * inside, anions * inside])
    found = solve_bvp(derivative, border, r, guess, p=np.log([cations / volume, anions / volume]), tol=1e-6, max_nodes=100_000)
    assert found.success, found.message
    potential, shell = found.y[0], found.x**2
    surface = potential[0] + charge * BJERRUM * (1 / radius - 1 / near)
    return float(surface), float(surface - np.trapezoid(potential * shell, found.x) / np.trapezoid(shell, found.x))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--charge", type=float, required=True, help="of the protein at the pH of interest, e")
    parser.add_argument("--radius", type=float, required=True, help="of a sphere of its volume, nm")
    parser.add_argument("--waters", type=int, required=True, help="molecules of water in the box")
    parser.add_argument("--salt", type=float, default=0.15, help="of the simulation, mol/l")
    parser.add_argument("--experiment", type=float, default=0.1, help="salt of the experiment, mol/l")
    args = parser.parse_args()
    if args.charge <= 0 or args.radius <= 0 or args.waters <= 0 or args.salt <= 0 or args.experiment <= 0:
        parser.error("all values are above 0; around a protein with as much negative charge pKa values are too low by as much")
    outer = (args.radius**3 + args.waters * WATER * 3 / (4 * np.pi)) ** (1 / 3)
    experiment = alone(args.charge, args.radius, args.experiment) / np.log(10)
    of_the_salt = alone(args.charge, args.radius, args.salt) / np.log(10)
    border, mean = (value / np.log(10) for value in in_cell(args.charge, args.radius, outer, args.salt))
    print(f"cell of {outer:.2f} nm around a sphere of {args.radius} nm with {args.charge:+g} e")
    print(f"lowered by its charge in {args.experiment} mol/l, alone:      {experiment:.2f}")
    print(f"                      in {args.salt} mol/l, alone:     {of_the_salt:.2f}")
    print(f"                      in the cell, from its border:  {border:.2f}")
    print(f"                      from the mean of its water:    {mean:.2f}")
    print(f"computed pKa values are too high by              {experiment - mean:.2f}")


main()
