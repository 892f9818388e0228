#!/usr/bin/env python3
"""Calibrates the library: the buffer first, then each model compound beside that buffer; as long as said here, on whatever `octitrate` finds.

    python3 calibrate.py OCTITRATE FOLDER NAME... [--window "100 ps"] [--starts 2] [--structures DIR] [--round "150 ps"] [--runs 32] [--jobs 32]
        [--interpolation hamiltonian] [--dynamics 'time_step = "4 fs"'] [--titration 'ease_rotamers = "8 kJ/mol"']

NAME: water (the buffer), or the name of a folder NN-NAME of inputs. With --structures the runs of each window begin at DIR/NAME/*.gro, in
turn: frames with other rotamers of the side chain. --windows "-0.1 0 0.5 1 1.1" takes others than octitrate does by itself. Entries are written to FOLDER/NAME/NAME.toml; they replace those of
lambda/library. A finished calibration is not repeated, an interrupted one continues.
"""

import argparse
import pathlib
import subprocess
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "scripts"))
from model_compounds import INPUTS, job_text  # noqa: E402


def water():
    """The job of the buffer: three molecules alone in water."""
    job = tomllib.loads((INPUTS / "03-water" / "run.toml").read_text())
    job.pop("barostat", None)
    job["titration"] = {"buffer": {"molecules": 3}}
    job["calibrate"] = {"site": "buffer", "water_model": "TIP3P"}
    return INPUTS / "03-water", job


def compound(name):
    source = next(INPUTS.glob(f"[0-9][0-9]-{name}"))
    return source, tomllib.loads((source / "calibrate.toml").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("octitrate")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--window", default="100 ps")
    parser.add_argument("--equilibration", default="10 ps")
    parser.add_argument("--starts", type=int, default=2)
    parser.add_argument("--structures", type=pathlib.Path)
    parser.add_argument("--windows", type=lambda text: [float(word) for word in text.split()])
    parser.add_argument("--interior", type=int)
    parser.add_argument("--round", default="150 ps")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--jobs", type=int, default=32)
    parser.add_argument("--interpolation", default="hamiltonian")
    parser.add_argument("--dynamics", action="append", default=[], help="KEY=VALUE of [dynamics], VALUE as in TOML")
    parser.add_argument("--titration", action="append", default=[], help="KEY=VALUE of [titration], VALUE as in TOML")
    parser.add_argument("--lambda-every", default="0.2 ps", help="time between two frames of λ")
    parser.add_argument("--trajectory", default="0 ps", help="time between two frames of the solute")
    arguments, more = parser.parse_known_args()
    base, failed = pathlib.Path(arguments.folder).resolve(), []
    for name in arguments.names:
        source, job = water() if name == "water" else compound(name)
        for key in ("structure", "topology"):
            job["system"][key] = str(source / job["system"][key])
        job["dynamics"].pop("steps", None)
        job["dynamics"]["duration"] = arguments.window
        for option in arguments.dynamics:
            job["dynamics"] |= tomllib.loads(option)
        job["titration"]["interpolation"] = arguments.interpolation
        if name != "water":
            for option in arguments.titration:
                job["titration"] |= tomllib.loads(option)
        job["titration"].setdefault("buffer", {})
        buffer = base / "water" / "water.toml"
        if name != "water" and buffer.exists():
            job["titration"]["library"] = [str(buffer)]
        job["calibrate"] |= {"equilibration": arguments.equilibration, "round": arguments.round,
                             "max_rounds": arguments.rounds, "runs": arguments.runs, "jobs": arguments.jobs}
        structures = sorted((arguments.structures / name).glob("*.gro")) if arguments.structures else []
        job["calibrate"]["starts"] = max(arguments.starts, len(structures))
        if structures:
            job["calibrate"]["structures"] = [str(path.resolve()) for path in structures]
        if arguments.interior is not None:
            job["calibrate"]["interior"] = arguments.interior
        if arguments.windows:
            job["calibrate"]["windows"] = arguments.windows
        folder = base / name
        base.mkdir(parents=True, exist_ok=True)
        job["output"] = {"folder": str(folder), "lambda": arguments.lambda_every, "trajectory": arguments.trajectory,
                         "trajectory_atoms": "solute", "energy": "10 ps"}
        path = base / f"{name}.toml"
        path.write_text(job_text(job))
        done = subprocess.run([arguments.octitrate, "calibrate", str(path), *more],
                              capture_output=True, text=True)
        print(f"== {name}: {'done' if done.returncode == 0 else 'FAILED'}")
        print(done.stdout + done.stderr, flush=True)
        if done.returncode != 0:
            failed.append(name)
    sys.exit(f"not finished: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
