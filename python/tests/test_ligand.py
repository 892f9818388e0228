"""Entries of any molecule from its parameters in both forms: acetic acid and imidazolium with types of ff14SB."""

from __future__ import annotations

import itertools
import random
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

openmm = pytest.importorskip("openmm")

from conftest import binary  # noqa: E402
from octitrate import ligand  # noqa: E402
from octitrate.errors import Refused  # noqa: E402
from octitrate.force_fields import Atom, View, load, register  # noqa: E402
from openmm import app, unit  # noqa: E402


Parts = dict[str, tuple[str, float]]

ACID: Parts = {
    "CH3": ("CT", -0.20), "H1": ("HC", 0.08), "H2": ("HC", 0.08), "H3": ("HC", 0.08), "C": ("C", 0.65), "O": ("O", -0.54), "OH": ("OH", -0.61),
    "HO": ("HO", 0.46),
}  # fmt: skip
"""Acetic acid: type and charge of each atom. Charges of this size, not of a force field: they only have to be whole together."""
BASE: Parts = {
    "CX": ("CT", -0.22), "HA": ("HC", 0.00), "HB": ("HC", 0.00), "HC": ("HC", 0.00), "C1": ("C", 0.86), "O1": ("O2", -0.82), "O2": ("O2", -0.82),
}  # fmt: skip
"""Acetate with other names."""
ACID_BONDS = [("CH3", "H1"), ("CH3", "H2"), ("CH3", "H3"), ("CH3", "C"), ("C", "O"), ("C", "OH"), ("OH", "HO")]
BASE_BONDS = [("CX", "HA"), ("CX", "HB"), ("CX", "HC"), ("CX", "C1"), ("C1", "O1"), ("C1", "O2")]
RING = [("C1", "N1"), ("N1", "C2"), ("C2", "N3"), ("N3", "C4"), ("C4", "C5"), ("C5", "C1")]


@cache
def forcefield() -> Any:
    """ff14SB, which finds parameters by types; angles and torsions it lacks are left out."""
    return load("ff14SB", "tip3p")


def written(folder: Path, stem: str, name: str, parts: Parts, bonds: list[tuple[str, str]], seed: int = 0) -> Path:
    """A molecule as .xml and .pdb, its atoms in an order that the seed gives."""
    residue = View(name, {atom: Atom(f"protein-{kind}", charge, kind[0]) for atom, (kind, charge) in parts.items()}, bonds)
    register(forcefield(), residue)
    topology = app.Topology()
    one, order = topology.addResidue(name, topology.addChain()), list(parts)
    random.Random(seed).shuffle(order)
    atoms = {atom: topology.addAtom(atom, app.Element.getBySymbol(parts[atom][0][0]), one) for atom in order}
    for a, b in bonds:
        topology.addBond(atoms[a], atoms[b])
    system = forcefield().createSystem(topology, residueTemplates={one: name}, constraints=app.HBonds)
    (folder / f"{stem}.xml").write_text(openmm.XmlSerializer.serialize(system))
    with (folder / f"{stem}.pdb").open("w") as out:
        places = [openmm.Vec3(0.1 * k, 0.13 * (k % 3), 0.11 * (k % 2)) for k in range(len(parts))] * unit.nanometer
        app.PDBFile.writeFile(topology, places, out)
    return folder / f"{stem}.xml"


@pytest.mark.parametrize("seed", range(4))
def test_acetic_acid_whatever_the_names_and_the_order(seed: int, tmp_path: Path) -> None:
    acid = ligand.read(written(tmp_path, "acid", "ACD", ACID, ACID_BONDS, seed))
    base = ligand.read(written(tmp_path, "base", "ACT", BASE, BASE_BONDS, seed + 7))
    text = ligand.entry(acid, base, 4.76)
    entry = tomllib.loads(text)
    expected = {"CH3": [-0.2, -0.22], "C": [0.65, 0.86], "O": [-0.54, -0.82], "OH": [-0.61, -0.82], "HO": [0.46, 0.0]}
    expected |= {name: [0.08, 0.0] for name in ("H1", "H2", "H3")}
    assert entry["charges"] == expected
    assert [form["net_charge"] for form in entry["forms"]] == [0, -1]
    assert entry["balanced_at"] == "OH"
    assert entry["torsions"] == [{"atoms": ["O", "C", "OH", "HO"], "phase": 180.0, "force_constant": 80.0, "multiplicity": 1}]
    # OH and O2 of AMBER have different radii, O and O2 the same.
    assert "would change those of OH." in text


def imidazole(protons: tuple[str, ...], shift: float) -> tuple[Parts, list[tuple[str, str]]]:
    """A ring as that of imidazole, with hydrogens on these nitrogens."""
    parts: Parts = {"C1": ("C", 0.1), "N1": ("N", -0.3 + shift), "C2": ("C", 0.2), "N3": ("N", -0.4), "C4": ("C", 0.1), "C5": ("C", 0.1)}
    bonds = list(RING)
    for carbon in ("C1", "C2", "C4", "C5"):
        parts[f"H{carbon}"] = ("H", 0.0)
        bonds.append((carbon, f"H{carbon}"))
    for nitrogen in protons:
        parts[f"H{nitrogen}"] = ("H", 0.0)
        bonds.append((nitrogen, f"H{nitrogen}"))
    rest = len(protons) - 1 - sum(charge for _, charge in parts.values())
    parts["C5"] = ("C", round(parts["C5"][1] + rest, 6))
    return parts, bonds


def molecule(name: str, parts: Parts, bonds: list[tuple[str, str]], order: list[str] | None = None) -> ligand.Molecule:
    names = order or list(parts)
    atoms = tuple(ligand.Atom(one, parts[one][0][0], parts[one][1], 0.3, 0.1) for one in names)
    return ligand.Molecule(f"{name}.xml", name, atoms, tuple(frozenset(names.index(a) for a in bond) for bond in bonds))


def test_the_proton_that_leaves_is_the_one_that_the_other_form_lacks() -> None:
    """Imidazolium loses either proton; here its nitrogens are alike but for names."""
    both = molecule("IMH", *imidazole(("N1", "N3"), 0.0))
    for kept, gone in (("N1", "N3"), ("N3", "N1")):
        parts, bonds = imidazole((kept,), 0.05)
        found = ligand.match(both, molecule("IMI", parts, bonds, sorted(parts, reverse=True)))
        # The ring is its own mirror image, and with it the nitrogens: names decide.
        assert both.atoms[found.hydrogen].name == f"H{gone}"
        assert both.atoms[found.parent].name == gone
        names = sorted(parts, reverse=True)
        assert all(both.atoms[place].name == names[other] for place, other in found.places.items())


def test_matching_keeps_bonds_whatever_the_symmetry() -> None:
    """Benzoic acid with all names different: every bond of the acid lies on one of the base."""
    ring = [(f"C{k}", f"C{(k + 1) % 6}") for k in range(6)]
    bonds = [*ring, *((f"C{k}", f"H{k}") for k in range(1, 6)), ("C0", "CC"), ("CC", "OA"), ("CC", "OB")]
    names = sorted({name for bond in bonds for name in bond})
    parts: Parts = {name: (name[0], 0.0) for name in names}
    acid = molecule("BZA", {**parts, "HB": ("H", 0.0)}, [*bonds, ("OB", "HB")])
    rename = {name: f"{name[0]}X{k}" for k, name in enumerate(reversed(names))}
    base = molecule("BZO", {rename[name]: part for name, part in parts.items()}, [(rename[a], rename[b]) for a, b in bonds])
    found = ligand.match(acid, base)
    assert acid.atoms[found.hydrogen].name == "HB"
    mapped = {frozenset(found.places[a] for a in bond) for bond in acid.bonds if found.hydrogen not in bond}
    assert mapped == set(base.bonds)


def test_the_program_takes_the_entry_in_water(tmp_path: Path) -> None:
    files = written(tmp_path, "acid", "ACD", ACID, ACID_BONDS), written(tmp_path, "base", "ACT", BASE, BASE_BONDS)
    assert ligand.main(["--protonated", str(files[0]), "--deprotonated", str(files[1]), "--pka", "4.76", "-o", str(tmp_path / "library/acd.toml")]) == 0
    pdb = app.PDBFile(str(tmp_path / "acid.pdb"))
    modeller = app.Modeller(pdb.topology, pdb.positions)
    modeller.addSolvent(forcefield(), model="tip3p", boxSize=openmm.Vec3(3, 3, 3) * unit.nanometer)
    system = forcefield().createSystem(modeller.topology, nonbondedMethod=app.PME, constraints=app.HBonds)
    (tmp_path / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    atoms = [f"{atom.residue.index + 1:5d}{atom.residue.name:<5}{atom.name:>5}{k % 100000:5d}" for k, atom in enumerate(modeller.topology.atoms(), 1)]
    points = ["".join(f"{x:8.3f}" for x in point) for point in modeller.positions.value_in_unit(unit.nanometer)]
    lines = ["acid", str(len(atoms)), *(a + b for a, b in zip(atoms, points, strict=True)), "3.0 3.0 3.0", ""]
    (tmp_path / "system.gro").write_text("\n".join(lines))
    job = ['[system]\nstructure = "system.gro"\ntopology = "system.xml"\n[dynamics]\nduration = "1 ps"\n[thermostat]\ntemperature = "300 K"']
    job += ['[titration]\nlibrary = ["library/acd.toml"]\n[[titration.site]]\nresidue = "ACD 1"\n[titration.buffer]\nresidue = "HOH"\n[calibrate]\n']
    (tmp_path / "job.toml").write_text("\n".join(job))
    answer = subprocess.run([binary(), "check", "job.toml"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "titratable sites     ACD 1, buffer" in answer.stdout


def test_what_are_no_two_forms_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    acid, base = (molecule(name, parts, bonds) for name, parts, bonds in (("ACD", ACID, ACID_BONDS), ("ACT", BASE, BASE_BONDS)))
    with pytest.raises(Refused, match=r"ACD\.xml has 8 atoms and ACD\.xml has 8"):
        ligand.match(acid, acid)
    with pytest.raises(Refused, match=r"ACT\.xml is not ACD\.xml without a hydrogen at N, O or S"):
        ligand.match(acid, molecule("ACT", BASE, [*BASE_BONDS[:-1], ("CX", "O2")]))
    with pytest.raises(Refused, match=r"the charges of ACT sum to -0\.9000 e"):
        ligand.entry(acid, molecule("ACT", BASE | {"CX": ("CT", -0.12)}, BASE_BONDS), 4.76)
    with pytest.raises(Refused, match="the forms have charges 0 and 0 e"):
        ligand.entry(acid, molecule("ACT", BASE | {"CX": ("CT", 0.78)}, BASE_BONDS), 4.76)
    written = tomllib.loads(ligand.entry(acid, base, 4.756, source='CRC "Handbook", 97th ed.'))
    assert (written["pka"], written["forms"][1]["pk"], written["pka_source"]) == (4.756, 4.756, 'CRC "Handbook", 97th ed.')
    twins = ligand.Molecule(acid.file, acid.name, tuple(ligand.Atom("X", a.element, a.charge, a.sigma, a.epsilon) for a in acid.atoms), acid.bonds)
    with pytest.raises(Refused, match="two atoms have the name X"):
        ligand.entry(twins, base, 4.76)
    for arguments, message in (
        (["--protonated", str(tmp_path / "none.xml")], "there is no such file"),
        (["--protonated", str(tmp_path / "acid.mol2")], "acid.mol2: has no parameters, and the other form has"),
        (["--protonated", str(tmp_path / "none.xml"), "--charge", "0"], "--charge is for molecules without parameters"),
        (["--protonated", str(tmp_path / "none.xml"), "--name", "../evil"], "--name ../evil: files are named so"),
        (["--protonated", str(tmp_path / "none.xml"), "--pka", "nan"], "--pka nan: no acid has it"),
        (["--protonated", str(tmp_path / "none.xml"), "--temperature", "27"], "--temperature 27: K are meant"),
    ):
        assert ligand.main(["--pka", "4.76", *arguments, "--deprotonated", "base.xml"]) == 2
        assert message in capsys.readouterr().err
    assert list(itertools.chain(tmp_path.glob("*.toml"))) == []


def test_a_mistake_in_the_arguments_is_told_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """As `octitrate prepare` does; the whole list of arguments was shown before it."""
    with pytest.raises(SystemExit, match="2"):
        ligand.main(["--protonated", "acid.xml", "--deprotonated", "base.xml", "--pka", "high"])
    assert capsys.readouterr().err == "error: argument --pka: invalid float value: 'high'\n  help: octitrate site --help says every argument\n"
