"""Which groups titrate, and at which pH values.

A group titrates if its pKa, of the model compound or as predicted, lies in the range of pH with a margin. One that lies far outside is built in the form that it
has at every pH of the range: that costs no λ and no charge buffers.
"""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..calibrated import TRANSFERRED
from ..errors import Refused, named
from ..residues import AMINO_ACIDS, PROTONATED, VARIANTS
from ..words import counted, listed
from .names import LETTERS, known_as
from .numbers import NUMBER, in_file
from .options import Options
from .report import Report

MARGIN = 1.5
"""pH units around the range: a shift of a pKa that PROPKA does not see."""

SWAP = 3.0
"""Largest μ of two neighbouring pH values: runs there swap with a probability of 0.22 or more."""

SAME_TEMPERATURE = 2.0
"""Difference (K) from the temperature of a correction that octitrate lets pass."""

DEPROTONATED = "deprotonated at every pH of the range"
PROTONATED_ALWAYS = "protonated at every pH of the range"
ARG_ALWAYS = f"{PROTONATED_ALWAYS}, because the pKa of Arg is known wherever it is: it titrates only in a range to pH {{:g}} or more, whatever PROPKA says"
NOT_ASKED_FOR = "not asked for"
UNKNOWN = "no correction is known with this force field"
UNKNOWN_AT_END = "no correction is known at this end of a chain"
BRIDGED = "it is the end of a cysteine in a disulfide, of which no model compound can be made"
WITHOUT_ITS_END = "the correction of this side chain was made beside a carboxyl end with its proton, which --sites does not ask for (cterm)"
WITHOUT_ITS_SIDE_CHAIN = "the correction of this end was made beside a side chain with every proton, which --sites does not ask for"

KNOWN = (
    "corrections come with octitrate for all residues that titrate of charmm36m-ecc (the default), charmm36m, ff14SB and amber99sb-ildn with tip3p, "
    "and ff19SB with opc, all ends of charmm36m-ecc, ff14SB and ff19SB and some of the others"
)
"""Where the way on is short."""

TITRATE = {"glu", "asp", "his", "lys", "arg", "tyr", "cys", "nterm", "cterm"}
"""Kinds of groups that titrate, in small letters."""
DEPROTONATED_AT_7 = {"GLU", "ASP", "HIS", "cterm"}
"""Groups that have lost a proton in the form in which force fields build them."""

DEFAULT_RANGE = (1.0, 13.0)

FORM = "write GLU, 'GLU 35', 'GLU 100A', 'A:GLU 35', nterm, cterm or all, several with commas"


@dataclass
class Choice:
    """A group and what becomes of it."""

    group: Any
    """`octitrate.residues.Group`."""
    predicted: float | None
    titrates: bool
    why: str
    label: str = ""
    """The group as reports name it, by name and number of its residue in the file: `GLU 35 of chain A`, `amino end LYS 1 of chain A`."""
    place: str = ""
    """Chain and number of the residue in the file: `A 35`, `A 100A`."""

    def __post_init__(self) -> None:
        residue = self.group.residue
        end = {"nterm": "amino end ", "cterm": "carboxyl end "}.get(self.group.group, "")
        self.label = end + named(residue)
        self.place = f"{residue.chain.id} {residue.id}{residue.insertionCode}".strip()

    @property
    def estimates(self) -> list[float]:
        """pKa of the model compound, and PROPKA's if there is one."""
        return [self.group.pka] + ([] if self.predicted is None else [self.predicted])


def kind(group: Any) -> str:
    """`GLU`, … for side chains, `nterm` or `cterm` for ends."""
    return str(group.residue.name) if group.group == "side" else str(group.group)


def choose(groups: list[Any], predicted: dict[tuple[int, str], float], options: Options, report: Report) -> list[Choice]:
    """Decides for every group whether it titrates."""
    low, high = options.ph_range or DEFAULT_RANGE
    asked = [_parse(text) for text in options.sites]
    used: set[int] = set()
    ends = {id(group.residue) for group in groups if group.group != "side"}
    choices = []
    for group in groups:
        estimate = predicted.get((group.residue.index, group.group))
        choice = Choice(group, estimate, True, "its pKa may lie in the range")
        if asked:
            hits = {i for i, one in enumerate(asked) if _fits(one, group)}
            used |= hits
            choice.titrates, choice.why = bool(hits), "asked for" if hits else NOT_ASKED_FOR
        elif kind(group) in DEPROTONATED_AT_7 and max(choice.estimates) < low - MARGIN:
            choice.titrates, choice.why = False, DEPROTONATED
        elif kind(group) not in DEPROTONATED_AT_7 and _lowest(choice) > high:
            choice.titrates, choice.why = False, ARG_ALWAYS.format(_lowest(choice)) if kind(group) == "ARG" else PROTONATED_ALWAYS
        if choice.titrates and group.bridged and not group.corrected:
            choice.titrates, choice.why = False, BRIDGED
        elif choice.titrates and not asked and not group.corrected:
            choice.titrates, choice.why = False, UNKNOWN_AT_END if id(group.residue) in ends else UNKNOWN
        choices.append(choice)
    if asked:
        kinds_at_ends(choices, asked)
        beside_ends(choices)
    else:
        at_ends(choices)
    unused = [i for i in range(len(asked)) if i not in used]
    # A kind that a protein lacks is no mistake beside others that it has: one command for many proteins. A chain or a number is meant for this one.
    absent = [i for i in unused if used and asked[i].chain is None and asked[i].number is None and str(asked[i].called).lower() in TITRATE]
    if absent:
        report.note(f"the protein has no {' and no '.join(options.sites[i] for i in absent)}")
    if wrong := [i for i in unused if i not in absent]:
        helps = dict.fromkeys(_instead(asked[i], options.sites[i], choices) for i in wrong)
        raise Refused(f"nothing that titrates is {', '.join(options.sites[i] for i in wrong)}", "; ".join(helps))
    titrating, unknown = [c for c in choices if c.titrates], [c.label for c in choices if c.why in (UNKNOWN, UNKNOWN_AT_END)]
    if not titrating and unknown:
        raise Refused(
            f"no group of this protein between pH {low:g} and {high:g} has a correction V_MM with {options.force_field} and this water: {listed(unknown, 6)}",
            f"{KNOWN}; or calibrate your own, which this command then finds: octitrate calibrate --residue GLU,ASP,HIS --force-field {options.force_field}"
            f"{f' --water {options.water}' if options.water else ''}; --sites all builds the system all the same, which octitrate refuses to titrate until then",
        )
    if together := [choice for choice in choices if choice.why in (WITHOUT_ITS_END, WITHOUT_ITS_SIDE_CHAIN) and not titrating]:
        raise Refused(
            f"{listed([choice.label for choice in together], 4)} cannot titrate alone: {together[0].why}",
            f"ask for both: --sites '{','.join([*options.sites, _other(together[0])])}'",
        )
    if not titrating:
        raise Refused(f"no group of this protein titrates between pH {low:g} and {high:g}", "ask for another range (--ph-range) or for groups (--sites)")
    report.note(f"{len(titrating)} of {counted(len(choices), 'group')} {'titrates' if len(choices) == 1 else 'titrate'} between pH {low:g} and {high:g}")
    for why in dict.fromkeys(choice.why for choice in choices if not choice.titrates):
        asking = ", unless --sites asks for them" if why in (UNKNOWN, UNKNOWN_AT_END) else ""
        stay = "" if why.startswith((DEPROTONATED, PROTONATED_ALWAYS)) else f" they stay in the form of pH 7{asking}:"
        report.note(f"{why}:{stay} {listed([c.label for c in choices if c.why == why and not c.titrates], 8)}")
    if missing := [choice.label for choice in titrating if not choice.group.corrected]:
        command = calibration([choice for choice in titrating if not choice.group.corrected], choices, options)
        report.obstruct(
            f"no correction V_MM is known for {listed(missing, 4)} with {options.force_field} and this water: octitrate refuses to titrate them until their model "
            f"compounds are calibrated: {command}",
            command,
        )
    if others := [choice for choice in titrating if choice.group.corrected and is_of_another(choice.group.temperature, options)]:
        command = calibration(others, choices, options, water=True)
        report.obstruct(
            f"corrections V_MM of {listed([choice.label for choice in others], 4)} were calibrated at {others[0].group.temperature:g} K: octitrate refuses the job at "
            f"{options.temperature:g} K until their model compounds and the charge buffer are calibrated there "
            f"({command}), or titration.allow_mismatch = [\"temperature\"] in titrate.toml allows it",
            command,
        )
    if doubtful := [choice.label for choice in titrating if choice.group.status == "preliminary"]:
        report.warn(f"the correction V_MM of {listed(doubtful, 4)} is preliminary by octitrate's own tests (octitrate info NAME says why): the job allows that")
    if taken := [choice for choice in titrating if choice.group.status == TRANSFERRED]:
        files = " and ".join(dict.fromkeys(f"library/{choice.group.entry}.toml" for choice in taken))
        labels = listed([choice.label for choice in taken], 4)
        report.note(f"the correction V_MM of {labels} was calibrated in another water and transferred to this one (octitrate info says how, of {files})")
    return choices


def is_of_another(temperature: float, options: Options) -> bool:
    """Whether octitrate refuses a correction that was calibrated at this temperature (K)."""
    return abs(temperature - options.temperature) > SAME_TEMPERATURE


def buffer(ff: Any, choices: list[Choice], options: Options, report: Report) -> None:
    """Warns of a charge buffer that has no correction, or one of another temperature where those of all groups are of this one."""
    command = calibration([], choices, options, water=True)
    if ff.buffer_status() == "uncalibrated":
        report.obstruct(f"the charge buffer has no correction V_MM with {ff.water}: octitrate refuses the job until it is calibrated: {command}", command)
    elif is_of_another(ff.buffer_temperature(), options) and not any(c.titrates and c.group.corrected and is_of_another(c.group.temperature, options) for c in choices):
        report.obstruct(
            f"the correction V_MM of the charge buffer was calibrated at {ff.buffer_temperature():g} K: octitrate refuses the job at {options.temperature:g} K until it is calibrated "
            f"there ({command}), or titration.allow_mismatch = [\"temperature\"] in titrate.toml allows it",
            command,
        )


def from_files(choices: list[Choice], buffer: Path | None, shipped: Path, report: Report) -> None:
    """Notes the files of the user that corrections are from: all but those below the folder of what comes with octitrate."""
    found: dict[Path, list[str]] = {}
    for file, label in [(choice.group.file, choice.label) for choice in choices if choice.titrates] + [(buffer, "the charge buffer")]:
        if file is not None and shipped not in file.parents:
            found.setdefault(file, []).append(label)
    for file, labels in found.items():
        report.note(f"the correction V_MM of {listed(labels, 6)} is your own: {file}")


def at_ends(choices: list[Choice]) -> None:
    """Keeps groups of one residue at an end of a chain together where the correction of one was made beside the other: that of a side chain beside a protonated
    carboxyl end, that of an end beside a side chain that is built with every proton."""
    by_residue = {(id(choice.group.residue), choice.group.group): choice for choice in choices}
    for choice in choices:
        side = by_residue.get((id(choice.group.residue), "side"))
        if choice.group.group == "side" or side is None:
            continue
        if choice.titrates and not side.titrates and side.group.residue.name in PROTONATED:
            choice.titrates, choice.why = False, UNKNOWN_AT_END
        if choice.group.group == "cterm" and side.titrates and not choice.titrates:
            side.titrates, side.why = False, UNKNOWN_AT_END


def kinds_at_ends(choices: list[Choice], asked: list[Asked]) -> None:
    """Leaves out groups at ends of chains that have no correction where a kind was asked for and other groups of it have one: `--sites GLU,cterm` means the
    groups that can titrate. A group that is asked for by its number, and `all`, mean the group whatever is known of it."""
    corrected = {kind(choice.group) for choice in choices if choice.group.corrected}
    for choice in choices:
        as_one = any(one.called == "ALL" or one.number is not None for one in asked if _fits(one, choice.group))
        if choice.titrates and not choice.group.corrected and not as_one and kind(choice.group) in corrected:
            choice.titrates, choice.why = False, UNKNOWN_AT_END


def beside_ends(choices: list[Choice]) -> None:
    """Leaves out groups of a residue at an end of a chain whose correction was made beside the other group with its proton, where that was not asked for and stays
    charged: the side chain beside a carboxyl end, and an end beside a side chain. `--sites GLU,ASP` and `--sites cterm` mean the groups that can titrate.
    Without any correction they stay, for a library that comes later."""
    left_out = [choice for choice in choices if not choice.titrates]
    ends = {id(choice.group.residue) for choice in left_out if choice.group.group == "cterm"}
    sides = {id(choice.group.residue) for choice in left_out if choice.group.group == "side" and choice.group.residue.name in PROTONATED}
    for choice in choices:
        if not (choice.titrates and choice.group.corrected):
            continue
        if choice.group.group == "side" and id(choice.group.residue) in ends:
            choice.titrates, choice.why = False, WITHOUT_ITS_END
        elif choice.group.group != "side" and id(choice.group.residue) in sides:
            choice.titrates, choice.why = False, WITHOUT_ITS_SIDE_CHAIN


def _other(choice: Choice) -> str:
    """What `--sites` calls the group that this one cannot titrate without."""
    return "cterm" if choice.group.group == "side" else f"{choice.group.residue.name} {choice.place.split()[-1]}"


def values(choices: list[Choice], options: Options) -> list[float]:
    """The pH values of the titration, inside of the range: from two below the lowest pKa that is estimated to two above the highest, a unit apart, and half or a
    quarter of a unit where so many groups titrate that runs at neighbouring values would seldom swap them.

    Two runs at pH a and b, whose numbers of protons N scatter normally with the variance −dN/dpH / ln 10 (the width of a titration curve), swap with the
    probability erfc(√μ/2), μ = ln 10 · (b − a) · (N(a) − N(b)); `SWAP` is the largest μ. N is that of groups which titrate by themselves, each by the mean
    of its curves with the pKa of the model compound and with PROPKA's.
    """
    low, high = options.ph_range or DEFAULT_RANGE
    titrating = [choice.estimates for choice in choices if choice.titrates]
    flat = [pka for estimates in titrating for pka in estimates]
    if options.ph_range is None:
        low, high = max(low, math.floor(min(flat)) - 2), min(high, math.ceil(max(flat)) + 2)

    def protons(ph: float) -> float:
        return sum(1 / (1 + 10 ** (ph - pka)) / len(estimates) for estimates in titrating for pka in estimates)

    def swaps(a: float, b: float) -> bool:
        return math.log(10) * (b - a) * (protons(a) - protons(b)) <= SWAP

    # In quarters from the lowest value, and a step from a multiple of itself, so that values are round.
    quarters, last = [0], math.floor(4 * (high - low) + 1e-6)
    widest = 4 if high - low > 5 else 2
    while quarters[-1] < last:
        here = quarters[-1]
        steps = [step for step in (4, 2, 1) if step <= widest and here + step <= last and here % step == 0]
        quarters.append(here + next((step for step in steps if swaps(low + here / 4, low + (here + step) / 4)), steps[-1]))
    found = [round(low + quarter / 4, 3) for quarter in quarters]
    # The highest value is that of the range. One that is nearly there gives its place to it.
    if high - found[-1] > 1e-6:
        if len(found) > 1 and high - found[-1] < 0.125:
            found.pop()
        found.append(round(high, 3))
    return found


def lost(choices: list[Choice], ph: float) -> float:
    """How many protons the groups that titrate have lost at this pH, each by itself with the pKa of PROPKA, or of its model compound where that says nothing."""
    return sum(1 / (1 + 10 ** (choice.estimates[-1] - ph)) for choice in choices if choice.titrates)


def held(choices: list[Choice], ph: list[float], options: Options, report: Report) -> None:
    """Warns of groups that do not titrate and have, by their pKa, another form than that of pH 7 at some of these pH values."""
    change = [c for c in choices if not c.titrates and _changes(c, ph)]
    unknown = [c for c in change if c.why in (UNKNOWN, UNKNOWN_AT_END)]
    others = [c for c in change if c not in unknown]

    def kept(groups: list[Choice], verbs: tuple[str, str]) -> str:
        verb, it = (verbs[1], "them") if len(groups) > 1 else (verbs[0], "it")
        return (
            f"{listed([c.label for c in groups], 6)} {verb} the form of pH 7 from pH {ph[0]:g} to {ph[-1]:g}, where another may be right: "
            f"groups beside {it} feel the wrong charge there"
        )

    if unknown:
        # Groups of one residue wait for each other.
        residues = {id(c.group.residue) for c in unknown}
        missing = [c for c in choices if id(c.group.residue) in residues and not c.group.corrected]
        way = f". Corrections are made by {calibration(missing, choices, options)}" if missing else ""
        report.warn(f"without a correction V_MM {kept(unknown, ('keeps', 'keep'))}{way}")
    if others:
        way = "" if all(c.why == BRIDGED for c in others) else "; --sites may ask for more groups"
        report.warn(f"{kept(others, ('does not titrate and keeps', 'do not titrate and keep'))}{way}")


def _changes(choice: Choice, ph: list[float]) -> bool:
    """Whether another form than that of pH 7 may be the likelier one at one of the pH values. Of Arg the pKa is known (`_lowest`)."""
    estimates = [choice.group.pka] if kind(choice.group) == "ARG" else choice.estimates
    return max(estimates) > ph[0] if kind(choice.group) in DEPROTONATED_AT_7 else min(estimates) < ph[-1]


def calibration(missing: list[Choice], choices: list[Choice], options: Options, water: bool = False) -> str:
    """The command that makes the corrections of groups that have none, and with `water` that of the charge buffer; `choices`: all groups, by which residues at
    ends of chains are known."""
    ends = {(id(choice.group.residue), choice.group.group) for choice in choices}

    def compound(choice: Choice) -> str:
        residue = known_as(choice.group.residue.name)  # that of a system has its name there, ZLYS
        if choice.group.group != "side":
            return f"{choice.group.group} {residue}"
        place = next((f"{end} side " for end in ("nterm", "cterm") if (id(choice.group.residue), end) in ends), "")
        return f"{place}{residue}"

    names = ",".join(dict.fromkeys([*(["water"] if water else []), *(compound(choice) for choice in missing)]))
    words = ["octitrate", "calibrate", "--residue", names, "--force-field", options.force_field]
    words += ["--water", options.water] if options.water else []
    words += ["--temperature", f"{options.temperature:g}"] if abs(options.temperature - 300.0) > SAME_TEMPERATURE else []
    return shlex.join([*words, *(["--pair-corrections", options.pair_corrections] if options.pair_corrections else [])])


def _lowest(choice: Choice) -> float:
    """Below which pH a group that is protonated at pH 7 stays so: its lowest estimate less a margin. Of Arg the pKa is known to be 13.8 wherever it is
    (Fitch et al. 2015, doi:10.1002/pro.2647), and PROPKA starts from 12.5."""
    return choice.group.pka - 0.5 if kind(choice.group) == "ARG" else min(choice.estimates) - MARGIN


def table(choices: list[Choice]) -> list[list[str]]:
    """Every group with its pKa values, for the report."""
    rows = [["group", "pKa of the model compound", "PROPKA", "titrates", "because"]]
    for c in choices:
        predicted = "" if c.predicted is None else f"{c.predicted:.2f}"
        rows.append([c.label, f"{c.group.pka:.2f}", predicted, "yes" if c.titrates else "no", c.why if c.titrates else _because(c)])
    return rows


def _because(choice: Choice) -> str:
    """Why a group does not titrate, and in which form it stays."""
    form = "neutral, with its proton on NE2" if kind(choice.group) == "HIS" else "deprotonated" if kind(choice.group) in DEPROTONATED_AT_7 else "protonated"
    return choice.why if choice.why.startswith(f"{form} ") else f"{choice.why}: {form}"


@dataclass(frozen=True)
class Asked:
    """What an item of `--sites` asks for: a chain, a kind of group, and the number of a residue in the file with its insertion code; none of what it leaves open."""

    chain: str | None
    called: str | None
    number: tuple[int, str] | None


_NUMBERED = re.compile(rf"(?P<called>[A-Z][A-Z0-9 ]*?)?\s*{NUMBER}")


def _parse(text: str) -> Asked:
    """`GLU`, `GLU 35`, `GLU35`, `E35`, `GLU 100A`, `A:GLU 35`, `35`, `A:35`, `nterm`, `nterm LYS 1`, `cterm`, `all`, `A:all`. Names of forms are those of their residue:
    `GLH 35` is GLU 35."""
    chain, _, rest = text.rpartition(":")
    called, number = rest.strip().upper(), None
    is_name = known_as(called) in AMINO_ACIDS  # GL3 has a number that belongs to its name
    if not is_name and (match := _NUMBERED.fullmatch(called)):
        called, number = match["called"] or "", in_file(match["number"], match["insertion"])
        called = LETTERS.get(called, called)
    if not called and number is None:
        raise Refused(f"--sites {text!r} is not understood", FORM)
    return Asked(chain or None, " ".join(known_as(word) for word in called.split()) or None, number)


def _instead(asked: Asked, text: str, choices: list[Choice]) -> str:
    """What there is in place of a group that is not there: what stands at its number, those of its kind with the nearest numbers, or all groups."""
    kinds = [choice for choice in choices if _fits(replace(asked, number=None), choice.group)]
    if asked.number is None or not kinds:
        form = "" if asked.number is not None or str(asked.called).lower() in TITRATE else f"{FORM}; "
        return f"{_there(asked, choices)}{form}there are: {listed([choice.label for choice in choices], 40)}"
    wanted = asked.number[0]
    nearest = sorted(kinds, key=lambda choice: abs(int(choice.group.residue.id) - wanted))
    return f"{_there(asked, choices)}by the numbers of the file there are near {text}: {', '.join(choice.label for choice in nearest[:4])}"


def _there(asked: Asked, choices: list[Choice]) -> str:
    """The residue of another kind that has the number which was asked for."""
    residues = [residue for chain in choices[0].group.residue.chain.topology.chains() if asked.chain in (None, chain.id) for residue in chain.residues()] if choices else []
    here = [residue for residue in residues if asked.number is not None and residue.name in AMINO_ACIDS and in_file(residue.id, residue.insertionCode) == asked.number]
    titrate = {id(choice.group.residue) for choice in choices if choice.group.group == "side"}
    return "".join(f"{named(residue)} stands there{'' if id(residue) in titrate else ', whose side chain does not titrate'}; " for residue in here[:2])


def _fits(asked: Asked, group: Any) -> bool:
    residue, called = group.residue, asked.called
    if called is None:
        wanted = group.group == "side"
    elif group.group == "side":
        wanted = called in ("ALL", kind(group).upper())
    else:
        wanted = called in ("ALL", group.group.upper(), f"{group.group.upper()} {VARIANTS.get(residue.name, residue.name)}")
    return wanted and asked.chain in (None, residue.chain.id) and asked.number in (None, in_file(residue.id, residue.insertionCode))
