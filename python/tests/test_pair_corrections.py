"""CUFIX: which pairs of atoms it changes and by how much, what it is refused for, and that corrections V_MM serve as they are."""

from __future__ import annotations

import math
import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from conftest import Write, hetero, peptide_text
from openmm import app, unit

from octitrate.entries import BUILT_IN_STATUS
from octitrate.errors import Refused
from octitrate.model_compound import build, compound, solvated
from octitrate.pair_corrections import CORRECTIONS, in_model_compound
from octitrate.peptide import peptide
from octitrate.prepare.command import main
from octitrate.prepare.pipeline import prepare
from octitrate.prepare.report import Report
from octitrate.residues import Group, TitratableForceField

CHAIN = ("ALA", "GLU", "LYS", "ASP", "ARG", "HIS", "ASN", "TRP", "GLN", "SER", "PRO", "TYR", "CYS", "GLY", "ASP")
NITROGENS = {"ALA 1 N", "LYS 3 NZ", "ARG 5 NE", "ARG 5 NH1", "ARG 5 NH2"}
FORMS = {
    "protonated": {"GL3 2 OE1", "GL3 2 OE2", "AS3 4 OD1", "AS3 4 OD2", "ZAS3 15 OD1", "ZAS3 15 OD2", "ZAS3 15 O", "ZAS3 15 OXT"},
    "of pH 7": {"GLU 2 OE1", "GLU 2 OE2", "ASP 4 OD1", "ASP 4 OD2", "ASP 15 OD1", "ASP 15 OD2", "ASP 15 O", "ASP 15 OXT"},
}


@pytest.fixture(scope="module")
def corrected() -> TitratableForceField:
    return TitratableForceField("ff14SB", pair_corrections="cufix")


def built(ff: TitratableForceField, residues: tuple[str, ...], of_ph_7: bool = False) -> tuple[Any, Any]:
    """A peptide with its hydrogens, and its system without water."""
    modeller = peptide(residues)
    groups = [(index, group) for index in range(len(residues)) for group in ("side", "cterm")] if of_ph_7 else []
    modeller = ff.add_hydrogens(modeller, ff.build_names(modeller.topology, keep=groups))
    templates = ff.templates(modeller.topology)
    return modeller, ff.forcefield.createSystem(modeller.topology, nonbondedMethod=app.NoCutoff, removeCMMotion=False, residueTemplates=templates)


def force_of(system: Any) -> Any:
    """The force of the corrections, `None` without one."""
    return next((force for force in system.getForces() if force.getName() == "CUFIX"), None)


def pairs_of(system: Any, names: list[str]) -> dict[frozenset[str], tuple[float, float]]:
    """Pairs of atoms that the force changes, with what it adds to c6 and c12; from its tables and its exclusions alone."""
    force = force_of(system)
    tables = {force.getTabulatedFunctionName(k): force.getTabulatedFunction(k).getFunctionParameters() for k in range(2)}
    kind = [int(force.getParticleParameters(k)[0]) for k in range(force.getNumParticles())]
    excluded = {frozenset(force.getExclusionParticles(k)) for k in range(force.getNumExclusions())}
    found = {}
    for i, j in combinations(range(len(kind)), 2):
        c6, c12 = (tables[name][2][kind[i] + tables[name][0] * kind[j]] for name in ("c6", "c12"))
        if (c6, c12) != (0.0, 0.0):
            assert frozenset((i, j)) not in excluded, "no 1-4 pair of these forms is one of them"
            found[frozenset((names[i], names[j]))] = (c6, c12)
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("force_field", ["ff14SB", "amber99sb-ildn"])
def test_every_base_with_every_acid_and_nothing_else(force_field: str, form: str) -> None:
    modeller, system = built(TitratableForceField(force_field, pair_corrections="cufix"), CHAIN, form != "protonated")
    names = [f"{atom.residue.name} {atom.residue.id} {atom.name}" for atom in modeller.topology.atoms()]
    found = pairs_of(system, names)
    assert found.keys() == {frozenset((n, o)) for n in NITROGENS for o in FORMS[form]}
    (c6, c12), *others = set(found.values())
    assert not others
    # By hand: ε 0.790544 kJ/mol, σ from 0.310496 to 0.318496 nm. At 0.28 nm the interaction goes from 5.05 to 7.99 kJ/mol.
    assert c12 / 0.28**12 - c6 / 0.28**6 == pytest.approx(2.9337, abs=5e-4)
    sigma, epsilon = 0.318496, 0.7905435
    assert c12 == pytest.approx(4 * epsilon * (sigma**12 - 0.310496**12), rel=1e-5) and c6 == pytest.approx(4 * epsilon * (sigma**6 - 0.310496**6), rel=1e-5)


def test_energy_is_that_of_the_pairs(corrected: TitratableForceField) -> None:
    modeller, system = built(corrected, ("LYS", "GLY", "GLU"))
    names = [f"{atom.residue.name} {atom.name}" for atom in modeller.topology.atoms()]
    for k, force in enumerate(system.getForces()):
        force.setForceGroup(1 if force is not None and force.getName() == "CUFIX" else 0)
    places = np.array(modeller.positions.value_in_unit(openmm.unit.nanometer))
    moved = names.index("NLYS NZ")
    places[moved] = places[names.index("ZGL3 OE1")] + [0.0, 0.0, 0.27]
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(places)
    found = context.getState(getEnergy=True, groups={1}).getPotentialEnergy()._value

    def energy(sigma: float, r: float) -> float:
        return 4 * math.sqrt(0.71128 * 0.87864) * ((sigma / r) ** 12 - (sigma / r) ** 6)

    old = (0.3249998523775958 + 0.2959921901149463) / 2  # N3 and O2 of parm10.dat: 1.8240 and 1.6612 Å
    apart = [
        float(np.linalg.norm(places[names.index(f"NLYS {n}")] - places[names.index(f"ZGL3 {o}")])) for n in ("N", "NZ") for o in ("OE1", "OE2", "O", "OXT")
    ]
    assert found == pytest.approx(sum(energy(0.318496, r) - energy(old, r) for r in apart), rel=1e-9)
    assert found > 4.8


def test_ions_of_joung_and_cheatham_are_corrected_and_others_are_not(structure: Write, bare: None) -> None:
    text = peptide_text("GLY", "GLU", "LYS", "GLY")
    for force_field, corrected in (("ff14SB", 2), ("amber99sb-ildn", 0)):
        options, report = structure(text), Report(screen=None)
        options.force_field, options.pair_corrections, options.salt, options.force = force_field, "cufix", 1.0, True
        folder = prepare(options, report)
        record = (folder / "prepare.md").read_text()
        ions = ["Na+ with O of carboxyls 0.2700 → 0.2800 nm", "Na+ with Cl- 0.3458 → 0.3473 nm"]
        applied, _, left = record.partition("left out of CUFIX")
        assert [ion in applied for ion in ions] == [corrected == 2] * 2 and [ion in left for ion in ions] == [corrected == 0] * 2
        assert "N of amines with O of carboxyls 0.3105 → 0.3185 nm (2 × 4 atoms)" in applied
        assert f"with {force_field} with CUFIX and tip3p" in record and "doi:10.1021/acs.jctc.5b00967" in record
        assert tomllib.loads((folder / "prepare.toml").read_text())["pair_corrections"] == "cufix"
        assert f'topology = "system.xml" # {force_field} with CUFIX' in (folder / "titrate.toml").read_text()
        system = openmm.XmlSerializer.deserialize((folder / "system.xml").read_text())
        names = [row[5:10].strip() for row in (folder / "system.gro").read_text().splitlines()[2:-1]]
        pairs = pairs_of(system, [f"{name} {k}" for k, name in enumerate(names)])
        kinds = {frozenset(name.split()[0] for name in pair) for pair in pairs}
        assert (frozenset({"NA", "CL"}) in kinds, frozenset({"NA", "GL3"}) in kinds) == (corrected == 2,) * 2
        # The cut-off and the correction behind it are those of the other force.
        nonbonded = next(force for force in system.getForces() if isinstance(force, openmm.NonbondedForce))
        force = force_of(system)
        assert force.usesPeriodicBoundaryConditions() and force.getCutoffDistance() == nonbonded.getCutoffDistance()
        assert force.getUseLongRangeCorrection() == nonbonded.getUseDispersionCorrection() is True


def test_potassium_has_numbers_of_its_own(corrected: TitratableForceField) -> None:
    topology = app.Topology()
    for name, symbol in (("K", "K"), ("CL", "Cl"), ("NA", "Na")):
        topology.addAtom(name, app.Element.getBySymbol(symbol), topology.addResidue(name, topology.addChain()))
    pairs = pairs_of(corrected.forcefield.createSystem(topology), ["K", "CL", "NA"])
    assert pairs.keys() == {frozenset({"K", "CL"}), frozenset({"NA", "CL"})}
    expected = 4 * 0.347382324 * (0.377781**12 - 0.375781**12)
    assert pairs[frozenset({"K", "CL"})][1] == pytest.approx(expected, rel=1e-4)  # the difference of σ has four digits


def test_nothing_is_corrected_unless_it_is_asked_for(structure: Write, report: Report, bare: None) -> None:
    options = structure(peptide_text("GLY", "GLU", "LYS", "GLY"))
    folder = prepare(options, report)
    assert "CustomNonbondedForce" not in (folder / "system.xml").read_text() and "pair_corrections" not in (folder / "prepare.toml").read_text()


SHIPPED = [entry.stem for entry in sorted((Path(__file__).parents[1] / "octitrate/corrections/ff14SB-tip3p").glob("*.toml"))]
SIDES = {"glu3": "GLU", "asp3": "ASP", "his": "HIS", "lys": "LYS", "tyr": "TYR", "arg": "ARG", "cys": "CYS"}


def places_of(entry: str) -> list[str]:
    """Names of the model compounds of the corrections that an entry of ff14SB has."""
    path = Path(__file__).parents[1] / f"octitrate/corrections/ff14SB-tip3p/{entry}.toml"
    text = tomllib.loads(path.read_text())
    ends = [residue for one in text.get("elsewhere", []) for residue in one["residues"]]
    if entry in SIDES:
        return [SIDES[entry], *(f"cterm side {one[1:]}" if one.startswith("Z") else f"nterm side {one[1:]}" for one in ends)]
    own = ["ALA"] if text["correction"]["status"] != "uncalibrated" else []
    return [f"{entry} {residue}" for residue in own + ends]


def place_of(name: str, ff: TitratableForceField, topology: app.Topology) -> Group:
    """The group of a model compound that is calibrated, as `octitrate prepare` finds it before hydrogens are added."""
    what = compound(name)
    (group,) = (group for group in ff.groups(topology) if group.residue.index == what.site and group.entry == what.entry)
    return group


def test_corrections_that_come_with_octitrate_serve_as_they_are_where_no_pair_is_in_the_model_compound(corrected: TitratableForceField) -> None:
    names = [name for entry in SHIPPED for name in places_of(entry)]
    assert {"GLU", "HIS", "nterm LYS", "nterm ARG", "cterm LEU", "cterm LYS", "cterm side GL3"} <= set(names)
    plain = TitratableForceField("ff14SB")
    held = []
    for name in dict.fromkeys(names):
        # Without the water, which has no pair that is corrected.
        molecule = peptide(compound(name).residues)
        own, others = (place_of(name, ff, molecule.topology).corrected for ff in (corrected, plain))
        topology = corrected.add_hydrogens(molecule, corrected.build_names(molecule.topology)).topology
        topology.setUnitCellDimensions(openmm.Vec3(3, 3, 3) * unit.nanometer)
        system, other = (ff.cutoffs.system(ff.forcefield, topology, residueTemplates=ff.templates(topology)) for ff in (corrected, plain))
        same = force_of(system) is None and openmm.XmlSerializer.serialize(system) == openmm.XmlSerializer.serialize(other)
        # That of an acid at an amino end or a base at a carboxyl end was made without the pair, and is none with it.
        assert own == same and others, name
        held += [] if same else [name]
    assert held == ["cterm ARG", "cterm LYS", "nterm AS3", "nterm GL3"]
    # Those that are built in, for AMBER99SB-ILDN: none of them is such an end.
    places = [(entry, where) for entry, where in BUILT_IN_STATUS if where]
    assert not any(in_model_compound(where, entry == "nterm", entry != "nterm") for entry, where in places)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("name", "pair"), [("cterm LYS", True), ("cterm ARG", True), ("nterm side GLU", True), ("nterm ASP", True), ("nterm LYS", False), ("cterm GLU", False)]
)
def test_model_compounds_that_have_a_pair_are_known(name: str, pair: bool, corrected: TitratableForceField) -> None:
    what = compound(name)
    _, system = solvated(what, corrected)
    assert (force_of(system) is not None) == pair
    assert in_model_compound(what.residues[what.site], name.startswith("nterm"), name.startswith("cterm")) == pair


def test_a_correction_that_was_made_with_the_pair_serves(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "octitrate/corrections/ff14SB-tip3p/cterm.toml").read_text()
    with_pairs = text.replace('compensation = "buffers"\n', 'compensation = "buffers"\npairs = "0123456789abcdef"\n')
    assert with_pairs != text
    (tmp_path / "cterm.toml").write_text(with_pairs)
    own = TitratableForceField("ff14SB", library=[tmp_path], pair_corrections="cufix")
    group = place_of("cterm LYS", own, peptide(compound("cterm LYS").residues).topology)
    assert group.status == "calibrated" and group.file == tmp_path / "cterm.toml"


def test_such_a_model_compound_is_calibrated_with_the_corrections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = build("cterm LYS", "ff14SB", pair_corrections="cufix")
    assert place == Path("ff14SB-cufix-tip3p/cterm-lys") and 'name="CUFIX"' in (place / "system.xml").read_text()
    assert "ff14SB with CUFIX in tip3p" in (place / "calibrate.toml").read_text()


@pytest.mark.parametrize(
    ("force_field", "water", "name", "message"),
    [
        ("ff19SB", None, "cufix", "no pair corrections of CUFIX with ff19SB: CUFIX was fitted with TIP3P to AMBER's ff99 and its variants, and ff19SB is made for OPC"),
        ("charmm36m", None, "cufix", r"with charmm36m: CHARMM36m has pair terms of its own \(NBFIX\)"),
        ("ff14SB", "opc", "cufix", "no pair corrections of CUFIX with opc: they were fitted with tip3p"),
        ("ff14SB", "tip3pfb", "cufix", "no pair corrections of CUFIX with tip3pfb"),
        ("ff14SB", None, "nbfix", "there are no pair corrections 'nbfix'"),
    ],
)
def test_what_they_were_not_made_for_is_refused(force_field: str, water: str | None, name: str, message: str, structure: Write, report: Report) -> None:
    options = structure(peptide_text("GLY", "GLU", "GLY"))
    options.force_field, options.water, options.pair_corrections = force_field, water, name
    with pytest.raises(Refused, match=message):
        prepare(options, report)
    assert options.output is not None and not options.output.exists()


def test_finished_systems_keep_what_they_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = Path(__file__).parents[2] / "inputs/01-glu"
    arguments = ["--from", str(inputs / "glu.top"), str(inputs / "glu.gro"), "-o", str(tmp_path / "taken"), "-q", "--pair-corrections", "cufix"]
    assert main(arguments) == 2 and not (tmp_path / "taken").exists()
    assert "a finished system keeps the parameters that it has" in capsys.readouterr().err


def test_what_is_not_corrected_is_said(structure: Write, report: Report, bare: None) -> None:
    options = structure(peptide_text("GLY", "TYR", "GLY") + hetero("CA", "CA", "CA", (15.0, 0.0, 0.0)))
    options.force_field, options.pair_corrections, options.ends, options.keep = "ff14SB", "cufix", "capped", ["CA"]
    prepare(options, report)
    said = " ".join(report.warnings())
    assert "CUFIX was asked for and corrects nothing" in said  # chlorides alone make it neutral
    assert "has no term for CA" in said


def test_numbers_are_shifts_in_hundredths_of_an_angstrom() -> None:
    shifts = {one.pair: round(10 * (one.corrected - one.sigma), 4) for one in CORRECTIONS["cufix"].pairs}
    assert shifts == {
        ("amine", "carboxyl"): 0.08, ("guanidinium", "carboxyl"): 0.08, ("Na+", "carboxyl"): 0.1, ("K+", "carboxyl"): 0.3, ("Na+", "Cl-"): 0.015, ("K+", "Cl-"): 0.02,
    }  # fmt: skip
