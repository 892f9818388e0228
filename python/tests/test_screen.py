"""Messages whose reader goes away before the work is done, as `head` does."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import peptide_text

from octitrate.prepare.report import Report
from octitrate.screen import say

MAIN = "import sys; from octitrate.prepare.command import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture
def cut() -> io.TextIOWrapper:
    """A pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return open(writer, "w")  # noqa: SIM115, it is closed with the test


def test_what_nobody_reads_is_passed_over(cut: io.TextIOWrapper) -> None:
    for _ in range(3):
        say("a line", cut)
    report = Report(screen=cut)
    report.warn("look at this")
    assert report.warnings() == ["look at this"]
    cut.write("what others write")
    cut.close()


def test_a_protein_is_prepared_though_its_messages_are_cut(tmp_path: Path) -> None:
    """`octitrate prepare x.pdb 2>&1 | head -1` ended with the first line that nobody read, without a folder and with the status of a job that cannot be run yet."""
    (tmp_path / "x.pdb").write_text(peptide_text("ALA", "GLU", "GLY"))
    words = ["x.pdb", "-o", "out", "--force-field", "amber99sb-ildn", "--padding", "0.5", "--salt", "0"]
    with subprocess.Popen([sys.executable, "-c", MAIN, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline().startswith("input ")
        child.stdout.close()
        assert child.wait(timeout=300) == 0
    assert (tmp_path / "out/titrate.toml").is_file()
