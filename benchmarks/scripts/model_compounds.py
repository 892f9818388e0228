#!/usr/bin/env python3
"""Titrations of model compounds with every coordinate and interpolation: input pKa, Hill coefficient, transitions per ns.

    python3 benchmarks/scripts/model_compounds.py OCTITRATE folder [--compounds glu,his] [--coordinates linear,hypersphere,nexp]
            [--interpolations hamiltonian,charge] [--duration "1 ns"] [--replicas 1] [--at-pka N]

Writes one job for each combination from inputs/NN-NAME/titrate.toml, runs `octitrate titrate`, and prints a table from its pka.csv and
titration.csv. --at-pka N: N runs at pH = pKa only, for the rate of transitions.
"""

import argparse
import csv
import pathlib
import subprocess
import sys
import tomllib

INPUTS = pathlib.Path(__file__).resolve().parents[2] / "inputs"


def value(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, str):
        return '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(v, list):
        return "[" + ", ".join(map(value, v)) + "]"
    if isinstance(v, dict):
        return "{ " + ", ".join(f"{k} = {value(x)}" for k, x in v.items()) + " }"
    return repr(v)


def job_text(job):
    """TOML of a job: sections of plain keys, lists of tables one level down."""
    out = []
    for section, keys in job.items():
        tables = {k: v for k, v in keys.items() if isinstance(v, list) and v and isinstance(v[0], dict)}
        subsections = {k: v for k, v in keys.items() if isinstance(v, dict)}
        out.append(f"[{section}]")
        out += [f"{k} = {value(v)}" for k, v in keys.items() if k not in tables and k not in subsections]
        for name, keys in subsections.items():
            out += ["", f"[{section}.{name}]"] + [f"{k} = {value(v)}" for k, v in keys.items()]
        for name, rows in tables.items():
            for row in rows:
                out += ["", f"[[{section}.{name}]]"] + [f"{k} = {value(v)}" for k, v in row.items()]
        out.append("")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("octitrate")
    parser.add_argument("folder")
    parser.add_argument("--compounds", default="glu")
    parser.add_argument("--coordinates", default="linear,hypersphere,nexp")
    parser.add_argument("--interpolations", default="hamiltonian")
    parser.add_argument("--duration", default="1 ns")
    parser.add_argument("--equilibration", default="20 ps")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--spread", type=float, default=1.0, help="distance of the pH values around the pKa")
    parser.add_argument("--at-pka", type=int, default=0)
    parser.add_argument("--option", action="append", default=[], help="KEY=VALUE of [titration], VALUE as in TOML")
    parser.add_argument("--dynamics", action="append", default=[], help="KEY=VALUE of [dynamics], VALUE as in TOML")
    parser.add_argument("--lambda-every", default="0.2 ps", help="time between two frames of λ")
    arguments, more = parser.parse_known_args()
    base = pathlib.Path(arguments.folder).resolve()
    failed = []
    for compound in arguments.compounds.split(","):
        source = next(INPUTS.glob(f"[0-9][0-9]-{compound}"))
        for coordinate in arguments.coordinates.split(","):
            for interpolation in arguments.interpolations.split(","):
                job = tomllib.loads((source / "titrate.toml").read_text())
                for key in ("structure", "topology"):
                    job["system"][key] = str(source / job["system"][key])
                job["dynamics"]["duration"] = arguments.duration
                job["titration"] |= {"coordinate": coordinate, "interpolation": interpolation}
                for option in arguments.dynamics:
                    job["dynamics"] |= tomllib.loads(option)
                for option in arguments.option:
                    job["titration"] |= tomllib.loads(option)
                middle = sorted(job["titrate"]["ph"])[len(job["titrate"]["ph"]) // 2]
                job["titrate"] |= {"replicas": arguments.replicas, "equilibration": arguments.equilibration}
                job["titrate"]["ph"] = [round(middle + arguments.spread * k, 3) for k in (-2, -1, 0, 1, 2)]
                if arguments.at_pka:
                    job["titrate"] |= {"ph": [middle], "replicas": arguments.at_pka}
                job.setdefault("output", {}).update({"lambda": arguments.lambda_every, "trajectory": "0 ps", "energy": "10 ps"})
                name = f"{compound}-{coordinate}-{interpolation}"
                folder = base / name
                folder.mkdir(parents=True, exist_ok=True)
                job["output"]["folder"] = str(folder / "results")
                (folder / "job.toml").write_text(job_text(job))
                done = subprocess.run([arguments.octitrate, "titrate", str(folder / "job.toml"), *more],
                                      capture_output=True, text=True)
                if done.returncode != 0:
                    print(f"{name}: {done.stdout[-800:]}{done.stderr[-1500:]}", file=sys.stderr)
                    failed.append(name)
                    continue
                report(name, folder / "results")
    sys.exit(f"not finished: {', '.join(failed)}" if failed else 0)


def report(name, folder):
    """One line for each site: pKa and Hill coefficient; transitions and mixed frames of all runs together."""
    with open(folder / "titration.csv") as file:
        counts = list(csv.DictReader(file))
    with open(folder / "pka.csv") as file:
        fits = list(csv.DictReader(file))
    for fit in fits:
        mine = [row for row in counts if row["site"] == fit["site"]]
        frames = sum(float(row["frames"]) for row in mine)
        transitions = sum(float(row["transitions"]) for row in mine)
        mixed = sum(float(row["mixed"]) * float(row["frames"]) for row in mine) / max(frames, 1.0)
        numbers = " ".join(f"{key} {value}" for key, value in fit.items() if key != "site" and value)
        print(f"{name:<28} {fit['site']:<10} {numbers} | transitions {transitions:.0f} in {frames / 5e3:.2f} ns, "
              f"mixed {mixed:.3f}", flush=True)


if __name__ == "__main__":
    main()
