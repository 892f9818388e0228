"""The same input and seed give the same files, whatever number of cores there is and in whichever order Python has its sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Write, peptide_text

from octitrate.errors import Refused
from octitrate.prepare.command import options, parser

CHAIN = ("ALA", "GLU", "GLY", "LYS", "ASP", "HIS", "SER", "GLY")
BUILT = ("OG", "NZ", "CE", "OE1", "OE2")


def started(structure: Path, output: Path, seed: int, threads: int) -> subprocess.Popen[bytes]:
    """A preparation as a program of its own: OpenMM counts threads once for each."""
    environment = os.environ | {"OPENMM_CPU_THREADS": str(threads), "PYTHONHASHSEED": str(threads), "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = ["prepare", str(structure), "-o", str(output), "--padding", "0.6", "--salt", "0.3", "--seed", str(seed), "-q"]
    return subprocess.Popen([sys.executable, "-m", "octitrate", *arguments], env=environment, cwd=output.parent)


def test_the_same_input_and_seed_give_the_same_files(structure: Write, tmp_path: Path) -> None:
    """Atoms of side chains are built, hydrogens placed, water chosen for ions, and everything minimised."""
    text = peptide_text(*CHAIN)
    path = structure("".join(line for line in text.splitlines(keepends=True) if line[12:16].strip() not in BUILT)).input
    runs = []
    for name, seed, threads in (("one", 1, 1), ("two", 1, 3), ("three", 2, 1)):
        (tmp_path / name).mkdir()
        runs.append(started(path, tmp_path / name / "prepared", seed, threads))
    assert [run.wait() for run in runs] == [0, 0, 0]
    folders = [tmp_path / name / "prepared" for name in ("one", "two", "three")]
    one, two, three = ({str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()} for folder in folders)
    assert "library/glu3.toml" in one
    assert "finite_box.csv" in one and 'finite_box = "finite_box.csv"' in one["titrate.toml"].decode()
    text = two.pop("prepare.md").decode().replace("two/prepared", "one/prepared")
    assert one.pop("prepare.md").decode() == text and "the size of the box" in text
    assert one.keys() == two.keys() and [name for name in one if one[name] != two[name]] == []
    assert three["system.gro"] != one["system.gro"]  # the seed matters


@pytest.mark.parametrize("seed", ["0", "-1", "2147483648"])
def test_a_seed_that_openmm_takes_for_any_is_refused(seed: str) -> None:
    with pytest.raises(Refused, match=f"--seed {seed}: a whole number from 1 to 2147483647"):
        options(parser().parse_args(["x.pdb", "--seed", seed]))
