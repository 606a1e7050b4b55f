"""A pytest that runs an application over a bad link: pytest examples/test_app.py

The application under test here is curl with Python's HTTP server; put your own in their place. The
seed makes a failure repeatable: the same frames are hit in the same bits.
"""

import json
import subprocess

import pytest


def run(*options, far=None, command):
    """Runs a command over a link; gives its result and what the link did, as docs/reference/json.md says."""
    line = ["windfall", "run", "--json", "--summary", "summary.json", *options]
    line += ["--far", far, "--wait-port", "8000"] if far else []
    result = subprocess.run([*line, "--", *command], capture_output=True, text=True, timeout=120)
    with open("summary.json") as file:
        return result, json.load(file)


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A folder of its own, with a page of 200 kB in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page").write_bytes(bytes(range(256)) * 800)
    return tmp_path / "page"


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("damage", [["--loss", "2%"], ["--ber", "1e-5"], ["--bit-gemodel", "1e-6 1e-3 0.1 0"]])
def test_a_download_survives(page, damage, seed):
    result, summary = run(
        *["--rate", "20Mbps", "--delay", "5ms", "--arq", "persistent", "--seed", str(seed)],
        *damage,
        far="python3 -m http.server 8000",
        command=["curl", "-sf", "--max-time", "60", "-o", "copy", "http://10.77.0.2:8000/page"],
    )
    assert result.returncode == 0, result.stderr
    assert page.with_name("copy").read_bytes() == page.read_bytes()
    assert summary["seed"] == seed
