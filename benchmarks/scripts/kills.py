"""Kills octitrate at random moments and compares what is left in the end with a run in one piece, byte by byte.

    python3 benchmarks/scripts/kills.py [--kills 30] [--octitrate target/release/octitrate] [--device cpu]

Three jobs: four molecules of water (`run`), capped glutamic acid at two pH values (`titrate`), and the same with replica exchange. Each is started again
after every SIGKILL, until there were as many kills as asked for, and then runs to its end. Results are tables, trajectories, final structures and
checkpoints; logs tell of pieces and are not compared. The exit status is 1 if any file differs.
"""

import argparse
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ("energy.csv", "lambda.csv", "exchange.csv", "trajectory.xtc", "final.gro", "checkpoint")


def write_jobs(folder):
    """Writes the jobs into the folder; by name the command and the job."""
    for source in (ROOT / "tests/bad/files/water.gro", ROOT / "tests/bad/files/water.top", ROOT / "inputs/01-glu/glu.gro", ROOT / "inputs/01-glu/glu.top"):
        shutil.copy(source, folder)
    often = 'checkpoint = "0.2 s"'
    (folder / "run.toml").write_text(
        '[system]\nstructure = "water.gro"\ntopology = "water.top"\n[electrostatics]\norder = 4\n[neighbour_list]\nbuffer = "0.1 nm"\n'
        '[dynamics]\nsteps = 60000\n[thermostat]\ntemperature = "300 K"\n'
        f'[output]\nenergy = "0.1 ps"\ntrajectory = "0.2 ps"\n{often}\n'
    )
    titration = (
        '[system]\nstructure = "glu.gro"\ntopology = "glu.top"\n[electrostatics]\norder = 4\n[dynamics]\nsteps = {steps}\n'
        '[thermostat]\ntemperature = "300 K"\n[titration]\nallow_uncalibrated = true\n[titrate]\nph = [4.0, 4.4]\n{exchange}\n'
        f'[output]\nenergy = "4 fs"\nlambda = "4 fs"\ntrajectory = "20 fs"\n{often}\n'
    )
    (folder / "titrate.toml").write_text(titration.format(steps=800, exchange=""))
    (folder / "exchange.toml").write_text(titration.format(steps=800, exchange='exchange = "8 fs"'))
    return {"run": "run", "titrate": "titrate", "exchange": "titrate"}


def results(folder):
    """The bytes of every result below the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.name in RESULTS}


def attempt(command, seconds):
    """Starts the command in a group of its own and kills all of it after so many seconds; whether it had ended before."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return False
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}\n{said.decode()}")
    return True


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--kills", type=int, default=30)
    arguments.add_argument("--octitrate", default=str(ROOT / "target/release/octitrate"))
    arguments.add_argument("--device", default="cpu")
    arguments = arguments.parse_args()
    chance, lost = random.Random(1), 0
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        for name, kind in write_jobs(place).items():
            command = lambda out: [arguments.octitrate, kind, str(place / f"{name}.toml"), "--device", arguments.device, "--output", str(place / out)]
            began = time.monotonic()
            attempt(command(f"{name}-whole"), 3600)
            whole, kills, ends = time.monotonic() - began, 0, 0
            out = f"{name}-pieces"
            while kills < arguments.kills:
                if attempt(command(out), chance.uniform(0.02, 0.35) * whole):
                    # It came to its end before there were enough kills: once more from the start.
                    lost += compare(place / f"{name}-whole", place / out, name)
                    shutil.rmtree(place / out)
                    ends += 1
                else:
                    kills += 1
            attempt(command(out), 3600)
            lost += compare(place / f"{name}-whole", place / out, name)
            print(f"{name}: {kills} kills, {ends + 1} ends of {whole:.1f} s each, compared byte by byte", flush=True)
    print(f"{lost} files differ")
    sys.exit(lost > 0)


def compare(whole, pieces, name):
    """The number of files that differ."""
    expected, found = results(whole), results(pieces)
    wrong = [file for file in expected.keys() | found.keys() if expected.get(file) != found.get(file)]
    for file in wrong:
        print(f"{name}: {file} differs")
    return len(wrong)


if __name__ == "__main__":
    main()
