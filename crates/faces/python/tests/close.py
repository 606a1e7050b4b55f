"""Messages sent just before a close arrive, although the path is lossy and the program ends."""

import subprocess
import sys

import windfall_sap

COUNT = 500
SENDER = f"""
import sys
import windfall_sap

with windfall_sap.connect(("127.0.0.1", int(sys.argv[1]))) as sock:
    for number in range({COUNT}):
        sock.send(number.to_bytes(2, "big") * 500)
"""

listener = windfall_sap.listen()
sender = subprocess.Popen([sys.executable, "-c", SENDER, str(listener.getsockname()[1])])
listener.settimeout(60)
receiver, _address = listener.accept()
receiver.settimeout(60)
numbers = [int.from_bytes(message.data[:2], "big") for message in receiver]
assert numbers == list(range(COUNT)), len(numbers)
# The sender ends first: it may retransmit its last packet until then.
assert sender.wait(60) == 0
receiver.settimeout(0)
try:
    receiver.close()
except TimeoutError:
    pass
try:
    receiver.send(b"late")
except ConnectionError:
    print("all messages arrived")
