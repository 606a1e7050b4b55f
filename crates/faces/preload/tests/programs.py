"""Exchanges datagrams of UDP-Lite in every way that programs use; run with a carrier below."""

import os
import select
import socket
import threading

SEND_COVERAGE, RECEIVE_COVERAGE = 10, 11
LITE = socket.IPPROTO_UDPLITE


def check(family, host):
    near, far = (socket.socket(family, socket.SOCK_DGRAM, LITE) for _ in range(2))
    near.settimeout(20)
    far.settimeout(20)
    far.bind((host, 0))
    loopback = "127.0.0.1" if family == socket.AF_INET else "::1"
    to = (loopback, far.getsockname()[1])

    for value, wanted in [(20, 20), (3, 8), (0, 0), (1 << 20, 65535), (8, 8)]:
        near.setsockopt(LITE, SEND_COVERAGE, value)
        assert near.getsockopt(LITE, SEND_COVERAGE) == wanted
    near.sendto(b"hello", to)
    data, sender = far.recvfrom(100)
    assert (data, sender[1]) == (b"hello", near.getsockname()[1])
    far.sendto(b"answer", sender)
    assert near.recv(3) == b"ans"

    near.connect(to)
    assert near.getpeername()[1] == to[1]
    near.send(b"")
    assert far.recv(5) == b""
    near.sendmsg([b"a", b"b", b"c"])
    data, control, flags, _ = far.recvmsg(2, 100)
    assert (data, control, flags & socket.MSG_TRUNC) == (b"ab", [], socket.MSG_TRUNC)
    near.send(b"x" * 20000)
    assert far.recv(10, socket.MSG_PEEK) == b"x" * 10
    assert far.recv(30000) == b"x" * 20000
    assert near.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_DGRAM
    assert near.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) == LITE

    far.setsockopt(LITE, RECEIVE_COVERAGE, 50)
    near.send(b"covered too little" * 10)
    near.setsockopt(LITE, SEND_COVERAGE, 0)
    near.send(b"covered whole" * 10)
    assert far.recv(200) == b"covered whole" * 10

    copy = near.dup()
    near.close()
    copy.send(b"duplicate")
    assert far.recv(100) == b"duplicate"
    child = os.fork()
    if child == 0:
        copy.send(b"child")
        os._exit(0)
    os.waitpid(child, 0)
    assert far.recv(100) == b"child"

    events = select.epoll()
    events.register(far, select.EPOLLIN)
    assert events.poll(0) == []
    copy.send(b"event")
    assert events.poll(20) == [(far.fileno(), select.EPOLLIN)]
    assert select.select([far], [], [], 20)[0] == [far]
    assert far.recv(100) == b"event"

    count = 200
    got = []
    reader = threading.Thread(target=lambda: got.extend(far.recv(10) for _ in range(count)))
    reader.start()
    writers = [
        threading.Thread(target=lambda: [copy.send(b"thread") for _ in range(count // 4)])
        for _ in range(4)
    ]
    for writer in writers:
        writer.start()
    for thread in [*writers, reader]:
        thread.join()
    assert got == [b"thread"] * count

    # Descriptors whose sockets are gone belong to whatever comes next.
    number = copy.fileno()
    copy.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        assert plain.fileno() <= number
        plain.bind(("127.0.0.1", 0))
        plain.sendto(b"plain", plain.getsockname())
        assert plain.recv(100) == b"plain"


for family, host in [
    (socket.AF_INET, "127.0.0.1"),
    (socket.AF_INET, ""),
    (socket.AF_INET6, "::1"),
    (socket.AF_INET6, "::"),
]:
    check(family, host)
print("all of it")
