"""Pictures in RTP, by GStreamer, over a link like LTE that loses some:
apt-get install gstreamer1.0-tools gstreamer1.0-plugins-good gstreamer1.0-plugins-base, then
python3 -m pytest -p windfall.pytest_plugin examples/test_gstreamer.py
"""

from pathlib import Path

SEND = """gst-launch-1.0 -q videotestsrc is-live=true num-buffers=60
    ! video/x-raw,format=I420,width=320,height=240,framerate=30/1 ! jpegenc
    ! rtpjpegpay ! udpsink host=10.77.0.2 port=5004"""
RECEIVE = """gst-launch-1.0 -q udpsrc port=5004
    caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG,payload=26
    ! rtpjitterbuffer latency=200 ! rtpjpegdepay ! multifilesink location=%d.jpg"""
LTE = Path(__file__).with_name("lte.json")


def test_most_pictures_come_through_the_jitter_buffer(windfall_link, tmp_path):
    link = windfall_link(rate_trace=LTE, delay="30ms", jitter="10ms normal", loss="1%", seed=7)
    link.far.popen(RECEIVE.split(), cwd=tmp_path)
    link.wait_port(5004)
    link.near.run(SEND.split(), check=True, timeout=120)
    link.near.run(["sleep", "1"])
    pictures = list(tmp_path.glob("*.jpg"))
    assert 20 <= len(pictures) <= 60, len(pictures)
