#!/usr/bin/env python3
"""Sends a picture over SAP: its header precise, its pixels approximate.

usage: picture.py send FILE ADDRESS PORT      FILE is a PPM (P6), as cameras' tools write it
       picture.py receive FILE [PORT]         writes what arrived, damaged pixels and all

Needs the module windfall_sap: pip install ./crates/faces/python. The same as picture.rs and
picture.c: each can send to each.

A message of pixels begins with its offset in the picture, which is protected; the rest arrives as
it is. Where a message was lost, the picture stays black.
"""

import re
import sys

import windfall_sap

OFFSET = 4  # bytes in front of the pixels that must be exact
PIXELS = 1000  # bytes of pixels in a message; every path carries them


def send(path, address, port):
    picture = open(path, "rb").read()
    header = re.match(rb"P6\s+\d+\s+\d+\s+\d+\s", picture).group()
    pixels = picture[len(header) :]
    socket = windfall_sap.connect((address, port))
    socket.send(header)
    socket.set_approximate(protected=OFFSET)
    for offset in range(0, len(pixels), PIXELS):
        socket.send(offset.to_bytes(OFFSET, "big") + pixels[offset : offset + PIXELS])
    socket.send_fin()


def receive(path, port):
    listener = windfall_sap.listen(("127.0.0.1", port))
    print(f"port {listener.getsockname()[1]}", flush=True)
    socket, _address = listener.accept()
    header, pixels, arrived = b"", bytearray(), 0
    waiting = []  # pixels may overtake the header
    for message in socket:
        if message.kind == "precise":
            header = message.data
            width, height = (int(number) for number in header.split()[1:3])
            pixels = bytearray(3 * width * height)
        else:
            waiting.append(message.data)
        while header and waiting:
            data = waiting.pop()
            offset = int.from_bytes(data[:OFFSET], "big")
            pixels[offset : offset + len(data) - OFFSET] = data[OFFSET:]
            arrived += len(data) - OFFSET
    with open(path, "wb") as file:
        file.write(header + pixels)
    print(f"{arrived} of {len(pixels)} bytes of pixels arrived")


match sys.argv[1:]:
    case ["send", path, address, port]:
        send(path, address, int(port))
    case ["receive", path, *port]:
        receive(path, int(*port or "0"))
    case _:
        sys.exit(__doc__)
