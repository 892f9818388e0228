"""AMBER99SB-ILDN with TIP3P as GROMACS has them.

The corrections that come with octitrate were calibrated with the files of GROMACS 2022.5 (`amber99sb-ildn.ff`), and the program recognises their
force field to six digits. OpenMM's files
of the same force field differ by the rounding of numbers, in two torsions of Asp (there with more digits than in Lindorff-Larsen et al. 2010,
doi:10.1002/prot.22711), and
in the order of the atoms of one improper dihedral of His. Here OpenMM's are given the numbers of GROMACS. Energies in kJ/mol, lengths in nm.
"""

from __future__ import annotations

from typing import Any

ASP = (
    (0, (-11.02484, -4.97896, -0.029288, 1.769832, 0.970688, -0.891192)),
    (1, (0.0, -1.853512, 0.0, -0.577392, 0.0, -0.054392)),
)
"""Torsions N-CA-CB-CG and CA-CB-CG-OD of Asp: place of the multiplicity that is the largest, amplitudes of the multiplicities 1 to 6, phase 0."""

IMPROPER = ("ND1", "CD2", "CG", "CB")
"""Order of the atoms of the improper dihedral about CG of HIP."""


def round_amber99sb_ildn(forcefield: Any) -> None:
    """Gives OpenMM's AMBER99SB-ILDN the numbers of GROMACS: six digits of Lennard-Jones parameters, five decimals of torsions, 0.8333 for Coulomb 1-4
    pairs, and the
    torsions of Asp. Relative differences are below 4e-5, and 2e-2 for the smallest amplitudes of Asp (0.001 kJ/mol)."""
    generators = {type(one).__name__: one for one in forcefield._forces}
    pairs, torsions = generators["NonbondedGenerator"], generators["PeriodicTorsionGenerator"]
    pairs.coulomb14scale = 0.8333
    for parameters in pairs.params.paramsForType.values():
        parameters.update({key: float(f"{parameters[key]:.5e}") for key in ("sigma", "epsilon")})
    for torsion in (*torsions.proper, *torsions.improper):
        torsion.k = [round(k, 5) for k in torsion.k]
        for largest, amplitudes in ASP:
            if _is(torsion, largest + 1, amplitudes[largest]):
                torsion.periodicity, torsion.phase, torsion.k = list(range(1, 7)), [0.0] * 6, list(amplitudes)
    forcefield._forces.append(_Improper())


def _is(torsion: Any, multiplicity: int, amplitude: float) -> bool:
    """Whether a term has this multiplicity as its largest, with this amplitude within 0.002 kJ/mol, whatever its phase."""
    at = dict(zip(torsion.periodicity, torsion.k, strict=True))
    return len(at) > 2 and abs(abs(at.get(multiplicity, 0.0)) - abs(amplitude)) < 2e-3 and max(map(abs, at.values())) == abs(at[multiplicity])


def original_tip3p(forcefield: Any) -> None:
    """Gives TIP3P the Lennard-Jones parameters of its paper (Jorgensen et al. 1983, doi:10.1063/1.445869), which GROMACS and the buffer of octitrate's library
    have: 0.315061 nm, 0.636386 kJ/mol. AMBER's files round half the distance of the minimum to 1.7683 Å and the depth of the well to 0.1520 kcal/mol."""
    generators = {type(one).__name__: one for one in forcefield._forces}
    oxygen = next(atom for atom in forcefield._templates["HOH"].atoms if atom.name == "O")
    generators["NonbondedGenerator"].params.paramsForType[oxygen.type].update(sigma=0.315061, epsilon=0.636386)


class _Improper:
    """A generator of forces that only puts the atoms of an improper dihedral in order, after the others."""

    def createForce(self, system: Any, data: Any, *more: Any) -> None:  # noqa: N802, OpenMM calls it so
        import openmm

        orders: dict[frozenset[int], list[int]] = {}
        for residue in {atom.residue for atom in data.atoms}:
            index = {atom.name: atom.index for atom in residue.atoms()}
            if residue.name.endswith("HIP") and set(IMPROPER) <= index.keys():
                order = [index[name] for name in IMPROPER]
                orders[frozenset(order)] = order
        for force in system.getForces():
            if isinstance(force, openmm.PeriodicTorsionForce):
                for k in range(force.getNumTorsions()):
                    *atoms, period, phase, amplitude = force.getTorsionParameters(k)
                    if period == 2 and frozenset(atoms) in orders:
                        force.setTorsionParameters(k, *orders[frozenset(atoms)], period, phase, amplitude)
