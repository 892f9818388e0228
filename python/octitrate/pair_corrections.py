"""Corrections of the Lennard-Jones interaction of some pairs of charged groups: CUFIX.

AMBER's force fields with TIP3P hold ions of opposite charge together too firmly. CUFIX changes σ of some pairs and leaves everything else as it is: ε of the pair, all
other pairs, 1-4 pairs. σ was fitted to measured osmotic pressures with TIP3P:

==========================================  ================  =======  =============================================================================
pair                                        σ (nm)            + (Å)    source
==========================================  ================  =======  =============================================================================
N of an amine, O of a carboxyl              0.3105 → 0.3185   0.08     Yoo & Aksimentiev 2016, doi:10.1021/acs.jctc.5b00967 (arXiv:1510.02056)
N of a guanidinium, O of a carboxyl         0.3105 → 0.3185   0.08     that of amines, by the parameter file of its authors
Na+, O of a carboxyl                        0.2700 → 0.2800   0.10     Yoo & Aksimentiev 2012, doi:10.1021/jz201501a; ions of Joung & Cheatham 2008
K+, O of a carboxyl                         0.2999 → 0.3299   0.30     the same
Na+, Cl-                                    0.3458 → 0.3473   0.015    the same
K+, Cl-                                     0.3758 → 0.3778   0.02     the same
==========================================  ================  =======  =============================================================================

The review is Yoo & Aksimentiev 2018, doi:10.1039/C7CP08185E; the digits are those of its authors' parameter file for AMBER (cufix.itp). Its terms for
phosphates, lithium and the hydrated ions of magnesium and calcium are not needed for what is built here. Its term for aliphatic carbons (σ of CT-CT less 0.4 Å, doi:10.1021/acs.jpclett.6b01747)
is left out: it is written for one atom type, which ff14SB has divided, and it would change pairs within every model compound, so that no correction V_MM would hold.

Atoms are told by their place in a molecule and not by their type, since a carboxyl that titrates holds its hydrogens in every form:

- *amine*: a nitrogen with hydrogens whose carbons are all saturated: NZ of Lys, N of an amino end;
- *guanidinium*: a nitrogen at a carbon with three nitrogens: NE, NH1, NH2 of Arg;
- *carboxyl*: an oxygen at a carbon with two oxygens, with hydrogens or without: side chains of Asp and Glu, carboxyl ends;
- ions: a sodium, potassium or chlorine bonded to nothing.

The correction is a force of its own, c12/r¹² − c6/r⁶ with what the pair needs beyond the combination rule, so that charges, types and 1-4 pairs of the force field stay what they are.
Lengths in nm, energies in kJ/mol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import Refused

KINDS = ("other", "amine", "guanidinium", "carboxyl", "Na+", "K+", "Cl-")
"""Kinds of atoms; their place is the value of the parameter `kind` of the force."""

IONS = {"Na": "Na+", "K": "K+", "Cl": "Cl-"}

SAME_LENGTH, SAME_ENERGY = 1e-6, 1e-5
"""σ (nm) and ε (relative) of a pair that are those a correction was made for: the published digits are six."""


@dataclass(frozen=True)
class Correction:
    """One pair: σ (nm) that the force field has and σ that replaces it; ε (kJ/mol) of both."""

    pair: tuple[str, str]
    sigma: float
    corrected: float
    epsilon: float

    def __str__(self) -> str:
        words = {"amine": "N of amines", "guanidinium": "N of guanidinium", "carboxyl": "O of carboxyls"}
        first, second = (words.get(kind, kind) for kind in self.pair)
        return f"{first} with {second} {self.sigma:.4f} → {self.corrected:.4f} nm"


@dataclass(frozen=True)
class Corrections:
    """A set of corrections and what it was made for."""

    title: str
    source: str
    pairs: tuple[Correction, ...]
    force_fields: tuple[str, ...]
    water: str
    others: dict[str, str]
    """Why it is not for other force fields."""


CORRECTIONS = {
    "cufix": Corrections(
        "CUFIX",
        "Yoo & Aksimentiev 2016, doi:10.1021/acs.jctc.5b00967; 2018, doi:10.1039/C7CP08185E",
        (
            Correction(("amine", "carboxyl"), 0.310496, 0.318496, 0.790543521),
            Correction(("guanidinium", "carboxyl"), 0.310496, 0.318496, 0.790543521),
            Correction(("Na+", "carboxyl"), 0.269960, 0.279960, 0.566962900),
            Correction(("K+", "carboxyl"), 0.299894, 0.329894, 0.843814327),
            Correction(("Na+", "Cl-"), 0.345847, 0.347347, 0.233407852),
            Correction(("K+", "Cl-"), 0.375781, 0.377781, 0.347382324),
        ),
        ("ff14SB", "amber99sb-ildn"),
        "tip3p",
        {
            "ff19SB": "CUFIX was fitted with TIP3P to AMBER's ff99 and its variants, and ff19SB is made for OPC",
            "charmm36m": "CHARMM36m has pair terms of its own (NBFIX), and CUFIX other numbers for CHARMM",
            "charmm36m-ecc": "scaled charges weaken salt bridges by themselves, and CHARMM36m has pair terms of its own (NBFIX)",
        },
    )
}
"""Sets of corrections by their names."""


@dataclass(frozen=True)
class Applied:
    """A correction in a system: how many atoms of both kinds there are."""

    correction: Correction
    atoms: tuple[int, int]


def chosen(name: str, force_field: str, water: str) -> Corrections:
    """The corrections of a name for a force field and a water.

    Raises `Refused` for a name that is not known, and for a force field or a water that they were not made for.
    """
    found = CORRECTIONS.get(name)
    if found is None:
        raise Refused(f"there are no pair corrections {name!r}", f"those that are known: {', '.join(CORRECTIONS)}")
    if force_field not in found.force_fields:
        why = found.others.get(force_field, f"{found.title} was not made for it")
        raise Refused(f"no pair corrections of {found.title} with {force_field}: {why}", f"they go with {' and '.join(found.force_fields)} in {found.water}")
    if water != found.water:
        raise Refused(f"no pair corrections of {found.title} with {water}: they were fitted with {found.water}", f"leave --water out, or write --water {found.water}")
    return found


def kinds(atoms: Sequence[Any], bonded: Sequence[Sequence[int]]) -> list[str]:
    """The kind of every atom of an OpenMM topology; `bonded`: the indices of the atoms bonded to each."""
    symbols = [atom.element.symbol if atom.element is not None else "" for atom in atoms]

    def count(atom: int, symbol: str) -> int:
        return sum(symbols[other] == symbol for other in bonded[atom])

    def kind(atom: int) -> str:
        symbol = symbols[atom]
        if not bonded[atom]:
            return IONS.get(symbol, "other")
        heavy = [other for other in bonded[atom] if symbols[other] != "H"]
        carbons = bool(heavy) and all(symbols[other] == "C" for other in heavy)
        if symbol == "O" and carbons and len(heavy) == 1 and count(heavy[0], "O") == 2:
            return "carboxyl"
        if symbol == "N" and carbons:
            if any(count(other, "N") == 3 for other in heavy):
                return "guanidinium"
            if len(heavy) < len(bonded[atom]) and all(len(bonded[other]) == 4 for other in heavy):
                return "amine"
        return "other"

    return [kind(atom) for atom in range(len(atoms))]


class PairCorrections:
    """A generator of forces for `openmm.app.ForceField`: adds the corrections to every system that is made, after its other forces. A system without such pairs
    gets no force, and is what it is without corrections.

    `applied`, `left`: corrections of the system that was made last, and those that were left out because the force field has other numbers for the pair than they were
    made for (ions of AMBER99SB-ILDN).
    """

    def __init__(self, corrections: Corrections) -> None:
        self.corrections = corrections
        self.applied: list[Applied] = []
        self.left: list[Correction] = []

    def createForce(self, *_: Any) -> None:  # noqa: N802, OpenMM calls it so
        """Nothing: the force needs the exclusions of all others."""

    def postprocessSystem(self, system: Any, data: Any, *_: Any) -> None:  # noqa: N802
        """Adds the force to a system whose other forces are complete. Raises `Refused` for a system that cannot have it."""
        import openmm

        nonbonded = next(one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
        of_atoms = kinds(data.atoms, data.bondedToAtom)
        parameters = self._parameters(nonbonded, of_atoms)
        self.applied, self.left = [], []
        c6, c12 = ([0.0] * len(KINDS) ** 2 for _ in range(2))
        for one in self.corrections.pairs:
            first, second = one.pair
            if first not in parameters or second not in parameters:
                continue
            (s, e), (t, f) = parameters[first], parameters[second]
            sigma, epsilon = (s + t) / 2, (e * f) ** 0.5
            if abs(sigma - one.sigma) > SAME_LENGTH or abs(epsilon - one.epsilon) > SAME_ENERGY * one.epsilon:
                self.left.append(one)
                continue
            self.applied.append(Applied(one, (of_atoms.count(first), of_atoms.count(second))))
            i, j = KINDS.index(first), KINDS.index(second)
            for place in (i + len(KINDS) * j, j + len(KINDS) * i):
                c6[place] = 4 * epsilon * (one.corrected**6 - sigma**6)
                c12[place] = 4 * epsilon * (one.corrected**12 - sigma**12)
        if self.applied:
            system.addForce(self._force(nonbonded, of_atoms, c6, c12))

    def _parameters(self, nonbonded: Any, of_atoms: list[str]) -> dict[str, tuple[float, float]]:
        """σ and ε of each kind that there is."""
        found: dict[str, tuple[float, float]] = {}
        for index, kind in enumerate(of_atoms):
            if kind != "other":
                _, sigma, epsilon = (value._value for value in nonbonded.getParticleParameters(index))
                if found.setdefault(kind, (sigma, epsilon)) != (sigma, epsilon):
                    raise Refused(f"atoms of the kind {kind} have several Lennard-Jones parameters, and {self.corrections.title} corrects one")
        return found

    def _force(self, nonbonded: Any, of_atoms: list[str], c6: list[float], c12: list[float]) -> Any:
        import openmm

        methods = {
            openmm.NonbondedForce.NoCutoff: openmm.CustomNonbondedForce.NoCutoff,
            openmm.NonbondedForce.CutoffNonPeriodic: openmm.CustomNonbondedForce.CutoffNonPeriodic,
            openmm.NonbondedForce.CutoffPeriodic: openmm.CustomNonbondedForce.CutoffPeriodic,
            openmm.NonbondedForce.Ewald: openmm.CustomNonbondedForce.CutoffPeriodic,
            openmm.NonbondedForce.PME: openmm.CustomNonbondedForce.CutoffPeriodic,
        }
        if nonbonded.getNonbondedMethod() not in methods:
            raise Refused(f"{self.corrections.title} goes with a cut-off of Lennard-Jones interactions, not with their lattice sum (LJPME)")
        force = openmm.CustomNonbondedForce("c12(kind1, kind2)/r^12 - c6(kind1, kind2)/r^6")
        force.setName(self.corrections.title)
        force.addTabulatedFunction("c12", openmm.Discrete2DFunction(len(KINDS), len(KINDS), c12))
        force.addTabulatedFunction("c6", openmm.Discrete2DFunction(len(KINDS), len(KINDS), c6))
        force.addPerParticleParameter("kind")
        for kind in of_atoms:
            force.addParticle([KINDS.index(kind)])
        for index in range(nonbonded.getNumExceptions()):
            force.addExclusion(*nonbonded.getExceptionParameters(index)[:2])
        force.setNonbondedMethod(methods[nonbonded.getNonbondedMethod()])
        force.setCutoffDistance(nonbonded.getCutoffDistance())
        force.setUseSwitchingFunction(nonbonded.getUseSwitchingFunction())
        force.setSwitchingDistance(nonbonded.getSwitchingDistance())
        force.setUseLongRangeCorrection(nonbonded.getUseDispersionCorrection())
        return force


ACIDS, BASES = frozenset({"GLU", "ASP"}), frozenset({"LYS", "ARG"})
"""Residues whose side chain has a carboxyl, and an amine or a guanidinium."""


def in_model_compound(residue: str, first: bool, last: bool) -> bool:
    """Whether the model compound of a group at an end of a chain holds a pair that is corrected: the end of one and the side chain of the other charge."""
    return (first and residue in ACIDS) or (last and residue in BASES)
