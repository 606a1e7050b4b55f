"""A data channel of WebRTC, by aiortc, over a link like LTE: pip install aiortc, then
python3 -m pytest -p windfall.pytest_plugin examples/test_aiortc.py

The two ends exchange their descriptions over a connection of TCP on the same link.
"""

import sys
from pathlib import Path

PEER = """import asyncio, json, sys
from aiortc import RTCPeerConnection, RTCSessionDescription
data = bytes(range(256)) * 40

async def say(peer, writer):
    words = {"sdp": peer.localDescription.sdp, "type": peer.localDescription.type}
    writer.write(json.dumps(words).encode() + b"\\n")

async def hear(peer, reader):
    await peer.setRemoteDescription(RTCSessionDescription(**json.loads(await reader.readline())))

async def answer(reader, writer):
    peer = RTCPeerConnection()
    @peer.on("datachannel")
    def opened(channel):
        channel.on("message", channel.send)
    await hear(peer, reader)
    await peer.setLocalDescription(await peer.createAnswer())
    await say(peer, writer)

async def offer():
    reader, writer = await asyncio.open_connection("far", 8000)
    peer, back = RTCPeerConnection(), asyncio.Queue()
    channel = peer.createDataChannel("data")
    channel.on("open", lambda: [channel.send(data) for _ in range(5)])
    channel.on("message", back.put_nowait)
    await peer.setLocalDescription(await peer.createOffer())
    await say(peer, writer)
    await hear(peer, reader)
    print([await back.get() == data for _ in range(5)])
    await peer.close()

async def serve():
    await (await asyncio.start_server(answer, port=8000)).serve_forever()

asyncio.run(offer() if sys.argv[1] == "offer" else serve())
"""
LTE = Path(__file__).with_name("lte.json")


def test_messages_of_a_data_channel_come_back(windfall_link):
    link = windfall_link(rate_trace=LTE, delay="30ms", jitter="10ms normal", reorder="1% 25%", seed=7)
    link.far.popen([sys.executable, "-c", PEER, "serve"])
    link.wait_port(8000)
    words = [sys.executable, "-c", PEER, "offer"]
    offer = link.near.run(words, capture_output=True, text=True, timeout=120)
    assert offer.stdout == f"{[True] * 5}\n", offer.stderr
