//! What a host reports of itself.

use windfall_base::{Damage, DropReason, Instant, SocketId, Tag};

use super::AppId;

/// Something that happened in a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEvent {
    /// When.
    pub at: Instant,
    /// What.
    pub kind: HostEventKind,
}

/// What happened. A `tag` is the one under which a packet arrived; packets born here have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostEventKind {
    /// An application sent a datagram.
    Sent {
        /// The application.
        app: AppId,
        /// Its socket.
        socket: SocketId,
        /// Bytes of data.
        len: usize,
    },
    /// A datagram reached an application.
    Delivered {
        /// The packet.
        tag: Option<Tag>,
        /// The application.
        app: AppId,
        /// Its socket.
        socket: SocketId,
        /// Bytes of data.
        len: usize,
        /// What is known of their damage.
        damage: Damage,
    },
    /// A packet was discarded.
    Dropped {
        /// The packet.
        tag: Option<Tag>,
        /// Why.
        reason: DropReason,
        /// Its bytes.
        len: usize,
    },
    /// Something else happened in the internet layer.
    Internet(windfall_ip::IpEventKind),
}

impl From<windfall_ip::IpEvent> for HostEvent {
    fn from(event: windfall_ip::IpEvent) -> Self {
        let kind = match event.kind {
            windfall_ip::IpEventKind::Dropped { tag, reason, len } => {
                HostEventKind::Dropped { tag, reason, len }
            }
            other => HostEventKind::Internet(other),
        };
        Self { at: event.at, kind }
    }
}
