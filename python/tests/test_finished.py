"""Finished systems through `--from`: which cut-offs the job has, how it begins, what octitrate makes of it. Files: `finished/make.py`."""

from __future__ import annotations

import gzip
import math
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, binary

pytest.importorskip("openmm")
pytest.importorskip("pdbfixer")

import openmm  # noqa: E402
from openmm import app, unit  # noqa: E402

from octitrate.errors import Refused  # noqa: E402
from octitrate.prepare.coarse import beads  # noqa: E402
from octitrate.prepare.command import NOT_YET, main  # noqa: E402
from octitrate.prepare.finished import has_places  # noqa: E402
from octitrate.prepare.gromacs import Top, gro  # noqa: E402

FILES = Path(__file__).parent / "finished"
PSF = ["--from", str(FILES / "glh.psf"), str(FILES / "glh.crd"), "--parameters", str(FILES / "glh.prm"), "--box-size", "3", "3", "3"]
PRMTOP = ["--from", str(FILES / "glh.prmtop"), str(FILES / "glh.rst7")]


def taken(words: list[str], place: Path) -> dict[str, Any]:
    assert main([*words, "-o", str(place), "-q"]) in (0, NOT_YET)  # which of them, `test_the_end_says_whether_the_job_can_be_run` asks
    return tomllib.loads((place / "titrate.toml").read_text())


def check(place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binary(), "check", "titrate.toml"], cwd=place, capture_output=True, text=True, check=False)


def test_a_prmtop_is_taken_over_and_titrates(tmp_path: Path) -> None:
    job = taken(PRMTOP, tmp_path / "amber")
    assert job["van_der_waals"] == {"cutoff": "1 nm", "modifier": "potential-shift"}
    assert job["minimise"] == {}
    assert job["position_restraints"] == {"duration": "40 ps", "fade": "20 ps"}
    assert job["barostat"] == {"pressure": "1 bar", "start": "20 ps"}
    # AMBER's numbers are those of GROMACS in other roundings (`ROUNDINGS`): octitrate takes them, and says so.
    answer = check(tmp_path / "amber")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    said = [line for line in answer.stdout.splitlines() if "the parameters of this job but for rounding" in line]
    assert ["4e-5 of pair" in said[0], "4e-4 of Lennard-Jones OW" in said[1]] == [True, True], answer.stdout
    # The names are those of the prmtop.
    assert "titratable sites     Glu 2, buffer" in answer.stdout and "names in the job     GLH 2 (Glu 2)" in answer.stdout
    said = (tmp_path / "amber/prepare.md").read_text()
    assert "Lennard-Jones ends at 1 nm, the potential is shifted to zero there" in said and "AMBER itself truncates" in said


def test_a_prmtop_gets_the_corrections_of_its_force_field(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Protonated histidine in ff19SB and OPC, from tleap: its parameters and those of its water, whose site has a bond in the file, are the ones that the corrections know.

    Under the name HIS, which OpenMM's reader gives to HIP, there is no correction, and the bond was refused as one that vibrates infinitely fast.
    """
    monkeypatch.setenv("OCTITRATE_BINARY", binary())
    files = ["--from", str(FILES / "hip.prmtop"), str(FILES / "hip.rst7")]
    place = tmp_path / "amber"
    assert main([*files, "--force-field", "ff19SB", "-o", str(place)]) == 0, capsys.readouterr().err
    assert "ff19SB is made for it" in (place / "prepare.md").read_text() and "corrections V_MM for ff19SB and opc: his, water" in (place / "prepare.md").read_text()
    assert sorted(file.name for file in (place / "library").iterdir()) == ["his.toml", "water.toml"]
    rows = (place / "system.gro").read_text().splitlines()[2:-1]
    assert {row[5:10].strip() for row in rows} == {"ACE", "HIP", "NME", "WAT"} and rows[-1][10:15].strip() == "EPW"
    answer = check(place).stdout
    assert "titratable sites     His 2, buffer" in answer and "names in the job     HIP 2 (His 2)" in answer
    # Three of each of twelve waters, one of each of 15 hydrogens of the peptide.
    assert "(51 constraints)" in answer, answer
    capsys.readouterr()
    # Without its name nothing is known, and that is said with what helps.
    assert main([*files, "-o", str(tmp_path / "unnamed")]) == NOT_YET
    said = capsys.readouterr().err
    assert " ".join(said.split()).count("--force-field ff19SB puts those for OPC beside the job") == 1, said
    assert "ff14SB" not in said


def in_other_water(charge: float, path: Path) -> list[str]:
    """The files of histidine in OPC with other charges on its water: hydrogens of `charge` (e)."""
    head, rest = (FILES / "hip.prmtop").read_text().split("%FLAG CHARGE", 1)
    numbers, tail = rest.split("%FLAG", 1)
    first, form, *rows = numbers.splitlines()
    scaled = {"0.6791": charge, "-1.3583": -2 * charge}
    charges = [float(row[k : k + 16]) / 18.2223 for row in rows for k in range(0, len(row), 16)]
    charges = [scaled.get(f"{q:.4f}", q) * 18.2223 for q in charges]
    rows = ["".join(f"{q:16.8E}" for q in charges[k : k + 5]) for k in range(0, len(charges), 5)]
    path.write_text(head + "%FLAG CHARGE" + "\n".join([first, form, *rows, ""]) + "%FLAG" + tail)
    return ["--from", str(path), str(FILES / "hip.rst7")]


OPC, EW, OF_2005 = 0.679142, 0.52422, 0.5564


@pytest.mark.parametrize(
    ("charge", "options", "said"),
    [
        (OPC, [], ["the water is OPC (4 sites, +0.6791 e on each hydrogen), and the corrections that are built in are for TIP3P", "--force-field ff19SB puts those for OPC beside the job"]),
        (OPC, ["--force-field", "ff14SB"], ["corrections V_MM for ff14SB and opc: his, water"]),
        (EW, [], ["the water is TIP4P-Ew (4 sites", "octitrate brings none for TIP4P-Ew", "--force-field ff14SB --water tip4pew` makes them"]),
        (EW, ["--force-field", "ff19SB"], ["corrections V_MM for ff19SB and tip4pew: his, water"]),
        (0.53, [], ["the water is of no model that is known here (4 sites, +0.5300 e on each hydrogen)", "waters that it knows are tip3p, "]),
    ],
)
def test_the_water_of_a_system_is_told_by_its_charges(charge: float, options: list[str], said: list[str], tmp_path: Path) -> None:
    """A prmtop in OPC without --force-field was told that the titratable water has no atom EPW; with ff14SB the buffer was that of TIP3P."""
    taken([*in_other_water(charge, tmp_path / "hip.prmtop"), *options], tmp_path / "taken")
    text = (tmp_path / "taken/prepare.md").read_text()
    assert all(words in text for words in said), text


@pytest.mark.parametrize(
    ("charge", "options", "message", "help"),
    [
        (OPC, ["ff19SB", "--water", "opc3"], "the water is OPC (4 sites, +0.6791 e on each hydrogen), and --water says opc3", "OPC goes with --force-field ff14SB or ff19SB"),
        (OF_2005, ["ff14SB"], "octitrate has no corrections for ff14SB in it", "TIP4P/2005 goes with --force-field charmm36m"),
    ],
)
def test_a_water_that_does_not_go_with_what_is_said_is_refused(charge: float, options: list[str], message: str, help: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*in_other_water(charge, tmp_path / "hip.prmtop"), "--force-field", *options, "-o", str(tmp_path / "taken"), "-q"]) == 2
    said = capsys.readouterr().err
    assert message in said and help in said and not (tmp_path / "taken").exists(), said


def test_an_extra_point_without_a_place_is_named() -> None:
    """ParmEd writes one of a system of OpenMM without its bond to the oxygen: it stays where it is, and the program spoke of a mass of zero."""
    import openmm
    from openmm import app

    system, topology = openmm.System(), app.Topology()
    residue = topology.addResidue("HOH", topology.addChain("A"), "7")
    for name, element, mass in (("O", "O", 16.0), ("H1", "H", 1.0), ("H2", "H", 1.0), ("M", None, 0.0)):
        topology.addAtom(name, None if element is None else app.element.get_by_symbol(element), residue)
        system.addParticle(mass)
    with pytest.raises(Refused, match="atom M of HOH 7 of chain A has no mass") as caught:
        has_places(system, topology, Path("x.prmtop"))
    assert "an extra point of water is bonded to its oxygen" in caught.value.help
    system.setVirtualSite(3, openmm.ThreeParticleAverageSite(0, 1, 2, 0.6, 0.2, 0.2))
    has_places(system, topology, Path("x.prmtop"))


@pytest.mark.parametrize(("names", "said"), [(("BB", "SC1"), "2 particles (BB, SC1)"), (("W",), "1 particle (W)")])
def test_a_coarse_grained_system_is_named(names: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"    1GLU  {name:>5}{k:5d}{0.5 * k:8.3f}   1.000   1.000" for k, name in enumerate(names, 1)]
    (tmp_path / "m.gro").write_text("\n".join(["m", str(len(names)), *rows, "   3.0   3.0   3.0", ""]))
    (tmp_path / "m.top").write_text("")
    assert main(["--from", str(tmp_path / "m.top"), str(tmp_path / "m.gro"), "-o", str(tmp_path / "taken"), "-q"]) == 2
    assert f"m.gro: {said} and no hydrogen: a coarse-grained model, or one without its protons, and octitrate needs all atoms" in capsys.readouterr().err
    # Hydrogens of old files begin with their number.
    assert not beads(["CA", "1HB"])


def test_glutamic_acid_with_one_hydrogen_is_told_of_where_its_force_field_has_no_correction(tmp_path: Path) -> None:
    words = "GLH 2: ff14SB has no correction for Asp and Glu with one hydrogen"
    taken([*PRMTOP, "--force-field", "ff14SB"], tmp_path / "without")
    assert words in (tmp_path / "without/prepare.md").read_text()
    taken([*PRMTOP, "--force-field", "amber99sb-ildn"], tmp_path / "with")
    assert "with one hydrogen" not in (tmp_path / "with/prepare.md").read_text()
    # OpenMM calls it GLU, with the hydrogen and without it.
    text = (FILES / "glh.prmtop").read_text()
    (tmp_path / "glu.prmtop").write_text(text.replace("ACE GLH NME", "ACE GLU NME"))
    taken(["--from", str(tmp_path / "glu.prmtop"), PRMTOP[2], "--force-field", "ff14SB"], tmp_path / "openmm")
    assert words.replace("GLH", "GLU") in (tmp_path / "openmm/prepare.md").read_text()
    # Without a hydrogen of that name it is charged, and there is nothing to say.
    (tmp_path / "lost.prmtop").write_text(text.replace("ACE GLH NME", "ACE GLU NME").replace("HE2 ", "HX2 "))
    taken(["--from", str(tmp_path / "lost.prmtop"), PRMTOP[2], "--force-field", "ff14SB"], tmp_path / "lost")
    assert "with one hydrogen" not in (tmp_path / "lost/prepare.md").read_text()


def test_a_system_of_openmm_is_told_of_the_job_that_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "system.xml", tmp_path / "start.gro"]
    for file in files:
        file.touch()
    assert main(["--from", *map(str, files), "-o", str(tmp_path / "taken")]) == 2
    assert 'a job names it with a .gro file of its atoms: [system] topology = "system.xml"' in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "taken").exists()


def test_a_force_field_of_charmm_brings_its_cut_offs(tmp_path: Path) -> None:
    """`--force-field` says more than the kind of file; corrections that do not belong to its parameters are refused by octitrate."""
    job = taken([*PRMTOP, "--force-field", "charmm36m"], tmp_path / "charmm")
    assert job["van_der_waals"] == {"cutoff": "1.2 nm", "modifier": "force-switch", "switch_start": "1 nm", "dispersion_correction": False}


ROUNDINGS = ("torsions", "Lennard-Jones", "1-4 charges", "well of water", "shape of water")
"""What differs between AMBER's files of AMBER99SB-ILDN with TIP3P and those of GROMACS, by which the corrections that are built in were made."""


@pytest.mark.parametrize("left", (None, *ROUNDINGS))
def test_a_prmtop_differs_from_the_built_in_corrections_by_five_roundings(left: str | None, tmp_path: Path) -> None:
    """With all of them undone the fingerprints of Glu and its water are those of the corrections, with one left the program names it as a rounding: nothing else
    differs, charges among it."""
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
    assert answer.returncode == 0, answer.stderr
    assert ("but for rounding" in answer.stdout) == (left is not None), answer.stdout


def test_a_psf_gets_the_switch_of_charmm(tmp_path: Path) -> None:
    job = taken([*PSF, "--duration", "500 ps", "--until", "0.2"], tmp_path / "charmm")
    assert job["titrate"]["until"] == 0.2
    assert job["van_der_waals"] == {"cutoff": "1.2 nm", "modifier": "force-switch", "switch_start": "1 nm", "dispersion_correction": False}
    # A fiftieth of the run, in whole hundreds of steps.
    assert job["position_restraints"] == {"duration": "20 ps", "fade": "10 ps"}
    assert "Lennard-Jones ends at 1.2 nm, forces are switched off from 1 nm on" in (tmp_path / "charmm/prepare.md").read_text()
    # The correction for Glu that is built in was made with another cut-off, which octitrate sees now.
    answer = check(tmp_path / "charmm")
    assert answer.returncode == 2
    assert "cutoff" in answer.stderr and "force-switch" in answer.stderr, answer.stderr
    assert "not supported" not in answer.stderr


def topology(place: Path, function: str, change: tuple[str, str] = ("", "")) -> None:
    """Writes m.top and m.gro, a molecule of one angle of this function, with a text of the topology changed."""
    atoms = "\n".join(f"{k} {'C' if k == 2 else 'H'} 1 MET {name} {k} {charge} {mass}" for k, name, charge, mass in ((1, "H1", 0.1, 1.008), (2, "C", -0.2, 12.011), (3, "H2", 0.1, 1.008)))
    text = f"""[ defaults ]
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
    (place / "m.top").write_text(text.replace(*change))
    rows = [f"    1MET  {name:>5}{k:5d}{x:8.3f}{y:8.3f}   1.000" for k, (name, x, y) in enumerate((("H1", 0.9, 1.05), ("C", 1.0, 1.0), ("H2", 1.1, 1.05)), 1)]
    (place / "m.gro").write_text("\n".join(["m", "3", *rows, "   3.0   3.0   3.0", ""]))


@pytest.mark.parametrize(("function", "switch"), [("5  109.5 418.4 0.0 0.0", None), ("5  109.5 418.4 0.2 5000.0", "1 nm")])
def test_a_topology_of_gromacs_with_urey_bradley_terms_is_one_of_charmm(function: str, switch: str | None, tmp_path: Path) -> None:
    topology(tmp_path, function)
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


def names(place: Path) -> set[str]:
    return {row[5:10].strip() for row in (place / "system.gro").read_text().splitlines()[2:-1]}


def test_residues_have_the_names_of_their_files(tmp_path: Path) -> None:
    """OpenMM's readers call HIP, HID, HIE and HSD HIS, and GLH GLU: forms by which corrections and messages go. Both protons are HIP, whatever the file calls them."""
    inputs = ROOT / "inputs/04-his"
    text = (inputs / "his.top").read_text()
    for name, expected in (("HIP", "HIP"), ("HSP", "HIP"), ("HID", "HID"), ("HSE", "HSE")):
        (tmp_path / "his.top").write_text(text.replace("HIP", name))
        taken(["--from", str(tmp_path / "his.top"), str(inputs / "his.gro")], tmp_path / f"top-{name}")
        assert names(tmp_path / f"top-{name}") == {"ACE", expected, "NME", "HOH"}, name
    psf = (FILES / "glh.psf").read_text()
    for name, expected in (("GLH", "GLH"), ("HSP", "HIP"), ("HSD", "HSD")):
        (tmp_path / "glh.psf").write_text(psf.replace("GLH", name))
        (tmp_path / "glh.crd").write_text((FILES / "glh.crd").read_text().replace("GLH", name))
        taken(["--from", str(tmp_path / "glh.psf"), str(tmp_path / "glh.crd"), *PSF[3:]], tmp_path / f"psf-{name}")
        assert names(tmp_path / f"psf-{name}") == {"ACE", expected, "NME", "HOH"}, name


def test_a_dodecahedron_of_gromacs_is_taken_whatever_its_last_decimals_are(tmp_path: Path) -> None:
    """`gmx editconf -bt dodecahedron` rounds the edges by themselves: c may reach over half of a by 5e-6 nm, which OpenMM refuses. The lattice stays what it is."""
    inputs = ROOT / "inputs/01-glu"
    text = (inputs / "glu.gro").read_text().splitlines()
    edge = 4.40001
    text[-1] = f"{edge:10.5f}{edge:10.5f}{3.11127:10.5f}{0:10.5f}{0:10.5f}{0:10.5f}{0:10.5f}{2.20001:10.5f}{2.20001:10.5f}"
    (tmp_path / "glu.gro").write_text("\n".join([*text, ""]))
    _, vectors = gro(tmp_path / "glu.gro")
    turned = [[value._value for value in row] for row in vectors]
    assert turned == [[edge, 0, 0], [0, edge, 0], pytest.approx([2.20001 - edge, 2.20001 - edge, 3.11127], abs=1e-12)]
    taken(["--from", str(inputs / "glu.top"), str(tmp_path / "glu.gro")], tmp_path / "taken")


@pytest.mark.parametrize(
    ("old", "new", "message", "help"),
    [
        ("[ system ]", "[ intermolecular_interactions ]\n[ bonds ]\n1 9 1 0.5 1000\n[ system ]", "line 17: section [ intermolecular_interactions ] is none that --from can take over", "build the topology without it"),
        ("[ system ]", "[ distance_restraints ]\n1 9 1 0 1 0 0.3 0.4 1\n[ system ]", "line 17: section [ distance_restraints ]", "octitrate reads a .top itself, too"),
        ("[ system ]", "[ bonds ]\n1 \\\n2 6 0.5 1000\n[ system ]", "line 19: OpenMM cannot read it: Unsupported function type in [ bonds ] line: 1 2 6 0.5 1000", "look at this line"),
        ("[ system ]", '#include "none.itp"\n[ system ]', "line 17: OpenMM cannot read it: Could not locate #include file: none.itp", "put the folder of the force field beside the topology"),
    ],
)
def test_what_the_reader_of_topologies_would_leave_out_is_refused(old: str, new: str, message: str, help: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenMM leaves out restraints without a word, and gave the bonds of [ intermolecular_interactions ] to the molecule before them."""
    topology(tmp_path, "5  109.5 418.4 0.0 0.0", (old, new))
    assert main(["--from", str(tmp_path / "m.top"), str(tmp_path / "m.gro"), "-o", str(tmp_path / "taken")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"m.top: {message}" in said and help in said, said
    assert not (tmp_path / "taken").exists()


def test_what_is_used_of_the_reader_of_topologies_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is private to OpenMM: a version without it is named here, and refused by the package."""
    found = Top(str(ROOT / "inputs/01-glu/glu.top"))
    names = ("_processLine", "_currentCategory", "_includeDirs", "_angleTypes", "_moleculeTypes", "_molecules")
    lacking = [name for name in names if not hasattr(found, name)]
    assert not lacking, f"app.GromacsTopFile of OpenMM {openmm.version.version} has no {', '.join(lacking)}: octitrate.prepare.gromacs has to read otherwise"
    monkeypatch.setattr(app.GromacsTopFile, "__init__", lambda *_, **__: None)
    with pytest.raises(Refused, match="reads topologies of GROMACS in a way that is not known here"):
        Top("x.top")


def test_comments_of_gromacs_have_any_encoding(tmp_path: Path) -> None:
    topology(tmp_path, "5  109.5 418.4 0.0 0.0", ("[ system ]\nm", "[ system ]\nUniversität"))
    for name in ("m.top", "m.gro"):
        text = (tmp_path / name).read_text().replace("\n", " ; Universität\n", 1)
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    taken(["--from", str(tmp_path / "m.top"), str(tmp_path / "m.gro")], tmp_path / "taken")


def test_a_prmtop_without_a_section_is_refused_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "glh.prmtop").write_text((FILES / "glh.prmtop").read_text().replace("%FLAG POINTERS", "%FLAG OTHER"))
    assert main(["--from", str(tmp_path / "glh.prmtop"), str(FILES / "glh.rst7"), "-o", str(tmp_path / "taken")]) == 2
    assert "OpenMM cannot read them: there is no POINTERS\n" in capsys.readouterr().err


def test_compressed_files_of_a_finished_system_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "glh.rst7").write_bytes(gzip.compress((FILES / "glh.rst7").read_bytes()))
    assert main(["--from", str(FILES / "glh.prmtop"), str(tmp_path / "glh.rst7"), "-o", str(tmp_path / "taken")]) == 2
    said = capsys.readouterr().err
    assert "glh.rst7: is compressed" in said and f"gunzip -k {tmp_path}/glh.rst7" in said


def test_torsions_of_no_energy_may_have_no_multiplicity(tmp_path: Path) -> None:
    """ParmEd writes them so of GROMACS's files of AMBER; OpenMM ended with a traceback."""
    file = Prmtop(FILES / "glh.prmtop")
    file.change("DIHEDRAL_FORCE_CONSTANT", lambda words: ["0.00000000E+00", *words[1:]])
    file.change("DIHEDRAL_PERIODICITY", lambda words: ["0.00000000E+00", *words[1:]])
    (tmp_path / "glh.prmtop").write_text(file.text)
    taken(["--from", str(tmp_path / "glh.prmtop"), str(FILES / "glh.rst7")], tmp_path / "taken")


def test_a_system_that_openmm_cannot_compute_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = Prmtop(FILES / "glh.prmtop")
    file.change("DIHEDRAL_FORCE_CONSTANT", lambda words: ["1.00000000E+00", *words[1:]])
    file.change("DIHEDRAL_PERIODICITY", lambda words: ["0.00000000E+00", *words[1:]])
    (tmp_path / "glh.prmtop").write_text(file.text)
    assert main(["--from", str(tmp_path / "glh.prmtop"), str(FILES / "glh.rst7"), "-o", str(tmp_path / "taken")]) == 2
    said = capsys.readouterr().err
    assert "glh.prmtop: OpenMM cannot" in said and "periodicity must be positive" in said, said
    assert not (tmp_path / "taken").exists()


def test_a_psf_gets_the_angles_of_the_box_of_its_pdb_file(tmp_path: Path) -> None:
    """They were taken for right ones: a rhombic dodecahedron became a box of right angles, with lengths that are no edges of it."""
    rows = ["CRYST1   40.000   40.000   40.000  60.00  60.00  90.00 P 1           1"]
    psf = app.CharmmPsfFile(str(FILES / "glh.psf"))
    places = app.CharmmCrdFile(str(FILES / "glh.crd")).positions.value_in_unit(unit.angstrom)
    for number, (atom, place) in enumerate(zip(psf.topology.atoms(), places, strict=True), 1):
        rows.append(f"ATOM  {number:5d} {atom.name:>4} {atom.residue.name:<4}A{int(atom.residue.id):4d}    " + "".join(f"{x:8.3f}" for x in place) + f"  1.00  0.00          {atom.element.symbol:>2}")
    (tmp_path / "glh.pdb").write_text("\n".join([*rows, "END", ""]))
    taken(["--from", str(FILES / "glh.psf"), str(tmp_path / "glh.pdb"), *PSF[3:5]], tmp_path / "taken")
    box = [float(word) for word in (tmp_path / "taken/system.gro").read_text().splitlines()[-1].split()]
    assert box == pytest.approx([4.0, 4.0, 2.828427, 0, 0, 0, 0, 2.0, 2.0], abs=1e-5) or box == pytest.approx([4.0, 4.0, 2.828427, 0, 0, 0, 0, -2.0, -2.0], abs=1e-5)


@pytest.mark.parametrize("edges", ["   0.0   0.0   0.0", "   3.0  -3.0   3.0"])
def test_a_structure_without_a_box_is_told_so(edges: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`gmx pdb2gmx` and `trjconv` write zeros for vacuum."""
    topology(tmp_path, "5  109.5 418.4 0.0 0.0")
    structure = tmp_path / "m.gro"
    structure.write_text(structure.read_text().replace("   3.0   3.0   3.0", edges))
    assert main(["--from", str(tmp_path / "m.top"), str(structure), "-o", str(tmp_path / "taken")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"m.gro: has no box: its last line is '{' '.join(edges.split())}'" in said and "in a job with electrostatics.boundary" in said, said


class Prmtop:
    """The text of a prmtop, of which sections of numbers can be changed."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text()

    def change(self, name: str, change: Callable[[list[str]], list[str]]) -> None:
        start = self.text.index(f"%FLAG {name} ")
        start = self.text.index("\n", self.text.index("%FORMAT", start)) + 1
        end = self.text.index("%FLAG", start)
        of_integers = "I8" in self.text[self.text.rindex("%FORMAT", 0, start) : start]
        words, (width, row) = change(self.text[start:end].split()), (8, 10) if of_integers else (16, 5)
        rows = ["".join(f"{word:>{width}}" for word in words[k : k + row]) for k in range(0, len(words), row)]
        self.text = self.text[:start] + "\n".join([*rows, ""]) + self.text[end:]


def flexible(place: Path, *, angle: bool) -> list[str]:
    """Arguments for glh.prmtop with water as ParmEd writes it of a system of OpenMM, without the bond H-H and with the angle H-O-H of TIP3P; or without it as well."""
    file = Prmtop(FILES / "glh.prmtop")
    oxygens = range(28, 64, 3)
    between = {(3 * (o + 1), 3 * (o + 2)) for o in oxygens}

    def no_bond(words: list[str]) -> list[str]:
        kept = [words[k : k + 3] for k in range(0, len(words), 3) if tuple(sorted(map(int, words[k : k + 2]))) not in between]
        assert len(words) == 3 * (len(kept) + 12)
        return sum(kept, [])

    def pointers(words: list[str]) -> list[str]:
        more = {2: -12} | ({4: 12, 16: 1} if angle else {})  # bonds and angles with hydrogen, kinds of angles
        return [str(int(word) + more.get(k, 0)) for k, word in enumerate(words)]

    file.change("BONDS_INC_HYDROGEN", no_bond)
    if angle:
        file.change("ANGLE_FORCE_CONSTANT", lambda words: [*words, "1.00000000E+02"])
        file.change("ANGLE_EQUIL_VALUE", lambda words: [*words, f"{math.radians(104.52):.8E}"])
        file.change("ANGLES_INC_HYDROGEN", lambda words: words + [str(number) for o in oxygens for number in (3 * (o + 1), 3 * o, 3 * (o + 2), 21)])
    file.change("POINTERS", pointers)
    (place / "flexible.prmtop").write_text(file.text)
    return ["--from", str(place / "flexible.prmtop"), str(FILES / "glh.rst7")]


def shapes(place: Path) -> tuple[dict[tuple[int, int], float], int, int]:
    """Constraints of a system by their atoms (nm), how many there are, and the number of its angles."""
    import openmm

    system = openmm.XmlSerializer.deserialize((place / "system.xml").read_text())
    constraints = [system.getConstraintParameters(k) for k in range(system.getNumConstraints())]
    angles = sum(force.getNumAngles() for force in system.getForces() if isinstance(force, openmm.HarmonicAngleForce))
    return {(min(a, b), max(a, b)): length._value for a, b, length in constraints}, len(constraints), angles


def test_water_with_an_angle_is_made_rigid(tmp_path: Path) -> None:
    taken(PRMTOP, tmp_path / "tleap")
    rigid, count, angles = shapes(tmp_path / "tleap")
    assert count == len(rigid) == 50 and angles == 46  # 14 hydrogens of the peptide, 12 molecules of water
    assert "made rigid" not in (tmp_path / "tleap/prepare.md").read_text()
    taken(flexible(tmp_path, angle=True), tmp_path / "parmed")
    found, count, left = shapes(tmp_path / "parmed")
    assert count == 50 and found.keys() == rigid.keys() and left == angles
    for (a, b), length in found.items():
        # The bond of tleap is 0.15136 nm long; two of 0.09572 nm at 104.52 degrees have 0.15139 between their ends.
        expected = 2 * 0.09572 * math.sin(math.radians(104.52) / 2) if a >= 28 and b == a + 1 and (a - 28) % 3 == 1 else rigid[a, b]
        assert length == pytest.approx(expected, abs=1e-7), (a, b)
    assert "12 molecules of water that the file leaves flexible are made rigid" in (tmp_path / "parmed/prepare.md").read_text()
    # 3 · 64 coordinates less 50 constraints.
    assert "142 (50 constraints)" in allowed(tmp_path / "parmed")


def test_water_without_a_shape_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*flexible(tmp_path, angle=False), "-o", str(tmp_path / "taken")]) == 2
    said = capsys.readouterr().err
    assert "flexible.prmtop: WAT 4 of chain" in said and "is water with neither an H-H bond nor a harmonic H-O-H angle: it cannot be made rigid" in said
    assert not (tmp_path / "taken").exists()


def test_water_of_a_psf_is_rigid_with_an_angle_and_without(tmp_path: Path) -> None:
    """Of CHARMM's files, with an H-H bond and an angle, OpenMM passes over the bond and holds the angle; of those that ParmEd writes of AMBER's, with the bond alone, it holds neither."""
    before, rest = (FILES / "glh.psf").read_text().split("46 !NTHETA: angles\n")
    angles, after = rest.split("\n\n", 1)
    numbers = angles.split() + [str(number) for o in range(29, 65, 3) for number in (o + 1, o, o + 2)]
    rows = ["".join(f"{word:>10}" for word in numbers[k : k + 9]) for k in range(0, len(numbers), 9)]
    (tmp_path / "glh.psf").write_text(f"{before}58 !NTHETA: angles\n" + "\n".join(rows) + "\n\n" + after)
    (tmp_path / "glh.prm").write_text((FILES / "glh.prm").read_text().replace("ANGLES\n", "ANGLES\nHW     OW     HW       55.000   104.5200\n"))
    with_angle = ["--from", str(tmp_path / "glh.psf"), PSF[2], "--parameters", str(tmp_path / "glh.prm"), *PSF[5:]]
    for words, length, notes in ((with_angle, 0.15139, 0), (PSF, 0.15136, 1)):
        place = tmp_path / f"charmm-{length}"
        taken(words, place)
        found, count, _ = shapes(place)
        assert count == len(found) == 50
        assert [found[o + 1, o + 2] for o in range(28, 64, 3)] == pytest.approx([length] * 12, abs=1e-6)
        assert (place / "prepare.md").read_text().count("are made rigid") == notes
        assert "142 (50 constraints)" in allowed(place)


def allowed(place: Path) -> str:
    """What check says of a job that allows what it names as different."""
    file = place / "titrate.toml"
    file.write_text(file.read_text().replace('# allow_mismatch = ["parameters of glu"]', 'allow_mismatch = ["parameters", "cutoff", "modifier"]'))
    answer = check(place)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def test_corrections_of_other_force_fields_are_told_of_where_they_may_help(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTITRATE_BINARY", binary())
    assert main([*PSF, "-o", str(tmp_path / "charmm")]) == NOT_YET
    said = " ".join(capsys.readouterr().err.split())
    assert "--force-field ff14SB or --force-field charmm36m puts those for TIP3P beside the job" in said, said


def test_the_end_says_whether_the_job_can_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = ROOT / "inputs/01-glu"
    gromacs = ["--from", str(inputs / "glu.top"), str(inputs / "glu.gro")]
    monkeypatch.setenv("OCTITRATE_BINARY", binary())
    place = tmp_path / "amber"
    # The water that is built in has no place for the site of OPC.
    assert main(["--from", str(FILES / "hip.prmtop"), str(FILES / "hip.rst7"), "-o", str(place)]) == NOT_YET
    said = capsys.readouterr().err
    assert f"error: {place} is written, prepare.md in it says what was decided, but the job cannot be run yet" in said
    assert "charge buffer: residue WAT 4" in said and "has an atom EPW" in said and check(place).stderr.split("\n")[0] in said
    assert "is ready" not in said and (place / "system.xml").is_file()
    assert main([*gromacs, "-o", str(tmp_path / "gromacs")]) == 0
    assert f"{tmp_path}/gromacs is ready" in capsys.readouterr().err
    monkeypatch.setenv("OCTITRATE_BINARY", str(tmp_path / "none"))
    assert main([*PRMTOP, "-o", str(tmp_path / "without")]) == 0
    said = capsys.readouterr().err
    assert f"octitrate check {tmp_path}/without/titrate.toml" in said and "is ready" not in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*PRMTOP, "--sites", "GLU", "--salt", "0.1"], "--salt, --sites: of no effect with --from"),
        ([*PRMTOP, "--water", "opc", "--library", "x"], "--water, --library: with --from only beside --force-field"),
        ([*PRMTOP, "--force-field", "ff15"], "ff15"),
        ([*PRMTOP, "--box-size", "3", "3", "3"], "--box-size: of no effect with glh.prmtop"),
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


def refusal(words: list[str], place: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of files that do not belong together; nothing is written."""
    capsys.readouterr()
    assert main([*words, "-o", str(place / "taken"), "-q"]) == 2
    assert not (place / "taken").exists()
    return capsys.readouterr().err


def test_a_structure_of_gromacs_in_another_order_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A peptide from its last atom to its first: 3 million kJ/mol, and the job was called ready."""
    inputs = ROOT / "inputs/01-glu"
    rows = (inputs / "glu.gro").read_text().splitlines()
    last = next(k for k, row in enumerate(rows) if "SOL" in row)
    (tmp_path / "glu.gro").write_text("\n".join([*rows[:2], *reversed(rows[2:last]), *rows[last:], ""]))
    said = refusal(["--from", str(inputs / "glu.top"), str(tmp_path / "glu.gro")], tmp_path, capsys)
    assert f"glu.gro: the names of 28 atoms of {rows[1].strip()} are not those of" in said and "atom 1 is CH3 of ACE 3 of chain 1 in glu.top and HH33 of NME in glu.gro, the first of them" in said, said
    assert "take both files from the same step of the same program" in said


def test_atoms_of_a_residue_in_another_order_are_no_other_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of hydrogens only numbers differ, as they do between programs; but here they are the same numbers."""
    inputs = ROOT / "inputs/01-glu"
    rows = (inputs / "glu.gro").read_text().splitlines()
    one, other = (next(k for k, row in enumerate(rows) if row[5:15].split() == ["GLH", name]) for name in ("HB1", "HB2"))
    rows[one], rows[other] = rows[other], rows[one]
    (tmp_path / "glu.gro").write_text("\n".join([*rows, ""]))
    assert "the names of 2 atoms of" in refusal(["--from", str(inputs / "glu.top"), str(tmp_path / "glu.gro")], tmp_path, capsys)


@pytest.mark.parametrize("kind", ["crd", "pdb"])
def test_coordinates_of_charmm_in_another_order_are_refused(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if kind == "crd":
        lines = (FILES / "glh.crd").read_text().splitlines()
        text = "\n".join([*lines[:3], *reversed(lines[3:31]), *lines[31:], ""])
    else:
        lines = of_pdb(FILES / "glh.psf").splitlines()
        text = "\n".join([lines[0], *reversed(lines[1:29]), *lines[29:], ""])
    (tmp_path / f"glh.{kind}").write_text(text)
    said = refusal([*PSF[:2], str(tmp_path / f"glh.{kind}"), *PSF[3:]], tmp_path, capsys)
    assert f"glh.{kind}: the names of 28 atoms of 64 are not those of" in said and "atom 1 is HH31 of ACE 1 of chain PEP in glh.psf and HH33 of NME" in said, said


def of_pdb(psf: Path, rename: Callable[[str, str], tuple[str, str]] = lambda residue, atom: (residue, atom)) -> str:
    """The positions of glh.crd as a PDB file in a box of 4 nm, by the names of the psf or others."""
    start = (lines := psf.read_text().splitlines()).index("        64 !NATOM") + 1
    rows = ["CRYST1   40.000   40.000   40.000  90.00  90.00  90.00 P 1           1"]
    places = app.CharmmCrdFile(str(FILES / "glh.crd")).positions.value_in_unit(unit.angstrom)
    for number, (line, place) in enumerate(zip(lines[start : start + 64], places, strict=True), 1):
        _, _, at, residue, atom = line.split()[:5]
        residue, atom = rename(residue, atom)
        rows.append(f"ATOM  {number:5d} {f' {atom}' if len(atom) < 4 else atom:<4} {residue:<4}A{int(at):4d}    " + "".join(f"{x:8.3f}" for x in place) + f"  1.00  0.00          {atom.strip('0123456789')[0]:>2}")
    return "\n".join([*rows, "END", ""])


def test_other_names_of_the_same_atoms_are_taken(tmp_path: Path) -> None:
    """Hydrogens with the numbers of another program, water as GROMACS has it, forms of a residue by the name that all have."""
    hydrogens = {"HB2": "HB1", "HB3": "HB2", "HG2": "HG1", "HG3": "HG2", "H": "HN"}
    water = {"O": "OH2", "H1": "H1", "H2": "H2"}

    def rename(residue: str, atom: str) -> tuple[str, str]:
        return ("TIP3", water[atom]) if residue == "WAT" else ("GLUP" if residue == "GLH" else residue, hydrogens.get(atom, atom))

    (tmp_path / "glh.pdb").write_text(of_pdb(FILES / "glh.psf", rename))
    taken([*PSF[:2], str(tmp_path / "glh.pdb"), *PSF[3:5]], tmp_path / "taken")
    said = (tmp_path / "taken/prepare.md").read_text()
    # Two pairs of hydrogens, two of amides, twelve oxygens of water.
    assert "18 atoms have other names in glh.pdb, which mean the same (H of GLU 2 of chain PEP is HN)" in said, said


def test_a_molecule_may_have_another_name_and_an_amino_acid_may_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topology(tmp_path, "5  109.5 418.4 0.0 0.0", (" 1 MET ", " 1 LIG "))
    (tmp_path / "m.gro").write_text((tmp_path / "m.gro").read_text().replace("1MET", "1UNL"))
    files = ["--from", str(tmp_path / "m.top"), str(tmp_path / "m.gro")]
    taken(files, tmp_path / "ligand")
    assert "residues have other names in m.gro (LIG is UNL), and their atoms the same" in (tmp_path / "ligand/prepare.md").read_text()
    topology(tmp_path, "5  109.5 418.4 0.0 0.0")
    (tmp_path / "m.gro").write_text((tmp_path / "m.gro").read_text().replace("1MET", "1ALA"))
    assert "the names of 3 atoms of 3 are not those of" in refusal(files, tmp_path, capsys)


def test_bonds_that_are_too_long_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A restart of AMBER has no names: the positions of the peptide from its last atom to its first."""
    head, lines = (lines := (FILES / "glh.rst7").read_text().splitlines())[:2], lines[2:]
    places = [line[k : k + 36] for line in lines for k in (0, 36) if line[k : k + 36].strip()]

    def write(found: list[str]) -> list[str]:
        (tmp_path / "glh.rst7").write_text("\n".join([*head, *("".join(found[k : k + 2]) for k in range(0, len(found), 2)), ""]))
        return [*PRMTOP[:2], str(tmp_path / "glh.rst7")]

    said = refusal(write([*reversed(places[:28]), *places[28:]]), tmp_path, capsys)
    assert "glh.rst7: 8 bonds of 63 in " in said and "are longer than any bond: " in said and "nm apart, and bonds are shorter than 0.25 nm; the atoms are in another order" in said, said
    # A molecule that the box has cut is whole by the nearest image.
    edge = 30.0
    x, y, z = (float(places[8][12 * k : 12 * k + 12]) for k in range(3))
    taken(write([*places[:8], f"{x - edge:12.7f}{y + edge:12.7f}{z:12.7f}", *places[9:]]), tmp_path / "cut")


def test_an_energy_of_atoms_that_overlap_is_a_warning(tmp_path: Path) -> None:
    """Two molecules of water at nearly one place: every bond is what it should be."""
    text = (FILES / "glh.rst7").read_text()
    old, new = "   6.0000000  23.0000000   9.0000000   6.9572000  23.0000000   9.0000000\n   5.7600120", "  12.0000000  23.0000000   9.1000000  12.9572000  23.0000000   9.1000000\n  11.7600120"
    assert old in text
    (tmp_path / "glh.rst7").write_text(text.replace(old, new).replace("11.7600120  23.9266270   9.0000000  12", "11.7600120  23.9266270   9.1000000  12"))
    taken([*PRMTOP[:2], str(tmp_path / "glh.rst7")], tmp_path / "taken")
    assert "of each atom: atoms overlap" in (tmp_path / "taken/prepare.md").read_text()
    taken(PRMTOP, tmp_path / "apart")
    assert "atoms overlap" not in (tmp_path / "apart/prepare.md").read_text()
