"""Structures that can be prepared: what is built, chosen and written."""

from __future__ import annotations

import io
import math
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from conftest import Write, binary, job_comment, moved, notes, peptide_text, residues, written
from openmm import app, unit

from octitrate.errors import Refused
from octitrate.neighbours import offset
from octitrate.peptide import peptide
from octitrate.prepare import solvate
from octitrate.prepare.build import Model
from octitrate.prepare.command import main, options as options_of, parser, ready
from octitrate.prepare.finished import gro
from octitrate.prepare.job import between_lines, length, picoseconds, position_restraints, settling
from octitrate.prepare.names import known_as
from octitrate.prepare.options import Options
from octitrate.prepare.pipeline import cost, prepare
from octitrate.prepare.report import Report
from octitrate.residues import TitratableForceField

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
    chain: tuple[str, ...], ends: str, wanted: list[str], ions: tuple[int, int], structure: Write, report: Report, bare: None
) -> None:
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
    solvate.relax(solvated, report)
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
def test_other_force_fields_bring_entries_of_their_own(force_field: str, water: str, structure: Write, report: Report, bare: None) -> None:
    options = structure(peptide_text("TRP", "GLU", "TRP"))
    options.force_field, options.water = force_field, water
    options.sites = ["all"]
    folder, job, atoms = written(options, report)
    assert all((folder / name).is_file() for name in job["titration"]["library"])
    assert "library/glu3.toml" in job["titration"]["library"]
    assert "bonded terms of glutamic acid, which are those that the force field has for each form" in notes(report)
    assert "glutamic acid (other Lennard-Jones parameters of OE2)" in notes(report)
    assert ("EPW" in {name for _, _, name in atoms} or "M" in {name for _, _, name in atoms}) == (water != "tip3p")
    # Those of Glu, of the buffer and of these ends come with octitrate for the first two.
    lacking = water == "tip4pew"
    assert ("GLU 2 of chain A" in job_comment(folder)) == lacking and ("amino end TRP 1" in job_comment(folder)) == lacking
    assert ("the charge buffer" in job_comment(folder)) == lacking == (f"the charge buffer has no correction V_MM with {water}" in notes(report))
    assert job_comment(folder).startswith("# No correction V_MM is known for") == lacking and "allow_uncalibrated" not in job["titration"]
    assert job["titration"]["ease_rotamers"] == "8 kJ/mol"


def test_rings_have_one_order_of_impropers_whichever_comes_first(structure: Write, report: Report, bare: None) -> None:
    """OpenMM remembers the order of the first ring for all of the same types, and the correction of Tyr knows its group by the order of its own: a protein whose
    first ring is that of Trp was refused."""
    options = structure(peptide_text("GLY", "TRP", "TYR", "GLY"))
    options.force_field = "ff14SB"
    folder, _, atoms = written(options, report)
    system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
    torsions = next(force for force in system.getForces() if isinstance(force, openmm.PeriodicTorsionForce))
    quadruples = [torsions.getTorsionParameters(i)[:4] for i in range(torsions.getNumTorsions())]
    names = [tuple(atoms[i][2] for i in four) for four in quadruples if all(atoms[i][1] == "TYR" for i in four)]
    assert {four for four in names if set(four) == {"CG", "CD1", "CE1", "HD1"} and four[2] == "CD1"} == {("CG", "CE1", "CD1", "HD1")}


@pytest.mark.parametrize("text", ["1..5 ns", "1.2.3 ns", ". ns", "ns", "5", "-1 ns"])
def test_a_text_that_is_no_time_is_none(text: str) -> None:
    assert length(text) is None


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


def test_mmcif_under_the_name_of_a_pdb_file_is_prepared(structure: Write, report: Report, bare: None) -> None:
    options = structure(peptide_text(*CHAIN))
    pdb, out = app.PDBFile(str(options.input)), io.StringIO()
    app.PDBxFile.writeFile(pdb.topology, pdb.positions, out, keepIds=True)
    options.input.write_text(out.getvalue())
    _, _, atoms = written(options, report)
    assert residues(atoms) == ["ALA", "GL3", "GLY", "LYS", "AS3", "HIP", "SER", "ZGLY"]
    assert "protein.pdb (mmCIF)" in notes(report)


def test_replicas_begin_with_side_chains_that_were_heated(structure: Write, report: Report, bare: None) -> None:
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


def test_chains_that_are_numbered_alike_are_told_apart_by_their_molecule(structure: Write, report: Report, bare: None) -> None:
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


def test_the_command_refuses_with_status_2_and_a_folder_of_its_own_is_moved_aside(structure: Write, capsys: pytest.CaptureFixture[str], bare: None) -> None:
    options = structure(peptide_text("ALA", "GLU", "GLY"))
    arguments = [str(options.input), "-o", str(options.output), "--force-field", "amber99sb-ildn", "--padding", "0.5", "-q"]
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
        (["--duration", "1e400 ns"], "--duration '1e400 ns': a time with its unit is meant"),
        (["--sites", " ,"], "--sites names nothing"),
        (["--drop", ""], "--drop names nothing"),
        (["--until", "2"], "--until 2: an error of the pKa is meant, 0.01 to 1"),
        (["--starts", "0"], "--starts 0: a whole number from 1 to 32 is meant"),
        (["--starts", "2", "--from", "x.prmtop"], "--starts: only for a protein that is prepared"),
        (["-o", str(options.input / "x")], f"cannot be written: {options.input} is no folder"),
    ):
        assert main([*arguments, *more]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--ph-range", "8:2"])
    assert capsys.readouterr().err == "error: argument --ph-range: '8:2': the lower pH comes first, 2:8\n  help: octitrate prepare --help says every argument\n"


@pytest.mark.parametrize(
    ("words", "said", "commands"),
    [
        (["--temperature", "310"], "were calibrated at 300 K: octitrate refuses the job at 310 K until", ["--residue 'water,nterm ALA,GLU,cterm GLY' --force-field amber99sb-ildn --temperature 310"]),
        (["--force-field", "ff14SB", "--water", "spce", "--sites", "all"], "the charge buffer has no correction V_MM with spce: octitrate refuses the job until", ["--residue water --force-field ff14SB --water spce", "--residue "]),
    ],
    ids=["another temperature", "without corrections"],
)
def test_a_job_that_octitrate_refuses_is_not_called_ready(words: list[str], said: str, commands: list[str], structure: Write, capsys: pytest.CaptureFixture[str], bare: None) -> None:
    """It ended with `is ready`, the command that titrates and status 0."""
    options = structure(peptide_text("ALA", "GLU", "GLY"))
    assert main([str(options.input), "-o", str(options.output), "--force-field", "amber99sb-ildn", "--padding", "0.5", "-q", *words]) == 1
    shown = capsys.readouterr().err
    assert f"error: {options.output} is written, prepare.md in it says what was decided, but the job cannot be run yet:\n" in shown and "is ready" not in shown
    assert said in shown
    last = [line for line in shown.splitlines() if line.startswith("  octitrate calibrate ")]
    assert len(last) == len(commands) and all(f"octitrate calibrate {command}" in line for command, line in zip(commands, last)), last
    assert options.output is not None
    assert "octitrate refuses the job until what stands first below is done. Then run it with `octitrate titrate " in (options.output / "prepare.md").read_text()
    answer = subprocess.run([binary(), "check", str(options.output / "titrate.toml"), "--device", "cpu"], capture_output=True, text=True, check=False)
    assert answer.returncode == 2, answer.stderr


def test_a_finished_system_of_gromacs_is_taken_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = Path(__file__).parents[2] / "inputs/01-glu"
    output = tmp_path / "taken"
    assert main(["--from", str(inputs / "glu.top"), str(inputs / "glu.gro"), "-o", str(output), "-q"]) == 0
    system = openmm.XmlSerializer.deserialize((output / "system.xml").read_text())
    assert system.getNumParticles() == len((inputs / "glu.gro").read_text().splitlines()) - 3
    job = tomllib.loads((output / "titrate.toml").read_text())
    assert job["thermostat"] == {"kind": "langevin", "friction": "1 /ps", "temperature": "300 K"}
    assert job["electrostatics"] == {"order": 8, "separation": 1.12}
    assert "GLH    HE2" in (output / "system.gro").read_text()  # as the topology has it, where the reader of OpenMM calls it GLU
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
def test_ends_know_the_charges_of_their_neighbours(chain: tuple[str, ...], expected: dict[str, str | None], structure: Write, report: Report, bare: None) -> None:
    folder, job, _ = written(structure(peptide_text(*chain)), report)
    assert {site["residue"]: site.get("offset") for site in job["titration"]["site"]} == expected
    assert ("stands beside ARG 2 of chain A" in (folder / "prepare.md").read_text()) == (chain[1] == "ARG")


@pytest.mark.parametrize(("words", "chains"), [([], []), (["--chains", "A, B"], ["A", "B"]), (["--chains", " "], [""]), (["--chains", ""], [""])])
def test_the_chain_without_a_name_can_be_asked_for(words: list[str], chains: list[str]) -> None:
    assert options_of(parser().parse_args(["x.pdb", *words])).chains == chains


def test_a_command_that_is_shown_can_be_copied(capsys: pytest.CaptureFixture[str]) -> None:
    ready(Path("my protein-prepared"), quiet=False)
    assert capsys.readouterr().err.endswith("  octitrate titrate 'my protein-prepared/titrate.toml'\n")
