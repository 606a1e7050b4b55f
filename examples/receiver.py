#!/usr/bin/env python3
"""Asks sender.py for datagrams and counts what the link did: lost, damaged, bit errors.

usage: receiver.py ADDRESS [PORT [COUNT]]

It also asks the station for hints of damage (docs/reference/run.md), and says how many packets the link
announced as damaged. Without hints, outside `windfall run`, it counts all the same.
"""

import collections
import socket
import sys

from sender import content

HINTS = "\0windfall/hints"
PATIENCE = 1.0  # seconds without a datagram, after which the sender is taken to have finished


def ask_for_hints():
    """A socket that gets a message for each damaged packet, or None if there is no such thing."""
    hints = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    hints.bind("")
    try:
        hints.sendto(b"\x01", HINTS)
    except OSError:
        return None
    hints.setblocking(False)
    return hints


def drain(hints):
    """How many hints are waiting."""
    count = 0
    while hints:
        try:
            hints.recv(64)
        except BlockingIOError:
            break
        count += 1
    return count


def number_of(data):
    """The datagram's number: what most of its three copies say."""
    copies = [bytes(data[at : at + 4]) for at in (0, 4, 8)]
    return int.from_bytes(collections.Counter(copies).most_common(1)[0][0], "big")


def bit_errors(data, expected):
    return sum((a ^ b).bit_count() for a, b in zip(data, expected))


def main():
    address = sys.argv[1]
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    hints = ask_for_hints()
    announced = arrived = damaged = wrong = asked = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.1)
        number = None
        while number != count - 1:
            try:
                data = sock.recv(65536)
            except TimeoutError:
                # The request may be lost, or the sender not yet there: ask again.
                if arrived > 0 or asked == 100:
                    break
                sock.sendto(b"go", (address, port))
                asked += 1
                continue
            sock.settimeout(PATIENCE)
            number = number_of(data)
            errors = bit_errors(data, content(number))
            arrived += 1
            damaged += errors > 0
            wrong += errors
            announced += drain(hints)
    print(f"{arrived} of {count} datagrams arrived, {damaged} of them damaged")
    print(f"{wrong} bit errors; the link announced {announced} damaged packets")


if __name__ == "__main__":
    sys.exit(main())
