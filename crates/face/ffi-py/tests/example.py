"""Two ends of a connection in one program, blocking and with asyncio."""

import asyncio
import mmap

import windfall_sap


def blocking():
    listener = windfall_sap.listen("127.0.0.1", 0)
    sender = windfall_sap.connect(*listener.getsockname())
    receiver = listener.accept(timeout=30)
    receiver.settimeout(30)
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
    assert listener.accept(timeout=30).recv().data == b"for you alone"
    try:
        windfall_sap.connect(*listener.getsockname())
    except ConnectionRefusedError as error:
        assert "the keys do not agree" in str(error), error
    else:
        raise AssertionError("it has no key")


def without_copies():
    listener = windfall_sap.listen(profile="paper")
    sender = windfall_sap.connect(*listener.getsockname(), profile="paper")
    receiver = listener.accept(timeout=30)
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
        try:
            windfall_sap.listen(**wrong)
        except ValueError:
            continue
        raise AssertionError(f"{wrong} is refused")


async def awaited():
    from windfall_sap import aio

    listener = aio.listen()
    sender, receiver = await asyncio.gather(
        aio.connect(*listener.getsockname()), listener.accept()
    )
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
    listener = windfall_sap.listen()
    sender = windfall_sap.connect(*listener.getsockname())
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    for long in [bytes(1 << 21), mmap.mmap(-1, 1 << 40, flags=flags, prot=mmap.PROT_READ)]:
        try:
            sender.send(long)
        except ValueError as error:
            assert f"{len(long)} bytes" in str(error), error
        else:
            raise AssertionError("no path carries it")


blocking()
too_long()
sealed()
without_copies()
asyncio.run(awaited())
print("done")
