"""A real program over a grid of links, a row of CSV for each run:

    head -c 300000 /dev/urandom > page
    python3 examples/grid.py > all.csv           # every combination
    python3 examples/grid.py 20ms 5% 1           # one of them again

The program here is curl, which fetches `page` from Python's HTTP server. Put your own in their place.
"""

import csv
import itertools
import json
import subprocess
import sys
import tempfile

DELAYS = ["5ms", "20ms"]
LOSSES = ["0", "2%", "5%"]
SEEDS = ["1"]
SERVER = "python3 -m http.server 8000"
CLIENT = ["curl", "-sf", "--max-time", "60", "-o", "copy", "-w", "%{time_total}", "http://10.77.0.2:8000/page"]
COLUMNS = ["delay", "loss", "seed", "exit", "seconds", "delivered", "dropped", "worst_late", "disturbed"]


def run(delay, loss, seed):
    """Runs the program over one link, and returns its row."""
    with tempfile.NamedTemporaryFile() as file:
        line = ["windfall", "run", "-q", "--rate", "5Mbps", "--delay", delay, "--loss", loss, "--seed", seed]
        line += ["--json", "--summary", file.name, "--far", SERVER, "--wait-port", "8000", "--", *CLIENT]
        result = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120)
        summary = json.load(open(file.name))
    links, lateness = summary["links"], summary["lateness"]
    return {
        "delay": delay,
        "loss": loss,
        "seed": seed,
        "exit": result.returncode,
        "seconds": result.stdout,
        # Both directions together. `dropped` has a number for each reason.
        "delivered": sum(link["delivered"] for link in links),
        "dropped": sum(sum(link["dropped"].values()) for link in links),
        # The machine was busy if these are large: run the row again.
        "worst_late": lateness["worst_seconds"],
        "disturbed": lateness["disturbed"],
    }


rows = [sys.argv[1:]] if sys.argv[1:] else itertools.product(DELAYS, LOSSES, SEEDS)
table = csv.DictWriter(sys.stdout, COLUMNS)
table.writeheader()
for row in rows:
    table.writerow(run(*row))
    sys.stdout.flush()
