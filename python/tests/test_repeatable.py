"""The same input and seed give the same files, whatever number of cores there is and in whichever order Python has its sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("openmm")

import openmm  # noqa: E402
from conftest import Write, loaded, peptide_text  # noqa: E402
from octitrate import repeatable  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.model_compound import compound, solvated  # noqa: E402
from octitrate.prepare.command import options, parser  # noqa: E402
from openmm import unit  # noqa: E402

CHAIN = ("ALA", "GLU", "GLY", "LYS", "ASP", "HIS", "SER", "GLY")
BUILT = ("OG", "NZ", "CE", "OE1", "OE2")


def started(structure: Path, output: Path, threads: int) -> subprocess.Popen[bytes]:
    """A preparation as a program of its own: OpenMM counts threads once for each."""
    environment = os.environ | {"OPENMM_CPU_THREADS": str(threads), "PYTHONHASHSEED": str(threads), "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = ["prepare", str(structure), "-o", str(output), "--padding", "0.5", "--salt", "0.3", "-q"]
    return subprocess.Popen([sys.executable, "-m", "octitrate", *arguments], env=environment, cwd=output.parent)


def test_types_of_charmm_are_numbered_as_atoms_come_and_mean_the_same() -> None:
    model, system = solvated(compound("LYS"), loaded("charmm36m"))
    force = next(filter(repeatable.is_pair_table, system.getForces()))
    types = lambda: [int(force.getParticleParameters(atom)[0]) for atom in range(force.getNumParticles())]  # noqa: E731

    def energy() -> float:
        context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("CPU"))
        context.setPositions(model.positions * unit.nanometer)
        return float(context.getState(getEnergy=True).getPotentialEnergy()._value)

    # As another run of Python might have them.
    before = types()
    size = max(before) + 1
    for k in range(force.getNumTabulatedFunctions()):
        table = force.getTabulatedFunction(k)
        values = table.getFunctionParameters()[2]
        table.setFunctionParameters(size, size, list(reversed(values)))
    for atom, own in enumerate(before):
        force.setParticleParameters(atom, [size - 1 - own])
    expected = energy()
    repeatable.order_types(system)
    assert list(dict.fromkeys(types())) == list(range(size))
    assert energy() == pytest.approx(expected, rel=1e-6)


def test_the_same_input_and_seed_give_the_same_files(structure: Write, tmp_path: Path) -> None:
    """Atoms of side chains are built, hydrogens placed, water chosen for ions, and everything minimised."""
    text = peptide_text(*CHAIN)
    path = structure("".join(line for line in text.splitlines(keepends=True) if line[12:16].strip() not in BUILT)).input
    runs = []
    for name, threads in (("one", 1), ("two", 3)):
        (tmp_path / name).mkdir()
        runs.append(started(path, tmp_path / name / "prepared", threads))
    assert [run.wait() for run in runs] == [0, 0]
    folders = [tmp_path / name / "prepared" for name in ("one", "two")]
    one, two = ({str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()} for folder in folders)
    assert "library/glu3.toml" in one
    assert "finite_box.csv" in one and 'finite_box = "finite_box.csv"' in one["titrate.toml"].decode()
    text = two.pop("prepare.md").decode().replace("two/prepared", "one/prepared")
    assert one.pop("prepare.md").decode() == text and "the size of the box" in text
    assert one.keys() == two.keys() and [name for name in one if one[name] != two[name]] == []


@pytest.mark.parametrize("seed", ["0", "-1", "2147483648"])
def test_a_seed_that_openmm_takes_for_any_is_refused(seed: str) -> None:
    with pytest.raises(Refused, match=f"--seed {seed}: a whole number from 1 to 2147483647"):
        options(parser().parse_args(["x.pdb", "--seed", seed]))
