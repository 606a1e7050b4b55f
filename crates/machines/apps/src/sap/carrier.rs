//! The endpoint of an application, and the socket that carries its datagrams.

use core::net::SocketAddr;

use windfall_base::{Check, Damage, Instant, Seed, Stream};
use windfall_sap::{DatagramMeta, Dropped, SapConfig, SapEndpoint, Secret};
use windfall_stack::socket_api::{Measured, SocketCommand, SocketEvent, Transport};

use crate::sender::SOCKET;

/// An endpoint over a socket of UDP-Lite.
#[derive(Debug)]
pub(super) struct Carrier {
    pub(super) endpoint: SapEndpoint,
    local: SocketAddr,
    /// The socket was opened, or is about to be.
    opened: bool,
    /// Bytes that links have cut off datagrams.
    pub(super) truncated: u64,
}

impl Carrier {
    /// An endpoint with a random stream of its own, whose socket will have the address `local`.
    pub(super) fn new(config: SapConfig, local: SocketAddr, mut random: Stream) -> Self {
        let mut secret = [0; 32];
        for word in secret.chunks_mut(8) {
            word.copy_from_slice(&random.bits().to_be_bytes());
        }
        let endpoint = SapEndpoint::new(config, Secret::new(secret));
        Self { endpoint, local, opened: false, truncated: 0 }
    }

    /// The random stream of an application with this name and number.
    pub(super) fn random(seed: Seed, name: &str, number: u64) -> Stream {
        Stream::new(seed, name).at(number)
    }

    pub(super) const fn is_opened(&self) -> bool {
        self.opened
    }

    /// Returns the next command: to open the socket, or to send a datagram.
    pub(super) fn poll_command(&mut self, now: Instant) -> Option<SocketCommand> {
        let socket = SOCKET;
        if !core::mem::replace(&mut self.opened, true) {
            let transport = Transport::UdpLiteUnchecked;
            let local = self.local;
            return Some(SocketCommand::Open { socket, transport, local });
        }
        let datagram = self.endpoint.poll_transmit(now)?;
        let to = datagram.to;
        let coverage = datagram.coverage();
        Some(SocketCommand::SendCovered { socket, to, data: datagram.to_bytes(), coverage })
    }

    /// Hands what the socket received to the endpoint.
    pub(super) fn handle_event(&mut self, now: Instant, event: &SocketEvent) {
        if let SocketEvent::Received { from, data, damage, .. } = event {
            self.truncated += u64::from(damage.missing);
            let meta = DatagramMeta { frame: frame(damage), ..DatagramMeta::new(*from) };
            self.endpoint.handle_datagram(now, &meta, data);
        }
    }

    /// The datagrams that the endpoint dropped, by reason.
    pub(super) fn drops(&self) -> impl Iterator<Item = (&'static str, Measured)> + '_ {
        REASONS.iter().map(move |(name, reason)| {
            (*name, self.endpoint.drops().get(reason).copied().unwrap_or(0).into())
        })
    }
}

/// The check of the frames of a datagram, which is bad as soon as one of them was.
fn frame(damage: &Damage) -> Check {
    if damage.is_damaged() { Check::Bad } else { damage.frame }
}

/// The reasons for which an endpoint drops datagrams, with the names of their counts.
const REASONS: [(&str, Dropped); 16] = [
    ("dropped_closed", Dropped::Closed),
    ("dropped_damaged", Dropped::Damaged),
    ("dropped_displaced", Dropped::Displaced),
    ("dropped_duplicate", Dropped::Duplicate),
    ("dropped_forged", Dropped::Forged),
    ("dropped_header", Dropped::Header),
    ("dropped_incomplete", Dropped::Incomplete),
    ("dropped_late", Dropped::Late),
    ("dropped_malformed", Dropped::Malformed),
    ("dropped_no_connection", Dropped::NoConnection),
    ("dropped_no_room", Dropped::NoRoom),
    ("dropped_refused", Dropped::Refused),
    ("dropped_unexpected", Dropped::Unexpected),
    ("dropped_unproven", Dropped::Unproven),
    ("dropped_unrequested", Dropped::Unrequested),
    ("dropped_version", Dropped::Version),
];
