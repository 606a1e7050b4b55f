"""The fixture of pytest."""

import sys


def test_a_server_is_reached_over_a_bad_link(windfall_link):
    link = windfall_link(rate="5Mbps", delay="2ms", loss="2%", arq="persistent")
    link.far.popen([sys.executable, "-m", "http.server", "8000"], stdout=-3, stderr=-3, cwd="/")
    link.wait_port(8000)
    fetch = "import urllib.request as r; r.urlopen('http://far:8000/').read()"
    link.near.run([sys.executable, "-c", fetch], check=True)
    assert link.status()["links"][0]["delivered"] > 4
