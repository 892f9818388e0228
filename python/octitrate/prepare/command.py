"""The command line of `octitrate prepare`."""

from __future__ import annotations

import argparse
import math
import shlex
import subprocess
import sys
from pathlib import Path

from ..errors import Refused
from ..program import binary
from ..screen import Parser, say
from ..words import listed
from .job import length
from .options import Options
from .report import Report, folded

BAD_INPUT = 2
"""The exit status of octitrate for an input that is refused."""

NOT_YET = 1
"""The exit status where a folder is written whose job octitrate refuses."""

_MISSING = 'octitrate prepare needs {}, which is not installed: `make prepare-tools`, or pip install "./python[prepare]", in the sources of octitrate'


def parser() -> argparse.ArgumentParser:
    """All arguments with their help."""
    p = Parser(
        prog="octitrate prepare",
        description="Prepares a protein for a titration: from a PDB or mmCIF file to a folder that `octitrate titrate` runs. "
        "Every decision is shown and written to prepare.md.",
        epilog="examples:\n"
        "  octitrate prepare 2lzt.pdb                        then: octitrate titrate 2lzt-prepared/titrate.toml\n"
        "  octitrate prepare 1a6k.pdb --drop HEM             without the haem\n"
        "  octitrate prepare 1a2p.pdb --chains A --drop ZN   one of three copies\n"
        "  octitrate prepare 4icb.pdb --keep CA --force-field ff14SB\n"
        "                                                    calcium as a charged sphere, which this force field has\n"
        "  octitrate prepare --from x.prmtop x.rst7          a system that is finished",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("structure", nargs="?", type=Path, help="the structure, a PDB or mmCIF file, also compressed (.gz)")
    p.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="folder to write (default: NAME-prepared)")
    p.add_argument("--force", action="store_true", help="move a folder that is there aside; nothing is deleted")
    p.add_argument("-q", "--quiet", action="store_true", help="show nothing but errors")
    ff = p.add_argument_group("force field")
    ff.add_argument("--force-field", metavar="NAME", help="charmm36m-ecc (default), charmm36m, ff19SB, ff14SB or amber99sb-ildn; with --from what the system was made with, whose corrections it gets (default: those that are built in)")
    ff.add_argument("--water", metavar="NAME", help="tip3p, opc, … (default: that of the force field)")
    ff.add_argument("--pair-corrections", metavar="NAME", help="cufix: weaker salt bridges, for ff14SB and amber99sb-ildn in tip3p (default: none)")
    ff.add_argument("--library", metavar="PATH", type=Path, action="append", help="corrections that octitrate calibrate wrote: an entry, or a folder with entries below it; they come before those of your own library (OCTITRATE_LIBRARY, or ~/.local/share/octitrate/library), which is always read")
    box = p.add_argument_group("box")
    box.add_argument("--box", choices=["dodecahedron", "cubic", "octahedron"], help="shape (default: dodecahedron)")
    box.add_argument("--padding", type=float, metavar="NM", help="room between the protein and the faces of the box, nm (default: 1.2)")
    box.add_argument("--salt", type=float, metavar="MOL/L", help="concentration of NaCl (default: 0.15)")
    box.add_argument("--crystal-water", choices=["keep", "drop"], help="water of the crystal (default: keep)")
    ti = p.add_argument_group("titration")
    ti.add_argument("--ph-range", type=_range, metavar="MIN:MAX", help="range of pH (default: what the sites need, within 1:13)")
    ti.add_argument("--sites", metavar="LIST", help="groups that titrate, 'GLU 35,ASP,A:HIS 100A,nterm', by the numbers of the file (default: all whose pKa may lie in the range)")
    ti.add_argument("--temperature", type=float, metavar="K", help="temperature (default: 300)")
    ti.add_argument("--duration", metavar="TIME", help="length of each run (default: '10 ns')")
    ti.add_argument("--until", type=float, metavar="ERROR", help="runs end when every pKa is known to this, such as 0.2, and --duration is the longest they may become (default: all have that length)")
    ti.add_argument("--starts", type=int, metavar="N", help="replicas of each pH, which begin with other structures: jobs start_2.toml, … heat the side chains first (default: 1; 5 say what a larger protein keeps of its start)")
    st = p.add_argument_group("structure")
    st.add_argument("--model", type=int, metavar="N", help="the model to take, where there are several")
    st.add_argument("--chains", metavar="LIST", help="chains to take, 'A' or 'A,B', or 'all'; ' ' is that without a name")
    st.add_argument("--altloc", metavar="X", help="alternate places to prefer (default: of higher occupancy)")
    st.add_argument("--gaps", choices=["refuse", "cap", "build"], help="where residues are missing inside a chain: refuse (default), end it with caps, build short loops")
    st.add_argument("--ends", choices=["auto", "charged", "capped"], help="ends of chains: capped where residues before or after were not seen (default), all charged, all capped")
    st.add_argument("--drop", metavar="LIST", action="append", help="leave out molecules of this name, of one chain, or one of them: HEM, 'A:ZN', 'ZN 203', 'A:ZN 203'; several with commas")
    st.add_argument("--keep", metavar="LIST", action="append", help="keep an ion that the force field knows, named like that: CA, 'A:ZN 203', …")
    st.add_argument("--keep-ligands", action="store_true", help="refused: there is no force field for ligands yet")
    st.add_argument("--flips", choices=("auto", "none"), help="turn side chains of Asn, Gln and His whose hydrogen bonds say that N and O, or N and C, are the other way round (default), or none")
    st.add_argument("--mutate", metavar="MUTATION", action="append", help="A123D, B:A123D, SEP65SER")
    st.add_argument("--seed", type=int, help="of the places of ions, hydrogens and atoms that are built (default: 1): the same seed and input give the same files")
    mo = p.add_argument_group("a model compound, to calibrate")
    mo.add_argument("--model-compound", metavar="LIST", help="TYR, GLU, …, 'nterm LYS', 'cterm LEU', 'cterm side GLU', water: folders that `octitrate calibrate` runs, with --force-field and --water")
    fi = p.add_argument_group("a finished system")
    fi.add_argument("--from", dest="finished", nargs="+", type=Path, metavar="FILE", help="x.prmtop x.rst7; x.top x.gro; x.psf x.crd (or .pdb) with --parameters")
    fi.add_argument("--parameters", nargs="+", type=Path, metavar="FILE", help="files of CHARMM parameters for --from x.psf")
    fi.add_argument("--box-size", type=float, nargs=3, metavar="NM", help="edges of the box for --from x.psf, whose coordinates have none")
    return p


def _range(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        found = (float(low), float(high))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range, such as 2:8") from None
    if found[0] > found[1]:
        raise argparse.ArgumentTypeError(f"{text!r}: the lower pH comes first, {high.strip()}:{low.strip()}")
    if not -2 <= found[0] < found[1] <= 16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range of pH within -2:16")
    return found


def options(args: argparse.Namespace) -> Options:
    """The options that arguments stand for. Raises `Refused` for those that make no sense."""
    if args.keep_ligands:
        raise Refused(
            "--keep-ligands: there is no force field for ligands yet", "leave them out with --drop NAME, or prepare the system elsewhere and give it with --from"
        )
    chosen = Options(input=args.structure)
    for name in ("output", "force", "force_field", "water", "pair_corrections", "box", "padding", "salt", "crystal_water", "ph_range", "temperature", "duration", "until", "starts", "model", "altloc", "gaps", "ends", "flips", "seed"):
        value = getattr(args, name)
        if value is not None:
            setattr(chosen, name, value)
    for name in ("sites", "drop", "keep", "mutate"):
        given = getattr(args, name)
        if given is not None and not _list([given] if isinstance(given, str) else given):
            raise Refused(f"--{name} names nothing", f"leave it out, or say what: octitrate prepare --help has examples of --{name}")
    chosen.library = args.library or []
    chosen.sites = _list([args.sites] if args.sites else [])
    # a name of spaces, or none, means the chain without a name
    chosen.chains = [] if args.chains is None else _list([args.chains]) or [""]
    chosen.drop = _list(args.drop or [])
    chosen.keep = _list(args.keep or [])
    chosen.mutate = _list(args.mutate or [])
    if not 0.5 <= chosen.padding <= 10:
        raise Refused(f"--padding {chosen.padding:g}: nm are meant, 0.5 to 10", "1.2 is usual")
    if not 0 <= chosen.salt <= 5:
        raise Refused(f"--salt {chosen.salt:g}: mol/l are meant, 0 to 5", "0.15 is usual")
    check_temperature(chosen.temperature)
    check_duration(chosen.duration)
    check_until(chosen.until)
    if not 1 <= chosen.starts <= 32:
        raise Refused(f"--starts {chosen.starts}: a whole number from 1 to 32 is meant", "each is a run more at each pH; 5 say what a larger protein keeps of its start")
    if not 1 <= chosen.seed < 2**31:
        raise Refused(f"--seed {chosen.seed}: a whole number from 1 to 2147483647 is meant", "the default is 1")
    return chosen


def check_temperature(temperature: float | None) -> None:
    """Raises `Refused` for a temperature (K) at which no protein in water is titrated."""
    if temperature is not None and not 250 <= temperature <= 400:
        raise Refused(f"--temperature {temperature:g}: K are meant, 250 to 400", "300 is usual")


def check_duration(duration: str | None) -> None:
    """Raises `Refused` for a text that is no time."""
    if duration is not None and not 0 < (length(duration) or 0) < math.inf:
        raise Refused(f"--duration {duration!r}: a time with its unit is meant", "'500 ps', '1 ns', '2 us'")


EVERYWHERE = {"output", "force", "quiet"}
OF_MODEL_COMPOUNDS = EVERYWHERE | {"model_compound", "force_field", "water", "pair_corrections", "temperature"}
OF_FINISHED = EVERYWHERE | {"finished", "parameters", "box_size", "ph_range", "temperature", "duration", "until", "structure", "pair_corrections", "force_field", "water", "library"}
"""Options that do something with --model-compound and with --from, or are refused there with words of their own."""


def check_options(args: argparse.Namespace, mode: str, known: set[str], help: str) -> None:
    """Raises `Refused` for options that were given and do nothing in a mode."""
    given = [action for action in parser()._actions if action.dest not in known | {"help"} and getattr(args, action.dest, action.default) != action.default]
    if given:
        names = listed([action.option_strings[-1] if action.option_strings else action.dest for action in given], 6)
        raise Refused(f"{names}: of no effect with {mode}", help)


def check_until(until: float | None) -> None:
    """Raises `Refused` for an error that `titrate.until` does not take."""
    if until is not None and not 0.01 <= until <= 1:
        raise Refused(f"--until {until:g}: an error of the pKa is meant, 0.01 to 1", "0.2 is usual")


def _list(texts: list[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def model_compounds(args: argparse.Namespace) -> int:
    """Builds model compounds; the exit status."""
    from ..model_compound import build, commands, compound

    # the charge buffer first: the others need it
    names = sorted(_list([args.model_compound]), key=lambda name: compound(name).entry != "water")
    if args.output is not None and len(names) > 1:
        raise Refused(f"-o {args.output}: one folder for {len(names)} model compounds", "leave -o out: each gets a folder of its own")
    shown: set[str] = set()
    for name in names:
        place = build(
            name, args.force_field or Options.force_field, args.water, args.output, args.temperature or Options.temperature, args.pair_corrections, args.force
        )
        if not args.quiet:
            steps = [line for line in commands(place) if line not in shown]
            shown |= set(steps)
            say("\n  ".join([f"{place} is ready:", *steps]))
    return 0


def finished(place: Path, hint: str, *, quiet: bool) -> int:
    """Says whether octitrate takes the job of a finished system, whose parameters may be others than those that corrections were made with; the exit status.
    `hint`: how corrections for a force field come beside the job; none where that has been said."""
    job = shlex.quote(f"{place}/titrate.toml")
    try:
        answer = subprocess.run([binary(), "check", f"{place}/titrate.toml", "--device", "cpu"], capture_output=True, text=True, encoding="utf-8", check=False)
    except (Refused, OSError):
        if not quiet:
            written = f"{place} is written, prepare.md in it says what was decided; there is no program octitrate here, which says whether the job can be run:"
            say(f"\n{written}\n  octitrate check {job}")
        return 0
    except KeyboardInterrupt:
        say(f"error: stopped; {place} is written, octitrate check {job} says whether the job can be run")
        return 130
    if answer.returncode != 0:
        written = f"error: {place} is written, prepare.md in it says what was decided, but the job cannot be run yet; octitrate check {job} says:"
        said = answer.stderr.rstrip() or f"  nothing, and ended with status {answer.returncode}"
        say(f"\n{folded(written, sys.stderr, 7)}\n{said}")
        if hint and any(words in said for words in ("V_MM", "the library has", "wrong force field")):
            say(folded(f"  {hint}", sys.stderr, 2))
        return NOT_YET
    ready(place, quiet=quiet)
    return 0


def obstructed(place: Path, obstacles: list[tuple[str, str]]) -> int:
    """Says what octitrate refuses the job of a folder for, and the commands that help; the exit status."""
    lines = [f"error: {place} is written, prepare.md in it says what was decided, but the job cannot be run yet:", *(f"  {text}" for text, _ in obstacles)]
    say("\n" + "\n".join(folded(line, sys.stderr, 7 if line.startswith("error") else 2) for line in lines))
    # the charge buffer first: the others need it
    for command in sorted(dict.fromkeys(command for _, command in obstacles), key=lambda command: "--residue water" not in command):
        say(f"  {command}")
    return NOT_YET


def ready(place: Path, *, quiet: bool) -> None:
    """Says how a folder goes on."""
    if not quiet:
        say(f"\n{place} is ready, prepare.md in it says what was decided:\n  octitrate titrate {shlex.quote(f'{place}/titrate.toml')}")


def _negative(arguments: list[str]) -> list[str]:
    """The arguments with a range that begins below zero, `--ph-range -1:8`, as one: a word with a minus is an option for argparse."""
    found: list[str] = []
    for word in arguments:
        if found[-1:] == ["--ph-range"] and word[:1] == "-" and word[1:2].isdigit():
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


def main(arguments: list[str]) -> int:
    """Runs the command; the exit status."""
    if arguments[:1] == ["prepare"]:
        arguments = arguments[1:]
    args = parser().parse_args(_negative(arguments))
    report, hint = Report(screen=None) if args.quiet else Report(), ""
    try:
        if args.model_compound:
            check_options(args, "--model-compound", OF_MODEL_COMPOUNDS, "leave it out; --force-field, --water, --pair-corrections and --temperature say what a model compound is like")
            check_temperature(args.temperature)
            return model_compounds(args)
        if args.finished:
            if (args.starts or 1) > 1:
                raise Refused("--starts: only for a protein that is prepared", "name other structures of this system in titrate.structures")
            check_options(args, "--from", OF_FINISHED, "a finished system stays as it is; which sites titrate is said in titrate.toml, which this command writes")
            check_temperature(args.temperature)
            check_duration(args.duration)
            check_until(args.until)
            from .finished import take

            place, hint = take(args, report)
        elif args.structure is None:
            raise Refused("there is no structure to prepare", "octitrate prepare protein.pdb; octitrate prepare --help says the rest")
        else:
            from .pipeline import prepare

            place = prepare(options(args), report)
    except Refused as refused:
        for line in f"error: {refused}".splitlines():
            say(folded(line, sys.stderr, 8))
        return BAD_INPUT
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in ("openmm", "pdbfixer", "propka", "numpy"):
            say("error: " + _MISSING.format(error.name))
            return BAD_INPUT
        raise
    except KeyboardInterrupt:
        say("error: stopped; nothing is written")
        return 130
    if args.finished:
        return finished(place, hint, quiet=args.quiet)
    if report.obstacles:
        return obstructed(place, report.obstacles)
    ready(place, quiet=args.quiet)
    return 0
