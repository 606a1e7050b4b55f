"""SAP: sockets whose messages are precise or approximate; and UDP-Lite on any Linux."""

from ._native import (
    IPPROTO_UDPLITE,
    UDPLITE_RECV_CSCOV,
    UDPLITE_SEND_CSCOV,
    Listener,
    Message,
    Restorer,
    Socket,
    UdpLiteSocket,
    connect,
    limit_memory,
    listen,
    protect,
)

__all__ = [
    "IPPROTO_UDPLITE",
    "UDPLITE_RECV_CSCOV",
    "UDPLITE_SEND_CSCOV",
    "Listener",
    "Message",
    "Restorer",
    "Socket",
    "UdpLiteSocket",
    "connect",
    "limit_memory",
    "listen",
    "protect",
]
