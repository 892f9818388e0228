"""Fail unless two GROMACS run inputs hold the same atoms, interactions, parameters and coordinates.

    python3 same_interactions.py original.tpr flat.tpr      (GMX names the binary, default gmx)
"""
import os
import subprocess
import sys

LABELS = ("name=", "buffer size")


def dump(path):
    """Text of `gmx dump -s` without the lines that name the files and the system."""
    command = [os.environ.get("GMX", "gmx").split()[0], "-quiet", "dump", "-s", path]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line for line in text.splitlines() if path not in line and not line.lstrip().startswith(LABELS)]


def main():
    first, second = (dump(path) for path in sys.argv[1:3])
    if first != second:
        different = next((pair for pair in zip(first, second) if pair[0] != pair[1]), ("length", "length"))
        sys.exit(f"{sys.argv[1]} and {sys.argv[2]} differ:\n{different[0]}\n{different[1]}")
    print(f"{sys.argv[2]}: same as {sys.argv[1]} ({len(first)} lines of gmx dump)")


if __name__ == "__main__":
    main()
