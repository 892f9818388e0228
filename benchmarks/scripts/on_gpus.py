#!/usr/bin/env python3
"""Runs command lines on all GPUs of a machine, one at a time on each; as long lists of calibrations and titrations need.

    python3 benchmarks/scripts/on_gpus.py COMMANDS.txt LOGS [--until SECONDS]

COMMANDS.txt: one command for each line, in the order in which they begin; {device} becomes cuda:0, cuda:1, ... A line that starts with # is left
out, and so is one that has succeeded before (LOGS/N.done). The output of line N goes to LOGS/N.log. With --until no command begins after so many seconds, and those that run get TERM, at which
octitrate writes a checkpoint: the same commands continue.
"""

import argparse
import os
import pathlib
import queue
import signal
import subprocess
import threading
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", type=pathlib.Path)
    parser.add_argument("logs", type=pathlib.Path)
    parser.add_argument("--until", type=float, default=float("inf"))
    arguments = parser.parse_args()
    arguments.logs.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    gpus = [f"cuda:{k}" for k in range(len(listed.split("\nGPU")))]
    waiting, start, running = queue.Queue(), time.time(), {}
    for number, line in enumerate(arguments.commands.read_text().splitlines(), start=1):
        done = arguments.logs / f"{number}.done"
        if line.strip() and not line.startswith("#") and not done.exists():
            waiting.put((number, line))

    def work(gpu):
        while time.time() - start < arguments.until:
            try:
                number, line = waiting.get_nowait()
            except queue.Empty:
                return
            begun = time.time()
            with open(arguments.logs / f"{number}.log", "a") as log:
                running[gpu] = subprocess.Popen(line.replace("{device}", gpu), shell=True, stdout=log, stderr=log,
                                                start_new_session=True)
                status = running[gpu].wait()
            if status == 0:
                (arguments.logs / f"{number}.done").touch()
            print(f"{gpu} line {number}: status {status} after {time.time() - begun:.0f} s: {line[:100]}", flush=True)

    workers = [threading.Thread(target=work, args=(gpu,)) for gpu in gpus]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(max(0.0, start + arguments.until - time.time()) if arguments.until != float("inf") else None)
    for process in running.values():
        if process.poll() is None:
            subprocess.run(["pkill", "-TERM", "-s", str(process.pid), "octitrate"], check=False)
    for worker in workers:
        worker.join(30)
    for process in running.values():
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
