"""A molecule in water, as `octitrate site --model` builds it: acetic acid and imidazolium of `inputs/`."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

openmm = pytest.importorskip("openmm")

from conftest import binary  # noqa: E402
from octitrate import ligand  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.molecule_in_water import Source, build, places, solvated  # noqa: E402
from openmm import unit  # noqa: E402

INPUTS = Path(__file__).parents[2] / "inputs"
MOLECULES = {"14-acetic-acid": ("HAC", 4.76), "15-imidazole": ("IMH", 6.95)}


def source(folder: str) -> Source:
    file = INPUTS / folder / "acid.xml"
    residue, system = ligand.load(file)
    return Source(str(file), residue, system, places(file, None, residue))


def energies(system: Any, places: Any) -> dict[str, float]:
    """Energy by kind of force, kJ/mol, in vacuum and without a cut-off."""
    for k, force in enumerate(system.getForces()):
        force.setForceGroup(k)
        if isinstance(force, openmm.NonbondedForce):
            force.setNonbondedMethod(openmm.NonbondedForce.NoCutoff)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(places * unit.nanometer)
    found = {}
    for k, force in enumerate(system.getForces()):
        found[type(force).__name__] = context.getState(getEnergy=True, groups={k}).getPotentialEnergy()._value
    return found


@pytest.mark.parametrize("folder", MOLECULES)
def test_nothing_between_the_atoms_of_the_molecule_changes(folder: str, bare: None) -> None:
    one = source(folder)
    model, system = solvated(one, "tip3p")
    count, names = one.residue.chain.topology.getNumAtoms(), [atom.name for atom in one.residue.atoms()]
    assert [atom.name for atom in list(model.topology.atoms())[:count]] == names
    assert [system.getParticleMass(k) for k in range(count)] == [one.system.getParticleMass(k) for k in range(count)]
    # Distorted, so that every term has an energy; the water is switched off.
    places = np.array(one.places) + 0.004 * np.sin(np.arange(3 * count)).reshape(count, 3)
    nonbonded = next(force for force in system.getForces() if isinstance(force, openmm.NonbondedForce))
    for k in range(count, system.getNumParticles()):
        nonbonded.setParticleParameters(k, 0.0, 0.3, 0.0)
    everything = np.concatenate([places, model.positions[count:] + 50.0])
    found, expected = energies(system, everything), energies(one.system, places)
    # Bonds to hydrogen are fixed at the length that they have at rest.
    bonds = next(force for force in one.system.getForces() if isinstance(force, openmm.HarmonicBondForce))
    fixed = {frozenset(system.getConstraintParameters(k)[:2]): system.getConstraintParameters(k)[2]._value for k in range(system.getNumConstraints())}
    hydrogens = {k for k, atom in enumerate(one.residue.atoms()) if atom.element.symbol == "H"}
    for k in range(bonds.getNumBonds()):
        a, b, length, constant = bonds.getBondParameters(k)
        if {a, b} & hydrogens:
            assert fixed.pop(frozenset((a, b))) == length._value
            expected["HarmonicBondForce"] -= 0.5 * constant._value * (np.linalg.norm(places[a] - places[b]) - length._value) ** 2
    assert all(min(pair) >= count for pair in fixed)
    for kind in ("HarmonicBondForce", "HarmonicAngleForce", "PeriodicTorsionForce", "NonbondedForce"):
        # sums of numbers up to 1e3 kJ/mol in another order
        assert found[kind] == pytest.approx(expected[kind], abs=1e-9), kind
        assert abs(expected[kind]) > 1e-3


@pytest.mark.parametrize("folder", MOLECULES)
def test_the_program_runs_what_the_command_writes(folder: str, tmp_path: Path, bare: None) -> None:
    name, pka = MOLECULES[folder]
    place = tmp_path / "model"
    arguments = ["--protonated", str(INPUTS / folder / "acid.xml"), "--deprotonated", str(INPUTS / folder / "base.xml"), "--pka", str(pka)]
    assert ligand.main([*arguments, "--name", "mine", "--source", "a book", "--model", str(place)]) == 0
    assert {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()} == {
        *("system.gro", "system.xml", "equilibrate.toml", "calibrate.toml", "titrate.toml", "library/mine.toml")
    }
    entry = tomllib.loads((place / "library/mine.toml").read_text())
    assert (entry["name"], entry["residues"], entry["pka"], entry["pka_source"]) == ("mine", [name], pka, "a book")
    for file in ("equilibrate.toml", "calibrate.toml"):
        answer = subprocess.run([binary(), "check", file], cwd=place, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        (place / "equilibrate").mkdir(exist_ok=True)
        shutil.copy(place / "system.gro", place / "equilibrate/final.gro")
    assert f"titratable sites     {name} 1, buffer" in answer.stdout
    titrate = tomllib.loads((place / "titrate.toml").read_text())
    assert (titrate["titration"]["library"][0], titrate["titrate"]["ph"][2]) == ("calibrate/mine.toml", pka)
    # Again: the folder of before stays.
    assert ligand.main([*arguments, "--model", str(place)]) == 2


def test_what_cannot_be_taken_over_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = source("14-acetic-acid")
    one.system.addForce(openmm.CustomBondForce("k*r"))
    with pytest.raises(Refused, match="CustomBondForce is not taken over into a box of water"):
        build(one, "hac", "", tmp_path / "model")
    with pytest.raises(Refused, match="has no water model 'swm4ndp'"):
        build(source("14-acetic-acid"), "hac", "", tmp_path / "model", "swm4ndp")
    assert list(tmp_path.iterdir()) == []
    file = shutil.copy(INPUTS / "14-acetic-acid/acid.xml", tmp_path)
    pdb = (INPUTS / "14-acetic-acid/acid.pdb").read_text().splitlines(keepends=True)
    (tmp_path / "acid.pdb").write_text("".join(pdb))
    (tmp_path / "short.pdb").write_text("".join(pdb[:3]) + "END\n")
    residue, _ = ligand.load(Path(file))
    with pytest.raises(Refused, match=r"short\.pdb has 2 atoms and .* 8: they do not belong together"):
        places(Path(file), tmp_path / "short.pdb", residue)
    with pytest.raises(Refused, match="there are no places of its atoms"):
        places(tmp_path / "other.prmtop", None, residue)
    assert capsys.readouterr().out == ""
