"""Two ends of a connection in one program, blocking and with asyncio."""

import asyncio

import windfall_sap


def blocking():
    listener = windfall_sap.listen("127.0.0.1", 0)
    sender = windfall_sap.connect(*listener.getsockname())
    receiver = listener.accept(timeout=5)
    receiver.settimeout(5)
    sender.send(b"exact")
    sender.set_approximate(protected=2)
    sender.send(memoryview(b"about"))
    try:
        sender.send(b"x")
    except ValueError as error:
        assert "2 protected bytes are more than the message's 1" in str(error), error
    else:
        raise AssertionError("two bytes of one cannot be protected")
    sender.send_fin()
    messages = []
    while (message := receiver.recv()) is not None:
        messages.append(message)
    by_kind = {message.kind: message for message in messages}
    assert by_kind["precise"].data == b"exact" and by_kind["precise"].exact == [(0, 5)]
    assert by_kind["approximate"].data == b"about" and by_kind["approximate"].exact == [(0, 2)]
    assert by_kind["approximate"].suspect == []
    buffer = bytearray(8)
    assert receiver.recv_into(buffer) == 0


def sealed():
    key = bytes(range(32))
    listener = windfall_sap.listen(key=key)
    sender = windfall_sap.connect(*listener.getsockname(), key=key)
    sender.send(b"for you alone")
    assert listener.accept(timeout=5).recv().data == b"for you alone"
    try:
        windfall_sap.connect(*listener.getsockname())
    except ConnectionRefusedError as error:
        assert "the keys do not agree" in str(error), error
    else:
        raise AssertionError("it has no key")


async def event_loop():
    listener = windfall_sap.listen()
    sender = windfall_sap.connect(*listener.getsockname())
    receiver = listener.accept(timeout=5)
    loop = asyncio.get_running_loop()
    arrived = loop.create_future()
    descriptor = receiver.fileno()

    def read():
        loop.remove_reader(descriptor)
        arrived.set_result(receiver.try_recv())

    loop.add_reader(descriptor, read)
    sender.send(b"hello")
    message = await asyncio.wait_for(arrived, 5)
    assert message.data == b"hello"
    try:
        receiver.try_recv()
    except BlockingIOError:
        pass
    else:
        raise AssertionError("nothing is there")


blocking()
sealed()
asyncio.run(event_loop())
print("done")
