#!/usr/bin/env python3
"""The latency of changes of a running link, over its control socket.

usage: control.py PROGRAM [CHANGES]

PROGRAM is windfall. Starts a run whose link is kept full by datagrams, changes its rate as many
times (100), and prints the times from a request to its reply, first without traffic, then with it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

FLOOD = """
import os, socket, time
end = time.monotonic() + 600
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while time.monotonic() < end:
    try:
        out.sendto(bytes(1200), (os.environ['WINDFALL_BASE'], 9))
    except OSError:
        time.sleep(0.001)
"""


def connect(program, name):
    for _ in range(200):
        listed = subprocess.run([program, "ls", "--json"], capture_output=True, check=True)
        for run in map(json.loads, listed.stdout.splitlines()):
            if run["name"] == name:
                path = run["socket"]
                client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                client.connect("\0" + path[1:] if path.startswith("@") else path)
                return client.makefile("rwb")
        time.sleep(0.05)
    sys.exit("the run has not begun")


def measure(program, changes, command):
    name = f"control-latency-{os.getpid()}"
    words = [program, "run", "--quiet", "--name", name, "--rate", "20Mbps", "--", *command]
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    times = []
    try:
        client = connect(program, name)
        for number in range(changes):
            rate = f"{10 + number % 20}Mbps"
            request = {"do": "set", "change": {"rate": rate}}
            start = time.monotonic()
            client.write(json.dumps(request).encode() + b"\n")
            client.flush()
            reply = json.loads(client.readline())
            times.append(time.monotonic() - start)
            if not reply.get("ok"):
                sys.exit(f"refused: {reply}")
            time.sleep(0.02)
    finally:
        run.send_signal(signal.SIGTERM)
        run.wait(timeout=30)
    times.sort()
    at = lambda share: 1e3 * times[min(len(times) - 1, int(share * len(times)))]
    return f"median {at(0.5):.2f} ms, 99th percentile {at(0.99):.2f} ms, longest {1e3 * times[-1]:.2f} ms"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program, changes = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 100
    print(f"{changes} changes of an idle link:", measure(program, changes, ["sleep", "600"]))
    print(f"{changes} changes of a full link:", measure(program, changes, [sys.executable, "-c", FLOOD]))


if __name__ == "__main__":
    main()
