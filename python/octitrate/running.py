"""Runs a job from Python, for instance from a notebook, and shows how far it is.

    from octitrate.running import run
    titration = run("titrate.toml")        # octitrate titrate, with a line of progress
    titration.plot()

The program is the binary `octitrate`: that of the wheel, or the one that the environment variable OCTITRATE_BINARY names. A run that is
interrupted (Ctrl-C, or the stop button of a notebook) writes its checkpoint; the same call continues it.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, overload

from .errors import Refused
from .program import binary
from .results import Calibration, Run, Titration

STOPPED = (4, 128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit statuses of a run that stopped with its checkpoint written."""

_OUTPUT = re.compile(r"--output(=|$)|-o")
"""The option that names the folder, in each of its forms: `--output F`, `--output=F`, `-o F`, `-oF`."""

_SHARE = re.compile(r"^\s*([\d.]+) %")


class Stopped(Exception):  # noqa: N818, it is no error
    """A run stopped before its end, with its checkpoint written: the same call continues it."""


class Failed(Exception):  # noqa: N818, the name says it
    """A run failed. `status` is the exit status of the program (2: the input, 3: the physics), `message` what it said."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"octitrate ended with status {status}:\n{message}")
        self.status = status
        self.message = message


def _show(share: float, line: str) -> None:
    """One line that is written over: `line` with a bar."""
    filled = round(30 * share)
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {line.strip():<90}")
    sys.stderr.flush()


def _folder(job: Path, output: str | Path | None) -> Path:
    if output is not None:
        return Path(output)
    named = tomllib.loads(job.read_text(encoding="utf-8")).get("output", {}).get("folder")
    return job.parent / named if named else job.with_suffix("")


Progress = bool | Callable[[float, str], None]


@overload
def run(
    job: str | Path, command: Literal["titrate"] = "titrate", *, output: str | Path | None = None, progress: Progress = True, options: Sequence[str] = ()
) -> Titration: ...
@overload
def run(
    job: str | Path, command: Literal["calibrate"], *, output: str | Path | None = None, progress: Progress = True, options: Sequence[str] = ()
) -> Calibration: ...
@overload
def run(job: str | Path, command: Literal["run"], *, output: str | Path | None = None, progress: Progress = True, options: Sequence[str] = ()) -> Run: ...


def run(
    job: str | Path,
    command: str = "titrate",
    *,
    output: str | Path | None = None,
    progress: Progress = True,
    options: Sequence[str] = (),
) -> Titration | Calibration | Run:
    """Runs a job to its end and returns its results.

    `command`: "titrate", "calibrate" or "run". `output`: folder of the results in place of the job's. `progress`: a line on standard
    error, nothing, or a function that is called with the share that is done (0 to 1; of a calibration that of its present stage) and the line of the
    program. `options`: more arguments of the command, such as ``["--device", "cuda:0"]``, but for `--output`, which `output` stands for.

    Raises `Failed` if the program fails, `Stopped` if it stops before its end (for its `--max-hours`, or by a signal of others),
    `Refused` for a job that is not there, a command that is not known, or `--output` among the options.
    """
    file = Path(job)
    kinds: dict[str, type[Titration | Calibration | Run]] = {"titrate": Titration, "calibrate": Calibration, "run": Run}
    if command not in kinds:
        raise Refused(f"there is no command {command!r} with results", f"commands are {', '.join(kinds)}")
    if not file.is_file():
        raise Refused(f"{file}: there is no such job", "name a job file, such as titrate.toml")
    if named := [word for word in options if _OUTPUT.match(word)]:
        raise Refused(f"{named[0]!r} among the options: the folder of the results has an argument of its own", 'write run(job, output="FOLDER")')
    words = [binary(), command, str(file), *options]
    if output is not None:
        words += ["--output", str(output)]
    tell = _show if progress is True else progress or None
    # In a session of its own, so that Ctrl-C comes to it once: a first signal writes the checkpoint, a second one ends the program without.
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True)
    said: list[str] = []
    try:
        assert process.stderr is not None
        for line in process.stderr:
            found = _SHARE.match(line)
            if found is None:
                said.append(line)
            elif tell is not None:
                tell(min(1.0, float(found.group(1)) / 100.0), line.rstrip("\n"))
        status = process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if status in STOPPED or status < 0:
        raise Stopped(f"{file}: stopped with its checkpoint written; the same call continues it")
    if status != 0:
        raise Failed(status, "".join(said).strip())
    if tell is not None:
        tell(1.0, "done")
    if progress is True:
        sys.stderr.write("\n")
    return kinds[command](_folder(file, output))
