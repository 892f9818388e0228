"""AMBER99SB-ILDN from OpenMM is that of GROMACS, which the corrections of the library belong to: energies by term, and what the program says of them."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

openmm = pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from conftest import ROOT, binary  # noqa: E402
from octitrate.model_compound import Compound, solvated  # noqa: E402
from octitrate.prepare.structure import gro  # noqa: E402
from octitrate.residues import TitratableForceField  # noqa: E402
from openmm import app, unit  # noqa: E402

GROMACS = Path(os.environ.get("GMXDATA", "/usr/share/gromacs")) / "top"
INPUTS = ["04-his/his", "05-lys/lys", "06-arg/arg", "07-tyr/tyr", "08-cys/cys", "09-glu3/glu3", "10-asp3/asp3", "11-nterm/nterm", "12-cterm/cterm"]


@cache
def loaded() -> TitratableForceField:
    return TitratableForceField("amber99sb-ildn", "tip3p")


def solute(topology: Any, positions: Any) -> tuple[Any, list[Any]]:
    """Everything but water, with the names of the PDB where `octitrate.carboxyl` looks at them."""
    ends = {"OC1": "O", "OC2": "OXT"}
    part, copies, places = app.Topology(), {}, []
    chain = part.addChain()
    for residue in topology.residues():
        if residue.name in ("HOH", "SOL"):
            continue
        copy = part.addResidue("HIP" if residue.name == "HIS" else residue.name, chain, residue.id)
        for atom in residue.atoms():
            copies[atom] = part.addAtom(ends.get(atom.name, atom.name), atom.element, copy)
            places.append(positions[atom.index])
    for bond in topology.bonds():
        if bond[0] in copies:
            part.addBond(copies[bond[0]], copies[bond[1]])
    return part, places


def terms(system: Any, positions: Any) -> dict[str, float]:
    """Energy (kJ/mol) of every kind of force, RBTorsion and PeriodicTorsion together."""
    for number, force in enumerate(system.getForces()):
        force.setForceGroup(number)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(positions)
    found: dict[str, float] = {}
    for number, force in enumerate(system.getForces()):
        energy = context.getState(getEnergy=True, groups=1 << number).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
        kind = "torsions" if "Torsion" in force.getName() else force.getName()
        found[kind] = found.get(kind, 0.0) + energy
    return {kind: energy for kind, energy in found.items() if kind != "CMMotionRemover"}


@pytest.mark.skipif(not GROMACS.is_dir(), reason="no force fields of GROMACS: name their folder's parent in GMXDATA")
@pytest.mark.parametrize("name", INPUTS)
def test_energies_of_the_model_compounds_are_those_of_gromacs(name: str) -> None:
    read = app.GromacsTopFile(str(ROOT / f"inputs/{name}.top"), includeDir=str(GROMACS))
    structure = app.GromacsGroFile(str(ROOT / f"inputs/{name}.gro"))
    topology, positions = solute(read.topology, structure.positions)
    count = topology.getNumAtoms()
    whole = read.createSystem(nonbondedMethod=app.NoCutoff)
    theirs = openmm.System()
    ff = loaded()
    ours = ff.forcefield.createSystem(topology, residueTemplates=ff.templates(topology))
    # The solute of GROMACS's system: its terms among the first atoms.
    for _ in range(count):
        theirs.addParticle(1.0)
    for force in whole.getForces():
        theirs_of = part(force, count)
        if theirs_of is not None:
            theirs.addForce(theirs_of)
    found, expected = terms(ours, positions), terms(theirs, positions)
    assert found.keys() == expected.keys()
    for kind, energy in expected.items():
        # Topologies have five decimals of charges and six digits of everything else.
        assert found[kind] == pytest.approx(energy, abs=2e-3, rel=2e-6), kind


def part(force: Any, count: int) -> Any:
    """A force with the terms of the first atoms alone; `None` for what is no interaction."""
    kind = type(force)
    if kind is openmm.NonbondedForce:
        made = kind()
        for k in range(count):
            made.addParticle(*force.getParticleParameters(k))
        for k in range(force.getNumExceptions()):
            a, b, *parameters = force.getExceptionParameters(k)
            if a < count:
                made.addException(a, b, *parameters)
        return made
    calls = {
        openmm.HarmonicBondForce: ("getNumBonds", "getBondParameters", "addBond"),
        openmm.HarmonicAngleForce: ("getNumAngles", "getAngleParameters", "addAngle"),
        openmm.PeriodicTorsionForce: ("getNumTorsions", "getTorsionParameters", "addTorsion"),
        openmm.RBTorsionForce: ("getNumTorsions", "getTorsionParameters", "addTorsion"),
    }
    if kind not in calls:
        return None
    number, get, add = calls[kind]
    made = kind()
    for k in range(getattr(force, number)()):
        one = getattr(force, get)(k)
        if one[0] < count:
            getattr(made, add)(*one)
    return made


JOB = """[system]
structure = "system.gro"
topology = "system.xml"
[minimise]
[dynamics]
duration = "1 ps"
[thermostat]
temperature = "300 K"
[titration]
ph = 4.0
allow_uncalibrated = true
[titration.buffer]
residue = "HOH"
"""


@pytest.mark.parametrize(
    ("residues", "sites"),
    [
        (("ACE", "GLU", "HIS", "LYS", "TYR", "NME"), "Glu 2, His 3, Lys 4, Tyr 5"),
        (("ACE", "ASP", "ARG", "CYS", "NME"), "Asp 2, Arg 3, Cys 4"),
        (("ALA", "GLY", "LEU"), "N-term Ala 1, C-term Leu 3"),
        (("MET", "GLY", "GLU"), "N-term Met 1, Glu 3, C-term Glu 3"),
        (("GLY", "ALA", "GLY"), "N-term Gly 1, C-term Gly 3"),
    ],
)
def test_the_corrections_that_come_with_the_program_belong_to_it(residues: tuple[str, ...], sites: str, tmp_path: Path) -> None:
    """The program compares every Lennard-Jones parameter, bond length, angle, torsion and 1-4 pair of a group to six digits."""
    ff = loaded()
    model, system = solvated(Compound(residues, 0, "", ""), ff)
    (tmp_path / "system.gro").write_text(gro("peptide", model))
    (tmp_path / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    (tmp_path / "job.toml").write_text(JOB)
    answer = subprocess.run([binary(), "check", "job.toml"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert f"titratable sites     {sites}, buffer" in answer.stdout


WEIGHTS = {"his": [0.3, 0.3, 0.4], "glu3": [0.3, 0.3, 0.4], "asp3": [0.3, 0.3, 0.4], "cterm": [0.3, 0.3, 0.4]}

POINT = """[system]
structure = "{structure}"
topology = "{topology}"
[dynamics]
duration = "1 ps"
[thermostat]
temperature = "300 K"
[titration]
ph = 4.0
allow_uncalibrated = true
[[titration.site]]
residue = "{site}"
initial = {initial}
[titration.buffer]
residue = "{water}"
"""


@pytest.mark.skipif(not GROMACS.is_dir(), reason="no force fields of GROMACS: name their folder's parent in GMXDATA")
@pytest.mark.parametrize("name", INPUTS)
def test_the_program_finds_the_same_energies_and_forces_on_lambda(name: str, tmp_path: Path) -> None:
    """A model compound in water, from GROMACS's topology and from ours: every term and every ∂V/∂λ between the forms."""
    source = ROOT / f"inputs/{name}"
    read = app.GromacsTopFile(f"{source}.top", includeDir=str(GROMACS))
    structure = app.GromacsGroFile(f"{source}.gro")
    topology = renamed(read.topology)
    topology.setPeriodicBoxVectors(structure.getPeriodicBoxVectors())
    ff = loaded()
    system = ff.forcefield.createSystem(topology, nonbondedMethod=app.PME, constraints=app.HBonds, residueTemplates=ff.templates(topology))
    (tmp_path / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    lines = Path(f"{source}.gro").read_text().splitlines()
    atoms = (f"{line[:5]}{atom.residue.name:<5}{atom.name:>5}{line[15:]}" for line, atom in zip(lines[2:], topology.atoms(), strict=False))
    (tmp_path / "system.gro").write_text("\n".join([*lines[:2], *atoms, *lines[2 + topology.getNumAtoms() :], ""]))
    residue = next(one for one in topology.residues() if one.name not in ("ACE", "NME", "HOH"))
    end = source.name if source.name.endswith("term") else ""
    number = int(lines[2 + next(residue.atoms()).index][:5])
    found = {}
    for job, files, water in (("theirs", (f"{source}.gro", f"{source}.top"), "SOL"), ("ours", ("system.gro", "system.xml"), "HOH")):
        initial = WEIGHTS.get(source.name, 0.4)
        text = POINT.format(structure=files[0], topology=files[1], site=f"{end} {residue.name} {number}".strip(), initial=initial, water=water)
        (tmp_path / f"{job}.toml").write_text(text)
        answer = subprocess.run([binary(), "energy", f"{job}.toml", "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
        found[job] = json.loads(answer.stdout)
    ours, theirs = ({name: term["value"] for name, term in found[job]["energies"].items()} for job in ("ours", "theirs"))
    # The same numbers in another order of sums: 1e-13 of the largest term, 5e4 kJ/mol.
    assert ours == pytest.approx(theirs, abs=1e-8)
    assert found["ours"]["dvdl (kJ/mol)"] == pytest.approx(found["theirs"]["dvdl (kJ/mol)"], abs=1e-8)
    assert len(found["ours"]["dvdl (kJ/mol)"]) > 1


def renamed(topology: Any) -> Any:
    """The topology with the names that `octitrate prepare` gives, and bonds in water."""
    copy, atoms, chain = app.Topology(), {}, None
    for residue in topology.residues():
        chain = chain or copy.addChain()
        one = copy.addResidue({"HIS": "HIP", "SOL": "HOH"}.get(residue.name, residue.name), chain, residue.id)
        for atom in residue.atoms():
            atoms[atom] = copy.addAtom({"OC1": "O", "OC2": "OXT"}.get(atom.name, atom.name), atom.element, one)
        if one.name == "HOH":
            oxygen, *hydrogens = one.atoms()
            for hydrogen in hydrogens:
                copy.addBond(oxygen, hydrogen)
    for bond in topology.bonds():
        if bond[0].residue.name not in ("HOH", "SOL"):
            copy.addBond(atoms[bond[0]], atoms[bond[1]])
    return copy
