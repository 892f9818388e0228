"""What octitrate wrote, as pandas frames.

    from octitrate.results import Titration
    titration = Titration("titrate")
    titration.pka()        # one line for each site and proton
    titration.plot()       # titration curves (matplotlib)
    titration.u_nk()       # for alchemlyb: MBAR over the pH values

`Titration`, `Calibration` and `Run` are folders of results; they read when they are asked, so that a run which is still going can be looked at. Columns have
the names and units of the files (manual: "Every output file"), unless said otherwise; a column `its error` has the name of the one before
it, `pKa in solution error`, and columns of *yes* and *no* are true and false. Times are in ps, energies in kJ/mol, temperatures in K.
"""

from __future__ import annotations

import html
import io
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import Refused
from .words import named_all

try:
    import pandas as pd
except ModuleNotFoundError as error:  # pragma: no cover
    raise Refused("octitrate.results needs pandas, which is not installed", 'in the sources of octitrate: pip install "./python[results]"') from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ITS_ERROR = re.compile(r"its error(\.\d+)?")

_TRUTHS = ("converged", "extrapolated", "significant")
"""Columns of yes and no, both of which are true as texts in Python."""

UNITS = {"fs": 1e-3, "ps": 1.0, "ns": 1e3, "us": 1e6, "ms": 1e9}


@dataclass(frozen=True)
class Form:
    """One form of a site: its name, protons lost, charge of the site in it (e), cumulative pK of the model compound."""

    name: str
    protons_lost: int
    charge: float
    pk: float


@dataclass(frozen=True)
class Site:
    """One site of a run: `name` as in columns, `entry` of the library, "titratable" or "buffer", its forms; pKa of the model compound (none of a buffer); chain and
    number in the entry that the system was made of, `A 35`, if the job says so."""

    name: str
    entry: str
    kind: str
    forms: tuple[Form, ...]
    pka: float | None
    place: str | None = None


_NO_RESULTS = "name a folder that octitrate wrote; a run that has not begun has no results yet"


_AGAIN = "the program may be writing it, then look again; `octitrate pka` writes the tables of a titration anew"


def _text(path: Path, help: str = _NO_RESULTS) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}", help) from None


def _toml(path: Path, help: str = _NO_RESULTS) -> dict[str, Any]:
    """A TOML file of octitrate. Raises `Refused` for one that is not there or not whole."""
    try:
        return tomllib.loads(_text(path, help))
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path}: is not whole, or no TOML: {error}", "the program may be writing it, then look again; if not, it is damaged") from None


def _within(path: Path, table: dict[str, Any], *keys: str) -> Any:
    """What these keys lead to in the table of a file. Raises `Refused` where one is not there, as in a file that ends early."""
    found: Any = table
    for key in keys:
        if not isinstance(found, dict) or key not in found:
            raise Refused(f"{path}: has no {'.'.join(keys)}: it is not whole, or no file of this kind", "the program may be writing it, then look again; if not, it is damaged")
        found = found[key]
    return found


def _whole_lines(path: Path, help: str = _NO_RESULTS) -> str:
    """The text of a table without a last line that is being written: empty where its head is."""
    text = _text(path, help)
    return text[: text.rfind("\n") + 1]


def _table(path: Path, index: str | list[str] | None = None, help: str = _NO_RESULTS) -> pd.DataFrame:
    """A CSV file of octitrate, each column `its error` named by the column before it, yes and no as true and false. A last line that is being written is left out.

    Raises `Refused` for one that is not there or has no head, for lines that do not fit it, and for columns of the index that are not there.
    """
    whole = _whole_lines(path, help)
    if not whole.strip():
        raise Refused(f"{path}: has no whole line yet, not even its head", _AGAIN)
    try:
        frame = pd.read_csv(io.StringIO(whole))
    except pd.errors.ParserError as error:
        raise Refused(f"{path}: is no table: {' '.join(str(error).split())}", _AGAIN) from None
    # pandas takes cells too many for an index and moves all columns
    if len(frame) and not isinstance(frame.index, pd.RangeIndex):
        raise Refused(f"{path}: its lines have more cells than its head", "`octitrate pka` writes the tables of a titration anew")
    # pandas counts columns of one name: `its error`, `its error.1`
    frame.columns = pd.Index([f"{before} error" if _ITS_ERROR.fullmatch(name) else name for before, name in zip(["", *frame.columns], frame.columns)])
    for name in frame.columns.intersection(list(_TRUTHS)):
        frame[name] = frame[name] == "yes"
    if absent := [name for name in ([index] if isinstance(index, str) else index or []) if name not in frame.columns]:
        raise Refused(f"{path}: has no column {absent[0]!r}, so that it is no table of this kind", _AGAIN)
    return frame.set_index(index) if index is not None else frame


def _parquet(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise Refused(f"{path}: there is no such file", "`octitrate pka` and the end of a titration or calibration write it")
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:  # what pyarrow raises of a file that ends early is one of these
        raise Refused(f"{path}: is not whole, or no parquet file: {error}", "`octitrate pka` and the end of a titration or calibration write it") from None


class Folder:
    """A folder of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise Refused(f"{self.folder}: there is no such folder", "name a folder that octitrate wrote")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r})"

    def settings(self) -> dict[str, Any]:
        """Every setting of the job, defaults included: `resolved.toml`."""
        return _toml(self.folder / "resolved.toml")

    def log(self) -> str:
        """What the program said: `log.txt`."""
        return _text(self.folder / "log.txt")

    def duration(self) -> float:
        """Length of a run of the job, ps."""
        file, settings = self.folder / "resolved.toml", self.settings()
        number, unit = _within(file, settings, "dynamics", "time_step").split()
        return float(_within(file, settings, "dynamics", "steps")) * float(number) * UNITS[unit]


class Run(Folder):
    """One run: `octitrate run`, or one of a titration or calibration."""

    def about(self) -> dict[str, Any]:
        """`sites.toml`: pH and temperature of the run, and its sites."""
        return _toml(self.folder / "sites.toml")

    @property
    def ph(self) -> float | None:
        """Its pH; none where λ does not move."""
        found = self.about().get("ph")
        return None if found is None else float(found)

    @property
    def temperature(self) -> float:
        """Its temperature, K."""
        return float(_within(self.folder / "sites.toml", self.about(), "temperature"))

    @property
    def finished(self) -> bool:
        """Whether it came to its end."""
        return (self.folder / "final.gro").is_file()

    def sites(self) -> list[Site]:
        """Its sites in the order of the columns, buffer included."""
        file = self.folder / "sites.toml"

        def form(table: dict[str, Any]) -> Form:
            name, protons_lost, charge, pk = (_within(file, table, key) for key in ("name", "protons_lost", "charge", "pk"))
            return Form(name, protons_lost, charge, pk)

        def site(table: dict[str, Any]) -> Site:
            name, entry, kind, forms = (_within(file, table, key) for key in ("name", "entry", "kind", "forms"))
            return Site(name, entry, kind, tuple(map(form, forms)), table.get("pka"), table.get("place"))

        return [site(one) for one in _within(file, self.about(), "site")]

    def energies(self) -> pd.DataFrame:
        """`energy.csv` over the time; empty where no line of it is whole yet."""
        return self._over_time("energy.csv", [])

    def table(self) -> pd.DataFrame:
        """`lambda.csv` as it is, over the time; empty where no line of it is whole yet, with the columns of its sites."""
        names = [name for site in self._sites_so_far() for name in ([site.name] if len(site.forms) == 2 else [f"{site.name}:{form.name}" for form in site.forms])]
        return self._over_time("lambda.csv", [column for name in names for column in (f"lambda {name}", f"dV/dlambda {name} (kJ/mol)")])

    def _sites_so_far(self) -> list[Site]:
        """The sites where `sites.toml` is there, which the program writes first."""
        return self.sites() if (self.folder / "sites.toml").is_file() else []

    def _over_time(self, name: str, columns: list[str]) -> pd.DataFrame:
        """A table over the time; empty with these columns where its head is not whole yet. Columns without a number are of numbers, too, so that runs can be put together."""
        if not _whole_lines(self.folder / name).strip():
            return pd.DataFrame(columns=columns, index=pd.Index([], name="time (ps)", dtype=float), dtype=float)
        found = _table(self.folder / name, "time (ps)")
        return found if len(found) else found.astype(float).set_axis(pd.Index([], name="time (ps)", dtype=float))

    def lambdas(self) -> pd.DataFrame:
        """λ over the time: a column for each site with two forms (the weight of the second, deprotonated one), ``SITE:FORM`` for the weights of others."""
        return self._columns("lambda ", "")

    def dvdl(self) -> pd.DataFrame:
        """∂V/∂λ (kJ/mol) without the bias over the time, by the same names as `lambdas`."""
        return self._columns("dV/dlambda ", " (kJ/mol)")

    def _columns(self, head: str, tail: str) -> pd.DataFrame:
        table = self.table()
        return table[[name for name in table.columns if name.startswith(head)]].rename(columns=lambda name: name[len(head) : len(name) - len(tail)])

    def weights(self, site: str) -> pd.DataFrame:
        """Weights of all forms of a site over the time, which sum to one. `site` by the name of the job (`GL3 35`), by that of reports (`Glu 35`) once the titration of the run
        has been evaluated, or by its place in the entry (`A 35`) where no other site has it. Raises `Refused` for a site that is not there."""
        known = {one.name: one for one in self.sites()}
        site = self._name(site, list(known.values()))
        if site not in known:
            raise Refused(f"{self.folder} has no site {site!r}", named_all("its site", known))
        names, lambdas = [form.name for form in known[site].forms], self.lambdas()
        if len(names) == 2:
            second = lambdas[site]
            return pd.DataFrame({names[0]: 1.0 - second, names[1]: second})
        return pd.DataFrame({name: lambdas[f"{site}:{name}"] for name in names})

    def _name(self, site: str, known: list[Site]) -> str:
        """The name in the job of a site that is called as in the report of the titration, or by its place; any other as it is."""
        if any(one.name == site for one in known):
            return site
        titration = self.folder.resolve().parent.parent
        if (titration / "pka.csv").is_file():
            for name, label in Titration._labels(Titration(titration).pka()).items():
                if label == site:
                    return name
        there = [one.name for one in known if one.place == site]
        return there[0] if len(there) == 1 else site

    def time(self) -> float:
        """How far it has come, ps."""
        try:
            with (self.folder / "lambda.csv").open("rb") as file:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - 65536))
                lines = file.read().split(b"\n")[:-1]
            return float(lines[-1].split(b",")[0])
        except (OSError, IndexError, ValueError):
            return self.duration() if self.finished else 0.0

    def u_nk(self) -> pd.DataFrame:
        """V_pH/RT of every frame at every pH of the titration, as alchemlyb has it."""
        return _parquet(self.folder / "u_nk.parquet")

    def dhdl(self) -> pd.DataFrame:
        """∂V/∂λ in units of kT at fixed λ, as alchemlyb has it: windows of a calibration."""
        return _parquet(self.folder / "dhdl.parquet")


class Titration(Folder):
    """The results of `octitrate titrate` and `octitrate pka`."""

    def runs(self) -> list[Run]:
        """Its runs, by pH and replica."""
        found = [path.parent for path in self.folder.glob("pH_*/replica_*/sites.toml")]
        return [Run(path) for path in sorted(found, key=lambda path: (float(path.parent.name[3:]), int(path.name[8:])))]

    def sites(self) -> list[Site]:
        """The sites that titrate."""
        runs = self.runs()
        return [site for site in runs[0].sites() if site.kind != "buffer"] if runs else []

    def pka(self) -> pd.DataFrame:
        """Macroscopic pKa values with errors: `pka.csv`, by site and protons lost; `converged` is true or false."""
        return _table(self.folder / "pka.csv", ["site", "protons lost"])

    def micro(self) -> pd.DataFrame:
        """Microscopic pK of every pair of forms: `micro.csv`."""
        return _table(self.folder / "micro.csv")

    def curves(self) -> pd.DataFrame:
        """Deprotonated fractions by site and pH: `titration.csv`."""
        return _table(self.folder / "titration.csv", ["site", "pH"]).sort_index()

    def populations(self) -> pd.DataFrame:
        """Populations by site, pH and form: `populations.csv`."""
        return _table(self.folder / "populations.csv", ["site", "pH", "form"])

    def pairs(self) -> pd.DataFrame:
        """Correlation and interaction of pairs of sites: `pairs.csv`; `significant` is true or false."""
        return _table(self.folder / "pairs.csv")

    def convergence(self) -> pd.DataFrame:
        """pKa against the time used: `convergence.csv`."""
        return _table(self.folder / "convergence.csv", ["site", "protons lost", "share"])

    def diagnostics(self) -> pd.DataFrame:
        """Whether each site has converged (true or false), and why not: `diagnostics.csv`."""
        return _table(self.folder / "diagnostics.csv", ["site", "protons lost"])

    def comparison(self) -> pd.DataFrame:
        """Computed against measured pKa values, by site, or step of two sites that titrate together: `comparison.csv`, which `octitrate pka --compare` writes.

        All numbers are in pK units: `computed` and `measured` with their errors, or what bounds them (`computed at least`, `at most`, `measured above`, `below`; what does not
        apply is NaN), `computed − measured`, and the same of the null model, `model compound` and `model compound − measured`. `group` is what the table of measured
        values calls the site, `verdict` is difference, step, met, missed or open; `converged` and `extrapolated` are true or false. Raises `Refused` where nothing has been compared.
        """
        way = f"octitrate pka {self.folder} --compare measured.csv writes it"
        return _table(self.folder / "comparison.csv", "site", way)

    def lambdas(self) -> pd.DataFrame:
        """λ of all runs, by pH, replica and time."""
        return self._all(Run.lambdas)

    def dvdl(self) -> pd.DataFrame:
        """∂V/∂λ (kJ/mol) of all runs, by pH, replica and time."""
        return self._all(Run.dvdl)

    def _all(self, read: Callable[[Run], pd.DataFrame]) -> pd.DataFrame:
        parts = {(run.ph, int(run.folder.name[8:])): read(run) for run in self.runs()}
        if not parts:
            raise Refused(f"{self.folder} has no runs", "name the folder of a titration")
        return pd.concat(parts, names=["pH", "replica"])

    def u_nk(self) -> pd.DataFrame:
        """V_pH/RT of every frame at every pH, all runs together, for `alchemlyb.estimators.MBAR`. Nothing but V_pH depends on the pH."""
        parts = [run.u_nk() for run in self.runs()]
        if not parts:
            raise Refused(f"{self.folder} has no runs", "name the folder of a titration")
        found = pd.concat(parts)
        found.attrs = dict(parts[0].attrs)
        return found

    def progress(self) -> float:
        """Share of the whole titration that is done, 0 to 1."""
        settings = self.settings()
        titrate = _within(self.folder / "resolved.toml", settings, "titrate")
        wanted = len(_within(self.folder / "resolved.toml", settings, "titrate", "ph")) * titrate.get("replicas", 1) * self.duration()
        return float(min(1.0, sum(run.time() for run in self.runs()) / wanted))

    def plot(self, sites: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
        """Titration curves: points with intervals of one standard error, and Hill curves through pKa and Hill coefficient where the pKa is known.

        `sites` by the name of the job (`GL3 35`) or of reports (`Glu 35`), all by default; the legend has that of reports. Returns the axes; needs matplotlib.
        Raises `Refused` for a site that is not there.
        """
        curves, table = self.curves(), self.pka()
        names = list(dict.fromkeys(curves.index.get_level_values("site")))
        labels = self._labels(table)
        by_label = {label: name for name, label in labels.items()}
        wanted = [site if site in names else by_label.get(site, site) for site in sites or names]
        if unknown := [site for site in wanted if site not in names]:
            raise Refused(f"{self.folder} has no site {unknown[0]!r}", named_all("its site", names))
        axes = ax if ax is not None else _axes()
        for name in wanted:
            curve = curves.xs(name, level="site")
            low, high = (curve["deprotonated"] - curve["low"]).clip(lower=0.0), (curve["high"] - curve["deprotonated"]).clip(lower=0.0)
            (line, *_) = axes.errorbar(curve.index, curve["deprotonated"], yerr=[low, high], fmt="o", capsize=2, label=labels.get(name, name))
            steps = table.xs(name, level="site")[["pKa", "Hill coefficient"]].fillna({"Hill coefficient": 1.0}).dropna()
            if len(steps) == 1:
                ph = [curve.index.min() + (curve.index.max() - curve.index.min()) * k / 200 for k in range(201)]
                pka, hill = steps["pKa"].iloc[0], steps["Hill coefficient"].iloc[0]
                axes.plot(ph, [1.0 / (1.0 + 10.0 ** (hill * (pka - x))) for x in ph], color=line.get_color())
        axes.set_xlabel("pH")
        axes.set_ylabel("deprotonated")
        axes.set_ylim(-0.05, 1.05)
        axes.legend()
        return axes

    @staticmethod
    def _labels(table: pd.DataFrame) -> dict[str, str]:
        """What reports call the sites of `pka()`, by their names; none in a table of an earlier version."""
        if "label" not in table:
            return {}
        return {str(site): str(label) for site, label in zip(table.index.get_level_values("site"), table["label"], strict=True)}

    def _repr_html_(self) -> str:
        """What a notebook shows: the table of pKa values, or how far it has come."""
        if (self.folder / "pka.csv").is_file() and _whole_lines(self.folder / "pka.csv").strip():
            table = self.pka()
            columns = ["pKa", "pKa error", "Hill coefficient", "model compound", "transitions", "converged"]
            if "pKa in solution" in table and table["pKa in solution"].notna().any():
                columns.insert(2, "pKa in solution")
            return table[columns].to_html(na_rep="not determined", float_format=lambda value: f"{value:.2f}")
        try:
            return f"<p>{self.folder}: {100 * self.progress():.0f} % done</p>"
        except Refused as error:
            return f"<p>{html.escape(error.message)}</p>"


class Calibration(Folder):
    """The results of `octitrate calibrate`."""

    def windows(self) -> pd.DataFrame:
        """Averages of ∂V/∂λ in the windows and the fit: `calibration.csv`."""
        return _table(self.folder / "calibration.csv")

    def rounds(self) -> pd.DataFrame:
        """What each round of free runs gave: `rounds.csv`."""
        return _table(self.folder / "rounds.csv", "round")

    def entry(self) -> Path:
        """The entry of the library with its new correction."""
        found = [path for path in self.folder.glob("*.toml") if path.name not in ("resolved.toml", "folder.toml", "run.toml")]
        if len(found) != 1:
            raise Refused(f"{self.folder} has no entry yet", "a calibration writes it at its end")
        return found[0]

    def correction(self) -> dict[str, Any]:
        """The correction of the entry that was calibrated: status, coefficients, errors, provenance."""
        file = self.entry()
        entry = _toml(file)
        corrections = [_within(file, one, "correction") for one in (entry, *entry.get("elsewhere", []))]
        dated = [one for one in corrections if "provenance" in one]
        return dict(dated[-1] if dated else corrections[0])

    def dhdl(self) -> pd.DataFrame:
        """∂V/∂λ of all windows in units of kT, for `alchemlyb.estimators.TI`."""
        return _parquet(self.folder / "dhdl.parquet")

    def plot(self, ax: Axes | None = None) -> Axes:
        """⟨∂V/∂λ⟩ of the windows with errors, and the fit, of a site with two forms. Returns the axes; needs matplotlib."""
        table = self.windows()
        if "lambda" not in table:
            raise Refused("a site with three forms or more has no curve over one λ", "look at windows()")
        table = table.sort_values("lambda")
        axes = ax if ax is not None else _axes()
        axes.errorbar(table["lambda"], table["dV/dlambda (kJ/mol)"], yerr=table["error (kJ/mol)"], fmt="o", capsize=2, label="windows")
        axes.plot(table["lambda"], table["fit (kJ/mol)"], label="fit")
        axes.set_xlabel("λ")
        axes.set_ylabel("⟨∂V/∂λ⟩ (kJ/mol)")
        axes.legend()
        return axes


def _axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:  # pragma: no cover
        raise Refused("plot() needs matplotlib, which is not installed", 'in the sources of octitrate: pip install "./python[results]"') from error
    return pyplot.subplots()[1]
