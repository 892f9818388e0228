"""Structures that can be prepared: what is built, chosen and written."""

from __future__ import annotations

import io
import math
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from conftest import Write, loaded, moved, notes, peptide_text, residues, written
from openmm import app, unit

from octitrate.entries import BUILT_IN_STATUS, entry
from octitrate.errors import Refused
from octitrate.model_compound import compound
from octitrate.neighbours import offset
from octitrate.peptide import peptide
from octitrate.prepare import pipeline, predict, sites, solvate
from octitrate.prepare.build import Model
from octitrate.prepare.command import main
from octitrate.prepare.finished import gro
from octitrate.prepare.job import between_lines, length, picoseconds, position_restraints, settling
from octitrate.prepare.names import known_as
from octitrate.prepare.options import Options
from octitrate.prepare.pipeline import cost, prepare
from octitrate.prepare.report import Report
from octitrate.residues import Group, TitratableForceField

CHAIN = ("ALA", "GLU", "GLY", "LYS", "ASP", "HIS", "SER", "GLY")


def test_a_folder_holds_a_system_that_openmm_runs(structure: Write, report: Report) -> None:
    options = structure(peptide_text(*CHAIN))
    folder, job, atoms = written(options, report)
    assert job["minimise"] == {}
    assert job["position_restraints"] == {"duration": "40 ps", "fade": "20 ps"}
    assert job["barostat"] == {"pressure": "1 bar", "start": "20 ps"}
    assert job["thermostat"] == {"kind": "langevin", "friction": "1 /ps", "temperature": "300 K"}
    assert job["electrostatics"] == {"order": 8, "separation": 1.12}
    assert residues(atoms) == ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "ZGLY"]
    assert {"HE1", "HE2"} <= {name for _, residue, name in atoms if residue == "GL3"}
    system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
    assert system.getNumParticles() == len(atoms)
    # +3 e with every proton and -3 e without: neutral in the middle, without ions.
    assert solvate.charge(system) == pytest.approx(3, abs=1e-6)  # charges of force fields have six digits
    assert {"NA", "CL"}.isdisjoint(residue for _, residue, _ in atoms) and ", which charge buffers take up" in notes(report)
    rows = (folder / "system.gro").read_text().splitlines()[2:-1]
    places = [openmm.Vec3(*(float(row[20 + 11 * k : 31 + 11 * k]) for k in range(3))) for row in rows]
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("CPU"))
    context.setPositions(places * unit.nanometer)
    energy = context.getState(getEnergy=True).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
    assert math.isfinite(energy) and energy < 0
    asked = [site["residue"] for site in job["titration"]["site"]]
    assert asked == ["nterm ALA 1", "GL3 2", "LYS 4", "AS3 5", "HIP 6", "cterm ZGLY 8"]
    assert job["system"] == {"structure": "system.gro", "topology": "system.xml"}
    ph = job["titrate"]["ph"]
    assert ph == sorted(ph) and ph[0] <= 2 and ph[-1] >= 11
    text = (folder / "prepare.md").read_text()
    assert "| GLU 2 of chain A | 4.25 |" in text and "PROPKA" in text
    assert {p.name for p in folder.parent.iterdir()} == {"protein.pdb", "prepared"}


@pytest.mark.parametrize(
    ("chain", "ends", "wanted", "ions"),
    [
        (("GLY", "GLU", "GLU", "GLU", "GLU", "GLY"), "capped", [], (2, 0)),  # 0 to -4 e
        (("GLY", "GLU", "GLU", "LYS", "ARG", "LYS", "LYS", "GLY"), "capped", ["GLU"], (0, 3)),  # +4 to +2 e
        (("GLY", "GLU", "LYS", "LYS", "ALA", "GLY"), "capped", ["GLU 2"], (0, 2)),  # +2 to +1 e: a half goes up
    ],
)
def test_ions_make_the_box_neutral_in_the_middle_of_the_titration(
    chain: tuple[str, ...], ends: str, wanted: list[str], ions: tuple[int, int], structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    options = structure(peptide_text(*chain))
    options.ends, options.sites, options.ph_range = ends, wanted, (1.0, 8.0)
    folder, job, atoms = written(options, report)
    names = [residue for _, residue, _ in atoms]
    assert (names.count("NA"), names.count("CL")) == ions
    assert (job["titrate"]["ph"][0], job["titrate"]["ph"][-1]) == (1.0, 8.0)
    # What buffers take up at either end of the range is as much as at the other, within half a charge.
    low, high = (float(number) for number in re.search(r"least to take up: (\S+) to (\S+) e", notes(report)).groups())  # type: ignore[union-attr]
    assert abs(low + high) <= 1.0 and high - low == pytest.approx(sum(name in ("GL3",) for _, name, atom in atoms if atom == "CA"), abs=0.1)
    system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
    built = sum(name in ("LYS", "ARG") for _, name, atom in atoms if atom == "CA")
    assert solvate.charge(system) == pytest.approx(built + ions[0] - ions[1], abs=1e-6)


def test_the_middle_of_the_charges_is_a_whole_one() -> None:
    assert [solvate.middle(5.0, lost) for lost in ([0.0, 0.0], [0.01, 3.97], [4.0, 0.0], [0.0, 0.9], [0.0, 1.0], [0.0, 1.1])] == [5, 3, 3, 5, 5, 4]
    assert solvate.middle(-2.0000001, [0.0, 0.0]) == -2 and solvate.middle(-2.0000001, [0.0, 1.0]) == solvate.middle(-1.9999999, [0.0, 1.0]) == -2


def test_ions_are_apart_and_the_same_for_a_seed() -> None:
    def placed(seed: int, excess: int = 3, salt: float = 1.0) -> tuple[Any, np.ndarray]:
        modeller = app.Modeller(app.Topology(), [] * unit.nanometer)
        ff = app.ForceField("amber14/tip3p.xml")
        vectors = [openmm.Vec3(*(2.0 * x for x in vector)) for vector in solvate.SHAPES["dodecahedron"]]
        modeller.addSolvent(ff, boxVectors=vectors * unit.nanometer, neutralize=False)
        waters = list(modeller.topology.residues())
        solvate.add_ions(modeller, waters[5:], excess, salt, seed)
        places = np.array(modeller.positions.value_in_unit(unit.nanometer))
        assert [atom.index for atom in list(modeller.topology.residues())[4].atoms()] == [12, 13, 14]  # the first five are not among those that may go
        return modeller.topology, places

    topology, places = placed(1)
    names = [residue.name for residue in topology.residues()]
    pairs = names.count("CL")
    assert (names.count("NA"), pairs) == (pairs + 3, math.floor((len(names) - 5 - 3) / 55.4 + 0.5)) and pairs >= 3
    ions = places[[atom.index for atom in topology.atoms() if atom.residue.name != "HOH"]]
    vectors = np.array(topology.getPeriodicBoxVectors().value_in_unit(unit.nanometer))
    shifts = np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]) @ vectors
    apart = np.linalg.norm(ions[:, None, None] - ions[None, :, None] + shifts, axis=3)
    assert np.sort(apart.ravel())[len(ions)] > solvate.ION_SPACING  # each is at a distance of zero from itself
    assert (placed(1)[1] == places).all() and len(placed(2)[1]) == len(places) and not (placed(2)[1] == places).all()
    with pytest.raises(Refused, match="no room for .* ions 0.5 nm apart"):
        placed(1, 0, 20.0)


def minimised(report: Report) -> list[float]:
    """Energy after the minimisation (kJ/mol), and the largest force (kJ/mol/nm)."""
    line = re.search(r"energy (-?\d+) kJ/mol, largest force (\S+) kJ", notes(report))
    assert line
    return [float(number) for number in line.groups()]


def test_minimisation_parts_atoms_that_lie_on_each_other(structure: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    options = structure(peptide_text(*CHAIN))
    for steps in (1, solvate.STEPS):
        monkeypatch.setattr(solvate, "STEPS", steps)
        report = Report(screen=None)
        options.output = options.output.with_name(f"{steps}_steps")
        prepare(options, report)
        found.append(minimised(report))
    (before, most), (after, left) = found
    assert after < before and left < 0.5 * most


def test_the_energy_after_the_minimisation_is_that_of_the_system_with_its_lengths(report: Report) -> None:
    """The box of water that OpenMM has is that of TIP4P-Ew; with its lengths, or those of springs, OPC has another energy."""
    ff = TitratableForceField("ff19SB")
    modeller = app.Modeller(app.Topology(), [] * unit.nanometer)
    modeller.addSolvent(ff.forcefield, model=ff.water_model, boxSize=openmm.Vec3(2.2, 2.2, 2.2) * unit.nanometer)
    water = Model(modeller.topology, np.array(modeller.positions.value_in_unit(unit.nanometer)))
    solvated = solvate.parametrise(water, ff, Options(input=Path("x")), report)
    fixed = solvated.system.getNumConstraints()
    solvate.relax(solvated, ff, Options(input=Path("x")), report)
    assert solvated.system.getNumConstraints() == fixed > 0
    context = openmm.Context(solvated.system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("CPU"))
    context.setPositions(water.quantity())
    there = context.getState(getEnergy=True, getPositions=True)
    context.applyConstraints(1e-8)
    moved = there.getPositions(asNumpy=True) - context.getState(getPositions=True).getPositions(asNumpy=True)
    assert np.abs(moved.value_in_unit(unit.nanometer)).max() < 1e-5  # 1e-6 of a length, and single precision
    energy = there.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
    assert minimised(report)[0] == pytest.approx(energy, abs=10)  # single precision


@pytest.mark.parametrize(("force_field", "water"), [("ff14SB", "tip3p"), ("ff19SB", "opc"), ("ff19SB", "tip4pew")])
def test_other_force_fields_bring_entries_of_their_own(force_field: str, water: str, structure: Write, report: Report) -> None:
    options = structure(peptide_text("ALA", "GLU", "GLY"))
    options.force_field, options.water = force_field, water
    options.sites = ["all"]
    folder, job, atoms = written(options, report)
    assert all((folder / name).is_file() for name in job["titration"]["library"])
    assert "library/glu3.toml" in job["titration"]["library"]
    assert "bonded terms of glu3, which are those that the force field has for each form" in notes(report)
    assert "glu3 (other Lennard-Jones parameters of OE2)" in notes(report)
    assert ("EPW" in {name for _, _, name in atoms} or "M" in {name for _, _, name in atoms}) == (water != "tip3p")
    # Those of Glu and of the buffer come with octitrate for the first two, those of ends do not.
    lacking = water == "tip4pew"
    assert ("GLU 2 of chain A" in job_comment(folder)) == lacking and "amino end ALA 1" in job_comment(folder)
    assert ("the charge buffer" in job_comment(folder)) == lacking == (f"the charge buffer has no correction V_MM with {water}" in notes(report))
    assert job_comment(folder).startswith("# No correction V_MM is known for") and "allow_uncalibrated" not in job["titration"]
    assert job["titration"]["ease_rotamers"] == "8 kJ/mol"


def job_comment(folder: Path) -> str:
    """What the job says about corrections that are missing or preliminary."""
    lines = (folder / "titrate.toml").read_text().splitlines()
    return next((line for line in lines if line.startswith(("# No correction", "# Preliminary"))), "")


def test_rings_have_one_order_of_impropers_whichever_comes_first(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenMM remembers the order of the first ring for all of the same types, and the correction of Tyr knows its group by the order of its own: a protein whose
    first ring is that of Trp was refused."""
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    options = structure(peptide_text("GLY", "TRP", "TYR", "GLY"))
    options.force_field = "ff14SB"
    folder, _, atoms = written(options, report)
    system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
    torsions = next(force for force in system.getForces() if isinstance(force, openmm.PeriodicTorsionForce))
    quadruples = [torsions.getTorsionParameters(i)[:4] for i in range(torsions.getNumTorsions())]
    names = [tuple(atoms[i][2] for i in four) for four in quadruples if all(atoms[i][1] == "TYR" for i in four)]
    assert {four for four in names if set(four) == {"CG", "CD1", "CE1", "HD1"} and four[2] == "CD1"} == {("CG", "CE1", "CD1", "HD1")}


def test_groups_without_a_correction_stay_as_they_are(structure: Write, report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    # Nothing comes with octitrate for this water.
    text = entry(TitratableForceField("ff19SB", "tip3p"), "glu3")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/glu3.toml").write_text(text[: text.index("[correction]")] + '[correction]\nstatus = "calibrated"\n')
    options = structure(peptide_text("ALA", "GLU", "TYR", "GLY"))
    options.force_field, options.water, options.library = "ff19SB", "tip3p", [tmp_path / "own"]
    _, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["GL3 2"]
    assert "no correction is known with this force field: they stay in the form of pH 7, unless --sites asks for them: TYR 3" in notes(report)
    assert "no correction is known at this end of a chain: they stay in the form of pH 7, unless --sites asks for them: amino end ALA 1" in notes(report)
    # The carboxyl end would titrate between these pH values, the amino end and Tyr would not.
    assert "without a correction V_MM carboxyl end GLY 4 of chain A keeps the form of pH 7 from pH 2 to 7, where another may be right" in notes(report)
    assert "Corrections are made by octitrate calibrate --residue 'cterm GLY' --force-field ff19SB --water tip3p" in notes(report)


@pytest.mark.parametrize(
    ("side", "end", "expected"),
    [
        ("calibrated", "calibrated", ["glu3", "cterm"]),
        ("uncalibrated", "calibrated", []),  # the correction of the end is that beside a side chain with every proton
        ("calibrated", "uncalibrated", []),  # that of the side chain was made beside a protonated end
    ],
)
def test_groups_of_one_last_residue_titrate_together(side: str, end: str, expected: list[str], report: Report) -> None:
    residue = peptide_residue()
    other = Group(peptide_residue(), "side", "glu3", 4.25, "calibrated")
    groups = [Group(residue, "side", "glu3", 4.25, side), Group(residue, "cterm", "cterm", 3.67, end), other]
    choices = sites.choose(groups, {}, Options(input=Path("x")), report)
    assert [choice.group.entry for choice in choices[:2] if choice.titrates] == expected
    assert all(choice.titrates or choice.why == sites.UNKNOWN_AT_END for choice in choices)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("GLU", [True, False]),  # the groups of this kind that can titrate
        ("GLU 3", [False, True]),  # one group that is meant, whatever is known of it
        ("all", [True, True]),
        ("GLU,GLU 3", [True, True]),
    ],
)
def test_a_kind_means_the_groups_that_have_a_correction(asked: str, expected: list[bool], report: Report) -> None:
    """`--sites GLU` of a protein with Glu at an unknown end was refused by the program."""
    _, middle, last = peptide(("GLU", "GLU", "GLU")).topology.residues()
    groups = [Group(middle, "side", "glu3", 4.25, "calibrated"), Group(last, "side", "glu3", 4.25, "uncalibrated")]
    choices = sites.choose(groups, {}, Options(input=Path("x"), sites=asked.split(",")), report)
    assert [choice.titrates for choice in choices] == expected
    assert (choices[1].why == sites.UNKNOWN_AT_END) == (asked == "GLU")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("GLU 2", ["side 2"]), ("glu2", ["side 2"]), ("GL3 2", ["side 2"]), ("A:GLH2", ["side 2"]), ("2", ["side 2"]), ("HIP", ["side 3"]),
        ("nterm", ["nterm 1"]), ("nterm LYS 1", ["nterm 1"]), ("A:cterm", ["cterm 4"]), ("nterm ALA 1", None), ("GLU 3", None), ("B:GLU 2", None),
    ],
)  # fmt: skip
def test_groups_are_asked_for_as_people_and_jobs_call_them(asked: str, expected: list[str] | None, report: Report) -> None:
    groups = loaded("charmm36m-ecc").groups(peptide(("LYS", "GLU", "HIS", "GLY")).topology)
    options = Options(input=Path("x"), sites=[asked])
    if expected is None:
        with pytest.raises(Refused, match=f"nothing that titrates is {asked}"):
            sites.choose(groups, {}, options, report)
    else:
        titrating = [choice.group for choice in sites.choose(groups, {}, options, report) if choice.titrates or choice.why == sites.WITHOUT_ITS_SIDE_CHAIN]
        assert [f"{group.group} {group.residue.id}" for group in titrating] == expected


def test_a_kind_without_any_correction_is_built_for_a_library_that_comes_later(report: Report) -> None:
    group = Group(peptide_residue(), "side", "glu3", 4.25, "uncalibrated")
    assert sites.choose([group], {}, Options(input=Path("x"), sites=["GLU"]), report)[0].titrates


@pytest.mark.parametrize(("temperature", "warned"), [(300.0, False), (298.15, False), (310.0, True)])
def test_corrections_of_another_temperature_are_warned_of(temperature: float, warned: bool, report: Report) -> None:
    """octitrate refuses the job, and the words have what makes it run."""
    group = Group(peptide_residue(), "side", "glu3", 4.25, "calibrated")
    sites.choose([group], {}, Options(input=Path("x"), temperature=temperature), report)
    words = ("were calibrated at 300 K: octitrate refuses the job at 310 K", "octitrate calibrate --residue water,GLU --force-field charmm36m-ecc --temperature 310")
    assert [each in notes(report) for each in words] == [warned, warned], notes(report)
    own = Group(peptide_residue(), "side", "glu3", 4.25, "calibrated", temperature=310.0)
    other = Report(screen=None)
    sites.choose([own], {}, Options(input=Path("x"), temperature=temperature), other)
    assert ("were calibrated at 310 K" in notes(other)) != warned


def test_ends_of_a_cysteine_in_a_disulfide_do_not_titrate(report: Report) -> None:
    """Its residue is another than the one of which corrections of ends may be known, and no model compound of it can be made."""
    modeller = peptide(("CYS", "ALA", "CYS"))
    first, _, last = modeller.topology.residues()
    sulfurs = [next(atom for atom in residue.atoms() if atom.name == "SG") for residue in (first, last)]
    free = [group.group for group in loaded("charmm36m-ecc").groups(modeller.topology) if group.corrected]
    assert free == ["nterm", "cterm"]
    modeller.topology.addBond(*sulfurs)
    groups = loaded("charmm36m-ecc").groups(modeller.topology)
    assert [(group.group, group.status, group.bridged) for group in groups] == [("nterm", "uncalibrated", True), ("cterm", "uncalibrated", True)]
    other = Group(peptide_residue(), "side", "glu3", 4.25, "calibrated")
    choices = sites.choose([*groups, other], {}, Options(input=Path("x"), sites=["all"]), report)
    assert [choice.titrates for choice in choices] == [False, False, True] and choices[0].why == sites.BRIDGED


@pytest.mark.parametrize("text", ["1..5 ns", "1.2.3 ns", ". ns", "ns", "5", "-1 ns"])
def test_a_text_that_is_no_time_is_none(text: str) -> None:
    assert length(text) is None


@pytest.mark.parametrize(("asked", "expected"), [(["GLU"], ["GL3 2"]), (["GLU", "cterm"], ["GL3 2", "ZGL3 4", "cterm ZGL3 4"])])
def test_a_last_side_chain_is_not_asked_for_without_its_end(asked: list[str], expected: list[str], structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job of `--sites GLU,ASP` for 1PGB, whose last residue is Glu, was refused by the program: its correction is that beside a protonated end."""
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    options = structure(peptide_text("GLY", "GLU", "GLY", "GLU"))
    options.force_field, options.sites = "ff14SB", asked
    _, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == expected
    assert (f"{sites.WITHOUT_ITS_END}: GLU 4 of chain A" in notes(report)) == (asked == ["GLU"])


def test_the_force_field_that_nobody_names_has_corrections_of_these_groups(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    # CHARMM36m takes eight seconds to load.
    monkeypatch.setattr(pipeline, "TitratableForceField", lambda force_field, water, *_: loaded(force_field, water))
    options = structure(peptide_text("GLY", "GLU", "HIS", "GLU"))
    options.force_field = Options.force_field
    folder, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["nterm GLY 1", "GL3 2", "HIP 3", "ZGL3 4", "cterm ZGL3 4"]
    # The amino end of Gly is the one whose correction is preliminary.
    assert job["titration"]["allow_uncalibrated"] is True and "the correction V_MM of amino end GLY 1 of chain A is preliminary" in notes(report)
    assert "charmm36m-ecc with tip3p" in notes(report) and (folder / "library" / "glu3.toml").is_file()


def test_an_end_is_not_asked_for_without_its_side_chain(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job of `--sites cterm` for 1PGB was refused by the program: the correction of this end is that beside Glu with its proton."""
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    options = structure(peptide_text("GLY", "GLU", "GLY", "GLU"))
    options.force_field, options.sites = "ff14SB", ["cterm"]
    with pytest.raises(Refused, match="carboxyl end GLU 4 of chain A cannot titrate alone") as refused:
        written(options, report)
    assert "--sites 'cterm,GLU 4'" in str(refused.value.help)
    options.sites = ["cterm", "2"]
    _, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["GL3 2"]
    assert f"{sites.WITHOUT_ITS_SIDE_CHAIN}: carboxyl end GLU 4 of chain A" in notes(report)


def test_only_preliminary_corrections_are_allowed_for(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    options = structure(peptide_text("GLY", "GLU", "TYR", "GLY"))
    folder, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["nterm GLY 1", "GL3 2", "TYR 3", "cterm ZGLY 4"]
    assert "allow_uncalibrated" not in job["titration"]
    monkeypatch.setitem(BUILT_IN_STATUS, ("his", ""), "preliminary")
    options.output, options.input = folder.with_name("his"), folder.parent / "his.pdb"
    options.input.write_text(peptide_text("GLY", "GLU", "HIS", "GLY"))
    folder, job, _ = written(options, report)
    assert job["titration"]["allow_uncalibrated"] is True
    assert job_comment(folder).endswith("(octitrate info NAME says why): HIS 3 of chain A.")


def test_sites_start_by_propka(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    monkeypatch.setattr(predict, "predict", lambda *_: {(1, "side"): 6.251, (3, "side"): -17.0})
    options = structure(peptide_text(*CHAIN))
    _, job, _ = written(options, report)
    # What is not predicted has no such key, and what no program takes is brought into its range.
    assert {site["residue"]: site.get("start_pka") for site in job["titration"]["site"]} == {
        "nterm ALA 1": None, "GL3 2": 6.25, "LYS 4": -10.0, "AS3 5": None, "HIP 6": None, "cterm ZGLY 8": None,
    }  # fmt: skip


def of_pka(*estimates: tuple[float, ...]) -> list[sites.Choice]:
    """Groups that titrate, each with the pKa of the model compound and, where there is one, that of PROPKA."""
    residue = peptide_residue()
    return [sites.Choice(Group(residue, "side", "glu3", pka[0], "calibrated"), pka[1] if pka[1:] else None, True, "") for pka in estimates]


def peptide_residue() -> Any:
    topology = app.Topology()
    return topology.addResidue("GLU", topology.addChain("A"), "1")


def test_ph_values_are_dense_where_many_groups_titrate() -> None:
    options = Options(input=Path("x"))
    assert sites.values(of_pka((10.4,), (4.25,)), options) == [float(ph) for ph in range(2, 14)]
    pka = [4.0] * 8 + [10.4]
    values = sites.values(of_pka(*[(one,) for one in pka]), options)
    assert values == sorted(values) and values[0] == 2.0 and values[-1] == 13.0 and {3.5, 4.0, 4.5, 9.0, 10.0, 11.0} <= set(values)
    assert 9.5 not in values and 6.5 not in values
    protons = [sum(1 / (1 + 10 ** (ph - one)) for one in pka) for ph in values]
    pairs = list(zip(values, values[1:], protons, protons[1:]))
    assert all(math.log(10) * (b - a) * (n - m) <= 3.0 or b - a == 0.25 for a, b, n, m in pairs)
    assert all(b - a in (0.25, 0.5, 1.0) and a % (b - a) == 0 for a, b, *_ in pairs)
    # Of a group that PROPKA sees elsewhere both pKa count.
    assert sites.values(of_pka((4.25, 7.9)), options)[-1] == 10.0
    options.ph_range = (3.0, 6.2)
    values = sites.values(of_pka((4.25,)), options)
    assert values == [3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.2]


def test_ph_values_go_to_both_ends_of_the_range_that_is_asked_for() -> None:
    options, many = Options(input=Path("x")), of_pka(*[(4.0,)] * 8, (6.5,))
    for low in range(0, 60, 7):
        for wide in (1, 4, 21, 37, 52, 60, 71, 98):
            options.ph_range = (low / 10, (low + wide) / 10)
            values = sites.values(many, options)
            steps = np.diff(values)
            assert (values[0], values[-1]) == options.ph_range, options.ph_range
            assert len(steps) >= 1 and steps.min() > 0.09 and steps.max() < 1.13, (options.ph_range, values)


def test_corrections_of_ones_own_are_taken(structure: Write, report: Report, tmp_path: Path) -> None:
    options = structure(peptide_text("ALA", "TYR", "GLY"))
    options.force_field = "ff14SB"
    text = entry(TitratableForceField("ff14SB"), "tyr")
    own = tmp_path / "own" / "tyr.toml"
    own.parent.mkdir()
    own.write_text(text[: text.index("[correction]")] + '[correction]\nstatus = "calibrated"\ndegree = 1\ncoefficients = [-318.0]\n')
    options.library = [own.parent]
    folder, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["TYR 2"]
    assert "-318.0" in (folder / "library/tyr.toml").read_text()
    assert str(own.parent) in (folder / "prepare.toml").read_text()


@pytest.mark.parametrize(("duration", "lines"), [("1 ns", "0.1 ps"), ("1.5 ns", "1 ps"), (Options.duration, "1 ps"), ("a while", "0.1 ps")])
def test_long_runs_have_fewer_lines_of_lambda(duration: str, lines: str) -> None:
    assert between_lines(duration) == lines


@pytest.mark.parametrize(("duration", "takes"), [("1 ns", "one H200, 4 minutes;"), ("50 ns", "one H200, 4 hours;"), ("a while", "one H200;")])
def test_what_a_titration_costs_is_said(duration: str, takes: str) -> None:
    said = cost(27480, 20, duration, 1.0)  # one of the two systems that were measured: 6838 ns/day
    assert "6800 ns/day" in said and f"20 runs of {duration}" in said and takes in said


def test_a_titration_with_the_cut_off_of_charmm_costs_more() -> None:
    # BPTI was measured and is not one of the two: nine walkers of 18 324 atoms 5860 ns/day.
    guess = int(cost(18324, 9, "10 ns", 1.2).partition("measured: ")[2].partition(" ns/day")[0])
    assert abs(guess - 5860) < 0.05 * 5860


def test_mmcif_under_the_name_of_a_pdb_file_is_prepared(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    options = structure(peptide_text(*CHAIN))
    pdb, out = app.PDBFile(str(options.input)), io.StringIO()
    app.PDBxFile.writeFile(pdb.topology, pdb.positions, out, keepIds=True)
    options.input.write_text(out.getvalue())
    _, _, atoms = written(options, report)
    assert residues(atoms) == ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "ZGLY"]
    assert "protein.pdb (mmCIF)" in notes(report)


def test_groups_outside_of_the_range_are_built_as_they_are_there(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    options = structure(peptide_text(*CHAIN))
    options.ph_range = (8.5, 12.0)
    _, job, atoms = written(options, report)
    assert residues(atoms) == ["ALA", "GLU", "GLY", "LYS", "ASP", "HIE", "SER", "GLY"]
    assert [site["residue"] for site in job["titration"]["site"]] == ["nterm ALA 1", "LYS 4"]
    assert job["titrate"]["ph"][0] == 8.5


def test_sites_that_are_asked_for_titrate_alone(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    options = structure(peptide_text(*CHAIN))
    options.sites = ["A:GLU 2", "HIS"]
    _, job, _ = written(options, report)
    assert [site["residue"] for site in job["titration"]["site"]] == ["GL3 2", "HIP 6"]


def test_replicas_begin_with_side_chains_that_were_heated(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    options = structure(peptide_text("ALA", "GLU", "GLY"))
    options.sites, options.starts, options.until = ["GLU"], 3, 0.2
    folder, job, _ = written(options, report)
    assert (job["titrate"]["replicas"], job["dynamics"]["velocities"], job["titrate"]["until"]) == (3, "generate", 0.2)
    assert job["titrate"]["structures"] == ["system.gro", "start_2/final.gro", "start_3/final.gro"]
    assert f"{3 * len(job['titrate']['ph'])} runs of" in notes(report) and not (folder / "start_4.toml").exists()
    second, third = (tomllib.loads((folder / f"start_{number}.toml").read_text()) for number in (2, 3))
    assert (second["dynamics"].pop("seed"), third["dynamics"].pop("seed")) == (2, 3) and second == third
    assert second["position_restraints"] == {"atoms": "backbone", "duration": "500 ps", "fade": "0 ps"}  # no end titrates
    assert (second["thermostat"]["temperature"], second["dynamics"]["duration"], second["titration"]["relax"]) == ("500 K", "500 ps", "500 ps")
    assert "barostat" not in second and "titrate" not in second and second["titration"]["ph"] in job["titrate"]["ph"]
    # Sites, library and force field are those of the titration.
    assert all(second["titration"].get(key) == job["titration"].get(key) for key in ("library", "site", "buffer")) and second.get("van_der_waals") == job.get("van_der_waals")


def test_chains_that_are_numbered_alike_are_told_apart_by_their_molecule(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvate, "relax", lambda *_: None)
    text = peptide_text("ALA", "GLU", "GLY")
    options = structure(text + moved(text, "B", 20.0))
    options.chains = ["all"]
    _, job, _ = written(options, report)
    names = [site["residue"] for site in job["titration"]["site"]]
    assert "1:GL3 2" in names and "2:GL3 2" in names and "2:nterm ALA 1" in names
    # Ends that titrate are free in runs that heat side chains, each by its molecule.
    options.starts, options.output = 2, options.output.with_name("heated")
    folder, _, _ = written(options, report)
    held = tomllib.loads((folder / "start_2.toml").read_text())["position_restraints"]["atoms"]
    assert held.startswith("backbone and not (") and "(molecule 2 and resname ALA and resid 1)" in held, held


def test_the_box_is_twice_the_padding_wider_than_the_protein() -> None:
    points = np.array([[0.0, 0, 0], [2.0, 0, 0], [1.0, 1.0, 0], [1.0, 0, 0]])
    assert solvate.enclosing_radius(points) == pytest.approx(1.0, rel=0.01)  # the bound of the method after 1000 steps is 3 %
    for shape, volume in (("cubic", 1.0), ("dodecahedron", math.sqrt(0.5)), ("octahedron", 4 * math.sqrt(3) / 9)):
        vectors = solvate.box_vectors(points, Options(input=Path("x"), box=shape, padding=1.0))
        matrix = np.array([[v.x, v.y, v.z] for v in vectors])
        assert np.linalg.det(matrix) == pytest.approx(volume * 4.0**3, rel=0.03)
        images = [i @ matrix for i in np.ndindex(3, 3, 3) if True for i in [np.array(i) - 1] if any(i)]
        assert min(np.linalg.norm(images, axis=1)) == pytest.approx(4.0, rel=0.01)


def test_the_command_refuses_with_status_2_and_a_folder_of_its_own_is_moved_aside(structure: Write, capsys: pytest.CaptureFixture[str]) -> None:
    options = structure(peptide_text("ALA", "GLU", "GLY"))
    arguments = [str(options.input), "-o", str(options.output), "--force-field", "amber99sb-ildn", "--padding", "0.6", "-q"]
    assert main(arguments) == 0
    assert main(arguments) == 2
    assert "a protein was prepared here already" in capsys.readouterr().err
    assert main([*arguments, "--force", "--seed", "2"]) == 0
    assert options.output is not None
    before, after = ((options.output.with_name(name) / "system.gro").read_text() for name in ("prepared.1", "prepared"))
    assert before != after  # the seed matters
    for more, message in (
        (["--keep-ligands"], "no force field for ligands"),
        (["--duration", "5"], "--duration '5': a time with its unit is meant"),
        (["--until", "2"], "--until 2: an error of the pKa is meant, 0.01 to 1"),
        (["--starts", "0"], "--starts 0: a whole number from 1 to 32 is meant"),
        (["--starts", "2", "--from", "x.prmtop"], "--starts: only for a protein that is prepared"),
        (["-o", str(options.input / "x")], f"cannot be written: {options.input} is no folder"),
    ):
        assert main([*arguments, *more]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--ph-range", "8:2"])
    assert capsys.readouterr().err == "error: argument --ph-range: '8:2' is not a range of pH within -2:16\n  help: octitrate prepare --help says every argument\n"


def test_a_finished_system_of_gromacs_is_taken_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = Path(__file__).parents[2] / "inputs/01-glu"
    output = tmp_path / "taken"
    assert main(["--from", str(inputs / "glu.top"), str(inputs / "glu.gro"), "-o", str(output), "-q"]) == 0
    system = openmm.XmlSerializer.deserialize((output / "system.xml").read_text())
    assert system.getNumParticles() == len((inputs / "glu.gro").read_text().splitlines()) - 3
    job = tomllib.loads((output / "titrate.toml").read_text())
    assert job["thermostat"] == {"kind": "langevin", "friction": "1 /ps", "temperature": "300 K"}
    assert job["electrostatics"] == {"order": 8, "separation": 1.12}
    assert "GLU    HE2" in (output / "system.gro").read_text()  # the reader of OpenMM calls GLH so, and the library knows it by its hydrogen
    assert main(["--from", str(inputs / "glu.top"), str(inputs.parent / "07-tyr/tyr.gro"), "-o", str(tmp_path / "other"), "-q"]) == 2
    assert "do not belong together" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_gro_files_may_have_any_number_of_decimals(tmp_path: Path) -> None:
    line = "    1ALA      N    1{}{}{}\n"
    for decimals in (2, 3, 6):
        width, path = decimals + 5, tmp_path / f"{decimals}.gro"
        numbers = [f"{x:{width}.{decimals}f}" for x in (-0.25, 12.5, 3.0)]
        path.write_text("title\n1\n" + line.format(*numbers) + "4.0 4.0 2.5 0.0 0.0 0.0 0.0 2.0 2.0\n")
        places, vectors = gro(path)
        assert places.tolist() == [[-0.25, 12.5, 3.0]]
        assert [tuple(v) for v in vectors.value_in_unit(unit.nanometer)] == [(4.0, 0.0, 0.0), (0.0, 4.0, 0.0), (2.0, 2.0, 2.5)]
    path.write_text("title\n2\n" + line.format(*numbers))
    with pytest.raises(Refused, match="ends before the box"):
        gro(path)
    path.write_text("title\n1\n" + line.format("   a.000", "   0.000", "   0.000") + "4 4 4\n")
    with pytest.raises(Refused, match="line 3 is no atom"):
        gro(path)


@pytest.mark.parametrize(("name", "known"), [("NHID", "HIS"), ("ZGL3", "GLU"), ("CALA", "ALA"), ("HSP", "HIS"), ("GOL", "GOL"), ("ALA", "ALA"), ("CCYX", "CYS")])
def test_residues_are_known_by_the_names_of_programs(name: str, known: str) -> None:
    assert known_as(name) == known


@pytest.mark.parametrize(
    ("duration", "time"),
    [("1 ns", "20 ps"), ("50ns", "20 ps"), ("100 ps", "2 ps"), ("333 ps", "6.4 ps"), ("20000 fs", "0.4 ps"), ("10 ps", None), ("a while", None)],
)
def test_the_parts_of_the_start_take_a_fiftieth_of_a_run_in_whole_hundreds_of_steps(duration: str, time: str | None) -> None:
    start = settling(duration)
    assert (None if start is None else picoseconds(start)) == time
    section = tomllib.loads("\n".join(position_restraints(start)))
    twice = None if start is None else picoseconds(2 * start)
    assert section == ({} if time is None else {"position_restraints": {"duration": twice, "fade": time}})


def test_backbones_of_charmm_are_alike_but_for_proline() -> None:
    for second, expected in (("PRO", 2.8), ("ARG", None), ("VAL", None)):
        first, beside, *_ = peptide(("ALA", second, "ALA")).topology.residues()
        assert offset("charmm36m", "nterm", first) == (None if expected is None else (expected, beside))
        # Three quarters of the charge leaves, beside neighbours as they were.
        assert offset("charmm36m-ecc", "nterm", first) == (None if expected is None else (pytest.approx(2.1), beside))
        assert offset("charmm36m", "cterm", beside) is None
        assert (offset("ff19SB", "nterm", first) is None) == (second == "VAL")
    assert offset("another", "nterm", first) is None


def test_the_command_that_makes_corrections_names_the_place_in_the_chain() -> None:
    first, middle, last = peptide(("HIS", "CYS", "GLU")).topology.residues()
    places = [(first, "nterm", "nterm"), (first, "side", "his"), (middle, "side", "cys"), (last, "side", "glu3"), (last, "cterm", "cterm")]
    choices = [sites.Choice(Group(residue, group, entry, 7.0, "uncalibrated"), None, True, "") for residue, group, entry in places]
    words = shlex.split(sites.calibration(choices, choices, Options(input=Path("x"), pair_corrections="cufix", force_field="ff14SB")))
    assert words[:3] == ["octitrate", "calibrate", "--residue"] and words[4:] == ["--force-field", "ff14SB", "--pair-corrections", "cufix"]
    assert words[3] == "nterm HIS,nterm side HIS,CYS,cterm side GLU,cterm GLU"
    for name in words[3].split(","):
        compound(name)


def test_neighbours_at_the_other_end_of_the_chain_have_a_letter_before_their_name() -> None:
    first, last = peptide(("LYS", "GLU")).topology.residues()
    first.name, last.name = "NLYS", "ZGL3"
    assert (offset("ff14SB", "cterm", last), offset("ff14SB", "nterm", first)) == ((16.4, first), None)
    last.name = "ZLYS"
    assert offset("ff14SB", "nterm", first) == (4.2, last)


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        (("ALA", "ARG", "SER", "ARG", "ALA"), {"nterm ALA 1": "4.4 kJ/mol", "cterm ZALA 5": "16.2 kJ/mol"}),
        # A neighbour that titrates has the backbone of its protonated form, which is neutral.
        (("ALA", "GLU", "SER", "GLU", "ALA"), {"nterm ALA 1": None, "GL3 2": None, "GL3 4": None, "cterm ZALA 5": "4.5 kJ/mol"}),
    ],
)
def test_ends_know_the_charges_of_their_neighbours(chain: tuple[str, ...], expected: dict[str, str | None], structure: Write, report: Report) -> None:
    folder, job, _ = written(structure(peptide_text(*chain)), report)
    assert {site["residue"]: site.get("offset") for site in job["titration"]["site"]} == expected
    assert ("stands beside ARG 2 of chain A" in (folder / "prepare.md").read_text()) == (chain[1] == "ARG")
