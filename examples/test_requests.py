"""A download by requests over a link like LTE: pip install requests, then
python3 -m pytest -p windfall.pytest_plugin examples/test_requests.py
"""

import sys
from pathlib import Path

FETCH = "import requests; print(len(requests.get('http://far:8000/page', timeout=100).content))"
LTE = Path(__file__).with_name("lte.json")


def test_a_page_is_fetched_by_requests(windfall_link, tmp_path):
    (tmp_path / "page").write_bytes(bytes(range(256)) * 800)
    link = windfall_link(rate_trace=LTE, delay="30ms", jitter="10ms normal", reorder="1% 25%", seed=7)
    link.far.popen([sys.executable, "-m", "http.server", "8000"], cwd=tmp_path)
    link.wait_port(8000)
    page = link.near.run([sys.executable, "-c", FETCH], capture_output=True, text=True, timeout=120)
    assert page.stdout == "204800\n", page.stderr
