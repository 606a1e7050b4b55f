"""A file in parts over SAP, and one whose parts arrive with damage."""

import struct

import windfall_sap
from windfall_sap import Restorer, protect

values = [(at - 500.5) * 0.37 for at in range(1000)]
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }\n"
array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
array += struct.pack("<1000f", *values)

parts = protect(array, longest=500)
assert all(len(part) <= 500 and exact <= len(part) for part, exact in parts)
assert len(protect(memoryview(array))) < len(parts)

# Over SAP: exact parts precisely, the others approximately with their fronts protected.
listener = windfall_sap.listen(("127.0.0.1", 0))
sender = windfall_sap.connect(listener.getsockname())
receiver, _address = listener.accept()
receiver.settimeout(30)
for part, exact in parts:
    if exact == len(part):
        sender.set_precise()
    else:
        sender.set_approximate(protected=exact)
    sender.send(part)
restorer = Restorer()
for _part in parts:
    restorer.push(receiver.recv())
assert restorer.missing == 0 and restorer.damaged == []
assert restorer.restore() == array

# Whatever happens to the rest of a part, a number keeps its sign and its size.
damaged = Restorer()
for part, exact in parts[:-1]:
    damaged.push(part[:exact] + bytes(byte ^ 0xFF for byte in part[exact:]))
damaged.push(bytearray(parts[-1][0]))
assert damaged.missing == 0 and damaged.damaged == list(range(1, len(parts) - 1))
arrived = struct.unpack("<1000f", damaged.restore()[-4000:])
assert all(abs(a - b) <= abs(b) / 128 for a, b in zip(arrived, values))
assert list(arrived) != values

for call in [lambda: protect(b"text"), lambda: protect(array, 5), lambda: Restorer().restore(),
             lambda: Restorer().push(b"no part")]:
    try:
        call()
    except ValueError as error:
        assert str(error)
    else:
        raise AssertionError("it is not refused")
print("restored")
