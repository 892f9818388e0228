"""Finished systems through `--from`: which cut-offs the job has, how it begins, what octitrate makes of it. Files: `finished/make.py`."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, binary

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from octitrate.prepare.command import main  # noqa: E402

FILES = Path(__file__).parent / "finished"
PSF = ["--from", str(FILES / "glh.psf"), str(FILES / "glh.crd"), "--parameters", str(FILES / "glh.prm"), "--box-size", "3", "3", "3"]
PRMTOP = ["--from", str(FILES / "glh.prmtop"), str(FILES / "glh.rst7")]


def taken(words: list[str], place: Path) -> dict[str, Any]:
    assert main([*words, "-o", str(place), "-q"]) == 0
    return tomllib.loads((place / "titrate.toml").read_text())


def check(place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binary(), "check", "titrate.toml"], cwd=place, capture_output=True, text=True, check=False)


def test_a_prmtop_is_taken_over_and_titrates(tmp_path: Path) -> None:
    job = taken(PRMTOP, tmp_path / "amber")
    assert job["van_der_waals"] == {"cutoff": "1 nm", "modifier": "potential-shift"}
    assert job["minimise"] == {}
    assert job["position_restraints"] == {"duration": "40 ps", "fade": "20 ps"}
    assert job["barostat"] == {"pressure": "1 bar", "start": "20 ps"}
    # AMBER's numbers are those of GROMACS in other roundings (`ROUNDINGS`): octitrate says so, and the job has the line that allows it.
    answer = check(tmp_path / "amber")
    assert answer.returncode == 2 and answer.stderr.count(" in this job") == answer.stderr.count("parameters: ") == 3, answer.stderr
    file = tmp_path / "amber/titrate.toml"
    file.write_text(file.read_text().replace("# allow_mismatch", "allow_mismatch"))
    answer = check(tmp_path / "amber")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    # OpenMM calls GLH by its name in the PDB.
    assert "titratable sites     GLU 2, buffer" in answer.stdout
    said = (tmp_path / "amber/prepare.md").read_text()
    assert "Lennard-Jones ends at 1 nm, the potential is shifted to zero there" in said and "AMBER itself truncates" in said


ROUNDINGS = ("torsions", "Lennard-Jones", "1-4 charges", "well of water", "shape of water")
"""What differs between AMBER's files of AMBER99SB-ILDN with TIP3P and those of GROMACS, by which the corrections that are built in were made."""


@pytest.mark.parametrize("left", (None, *ROUNDINGS))
def test_a_prmtop_differs_from_the_built_in_corrections_by_five_roundings(left: str | None, tmp_path: Path) -> None:
    """With all of them undone the program knows Glu and its water, with one left it does not: nothing else differs, charges among it."""
    import openmm

    place = tmp_path / "amber"
    taken(PRMTOP, place)
    system = openmm.XmlSerializer.deserialize((place / "system.xml").read_text())
    of_kind = {type(force).__name__: force for force in system.getForces()}
    torsions, pairs = of_kind["PeriodicTorsionForce"], of_kind["NonbondedForce"]
    for k in range(torsions.getNumTorsions()) if left != "torsions" else ():
        *term, amplitude = torsions.getTorsionParameters(k)
        torsions.setTorsionParameters(k, *term, round(amplitude._value, 5))
    wells = []
    for k in range(pairs.getNumParticles()):
        charge, sigma, epsilon = (value._value for value in pairs.getParticleParameters(k))
        if left != "well of water" and epsilon == pytest.approx(0.635968, abs=1e-6):
            sigma, epsilon = 0.315061, 0.636386
        if left != "Lennard-Jones":
            sigma, epsilon = float(f"{sigma:.5e}"), float(f"{epsilon:.5e}")
        wells.append((sigma, epsilon))
        pairs.setParticleParameters(k, charge, sigma, epsilon)
    for k in range(pairs.getNumExceptions()):
        a, b, *numbers = pairs.getExceptionParameters(k)
        product, sigma, epsilon = (value._value for value in numbers)
        if product or epsilon:
            if left != "Lennard-Jones":
                sigma, epsilon = (wells[a][0] + wells[b][0]) / 2, (wells[a][1] * wells[b][1]) ** 0.5 / 2
            pairs.setExceptionParameters(k, a, b, product * (1 if left == "1-4 charges" else 0.8333 * 1.2), sigma, epsilon)
    for k in range(system.getNumConstraints()) if left != "shape of water" else ():
        a, b, length = system.getConstraintParameters(k)
        if length._value == pytest.approx(0.15136, abs=1e-6):
            system.setConstraintParameters(k, a, b, 0.15139)
    (place / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    answer = check(place)
    assert answer.returncode == (0 if left is None else 2), answer.stderr
    assert ("parameters: " in answer.stderr) == (left is not None)


def test_a_psf_gets_the_switch_of_charmm(tmp_path: Path) -> None:
    job = taken([*PSF, "--duration", "500 ps", "--until", "0.2"], tmp_path / "charmm")
    assert job["titrate"]["until"] == 0.2
    assert job["van_der_waals"] == {"cutoff": "1.2 nm", "modifier": "force-switch", "switch_start": "1 nm"}
    # A fiftieth of the run, in whole hundreds of steps.
    assert job["position_restraints"] == {"duration": "20 ps", "fade": "10 ps"}
    assert "Lennard-Jones ends at 1.2 nm, forces are switched off from 1 nm on" in (tmp_path / "charmm/prepare.md").read_text()
    # The correction for Glu that is built in was made with another cut-off, which octitrate sees now.
    answer = check(tmp_path / "charmm")
    assert answer.returncode == 2
    assert "cutoff" in answer.stderr and "force-switch" in answer.stderr, answer.stderr
    assert "not supported" not in answer.stderr


@pytest.mark.parametrize(("function", "switch"), [("5  109.5 418.4 0.0 0.0", None), ("5  109.5 418.4 0.2 5000.0", "1 nm")])
def test_a_topology_of_gromacs_with_urey_bradley_terms_is_one_of_charmm(function: str, switch: str | None, tmp_path: Path) -> None:
    atoms = "\n".join(f"{k} {'C' if k == 2 else 'H'} 1 MET {name} {k} {charge} {mass}" for k, name, charge, mass in ((1, "H1", 0.1, 1.008), (2, "C", -0.2, 12.011), (3, "H2", 0.1, 1.008)))
    (tmp_path / "m.top").write_text(
        f"""[ defaults ]
1 2 yes 1.0 1.0
[ atomtypes ]
H 1 1.008 0.0 A 0.2 0.1
C 6 12.011 0.0 A 0.3 0.4
[ moleculetype ]
MET 3
[ atoms ]
{atoms}
[ bonds ]
1 2 1 0.109 284512.0
2 3 1 0.109 284512.0
[ angles ]
1 2 3 {function}
[ system ]
m
[ molecules ]
MET 1
"""
    )
    rows = [f"    1MET  {name:>5}{k:5d}{x:8.3f}{y:8.3f}   1.000" for k, (name, x, y) in enumerate((("H1", 0.9, 1.05), ("C", 1.0, 1.0), ("H2", 1.1, 1.05)), 1)]
    (tmp_path / "m.gro").write_text("\n".join(["m", "3", *rows, "   3.0   3.0   3.0", ""]))
    job = taken(["--from", str(tmp_path / "m.top"), str(tmp_path / "m.gro")], tmp_path / "taken")
    assert job["van_der_waals"].get("switch_start") == switch
    # A single heavy atom is an ion for what is known here: nothing is held.
    assert "position_restraints" not in job and "start" not in job["barostat"]


def test_lipids_are_scaled_apart_from_the_normal(tmp_path: Path) -> None:
    head, labels = (FILES / "glh.prmtop").read_text().split("%FLAG RESIDUE_LABEL")
    (tmp_path / "glh.prmtop").write_text("%FLAG RESIDUE_LABEL".join([head, labels.replace("ACE ", "POPC", 1)]))
    place = tmp_path / "taken"
    job = taken(["--from", str(tmp_path / "glh.prmtop"), str(FILES / "glh.rst7")], place)
    assert "there are lipids (POPC): the barostat of the job scales x and y together and z apart" in (place / "prepare.md").read_text()
    assert job["barostat"]["coupling"] == "semi-isotropic"
    assert "coupling" not in taken(PRMTOP, tmp_path / "without")["barostat"]
    assert "there are lipids" not in (tmp_path / "without/prepare.md").read_text()


def test_the_cut_offs_are_those_of_the_files_that_octitrate_reads_itself(tmp_path: Path) -> None:
    inputs = ROOT / "inputs/01-glu"
    job = taken(["--from", str(inputs / "glu.top"), str(inputs / "glu.gro")], tmp_path / "taken")
    assert job["van_der_waals"] == {"cutoff": "1 nm", "modifier": "potential-shift"}
    answer = check(tmp_path / "taken")
    assert answer.returncode == 0 and "the job can be run" in answer.stdout, answer.stdout + answer.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*PRMTOP, "--sites", "GLU", "--salt", "0.1"], "--salt, --sites: of no effect with --from"),
        ([*PRMTOP, "--force-field", "ff14SB"], "--force-field: of no effect with --from"),
        ([*PRMTOP, "--duration", "ten"], "--duration 'ten': a time with its unit is meant"),
        ([*PRMTOP, "--temperature", "-5"], "--temperature -5: K are meant, 250 to 400"),
        (["--model-compound", "TYR", "--sites", "GLU"], "--sites: of no effect with --model-compound"),
        (["--model-compound", "TYR", "--temperature", "10"], "--temperature 10: K are meant, 250 to 400"),
        (["x.pdb", "--model-compound", "TYR"], "structure: of no effect with --model-compound"),
    ],
)
def test_options_that_would_do_nothing_are_refused(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "-o", str(tmp_path / "x")]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "x").exists()
