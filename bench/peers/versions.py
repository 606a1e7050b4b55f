#!/usr/bin/env python3
"""The processor time that two builds of windfall take on an idle pipe, run in turn.

versions.py OLD NEW [PAIRS]

Measured is the time of the run's own threads (user and system), without that of the programs in its
stations: for pings one after another, each of which wakes the run, and for one TCP that carries as
many bytes as there are. Prints the median of the ratios of NEW to OLD, and their quartiles.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

WORK = {
    "pings": ("true", "ping -q -c 1500 -i 0.002 10.77.0.2"),
    "tcp": ("exec iperf3 -s", "iperf3 -n 1G -c 10.77.0.2"),
}


def spent(process: int) -> int:
    """The nanoseconds that the threads of a process have run."""
    tasks = pathlib.Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def measure(program: str, far: str, near: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        begun, done = (pathlib.Path(folder) / name for name in ("begun", "done"))
        line = f"touch {begun}; sleep 0.3; {near} >/dev/null; touch {done}; sleep 0.5"
        words = [program, "run", "-q", "--tcp-congestion", "reno", "--far-may-fail", "--far", far]
        run = subprocess.Popen([*words, "--far-output", "/dev/null", "--", "sh", "-c", line])
        before = after = 0
        while run.poll() is None and not after:
            time.sleep(0.01)
            if not before and begun.exists():
                before = spent(run.pid)
            if done.exists():
                after = spent(run.pid)
        if run.wait() != 0 or not after:
            sys.exit(f"{program}: the run failed")
        return after - before


def main() -> None:
    old, new = sys.argv[1:3]
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    os.environ["LC_ALL"] = "C"
    for name, (far, near) in WORK.items():
        ratios = []
        for number in range(pairs):
            first, second = (old, new) if number % 2 else (new, old)
            times = {program: measure(program, far, near) for program in (first, second)}
            ratios.append(times[new] / times[old])
            print(f"{name}: {times[old] / 1e6:.1f} ms, {times[new] / 1e6:.1f} ms", flush=True)
        low, _, high = statistics.quantiles(ratios, n=4)
        print(f"{name}: {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}), {pairs} pairs")


if __name__ == "__main__":
    main()
