"""Results as frames: a short titration by the program itself, and files with numbers that are known."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from octitrate.errors import Refused  # noqa: E402
from octitrate.results import Calibration, Run, Titration  # noqa: E402
from octitrate.program import binary  # noqa: E402
from octitrate.running import Failed, run  # noqa: E402

ROOT = Path(__file__).parents[2]

JOB = """[system]
structure = "{inputs}/glu.gro"
topology = "{inputs}/glu.top"
[dynamics]
duration = "1 ps"
time_step = "2 fs"
[thermostat]
temperature = "300 K"
[titration]
[[titration.site]]
residue = "GLH 2"
place = "A 2"
[titration.buffer]
[titrate]
ph = [3.75, 4.75]
equilibration = "0.2 ps"
[output]
energy = "0.1 ps"
lambda = "0.02 ps"
trajectory = "0 ps"
"""


@pytest.fixture(scope="module", autouse=True)
def program() -> None:
    """The binary of the sources where no other is named."""
    built = ROOT / "target/release/octitrate"
    if "OCTITRATE_BINARY" not in os.environ and shutil.which("octitrate") is None:
        if not built.is_file():
            pytest.skip("no binary octitrate: build it, or name it in OCTITRATE_BINARY")
        os.environ["OCTITRATE_BINARY"] = str(built)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("titration") / "short.toml"
    file.write_text(JOB.format(inputs=ROOT / "inputs/01-glu"))
    return file


@pytest.fixture(scope="module")
def titration(job: Path) -> Titration:
    shares: list[float] = []
    found = run(job, progress=lambda share, line: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    return found


def test_runs_of_a_titration(titration: Titration) -> None:
    assert [found.ph for found in titration.runs()] == [3.75, 4.75]
    first = titration.runs()[0]
    assert first.finished
    assert first.temperature == 300.0
    assert [(site.name, site.kind, len(site.forms)) for site in first.sites()] == [("GLH 2", "titratable", 2), ("buffer", "buffer", 2)]
    assert titration.sites()[0].pka == 4.25
    assert [site.place for site in first.sites()] == ["A 2", None]
    assert titration.duration() == pytest.approx(1.0)
    assert titration.progress() == 1.0
    # Every 0.02 ps from 0 to 1.
    lambdas = first.lambdas()
    assert len(lambdas) == 51
    assert lambdas.index.name == "time (ps)"
    assert list(lambdas.columns) == list(first.dvdl().columns) == ["GLH 2", "buffer"]
    assert first.time() == pytest.approx(1.0)
    # λ is held at the start in the form of the model pKa at this pH: 0 below it, 1 above.
    assert lambdas["GLH 2"].iloc[0] == 0.0
    assert titration.runs()[1].lambdas()["GLH 2"].iloc[0] == 1.0
    assert first.weights("GLH 2").sum(axis=1).to_numpy() == pytest.approx(1.0)
    energies = first.energies()
    assert len(energies) == 11
    parts = ("potential", "barrier", "walls", "pH", "correction", "entropy", "λ kinetic", "kinetic")
    total = sum(energies[f"{name} (kJ/mol)"] for name in parts)
    # Nine numbers of six decimals.
    assert energies["total (kJ/mol)"].to_numpy() == pytest.approx(total.to_numpy(), abs=5e-6)
    # By the place in the entry, and as reports call it.
    for name in ("A 2", "Glu 2"):
        assert first.weights(name).equals(first.weights("GLH 2")), name
    with pytest.raises(Refused, match="has no site 'ASP 1'"):
        first.weights("ASP 1")


def test_frames_of_all_runs(titration: Titration) -> None:
    everything = titration.lambdas()
    assert everything.index.names == ["pH", "replica", "time (ps)"]
    assert len(everything) == 102
    one = titration.runs()[1].dvdl()["GLH 2"]
    assert titration.dvdl().loc[(4.75, 1), "GLH 2"].to_numpy() == pytest.approx(one.to_numpy())


def test_alchemlyb_reads_the_reduced_potentials(titration: Titration) -> None:
    mbar = pytest.importorskip("alchemlyb.estimators").MBAR
    found = titration.u_nk()
    assert list(found.columns) == [3.75, 4.75]
    assert found.attrs["energy_unit"] == "kT"
    # λ ln 10 (pKa - pH) apart: the difference between two pH values is λ ln 10 ΔpH, and at λ = 0 there is none.
    first = titration.runs()[0]
    difference = (found.loc[(slice(None), 3.75), 4.75] - found.loc[(slice(None), 3.75), 3.75]).to_numpy()
    lambdas = first.lambdas()["GLH 2"].to_numpy()
    frames = found.loc[(slice(None), 3.75), :].index.get_level_values("time").to_numpy()
    assert frames.min() > 0.0  # the start is no evidence, as in the evaluation
    at = {round(time, 4): value for time, value in zip(first.lambdas().index, lambdas, strict=True)}
    expected = [-2.302585 * at[round(time, 4)] for time in frames]
    # λ is written with six decimals.
    assert difference == pytest.approx(expected, abs=1e-5)
    assert mbar().fit(found).delta_f_.shape == (2, 2)


def test_tables_of_a_short_titration(titration: Titration) -> None:
    pka = titration.pka()
    assert pka.index.tolist() == [("GLH 2", 1)]
    assert pka["model compound"].iloc[0] == 4.25
    assert not pka["converged"].any()
    assert titration.curves().index.tolist() == [("GLH 2", 3.75), ("GLH 2", 4.75)]
    assert set(titration.populations().index.get_level_values("form")) == {"protonated", "deprotonated"}
    assert set(titration.diagnostics()["converged"]) <= {True, False}  # the texts yes and no are both true
    for table in (titration.micro(), titration.diagnostics(), titration.convergence()):
        assert len(table) > 0
    assert len(titration.pairs()) == 0
    assert list(titration.convergence().columns) == ["from the beginning", "from the beginning error", "from the end", "from the end error"]
    assert {"correlation error", "pKa of first error", "first pKa of both error"} <= set(titration.pairs().columns)
    assert "GLH 2" in titration._repr_html_()
    assert "octitrate" in titration.log()


def test_a_second_call_finds_everything_done(titration: Titration, job: Path) -> None:
    before = titration.runs()[0].table()
    again = run(job, progress=False)
    assert again.folder == titration.folder
    assert again.runs()[0].table().equals(before)


def test_a_job_that_is_wrong_fails_with_the_words_of_the_program(job: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(job.read_text().replace("GLH 2", "GLH 7"))
    with pytest.raises(Failed, match="no residue GLH 7 in the topology") as failed:
        run(bad, progress=False)
    assert failed.value.status == 2
    with pytest.raises(Refused, match="there is no such job"):
        run(tmp_path / "none.toml")
    with pytest.raises(Refused, match="there is no command 'energy'"):
        run(job, "energy")  # type: ignore[call-overload]


@pytest.mark.parametrize("options", [["--output", "x"], ["--threads", "1", "--output=x"], ["-o", "x"], ["-ox"]])
def test_the_folder_is_no_option_of_the_command(options: list[str], job: Path) -> None:
    """The results came from the folder of the job, which the run had not written."""
    with pytest.raises(Refused, match="among the options: the folder of the results has an argument of its own") as refused:
        run(job, progress=False, options=options)
    assert refused.value.help == 'write run(job, output="FOLDER")'


def test_results_are_read_from_the_folder_that_is_named(job: Path, tmp_path: Path) -> None:
    found = run(job, output=tmp_path / "elsewhere", progress=False)
    assert found.folder == tmp_path / "elsewhere" and len(found.pka()) == 1


@pytest.mark.slow  # It depends on the clock: where two runs fill two cores, this process may not get one before they are done.
def test_a_run_that_is_interrupted_keeps_its_checkpoint_and_goes_on(job: Path, tmp_path: Path) -> None:
    longer = tmp_path / "longer.toml"
    longer.write_text(job.read_text().replace('duration = "1 ps"', 'duration = "6 ps"').replace('energy = "0.1 ps"', 'energy = "1 ps"'))

    folder = tmp_path / "longer"

    def stop() -> None:
        # As Ctrl-C does it, when both runs are on their way: they have their tables, whose lines may be written much later.
        while len(list(folder.glob("pH_*/replica_*/lambda.csv"))) < 2:
            time.sleep(0.02)
        time.sleep(0.5)
        # To the thread that waits for the program: a signal that another thread took would not wake it.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    watcher = threading.Thread(target=stop, daemon=True)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        run(longer, progress=False)
    half = Titration(folder)
    assert 0.0 < half.progress() < 1.0
    stopped = [one for one in half.runs() if not one.finished]
    assert stopped
    assert all((one.folder / "checkpoint").is_file() for one in stopped)
    assert "% done" in half._repr_html_()
    done = run(longer, progress=False)
    assert done.progress() == 1.0
    assert [len(one.table()) for one in done.runs()] == [301, 301]


PKA = """site,protons lost,pKa,pKa error,Hill coefficient,Hill error,pKa of slope 1,its error,from microscopic,its error,model compound,transitions,mixed,pKa of the count,its error,Hill of the count,its error,pKa in solution,its error,converged,reasons
GLU 2,1,4.10,0.05,0.90,0.04,4.11,0.05,4.10,0.05,4.25,120,0.1,4.0,0.1,0.8,0.1,3.97,0.05,yes,
HIS 3,1,,,,,,,,,6.54,3,0.2,,,,,,,no,few transitions
LYS 4,1,5.60,0.20,,,5.60,0.20,5.60,0.20,10.40,12,0.1,5.6,0.2,,,5.50,0.20,no,few transitions
"""  # noqa: E501

CURVES = """pH,site,deprotonated,low,high,weighted,counted,mixed,transitions,frames,independent samples
3.00,GLU 2,0.10000,0.08000,0.12000,0.1,0.1,0.1,30,100,20
5.00,GLU 2,0.85000,0.80000,0.90000,0.85,0.85,0.1,30,100,20
3.00,HIS 3,0.00000,0.00000,0.02000,0.0,0.0,0.1,1,100,20
5.00,HIS 3,0.05000,0.04000,0.06000,0.05,0.05,0.1,1,100,20
3.00,LYS 4,0.00000,0.00000,0.02000,0.0,0.0,0.1,1,100,20
5.00,LYS 4,0.20000,0.15000,0.25000,0.2,0.2,0.1,12,100,20
"""


COMPARISON = """site,group,computed,its error,computed at least,at most,measured,its error,measured above,below,computed − measured,model compound,model compound − measured,verdict,converged,extrapolated
"GL3 10",GLU 10 of chain A,2.9633,0.4083,,,2.8200,0.0900,,,0.1433,4.2500,1.4300,difference,yes,no
"AS3 19, 1st proton of it and AS3 21",ASP 19 of chain A,1.8665,0.2204,,,2.2100,0.0600,,,-0.3435,,,step,no,no
"AS3 77",ASP 77 of chain A,,,,1.0000,,,,2.2000,,3.9000,,met,no,yes
"""  # noqa: E501

PAIRS = """first,second,correlation,its error,significant,pKa of first,its error,pKa of second,its error,interaction (pK),its error,first pKa of both,its error,second pKa of both,its error
AS3 19,AS3 21,-0.51,0.05,yes,2.0,0.1,3.0,0.1,1.5,0.2,1.9,0.1,4.0,0.1
AS3 19,AS3 40,0.01,0.05,no,2.0,0.1,3.9,0.1,0.0,0.2,2.0,0.1,3.9,0.1
"""  # noqa: E501


@pytest.fixture
def known(tmp_path: Path) -> Titration:
    (tmp_path / "pka.csv").write_text(PKA)
    (tmp_path / "titration.csv").write_text(CURVES)
    return Titration(tmp_path)


def test_pka_of_known_numbers(known: Titration) -> None:
    table = known.pka()
    assert table.loc[("GLU 2", 1), "pKa"] == 4.10
    assert table["converged"].tolist() == [True, False, False]
    assert pd.isna(table.loc[("HIS 3", 1), "pKa"])
    errors = {name: table.loc[("GLU 2", 1), name] for name in table.columns if "error" in name}
    assert errors == {
        "pKa error": 0.05, "Hill error": 0.04, "pKa of slope 1 error": 0.05, "from microscopic error": 0.05, "pKa of the count error": 0.1, "Hill of the count error": 0.1,
        "pKa in solution error": 0.05,
    }  # fmt: skip
    assert "not determined" in known._repr_html_() and "pKa in solution" in known._repr_html_()
    (known.folder / "pka.csv").write_text(PKA.replace(",3.97,0.05,yes", ",,,yes").replace(",5.50,0.20,no", ",,,no"))
    assert "pKa in solution" not in known._repr_html_()
    assert known.curves().loc[("GLU 2", 5.0), "deprotonated"] == 0.85


def test_a_comparison_with_measured_values(known: Titration) -> None:
    with pytest.raises(Refused, match=r"comparison\.csv: No such file") as refused:
        known.comparison()
    assert refused.value.help == f"octitrate pka {known.folder} --compare measured.csv writes it"
    (known.folder / "comparison.csv").write_text(COMPARISON, encoding="utf-8")
    table = known.comparison()
    # Names of steps have a comma.
    assert table.index.tolist() == ["GL3 10", "AS3 19, 1st proton of it and AS3 21", "AS3 77"]
    first, bound = table.loc["GL3 10"], table.loc["AS3 77"]
    assert (first["computed"], first["computed error"], first["measured"], first["measured error"]) == (2.9633, 0.4083, 2.82, 0.09)
    assert (first["computed − measured"], first["model compound − measured"], first["group"]) == (0.1433, 1.43, "GLU 10 of chain A")
    assert pd.isna(bound["computed"]) and (bound["at most"], bound["below"], bound["verdict"]) == (1.0, 2.2, "met")
    assert table["converged"].tolist() == [True, False, False]
    assert table["extrapolated"].tolist() == [False, False, True]


def test_the_program_writes_a_comparison_that_is_read(titration: Titration, tmp_path: Path) -> None:
    measured = tmp_path / "measured.csv"
    measured.write_text("residue,number,chain,pKa,error\nGLU,2,A,4.10,0.05\n")
    out = tmp_path / "compared"
    subprocess.run([binary(), "pka", str(titration.folder), "--compare", str(measured), "--output", str(out)], check=True, capture_output=True)
    table = Titration(out).comparison()
    assert table.index.tolist() == ["GLH 2"]
    assert (table["measured"].iloc[0], table["measured error"].iloc[0], table["model compound"].iloc[0]) == (4.10, 0.05, 4.25)
    assert table["converged"].tolist() == [False]


def test_pairs_are_significant_or_not(known: Titration) -> None:
    (known.folder / "pairs.csv").write_text(PAIRS)
    assert known.pairs()["significant"].tolist() == [True, False]  # the texts yes and no are both true


def test_the_plot_has_points_and_the_hill_curve(known: Titration) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    axes = known.plot()
    # Points of all sites; the pKa of HIS 3 is not determined, and that of LYS 4 is one of a Hill coefficient of 1.
    curves = [line for line in axes.lines if len(line.get_xdata()) == 201]
    assert len(axes.containers) == 3
    assert len(curves) == 2
    assert curves[1].get_ydata()[-1] == pytest.approx(1 / (1 + 10 ** (5.6 - 5.0)))
    middle = min(zip(curves[0].get_xdata(), curves[0].get_ydata(), strict=True), key=lambda point: abs(point[1] - 0.5))
    # A tenth of a pH between its points.
    assert middle[0] == pytest.approx(4.10, abs=0.01)
    with pytest.raises(Refused, match="has no site 'LYS 9'"):
        known.plot(["LYS 9"])


def test_sites_are_called_as_in_reports(known: Titration) -> None:
    """A figure had `cterm ZPHE 76` in its legend, where the report has `C-term Phe 76`."""
    pytest.importorskip("matplotlib").use("Agg")
    label = {"GLU 2": "C-term Glu 2", "site": "label"}
    lines = [f"{line},{label.get(line.split(',')[0].strip(chr(34)), 'Other')}" for line in PKA.splitlines()]
    (known.folder / "pka.csv").write_text("\n".join(lines) + "\n")
    (legend,) = known.plot(["C-term Glu 2"]).get_legend().get_texts()
    assert legend.get_text() == "C-term Glu 2"
    assert len(known.plot(["GLU 2"]).containers) == 1


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "lambda.csv").write_text("time (ps),lambda A,dV/dlambda A (kJ/mol)\n0,0.1,1.0\n0.5,0.2,2.0\n1.0,0.")
    found = Run(tmp_path)
    assert found.lambdas()["A"].tolist() == [0.1, 0.2]
    assert found.dvdl()["A"].tolist() == [1.0, 2.0]
    assert found.time() == 0.5


SITES = """ph = 4.0
temperature = 300.0
[[site]]
name = "GL3 1"
entry = "glu3"
kind = "titratable"
forms = [{ name = "a", protons_lost = 0, charge = 0.0, pk = 0.0 }, { name = "b", protons_lost = 1, charge = -1.0, pk = 4.2 }, { name = "c", protons_lost = 1, charge = -1.0, pk = 4.2 }]
[[site]]
name = "buffer"
entry = "water"
kind = "buffer"
forms = [{ name = "a", protons_lost = 0, charge = 0.0, pk = 0.0 }, { name = "b", protons_lost = 1, charge = -1.0, pk = 0.0 }]
"""
HEAD = "time (ps)," + ",".join(f"lambda {name},dV/dlambda {name} (kJ/mol)" for name in ("GL3 1:a", "GL3 1:b", "GL3 1:c", "buffer"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", ["", HEAD[:30], HEAD, f"{HEAD}\n", f"{HEAD}\n0.0,0.5"])
def test_a_run_without_a_whole_line_is_empty(text: str, tmp_path: Path) -> None:
    """pandas raised EmptyDataError of a run that had just begun, and with it the whole titration could not be read."""
    for replica, table in ((1, text), (2, f"{HEAD}\n0.0,0.2,1,0.3,2,0.5,3,1.0,4\n")):
        folder = tmp_path / f"pH_4.00/replica_{replica}"
        folder.mkdir(parents=True)
        (folder / "sites.toml").write_text(SITES)
        (folder / "lambda.csv").write_text(table)
        (folder / "energy.csv").write_text(table[:9])
    found = Titration(tmp_path)
    first, second = found.runs()
    assert len(first.table()) == len(first.lambdas()) == len(first.weights("GL3 1")) == len(first.energies()) == 0
    assert list(first.lambdas().columns) == list(first.dvdl().columns) == ["GL3 1:a", "GL3 1:b", "GL3 1:c", "buffer"] == list(second.lambdas().columns)
    assert first.time() == 0.0 and first.table().index.name == "time (ps)"
    everything = found.lambdas()
    assert everything.loc[(4.0, 2, 0.0)].tolist() == [0.2, 0.3, 0.5, 1.0] and len(everything) == 1
    assert set(everything.dtypes) == {np.dtype(float)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "pka.csv: has no whole line yet, not even its head"),
        ("site,protons lo", "pka.csv: has no whole line yet, not even its head"),
        ("site,pKa\nGLH 2,4.2\n", "pka.csv: has no column 'protons lost', so that it is no table of this kind"),
        ("site,protons lost\nGLH 2,1\nGLH 3,1,2,3\n", "pka.csv: is no table: Error tokenizing data"),
    ],
)
def test_a_table_of_an_evaluation_that_is_not_whole_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "pka.csv").write_text(text)
    with pytest.raises(Refused, match=message) as caught:
        Titration(tmp_path).pka()
    assert "`octitrate pka` writes the tables of a titration anew" in caught.value.help


def test_settings_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    whole = '[dynamics]\ntime_step = "4 fs"\nsteps = 2500\n[titrate]\nph = [1.0, 2.0]\n'
    found = Titration(tmp_path)
    for end, message in ((whole.index("eps"), "resolved.toml: is not whole, or no TOML: "), (whole.index("[titrate]"), "has no titrate: it is not whole")):
        (tmp_path / "resolved.toml").write_text(whole[:end])
        with pytest.raises(Refused, match=message):
            found.progress()
        assert message.split(": ")[0] in found._repr_html_()
    (tmp_path / "resolved.toml").write_text(whole[: whole.index("steps")])
    with pytest.raises(Refused, match="has no dynamics.steps: it is not whole"):
        found.duration()
    (tmp_path / "resolved.toml").write_text(whole)
    assert found.progress() == 0.0
    (tmp_path / "pka.csv").write_text("site,pro")
    assert found._repr_html_() == f"<p>{tmp_path}: 0 % done</p>"
    (tmp_path / "sites.toml").write_text(SITES[: SITES.index("kind")])
    with pytest.raises(Refused, match="sites.toml: has no kind"):
        Run(tmp_path).sites()
    (tmp_path / "u_nk.parquet").write_bytes(b"PAR1")
    with pytest.raises(Refused, match=r"u_nk\.parquet: is not whole, or no parquet file"):
        Run(tmp_path).u_nk()
    (tmp_path / "resolved.toml").unlink()
    (tmp_path / "glu.toml").write_text("name = 'glu'\n")
    (tmp_path / "sites.toml").unlink()
    with pytest.raises(Refused, match=r"glu\.toml: has no correction"):
        Calibration(tmp_path).correction()


def test_lines_with_more_cells_than_their_head_are_refused(tmp_path: Path) -> None:
    """pandas takes the first cells for an index then, and every column is that of another."""
    (tmp_path / "pka.csv").write_text("site,pKa,reasons\nGLH 2,4.2,at pH 3, 4\n", encoding="utf-8")
    with pytest.raises(Refused, match="more cells than its head"):
        Titration(tmp_path).pka()


def test_a_calibration(tmp_path: Path) -> None:
    text = "lambda,dV/dlambda (kJ/mol),error (kJ/mol),fit (kJ/mol)\n0.0,10.0,0.5,10.1\n1.0,-20.0,0.5,-20.1\n"
    (tmp_path / "calibration.csv").write_text(text)
    (tmp_path / "glu.toml").write_text('[correction]\nstatus = "calibrated"\ncoefficients = [1.0]\n[correction.provenance]\ndate = "2026"\n')
    (tmp_path / "resolved.toml").write_text("")
    found = Calibration(tmp_path)
    assert found.entry().name == "glu.toml"
    assert found.correction()["coefficients"] == [1.0]
    pytest.importorskip("matplotlib").use("Agg")
    assert found.plot().get_xlabel() == "λ"


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no such folder"):
        Titration(tmp_path / "none")
    with pytest.raises(Refused, match="pka.csv"):
        Titration(tmp_path).pka()
    with pytest.raises(Refused, match="has no runs"):
        Titration(tmp_path).lambdas()
    with pytest.raises(Refused, match="has no entry yet"):
        Calibration(tmp_path).entry()
    with pytest.raises(Refused, match=r"dhdl\.parquet: there is no such file"):
        Run(tmp_path).dhdl()
