"""The amino end of Pro: which of its two hydrogens leaves, its charges, and jobs of proteins that begin with it."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Write, binary, loaded, notes, peptide_text, script, written

openmm = pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from openmm import app, unit  # noqa: E402

from octitrate.calibrated import Calibrated  # noqa: E402
from octitrate.entries import PROLINE_END, entry, forms  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.model_compound import compound  # noqa: E402
from octitrate.peptide import peptide  # noqa: E402
from octitrate.prepare.report import Report  # noqa: E402
from octitrate.proline import end_of_proline, name_hydrogens, place_hydrogens  # noqa: E402
from octitrate.residues import TitratableForceField  # noqa: E402

CORRECTION = '[correction]\nstatus = "uncalibrated"\n'
OWN = '[[elsewhere]]\nresidues = ["PRO"]\n\n[elsewhere.correction]\nstatus = "calibrated"\ndegree = 1\ncoefficients = [234.0]\n\n'


def built(ff: TitratableForceField) -> Any:
    modeller = peptide(["PRO", "NME"])
    return ff.add_hydrogens(modeller, ff.build_names(modeller.topology))


def positions(modeller: Any) -> np.ndarray:
    return np.array(modeller.positions.value_in_unit(unit.nanometer))


def torsion(modeller: Any, places: np.ndarray, hydrogen: str) -> float:
    """C-CA-N-H in degrees."""
    index = {atom.name: atom.index for atom in next(modeller.topology.residues()).atoms()}
    a, b, c, d = (places[index[name]] for name in ("C", "CA", "N", hydrogen))
    one, two = np.cross(b - a, c - b), np.cross(c - b, d - c)
    return math.degrees(math.atan2(float(np.linalg.norm(c - b) * ((b - a) @ two)), float(one @ two)))


@pytest.mark.parametrize("force_field", ["ff14SB", "ff19SB", "amber99sb-ildn", "charmm36m", "charmm36m-ecc"])
def test_the_end_of_proline_loses_a_proton_of_the_force_field(force_field: str) -> None:
    ff = loaded(force_field)
    found = forms(ff, "nterm").proline
    assert tuple(found) == PROLINE_END
    assert sum(values[1] - values[0] for values in found.values()) == pytest.approx(-ff.charge_scale, abs=1e-9)
    # Pyrrolidine of CGenFF; its carbons at N are alike, and so is what CA and CD take.
    assert (found["N"][1], found["H2"][1], found["H3"][1]) == (-0.86, 0.36, 0.0)
    assert found["CA"][1] - found["CA"][0] == pytest.approx(found["CD"][1] - found["CD"][0], abs=1e-7)
    expected = {"N": -0.07, "H2": 0.24, "H3": 0.24, "CD": 0.16, "CA": 0.16} if ff.residues.is_patched else {"N": -0.202, "H2": 0.312, "H3": 0.312, "CD": -0.012, "CA": 0.1}
    assert {name: values[0] for name, values in found.items()} == pytest.approx({name: ff.charge_scale * q for name, q in expected.items()}, abs=1e-9)
    table = tomllib.loads(entry(ff, "nterm"))["other_atoms"]
    assert [one["residues"] for one in table] == [["PRO"]] and table[0]["charges"].keys() == found.keys()
    for name, values in found.items():
        assert table[0]["charges"][name] == pytest.approx(values, abs=1e-7)


def test_the_built_in_entry_has_the_same_charges() -> None:
    file = Path(__file__).parents[2] / "lambda/library/nterm.toml"
    ours, theirs = (tomllib.loads(text)["other_atoms"] for text in (entry(loaded("amber99sb-ildn"), "nterm"), file.read_text(encoding="utf-8")))
    assert ours == theirs


@pytest.mark.parametrize("force_field", ["ff14SB", "charmm36m"])
def test_h3_is_on_the_side_of_the_carbonyl_when_the_structure_has_settled(force_field: str) -> None:
    """The ring is strained as it is built, and minimising it turns torsions by a hundred degrees."""
    ff = loaded(force_field)
    modeller = built(ff)
    system = ff.forcefield.createSystem(modeller.topology, residueTemplates=ff.templates(modeller.topology))
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(modeller.positions)
    openmm.LocalEnergyMinimizer.minimize(context, 1.0, 1000)
    places = np.array(context.getState(getPositions=True).getPositions(asNumpy=True)._value)
    assert abs(torsion(modeller, places, "H3")) < 60 < 90 < abs(torsion(modeller, places, "H2"))


def test_hydrogens_that_are_the_other_way_round_are_exchanged() -> None:
    modeller = built(loaded("ff14SB"))
    right = positions(modeller)
    proline = next(modeller.topology.residues())
    index = {atom.name: atom.index for atom in proline.atoms()}
    wrong = right.copy()
    wrong[[index["H2"], index["H3"]]] = right[[index["H3"], index["H2"]]]
    modeller.positions = wrong * unit.nanometer
    place_hydrogens(modeller)
    assert (positions(modeller) == right).all()
    # The mirror image, D-Pro, has them on the same side of the ring.
    modeller.positions = (wrong * [1, 1, -1]) * unit.nanometer
    place_hydrogens(modeller)
    assert (positions(modeller) == right * [1, 1, -1]).all()
    # A finished system keeps its places; the names are exchanged, those of GROMACS and CHARMM, too.
    for names in (("H2", "H3"), ("H1", "H2"), ("HN1", "HN2")):
        for atom in proline.atoms():
            atom.name = dict(zip((index["H2"], index["H3"]), names)).get(atom.index, atom.name)
        assert name_hydrogens(modeller.topology, right) == []
        assert name_hydrogens(modeller.topology, wrong) == [proline] and name_hydrogens(modeller.topology, wrong) == []
        assert [next(atom.name for atom in proline.atoms() if atom.index == index[name]) for name in ("H2", "H3")] == list(reversed(names))


@pytest.mark.parametrize("force_field", ["ff14SB", "charmm36m", "charmm36m-ecc"])
def test_the_program_has_the_energies_of_both_forms_and_what_is_between(force_field: str, tmp_path: Path) -> None:
    """PRO-NME in vacuum: energies of OpenMM with the charges of each form, and between the forms what is linear in λ."""
    ff = loaded(force_field)
    modeller = built(ff)
    system = ff.forcefield.createSystem(modeller.topology, nonbondedMethod=app.NoCutoff, residueTemplates=ff.templates(modeller.topology))
    (tmp_path / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    text = entry(ff, "nterm")
    rows = script("benchmarks/scripts/forms_of_residues.py")
    # The program wants a correction, whatever it is; the potential energy is without.
    known = rows.correction("nterm").replace("[correction", "[elsewhere.correction")
    (tmp_path / "entry.toml").write_text(text[: text.index("# Not calibrated")] + OWN[: OWN.index("[elsewhere.")] + known + CORRECTION, encoding="utf-8")
    (tmp_path / "rotamer.gro").write_text(rows.gro(modeller.topology, positions(modeller)))
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    force = next(one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
    context.setPositions(modeller.positions)
    before = [force.getParticleParameters(k)[0]._value for k in range(force.getNumParticles())]
    pairs = [force.getExceptionParameters(k) for k in range(force.getNumExceptions())]
    index = {atom.name: atom.index for atom in next(modeller.topology.residues()).atoms()}
    theirs, ours = [], []
    for form in (0, 1):
        after = list(before)
        for name, values in forms(ff, "nterm").proline.items():
            after[index[name]] = values[form]
            force.setParticleParameters(index[name], values[form], *force.getParticleParameters(index[name])[1:])
        for k, (i, j, product, *well) in enumerate(pairs):
            if product._value != 0.0:
                force.setExceptionParameters(k, i, j, product * (after[i] * after[j] / (before[i] * before[j])), *well)
        force.updateParametersInContext(context)
        theirs.append(context.getState(getEnergy=True).getPotentialEnergy()._value)
    for weights in ([1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.25, 0.75]):
        (tmp_path / "job.toml").write_text(rows.JOB.replace('residue = "{site} 2"', 'residue = "nterm PRO 1"').format(weights=weights))
        answer = subprocess.run([binary(), "energy", "job.toml", "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
        ours.append(json.loads(answer.stdout)["energies"]["potential"]["value"])
    # Bonds to hydrogen are springs of OpenMM here and constraints of the program. The derivative is the difference of the forms everywhere between them.
    change = theirs[1] - theirs[0]
    assert [one - ours[0] for one in ours[1:]] == pytest.approx([change, change / 2, 0.75 * change], abs=1e-3) and abs(change) > 0.1


def test_no_other_residue_is_an_end_of_proline() -> None:
    ff = loaded("ff14SB")
    modeller = peptide(["ALA", "PRO", "GLN", "PRO"])
    modeller = ff.add_hydrogens(modeller, ff.build_names(modeller.topology))
    assert [end_of_proline(residue) for residue in modeller.topology.residues()] == [None] * 4
    modeller = built(ff)
    assert [end_of_proline(residue) for residue in modeller.topology.residues()] == [("H2", "H3"), None]
    # The built-in library has the entry already; other force fields get theirs.
    assert set(ff.entries(modeller.topology)) == {"nterm.toml"}


def test_a_protein_that_begins_with_proline_says_how_its_end_can_titrate(structure: Write, report: Report, tmp_path: Path, bare: None) -> None:
    options = structure(peptide_text("PRO", "GLU", "LEU"))
    options.force_field, options.ph_range = "amber99sb-ildn", (2.0, 9.0)
    folder, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["GL3 2", "cterm ZLEU 3"]
    command = shlex.split("octitrate calibrate --residue 'nterm PRO' --force-field amber99sb-ildn")
    assert shlex.join(command) in notes(report)
    assert compound(command[3]).entry == "nterm"
    # With a correction of one's own it titrates.
    text = entry(loaded("amber99sb-ildn"), "nterm")
    own = tmp_path / "own/nterm.toml"
    own.parent.mkdir()
    own.write_text(text[: text.index("# Not calibrated")] + OWN + CORRECTION, encoding="utf-8")
    options.library, options.output = [own.parent], folder.with_name("titrates")
    folder, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["nterm PRO 1", "GL3 2", "cterm ZLEU 3"]
    library = tomllib.loads((folder / "library/nterm.toml").read_text(encoding="utf-8"))
    assert "PRO" in [name for one in library["elsewhere"] for name in one["residues"]] and library["other_atoms"][0]["charges"]["N"] == [-0.202, -0.86]


def test_corrections_of_before_serve_and_other_charges_at_proline_do_not(tmp_path: Path) -> None:
    """Entries of earlier versions say nothing of Pro; their corrections are of other residues."""
    text = entry(loaded("ff14SB"), "nterm")
    own, other = tmp_path / "own.toml", tmp_path / "other.toml"
    own.write_text(text.replace(CORRECTION, OWN + CORRECTION), encoding="utf-8")
    other.write_text(text[: text.index("# Proline has")] + (OWN + CORRECTION).replace("PRO", "SER"), encoding="utf-8")
    for files in ([other, own], [own, other]):
        both = tomllib.loads(Calibrated(files).written("nterm", "ff14SB", text))
        assert {name for one in both["elsewhere"] for name in one["residues"]} == {"PRO", "SER"}
    own.write_text(own.read_text(encoding="utf-8").replace("CD = [-0.012, -0.051]", "CD = [-0.012, -0.052]"), encoding="utf-8")
    with pytest.raises(Refused, match="other_atoms of the calibrated entry nterm"):
        Calibrated([own]).written("nterm", "ff14SB", text)


def test_runs_of_before_get_the_correction_of_proline(tmp_path: Path) -> None:
    records = script("validation/record_corrections.py")
    text = entry(loaded("ff14SB"), "nterm")
    (tmp_path / "nterm.toml").write_text(text.replace(CORRECTION, OWN + CORRECTION), encoding="utf-8")
    site = {"entry": "nterm", "kind": "titratable", "name": "nterm PRO 1", "forms": [{}, {}], "free_energies": [0.0, 234.0]}
    assert records.polynomial(site, tmp_path) == (1, 0, [234.0])
