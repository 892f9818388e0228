"""The folder of a preparation: written beside its place and renamed at the end, so that it is complete or absent."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from ..errors import Refused

MARKER = "prepare.toml"
"""The file that says that a folder was written by a preparation, and how."""


class Folder:
    """A folder that appears when everything in it is written.

    Used in a `with` block: at its end the folder is renamed to its place; if something is raised nothing of it remains.
    """

    def __init__(self, place: Path, force: bool = False) -> None:
        """Raises `Refused` if something is at the place already; with `force` that is moved aside, and nothing is deleted."""
        self.place = place
        self.force = force
        self.path = place
        self.aside: Path | None = None
        self._look()

    def _look(self) -> None:
        above = next(folder for folder in self.place.absolute().parents if os.path.lexists(folder))
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise Refused(f"{self.place}: cannot be written: {above} is {'not writable' if above.is_dir() else 'no folder'}", "choose another folder (-o FOLDER)")
        if self.force or not self._taken():
            return
        if (self.place / MARKER).exists():
            what = "a model compound was built" if "\nmodel_compound =" in (self.place / MARKER).read_text(errors="replace") else "a protein was prepared"
            raise Refused(f"{self.place}: {what} here already", "choose another folder (-o FOLDER), or --force to move this one aside")
        raise Refused(f"{self.place}: exists and was not written by a preparation", "choose another folder, or move this one aside")

    def _taken(self) -> bool:
        if not os.path.lexists(self.place):
            return False
        return not self.place.is_dir() or any(self.place.iterdir())

    def __enter__(self) -> Folder:
        try:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix=f".{self.place.name}.", suffix=".tmp", dir=self.place.parent))
        except OSError as error:
            raise Refused(f"{self.place}: cannot be written: {error.strerror or error}", "choose another folder (-o FOLDER)") from None
        mask = os.umask(0)
        os.umask(mask)
        self.path.chmod(0o777 & ~mask)
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        if kind is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            return
        try:
            self._look()
            if self._taken():
                self.aside = next(p for i in range(1, 10_000) if not os.path.lexists(p := self.place.with_name(f"{self.place.name}.{i}")))
                self.place.rename(self.aside)
            elif self.place.is_dir():
                self.place.rmdir()
            self.path.rename(self.place)
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def write(self, name: str, text: str) -> None:
        """Writes a file of the folder. Raises `Refused` where there is no room for it."""
        path = self.path / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise Refused(f"{self.place}: {name} cannot be written: {error.strerror or error}", "make room, or choose another folder (-o FOLDER)") from None


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
