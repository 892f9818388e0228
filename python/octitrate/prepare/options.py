"""What can be asked of a preparation."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

FORMS = "--from x.prmtop x.rst7, --from x.top x.gro, or --from x.psf x.crd --parameters toppar.prm … --box-size 7 7 7"
"""What a finished system is given by."""

IN_BOXES = "octitrate takes finished systems in periodic boxes; of a protein in vacuum it reads the .top and the .gro themselves, in a job with electrostatics.boundary = \"open\""
"""What is said of one without a box."""


@dataclass
class Options:
    """The choices of a preparation with their defaults; the command line says what each means."""

    input: Path
    output: Path | None = None
    force: bool = False
    force_field: str = "charmm36m-ecc"
    """It has the smallest errors over the four proteins of validation/."""
    water: str | None = None
    pair_corrections: str | None = None
    """A name of `octitrate.pair_corrections.CORRECTIONS`."""
    library: list[Path] = field(default_factory=list)
    """Entries with corrections that `octitrate calibrate` wrote, or folders with them."""
    box: str = "dodecahedron"
    padding: float = 1.2
    """nm between the protein and the box."""
    salt: float = 0.15
    """mol/l."""
    ph_range: tuple[float, float] | None = None
    sites: list[str] = field(default_factory=list)
    """Groups that titrate by the numbers of the file, `GLU 35`, `HIS`, `A:GLU 100A`, `nterm`, `cterm`; empty: those whose pKa lies in the range."""
    model: int | None = None
    chains: list[str] = field(default_factory=list)
    """Names of chains, the empty one of that without a name, or `all`; no name: all of them, if the file says that they belong together."""
    altloc: str | None = None
    gaps: str = "refuse"
    ends: str = "auto"
    drop: list[str] = field(default_factory=list)
    keep: list[str] = field(default_factory=list)
    mutate: list[str] = field(default_factory=list)
    crystal_water: str = "keep"
    flips: str = "auto"
    """Whether side chains of Asn, Gln and His are turned where hydrogen bonds say so: `auto` or `none`."""
    seed: int = 1
    temperature: float = 300.0
    duration: str = "10 ns"
    """Of each run of the titration; a beginning for a small protein: docs/src/is-it-right.md, "How long"."""
    until: float | None = None
    """Error of the pKa values at which the runs may end before they have their whole length."""
    starts: int = 1
    """Structures that the replicas of each pH begin with: the prepared one, and others whose side chains were at 500 K."""
