"""Which model of water a finished system has, by its numbers: names of files and residues do not say it, and corrections of charge buffers belong to one model.

Charges of the hydrogens, with the number of sites, tell the models apart:

=============  =====  ==========  ===========================================================
model          sites  charge (e)  source
=============  =====  ==========  ===========================================================
TIP3P          3      0.417       Jorgensen et al. 1983, doi:10.1063/1.445869
SPC            3      0.41        Berendsen et al. 1981, doi:10.1007/978-94-015-7658-1_21
SPC/E          3      0.4238      Berendsen et al. 1987, doi:10.1021/j100308a038
TIP3P-FB       3      0.424225    Wang et al. 2014, doi:10.1021/jz500737m
OPC3           3      0.447585    Izadi & Onufriev 2016, doi:10.1063/1.4960175
TIP4P          4      0.52        Jorgensen et al. 1983
TIP4P-Ew       4      0.52422     Horn et al. 2004, doi:10.1063/1.1683075
TIP4P-FB       4      0.525874    Wang et al. 2014
TIP4P/2005     4      0.5564      Abascal & Vega 2005, doi:10.1063/1.2121687
OPC            4      0.679142    Izadi et al. 2014, doi:10.1021/jz501780a
TIP5P          5      0.241       Mahoney & Jorgensen 2000, doi:10.1063/1.481505
=============  =====  ==========  ===========================================================

TIP3P of CHARMM has the charges of the other one, and Lennard-Jones on its hydrogens; the two are one name here, as they are for ``--water``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import openmm
from openmm import unit

from ..force_fields import FORCE_FIELDS

MODELS: dict[str, tuple[str, int, float]] = {
    "tip3p": ("TIP3P", 3, 0.417), "spc": ("SPC", 3, 0.41), "spce": ("SPC/E", 3, 0.4238), "tip3pfb": ("TIP3P-FB", 3, 0.424225), "opc3": ("OPC3", 3, 0.447585),
    "tip4p": ("TIP4P", 4, 0.52), "tip4pew": ("TIP4P-Ew", 4, 0.52422), "tip4pfb": ("TIP4P-FB", 4, 0.525874), "tip4p2005": ("TIP4P/2005", 4, 0.5564),
    "opc": ("OPC", 4, 0.679142), "tip5p": ("TIP5P", 5, 0.241),
}  # fmt: skip
"""Names for ``--water``, or such as they would have: what people call each model, its sites, and the charge (e) of its hydrogens."""

NEAR = 1e-4
"""Charges (e) that differ by less are those of a model: files have four decimals at least, and models are 4e-4 apart."""

BROUGHT = {"tip3p": ("ff14SB", "charmm36m"), "opc": ("ff19SB",)}
"""Waters of which octitrate brings corrections, and the force fields that they are for; those for AMBER99SB-ILDN in TIP3P are built into the program."""


@dataclass(frozen=True)
class Water:
    """The water of a system. `key`: its name for `--water`, none for a model that is not known; `sites` of a molecule; `charge` of a hydrogen (e)."""

    key: str | None
    sites: int
    charge: float

    @property
    def title(self) -> str:
        """What people call it."""
        return MODELS[self.key][0] if self.key is not None else "of no model that is known here"

    def words(self) -> str:
        """It, with what it is known by: `OPC (4 sites, +0.6791 e on each hydrogen)`."""
        return f"{self.title} ({self.sites} sites, {self.charge:+.4f} e on each hydrogen)"

    def force_fields(self) -> list[str]:
        """Names of the force fields that go with it."""
        return [name for name, family in FORCE_FIELDS.items() if self.key in family.waters]


def recognised(system: Any, topology: Any) -> Water | None:
    """The model of the water of a system of OpenMM: that of most of its molecules; none without water."""
    charges = next((force for force in system.getForces() if isinstance(force, openmm.NonbondedForce)), None)
    bonded = {atom.residue.index for bond in topology.bonds() for atom in bond if bond[0].residue is not bond[1].residue}
    found: dict[tuple[int, float], int] = {}
    if charges is None:
        return None
    for residue in topology.residues():
        atoms = list(residue.atoms())
        hydrogens = [atom.index for atom in atoms if _symbol(atom) == "H"]
        if not 3 <= len(atoms) <= 5 or len(hydrogens) != 2 or residue.index in bonded or sum(_symbol(atom) == "O" for atom in atoms) != 1:
            continue
        if any(system.getParticleMass(atom.index)._value > 0.0 and _symbol(atom) not in ("O", "H") for atom in atoms):
            continue
        charge = charges.getParticleParameters(hydrogens[0])[0].value_in_unit(unit.elementary_charge)
        key = (len(atoms), round(charge, 6))
        found[key] = found.get(key, 0) + 1
    if not found:
        return None
    sites, charge = max(found, key=lambda one: found[one])
    return Water(next((key for key, (_, n, q) in MODELS.items() if n == sites and abs(q - charge) < NEAR), None), sites, charge)


def _symbol(atom: Any) -> str:
    return "" if atom.element is None else str(atom.element.symbol)


def advice(water: Water) -> str:
    """What to give with `--from` for a water that the built-in corrections are not for, in a sentence."""
    if brought := BROUGHT.get(water.key or ""):
        options = " or ".join(f"--force-field {name}{'' if next(iter(FORCE_FIELDS[name].waters)) == water.key else f' --water {water.key}'}" for name in brought)
        return f"{options} puts those for {water.title} beside the job, if the protein has that force field"
    if fields := water.force_fields():
        return (
            f"octitrate brings none for {water.title}; `octitrate calibrate --residue \"GLU,ASP,HIS\" --force-field {'ff14SB' if 'ff14SB' in fields else fields[0]} --water {water.key}` makes them (the residues that "
            f"titrate, and the force field of the protein: {', '.join(fields)}), and --force-field with --water {water.key} puts them beside the job"
        )
    return f"octitrate has no corrections for it, and cannot make them by `octitrate calibrate --residue`; waters that it knows are {', '.join(known_waters())}"


def known_waters() -> list[str]:
    """Names that `--water` takes, of all force fields."""
    return list(dict.fromkeys(name for family in FORCE_FIELDS.values() for name in family.waters))
