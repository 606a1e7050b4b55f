"""Decodes frames of RLP, one of 60 hexadecimal digits a line, without any code of Windfall.

Written from GSM 04.22: header of 16 bits and 24 bits of check, sent least significant bit first.
The check is computed bit by bit as the division of the standard, not by a table.
"""

import sys

GENERATOR = (24, 23, 21, 20, 19, 17, 16, 15, 13, 8, 7, 5, 4, 2, 0)
SUPERVISORY = {(0, 0): "Rr", (0, 1): "Rej", (1, 0): "Rnr", (1, 1): "Srej"}
UNNUMBERED = {
    "11100": "Sabm", "00110": "Ua", "00010": "Disc", "11000": "Dm", "11110": "Null",
    "00000": "Ui", "11101": "Xid", "00111": "Test", "10001": "Remap",
}


def bits(octets):
    """The bits in the order of sending."""
    return [octet >> i & 1 for octet in octets for i in range(8)]


def check(message):
    """The complement of the remainder, highest power first; the first 24 bits are inverted."""
    register = [bit ^ (i < 24) for i, bit in enumerate(message + [0] * 24)]
    for i in range(len(message)):
        if register[i]:
            for power in GENERATOR:
                register[i + 24 - power] ^= 1
    return [1 - bit for bit in register[-24:]]


def number(six):
    """A number of six bits, least significant first."""
    return sum(bit << i for i, bit in enumerate(six))


def decode(line):
    sent = bits(bytes.fromhex(line))
    if sent[216:] != check(sent[:216]):
        return "damaged"
    command, function, ns = sent[0], tuple(sent[1:3]), number(sent[3:9])
    mark = (" P" if command else " F") if sent[9] else ""
    nr = number(sent[10:16])
    if ns == 63:
        return UNNUMBERED["".join(map(str, sent[10:15]))] + mark
    # S1 S2 are RR 00, REJ 01, RNR 10, SREJ 11 in the order of sending.
    name = SUPERVISORY[function]
    return f"{name} nr={nr}{mark}" if ns == 62 else f"I+{name} ns={ns} nr={nr}{mark}"


for line in sys.stdin:
    print(decode(line.strip()))
