"""Two ends of a connection in one program, blocking and with asyncio."""

import asyncio
import mmap
import select
import socket
import threading
import time

import windfall_sap


def pair(**options):
    listener = windfall_sap.listen(("127.0.0.1", 0), **options)
    sender = windfall_sap.connect(listener.getsockname(), **options)
    listener.settimeout(30)
    receiver, address = listener.accept()
    assert address == receiver.getpeername() == sender.getsockname(), address
    assert sender.getpeername() == listener.getsockname()
    receiver.settimeout(30)
    return sender, receiver, listener


def refused(error, call, *arguments, **named):
    """Calls and returns the exception, which must be of this kind."""
    try:
        call(*arguments, **named)
    except error as raised:
        return raised
    raise AssertionError(f"{call} with {arguments} {named} is not refused")


def blocking():
    sender, receiver, _listener = pair()
    sender.send(b"exact")
    sender.set_approximate(protected=2)
    sender.send(memoryview(b"about"))
    error = refused(ValueError, sender.send, b"x")
    assert "2 protected bytes are more than the message's 1" in str(error), error
    sender.send_fin()
    messages = list(receiver)
    by_kind = {message.kind: message for message in messages}
    assert by_kind["precise"].data == b"exact" and by_kind["precise"].exact == [(0, 5)]
    assert by_kind["approximate"].data == b"about" and by_kind["approximate"].exact == [(0, 2)]
    assert by_kind["approximate"].suspect == [] and by_kind["approximate"].missing == []
    buffer = bytearray(8)
    assert receiver.recv_into(buffer) == 0


def sealed():
    key = bytes(range(32))
    sender, receiver, listener = pair(key=key)
    sender.send(b"for you alone")
    assert receiver.recv().data == b"for you alone"
    error = refused(ConnectionRefusedError, windfall_sap.connect, listener.getsockname())
    assert "the keys do not agree" in str(error), error


def without_copies():
    sender, receiver, _listener = pair(profile="paper")
    assert sender.send(bytearray(b"in a stream"), stream=3) == 11
    message = receiver.recv()
    view = memoryview(message)
    assert message.stream == 3 and view.readonly and view == b"in a stream" and len(message) == 11
    del message
    assert bytes(view[3:4]) == b"a", "the view keeps what it shows"
    sender.set_tolerance(bit_errors=1e-3, loss=True, protected=2)
    sender.send(b"about")
    assert receiver.recv().exact == [(0, 2)]
    for wrong in [{"profile": "none"}, {"carrier": "pigeon"}, {"key": b"short"}]:
        refused(ValueError, windfall_sap.listen, **wrong)


def checked():
    sender, receiver, _listener = pair()
    sender.set_approximate(protected=1)
    seen = []

    def check(message):
        seen.append(message.data[0])
        # The check may send, and other threads may run meanwhile.
        receiver.send(b"seen")
        time.sleep(0.001)
        if message.data[0] == 3:
            raise KeyError("three")
        if message.data[0] == 4:
            return None
        if message.data[0] == 5:
            return [(50, 101)]
        return [(10, 20)] if message.data[0] == 6 else message.data[0] != 2

    receiver.set_check(check)
    done = threading.Event()

    def answer():
        """Sends all the time, with the interpreter's lock and without."""
        while not done.is_set():
            try:
                receiver.try_send(b"meanwhile")
            except BlockingIOError:
                time.sleep(0.001)

    def take():
        """Takes what the peer sends, so that the peer never waits for room."""
        while not done.is_set():
            try:
                sender.try_recv()
            except BlockingIOError:
                time.sleep(0.001)

    threads = [threading.Thread(target=answer), threading.Thread(target=take)]
    for thread in threads:
        thread.start()
    for value in range(1, 10):
        sender.send(bytes([value]) * 100)
    received, errors = [], []
    while len(received) + len(errors) < 8:
        try:
            received.append(receiver.recv().data[0])
        except (KeyError, TypeError, ValueError) as error:
            errors.append(str(error))
    assert sorted(received) == [1, 6, 7, 8, 9], received
    assert seen[:6] == [1, 2, 3, 4, 5, 6] and seen.count(6) == 2, "a repair is checked again"
    three, nothing, beyond = errors
    assert three == "'three'" and "a check returned None: return True" in nothing, errors
    assert "a check asked for (50, 101) of a message of 100 bytes" in beyond, errors
    refused(TypeError, receiver.set_check)
    receiver.set_check(None)
    done.set()
    for thread in threads:
        thread.join()
    sender.send(bytes([2]) * 100)
    assert receiver.recv().data[0] == 2


async def awaited():
    from windfall_sap import aio

    listener = aio.listen()
    sender, (receiver, address) = await asyncio.gather(
        aio.connect(listener.getsockname()), listener.accept()
    )
    assert address == sender.getsockname()
    asked = asyncio.create_task(receiver.recv())
    await asyncio.sleep(0.05)
    assert not asked.done()
    await sender.send(b"hello")
    assert (await asyncio.wait_for(asked, 30)).data == b"hello"
    count = 2000

    async def send():
        for number in range(count):
            await sender.send(number.to_bytes(4, "big") * 250)
        await sender.send_fin()

    sending = asyncio.create_task(send())
    numbers = [int.from_bytes(memoryview(message)[:4], "big") async for message in receiver]
    await sending
    assert numbers == list(range(count))


def too_long():
    sender, _receiver, _listener = pair()
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    for long in [bytes(1 << 21), mmap.mmap(-1, 1 << 40, flags=flags, prot=mmap.PROT_READ)]:
        error = refused(ValueError, sender.send, long)
        assert f"{len(long)} bytes" in str(error), error


def without_waiting():
    listener = windfall_sap.listen()
    listener.setblocking(False)
    assert not listener.getblocking() and listener.gettimeout() == 0
    refused(BlockingIOError, listener.accept)
    sender = windfall_sap.connect(listener.getsockname())
    assert select.select([listener], [], [], 30)[0] == [listener]
    receiver, _address = listener.accept()
    receiver.setblocking(False)
    refused(BlockingIOError, receiver.recv)
    sender.setblocking(False)
    sent = 0
    while sent < 10_000:
        try:
            sender.send(bytes(60_000))
        except BlockingIOError:
            break
        sent += 1
    assert 10 < sent < 10_000
    receiver.setblocking(True)
    assert receiver.gettimeout() is None
    assert sum(len(receiver.recv()) for _ in range(sent)) == 60_000 * sent
    sender.setblocking(True)
    sender.send_messages([b"one", bytearray(b"two")])
    assert [receiver.recv().data, receiver.recv().data] == [b"one", b"two"]


def tells_of_the_connection():
    sender, receiver, listener = pair()
    sender.set_newest_first()
    sender.set_ranges([(0, 1), (3, 5)])
    sender.send(b"about")
    assert receiver.recv().exact == [(0, 1), (3, 5)]
    sender.set_precise()
    sender.send(b"acknowledged")
    sender.flush()
    assert receiver.recv().kind == "precise"
    assert sender.max_whole >= 1000 and sender.max_message == 1 << 20
    assert sender.round_trip > 0 and sender.silence is None and sender.close_reason is None
    sender.set_linger(30)
    refused(ValueError, sender.set_linger, -1)
    with listener:
        pass
    refused(ConnectionError, listener.accept)
    refused(ConnectionRefusedError, windfall_sap.connect, listener.getsockname())
    sender.close()
    receiver.close()
    # One end stays for a while, in case its last acknowledgement was lost.
    patience = time.monotonic() + 30
    while receiver.close_reason is None and time.monotonic() < patience:
        time.sleep(0.05)
    assert receiver.close_reason == "closed", receiver.close_reason
    refused(TypeError, windfall_sap.connect, "127.0.0.1")
    refused(TypeError, windfall_sap.connect, ("127.0.0.1",))


def over_ipv6():
    try:
        listener = windfall_sap.listen(("::1", 0))
    except OSError:
        return
    assert listener.getsockname()[2:] == (0, 0)
    sender = windfall_sap.connect(listener.getsockname())
    sender.send(b"six")
    assert listener.accept()[0].recv().data == b"six"


def udp_lite():
    sockets = [windfall_sap.UdpLiteSocket(("127.0.0.1", 0), "udp") for _ in range(2)]
    here, there = sockets
    there.settimeout(30)
    assert here.carrier == "udp" and here.gettimeout() is None
    level, option = windfall_sap.IPPROTO_UDPLITE, windfall_sap.UDPLITE_SEND_CSCOV
    here.setsockopt(level, option, 12)
    refused(ValueError, here.setsockopt, level, 99, 0)
    refused(ValueError, here.setsockopt, 0, option, 0)
    refused(OSError, here.send, b"to no peer")
    assert here.sendto(b"exact and the rest", there.getsockname()) == 18
    assert there.recvfrom() == (b"exact and the rest", here.getsockname())
    there.setblocking(False)
    refused(BlockingIOError, there.recv)
    there.settimeout(0.01)
    refused(TimeoutError, there.recv)
    # A plain socket takes what is on the wire and sends it back with damage: eight bytes of header
    # and then the data, of which four are covered.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        plain.bind(("127.0.0.1", 0))
        here.connect(plain.getsockname())
        assert here.getpeername() == plain.getsockname()
        assert here.send(memoryview(b"exact and the rest")) == 18
        wire = bytearray(plain.recv(100))
        here.settimeout(30)
        for at, damaged in [(20, True), (9, False)]:
            wire[at] ^= 1
            plain.sendto(wire, here.getsockname())
            if damaged:
                assert here.recv(5) == b"exact"
            else:
                here.settimeout(0.2)
                refused(TimeoutError, here.recv)
    with here:
        assert here.fileno() >= 0
    assert here.fileno() == -1
    refused(OSError, here.send, b"closed")


blocking()
too_long()
sealed()
without_copies()
checked()
without_waiting()
tells_of_the_connection()
over_ipv6()
udp_lite()
asyncio.run(awaited())
print("done")
