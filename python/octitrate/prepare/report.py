"""The record of a preparation: every decision, as a person reads it, on the terminal while it is made and in `prepare.md` afterwards."""

from __future__ import annotations

import shutil
import sys
import textwrap
from dataclasses import dataclass, field
from typing import TextIO

from ..screen import say


@dataclass
class Section:
    """One step of the preparation and what was decided in it."""

    heading: str
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)
    """Rows of a table, the first of them its heading."""


@dataclass
class Report:
    """Sections in the order of the work; `screen` shows them as they are written, `None` shows nothing."""

    screen: TextIO | None = field(default_factory=lambda: sys.stderr)
    sections: list[Section] = field(default_factory=list)
    obstacles: list[tuple[str, str]] = field(default_factory=list)
    """Those of the warnings for which octitrate refuses the job, each with the command that helps."""

    def step(self, heading: str) -> None:
        """Begins a step."""
        self.sections.append(Section(heading))

    def note(self, text: str, *, screen: bool = True) -> None:
        """A decision or a finding; a long list may be kept off the screen."""
        section = self._now()
        section.notes.append(text)
        if screen:
            self._show(f"{section.heading.lower():<18} {text}", 19)

    def warn(self, text: str) -> None:
        """What the reader should look at before using the result."""
        self._now().warnings.append(text)
        self._show(f"warning: {text}", 9)

    def obstruct(self, text: str, command: str) -> None:
        """A warning of what octitrate refuses the job for, until `command` has been run; the end of the preparation says it again."""
        self.obstacles.append((text, command))
        self.warn(text)

    def table(self, rows: list[list[str]]) -> None:
        """A table, the first row its heading; it stands in the file alone."""
        self._now().table = rows

    def warnings(self) -> list[str]:
        """All warnings."""
        return [text for section in self.sections for text in section.warnings]

    def _now(self) -> Section:
        if not self.sections:
            self.step("Input")
        return self.sections[-1]

    def _show(self, line: str, indent: int) -> None:
        if self.screen is not None:
            say(folded(line, self.screen, indent), self.screen)

    def markdown(self, title: str, opening: str) -> str:
        """The whole record."""
        lines = [f"# {title}", "", opening, ""]
        if warnings := self.warnings():
            lines += ["## Look at this first", ""] + [f"- {text}" for text in warnings] + [""]
        for section in self.sections:
            if not (section.notes or section.table):
                continue
            lines += [f"## {section.heading}", ""]
            lines += [f"- {text}" for text in section.notes]
            if section.notes:
                lines.append("")
            if section.table:
                head, *rows = section.table
                lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
                lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
        return "\n".join(lines).rstrip() + "\n"


def folded(text: str, screen: TextIO, indent: int) -> str:
    """A line as a terminal shows it, in lines of its width with all but the first indented; unchanged in a file or a pipe."""
    if not screen.isatty():
        return text
    width = max(shutil.get_terminal_size().columns, indent + 40)
    return textwrap.fill(text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
