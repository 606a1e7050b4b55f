"""SAP sockets for asyncio: connect, accept, send, recv, send_fin and close are awaited."""

import asyncio
import sys


async def _readable(descriptor):
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


async def _retry(call, descriptor):
    while True:
        try:
            return call()
        except BlockingIOError:
            await _readable(descriptor())


class Socket:
    """A connection. It has the methods of the blocking socket that do not wait, too."""

    def __init__(self, socket):
        self.socket = socket

    def __getattr__(self, name):
        return getattr(self.socket, name)

    async def send(self, data, stream=0):
        return await _retry(lambda: self.socket.try_send(data, stream), self.socket.room)

    async def recv(self):
        return await _retry(self.socket.try_recv, self.socket.fileno)

    async def send_fin(self):
        await asyncio.to_thread(self.socket.send_fin)

    async def close(self):
        await asyncio.to_thread(self.socket.close)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()

    def __aiter__(self):
        return self

    async def __anext__(self):
        if (message := await self.recv()) is None:
            raise StopAsyncIteration
        return message


class Listener:
    """A listener that accepts connections."""

    def __init__(self, listener):
        self.listener = listener

    def getsockname(self):
        return self.listener.getsockname()

    async def accept(self):
        return Socket(await _retry(self.listener.try_accept, self.listener.fileno))


async def connect(host, port, **options):
    module = sys.modules["windfall_sap"]
    return Socket(await asyncio.to_thread(module.connect, host, port, **options))


def listen(host="127.0.0.1", port=0, **options):
    return Listener(sys.modules["windfall_sap"].listen(host, port, **options))
