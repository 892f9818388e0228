"""`python -m octitrate prepare …`: what the binary runs for its commands that are written in Python."""

from __future__ import annotations

import sys

from .prepare.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
