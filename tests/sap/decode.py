#!/usr/bin/env python3
"""Decodes SAP from docs/reference/sap.md alone, and compares what it finds with docs/vectors.

usage: decode.py FILE…

Each file is a conversation: the messages that its ends sent, and every datagram with what it holds.
The decoder reads the datagrams, checks and decrypts them, puts the messages together, and fails
where the file says something else.
"""

import json
import struct
import sys

from primitives import BASE, Noise, chacha20, check, crc32c, opened, x25519

HEADER = 20
TAG = 16
BLOCK = 256
APPROXIMATE, REPAIRED, CHECKED, ENCRYPTED, PART = 1, 2, 4, 8, 32
KINDS = "- PING ACCEPT RETRY REFUSE DATA ACK REPAIR PROBE FIN RESET CHALLENGE RESPONSE".split()


class Damaged(Exception):
    """A check fails."""


class Datagram:
    """A datagram whose header is intact."""

    def __init__(self, data, key=None):
        if len(data) < HEADER or crc32c(data[:16]) != int.from_bytes(data[16:20], "big"):
            raise Damaged("header")
        fields = struct.unpack(">BBHIII", data[:16])
        first, self.flags, exact, self.to, self.number, body_check = fields
        assert first >> 4 == 1, "another version"
        self.kind = KINDS[first & 15]
        body = data[HEADER:]
        self.exact, self.rest = body[:exact], body[exact:]
        if len(self.exact) != exact or crc32c(self.exact) != body_check:
            raise Damaged("body")
        if self.flags & ENCRYPTED:
            self._decrypt(first, key)

    def _decrypt(self, first, key):
        number = self.number.to_bytes(8, "big")  # the vectors are too short for more than 32 bits
        bound = struct.pack(
            ">BBHIIH", first & 15, self.flags, len(self.exact), self.to, self.number, len(self.rest)
        )
        text = opened(key, bytes(4) + number, self.exact, bound)
        if text is None:
            raise Damaged("authentication")
        self.exact = text
        self.rest = chacha20(key, 0, bytes([1, 0, 0, 0]) + number, self.rest)

    def shown(self):
        """What it holds, in the words of the vectors."""
        fields = getattr(self, "_" + self.kind.lower())()
        start = f"to {self.to:08x} number {self.number} flags {self.flags} {self.kind}"
        return f"{start} {fields}"

    def _ping(self):
        identity, largest, token, handshake = struct.unpack(">IHBB", self.exact[:8])
        assert len(self.exact) == 160
        end = 8 + token
        self.handshake = self.exact[end : end + handshake]
        assert not any(self.exact[end + handshake : 159]), "zeros up to 159"
        self.offer = self.exact[:6]
        return (
            f"{identity:08x} largest {largest} token {self.exact[8:end].hex()} handshake "
            f"{self.handshake.hex()} features {self.exact[159]}"
        )

    def _accept(self):
        identity, largest, handshake, features = struct.unpack(">IHBB", self.exact[:8])
        self.handshake, self.offer = self.exact[8 : 8 + handshake], self.exact[:6]
        return (
            f"{identity:08x} largest {largest} handshake {self.handshake.hex()} "
            f"features {features}"
        )

    def _retry(self):
        assert len(self.exact) <= 32
        return self.exact.hex()

    def _refuse(self):
        return str(self.exact[0])

    _reset = _refuse

    def _probe(self):
        assert not any(self.exact + self.rest), "zeros"
        return str(len(self.exact + self.rest))

    def _fin(self):
        return str(int.from_bytes(self.exact[:4], "big"))

    def _challenge(self):
        return self.exact[:8].hex()

    _response = _challenge

    def _ack(self):
        largest, since, room, runs, damaged = struct.unpack(">IIIBB", self.exact[:14])
        assert runs <= 32 and damaged <= 32
        end = 14 + 4 * runs + 2 * damaged
        numbers = struct.unpack(f">{2 * runs + damaged}H", self.exact[14:end])
        numbers, damaged = numbers[: 2 * runs], numbers[2 * runs :]
        runs = list(zip(numbers[::2], numbers[1::2]))
        self.acknowledged, above = set(), largest + 1
        for missing, length in runs:
            above -= missing
            self.acknowledged |= set(range(above - length, above))
            above -= length
        self.damaged = {largest - below for below in damaged}
        listed = " ".join(f"{missing}/{length}" for missing, length in runs)
        far = " ".join(map(str, damaged))
        return f"{largest} since {since} room {room} runs [{listed}] damaged [{far}]"

    def _data(self):
        body = self.exact
        self.stream, spans, zero, self.message = struct.unpack(">HBBI", body[:8])
        assert zero == 0 and spans <= 8
        at, part = 8, ""
        self.offset, self.total = 0, None
        if self.flags & PART:
            self.offset, self.total = struct.unpack(">II", body[8:16])
            at, part = 16, f" offset {self.offset} of {self.total}"
        numbers = struct.unpack(f">{2 * spans}H", body[at : at + 4 * spans])
        self.spans = list(zip(numbers[::2], numbers[1::2]))
        self.front = body[at + 4 * spans :]
        listed = " ".join(f"{start}+{length}" for start, length in self.spans)
        return f"stream {self.stream} message {self.message}{part} spans [{listed}]"

    _repair = _data

    def bytes_of_message(self):
        """The bytes that a DATA datagram carries, and the places of the exact ones."""
        front, rest = self.front, self.rest
        if self.flags & CHECKED:
            blocks = [rest[at : at + BLOCK] for at in range(0, len(rest), BLOCK)]
            sums = struct.unpack(f">{len(blocks)}H", front[: 2 * len(blocks)])
            front = front[2 * len(blocks) :]
            for block, value in zip(blocks, sums):
                if crc32c(block) & 0xFFFF != value:
                    raise Damaged("block")
        if not self.spans:
            return front + rest, set(range(len(front)))
        exact = {at for start, length in self.spans for at in range(start, start + length)}
        assert len(exact) == len(front), "the spans are the bytes at the front"
        total, front, rest = len(front) + len(rest), iter(front), iter(rest)
        return bytes(next(front if at in exact else rest) for at in range(total)), exact


class Receiver:
    """Puts the messages of one end together."""

    def __init__(self):
        self.messages = {}

    def take(self, datagram):
        kind = "approximate" if datagram.flags & APPROXIMATE else "precise"
        data, exact = datagram.bytes_of_message()
        if kind == "precise":
            assert not datagram.rest and not datagram.spans
            exact = set(range(len(data)))
        total = len(data) if datagram.total is None else datagram.total
        name = (datagram.stream, kind, datagram.message)
        known, places = self.messages.setdefault(name, ([None] * total, set()))
        for at, byte in enumerate(data, datagram.offset):
            assert known[at] in (None, byte), "a retransmission holds the same bytes"
            known[at] = byte
        places |= {at + datagram.offset for at in exact}

    def repaired(self, datagram):
        """Compares a repair with the message that it repairs."""
        known, _ = self.messages[datagram.stream, "approximate", datagram.message]
        wanted = [at for start, length in datagram.spans for at in range(start, start + length)]
        assert bytes(known[at + datagram.offset] for at in wanted) == datagram.front


def ranges(places):
    """Joins places to ranges."""
    found = []
    for at in sorted(places):
        if found and found[-1][1] == at:
            found[-1][1] += 1
        else:
            found.append([at, at + 1])
    return found


class Agreement:
    """The keys of an encrypted connection, from its handshake and the ephemeral keys of both."""

    def __init__(self, keys):
        self.keys = {}
        if keys is None:
            return
        shared, self.client, self.server = (
            bytes.fromhex(keys[name]) for name in ("key", "client_ephemeral", "server_ephemeral")
        )
        self.noise = Noise(bytes([1]), shared)

    def hear(self, datagram):
        if not getattr(datagram, "handshake", b"") or self.keys:
            return
        of_client = datagram.kind == "PING"
        public = x25519(self.client if of_client else self.server, BASE)
        assert datagram.handshake[:32] == public
        self.noise.ephemeral(public)
        if not of_client:
            self.noise.mix_key(x25519(self.client, public))
        assert datagram.handshake[32:] == self.noise.payload(datagram.offer)
        if not of_client:
            self.keys = dict(zip(("client", "server"), self.noise.split()))


def decode(text):
    """Decodes a conversation; returns the number of its datagrams."""
    vector = json.loads(text)
    agreement = Agreement(vector["keys"])
    receivers = {"client": Receiver(), "server": Receiver()}
    sent = {"client": {}, "server": {}}
    for line in vector["datagrams"]:
        end, other = line["from"], {"client": "server", "server": "client"}[line["from"]]
        data = bytes.fromhex(line["bytes"])
        datagram = Datagram(data, agreement.keys.get(end))
        assert datagram.shown() == line["shows"], (datagram.shown(), line["shows"])
        covered = int.from_bytes(data[2:4], "big") + HEADER
        assert covered == line["exact"], "what UDP-Lite covers, less its header"
        agreement.hear(datagram)
        if datagram.kind not in ("ACCEPT", "RETRY", "REFUSE"):
            assert datagram.number > max(sent[end], default=-1), "each packet has a new number"
        sent[end][datagram.number] = data
        if datagram.kind == "ACK":
            assert datagram.acknowledged | datagram.damaged <= set(sent[other]), "never sent"
        if datagram.kind == "DATA" and datagram.flags & REPAIRED:
            receivers[end].repaired(datagram)
        elif datagram.kind == "DATA":
            receivers[end].take(datagram)
        notice(data, datagram, agreement.keys.get(end))
    compare(vector["messages"], receivers)
    return len(vector["datagrams"])


def notice(data, datagram, key):
    """Inverts bits of a datagram: each must be found by the check that covers it."""
    exact = int.from_bytes(data[2:4], "big")
    for at, where in [(5, "header"), (HEADER + exact // 2, "body"), (len(data) - 1, "block")]:
        if (where == "body" and not exact) or (where == "block" and not datagram.flags & CHECKED):
            continue
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        try:
            seen = Datagram(bytes(damaged), key)
            seen.shown()
            seen.bytes_of_message()
        except Damaged as found:
            assert str(found) == where, (found, where)
            continue
        raise AssertionError(f"damage in the {where} is not found")


def compare(messages, receivers):
    for message in messages:
        name = (message["stream"], message["kind"], message["number"])
        data, exact = receivers[message["from"]].messages.pop(name)
        assert bytes(data) == bytes.fromhex(message["data"]), name
        assert ranges(exact) == [pair for pair in message["exact"] if pair[0] < pair[1]], name
    assert not any(receiver.messages for receiver in receivers.values()), "messages that were not sent"


if __name__ == "__main__":
    check()
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            print(f"{decode(file.read())} datagrams of {path.rsplit('/')[-1]}")
