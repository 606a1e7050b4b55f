"""SAP sockets for asyncio: connect, accept, send, recv, send_fin and close are awaited."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self, TypeVar

import windfall_sap

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

_T = TypeVar("_T")


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


async def _retry(call: Callable[[], _T], descriptor: Callable[[], int]) -> _T:
    while True:
        try:
            return call()
        except BlockingIOError:
            await _readable(descriptor())


class Socket:
    """A connection. It has the methods of the blocking socket that do not wait, too."""

    def __init__(self, socket: windfall_sap.Socket):
        self.socket = socket

    def __getattr__(self, name: str) -> Any:
        return getattr(self.socket, name)

    async def send(self, data: Buffer, stream: int = 0) -> int:
        return await _retry(lambda: self.socket.try_send(data, stream), self.socket.room)

    async def recv(self) -> windfall_sap.Message | None:
        return await _retry(self.socket.try_recv, self.socket.fileno)

    async def send_fin(self) -> None:
        await asyncio.to_thread(self.socket.send_fin)

    async def close(self) -> None:
        await asyncio.to_thread(self.socket.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> windfall_sap.Message:
        if (message := await self.recv()) is None:
            raise StopAsyncIteration
        return message


class Listener:
    """A listener that accepts connections."""

    def __init__(self, listener: windfall_sap.Listener):
        self.listener = listener

    def getsockname(self) -> tuple:
        return self.listener.getsockname()

    async def accept(self) -> tuple[Socket, tuple]:
        socket, address = await _retry(self.listener.try_accept, self.listener.fileno)
        return Socket(socket), address

    def close(self) -> None:
        self.listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def connect(address: tuple, **options: Any) -> Socket:
    return Socket(await asyncio.to_thread(windfall_sap.connect, address, **options))


def listen(address: tuple | None = None, **options: Any) -> Listener:
    return Listener(windfall_sap.listen(address, **options))
