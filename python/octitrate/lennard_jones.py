"""How Lennard-Jones interactions end. It belongs to a force field as its charges do, because its parameters were fitted with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cutoffs:
    """The distance (nm) at which Lennard-Jones interactions end, and that from which forces are switched off (nm; none: the potential is shifted to zero).

    Forces that are switched off are those of CHARMM36 and its relatives (Huang et al. 2017, doi:10.1038/nmeth.4067), which have no correction for the
    dispersion beyond the cut-off (`DispCorr = no` in the chapter about force fields of GROMACS's user guide; `useDispersionCorrection="False"` in OpenMM's
    `charmm36.xml`). Those of AMBER have one.
    """

    cutoff: float
    switch: float | None = None

    @property
    def has_correction(self) -> bool:
        """Whether energy and pressure are corrected for the dispersion beyond the cut-off."""
        return self.switch is None

    def system(self, source: Any, *arguments: Any, **settings: Any) -> Any:
        """The system that `createSystem` of a force field or a file of OpenMM makes, with PME and these cut-offs; what it is given goes on to it."""
        import openmm
        from openmm import app, unit

        ends = {"nonbondedCutoff": self.cutoff * unit.nanometer}
        if self.switch is not None:
            ends["switchDistance"] = self.switch * unit.nanometer
        system = source.createSystem(*arguments, nonbondedMethod=app.PME, constraints=app.HBonds, removeCMMotion=False, **ends, **settings)
        for force in system.getForces():
            if isinstance(force, openmm.NonbondedForce):
                force.setUseDispersionCorrection(self.has_correction)
            if isinstance(force, openmm.CustomNonbondedForce):
                force.setUseLongRangeCorrection(self.has_correction)
        return system

    def words(self) -> str:
        """Them in words."""
        if self.switch is None:
            return f"Lennard-Jones ends at {self.cutoff:g} nm, the potential is shifted to zero there, and dispersion beyond it corrected for"
        return f"Lennard-Jones ends at {self.cutoff:g} nm, forces are switched off from {self.switch:g} nm on, and dispersion beyond it is not corrected for"

    def lines(self, why: str = "") -> list[str]:
        """The section of a job, with the reason behind its name."""
        lines = ["[van_der_waals]" + (f" # {why}" if why else ""), f'cutoff = "{self.cutoff:g} nm"']
        if self.switch is None:
            return [*lines, 'modifier = "potential-shift"', ""]
        return [*lines, 'modifier = "force-switch"', f'switch_start = "{self.switch:g} nm"', "dispersion_correction = false", ""]


DEFAULT = Cutoffs(1.0)
"""Those that a job of octitrate has where it says nothing."""

CHARMM = Cutoffs(1.2, 1.0)
"""Those of CHARMM36 and its relatives."""
