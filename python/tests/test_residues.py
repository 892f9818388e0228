"""Residues that hold every proton: charges, bonded terms, names, and energies against OpenMM's own way to the same molecule."""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

import pytest

openmm = pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

from conftest import loaded  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.force_fields import FORCE_FIELDS, View, load, pdb_view  # noqa: E402
from octitrate.ions import METALS, SALT, element_of_ion  # noqa: E402
from octitrate.peptide import peptide  # noqa: E402
from octitrate.prepare.solvate import without_pair_tables  # noqa: E402
from octitrate.residues import AMINO_ACIDS, TitratableForceField  # noqa: E402
from openmm import app, unit  # noqa: E402

RTP = Path(__file__).parents[2] / "lambda/library/pdb2gmx/octitrate.rtp"
NAMES = [name for name, family in FORCE_FIELDS.items() if family.charge_scale == 1.0]


@cache
def plain(name: str) -> Any:
    return load(name, next(iter(FORCE_FIELDS[name].waters)))


@pytest.fixture(params=NAMES)
def ff(request: pytest.FixtureRequest) -> TitratableForceField:
    return loaded(request.param)


def everything(count: int) -> set[tuple[int, str]]:
    return {(number, group) for number in range(count) for group in ("side", "nterm", "cterm")}


def built(ff: TitratableForceField, *residues: str, keep: Collection[tuple[int, str]] = ()) -> Any:
    modeller = peptide(residues)
    return ff.add_hydrogens(modeller, ff.build_names(modeller.topology, keep))


def terms(system: Any, positions: Any) -> dict[str, float]:
    """Energy (kJ/mol) of every force, by its name, on the Reference platform."""
    for number, force in enumerate(system.getForces()):
        force.setForceGroup(number)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(positions)
    found: dict[str, float] = {}
    for number, force in enumerate(system.getForces()):
        energy = context.getState(getEnergy=True, groups=1 << number).getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
        found[force.getName()] = found.get(force.getName(), 0.0) + energy
    return found


def rtp() -> dict[str, dict[str, float]]:
    """Charges of the residues that octitrate adds to AMBER99SB-ILDN of GROMACS."""
    residues: dict[str, dict[str, float]] = {}
    atoms, name = False, ""
    for line in RTP.read_text().splitlines():
        words = line.split(";")[0].split()
        if words[:1] == ["["]:
            atoms = words[1] == "atoms"
            if not line.startswith(" "):
                name = words[1]
        elif atoms and len(words) == 4:
            residues.setdefault(name, {})[words[0]] = float(words[2])
    return residues


def in_gromacs(residue: View) -> dict[str, float]:
    """Charges of a residue with PDB names by the names of GROMACS, which counts the two hydrogens of a CH2 from 1."""
    found = {name: atom.charge for name, atom in residue.atoms.items()}
    for name, atom in residue.atoms.items():
        two = sorted(other for other in residue.neighbours(name) if residue.atoms[other].element == "H")
        if atom.element == "C" and [other[-1] for other in two] == ["2", "3"]:
            found[two[0][:-1] + "1"], found[two[1][:-1] + "2"] = found.pop(two[0]), found.pop(two[1])
    found["OC1"], found["OC2"] = found.get("O", 0.0), found.get("OXT", 0.0)
    return found


@pytest.mark.parametrize("name", ["amber99sb-ildn", "ff14SB", "ff19SB"])
def test_charges_are_those_of_the_residues_for_pdb2gmx(name: str) -> None:
    """ff14SB and ff19SB have the charges of Cornell et al. 1995, as AMBER99SB-ILDN has, so that residues made by the same rules have the same charges."""
    ff, compared = loaded(name), 0
    for residue, expected in rtp().items():
        base = "GL3" if "GL3" in residue else "AS3" if "AS3" in residue else residue[1:]
        first, last = residue[0] == "N", residue[0] == "Z"
        made = pdb_view(ff.residues.view(base, first, last, last))
        found = in_gromacs(made)
        if base == "ILE":
            found |= {"CD": found["CD1"], "HD1": found["HD11"], "HD2": found["HD12"], "HD3": found["HD13"]}
        for atom, charge in expected.items():
            # Files of GROMACS have five decimals.
            assert found[atom] == pytest.approx(charge, abs=1e-5), (residue, atom)
            compared += 1
    assert compared > 400


def test_every_residue_has_a_whole_charge(ff: TitratableForceField) -> None:
    charged = {"HIP": 1, "LYS": 1, "ARG": 1}
    for residue in ["GL3", "AS3", "HIP", "CYX", *(one for one in AMINO_ACIDS if one not in ("GLU", "ASP", "HIS"))]:
        for first, last in ((False, False), (True, False), (False, True)):
            made = ff.residues.view(residue, first, last, last)
            assert made.charge() == pytest.approx(charged.get(residue, 0) + first, abs=1e-6), made.name


def test_the_charged_proton_is_on_the_second_oxygen_whatever_the_order_of_atoms(ff: TitratableForceField) -> None:
    modeller = built(ff, "ACE", "GLU", "ASP")
    for seed in range(8):
        topology, order = app.Topology(), random.Random(seed)
        chain, atoms = topology.addChain(), {}
        for residue in modeller.topology.residues():
            copy = topology.addResidue(residue.name, chain)
            for atom in order.sample(list(residue.atoms()), len(list(residue.atoms()))):
                atoms[atom] = topology.addAtom(atom.name, atom.element, copy)
        for bond in modeller.topology.bonds():
            topology.addBond(atoms[bond[0]], atoms[bond[1]])
        system = ff.forcefield.createSystem(topology, residueTemplates=ff.templates(topology))
        force = next(one for one in system.getForces() if isinstance(one, openmm.NonbondedForce))
        charge = {(atom.residue.name, atom.name): force.getParticleParameters(atom.index)[0]._value for atom in topology.atoms()}
        for residue, uncharged, charged, oxygen, other in (
            ("GL3", "HE1", "HE2", "OE2", "OE1"),
            ("ZAS3", "HD1", "HD2", "OD2", "OD1"),
            ("ZAS3", "HO1", "HO2", "OXT", "O"),
        ):
            assert charge[residue, uncharged] == 0.0
            assert charge[residue, charged] > 0.4
            assert charge[residue, oxygen] < charge[residue, other] - 0.05
        assert sum(charge.values()) == pytest.approx(0.0, abs=1e-6)


def test_hydrogens_are_held_syn(ff: TitratableForceField) -> None:
    modeller = built(ff, "ACE", "GLU", "NME")
    system = ff.forcefield.createSystem(modeller.topology, residueTemplates=ff.templates(modeller.topology))
    index = {atom.name: atom.index for atom in modeller.topology.atoms() if atom.residue.name == "GL3"}
    held = []
    for force in system.getForces():
        if isinstance(force, openmm.PeriodicTorsionForce):
            for k in range(force.getNumTorsions()):
                *atoms, period, phase, amplitude = force.getTorsionParameters(k)
                if index["HE1"] in atoms or index["HE2"] in atoms:
                    held.append((set(atoms), period, phase._value, amplitude._value))
    oxygens = {index["OE1"], index["OE2"], index["CD"]}
    # The path over CG has no term, and none of the force field is left.
    found = sorted((min(one[0] - oxygens), one[1], one[3]) for one in held)
    assert found == sorted((index[name], 1, 80.0) for name in ("HE1", "HE2"))
    assert all(phase == pytest.approx(3.14159265) for _, _, phase, _ in held)
    # Both hydrogens lie where that torsion has its minimum: nearer to the other oxygen than 0.25 nm (anti: 0.31 nm).
    points = modeller.positions.value_in_unit(unit.nanometer)
    for hydrogen, oxygen in (("HE1", "OE2"), ("HE2", "OE1")):
        assert openmm.unit.norm(points[index[hydrogen]] - points[index[oxygen]]) < 0.25


def test_a_carboxyl_differs_from_that_of_the_force_field_only_by_its_hydrogens(ff: TitratableForceField) -> None:
    """Without hydrogens and charges GL3 has the bonded energy of GLU: the terms are those of the deprotonated residue."""
    modeller = built(ff, "ACE", "GLU", "NME")
    plain = built(ff, "ACE", "GLU", "NME", keep=everything(2))
    system = ff.forcefield.createSystem(modeller.topology, residueTemplates=ff.templates(modeller.topology))
    usual = ff.forcefield.createSystem(plain.topology, residueTemplates=ff.templates(plain.topology))
    extra = [atom.index for atom in modeller.topology.atoms() if atom.name in ("HE1", "HE2")]
    place = {(atom.residue.index, atom.name): k for k, atom in enumerate(modeller.topology.atoms())}
    points = modeller.positions.value_in_unit(unit.nanometer)
    same = [points[place[atom.residue.index, atom.name]] for atom in plain.topology.atoms()]
    for force in system.getForces():
        if isinstance(force, openmm.HarmonicBondForce):
            for k in range(force.getNumBonds()):
                a, b, length, constant = force.getBondParameters(k)
                force.setBondParameters(k, a, b, length, 0.0 if {a, b} & set(extra) else constant)
        if isinstance(force, openmm.HarmonicAngleForce):
            for k in range(force.getNumAngles()):
                *atoms, angle, constant = force.getAngleParameters(k)
                force.setAngleParameters(k, *atoms, angle, 0.0 if set(atoms) & set(extra) else constant)
        if isinstance(force, openmm.PeriodicTorsionForce):
            for k in range(force.getNumTorsions()):
                *atoms, period, phase, amplitude = force.getTorsionParameters(k)
                force.setTorsionParameters(k, *atoms, period, phase, 0.0 if set(atoms) & set(extra) else amplitude)
    found, expected = terms(system, points), terms(usual, same)
    for name in ("HarmonicBondForce", "HarmonicAngleForce", "PeriodicTorsionForce", "CMAPTorsionForce"):
        if name in expected:
            # The sum of the same terms in double precision.
            assert found[name] == pytest.approx(expected[name], abs=1e-8), name


def test_a_peptide_has_the_energy_that_openmm_gives_it_without_our_templates(ff: TitratableForceField) -> None:
    """Residues that need none of ours get the templates, or patches of CHARMM, that OpenMM finds by itself."""
    modeller = built(ff, "ALA", "GLU", "LYS", "CYS", "GLY", "SER", "ILE", keep=everything(7))
    chosen = ff.templates(modeller.topology)
    ours = terms(ff.forcefield.createSystem(modeller.topology, residueTemplates=chosen), modeller.positions)
    theirs = terms(plain(ff.name).createSystem(modeller.topology), modeller.positions)
    assert ours == pytest.approx(theirs, abs=1e-8)


def test_caps_of_charmm_are_the_patches_of_their_neighbours() -> None:
    """ACE and NME as residues of their own have the energy that they have as part of alanine, term by term, impropers and CMAP included."""
    ff = loaded("charmm36m")
    modeller = built(ff, "ACE", "ALA", "NME")
    ours = terms(ff.forcefield.createSystem(modeller.topology, residueTemplates=ff.templates(modeller.topology)), modeller.positions)
    merged = app.Topology()
    residue, atoms = merged.addResidue("ALA", merged.addChain()), {}
    for atom in modeller.topology.atoms():
        atoms[atom] = merged.addAtom(f"{atom.name}{atom.residue.index}", atom.element, residue)
    for bond in modeller.topology.bonds():
        merged.addBond(atoms[bond[0]], atoms[bond[1]])
    theirs = terms(ff.forcefield.createSystem(merged), modeller.positions)
    assert ours == pytest.approx(theirs, abs=1e-8)
    assert any(abs(energy) > 0.1 for name, energy in ours.items() if name == "CMAPTorsionForce")


def test_lennard_jones_of_charmm_without_its_table_of_pairs() -> None:
    """What `prepare` minimises with has the energy of the force field where no pair of types has numbers of its own."""
    ff = loaded("charmm36m")
    modeller = built(ff, "ACE", "ALA", "SER", "ILE", "NME")
    system = ff.forcefield.createSystem(modeller.topology, residueTemplates=ff.templates(modeller.topology))
    tabled = terms(system, modeller.positions)
    plainer = terms(without_pair_tables(system), modeller.positions)
    table = (tabled.keys() - plainer.keys()).pop()
    assert abs(tabled[table]) > 1
    assert plainer.pop("NonbondedForce") == pytest.approx(tabled.pop("NonbondedForce") + tabled.pop(table), rel=1e-9)
    assert plainer == tabled


def test_a_bridge_of_charmm_is_its_patch() -> None:
    ff = loaded("charmm36m")
    modeller = peptide(["ALA", "CYS", "GLY", "GLY", "CYS", "ALA"])
    modeller.topology.addBond(*(atom for atom in modeller.topology.atoms() if atom.name == "SG"))
    names = ff.build_names(modeller.topology, keep=everything(6))
    assert names == ["ALA", "CYX", "GLY", "GLY", "CYX", "ALA"]
    modeller = ff.add_hydrogens(modeller, names)
    ours = terms(ff.forcefield.createSystem(modeller.topology, residueTemplates=ff.templates(modeller.topology)), modeller.positions)
    theirs = terms(plain("charmm36m").createSystem(modeller.topology), modeller.positions)
    assert ours == pytest.approx(theirs, abs=1e-8)


def test_names(ff: TitratableForceField) -> None:
    modeller = peptide(["GLU", "HIS", "ASP", "LYS", "ALA"])
    assert ff.build_names(modeller.topology) == ["NGL3", "HIP", "AS3", "LYS", "ZALA"]
    assert ff.build_names(modeller.topology, keep=everything(5)) == ["GLU", "HIE", "ASP", "LYS", "ALA"]
    # A first residue has the name of one inside of a chain where its side chain does not titrate.
    firsts = {name: ff.build_names(peptide([name, "ALA"]).topology, keep=[(1, "cterm")])[0] for name in ("LYS", "HIS", "CYS", "ALA")}
    assert firsts == {"LYS": "NLYS", "HIS": "NHIP", "CYS": "NCYS", "ALA": "ALA"}
    assert ff.build_names(peptide(["LYS", "ALA"]).topology, keep=[(0, "side")]) == ["LYS", "ZALA"]
    assert ff.build_names(peptide(["ACE", "TYR", "NME"]).topology) == [None, "TYR", None]
    assert ff.pka("ZGL3") == [("side chain", 4.25), ("cterm", 3.67)]


def test_what_cannot_be_built_is_refused_by_name() -> None:
    with pytest.raises(Refused, match="there is no force field 'ff99'"):
        TitratableForceField("ff99")
    with pytest.raises(Refused, match="ff14SB has no water model 'swm4ndp'"):
        TitratableForceField("ff14SB", "swm4ndp")
    with pytest.raises(Refused, match="charmm36m-ecc has no water model 'opc'") as refused:
        TitratableForceField("charmm36m-ecc", "opc")
    assert refused.value.help == "its water model is tip3p; --force-field ff14SB or ff19SB has opc"
    ff = loaded("ff14SB")
    with pytest.raises(Refused, match="ALA 1 of chain A is a chain by itself"):
        ff.build_names(peptide(["ALA"]).topology)
    text = io.StringIO()
    app.PDBFile.writeFile(peptide(["ALA", "GLY"]).topology, peptide(["ALA", "GLY"]).positions, text)
    lines = [line for line in text.getvalue().splitlines() if " OXT " not in line]
    with pytest.raises(Refused, match="the chain ends at GLY 2 of chain A, which has no atom OXT"):
        ff.build_names(app.PDBFile(io.StringIO("\n".join(lines))).topology)


def test_hydrogens_have_the_names_of_pdb_files() -> None:
    names = {name: dict(loaded(name).hydrogens("GL3")) for name in NAMES}
    for a, b in itertools.pairwise(names.values()):
        assert a == b
    assert names["ff14SB"] == {"H": "N", "HA": "CA", "HB2": "CB", "HB3": "CB", "HG2": "CG", "HG3": "CG", "HE1": "OE1", "HE2": "OE2"}


def test_ions_have_the_charge_that_their_name_means(ff: TitratableForceField) -> None:
    """The PDB calls iron with three charges FE and that with two FE2: OpenMM, which knows ions by their element, takes whichever there is, or none of two."""
    names = [name for name in METALS | SALT if ff.ion(name) is not None]
    assert {"MG", "NA", "CL"} < set(names)
    if ff.name != "amber99sb-ildn":
        assert {"CA", "ZN", "MN", "FE", "FE2", "CU", "CO", "NI"} < set(names)
    topology = app.Topology()
    chain = topology.addChain()
    for name in names:
        symbol = element_of_ion(name)
        topology.addAtom(symbol, app.Element.getBySymbol(symbol), topology.addResidue(name, chain))
    system = ff.forcefield.createSystem(topology, residueTemplates=ff.templates(topology))
    force = next(force for force in system.getForces() if isinstance(force, openmm.NonbondedForce))
    charges = [force.getParticleParameters(k)[0].value_in_unit(unit.elementary_charge) for k in range(len(names))]
    assert dict(zip(names, charges)) == pytest.approx({name: (METALS | SALT)[name] for name in names})
