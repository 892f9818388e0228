"""Which groups titrate, what a job says of them, and at which pH values."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import Write, job_comment, loaded, notes, peptide_text, residues, written
from openmm import app

from octitrate.entries import BUILT_IN_STATUS, entry
from octitrate.errors import Refused
from octitrate.model_compound import compound
from octitrate.peptide import peptide
from octitrate.prepare import predict, sites
from octitrate.prepare.options import Options
from octitrate.prepare.report import Report
from octitrate.residues import Group, TitratableForceField

CHAIN = ("ALA", "GLU", "GLY", "LYS", "ASP", "HIS", "SER", "GLY")


def of_pka(*estimates: tuple[float, ...]) -> list[sites.Choice]:
    """Groups that titrate, each with the pKa of the model compound and, where there is one, that of PROPKA."""
    residue = peptide_residue()
    return [sites.Choice(Group(residue, "side", "glu3", pka[0], "calibrated"), pka[1] if pka[1:] else None, True, "") for pka in estimates]


def peptide_residue() -> Any:
    topology = app.Topology()
    return topology.addResidue("GLU", topology.addChain("A"), "1")


def test_groups_without_a_correction_stay_as_they_are(structure: Write, report: Report, tmp_path: Path, bare: None) -> None:
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
    ("asked", "ph", "warned"),
    [
        ("LYS", [2.0, 8.0], ["GLU 1", "HIS 4"]),  # they take a proton in between
        ("LYS", [1.0, 3.0], ["GLU 1", "HIS 4"]),  # and have it at all of these
        ("LYS", [6.0, 11.0], ["TYR 3", "HIS 4"]),
        ("LYS", [6.8, 9.0], []),
        ("GLU,HIS", [2.0, 7.0], []),  # Lys and Tyr are protonated there, as they are built
        ("GLU,HIS", [9.0, 14.0], ["LYS 2", "TYR 3", "ARG 5"]),
        ("GLU,HIS", [9.0, 13.0], ["LYS 2", "TYR 3"]),  # PROPKA's 12.3 of Arg is not believed
    ],
)
def test_groups_that_are_not_asked_for_and_would_change_their_form_are_warned_of(asked: str, ph: list[float], warned: list[str], report: Report) -> None:
    """`--sites 'GLU 35' --ph-range 1:4` built all other acids charged, without a word."""
    topology = app.Topology()
    chain = topology.addChain("A")
    pka = {"GLU": 4.25, "LYS": 10.4, "TYR": 9.84, "HIS": 6.54, "ARG": 13.8}
    made = [topology.addResidue(name, chain, str(number)) for number, name in enumerate(pka, 1)]
    groups = [Group(residue, "side", residue.name.lower(), pka[residue.name], "calibrated") for residue in made]
    options = Options(input=Path("x"), sites=asked.split(","))
    choices = sites.choose(groups, {(4, "side"): 12.3}, options, report)
    sites.held(choices, ph, options, report)
    said = [text for text in report.warnings() if "the form of pH 7" in text]
    assert [name for name in ("GLU 1", "LYS 2", "TYR 3", "HIS 4", "ARG 5") if any(name in text for text in said)] == warned, said
    assert len(said) == bool(warned) and all(text.endswith("; --sites may ask for more groups") for text in said)


def test_the_table_says_in_which_form_groups_stay(report: Report) -> None:
    groups = loaded("charmm36m-ecc").groups(peptide(("LYS", "GLU", "HIS", "TYR", "GLY")).topology)
    choices = sites.choose(groups, {}, Options(input=Path("x"), sites=["TYR"], ph_range=(9.0, 12.0)), report)
    assert {row[0].split(" of ")[0]: row[4] for row in sites.table(choices)[1:]} == {
        "amino end LYS 1": "not asked for: protonated",
        "LYS 1": "not asked for: protonated",
        "GLU 2": "not asked for: deprotonated",
        "HIS 3": "not asked for: neutral, with its proton on NE2",
        "TYR 4": "asked for",
        "carboxyl end GLY 5": "not asked for: deprotonated",
    }
    assert "not asked for: they stay in the form of pH 7: amino end LYS 1" in notes(report)
    choices = sites.choose(groups, {}, Options(input=Path("x"), ph_range=(9.0, 12.0)), report)
    rows = {row[0].split(" of ")[0]: row[4] for row in sites.table(choices)[1:]}
    assert rows["GLU 2"] == "deprotonated at every pH of the range"
    assert rows["HIS 3"] == "deprotonated at every pH of the range: neutral, with its proton on NE2"


@pytest.mark.parametrize(("highest", "titrates"), [(13.0, False), (13.2, False), (13.4, True)])
def test_the_table_says_why_arg_does_not_titrate_where_propka_would_let_it(highest: float, titrates: bool, report: Report) -> None:
    """12.12 ± 1.5 is in a range to pH 13; the pKa of Arg is 13.8 wherever it is, and the table said that it is protonated without a reason."""
    groups = loaded("charmm36m-ecc").groups(peptide(("GLY", "ARG", "GLU", "GLY")).topology)
    arginine = next(group for group in groups if group.residue.name == "ARG" and group.group == "side")
    choices = sites.choose(groups, {(arginine.residue.index, "side"): 12.12}, Options(input=Path("x"), ph_range=(1.0, highest)), report)
    row = next(row for row in sites.table(choices) if row[0].startswith("ARG 2"))
    reason = "protonated at every pH of the range, because the pKa of Arg is known wherever it is: it titrates only in a range to pH 13.3 or more, whatever PROPKA says"
    assert row[1:] == ["13.80", "12.12", *(["yes", "its pKa may lie in the range"] if titrates else ["no", reason])]
    assert (f"{reason}: ARG 2 of chain A" in notes(report)) == (not titrates)


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


@pytest.mark.parametrize(
    ("status", "at", "groups_at", "said"),
    [
        ("calibrated", 300.0, 300.0, ""),
        ("uncalibrated", 300.0, 300.0, "the charge buffer has no correction V_MM with tip3p"),
        ("calibrated", 310.0, 300.0, "of the charge buffer was calibrated at 310 K: octitrate refuses the job at 300 K"),
        ("calibrated", 310.0, 310.0, ""),  # that is said of the groups, with the command for both
    ],
)
def test_a_charge_buffer_that_the_program_refuses_is_in_the_way(status: str, at: float, groups_at: float, said: str, report: Report) -> None:
    ff: Any = SimpleNamespace(water="tip3p", buffer_status=lambda: status, buffer_temperature=lambda: at)
    choice = sites.Choice(Group(peptide_residue(), "side", "glu3", 4.25, "calibrated", temperature=groups_at), None, True, "")
    sites.buffer(ff, [choice], Options(input=Path("x")), report)
    assert [(said in text, command) for text, command in report.obstacles] == [(True, "octitrate calibrate --residue water --force-field charmm36m-ecc")] * bool(said)
    assert report.warnings() == [text for text, _ in report.obstacles]


def test_ends_of_a_cysteine_in_a_disulfide_do_not_titrate(report: Report) -> None:
    """Its residue is another than the one of which corrections of ends may be known, and no model compound of it can be made."""
    modeller = peptide(("CYS", "ALA", "CYS"))
    first, _, last = modeller.topology.residues()
    sulfurs = [next(atom for atom in residue.atoms() if atom.name == "SG") for residue in (first, last)]
    free = [group.group for group in loaded("charmm36m-ecc").groups(modeller.topology) if group.corrected]
    assert free == ["nterm", "side", "side", "cterm"]
    modeller.topology.addBond(*sulfurs)
    groups = loaded("charmm36m-ecc").groups(modeller.topology)
    assert [(group.group, group.status, group.bridged) for group in groups] == [("nterm", "uncalibrated", True), ("cterm", "uncalibrated", True)]
    other = Group(peptide_residue(), "side", "glu3", 4.25, "calibrated")
    choices = sites.choose([*groups, other], {}, Options(input=Path("x"), sites=["all"]), report)
    assert [choice.titrates for choice in choices] == [False, False, True] and choices[0].why == sites.BRIDGED


@pytest.mark.parametrize(("asked", "expected"), [(["GLU"], ["GL3 2"]), (["GLU", "cterm"], ["GL3 2", "ZGL3 4", "cterm ZGL3 4"])])
def test_a_last_side_chain_is_not_asked_for_without_its_end(asked: list[str], expected: list[str], structure: Write, report: Report, bare: None) -> None:
    """The job of `--sites GLU,ASP` for 1PGB, whose last residue is Glu, was refused by the program: its correction is that beside a protonated end."""
    options = structure(peptide_text("GLY", "GLU", "GLY", "GLU"))
    options.force_field, options.sites = "ff14SB", asked
    _, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == expected
    assert (f"{sites.WITHOUT_ITS_END}: they stay in the form of pH 7: GLU 4 of chain A" in notes(report)) == (asked == ["GLU"])


def test_the_force_field_that_nobody_names_has_corrections_of_these_groups(structure: Write, report: Report, bare: None) -> None:
    options = structure(peptide_text("GLY", "GLU", "HIS", "GLU"))
    options.force_field = Options.force_field
    folder, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["nterm GLY 1", "GL3 2", "HIP 3", "ZGL3 4", "cterm ZGL3 4"]
    assert "allow_uncalibrated" not in job["titration"] and "preliminary" not in notes(report)
    assert "charmm36m-ecc with tip3p" in notes(report) and (folder / "library" / "glu3.toml").is_file()


def test_an_end_is_not_asked_for_without_its_side_chain(structure: Write, report: Report, bare: None) -> None:
    """The job of `--sites cterm` for 1PGB was refused by the program: the correction of this end is that beside Glu with its proton."""
    options = structure(peptide_text("GLY", "GLU", "GLY", "GLU"))
    options.force_field, options.sites = "ff14SB", ["cterm"]
    with pytest.raises(Refused, match="carboxyl end GLU 4 of chain A cannot titrate alone") as refused:
        written(options, report)
    assert "--sites 'cterm,GLU 4'" in str(refused.value.help)
    options.sites = ["cterm", "2"]
    _, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["GL3 2"]
    assert f"{sites.WITHOUT_ITS_SIDE_CHAIN}: they stay in the form of pH 7: carboxyl end GLU 4 of chain A" in notes(report)


def test_only_preliminary_corrections_are_allowed_for(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch, bare: None) -> None:
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


def test_transferred_corrections_serve_and_are_named(structure: Write, report: Report, bare: None) -> None:
    """With ff19SB the amino end of Gly was calibrated in another water, and the carboxyl end of Leu in this one."""
    options = structure(peptide_text("GLY", "GLU", "TYR", "LEU"))
    options.force_field = "ff19SB"
    _, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["nterm GLY 1", "GL3 2", "TYR 3", "cterm ZLEU 4"]
    assert "allow_uncalibrated" not in job["titration"]
    said = "the correction V_MM of amino end GLY 1 of chain A was calibrated in another water and transferred to this one (octitrate info says how, of library/nterm.toml)"
    assert said in notes(report)


def test_sites_start_by_propka(structure: Write, report: Report, monkeypatch: pytest.MonkeyPatch, bare: None) -> None:
    monkeypatch.setattr(predict, "predict", lambda *_: {(1, "side"): 6.251, (3, "side"): -17.0})
    options = structure(peptide_text(*CHAIN))
    _, job, _ = written(options, report)
    # What is not predicted has no such key, and what no program takes is brought into its range.
    assert {site["residue"]: site.get("start_pka") for site in job["titration"]["site"]} == {
        "nterm ALA 1": None, "GL3 2": 6.25, "LYS 4": -10.0, "AS3 5": None, "HIP 6": None, "cterm ZGLY 8": None,
    }  # fmt: skip


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


def test_groups_outside_of_the_range_are_built_as_they_are_there(structure: Write, report: Report, bare: None) -> None:
    options = structure(peptide_text(*CHAIN))
    options.ph_range = (8.5, 12.0)
    _, job, atoms = written(options, report)
    assert residues(atoms) == ["ALA", "GLU", "GLY", "LYS", "ASP", "HIE", "SER", "GLY"]
    assert [site["residue"] for site in job["titration"]["site"]] == ["nterm ALA 1", "LYS 4"]
    assert job["titrate"]["ph"][0] == 8.5


def test_sites_that_are_asked_for_titrate_alone(structure: Write, report: Report, bare: None) -> None:
    options = structure(peptide_text(*CHAIN))
    options.sites = ["A:GLU 2", "HIS"]
    _, job, _ = written(options, report)
    assert [site["residue"] for site in job["titration"]["site"]] == ["GL3 2", "HIP 6"]


def test_corrections_of_ones_own_are_taken(structure: Write, report: Report, tmp_path: Path, bare: None) -> None:
    options = structure(peptide_text("TRP", "TYR", "TRP"))
    options.force_field = "ff14SB"
    text = entry(TitratableForceField("ff14SB"), "tyr")
    own = tmp_path / "own" / "tyr.toml"
    own.parent.mkdir()
    own.write_text(text[: text.index("[correction]")] + '[correction]\nstatus = "calibrated"\ndegree = 1\ncoefficients = [-318.0]\n')
    options.library = [own.parent]
    folder, job, _ = written(options, report)
    assert [one["residue"] for one in job["titration"]["site"]] == ["nterm TRP 1", "TYR 2", "cterm ZTRP 3"]
    assert "-318.0" in (folder / "library/tyr.toml").read_text()
    assert str(own.parent) in (folder / "prepare.toml").read_text()


def test_the_command_that_makes_corrections_names_the_place_in_the_chain() -> None:
    first, middle, last = peptide(("HIS", "CYS", "GLU")).topology.residues()
    places = [(first, "nterm", "nterm"), (first, "side", "his"), (middle, "side", "cys"), (last, "side", "glu3"), (last, "cterm", "cterm")]
    choices = [sites.Choice(Group(residue, group, entry, 7.0, "uncalibrated"), None, True, "") for residue, group, entry in places]
    words = shlex.split(sites.calibration(choices, choices, Options(input=Path("x"), pair_corrections="cufix", force_field="ff14SB")))
    assert words[:3] == ["octitrate", "calibrate", "--residue"] and words[4:] == ["--force-field", "ff14SB", "--pair-corrections", "cufix"]
    assert words[3] == "nterm HIS,nterm side HIS,CYS,cterm side GLU,cterm GLU"
    for name in words[3].split(","):
        compound(name)
    # Behind the hydrogens residues have the names of the system.
    for residue, name in ((first, "NHIP"), (last, "ZGL3")):
        residue.name = name
    assert shlex.split(sites.calibration(choices, choices, Options(input=Path("x"), force_field="ff14SB")))[3] == words[3]
