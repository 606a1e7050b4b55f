//! Events that a host reports.

use windfall_base::{Damage, DropReason, Tag};

use super::AppId;
use crate::socket_api::{MessageArrival, SocketId};

/// An event in a host, at the time of the call that caused it. A `tag` is the one under which a
/// packet arrived; packets of the host itself have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// An application sent a datagram.
    Sent {
        /// The application of the socket.
        app: AppId,
        /// The socket of the application.
        socket: SocketId,
        /// Bytes of data.
        len: usize,
    },
    /// A datagram reached an application.
    Delivered {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// The application that received it.
        app: AppId,
        /// The socket of the application.
        socket: SocketId,
        /// Bytes of data.
        len: usize,
        /// The known damage of the bytes.
        damage: Damage,
    },
    /// A message reached an application, whose datagrams did so before.
    Message {
        /// The application that received it.
        app: AppId,
        /// The message as that application knows it.
        arrival: MessageArrival,
    },
    /// A packet was discarded.
    Dropped {
        /// The tag of the packet.
        tag: Option<Tag>,
        /// The reason of the drop.
        reason: DropReason,
        /// The length of the packet, in bytes.
        len: usize,
    },
    /// Something else happened in the internet layer.
    Internet(windfall_ip::IpEventKind),
}

impl From<windfall_ip::IpEvent> for HostEvent {
    fn from(event: windfall_ip::IpEvent) -> Self {
        match event.kind {
            windfall_ip::IpEventKind::Dropped { tag, reason, len } => {
                Self::Dropped { tag, reason, len }
            }
            other => Self::Internet(other),
        }
    }
}
