"""Reads a structure from a file of either format, which its contents decide and not its name."""

from __future__ import annotations

import gzip
from pathlib import Path

from ..errors import Refused
from .entry import Entry
from .read_cif import read_cif
from .read_pdb import read_pdb


def read(path: Path) -> Entry:
    """Reads a PDB or mmCIF file, also one compressed by gzip.

    Raises `Refused` for a file that is not there, is no text, holds no atoms, or has a line that cannot be read.
    """
    help = "give a file of the PDB or mmCIF format: octitrate prepare protein.pdb"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Refused(f"{path}: cannot be read: {error.strerror or error}", help) from None
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise Refused(f"{path}: cannot be decompressed: {error}", "get the file again from where it came") from None
    if b"\0" in data:
        raise Refused(f"{path}: is no text", help)
    text = data.decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if any(line.startswith(("data_", "_atom_site.")) for line in lines):
        entry = read_cif(text, str(path))
    else:
        entry = read_pdb(text, str(path))
    if not any(entry.models.values()):
        start = lines[0][:60] if lines else "nothing"
        raise Refused(f"{path}: holds no atoms (neither ATOM and HETATM records nor a table atom_site); it begins with {start!r}", help)
    return entry
