"""A stream of pictures with a deadline, over SAP: late ones are dropped, damaged ones are shown.

    picture_stream.py receive                 # the ground
    picture_stream.py send HOST FILE...       # the camera, ten pictures a second

It needs the module windfall_sap: pip install ./crates/faces/python. The clocks of both machines
must agree to a few milliseconds, because the deadline counts from the instant of the picture.
"""

import struct
import sys
import time

import windfall_sap

PORT = 4000
DEADLINE = 0.3
# In front of each picture, and exact: its number and its time.
FRONT = struct.Struct(">qd")


def send(host, paths):
    socket = windfall_sap.connect((host, PORT))
    # A picture that waits for the link makes room for a newer one.
    socket.set_newest_first(True)
    for number, path in enumerate(paths, 1):
        with open(path, "rb") as file:
            picture = file.read()
        # The header of a JPEG ends a few bytes after its marker "start of scan".
        header = picture.index(b"\xff\xda") + 14
        socket.set_approximate(protected=FRONT.size + header)
        socket.send(FRONT.pack(number, time.time()) + picture)
        time.sleep(0.1)
    socket.close()


def receive():
    socket, _ = windfall_sap.listen(("0.0.0.0", PORT)).accept()
    socket.set_newest_first(True)
    shown = 0
    for message in socket:
        missing = sum(end - start for start, end in message.missing)
        if any(start < FRONT.size for start, _ in message.missing):
            print("a picture without its front", flush=True)
            continue
        data = bytes(message)
        number, instant = FRONT.unpack_from(data)
        age = time.time() - instant
        if number < shown or age > DEADLINE:
            print(f"{number}: {age:.2f} s old, dropped", flush=True)
            continue
        shown = number
        with open(f"arrived-{number}.jpg", "wb") as file:
            file.write(data[FRONT.size :])
        suspect = sum(end - start for start, end in message.suspect or [])
        print(f"{number}: {age:.2f} s old, {suspect} bytes suspect, {missing} missing", flush=True)


if sys.argv[1] == "send":
    send(sys.argv[2], sys.argv[3:])
else:
    receive()
