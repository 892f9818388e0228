"""Plain Ewald sum of a periodic cell of any shape, in double precision: the truth for Coulomb energies and forces.

E = ½ Σ q_i q_j Σ_n 1/|r_ij + n| (tin-foil, uniform background where Σq ≠ 0) without the nearest image of excluded pairs.
With splitting parameter β: erfc(βr)/r in real space, (2π/V) Σ_k≠0 exp(−k²/4β²)/k² |S(k)|² in reciprocal space,
self energy −β/√π Σ q², background −π Q²/(2 V β²), excluded pairs −q_i q_j erf(βr)/r (minimum image).
k_e = 1: energies in e²/nm, forces in e²/nm². Frenkel & Smit, Understanding Molecular Simulation, ch. 12.
The cell is given by its edges, or by its three vectors as rows. The result must not depend on β; reference.py evaluates two values and stores the
difference.
"""
import math
from math import pi, sqrt

import numpy as np

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])


def matrix(cell):
    """The three vectors of a cell as rows."""
    cell = np.asarray(cell, dtype=float)
    return np.diag(cell) if cell.ndim == 1 else cell


def images(cell, reach=2):
    """Lattice vectors of up to `reach` edges, the zero vector first."""
    steps = range(-reach, reach + 1)
    turns = sorted(((i, j, k) for i in steps for j in steps for k in steps), key=lambda turn: sum(map(abs, turn)))
    return np.array(turns) @ cell


def nearest(d, cell):
    """The nearest image of each difference d, of all within two edges of the rounded one."""
    d = d - np.rint(d @ np.linalg.inv(cell)) @ cell
    if np.count_nonzero(cell - np.diag(np.diag(cell))) == 0:
        return d
    best, least = d, np.einsum("ij,ij->i", d, d)
    for shift in images(cell)[1:]:
        moved = d + shift
        squared = np.einsum("ij,ij->i", moved, moved)
        best, least = np.where((squared < least)[:, None], moved, best), np.minimum(squared, least)
    return best


def image_distance(cell):
    """Length of the shortest lattice vector."""
    return float(np.linalg.norm(images(cell)[1:], axis=1).min())


def _real_space(x, q, cell, excluded, beta, cutoff):
    """Energy and forces of erfc(βr)/r over minimum-image pairs inside the cut-off (≤ half the distance of images)."""
    n = len(q)
    energy, force = 0.0, np.zeros((n, 3))
    for i in range(n - 1):
        d = nearest(x[i] - x[i + 1 :], cell)
        r2 = np.einsum("ij,ij->i", d, d)
        near = r2 < cutoff * cutoff
        near[[j - i - 1 for j in excluded[i] if j > i]] = False
        j = np.flatnonzero(near)
        d, r2 = d[j], r2[j]
        r = np.sqrt(r2)
        qq = q[i] * q[i + 1 + j]
        screened = erfc(beta * r) / r
        energy += float(qq @ screened)
        pull = (qq * (screened + 2 * beta / sqrt(pi) * np.exp(-(beta * r) ** 2)) / r2)[:, None] * d
        force[i] += pull.sum(axis=0)
        np.subtract.at(force, i + 1 + j, pull)
    return energy, force


def _excluded(x, q, cell, excluded, beta):
    """Minus erf(βr)/r of the excluded pairs."""
    pairs = np.array([(i, j) for i, partners in enumerate(excluded) for j in partners if j > i])
    d = nearest(x[pairs[:, 0]] - x[pairs[:, 1]], cell)
    r = np.sqrt(np.einsum("ij,ij->i", d, d))
    qq = q[pairs[:, 0]] * q[pairs[:, 1]]
    smooth = erf(beta * r) / r
    pull = -(qq * (smooth - 2 * beta / sqrt(pi) * np.exp(-(beta * r) ** 2)) / r**2)[:, None] * d
    force = np.zeros_like(x)
    np.add.at(force, pairs[:, 0], pull)
    np.subtract.at(force, pairs[:, 1], pull)
    return -float(qq @ smooth), force


def _reciprocal(x, q, cell, beta, kmax):
    """Half space of k vectors with |k| < kmax (1/nm)."""
    volume = float(np.linalg.det(cell))
    reciprocal = 2 * pi * np.linalg.inv(cell).T
    fractional = x @ np.linalg.inv(cell)
    limits = np.floor(kmax * np.linalg.norm(cell, axis=1) / (2 * pi)).astype(int)
    energy, force = 0.0, np.zeros_like(x)
    waves = [np.exp(2j * pi * np.outer(np.arange(-limits[a], limits[a] + 1), fractional[:, a])) for a in range(3)]
    mz = np.arange(-limits[2], limits[2] + 1)
    for mx in range(limits[0] + 1):
        for my in range(-limits[1] if mx else 0, limits[1] + 1):
            k = mx * reciprocal[0] + my * reciprocal[1] + mz[:, None] * reciprocal[2]
            k2 = np.einsum("ij,ij->i", k, k)
            use = (k2 < kmax * kmax) & ((mz > 0) if mx == 0 and my == 0 else True)
            if not use.any():
                continue
            phases = waves[2][use] * (q * waves[0][limits[0] + mx] * waves[1][limits[1] + my])
            k, k2 = k[use], k2[use]
            weight = 4 * pi / volume * np.exp(-k2 / (4 * beta * beta)) / k2
            s = phases.sum(axis=1)
            energy += float((weight * abs(s) ** 2).sum())
            force += 2 * (weight[:, None] * (phases * s.conj()[:, None]).imag).T @ k
    return energy, force


def evaluate(x, q, cell, excluded, beta=3.6, cutoff=1.6, kmax=None):
    """(energy, forces); `excluded[i]` lists the partners of i. Both sums are cut where their terms fall below 1e-15."""
    x, q, cell = np.asarray(x, dtype=float), np.asarray(q, dtype=float), matrix(cell)
    if 2 * cutoff > image_distance(cell):
        raise ValueError(f"cut-off {cutoff} exceeds half of the distance of images in {cell}")
    kmax = kmax or 2 * beta * 5.9
    near, near_force = _real_space(x, q, cell, excluded, beta, cutoff)
    masked, masked_force = _excluded(x, q, cell, excluded, beta)
    far, far_force = _reciprocal(x, q, cell, beta, kmax)
    own = -beta / sqrt(pi) * float(q @ q)
    background = -pi * float(q.sum()) ** 2 / (2 * float(np.linalg.det(cell)) * beta * beta)
    return near + masked + far + own + background, near_force + masked_force + far_force
