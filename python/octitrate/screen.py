"""What is shown to whoever started a command. It may be cut (`octitrate prepare x.pdb 2>&1 | head`, or a pager that was left): the work goes on without a reader."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn, TextIO


def say(text: str, screen: TextIO | None = None) -> None:
    """Shows a text and ends its line, on the standard error by default. Once nobody reads any more, everything is written to nowhere."""
    screen = sys.stderr if screen is None else screen
    try:
        print(text, file=screen, flush=True)
    except BrokenPipeError:
        _hush(screen)


def _hush(screen: TextIO) -> None:
    """Lets a stream end nowhere, also for what is in its buffer and for other libraries."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, screen.fileno())
    os.close(nowhere)


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong with the arguments in a line, as other errors are said, without all that is possible."""

    def error(self, message: str) -> NoReturn:
        say(f"error: {message}\n  help: {self.prog} --help says every argument")
        sys.exit(2)
