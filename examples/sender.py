#!/usr/bin/env python3
"""Sends numbered datagrams with known content to who asks for them.

usage: sender.py [PORT [COUNT]]
"""

import socket
import sys
import time

SIZE = 1000


def content(number):
    """The bytes of datagram `number`: its number, then a pattern that follows from it."""
    head = number.to_bytes(4, "big")
    return head * 3 + bytes((number + i) % 256 for i in range(SIZE - 12))


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("", port))
        _, receiver = sock.recvfrom(64)
        for number in range(count):
            sock.sendto(content(number), receiver)
            time.sleep(0.002)


if __name__ == "__main__":
    main()
