"""A program on QUIC over a link like LTE: pip install 'hypercorn[h3]' niquests, then
python3 -m pytest -p windfall.pytest_plugin examples/test_quic.py

The server is hypercorn, the client niquests, both as they come from the registry. The rate follows
lte.json beside this file, whose steps are made up; packets come late by a normal distribution, and
some of them overtake others.
"""

import subprocess
import sys
from pathlib import Path

import pytest

PAGE = """async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(range(256)) * 800})
"""
# The certificate of a test is its own, signed by no authority.
FETCH = """import niquests
known = {("far", 4433): ("far", 4433)}
with niquests.Session(disable_http1=True, disable_http2=True, quic_cache_layer=known) as session:
    page = session.get("https://far:4433/", verify=False, timeout=100)
    print(page.status_code, page.http_version, page.content == bytes(range(256)) * 800)
"""


@pytest.fixture
def server(tmp_path):
    """A server of HTTP/3 with a page of 200 kB, as words of a command."""
    (tmp_path / "page.py").write_text(PAGE)
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=far"
    subprocess.run([*words.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    words = [sys.executable, "-m", "hypercorn", "--quic-bind", "[::]:4433"]
    return [*words, "--certfile", certificate, "--keyfile", key, f"{tmp_path}/page.py:app"]


def test_a_page_crosses_lte_by_quic(windfall_link, server):
    trace = Path(__file__).with_name("lte.json")
    link = windfall_link(rate_trace=trace, delay="30ms", jitter="10ms normal", reorder="1% 25%", seed=7)
    link.far.popen(server)
    link.wait_port(4433)
    words = [sys.executable, "-W", "ignore", "-c", FETCH]
    page = link.near.run(words, capture_output=True, text=True, timeout=120)
    assert page.stdout == "200 30 True\n", page.stderr
    assert link.status()["links"][0]["delivered"] > 100
