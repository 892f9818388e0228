"""Where the program is: the binary `octitrate` of the wheel or of the path, or the one that the environment variable OCTITRATE_BINARY names."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

from .errors import Refused


def binary() -> str:
    """The program. Raises `Refused` if there is none."""
    named = os.environ.get("OCTITRATE_BINARY")
    places = [named] if named else [str(Path(sysconfig.get_path("scripts")) / "octitrate"), shutil.which("octitrate")]
    for place in places:
        if place and os.access(place, os.X_OK) and Path(place).is_file():
            return place
    raise Refused("there is no program octitrate", "install the wheel, or name the binary in the environment variable OCTITRATE_BINARY")
