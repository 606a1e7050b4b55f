//! The checksums of packets whose owner accepts damage.

use bytes::{Bytes, BytesMut};
use windfall_base::{Frame, Payload};
use windfall_wire_net::transport;

/// The bytes of a packet among which the checksum of UDP over IPv4 lies.
const BEGINNING: usize = 68;

/// The handling of checksums, so that damage reaches programs whose kernels check everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChecksumConfig {
    /// UDP checksums over IPv4 are cleared in packets from the device that may arrive damaged, as
    /// if their sender had sent them without one (RFC 768).
    pub clears_sent: bool,
    /// UDP checksums over IPv4 are cleared in datagrams that travel in fragments. Their receiver
    /// cannot mend them, since no fragment has all that the checksum covers.
    pub clears_sent_fragments: bool,
    /// The checksums of UDP, UDP-Lite, TCP and ICMP are written anew in packets that arrive
    /// damaged.
    pub restores_received: bool,
    /// Packets from the device may arrive damaged, where their class leaves that to the link.
    pub accepts_damaged: bool,
}

impl ChecksumConfig {
    /// Handles a packet from the device, of which the class is known.
    pub(super) fn handle_sent(self, frame: &mut Frame) {
        if !self.clears_sent && !self.clears_sent_fragments {
            return;
        }
        let beginning = frame.payload.prefix(BEGINNING);
        let Some(checksum) = transport::udp_checksum_over_ipv4(&beginning) else { return };
        let is_cleared = self.clears_sent || checksum.is_of_fragments;
        if !is_cleared || !frame.class.accept_damaged.unwrap_or(self.accepts_damaged) {
            return;
        }
        let place = checksum.place;
        let (head, body) = core::mem::take(&mut frame.payload).into_parts();
        let (head, body) = if place.end <= head.len() {
            (head, body)
        } else {
            (Payload::new(head, body).to_bytes(), Bytes::new())
        };
        let mut head = head.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        head[place].fill(0);
        frame.payload = Payload::new(head.freeze(), body);
    }

    /// Handles a packet for the device.
    pub(super) fn handle_received(self, frame: &mut Frame) {
        if !self.restores_received || !frame.damage.is_damaged() {
            return;
        }
        let mut packet = BytesMut::from(frame.payload.to_bytes());
        if transport::restore_checksum(&mut packet) {
            frame.payload = packet.freeze().into();
        }
    }
}

#[cfg(test)]
mod tests;
