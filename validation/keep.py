#!/usr/bin/env python3
"""Keeps of a titration what its pKa values need, in a file small enough to be kept beside the tables; further runs are evaluated together with it.

    python3 validation/keep.py FOLDER/titrate validation/results/1pgb-ff14SB-cufix/runs_1.tar.xz [--every 10]

The archive holds, in a folder of the name of the archive, the frames of λ at whole multiples of --every (ps), weights to three decimals that still add
up to 1 and ∂V/∂λ to whole kJ/mol (it scatters by tens), which walker each run had, and what says how the runs were made. Unpacked it is a titration like
any other:

    tar xf validation/results/1pgb-ff14SB-cufix/runs_1.tar.xz
    octitrate pka runs_1 FOLDER/titrate --compare validation/measured.csv --entry 1PGB
"""

import argparse
import csv
import io
import pathlib
import tarfile
import tomllib

COPIED = ("resolved.toml", "sites.toml", "begun.toml", "folder.toml")


def thinned(text, every):
    """Lines of a lambda.csv at multiples of `every` ps, with fewer digits."""
    rows = list(csv.reader(io.StringIO(text)))
    head, lines = rows[0], [",".join(rows[0])]
    # columns of the weights of one site: "lambda GLU 15:protonated"
    sites = {}
    for column, name in enumerate(head):
        if name.startswith("lambda "):
            sites.setdefault(name.rsplit(":", 1)[0], []).append(column)
    for row in rows[1:]:
        if len(row) < len(head) or abs(float(row[0]) / every - round(float(row[0]) / every)) > 1e-6:
            continue
        cells = [f"{float(cell):.0f}" if name.startswith("dV") else cell for name, cell in zip(head, row)]
        for columns in sites.values():
            weights = [round(float(row[column]), 3) for column in columns]
            if len(weights) > 1 and abs(sum(float(row[column]) for column in columns) - 1) < 1e-3:
                weights[-1] = round(1 - sum(weights[:-1]), 3)
            for column, weight in zip(columns, weights):
                cells[column] = f"{weight:.3f}"
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def swaps(text, every):
    """Lines of an exchange.csv at multiples of `every` ps."""
    first, *lines = text.splitlines()
    return "\n".join([first, *(line for line in lines if float(line.split(",")[0]) % every == 0)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("titration", type=pathlib.Path)
    parser.add_argument("archive", type=pathlib.Path, help="NAME.tar.xz")
    parser.add_argument("--every", type=float, default=10.0, help="time between two frames, ps (default: 10)")
    arguments = parser.parse_args()
    name = arguments.archive.name.removesuffix(".tar.xz")
    if name == arguments.archive.name:
        parser.error(f"{arguments.archive}: the name ends with .tar.xz")
    runs = sorted(arguments.titration.glob("pH_*/replica_*/lambda.csv"))
    if not runs:
        parser.error(f"{arguments.titration}: there are no runs pH_*/replica_*")
    kept = {}
    for folder in [arguments.titration, *(run.parent for run in runs)]:
        place = folder.relative_to(arguments.titration)
        kept |= {place / file: (folder / file).read_text() for file in COPIED if (folder / file).exists()}
    # Paths are those of the folder of the job, wherever that was.
    base = str(pathlib.PurePath(tomllib.loads((arguments.titration / "resolved.toml").read_text())["output"]["folder"]).parent)
    kept = {file: text.replace(base + "/", "") for file, text in kept.items()}
    kept |= {run.relative_to(arguments.titration): thinned(run.read_text(), arguments.every) for run in runs}
    if (exchange := arguments.titration / "exchange.csv").exists():
        kept[pathlib.Path("exchange.csv")] = swaps(exchange.read_text(), arguments.every)
    with tarfile.open(arguments.archive, "x:xz", preset=9) as archive:
        for file, text in sorted(kept.items()):
            entry = tarfile.TarInfo(str(pathlib.PurePosixPath(name, file)))
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))


if __name__ == "__main__":
    main()
